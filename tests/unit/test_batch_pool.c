/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The pool of batch with analyses that do what the name of their file says: whatever that is, the others are done. */
#include <fcntl.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include "analyzer/batch/batch.h"
#include "analyzer/store/select.h"

#define NR_FDS 64

static char folder[64];
static unsigned int nr_described;

static int set_up(void **state)
{
	(void)state;
	nr_described = 0;
	snprintf(folder, sizeof(folder), "/tmp/wakeif-batch-XXXXXX");
	return mkdtemp(folder) && !chdir(folder) ? mkdir("in", 0700) : -1;
}

static int tear_down(void **state)
{
	char command[128];

	(void)state;
	snprintf(command, sizeof(command), "rm -rf '%s'", folder);
	return chdir("/") || system(command);
}

static void put(const char *name)
{
	char path[128];
	FILE *f;

	snprintf(path, sizeof(path), "in/%s", name);
	f = fopen(path, "w");
	assert_non_null(f);
	fprintf(f, "# tracer: nop\n# %s\n", name);
	assert_int_equal(fclose(f), 0);
}

/* ---- what an analysis is here ---- */

static char *describe(void *ctx, const char *path, struct wi_err *err)
{
	(void)ctx;
	nr_described++;
	if (strstr(path, "side")) {
		wi_err_set(err, WI_EIO, "%s.tasks: cannot open", path);
		return NULL;
	}
	return strdup("{}");
}

static char *no_tag_file(void *ctx, const char *path)
{
	(void)ctx;
	(void)path;
	return NULL;
}

/* To every descriptor that there is: one of them leads to the pool. */
static void say_everywhere(const void *bytes, size_t nr)
{
	for (int fd = 3; fd < NR_FDS; fd++) {
		struct stat st;

		if (fstat(fd, &st) || !S_ISFIFO(st.st_mode) || (fcntl(fd, F_GETFL) & O_ACCMODE) == O_RDONLY)
			continue;
		for (size_t at = 0; at < nr;) {
			ssize_t n = write(fd, (const char *)bytes + at, nr - at);

			if (n <= 0)
				break;
			at += (size_t)n;
		}
	}
}

static void say_bundle(size_t cut, size_t wrong_at)
{
	struct wi_bytes_out message = { .nr = 0 }, o = { .nr = 0 };
	struct wi_err err = { 0 };
	struct wi_bundle b;

	if (!wi_bundle_init(&b, &err) || !wi_bundle_encode(&b, &o, &err))
		_exit(9);
	wi_bytes_put_u32(&message, 1);
	wi_bytes_put_u64(&message, o.nr);
	wi_bytes_put(&message, o.at, o.nr - cut);
	message.at[message.nr - 1 - wrong_at] ^= 1;
	say_everywhere(message.at, message.nr);
}

static bool analyse(void *ctx, const char *path, struct wi_bundle *b, bool *no_trace, struct wi_err *err)
{
	static const char doc[] = "{\"schema\":\"wakeif/1\",\"migrations\":{\"total\":3}}";
	const char *name = strrchr(path, '/') + 1;

	(void)ctx;
	if (!strncmp(name, "segv", 4)) {
		signal(SIGSEGV, SIG_DFL); /* cmocka would go on with the next test, here */
		raise(SIGSEGV);
	}
	if (!strncmp(name, "kill", 4))
		raise(SIGKILL);
	if (!strncmp(name, "exit", 4))
		_exit(3);
	if (!strncmp(name, "hang", 4))
		for (;;)
			pause();
	if (!strncmp(name, "child", 5) && !fork())
		for (;;)
			pause(); /* holds the pipes open */
	if (!strncmp(name, "child-exit", 10))
		_exit(4);
	if (!strncmp(name, "none", 4)) {
		*no_trace = true;
		return wi_err_at(err, WI_EREFUSED, path, WI_NO_OFFSET, "not a trace");
	}
	if (!strncmp(name, "refuse", 6))
		return wi_err_at(err, WI_EREFUSED, path, 0x10, "it has no head");
	if (!strncmp(name, "nomem", 5))
		return wi_err_nomem(err);
	if (!strncmp(name, "noise", 5)) {
		say_everywhere("\377\377\377\377 this is no message of any kind", 36);
		_exit(0);
	}
	if (!strncmp(name, "huge", 4)) { /* more than there may be, begun well */
		static const uint8_t head[12] = { 1, 0, 0, 0, 0, 0, 0, 0, 0, 1, 0, 0 };
		static char zeros[1 << 20];

		say_everywhere(head, sizeof(head));
		for (int i = 0; i < 300; i++)
			say_everywhere(zeros, sizeof(zeros));
		_exit(0);
	}
	if (!strncmp(name, "half", 4)) {
		say_bundle(5, 0);
		_exit(0);
	}
	if (!strncmp(name, "wrong", 5)) {
		say_bundle(0, 3);
		_exit(0);
	}
	if (!strncmp(name, "grows", 5)) {
		FILE *f = fopen(path, "a");

		fputs("more\n", f);
		fclose(f);
	}
	if (!strncmp(name, "damaged", 7) && !wi_bundle_outcome(b, WI_RUN_DAMAGED, "@0x20: cut", 0, 4, NULL, 0, err))
		return false;
	return wi_bundle_add_document(b, doc, sizeof(doc) - 1, WI_DETAIL_DEFAULT, err) &&
	       wi_bundle_tag(b, "from", "trace", err);
}

