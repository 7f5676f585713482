/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Core-scheduling cookies: maps, and co-run by them (METRICS rules 36, 37); times counted by hand. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "analyzer/base/cookie_map.h"
#include "tests/unit/metrics_fixture.h"

#define US(a) WI_COOKIE_CLASS_##a

static struct wi_cookie_map *map_of(const char *text, struct wi_err *err)
{
	char path[] = "/tmp/wakeif-cookies-XXXXXX";
	int fd = mkstemp(path);

	assert_true(fd >= 0);
	assert_int_equal(write(fd, text, strlen(text)), strlen(text));
	close(fd);
	struct wi_cookie_map *map = wi_cookie_map_new(path, err);
	unlink(path);
	return map;
}

static struct wi_results *run_opts(const struct tl_fixture_opts *tl, const char *map_text, const char *events, bool oracle)
{
	struct wi_err err = { 0 };
	struct wi_cookie_map *map = map_of(map_text, &err);

	if (!map)
		fail_msg("%s", err.msg);
	struct wi_metrics_opts opts = { .cookies = map };
	struct wi_results *r = mx_run(tl, &opts, events, oracle);
	mx_invariants(r);
	wi_cookie_map_free(map);
	return r;
}

static struct wi_results *run(uint32_t cores, uint32_t threads, const char *map_text, const char *events)
{
	struct wakeif_topology *t = tl_fixture_topology(1, 1, cores, threads);
	struct tl_fixture_opts tl = { .topology = t, .oncpu_ns = 1 };
	struct wi_results *r = run_opts(&tl, map_text, events, !strstr(events, " exec ")); /* the oracle follows no exec */

	tl_fixture_topology_free(t);
	return r;
}

/* idle, single, compatible, incompatible, corun_unknown, unknown, forced idle at least */
static void expect(const struct wi_cookie_time *t, const uint64_t want[WI_NR_COOKIE_CLASSES + 1])
{
	for (int i = 0; i < WI_NR_COOKIE_CLASSES; i++)
		if (t->ns[i] != want[i])
			fail_msg("%s: %llu, not %llu", wi_cookie_class_name((enum wi_cookie_class)i), (unsigned long long)t->ns[i],
				 (unsigned long long)want[i]);
	assert_int_equal(t->idle_min_ns, want[WI_NR_COOKIE_CLASSES]);
}

#define EXPECT(time, ...) expect(time, (const uint64_t[]){ __VA_ARGS__ })

static void expect_group(const struct wi_results *r, enum wi_cookie_kind kind, const char *name, uint64_t compatible, uint64_t incompatible,
			 uint64_t alone, uint64_t unknown)
{
	const struct wi_cookie_results *k = &r->smt.cookies;

	for (size_t i = 0; i < k->nr_group; i++) {
		const struct wi_cookie_group_row *g = &k->group[i];

		if (g->kind != kind || (name && strcmp(wi_results_name(r, g->name), name)))
			continue;
		assert_int_equal(g->ns[WI_COOKIE_SHARE_COMPATIBLE], compatible);
		assert_int_equal(g->ns[WI_COOKIE_SHARE_INCOMPATIBLE], incompatible);
		assert_int_equal(g->ns[WI_COOKIE_SHARE_ALONE], alone);
		assert_int_equal(g->ns[WI_COOKIE_SHARE_UNKNOWN], unknown);
		assert_int_equal(wi_cookie_group_run_ns(g), compatible + incompatible + alone + unknown);
		return;
	}
	fail_msg("no group %s", name ? name : wi_cookie_kind_name(kind));
}

#define MAP "a comm t300\na comm t302\na comm t303\nb comm t301\n"

/* a alone with b to 2000; alone to 3000; beside a to 4000; beside b to 5000, and from 4500 a waits behind b. */
static const char two_threads[] = "1000 0 0 switch R 300\n1000 1 0 switch R 301\n2000 1 301 switch S 0\n3000 1 0 switch R 302\n"
				  "4000 1 302 switch S 301\n4500 0 300 wakeup 303 1\n5000 0 300 other\n";

