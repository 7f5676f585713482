/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Idle while waiting (METRICS rule 26): CPUs that idle while tasks wait that might run there. Each change touches the
 * counts of the groups that contain its CPU, and what follows from them. Two things wait until time goes on: pairs
 * where affinity has a say, which have to be matched, and the names of an episode that was the longest so far.
 */
#include "analyzer/metrics/priv.h"

static const uint64_t episode_limit_ns[WI_NR_EPISODES] = { 1000000, 10000000, 100000000 };

/* ---- affinity masks, each kept once ---- */

/* May it run on every candidate of span? */
bool m_mask_covers(const struct wi_metrics *m, const wakeif_word *mask, const wakeif_word *span)
{
	for (uint32_t i = 0; i < m->lay.words; i++)
		if (span[i] & m->lay.candidates[i] & ~mask[i])
			return false;
	return true;
}

static uint32_t mask_hash(const wakeif_word *w, uint32_t words)
{
	uint64_t h = 0x9e3779b97f4a7c15ull;

	for (uint32_t i = 0; i < words; i++)
		h = (h ^ w[i]) * 0xff51afd7ed558ccdull;
	return (uint32_t)(h >> 32);
}

static bool mask_hash_grow(struct wi_metrics *m)
{
	struct m_waste *s = &m->waste;
	uint32_t size = (s->mask_hash_mask + 1) * 2, *hash = calloc(size, sizeof(*hash));

	if (!hash)
		return false;
	for (uint32_t i = 0; i < s->nr_masks; i++) {
		uint32_t h = mask_hash(s->mask[i].words, m->lay.words) & (size - 1);

		while (hash[h])
			h = (h + 1) & (size - 1);
		hash[h] = i + 1;
	}
	free(s->mask_hash);
	s->mask_hash = hash;
	s->mask_hash_mask = size - 1;
	return true;
}

static uint32_t mask_add(struct wi_metrics *m, const wakeif_word *allowed)
{
	struct m_waste *s = &m->waste;

	if (s->nr_masks == s->cap_masks) {
		uint32_t cap = s->cap_masks ? s->cap_masks * 2 : 16;
		struct m_mask *mask = realloc(s->mask, cap * sizeof(*mask));

		if (!mask)
			return NONE;
		s->mask = mask;
		s->cap_masks = cap;
	}
	wakeif_word *words = malloc((m->lay.words + 1) * sizeof(*words));
	if (!words)
		return NONE;
	memcpy(words, allowed, m->lay.words * sizeof(*words));
	s->mask[s->nr_masks] = (struct m_mask){ words, m_mask_covers(m, words, m->lay.candidates) };
	return s->nr_masks++;
}

static uint32_t mask_number(struct wi_metrics *m, const wakeif_word *allowed)
{
	struct m_waste *s = &m->waste;
	uint32_t h = mask_hash(allowed, m->lay.words);

	for (uint32_t i = h & s->mask_hash_mask; s->mask_hash[i]; i = (i + 1) & s->mask_hash_mask)
		if (wi_mask_equal(s->mask[s->mask_hash[i] - 1].words, allowed, m->lay.words))
			return s->mask_hash[i] - 1;
	if ((s->nr_masks + 1) * 2 > s->mask_hash_mask && !mask_hash_grow(m))
		return NONE;
	uint32_t number = mask_add(m, allowed);
	if (number == NONE)
		return NONE;
	uint32_t i = h & s->mask_hash_mask;
	while (s->mask_hash[i])
		i = (i + 1) & s->mask_hash_mask;
	s->mask_hash[i] = number + 1;
	return number;
}

/* The task's mask became another one, or was never asked for. */
m_rare static bool ask_mask(struct wi_metrics *m, struct m_task *t)
{
	t->mask = mask_number(m, t->task->allowed);
	t->mask_allowed = t->mask == NONE ? NULL : t->task->allowed;
	if (t->mask == NONE) {
		m->failed = true;
		return false;
	}
	t->covers_all = m->waste.mask[t->mask].covers_all;
	return true;
}

