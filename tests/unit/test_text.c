/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Forms of text traces. "item N" is that of the collection of bug reports in cases/reports.md. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "text_fixture.h"

#define SW "sched_switch: prev_comm=a prev_pid=1 prev_prio=120 prev_state=S ==> next_comm=b next_pid=2 next_prio=120\n"
#define SW_IS(cpu_pid_context) "1000001000 " cpu_pid_context " sched_switch a:1/120 S > b:2/120\n"

/* Item 14: any run of flag characters; without a header their number tells where the context is. */
static void test_flags(void **state)
{
	static const struct {
		const char *flags, *context;
	} cases[] = {
		{ "", "-" },	      { "d...", "td" },	    { ".Nh1", "h" },	 { "dNs5.", "sd" },
		{ "d.H5.", "Hd" },    { "D..1.", "td" },    { "b....", "t" },	 { "d.Z1.", "zd" },
		{ "..z..", "z" },     { "d..h2..", "hd" },  { ".N.s1..", "s" },	 { "d..H21.", "Hd" },
		{ "dn.h2...", "hd" }, { "d...1...", "td" }, { "dL.h1..", "hd" },
	};
	char text[400], expected[200];

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		snprintf(text, sizeof(text), "               a-1     [002] %s 1.000001: " SW, cases[i].flags);
		snprintf(expected, sizeof(expected), "1000001000 2 1 %s sched_switch a:1/120 S > b:2/120\n",
			 cases[i].context);
		text_expect(text, expected);
	}
}

/* The header's own order of columns wins over their number: here hardirq is the third of six. */
static void test_flags_header(void **state)
{
	(void)state;
	text_expect("# tracer: nop\n"
		    "#                                _-----=> irqs-off\n"
		    "#                               / _----=> need-resched\n"
		    "#                              | / _---=> hardirq/softirq\n"
		    "#                              || / _--=> preempt-depth\n"
		    "#                              ||| / _-=> preempt-lazy-depth\n"
		    "#                              |||| /_-=> migrate-disable\n"
		    "#                              ||||| /     delay\n"
		    "               a-1     [002] d.h2.. 1.000001: " SW,
		    SW_IS("2 1 hd"));
	text_expect("# tracer: nop\n"
		    "#                _-----=> irqs-off\n"
		    "#               / _----=> need-resched\n"
		    "#              | /  _----=> need-resched_lazy\n"
		    "#              || / _---=> hardirq/softirq\n"
		    "#              ||| / _--=> preempt-depth\n"
		    "               a-1     [002] d..s2 1.000001: " SW,
		    SW_IS("2 1 sd"));
}

/* Item 61: TGID column of all widths. */
static void test_tgid(void **state)
{
	(void)state;
	text_expect("               a-1     (  959) [002] d... 1.000001: " SW, SW_IS("2 1/959 td"));
	text_expect("               a-1     (-----) [002] d... 1.000001: " SW, SW_IS("2 1 td"));
	text_expect("          <idle>-0     (-------) [002] d... 1.000001: " SW, SW_IS("2 0 td"));
	text_expect("  a-1 (15227) [002] d... 1.000001: " SW, SW_IS("2 1/15227 td"));
}

static void test_stamps(void **state)
{
	struct text_run run;
	static const char ns[] = " a-1 [000] 1.000001234: cpu_idle: state=1 cpu_id=0\n";
	static const char counter[] = " a-1     [002]226206598825: cpu_idle: state=1 cpu_id=2\n";

	(void)state;
	text_run(ns, strlen(ns), NULL, &run);
	assert_string_equal(run.events, "1000001234 0 1 - cpu_idle 1 cpu=0\n");
	assert_int_equal(run.time_res_ns, 1);
	text_run_free(&run);
	text_expect(" a-1 [000] 4910289.782507: cpu_idle: state=4294967295 cpu_id=0\n",
		    "4910289782507000 0 1 - cpu_idle -1 cpu=0\n");
	/* a mark of the delay column */
	text_expect(" a-1 [000] d..1. 1.000001+: cpu_idle: state=1 cpu_id=0\n", "1000001000 0 1 td cpu_idle 1 cpu=0\n");
	/* counter clocks: no point, and no blank when they are wide */
	text_run(counter, strlen(counter), NULL, &run);
	assert_string_equal(run.events, "226206598825 2 1 - cpu_idle 1 cpu=2\n");
	assert_string_equal(run.clock, "counter");
	text_run_free(&run);
}

