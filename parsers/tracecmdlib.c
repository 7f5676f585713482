/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * trace.dat through libtracecmd: the cross-check of our own reader, and the way in for files that only a newer
 * libtracecmd knows. Records, their times and their fields come from libtracecmd and libtraceevent alone; the
 * library hands out no facts about the recording (kernel, clock, statistics), so these are read with our own container
 * walk where it can read the file.
 */
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <trace-cmd.h>

#include "analyzer/base/cpumask.h"
#include "parsers/chain.h"
#include "parsers/evfmt_decode.h"
#include "parsers/merge.h"
#include "parsers/tracedat_choose.h"
#include "parsers/trial.h"

#define ARENA_BYTES (256u << 10)
#define PEEK_RECORDS 2000

/* Fields by event, in tep's words. The first name is field[0], and so on. */
static const struct {
	const char *system, *name;
	enum wi_event_type type;
	const char *field[7];
} wants[] = {
	{ "sched",
	  "sched_switch",
	  WI_EV_SCHED_SWITCH,
	  { "prev_pid", "next_pid", "prev_comm", "next_comm", "prev_prio", "next_prio", "prev_state" } },
	{ "sched", "sched_waking", WI_EV_SCHED_WAKING, { "pid", "comm", "prio", "target_cpu", "success" } },
	{ "sched", "sched_wakeup", WI_EV_SCHED_WAKEUP, { "pid", "comm", "prio", "target_cpu", "success" } },
	{ "sched", "sched_wakeup_new", WI_EV_SCHED_WAKEUP_NEW, { "pid", "comm", "prio", "target_cpu", "success" } },
	{ "sched", "sched_migrate_task", WI_EV_SCHED_MIGRATE_TASK, { "pid", "comm", "prio", "orig_cpu", "dest_cpu" } },
	{ "sched",
	  "sched_process_fork",
	  WI_EV_SCHED_PROCESS_FORK,
	  { "parent_pid", "parent_comm", "child_pid", "child_comm" } },
	{ "sched", "sched_process_exec", WI_EV_SCHED_PROCESS_EXEC, { "pid", "old_pid", "filename" } },
	{ "sched", "sched_process_exit", WI_EV_SCHED_PROCESS_EXIT, { "pid", "comm", "prio" } },
	{ "sched", "sched_stat_runtime", WI_EV_SCHED_STAT_RUNTIME, { "pid", "runtime", "vruntime" } },
	{ "power", "cpu_idle", WI_EV_CPU_IDLE, { "state", "cpu_id" } },
	{ "irq_vectors", "local_timer_entry", WI_EV_LOCAL_TIMER_ENTRY, { NULL } },
	{ "irq_vectors", "call_function_single_entry", WI_EV_CALL_FUNCTION_SINGLE_ENTRY, { NULL } },
	{ "irq_vectors", "reschedule_entry", WI_EV_RESCHEDULE_ENTRY, { NULL } },
	{ "timer", "hrtimer_start", WI_EV_HRTIMER_START, { "hrtimer", "expires" } },
	{ "timer", "hrtimer_expire_entry", WI_EV_HRTIMER_EXPIRE_ENTRY, { "hrtimer" } },
	{ "raw_syscalls", "sys_enter", WI_EV_SYS_ENTER, { "id" } },
	{ "raw_syscalls", "sys_exit", WI_EV_SYS_EXIT, { "id" } },
	{ "ftrace", "print", WI_EV_MARKER, { "buf" } },
};

struct lib_cpu {
	struct tep_record *rec; /* not delivered yet */
	struct wi_event ev;	/* the same, decoded, if decoded */
	bool decoded, ok, head_is_lost, dead, in_other_run;
	int32_t other_pid, leaving;
	struct wi_chain chain;
	uint64_t seen_ns, last_ns;
	uint64_t nr_lost;
	bool nr_lost_unknown;
	bool lost_next; /* the next record comes after a loss */
	uint8_t lost_kind;
	uint8_t head_type;
	uint64_t head_ns;
};

