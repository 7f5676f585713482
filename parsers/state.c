/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Meaning of prev_state. The print fmt of the file's own sched_switch is the best witness: its __print_flags table
 * names the bits, and the condition in front of "+" is the preempt mark, be it a literal or an expression. It is read
 * by a small evaluator in which a field of the record is "all bits set", so that "REC->prev_state & MASK" gives MASK.
 */
#include "parsers/state.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "analyzer/base/kernel.h"

#define EXPR_MAX_DEPTH 64

struct expr {
	const char *p, *end;
	int depth;
	bool bad;
};

static uint64_t expr_binary(struct expr *e, int min_level);

static void expr_blanks(struct expr *e)
{
	while (e->p < e->end && (*e->p == ' ' || *e->p == '\t'))
		e->p++;
}

static bool is_digit(char c)
{
	return c >= '0' && c <= '9';
}

static bool is_ident(char c)
{
	return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_' || is_digit(c);
}

static uint64_t expr_number(struct expr *e)
{
	uint64_t v = 0;
	unsigned int base = 10;

	if (*e->p == '0' && e->end - e->p > 1) {
		base = 8;
		if (e->p[1] == 'x' || e->p[1] == 'X') {
			base = 16;
			e->p += 2;
		}
	}
	for (; e->p < e->end && is_ident(*e->p); e->p++) {
		char c = *e->p;
		unsigned int d;

		if (is_digit(c))
			d = (unsigned int)(c - '0');
		else if (base == 16 && (c | 0x20) >= 'a' && (c | 0x20) <= 'f')
			d = (unsigned int)((c | 0x20) - 'a') + 10;
		else if ((c | 0x20) == 'u' || (c | 0x20) == 'l')
			continue;
		else
			d = base;
		if (d >= base)
			e->bad = true;
		v = v * base + d;
	}
	return v;
}

/* A C type in parentheses is a cast; widths do not matter for constants of this size. */
static bool expr_cast(struct expr *e)
{
	static const char *const types[] = { "unsigned long", "unsigned int", "unsigned", "long",
					     "int",	      "u64",	      "s64",	  "u32" };

	for (size_t i = 0; i < sizeof(types) / sizeof(*types); i++) {
		size_t n = strlen(types[i]);

		if ((size_t)(e->end - e->p) > n + 1 && !memcmp(e->p, types[i], n) && e->p[n] == ')') {
			e->p += n + 1;
			return true;
		}
	}
	return false;
}

static uint64_t expr_unary(struct expr *e)
{
	uint64_t v = 0;

	expr_blanks(e);
	if (e->p >= e->end || ++e->depth > EXPR_MAX_DEPTH) {
		e->bad = true;
		return 0;
	}
	if (*e->p == '(') {
		e->p++;
		expr_blanks(e);
		if (expr_cast(e)) {
			v = expr_unary(e);
		} else {
			v = expr_binary(e, 0);
			expr_blanks(e);
			if (e->p < e->end && *e->p == ')')
				e->p++;
			else
				e->bad = true;
		}
	} else if (*e->p == '~' || *e->p == '-' || *e->p == '!' || *e->p == '+') {
		char op = *e->p++;

		v = expr_unary(e);
		v = op == '~' ? ~v : op == '-' ? 0 - v : op == '!' ? !v : v;
	} else if (is_digit(*e->p)) {
		v = expr_number(e);
	} else if (e->end - e->p > 5 && !memcmp(e->p, "REC->", 5)) {
		e->p += 5;
		while (e->p < e->end && is_ident(*e->p))
			e->p++;
		v = ~0ull;
	} else {
		e->bad = true;
	}
	e->depth--;
	return v;
}

/* Binary operators by binding strength; two-character ones first. */
static const struct {
	char text[3];
	int level;
} ops[] = {
	{ "<<", 8 }, { ">>", 8 }, { "==", 6 }, { "!=", 6 }, { "<=", 7 }, { ">=", 7 },
	{ "&&", 2 }, { "||", 1 }, { "|", 3 },  { "^", 4 },  { "&", 5 },	 { "<", 7 },
	{ ">", 7 },  { "+", 9 },  { "-", 9 },  { "*", 10 }, { "/", 10 }, { "%", 10 },
};

static int expr_peek_op(const struct expr *e)
{
	for (size_t i = 0; i < sizeof(ops) / sizeof(*ops); i++) {
		size_t n = strlen(ops[i].text);

		if ((size_t)(e->end - e->p) >= n && !memcmp(e->p, ops[i].text, n))
			return (int)i;
	}
	return -1;
}

