/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "store_fixture.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>
#include <sqlite3.h>

#include "analyzer/store/bundle_priv.h"

uint64_t store_random(uint64_t *seed)
{
	uint64_t z = *seed += 0x9e3779b97f4a7c15u; /* splitmix64 */

	z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9u;
	z = (z ^ z >> 27) * 0x94d049bb133111ebu;
	return z ^ z >> 31;
}

void store_hash(uint32_t n, uint8_t sha256[WI_SHA256_BYTES])
{
	wi_sha256(&n, sizeof(n), sha256);
}

static void random_cells(struct wi_bundle *b, struct wi_row *row, uint64_t *seed)
{
	const struct wi_part_info *info = wi_part_info(row->part);
	size_t text, number;

	wi_part_key(row->part, &text, &number);
	for (size_t i = 0; i < info->nr; i++) {
		struct wi_cell *c = &row->cell[i];
		bool layout = !strcmp(info->column[i].name, "layout");
		char word[16];

		if (i == text || i == number || (!layout && !store_below(seed, 3)))
			continue;
		c->type = info->column[i].type;
		c->integer = c->type == WI_CELL_INTEGER ? (int64_t)store_below(seed, 3) : 0;
		c->real = c->type == WI_CELL_REAL ? store_below(seed, 8) / 8.0 : 0;
		snprintf(word, sizeof(word), "\xc3\xa4%u", store_below(seed, 2));
		if (c->type == WI_CELL_TEXT)
			c->text = wi_bundle_copy(b, word, strlen(word));
	}
}

static void random_rows(struct wi_bundle *b, uint64_t *seed)
{
	struct wi_err err = { 0 };
	const char *const name[] = { "linux-6.1", "sticky" };

	for (enum wi_part part = WI_PART_INPUT; part < WI_NR_PARTS; part++) {
		uint32_t nr = part >= WI_PART_MODEL ? store_below(seed, 3) : store_below(seed, 4) != 0;
		size_t text, number;

		wi_part_key(part, &text, &number);
		for (uint32_t i = 0; i < nr; i++) {
			struct wi_row *row = wi_bundle_row(b, part, text, name[i % 2], number, i + 1, &err);

			assert_non_null(row);
			random_cells(b, row, seed);
		}
	}
}

static void random_figures(struct wi_bundle *b, uint64_t *seed)
{
	static const char *const path[] = { "latency.wakeup.p99_ns", "missed_idle.sibling.share", "m.x", "a",
					    "smt.u[0]" };
	struct wi_err err = { 0 };

	for (int i = 0; i < 5; i++) {
		struct wi_metric_value v = { .path = path[i], .is_real = store_below(seed, 2) };

		if (!store_below(seed, 4))
			continue;
		v.integer = v.is_real ? 0 : (int64_t)store_below(seed, 4) - 1;
		v.real = v.is_real ? store_below(seed, 4) / 3.0 : 0;
		assert_true(wi_bundle_put_metric(b, &v, &err));
	}
	for (uint32_t i = store_below(seed, 3); i--;) {
		struct wi_hist h = { 0 };

		for (uint32_t n = store_below(seed, 20); n--;)
			assert_true(wi_hist_add(&h, store_random(seed) >> (8 + store_below(seed, 56))));
		assert_true(wi_bundle_put_hist(b, i ? "latency.wakeup" : "latency.transit", &h, &err));
	}
}

void store_bundle(struct wi_bundle *b, uint64_t *seed, uint32_t nr_traces)
{
	uint32_t n = store_below(seed, nr_traces);
	struct wi_err err = { 0 };
	uint8_t hash[WI_SHA256_BYTES];
	char text[32];

	store_hash(n, hash);
	assert_true(wi_bundle_init(b, &err));
	snprintf(text, sizeof(text), "p%u", store_below(seed, 2));
	assert_true(wi_bundle_identify(b, hash, 1000 + n, store_below(seed, 3) ? text : NULL,
				       store_below(seed, 2) ? "0.10.0" : "0.9.0",
				       store_below(seed, 2) ? "{\"m\":1}" : "{}", &err));
	if (store_below(seed, 3))
		assert_true(wi_bundle_outcome(b, (enum wi_run_status)store_below(seed, WI_NR_RUN_STATUSES), "why", 0,
					      (int)store_below(seed, 3), "line\n", store_below(seed, 6), &err));
	random_rows(b, seed);
	random_figures(b, seed);
	for (uint32_t i = store_below(seed, 3); i--;) {
		snprintf(text, sizeof(text), "v%u", store_below(seed, 3));
		assert_true(wi_bundle_tag(b, i ? "kernel" : "workload", text, &err));
	}
}

