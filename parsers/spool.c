/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "parsers/spool.h"

#include <archive.h>
#include <archive_entry.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define CHUNK_BYTES (256u << 10)

const char *wi_spool_wrapper(const uint8_t *head, size_t len)
{
	static const struct {
		const char *name, *magic;
		size_t len;
	} wrappers[] = {
		{ "gz", "\x1f\x8b", 2 },
		{ "xz",
		  "\xfd"
		  "7zXZ\0",
		  6 },
		{ "zst", "\x28\xb5\x2f\xfd", 4 },
		{ "bz2", "BZh", 3 },
	};

	for (size_t i = 0; i < sizeof(wrappers) / sizeof(*wrappers); i++) {
		if (len < wrappers[i].len || memcmp(head, wrappers[i].magic, wrappers[i].len))
			continue;
		if (wrappers[i].len == 3 && (len < 10 || memcmp(head + 4, "1AY&SY", 6)))
			continue;
		return wrappers[i].name;
	}
	/* pzstd and seekable zstd files begin with a skippable frame */
	if (len >= 4 && (head[0] & 0xf0) == 0x50 && !memcmp(head + 1, "\x2a\x4d\x18", 3))
		return "zst";
	return "";
}

long wi_read_full(int fd, void *buf, size_t len)
{
	size_t got = 0;

	while (got < len) {
		ssize_t n = read(fd, (char *)buf + got, len - got);

		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return -1;
		if (!n)
			break;
		got += (size_t)n;
	}
	return (long)got;
}

bool wi_write_full(int fd, const void *buf, size_t len)
{
	size_t done = 0;

	while (done < len) {
		ssize_t n = write(fd, (const char *)buf + done, len - done);

		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0)
			return false;
		done += (size_t)n;
	}
	return true;
}

int wi_spool_file(struct wi_err *err)
{
	const char *dir = getenv("TMPDIR");
	char path[4096];
	int fd;

	if (!dir || !*dir)
		dir = P_tmpdir;
	fd = open(dir, O_TMPFILE | O_RDWR | O_CLOEXEC, 0600);
	if (fd >= 0)
		return fd;
	if (snprintf(path, sizeof(path), "%s/wakeif-XXXXXX", dir) < (int)sizeof(path)) {
		fd = mkostemp(path, O_CLOEXEC);
		if (fd >= 0) {
			unlink(path);
			return fd;
		}
	}
	wi_err_at(err, WI_EIO, dir, WI_NO_OFFSET, "no temporary file could be made there ($TMPDIR): %s",
		  strerror(errno));
	return -1;
}

struct feed {
	const struct wi_spool_in *in;
	uint64_t done;
	bool head_given;
	int read_errno;
	uint8_t buf[CHUNK_BYTES];
};

/* Next bytes of the input: the head first, then the descriptor. 0 at the end, -1 on error. */
static long feed_next(struct feed *f, const uint8_t **data)
{
	ssize_t n;

	if (!f->head_given && f->in->head_len) {
		f->head_given = true;
		*data = f->in->head;
		f->done = f->in->head_len;
		return (long)f->in->head_len;
	}
	do {
		n = read(f->in->fd, f->buf, sizeof(f->buf));
	} while (n < 0 && errno == EINTR);
	if (n < 0) {
		f->read_errno = errno;
		return -1;
	}
	*data = f->buf;
	f->done += (uint64_t)n;
	if (f->in->progress && n)
		f->in->progress(f->in->progress_ctx, f->done, f->in->total);
	return n;
}

static la_ssize_t feed_archive(struct archive *a, void *ctx, const void **data)
{
	struct feed *f = ctx;
	long n = feed_next(f, (const uint8_t **)data);

	if (n < 0)
		archive_set_error(a, f->read_errno, "read error");
	return n;
}

static bool read_error(const struct feed *f, struct wi_err *err)
{
	return wi_err_at(err, WI_EIO, f->in->path, f->done, "read error: %s", strerror(f->read_errno));
}

