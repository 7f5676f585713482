/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What the parts of the text report share. */
#ifndef WI_REPORT_TEXT_PRIV_H
#define WI_REPORT_TEXT_PRIV_H

#include "analyzer/base/fmt.h"
#include "analyzer/report/report.h"

#define WI_TEXT_WIDTH 100

/* Text that is put together and then printed with its lines broken at blanks. */
struct wi_para {
	char *text;
	size_t len, room;
	bool failed;
};

void wi_para_add(struct wi_para *p, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
void wi_para_name(struct wi_para *p, const char *name);
/* "label      text", further lines indented as the text is; frees it. false: out of memory, nothing was printed. */
bool wi_para_print(struct wi_para *p, FILE *out, const char *label, int indent);

/* Does this scope differ from the next smaller one on this machine? Rows that could only repeat another are left out.
 */
bool wi_scope_differs(const struct wakeif_topology *t, enum wakeif_scope scope);

/* For people: "core", "cluster", "LLC", "node", "machine"; "same CPU" .. "LLC", "same node", "other node". */
const char *wi_text_scope(enum wakeif_scope s);
const char *wi_text_distance(enum wi_distance d);

void wi_text_title(FILE *out, const char *title);
/* "s" unless n is 1. */
const char *wi_text_s(uint64_t n);
/* One line "n more ..." when a list was cut. what: plural */
void wi_text_more(FILE *out, uint64_t total, uint64_t shown, const char *what);

/* Sections of the report, each after a blank line and its title. false: err set. */
bool wi_text_wakeups(FILE *out, const struct wi_report *rep, struct wi_err *err);
bool wi_text_longest(FILE *out, const struct wi_report *rep, size_t max_rows, struct wi_err *err);
bool wi_text_worst(FILE *out, const struct wi_report *rep, size_t max_rows, struct wi_err *err);
bool wi_text_waste(FILE *out, const struct wi_report *rep, struct wi_err *err);
bool wi_text_idle(FILE *out, const struct wi_report *rep, struct wi_err *err);
bool wi_text_migrations(FILE *out, const struct wi_report *rep, struct wi_err *err);
bool wi_text_tasks(FILE *out, const struct wi_report *rep, struct wi_err *err);

#endif
