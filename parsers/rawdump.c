/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Raw per-CPU ring-buffer dumps with their formats, from a directory or a tar: a second input of the page walker. */
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "parsers/rawdump_files.h"
#include "parsers/ringbuf_stream.h"
#include "parsers/tracedat_cmdlines.h"
#include "parsers/tracedat_head.h"

#define READ_TOTAL (4u << 20)
#define READ_MAX (64u << 10)
#define PEEK_BYTES (64u << 10)
#define PAGE_DEFAULT 4096u

struct raw_stream {
	uint64_t pos;
	uint8_t *buf;
};

struct rawdump {
	struct wi_raw_files files;
	struct wi_rb_layout layout;
	struct wi_evfmt_set *formats;
	struct wi_rb_clock time;
	struct wi_damage_log log;
	struct wi_names *names;
	struct wi_td_cmdlines cmdlines;
	struct raw_stream *stream;
	uint32_t *stream_cpu;
	uint32_t read_bytes, nr_cpus;
	uint64_t total_bytes;
	struct wi_cpu_info *cpu_info;
	struct wi_buffer_info buffer_info;
	struct wi_rb_streams *streams;
	char *kernel, *arch, *clock;
	bool big_endian;
	uint32_t long_size;
};

/* A tar's first header has a sum over its bytes, with the sum itself read as blanks. */
static int probe(const uint8_t *head, size_t len, uint64_t file_bytes)
{
	uint32_t sum = 0, want = 0;

	(void)file_bytes;
	if (len < 512 || !head[0])
		return 0;
	for (int i = 0; i < 512; i++)
		sum += i >= 148 && i < 156 ? ' ' : head[i];
	for (int i = 148; i < 156 && (head[i] == ' ' || (head[i] >= '0' && head[i] <= '7')); i++)
		if (head[i] != ' ')
			want = want * 8 + (uint32_t)(head[i] - '0');
	return sum == want ? 90 : 0;
}

static void close_dump(void *self)
{
	struct rawdump *r = self;

	wi_rb_streams_close(r->streams);
	for (uint32_t i = 0; r->stream && i < r->files.nr_cpus; i++)
		free(r->stream[i].buf);
	free(r->stream);
	free(r->stream_cpu);
	free(r->cpu_info);
	free(r->kernel);
	free(r->arch);
	free(r->clock);
	wi_td_cmdlines_fini(&r->cmdlines);
	wi_evfmt_free(r->formats);
	wi_raw_files_fini(&r->files);
	free(r);
}

static ssize_t read_cpu(const struct rawdump *r, uint32_t i, uint64_t pos, uint8_t *out, size_t n)
{
	const struct wi_raw_cpu *c = &r->files.cpu[i];
	int fd = c->fd >= 0 ? c->fd : r->files.spool;
	size_t done = 0;

	if (pos >= c->bytes)
		return 0;
	if (n > c->bytes - pos)
		n = (size_t)(c->bytes - pos);
	while (done < n) {
		ssize_t got = pread(fd, out + done, n - done, (off_t)(c->offset + pos + done));

		if (got < 0 && errno == EINTR)
			continue;
		if (got < 0)
			return -1;
		if (!got)
			break;
		done += (size_t)got;
	}
	return (ssize_t)done;
}

static int next_block(void *ctx, uint32_t i, struct wi_rb_block *out, struct wi_err *err)
{
	struct rawdump *r = ctx;
	struct raw_stream *s = &r->stream[i];
	const struct wi_raw_cpu *c = &r->files.cpu[i];

	if (!s->buf)
		s->buf = malloc(r->read_bytes);
	if (!s->buf) {
		wi_err_nomem(err);
		return -1;
	}
	ssize_t got = read_cpu(r, i, s->pos, s->buf, r->read_bytes);
	if (got < 0) {
		wi_err_at(err, WI_EIO, c->path, s->pos, "read error: %s", strerror(errno));
		return -1;
	}
	size_t whole = (size_t)got - (size_t)got % r->layout.page_bytes;
	if (!whole) {
		if (got) {
			wi_damage_note(&r->log, WI_DMG_CHUNK, c->cpu, s->pos,
				       "CPU %" PRIu32 ": data end inside a page: %zd of %" PRIu32 " bytes", c->cpu, got,
				       r->layout.page_bytes);
			out->gap = true;
		}
		out->gap |= c->cut;
		s->pos = c->bytes;
		return 0;
	}
	out->data = s->buf;
	out->bytes = out->consumed = whole;
	out->pos = s->pos;
	out->pos_linear = true;
	s->pos += whole;
	return 1;
}

static void rewind_all(void *ctx)
{
	struct rawdump *r = ctx;

	for (uint32_t i = 0; i < r->files.nr_cpus; i++)
		r->stream[i].pos = 0;
}

static const struct wi_rb_stream_ops stream_ops = { .next_block = next_block, .rewind = rewind_all };

static int by_cpu(const void *a, const void *b)
{
	const struct wi_raw_cpu *x = a, *y = b;

	return x->cpu < y->cpu ? -1 : x->cpu > y->cpu;
}