static uint64_t expr_apply(struct expr *e, const char *op, uint64_t a, uint64_t b)
{
	switch (op[0]) {
	case '<':
		return op[1] == '<' ? (b < 64 ? a << b : 0) : op[1] ? a <= b : a < b;
	case '>':
		return op[1] == '>' ? (b < 64 ? a >> b : 0) : op[1] ? a >= b : a > b;
	case '=':
		return a == b;
	case '!':
		return a != b;
	case '&':
		return op[1] ? a && b : a & b;
	case '|':
		return op[1] ? a || b : a | b;
	case '^':
		return a ^ b;
	case '+':
		return a + b;
	case '-':
		return a - b;
	case '*':
		return a * b;
	}
	if (!b) {
		e->bad = true;
		return 0;
	}
	return op[0] == '/' ? a / b : a % b;
}

static uint64_t expr_binary(struct expr *e, int min_level)
{
	uint64_t v = expr_unary(e);

	while (!e->bad) {
		expr_blanks(e);
		int i = expr_peek_op(e);

		if (i < 0 || ops[i].level < min_level)
			break;
		e->p += strlen(ops[i].text);
		if (++e->depth > EXPR_MAX_DEPTH) {
			e->bad = true;
			break;
		}
		v = expr_apply(e, ops[i].text, v, expr_binary(e, ops[i].level + 1));
		e->depth--;
	}
	return v;
}

/* Evaluates the whole of [p, end); false when anything is left over or not understood. */
static bool expr_eval(const char *p, const char *end, uint64_t *v)
{
	struct expr e = { .p = p, .end = end };

	*v = expr_binary(&e, 0);
	expr_blanks(&e);
	return !e.bad && e.p == e.end;
}

/* End of the argument that starts at p: a comma or closing parenthesis outside of brackets and strings, or the end. */
static const char *arg_end(const char *p, const char *end)
{
	int depth = 0;

	for (; p < end; p++) {
		if (*p == '"') {
			for (p++; p < end && *p != '"'; p++)
				if (*p == '\\')
					p++;
			if (p >= end)
				break;
		} else if (*p == '(' || *p == '{') {
			depth++;
		} else if (*p == ')' || *p == '}') {
			if (!depth--)
				return p;
		} else if (*p == ',' && !depth) {
			return p;
		}
	}
	return end;
}

static const char *find(const char *p, const char *end, const char *text)
{
	return p < end ? memmem(p, (size_t)(end - p), text, strlen(text)) : NULL;
}

/* "{ 0x01, "S" }" : false when it is no pair of a single bit and a letter. */
static bool parse_pair(const char *p, const char *end, struct wi_state_table *t)
{
	const char *comma, *quote;
	uint64_t bit;

	while (p < end && *p == ' ')
		p++;
	if (p >= end || *p++ != '{')
		return false;
	comma = arg_end(p, end);
	quote = find(comma, end, "\"");
	if (!quote || end - quote < 3 || quote[2] != '"' || !expr_eval(p, comma, &bit))
		return false;
	if (!bit || (bit & (bit - 1)) || bit >= 1u << WI_STATE_BITS || !is_ident(quote[1]))
		return false;
	t->letter[__builtin_ctzll(bit)] = quote[1];
	return true;
}

/* The argument that holds __print_flags(VALUE & MASK, "|", { bit, "letter" }, ...). */
static bool parse_flags_arg(const char *p, const char *end, struct wi_state_table *t)
{
	static const char call[] = "__print_flags(";
	unsigned int nr_pairs = 0;
	const char *next;
	uint64_t mask;

	p = find(p, end, call);
	if (!p)
		return false;
	p += sizeof(call) - 1;
	next = arg_end(p, end);
	if (!expr_eval(p, next, &mask))
		return false;
	p = next < end ? next + 1 : end;
	next = arg_end(p, end); /* the delimiter */
	memset(t->letter, 0, sizeof(t->letter));
	while (next < end && *next == ',') {
		p = next + 1;
		next = arg_end(p, end);
		if (!parse_pair(p, next, t))
			return false;
		nr_pairs++;
	}
	t->mask = mask;
	return nr_pairs && next < end;
}

/* The argument 'COND ? "+" : ""'. */
static bool parse_mark_arg(const char *p, const char *end, uint64_t *mark)
{
	const char *plus = find(p, end, "\"+\""), *q = plus;
	uint64_t v;

	if (!plus)
		return false;
	while (q > p && q[-1] == ' ')
		q--;
	if (q == p || *--q != '?' || !expr_eval(p, q, &v) || !v || (v & (v - 1)))
		return false;
	*mark = v;
	return true;
}

struct fmt_facts {
	struct wi_state_table t;
	bool letters, mark, has_plus;
};

