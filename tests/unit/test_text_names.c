/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Task names that look like everything else on a line. "item N": see cases/reports.md. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "text_fixture.h"

/* At most 15 characters each, as a kernel's names are. */
static const char *const names[] = {
	"a: b [001] 1.0:",
	"x ==> next_comm",
	" ==> ",
	"DOM Worker",
	"[ET_NET 0]",
	"foobar [worker]",
	"Plex DLNA Serve",
	"kworker/u8:1-ev",
	"vhost-2920",
	"rs:main Q:Reg",
	"CPU 3/KVM",
	"a-1 [0] 1.0: x",
	" prev_pid=1 pre",
	"next_pid=3",
	" pid=1 prio=2",
	"a pid=7",
	"-1",
	"1",
	"x:1 [120] S ==>",
	"a:1 [1] S ==> b",
	"com.a (  1) [0",
	"(  959)",
	"#b",
	" lead",
	"trail ",
	"",
	"CPU:0 [LOST 5",
	"a\\n\\",
	"sched_switch: ",
	"cpus=8",
	"\xc3\xa4\xc3\xb6",
	"tab\there",
	"x [002] d...1",
	"second:  b",
	"<idle>x",
	"&lt;",
};
#define NR_NAMES (sizeof(names) / sizeof(*names))

enum form { FTRACE, TGID, REPORT, LATENCY, PERF, PERF_PID_TID, NR_FORMS };

static int put_front(char *out, size_t size, enum form form, const char *name, int pid, const char *stamp)
{
	switch (form) {
	case FTRACE:
		return snprintf(out, size, "%16s-%-7d [003] d..2. %s: ", name, pid, stamp);
	case TGID:
		return snprintf(out, size, "%16s-%-7d (%5d) [003] d..2. %s: ", name, pid, pid, stamp);
	case REPORT:
		return snprintf(out, size, "%16s-%-5d [003] %s: ", name, pid, stamp);
	case LATENCY:
		return snprintf(out, size, "%8.8s-%-5d %3dd..2. %s: ", name, pid, 3, stamp);
	case PERF:
		return snprintf(out, size, "%16s %5d [003] %s: ", name, pid, stamp);
	default:
		return snprintf(out, size, "%16s %5d/%-5d [003] %s: ", name, pid, pid, stamp);
	}
}

static const char *event_of(enum form form, const char *name)
{
	static char out[64];

	snprintf(out, sizeof(out),
		 form == REPORT || form == LATENCY ? "%s%s:         " : "%s%s: ", form >= PERF ? "sched:" : "", name);
	return out;
}

static void expect_one(const char *text, const char *expected)
{
	struct text_run run;

	text_run(text, strlen(text), NULL, &run);
	if (!run.events || strcmp(run.events, expected))
		fail_msg("%s\n--- expected\n%s--- got\n%s%s", text, expected, run.events ? run.events : "",
			 run.err.msg);
	text_run_free(&run);
}

static void try_switch(enum form form, const char *task, const char *prev, const char *next, bool plugin)
{
	char text[600], expected[300];
	int n = put_front(text, sizeof(text), form, task, 77, "12.000001");

	n += snprintf(text + n, sizeof(text) - (size_t)n, "%s", event_of(form, "sched_switch"));
	if (plugin)
		snprintf(text + n, sizeof(text) - (size_t)n, "%s:77 [120] S ==> %s:9 [98]\n", prev, next);
	else
		snprintf(text + n, sizeof(text) - (size_t)n,
			 "prev_comm=%s prev_pid=77 prev_prio=120 prev_state=S ==> next_comm=%s next_pid=9 "
			 "next_prio=98\n",
			 prev, next);
	snprintf(expected, sizeof(expected), "12000001000 3 77%s %s sched_switch %s:77/120 S > %s:9/98\n",
		 form == TGID ? "/77" : "", form == REPORT || form >= PERF ? "-" : "td", prev, next);
	expect_one(text, expected);
}

/* A name in the task column cannot hide the front, whatever the form (items 14, 15). */
static void test_task_column(void **state)
{
	(void)state;
	for (int form = 0; form < NR_FORMS; form++)
		for (size_t i = 0; i < NR_NAMES; i++)
			try_switch((enum form)form, names[i], "prev", "next", false);
}

/* Every pair of names in both texts of a switch (items 15, 16). */
static void test_switch_names(void **state)
{
	(void)state;
	for (size_t i = 0; i < NR_NAMES; i++) {
		for (size_t k = 0; k < NR_NAMES; k++) {
			try_switch(FTRACE, names[i], names[i], names[k], false);
			try_switch(REPORT, names[i], names[i], names[k], true);
			try_switch(PERF, names[i], names[i], names[k], true);
		}
	}
}

static void try_wakeup(const char *name, const char *fields, const char *expected_tail, const char *type)
{
	char text[500], expected[300];

	snprintf(text, sizeof(text), "%16s-%-7d [003] d..2. 12.000001: %s: %s\n", name, 77, type, fields);
	snprintf(expected, sizeof(expected), "12000001000 3 77 td %s %s%s\n", type, name, expected_tail);
	expect_one(text, expected);
}

