/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A bundle as bytes. What is read back is held to the same rules as what is put in. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "analyzer/store/bundle_priv.h"
#include "analyzer/store/hist_blob.h"

#define NO_TEXT UINT32_MAX

static const uint8_t magic[8] = { 'w', 'i', 'b', 'u', 'n', 'd', 'l', '1' };

#define TAIL_BYTES 8u /* of the hash of all before */

/* ---- writing ---- */

/* wi_bytes_put_text() ends at 64 KiB; a topology of a large machine may be longer. */
static void put_text(struct wi_bytes_out *o, const char *s)
{
	size_t n = s ? strlen(s) : 0;

	if (n > WI_BUNDLE_MAX)
		o->failed = true;
	wi_bytes_put_u32(o, s ? (uint32_t)n : NO_TEXT);
	wi_bytes_put(o, s, n);
}

static void put_real(struct wi_bytes_out *o, double v)
{
	uint64_t bits;

	memcpy(&bits, &v, sizeof(bits));
	wi_bytes_put_u64(o, bits);
}

static void put_identity(struct wi_bytes_out *o, const struct wi_bundle *b)
{
	wi_bytes_put(o, b->sha256, sizeof(b->sha256));
	wi_bytes_put_u64(o, b->size_bytes);
	put_text(o, b->path);
	put_text(o, b->version);
	put_text(o, b->analysis);
	wi_bytes_put_u64(o, b->nr_tags);
	for (size_t i = 0; i < b->nr_tags; i++) {
		put_text(o, b->tag[i].key);
		put_text(o, b->tag[i].value);
	}
}

static void put_cell(struct wi_bytes_out *o, const struct wi_cell *c)
{
	wi_bytes_put_u16(o, (uint16_t)c->type);
	if (c->type == WI_CELL_INTEGER)
		wi_bytes_put_u64(o, (uint64_t)c->integer);
	else if (c->type == WI_CELL_REAL)
		put_real(o, c->real);
	else if (c->type == WI_CELL_TEXT)
		put_text(o, c->text);
}

static void put_hist(struct wi_bytes_out *o, const struct wi_metric_hist *h)
{
	struct wi_bytes_out blob = { 0 };

	put_text(o, h->path);
	wi_bytes_put_u64(o, h->hist.count);
	wi_bytes_put_u64(o, h->hist.sum_ns);
	wi_bytes_put_u64(o, h->hist.count ? h->hist.min_ns : 0);
	wi_bytes_put_u64(o, h->hist.count ? h->hist.max_ns : 0);
	wi_hist_blob_put(&blob, &h->hist);
	wi_bytes_put_u64(o, blob.nr);
	wi_bytes_put(o, blob.at, blob.nr);
	o->failed |= blob.failed;
	free(blob.at);
}

static void put_result(struct wi_bytes_out *o, const struct wi_bundle *b)
{
	wi_bytes_put_u32(o, (uint32_t)b->status);
	wi_bytes_put_u32(o, (uint32_t)b->signal);
	wi_bytes_put_u32(o, (uint32_t)b->exit_status);
	put_text(o, b->reason);
	put_text(o, b->stderr_tail);
	wi_bytes_put_u64(o, b->nr_metrics);
	for (size_t i = 0; i < b->nr_metrics; i++) {
		put_text(o, b->metric[i].path);
		wi_bytes_put_u16(o, b->metric[i].is_real);
		if (b->metric[i].is_real)
			put_real(o, b->metric[i].real);
		else
			wi_bytes_put_u64(o, (uint64_t)b->metric[i].integer);
	}
	wi_bytes_put_u64(o, b->nr_hists);
	for (size_t i = 0; i < b->nr_hists; i++)
		put_hist(o, &b->hist[i]);
	wi_bytes_put_u64(o, b->nr_rows);
	for (size_t i = 0; i < b->nr_rows; i++) {
		wi_bytes_put_u32(o, (uint32_t)b->row[i].part);
		for (size_t k = 0; k < wi_part_info(b->row[i].part)->nr; k++)
			put_cell(o, &b->row[i].cell[k]);
	}
}

