/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "analyzer/topology/sysinfo.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "analyzer/base/kernel.h"
#include "analyzer/topology/arena.h"
#include "analyzer/topology/filetree.h"
#include "analyzer/topology/raw.h"

struct sysinfo {
	struct wi_sysinfo pub; /* first: the public pointer is the owner's */
	struct topo_arena arena;
};

void wi_sysinfo_free(const struct wi_sysinfo *info)
{
	struct sysinfo *s = (struct sysinfo *)info;

	if (!s)
		return;
	topo_arena_free(&s->arena);
	free(s);
}

/* First line without the blanks around it; NULL: out of memory. */
static const char *first_line(struct topo_arena *a, const char *text)
{
	text += strspn(text, " \t\n");
	size_t len = strcspn(text, "\n");
	while (len && (text[len - 1] == ' ' || text[len - 1] == '\t' || text[len - 1] == '\r'))
		len--;
	char *line = topo_alloc(a, len + 1);
	if (line)
		memcpy(line, text, len);
	return line;
}

static bool line_of(struct sysinfo *s, const struct wi_filetree *tree, const char *path, const char **out,
		    struct wi_err *err)
{
	const char *text = wi_filetree_get(tree, path, NULL);

	*out = text ? first_line(&s->arena, text) : "";
	return *out || wi_err_nomem(err);
}

static int32_t number_of(const struct wi_filetree *tree, const char *path)
{
	const char *text = wi_filetree_get(tree, path, NULL);
	char *end;

	if (!text)
		return -1;
	long v = strtol(text, &end, 10);
	return end == text || v < 0 || v > INT32_MAX ? -1 : (int32_t)v;
}

/* The word in brackets or parentheses of "none voluntary (full)"; the text as it is without any. */
static const char *chosen(struct topo_arena *a, const char *text)
{
	const char *open = strpbrk(text, "([");

	if (!open)
		return text;
	size_t len = strcspn(open + 1, ")]");
	char *word = topo_alloc(a, len + 1);
	if (word)
		memcpy(word, open + 1, len);
	return word;
}

/* "Linux version 6.1.0-57-amd64 (..." */
static const char *release_of_version(struct topo_arena *a, const char *version)
{
	const char *at = strstr(version, "ersion ");

	at = at ? at + 7 : "";
	size_t len = strcspn(at, " \t\n");
	char *word = topo_alloc(a, len + 1);
	if (word)
		memcpy(word, at, len);
	return word;
}

/*
 * Jiffies start 300 seconds before they would overflow 32 bits; schedstat shows jiffies, /proc/uptime the seconds since
 * boot, so their quotient is the tick frequency. -1 if there is no round value near it.
 */
static int32_t tick_hz(const struct wi_filetree *tree)
{
	static const int32_t usual[] = { 100, 250, 300, 1000, 24, 48, 128, 256, 1024, 1200 };
	const char *stat = wi_filetree_get(tree, "proc/schedstat", NULL),
		   *up = wi_filetree_get(tree, "proc/uptime", NULL);
	const char *at = stat ? strstr(stat, "timestamp ") : NULL;

	if (!at || !up)
		return -1;
	double jiffies = (double)strtoull(at + 10, NULL, 10) - 4294967296.0, seconds = strtod(up, NULL) - 300;
	if (!isfinite(seconds) || fabs(seconds) < 2)
		return -1;
	for (size_t i = 0; i < sizeof(usual) / sizeof(*usual); i++)
		if (fabs(jiffies / seconds - usual[i]) < 0.02 * usual[i])
			return usual[i];
	return -1;
}

static void find_processor(struct wi_sysinfo *p, const struct wi_filetree *tree)
{
	static const char *const x86[] = { "GenuineIntel", "AuthenticAMD", "HygonGenuine", "CentaurHauls",
					   "  Shanghai  " };
	const char *arch = wi_filetree_get(tree, "proc/sys/kernel/arch", NULL),
		   *info = wi_filetree_get(tree, "proc/cpuinfo", NULL);
	const char *vendor = info ? strstr(info, "vendor_id") : NULL,
		   *family = info ? strstr(info, "cpu family") : NULL;

	p->x86 = arch && (!strncmp(arch, "x86_64", 6) || (arch[0] == 'i' && !strncmp(arch + 2, "86", 2)));
	if (!vendor)
		return;
	size_t len = strcspn(vendor, "\n");
	for (size_t i = 0; i < sizeof(x86) / sizeof(*x86); i++) {
		const char *hit = memmem(vendor, len, x86[i], strlen(x86[i]));

		if (!hit)
			continue;
		p->x86 = true;
		/* "cpu family	: 23" */
		family = family ? strchr(family, ':') : NULL;
		p->amd_zen = (i == 1 || i == 2) && family && atoi(family + 1) >= 0x17;
	}
}