void store_plain(struct wi_bundle *b, uint32_t n, const char *path, const char *analysis, const char *metric,
		 double value)
{
	struct wi_err err = { 0 };
	struct wi_metric_value v = { .path = metric, .is_real = true, .real = value };
	uint8_t hash[WI_SHA256_BYTES];

	store_hash(n, hash);
	assert_true(wi_bundle_init(b, &err));
	assert_true(wi_bundle_identify(b, hash, n, path, "1.0", analysis, &err));
	if (metric)
		assert_true(wi_bundle_put_metric(b, &v, &err));
}

/* ---- dump ---- */

#define RUN "hex(t.sha256), t.size_bytes, a.text"
#define OF_RUN(table)                                                                                                  \
	"FROM " table                                                                                                  \
	" x JOIN run r ON r.id = x.run JOIN trace t ON t.id = r.trace JOIN analysis a ON a.id = r.analysis "

static void dump_query(sqlite3 *db, FILE *out, const char *sql)
{
	sqlite3_stmt *s;
	int rc;

	if (sqlite3_prepare_v2(db, sql, -1, &s, NULL) != SQLITE_OK)
		fail_msg("%s: %s", sql, sqlite3_errmsg(db));
	while ((rc = sqlite3_step(s)) == SQLITE_ROW) {
		for (int i = 0; i < sqlite3_column_count(s); i++) {
			const unsigned char *blob = sqlite3_column_blob(s, i);
			int nr = sqlite3_column_bytes(s, i);

			fprintf(out, "|%d:", sqlite3_column_type(s, i));
			if (sqlite3_column_type(s, i) == SQLITE_BLOB)
				for (int k = 0; k < nr; k++)
					fprintf(out, "%02x", blob[k]);
			else if (sqlite3_column_type(s, i) != SQLITE_NULL)
				fputs((const char *)sqlite3_column_text(s, i), out);
		}
		fputc('\n', out);
	}
	assert_int_equal(rc, SQLITE_DONE);
	sqlite3_finalize(s);
}

static void dump_part(sqlite3 *db, FILE *out, enum wi_part part)
{
	const struct wi_part_info *info = wi_part_info(part);
	size_t text, number;
	char *sql = NULL;
	size_t size;
	FILE *s = open_memstream(&sql, &size);

	wi_part_key(part, &text, &number);
	fputs(part == WI_PART_TOPOLOGY ? "SELECT 1" : "SELECT " RUN, s);
	for (size_t i = 0; i < info->nr; i++)
		fprintf(s, ", %s.\"%s\"", part == WI_PART_INPUT ? "r" : "x", info->column[i].name);
	if (part == WI_PART_TOPOLOGY)
		fputs(" FROM topology x ORDER BY", s);
	else if (part == WI_PART_INPUT)
		fputs(" FROM run r JOIN trace t ON t.id = r.trace JOIN analysis a ON a.id = r.analysis ORDER BY", s);
	else
		fprintf(s, " " OF_RUN("%s") "ORDER BY", info->table);
	for (size_t i = 0; i < info->nr + (part == WI_PART_TOPOLOGY ? 0 : 3); i++)
		fprintf(s, "%s %zu", i ? "," : "", i + 1);
	fclose(s);
	dump_query(db, out, sql);
	free(sql);
}

