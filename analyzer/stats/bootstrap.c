/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "analyzer/stats/bootstrap.h"

#include <float.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "analyzer/base/random.h"
#include "analyzer/stats/select.h"

static struct wi_interval unknown(enum wi_interval_state state)
{
	return (struct wi_interval){ NAN, NAN, state };
}

const char *wi_interval_state_text(enum wi_interval_state state)
{
	static const char *const text[] = {
#define X(id, t) [WI_INTERVAL_##id] = t,
		WI_INTERVAL_STATES(X)
#undef X
	};

	return text[state];
}

bool wi_resamples_check(uint32_t resamples, double level, struct wi_err *err)
{
	if (resamples < WI_RESAMPLES_MIN || resamples > WI_RESAMPLES_MAX)
		return wi_err_set(err, WI_EUSAGE, "%u resamples: not from %u to %u", resamples, WI_RESAMPLES_MIN,
				  WI_RESAMPLES_MAX);
	if (!(level >= WI_LEVEL_MIN && level <= WI_LEVEL_MAX))
		return wi_err_set(err, WI_EUSAGE, "level %g of the intervals: not from %g to %g", level, WI_LEVEL_MIN,
				  WI_LEVEL_MAX);
	return true;
}

/* In order, so that neither sums nor draws depend on the caller's. */
static double *sorted_copy(const struct wi_sample *s)
{
	double *v = malloc((s->n ? s->n : 1) * sizeof(*v));

	if (v && s->n)
		memcpy(v, s->v, s->n * sizeof(*v));
	if (v)
		wi_sort_doubles(v, s->n);
	return v;
}

/* Less the mean, in units of a power of 2: lengths whose squares do not overflow, and no bit is lost. */
static void to_deviations(double *v, size_t n, double mean, double *unit)
{
	double greatest = fmax(fabs(v[0] - mean), fabs(v[n - 1] - mean));
	int exponent;

	frexp(greatest, &exponent);
	*unit = ldexp(1, exponent);
	for (size_t i = 0; i < n; i++)
		v[i] = (v[i] - mean) / *unit;
}

/* One resample; each random number gives two draws. */
static void draw(struct wi_random *r, const double *v, uint32_t n, double *mean, double *se2)
{
	double sum[2] = { 0, 0 }, squares[2] = { 0, 0 };
	uint32_t i = 0;

	for (; i + 1 < n; i += 2) {
		uint64_t bits = wi_random_u64(r);
		double x = v[wi_random_scale(r, (uint32_t)(bits >> 32), n)];
		double y = v[wi_random_scale(r, (uint32_t)bits, n)];
		sum[0] += x;
		sum[1] += y;
		squares[0] += x * x;
		squares[1] += y * y;
	}
	if (i < n) {
		double x = v[wi_random_below(r, n)];
		sum[0] += x;
		squares[0] += x * x;
	}
	double m = (sum[0] + sum[1]) / n, square = (squares[0] + squares[1]) / n, rest = square - m * m;

	*mean = m;
	/* Equal values have no spread; what their squares leave is rounding. */
	*se2 = rest > square * n * DBL_EPSILON ? rest / (n - 1) : 0;
}

bool wi_resample(const struct wi_sample *s, uint32_t nr, uint64_t seed, uint64_t stream, struct wi_resamples *out,
		 struct wi_err *err)
{
	struct wi_random r;
	double *v;
	bool ok = false;

