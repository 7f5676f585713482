/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "parsers/evfmt_decode.h"

#include <stdlib.h>
#include <string.h>

#include <event-parse.h>

#include "analyzer/base/kernel.h"

/* Role of a field in its decoder. */
enum role { NUM, NUM_OPT, NAME, TEXT, TEXT_OPT };

struct want_field {
	const char *name;
	enum role role;
};

struct want {
	const char *system, *name;
	enum wi_event_type type;
	struct want_field field[WI_EVFMT_FIELDS];
};

/* The order of the fields is the order in evfmt_decode.h. */
static const struct want wants[] = {
	{ "sched",
	  "sched_switch",
	  WI_EV_SCHED_SWITCH,
	  { { "prev_comm", NAME },
	    { "prev_pid", NUM },
	    { "prev_prio", NUM },
	    { "prev_state", NUM_OPT },
	    { "next_comm", NAME },
	    { "next_pid", NUM },
	    { "next_prio", NUM } } },
	{ "sched",
	  "sched_waking",
	  WI_EV_SCHED_WAKING,
	  { { "comm", NAME }, { "pid", NUM }, { "prio", NUM }, { "target_cpu", NUM }, { "success", NUM_OPT } } },
	{ "sched",
	  "sched_wakeup",
	  WI_EV_SCHED_WAKEUP,
	  { { "comm", NAME }, { "pid", NUM }, { "prio", NUM }, { "target_cpu", NUM }, { "success", NUM_OPT } } },
	{ "sched",
	  "sched_wakeup_new",
	  WI_EV_SCHED_WAKEUP_NEW,
	  { { "comm", NAME }, { "pid", NUM }, { "prio", NUM }, { "target_cpu", NUM }, { "success", NUM_OPT } } },
	{ "sched",
	  "sched_migrate_task",
	  WI_EV_SCHED_MIGRATE_TASK,
	  { { "comm", NAME }, { "pid", NUM }, { "prio", NUM }, { "orig_cpu", NUM }, { "dest_cpu", NUM } } },
	{ "sched",
	  "sched_process_fork",
	  WI_EV_SCHED_PROCESS_FORK,
	  { { "parent_comm", NAME }, { "parent_pid", NUM }, { "child_comm", NAME }, { "child_pid", NUM } } },
	{ "sched", "sched_process_exec", WI_EV_SCHED_PROCESS_EXEC, { { "pid", NUM }, { "old_pid", NUM }, { "filename", TEXT_OPT } } },
	{ "sched",
	  "sched_process_exit",
	  WI_EV_SCHED_PROCESS_EXIT,
	  { { "comm", NAME }, { "pid", NUM }, { "prio", NUM } } },
	{ "sched",
	  "sched_stat_runtime",
	  WI_EV_SCHED_STAT_RUNTIME,
	  { { "pid", NUM }, { "runtime", NUM }, { "vruntime", NUM_OPT } } },
	{ "power", "cpu_idle", WI_EV_CPU_IDLE, { { "state", NUM }, { "cpu_id", NUM } } },
	{ "irq_vectors", "local_timer_entry", WI_EV_LOCAL_TIMER_ENTRY, { { NULL, 0 } } },
	{ "irq_vectors", "call_function_single_entry", WI_EV_CALL_FUNCTION_SINGLE_ENTRY, { { NULL, 0 } } },
	{ "irq_vectors", "reschedule_entry", WI_EV_RESCHEDULE_ENTRY, { { NULL, 0 } } },
	{ "timer", "hrtimer_start", WI_EV_HRTIMER_START, { { "hrtimer", NUM }, { "expires", NUM } } },
	{ "timer", "hrtimer_expire_entry", WI_EV_HRTIMER_EXPIRE_ENTRY, { { "hrtimer", NUM } } },
	{ "raw_syscalls", "sys_enter", WI_EV_SYS_ENTER, { { "id", NUM } } },
	{ "raw_syscalls", "sys_exit", WI_EV_SYS_EXIT, { { "id", NUM } } },
	{ "ftrace", "print", WI_EV_MARKER, { { "buf", TEXT } } },
};

struct wi_evfmt_set *wi_evfmt_new(bool big_endian, uint32_t long_size)
{
	const bool host_big = __BYTE_ORDER__ == __ORDER_BIG_ENDIAN__;
	struct wi_evfmt_set *set = calloc(1, sizeof(*set));

