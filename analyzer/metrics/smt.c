/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Co-scheduling on the threads of a core (METRICS rules 27 to 29). A core is accounted when one of its threads changes:
 * the time since its last change goes to the number of busy threads, to the tasks and to the pairs that stood there.
 */
#include "analyzer/metrics/priv.h"

#define NR_GROUP_OTHER (UINT32_MAX - 1) /* tasks that the user's map does not name */

static const enum wakeif_scope wide_scope[WI_NR_WIDE] = {
#define X(id, name, scope) scope,
	WI_WIDE_SCOPES(X)
#undef X
};

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
		uint32_t l = m->lay.level_of[wide_scope[i]], nr = m->lay.level[l].nr_groups + 1;
		struct m_corun_level *lv = &m->smt.level[l];

		if (m->smt.level_used[l])
			continue;
		m->smt.level_used[l] = true;
		lv->nr_corun = calloc(nr, sizeof(*lv->nr_corun));
		lv->nr_idle = calloc(nr, sizeof(*lv->nr_idle));
		lv->min = calloc(nr, sizeof(*lv->min));
		if (!lv->nr_corun || !lv->nr_idle || !lv->min)
			return false;
	}
	return true;
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
	if (!s->core || !s->thread || !s->busy_ns || !s->pair)
		return false;
	for (uint32_t k = 0; k < cores; k++) {
		s->core[k].pair0 = slots;
		s->core[k].nr_unknown = m->lay.core_threads[k];
		slots += nr_pair_slots(m->lay.core_threads[k]);
		for (uint32_t i = 0; i < m->lay.core_threads[k]; i++)
			s->core[k].has_candidate |=
				wi_mask_test(m->lay.candidates, m->lay.core_cpu[m->lay.core_first[k] + i]);
	}
	for (uint32_t c = 0; c < m->lay.nr_cpus; c++)
		s->thread[c].task = NONE;
	s->slot = calloc(slots + 1, sizeof(*s->slot));
	return s->slot && init_levels(m);
}

