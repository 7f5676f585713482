/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * XML and synthetic strings through hwloc in a child process: hwloc 2.9 crashes on damaged files and on numbers out of
 * range. The child has no core dump, no voice, and bounded memory and time; it sends what it found through a pipe.
 */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "analyzer/topology/raw.h"

#define CHILD_BYTES (512ull << 20)
#define CHILD_SECONDS 8	/* of CPU time: the bound on its work */
#define CHILD_WALL_SECONDS 60 /* on a busy machine it may take far longer */

#if defined(__SANITIZE_ADDRESS__)
#define SANITIZED 1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer)
#define SANITIZED 1
#endif
#endif
#ifndef SANITIZED
#define SANITIZED 0
#endif

/* What goes through the pipe first; then the arrays of struct topo_raw, in the order of each_array(). */
struct head {
	struct wi_err err;
	uint32_t nr_cpus, nr_dist, kernel, flags;
	bool ok, has_cache_info, x86;
};

/* In large pieces: the parent waits for each, and wakes up. */
static bool put(FILE *to, const void *data, size_t size)
{
	return !size || fwrite(data, size, 1, to) == 1;
}

static int64_t now_ms(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (int64_t)t.tv_sec * 1000 + t.tv_nsec / 1000000;
}

struct pipe_end {
	int fd;
	int64_t until_ms;
};

static bool get(struct pipe_end *p, void *data, size_t size)
{
	char *at = data;

	while (size) {
		struct pollfd wait = { .fd = p->fd, .events = POLLIN };
		int64_t left = p->until_ms - now_ms();

		if (left <= 0 || (poll(&wait, 1, (int)left) < 0 && errno != EINTR))
			return false;
		if (!wait.revents)
			continue;
		ssize_t n = read(p->fd, at, size);
		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0)
			return false;
		at += n;
		size -= (size_t)n;
	}
	return true;
}

/* Sends or receives every array. */
static bool each_array(struct topo_raw *raw, bool (*move)(void *ctx, void *data, size_t size), void *ctx)
{
	size_t n = raw->nr_cpus, words = raw->nr_words, d = raw->nr_dist;
	bool ok = move(ctx, raw->present, words * sizeof(*raw->present)) &&
		  move(ctx, raw->online, words * sizeof(*raw->online)) &&
		  move(ctx, raw->core_id, n * sizeof(*raw->core_id)) &&
		  move(ctx, raw->package_id, n * sizeof(*raw->package_id)) &&
		  move(ctx, raw->node_id, n * sizeof(*raw->node_id)) &&
		  move(ctx, raw->dist_node, d * sizeof(*raw->dist_node)) &&
		  move(ctx, raw->dist, d * d * sizeof(*raw->dist));

	for (int p = 0; ok && p < TOPO_NR_PARTS; p++)
		ok = move(ctx, raw->label[p], n * sizeof(*raw->label[p]));
	return ok;
}

static bool send_array(void *ctx, void *data, size_t size)
{
	return put(ctx, data, size);
}

static bool receive_array(void *ctx, void *data, size_t size)
{
	return get(ctx, data, size);
}

static void limit(int what, rlim_t most)
{
	struct rlimit l = { most, most };

	setrlimit(what, &l);
}

/* What hwloc is to read, and how. */
struct job {
	bool (*read)(struct topo_raw *raw, const char *text, size_t len, const char *name, struct wi_err *err);
	const char *text;
	size_t len;
	const char *name, *kind;
};