static void hash_tail(const uint8_t *p, size_t nr, uint8_t tail[TAIL_BYTES])
{
	uint8_t hash[WI_SHA256_BYTES];

	wi_sha256(p, nr, hash);
	memcpy(tail, hash, TAIL_BYTES);
}

bool wi_bundle_encode(struct wi_bundle *b, struct wi_bytes_out *out, struct wi_err *err)
{
	struct wi_bytes_out o = { 0 };
	uint8_t tail[TAIL_BYTES];

	if (!wi_bundle_finish(b, err))
		return false;
	wi_bytes_put(&o, magic, sizeof(magic));
	wi_bytes_put_u64(&o, 0);
	put_identity(&o, b);
	put_result(&o, b);
	if (o.failed || o.nr > WI_BUNDLE_MAX - TAIL_BYTES) {
		bool large = !o.failed;

		free(o.at);
		return large ? wi_err_set(err, WI_EIO, "the result is larger than %u MiB", WI_BUNDLE_MAX >> 20)
			     : wi_err_set(err, WI_EIO,
					  "the result cannot be encoded: no memory, or a time beyond 2^63 ns");
	}
	for (size_t i = 0; i < 8; i++)
		o.at[sizeof(magic) + i] = (uint8_t)((uint64_t)(o.nr + TAIL_BYTES) >> 8 * i);
	hash_tail(o.at, o.nr, tail);
	wi_bytes_put(&o, tail, sizeof(tail));
	if (!o.failed)
		wi_bytes_put(out, o.at, o.nr);
	free(o.at);
	return (!o.failed && !out->failed) || wi_err_nomem(err);
}

bool wi_bundle_digest(struct wi_bundle *b, uint8_t digest[WI_SHA256_BYTES], struct wi_err *err)
{
	struct wi_bytes_out o = { 0 };

	if (!wi_bundle_finish(b, err))
		return false;
	put_result(&o, b);
	if (!o.failed)
		wi_sha256(o.at, o.nr, digest);
	free(o.at);
	return !o.failed || wi_err_set(err, WI_EIO, "no memory, or a time beyond 2^63 ns");
}

/* ---- reading ---- */

struct reader {
	struct wi_bytes_in in;
	struct wi_bundle *b;
	struct wi_err *err;
};

static bool bad(struct reader *r, const char *what)
{
	return wi_err_set(r->err, WI_EREFUSED, "not a whole result: %s at byte %zu", what, r->in.pos);
}

static const uint8_t *get_bytes(struct reader *r, uint64_t nr)
{
	if (r->in.failed || nr > r->in.nr - r->in.pos) {
		r->in.failed = true;
		return NULL;
	}
	r->in.pos += nr;
	return r->in.at + r->in.pos - nr;
}

/* A text of at most max bytes; *text NULL where none was put. */
static bool get_text(struct reader *r, size_t max, const char **text)
{
	uint32_t n = wi_bytes_get_u32(&r->in);

	*text = NULL;
	if (r->in.failed)
		return bad(r, "cut text");
	if (n == NO_TEXT)
		return true;
	const char *s = (const char *)get_bytes(r, n);

	if (!s)
		return bad(r, "cut text");
	if (n > max)
		return bad(r, "a text too long");
	if (!wi_bundle_is_text(s, n))
		return bad(r, "a text that is no UTF-8");
	*text = wi_bundle_copy(r->b, s, n);
	return *text || wi_err_nomem(r->err);
}

static bool get_needed(struct reader *r, size_t max, const char **text)
{
	if (!get_text(r, max, text))
		return false;
	return (*text && **text) || bad(r, "a missing text");
}

