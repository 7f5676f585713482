/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Finds the format of a trace by its content, unwraps it where needed and hands it to the parser of that format.
 */
#include "parsers/source.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "parsers/refuse.h"
#include "parsers/spool.h"

#define HEAD_BYTES WI_SPOOL_LOOK_BYTES

struct wi_source {
	int fd; /* what the parser reads; owned; -1: none */
	char *path;
	const struct wi_parser_ops *ops;
	void *parser;
	struct wi_source_info parsed; /* as the parser fills it */
	struct wi_source_info shown; /* the same with the damage of the wrapper in front; used only when there is any */
	struct wi_damage wrapper_damage;
	struct wi_damage *merged;
	bool has_wrapper_damage;
};

struct opening {
	const struct wi_open_opts *opts;
	struct wi_source *src;
	struct stat st;
	uint8_t *head;
	size_t head_len;
	uint64_t bytes; /* of what the parser sees */
	const char *wrapper;
};

static const struct wi_parser_ops *const probed[] = { &wi_tracedat_ops, &wi_text_ops, &wi_rawdump_ops };

static const struct wi_parser_ops *probe(const uint8_t *head, size_t len, uint64_t bytes)
{
	const struct wi_parser_ops *best = NULL;
	int best_score = 0;

	for (size_t i = 0; i < sizeof(probed) / sizeof(*probed); i++) {
		int score = probed[i]->probe(head, len, bytes);

		if (score > best_score) {
			best_score = score;
			best = probed[i];
		}
	}
	return best;
}

enum wi_probe wi_source_probe(const uint8_t *head, size_t len, uint64_t file_bytes)
{
	if (*wi_spool_wrapper(head, len))
		return WI_PROBE_WRAPPED;
	if (probe(head, len, file_bytes))
		return WI_PROBE_TRACE;
	return wi_refuse_foreign(head, len) ? WI_PROBE_FOREIGN : WI_PROBE_NO;
}

bool wi_source_probe_dir(const char *path)
{
	static const char *const below[] = { "header_page", "formats/header_page", "events/header_page" };
	int dir = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	bool is = false;

	for (size_t i = 0; dir >= 0 && !is && i < sizeof(below) / sizeof(*below); i++)
		is = !faccessat(dir, below[i], F_OK, 0);
	if (dir >= 0)
		close(dir);
	return is;
}

/* Refuses a file that no parser takes. */
static bool refuse(const struct opening *o, const uint8_t *head, size_t len, uint64_t bytes, struct wi_err *err)
{
	if (o->opts->no_trace && !wi_refuse_foreign(head, len))
		*o->opts->no_trace = true;
	return wi_refuse(o->src->path, head, len, bytes, o->wrapper, err);
}

static bool open_fd(struct opening *o, struct wi_err *err)
{
	struct wi_source *src = o->src;

	src->fd = !strcmp(src->path, "-") ? fcntl(STDIN_FILENO, F_DUPFD_CLOEXEC, 3)
					  : open(src->path, O_RDONLY | O_CLOEXEC);
	if (src->fd < 0)
		return wi_err_at(err, WI_EIO, src->path, WI_NO_OFFSET, "cannot open: %s", strerror(errno));
	if (fstat(src->fd, &o->st) < 0)
		return wi_err_at(err, WI_EIO, src->path, WI_NO_OFFSET, "cannot stat: %s", strerror(errno));
	return true;
}

static bool fill_head(struct opening *o, struct wi_err *err)
{
	long n = wi_read_full(o->src->fd, o->head, HEAD_BYTES);

	if (n < 0)
		return wi_err_at(err, WI_EIO, o->src->path, 0, "read error: %s", strerror(errno));
	o->head_len = (size_t)n;
	return true;
}

static bool rewind_fd(struct opening *o, struct wi_err *err)
{
	if (lseek(o->src->fd, 0, SEEK_SET) == 0)
		return true;
	return wi_err_at(err, WI_EIO, o->src->path, WI_NO_OFFSET, "cannot seek: %s", strerror(errno));
}

