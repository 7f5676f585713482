/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "analyzer/sim/compare.h"

#include <math.h>
#include <stdlib.h>

static double share(uint64_t part, uint64_t whole)
{
	return whole ? (double)part / (double)whole : NAN;
}

static double quantile(const struct wi_hist *h, double q)
{
	return h->count ? (double)wi_hist_quantile(h, q) : NAN;
}

double wi_sim_metric(const struct wi_tally_result *t, uint64_t end_ns, enum wi_sim_metric m)
{
	uint64_t window_ns = t->to_ns - t->from_ns;

	switch (m) {
	case WI_SIM_UTIL:
		return wi_tally_util(t);
	case WI_SIM_CORUN:
		return wi_tally_corun(t);
	case WI_SIM_STAY:
		return wi_tally_stay(t);
	case WI_SIM_MIGRATIONS:
		return wi_tally_migrations(t);
	case WI_SIM_MIGRATIONS_PER_S:
		return wi_tally_migrations_per_s(t);
	case WI_SIM_WAKINGS_PER_S:
		return wi_tally_wakings_per_s(t);
	case WI_SIM_P50:
		return quantile(&t->latency, 0.5);
	case WI_SIM_P90:
		return quantile(&t->latency, 0.9);
	case WI_SIM_P99:
		return quantile(&t->latency, 0.99);
	case WI_SIM_WAIT_P50:
		return quantile(&t->queue_wait, 0.5);
	case WI_SIM_WAIT_P99:
		return quantile(&t->queue_wait, 0.99);
	case WI_SIM_WAITING:
		return share(t->waiting_ns, window_ns);
	case WI_SIM_IDLE_WAIT_CORE:
		return share(t->idle_while_waiting_ns[WAKEIF_CORE], window_ns);
	case WI_SIM_IDLE_WAIT_LLC:
		return share(t->idle_while_waiting_ns[WAKEIF_LLC], window_ns);
	case WI_SIM_PREEMPTIONS_PER_S:
		return window_ns ? (double)t->preemptions * 1e9 / (double)window_ns : NAN;
	case WI_SIM_MAKESPAN:
		return (double)end_ns;
	default:
		return NAN;
	}
}

/*
 * Quantile of Student's t by its distribution function, integrated: a table would be shorter, but would have to be
 * believed. Newton's steps from the normal quantile.
 */
static double t_density(double x, double n)
{
	return exp(lgamma((n + 1) / 2) - lgamma(n / 2) - (n + 1) / 2 * log1p(x * x / n)) / sqrt(n * M_PI);
}

double wi_student_t(uint32_t degrees)
{
	double n = degrees, x = 1.96;

	if (!degrees)
		return NAN;
	for (int step = 0; step < 60; step++) {
		double sum = 0, h = x / 2000;

		for (int i = 0; i < 2000; i++) /* Simpson, 0 .. x */
			sum += h / 6 *
			       (t_density(i * h, n) + 4 * t_density((i + 0.5) * h, n) + t_density((i + 1) * h, n));
		double wrong = sum - 0.475;

		x -= wrong / t_density(x, n);
		x = x < 0.1 ? 0.1 : x > 100 ? 100 : x;
		if (fabs(wrong) < 1e-10)
			break;
	}
	return x;
}

void wi_sim_stat(const double *values, uint32_t nr, struct wi_sim_stat *out)
{
	double sum = 0, squares = 0;

	*out = (struct wi_sim_stat){ NAN, NAN, NAN, NAN, 0 };
	for (uint32_t i = 0; i < nr; i++)
		if (isfinite(values[i])) {
			sum += values[i];
			out->nr++;
		}
	if (!out->nr)
		return;
	out->mean = sum / out->nr;
	for (uint32_t i = 0; i < nr; i++)
		if (isfinite(values[i]))
			squares += (values[i] - out->mean) * (values[i] - out->mean);
	if (out->nr < 2)
		return;
	out->stddev = sqrt(squares / (out->nr - 1));
	double half = wi_student_t(out->nr - 1) * out->stddev / sqrt(out->nr);

	out->low = out->mean - half;
	out->high = out->mean + half;
}

static double metric_of(const struct wi_sim_policy *p, uint32_t run, enum wi_sim_metric m)
{
	return wi_sim_metric(&p->run[run].tally, p->run[run].end_ns, m);
}

bool wi_sim_policy_summarise(struct wi_sim_policy *p, const struct wi_sim_policy *base)
{
	double *v = calloc(p->nr_runs + 1, sizeof(*v)), *d = calloc(p->nr_runs + 1, sizeof(*d));
	bool ok = v && d;

	for (uint32_t m = 0; ok && m < WI_NR_SIM_METRICS; m++) {
		for (uint32_t i = 0; i < p->nr_runs; i++) {
			v[i] = metric_of(p, i, m);
			d[i] = base && i < base->nr_runs ? v[i] - metric_of(base, i, m) : NAN;
		}
		wi_sim_stat(v, p->nr_runs, &p->value[m]);
		wi_sim_stat(d, p->nr_runs, &p->difference[m]);
	}
	for (uint32_t i = 0; ok && i < p->nr_runs; i++)
		ok = wi_hist_merge(&p->latency, &p->run[i].tally.latency);
	p->ks = base ? wi_hist_ks(&p->latency, &base->latency) : NAN;
	free(v);
	free(d);
	return ok;
}

void wi_sim_policy_fini(struct wi_sim_policy *p)
{
	for (uint32_t i = 0; i < p->nr_runs; i++)
		wi_sim_result_fini(&p->run[i]);
	free(p->run);
	free(p->label);
	wi_hist_fini(&p->latency);
}

static double mean_ks(const struct wi_hist *recorded, const struct wi_sim_policy *p)
{
	double sum = 0;

	for (uint32_t i = 0; i < p->nr_runs; i++)
		sum += wi_hist_ks(recorded, &p->run[i].tally.latency);
	return p->nr_runs ? sum / p->nr_runs : NAN;
}

void wi_self_replay(const struct wi_tally_result *recorded, uint64_t recorded_end_ns, const struct wi_sim_policy *own,
		    const struct wi_sim_policy *drawn, struct wi_self_replay *out)
{
	for (uint32_t m = 0; m < WI_NR_SIM_METRICS; m++) {
		out->recorded[m] = wi_sim_metric(recorded, recorded_end_ns, m);
		out->own[m] = own->value[m];
		out->drawn[m] = drawn->value[m];
		out->error[m] = fabs(own->value[m].mean - out->recorded[m]);
		out->error_drawn[m] = fabs(drawn->value[m].mean - out->recorded[m]);
	}
	out->ks = mean_ks(&recorded->latency, own);
	out->ks_drawn = mean_ks(&recorded->latency, drawn);
}

bool wi_sim_believable(const struct wi_self_replay *s, enum wi_sim_metric m, double difference)
{
	return isfinite(s->error[m]) && fabs(difference) > s->error[m];
}
