/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "parsers/tracedat_data.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "parsers/spool.h"

/*
 * Memory for all CPUs together: what is read from the file at once, and what is kept inflated. What is read stays in
 * the processor's cache until it is parsed, if a CPU's share is not cut too short for that.
 */
#define READ_CACHED (1u << 20)
#define READ_TOTAL (4u << 20)
#define READ_MIN (16u << 10)
#define READ_MAX (64u << 10)
#define INFLATED_TOTAL (16u << 20)
#define PAGES_TOTAL (128u << 20)
/*
 * Ring-buffer pages shrink to a fifth or a tenth. A file of much more than that, once it has unpacked to more than a
 * little, was made to keep its reader busy.
 */
#define INFLATED_FREE (256u << 20)
#define INFLATED_RATIO 200u

struct cpu_data {
	uint64_t pos, end; /* in the file */
	uint32_t chunks;   /* compressed: left */
	bool started;
	bool gap_next; /* something is missing behind the block that was handed out */
	uint8_t *buf;
	size_t cap;
	/* a chunk that waits in the spill file */
	uint64_t spill_pos;
	size_t spill_left;
	uint64_t chunk_pos;
};

struct wi_td_data {
	struct wi_td *td;
	const struct wi_td_buffer *b;
	uint32_t page_bytes, read_bytes;
	struct cpu_data *cpu;
	uint8_t *in; /* one compressed chunk */
	size_t in_cap;
	/*
	 * Large chunks of many CPUs would not fit into memory together: then chunks are inflated into one shared buffer
	 * and wait in an unlinked file, each CPU in a slot of its own.
	 */
	uint8_t *shared;
	size_t shared_cap;
	size_t kept; /* bytes of all cpu[].buf */
	uint64_t packed, unpacked; /* bytes of the chunks of this pass */
	int spill_fd;
};

static void start_all(struct wi_td_data *d)
{
	for (uint32_t i = 0; i < d->b->nr_cpus; i++) {
		struct cpu_data *c = &d->cpu[i];

		c->pos = d->b->cpu[i].offset;
		c->end = c->pos + d->b->cpu[i].bytes;
		c->started = c->gap_next = false;
		c->chunks = 0;
		c->spill_left = 0;
	}
	d->packed = d->unpacked = 0;
}

/* Every CPU that has data keeps one sub-buffer of them at least. */
static bool fits_memory(const struct wi_td *td, const struct wi_td_buffer *b, uint32_t page_bytes, struct wi_err *err)
{
	uint64_t nr = 0;

	for (uint32_t i = 0; i < b->nr_cpus; i++)
		nr += b->cpu[i].bytes != 0;
	return nr * page_bytes <= PAGES_TOTAL ||
	       wi_err_at(err, WI_EREFUSED, td->file.path, b->offset,
			 "too large to read: sub-buffers of %" PRIu32 " bytes on %" PRIu64 " CPUs, %u bytes at most",
			 page_bytes, nr, PAGES_TOTAL);
}

/* Bytes that are read at once for each CPU: whole pages. */
static uint32_t read_size(uint32_t nr_cpus, uint32_t page_bytes)
{
	uint32_t nr = nr_cpus ? nr_cpus : 1, bytes = READ_CACHED / nr;

	if (bytes < READ_MIN)
		bytes = READ_TOTAL / nr < READ_MIN ? READ_TOTAL / nr : READ_MIN;
	if (bytes > READ_MAX)
		bytes = READ_MAX;
	return bytes / page_bytes ? bytes / page_bytes * page_bytes : page_bytes;
}

struct wi_td_data *wi_td_data_new(struct wi_td *td, const struct wi_td_buffer *b, uint32_t page_bytes,
				  struct wi_err *err)
{
	struct wi_td_data *d = fits_memory(td, b, page_bytes, err) ? calloc(1, sizeof(*d)) : NULL;

	if (!d)
		goto nomem;
	d->td = td;
	d->b = b;
	d->spill_fd = -1;
	d->page_bytes = page_bytes;
	d->read_bytes = read_size(b->nr_cpus, page_bytes);
	d->cpu = calloc(b->nr_cpus ? b->nr_cpus : 1, sizeof(*d->cpu));
	if (!d->cpu)
		goto nomem;
	start_all(d);
	return d;
nomem:
	wi_td_data_free(d);
	wi_err_nomem(err); /* unless there is a reason already */
	return NULL;
}

