/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Which source a name means, and the calls of topology.h that go with it. */
#include "analyzer/topology/topology.h"

#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "analyzer/topology/filetree.h"
#include "analyzer/topology/partition.h"
#include "analyzer/topology/raw.h"

#define MAX_TEXT_BYTES (64u << 20)
#define HEAD_BYTES 512u

const struct wakeif_topology *wi_topology_from_tree(const struct wi_filetree *tree, const char *source_name,
						    struct wi_err *err)
{
	const struct wakeif_topology *t = NULL;
	struct topo_raw raw = { 0 };
	struct wi_err why = { WI_OK, "" };

	if (topo_from_sysfs(&raw, tree, &why))
		t = topo_build(&raw, source_name, err);
	else
		wi_err_at(err, why.code, source_name, WI_NO_OFFSET, "%s", why.msg);
	topo_raw_fini(&raw);
	return t;
}

const struct wakeif_topology *wi_topology_fallback(uint32_t nr_cpus, struct wi_err *err)
{
	const struct wakeif_topology *t = NULL;
	struct topo_raw raw = { 0 };

	if (!nr_cpus || nr_cpus > WI_FALLBACK_MAX_CPUS) {
		wi_err_set(err, WI_EREFUSED, "an impossible number of CPUs: %u", nr_cpus);
		return NULL;
	}
	if (topo_raw_init(&raw, nr_cpus, err)) {
		for (uint32_t c = 0; c < nr_cpus; c++) {
			wi_mask_set(raw.present, c);
			wi_mask_set(raw.online, c);
			raw.label[TOPO_LLC][c] = 0;
		}
		raw.has_cache_info = true; /* one LLC for all is what the flag FALLBACK stands for */
		raw.flags = WAKEIF_TOPO_FALLBACK | WAKEIF_TOPO_NO_CACHE_INFO;
		topo_note(&raw, "topology unknown: every CPU a core of its own, all in one LLC and one node");
		t = topo_build(&raw, "fallback", err);
	}
	topo_raw_fini(&raw);
	return t;
}

/* Whether two sources group the CPUs that both know alike. */
static bool same_groups(const struct topo_raw *a, const struct topo_raw *b, enum topo_part part, bool *same,
			struct wi_err *err)
{
	uint32_t n = a->nr_cpus < b->nr_cpus ? a->nr_cpus : b->nr_cpus;
	uint32_t *x = malloc(2 * (size_t)n * sizeof(*x)), *y = x + n;
	bool ok;

	if (!x)
		return wi_err_nomem(err);
	for (uint32_t c = 0; c < n; c++) {
		bool both = a->label[part][c] != TOPO_NONE && b->label[part][c] != TOPO_NONE;

		x[c] = both ? a->label[part][c] : TOPO_NONE;
		y[c] = both ? b->label[part][c] : TOPO_NONE;
	}
	ok = topo_group(x, x, n, err) && topo_group(y, y, n, err);
	*same = ok && !memcmp(x, y, n * sizeof(*x));
	free(x);
	return ok;
}

/* A second opinion on this machine: where hwloc sees it differently, the topology is ours and the note says so. */
static bool compare_with_hwloc(struct topo_raw *raw, struct wi_err *err)
{
	static const struct {
		enum topo_part part;
		const char *name;
	} parts[] = { { TOPO_CORE, "cores" },
		      { TOPO_LLC, "last-level caches" },
		      { TOPO_NODE, "nodes" },
		      { TOPO_PACKAGE, "packages" } };
	struct topo_raw other = { 0 };
	struct wi_err why = { WI_OK, "" };
	bool ok = true, same = true;

	if (topo_from_hwloc_live(&other, &why))
		for (size_t i = 0; ok && i < sizeof(parts) / sizeof(*parts); i++) {
			ok = same_groups(raw, &other, parts[i].part, &same, err);
			if (ok && !same)
				topo_note(raw, "hwloc groups the %s of this machine differently", parts[i].name);
		}
	topo_raw_fini(&other);
	return ok;
}

