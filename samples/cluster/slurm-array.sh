#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
# An archive under Slurm: an array job of N shards, and a job that merges them when all of them are done.
#
#   slurm-array.sh LIST OUT.db N [option of wakeif batch]...
#
# Prints the ids of the array and of the merging job. The parts and their logs lie in OUT.db.parts. After a failure the same command again
# does what is missing: shards that are complete find nothing to do. Partition, account, time limit: SBATCH_PARTITION, SBATCH_ACCOUNT,
# SBATCH_TIMELIMIT, as sbatch reads them. CPUs of a shard: WAKEIF_CPUS (default 1). A time limit is told the shard 120 s ahead, so that it
# puts away what it has.
set -eu

if [ $# -lt 3 ]; then
	echo "usage: $0 LIST OUT.db N [option of wakeif batch]..." >&2
	exit 2
fi
list=$1 out=$2 n=$3
shift 3
here=$(cd "$(dirname "$0")" && pwd)
parts=$out.parts
mkdir -p "$parts"

# An id is "ID" or "ID;CLUSTER".
array=$(sbatch --parsable --job-name=wakeif-shard --array="1-$n" --cpus-per-task="${WAKEIF_CPUS:-1}" --requeue --signal=B:TERM@120 \
	--open-mode=append --output="$parts/part-%a-of-$n.log" "$here/shard.sh" array "$n" "$list" "$parts" "$@")
merge=$(sbatch --parsable --job-name=wakeif-merge --dependency="afterok:${array%%;*}" --kill-on-invalid-dep=yes \
	--open-mode=append --output="$parts/merge.log" "$here/merge.sh" "$n" "$parts" "$out")
echo "${array%%;*} ${merge%%;*}"
