/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "analyzer/topology/filetree.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#define CHUNK_BYTES (64u << 10)

struct chunk {
	struct chunk *next;
	size_t used, size;
	char data[];
};

/* Hash table: index + 1 into file, 0 = free; and the hash, so that most strangers are told apart without their names.
 */
struct slot {
	uint32_t index, hash;
};

struct wi_filetree {
	struct wi_file *file;
	size_t nr, cap;
	struct slot *slot;
	size_t nr_slots;
	struct chunk *chunks;
	size_t bytes;
	uint32_t *order; /* indexes in byte order of the paths, made when first asked for; NULL: not made */
	bool in_order;	 /* files came in byte order: no need for order */
};

struct wi_filetree *wi_filetree_new(void)
{
	struct wi_filetree *t = calloc(1, sizeof(*t));

	if (t)
		t->in_order = true;
	return t;
}

void wi_filetree_free(struct wi_filetree *t)
{
	if (!t)
		return;
	while (t->chunks) {
		struct chunk *c = t->chunks;

		t->chunks = c->next;
		free(c);
	}
	free(t->order);
	free(t->slot);
	free(t->file);
	free(t);
}

static char *keep(struct wi_filetree *t, const void *bytes, size_t len)
{
	struct chunk *c = t->chunks;

	if (!c || c->size - c->used <= len) {
		size_t size = len + 1 > CHUNK_BYTES ? len + 1 : CHUNK_BYTES;

		c = malloc(sizeof(*c) + size);
		if (!c)
			return NULL;
		c->size = size;
		c->used = 0;
		c->next = t->chunks;
		t->chunks = c;
	}
	char *at = c->data + c->used;
	if (len)
		memcpy(at, bytes, len);
	at[len] = '\0';
	c->used += len + 1;
	return at;
}

static uint32_t hash(const char *s)
{
	uint64_t h = 0xcbf29ce484222325ull;

	for (; *s; s++)
		h = (h ^ (unsigned char)*s) * 0x100000001b3ull;
	return (uint32_t)(h ^ h >> 32);
}

/* The slot that holds path, whose hash is h, or the free one where it belongs. */
static struct slot *find_slot(const struct wi_filetree *t, const char *path, uint32_t h)
{
	size_t i = h & (t->nr_slots - 1);

	while (t->slot[i].index && (t->slot[i].hash != h || strcmp(t->file[t->slot[i].index - 1].path, path) != 0))
		i = (i + 1) & (t->nr_slots - 1);
	return &t->slot[i];
}

/* Paths in the old table differ from one another: only free slots are looked for. */
static void move_slots(struct slot *to, size_t nr_to, const struct slot *from, size_t nr_from)
{
	for (size_t k = 0; k < nr_from; k++) {
		size_t i = from[k].hash & (nr_to - 1);

		if (!from[k].index)
			continue;
		while (to[i].index)
			i = (i + 1) & (nr_to - 1);
		to[i] = from[k];
	}
}

static bool grow(struct wi_filetree *t, struct wi_err *err)
{
	size_t cap = t->cap ? t->cap * 2 : 1024, nr_slots = cap * 2;
	struct wi_file *file = realloc(t->file, cap * sizeof(*file));

	if (!file)
		return wi_err_nomem(err);
	t->file = file;
	struct slot *slot = calloc(nr_slots, sizeof(*slot));
	if (!slot)
		return wi_err_nomem(err);
	move_slots(slot, nr_slots, t->slot, t->nr_slots);
	free(t->slot);
	t->slot = slot;
	t->nr_slots = nr_slots;
	t->cap = cap;
	return true;
}

static bool is_tasks_name(const char *name)
{
	return !strncmp(name, "tasks", 5) && (!name[5] || name[5] == '.') && !strchr(name, '/');
}

/* SchedViz archives keep sys/devices/system/node as "topology": topology/node0/cpu1/topology/core_id. */
static bool node_folder(char *path)
{
	static const char from[] = "topology/node", to[] = "sys/devices/system/node/node";
	char *at = strstr(path, from);

	if (!at || (at != path && at[-1] != '/') || at[sizeof(from) - 1] < '0' || at[sizeof(from) - 1] > '9')
		return true;
	size_t rest = strlen(at + sizeof(from) - 1);
	if (rest + sizeof(to) > WI_FILETREE_MAX_PATH)
		return false;
	/* room for it: the name array is WI_FILETREE_MAX_PATH + 1 */
	memmove(path + sizeof(to) - 1, at + sizeof(from) - 1, rest + 1);
	memcpy(path, to, sizeof(to) - 1);
	return true;
}

