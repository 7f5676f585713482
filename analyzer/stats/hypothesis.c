/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "analyzer/stats/hypothesis.h"

#include <math.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "analyzer/stats/select.h"
#include "analyzer/stats/special.h"

struct wi_welch wi_welch(const struct wi_describe *a, const struct wi_describe *b)
{
	struct wi_welch w = { NAN, NAN, NAN };
	double unit = fmax(a->stddev, b->stddev); /* NAN only if both are */

	if (a->n < 2 || b->n < 2 || unit == 0)
		return w;
	double sa = a->stddev / unit, sb = b->stddev / unit;
	double ea = sa * sa / (double)a->n, eb = sb * sb / (double)b->n;

	w.t = (b->mean - a->mean) / unit / sqrt(ea + eb);
	w.df = (ea + eb) * (ea + eb) / (ea * ea / (double)(a->n - 1) + eb * eb / (double)(b->n - 1));
	w.p = wi_student_tails(w.t, w.df);
	return w;
}

/*
 * Values of both groups in order, tied ones together. Ranks are doubled, so that midranks are whole numbers.
 */
struct ranks {
	size_t na, nb, n;
	uint32_t *doubled; /* [n] */
	double sum_b;	   /* of the doubled ranks of b */
	double ties;	   /* sum of t^3 - t over groups of t tied values */
};

static bool rank(const struct wi_sample *a, const struct wi_sample *b, struct ranks *r)
{
	double *all = malloc((r->n + a->n + b->n) * sizeof(*all)), *sa = all + r->n, *sb = sa + a->n;
	size_t ia = 0, ib = 0;

	if (!all)
		return false;
	memcpy(sa, a->v, a->n * sizeof(*sa));
	memcpy(sb, b->v, b->n * sizeof(*sb));
	wi_sort_doubles(sa, a->n);
	wi_sort_doubles(sb, b->n);
	while (ia + ib < r->n) {
		size_t from = ia + ib, from_b = ib;
		double v = ib == b->n || (ia < a->n && sa[ia] < sb[ib]) ? sa[ia] : sb[ib];
		while (ia < a->n && sa[ia] == v)
			ia++;
		while (ib < b->n && sb[ib] == v)
			ib++;
		size_t to = ia + ib;
		double t = (double)(to - from);
		for (size_t i = from; i < to; i++)
			r->doubled[i] = (uint32_t)(from + 1 + to);
		r->sum_b += (double)(ib - from_b) * (double)(from + 1 + to);
		r->ties += t * t * t - t;
	}
	free(all);
	return true;
}

/*
 * The chance of a rank sum at least as far from its mean as the one seen, over all ways to deal the ranks to a group of
 * k. ways[j][s]: number of ways to have j of the ranks seen so far, with the sum s above j of the least, j * (j + 1)
 * (doubled); all are sums of positive numbers, so that rounding stays in the last digits. At most 60 over 30 or about
 * 10^17 of them.
 */
static bool exact_tails(const struct ranks *r, double *p)
{
	size_t k = r->na < r->nb ? r->na : r->nb, width = 2 * r->na * r->nb + 1;
	double *ways = calloc((k + 1) * width, sizeof(*ways)), total = 0, far = 0;
	/* Both groups' sums are as far from their means; the smaller group is the shorter to count. */
	double n1 = (double)r->n + 1, off = fabs(r->sum_b - (double)r->nb * n1);

	if (!ways)
		return false;
	ways[0] = 1;
	for (size_t i = 0; i < r->n; i++)
		for (size_t j = k < i + 1 ? k : i + 1; j-- > 0;) {
			if (j + 1 + (r->n - 1 - i) < k)
				break; /* too few ranks are left to make a group of k of these */
			/* A midrank may be less than the place: the sum as a whole is never below the least. */
			long shift = (long)r->doubled[i] - 2 * (long)(j + 1);
			const double *from = ways + j * width;
			double *to = ways + (j + 1) * width;
			size_t begin = shift < 0 ? (size_t)-shift : 0, end = shift > 0 ? width - (size_t)shift : width;
			for (size_t s = begin; s < end; s++)
				to[(size_t)((long)s + shift)] += from[s];
		}
	for (size_t s = 0; s < width; s++) {
		double w = ways[k * width + s], sum = (double)s + (double)k * ((double)k + 1);
		total += w;
		if (fabs(sum - (double)k * n1) >= off)
			far += w;
	}
	free(ways);
	*p = far / total;
	return true;
}

static double normal_tails(const struct ranks *r, double off)
{
	double na = (double)r->na, nb = (double)r->nb, n = (double)r->n;
	double variance = na * nb / 12 * (n + 1 - r->ties / (n * (n - 1)));

	if (!(variance > 0))
		return 1;
	return 2 * wi_normal_cdf(-fmax(off - 0.5, 0) / sqrt(variance));
}

bool wi_mwu(const struct wi_sample *a, const struct wi_sample *b, struct wi_mwu *out, struct wi_err *err)
{
	struct ranks r = { .na = a->n, .nb = b->n, .n = a->n + b->n };
	double na = (double)a->n, nb = (double)b->n;
	bool ok = true;

	*out = (struct wi_mwu){ NAN, NAN, false };
	if (!a->n || !b->n)
		return true;
	if (r.n > UINT32_MAX / 2)
		return wi_err_set(err, WI_EUSAGE, "too many values to rank: %zu", r.n);
	r.doubled = malloc(r.n * sizeof(*r.doubled));
	if (!r.doubled || !rank(a, b, &r)) {
		ok = wi_err_nomem(err);
		goto out;
	}
	out->u = r.sum_b / 2 - nb * (nb + 1) / 2;
	if ((na + nb) * fmin(na, nb) * na * nb <= WI_MWU_EXACT_WORK) {
		out->exact = true;
		if (!exact_tails(&r, &out->p))
			ok = wi_err_nomem(err);
	} else {
		out->p = normal_tails(&r, fabs(out->u - na * nb / 2));
	}
out:
	free(r.doubled);
	return ok;
}

struct place {
	double p;
	size_t at;
};

static int by_p(const void *a, const void *b)
{
	const struct place *x = a, *y = b;

	return x->p != y->p ? (x->p > y->p) - (x->p < y->p) : (x->at > y->at) - (x->at < y->at);
}

bool wi_holm(const double *p, size_t n, double *adjusted, struct wi_err *err)
{
	struct place *order = malloc((n ? n : 1) * sizeof(*order));
	size_t known = 0;
	double least = 0;

	if (!order)
		return wi_err_nomem(err);
	for (size_t i = 0; i < n; i++) {
		if (!isnan(p[i]))
			order[known++] = (struct place){ p[i], i };
		adjusted[i] = p[i];
	}
	qsort(order, known, sizeof(*order), by_p);
	for (size_t i = 0; i < known; i++) {
		least = fmax(least, fmin((double)(known - i) * order[i].p, 1));
		adjusted[order[i].at] = least;
	}
	free(order);
	return true;
}