static bool get_real(struct reader *r, double *v)
{
	uint64_t bits = wi_bytes_get_u64(&r->in);

	memcpy(v, &bits, sizeof(bits));
	return isfinite(*v) || bad(r, "a number that is not finite");
}

static bool get_identity(struct reader *r)
{
	const uint8_t *hash = get_bytes(r, WI_SHA256_BYTES);
	struct wi_bundle *b = r->b;

	if (!hash)
		return bad(r, "cut hash");
	memcpy(b->sha256, hash, WI_SHA256_BYTES);
	b->size_bytes = wi_bytes_get_u64(&r->in);
	if (b->size_bytes > INT64_MAX)
		return bad(r, "an impossible size");
	if (!get_text(r, WI_STORE_PATH_MAX * 4, &b->path) || !get_text(r, WI_BUNDLE_MAX, &b->version) ||
	    !get_text(r, WI_BUNDLE_MAX, &b->analysis))
		return false;
	uint32_t nr = wi_bytes_get_count(&r->in, 8);

	for (uint32_t i = 0; i < nr; i++) {
		const char *key, *value;

		if (!get_needed(r, WI_TAG_KEY_MAX, &key) || !get_needed(r, WI_TAG_VALUE_MAX, &value) ||
		    !wi_bundle_tag(b, key, value, r->err))
			return false;
	}
	return !r->in.failed || bad(r, "cut identity");
}

static bool get_outcome(struct reader *r)
{
	uint32_t status = wi_bytes_get_u32(&r->in), signal = wi_bytes_get_u32(&r->in), code = wi_bytes_get_u32(&r->in);

	if (r->in.failed || status >= WI_NR_RUN_STATUSES || signal > 127 || code > 255)
		return bad(r, "an impossible outcome");
	r->b->status = (enum wi_run_status)status;
	r->b->signal = (int32_t)signal;
	r->b->exit_status = (int32_t)code;
	return get_text(r, WI_BUNDLE_MAX, &r->b->reason) && get_text(r, 3 * WI_STDERR_TAIL, &r->b->stderr_tail);
}

static bool get_metrics(struct reader *r)
{
	uint32_t nr = wi_bytes_get_count(&r->in, 14);

	for (uint32_t i = 0; i < nr; i++) {
		struct wi_metric_value v = { 0 };

		if (!get_needed(r, WI_METRIC_PATH_MAX, &v.path))
			return false;
		uint16_t kind = wi_bytes_get_u16(&r->in);

		v.is_real = kind == 1;
		if (kind > 1)
			return bad(r, "an unknown kind of number");
		if (v.is_real && !get_real(r, &v.real))
			return false;
		if (!v.is_real)
			v.integer = (int64_t)wi_bytes_get_u64(&r->in);
		if (!wi_bundle_put_metric(r->b, &v, r->err))
			return false;
	}
	return !r->in.failed || bad(r, "cut metrics");
}

static bool get_hists(struct reader *r)
{
	uint32_t nr = wi_bytes_get_count(&r->in, 44);

	for (uint32_t i = 0; i < nr; i++) {
		struct wi_hist exact = { 0 }, h;
		const char *path, *why;

		if (!get_needed(r, WI_METRIC_PATH_MAX, &path))
			return false;
		exact.count = wi_bytes_get_u64(&r->in);
		exact.sum_ns = wi_bytes_get_u64(&r->in);
		exact.min_ns = wi_bytes_get_u64(&r->in);
		exact.max_ns = wi_bytes_get_u64(&r->in);
		uint64_t size = wi_bytes_get_u64(&r->in);
		const uint8_t *blob = get_bytes(r, size);

		if (!blob || exact.sum_ns > INT64_MAX)
			return bad(r, "cut histogram");
		if (!wi_hist_blob_get(&h, blob, size, &exact, &why))
			return bad(r, why);
		if (!wi_bundle_put_hist(r->b, path, &h, r->err))
			return false;
	}
	return !r->in.failed || bad(r, "cut histograms");
}

