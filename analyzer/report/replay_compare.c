/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Metrics x policies: value, difference to what happened, difference to the model of the recording's kernel. */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "analyzer/base/fmt.h"
#include "analyzer/report/replay.h"

#define NR(a) (sizeof(a) / sizeof(*(a)))
#define POLICIES_ABREAST 3u

enum unit { SHARE, TIME, RATIO };

struct value {
	bool known;
	double value; /* share: 0 .. 1; time: ns */
};

static struct value ratio(uint64_t part, uint64_t whole)
{
	return whole ? (struct value){ true, (double)part / (double)whole } : (struct value){ 0 };
}

static struct value agree_cpu(const struct wi_model_results *m)
{
	return m->position ? ratio(m->select.cpu, m->select.decided) : (struct value){ 0 };
}

static struct value agree_llc(const struct wi_model_results *m)
{
	return m->position ? ratio(m->select.llc, m->select.decided) : (struct value){ 0 };
}

static struct value on_idle(const struct wi_model_results *m)
{
	return ratio(m->missed.chosen_idle, m->missed.decided);
}

static struct value on_busy(const struct wi_model_results *m)
{
	return ratio(m->missed.queued_on_busy, m->missed.decided);
}

#define MISSED(name, field)                                                                                            \
	static struct value name(const struct wi_model_results *m)                                                     \
	{                                                                                                              \
		return ratio(m->missed.field, m->missed.decided);                                                      \
	}

MISSED(missed_sibling, row[WI_MISSED_SIBLING])
MISSED(missed_llc, row[WI_MISSED_LLC])
MISSED(missed_node, row[WI_MISSED_NODE])
MISSED(missed_machine, row[WI_MISSED_MACHINE])
MISSED(no_idle, row[WI_MISSED_NO_IDLE])
MISSED(while_idle_core, queued_while_idle_core[WI_WIDE_LLC])
MISSED(half_busy, half_busy_core[WI_WIDE_LLC])
MISSED(stacked, stacked_on_waker)
MISSED(left_prev, prev_idle_elsewhere)

static struct value moved_from(const struct wi_model_results *m, int first)
{
	uint64_t n = 0;

	for (int d = first; d < WI_NR_DISTANCES; d++)
		n += m->moves[d];
	return ratio(n, m->select.decided);
}

static struct value moved(const struct wi_model_results *m)
{
	return moved_from(m, WI_DIST_CORE);
}

static struct value left_llc(const struct wi_model_results *m)
{
	return moved_from(m, WI_DIST_NODE);
}

static struct value left_node(const struct wi_model_results *m)
{
	return moved_from(m, WI_DIST_REMOTE);
}

static struct value waits(const struct wi_model_results *m)
{
	const struct wi_hist *h = &m->est_wait.wait;

	return ratio(h->count ? h->count - h->bucket[0] : 0, h->count);
}

static struct value wait_mean(const struct wi_model_results *m)
{
	return ratio(m->est_wait.wait.sum_ns, m->est_wait.wait.count);
}

static struct value quantile(const struct wi_model_results *m, double q)
{
	const struct wi_hist *h = &m->est_wait.wait;

	return h->count ? (struct value){ true, (double)wi_hist_quantile(h, q) } : (struct value){ 0 };
}

static struct value wait_p90(const struct wi_model_results *m)
{
	return quantile(m, 0.9);
}

static struct value wait_p99(const struct wi_model_results *m)
{
	return quantile(m, 0.99);
}

static struct value wait_max(const struct wi_model_results *m)
{
	const struct wi_hist *h = &m->est_wait.wait;

	return h->count ? (struct value){ true, (double)h->max_ns } : (struct value){ 0 };
}

static struct value open_waits(const struct wi_model_results *m)
{
	return ratio(m->est_wait.censored + m->est_wait.unknown + m->est_wait.dropped, m->select.decided);
}

static struct value examined(const struct wi_model_results *m)
{
	return m->position && m->examined ? ratio(m->examined, m->select.decided) : (struct value){ 0 };
}

static const struct metric {
	const char *name;
	enum unit unit;
	struct value (*of)(const struct wi_model_results *m);
} metrics[] = {
	{ "same CPU as the kernel", SHARE, agree_cpu },
	{ "same LLC as the kernel", SHARE, agree_llc },
	{ "placed on an idle CPU", SHARE, on_idle },
	{ "queued on a busy CPU", SHARE, on_busy },
	{ "  idle sibling missed", SHARE, missed_sibling },
	{ "  idle in LLC missed", SHARE, missed_llc },
	{ "  idle in node missed", SHARE, missed_node },
	{ "  idle elsewhere missed", SHARE, missed_machine },
	{ "  no idle CPU", SHARE, no_idle },
	{ "busy, idle core in LLC", SHARE, while_idle_core },
	{ "half-busy core (LLC)", SHARE, half_busy },
	{ "stacked on waker", SHARE, stacked },
	{ "left an idle prev", SHARE, left_prev },
	{ "moved", SHARE, moved },
	{ "  to another LLC", SHARE, left_llc },
	{ "  to another node", SHARE, left_node },
	{ "waits", SHARE, waits },
	{ "est. wait mean", TIME, wait_mean },
	{ "est. wait p90", TIME, wait_p90 },
	{ "est. wait p99", TIME, wait_p99 },
	{ "est. wait max", TIME, wait_max },
	{ "wait not known", SHARE, open_waits },
	{ "CPUs examined", RATIO, examined },
};

