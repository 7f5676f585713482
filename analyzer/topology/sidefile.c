/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "analyzer/topology/sidefile.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <unistd.h>

#define PIPEFS 0x50495045 /* f_type of pipes that have no name */

struct pipe_in {
	int fd;
	const char *path;
	bool named;   /* a writer may still come */
	bool started; /* something came, or a writer has come and gone */
	struct wi_err *err;
};

static bool io_error(const struct pipe_in *in, const char *what)
{
	return wi_err_at(in->err, WI_EIO, in->path, WI_NO_OFFSET, "%s: %s", what, strerror(errno));
}

/* Until there is something to read; a writer that takes its time is waited for. */
static bool wait_for_data(struct pipe_in *in, bool has_writer)
{
	struct pollfd p = { .fd = in->fd, .events = POLLIN };
	int n;

	do
		n = poll(&p, 1, has_writer ? -1 : WI_SIDE_WRITER_SECS * 1000);
	while (n < 0 && errno == EINTR);
	if (n < 0)
		return io_error(in, "cannot read");
	if (!n)
		return wi_err_at(in->err, WI_EIO, in->path, WI_NO_OFFSET,
				 "nobody writes to this pipe: waited %d seconds", WI_SIDE_WRITER_SECS);
	in->started |= (p.revents & POLLHUP) != 0;
	return true;
}

/* Bytes read; 0 at the end; -1: err set. */
static ssize_t read_pipe(struct pipe_in *in, void *buf, size_t size)
{
	for (;;) {
		ssize_t n = read(in->fd, buf, size);

		if (n > 0)
			in->started = true;
		if (n > 0 || (!n && (in->started || !in->named)))
			return n;
		if (n < 0 && errno != EAGAIN && errno != EINTR) {
			io_error(in, "cannot read");
			return -1;
		}
		if ((!n || errno == EAGAIN) && !wait_for_data(in, n < 0))
			return -1;
	}
}

static bool write_all(const struct pipe_in *in, int fd, const char *buf, size_t len)
{
	while (len) {
		ssize_t n = write(fd, buf, len);

		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return io_error(in, "cannot be kept in memory");
		buf += n;
		len -= (size_t)n;
	}
	return true;
}

static int keep_pipe(struct pipe_in *in)
{
	int fd = memfd_create("wakeif-side", MFD_CLOEXEC);
	size_t len = 0;
	char buf[16384];
	ssize_t n = 0;
	bool ok = fd >= 0 || io_error(in, "cannot be kept in memory");

	while (ok && (n = read_pipe(in, buf, sizeof(buf))) > 0) {
		len += (size_t)n;
		ok = len <= WI_SIDE_PIPE_BYTES
			     ? write_all(in, fd, buf, (size_t)n)
			     : wi_err_at(in->err, WI_EREFUSED, in->path, WI_NO_OFFSET,
					 "a pipe that brings too much: more than %u bytes", WI_SIDE_PIPE_BYTES);
	}
	if (ok && !n && !lseek(fd, 0, SEEK_SET))
		return fd;
	if (fd >= 0)
		close(fd);
	return -1;
}

int wi_side_open(const char *path, struct wi_err *err)
{
	/* Not blocking: opening a named pipe would wait for a writer. */
	int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	struct stat st;
	struct statfs fs;

	if (fd < 0 || fstat(fd, &st)) {
		wi_err_at(err, WI_EIO, path, WI_NO_OFFSET, "cannot open: %s", strerror(errno));
	} else if (S_ISREG(st.st_mode)) {
		return fd;
	} else if (S_ISFIFO(st.st_mode)) {
		struct pipe_in in = { .fd = fd, .path = path, .err = err };

		in.named = fstatfs(fd, &fs) || fs.f_type != PIPEFS;
		int kept = keep_pipe(&in);
		close(fd);
		return kept;
	} else {
		wi_err_at(err, WI_EREFUSED, path, WI_NO_OFFSET,
			  S_ISDIR(st.st_mode) ? "a folder, not a file" : "neither a file nor a folder");
	}
	if (fd >= 0)
		close(fd);
	return -1;
}
