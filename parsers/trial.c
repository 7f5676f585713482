/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "parsers/trial.h"

#include <errno.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#define DATA_BYTES (1u << 30)
#define SECONDS 30		  /* and one more for each ... */
#define BYTES_A_SECOND (2u << 20) /* a fortieth of what libtracecmd does on uncompressed data */

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

static void limit(int what, rlim_t most)
{
	struct rlimit l;

	if (getrlimit(what, &l))
		return;
	if (l.rlim_max > most)
		l.rlim_max = most;
	if (l.rlim_cur > l.rlim_max)
		l.rlim_cur = l.rlim_max;
	setrlimit(what, &l);
}

/* said: takes what the library prints */
static _Noreturn void child(void (*all)(void *ctx), void *ctx, uint64_t file_bytes, int said)
{
	dup2(said, STDOUT_FILENO);
	dup2(said, STDERR_FILENO);
	limit(RLIMIT_CORE, 0);
	limit(RLIMIT_CPU, SECONDS + file_bytes / BYTES_A_SECOND);
	if (!SANITIZED) /* whose own memory is in the terabytes */
		limit(RLIMIT_DATA, DATA_BYTES);
	all(ctx);
	_exit(0);
}

static bool judge(int status, int said, const char *name, const char *path, struct wi_err *err)
{
	char text[200] = "";

	if (WIFSIGNALED(status))
		return wi_err_at(err, WI_EREFUSED, path, WI_NO_OFFSET, "%s fails on this file: it ends with \"%s\"",
				 name, strsignal(WTERMSIG(status)));
	if (pread(said, text, sizeof(text) - 1, 0) > 0)
		return wi_err_at(err, WI_EREFUSED, path, WI_NO_OFFSET, "%s fails on this file: it says \"%.*s\"", name,
				 (int)strcspn(text, "\n"), text);
	return !WEXITSTATUS(status) ||
	       wi_err_at(err, WI_EREFUSED, path, WI_NO_OFFSET, "%s fails on this file: it leaves with status %d", name,
			 WEXITSTATUS(status));
}

bool wi_trial(void (*all)(void *ctx), void *ctx, const char *name, uint64_t file_bytes, const char *path,
	      struct wi_err *err)
{
	int said = memfd_create("wakeif-trial", MFD_CLOEXEC), status = 0;
	pid_t pid = said < 0 ? -1 : fork(), got = pid;
	bool ok;

	if (!pid)
		child(all, ctx, file_bytes, said);
	while (pid > 0 && (got = waitpid(pid, &status, 0)) < 0 && errno == EINTR)
		;
	ok = got < 0 ? wi_err_set(err, WI_EIO, "cannot let a process try %s: %s", name, strerror(errno))
		     : judge(status, said, name, path, err);
	if (said >= 0)
		close(said);
	return ok;
}
