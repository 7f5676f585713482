/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "analyzer/stats/select.h"

#include <stdlib.h>

static void swap(double *a, double *b)
{
	double t = *a;

	*a = *b;
	*b = t;
}

static int compare(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return (x > y) - (x < y);
}

void wi_sort_doubles(double *v, size_t n)
{
	if (n)
		qsort(v, n, sizeof(*v), compare);
}

/*
 * Hoare's selection about the median of three. Rounds that do not shrink well are counted; after too many the rest is
 * sorted, which keeps the worst case bounded.
 */
double wi_kth(double *v, size_t n, size_t k)
{
	size_t low = 0, high = n - 1;

	for (int rounds = 0; high - low > 2; rounds++) {
		if (rounds == 100) {
			wi_sort_doubles(v + low, high - low + 1);
			return v[k];
		}
		size_t mid = low + (high - low) / 2, i = low, j = high;
		if (v[mid] < v[low])
			swap(&v[mid], &v[low]);
		if (v[high] < v[low])
			swap(&v[high], &v[low]);
		if (v[high] < v[mid])
			swap(&v[high], &v[mid]);
		double pivot = v[mid];
		for (;;) {
			while (v[i] < pivot)
				i++;
			while (v[j] > pivot)
				j--;
			if (i >= j)
				break;
			swap(&v[i++], &v[j--]);
		}
		/* v[low..j] <= pivot <= v[i..high], or v[j] is the pivot. */
		if (k <= j)
			high = j;
		else
			low = j + 1;
	}
	wi_sort_doubles(v + low, high - low + 1);
	return v[k];
}

size_t wi_tail_rank(size_t nr, double half_alpha)
{
	double k = half_alpha * ((double)nr + 1);

	return k < 1 ? 0 : (size_t)k - 1;
}