	if (!set)
		return NULL;
	set->tep = tep_alloc();
	if (!set->tep) {
		free(set);
		return NULL;
	}
	tep_set_loglevel(TEP_LOG_NONE);
	tep_set_file_bigendian(set->tep, big_endian ? TEP_BIG_ENDIAN : TEP_LITTLE_ENDIAN);
	tep_set_local_bigendian(set->tep, host_big ? TEP_BIG_ENDIAN : TEP_LITTLE_ENDIAN);
	tep_set_long_size(set->tep, (int)long_size);
	memset(set->slot, WI_SLOT_OTHER, sizeof(set->slot));
	set->swap = big_endian != host_big;
	set->flags_mask = 0xfd;
	return set;
}

void wi_evfmt_free(struct wi_evfmt_set *set)
{
	if (!set)
		return;
	tep_free(set->tep);
	free(set->switch_print_fmt);
	free(set);
}

/* Name on the first line, "name: NAME\n". */
static bool head_name(const char *text, size_t len, const char **name, size_t *name_len)
{
	if (len < 7 || memcmp(text, "name: ", 6) != 0)
		return false;
	const char *end = memchr(text + 6, '\n', len - 6);
	if (!end)
		return false;
	*name = text + 6;
	*name_len = (size_t)(end - *name);
	return *name_len > 0;
}

static const struct want *find_want(const char *system, const char *name, size_t name_len)
{
	for (size_t i = 0; i < sizeof(wants) / sizeof(wants[0]); i++)
		if (!strcmp(wants[i].system, system) && strlen(wants[i].name) == name_len &&
		    !memcmp(wants[i].name, name, name_len))
			return &wants[i];
	return NULL;
}

uint32_t wi_evfmt_comm16_missed(struct wi_evfmt_names *n, struct wi_evfmt_seen *s, const void *comm16)
{
	memcpy(&s->lo, comm16, 8);
	memcpy(&s->hi, (const char *)comm16 + 8, 8);
	return s->id = wi_names_comm(n->names, comm16);
}

bool wi_evfmt_wanted(const char *system, const char *head, size_t len)
{
	const char *name;
	size_t name_len;

	return head_name(head, len, &name, &name_len) && find_want(system, name, name_len);
}

/* "ID: N" on the second line; -1 if there is none. */
static int format_id(const char *text, size_t len)
{
	const char *nl = memchr(text, '\n', len);
	int id = 0, digits = 0;

	if (!nl || (size_t)(text + len - nl) < 6 || memcmp(nl + 1, "ID: ", 4) != 0)
		return -1;
	for (const char *p = nl + 5; p < text + len && *p >= '0' && *p <= '9' && digits < 6; p++, digits++)
		id = id * 10 + (*p - '0');
	return digits && id < 65536 ? id : -1;
}

static const char *find_text(const char *text, size_t len, const char *what)
{
	return memmem(text, len, what, strlen(what));
}

static bool is_word(char c)
{
	return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_';
}

/*
 * A declaration of the plain kind: words, "*" and "[]" between them, then the name with an optional "[N]"; at least a
 * type and a name. Returns the semicolon behind it, NULL for anything else.
 */
static const char *skip_declaration(const char *p, const char *end)
{
	const bool loc = end - p > 11 && (!memcmp(p, "__data_loc ", 11) || !memcmp(p, "__rel_loc ", 10));
	int words = 0;

	for (char last = ' '; p < end && *p != ';'; last = *p++) {
		if (is_word(*p)) {
			words += !is_word(last);
			continue;
		}
		if (*p == '[') {
			const char *open = p++;

			while (p < end && *p >= '0' && *p <= '9')
				p++;
			if (!words || end - p < 2 || *p != ']' || (p[1] != ';' && (p > open + 1 || !loc)))
				return NULL;
			continue;
		}
		if ((*p != ' ' && *p != '*') || !words)
			return NULL;
	}
	return p < end && words >= 2 && (is_word(p[-1]) || p[-1] == ']') ? p : NULL;
}

/* "LABEL:N;" behind an optional tab. NULL: not there, or a number of more than five digits. */
static const char *skip_number(const char *p, const char *end, const char *label)
{
	size_t n = strlen(label);
	int digits = 0;

	while (p < end && (*p == '\t' || *p == ' '))
		p++;
	if ((size_t)(end - p) < n || memcmp(p, label, n) != 0)
		return NULL;
	for (p += n; p < end && *p >= '0' && *p <= '9'; p++)
		digits++;
	return digits && digits <= 5 && p < end && *p == ';' ? p + 1 : NULL;
}

