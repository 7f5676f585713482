/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Idle time of CPUs, cores, LLCs and packages; idle packages that a wakeup touched; C-states (METRICS rule 30). */
#include <stdio.h>

#include "analyzer/metrics/priv.h"

#define MAX_CSTATES 32u

static const uint32_t *table_group(const struct wi_metrics *m, int table)
{
	const struct wakeif_topology *t = m->lay.topo;

	return table == IDLE_CORE ? t->group[WAKEIF_CORE] : table == IDLE_LLC ? t->group[WAKEIF_LLC] : t->package;
}

static uint32_t table_nr(const struct wi_metrics *m, int table)
{
	const struct wakeif_topology *t = m->lay.topo;

	return table == IDLE_CORE  ? t->nr_groups[WAKEIF_CORE]
	       : table == IDLE_LLC ? t->nr_groups[WAKEIF_LLC]
				   : t->nr_packages;
}

static void init_table(struct wi_metrics *m, int table)
{
	const uint32_t *group = table_group(m, table);

	for (uint32_t c = 0; c < m->lay.nr_cpus; c++)
		if (m_online(&m->lay, c) && group[c] < table_nr(m, table))
			m->idle.table[table][group[c]].nr_unknown++;
	for (uint32_t g = 0; g < table_nr(m, table); g++)
		m->idle.table[table][g].state = WI_CPU_UNKNOWN;
}

/* Are the online CPUs grouped alike, under the same numbers? */
static bool same_groups(const struct wi_metrics *m, int a, int b)
{
	const uint32_t *x = table_group(m, a), *y = table_group(m, b);

	for (uint32_t c = 0; c < m->lay.nr_cpus; c++)
		if (m_online(&m->lay, c) && x[c] != y[c])
			return false;
	return table_nr(m, a) == table_nr(m, b);
}

static bool init_packages(struct wi_metrics *m)
{
	uint32_t nr = m->lay.topo->nr_packages;

	m->idle.package = calloc(nr + 1, sizeof(*m->idle.package));
	if (!m->idle.package)
		return false;
	for (uint32_t c = 0; c < m->lay.nr_cpus; c++) {
		uint32_t p = m->lay.topo->package[c];

		if (p >= nr)
			continue;
		m->cpu[c].package = &m->idle.package[p];
		m->idle.package[p].nr_online += m->cpu[c].online;
	}
	return true;
}

bool m_idle_init(struct wi_metrics *m)
{
	struct m_idle *s = &m->idle;
	uint32_t nr[NR_IDLE_TABLES] = { 0 };

	if (!init_packages(m))
		return false;
	for (int t = 0; t < NR_IDLE_TABLES; t++) {
		if (t && same_groups(m, t, t - 1)) {
			s->table[t] = s->table[t - 1];
			continue;
		}
		nr[t] = table_nr(m, t);
		s->table[t] = calloc(nr[t] + 1, sizeof(*s->table[t]));
		if (!s->table[t])
			return false;
		init_table(m, t);
	}
	for (uint32_t c = 0; c < m->lay.nr_cpus; c++) {
		struct m_idle_group **at = m->cpu[c].idle_group;

		for (int t = 0; t < NR_IDLE_TABLES; t++)
			if (table_group(m, t)[c] < nr[t]) /* 0: counted in another table */
				*at++ = &s->table[t][table_group(m, t)[c]];
	}
	return true;
}

void m_idle_start(struct wi_metrics *m, uint64_t start_ns)
{
	for (uint32_t c = 0; c < m->lay.nr_cpus; c++)
		m->cpu[c].kind_since_ns = start_ns;
	for (int t = 0; t < NR_IDLE_TABLES; t++)
		for (uint32_t g = 0; g < table_nr(m, t); g++)
			m->idle.table[t][g].since_ns = start_ns;
}

static void cstates_fini(struct wi_metrics *m)
{
	for (uint32_t c = 0; m->idle.cstate && c < m->lay.nr_cpus; c++)
		free(m->idle.cstate[c].item);
	free(m->idle.cstate);
}

