/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Bundles and databases for the tests of the archive. */
#ifndef TESTS_UNIT_STORE_FIXTURE_H
#define TESTS_UNIT_STORE_FIXTURE_H

#include <stdint.h>

#include "analyzer/store/store.h"

/* A small repeatable generator: the same seed, the same numbers. */
uint64_t store_random(uint64_t *seed);
static inline uint32_t store_below(uint64_t *seed, uint32_t n)
{
	return (uint32_t)(store_random(seed) % n);
}

/*
 * A bundle out of few: traces 0 .. nr_traces - 1, two analyses, two versions, any status, a few figures, rows and
 * histograms. One of two paths, a few tags. The test fails if it cannot be made.
 */
void store_bundle(struct wi_bundle *b, uint64_t *seed, uint32_t nr_traces);

/* An analysed bundle of trace number n with one figure; for tests that want to know what is in it. */
void store_plain(struct wi_bundle *b, uint32_t n, const char *path, const char *analysis, const char *metric,
		 double value);

/* The hash of trace number n. */
void store_hash(uint32_t n, uint8_t sha256[WI_SHA256_BYTES]);

/* All that is merged of the database at path, by natural keys and in their order. The caller's to free. */
char *store_dump(const char *path);

/* Runs SQL on a database file that no store has open; the test fails if it cannot be. */
void store_sql(const char *path, const char *sql);

/* A folder for the test's files, and its removal with all in it. */
char *store_folder(void);
void store_remove(char *folder);

/* A store that must open. */
struct wi_store *store_open(const char *path, enum wi_store_mode mode);
/* Puts b in a transaction of its own, as MERGE does, and finishes b. */
void store_put(struct wi_store *store, struct wi_bundle *b, enum wi_put how);
void store_close(struct wi_store *store);

/* For tests with a folder of their own, as cmocka's set-up and tear-down; store_file() names a file in it. */
int store_set_up(void **state);
int store_tear_down(void **state);
const char *store_file(const char *name);
/* A file of these bytes. */
void store_write_file(const char *path, const void *bytes, size_t nr);
/* Puts nr random bundles. */
void store_some(const char *path, uint32_t nr, uint64_t seed);
/* The number that SQL answers. */
int store_count(const char *path, const char *sql);

#endif
