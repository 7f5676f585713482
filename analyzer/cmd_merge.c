/* SPDX-License-Identifier: GPL-2.0-or-later */
/* wakeif merge: archives made in parts become one. */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "analyzer/cmd.h"
#include "analyzer/store/store.h"

struct merge_cmd {
	char **db;
	size_t nr;
	const char *out;
	bool quiet;
};

static const struct argp_option options[] = {
	{ "output", 'o', "DB", 0, "the database that all are united in; if it is there, its runs stay in it", 0 },
	{ "quiet", 'q', NULL, 0, "no summary", -1 },
	{ "help", 'h', NULL, 0, "this text", -1 },
	{ 0 },
};

static error_t parse_key(int key, char *arg, struct argp_state *state)
{
	struct merge_cmd *c = state->input;

	switch (key) {
	case 'o':
		c->out = arg;
		return 0;
	case 'q':
		c->quiet = true;
		return 0;
	case 'h':
		argp_state_help(state, stdout, ARGP_HELP_STD_HELP);
		return 0;
	case ARGP_KEY_ARGS:
		c->db = state->argv + state->next;
		c->nr = (size_t)(state->argc - state->next);
		return 0;
	case ARGP_KEY_END:
		if (!c->nr)
			argp_error(state, "no database is named");
		if (!c->out)
			argp_error(state, "-o is missing: the database that all are united in");
		return 0;
	default:
		return ARGP_ERR_UNKNOWN;
	}
}

/* The same file, by whatever name? */
static bool is_same(const char *a, const char *b)
{
	struct stat x, y;

	return !stat(a, &x) && !stat(b, &y) && x.st_dev == y.st_dev && x.st_ino == y.st_ino;
}

static void add_counts(struct wi_merge_count *sum, const struct wi_merge_count *n)
{
	sum->runs += n->runs;
	sum->added += n->added;
	sum->better += n->better;
	sum->dropped += n->dropped;
}

/* All of them in one transaction: the output has all of it or none. */
static bool unite(const struct merge_cmd *c, struct wi_store *into, const char *into_path, struct wi_merge_count *sum,
		  struct wi_err *err)
{
	bool ok = wi_store_begin(into, err);

	if (!ok)
		return false;
	for (size_t i = 0; ok && i < c->nr; i++) {
		struct wi_merge_count n = { 0 };

		if (is_same(c->db[i], into_path) || is_same(c->db[i], c->out))
			continue; /* it is in */
		ok = wi_store_merge(into, c->db[i], &n, err);
		add_counts(sum, &n);
	}
	if (ok)
		ok = wi_store_commit(into, err);
	if (!ok)
		wi_store_rollback(into);
	return ok;
}

/* Into a file that is there. A merge that fails is rolled back. */
static bool merge_into(const struct merge_cmd *c, struct wi_merge_count *sum, struct wi_err *err)
{
	struct wi_store *into = wi_store_open(c->out, WI_STORE_WRITE, err);
	bool ok = into && unite(c, into, c->out, sum, err);

	return wi_store_close(into, err) && ok;
}

static void remove_database(const char *path)
{
	static const char *const companion[] = { "", "-wal", "-shm", "-journal" };

	for (size_t i = 0; i < sizeof(companion) / sizeof(companion[0]); i++) {
		char *name;

		if (asprintf(&name, "%s%s", path, companion[i]) < 0)
			return;
		unlink(name);
		free(name);
	}
}

/* path gets the name to, unless something has it. */
static bool give_name(const char *path, const char *to, struct wi_err *err)
{
	if (!renameat2(AT_FDCWD, path, AT_FDCWD, to, RENAME_NOREPLACE))
		return true;
	/* Some file systems cannot promise that nothing is replaced: there it is looked up before. */
	if (errno == EINVAL && access(to, F_OK) && !rename(path, to))
		return true;
	return wi_err_at(err, WI_EIO, to, WI_NO_OFFSET, "cannot be written: %s",
			 strerror(errno == EINVAL ? EEXIST : errno));
}

/* Into a new file: it gets its name once all is in. Who made one of that name meanwhile keeps it. */
static bool merge_new(const struct merge_cmd *c, struct wi_merge_count *sum, struct wi_err *err)
{
	struct wi_store *into = NULL;
	char *path;
	bool ok;

	if (asprintf(&path, "%s.part-%ld", c->out, (long)getpid()) < 0)
		return wi_err_nomem(err);
	remove_database(path); /* of a merge that was killed, whose number came again */
	into = wi_store_open(path, WI_STORE_CREATE, err);
	ok = into && unite(c, into, path, sum, err);
	ok = wi_store_close(into, err) && ok;
	ok = ok && give_name(path, c->out, err);
	remove_database(path);
	free(path);
	return ok;
}

int wi_cmd_merge(int argc, char **argv)
{
	const struct argp argp = {
		options,
		parse_key,
		"DB... -o DB",
		"Unites archives: runs of the same trace and analysis become one, the newest wakeif's and "
		"the best. Order and grouping make no difference, merging again changes nothing. A merge "
		"that fails leaves the output as it was.\v"
		"doc/archives.md has more, doc/cluster.md the way of large archives.",
		NULL,
		NULL,
		NULL
	};
	struct merge_cmd c = { 0 };
	struct wi_merge_count sum = { 0 };
	struct wi_err err = { 0 };
	bool ok;

	argp_parse(&argp, argc, argv, ARGP_NO_HELP, NULL, &c);
	ok = access(c.out, F_OK) ? merge_new(&c, &sum, &err) : merge_into(&c, &sum, &err);
	if (!ok)
		return wi_cmd_fail(&err);
	if (!c.quiet)
		printf("%s: %" PRIu64 " runs read: %" PRIu64 " new, %" PRIu64 " better than what was there, %" PRIu64
		       " already in\n",
		       c.out, sum.runs, sum.added, sum.better, sum.dropped);
	return WI_OK;
}
