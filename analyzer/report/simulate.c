/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "analyzer/report/simulate.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>

#include "analyzer/base/fmt.h"
#include "analyzer/report/table.h"

enum how { PERCENT, NUMBER, NS };

static const struct {
	const char *name, *title;
	enum how how;
	double floor;
	bool absolute;
} metric[WI_NR_SIM_METRICS] = {
#define X(id, name, title, how, floor, absolute) { name, title, how, floor, absolute },
	WI_SIM_METRICS(X)
#undef X
};

/* ---- cells ---- */

static void value_text(char *to, size_t size, uint32_t m, double v, bool sign)
{
	const char *plus = sign && v >= 0 ? "+" : sign ? "-" : "";
	double a = sign ? fabs(v) : v;
	char ns[WI_FMT_LEN];

	if (!isfinite(v))
		snprintf(to, size, "-");
	else if (metric[m].how == PERCENT)
		snprintf(to, size, "%s%.1f %%", plus, a * 100);
	else if (metric[m].how == NS)
		snprintf(to, size, "%s%s", plus, wi_fmt_ns(ns, sizeof(ns), (uint64_t)(a + 0.5)));
	else
		snprintf(to, size, a >= 100 ? "%s%.0f" : a >= 1 ? "%s%.2f" : "%s%.4f", plus, a);
}

static void cell(struct wi_table *t, uint32_t m, double v, bool sign)
{
	char text[64];

	value_text(text, sizeof(text), m, v, sign);
	wi_table_text(t, text);
}

/* "12.3 % ±0.4" */
static void cell_stat(struct wi_table *t, uint32_t m, const struct wi_sim_stat *s)
{
	char text[64], half[64];

	value_text(text, sizeof(text), m, s->mean, false);
	if (!isfinite(s->high)) {
		wi_table_text(t, text);
		return;
	}
	value_text(half, sizeof(half), m, s->high - s->mean, false);
	wi_table_textf(t, "%s ±%s", text, half);
}

/* Error of the self-replay: in points where the metric is a share, else relative. */
static void cell_error(struct wi_table *t, uint32_t m, double error, double recorded)
{
	if (!isfinite(error))
		wi_table_none(t);
	else if (metric[m].how == PERCENT)
		wi_table_textf(t, "%.1f pt", error * 100);
	else if (recorded > 0)
		wi_table_textf(t, "%.1f %%", error / recorded * 100);
	else
		cell(t, m, error, false);
}

/* ---- text ---- */

static bool self_replay(FILE *out, const struct wi_simulate_report *r)
{
	static const struct wi_column columns[] = { { "", true, false },	   { "recorded", false, false },
						    { "simulated", false, false }, { "error", false, false },
						    { "resampled", false, false }, { "error", false, false } };
	struct wi_table *t = wi_table_new(columns, sizeof(columns) / sizeof(*columns));
	const struct wi_self_replay *s = r->self;

	for (uint32_t m = 0; m < WI_NR_SIM_METRICS; m++) {
		wi_table_text(t, metric[m].title);
		cell(t, m, s->recorded[m], false);
		cell_stat(t, m, &s->own[m]);
		cell_error(t, m, s->error[m], s->recorded[m]);
		cell_stat(t, m, &s->drawn[m]);
		cell_error(t, m, s->error_drawn[m], s->recorded[m]);
	}
	wi_table_text(t, "latency, KS distance");
	wi_table_none(t);
	wi_table_none(t);
	wi_table_textf(t, "%.3f", s->ks);
	wi_table_none(t);
	wi_table_textf(t, "%.3f", s->ks_drawn);
	fprintf(out,
		"\nSelf-replay: %s against the recording, %" PRIu32
		" seeds; with recorded latencies of wakeups, and with resampled ones\n",
		r->policy[0].label, r->nr_seeds);
	return wi_table_print(t, out, 2);
}

