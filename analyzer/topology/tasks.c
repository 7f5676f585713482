/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "analyzer/topology/tasks.h"

#include <ctype.h>
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <unistd.h>

#include "analyzer/base/cpumask.h"
#include "analyzer/topology/arena.h"
#include "analyzer/topology/filetree.h"
#include "analyzer/topology/sidefile.h"

#define MAX_COLUMNS 32u
#define MAX_BYTES (128u << 20)
#define MAX_TASKS (1u << 20)
#define MAX_MASK_BYTES (64u << 20) /* of CPU lists that differ */
#define SEEN_SLOTS 16384u

#define COLUMNS(X)                                                                                                     \
	X(TID, "tid")                                                                                                  \
	X(PID, "pid")                                                                                                  \
	X(COMM, "comm")                                                                                                \
	X(NICE, "nice")                                                                                                \
	X(POLICY, "policy")                                                                                            \
	X(RTPRIO, "rtprio")                                                                                            \
	X(CPU, "cpu")                                                                                                  \
	X(ALLOWED, "allowed")                                                                                          \
	X(CGROUP, "cgroup")                                                                                            \
	X(AUTOGROUP, "autogroup")

enum column {
#define X(id, name) T_##id,
	COLUMNS(X)
#undef X
		T_NR,
	T_IGNORED = T_NR
};

static const char *const column_names[] = {
#define X(id, name) name,
	COLUMNS(X)
#undef X
};

struct tasks {
	struct wi_tasks pub; /* first: the public pointer is the owner's */
	struct topo_arena arena;
	struct wi_task_entry *task;
	uint32_t nr, cap;
};

void wi_tasks_free(struct wi_tasks *tasks)
{
	struct tasks *t = (struct tasks *)tasks;

	if (!t)
		return;
	topo_arena_free(&t->arena);
	free(t->task);
	free(t);
}

struct cell {
	const char *at;
	size_t len;
};

struct reader {
	struct tasks *t;
	const char *name;
	uint64_t line;
	uint8_t column[MAX_COLUMNS];
	uint32_t nr_columns;
	struct seen *seen; /* SEEN_SLOTS; there are few kinds of affinity */
	size_t mask_bytes;
	struct wi_err *err;
};

/* A text of a mask, and the mask. */
struct seen {
	struct cell text;
	const uint64_t *mask;
	uint32_t words;
};

static bool bad(struct reader *r, const char *what, struct cell c)
{
	return wi_err_at(r->err, WI_EREFUSED, r->name, WI_NO_OFFSET, "line %llu: %s: \"%.*s\"",
			 (unsigned long long)r->line, what, (int)(c.len > 80 ? 80 : c.len), c.at);
}

static uint32_t split(struct cell line, struct cell *cell)
{
	const char *at = line.at, *end = line.at + line.len;
	uint32_t nr = 0;

	for (;;) {
		const char *tab = memchr(at, '\t', (size_t)(end - at));

		if (nr < MAX_COLUMNS)
			cell[nr] = (struct cell){ at, (size_t)((tab ? tab : end) - at) };
		nr++;
		if (!tab)
			return nr;
		at = tab + 1;
	}
}

static bool take_header(struct reader *r, struct cell line)
{
	struct cell cell[MAX_COLUMNS];
	bool tid = false;

	r->nr_columns = split(line, cell);
	if (r->nr_columns > MAX_COLUMNS)
		return bad(r, "too many columns in a list of tasks", line);
	for (uint32_t i = 0; i < r->nr_columns; i++) {
		uint32_t k = 0;

		while (k < T_NR && (strlen(column_names[k]) != cell[i].len ||
				    strncasecmp(column_names[k], cell[i].at, cell[i].len) != 0))
			k++;
		r->column[i] = (uint8_t)k;
		if (k == T_TID && tid)
			return bad(r, "two columns named tid", line);
		tid |= k == T_TID;
	}
	return tid || bad(r, "not a list of tasks, no column named tid", line);
}

