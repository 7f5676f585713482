/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Regression gates: "fail if this metric moved that far". The expression alone says which way is bad; nothing is
 * guessed from the metric. What cannot be judged fails: a gate never passes because something was not measured.
 *
 *   PATH > +5%        the mean rose by more than 5 % of the baseline's
 *   PATH < -3%        it fell by more than 3 %
 *   PATH > 1.2x       it is more than 1.2 times the baseline's
 *   PATH > 12000      it is more than 12000, whatever the baseline's is
 *   ... significant   and the interval of the difference excludes 0
 *
 * PATH is a metric's path or a glob of paths, each of which is judged.
 */
#ifndef WI_GATE_H
#define WI_GATE_H

#include <stdbool.h>

#include "analyzer/base/err.h"

enum wi_gate_kind { WI_GATE_PERCENT, WI_GATE_TIMES, WI_GATE_VALUE };

struct wi_gate {
	const char *text; /* as given; lent */
	char *path;	  /* owned */
	bool above;	  /* '>'; else '<' */
	enum wi_gate_kind kind;
	double bound; /* 5 for "+5%", 1.2 for "1.2x" */
	bool significant;
};

/* false: err (WI_EUSAGE) tells what is wrong; g holds nothing then. text is lent for the life of g. */
bool wi_gate_parse(struct wi_gate *g, const char *text, struct wi_err *err);
void wi_gate_fini(struct wi_gate *g);

enum wi_tristate { WI_NO, WI_YES, WI_UNKNOWN };

/* What there is to judge: means, NAN where there is none, and whether the interval of the difference excludes 0. */
struct wi_gate_case {
	double base, value;
	enum wi_tristate excludes_0;
};

enum wi_gate_verdict {
	WI_GATE_PASSED,
	WI_GATE_FAILED,
	WI_GATE_UNJUDGED, /* counts as failed */
};

struct wi_gate_judgement {
	enum wi_gate_verdict verdict;
	double beyond;	/* how far beyond the bound, in its unit: the worst of several is the greatest; INFINITY if
			   unjudged */
	char text[200]; /* what was found: "+7.13 %, from 1204 to 1290" */
};

void wi_gate_judge(const struct wi_gate *g, const struct wi_gate_case *c, struct wi_gate_judgement *out);

#endif
