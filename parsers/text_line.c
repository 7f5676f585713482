/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A task name may hold anything: blanks, colons, brackets, even the front of another line. What cannot lie is its
 * length: at most 16 bytes. So every place where "pid [cpu] stamp:" could stand is tried, and the rightmost one that
 * leaves a name of that length wins; a place inside the body would leave a much longer one. Only if no place does
 * (perf and Android print longer names, trace-cmd puts the buffer's name in front) the leftmost is taken.
 */
#include "parsers/text_line.h"

#include <string.h>

#include "analyzer/base/cpumask.h"
#include "analyzer/base/names.h"
#include "parsers/event.h"

/* Beyond the name no front is longer than this up to its CPU: pid, a TGID column and padding. */
#define FRONT_MAX (WI_COMM_LEN + 64)
#define LATENCY_COMM 8
#define REPORT_EVENT_PAD 21

static inline bool is_digit(char c)
{
	return (unsigned char)(c - '0') < 10;
}

static inline const char *skip_blanks(const char *p, const char *end)
{
	while (p < end && (*p == ' ' || *p == '\t'))
		p++;
	return p;
}

const char *wi_text_uint(const char *p, const char *end, uint64_t *v)
{
	uint64_t n = 0;
	const char *start = p;

	if (end - p > 2 && p[0] == '0' && (p[1] == 'x' || p[1] == 'X')) {
		start = p += 2;
		for (; p < end; p++) {
			unsigned char c = (unsigned char)(*p | 0x20);
			unsigned int d = is_digit(*p)		? (unsigned int)(*p - '0')
					 : c >= 'a' && c <= 'f' ? c - 'a' + 10u
								: 16;

			if (d > 15)
				break;
			if (n >> 60)
				return NULL;
			n = n << 4 | d;
		}
	} else {
		for (; p < end && is_digit(*p); p++) {
			uint64_t d = (uint64_t)(*p - '0');

			if (n > (UINT64_MAX - d) / 10)
				return NULL;
			n = n * 10 + d;
		}
	}
	*v = n;
	return p > start ? p : NULL;
}

const char *wi_text_int(const char *p, const char *end, int64_t *v)
{
	bool minus = p < end && *p == '-';
	uint64_t n;

	p = wi_text_uint(p + minus, end, &n);
	if (!p || n > INT64_MAX)
		return NULL;
	*v = minus ? -(int64_t)n : (int64_t)n;
	return p;
}

/* "12.345678:" or "226206598825:"; one mark of the delay column may stand before the colon. Behind the colon, or NULL.
 */
static const char *parse_stamp(const char *p, const char *end, struct wi_text_head *h)
{
	static const uint32_t scale[] = { 1000000000, 100000000, 10000000, 1000000, 100000, 10000, 1000, 100, 10, 1 };
	uint64_t sec = 0, frac = 0;
	const char *start = p;
	unsigned int digits = 0;

	for (; p < end && is_digit(*p); p++) {
		if (sec > UINT64_MAX / 100)
			return NULL;
		sec = sec * 10 + (uint64_t)(*p - '0');
	}
	if (p == start || p >= end)
		return NULL;
	if (*p == '.') {
		for (p++; p < end && is_digit(*p) && digits < 9; p++, digits++)
			frac = frac * 10 + (uint64_t)(*p - '0');
		if (!digits || sec > UINT64_MAX / 2000000000u)
			return NULL;
		sec = sec * 1000000000u + frac * scale[digits];
	}
	if (p < end && (*p == '+' || *p == '!' || *p == '#' || *p == '*' || *p == '@' || *p == '$' || *p == ' '))
		p++;
	if (p >= end || *p != ':')
		return NULL;
	h->ts_ns = sec;
	h->ts_digits = (uint8_t)digits;
	return p + 1;
}

static inline bool is_flag_char(char c)
{
	return c == '.' || is_digit(c) || ((c | 0x20) >= 'a' && (c | 0x20) <= 'z') || c == '#';
}

/* Optional flags, stamp. Behind the stamp's colon, or NULL. */
static const char *parse_flags_stamp(const char *p, const char *end, struct wi_text_head *h)
{
	const char *start;

	p = skip_blanks(p, end);
	h->flags.len = 0;
	if (p >= end)
		return NULL;
	if (is_digit(*p))
		return parse_stamp(p, end, h);
	for (start = p; p < end && p - start < 9 && is_flag_char(*p); p++)
		;
	if (p >= end || p - start > 8 || p == start || (*p != ' ' && *p != '\t'))
		return NULL;
	h->flags.p = start;
	h->flags.len = (uint32_t)(p - start);
	return parse_stamp(skip_blanks(p, end), end, h);
}

/* Event name and body, from behind the stamp. */
static bool parse_event(const char *p, const char *end, struct wi_text_head *h)
{
	const char *start, *colon;
	ptrdiff_t pad;

	p = skip_blanks(p, end);
	if (h->form == WI_TEXT_PERF && p < end && is_digit(*p)) {
		const char *q = p;

		while (q < end && is_digit(*q))
			q++;
		if (q < end && *q == ' ') /* the sample's period */
			p = skip_blanks(q, end);
	}
	start = p;
	colon = NULL;
	h->system.len = 0;
	for (; p < end && *p != ' ' && *p != '\t'; p++) {
		if (*p != ':')
			continue;
		if (p + 1 == end || p[1] == ' ' || p[1] == '\t') {
			colon = p;
			break;
		}
		if (h->form == WI_TEXT_PERF && !h->system.len) {
			h->system = (struct wi_str){ start, (uint32_t)(p - start) };
			start = p + 1;
		}
	}
	if (p == start)
		return false;
	h->event = (struct wi_str){ start, (uint32_t)(p - start) };
	h->event_colon = colon != NULL;
	p += h->event_colon;
	start = p;
	p = skip_blanks(p, end);
	h->gap = p - start > 255 ? 255 : (uint8_t)(p - start);
	h->body = (struct wi_str){ p, (uint32_t)(end - p) };
	/* trace-cmd pads "name:" to 21 and adds a blank */
	pad = h->form == WI_TEXT_PERF || h->event.len >= REPORT_EVENT_PAD ? 1 : REPORT_EVENT_PAD - h->event.len;
	h->lead = h->event_colon && p - start > pad ? (uint32_t)(p - start - pad) : 0;
	return true;
}

static void set_comm(const char *line, const char *end, struct wi_text_head *h)
{
	line = skip_blanks(line, end);
	while (end > line && (end[-1] == ' ' || end[-1] == '\t'))
		end--;
	h->comm = (struct wi_str){ line, (uint32_t)(end - line) };
}

/* Leftwards over "(  959)" or "(-----)": position of its '(', or p if there is none there. */
static const char *back_over_tgid(const char *line, const char *p, struct wi_text_head *h)
{
	const char *q = p - 1;
	uint64_t n;

	h->tgid = 0;
	if (p == line || *q != ')')
		return p;
	while (q > line && p - q < 12 && (is_digit(q[-1]) || q[-1] == '-' || q[-1] == ' '))
		q--;
	if (q == line || q[-1] != '(')
		return p;
	if (wi_text_uint(skip_blanks(q, p), p, &n) && n <= WI_PID_MAX)
		h->tgid = (int32_t)n;
	return q - 1;
}

static const char *back_blanks(const char *line, const char *p)
{
	while (p > line && (p[-1] == ' ' || p[-1] == '\t'))
		p--;
	return p;
}

static const char *back_digits(const char *line, const char *p)
{
	while (p > line && is_digit(p[-1]))
		p--;
	return p;
}

/* What stands left of the CPU's bracket: "name-pid [(tgid)]" or perf's "name pid[/tid]". */
static bool parse_task(const char *line, const char *p, struct wi_text_head *h)
{
	const char *digits, *end;
	uint64_t pid;

	p = back_blanks(line, back_over_tgid(line, back_blanks(line, p), h));
	end = p;
	digits = back_digits(line, p);
	if (digits == end || !wi_text_uint(digits, end, &pid) || pid > WI_PID_MAX)
		return false;
	h->pid = (int32_t)pid;
	if (digits > line && digits[-1] == '-') {
		bool no_pid =
			digits - 1 > line &&
			(digits[-2] == '/' || (digits[-2] == ' ' && pid == 1 && digits - 1 - line != WI_COMM_LEN));

		if (!no_pid) {
			h->form = WI_TEXT_FTRACE;
			set_comm(line, digits - 1, h);
			return true;
		}
		h->pid = -1;
		digits--;
	}
	if (digits > line && digits[-1] == '/') {
		end = --digits;
		digits = back_digits(line, digits);
		if (digits > line && digits[-1] == '-')
			digits--;
		if (digits == end)
			return false;
	}
	if (digits > line && digits[-1] != ' ' && digits[-1] != '\t')
		return false;
	h->form = WI_TEXT_PERF;
	set_comm(line, digits, h);
	return true;
}

/* trace-cmd report of several buffers: "second:           <idle>-0": takes the buffer's name off the task's. */
static bool split_instance(const char *line, struct wi_text_head *h)
{
	const char *end = h->comm.p + h->comm.len, *colon = memchr(h->comm.p, ':', h->comm.len);

	h->instance.len = 0;
	if (h->comm.p != line || !colon || colon == line || colon + 1 >= end || colon[1] != ' ')
		return false;
	/* the task column starts behind it and is 16 wide (8 in the latency form) */
	if (end - (colon + 1) < (h->form == WI_TEXT_LATENCY ? LATENCY_COMM : WI_COMM_LEN))
		return false;
	if (memchr(line, ' ', (size_t)(colon - line)))
		return false;
	h->instance = (struct wi_str){ line, (uint32_t)(colon - line) };
	set_comm(colon + 1, end, h);
	return true;
}

static bool parse_at_bracket(const char *line, const char *bracket, const char *end, struct wi_text_head *h)
{
	const char *p = bracket + 1;
	uint32_t cpu = 0;

	for (; p < end && is_digit(*p) && cpu < WI_MAX_CPUS; p++)
		cpu = cpu * 10 + (uint32_t)(*p - '0');
	if (p == bracket + 1 || p >= end || *p != ']' || cpu >= WI_MAX_CPUS)
		return false;
	h->cpu = cpu;
	h->raw_flags = -1;
	if (!parse_task(line, bracket, h))
		return false;
	p = parse_flags_stamp(p + 1, end, h);
	return p && parse_event(p, end, h);
}

/* "5...1." or "6-0x11": CPU and flags in one word, behind "-pid " at dash. */
static bool parse_at_dash(const char *line, const char *dash, const char *end, struct wi_text_head *h)
{
	const char *p = dash + 1, *start;
	uint64_t n;

	p = wi_text_uint(p, end, &n);
	if (!p || n > WI_PID_MAX || p >= end || *p != ' ')
		return false;
	h->form = WI_TEXT_LATENCY;
	h->pid = (int32_t)n;
	h->tgid = 0;
	h->flags.len = 0;
	h->raw_flags = -1;
	start = p = skip_blanks(p, end);
	for (n = 0; p < end && is_digit(*p) && n < WI_MAX_CPUS; p++)
		n = n * 10 + (uint64_t)(*p - '0');
	if (p == start || p >= end || n >= WI_MAX_CPUS || *p == ' ')
		return false;
	h->cpu = (uint32_t)n;
	if (*p == '-') {
		p = wi_text_uint(p + 1, end, &n);
		if (!p || n > 0xffff)
			return false;
		h->raw_flags = (int32_t)n;
	} else {
		for (start = p; p < end && is_flag_char(*p); p++)
			;
		/* a wide stamp leaves no blank behind the five flags */
		if (p < end && *p == ':' && p - start > 5)
			p = start + 5;
		if (p - start < 3 || p - start > 8)
			return false;
		h->flags = (struct wi_str){ start, (uint32_t)(p - start) };
	}
	if (p >= end)
		return false;
	set_comm(line, dash, h);
	p = parse_stamp(skip_blanks(p, end), end, h);
	return p && parse_event(p, end, h);
}

bool wi_text_parse_head(const char *line, uint32_t len, struct wi_text_head *h)
{
	const char *end = line + len, *lead = skip_blanks(line, end), *last = lead + FRONT_MAX, *p;
	struct wi_text_head try;
	bool found = false, fits = false;

	if (lead >= end || *line == '#')
		return false;
	if (last > end)
		last = end;
	/* Most lines: the first bracket is the CPU's. A later one counts only if it leaves a name short enough. */
	for (p = memchr(lead, '[', (size_t)(end - lead)); p; p = memchr(p + 1, '[', (size_t)(last - p - 1))) {
		if (parse_at_bracket(line, p, end, &try)) {
			bool short_name = split_instance(line, &try) || try.comm.len <= WI_COMM_LEN;

			if (!found || short_name) {
				*h = try;
				found = true;
				fits = short_name;
			}
		}
		if (p + 1 >= last)
			break;
	}
	if (found && fits)
		return true;
	for (p = memchr(lead, '-', (size_t)(last - lead)); p; p = memchr(p + 1, '-', (size_t)(last - p - 1))) {
		if (parse_at_dash(line, p, end, &try) && (split_instance(line, &try) || try.comm.len <= LATENCY_COMM)) {
			*h = try;
			return true;
		}
		if (p + 1 >= last)
			break;
	}
	return found;
}

static bool contains(const char *line, uint32_t len, const char *text)
{
	return memmem(line, len, text, strlen(text)) != NULL;
}

void wi_text_header_line(struct wi_text_columns *cols, const char *line, uint32_t len)
{
	static const struct {
		const char *text;
		enum wi_text_column what;
	} names[] = {
		{ "=> irqs-off", WI_COL_IRQ },
		{ "=> need-resched_lazy", WI_COL_LAZY },
		{ "=> need-resched-lazy", WI_COL_LAZY },
		{ "=> need-resched", WI_COL_RESCHED },
		{ "=> hardirq/softirq", WI_COL_CONTEXT },
		{ "=> preempt-depth", WI_COL_DEPTH },
	};
	enum wi_text_column what = WI_COL_OTHER;

	if (contains(line, len, "# tracer:")) {
		cols->nr = 0;
		return;
	}
	if (!contains(line, len, "=> "))
		return;
	for (size_t i = 0; i < sizeof(names) / sizeof(*names) && what == WI_COL_OTHER; i++)
		if (contains(line, len, names[i].text))
			what = names[i].what;
	if (what == WI_COL_IRQ)
		cols->nr = 0;
	if (cols->nr < sizeof(cols->what))
		cols->what[cols->nr++] = (uint8_t)what;
}

static const struct wi_text_columns *columns_for(const struct wi_text_columns *cols, const struct wi_text_head *h)
{
	/* mainline: 4 columns, 5 with migrate-disable; a realtime kernel has need-resched-lazy as the third of 6 and
	 * more */
	static const struct wi_text_columns usual = { 8,
						      { WI_COL_IRQ, WI_COL_RESCHED, WI_COL_CONTEXT, WI_COL_DEPTH,
							WI_COL_OTHER, WI_COL_OTHER, WI_COL_OTHER, WI_COL_OTHER } };
	static const struct wi_text_columns lazy = { 8,
						     { WI_COL_IRQ, WI_COL_RESCHED, WI_COL_LAZY, WI_COL_CONTEXT,
						       WI_COL_DEPTH, WI_COL_OTHER, WI_COL_OTHER, WI_COL_OTHER } };

	if (h->form == WI_TEXT_FTRACE && cols->nr == h->flags.len)
		return cols;
	return h->flags.len > 5 && h->form == WI_TEXT_FTRACE ? &lazy : &usual;
}

static uint8_t irq_flags(char c)
{
	switch (c) {
	case 'd':
		return WI_FLAG_IRQS_OFF;
	case 'D':
		return WI_FLAG_IRQS_OFF | WI_FLAG_BH_OFF;
	case 'b':
		return WI_FLAG_BH_OFF;
	}
	return 0;
}

static uint8_t resched_flags(char c)
{
	switch (c) {
	case 'N':
	case 'B':
		return WI_FLAG_NEED_RESCHED | WI_FLAG_PREEMPT_RESCHED;
	case 'n':
	case 'b':
		return WI_FLAG_NEED_RESCHED;
	case 'p':
	case 'L':
		return WI_FLAG_PREEMPT_RESCHED;
	}
	return 0;
}

static uint8_t context_flags(char c)
{
	switch (c) {
	case 'Z':
		return WI_FLAG_NMI | WI_FLAG_HARDIRQ;
	case 'z':
		return WI_FLAG_NMI;
	case 'H':
		return WI_FLAG_HARDIRQ | WI_FLAG_SOFTIRQ;
	case 'h':
		return WI_FLAG_HARDIRQ;
	case 's':
		return WI_FLAG_SOFTIRQ;
	}
	return 0;
}

static int hex_digit(char c)
{
	if (is_digit(c))
		return c - '0';
	return (c | 0x20) >= 'a' && (c | 0x20) <= 'f' ? (c | 0x20) - 'a' + 10 : -1;
}

struct wi_text_flags wi_text_decode_flags(const struct wi_text_columns *cols, const struct wi_text_head *h)
{
	struct wi_text_flags f = { 0 };

	if (h->raw_flags >= 0) {
		/* 0x02 was "cannot tell" and is lazy resched since 6.12: neither is of use */
		f.flags = (uint8_t)(h->raw_flags & 0xfd);
		f.known = WI_KNOWN_FLAGS;
		return f;
	}
	if (h->flags.len < 3)
		return f;
	cols = columns_for(cols, h);
	for (uint32_t i = 0; i < h->flags.len; i++) {
		char c = h->flags.p[i];
		int depth;

		switch (cols->what[i]) {
		case WI_COL_IRQ:
			f.flags |= irq_flags(c);
			break;
		case WI_COL_RESCHED:
			/* trace-cmd's N says nothing of PREEMPT_RESCHED */
			f.flags |= resched_flags(c) & (h->form == WI_TEXT_LATENCY ? WI_FLAG_NEED_RESCHED : 0xff);
			break;
		case WI_COL_CONTEXT:
			f.flags |= context_flags(c);
			f.known |= WI_KNOWN_FLAGS;
			break;
		case WI_COL_DEPTH:
			depth = c == '.' ? 0 : hex_digit(c);
			if (depth >= 0) {
				f.preempt_count = (uint8_t)depth;
				f.known |= WI_KNOWN_PREEMPT_COUNT;
			}
			break;
		}
	}
	return f;
}
