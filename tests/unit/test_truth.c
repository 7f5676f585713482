/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Recorded decisions as text: what is read, and what is said of text that is wrong. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>
#include <zstd.h>

#include "analyzer/replay/logic.h"
#include "analyzer/topology/topology.h"

static char path[256];

static void put(const void *data, size_t len)
{
	const char *dir = getenv("TMPDIR");
	int fd;

	snprintf(path, sizeof(path), "%s/wakeif-truth-XXXXXX", dir ? dir : "/tmp");
	fd = mkstemp(path);
	assert_true(fd >= 0);
	assert_int_equal(write(fd, data, len), (ssize_t)len);
	close(fd);
}

static void put_text(const char *text)
{
	put(text, strlen(text));
}

/* The error of reading text to its end, without the file's name; "" none. Static buffer. */
static const char *error_of(const char *text, bool decisions)
{
	static struct wi_err err;
	struct wi_truth_decision d;
	struct wi_truth_nodecision n;
	struct wi_truth *t;
	int got = -1;

	memset(&err, 0, sizeof(err));
	put_text(text);
	t = decisions ? wi_truth_open(path, &err) : wi_truth_open_nodecision(path, &err);
	if (t)
		while ((got = decisions ? wi_truth_next(t, &d, &err) : wi_truth_next_nodecision(t, &n, &err)) > 0)
			;
	wi_truth_close(t);
	unlink(path);
	if (got == 0)
		assert_int_equal(err.code, WI_OK);
	else
		assert_true(err.code != WI_OK);
	return err.code == WI_OK ? "" : err.msg + (strncmp(err.msg, path, strlen(path)) ? 0 : strlen(path));
}

#define HEAD "ts_ns\tcpu\tpid\tprev\twf\tret\tmask\tscans\tllc\trq\twa_sync\tutil\n"

static void wrong_text(void **state)
{
	static const struct {
		const char *text, *error;
	} cases[] = {
		{ HEAD "1\t2\t3\t4\t0x8\t5\t0xff\t-\t-\t-\t-\t-\n", "" },
		{ HEAD, "" },
		{ "", ":1: is empty: no line with column names" },
		{ "ts_ns\tcpu\tpid\tprev\twf\n", ":1: column ret: is missing: \"ts_ns\"" },
		{ "ts_ns\tcpu\tpid\tprev\twf\tret\tcpu\n", ":1: column cpu: is there twice" },
		{ HEAD "1\t2\n", ":2: has not the 12 fields of the first line: 2" },
		{ HEAD "-\t2\t3\t4\t0x8\t5\t-\t-\t-\t-\t-\t-\n", ":2: column ts_ns: is empty" },
		{ HEAD "1\t70000\t3\t4\t0x8\t5\t-\t-\t-\t-\t-\t-\n",
		  ":2: column cpu: is no number in its range: \"70000\"" },
		{ HEAD "1\t-2\t3\t4\t0x8\t5\t-\t-\t-\t-\t-\t-\n", ":2: column cpu: is no number in its range: \"-2\"" },
		{ HEAD "99999999999999999999\t2\t3\t4\t0x8\t5\t-\t-\t-\t-\t-\t-\n",
		  ":2: column ts_ns: is no number in its range: \"99999999999999999999\"" },
		{ HEAD "1x\t2\t3\t4\t0x8\t5\t-\t-\t-\t-\t-\t-\n",
		  ":2: column ts_ns: is no number in its range: \"1x\"" },
		{ HEAD "1\t2\t3\t4\t0x\t5\t-\t-\t-\t-\t-\t-\n", ":2: column wf: is no number in its range: \"0x\"" },
		{ HEAD "1\t2\t3\t4\t8\t5\t0xfg\t-\t-\t-\t-\t-\n",
		  ":2: column mask: is no hexadecimal CPU set: \"0xfg\"" },
		{ HEAD "1\t2\t3\t4\t8\t5\t-\tT:1\t-\t-\t-\t-\n", ":2: column scans: is no site:cpu:idle: \"T:1\"" },
		{ HEAD "1\t2\t3\t4\t8\t5\t-\tT:1:2\t-\t-\t-\t-\n", ":2: column scans: is no site:cpu:idle: \"T:1:2\"" },
		{ HEAD "1\t2\t3\t4\t8\t5\t-\tT:1:1;t:1:0\t-\t-\t-\t-\n",
		  ":2: column scans: is no site:cpu:idle: \"t:1:0\"" },
		{ HEAD "1\t2\t3\t4\t8\t5\t-\t-\t0:7:1\t-\t-\t-\n",
		  ":2: column llc: is no firstcpu:nr_idle_scan:has_idle_cores:nr_busy_cpus: \"0:7:1\"" },
		{ HEAD "1\t2\t3\t4\t8\t5\t-\t-\t-\t1:2:3\t-\t-\n",
		  ":2: column rq: is no run queue of 12 numbers: \"1:2:3\"" },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++)
		assert_string_equal(error_of(cases[i].text, true), cases[i].error);
	assert_string_equal(error_of("pid\treason\n", false), ":1: column waking_ts_ns: is missing: \"pid\"");
	assert_string_equal(error_of("waking_ts_ns\tpid\treason\n5\t6\t-\n", false), ":2: column reason: is empty");
	assert_string_equal(error_of("waking_ts_ns\tpid\treason\n5\t6\tpinned\n", false), "");
}

