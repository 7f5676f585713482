/* SPDX-License-Identifier: GPL-2.0-or-later */
/* wakeif diff: groups of runs, or traces, compared; gates for regressions. */
#include "analyzer/cmd_diff.h"

#include <stdlib.h>
#include <string.h>

enum {
	KEY_A = 0x700,
	KEY_B,
	KEY_GROUP,
	KEY_BASELINE,
	KEY_BY,
	KEY_METRIC,
	KEY_ALL,
	KEY_STATS,
	KEY_HISTOGRAM,
	KEY_FAIL_IF,
	KEY_MARKDOWN
};

static const struct argp_option options[] = {
	{ "a", KEY_A, "SELECTOR", 0, "the first group: KEY=GLOB[,KEY=GLOB...], such as 'kernel=6.1.*'", 1 },
	{ "b", KEY_B, "SELECTOR", 0, "the second group", 1 },
	{ "group", KEY_GROUP, "NAME=SELECTOR", 0, "a group by that name; as many as there shall be", 1 },
	{ "baseline", KEY_BASELINE, "NAME", 0, "the group that others are compared with (default: the first)", 1 },
	{ "by", KEY_BY, "KEY[,KEY...]", 0, "a table for each value of these keys", 1 },
	{ "metric", KEY_METRIC, "PATH[,PATH...]", 0, "these metrics, by their JSON path; * and ? match", 2 },
	{ "all", KEY_ALL, NULL, 0, "all metrics", 2 },
	{ "histogram", KEY_HISTOGRAM, "PATH[,PATH...]", 0, "these histograms too, quantile by quantile: latency.wakeup",
	  2 },
	{ "stats", KEY_STATS, NULL, 0, "intervals and p values too; also -v", 2 },
	{ "fail-if", KEY_FAIL_IF, "'PATH > +5%'", 0, "exit with status 5 if that is so (doc/archives.md)", 3 },
	{ "model", 'm', "MODEL[,NAME=VALUE...]", 0, "of traces: replay this model too (wakeif models)", 4 },
	{ "markdown", KEY_MARKDOWN, NULL, 0, "tables in Markdown", 4 },
	{ "ns", 't', NULL, 0, "quantiles in nanoseconds", 4 },
	{ 0 },
};

bool wi_words_add(struct wi_words *w, const char *word)
{
	if (w->nr == w->room) {
		size_t room = w->room ? 2 * w->room : 8;
		const char **more = realloc(w->word, room * sizeof(*more));

		if (!more)
			return false;
		w->word = more;
		w->room = room;
	}
	w->word[w->nr++] = word;
	return true;
}

/* "a,b,c"; commas within brackets or braces belong to the path. Changes arg. */
static bool add_listed(struct wi_words *w, char *arg)
{
	int depth = 0;
	char *from = arg;

	for (char *s = arg;; s++) {
		bool end = !*s;

		depth += strchr("[({", *s) && *s ? 1 : strchr("])}", *s) && *s ? -1 : 0;
		if (!end && (*s != ',' || depth > 0))
			continue;
		*s = '\0';
		if (*from && !wi_words_add(w, from))
			return false;
		if (end)
			return true;
		from = s + 1;
	}
}

static error_t word_key(int key, char *arg, struct wi_diff_cmd *c, bool *ok)
{
	switch (key) {
	case KEY_GROUP:
		*ok = wi_words_add(&c->groups, arg);
		return 0;
	case KEY_BY:
		*ok = add_listed(&c->by, arg);
		return 0;
	case KEY_METRIC:
		*ok = add_listed(&c->metrics, arg);
		return 0;
	case KEY_HISTOGRAM:
		*ok = add_listed(&c->hists, arg);
		return 0;
	case KEY_FAIL_IF:
		*ok = wi_words_add(&c->gates, arg);
		return 0;
	case ARGP_KEY_ARG:
		*ok = wi_words_add(&c->files, arg);
		return 0;
	default:
		return ARGP_ERR_UNKNOWN;
	}
}

static void add_model(struct wi_diff_cmd *c, const char *arg, struct argp_state *state)
{
	struct wi_err err = { 0 };
	size_t at = 0;

	if (c->r.wanted.nr_specs == WI_REPLAY_MODELS)
		argp_error(state, "-m: more than %u models", WI_REPLAY_MODELS);
	if (!wi_replay_spec_check(arg, &at, &err))
		argp_error(state, "-m: %s", err.msg);
	c->r.specs[c->r.wanted.nr_specs++] = arg;
}

