/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Co-scheduling on the threads of a core (METRICS rules 27 to 29). A core is accounted when one of its threads changes:
 * the time since its last change goes to the number of busy threads, to the tasks and to the pairs that stood there.
 */
#include <inttypes.h>
#include <stdio.h>

#include "analyzer/metrics/priv.h"

#define NR_GROUP_OTHER (UINT32_MAX - 1) /* tasks that the user's map does not name */

static uint32_t nr_pair_slots(uint32_t threads)
{
	return threads * (threads - (threads != 0)) / 2;
}

/* Slot of threads a < b of a core. */
static uint32_t pair_slot(uint32_t a, uint32_t b)
{
	return b * (b - 1) / 2 + a;
}

static bool init_levels(struct wi_metrics *m)
{
	for (int i = 0; i < WI_NR_WIDE; i++) {
		uint32_t l = m->lay.level_of[wi_wide_scope((enum wi_wide_scope)i)], nr = m->lay.level[l].nr_groups;
		struct m_corun_level *lv = &m->smt.level[l];

		if (lv->group)
			continue;
		lv->group = calloc(nr + 1, sizeof(*lv->group));
		if (!lv->group)
			return false;
		for (uint32_t g = 0; g < nr; g++)
			lv->group[g].level = lv;
	}
	return true;
}

static void init_core(struct wi_metrics *m, uint32_t k)
{
	struct m_smt *s = &m->smt;
	struct m_core *core = &s->core[k];
	const struct m_layout *lay = &m->lay;
	uint32_t n = lay->core_threads[k], nr = 0;

	core->nr_threads = core->nr_unknown = n;
	core->share = SHARE_UNKNOWN;
	core->thread = &s->thread[lay->core_first[k]];
	core->busy_ns = &s->busy_ns[lay->core_first[k] + k];
	for (uint32_t i = 0; i < n; i++) {
		struct m_cpu *c = &m->cpu[lay->core_cpu[lay->core_first[k] + i]];

		core->thread[i] = c;
		core->has_candidate |= c->candidate;
		c->core = core;
		c->thread = i;
	}
	if (n == 2) {
		core->thread[0]->sibling = core->thread[1];
		core->thread[1]->sibling = core->thread[0];
	}
	for (uint32_t l = 0; n && l < lay->nr_levels; l++)
		if (s->level[l].group)
			core->group[nr++] = &s->level[l].group[lay->level[l].group[core->thread[0]->number]];
}

bool m_smt_init(struct wi_metrics *m)
{
	struct m_smt *s = &m->smt;
	uint32_t cores = m->lay.nr_cores, slots = 0;

	s->core = calloc(cores + 1, sizeof(*s->core));
	s->thread = calloc(m->lay.nr_cpus + 1, sizeof(*s->thread));
	s->busy_ns = calloc(m->lay.nr_cpus + cores + 1, sizeof(*s->busy_ns));
	s->pair_mask = 1023;
	s->pair = calloc(s->pair_mask + 1, sizeof(*s->pair));
	if (!s->core || !s->thread || !s->busy_ns || !s->pair || !init_levels(m))
		return false;
	if (m->opt.smt_group == WI_GROUP_TASK && !(s->task_names = wi_names_new()))
		return false;
	for (uint32_t k = 0; k < cores; k++) {
		init_core(m, k);
		s->nr_slots += nr_pair_slots(m->lay.core_threads[k]);
	}
	s->slot = calloc(s->nr_slots + 1, sizeof(*s->slot));
	if (!s->slot)
		return false;
	for (uint32_t k = 0; k < cores; k++) {
		s->core[k].slot = &s->slot[slots];
		slots += nr_pair_slots(m->lay.core_threads[k]);
	}
	return true;
}

void m_smt_start(struct wi_metrics *m, uint64_t start_ns)
{
	for (uint32_t k = 0; k < m->lay.nr_cores; k++)
		m->smt.core[k].since_ns = start_ns;
	for (uint32_t c = 0; c < m->lay.nr_cpus; c++)
		m->cpu[c].share_since_ns = start_ns;
	for (uint32_t i = 0; i < m->smt.nr_slots; i++)
		m->smt.slot[i].since_ns = start_ns;
	for (int l = 0; l < WAKEIF_NR_SCOPES; l++)
		m->smt.level[l].since_ns = start_ns;
}