struct lib {
	struct tracecmd_input *top, *in; /* in: the chosen buffer */
	struct tep_handle *tep;
	struct wi_names *names;
	struct wi_source_info *info;
	struct wi_damage_log log;
	struct wi_td facts;
	bool have_facts;
	struct tep_format_field *field[WI_NR_EVENT_TYPES][7];
	uint8_t slot[65536], slot_known[65536 / 8];
	uint8_t flags_mask;
	struct wi_state_table states;
	uint32_t nr_cpus, filter;
	struct lib_cpu *cpu;
	struct wi_cpu_info *cpu_info;
	struct wi_buffer_info *buffer_info;
	struct wi_merge merge;
	bool merge_ready;
	char *arena;
	size_t arena_used;
	char format[96], *clock;
};

static void close_lib(void *self)
{
	struct lib *l = self;

	if (!l)
		return;
	for (uint32_t i = 0; l->cpu && i < l->nr_cpus; i++)
		if (l->cpu[i].rec)
			tracecmd_free_record(l->cpu[i].rec);
	if (l->in && l->in != l->top)
		tracecmd_close(l->in);
	if (l->top)
		tracecmd_close(l->top);
	if (l->merge_ready)
		wi_merge_fini(&l->merge);
	wi_td_fini(&l->facts);
	free(l->clock);
	free(l->cpu);
	free(l->cpu_info);
	free(l->buffer_info);
	free(l->arena);
	free(l);
}

/* What an event id means; asked once an id. */
static uint8_t slot_of(struct lib *l, int id)
{
	struct tep_event *e;
	uint8_t slot = WI_SLOT_OTHER;

	if (id < 0 || id > 65535)
		return WI_SLOT_OTHER;
	if (l->slot_known[id / 8] >> (id % 8) & 1)
		return l->slot[id];
	e = tep_find_event(l->tep, id);
	if (e && e->system && !strcmp(e->system, "ftrace"))
		slot = WI_SLOT_HIDDEN;
	for (size_t i = 0; e && i < sizeof(wants) / sizeof(wants[0]); i++) {
		if (strcmp(wants[i].system, e->system) != 0 || strcmp(wants[i].name, e->name) != 0)
			continue;
		slot = (uint8_t)wants[i].type;
		for (int k = 0; k < 7 && wants[i].field[k]; k++)
			l->field[slot][k] = tep_find_field(e, wants[i].field[k]);
	}
	l->slot[id] = slot;
	l->slot_known[id / 8] |= (uint8_t)(1 << (id % 8));
	return slot;
}

static bool number(const struct lib *l, uint8_t type, int k, const struct tep_record *rec, int64_t *out)
{
	struct tep_format_field *f = l->field[type][k];
	unsigned long long v;

	if (!f || f->offset + f->size > rec->size || tep_read_number_field(f, rec->data, &v))
		return false;
	if (!(f->flags & TEP_FIELD_IS_SIGNED))
		*out = (int64_t)v;
	else
		*out = f->size == 4 ? (int32_t)v : f->size == 2 ? (int16_t)v : f->size == 1 ? (int8_t)v : (int64_t)v;
	return true;
}

static bool text(const struct lib *l, uint8_t type, int k, const struct tep_record *rec, const char **out,
		 uint32_t *len)
{
	const struct tep_format_field *f = l->field[type][k];
	const char *data = rec->data;
	uint32_t off, n;

	if (!f || f->offset > rec->size ||
	    (f->flags & TEP_FIELD_IS_DYNAMIC ? f->offset + 4 : f->offset + f->size) > rec->size)
		return false;
	off = (uint32_t)f->offset;
	n = f->size ? (uint32_t)f->size : (uint32_t)rec->size - off;
	if (f->flags & TEP_FIELD_IS_DYNAMIC) {
		uint32_t loc = (uint32_t)tep_read_number(l->tep, data + off, 4);

		off = (loc & 0xffff) + (f->flags & TEP_FIELD_IS_RELATIVE ? off + 4 : 0);
		n = loc >> 16;
		if (off + n > (uint32_t)rec->size)
			return false;
	}
	*out = data + off;
	*len = (uint32_t)strnlen(data + off, n);
	return true;
}

static bool comm(const struct lib *l, uint8_t type, int k, const struct tep_record *rec, uint32_t *id)
{
	const char *s;
	uint32_t n;

	*id = WI_NAME_NONE;
	if (!l->field[type][k])
		return true;
	if (!text(l, type, k, rec, &s, &n))
		return false;
	*id = wi_names_intern(l->names, s, n);
	return true;
}

