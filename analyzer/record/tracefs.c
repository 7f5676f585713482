/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "analyzer/record/tracefs.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <tracefs.h>
#include <unistd.h>

#include "analyzer/record/marker_encode.h"

static bool usable(const struct wi_tracefs *fs, struct wi_err *err)
{
	char path[PATH_MAX];

	snprintf(path, sizeof(path), "%s/trace_marker", fs->dir);
	if (!access(path, W_OK))
		return true;
	if (errno == EACCES || errno == EPERM)
		return wi_err_set(err, WI_EIO, "%s: %s: recording needs root (sudo wakeif record ...)%s", path,
				  strerror(errno), geteuid() ? "" : "; the kernel may be locked down");
	return wi_err_set(err, WI_EIO, "%s: %s: no tracing file system there (mount -t tracefs nodev %s)", path,
			  strerror(errno), fs->dir);
}

bool wi_tracefs_find(struct wi_tracefs *fs, const char *dir, struct wi_err *err)
{
	if (!dir || !*dir)
		dir = getenv("TRACEFS_PATH");
	if (!dir || !*dir)
		dir = tracefs_tracing_dir();
	if (!dir)
		dir = "/sys/kernel/tracing";
	size_t len = strlen(dir);
	while (len > 1 && dir[len - 1] == '/')
		len--;
	if (len >= sizeof(fs->dir))
		return wi_err_set(err, WI_EIO, "%.200s...: path too long", dir);
	memcpy(fs->dir, dir, len);
	fs->dir[len] = '\0';
	return usable(fs, err);
}

static bool event_exists(const struct wi_tracefs *fs, const char *system, size_t system_len, const char *name)
{
	char path[PATH_MAX];
	struct stat st;

	if ((size_t)snprintf(path, sizeof(path), "%s/events/%.*s/%s", fs->dir, (int)system_len, system, name) >=
	    sizeof(path))
		return false;
	return !stat(path, &st) && S_ISDIR(st.st_mode);
}

bool wi_tracefs_has_event(const struct wi_tracefs *fs, const char *event)
{
	const char *colon = strchr(event, ':');
	char path[PATH_MAX];
	struct dirent *e;
	bool found = false;

	if (colon)
		return event_exists(fs, event, (size_t)(colon - event), colon + 1);
	snprintf(path, sizeof(path), "%s/events", fs->dir);
	DIR *d = opendir(path);
	while (d && !found && (e = readdir(d)))
		found = e->d_name[0] != '.' && event_exists(fs, e->d_name, strlen(e->d_name), event);
	if (d)
		closedir(d);
	return found;
}

bool wi_tracefs_check_clock(const struct wi_tracefs *fs, const char *clock, struct wi_err *err)
{
	char path[PATH_MAX], text[512] = "", list[512], *save = NULL;
	FILE *f;

	if (!strcmp(clock, "tsc2nsec")) /* trace-cmd's own, made of x86-tsc */
		clock = "x86-tsc";
	snprintf(path, sizeof(path), "%s/trace_clock", fs->dir);
	f = fopen(path, "re");
	if (!f || !fgets(text, sizeof(text), f)) {
		wi_err_set(err, WI_EIO, "%s: %s", path, f ? "empty" : strerror(errno));
		if (f)
			fclose(f);
		return false;
	}
	fclose(f);
	text[strcspn(text, "\n")] = '\0';
	snprintf(list, sizeof(list), "%s", text);
	for (char *word = strtok_r(list, " []", &save); word; word = strtok_r(NULL, " []", &save))
		if (!strcmp(word, clock))
			return true;
	return wi_err_set(err, WI_EIO, "this kernel has no trace clock \"%s\": it has %s", clock, text);
}

#define SET_LEN 16

struct sink {
	int fd;
	size_t burst_bytes; /* written at once; then the one who empties the ring buffer gets a moment */
	size_t since_pause;
	uint32_t failed;
	int last_errno;
};

#define PAUSE_NS 5000000

/* A quarter of a CPU's ring buffer: a small one must not lose the first markers to the last ones. */
static size_t burst_bytes(const char *instance_dir)
{
	char path[PATH_MAX];
	unsigned kb = 0;

	if ((size_t)snprintf(path, sizeof(path), "%s/buffer_size_kb", instance_dir) >= sizeof(path))
		return SIZE_MAX;
	FILE *f = fopen(path, "re");
	if (f && fscanf(f, "%u", &kb) != 1)
		kb = 0;
	if (f)
		fclose(f);
	return kb ? (size_t)kb * 1024 / 4 : SIZE_MAX;
}

static bool to_marker(void *ctx, const char *text, size_t len, struct wi_err *err)
{
	struct sink *s = ctx;
	ssize_t n;

	(void)err;
	if (s->since_pause + len > s->burst_bytes) {
		nanosleep(&(struct timespec){ .tv_nsec = PAUSE_NS }, NULL);
		s->since_pause = 0;
	}
	s->since_pause += len;
	do
		n = write(s->fd, text, len);
	while (n < 0 && errno == EINTR);
	if (n != (ssize_t)len) {
		s->failed++;
		s->last_errno = n < 0 ? errno : ENOSPC;
	}
	return true;
}

/* A name that two sets in one trace will not share. */
static void set_name(char name[SET_LEN])
{
	struct timespec now;

	clock_gettime(CLOCK_REALTIME, &now);
	snprintf(name, SET_LEN, "%llx%04x", (unsigned long long)now.tv_sec & 0xffffffff,
		 (unsigned)(now.tv_nsec / 1000 ^ getpid()) & 0xffff);
}

bool wi_tracefs_write_markers(const struct wi_tracefs *fs, const char *instance, const struct wi_filetree *t,
			      uint32_t *nr_chunks, uint32_t *nr_failed, struct wi_err *err)
{
	bool top = !instance || !*instance, ok;
	char dir[PATH_MAX], path[PATH_MAX], name[SET_LEN];
	struct sink s = { 0 };

	if (!top && strchr(instance, '/'))
		return wi_err_set(err, WI_EUSAGE, "not the name of a trace instance: %.100s", instance);
	if ((size_t)snprintf(dir, sizeof(dir), "%s%s%s", fs->dir, top ? "" : "/instances/", top ? "" : instance) >=
		    sizeof(dir) ||
	    (size_t)snprintf(path, sizeof(path), "%s/trace_marker", dir) >= sizeof(path))
		return wi_err_set(err, WI_EIO, "%.200s...: path too long", fs->dir);
	s.fd = open(path, O_WRONLY | O_APPEND | O_CLOEXEC | O_NONBLOCK); /* what --tracefs names may be a pipe */
	if (s.fd < 0)
		return wi_err_set(err, WI_EIO, "cannot write markers: %s: %s", path, strerror(errno));
	s.burst_bytes = burst_bytes(dir);
	set_name(name);
	ok = wi_markers_encode(t, name, to_marker, &s, nr_chunks, err);
	close(s.fd);
	if (nr_failed)
		*nr_failed = s.failed;
	return ok;
}