static bool what_ifs(FILE *out, const struct wi_simulate_report *r, size_t first, size_t nr, const char *title)
{
	static const struct wi_column columns[] = { { "", true, false },
						    { "baseline", false, false },
						    { "what-if", false, false },
						    { "difference", false, false },
						    { "95 % interval", false, false },
						    { "", true, false } };

	for (size_t i = first; i < first + nr; i++) {
		const struct wi_sim_policy *p = &r->policy[i];

		if (p->base == UINT32_MAX)
			continue;
		const struct wi_sim_policy *base = &r->policy[p->base];
		struct wi_table *t = wi_table_new(columns, sizeof(columns) / sizeof(*columns));

		for (uint32_t m = 0; m < WI_NR_SIM_METRICS; m++) {
			const struct wi_sim_stat *d = &p->difference[m];
			char low[64], high[64];

			wi_table_text(t, metric[m].title);
			cell(t, m, base->value[m].mean, false);
			cell(t, m, p->value[m].mean, false);
			cell(t, m, d->mean, true);
			value_text(low, sizeof(low), m, d->low, true);
			value_text(high, sizeof(high), m, d->high, true);
			if (isfinite(d->low))
				wi_table_textf(t, "%s .. %s", low, high);
			else
				wi_table_none(t);
			wi_table_text(t, !isfinite(d->mean) || d->mean == 0 ||
							 wi_sim_believable(r->self, (enum wi_sim_metric)m, d->mean)
						 ? ""
						 : "within model error");
		}
		wi_table_text(t, "latency, KS distance");
		wi_table_none(t);
		wi_table_none(t);
		wi_table_textf(t, "%.3f", p->ks);
		wi_table_none(t);
		wi_table_text(t, p->ks > r->self->ks ? "" : "within model error");
		fprintf(out, "\n%s: %s against %s\n", title, p->label, base->label);
		if (!wi_table_print(t, out, 2))
			return false;
	}
	return true;
}

#define BAR 40

/* Shares of wakeups by latency, octaves, all policies side by side. */
static bool histograms(FILE *out, const struct wi_simulate_report *r)
{
	struct wi_column columns[18] = { { "latency up to", false, false }, { "recorded", false, false } };
	const struct wi_hist *h[17] = { &r->recorded->latency };
	struct wi_table *t;
	size_t nr = 1;

	for (size_t i = 0; i < r->first_what_if + r->nr_what_ifs && nr < 17; i++) {
		h[nr] = &r->policy[i].latency;
		columns[++nr] = (struct wi_column){ r->policy[i].label, false, true };
	}
	t = wi_table_new(columns, nr + 1);
	for (uint32_t e = 10; e < 40; e++) {
		bool any = false;
		double share[17];

		for (size_t i = 0; i < nr; i++) {
			uint64_t n = 0;

			for (uint32_t b = 0; b < h[i]->nr; b++) {
				uint64_t low = wi_hist_lower_ns(b);

				n += low < 1ull << e && (e == 10 || low >= 1ull << (e - 1)) ? h[i]->bucket[b] : 0;
			}
			share[i] = h[i]->count ? (double)n / (double)h[i]->count : NAN;
			any |= n != 0;
		}
		if (!any)
			continue;
		wi_table_ns(t, 1ull << e);
		for (size_t i = 0; i < nr; i++)
			wi_table_textf(t, "%.2f %%", share[i] * 100);
	}
	fputs("\nWakeup latency: share of wakeups\n", out);
	return wi_table_print(t, out, 2);
}

static double mean_idle(const struct wi_sim_policy *p, uint32_t kind, uint32_t i)
{
	double sum = 0;

	for (uint32_t n = 0; n < p->nr_runs; n++) {
		const struct wi_tally_result *t = &p->run[n].tally;
		uint64_t window = t->to_ns - t->from_ns;
		uint64_t ns = kind == 2	  ? (i < t->nr_packages ? t->package_idle_ns[i] : 0)
			      : kind == 1 ? (i < t->nr_groups[WAKEIF_CORE] ? t->group_idle_ns[WAKEIF_CORE][i] : 0)
					  : (i < t->nr_cpus ? t->cpu_idle_ns[i] : 0);

		sum += window ? (double)ns / (double)window : 0;
	}
	return p->nr_runs ? sum / p->nr_runs : NAN;
}

