/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Which way of a number is the good one. */
#ifndef WI_BASE_DIRECTION_H
#define WI_BASE_DIRECTION_H

enum wi_direction {
	WI_NO_DIRECTION, /* neither way is better in itself, or nobody said */
	WI_LOWER_IS_BETTER,
	WI_HIGHER_IS_BETTER,
};

#endif
