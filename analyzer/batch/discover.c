/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "analyzer/batch/discover.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "analyzer/batch/hash.h"
#include "analyzer/batch/backlog.h"
#include "parsers/source.h"

#define ENTRIES_A_STEP 256

struct wi_discover {
	struct wi_discover_opts opts;
	struct wi_backlog *backlog;
	int64_t nr_roots;
	struct {
		DIR *dir; /* being read; NULL: none */
		struct wi_todo as;
	} folder;
	struct {
		FILE *in; /* NULL: no list, or at its end */
		const char *path;
		bool nul;
		uint64_t nr; /* names read */
	} list;
	struct wi_discover_count count;
	uint8_t head[WI_PROBE_BYTES];
};

const char *wi_finding_name(enum wi_finding finding)
{
	static const char *const names[] = {
#define X(name, text, meaning) text,
		WI_FINDINGS(X)
#undef X
	};

	return names[finding];
}

struct wi_discover *wi_discover_new(const struct wi_discover_opts *opts, struct wi_err *err)
{
	struct wi_discover *d = calloc(1, sizeof(*d));

	if (!d) {
		wi_err_nomem(err);
		return NULL;
	}
	d->opts = *opts;
	d->backlog = wi_backlog_new(err);
	if (d->backlog)
		return d;
	wi_discover_free(d);
	return NULL;
}

void wi_discover_free(struct wi_discover *d)
{
	if (!d)
		return;
	if (d->folder.dir)
		closedir(d->folder.dir);
	free(d->folder.as.path);
	if (d->list.in && d->list.in != stdin)
		fclose(d->list.in);
	wi_backlog_free(d->backlog);
	free(d);
}

bool wi_discover_add(struct wi_discover *d, const char *path, struct wi_err *err)
{
	const struct wi_todo t = { .root = d->nr_roots, .path = (char *)path };

	d->nr_roots++;
	return wi_backlog_add(d->backlog, &t, err);
}

bool wi_discover_list(struct wi_discover *d, const char *path, bool nul, struct wi_err *err)
{
	d->list.in = strcmp(path, "-") ? fopen(path, "re") : stdin;
	d->list.path = path;
	d->list.nul = nul;
	return d->list.in || wi_err_at(err, WI_EIO, path, WI_NO_OFFSET, "cannot open: %s", strerror(errno));
}

/* The next name of the list as one more root. */
static bool read_list(struct wi_discover *d, struct wi_err *err)
{
	int end = d->list.nul ? '\0' : '\n', c;
	char name[PATH_MAX];
	size_t n = 0;

	while ((c = getc(d->list.in)) != EOF && c != end) {
		if (n == sizeof(name) - 1 || !c)
			return wi_err_at(err, WI_EREFUSED, d->list.path, WI_NO_OFFSET,
					 "name %llu of the list %s: is this a list of files%s?",
					 (unsigned long long)d->list.nr + 1, c ? "is too long" : "holds a NUL",
					 c ? "" : ", and its names end at newlines");
		name[n++] = (char)c;
	}
	name[n] = '\0';
	if (c == EOF) {
		bool bad = ferror(d->list.in);

		if (bad)
			wi_err_at(err, WI_EIO, d->list.path, WI_NO_OFFSET, "read error: %s", strerror(errno));
		if (d->list.in != stdin)
			fclose(d->list.in);
		d->list.in = NULL;
		if (bad)
			return false;
	}
	d->list.nr += n > 0;
	return !n || wi_discover_add(d, name, err);
}

static void tell(struct wi_discover *d, const char *path, enum wi_finding finding, const char *why)
{
	d->count.nr[finding]++;
	if (d->opts.tell)
		d->opts.tell(d->opts.ctx, path, finding, why);
}

/* ---- folders ---- */

static bool open_folder(struct wi_discover *d, struct wi_todo *t, const struct stat *st, struct wi_err *err)
{
	bool first;

	if (!wi_backlog_folder(d->backlog, st->st_dev, st->st_ino, &first, err))
		return false;
	if (!first) {
		d->count.again++;
		return true;
	}
	d->folder.dir = opendir(t->path);
	if (!d->folder.dir) {
		tell(d, t->path, WI_FINDING_UNREADABLE, strerror(errno));
		return true;
	}
	d->count.folders++;
	d->folder.as = *t;
	t->path = NULL;
	return true;
}

