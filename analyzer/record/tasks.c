/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "analyzer/record/tasks.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

struct capture {
	FILE *out;
	char stat[4096], status[8192], cgroup[4096], autogroup[128];
};

static int by_number(const struct dirent **a, const struct dirent **b)
{
	long x = atol((*a)->d_name), y = atol((*b)->d_name);

	return (x > y) - (x < y);
}

static int is_number(const struct dirent *e)
{
	return e->d_name[0] && !e->d_name[strspn(e->d_name, "0123456789")];
}

/* Reads at most size - 1 bytes; false if there are none. */
static bool slurp(int dir, const char *id, const char *name, char *buf, size_t size)
{
	char path[64];
	size_t len = 0;
	ssize_t n;

	buf[0] = '\0';
	if ((size_t)snprintf(path, sizeof(path), "%s/%s", id, name) >= sizeof(path))
		return false;
	int fd = openat(dir, path, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return false;
	while (len < size - 1 && (n = read(fd, buf + len, size - 1 - len)) > 0)
		len += (size_t)n;
	close(fd);
	buf[len] = '\0';
	return len > 0;
}

static char *end_line(char *s)
{
	s[strcspn(s, "\n")] = '\0';
	return s;
}

/* The group that the CPU controller uses: of version 1 the line that names "cpu", else that of version 2. */
static const char *cpu_cgroup(char *text)
{
	char *found = NULL;

	for (char *line = text, *next; line && *line; line = next) {
		next = strchr(line, '\n');
		if (next)
			*next++ = '\0';
		const char *list = strchr(line, ':'), *path = list ? strchr(list + 1, ':') : NULL;
		if (!path)
			continue;
		const char *cpu = strstr(list, "cpu");
		bool v1 = cpu && cpu < path && (cpu[3] == ',' || cpu[3] == ':') && (cpu[-1] == ':' || cpu[-1] == ',');
		if (v1)
			return line;
		if (!found || !strncmp(line, "0::", 3))
			found = line;
	}
	return found ? found : "";
}

/* Fields 18, 19, 39, 40, 41 of /proc/PID/stat, counted after the name's closing parenthesis. */
enum { F_PRIO = 15, F_NICE = 16, F_CPU = 36, F_RTPRIO = 37, F_POLICY = 38, NR_FIELDS = 39 };

static bool split_stat(char *s, char **comm, char *field[NR_FIELDS])
{
	char *open = strchr(s, '('), *close = strrchr(s, ')'), *save = NULL;
	int n = 0;

	if (!open || !close || close < open)
		return false;
	*close = '\0';
	*comm = open + 1;
	for (char *f = strtok_r(close + 1, " \n", &save); f && n < NR_FIELDS; f = strtok_r(NULL, " \n", &save))
		field[n++] = f;
	for (char *c = *comm; *c; c++)
		if ((unsigned char)*c < ' ' || *c == 0x7f)
			*c = '?';
	return n == NR_FIELDS;
}

static void put_thread(struct capture *c, int dir, const char *pid, const char *tid, const char *cgroup)
{
	char *comm, *field[NR_FIELDS], *allowed;

	if (!slurp(dir, tid, "stat", c->stat, sizeof(c->stat)) || !split_stat(c->stat, &comm, field) ||
	    !slurp(dir, tid, "status", c->status, sizeof(c->status)))
		return;
	allowed = strstr(c->status, "\nCpus_allowed_list:");
	if (!allowed)
		return;
	allowed = end_line(allowed + strlen("\nCpus_allowed_list:"));
	allowed += strspn(allowed, " \t");
	fprintf(c->out, "%s\t%s\t%s\t%s\t%s\t%s\t%s\t%s\t%s\t%s\t%s\n", tid, pid, comm, field[F_PRIO], field[F_NICE],
		field[F_POLICY], field[F_RTPRIO], field[F_CPU], allowed, cgroup, c->autogroup);
}

static void put_process(struct capture *c, int proc, const char *pid)
{
	char path[64];
	struct dirent **list = NULL;

	slurp(proc, pid, "cgroup", c->cgroup, sizeof(c->cgroup));
	slurp(proc, pid, "autogroup", c->autogroup, sizeof(c->autogroup));
	end_line(c->autogroup);
	const char *cgroup = cpu_cgroup(c->cgroup);
	for (char *s = c->cgroup; *s; s++)
		if (*s == '\t')
			*s = '?';
	snprintf(path, sizeof(path), "%.30s/task", pid);
	int fd = openat(proc, path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (fd < 0)
		return;
	int n = scandirat(proc, path, &list, is_number, by_number);
	for (int i = 0; i < n; i++) {
		put_thread(c, fd, pid, list[i]->d_name, cgroup);
		free(list[i]);
	}
	free(list);
	close(fd);
}

bool wi_tasks_capture(struct wi_filetree *t, const char *proc, struct wi_err *err)
{
	struct capture *c = calloc(1, sizeof(*c));
	struct dirent **list = NULL;
	char *text = NULL;
	size_t len = 0;
	int fd = -1, n = -1;
	bool ok = false;

	if (!c)
		return wi_err_nomem(err);
	c->out = open_memstream(&text, &len);
	if (!c->out) {
		wi_err_nomem(err);
		goto out;
	}
	fd = open(proc, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	n = fd < 0 ? -1 : scandir(proc, &list, is_number, by_number);
	if (n < 0) {
		wi_err_at(err, WI_EIO, proc, WI_NO_OFFSET, "cannot list the tasks: %s", strerror(errno));
		goto out;
	}
	fputs(WI_TASKS_HEADER, c->out);
	for (int i = 0; i < n; i++)
		put_process(c, fd, list[i]->d_name);
	ok = !fflush(c->out) && !ferror(c->out);
	ok = ok ? wi_filetree_add(t, "tasks", text, len, err) : wi_err_nomem(err);
out:
	for (int i = 0; i < n; i++)
		free(list[i]);
	free(list);
	if (fd >= 0)
		close(fd);
	if (c->out)
		fclose(c->out);
	free(text);
	free(c);
	return ok;
}
