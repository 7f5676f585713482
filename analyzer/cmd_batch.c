/* SPDX-License-Identifier: GPL-2.0-or-later */
/* wakeif batch: folders of traces into one database. */
#include <errno.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#include "analyzer/batch_tell.h"
#include "analyzer/cmd_replay_opts.h"
#include "analyzer/session_bundle.h"
#include "models/plugin.h"

enum {
	KEY_FILES_FROM = 0x700,
	KEY_SHARD,
	KEY_JOBS,
	KEY_TAG,
	KEY_TIMEOUT,
	KEY_MEMORY,
	KEY_DETAIL,
	KEY_RETRY,
	KEY_STRICT,
	KEY_SIMULATE,
	KEY_SEEDS
};

#define TIMEOUT_S 3600 /* by default: no trace takes that long, but a worker that hangs must not hang all */

struct batch_cmd {
	struct wi_replay_cmd r; /* first: it begins with the struct wi_opts of the option groups */
	const char *db, *files_from;
	char **root;
	size_t nr_roots;
	bool nul, strict;
	struct wi_discover_opts search;
	struct wi_batch_opts batch;
	struct wi_bundle_wanted wanted;
	struct wi_tag_pattern **pattern;
	char *options; /* described */
	struct wi_batch_tell tell;
};

static const struct argp_option own_options[] = {
	{ "output", 'o', "DB", 0, "the database; made if it is not there", 1 },
	{ "files-from", KEY_FILES_FROM, "LIST", 0,
	  "also the files and folders named there, a line each; '-' is standard input", 1 },
	{ "null", '0', NULL, 0, "names of --files-from end at a NUL, as find -print0 writes them", 1 },
	{ "shard", KEY_SHARD, "K/N", 0,
	  "only the K-th of N parts (1 .. N); a trace is in one of them by its contents, wherever it lies", 1 },
	{ "tag", KEY_TAG, "NAMES=RE", 0,
	  "tags from the path below the folder that was given: names, with commas, of the groups of an extended "
	  "regular "
	  "expression ('-' passes over one); may be repeated",
	  1 },
	{ "jobs", KEY_JOBS, "N", 0, "traces at once, each in a process of its own (default: one a CPU)", 5 },
	{ "timeout", KEY_TIMEOUT, "S", 0, "seconds for a trace; 0: no limit (default: 3600)", 5 },
	{ "memory", KEY_MEMORY, "MB", 0,
	  "address space for a trace, in MiB; 0: no limit (default: the machine's memory)", 5 },
	{ "retry", KEY_RETRY, NULL, 0, "try again what timed out, crashed or lacked memory before", 5 },
	{ "strict", KEY_STRICT, NULL, 0, "exit status 4 unless every trace was analysed whole", 5 },
	{ "simulate", KEY_SIMULATE, NULL, 0, "also simulate each trace, with the models as policies", 2 },
	{ "seeds", KEY_SEEDS, "N", 0, "with --simulate: runs of each policy, 1 .. 1000 (default: 5)", 2 },
	{ "detail", KEY_DETAIL, "default|full", 0, "full: the numbers of each CPU, task and pair as well", 2 },
	{ 0 },
};

static uint64_t number(struct argp_state *state, const char *option, const char *arg, uint64_t least, uint64_t most)
{
	unsigned long long n;
	char *end;

	errno = 0;
	n = strtoull(arg, &end, 10);
	if (errno || *end || arg[0] < '0' || arg[0] > '9' || n < least || n > most)
		argp_error(state, "--%s: not a number of %llu .. %llu: '%s'", option, (unsigned long long)least,
			   (unsigned long long)most, arg);
	return n;
}

static void parse_shard(struct argp_state *state, const char *arg, struct wi_discover_opts *o)
{
	unsigned int k, n;
	char more;

	if (sscanf(arg, "%6u/%6u%c", &k, &n, &more) != 2 || arg[0] < '0' || arg[0] > '9' || !k || k > n)
		argp_error(state, "--shard: not K/N with K of 1 .. N: '%s'", arg);
	o->shard = k;
	o->nr_shards = n;
}

