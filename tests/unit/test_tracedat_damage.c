/* SPDX-License-Identifier: GPL-2.0-or-later */
/* trace.dat files that were cut, flipped, or lie about themselves: what is whole is read, the rest is named. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include <unistd.h>

#include "analyzer/base/cpumask.h"
#include "tests/unit/share.h"
#include "tracedat_fixture.h"

#define CPUS 4
#define EVENTS 2500

static const struct tdw_cfg plain = { .version = 6,
				      .long_size = 8,
				      .page_bytes = 1024,
				      .nr_cpus = CPUS,
				      .uname = "Linux h 6.1.0 x86_64",
				      .chunk_pages = 2 };

struct file {
	uint8_t *bytes;
	size_t len;
};

static struct file load(const char *path)
{
	FILE *f = fopen(path, "rb");
	struct file out = { 0 };

	assert_non_null(f);
	fseek(f, 0, SEEK_END);
	out.len = (size_t)ftell(f);
	rewind(f);
	out.bytes = malloc(out.len);
	assert_int_equal(fread(out.bytes, 1, out.len, f), out.len);
	fclose(f);
	return out;
}

static const char *save(const uint8_t *bytes, size_t len)
{
	const char *path = test_path("damaged.dat");
	FILE *f = fopen(path, "wb");

	assert_non_null(f);
	assert_int_equal(fwrite(bytes, 1, len, f), len);
	fclose(f);
	return path;
}

static void one_line(const struct opened *o)
{
	assert_true(o->err.code == WI_EREFUSED);
	assert_non_null(strstr(o->err.msg, "damaged.dat"));
	assert_null(strchr(o->err.msg, '\n'));
}

/* Sane whatever the file holds. */
static void check_event(const struct opened *o, const struct wi_event *ev, uint64_t *last)
{
	assert_in_range(ev->type, 0, WI_NR_EVENT_TYPES - 1);
	assert_true(ev->ts_ns >= *last);
	*last = ev->ts_ns;
	assert_in_range(ev->cpu, 0, o->info->nr_cpus - 1);
	assert_in_range(ev->common_pid, 0, WI_PID_MAX);
	if (ev->type == WI_EV_SCHED_SWITCH) {
		assert_in_range(ev->sw.prev_pid, 0, WI_PID_MAX);
		assert_in_range(ev->sw.next_pid, 0, WI_PID_MAX);
		assert_in_range(ev->sw.next_prio + 1, 0, 141);
	}
	if (ev->type == WI_EV_SCHED_MIGRATE_TASK)
		assert_in_range(ev->mig.dest_cpu, 0, WI_MAX_CPUS - 1);
	if (ev->type == WI_EV_MARKER)
		assert_in_range(ev->marker.len, 0, 1 << 20);
}

static uint64_t read_sane(struct opened *o)
{
	struct wi_event ev[100];
	uint64_t last = 0, total = 0;
	int n;

	while ((n = o->ops->next_batch(o->self, ev, 100, &o->err)) > 0) {
		for (int i = 0; i < n; i++)
			check_event(o, &ev[i], &last);
		total += (uint64_t)n;
		assert_true(total < 1000000);
	}
	assert_int_equal(n, 0);
	assert_in_range(o->info->nr_damage, 0, 64);
	for (uint32_t i = 0; i < o->info->nr_damage; i++)
		assert_in_range(strlen(o->info->damage[i].what), 5, sizeof(o->info->damage[i].what) - 1);
	return total;
}

/* Every CPU's events are the first of what was written there; losses may come in addition. Events that came. */
static size_t read_prefixes(struct opened *o, const struct expected_list *want)
{
	size_t next[CPUS] = { 0 }, got = 0;
	struct wi_event ev[64];
	uint64_t last = 0;
	int n;

	while ((n = o->ops->next_batch(o->self, ev, 64, &o->err)) > 0) {
		for (int i = 0; i < n; i++) {
			size_t *at = &next[ev[i].cpu];

			check_event(o, &ev[i], &last);
			if (ev[i].type == WI_EV_LOST)
				continue;
			while (*at < want->nr &&
			       (want->e[*at].ev.cpu != ev[i].cpu || want->e[*at].ev.type == WI_EV_LOST))
				++*at;
			assert_true(*at < want->nr);
			assert_int_equal(want->e[*at].ev.ts_ns, ev[i].ts_ns);
			assert_int_equal(want->e[*at].ev.type, ev[i].type);
			++*at;
			got++;
		}
	}
	assert_int_equal(n, 0);
	return got;
}

