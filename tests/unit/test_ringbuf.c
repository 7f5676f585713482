/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The page walker and the merge on pages made by hand. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "parsers/merge.h"
#include "parsers/ringbuf.h"

#define PAGE 256

static const char page_text[] = "\tfield: u64 timestamp;\toffset:0;\tsize:8;\tsigned:0;\n\tfield: local_t "
				"commit;\toffset:8;\tsize:8;\tsigned:1;\n"
				"\tfield: int overwrite;\toffset:8;\tsize:1;\tsigned:1;\n\tfield: char "
				"data;\toffset:16;\tsize:240;\tsigned:1;\n";
static const char event_text[] =
	"# compressed entry header\n\ttype_len    :    5 bits\n\ttime_delta  :   27 bits\n\tarray       :   32 bits\n\n"
	"\tpadding     : type == 29\n\ttime_extend : type == 30\n\tdata max type_len  == 28\n";

static struct wi_rb_layout layout_of(const char *page, const char *event, uint32_t long_size, struct wi_err *err)
{
	struct wi_rb_layout l = { .page_bytes = PAGE };

	wi_rb_layout_init(&l, page, page ? strlen(page) : 0, event, event ? strlen(event) : 0, long_size, "f", 7, err);
	return l;
}

static void test_layout(void **state)
{
	struct wi_err err = { 0 };
	struct wi_rb_layout l = layout_of(page_text, event_text, 4, &err);

	(void)state;
	assert_int_equal(err.code, WI_OK);
	assert_int_equal(l.commit_offset, 8);
	assert_int_equal(l.commit_size, 8); /* the kernel's long, not the user space's */
	assert_int_equal(l.data_offset, 16);
	assert_int_equal(l.header_bytes, 256);
	l = layout_of(NULL, NULL, 4, &err);
	assert_int_equal(err.code, WI_OK);
	assert_int_equal(l.data_offset, 12);
	assert_int_equal(l.commit_size, 4);
}

static void layout_refused(const char *page, const char *event, const char *why)
{
	struct wi_err err = { 0 };

	layout_of(page, event, 8, &err);
	assert_int_equal(err.code, WI_EREFUSED);
	if (!strstr(err.msg, why) || strncmp(err.msg, "f@0x7: ", 7) != 0)
		fail_msg("%s", err.msg);
}

static void test_layout_refused(void **state)
{
	(void)state;
	layout_refused("\tfield: u64 time;\toffset:0;\tsize:8;\n", event_text, "timestamp");
	layout_refused("\tfield: u32 timestamp;\toffset:0;\tsize:4;\n", event_text, "timestamp");
	layout_refused("\tfield: u64 timestamp;\toffset:0;\tsize:8;\n\tfield: int commit;\toffset:8;\tsize:2;\n",
		       event_text, "commit");
	layout_refused("\tfield: u64 timestamp;\toffset:0;\tsize:8;\n\tfield: local_t commit;\toffset:8;\tsize:8;\n",
		       event_text, "data");
	layout_refused("\tfield: u64 timestamp;\toffset:0;\tsize:8;\n\tfield: local_t "
		       "commit;\toffset:8;\tsize:8;\n\tfield: char data;\toffset:4;\tsize:240;\n",
		       event_text, "absurd");
	layout_refused(page_text, "\ttype_len : 4 bits\n", "type_len 4");
	layout_refused(page_text, "type : 2 bits\nlen : 3 bits\n", "type_len");
}

struct page {
	uint8_t bytes[PAGE];
	uint32_t used;
	bool big;
};

static void put(uint8_t *out, uint64_t v, int n, bool big)
{
	for (int i = 0; i < n; i++)
		out[big ? n - 1 - i : i] = (uint8_t)(v >> (8 * i));
}

static void word(struct page *p, uint32_t v)
{
	put(p->bytes + 16 + p->used, v, 4, p->big);
	p->used += 4;
}

static void head(struct page *p, uint32_t type_len, uint32_t delta)
{
	word(p, p->big ? type_len << 27 | delta : delta << 5 | type_len);
}

static void finish(struct page *p, uint64_t ts, uint64_t flags)
{
	put(p->bytes, ts, 8, p->big);
	put(p->bytes + 8, p->used | flags, 8, p->big);
}

