/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "parsers/rawdump_files.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <archive.h>
#include <archive_entry.h>

#include "analyzer/base/cpumask.h"
#include "parsers/evfmt.h"
#include "parsers/spool.h"

#define DEPTH_MAX 12
#define FILES_MAX 1000000u
#define SMALL_MAX (256u << 10)
#define CMDLINES_MAX (16u << 20)

enum what { NOTHING, CPU_DATA, FORMAT, HEADER_PAGE, HEADER_EVENT, CMDLINES, CLOCK, UNAME, STATS };

/* Where a file's bytes come from. */
struct content {
	int fd; /* a file of a directory */
	struct archive *tar;
	uint64_t bytes;
};

void wi_raw_files_fini(struct wi_raw_files *f)
{
	for (uint32_t i = 0; i < f->nr_cpus; i++) {
		if (f->cpu[i].fd >= 0)
			close(f->cpu[i].fd);
		free(f->cpu[i].path);
	}
	for (uint32_t i = 0; i < f->nr_formats; i++) {
		free(f->format[i].system);
		free(f->format[i].path);
		free(f->format[i].text);
	}
	for (uint32_t i = 0; i < f->nr_stats; i++)
		free(f->stat[i].text);
	free(f->cpu);
	free(f->format);
	free(f->stat);
	free(f->header_page);
	free(f->header_event);
	free(f->cmdlines);
	free(f->clock);
	free(f->uname);
	if (f->spool >= 0)
		close(f->spool);
	memset(f, 0, sizeof(*f));
	f->spool = -1;
}

/* "cpu12" -> 12. */
static bool cpu_name(const char *s, size_t len, uint32_t *cpu)
{
	uint32_t n = 0;

	if (len < 4 || len > 9 || memcmp(s, "cpu", 3) != 0)
		return false;
	for (size_t i = 3; i < len; i++) {
		if (s[i] < '0' || s[i] > '9')
			return false;
		n = n * 10 + (uint32_t)(s[i] - '0');
	}
	*cpu = n;
	return true;
}

struct part {
	const char *s;
	size_t len;
};

/* n-th component of a path from its end; empty if there is none. */
static struct part component(const char *path, int from_end)
{
	const char *end = path + strlen(path), *start = end;

	for (;;) {
		while (start > path && start[-1] != '/')
			start--;
		if (!from_end--)
			return (struct part){ start, (size_t)(end - start) };
		if (start == path)
			return (struct part){ "", 0 };
		end = --start;
	}
}

static bool is(struct part p, const char *name)
{
	return strlen(name) == p.len && !memcmp(p.s, name, p.len);
}

static enum what classify(const char *path, uint32_t *cpu)
{
	struct part base = component(path, 0), parent = component(path, 1);
	const char *dot = memrchr(base.s, '.', base.len);

	if (is(base, "format"))
		return FORMAT;
	if (is(base, "header_page"))
		return HEADER_PAGE;
	if (is(base, "header_event"))
		return HEADER_EVENT;
	if (is(base, "saved_cmdlines"))
		return CMDLINES;
	if (is(base, "trace_clock"))
		return CLOCK;
	if (is(base, "uname") || is(base, "uname.txt"))
		return UNAME;
	if (is(base, "stats") && cpu_name(parent.s, parent.len, cpu))
		return STATS;
	if (is(base, "trace_pipe_raw") && cpu_name(parent.s, parent.len, cpu))
		return CPU_DATA;
	if (cpu_name(base.s, base.len, cpu))
		return CPU_DATA;
	if (dot && cpu_name(dot + 1, base.len - (size_t)(dot + 1 - base.s), cpu))
		return CPU_DATA;
	return NOTHING;
}

