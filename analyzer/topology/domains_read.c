/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The kernel's own scheduling domains: names, flags and imbalance_pct from debugfs (5.13+) or
 * /proc/sys/kernel/sched_domain (before), spans from /proc/schedstat.
 */
#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#include "analyzer/topology/filetree.h"
#include "analyzer/topology/raw.h"

struct flag_name {
	const char *name;
	uint32_t number; /* bit before 5.10, when the file showed a number */
	uint32_t flag;
};

static const struct flag_name flag_names[] = {
	{ "SD_BALANCE_NEWIDLE", 0x0002, WAKEIF_SD_BALANCE_NEWIDLE },
	{ "SD_BALANCE_EXEC", 0x0004, WAKEIF_SD_BALANCE_EXEC },
	{ "SD_BALANCE_FORK", 0x0008, WAKEIF_SD_BALANCE_FORK },
	{ "SD_BALANCE_WAKE", 0x0010, WAKEIF_SD_BALANCE_WAKE },
	{ "SD_WAKE_AFFINE", 0x0020, WAKEIF_SD_WAKE_AFFINE },
	{ "SD_SHARE_CPUCAPACITY", 0x0080, WAKEIF_SD_SHARE_CPUCAPACITY },
	{ "SD_SHARE_PKG_RESOURCES", 0x0200, WAKEIF_SD_SHARE_LLC },
	{ "SD_SHARE_LLC", 0, WAKEIF_SD_SHARE_LLC },
	{ "SD_PREFER_SIBLING", 0x1000, WAKEIF_SD_PREFER_SIBLING },
	{ "SD_NUMA", 0x4000, WAKEIF_SD_NUMA },
};

static uint32_t parse_flags(const char *text)
{
	uint32_t flags = 0;

	if (isdigit((unsigned char)*text)) {
		unsigned long number = strtoul(text, NULL, 0);

		for (size_t i = 0; i < sizeof(flag_names) / sizeof(*flag_names); i++)
			if (number & flag_names[i].number)
				flags |= flag_names[i].flag;
		return flags;
	}
	while (*text) {
		text += strspn(text, " \t\n");
		size_t len = strcspn(text, " \t\n");

		for (size_t i = 0; i < sizeof(flag_names) / sizeof(*flag_names); i++)
			if (strlen(flag_names[i].name) == len && !memcmp(flag_names[i].name, text, len))
				flags |= flag_names[i].flag;
		text += len;
	}
	return flags;
}

/* "cpu12/domain0/name" -> 12, 0, "name" */
static const char *domain_file(const char *path, uint32_t *cpu, uint32_t *level)
{
	char *end;

	if (strncmp(path, "cpu", 3) != 0 || !isdigit((unsigned char)path[3]))
		return NULL;
	*cpu = (uint32_t)strtoul(path + 3, &end, 10);
	if (strncmp(end, "/domain", 7) != 0 || !isdigit((unsigned char)end[7]))
		return NULL;
	*level = (uint32_t)strtoul(end + 7, &end, 10);
	return *end == '/' ? end + 1 : NULL;
}

static bool take_attribute(struct topo_raw *raw, const char *path, const struct wi_file *f, uint32_t *beyond,
			   struct wi_err *err)
{
	uint32_t cpu, level;
	const char *name = domain_file(path, &cpu, &level);

	if (!name)
		return true;
	if (cpu >= raw->nr_cpus || level >= TOPO_MAX_DOMAINS) {
		++*beyond;
		return true;
	}
	struct topo_read_domain *d = topo_read_domain(raw, cpu, level);
	if (!d)
		return wi_err_nomem(err);
	if (!strcmp(name, "name")) {
		size_t len = strcspn(f->bytes, " \t\n");

		if (len < sizeof(d->name) &&
		    len == strspn(f->bytes, "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_-"))
			memcpy(d->name, f->bytes, len);
	} else if (!strcmp(name, "flags")) {
		d->flags = parse_flags(f->bytes);
		d->flags_known = true;
	} else if (!strcmp(name, "imbalance_pct")) {
		unsigned long pct = strtoul(f->bytes, NULL, 10);

		d->imbalance_pct = pct < 10000 ? (uint32_t)pct : 0;
	}
	return true;
}