/* Idle share of each CPU, core and package, baseline and what-ifs side by side. */
static bool idle_tables(FILE *out, const struct wi_simulate_report *r)
{
	static const char *const kind_name[] = { "CPU", "core", "package" };
	struct wi_column columns[18] = { { "idle", true, false } };
	size_t nr = 0, list[17];

	for (size_t i = 0; i < r->first_what_if + r->nr_what_ifs && nr < 17; i++) {
		if (i == 1)
			continue;
		list[nr] = i;
		columns[++nr] = (struct wi_column){ r->policy[i].label, false, true };
	}
	for (uint32_t kind = 0; kind < 3; kind++) {
		const struct wi_tally_result *first = &r->policy[0].run[0].tally;
		uint32_t n = kind == 2	 ? first->nr_packages
			     : kind == 1 ? first->nr_groups[WAKEIF_CORE]
					 : first->nr_cpus;
		struct wi_table *t = wi_table_new(columns, nr + 1);

		for (uint32_t i = 0; i < n; i++) {
			wi_table_textf(t, "%s %" PRIu32, kind_name[kind], i);
			for (size_t k = 0; k < nr; k++)
				wi_table_textf(t, "%.1f %%", 100 * mean_idle(&r->policy[list[k]], kind, i));
		}
		fprintf(out, "\nIdle share of each %s\n", kind_name[kind]);
		if (!wi_table_print(t, out, 2))
			return false;
	}
	return true;
}

/* ---- core scheduling ---- */

static double mean_of(const struct wi_sim_policy *p, double (*of)(const struct wi_sim_result *r))
{
	double sum = 0;

	for (uint32_t i = 0; i < p->nr_runs; i++)
		sum += of(&p->run[i]);
	return p->nr_runs ? sum / p->nr_runs : NAN;
}

static double forced_share(const struct wi_sim_result *r)
{
	return r->tally.cpu_ns ? (double)r->tally.forced_idle_ns / (double)r->tally.cpu_ns : NAN;
}

static double compatible_share(const struct wi_sim_result *r)
{
	uint64_t all = r->compatible_corun_ns + r->incompatible_corun_ns;

	return all ? (double)r->compatible_corun_ns / (double)all : NAN;
}

static double incompatible_ns(const struct wi_sim_result *r)
{
	return (double)r->incompatible_corun_ns;
}

static double ipis_per_s(const struct wi_sim_result *r)
{
	uint64_t ns = r->tally.to_ns - r->tally.from_ns;

	return ns ? (double)r->tally.ipis * 1e9 / (double)ns : NAN;
}

/* Jain's index of what cookies got of the time that they wanted a CPU: 1 is fair, 1/n the least. */
static double fairness(const struct wi_sim_result *r)
{
	double sum = 0, squares = 0;
	uint32_t n = 0;

	for (uint32_t i = 0; i < r->nr_cookies; i++) {
		uint64_t wanted = r->cookie_ran_ns[i] + r->cookie_wait_ns[i];
		double share = wanted ? (double)r->cookie_ran_ns[i] / (double)wanted : 0;

		if (!wanted || !r->cookie[i])
			continue;
		sum += share;
		squares += share * share;
		n++;
	}
	return n && squares > 0 ? sum * sum / (n * squares) : NAN;
}

