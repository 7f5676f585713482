/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Co-run by the cookies of core scheduling (METRICS rule 36). A core is accounted when what it runs changes, and while
 * it runs tasks of different cookies also when the queues of its threads do. Nothing here exists without a cookie map.
 */
#include "analyzer/metrics/priv.h"

enum { RANK_UNKNOWN = -1, RANK_FAIR = 1000 };

struct queued { /* tasks that wait on a CPU, by cookie */
	uint32_t cookie, nr;
};

struct c_cpu {
	const struct m_task *task; /* NULL: not known, or idle */
	uint32_t cookie, core;
	int16_t rank; /* lower goes first; RANK_UNKNOWN */
	uint8_t kind; /* enum wi_cpu_kind */
	uint8_t share;
	struct queued *queued;
	uint32_t nr_queued, cap_queued;
};

struct c_core {
	uint64_t since_ns;
	uint32_t class, lost; /* lost: CPUs that would be idle, at least */
	uint64_t ns[WI_NR_COOKIE_CLASSES], idle_min_ns;
};

struct m_cookies {
	struct c_cpu *cpu;   /* by number */
	struct c_core *core; /* by number */
	struct c_group {
		uint64_t ns[WI_NR_COOKIE_SHARES];
	} * group; /* by cookie + 1; 0: unknown */
	uint32_t nr_groups;
};

bool m_cookies_init(struct wi_metrics *m)
{
	struct m_cookies *k;
	const struct m_layout *lay = &m->lay;

	if (!m->opt.cookies || lay->max_threads < 2)
		return true;
	k = m->cookies = calloc(1, sizeof(*k));
	if (!k)
		return false;
	k->cpu = calloc(lay->nr_cpus + 1, sizeof(*k->cpu));
	k->core = calloc(lay->nr_cores + 1, sizeof(*k->core));
	k->nr_groups = 16;
	k->group = calloc(k->nr_groups, sizeof(*k->group));
	if (!k->cpu || !k->core || !k->group)
		return false;
	for (uint32_t c = 0; c < lay->nr_cpus; c++)
		k->cpu[c].core = NONE;
	for (uint32_t i = 0; i < lay->nr_cores; i++) {
		k->core[i].class = WI_COOKIE_CLASS_UNKNOWN;
		for (uint32_t t = 0; t < lay->core_threads[i]; t++)
			k->cpu[lay->core_cpu[lay->core_first[i] + t]].core = i;
	}
	return true;
}

void m_cookies_start(struct wi_metrics *m, uint64_t start_ns)
{
	for (uint32_t i = 0; m->cookies && i < m->lay.nr_cores; i++)
		m->cookies->core[i].since_ns = start_ns;
}

void m_cookies_fini(struct wi_metrics *m)
{
	struct m_cookies *k = m->cookies;

	if (!k)
		return;
	for (uint32_t c = 0; k->cpu && c < m->lay.nr_cpus; c++)
		free(k->cpu[c].queued);
	free(k->cpu);
	free(k->core);
	free(k->group);
	free(k);
	m->cookies = NULL;
}

static uint32_t cookie_of(const struct wi_metrics *m, const struct wi_task *t)
{
	const struct wi_cookie_who who = {
		.pid = t->pid,
		.tgid = t->tgid,
		.comm = t->comm == WI_NAME_NONE ? NULL : wi_names_get(m->opt.names, t->comm),
		.cgroup = t->cgroup == WI_NAME_NONE ? NULL : wi_names_get(m->opt.names, t->cgroup),
	};

	return wi_cookie_of(m->opt.cookies, &who);
}

static uint32_t task_cookie(const struct wi_metrics *m, struct m_task *t)
{
	if (!t->cookie_known) {
		t->cookie = cookie_of(m, t->task);
		t->cookie_known = true;
	}
	return t->cookie;
}

/* Deadline, then real time by priority, then fair ones, among which nothing tells who is first. */
static int16_t rank_of(const struct wi_task *t)
{
	if (t->prio == WI_PRIO_UNKNOWN)
		return RANK_UNKNOWN;
	return t->prio < 0 ? 0 : t->prio < 100 ? (int16_t)(1 + t->prio) : RANK_FAIR;
}

/* ---- what a core's state means ---- */

