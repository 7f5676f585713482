/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The built-in models by name, and the one that stands for a recording's own kernel. */
#ifndef WI_MODELS_REGISTRY_H
#define WI_MODELS_REGISTRY_H

#include <stdbool.h>
#include <stddef.h>

#include "models/wakeif_model.h"

/* All of them, in the order in which `wakeif models` lists them. */
const struct wakeif_model_ops *const *wi_models(size_t *nr);

const struct wakeif_model_ops *wi_model_find(const char *name); /* NULL: no such model */

/*
 * Model of the kernel nearest to version (major << 16 | minor << 8) from below; the oldest one for kernels before it,
 * the newest for version 0 (unknown). *exact tells whether the model was made for this very version. NULL only if no kernel's model is built in.
 */
const struct wakeif_model_ops *wi_model_of_kernel(uint32_t version, bool *exact);

/* Names that resemble text, nearest first: fills at most max, returns their number. Borrowed. */
size_t wi_models_like(const char *text, const char **names, size_t max);

/*
 * Edits (insert, delete, replace, swap) that turn a into b, for suggestions; "resembles" is at most a third of the
 * longer length.
 */
size_t wi_edit_distance(const char *a, const char *b);

#endif