void wi_td_data_free(struct wi_td_data *d)
{
	if (!d)
		return;
	for (uint32_t i = 0; d->cpu && i < d->b->nr_cpus; i++)
		free(d->cpu[i].buf);
	free(d->cpu);
	free(d->in);
	free(d->shared);
	if (d->spill_fd >= 0)
		close(d->spill_fd);
	free(d);
}

static bool grow(uint8_t **buf, size_t *cap, size_t n, struct wi_err *err)
{
	uint8_t *p;

	if (n <= *cap)
		return true;
	p = realloc(*buf, n);
	if (!p)
		return wi_err_nomem(err);
	*buf = p;
	*cap = n;
	return true;
}

/* The region's end is no whole page: what remains of it is named, not used. */
static void note_partial(struct wi_td_data *d, uint32_t i, uint64_t at, uint64_t left)
{
	const struct wi_td_cpu *c = &d->b->cpu[i];

	d->cpu[i].gap_next = true;
	wi_damage_note(d->td->log, WI_DMG_CHUNK, c->cpu, at,
		       "CPU %" PRIu32 ": data end inside a page: %" PRIu64 " of %" PRIu32 " bytes", c->cpu, left,
		       d->page_bytes);
}

static int next_plain(struct wi_td_data *d, uint32_t i, struct wi_rb_block *out, struct wi_err *err)
{
	struct cpu_data *c = &d->cpu[i];
	uint64_t left = c->end - c->pos;
	size_t n = left < d->read_bytes ? (size_t)left : d->read_bytes;

	n -= n % d->page_bytes;
	if (!n) {
		if (left) {
			note_partial(d, i, c->pos, left);
			c->pos = c->end;
		}
		return 0;
	}
	if (!grow(&c->buf, &c->cap, d->read_bytes, err) ||
	    !wi_td_read(&d->td->file, c->pos, c->buf, n, "the data of a CPU", err))
		return -1;
	out->data = c->buf;
	out->bytes = n;
	out->consumed = n;
	out->pos = c->pos;
	out->pos_linear = true;
	c->pos += n;
	return 1;
}

/* The rest of a CPU's chunks cannot be found. */
static int chunks_end(struct wi_td_data *d, uint32_t i, const char *what, uint32_t in, uint32_t n,
		      struct wi_rb_block *out)
{
	struct cpu_data *c = &d->cpu[i];
	uint32_t cpu = d->b->cpu[i].cpu;

	out->gap = true;
	wi_damage_note(d->td->log, WI_DMG_CHUNK, cpu, c->pos,
		       "CPU %" PRIu32 ": rest of its data not used: %s: %" PRIu32 " bytes of %" PRIu32, cpu, what, in,
		       n);
	c->pos = c->end;
	c->chunks = 0;
	return 0;
}

static int spill_read(struct wi_td_data *d, uint32_t i, struct wi_rb_block *out, struct wi_err *err)
{
	struct cpu_data *c = &d->cpu[i];
	size_t n = c->spill_left < d->read_bytes ? c->spill_left : d->read_bytes;

	if (!grow(&c->buf, &c->cap, d->read_bytes, err))
		return -1;
	if (pread(d->spill_fd, c->buf, n, (off_t)c->spill_pos) != (ssize_t)n) {
		wi_err_set(err, WI_EIO, "temporary file cannot be read back: %s", strerror(errno));
		return -1;
	}
	c->spill_pos += n;
	c->spill_left -= n;
	out->data = c->buf;
	out->bytes = n;
	out->pos = c->chunk_pos;
	return 1;
}

/* Slots are as large as the largest chunk may be; the file is sparse. */
static int spill_chunk(struct wi_td_data *d, uint32_t i, size_t n, struct wi_rb_block *out, struct wi_err *err)
{
	struct cpu_data *c = &d->cpu[i];
	int fd;

	if (d->spill_fd < 0)
		d->spill_fd = wi_spool_file(err);
	fd = d->spill_fd;
	if (fd < 0)
		return -1;
	c->spill_pos = (uint64_t)i * WI_TD_CHUNK_MAX;
	for (size_t done = 0; done < n;) {
		ssize_t put = pwrite(fd, d->shared + done, n - done, (off_t)(c->spill_pos + done));

		if (put < 0 && errno == EINTR)
			continue;
		if (put <= 0) {
			wi_err_set(err, WI_EIO, "temporary file cannot be written: %s",
				   put < 0 ? strerror(errno) : "no space");
			return -1;
		}
		done += (size_t)put;
	}
	c->spill_left = n;
	return spill_read(d, i, out, err);
}

