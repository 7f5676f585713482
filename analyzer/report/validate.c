/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "analyzer/report/validate.h"

#include <inttypes.h>
#include <string.h>

#include "analyzer/base/fmt.h"

#define NR(a) (sizeof(a) / sizeof(*(a)))

/* ---- text ---- */

static void print_notes(FILE *out, const char *notes)
{
	while (*notes) {
		size_t n = strcspn(notes, "\n");

		fprintf(out, "note: %.*s\n", (int)n, notes);
		notes += n + (notes[n] == '\n');
	}
}

static void print_head(FILE *out, const struct wi_validate_report *p)
{
	const struct wi_validate_results *v = p->v;

	print_notes(out, p->notes);
	fprintf(out, "topology: %s\n", p->rep->topology->source);
	fprintf(out, "truth: %" PRIu64 " wakeups decided by the kernel, %" PRIu64 " forks, %" PRIu64 " execs", v->truth_wakeups, v->truth_forks, v->truth_execs);
	if (v->not_in_trace)
		fprintf(out, "; %" PRIu64 " wakeups are not in the trace or outside the window", v->not_in_trace);
	if (v->choice_wrong)
		fprintf(out, "; %" PRIu64 " times the trace shows another choice than the kernel told", v->choice_wrong);
	fputc('\n', out);
}

static bool print_forms(FILE *out, const struct wi_validate_results *v, struct wi_err *err)
{
	static const struct wi_column columns[] = { { "closed form", true, false }, { "cases", false, false }, { "hold", false, false }, { "says", true, false } };
	struct wi_table *t = wi_table_new(columns, NR(columns));

	fputs("\nClosed forms (no model; if these fail, look at classes, topology and clock first)\n", out);
	for (int f = 0; f < WI_NR_CLOSED_FORMS; f++) {
		wi_table_text(t, wi_closed_form_name((enum wi_closed_form)f));
		wi_table_count(t, v->forms[f].cases);
		wi_table_share(t, v->forms[f].hold, v->forms[f].cases);
		wi_table_text(t, wi_closed_form_help((enum wi_closed_form)f));
	}
	return wi_table_print(t, out, 2) || wi_err_nomem(err);
}

struct line {
	const char *name;
	uint64_t cases, agree, tagged, tagged_agree;
};

static void add_line(struct wi_table *t, const struct line *l, uint64_t all, bool tags)
{
	if (!l->cases)
		return;
	wi_table_text(t, l->name);
	wi_table_count(t, l->cases);
	wi_table_share(t, l->cases, all);
	wi_table_share(t, l->agree, l->cases);
	if (!tags) {
		wi_table_none(t);
		wi_table_none(t);
		wi_table_none(t);
		return;
	}
	wi_table_share(t, l->tagged, l->cases);
	wi_table_share(t, l->agree - l->tagged_agree, l->cases - l->tagged);
	wi_table_share(t, l->tagged_agree, l->tagged);
}

static struct line rule_line(const struct wi_validate_results *v, int rule)
{
	return (struct line){ wi_rule_name((enum wakeif_rule)rule), v->by_rule[rule].answers, v->by_rule[rule].agree, v->by_rule[rule].tagged,
			      v->by_rule[rule].tagged_agree };
}

static bool print_agreement(FILE *out, const struct wi_validate_results *v, const char *model, const char *sync, struct wi_err *err)
{
	static const struct wi_column columns[] = { { "", true, false },	    { "decided", false, false },  { "share", false, false },  { "agree", false, false },
						    { "tagged", false, false }, { "untagged agree", false, false }, { "tagged agree", false, false } };
	struct wi_table *t = wi_table_new(columns, NR(columns));
	char share[WI_FMT_LEN];

	fprintf(out, "\nAgreement of %s with the kernel, exact CPU, WF_SYNC %s (it is as recorded in %s)\n", model, sync,
		wi_fmt_share(share, sizeof(share), v->sync_right, v->decided));
	add_line(t, &(struct line){ "all", v->decided, v->agree, v->tagged, v->tagged_agree }, v->decided, v->has_tags);
	add_line(t, &(struct line){ "waker stalled", v->stalled, v->stalled_agree, v->stalled_tagged, v->stalled_tagged_agree }, v->decided, v->has_tags);
	for (int r = 0; r < WAKEIF_NR_RULES; r++) {
		struct line l = rule_line(v, r);

		add_line(t, &l, v->decided, v->has_tags);
	}
	if (!wi_table_print(t, out, 2))
		return wi_err_nomem(err);
	fputs("  WF_SYNC found otherwise:", out);
	for (int m = WI_SYNC_RECORDED; m < WI_NR_SYNC_MODES; m++)
		fprintf(out, " %s %s", wi_sync_mode_name((enum wi_sync_mode)m), wi_fmt_share(share, sizeof(share), v->sync_agree[m], v->decided));
	fputc('\n', out);
	if (v->affine_asked)
		fprintf(out, "  target of the search as recorded: %s of %" PRIu64 " wake_affine calls\n",
			wi_fmt_share(share, sizeof(share), v->affine_agree, v->affine_asked), v->affine_asked);
	if (v->has_tags)
		fprintf(out, "  the kernel's choice is within the reachable ones: %s%s\n", wi_fmt_share(share, sizeof(share), v->in_set, v->decided),
			v->gave_up ? " (some decisions have too many paths: tagged)" : "");
	return true;
}

