/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "analyzer/base/names.h"

#include <stdlib.h>
#include <string.h>

/* Texts live in fixed blocks, so that a text keeps its address. */
#define BLOCK_BYTES 65536

struct block {
	struct block *next;
	size_t used;
	char bytes[BLOCK_BYTES];
};

/* Raw 16-byte fields, as they stand in events: several raw forms of one name (rubbish after the NUL) map to one id. */
struct raw {
	uint64_t lo, hi;
	uint32_t id;
	uint32_t used;
};

struct wi_names {
	struct block *blocks;
	const char **text; /* by id */
	uint32_t *len;
	uint32_t count, cap;
	uint32_t *slot; /* hash of texts: id + 1, 0 = free */
	uint32_t slots;
	struct raw *raw;
	uint32_t raws, raw_slots;
};

static uint64_t hash_bytes(const char *s, size_t len)
{
	uint64_t h = 0xcbf29ce484222325u;

	for (size_t i = 0; i < len; i++)
		h = (h ^ (unsigned char)s[i]) * 0x100000001b3u;
	return h ^ (h >> 29);
}

static inline uint64_t hash_raw(uint64_t lo, uint64_t hi)
{
	uint64_t h = (lo ^ (hi * 0x9e3779b97f4a7c15u)) * 0xd6e8feb86659fd93u;

	return h ^ (h >> 32);
}

struct wi_names *wi_names_new(void)
{
	struct wi_names *n = calloc(1, sizeof(*n));

	if (!n)
		return NULL;
	n->slots = 256;
	n->raw_slots = 256;
	n->slot = calloc(n->slots, sizeof(*n->slot));
	n->raw = calloc(n->raw_slots, sizeof(*n->raw));
	n->cap = 64;
	n->text = calloc(n->cap, sizeof(*n->text));
	n->len = calloc(n->cap, sizeof(*n->len));
	if (!n->slot || !n->raw || !n->text || !n->len) {
		wi_names_free(n);
		return NULL;
	}
	n->text[WI_NAME_NONE] = "<...>";
	n->len[WI_NAME_NONE] = 5;
	n->count = 1;
	n->slot[hash_bytes("<...>", 5) & (n->slots - 1)] = WI_NAME_NONE + 1;
	return n;
}

void wi_names_free(struct wi_names *n)
{
	if (!n)
		return;
	while (n->blocks) {
		struct block *b = n->blocks;

		n->blocks = b->next;
		free(b);
	}
	free(n->text);
	free(n->len);
	free(n->slot);
	free(n->raw);
	free(n);
}

static char *store(struct wi_names *n, const char *s, size_t len)
{
	struct block *b = n->blocks;

	if (!b || BLOCK_BYTES - b->used < len + 1) {
		b = malloc(sizeof(*b));
		if (!b)
			return NULL;
		b->used = 0;
		b->next = n->blocks;
		n->blocks = b;
	}
	char *p = b->bytes + b->used;
	memcpy(p, s, len);
	p[len] = '\0';
	b->used += len + 1;
	return p;
}

static int grow_ids(struct wi_names *n)
{
	uint32_t cap = n->cap * 2;
	const char **text = realloc(n->text, cap * sizeof(*text));

	if (!text)
		return -1;
	n->text = text;
	uint32_t *len = realloc(n->len, cap * sizeof(*len));
	if (!len)
		return -1;
	n->len = len;
	n->cap = cap;
	return 0;
}

static int grow_slots(struct wi_names *n)
{
	uint32_t slots = n->slots * 2;
	uint32_t *slot = calloc(slots, sizeof(*slot));

	if (!slot)
		return -1;
	for (uint32_t id = 0; id < n->count; id++) {
		uint32_t i = (uint32_t)hash_bytes(n->text[id], n->len[id]) & (slots - 1);

		while (slot[i])
			i = (i + 1) & (slots - 1);
		slot[i] = id + 1;
	}
	free(n->slot);
	n->slot = slot;
	n->slots = slots;
	return 0;
}

uint32_t wi_names_intern(struct wi_names *n, const char *s, size_t len)
{
	if (len > WI_NAME_MAX)
		len = WI_NAME_MAX;
	if (n->count * 2 >= n->slots && grow_slots(n) < 0)
		return WI_NAME_NONE;

	uint32_t i = (uint32_t)hash_bytes(s, len) & (n->slots - 1);
	for (; n->slot[i]; i = (i + 1) & (n->slots - 1)) {
		uint32_t id = n->slot[i] - 1;

		if (n->len[id] == len && !memcmp(n->text[id], s, len))
			return id;
	}
	if (n->count == n->cap && grow_ids(n) < 0)
		return WI_NAME_NONE;
	char *text = store(n, s, len);
	if (!text)
		return WI_NAME_NONE;
	n->text[n->count] = text;
	n->len[n->count] = (uint32_t)len;
	n->slot[i] = ++n->count;
	return n->count - 1;
}

static int grow_raw(struct wi_names *n)
{
	uint32_t slots = n->raw_slots * 2;
	struct raw *raw = calloc(slots, sizeof(*raw));

	if (!raw)
		return -1;
	for (uint32_t k = 0; k < n->raw_slots; k++) {
		if (!n->raw[k].used)
			continue;
		uint32_t i = (uint32_t)hash_raw(n->raw[k].lo, n->raw[k].hi) & (slots - 1);

		while (raw[i].used)
			i = (i + 1) & (slots - 1);
		raw[i] = n->raw[k];
	}
	free(n->raw);
	n->raw = raw;
	n->raw_slots = slots;
	return 0;
}

/* Forgets the raw forms when there are far more of them than names: rubbish after the NUL must not grow memory. */
static void bound_raw(struct wi_names *n)
{
	if (n->raws > 1024 && n->raws / 4 > n->count) {
		memset(n->raw, 0, n->raw_slots * sizeof(*n->raw));
		n->raws = 0;
	}
}

uint32_t wi_names_comm(struct wi_names *n, const void *comm16)
{
	uint64_t lo, hi;

	memcpy(&lo, comm16, 8);
	memcpy(&hi, (const char *)comm16 + 8, 8);
	uint32_t i = (uint32_t)hash_raw(lo, hi) & (n->raw_slots - 1);
	for (; n->raw[i].used; i = (i + 1) & (n->raw_slots - 1))
		if (n->raw[i].lo == lo && n->raw[i].hi == hi)
			return n->raw[i].id;

	uint32_t id = wi_names_intern(n, comm16, strnlen(comm16, WI_COMM_LEN));
	bound_raw(n);
	if (n->raws * 2 >= n->raw_slots && grow_raw(n) < 0)
		return id;
	i = (uint32_t)hash_raw(lo, hi) & (n->raw_slots - 1);
	while (n->raw[i].used)
		i = (i + 1) & (n->raw_slots - 1);
	n->raw[i] = (struct raw){ lo, hi, id, 1 };
	n->raws++;
	return id;
}

uint32_t wi_names_of_exec(struct wi_names *n, const char *path, size_t len)
{
	const char *slash = memrchr(path, '/', len), *base = slash ? slash + 1 : path;
	size_t left = len - (size_t)(base - path);

	return len ? wi_names_intern(n, base, left < WI_COMM_LEN ? left : WI_COMM_LEN - 1) : WI_NAME_NONE;
}

const char *wi_names_get(const struct wi_names *n, uint32_t id)
{
	return n->text[id < n->count ? id : WI_NAME_NONE];
}

uint32_t wi_names_count(const struct wi_names *n)
{
	return n->count;
}
