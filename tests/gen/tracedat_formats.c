/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "tests/gen/tracedat_formats.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum kind { INT, LONG, U64, CHARS16, LOC, TAIL, U8 };

struct field {
	const char *type, *name;
	enum kind kind;
	bool is_signed;
};

#define FIELDS 8

struct format {
	const char *system, *name;
	uint16_t id;
	int type; /* enum wi_event_type, -1: function */
	struct field f[FIELDS];
	const char *print;
	uint32_t offset[FIELDS], size; /* size: of the fixed part */
};

struct tdf {
	struct tdw_cfg cfg;
	struct format *fmt;
	int nr;
	uint32_t common_size;
};

#define COMM(n)                                                                                                        \
	{                                                                                                              \
		"char", n, CHARS16, true                                                                               \
	}
#define S32(t, n)                                                                                                      \
	{                                                                                                              \
		t, n, INT, true                                                                                        \
	}

static const struct format all[] = {
	{ "ftrace",
	  "function",
	  1,
	  -1,
	  { { "unsigned long", "ip", LONG, false }, { "unsigned long", "parent_ip", LONG, false } },
	  "\" %ps <-- %ps\", (void *)REC->ip, (void *)REC->parent_ip",
	  { 0 },
	  0 },
	{ "ftrace",
	  "print",
	  5,
	  WI_EV_MARKER,
	  { { "unsigned long", "ip", LONG, false }, { "char", "buf", TAIL, true } },
	  "\"%ps: %s\", (void *)REC->ip, REC->buf",
	  { 0 },
	  0 },
	{ "sched",
	  "sched_switch",
	  301,
	  WI_EV_SCHED_SWITCH,
	  { COMM("prev_comm"),
	    S32("pid_t", "prev_pid"),
	    S32("int", "prev_prio"),
	    { "long", "prev_state", LONG, true },
	    COMM("next_comm"),
	    S32("pid_t", "next_pid"),
	    S32("int", "next_prio") },
	  NULL,
	  { 0 },
	  0 },
	{ "sched",
	  "sched_waking",
	  302,
	  WI_EV_SCHED_WAKING,
	  { COMM("comm"), S32("pid_t", "pid"), S32("int", "prio"), S32("int", "success"), S32("int", "target_cpu") },
	  "\"comm=%s pid=%d prio=%d target_cpu=%03d\", REC->comm, REC->pid, REC->prio, REC->target_cpu",
	  { 0 },
	  0 },
	{ "sched",
	  "sched_wakeup",
	  303,
	  WI_EV_SCHED_WAKEUP,
	  { COMM("comm"), S32("pid_t", "pid"), S32("int", "prio"), S32("int", "success"), S32("int", "target_cpu") },
	  "\"comm=%s pid=%d prio=%d target_cpu=%03d\", REC->comm, REC->pid, REC->prio, REC->target_cpu",
	  { 0 },
	  0 },
	{ "sched",
	  "sched_wakeup_new",
	  304,
	  WI_EV_SCHED_WAKEUP_NEW,
	  { COMM("comm"), S32("pid_t", "pid"), S32("int", "prio"), S32("int", "success"), S32("int", "target_cpu") },
	  "\"comm=%s pid=%d prio=%d target_cpu=%03d\", REC->comm, REC->pid, REC->prio, REC->target_cpu",
	  { 0 },
	  0 },
	{ "sched",
	  "sched_migrate_task",
	  305,
	  WI_EV_SCHED_MIGRATE_TASK,
	  { COMM("comm"), S32("pid_t", "pid"), S32("int", "prio"), S32("int", "orig_cpu"), S32("int", "dest_cpu") },
	  "\"comm=%s pid=%d prio=%d orig_cpu=%d dest_cpu=%d\", REC->comm, REC->pid, REC->prio, REC->orig_cpu, "
	  "REC->dest_cpu",
	  { 0 },
	  0 },
	{ "sched",
	  "sched_process_fork",
	  306,
	  WI_EV_SCHED_PROCESS_FORK,
	  { COMM("parent_comm"), S32("pid_t", "parent_pid"), COMM("child_comm"), S32("pid_t", "child_pid") },
	  "\"comm=%s pid=%d child_comm=%s child_pid=%d\", REC->parent_comm, REC->parent_pid, REC->child_comm, "
	  "REC->child_pid",
	  { 0 },
	  0 },
	{ "sched",
	  "sched_process_exec",
	  307,
	  WI_EV_SCHED_PROCESS_EXEC,
	  { { "__data_loc char[]", "filename", LOC, true }, S32("pid_t", "pid"), S32("pid_t", "old_pid") },
	  "\"filename=%s pid=%d old_pid=%d\", __get_str(filename), REC->pid, REC->old_pid",
	  { 0 },
	  0 },
	{ "sched",
	  "sched_process_exit",
	  308,
	  WI_EV_SCHED_PROCESS_EXIT,
	  { COMM("comm"), S32("pid_t", "pid"), S32("int", "prio") },
	  "\"comm=%s pid=%d prio=%d\", REC->comm, REC->pid, REC->prio",
	  { 0 },
	  0 },
	{ "sched",
	  "sched_stat_runtime",
	  309,
	  WI_EV_SCHED_STAT_RUNTIME,
	  { COMM("comm"), S32("pid_t", "pid"), { "u64", "runtime", U64, false }, { "u64", "vruntime", U64, false } },
	  "\"comm=%s pid=%d runtime=%Lu [ns] vruntime=%Lu [ns]\", REC->comm, REC->pid, (unsigned long "
	  "long)REC->runtime, (unsigned long long)REC->vruntime",
	  { 0 },
	  0 },
	{ "power",
	  "cpu_idle",
	  401,
	  WI_EV_CPU_IDLE,
	  { { "u32", "state", INT, false }, { "u32", "cpu_id", INT, false } },
	  "\"state=%lu cpu_id=%lu\", (unsigned long)REC->state, (unsigned long)REC->cpu_id",
	  { 0 },
	  0 },
	{ "irq_vectors",
	  "local_timer_entry",
	  501,
	  WI_EV_LOCAL_TIMER_ENTRY,
	  { S32("int", "vector") },
	  "\"vector=%d\", REC->vector",
	  { 0 },
	  0 },
	{ "irq_vectors",
	  "call_function_single_entry",
	  502,
	  WI_EV_CALL_FUNCTION_SINGLE_ENTRY,
	  { S32("int", "vector") },
	  "\"vector=%d\", REC->vector",
	  { 0 },
	  0 },
	{ "irq_vectors",
	  "reschedule_entry",
	  503,
	  WI_EV_RESCHEDULE_ENTRY,
	  { S32("int", "vector") },
	  "\"vector=%d\", REC->vector",
	  { 0 },
	  0 },
	{ "timer",
	  "hrtimer_start",
	  601,
	  WI_EV_HRTIMER_START,
	  { { "void *", "hrtimer", LONG, false }, { "s64", "expires", U64, true } },
	  "\"hrtimer=%p expires=%llu\", REC->hrtimer, REC->expires",
	  { 0 },
	  0 },
	{ "timer",
	  "hrtimer_expire_entry",
	  602,
	  WI_EV_HRTIMER_EXPIRE_ENTRY,
	  { { "void *", "hrtimer", LONG, false }, { "s64", "now", U64, true } },
	  "\"hrtimer=%p now=%llu\", REC->hrtimer, REC->now",
	  { 0 },
	  0 },
	{ "raw_syscalls",
	  "sys_enter",
	  701,
	  WI_EV_SYS_ENTER,
	  { { "long", "id", LONG, true } },
	  "\"NR %ld\", REC->id",
	  { 0 },
	  0 },
	{ "raw_syscalls",
	  "sys_exit",
	  702,
	  WI_EV_SYS_EXIT,
	  { { "long", "id", LONG, true }, { "long", "ret", LONG, true } },
	  "\"NR %ld = %ld\", REC->id, REC->ret",
	  { 0 },
	  0 },
	{ "irq", "irq_handler_entry", 801, WI_EV_OTHER, { S32("int", "irq") }, "\"irq=%d\", REC->irq", { 0 }, 0 },
};

