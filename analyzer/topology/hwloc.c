/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Topology through libhwloc: XML files, synthetic strings, and a live machine whose sysfs cannot be read by ourselves.
 */
#include <ctype.h>
#include <hwloc.h>
#include <stdlib.h>

#include "analyzer/base/kernel.h"
#include "analyzer/topology/raw.h"

/*
 * hwloc loads every plugin it finds (OpenCL, GL, PCI: 4 ms) and talks to stderr about odd machines. Neither is of use
 * here: the own XML reader of hwloc is built in, and contradictions are found later by ourselves. Both can only be said
 * through the environment, which children of this process must not inherit.
 */
static const char *const quiet[][2] = { { "HWLOC_PLUGINS_PATH", "/nonexistent" },
					{ "HWLOC_HIDE_ERRORS", "2" },
					{ "HWLOC_LIBXML", "0" } };
#define NR_QUIET (sizeof(quiet) / sizeof(*quiet))

struct session {
	hwloc_topology_t h;
	bool was_set[NR_QUIET];
};

static void restore(struct session *s)
{
	for (size_t i = 0; i < NR_QUIET; i++)
		if (!s->was_set[i])
			unsetenv(quiet[i][0]);
}

static bool begin(struct session *s, struct wi_err *err)
{
	for (size_t i = 0; i < NR_QUIET; i++) {
		s->was_set[i] = getenv(quiet[i][0]) != NULL;
		setenv(quiet[i][0], quiet[i][1], 0);
	}
	if (hwloc_topology_init(&s->h)) {
		restore(s);
		return wi_err_set(err, WI_EIO, "hwloc cannot start");
	}
	hwloc_topology_set_io_types_filter(s->h, HWLOC_TYPE_FILTER_KEEP_NONE);
	hwloc_topology_set_type_filter(s->h, HWLOC_OBJ_MISC, HWLOC_TYPE_FILTER_KEEP_NONE);
	return true;
}

static void end(struct session *s)
{
	hwloc_topology_destroy(s->h);
	restore(s);
}

static hwloc_obj_t last_level_cache(hwloc_obj_t pu, hwloc_obj_t *second)
{
	hwloc_obj_t last = NULL;

	*second = NULL;
	for (hwloc_obj_t o = pu->parent; o; o = o->parent) {
		if (!hwloc_obj_type_is_dcache(o->type))
			continue;
		last = o;
		if (o->type == HWLOC_OBJ_L2CACHE)
			*second = o;
	}
	return last;
}

/* Node of a PU: the lowest-numbered one that covers it (memory-only nodes of the same CPUs come after). */
static hwloc_obj_t node_of(hwloc_topology_t h, hwloc_obj_t pu)
{
	hwloc_obj_t node = NULL, best = NULL;

	while ((node = hwloc_get_next_obj_by_type(h, HWLOC_OBJ_NUMANODE, node)))
		if (hwloc_bitmap_isset(node->cpuset, pu->os_index) && (!best || node->os_index < best->os_index))
			best = node;
	return best;
}

static int32_t id_of(hwloc_obj_t o)
{
	return o->os_index < TOPO_MAX_LABEL ? (int32_t)o->os_index : -1;
}

static void fill_cpu(struct topo_raw *raw, hwloc_topology_t h, hwloc_obj_t pu)
{
	uint32_t c = pu->os_index;
	hwloc_obj_t core = hwloc_get_ancestor_obj_by_type(h, HWLOC_OBJ_CORE, pu),
		    package = hwloc_get_ancestor_obj_by_type(h, HWLOC_OBJ_PACKAGE, pu);
	hwloc_obj_t l2, llc = last_level_cache(pu, &l2), node = node_of(h, pu);

	if (core) {
		raw->label[TOPO_CORE][c] = core->logical_index;
		raw->core_id[c] = id_of(core);
	}
	if (package) {
		raw->label[TOPO_PACKAGE][c] = package->logical_index;
		raw->package_id[c] = id_of(package);
	}
	if (l2)
		raw->label[TOPO_CLUSTER][c] = l2->logical_index;
	if (llc) {
		/* logical indexes count by type */
		raw->label[TOPO_LLC][c] =
			((uint32_t)llc->attr->cache.depth & 7) << 24 | (llc->logical_index & 0xffffff);
		raw->has_cache_info = true;
	}
	if (node) {
		raw->label[TOPO_NODE][c] = node->logical_index;
		raw->node_id[c] = id_of(node);
	}
}

static bool fill_distances(struct topo_raw *raw, hwloc_topology_t h, struct wi_err *err)
{
	struct hwloc_distances_s *d = NULL;
	unsigned nr = 1;

	if (hwloc_distances_get_by_type(h, HWLOC_OBJ_NUMANODE, &nr, &d, HWLOC_DISTANCES_KIND_MEANS_LATENCY, 0) || !nr ||
	    !d)
		return true;
	if (d->nbobjs > 4096) {
		hwloc_distances_release(h, d);
		return true;
	}
	raw->dist_node = malloc(d->nbobjs * sizeof(*raw->dist_node));
	raw->dist = malloc((size_t)d->nbobjs * d->nbobjs * sizeof(*raw->dist));
	bool ok = raw->dist_node && raw->dist;
	for (unsigned i = 0; ok && i < d->nbobjs; i++) {
		raw->dist_node[i] = d->objs[i] ? id_of(d->objs[i]) : -1;
		for (unsigned k = 0; k < d->nbobjs; k++) {
			hwloc_uint64_t v = d->values[(size_t)i * d->nbobjs + k];

			raw->dist[(size_t)i * d->nbobjs + k] = v <= 65535 ? (uint32_t)v : 0;
		}
	}
	raw->nr_dist = ok ? d->nbobjs : 0;
	hwloc_distances_release(h, d);
	return ok || wi_err_nomem(err);
}

