/* SPDX-License-Identifier: GPL-2.0-or-later */
/* trace.dat files of every shape, written by tests/gen and read back: by our own reader and by libtracecmd. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include "tracedat_fixture.h"

#ifdef __has_feature
#if __has_feature(address_sanitizer)
#define __SANITIZE_ADDRESS__ 1
#endif
#endif

#define ALL (REC_LOST | REC_ALL_TYPES | REC_HIDDEN | REC_TIMES)

static const struct tdw_cfg plain = {
	.version = 6, .long_size = 8, .page_bytes = 4096, .nr_cpus = 4, .uname = "Linux h 6.1.0-57-amd64 x86_64"
};

static void write_and_compare(const struct tdw_cfg *cfg, const char *name, uint32_t nr, unsigned int flags, bool lib)
{
	struct tdw *w = tdw_new(cfg);
	struct expected_list want = record(w, cfg, 0, nr, flags, nr + cfg->page_bytes, NULL);
	const char *path = test_path(name);

	tdw_finish(w, path);
	for (int pass = 0; pass < (lib ? 2 : 1); pass++) {
		struct opened o = open_with(pass ? &wi_tracecmdlib_ops : &wi_tracedat_ops, path, NULL);

		if (!o.self)
			fail_msg("%s: %s", name, o.err.msg);
		assert_int_equal(o.info->nr_cpus, cfg->nr_cpus);
		assert_int_equal(o.info->big_endian, cfg->big_endian);
		assert_int_equal(o.info->long_size, cfg->long_size);
		if (!delivers(&o, &want, 61))
			fail_msg("%s differs%s", name, pass ? " through libtracecmd" : "");
		assert_true(o.ops->rewind(o.self, &o.err));
		if (!delivers(&o, &want, 1024))
			fail_msg("%s differs in the second pass%s", name, pass ? " through libtracecmd" : "");
		assert_int_equal(o.info->nr_damage, 0);
		assert_int_equal(o.info->unparsed, 0);
		assert_int_equal(o.info->unordered, 0);
		close_opened(&o);
	}
	unlink(path);
	expected_free(&want);
}

/* Version, byte order, size of long, codec, page size: each with each. */
static void test_every_container(void **state)
{
	static const struct {
		uint32_t version;
		enum tdw_codec codec;
	} kinds[] = { { 6, TDW_NONE }, { 7, TDW_NONE }, { 7, TDW_ZLIB }, { 7, TDW_ZSTD } };
	static const uint32_t pages[] = { 1024, 4096, 65536 };

	(void)state;
	for (size_t k = 0; k < 4; k++)
		for (int big = 0; big < 2; big++)
			for (uint32_t lng = 4; lng <= 8; lng += 4)
				for (size_t p = 0; p < 3; p++) {
					struct tdw_cfg cfg = plain;
					char name[64];

					cfg.version = kinds[k].version;
					cfg.codec = kinds[k].codec;
					cfg.big_endian = big;
					cfg.long_size = lng;
					cfg.page_bytes = pages[p];
					cfg.chunk_pages = 3;
					snprintf(name, sizeof(name), "v%u-%d-be%d-long%u-page%u.dat", cfg.version,
						 cfg.codec, big, lng, pages[p]);
					write_and_compare(&cfg, name, 3000, ALL,
							  cfg.codec != TDW_ZLIB && pages[p] == 4096);
				}
}

static void test_formats_of_other_kernels(void **state)
{
	struct tdw_cfg cfg = plain;

	(void)state;
	cfg.kernel = TDW_KERNEL_4_11;
	cfg.uname = "Linux h 4.11.0 x86_64";
	cfg.success_field = true;
	write_and_compare(&cfg, "4.11.dat", 2000, ALL, true);
	cfg.kernel = TDW_KERNEL_4_4;
	cfg.uname = "Linux h 4.4.1 x86_64";
	write_and_compare(&cfg, "4.4.dat", 2000, ALL, true);
	cfg.kernel = TDW_KERNEL_4_14;
	cfg.uname = "Linux h 4.14.62 armv7l";
	write_and_compare(&cfg, "4.14.dat", 2000, ALL, true);
	cfg = plain;
	cfg.loc_comm = true;
	cfg.uname = "Linux h 6.18.0 x86_64";
	write_and_compare(&cfg, "loc.dat", 2000, ALL, true);
	cfg.extra_common = true;
	cfg.big_endian = true;
	write_and_compare(&cfg, "extra.dat", 2000, ALL, true);
	cfg.uname = NULL;
	cfg.clock = NULL;
	cfg.long_size = 4;
	write_and_compare(&cfg, "nothing-said.dat", 2000, ALL, true);
}

