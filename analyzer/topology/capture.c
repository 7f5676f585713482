/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "analyzer/topology/capture.h"

#include <archive.h>
#include <archive_entry.h>
#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* ---- tasks ---- */

/* A small file of a task into buf, NUL-terminated; false if it cannot be read (the task is gone, or not ours to see).
 */
static bool slurp(int dirfd, const char *name, char *buf, size_t size)
{
	int fd = openat(dirfd, name, O_RDONLY | O_CLOEXEC);
	size_t len = 0;
	ssize_t n;

	buf[0] = '\0';
	if (fd < 0)
		return false;
	while (len + 1 < size && (n = read(fd, buf + len, size - 1 - len)) > 0)
		len += (size_t)n;
	buf[len] = '\0';
	close(fd);
	return len > 0;
}

static void put_text(FILE *out, const char *s, size_t len)
{
	for (size_t i = 0; i < len; i++) {
		if (s[i] == '\t')
			fputs("\\t", out);
		else if (s[i] == '\n')
			fputs("\\n", out);
		else if (s[i] == '\\')
			fputs("\\\\", out);
		else
			putc(s[i], out);
	}
}

/* The line of the unified hierarchy or of the cpu controller; the first one without either. */
static void put_cgroup(FILE *out, const char *text)
{
	const char *best = text;

	for (const char *line = text; *line;) {
		size_t len = strcspn(line, "\n");
		const char *colon = memchr(line, ':', len);

		if (!strncmp(line, "0::", 3) ||
		    (colon && (!strncmp(colon, ":cpu,", 5) || !strncmp(colon, ":cpu:", 5)))) {
			best = line;
			if (*line != '0') /* a controller of its own says more than an empty unified hierarchy */
				break;
		}
		line += len + (line[len] == '\n');
	}
	put_text(out, best, strcspn(best, "\n"));
}

/* Field n (3 = state) of /proc/TID/stat, counted behind the closing parenthesis; 0 if it is not there. */
static long stat_field(const char *after, int n)
{
	for (int i = 3; i < n && *after; i++) {
		after += strcspn(after, " ");
		after += *after == ' ';
	}
	return strtol(after, NULL, 10);
}

static void put_task(FILE *out, int taskfd, const char *tid, const char *pid, const char *autogroup)
{
	char stat[1024], status[8192], cgroup[4096];
	int fd = openat(taskfd, tid, O_RDONLY | O_DIRECTORY | O_CLOEXEC);

	if (fd < 0)
		return;
	bool ok = slurp(fd, "stat", stat, sizeof(stat));
	char *open = strchr(stat, '('), *close_ = strrchr(stat, ')');
	if (ok && open && close_ && close_ > open) {
		const char *after = close_ + 1 + (close_[1] == ' ');

		fprintf(out, "%s\t%s\t", tid, pid);
		put_text(out, open + 1, (size_t)(close_ - open - 1));
		/* 18 priority, 19 nice, 39 processor, 40 rt_priority, 41 policy */
		fprintf(out, "\t%ld\t%ld\t%ld\t%ld\t%ld\t", stat_field(after, 18), stat_field(after, 19),
			stat_field(after, 41), stat_field(after, 40), stat_field(after, 39));
		slurp(fd, "status", status, sizeof(status));
		const char *allowed = strstr(status, "Cpus_allowed_list:");
		if (allowed) {
			allowed += strlen("Cpus_allowed_list:");
			allowed += strspn(allowed, " \t");
			put_text(out, allowed, strcspn(allowed, "\n"));
		}
		putc('\t', out);
		slurp(fd, "cgroup", cgroup, sizeof(cgroup));
		put_cgroup(out, cgroup);
		putc('\t', out);
		put_text(out, autogroup, strcspn(autogroup, " \n"));
		putc('\n', out);
	}
	close(fd);
}

static int by_number(const struct dirent **a, const struct dirent **b)
{
	long x = strtol((*a)->d_name, NULL, 10), y = strtol((*b)->d_name, NULL, 10);

	return x < y ? -1 : x > y;
}

static int is_number(const struct dirent *e)
{
	return isdigit((unsigned char)e->d_name[0]);
}