/* ---- running it ---- */

struct run {
	struct wi_batch_opts opts;
	struct wi_batch_count count;
	struct wi_discover_count found;
	unsigned int stop_after; /* calls; 0: never */
	unsigned int nr_asked;
};

static bool stop(void *ctx)
{
	struct run *r = ctx;

	return r->stop_after && ++r->nr_asked > r->stop_after;
}

static void batch(struct run *r)
{
	const struct wi_batch_ops ops = { .describe = describe, .tag_file = no_tag_file, .analyse = analyse };
	const struct wi_batch_events events = { .stop = stop, .stop_ctx = r };
	const struct wi_discover_opts search = { .nr_shards = 0 };
	struct wi_err err = { 0 };
	struct wi_store *store = wi_store_open("x.db", WI_STORE_CREATE, &err);
	struct wi_discover *d = wi_discover_new(&search, &err);

	assert_non_null(store);
	assert_true(wi_discover_add(d, "in", &err));
	memset(&r->count, 0, sizeof(r->count));
	r->opts.version = "1";
	if (!r->opts.jobs)
		r->opts.jobs = 3;
	if (!wi_batch_run(store, d, &r->opts, &ops, &events, &r->count, &err))
		fail_msg("%s", err.msg);
	r->found = wi_discover_count(d);
	wi_discover_free(d);
	if (!wi_store_close(store, &err))
		fail_msg("%s", err.msg);
}

/* "NAME STATUS REASON" of a run whose path ends with name. */
static const char *row(const char *name)
{
	static char text[1024];
	struct wi_err err = { 0 };
	struct wi_store *store = wi_store_open("x.db", WI_STORE_READ, &err);
	struct wi_runs runs;

	assert_non_null(store);
	assert_true(wi_select_runs(store, NULL, &runs, &err));
	strcpy(text, "none");
	for (size_t i = 0; i < runs.nr; i++)
		if (runs.run[i].nr_paths && !strcmp(strrchr(runs.run[i].path[0], '/') + 1, name))
			snprintf(text, sizeof(text), "%s: %s", wi_run_status_name(runs.run[i].status),
				 runs.run[i].reason ? runs.run[i].reason : "-");
	wi_runs_fini(&runs);
	assert_true(wi_store_close(store, &err));
	return text;
}

static void whatever_happens_the_others_are_done(void **state)
{
	static const char *const names[] = { "a",     "segv",	 "b",	  "kill",	"c",	"exit",
					     "none",  "refuse",	 "nomem", "noise",	"half", "wrong",
					     "grows", "damaged", "child", "child-exit", "side", "z" };
	struct run r = { .opts.jobs = 3 };
	uint64_t sum = 0;

	(void)state;
	for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++)
		put(names[i]);
	batch(&r);
	assert_int_equal(r.found.nr[WI_FINDING_TRACE], 18);
	assert_int_equal(r.count.status[WI_RUN_OK], 5); /* a b c child z */
	assert_int_equal(r.count.status[WI_RUN_DAMAGED], 1);
	assert_int_equal(r.count.status[WI_RUN_REFUSED], 1);
	assert_int_equal(r.count.status[WI_RUN_MEMORY], 1);
	assert_int_equal(r.count.status[WI_RUN_CRASHED], 1);
	assert_int_equal(r.count.status[WI_RUN_FAILED], 6); /* kill exit noise half wrong child-exit */
	assert_int_equal(r.count.no_trace, 1);
	assert_int_equal(r.count.no_row, 2); /* grows, side */
	for (int i = 0; i < WI_NR_RUN_STATUSES; i++)
		sum += r.count.status[i];
	assert_int_equal(sum + r.count.no_trace + r.count.no_row, r.count.done);
	assert_string_equal(row("a"), "ok: -");
	assert_string_equal(row("damaged"), "damaged: @0x20: cut");
	assert_string_equal(row("refuse"), "refused: 0x10: it has no head");
	assert_string_equal(row("nomem"), "memory: out of memory");
	assert_non_null(strstr(row("segv"), "crashed: its worker crashed: signal 11"));
	assert_non_null(strstr(row("kill"), "failed: its worker was killed"));
	assert_string_equal(row("exit"), "failed: its worker ended without a result: exit status 3");
	assert_string_equal(row("half"), "failed: its worker ended without a result: exit status 0");
	assert_string_equal(row("child-exit"), "failed: its worker ended without a result: exit status 4");
	assert_string_equal(row("none"), "none");
	assert_string_equal(row("side"), "none");
	assert_string_equal(row("grows"), "none");
	/* Again: what failed for reasons that are not the trace's own is tried again. */
	batch(&r);
	assert_int_equal(r.count.known, 9);
	assert_int_equal(r.count.kept_failures, 2);
	assert_int_equal(r.count.status[WI_RUN_FAILED], 6);
	r.opts.retry = true;
	batch(&r);
	assert_int_equal(r.count.known, 7);
	assert_int_equal(r.count.status[WI_RUN_CRASHED], 1);
}