static struct c_group *group(struct wi_metrics *m, uint32_t cookie)
{
	struct m_cookies *k = m->cookies;
	uint32_t at = cookie == WI_COOKIE_UNKNOWN ? 0 : cookie + 1;

	if (at >= k->nr_groups) {
		uint32_t nr = at + at / 2 + 1;
		struct c_group *more = realloc(k->group, nr * sizeof(*more));

		if (!more) {
			m->failed = true;
			return &k->group[0];
		}
		memset(more + k->nr_groups, 0, (nr - k->nr_groups) * sizeof(*more));
		k->group = more;
		k->nr_groups = nr;
	}
	return &k->group[at];
}

static struct c_cpu *thread(const struct wi_metrics *m, uint32_t core, uint32_t i)
{
	return &m->cookies->cpu[m->lay.core_cpu[m->lay.core_first[core] + i]];
}

static void account(struct wi_metrics *m, uint32_t core, uint64_t now_ns)
{
	struct c_core *c = &m->cookies->core[core];
	uint64_t ns = m_take_ns(&c->since_ns, now_ns);

	if (!ns)
		return;
	c->ns[c->class] += ns;
	c->idle_min_ns += ns * c->lost;
	for (uint32_t i = 0; i < m->lay.core_threads[core]; i++) {
		const struct c_cpu *t = thread(m, core, i);

		if (t->kind == WI_CPU_BUSY)
			group(m, t->cookie)->ns[t->share] += ns;
	}
}

static bool differ(uint32_t a, uint32_t b)
{
	return a != b && a != WI_COOKIE_UNKNOWN && b != WI_COOKIE_UNKNOWN;
}

static bool queue_may_have(const struct c_cpu *c, uint32_t cookie)
{
	for (uint32_t i = 0; i < c->nr_queued; i++)
		if (!differ(c->queued[i].cookie, cookie))
			return true;
	return false;
}

/* CPUs that would be idle if the task on thread `first` went first. */
static uint32_t lost_to(const struct wi_metrics *m, uint32_t core, uint32_t first)
{
	uint32_t cookie = thread(m, core, first)->cookie, nr = 0;

	for (uint32_t i = 0; i < m->lay.core_threads[core]; i++) {
		const struct c_cpu *t = thread(m, core, i);

		nr += t->kind == WI_CPU_BUSY && differ(t->cookie, cookie) && !queue_may_have(t, cookie);
	}
	return nr;
}

/* The least over all that may go first: who that is among fair tasks, no trace tells. */
static uint32_t least_lost(const struct wi_metrics *m, uint32_t core)
{
	uint32_t n = m->lay.core_threads[core], least = UINT32_MAX;
	int16_t best = INT16_MAX;

	for (uint32_t i = 0; i < n; i++) {
		const struct c_cpu *t = thread(m, core, i);

		if (t->kind == WI_CPU_BUSY && t->rank != RANK_UNKNOWN && t->rank < best)
			best = t->rank;
	}
	for (uint32_t i = 0; i < n; i++) {
		const struct c_cpu *t = thread(m, core, i);

		if (t->kind != WI_CPU_BUSY || (t->rank != RANK_UNKNOWN && t->rank != best))
			continue;
		uint32_t lost = lost_to(m, core, i);
		least = lost < least ? lost : least;
	}
	return least;
}

/* Busy siblings: does one run another cookie, one nobody knows which? */
static enum wi_cookie_share share_of(const struct wi_metrics *m, uint32_t core, const struct c_cpu *me)
{
	bool busy = false, unknown = false;

	for (uint32_t i = 0; i < m->lay.core_threads[core]; i++) {
		const struct c_cpu *t = thread(m, core, i);

		if (t == me)
			continue;
		unknown |= t->kind == WI_CPU_UNKNOWN;
		if (t->kind != WI_CPU_BUSY)
			continue;
		busy = true;
		if (differ(t->cookie, me->cookie))
			return WI_COOKIE_SHARE_INCOMPATIBLE;
		unknown |= t->cookie == WI_COOKIE_UNKNOWN || me->cookie == WI_COOKIE_UNKNOWN;
	}
	return unknown ? WI_COOKIE_SHARE_UNKNOWN : busy ? WI_COOKIE_SHARE_COMPATIBLE : WI_COOKIE_SHARE_ALONE;
}

static enum wi_cookie_class class_of(const struct wi_metrics *m, uint32_t core)
{
	uint32_t busy = 0;
	bool incompatible = false, unknown = false;

