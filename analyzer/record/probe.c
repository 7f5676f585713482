/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "analyzer/record/probe.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <tracefs.h>
#include <unistd.h>

#include "analyzer/base/kernel.h"
#include "analyzer/record/btf.h"

#define PROBE_TYPES (TRACEFS_DYNEVENT_KPROBE | TRACEFS_DYNEVENT_KRETPROBE)

static bool use_dir(const struct wi_tracefs *fs, struct wi_err *err)
{
	char dir[sizeof(fs->dir)];

	memcpy(dir, fs->dir, sizeof(dir));
	return !tracefs_set_tracing_dir(dir) || wi_err_nomem(err);
}

bool wi_probes_remove(const struct wi_tracefs *fs, struct wi_err *err)
{
	struct tracefs_dynevent **list;
	bool ok = true;

	if (!use_dir(fs, err))
		return false;
	list = tracefs_dynevent_get_all(PROBE_TYPES, WI_PROBE_SYSTEM);
	for (int i = 0; list && list[i]; i++) {
		char *event = NULL;

		if (tracefs_dynevent_destroy(list[i], true)) {
			tracefs_dynevent_info(list[i], NULL, &event, NULL, NULL, NULL);
			ok = wi_err_set(err, WI_EIO,
					"cannot remove the probe " WI_PROBE_SYSTEM
					":%s: %s (remove it with: echo '-:" WI_PROBE_SYSTEM "/%s' >> %s/kprobe_events)",
					event ? event : "?", strerror(errno), event ? event : "?", fs->dir);
			free(event);
		}
	}
	tracefs_dynevent_list_free(list);
	return ok;
}

/* Before 5.11 select_task_rq_fair(p, prev_cpu, sd_flag, wake_flags). */
static bool has_sd_flag(const char *release)
{
	uint32_t kernel = wi_kernel_of(release);

	return kernel && kernel < WI_KERNEL(5, 11);
}

static void refuse(struct wi_probes *p, const char *function, int error)
{
	size_t len = strlen(p->refused);
	const char *why = error == ENOENT || error == EINVAL /* by version */ ? "not in this kernel, or inlined"
			  : error == EPERM || error == EACCES		      ? "forbidden (kernel lockdown?)"
									      : strerror(error);

	if (!strstr(p->refused, function))
		snprintf(p->refused + len, sizeof(p->refused) - len, "%s%s: %s", len ? "; " : "", function, why);
}

static bool add(struct wi_probes *p, const char *event, const char *function, const char *format, bool at_return)
{
	struct tracefs_dynevent *d = at_return ? tracefs_kretprobe_alloc(WI_PROBE_SYSTEM, event, function, format, 0)
					       : tracefs_kprobe_alloc(WI_PROBE_SYSTEM, event, function, format);

	if (!d) {
		refuse(p, function, errno ? errno : ENOMEM);
		return false;
	}
	errno = 0;
	bool ok = !tracefs_dynevent_create(d);
	int error = errno ? errno : EINVAL;
	tracefs_dynevent_free(d);
	if (ok)
		snprintf(p->event[p->nr++], sizeof(p->event[0]), WI_PROBE_SYSTEM ":%s", event);
	else
		refuse(p, function, error);
	return ok;
}

bool wi_probes_add(struct wi_probes *p, const struct wi_tracefs *fs, const char *btf, const char *release,
		   struct wi_err *err)
{
	char path[PATH_MAX], format[128];
	const char *flags = has_sd_flag(release) ? "$arg4" : "$arg3";

	*p = (struct wi_probes){ 0 };
	snprintf(path, sizeof(path), "%s/kprobe_events", fs->dir);
	if (access(path, W_OK))
		return wi_err_set(err, WI_EIO, "--probe: this kernel allows no probes: %s: %s", path,
				  errno == ENOENT ? "absent (no CONFIG_KPROBE_EVENTS)" : strerror(errno));
	snprintf(path, sizeof(path), "%s/dynamic_events", fs->dir);
	if (access(path, W_OK))
		return wi_err_set(err, WI_EIO, "--probe needs Linux 5.0 or later: %s: %s", path, strerror(errno));
	if (!wi_probes_remove(fs, err))
		return false;
	int32_t pid = wi_btf_member_offset(btf, "task_struct", "pid");
	int n = pid < 0 ? 0 : snprintf(format, sizeof(format), "pid=+%d($arg1):s32 ", pid);
	snprintf(format + n, sizeof(format) - (size_t)n, "prev=$arg2:s32 wake_flags=%s:x32", flags);
	if (add(p, "select_task_rq_fair", "select_task_rq_fair", format, false))
		add(p, "select_task_rq_fair_ret", "select_task_rq_fair", "cpu=$retval:s32", true);
	if (add(p, "select_idle_sibling", "select_idle_sibling", "prev=$arg2:s32 target=$arg3:s32", false))
		add(p, "select_idle_sibling_ret", "select_idle_sibling", "cpu=$retval:s32", true);
	if (p->nr)
		return true;
	return wi_err_set(err, WI_EIO, "--probe: this kernel allows none of the probes: %s", p->refused);
}
