/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Text through wi_text_ops, and the events that came out as lines. */
#ifndef TEXT_FIXTURE_H
#define TEXT_FIXTURE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "analyzer/base/err.h"
#include "parsers/source.h"

struct text_run {
	struct wi_err err;
	char *events; /* one line an event, see below; NULL if open failed */
	uint64_t count[WI_NR_EVENT_TYPES];
	char format[64], kernel[64], clock[32];
	uint32_t time_res_ns, nr_cpus, nr_damage, nr_buffers;
	uint64_t unparsed, unknown_state_letters;
	char first_damage[200];
	struct wi_cpu_info cpu[64];
	int probe;
};

/*
 * Lines: "NS CPU PID[/TGID] CONTEXT TYPE ARGS"; CONTEXT: - unknown, t task, h s H z; a 'd' behind it: irqs off.
 * buffer: instance or NULL. Everything is read twice (rewind) and must be the same. Free with text_run_free().
 */
void text_run(const char *text, size_t len, const char *buffer, struct text_run *run);
void text_run_file(const char *path, struct text_run *run); /* .gz too, through wi_source */
void text_run_free(struct text_run *run);

/* Runs and compares the events; fails the running cmocka test with both texts. */
void text_expect(const char *text, const char *expected);

/* Path of a test input below $WAKEIF_SHARED (default ../shared), or NULL after saying that it is absent. Static. */
const char *shared_path(const char *below);

#endif
