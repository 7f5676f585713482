/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The topology as the metrics need it: partitions without repeats, online threads of each core. */
#include "analyzer/metrics/priv.h"

static bool same_partition(const struct wakeif_topology *t, enum wakeif_scope a, enum wakeif_scope b)
{
	/* Both are numbered by lowest CPU, so equal partitions have equal numbers. */
	return t->nr_groups[a] == t->nr_groups[b] &&
	       !memcmp(t->group[a], t->group[b], t->nr_cpus * sizeof(*t->group[a]));
}

static uint32_t online_in(const struct wakeif_topology *t, const wakeif_word *span)
{
	uint32_t n = 0;

	for (uint32_t i = 0; i < t->nr_words; i++)
		n += (uint32_t)__builtin_popcountll(span[i] & t->online[i]);
	return n;
}

static void find_levels(struct m_layout *l)
{
	const struct wakeif_topology *t = l->topo;

	for (uint32_t s = 0; s < WAKEIF_NR_SCOPES; s++) {
		if (s && same_partition(t, (enum wakeif_scope)(s - 1), (enum wakeif_scope)s)) {
			l->level_of[s] = l->level_of[s - 1];
			continue;
		}
		struct m_level *lv = &l->level[l->nr_levels];
		lv->scope = (enum wakeif_scope)s;
		lv->nr_groups = t->nr_groups[s];
		lv->group = t->group[s];
		lv->span = t->span[s];
		lv->trivial = true;
		for (uint32_t g = 0; g < lv->nr_groups && lv->trivial; g++)
			lv->trivial = online_in(t, lv->span[g]) < 2;
		l->level_of[s] = l->nr_levels++;
	}
}

static void find_threads(struct m_layout *l)
{
	const struct wakeif_topology *t = l->topo;
	uint32_t at = 0;

	for (uint32_t g = 0; g < l->nr_cores; g++) {
		const wakeif_word *span = t->span[WAKEIF_CORE][g];

		l->core_first[g] = at;
		wi_mask_for_each (c, span, t->nr_words) {
			if (!wi_mask_test(t->online, c))
				continue;
			l->thread[c] = l->core_threads[g]++;
			l->core_cpu[at++] = c;
		}
		if (l->core_threads[g] > l->max_threads)
			l->max_threads = l->core_threads[g];
	}
}

#define MAX_TABLE_CPUS 256u

static bool make_distances(struct m_layout *l)
{
	uint32_t n = l->nr_cpus;

	if (!n || n > MAX_TABLE_CPUS)
		return true;
	l->distance = malloc(n * n);
	if (!l->distance)
		return false;
	for (uint32_t a = 0; a < n; a++)
		for (uint32_t b = 0; b < n; b++)
			l->distance[a * n + b] = (uint8_t)m_distance_of(l->topo, a, b);
	return true;
}

bool m_layout_init(struct m_layout *l, const struct wakeif_topology *topo)
{
	l->topo = topo;
	l->nr_cpus = topo->nr_cpus;
	l->words = topo->nr_words;
	l->nr_cores = topo->nr_groups[WAKEIF_CORE];
	l->candidates = calloc(l->words + 1, sizeof(*l->candidates));
	l->core_threads = calloc(l->nr_cores + 1, sizeof(*l->core_threads));
	l->core_first = calloc(l->nr_cores + 1, sizeof(*l->core_first));
	l->core_cpu = calloc(l->nr_cpus + 1, sizeof(*l->core_cpu));
	l->thread = calloc(l->nr_cpus + 1, sizeof(*l->thread));
	if (!l->candidates || !l->core_threads || !l->core_first || !l->core_cpu || !l->thread)
		return false;
	for (uint32_t i = 0; i < l->words; i++)
		l->candidates[i] = topo->online[i] & ~topo->isolated[i];
	find_levels(l);
	find_threads(l);
	return make_distances(l);
}

void m_layout_fini(struct m_layout *l)
{
	free(l->candidates);
	free(l->core_threads);
	free(l->core_first);
	free(l->core_cpu);
	free(l->thread);
	free(l->distance);
}

enum wi_distance m_distance_of(const struct wakeif_topology *t, uint32_t a, uint32_t b)
{
	if (a >= t->nr_cpus || b >= t->nr_cpus || t->group[WAKEIF_CORE][a] == UINT32_MAX ||
	    t->group[WAKEIF_CORE][b] == UINT32_MAX)
		return WI_DIST_UNKNOWN;
	if (a == b)
		return WI_DIST_CPU;
	for (int s = WAKEIF_CORE; s <= WAKEIF_NODE; s++)
		if (t->group[s][a] == t->group[s][b])
			return (enum wi_distance)(WI_DIST_CORE + s);
	return WI_DIST_REMOTE;
}

char *m_cpu_list(const wakeif_word *mask, const wakeif_word *also, uint32_t words)
{
	wakeif_word *both = calloc(words + 1, sizeof(*both));
	char *text = NULL;

	if (!both)
		return NULL;
	for (uint32_t i = 0; i < words; i++)
		both[i] = mask[i] & (also ? also[i] : ~(wakeif_word)0);
	size_t len = wi_mask_format(NULL, 0, both, words);
	text = malloc(len + 1);
	if (text)
		wi_mask_format(text, len + 1, both, words);
	free(both);
	return text;
}
