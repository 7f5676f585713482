/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "parsers/text_order.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "parsers/text_body.h"

#define MAX_PENDING 256
#define MAX_PLACES (1ull << 28) /* 4 GiB of index */
#define EXTRA (1ull << 63)	/* in offset: a line without a stamp of its own; it does not count for the window */

struct pending {
	uint32_t cpu;
	uint64_t offset;
};

struct wi_text_sorter {
	struct wi_text_file *file;
	const struct wi_text_facts *facts;
	/* places in file order */
	struct pending pending[MAX_PENDING]; /* lost-events lines that wait for their CPU's next line */
	uint32_t nr_pending;
	struct wi_text_place ready[MAX_PENDING + 1];
	uint32_t nr_ready, next_ready;
	uint64_t last_ts;
	bool at_end;
	/* WINDOW: min-heap; INDEX: sorted */
	struct wi_text_place *place;
	uint64_t nr, room, next;
	uint64_t nr_extra; /* of those in the heap */
};

static bool before(const struct wi_text_place *a, const struct wi_text_place *b)
{
	return a->ts_ns != b->ts_ns ? a->ts_ns < b->ts_ns : (a->offset & ~EXTRA) < (b->offset & ~EXTRA);
}

static int compare(const void *a, const void *b)
{
	return before(a, b) ? -1 : before(b, a);
}

/* The line and the lost-events lines of its CPU before it are ready; cpu UINT32_MAX: all of them (end of file). */
static void make_ready(struct wi_text_sorter *s, uint32_t cpu, uint64_t ts)
{
	uint32_t kept = 0;

	for (uint32_t i = 0; i < s->nr_pending; i++) {
		if (cpu == UINT32_MAX || s->pending[i].cpu == cpu)
			s->ready[s->nr_ready++] = (struct wi_text_place){ ts, s->pending[i].offset | EXTRA };
		else
			s->pending[kept++] = s->pending[i];
	}
	s->nr_pending = kept;
}

static int next_in_file(struct wi_text_sorter *s, struct wi_text_place *place, struct wi_err *err)
{
	struct wi_text_head h;
	struct wi_str line;
	uint64_t offset, nr;
	uint32_t cpu;
	int rc;

	while (s->next_ready == s->nr_ready) {
		s->next_ready = s->nr_ready = 0;
		if (s->at_end)
			return 0;
		rc = wi_text_file_next(s->file, &line, &offset, err);
		if (rc < 0)
			return -1;
		if (!rc) {
			s->at_end = true;
			make_ready(s, UINT32_MAX, s->last_ts);
		} else if (wi_text_parse_head(line.p, line.len, &h)) {
			if (!wi_text_chosen(s->facts, &h) || wi_text_event_type(&h, s->facts->report) == WI_TEXT_IGNORE)
				continue;
			make_ready(s, h.cpu, h.ts_ns);
			s->last_ts = h.ts_ns;
			s->ready[s->nr_ready++] = (struct wi_text_place){ h.ts_ns, offset };
		} else if (wi_text_parse_lost(line, &cpu, &nr)) {
			if (s->nr_pending == MAX_PENDING)
				make_ready(s, UINT32_MAX, s->last_ts);
			s->pending[s->nr_pending++] = (struct pending){ cpu, offset };
		} else if (wi_text_broken_sched(line)) {
			s->ready[s->nr_ready++] = (struct wi_text_place){ s->last_ts, offset | EXTRA };
		}
	}
	*place = s->ready[s->next_ready++];
	return 1;
}

static void sift_down(struct wi_text_place *heap, uint64_t nr, uint64_t i)
{
	struct wi_text_place p = heap[i];

	for (;;) {
		uint64_t kid = 2 * i + 1;

		if (kid >= nr)
			break;
		if (kid + 1 < nr && before(&heap[kid + 1], &heap[kid]))
			kid++;
		if (!before(&heap[kid], &p))
			break;
		heap[i] = heap[kid];
		i = kid;
	}
	heap[i] = p;
}