static bool plain_field(const char *line, size_t len)
{
	const char *p = line + 7, *end = line + len;

	if (len < 8 || memcmp(line, "\tfield:", 7) != 0 || !is_word(*p))
		return false;
	p = skip_declaration(p, end);
	if (p)
		p = skip_number(p + 1, end, "offset:");
	if (p)
		p = skip_number(p, end, "size:");
	if (p && p < end)
		p = skip_number(p, end, "signed:");
	return p == end;
}

static uint32_t name_hash(const char *system, const char *name, size_t len)
{
	uint32_t h = 2166136261u;

	for (; *system; system++)
		h = (h ^ (uint8_t)*system) * 16777619u;
	h = (h ^ '/') * 16777619u;
	for (size_t i = 0; i < len; i++)
		h = (h ^ (uint8_t)name[i]) * 16777619u;
	return (h & ~1u) | 2u;
}

static const char *wanted_by_hash(uint32_t hash)
{
	for (size_t i = 0; i < sizeof(wants) / sizeof(wants[0]); i++)
		if (name_hash(wants[i].system, wants[i].name, strlen(wants[i].name)) == hash)
			return wants[i].name;
	return "an event";
}

bool wi_evfmt_claim_id(struct wi_evfmt_set *set, const char *system, const char *head, size_t len, const char *path,
		       uint64_t offset, struct wi_err *err)
{
	int id = format_id(head, len);
	const char *name;
	size_t name_len;

	if (id < 0 || !head_name(head, len, &name, &name_len))
		return true;
	uint32_t hash = name_hash(system, name, name_len), wanted = find_want(system, name, name_len) != NULL,
		 *owner = &set->owner[id];

	if (!*owner || (*owner & ~1u) == hash) {
		*owner = hash | wanted;
		return true;
	}
	if (!wanted && !(*owner & 1))
		return true;
	return wi_err_at(err, WI_EREFUSED, path, offset, "format of %s: another event has its ID too: %d",
			 wanted_by_hash(wanted ? hash : *owner & ~1u), id);
}

/* Name and ID, "format:", then fields of the plain kind and blank lines. */
static bool plain_format(const char *text, size_t len)
{
	const char *end = text + len;
	int nr = 0;

	for (const char *line = text; line < end; nr++) {
		const char *nl = memchr(line, '\n', (size_t)(end - line));
		size_t n = nl ? (size_t)(nl - line) : (size_t)(end - line);

		if (nr == 2 ? n != 7 || memcmp(line, "format:", 7) != 0 : nr > 2 && n && !plain_field(line, n))
			return false;
		if (nr == 1 && (n > 9 || strspn(line + 4, "0123456789") != n - 4))
			return false;
		if (!nl)
			break;
		line = nl + 1;
	}
	return nr > 2;
}

/*
 * libtraceevent is handed the fields only, and only lines that have the plain form: print formats of 2,000 characters
 * are its slowest and weakest part, and none of them is needed (the state letters are read from the text by state.c).
 */
static struct tep_event *parse_fields(struct wi_evfmt_set *set, const char *system, const struct want *w,
				      const char *text, size_t len, size_t *fields_len)
{
	static const char tail[] = "\n\nprint fmt: \"x\"\n";
	const char *print = find_text(text, len, "\nprint fmt:");
	size_t n = print ? (size_t)(print - text) : len;
	struct tep_event *event = NULL;
	char *copy;

	*fields_len = n;
	while (n && text[n - 1] == '\n')
		n--;
	/* libtraceevent replaces three symbols *_PR_FMT by strings, and loses them */
	if (n > 65536 || !plain_format(text, n) || find_text(text, n, "PR_FMT"))
		return NULL;
	copy = malloc(n + sizeof(tail));
	if (!copy)
		return NULL;
	memcpy(copy, text, n);
	memcpy(copy + n, tail, sizeof(tail));
	if (tep_parse_event(set->tep, copy, n + sizeof(tail) - 1, system) == 0)
		event = tep_find_event_by_name(set->tep, system, w->name);
	free(copy);
	return event;
}

static const struct tep_format_field *find_field(const struct tep_format_field *f, const char *name)
{
	for (; f; f = f->next)
		if (f->name && !strcmp(f->name, name))
			return f;
	return NULL;
}

