/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "analyzer/bundle_simulate.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

/* A command line. */
struct words {
	char **word; /* NULL behind the last */
	size_t nr, room;
	bool failed;
};

static void add(struct words *c, const char *fmt, ...) __attribute__((format(printf, 2, 3)));

static void add(struct words *c, const char *fmt, ...)
{
	va_list ap;

	if (c->failed)
		return;
	if (c->nr + 2 > c->room) {
		size_t room = c->room ? 2 * c->room : 32;
		char **more = realloc(c->word, room * sizeof(*more));

		if (!more) {
			c->failed = true;
			return;
		}
		c->word = more;
		c->room = room;
	}
	va_start(ap, fmt);
	c->failed = vasprintf(&c->word[c->nr], fmt, ap) < 0;
	va_end(ap);
	c->nr += !c->failed;
	c->word[c->nr] = NULL;
}

static void add_input(struct words *c, const struct wi_opts *o)
{
	static const char *const readers[] = { "auto", "own", "libtracecmd" };

	if (o->topology)
		add(c, "--topology=%s", o->topology);
	for (size_t i = 0; i < o->nr_tasks; i++)
		add(c, "--tasks=%s", o->tasks[i]);
	if (o->open.buffer)
		add(c, "--buffer=%s", o->open.buffer);
	if (o->time_text)
		add(c, "--time=%s", o->time_text);
	if (o->quiet_unknown)
		add(c, "--quiet-cpus=unknown");
	add(c, "--max-spool=%llu", (unsigned long long)o->open.max_spool_bytes);
	add(c, "--reader=%s", readers[o->open.reader]);
}

static void add_models(struct words *c, const struct wi_replay_wanted *r)
{
	for (size_t i = 0; i < r->nr_specs; i++)
		add(c, "--model=%s", r->specs[i]);
	add(c, "--sync=%s", wi_sync_mode_name(r->sync));
	if (r->history != WI_HISTORY_DEFAULT)
		add(c, "--history=%s", r->history == WI_HISTORY_OWN ? "own" : "observed");
	if (r->cookies)
		add(c, "--cookies=%s", r->cookies);
	add(c, "--seed=%llu", (unsigned long long)r->seed);
}

static void words_fini(struct words *c)
{
	for (size_t i = 0; i < c->nr; i++)
		free(c->word[i]);
	free(c->word);
}

/* Standard output goes to fd while the command runs; returns its exit status, or -1. */
static int run(struct words *c, int fd)
{
	int status;

	fflush(stdout);
	if (dup2(fd, STDOUT_FILENO) < 0)
		return -1;
	status = wi_cmd_simulate((int)c->nr, c->word);
	fflush(stdout);
	return status;
}

static bool take_document(int fd, const struct wi_bundle_wanted *w, struct wi_bundle *b, struct wi_err *err)
{
	struct stat st;
	char *text = MAP_FAILED;
	bool ok;

	if (!fstat(fd, &st) && st.st_size > 0)
		text = mmap(NULL, (size_t)st.st_size, PROT_READ, MAP_PRIVATE, fd, 0);
	if (text == MAP_FAILED)
		return wi_err_set(err, WI_EIO, "the document of the simulation was lost: %s", strerror(errno));
	ok = wi_bundle_add_document(b, text, (size_t)st.st_size, w->detail, err);
	munmap(text, (size_t)st.st_size);
	return ok;
}

bool wi_bundle_simulate(const struct wi_bundle_wanted *w, const char *path, struct wi_bundle *b, struct wi_err *err)
{
	struct words c = { .nr = 0 };
	int fd = memfd_create("simulate", MFD_CLOEXEC), status = -1;
	bool ok = false;

	add(&c, "wakeif simulate");
	add(&c, "--json");
	add(&c, "--quiet");
	add(&c, "--jobs=1"); /* traces are what runs at once */
	if (w->seeds)
		add(&c, "--seeds=%u", w->seeds);
	add_input(&c, w->o);
	add_models(&c, w->replay);
	add(&c, "--input=%s", path);
	if (c.failed)
		wi_err_nomem(err);
	else if (fd < 0 || (status = run(&c, fd)) < 0)
		wi_err_set(err, WI_EIO, "no memory file for the document of the simulation: %s", strerror(errno));
	else if (status == WI_OK || status == WI_EDAMAGED)
		ok = take_document(fd, w, b, err);
	else if (status == WI_EREFUSED) /* the report stays; what a simulation needs is missing */
		ok = wi_bundle_tag(b, WI_TAG_NOT_SIMULATED, "refused", err);
	else
		wi_err_set(err, (enum wi_err_code)status, "simulate failed: exit status %d", status);
	if (fd >= 0)
		close(fd);
	words_fini(&c);
	return ok;
}