struct seen {
	uint64_t ts[32];
	uint32_t len[32], first[32]; /* first word of the record */
	int n;
	bool bad;
};

static struct seen walk(const struct page *p, bool *opened)
{
	const struct wi_rb_layout l = { .page_bytes = PAGE, .commit_offset = 8, .commit_size = 8, .data_offset = 16 };
	struct wi_rb_page pg;
	struct seen s = { 0 };
	uint32_t commit;
	uint64_t ts;

	*opened = wi_rb_page_open(&l, p->bytes, p->big, &pg, &commit);
	if (!*opened)
		return s;
	ts = pg.ts;
	for (const uint8_t *at = pg.data; at < pg.end && s.n < 32;) {
		const uint8_t *rec, *was = at;
		uint32_t len;
		enum wi_rb_entry e = wi_rb_next(&at, pg.end, p->big, &ts, &rec, &len);

		if (e == WI_RB_BAD) {
			assert_ptr_equal(at, was);
			s.bad = true;
			break;
		}
		assert_true(at > was && at <= pg.end);
		if (e != WI_RB_RECORD)
			continue;
		assert_true(rec >= pg.data && rec + len <= pg.end);
		s.ts[s.n] = ts;
		s.len[s.n] = len;
		s.first[s.n] = len >= 4 ? wi_get32(rec, p->big) : 0;
		s.n++;
	}
	return s;
}

static void test_every_entry(void **state)
{
	bool opened;

	(void)state;
	for (int big = 0; big < 2; big++) {
		struct page p = { .big = big };

		head(&p, 2, 0); /* two words */
		word(&p, 0x11), word(&p, 0x12);
		head(&p, 30, 5); /* time extend: 3 << 27 | 5 */
		word(&p, 3);
		head(&p, 0, 7); /* the length, with itself, in a word: 9 bytes of data, padded to 12 */
		word(&p, 13), word(&p, 0x21), word(&p, 0x22), word(&p, 0);
		head(&p, 29, 1); /* discarded: 8 bytes behind the head */
		word(&p, 8), word(&p, 0xdead);
		head(&p, 31, 9); /* absolute: 2^34 + 9, with the high bits of the time before */
		word(&p, 1 << 7);
		head(&p, 1, 1);
		word(&p, 0x31);
		head(&p, 29, 0); /* the rest is empty */
		word(&p, 0xffffffff);
		finish(&p, 1000, 0);
		struct seen s = walk(&p, &opened);

		assert_true(opened);
		assert_false(s.bad);
		assert_int_equal(s.n, 3);
		assert_int_equal(s.ts[0], 1000);
		assert_int_equal(s.len[0], 8);
		assert_int_equal(s.first[0], 0x11);
		assert_int_equal(s.ts[1], 1000 + (3ull << 27) + 5 + 7);
		assert_int_equal(s.len[1], 9);
		assert_int_equal(s.first[1], 0x21);
		assert_int_equal(s.ts[2], (1ull << 34) + 9 + 1);
		assert_int_equal(s.first[2], 0x31);
	}
}

static void test_absolute_keeps_high_bits(void **state)
{
	struct page p = { 0 };
	const uint64_t base = 0x0fffffffffffff00;
	bool opened;

	(void)state;
	head(&p, 31, 0x10); /* the low 59 bits have wrapped: the next period */
	word(&p, 0);
	head(&p, 1, 0);
	word(&p, 1);
	finish(&p, base, 0);
	struct seen s = walk(&p, &opened);

	assert_int_equal(s.n, 1);
	assert_int_equal(s.ts[0], ((base >> 59) + 1) << 59 | 0x10);
}

static void test_sizes_that_do_not_fit(void **state)
{
	static const struct {
		uint32_t type_len, delta, next;
	} bad[] = {
		{ 28, 0, 0 }, { 0, 0, 3 }, { 0, 0, 0xffffffff }, { 0, 0, 1000 }, { 29, 1, 0xfffffff0 }, { 0, 0, 0 }
	};
	bool opened;

	(void)state;
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		struct page p = { 0 };

		head(&p, 1, 0);
		word(&p, 1);
		head(&p, bad[i].type_len, bad[i].delta);
		word(&p, bad[i].next);
		finish(&p, 1000, 0);
		struct seen s = walk(&p, &opened);

		assert_true(opened);
		assert_true(s.bad);
		assert_int_equal(s.n, 1);
	}
	/* records that end inside their own head */
	for (uint32_t type_len = 0; type_len < 32; type_len++) {
		struct page p = { 0 };

		head(&p, type_len, 1);
		finish(&p, 1000, 0);
		assert_true(walk(&p, &opened).bad);
	}
	struct page odd = { 0 };

	head(&odd, 1, 0);
	word(&odd, 1);
	odd.used += 2;
	finish(&odd, 1000, 0);
	assert_true(walk(&odd, &opened).bad);
}

