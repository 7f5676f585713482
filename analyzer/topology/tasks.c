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
	uint32_t before; /* tasks in t that were there */
	const char *name;
	uint64_t line;
	uint8_t column[MAX_COLUMNS];
	uint32_t nr_columns;
	struct seen *seen;	/* SEEN_SLOTS; there are few kinds of affinity */
	const char **seen_text; /* SEEN_SLOTS; names and groups come again and again */
	char *scratch;
	size_t scratch_size;
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

static uint32_t slot_of(const char *at, size_t len)
{
	uint32_t h = 2166136261u;

	for (size_t i = 0; i < len; i++)
		h = (h ^ (uint8_t)at[i]) * 16777619u;
	return (h ^ h >> 16) % SEEN_SLOTS;
}

/* A copy of the text, of which there may be one already. NULL: out of memory, err set. */
static const char *keep_text(struct reader *r, const char *at, size_t len)
{
	const char **seen = &r->seen_text[slot_of(at, len)];
	char *own;

	if (*seen && !strncmp(*seen, at, len) && !(*seen)[len])
		return *seen;
	own = topo_alloc(&r->t->arena, len + 1);
	if (!own) {
		wi_err_nomem(r->err);
		return NULL;
	}
	memcpy(own, at, len);
	return *seen = own;
}

static bool text(struct reader *r, struct cell c, const char **out)
{
	char *to;

	if (c.len > r->scratch_size) {
		char *more = realloc(r->scratch, c.len);

		if (!more)
			return wi_err_nomem(r->err);
		r->scratch = more;
		r->scratch_size = c.len;
	}
	to = r->scratch;
	for (size_t i = 0; i < c.len; i++) {
		char ch = c.at[i], next = i + 1 < c.len ? c.at[i + 1] : '\0';

		if (ch == '\\' && (next == 't' || next == 'n' || next == '\\')) {
			ch = next == 't' ? '\t' : next == 'n' ? '\n' : '\\';
			i++;
		}
		if (ch)
			*to++ = ch;
	}
	*out = c.len ? keep_text(r, r->scratch, (size_t)(to - r->scratch)) : "";
	return *out != NULL;
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
	r->mask_bytes += size + c.len;
	own = r->mask_bytes <= MAX_MASK_BYTES ? topo_alloc(&r->t->arena, size) : NULL;
	if (own)
		memcpy(own, mask, size);
	free(mask);
	if (r->mask_bytes > MAX_MASK_BYTES)
		return bad(r, "too many different lists of allowed CPUs", c);
	out->text = (struct cell){ own ? keep_text(r, c.at, c.len) : NULL, c.len };
	out->mask = own;
	return out->text.at || wi_err_nomem(r->err);
}

static bool allowed(struct reader *r, struct cell c, struct wi_task_entry *task)
{
	struct seen *s;

	if (unknown(c))
		return true;
	s = &r->seen[slot_of(c.at, c.len)];
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
	return true;
}

static int by_tid(const void *a, const void *b)
{
	const struct wi_task_entry *x = a, *y = b;

	return x->tid < y->tid ? -1 : x->tid > y->tid;
}

static int by_tid_and_place(const void *a, const void *b, void *ctx)
{
	const struct wi_task_entry *task = ctx;
	uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;
	int order = by_tid(&task[x], &task[y]);

	return order ? order : x < y ? -1 : x > y;
}

/* Moves task[order[i]] to task[i], in place: a list may be long. */
static void rearrange(struct wi_task_entry *task, uint32_t *order, uint32_t nr)
{
	for (uint32_t i = 0; i < nr; i++) {
		struct wi_task_entry first = task[i];
		uint32_t to = i;

		while (order[to] != i) {
			uint32_t from = order[to];

			task[to] = task[from];
			order[to] = to;
			to = from;
		}
		task[to] = first;
		order[to] = to;
	}
}

