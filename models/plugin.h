/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Models from shared objects. A plug-in runs in this process with all its rights: it is code that the user chose to
 * run, not input.
 */
#ifndef WI_MODELS_PLUGIN_H
#define WI_MODELS_PLUGIN_H

#include "analyzer/base/err.h"
#include "models/wakeif_model.h"

/* The object's `wakeif_model`, checked (wi_model_ops_check). NULL: err set (WI_EREFUSED). *handle: for wi_plugin_close(). */
const struct wakeif_model_ops *wi_plugin_open(const char *path, void **handle, struct wi_err *err);
void wi_plugin_close(void *handle);
/* From now on a crash in a plug-in is named and then ends the process by its signal, not by an exit status. */
void wi_plugin_die_by_signal(void);

/*
 * Around every call into a plug-in: if it crashes in between (SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGABRT), the program
 * ends with status 1 and a line that names the plug-in and the call; likewise if it calls exit(). name and call must live
 * until leave.
 */
void wi_plugin_enter(const char *name, const char *call);
void wi_plugin_leave(void);

#endif
