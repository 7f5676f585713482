/* SPDX-License-Identifier: GPL-2.0-or-later */
/* wakeif record: stock trace-cmd with the right events, buffers and markers, and a look at what got lost. */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <signal.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/utsname.h>
#include <unistd.h>

#include "analyzer/base/fmt.h"
#include "analyzer/cmd.h"
#include "analyzer/record/plan.h"
#include "analyzer/record/probe.h"
#include "analyzer/record/run.h"
#include "analyzer/record/tracefs.h"

#define MAX_EXTRA 32
#define MAX_BUFFER_KB (64u << 20)
#define BTF_FILE "/sys/kernel/btf/vmlinux"

struct record {
	const char *out, *clock, *tracefs, *user;
	const char *extra[MAX_EXTRA];
	size_t nr_extra;
	uint32_t buffer_kb, duration;
	int32_t pid;
	bool deep, probe, no_markers, quiet, verbose;
	char **command; /* NULL: none */

	struct wi_tracefs fs;
	struct wi_record_plan plan;
	struct wi_probes probes;
	char self[PATH_MAX], trace_cmd[PATH_MAX];
};

enum { KEY_DEEP = 0x100, KEY_PROBE, KEY_NO_MARKERS, KEY_TRACEFS, KEY_DURATION, KEY_USER, KEY_USAGE };

static const struct argp_option options[] = {
	{ "output", 'o', "FILE", 0, "write the recording to FILE (trace.dat)", 1 },
	{ "buffer-size", 'b', "KB", 0, "ring buffer of each CPU (computed from CPUs and memory)", 1 },
	{ "clock", 'C', "CLOCK", 0, "trace clock (mono)", 1 },
	{ "event", 'e', "EVENT", 0, "record this event too; may be given several times", 1 },
	{ "deep", KEY_DEEP, NULL, 0, "timer ticks, IPIs, hrtimers, run time and system calls too", 2 },
	{ "probe", KEY_PROBE, NULL, 0,
	  "probe the kernel's placement functions: true wake_flags, target and choice of each decision", 2 },
	{ "no-markers", KEY_NO_MARKERS, NULL, 0, "do not write topology, settings and tasks into the trace", 2 },
	{ "pid", 'p', "PID", 0, "without COMMAND: record until this process ends", 3 },
	{ "duration", KEY_DURATION, "SECONDS", 0, "stop after so long (with COMMAND: by SIGTERM to it)", 3 },
	{ "user", KEY_USER, "USER", 0, "run COMMAND as this user (as the one who records)", 3 },
	{ "tracefs", KEY_TRACEFS, "DIR", 0, "where the tracing file system is mounted", 4 },
	{ "quiet", 'q', NULL, 0, "errors only", 5 },
	{ "verbose", 'v', NULL, 0, "show what is run", 5 },
	{ "help", 'h', NULL, 0, "give this help list", -1 },
	{ "usage", KEY_USAGE, NULL, 0, "give a short usage message", -1 },
	{ 0 },
};

static uint32_t number(struct argp_state *state, const char *option, const char *arg, uint32_t max)
{
	char *end;

	errno = 0;
	unsigned long v = strtoul(arg, &end, 10);
	if (arg[0] < '0' || arg[0] > '9' || *end || errno || !v || v > max)
		argp_error(state, "%s: not a number from 1 to %u: '%s'", option, max, arg);
	return (uint32_t)v;
}