	*out = (struct wi_resamples){ .unit = 1 };
	if (s->n > UINT32_MAX)
		return wi_err_set(err, WI_EUSAGE, "too many values to resample: %zu", s->n);
	if (!wi_resamples_check(nr, WI_LEVEL, err))
		return false;
	v = sorted_copy(s);
	if (!v)
		return wi_err_nomem(err);
	out->of = wi_describe(&(struct wi_sample){ v, s->n, s->nr_unknown });
	if (s->n >= WI_BOOT_MIN_N) {
		out->mean = malloc(nr * sizeof(*out->mean));
		out->se2 = malloc(nr * sizeof(*out->se2));
		if (!out->mean || !out->se2) {
			wi_err_nomem(err);
			wi_resamples_fini(out);
			goto out;
		}
		to_deviations(v, s->n, out->of.mean, &out->unit);
		wi_random_seed(&r, seed, stream);
		for (uint32_t i = 0; i < nr; i++)
			draw(&r, v, (uint32_t)s->n, &out->mean[i], &out->se2[i]);
		out->nr = nr;
	}
	ok = true;
out:
	free(v);
	return ok;
}

void wi_resamples_fini(struct wi_resamples *r)
{
	free(r->mean);
	free(r->se2);
	r->mean = r->se2 = NULL;
	r->nr = 0;
}

/* Two groups in one unit, and room for t* of each resample. */
struct pair {
	const struct wi_resamples *a, *b;
	double unit;	       /* the greater of the groups' */
	double fa, fb;	       /* a group's own unit in it: at most 1 */
	double mean_a, mean_b; /* of the groups */
	double se2_a, se2_b;   /* squared standard errors of these */
	double *t;
	uint32_t nr;
	size_t tail, tails; /* ranks of the quantiles: from either side, of both sides together */
};

struct bounds {
	double low, high;
};

static double studentized(double difference, double se2)
{
	if (se2 > 0)
		return difference / sqrt(se2);
	return difference > 0 ? INFINITY : difference < 0 ? -INFINITY : 0;
}

static struct wi_interval interval(double low, double high)
{
	if (!isfinite(low) || !isfinite(high))
		return unknown(WI_INTERVAL_UNBOUNDED);
	return (struct wi_interval){ low, high, WI_INTERVAL_KNOWN };
}

/*
 * What takes the place of Student's quantiles: halfway between the quantiles of t* on either side and the one of |t*|
 * on both. The former follow the skewness that the values show, the latter none of it; few values show a skewness that
 * is not theirs (doc/statistics.md has what was measured of each).
 */
static struct bounds bounds_of_t(const struct pair *p)
{
	double low = wi_kth(p->t, p->nr, p->tail), high, both;
	size_t behind = p->tail + 1; /* values from there on are not less than low */

	high = wi_kth(p->t + behind, p->nr - behind, p->nr - 1 - p->tail - behind);
	for (uint32_t i = 0; i < p->nr; i++)
		p->t[i] = fabs(p->t[i]);
	both = wi_kth(p->t, p->nr, p->nr - 1 - p->tails);
	return (struct bounds){ (low - both) / 2, (high + both) / 2 };
}

static struct wi_interval interval_of_difference(const struct pair *p)
{
	double fa2 = p->fa * p->fa, fb2 = p->fb * p->fb;

	for (uint32_t i = 0; i < p->nr; i++)
		p->t[i] = studentized(p->fb * p->b->mean[i] - p->fa * p->a->mean[i],
				      fb2 * p->b->se2[i] + fa2 * p->a->se2[i]);
	struct bounds q = bounds_of_t(p);
	double d = p->mean_b - p->mean_a, se = sqrt(p->se2_a + p->se2_b);

	return interval((d - q.high * se) * p->unit, (d - q.low * se) * p->unit);
}

/*
 * On the logarithm of the ratio, whose standard error depends little on the means themselves where values scale. A
 * resample whose mean is not above 0 says that the ratio could be anything.
 */
static struct wi_interval interval_of_ratio(const struct pair *p)
{
	double log_ratio = log(p->mean_b / p->mean_a);
	double se = sqrt(p->se2_a / (p->mean_a * p->mean_a) + p->se2_b / (p->mean_b * p->mean_b));

