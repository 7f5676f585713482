#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
# One shard of an archive, on any machine of a cluster. May be repeated at will, also while another try of it still runs.
#
#   shard.sh K N LIST PARTS [option of wakeif batch]...
#
# Analyses shard K of N of the traces in LIST (one path a line) into PARTS/part-K-of-N.db; with K "array" it is the index of the Slurm array
# job. A part that is there is taken up: what it holds is not analysed again.
#
# The database is written on this machine's own disk (TMPDIR), because SQLite wants locks and shared memory that network file systems do not
# have; PARTS only ever sees whole databases, which take their name in one step. Stopped by a signal (a time limit, scancel, Ctrl-C), the shard
# puts what it has into PARTS and ends with a failure, so that the scheduler or the user starts it again. It also fails when a file of LIST
# cannot be read: on a machine that lacks a file system all of them would be missing, and nothing else would tell.
#
# WAKEIF names the program (default: wakeif).
set -eu

if [ $# -lt 4 ]; then
	echo "usage: $0 K N LIST PARTS [option of wakeif batch]..." >&2
	exit 2
fi
k=$1 n=$2 list=$3 parts=$4
shift 4
[ "$k" != array ] || k=$SLURM_ARRAY_TASK_ID
part=$parts/part-$k-of-$n.db
jobs=${SLURM_CPUS_PER_TASK:-${SLURM_CPUS_ON_NODE:-}}

mkdir -p "$parts"
scratch=$(mktemp -d "${TMPDIR:-/tmp}/wakeif-shard.XXXXXX")
work=$scratch/part.db
arriving=$parts/.part-$k-of-$n.$(uname -n).$$
child=
stopped=
trap 'rm -rf "$scratch" "$arriving"' EXIT
# A shell runs traps when its foreground command ends: the analysis runs in the background and is waited for.
trap 'stopped=1; [ -z "$child" ] || kill -TERM "$child" 2>/dev/null || :' TERM INT HUP

[ ! -e "$part" ] || cp "$part" "$work"
"${WAKEIF:-wakeif}" batch --files-from "$list" --shard "$k/$n" -o "$work" ${jobs:+--jobs "$jobs"} "$@" >"$scratch/summary" &
child=$!
status=0
while :; do
	wait "$child" && status=0 || status=$?
	kill -0 "$child" 2>/dev/null || break # a wait that a signal ended is not the end of the child
done
child=
cat "$scratch/summary"

# Companions mean that the writer did not come to its end: the part of the last try stays.
if [ -s "$work" ] && [ ! -e "$work-wal" ] && [ ! -e "$work-journal" ]; then
	cp "$work" "$arriving"
	sync "$arriving"
	mv "$arriving" "$part"
fi
[ -z "$stopped" ] || [ "$status" -ne 0 ] || status=130
if [ "$status" -eq 0 ] && ! grep -q ' 0 unreadable' "$scratch/summary"; then
	echo "$0: files of $list cannot be read on $(uname -n)" >&2
	status=1
fi
exit "$status"
