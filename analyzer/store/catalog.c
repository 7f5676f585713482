/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "analyzer/store/catalog.h"

#include <string.h>

#include "analyzer/store/glob.h"

/* What figures of a kind have in common, by how the path ends. */
static const char *unit_of(const char *path)
{
	static const struct {
		const char *pattern, *unit;
	} rule[] = {
		{ "*share|*.success|*.coverage|*.agreement|*.compatibility|*.fairness", "share" },
		{ "*per_second|*_per_s", "per second" },
		{ "*.per_wakeup", "per wakeup" },
		{ "*efficiency", "searches per CPU" },
		{ "*.bytes", "bytes" },
		{ "*_ns|*.ns|*_ns[*]|*_ns.*", "ns" },
	};

	for (size_t i = 0; i < sizeof(rule) / sizeof(*rule); i++)
		if (wi_glob(rule[i].pattern, path))
			return rule[i].unit;
	return "count";
}

/* The first that matches tells the direction. What the load alone decides (no idle CPU anywhere) has none. */
static const struct {
	const char *pattern;
	enum wi_direction direction;
} direction[] = {
	{ "*latency.*.count|*latency.*total|*latency.*.wakeups", WI_NO_DIRECTION },
	{ "latency.*_ns|wake_affine.*latency.*_ns|wake_affine.*.latency.*_ns", WI_LOWER_IS_BETTER },
	{ "missed_idle.decided|missed_idle.no_idle.*|missed_idle.unknown.*|missed_idle.chosen_*|missed_idle.stalled.*|"
	  "missed_idle.prev_idle_elsewhere.*|missed_idle.on_sched_idle_only",
	  WI_NO_DIRECTION },
	{ "missed_idle.*", WI_LOWER_IS_BETTER },
	{ "idle_while_waiting.*", WI_LOWER_IS_BETTER },
	{ "smt.avoidable_corun_ns.*|smt.tasks*lost_ns.*", WI_LOWER_IS_BETTER },
	{ "smt.cookies.*incompatible_ns|smt.cookies.*forced_idle_min_ns", WI_LOWER_IS_BETTER },
	{ "smt.cookies.*compatibility", WI_HIGHER_IS_BETTER },
	{ "wake_affine.bounce|wake_affine.by_*.bounce|wake_affine.cross_llc|wake_affine.by_*.cross_llc",
	  WI_LOWER_IS_BETTER },
	{ "migrations.total|migrations.per_*|migrations.by_distance.node|migrations.by_distance.remote",
	  WI_LOWER_IS_BETTER },
	{ "models[*].agree*_share|models[*].stalled.*_share|models[*].fork.*_share|"
	  "models[*].exec.*_share",
	  WI_HIGHER_IS_BETTER },
	{ "models[*].missed_idle.decided|models[*].missed_idle.chosen_*|models[*].missed_idle.nearest_idle.no_idle|"
	  "models[*].missed_idle.nearest_idle.unknown|models[*].missed_idle.prev_idle_elsewhere|"
	  "models[*].missed_idle.on_sched_idle_only",
	  WI_NO_DIRECTION },
	{ "models[*].missed_idle.*", WI_LOWER_IS_BETTER },
	{ "models[*].est_wait.wait.*_ns|models[*].queue_wait.*_ns|models[*].est_wait.waits", WI_LOWER_IS_BETTER },
	{ "models[*].invalid|models[*].unanswered|models[*].examined", WI_LOWER_IS_BETTER },
	{ "*search.*success|*search.*efficiency", WI_HIGHER_IS_BETTER },
	{ "simulate.self_replay.ks|simulate.self_replay.ks_resampled", WI_LOWER_IS_BETTER },
	{ "simulate.policies[*].difference.*", WI_NO_DIRECTION },
	{ "simulate.policies[*].*p50_ns.mean|simulate.policies[*].*p90_ns.mean|simulate.policies[*].*p99_ns.mean|"
	  "simulate.policies[*].makespan_ns.mean|simulate.policies[*].waiting.mean|"
	  "simulate.policies[*].idle_while_waiting_*.mean|simulate.policies[*].migrations*.mean|"
	  "simulate.policies[*].cookies.forced_idle|simulate.policies[*].cookies.incompatible_corun_ns|"
	  "simulate.policies[*].cookies.ipis_per_s",
	  WI_LOWER_IS_BETTER },
	{ "simulate.policies[*].cookies.corun_compatible|simulate.policies[*].cookies.fairness", WI_HIGHER_IS_BETTER },
};

/*
 * The parts of the documents that hold metrics. A path that begins otherwise is unknown here: a part that is added to
 * the documents needs a line. Figures of the simulation are those of its own table.
 */
static const char known_parts[] =
	"quality.*|events.*|wakeups.*|latency.*|missed_idle.*|idle_while_waiting.*|smt.*|wake_affine.*|idle.*|"
	"migrations.*|tasks[*|tasks_total|search.*|replay.*|models[*].*|simulate.*|topology.*|validate.*";

/* Statistics over seeds stand a level below the figure that they are of: .mean, .stddev, .low, .high, .n. */
static const struct {
	const char *name, *unit;
} simulated[] = {
	{ "util", "share" },
	{ "corun", "share" },
	{ "stay", "share" },
	{ "waiting", "tasks" },
	{ "idle_while_waiting_core", "share" },
	{ "idle_while_waiting_llc", "share" },
	{ "migrations", "per waking" },
	{ "migrations_per_s", "per second" },
	{ "wakings_per_s", "per second" },
	{ "preemptions_per_s", "per second" },
	{ "ks", "share" },
	{ "ks_resampled", "share" },
	{ "forced_idle", "share" },
	{ "corun_compatible", "share" },
	{ "fairness", "share" },
	{ "ipis_per_s", "per second" },
};

