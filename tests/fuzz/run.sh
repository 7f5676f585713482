#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
# make fuzz: runs each libFuzzer target for FUZZ_SECONDS (default 60) on a copy of its corpus; findings and new inputs stay in
# $O/findings and $O/corpus. FUZZ_TARGETS names some of them ("text tracedat").
set -eu
cd "$(dirname "$0")/../.."
O=${O:-build/fuzz}
status=0
for target in "$O"/fuzz/*; do
	name=$(basename "$target")
	case " ${FUZZ_TARGETS:-$name} " in *" $name "*) ;; *) continue ;; esac
	seed=tests/fuzz/corpus/fuzz_$name
	[ -d "$seed" ] || seed=tests/fuzz/corpus/$name
	mkdir -p "$O/corpus/$name" "$O/findings/$name"
	echo "== $name"
	LSAN_OPTIONS=suppressions=tests/lsan.supp:print_suppressions=0 "$target" -max_total_time="${FUZZ_SECONDS:-60}" -timeout=20 -rss_limit_mb=2048 \
		-print_final_stats=1 -artifact_prefix="$O/findings/$name/" "$O/corpus/$name" "$seed" > "$O/$name.log" 2>&1 || status=1
	tail -n 25 "$O/$name.log"
	[ -z "$(ls "$O/findings/$name")" ] || { echo "$name: findings in $O/findings/$name"; status=1; }
done
exit $status