static void test_commit(void **state)
{
	const struct wi_rb_layout l = { .page_bytes = PAGE, .commit_offset = 8, .commit_size = 8, .data_offset = 16 };
	struct wi_rb_page pg = { 0 };
	uint32_t commit;
	bool opened;

	(void)state;
	struct page p = { 0 };

	finish(&p, 5, 0);
	assert_int_equal(walk(&p, &opened).n, 0);
	assert_true(opened);
	finish(&p, 5, 240);
	assert_true(wi_rb_page_open(&l, p.bytes, false, &pg, &commit));
	finish(&p, 5, 241);
	assert_false(wi_rb_page_open(&l, p.bytes, false, &pg, &commit));
	assert_int_equal(commit, 241);
	finish(&p, 5, 1 << 28); /* a bit that has no meaning */
	assert_false(wi_rb_page_open(&l, p.bytes, false, &pg, &commit));
	for (int big = 0; big < 2; big++) {
		memset(&p, 0, sizeof(p));
		p.big = big;
		head(&p, 1, 0);
		word(&p, 1);
		finish(&p, 5, 0xffffffff80000000); /* the mark's sign in the upper half */
		assert_true(wi_rb_page_open(&l, p.bytes, big, &pg, &commit));
		assert_true(pg.missed);
		assert_int_equal(pg.nr_missed, 0);
		assert_int_equal(pg.end - pg.data, 8);
		finish(&p, 5, 0xffffffffc0000000);
		put(p.bytes + 16 + p.used, 321, 8, big);
		assert_true(wi_rb_page_open(&l, p.bytes, big, &pg, &commit));
		assert_true(pg.missed);
		assert_int_equal(pg.nr_missed, 321);
	}
	/* no room for the number */
	memset(&p, 0, sizeof(p));
	p.used = 236;
	finish(&p, 5, 0xffffffffc0000000);
	assert_true(wi_rb_page_open(&l, p.bytes, false, &pg, &commit));
	assert_int_equal(pg.nr_missed, 0);
}

static void test_plausible(void **state)
{
	struct wi_rb_layout l = { .page_bytes = PAGE, .commit_offset = 8, .commit_size = 8, .data_offset = 16 };
	uint8_t four[4 * PAGE];

	(void)state;
	for (int i = 0; i < 4; i++) {
		struct page p = { 0 };

		head(&p, 1, 0);
		word(&p, 1);
		finish(&p, 1000 + (uint64_t)i, 0);
		memcpy(four + i * PAGE, p.bytes, PAGE);
	}
	assert_int_equal(wi_rb_plausible(&l, four, sizeof(four), false), 4 * PAGE);
	assert_int_equal(wi_rb_plausible(&l, four, sizeof(four) - 1, false), 3 * PAGE);
	assert_int_equal(wi_rb_plausible(&l, four, sizeof(four), true), 0);
	put(four + 2 * PAGE, 5, 8, false); /* time runs backward */
	assert_int_equal(wi_rb_plausible(&l, four, sizeof(four), false), 2 * PAGE);
	l.page_bytes = 2 * PAGE;
	assert_int_equal(wi_rb_plausible(&l, four, sizeof(four), false), 2 * PAGE);
}

static uint64_t rnd(uint64_t *seed)
{
	*seed = *seed * 6364136223846793005u + 1442695040888963407u;
	return *seed >> 33;
}

struct item {
	uint64_t ts;
	uint32_t rank, stream, nr; /* nr: place within the stream */
};

static int by_time(const void *a, const void *b)
{
	const struct item *x = a, *y = b;

	return x->ts != y->ts	      ? (x->ts < y->ts ? -1 : 1)
	       : x->stream == y->stream ? (x->nr < y->nr ? -1 : 1)
	       : x->rank != y->rank   ? (x->rank < y->rank ? -1 : 1)
				      : (x->stream < y->stream ? -1 : 1);
}