static bool exec_name(const struct lib *l, const struct tep_record *rec, uint32_t *id)
{
	const char *s;
	uint32_t n;

	*id = WI_NAME_NONE;
	if (!l->field[WI_EV_SCHED_PROCESS_EXEC][2])
		return true;
	if (!text(l, WI_EV_SCHED_PROCESS_EXEC, 2, rec, &s, &n))
		return false;
	*id = wi_names_of_exec(l->names, s, n);
	return true;
}

static bool pid(const struct lib *l, uint8_t type, int k, const struct tep_record *rec, int32_t *out)
{
	int64_t v;

	if (!number(l, type, k, rec, &v) || v < 0 || v > WI_PID_MAX)
		return false;
	*out = (int32_t)v;
	return true;
}

static bool prio(const struct lib *l, uint8_t type, int k, const struct tep_record *rec, int16_t *out)
{
	int64_t v;

	if (!number(l, type, k, rec, &v) || v < WI_PRIO_MIN || v > WI_PRIO_MAX)
		return false;
	*out = (int16_t)v;
	return true;
}

static bool cpu_nr(const struct lib *l, uint8_t type, int k, const struct tep_record *rec, int32_t *out)
{
	int64_t v;

	if (!number(l, type, k, rec, &v) || v < 0 || v >= WI_MAX_CPUS)
		return false;
	*out = (int32_t)v;
	return true;
}

static bool decode_switch(struct lib *l, const struct tep_record *rec, struct wi_event *ev)
{
	const uint8_t t = WI_EV_SCHED_SWITCH;
	int64_t raw;
	struct wi_state st = { '?', false, false };

	if (!pid(l, t, 0, rec, &ev->sw.prev_pid) || !pid(l, t, 1, rec, &ev->sw.next_pid) ||
	    !comm(l, t, 2, rec, &ev->sw.prev_comm) || !comm(l, t, 3, rec, &ev->sw.next_comm) ||
	    !prio(l, t, 4, rec, &ev->sw.prev_prio) || !prio(l, t, 5, rec, &ev->sw.next_prio))
		return false;
	if (number(l, t, 6, rec, &raw)) {
		st = wi_state_decode(&l->states, (uint64_t)raw);
		ev->known |= (uint8_t)(WI_KNOWN_PREEMPTED | (st.known ? WI_KNOWN_STATE : 0));
		if (!st.known)
			l->info->unknown_state_letters++;
	}
	ev->sw.prev_state = st.letter;
	ev->sw.preempted = st.preempted;
	return true;
}