static void two_cookies(void **state)
{
	(void)state;
	struct wi_results *r = run(2, 2, MAP, two_threads);
	const struct wi_cookie_results *k = &r->smt.cookies;

	assert_true(k->present);
	assert_int_equal(k->nr_core, 2);
	EXPECT(&k->core[0].time, 0, 1000, 1000, 2000, 0, 0, 1500);
	EXPECT(&k->core[1].time, 4000, 0, 0, 0, 0, 0, 0);
	EXPECT(&k->all, 4000, 1000, 1000, 2000, 0, 0, 1500);
	assert_int_equal(k->nr_group, 2);
	assert_string_equal(wi_results_name(r, k->group[0].name), "a");
	expect_group(r, WI_COOKIE_KIND_TAGGED, "a", 2000, 2000, 1000, 0);
	expect_group(r, WI_COOKIE_KIND_TAGGED, "b", 0, 2000, 0, 0);
	wi_results_free(r);
}

static void merged(void **state)
{
	(void)state;
	struct wi_err err = { 0 };
	struct wi_results *a = run(2, 2, MAP, two_threads), *sum = wi_results_new(&err);
	struct wi_results *b = run(2, 2, "b comm t300\n", two_threads);

	assert_true(wi_results_merge(sum, a, &err) && wi_results_merge(sum, b, &err) && wi_results_merge(sum, a, &err));
	/* in b t301 and t302 are untagged: never beside t300's cookie; t303 waits untagged, of no use */
	EXPECT(&b->smt.cookies.all, 4000, 1000, 0, 3000, 0, 0, 3000);
	EXPECT(&sum->smt.cookies.all, 12000, 3000, 2000, 7000, 0, 0, 6000);
	assert_int_equal(sum->smt.cookies.nr_core, 2);
	EXPECT(&sum->smt.cookies.core[0].time, 0, 3000, 2000, 7000, 0, 0, 6000);
	assert_int_equal(sum->smt.cookies.nr_group, 3);
	expect_group(sum, WI_COOKIE_KIND_TAGGED, "a", 4000, 4000, 2000, 0);
	expect_group(sum, WI_COOKIE_KIND_TAGGED, "b", 0, 4000 + 3000, 1000, 0);
	expect_group(sum, WI_COOKIE_KIND_UNTAGGED, NULL, 0, 3000, 0, 0);
	wi_results_free(a);
	wi_results_free(b);
	wi_results_free(sum);
}

/* The fair task's thread has a compatible waiter, but a real-time task went first on the other: only then does it help. */
static void who_goes_first(void **state)
{
	(void)state;
	/* t303 (a) waits behind t301 (b) from 2000; on the other side runs t300 (a). */
	struct wi_results *fair = run(2, 2, MAP, "1000 0 0 switch R 300\n1000 1 0 switch R 301\n2000 2 0 wakeup 303 1\n5000 0 300 other\n");
	EXPECT(&fair->smt.cookies.core[0].time, 0, 0, 0, 4000, 0, 0, 1000);
	wi_results_free(fair);
	/* Only b waits behind a: of use if b goes first, which nothing excludes. */
	fair = run(2, 2, MAP "b comm t304\n", "1000 0 0 switch R 300\n1000 1 0 switch R 301\n2000 2 0 wakeup 304 0\n5000 0 300 other\n");
	EXPECT(&fair->smt.cookies.core[0].time, 0, 0, 0, 4000, 0, 0, 1000);
	wi_results_free(fair);
	/* What waits has the cookie of neither. */
	fair = run(2, 2, MAP "c comm t304\n", "1000 0 0 switch R 300\n1000 1 0 switch R 301\n2000 2 0 wakeup 304 0\n5000 0 300 other\n");
	EXPECT(&fair->smt.cookies.core[0].time, 0, 0, 0, 4000, 0, 0, 4000);
	wi_results_free(fair);
	/* Its name is not known: it could have. */
	fair = run(2, 2, MAP, "1000 0 0 switch R 300\n1000 1 0 switch R 301\n2000 2 0 wakeup 304=<...> 0\n5000 0 300 other\n");
	EXPECT(&fair->smt.cookies.core[0].time, 0, 0, 0, 4000, 0, 0, 1000);
	wi_results_free(fair);
}

