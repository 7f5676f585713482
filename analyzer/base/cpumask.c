/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "analyzer/base/cpumask.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>

static bool mask_reserve(uint64_t **mask, uint32_t *words, uint32_t want, struct wi_err *err)
{
	if (want <= *words)
		return true;
	uint64_t *m = realloc(*mask, want * sizeof(*m));
	if (!m)
		return wi_err_nomem(err);
	memset(m + *words, 0, (want - *words) * sizeof(*m));
	*mask = m;
	*words = want;
	return true;
}

struct cursor {
	const char *text;
	size_t at, len;
};

static bool number(struct cursor *c, uint32_t *value)
{
	uint64_t v = 0;
	size_t start = c->at;

	while (c->at < c->len && isdigit((unsigned char)c->text[c->at]) && v < WI_MAX_CPUS)
		v = v * 10 + (uint64_t)(c->text[c->at++] - '0');
	*value = (uint32_t)v;
	return c->at > start && v < WI_MAX_CPUS;
}

static bool accept(struct cursor *c, char ch)
{
	if (c->at >= c->len || c->text[c->at] != ch)
		return false;
	c->at++;
	return true;
}

/* One "N", "N-M" or "N-M:used/group" of a list. */
static bool range(struct cursor *c, uint64_t **mask, uint32_t *words, struct wi_err *err)
{
	uint32_t first, last, used = 1, group = 1;

	if (!number(c, &first))
		return false;
	last = first;
	if (accept(c, '-') && (!number(c, &last) || last < first))
		return false;
	if (accept(c, ':') && (!number(c, &used) || !accept(c, '/') || !number(c, &group) || !group || !used || used > group))
		return false;
	if (!mask_reserve(mask, words, wi_mask_words(last + 1), err))
		return false;
	for (uint32_t cpu = first; cpu <= last; cpu++)
		if ((cpu - first) % group < used)
			wi_mask_set(*mask, cpu);
	return true;
}

static struct cursor trimmed(const char *text, size_t len)
{
	struct cursor c = { text, 0, len };

	while (c.at < c.len && isspace((unsigned char)text[c.at]))
		c.at++;
	while (c.len > c.at && (isspace((unsigned char)text[c.len - 1]) || !text[c.len - 1]))
		c.len--;
	return c;
}

bool wi_mask_parse_list(const char *text, size_t len, uint64_t **mask, uint32_t *words, struct wi_err *err)
{
	struct cursor c = trimmed(text, len);

	*mask = NULL;
	*words = 0;
	if (!mask_reserve(mask, words, 1, err))
		return false;
	while (c.at < c.len)
		if (!range(&c, mask, words, err) || (c.at < c.len && !accept(&c, ',')))
			goto bad;
	return true;
bad:
	free(*mask);
	*mask = NULL;
	*words = 0;
	return wi_err_set(err, WI_EREFUSED, "not a CPU list (character %zu): \"%.*s\"", c.at + 1, (int)(len > 80 ? 80 : len), text);
}

bool wi_mask_parse_hex(const char *text, size_t len, uint64_t **mask, uint32_t *words, struct wi_err *err)
{
	struct cursor c = trimmed(text, len);
	uint32_t bit = 0, in_group = 0;
	size_t at;

	*mask = NULL;
	*words = 0;
	if (!mask_reserve(mask, words, 1, err))
		return false;
	if (c.len - c.at > 2 && c.text[c.at] == '0' && (c.text[c.at + 1] | 0x20) == 'x')
		c.at += 2;
	for (at = c.len; at > c.at; at--) {
		char ch = c.text[at - 1];

		if (ch == ',') { /* groups are 32 bits wide whatever their length */
			bit += 32 - in_group;
			in_group = 0;
			continue;
		}
		if (!isxdigit((unsigned char)ch) || in_group == 32 || bit + 4 > WI_MAX_CPUS)
			goto bad;
		uint64_t v = (uint64_t)(isdigit((unsigned char)ch) ? ch - '0' : (ch | 0x20) - 'a' + 10);
		if (v) {
			if (!mask_reserve(mask, words, wi_mask_words(bit + 4), err))
				goto bad;
			(*mask)[bit >> 6] |= v << (bit & 63);
		}
		bit += 4;
		in_group += 4;
	}
	return true;
bad:
	free(*mask);
	*mask = NULL;
	*words = 0;
	return wi_err_set(err, WI_EREFUSED, "not a CPU mask (character %zu): \"%.*s\"", at, (int)(len > 80 ? 80 : len), text);
}

size_t wi_mask_format(char *out, size_t size, const uint64_t *m, uint32_t words)
{
	size_t n = 0;

	if (size)
		out[0] = '\0';
	for (uint32_t a = wi_mask_next(m, words, 0); a != UINT32_MAX;) {
		uint32_t b = a;

		while (b + 1 < words * 64 && wi_mask_test(m, b + 1))
			b++;
		const char *comma = n ? "," : "";
		size_t left = n < size ? size - n : 0;
		char *at = left ? out + n : NULL;
		n += (size_t)(a == b ? snprintf(at, left, "%s%u", comma, a) : snprintf(at, left, "%s%u-%u", comma, a, b));
		a = wi_mask_next(m, words, b + 1);
	}
	return n;
}
