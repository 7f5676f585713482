/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Raw ring-buffer dumps: directories of several layouts and tars of them. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include <unistd.h>

#include "tracedat_fixture.h"

#define ALL (REC_LOST | REC_ALL_TYPES | REC_HIDDEN | REC_TIMES)

static const struct tdw_cfg plain = { .version = 6, .long_size = 8, .page_bytes = 4096, .nr_cpus = 4 };

static void shell(const char *fmt, ...) __attribute__((format(printf, 1, 2)));

static void shell(const char *fmt, ...)
{
	char cmd[2048];
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(cmd, sizeof(cmd), fmt, ap);
	va_end(ap);
	assert_int_equal(system(cmd), 0);
}

static const char *fresh(const char *name)
{
	shell("rm -rf '%s'", test_path(name));
	return test_path(name);
}

static struct expected_list write_dump(const struct tdw_cfg *cfg, const char *name, unsigned int flags)
{
	struct tdw *w = tdw_new(cfg);
	struct expected_list want = record(w, cfg, 0, 2000, flags, 17, NULL);

	tdw_finish_raw(w, fresh(name));
	return want;
}

static void compare(const char *path, const struct tdw_cfg *cfg, const struct expected_list *want, const char *format)
{
	struct opened o = open_with(&wi_rawdump_ops, path, NULL);

	if (!o.self)
		fail_msg("%s", o.err.msg);
	assert_string_equal(o.info->format, format);
	assert_int_equal(o.info->big_endian, cfg->big_endian);
	assert_int_equal(o.info->long_size, cfg->long_size);
	assert_int_equal(o.info->page_size, cfg->page_bytes);
	assert_int_equal(o.info->nr_cpus, cfg->nr_cpus);
	assert_true(delivers(&o, want, 100));
	assert_true(o.ops->rewind(o.self, &o.err));
	assert_true(delivers(&o, want, 7));
	assert_int_equal(o.info->nr_damage, 0);
	close_opened(&o);
}

/* Nothing names the byte order: the data do. */
static void test_directory_and_tar(void **state)
{
	(void)state;
	for (int big = 0; big < 2; big++)
		for (uint32_t lng = 4; lng <= 8; lng += 4) {
			struct tdw_cfg cfg = plain;

			cfg.big_endian = big;
			cfg.long_size = lng;
			cfg.page_bytes = lng == 8 ? 4096 : 8192;
			struct expected_list want = write_dump(&cfg, "dump", ALL);

			compare(test_path("dump"), &cfg, &want, "raw ring-buffer dump");
			shell("tar -C '%s' -cf '%s' .", test_path("dump"), test_path("dump.tar"));
			compare(test_path("dump.tar"), &cfg, &want, "raw ring-buffer dump (tar)");
			expected_free(&want);
		}
}

/* A copy of tracefs: events/SYSTEM/EVENT/format, per_cpu/cpuN/{trace_pipe_raw,stats}, and small files beside. */
static void test_copy_of_tracefs(void **state)
{
	struct tdw_cfg cfg = plain;
	struct expected_list want = write_dump(&cfg, "dump", REC_ALL_TYPES | REC_HIDDEN);
	const char *d = test_path("dump");

	(void)state;
	shell("cd '%s' && mv formats events && for i in 0 1 2 3; do mkdir -p per_cpu/cpu$i && mv traces/cpu$i "
	      "per_cpu/cpu$i/trace_pipe_raw; done && "
	      "rmdir traces && printf 'entries: 5\\noverrun: 17\\ndropped events: 2\\n' >per_cpu/cpu2/stats && printf "
	      "'42 some name\\n' >saved_cmdlines && "
	      "printf 'local [mono] boot\\n' >trace_clock && printf 'Linux box 5.15.0-91-generic #101-Ubuntu SMP "
	      "x86_64 GNU/Linux\\n' >uname",
	      d);
	compare(d, &cfg, &want, "raw ring-buffer dump");
	struct opened o = open_with(&wi_rawdump_ops, d, NULL);

	assert_non_null(o.self);
	assert_string_equal(o.info->clock, "mono");
	assert_string_equal(o.info->kernel, "5.15.0-91-generic");
	assert_int_equal(o.info->cpu[2].overrun, 17);
	assert_int_equal(o.info->cpu[2].lost, 2);
	assert_string_equal(wi_names_get(o.names, o.ops->comm_of(o.self, 42)), "some name");
	assert_int_equal(o.ops->comm_of(o.self, 43), WI_NAME_NONE);
	close_opened(&o);
	expected_free(&want);
}

/* trace-cmd's own temporary files, and CPU numbers with holes. */
static void test_trace_cmd_files(void **state)
{
	struct tdw_cfg cfg = plain;
	struct expected_list want = write_dump(&cfg, "dump", 0);
	const char *d = test_path("dump");
	struct opened o;
	uint64_t n[WI_NR_EVENT_TYPES];

	(void)state;
	shell("cd '%s' && for i in 0 1 2 3; do mv traces/cpu$i trace.dat.cpu$((i * 40)); done", d);
	o = open_with(&wi_rawdump_ops, d, NULL);
	assert_non_null(o.self);
	assert_int_equal(o.info->nr_cpus, 121);
	assert_true(o.info->cpu[120].has_data);
	assert_false(o.info->cpu[119].has_data);
	assert_true(count_events(&o, n));
	uint64_t total = 0;
	for (int i = 0; i < WI_NR_EVENT_TYPES; i++)
		total += n[i];
	assert_int_equal(total, want.nr);
	close_opened(&o);
	expected_free(&want);
}

