/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The probe events of a recording give the decisions that its decisions.tsv lists, field by field. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "analyzer/truth/dat.h"

#define MAX_DECISIONS 20000

static char path_buf[2][512];

static const char *shared(int which, const char *recording, const char *file)
{
	const char *at = getenv("WAKEIF_SHARED");

	snprintf(path_buf[which], sizeof(path_buf[which]), "%s/corpus/%s/%s", at ? at : "../shared", recording, file);
	return access(path_buf[which], R_OK) ? NULL : path_buf[which];
}

/* A decision that outlives its stream. */
static struct wi_truth_decision *keep(const struct wi_truth_decision *d)
{
	struct wi_truth_decision *k = malloc(sizeof(*k));

	*k = *d;
#define COPY(member, nr)                                                                                               \
	do {                                                                                                           \
		size_t bytes = (size_t)(nr) * sizeof(*d->member);                                                      \
		void *p = malloc(bytes + 1);                                                                           \
		if (bytes)                                                                                             \
			memcpy(p, d->member, bytes);                                                                   \
		k->member = p;                                                                                         \
	} while (0)
	COPY(allowed, d->allowed_words);
	COPY(tests, d->nr_tests);
	COPY(llc, d->nr_llcs);
	COPY(rq, d->nr_rqs);
#undef COPY
	return k;
}

static void drop(struct wi_truth_decision *d)
{
	free((void *)d->allowed);
	free((void *)d->tests);
	free((void *)d->llc);
	free((void *)d->rq);
	free(d);
}

static int by_entry(const void *a, const void *b)
{
	const struct wi_truth_decision *x = *(struct wi_truth_decision *const *)a, *y = *(struct wi_truth_decision *const *)b;

	if (x->ts_ns != y->ts_ns)
		return x->ts_ns < y->ts_ns ? -1 : 1;
	return x->cpu < y->cpu ? -1 : x->cpu > y->cpu;
}

static size_t read_all(struct wi_truth *t, struct wi_truth_decision **to)
{
	struct wi_truth_decision d;
	struct wi_err err = { 0 };
	size_t n = 0;
	int got;

	assert_non_null(t);
	while ((got = wi_truth_next(t, &d, &err)) > 0) {
		assert_true(n < MAX_DECISIONS);
		to[n++] = keep(&d);
	}
	assert_string_equal(err.msg, "");
	assert_int_equal(got, 0);
	wi_truth_close(t);
	qsort(to, n, sizeof(*to), by_entry);
	return n;
}

static void same(const struct wi_truth_decision *a, const struct wi_truth_decision *b, size_t *queued_differs)
{
#define EQUAL(member) assert_int_equal(a->member, b->member)
	EQUAL(ts_ns);
	EQUAL(waking_ts_ns);
	EQUAL(cpu);
	EQUAL(waker);
	EQUAL(pid);
	EQUAL(prev);
	EQUAL(ret);
	EQUAL(wake_flags);
	EQUAL(nr_allowed);
	EQUAL(allowed_words);
	assert_memory_equal(a->allowed, b->allowed, a->allowed_words * sizeof(*a->allowed));
	EQUAL(recent);
	EQUAL(flips);
	EQUAL(last_wakee);
	EQUAL(prio);
	EQUAL(policy);
	EQUAL(has_load);
	EQUAL(util);
	EQUAL(util_est);
	EQUAL(load);
	EQUAL(update_ns);
	EQUAL(weight);
	EQUAL(called_affine);
	EQUAL(affine_this);
	EQUAL(affine_prev);
	EQUAL(sync);
	EQUAL(compared);
	EQUAL(this_eff);
	EQUAL(prev_eff);
	EQUAL(sis_target);
	EQUAL(wanted_core);
	if (a->queued != b->queued)
		assert_int_equal(a->queued, -1);
	*queued_differs += a->queued != b->queued;
	EQUAL(has_tests);
	EQUAL(nr_tests);
	for (uint32_t i = 0; i < a->nr_tests; i++) {
		EQUAL(tests[i].cpu);
		EQUAL(tests[i].idle);
		EQUAL(tests[i].site);
	}
	EQUAL(nr_llcs);
	for (uint32_t i = 0; i < a->nr_llcs; i++) {
		EQUAL(llc[i].first_cpu);
		EQUAL(llc[i].nr_idle_scan);
		EQUAL(llc[i].nr_busy);
		EQUAL(llc[i].has_idle_cores);
	}
	EQUAL(nr_rqs);
	for (uint32_t i = 0; i < a->nr_rqs; i++) {
		EQUAL(rq[i].nr_running);
		EQUAL(rq[i].h_nr_running);
		EQUAL(rq[i].idle_h_nr_running);
		EQUAL(rq[i].pending);
		EQUAL(rq[i].load);
		EQUAL(rq[i].util);
		EQUAL(rq[i].util_est);
		EQUAL(rq[i].runnable);
		EQUAL(rq[i].capacity);
		EQUAL(rq[i].curr_pid);
		EQUAL(rq[i].curr_flips);
		EQUAL(rq[i].clock_ns);
	}
#undef EQUAL
}