static const struct {
	const char *name, *title;
	double (*of)(const struct wi_sim_result *r);
	enum how how;
} shared_core[] = {
	{ "forced_idle", "CPU time forced idle", forced_share, PERCENT },
	{ "corun_compatible", "co-run of one cookie, of all", compatible_share, PERCENT },
	{ "incompatible_corun_ns", "co-run of different cookies", incompatible_ns, NS },
	{ "ipis_per_s", "reschedule IPIs per s", ipis_per_s, NUMBER },
	{ "fairness", "fairness over cookies (Jain)", fairness, NUMBER },
};
#define NR_SHARED_CORE (sizeof(shared_core) / sizeof(*shared_core))

static void shared_cell(struct wi_table *t, enum how how, double v)
{
	char ns[WI_FMT_LEN];

	if (!isfinite(v))
		wi_table_none(t);
	else if (how == PERCENT)
		wi_table_textf(t, "%.1f %%", v * 100);
	else if (how == NS)
		wi_table_text(t, wi_fmt_ns(ns, sizeof(ns), (uint64_t)v));
	else
		wi_table_textf(t, v >= 100 ? "%.0f" : "%.3f", v);
}

/* Mean over runs of what a cookie had: 0 run time, 1 wait, 2 share of waiting in what it wanted. */
static double cookie_figure(const struct wi_sim_policy *p, uint32_t cookie, uint32_t what)
{
	double ran = 0, wait = 0;

	for (uint32_t i = 0; i < p->nr_runs; i++)
		for (uint32_t k = 0; k < p->run[i].nr_cookies; k++)
			if (p->run[i].cookie[k] == cookie) {
				ran += (double)p->run[i].cookie_ran_ns[k];
				wait += (double)p->run[i].cookie_wait_ns[k];
			}
	return what == 2 ? (ran + wait > 0 ? wait / (ran + wait) : NAN)
			 : (what ? wait : ran) / (p->nr_runs ? p->nr_runs : 1);
}

static size_t listed(const struct wi_simulate_report *r, size_t list[17])
{
	size_t nr = 0;

	for (size_t i = 0; i < r->first_what_if + r->nr_what_ifs && nr < 17; i++)
		if (i != 1)
			list[nr++] = i;
	return nr;
}

static bool core_tables(FILE *out, const struct wi_simulate_report *r)
{
	struct wi_column columns[18] = { { "", true, false } };
	const struct wi_sim_result *any = &r->policy[0].run[0];
	size_t list[17], nr = listed(r, list);
	struct wi_table *t;

	for (size_t i = 0; i < nr; i++)
		columns[i + 1] = (struct wi_column){ r->policy[list[i]].label, false, true };
	t = wi_table_new(columns, nr + 1);
	for (size_t m = 0; m < NR_SHARED_CORE; m++) {
		wi_table_text(t, shared_core[m].title);
		for (size_t i = 0; i < nr; i++)
			shared_cell(t, shared_core[m].how, mean_of(&r->policy[list[i]], shared_core[m].of));
	}
	fputs("\nCores shared by cookies\n", out);
	if (!wi_table_print(t, out, 2))
		return false;
	columns[0].title = "cookie";
	t = wi_table_new(columns, nr + 1);
	for (uint32_t k = 0; k < any->nr_cookies; k++) {
		wi_table_name(t, any->cookie[k] ? wi_cookie_name(r->cookies, any->cookie[k]) : "(none)");
		for (size_t i = 0; i < nr; i++)
			shared_cell(t, PERCENT, cookie_figure(&r->policy[list[i]], any->cookie[k], 2));
	}
	fputs("\nShare of waiting in the time that tasks of a cookie ran or waited\n", out);
	return wi_table_print(t, out, 2);
}