/* The child: never returns. */
static void child(int fd, const struct job *job)
{
	struct topo_raw raw = { 0 };
	struct head h = { .ok = false };
	int null = open("/dev/null", O_RDWR | O_CLOEXEC);

	fd = fcntl(fd, F_DUPFD_CLOEXEC, 3); /* it is 1 or 2 when we were started without these */
	if (null >= 0) {
		dup2(null, STDOUT_FILENO);
		dup2(null, STDERR_FILENO);
	}
	signal(SIGPIPE, SIG_DFL);
	limit(RLIMIT_CORE, 0);
	limit(RLIMIT_CPU, CHILD_SECONDS);
	if (!SANITIZED) /* whose shadow memory is in the terabytes */
		limit(RLIMIT_AS, CHILD_BYTES);
	h.ok = job->read(&raw, job->text, job->len, job->name, &h.err);
	h.nr_cpus = raw.nr_cpus;
	h.nr_dist = raw.nr_dist;
	h.kernel = raw.kernel;
	h.has_cache_info = raw.has_cache_info;
	h.x86 = raw.x86;
	FILE *to = fdopen(fd, "w");
	bool sent = to && put(to, &h, sizeof(h)) && (!h.ok || each_array(&raw, send_array, to)) && !fflush(to);
	_exit(sent ? 0 : 1);
}

/* Labels are the child's: anything else than a label or "none" would collide with those that are made later. */
static bool labels_are_good(const struct topo_raw *raw)
{
	for (int p = 0; p < TOPO_NR_PARTS; p++)
		for (uint32_t c = 0; c < raw->nr_cpus; c++)
			if (raw->label[p][c] >= TOPO_MAX_LABEL && raw->label[p][c] != TOPO_NONE)
				return false;
	return true;
}

static bool receive(struct topo_raw *raw, struct pipe_end *p, const struct job *job, struct wi_err *err)
{
	struct head h;
	bool crashed = !get(p, &h, sizeof(h));

	if (!crashed && !h.ok) {
		h.err.msg[sizeof(h.err.msg) - 1] = '\0';
		return wi_err_set(err, h.err.code, "%s", h.err.msg);
	}
	if (!crashed) {
		if (!h.nr_cpus || h.nr_cpus > WI_MAX_CPUS || h.nr_dist > 4096)
			crashed = true;
		else if (!topo_raw_init(raw, h.nr_cpus, err))
			return false;
	}
	if (!crashed) {
		raw->nr_dist = h.nr_dist;
		raw->kernel = h.kernel;
		raw->has_cache_info = h.has_cache_info;
		raw->x86 = h.x86;
		raw->dist_node = malloc((h.nr_dist + 1) * sizeof(*raw->dist_node));
		raw->dist = malloc(((size_t)h.nr_dist * h.nr_dist + 1) * sizeof(*raw->dist));
		if (!raw->dist_node || !raw->dist)
			return wi_err_nomem(err);
		crashed = !each_array(raw, receive_array, p) || !labels_are_good(raw);
	}
	return !crashed || wi_err_at(err, WI_EREFUSED, job->name, WI_NO_OFFSET,
				     "damaged %s topology: hwloc fails on it", job->kind);
}

static bool in_child(const struct job *job, struct topo_raw *raw, struct wi_err *err)
{
	struct pipe_end p = { .until_ms = now_ms() + CHILD_WALL_SECONDS * 1000 };
	int fd[2];

	if (pipe2(fd, O_CLOEXEC))
		return wi_err_set(err, WI_EIO, "cannot make a pipe: %s", strerror(errno));
	pid_t pid = fork();
	if (pid < 0) {
		close(fd[0]);
		close(fd[1]);
		return wi_err_set(err, WI_EIO, "cannot start a process: %s", strerror(errno));
	}
	if (!pid)
		child(fd[1], job);
	close(fd[1]);
	p.fd = fd[0];
	bool ok = receive(raw, &p, job, err);
	close(fd[0]);
	kill(pid, SIGKILL); /* done, or no use waiting for */
	while (waitpid(pid, NULL, 0) < 0 && errno == EINTR)
		;
	return ok;
}

bool topo_from_xml(struct topo_raw *raw, const char *xml, size_t len, const char *name, struct wi_err *err)
{
	const struct job job = { topo_from_xml_here, xml, len, name, "XML" };

	return in_child(&job, raw, err);
}

bool topo_from_synthetic(struct topo_raw *raw, const char *spec, struct wi_err *err)
{
	const struct job job = { topo_from_synthetic_here, spec, strlen(spec), spec, "synthetic" };

	return in_child(&job, raw, err);
}