/* Inflates the chunk at d->in for CPU i. 1, -1, or 0: damaged. */
static int inflate_chunk(struct wi_td_data *d, uint32_t i, uint32_t in, uint32_t n, struct wi_rb_block *out,
			 struct wi_err *err)
{
	struct cpu_data *c = &d->cpu[i];
	size_t whole = n - n % d->page_bytes;

	if (d->kept - c->cap + n <= INFLATED_TOTAL) {
		size_t was = c->cap;

		if (!grow(&c->buf, &c->cap, n, err))
			return -1;
		d->kept += c->cap - was;
		if (!wi_td_inflate(&d->td->file, d->in, in, c->buf, n))
			return 0;
		out->data = c->buf;
		out->bytes = whole;
		return 1;
	}
	if (!grow(&d->shared, &d->shared_cap, n, err))
		return -1;
	if (!wi_td_inflate(&d->td->file, d->in, in, d->shared, n))
		return 0;
	return whole ? spill_chunk(d, i, whole, out, err) : 1;
}

static int next_chunk(struct wi_td_data *d, uint32_t i, struct wi_rb_block *out, struct wi_err *err)
{
	struct cpu_data *c = &d->cpu[i];
	uint32_t cpu = d->b->cpu[i].cpu;
	uint8_t head[8];

	if (c->spill_left)
		return spill_read(d, i, out, err);
	if (!c->started) {
		c->started = true;
		if (c->end - c->pos < 4)
			return c->end == c->pos
				       ? 0
				       : chunks_end(d, i, "no count of chunks", (uint32_t)(c->end - c->pos), 4, out);
		if (!wi_td_read(&d->td->file, c->pos, head, 4, "the data of a CPU", err))
			return -1;
		c->chunks = wi_get32(head, d->td->file.swap);
		c->pos += 4;
	}
	while (c->chunks) {
		if (c->end - c->pos < 8)
			return chunks_end(d, i, "data end inside a chunk's header", (uint32_t)(c->end - c->pos), 8,
					  out);
		if (!wi_td_read(&d->td->file, c->pos, head, 8, "the data of a CPU", err))
			return -1;
		uint32_t in = wi_get32(head, d->td->file.swap), n = wi_get32(head + 4, d->td->file.swap);

		if (in > c->end - c->pos - 8)
			return chunks_end(d, i, "chunk exceeds the data", (uint32_t)(c->end - c->pos - 8), in, out);
		if (!in || in > WI_TD_CHUNK_MAX || n > WI_TD_CHUNK_MAX)
			return chunks_end(d, i, "absurd size of a chunk", in, n, out);
		d->packed += in;
		d->unpacked += n;
		if (d->unpacked > INFLATED_FREE && d->unpacked / INFLATED_RATIO > d->packed)
			return chunks_end(d, i, "a trace is not compressed so much", in, n, out);
		if (!grow(&d->in, &d->in_cap, in, err) ||
		    !wi_td_read(&d->td->file, c->pos + 8, d->in, in, "the data of a CPU", err))
			return -1;
		c->chunk_pos = c->pos;
		c->pos += 8 + (uint64_t)in;
		c->chunks--;
		out->pos = c->chunk_pos;
		out->consumed += 8 + (uint64_t)in;

		int rc = inflate_chunk(d, i, in, n, out, err);
		if (rc < 0)
			return -1;
		if (rc == 0) {
			out->gap = true;
			wi_damage_note(d->td->log, WI_DMG_CHUNK, cpu, c->chunk_pos,
				       "CPU %" PRIu32 ": chunk skipped: %" PRIu32 " bytes do not inflate to %" PRIu32,
				       cpu, in, n);
			continue;
		}
		if (n % d->page_bytes)
			note_partial(d, i, c->chunk_pos, n % d->page_bytes);
		if (out->bytes)
			return 1;
	}
	return 0;
}

static int next_block(void *ctx, uint32_t i, struct wi_rb_block *out, struct wi_err *err)
{
	struct wi_td_data *d = ctx;
	bool gap = d->cpu[i].gap_next;
	int rc;

	d->cpu[i].gap_next = false;
	rc = d->b->compressed ? next_chunk(d, i, out, err) : next_plain(d, i, out, err);
	if (gap || (rc == 0 && (d->b->cpu[i].cut || d->cpu[i].gap_next)))
		out->gap = true;
	return rc;
}

static void rewind_all(void *ctx)
{
	start_all(ctx);
}

const struct wi_rb_stream_ops wi_td_data_ops = { .next_block = next_block, .rewind = rewind_all };
