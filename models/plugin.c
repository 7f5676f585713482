/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "models/plugin.h"

#include <dlfcn.h>
#include <signal.h>
#include <stdbool.h>
#include <stdlib.h>
#include <unistd.h>

#include "models/params.h"
#include "models/registry.h"

static const char *volatile running_name, *volatile running_call;

/* text behind what the line holds already. */
static size_t append(char *line, size_t at, size_t size, const char *text)
{
	while (*text && at < size)
		line[at++] = *text++;
	return at;
}

static bool by_signal;

void wi_plugin_die_by_signal(void)
{
	by_signal = true;
}

/* Ends the program, by sig if asked to; only async-signal-safe calls, and the line goes out in one piece. */
static void blame(const char *did, const char *how, int sig)
{
	char line[1024];
	size_t n = 0, room = sizeof(line) - 64; /* for the end, behind a path that is too long */

	n = append(line, n, room, "wakeif: plug-in ");
	n = append(line, n, room, running_name);
	n = append(line, n, sizeof(line), did);
	n = append(line, n, sizeof(line), running_call);
	n = append(line, n, sizeof(line), how);
	line[n - 1] = '\n';
	ssize_t written = write(STDERR_FILENO, line, n);
	(void)written; /* nothing more can be done */
	if (by_signal && sig) {
		signal(sig, SIG_DFL);
		raise(sig);
	}
	_exit(WI_EIO);
}

static void crashed(int sig)
{
	if (!running_name) { /* not a plug-in's fault: die as without this handler */
		signal(sig, SIG_DFL);
		raise(sig);
		return;
	}
	blame(" crashed in ", sig == SIGABRT  ? ": it called abort()\n"
			      : sig == SIGFPE ? ": arithmetic error\n"
			      : sig == SIGILL ? ": illegal instruction\n"
					      : ": bad memory access\n",
	      sig);
}

/* A plug-in that calls exit() must not look like a run that went well. */
static void ended(void)
{
	if (running_name)
		blame(" ended the program in ", "\n", 0);
}

/* On a stack of its own, since a crash may be that there is no more stack. */
static void watch(void)
{
	static char stack[65536];
	static const int sigs[] = { SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGABRT };
	struct sigaction sa = { .sa_handler = crashed, .sa_flags = SA_NODEFER | SA_ONSTACK };
	stack_t ss = { .ss_sp = stack, .ss_size = sizeof(stack) };

	sigaltstack(&ss, NULL);
	for (size_t i = 0; i < sizeof(sigs) / sizeof(*sigs); i++)
		sigaction(sigs[i], &sa, NULL);
}

void wi_plugin_enter(const char *name, const char *call)
{
	static bool watching;

	if (!watching) {
		watching = true;
		atexit(ended);
		watch();
	}
	running_call = call;
	running_name = name;
}

void wi_plugin_leave(void)
{
	running_name = NULL;
}

/* Loading it runs code of its own, and what it says of itself may point nowhere. */
const struct wakeif_model_ops *wi_plugin_open(const char *path, void **handle, struct wi_err *err)
{
	const struct wakeif_model_ops *ops = NULL;
	void *h;

	wi_plugin_enter(path, "its loading");
	h = dlopen(path, RTLD_NOW | RTLD_LOCAL);
	if (!h) {
		wi_err_at(err, WI_EREFUSED, path, WI_NO_OFFSET, "plug-in cannot be loaded: %s", dlerror());
		goto out;
	}
	running_call = "what it says of itself";
	watch(); /* its constructors may have handled signals in their own way */
	ops = dlsym(h, "wakeif_model");
	if (!ops)
		wi_err_at(err, WI_EREFUSED, path, WI_NO_OFFSET, "not a plug-in of wakeif: it exports no wakeif_model");
	else if (!wi_model_ops_check(ops, path, err))
		ops = NULL;
	else if (ops->needs & WAKEIF_NEED_FUTURE) {
		wi_err_at(err, WI_EREFUSED, path, WI_NO_OFFSET, "it asks for hindsight, which plug-ins do not get");
		ops = NULL;
	}
	if (ops && wi_model_find(ops->name)) {
		wi_err_at(err, WI_EREFUSED, path, WI_NO_OFFSET, "its model is named as a built-in one: %s", ops->name);
		ops = NULL;
	}
	if (ops)
		*handle = h;
	else
		dlclose(h);
out:
	wi_plugin_leave();
	return ops;
}

void wi_plugin_close(void *handle)
{
	dlclose(handle);
}