static bool is_link(DIR *dir, const struct dirent *e)
{
	struct stat st;

	if (e->d_type != DT_UNKNOWN)
		return e->d_type == DT_LNK;
	return !fstatat(dirfd(dir), e->d_name, &st, AT_SYMLINK_NOFOLLOW) && S_ISLNK(st.st_mode);
}

static bool add_entry(struct wi_discover *d, const struct dirent *e, struct wi_err *err)
{
	const struct wi_todo *f = &d->folder.as;
	struct wi_todo t = { .root = f->root, .link = f->link || is_link(d->folder.dir, e), .below = f->below };
	size_t len = strlen(f->path);
	bool ok;

	if (!strcmp(e->d_name, ".") || !strcmp(e->d_name, ".."))
		return true;
	if (asprintf(&t.path, "%s%s%s", f->path, len && f->path[len - 1] == '/' ? "" : "/", e->d_name) < 0)
		return wi_err_nomem(err);
	if (!t.below)
		t.below = strlen(t.path) - strlen(e->d_name);
	ok = wi_backlog_add(d->backlog, &t, err);
	free(t.path);
	return ok;
}

static bool read_folder(struct wi_discover *d, struct wi_err *err)
{
	for (int i = 0; i < ENTRIES_A_STEP; i++) {
		struct dirent *e;

		errno = 0;
		e = readdir(d->folder.dir);
		if (e) {
			if (!add_entry(d, e, err))
				return false;
			continue;
		}
		if (errno)
			tell(d, d->folder.as.path, WI_FINDING_UNREADABLE, strerror(errno));
		closedir(d->folder.dir);
		free(d->folder.as.path);
		d->folder.dir = NULL;
		d->folder.as.path = NULL;
		break;
	}
	return true;
}

/* ---- files ---- */

static int64_t stamp(const struct timespec *ts)
{
	return (int64_t)ts->tv_sec * 1000000000 + ts->tv_nsec;
}

static bool found(struct wi_discover *d, const struct wi_todo *t, const struct stat *st, struct wi_err *err)
{
	const struct wi_found f = { .path = t->path,
				    .below = t->below,
				    .seq = d->count.nr[WI_FINDING_TRACE] + 1,
				    .dev = st->st_dev,
				    .ino = st->st_ino,
				    .size_bytes = (uint64_t)st->st_size,
				    .mtime_ns = stamp(&st->st_mtim),
				    .ctime_ns = stamp(&st->st_ctim),
				    .folder = S_ISDIR(st->st_mode) };

	d->count.nr[WI_FINDING_TRACE]++;
	d->count.bytes += f.folder ? 0 : f.size_bytes;
	return wi_backlog_found(d->backlog, &f, err);
}

/* A folder that is a raw dump as a whole. */
static bool look_at_dump(struct wi_discover *d, const struct wi_todo *t, const struct stat *st, struct wi_err *err)
{
	struct wi_err why = { 0 };
	uint32_t shard = d->opts.shard;
	bool first;

	if (!wi_backlog_folder(d->backlog, st->st_dev, st->st_ino, &first, err))
		return false;
	if (!first) {
		d->count.again++;
		return true;
	}
	if (d->opts.nr_shards && !wi_hash_shard_folder(t->path, d->opts.nr_shards, &shard, &why)) {
		tell(d, t->path, WI_FINDING_UNREADABLE, wi_err_reason(&why, t->path));
		return true;
	}
	if (shard == d->opts.shard)
		return found(d, t, st, err);
	tell(d, t->path, WI_FINDING_OTHER_SHARD, "");
	return true;
}