static error_t parse(int key, char *arg, struct argp_state *state)
{
	struct record *r = state->input;

	switch (key) {
	case 'o':
		r->out = arg;
		break;
	case 'b':
		r->buffer_kb = number(state, "-b", arg, MAX_BUFFER_KB);
		break;
	case 'C':
		r->clock = arg;
		break;
	case 'e':
		if (r->nr_extra == MAX_EXTRA)
			argp_error(state, "-e: more than %d extra events", MAX_EXTRA);
		r->extra[r->nr_extra++] = arg;
		break;
	case 'p':
		r->pid = (int32_t)number(state, "-p", arg, WI_PID_MAX);
		break;
	case 'q':
		r->quiet = true;
		break;
	case 'v':
		r->verbose = true;
		break;
	case KEY_DEEP:
		r->deep = true;
		break;
	case KEY_PROBE:
		r->probe = true;
		break;
	case KEY_NO_MARKERS:
		r->no_markers = true;
		break;
	case KEY_TRACEFS:
		r->tracefs = arg;
		break;
	case KEY_DURATION:
		r->duration = number(state, "--duration", arg, 1000000);
		break;
	case KEY_USER:
		r->user = arg;
		break;
	case 'h':
		argp_state_help(state, stdout, ARGP_HELP_STD_HELP);
		break;
	case KEY_USAGE:
		argp_state_help(state, stdout, ARGP_HELP_USAGE | ARGP_HELP_EXIT_OK);
		break;
	case ARGP_KEY_ARG: /* the command; all that follows is its own */
		r->command = &state->argv[state->next - 1];
		state->next = state->argc;
		break;
	case ARGP_KEY_END:
		if (r->command && r->pid)
			argp_error(state, "-p and a command exclude each other");
		if (!r->command && r->user)
			argp_error(state, "--user needs a command");
		break;
	default:
		return ARGP_ERR_UNKNOWN;
	}
	return 0;
}

static const struct argp argp = {
	options,
	parse,
	"[--] [COMMAND [ARG...]]",
	"Records what wakeif needs with trace-cmd while COMMAND runs, or until Ctrl-C.\v"
	"Exit status: that of COMMAND; 1 if recording failed.\n"
	"The same by hand, with the machine's topology and tasks inside the trace:\n"
	"  trace-cmd record -C mono -e sched_switch -e sched_waking -e sched_wakeup -e sched_wakeup_new "
	"-e sched_migrate_task -e sched_process_fork -e sched_process_exec -e sched_process_exit -e cpu_idle "
	"wakeif record-exec -- COMMAND",
	NULL,
	NULL,
	NULL,
};

__attribute__((format(printf, 2, 3))) static void say(const struct record *r, const char *fmt, ...)
{
	va_list ap;

	if (r->quiet)
		return;
	fputs("wakeif: ", stderr);
	va_start(ap, fmt);
	vfprintf(stderr, fmt, ap);
	va_end(ap);
	fputc('\n', stderr);
}

static uint64_t available_memory(void)
{
	char text[4096];
	FILE *f = fopen("/proc/meminfo", "re");
	size_t n = f ? fread(text, 1, sizeof(text) - 1, f) : 0;

	if (f)
		fclose(f);
	text[n] = '\0';
	return wi_available_memory(text);
}

/* Everything that can be known to be wrong before anything is touched. */
static bool check(struct record *r, struct wi_err *err)
{
	char path[PATH_MAX];

	if (!wi_find_program("trace-cmd", r->trace_cmd, sizeof(r->trace_cmd)))
		return wi_err_set(err, WI_EIO,
				  "trace-cmd is not installed (not found in $PATH): apt install trace-cmd");
	if (r->command && !wi_find_program(r->command[0], path, sizeof(path)))
		return wi_err_set(err, WI_EIO, "no such command: %.200s", r->command[0]);
	if (r->pid && kill(r->pid, 0) && errno == ESRCH)
		return wi_err_set(err, WI_EIO, "-p: no process %d", r->pid);
	ssize_t n = readlink("/proc/self/exe", r->self, sizeof(r->self) - 1);
	if (n < 0)
		return wi_err_set(err, WI_EIO, "cannot find this program: /proc/self/exe: %s", strerror(errno));
	r->self[n] = '\0';
	if (!wi_tracefs_find(&r->fs, r->tracefs, err) || !wi_tracefs_check_clock(&r->fs, r->clock, err) ||
	    !wi_record_plan(&r->plan, &r->fs, r->deep, r->extra, r->nr_extra, err))
		return false;
	if (r->plan.no_waking)
		say(r,
		    "this kernel has no sched_waking event: wakers and latencies before sched_wakeup will be unknown");
	else if (r->plan.missing[0])
		say(r, "this kernel lacks events that would be recorded: %s", r->plan.missing);
	return true;
}

