/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "analyzer/workload/pack.h"

#include <string.h>

#include "analyzer/topology/flat.h"
#include "analyzer/workload/priv.h"

/* Bounds of what a recording can hold; sums of work stay far from overflow in the machine's 2^-8 ns. */
#define MAX_TIME_NS (1ull << 52)
#define MAX_TASKS (1u << 24)

enum { OP_BYTES = 16, NOISE_BYTES = 8, SLEEP_BYTES = 32, COUNTER_BYTES = 8, TASK_BYTES = 60 };

static bool has_noise(uint32_t kind)
{
	return kind == WI_OP_WAKE || kind == WI_OP_UNSEEN || kind == WI_OP_FORK;
}

/* ---- out ---- */

static void put_noise(struct wi_bytes_out *o, const struct wi_wake_noise *n)
{
	wi_bytes_put_u16(o, n->gap);
	wi_bytes_put_u16(o, n->transit);
	wi_bytes_put_u16(o, n->start);
	wi_bytes_put_u16(o, (uint16_t)(n->kind | n->flags << 8));
}

static void put_noises(struct wi_bytes_out *o, const struct wi_wake_noise *n, uint32_t nr)
{
	wi_bytes_put_u64(o, nr);
	for (uint32_t i = 0; i < nr; i++)
		put_noise(o, &n[i]);
}

static void put_op(struct wi_bytes_out *o, const struct wi_op *op)
{
	wi_bytes_put_u32(o, op->work_ns);
	wi_bytes_put_u32(o, op->kind | (uint32_t)op->target << 5);
	if (has_noise(op->kind))
		put_noise(o, &op->wake);
	else
		wi_bytes_put_u64(o, op->value);
}

static void put_sleep(struct wi_bytes_out *o, const struct wi_work_sleep *s)
{
	wi_bytes_put_u64(o, s->length_ns);
	wi_bytes_put_u64(o, s->wake_ns);
	wi_bytes_put_u32(o, s->waker_cpu);
	wi_bytes_put_u32(o, s->context | (uint32_t)s->on_own_cpu << 8 | (uint32_t)s->timer << 9 |
				    (uint32_t)s->disturbed << 10);
	put_noise(o, &s->wake);
}

/* Tapes lie one behind the other: first_op follows from nr_ops, sums from the operations. */
static void put_task(struct wi_bytes_out *o, const struct wi_work_task *t)
{
	wi_bytes_put_u32(o, (uint32_t)t->pid);
	wi_bytes_put_u32(o, (uint32_t)t->tgid);
	wi_bytes_put_text(o, t->comm);
	wi_bytes_put_text(o, t->cgroup);
	wi_bytes_put_u16(o, (uint16_t)t->prio);
	wi_bytes_put_u16(o, t->policy);
	wi_bytes_put_u32(o, t->start | (uint32_t)t->kthread << 8 | (uint32_t)t->born_unseen << 9);
	wi_bytes_put_u32(o, t->cpu);
	wi_bytes_put_u32(o, t->parent);
	wi_bytes_put_u32(o, t->allowed);
	wi_bytes_put_u64(o, t->start_ns);
	wi_bytes_put_u64(o, t->nr_ops);
	wi_bytes_put_u64(o, t->ran_ns);
}

static void put_head(struct wi_bytes_out *o, const struct wi_workload *w)
{
	wi_bytes_put_u32(o, w->kernel);
	wi_bytes_put_u32(o, w->hz);
	wi_bytes_put_u64(o, w->window_ns);
	wi_bytes_put_u32(o, w->smt_speed);
	wi_bytes_put_u32(o, w->host_cpus);
	wi_bytes_put_u32(o, w->edge);
	wi_bytes_put_u64(o, w->lost_events);
	wi_bytes_put_u64(o, w->lost_marks);
	wi_bytes_put_text(o, w->source);
#define X(id, name, help) wi_bytes_put_u64(o, w->facts.id);
	WI_WORK_FACTS(X)
#undef X
}

