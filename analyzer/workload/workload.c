/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What every holder of a workload needs: names, noise codes, the invariants, the end. */
#include "analyzer/workload/workload.h"

#include <stdlib.h>

#include "analyzer/topology/topology.h"
#include "analyzer/workload/priv.h"

const char *wi_op_name(enum wi_op_kind kind)
{
	static const char *const names[WI_NR_OPS] = {
#define X(id, name, target, help) [WI_OP_##id] = name,
		WI_OPS(X)
#undef X
	};

	return (uint32_t)kind < WI_NR_OPS ? names[kind] : "unknown";
}

/* As a histogram's buckets are numbered, with 2^11 steps an octave: below 2^12 exact, then the upper 12 bits of the
 * value. */
#define MANTISSA_BITS 11
#define MAX_CODE 0xfffeu

uint16_t wi_noise_encode(uint64_t ns)
{
	if (ns < 1u << (MANTISSA_BITS + 1))
		return (uint16_t)ns;
	uint32_t shift = 63 - (uint32_t)__builtin_clzll(ns) - MANTISSA_BITS;
	uint64_t code = ((uint64_t)shift << MANTISSA_BITS) + (ns >> shift);

	return code > MAX_CODE ? MAX_CODE : (uint16_t)code;
}

uint64_t wi_noise_decode(uint16_t code)
{
	if (code < 1u << (MANTISSA_BITS + 1))
		return code;
	uint32_t shift = (code >> MANTISSA_BITS) - 1u;

	return (uint64_t)(code - (shift << MANTISSA_BITS)) << shift;
}

static bool wrong(struct wi_err *err, const char *what, uint64_t at)
{
	return wi_err_set(err, WI_EREFUSED, "workload: %s, number %llu", what, (unsigned long long)at);
}

static bool is_prio(int prio, uint32_t policy)
{
	return prio >= -1 && prio < 140 && (policy <= WAKEIF_POLICY_DEADLINE || policy == WAKEIF_POLICY_UNKNOWN);
}

static bool check_op(const struct wi_workload *w, uint32_t task, const struct wi_op *op, size_t at, struct wi_err *err)
{
	switch (op->kind) {
	case WI_OP_WAKE:
	case WI_OP_UNSEEN:
		return op->target < w->nr_counters || wrong(err, "a wake names no counter", at);
	case WI_OP_BLOCK:
	case WI_OP_TAKE:
		return (op->target < w->nr_counters && w->counter[op->target].task == task) ||
		       wrong(err, "a block names no counter of its own", at);
	case WI_OP_SLEEP:
		return op->target < w->nr_sleeps || wrong(err, "a sleep is missing", at);
	case WI_OP_FORK:
		return (op->target < w->nr_tasks && op->target != task &&
			w->task[op->target].start == WI_START_UNBORN) ||
		       wrong(err, "a fork names no unborn task", at);
	case WI_OP_RENICE:
		return (!(op->value >> 24) && is_prio((int16_t)(op->value >> 8), op->value & 0xff)) ||
		       wrong(err, "an impossible priority, of operation", at);
	case WI_OP_RUN:
	case WI_OP_YIELD:
	case WI_OP_EXEC:
	case WI_OP_STALL:
	case WI_OP_RESUME:
	case WI_OP_EXIT:
	case WI_OP_END:
		return true;
	default:
		return wrong(err, "an operation of unknown kind", at);
	}
}

static bool check_tape(const struct wi_workload *w, uint32_t i, struct wi_err *err)
{
	const struct wi_work_task *t = &w->task[i];
	uint64_t work_ns = 0;
	uint32_t blocks = 0;

	if (!t->nr_ops)
		return wrong(err, "a task without a tape", i);
	for (size_t n = 0; n < t->nr_ops; n++) {
		const struct wi_op *op = &w->ops[t->first_op + n];
		bool last = op->kind == WI_OP_EXIT || op->kind == WI_OP_END;

		if (!check_op(w, i, op, t->first_op + n, err))
			return false;
		if (last != (n + 1 == t->nr_ops))
			return wrong(err, "a tape does not end once", i);
		work_ns += op->work_ns + (op->kind == WI_OP_RUN ? op->value : 0);
		blocks += op->kind == WI_OP_BLOCK || op->kind == WI_OP_SLEEP;
	}
	if (work_ns != t->work_ns || blocks != t->nr_blocks)
		return wrong(err, "a task's sums are not those of its tape", i);
	return true;
}

static bool check_task(const struct wi_workload *w, uint32_t i, struct wi_err *err)
{
	const struct wi_work_task *t = &w->task[i];
	const struct wi_op *first = &w->ops[t->first_op < w->nr_ops ? t->first_op : 0];

	if (t->first_op > w->nr_ops || t->nr_ops > w->nr_ops - t->first_op)
		return wrong(err, "a tape lies outside of the tapes", i);
	if (!is_prio(t->prio, t->policy))
		return wrong(err, "a task's priority", i);
	if (t->start > WI_START_UNBORN || (t->allowed != WI_WORK_NONE && t->allowed >= w->nr_masks))
		return wrong(err, "a task's start or affinity", i);
	if (t->cpu != WI_WORK_NONE && t->cpu >= w->topology->nr_cpus)
		return wrong(err, "a task on no CPU", i);
	if (t->start == WI_START_BLOCKED &&
	    (!t->nr_ops || first->work_ns || (first->kind != WI_OP_BLOCK && first->kind != WI_OP_SLEEP)))
		return wrong(err, "a sleeper's tape does not begin with a block", i);
	return check_tape(w, i, err);
}

static bool check_births(const struct wi_workload *w, struct wi_err *err)
{
	bool *born = calloc((size_t)w->nr_tasks + 1, sizeof(*born)), ok = true;

	if (!born)
		return wi_err_nomem(err);
	for (uint32_t i = 0; i < w->nr_tasks; i++)
		born[i] = w->task[i].born_unseen;
	for (size_t n = 0; ok && n < w->nr_ops; n++) {
		const struct wi_op *op = &w->ops[n];

		if (op->kind != WI_OP_FORK)
			continue;
		ok = !born[op->target] || wrong(err, "a task born twice", op->target);
		born[op->target] = true;
	}
	free(born);
	return ok;
}

bool wi_workload_check(const struct wi_workload *w, struct wi_err *err)
{
	for (uint32_t i = 0; i < w->nr_counters; i++)
		if (w->counter[i].task >= w->nr_tasks)
			return wrong(err, "a counter of no task", i);
	for (uint32_t i = 0; i < w->nr_masks; i++)
		if (wi_mask_empty(w->masks + (size_t)i * w->topology->nr_words, w->topology->nr_words))
			return wrong(err, "an empty affinity", i);
	for (uint32_t i = 0; i < w->nr_tasks; i++)
		if (!check_task(w, i, err))
			return false;
	return check_births(w, err);
}

void wi_workload_free(struct wi_workload *w)
{
	if (!w)
		return;
	for (uint32_t k = 0; k < WI_NR_WAKE_KINDS; k++) {
		free((void *)w->draw[k].noise);
		free((void *)w->draw_idle[k].noise);
		free((void *)w->draw_preempt[k].noise);
	}
	for (uint32_t i = 0; i < w->nr_tasks; i++) {
		free((void *)w->task[i].comm);
		free((void *)w->task[i].cgroup);
	}
	free(w->task);
	free(w->ops);
	free(w->sleep);
	free(w->counter);
	free(w->masks);
	wi_topology_free(w->own_topology);
	free(w);
}