static bool decode_fields(struct lib *l, const struct tep_record *rec, struct wi_event *ev)
{
	const uint8_t t = ev->type;
	int64_t v = 0, w = 0;

	switch (t) {
	case WI_EV_SCHED_SWITCH:
		return decode_switch(l, rec, ev);
	case WI_EV_SCHED_WAKING:
	case WI_EV_SCHED_WAKEUP:
	case WI_EV_SCHED_WAKEUP_NEW:
		ev->wk.success = !number(l, t, 4, rec, &v) || v != 0;
		return pid(l, t, 0, rec, &ev->wk.pid) && comm(l, t, 1, rec, &ev->wk.comm) &&
		       prio(l, t, 2, rec, &ev->wk.prio) && cpu_nr(l, t, 3, rec, &ev->wk.target_cpu);
	case WI_EV_SCHED_MIGRATE_TASK:
		return pid(l, t, 0, rec, &ev->mig.pid) && comm(l, t, 1, rec, &ev->mig.comm) &&
		       prio(l, t, 2, rec, &ev->mig.prio) && cpu_nr(l, t, 3, rec, &ev->mig.orig_cpu) &&
		       cpu_nr(l, t, 4, rec, &ev->mig.dest_cpu);
	case WI_EV_SCHED_PROCESS_FORK:
		return pid(l, t, 0, rec, &ev->fork.parent_pid) && comm(l, t, 1, rec, &ev->fork.parent_comm) &&
		       pid(l, t, 2, rec, &ev->fork.child_pid) && comm(l, t, 3, rec, &ev->fork.child_comm);
	case WI_EV_SCHED_PROCESS_EXEC:
		return pid(l, t, 0, rec, &ev->exec.pid) && pid(l, t, 1, rec, &ev->exec.old_pid) &&
		       exec_name(l, rec, &ev->exec.comm);
	case WI_EV_SCHED_PROCESS_EXIT:
		return pid(l, t, 0, rec, &ev->exit.pid) && comm(l, t, 1, rec, &ev->exit.comm) &&
		       prio(l, t, 2, rec, &ev->exit.prio);
	case WI_EV_SCHED_STAT_RUNTIME:
		if (!number(l, t, 1, rec, &v))
			return false;
		ev->stat.runtime_ns = (uint64_t)v;
		ev->stat.vruntime_ns = number(l, t, 2, rec, &w) ? (uint64_t)w : UINT64_MAX;
		return pid(l, t, 0, rec, &ev->stat.pid);
	case WI_EV_CPU_IDLE:
		if (!number(l, t, 0, rec, &v) || !number(l, t, 1, rec, &w))
			return false;
		ev->idle.state = (uint32_t)v;
		ev->idle.cpu_id = (uint32_t)w;
		return ev->idle.cpu_id < WI_MAX_CPUS;
	case WI_EV_HRTIMER_START:
		if (!number(l, t, 1, rec, &w))
			return false;
		ev->hrtimer.expires_ns = (uint64_t)w;
		/* fall through */
	case WI_EV_HRTIMER_EXPIRE_ENTRY:
		if (!number(l, t, 0, rec, &v))
			return false;
		ev->hrtimer.hrtimer = (uint64_t)v;
		return true;
	case WI_EV_SYS_ENTER:
	case WI_EV_SYS_EXIT:
		return number(l, t, 0, rec, &ev->sys.nr);
	case WI_EV_MARKER:
		if (!text(l, t, 0, rec, &ev->marker.text, &ev->marker.len))
			return false;
		if (ev->marker.len && ev->marker.text[ev->marker.len - 1] == '\n')
			ev->marker.len--;
		return true;
	default:
		return true;
	}
}

static void decode(struct lib *l, struct lib_cpu *c, uint32_t cpu, uint8_t type, bool pid_known)
{
	struct tep_record *rec = c->rec;
	struct wi_event *ev = &c->ev;

	memset(ev, 0, sizeof(*ev));
	ev->ts_ns = rec->ts;
	ev->pos = rec->offset;
	ev->cpu = cpu;
	ev->type = type;
	ev->common_pid = tep_data_pid(l->tep, rec);
	ev->common_flags = (uint8_t)tep_data_flags(l->tep, rec) & l->flags_mask;
	ev->common_preempt_count = (uint8_t)tep_data_preempt_count(l->tep, rec);
	ev->known = WI_KNOWN_FLAGS | WI_KNOWN_PREEMPT_COUNT;
	if (pid_known)
		ev->known |= WI_KNOWN_COMMON_PID;
	c->ok = wi_pid_ok(ev->common_pid) && decode_fields(l, rec, ev);
	c->decoded = true;
}

static void put_lost(struct lib_cpu *c, enum wi_lost_kind kind)
{
	if (c->seen_ns > c->last_ns)
		c->last_ns = c->seen_ns;
	c->head_is_lost = true;
	c->head_ns = c->last_ns;
	c->head_type = WI_EV_LOST;
	c->lost_kind = (uint8_t)kind;
	c->in_other_run = false;
	c->leaving = WI_CHAIN_UNKNOWN;
	c->chain = WI_CHAIN_START;
}

static void first_record(struct lib *l, struct lib_cpu *c, uint32_t cpu)
{
	struct wi_cpu_info *ci = &l->cpu_info[cpu];
	int p = tep_data_pid(l->tep, c->rec);

	c->seen_ns = c->rec->ts;
	if (ci->has_data)
		return;
	ci->has_data = true;
	ci->first_ts_ns = c->rec->ts;
	ci->overwritten = c->rec->missed_events != 0;
	ci->first_pid = wi_pid_ok(p) ? p : -1;
}

static void drop_record(struct lib_cpu *c)
{
	tracecmd_free_record(c->rec);
	c->rec = NULL;
	c->decoded = false;
}

