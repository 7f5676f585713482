/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Views of the archive: the common questions. Each is shown in doc/schema.md with a query, which a test runs. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "analyzer/store/catalog.h"
#include "analyzer/store/schema.h"
#include "analyzer/store/schema_priv.h"

/*
 * SQLite has no function that gives a byte of a blob as a number, so its two hexadecimal digits are looked up. The
 * numbers are read by a recursion over the bytes: b is the byte, v the bits of the bytes before it in its number, shift
 * its place; a byte below 128 ends a number. Numbers in odd places are distances, those in even places counts.
 */
#define BYTE(blob, at)                                                                                                 \
	"((instr('0123456789ABCDEF', substr(hex(substr(" blob ", " at ", 1)), 1, 1)) - 1) * 16 + "                     \
	"instr('0123456789ABCDEF', substr(hex(substr(" blob ", " at ", 1)), 2, 1)) - 1)"

/* clang-format off */
#define NUMBERS \
	"(WITH RECURSIVE\n" \
	"      byte(at, b, v, shift) AS (\n" \
	"        VALUES (0, 0, 0, 0)\n" \
	"        UNION ALL\n" \
	"        SELECT at + 1,\n" \
	"          " BYTE("h.buckets", "at + 1") ",\n" \
	"          iif(b < 128, 0, v | ((b & 127) << shift)), iif(b < 128, 0, shift + 7)\n" \
	"        FROM byte WHERE at < length(h.buckets)),\n" \
	"      number(nr, v) AS (\n" \
	"        SELECT row_number() OVER (ORDER BY at), v | (b << shift)\n" \
	"        FROM byte WHERE b < 128 AND at > 0),\n" \
	"      pair(nr, v, n) AS (SELECT nr, v, lead(v) OVER (ORDER BY nr) FROM number),\n" \
	"      bucket(i, n) AS (SELECT sum(v) OVER (ORDER BY nr) - 1, n FROM pair WHERE nr % 2 = 1)\n" \
	"      SELECT json_group_array(json_array(i, n)) FROM bucket)"
/* clang-format on */