/* Up to n bytes; -1: err set. */
static ssize_t take(const struct wi_raw_files *f, struct content *c, void *out, size_t n, struct wi_err *err)
{
	ssize_t got = c->tar ? archive_read_data(c->tar, out, n) : (ssize_t)wi_read_full(c->fd, out, n);

	if (got < 0)
		wi_err_at(err, c->tar ? WI_EREFUSED : WI_EIO, f->path, WI_NO_OFFSET, "cannot be read: %s",
			  c->tar ? archive_error_string(c->tar) : strerror(errno));
	return got;
}

/* Whole content as a NUL-terminated text; too long ones are left out. false: err set. */
static bool text(const struct wi_raw_files *f, struct content *c, size_t max, char **out, size_t *len,
		 struct wi_err *err)
{
	size_t cap = 4096, n = 0;
	char *buf = malloc(cap + 1);

	for (;;) {
		if (!buf)
			return wi_err_nomem(err);
		ssize_t got = take(f, c, buf + n, cap - n, err);

		if (got < 0) {
			free(buf);
			return false;
		}
		n += (size_t)got;
		if (!got)
			break;
		if (n < cap)
			continue;
		if (cap >= max) {
			free(buf);
			*out = NULL;
			return true;
		}
		cap *= 2;
		char *more = realloc(buf, cap + 1);
		if (!more)
			free(buf);
		buf = more;
	}
	buf[n] = '\0';
	free(*out);
	*out = buf;
	if (len)
		*len = n;
	return true;
}

static bool grow(void **array, uint32_t nr, uint32_t *cap, size_t size, struct wi_err *err)
{
	void *p;
	uint32_t want = *cap ? *cap * 2 : 16;

	if (nr < *cap)
		return true;
	p = realloc(*array, want * size);
	if (!p)
		return wi_err_nomem(err);
	*array = p;
	*cap = want;
	return true;
}

/* A tar's CPU data go into one unlinked file. */
static bool spool(struct wi_raw_files *f, struct content *c, struct wi_raw_cpu *cpu, struct wi_err *err)
{
	char buf[65536];
	ssize_t got;

	if (f->spool < 0)
		f->spool = wi_spool_file(err);
	if (f->spool < 0)
		return false;
	cpu->offset = f->spool_bytes;
	while ((got = take(f, c, buf, sizeof(buf), err)) > 0) {
		if ((uint64_t)got > f->max_spool - f->spool_bytes)
			return wi_err_at(err, WI_EIO, f->path, WI_NO_OFFSET,
					 "unpacked data exceed the limit of --max-spool: more than %" PRIu64 " bytes",
					 f->max_spool);
		if (!wi_write_full(f->spool, buf, (size_t)got))
			return wi_err_set(err, WI_EIO, "temporary file cannot be written: %s", strerror(errno));
		f->spool_bytes += (uint64_t)got;
		cpu->bytes += (uint64_t)got;
	}
	if (got < 0 && err->code == WI_EREFUSED) { /* what came before is whole */
		snprintf(f->damage, sizeof(f->damage), "tar ends early: %.100s", archive_error_string(c->tar));
		cpu->cut = true;
		*err = (struct wi_err){ 0 };
		return true;
	}
	return got == 0;
}

static bool add_cpu(struct wi_raw_files *f, const char *path, uint32_t nr, struct content *c, struct wi_err *err)
{
	struct wi_raw_cpu *cpu;

	if (nr >= WI_MAX_CPUS)
		return wi_err_at(err, WI_EREFUSED, f->path, WI_NO_OFFSET, "impossible CPU number: %.200s", path);
	for (uint32_t i = 0; i < f->nr_cpus; i++)
		if (f->cpu[i].cpu == nr)
			return wi_err_at(err, WI_EREFUSED, f->path, WI_NO_OFFSET,
					 "two files for CPU %" PRIu32 ": %.150s and %.150s", nr, f->cpu[i].path, path);
	if (!grow((void **)&f->cpu, f->nr_cpus, &f->cap_cpus, sizeof(*f->cpu), err))
		return false;
	cpu = &f->cpu[f->nr_cpus];
	*cpu = (struct wi_raw_cpu){ .cpu = nr, .fd = -1, .path = strdup(path) };
	if (!cpu->path)
		return wi_err_nomem(err);
	f->nr_cpus++;
	if (c->tar)
		return spool(f, c, cpu, err);
	cpu->fd = c->fd;
	cpu->bytes = c->bytes;
	c->fd = -1;
	return true;
}

