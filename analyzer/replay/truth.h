/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What a kernel with probes told of its own decisions: decisions.tsv and nodecision.tsv, plain or zstd-compressed, read
 * line by line. The first line names the columns; their order is free, unknown ones are passed over, "-" and a column
 * that is not there mean "not recorded or not reached". Errors name FILE:LINE. Memory is bounded by the longest line.
 */
#ifndef WI_REPLAY_TRUTH_H
#define WI_REPLAY_TRUTH_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "analyzer/base/err.h"
#include "models/wakeif_model.h"

#define WI_TRUTH_NO_TIME UINT64_MAX
#define WI_TRUTH_NO_CPU UINT32_MAX

/* One look at an idle state; site as enum wi_fair_site (models/fair.h). */
struct wi_truth_test {
	uint32_t cpu;
	char site;
	bool idle;
};

/* State shared by an LLC, named by its lowest CPU. */
struct wi_truth_llc {
	uint32_t first_cpu;
	uint32_t nr_idle_scan;
	uint32_t nr_busy;
	bool has_idle_cores;
};

/* A run queue when the function was entered. */
struct wi_truth_rq {
	uint32_t nr_running, h_nr_running, idle_h_nr_running;
	bool pending;
	uint64_t load, util, util_est, runnable;
	uint32_t capacity;
	int32_t curr_pid;
	uint32_t curr_flips;
	uint64_t clock_ns;
};

struct wi_truth_decision {
	uint64_t line;
	uint64_t ts_ns, waking_ts_ns; /* WI_TRUTH_NO_TIME: belongs to no sched_waking */
	uint32_t cpu;
	int32_t waker, pid;
	uint32_t prev, ret;
	uint32_t wake_flags;
	uint32_t nr_allowed;
	const wakeif_word *allowed; /* allowed_words of them */
	uint32_t allowed_words;
	uint32_t recent; /* WI_TRUTH_NO_CPU: not recorded */
	uint32_t flips;
	int32_t last_wakee; /* pid */
	int16_t prio;
	uint8_t policy;
	bool has_load; /* util .. weight */
	uint64_t util, util_est, load, update_ns, weight;
	bool called_affine; /* affine_*, sync */
	uint32_t affine_this, affine_prev;
	bool sync;
	bool compared; /* this_eff, prev_eff */
	int64_t this_eff, prev_eff;
	uint32_t sis_target; /* WI_TRUTH_NO_CPU: select_idle_sibling was not called */
	int8_t wanted_core;  /* -1: select_idle_cpu was not reached */
	int8_t queued;	     /* -1 not recorded, or not told truthfully (values other than 0 and 1) */
	bool has_tests;	     /* tests were recorded, perhaps none */
	const struct wi_truth_test *tests;
	uint32_t nr_tests;
	const struct wi_truth_llc *llc;
	uint32_t nr_llcs;
	const struct wi_truth_rq *rq; /* by CPU */
	uint32_t nr_rqs;	      /* 0: not recorded */
};

struct wi_truth_nodecision {
	uint64_t line;
	uint64_t waking_ts_ns, wakeup_ts_ns;  /* WI_TRUTH_NO_TIME: not known */
	uint32_t cpu, target_cpu, wakeup_cpu; /* WI_TRUTH_NO_CPU: not known */
	int32_t pid;
	int16_t prio;
	const char *reason;
};

struct wi_truth;

/* NULL: err set; WI_EIO, or WI_EREFUSED when the first line names no columns or lacks a needed one. */
struct wi_truth *wi_truth_open(const char *path, struct wi_err *err);
struct wi_truth *wi_truth_open_nodecision(const char *path, struct wi_err *err);

/* Decisions from elsewhere than a table. */
struct wi_truth_ops {
	int (*next)(void *self, struct wi_truth_decision *d, struct wi_err *err);
	int (*next_nodecision)(void *self, struct wi_truth_nodecision *d, struct wi_err *err);
	void (*close)(void *self);
};

/* NULL: out of memory, self is still the caller's; else wi_truth_close() closes it. */
struct wi_truth *wi_truth_of(const struct wi_truth_ops *ops, void *self, struct wi_err *err);

/* 1: *d is filled, what it points to is valid until the next call; 0: the end; -1: err set. */
int wi_truth_next(struct wi_truth *t, struct wi_truth_decision *d, struct wi_err *err);
int wi_truth_next_nodecision(struct wi_truth *t, struct wi_truth_nodecision *d, struct wi_err *err);

void wi_truth_close(struct wi_truth *t); /* NULL is allowed */

#endif
