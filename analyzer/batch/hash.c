/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "analyzer/batch/hash.h"

#include <errno.h>
#include <fcntl.h>
#include <fts.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#define CHUNK (64u << 10)

static bool io_error(const char *path, const char *what, struct wi_err *err)
{
	return wi_err_at(err, WI_EIO, path, WI_NO_OFFSET, "%s: %s", what, strerror(errno));
}

#define WINDOW (4u << 20)

/* A tenth faster than to read it all. A file that is cut meanwhile ends this process: only for workers. */
static bool hash_mapped(int fd, uint64_t size, struct wi_sha256 *h)
{
	for (uint64_t at = 0; at < size; at += WINDOW) {
		size_t len = size - at < WINDOW ? (size_t)(size - at) : WINDOW;
		void *p = mmap(NULL, len, PROT_READ, MAP_SHARED | MAP_POPULATE, fd, (off_t)at);

		if (p == MAP_FAILED)
			return false;
		wi_sha256_update(h, p, len);
		munmap(p, len);
	}
	return true;
}

static bool hash_fd(int fd, const char *path, struct wi_sha256 *h, uint64_t *bytes, struct wi_err *err)
{
	uint8_t chunk[CHUNK];
	ssize_t n;

	*bytes = 0;
	for (;;) {
		n = read(fd, chunk, sizeof(chunk));
		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0)
			break;
		wi_sha256_update(h, chunk, (size_t)n);
		*bytes += (uint64_t)n;
	}
	return n == 0 || wi_err_at(err, WI_EIO, path, *bytes, "read error: %s", strerror(errno));
}

static int open_regular(const char *path, struct wi_err *err)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
	struct stat st;

	if (fd < 0) {
		io_error(path, "cannot open", err);
		return -1;
	}
	if (!fstat(fd, &st) && S_ISREG(st.st_mode))
		return fd;
	wi_err_at(err, WI_EIO, path, WI_NO_OFFSET, "not a regular file");
	close(fd);
	return -1;
}

/* Length first: no two sequences of texts are the same bytes. */
static void add_text(struct wi_sha256 *h, const char *text)
{
	uint64_t len = strlen(text);
	uint8_t head[8];

	for (int i = 0; i < 8; i++)
		head[i] = (uint8_t)(len >> (8 * i));
	wi_sha256_update(h, head, sizeof(head));
	wi_sha256_update(h, text, len);
}

static void add_number(struct wi_sha256 *h, uint64_t n)
{
	char text[24];

	snprintf(text, sizeof(text), "%llu", (unsigned long long)n);
	add_text(h, text);
}

static bool hash_file(const char *path, uint8_t out[WI_SHA256_BYTES], uint64_t *bytes, struct wi_err *err)
{
	int fd = open_regular(path, err);
	struct wi_sha256 h;
	bool ok;

	if (fd < 0)
		return false;
	wi_sha256_init(&h);
	ok = hash_fd(fd, path, &h, bytes, err);
	wi_sha256_final(&h, out);
	close(fd);
	return ok;
}

static int by_name(const FTSENT **a, const FTSENT **b)
{
	return strcmp((*a)->fts_name, (*b)->fts_name);
}

/* Every file below path in the order of names: its name and, by whole, its contents or only its size. */
static bool hash_folder(const char *path, bool whole, struct wi_sha256 *h, uint64_t *bytes, struct wi_err *err)
{
	size_t base = strlen(path);
	char *copy = strdup(path), *roots[2] = { copy, NULL };
	FTS *fts = copy ? fts_open(roots, FTS_PHYSICAL | FTS_NOCHDIR, by_name) : NULL;
	bool ok = true;
	FTSENT *e;

	*bytes = 0;
	if (!fts) {
		ok = copy ? io_error(path, "cannot open", err) : wi_err_nomem(err);
		free(copy);
		return ok;
	}
	while (ok && (errno = 0, e = fts_read(fts))) {
		uint8_t sum[WI_SHA256_BYTES];
		uint64_t size = (uint64_t)e->fts_statp->st_size;

		if (e->fts_info == FTS_DNR || e->fts_info == FTS_ERR || e->fts_info == FTS_NS) {
			errno = e->fts_errno;
			ok = io_error(e->fts_path, "cannot read", err);
		} else if (e->fts_info == FTS_F) {
			add_text(h, e->fts_path + base);
			ok = !whole || hash_file(e->fts_path, sum, &size, err);
			if (whole)
				wi_sha256_update(h, sum, sizeof(sum));
			else
				add_number(h, size);
			*bytes += size;
		}
	}
	if (ok && errno)
		ok = io_error(path, "cannot read", err);
	fts_close(fts);
	free(copy);
	return ok;
}

bool wi_hash_trace(const char *path, uint8_t out[WI_SHA256_BYTES], uint64_t *bytes, struct wi_err *err)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
	struct wi_sha256 h;
	struct stat st;
	bool mapped = false;

	if (fd >= 0 && !fstat(fd, &st) && S_ISREG(st.st_mode) && st.st_size > 0) {
		wi_sha256_init(&h);
		mapped = hash_mapped(fd, (uint64_t)st.st_size, &h);
		wi_sha256_final(&h, out);
		*bytes = (uint64_t)st.st_size;
	}
	if (fd >= 0)
		close(fd);
	return mapped || wi_hash_path(path, out, bytes, err);
}

bool wi_hash_path(const char *path, uint8_t out[WI_SHA256_BYTES], uint64_t *bytes, struct wi_err *err)
{
	struct wi_sha256 h;
	struct stat st;
	bool ok;

	if (stat(path, &st))
		return io_error(path, "cannot open", err);
	if (!S_ISDIR(st.st_mode))
		return hash_file(path, out, bytes, err);
	wi_sha256_init(&h);
	ok = hash_folder(path, true, &h, bytes, err);
	wi_sha256_final(&h, out);
	return ok;
}

static uint32_t shard_of(struct wi_sha256 *h, uint32_t nr)
{
	uint8_t sum[WI_SHA256_BYTES];
	uint64_t n = 0;

	wi_sha256_final(h, sum);
	for (int i = 0; i < 8; i++)
		n = n << 8 | sum[i];
	return (uint32_t)(n % nr) + 1;
}

static bool add_part(struct wi_sha256 *h, int fd, uint64_t at, size_t len)
{
	uint8_t part[WI_SHARD_BYTES];
	size_t got = 0;

	while (got < len) {
		ssize_t n = pread(fd, part + got, len - got, (off_t)(at + got));

		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return false;
		if (!n)
			break;
		got += (size_t)n;
	}
	wi_sha256_update(h, part, got);
	return true;
}

bool wi_hash_shard(int fd, uint64_t bytes, uint32_t nr, uint32_t *shard)
{
	size_t len = bytes < WI_SHARD_BYTES ? (size_t)bytes : WI_SHARD_BYTES;
	struct wi_sha256 h;

	wi_sha256_init(&h);
	add_number(&h, bytes);
	if (!add_part(&h, fd, 0, len) || !add_part(&h, fd, bytes - len, len))
		return false;
	*shard = shard_of(&h, nr);
	return true;
}

bool wi_hash_shard_folder(const char *path, uint32_t nr, uint32_t *shard, struct wi_err *err)
{
	struct wi_sha256 h;
	uint64_t bytes;

	wi_sha256_init(&h);
	if (!hash_folder(path, false, &h, &bytes, err))
		return false;
	*shard = shard_of(&h, nr);
	return true;
}