static void values(void **state)
{
	static const char text[] =
		"pid\tts_ns\tnew\tcpu\tprev\twf\tret\tmask\tscans\tllc\trq\tqueued\twa_this\twa_prev\twa_sync\tthis_"
		"eff\tprev_eff\n"
		"7\t100\twhatever\t1\t2\t0x18\t0\t0x1ffffffffffffffff\tT:3:1;S:65:0\t0:7:1:2;8:0:0:1\t"
		"1:1:0:0:5:6:7:8:1024:9:10:11;0:0:0:1:0:0:0:0:1024:0:3:4\t-17\t1\t2\t1\t-5\t6\r\n"
		"8\t101\t-\t1\t2\t0x4\t0\t-\t-\t-\t-\t1\t-\t-\t-\t-\t-";
	struct wi_err err = { WI_OK, "" };
	struct wi_truth_decision d;

	(void)state;
	put_text(text);
	struct wi_truth *t = wi_truth_open(path, &err);

	assert_non_null(t);
	assert_int_equal(wi_truth_next(t, &d, &err), 1);
	assert_int_equal(d.pid, 7);
	assert_int_equal(d.ts_ns, 100);
	assert_int_equal(d.waking_ts_ns, WI_TRUTH_NO_TIME);
	assert_int_equal(d.wake_flags, WAKEIF_WF_TTWU | WAKEIF_WF_SYNC);
	assert_int_equal(d.allowed_words, 2);
	assert_true(d.allowed[0] == UINT64_MAX && d.allowed[1] == 1);
	assert_int_equal(d.nr_tests, 2);
	assert_true(d.tests[1].site == 'S' && d.tests[1].cpu == 65 && !d.tests[1].idle);
	assert_int_equal(d.nr_llcs, 2);
	assert_true(d.llc[0].nr_idle_scan == 7 && d.llc[0].has_idle_cores && d.llc[0].nr_busy == 2);
	assert_true(d.llc[1].first_cpu == 8 && d.llc[1].nr_idle_scan == 0 && !d.llc[1].has_idle_cores);
	assert_int_equal(d.nr_rqs, 2);
	assert_true(d.rq[0].runnable == 8 && d.rq[0].curr_pid == 9 && d.rq[0].curr_flips == 10 && d.rq[1].pending);
	assert_int_equal(d.queued, -1); /* neither 0 nor 1: not told */
	assert_true(d.called_affine && d.sync && d.compared && d.this_eff == -5 && d.prev_eff == 6);
	assert_true(d.sis_target == WI_TRUTH_NO_CPU && d.wanted_core == -1);
	assert_int_equal(wi_truth_next(t, &d, &err), 1); /* the last line lacks its end */
	assert_true(d.queued == 1 && !d.called_affine && !d.compared && !d.has_tests && !d.allowed && !d.nr_rqs);
	assert_int_equal(wi_truth_next(t, &d, &err), 0);
	wi_truth_close(t);
	unlink(path);
}