static error_t own_key(int key, char *arg, struct argp_state *state)
{
	struct wi_diff_cmd *c = state->input;
	bool ok = true;
	error_t rc;

	switch (key) {
	case ARGP_KEY_INIT:
		c->r.wanted.seed = 1; /* as the commands that replay have it */
		state->child_inputs[0] = &c->r.o;
		for (size_t i = 1; i < 4; i++)
			state->child_inputs[i] = &c->o;
		return 0;
	case 'm':
		add_model(c, arg, state);
		return 0;
	case KEY_A:
		c->a = arg;
		return 0;
	case KEY_B:
		c->b = arg;
		return 0;
	case KEY_BASELINE:
		c->baseline_name = arg;
		return 0;
	case KEY_ALL:
		c->all = true;
		return 0;
	case KEY_STATS:
		c->stats = true;
		return 0;
	case KEY_MARKDOWN:
		c->o.format = WI_ARCHIVE_MARKDOWN;
		return 0;
	case 't':
		c->o.nanoseconds = true;
		return 0;
	case ARGP_KEY_END:
		if (c->r.o.path_given && !wi_words_add(&c->files, c->r.o.path))
			argp_failure(state, WI_EIO, 0, "out of memory");
		if (!c->files.nr)
			argp_error(state, "neither a database nor traces are named");
		return 0;
	default:
		rc = word_key(key, arg, c, &ok);
		if (!ok)
			argp_failure(state, WI_EIO, 0, "out of memory");
		return rc;
	}
}

static const struct argp_child children[] = {
	{ &wi_argp_input, 0, "Traces:", 5 },
	{ &wi_argp_archive_runs, 0, "Runs of an archive:", 6 },
	{ &wi_argp_archive_stats, 0, "Statistics:", 7 },
	{ &wi_argp_archive_out, 0, "Output:", 8 },
	{ 0 },
};

/* One file that SQLite wrote is an archive; everything else is a trace, whatever it is called. */
static bool is_archive(const char *path)
{
	static const char magic[] = "SQLite format 3";
	char head[sizeof(magic)];
	FILE *f = fopen(path, "re");
	bool is = f && fread(head, 1, sizeof(head), f) == sizeof(head) && !memcmp(head, magic, sizeof(magic));

	if (f)
		fclose(f);
	return is;
}

/* An archive has been analysed already: what would change that is not silently left out. */
static bool is_free_of_trace_options(const struct wi_diff_cmd *c, struct wi_err *err)
{
	const struct wi_opts *o = &c->r.o;

	if (c->r.wanted.nr_specs)
		return wi_err_set(err, WI_EUSAGE, "-m is for traces: an archive has what batch -m put into it");
	if (o->topology || o->nr_tasks || o->open.buffer || o->quiet_unknown || o->time.percent || o->time.start_ns ||
	    o->time.stop_ns != UINT64_MAX)
		return wi_err_set(err, WI_EUSAGE, "options of traces tell nothing of an archive: batch takes them");
	return true;
}

static bool find_groups(struct wi_diff_cmd *c, struct wi_err *err)
{
	bool selected = c->a || c->b || c->groups.nr;
	size_t archives = 0;

	for (size_t i = 0; i < c->files.nr; i++)
		archives += is_archive(c->files.word[i]);
	if (archives && c->files.nr > 1)
		return wi_err_set(err, WI_EUSAGE,
				  "one archive, or traces, is what diff compares; archives are united by wakeif merge");
	if (archives || selected)
		return is_free_of_trace_options(c, err) && wi_diff_groups(c, err);
	if (c->files.nr < 2)
		return wi_err_at(err, WI_EUSAGE, c->files.word[0], WI_NO_OFFSET,
				 "is not an archive, and one trace alone is nothing to compare");
	if (c->by.nr || c->o.select || c->o.analysis) /* they would say nothing */
		return wi_err_set(err, WI_EUSAGE, "--by, --select and --analysis are for archives");
	return wi_diff_traces(c, err);
}