static bool print_classes(FILE *out, const struct wi_validate_results *v, struct wi_err *err)
{
	static const struct wi_column columns[] = { { "class by the trace", true, false }, { "kernel decided", false, false }, { "did not", false, false }, { "not told", false, false } };
	struct wi_table *t = wi_table_new(columns, NR(columns));

	fputs("\nWhich wakeups came to a decision\n", out);
	for (int c = 0; c < WAKEIF_NR_CLASSES; c++) {
		const struct wi_validate_class *k = &v->by_class[c];

		if (!k->decided && !k->not_decided && !k->not_told)
			continue;
		wi_table_text(t, wi_class_name((enum wakeif_class)c));
		wi_table_count(t, k->decided);
		wi_table_count(t, k->not_decided);
		wi_table_count(t, k->not_told);
	}
	return wi_table_print(t, out, 2) || wi_err_nomem(err);
}

static void print_logic(FILE *out, const struct wi_logic_results *l)
{
	char a[WI_FMT_LEN], b[WI_FMT_LEN];

	fprintf(out,
		"\nDecision logic, fed with the kernel's own state\n  same CPU %.3f %% of %" PRIu64 ", same sequence of idle tests %.3f %%, wake_wide %s of %" PRIu64
		", forks %" PRIu64 " of %" PRIu64 ", execs %" PRIu64 " of %" PRIu64 "\n",
		l->decisions ? 100.0 * (double)l->ret_ok / (double)l->decisions : 0.0, l->decisions,
		l->decisions ? 100.0 * (double)l->sequence_ok / (double)l->decisions : 0.0, wi_fmt_share(a, sizeof(a), l->wide_ok, l->wide_known), l->wide_known, l->fork_ok,
		l->fork, l->exec_ok, l->exec);
	if (l->weight_known)
		fprintf(out, "  load compare reached where the kernel reached it: %s of %" PRIu64 "\n", wi_fmt_share(b, sizeof(b), l->weight_ok, l->weight_known),
			l->weight_known);
	for (int r = 1; r < WI_LOGIC_NR_REASONS; r++)
		if (l->reasons[r] || l->slow_reasons[r])
			fprintf(out, "  %" PRIu64 " wakeups, %" PRIu64 " forks and execs differ: %s\n", l->reasons[r], l->slow_reasons[r],
				wi_logic_reason_meaning((enum wi_logic_reason)r));
}

bool wi_validate_text_tables(FILE *out, const struct wi_validate_results *v, const char *model, const char *sync, struct wi_err *err)
{
	if (!print_forms(out, v, err) || !print_agreement(out, v, model, sync, err) || !print_classes(out, v, err))
		return false;
	if (v->has_logic)
		print_logic(out, &v->logic);
	return true;
}

bool wi_validate_text(FILE *out, const struct wi_validate_report *p, struct wi_err *err)
{
	print_head(out, p);
	return wi_validate_text_tables(out, p->v, p->model, p->sync, err);
}

/* ---- JSON ---- */