static void value_cell(struct wi_table *t, enum unit unit, struct value v)
{
	if (!v.known)
		wi_table_none(t);
	else if (unit == TIME)
		wi_table_ns(t, (uint64_t)(v.value + 0.5));
	else if (unit == SHARE)
		wi_table_textf(t, "%.2f %%", 100 * v.value);
	else
		wi_table_textf(t, "%.2f", v.value);
}

static void difference_cell(struct wi_table *t, enum unit unit, struct value v, struct value base)
{
	double d = v.value - base.value;
	char text[WI_FMT_LEN];

	if (!v.known || !base.known)
		wi_table_none(t);
	else if (unit == TIME)
		wi_table_textf(t, "%s%s", d < 0 ? "-" : "+",
			       wi_fmt_ns(text, sizeof(text), (uint64_t)((d < 0 ? -d : d) + 0.5)));
	else
		wi_table_textf(t, "%+.2f", unit == SHARE ? 100 * d : d);
}

/* Metrics of models [from, to), beside what happened. */
static bool print_block(FILE *out, const struct wi_replay_results *r, const struct wi_model_results *kernel, size_t from,
			size_t to, struct wi_err *err)
{
	char title[POLICIES_ABREAST][64], name[WI_FMT_NAME_LEN];
	struct wi_column columns[2 + 3 * POLICIES_ABREAST] = { { "", true, false }, { "happened", false, false } };
	size_t nr = 2;
	struct wi_table *t;

	fputc('\n', out);
	for (size_t i = from; i < to; i++) {
		fprintf(out, "[%zu] %s%s\n", i, wi_fmt_name(name, sizeof(name), r->model[i].label),
			&r->model[i] == kernel ? " (the recording's kernel)" : "");
		snprintf(title[i - from], sizeof(title[0]), "[%zu]", i);
		columns[nr++] = (struct wi_column){ title[i - from], false, false };
		columns[nr++] = (struct wi_column){ "-happened", false, false };
		if (kernel && &r->model[i] != kernel)
			columns[nr++] = (struct wi_column){ "-kernel's", false, false };
	}
	t = wi_table_new(columns, nr);
	for (size_t k = 0; k < NR(metrics); k++) {
		const struct metric *m = &metrics[k];
		struct value happened = m->of(&r->model[0]);

		wi_table_text(t, m->name);
		value_cell(t, m->unit, happened);
		for (size_t i = from; i < to; i++) {
			struct value v = m->of(&r->model[i]);

			value_cell(t, m->unit, v);
			difference_cell(t, m->unit, v, happened);
			if (kernel && &r->model[i] != kernel)
				difference_cell(t, m->unit, v, m->of(kernel));
		}
	}
	return wi_table_print(t, out, 0) || wi_err_nomem(err);
}

static void print_hists(FILE *out, const struct wi_replay_results *r)
{
	char name[WI_FMT_NAME_LEN];

	for (size_t i = 0; i < r->nr_models; i++) {
		fprintf(out, "\nestimated wait, placed by %s\n", wi_fmt_name(name, sizeof(name), r->model[i].label));
		if (r->model[i].est_wait.wait.count)
			wi_report_text_hist(out, &r->model[i].est_wait.wait, 2);
		else
			fputs("  none\n", out);
	}
	if (r->model[0].real_wait.count) {
		fputs("\nqueue wait as measured\n", out);
		wi_report_text_hist(out, &r->model[0].real_wait, 2);
	}
}

bool wi_replay_text_compare(FILE *out, const struct wi_replay_report *p, struct wi_err *err)
{
	const struct wi_replay_results *r = p->r;
	const struct wi_model_results *kernel = wi_replay_kernel_row(r);

	wi_replay_text_head(out, p);
	if (!r->decided) {
		fputs("no decided wakeup in the window\n", out);
		return true;
	}
	fputs("shares are of decided wakeups, their differences in percentage points\n", out);
	for (size_t i = 1; i < r->nr_models; i += POLICIES_ABREAST)
		if (!print_block(out, r, kernel, i, i + POLICIES_ABREAST < r->nr_models ? i + POLICIES_ABREAST : r->nr_models, err))
			return false;
	if (p->hist)
		print_hists(out, r);
	return true;
}