static bool map_number(const struct tep_format_field *f, struct wi_evfmt_field *out)
{
	if (f->offset < 0 || f->offset > 32767 || (f->flags & (TEP_FIELD_IS_ARRAY | TEP_FIELD_IS_DYNAMIC)))
		return false;
	if (f->size != 1 && f->size != 2 && f->size != 4 && f->size != 8)
		return false;
	out->offset = (uint16_t)f->offset;
	out->size = (uint16_t)f->size;
	out->kind = f->size == 4 ? WI_FK_U4 : WI_FK_INT;
	out->is_signed = (f->flags & TEP_FIELD_IS_SIGNED) != 0;
	return true;
}

static bool map_name(const struct tep_format_field *f, struct wi_evfmt_field *out)
{
	if (f->offset < 0 || f->offset > 32767 || f->size < 1 || f->size > 32767)
		return false;
	out->offset = (uint16_t)f->offset;
	out->size = (uint16_t)f->size;
	if (f->flags & (TEP_FIELD_IS_DYNAMIC | TEP_FIELD_IS_RELATIVE)) {
		out->kind = f->flags & TEP_FIELD_IS_RELATIVE ? WI_FK_REL : WI_FK_LOC;
		return f->size == 4;
	}
	out->kind = f->size == WI_COMM_LEN ? WI_FK_COMM : WI_FK_CHARS;
	return (f->flags & TEP_FIELD_IS_ARRAY) != 0;
}

static bool map_text(const struct tep_format_field *f, struct wi_evfmt_field *out)
{
	if (f->offset < 0 || f->offset > 32767)
		return false;
	out->offset = (uint16_t)f->offset;
	out->size = 0;
	out->kind = WI_FK_TAIL;
	if (f->flags & TEP_FIELD_IS_DYNAMIC) {
		out->size = 4;
		out->kind = WI_FK_LOC;
		return f->size == 4;
	}
	return true;
}

static bool map_common(struct wi_evfmt_set *set, const struct tep_event *event)
{
	const struct tep_format_field *c = event->format.common_fields;
	const struct tep_format_field *type = find_field(c, "common_type"), *flags = find_field(c, "common_flags");
	const struct tep_format_field *preempt = find_field(c, "common_preempt_count"),
				      *pid = find_field(c, "common_pid");

	if (!type || !pid || !map_number(type, &set->common_type) || !map_number(pid, &set->common_pid))
		return false;
	if (type->size != 2 || pid->size != 4)
		return false;
	if (flags && (!map_number(flags, &set->common_flags) || flags->size != 1))
		set->common_flags.kind = WI_FK_ABSENT;
	if (preempt && (!map_number(preempt, &set->common_preempt) || preempt->size != 1))
		set->common_preempt.kind = WI_FK_ABSENT;
	set->common_len = (uint32_t)(type->offset + 2 > pid->offset + 4 ? type->offset + 2 : pid->offset + 4);
	if (set->common_flags.kind != WI_FK_ABSENT && set->common_len < set->common_flags.offset + 1u)
		set->common_len = set->common_flags.offset + 1u;
	if (set->common_preempt.kind != WI_FK_ABSENT && set->common_len < set->common_preempt.offset + 1u)
		set->common_len = set->common_preempt.offset + 1u;
	set->have_common = true;
	return true;
}

static bool map_field(const struct want_field *w, const struct tep_format_field *f, struct wi_evfmt_field *out)
{
	if (!f)
		return false;
	if (w->role == NAME)
		return map_name(f, out);
	if (w->role == TEXT || w->role == TEXT_OPT)
		return map_text(f, out);
	return map_number(f, out);
}

/* Name of the field that cannot be read, NULL when all are there. */
static const char *map_fields(const struct wi_evfmt_set *set, const struct want *w, const struct tep_event *event,
			      struct wi_evfmt *out)
{
	memset(out, 0, sizeof(*out));
	out->type = (uint8_t)w->type;
	out->plain = true;
	out->min_len = set->common_len;
	for (int i = 0; i < WI_EVFMT_FIELDS && w->field[i].name; i++) {
		struct wi_evfmt_field *f = &out->f[i];

		if (!map_field(&w->field[i], find_field(event->format.fields, w->field[i].name), f)) {
			f->kind = WI_FK_ABSENT;
			if (w->field[i].role == NUM || w->field[i].role == TEXT)
				return w->field[i].name;
		}
		if (w->field[i].role == NUM && f->kind != WI_FK_U4)
			out->plain = false;
		if (w->field[i].role == NAME && f->kind != WI_FK_COMM)
			out->plain = false;
		if (out->min_len < (uint32_t)f->offset + f->size)
			out->min_len = (uint32_t)f->offset + f->size;
	}
	return NULL;
}