static void cut_everywhere(struct tdw_cfg cfg)
{
	struct tdw *w = tdw_new(&cfg);
	struct expected_list want = record(w, &cfg, 0, EVENTS, REC_ALL_TYPES | REC_TIMES, 5, NULL);
	uint32_t opened = 0, refused = 0, with_events = 0;
	size_t most = 0;
	struct file f;

	tdw_finish(w, test_path("whole.dat"));
	f = load(test_path("whole.dat"));
	for (size_t len = 0; len < f.len; len += 1 + len / 9 % 211) {
		struct opened o = open_with(&wi_tracedat_ops, save(f.bytes, len), NULL);

		if (!o.self) {
			refused++;
			one_line(&o);
		} else {
			size_t got = read_prefixes(&o, &want);

			opened++;
			assert_true(o.info->nr_damage > 0);
			with_events += got > 0;
			most = got > most ? got : most;
		}
		close_opened(&o);
	}
	assert_true(refused > 10);
	assert_true(with_events > 20);
	assert_true(most > want.nr * 8 / 10);
	free(f.bytes);
	expected_free(&want);
}

static void test_cut_v6(void **state)
{
	(void)state;
	cut_everywhere(plain);
}

static void test_cut_v7(void **state)
{
	struct tdw_cfg cfg = plain;

	(void)state;
	cfg.version = 7;
	cut_everywhere(cfg);
	cfg.codec = TDW_ZSTD;
	cut_everywhere(cfg);
	cfg.codec = TDW_ZLIB;
	cfg.big_endian = true;
	cut_everywhere(cfg);
}

/* The table of a cut file is lost: CPUs without data must not shift the numbers of those behind them. */
static void test_cut_with_an_empty_cpu(void **state)
{
	struct tdw_cfg cfg = plain;

	(void)state;
	cfg.version = 7;
	cfg.codec = TDW_ZSTD;
	cfg.skip_empty_cpus = true;
	struct tdw *w = tdw_new(&cfg);
	struct expected_list want = record(w, &cfg, 0, EVENTS, REC_EMPTY_CPU, 5, NULL);

	tdw_finish(w, test_path("whole.dat"));
	struct file f = load(test_path("whole.dat"));
	struct opened o = open_with(&wi_tracedat_ops, save(f.bytes, f.len - 150), NULL);

	assert_non_null(o.self);
	assert_false(o.info->cpu[1].has_data);
	assert_true(o.info->cpu[3].has_data);
	assert_true(read_prefixes(&o, &want) > EVENTS / 3);
	close_opened(&o);
	free(f.bytes);
	expected_free(&want);
}

/* Whatever a flipped bit does: no crash, no hang, sane events, or one line. */
static void flip(struct tdw_cfg cfg, uint32_t rounds)
{
	struct tdw *w = tdw_new(&cfg);
	struct expected_list want =
		record(w, &cfg, 0, EVENTS, REC_ALL_TYPES | REC_TIMES | REC_LOST | REC_HIDDEN, 6, NULL);
	uint64_t seed = cfg.version * 10 + cfg.codec;
	struct file f;

	tdw_finish(w, test_path("whole.dat"));
	expected_free(&want);
	f = load(test_path("whole.dat"));
	for (uint32_t i = 0; i < rounds; i++) {
		uint8_t was[4];
		size_t at[4];

		for (int k = 0; k < 4; k++) {
			seed = seed * 6364136223846793005u + 1442695040888963407u;
			at[k] = (size_t)(seed >> 20) % (i % 3 ? f.len : f.len / 8);
			was[k] = f.bytes[at[k]];
			f.bytes[at[k]] ^= (uint8_t)(1 << (seed >> 60 & 7));
		}
		struct opened o = open_with(&wi_tracedat_ops, save(f.bytes, f.len), NULL);

		if (o.self) {
			uint64_t n = read_sane(&o);

			assert_true(o.ops->rewind(o.self, &o.err));
			assert_int_equal(read_sane(&o), n);
			o.ops->comm_of(o.self, 4);
		} else {
			one_line(&o);
		}
		close_opened(&o);
		for (int k = 3; k >= 0; k--)
			f.bytes[at[k]] = was[k];
	}
	free(f.bytes);
}