static bool add_format(struct wi_raw_files *f, const char *path, struct content *c, struct wi_err *err)
{
	struct part system = component(path, 2);
	struct wi_raw_format *fmt;

	if (!grow((void **)&f->format, f->nr_formats, &f->cap_formats, sizeof(*f->format), err))
		return false;
	fmt = &f->format[f->nr_formats];
	memset(fmt, 0, sizeof(*fmt));
	if (!text(f, c, SMALL_MAX, &fmt->text, &fmt->len, err))
		return false;
	if (!fmt->text)
		return true;
	fmt->system = strndup(system.s, system.len);
	fmt->path = strdup(path);
	f->nr_formats++;
	if (!fmt->system || !fmt->path)
		return wi_err_nomem(err);
	/* thousands of formats that nobody reads are not kept; those of ftrace and one of any other are (common fields)
	 */
	if (f->nr_formats > 1 && strcmp(fmt->system, "ftrace") != 0 &&
	    !wi_evfmt_wanted(fmt->system, fmt->text, fmt->len)) {
		free(fmt->system);
		free(fmt->path);
		free(fmt->text);
		f->nr_formats--;
	}
	return true;
}

static bool add_stats(struct wi_raw_files *f, uint32_t cpu, struct content *c, struct wi_err *err)
{
	if (!grow((void **)&f->stat, f->nr_stats, &f->cap_stats, sizeof(*f->stat), err))
		return false;
	f->stat[f->nr_stats] = (struct wi_raw_stat){ .cpu = cpu };
	if (!text(f, c, SMALL_MAX, &f->stat[f->nr_stats].text, NULL, err))
		return false;
	f->nr_stats += f->stat[f->nr_stats].text != NULL;
	return true;
}

static bool add_file(struct wi_raw_files *f, const char *path, enum what what, uint32_t cpu, struct content *c,
		     struct wi_err *err)
{
	switch (what) {
	case CPU_DATA:
		return add_cpu(f, path, cpu, c, err);
	case FORMAT:
		return add_format(f, path, c, err);
	case HEADER_PAGE:
		return text(f, c, SMALL_MAX, &f->header_page, NULL, err);
	case HEADER_EVENT:
		return text(f, c, SMALL_MAX, &f->header_event, NULL, err);
	case CMDLINES:
		return text(f, c, CMDLINES_MAX, &f->cmdlines, &f->cmdlines_len, err);
	case CLOCK:
		return text(f, c, SMALL_MAX, &f->clock, NULL, err);
	case UNAME:
		return text(f, c, SMALL_MAX, &f->uname, NULL, err);
	case STATS:
		return add_stats(f, cpu, c, err);
	case NOTHING:
		break;
	}
	return true;
}

static bool count_file(struct wi_raw_files *f, struct wi_err *err)
{
	if (++f->files_seen > FILES_MAX)
		return wi_err_at(err, WI_EREFUSED, f->path, WI_NO_OFFSET, "no raw dump: more than %u files", FILES_MAX);
	return true;
}

static bool walk(struct wi_raw_files *f, int dir_fd, const char *prefix, int depth, struct wi_err *err);

static bool dir_entry(struct wi_raw_files *f, int dir_fd, const char *prefix, const char *name, int depth,
		      struct wi_err *err)
{
	struct content c = { .fd = -1 };
	struct stat st;
	char path[4096];
	uint32_t cpu = 0;
	enum what what;
	bool ok;

