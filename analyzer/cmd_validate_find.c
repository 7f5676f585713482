/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "analyzer/cmd_validate_find.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "analyzer/session_machine.h"

static bool is_folder(const char *path)
{
	struct stat st;

	return !stat(path, &st) && S_ISDIR(st.st_mode);
}

/* folder/name of the first name that is there; NULL: none of them. The caller frees. */
static char *in_folder(const char *folder, const char *const *names)
{
	for (; *names; names++) {
		char *path;

		if (asprintf(&path, "%s/%s", folder, *names) < 0)
			return NULL;
		if (!access(path, R_OK) && !is_folder(path))
			return path;
		free(path);
	}
	return NULL;
}

/* "DIR/X.decisions.tsv.zst" -> "DIR/X.nodecision.tsv.zst", plain or packed, if it is there; else without X. */
static char *nodecision_beside(const char *truth)
{
	static const char *const names[] = { "nodecision.tsv.zst", "nodecision.tsv" };
	const char *slash = strrchr(truth, '/'), *base = slash ? slash + 1 : truth;
	const char *own = strstr(base, "decisions.tsv");
	const size_t lens[] = { own ? (size_t)(own - truth) : (size_t)(base - truth), (size_t)(base - truth) };

	for (size_t i = 0; i < 4; i++) {
		char *path = NULL;

		if (asprintf(&path, "%.*s%s", (int)lens[i / 2], truth, names[i % 2]) < 0)
			return NULL;
		if (!access(path, R_OK))
			return path;
		free(path);
	}
	return NULL;
}

static void find_in_folder(struct wi_recording *r, const char *path)
{
	static const char *const trace[] = { "trace.dat", NULL };
	static const char *const truth[] = { "decisions.tsv.zst", "decisions.tsv", "truth.dat.zst", "truth.dat", NULL };
	static const char *const topology[] = { "topology.tar.gz", NULL };
	static const char *const tasks[][2] = { { "tasks.before", NULL }, { "tasks.during", NULL } };

	r->trace = in_folder(path, trace);
	if (!r->truth)
		r->truth = in_folder(path, truth);
	r->topology = in_folder(path, topology);
	for (size_t i = 0; i < 2; i++) {
		r->tasks[r->nr_tasks] = in_folder(path, tasks[i]);
		r->nr_tasks += r->tasks[r->nr_tasks] != NULL;
	}
}

bool wi_recording_find(struct wi_recording *r, const char *path, const char *truth, struct wi_err *err)
{
	static const char *const suffixes[] = { ".decisions.tsv.zst", ".decisions.tsv", ".truth.dat.zst", ".truth.dat",
						NULL };

	*r = (struct wi_recording){ 0 };
	if (truth && !(r->truth = strdup(truth)))
		return wi_err_nomem(err);
	if (is_folder(path))
		find_in_folder(r, path);
	else if (!r->truth)
		r->truth = wi_side_file(path, suffixes);
	if (!r->trace)
		r->trace = strdup(path); /* a folder without trace.dat: opening it says so */
	if (!r->trace)
		return wi_err_nomem(err);
	if (r->truth)
		r->nodecision = nodecision_beside(r->truth);
	return true;
}

void wi_recording_fini(struct wi_recording *r)
{
	free(r->trace);
	free(r->truth);
	free(r->nodecision);
	free(r->topology);
	for (size_t i = 0; i < r->nr_tasks; i++)
		free(r->tasks[i]);
	*r = (struct wi_recording){ 0 };
}