#define RPT(body) "          <idle>-0     [002]    12.000001: sched_switch:         " body "\n"

/* Item 16: plugin text and key=value text, mixed; success and target_cpu in all spellings. */
static void test_report(void **state)
{
	(void)state;
	text_expect(
		"cpus=8\n" RPT(
			"swapper/2:0 [120] R ==> rcu_preempt:15 [120]") "     rcu_preempt-15    [002]    12.000002: "
									"sched_switch:         prev_comm=rcu_preempt "
									"prev_pid=15 prev_prio=120 "
									"prev_state=I ==> next_comm=swapper/2 "
									"next_pid=0 next_prio=120\n"
									"          <idle>-0     [002]    12.000003: "
									"sched_wakeup:         rcu_preempt:15 [120] "
									"CPU:006\n"
									"          <idle>-0     [002]    12.000004: "
									"sched_wakeup:         CPU 0/KVM:38610 [120] "
									"success=1 CPU:026\n"
									"          <idle>-0     [002]    12.000005: "
									"sched_wakeup:         x:5 [98] success=0 "
									"CPU:000\n"
									"          <idle>-0     [002]    12.000006: "
									"sched_wakeup:          comm=x pid=5 prio=120 "
									"success=0 target_cpu=004\n"
									"          <idle>-0     [002]    12.000007: "
									"sched_wakeup:         y:6 [120] <CANT FIND "
									"FIELD success> CPU:001\n"
									"          <idle>-0     [002]    12.000008: "
									"sched_waking:         comm=dl pid=7 prio=-1 "
									"target_cpu=008\n",
		"12000001000 2 0 - sched_switch swapper/2:0/120 R~ > rcu_preempt:15/120\n"
		"12000002000 2 15 - sched_switch rcu_preempt:15/120 I > swapper/2:0/120\n"
		"12000003000 2 0 - sched_wakeup rcu_preempt:15/120 cpu=6\n"
		"12000004000 2 0 - sched_wakeup CPU 0/KVM:38610/120 cpu=26\n"
		"12000005000 2 0 - sched_wakeup x:5/98 cpu=0 failed\n"
		"12000006000 2 0 - sched_wakeup x:5/120 cpu=4 failed\n"
		"12000007000 2 0 - sched_wakeup y:6/120 cpu=1\n"
		"12000008000 2 0 - sched_waking dl:7/-1 cpu=8\n");
}

/* What the plugin cannot express is unknown: R may be R+, W may be I or K, x may be P; X and Z are both dead. */
static void test_plugin_states(void **state)
{
	static const struct {
		const char *text, *means;
	} cases[] = {
		{ "R", "R~" }, { "S", "S" },  { "D", "D" },   { "T", "T" }, { "W", "?~" },  { "Z", "X" },
		{ "X", "X" },  { "x", "?~" }, { "D|W", "D" }, { "I", "I" }, { "R+", "R+" }, { "(S)", "S" },
	};
	char text[300], expected[200];

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		snprintf(text, sizeof(text), RPT("a:1 [120] %s ==> b:2 [120]"), cases[i].text);
		snprintf(expected, sizeof(expected), "12000001000 2 0 - sched_switch a:1/120 %s > b:2/120\n",
			 cases[i].means);
		text_expect(text, expected);
	}
	text_expect(RPT("task a:1 [120] (S) ==> b:2 [120]"), "12000001000 2 0 - sched_switch a:1/120 S > b:2/120\n");
}