/* Writes the normalised path (at most WI_FILETREE_MAX_PATH bytes) to out; false if it has no such form. */
static bool normalise(const char *path, char *out)
{
	size_t n = 0;

	while (*path) {
		size_t len = strcspn(path, "/");

		if (len == 2 && !memcmp(path, "..", 2))
			return false;
		if (len && !(len == 1 && *path == '.')) {
			if (n + len + 1 > WI_FILETREE_MAX_PATH)
				return false;
			if (n)
				out[n++] = '/';
			memcpy(out + n, path, len);
			n += len;
		}
		path += len;
		path += *path == '/';
	}
	out[n] = '\0';
	if (!n)
		return false;
	for (char *at = out; at; at = strchr(at, '/')) {
		at += *at == '/';
		if (!strncmp(at, "sys/", 4) || !strncmp(at, "proc/", 5) || is_tasks_name(at)) {
			memmove(out, at, strlen(at) + 1);
			return true;
		}
	}
	return node_folder(out);
}

bool wi_filetree_add(struct wi_filetree *t, const char *path, const void *bytes, size_t len, struct wi_err *err)
{
	char name[WI_FILETREE_MAX_PATH + 1];

	if (!normalise(path, name))
		return wi_err_set(err, WI_EREFUSED, "not a usable file name: \"%.200s\"", path);
	size_t name_len = strlen(name);
	if (t->nr >= WI_FILETREE_MAX_FILES || len > WI_FILETREE_MAX_BYTES - t->bytes ||
	    name_len > WI_FILETREE_MAX_BYTES - t->bytes - len)
		return wi_err_set(err, WI_EREFUSED, "too much topology data (more than %u files or %u MiB): at %.200s",
				  WI_FILETREE_MAX_FILES, WI_FILETREE_MAX_BYTES >> 20, name);
	if (t->nr == t->cap && !grow(t, err))
		return false;
	char *copy = keep(t, bytes, len);
	if (!copy)
		return wi_err_nomem(err);
	t->bytes += len;
	uint32_t h = hash(name);
	struct slot *slot = find_slot(t, name, h);
	if (slot->index) {
		struct wi_file *f = &t->file[slot->index - 1];

		f->bytes = copy;
		f->len = len;
		return true;
	}
	char *own = keep(t, name, name_len);
	if (!own)
		return wi_err_nomem(err);
	t->bytes += name_len;
	if (t->nr && strcmp(t->file[t->nr - 1].path, own) > 0)
		t->in_order = false;
	free(t->order);
	t->order = NULL;
	t->file[t->nr] = (struct wi_file){ own, copy, len };
	*slot = (struct slot){ (uint32_t)++t->nr, h };
	return true;
}

const char *wi_filetree_get(const struct wi_filetree *t, const char *path, size_t *len)
{
	if (!t->nr)
		return NULL;
	uint32_t i = find_slot(t, path, hash(path))->index;
	if (!i)
		return NULL;
	if (len)
		*len = t->file[i - 1].len;
	return t->file[i - 1].bytes;
}

size_t wi_filetree_count(const struct wi_filetree *t)
{
	return t->nr;
}

struct wi_file wi_filetree_at(const struct wi_filetree *t, size_t i)
{
	return t->file[i];
}

static int by_path(const void *a, const void *b, void *file)
{
	const struct wi_file *f = file;

	return strcmp(f[*(const uint32_t *)a].path, f[*(const uint32_t *)b].path);
}

/* Sorting is put off until somebody wants order; it changes nothing that a caller can see. */
static bool sorted(struct wi_filetree *t)
{
	if (t->in_order || t->order)
		return true;
	t->order = malloc(t->nr * sizeof(*t->order));
	if (!t->order)
		return false;
	for (size_t i = 0; i < t->nr; i++)
		t->order[i] = (uint32_t)i;
	qsort_r(t->order, t->nr, sizeof(*t->order), by_path, t->file);
	return true;
}

static const struct wi_file *in_order(const struct wi_filetree *t, size_t i)
{
	return &t->file[t->order ? t->order[i] : i];
}

bool wi_filetree_next(const struct wi_filetree *t, const char *prefix, size_t *at, struct wi_file *file)
{
	size_t len = strlen(prefix);

	if (!t->nr || !sorted((struct wi_filetree *)t))
		return false;
	if (!*at) { /* first call: find the first path not below the prefix */
		size_t lo = 0, hi = t->nr;

		while (lo < hi) {
			size_t mid = lo + (hi - lo) / 2;

			if (strcmp(in_order(t, mid)->path, prefix) < 0)
				lo = mid + 1;
			else
				hi = mid;
		}
		*at = lo;
	}
	if (*at >= t->nr || strncmp(in_order(t, *at)->path, prefix, len) != 0)
		return false;
	*file = *in_order(t, (*at)++);
	return true;
}
