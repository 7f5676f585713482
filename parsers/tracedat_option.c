/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Options of a trace.dat whose meaning is the same in versions 6 and 7. What is not known is stepped over by its size.
 */
#include "parsers/tracedat_head.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "analyzer/base/cpumask.h"

enum {
	OPT_DATE = 1,
	OPT_CPUSTAT = 2,
	OPT_TRACECLOCK = 4,
	OPT_UNAME = 5,
	OPT_OFFSET = 7,
	OPT_CPUCOUNT = 8,
	OPT_TIME_SHIFT = 12,
	OPT_TSC2NSEC = 14
};

#define STATS_MAX 65536u
#define SHIFT_INTERPOLATE 1u

char *wi_td_chosen_clock(const char *text, size_t len)
{
	const char *open = memchr(text, '[', len);
	const char *close = open ? memchr(open, ']', len - (size_t)(open - text)) : NULL;

	if (close)
		return strndup(open + 1, (size_t)(close - open - 1));
	len = strnlen(text, len);
	while (len && (text[len - 1] == '\n' || text[len - 1] == ' '))
		len--;
	/* a list without a mark names no clock */
	return memchr(text, ' ', len) ? strdup("") : strndup(text, len);
}

static bool set_clock(struct wi_td *td, const char *data, uint32_t n, struct wi_err *err)
{
	if (!n || td->clock)
		return true;
	td->clock = wi_td_chosen_clock(data, n);
	return td->clock || wi_err_nomem(err);
}

/* "Linux host 6.1.0-57-amd64 x86_64": release and machine are the last two words. */
static bool set_uname(struct wi_td *td, char *data, struct wi_err *err)
{
	char *machine, *release;

	data[strcspn(data, "\n")] = '\0';
	machine = strrchr(data, ' ');
	if (!machine || td->kernel)
		return true;
	*machine++ = '\0';
	release = strrchr(data, ' ');
	release = release ? release + 1 : data;
	td->kernel = strdup(release);
	td->arch = strdup(machine);
	return (td->kernel && td->arch) || wi_err_nomem(err);
}

uint64_t wi_td_stat_number(const char *text, const char *label)
{
	size_t n = strlen(label);

	while (strncmp(text, label, n) != 0) {
		text = strchr(text, '\n');
		if (!text)
			return 0;
		text++;
	}
	return strtoull(text + n, NULL, 10);
}

/* "CPU: 3\nentries: 12\noverrun: 0\n...", or "\nBuffer: NAME\n\n" in front of the statistics of an instance. */
static bool add_stat(struct wi_td *td, const char *data, uint64_t offset, struct wi_err *err)
{
	const char *name = strstr(data, "Buffer: "), *cpu = strstr(data, "CPU: ");

	if (name && !cpu) {
		name += 8;
		free(td->stat_buffer);
		td->stat_buffer = strndup(name, strcspn(name, "\n"));
		return td->stat_buffer || wi_err_nomem(err);
	}
	if (!cpu)
		return true;

	uint64_t nr = strtoull(cpu + 5, NULL, 10);
	if (nr >= WI_MAX_CPUS || td->nr_stats >= STATS_MAX) {
		wi_damage_note(td->log, WI_DMG_HEAD, UINT32_MAX, offset, "CPU statistics not used: CPU %" PRIu64, nr);
		return true;
	}
	struct wi_td_stat *all = realloc(td->stat, (td->nr_stats + 1) * sizeof(*all));
	if (!all)
		return wi_err_nomem(err);
	td->stat = all;
	struct wi_td_stat *s = &all[td->nr_stats];

	memset(s, 0, sizeof(*s));
	s->buffer = strdup(td->stat_buffer ? td->stat_buffer : "");
	if (!s->buffer)
		return wi_err_nomem(err);
	s->cpu = (uint32_t)nr;
	s->entries = wi_td_stat_number(cpu, "entries: ");
	s->overrun = wi_td_stat_number(cpu, "overrun: ");
	s->dropped = wi_td_stat_number(cpu, "dropped events: ");
	s->read = wi_td_stat_number(cpu, "read events: ");
	s->end = wi_rb_stats_end(cpu);
	td->nr_stats++;
	return true;
}

struct bytes {
	const uint8_t *p;
	uint64_t left;
	bool swap;
};

static bool take32(struct bytes *b, uint32_t *v)
{
	if (b->left < 4)
		return false;
	*v = wi_get32(b->p, b->swap);
	b->p += 4;
	b->left -= 4;
	return true;
}

static bool take64(struct bytes *b, uint64_t *v)
{
	if (b->left < 8)
		return false;
	*v = wi_get64(b->p, b->swap);
	b->p += 8;
	b->left -= 8;
	return true;
}

static int by_time(const void *a, const void *b)
{
	const struct wi_rb_shift_sample *x = a, *y = b;

	return x->time < y->time ? -1 : x->time > y->time;
}