static void test_cpus(void **state)
{
	struct tdw_cfg cfg = plain;

	(void)state;
	cfg.nr_cpus = 1;
	write_and_compare(&cfg, "one.dat", 500, ALL, true);
	cfg.nr_cpus = 3;
	write_and_compare(&cfg, "three.dat", 2000, ALL | REC_EMPTY_CPU, true);
	cfg.version = 7;
	cfg.codec = TDW_ZSTD;
	write_and_compare(&cfg, "three7.dat", 2000, ALL | REC_EMPTY_CPU, true);
	cfg.skip_empty_cpus = true;
	write_and_compare(&cfg, "three7s.dat", 2000, ALL | REC_EMPTY_CPU, false);
	cfg.nr_cpus = 200;
	write_and_compare(&cfg, "many.dat", 20000, ALL, false);
}

static void test_equal_stamps(void **state)
{
	struct tdw_cfg cfg = plain;
	struct tdw *w = tdw_new(&cfg);
	/* CPU, type: what stands at one stamp; order by the heads' rank, then by CPU */
	static const uint8_t in[][2] = { { 0, WI_EV_SCHED_SWITCH }, { 0, WI_EV_SCHED_WAKING },
					 { 1, WI_EV_SCHED_WAKEUP }, { 2, WI_EV_CPU_IDLE },
					 { 3, WI_EV_SCHED_WAKING }, { 3, WI_EV_SCHED_MIGRATE_TASK } };
	static const uint8_t out[][2] = { { 3, WI_EV_SCHED_WAKING }, { 3, WI_EV_SCHED_MIGRATE_TASK },
					  { 1, WI_EV_SCHED_WAKEUP }, { 0, WI_EV_SCHED_SWITCH },
					  { 0, WI_EV_SCHED_WAKING }, { 2, WI_EV_CPU_IDLE } };
	struct wi_event ev[16];
	struct opened o;

	(void)state;
	for (int i = 0; i < 6; i++) {
		struct wi_event e = { .type = in[i][1], .cpu = in[i][0], .ts_ns = 1000 };

		if (e.type == WI_EV_SCHED_SWITCH)
			e.sw.prev_state = 'R';
		tdw_event(w, 0, &e, "a", "b");
	}
	tdw_finish(w, test_path("equal.dat"));
	o = open_with(&wi_tracedat_ops, test_path("equal.dat"), NULL);
	assert_non_null(o.self);
	assert_int_equal(o.ops->next_batch(o.self, ev, 16, &o.err), 6);
	for (int i = 0; i < 6; i++) {
		assert_int_equal(ev[i].cpu, out[i][0]);
		assert_int_equal(ev[i].type, out[i][1]);
	}
	close_opened(&o);
}

static uint64_t map_tsc(uint32_t cpu, uint64_t ts)
{
	(void)cpu;
	return (uint64_t)((unsigned __int128)ts * 1664000 >> 22) + 250 + 7000000;
}

static void test_clock_options(void **state)
{
	struct tdw_cfg cfg = plain;
	struct tdw *w;
	struct expected_list want;

	(void)state;
	cfg.tsc_mult = 1664000;
	cfg.tsc_shift = 22;
	cfg.offset_option = "250";
	cfg.date_option = "0x1b58"; /* 7000 us */
	cfg.clock = "local global [x86-tsc]";
	for (cfg.version = 6; cfg.version < 8; cfg.version++) {
		w = tdw_new(&cfg);
		want = record(w, &cfg, 0, 2000, ALL, 5, map_tsc);
		tdw_finish(w, test_path("tsc.dat"));
		for (int lib = 0; lib < 2; lib++) {
			struct opened o =
				open_with(lib ? &wi_tracecmdlib_ops : &wi_tracedat_ops, test_path("tsc.dat"), NULL);

			assert_non_null(o.self);
			assert_string_equal(o.info->clock, "tsc2nsec");
			assert_true(delivers(&o, &want, 100));
			close_opened(&o);
		}
		expected_free(&want);
	}
}

