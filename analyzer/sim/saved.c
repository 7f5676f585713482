/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "analyzer/sim/saved.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include <zlib.h>
#include <zstd.h>

#include "analyzer/workload/pack.h"

/* Header: magic, version, CRC-32 of the contents, their size, size of the zstd frame that follows. */
#define VERSION 2u /* 2: stalls */
#define HEADER_BYTES 32u
#define MAX_CONTENTS (4ull << 30)
#define LEVEL 3

static const char magic[8] = "wakeifwl";

/* Numbers of a tally, in the file's order. */
#define NUMBERS(X)                                                                                                     \
	X(from_ns)                                                                                                     \
	X(to_ns)                                                                                                       \
	X(wakings)                                                                                                     \
	X(decided)                                                                                                     \
	X(stayed)                                                                                                      \
	X(oncpu)                                                                                                       \
	X(placed_moves)                                                                                                \
	X(migrations)                                                                                                  \
	X(preemptions)                                                                                                 \
	X(ipis)                                                                                                        \
	X(cpu_ns)                                                                                                      \
	X(busy_ns)                                                                                                     \
	X(forced_idle_ns)                                                                                              \
	X(unknown_ns)                                                                                                  \
	X(corun_ns)                                                                                                    \
	X(waiting_ns)

/* ---- out ---- */

static void put_hist(struct wi_bytes_out *o, const struct wi_hist *h)
{
	wi_bytes_put_u64(o, h->sum_ns);
	wi_bytes_put_u64(o, h->min_ns);
	wi_bytes_put_u64(o, h->max_ns);
	wi_bytes_put_u64(o, h->nr);
	wi_bytes_put_u64s(o, h->bucket, h->nr);
}

static void put_tally(struct wi_bytes_out *o, const struct wi_tally_result *r)
{
#define X(id) wi_bytes_put_u64(o, r->id);
	NUMBERS(X)
#undef X
	wi_bytes_put_u64s(o, r->idle_while_waiting_ns, WAKEIF_NR_SCOPES);
	put_hist(o, &r->latency);
	put_hist(o, &r->queue_wait);
	wi_bytes_put_u64s(o, r->cpu_idle_ns, r->nr_cpus);
	for (int s = 0; s < WAKEIF_NR_SCOPES; s++)
		wi_bytes_put_u64s(o, r->group_idle_ns[s], r->nr_groups[s]);
	wi_bytes_put_u64s(o, r->package_idle_ns, r->nr_packages);
}

void wi_saved_put(const struct wi_workload *w, const struct wi_tally_result *recorded, struct wi_bytes_out *out)
{
	wi_workload_pack(w, out);
	put_tally(out, recorded);
}

bool wi_saved_pack(const struct wi_workload *w, const struct wi_tally_result *recorded, struct wi_bytes_out *out,
		   struct wi_err *err)
{
	struct wi_bytes_out contents = { 0 };
	void *packed = NULL;
	size_t room, size;

	wi_saved_put(w, recorded, &contents);
	if (contents.failed)
		goto nomem;
	if (contents.nr > MAX_CONTENTS) {
		wi_err_set(err, WI_EREFUSED, "a workload of %zu bytes is too large to be saved", contents.nr);
		goto out;
	}
	room = ZSTD_compressBound(contents.nr);
	packed = malloc(room);
	size = packed ? ZSTD_compress(packed, room, contents.at, contents.nr, LEVEL) : 0;
	if (!packed || ZSTD_isError(size))
		goto nomem;
	wi_bytes_put(out, magic, sizeof(magic));
	wi_bytes_put_u32(out, VERSION);
	wi_bytes_put_u32(out, (uint32_t)crc32_z(0, contents.at, contents.nr));
	wi_bytes_put_u64(out, contents.nr);
	wi_bytes_put_u64(out, size);
	wi_bytes_put(out, packed, size);
	if (!out->failed)
		goto out;
nomem:
	wi_err_nomem(err);
out:
	free(packed);
	free(contents.at);
	return !err->code;
}

static bool write_to(FILE *f, const struct wi_bytes_out *out)
{
	bool ok = f && fwrite(out->at, 1, out->nr, f) == out->nr && !fflush(f);
	int reason = errno;

	if (f)
		fclose(f);
	errno = reason;
	return ok;
}

/* Beside the file first, so that there is a whole one at any time. */
static bool replace(const char *path, const struct wi_bytes_out *out)
{
	char *temp = NULL;
	FILE *f;
	bool ok;

	if (asprintf(&temp, "%s.%ld", path, (long)getpid()) < 0) {
		errno = ENOMEM;
		return false;
	}
	f = fopen(temp, "wxe");
	ok = write_to(f, out) && !rename(temp, path);
	if (f && !ok) {
		int reason = errno;

		unlink(temp);
		errno = reason;
	}
	free(temp);
	return ok;
}