#define SWITCH_HEAD                                                                                                    \
	"\"prev_comm=%s prev_pid=%d prev_prio=%d prev_state=%s%s ==> next_comm=%s next_pid=%d next_prio=%d\", "        \
	"REC->prev_comm, REC->prev_pid, REC->prev_prio, "
#define SWITCH_TAIL ", REC->next_comm, REC->next_pid, REC->next_prio"

/* One text a kernel; flags and mark as include/trace/events/sched.h of that kernel expands to. */
static const char *const switch_print[] = {
	[TDW_KERNEL_6_1] = SWITCH_HEAD
	"(REC->prev_state & ((((0x0000 | 0x0001 | 0x0002 | 0x0004 | 0x0008 | 0x0010 | 0x0020 | 0x0040) + 1) << 1) - "
	"1)) ? __print_flags(REC->prev_state & ((((0x0000 | 0x0001 | 0x0002 | 0x0004 | 0x0008 | 0x0010 | 0x0020 | "
	"0x0040) + 1) << 1) - 1), "
	"\"|\", { 0x0001, \"S\" }, { 0x0002, \"D\" }, { 0x0004, \"T\" }, { 0x0008, \"t\" }, { 0x0010, \"X\" }, { "
	"0x0020, \"Z\" }, { 0x0040, \"P\" }, { 0x0080, \"I\" }) : \"R\", REC->prev_state & (((0x0000 | 0x0001 | 0x0002 "
	"| 0x0004 | 0x0008 | 0x0010 | 0x0020 | 0x0040) + 1) << 1) ? \"+\" : \"\"" SWITCH_TAIL,
	[TDW_KERNEL_4_11] = SWITCH_HEAD
	"REC->prev_state & (4096-1) ? __print_flags(REC->prev_state & (4096-1), \"|\", { 1, \"S\"} , { 2, \"D\" }, { "
	"4, \"T\" }, { 8, \"t\" }, { 16, \"Z\" }, { 32, \"X\" }, { 64, \"x\" }, { 128, \"K\" }, { 256, \"W\" }, { 512, "
	"\"P\" }, { 1024, \"N\" }, { 2048, \"n\" }) : \"R\", REC->prev_state & 4096 ? \"+\" : \"\"" SWITCH_TAIL,
	[TDW_KERNEL_4_14] = SWITCH_HEAD
	"(REC->prev_state & ((((0x0000 | 0x0001 | 0x0002 | 0x0004 | 0x0008 | 0x0010 | 0x0020 | 0x0040) + 1) << 1) - "
	"1)) ? __print_flags(REC->prev_state & ((((0x0000 | 0x0001 | 0x0002 | 0x0004 | 0x0008 | 0x0010 | 0x0020 | "
	"0x0040) + 1) << 1) - 1), "
	"\"|\", { 0x01, \"S\" }, { 0x02, \"D\" }, { 0x04, \"T\" }, { 0x08, \"t\" }, { 0x10, \"X\" }, { 0x20, \"Z\" }, "
	"{ 0x40, \"P\" }, { 0x80, \"I\" }) : \"R\", REC->prev_state & 0x1000 ? \"+\" : \"\"" SWITCH_TAIL,
	[TDW_KERNEL_4_4] = SWITCH_HEAD
	"REC->prev_state & (2048-1) ? __print_flags(REC->prev_state & (2048-1), \"|\", { 1, \"S\"} , { 2, \"D\" }, { "
	"4, \"T\" }, { 8, \"t\" }, { 16, \"Z\" }, { 32, \"X\" }, { 64, \"x\" }, { 128, \"K\" }, { 256, \"W\" }, { 512, "
	"\"P\" }, { 1024, \"N\" }) : \"R\", REC->prev_state & 2048 ? \"+\" : \"\"" SWITCH_TAIL,
};

