/* SPDX-License-Identifier: GPL-2.0-or-later */
/* wakeif smt: who shared cores with whom. */
#include <ctype.h>
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "analyzer/cmd_print.h"

#define MAX_LINE 1024
#define MAX_RULES 1000000

struct smt_opts {
	struct wi_opts o;
	const char *by;
	enum wi_smt_group group;
	struct wi_group_rule *rules; /* texts owned */
	size_t nr_rules;
	const char *cookies; /* NULL: not asked for */
};

enum { KEY_BY = 0x200, KEY_COOKIES };

static const struct argp_option own_options[] = {
	{ "by", KEY_BY, "comm|task|tgid|cgroup|FILE", 0,
	  "how tasks are grouped in pairs (default: comm; task: each by itself). FILE has lines \"GROUP pid PID\" or "
	  "\"GROUP comm NAME\"; a "
	  "name is used when no pid "
	  "is listed",
	  2 },
	{ "cookies", KEY_COOKIES, "tgid|comm|cgroup|FILE", 0,
	  "also what core scheduling would have forbidden, with these cookies. FILE has lines \"COOKIE KIND VALUE\", "
	  "KIND "
	  "one of pid, tgid, comm, regex, cgroup; tasks on no line, and those on lines of COOKIE 0, are untagged",
	  2 },
	{ 0 },
};

static error_t own_key(int key, char *arg, struct argp_state *state)
{
	struct smt_opts *s = state->input;

	if (key == KEY_COOKIES) {
		s->cookies = arg;
		return 0;
	}
	if (key != KEY_BY)
		return wi_opts_key(key, arg, state);
	s->by = arg;
	if (!strcmp(arg, "comm"))
		s->group = WI_GROUP_COMM;
	else if (!strcmp(arg, "task"))
		s->group = WI_GROUP_TASK;
	else if (!strcmp(arg, "tgid"))
		s->group = WI_GROUP_TGID;
	else if (!strcmp(arg, "cgroup"))
		s->group = WI_GROUP_CGROUP;
	else
		s->group = WI_GROUP_MAP;
	return 0;
}

static const struct argp_child children[] = {
	{ &wi_argp_input, 0, "Input:", 1 },
	{ &wi_argp_output, 0, "Output:", 4 },
	{ &wi_argp_common, 0, NULL, -1 },
	{ 0 },
};

static bool add_rule(struct smt_opts *s, int32_t pid, const char *comm, const char *group, struct wi_err *err)
{
	struct wi_group_rule *more = realloc(s->rules, (s->nr_rules + 1) * sizeof(*more));
	struct wi_group_rule *rule;

	if (!more)
		return wi_err_nomem(err);
	s->rules = more;
	rule = &s->rules[s->nr_rules];
	rule->pid = pid;
	rule->comm = comm ? strdup(comm) : NULL;
	rule->group = strdup(group);
	s->nr_rules++;
	return (rule->group && (!comm || rule->comm)) || wi_err_nomem(err);
}

/* "GROUP pid 123" or "GROUP comm NAME"; the name is the rest of the line. */
static bool take_line(struct smt_opts *s, char *line, unsigned int nr, struct wi_err *err)
{
	char *group = line + strspn(line, " \t"), *kind, *value, *end;
	long pid;

	line[strcspn(line, "\r\n")] = '\0';
	if (!*group || *group == '#')
		return true;
	kind = group + strcspn(group, " \t");
	if (*kind)
		*kind++ = '\0';
	kind += strspn(kind, " \t");
	value = kind + strcspn(kind, " \t");
	if (*value)
		*value++ = '\0';
	if (!strcmp(kind, "comm") && *value)
		return add_rule(s, -1, value, group, err);
	errno = 0;
	pid = strtol(value, &end, 10);
	if (!strcmp(kind, "pid") && isdigit((unsigned char)*value) && !*end && !errno && pid <= WI_PID_MAX)
		return add_rule(s, (int32_t)pid, NULL, group, err);
	return wi_err_set(err, WI_EUSAGE, "--by: %s:%u: neither \"GROUP pid PID\" nor \"GROUP comm NAME\"", s->by, nr);
}

static bool read_map(struct smt_opts *s, struct wi_err *err)
{
	FILE *in = fopen(s->by, "re");
	char line[MAX_LINE];
	bool ok = true;

	if (!in)
		return wi_err_set(err, WI_EUSAGE,
				  "--by: neither comm, task, tgid, cgroup nor a readable file: '%s': %s", s->by,
				  strerror(errno));
	for (unsigned int nr = 1; ok && fgets(line, sizeof(line), in); nr++) {
		if (!strchr(line, '\n') && !feof(in))
			ok = wi_err_set(err, WI_EUSAGE, "--by: %s:%u: line longer than %d bytes", s->by, nr,
					MAX_LINE - 2);
		else if (nr > MAX_RULES)
			ok = wi_err_set(err, WI_EUSAGE, "--by: %s: more than %d lines", s->by, MAX_RULES);
		else
			ok = take_line(s, line, nr, err);
	}
	if (ok && ferror(in))
		ok = wi_err_set(err, WI_EIO, "%s: cannot be read", s->by);
	fclose(in);
	if (ok && !s->nr_rules)
		ok = wi_err_set(err, WI_EUSAGE, "--by: %s: no groups in it", s->by);
	return ok;
}

static bool write(FILE *out, const struct wi_report *rep, const void *ctx, struct wi_err *err)
{
	const struct smt_opts *s = ctx;

	switch (s->o.format) {
	case WI_FORMAT_JSON:
		return wi_report_json(out, rep, WI_SECTION_SMT, err);
	case WI_FORMAT_CSV:
		return wi_report_csv(out, rep, s->cookies ? "smt_cookies" : "smt_pairs", err);
	default:
		wi_cmd_headline(out, rep);
		if (!rep->results->smt.present) {
			fputs("no core of this machine has two online threads: nothing was shared\n", out);
			return true;
		}
		return wi_report_text_smt(out, rep, s->o.worst ? s->o.worst : 20, err);
	}
}

int wi_cmd_smt(int argc, char **argv)
{
	const struct argp argp = { own_options,
				   own_key,
				   "[FILE]",
				   "Tells who shared cores with whom: time with 0, 1, 2 ... busy threads, co-run that "
				   "an idle core could have avoided, pairs of "
				   "task groups by the time they shared a core, and what tasks lost to busy siblings. "
				   "--csv gives the pairs, with --cookies the cores by cookies.",
				   children,
				   NULL,
				   NULL };
	struct smt_opts opts = { 0 };
	struct wi_session s;
	struct wi_err err = { 0 };
	int status;

	wi_opts_parse(&argp, argc, argv, &opts.o);
	if (opts.group == WI_GROUP_MAP)
		read_map(&opts, &err);

	struct wi_cookie_map *cookies = opts.cookies && !err.code ? wi_cookie_map_new(opts.cookies, &err) : NULL;
	struct wi_metrics_opts wanted = {
		.cookies = cookies, .smt_group = opts.group, .group_rules = opts.rules, .nr_group_rules = opts.nr_rules
	};

	if (wi_session_start(&s, &opts.o, &wanted, &err) == WI_OK)
		wi_session_print(&s, write, &opts, &err);
	status = wi_session_end(&s, &err);
	wi_opts_fini(&opts.o);
	for (size_t i = 0; i < opts.nr_rules; i++) {
		free((char *)opts.rules[i].comm);
		free((char *)opts.rules[i].group);
	}
	free(opts.rules);
	wi_cookie_map_free(cookies);
	return status;
}
