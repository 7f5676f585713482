/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "analyzer/cmd_archive.h"

#include <ctype.h>
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "analyzer/stats/bootstrap.h"
#include "analyzer/store/glob.h"

enum { KEY_SELECT = 0x600, KEY_ANALYSIS, KEY_SEED, KEY_RESAMPLES, KEY_JSON, KEY_CSV };

/* ---- options ---- */

static const struct argp_option runs_options[] = {
	{ "select", KEY_SELECT, "KEY=GLOB[,...]", 0, "only runs that match all of these (doc/archives.md)", 0 },
	{ "analysis", KEY_ANALYSIS, "GLOB", 0, "of traces that were analysed in several ways: this one", 0 },
	{ 0 },
};

static error_t runs_key(int key, char *arg, struct argp_state *state)
{
	struct wi_archive_opts *o = state->input;

	switch (key) {
	case KEY_SELECT:
		o->select = arg;
		return 0;
	case KEY_ANALYSIS:
		o->analysis = arg;
		return 0;
	default:
		return ARGP_ERR_UNKNOWN;
	}
}

const struct argp wi_argp_archive_runs = { runs_options, runs_key, NULL, NULL, NULL, NULL, NULL };

static const struct argp_option stats_options[] = {
	{ "seed", KEY_SEED, "N", 0, "of the random numbers of intervals (default: 1)", 0 },
	{ "resamples", KEY_RESAMPLES, "N", 0, "of the bootstrap (default: 10000)", 0 },
	{ 0 },
};

static bool parse_number(const char *text, uint64_t low, uint64_t high, uint64_t *n)
{
	char *end;
	unsigned long long v;

	errno = 0;
	v = strtoull(text, &end, 10);
	if (!isdigit((unsigned char)text[0]) || *end || errno || v < low || v > high)
		return false;
	*n = v;
	return true;
}

static error_t stats_key(int key, char *arg, struct argp_state *state)
{
	struct wi_archive_opts *o = state->input;
	uint64_t n = 0;

	switch (key) {
	case ARGP_KEY_INIT:
		o->seed = 1;
		return 0;
	case KEY_SEED:
		if (!parse_number(arg, 0, UINT64_MAX, &o->seed))
			argp_error(state, "--seed: not a number: '%s'", arg);
		return 0;
	case KEY_RESAMPLES:
		if (!parse_number(arg, WI_RESAMPLES_MIN, WI_RESAMPLES_MAX, &n))
			argp_error(state, "--resamples: not a number from %d to %d: '%s'", WI_RESAMPLES_MIN,
				   WI_RESAMPLES_MAX, arg);
		o->resamples = (uint32_t)n;
		return 0;
	default:
		return ARGP_ERR_UNKNOWN;
	}
}

const struct argp wi_argp_archive_stats = { stats_options, stats_key, NULL, NULL, NULL, NULL, NULL };

static const struct argp_option out_options[] = {
	{ "json", KEY_JSON, NULL, 0, "JSON (doc/json.md)", 0 },
	{ "csv", KEY_CSV, NULL, 0, "comma-separated values", 0 },
	{ "output", 'o', "FILE", 0, "write there instead of to standard output", 0 },
	{ "quiet", 'q', NULL, 0, "no notes on standard error", -1 },
	{ "verbose", 'v', NULL, 0, "more detail", -1 },
	{ "help", 'h', NULL, 0, "this text", -1 },
	{ 0 },
};

static error_t out_key(int key, char *arg, struct argp_state *state)
{
	struct wi_archive_opts *o = state->input;

	switch (key) {
	case KEY_JSON:
		o->format = WI_ARCHIVE_JSON;
		return 0;
	case KEY_CSV:
		o->format = WI_ARCHIVE_CSV;
		return 0;
	case 'o':
		o->out = arg;
		return 0;
	case 'q':
		o->quiet = true;
		return 0;
	case 'v':
		o->verbose = true;
		return 0;
	case 'h':
		argp_state_help(state, stdout, ARGP_HELP_STD_HELP);
		return 0;
	default:
		return ARGP_ERR_UNKNOWN;
	}
}

const struct argp wi_argp_archive_out = { out_options, out_key, NULL, NULL, NULL, NULL, NULL };

/* ---- runs ---- */

/* "SELECT,analysis=GLOB" with what the language of selectors would take for its own escaped. NULL: out of memory. */
static char *whole_selector(const struct wi_archive_opts *o)
{
	char *text = NULL;
	size_t size;
	FILE *f = open_memstream(&text, &size);
	bool failed;

	if (!f)
		return NULL;
	fputs(o->select ? o->select : "", f);
	if (o->analysis) {
		fprintf(f, "%sanalysis=", o->select && *o->select ? "," : "");
		for (const char *s = o->analysis; *s; s++) {
			if (strchr(",|", *s))
				putc('\\', f);
			putc(*s, f);
		}
	}
	failed = ferror(f);
	if (fclose(f) || failed) {
		free(text);
		return NULL;
	}
	return text;
}

bool wi_archive_select(struct wi_store *store, const char *path, const struct wi_archive_opts *o, struct wi_runs *out,
		       struct wi_err *err)
{
	char *text = whole_selector(o);
	struct wi_select *select = NULL;
	bool ok;

	memset(out, 0, sizeof(*out));
	if (!text)
		return wi_err_nomem(err);
	select = wi_select_parse(text, err);
	ok = select && wi_select_runs(store, select, out, err);
	if (ok && !out->nr && *text)
		ok = wi_err_at(err, WI_EUSAGE, path, WI_NO_OFFSET, "no run matches '%s'", text);
	wi_select_free(select);
	free(text);
	return ok;
}

