/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Declares every built-in model; the list itself is builtin_list.h. */
#ifndef WI_MODELS_BUILTIN_H
#define WI_MODELS_BUILTIN_H

#include "models/wakeif_model.h"

#define KERNEL(major, minor, model) extern const struct wakeif_model_ops model;
#define POLICY(model) extern const struct wakeif_model_ops model;
#include "models/builtin_list.h"
#undef KERNEL
#undef POLICY

#endif