/* A file that can be read in place: regular, at its start, and not one of the kernel's that have no size. */
static bool in_place(const struct opening *o)
{
	return S_ISREG(o->st.st_mode) && o->st.st_size >= (off_t)o->head_len &&
	       lseek(o->src->fd, 0, SEEK_CUR) == (off_t)o->head_len;
}

/* What cannot be a trace is not unpacked to its end, which may be far: a pipe, /dev/zero, a file made to fill the disk.
 */
static bool may_be_trace(void *ctx, int fd, struct wi_err *err)
{
	const struct opening *o = ctx;
	uint8_t *head = malloc(HEAD_BYTES);
	ssize_t n = head ? pread(fd, head, HEAD_BYTES, 0) : -1;
	bool ok = n < 0 || probe(head, (size_t)n, (uint64_t)n) ||
		  refuse(o, head, (size_t)n, (uint64_t)n, err);

	free(head);
	return ok;
}

static bool unwrap(struct opening *o, bool is_file, struct wi_err *err)
{
	struct wi_source *src = o->src;
	struct wi_spool_out out;
	struct wi_spool_in in = {
		.fd = src->fd,
		.path = src->path,
		.head = o->head,
		.head_len = o->head_len,
		.total = is_file ? (uint64_t)o->st.st_size : 0,
		.max_bytes = o->opts->max_spool_bytes ? o->opts->max_spool_bytes : WI_MAX_SPOOL_DEFAULT,
		.progress = o->opts->progress,
		.progress_ctx = o->opts->progress_ctx,
		.look = may_be_trace,
		.look_ctx = o,
	};

	if (!wi_spool(&in, o->wrapper, &out, err))
		return false;
	close(src->fd);
	src->fd = out.fd;
	o->bytes = out.bytes;
	if (*out.damage) {
		src->has_wrapper_damage = true;
		src->wrapper_damage.offset = out.damage_at;
		snprintf(src->wrapper_damage.what, sizeof(src->wrapper_damage.what), "%s", out.damage);
	}
	if (!*o->wrapper)
		o->wrapper = "pipe";
	return fill_head(o, err) && rewind_fd(o, err);
}

/* Gets src->fd, head and bytes into the state in which a parser wants them. */
static bool prepare(struct opening *o, struct wi_err *err)
{
	bool is_file;

	o->wrapper = "";
	if (!open_fd(o, err))
		return false;
	if (S_ISDIR(o->st.st_mode))
		return true;
	if (!fill_head(o, err))
		return false;
	o->wrapper = wi_spool_wrapper(o->head, o->head_len);
	is_file = in_place(o);
	if (!*o->wrapper && is_file) {
		o->bytes = (uint64_t)o->st.st_size;
		return rewind_fd(o, err);
	}
	return unwrap(o, is_file, err);
}

/* A trace.dat whose version our reader does not know: the library may. Version text follows the magic. */
static bool unknown_version(const struct opening *o)
{
	static const char magic[] = "\x17\x08\x44tracing";
	const char *v = (const char *)o->head + sizeof(magic) - 1;

	if (o->head_len < sizeof(magic) + 3 || memcmp(o->head, magic, sizeof(magic) - 1))
		return false;
	return !((v[0] == '6' || v[0] == '7') && !v[1]);
}

static bool choose_ops(struct opening *o, struct wi_err *err)
{
	struct wi_source *src = o->src;

	src->ops = S_ISDIR(o->st.st_mode) ? &wi_rawdump_ops : probe(o->head, o->head_len, o->bytes);
	if (!src->ops)
		return refuse(o, o->head, o->head_len, o->bytes, err);
	if (src->ops != &wi_tracedat_ops && o->opts->reader == WI_READER_LIBTRACECMD)
		return wi_err_at(err, WI_EUSAGE, src->path, WI_NO_OFFSET,
				 "--reader=libtracecmd reads only trace.dat files: this is %s", src->ops->name);
	if (src->ops == &wi_tracedat_ops &&
	    (o->opts->reader == WI_READER_LIBTRACECMD || (o->opts->reader == WI_READER_AUTO && unknown_version(o))))
		src->ops = &wi_tracecmdlib_ops;
	return true;
}