static bool find_baseline(struct wi_diff_cmd *c, struct wi_err *err)
{
	if (!c->baseline_name)
		return true;
	for (size_t g = 0; g < c->nr_groups; g++)
		if (!strcmp(c->group[g].name, c->baseline_name) || !strcmp(c->group[g].selector, c->baseline_name)) {
			c->baseline = g;
			return true;
		}
	return wi_err_set(err, WI_EUSAGE, "--baseline: no group is named '%s'; there are %s%s%s%s", c->baseline_name,
			  c->group[0].name, ", ", c->group[1].name, c->nr_groups > 2 ? ", ..." : "");
}

static bool print(const struct wi_diff_cmd *c, const char *source, struct wi_err *err)
{
	static bool (*const write[])(FILE *, const struct wi_diff_report *, struct wi_err *) = {
		[WI_ARCHIVE_TEXT] = wi_diff_text,
		[WI_ARCHIVE_JSON] = wi_diff_json,
		[WI_ARCHIVE_CSV] = wi_diff_csv,
		[WI_ARCHIVE_MARKDOWN] = wi_diff_markdown,
	};
	const struct wi_diff_report report = {
		.version = WAKEIF_VERSION,
		.source = source,
		.group = c->group,
		.nr_groups = c->nr_groups,
		.baseline = c->baseline,
		.by = c->by.word,
		.nr_by = c->by.nr,
		.stratum = c->stratum,
		.nr_strata = c->nr_strata,
		.verdict = c->verdict,
		.nr_verdicts = c->nr_verdicts,
		.resamples = c->o.resamples ? c->o.resamples : WI_RESAMPLES,
		.seed = c->o.seed,
		.stats = c->stats || c->o.verbose,
		.nanoseconds = c->o.nanoseconds,
	};
	FILE *out = wi_out_open(c->o.out, err);
	bool ok;

	if (!out)
		return false;
	ok = write[c->o.format](out, &report, err);
	return wi_out_close(out, c->o.out, err) && ok;
}

/* What a script that does not read the output has to know; what passed is told in the output alone. */
static int end(const struct wi_diff_cmd *c)
{
	struct wi_err failed = { 0 };

	if (!c->nr_failed)
		return c->damaged ? WI_EDAMAGED : WI_OK;
	if (c->o.quiet)
		return WI_EGATE;
	for (size_t i = 0; c->o.format == WI_ARCHIVE_CSV && i < c->nr_verdicts; i++) {
		struct wi_err one = { 0 };

		if (c->verdict[i].passed == WI_DIFF_PASSED)
			continue;
		wi_err_set(&one, WI_EGATE, "gate '%s' %s: %s", c->verdict[i].gate,
			   wi_diff_passed_name(c->verdict[i].passed), c->verdict[i].found);
		wi_cmd_fail(&one); /* tables of values have no place for it */
	}
	wi_err_set(&failed, WI_EGATE, "%zu of %zu verdicts of gates failed", c->nr_failed, c->nr_verdicts);
	return wi_cmd_fail(&failed);
}

static void words_fini(struct wi_diff_cmd *c)
{
	struct wi_words *const all[] = { &c->files, &c->groups, &c->metrics, &c->hists, &c->by, &c->gates };

	for (size_t i = 0; i < sizeof(all) / sizeof(all[0]); i++)
		free(all[i]->word);
}

int wi_cmd_diff(int argc, char **argv)
{
	const struct argp argp = {
		options,
		own_key,
		"DB --a SELECTOR --b SELECTOR\nTRACE TRACE...",
		"Compares groups of an archive's runs, or traces: did it help, and is it noise? Differences to the "
		"baseline with their 95 % intervals, in the form of mmtests.\v"
		"doc/archives.md says how to compare, doc/statistics.md what the numbers are.",
		children,
		NULL,
		NULL
	};
	struct wi_diff_cmd c = { .store = NULL };
	struct wi_err err = { 0 };
	bool ok;

	wi_opts_parse(&argp, argc, argv, &c.r.o);
	ok = wi_diff_gates_parse(&c, &err) && find_groups(&c, &err) && find_baseline(&c, &err) &&
	     wi_diff_compare(&c, &err) && wi_diff_gates_judge(&c, &err) &&
	     print(&c, c.files.nr == 1 ? c.files.word[0] : NULL, &err);
	int status = ok ? end(&c) : wi_cmd_fail(&err);

	wi_diff_gates_fini(&c);
	wi_diff_compare_fini(&c);
	wi_store_close(c.store, &err); /* nothing was written */
	wi_diff_groups_fini(&c);
	words_fini(&c);
	wi_opts_fini(&c.r.o);
	return status;
}