static void parse_print_fmt(const char *fmt, struct fmt_facts *f)
{
	const char *end = fmt + strlen(fmt), *p = fmt, *next;

	memset(f, 0, sizeof(*f));
	f->has_plus = find(fmt, end, "\"+\"");
	for (; p < end; p = next + 1) {
		next = arg_end(p, end);
		if (!f->letters && parse_flags_arg(p, next, &f->t))
			f->letters = true;
		else if (!f->mark && parse_mark_arg(p, next, &f->t.preempt_mark))
			f->mark = true;
		if (next >= end)
			break;
	}
}

/* First kernel of each set of constants; newest last. */
static const struct table {
	uint32_t since; /* WI_KERNEL() */
	const char letters[WI_STATE_BITS + 1];
	uint64_t mark;
	bool index;
	const char *source;
} tables[] = {
	{ 0, "SDTtZXxKW", 0x200, false, "table 2.6.29" },
	{ WI_KERNEL(3, 9), "SDTtZXxKWP", 0x400, false, "table 3.9" },
	{ WI_KERNEL(4, 2), "SDTtXZxKWPN", 0x800, false, "table 4.2" },
	{ WI_KERNEL(4, 8), "SDTtXZxKWPNn", 0x1000, false, "table 4.8" },
	{ WI_KERNEL(4, 14), "SDTtXZPI", 0x1000, true, "table 4.14" },
	{ WI_KERNEL(4, 15), "SDTtXZPI", 0x100, false, "table 4.15" },
};

#define NEWEST_TABLE (&tables[sizeof(tables) / sizeof(*tables) - 1])

static const struct table *table_of(const char *release)
{
	uint32_t kernel = wi_kernel_of(release);
	const struct table *t = NEWEST_TABLE;

	if (!kernel)
		return t;
	while (t->since > kernel)
		t--;
	return t;
}

static void from_table(struct wi_state_table *t, const struct table *tab)
{
	memset(t, 0, sizeof(*t));
	memcpy(t->letter, tab->letters, WI_STATE_BITS);
	t->preempt_mark = tab->mark;
	t->mask = tab->mark - 1;
	t->index_states = tab->index;
	t->source = tab->source;
}

void wi_state_table_init(struct wi_state_table *t, const char *print_fmt, const char *kernel_release)
{
	struct fmt_facts f;

	from_table(t, table_of(kernel_release));
	if (!print_fmt || !*print_fmt)
		return;
	parse_print_fmt(print_fmt, &f);
	if (!f.letters)
		return;
	memcpy(t->letter, f.t.letter, sizeof(t->letter));
	t->source = "print fmt";
	if (f.mark)
		t->preempt_mark = f.t.preempt_mark;
	else if (!f.has_plus)
		t->preempt_mark = 0;
	t->mask = f.t.mask == ~0ull ? 0 : f.t.mask;
	if (!t->mask)
		for (unsigned int i = 0; i < WI_STATE_BITS; i++)
			t->mask |= t->letter[i] ? 1ull << i : 0;
	if (t->preempt_mark)
		t->mask &= t->preempt_mark - 1;
	/*
	 * 4.14 labels bits up to I (0x80), yet records the index of the state and marks a preempted task with the
	 * older, far away 0x1000; the kernels after it that record bits have the mark right above the last label.
	 */
	t->index_states = t->letter[7] == 'I' && f.mark && t->preempt_mark > 0x100;
	if (t->letter[7] == 'I' && !f.mark)
		t->index_states = table_of(kernel_release)->index;
}

struct wi_state wi_state_decode(const struct wi_state_table *t, uint64_t raw)
{
	struct wi_state s = { .letter = 'R', .known = true };
	uint64_t bits = raw & t->mask;

	if (t->preempt_mark && (raw & t->preempt_mark)) {
		s.preempted = true;
		return s;
	}
	if (!raw)
		return s;
	if (t->index_states)
		bits = raw <= WI_STATE_BITS ? 1ull << (raw - 1) : 0;
	else if (raw & ~t->mask)
		bits = 0;
	s.letter = bits && __builtin_ctzll(bits) < WI_STATE_BITS ? t->letter[__builtin_ctzll(bits)] : '\0';
	if (!s.letter) {
		s.letter = '?';
		s.known = false;
	}
	return s;
}

struct wi_state wi_state_parse_letters(const char *s, uint32_t len)
{
	static const char known[] = "RSDTtXZPIxKWNn";
	struct wi_state st = { .letter = '?' };
	char first = 0;

	for (uint32_t i = 0; i < len; i++) {
		if (s[i] == '+' && i + 1 == len && i) {
			st.preempted = true;
		} else if (s[i] == '|' && i && i + 1 < len) {
			continue;
		} else if (s[i] && strchr(known, s[i])) {
			first = first ? first : s[i];
		} else {
			st.preempted = false;
			return st;
		}
	}
	if (!first)
		return st;
	st.known = true;
	st.letter = st.preempted ? 'R' : first;
	return st;
}
