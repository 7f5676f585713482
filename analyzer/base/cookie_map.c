/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "analyzer/base/cookie_map.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "analyzer/base/names.h"
#include "analyzer/base/pattern.h"

#define MAX_LINE 1024
#define MAX_RULES 65536
#define MAX_PID 0x3fffffff

enum map_kind { BY_TGID, BY_COMM, BY_CGROUP, BY_FILE };

/* In the order in which they are asked. */
enum rule_kind { RULE_PID, RULE_TGID, RULE_COMM, RULE_REGEX, RULE_CGROUP, NR_RULE_KINDS };

static const char *const rule_name[] = { "pid", "tgid", "comm", "regex", "cgroup" };

struct rule {
	uint32_t cookie;
	int32_t number;
	char *text;
	regex_t regex; /* RULE_REGEX */
};

struct wi_cookie_map {
	enum map_kind kind;
	struct wi_names *names; /* a cookie's number is its name's id */
	struct {
		struct rule *rule;
		uint32_t nr, cap;
	} by[NR_RULE_KINDS];
	uint32_t nr_rules;
	bool failed;
};

/* ---- reading ---- */

static struct rule *add_rule(struct wi_cookie_map *map, enum rule_kind kind, struct wi_err *err)
{
	if (map->by[kind].nr == map->by[kind].cap) {
		uint32_t cap = map->by[kind].cap ? map->by[kind].cap * 2 : 16;
		struct rule *more = realloc(map->by[kind].rule, cap * sizeof(*more));

		if (!more) {
			wi_err_nomem(err);
			return NULL;
		}
		map->by[kind].rule = more;
		map->by[kind].cap = cap;
	}
	struct rule *r = &map->by[kind].rule[map->by[kind].nr];
	*r = (struct rule){ .cookie = WI_COOKIE_NONE };
	return r;
}

static bool number(const char *text, int32_t *out)
{
	char *end;

	if (*text < '0' || *text > '9')
		return false;
	errno = 0;
	long n = strtol(text, &end, 10);
	*out = (int32_t)n;
	return !*end && !errno && n <= MAX_PID;
}

static bool set_value(struct rule *r, enum rule_kind kind, const char *value, bool *usable, struct wi_err *err)
{
	*usable = true;
	if (kind == RULE_PID || kind == RULE_TGID) {
		*usable = number(value, &r->number);
		return true;
	}
	if (kind == RULE_REGEX)
		return wi_pattern_compile(&r->regex, "--cookies", value, err);
	r->text = strdup(value);
	return r->text || wi_err_nomem(err);
}

static bool set_cookie(struct wi_cookie_map *map, struct rule *r, const char *cookie, struct wi_err *err)
{
	if (!strcmp(cookie, "0"))
		return true;
	r->cookie = wi_names_intern(map->names, cookie, strlen(cookie));
	return r->cookie != WI_NAME_NONE || wi_err_nomem(err);
}

/* Cuts the first word off *at and returns it; "" when there is none. */
static char *word(char **at)
{
	char *w = *at + strspn(*at, " \t");

	*at = w + strcspn(w, " \t");
	if (**at)
		*(*at)++ = '\0';
	return w;
}

/* "COOKIE KIND VALUE"; names, expressions and cgroups are the rest of the line. */
static bool take_line(struct wi_cookie_map *map, const char *file, unsigned int nr, char *line, struct wi_err *err)
{
	enum rule_kind kind = 0;
	bool usable;

	line[strcspn(line, "\r\n")] = '\0';
	char *at = line, *cookie = word(&at), *name = word(&at), *value = at + strspn(at, " \t");
	if (!*cookie || *cookie == '#')
		return true;
	while (kind < NR_RULE_KINDS && strcmp(name, rule_name[kind]))
		kind++;
	if (kind == NR_RULE_KINDS || !*value || !strcmp(cookie, "<...>"))
		return wi_err_set(err, WI_EUSAGE, "--cookies: %s:%u: not \"COOKIE pid|tgid|comm|regex|cgroup VALUE\"",
				  file, nr);
	if (map->nr_rules == MAX_RULES)
		return wi_err_set(err, WI_EUSAGE, "--cookies: %s: more than %d lines", file, MAX_RULES);
	struct rule *r = add_rule(map, kind, err);
	if (!r || !set_value(r, kind, value, &usable, err))
		return false;
	map->by[kind].nr++; /* so that it is freed, whatever follows */
	map->nr_rules++;
	if (!usable)
		return wi_err_set(err, WI_EUSAGE, "--cookies: %s:%u: no number of a task: '%s'", file, nr, value);
	return set_cookie(map, r, cookie, err);
}

static bool read_file(struct wi_cookie_map *map, const char *file, struct wi_err *err)
{
	FILE *in = fopen(file, "re");
	char line[MAX_LINE];
	bool ok = true;

	if (!in)
		return wi_err_set(err, WI_EUSAGE, "--cookies: neither tgid, comm, cgroup nor a readable file: '%s': %s",
				  file, strerror(errno));
	for (unsigned int nr = 1; ok && fgets(line, sizeof(line), in); nr++) {
		if (!strchr(line, '\n') && !feof(in))
			ok = wi_err_set(err, WI_EUSAGE, "--cookies: %s:%u: line longer than %d bytes", file, nr,
					MAX_LINE - 2);
		else
			ok = take_line(map, file, nr, line, err);
	}
	if (ok && ferror(in))
		ok = wi_err_set(err, WI_EIO, "%s: cannot be read", file);
	fclose(in);
	if (ok && !map->nr_rules)
		ok = wi_err_set(err, WI_EUSAGE, "--cookies: %s: no cookies in it", file);
	return ok;
}