static bool bag_add(struct m_mask_bag *b, uint32_t mask)
{
	for (uint32_t i = 0; i < b->nr; i++) {
		if (b->item[i].mask == mask) {
			b->item[i].nr++;
			return true;
		}
	}
	if (b->nr == b->cap) {
		uint32_t cap = b->cap ? b->cap * 2 : 4;
		struct m_mask_count *item = realloc(b->item, cap * sizeof(*item));

		if (!item)
			return false;
		b->item = item;
		b->cap = cap;
	}
	b->item[b->nr++] = (struct m_mask_count){ mask, 1 };
	return true;
}

static void bag_remove(struct m_mask_bag *b, uint32_t mask)
{
	for (uint32_t i = 0; i < b->nr; i++) {
		if (b->item[i].mask != mask)
			continue;
		if (!--b->item[i].nr)
			b->item[i] = b->item[--b->nr];
		return;
	}
}

/* ---- setting up ---- */

static void find_groups(struct wi_metrics *m, struct m_cpu *c)
{
	uint32_t nr = 0;

	for (uint32_t l = 0; l < m->lay.nr_levels; l++) {
		const struct m_level *lv = &m->lay.level[l];

		if (!lv->trivial && lv->group[c->number] < lv->nr_groups)
			c->group_of[nr++] = &m->waste.level[l].group[lv->group[c->number]];
	}
}

bool m_waste_init(struct wi_metrics *m)
{
	struct m_waste *s = &m->waste;
	uint32_t groups = 0;

	s->mask_hash_mask = 63;
	s->mask_hash = calloc(s->mask_hash_mask + 1, sizeof(*s->mask_hash));
	s->restricted_cpus = calloc(m->lay.words + 1, sizeof(*s->restricted_cpus));
	s->idle = calloc(m->lay.words + 1, sizeof(*s->idle));
	if (!s->mask_hash || !s->restricted_cpus || !s->idle)
		return false;
	for (uint32_t l = 0; l < m->lay.nr_levels; l++) {
		uint32_t nr = m->lay.level[l].nr_groups;

		struct m_waste_level *lv = &s->level[l];

		lv->in_layout = &m->lay.level[l];
		lv->episode_ns = WI_TIME_UNKNOWN;
		lv->group = calloc(nr + 1, sizeof(*lv->group));
		if (!lv->group)
			return false;
		groups += nr;
		for (uint32_t g = 0; g < nr; g++) {
			lv->group[g].level = lv;
			lv->group[g].number = g;
		}
	}
	for (uint32_t c = 0; c < m->lay.nr_cpus; c++)
		find_groups(m, &m->cpu[c]);
	s->names_from_ns = WI_TIME_UNKNOWN;
	s->to_match = calloc(groups + 1, sizeof(*s->to_match));
	return s->to_match && m_match_init(m);
}

void m_waste_fini(struct wi_metrics *m)
{
	struct m_waste *s = &m->waste;

	for (uint32_t i = 0; i < s->nr_masks; i++)
		free(s->mask[i].words);
	free(s->mask);
	free(s->mask_hash);
	for (uint32_t l = 0; l < m->lay.nr_levels; l++) {
		for (uint32_t g = 0; s->level[l].group && g < m->lay.level[l].nr_groups; g++)
			free(s->level[l].group[g].restricted.item);
		free(s->level[l].group);
	}
	for (uint32_t c = 0; m->cpu && c < m->lay.nr_cpus; c++)
		free(m->cpu[c].restricted.item);
	free(s->restricted_cpus);
	free(s->idle);
	free(s->to_match);
	free(s->left);
	m_match_fini(m);
}

/* ---- changes ---- */

static inline uint32_t min_u32(uint32_t a, uint32_t b)
{
	return a < b ? a : b;
}

static inline bool longer_than_any(const struct m_waste_level *lv, uint64_t end_ns)
{
	return end_ns > lv->episode_ns && end_ns - lv->episode_ns > lv->r.longest_ns;
}

/* Ended at this instant, so far; its names are yet to be found. */
static inline bool just_ended_longest(const struct wi_metrics *m, const struct m_waste_level *lv)
{
	return !lv->pairs && lv->episode_ended_ns == m->now_ns && longer_than_any(lv, m->now_ns);
}

