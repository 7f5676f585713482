/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Results through a pipe between processes of one program: not a file format. */
#include <stdlib.h>
#include <string.h>

#include "analyzer/sim/sim.h"

static bool put(FILE *to, const void *p, size_t size)
{
	return !size || fwrite(p, size, 1, to) == 1;
}

static bool get(FILE *from, void *p, size_t size)
{
	return !size || fread(p, size, 1, from) == 1;
}

/* An array of nr numbers; none of a result is larger than this. */
#define MAX_NUMBERS (1u << 24)

static bool get_array(FILE *from, uint64_t **p, uint32_t nr)
{
	*p = nr <= MAX_NUMBERS ? calloc((size_t)nr + 1, sizeof(**p)) : NULL;
	return *p && get(from, *p, nr * sizeof(**p));
}

static void forget_pointers(struct wi_tally_result *r)
{
	r->latency.bucket = r->queue_wait.bucket = r->cpu_idle_ns = r->package_idle_ns = NULL;
	for (uint32_t s = 0; s < WAKEIF_NR_SCOPES; s++)
		r->group_idle_ns[s] = NULL;
}

bool wi_tally_result_write(const struct wi_tally_result *r, FILE *to)
{
	bool ok = put(to, r, sizeof(*r)) && put(to, r->latency.bucket, r->latency.nr * sizeof(uint64_t)) &&
		  put(to, r->queue_wait.bucket, r->queue_wait.nr * sizeof(uint64_t)) &&
		  put(to, r->cpu_idle_ns, r->nr_cpus * sizeof(uint64_t)) &&
		  put(to, r->package_idle_ns, r->nr_packages * sizeof(uint64_t));

	for (uint32_t s = 0; ok && s < WAKEIF_NR_SCOPES; s++)
		ok = put(to, r->group_idle_ns[s], r->nr_groups[s] * sizeof(uint64_t));
	return ok;
}

static bool read_arrays(struct wi_tally_result *r, FILE *from)
{
	bool ok = get_array(from, &r->latency.bucket, r->latency.nr) &&
		  get_array(from, &r->queue_wait.bucket, r->queue_wait.nr) &&
		  get_array(from, &r->cpu_idle_ns, r->nr_cpus) && get_array(from, &r->package_idle_ns, r->nr_packages);

	for (uint32_t s = 0; ok && s < WAKEIF_NR_SCOPES; s++)
		ok = get_array(from, &r->group_idle_ns[s], r->nr_groups[s]);
	return ok;
}

bool wi_tally_result_read(struct wi_tally_result *r, FILE *from)
{
	if (!get(from, r, sizeof(*r))) {
		memset(r, 0, sizeof(*r));
		return false;
	}
	forget_pointers(r);
	if (read_arrays(r, from))
		return true;
	wi_tally_result_fini(r);
	return false;
}

bool wi_sim_result_write(const struct wi_sim_result *r, FILE *to)
{
	return put(to, r, sizeof(*r)) && put(to, r->cookie, r->nr_cookies * sizeof(*r->cookie)) &&
	       put(to, r->cookie_ran_ns, r->nr_cookies * sizeof(uint64_t)) &&
	       put(to, r->cookie_wait_ns, r->nr_cookies * sizeof(uint64_t)) &&
	       put(to, r->cookie_forced_ns, r->nr_cookies * sizeof(uint64_t)) && wi_tally_result_write(&r->tally, to) &&
	       !fflush(to);
}

bool wi_sim_result_read(struct wi_sim_result *r, FILE *from)
{
	struct wi_sim_result in;
	bool ok;

	memset(r, 0, sizeof(*r));
	if (!get(from, &in, sizeof(in)) || in.nr_cookies > MAX_NUMBERS)
		return false;
	*r = in;
	memset(&r->tally, 0, sizeof(r->tally));
	r->cookie_ran_ns = r->cookie_wait_ns = r->cookie_forced_ns = NULL;
	r->cookie = calloc((size_t)r->nr_cookies + 1, sizeof(*r->cookie));
	ok = r->cookie && get(from, r->cookie, r->nr_cookies * sizeof(*r->cookie)) &&
	     get_array(from, &r->cookie_ran_ns, r->nr_cookies) && get_array(from, &r->cookie_wait_ns, r->nr_cookies) &&
	     get_array(from, &r->cookie_forced_ns, r->nr_cookies) && wi_tally_result_read(&r->tally, from);
	if (!ok)
		wi_sim_result_fini(r);
	return ok;
}

void wi_sim_result_fini(struct wi_sim_result *r)
{
	wi_tally_result_fini(&r->tally);
	free(r->cookie);
	free(r->cookie_ran_ns);
	free(r->cookie_wait_ns);
	free(r->cookie_forced_ns);
	memset(r, 0, sizeof(*r));
}
