/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "analyzer/store/columns.h"

#include <string.h>

#define INT WI_CELL_INTEGER
#define REAL WI_CELL_REAL
#define TEXT WI_CELL_TEXT

static const struct wi_column_info input[] = {
	{ "format", TEXT, "format", "text", "format of the file as the parser names it" },
	{ "wrapper", TEXT, "wrapper", "text", "compression around it; empty without one" },
	{ "kernel", TEXT, "kernel", "text", "release of the kernel that recorded; empty where the file does not tell" },
	{ "arch", TEXT, "arch", "text", "architecture of that machine; empty where the file does not tell" },
	{ "clock", TEXT, "clock", "text", "trace clock" },
	{ "time_res_ns", INT, "time_res_ns", "ns", "resolution of the time stamps" },
	{ "nr_cpus", INT, "nr_cpus", "count", "CPUs that the file names" },
	{ "damage_count", INT, NULL, "count", "damaged places that were found" },
	{ "damage", TEXT, NULL, "text", "the first of them; NULL without damage" },
};

static const struct wi_column_info quality[] = {
	{ "start_ns", INT, "window.start_ns", "ns", "first instant analysed, in the trace's clock" },
	{ "end_ns", INT, "window.end_ns", "ns", "end of what was analysed, in the trace's clock" },
	{ "recording_start_ns", INT, "window.recording_start_ns", "ns", "first event of the recording" },
	{ "recording_end_ns", INT, "window.recording_end_ns", "ns", "last event of the recording" },
	{ "coverage", REAL, "window.coverage", "share", "CPU time of the window of which the state is known" },
	{ "lost_marks", INT, "quality.lost_marks", "count", "places at which events were lost" },
	{ "lost_events", INT, "quality.lost_events", "count", "events that the recorder counted as lost" },
	{ "chain_breaks", INT, "quality.chain_breaks", "count", "sched_switch events that contradict the one before" },
	{ "repairs", INT, NULL, "count", "all of quality.repairs added up" },
	{ "unordered", INT, "quality.unordered", "count", "events that stood in the wrong order" },
	{ "unparsed", INT, "quality.unparsed", "count", "lines or records that could not be read" },
	{ "skew_ns", INT, "quality.skew_ns", "ns", "largest difference of clocks between CPUs that was seen" },
	{ "quiet_cpus", INT, "quality.quiet_cpus", "count", "CPUs without an event" },
	{ "has_waking", INT, "quality.has_waking", "0/1", "sched_waking was recorded" },
	{ "allowed_recorded", INT, "quality.allowed.recorded", "count", "decided wakeups with a recorded affinity" },
	{ "allowed_inferred", INT, "quality.allowed.inferred", "count", "with an affinity inferred from the trace" },
	{ "allowed_assumed", INT, "quality.allowed.assumed", "count", "taken as allowed everywhere" },
	{ "unused_cpus", TEXT, "quality.unused_cpus", "text", "online CPUs that ran no task, as list text" },
	{ "note", TEXT, "quality.note", "text", "what else a reader must know of the recording" },
};

static const struct wi_column_info topology[] = {
	{ "name", TEXT, NULL, "text",
	  "short name, such as 8cpu/4core/1llc smt2 (online CPUs, their groups); 8cpu guessed: nothing told the "
	  "machine" },
	{ "smt", INT, "smt", "count", "threads of a core; 1 without SMT" },
	{ "nr_cpus", INT, "nr_cpus", "count", "highest CPU number + 1" },
	{ "nr_online", INT, "nr_online", "count", "online CPUs" },
	{ "nr_cores", INT, "nr_cores", "count", "cores with an online CPU" },
	{ "nr_llcs", INT, "nr_llcs", "count", "last level caches with an online CPU" },
	{ "nr_nodes", INT, "nr_nodes", "count", "NUMA nodes with an online CPU" },
	{ "nr_packages", INT, "nr_packages", "count", "packages with an online CPU" },
	{ "flags", TEXT, NULL, "text", "what is doubtful of it, comma between; empty where nothing is" },
	{ "layout", TEXT, NULL, "JSON",
	  "array, an object a CPU: cpu, core, cluster, llc, node, package, online, isolated" },
};