/* A NULL-terminated argument vector. */
struct args {
	char *v[3 * WI_MAX_RECORD_EVENTS + 64];
	size_t nr;
};

static void arg(struct args *a, const char *text)
{
	if (a->nr + 1 < sizeof(a->v) / sizeof(*a->v))
		a->v[a->nr++] = (char *)text;
	a->v[a->nr] = NULL;
}

static void arg2(struct args *a, const char *option, const char *value)
{
	arg(a, option);
	arg(a, value);
}

/* The vector and, behind it, the command's own; the caller frees it. */
static char **with_command(const struct args *a, char **command, struct wi_err *err)
{
	size_t nr = 0;

	while (command && command[nr])
		nr++;
	char **v = calloc(a->nr + nr + 1, sizeof(*v));
	if (!v) {
		wi_err_nomem(err);
		return NULL;
	}
	memcpy(v, a->v, a->nr * sizeof(*v));
	if (nr)
		memcpy(v + a->nr, command, nr * sizeof(*v));
	return v;
}

static void show(const struct record *r, char **argv)
{
	if (!r->verbose)
		return;
	fputs("wakeif: running", stderr);
	for (; *argv; argv++)
		fprintf(stderr, strpbrk(*argv, " \t'\"$*?;") || !**argv ? " '%s'" : " %s", *argv);
	fputc('\n', stderr);
}

/* What the helper says through its pipe: "pid N" when it starts, "status N" when the command has ended. */
struct answer {
	int fd; /* does not block */
	char text[64];
	size_t len;
};

static int answer(struct answer *a, const char *key)
{
	ssize_t n;

	while (a->len < sizeof(a->text) - 1 && (n = read(a->fd, a->text + a->len, sizeof(a->text) - 1 - a->len)) > 0)
		a->len += (size_t)n;
	a->text[a->len] = '\0';
	const char *at = strstr(a->text, key);
	return at && strchr(at, '\n') ? atoi(at + strlen(key)) : -1;
}

static pid_t helper_pid(void *ctx)
{
	return answer(ctx, "pid ");
}

/* Runs trace-cmd with the helper and the command under it; status: what the helper says of the command, -1 if nothing.
 */
static bool run(struct record *r, int *status, struct wi_err *err)
{
	char kb[16], fd[16], secs[16], pid[16];
	struct answer said = { 0 };
	struct args a = { 0 };
	int pipefd[2];
	char **argv;

	if (pipe2(pipefd, O_CLOEXEC))
		return wi_err_set(err, WI_EIO, "pipe: %s", strerror(errno));
	said.fd = pipefd[0];
	fcntl(said.fd, F_SETFL, O_NONBLOCK);
	snprintf(kb, sizeof(kb), "%u", r->buffer_kb);
	snprintf(fd, sizeof(fd), "%d", pipefd[1]);
	snprintf(secs, sizeof(secs), "%u", r->duration);
	snprintf(pid, sizeof(pid), "%d", r->pid);
	arg2(&a, r->trace_cmd, "record");
	arg(&a, "-q");
	arg2(&a, "-o", r->out);
	arg2(&a, "-C", r->clock);
	arg2(&a, "-b", kb);
	for (uint32_t i = 0; i < r->plan.nr_events; i++)
		arg2(&a, "-e", r->plan.event[i]);
	for (uint32_t i = 0; i < r->probes.nr; i++)
		arg2(&a, "-e", r->probes.event[i]);
	arg2(&a, r->self, "record-exec");
	arg2(&a, "--tracefs", r->fs.dir);
	arg2(&a, "--status-fd", fd);
	if (r->no_markers)
		arg(&a, "--no-markers");
	if (r->user)
		arg2(&a, "--user", r->user);
	if (r->duration)
		arg2(&a, "--duration", secs);
	if (r->pid)
		arg2(&a, "--pid", pid);
	if (r->command)
		arg(&a, "--");
	else
		arg(&a, "--wait");
	argv = with_command(&a, r->command, err);
	int rc = -1;
	if (argv) {
		struct wi_run how = { .keep_fd = pipefd[1], .signal_to = helper_pid, .ctx = &said };

		show(r, argv);
		rc = wi_run(argv, &how, err);
		free(argv);
	}
	close(pipefd[1]);
	*status = answer(&said, "status ");
	close(pipefd[0]);
	if (rc > 0)
		return wi_err_set(err, WI_EIO, "trace-cmd record failed: status %d", rc);
	return !rc;
}