static void json_line(struct wi_json *j, const struct line *l, bool tags)
{
	wi_json_u64(j, "decided", l->cases);
	wi_json_u64(j, "agree", l->agree);
	wi_json_share(j, "agree_share", l->agree, l->cases);
	if (!tags)
		return;
	wi_json_u64(j, "tagged", l->tagged);
	wi_json_u64(j, "agree_tagged", l->tagged_agree);
	wi_json_u64(j, "agree_untagged", l->agree - l->tagged_agree);
	wi_json_share(j, "agree_untagged_share", l->agree - l->tagged_agree, l->cases - l->tagged);
}

static void json_logic(struct wi_json *j, const struct wi_logic_results *l)
{
	wi_json_object(j, "logic");
	wi_json_u64(j, "decisions", l->decisions);
	wi_json_u64(j, "agree", l->ret_ok);
	wi_json_share(j, "agree_share", l->ret_ok, l->decisions);
	wi_json_u64(j, "same_tests", l->sequence_ok);
	wi_json_share(j, "same_tests_share", l->sequence_ok, l->decisions);
	wi_json_u64(j, "unchecked", l->unchecked);
	wi_json_u64(j, "delayed_seen", l->delayed_seen);
	wi_json_u64(j, "delayed_assumed", l->delayed_assumed);
	wi_json_u64(j, "wide", l->wide_known);
	wi_json_u64(j, "wide_agree", l->wide_ok);
	wi_json_u64(j, "target", l->target_known);
	wi_json_u64(j, "target_agree", l->target_ok);
	wi_json_u64(j, "weight", l->weight_known);
	wi_json_u64(j, "weight_agree", l->weight_ok);
	wi_json_u64(j, "fork", l->fork);
	wi_json_u64(j, "fork_agree", l->fork_ok);
	wi_json_u64(j, "exec", l->exec);
	wi_json_u64(j, "exec_agree", l->exec_ok);
	wi_json_object_flat(j, "reasons");
	for (int r = 1; r < WI_LOGIC_NR_REASONS; r++)
		wi_json_u64(j, wi_logic_reason_name((enum wi_logic_reason)r), l->reasons[r]);
	wi_json_end_object(j);
	wi_json_object_flat(j, "slow_reasons");
	for (int r = 1; r < WI_LOGIC_NR_REASONS; r++)
		wi_json_u64(j, wi_logic_reason_name((enum wi_logic_reason)r), l->slow_reasons[r]);
	wi_json_end_object(j);
	wi_json_end_object(j);
}

static void json_classes(struct wi_json *j, const struct wi_validate_results *v)
{
	wi_json_object(j, "by_class");
	for (int c = 0; c < WAKEIF_NR_CLASSES; c++) {
		wi_json_object_flat(j, wi_class_name((enum wakeif_class)c));
		wi_json_u64(j, "kernel_decided", v->by_class[c].decided);
		wi_json_u64(j, "kernel_did_not", v->by_class[c].not_decided);
		wi_json_u64(j, "not_told", v->by_class[c].not_told);
		wi_json_end_object(j);
	}
	wi_json_end_object(j);
}

void wi_validate_json_object(struct wi_json *j, const struct wi_validate_results *v, const char *model, const char *sync)
{
	wi_json_object(j, "validate");
	wi_json_string(j, "model", model);
	wi_json_string(j, "sync", sync);
	json_line(j, &(struct line){ "", v->decided, v->agree, v->tagged, v->tagged_agree }, v->has_tags);
	if (v->has_tags)
		wi_json_u64(j, "in_reachable_set", v->in_set);
	wi_json_object_flat(j, "stalled");
	json_line(j, &(struct line){ "", v->stalled, v->stalled_agree, v->stalled_tagged, v->stalled_tagged_agree }, v->has_tags);
	wi_json_end_object(j);
	wi_json_object_flat(j, "truth");
	wi_json_u64(j, "wakeups", v->truth_wakeups);
	wi_json_u64(j, "forks", v->truth_forks);
	wi_json_u64(j, "execs", v->truth_execs);
	wi_json_u64(j, "not_in_trace", v->not_in_trace);
	wi_json_u64(j, "choice_differs", v->choice_wrong);
	wi_json_end_object(j);
	wi_json_object_flat(j, "sync_agree");
	wi_json_u64(j, "flag_right", v->sync_right);
	for (int m = WI_SYNC_RECORDED; m < WI_NR_SYNC_MODES; m++)
		wi_json_u64(j, wi_sync_mode_name((enum wi_sync_mode)m), v->sync_agree[m]);
	wi_json_end_object(j);
	wi_json_object_flat(j, "wake_affine");
	wi_json_u64(j, "asked", v->affine_asked);
	wi_json_u64(j, "agree", v->affine_agree);
	wi_json_end_object(j);
	wi_json_object(j, "closed_forms");
	for (int f = 0; f < WI_NR_CLOSED_FORMS; f++) {
		wi_json_object_flat(j, wi_closed_form_name((enum wi_closed_form)f));
		wi_json_u64(j, "cases", v->forms[f].cases);
		wi_json_u64(j, "hold", v->forms[f].hold);
		wi_json_end_object(j);
	}
	wi_json_end_object(j);
	json_classes(j, v);
	wi_json_object(j, "by_rule");
	for (int r = 0; r < WAKEIF_NR_RULES; r++) {
		struct line l = rule_line(v, r);

		if (!l.cases)
			continue;
		wi_json_object_flat(j, l.name);
		json_line(j, &l, v->has_tags);
		wi_json_end_object(j);
	}
	wi_json_end_object(j);
	if (v->has_logic)
		json_logic(j, &v->logic);
	wi_json_end_object(j);
}