static const struct wakeif_topology *load_live(struct wi_err *err)
{
	struct wi_filetree *tree = wi_filetree_new();
	const struct wakeif_topology *t = NULL;
	struct wi_err why = { WI_OK, "" };
	struct topo_raw raw = { 0 };

	if (!tree) {
		wi_err_nomem(err);
		return NULL;
	}
	if (wi_filetree_add_dir(tree, "/", &why) && topo_from_sysfs(&raw, tree, &why)) {
		if (compare_with_hwloc(&raw, err))
			t = topo_build(&raw, "live", err);
	} else { /* no sysfs that we can read: a chroot, another system */
		topo_raw_fini(&raw);
		if (topo_from_hwloc_live(&raw, err))
			t = topo_build(&raw, "live (hwloc)", err);
	}
	topo_raw_fini(&raw);
	wi_filetree_free(tree);
	return t;
}

/* fd: of an archive; -1: path is a folder. */
static const struct wakeif_topology *load_tree(const char *path, int fd, struct wi_err *err)
{
	struct wi_filetree *tree = wi_filetree_new();
	const struct wakeif_topology *t = NULL;
	char *source = NULL;

	if (!tree || asprintf(&source, "sysfs %s", path) < 0) {
		source = NULL;
		wi_err_nomem(err);
	} else if (fd < 0 ? wi_filetree_add_dir(tree, path, err) : wi_filetree_add_archive_fd(tree, fd, path, err)) {
		t = wi_topology_from_tree(tree, source, err);
	}
	wi_filetree_free(tree);
	free(source);
	return t;
}

/* The whole file, NUL-terminated; NULL: err set. */
static char *read_text(int fd, const char *path, size_t *len, struct wi_err *err)
{
	size_t size = 0, n = 0;
	char *text = NULL;

	for (;;) {
		if (size - n < 4096) {
			char *more = size >= MAX_TEXT_BYTES ? NULL : realloc(text, size ? size * 2 : 16384);

			if (!more) {
				wi_err_at(err, WI_EREFUSED, path, WI_NO_OFFSET,
					  "too big for a topology: more than %zu bytes", n);
				break;
			}
			text = more;
			size = size ? size * 2 : 16384;
		}
		ssize_t got = read(fd, text + n, size - n - 1);
		if (got < 0 && errno == EINTR)
			continue;
		if (got < 0) {
			wi_err_at(err, WI_EIO, path, WI_NO_OFFSET, "cannot read: %s", strerror(errno));
			break;
		}
		if (!got) {
			text[n] = '\0';
			*len = n;
			return text;
		}
		n += (size_t)got;
	}
	free(text);
	return NULL;
}

enum kind { KIND_ARCHIVE, KIND_XML, KIND_LSCPU, KIND_EMPTY };

static bool is_text(const char *head, size_t len)
{
	for (size_t i = 0; i < len; i++)
		if (!isprint((unsigned char)head[i]) && !isspace((unsigned char)head[i]))
			return false;
	return true;
}

static enum kind kind_of(const char *head, size_t len)
{
	size_t at = 0;

	if (!len)
		return KIND_EMPTY;
	while (at < len && isspace((unsigned char)head[at]))
		at++;
	const char *s = head + at;
	size_t left = len - at;
	if ((left > 5 && !memcmp(s, "<?xml", 5)) ||
	    (left > 9 && (!memcmp(s, "<topology", 9) || !memcmp(s, "<!DOCTYPE", 9))))
		return KIND_XML;
	/* "# CPU,Core", "0,0,0,0", "CPU NODE SOCKET"; a tar starts with a file name and has NULs soon after. */
	if (left && (*s == '#' || isdigit((unsigned char)*s) || (left > 3 && !memcmp(s, "CPU", 3))) && is_text(s, left))
		return KIND_LSCPU;
	return KIND_ARCHIVE;
}

static const struct wakeif_topology *load_text(int fd, enum kind kind, const char *path, struct wi_err *err)
{
	const struct wakeif_topology *t = NULL;
	struct topo_raw raw = { 0 };
	char *source = NULL;
	size_t len;
	char *text = read_text(fd, path, &len, err);

	if (!text)
		return NULL;
	if (asprintf(&source, "%s %s", kind == KIND_XML ? "hwloc xml" : "lscpu", path) < 0) {
		source = NULL;
		wi_err_nomem(err);
	} else if (kind == KIND_XML ? topo_from_xml(&raw, text, len, path, err)
				    : topo_from_lscpu(&raw, text, len, path, err)) {
		t = topo_build(&raw, source, err);
	}
	topo_raw_fini(&raw);
	free(source);
	free(text);
	return t;
}

