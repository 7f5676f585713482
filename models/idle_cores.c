/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "models/idle_cores.h"

#include <stdlib.h>

#include "analyzer/base/cpumask.h"

bool wi_idle_cores_init(struct wi_idle_cores *c, const struct wakeif_topology *t)
{
	*c = (struct wi_idle_cores){ 0 };
	if (!wi_fair_machine_init(&c->machine, t))
		return false;
	c->idle = calloc((size_t)t->nr_words + 1, sizeof(*c->idle));
	c->times = calloc((size_t)t->nr_cpus + 1, sizeof(*c->times));
	if (c->idle && c->times)
		return true;
	wi_idle_cores_fini(c);
	return false;
}

void wi_idle_cores_fini(struct wi_idle_cores *c)
{
	wi_fair_machine_fini(&c->machine);
	free(c->idle);
	free(c->times);
	*c = (struct wi_idle_cores){ 0 };
}

/* When the rest of its core idles, too, the LLC has an idle core. */
void wi_idle_cores_idles(struct wi_idle_cores *c, uint32_t cpu)
{
	const wakeif_word *core = c->machine.core[cpu];
	bool all = c->machine.smt;

	wi_mask_set(c->idle, cpu);
	for (uint32_t i = 0; i < c->machine.nr_words && all; i++)
		all = !(core[i] & ~c->idle[i]);
	c->times[c->machine.llc_id[cpu]] += all;
}