void wi_validate_json(struct wi_json *j, const struct wi_validate_report *p)
{
	wi_validate_json_object(j, p->v, p->model, p->sync);
}

/* ---- CSV ---- */

struct csv {
	struct wi_csv *c;
	const char *recording, *kernel; /* NULL: no such fields */
};

static void csv_line(const struct csv *o, const char *group, const struct line *l, bool tags)
{
	struct wi_csv *c = o->c;

	if (o->recording) {
		wi_csv_text(c, o->recording);
		wi_csv_text(c, o->kernel);
	}
	wi_csv_text(c, group);
	wi_csv_text(c, l->name);
	wi_csv_u64(c, l->cases);
	wi_csv_u64(c, l->agree);
	if (tags) {
		wi_csv_u64(c, l->tagged);
		wi_csv_u64(c, l->tagged_agree);
	} else {
		wi_csv_none(c);
		wi_csv_none(c);
	}
	wi_csv_end(c);
}

void wi_validate_csv_lines(struct wi_csv *to, const struct wi_validate_results *v, const char *model, const char *recording, const char *kernel)
{
	const struct csv c = { to, recording, kernel };

	csv_line(&c, "all", &(struct line){ model, v->decided, v->agree, v->tagged, v->tagged_agree }, v->has_tags);
	csv_line(&c, "all", &(struct line){ "stalled", v->stalled, v->stalled_agree, v->stalled_tagged, v->stalled_tagged_agree }, v->has_tags);
	for (int m = WI_SYNC_RECORDED; m < WI_NR_SYNC_MODES; m++)
		csv_line(&c, "sync", &(struct line){ wi_sync_mode_name((enum wi_sync_mode)m), v->decided, v->sync_agree[m], 0, 0 }, false);
	for (int f = 0; f < WI_NR_CLOSED_FORMS; f++)
		csv_line(&c, "closed_form", &(struct line){ wi_closed_form_name((enum wi_closed_form)f), v->forms[f].cases, v->forms[f].hold, 0, 0 }, false);
	for (int r = 0; r < WAKEIF_NR_RULES; r++) {
		struct line l = rule_line(v, r);

		if (l.cases)
			csv_line(&c, "rule", &l, v->has_tags);
	}
	if (!v->has_logic)
		return;
	csv_line(&c, "logic", &(struct line){ "same_cpu", v->logic.decisions, v->logic.ret_ok, 0, 0 }, false);
	csv_line(&c, "logic", &(struct line){ "same_tests", v->logic.decisions, v->logic.sequence_ok, 0, 0 }, false);
	csv_line(&c, "logic", &(struct line){ "wake_wide", v->logic.wide_known, v->logic.wide_ok, 0, 0 }, false);
	csv_line(&c, "logic", &(struct line){ "fork", v->logic.fork, v->logic.fork_ok, 0, 0 }, false);
	csv_line(&c, "logic", &(struct line){ "exec", v->logic.exec, v->logic.exec_ok, 0, 0 }, false);
}

void wi_validate_csv(FILE *out, const struct wi_validate_report *p)
{
	struct wi_csv c = { out, false };

	wi_csv_header(&c, WI_VALIDATE_CSV_COLUMNS);
	wi_validate_csv_lines(&c, p->v, p->model, NULL, NULL);
}
