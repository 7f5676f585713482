/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "analyzer/record/btf.h"

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define BTF_MAGIC 0xeb9f
#define MAX_BTF_BYTES (64u << 20)

struct btf_header {
	uint16_t magic;
	uint8_t version, flags;
	uint32_t hdr_len, type_off, type_len, str_off, str_len;
};

struct btf_type {
	uint32_t name_off, info, size_or_type;
};

struct btf_member {
	uint32_t name_off, type, offset;
};

enum {
	KIND_INT = 1,
	KIND_PTR,
	KIND_ARRAY,
	KIND_STRUCT,
	KIND_UNION,
	KIND_ENUM,
	KIND_FWD,
	KIND_TYPEDEF,
	KIND_VOLATILE,
	KIND_CONST,
	KIND_RESTRICT,
	KIND_FUNC,
	KIND_FUNC_PROTO,
	KIND_VAR,
	KIND_DATASEC,
	KIND_FLOAT,
	KIND_DECL_TAG,
	KIND_TYPE_TAG,
	KIND_ENUM64
};

struct btf {
	const uint8_t *types, *types_end;
	const char *str;
	uint32_t str_len;
};

/* Bytes that follow a type of this kind with vlen parts; -1 for a kind that is not known. */
static int64_t tail_bytes(uint32_t kind, uint32_t vlen)
{
	switch (kind) {
	case KIND_PTR:
	case KIND_FWD:
	case KIND_TYPEDEF:
	case KIND_VOLATILE:
	case KIND_CONST:
	case KIND_RESTRICT:
	case KIND_FUNC:
	case KIND_FLOAT:
	case KIND_TYPE_TAG:
		return 0;
	case KIND_INT:
	case KIND_VAR:
	case KIND_DECL_TAG:
		return 4;
	case KIND_ARRAY:
		return 12;
	case KIND_STRUCT:
	case KIND_UNION:
	case KIND_DATASEC:
	case KIND_ENUM64:
		return 12 * (int64_t)vlen;
	case KIND_ENUM:
	case KIND_FUNC_PROTO:
		return 8 * (int64_t)vlen;
	}
	return -1;
}

static bool is_named(const struct btf *b, uint32_t off, const char *name)
{
	size_t len = strlen(name) + 1;

	return off < b->str_len && b->str_len - off >= len && !memcmp(b->str + off, name, len);
}

static int32_t find_member(const struct btf *b, const uint8_t *at, uint32_t vlen, bool bitfields, const char *member)
{
	for (uint32_t i = 0; i < vlen; i++) {
		struct btf_member m;

		memcpy(&m, at + i * sizeof(m), sizeof(m));
		if (!is_named(b, m.name_off, member))
			continue;
		uint32_t bits = bitfields ? m.offset & 0xffffff : m.offset;
		return bits % 8 || bits / 8 > INT32_MAX ? -1 : (int32_t)(bits / 8);
	}
	return -1;
}

static int32_t search(const struct btf *b, const char *structure, const char *member)
{
	const uint8_t *at = b->types;
	struct btf_type t;

	while ((size_t)(b->types_end - at) >= sizeof(t)) {
		memcpy(&t, at, sizeof(t));
		at += sizeof(t);
		uint32_t kind = t.info >> 24 & 0x1f, vlen = t.info & 0xffff;
		int64_t tail = tail_bytes(kind, vlen);

		if (tail < 0 || tail > b->types_end - at)
			return -1;
		if (kind == KIND_STRUCT && is_named(b, t.name_off, structure)) {
			int32_t offset = find_member(b, at, vlen, t.info >> 31, member);

			if (offset >= 0)
				return offset;
		}
		at += tail;
	}
	return -1;
}

static uint8_t *slurp(const char *path, size_t *len)
{
	FILE *f = fopen(path, "re");
	uint8_t *buf = NULL;
	size_t size = 0, n = 0;

	while (f && n < MAX_BTF_BYTES) {
		if (n == size) {
			uint8_t *b = realloc(buf, size = size ? size * 2 : 1u << 20);

			if (!b)
				break;
			buf = b;
		}
		size_t got = fread(buf + n, 1, size - n, f);
		if (!got)
			break;
		n += got;
	}
	if (f)
		fclose(f);
	*len = n;
	return buf;
}

int32_t wi_btf_member_offset(const char *path, const char *structure, const char *member)
{
	size_t len;
	uint8_t *data = slurp(path, &len);
	struct btf_header h;
	int32_t offset = -1;

	if (data && len > sizeof(h)) {
		memcpy(&h, data, sizeof(h));
		uint64_t types = (uint64_t)h.hdr_len + h.type_off, strings = (uint64_t)h.hdr_len + h.str_off;

		if (h.magic == BTF_MAGIC && types + h.type_len <= len && strings + h.str_len <= len) {
			struct btf b = { data + types, data + types + h.type_len, (const char *)data + strings,
					 h.str_len };

			offset = search(&b, structure, member);
		}
	}
	free(data);
	return offset;
}
