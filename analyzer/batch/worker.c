/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "analyzer/batch/worker.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

uint64_t wi_now_ns(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (uint64_t)ts.tv_sec * 1000000000 + (uint64_t)ts.tv_nsec;
}

/* ---- in the process ---- */

static void limit(int what, uint64_t n)
{
	struct rlimit old, r;

	if (getrlimit(what, &old))
		return;
	r.rlim_cur = old.rlim_max < n ? old.rlim_max : n;
	r.rlim_max = old.rlim_max;
	setrlimit(what, &r);
}

static void set_limits(const struct wi_worker_limits *l)
{
	int fd = open("/proc/self/oom_score_adj", O_WRONLY | O_CLOEXEC);

	if (fd >= 0) {
		if (write(fd, "1000", 4) != 4)
			errno = 0; /* a wish, no more */
		close(fd);
	}
	limit(RLIMIT_CORE, 0);
	prctl(PR_SET_DUMPABLE, 0); /* programs that the kernel pipes core dumps to are not bound by that limit */
#ifndef __SANITIZE_ADDRESS__	   /* which has terabytes of address space reserved */
	if (l->memory_bytes)
		limit(RLIMIT_AS, l->memory_bytes);
#endif
	if (l->timeout_s)
		limit(RLIMIT_CPU, 2ull * l->timeout_s + 1);
}

static void default_signals(void)
{
	static const int signals[] = { SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGCHLD, SIGPIPE };
	sigset_t none;

	for (size_t i = 0; i < sizeof(signals) / sizeof(*signals); i++)
		signal(signals[i], SIG_DFL);
	sigemptyset(&none);
	sigprocmask(SIG_SETMASK, &none, NULL);
}

/* Standard input gives nothing; what is written to output and error goes to the parent. */
static bool redirect(int errors)
{
	int null = open("/dev/null", O_RDONLY | O_CLOEXEC);

	return null >= 0 && dup2(null, STDIN_FILENO) >= 0 && dup2(errors, STDOUT_FILENO) >= 0 &&
	       dup2(errors, STDERR_FILENO) >= 0;
}

static void run(pid_t parent, const struct wi_worker_limits *limits, int (*work)(void *ctx, int say, int hear),
		void *ctx, int say, int hear, int errors)
{
	setpgid(0, 0);
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	if (getppid() != parent)
		_exit(1);
	default_signals();
	if (!redirect(errors))
		_exit(1);
	set_limits(limits);
	int status = work(ctx, say, hear);

	fflush(NULL);
	_exit(status);
}

/* ---- in the parent ---- */

static bool open_pipes(int fd[3][2], struct wi_err *err)
{
	for (int i = 0; i < 3; i++)
		if (pipe2(fd[i], O_CLOEXEC)) {
			int why = errno;

			while (i--) {
				close(fd[i][0]);
				close(fd[i][1]);
			}
			return wi_err_set(err, WI_EIO, "no pipe for a worker: %s", strerror(why));
		}
	return true;
}

static void no_wait(int fd)
{
	fcntl(fd, F_SETFL, fcntl(fd, F_GETFL) | O_NONBLOCK);
}

bool wi_worker_start(struct wi_worker *w, const struct wi_worker_limits *limits,
		     int (*work)(void *ctx, int say, int hear), void *ctx, const int *close_fds, size_t nr_close,
		     struct wi_err *err)
{
	pid_t parent = getpid();
	int fd[3][2]; /* from, errors, to */

	if (!open_pipes(fd, err))
		return false;
	fflush(NULL);
	w->pid = fork();
	if (!w->pid) {
		close(fd[0][0]);
		close(fd[1][0]);
		close(fd[2][1]);
		for (size_t i = 0; i < nr_close; i++)
			if (close_fds[i] >= 0)
				close(close_fds[i]);
		run(parent, limits, work, ctx, fd[0][1], fd[2][0], fd[1][1]);
	}
	close(fd[0][1]);
	close(fd[1][1]);
	close(fd[2][0]);
	if (w->pid < 0) {
		w->pid = 0;
		wi_err_set(err, WI_EIO, "no process for a worker: %s", strerror(errno));
		close(fd[0][0]);
		close(fd[1][0]);
		close(fd[2][1]);
		return false;
	}
	setpgid(w->pid, w->pid); /* both do: whoever comes first */
	w->from = fd[0][0];
	w->errors = fd[1][0];
	w->to = fd[2][1];
	no_wait(w->from);
	no_wait(w->errors);
	w->deadline_ns = limits->timeout_s ? wi_now_ns() + limits->timeout_s * 1000000000ull : UINT64_MAX;
	w->late = w->too_much = false;
	w->nr_tail = 0;
	memset(&w->in, 0, sizeof(w->in));
	return true;
}

#define READS 64 /* at a time: one that never stops writing must not hold up the others */

static void hear_errors(struct wi_worker *w)
{
	ssize_t n = 0;

	for (int i = 0; i < READS && w->errors >= 0; i++) {
		if (w->nr_tail >= WI_STDERR_TAIL) { /* the older half has been passed */
			size_t drop = w->nr_tail - WI_STDERR_TAIL;

			memmove(w->tail, w->tail + drop, WI_STDERR_TAIL);
			w->nr_tail = WI_STDERR_TAIL;
		}
		n = read(w->errors, w->tail + w->nr_tail, sizeof(w->tail) - w->nr_tail);
		if (n > 0) {
			w->nr_tail += (size_t)n;
			continue;
		}
		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0 && errno == EAGAIN)
			return;
		close(w->errors);
		w->errors = -1;
	}
}

bool wi_worker_hear(struct wi_worker *w, size_t max, struct wi_err *err)
{
	uint8_t bytes[64 << 10];

	while (w->from >= 0) {
		ssize_t n = read(w->from, bytes, sizeof(bytes));

		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0 && errno == EAGAIN)
			break;
		if (n > 0 && (size_t)n <= max - w->in.nr) {
			wi_bytes_put(&w->in, bytes, (size_t)n);
			if (w->in.failed)
				return wi_err_nomem(err);
			continue;
		}
		w->too_much = n > 0;
		if (w->too_much)
			wi_worker_kill(w);
		close(w->from);
		w->from = -1;
	}
	hear_errors(w); /* behind it: what was printed before the last word is there by now */
	return true;
}

bool wi_worker_ended(struct wi_worker *w, size_t max, int *status)
{
	siginfo_t info = { .si_pid = 0 };
	struct wi_err unused = { 0 };

	if (waitid(P_PID, (id_t)w->pid, &info, WEXITED | WNOHANG | WNOWAIT) || !info.si_pid)
		return false;
	kill(-w->pid, SIGKILL); /* what it left behind, while its number is still its own */
	wi_worker_hear(w, max, &unused);
	while (waitpid(w->pid, status, 0) < 0 && errno == EINTR)
		;
	w->pid = 0;
	return true;
}

void wi_worker_kill(struct wi_worker *w)
{
	if (w->pid)
		kill(-w->pid, SIGKILL);
}

static void shut(int *fd)
{
	if (*fd >= 0)
		close(*fd);
	*fd = -1;
}

void wi_worker_fini(struct wi_worker *w)
{
	wi_worker_kill(w);
	while (w->pid && waitpid(w->pid, NULL, 0) < 0 && errno == EINTR)
		;
	w->pid = 0;
	shut(&w->from);
	shut(&w->errors);
	shut(&w->to);
	free(w->in.at);
	memset(&w->in, 0, sizeof(w->in));
}