static const struct wi_column_info model[] = {
	{ "model", TEXT, "name", "text", "label of the model, as in the metrics' paths: models[LABEL]" },
	{ "params", TEXT, "params", "text", "its parameters" },
	{ "engine", TEXT, "engine", "text", "open: asked at every recorded wakeup" },
	{ "happened", INT, "happened", "0/1", "1: no model, what the trace shows" },
	{ "of_kernel", INT, "of_kernel", "0/1", "1: the model of the kernel that recorded" },
	{ "decided", INT, "decided", "count", "wakeups that it was asked about" },
	{ "agree_cpu", INT, "agree.cpu", "count", "answers that are the kernel's CPU" },
	{ "agree_core", INT, "agree.core", "count", "answers on the kernel's core" },
	{ "agree_llc", INT, "agree.llc", "count", "answers on the kernel's last level cache" },
	{ "agree_busy", INT, "agree.busy", "count", "answers as idle or busy as the kernel's CPU" },
	{ "tagged", INT, "tagged", "count", "answers that the model calls ambiguous" },
	{ "agree_untagged", INT, "agree_untagged", "count", "answers among the others that are the kernel's CPU" },
	{ "invalid", INT, "invalid", "count", "illegal or missing answers" },
	{ "unanswered", INT, "unanswered", "count", "missing ones of these" },
	{ "chosen_idle", INT, "missed_idle.chosen_idle", "count", "placed on an idle CPU" },
	{ "queued_on_busy", INT, "missed_idle.queued_on_busy", "count", "placed on a busy CPU" },
	{ "half_busy_core_llc", INT, "missed_idle.half_busy_core.llc", "count",
	  "placed beside a busy thread while a core of the cache was idle" },
	{ "stacked_on_waker", INT, "missed_idle.stacked_on_waker", "count", "placed behind the waker needlessly" },
	{ "wait_sum_ns", INT, "est_wait.wait.sum_ns", "ns", "estimated wait on the queue, all wakeups" },
	{ "wait_p99_ns", INT, "est_wait.wait.p99_ns", "ns", "its 99th percentile" },
	{ "wait_max_ns", INT, "est_wait.wait.max_ns", "ns", "its maximum" },
};

static const struct wi_column_info worst[] = {
	{ "kind", TEXT, NULL, "text", "missed_idle: most avoidable wait; latency: longest waits of every class" },
	{ "rank", INT, NULL, "count", "1 is the worst" },
	{ "wake_ns", INT, "wake_ns", "ns", "when it was woken, in the trace's clock" },
	{ "pid", INT, "pid", "number", "who was woken" },
	{ "comm", TEXT, "comm", "text", "its name" },
	{ "class", TEXT, "class", "text", "class of the wakeup (latency only)" },
	{ "scope", TEXT, "scope", "text", "where the nearest idle CPU was (missed_idle only)" },
	{ "waker_pid", INT, "waker_pid", "number", "who woke it; NULL: not known" },
	{ "waker_comm", TEXT, "waker_comm", "text", "its name" },
	{ "waker_cpu", INT, "waker_cpu", "CPU", "where the waker was" },
	{ "prev_cpu", INT, "prev_cpu", "CPU", "where the task ran last" },
	{ "chosen_cpu", INT, "chosen_cpu", "CPU", "the kernel's choice" },
	{ "run_cpu", INT, "run_cpu", "CPU", "where it ran at last (latency only)" },
	{ "missed_cpu", INT, "missed_cpu", "CPU", "the nearest idle CPU (missed_idle only)" },
	{ "latency_ns", INT, "latency_ns", "ns", "from the wakeup to running (latency only)" },
	{ "queue_wait_ns", INT, "queue_wait_ns", "ns", "from the queue to running (latency only)" },
	{ "wait_ns", INT, "wait_ns", "ns", "wait on the queue (missed_idle only)" },
	{ "avoidable_ns", INT, "avoidable_ns", "ns", "of it while the missed CPU stayed idle (missed_idle only)" },
	{ "sibling_idle_ns", INT, "sibling_idle_ns", "ns", "of the wait with an idle SMT sibling (latency only)" },
	{ "missed_idle_ns", INT, "missed_idle_ns", "ns", "how long the missed CPU was idle in all (missed_idle only)" },
	{ "ran_pid", INT, "ran_pid", "number", "who ran on the chosen CPU (missed_idle only)" },
	{ "ran_comm", TEXT, "ran_comm", "text", "its name" },
	{ "censored", INT, "censored", "0/1", "1: it still waited at the window's end; NULL: it ran" },
};

#define PART(table, columns)                                                                                           \
	{                                                                                                              \
		table, columns, sizeof(columns) / sizeof(*(columns))                                                   \
	}

static const struct wi_part_info part_info[WI_NR_PARTS] = {
	[WI_PART_INPUT] = PART("run", input),
	[WI_PART_QUALITY] = PART("quality", quality),
	[WI_PART_TOPOLOGY] = PART("topology", topology),
	[WI_PART_MODEL] = PART("model_summary", model),
	[WI_PART_WORST] = PART("worst", worst),
};

const struct wi_part_info *wi_part_info(enum wi_part part)
{
	return &part_info[part];
}

size_t wi_part_column(enum wi_part part, const char *name)
{
	for (size_t i = 0; i < part_info[part].nr; i++)
		if (!strcmp(part_info[part].column[i].name, name))
			return i;
	return (size_t)-1;
}

void wi_part_key(enum wi_part part, size_t *text, size_t *number)
{
	*text = *number = (size_t)-1;
	if (part == WI_PART_MODEL)
		*text = wi_part_column(part, "model");
	if (part == WI_PART_WORST) {
		*text = wi_part_column(part, "kind");
		*number = wi_part_column(part, "rank");
	}
}