/* Takes the next record of a CPU if none waits. */
static bool take_record(struct lib *l, struct lib_cpu *c, uint32_t cpu, bool first)
{
	if (c->rec)
		return true;
	c->rec = first ? tracecmd_read_cpu_first(l->in, (int)cpu) : tracecmd_read_data(l->in, (int)cpu);
	if (!c->rec)
		return false;
	if (c->rec->ts > l->info->last_ts_ns)
		l->info->last_ts_ns = c->rec->ts;
	if (first)
		first_record(l, c, cpu);
	if (c->rec->missed_events) {
		c->lost_next = true;
		c->nr_lost_unknown |= c->rec->missed_events < 0;
		c->nr_lost += c->rec->missed_events > 0 ? (uint64_t)c->rec->missed_events : 0;
	}
	return true;
}

/* Next event of a CPU to its head. false: end. */
static bool advance(struct lib *l, uint32_t cpu, bool first)
{
	struct lib_cpu *c = &l->cpu[cpu];

	for (; take_record(l, c, cpu, first); drop_record(c), first = false) {
		uint8_t slot = slot_of(l, tep_data_type(l->tep, c->rec));
		int32_t p = tep_data_pid(l->tep, c->rec);
		bool stale =
			p == c->leaving && p != c->chain.pid && (slot == WI_SLOT_OTHER || slot == WI_EV_HRTIMER_START);

		if (c->lost_next) {
			c->lost_next = false;
			put_lost(c, WI_LOST_MARK);
			return true;
		}
		if (slot == WI_SLOT_HIDDEN || (stale && slot == WI_SLOT_OTHER)) {
			c->seen_ns = c->rec->ts;
			continue;
		}
		if (!c->decoded)
			decode(l, c, cpu, slot == WI_SLOT_OTHER ? WI_EV_OTHER : slot, !stale);
		bool proves = slot != WI_EV_MARKER;
		if (proves && wi_chain_broken(&c->chain, &c->ev)) {
			c->nr_lost_unknown = true;
			put_lost(c, WI_LOST_CHAIN);
			return true;
		}
		if (proves)
			wi_chain_follow(&c->chain, &c->ev);
		if (proves && !stale)
			c->leaving = slot == WI_EV_SCHED_SWITCH ? c->ev.sw.prev_pid : WI_CHAIN_UNKNOWN;
		c->seen_ns = c->rec->ts;
		if (slot == WI_SLOT_OTHER) {
			if (c->in_other_run && c->other_pid == p)
				continue;
			c->in_other_run = true;
			c->other_pid = p;
		} else if (proves) {
			c->in_other_run = false;
		}
		if (!(l->filter >> c->ev.type & 1))
			continue;
		if (c->ev.ts_ns < c->last_ns) {
			l->info->unordered++;
			c->ev.ts_ns = c->last_ns;
		}
		c->last_ns = c->head_ns = c->ev.ts_ns;
		c->head_type = c->ev.type;
		c->head_is_lost = false;
		return true;
	}
	c->dead = true;
	return false;
}

static bool prime(struct lib *l)
{
	uint64_t first = UINT64_MAX;

	for (uint32_t i = 0; i < l->nr_cpus; i++) {
		struct lib_cpu *c = &l->cpu[i];

		if (c->rec)
			tracecmd_free_record(c->rec);
		memset(c, 0, sizeof(*c));
		c->leaving = WI_CHAIN_UNKNOWN;
		c->chain = WI_CHAIN_START;
		advance(l, i, true);
		if (l->cpu_info[i].has_data && l->cpu_info[i].first_ts_ns < first)
			first = l->cpu_info[i].first_ts_ns;
	}
	for (uint32_t i = 0; i < l->nr_cpus; i++) {
		struct lib_cpu *c = &l->cpu[i];

		if (!c->dead && c->head_is_lost)
			c->head_ns = c->last_ns = first;
		wi_merge_start(&l->merge, i, c->head_ns, wi_event_rank(c->head_type), !c->dead);
	}
	wi_merge_build(&l->merge);
	return true;
}

