/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "analyzer/stats/special.h"

#include <float.h>
#include <math.h>
#include <stdbool.h>

#define FRACTION_TERMS 10000000

/* What Stirling's formula lacks of ln(gamma(x)), x >= 10. */
static double stirling_rest(double x)
{
	static const double c[] = { 1.0 / 12,	-1.0 / 360,	 1.0 / 1260, -1.0 / 1680,
				    1.0 / 1188, -691.0 / 360360, 1.0 / 156 };
	double sum = 0, x2 = 1 / (x * x);

	for (int i = (int)(sizeof(c) / sizeof(*c)) - 1; i >= 0; i--)
		sum = sum * x2 + c[i];
	return sum / x;
}

/* n * (u - ln(1 + u)) for u > -1, also where both are nearly equal. */
static double deviance(double n, double u)
{
	if (fabs(u) > 0.1)
		return n * (u - log1p(u));
	double term = u * u, sum = 0; /* u^2/2 - u^3/3 + ... */

	for (int k = 2; k < 40 && fabs(term) > fabs(sum) * DBL_EPSILON / 8; k++) {
		sum += term / k;
		term *= -u;
	}
	return n * sum;
}

/*
 * x^a (1-x)^b / B(a, b). Logarithms of gamma are differences of huge numbers when a and b are great: there the factor
 * is taken about its maximum, x0 = a / (a+b), where the huge parts cancel on paper (Loader 2000).
 */
static double beta_factor(double a, double b, double x)
{
	double n = a + b;

	if (a < 10 || b < 10)
		return exp(a * log(x) + b * log1p(-x) + lgamma(n) - lgamma(a) - lgamma(b));
	double d = n * x - a; /* a * (x/x0 - 1) = d, b * (y/y0 - 1) = -d */

	return sqrt(a / n * b / (2 * M_PI)) * exp(-deviance(a, d / a) - deviance(b, -d / b)) *
	       exp(stirling_rest(n) - stirling_rest(a) - stirling_rest(b));
}

/* The continued fraction of I_x(a, b), by Lentz's method as Thompson and Barnett changed it; x <= (a+1) / (a+b+2). */
static double beta_fraction(double a, double b, double x)
{
	const double tiny = 1e-300;
	double c = 1, d = 1 - (a + b) * x / (a + 1), h;

	d = 1 / (fabs(d) < tiny ? tiny : d);
	h = d;
	for (double m = 1; m < FRACTION_TERMS; m++) {
		double even = m * (b - m) * x / ((a + 2 * m - 1) * (a + 2 * m));
		double odd = -(a + m) * (a + b + m) * x / ((a + 2 * m) * (a + 2 * m + 1));
		double step = 1;
		for (int half = 0; half < 2; half++) {
			double e = half ? odd : even;
			d = 1 + e * d;
			c = 1 + e / c;
			d = 1 / (fabs(d) < tiny ? tiny : d);
			c = fabs(c) < tiny ? tiny : c;
			step = c * d;
			h *= step;
		}
		if (fabs(step - 1) < DBL_EPSILON)
			return h;
	}
	return NAN;
}

double wi_beta_inc(double a, double b, double x)
{
	if (!(a > 0 && b > 0 && x >= 0 && x <= 1) || isinf(a) || isinf(b))
		return NAN;
	if (x == 0 || x == 1)
		return x;
	if (x > (a + 1) / (a + b + 2))
		return 1 - beta_factor(a, b, x) * beta_fraction(b, a, 1 - x) / b;
	return beta_factor(a, b, x) * beta_fraction(a, b, x) / a;
}

double wi_normal_cdf(double z)
{
	return erfc(-z * M_SQRT1_2) / 2;
}

double wi_student_tails(double t, double df)
{
	double t2 = t * t;

	if (isnan(t) || !(df > 0))
		return NAN;
	if (isinf(t2))
		return 0;
	/* Near 0 the part between the tails is the small one; beyond, it would be 1 less nearly 1. */
	if (t2 < 1)
		return 1 - wi_beta_inc(0.5, df / 2, t2 / (df + t2));
	return wi_beta_inc(df / 2, 0.5, df / (df + t2));
}

/* The x > 0 at which a falling function of it is p, by halving. */
static double invert(double (*tail)(double x, double df), double df, double p)
{
	double low = 0, high = 1;

	while (tail(high, df) > p && high < 1e300)
		high *= 2;
	for (int i = 0; i < 2000 && high - low > high * DBL_EPSILON; i++) {
		double mid = low + (high - low) / 2;
		if (tail(mid, df) > p)
			low = mid;
		else
			high = mid;
	}
	return low + (high - low) / 2;
}

static double normal_tail(double z, double df)
{
	(void)df;
	return wi_normal_cdf(-z);
}

static double student_tail(double t, double df)
{
	return wi_student_tails(t, df) / 2;
}

static double symmetric_quantile(double (*tail)(double x, double df), double df, double p)
{
	if (!(p > 0 && p < 1))
		return NAN;
	if (p == 0.5)
		return 0;
	return p < 0.5 ? -invert(tail, df, p) : invert(tail, df, 1 - p);
}

double wi_normal_quantile(double p)
{
	return symmetric_quantile(normal_tail, 0, p);
}

double wi_student_quantile(double p, double df)
{
	return df > 0 ? symmetric_quantile(student_tail, df, p) : NAN;
}

double wi_binomial_cdf(double k, double n, double q)
{
	k = floor(k);
	if (k < 0)
		return 0;
	if (k >= n)
		return 1;
	return wi_beta_inc(n - k, k + 1, 1 - q);
}