void m_smt_fini(struct wi_metrics *m)
{
	struct m_smt *s = &m->smt;

	free(s->core);
	free(s->thread);
	free(s->busy_ns);
	free(s->slot);
	for (int l = 0; l < WAKEIF_NR_SCOPES; l++)
		free(s->level[l].group);
	free(s->pair);
	wi_names_free(s->task_names);
}

/* ---- groups of tasks ---- */

static uint32_t map_group(const struct wi_metrics *m, const struct wi_task *task)
{
	for (size_t i = 0; i < m->nr_map; i++)
		if (m->map_pid[i] >= 0 && m->map_pid[i] == task->pid)
			return (uint32_t)i;
	const char *comm = wi_names_get(m->opt.names, task->comm);
	for (size_t i = 0; i < m->nr_map; i++)
		if (m->map_pid[i] < 0 && m->map_comm[i] && !strcmp(m->map_comm[i], comm))
			return (uint32_t)i;
	return NR_GROUP_OTHER;
}

/* "comm:pid" as a name of its own: a pid that names two tasks, or a task that takes two names, is told apart. */
static uint32_t task_group(struct wi_metrics *m, const struct wi_task *task)
{
	char text[WI_NAME_MAX + 1];
	int pid_len = snprintf(NULL, 0, ":%" PRId32, task->pid);
	int len = snprintf(text, sizeof(text), "%.*s:%" PRId32, WI_NAME_MAX - pid_len,
			   wi_names_get(m->opt.names, task->comm), task->pid);
	uint32_t id = wi_names_intern(m->smt.task_names, text, (size_t)len);

	if (id == WI_NAME_NONE)
		m->failed = true;
	return id;
}

uint32_t m_smt_group_of(struct wi_metrics *m, const struct wi_task *task, struct m_task *t)
{
	switch (m->opt.smt_group) {
	case WI_GROUP_COMM:
		return task->comm;
	case WI_GROUP_TGID:
		return task->tgid > 0 ? (uint32_t)task->tgid : 0;
	case WI_GROUP_CGROUP:
		return task->cgroup;
	case WI_GROUP_TASK:
	case WI_GROUP_MAP:
		break;
	}
	if (!t->group_known || t->group_comm != task->comm) {
		t->group = m->opt.smt_group == WI_GROUP_TASK ? task_group(m, task) : map_group(m, task);
		t->group_comm = task->comm;
		t->group_known = true;
	}
	return t->group;
}

/* ---- time: a thread's, a pair's and a core's is added up when what it counts as changes ---- */

static inline void account_thread(struct m_cpu *c, uint64_t now_ns)
{
	uint64_t ns = m_take_ns(&c->share_since_ns, now_ns);

	if (c->task)
		c->task->share_ns[c->core->share] += ns;
}

static inline void account_others(const struct m_cpu *c, uint64_t now_ns)
{
	if (c->sibling) {
		account_thread(c->sibling, now_ns);
		return;
	}
	for (uint32_t i = 0; i < c->core->nr_threads; i++)
		if (c->core->thread[i] != c)
			account_thread(c->core->thread[i], now_ns);
}

static inline void account_core(struct m_core *core, uint64_t now_ns)
{
	uint64_t ns = m_take_ns(&core->since_ns, now_ns);

	*(core->nr_unknown ? &core->unknown_ns : &core->busy_ns[core->nr_busy]) += ns;
}

/* The slot holds this pair from now on. */
static inline void slot_hold(struct wi_metrics *m, struct m_pair_slot *p, uint64_t key)
{
	if (p->key == key)
		return;
	if (p->ns)
		m_pair_add(m, p->key, p->ns);
	p->key = key;
	p->ns = 0;
	m_pair_expect(m, key);
}

static inline void update_pair(struct wi_metrics *m, uint64_t now_ns, struct m_pair_slot *p, const struct m_cpu *a,
			       const struct m_cpu *b)
{
	bool on = a->task && b->task;

	if (!on && !p->on)
		return;
	uint64_t ns = m_take_ns(&p->since_ns, now_ns);
	if (p->on)
		p->ns += ns;
	p->on = on;
	if (!on)
		return;
	uint32_t lo = a->group < b->group ? a->group : b->group, hi = a->group < b->group ? b->group : a->group;
	slot_hold(m, p, ((uint64_t)lo << 32 | hi) + 1);
}

