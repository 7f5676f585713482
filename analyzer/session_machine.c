/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "analyzer/session_machine.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "analyzer/base/cpumask.h"
#include "analyzer/topology/filetree.h"
#include "analyzer/topology/sidefile.h"
#include "analyzer/topology/sysinfo.h"
#include "analyzer/topology/tasks.h"
#include "analyzer/topology/topology.h"

static bool ends_with(const char *s, size_t len, const char *end)
{
	size_t n = strlen(end);

	return len > n && !memcmp(s + len - n, end, n);
}

static size_t strip(const char *path, size_t len, const char *const *ends)
{
	for (; *ends; ends++)
		if (ends_with(path, len, *ends))
			return len - strlen(*ends);
	return len;
}

char *wi_side_file(const char *trace, const char *const *suffixes)
{
	static const char *const wrappers[] = { ".gz", ".xz", ".zst", ".bz2", NULL };
	static const char *const kinds[] = { ".dat", ".txt", ".html", ".trace", ".data", NULL };
	size_t unwrapped = strip(trace, strlen(trace), wrappers);
	size_t stem[2] = { strip(trace, unwrapped, kinds), unwrapped };
	struct stat st;

	if (!strcmp(trace, "-"))
		return NULL;
	for (size_t i = 0; i < 2; i++)
		for (const char *const *suffix = suffixes; *suffix; suffix++) {
			char *path;

			if (asprintf(&path, "%.*s%s", (int)stem[i], trace, *suffix) < 0)
				return NULL;
			if (!stat(path, &st) && (S_ISREG(st.st_mode) || S_ISDIR(st.st_mode)))
				return path;
			free(path);
		}
	return NULL;
}

/* A file of this name in the folder of the trace. */
static char *in_its_folder(const char *trace, const char *name)
{
	const char *slash = strrchr(trace, '/');
	struct stat st;
	char *path;

	if (!name || !strcmp(trace, "-") ||
	    asprintf(&path, "%.*s%s", slash ? (int)(slash + 1 - trace) : 0, trace, name) < 0)
		return NULL;
	if (!stat(path, &st) && (S_ISREG(st.st_mode) || S_ISDIR(st.st_mode)))
		return path;
	free(path);
	return NULL;
}

char *wi_side_topology(const struct wi_opts *o, const char *trace)
{
	static const char *const suffixes[] = { ".topology.tar.gz", ".topology.txt", ".topology.xml", ".topology",
						NULL };
	char *path = wi_side_file(trace, suffixes);

	return path ? path : in_its_folder(trace, o->beside_topology);
}

char *wi_side_tasks(const struct wi_opts *o, const char *trace)
{
	static const char *const suffixes[] = { ".tasks", NULL };
	char *path = wi_side_file(trace, suffixes);

	return path ? path : in_its_folder(trace, o->beside_tasks);
}

/* Topology, tasks and kernel of a file tree. */
static bool take_tree(struct wi_machine *m, const struct wi_filetree *tree, const char *name, bool topology,
		      struct wi_err *err)
{
	const struct wi_sysinfo *info;

	if (topology) {
		m->topology = wi_topology_from_tree(tree, name, err);
		if (!m->topology)
			return false;
	}
	info = wi_sysinfo_from_tree(tree, err);
	if (!info)
		return false;
	if (info->release[0])
		snprintf(m->release, sizeof(m->release), "%s", info->release);
	wi_sysinfo_free(info);
	return wi_tasks_add_tree(&m->tasks, tree, name, err);
}