/* First bytes of the first CPU that has any. */
static size_t peek(const struct rawdump *r, uint8_t *out, size_t n)
{
	for (uint32_t i = 0; i < r->files.nr_cpus; i++) {
		ssize_t got = read_cpu(r, i, 0, out, n);

		if (got > 0)
			return (size_t)got;
	}
	return 0;
}

/*
 * Nothing in a dump names its byte order, and header_page its page size only: the data decide. A dump without any data
 * is taken to be ours.
 */
static bool find_layout(struct rawdump *r, struct wi_err *err)
{
	const struct wi_raw_files *f = &r->files;
	struct wi_rb_layout best, l = { 0 };
	uint8_t *bytes = malloc(PEEK_BYTES);
	size_t best_score = 0, n;

	if (!bytes)
		return wi_err_nomem(err);
	n = peek(r, bytes, PEEK_BYTES);
	r->long_size = 8;
	for (uint32_t long_size = 8; long_size >= 4; long_size -= 4) {
		if (!wi_rb_layout_init(&l, f->header_page, f->header_page ? strlen(f->header_page) : 0, f->header_event,
				       f->header_event ? strlen(f->header_event) : 0, long_size, f->path, WI_NO_OFFSET,
				       err)) {
			free(bytes);
			return false;
		}
		l.page_bytes = l.header_bytes >= WI_RB_PAGE_MIN ? l.header_bytes : PAGE_DEFAULT;
		if (long_size == 8)
			r->layout = best = l;
		for (int swap = 0; swap < 2; swap++) {
			size_t score = wi_rb_plausible(&l, bytes, n, swap);

			if (score <= best_score)
				continue;
			best_score = score;
			best = l;
			r->big_endian = swap != (__BYTE_ORDER__ == __ORDER_BIG_ENDIAN__);
		}
	}
	free(bytes);
	r->layout = best;
	r->long_size = best.commit_size;
	return true;
}

static bool read_formats(struct rawdump *r, struct wi_err *err)
{
	const struct wi_raw_files *f = &r->files;

	r->formats = wi_evfmt_new(r->big_endian, r->long_size);
	if (!r->formats)
		return wi_err_nomem(err);
	for (uint32_t i = 0; i < f->nr_formats; i++)
		if (!wi_evfmt_claim_id(r->formats, f->format[i].system, f->format[i].text, f->format[i].len,
				       f->format[i].path, 0, err) ||
		    !wi_evfmt_add(r->formats, f->format[i].system, f->format[i].text, f->format[i].len,
				  f->format[i].path, 0, &r->log, err))
			return false;
	if (!r->formats->have_common)
		return wi_err_at(err, WI_EREFUSED, f->path, WI_NO_OFFSET,
				 "raw dump without usable event formats: %" PRIu32
				 " files SYSTEM/EVENT/format beside its data%s%s",
				 f->nr_formats, *f->damage ? "; " : "", f->damage);
	wi_evfmt_finish(r->formats, r->kernel ? r->kernel : "");
	return true;
}

static bool read_facts(struct rawdump *r, struct wi_err *err)
{
	const struct wi_raw_files *f = &r->files;
	char *end, *machine, *release;

	if (f->clock) {
		r->clock = wi_td_chosen_clock(f->clock, strlen(f->clock));
		if (!r->clock)
			return wi_err_nomem(err);
	}
	if (!f->uname)
		return true;
	/* uname -a is longer than the option of a trace.dat: the release is the third word, the machine no fixed one */
	end = f->uname + strcspn(f->uname, "\n");
	*end = '\0';
	release = strchr(f->uname, ' ');
	release = release ? strchr(release + 1, ' ') : NULL;
	machine = strrchr(f->uname, ' ');
	if (!release || machine <= release)
		return true;
	release++;
	r->kernel = strndup(release, strcspn(release, " "));
	r->arch = strchr(release, ' ') == machine ? strdup(machine + 1) : strdup("");
	return (r->kernel && r->arch) || wi_err_nomem(err);
}

static bool fill_info(struct rawdump *r, struct wi_source_info *info, bool tar, struct wi_err *err)
{
	const struct wi_raw_files *f = &r->files;

	r->nr_cpus = f->cpu[f->nr_cpus - 1].cpu + 1;
	r->cpu_info = calloc(r->nr_cpus, sizeof(*r->cpu_info));
	r->stream = calloc(f->nr_cpus, sizeof(*r->stream));
	r->stream_cpu = calloc(f->nr_cpus, sizeof(*r->stream_cpu));
	if (!r->cpu_info || !r->stream || !r->stream_cpu)
		return wi_err_nomem(err);
	for (uint32_t i = 0; i < r->nr_cpus; i++)
		r->cpu_info[i].first_pid = -1;
	for (uint32_t i = 0; i < f->nr_cpus; i++) {
		r->stream_cpu[i] = f->cpu[i].cpu;
		r->cpu_info[f->cpu[i].cpu].bytes = f->cpu[i].bytes;
		r->total_bytes += f->cpu[i].bytes;
	}
	for (uint32_t i = 0; i < f->nr_stats; i++) {
		if (f->stat[i].cpu >= r->nr_cpus)
			continue;
		r->cpu_info[f->stat[i].cpu].overrun = wi_td_stat_number(f->stat[i].text, "overrun: ");
		r->cpu_info[f->stat[i].cpu].lost = wi_td_stat_number(f->stat[i].text, "dropped events: ");
	}
	r->buffer_info = (struct wi_buffer_info){ .name = "", .bytes = r->total_bytes, .chosen = true };
	info->format = tar ? "raw ring-buffer dump (tar)" : "raw ring-buffer dump";
	info->kernel = r->kernel ? r->kernel : "";
	info->arch = r->arch ? r->arch : "";
	info->clock = r->clock ? r->clock : "";
	info->time_res_ns = 1;
	info->nr_cpus = r->nr_cpus;
	info->big_endian = r->big_endian;
	info->long_size = r->long_size;
	info->page_size = r->layout.page_bytes;
	info->cpu = r->cpu_info;
	info->buffers = &r->buffer_info;
	info->nr_buffers = 1;
	info->looks_ahead = true;
	return true;
}

