/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A model as a user names it: "linux-6.1,wf-sync=vagin", "./mine.so,k=3". */
#ifndef WI_MODELS_PARAMS_H
#define WI_MODELS_PARAMS_H

#include <stddef.h>

#include "analyzer/base/err.h"
#include "models/wakeif_model.h"

struct wi_model_spec {
	const struct wakeif_model_ops *ops; /* built in, or lent by the plug-in until wi_model_spec_fini() */
	int64_t *values;		    /* ops->nr_params, every default filled in */
	char *label;			    /* the name and the parameters that differ from their defaults */
	char *params;			    /* all parameters as "name=value,..."; "" for none */
	void *plugin;			    /* handle of the shared object; NULL for built-in models */
};

/*
 * Parses text and loads the plug-in if it names one (a text with a '/' in front of the first ','). A parameter may be
 * given once. false: err set (WI_EUSAGE; WI_EREFUSED for a plug-in that cannot be used), *wrong_at is the index in text
 * of the first wrong character; out needs no fini then.
 */
bool wi_model_spec_parse(const char *text, struct wi_model_spec *out, size_t *wrong_at, struct wi_err *err);
void wi_model_spec_fini(struct wi_model_spec *spec);

/* Checks what shared code relies on: abi, size, name, hooks, parameters with legal defaults. file: for messages. */
bool wi_model_ops_check(const struct wakeif_model_ops *ops, const char *file, struct wi_err *err);

/* value of parameter p as a user would write it; out holds at least 32 bytes (choices are cut to fit). */
void wi_param_format(const struct wakeif_param *p, int64_t value, char *out, size_t size);

#endif