const struct wi_schema_view wi_schema_view[] = {
	{ "run_list", "The runs, with their trace and machine in words.",
	  "SELECT run.id AS run, lower(hex(trace.sha256)) AS sha256, trace.size_bytes, run.status, run.reason, "
	  "run.signal,\n"
	  "  run.kernel, run.arch, run.format, topology.name AS topology, run.version, analysis.text AS analysis,\n"
	  "  quality.end_ns - quality.start_ns AS window_ns, quality.coverage, quality.lost_events,\n"
	  "  (SELECT min(path) FROM trace_path WHERE trace_path.trace = trace.id) AS path,\n"
	  "  (SELECT count(*) FROM trace_path WHERE trace_path.trace = trace.id) AS paths,\n"
	  "  (SELECT group_concat(key || '=' || value, ' ') FROM\n"
	  "    (SELECT DISTINCT key, value FROM tag WHERE tag.trace = trace.id ORDER BY key, value)) AS tags\n"
	  "FROM run JOIN trace ON trace.id = run.trace JOIN analysis ON analysis.id = run.analysis\n"
	  "  LEFT JOIN topology ON topology.id = run.topology LEFT JOIN quality ON quality.run = run.id",
	  "SELECT status, path, reason FROM run_list ORDER BY status <> 'ok' DESC, sha256;",
	  "what is in there, failures first" },
	{ "run_tag", "Tags by run: a set, whatever copy of the trace told them.",
	  "SELECT DISTINCT run.id AS run, tag.key, tag.value FROM run JOIN tag ON tag.trace = run.trace",
	  "SELECT value, count(*) FROM run_tag WHERE key = 'workload' GROUP BY value ORDER BY value;",
	  "runs of each workload" },
	{ "metric_value", "The figures with their names, units and runs.",
	  "SELECT value.run, metric.path, value.value, metric.unit, metric.direction, run.status, run.kernel,\n"
	  "  topology.name AS topology\n"
	  "FROM value JOIN metric ON metric.id = value.metric JOIN run ON run.id = value.run\n"
	  "  LEFT JOIN topology ON topology.id = run.topology",
	  "SELECT kernel, count(*) AS n, avg(value), min(value), max(value) FROM metric_value\n"
	  "WHERE path = 'latency.wakeup.p99_ns' GROUP BY kernel ORDER BY kernel;",
	  "a metric by kernel" },
	{ "metric_by_tag", "Number, mean and extremes of each metric over the runs of each value of each tag.",
	  "SELECT run_tag.key, run_tag.value AS tag, metric.path, metric.unit, metric.direction, count(*) AS n,\n"
	  "  avg(value.value) AS mean, min(value.value) AS min, max(value.value) AS max\n"
	  "FROM run_tag JOIN value ON value.run = run_tag.run JOIN metric ON metric.id = value.metric\n"
	  "GROUP BY run_tag.key, run_tag.value, metric.path",
	  "SELECT tag, n, mean, min, max FROM metric_by_tag\n"
	  "WHERE key = 'workload' AND path = 'missed_idle.queued_on_busy.share' ORDER BY tag;",
	  "a metric by workload" },
	{ "headline", "The metrics of default tables, a column each (dots as underscores), one row a run.", NULL,
	  "SELECT run, latency_wakeup_p50_ns, latency_wakeup_p99_ns, migrations_per_wakeup FROM headline ORDER BY run;",
	  "the first figures to look at" },
	{ "histogram_bucket",
	  "The buckets of the histograms: count values from lower_ns to lower_ns + width_ns - 1. Ask for the runs and "
	  "paths that you need: each blob is decoded anew.",
	  "SELECT h.run, metric.path,\n"
	  "  CASE WHEN i < 128 THEN i ELSE (64 + (i - 128) % 64) << ((i - 128) / 64 + 1) END AS lower_ns,\n"
	  "  CASE WHEN i < 128 THEN 1 ELSE 1 << ((i - 128) / 64 + 1) END AS width_ns, n AS count\n"
	  "FROM (SELECT h.run, h.metric, json_extract(e.value, '$[0]') AS i, json_extract(e.value, '$[1]') AS n\n"
	  "  FROM histogram h, json_each(\n"
	  "    " NUMBERS ") e) h JOIN metric ON metric.id = h.metric",
	  "SELECT lower_ns, width_ns, sum(count) AS count FROM histogram_bucket\n"
	  "WHERE path = 'latency.wakeup' GROUP BY lower_ns, width_ns ORDER BY lower_ns;",
	  "the latencies of all runs as one histogram" },
	{ "model_agreement", "How often each model gave the kernel's answer, over all runs of a kernel.",
	  "SELECT model_summary.model, model_summary.params, run.kernel, count(*) AS runs, sum(decided) AS decided,\n"
	  "  sum(agree_cpu) AS agree_cpu, sum(agree_core) AS agree_core, sum(agree_llc) AS agree_llc,\n"
	  "  CASE WHEN sum(decided) > 0 THEN 1.0 * sum(agree_cpu) / sum(decided) END AS cpu_share,\n"
	  "  sum(invalid) AS invalid\n"
	  "FROM model_summary JOIN run ON run.id = model_summary.run WHERE NOT happened\n"
	  "GROUP BY model_summary.model, model_summary.params, run.kernel",
	  "SELECT model, kernel, runs, decided, round(cpu_share, 3) FROM model_agreement ORDER BY model, kernel;",
	  "agreement of the models" },
	{ "worst_wakeup", "The costliest wakeups with the path of their trace: what to look at with wakeif explain.",
	  "SELECT (SELECT min(path) FROM trace_path WHERE trace_path.trace = run.trace) AS trace_path, worst.*\n"
	  "FROM worst JOIN run ON run.id = worst.run",
	  "SELECT trace_path, wake_ns, comm, avoidable_ns FROM worst_wakeup\n"
	  "WHERE kind = 'missed_idle' ORDER BY avoidable_ns DESC, trace_path, wake_ns LIMIT 10;",
	  "the ten wakeups with the longest avoidable wait" },
};
const size_t wi_schema_nr_views = sizeof(wi_schema_view) / sizeof(*wi_schema_view);

/* The view headline: a lookup by metric a column, which the primary key of table value answers. */
static void print_headline(FILE *out)
{
	size_t nr;
	const char *const *path = wi_catalog_headline(&nr);

	fputs("SELECT run.id AS run", out);
	for (size_t i = 0; i < nr; i++) {
		fprintf(out,
			",\n  (SELECT value FROM value WHERE value.run = run.id AND value.metric =\n"
			"    (SELECT id FROM metric WHERE path = '%s')) AS ",
			path[i]);
		for (const char *c = path[i]; *c; c++)
			fputc(*c == '.' ? '_' : *c, out);
	}
	fputs("\nFROM run", out);
}

char *wi_schema_views(void)
{
	char *text = NULL;
	size_t size;
	FILE *out = open_memstream(&text, &size);

	if (!out)
		return NULL;
	for (size_t i = 0; i < wi_schema_nr_views; i++) {
		fprintf(out, "CREATE VIEW %s AS\n", wi_schema_view[i].name);
		if (wi_schema_view[i].sql)
			fputs(wi_schema_view[i].sql, out);
		else
			print_headline(out);
		fputs(";\n", out);
	}
	if (!fclose(out))
		return text;
	free(text);
	return NULL;
}