static void sift_up(struct wi_text_place *heap, uint64_t i)
{
	struct wi_text_place p = heap[i];

	while (i && before(&p, &heap[(i - 1) / 2])) {
		heap[i] = heap[(i - 1) / 2];
		i = (i - 1) / 2;
	}
	heap[i] = p;
}

static bool add_place(struct wi_text_sorter *s, const struct wi_text_place *p, struct wi_err *err)
{
	if (s->nr == s->room) {
		uint64_t room = s->room ? s->room * 2 : WI_TEXT_WINDOW;
		struct wi_text_place *more = realloc(s->place, room * sizeof(*more));

		if (!more)
			return wi_err_nomem(err);
		s->place = more;
		s->room = room;
	}
	s->place[s->nr++] = *p;
	return true;
}

static int next_of_window(struct wi_text_sorter *s, struct wi_text_place *place, struct wi_err *err)
{
	struct wi_text_place p;
	int rc = 1;

	while (s->nr - s->nr_extra < WI_TEXT_WINDOW && (rc = next_in_file(s, &p, err)) > 0) {
		if (!add_place(s, &p, err))
			return -1;
		s->nr_extra += p.offset >> 63;
		sift_up(s->place, s->nr - 1);
	}
	if (rc < 0)
		return -1;
	if (!s->nr)
		return 0;
	*place = s->place[0];
	s->nr_extra -= place->offset >> 63;
	s->place[0] = s->place[--s->nr];
	if (s->nr)
		sift_down(s->place, s->nr, 0);
	return 1;
}

static bool build_index(struct wi_text_sorter *s, struct wi_err *err)
{
	struct wi_text_place p;
	int rc;

	wi_text_file_rewind(s->file);
	while ((rc = next_in_file(s, &p, err)) > 0) {
		if (s->nr == MAX_PLACES)
			return wi_err_at(err, WI_EREFUSED, s->file->path, p.offset & ~EXTRA,
					 "lines are not in time order and there are more than %" PRIu64
					 " to sort: sort the file by time first",
					 (uint64_t)MAX_PLACES);
		if (!add_place(s, &p, err))
			return false;
	}
	if (rc < 0)
		return false;
	if (s->nr)
		qsort(s->place, s->nr, sizeof(*s->place), compare);
	return true;
}

struct wi_text_sorter *wi_text_sorter_new(struct wi_text_file *file, const struct wi_text_facts *facts,
					  struct wi_err *err)
{
	struct wi_text_sorter *s = calloc(1, sizeof(*s));
	bool ok = false;

	if (!s) {
		wi_err_nomem(err);
		return NULL;
	}
	s->file = file;
	s->facts = facts;
	wi_text_file_rewind(file);
	ok = facts->order == WI_ORDER_WINDOW || build_index(s, err);
	if (!ok) {
		wi_text_sorter_free(s);
		s = NULL;
	}
	return s;
}

void wi_text_sorter_free(struct wi_text_sorter *s)
{
	if (!s)
		return;
	free(s->place);
	free(s);
}

int wi_text_sorter_next(struct wi_text_sorter *s, struct wi_text_place *place, struct wi_err *err)
{
	if (s->facts->order == WI_ORDER_WINDOW) {
		int rc = next_of_window(s, place, err);

		place->offset &= ~EXTRA;
		return rc;
	}
	if (s->next == s->nr)
		return 0;
	*place = s->place[s->next++];
	place->offset &= ~EXTRA;
	return 1;
}

void wi_text_sorter_rewind(struct wi_text_sorter *s)
{
	s->next = 0;
	if (s->facts->order == WI_ORDER_INDEX)
		return;
	s->nr = s->nr_extra = s->nr_pending = s->nr_ready = s->next_ready = 0;
	s->last_ts = 0;
	s->at_end = false;
	wi_text_file_rewind(s->file);
}