static inline void update_pairs(struct wi_metrics *m, uint64_t now_ns, const struct m_cpu *c)
{
	struct m_core *core = c->core;

	if (c->sibling) {
		update_pair(m, now_ns, core->slot, c, c->sibling);
		return;
	}
	for (uint32_t i = 0; i < core->nr_threads; i++)
		if (i != c->thread)
			update_pair(m, now_ns,
				    &core->slot[i < c->thread ? pair_slot(i, c->thread) : pair_slot(c->thread, i)], c,
				    core->thread[i]);
}

static void corun_changed(struct m_core *core, uint64_t now_ns, bool corun, bool idle)
{
	uint32_t more_corun = (uint32_t)corun - core->corun, more_idle = (uint32_t)idle - core->idle;

	core->corun = corun;
	core->idle = idle;
	for (struct m_corun_group **at = core->group; *at; at++) {
		struct m_corun_group *g = *at;

		g->nr_corun += more_corun;
		g->nr_idle += more_idle;
		uint32_t min = g->nr_corun < g->nr_idle ? g->nr_corun : g->nr_idle;
		if (min == g->min)
			continue;
		struct m_corun_level *lv = g->level;
		lv->ns += lv->sum * m_take_ns(&lv->since_ns, now_ns);
		lv->sum += (uint64_t)min - g->min;
		g->min = min;
	}
}

static inline void update_corun(struct m_core *core, uint64_t now_ns)
{
	bool corun = !core->nr_unknown && core->nr_busy >= 2;
	bool idle = core->has_candidate && core->nr_idle == core->nr_threads;

	if (corun != core->corun || idle != core->idle)
		corun_changed(core, now_ns, corun, idle);
}

static inline void set_task(struct m_cpu *c, struct m_task *t, uint32_t group)
{
	if (c->task)
		c->task->nr_threads--;
	c->task = t;
	if (!t)
		return;
	c->group = group;
	t->nr_threads++;
}

void m_smt_task_changed(struct wi_metrics *m, uint64_t now_ns, struct m_cpu *c, struct m_task *t, uint32_t group)
{
	account_thread(c, now_ns);
	set_task(c, t, group);
	if (c->core->nr_busy >= 2)
		update_pairs(m, now_ns, c);
}

void m_smt_kind_changed(struct wi_metrics *m, uint64_t now_ns, struct m_cpu *c, enum wi_cpu_kind kind, struct m_task *t,
			uint32_t group)
{
	struct m_core *core = c->core;
	bool pairs = core->nr_busy >= 2;

	account_core(core, now_ns);
	account_thread(c, now_ns);
	set_task(c, t, group);
	core->nr_busy += (kind == WI_CPU_BUSY) - (uint32_t)(c->kind == WI_CPU_BUSY);
	core->nr_unknown += (kind == WI_CPU_UNKNOWN) - (uint32_t)(c->kind == WI_CPU_UNKNOWN);
	uint8_t share = core->nr_busy >= 2 ? SHARE_CORUN : core->nr_unknown ? SHARE_UNKNOWN : SHARE_ALONE;
	if (share != core->share) {
		account_others(c, now_ns);
		core->share = share;
	}
	if (pairs || core->nr_busy >= 2)
		update_pairs(m, now_ns, c);
	update_corun(core, now_ns);
}

void m_smt_core_idle(struct wi_metrics *m, uint64_t now_ns, struct m_core *core)
{
	(void)m;
	update_corun(core, now_ns);
}

/* A running task changed its name, and with it perhaps its group. */
void m_smt_renamed(struct wi_metrics *m, uint64_t now_ns, struct m_task *t)
{
	uint32_t cpu = t->task->cpu < m->lay.nr_cpus ? t->task->cpu : 0;

	if (m->cpu[cpu].task != t) /* clocks disagree, or it was not yet seen to move */
		for (cpu = 0; cpu < m->lay.nr_cpus && m->cpu[cpu].task != t;)
			cpu++;
	if (cpu == m->lay.nr_cpus)
		return;
	m->cpu[cpu].group = m_smt_group_of(m, t->task, t);
	update_pairs(m, now_ns, &m->cpu[cpu]);
}