const struct wakeif_topology *wi_topology_load_fd(int fd, const char *path, struct wi_err *err)
{
	char head[HEAD_BYTES];
	ssize_t len = pread(fd, head, sizeof(head), 0);

	if (len < 0 || lseek(fd, 0, SEEK_SET)) {
		wi_err_at(err, WI_EIO, path, WI_NO_OFFSET, "cannot read: %s", strerror(errno));
		return NULL;
	}
	enum kind kind = kind_of(head, (size_t)len);
	if (kind == KIND_ARCHIVE)
		return load_tree(path, fd, err);
	if (kind != KIND_EMPTY)
		return load_text(fd, kind, path, err);
	wi_err_at(err, WI_EREFUSED, path, WI_NO_OFFSET, "empty file, no topology in it");
	return NULL;
}

static const struct wakeif_topology *load_file(const char *path, struct wi_err *err)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	const struct wakeif_topology *t = NULL;
	struct stat st;

	if (fd < 0) {
		wi_err_at(err, WI_EIO, path, WI_NO_OFFSET, "cannot open: %s", strerror(errno));
		return NULL;
	}
	if (fstat(fd, &st) || !S_ISREG(st.st_mode))
		wi_err_at(err, WI_EREFUSED, path, WI_NO_OFFSET, "neither a file nor a folder");
	else
		t = wi_topology_load_fd(fd, path, err);
	close(fd);
	return t;
}

static const struct wakeif_topology *load_synthetic(const char *spec, struct wi_err *err)
{
	const struct wakeif_topology *t = NULL;
	struct topo_raw raw = { 0 };
	char *source = NULL;

	if (asprintf(&source, "synthetic %s", spec) < 0) {
		source = NULL;
		wi_err_nomem(err);
	} else if (topo_from_synthetic(&raw, spec, err)) {
		t = topo_build(&raw, source, err);
	}
	topo_raw_fini(&raw);
	free(source);
	return t;
}

const struct wakeif_topology *wi_topology_load(const char *spec, struct wi_err *err)
{
	struct stat st;

	if (!strcmp(spec, "live"))
		return load_live(err);
	if (stat(spec, &st)) {
		/* Synthetic strings have colons; a name without any was meant as a file. */
		if (errno == ENOENT && strchr(spec, ':') && !strchr(spec, '/'))
			return load_synthetic(spec, err);
		wi_err_at(err, WI_EIO, spec, WI_NO_OFFSET, "cannot open: %s", strerror(errno));
		return NULL;
	}
	if (S_ISDIR(st.st_mode))
		return load_tree(spec, -1, err);
	return load_file(spec, err);
}

bool wi_topology_check(const struct wakeif_topology *topo, const wakeif_word *seen, uint32_t words,
		       const char *seen_name, struct wi_err *err)
{
	char list[120];
	uint64_t *lacks = calloc(words ? words : 1, sizeof(*lacks));
	uint32_t nr = 0;

	if (!lacks)
		return wi_err_nomem(err);
	for (uint32_t w = 0; w < words; w++) {
		lacks[w] = seen[w] & ~(w < topo->nr_words ? topo->present[w] : 0);
		nr += (uint32_t)__builtin_popcountll(lacks[w]);
	}
	if (wi_mask_format(list, sizeof(list), lacks, words) >= sizeof(list))
		memcpy(list + sizeof(list) - 4, "...", 4);
	free(lacks);
	return !nr || wi_err_set(err, WI_EREFUSED, "topology %s lacks CPU%s %s seen in trace %s", topo->source,
				 nr > 1 ? "s" : "", list, seen_name);
}

uint32_t wi_topology_nr_online_groups(const struct wakeif_topology *topo, enum wakeif_scope scope)
{
	uint32_t nr = 0;

	for (uint32_t g = 0; g < topo->nr_groups[scope]; g++) {
		uint32_t w = 0;

		while (w < topo->nr_words && !(topo->span[scope][g][w] & topo->online[w]))
			w++;
		nr += w < topo->nr_words;
	}
	return nr;
}

uint32_t wi_topology_nr_online_packages(const struct wakeif_topology *topo)
{
	uint32_t nr = 0;

	for (uint32_t p = 0; p < topo->nr_packages; p++) {
		uint32_t c = wi_mask_next(topo->online, topo->nr_words, 0);

		while (c != UINT32_MAX && topo->package[c] != p)
			c = wi_mask_next(topo->online, topo->nr_words, c + 1);
		nr += c != UINT32_MAX;
	}
	return nr;
}