#define STREAMS 130
#define LENGTH 50

/*
 * Streams of random lengths, with ties or with steps of up to step: what comes out must be the sorted whole. Ranks are
 * the same within a stream: else the order among ties is that of the heads, not that of the whole.
 */
static void merge_streams(uint32_t nr, uint64_t step, uint64_t *seed)
{
	struct item *item = calloc((size_t)nr * LENGTH, sizeof(*item)), *all = calloc((size_t)nr * LENGTH, sizeof(*all));
	uint32_t len[STREAMS], at[STREAMS] = { 0 };
	size_t total = 0, done = 0;
	struct wi_merge m;

	assert_true(wi_merge_init(&m, nr));
	assert_false(wi_merge_more(&m));
	for (uint32_t i = 0; i < nr; i++) {
		uint32_t rank = (uint32_t)(rnd(seed) % WI_MERGE_RANKS);
		uint64_t ts = rnd(seed) % 10;

		len[i] = (uint32_t)(rnd(seed) % LENGTH);
		for (uint32_t k = 0; k < len[i]; k++) {
			all[total++] = item[i * LENGTH + k] = (struct item){ ts, rank, i, k };
			ts += (rnd(seed) << 31 | rnd(seed)) % step;
		}
		wi_merge_start(&m, i, item[i * LENGTH].ts, rank, len[i] > 0);
	}
	qsort(all, total, sizeof(*all), by_time);
	wi_merge_build(&m);
	for (; wi_merge_more(&m); done++) {
		uint32_t i = wi_merge_winner(&m);
		const struct item *next = &item[i * LENGTH + at[i] + 1];

		assert_true(done < total && i == all[done].stream && at[i] == all[done].nr);
		if (++at[i] < len[i])
			wi_merge_replace(&m, i, next->ts, next->rank);
		else
			wi_merge_end(&m, i);
	}
	assert_int_equal(done, total);
	wi_merge_fini(&m);
	free(item);
	free(all);
}

static void test_merge(void **state)
{
	/* ties; microseconds; beyond what a key has room for; up to the end of time */
	static const uint64_t step[] = { 3, 1000000, 1ull << 50, UINT64_MAX / LENGTH - 1 };
	uint64_t seed = 7;

	(void)state;
	for (uint32_t nr = 1; nr <= STREAMS; nr += nr < 10 ? 1 : 20)
		for (int round = 0; round < 20; round++)
			merge_streams(nr, step[round % 4], &seed);
}

/* Heads at the end of time, and ties of ranks that change within a stream. */
static void test_merge_extremes(void **state)
{
	struct wi_merge m;

	(void)state;
	assert_true(wi_merge_init(&m, 3));
	wi_merge_start(&m, 0, UINT64_MAX, WI_MERGE_RANKS - 1, true);
	wi_merge_start(&m, 1, 0, 5, true);
	wi_merge_start(&m, 2, UINT64_MAX, 0, true);
	wi_merge_build(&m);
	assert_true(wi_merge_more(&m));
	assert_int_equal(wi_merge_winner(&m), 1);
	wi_merge_replace(&m, 1, UINT64_MAX, 0);
	assert_true(wi_merge_more(&m));
	assert_int_equal(wi_merge_winner(&m), 1);
	wi_merge_replace(&m, 1, UINT64_MAX, 7);
	assert_true(wi_merge_more(&m));
	assert_int_equal(wi_merge_winner(&m), 2);
	wi_merge_end(&m, 2);
	assert_int_equal(wi_merge_winner(&m), 1);
	wi_merge_end(&m, 1);
	assert_true(wi_merge_more(&m));
	assert_int_equal(wi_merge_winner(&m), 0);
	wi_merge_end(&m, 0);
	assert_false(wi_merge_more(&m));
	wi_merge_fini(&m);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_layout),
		cmocka_unit_test(test_layout_refused),
		cmocka_unit_test(test_every_entry),
		cmocka_unit_test(test_absolute_keeps_high_bits),
		cmocka_unit_test(test_sizes_that_do_not_fit),
		cmocka_unit_test(test_commit),
		cmocka_unit_test(test_plausible),
		cmocka_unit_test(test_merge),
		cmocka_unit_test(test_merge_extremes),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
