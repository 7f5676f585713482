/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Kernel releases as numbers that compare: "6.12.0-rc3-amd64" is WI_KERNEL(6, 12). */
#ifndef WI_BASE_KERNEL_H
#define WI_BASE_KERNEL_H

#include <stdint.h>

#define WI_KERNEL(major, minor) ((uint32_t)(major) << 16 | (uint32_t)(minor) << 8)

/* A decimal number below max at *at, which is moved behind it; UINT32_MAX: none. */
static inline uint32_t wi_kernel_part(const char **at, uint32_t max)
{
	uint32_t n = 0;

	if (**at < '0' || **at > '9')
		return UINT32_MAX;
	for (; **at >= '0' && **at <= '9'; ++*at) {
		n = n * 10 + (uint32_t)(**at - '0');
		if (n >= max)
			return UINT32_MAX;
	}
	return n;
}

/* WI_KERNEL() of a release, NULL and "" allowed; 0: unknown. What follows MAJOR.MINOR does not matter. */
static inline uint32_t wi_kernel_of(const char *release)
{
	uint32_t major = release ? wi_kernel_part(&release, 1 << 15) : UINT32_MAX, minor;

	if (major == UINT32_MAX || *release++ != '.')
		return 0;
	minor = wi_kernel_part(&release, 1 << 8);
	return minor == UINT32_MAX ? 0 : WI_KERNEL(major, minor);
}

#endif
