/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * JSON as a stream: nothing is kept in memory, integers stay exact, the text is valid UTF-8 whatever a name holds.
 * Errors of the stream are the caller's to ask for (ferror). Nesting is limited to WI_JSON_DEPTH by the schema.
 */
#ifndef WI_BASE_JSON_H
#define WI_BASE_JSON_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#define WI_JSON_DEPTH 32

struct wi_json {
	FILE *out;
	unsigned int depth;
	bool has_member[WI_JSON_DEPTH]; /* a comma is due before the next member */
	bool flat[WI_JSON_DEPTH];	/* members on one line */
};

void wi_json_init(struct wi_json *j, FILE *out);

/* key: NULL inside an array and for the outermost value. The flat forms put all their members on one line. */
void wi_json_object(struct wi_json *j, const char *key);
void wi_json_object_flat(struct wi_json *j, const char *key);
void wi_json_array(struct wi_json *j, const char *key);
void wi_json_array_flat(struct wi_json *j, const char *key);
void wi_json_end_object(struct wi_json *j);
void wi_json_end_array(struct wi_json *j);

void wi_json_u64(struct wi_json *j, const char *key, uint64_t value);
void wi_json_i64(struct wi_json *j, const char *key, int64_t value);
void wi_json_bool(struct wi_json *j, const char *key, bool value);
void wi_json_string(struct wi_json *j, const char *key, const char *value);
void wi_json_fraction(struct wi_json *j, const char *key,
		      double value); /* 6 decimals; nothing is written unless it is finite */
void wi_json_real(struct wi_json *j, const char *key,
		  double value); /* 15 digits; nothing is written unless it is finite */
void wi_json_share(struct wi_json *j, const char *key, uint64_t part,
		   uint64_t whole); /* nothing is written when whole is 0 */

#endif
