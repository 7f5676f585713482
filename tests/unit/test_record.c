/* SPDX-License-Identifier: GPL-2.0-or-later */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include "analyzer/record/btf.h"
#include "analyzer/record/plan.h"
#include "analyzer/record/run.h"
#include "analyzer/record/slim.h"
#include "analyzer/record/tracefs.h"

static char dir[64];

static void make_path(const char *rel)
{
	char path[512];

	snprintf(path, sizeof(path), "%s/%s", dir, rel);
	for (char *at = strchr(path + 1, '/'); at; at = strchr(at + 1, '/')) {
		*at = '\0';
		mkdir(path, 0755);
		*at = '/';
	}
	mkdir(path, 0755);
}

static void make_file(const char *rel, const void *bytes, size_t len)
{
	char path[512];

	snprintf(path, sizeof(path), "%s/%s", dir, rel);
	FILE *f = fopen(path, "w");
	assert_non_null(f);
	assert_int_equal(fwrite(bytes, 1, len, f), len);
	fclose(f);
}

static int setup(void **state)
{
	(void)state;
	strcpy(dir, P_tmpdir "/wakeif-test-XXXXXX");
	return mkdtemp(dir) ? 0 : -1;
}

static int teardown(void **state)
{
	char cmd[100];

	(void)state;
	snprintf(cmd, sizeof(cmd), "rm -rf %s", dir);
	return system(cmd);
}

static void test_buffer(void **state)
{
	(void)state;
	assert_int_equal(wi_record_buffer_kb(8, 0, false), WI_BUFFER_MAX_KB);
	assert_int_equal(wi_record_buffer_kb(8, 64ull << 30, false), WI_BUFFER_MAX_KB);
	assert_int_equal(wi_record_buffer_kb(8, 64ull << 30, true), WI_BUFFER_DEEP_MAX_KB);
	/* 4 GiB, 256 CPUs: an eighth is 512 MiB, 2 MiB each. */
	assert_int_equal(wi_record_buffer_kb(256, 4ull << 30, false), 2048);
	assert_int_equal(wi_record_buffer_kb(1024, 1ull << 30, true), WI_BUFFER_MIN_KB);
	assert_int_equal(wi_record_buffer_kb(0, 1ull << 40, false), WI_BUFFER_MAX_KB);
	assert_int_equal(wi_available_memory("MemTotal: 5 kB\nMemAvailable:   123456 kB\n"), 123456ull * 1024);
	assert_int_equal(wi_available_memory("MemTotal: 5 kB\n"), 0);
}

static void test_plan(void **state)
{
	static const char *const have[] = { "sched/sched_switch", "sched/sched_wakeup", "power/cpu_idle",
					    "raw_syscalls/sys_enter", "irq/softirq_entry" };
	const char *extra[] = { "irq:softirq_entry", "irq", "sched:sched_p*" }, *bad[] = { "irq:nonesuch" };
	struct wi_record_plan p;
	struct wi_tracefs fs;
	struct wi_err err = { 0 };
	char path[100];

	(void)state;
	make_path("events/sched");
	make_file("trace_marker", "", 0);
	make_file("events/sched/enable", "0\n", 2);
	assert_true(wi_tracefs_find(&fs, dir, &err));
	assert_false(wi_record_plan(&p, &fs, false, NULL, 0, &err));
	assert_non_null(strstr(err.msg, "sched:sched_switch"));
	for (size_t i = 0; i < sizeof(have) / sizeof(*have); i++) {
		snprintf(path, sizeof(path), "events/%s", have[i]);
		make_path(path);
	}
	assert_true(wi_tracefs_has_event(&fs, "sched:sched_switch"));
	assert_true(wi_tracefs_has_event(&fs, "softirq_entry"));
	assert_false(wi_tracefs_has_event(&fs, "enable")); /* a file, no event */
	assert_false(wi_tracefs_has_event(&fs, "sched:enable"));
	assert_false(wi_tracefs_has_event(&fs, "irq:sched_switch"));
	assert_true(wi_record_plan(&p, &fs, true, extra, 3, &err));
	assert_int_equal(p.nr_events, 3 + 1 + 3);
	assert_true(p.no_waking);
	assert_string_equal(p.event[0], "sched:sched_switch");
	assert_string_equal(p.event[3], "raw_syscalls:sys_enter");
	assert_string_equal(p.event[4], "irq:softirq_entry");
	assert_non_null(strstr(p.missing, "sched:sched_waking sched:sched_wakeup_new"));
	assert_non_null(strstr(p.missing, "raw_syscalls:sys_exit"));
	err = (struct wi_err){ 0 };
	assert_false(wi_record_plan(&p, &fs, true, bad, 1, &err));
	assert_non_null(strstr(err.msg, "irq:nonesuch"));
}