static void test_other_events(void **state)
{
	char fields[200];

	(void)state;
	for (size_t i = 0; i < NR_NAMES; i++) {
		snprintf(fields, sizeof(fields), "comm=%s pid=5 prio=120 target_cpu=004", names[i]);
		try_wakeup(names[i], fields, ":5/120 cpu=4", "sched_waking");
		snprintf(fields, sizeof(fields), "comm=%s pid=5 prio=120 success=1 target_cpu=004", names[i]);
		try_wakeup(names[i], fields, ":5/120 cpu=4", "sched_wakeup");
		snprintf(fields, sizeof(fields), "comm=%s pid=5 prio=120 orig_cpu=4 dest_cpu=5", names[i]);
		try_wakeup(names[i], fields, ":5/120 4>5", "sched_migrate_task");
		snprintf(fields, sizeof(fields), "comm=%s pid=5 prio=120", names[i]);
		try_wakeup(names[i], fields, ":5/120", "sched_process_exit");
		snprintf(fields, sizeof(fields), "comm=%s pid=5 child_comm=kid pid=1 child_pid=6", names[i]);
		try_wakeup(names[i], fields, ":5 > kid pid=1:6", "sched_process_fork");
		if (*names[i] == ' ')
			continue;
		snprintf(fields, sizeof(fields), "%s:5 [120] CPU:004", names[i]);
		try_wakeup(names[i], fields, ":5/120 cpu=4", "sched_wakeup");
		snprintf(fields, sizeof(fields), "%s:5 [120] success=1 CPU:004", names[i]);
		try_wakeup(names[i], fields, ":5/120 cpu=4", "sched_wakeup_new");
	}
}

/* Items 7, 8, 11: "<...>" is no name, also in a body; the task column's names are kept apart, last one wins. */
static void test_no_name(void **state)
{
	struct wi_names *n = wi_names_new();
	struct wi_source_info info = { .format = "" };
	static const char text[] = "           <...>-15430 [006]  1.000001: sched_switch:          prev_comm=<...> "
				   "prev_pid=15430 prev_prio=120 prev_state=1 "
				   "next_comm=swapper/6 next_pid=0 next_prio=120\n"
				   "           early-77    [006]  1.000002: cpu_idle:             state=0 cpu_id=6\n"
				   "            late-77    [006]  1.000003: cpu_idle:             state=0 cpu_id=6\n"
				   "           <...>-77    [006]  1.000004: cpu_idle:             state=0 cpu_id=6\n";
	struct wi_err err = { 0 };
	struct wi_event ev[8];
	FILE *f = tmpfile();
	void *t;

	(void)state;
	fputs(text, f);
	fflush(f);
	t = wi_text_ops.open(fileno(f), strlen(text), "t", NULL, n, &info, &err);
	assert_non_null(t);
	assert_int_equal(wi_text_ops.next_batch(t, ev, 8, &err), 4);
	assert_int_equal(ev[0].common_comm, WI_NAME_NONE);
	assert_int_equal(ev[0].sw.prev_comm, WI_NAME_NONE);
	assert_string_equal(wi_names_get(n, ev[0].sw.next_comm), "swapper/6");
	assert_string_equal(wi_names_get(n, ev[1].common_comm), "early");
	assert_int_equal(ev[3].common_comm, WI_NAME_NONE);
	assert_string_equal(wi_names_get(n, wi_text_ops.comm_of(t, 77)), "late");
	assert_int_equal(wi_text_ops.comm_of(t, 15430), WI_NAME_NONE);
	assert_int_equal(wi_text_ops.comm_of(t, 0), WI_NAME_NONE);
	assert_int_equal(wi_text_ops.comm_of(t, -1), WI_NAME_NONE);
	wi_text_ops.close(t);
	wi_names_free(n);
	fclose(f);
}

/* Names longer than a kernel's, as Android and perf print them; the body's own field is whole where the column is cut.
 */
static void test_long_and_cut(void **state)
{
	(void)state;
	text_expect("com.android.systemui-611   (  611) [001] d..5 514769.086090: sched_wakeup: comm=Binder_5 pid=679 "
		    "prio=120 success=1 "
		    "target_cpu=001 state=W\n",
		    "514769086090000 1 611/611 td sched_wakeup Binder_5:679/120 cpu=1\n");
	text_expect("         rs:main-1769  [003] d... 1.000001: sched_switch: prev_comm=rs:main Q:Reg prev_pid=1769 "
		    "prev_prio=120 "
		    "prev_state=S ==> next_comm=swapper/3 next_pid=0 next_prio=120\n",
		    "1000001000 3 1769 td sched_switch rs:main Q:Reg:1769/120 S > swapper/3:0/120\n");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_task_column),  cmocka_unit_test(test_switch_names),
		cmocka_unit_test(test_other_events), cmocka_unit_test(test_no_name),
		cmocka_unit_test(test_long_and_cut),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