static void real_time_first(void **state)
{
	(void)state;
	/* t300 is real-time: b that waits behind it cannot run, its queue is of no use; a behind t301 would be. */
	const char *map = MAP "b comm t304\n";
	struct wi_results *r = run(2, 2, map, "1000 2 0 wakeup 300 0 50\n2000 0 0 switch R 300 50\n2000 1 0 switch R 301\n3000 2 0 wakeup 304 0\n"
					     "4000 2 0 wakeup 303 1\n6000 0 300 other\n");

	assert_int_equal(r->smt.cookies.core[0].time.ns[US(INCOMPATIBLE)], 4000);
	assert_int_equal(r->smt.cookies.core[0].time.idle_min_ns, 2000);
	wi_results_free(r);
}

static void four_threads(void **state)
{
	(void)state;
	/* a a b: if a goes first one CPU is lost, if b two; from 2000 a a b c: two or three; c leaves: b alone with it */
	struct wi_results *r = run(2, 4, MAP "c comm t304\n",
				   "1000 0 0 switch R 300\n1000 1 0 switch R 302\n1000 2 0 switch R 301\n2000 3 0 switch R 304\n3000 0 300 switch S 0\n"
				   "3000 1 302 switch S 0\n4000 2 301 switch S 0\n4500 3 304 other\n");

	EXPECT(&r->smt.cookies.core[0].time, 0, 500, 0, 3000, 0, 0, 1000 + 2000 + 1000);
	expect_group(r, WI_COOKIE_KIND_TAGGED, "a", 0, 4000, 0, 0);
	expect_group(r, WI_COOKIE_KIND_TAGGED, "b", 0, 3000, 0, 0);
	expect_group(r, WI_COOKIE_KIND_TAGGED, "c", 0, 2000, 500, 0);
	wi_results_free(r);
}

static void unknown(void **state)
{
	(void)state;
	/* The names of 300 and 301 are told at 2000 and 3000, by records in which they are current; CPU 1 is unknown from 4000 on. */
	struct wi_results *r = run(2, 2, MAP,
				   "1000 0 0 switch R 300=<...>\n1000 1 0 switch R 301=<...>\n2000 0 300 switch R 302\n3000 1 301=<...> switch R 303\n"
				   "4000 1 303 lost\n5000 0 302 other\n");

	EXPECT(&r->smt.cookies.core[0].time, 0, 0, 1000, 0, 2000, 1000, 0);
	expect_group(r, WI_COOKIE_KIND_UNKNOWN, NULL, 0, 0, 0, 3000);
	expect_group(r, WI_COOKIE_KIND_TAGGED, "a", 2000, 0, 0, 2000);
	wi_results_free(r);
}

static void renamed(void **state)
{
	(void)state;
	/* t301 becomes t303 at 2000: another cookie */
	struct wi_results *r = run(2, 2, MAP, "1000 0 0 switch R 300\n1000 1 0 switch R 301\n2000 1 301 exec 301 301 /bin/t303\n3000 0 300 other\n");

	EXPECT(&r->smt.cookies.core[0].time, 0, 0, 1000, 1000, 0, 0, 1000);
	expect_group(r, WI_COOKIE_KIND_TAGGED, "a", 2000, 1000, 0, 0);
	expect_group(r, WI_COOKIE_KIND_TAGGED, "b", 0, 1000, 0, 0);
	wi_results_free(r);
}

static void absent(void **state)
{
	(void)state;
	struct wi_results *r = run(2, 1, MAP, two_threads);

	assert_false(r->smt.cookies.present); /* no SMT */
	wi_results_free(r);
	struct wakeif_topology *t = tl_fixture_topology(1, 1, 2, 2);
	struct tl_fixture_opts tl = { .topology = t };
	r = mx_run(&tl, NULL, two_threads, false);
	assert_false(r->smt.cookies.present); /* no map */
	wi_results_free(r);
	tl_fixture_topology_free(t);
}