static void find_names_from(struct wi_metrics *m)
{
	struct m_waste *s = &m->waste;

	s->names_from_ns = WI_TIME_UNKNOWN;
	for (uint32_t l = 0; l < m->lay.nr_levels; l++) {
		const struct m_waste_level *lv = &s->level[l];

		if ((lv->pairs || just_ended_longest(m, lv)) && lv->episode_ns + lv->r.longest_ns < s->names_from_ns)
			s->names_from_ns = lv->episode_ns + lv->r.longest_ns;
	}
}

/* The latest episode is over for good. */
static inline void count_episode(struct m_waste_level *lv, uint64_t end_ns)
{
	if (lv->episode_ns >= end_ns)
		return; /* before the window, or there was none */
	uint64_t ns = end_ns - lv->episode_ns;
	lv->r.wall_ns += ns;
	if (ns > episode_limit_ns[0])
		for (int i = 0; i < WI_NR_EPISODES; i++)
			lv->r.episodes[i] += ns > episode_limit_ns[i];
}

static inline void pairs_begin(struct wi_metrics *m, struct m_waste_level *lv)
{
	if (lv->episode_ended_ns != m->now_ns || lv->episode_ns == WI_TIME_UNKNOWN) { /* else it goes on */
		count_episode(lv, lv->episode_ended_ns);
		lv->episode_ns = m->counted_ns;
	}
	if (lv->episode_ns + lv->r.longest_ns < m->waste.names_from_ns)
		m->waste.names_from_ns = lv->episode_ns + lv->r.longest_ns;
}

static inline void pairs_end(struct wi_metrics *m, struct m_waste_level *lv)
{
	lv->episode_ended_ns = m->now_ns;
	if (longer_than_any(lv, m->now_ns))
		m->waste.unsettled = true;
	else if (lv->episode_ns + lv->r.longest_ns == m->waste.names_from_ns)
		find_names_from(m);
}

/* One more group of the level, or one less, has a pair with a task that waits behind another. */
static inline void set_behind(struct wi_metrics *m, struct m_waste_group *g, bool behind)
{
	struct m_waste_level *lv = g->level;

	g->behind = behind;
	lv->nr_behind += behind ? 1u : -1ull;
	if (lv->nr_behind == behind) /* the first one, or the last */
		lv->r.behind_ns += behind ? -m->counted_ns : m->counted_ns;
}

static inline void set_pairs(struct wi_metrics *m, struct m_waste_group *g, uint32_t pairs, uint32_t cpu_pairs)
{
	struct m_waste_level *lv = g->level;
	uint64_t more = (uint64_t)pairs - g->pairs, more_cpu = (uint64_t)cpu_pairs - g->cpu_pairs;
	uint64_t before = lv->pairs;

	lv->pairs_ns -= more * m->counted_ns;
	lv->cpu_pairs_ns -= more_cpu * m->counted_ns;
	lv->pairs = before + more;
	lv->cpu_pairs += more_cpu;
	g->pairs = pairs;
	g->cpu_pairs = cpu_pairs;
	if (!pairs)
		g->pairs_ended_ns = m->now_ns;
	if (!before)
		pairs_begin(m, lv);
	else if (!lv->pairs)
		pairs_end(m, lv);
}

/* Pairs of a group with tasks that may not run on all its CPUs are matched once an instant. */
m_rare static void match_later(struct m_waste *s, struct m_waste_group *g)
{
	if (g->to_match)
		return;
	g->to_match = s->unsettled = true;
	s->to_match[s->nr_to_match++] = g;
}

/* Counts of the group changed. */
static inline void update_pairs(struct wi_metrics *m, struct m_waste_group *g)
{
	if (!g->pairs && (!g->nr_idle || !m_waiting_tasks(g->waiting)))
		return; /* there were none, and there are none */
	uint32_t pairs = min_u32(g->nr_idle, m_waiting_tasks(g->waiting));
	uint32_t cpu_pairs = min_u32(g->nr_idle, m_waiting_cpus(g->waiting));

	if (pairs && g->nr_restricted)
		return match_later(&m->waste, g);
	if (pairs != g->pairs || cpu_pairs != g->cpu_pairs)
		set_pairs(m, g, pairs, cpu_pairs);
	if ((pairs && m_waiting_behind(g->waiting)) != g->behind)
		set_behind(m, g, !g->behind);
}

