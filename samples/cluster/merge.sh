#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
# The parts of an archive become one database. May be repeated.
#
#   merge.sh N PARTS OUT.db
#
# OUT.db is made anew from the N parts, on this machine's own disk, and takes its place in one step. A part that is missing is an error: a
# database that lacks traces looks like any other.
set -eu

if [ $# -ne 3 ]; then
	echo "usage: $0 N PARTS OUT.db" >&2
	exit 2
fi
n=$1 parts=$2 out=$3
set --
k=1
while [ "$k" -le "$n" ]; do
	part=$parts/part-$k-of-$n.db
	if [ ! -s "$part" ]; then
		echo "$0: $part is missing: shard $k did not end, start it again" >&2
		exit 1
	fi
	set -- "$@" "$part"
	k=$((k + 1))
done

scratch=$(mktemp -d "${TMPDIR:-/tmp}/wakeif-merge.XXXXXX")
arriving=$(dirname "$out")/.$(basename "$out").$(uname -n).$$
trap 'rm -rf "$scratch" "$arriving"' EXIT
trap 'exit 130' TERM INT HUP
"${WAKEIF:-wakeif}" merge "$@" -o "$scratch/out.db"
cp "$scratch/out.db" "$arriving"
sync "$arriving"
mv "$arriving" "$out"