static void thread_forget(struct wi_metrics *m, uint64_t now_ns, struct m_cpu *c)
{
	account_thread(c, now_ns);
	set_task(c, NULL, 0);
	update_pairs(m, now_ns, c);
}

/* The task's numbers must be final; a thread that it still stands on stays busy with nobody known. */
void m_smt_task_gone(struct wi_metrics *m, uint64_t now_ns, struct m_task *t)
{
	uint32_t last = t->task->cpu;

	if (t->nr_threads && last < m->lay.nr_cpus && m->cpu[last].task == t)
		thread_forget(m, now_ns, &m->cpu[last]);
	for (uint32_t c = 0; t->nr_threads && c < m->lay.nr_cpus; c++)
		if (m->cpu[c].task == t)
			thread_forget(m, now_ns, &m->cpu[c]);
}

/* ---- results ---- */

static bool finish_cores(struct wi_metrics *m, struct wi_smt_results *r)
{
	const struct m_layout *lay = &m->lay;

	r->busy_threads_ns = calloc(lay->max_threads + 1, sizeof(*r->busy_threads_ns));
	r->core = calloc(lay->nr_cores + 1, sizeof(*r->core));
	if (!r->busy_threads_ns || !r->core)
		return false;
	r->nr_threads = lay->max_threads;
	for (uint32_t k = 0; k < lay->nr_cores; k++) {
		uint32_t n = lay->core_threads[k];
		const uint64_t *busy = &m->smt.busy_ns[lay->core_first[k] + k];

		if (!n)
			continue; /* all its CPUs are offline */
		struct wi_smt_core_row *row = &r->core[r->nr_core++];
		row->id = k;
		row->nr_threads = n;
		row->unknown_ns = m->smt.core[k].unknown_ns;
		row->cpus = m_cpu_list(lay->topo->span[WAKEIF_CORE][k], lay->topo->online, lay->words);
		row->busy_threads_ns = malloc((n + 1) * sizeof(*row->busy_threads_ns));
		if (!row->cpus || !row->busy_threads_ns)
			return false;
		memcpy(row->busy_threads_ns, busy, (n + 1) * sizeof(*busy));
		for (uint32_t i = 0; i <= n; i++)
			r->busy_threads_ns[i] += busy[i];
		r->unknown_ns += row->unknown_ns;
	}
	return true;
}

bool m_smt_finish(struct wi_metrics *m, struct wi_results *r, uint64_t end_ns)
{
	for (uint32_t k = 0; k < m->lay.nr_cores; k++) {
		struct m_core *core = &m->smt.core[k];

		account_core(core, end_ns);
		for (uint32_t i = 0; i < core->nr_threads; i++)
			account_thread(core->thread[i], end_ns);
		for (uint32_t i = 0; i < nr_pair_slots(core->nr_threads); i++) {
			if (core->slot[i].on)
				core->slot[i].ns += m_take_ns(&core->slot[i].since_ns, end_ns);
			slot_hold(m, &core->slot[i], 0);
		}
	}
	if (m->lay.max_threads < 2)
		return true;
	r->smt.present = true;
	for (int i = 0; i < WI_NR_WIDE; i++) {
		struct m_corun_level *lv = &m->smt.level[m->lay.level_of[wi_wide_scope((enum wi_wide_scope)i)]];

		lv->ns += lv->sum * m_take_ns(&lv->since_ns, end_ns);
		r->smt.avoidable_corun_ns[i] = lv->ns;
	}
	r->smt.pairs_folded_ns = m->smt.folded_ns;
	return finish_cores(m, &r->smt) && m_pairs_finish(m, r);
}

uint64_t wi_smt_lost_ns(uint64_t corun_ns, uint32_t speed_permille)
{
	uint64_t lost = speed_permille >= 1000 ? 0 : 1000 - speed_permille;

	return corun_ns / 1000 * lost + corun_ns % 1000 * lost / 1000;
}