void wi_workload_pack(const struct wi_workload *w, struct wi_bytes_out *o)
{
	put_head(o, w);
	wi_topology_pack(w->topology, o);
	wi_bytes_put_u64(o, w->nr_masks);
	wi_bytes_put_u64s(o, w->masks, (size_t)w->nr_masks * w->topology->nr_words);
	wi_bytes_put_u64(o, w->nr_counters);
	for (uint32_t i = 0; i < w->nr_counters; i++) {
		wi_bytes_put_u32(o, w->counter[i].task);
		wi_bytes_put_u32(o, w->counter[i].initial);
	}
	wi_bytes_put_u64(o, w->nr_sleeps);
	for (uint32_t i = 0; i < w->nr_sleeps; i++)
		put_sleep(o, &w->sleep[i]);
	for (uint32_t k = 0; k < WI_NR_WAKE_KINDS; k++) {
		put_noises(o, w->draw[k].noise, w->draw[k].nr);
		put_noises(o, w->draw_idle[k].noise, w->draw_idle[k].nr);
		put_noises(o, w->draw_preempt[k].noise, w->draw_preempt[k].nr);
	}
	wi_bytes_put_u64(o, w->nr_tasks);
	for (uint32_t i = 0; i < w->nr_tasks; i++)
		put_task(o, &w->task[i]);
	wi_bytes_put_u64(o, w->nr_ops);
	for (uint32_t i = 0; i < w->nr_tasks; i++)
		for (size_t n = 0; n < w->task[i].nr_ops; n++)
			put_op(o, &w->ops[w->task[i].first_op + n]);
}

/* ---- in ---- */

struct unpack {
	struct wi_workload *w;
	struct wi_bytes_in *in;
	struct wi_err *err;
};

static bool wrong(struct unpack *u, const char *what, uint64_t at)
{
	return wi_err_set(u->err, WI_EREFUSED, "workload: %s, number %llu", what, (unsigned long long)at);
}

static bool whole(struct unpack *u)
{
	return !u->in->failed || wrong(u, "it ends too early, or a count or text is impossible, near byte", u->in->pos);
}

/* An array of a count that is read first, of things that take so many bytes there. NULL: err set. */
static void *array(struct unpack *u, uint32_t *nr, size_t packed, size_t size)
{
	uint32_t n = wi_bytes_get_count(u->in, packed);
	void *p;

	if (!whole(u))
		return NULL;
	p = calloc((size_t)n + 1, size);
	if (p)
		*nr = n;
	else
		wi_err_nomem(u->err);
	return p;
}

static char *get_text(struct unpack *u, bool *none)
{
	size_t len;
	const char *text = wi_bytes_get_text(u->in, &len);
	char *own;

	*none = !text;
	if (text && memchr(text, 0, len))
		u->in->failed = true;
	if (!text || u->in->failed)
		return NULL;
	own = strndup(text, len);
	if (!own)
		wi_err_nomem(u->err);
	return own;
}

static bool get_noise(struct unpack *u, struct wi_wake_noise *n)
{
	uint16_t bits;

	n->gap = wi_bytes_get_u16(u->in);
	n->transit = wi_bytes_get_u16(u->in);
	n->start = wi_bytes_get_u16(u->in);
	bits = wi_bytes_get_u16(u->in);
	n->kind = (uint8_t)bits;
	n->flags = (uint8_t)(bits >> 8);
	return n->kind < WI_NR_WAKE_KINDS || wrong(u, "a wakeup of unknown kind, near byte", u->in->pos);
}

static bool get_noises(struct unpack *u, const struct wi_wake_noise **noise, uint32_t *nr)
{
	struct wi_wake_noise *n = array(u, nr, NOISE_BYTES, sizeof(*n));

	*noise = n;
	if (!n)
		return false;
	for (uint32_t i = 0; i < *nr; i++)
		if (!get_noise(u, &n[i]))
			return false;
	return true;
}

static bool get_head(struct unpack *u)
{
	struct wi_workload *w = u->w;
	uint32_t edge;
	size_t len;

	w->kernel = wi_bytes_get_u32(u->in);
	w->hz = wi_bytes_get_u32(u->in);
	w->window_ns = wi_bytes_get_u64(u->in);
	w->smt_speed = wi_bytes_get_u32(u->in);
	w->host_cpus = wi_bytes_get_u32(u->in);
	edge = wi_bytes_get_u32(u->in);
	w->edge = (uint8_t)edge;
	w->lost_events = wi_bytes_get_u64(u->in);
	w->lost_marks = wi_bytes_get_u64(u->in);
	const char *source = wi_bytes_get_text(u->in, &len);

	if (source && len < sizeof(w->source) && !memchr(source, 0, len))
		memcpy(w->source, source, len);
	else
		u->in->failed = true;
#define X(id, name, help) w->facts.id = wi_bytes_get_u64(u->in);
	WI_WORK_FACTS(X)
#undef X
	if (!whole(u))
		return false;
	if (w->window_ns > MAX_TIME_NS || w->smt_speed < 512 || w->smt_speed > 1024 || w->host_cpus > WI_MAX_CPUS ||
	    edge > WI_EDGE_ANY || w->hz > 10000)
		return wrong(u, "an impossible window, speed, tick or number of CPUs", w->window_ns);
	return true;
}