static uint32_t ask(struct wi_cookie_map *map, int32_t pid, int32_t tgid, const char *comm, const char *cgroup)
{
	const struct wi_cookie_who who = { pid, tgid, comm, cgroup };

	return wi_cookie_of(map, &who);
}

static void expect_cookie(struct wi_cookie_map *map, uint32_t cookie, const char *name)
{
	assert_true(cookie != WI_COOKIE_NONE && cookie != WI_COOKIE_UNKNOWN);
	assert_string_equal(wi_cookie_name(map, cookie), name);
}

static void file_maps(void **state)
{
	(void)state;
	struct wi_err err = { 0 };
	struct wi_cookie_map *m = map_of("# kinds in the order pid, tgid, comm, regex, cgroup, whatever the order of lines\n\n"
					 "e cgroup 0::/vm e\nd regex ^qemu.*\r\n  c\tcomm  qemu one\nb tgid 20\na pid 10\nk pid 77\n0 comm plain\nx comm plain\n", &err);

	assert_non_null(m);
	expect_cookie(m, ask(m, 10, 20, "qemu one", "0::/vm e"), "a");
	expect_cookie(m, ask(m, 11, 20, "qemu one", "0::/vm e"), "b");
	expect_cookie(m, ask(m, 11, 21, "qemu one", "0::/vm e"), "c");
	expect_cookie(m, ask(m, 11, 21, "qemu two", "0::/vm e"), "d");
	expect_cookie(m, ask(m, 11, 21, "other", "0::/vm e"), "e");
	assert_int_equal(ask(m, 11, 21, "other", "0::/vm"), WI_COOKIE_NONE);
	assert_int_equal(ask(m, 11, 21, "plain", "0::/vm e"), WI_COOKIE_NONE); /* the first line that fits */
	assert_int_equal(ask(m, 11, 0, "qemu one", "0::/vm e"), WI_COOKIE_UNKNOWN); /* tgid 20 or not */
	expect_cookie(m, ask(m, 10, 0, NULL, NULL), "a");
	assert_int_equal(ask(m, 11, 21, NULL, "0::/vm e"), WI_COOKIE_UNKNOWN);
	expect_cookie(m, ask(m, 11, 21, "qemu one", NULL), "c");
	assert_int_equal(ask(m, 11, 21, "other", NULL), WI_COOKIE_UNKNOWN);
	assert_int_equal(ask(m, 12, 20, "kworker/0:1", "0::/vm e"), WI_COOKIE_NONE); /* a kernel thread, whatever the lines */
	expect_cookie(m, ask(m, 77, 77, "kworker/0:1", NULL), "k");		    /* but for one that names it */
	assert_int_equal(ask(m, 10, 20, "x", "x"), ask(m, 10, 1, "y", NULL));
	assert_false(wi_cookie_map_failed(m));
	wi_cookie_map_free(m);
}

static void plain_maps(void **state)
{
	(void)state;
	struct wi_err err = { 0 };
	struct wi_cookie_map *tgid = wi_cookie_map_new("tgid", &err), *comm = wi_cookie_map_new("comm", &err), *cg = wi_cookie_map_new("cgroup", &err);

	expect_cookie(tgid, ask(tgid, 5, 4, NULL, NULL), "4");
	assert_int_equal(ask(tgid, 5, 4, "a", NULL), ask(tgid, 6, 4, "b", NULL));
	assert_int_not_equal(ask(tgid, 5, 4, "a", NULL), ask(tgid, 5, 5, "a", NULL));
	assert_int_equal(ask(tgid, 5, 0, "a", NULL), WI_COOKIE_UNKNOWN);
	assert_int_equal(ask(tgid, 12, 12, "rcu_preempt", NULL), WI_COOKIE_NONE);
	expect_cookie(comm, ask(comm, 5, 0, "a", NULL), "a");
	assert_int_equal(ask(comm, 5, 5, NULL, NULL), WI_COOKIE_UNKNOWN);
	assert_int_equal(ask(comm, 2, 2, "kthreadd", NULL), WI_COOKIE_NONE);
	expect_cookie(cg, ask(cg, 5, 0, NULL, "0::/a"), "0::/a");
	assert_int_equal(ask(cg, 5, 0, NULL, "0::/"), WI_COOKIE_NONE);
	assert_int_equal(ask(cg, 5, 0, "a", NULL), WI_COOKIE_UNKNOWN);
	wi_cookie_map_free(tgid);
	wi_cookie_map_free(comm);
	wi_cookie_map_free(cg);
}