static void test_flipped_bits(void **state)
{
	struct tdw_cfg cfg = plain;

	(void)state;
	flip(cfg, test_share(400));
	cfg.version = 7;
	flip(cfg, test_share(400));
	cfg.codec = TDW_ZSTD;
	flip(cfg, test_share(400));
	cfg.codec = TDW_ZLIB;
	cfg.big_endian = true;
	cfg.long_size = 4;
	flip(cfg, test_share(400));
}

static struct wi_event at(uint32_t cpu, uint64_t ts, enum wi_event_type type)
{
	return (struct wi_event){ .cpu = cpu, .ts_ns = ts, .type = (uint8_t)type, .known = WI_KNOWN_COMMON_PID };
}

static void switch_event(struct tdw *w, uint32_t cpu, uint64_t ts, int32_t prev, int32_t next)
{
	struct wi_event ev = at(cpu, ts, WI_EV_SCHED_SWITCH);

	ev.common_pid = ev.sw.prev_pid = prev;
	ev.sw.next_pid = next;
	ev.sw.prev_state = 'S';
	ev.sw.prev_prio = ev.sw.next_prio = 120;
	tdw_event(w, 0, &ev, "p", "n");
}

static struct opened finish_and_open(struct tdw *w)
{
	tdw_finish(w, test_path("damaged.dat"));
	return open_with(&wi_tracedat_ops, test_path("damaged.dat"), NULL);
}

/* A bad page loses itself only: the CPU goes on at the next, with a loss in between. */
static void test_bad_page(void **state)
{
	struct tdw *w = tdw_new(&plain);
	uint8_t bad[1024];
	struct wi_event ev[16];
	struct opened o;

	(void)state;
	memset(bad, 0x7f, sizeof(bad));
	switch_event(w, 0, 1000, 0, 5);
	tdw_raw_page(w, 0, 0, bad);
	tdw_raw_page(w, 0, 0, bad);
	switch_event(w, 0, 3000, 7, 8);
	switch_event(w, 1, 2000, 0, 9);
	o = finish_and_open(w);
	assert_non_null(o.self);
	assert_int_equal(o.ops->next_batch(o.self, ev, 16, &o.err), 4);
	assert_int_equal(ev[0].ts_ns, 1000);
	assert_int_equal(ev[1].type, WI_EV_LOST);
	assert_int_equal(ev[1].ts_ns, 1000);
	assert_int_equal(ev[1].cpu, 0);
	assert_int_equal(ev[1].lost.kind, WI_LOST_MARK);
	assert_int_equal(ev[1].lost.nr_lost, 0);
	assert_int_equal(ev[2].ts_ns, 2000);
	assert_int_equal(ev[3].ts_ns, 3000);
	assert_int_equal(o.info->nr_damage, 1);
	assert_non_null(strstr(o.info->damage[0].what, "commit word 0x7f7f7f7f"));
	assert_non_null(strstr(o.info->damage[0].what, "1 more"));
	assert_false(o.info->cpu[0].overwritten);
	close_opened(&o);
}

static void test_a_file_full_of_bad_pages(void **state)
{
	struct tdw *w = tdw_new(&plain);
	uint8_t bad[1024];
	struct wi_event ev[16];
	struct opened o;

	(void)state;
	memset(bad, 0xff, sizeof(bad));
	for (int i = 0; i < 5000; i++)
		tdw_raw_page(w, 0, (uint32_t)i % CPUS, bad);
	o = finish_and_open(w);
	assert_non_null(o.self);
	assert_int_equal(o.ops->next_batch(o.self, ev, 16, &o.err), 0);
	assert_int_equal(o.info->nr_damage, CPUS);
	assert_non_null(strstr(o.info->damage[3].what, "1249 more"));
	close_opened(&o);
}