static void add_tag(struct argp_state *state, const char *arg, struct batch_cmd *c)
{
	struct wi_tag_pattern **more = realloc(c->pattern, (c->batch.nr_patterns + 1) * sizeof(*more));
	struct wi_err err = { 0 };

	if (!more)
		argp_failure(state, WI_EIO, 0, "out of memory");
	c->pattern = more;
	more[c->batch.nr_patterns] = wi_tag_pattern_new(arg, &err);
	if (!more[c->batch.nr_patterns])
		argp_error(state, "%s", err.msg);
	c->batch.nr_patterns++;
}

static void add_root(struct argp_state *state, char *arg, struct batch_cmd *c)
{
	char **more = realloc(c->root, (c->nr_roots + 1) * sizeof(*more));

	if (!more)
		argp_failure(state, WI_EIO, 0, "out of memory");
	if (!*arg)
		argp_error(state, "a name is empty");
	c->root = more;
	more[c->nr_roots++] = arg;
}

static void check(struct argp_state *state, const struct batch_cmd *c)
{
	if (c->r.o.path_given)
		argp_error(state, "-i is for one trace: name files and folders behind the options");
	if (!c->db)
		argp_error(state, "no database: -o DB");
	if (!c->nr_roots && !c->files_from)
		argp_error(state, "nothing to look at: name folders or files, or a list with --files-from");
	if (c->nul && !c->files_from)
		argp_error(state, "-0 belongs to --files-from");
	if (c->wanted.seeds && !c->wanted.simulate)
		argp_error(state, "--seeds belongs to --simulate");
}

static error_t own_key(int key, char *arg, struct argp_state *state)
{
	struct batch_cmd *c = state->input;

	switch (key) {
	case 'o':
		c->db = arg;
		return 0;
	case KEY_FILES_FROM:
		c->files_from = arg;
		return 0;
	case '0':
		c->nul = true;
		return 0;
	case KEY_SHARD:
		parse_shard(state, arg, &c->search);
		return 0;
	case KEY_TAG:
		add_tag(state, arg, c);
		return 0;
	case KEY_JOBS:
		c->batch.jobs = (uint32_t)number(state, "jobs", arg, 1, WI_BATCH_JOBS);
		return 0;
	case KEY_TIMEOUT:
		c->batch.limits.timeout_s = (uint32_t)number(state, "timeout", arg, 0, 1000000000);
		return 0;
	case KEY_MEMORY:
		c->batch.limits.memory_bytes = number(state, "memory", arg, 0, 1ull << 40) << 20;
		return 0;
	case KEY_RETRY:
		c->batch.retry = true;
		return 0;
	case KEY_STRICT:
		c->strict = true;
		return 0;
	case KEY_SIMULATE:
		c->wanted.simulate = true;
		return 0;
	case KEY_SEEDS:
		c->wanted.seeds = (uint32_t)number(state, "seeds", arg, 1, 1000);
		return 0;
	case KEY_DETAIL:
		if (strcmp(arg, "default") != 0 && strcmp(arg, "full") != 0)
			argp_error(state, "--detail: neither default nor full: '%s'", arg);
		c->wanted.detail = *arg == 'f' ? WI_DETAIL_FULL : WI_DETAIL_DEFAULT;
		return 0;
	case ARGP_KEY_ARG:
		add_root(state, arg, c);
		return 0;
	case ARGP_KEY_END:
		check(state, c);
		return 0;
	default:
		return wi_replay_cmd_key(key, arg, state);
	}
}

static const struct argp_child children[] = {
	{ &wi_argp_models, 0, "Models and simulation:", 2 },
	{ &wi_argp_input, 0, "How each trace is read:", 3 },
	{ &wi_argp_common, 0, NULL, -1 },
	{ 0 },
};

/* ---- signals ---- */

static volatile sig_atomic_t stop_signal;