const char tdf_header_event[] =
	"# compressed entry header\n\ttype_len    :    5 bits\n\ttime_delta  :   27 bits\n\tarray       :   32 bits\n\n"
	"\tpadding     : type == 29\n\ttime_extend : type == 30\n\ttime_stamp : type == 31\n\tdata max type_len  == "
	"28\n";

static uint32_t size_of(const struct tdf *f, enum kind k)
{
	switch (k) {
	case INT:
	case LOC:
		return 4;
	case LONG:
		return f->cfg.long_size;
	case U64:
		return 8;
	case CHARS16:
		return 16;
	case U8:
		return 1;
	default:
		return 0;
	}
}

static void lay_out(struct tdf *f, struct format *fmt)
{
	uint32_t at = f->common_size;

	for (int i = 0; i < FIELDS && fmt->f[i].name; i++) {
		uint32_t n = size_of(f, fmt->f[i].kind), align = n == 16 || !n ? 1 : n;

		at = (at + align - 1) / align * align;
		fmt->offset[i] = at;
		at += n;
	}
	fmt->size = at;
}

struct tdf *tdf_new(const struct tdw_cfg *cfg)
{
	struct tdf *f = calloc(1, sizeof(*f));

	if (!f)
		return NULL;
	f->cfg = *cfg;
	f->common_size = cfg->extra_common ? 12 : 8;
	f->fmt = calloc(sizeof(all) / sizeof(all[0]), sizeof(*f->fmt));
	if (!f->fmt) {
		free(f);
		return NULL;
	}
	for (size_t i = 0; i < sizeof(all) / sizeof(all[0]); i++) {
		struct format *fmt = &f->fmt[f->nr];

		if (cfg->no_sched_formats && !strcmp(all[i].system, "sched"))
			continue;
		*fmt = all[i];
		for (int k = 0; k < FIELDS && fmt->f[k].name; k++) {
			if (!strcmp(fmt->f[k].name, "success") && !cfg->success_field) {
				memmove(&fmt->f[k], &fmt->f[k + 1], (FIELDS - 1 - (size_t)k) * sizeof(fmt->f[0]));
				k--;
			} else if (fmt->type == WI_EV_SCHED_MIGRATE_TASK && !k && cfg->loc_comm) {
				fmt->f[k] = (struct field){ "__data_loc char[]", "comm", LOC, false };
			}
		}
		if (!fmt->print)
			fmt->print = switch_print[cfg->kernel];
		lay_out(f, fmt);
		f->nr++;
	}
	return f;
}

