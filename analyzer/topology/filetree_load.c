/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Filling a file tree from a directory or an archive, and which files are worth keeping. */
#include "analyzer/topology/filetree.h"

#include <archive.h>
#include <archive_entry.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <fnmatch.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define MAX_FILE_BYTES (64u << 20)    /* /proc/schedstat of 4,096 CPUs is 20 MiB */
#define MAX_ARCHIVE_BYTES (1ll << 30) /* uncompressed */
#define MAX_DEPTH 12		      /* sys/kernel/debug/sched/domains/cpu0/domain0/flags is 8 */

static bool starts(const char **path, const char *prefix)
{
	size_t len = strlen(prefix);

	if (strncmp(*path, prefix, len) != 0)
		return false;
	*path += len;
	return true;
}

static bool one_of(const char *name, const char *const *list)
{
	for (; *list; list++)
		if (!strcmp(name, *list))
			return true;
	return false;
}

/* Skips the digits of "cpu12/"; false if there are none or no slash follows. */
static bool skip_number(const char **path)
{
	size_t n = strspn(*path, "0123456789");

	if (!n || (*path)[n] != '/')
		return false;
	*path += n + 1;
	return true;
}

static bool wants_cpu(const char *p)
{
	static const char *const machine[] = { "online",   "offline",	"possible",   "present",
					       "isolated", "nohz_full", "kernel_max", NULL };
	static const char *const cache[] = { "level", "type", "shared_cpu_list", "shared_cpu_map", "id", "size", NULL };

	if (one_of(p, machine) || starts(&p, "smt/"))
		return true;
	if (!starts(&p, "cpu") || !skip_number(&p))
		return false;
	if (!strcmp(p, "online") || !strcmp(p, "cpu_capacity") || starts(&p, "topology/"))
		return true;
	return starts(&p, "cache/index") && skip_number(&p) && one_of(p, cache);
}

static bool wants_domain(const char *p)
{
	static const char *const file[] = { "name", "flags", "imbalance_pct", NULL };

	return starts(&p, "cpu") && skip_number(&p) && starts(&p, "domain") && skip_number(&p) && one_of(p, file);
}

bool wi_filetree_wants(const char *p)
{
	static const char *const node[] = { "cpulist", "cpumap", "distance", NULL };
	static const char *const proc[] = { "version", "cmdline", "cpuinfo", "schedstat", "uptime", NULL };
	static const char *const not_sched[] = { "debug", NULL };

	if (starts(&p, "sys/devices/system/cpu/"))
		return wants_cpu(p);
	if (starts(&p, "sys/devices/system/node/"))
		return !strchr(p, '/') ||
		       (starts(&p, "node") && skip_number(&p) &&
			(one_of(p, node) || (starts(&p, "cpu") && skip_number(&p) && starts(&p, "topology/"))));
	if (starts(&p, "sys/kernel/debug/sched/"))
		return starts(&p, "domains/") ? wants_domain(p) : !one_of(p, not_sched);
	if (starts(&p, "proc/sys/kernel/sched_domain/"))
		return wants_domain(p);
	if (starts(&p, "proc/sys/kernel/"))
		return !strncmp(p, "sched_", 6) || !strncmp(p, "numa_balancing", 14) || !strcmp(p, "osrelease") ||
		       !strcmp(p, "ostype") || !strcmp(p, "arch");
	if (starts(&p, "proc/"))
		return one_of(p, proc);
	return !strcmp(p, "sys/kernel/debug/sched_features") || !strcmp(p, "sys/fs/cgroup/cpuset.cpus.isolated") ||
	       !strcmp(p, "tasks") || !strncmp(p, "tasks.", 6);
}