	if (!count_file(f, err))
		return false;
	if (fstatat(dir_fd, name, &st, AT_SYMLINK_NOFOLLOW) < 0 ||
	    snprintf(path, sizeof(path), "%s%s%s", prefix, *prefix ? "/" : "", name) >= (int)sizeof(path))
		return true;
	if (S_ISDIR(st.st_mode)) {
		int sub =
			depth < DEPTH_MAX ? openat(dir_fd, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC) : -1;

		return sub < 0 || walk(f, sub, path, depth + 1, err);
	}
	what = S_ISREG(st.st_mode) ? classify(path, &cpu) : NOTHING;
	if (what == NOTHING)
		return true;
	c.fd = openat(dir_fd, name, O_RDONLY | O_NOFOLLOW | O_CLOEXEC);
	c.bytes = (uint64_t)st.st_size;
	if (c.fd < 0)
		return wi_err_at(err, WI_EIO, f->path, WI_NO_OFFSET, "cannot open %.300s: %s", path, strerror(errno));
	ok = add_file(f, path, what, cpu, &c, err);
	if (c.fd >= 0)
		close(c.fd);
	return ok;
}

/* Takes dir_fd. */
static bool walk(struct wi_raw_files *f, int dir_fd, const char *prefix, int depth, struct wi_err *err)
{
	struct dirent **names;
	int n = scandirat(dir_fd, ".", &names, NULL, alphasort);
	bool ok = true;

	for (int i = 0; i < n; i++) {
		const char *name = names[i]->d_name;

		if (ok && strcmp(name, ".") != 0 && strcmp(name, "..") != 0)
			ok = dir_entry(f, dir_fd, prefix, name, depth, err);
		free(names[i]);
	}
	if (n >= 0)
		free(names);
	else
		ok = wi_err_at(err, WI_EIO, f->path, WI_NO_OFFSET, "directory cannot be read: %s", strerror(errno));
	close(dir_fd);
	return ok;
}

bool wi_raw_files_dir(struct wi_raw_files *f, int dir_fd, struct wi_err *err)
{
	int own = openat(dir_fd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);

	if (own < 0)
		return wi_err_at(err, WI_EIO, f->path, WI_NO_OFFSET, "directory cannot be read: %s", strerror(errno));
	return walk(f, own, "", 0, err);
}

static bool tar_entries(struct wi_raw_files *f, struct archive *tar, struct wi_err *err)
{
	struct archive_entry *e;
	int rc;

	while ((rc = archive_read_next_header(tar, &e)) == ARCHIVE_OK || rc == ARCHIVE_WARN) {
		const char *path = archive_entry_pathname(e);
		struct content c = { .fd = -1, .tar = tar };
		uint32_t cpu = 0;
		enum what what;

		if (!count_file(f, err))
			return false;
		if (!path || archive_entry_filetype(e) != AE_IFREG)
			continue;
		what = classify(path, &cpu);
		if (what != NOTHING && !add_file(f, path, what, cpu, &c, err))
			return false;
		if (*f->damage)
			return true;
	}
	if (rc != ARCHIVE_EOF && f->nr_cpus)
		snprintf(f->damage, sizeof(f->damage), "tar is damaged: %.100s", archive_error_string(tar));
	else if (rc != ARCHIVE_EOF)
		return wi_err_at(err, WI_EREFUSED, f->path, WI_NO_OFFSET, "tar is damaged: %s",
				 archive_error_string(tar));
	return true;
}

bool wi_raw_files_tar(struct wi_raw_files *f, int fd, struct wi_err *err)
{
	struct archive *tar = archive_read_new();
	bool ok;

	if (!tar)
		return wi_err_nomem(err);
	archive_read_support_format_tar(tar);
	if (lseek(fd, 0, SEEK_SET) < 0 || archive_read_open_fd(tar, fd, 65536) != ARCHIVE_OK)
		ok = wi_err_at(err, WI_EREFUSED, f->path, WI_NO_OFFSET, "tar cannot be read: %s",
			       archive_error_string(tar));
	else
		ok = tar_entries(f, tar, err);
	archive_read_free(tar);
	return ok;
}
