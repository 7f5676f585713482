/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "analyzer/sim_jobs.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "analyzer/cmd.h"

/* What a worker sends first: whether it did its job. */
struct head {
	bool ok;
	struct wi_err err;
};

struct worker {
	pid_t pid;
	FILE *from;
	size_t job;
};

static void work(const struct wi_sim_job *job, FILE *to)
{
	struct head h = { .ok = false };
	struct wi_sim_result result = { .end_ns = 0 };
	bool sent;

	h.ok = wi_sim_run(job->workload, &job->opts, &result, &h.err);
	sent = fwrite(&h, sizeof(h), 1, to) == 1 && (!h.ok || wi_sim_result_write(&result, to)) && !fflush(to);
	_exit(sent ? 0 : 1);
}

static bool start(const struct wi_sim_job *job, size_t nr, struct worker *w, struct wi_err *err)
{
	pid_t parent = getpid();
	int fd[2];

	if (pipe(fd))
		return wi_err_set(err, WI_EIO, "no pipe for a worker: %s", strerror(errno));
	fflush(NULL);
	w->pid = fork();
	if (w->pid < 0) {
		close(fd[0]);
		close(fd[1]);
		return wi_err_set(err, WI_EIO, "no worker: %s", strerror(errno));
	}
	if (!w->pid) {
		FILE *to = fdopen(fd[1], "w");

		close(fd[0]);
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		if (to && getppid() == parent)
			work(job, to);
		_exit(1);
	}
	close(fd[1]);
	w->from = fdopen(fd[0], "r");
	w->job = nr;
	if (w->from)
		return true;
	close(fd[0]);
	kill(w->pid, SIGKILL);
	waitpid(w->pid, NULL, 0);
	return wi_err_nomem(err);
}

/* Takes what the worker sends, and its end. */
static bool collect(const struct wi_sim_job *job, struct worker *w, struct wi_err *err)
{
	struct head h = { .ok = false };
	bool got = fread(&h, sizeof(h), 1, w->from) == 1 && (!h.ok || wi_sim_result_read(job->result, w->from));
	int status = 0;

	fclose(w->from);
	while (waitpid(w->pid, &status, 0) < 0 && errno == EINTR)
		;
	if (got && !h.ok)
		return wi_err_set(err, h.err.code ? h.err.code : WI_EIO, "%s", h.err.msg);
	if (got && WIFEXITED(status) && !WEXITSTATUS(status))
		return true;
	if (WIFSIGNALED(status))
		return wi_err_set(err, WI_EIO, "%s: its worker was ended by signal %d (%s)", job->label,
				  WTERMSIG(status), strsignal(WTERMSIG(status)));
	return wi_err_set(err, WI_EIO, "%s: its worker ended without a result", job->label);
}

bool wi_sim_jobs(struct wi_sim_job *jobs, size_t nr, uint32_t at_once, struct wi_err *err)
{
	struct worker *w = calloc(at_once, sizeof(*w));
	size_t started = 0, done = 0;

	if (!w)
		return wi_err_nomem(err);
	/* In order: the oldest worker is waited for. Jobs of one trace take about the same time. */
	while (done < nr) {
		while (!err->code && started < nr && started - done < at_once) {
			if (!start(&jobs[started], started, &w[started % at_once], err))
				break;
			started++;
		}
		if (started == done)
			break;
		collect(&jobs[done], &w[done % at_once], err);
		done++;
		wi_progress_update(NULL, done, nr);
	}
	free(w);
	return !err->code;
}
