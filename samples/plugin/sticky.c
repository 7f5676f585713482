/* SPDX-License-Identifier: MIT */
/*
 * sticky: an example of a placement model as a plug-in.
 *
 *   cc -shared -fPIC -I models -o sticky.so samples/plugin/sticky.c     (installed: -I /usr/local/include/wakeif)
 *   wakeif replay trace.dat -m ./sticky.so -m ./sticky.so,times=10
 *
 * The policy: a task stays on its previous CPU, busy or not, until it has been woken `times` times in a row while that CPU
 * was busy; then it goes to an idle CPU that shares the last-level cache, if there is one. It needs the C library only.
 */
#include <stdlib.h>
#include <string.h>

#include "wakeif_model.h"

/* Every run of the model has its own state: several can be replayed in one pass with different parameters. */
struct sticky {
	const struct wakeif_topology *topo;
	int64_t times;
	/* What is kept of tasks is indexed by task slot: a small number, reused when the task has ended. */
	uint8_t *busy_in_a_row;
	uint32_t nr_slots;
};

/* Parameters are parsed and checked by wakeif; init gets the values in this order. */
static const struct wakeif_param params[] = {
	{ .name = "times", .type = WAKEIF_PARAM_INT, .dflt = "3", .min = 1, .max = 200, .help = "wakeups in a row that found the previous CPU busy" },
};

static void *sticky_init(const struct wakeif_host *host, const int64_t *values)
{
	struct sticky *s = calloc(1, sizeof(*s));

	if (!s) {
		host->say(host->ctx, "out of memory");
		return NULL;
	}
	s->topo = host->topology; /* lent until fini */
	s->times = values[0];
	return s;
}

static void sticky_fini(void *model)
{
	struct sticky *s = model;

	free(s->busy_in_a_row);
	free(s);
}

/* The counter of a slot; NULL when there is no memory or the task is not known. */
static uint8_t *counter(struct sticky *s, uint32_t slot)
{
	if (slot == WAKEIF_TASK_NONE)
		return NULL;
	if (slot >= s->nr_slots) {
		uint32_t nr = slot + slot / 2 + 16;
		uint8_t *p = realloc(s->busy_in_a_row, nr);

		if (!p)
			return NULL;
		memset(p + s->nr_slots, 0, nr - s->nr_slots);
		s->busy_in_a_row = p;
		s->nr_slots = nr;
	}
	return &s->busy_in_a_row[slot];
}

static int is_set(const wakeif_word *set, uint32_t cpu)
{
	return set[cpu / 64] >> cpu % 64 & 1;
}

/*
 * Called once for every wakeup that the kernel took a decision for, with the machine as it was just before. Whatever is
 * not known (v->unknown) is not in v->idle.
 */
static bool sticky_select(void *model, const struct wakeif_wakeup *w, const struct wakeif_view *v, struct wakeif_choice *choice)
{
	struct sticky *s = model;
	uint8_t *busy = counter(s, w->wakee_task);

	if (!busy)
		return false; /* counted as invalid */
	choice->cpu = w->prev_cpu;
	choice->rule = WAKEIF_RULE_STAY;
	choice->examined = 1;
	if (is_set(v->idle, w->prev_cpu)) {
		*busy = 0;
		return true;
	}
	if (++*busy < s->times)
		return true;
	*busy = 0;
	const uint32_t *llc = s->topo->group[WAKEIF_LLC];
	for (uint32_t cpu = 0; cpu < s->topo->nr_cpus; cpu++) {
		if (llc[cpu] != llc[w->prev_cpu] || !is_set(w->allowed, cpu))
			continue;
		choice->examined++;
		if (is_set(v->idle, cpu)) {
			choice->cpu = cpu;
			choice->rule = WAKEIF_RULE_IDLE_CPU;
			return true;
		}
	}
	return true;
}

/* History: a slot that a new task gets starts from nothing. */
static void sticky_observe(void *model, const struct wakeif_happening *h)
{
	uint8_t *busy;

	if (h->type == WAKEIF_TASK_BEGAN && (busy = counter(model, h->task)))
		*busy = 0;
}

/* The one symbol that wakeif looks for. */
const struct wakeif_model_ops wakeif_model = {
	.abi = WAKEIF_ABI,
	.size = sizeof(struct wakeif_model_ops),
	.name = "sticky",
	.summary = "leaves the previous CPU only after several wakeups that found it busy",
	.source = "an example of this project",
	.confidence = "exact",
	.needs = WAKEIF_NEED_TOPOLOGY,
	.nr_params = sizeof(params) / sizeof(*params),
	.params = params,
	.init = sticky_init,
	.fini = sticky_fini,
	.select_cpu = sticky_select,
	.observe = sticky_observe,
};
