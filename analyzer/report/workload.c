/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "analyzer/report/workload.h"

#include <inttypes.h>
#include <stdarg.h>
#include <string.h>

#include "analyzer/base/fmt.h"
#include "analyzer/report/table.h"

static const struct {
	const char *name, *help;
	size_t offset;
	bool is_time;
} facts[] = {
#define X(id, name, help)                                                                                              \
	{ name, help, offsetof(struct wi_work_facts, id),                                                              \
	  sizeof(#id) > 3 && #id[sizeof(#id) - 4] == '_' && #id[sizeof(#id) - 3] == 'n' },
	WI_WORK_FACTS(X)
#undef X
};

static uint64_t value(const struct wi_workload *w, size_t i)
{
	return *(const uint64_t *)(const void *)((const char *)&w->facts + facts[i].offset);
}

static size_t bytes(const struct wi_workload *w)
{
	return w->nr_ops * sizeof(*w->ops) + w->nr_sleeps * sizeof(*w->sleep) + w->nr_counters * sizeof(*w->counter) +
	       w->nr_tasks * sizeof(*w->task);
}

static void say(char *text, size_t size, const char *fmt, ...) __attribute__((format(printf, 3, 4)));

static void say(char *text, size_t size, const char *fmt, ...)
{
	size_t at = strlen(text);
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(text + at, size - at, fmt, ap);
	va_end(ap);
}

void wi_workload_doubts(const struct wi_workload *w, char *text, size_t size)
{
	const struct wi_work_facts *f = &w->facts;
	uint64_t races = f->onrq + f->oncpu, all = f->wakes + f->onrq;

	*text = '\0';
	if (w->lost_events || w->lost_marks)
		say(text, size, "records were lost in the window: causes are missing from the tapes\n");
	if (all && races * 10 > all)
		say(text, size,
		    "%.1f %% of the wakeups met a task that was not yet asleep: how many a replay makes is not "
		    "reliable\n",
		    100.0 * (double)races / (double)all);
	if (f->busy_ns && f->throttled_ns * 100 > f->busy_ns)
		say(text, size,
		    "tasks were held back beside idle CPUs for %.1f %% of the time that tasks ran (bandwidth limits?): "
		    "a replay does not hold them\n",
		    100.0 * (double)f->throttled_ns / (double)f->busy_ns);
	if (f->switches_in && f->implied * 100 > f->switches_in)
		say(text, size, "%.1f %% of the switch-ins follow a block that no record ended\n",
		    100.0 * (double)f->implied / (double)f->switches_in);
}

static bool tasks(FILE *out, const struct wi_workload *w, struct wi_err *err)
{
	static const struct wi_column columns[] = { { "task", true, true },	    { "start", true, false },
						    { "operations", false, false }, { "blocks", false, false },
						    { "work", false, false },	    { "ran", false, false } };
	static const char *const start[] = { "running", "runnable", "blocked", "unborn" };
	struct wi_table *t = wi_table_new(columns, sizeof(columns) / sizeof(*columns));

	for (uint32_t i = 0; i < w->nr_tasks; i++) {
		const struct wi_work_task *k = &w->task[i];

		wi_table_task(t, k->comm, k->pid);
		wi_table_text(t, start[k->start]);
		wi_table_count(t, k->nr_ops);
		wi_table_count(t, k->nr_blocks);
		wi_table_ns(t, k->work_ns);
		wi_table_ns(t, k->ran_ns);
	}
	fputs("\nTasks\n", out);
	return wi_table_print(t, out, 2) || wi_err_nomem(err);
}

bool wi_workload_text(FILE *out, const struct wi_workload *w, bool verbose, struct wi_err *err)
{
	static const struct wi_column columns[] = { { "", true, false },
						    { "", false, false },
						    { "meaning", true, false } };
	struct wi_table *t = wi_table_new(columns, sizeof(columns) / sizeof(*columns));
	char doubts[1024];

	for (size_t i = 0; i < sizeof(facts) / sizeof(*facts); i++) {
		wi_table_text(t, facts[i].name);
		if (facts[i].is_time)
			wi_table_ns(t, value(w, i));
		else
			wi_table_count(t, value(w, i));
		wi_table_text(t, facts[i].help);
	}
	fprintf(out, "\nWorkload: %" PRIu32 " tasks, %zu operations, %" PRIu32 " sleeps, %" PRIu32 " counters",
		w->nr_tasks, w->nr_ops, w->nr_sleeps, w->nr_counters);
	if (w->facts.events)
		fprintf(out, "; %.1f bytes a recorded event", (double)bytes(w) / (double)w->facts.events);
	fputc('\n', out);
	if (!wi_table_print(t, out, 2))
		return wi_err_nomem(err);
	wi_workload_doubts(w, doubts, sizeof(doubts));
	for (char *line = strtok(doubts, "\n"); line; line = strtok(NULL, "\n"))
		fprintf(out, "note: %s\n", line);
	return !verbose || tasks(out, w, err);
}

void wi_workload_json(struct wi_json *j, const struct wi_workload *w)
{
	wi_json_object(j, "workload");
	wi_json_u64(j, "tasks", w->nr_tasks);
	wi_json_u64(j, "operations", w->nr_ops);
	wi_json_u64(j, "sleeps", w->nr_sleeps);
	wi_json_u64(j, "counters", w->nr_counters);
	wi_json_u64(j, "bytes", bytes(w));
	for (size_t i = 0; i < sizeof(facts) / sizeof(*facts); i++)
		wi_json_u64(j, facts[i].name, value(w, i));
	wi_json_end_object(j);
}