static void test_clock(void **state)
{
	struct wi_tracefs fs;
	struct wi_err err = { 0 };

	(void)state;
	make_file("trace_marker", "", 0);
	make_file("trace_clock", "[local] global x86-tsc mono\n", 28);
	assert_true(wi_tracefs_find(&fs, dir, &err));
	assert_true(wi_tracefs_check_clock(&fs, "mono", &err));
	assert_true(wi_tracefs_check_clock(&fs, "local", &err));
	assert_true(wi_tracefs_check_clock(&fs, "tsc2nsec", &err));
	assert_false(wi_tracefs_check_clock(&fs, "mon", &err));
	assert_non_null(strstr(err.msg, "[local] global x86-tsc mono"));
}

static void test_markers_in_an_instance(void **state)
{
	struct wi_filetree *t = wi_filetree_new();
	struct wi_tracefs fs;
	struct wi_err err = { 0 };
	uint32_t nr = 9, failed = 9;

	(void)state;
	make_file("trace_marker", "", 0);
	make_path("instances/one");
	make_file("instances/one/trace_marker", "", 0);
	assert_true(wi_tracefs_find(&fs, dir, &err));
	assert_true(wi_filetree_add(t, "proc/version", "six\n", 4, &err));
	assert_true(wi_tracefs_write_markers(&fs, "one", t, &nr, &failed, &err));
	assert_int_equal(nr, 1);
	assert_int_equal(failed, 0);
	assert_false(wi_tracefs_write_markers(&fs, "two", t, &nr, &failed, &err));
	assert_int_equal(err.code, WI_EIO);
	err = (struct wi_err){ 0 };
	assert_false(wi_tracefs_write_markers(&fs, "../one", t, &nr, &failed, &err));
	assert_int_equal(err.code, WI_EUSAGE);
	wi_filetree_free(t);
	/* A marker that cannot be written is counted: /dev/full takes nothing. */
	struct stat st;
	if (!stat("/dev/full", &st) && S_ISCHR(st.st_mode) && !access("/dev/full", W_OK)) {
		char link[200];

		t = wi_filetree_new();
		assert_true(wi_filetree_add(t, "proc/version", "six\n", 4, &err));
		make_path("instances/full");
		snprintf(link, sizeof(link), "%s/instances/full/trace_marker", dir);
		assert_int_equal(symlink("/dev/full", link), 0);
		err = (struct wi_err){ 0 };
		assert_true(wi_tracefs_write_markers(&fs, "full", t, &nr, &failed, &err));
		assert_int_equal(failed, 1);
		wi_filetree_free(t);
	}
}

/* Type data with an int and two structures of one name: a forward declaration and the one with the members. */
static size_t make_btf(uint8_t *out, uint32_t vlen, bool kind_flag)
{
	static const char strings[] = "\0task_struct\0pid\0int\0state";
	const uint32_t task = 1, pid = 13, integer = 17, st = 21;
	const uint32_t types[] = {
		integer, 1u << 24,
		4,	 0x20, /* int */
		task,	 7u << 24,
		0, /* struct task_struct; */
		0,	 3u << 24,
		0,	 1,
		1,	 10, /* int[10] */
		0,	 13u << 24 | 1,
		1,	 0,
		1, /* a function's type */
		task,	 4u << 24 | vlen | (uint32_t)kind_flag << 31,
		64, /* struct task_struct { state; pid; } */
		st,	 1,
		0,	 pid,
		1,	 0x5f8u | (kind_flag ? 32u << 24 : 0),
	};
	const uint32_t head[] = { 0xeb9f | 1u << 16, 24, 0, sizeof(types), sizeof(types), sizeof(strings) };

	memcpy(out, head, sizeof(head));
	memcpy(out + sizeof(head), types, sizeof(types));
	memcpy(out + sizeof(head) + sizeof(types), strings, sizeof(strings));
	return sizeof(head) + sizeof(types) + sizeof(strings);
}

static void test_btf(void **state)
{
	uint8_t data[512];
	char path[100];

	(void)state;
	snprintf(path, sizeof(path), "%s/btf", dir);
	for (int flag = 0; flag < 2; flag++) {
		size_t len = make_btf(data, 2, flag);

		make_file("btf", data, len);
		assert_int_equal(wi_btf_member_offset(path, "task_struct", "pid"), 0x5f8 / 8);
		assert_int_equal(wi_btf_member_offset(path, "task_struct", "state"), 0);
		assert_int_equal(wi_btf_member_offset(path, "task_struct", "stat"), -1);
		assert_int_equal(wi_btf_member_offset(path, "task", "pid"), -1);
		for (size_t cut = 0; cut < len - 6; cut++) {
			make_file("btf", data, cut);
			assert_int_equal(wi_btf_member_offset(path, "task_struct", "pid"), -1);
		}
	}
	size_t len = make_btf(data, 60000, false);
	make_file("btf", data, len);
	assert_int_equal(wi_btf_member_offset(path, "task_struct", "pid"), -1);
	assert_int_equal(wi_btf_member_offset("/nonesuch", "task_struct", "pid"), -1);
}