static bool has_sched(struct lib *l, struct tracecmd_input *in, uint64_t *records)
{
	bool sched = false;

	*records = 0;
	for (uint32_t i = 0; i < l->nr_cpus; i++) {
		struct tep_record *r = tracecmd_read_cpu_first(in, (int)i);

		for (uint32_t n = 0; r; n++) {
			uint8_t slot = slot_of(l, tep_data_type(l->tep, r));

			if (n < PEEK_RECORDS)
				sched |= slot == WI_EV_SCHED_SWITCH || slot == WI_EV_SCHED_WAKING ||
					 slot == WI_EV_SCHED_WAKEUP;
			++*records;
			tracecmd_free_record(r);
			r = tracecmd_read_data(in, (int)i);
		}
	}
	return sched;
}

/* The handle of the wanted buffer: by name, else the one that our own reader chooses, else by content. */
static bool choose_buffer(struct lib *l, const char *want, const char *path, struct wi_err *err)
{
	int nr = tracecmd_buffer_instances(l->top);
	bool best_sched = false, sched, found = false;
	uint64_t best = 0, n;

	if (l->have_facts) {
		const struct wi_td_buffer *b = wi_td_choose_buffer(&l->facts, want, err);

		if (!b)
			return false;
		want = b->name;
	}
	if (nr <= 0 && (!want || !*want)) {
		l->in = l->top;
		return true;
	}
	for (int i = -1; i < nr; i++) {
		const char *name = i < 0 ? "" : tracecmd_buffer_instance_name(l->top, i);
		struct tracecmd_input *in;

		if (want && strcmp(want, name ? name : "") != 0)
			continue;
		in = i < 0 ? l->top : tracecmd_buffer_instance_handle(l->top, i);
		if (!in)
			continue;
		sched = has_sched(l, in, &n);
		if (found && (sched < best_sched || (sched == best_sched && n <= best))) {
			if (in != l->top)
				tracecmd_close(in);
			continue;
		}
		if (l->in && l->in != l->top)
			tracecmd_close(l->in);
		l->in = in;
		best = n;
		best_sched = sched;
		found = true;
	}
	return found ||
	       wi_err_at(err, WI_EREFUSED, path, WI_NO_OFFSET, "no buffer \"%.64s\" in the file", want ? want : "");
}

/* Facts from our own walk of the container. A file that libtracecmd is known to choke on is refused here. */
static bool read_facts(struct lib *l, int fd, uint64_t bytes, const char *path, struct wi_err *err)
{
	struct wi_err ignored = { 0 };

	l->facts.file = (struct wi_td_file){ .fd = fd, .bytes = bytes, .path = path };
	l->facts.log = &l->log;
	l->have_facts = wi_td_open(&l->facts, &ignored);
	if (!l->have_facts && !l->facts.unknown) /* damage: nothing that the library would survive better */
		return wi_err_set(err, ignored.code, "%s", ignored.msg);
	if (l->facts.odd_cpu_count)
		return wi_err_at(err, WI_EREFUSED, path, l->facts.odd_cpu_count,
				 "libtracecmd cannot read this file: option 8 is no number of CPUs");
	return true;
}

static void fill_info(struct lib *l, struct wi_source_info *info)
{
	const struct wi_td *f = &l->facts;

	snprintf(l->format, sizeof(l->format), "trace.dat%s%s through libtracecmd",
		 l->have_facts ? (f->version == 6 ? " v6" : " v7") : "",
		 l->have_facts && f->file.codec != WI_TD_NONE ? (f->file.codec == WI_TD_ZSTD ? " zstd" : " zlib") : "");
	info->format = l->format;
	info->kernel = f->kernel ? f->kernel : "";
	info->arch = f->arch ? f->arch : "";
	info->clock = f->time.mult ? "tsc2nsec" : f->clock ? f->clock : "";
	info->time_res_ns = 1;
	info->nr_cpus = l->nr_cpus;
	info->big_endian = tep_is_file_bigendian(l->tep);
	info->long_size = (uint32_t)tep_get_long_size(l->tep);
	info->page_size = l->have_facts ? f->page_bytes : (uint32_t)tep_get_page_size(l->tep);
	info->cpu = l->cpu_info;
	info->looks_ahead = true;
}