struct wi_cookie_map *wi_cookie_map_new(const char *text, struct wi_err *err)
{
	struct wi_cookie_map *map = calloc(1, sizeof(*map));

	if (map)
		map->names = wi_names_new();
	if (!map || !map->names) {
		wi_err_nomem(err);
		wi_cookie_map_free(map);
		return NULL;
	}
	map->kind = !strcmp(text, "tgid")     ? BY_TGID
		    : !strcmp(text, "comm")   ? BY_COMM
		    : !strcmp(text, "cgroup") ? BY_CGROUP
					      : BY_FILE;
	if (map->kind == BY_FILE && !read_file(map, text, err)) {
		wi_cookie_map_free(map);
		return NULL;
	}
	return map;
}

void wi_cookie_map_free(struct wi_cookie_map *map)
{
	if (!map)
		return;
	for (int k = 0; k < NR_RULE_KINDS; k++) {
		for (uint32_t i = 0; i < map->by[k].nr; i++) {
			free(map->by[k].rule[i].text);
			if (k == RULE_REGEX)
				regfree(&map->by[k].rule[i].regex);
		}
		free(map->by[k].rule);
	}
	wi_names_free(map->names);
	free(map);
}

/* ---- asking ---- */

bool wi_is_kernel_thread(int32_t pid, const char *comm)
{
	static const char *const begins[] = { "kworker/",  "ksoftirqd/", "migration/", "cpuhp/",       "rcu_",
					      "rcub/",	   "rcuc/",	 "rcuog/",     "rcuop/",       "rcuos/",
					      "watchdog/", "irq/",	 "irq_work/",  "idle_inject/", "ktimers/" };
	static const char *const is[] = { "kthreadd",	"khugepaged", "ksmd",	  "kauditd",
					  "khungtaskd", "oom_reaper", "kdevtmpfs" };

	if (pid == 2)
		return true;
	if (!comm)
		return false;
	for (size_t i = 0; i < sizeof(begins) / sizeof(*begins); i++)
		if (!strncmp(comm, begins[i], strlen(begins[i])))
			return true;
	for (size_t i = 0; i < sizeof(is) / sizeof(*is); i++)
		if (!strcmp(comm, is[i]))
			return true;
	return !strncmp(comm, "kswapd", 6) || !strncmp(comm, "kcompactd", 9);
}

static uint32_t named(struct wi_cookie_map *map, const char *text)
{
	uint32_t id = text ? wi_names_intern(map->names, text, strlen(text)) : WI_NAME_NONE;

	if (id != WI_NAME_NONE)
		return id;
	map->failed |= text && strcmp(text, "<...>");
	return WI_COOKIE_UNKNOWN;
}

static bool matches(const struct rule *r, enum rule_kind kind, const struct wi_cookie_who *who)
{
	switch (kind) {
	case RULE_PID:
		return r->number == who->pid;
	case RULE_TGID:
		return r->number == who->tgid;
	case RULE_COMM:
		return !strcmp(r->text, who->comm);
	case RULE_REGEX:
		return !regexec(&r->regex, who->comm, 0, NULL, 0);
	default:
		return !strcmp(r->text, who->cgroup);
	}
}

static bool known(enum rule_kind kind, const struct wi_cookie_who *who)
{
	return kind == RULE_PID	     ? who->pid >= 0
	       : kind == RULE_TGID   ? who->tgid > 0
	       : kind == RULE_CGROUP ? who->cgroup != NULL
				     : who->comm != NULL;
}

/* The rules of one kind after the other; what a kind looks at is not known: any of its rules could be right. */
static uint32_t by_file(const struct wi_cookie_map *map, const struct wi_cookie_who *who)
{
	for (enum rule_kind k = 0; k < NR_RULE_KINDS; k++) {
		if (k == RULE_TGID && wi_is_kernel_thread(who->pid, who->comm))
			return WI_COOKIE_NONE;
		if (map->by[k].nr && !known(k, who))
			return WI_COOKIE_UNKNOWN;
		for (uint32_t i = 0; i < map->by[k].nr; i++)
			if (matches(&map->by[k].rule[i], k, who))
				return map->by[k].rule[i].cookie;
	}
	return WI_COOKIE_NONE;
}

uint32_t wi_cookie_of(struct wi_cookie_map *map, const struct wi_cookie_who *who)
{
	char text[16];

	if (map->kind == BY_FILE)
		return by_file(map, who);
	if (wi_is_kernel_thread(who->pid, who->comm))
		return WI_COOKIE_NONE;
	if (map->kind == BY_COMM)
		return named(map, who->comm);
	if (map->kind == BY_CGROUP)
		return who->cgroup && !strcmp(who->cgroup, "0::/") ? WI_COOKIE_NONE : named(map, who->cgroup);
	snprintf(text, sizeof(text), "%" PRId32, who->tgid);
	return named(map, who->tgid > 0 ? text : NULL);
}

const char *wi_cookie_name(const struct wi_cookie_map *map, uint32_t cookie)
{
	return wi_names_get(map->names, cookie);
}

bool wi_cookie_map_failed(const struct wi_cookie_map *map)
{
	return map->failed;
}