bool wi_saved_write(const struct wi_workload *w, const struct wi_tally_result *recorded, const char *path,
		    struct wi_err *err)
{
	char *linked = realpath(path, NULL); /* a link stays one; NULL: there is nothing yet */
	struct wi_bytes_out out = { 0 };
	struct stat st;
	bool ok;

	if (wi_saved_pack(w, recorded, &out, err)) {
		if (!stat(path, &st) && !S_ISREG(st.st_mode)) /* a pipe, a device */
			ok = write_to(fopen(path, "we"), &out);
		else
			ok = replace(linked ? linked : path, &out);
		if (!ok)
			wi_err_at(err, WI_EIO, path, WI_NO_OFFSET, "cannot be written: %s", strerror(errno));
	}
	free(linked);
	free(out.at);
	return !err->code;
}

/* ---- in ---- */

static bool get_hist(struct wi_bytes_in *in, struct wi_hist *h)
{
	uint32_t nr;

	h->sum_ns = wi_bytes_get_u64(in);
	h->min_ns = wi_bytes_get_u64(in);
	h->max_ns = wi_bytes_get_u64(in);
	nr = wi_bytes_get_count(in, sizeof(uint64_t));
	if (in->failed || nr > WI_HIST_BUCKETS)
		return false;
	h->bucket = calloc((size_t)nr + 1, sizeof(*h->bucket));
	if (!h->bucket)
		return false;
	h->nr = nr;
	wi_bytes_get_u64s(in, h->bucket, nr);
	for (uint32_t i = 0; i < nr; i++) {
		if (h->bucket[i] > UINT64_MAX - h->count)
			return false;
		h->count += h->bucket[i];
	}
	return !h->count || h->min_ns <= h->max_ns;
}

static uint64_t *get_numbers(struct wi_bytes_in *in, uint32_t nr)
{
	uint64_t *v = nr <= (in->nr - in->pos) / sizeof(*v) ? calloc((size_t)nr + 1, sizeof(*v)) : NULL;

	if (v)
		wi_bytes_get_u64s(in, v, nr);
	return v;
}

/* Its arrays are those of the workload's machine. */
static bool get_tally(struct wi_bytes_in *in, const struct wakeif_topology *t, struct wi_tally_result *r)
{
#define X(id) r->id = wi_bytes_get_u64(in);
	NUMBERS(X)
#undef X
	wi_bytes_get_u64s(in, r->idle_while_waiting_ns, WAKEIF_NR_SCOPES);
	if (!get_hist(in, &r->latency) || !get_hist(in, &r->queue_wait))
		return false;
	r->nr_cpus = t->nr_cpus;
	r->nr_packages = t->nr_packages;
	memcpy(r->nr_groups, t->nr_groups, sizeof(r->nr_groups));
	r->cpu_idle_ns = get_numbers(in, r->nr_cpus);
	for (int s = 0; s < WAKEIF_NR_SCOPES; s++)
		r->group_idle_ns[s] = get_numbers(in, r->nr_groups[s]);
	r->package_idle_ns = get_numbers(in, r->nr_packages);
	return !in->failed && r->from_ns <= r->to_ns && r->stayed <= r->decided && r->unknown_ns <= r->cpu_ns &&
	       r->busy_ns <= r->cpu_ns && r->package_idle_ns;
}

bool wi_saved_contents(struct wi_saved *s, const void *bytes, size_t nr, const char *name, struct wi_err *err)
{
	struct wi_bytes_in in = { .at = bytes, .nr = nr };
	struct wi_err why = { 0 };

	memset(s, 0, sizeof(*s));
	s->workload = wi_workload_unpack(&in, &why);
	if (why.code == WI_EIO)
		return wi_err_nomem(err);
	if (!s->workload)
		return wi_err_at(err, why.code, name, in.pos, "the saved workload is damaged: %s", why.msg);
	if (!get_tally(&in, s->workload->topology, &s->recorded) || in.pos != in.nr)
		return wi_err_at(err, WI_EREFUSED, name, in.pos, "the saved workload is damaged: its tally");
	return true;
}