/* The database that is being written, or one of its companions. */
static bool is_own(const struct wi_discover *d, const char *path, const struct stat *st)
{
	static const char *const ends[] = { "", "-wal", "-shm", "-journal" };
	const char *base = strrchr(path, '/'), *own;
	bool is = false;

	if (!d->opts.own)
		return false;
	own = strrchr(d->opts.own, '/');
	base = base ? base + 1 : path;
	own = own ? own + 1 : d->opts.own;
	for (size_t i = 0; !is && !strncmp(base, own, strlen(own)) && i < sizeof(ends) / sizeof(*ends); i++) {
		struct stat mine;
		char *name;

		if (asprintf(&name, "%s%s", d->opts.own, ends[i]) < 0)
			return false;
		is = !stat(name, &mine) && mine.st_dev == st->st_dev && mine.st_ino == st->st_ino;
		free(name);
	}
	return is;
}

static bool judge(struct wi_discover *d, const struct wi_todo *t, int fd, const struct stat *st, size_t len,
		  struct wi_err *err)
{
	uint64_t bytes = st->st_size > 0 ? (uint64_t)st->st_size : len; /* the kernel's own files have no size */
	uint32_t shard = d->opts.shard;

	if (!len)
		tell(d, t->path, WI_FINDING_EMPTY, "");
	else if (wi_source_probe(d->head, len, bytes) == WI_PROBE_NO)
		tell(d, t->path, WI_FINDING_NOT_TRACE, "");
	else if (d->opts.nr_shards && !wi_hash_shard(fd, bytes, d->opts.nr_shards, &shard))
		tell(d, t->path, WI_FINDING_UNREADABLE, strerror(errno));
	else if (shard != d->opts.shard)
		tell(d, t->path, WI_FINDING_OTHER_SHARD, "");
	else
		return found(d, t, st, err);
	return true;
}

static bool look_at_file(struct wi_discover *d, const struct wi_todo *t, struct wi_err *err)
{
	int fd = open(t->path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
	struct stat st;
	size_t len = 0;
	ssize_t n = -1;
	bool ok = true;

	if (fd >= 0 && !fstat(fd, &st) && S_ISREG(st.st_mode)) {
		while ((n = read(fd, d->head + len, sizeof(d->head) - len)) > 0 || (n < 0 && errno == EINTR))
			len += n > 0 ? (size_t)n : 0;
		if (!n && !is_own(d, t->path, &st))
			ok = judge(d, t, fd, &st, len, err);
	} else if (fd >= 0) { /* another file has taken its place */
		errno = EINVAL;
	}
	if (n < 0)
		tell(d, t->path, WI_FINDING_UNREADABLE, strerror(errno));
	if (fd >= 0)
		close(fd);
	return ok;
}

static bool look(struct wi_discover *d, struct wi_todo *t, struct wi_err *err)
{
	struct stat st;

	if (stat(t->path, &st)) {
		tell(d, t->path, WI_FINDING_UNREADABLE, strerror(errno));
		return true;
	}
	if (S_ISDIR(st.st_mode))
		return wi_source_probe_dir(t->path) ? look_at_dump(d, t, &st, err) : open_folder(d, t, &st, err);
	if (S_ISREG(st.st_mode))
		return look_at_file(d, t, err);
	tell(d, t->path, WI_FINDING_SPECIAL, "");
	return true;
}

bool wi_discover_step(struct wi_discover *d, bool *done, struct wi_err *err)
{
	struct wi_todo t = { .path = NULL };
	bool got = false, ok;

	*done = d->count.done;
	if (d->folder.dir)
		return read_folder(d, err);
	if (!wi_backlog_next(d->backlog, &t, &got, err))
		return false;
	if (got) {
		ok = look(d, &t, err);
		free(t.path);
		return ok;
	}
	if (d->list.in)
		return read_list(d, err);
	*done = d->count.done = true;
	return true;
}

bool wi_discover_take(struct wi_discover *d, struct wi_found *out, bool *got, struct wi_err *err)
{
	return wi_backlog_take(d->backlog, out, got, err);
}

bool wi_discover_meet(struct wi_discover *d, const uint8_t sha256[32], const char *analysis, bool *met, bool *same,
		      struct wi_err *err)
{
	return wi_backlog_meet(d->backlog, sha256, analysis, met, same, err);
}

struct wi_discover_count wi_discover_count(const struct wi_discover *d)
{
	return d->count;
}