static void test_latency_form(void **state)
{
	(void)state;
	text_expect("cpus=8\n  <idle>-0       6d.s3.   251.022567: sched_waking:         comm=rcu_preempt pid=15 "
		    "prio=120 target_cpu=006\n"
		    "  <idle>-0       6-0x35   251.022568: sched_wakeup:          comm=rcu_preempt pid=15 prio=120 "
		    "target_cpu=006\n"
		    "trace-cm-4729    1d..3. 106439.676203: sched_switch:         trace-cmd:4729 [120] S ==> "
		    "swapper/1:0 [120]\n"
		    "    bash-1942   12-0x0   200330.048370276: sched_process_exec:    filename=/bin/bash pid=1942 "
		    "old_pid=1942\n",
		    "251022567000 6 0 sd sched_waking rcu_preempt:15/120 cpu=6\n"
		    "251022568000 6 0 sd sched_wakeup rcu_preempt:15/120 cpu=6\n"
		    "106439676203000 1 4729 td sched_switch trace-cmd:4729/120 S > swapper/1:0/120\n"
		    "200330048370276 12 1942 t sched_process_exec 1942 was 1942\n");
	text_expect("  <idle>-0       2d..1.226206767981: cpu_idle:             state=1 cpu_id=2\n",
		    "226206767981 2 0 td cpu_idle 1 cpu=2\n");
}

/* -R: numbers, decimal or hex; the values tell which kernel's they are. */
#define RAW(stamp, comm, pid, st, next)                                                                                \
	" " comm "-" #pid " [000] 1." stamp ": sched_switch:          prev_comm=" comm " prev_pid=" #pid               \
	" prev_prio=120 prev_state=" st " next_comm=" next " next_pid=9 next_prio=120\n"

static void test_raw_states(void **state)
{
	(void)state;
	text_expect(RAW("000001", "a", 1, "256", "b") RAW("000002", "b", 9, "128", "c")
			    RAW("000003", "c", 9, "0x1", "d"),
		    "1000001000 0 1 - sched_switch a:1/120 R+ > b:9/120\n"
		    "1000002000 0 9 - sched_switch b:9/120 I > c:9/120\n"
		    "1000003000 0 9 - sched_switch c:9/120 S > d:9/120\n");
	text_expect(RAW("000001", "a", 1, "0x1000", "b") RAW("000002", "b", 9, "64", "c")
			    RAW("000003", "c", 9, "130", "d"),
		    "1000001000 0 1 - sched_switch a:1/120 R+ > b:9/120\n"
		    "1000002000 0 9 - sched_switch b:9/120 x > c:9/120\n"
		    "1000003000 0 9 - sched_switch c:9/120 D > d:9/120\n");
	/* 4.14: 8 is an idle kworker, 5 dead */
	text_expect(RAW("000001", "a", 1, "4096", "b") RAW("000002", "kworker/0:1", 9, "8", "c")
			    RAW("000003", "c", 9, "5", "d"),
		    "1000001000 0 1 - sched_switch a:1/120 R+ > b:9/120\n"
		    "1000002000 0 9 - sched_switch kworker/0:1:9/120 I > c:9/120\n"
		    "1000003000 0 9 - sched_switch c:9/120 X > d:9/120\n");
	text_expect(RAW("000001", "a", 1, "2048", "b") RAW("000002", "b", 9, "1026", "c"),
		    "1000001000 0 1 - sched_switch a:1/120 R+ > b:9/120\n"
		    "1000002000 0 9 - sched_switch b:9/120 D > c:9/120\n");
	text_expect(RAW("000001", "a", 1, "1024", "b"), "1000001000 0 1 - sched_switch a:1/120 R+ > b:9/120\n");
}

