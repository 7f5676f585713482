/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The events of a recording of the kernel's probes, in time order. */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "analyzer/truth/dat_priv.h"
#include "parsers/spool.h"

/* ---- file ---- */

static const char magic[] = "\x17\x08\x44tracing";

static bool is_trace_dat(const uint8_t *head, size_t len)
{
	return len >= sizeof(magic) - 1 && !memcmp(head, magic, sizeof(magic) - 1);
}

/* An fd at offset 0 of the unwrapped file; -1: err set. */
int wi_dat_open(const char *path, struct wi_err *err)
{
	struct wi_spool_in in = { .path = path, .max_bytes = WI_MAX_SPOOL_DEFAULT };
	struct wi_spool_out out = { .fd = -1 };
	uint8_t head[64];
	const char *wrapper;
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	long got = fd < 0 ? -1 : wi_read_full(fd, head, sizeof(head));

	if (got < 0) {
		wi_err_at(err, WI_EIO, path, WI_NO_OFFSET, "cannot be read: %s", strerror(errno));
		goto fail;
	}
	wrapper = wi_spool_wrapper(head, (size_t)got);
	if (lseek(fd, 0, SEEK_SET) != 0) {
		wi_err_at(err, WI_EIO, path, WI_NO_OFFSET, "cannot be read: %s", strerror(errno));
		goto fail;
	}
	if (!*wrapper)
		return fd;
	in.fd = fd;
	if (!wi_spool(&in, wrapper, &out, err))
		goto fail;
	close(fd);
	fd = out.fd;
	if (!*out.damage)
		return fd;
	wi_err_at(err, WI_EREFUSED, path, out.damage_at, "%s", out.damage);
fail:
	if (fd >= 0)
		close(fd);
	return -1;
}

bool wi_truth_dat_is(const char *path)
{
	struct wi_err ignored = { 0 };
	uint8_t head[64];
	struct stat st;
	long got;
	int fd;

	if (stat(path, &st) || !S_ISREG(st.st_mode)) /* looking would take it away */
		return false;
	fd = wi_dat_open(path, &ignored);
	if (fd < 0)
		return false;
	got = wi_read_full(fd, head, sizeof(head));
	close(fd);
	return got > 0 && is_trace_dat(head, (size_t)got);
}

/* ---- events ---- */

void wi_dat_reader_fini(struct reader *r)
{
	for (uint32_t c = 0; r->head && c < r->nr_cpus; c++)
		if (r->head[c])
			tracecmd_free_record(r->head[c]);
	free(r->head);
	if (r->in && r->in != r->top)
		tracecmd_close(r->in);
	if (r->top)
		tracecmd_close(r->top);
	*r = (struct reader){ 0 };
}

const char *wi_dat_event_name(const struct reader *r, const struct tep_record *rec, struct tep_event **event)
{
	*event = tep_find_event(r->tep, tep_data_type(r->tep, (struct tep_record *)rec));
	return *event && (*event)->name ? (*event)->name : "";
}

/* Does this buffer hold decisions? Leaves the heads at its start. */
static bool begin_buffer(struct reader *r, struct tracecmd_input *in)
{
	bool found = false;

	for (uint32_t c = 0; c < r->nr_cpus; c++) {
		struct tep_record *rec = tracecmd_read_cpu_first(in, (int)c);
		struct tep_event *event;

		while (rec && !found) {
			found = !strcmp(wi_dat_event_name(r, rec, &event), "strf");
			tracecmd_free_record(rec);
			rec = tracecmd_read_data(in, (int)c);
		}
		if (rec)
			tracecmd_free_record(rec);
	}
	for (uint32_t c = 0; found && c < r->nr_cpus; c++)
		r->head[c] = tracecmd_read_cpu_first(in, (int)c);
	return found;
}

bool wi_dat_reader_init(struct reader *r, const struct wi_truth_dat *t, struct wi_err *err)
{
	char self[64];
	int own, cpus, nr;

	*r = (struct reader){ 0 };
	snprintf(self, sizeof(self), "/proc/self/fd/%d", t->fd);
	own = open(self, O_RDONLY | O_CLOEXEC);
	if (own < 0)
		return wi_err_at(err, WI_EIO, t->path, WI_NO_OFFSET, "cannot be read: %s", strerror(errno));
	tracecmd_set_loglevel(TEP_LOG_NONE);
	r->top = tracecmd_open_fd(own, TRACECMD_FL_LOAD_NO_PLUGINS);
	if (!r->top) {
		close(own);
		return wi_err_at(err, WI_EREFUSED, t->path, WI_NO_OFFSET, "libtracecmd cannot read this file");
	}
	r->tep = tracecmd_get_tep(r->top);
	cpus = tep_get_cpus(r->tep);
	if (cpus <= 0 || cpus > (int)WI_MAX_CPUS)
		return wi_err_at(err, WI_EREFUSED, t->path, WI_NO_OFFSET, "impossible number of CPUs: %d", cpus);
	r->nr_cpus = (uint32_t)cpus;
	r->head = calloc(r->nr_cpus, sizeof(struct tep_record *));
	if (!r->head)
		return wi_err_nomem(err);
	nr = tracecmd_buffer_instances(r->top);
	for (int i = nr - 1; i >= -1 && !r->in; i--) {
		struct tracecmd_input *in = i < 0 ? r->top : tracecmd_buffer_instance_handle(r->top, i);

		if (in && begin_buffer(r, in))
			r->in = in;
		else if (in && in != r->top)
			tracecmd_close(in);
	}
	return r->in ||
	       wi_err_at(err, WI_EREFUSED, t->path, WI_NO_OFFSET,
			 "is a trace.dat, but holds no probe event strf (the entry of select_task_rq_fair): no truth");
}

/* The next record; the caller frees it. NULL: the end. */
struct tep_record *wi_dat_reader_next(struct reader *r, uint32_t *cpu)
{
	struct tep_record *rec;
	uint32_t best = UINT32_MAX;

	for (uint32_t c = 0; c < r->nr_cpus; c++)
		if (r->head[c] && (best == UINT32_MAX || r->head[c]->ts < r->head[best]->ts))
			best = c;
	if (best == UINT32_MAX)
		return NULL;
	rec = r->head[best];
	r->head[best] = tracecmd_read_data(r->in, (int)best);
	*cpu = best;
	return rec;
}

bool wi_dat_value(const struct tep_format_field *f, const struct tep_record *rec, int64_t *out)
{
	unsigned long long v;

	if (f->offset < 0 || f->size < 0 || f->offset + f->size > (int)rec->size ||
	    tep_read_number_field((struct tep_format_field *)f, rec->data, &v))
		return false;
	*out = !(f->flags & TEP_FIELD_IS_SIGNED) ? (int64_t)v
	       : f->size == 4			 ? (int32_t)v
	       : f->size == 2			 ? (int16_t)v
	       : f->size == 1			 ? (int8_t)v
						 : (int64_t)v;
	return true;
}

bool wi_dat_field(struct tep_event *event, const struct tep_record *rec, const char *name, int64_t *out)
{
	const struct tep_format_field *f = tep_find_field(event, name);

	return f && wi_dat_value(f, rec, out);
}
