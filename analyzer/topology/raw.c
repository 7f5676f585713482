/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "analyzer/topology/raw.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#define MAX_NOTE_BYTES 300u

bool topo_raw_init(struct topo_raw *raw, uint32_t nr_cpus, struct wi_err *err)
{
	*raw = (struct topo_raw){ .nr_cpus = nr_cpus, .nr_words = wi_mask_words(nr_cpus), .reclaim_distance = 30 };
	raw->present = calloc(raw->nr_words, sizeof(uint64_t));
	raw->online = calloc(raw->nr_words, sizeof(uint64_t));
	raw->isolated = calloc(raw->nr_words, sizeof(uint64_t));
	raw->core_id = malloc(nr_cpus * sizeof(int32_t));
	raw->package_id = malloc(nr_cpus * sizeof(int32_t));
	raw->node_id = malloc(nr_cpus * sizeof(int32_t));
	raw->capacity = malloc(nr_cpus * sizeof(uint32_t));
	bool ok = raw->present && raw->online && raw->isolated && raw->core_id && raw->package_id && raw->node_id &&
		  raw->capacity;
	for (int p = 0; p < TOPO_NR_PARTS; p++) {
		raw->label[p] = malloc(nr_cpus * sizeof(uint32_t));
		ok = ok && raw->label[p];
	}
	if (!ok)
		return wi_err_nomem(err);
	for (uint32_t c = 0; c < nr_cpus; c++) {
		for (int p = 0; p < TOPO_NR_PARTS; p++)
			raw->label[p][c] = TOPO_NONE;
		raw->core_id[c] = raw->package_id[c] = raw->node_id[c] = -1;
		raw->capacity[c] = 1024;
	}
	return true;
}

void topo_raw_fini(struct topo_raw *raw)
{
	for (uint32_t c = 0; raw->read && c < raw->nr_cpus; c++) {
		for (uint32_t d = 0; d < raw->read[c].nr; d++)
			if (raw->read[c].domain[d].span_owned)
				free(raw->read[c].domain[d].span);
		free(raw->read[c].domain);
	}
	free(raw->read);
	for (int p = 0; p < TOPO_NR_PARTS; p++)
		free(raw->label[p]);
	free(raw->present);
	free(raw->online);
	free(raw->isolated);
	free(raw->core_id);
	free(raw->package_id);
	free(raw->node_id);
	free(raw->capacity);
	free(raw->dist_node);
	free(raw->dist);
	free(raw->note);
	*raw = (struct topo_raw){ 0 };
}

void topo_note(struct topo_raw *raw, const char *fmt, ...)
{
	char text[MAX_NOTE_BYTES];
	va_list ap;

	if (raw->nr_notes++ >= TOPO_MAX_NOTES)
		return;
	va_start(ap, fmt);
	vsnprintf(text, sizeof(text), fmt, ap);
	va_end(ap);
	size_t len = strlen(text);
	char *note = realloc(raw->note, raw->note_len + len + 3);
	if (!note)
		return;
	raw->note = note;
	if (raw->note_len) {
		memcpy(note + raw->note_len, "; ", 2);
		raw->note_len += 2;
	}
	memcpy(note + raw->note_len, text, len + 1);
	raw->note_len += len;
}

struct topo_read_domain *topo_read_domain(struct topo_raw *raw, uint32_t cpu, uint32_t level)
{
	if (level >= TOPO_MAX_DOMAINS)
		return NULL;
	if (!raw->read)
		raw->read = calloc(raw->nr_cpus, sizeof(*raw->read));
	if (!raw->read)
		return NULL;
	struct topo_read_cpu *r = &raw->read[cpu];
	if (!r->domain)
		r->domain = calloc(TOPO_MAX_DOMAINS, sizeof(*r->domain));
	if (!r->domain)
		return NULL;
	if (level >= r->nr)
		r->nr = level + 1;
	return &r->domain[level];
}