/* A capture holds more than topology; anything else is left to the topology readers. */
static bool take_source(struct wi_machine *m, const char *spec, struct wi_err *err)
{
	struct wi_filetree *tree = wi_filetree_new();
	struct wi_err why = { 0 };
	struct stat st;
	bool is_tree = false, ok = true;
	int fd = -1;

	if (!tree)
		return wi_err_nomem(err);
	if (!strcmp(spec, "live") || stat(spec, &st))
		st.st_mode = 0;
	if (S_ISDIR(st.st_mode)) {
		is_tree = wi_filetree_add_dir(tree, spec, &why);
	} else if (st.st_mode) {
		fd = wi_side_open(spec, err);
		ok = fd >= 0;
		is_tree = ok && wi_filetree_add_archive_fd(tree, fd, spec, &why);
	}
	if (is_tree) {
		ok = take_tree(m, tree, spec, true, err);
	} else if (ok) {
		m->topology = fd >= 0 ? wi_topology_load_fd(fd, spec, err) : wi_topology_load(spec, err);
		ok = m->topology != NULL;
	}
	if (fd >= 0)
		close(fd);
	wi_filetree_free(tree);
	return ok;
}

#define FEW_CPUS 512u /* a machine of so many is believed whatever little the trace shows of it */
#define SHOWN_ONE_IN 64u

/*
 * A machine without a topology is made of the CPU numbers in the trace. One damaged number must not make thousands of
 * idle CPUs.
 */
static bool assume_machine(struct wi_machine *m, const struct wi_opts *o, uint32_t nr_cpus, uint32_t shown,
			   struct wi_err *err)
{
	struct wi_err why = { 0 };

	if (nr_cpus > FEW_CPUS && nr_cpus / SHOWN_ONE_IN > shown)
		return wi_err_at(err, WI_EREFUSED, o->path, WI_NO_OFFSET,
				 "a record names CPU %" PRIu32 " among %" PRIu32
				 " CPUs that are shown: a damaged number, or --topology must tell the machine",
				 nr_cpus - 1, shown);
	m->topology = wi_topology_fallback(nr_cpus ? nr_cpus : 1, &why);
	return m->topology || wi_err_at(err, why.code, o->path, WI_NO_OFFSET,
					"no topology is known, and none can be assumed: %s", why.msg);
}

static bool find_topology(struct wi_machine *m, const struct wi_opts *o, const struct wi_filetree *markers,
			  uint32_t nr_cpus, uint32_t shown, struct wi_err *err)
{
	char *side = o->topology ? NULL : wi_side_topology(o, o->path);
	bool ok = true;

	if (markers)
		ok = take_tree(m, markers, "markers in the trace", !o->topology && !side, err);
	if (ok && (o->topology || side))
		ok = take_source(m, o->topology ? o->topology : side, err);
	if (ok && !m->topology)
		ok = assume_machine(m, o, nr_cpus, shown, err);
	free(side);
	return ok;
}

static bool find_tasks(struct wi_machine *m, const struct wi_opts *o, struct wi_err *err)
{
	char *side = wi_side_tasks(o, o->path);
	bool ok = !side || wi_tasks_add_file(&m->tasks, side, err);

	for (size_t i = 0; ok && i < o->nr_tasks; i++)
		ok = wi_tasks_add_file(&m->tasks, o->tasks[i], err);
	free(side);
	return ok;
}

static int by_mask(const void *a, const void *b)
{
	uintptr_t x = (uintptr_t)(*(const struct wi_task_entry *const *)a)->allowed,
		  y = (uintptr_t)(*(const struct wi_task_entry *const *)b)->allowed;

	return x < y ? -1 : x > y;
}

/* The tasks ordered by mask, of which the list keeps one copy each; *kinds: how many there are. NULL: out of memory. */
static const struct wi_task_entry **order_by_mask(const struct wi_tasks *tasks, uint32_t *kinds)
{
	const struct wi_task_entry **order = malloc(tasks->nr * sizeof(*order));

	*kinds = 0;
	if (!order)
		return NULL;
	for (uint32_t i = 0; i < tasks->nr; i++)
		order[i] = &tasks->task[i];
	qsort(order, tasks->nr, sizeof(*order), by_mask);
	for (uint32_t i = 0; i < tasks->nr; i++)
		*kinds += !i || order[i]->allowed != order[i - 1]->allowed;
	return order;
}