void m_idle_fini(struct wi_metrics *m)
{
	struct m_idle *s = &m->idle;

	free(s->package);
	for (int t = 0; t < NR_IDLE_TABLES; t++)
		if (!t || s->table[t] != s->table[t - 1])
			free(s->table[t]);
	cstates_fini(m);
}

static void cstate_leave(uint64_t now_ns, struct m_cstate_cpu *c)
{
	uint64_t ns = m_take_ns(&c->since_ns, now_ns);

	if (c->current != NONE)
		c->item[c->current].ns += ns;
	c->current = NONE;
}

void m_idle_kind_changed(struct wi_metrics *m, uint64_t now_ns, struct m_cpu *c, enum wi_cpu_kind kind)
{
	uint32_t busy = (kind == WI_CPU_BUSY) - (uint32_t)(c->kind == WI_CPU_BUSY);
	uint32_t unknown = (kind == WI_CPU_UNKNOWN) - (uint32_t)(c->kind == WI_CPU_UNKNOWN);

	c->kind_ns[c->kind] += m_take_ns(&c->kind_since_ns, now_ns);
	for (struct m_idle_group **at = c->idle_group; *at; at++) {
		struct m_idle_group *g = *at;

		g->nr_busy += busy;
		g->nr_unknown += unknown;
		uint8_t state = g->nr_busy ? WI_CPU_BUSY : g->nr_unknown ? WI_CPU_UNKNOWN : WI_CPU_IDLE;
		if (state == g->state)
			continue;
		g->ns[g->state] += m_take_ns(&g->since_ns, now_ns);
		g->state = state;
	}
	if (kind == WI_CPU_UNKNOWN && m->idle.cstate)
		cstate_leave(now_ns, &m->idle.cstate[c->number]);
}

static bool cstates_init(struct wi_metrics *m)
{
	struct m_idle *s = &m->idle;

	if (s->cstate)
		return true;
	s->cstate = calloc(m->lay.nr_cpus + 1, sizeof(*s->cstate));
	if (!s->cstate)
		return false;
	for (uint32_t c = 0; c < m->lay.nr_cpus; c++) {
		s->cstate[c].current = NONE;
		s->cstate[c].since_ns = m->start_ns;
	}
	return true;
}

/* Index of the state on this CPU; NONE: the 33rd different one, or out of memory. */
static uint32_t cstate_index(struct wi_metrics *m, struct m_cstate_cpu *c, uint32_t state)
{
	for (uint32_t i = 0; i < c->nr; i++)
		if (c->item[i].state == state)
			return i;
	if (c->nr == MAX_CSTATES)
		return NONE;
	if (c->nr == c->cap) {
		uint32_t cap = c->cap ? c->cap * 2 : 4;
		struct m_cstate *item = realloc(c->item, cap * sizeof(*item));

		if (!item) {
			m->failed = true;
			return NONE;
		}
		c->item = item;
		c->cap = cap;
	}
	c->item[c->nr] = (struct m_cstate){ .state = state };
	return c->nr++;
}

void m_idle_cpu_idle(struct wi_metrics *m, uint64_t now_ns, uint32_t cpu, uint32_t state)
{
	if (!cstates_init(m)) {
		m->failed = true;
		return;
	}
	struct m_cstate_cpu *c = &m->idle.cstate[cpu];
	cstate_leave(now_ns, c);
	if (state == UINT32_MAX)
		return;
	c->current = cstate_index(m, c, state);
	if (now_ns < m->start_ns)
		return;
	if (c->current == NONE)
		m->idle.dropped++;
	else
		c->item[c->current].entries++;
}

/* ---- results ---- */

