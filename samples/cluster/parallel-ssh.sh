#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
# An archive on hosts that are reached by ssh, with GNU parallel: N shards, one at a time on each host, then the merge on this machine.
#
#   parallel-ssh.sh LIST OUT.db N HOST[,HOST]... [option of wakeif batch]...
#
# A host is what parallel -S takes ("user@host", "2/host": two shards at a time, ":": this machine). A shard that fails is tried twice more,
# on other hosts first. All hosts see LIST, the traces, these scripts and the folder of OUT.db under the same paths. The parts lie in
# OUT.db.parts, with a log of the tries. After a failure the same command again does what is missing.
# PARALLEL_SSH names the ssh command, WAKEIF the program on the hosts (default: wakeif).
set -eu

if [ $# -lt 4 ]; then
	echo "usage: $0 LIST OUT.db N HOST[,HOST]... [option of wakeif batch]..." >&2
	exit 2
fi
list=$1 out=$2 n=$3 hosts=
for host in $(echo "$4" | tr ',' ' '); do
	case $host in [0-9]*/*) ;; *) host=1/$host ;; esac
	hosts=$hosts${hosts:+,}$host
done
shift 4
here=$(cd "$(dirname "$0")" && pwd)
parts=$out.parts
mkdir -p "$parts"

seq "$n" | parallel --quote --sshlogin "$hosts" ${PARALLEL_SSH:+--ssh "$PARALLEL_SSH"} --workdir "$PWD" --retries 3 --joblog "$parts/joblog" --line-buffer --tag \
	env WAKEIF="${WAKEIF:-wakeif}" "$here/shard.sh" '{}' "$n" "$list" "$parts" "$@"
"$here/merge.sh" "$n" "$parts" "$out"