/* Item 17: letters a kernel knows, several at once, and one that nobody knows: blocked, counted. */
static void test_letters(void **state)
{
	static const char text[] = " a-1 [000] 1.000001: sched_switch: prev_comm=a prev_pid=1 prev_prio=120 "
				   "prev_state=D|K ==> next_comm=b next_pid=2 next_prio=120\n"
				   " b-2 [000] 1.000002: sched_switch: prev_comm=b prev_pid=2 prev_prio=120 "
				   "prev_state=R+ ==> next_comm=a next_pid=1 next_prio=120\n"
				   " a-1 [000] 1.000003: sched_switch: prev_comm=a prev_pid=1 prev_prio=120 "
				   "prev_state=Q ==> next_comm=b next_pid=2 next_prio=120\n";
	struct text_run run;

	(void)state;
	text_run(text, strlen(text), NULL, &run);
	assert_string_equal(run.events, "1000001000 0 1 - sched_switch a:1/120 D > b:2/120\n"
					"1000002000 0 2 - sched_switch b:2/120 R+ > a:1/120\n"
					"1000003000 0 1 - sched_switch a:1/120 ?~ > b:2/120\n");
	assert_int_equal(run.unknown_state_letters, 1);
	text_run_free(&run);
}

static void test_perf(void **state)
{
	struct text_run run;
	static const char header[] =
		"# ========\n# os release : 6.1.0-57-amd64\n# arch : x86_64\n# nrcpus avail : 8\n# ========\n"
		"    perf  1176/1176  [000]   324.300305316:       sched:sched_switch: prev_comm=perf prev_pid=1176 "
		"prev_prio=120 prev_state=R+ ==> next_comm=migration/0 next_pid=16 next_prio=0\n";

	(void)state;
	text_run(header, strlen(header), NULL, &run);
	assert_string_equal(run.events, "324300305316 0 1176 - sched_switch perf:1176/120 R+ > migration/0:16/0\n");
	assert_string_equal(run.format, "perf script text");
	assert_string_equal(run.kernel, "6.1.0-57-amd64");
	assert_int_equal(run.nr_cpus, 8);
	text_run_free(&run);
	text_expect(
		"         swapper     0 [001] 9246430.572062: sched:sched_wakeup: comm=rcu_sched pid=7 prio=120 "
		"target_cpu=001\n"
		"    bash 33349 [034] 9246431.228050:   sched:sched_wakeup_new: bash:34059 [120] success=1 CPU:036\n"
		" a b 1 c  77 [003] 9246432.000001:          1 sched:sched_waking: comm=x pid=8 prio=120 "
		"target_cpu=000\n"
		"            :256     256 [016] 9246433.359913:   vpa-dtl: timebase: 21403600706628832 "
		"preempt_reason:H_CEDE\n"
		"            :256     256 [016] 9246434.359913:   irq:softirq_raise: vec=7 [action=SCHED]\n"
		"     swapper     0/0     [001] 9246434.500000: PERF_RECORD_LOST lost 12\n"
		"     swapper     0/0     [001] 9246435.500000: sched:sched_waking: comm=x pid=8 prio=120 "
		"target_cpu=000\n",
		"9246430572062000 1 0 - sched_wakeup rcu_sched:7/120 cpu=1\n"
		"9246431228050000 34 33349 - sched_wakeup_new bash:34059/120 cpu=36\n"
		"9246432000001000 3 77 - sched_waking x:8/120 cpu=0\n"
		"9246434359913000 16 256 - other\n"
		"9246435500000000 1 0 - lost_events 12\n"
		"9246435500000000 1 0 - sched_waking x:8/120 cpu=0\n");
}

/* A perf text without stamps: refused with the reason, never an empty report. */
static void test_perf_no_time(void **state)
{
	static const char text[] =
		"   0/0 [006] sched:sched_switch: prev_comm=swapper/6 prev_pid=0 prev_prio=120 prev_state=R ==> "
		"next_comm=rcuos/2 next_pid=11 next_prio=120\n";
	struct text_run run;

	(void)state;
	text_run(text, strlen(text), NULL, &run);
	assert_null(run.events);
	assert_int_equal(run.err.code, WI_EREFUSED);
	assert_non_null(strstr(run.err.msg, "time stamp"));
	assert_non_null(strstr(run.err.msg, "-F trace:comm"));
}