/* Something ceased that may have a name in an episode that ends now. */
m_rare static void note_left(struct wi_metrics *m, struct m_left left)
{
	struct m_waste *s = &m->waste;

	if (s->nr_left == s->cap_left) {
		uint32_t cap = s->cap_left ? s->cap_left * 2 : 64;
		struct m_left *grown = realloc(s->left, cap * sizeof(*grown));

		if (!grown) {
			m->failed = true;
			return;
		}
		s->left = grown;
		s->cap_left = cap;
	}
	s->left[s->nr_left++] = left;
	s->unsettled = true;
}

void m_waste_idle_changed(struct wi_metrics *m, uint64_t now_ns, struct m_cpu *c, bool idle)
{
	struct m_waste *s = &m->waste;
	uint32_t more = idle ? 1u : -1u;

	if (idle) {
		c->idle_since_ns = now_ns;
		wi_mask_set(s->idle, c->number);
	} else {
		if (now_ns > s->names_from_ns)
			note_left(m, (struct m_left){ c->idle_since_ns, WI_PID_NONE, WI_NAME_NONE, c->number, NONE });
		wi_mask_clear(s->idle, c->number);
	}
	struct m_waste_group *g;
	for (struct m_waste_group *const *at = c->group_of; (g = *at); at++) {
		g->nr_idle += more;
		update_pairs(m, g);
	}
}

/* A waiting task whose mask does not cover the machine, in the groups that its mask does not cover either. */
m_rare static void count_restricted(struct wi_metrics *m, struct m_cpu *c, uint32_t mask, bool begins)
{
	struct m_waste *s = &m->waste;
	const wakeif_word *words = s->mask[mask].words;

	if (!begins)
		bag_remove(&c->restricted, mask);
	else if (!bag_add(&c->restricted, mask))
		m->failed = true;
	if (c->restricted.nr)
		wi_mask_set(s->restricted_cpus, c->number);
	else
		wi_mask_clear(s->restricted_cpus, c->number);
	for (struct m_waste_group **at = c->group_of; *at; at++) {
		struct m_waste_group *g = *at;

		if (m_mask_covers(m, words, g->level->in_layout->span[g->number]))
			continue;
		g->nr_restricted += begins ? 1u : -1u;
		if (!begins)
			bag_remove(&g->restricted, mask);
		else if (!bag_add(&g->restricted, mask))
			m->failed = true;
	}
}

/* Does the CPU run a task while others wait there? Returns what changes in the counts of its groups. */
static inline m_waiting update_behind(struct m_cpu *c)
{
	bool behind = c->nr_wait && c->kind == WI_CPU_BUSY;

	if (behind == c->waits_behind)
		return 0;
	c->waits_behind = behind;
	return behind ? M_WAITING_BEHIND : -M_WAITING_BEHIND;
}

static inline void add_waiting(struct wi_metrics *m, const struct m_cpu *c, m_waiting more)
{
	struct m_waste_group *g;

	for (struct m_waste_group *const *at = c->group_of; (g = *at); at++) {
		g->waiting += more;
		update_pairs(m, g);
	}
}

static inline void count_waiting(struct wi_metrics *m, struct m_cpu *c, const struct m_task *t, bool begins)
{
	m_waiting more = begins ? M_WAITING_TASK : -M_WAITING_TASK;
	uint32_t before = c->nr_wait;

	c->nr_wait = before + (begins ? 1u : -1u);
	if (before == !begins) /* the first one to come, the last one to go */
		more += (begins ? M_WAITING_CPU : -M_WAITING_CPU) + update_behind(c);
	if (!t->covers_all)
		count_restricted(m, c, t->mask, begins);
	add_waiting(m, c, more);
}