/* Steps that double: a file that says it holds much costs only what it does hold. NULL: err set. */
static uint8_t *unpack(const uint8_t *packed, size_t nr, uint64_t size, const char *name, struct wi_err *err)
{
	ZSTD_DStream *z = ZSTD_createDStream();
	ZSTD_inBuffer in = { packed, nr, 0 };
	ZSTD_outBuffer out = { NULL, 0, 0 };
	size_t left = 1, room = 0;

	while (z && left && !ZSTD_isError(left)) {
		if (out.pos == room) {
			if (room == size)
				break; /* more than it said */
			room = room ? room * 2 : 65536;
			room = room < size ? room : size;
			void *more = realloc(out.dst, room);

			if (!more) {
				ZSTD_freeDStream(z);
				z = NULL;
				break;
			}
			out.dst = more;
			out.size = room;
		}
		size_t before = in.pos + out.pos;

		left = ZSTD_decompressStream(z, &out, &in);
		if (in.pos + out.pos == before)
			break; /* cut */
	}
	bool whole = z && !left && in.pos == nr && out.pos == size;

	if (!z)
		wi_err_nomem(err);
	else if (!whole)
		wi_err_at(err, WI_EREFUSED, name, HEADER_BYTES + in.pos, "the saved workload is damaged: %s",
			  ZSTD_isError(left) ? ZSTD_getErrorName(left) : "its contents are not of the size it says");
	ZSTD_freeDStream(z);
	if (!whole) {
		free(out.dst);
		out.dst = NULL;
	}
	return out.dst;
}

bool wi_saved_unpack(struct wi_saved *s, const void *bytes, size_t nr, const char *name, struct wi_err *err)
{
	struct wi_bytes_in in = { .at = bytes, .nr = nr, .pos = sizeof(magic) };
	uint32_t version, crc;
	uint64_t size, packed;
	uint8_t *contents;

	memset(s, 0, sizeof(*s));
	if (nr < HEADER_BYTES || memcmp(bytes, magic, sizeof(magic)))
		return wi_err_at(err, WI_EREFUSED, name, 0, "no saved workload");
	version = wi_bytes_get_u32(&in);
	crc = wi_bytes_get_u32(&in);
	size = wi_bytes_get_u64(&in);
	packed = wi_bytes_get_u64(&in);
	if (version != VERSION)
		return wi_err_at(err, WI_EREFUSED, name, 8, "a saved workload of version %u; known is %u", version,
				 VERSION);
	if (!size || size > MAX_CONTENTS || packed != nr - HEADER_BYTES)
		return wi_err_at(err, WI_EREFUSED, name, 16,
				 "the saved workload is cut, or impossibly large: %" PRIu64 " bytes in %" PRIu64
				 ", %zu are there",
				 size, packed, nr - HEADER_BYTES);
	contents = unpack((const uint8_t *)bytes + HEADER_BYTES, packed, size, name, err);
	if (!contents)
		return false;
	if (crc32_z(0, contents, size) != crc)
		wi_err_at(err, WI_EREFUSED, name, 12, "the saved workload is damaged: its check sum is wrong");
	else
		wi_saved_contents(s, contents, size, name, err);
	free(contents);
	return !err->code;
}

bool wi_saved_read(struct wi_saved *s, const char *path, struct wi_err *err)
{
	FILE *f = fopen(path, "rbe");
	struct wi_bytes_out all = { 0 };
	uint8_t part[65536];
	size_t n;

	memset(s, 0, sizeof(*s));
	if (!f)
		return wi_err_at(err, WI_EIO, path, WI_NO_OFFSET, "cannot be read: %s", strerror(errno));
	while (!all.failed && all.nr <= MAX_CONTENTS && (n = fread(part, 1, sizeof(part), f)) > 0)
		wi_bytes_put(&all, part, n);
	if (ferror(f))
		wi_err_at(err, WI_EIO, path, all.nr, "cannot be read: %s", strerror(errno));
	else if (all.failed)
		wi_err_nomem(err);
	else
		wi_saved_unpack(s, all.at ? all.at : part, all.nr, path, err);
	fclose(f);
	free(all.at);
	return !err->code;
}

void wi_saved_fini(struct wi_saved *s)
{
	wi_workload_free(s->workload);
	wi_tally_result_fini(&s->recorded);
	memset(s, 0, sizeof(*s));
}

bool wi_saved_is(const char *path)
{
	char start[sizeof(magic)];
	struct stat st;
	FILE *f;
	bool is;

	if (stat(path, &st) || !S_ISREG(st.st_mode))
		return false;
	f = fopen(path, "rbe");
	is = f && fread(start, sizeof(start), 1, f) == 1 && !memcmp(start, magic, sizeof(magic));
	if (f)
		fclose(f);
	return is;
}