static bool get_masks(struct unpack *u)
{
	struct wi_workload *w = u->w;
	const struct wakeif_topology *t = w->topology;
	size_t size = t->nr_words * sizeof(*w->masks);

	w->masks = array(u, &w->nr_masks, size, size);
	if (!w->masks)
		return false;
	wi_bytes_get_u64s(u->in, w->masks, (size_t)w->nr_masks * t->nr_words);
	for (uint32_t i = 0; t->nr_cpus % 64 && i < w->nr_masks; i++)
		if (w->masks[(size_t)(i + 1) * t->nr_words - 1] >> t->nr_cpus % 64)
			return wrong(u, "an affinity to CPUs that the machine has not", i);
	return true;
}

static bool get_edges(struct unpack *u)
{
	struct wi_workload *w = u->w;

	w->counter = array(u, &w->nr_counters, COUNTER_BYTES, sizeof(*w->counter));
	for (uint32_t i = 0; w->counter && i < w->nr_counters; i++) {
		w->counter[i].task = wi_bytes_get_u32(u->in);
		w->counter[i].initial = wi_bytes_get_u32(u->in);
		if (w->counter[i].initial > INT32_MAX)
			return wrong(u, "wakes under way at the start, of counter", i);
	}
	return w->counter != NULL;
}

static bool get_sleeps(struct unpack *u)
{
	struct wi_workload *w = u->w;

	w->sleep = array(u, &w->nr_sleeps, SLEEP_BYTES, sizeof(*w->sleep));
	for (uint32_t i = 0; w->sleep && i < w->nr_sleeps; i++) {
		struct wi_work_sleep *s = &w->sleep[i];
		uint32_t bits;

		s->length_ns = wi_bytes_get_u64(u->in);
		s->wake_ns = wi_bytes_get_u64(u->in);
		s->waker_cpu = wi_bytes_get_u32(u->in);
		bits = wi_bytes_get_u32(u->in);
		s->context = (uint8_t)bits;
		s->on_own_cpu = bits >> 8 & 1;
		s->timer = bits >> 9 & 1;
		s->disturbed = bits >> 10 & 1;
		if (!get_noise(u, &s->wake))
			return false;
		if (s->context >= WAKEIF_NR_CONTEXTS || bits >> 11 ||
		    (s->waker_cpu != WI_WORK_NONE &&
		     (s->waker_cpu >= w->topology->nr_cpus || s->length_ns > MAX_TIME_NS || s->wake_ns > MAX_TIME_NS)))
			return wrong(u, "an impossible sleep", i);
	}
	return w->sleep != NULL;
}

static bool get_draws(struct unpack *u)
{
	for (uint32_t k = 0; k < WI_NR_WAKE_KINDS; k++)
		if (!get_noises(u, &u->w->draw[k].noise, &u->w->draw[k].nr) ||
		    !get_noises(u, &u->w->draw_idle[k].noise, &u->w->draw_idle[k].nr) ||
		    !get_noises(u, &u->w->draw_preempt[k].noise, &u->w->draw_preempt[k].nr))
			return false;
	return true;
}