static void json_core(struct wi_json *j, const struct wi_simulate_report *r, const struct wi_sim_policy *p)
{
	wi_json_object(j, "cookies");
	for (size_t m = 0; m < NR_SHARED_CORE; m++)
		wi_json_fraction(j, shared_core[m].name, mean_of(p, shared_core[m].of));
	wi_json_array(j, "by_cookie");
	for (uint32_t k = 0; p->nr_runs && k < p->run[0].nr_cookies; k++) {
		uint32_t cookie = p->run[0].cookie[k];

		wi_json_object_flat(j, NULL);
		wi_json_string(j, "cookie", cookie ? wi_cookie_name(r->cookies, cookie) : "");
		wi_json_u64(j, "ran_ns", (uint64_t)cookie_figure(p, cookie, 0));
		wi_json_u64(j, "wait_ns", (uint64_t)cookie_figure(p, cookie, 1));
		wi_json_end_object(j);
	}
	wi_json_end_array(j);
	wi_json_end_object(j);
}

bool wi_simulate_text(FILE *out, const struct wi_simulate_report *r, struct wi_err *err)
{
	bool ok = self_replay(out, r) && what_ifs(out, r, r->first_what_if, r->nr_what_ifs, "What if") &&
		  what_ifs(out, r, r->first_sensitivity, r->nr_sensitivity, "Sensitivity") && histograms(out, r) &&
		  (!r->cookies || core_tables(out, r)) && (!r->idle_tables || idle_tables(out, r));
	const char *line = r->notes;

	while (ok && *line) {
		size_t n = strcspn(line, "\n");

		fprintf(out, "%snote: %.*s\n", line == r->notes ? "\n" : "", (int)n, line);
		line += n + (line[n] == '\n');
	}
	return ok || wi_err_nomem(err);
}

/* ---- JSON ---- */

static void json_stat(struct wi_json *j, const char *key, const struct wi_sim_stat *s)
{
	if (!isfinite(s->mean))
		return;
	wi_json_object_flat(j, key);
	wi_json_fraction(j, "mean", s->mean);
	wi_json_fraction(j, "stddev", s->stddev);
	wi_json_fraction(j, "low", s->low);
	wi_json_fraction(j, "high", s->high);
	wi_json_u64(j, "n", s->nr);
	wi_json_end_object(j);
}

static double relative(const struct wi_self_replay *s, uint32_t m, double error)
{
	return metric[m].absolute ? error : error / s->recorded[m];
}

static void json_self(struct wi_json *j, const struct wi_self_replay *s)
{
	static const struct {
		enum wi_sim_metric m;
		const char *key;
	} named[] = { { WI_SIM_UTIL, "util_err" }, { WI_SIM_P50, "p50_err" },
		      { WI_SIM_P99, "p99_err" },   { WI_SIM_MIGRATIONS, "migrations_err" },
		      { WI_SIM_STAY, "stay_err" }, { WI_SIM_CORUN, "corun_err" } };

	wi_json_object(j, "self_replay");
	for (size_t i = 0; i < sizeof(named) / sizeof(*named); i++)
		wi_json_fraction(j, named[i].key, relative(s, named[i].m, s->error[named[i].m]));
	wi_json_fraction(j, "ks", s->ks);
	wi_json_fraction(j, "ks_resampled", s->ks_drawn);
	wi_json_object(j, "recorded");
	for (uint32_t m = 0; m < WI_NR_SIM_METRICS; m++)
		wi_json_fraction(j, metric[m].name, s->recorded[m]);
	wi_json_end_object(j);
	wi_json_object(j, "simulated");
	for (uint32_t m = 0; m < WI_NR_SIM_METRICS; m++)
		json_stat(j, metric[m].name, &s->own[m]);
	wi_json_end_object(j);
	wi_json_object(j, "resampled");
	for (uint32_t m = 0; m < WI_NR_SIM_METRICS; m++)
		json_stat(j, metric[m].name, &s->drawn[m]);
	wi_json_end_object(j);
	wi_json_end_object(j);
}

