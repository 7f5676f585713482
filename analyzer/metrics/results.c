/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Names of the rows, and the whole of the results: new, merge, free. */
#include "analyzer/metrics/priv.h"

static const char *pick(const char *const *name, unsigned nr, unsigned value, const char *none)
{
	return value < nr ? name[value] : none;
}

#define X(id, name, ...) name,
static const char *const placed_name[] = { WI_PLACEMENTS(X) };
static const char *const distance_name[] = { WI_DISTANCES(X) };
static const char *const missed_row_name[] = { WI_MISSED_ROWS(X) };
static const char *const wide_scope_name[] = { WI_WIDE_SCOPES(X) };
static const char *const class_name[] = { WAKEIF_CLASSES(X) };
#undef X
static const char *const scope_name[WAKEIF_NR_SCOPES] = { "core", "cluster", "llc", "node", "machine" };
static const char *const context_name[WAKEIF_NR_CONTEXTS] = {
	[WAKEIF_CTX_TASK] = "task", [WAKEIF_CTX_SOFTIRQ] = "softirq", [WAKEIF_CTX_HARDIRQ] = "hardirq",
	[WAKEIF_CTX_IDLE] = "idle", [WAKEIF_CTX_UNKNOWN] = "unknown",
};

const char *wi_placed_name(enum wi_placed p)
{
	return pick(placed_name, WI_NR_PLACEMENTS, p, "unknown");
}

const char *wi_distance_name(enum wi_distance d)
{
	return pick(distance_name, WI_NR_DISTANCES, d, "unknown");
}

const char *wi_missed_row_name(enum wi_missed_row r)
{
	return pick(missed_row_name, WI_NR_MISSED_ROWS, r, "none");
}

const char *wi_wide_scope_name(enum wi_wide_scope s)
{
	return pick(wide_scope_name, WI_NR_WIDE, s, "unknown");
}

const char *wi_scope_name(enum wakeif_scope s)
{
	return pick(scope_name, WAKEIF_NR_SCOPES, s, "unknown");
}

const char *wi_class_name(enum wakeif_class c)
{
	return pick(class_name, WAKEIF_NR_CLASSES, c, "unknown");
}

const char *wi_context_name(enum wakeif_context c)
{
	return pick(context_name, WAKEIF_NR_CONTEXTS, c, "unknown");
}

uint32_t m_name_copy(struct wi_names *to, const struct wi_names *from, uint32_t id, bool *ok)
{
	if (id == WI_NAME_NONE || to == from)
		return id;
	const char *text = wi_names_get(from, id);
	uint32_t copy = wi_names_intern(to, text, strlen(text));
	if (copy == WI_NAME_NONE && strcmp(text, "<...>"))
		*ok = false;
	return copy;
}

struct wi_results *wi_results_new(struct wi_err *err)
{
	struct wi_results *r = calloc(1, sizeof(*r));

	if (r)
		r->names = wi_names_new();
	if (r && r->names)
		return r;
	free(r);
	wi_err_nomem(err);
	return NULL;
}

void wi_results_free(struct wi_results *r)
{
	if (!r)
		return;
	wi_latency_results_fini(&r->latency);
	wi_missed_results_fini(&r->missed);
	wi_smt_results_fini(&r->smt);
	wi_affine_results_fini(&r->affine);
	wi_idle_results_fini(&r->idle);
	wi_task_results_fini(&r->tasks);
	wi_names_free(r->names);
	free(r);
}

static void merge_extent(struct wi_timeline_quality *into, const struct wi_timeline_quality *from)
{
#define MIN(f)                                                                                                         \
	if (from->f < into->f)                                                                                         \
	into->f = from->f
#define MAX(f)                                                                                                         \
	if (from->f > into->f)                                                                                         \
	into->f = from->f
	MIN(recording_start_ns);
	MIN(window_start_ns);
	MAX(recording_end_ns);
	MAX(window_end_ns);
#undef MIN
#undef MAX
}

/* The larger skew; of equal ones the lower CPUs. */
static bool worse_skew(const struct wi_skew *a, const struct wi_skew *b)
{
	if (a->ns != b->ns)
		return a->ns > b->ns;
	if (a->count != b->count)
		return a->count > b->count;
	return a->cpu_a != b->cpu_a ? a->cpu_a < b->cpu_a : a->cpu_b < b->cpu_b;
}

static void merge_quality(struct wi_timeline_quality *into, const struct wi_timeline_quality *from)
{
	for (int i = 0; i < WI_NR_EVENT_TYPES; i++)
		into->events[i] += from->events[i];
	into->types |= from->types;
	into->switch_known |= from->switch_known;
	into->lost_marks += from->lost_marks;
	into->lost_events += from->lost_events;
	into->chain_breaks += from->chain_breaks;
#define X(field, name, meaning) into->repairs.field += from->repairs.field;
	WI_REPAIRS(X)
#undef X
	into->exec_count += from->exec_count;
	into->unnamed_tasks += from->unnamed_tasks;
	into->nr_tasks += from->nr_tasks;
	if (worse_skew(&from->skew, &into->skew))
		into->skew = from->skew;
	into->skew_pairs += from->skew_pairs;
	if (from->censored_oldest_ns > into->censored_oldest_ns ||
	    (from->censored_oldest_ns == into->censored_oldest_ns &&
	     from->censored_oldest_pid < into->censored_oldest_pid)) {
		into->censored_oldest_ns = from->censored_oldest_ns;
		into->censored_oldest_pid = from->censored_oldest_pid;
	}
	into->quiet_cpus += from->quiet_cpus;
	into->unknown_ns += from->unknown_ns;
	merge_extent(into, from);
}

bool wi_results_merge(struct wi_results *into, const struct wi_results *from, struct wi_err *err)
{
	bool ok = true;

	if (!from->nr_traces)
		return true;
	if (into->nr_traces)
		merge_quality(&into->quality, &from->quality);
	else
		into->quality = from->quality;
	into->nr_traces += from->nr_traces;
	into->window_ns += from->window_ns;
	into->cpu_ns += from->cpu_ns;
	wi_wakeup_results_merge(&into->wakeups, &from->wakeups);
	wi_migration_results_merge(&into->migrations, &from->migrations);
	for (int s = 0; s < WAKEIF_NR_SCOPES; s++)
		ok = ok && wi_waste_merge(&into->waste[s], into->names, &from->waste[s], from->names);
	ok = ok && wi_latency_results_merge(&into->latency, into->names, &from->latency, from->names) &&
	     wi_missed_results_merge(&into->missed, into->names, &from->missed, from->names) &&
	     wi_smt_results_merge(&into->smt, into->names, &from->smt, from->names) &&
	     wi_affine_results_merge(&into->affine, &from->affine) && wi_idle_results_merge(&into->idle, &from->idle) &&
	     wi_task_results_merge(&into->tasks, into->names, &from->tasks, from->names);
	return ok || wi_err_nomem(err);
}
