/* SPDX-License-Identifier: GPL-2.0-or-later */
/* trace.dat through our own reader: container (tracedat_head.h), pages (ringbuf_stream.h), facts for the report. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "analyzer/base/cpumask.h"
#include "parsers/ringbuf_stream.h"
#include "parsers/tracedat_choose.h"
#include "parsers/tracedat_cmdlines.h"
#include "parsers/tracedat_data.h"
#include "parsers/tracedat_head.h"

struct tracedat {
	struct wi_td td;
	struct wi_damage_log log;
	struct wi_rb_layout layout; /* of the chosen buffer */
	const struct wi_td_buffer *buffer;
	struct wi_td_data *data;
	struct wi_rb_streams *streams;
	struct wi_names *names;
	struct wi_td_cmdlines cmdlines;
	struct wi_cpu_info *cpu_info;
	struct wi_buffer_info *buffer_info;
	uint32_t *stream_cpu;
	char format[64];
	/* set when libtracecmd reads the file in our place */
	const struct wi_parser_ops *instead;
	void *instead_self;
};

static int probe(const uint8_t *head, size_t len, uint64_t file_bytes)
{
	static const uint8_t magic[10] = { 0x17, 0x08, 0x44, 't', 'r', 'a', 'c', 'i', 'n', 'g' };

	(void)file_bytes;
	return len >= sizeof(magic) && !memcmp(head, magic, sizeof(magic)) ? 100 : 0;
}

static void fill_cpu_info(struct tracedat *t, uint32_t nr_cpus)
{
	for (uint32_t i = 0; i < nr_cpus; i++)
		t->cpu_info[i].first_pid = -1;
	for (uint32_t i = 0; i < t->buffer->nr_cpus; i++)
		t->cpu_info[t->buffer->cpu[i].cpu].bytes = t->buffer->cpu[i].bytes;
	for (uint32_t i = 0; i < t->td.nr_stats; i++) {
		const struct wi_td_stat *s = &t->td.stat[i];

		if (s->cpu >= nr_cpus || strcmp(s->buffer, t->buffer->name) != 0)
			continue;
		if (s->end > t->td.time.end)
			t->td.time.end = s->end;
		t->cpu_info[s->cpu].overrun = s->overrun;
		t->cpu_info[s->cpu].lost = s->dropped;
	}
}

static bool fill_info(struct tracedat *t, struct wi_source_info *info, struct wi_err *err)
{
	struct wi_td *td = &t->td;

	t->cpu_info = calloc(td->cpu_count ? td->cpu_count : 1, sizeof(*t->cpu_info));
	t->buffer_info = calloc(td->nr_buffers, sizeof(*t->buffer_info));
	t->stream_cpu = calloc(t->buffer->nr_cpus ? t->buffer->nr_cpus : 1, sizeof(*t->stream_cpu));
	if (!t->cpu_info || !t->buffer_info || !t->stream_cpu)
		return wi_err_nomem(err);
	for (uint32_t i = 0; i < td->nr_buffers; i++)
		t->buffer_info[i] =
			(struct wi_buffer_info){ td->buffer[i].name, td->buffer[i].bytes, &td->buffer[i] == t->buffer };
	for (uint32_t i = 0; i < t->buffer->nr_cpus; i++)
		t->stream_cpu[i] = t->buffer->cpu[i].cpu;
	fill_cpu_info(t, td->cpu_count);

	snprintf(t->format, sizeof(t->format), "trace.dat v%" PRIu32 "%s%s", td->version,
		 td->file.codec == WI_TD_NONE ? "" : " ", td->file.codec == WI_TD_NONE ? "" : td->codec_name);
	info->format = t->format;
	info->kernel = td->kernel ? td->kernel : "";
	info->arch = td->arch ? td->arch : "";
	info->clock = td->time.mult			      ? "tsc2nsec"
		      : t->buffer->clock && *t->buffer->clock ? t->buffer->clock
		      : td->clock			      ? td->clock
							      : "";
	info->time_res_ns = 1;
	info->nr_cpus = td->cpu_count;
	info->big_endian = td->big_endian;
	info->long_size = td->long_size;
	info->page_size = t->layout.page_bytes;
	info->cpu = t->cpu_info;
	info->buffers = t->buffer_info;
	info->nr_buffers = td->nr_buffers;
	info->looks_ahead = true;
	return true;
}