/* A record that exceeds its page: what came before it stays. */
static void test_bad_record(void **state)
{
	struct tdw *w = tdw_new(&plain);
	uint8_t page[1024] = { 0 };
	struct wi_event ev[16];
	struct opened o;

	(void)state;
	switch_event(w, 2, 1000, 0, 5);
	page[0] = 0xd0, page[1] = 0x07; /* 2000 */
	page[8] = 40;
	page[16] = 28; /* 112 bytes in a page with 40 */
	tdw_raw_page(w, 0, 2, page);
	switch_event(w, 2, 3000, 5, 6);
	o = finish_and_open(w);
	assert_int_equal(o.ops->next_batch(o.self, ev, 16, &o.err), 3);
	assert_int_equal(ev[1].type, WI_EV_LOST);
	assert_int_equal(ev[2].ts_ns, 3000);
	assert_int_equal(o.info->nr_damage, 1);
	assert_non_null(strstr(o.info->damage[0].what, "CPU 2"));
	close_opened(&o);
}

static void test_impossible_fields(void **state)
{
	struct tdw *w = tdw_new(&plain);
	struct wi_event ev[16], e;
	struct opened o;

	(void)state;
	switch_event(w, 0, 1000, 0, 5);
	switch_event(w, 0, 1100, 5, WI_PID_MAX + 1);
	switch_event(w, 0, 1200, 3, 4);
	e = at(0, 1300, WI_EV_SCHED_WAKING);
	e.common_pid = 4;
	e.wk.pid = 3;
	e.wk.target_cpu = (int32_t)WI_MAX_CPUS;
	tdw_event(w, 0, &e, "x", NULL);
	e.wk.target_cpu = 1;
	e.wk.prio = 5000;
	e.ts_ns = 1400;
	tdw_event(w, 0, &e, "x", NULL);
	o = finish_and_open(w);
	assert_int_equal(o.ops->next_batch(o.self, ev, 16, &o.err), 5);
	assert_int_equal(ev[0].ts_ns, 1000);
	assert_int_equal(ev[1].type, WI_EV_LOST);
	assert_int_equal(ev[1].ts_ns, 1100);
	assert_int_equal(ev[2].ts_ns, 1200);
	assert_int_equal(ev[3].type, WI_EV_LOST);
	assert_int_equal(ev[4].type, WI_EV_LOST);
	assert_int_equal(o.info->unparsed, 3);
	assert_int_equal(o.info->nr_damage, 1);
	assert_non_null(strstr(o.info->damage[0].what, "sched_switch"));
	assert_int_equal(wi_names_count(o.names), 3); /* <...>, p, n: nothing of the bad records */
	close_opened(&o);
}

/* No mark anywhere, but a switch is missing. */
static void test_broken_chain(void **state)
{
	struct tdw *w = tdw_new(&plain);
	struct wi_event ev[16], e;
	struct opened o;

	(void)state;
	switch_event(w, 0, 1000, 0, 5);
	switch_event(w, 0, 2000, 6, 7);
	e = at(0, 3000, WI_EV_OTHER);
	e.common_pid = 8;
	tdw_event(w, 0, &e, NULL, NULL);
	switch_event(w, 1, 1500, 0, 5);
	o = finish_and_open(w);
	assert_int_equal(o.ops->next_batch(o.self, ev, 16, &o.err), 6);
	assert_int_equal(ev[1].type, WI_EV_LOST);
	assert_int_equal(ev[1].ts_ns, 1000);
	assert_int_equal(ev[1].lost.kind, WI_LOST_CHAIN);
	assert_int_equal(ev[2].ts_ns, 1500);
	assert_int_equal(ev[3].ts_ns, 2000);
	assert_int_equal(ev[4].type, WI_EV_LOST);
	assert_int_equal(ev[4].ts_ns, 2000);
	assert_int_equal(ev[5].type, WI_EV_OTHER);
	assert_int_equal(o.info->nr_damage, 0);
	close_opened(&o);
}

static void test_time_backward(void **state)
{
	struct tdw *w = tdw_new(&plain);
	struct wi_event ev[16];
	struct opened o;

	(void)state;
	switch_event(w, 0, 5000, 0, 5);
	tdw_page_break(w, 0, 0);
	switch_event(w, 0, 1000, 5, 6);
	switch_event(w, 0, 6000, 6, 7);
	switch_event(w, 1, 5500, 0, 8);
	o = finish_and_open(w);
	assert_int_equal(o.ops->next_batch(o.self, ev, 16, &o.err), 4);
	assert_int_equal(ev[0].ts_ns, 5000);
	assert_int_equal(ev[1].ts_ns, 5000);
	assert_int_equal(ev[1].sw.next_pid, 6);
	assert_int_equal(ev[2].cpu, 1);
	assert_int_equal(ev[3].ts_ns, 6000);
	assert_int_equal(o.info->unordered, 1);
	assert_true(o.ops->rewind(o.self, &o.err));
	assert_int_equal(o.ops->next_batch(o.self, ev, 16, &o.err), 4);
	assert_int_equal(o.info->unordered, 1);
	close_opened(&o);
}