static bool finish_cpus(struct wi_metrics *m, struct wi_idle_table *t, uint64_t end_ns)
{
	t->row = calloc(m->lay.nr_cpus + 1, sizeof(*t->row));
	if (!t->row)
		return false;
	for (uint32_t c = 0; c < m->lay.nr_cpus; c++) {
		char number[16];

		if (!m_online(&m->lay, c))
			continue;
		struct m_cpu *cpu = &m->cpu[c];
		cpu->kind_ns[cpu->kind] += m_take_ns(&cpu->kind_since_ns, end_ns);
		snprintf(number, sizeof(number), "%u", c);
		const uint64_t *ns = cpu->kind_ns;
		t->row[t->nr] =
			(struct wi_idle_row){ c, strdup(number), ns[WI_CPU_IDLE], ns[WI_CPU_BUSY], ns[WI_CPU_UNKNOWN] };
		if (!t->row[t->nr++].cpus)
			return false;
	}
	return true;
}

/* The online CPUs of group g, in span. */
static void online_of_group(const struct wi_metrics *m, int table, uint32_t g, wakeif_word *span)
{
	const struct wakeif_topology *t = m->lay.topo;
	const wakeif_word *known = table == IDLE_CORE  ? t->span[WAKEIF_CORE][g]
				   : table == IDLE_LLC ? t->span[WAKEIF_LLC][g]
						       : NULL;

	memset(span, 0, m->lay.words * sizeof(*span));
	for (uint32_t i = 0; known && i < m->lay.words; i++)
		span[i] = known[i] & t->online[i];
	for (uint32_t c = 0; !known && c < m->lay.nr_cpus; c++)
		if (m_online(&m->lay, c) && t->package[c] == g)
			wi_mask_set(span, c);
}

static bool finish_table(struct wi_metrics *m, int table, struct wi_idle_table *t, uint64_t end_ns)
{
	uint32_t nr = table_nr(m, table), words = m->lay.words;
	wakeif_word *span = calloc(words + 1, sizeof(*span));
	bool ok = span != NULL;

	t->row = calloc(nr + 1, sizeof(*t->row));
	ok = ok && t->row;
	for (uint32_t g = 0; ok && g < nr; g++) {
		struct m_idle_group *ig = &m->idle.table[table][g];

		online_of_group(m, table, g, span);
		if (wi_mask_empty(span, words))
			continue; /* all its CPUs are offline */
		ig->ns[ig->state] += m_take_ns(&ig->since_ns, end_ns);
		t->row[t->nr] = (struct wi_idle_row){ g, m_cpu_list(span, NULL, words), ig->ns[WI_CPU_IDLE],
						      ig->ns[WI_CPU_BUSY], ig->ns[WI_CPU_UNKNOWN] };
		ok = t->row[t->nr++].cpus != NULL;
	}
	free(span);
	return ok;
}

static int cmp_cstate(const void *a, const void *b)
{
	const struct wi_cstate_row *x = a, *y = b;

	if (x->cpu != y->cpu)
		return x->cpu < y->cpu ? -1 : 1;
	return x->state < y->state ? -1 : x->state > y->state;
}

static bool finish_cstates(struct wi_metrics *m, struct wi_idle_results *r, uint64_t end_ns)
{
	size_t nr = 0;

	if (!m->idle.cstate)
		return true;
	for (uint32_t c = 0; c < m->lay.nr_cpus; c++) {
		cstate_leave(end_ns, &m->idle.cstate[c]);
		nr += m->idle.cstate[c].nr;
	}
	r->cstate = calloc(nr + 1, sizeof(*r->cstate));
	if (!r->cstate)
		return false;
	for (uint32_t c = 0; c < m->lay.nr_cpus; c++) {
		const struct m_cstate_cpu *s = &m->idle.cstate[c];

		for (uint32_t i = 0; i < s->nr; i++)
			if (s->item[i].entries || s->item[i].ns)
				r->cstate[r->nr_cstate++] = (struct wi_cstate_row){ c, s->item[i].state, s->item[i].ns,
										    s->item[i].entries };
	}
	qsort(r->cstate, r->nr_cstate, sizeof(*r->cstate), cmp_cstate);
	return true;
}