/* Files right under a folder whose contents are one setting. */
static const char *setting_name(const char *path)
{
	static const char *const under[] = { "sys/kernel/debug/sched/", "proc/sys/kernel/" };
	static const char *const not_one[] = { "features", "verbose", "preempt", "osrelease", "ostype", "arch" };

	for (size_t i = 0; i < sizeof(under) / sizeof(*under); i++) {
		size_t len = strlen(under[i]);

		if (strncmp(path, under[i], len) != 0)
			continue;
		if (!strncmp(path + len, "domains/", 8) || !strncmp(path + len, "sched_domain/", 13))
			return NULL;
		for (size_t k = 0; k < sizeof(not_one) / sizeof(*not_one); k++)
			if (!strcmp(path + len, not_one[k]))
				return NULL;
		return path + len;
	}
	return NULL;
}

static int by_name(const void *a, const void *b)
{
	return strcmp(((const struct wi_setting *)a)->name, ((const struct wi_setting *)b)->name);
}

static bool find_settings(struct sysinfo *s, const struct wi_filetree *tree, struct wi_err *err)
{
	size_t n = wi_filetree_count(tree);
	uint32_t nr = 0;

	for (size_t i = 0; i < n; i++)
		nr += setting_name(wi_filetree_at(tree, i).path) != NULL;
	struct wi_setting *out = topo_alloc(&s->arena, nr * sizeof(*out));
	if (!out)
		return wi_err_nomem(err);
	nr = 0;
	for (size_t i = 0; i < n; i++) {
		struct wi_file f = wi_filetree_at(tree, i);
		const char *name = setting_name(f.path);

		if (!name)
			continue;
		out[nr].name = topo_strdup(&s->arena, name);
		out[nr].value = first_line(&s->arena, f.bytes);
		if (!out[nr].name || !out[nr].value)
			return wi_err_nomem(err);
		nr++;
	}
	qsort(out, nr, sizeof(*out), by_name);
	s->pub.settings = out;
	s->pub.nr_settings = nr;
	return true;
}

const struct wi_sysinfo *wi_sysinfo_from_tree(const struct wi_filetree *tree, struct wi_err *err)
{
	struct sysinfo *s = calloc(1, sizeof(*s));

	if (!s) {
		wi_err_nomem(err);
		return NULL;
	}
	struct wi_sysinfo *p = &s->pub;
	if (!line_of(s, tree, "proc/version", &p->version, err) ||
	    !line_of(s, tree, "proc/cmdline", &p->cmdline, err) ||
	    !line_of(s, tree, "proc/sys/kernel/osrelease", &p->release, err) ||
	    !line_of(s, tree, "sys/devices/system/cpu/smt/control", &p->smt, err) ||
	    !line_of(s, tree, "sys/kernel/debug/sched/preempt", &p->preempt, err) ||
	    !line_of(s, tree, "sys/kernel/debug/sched/features", &p->features, err) ||
	    (!*p->features && !line_of(s, tree, "sys/kernel/debug/sched_features", &p->features, err)) ||
	    !find_settings(s, tree, err))
		goto fail;
	if (!*p->release)
		p->release = release_of_version(&s->arena, p->version);
	p->preempt = chosen(&s->arena, p->preempt);
	if (!p->release || !p->preempt) {
		wi_err_nomem(err);
		goto fail;
	}
	p->kernel = wi_kernel_of(p->release);
	p->numa_balancing = number_of(tree, "proc/sys/kernel/numa_balancing");
	p->autogroup = number_of(tree, "proc/sys/kernel/sched_autogroup_enabled");
	p->hz = tick_hz(tree);
	find_processor(p, tree);
	return p;
fail:
	wi_sysinfo_free(p);
	return NULL;
}

int wi_sysinfo_feature(const struct wi_sysinfo *info, const char *feature)
{
	size_t len = strlen(feature);

	for (const char *at = info->features; *at;) {
		at += strspn(at, " ");
		size_t n = strcspn(at, " ");

		if (n == len && !memcmp(at, feature, len))
			return 1;
		if (n == len + 3 && !memcmp(at, "NO_", 3) && !memcmp(at + 3, feature, len))
			return 0;
		at += n;
	}
	return -1;
}

const char *wi_sysinfo_setting(const struct wi_sysinfo *info, const char *name)
{
	struct wi_setting key = { name, NULL };
	const struct wi_setting *found = bsearch(&key, info->settings, info->nr_settings, sizeof(key), by_name);

	return found ? found->value : NULL;
}