char *store_dump(const char *path)
{
	char *text = NULL;
	size_t size;
	FILE *out = open_memstream(&text, &size);
	sqlite3 *db;

	assert_int_equal(sqlite3_open_v2(path, &db, SQLITE_OPEN_READONLY, NULL), SQLITE_OK);
	dump_query(db, out, "SELECT sha256, size_bytes FROM trace ORDER BY 1, 2");
	dump_query(db, out, "SELECT text FROM analysis ORDER BY 1");
	dump_query(db, out,
		   "SELECT " RUN
		   ", r.version, r.status, r.reason, r.signal, r.exit_status, r.stderr_tail, r.digest, p.layout, "
		   "p.name FROM run r JOIN trace t ON t.id = r.trace JOIN analysis a ON a.id = r.analysis "
		   "LEFT JOIN topology p ON p.id = r.topology ORDER BY 1, 2, 3");
	for (enum wi_part part = WI_PART_INPUT; part < WI_NR_PARTS; part++)
		dump_part(db, out, part);
	dump_query(db, out,
		   "SELECT " RUN ", m.path, x.value, m.unit, m.direction, m.headline " OF_RUN(
			   "value") "JOIN metric m ON m.id = x.metric ORDER BY 1, 2, 3, 4");
	dump_query(db, out,
		   "SELECT " RUN ", m.path, x.count, x.sum_ns, x.min_ns, x.max_ns, x.buckets " OF_RUN(
			   "histogram") "JOIN metric m ON m.id = x.metric ORDER BY 1, 2, 3, 4");
	dump_query(db, out,
		   "SELECT hex(t.sha256), t.size_bytes, p.path FROM trace_path p JOIN trace t ON t.id = p.trace "
		   "ORDER BY 1, 2, 3");
	dump_query(db, out,
		   "SELECT hex(t.sha256), t.size_bytes, g.path, g.key, g.value FROM tag g "
		   "JOIN trace t ON t.id = g.trace ORDER BY 1, 2, 3, 4, 5");
	sqlite3_close(db);
	fclose(out);
	return text;
}

/* ---- files ---- */

void store_sql(const char *path, const char *sql)
{
	sqlite3 *db;

	assert_int_equal(sqlite3_open(path, &db), SQLITE_OK);
	if (sqlite3_exec(db, sql, NULL, NULL, NULL) != SQLITE_OK)
		fail_msg("%s: %s", sql, sqlite3_errmsg(db));
	assert_int_equal(sqlite3_close(db), SQLITE_OK);
}

char *store_folder(void)
{
	/* In memory where there is such a folder: the tests commit often, and wait for no disk. */
	bool shm = !access("/dev/shm", W_OK);
	char *folder = strdup(shm ? "/dev/shm/wakeif-store-XXXXXX" : "/tmp/wakeif-store-XXXXXX");

	assert_non_null(mkdtemp(folder));
	return folder;
}

void store_remove(char *folder)
{
	char command[256];

	snprintf(command, sizeof(command), "rm -rf '%s'", folder);
	assert_int_equal(system(command), 0);
	free(folder);
}

struct wi_store *store_open(const char *path, enum wi_store_mode mode)
{
	struct wi_err err = { 0 };
	struct wi_store *store = wi_store_open(path, mode, &err);

	if (!store)
		fail_msg("%s", err.msg);
	return store;
}

void store_put(struct wi_store *store, struct wi_bundle *b, enum wi_put how)
{
	struct wi_err err = { 0 };

	if (!wi_store_begin(store, &err) || !wi_store_put(store, b, how, &err) || !wi_store_commit(store, &err))
		fail_msg("%s", err.msg);
	wi_bundle_fini(b);
}

void store_close(struct wi_store *store)
{
	struct wi_err err = { 0 };

	if (!wi_store_close(store, &err))
		fail_msg("%s", err.msg);
}

/* ---- a folder a test ---- */

static char *folder;

int store_set_up(void **state)
{
	*state = folder = store_folder();
	return 0;
}

int store_tear_down(void **state)
{
	(void)state;
	store_remove(folder);
	return 0;
}

const char *store_file(const char *name)
{
	static char path[8][256];
	static int n;
	char *p = path[n++ % 8];

	snprintf(p, 256, "%s/%s", folder, name);
	return p;
}

void store_write_file(const char *path, const void *bytes, size_t nr)
{
	FILE *f = fopen(path, "wb");

	assert_non_null(f);
	assert_int_equal(fwrite(bytes, 1, nr, f), nr);
	assert_int_equal(fclose(f), 0);
}

void store_some(const char *path, uint32_t nr, uint64_t seed)
{
	struct wi_store *store = store_open(path, WI_STORE_CREATE);
	struct wi_bundle b;

	while (nr--) {
		store_bundle(&b, &seed, 20);
		store_put(store, &b, WI_PUT_MERGE);
	}
	store_close(store);
}

int store_count(const char *path, const char *sql)
{
	sqlite3 *db;
	sqlite3_stmt *s;

	assert_int_equal(sqlite3_open(path, &db), SQLITE_OK);
	assert_int_equal(sqlite3_prepare_v2(db, sql, -1, &s, NULL), SQLITE_OK);
	assert_int_equal(sqlite3_step(s), SQLITE_ROW);
	int n = sqlite3_column_int(s, 0);

	sqlite3_finalize(s);
	sqlite3_close(db);
	return n;
}
