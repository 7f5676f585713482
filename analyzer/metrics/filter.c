/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Which wakeups count: chosen CPU, wakee's pid, wakee's name. */
#include "analyzer/base/pattern.h"
#include "analyzer/metrics/priv.h"

static int cmp_pid(const void *a, const void *b)
{
	int32_t x = *(const int32_t *)a, y = *(const int32_t *)b;

	return x < y ? -1 : x > y;
}

static bool compile(struct m_filter *f, const char *text, struct wi_err *err)
{
	regex_t *re = malloc(sizeof(*re));

	if (!re)
		return wi_err_nomem(err);
	if (!wi_pattern_compile(re, "not a regular expression", text, err)) {
		free(re);
		return false;
	}
	f->regex = re;
	return true;
}

bool m_filter_init(struct wi_metrics *m, struct wi_err *err)
{
	struct m_filter *f = &m->filter;

	f->cpus = m->opt.filter_cpus;
	f->any = f->cpus || m->opt.nr_filter_pids || m->opt.filter_comm;
	if (m->opt.nr_filter_pids) {
		f->pids = malloc(m->opt.nr_filter_pids * sizeof(*f->pids));
		if (!f->pids)
			return wi_err_nomem(err);
		memcpy(f->pids, m->opt.filter_pids, m->opt.nr_filter_pids * sizeof(*f->pids));
		f->nr_pids = m->opt.nr_filter_pids;
		qsort(f->pids, f->nr_pids, sizeof(*f->pids), cmp_pid);
	}
	return !m->opt.filter_comm || compile(f, m->opt.filter_comm, err);
}

void m_filter_fini(struct wi_metrics *m)
{
	struct m_filter *f = &m->filter;

	if (f->regex)
		regfree(f->regex);
	free(f->regex);
	free(f->pids);
	free(f->comm);
}

static bool comm_matches(struct wi_metrics *m, uint32_t comm)
{
	struct m_filter *f = &m->filter;

	if (comm >= f->nr_comm) {
		uint32_t nr = (comm + 256) & ~255u;
		uint8_t *grown = realloc(f->comm, nr);

		if (!grown) {
			m->failed = true;
			return false;
		}
		memset(grown + f->nr_comm, 0, nr - f->nr_comm);
		f->comm = grown;
		f->nr_comm = nr;
	}
	if (!f->comm[comm])
		f->comm[comm] = regexec(f->regex, wi_names_get(m->opt.names, comm), 0, NULL, 0) ? 2 : 1;
	return f->comm[comm] == 1;
}

bool m_filter_match(struct wi_metrics *m, const struct wi_wakeup *w)
{
	const struct m_filter *f = &m->filter;

	if (f->cpus && (w->chosen_cpu >= m->lay.nr_cpus || !wi_mask_test(f->cpus, w->chosen_cpu)))
		return false;
	if (f->nr_pids && !bsearch(&w->pub.pid, f->pids, f->nr_pids, sizeof(*f->pids), cmp_pid))
		return false;
	return !f->regex || comm_matches(m, w->wakee ? w->wakee->comm : WI_NAME_NONE);
}