static void remember(int sig)
{
	if (sig != SIGCHLD)
		stop_signal = sig;
}

/* They come only while the loop waits; SIGCHLD ends its waiting. */
static void watch_signals(sigset_t *wait_mask)
{
	static const int signals[] = { SIGINT, SIGTERM, SIGHUP, SIGCHLD };
	const struct sigaction sa = { .sa_handler = remember }, ignore = { .sa_handler = SIG_IGN };
	struct sigaction old;
	sigset_t blocked;

	sigemptyset(&blocked);
	for (size_t i = 0; i < sizeof(signals) / sizeof(*signals); i++) {
		if (signals[i] != SIGCHLD && !sigaction(signals[i], NULL, &old) && old.sa_handler == SIG_IGN)
			continue; /* nohup */
		sigaction(signals[i], &sa, NULL);
		sigaddset(&blocked, signals[i]);
	}
	sigaction(SIGPIPE, &ignore, NULL); /* a worker that died must not take us with it */
	sigprocmask(SIG_BLOCK, &blocked, wait_mask);
	for (size_t i = 0; i < sizeof(signals) / sizeof(*signals); i++)
		if (sigismember(&blocked, signals[i]))
			sigdelset(wait_mask, signals[i]);
}

static bool stop(void *ctx)
{
	static const struct timespec no_wait;
	const sigset_t *mask = ctx;

	ppoll(NULL, 0, &no_wait, mask); /* lets those in that have come */
	return stop_signal != 0;
}

/* Ends as the signal would have ended it, so that who called knows. */
static void die_of(int sig)
{
	sigset_t one;

	fflush(NULL);
	signal(sig, SIG_DFL);
	sigemptyset(&one);
	sigaddset(&one, sig);
	raise(sig);
	sigprocmask(SIG_UNBLOCK, &one, NULL);
}

/* ---- what an analysis is ---- */

static char *describe(void *ctx, const char *path, struct wi_err *err)
{
	const struct batch_cmd *c = ctx;

	return wi_session_bundle_describe(&c->wanted, path, err);
}

static char *tag_file(void *ctx, const char *path)
{
	static const char *const suffixes[] = { ".json", NULL };

	(void)ctx;
	return wi_side_file(path, suffixes);
}

static bool analyse(void *ctx, const char *path, struct wi_bundle *b, bool *no_trace, struct wi_err *err)
{
	const struct batch_cmd *c = ctx;

	wi_plugin_die_by_signal();
	return wi_session_bundle(&c->wanted, path, b, no_trace, err);
}

/* ---- the run ---- */

/* Three pipes a worker, and some to spare. */
static void allow_descriptors(uint32_t jobs)
{
	rlim_t wanted = 3 * (rlim_t)jobs + 64;
	struct rlimit r;

	if (getrlimit(RLIMIT_NOFILE, &r) || r.rlim_cur >= wanted)
		return;
	r.rlim_cur = wanted < r.rlim_max ? wanted : r.rlim_max;
	setrlimit(RLIMIT_NOFILE, &r);
}

static bool add_all(struct batch_cmd *c, struct wi_discover *d, struct wi_err *err)
{
	for (size_t i = 0; i < c->nr_roots; i++) {
		if (access(c->root[i], F_OK)) /* a wrong word on the command line, not one bad file of many */
			return wi_err_at(err, WI_EIO, c->root[i], WI_NO_OFFSET, "cannot open: %s", strerror(errno));
		if (!wi_discover_add(d, c->root[i], err))
			return false;
	}
	return !c->files_from || wi_discover_list(d, c->files_from, c->nul, err);
}

static int status_of(const struct batch_cmd *c, const struct wi_discover_count *found,
		     const struct wi_batch_count *done)
{
	uint64_t bad = found->nr[WI_FINDING_UNREADABLE] + done->no_row + done->kept_failures;

	for (int i = 0; i < WI_NR_RUN_STATUSES; i++)
		bad += i == WI_RUN_OK ? 0 : done->status[i];
	return c->strict && bad ? WI_EDAMAGED : WI_OK;
}

