/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Order of events, and text that is not what it should be. "item N": see cases/reports.md. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "tests/unit/share.h"
#include "text_fixture.h"

static const char *line_at(uint64_t us, unsigned int cpu, const char *body)
{
	static char out[300];

	snprintf(out, sizeof(out), " a-1 [%03u] d... %llu.%06llu: %s\n", cpu, (unsigned long long)us / 1000000,
		 (unsigned long long)us % 1000000, body);
	return out;
}

#define IDLE "cpu_idle: state=1 cpu_id=0"
#define WAKING "sched_waking: comm=x pid=5 prio=120 target_cpu=001"
#define WAKEUP "sched_wakeup: comm=x pid=5 prio=120 target_cpu=001"
#define MIGRATE "sched_migrate_task: comm=x pid=5 prio=120 orig_cpu=0 dest_cpu=1"
#define SWITCH                                                                                                         \
	"sched_switch: prev_comm=a prev_pid=1 prev_prio=120 prev_state=S ==> next_comm=b next_pid=2 next_prio=120"

/* Types in the order of the events, one letter each with the CPU. */
static void expect_order(const char *text, const char *expected)
{
	struct text_run run;
	char got[256] = "";
	size_t n = 0;

	text_run(text, strlen(text), NULL, &run);
	assert_non_null(run.events);
	for (char *line = run.events; *line && n + 3 < sizeof(got); line = strchr(line, '\n') + 1) {
		char type[64];
		unsigned int cpu;

		assert_int_equal(sscanf(line, "%*s %u %*s %*s %63s", &cpu, type), 2);
		n += (size_t)snprintf(got + n, sizeof(got) - n, "%c%u ",
				      !strcmp(type, "sched_waking")	    ? 'k'
				      : !strcmp(type, "sched_wakeup")	    ? 'w'
				      : !strcmp(type, "sched_migrate_task") ? 'm'
				      : !strcmp(type, "sched_switch")	    ? 's'
				      : !strcmp(type, "print")		    ? 'p'
				      : !strcmp(type, "lost_events")	    ? 'l'
									    : 'i',
				      cpu);
	}
	assert_string_equal(got, expected);
	text_run_free(&run);
}

static char *join(char *to, uint64_t us, unsigned int cpu, const char *body)
{
	strcat(to, line_at(us, cpu, body));
	return to;
}

/* Item 21: equal stamps. A file in time order keeps its order; a sorted one ranks CPUs against each other. */
static void test_ties(void **state)
{
	char text[4000] = "";

	(void)state;
	join(text, 10, 0, SWITCH);
	join(text, 10, 1, WAKEUP);
	join(text, 10, 2, WAKING);
	join(text, 10, 1, SWITCH);
	join(text, 10, 1, WAKEUP);
	join(text, 10, 3, MIGRATE);
	expect_order(text, "s0 w1 k2 s1 w1 m3 ");
	join(text, 9, 7, IDLE);
	/* within CPU 1 the file's order stays: wakeup, switch, wakeup */
	expect_order(text, "i7 k2 m3 w1 s0 s1 w1 ");
}

/* Item 22: small inversions. */
static void test_inversion(void **state)
{
	char text[4000] = "";

	(void)state;
	join(text, 1, 0, IDLE);
	join(text, 5, 1, WAKING);
	join(text, 3, 0, WAKEUP);
	join(text, 4, 2, "tracing_mark_write: m");
	join(text, 2, 0, SWITCH);
	expect_order(text, "i0 s0 w0 p2 k1 ");
}

/* Item 22: per-CPU files one after another, farther apart than the window; with lost events and markers. */
static void test_concatenated(void **state)
{
	enum { PER_CPU = 40000 };
	const unsigned int CPUS = test_share_percent() < 100 ? 2 : 4; /* two are farther apart than the window, too */
	char *text = malloc((size_t)PER_CPU * CPUS * 120), *p = text;
	struct text_run run;
	uint64_t lines = 0;

	(void)state;
	assert_non_null(text);
	for (unsigned int cpu = 0; cpu < CPUS; cpu++) {
		for (unsigned int i = 0; i < PER_CPU; i++) {
			char body[64];

			if (i == 100)
				p += sprintf(p, "CPU:%u [LOST %u EVENTS]\n", cpu, cpu + 1);
			snprintf(body, sizeof(body),
				 i % 1000 ? "cpu_idle: state=%u cpu_id=%u" : "tracing_mark_write: m%u c%u", i, cpu);
			p = stpcpy(p, line_at(1000000 + i * 10 + cpu, cpu, body));
		}
	}
	text_run(text, (size_t)(p - text), NULL, &run);
	assert_non_null(run.events);
	assert_int_equal(run.count[WI_EV_CPU_IDLE], (PER_CPU - PER_CPU / 1000) * CPUS);
	assert_int_equal(run.count[WI_EV_MARKER], PER_CPU / 1000 * CPUS);
	assert_int_equal(run.count[WI_EV_LOST], CPUS);
	for (char *line = run.events; *line; line = strchr(line, '\n') + 1) {
		char tail[64];
		uint64_t ns;
		unsigned int cpu, i = (unsigned int)(lines / CPUS);

		/* the text_run() itself checks the order of stamps */
		assert_int_equal(sscanf(line, "%lu %u %*s %*s %63[^\n]", &ns, &cpu, tail), 3);
		if (!strncmp(tail, "lost_events", 11)) {
			assert_int_equal(ns, (1000000 + 100 * 10 + cpu) * 1000);
			assert_int_equal(atoi(tail + 11), cpu + 1);
			continue;
		}
		assert_int_equal(ns, (1000000 + i * 10 + lines % CPUS) * 1000);
		lines++;
	}
	assert_int_equal(lines, PER_CPU * CPUS);
	text_run_free(&run);
	free(text);
}