static bool put(const struct feed *f, struct wi_spool_out *out, const void *data, size_t len, struct wi_err *err)
{
	if (len > f->in->max_bytes - out->bytes)
		return wi_err_at(err, WI_EIO, f->in->path, WI_NO_OFFSET,
				 "unpacked trace is larger than the limit of --max-spool: %" PRIu64 " bytes",
				 f->in->max_bytes);
	if (!wi_write_full(out->fd, data, len))
		return wi_err_at(err, WI_EIO, f->in->path, WI_NO_OFFSET,
				 "cannot write its unpacked copy to $TMPDIR after %" PRIu64 " bytes: %s", out->bytes,
				 strerror(errno));
	out->bytes += len;
	if (f->in->look && out->bytes >= WI_SPOOL_LOOK_BYTES && out->bytes - len < WI_SPOOL_LOOK_BYTES)
		return f->in->look(f->in->look_ctx, out->fd, err);
	return true;
}

static bool copy_plain(struct feed *f, struct wi_spool_out *out, struct wi_err *err)
{
	const uint8_t *data;
	long n;

	while ((n = feed_next(f, &data)) > 0)
		if (!put(f, out, data, (size_t)n, err))
			return false;
	return n < 0 ? read_error(f, err) : true;
}

static struct archive *archive_of(struct feed *f)
{
	struct archive *a = archive_read_new();

	if (!a)
		return NULL;
	archive_read_support_filter_gzip(a);
	archive_read_support_filter_xz(a);
	archive_read_support_filter_zstd(a);
	archive_read_support_filter_bzip2(a);
	archive_read_support_format_raw(a);
	archive_read_support_format_empty(a);
	archive_read_open(a, f, NULL, feed_archive, NULL); /* a failure shows at the first header */
	return a;
}

static void note_damage(struct wi_spool_out *out, const struct feed *f, struct archive *a)
{
	const char *why = archive_error_string(a);

	snprintf(out->damage, sizeof(out->damage), "compressed file is damaged or ends early: %.80s",
		 why ? why : "no reason given");
	out->damage_at = f->done;
}

/* Block by block: archive_read_data() would drop what it got when the next block is damaged. */
static bool decompress_blocks(struct feed *f, struct archive *a, struct wi_spool_out *out, struct wi_err *err)
{
	const void *data;
	size_t len;
	la_int64_t offset;
	int rc;

	while ((rc = archive_read_data_block(a, &data, &len, &offset)) == ARCHIVE_OK || rc == ARCHIVE_WARN)
		if (len && !put(f, out, data, len, err))
			return false;
	return rc == ARCHIVE_EOF;
}

static bool decompress(struct feed *f, const char *wrapper, struct wi_spool_out *out, struct wi_err *err)
{
	struct archive *a = archive_of(f);
	struct archive_entry *entry;
	bool ok = false;
	int rc;

	if (!a)
		return wi_err_nomem(err);
	rc = archive_read_next_header(a, &entry);
	if (rc == ARCHIVE_EOF) {
		ok = true;
		goto out;
	}
	if (rc == ARCHIVE_OK || rc == ARCHIVE_WARN)
		ok = decompress_blocks(f, a, out, err);
	if (ok || err->code)
		goto out;
	if (f->read_errno) {
		read_error(f, err);
		goto out;
	}
	note_damage(out, f, a);
	ok = out->bytes > 0;
	if (!ok)
		wi_err_at(err, WI_EREFUSED, f->in->path, WI_NO_OFFSET,
			  "not a trace: nothing could be unpacked from the .%s file: %s", wrapper, out->damage);
out:
	archive_read_free(a);
	return ok;
}

bool wi_spool(const struct wi_spool_in *in, const char *wrapper, struct wi_spool_out *out, struct wi_err *err)
{
	struct feed *f = calloc(1, sizeof(*f));
	bool ok = false;

	memset(out, 0, sizeof(*out));
	out->fd = -1;
	if (!f)
		return wi_err_nomem(err);
	f->in = in;
	out->fd = wi_spool_file(err);
	if (out->fd < 0)
		goto out;
	ok = *wrapper ? decompress(f, wrapper, out, err) : copy_plain(f, out, err);
	if (ok && lseek(out->fd, 0, SEEK_SET) < 0)
		ok = wi_err_at(err, WI_EIO, in->path, WI_NO_OFFSET, "cannot rewind its unpacked copy: %s",
			       strerror(errno));
out:
	if (!ok && out->fd >= 0) {
		close(out->fd);
		out->fd = -1;
	}
	free(f);
	return ok;
}