bool wi_archive_once(const struct wi_runs *runs, struct wi_err *err)
{
	size_t twice = wi_runs_twice(runs);
	char hash[WI_SHA256_HEX];

	if (twice == (size_t)-1)
		return true;
	const struct wi_run *a = &runs->run[twice], *b = NULL;

	for (size_t i = 0; i < runs->nr && !b; i++)
		if (i != twice && !memcmp(runs->run[i].sha256, a->sha256, WI_SHA256_BYTES))
			b = &runs->run[i];
	hash[12] = '\0';
	wi_sha256_hex(a->sha256, hash);
	return wi_err_set(
		err, WI_EUSAGE,
		"trace %.12s (%.64s) is in twice, analysed in different ways: choose with --analysis GLOB: %.160s "
		"and %.160s",
		hash, a->nr_paths ? a->path[0] : "no path", a->analysis, b ? b->analysis : "another");
}

char *wi_archive_value(const struct wi_run *run, const char *key, bool *ok)
{
	enum { MOST = 64 };
	const char *value[MOST];
	char hash[WI_SHA256_HEX], *text = NULL;
	size_t nr = wi_run_values(run, key, value, MOST, hash), size, shown = nr < MOST ? nr : MOST;
	bool date = !nr && !strcmp(key, "day"), failed;
	FILE *f;

	if (date)
		nr = shown = wi_run_values(run, "date", value, MOST, hash);
	if (!nr)
		return NULL;
	shown = nr < MOST ? nr : MOST;
	f = open_memstream(&text, &size);
	if (!f) {
		*ok = false;
		return NULL;
	}
	for (size_t i = 0; i < shown; i++) {
		int len = date && strlen(value[i]) > 10 && strchr("T ", value[i][10]) ? 10 : (int)strlen(value[i]);

		fprintf(f, "%s%.*s", i ? "|" : "", len, value[i]);
	}
	if (nr > MOST)
		fprintf(f, "|(%zu more)", nr - MOST);
	failed = ferror(f);
	if (fclose(f) || failed) {
		free(text);
		*ok = false;
		return NULL;
	}
	return text;
}

static int compare_numbers(const char **a, const char **b)
{
	const char *x = *a, *y = *b;
	size_t nx, ny;
	int order;

	x += strspn(x, "0");
	y += strspn(y, "0");
	nx = strspn(x, "0123456789");
	ny = strspn(y, "0123456789");
	*a = x + nx;
	*b = y + ny;
	if (nx != ny)
		return nx < ny ? -1 : 1;
	order = memcmp(x, y, nx);
	return order;
}

int wi_archive_compare(const char *a, const char *b)
{
	const char *x = a, *y = b;

	if (!a || !b)
		return !a - !b;
	while (*x && *y) {
		if (isdigit((unsigned char)*x) && isdigit((unsigned char)*y)) {
			int order = compare_numbers(&x, &y);

			if (order)
				return order;
			continue;
		}
		if (*x != *y)
			return (unsigned char)*x < (unsigned char)*y ? -1 : 1;
		x++;
		y++;
	}
	if (*x || *y)
		return *x ? 1 : -1;
	return strcmp(a, b); /* "01" and "1" are not the same */
}

/* ---- metrics ---- */

static bool is_listed(const struct wi_path_list *list, const char *path)
{
	for (size_t i = 0; i < list->nr; i++)
		if (list->path[i] == path)
			return true;
	return false;
}

static bool list_add(struct wi_path_list *list, const char *path)
{
	if (list->nr == list->room) {
		size_t room = list->room ? 2 * list->room : 32;
		const char **more = realloc(list->path, room * sizeof(*more));

		if (!more)
			return false;
		list->path = more;
		list->room = room;
	}
	list->path[list->nr++] = path;
	return true;
}

size_t wi_archive_match(const struct wi_texts *all, const char *pattern, struct wi_path_list *list, struct wi_err *err)
{
	size_t matched = 0, before = list->nr;

	for (size_t i = 0; i < all->nr; i++) {
		if (strcmp(pattern, all->text[i]) && !wi_glob(pattern, all->text[i]))
			continue;
		matched++;
		/* Only what earlier patterns found can be in twice. */
		if (before && is_listed(&(struct wi_path_list){ list->path, before, before }, all->text[i]))
			continue;
		if (!list_add(list, all->text[i])) {
			wi_err_nomem(err);
			return 0;
		}
	}
	return matched;
}

void wi_path_list_fini(struct wi_path_list *list)
{
	free(list->path);
	memset(list, 0, sizeof(*list));
}

bool wi_archive_no_metric(struct wi_store *store, const char *what, const char *text, bool hists, struct wi_err *err)
{
	const char *kind = hists ? "histogram" : "metric";
	bool is_pattern = wi_glob_is_pattern(text);
	char *nearest = is_pattern ? NULL : wi_select_nearest(store, text, hists);

	if (is_pattern)
		wi_err_set(err, WI_EUSAGE, "%s: no %s of these runs matches '%s'", what, kind, text);
	else if (nearest && strcmp(nearest, text))
		wi_err_set(err, WI_EUSAGE, "%s: no %s of these runs is named '%s'; did you mean '%s'?", what, kind,
			   text, nearest);
	else
		wi_err_set(err, WI_EUSAGE, "%s: no %s of these runs is named '%s'%s", what, kind, text,
			   nearest ? "; others of the database have it" : "");
	free(nearest);
	return false;
}