/* A parser that finds too little does not know that its file was cut before it was unpacked. */
static void add_reason(struct wi_err *err, const char *reason)
{
	size_t n = strlen(err->msg);

	snprintf(err->msg + n, sizeof(err->msg) - n, "; the %s", reason);
}

struct wi_source *wi_source_open(const char *path, const struct wi_open_opts *opts, struct wi_names *names,
				 struct wi_err *err)
{
	static const struct wi_open_opts no_opts;
	struct wi_source *src = calloc(1, sizeof(*src));
	struct opening o = { .opts = opts ? opts : &no_opts, .src = src, .head = malloc(HEAD_BYTES) };
	struct wi_err own_err = { 0 };
	bool ok = false;

	if (!err)
		err = &own_err;
	if (!src || !o.head || !(src->path = strdup(path))) {
		wi_err_nomem(err);
		goto out;
	}
	src->fd = -1;
	if ((unsigned int)o.opts->reader > WI_READER_LIBTRACECMD) {
		wi_err_set(err, WI_EUSAGE, "no such reader: %d", (int)o.opts->reader);
		goto out;
	}
	if (!prepare(&o, err) || !choose_ops(&o, err))
		goto out;
	src->parsed = (struct wi_source_info){ .format = src->ops->name, .kernel = "", .arch = "", .clock = "" };
	src->parsed.path = src->path;
	src->parsed.wrapper = o.wrapper;
	src->parsed.file_bytes = o.bytes;
	src->parser = src->ops->open(src->fd, o.bytes, src->path, o.opts, names, &src->parsed, err);
	src->parsed.path = src->path;
	src->parsed.wrapper = o.wrapper;
	if (!S_ISDIR(o.st.st_mode))
		src->parsed.file_bytes = o.bytes;
	ok = src->parser != NULL;
	if (!ok)
		wi_err_at(err, WI_EREFUSED, src->path, WI_NO_OFFSET, "cannot be read as %s", src->ops->name);
out:
	if (!ok && src && src->has_wrapper_damage)
		add_reason(err, src->wrapper_damage.what);
	free(o.head);
	if (!ok) {
		wi_source_close(src);
		src = NULL;
	}
	return src;
}

int wi_source_next_batch(struct wi_source *src, struct wi_event *ev, int max, struct wi_err *err)
{
	return src->ops->next_batch(src->parser, ev, max, err);
}

bool wi_source_rewind(struct wi_source *src, struct wi_err *err)
{
	return src->ops->rewind(src->parser, err);
}

void wi_source_set_filter(struct wi_source *src, uint32_t type_bits)
{
	src->ops->set_filter(src->parser, type_bits);
}

uint32_t wi_source_comm_of(struct wi_source *src, int32_t pid)
{
	return src->ops->comm_of(src->parser, pid);
}

/* The parser's own list grows behind a pointer that may move, so the list with one more in front is made on demand. */
const struct wi_source_info *wi_source_info(const struct wi_source *source)
{
	struct wi_source *src = (struct wi_source *)source;
	struct wi_damage *merged;

	if (!src->has_wrapper_damage)
		return &src->parsed;
	src->shown = src->parsed;
	merged = realloc(src->merged, (src->parsed.nr_damage + 1) * sizeof(*merged));
	if (!merged)
		return &src->parsed;
	src->merged = merged;
	merged[0] = src->wrapper_damage;
	if (src->parsed.nr_damage)
		memcpy(merged + 1, src->parsed.damage, src->parsed.nr_damage * sizeof(*merged));
	src->shown.damage = merged;
	src->shown.nr_damage = src->parsed.nr_damage + 1;
	return &src->shown;
}

void wi_source_close(struct wi_source *src)
{
	if (!src)
		return;
	if (src->parser)
		src->ops->close(src->parser);
	if (src->fd >= 0)
		close(src->fd);
	free(src->merged);
	free(src->path);
	free(src);
}