static void test_all_types(void **state)
{
	(void)state;
	text_expect(
		" a-1 [000] d... 1.000001: sched_process_fork: comm=a b pid=1 child_comm=c child_pid=5\n"
		" a-1 [000] d... 1.000002: sched_process_fork: parent_comm=a parent_pid=1 child_comm=x child_pid=6\n"
		" a-1 [000] d... 1.000003: sched_process_exec: filename=/bin/x pid=2 y pid=1 old_pid=7\n"
		" a-1 [000] d... 1.000004: sched_process_exit: comm=a pid=3 prio=1 pid=1 prio=120\n"
		" a-1 [000] d... 1.000005: sched_process_exit: comm=a pid=1 prio=120 group_dead=true\n"
		" a-1 [000] d... 1.000006: sched_stat_runtime: comm=a pid=1 runtime=13884 [ns] vruntime=4242577168 "
		"[ns]\n"
		" a-1 [000] d... 1.000007: sched_stat_runtime: comm=a pid=1 runtime=13884 [ns]\n"
		" a-1 [000] d.h. 1.000008: local_timer_entry: vector=236\n"
		" a-1 [000] d.h. 1.000009: reschedule_entry: vector=253\n"
		" a-1 [000] d.h. 1.000010: call_function_single_entry: vector=251\n"
		" a-1 [000] d... 1.000011: hrtimer_start: hrtimer=ffffaf6e0126bd18 function=hrtimer_wakeup "
		"expires=26193635601343 softexpires=2\n"
		" a-1 [000] d... 1.000012: hrtimer_expire_entry: hrtimer=0xffff8880b5ee35c0 function=tick_sched_timer "
		"now=143775441697\n"
		" a-1 [000] .... 1.000013: sys_enter: NR 202 (7f, 81, 1)\n"
		" a-1 [000] .... 1.000014: sys_exit: NR 202 = -11\n"
		" a-1 [000] .... 1.000015: sched_migrate_task: comm=m n pid=8 prio=120 orig_cpu=11 dest_cpu=26\n",
		"1000001000 0 1 td sched_process_fork a b:1 > c:5\n"
		"1000002000 0 1 td sched_process_fork a:1 > x:6\n"
		"1000003000 0 1 td sched_process_exec 1 was 7\n"
		"1000004000 0 1 td sched_process_exit a pid=3 prio=1:1/120\n"
		"1000005000 0 1 td sched_process_exit a:1/120\n"
		"1000006000 0 1 td sched_stat_runtime 1 13884 4242577168\n"
		"1000007000 0 1 td sched_stat_runtime 1 13884 -1\n"
		"1000008000 0 1 hd local_timer_entry\n"
		"1000009000 0 1 hd reschedule_entry\n"
		"1000010000 0 1 hd call_function_single_entry\n"
		"1000011000 0 1 td hrtimer_start ffffaf6e0126bd18 26193635601343\n"
		"1000012000 0 1 td hrtimer_expire_entry ffff8880b5ee35c0 0\n"
		"1000013000 0 1 t sys_enter 202\n"
		"1000014000 0 1 t sys_exit 202\n"
		"1000015000 0 1 t sched_migrate_task m n:8/120 11>26\n");
}

