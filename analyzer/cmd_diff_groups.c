/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Groups of an archive's runs: --a, --b and --group. */
#include <stdlib.h>
#include <string.h>

#include "analyzer/cmd_diff.h"
#include "analyzer/report/columns.h"

#define NOBODY ((size_t)-1)

/* "kernel=6.1.*" is called 6.1.*: all of the selector where it has more to tell. */
static char *name_of(const char *selector)
{
	const char *eq = strchr(selector, '=');

	if (eq && eq > selector && eq[-1] != '!' && eq[1] && !strpbrk(eq + 1, ",="))
		return strdup(eq + 1);
	return strdup(selector);
}

static bool add_group(struct wi_diff_cmd *c, char *name, const char *selector, struct wi_err *err)
{
	struct wi_diff_group *more = name ? realloc(c->group, (c->nr_groups + 1) * sizeof(*more)) : NULL;

	if (!more) {
		free(name);
		return wi_err_nomem(err);
	}
	c->group = more;
	c->group[c->nr_groups++] = (struct wi_diff_group){ .name = name, .selector = selector };
	return true;
}

/* Two columns of one title tell nothing: then each shows its whole selector. */
static bool make_distinct(struct wi_diff_cmd *c, struct wi_err *err)
{
	for (size_t i = 0; i < c->nr_groups; i++)
		for (size_t k = i + 1; k < c->nr_groups; k++) {
			if (strcmp(c->group[i].name, c->group[k].name))
				continue;
			for (size_t n = 0; n < c->nr_groups; n++) {
				char *whole = strdup(c->group[n].selector);

				if (!whole)
					return wi_err_nomem(err);
				free((char *)c->group[n].name);
				c->group[n].name = whole;
			}
			return true;
		}
	return true;
}

/* Does a name differ from all others within what a column's title shows of it? */
static bool is_told_apart(const struct wi_diff_cmd *c, size_t nr, size_t i)
{
	for (size_t k = 0; k < nr; k++)
		if (k != i && !strncmp(c->group[i].name, c->group[k].name, WI_COLUMNS_TITLE - 1))
			return false;
	return true;
}

bool wi_diff_short_names(struct wi_diff_cmd *c, struct wi_err *err)
{
	size_t nr = c->nr_groups;
	bool apart = true;

	for (size_t i = 0; i < nr; i++)
		apart &= is_told_apart(c, nr, i);
	for (size_t i = 0; !apart && i < nr; i++) {
		char *letters;

		if (i < 26 ? asprintf(&letters, "%c", (int)('a' + i)) < 0 : asprintf(&letters, "a%zu", i) < 0)
			return wi_err_nomem(err);
		free((char *)c->group[i].name);
		c->group[i].name = letters;
	}
	return true;
}

/* NAME=EXPR, the name without the characters of selectors. */
static bool add_named(struct wi_diff_cmd *c, const char *text, struct wi_err *err)
{
	const char *eq = strchr(text, '=');

	if (!eq || eq == text || !eq[1])
		return wi_err_set(err, WI_EUSAGE, "--group: not NAME=SELECTOR: '%s'", text);
	for (size_t g = 0; g < c->nr_groups; g++)
		if (strlen(c->group[g].name) == (size_t)(eq - text) &&
		    !strncmp(c->group[g].name, text, (size_t)(eq - text)))
			return wi_err_set(err, WI_EUSAGE, "--group: two groups are named '%s'", c->group[g].name);
	return add_group(c, strndup(text, (size_t)(eq - text)), eq + 1, err);
}

static bool name_groups(struct wi_diff_cmd *c, struct wi_err *err)
{
	if (c->a && !add_group(c, name_of(c->a), c->a, err))
		return false;
	if (c->b && !add_group(c, name_of(c->b), c->b, err))
		return false;
	if (!make_distinct(c, err) || !wi_diff_short_names(c, err))
		return false;
	for (size_t i = 0; i < c->groups.nr; i++)
		if (!add_named(c, c->groups.word[i], err))
			return false;
	if (c->nr_groups < 2)
		return wi_err_set(
			err, WI_EUSAGE,
			"two groups are compared at least: --a SELECTOR --b SELECTOR, or --group NAME=SELECTOR");
	return true;
}

static bool overlap(const struct wi_diff_cmd *c, const struct wi_run *run, size_t a, size_t b, struct wi_err *err)
{
	char hash[WI_SHA256_HEX];

	wi_sha256_hex(run->sha256, hash);
	return wi_err_set(err, WI_EUSAGE, "groups '%.128s' and '%.128s' overlap: both hold trace %.12s (%.200s)",
			  c->group[a].name, c->group[b].name, hash, run->nr_paths ? run->path[0] : "no path");
}

/* Which group each selected run is of; those of none are left out of c->runs. */
static bool assign(struct wi_diff_cmd *c, struct wi_select *const *select, struct wi_err *err)
{
	c->runs.run = calloc(c->selected.nr + 1, sizeof(*c->runs.run));
	c->group_of = calloc(c->selected.nr + 1, sizeof(*c->group_of));
	if (!c->runs.run || !c->group_of)
		return wi_err_nomem(err);
	for (size_t i = 0; i < c->selected.nr; i++) {
		const struct wi_run *run = &c->selected.run[i];
		size_t of = NOBODY;

		for (size_t g = 0; g < c->nr_groups; g++) {
			if (!wi_select_matches(select[g], run))
				continue;
			if (of != NOBODY)
				return overlap(c, run, of, g, err);
			of = g;
		}
		if (of == NOBODY)
			continue;
		c->group_of[c->runs.nr] = of;
		c->runs.run[c->runs.nr++] = *run;
		c->group[of].nr_runs++;
		c->group[of].nr_status[run->status]++;
		c->group[of].nr_guessed += run->topology_guessed;
	}
	return true;
}

static bool find_runs(struct wi_diff_cmd *c, struct wi_select **select, struct wi_err *err)
{
	for (size_t g = 0; g < c->nr_groups; g++) {
		select[g] = wi_select_parse(c->group[g].selector, err);
		if (!select[g])
			return false;
	}
	if (!wi_archive_select(c->store, c->files.word[0], &c->o, &c->selected, err) || !assign(c, select, err))
		return false;
	for (size_t g = 0; g < c->nr_groups; g++)
		if (!c->group[g].nr_runs)
			return wi_err_at(err, WI_EUSAGE, c->files.word[0], WI_NO_OFFSET, "no run matches '%s'",
					 c->group[g].selector);
	return wi_archive_once(&c->runs, err);
}

bool wi_diff_groups(struct wi_diff_cmd *c, struct wi_err *err)
{
	struct wi_select **select = NULL;
	bool ok;

	c->store = wi_store_open(c->files.word[0], WI_STORE_READ, err);
	if (!c->store || !name_groups(c, err))
		return false;
	select = calloc(c->nr_groups, sizeof(*select));
	ok = select ? find_runs(c, select, err) : wi_err_nomem(err);
	for (size_t g = 0; select && g < c->nr_groups; g++)
		wi_select_free(select[g]);
	free(select);
	return ok;
}

void wi_diff_groups_fini(struct wi_diff_cmd *c)
{
	for (size_t g = 0; g < c->nr_groups; g++)
		free((char *)c->group[g].name);
	free(c->group);
	free(c->group_of);
	free(c->runs.run);
	wi_runs_fini(&c->selected);
}