static bool get_task(struct unpack *u, uint32_t i, size_t *at)
{
	struct wi_workload *w = u->w;
	struct wi_work_task *t = &w->task[i];
	bool no_comm, no_cgroup;
	uint32_t bits, policy;

	t->pid = (int32_t)wi_bytes_get_u32(u->in);
	t->tgid = (int32_t)wi_bytes_get_u32(u->in);
	t->comm = get_text(u, &no_comm);
	t->cgroup = get_text(u, &no_cgroup);
	t->prio = (int16_t)wi_bytes_get_u16(u->in);
	policy = wi_bytes_get_u16(u->in);
	t->policy = (uint8_t)policy;
	bits = wi_bytes_get_u32(u->in);
	t->start = (uint8_t)bits;
	t->kthread = bits >> 8 & 1;
	t->born_unseen = bits >> 9 & 1;
	t->cpu = wi_bytes_get_u32(u->in);
	t->parent = wi_bytes_get_u32(u->in);
	t->allowed = wi_bytes_get_u32(u->in);
	t->start_ns = wi_bytes_get_u64(u->in);
	t->nr_ops = wi_bytes_get_u64(u->in);
	t->ran_ns = wi_bytes_get_u64(u->in);
	t->first_op = *at;
	if (!whole(u) || u->err->code)
		return false;
	if (no_comm || policy > UINT8_MAX || bits >> 10 || t->start_ns > MAX_TIME_NS || t->ran_ns > MAX_TIME_NS ||
	    (t->parent != WI_WORK_NONE && t->parent >= w->nr_tasks) ||
	    (t->cpu != WI_WORK_NONE && (t->cpu >= w->topology->nr_cpus || !wi_mask_test(w->topology->present, t->cpu))))
		return wrong(u, "an impossible task", i);
	if (t->nr_ops > u->in->nr / OP_BYTES - *at)
		return wrong(u, "a tape of impossible length, of task", i);
	*at += t->nr_ops;
	return true;
}

static bool get_op(struct unpack *u, struct wi_op *op, size_t at)
{
	uint32_t bits;

	op->work_ns = wi_bytes_get_u32(u->in);
	bits = wi_bytes_get_u32(u->in);
	op->kind = bits & 31;
	op->target = bits >> 5;
	if (has_noise(op->kind))
		return get_noise(u, &op->wake);
	op->value = wi_bytes_get_u64(u->in);
	return (op->kind != WI_OP_RUN || op->value <= MAX_TIME_NS) || wrong(u, "an impossible run, operation", at);
}

/* What is not in the file: sums of a tape. */
static bool sum_up(struct unpack *u, struct wi_work_task *t)
{
	for (size_t n = 0; n < t->nr_ops; n++) {
		const struct wi_op *op = &u->w->ops[t->first_op + n];

		t->work_ns += op->work_ns + (op->kind == WI_OP_RUN ? op->value : 0);
		t->nr_blocks += op->kind == WI_OP_BLOCK || op->kind == WI_OP_SLEEP;
		if (t->work_ns > MAX_TIME_NS)
			return wrong(u, "impossibly much work before operation", t->first_op + n);
	}
	return true;
}

static bool get_tapes(struct unpack *u)
{
	struct wi_workload *w = u->w;
	uint32_t nr_ops;
	size_t at = 0;

	w->task = array(u, &w->nr_tasks, TASK_BYTES, sizeof(*w->task));
	if (!w->task || w->nr_tasks > MAX_TASKS)
		return wrong(u, "too many tasks", w->nr_tasks);
	for (uint32_t i = 0; i < w->nr_tasks; i++)
		if (!get_task(u, i, &at))
			return false;
	w->ops = array(u, &nr_ops, OP_BYTES, sizeof(*w->ops));
	if (!w->ops || nr_ops != at)
		return wrong(u, "operations that belong to no task", at);
	w->nr_ops = at;
	for (size_t n = 0; n < w->nr_ops; n++)
		if (!get_op(u, &w->ops[n], n))
			return false;
	for (uint32_t i = 0; i < w->nr_tasks; i++)
		if (!sum_up(u, &w->task[i]))
			return false;
	return true;
}

struct wi_workload *wi_workload_unpack(struct wi_bytes_in *in, struct wi_err *err)
{
	struct unpack u = { calloc(1, sizeof(*u.w)), in, err };

	if (!u.w) {
		wi_err_nomem(err);
		return NULL;
	}
	if (get_head(&u)) {
		u.w->own_topology = wi_topology_unpack(in, err);
		u.w->topology = u.w->own_topology;
	}
	if (u.w->topology && get_masks(&u) && get_edges(&u) && get_sleeps(&u) && get_draws(&u) && get_tapes(&u) &&
	    whole(&u) && wi_workload_check(u.w, err))
		return u.w;
	wi_workload_free(u.w);
	return NULL;
}