static bool get_cell(struct reader *r, const struct wi_column_info *column, struct wi_cell *c)
{
	uint16_t type = wi_bytes_get_u16(&r->in);

	if (type != WI_CELL_NONE && type != column->type)
		return bad(r, "a cell of a wrong type");
	c->type = (enum wi_cell_type)type;
	if (type == WI_CELL_INTEGER)
		c->integer = (int64_t)wi_bytes_get_u64(&r->in);
	else if (type == WI_CELL_REAL)
		return get_real(r, &c->real);
	else if (type == WI_CELL_TEXT)
		return get_text(r, WI_BUNDLE_MAX, &c->text) && (c->text || bad(r, "a missing text"));
	return true;
}

/* The columns that name a row within its run must be there and differ. */
static bool check_row(struct reader *r, const struct wi_row *row)
{
	size_t text, number, nr = 0;
	const struct wi_cell *c = row->cell;

	wi_part_key(row->part, &text, &number);
	if ((text != (size_t)-1 && c[text].type == WI_CELL_NONE) ||
	    (number != (size_t)-1 && c[number].type == WI_CELL_NONE))
		return bad(r, "a row without its name");
	for (size_t i = 0; i < r->b->nr_rows; i++) {
		const struct wi_cell *o = r->b->row[i].cell;

		nr += r->b->row[i].part == row->part && (text == (size_t)-1 || !strcmp(o[text].text, c[text].text)) &&
		      (number == (size_t)-1 || o[number].integer == c[number].integer);
	}
	return nr == 1 || bad(r, "a row that is there twice");
}

static bool get_rows(struct reader *r)
{
	uint32_t nr = wi_bytes_get_count(&r->in, 6);

	for (uint32_t i = 0; i < nr; i++) {
		uint32_t part = wi_bytes_get_u32(&r->in);

		if (r->in.failed || part >= WI_NR_PARTS)
			return bad(r, "a row of no table");
		struct wi_row *row = wi_bundle_put_row(r->b, (enum wi_part)part, r->err);

		if (!row)
			return false;
		for (size_t k = 0; k < wi_part_info((enum wi_part)part)->nr; k++)
			if (!get_cell(r, &wi_part_info((enum wi_part)part)->column[k], &row->cell[k]))
				return false;
		if (r->in.failed)
			return bad(r, "cut rows");
		if (!check_row(r, row))
			return false;
	}
	return !r->in.failed || bad(r, "cut rows");
}

size_t wi_bundle_length(const uint8_t head[WI_BUNDLE_HEAD])
{
	uint64_t n = 0;

	if (memcmp(head, magic, sizeof(magic)))
		return 0;
	for (size_t i = 0; i < 8; i++)
		n |= (uint64_t)head[sizeof(magic) + i] << 8 * i;
	return n > WI_BUNDLE_HEAD + TAIL_BYTES && n <= WI_BUNDLE_MAX ? (size_t)n : 0;
}

bool wi_bundle_decode(struct wi_bundle *b, const uint8_t *bytes, size_t nr, struct wi_err *err)
{
	struct reader r = { .b = b, .err = err };
	uint8_t tail[TAIL_BYTES];

	if (nr < WI_BUNDLE_HEAD || wi_bundle_length(bytes) != nr)
		return bad(&r, "a wrong head or length");
	hash_tail(bytes, nr - TAIL_BYTES, tail);
	if (memcmp(bytes + nr - TAIL_BYTES, tail, TAIL_BYTES))
		return bad(&r, "a wrong checksum");
	r.in = (struct wi_bytes_in){ .at = bytes, .nr = nr - TAIL_BYTES, .pos = WI_BUNDLE_HEAD };
	if (!get_identity(&r) || !get_outcome(&r) || !get_metrics(&r) || !get_hists(&r) || !get_rows(&r))
		return false;
	if (r.in.pos != r.in.nr)
		return bad(&r, "bytes after its end");
	return wi_bundle_finish(b, err);
}