static bool read_attributes(struct topo_raw *raw, const struct wi_filetree *tree, uint32_t *beyond, struct wi_err *err)
{
	static const char debugfs[] = "sys/kernel/debug/sched/domains/", procfs[] = "proc/sys/kernel/sched_domain/";
	size_t n = wi_filetree_count(tree);

	for (size_t i = 0; i < n; i++) {
		struct wi_file f = wi_filetree_at(tree, i);
		const char *path = !strncmp(f.path, debugfs, sizeof(debugfs) - 1) ? f.path + sizeof(debugfs) - 1
				   : !strncmp(f.path, procfs, sizeof(procfs) - 1) ? f.path + sizeof(procfs) - 1
										  : NULL;

		if (path && !take_attribute(raw, path, &f, beyond, err))
			return false;
	}
	return true;
}

/* ---- /proc/schedstat ---- */

struct span_text {
	const char *at;
	size_t len;
	uint64_t *span;
};

/* The span of one "domainN [NAME] MASK ..." line; the same text as the CPU before had at this level is not parsed
 * again. */
static bool take_span(struct topo_raw *raw, uint32_t cpu, const char *line, const char *end, struct span_text *last,
		      uint32_t *beyond, struct wi_err *err)
{
	char *at;
	uint32_t level = (uint32_t)strtoul(line + 6, &at, 10);
	const char *mask = at + (*at == ' ');
	size_t len = strcspn(mask, " \n"), hex = strspn(mask, "0123456789abcdef,");
	const char *name = NULL;
	size_t name_len = 0;

	if (mask < end && hex < len) { /* version 17 puts the name in front */
		name = mask;
		name_len = len;
		mask += len + (mask[len] == ' ');
		len = strcspn(mask, " \n");
	}
	if (level >= TOPO_MAX_DOMAINS || !len || mask + len > end) {
		++*beyond;
		return true;
	}
	struct topo_read_domain *d = topo_read_domain(raw, cpu, level);
	if (!d)
		return wi_err_nomem(err);
	if (name && !d->name[0] && name_len < sizeof(d->name))
		memcpy(d->name, name, name_len);
	if (d->span)
		return true;
	if (last[level].len == len && !memcmp(last[level].at, mask, len)) {
		d->span = last[level].span;
		return true;
	}
	struct wi_err bad = { WI_OK, "" };
	uint64_t *wide;
	uint32_t words;
	if (!wi_mask_parse_hex(mask, len, &wide, &words, &bad)) {
		++*beyond;
		return bad.code != WI_EIO || wi_err_nomem(err);
	}
	d->span = calloc(raw->nr_words, sizeof(*d->span));
	d->span_owned = true;
	if (d->span)
		memcpy(d->span, wide, (words < raw->nr_words ? words : raw->nr_words) * sizeof(*wide));
	free(wide);
	if (!d->span)
		return wi_err_nomem(err);
	last[level] = (struct span_text){ mask, len, d->span };
	return true;
}

static bool read_schedstat(struct topo_raw *raw, const char *text, size_t size, uint32_t *beyond, struct wi_err *err)
{
	struct span_text last[TOPO_MAX_DOMAINS] = { { NULL, 0, NULL } };
	const char *end = text + size;
	uint32_t cpu = TOPO_NONE;

	while (text < end) {
		const char *eol = memchr(text, '\n', (size_t)(end - text));

		if (!eol)
			eol = end;
		if (eol - text > 3 && !memcmp(text, "cpu", 3) && isdigit((unsigned char)text[3])) {
			cpu = (uint32_t)strtoul(text + 3, NULL, 10);
			if (cpu >= raw->nr_cpus) {
				cpu = TOPO_NONE;
				++*beyond;
			}
		} else if (cpu != TOPO_NONE && eol - text > 6 && !memcmp(text, "domain", 6) &&
			   isdigit((unsigned char)text[6])) {
			raw->read_spans = true;
			if (!take_span(raw, cpu, text, eol, last, beyond, err))
				return false;
		}
		text = eol + 1;
	}
	return true;
}

bool topo_read_domains(struct topo_raw *raw, const struct wi_filetree *tree, struct wi_err *err)
{
	uint32_t beyond = 0;
	size_t size;
	const char *schedstat = wi_filetree_get(tree, "proc/schedstat", &size);

	if (!read_attributes(raw, tree, &beyond, err) ||
	    (schedstat && !read_schedstat(raw, schedstat, size, &beyond, err)))
		return false;
	if (beyond)
		topo_note(raw, "%u scheduling domains are of CPUs that are not there, or unreadable: left out", beyond);
	return true;
}