void tdf_free(struct tdf *f)
{
	free(f->fmt);
	free(f);
}

const char *tdf_name(const struct tdf *f, int i)
{
	return i < f->nr ? f->fmt[i].name : NULL;
}

const char *tdf_system(const struct tdf *f, int i)
{
	return f->fmt[i].system;
}

int tdf_text(const struct tdf *f, int i, char *out, size_t size)
{
	const struct format *fmt = &f->fmt[i];
	int n = snprintf(
		out, size,
		"name: %s\nID: %u\nformat:\n\tfield:unsigned short common_type;\toffset:0;\tsize:2;\tsigned:0;\n"
		"\tfield:unsigned char common_flags;\toffset:2;\tsize:1;\tsigned:0;\n"
		"\tfield:unsigned char common_preempt_count;\toffset:3;\tsize:1;\tsigned:0;\n"
		"\tfield:int common_pid;\toffset:4;\tsize:4;\tsigned:1;\n",
		fmt->name, fmt->id);

	if (f->cfg.extra_common)
		n += snprintf(out + n, size - (size_t)n,
			      "\tfield:unsigned char common_migrate_disable;\toffset:8;\tsize:1;\tsigned:0;\n"
			      "\tfield:unsigned char common_preempt_lazy_count;\toffset:9;\tsize:1;\tsigned:0;\n");
	n += snprintf(out + n, size - (size_t)n, "\n");
	for (int k = 0; k < FIELDS && fmt->f[k].name; k++) {
		const struct field *fd = &fmt->f[k];

		n += snprintf(out + n, size - (size_t)n, "\tfield:%s %s%s;\toffset:%u;\tsize:%u;\tsigned:%d;\n",
			      fd->type, fd->name,
			      fd->kind == CHARS16 ? "[16]"
			      : fd->kind == TAIL  ? "[]"
						  : "",
			      fmt->offset[k], size_of(f, fd->kind), fd->is_signed);
	}
	n += snprintf(out + n, size - (size_t)n, "\nprint fmt: %s\n", fmt->print);
	return n;
}

