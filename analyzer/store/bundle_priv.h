/* SPDX-License-Identifier: GPL-2.0-or-later */
/* How a bundle is filled: for the files of the store that read documents, bytes and databases. */
#ifndef WI_STORE_BUNDLE_PRIV_H
#define WI_STORE_BUNDLE_PRIV_H

#include "analyzer/store/bundle.h"

/* A copy of s[0..len) that lives as long as the bundle; NULL: no memory. */
const char *wi_bundle_copy(struct wi_bundle *b, const char *s, size_t len);

/* Memory that lives as long as the bundle; NULL: no memory. */
void *wi_bundle_take(struct wi_bundle *b, size_t size);

/* Text as the archive may hold it: valid UTF-8 without NUL. */
bool wi_bundle_is_text(const char *s, size_t len);

/* These add at the end; paths and texts must already be the bundle's (wi_bundle_copy) and valid. */
bool wi_bundle_put_metric(struct wi_bundle *b, const struct wi_metric_value *v, struct wi_err *err);
bool wi_bundle_put_hist(struct wi_bundle *b, const char *path, struct wi_hist *taken, struct wi_err *err);
/* A new row whose cells are all unknown; NULL: no memory. Valid until the next one. */
struct wi_row *wi_bundle_put_row(struct wi_bundle *b, enum wi_part part, struct wi_err *err);
/* The row of the part that has this text, and this number if `number` is a column, there; a new one if there is none.
 */
struct wi_row *wi_bundle_row(struct wi_bundle *b, enum wi_part part, size_t text_column, const char *text,
			     size_t number_column, int64_t number, struct wi_err *err);

/* First row of a part, *nr of them in a row; NULL: none. After wi_bundle_finish(). */
const struct wi_row *wi_bundle_rows(const struct wi_bundle *b, enum wi_part part, size_t *nr);

#endif