static bool unknown(struct cell c)
{
	return !c.len || (c.len == 1 && *c.at == '-');
}

static bool number(struct reader *r, struct cell c, const char *what, int64_t low, int64_t high, int32_t *out)
{
	int64_t v = 0;
	size_t i = c.len > 1 && (*c.at == '-' || *c.at == '+');

	if (unknown(c))
		return true;
	for (; i < c.len; i++) {
		if (!isdigit((unsigned char)c.at[i]) || v > INT32_MAX)
			return bad(r, what, c);
		v = v * 10 + (c.at[i] - '0');
	}
	if (*c.at == '-')
		v = -v;
	if (v < low || v > high)
		return bad(r, what, c);
	*out = (int32_t)v;
	return true;
}

static bool policy(struct reader *r, struct cell c, uint8_t *out)
{
	static const struct {
		const char *name;
		uint8_t policy;
	} names[] = { { "OTHER", WAKEIF_POLICY_NORMAL },
		      { "NORMAL", WAKEIF_POLICY_NORMAL },
		      { "TS", WAKEIF_POLICY_NORMAL },
		      { "FIFO", WAKEIF_POLICY_FIFO },
		      { "FF", WAKEIF_POLICY_FIFO },
		      { "RR", WAKEIF_POLICY_RR },
		      { "BATCH", WAKEIF_POLICY_BATCH },
		      { "B", WAKEIF_POLICY_BATCH },
		      { "IDLE", WAKEIF_POLICY_IDLE },
		      { "IDL", WAKEIF_POLICY_IDLE },
		      { "DEADLINE", WAKEIF_POLICY_DEADLINE },
		      { "DLN", WAKEIF_POLICY_DEADLINE },
		      { "EXT", 7 } };
	int32_t v = -1;

	if (unknown(c))
		return true;
	if (isdigit((unsigned char)*c.at)) {
		if (!number(r, c, "not a scheduling policy", 0, 7, &v))
			return false;
		*out = (uint8_t)v;
		return true;
	}
	if (c.len > 6 && !strncasecmp(c.at, "SCHED_", 6))
		c = (struct cell){ c.at + 6, c.len - 6 };
	for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++)
		if (strlen(names[i].name) == c.len && !strncasecmp(names[i].name, c.at, c.len)) {
			*out = names[i].policy;
			return true;
		}
	return bad(r, "not a scheduling policy", c);
}

static bool text(struct reader *r, struct cell c, const char **out)
{
	char *s = topo_alloc(&r->t->arena, c.len + 1), *to = s;

	if (!s)
		return wi_err_nomem(r->err);
	for (size_t i = 0; i < c.len; i++) {
		char ch = c.at[i], next = i + 1 < c.len ? c.at[i + 1] : '\0';

		if (ch == '\\' && (next == 't' || next == 'n' || next == '\\')) {
			ch = next == 't' ? '\t' : next == 'n' ? '\n' : '\\';
			i++;
		}
		if (ch)
			*to++ = ch;
	}
	*out = s;
	return true;
}

static struct seen *seen_slot(const struct reader *r, struct cell c)
{
	uint32_t h = 2166136261u;

	for (size_t i = 0; i < c.len; i++)
		h = (h ^ (uint8_t)c.at[i]) * 16777619u;
	return &r->seen[(h ^ h >> 16) % SEEN_SLOTS];
}

static bool read_mask(struct reader *r, struct cell c, struct seen *out)
{
	struct wi_err why = { WI_OK, "" };
	uint64_t *mask, *own;
	size_t size;

	if (!wi_mask_parse_list(c.at, c.len, &mask, &out->words, &why))
		return why.code == WI_EIO ? wi_err_nomem(r->err) : bad(r, "not a CPU list", c);
	if (wi_mask_empty(mask, out->words)) {
		free(mask);
		return bad(r, "no CPU in a list of allowed CPUs", c);
	}
	size = out->words * sizeof(*own);
	r->mask_bytes += size;
	own = r->mask_bytes <= MAX_MASK_BYTES ? topo_alloc(&r->t->arena, size) : NULL;
	if (own)
		memcpy(own, mask, size);
	free(mask);
	if (r->mask_bytes > MAX_MASK_BYTES)
		return bad(r, "too many different lists of allowed CPUs", c);
	out->text = c;
	out->mask = own;
	return own || wi_err_nomem(r->err);
}