static bool fill_buffers(struct lib *l, struct wi_source_info *info, struct wi_err *err)
{
	int nr = tracecmd_buffer_instances(l->top);

	l->buffer_info = calloc((size_t)(nr > 0 ? nr : 0) + 1, sizeof(*l->buffer_info));
	if (!l->buffer_info)
		return wi_err_nomem(err);
	l->buffer_info[0] = (struct wi_buffer_info){ .name = "", .chosen = l->in == l->top };
	for (int i = 0; i < nr; i++)
		l->buffer_info[i + 1].name = tracecmd_buffer_instance_name(l->top, i);
	info->buffers = l->buffer_info;
	info->nr_buffers = (uint32_t)(nr > 0 ? nr : 0) + 1;
	return true;
}

static bool open_input(struct lib *l, int fd, const char *path, struct wi_err *err)
{
	char self[64];
	int own;

	/* libtracecmd moves the file position and closes its descriptor: give it one of its own */
	snprintf(self, sizeof(self), "/proc/self/fd/%d", fd);
	own = open(self, O_RDONLY | O_CLOEXEC);
	if (own < 0)
		own = dup(fd);
	tracecmd_set_loglevel(TEP_LOG_NONE);
	l->top = own < 0 ? NULL : tracecmd_open_fd(own, TRACECMD_FL_LOAD_NO_PLUGINS);
	if (!l->top) {
		if (own >= 0)
			close(own);
		return wi_err_at(err, WI_EREFUSED, path, WI_NO_OFFSET, "libtracecmd cannot read this file");
	}
	l->tep = tracecmd_get_tep(l->top);
	return true;
}

static void *open_here(int fd, uint64_t file_bytes, const char *path, const struct wi_open_opts *opts,
		       struct wi_names *names, struct wi_source_info *info, struct wi_err *err)
{
	struct lib *l = calloc(1, sizeof(*l));
	int cpus;

	if (!l)
		goto nomem;
	l->names = names;
	l->info = info;
	l->filter = UINT32_MAX;
	wi_damage_init(&l->log, info);
	if (!read_facts(l, fd, file_bytes, path, err) || !open_input(l, fd, path, err))
		goto out;
	cpus = tep_get_cpus(l->tep);
	if (cpus < 0 || cpus > (int)WI_MAX_CPUS) {
		wi_err_at(err, WI_EREFUSED, path, WI_NO_OFFSET, "impossible number of CPUs: %d", cpus);
		goto out;
	}
	l->nr_cpus = (uint32_t)cpus;
	if (l->have_facts && l->facts.cpu_count > l->nr_cpus)
		l->nr_cpus = l->facts.cpu_count;
	if (l->have_facts) {
		l->states = l->facts.formats->states;
		l->flags_mask = l->facts.formats->flags_mask;
	} else {
		wi_state_table_init(&l->states, "", "");
		l->flags_mask = 0xfd;
	}
	l->cpu = calloc(l->nr_cpus ? l->nr_cpus : 1, sizeof(*l->cpu));
	l->cpu_info = calloc(l->nr_cpus ? l->nr_cpus : 1, sizeof(*l->cpu_info));
	l->arena = malloc(ARENA_BYTES);
	l->merge_ready = wi_merge_init(&l->merge, l->nr_cpus ? l->nr_cpus : 1);
	if (!l->cpu || !l->cpu_info || !l->arena || !l->merge_ready)
		goto nomem;
	for (uint32_t i = 0; i < l->nr_cpus; i++)
		l->cpu_info[i].first_pid = -1;
	if (!choose_buffer(l, opts->buffer, path, err) || !fill_buffers(l, info, err))
		goto out;
	fill_info(l, info);
	prime(l);
	return l;
nomem:
	wi_err_nomem(err);
out:
	info->damage = NULL;
	info->nr_damage = 0;
	close_lib(l);
	return NULL;
}

/* Copies the text of a marker, whose record goes away. false: no room in this batch. */
static bool keep_text(struct lib *l, struct wi_event *ev)
{
	if (ev->type != WI_EV_MARKER)
		return true;
	if (ev->marker.len > ARENA_BYTES - l->arena_used)
		return false;
	memcpy(l->arena + l->arena_used, ev->marker.text, ev->marker.len);
	ev->marker.text = l->arena + l->arena_used;
	l->arena_used += ev->marker.len;
	return true;
}

static void bad_content(struct lib *l, struct lib_cpu *c, uint32_t cpu)
{
	l->info->unparsed++;
	wi_damage_note(&l->log, WI_DMG_CONTENT, cpu, c->ev.pos,
		       "CPU %" PRIu32 ": record of %s not used: impossible field", cpu,
		       wi_event_name((enum wi_event_type)c->ev.type));
	c->lost_next = c->nr_lost_unknown = true;
}

