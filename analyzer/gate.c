/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "analyzer/gate.h"

#include <ctype.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "analyzer/base/fmt.h"

static const char forms[] = "a gate is 'PATH > +5%', '< -3%', '> 1.2x' or '> 12000', and may end in 'significant'";

static const char *skip_blanks(const char *s)
{
	while (isspace((unsigned char)*s))
		s++;
	return s;
}

/* "+5%", "1.2x", "12000": *end is behind it. */
static bool parse_bound(struct wi_gate *g, const char *text, const char **end, const char **wrong)
{
	char *stop;

	g->bound = strtod(text, &stop);
	if (stop == text || !isfinite(g->bound) || strcspn(text, "xX") < (size_t)(stop - text)) { /* not 0x10 */
		*wrong = "no number behind the comparison";
		return false;
	}
	g->kind = *stop == '%' ? WI_GATE_PERCENT : *stop == 'x' ? WI_GATE_TIMES : WI_GATE_VALUE;
	*end = stop + (g->kind != WI_GATE_VALUE);
	if (g->kind == WI_GATE_PERCENT && *text != '+' && *text != '-' && g->bound != 0) {
		*wrong = "a percentage is a change and needs its sign";
		return false;
	}
	if (g->kind == WI_GATE_TIMES && g->bound < 0) {
		*wrong = "a ratio is not below 0";
		return false;
	}
	return true;
}

static bool parse_tail(struct wi_gate *g, const char *text, const char **wrong)
{
	static const char word[] = "significant";

	if (*text && !isspace((unsigned char)*text)) {
		*wrong = "behind the number";
		return false;
	}
	text = skip_blanks(text);
	if (!strncmp(text, word, sizeof(word) - 1)) {
		g->significant = true;
		text = skip_blanks(text + sizeof(word) - 1);
	}
	if (*text)
		*wrong = "behind the number";
	return !*text;
}

bool wi_gate_parse(struct wi_gate *g, const char *text, struct wi_err *err)
{
	const char *path = skip_blanks(text), *op = path + strcspn(path, "<>"), *bound, *end = NULL, *wrong = NULL;
	size_t len = (size_t)(op - path);

	memset(g, 0, sizeof(*g));
	g->text = text;
	while (len && isspace((unsigned char)path[len - 1]))
		len--;
	if (!*op)
		wrong = "no comparison";
	else if (!len)
		wrong = "no metric before the comparison";
	g->above = *op == '>';
	bound = wrong ? op : skip_blanks(op + 1);
	if (wrong || !parse_bound(g, bound, &end, &wrong) || !parse_tail(g, end, &wrong))
		return wi_err_set(err, WI_EUSAGE, "--fail-if: %s: '%s': %s", wrong, text, forms);
	g->path = strndup(path, len);
	return g->path || wi_err_nomem(err);
}

void wi_gate_fini(struct wi_gate *g)
{
	free(g->path);
	g->path = NULL;
}

/* The number that is compared with the bound. NAN: there is none. */
static double measure(const struct wi_gate *g, const struct wi_gate_case *c)
{
	if (g->kind == WI_GATE_VALUE)
		return c->value;
	if (isnan(c->base) || isnan(c->value))
		return NAN;
	if (c->base == 0) {
		if (c->value != 0)
			return c->value > 0 ? INFINITY : -INFINITY;
		return g->kind == WI_GATE_PERCENT ? 0 : 1; /* nothing changed */
	}
	if (g->kind == WI_GATE_PERCENT)
		return (c->value - c->base) / fabs(c->base) * 100;
	return (c->base < 0) != (c->value < 0) ? NAN : c->value / c->base;
}

/* Six digits, without an exponent where people would not write one. */
static const char *figure(char *out, size_t size, double value)
{
	snprintf(out, size, fabs(value) >= 1e5 && fabs(value) < 1e15 ? "%.0f" : "%.6g", value);
	return out;
}

static void describe(const struct wi_gate *g, const struct wi_gate_case *c, double found, struct wi_gate_judgement *out)
{
	char base[WI_FMT_LEN], value[WI_FMT_LEN];

	figure(value, sizeof(value), c->value);
	figure(base, sizeof(base), c->base);
	if (g->kind == WI_GATE_VALUE)
		snprintf(out->text, sizeof(out->text), "%s", value);
	else if (isinf(found))
		snprintf(out->text, sizeof(out->text), "from 0 to %s", value);
	else if (g->kind == WI_GATE_PERCENT)
		snprintf(out->text, sizeof(out->text), "%+.2f %%, from %s to %s", found, base, value);
	else
		snprintf(out->text, sizeof(out->text), "%.4gx, from %s to %s", found, base, value);
}

static void append(struct wi_gate_judgement *out, const char *text)
{
	size_t len = strlen(out->text);

	snprintf(out->text + len, sizeof(out->text) - len, "%s", text);
}

void wi_gate_judge(const struct wi_gate *g, const struct wi_gate_case *c, struct wi_gate_judgement *out)
{
	double found = measure(g, c);

	*out = (struct wi_gate_judgement){ WI_GATE_UNJUDGED, INFINITY, "" };
	if (isnan(c->value) || isnan(found)) {
		snprintf(out->text, sizeof(out->text), "%s",
			 isnan(c->value)  ? "not measured"
			 : isnan(c->base) ? "not measured in the baseline"
					  : "no ratio: the sign changed");
		return;
	}
	describe(g, c, found, out);
	out->beyond = g->above ? found - g->bound : g->bound - found;
	/* The last bits of a quotient are not the user's: +10% holds for 1.0 and 1.1. */
	out->verdict = out->beyond > 1e-9 * fmax(1, fabs(g->bound)) ? WI_GATE_FAILED : WI_GATE_PASSED;
	if (!g->significant || out->verdict == WI_GATE_PASSED)
		return;
	if (c->excludes_0 == WI_NO) {
		out->verdict = WI_GATE_PASSED;
		append(out, ", which may be chance");
	} else if (c->excludes_0 == WI_UNKNOWN) {
		out->verdict = WI_GATE_UNJUDGED;
		append(out, ", and too little is known to tell whether that is chance");
	} else {
		append(out, ", significant");
	}
}