	for (uint32_t i = 0; i < m->lay.core_threads[core]; i++) {
		const struct c_cpu *t = thread(m, core, i);

		if (t->kind == WI_CPU_UNKNOWN)
			return WI_COOKIE_CLASS_UNKNOWN;
		if (t->kind != WI_CPU_BUSY)
			continue;
		busy++;
		incompatible |= t->share == WI_COOKIE_SHARE_INCOMPATIBLE;
		unknown |= t->cookie == WI_COOKIE_UNKNOWN;
	}
	return busy == 0      ? WI_COOKIE_CLASS_IDLE
	       : busy == 1    ? WI_COOKIE_CLASS_SINGLE
	       : incompatible ? WI_COOKIE_CLASS_INCOMPATIBLE
	       : unknown      ? WI_COOKIE_CLASS_CORUN_UNKNOWN
			      : WI_COOKIE_CLASS_COMPATIBLE;
}

static void evaluate(const struct wi_metrics *m, uint32_t core)
{
	struct c_core *c = &m->cookies->core[core];

	for (uint32_t i = 0; i < m->lay.core_threads[core]; i++) {
		struct c_cpu *t = thread(m, core, i);

		if (t->kind == WI_CPU_BUSY)
			t->share = (uint8_t)share_of(m, core, t);
	}
	c->class = class_of(m, core);
	c->lost = c->class == WI_COOKIE_CLASS_INCOMPATIBLE ? least_lost(m, core) : 0;
}

/* ---- hooks ---- */

void m_cookies_cpu_changed(struct wi_metrics *m, uint64_t now_ns, uint32_t cpu, enum wi_cpu_kind kind, struct m_task *t)
{
	struct c_cpu *c = &m->cookies->cpu[cpu];

	if (c->core == NONE)
		return;
	account(m, c->core, now_ns);
	c->kind = (uint8_t)kind;
	c->task = t;
	c->cookie = t ? task_cookie(m, t) : WI_COOKIE_UNKNOWN;
	c->rank = t ? rank_of(t->task) : RANK_UNKNOWN;
	evaluate(m, c->core);
}

static void queue_add(struct wi_metrics *m, struct c_cpu *c, uint32_t cookie)
{
	uint32_t i = 0;

	while (i < c->nr_queued && c->queued[i].cookie != cookie)
		i++;
	if (i == c->cap_queued) {
		uint32_t cap = c->cap_queued ? c->cap_queued * 2 : 4;
		struct queued *more = realloc(c->queued, cap * sizeof(*more));

		if (!more) {
			m->failed = true;
			return;
		}
		c->queued = more;
		c->cap_queued = cap;
	}
	if (i == c->nr_queued)
		c->queued[c->nr_queued++] = (struct queued){ .cookie = cookie };
	c->queued[i].nr++;
}

static void queue_remove(struct c_cpu *c, uint32_t cookie)
{
	for (uint32_t i = 0; i < c->nr_queued; i++) {
		if (c->queued[i].cookie != cookie)
			continue;
		if (!--c->queued[i].nr)
			c->queued[i] = c->queued[--c->nr_queued];
		return;
	}
}

static void queue_changes(struct wi_metrics *m, uint64_t now_ns, const struct c_cpu *c)
{
	if (c->core != NONE && m->cookies->core[c->core].class == WI_COOKIE_CLASS_INCOMPATIBLE)
		account(m, c->core, now_ns);
}

static void queue_changed(struct wi_metrics *m, const struct c_cpu *c)
{
	if (c->core != NONE && m->cookies->core[c->core].class == WI_COOKIE_CLASS_INCOMPATIBLE)
		m->cookies->core[c->core].lost = least_lost(m, c->core);
}

static void wait_ends(struct wi_metrics *m, uint64_t now_ns, struct m_task *t)
{
	if (!t->cookie_queue)
		return;
	struct c_cpu *c = &m->cookies->cpu[t->cookie_queue - 1];
	t->cookie_queue = 0;
	queue_changes(m, now_ns, c);
	queue_remove(c, t->cookie);
	queue_changed(m, c);
}