static struct wi_truth_dat *open_both(const char *recording, struct wi_names *names)
{
	static const struct wi_open_opts opts = { .reader = WI_READER_AUTO };
	struct wi_err err = { 0 };
	struct wi_truth_dat *t = wi_truth_dat_new(shared(0, recording, "truth.dat.zst"), &err);
	struct wi_source *src = wi_source_open(shared(1, recording, "trace.dat"), &opts, names, &err);

	assert_string_equal(err.msg, "");
	assert_non_null(t);
	assert_non_null(src);
	assert_true(wi_truth_dat_trace(t, src, &err));
	wi_source_close(src);
	return t;
}

static size_t nodecisions(struct wi_truth *t)
{
	struct wi_truth_nodecision d;
	struct wi_err err = { 0 };
	size_t n = 0;

	assert_non_null(t);
	while (wi_truth_next_nodecision(t, &d, &err) > 0)
		n++;
	assert_string_equal(err.msg, "");
	wi_truth_close(t);
	return n;
}

/* Where the table's queued differs from the probes': it also took the answer given for a later wakeup without a decision. */
static void one_recording(const char *recording, size_t most_queued)
{
	static struct wi_truth_decision *a[MAX_DECISIONS], *b[MAX_DECISIONS];
	struct wi_names *names = wi_names_new();
	struct wi_err err = { 0 };
	size_t nr, queued = 0;
	struct wi_truth_dat *t;

	if (!shared(0, recording, "truth.dat.zst")) {
		print_message("skipped: no %s (WAKEIF_SHARED)\n", recording);
		skip();
	}
	assert_true(wi_truth_dat_is(path_buf[0]));
	t = open_both(recording, names);
	nr = read_all(wi_truth_dat_open(t, false, &err), a);
	assert_int_equal(nr, read_all(wi_truth_open(shared(1, recording, "decisions.tsv.zst"), &err), b));
	assert_true(nr > 500);
	for (size_t i = 0; i < nr; i++) {
		same(a[i], b[i], &queued);
		drop(a[i]);
		drop(b[i]);
	}
	print_message("%s: %zu decisions, queued differs in %zu\n", recording, nr, queued);
	assert_true(queued <= most_queued);
	assert_int_equal(nodecisions(wi_truth_dat_open(t, true, &err)),
			 nodecisions(wi_truth_open_nodecision(shared(1, recording, "nodecision.tsv.zst"), &err)));
	wi_truth_dat_free(t);
	wi_names_free(names);
}

static void test_hb_pipe(void **state)
{
	(void)state;
	one_recording("61-smt8-hb-pipe-full", 0);
}

static void test_taskset(void **state)
{
	(void)state;
	one_recording("61-smt8-taskset-full", 1);
}

static void test_numa(void **state)
{
	(void)state;
	one_recording("61-numa16-mix-full", 0);
}

static void test_612(void **state)
{
	(void)state;
	one_recording("612-smt8-policies-full", 0);
}

/* ---- files that are none ---- */

static void refuses(const char *path, const char *part)
{
	struct wi_err err = { 0 };

	assert_null(wi_truth_dat_new(path, &err));
	assert_int_equal(err.code, WI_EREFUSED);
	if (!strstr(err.msg, part))
		fail_msg("\"%s\" does not say \"%s\"", err.msg, part);
}

static void test_other_files(void **state)
{
	struct wi_err err = { 0 };

	(void)state;
	refuses("samples/smt8-schbench.dat", "holds no probe event strf");
	refuses("README.md", "libtracecmd");
	assert_true(wi_truth_dat_is("samples/smt8-schbench.dat"));
	assert_false(wi_truth_dat_is("README.md"));
	assert_false(wi_truth_dat_is("samples"));
	assert_false(wi_truth_dat_is("samples/none"));
	assert_null(wi_truth_dat_new("samples/none", &err));
	assert_int_equal(err.code, WI_EIO);
}

static void test_cut(void **state)
{
	const char *from = shared(0, "61-numa16-mix-full", "truth.dat.zst");
	char name[] = "/tmp/wakeif-truth-XXXXXX", buf[100000];
	int fd;
	FILE *f;

	(void)state;
	if (!from)
		skip();
	fd = mkstemp(name);
	f = fopen(from, "rb");
	assert_non_null(f);
	assert_int_equal(fread(buf, 1, sizeof(buf), f), sizeof(buf));
	fclose(f);
	assert_int_equal(write(fd, buf, sizeof(buf)), sizeof(buf));
	close(fd);
	refuses(name, name);
	unlink(name);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_hb_pipe), cmocka_unit_test(test_taskset),	    cmocka_unit_test(test_numa),
		cmocka_unit_test(test_612),	cmocka_unit_test(test_other_files), cmocka_unit_test(test_cut),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