static void json_conservation(struct wi_json *j, const struct wi_sim_policy *p)
{
	wi_json_array(j, "runs");
	for (uint32_t i = 0; i < p->nr_runs; i++) {
		const struct wi_sim_result *r = &p->run[i];

		wi_json_object_flat(j, NULL);
		wi_json_u64(j, "ran_ns", r->ran_ns);
		wi_json_u64(j, "tape_ns", r->tape_ns);
		wi_json_u64(j, "operations_undone", r->ops_total - r->ops_done);
		wi_json_u64(j, "tasks_undone", r->tasks_undone);
		wi_json_u64(j, "wakes_stored", r->wakes_lost);
		wi_json_u64(j, "not_blocked", r->not_blocked);
		wi_json_u64(j, "wakings", r->tally.wakings);
		wi_json_u64(j, "oncpu", r->tally.oncpu);
		wi_json_u64(j, "invalid", r->invalid);
		wi_json_u64(j, "balance_moves", r->balance_moves);
		wi_json_u64(j, "newidle_moves", r->newidle_moves);
		wi_json_u64(j, "active_moves", r->active_moves);
		wi_json_u64(j, "latencies_own", r->noise_own);
		wi_json_u64(j, "latencies_drawn", r->noise_drawn);
		wi_json_end_object(j);
	}
	wi_json_end_array(j);
}

static void json_policy(struct wi_json *j, const struct wi_simulate_report *r, const struct wi_sim_policy *p,
			bool difference)
{
	wi_json_object(j, NULL);
	wi_json_string(j, "name", p->label);
	wi_json_string(j, "engine", "closed");
	for (uint32_t m = 0; m < WI_NR_SIM_METRICS; m++)
		json_stat(j, metric[m].name, &p->value[m]);
	if (difference) {
		wi_json_object(j, "difference");
		for (uint32_t m = 0; m < WI_NR_SIM_METRICS; m++)
			json_stat(j, metric[m].name, &p->difference[m]);
		wi_json_fraction(j, "ks", p->ks);
		wi_json_array_flat(j, "within_model_error");
		for (uint32_t m = 0; m < WI_NR_SIM_METRICS; m++)
			if (!wi_sim_believable(r->self, (enum wi_sim_metric)m, p->difference[m].mean))
				wi_json_string(j, NULL, metric[m].name);
		wi_json_end_array(j);
		wi_json_end_object(j);
	}
	if (r->cookies)
		json_core(j, r, p);
	json_conservation(j, p);
	wi_json_end_object(j);
}

void wi_simulate_json(struct wi_json *j, const struct wi_simulate_report *r)
{
	wi_json_object(j, "simulate");
	json_self(j, r->self);
	wi_json_array(j, "policies");
	for (size_t i = 0; i < r->nr_policies; i++)
		json_policy(j, r, &r->policy[i], r->policy[i].base != UINT32_MAX);
	wi_json_end_array(j);
	wi_json_end_object(j);
}

void wi_simulate_csv(FILE *out, const struct wi_simulate_report *r)
{
	struct wi_csv c = { .out = out };

	wi_csv_header(&c, "policy,metric,mean,stddev,low,high,difference,difference_low,difference_high,self_replay_"
			  "error,believable");
	for (size_t i = 0; i < r->nr_policies; i++)
		for (uint32_t m = 0; m < WI_NR_SIM_METRICS; m++) {
			const struct wi_sim_policy *p = &r->policy[i];

			wi_csv_text(&c, p->label);
			wi_csv_text(&c, metric[m].name);
			wi_csv_fraction(&c, p->value[m].mean);
			wi_csv_fraction(&c, p->value[m].stddev);
			wi_csv_fraction(&c, p->value[m].low);
			wi_csv_fraction(&c, p->value[m].high);
			wi_csv_fraction(&c, p->difference[m].mean);
			wi_csv_fraction(&c, p->difference[m].low);
			wi_csv_fraction(&c, p->difference[m].high);
			wi_csv_fraction(&c, r->self->error[m]);
			wi_csv_u64(&c, wi_sim_believable(r->self, (enum wi_sim_metric)m, p->difference[m].mean));
			wi_csv_end(&c);
		}
}