bool m_idle_finish(struct wi_metrics *m, struct wi_results *r, uint64_t end_ns)
{
	r->idle.decided = r->missed.decided;
	r->idle.touched_idle_package = m->idle.touched;
	r->idle.cstate_entries_dropped = m->idle.dropped;
	return finish_cpus(m, &r->idle.cpu, end_ns) && finish_table(m, IDLE_CORE, &r->idle.core, end_ns) &&
	       finish_table(m, IDLE_LLC, &r->idle.llc, end_ns) &&
	       finish_table(m, IDLE_PACKAGE, &r->idle.package, end_ns) && finish_cstates(m, &r->idle, end_ns);
}

static int cmp_row(const void *a, const void *b)
{
	const struct wi_idle_row *x = a, *y = b;

	if (x->id != y->id)
		return x->id < y->id ? -1 : 1;
	return strcmp(x->cpus, y->cpus);
}

/* Both tables are sorted: one pass. */
static bool merge_table(struct wi_idle_table *into, const struct wi_idle_table *from)
{
	if (!from->nr)
		return true;
	struct wi_idle_row *row = calloc(into->nr + from->nr, sizeof(*row));
	size_t i = 0, k = 0, n = 0;
	bool ok = row != NULL;

	while (ok && (i < into->nr || k < from->nr)) {
		int d = i == into->nr ? 1 : k == from->nr ? -1 : cmp_row(&into->row[i], &from->row[k]);

		if (d <= 0) {
			row[n] = into->row[i++];
		} else {
			row[n] = (struct wi_idle_row){ .id = from->row[k].id, .cpus = strdup(from->row[k].cpus) };
			if (!row[n].cpus) {
				ok = false;
				break;
			}
		}
		if (d >= 0) {
			row[n].idle_ns += from->row[k].idle_ns;
			row[n].busy_ns += from->row[k].busy_ns;
			row[n].unknown_ns += from->row[k].unknown_ns;
			k++;
		}
		n++;
	}
	if (!ok && row) { /* keep what is owned findable: the rest of into goes along */
		while (i < into->nr)
			row[n++] = into->row[i++];
	}
	if (row) {
		free(into->row);
		into->row = row;
		into->nr = n;
	}
	return ok;
}

static bool merge_cstates(struct wi_idle_results *into, const struct wi_idle_results *from)
{
	size_t nr = into->nr_cstate + from->nr_cstate, n = 0;

	into->cstate_entries_dropped += from->cstate_entries_dropped;
	if (!from->nr_cstate)
		return true;
	struct wi_cstate_row *row = realloc(into->cstate, nr * sizeof(*row));
	if (!row)
		return false;
	memcpy(row + into->nr_cstate, from->cstate, from->nr_cstate * sizeof(*row));
	qsort(row, nr, sizeof(*row), cmp_cstate);
	for (size_t i = 0; i < nr; i++) {
		if (n && !cmp_cstate(&row[n - 1], &row[i])) {
			row[n - 1].ns += row[i].ns;
			row[n - 1].entries += row[i].entries;
		} else {
			row[n++] = row[i];
		}
	}
	into->cstate = row;
	into->nr_cstate = n;
	return true;
}

bool wi_idle_results_merge(struct wi_idle_results *into, const struct wi_idle_results *from)
{
	into->decided += from->decided;
	into->touched_idle_package += from->touched_idle_package;
	return merge_table(&into->cpu, &from->cpu) && merge_table(&into->core, &from->core) &&
	       merge_table(&into->llc, &from->llc) && merge_table(&into->package, &from->package) &&
	       merge_cstates(into, from);
}

static void table_fini(struct wi_idle_table *t)
{
	for (size_t i = 0; i < t->nr; i++)
		free(t->row[i].cpus);
	free(t->row);
}

void wi_idle_results_fini(struct wi_idle_results *r)
{
	table_fini(&r->cpu);
	table_fini(&r->core);
	table_fini(&r->llc);
	table_fini(&r->package);
	free(r->cstate);
	*r = (struct wi_idle_results){ 0 };
}