static bool make_facts(struct wi_machine *m, struct wi_err *err)
{
	uint32_t words = m->topology->nr_words, nr = m->tasks ? m->tasks->nr : 0, kinds;
	const struct wi_task_entry **order;
	wakeif_word *mask;

	if (!nr)
		return true;
	order = order_by_mask(m->tasks, &kinds);
	m->facts = calloc(nr, sizeof(*m->facts));
	m->masks = mask = calloc((size_t)kinds * words + 1, sizeof(*m->masks));
	if (!order || !m->facts || !m->masks) {
		free(order);
		return wi_err_nomem(err);
	}
	for (uint32_t k = 0; k < nr; k++) {
		const struct wi_task_entry *t = order[k];
		size_t i = (size_t)(t - m->tasks->task);

		if (k && t->allowed != order[k - 1]->allowed)
			mask += words;
		for (uint32_t w = 0; t->allowed && w < words && w < t->allowed_words; w++)
			mask[w] = t->allowed[w] & m->topology->present[w];
		m->facts[i] = (struct wi_task_fact){
			.pid = t->tid,
			.tgid = t->tgid > 0 ? t->tgid : 0,
			.comm = t->comm[0] ? t->comm : NULL,
			.cgroup = t->cgroup[0] ? t->cgroup : NULL,
			.autogroup = t->autogroup[0] ? t->autogroup : NULL,
			.policy = t->policy == WAKEIF_POLICY_UNKNOWN ? -1 : t->policy,
			.nice = t->nice,
			.allowed = wi_mask_empty(mask, words) ? NULL : mask,
		};
	}
	free(order);
	m->nr_facts = nr;
	return true;
}

bool wi_machine_find(struct wi_machine *m, const struct wi_opts *o, const struct wi_filetree *markers,
		     const wakeif_word *seen, uint32_t words, uint32_t nr_cpus, uint32_t told, struct wi_err *err)
{
	uint32_t shown = wi_mask_weight(seen, words);

	memset(m, 0, sizeof(*m));
	return find_topology(m, o, markers, nr_cpus, told > shown ? told : shown, err) &&
	       wi_topology_check(m->topology, seen, words, o->path, err) && find_tasks(m, o, err) && make_facts(m, err);
}

static void replace_known(struct wi_task_fact *f, const struct wi_task_fact *by)
{
	f->allowed = by->allowed ? by->allowed : f->allowed;
	f->policy = by->policy >= 0 ? by->policy : f->policy;
	f->nice = by->nice != INT32_MIN ? by->nice : f->nice;
	f->comm = by->comm ? by->comm : f->comm;
	f->cgroup = by->cgroup ? by->cgroup : f->cgroup;
	f->tgid = by->tgid > 0 ? by->tgid : f->tgid;
}

bool wi_machine_add_facts(struct wi_machine *m, const struct wi_task_fact *more, size_t nr, struct wi_err *err)
{
	struct wi_task_fact *all = calloc(m->nr_facts + nr + 1, sizeof(*all));
	size_t i = 0, j = 0, n = 0;

	if (!all)
		return wi_err_nomem(err);
	while (i < m->nr_facts || j < nr) {
		bool mine = j == nr || (i < m->nr_facts && m->facts[i].pid <= more[j].pid);

		all[n] = mine ? m->facts[i++] : more[j];
		if (mine && j < nr && all[n].pid == more[j].pid)
			replace_known(&all[n], &more[j++]);
		else if (!mine)
			j++;
		n++;
	}
	free(m->facts);
	m->facts = all;
	m->nr_facts = n;
	return true;
}

void wi_machine_fini(struct wi_machine *m)
{
	free(m->facts);
	free(m->masks);
	wi_tasks_free(m->tasks);
	wi_topology_free(m->topology);
	memset(m, 0, sizeof(*m));
}