static bool allowed(struct reader *r, struct cell c, struct wi_task_entry *task)
{
	struct seen *s;

	if (unknown(c))
		return true;
	s = seen_slot(r, c);
	if (!s->mask || s->text.len != c.len || memcmp(s->text.at, c.at, c.len) != 0) {
		struct seen fresh;

		if (!read_mask(r, c, &fresh))
			return false;
		*s = fresh;
	}
	task->allowed = s->mask;
	task->allowed_words = s->words;
	return true;
}

static bool take_cell(struct reader *r, enum column column, struct cell c, struct wi_task_entry *task)
{
	switch (column) {
	case T_TID:
		return number(r, c, "not a thread id", 1, INT32_MAX, &task->tid);
	case T_PID:
		return number(r, c, "not a process id", 0, INT32_MAX, &task->tgid);
	case T_NICE:
		return number(r, c, "not a nice value", -20, 19, &task->nice);
	case T_RTPRIO:
		return number(r, c, "not a real-time priority", 0, 99, &task->rtprio);
	case T_CPU:
		return number(r, c, "not a CPU number", 0, WI_MAX_CPUS - 1, &task->cpu);
	case T_POLICY:
		return policy(r, c, &task->policy);
	case T_ALLOWED:
		return allowed(r, c, task);
	case T_COMM:
		return text(r, c, &task->comm);
	case T_CGROUP:
		return text(r, c, &task->cgroup);
	case T_AUTOGROUP:
		return text(r, c, &task->autogroup);
	case T_IGNORED:
		break;
	}
	return true;
}

static bool take_row(struct reader *r, struct cell line)
{
	struct wi_task_entry task = { .tid = 0,
				      .tgid = -1,
				      .nice = WI_NICE_UNKNOWN,
				      .rtprio = -1,
				      .cpu = -1,
				      .policy = WAKEIF_POLICY_UNKNOWN,
				      .comm = "",
				      .cgroup = "",
				      .autogroup = "" };
	struct cell cell[MAX_COLUMNS];
	struct tasks *t = r->t;

	if (split(line, cell) != r->nr_columns)
		return bad(r, "not as many columns as the first line names", line);
	for (uint32_t i = 0; i < r->nr_columns; i++)
		if (!take_cell(r, r->column[i], cell[i], &task))
			return false;
	if (!task.tid)
		return bad(r, "no thread id", line);
	if (t->nr == MAX_TASKS)
		return bad(r, "more than 1,048,576 tasks", line);
	if (t->nr == t->cap) {
		uint32_t cap = t->cap ? t->cap * 2 : 256;
		struct wi_task_entry *more = realloc(t->task, cap * sizeof(*more));

		if (!more)
			return wi_err_nomem(r->err);
		t->task = more;
		t->cap = cap;
	}
	t->task[t->nr++] = task;
	return true;
}

static bool take_lines(struct reader *r, const char *at, size_t len)
{
	const char *end = at + len;

	while (at < end) {
		const char *eol = memchr(at, '\n', (size_t)(end - at));
		struct cell line = { at, (size_t)((eol ? eol : end) - at) };

		r->line++;
		if (line.len && line.at[line.len - 1] == '\r')
			line.len--;
		at += (size_t)((eol ? eol : end) - at) + 1;
		if (!line.len || *line.at == '#')
			continue;
		if (!(r->nr_columns ? take_row(r, line) : take_header(r, line)))
			return false;
	}
	return r->nr_columns || bad(r, "not a list of tasks, it is empty", (struct cell){ "", 0 });
}

static int by_tid(const void *a, const void *b)
{
	const struct wi_task_entry *x = a, *y = b;

	return x->tid < y->tid ? -1 : x->tid > y->tid;
}

