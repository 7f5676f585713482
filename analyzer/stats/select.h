/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Order statistics without sorting all. */
#ifndef WI_STATS_SELECT_H
#define WI_STATS_SELECT_H

#include <stddef.h>

/* The k-th smallest of n values, k from 0, k < n; the values are reordered: smaller ones before it. No NANs. */
double wi_kth(double *v, size_t n, size_t k);

void wi_sort_doubles(double *v, size_t n);

/*
 * Of nr draws, how many lie outside an interval's end when alpha / 2 shall: the end is the k-th draw from that side, k
 * from 0. For alpha / 2 less than 1 / (nr + 1) it is the outermost.
 */
size_t wi_tail_rank(size_t nr, double half_alpha);

#endif