/* Two samples on CPU 0, one on CPU 1, none on the others. */
static uint64_t map_shift(uint32_t cpu, uint64_t ts)
{
	const int64_t t0 = 5000000000, t1 = 5001000000, o0 = -1000000, o1 = 3000;

	if (cpu == 0) {
		int64_t part = ((int64_t)ts - t0) * (o1 - o0);

		return ts + (uint64_t)(o0 + (part + (t1 - t0) / 2) / (t1 - t0));
	}
	return cpu == 1 ? ts + 77 : ts;
}

static void put_le(uint8_t **p, uint64_t v, int n)
{
	while (n--) {
		*(*p)++ = (uint8_t)v;
		v >>= 8;
	}
}

static void test_time_shift(void **state)
{
	struct tdw_cfg cfg = plain;
	uint8_t opt[256], *p = opt;
	struct tdw *w;
	struct expected_list want;

	(void)state;
	put_le(&p, 0x1234, 8);
	put_le(&p, 1, 4); /* interpolate */
	put_le(&p, 4, 4);
	put_le(&p, 2, 4);
	put_le(&p, 5000000000, 8), put_le(&p, 5001000000, 8);
	put_le(&p, (uint64_t)-1000000, 8), put_le(&p, 3000, 8);
	put_le(&p, 1, 8), put_le(&p, 1, 8);
	put_le(&p, 1, 4);
	put_le(&p, 5000000000, 8), put_le(&p, 77, 8), put_le(&p, 1, 8);
	put_le(&p, 0, 4), put_le(&p, 0, 4);
	put_le(&p, 0, 8), put_le(&p, 0, 8), put_le(&p, 0, 8); /* fraction bits */
	cfg.time_shift = opt;
	cfg.time_shift_bytes = (uint32_t)(p - opt);
	w = tdw_new(&cfg);
	want = record(w, &cfg, 0, 500, 0, 9, map_shift);
	tdw_finish(w, test_path("shift.dat"));
	struct opened o = open_with(&wi_tracedat_ops, test_path("shift.dat"), NULL);

	assert_non_null(o.self);
	assert_int_equal(o.info->nr_damage, 0);
	assert_true(delivers(&o, &want, 100));
	close_opened(&o);
	expected_free(&want);
}

static void check_buffer(const char *path, const char *name, const char *chosen, const struct expected_list *want,
			 uint32_t nr_buffers)
{
	const struct wi_open_opts opts = { .buffer = name };

	for (int lib = 0; lib < 2; lib++) {
		struct opened o = open_with(lib ? &wi_tracecmdlib_ops : &wi_tracedat_ops, path, &opts);

		if (!o.self)
			fail_msg("%s", o.err.msg);
		assert_int_equal(o.info->nr_buffers, nr_buffers);
		for (uint32_t i = 0; i < nr_buffers && !lib; i++)
			assert_int_equal(o.info->buffers[i].chosen, !strcmp(o.info->buffers[i].name, chosen));
		assert_true(delivers(&o, want, 100));
		close_opened(&o);
	}
}

static void test_buffers(void **state)
{
	struct tdw_cfg cfg = plain;
	struct expected_list in_devlib, in_other;
	struct opened o;

	(void)state;
	cfg.buffers[0] = "other";
	cfg.buffers[1] = "devlib";
	for (cfg.version = 6; cfg.version < 8; cfg.version++) {
		struct tdw *w = tdw_new(&cfg);

		cfg.codec = cfg.version == 7 ? TDW_ZSTD : TDW_NONE;
		/* top: most bytes, but no sched event; a marker */
		for (int i = 0; i < 5000; i++)
			tdw_function(w, 0, 0, 1000 + (uint64_t)i, 1);
		in_devlib = record(w, &cfg, 2, 1500, ALL, 3, NULL);
		in_other = record(w, &cfg, 1, 200, ALL, 4, NULL);
		tdw_finish(w, test_path("buffers.dat"));
		check_buffer(test_path("buffers.dat"), NULL, "devlib", &in_devlib, 3);
		check_buffer(test_path("buffers.dat"), "other", "other", &in_other, 3);
		expected_free(&in_devlib);
		expected_free(&in_other);
	}
	o = open_with(&wi_tracedat_ops, test_path("buffers.dat"), &(const struct wi_open_opts){ .buffer = "no\nsuch" });
	assert_null(o.self);
	assert_int_equal(o.err.code, WI_EREFUSED);
	assert_non_null(strstr(o.err.msg, "devlib"));
	assert_null(strchr(o.err.msg, '\n'));
	close_opened(&o);
}