static void test_btf_of_this_kernel(void **state)
{
	(void)state;
	if (access("/sys/kernel/btf/vmlinux", R_OK)) {
		print_message("skipped: no type data of this kernel\n");
		skip();
	}
	int32_t pid = wi_btf_member_offset("/sys/kernel/btf/vmlinux", "task_struct", "pid");
	int32_t tgid = wi_btf_member_offset("/sys/kernel/btf/vmlinux", "task_struct", "tgid");
	assert_true(pid > 0);
	assert_int_equal(tgid, pid + 4);
}

static int run(const char *script, uint32_t stop_secs, struct wi_err *err)
{
	char sh[] = "sh", c[] = "-c", text[200];
	char *argv[] = { sh, c, text, NULL };
	struct wi_run how = { .keep_fd = -1, .stop_secs = stop_secs };

	snprintf(text, sizeof(text), "%s", script);
	return wi_run(argv, &how, err);
}

static void test_run(void **state)
{
	struct wi_err err = { 0 };
	char none[] = "/nonesuch", *argv[] = { none, NULL };
	struct wi_run how = { .keep_fd = -1 };

	(void)state;
	assert_int_equal(run("exit 0", 0, &err), 0);
	assert_int_equal(run("exit 42", 0, &err), 42);
	assert_int_equal(run("kill -9 $$", 0, &err), 137);
	assert_int_equal(run("exec sleep 60", 1, &err), 143);
	assert_int_equal(err.code, 0);
	assert_int_equal(wi_run(argv, &how, &err), 127);
	assert_non_null(strstr(err.msg, "/nonesuch"));
	/* A signal sent to us alone goes to the child. */
	err = (struct wi_err){ 0 };
	assert_int_equal(run("trap 'exit 5' INT; kill -INT $PPID; while :; do sleep 0.1; done", 0, &err), 5);
}

static void test_wait(void **state)
{
	struct wi_err err = { 0 };

	(void)state;
	assert_true(wi_wait(0, 1, &err));
	assert_false(wi_wait(4194304, 1, &err));
	assert_int_equal(err.code, WI_EUSAGE);
}

static void test_find_program(void **state)
{
	char path[4096], file[100];

	(void)state;
	assert_true(wi_find_program("sh", path, sizeof(path)));
	assert_true(path[0] == '/' && strstr(path, "/sh"));
	assert_true(wi_find_program("/bin/sh", path, sizeof(path)));
	assert_false(wi_find_program("nonesuch-program", path, sizeof(path)));
	assert_false(wi_find_program("", path, sizeof(path)));
	assert_false(wi_find_program("/bin", path, sizeof(path)));
	make_file("plain", "x", 1);
	snprintf(file, sizeof(file), "%s/plain", dir);
	assert_false(wi_find_program(file, path, sizeof(path)));
	assert_false(wi_find_program("sh", path, 4));
}

static void test_slim(void **state)
{
	static const char stat[] =
		"version 17\ntimestamp 7\ncpu0 1 2 3\ndomain0 SMT 00ff,00000001 1 2\ndomain1 ff 3\ncpu1 5";
	static const char info[] =
		"processor\t: 0\nvendor_id\t: AuthenticAMD\nflags\t: x\ncpu family\t: 25\n\nprocessor\t: 1\n";
	struct wi_filetree *t = wi_filetree_new(), *out;
	struct wi_err err = { 0 };
	size_t len;

	(void)state;
	assert_true(wi_filetree_add(t, "proc/schedstat", stat, sizeof(stat) - 1, &err));
	assert_true(wi_filetree_add(t, "proc/cpuinfo", info, sizeof(info) - 1, &err));
	out = wi_machine_slim(t, &err);
	assert_string_equal(wi_filetree_get(out, "proc/schedstat", NULL),
			    "version 17\ntimestamp 7\ncpu0\ndomain0 SMT 00ff,00000001\ndomain1 ff\ncpu1");
	/* Without sysfs the other CPUs of cpuinfo may be all that is known. */
	assert_string_equal(wi_filetree_get(out, "proc/cpuinfo", &len), info);
	assert_int_equal(len, sizeof(info) - 1);
	wi_filetree_free(out);
	assert_true(wi_filetree_add(t, "sys/devices/system/cpu/cpu0/topology/core_id", "0\n", 2, &err));
	out = wi_machine_slim(t, &err);
	assert_string_equal(wi_filetree_get(out, "proc/cpuinfo", NULL),
			    "processor\t: 0\nvendor_id\t: AuthenticAMD\ncpu family\t: 25\n");
	wi_filetree_free(out);
	wi_filetree_free(t);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_buffer),
		cmocka_unit_test_setup_teardown(test_plan, setup, teardown),
		cmocka_unit_test_setup_teardown(test_clock, setup, teardown),
		cmocka_unit_test_setup_teardown(test_markers_in_an_instance, setup, teardown),
		cmocka_unit_test_setup_teardown(test_btf, setup, teardown),
		cmocka_unit_test(test_btf_of_this_kernel),
		cmocka_unit_test(test_run),
		cmocka_unit_test(test_wait),
		cmocka_unit_test_setup_teardown(test_find_program, setup, teardown),
		cmocka_unit_test(test_slim),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
