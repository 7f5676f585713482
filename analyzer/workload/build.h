/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Makes a workload task by task: from a trace (extract.h), or by hand for tests and synthetic loads.
 *
 *	b = wi_work_builder_new(&err);
 *	t = wi_work_add_task(b, &task);		first_op and nr_ops are filled in at the end
 *	c = wi_work_add_counter(b, t);
 *	wi_work_add_op(b, waker, (struct wi_op){ .work_ns = 100000, .kind = WI_OP_WAKE, .target = c, .wake = noise });
 *	w = wi_work_build(b, &facts, &err);	frees b; checks (wi_workload_check)
 *
 * Out of memory is remembered and told by wi_work_build().
 */
#ifndef WI_WORKLOAD_BUILD_H
#define WI_WORKLOAD_BUILD_H

#include "analyzer/workload/workload.h"

struct wi_work_builder;

struct wi_work_machine {
	uint32_t kernel, hz;
	uint64_t window_ns;
	uint32_t smt_speed, host_cpus;
	uint8_t edge;
	const struct wakeif_topology *topology; /* borrowed as long as the workload lives */
	const char *source;
	uint64_t lost_events, lost_marks;
};

struct wi_work_builder *wi_work_builder_new(struct wi_err *err);
void wi_work_builder_free(struct wi_work_builder *b);
uint32_t wi_work_add_task(struct wi_work_builder *b, const struct wi_work_task *task); /* strings are copied */
struct wi_work_task *wi_work_task(struct wi_work_builder *b,
				  uint32_t task); /* may be changed until build; valid until the next add_task */
void wi_work_name_task(struct wi_work_builder *b, uint32_t task, const char *comm);
uint32_t wi_work_add_counter(struct wi_work_builder *b, uint32_t task);
struct wi_work_counter *wi_work_counter(struct wi_work_builder *b, uint32_t counter);
uint32_t wi_work_add_sleep(struct wi_work_builder *b, const struct wi_work_sleep *sleep);
struct wi_work_sleep *wi_work_sleep(struct wi_work_builder *b, uint32_t sleep);
uint32_t wi_work_add_mask(struct wi_work_builder *b, const wakeif_word *mask,
			  uint32_t nr_words);					  /* equal ones get one number */
size_t wi_work_add_op(struct wi_work_builder *b, uint32_t task, struct wi_op op); /* its number among the task's ops */
struct wi_op *wi_work_op(struct wi_work_builder *b, uint32_t task, size_t nr);
size_t wi_work_nr_ops(const struct wi_work_builder *b, uint32_t task);
void wi_work_add_noise(struct wi_work_builder *b, const struct wi_wake_noise *noise); /* to be drawn from */
struct wi_workload *wi_work_build(struct wi_work_builder *b, const struct wi_work_machine *m,
				  const struct wi_work_facts *facts, struct wi_err *err);

#endif