int tdf_header_page(const struct tdf *f, char *out, size_t size)
{
	uint32_t head = 8 + f->cfg.long_size;

	return snprintf(out, size,
			"\tfield: u64 timestamp;\toffset:0;\tsize:8;\tsigned:0;\n\tfield: local_t "
			"commit;\toffset:8;\tsize:%u;\tsigned:1;\n"
			"\tfield: int overwrite;\toffset:8;\tsize:1;\tsigned:1;\n\tfield: char "
			"data;\toffset:%u;\tsize:%u;\tsigned:1;\n",
			f->cfg.long_size, head, f->cfg.page_bytes - head);
}

static void put(const struct tdf *f, uint8_t *out, uint64_t v, uint32_t n)
{
	for (uint32_t i = 0; i < n; i++)
		out[f->cfg.big_endian ? n - 1 - i : i] = (uint8_t)(v >> (8 * i));
}

/* prev_state of a letter in this kernel's coding. */
static uint64_t raw_state(enum tdw_kernel k, char letter, bool preempted)
{
	static const uint64_t mark[] = { [TDW_KERNEL_6_1] = 0x100,
					 [TDW_KERNEL_4_11] = 0x1000,
					 [TDW_KERNEL_4_14] = 0x1000,
					 [TDW_KERNEL_4_4] = 0x800 };
	static const char *const letters[] = { [TDW_KERNEL_6_1] = "SDTtXZPI",
					       [TDW_KERNEL_4_11] = "SDTtZXxKWPNn",
					       [TDW_KERNEL_4_14] = "RSDTtXZPI",
					       [TDW_KERNEL_4_4] = "SDTtZXxKWPN" };
	const char *at = letter == 'R' && k != TDW_KERNEL_4_14 ? NULL : strchr(letters[k], letter);
	uint64_t raw = !at ? 0 : k == TDW_KERNEL_4_14 ? (uint64_t)(at - letters[k]) : 1ull << (at - letters[k]);

	return preempted ? raw | mark[k] : raw;
}

static const struct format *by_type(const struct tdf *f, int type)
{
	for (int i = 0; i < f->nr; i++)
		if (f->fmt[i].type == type)
			return &f->fmt[i];
	fprintf(stderr, "no format of event type %d\n", type);
	exit(1);
}

/* Value of an integer field. */
static uint64_t value(const struct tdf *f, const struct wi_event *ev, const char *name)
{
	const struct {
		const char *name;
		int type;
		int64_t v;
	} v[] = {
		{ "prev_pid", WI_EV_SCHED_SWITCH, ev->sw.prev_pid },
		{ "next_pid", WI_EV_SCHED_SWITCH, ev->sw.next_pid },
		{ "prev_prio", WI_EV_SCHED_SWITCH, ev->sw.prev_prio },
		{ "next_prio", WI_EV_SCHED_SWITCH, ev->sw.next_prio },
		{ "prev_state", WI_EV_SCHED_SWITCH,
		  (int64_t)raw_state(f->cfg.kernel, ev->sw.prev_state, ev->sw.preempted) },
		{ "pid", WI_EV_SCHED_WAKING, ev->wk.pid },
		{ "prio", WI_EV_SCHED_WAKING, ev->wk.prio },
		{ "target_cpu", WI_EV_SCHED_WAKING, ev->wk.target_cpu },
		{ "success", WI_EV_SCHED_WAKING, ev->wk.success },
		{ "pid", WI_EV_SCHED_MIGRATE_TASK, ev->mig.pid },
		{ "prio", WI_EV_SCHED_MIGRATE_TASK, ev->mig.prio },
		{ "orig_cpu", WI_EV_SCHED_MIGRATE_TASK, ev->mig.orig_cpu },
		{ "dest_cpu", WI_EV_SCHED_MIGRATE_TASK, ev->mig.dest_cpu },
		{ "parent_pid", WI_EV_SCHED_PROCESS_FORK, ev->fork.parent_pid },
		{ "child_pid", WI_EV_SCHED_PROCESS_FORK, ev->fork.child_pid },
		{ "pid", WI_EV_SCHED_PROCESS_EXEC, ev->exec.pid },
		{ "old_pid", WI_EV_SCHED_PROCESS_EXEC, ev->exec.old_pid },
		{ "pid", WI_EV_SCHED_PROCESS_EXIT, ev->exit.pid },
		{ "prio", WI_EV_SCHED_PROCESS_EXIT, ev->exit.prio },
		{ "pid", WI_EV_SCHED_STAT_RUNTIME, ev->stat.pid },
		{ "runtime", WI_EV_SCHED_STAT_RUNTIME, (int64_t)ev->stat.runtime_ns },
		{ "vruntime", WI_EV_SCHED_STAT_RUNTIME, (int64_t)ev->stat.vruntime_ns },
		{ "state", WI_EV_CPU_IDLE, ev->idle.state },
		{ "cpu_id", WI_EV_CPU_IDLE, ev->idle.cpu_id },
		{ "hrtimer", WI_EV_HRTIMER_START, (int64_t)ev->hrtimer.hrtimer },
		{ "expires", WI_EV_HRTIMER_START, (int64_t)ev->hrtimer.expires_ns },
		{ "id", WI_EV_SYS_ENTER, ev->sys.nr },
	};
	int type = ev->type;

	if (type == WI_EV_SCHED_WAKEUP || type == WI_EV_SCHED_WAKEUP_NEW)
		type = WI_EV_SCHED_WAKING;
	if (type == WI_EV_HRTIMER_EXPIRE_ENTRY)
		type = WI_EV_HRTIMER_START;
	if (type == WI_EV_SYS_EXIT)
		type = WI_EV_SYS_ENTER;
	for (size_t i = 0; i < sizeof(v) / sizeof(v[0]); i++)
		if (v[i].type == type && !strcmp(v[i].name, name))
			return (uint64_t)v[i].v;
	return 0;
}