/* A window that just suffices and one that just does not must give the same. */
static void test_window_edge(void **state)
{
	(void)state;
	for (unsigned int late = 65534; late <= 65538; late += test_share_percent() < 100 ? 2 : 1) {
		char *text = malloc((size_t)late * 80 + 1000), *p = text;
		struct text_run run;

		assert_non_null(text);
		p = stpcpy(p, line_at(1, 0, IDLE));
		for (unsigned int i = 0; i < late; i++)
			p = stpcpy(p, line_at(1000 + i, 1, IDLE));
		p = stpcpy(p, line_at(500, 2, SWITCH));
		text_run(text, (size_t)(p - text), NULL, &run);
		assert_non_null(run.events);
		assert_int_equal(run.count[WI_EV_CPU_IDLE], late + 1);
		assert_non_null(strstr(run.events, "\n500000 2 1 td sched_switch"));
		assert_ptr_equal(strchr(run.events, '\n') + 1, strstr(run.events, "500000 2 1 td"));
		text_run_free(&run);
		free(text);
	}
}

static void expect_refused(const char *text, size_t len, const char *why)
{
	struct text_run run;

	text_run(text, len, NULL, &run);
	assert_null(run.events);
	assert_int_equal(run.err.code, WI_EREFUSED);
	if (!strstr(run.err.msg, why))
		fail_msg("\"%s\" lacks \"%s\"", run.err.msg, why);
}

/* Nothing in it is a trace; or it is, and none of its sched lines can be read. Never an empty success. */
static void test_refused(void **state)
{
	static const char binary[64] = { 1, 2, 3 };
	char text[1000] = "";

	(void)state;
	expect_refused("hello\nworld\n", 12, "not a trace");
	expect_refused("", 0, "not a trace");
	expect_refused(binary, sizeof(binary), "not a trace");
	assert_int_equal(wi_text_ops.probe((const uint8_t *)binary, sizeof(binary), sizeof(binary)), 0);
	assert_int_equal(wi_text_ops.probe((const uint8_t *)"hello\n", 6, 6), 0);
	join(text, 1, 0, IDLE);
	join(text, 2, 0, "sched_switch: prev_comm=a prev_pid=x");
	join(text, 3, 0, "sched_switch: something else");
	expect_refused(text, strlen(text), "none of 2 sched lines can be read");
}

/* Item 60: sched lines that cannot be read are counted and named, the rest is delivered. */
static void test_unparsed(void **state)
{
	static const char *const bad[] = {
		"sched_switch: prev_comm=a prev_pid=1 prev_prio=120 prev_state=S ==> next_comm=b next_pid=4194305 "
		"next_prio=120",
		"sched_switch: prev_comm=a prev_pid=-5 prev_prio=120 prev_state=S ==> next_comm=b next_pid=2 "
		"next_prio=120",
		"sched_switch: prev_comm=a prev_pid=1 prev_prio=120 prev_state=S ==> next_comm=b next_p",
		"sched_switch: prev_comm=a prev_pid=99999999999999999999 prev_prio=120 prev_state=S ==> next_comm=b "
		"next_pid=2 next_prio=1",
		"sched_waking: comm=x pid=5 prio=120 target_cpu=65536",
		"sched_waking: comm=x pid=5 prio=120",
		"sched_waking: comm=x pid=5 prio=70000 target_cpu=1",
		"sched_migrate_task: comm=x pid=5 prio=120 orig_cpu=0 dest_cpu=-1",
		"sched_process_fork: comm=a pid=1 child_comm=b",
		"sched_process_exec: filename=x pid=1",
		"sched_process_exit: pid=1",
		"sched_wakeup: [FAILED TO PARSE] nothing",
	};
	const unsigned int nr = sizeof(bad) / sizeof(*bad);
	char text[8000] = "";
	struct text_run run;

	(void)state;
	for (unsigned int i = 0; i < nr; i++)
		join(text, i, 0, bad[i]);
	join(text, 100, 0, "sched_wakeup: [FAILED TO PARSE] comm=x pid=5 prio=120 target_cpu=001");
	join(text, 101, 0, SWITCH);
	strcat(text, " a-1 [99999999] d... 0.000200: " SWITCH "\n"); /* no such CPU */
	strcat(text, " a-1 [000] d... 0.0002");			     /* cut */
	text_run(text, strlen(text), NULL, &run);
	assert_non_null(run.events);
	assert_int_equal(run.unparsed, nr + 1);
	assert_int_equal(run.nr_damage, nr + 1);
	assert_int_equal(run.count[WI_EV_SCHED_SWITCH], 1);
	assert_int_equal(run.count[WI_EV_SCHED_WAKEUP], 1);
	assert_non_null(strstr(run.first_damage, "sched line cannot be read"));
	text_run_free(&run);
}