/* Folders worth descending into: a prefix of some wanted path. Keeps a walk of a live /sys short. */
static bool wants_dir(const char *p)
{
	static const char *const pattern[] = {
		"sys",
		"sys/devices",
		"sys/devices/system",
		"sys/devices/system/cpu",
		"sys/devices/system/cpu/smt",
		"sys/devices/system/cpu/cpu[0-9]*",
		"sys/devices/system/cpu/cpu[0-9]*/topology",
		"sys/devices/system/cpu/cpu[0-9]*/cache",
		"sys/devices/system/cpu/cpu[0-9]*/cache/index[0-9]*",
		"sys/devices/system/node",
		"sys/devices/system/node/node[0-9]*",
		"sys/fs",
		"sys/fs/cgroup",
		"sys/kernel",
		"sys/kernel/debug",
		"sys/kernel/debug/sched",
		"sys/kernel/debug/sched/numa_balancing",
		"sys/kernel/debug/sched/domains",
		"sys/kernel/debug/sched/domains/cpu[0-9]*",
		"sys/kernel/debug/sched/domains/cpu[0-9]*/domain[0-9]*",
		"proc",
		"proc/sys",
		"proc/sys/kernel",
		"proc/sys/kernel/sched_domain",
		"proc/sys/kernel/sched_domain/cpu[0-9]*",
		"proc/sys/kernel/sched_domain/cpu[0-9]*/domain[0-9]*",
	};

	for (size_t i = 0; i < sizeof(pattern) / sizeof(*pattern); i++)
		if (!fnmatch(pattern[i], p, FNM_PATHNAME))
			return true;
	return false;
}

/* ---- directory ---- */

struct walk {
	struct wi_filetree *t;
	const char *dir; /* as given, for messages */
	char *buf;
	size_t buf_size;
	struct wi_err *err;
};