void m_waste_wait_begin(struct wi_metrics *m, uint64_t now_ns, struct m_cpu *c, struct m_task *t, bool moved)
{
	const struct wi_task *task = t->task;

	if (t->wait_cpu)
		m_waste_wait_end(m, t);
	if (task->throttle_suspected)
		return;
	if (t->mask_allowed != task->allowed && !ask_mask(m, t))
		return;
	t->wait_cpu = c;
	if (!moved) /* else it goes on waiting */
		t->wait_since_ns = now_ns;
	t->pid = task->pid;
	t->comm = task->comm;
	t->wait_next = c->waiting;
	t->wait_at = &c->waiting;
	if (c->waiting)
		c->waiting->wait_at = &t->wait_next;
	c->waiting = t;
	if (c->kind != WI_CPU_UNKNOWN)
		count_waiting(m, c, t, true);
}

void m_waste_wait_end(struct wi_metrics *m, struct m_task *t)
{
	struct m_cpu *c = t->wait_cpu;

	if (!c)
		return; /* was not counted */
	*t->wait_at = t->wait_next;
	if (t->wait_next)
		t->wait_next->wait_at = t->wait_at;
	t->wait_cpu = NULL;
	if (c->kind == WI_CPU_UNKNOWN)
		return;
	if (m->now_ns > m->waste.names_from_ns)
		note_left(m, (struct m_left){ t->wait_since_ns, t->pid, t->comm, c->number, t->mask });
	count_waiting(m, c, t, false);
}

/* What is enqueued on a CPU of which nothing is known may run there: it counts from when the CPU is known again. */
void m_waste_cpu_known(struct wi_metrics *m, struct m_cpu *c, bool known)
{
	for (const struct m_task *t = c->waiting; t; t = t->wait_next)
		count_waiting(m, c, t, known);
}

/* The CPU runs a task now, or none, while tasks go on waiting there. */
void m_waste_kind_changed(struct wi_metrics *m, struct m_cpu *c)
{
	add_waiting(m, c, update_behind(c));
}

/* ---- when time goes on ---- */

/* Who was there just before an episode ended: what is there now and began earlier, and what left at this instant. */
struct longest {
	uint64_t start_ns; /* of the episode: what waited or idled before counts from here */
	uint64_t task_since_ns, cpu_since_ns;
	int32_t pid;
	uint32_t comm, waiting_cpu, idle_cpu, mask;
};

static uint64_t within(const struct longest *n, uint64_t since_ns)
{
	return since_ns > n->start_ns ? since_ns : n->start_ns;
}

static void consider_task(struct wi_metrics *m, struct longest *n, const struct m_left *t)
{
	const wakeif_word *mask = m->waste.mask[t->mask].words;
	uint64_t since_ns = within(n, t->since_ns);
	bool may_go = false;

	if (t->since_ns >= m->now_ns || since_ns > n->task_since_ns ||
	    (since_ns == n->task_since_ns && t->pid >= n->pid))
		return;
	for (uint32_t i = 0; i < m->lay.words; i++)
		may_go |= (mask[i] & m->waste.seen[i]) != 0;
	if (!may_go)
		return;
	n->task_since_ns = since_ns;
	n->pid = t->pid;
	n->comm = t->comm;
	n->waiting_cpu = t->cpu;
	n->mask = t->mask;
	n->idle_cpu = WI_CPU_NONE; /* is found anew for this task */
}

static void consider_cpu(struct wi_metrics *m, struct longest *n, uint32_t cpu, uint64_t idle_since_ns)
{
	uint64_t since_ns = within(n, idle_since_ns);

	if (idle_since_ns >= m->now_ns || !wi_mask_test(m->waste.mask[n->mask].words, cpu))
		return;
	if (n->idle_cpu != WI_CPU_NONE &&
	    (since_ns > n->cpu_since_ns || (since_ns == n->cpu_since_ns && cpu >= n->idle_cpu)))
		return;
	n->cpu_since_ns = since_ns;
	n->idle_cpu = cpu;
}

/* waste.seen: the CPUs of the group that idled just before now. */
static void idle_before(struct wi_metrics *m, const struct m_level *lv, uint32_t g)
{
	struct m_waste *s = &m->waste;

	memset(s->seen, 0, m->lay.words * sizeof(*s->seen));
	wi_mask_for_each (c, lv->span[g], m->lay.words)
		if (wi_mask_test(s->idle, c) && m->cpu[c].idle_since_ns < m->now_ns)
			wi_mask_set(s->seen, c);
	for (uint32_t i = 0; i < s->nr_left; i++)
		if (s->left[i].pid == WI_PID_NONE && lv->group[s->left[i].cpu] == g && s->left[i].since_ns < m->now_ns)
			wi_mask_set(s->seen, s->left[i].cpu);
}

