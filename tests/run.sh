#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
# Runs the tests of an object folder: tests/run.sh check|full. O names the folder (default: build).
# Test inputs that cannot be shipped are found through WAKEIF_SHARED (default: ../shared beside the repository).
set -eu
cd "$(dirname "$0")/.."
ROOT=$PWD
O=${O:-build}
case $O in /*) ;; *) O=$ROOT/$O ;; esac
WAKEIF_SHARED=${WAKEIF_SHARED:-../shared}
case $WAKEIF_SHARED in /*) ;; *) WAKEIF_SHARED=$ROOT/$WAKEIF_SHARED ;; esac
export O WAKEIF_SHARED PYTHONDONTWRITEBYTECODE=1
export ASAN_OPTIONS="${ASAN_OPTIONS:-detect_leaks=1:allocator_may_return_null=1}" UBSAN_OPTIONS="${UBSAN_OPTIONS:-print_stacktrace=1}"
export LSAN_OPTIONS="${LSAN_OPTIONS:-suppressions=$ROOT/tests/lsan.supp:print_suppressions=0}"
# A program that counts lines and runs as an unprivileged user would say among its messages that it cannot keep its counts.
[ "${WAKEIF_INSTRUMENTED:-}" != coverage ] || umask 0
exec python3 tests/run.py "${1:-check}"
