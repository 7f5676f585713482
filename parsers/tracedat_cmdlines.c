/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "parsers/tracedat_cmdlines.h"

#include <stdlib.h>
#include <string.h>

#define TEXT_MAX (16u << 20)

static int by_pid(const void *a, const void *b)
{
	const struct wi_td_cmdline *x = a, *y = b;

	return x->pid < y->pid ? -1 : x->pid > y->pid;
}

/* One line "PID NAME". */
static bool parse_line(const char *line, size_t len, struct wi_names *names, struct wi_td_cmdline *out)
{
	size_t i = 0;
	int64_t pid = 0;

	while (i < len && line[i] == ' ')
		i++;
	if (i == len || line[i] < '0' || line[i] > '9')
		return false;
	for (; i < len && line[i] >= '0' && line[i] <= '9'; i++)
		if (pid <= WI_PID_MAX)
			pid = pid * 10 + (line[i] - '0');
	if (i == len || line[i] != ' ' || pid > WI_PID_MAX)
		return false;
	out->pid = (int32_t)pid;
	out->name = wi_names_intern(names, line + i + 1, len - i - 1);
	return true;
}

void wi_td_cmdlines_parse(struct wi_td_cmdlines *t, struct wi_names *names, const char *text, size_t len)
{
	uint32_t lines = 1;

	for (size_t i = 0; i < len; i++)
		lines += text[i] == '\n';
	t->loaded = true;
	free(t->entry);
	t->nr = 0;
	t->entry = calloc(lines, sizeof(*t->entry));
	if (!t->entry)
		return;
	for (const char *line = text, *end = text + len; line < end;) {
		const char *nl = memchr(line, '\n', (size_t)(end - line));
		size_t n = nl ? (size_t)(nl - line) : (size_t)(end - line);

		if (parse_line(line, n, names, &t->entry[t->nr]))
			t->nr++;
		line += n + 1;
	}
	qsort(t->entry, t->nr, sizeof(*t->entry), by_pid);
}

static void load(struct wi_td_cmdlines *t, struct wi_td *td, struct wi_names *names)
{
	const struct wi_td_section *s = &td->cmdlines;
	struct wi_err ignored = { 0 };
	struct wi_td_cursor c;
	uint64_t n = s->bytes;
	char *text = NULL;

	t->loaded = true;
	if (!s->offset ||
	    !wi_td_cursor_section(&c, &td->file, s->offset, s->bytes, s->compressed, "the task names", &ignored))
		return;
	if ((td->version == 6 || wi_td_u64(&c, &n, "the task names", &ignored)) && n <= TEXT_MAX) {
		text = malloc(n + 1);
		if (text && wi_td_bytes(&c, text, n, "the task names", &ignored))
			wi_td_cmdlines_parse(t, names, text, strnlen(text, n));
	}
	free(text);
	wi_td_cursor_fini(&c);
}

uint32_t wi_td_cmdlines_find(struct wi_td_cmdlines *t, struct wi_td *td, struct wi_names *names, int32_t pid)
{
	struct wi_td_cmdline key = { pid, 0 };
	const struct wi_td_cmdline *found;

	if (!t->loaded && td)
		load(t, td, names);
	if (!t->nr)
		return WI_NAME_NONE;
	found = bsearch(&key, t->entry, t->nr, sizeof(*t->entry), by_pid);
	return found ? found->name : WI_NAME_NONE;
}

void wi_td_cmdlines_fini(struct wi_td_cmdlines *t)
{
	free(t->entry);
	memset(t, 0, sizeof(*t));
}