static void test_facts(void **state)
{
	struct tdw_cfg cfg = plain;
	struct tdw *w;
	struct expected_list want;

	(void)state;
	cfg.clock = "local [mono] global";
	cfg.uname = "Linux some host 6.12.1-rc3 aarch64";
	for (cfg.version = 6; cfg.version < 8; cfg.version++) {
		w = tdw_new(&cfg);
		want = record(w, &cfg, 0, 300, REC_LOST | REC_EMPTY_CPU, 11, NULL);
		tdw_stat(w, 2, 40, 3);
		tdw_cmdline(w, 4242, "a name with blanks");
		tdw_cmdline(w, 17, "x");
		tdw_finish(w, test_path("facts.dat"));
		struct opened o = open_with(&wi_tracedat_ops, test_path("facts.dat"), NULL);

		assert_non_null(o.self);
		assert_string_equal(o.info->kernel, "6.12.1-rc3");
		assert_string_equal(o.info->arch, "aarch64");
		assert_string_equal(o.info->clock,
				    cfg.version == 6 ? "mono" : "local"); /* the buffer's own comes first */
		assert_int_equal(o.info->page_size, 4096);
		assert_true(o.info->looks_ahead);
		assert_int_equal(o.info->time_res_ns, 1);
		assert_false(o.info->cpu[1].has_data);
		assert_int_equal(o.info->cpu[1].first_pid, -1);
		assert_int_equal(o.info->cpu[2].overrun, 40);
		assert_int_equal(o.info->cpu[2].lost, 3);
		assert_true(o.info->cpu[2].overwritten);
		assert_false(o.info->cpu[0].overwritten);
		assert_true(o.info->cpu[0].has_data);
		assert_int_equal(o.info->cpu[0].first_pid, 0);
		assert_in_range(o.info->cpu[0].first_ts_ns, 5000000000, 5000200000);
		assert_true(o.info->cpu[0].bytes >= 4096);
		assert_string_equal(wi_names_get(o.names, o.ops->comm_of(o.self, 4242)), "a name with blanks");
		assert_string_equal(wi_names_get(o.names, o.ops->comm_of(o.self, 17)), "x");
		assert_int_equal(o.ops->comm_of(o.self, 18), WI_NAME_NONE);
		close_opened(&o);
		expected_free(&want);
	}
}

/* The file header says 4096, the ring buffer has pages of another size, as its own header_page says. */
static void test_sub_buffer_size(void **state)
{
	static const uint32_t sizes[] = { 8192, 16384, 2048 };

	(void)state;
	for (int i = 0; i < 3; i++) {
		struct tdw_cfg cfg = plain;

		cfg.page_bytes = sizes[i];
		cfg.header_page_bytes = 4096;
		write_and_compare(&cfg, "sub.dat", 3000, ALL, false);
		write_and_compare(&cfg, "sub-small.dat", 12, 0, false);
	}
}

static void test_gpuvis_option(void **state)
{
	struct tdw_cfg cfg = plain;
	struct tdw *w;
	struct expected_list want;
	struct opened o;

	(void)state;
	cfg.gpuvis_tgids = true;
	w = tdw_new(&cfg);
	want = record(w, &cfg, 0, 500, 0, 1, NULL);
	tdw_finish(w, test_path("gpuvis.dat"));
	o = open_with(&wi_tracedat_ops, test_path("gpuvis.dat"), NULL);
	assert_non_null(o.self);
	assert_int_equal(o.info->nr_cpus, 4);
	assert_true(delivers(&o, &want, 100));
	close_opened(&o);
	o = open_with(&wi_tracecmdlib_ops, test_path("gpuvis.dat"), NULL);
	assert_null(o.self);
	assert_int_equal(o.err.code, WI_EREFUSED);
	assert_non_null(strstr(o.err.msg, "option 8"));
	close_opened(&o);
	expected_free(&want);
}