	for (uint32_t i = 0; i < p->nr; i++) {
		double a = 1 + p->a->mean[i] * p->fa / p->mean_a, b = 1 + p->b->mean[i] * p->fb / p->mean_b;
		double ea = p->fa / p->mean_a / a, eb = p->fb / p->mean_b / b;
		if (a > 0 && b > 0)
			p->t[i] = studentized(log(b / a), p->b->se2[i] * eb * eb + p->a->se2[i] * ea * ea);
		else
			p->t[i] = a > b ? -INFINITY : INFINITY;
	}
	struct bounds q = bounds_of_t(p);

	return interval(expm1(log_ratio - q.high * se), expm1(log_ratio - q.low * se));
}

/*
 * Neither group has any spread: resamples tell nothing. Dealt to the groups by lot, values apart like these come with a
 * chance of 2 in (na + nb over na); where that is less than the level leaves, any other shift is excluded.
 */
static struct wi_interval interval_without_spread(size_t na, size_t nb, double level, double value)
{
	double chance = 2;

	for (size_t i = 1; i <= (na < nb ? na : nb) && chance > 1 - level; i++)
		chance *= (double)i / (double)((na < nb ? nb : na) + i);
	return chance <= 1 - level ? interval(value, value) : unknown(WI_INTERVAL_NO_SPREAD);
}

static void set_squared_error(const struct wi_describe *d, double unit, double *se2)
{
	double e = d->stddev / unit;

	*se2 = e * e / (double)d->n;
}

static bool fill_pair(struct pair *p, double level, struct wi_err *err)
{
	p->unit = fmax(p->a->unit, p->b->unit);
	p->fa = p->a->unit / p->unit;
	p->fb = p->b->unit / p->unit;
	p->mean_a = p->a->of.mean / p->unit;
	p->mean_b = p->b->of.mean / p->unit;
	set_squared_error(&p->a->of, p->unit, &p->se2_a);
	set_squared_error(&p->b->of, p->unit, &p->se2_b);
	p->nr = p->a->nr < p->b->nr ? p->a->nr : p->b->nr;
	p->tail = wi_tail_rank(p->nr, (1 - level) / 2);
	p->tails = wi_tail_rank(p->nr, 1 - level);
	p->t = malloc(p->nr * sizeof(*p->t));
	return p->t || wi_err_nomem(err);
}

static bool is_marked(struct wi_interval in)
{
	return in.state == WI_INTERVAL_KNOWN && (in.low > 0 || in.high < 0);
}

static bool intervals(const struct wi_resamples *a, const struct wi_resamples *b, double level, struct wi_boot *out,
		      struct wi_err *err)
{
	bool has_ratio = a->of.mean > 0 && b->of.mean > 0;
	struct pair p = { .a = a, .b = b };

	out->ratio_in = unknown(WI_INTERVAL_NO_BASE);
	if (a->of.stddev == 0 && b->of.stddev == 0) {
		out->diff_in = interval_without_spread(a->of.n, b->of.n, level, out->diff);
		if (has_ratio)
			out->ratio_in = interval_without_spread(a->of.n, b->of.n, level, out->ratio);
		return true;
	}
	if (!fill_pair(&p, level, err))
		return false;
	out->diff_in = interval_of_difference(&p);
	if (has_ratio)
		out->ratio_in = interval_of_ratio(&p);
	free(p.t);
	return true;
}

bool wi_boot_difference(const struct wi_resamples *a, const struct wi_resamples *b, double level, struct wi_boot *out,
			struct wi_err *err)
{
	const struct wi_describe *da = &a->of, *db = &b->of;

	*out = (struct wi_boot){ .diff = db->mean - da->mean, .ratio = NAN };
	if (da->mean > 0)
		out->ratio = (db->mean - da->mean) / da->mean;
	out->diff_in = out->ratio_in = unknown(da->n && db->n ? WI_INTERVAL_FEW : WI_INTERVAL_NO_VALUES);
	if (a->nr && b->nr && !intervals(a, b, level, out, err))
		return false;
	out->significant = is_marked(out->ratio_in.state == WI_INTERVAL_KNOWN ? out->ratio_in : out->diff_in);
	return true;
}