static bool same_layout(const struct wi_evfmt *a, const struct wi_evfmt *b)
{
	for (int i = 0; i < WI_EVFMT_FIELDS; i++)
		if (a->f[i].kind != b->f[i].kind || a->f[i].offset != b->f[i].offset || a->f[i].size != b->f[i].size ||
		    (a->f[i].kind == WI_FK_INT && a->f[i].is_signed != b->f[i].is_signed))
			return false;
	return true;
}

static bool is_usual(const struct wi_evfmt *fmt)
{
	switch (fmt->type) {
	case WI_EV_SCHED_SWITCH:
		return same_layout(fmt, &wi_usual_switch);
	case WI_EV_SCHED_WAKING:
	case WI_EV_SCHED_WAKEUP:
	case WI_EV_SCHED_WAKEUP_NEW:
		return same_layout(fmt, &wi_usual_wakeup);
	case WI_EV_SCHED_MIGRATE_TASK:
		return same_layout(fmt, &wi_usual_migrate);
	default:
		return false;
	}
}

static bool refuse_or_note(const struct want *w, const char *what, const char *field, const char *path, uint64_t offset,
			   struct wi_damage_log *log, struct wi_err *err)
{
	const char *sep = *field ? " " : "";

	if (w->type == WI_EV_SCHED_SWITCH)
		return wi_err_at(err, WI_EREFUSED, path, offset, "format of %s: %s%s%s", w->name, what, sep, field);
	wi_damage_note(log, WI_DMG_HEAD, UINT32_MAX, offset, "format of %s: %s%s%s, its records are not read", w->name,
		       what, sep, field);
	return true;
}

bool wi_evfmt_add(struct wi_evfmt_set *set, const char *system, const char *text, size_t len, const char *path,
		  uint64_t offset, struct wi_damage_log *log, struct wi_err *err)
{
	const bool ftrace = !strcmp(system, "ftrace");
	const char *name;
	size_t name_len, fields_len;
	int id;

	set->nr_formats++;
	if (!head_name(text, len, &name, &name_len))
		return true;
	id = format_id(text, len);
	if (ftrace && id >= 0)
		set->slot[id] = WI_SLOT_HIDDEN;

	const struct want *w = find_want(system, name, name_len);
	if (!w || set->have[w->type])
		return true;
	if (id < 0)
		return refuse_or_note(w, "no ID", "", path, offset, log, err);

	const struct tep_event *event = parse_fields(set, system, w, text, len, &fields_len);
	if (!event)
		return refuse_or_note(w, "cannot be read", "", path, offset, log, err);
	if (!set->have_common && !map_common(set, event))
		return refuse_or_note(w, "no usable common_type and common_pid", "", path, offset, log, err);

	const char *lacks = map_fields(set, w, event, &set->fmt[w->type]);
	set->fmt[w->type].usual = !lacks && is_usual(&set->fmt[w->type]);
	if (lacks)
		return refuse_or_note(w, "no usable field", lacks, path, offset, log, err);
	if (w->type == WI_EV_SCHED_SWITCH) {
		set->switch_print_fmt = strndup(text + fields_len, len - fields_len);
		if (!set->switch_print_fmt)
			return wi_err_nomem(err);
	}
	set->have[w->type] = true;
	set->slot[id] = (uint8_t)w->type;
	return true;
}

void wi_evfmt_finish(struct wi_evfmt_set *set, const char *kernel_release)
{
	const char *fmt = set->switch_print_fmt ? set->switch_print_fmt : "";
	uint32_t kernel = wi_kernel_of(kernel_release);

	fmt += strspn(fmt, "\n");
	if (!strncmp(fmt, "print fmt:", 10))
		fmt += 10;
	fmt += strspn(fmt, " ");
	wi_state_table_init(&set->states, fmt, kernel_release);
	for (uint32_t raw = 0; raw < WI_STATE_CACHE; raw++)
		set->state_cache[raw] = wi_state_decode(&set->states, raw);
	/* 0x02 changed its meaning (irqs not supported, lazy resched); 0x80 is "bottom halves off" from 5.17 on. */
	set->flags_mask = kernel && kernel < WI_KERNEL(5, 17) ? 0x7d : 0xfd;
}