/* Unit of a figure of .simulate; NULL: none of its own. */
static const char *unit_of_simulated(const char *path)
{
	char figure[64], *last;

	if (strncmp(path, "simulate.", 9) || strlen(path) - (size_t)(strrchr(path, '.') - path) >= sizeof(figure))
		return NULL;
	last = strrchr(path, '.');
	if (!strcmp(last, ".n"))
		return "count";
	strcpy(figure, last + 1);
	if (wi_glob("mean|stddev|low|high", figure)) {
		const char *end = last;

		while (last > path && last[-1] != '.')
			last--;
		if ((size_t)(end - last) >= sizeof(figure))
			return NULL;
		memcpy(figure, last, (size_t)(end - last));
		figure[end - last] = '\0';
	}
	for (size_t i = 0; i < sizeof(simulated) / sizeof(*simulated); i++)
		if (!strcmp(figure, simulated[i].name))
			return simulated[i].unit;
	return wi_glob("*_err", figure) ? "share" : wi_glob("*_ns", figure) ? "ns" : NULL;
}

static const struct {
	const char *path, *meaning;
} headline[] = {
	{ "latency.wakeup.p50_ns", "wakeup latency, median" },
	{ "latency.wakeup.p99_ns", "wakeup latency, 99th percentile" },
	{ "latency.wakeup.max_ns", "wakeup latency, longest" },
	{ "latency.queue_wait.p99_ns", "wait on the queue, 99th percentile" },
	{ "missed_idle.queued_on_busy.share", "placed on a busy CPU" },
	{ "missed_idle.sibling.share", "placed on a busy CPU, its SMT sibling idle" },
	{ "missed_idle.llc.share", "placed on a busy CPU, the nearest idle one in the same cache" },
	{ "missed_idle.queued_while_idle_core.llc.share", "placed on a busy CPU, a core of the cache idle" },
	{ "missed_idle.half_busy_core.llc.share", "placed beside a busy thread, a core of the cache idle" },
	{ "missed_idle.half_busy_core.llc.avoidable_ns", "wait of these while that core stayed idle" },
	{ "missed_idle.stacked_on_waker.share", "placed behind the waker, a core idle" },
	{ "smt.avoidable_corun_ns.llc", "time that tasks shared cores beside idle ones" },
	{ "idle_while_waiting.llc.task_ns", "task time waited while a CPU of the cache was idle" },
	{ "migrations.per_wakeup", "moves per wakeup" },
	{ "wake_affine.bounce", "wakeups that left their cache and were back within 10 ms" },
};

#define NR_HEADLINE (sizeof(headline) / sizeof(*headline))

bool wi_catalog_find(const char *path, struct wi_metric_info *out)
{
	const char *unit = unit_of_simulated(path);

	*out = (struct wi_metric_info){ .unit = "number" };
	if (!wi_glob(known_parts, path))
		return false;
	out->unit = unit ? unit : unit_of(path);
	for (size_t i = 0; i < sizeof(direction) / sizeof(*direction); i++)
		if (wi_glob(direction[i].pattern, path)) {
			out->direction = direction[i].direction;
			break;
		}
	for (size_t i = 0; i < NR_HEADLINE; i++)
		if (!strcmp(headline[i].path, path)) {
			out->headline = (unsigned int)i + 1;
			out->meaning = headline[i].meaning;
		}
	return true;
}

bool wi_catalog_needs_groups(const char *path)
{
	static const char patterns[] =
		"latency.by_placement.*|*missed_idle.sibling.*|*missed_idle.cluster.*|*missed_idle.llc.*|"
		"*missed_idle.node.*|*missed_idle.machine.*|*missed_idle.queued_while_idle_core.*|"
		"*missed_idle.half_busy_core.*|*missed_idle.stacked_on_waker*|"
		"missed_idle.prev_idle_elsewhere.by_distance.*|missed_idle.prev_idle_elsewhere.affine_possible|"
		"idle_while_waiting.core.*|idle_while_waiting.cluster.*|idle_while_waiting.llc.*|"
		"idle_while_waiting.node.*|smt.*|wake_affine.outcome.*|wake_affine.matrix*|"
		"wake_affine.by_*.prev.*|wake_affine.by_*.waker.*|*.cross_llc|*.bounce|idle.core*|idle.llc*|"
		"idle.package*|idle.touched_idle_package.*|migrations.by_distance.*|models[*].moves.*|"
		"models[*].*.core|models[*].*.llc|models[*].*.core_share|models[*].*.llc_share|"
		"models[*].missed_idle.nearest_idle.*|simulate.policies[*].idle_while_waiting_*|"
		"simulate.policies[*].corun.*|simulate.self_replay.corun_err";

	return wi_glob(patterns, path);
}

const char *wi_direction_name(enum wi_direction d)
{
	static const char *const name[] = { "none", "lower", "higher" };

	return name[d];
}

const char *const *wi_catalog_headline(size_t *nr)
{
	static const char *path[NR_HEADLINE];

	for (size_t i = 0; i < NR_HEADLINE; i++)
		path[i] = headline[i].path;
	*nr = NR_HEADLINE;
	return path;
}