static void refused(const struct tdw_cfg *cfg, const char *why)
{
	struct tdw *w = tdw_new(cfg);
	struct opened o;

	tdw_finish(w, test_path("refused.dat"));
	o = open_with(&wi_tracedat_ops, test_path("refused.dat"), NULL);
	assert_null(o.self);
	assert_int_equal(o.err.code, WI_EREFUSED);
	if (!strstr(o.err.msg, why) || !strstr(o.err.msg, "refused.dat"))
		fail_msg("%s", o.err.msg);
	close_opened(&o);
}

static void test_latency_file(void **state)
{
	struct tdw_cfg cfg = plain;

	(void)state;
	cfg.latency = true;
	refused(&cfg, "latency trace");
	cfg.version = 7;
	refused(&cfg, "latency trace");
	cfg.codec = TDW_ZSTD;
	refused(&cfg, "latency trace");
}

/* Events of a type that nobody wants may be left out, and the chain is followed all the same. */
static void test_filter(void **state)
{
	struct tdw_cfg cfg = plain;
	struct tdw *w = tdw_new(&cfg);
	struct expected_list want = record(w, &cfg, 0, 3000, REC_ALL_TYPES | REC_HIDDEN, 21, NULL);
	uint64_t n[WI_NR_EVENT_TYPES], migrates = 0;
	struct opened o;

	(void)state;
	tdw_finish(w, test_path("filter.dat"));
	for (size_t i = 0; i < want.nr; i++)
		migrates += want.e[i].ev.type == WI_EV_SCHED_MIGRATE_TASK;
	for (int lib = 0; lib < 2; lib++) {
		o = open_with(lib ? &wi_tracecmdlib_ops : &wi_tracedat_ops, test_path("filter.dat"), NULL);
		assert_non_null(o.self);
		o.ops->set_filter(o.self, WI_EV_BIT(SCHED_MIGRATE_TASK));
		assert_true(count_events(&o, n));
		assert_int_equal(n[WI_EV_SCHED_MIGRATE_TASK], migrates);
		assert_in_range(n[WI_EV_SCHED_SWITCH], 0, 4); /* what stood ready at open */
		assert_int_equal(n[WI_EV_LOST], 0);
		close_opened(&o);
	}
	expected_free(&want);
}

/* Memory does not grow with the file, nor with its chunks: 64 CPUs with chunks that would not fit together. */
static void test_memory(void **state)
{
	struct tdw_cfg cfg = plain;
	struct rusage before, after;
	uint64_t n[WI_NR_EVENT_TYPES];
	struct opened o;

	(void)state;
	cfg.version = 7;
	cfg.codec = TDW_ZSTD;
	cfg.nr_cpus = 64;
	cfg.page_bytes = 65536;
	cfg.chunk_pages = 10;
	struct tdw *w = tdw_new(&cfg);
	struct expected_list want = record(w, &cfg, 0, 300000, 0, 2, NULL);

	tdw_finish(w, test_path("memory.dat"));
	expected_free(&want);
	getrusage(RUSAGE_SELF, &before);
	o = open_with(&wi_tracedat_ops, test_path("memory.dat"), NULL);
	assert_non_null(o.self);
	assert_true(count_events(&o, n));
	assert_true(n[WI_EV_SCHED_SWITCH] > 90000);
	assert_int_equal(o.info->nr_damage, 0);
	close_opened(&o);
	getrusage(RUSAGE_SELF, &after);
	/* sanitizers keep freed memory: the bound holds for the plain program */
#ifndef __SANITIZE_ADDRESS__
	assert_in_range(after.ru_maxrss - before.ru_maxrss, 0, 40 << 10);
#endif
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_memory),
		cmocka_unit_test(test_every_container),
		cmocka_unit_test(test_formats_of_other_kernels),
		cmocka_unit_test(test_cpus),
		cmocka_unit_test(test_equal_stamps),
		cmocka_unit_test(test_clock_options),
		cmocka_unit_test(test_time_shift),
		cmocka_unit_test(test_buffers),
		cmocka_unit_test(test_facts),
		cmocka_unit_test(test_sub_buffer_size),
		cmocka_unit_test(test_gpuvis_option),
		cmocka_unit_test(test_latency_file),
		cmocka_unit_test(test_filter),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