static bool run(struct batch_cmd *c, struct wi_discover *d, struct wi_store *store, struct wi_batch_count *done,
		struct wi_err *err)
{
	sigset_t wait_mask;
	const struct wi_batch_ops ops = { .ctx = c, .describe = describe, .tag_file = tag_file, .analyse = analyse };
	const struct wi_batch_events events = { .ctx = &c->tell,
						.trace = wi_batch_tell_trace,
						.note = wi_batch_tell_note,
						.progress = wi_batch_tell_progress,
						.stop = stop,
						.stop_ctx = &wait_mask,
						.wait_mask = &wait_mask };
	bool ok;

	if (!add_all(c, d, err))
		return false;
	watch_signals(&wait_mask);
	allow_descriptors(c->batch.jobs);
	ok = wi_batch_run(store, d, &c->batch, &ops, &events, done, err);
	wi_batch_tell_end(&c->tell);
	return ok;
}

static int batch(struct batch_cmd *c)
{
	struct wi_err err = { 0 };
	struct wi_batch_count done = { .known = 0 };
	struct wi_discover_count found;
	struct wi_discover *d = NULL;
	struct wi_store *store = NULL;
	int status = WI_OK;

	wi_batch_tell_init(&c->tell, c->r.o.quiet, c->r.o.verbose);
	c->search.tell = wi_batch_tell_finding;
	c->search.ctx = &c->tell;
	c->search.own = c->db;
	c->options = wi_bundle_wanted_check(&c->wanted, &err) ? wi_bundle_options(&c->wanted, &err) : NULL;
	c->wanted.options = c->options;
	d = c->options ? wi_discover_new(&c->search, &err) : NULL;
	store = d ? wi_store_open(c->db, WI_STORE_CREATE, &err) : NULL;
	if (store && run(c, d, store, &done, &err)) {
		found = wi_discover_count(d);
		wi_batch_summary(stdout, &found, &done);
		wi_out_close(stdout, NULL, &err);
		status = status_of(c, &found, &done);
	}
	wi_store_close(store, &err);
	wi_discover_free(d);
	if (err.code)
		status = wi_cmd_fail(&err);
	return status;
}

int wi_cmd_batch(int argc, char **argv)
{
	const struct argp argp = {
		own_options,
		own_key,
		"FOLDER|FILE...",
		"Analyses all traces below folders, found by what they hold, and keeps the results in a "
		"database. Traces that are in it already, under the same options and by the same version, "
		"are passed over: the same command goes on where it was stopped.\v"
		"doc/batch.md tells more; wakeif runs, diff and trend read the database.",
		children,
		NULL,
		NULL
	};
	struct batch_cmd c = { .r.o = { 0 } };
	cpu_set_t cpus;
	int status;

	c.batch.jobs = !sched_getaffinity(0, sizeof(cpus), &cpus) ? (uint32_t)CPU_COUNT(&cpus) : 1;
	c.batch.version = WAKEIF_VERSION;
	c.batch.limits.timeout_s = TIMEOUT_S;
	c.batch.limits.memory_bytes = (uint64_t)sysconf(_SC_PHYS_PAGES) * (uint64_t)sysconf(_SC_PAGESIZE);
	c.wanted.o = &c.r.o;
	c.wanted.replay = &c.r.wanted;
	wi_opts_parse(&argp, argc, argv, &c.r.o);
	c.r.wanted.specs = c.r.specs;
	c.batch.pattern = (const struct wi_tag_pattern *const *)c.pattern;
	status = batch(&c);
	for (size_t i = 0; i < c.batch.nr_patterns; i++)
		wi_tag_pattern_free(c.pattern[i]);
	free(c.pattern);
	free(c.root);
	free(c.options);
	wi_opts_fini(&c.r.o);
	if (stop_signal && status == WI_OK) {
		fprintf(stderr, "wakeif: stopped; the same command goes on from here\n");
		die_of(stop_signal);
	}
	return status;
}