/* Probes, if wanted, live exactly as long as the recording. */
static bool run_probed(struct record *r, int *status, struct wi_err *err)
{
	struct wi_err late = { 0 };
	struct utsname u;

	if (!r->probe)
		return run(r, status, err);
	if (uname(&u) || !wi_probes_add(&r->probes, &r->fs, BTF_FILE, u.release, err))
		return wi_err_set(err, WI_EIO, "--probe: %s", strerror(errno));
	if (r->probes.refused[0])
		say(r, "--probe: recorded without %s", r->probes.refused);
	bool ok = run(r, status, err);
	if (!wi_probes_remove(&r->fs, &late))
		ok = wi_err_set(err, late.code, "%s", late.msg);
	return ok;
}

/* Says what was recorded, and what was lost according to the file's own statistics. */
static void tell(const struct record *r)
{
	struct wi_names *names = wi_names_new();
	struct wi_open_opts opts = { 0 };
	struct wi_err err = { 0 };
	uint64_t lost = 0;
	uint32_t nr = 0, worst = 0;
	char size[32], count[32];
	uint64_t most = 0;

	struct wi_source *src = names ? wi_source_open(r->out, &opts, names, &err) : NULL;
	if (!src) {
		say(r, "%s was recorded, but cannot be checked: %s", r->out, err.msg);
		goto out;
	}
	const struct wi_source_info *info = wi_source_info(src);
	for (uint32_t i = 0; i < info->nr_cpus; i++) {
		uint64_t n = info->cpu[i].overrun + info->cpu[i].lost;

		lost += n;
		nr += n > 0;
		if (n > most) {
			most = n;
			worst = i;
		}
	}
	wi_fmt_bytes(size, sizeof(size), info->file_bytes);
	if (!lost) {
		say(r, "recorded %s (%s, %u CPUs), no events lost; next: wakeif report %s", r->out, size, info->nr_cpus,
		    r->out);
	} else { /* also with -q: a report on this file has holes */
		wi_fmt_count(count, sizeof(count), lost);
		fprintf(stderr,
			"wakeif: %s: %s events were lost on %u of %u CPUs (most on CPU %u: %" PRIu64
			"); record again with -b %" PRIu64 "\n",
			r->out, count, nr, info->nr_cpus, worst, most, (uint64_t)r->buffer_kb * 4);
	}
	wi_source_close(src);
out:
	wi_names_free(names);
}

int wi_cmd_record(int argc, char **argv)
{
	struct record r = { .out = "trace.dat", .clock = "mono" };
	struct wi_err err = { 0 };
	int status = -1;

	argp_parse(&argp, argc, argv, ARGP_IN_ORDER | ARGP_NO_HELP, NULL, &r);
	if (!check(&r, &err)) {
		err.code = err.code == WI_EUSAGE ? WI_EUSAGE : WI_EIO;
		return wi_cmd_fail(&err);
	}
	long online = sysconf(_SC_NPROCESSORS_ONLN);
	if (!r.buffer_kb)
		r.buffer_kb =
			wi_record_buffer_kb(online > 0 ? (uint32_t)online : 1, available_memory(), r.deep || r.probe);
	if (!r.command && !r.pid && !r.duration)
		say(&r, "recording until Ctrl-C");
	if (!run_probed(&r, &status, &err))
		return wi_cmd_fail(&err);
	if (access(r.out, R_OK)) {
		wi_err_set(&err, WI_EIO, "%s: trace-cmd left no recording: %s", r.out, strerror(errno));
		return wi_cmd_fail(&err);
	}
	if (status < 0) {
		wi_err_set(&err, WI_EIO, "the command under trace-cmd was not run to its end");
		return wi_cmd_fail(&err);
	}
	tell(&r);
	return status;
}
