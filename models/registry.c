/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "models/registry.h"

#include <string.h>

#include "models/builtin.h"

/* version: first kernel whose wake-up placement the model describes; 0: no kernel. Kernels in ascending order. */
static const struct entry {
	uint32_t version;
	const struct wakeif_model_ops *ops;
} entries[] = {
#define KERNEL(major, minor, model) { (major) << 16 | (minor) << 8, &model },
#define POLICY(model) { 0, &model },
#include "models/builtin_list.h"
#undef KERNEL
#undef POLICY
};

#define NR_ENTRIES (sizeof(entries) / sizeof(*entries))

const struct wakeif_model_ops *const *wi_models(size_t *nr)
{
	static const struct wakeif_model_ops *ops[NR_ENTRIES];

	for (size_t i = 0; i < NR_ENTRIES; i++)
		ops[i] = entries[i].ops;
	*nr = NR_ENTRIES;
	return ops;
}

const struct wakeif_model_ops *wi_model_find(const char *name)
{
	for (size_t i = 0; i < NR_ENTRIES; i++)
		if (!strcmp(entries[i].ops->name, name))
			return entries[i].ops;
	return NULL;
}

const struct wakeif_model_ops *wi_model_of_kernel(uint32_t version, bool *exact)
{
	const struct entry *best = NULL, *oldest = NULL, *newest = NULL;

	for (const struct entry *e = entries; e < entries + NR_ENTRIES; e++) {
		if (!e->version)
			continue;
		oldest = !oldest || e->version < oldest->version ? e : oldest;
		newest = !newest || e->version > newest->version ? e : newest;
		if (e->version <= version && (!best || e->version > best->version))
			best = e;
	}
	if (!version)
		best = newest;
	else if (!best)
		best = oldest;
	*exact = best && best->version == version;
	return best ? best->ops : NULL;
}

size_t wi_edit_distance(const char *a, const char *b)
{
	size_t la = strlen(a), lb = strlen(b);
	size_t row[3][65];

	if (la > 64 || lb > 64)
		return la > lb ? la : lb;
	for (size_t j = 0; j <= lb; j++)
		row[0][j] = j;
	for (size_t i = 1; i <= la; i++) {
		size_t *now = row[i % 3], *last = row[(i + 2) % 3], *before = row[(i + 1) % 3];

		now[0] = i;
		for (size_t j = 1; j <= lb; j++) {
			size_t best = last[j - 1] + (a[i - 1] != b[j - 1]);

			if (last[j] + 1 < best)
				best = last[j] + 1;
			if (now[j - 1] + 1 < best)
				best = now[j - 1] + 1;
			if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1] && before[j - 2] + 1 < best)
				best = before[j - 2] + 1;
			now[j] = best;
		}
	}
	return row[la % 3][lb];
}

size_t wi_models_like(const char *text, const char **names, size_t max)
{
	size_t n = 0, dist[16];

	if (max > 16)
		max = 16;
	for (size_t i = 0; i < NR_ENTRIES; i++) {
		const char *name = entries[i].ops->name;
		size_t d = wi_edit_distance(text, name), len = strlen(name) > strlen(text) ? strlen(name) : strlen(text), at;

		if (strlen(text) >= 3 && !strncmp(name, text, strlen(text)))
			d = 0; /* the beginning of a name means it */
		if (d * 3 > len)
			continue;
		for (at = n; at > 0 && dist[at - 1] > d; at--)
			;
		if (at >= max)
			continue;
		size_t tail = (n < max ? n : max - 1) - at;
		memmove(&names[at + 1], &names[at], tail * sizeof(*names));
		memmove(&dist[at + 1], &dist[at], tail * sizeof(*dist));
		names[at] = name;
		dist[at] = d;
		n += n < max;
	}
	return n;
}