/* Item 60: markers, also broken in two; item 30. What ftrace itself writes is no event. */
static void test_markers(void **state)
{
	(void)state;
	text_expect(" a-1 [000] ...1 1.000001: tracing_mark_write: B|1|x: [001] y\n"
		    " a-1 [000] ...1 1.000002: 0: S|1|z\n"
		    " a-1 [000] ...1 1.000003: print: tracing_mark_write: half of a\n"
		    "marker with a newline in it\n"
		    " a-1 [000] ...1 1.000004: print: 0xffffffff8134567s: text\n"
		    " a-1 [000] ...1 1.000005: print: ip=0xffffffff81345678 buf=raw text\n"
		    " a-1 [000] ...1 1.000006: bprint: select_task_rq_fair: fig: cpu=0\n"
		    " gid=4\n"
		    " a-1 [000] ...1 1.000007: function:             irqfd_inject\n"
		    " a-1 [000] ...1 1.000008: kfree <-do_exit\n"
		    " a-1 [000] ...1 1.000009: worker_thread: [+] comm: kworker/u8:2, pid: 2067\n"
		    " a-1 [000] ...1 1.000010: tracing_mark_write: \n",
		    "1000001000 0 1 t print 'B|1|x: [001] y'\n"
		    "1000002000 0 1 t print 'S|1|z'\n"
		    "1000003000 0 1 t print 'half of a'\n"
		    "1000004000 0 1 t print 'text'\n"
		    "1000005000 0 1 t print 'raw text'\n"
		    "1000010000 0 1 t print ''\n");
}

/* Events that nobody reads: the first of a run on a CPU, and again when the task changed. */
static void test_other(void **state)
{
	(void)state;
	text_expect(" a-1 [000] d... 1.000001: sched_stat_wait: comm=b pid=2 delay=0 [ns]\n"
		    " a-1 [000] d... 1.000002: sched_stat_sleep: comm=b pid=2 delay=0 [ns]\n"
		    " c-3 [001] d... 1.000003: irq_handler_entry: irq=28 name=radeon\n"
		    " b-2 [000] d... 1.000004: irq_handler_entry: irq=28 name=radeon\n"
		    " b-2 [000] d... 1.000005: cpu_idle: state=1 cpu_id=0\n"
		    " b-2 [000] d... 1.000006: irq_handler_exit: irq=28 ret=handled\n",
		    "1000001000 0 1 td other\n"
		    "1000002000 0 1 td other\n" /* every one: the last tells where a gap begins */
		    "1000003000 1 3 td other\n"
		    "1000004000 0 2 td other\n"
		    "1000005000 0 2 td cpu_idle 1 cpu=0\n"
		    "1000006000 0 2 td other\n");
}

static void test_lost(void **state)
{
	(void)state;
	text_expect("# tracer: nop\n a-1 [000] d... 1.000001: " SW "CPU:0 [LOST 52 EVENTS]\n"
		    " c-3 [001] d... 1.000002: cpu_idle: state=1 cpu_id=1\n"
		    " b-2 [000] d... 1.000003: cpu_idle: state=1 cpu_id=0\n"
		    "CPU:1 [241 EVENTS DROPPED]\nCPU:1 [EVENTS DROPPED]\n"
		    " c-3 [001] d... 1.000004: cpu_idle: state=1 cpu_id=1\n"
		    "CPU:0 [LOST 3 EVENTS]\n",
		    "1000001000 0 1 td sched_switch a:1/120 S > b:2/120\n"
		    "1000002000 1 3 td cpu_idle 1 cpu=1\n"
		    "1000003000 0 0 - lost_events 52\n"
		    "1000003000 0 2 td cpu_idle 1 cpu=0\n"
		    "1000004000 1 0 - lost_events 0\n"
		    "1000004000 1 3 td cpu_idle 1 cpu=1\n"
		    "1000004000 0 0 - lost_events 3\n");
}

