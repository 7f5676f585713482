#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
# make bench: speed and memory of wakeif report beside what is installed. BENCH_EVENTS (default 8000000) sets the size.
set -eu
cd "$(dirname "$0")/../.."
O=${O:-build} exec python3 tests/bench/run.py "$@"