/* Sorts, and keeps the last of each tid. */
static bool settle(struct tasks *t, struct wi_err *err)
{
	uint32_t nr = 0, sorted = 1, *order;

	while (sorted < t->nr && t->task[sorted - 1].tid < t->task[sorted].tid)
		sorted++;
	if (sorted < t->nr) {
		order = malloc(t->nr * sizeof(*order));
		if (!order)
			return wi_err_nomem(err);
		for (uint32_t i = 0; i < t->nr; i++)
			order[i] = i;
		qsort_r(order, t->nr, sizeof(*order), by_tid_and_place, t->task);
		rearrange(t->task, order, t->nr);
		free(order);
	}
	for (uint32_t i = 0; i < t->nr; i++)
		if (i + 1 == t->nr || t->task[i].tid != t->task[i + 1].tid)
			t->task[nr++] = t->task[i];
	t->nr = t->pub.nr = nr;
	t->pub.task = t->task;
	return true;
}

static bool begin(struct reader *r, struct wi_tasks *tasks, const char *name, struct wi_err *err)
{
	struct tasks *t = (struct tasks *)tasks;

	*r = (struct reader){ .t = t ? t : calloc(1, sizeof(*t)), .name = name, .err = err };
	r->seen = calloc(SEEN_SLOTS, sizeof(*r->seen));
	r->seen_text = calloc(SEEN_SLOTS, sizeof(*r->seen_text));
	r->before = t ? t->nr : 0;
	return (r->t && r->seen && r->seen_text) || wi_err_nomem(err);
}

/* ok: all lines were taken. Otherwise *tasks stays what it was. */
static bool end(struct reader *r, struct wi_tasks **tasks, bool ok)
{
	struct tasks *t = r->t;

	ok = ok && (r->nr_columns || bad(r, "not a list of tasks, it is empty", (struct cell){ "", 0 })) &&
	     settle(t, r->err);
	free(r->seen);
	free(r->seen_text);
	free(r->scratch);
	if (ok) {
		*tasks = &t->pub;
	} else if (!*tasks) {
		wi_tasks_free(t ? &t->pub : NULL);
	} else {
		t->nr = r->before;
		t->pub.task = t->task;
	}
	return ok;
}

bool wi_tasks_add_text(struct wi_tasks **tasks, const char *name, const char *at, size_t len, struct wi_err *err)
{
	struct reader r;

	return end(&r, tasks, begin(&r, *tasks, name, err) && take_lines(&r, at, len));
}

/* All that the file holds, in pieces of whole lines. */
static bool take_file(struct reader *r, int fd, char **buf)
{
	size_t size = 0, len = 0, total = 0;

	for (;;) {
		if (size - len < 4096) {
			char *more = realloc(*buf, size ? size * 2 : 65536);

			if (!more)
				return wi_err_nomem(r->err);
			*buf = more;
			size = size ? size * 2 : 65536;
		}
		ssize_t n = read(fd, *buf + len, size - len);
		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return wi_err_at(r->err, WI_EIO, r->name, WI_NO_OFFSET, "cannot read: %s", strerror(errno));
		if (!n)
			return take_lines(r, *buf, len);
		len += (size_t)n;
		total += (size_t)n;
		if (total > MAX_BYTES)
			return wi_err_at(r->err, WI_EREFUSED, r->name, WI_NO_OFFSET,
					 "too big for a list of tasks: more than %u bytes", MAX_BYTES);
		const char *eol = memrchr(*buf, '\n', len);
		if (!eol)
			continue;
		size_t whole = (size_t)(eol + 1 - *buf);
		if (!take_lines(r, *buf, whole))
			return false;
		len -= whole;
		memmove(*buf, *buf + whole, len);
	}
}

bool wi_tasks_add_file(struct wi_tasks **tasks, const char *path, struct wi_err *err)
{
	int fd = wi_side_open(path, err);
	struct reader r;
	char *buf = NULL;
	bool ok;

	if (fd < 0)
		return false;
	ok = end(&r, tasks, begin(&r, *tasks, path, err) && take_file(&r, fd, &buf));
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