void m_cookies_wait_changed(struct wi_metrics *m, uint64_t now_ns, uint32_t cpu, struct m_task *t, int delta)
{
	struct c_cpu *c = &m->cookies->cpu[cpu];

	wait_ends(m, now_ns, t);
	if (delta < 0)
		return;
	queue_changes(m, now_ns, c);
	queue_add(m, c, task_cookie(m, t));
	t->cookie_queue = cpu + 1;
	queue_changed(m, c);
}

/* The CPU that runs t; NONE. */
static uint32_t runs_on(const struct wi_metrics *m, const struct m_task *t)
{
	uint32_t last = t->task->cpu;

	if (last < m->lay.nr_cpus && m->cookies->cpu[last].task == t)
		return last;
	for (uint32_t c = 0; c < m->lay.nr_cpus; c++)
		if (m->cookies->cpu[c].task == t)
			return c;
	return NONE;
}

/* Another name may mean another cookie. */
void m_cookies_renamed(struct wi_metrics *m, uint64_t now_ns, struct m_task *t)
{
	uint32_t queue = t->cookie_queue, cookie = cookie_of(m, t->task), cpu;

	if (!t->cookie_known || cookie == t->cookie)
		return;
	wait_ends(m, now_ns, t);
	t->cookie = cookie;
	if (queue)
		m_cookies_wait_changed(m, now_ns, queue - 1, t, 1);
	cpu = runs_on(m, t);
	if (cpu == NONE)
		return;
	account(m, m->cookies->cpu[cpu].core, now_ns);
	m->cookies->cpu[cpu].cookie = cookie;
	evaluate(m, m->cookies->cpu[cpu].core);
}

void m_cookies_task_gone(struct wi_metrics *m, uint64_t now_ns, struct m_task *t)
{
	uint32_t cpu;

	wait_ends(m, now_ns, t);
	while ((cpu = runs_on(m, t)) != NONE)
		m_cookies_cpu_changed(m, now_ns, cpu, (enum wi_cpu_kind)m->cookies->cpu[cpu].kind, NULL);
}

/* ---- results ---- */

static bool finish_groups(struct wi_metrics *m, struct wi_results *r, struct wi_cookie_results *out)
{
	const struct m_cookies *k = m->cookies;
	bool ok = true;

	out->group = calloc(k->nr_groups, sizeof(*out->group));
	if (!out->group)
		return false;
	for (uint32_t g = 0; g < k->nr_groups; g++) {
		struct wi_cookie_group_row *row = &out->group[out->nr_group];
		uint64_t any = 0;

		for (int i = 0; i < WI_NR_COOKIE_SHARES; i++)
			any |= row->ns[i] = k->group[g].ns[i];
		if (!any)
			continue;
		row->kind = g == 0 ? WI_COOKIE_KIND_UNKNOWN : g == 1 ? WI_COOKIE_KIND_UNTAGGED : WI_COOKIE_KIND_TAGGED;
		if (row->kind == WI_COOKIE_KIND_TAGGED) {
			const char *name = wi_cookie_name(m->opt.cookies, g - 1);

			row->name = wi_names_intern(r->names, name, strlen(name));
			ok = ok && row->name != WI_NAME_NONE;
		}
		out->nr_group++;
	}
	m_cookie_groups_sort(out, r->names);
	return ok;
}

bool m_cookies_finish(struct wi_metrics *m, struct wi_results *r, uint64_t end_ns)
{
	struct wi_cookie_results *out = &r->smt.cookies;
	const struct m_layout *lay = &m->lay;

	if (!m->cookies)
		return true;
	if (wi_cookie_map_failed(m->opt.cookies))
		return false;
	out->present = true;
	out->core = calloc(lay->nr_cores + 1, sizeof(*out->core));
	if (!out->core)
		return false;
	for (uint32_t i = 0; i < lay->nr_cores; i++) {
		const struct c_core *c = &m->cookies->core[i];

		if (!lay->core_threads[i])
			continue;
		account(m, i, end_ns);
		struct wi_cookie_core_row *row = &out->core[out->nr_core++];
		row->id = i;
		row->time.idle_min_ns = c->idle_min_ns;
		memcpy(row->time.ns, c->ns, sizeof(row->time.ns));
		row->cpus = m_cpu_list(lay->topo->span[WAKEIF_CORE][i], lay->topo->online, lay->words);
		if (!row->cpus)
			return false;
		m_cookie_time_add(&out->all, &row->time);
	}
	return finish_groups(m, r, out);
}