static void wrong_files(void **state)
{
	static const char *const bad[] = { "", "# nothing\n", "a\n", "a pid\n", "a pid x\n", "a pid -1\n", "a pid 1x\n", "a tgid 99999999999\n",
					   "a uid 3\n", "a regex (\n", "a comm \n", "<...> comm x\n", "a pid 1\nb\n" };
	char longest[1200];

	(void)state;
	for (size_t i = 0; i <= sizeof(bad) / sizeof(*bad); i++) {
		struct wi_err err = { 0 };

		snprintf(longest, sizeof(longest), "a comm %01100d\n", 0);
		assert_null(map_of(i < sizeof(bad) / sizeof(*bad) ? bad[i] : longest, &err));
		assert_int_equal(err.code, WI_EUSAGE);
		assert_non_null(strstr(err.msg, "--cookies"));
	}
	struct wi_err err = { 0 };
	assert_null(wi_cookie_map_new("/nonexistent/cookies", &err));
	assert_int_equal(err.code, WI_EUSAGE);
}

static void random_traces(void **state)
{
	struct wakeif_topology *t = tl_fixture_topology(1, 2, 2, 2);
	struct tl_fixture_opts tl = { .topology = t, .kernel_version = 6 << 16 | 1 << 8 };
	struct mx_rng rng = { 36 };

	(void)state;
	for (int i = 0; i < 60; i++) {
		char *events = mx_random_trace(&rng, t, NULL, 0, 300, i % 2);
		struct wi_results *r = run_opts(&tl, "a regex [0246]$\nb regex [13]$\n0 regex 5$\n", events, true);
		const struct wi_cookie_results *k = &r->smt.cookies;
		uint64_t busy = 0, run_ns = 0;

		for (size_t c = 0; c < r->smt.nr_core; c++) {
			const struct wi_cookie_time *x = &k->core[c].time;
			const uint64_t *y = r->smt.core[c].busy_threads_ns;

			assert_int_equal(x->ns[US(IDLE)], y[0]);
			assert_int_equal(x->ns[US(SINGLE)], y[1]);
			assert_int_equal(x->ns[US(COMPATIBLE)] + x->ns[US(INCOMPATIBLE)] + x->ns[US(CORUN_UNKNOWN)], y[2]);
			assert_int_equal(x->ns[US(UNKNOWN)], r->smt.core[c].unknown_ns);
			assert_true(x->idle_min_ns <= x->ns[US(INCOMPATIBLE)]);
		}
		for (size_t g = 0; g < k->nr_group; g++)
			run_ns += wi_cookie_group_run_ns(&k->group[g]);
		for (size_t c = 0; c < r->idle.cpu.nr; c++)
			busy += r->idle.cpu.row[c].busy_ns;
		assert_int_equal(run_ns, busy);
		wi_results_free(r);
		free(events);
	}
	tl_fixture_topology_free(t);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(two_cookies),	  cmocka_unit_test(merged),	cmocka_unit_test(who_goes_first),
		cmocka_unit_test(real_time_first), cmocka_unit_test(four_threads), cmocka_unit_test(unknown),
		cmocka_unit_test(renamed),	  cmocka_unit_test(absent),	cmocka_unit_test(file_maps),
		cmocka_unit_test(plain_maps),	  cmocka_unit_test(wrong_files), cmocka_unit_test(random_traces),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