static void compressed(void **state)
{
	char text[200000], packed[200000];
	size_t len = (size_t)snprintf(text, sizeof(text), "ts_ns\tcpu\tpid\tprev\twf\tret\n"), nr = 0;

	(void)state;
	while (len < sizeof(text) - 64) {
		nr++;
		len += (size_t)snprintf(text + len, sizeof(text) - len, "%zu\t1\t%zu\t2\t8\t3\n", nr, nr * 7919 % 4000);
	}
	size_t size = ZSTD_compress(packed, sizeof(packed), text, len, 1);

	assert_false(ZSTD_isError(size));
	for (int cut = 0; cut < 3; cut++) { /* whole, cut short, damaged */
		struct wi_err err = { WI_OK, "" };
		struct wi_truth_decision d;
		size_t seen = 0;
		int got = -1;

		if (cut == 2)
			memset(packed + size / 2, 0xa5, 64);
		put(packed, cut == 1 ? size - 100 : size);
		struct wi_truth *t = wi_truth_open(path, &err);

		while (t && (got = wi_truth_next(t, &d, &err)) > 0) {
			seen++;
			if (cut == 0)
				assert_int_equal(d.ts_ns, seen);
		}
		if (cut == 0) {
			assert_int_equal(got, 0);
			assert_int_equal(seen, nr);
		} else {
			assert_int_equal(got, -1);
			assert_int_equal(err.code, WI_EREFUSED);
			assert_non_null(strstr(err.msg, cut == 1 ? "ends early" : "damaged"));
		}
		wi_truth_close(t);
		unlink(path);
	}
}

/* A truth that names CPUs beyond the topology is refused, not indexed with. */
static void foreign_cpus(void **state)
{
	static const char *const lines[] = { "1\t9\t1\t0\t8\t0\t-\t-\t-\n",	  "1\t0\t1\t9\t8\t0\t-\t-\t-\n",
					     "1\t0\t1\t0\t8\t9\t-\t-\t-\n",	  "1\t0\t1\t0\t8\t0\tT:9:1\t-\t-\n",
					     "1\t0\t1\t0\t8\t0\t-\t8:1:1:1\t-\n", "1\t0\t1\t0\t8\t0\t-\t-\t9\n" };
	struct wi_err err = { WI_OK, "" };
	const struct wakeif_topology *topo = wi_topology_load("pack:1 l3:1 core:4 pu:2", &err);
	struct wi_fair_knobs knobs = wi_fair_knobs_of(6 << 16 | 1 << 8);

	(void)state;
	assert_non_null(topo);
	for (size_t i = 0; i < sizeof(lines) / sizeof(*lines); i++) {
		char text[256];
		struct wi_truth_decision d;
		struct wi_logic_case c;
		struct wi_logic *l = wi_logic_new(topo, &knobs, &err);

		memset(&err, 0, sizeof(err));
		snprintf(text, sizeof(text), "ts_ns\tcpu\tpid\tprev\twf\tret\tscans\tllc\tsis_target\n%s", lines[i]);
		put_text(text);
		struct wi_truth *t = wi_truth_open(path, &err);

		assert_non_null(t);
		assert_int_equal(wi_truth_next(t, &d, &err), 1);
		assert_false(wi_logic_check(l, &d, "truth", &c, &err));
		assert_memory_equal(err.msg, "truth:2: names a CPU that the topology lacks: ", 46);
		wi_truth_close(t);
		wi_logic_free(l);
		unlink(path);
	}
	wi_topology_free(topo);
}

int main(void)
{
	const struct CMUnitTest tests[] = { cmocka_unit_test(wrong_text), cmocka_unit_test(values),
					    cmocka_unit_test(compressed), cmocka_unit_test(foreign_cpus) };

	return cmocka_run_group_tests(tests, NULL, NULL);
}