static void refused(const char *path, const char *why)
{
	struct opened o = open_with(&wi_rawdump_ops, path, NULL);

	assert_null(o.self);
	if (!strstr(o.err.msg, why) || strchr(o.err.msg, '\n'))
		fail_msg("%s", o.err.msg);
	close_opened(&o);
}

static void test_refused(void **state)
{
	struct tdw_cfg cfg = plain;
	struct expected_list want = write_dump(&cfg, "dump", 0);
	const char *d = test_path("dump");

	(void)state;
	expected_free(&want);
	shell("mkdir -p '%s/x'", fresh("empty"));
	refused(test_path("empty"), "no raw ring-buffer dump");
	shell("cp -r '%s' '%s' && rm -rf '%s/formats'", d, fresh("bare"), test_path("bare"));
	refused(test_path("bare"), "without usable event formats");
	shell("cp '%s/traces/cpu0' '%s/cpu0'", d, d);
	refused(d, "two files for CPU 0");
	shell("rm '%s/cpu0' && mv '%s/traces/cpu1' '%s/traces/cpu70000'", d, d, d);
	refused(d, "impossible CPU number");
	shell("head -c 3000 '%s' >'%s'", test_path("dump.tar"), test_path("cut.tar"));
	refused(test_path("cut.tar"), "Truncated tar");
}

/* A dump that ends inside a page, and one with a bad page, are read up to there and beyond. */
static void test_damage(void **state)
{
	struct tdw_cfg cfg = plain;
	struct expected_list want = write_dump(&cfg, "dump", 0);
	const char *d = test_path("dump");
	uint64_t n[WI_NR_EVENT_TYPES];

	(void)state;
	shell("truncate -s -100 '%s/traces/cpu1' && printf '\\377\\377\\377\\377' | dd of='%s/traces/cpu0' bs=1 seek=8 "
	      "conv=notrunc status=none",
	      d, d);
	struct opened o = open_with(&wi_rawdump_ops, d, NULL);

	assert_non_null(o.self);
	assert_true(count_events(&o, n));
	assert_int_equal(o.info->nr_damage, 2);
	assert_int_equal(n[WI_EV_LOST], 2);
	assert_true(n[WI_EV_SCHED_SWITCH] > 300);
	close_opened(&o);
	expected_free(&want);
}

/* A tar that ends inside the data of a CPU: the CPUs in front of it are whole, it is lost from there on. */
static void test_cut_tar(void **state)
{
	struct tdw_cfg cfg = plain;
	struct expected_list want = write_dump(&cfg, "dump", 0);
	uint64_t n[WI_NR_EVENT_TYPES];
	struct opened o;

	(void)state;
	shell("cd '%s' && tar -cf '%s' formats traces/cpu0 traces/cpu1 traces/cpu2 && truncate -s $(( $(stat -c %%s "
	      "'%s') / 1024 * 1024 - 14000 )) '%s'",
	      test_path("dump"), test_path("cut.tar"), test_path("cut.tar"), test_path("cut.tar"));
	o = open_with(&wi_rawdump_ops, test_path("cut.tar"), NULL);
	if (!o.self)
		fail_msg("%s", o.err.msg);
	assert_true(count_events(&o, n));
	assert_true(o.info->cpu[0].has_data && o.info->cpu[1].has_data);
	assert_true(n[WI_EV_LOST] > 0 && n[WI_EV_SCHED_SWITCH] > 300);
	assert_true(o.info->nr_damage > 0);
	assert_non_null(strstr(o.info->damage[0].what, "tar ends early"));
	close_opened(&o);
	expected_free(&want);
}

static void test_spool_limit(void **state)
{
	struct tdw_cfg cfg = plain;
	struct expected_list want = write_dump(&cfg, "dump", 0);
	struct opened o;

	(void)state;
	expected_free(&want);
	shell("tar -C '%s' -cf '%s' .", test_path("dump"), test_path("dump.tar"));
	o = open_with(&wi_rawdump_ops, test_path("dump.tar"), &(const struct wi_open_opts){ .max_spool_bytes = 20000 });
	assert_null(o.self);
	assert_int_equal(o.err.code, WI_EIO);
	assert_non_null(strstr(o.err.msg, "--max-spool"));
	close_opened(&o);
}

static void test_probe(void **state)
{
	uint8_t head[512];
	FILE *f = fopen(test_path("dump.tar"), "rb");

	(void)state;
	assert_non_null(f);
	assert_int_equal(fread(head, 1, 512, f), 512);
	fclose(f);
	assert_true(wi_rawdump_ops.probe(head, 512, 100000) > 50);
	head[0] ^= 1;
	assert_int_equal(wi_rawdump_ops.probe(head, 512, 100000), 0);
	memset(head, 0, 512);
	assert_int_equal(wi_rawdump_ops.probe(head, 512, 100000), 0);
	assert_int_equal(wi_rawdump_ops.probe(head, 100, 100), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_directory_and_tar),
		cmocka_unit_test(test_copy_of_tracefs),
		cmocka_unit_test(test_trace_cmd_files),
		cmocka_unit_test(test_refused),
		cmocka_unit_test(test_damage),
		cmocka_unit_test(test_spool_limit),
		cmocka_unit_test(test_probe),
		cmocka_unit_test(test_cut_tar),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
