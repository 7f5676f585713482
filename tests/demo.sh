#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
# make demo: what wakeif says about the recordings in samples/.
set -eu
cd "$(dirname "$0")/.."
wakeif=${O:-build}/wakeif

say()
{
	printf '\n\033[1m$ wakeif %s\033[0m\n' "$*" | if [ -t 1 ]; then cat; else sed 's/\x1b\[[0-9;]*m//g'; fi
	"$wakeif" "$@"
}

say topology samples/numa16-mix.dat
say report samples/smt8-schbench.dat
say wakeups samples/smt8-schbench.dat --missed core,llc --worst 5
say smt samples/smt8-quota.txt.gz --worst 5
say affine samples/numa16-mix.dat --by waker-wakee --worst 5
say latency samples/nosmt4-hackbench.dat --by class
for trace in samples/*.dat samples/*.dat.gz samples/*.dat.xz samples/*.txt.gz; do
	case $trace in samples/smt8-schbench.dat) continue ;; esac
	printf '\n== %s: facts and verdict ("wakeif report %s" shows the tables)\n' "$trace" "$trace"
	"$wakeif" report "$trace" | sed '/^WAKEUPS /,$d'
done
