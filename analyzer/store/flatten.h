/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef WI_STORE_FLATTEN_H
#define WI_STORE_FLATTEN_H

#include <jansson.h>

#include "analyzer/store/bundle.h"

/* Did nothing tell the machine, so that the topology of the document is the flat guess? */
bool wi_flatten_guessed(const json_t *topology);

/* The rows of the wide tables (columns.h) of a document. Where an earlier document told a column, it must say the same.
 */
bool wi_flatten_rows(struct wi_bundle *b, const json_t *root, struct wi_err *err);

#endif
