/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "analyzer/topology/smt_off.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#include "analyzer/base/cpumask.h"
#include "analyzer/topology/topology.h"

/* As lscpu -p would list the CPUs that stay: everything else is derived from that as for any other machine. */
static bool list_cpus(const struct wakeif_topology *t, FILE *out)
{
	fputs("# CPU,Core,Socket,Node,,L2,L3\n", out);
	for (uint32_t g = 0; g < t->nr_groups[WAKEIF_CORE]; g++) {
		const wakeif_word *core = t->span[WAKEIF_CORE][g];
		uint32_t c = wi_mask_next(core, t->nr_words, 0);

		while (c != UINT32_MAX && !wi_mask_test(t->online, c))
			c = wi_mask_next(core, t->nr_words, c + 1);
		if (c != UINT32_MAX)
			fprintf(out, "%" PRIu32 ",%" PRIu32 ",%" PRIu32 ",%" PRIu32 ",,%" PRIu32 ",%" PRIu32 "\n", c, g,
				t->package[c], t->group[WAKEIF_NODE][c], t->group[WAKEIF_CLUSTER][c],
				t->group[WAKEIF_LLC][c]);
	}
	return !ferror(out);
}

const struct wakeif_topology *wi_topology_smt_off(const struct wakeif_topology *topo, struct wi_err *err)
{
	const struct wakeif_topology *off = NULL;
	int fd = memfd_create("smt-off", MFD_CLOEXEC);
	FILE *out = fd >= 0 ? fdopen(fd, "w+") : NULL;
	char name[256];

	snprintf(name, sizeof(name), "%.200s, SMT off", topo->source);
	if (out && list_cpus(topo, out) && !fflush(out) && lseek(fd, 0, SEEK_SET) == 0)
		off = wi_topology_load_fd(fd, name, err);
	else
		wi_err_set(err, WI_EIO, "no room for a list of CPUs");
	if (out)
		fclose(out);
	else if (fd >= 0)
		close(fd);
	return off;
}
