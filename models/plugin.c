/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "models/plugin.h"

#include <dlfcn.h>
#include <signal.h>
#include <stdbool.h>
#include <unistd.h>

#include "models/params.h"

const struct wakeif_model_ops *wi_plugin_open(const char *path, void **handle, struct wi_err *err)
{
	void *h = dlopen(path, RTLD_NOW | RTLD_LOCAL);
	const struct wakeif_model_ops *ops;

	if (!h) {
		wi_err_at(err, WI_EREFUSED, path, WI_NO_OFFSET, "plug-in cannot be loaded: %s", dlerror());
		return NULL;
	}
	ops = dlsym(h, "wakeif_model");
	if (!ops) {
		wi_err_at(err, WI_EREFUSED, path, WI_NO_OFFSET, "not a plug-in of wakeif: it exports no wakeif_model");
	} else if (ops->needs & WAKEIF_NEED_FUTURE) {
		wi_err_at(err, WI_EREFUSED, path, WI_NO_OFFSET, "it asks for hindsight, which plug-ins do not get");
	} else if (wi_model_ops_check(ops, path, err)) {
		*handle = h;
		return ops;
	}
	dlclose(h);
	return NULL;
}

void wi_plugin_close(void *handle)
{
	dlclose(handle);
}

static const char *volatile running_name, *volatile running_call;

/* text behind what the line holds already. */
static size_t append(char *line, size_t at, size_t size, const char *text)
{
	while (*text && at < size)
		line[at++] = *text++;
	return at;
}

/* Only async-signal-safe calls; the line goes out in one piece. */
static void crashed(int sig)
{
	const char *how = sig == SIGABRT ? ": it called abort()\n" : sig == SIGFPE ? ": arithmetic error\n" : sig == SIGILL ? ": illegal instruction\n" : ": bad memory access\n";
	char line[200];
	size_t n = 0;

	if (!running_name) { /* not a plug-in's fault: die as without this handler */
		signal(sig, SIG_DFL);
		raise(sig);
		return;
	}
	n = append(line, n, sizeof(line), "wakeif: plug-in ");
	n = append(line, n, sizeof(line), running_name);
	n = append(line, n, sizeof(line), " crashed in ");
	n = append(line, n, sizeof(line), running_call);
	n = append(line, n, sizeof(line), how);
	ssize_t written = write(STDERR_FILENO, line, n);
	(void)written; /* nothing more can be done */
	_exit(WI_EIO);
}

static void watch(void)
{
	static const int sigs[] = { SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGABRT };
	static bool watching;
	struct sigaction sa = { .sa_handler = crashed, .sa_flags = SA_NODEFER };

	if (watching)
		return;
	watching = true;
	for (size_t i = 0; i < sizeof(sigs) / sizeof(*sigs); i++)
		sigaction(sigs[i], &sa, NULL);
}

void wi_plugin_enter(const char *name, const char *call)
{
	watch();
	running_call = call;
	running_name = name;
}

void wi_plugin_leave(void)
{
	running_name = NULL;
}
