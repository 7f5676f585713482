/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Distribution functions. Own code: the libraries that have them (GSL, GPL-3 or later; R's) would change the licence of
 * the program or bring more than they give. tests/reference/stats.py checks them by exact sums and by quadrature.
 */
#ifndef WI_STATS_SPECIAL_H
#define WI_STATS_SPECIAL_H

/*
 * Regularized incomplete beta function I_x(a, b), a, b > 0, 0 <= x <= 1. Relative error below 1e-12 for a, b up to 1e6;
 * NAN outside of that domain, or if its continued fraction does not come to an end (a, b beyond 1e12).
 */
double wi_beta_inc(double a, double b, double x);

double wi_normal_cdf(double z);
double wi_normal_quantile(double p);		      /* 0 < p < 1 */
double wi_student_tails(double t, double df);	      /* chance of |T| >= |t|; df > 0 */
double wi_student_quantile(double p, double df);      /* 0 < p < 1 */
double wi_binomial_cdf(double k, double n, double q); /* chance of at most k successes of n; 0 < q < 1 */

#endif