/* Reads a file of unknown size (sysfs says 4096 for all of them). Unreadable files are as good as absent. */
static bool read_file(struct walk *w, int dirfd, const char *name, const char *path)
{
	int fd = openat(dirfd, name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
	struct stat st;
	size_t len = 0;
	bool ok = true;

	if (fd < 0)
		return true;
	if (fstat(fd, &st) || !S_ISREG(st.st_mode))
		goto out;
	for (;;) {
		if (w->buf_size - len < 4096) {
			size_t size = w->buf_size ? w->buf_size * 2 : 16384;
			char *buf = size > 2u * MAX_FILE_BYTES ? NULL : realloc(w->buf, size);

			if (!buf) {
				ok = wi_err_at(w->err, WI_EREFUSED, w->dir, WI_NO_OFFSET,
					       "%s is too big for a topology file: more than %zu bytes", path, len);
				goto out;
			}
			w->buf = buf;
			w->buf_size = size;
		}
		ssize_t n = read(fd, w->buf + len, w->buf_size - len);
		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			goto out;
		if (!n)
			break;
		len += (size_t)n;
	}
	ok = wi_filetree_add(w->t, path, w->buf, len, w->err);
out:
	close(fd);
	return ok;
}

/* A list file next to a mask file says the same in fewer bytes. */
static bool has_list_form(int dirfd, const char *name)
{
	static const char *const mask[][2] = {
		{ "shared_cpu_map", "shared_cpu_list" },
		{ "cpumap", "cpulist" },
		{ "thread_siblings", "thread_siblings_list" },
		{ "core_siblings", "core_siblings_list" },
		{ "core_cpus", "core_cpus_list" },
		{ "die_cpus", "die_cpus_list" },
		{ "package_cpus", "package_cpus_list" },
		{ "cluster_cpus", "cluster_cpus_list" },
	};

	for (size_t i = 0; i < sizeof(mask) / sizeof(*mask); i++)
		if (!strcmp(name, mask[i][0]))
			return !faccessat(dirfd, mask[i][1], R_OK, AT_SYMLINK_NOFOLLOW);
	return false;
}

static bool walk_dir(struct walk *w, int dirfd, const char *path, unsigned depth)
{
	DIR *d = fdopendir(dirfd);
	struct dirent *e;
	bool ok = true;

	if (!d) {
		close(dirfd);
		return wi_err_at(w->err, WI_EIO, w->dir, WI_NO_OFFSET, "cannot read folder %s: %s", path,
				 strerror(errno));
	}
	while (ok && (e = readdir(d))) {
		char name[WI_FILETREE_MAX_PATH + 1];
		struct stat st;
		unsigned char type = e->d_type;

		if (e->d_name[0] == '.')
			continue;
		int n = snprintf(name, sizeof(name), "%s%s%s", path, *path ? "/" : "", e->d_name);
		if (n < 0 || (size_t)n >= sizeof(name))
			continue;
		if (type == DT_UNKNOWN && !fstatat(dirfd, e->d_name, &st, AT_SYMLINK_NOFOLLOW))
			type = S_ISREG(st.st_mode) ? DT_REG : S_ISDIR(st.st_mode) ? DT_DIR : DT_UNKNOWN;
		if (type == DT_REG && wi_filetree_wants(name) && !has_list_form(dirfd, e->d_name)) {
			ok = read_file(w, dirfd, e->d_name, name);
		} else if (type == DT_DIR && depth < MAX_DEPTH && wants_dir(name)) {
			int fd = openat(dirfd, e->d_name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);

			if (fd >= 0)
				ok = walk_dir(w, fd, name, depth + 1);
		}
	}
	closedir(d);
	return ok;
}

static bool has(int dirfd, const char *a, const char *b)
{
	char name[600];
	struct stat st;

	if ((size_t)snprintf(name, sizeof(name), "%s%s", a, b) >= sizeof(name))
		return false;
	return !fstatat(dirfd, name, &st, 0) && S_ISDIR(st.st_mode);
}

/* Where sys/ lies: here (".", prefix ""), here as "sys" itself, or in the first (by name) folder that has it. */
static int open_root(const char *dir, const char **prefix)
{
	int fd = open(dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);

	*prefix = "";
	if (fd < 0 || has(fd, "sys/devices/system", "") || has(fd, "proc", ""))
		return fd;
	if (has(fd, "devices/system", "")) {
		*prefix = "sys";
		return fd;
	}
	struct dirent **list = NULL;
	int n = scandir(dir, &list, NULL, alphasort), sub = -1;
	for (int i = 0; i < n; i++) {
		if (sub < 0 && list[i]->d_name[0] != '.' && has(fd, list[i]->d_name, "/sys/devices/system"))
			sub = openat(fd, list[i]->d_name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
		free(list[i]);
	}
	free(list);
	if (sub < 0)
		return fd;
	close(fd);
	return sub;
}

bool wi_filetree_add_dir(struct wi_filetree *t, const char *dir, struct wi_err *err)
{
	struct walk w = { .t = t, .dir = dir, .err = err };
	size_t before = wi_filetree_count(t);
	const char *prefix;
	int fd = open_root(dir, &prefix);

	if (fd < 0)
		return wi_err_at(err, WI_EIO, dir, WI_NO_OFFSET, "cannot open folder: %s", strerror(errno));
	bool ok = walk_dir(&w, fd, prefix, 0);
	free(w.buf);
	if (ok && wi_filetree_count(t) == before)
		return wi_err_at(err, WI_EREFUSED, dir, WI_NO_OFFSET,
				 "no topology in this folder: found no sys/devices/system/cpu");
	return ok;
}

/* ---- archive ---- */

/* True for a path that add() would turn into a wanted one. */
static bool wanted_member(const char *path)
{
	static const char viz[] = "topology/node";

	for (const char *at = path; at; at = strchr(at, '/')) {
		at += *at == '/';
		if (!strncmp(at, "sys/", 4) || !strncmp(at, "proc/", 5))
			return wi_filetree_wants(at);
		if (!strncmp(at, viz, sizeof(viz) - 1)) {
			at += sizeof(viz) - 1;
			return skip_number(&at) && starts(&at, "cpu") && skip_number(&at) && starts(&at, "topology/");
		}
	}
	const char *base = strrchr(path, '/');
	return wi_filetree_wants(base ? base + 1 : path);
}

static bool add_member(struct wi_filetree *t, struct archive *a, const char *name, const char *path, char **buf,
		       size_t *buf_size, struct wi_err *err)
{
	size_t len = 0;

	for (;;) {
		if (*buf_size - len < 1024) {
			size_t size = *buf_size ? *buf_size * 2 : 16384;
			char *b = size > 2u * MAX_FILE_BYTES ? NULL : realloc(*buf, size);

			if (!b)
				return wi_err_at(err, WI_EREFUSED, path, WI_NO_OFFSET,
						 "member %.200s is too big for a topology file: more than %zu bytes",
						 name, len);
			*buf = b;
			*buf_size = size;
		}
		la_ssize_t n = archive_read_data(a, *buf + len, *buf_size - len);
		if (n < 0)
			return wi_err_at(err, WI_EREFUSED, path, WI_NO_OFFSET, "damaged archive at member %.200s: %s",
					 name, archive_error_string(a));
		if (!n)
			return wi_filetree_add(t, name, *buf, len, err);
		len += (size_t)n;
	}
}

static bool read_members(struct wi_filetree *t, struct archive *a, const char *path, struct wi_err *err)
{
	struct archive_entry *e;
	char *buf = NULL;
	size_t buf_size = 0, nr = 0;
	bool ok = true;

	while (ok) {
		int r = archive_read_next_header(a, &e);

		if (r == ARCHIVE_EOF)
			break;
		if (r < ARCHIVE_WARN) {
			const char *why = archive_error_string(a);

			ok = wi_err_at(err, WI_EREFUSED, path, WI_NO_OFFSET, "%s: %s",
				       nr ? "damaged archive" : "not a topology source that is known",
				       why ? why : "unreadable");
			break;
		}
		const char *name = archive_entry_pathname(e);
		nr++;
		if (archive_entry_size(e) > MAX_ARCHIVE_BYTES || archive_filter_bytes(a, 0) > MAX_ARCHIVE_BYTES ||
		    nr > WI_FILETREE_MAX_FILES) {
			ok = wi_err_at(err, WI_EREFUSED, path, WI_NO_OFFSET,
				       "too big for a topology archive: member %zu, %.200s", nr, name ? name : "");
			break;
		}
		if (name && archive_entry_filetype(e) == AE_IFREG && !archive_entry_hardlink(e) &&
		    !strstr(name, "..") && wanted_member(name))
			ok = add_member(t, a, name, path, &buf, &buf_size, err);
	}
	free(buf);
	return ok;
}

bool wi_filetree_add_archive(struct wi_filetree *t, const char *path, struct wi_err *err)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	bool ok;

	if (fd < 0)
		return wi_err_at(err, WI_EIO, path, WI_NO_OFFSET, "cannot open: %s", strerror(errno));
	ok = wi_filetree_add_archive_fd(t, fd, path, err);
	close(fd);
	return ok;
}

bool wi_filetree_add_archive_fd(struct wi_filetree *t, int fd, const char *path, struct wi_err *err)
{
	struct archive *a = archive_read_new();
	size_t before = wi_filetree_count(t);
	bool ok;

	if (!a)
		return wi_err_nomem(err);
	/* Not "all": some of those run a program found in $PATH. */
	archive_read_support_filter_gzip(a);
	archive_read_support_filter_bzip2(a);
	archive_read_support_filter_xz(a);
	archive_read_support_filter_lzma(a);
	archive_read_support_filter_zstd(a);
	archive_read_support_format_tar(a);
	archive_read_support_format_cpio(a);
	archive_read_support_format_zip(a);
	if (archive_read_open_fd(a, fd, 65536) != ARCHIVE_OK)
		ok = wi_err_at(err, WI_EREFUSED, path, WI_NO_OFFSET, "not a topology source that is known: %s",
			       archive_error_string(a));
	else
		ok = read_members(t, a, path, err);
	archive_read_free(a);
	if (ok && wi_filetree_count(t) == before)
		return wi_err_at(err, WI_EREFUSED, path, WI_NO_OFFSET,
				 "no topology in this archive: found no sys/devices/system/cpu");
	return ok;
}