/* CPUs that are in the complete set of the machine and have no PU object are not online. */
static bool fill(struct topo_raw *raw, hwloc_topology_t h, const char *name, struct wi_err *err)
{
	hwloc_obj_t root = hwloc_get_root_obj(h), pu = NULL;
	int last = hwloc_bitmap_last(root->complete_cpuset);

	while ((pu = hwloc_get_next_obj_by_type(h, HWLOC_OBJ_PU, pu)))
		last = (int)pu->os_index > last ? (int)pu->os_index : last;
	if (last < 0 || (uint32_t)last >= WI_MAX_CPUS)
		return wi_err_at(err, WI_EREFUSED, name, WI_NO_OFFSET,
				 "no usable CPU numbers in this topology: the last one is %d", last);
	if (!topo_raw_init(raw, (uint32_t)last + 1, err))
		return false;
	while ((pu = hwloc_get_next_obj_by_type(h, HWLOC_OBJ_PU, pu))) {
		wi_mask_set(raw->present, pu->os_index);
		wi_mask_set(raw->online, pu->os_index);
		fill_cpu(raw, h, pu);
	}
	for (int c = hwloc_bitmap_first(root->complete_cpuset); c >= 0; c = hwloc_bitmap_next(root->complete_cpuset, c))
		wi_mask_set(raw->present, (uint32_t)c);
	const char *release = hwloc_obj_get_info_by_name(root, "OSRelease"),
		   *arch = hwloc_obj_get_info_by_name(root, "Architecture");
	raw->kernel = wi_kernel_of(release);
	raw->x86 = arch && (!strcmp(arch, "x86_64") || !strcmp(arch, "i686"));
	return fill_distances(raw, h, err);
}

/* As many as any kernel can have; hwloc takes minutes to make more, in time that grows with the square. */
#define SYNTHETIC_MAX_CPUS 8192u

/* CPUs that a synthetic string asks for: the product of its numbers outside parentheses. hwloc would make any number of
 * them. */
static uint64_t synthetic_cpus(const char *spec)
{
	uint64_t cpus = 1;
	int depth = 0;

	for (; *spec && cpus <= WI_MAX_CPUS; spec++) {
		depth += (*spec == '(') - (*spec == ')');
		bool number = !depth && (*spec == ':' || *spec == ' ') && spec[1] >= '0' && spec[1] <= '9';
		if (number)
			cpus *= strtoull(spec + 1, NULL, 10);
	}
	return cpus;
}

/* Numbers in "indexes=": hwloc takes any, and drops the CPU or crashes. */
static bool indexes_fit(const char *spec)
{
	while ((spec = strstr(spec, "indexes=")))
		for (spec += 8; *spec && *spec != ')'; spec++) {
			char *end;

			if (!isdigit((unsigned char)*spec))
				continue;
			if (strtoull(spec, &end, 10) >= WI_MAX_CPUS)
				return false;
			spec = end - 1;
		}
	return true;
}

bool topo_from_synthetic_here(struct topo_raw *raw, const char *spec, size_t len, const char *name, struct wi_err *err)
{
	struct session s;

	(void)len;
	if (!indexes_fit(spec))
		return wi_err_set(err, WI_EREFUSED, "an impossible CPU number in the synthetic topology \"%.200s\"",
				  spec);
	if (synthetic_cpus(spec) > SYNTHETIC_MAX_CPUS)
		return wi_err_set(err, WI_EREFUSED, "an impossible number of CPUs in the synthetic topology \"%.200s\"",
				  spec);
	if (!begin(&s, err))
		return false;
	bool ok = !hwloc_topology_set_synthetic(s.h, spec) && !hwloc_topology_load(s.h);
	ok = ok ? fill(raw, s.h, name, err)
		: wi_err_set(err, WI_EREFUSED,
			     "not a synthetic topology such as \"pack:2 l3:1 core:4 pu:2\", nor a file: \"%.200s\"",
			     spec);
	end(&s);
	return ok;
}

bool topo_from_xml_here(struct topo_raw *raw, const char *xml, size_t len, const char *name, struct wi_err *err)
{
	struct session s;

	if (!begin(&s, err))
		return false;
	hwloc_topology_set_flags(s.h, HWLOC_TOPOLOGY_FLAG_INCLUDE_DISALLOWED);
	/* hwloc wants the terminating NUL counted. */
	bool ok = len < INT32_MAX && !hwloc_topology_set_xmlbuffer(s.h, xml, (int)len + 1) && !hwloc_topology_load(s.h);
	ok = ok ? fill(raw, s.h, name, err)
		: wi_err_at(err, WI_EREFUSED, name, WI_NO_OFFSET, "not an XML topology that hwloc can read");
	end(&s);
	return ok;
}

bool topo_from_hwloc_live(struct topo_raw *raw, struct wi_err *err)
{
	struct session s;

	if (!begin(&s, err))
		return false;
	hwloc_topology_set_flags(s.h, HWLOC_TOPOLOGY_FLAG_INCLUDE_DISALLOWED);
	bool ok = !hwloc_topology_load(s.h);
	ok = ok ? fill(raw, s.h, "live", err) : wi_err_set(err, WI_EIO, "hwloc cannot read this machine's topology");
	end(&s);
	return ok;
}