static void test_overwritten(void **state)
{
	static const char text[] =
		"# tracer: nop\n#\n# entries-in-buffer/entries-written: 69657/223807   #P:4\n#\n"
		" a-1 [000] d... 1.000001: " SW "##### CPU 2 buffer started ####\n b-7 [002] d... 1.000003: " SW;
	static const char whole[] =
		"# tracer: nop\n#\n# entries-in-buffer/entries-written: 2/2   #P:4\n a-1 [000] d... 1.000001: " SW;
	struct text_run run;

	(void)state;
	text_run(text, strlen(text), NULL, &run);
	assert_int_equal(run.nr_cpus, 4);
	for (int i = 0; i < 4; i++)
		assert_true(run.cpu[i].overwritten);
	assert_true(run.cpu[2].has_data);
	assert_int_equal(run.cpu[2].first_ts_ns, 1000003000);
	assert_int_equal(run.cpu[2].first_pid, 7);
	assert_false(run.cpu[1].has_data);
	assert_int_equal(run.cpu[1].first_pid, -1);
	text_run_free(&run);
	text_run(whole, strlen(whole), NULL, &run);
	assert_false(run.cpu[0].overwritten);
	text_run_free(&run);
}

#define TOP "                  <idle>-0     [000]   215.650653: "
#define SEC "second:           <idle>-0     [000]   215.650654: "

/* A report of two buffers: one of them, chosen by name or by its sched events. */
static void test_instances(void **state)
{
	static const char text[] = "cpus=8\n" TOP "cpu_idle:             state=1 cpu_id=0\n" SEC SW SEC SW TOP SW;
	struct text_run run;

	(void)state;
	text_run(text, strlen(text), NULL, &run);
	assert_int_equal(run.nr_buffers, 2);
	assert_int_equal(run.count[WI_EV_SCHED_SWITCH], 2);
	assert_int_equal(run.count[WI_EV_CPU_IDLE], 0);
	text_run_free(&run);
	text_run(text, strlen(text), "", &run);
	assert_int_equal(run.count[WI_EV_SCHED_SWITCH], 1);
	assert_int_equal(run.count[WI_EV_CPU_IDLE], 1);
	text_run_free(&run);
	text_run(text, strlen(text), "third", &run);
	assert_int_equal(run.err.code, WI_EREFUSED);
	assert_non_null(strstr(run.err.msg, "third"));
}

static void test_html(void **state)
{
	(void)state;
	text_expect("<!DOCTYPE html>\n<html><script>var x = [0]; a-1 [z]\n</script>\n<script class=\"trace-data\" "
		    "type=\"application/text\">\n"
		    "# tracer: nop\n          &lt;idle&gt;-0     (-----) [002] d..3 1.000001: sched_switch: "
		    "prev_comm=a&amp;b prev_pid=1 "
		    "prev_prio=120 prev_state=S ==&gt; next_comm=b next_pid=2 next_prio=120\n</script>\n"
		    "<script class=\"trace-data\" type=\"application/text\">  a-1   [002] d..3 1.000002: cpu_idle: "
		    "state=1 cpu_id=2\n</script></html>\n",
		    "1000001000 2 0 td sched_switch a&b:1/120 S > b:2/120\n"
		    "1000002000 2 1 td cpu_idle 1 cpu=2\n");
	text_expect("<!DOCTYPE HTML>\n<script>\n  var linuxPerfData = \"\\\n# tracer: nop\\n\\\n"
		    "  a\\\"b-1   [002] d..3 1.000002: cpu_idle: state=1 cpu_id=2\\n\\\n\\n\";\n</script>\n",
		    "1000002000 2 1 td cpu_idle 1 cpu=2\n");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_flags),	     cmocka_unit_test(test_flags_header),
		cmocka_unit_test(test_tgid),	     cmocka_unit_test(test_stamps),
		cmocka_unit_test(test_report),	     cmocka_unit_test(test_plugin_states),
		cmocka_unit_test(test_latency_form), cmocka_unit_test(test_raw_states),
		cmocka_unit_test(test_letters),	     cmocka_unit_test(test_perf),
		cmocka_unit_test(test_perf_no_time), cmocka_unit_test(test_all_types),
		cmocka_unit_test(test_markers),	     cmocka_unit_test(test_other),
		cmocka_unit_test(test_lost),	     cmocka_unit_test(test_overwritten),
		cmocka_unit_test(test_instances),    cmocka_unit_test(test_html),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
