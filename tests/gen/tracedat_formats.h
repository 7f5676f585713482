/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Event formats for the trace.dat writer: their texts, and records laid out as these texts say. */
#ifndef TRACEDAT_FORMATS_H
#define TRACEDAT_FORMATS_H

#include "tests/gen/tracedat_writer.h"

struct tdf;

struct tdf *tdf_new(const struct tdw_cfg *cfg);
void tdf_free(struct tdf *f);

/* Formats by number from 0; NULL behind the last. */
const char *tdf_name(const struct tdf *f, int i);
const char *tdf_system(const struct tdf *f, int i);
int tdf_text(const struct tdf *f, int i, char *out, size_t size);

int tdf_header_page(const struct tdf *f, char *out, size_t size);
extern const char tdf_header_event[];

/* Bytes of the record. */
uint32_t tdf_encode(const struct tdf *f, const struct wi_event *ev, const char *comm, const char *comm2, uint8_t *out,
		    size_t size);
uint32_t tdf_encode_function(const struct tdf *f, int32_t pid, uint8_t *out);

#endif