static void name_group(struct wi_metrics *m, const struct m_level *lv, uint32_t g, struct longest *n)
{
	const struct m_waste *s = &m->waste;

	idle_before(m, lv, g);
	wi_mask_for_each (c, lv->span[g], m->lay.words) {
		const struct m_cpu *cpu = &m->cpu[c];

		for (const struct m_task *t = cpu->kind == WI_CPU_UNKNOWN ? NULL : cpu->waiting; t; t = t->wait_next)
			if (t->wait_join_ns < m->now_ns)
				consider_task(m, n, &(struct m_left){ t->wait_since_ns, t->pid, t->comm, c, t->mask });
	}
	for (uint32_t i = 0; i < s->nr_left; i++)
		if (s->left[i].pid != WI_PID_NONE && lv->group[s->left[i].cpu] == g)
			consider_task(m, n, &s->left[i]);
	if (n->idle_cpu != WI_CPU_NONE || n->mask == NONE)
		return; /* the task was named by an earlier group */
	wi_mask_for_each (c, lv->span[g], m->lay.words)
		if (wi_mask_test(s->idle, c))
			consider_cpu(m, n, c, m->cpu[c].idle_since_ns);
	for (uint32_t i = 0; i < s->nr_left; i++)
		if (s->left[i].pid == WI_PID_NONE && lv->group[s->left[i].cpu] == g)
			consider_cpu(m, n, s->left[i].cpu, s->left[i].since_ns);
}

/* The longest episode so far ended at end_ns. */
static void name_longest(struct wi_metrics *m, struct m_waste_level *lv, uint64_t end_ns)
{
	struct longest n = { .start_ns = lv->episode_ns,
			     .task_since_ns = WI_TIME_UNKNOWN,
			     .pid = INT32_MAX,
			     .waiting_cpu = WI_CPU_NONE,
			     .idle_cpu = WI_CPU_NONE,
			     .mask = NONE };

	for (uint32_t g = 0; g < lv->in_layout->nr_groups; g++)
		if (lv->pairs ? lv->group[g].pairs != 0 : lv->group[g].pairs_ended_ns == end_ns) /* to the end */
			name_group(m, lv->in_layout, g, &n);
	lv->r.longest_ns = end_ns - lv->episode_ns;
	lv->r.longest_start_ns = lv->episode_ns;
	lv->r.pid = n.pid == INT32_MAX ? WI_PID_NONE : n.pid;
	lv->r.comm = n.comm;
	lv->r.waiting_cpu = n.waiting_cpu;
	lv->r.idle_cpu = n.idle_cpu;
}

/* May one of the tasks that wait on c go to an idle CPU of span? */
static bool may_leave(const struct wi_metrics *m, const struct m_cpu *c, const wakeif_word *span)
{
	uint32_t nr = 0;

	for (uint32_t k = 0; k < c->restricted.nr; k++) {
		const wakeif_word *mask = m->waste.mask[c->restricted.item[k].mask].words;

		nr += c->restricted.item[k].nr;
		for (uint32_t i = 0; i < m->lay.words; i++)
			if (mask[i] & span[i] & m->waste.idle[i])
				return true;
	}
	return nr < c->nr_wait; /* one that may go anywhere */
}

/* Does a task that may leave wait behind another that runs? */
static bool may_leave_behind(const struct wi_metrics *m, const wakeif_word *span)
{
	wi_mask_for_each (c, span, m->lay.words)
		if (m->cpu[c].waits_behind && may_leave(m, &m->cpu[c], span))
			return true;
	return false;
}

