/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Shared by the files of this room. */
#ifndef WI_WORKLOAD_PRIV_H
#define WI_WORKLOAD_PRIV_H

#include <stdlib.h>

#include "analyzer/base/cpumask.h"
#include "analyzer/workload/workload.h"

/* Room for one more entry of an array that doubles. false: out of memory, the array is as it was. */
static inline bool wi_work_grow(void **array, size_t nr, size_t *room, size_t size)
{
	if (nr < *room)
		return true;
	size_t more = *room ? *room * 2 : 16;
	void *p = realloc(*array, more * size);

	if (!p)
		return false;
	*array = p;
	*room = more;
	return true;
}

#endif
