/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "analyzer/batch/talk.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "analyzer/batch/hash.h"

static bool write_all(int fd, const void *bytes, size_t nr)
{
	const uint8_t *at = bytes;

	while (nr) {
		ssize_t n = write(fd, at, nr);

		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0)
			return false;
		at += n;
		nr -= (size_t)n;
	}
	return true;
}

static bool say(int fd, enum wi_said said, const void *bytes, size_t nr)
{
	struct wi_bytes_out head = { .nr = 0 };
	bool ok;

	wi_bytes_put_u32(&head, said);
	wi_bytes_put_u64(&head, nr);
	ok = !head.failed && write_all(fd, head.at, head.nr) && write_all(fd, bytes, nr);
	free(head.at);
	return ok;
}

static bool say_text(int fd, enum wi_said said, const char *text)
{
	return say(fd, said, text, strlen(text));
}

static bool say_hash(int fd, const uint8_t sha256[WI_SHA256_BYTES], uint64_t bytes)
{
	struct wi_bytes_out o = { .nr = 0 };
	bool ok;

	wi_bytes_put_u64(&o, bytes);
	wi_bytes_put(&o, sha256, WI_SHA256_BYTES);
	ok = !o.failed && say(fd, WI_SAID_HASH, o.at, o.nr);
	free(o.at);
	return ok;
}

static bool told_to_go_on(int hear)
{
	char c;
	ssize_t n;

	while ((n = read(hear, &c, 1)) < 0 && errno == EINTR)
		;
	return n == 1;
}

/* A file that is still being written is no trace yet. Of a raw dump, the folder says nothing of its files. */
static bool unchanged(const struct wi_found *f)
{
	struct stat st;

	if (stat(f->path, &st))
		return false;
	return f->folder || ((uint64_t)st.st_size == f->size_bytes && (uint64_t)st.st_ino == f->ino &&
			     (int64_t)st.st_mtim.tv_sec * 1000000000 + st.st_mtim.tv_nsec == f->mtime_ns);
}

static enum wi_run_status status_of(const struct wi_err *err)
{
	struct wi_err nomem = { 0 };

	wi_err_nomem(&nomem);
	if (!strcmp(err->msg, nomem.msg))
		return WI_RUN_MEMORY;
	return err->code == WI_EREFUSED ? WI_RUN_REFUSED : err->code == WI_EDAMAGED ? WI_RUN_DAMAGED : WI_RUN_FAILED;
}

static bool say_bundle(int fd, struct wi_bundle *b, struct wi_err *err)
{
	struct wi_bytes_out o = { .nr = 0 };
	bool ok = wi_bundle_encode(b, &o, err);

	ok = ok && say(fd, WI_SAID_BUNDLE, o.at, o.nr);
	free(o.at);
	return ok;
}

/* The message without the file's name, which is not the trace's: other copies have others. */
static const char *nameless(const struct wi_err *err, const char *path)
{
	const char *rest = wi_err_reason(err, path), *at = err->msg;

	while (at < rest && strncmp(at, "@0x", 3) != 0)
		at++;
	return at < rest ? at + 1 : rest;
}

/* What it could not analyse is told by a bundle, too: without figures. */
static bool say_failure(int fd, const char *path, const struct wi_err *err)
{
	struct wi_err unused = { 0 };
	struct wi_bundle b;
	bool ok = wi_bundle_init(&b, &unused) &&
		  wi_bundle_outcome(&b, status_of(err), nameless(err, path), 0, (int)err->code, NULL, 0, &unused) &&
		  say_bundle(fd, &b, &unused);

	wi_bundle_fini(&b);
	return ok;
}

static int analyse(const struct wi_task *t, int fd)
{
	struct wi_err err = { 0 };
	bool no_trace = false, ok;
	struct wi_bundle b = { .nr_tags = 0 };

	ok = wi_bundle_init(&b, &err) && t->ops->analyse(t->ops->ctx, t->found->path, &b, &no_trace, &err);
	if (!unchanged(t->found)) {
		ok = say_text(fd, WI_SAID_NO_ROW, "it changed while it was read");
	} else if (no_trace) {
		ok = say_text(fd, WI_SAID_NO_TRACE, wi_err_reason(&err, t->found->path));
	} else {
		ok = ok && say_bundle(fd, &b, &err);
		if (!ok)
			ok = say_failure(fd, t->found->path, &err);
	}
	wi_bundle_fini(&b);
	return ok ? (int)err.code : WI_EIO;
}

int wi_talk_work(void *ctx, int fd, int hear)
{
	const struct wi_task *t = ctx;
	uint8_t sha256[WI_SHA256_BYTES];
	struct wi_err err = { 0 };
	uint64_t bytes;

	if (!t->hash)
		return analyse(t, fd);
	if (!wi_hash_trace(t->found->path, sha256, &bytes, &err)) {
		say_text(fd, WI_SAID_NO_ROW, wi_err_reason(&err, t->found->path));
		return (int)err.code;
	}
	if (!say_hash(fd, sha256, bytes) || !told_to_go_on(hear))
		return WI_OK;
	return analyse(t, fd);
}

/* ---- in the parent ---- */

bool wi_talk_next(const struct wi_worker *w, size_t *at, enum wi_said *said, const uint8_t **bytes, size_t *nr)
{
	struct wi_bytes_in in = { .at = w->in.at + *at, .nr = w->in.nr - *at };
	uint32_t kind;
	uint64_t len;

	if (in.nr < WI_SAID_HEAD)
		return false;
	kind = wi_bytes_get_u32(&in);
	len = wi_bytes_get_u64(&in);
	if (kind >= WI_NR_SAID || len > in.nr - in.pos)
		return false;
	*said = (enum wi_said)kind;
	*bytes = in.at + in.pos;
	*nr = (size_t)len;
	*at += WI_SAID_HEAD + (size_t)len;
	return true;
}

bool wi_talk_go_on(struct wi_worker *w)
{
	return write_all(w->to, "g", 1);
}