/* A group with tasks that may not run on all its CPUs, or that had such at this instant. */
static void match(struct wi_metrics *m, struct m_waste_group *g)
{
	uint32_t pairs, cpu_pairs;

	g->to_match = false;
	if (!g->nr_restricted || !g->nr_idle || !m_waiting_tasks(g->waiting)) {
		update_pairs(m, g);
		return;
	}
	m_match_group(m, g, &pairs, &cpu_pairs);
	if (pairs != g->pairs || cpu_pairs != g->cpu_pairs)
		set_pairs(m, g, pairs, cpu_pairs);
	bool behind = pairs && may_leave_behind(m, g->level->in_layout->span[g->number]);
	if (behind != g->behind)
		set_behind(m, g, behind);
}

void m_waste_settle(struct wi_metrics *m)
{
	struct m_waste *s = &m->waste;

	for (uint32_t i = 0; i < s->nr_to_match; i++)
		match(m, s->to_match[i]);
	s->nr_to_match = 0;
	for (uint32_t l = 0; l < m->lay.nr_levels; l++)
		if (just_ended_longest(m, &s->level[l]))
			name_longest(m, &s->level[l], m->now_ns);
	find_names_from(m);
	s->nr_left = 0;
	s->unsettled = false;
}

static void finish_level(struct wi_metrics *m, struct m_waste_level *lv, uint64_t end_ns)
{
	uint64_t counted_ns = end_ns > m->start_ns ? end_ns : m->start_ns;

	lv->r.task_ns = lv->pairs_ns + lv->pairs * counted_ns;
	lv->r.cpu_ns = lv->cpu_pairs_ns + lv->cpu_pairs * counted_ns;
	lv->r.behind_ns += lv->nr_behind ? counted_ns : 0;
	count_episode(lv, lv->pairs ? end_ns : lv->episode_ended_ns);
	if (lv->pairs && longer_than_any(lv, end_ns))
		name_longest(m, lv, end_ns);
}

bool m_waste_finish(struct wi_metrics *m, struct wi_results *r, uint64_t end_ns)
{
	struct m_waste *s = &m->waste;
	bool ok = true;

	m_waste_settle(m);
	if (end_ns > m->now_ns)
		m->now_ns = end_ns;
	for (uint32_t l = 0; l < m->lay.nr_levels; l++)
		finish_level(m, &s->level[l], end_ns);
	for (int scope = 0; scope < WAKEIF_NR_SCOPES; scope++) {
		r->waste[scope] = s->level[m->lay.level_of[scope]].r;
		r->waste[scope].comm = m_name_copy(r->names, m->opt.names, r->waste[scope].comm, &ok);
	}
	return ok;
}

/* ---- results ---- */

static int cmp_longest(const struct wi_waste *a, const struct wi_waste *b, const struct wi_names *an,
		       const struct wi_names *bn)
{
	if (a->longest_ns != b->longest_ns)
		return a->longest_ns > b->longest_ns ? -1 : 1;
	if (a->longest_start_ns != b->longest_start_ns)
		return a->longest_start_ns < b->longest_start_ns ? -1 : 1;
	if (a->pid != b->pid)
		return a->pid < b->pid ? -1 : 1;
	if (a->waiting_cpu != b->waiting_cpu)
		return a->waiting_cpu < b->waiting_cpu ? -1 : 1;
	if (a->idle_cpu != b->idle_cpu)
		return a->idle_cpu < b->idle_cpu ? -1 : 1;
	return strcmp(wi_names_get(an, a->comm), wi_names_get(bn, b->comm));
}

bool wi_waste_merge(struct wi_waste *into, struct wi_names *names, const struct wi_waste *from,
		    const struct wi_names *from_names)
{
	bool ok = true;

	into->wall_ns += from->wall_ns;
	into->behind_ns += from->behind_ns;
	into->cpu_ns += from->cpu_ns;
	into->task_ns += from->task_ns;
	for (int i = 0; i < WI_NR_EPISODES; i++)
		into->episodes[i] += from->episodes[i];
	if (!from->longest_ns || (into->longest_ns && cmp_longest(into, from, names, from_names) <= 0))
		return true;
	into->longest_ns = from->longest_ns;
	into->longest_start_ns = from->longest_start_ns;
	into->pid = from->pid;
	into->comm = m_name_copy(names, from_names, from->comm, &ok);
	into->waiting_cpu = from->waiting_cpu;
	into->idle_cpu = from->idle_cpu;
	return ok;
}