static void put_common(const struct tdf *f, const struct format *fmt, const struct wi_event *ev, uint8_t *out)
{
	put(f, out, fmt->id, 2);
	out[2] = ev->common_flags;
	out[3] = ev->common_preempt_count;
	put(f, out + 4, (uint64_t)(int64_t)ev->common_pid, 4);
}

static uint32_t put_loc(const struct tdf *f, uint8_t *out, uint32_t at, uint32_t len, const char *text)
{
	uint32_t n = (uint32_t)strlen(text) + 1;

	put(f, out + at, n << 16 | len, 4);
	memcpy(out + len, text, n);
	return (len + n + 3) & ~3u;
}

uint32_t tdf_encode(const struct tdf *f, const struct wi_event *ev, const char *comm, const char *comm2, uint8_t *out,
		    size_t size)
{
	const struct format *fmt = by_type(f, ev->type);
	uint32_t len = fmt->size;
	int nth = 0;

	memset(out, 0, size < 256 ? size : 256);
	put_common(f, fmt, ev, out);
	for (int i = 0; i < FIELDS && fmt->f[i].name; i++) {
		uint8_t *at = out + fmt->offset[i];

		switch (fmt->f[i].kind) {
		case CHARS16: {
			const char *name = nth++ ? comm2 : comm;
			size_t n = name ? strlen(name) : 0;

			if (n)
				memcpy(at, name, n < 16 ? n : 16);
			break;
		}
		case LOC:
			len = put_loc(f, out, fmt->offset[i], len, comm ? comm : "");
			break;
		case TAIL:
			memcpy(at, ev->marker.text, ev->marker.len);
			memcpy(at + ev->marker.len, "\n", 2);
			len = fmt->offset[i] + ev->marker.len + 2;
			break;
		default:
			put(f, at, value(f, ev, fmt->f[i].name), size_of(f, fmt->f[i].kind));
		}
	}
	return (len + 3) & ~3u;
}

uint32_t tdf_encode_function(const struct tdf *f, int32_t pid, uint8_t *out)
{
	const struct format *fmt = by_type(f, -1);
	const struct wi_event ev = { .common_pid = pid };

	memset(out, 0, fmt->size);
	put_common(f, fmt, &ev, out);
	return fmt->size;
}

uint16_t tdw_event_id(enum wi_event_type type)
{
	for (size_t i = 0; i < sizeof(all) / sizeof(all[0]); i++)
		if (all[i].type == (int)type)
			return all[i].id;
	return 0;
}
