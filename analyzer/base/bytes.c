/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "analyzer/base/bytes.h"

#include <stdlib.h>
#include <string.h>

#define MAX_TEXT 65536u
#define NO_TEXT UINT32_MAX

void wi_bytes_put(struct wi_bytes_out *o, const void *p, size_t size)
{
	if (o->failed || !size)
		return;
	if (size > o->room - o->nr) {
		size_t room = (o->room ? o->room : 4096);

		while (room - o->nr < size && room <= SIZE_MAX / 2)
			room *= 2;
		uint8_t *more = room - o->nr >= size ? realloc(o->at, room) : NULL;

		if (!more) {
			o->failed = true;
			return;
		}
		o->at = more;
		o->room = room;
	}
	memcpy(o->at + o->nr, p, size);
	o->nr += size;
}

void wi_bytes_put_u16(struct wi_bytes_out *o, uint16_t v)
{
	wi_bytes_put(o, (const uint8_t[]){ (uint8_t)v, (uint8_t)(v >> 8) }, 2);
}

void wi_bytes_put_u32(struct wi_bytes_out *o, uint32_t v)
{
	uint8_t b[4];

	for (int i = 0; i < 4; i++)
		b[i] = (uint8_t)(v >> 8 * i);
	wi_bytes_put(o, b, sizeof(b));
}

void wi_bytes_put_u64(struct wi_bytes_out *o, uint64_t v)
{
	uint8_t b[8];

	for (int i = 0; i < 8; i++)
		b[i] = (uint8_t)(v >> 8 * i);
	wi_bytes_put(o, b, sizeof(b));
}

void wi_bytes_put_u32s(struct wi_bytes_out *o, const uint32_t *v, size_t nr)
{
	for (size_t i = 0; i < nr; i++)
		wi_bytes_put_u32(o, v[i]);
}

void wi_bytes_put_u64s(struct wi_bytes_out *o, const uint64_t *v, size_t nr)
{
	for (size_t i = 0; i < nr; i++)
		wi_bytes_put_u64(o, v[i]);
}

void wi_bytes_put_text(struct wi_bytes_out *o, const char *text)
{
	size_t len = text ? strnlen(text, MAX_TEXT) : NO_TEXT;

	wi_bytes_put_u32(o, (uint32_t)len);
	if (text)
		wi_bytes_put(o, text, len);
}

/* The next `size` bytes; NULL: there are not so many. */
static const uint8_t *get(struct wi_bytes_in *i, size_t size)
{
	if (i->failed || size > i->nr - i->pos) {
		i->failed = true;
		return NULL;
	}
	i->pos += size;
	return i->at + i->pos - size;
}

static uint64_t number(struct wi_bytes_in *i, size_t size)
{
	const uint8_t *b = get(i, size);
	uint64_t v = 0;

	for (size_t n = 0; b && n < size; n++)
		v |= (uint64_t)b[n] << 8 * n;
	return v;
}

uint16_t wi_bytes_get_u16(struct wi_bytes_in *i)
{
	return (uint16_t)number(i, 2);
}

uint32_t wi_bytes_get_u32(struct wi_bytes_in *i)
{
	return (uint32_t)number(i, 4);
}

uint64_t wi_bytes_get_u64(struct wi_bytes_in *i)
{
	return number(i, 8);
}

void wi_bytes_get_u32s(struct wi_bytes_in *i, uint32_t *v, size_t nr)
{
	for (size_t n = 0; n < nr; n++)
		v[n] = wi_bytes_get_u32(i);
}

void wi_bytes_get_u64s(struct wi_bytes_in *i, uint64_t *v, size_t nr)
{
	for (size_t n = 0; n < nr; n++)
		v[n] = wi_bytes_get_u64(i);
}

const char *wi_bytes_get_text(struct wi_bytes_in *i, size_t *len)
{
	uint32_t n = wi_bytes_get_u32(i);

	*len = 0;
	if (i->failed || n == NO_TEXT)
		return NULL;
	if (n > MAX_TEXT || n > i->nr - i->pos) {
		i->failed = true;
		return NULL;
	}
	const char *text = (const char *)i->at + i->pos;

	i->pos += n;
	*len = n;
	return text;
}

uint32_t wi_bytes_get_count(struct wi_bytes_in *i, size_t each)
{
	uint64_t n = wi_bytes_get_u64(i);

	if (i->failed || n >= UINT32_MAX || n > (i->nr - i->pos) / each) {
		i->failed = true;
		return 0;
	}
	return (uint32_t)n;
}
