/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "analyzer/record/run.h"

#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <limits.h>
#include <poll.h>
#include <pwd.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/signalfd.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/timerfd.h>
#include <sys/wait.h>
#include <unistd.h>

static bool executable(const char *path)
{
	struct stat st;

	return !access(path, X_OK) && !stat(path, &st) && S_ISREG(st.st_mode);
}

bool wi_find_program(const char *name, char *path, size_t size)
{
	const char *dirs = getenv("PATH");

	if (strchr(name, '/'))
		return (size_t)snprintf(path, size, "%s", name) < size && executable(path);
	for (const char *at = dirs ? dirs : "/usr/bin:/bin"; *name;) {
		size_t len = strcspn(at, ":");

		if ((size_t)snprintf(path, size, "%.*s/%s", len ? (int)len : 1, len ? at : ".", name) < size &&
		    executable(path))
			return true;
		if (!at[len])
			break;
		at += len + 1;
	}
	return false;
}

bool wi_become_user(const char *user, struct wi_err *err)
{
	const struct passwd *pw = getpwnam(user);

	if (!pw)
		return wi_err_set(err, WI_EUSAGE, "no such user: %.100s", user);
	if (initgroups(pw->pw_name, pw->pw_gid) || setgid(pw->pw_gid) || setuid(pw->pw_uid))
		return wi_err_set(err, WI_EIO, "cannot become user %.100s: %s", user, strerror(errno));
	setenv("USER", pw->pw_name, 1);
	setenv("LOGNAME", pw->pw_name, 1);
	setenv("HOME", pw->pw_dir, 1);
	return true;
}

/* The signals that we take as events while a child runs. */
static void our_signals(sigset_t *set)
{
	sigemptyset(set);
	sigaddset(set, SIGINT);
	sigaddset(set, SIGTERM);
	sigaddset(set, SIGHUP);
	sigaddset(set, SIGQUIT);
	sigaddset(set, SIGCHLD);
}

void wi_hold_signals(void)
{
	sigset_t set;

	our_signals(&set);
	sigdelset(&set, SIGCHLD);
	sigprocmask(SIG_BLOCK, &set, NULL);
}

/* In the child; reports a failure as errno through the pipe, which closes by itself when exec succeeds. */
static _Noreturn void child(char *const *argv, const struct wi_run *how, const sigset_t *mask, int report)
{
	struct wi_err err = { 0 };
	int error = 0;

	if (how->keep_fd >= 0)
		fcntl(how->keep_fd, F_SETFD, 0);
	sigprocmask(SIG_SETMASK, mask, NULL);
	if (how->user && !wi_become_user(how->user, &err))
		error = EPERM;
	if (!error) {
		execvp(argv[0], argv);
		error = errno;
	}
	ssize_t n = write(report, &error, sizeof(error));
	(void)n;
	_exit(error == ENOENT ? 127 : 126);
}

static int timer_fd(uint32_t secs)
{
	struct itimerspec in = { .it_value.tv_sec = secs };
	int fd = secs ? timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC | TFD_NONBLOCK) : -1;

	if (fd >= 0)
		timerfd_settime(fd, 0, &in, NULL);
	return fd;
}

/* Only what one process sent us on purpose: the terminal's own signals reach the child as well. */
static void pass_on(pid_t pid, const struct wi_run *how, const struct signalfd_siginfo *s)
{
	pid_t to = how->signal_to ? how->signal_to(how->ctx) : 0;

	if (s->ssi_code <= 0)
		kill(to > 0 ? to : pid, (int)s->ssi_signo);
}

static int wait_child(pid_t pid, const struct wi_run *how, int sfd)
{
	struct pollfd p[2] = { { .fd = sfd, .events = POLLIN }, { .fd = timer_fd(how->stop_secs), .events = POLLIN } };
	int status;

	for (;;) {
		struct signalfd_siginfo s;
		pid_t done = waitpid(pid, &status, WNOHANG);

		if (done == pid || (done < 0 && errno != EINTR))
			break;
		if (poll(p, 2, -1) < 0)
			continue;
		if (p[0].revents && read(sfd, &s, sizeof(s)) == sizeof(s) && s.ssi_signo != SIGCHLD)
			pass_on(pid, how, &s);
		if (p[1].fd >= 0 && p[1].revents) {
			kill(pid, SIGTERM);
			close(p[1].fd);
			p[1].fd = -1;
		}
	}
	if (p[1].fd >= 0)
		close(p[1].fd);
	return WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
}

int wi_run(char *const *argv, const struct wi_run *how, struct wi_err *err)
{
	int pipefd[2] = { -1, -1 }, sfd = -1, status = -1, error = 0;
	sigset_t set, old;
	pid_t pid;

	our_signals(&set);
	if (pipe2(pipefd, O_CLOEXEC)) {
		wi_err_set(err, WI_EIO, "cannot start %.200s: %s", argv[0], strerror(errno));
		return -1;
	}
	sigprocmask(SIG_BLOCK, &set, &old);
	sfd = signalfd(-1, &set, SFD_CLOEXEC);
	pid = sfd < 0 ? -1 : fork();
	if (!pid)
		child(argv, how, &old, pipefd[1]);
	if (pid < 0) {
		wi_err_set(err, WI_EIO, "cannot start %.200s: %s", argv[0], strerror(errno));
		goto out;
	}
	close(pipefd[1]);
	pipefd[1] = -1;
	if (read(pipefd[0], &error, sizeof(error)) == sizeof(error))
		wi_err_set(err, WI_EIO, "cannot run %.200s%s%.100s: %s", argv[0], how->user ? " as user " : "",
			   how->user ? how->user : "", strerror(error));
	status = wait_child(pid, how, sfd);
out:
	for (int i = 0; i < 2; i++)
		if (pipefd[i] >= 0)
			close(pipefd[i]);
	if (sfd >= 0)
		close(sfd);
	sigprocmask(SIG_SETMASK, &old, NULL);
	return status;
}

bool wi_wait(pid_t pid, uint32_t secs, struct wi_err *err)
{
	int pidfd = pid > 0 ? (int)syscall(SYS_pidfd_open, pid, 0) : -1;
	bool poll_pid = pid > 0 && pidfd < 0;
	sigset_t set, old;

	if (pid > 0 && kill(pid, 0) && errno == ESRCH) {
		if (pidfd >= 0)
			close(pidfd);
		return wi_err_set(err, WI_EUSAGE, "no process %d", (int)pid);
	}
	our_signals(&set);
	sigdelset(&set, SIGCHLD);
	sigprocmask(SIG_BLOCK, &set, &old);
	struct pollfd p[3] = { { .fd = signalfd(-1, &set, SFD_CLOEXEC), .events = POLLIN },
			       { .fd = timer_fd(secs), .events = POLLIN },
			       { .fd = pidfd, .events = POLLIN } };
	/* Kernels before 5.3 cannot wait for a process that is no child: look now and then. */
	while (poll(p, 3, poll_pid ? 200 : -1) <= 0 && !(poll_pid && kill(pid, 0) && errno == ESRCH))
		;
	for (int i = 0; i < 3; i++)
		if (p[i].fd >= 0)
			close(p[i].fd);
	sigprocmask(SIG_SETMASK, &old, NULL);
	return true;
}