static bool open_streams(struct rawdump *r, const struct wi_open_opts *opts, struct wi_source_info *info,
			 struct wi_err *err)
{
	uint32_t share = READ_TOTAL / r->files.nr_cpus, page = r->layout.page_bytes;
	struct wi_rb_streams_cfg cfg = {
		.layout = &r->layout,
		.formats = r->formats,
		.clock = &r->time,
		.names = r->names,
		.info = info,
		.cpu_info = r->cpu_info,
		.log = &r->log,
		.ops = &stream_ops,
		.ctx = r,
		.cpu = r->stream_cpu,
		.nr_streams = r->files.nr_cpus,
		.total_bytes = r->total_bytes,
		.progress = opts->progress,
		.progress_ctx = opts->progress_ctx,
	};

	if (share > READ_MAX)
		share = READ_MAX;
	r->read_bytes = share / page ? share / page * page : page;
	r->streams = wi_rb_streams_open(&cfg, err);
	return r->streams != NULL;
}

static bool collect(struct rawdump *r, int fd, bool tar, struct wi_err *err)
{
	struct wi_raw_files *f = &r->files;

	if (!(tar ? wi_raw_files_tar(f, fd, err) : wi_raw_files_dir(f, fd, err)))
		return false;
	if (!f->nr_cpus)
		return wi_err_at(err, WI_EREFUSED, f->path, WI_NO_OFFSET,
				 "no raw ring-buffer dump: no file named cpuN or cpuN/trace_pipe_raw among %" PRIu64
				 " entries",
				 f->files_seen);
	qsort(f->cpu, f->nr_cpus, sizeof(*f->cpu), by_cpu);
	if (*f->damage)
		wi_damage_note(&r->log, WI_DMG_CUT, UINT32_MAX, WI_NO_OFFSET, "%s", f->damage);
	return true;
}

static void *open_dump(int fd, uint64_t file_bytes, const char *path, const struct wi_open_opts *opts,
		       struct wi_names *names, struct wi_source_info *info, struct wi_err *err)
{
	struct rawdump *r = calloc(1, sizeof(*r));
	bool tar = file_bytes > 0;

	if (!r) {
		wi_err_nomem(err);
		return NULL;
	}
	r->names = names;
	r->files.path = path;
	r->files.spool = -1;
	r->files.max_spool = opts->max_spool_bytes ? opts->max_spool_bytes : WI_MAX_SPOOL_DEFAULT;
	wi_damage_init(&r->log, info);
	if (collect(r, fd, tar, err) && find_layout(r, err) && read_facts(r, err) && read_formats(r, err) &&
	    fill_info(r, info, tar, err) && open_streams(r, opts, info, err))
		return r;
	if (tar && opts->no_trace && !r->files.nr_cpus && err->code == WI_EREFUSED)
		*opts->no_trace = true; /* any other archive */
	info->damage = NULL;
	info->nr_damage = 0;
	close_dump(r);
	return NULL;
}

static int next_batch(void *self, struct wi_event *ev, int max, struct wi_err *err)
{
	struct rawdump *r = self;

	return wi_rb_streams_next(r->streams, ev, max, err);
}

static bool rewind_dump(void *self, struct wi_err *err)
{
	struct rawdump *r = self;

	return wi_rb_streams_rewind(r->streams, err);
}

static void set_filter(void *self, uint32_t type_bits)
{
	struct rawdump *r = self;

	wi_rb_streams_set_filter(r->streams, type_bits);
}

static uint32_t comm_of(void *self, int32_t pid)
{
	struct rawdump *r = self;

	if (!r->cmdlines.loaded && r->files.cmdlines)
		wi_td_cmdlines_parse(&r->cmdlines, r->names, r->files.cmdlines, r->files.cmdlines_len);
	return wi_td_cmdlines_find(&r->cmdlines, NULL, r->names, pid);
}

const struct wi_parser_ops wi_rawdump_ops = {
	.name = "raw dump",
	.probe = probe,
	.open = open_dump,
	.next_batch = next_batch,
	.rewind = rewind_dump,
	.set_filter = set_filter,
	.comm_of = comm_of,
	.close = close_dump,
};