/* Data of CPU 3 are cut off as a whole: it is lost from the first instant, it did not idle. */
static void test_cpu_without_its_data(void **state)
{
	struct tdw *w = tdw_new(&plain);
	struct wi_event ev[16];
	struct opened o;
	struct file f;

	(void)state;
	switch_event(w, 0, 1000, 0, 5);
	switch_event(w, 3, 1100, 0, 5);
	tdw_finish(w, test_path("whole.dat"));
	f = load(test_path("whole.dat"));
	o = open_with(&wi_tracedat_ops, save(f.bytes, f.len - 1024), NULL);
	assert_non_null(o.self);
	assert_int_equal(o.ops->next_batch(o.self, ev, 16, &o.err), 2);
	assert_int_equal(ev[0].type, WI_EV_LOST);
	assert_int_equal(ev[0].cpu, 3);
	assert_int_equal(ev[0].ts_ns, 1000);
	assert_int_equal(ev[1].cpu, 0);
	assert_false(o.info->cpu[3].has_data);
	assert_int_equal(o.info->nr_damage, 1);
	assert_non_null(strstr(o.info->damage[0].what, "CPU 3"));
	close_opened(&o);
	free(f.bytes);
}

/* A chunk that does not inflate is skipped; one that claims too much ends its CPU. Neither touches the others. */
static void test_bad_chunks(void **state)
{
	struct tdw_cfg cfg = plain;
	struct opened o;
	struct file f;
	size_t chunk = 0;

	(void)state;
	cfg.version = 7;
	cfg.codec = TDW_ZSTD;
	struct tdw *w = tdw_new(&cfg);
	for (int i = 0; i < 400; i++)
		switch_event(w, 0, 1000 + (uint64_t)i, i, i + 1), switch_event(w, 1, 1000 + (uint64_t)i, i, i + 1);
	tdw_finish(w, test_path("whole.dat"));
	f = load(test_path("whole.dat"));
	/* the first zstd frame at a page's start + 12 is CPU 0's first chunk */
	for (size_t p = 0; p + 16 < f.len && !chunk; p += 1024)
		if (!memcmp(f.bytes + p + 12, "\x28\xb5\x2f\xfd", 4))
			chunk = p + 4;
	assert_true(chunk > 0);

	f.bytes[chunk + 8] ^= 0xff;
	o = open_with(&wi_tracedat_ops, save(f.bytes, f.len), NULL);
	assert_non_null(o.self);
	uint64_t n = read_sane(&o);
	assert_in_range(n, 600, 799);
	assert_int_equal(o.info->nr_damage, 1);
	assert_non_null(strstr(o.info->damage[0].what, "do not inflate"));
	assert_int_equal(o.info->damage[0].offset, chunk);
	close_opened(&o);

	f.bytes[chunk + 8] ^= 0xff;
	f.bytes[chunk + 7] = 0x40; /* inflates to a gigabyte */
	o = open_with(&wi_tracedat_ops, save(f.bytes, f.len), NULL);
	assert_non_null(o.self);
	assert_in_range(read_sane(&o), 400, 402);
	assert_non_null(strstr(o.info->damage[0].what, "absurd size of a chunk"));
	close_opened(&o);
	free(f.bytes);
}

static void refuse_patched(const struct file *f, size_t offset, const void *bytes, size_t n, const char *why)
{
	uint8_t was[64];
	struct opened o;

	memcpy(was, f->bytes + offset, n);
	memcpy(f->bytes + offset, bytes, n);
	o = open_with(&wi_tracedat_ops, save(f->bytes, f->len), NULL);
	assert_null(o.self);
	one_line(&o);
	if (!strstr(o.err.msg, why))
		fail_msg("%s", o.err.msg);
	close_opened(&o);
	memcpy(f->bytes + offset, was, n);
}