/* Samples of one CPU: all times, all offsets, all scalings. false: not enough bytes. */
static bool shift_samples(struct bytes *b, struct wi_rb_shift *sh, bool *nomem)
{
	uint32_t nr;

	if (!take32(b, &nr) || nr > b->left / 24)
		return false;
	sh->sample = calloc(nr ? nr : 1, sizeof(*sh->sample));
	if (!sh->sample) {
		*nomem = true;
		return false;
	}
	sh->nr = nr;
	for (uint32_t i = 0; i < nr; i++)
		take64(b, &sh->sample[i].time);
	for (uint32_t i = 0; i < nr; i++) {
		uint64_t v = 0;

		take64(b, &v);
		sh->sample[i].offset = (int64_t)v;
	}
	for (uint32_t i = 0; i < nr; i++)
		take64(b, &sh->sample[i].scaling);
	return true;
}

static void shift_sort(struct wi_rb_shift *sh)
{
	uint32_t keep = 0;

	if (sh->nr)
		qsort(sh->sample, sh->nr, sizeof(*sh->sample), by_time);
	for (uint32_t i = 0; i < sh->nr; i++)
		if (!i || sh->sample[i].time != sh->sample[i - 1].time)
			sh->sample[keep++] = sh->sample[i];
	sh->nr = keep;
}

/* Guest recordings: corrections of the time stamps to the host's clock, per CPU. */
static bool set_time_shift(struct wi_td *td, const char *data, uint32_t n, uint64_t offset, struct wi_err *err)
{
	struct bytes b = { (const uint8_t *)data, n, td->file.swap };
	uint64_t peer;
	uint32_t flags, nr = 0;
	bool ok = take64(&b, &peer) && take32(&b, &flags) && take32(&b, &nr) && nr <= WI_MAX_CPUS && nr <= b.left / 4,
	     nomem = false;

	if (!ok || td->shift || !nr)
		goto out;
	td->shift = calloc(nr, sizeof(*td->shift));
	if (!td->shift)
		return wi_err_nomem(err);
	td->time.nr_shift = nr;
	td->time.shift = td->shift;
	td->time.interpolate = (flags & SHIFT_INTERPOLATE) != 0;
	for (uint32_t i = 0; i < nr && ok; i++)
		ok = shift_samples(&b, &td->shift[i], &nomem);
	if (nomem)
		return wi_err_nomem(err);
	for (uint32_t i = 0; i < nr && ok && b.left; i++) /* newer writers: fraction bits */
		for (uint32_t k = 0; k < td->shift[i].nr && ok; k++)
			ok = take64(&b, &td->shift[i].sample[k].fraction);
	for (uint32_t i = 0; i < nr; i++)
		shift_sort(&td->shift[i]);
out:
	if (!ok)
		wi_damage_note(td->log, WI_DMG_HEAD, UINT32_MAX, offset,
			       "option TIME_SHIFT is damaged: %" PRIu32 " bytes for %" PRIu32 " CPUs", n, nr);
	return true;
}

static void set_tsc(struct wi_td *td, const char *data, uint32_t n)
{
	const uint8_t *p = (const uint8_t *)data;

	if (n < 16)
		return;
	td->time.mult = wi_get32(p, td->file.swap);
	td->time.tsc_shift = wi_get32(p + 4, td->file.swap);
}

static void set_cpu_count(struct wi_td *td, const char *data, uint32_t n, uint64_t offset)
{
	if (n != 4) { /* gpuvis stores thread groups under this number */
		td->odd_cpu_count = offset;
		return;
	}

	uint32_t nr = wi_get32((const uint8_t *)data, td->file.swap);

	if (nr > WI_MAX_CPUS)
		wi_damage_note(td->log, WI_DMG_HEAD, UINT32_MAX, offset,
			       "option CPUCOUNT is not used: %" PRIu32 " CPUs", nr);
	else if (nr > td->cpu_count)
		td->cpu_count = nr;
}

bool wi_td_option(struct wi_td *td, uint32_t id, char *data, uint32_t n, uint64_t offset, struct wi_err *err)
{
	switch (id) {
	case OPT_DATE: /* microseconds */
		td->time.offset_ns += (uint64_t)strtoll(data, NULL, 0) * 1000;
		return true;
	case OPT_OFFSET:
		td->time.offset_ns += (uint64_t)strtoll(data, NULL, 0);
		return true;
	case OPT_CPUSTAT:
		return add_stat(td, data, offset, err);
	case OPT_TRACECLOCK:
		return set_clock(td, data, n, err);
	case OPT_UNAME:
		return set_uname(td, data, err);
	case OPT_CPUCOUNT:
		set_cpu_count(td, data, n, offset);
		return true;
	case OPT_TIME_SHIFT:
		return set_time_shift(td, data, n, offset, err);
	case OPT_TSC2NSEC:
		set_tsc(td, data, n);
		return true;
	case WI_TD_OPT_BUFFER: /* version 6: offset and name of an instance; version 7's comes elsewhere */
		return n < 9 || !data[8] ||
		       wi_td_add_buffer(td, data + 8, wi_get64((const uint8_t *)data, td->file.swap), err);
	default:
		return true;
	}
}