void m_smt_start(struct wi_metrics *m, uint64_t start_ns)
{
	for (uint32_t k = 0; k < m->lay.nr_cores; k++)
		m->smt.core[k].since_ns = start_ns;
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
	for (int l = 0; l < WAKEIF_NR_SCOPES; l++) {
		free(s->level[l].nr_corun);
		free(s->level[l].nr_idle);
		free(s->level[l].min);
	}
	free(s->pair);
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

uint32_t m_smt_group_of(struct wi_metrics *m, const struct wi_task *task, struct m_task *t)
{
	switch (m->opt.smt_group) {
	case WI_GROUP_COMM:
		return task->comm;
	case WI_GROUP_TGID:
		return task->tgid > 0 ? (uint32_t)task->tgid : 0;
	case WI_GROUP_CGROUP:
		return task->cgroup;
	case WI_GROUP_MAP:
		break;
	}
	if (!t->group_known || t->group_comm != task->comm) {
		t->group = map_group(m, task);
		t->group_comm = task->comm;
		t->group_known = true;
	}
	return t->group;
}

/* ---- time ---- */

static void account_threads(struct wi_metrics *m, uint32_t k, uint64_t ns)
{
	struct m_smt *s = &m->smt;
	const struct m_core *core = &s->core[k];
	const uint32_t *cpu = &m->lay.core_cpu[m->lay.core_first[k]];
	uint32_t n = m->lay.core_threads[k];

	for (uint32_t i = 0; i < n; i++) {
		const struct m_thread *th = &s->thread[cpu[i]];

		if (th->kind != WI_CPU_BUSY || th->task == NONE)
			continue;
		struct m_task *t = &m->tasks.task[th->task];
		if (core->nr_busy >= 2)
			t->corun_ns += ns;
		else if (core->nr_unknown)
			t->smt_unknown_ns += ns;
		else
			t->alone_ns += ns;
	}
	if (core->nr_busy < 2)
		return;
	for (uint32_t i = 0, slots = nr_pair_slots(n); i < slots; i++)
		if (s->slot[core->pair0 + i].on)
			s->slot[core->pair0 + i].ns += ns;
}

static void account_core(struct wi_metrics *m, uint32_t k, uint64_t now_ns)
{
	struct m_core *core = &m->smt.core[k];
	uint64_t ns = m_elapsed(&core->since_ns, now_ns);

	if (!ns)
		return;
	if (core->nr_unknown)
		core->unknown_ns += ns;
	else
		m->smt.busy_ns[m->lay.core_first[k] + k + core->nr_busy] += ns;
	if (core->nr_busy)
		account_threads(m, k, ns);
}

/* The slot holds this pair from now on. */
static void slot_hold(struct wi_metrics *m, struct m_pair_slot *p, uint64_t key)
{
	if (p->key == key)
		return;
	if (p->ns)
		m_pair_add(m, p->key, p->ns);
	p->key = key;
	p->ns = 0;
	m_pair_expect(m, key);
}

static void update_pairs(struct wi_metrics *m, uint32_t k, uint32_t cpu)
{
	struct m_smt *s = &m->smt;
	const struct m_thread *me = &s->thread[cpu];
	const uint32_t *list = &m->lay.core_cpu[m->lay.core_first[k]];
	uint32_t at = m->lay.thread[cpu];

	for (uint32_t i = 0; i < m->lay.core_threads[k]; i++) {
		if (i == at)
			continue;
		const struct m_thread *other = &s->thread[list[i]];
		struct m_pair_slot *p = &s->slot[s->core[k].pair0 + (i < at ? pair_slot(i, at) : pair_slot(at, i))];
		p->on = me->kind == WI_CPU_BUSY && other->kind == WI_CPU_BUSY && me->task != NONE &&
			other->task != NONE;
		if (!p->on)
			continue;
		uint32_t lo = me->group < other->group ? me->group : other->group;
		uint32_t hi = me->group < other->group ? other->group : me->group;
		slot_hold(m, p, ((uint64_t)lo << 32 | hi) + 1);
	}
}

static void corun_level_update(struct wi_metrics *m, uint32_t core_cpu, int corun, int idle, uint64_t now_ns)
{
	for (uint32_t l = 0; l < m->lay.nr_levels; l++) {
		struct m_corun_level *lv = &m->smt.level[l];

		if (!m->smt.level_used[l])
			continue;
		uint32_t g = m->lay.level[l].group[core_cpu];
		lv->nr_corun[g] += (uint32_t)corun;
		lv->nr_idle[g] += (uint32_t)idle;
		uint32_t min = lv->nr_corun[g] < lv->nr_idle[g] ? lv->nr_corun[g] : lv->nr_idle[g];
		if (min == lv->min[g])
			continue;
		lv->ns += lv->sum * m_elapsed(&lv->since_ns, now_ns);
		lv->sum += (uint64_t)min - lv->min[g];
		lv->min[g] = min;
	}
}

static void update_corun(struct wi_metrics *m, uint32_t k, uint32_t cpu, uint64_t now_ns)
{
	struct m_core *core = &m->smt.core[k];
	bool corun = !core->nr_unknown && core->nr_busy >= 2;
	bool idle = core->has_candidate && core->nr_idle == m->lay.core_threads[k];

	if (corun == core->corun && idle == core->idle)
		return;
	corun_level_update(m, cpu, corun - core->corun, idle - core->idle, now_ns);
	core->corun = corun;
	core->idle = idle;
}

void m_smt_cpu_changed(struct wi_metrics *m, uint64_t now_ns, uint32_t cpu, enum wi_cpu_kind kind, uint32_t task,
		       uint32_t group)
{
	struct m_smt *s = &m->smt;
	struct m_thread *th = &s->thread[cpu];
	uint32_t k = m->lay.topo->group[WAKEIF_CORE][cpu];
	struct m_core *core = &s->core[k];

	account_core(m, k, now_ns);
	if (th->task != NONE)
		m->tasks.task[th->task].nr_threads--;
	th->task = task;
	if (task != NONE) {
		th->group = group;
		m->tasks.task[task].nr_threads++;
	}
	if (kind != th->kind) {
		core->nr_busy += (kind == WI_CPU_BUSY) - (uint32_t)(th->kind == WI_CPU_BUSY);
		core->nr_unknown += (kind == WI_CPU_UNKNOWN) - (uint32_t)(th->kind == WI_CPU_UNKNOWN);
		th->kind = (uint8_t)kind;
		update_corun(m, k, cpu, now_ns);
	}
	if (m->lay.core_threads[k] > 1)
		update_pairs(m, k, cpu);
}

void m_smt_idle_changed(struct wi_metrics *m, uint64_t now_ns, uint32_t cpu, bool idle)
{
	uint32_t k = m->lay.topo->group[WAKEIF_CORE][cpu];

	m->smt.core[k].nr_idle += idle ? 1u : -1u;
	update_corun(m, k, cpu, now_ns);
}

/* A running task changed its name, and with it perhaps its group. */
void m_smt_renamed(struct wi_metrics *m, uint64_t now_ns, uint32_t index, const struct wi_task *task)
{
	struct m_task *t = &m->tasks.task[index];
	uint32_t cpu = task->cpu < m->lay.nr_cpus ? task->cpu : 0;

	if (m->smt.thread[cpu].task != index) /* clocks disagree, or it was not yet seen to move */
		for (cpu = 0; cpu < m->lay.nr_cpus && m->smt.thread[cpu].task != index;)
			cpu++;
	if (cpu == m->lay.nr_cpus)
		return;
	uint32_t k = m->lay.topo->group[WAKEIF_CORE][cpu];
	account_core(m, k, now_ns);
	m->smt.thread[cpu].group = m_smt_group_of(m, task, t);
	if (m->lay.core_threads[k] > 1)
		update_pairs(m, k, cpu);
}

static void thread_forget(struct wi_metrics *m, uint64_t now_ns, uint32_t cpu)
{
	uint32_t k = m->lay.topo->group[WAKEIF_CORE][cpu];

	account_core(m, k, now_ns);
	m->smt.thread[cpu].task = NONE;
	if (m->lay.core_threads[k] > 1)
		update_pairs(m, k, cpu);
}

/* The task's numbers must be final; a thread that it still stands on stays busy with nobody known. */
void m_smt_task_gone(struct wi_metrics *m, uint64_t now_ns, uint32_t task, uint32_t last_cpu)
{
	struct m_task *t = &m->tasks.task[task];

	if (t->nr_threads && last_cpu < m->lay.nr_cpus && m->smt.thread[last_cpu].task == task) {
		thread_forget(m, now_ns, last_cpu);
		t->nr_threads--;
	}
	for (uint32_t c = 0; t->nr_threads && c < m->lay.nr_cpus; c++) {
		if (m->smt.thread[c].task != task)
			continue;
		thread_forget(m, now_ns, c);
		t->nr_threads--;
	}
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
		account_core(m, k, end_ns);
		for (uint32_t i = 0; i < nr_pair_slots(m->lay.core_threads[k]); i++)
			slot_hold(m, &m->smt.slot[m->smt.core[k].pair0 + i], 0);
	}
	if (m->lay.max_threads < 2)
		return true;
	r->smt.present = true;
	for (int i = 0; i < WI_NR_WIDE; i++) {
		struct m_corun_level *lv = &m->smt.level[m->lay.level_of[wide_scope[i]]];

		lv->ns += lv->sum * m_elapsed(&lv->since_ns, end_ns);
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