static void put_process(FILE *out, int procfd, const char *pid)
{
	struct dirent **thread = NULL;
	char autogroup[128];
	int fd = openat(procfd, pid, O_RDONLY | O_DIRECTORY | O_CLOEXEC);

	if (fd < 0)
		return;
	slurp(fd, "autogroup", autogroup, sizeof(autogroup));
	int taskfd = openat(fd, "task", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	int nr = taskfd < 0 ? 0 : scandirat(taskfd, ".", &thread, is_number, by_number);
	for (int i = 0; i < nr; i++) {
		put_task(out, taskfd, thread[i]->d_name, pid, autogroup);
		free(thread[i]);
	}
	free(thread);
	if (taskfd >= 0)
		close(taskfd);
	close(fd);
}

bool wi_capture_tasks(const char *root, char **text, size_t *len, struct wi_err *err)
{
	struct dirent **process = NULL;
	char path[PATH_MAX];

	*text = NULL;
	snprintf(path, sizeof(path), "%s/proc", root);
	int procfd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (procfd < 0)
		return wi_err_at(err, WI_EIO, path, WI_NO_OFFSET, "cannot open: %s", strerror(errno));
	FILE *out = open_memstream(text, len);
	if (!out) {
		close(procfd);
		return wi_err_nomem(err);
	}
	fputs("tid\tpid\tcomm\tprio\tnice\tpolicy\trtprio\tcpu\tallowed\tcgroup\tautogroup\n", out);
	int nr = scandirat(procfd, ".", &process, is_number, by_number);
	for (int i = 0; i < nr; i++) {
		put_process(out, procfd, process[i]->d_name);
		free(process[i]);
	}
	free(process);
	close(procfd);
	bool ok = !ferror(out);
	if (fclose(out) || !ok) {
		free(*text);
		*text = NULL;
		return wi_err_nomem(err);
	}
	return true;
}

/* ---- the tree ---- */

/* Switches sched/verbose to Y where it is N and we may; returns a descriptor to switch it back with, -1. */
static int verbose_on(const char *root)
{
	char path[PATH_MAX], now[8];

	snprintf(path, sizeof(path), "%s/sys/kernel/debug/sched/verbose", root);
	if (!slurp(AT_FDCWD, path, now, sizeof(now)) || now[0] != 'N')
		return -1;
	int fd = open(path, O_WRONLY | O_CLOEXEC);
	if (fd >= 0 && write(fd, "Y\n", 2) != 2) {
		close(fd);
		return -1;
	}
	return fd;
}

static void verbose_off(int fd)
{
	if (fd < 0)
		return;
	ssize_t done = pwrite(fd, "N\n", 2, 0);
	(void)done;
	close(fd);
}

struct wi_filetree *wi_capture_root(const char *root, bool verbose_too, struct wi_err *err)
{
	struct wi_filetree *t = wi_filetree_new();
	char *tasks = NULL;
	size_t len;

	if (!t) {
		wi_err_nomem(err);
		return NULL;
	}
	int verbose = verbose_too ? verbose_on(root) : -1;
	bool ok = wi_filetree_add_dir(t, root, err);
	verbose_off(verbose);
	ok = ok && wi_capture_tasks(root, &tasks, &len, err) && wi_filetree_add(t, "tasks", tasks, len, err);
	free(tasks);
	if (ok)
		return t;
	wi_filetree_free(t);
	return NULL;
}

struct wi_filetree *wi_capture_live(struct wi_err *err)
{
	return wi_capture_root("/", true, err);
}

/* ---- the archive ---- */

static bool ends(const char *s, const char *end)
{
	size_t a = strlen(s), b = strlen(end);

	return a >= b && !strcmp(s + a - b, end);
}

static int add_filter(struct archive *a, const char *path)
{
	if (ends(path, ".gz") || ends(path, ".tgz")) {
		int r = archive_write_add_filter_gzip(a);

		return r == ARCHIVE_OK ? archive_write_set_filter_option(a, "gzip", "timestamp", NULL) : r;
	}
	if (ends(path, ".xz"))
		return archive_write_add_filter_xz(a);
	if (ends(path, ".zst"))
		return archive_write_add_filter_zstd(a);
	if (ends(path, ".bz2"))
		return archive_write_add_filter_bzip2(a);
	return archive_write_add_filter_none(a);
}

static bool write_members(struct archive *a, const struct wi_filetree *tree)
{
	struct archive_entry *e = archive_entry_new();
	struct wi_file f;
	size_t at = 0;
	bool ok = e != NULL;

	while (ok && wi_filetree_next(tree, "", &at, &f)) {
		archive_entry_clear(e);
		archive_entry_set_pathname(e, f.path);
		archive_entry_set_filetype(e, AE_IFREG);
		archive_entry_set_perm(e, 0644);
		archive_entry_set_mtime(e, 0, 0);
		archive_entry_set_size(e, (la_int64_t)f.len);
		ok = archive_write_header(a, e) == ARCHIVE_OK &&
		     archive_write_data(a, f.bytes, f.len) == (la_ssize_t)f.len;
	}
	archive_entry_free(e);
	return ok;
}

/* Half an archive must not stay; but what the user named may be a device, a pipe or a link, and is then not ours to remove. */
static void remove_partial(const char *path)
{
	struct stat st;

	if (!lstat(path, &st) && S_ISREG(st.st_mode))
		unlink(path);
}

bool wi_capture_write_tar(const struct wi_filetree *tree, const char *path, struct wi_err *err)
{
	struct archive *a = archive_write_new();
	bool to_stdout = !strcmp(path, "-"), opened = false;

	if (!a)
		return wi_err_nomem(err);
	bool ok = archive_write_set_format_pax_restricted(a) == ARCHIVE_OK && add_filter(a, path) == ARCHIVE_OK;
	if (ok) {
		opened = (to_stdout ? archive_write_open_fd(a, STDOUT_FILENO) : archive_write_open_filename(a, path)) ==
			 ARCHIVE_OK;
		ok = opened && write_members(a, tree);
		ok = archive_write_close(a) == ARCHIVE_OK && ok;
	}
	if (!ok) {
		int number = archive_errno(a); /* of libarchive's own numbers those below 0 are no errno */
		const char *why = number > 0 ? strerror(number) : archive_error_string(a);

		wi_err_at(err, WI_EIO, to_stdout ? "standard output" : path, WI_NO_OFFSET, "cannot write: %s",
			  why ? why : "unknown reason");
	}
	archive_write_free(a);
	if (!ok && opened && !to_stdout)
		remove_partial(path);
	return ok;
}