static void more_than_may_be_said(void **state)
{
	struct run r = { .opts.jobs = 1 };

	(void)state;
	put("huge");
	put("z");
	batch(&r);
	assert_int_equal(r.count.status[WI_RUN_OK], 1);
	assert_non_null(strstr(row("huge"), "failed: its results are larger than"));
}

static void those_that_hang_are_ended(void **state)
{
	struct run r = { .opts.jobs = 2, .opts.limits.timeout_s = 1 };
	uint64_t start = wi_now_ns();

	(void)state;
	put("hang");
	put("hang2");
	put("z");
	batch(&r);
	assert_int_equal(r.count.status[WI_RUN_TIMEOUT], 2);
	assert_int_equal(r.count.status[WI_RUN_OK], 1);
	assert_string_equal(row("hang"), "timeout: not done after 1 s (--timeout)");
	assert_in_range((wi_now_ns() - start) / 1000000, 1000, 60000);
}

static void copies_wait_for_the_first(void **state)
{
	struct run r = { .opts.jobs = 4 };

	(void)state;
	put("a");
	for (int i = 0; i < 20; i++) {
		char to[32];

		snprintf(to, sizeof(to), "in/copy%d", i);
		assert_int_equal(link("in/a", to), 0);
	}
	put("none");
	assert_int_equal(link("in/none", "in/none2"), 0);
	batch(&r);
	assert_int_equal(r.count.status[WI_RUN_OK], 1);
	assert_int_equal(r.count.copies, 20);
	assert_int_equal(r.count.no_trace, 2);
	batch(&r);
	assert_int_equal(r.count.known, 1);
	assert_int_equal(r.count.copies, 20);
}

static void stopped_anywhere_it_goes_on(void **state)
{
	(void)state;
	for (int i = 0; i < 30; i++) {
		char name[32];

		snprintf(name, sizeof(name), "t%d", i);
		put(name);
	}
	uint64_t before = 0;

	for (unsigned int n = 1; n < 200 && before < 30; n += 7) {
		struct run r = { .opts.jobs = 2, .stop_after = n };

		batch(&r);
		assert_true(r.count.known >= before || r.count.known + r.count.in_flight + 3 >= before || n < 20);
		assert_true(r.count.known + r.count.status[WI_RUN_OK] <= 30);
		if (!r.count.in_flight && r.count.done == 30)
			assert_int_equal(r.count.known, before);
		before = r.count.done == 30 ? 30 : before + r.count.status[WI_RUN_OK];
	}
	struct run last = { .opts.jobs = 2 };

	batch(&last);
	assert_int_equal(last.count.known + last.count.status[WI_RUN_OK], 30);
	assert_int_equal(last.count.known, before);
}

/* More of them than are looked at between two looks at the workers. */
static void known_ones_need_no_worker(void **state)
{
	const struct timespec settled = { 2, 200000000 }; /* younger hashes are not kept */
	struct run r = { .opts.jobs = 2 };

	(void)state;
	for (int i = 0; i < 300; i++) {
		char name[32];

		snprintf(name, sizeof(name), "t%d", i);
		put(name);
	}
	nanosleep(&settled, NULL);
	batch(&r);
	assert_int_equal(r.count.status[WI_RUN_OK], 300);
	put("exit-new");
	batch(&r);
	assert_int_equal(r.count.known, 300);
	assert_int_equal(r.count.status[WI_RUN_FAILED], 1);
	assert_int_equal(r.count.done, 301);
}

static void nothing_is_left_open(void **state)
{
	struct run r = { .opts.jobs = 3 };
	unsigned int open[2];

	(void)state;
	put("a");
	put("segv");
	put("exit");
	for (int round = 0; round < 2; round++) {
		batch(&r);
		open[round] = 0;
		for (int fd = 0; fd < 1024; fd++)
			open[round] += fcntl(fd, F_GETFD) >= 0;
	}
	assert_int_equal(open[0], open[1]);
	assert_true(fcntl(0, F_GETFD) >= 0);
	assert_true(waitpid(-1, NULL, WNOHANG) < 0); /* no child, not even a dead one */
}

int main(void)
{
#define TEST(f) cmocka_unit_test_setup_teardown(f, set_up, tear_down)
	const struct CMUnitTest tests[] = {
		TEST(whatever_happens_the_others_are_done),
		TEST(more_than_may_be_said),
		TEST(those_that_hang_are_ended),
		TEST(copies_wait_for_the_first),
		TEST(stopped_anywhere_it_goes_on),
		TEST(nothing_is_left_open),
		TEST(known_ones_need_no_worker),
	};

	signal(SIGPIPE, SIG_IGN);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