static size_t find(const struct file *f, const char *what)
{
	const uint8_t *p = memmem(f->bytes, f->len, what, strlen(what));

	assert_non_null(p);
	return (size_t)(p - f->bytes);
}

static void test_refused_by_name(void **state)
{
	struct tdw *w = tdw_new(&plain);
	struct file f;

	(void)state;
	switch_event(w, 0, 1000, 0, 5);
	tdw_finish(w, test_path("whole.dat"));
	f = load(test_path("whole.dat"));
	refuse_patched(&f, 0, "\x7f", 1, "@0x0: not a trace.dat");
	refuse_patched(&f, 10, "5", 1, "version of the file is not known: 5");
	refuse_patched(&f, 10, "9", 1, "version of the file is not known: 9");
	refuse_patched(&f, 12, "\x02", 1, "byte order");
	refuse_patched(&f, 13, "\x10", 1, "size of long");
	refuse_patched(&f, 14, "\0\0\0\0", 4, "absurd page size: 0");
	refuse_patched(&f, 14, "\xff\xff\xff\x7f", 4, "absurd page size");
	refuse_patched(&f, find(&f, "header_page"), "x", 1, "header_page is missing");
	refuse_patched(&f, find(&f, "header_page") + 19, "\x7f", 1, "absurd size of header_page");
	refuse_patched(&f, find(&f, "5 bits"), "6", 1, "type_len 6");
	refuse_patched(&f, find(&f, "flyrecord"), "F", 1, "kind of data is not known");
	refuse_patched(&f, find(&f, "options  ") - 4, "\xff\xff\xff\xff", 4, "impossible number of CPUs: 4294967295");
	refuse_patched(&f, find(&f, "field:pid_t next_pid"), "field:pid_t nextXpid", 20,
		       "format of sched_switch: no usable field next_pid");
	refuse_patched(&f, find(&f, "field:int prev_prio"), "field:int prev_Prio", 19, "no usable field prev_prio");
	free(f.bytes);
}

/* A format without a field that only some events need takes those events away, not the file. */
static void test_field_missing_elsewhere(void **state)
{
	struct tdw *w = tdw_new(&plain);
	struct wi_event ev[16];
	struct file f;
	struct opened o;

	(void)state;
	switch_event(w, 0, 1000, 0, 5);
	struct wi_event e = at(0, 2000, WI_EV_CPU_IDLE);

	e.common_pid = 5;
	tdw_event(w, 0, &e, NULL, NULL);
	tdw_finish(w, test_path("whole.dat"));
	f = load(test_path("whole.dat"));
	memcpy(f.bytes + find(&f, "cpu_id;"), "cpu_ix;", 7);
	memcpy(f.bytes + find(&f, "prev_state;"), "prev_stats;", 11);
	o = open_with(&wi_tracedat_ops, save(f.bytes, f.len), NULL);
	assert_non_null(o.self);
	assert_int_equal(o.ops->next_batch(o.self, ev, 16, &o.err), 2);
	assert_int_equal(ev[0].sw.prev_state, '?');
	assert_false(ev[0].known & (WI_KNOWN_STATE | WI_KNOWN_PREEMPTED));
	assert_int_equal(ev[1].type, WI_EV_OTHER);
	assert_int_equal(o.info->nr_damage, 1);
	assert_non_null(strstr(o.info->damage[0].what, "cpu_idle: no usable field cpu_id"));
	close_opened(&o);
	free(f.bytes);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_cut_v6),
		cmocka_unit_test(test_cut_v7),
		cmocka_unit_test(test_cut_with_an_empty_cpu),
		cmocka_unit_test(test_flipped_bits),
		cmocka_unit_test(test_bad_page),
		cmocka_unit_test(test_a_file_full_of_bad_pages),
		cmocka_unit_test(test_bad_record),
		cmocka_unit_test(test_impossible_fields),
		cmocka_unit_test(test_broken_chain),
		cmocka_unit_test(test_time_backward),
		cmocka_unit_test(test_cpu_without_its_data),
		cmocka_unit_test(test_bad_chunks),
		cmocka_unit_test(test_refused_by_name),
		cmocka_unit_test(test_field_missing_elsewhere),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
