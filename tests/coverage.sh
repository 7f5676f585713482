#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
# Line coverage of the tests that have run on an object folder built with COVERAGE=1 (make coverage): a line a file, then the sum.
set -eu
cd "$(dirname "$0")/.."
O=${O:-build/coverage}
find "$O/obj/analyzer" "$O/obj/parsers" -name '*.gcda' | sort | while read -r data; do
	gcov -n -r -s "$PWD" -o "$(dirname "$data")" "$data" 2>/dev/null
done | awk '
	/^File / { file = substr($0, 7, length($0) - 7) }
	/^Lines executed:/ && file != "" {
		split($0, part, /[:% ]+/)
		percent = part[3]; lines = part[5]
		if (file !~ /^(\/|tests)/ && lines > seen[file]) { seen[file] = lines; hit[file] = percent * lines / 100 }
		file = ""
	}
	END {
		for (f in seen) { printf "%6.1f %% of %5d  %s\n", 100 * hit[f] / seen[f], seen[f], f | "sort -k5"; all += seen[f]; covered += hit[f] }
		close("sort -k5")
		if (!all) { print "no coverage data"; exit 1 }
		printf "%6.1f %% of %5d  in all\n", 100 * covered / all, all
	}'