struct ranked {
	struct wi_task_entry task;
	uint32_t rank;
};

static int by_tid_and_rank(const void *a, const void *b)
{
	const struct ranked *x = a, *y = b;
	int order = by_tid(&x->task, &y->task);

	return order ? order : x->rank < y->rank ? -1 : x->rank > y->rank;
}

/* Sorts, and keeps the last of each tid. */
static bool settle(struct tasks *t, struct wi_err *err)
{
	struct ranked *r = malloc((t->nr ? t->nr : 1) * sizeof(*r));
	uint32_t nr = 0;

	if (!r)
		return wi_err_nomem(err);
	for (uint32_t i = 0; i < t->nr; i++)
		r[i] = (struct ranked){ t->task[i], i };
	qsort(r, t->nr, sizeof(*r), by_tid_and_rank);
	for (uint32_t i = 0; i < t->nr; i++)
		if (i + 1 == t->nr || r[i].task.tid != r[i + 1].task.tid)
			t->task[nr++] = r[i].task;
	free(r);
	t->nr = t->pub.nr = nr;
	t->pub.task = t->task;
	return true;
}

bool wi_tasks_add_text(struct wi_tasks **tasks, const char *name, const char *at, size_t len, struct wi_err *err)
{
	struct tasks *t = (struct tasks *)*tasks;
	struct reader r = { .t = t, .name = name, .err = err };
	uint32_t before = t ? t->nr : 0;
	bool ok;

	if (!t)
		r.t = t = calloc(1, sizeof(*t));
	if (!t)
		return wi_err_nomem(err);
	r.seen = calloc(SEEN_SLOTS, sizeof(*r.seen));
	ok = r.seen ? take_lines(&r, at, len) && settle(t, err) : wi_err_nomem(err);
	free(r.seen);
	if (!ok) {
		t->nr = before;
		t->pub.task = t->task;
		if (!*tasks)
			wi_tasks_free(&t->pub);
		return false;
	}
	*tasks = &t->pub;
	return true;
}

bool wi_tasks_add_file(struct wi_tasks **tasks, const char *path, struct wi_err *err)
{
	int fd = wi_side_open(path, err);
	size_t size = 0, len = 0;
	char *buf = NULL;
	bool ok = false;

	if (fd < 0)
		return false;
	for (;;) {
		if (size - len < 4096) {
			char *more = size >= MAX_BYTES ? NULL : realloc(buf, size ? size * 2 : 65536);

			if (!more) {
				wi_err_at(err, WI_EREFUSED, path, WI_NO_OFFSET,
					  "too big for a list of tasks: more than %zu bytes", len);
				goto out;
			}
			buf = more;
			size = size ? size * 2 : 65536;
		}
		ssize_t n = read(fd, buf + len, size - len);
		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0) {
			wi_err_at(err, WI_EIO, path, WI_NO_OFFSET, "cannot read: %s", strerror(errno));
			goto out;
		}
		if (!n)
			break;
		len += (size_t)n;
	}
	ok = wi_tasks_add_text(tasks, path, buf, len, err);
out:
	free(buf);
	close(fd);
	return ok;
}

bool wi_tasks_add_tree(struct wi_tasks **tasks, const struct wi_filetree *tree, const char *source_name,
		       struct wi_err *err)
{
	struct wi_file f;
	size_t at = 0;

	while (wi_filetree_next(tree, "tasks", &at, &f)) {
		char name[512];

		if (f.path[5] && f.path[5] != '.')
			continue;
		snprintf(name, sizeof(name), "%s(%s)", source_name, f.path);
		if (!wi_tasks_add_text(tasks, name, f.bytes, f.len, err))
			return false;
	}
	return true;
}

const struct wi_task_entry *wi_tasks_find(const struct wi_tasks *tasks, int32_t tid)
{
	struct wi_task_entry key = { .tid = tid };

	return tasks && tasks->nr ? bsearch(&key, tasks->task, tasks->nr, sizeof(key), by_tid) : NULL;
}