/* CRLF, no newline at the end, NUL bytes, very long lines: bounded, and what is good is read. */
static void test_odd_lines(void **state)
{
	size_t size = 3 << 20;
	char *text = malloc(size + 1000), *p;
	struct text_run run;

	(void)state;
	assert_non_null(text);
	text_expect(
		" a-1 [000] 1.000001: cpu_idle: state=1 cpu_id=0\r\n a-1 [000] 1.000002: tracing_mark_write: x\r\n a-1 "
		"[000] 1.000003: "
		"cpu_idle: state=2 cpu_id=0",
		"1000001000 0 1 - cpu_idle 1 cpu=0\n1000002000 0 1 - print 'x'\n1000003000 0 1 - cpu_idle 2 cpu=0\n");
	p = stpcpy(text, line_at(1, 0, IDLE));
	memset(p, 'x', size);
	memcpy(p, line_at(2, 0, "tracing_mark_write: "), strlen(line_at(2, 0, "tracing_mark_write: ")) - 1);
	p += size;
	*p++ = '\n';
	p = stpcpy(p, line_at(3, 0, SWITCH));
	memset(p, 0, 100);
	p[100] = '\n';
	p = stpcpy(p + 101, line_at(4, 0, SWITCH));
	text_run(text, (size_t)(p - text), NULL, &run);
	assert_non_null(run.events);
	assert_int_equal(run.count[WI_EV_SCHED_SWITCH], 2);
	assert_int_equal(run.count[WI_EV_MARKER], 1);
	text_run_free(&run);
	free(text);
}

/* Markers outlive their line for the whole batch, however many there are. */
static void test_many_markers(void **state)
{
	enum { NR = 300, LEN = 5000 };
	char *text = malloc(NR * (LEN + 100)), *p = text;
	struct wi_event ev[NR];
	struct wi_names *n = wi_names_new();
	struct wi_source_info info = { .format = "" };
	struct wi_err err = { 0 };
	FILE *f = tmpfile();
	int got, all = 0;
	void *t;

	(void)state;
	for (int i = 0; i < NR; i++) {
		p += sprintf(p, " a-1 [000] 1.%06d: tracing_mark_write: ", i);
		memset(p, 'a' + i % 26, LEN);
		p += LEN;
		*p++ = '\n';
	}
	fwrite(text, 1, (size_t)(p - text), f);
	fflush(f);
	t = wi_text_ops.open(fileno(f), (uint64_t)(p - text), "t", NULL, n, &info, &err);
	assert_non_null(t);
	while ((got = wi_text_ops.next_batch(t, ev, NR, &err)) > 0) {
		for (int i = 0; i < got; i++, all++) {
			assert_int_equal(ev[i].marker.len, LEN);
			for (int k = 0; k < LEN; k += 499)
				assert_int_equal(ev[i].marker.text[k], 'a' + all % 26);
		}
	}
	assert_int_equal(all, NR);
	wi_text_ops.close(t);
	wi_names_free(n);
	fclose(f);
	free(text);
}

static void test_filter(void **state)
{
	char text[2000] = "";
	struct wi_event ev[8];
	struct wi_names *n = wi_names_new();
	struct wi_source_info info = { .format = "" };
	struct wi_err err = { 0 };
	FILE *f = tmpfile();
	void *t;

	(void)state;
	join(text, 1, 0, IDLE);
	join(text, 2, 0, SWITCH);
	strcat(text, "CPU:0 [LOST 5 EVENTS]\n");
	join(text, 3, 0, WAKING);
	fputs(text, f);
	fflush(f);
	t = wi_text_ops.open(fileno(f), strlen(text), "t", NULL, n, &info, &err);
	assert_non_null(t);
	wi_text_ops.set_filter(t, WI_EV_BIT(SCHED_WAKING));
	assert_int_equal(wi_text_ops.next_batch(t, ev, 8, &err), 1);
	assert_int_equal(ev[0].type, WI_EV_SCHED_WAKING);
	assert_int_equal(wi_text_ops.next_batch(t, ev, 8, &err), 0);
	wi_text_ops.close(t);
	wi_names_free(n);
	fclose(f);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_ties),	     cmocka_unit_test(test_inversion),
		cmocka_unit_test(test_concatenated), cmocka_unit_test(test_window_edge),
		cmocka_unit_test(test_refused),	     cmocka_unit_test(test_unparsed),
		cmocka_unit_test(test_odd_lines),    cmocka_unit_test(test_many_markers),
		cmocka_unit_test(test_filter),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
