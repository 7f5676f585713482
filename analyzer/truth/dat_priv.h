/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Shared by the files that read a recording of the kernel's probes: dat_reader.c its events in time order, dat_record.c
 * what an event says of a decision, dat.c decisions as a whole and the sched_waking that each belongs to.
 */
#ifndef WI_TRUTH_DAT_PRIV_H
#define WI_TRUTH_DAT_PRIV_H

#include <trace-cmd.h>

#include "analyzer/base/cpumask.h"
#include "analyzer/truth/dat.h"

#define MAX_SITES 256u

struct waking {
	uint64_t ns;
	int32_t pid;
	uint32_t cpu;
	bool used;
};

struct wi_truth_dat {
	char *path;
	int fd;
	uint64_t bytes;
	struct waking *waking; /* by CPU, pid, time */
	size_t nr, room;
	uint64_t from_ns, to_ns; /* of the trace */
	uint64_t smt[MAX_SITES]; /* return addresses of the idle tests of a target's siblings */
	uint32_t nr_smt;
	uint64_t truth_from_ns, truth_to_ns; /* of the probe events */
};

/* ---- dat_reader.c ---- */

/* libtracecmd at the buffer that holds decisions; the next event of each CPU. */
struct reader {
	struct tracecmd_input *top, *in;
	struct tep_handle *tep;
	struct tep_record **head; /* by CPU */
	uint32_t nr_cpus;
};

int wi_dat_open(const char *path, struct wi_err *err); /* offset 0 of the unwrapped file; -1: err set */
void wi_dat_reader_fini(struct reader *r);
/* "" where the file does not describe it. */
const char *wi_dat_event_name(const struct reader *r, const struct tep_record *rec, struct tep_event **event);
bool wi_dat_reader_init(struct reader *r, const struct wi_truth_dat *t, struct wi_err *err);
/* The earliest one, the caller's to free; NULL: all were read. */
struct tep_record *wi_dat_reader_next(struct reader *r, uint32_t *cpu);
/* A number of an event. false: it has none, or not where it says. */
bool wi_dat_value(const struct tep_format_field *f, const struct tep_record *rec, int64_t *out);
bool wi_dat_field(struct tep_event *event, const struct tep_record *rec, const char *name, int64_t *out);

/* ---- dat_record.c ---- */

/* How far the search for an idle CPU has come: which of its tests of CPUs is meant. */
enum phase { BEFORE_SEARCH, SEARCH, SCAN };

/* A decision in the making: between its entry and its return events of its CPU belong to it. */
struct made {
	struct made *next;
	struct wi_truth_decision d;
	struct test {
		uint64_t ip; /* where the answer went */
		uint32_t cpu;
		enum phase phase;
		bool idle;
	} * raw;
	struct wi_truth_test *tests;
	struct wi_truth_llc *llc;
	struct wi_truth_rq *rq;
	wakeif_word mask;
	uint32_t room_raw, tested; /* tested: CPU of the test whose answer is awaited */
	enum phase phase;
	uint64_t ret_ns;
	bool settled;
};

struct stream {
	struct wi_truth_dat *t;
	struct reader r;
	bool learning, nodecision;
	struct made **open, **last; /* by CPU: entered; returned, and not yet followed by anything */
	struct wi_truth_rq **rq;    /* by CPU: run queues told before the entry */
	uint32_t *nr_rq, *room_rq;
	struct made *first, **end; /* returned, in that order */
	struct made *shown;
	uint64_t now_ns, number;
	size_t at_waking;
	bool over;
};

void wi_dat_made_free(struct made *m);
uint32_t wi_dat_cpu(int64_t v); /* WI_TRUTH_NO_CPU where it is none */
/* at: the CPU that wrote the event. Run queues are told before the entry, the rest in between. false: err set. */
bool wi_dat_on_rq(struct stream *s, uint32_t at, struct tep_event *event, const struct tep_record *rec,
		  struct wi_err *err);
bool wi_dat_on_entry(struct stream *s, uint32_t at, struct tep_event *event, const struct tep_record *rec,
		     struct wi_err *err);
bool wi_dat_on_inside(struct made *m, const char *name, struct tep_event *event, const struct tep_record *rec,
		      struct wi_err *err);

#endif
