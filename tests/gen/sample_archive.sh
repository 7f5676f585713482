#!/bin/bash
# samples/wake-affine.db: ten recordings of ping-pong pairs, the scheduler's features as they are and WA_IDLE and
# WA_WEIGHT off, in one archive. Run by "make sample-archive"; needed when the schema or the figures change, before
# test_docs.py --update and test_golden.py --update.
#   sample_archive.sh WAKEIF RECORDINGS OUT
set -euo pipefail
wakeif=$(realpath "$1") recordings=$(realpath "$2") out=$(realpath "$3")
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work"
mkdir -p wake-affine/default wake-affine/no-wa
for i in 1 2 3 4 5; do
	cp "$recordings/A$i/trace.dat" "wake-affine/default/$i.dat"
	cp "$recordings/B$i/trace.dat" "wake-affine/no-wa/$i.dat"
	for setting in default no-wa; do
		cp "$recordings/topology.tar.gz" "wake-affine/$setting/$i.topology.tar.gz"
	done
done
"$wakeif" batch wake-affine --tag 'setting,run=^([^/]*)/([0-9]+)' -o archive.db
sqlite3 archive.db 'DELETE FROM file_cache; VACUUM'
cp archive.db "$out"