static int next_batch(void *self, struct wi_event *ev, int max, struct wi_err *err)
{
	struct lib *l = self;
	int n = 0;

	(void)err;
	l->arena_used = 0;
	while (n < max && wi_merge_more(&l->merge)) {
		uint32_t i = wi_merge_winner(&l->merge);
		struct lib_cpu *c = &l->cpu[i];

		if (c->head_is_lost) {
			memset(&ev[n], 0, sizeof(ev[n]));
			ev[n].ts_ns = c->head_ns;
			ev[n].cpu = i;
			ev[n].type = WI_EV_LOST;
			ev[n].lost.kind = c->lost_kind;
			ev[n].lost.nr_lost = c->nr_lost_unknown ? 0 : c->nr_lost;
			c->nr_lost = 0;
			c->nr_lost_unknown = false;
			n++;
		} else {
			ev[n] = c->ev;
			if (c->ok && !keep_text(l, &ev[n]))
				return n;
			if (c->ok)
				n++;
			else
				bad_content(l, c, i);
			drop_record(c);
		}
		if (advance(l, i, false))
			wi_merge_replace(&l->merge, i, c->head_ns, wi_event_rank(c->head_type));
		else
			wi_merge_end(&l->merge, i);
	}
	return n;
}

static bool rewind_lib(void *self, struct wi_err *err)
{
	struct lib *l = self;

	(void)err;
	l->info->unparsed = l->info->unordered = l->info->unknown_state_letters = 0;
	return prime(l);
}

struct attempt {
	int fd;
	uint64_t file_bytes;
	const char *path;
	const struct wi_open_opts *opts;
	struct wi_names *names;
	struct wi_source_info *info;
};

/* Everything that will be done with the file; what fails in an orderly way will fail so again. */
static void read_once(void *ctx)
{
	const struct attempt *a = ctx;
	struct wi_err err = { 0 };
	struct lib *l = open_here(a->fd, a->file_bytes, a->path, a->opts, a->names, a->info, &err);
	struct wi_event ev[64];

	while (l && next_batch(l, ev, 64, &err) > 0)
		;
	if (l)
		prime(l);
	close_lib(l);
}

static void *open_lib(int fd, uint64_t file_bytes, const char *path, const struct wi_open_opts *opts,
		      struct wi_names *names, struct wi_source_info *info, struct wi_err *err)
{
	struct attempt a = { fd, file_bytes, path, opts, names, info };

	/* libtracecmd believes the sizes and offsets in a file: damaged ones crash it */
	if (!wi_trial(read_once, &a, "libtracecmd", file_bytes, path, err))
		return NULL;
	return open_here(fd, file_bytes, path, opts, names, info, err);
}

static void set_filter(void *self, uint32_t type_bits)
{
	struct lib *l = self;

	l->filter = type_bits | WI_EV_BIT(LOST);
}

static uint32_t comm_of(void *self, int32_t of)
{
	struct lib *l = self;
	const char *s = tep_data_comm_from_pid(l->tep, of);

	return s && strcmp(s, "<...>") != 0 ? wi_names_intern(l->names, s, strlen(s)) : WI_NAME_NONE;
}

static int probe(const uint8_t *head, size_t len, uint64_t file_bytes)
{
	(void)head;
	(void)len;
	(void)file_bytes;
	return 0;
}

#ifdef __has_feature
#if __has_feature(address_sanitizer)
#define __SANITIZE_ADDRESS__ 1
#endif
#endif
#ifdef __SANITIZE_ADDRESS__
/* libtracecmd loses its handle when it refuses a file, and the name of the clock always. */
const char *__lsan_default_suppressions(void);

const char *__lsan_default_suppressions(void)
{
	return "leak:libtracecmd.so\nleak:vsscanf\n";
}
#endif

const struct wi_parser_ops wi_tracecmdlib_ops = {
	.name = "trace.dat through libtracecmd",
	.probe = probe,
	.open = open_lib,
	.next_batch = next_batch,
	.rewind = rewind_lib,
	.set_filter = set_filter,
	.comm_of = comm_of,
	.close = close_lib,
};