static bool open_streams(struct tracedat *t, const struct wi_open_opts *opts, struct wi_source_info *info,
			 struct wi_err *err)
{
	struct wi_rb_streams_cfg cfg = {
		.layout = &t->layout,
		.formats = t->td.formats,
		.clock = &t->td.time,
		.names = t->names,
		.info = info,
		.cpu_info = t->cpu_info,
		.log = &t->log,
		.ops = &wi_td_data_ops,
		.cpu = t->stream_cpu,
		.nr_streams = t->buffer->nr_cpus,
		.total_bytes = t->buffer->bytes,
		.progress = opts->progress,
		.progress_ctx = opts->progress_ctx,
	};

	t->data = wi_td_data_new(&t->td, t->buffer, t->layout.page_bytes, err);
	if (!t->data)
		return false;
	cfg.ctx = t->data;
	t->streams = wi_rb_streams_open(&cfg, err);
	return t->streams != NULL;
}

static void close_file(void *self)
{
	struct tracedat *t = self;

	if (t->instead)
		t->instead->close(t->instead_self);
	wi_rb_streams_close(t->streams);
	wi_td_data_free(t->data);
	wi_td_cmdlines_fini(&t->cmdlines);
	free(t->cpu_info);
	free(t->buffer_info);
	free(t->stream_cpu);
	wi_td_fini(&t->td);
	free(t);
}

static bool open_own(struct tracedat *t, int fd, uint64_t file_bytes, const char *path, const struct wi_open_opts *opts,
		     struct wi_source_info *info, struct wi_err *err)
{
	wi_damage_init(&t->log, info);
	t->td.file.fd = fd;
	t->td.file.bytes = file_bytes;
	t->td.file.path = path;
	t->td.log = &t->log;
	if (!wi_td_open(&t->td, err))
		return false;
	t->buffer = wi_td_choose_buffer(&t->td, opts->buffer, err);
	if (!t->buffer || !wi_td_buffer_layout(&t->td, t->buffer, &t->layout, err))
		return false;
	return fill_info(t, info, err) && open_streams(t, opts, info, err);
}

static void *open_file(int fd, uint64_t file_bytes, const char *path, const struct wi_open_opts *opts,
		       struct wi_names *names, struct wi_source_info *info, struct wi_err *err)
{
	struct tracedat *t = calloc(1, sizeof(*t));

	if (!t) {
		wi_err_nomem(err);
		return NULL;
	}
	t->names = names;
	if (open_own(t, fd, file_bytes, path, opts, info, err))
		return t;
	if (t->td.unknown && opts->reader == WI_READER_AUTO) {
		struct wi_err theirs = { 0 };

		t->instead_self = wi_tracecmdlib_ops.open(fd, file_bytes, path, opts, names, info, &theirs);
		if (t->instead_self) {
			t->instead = &wi_tracecmdlib_ops;
			err->code = WI_OK;
			err->msg[0] = '\0';
			return t;
		}
	}
	info->damage = NULL;
	info->nr_damage = 0;
	close_file(t);
	return NULL;
}

static int next_batch(void *self, struct wi_event *ev, int max, struct wi_err *err)
{
	struct tracedat *t = self;

	if (t->instead)
		return t->instead->next_batch(t->instead_self, ev, max, err);
	return wi_rb_streams_next(t->streams, ev, max, err);
}

static bool rewind_file(void *self, struct wi_err *err)
{
	struct tracedat *t = self;

	return t->instead ? t->instead->rewind(t->instead_self, err) : wi_rb_streams_rewind(t->streams, err);
}

static void set_filter(void *self, uint32_t type_bits)
{
	struct tracedat *t = self;

	if (t->instead)
		t->instead->set_filter(t->instead_self, type_bits);
	else
		wi_rb_streams_set_filter(t->streams, type_bits);
}

static uint32_t comm_of(void *self, int32_t pid)
{
	struct tracedat *t = self;

	if (t->instead)
		return t->instead->comm_of(t->instead_self, pid);
	return wi_td_cmdlines_find(&t->cmdlines, &t->td, t->names, pid);
}

const struct wi_parser_ops wi_tracedat_ops = {
	.name = "trace.dat",
	.probe = probe,
	.open = open_file,
	.next_batch = next_batch,
	.rewind = rewind_file,
	.set_filter = set_filter,
	.comm_of = comm_of,
	.close = close_file,
};
