/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A server answers whoever asked, not whom it happened to answer at this place in the recording: its tape tells when it
 * answers, requests tell whom. Every client gets as many answers as it asks for. A server that somebody waits for does
 * not block.
 */
#include <stdlib.h>

#include "analyzer/sim/machine.h"

static struct sim_client *client_of(const struct sim *s, uint32_t server, uint32_t task)
{
	for (uint32_t i = s->task[task].first_server; i != NONE; i = s->client[i].next_server)
		if (s->client[i].server == server)
			return &s->client[i];
	return NULL;
}

static bool add(struct sim *s, size_t *room, uint32_t server, uint32_t counter)
{
	uint32_t task = s->w->counter[counter].task;

	if (client_of(s, server, task))
		return true;
	if (s->nr_clients == *room) {
		size_t more = *room ? *room * 2 : 16;
		struct sim_client *p = realloc(s->client, more * sizeof(*p));

		if (!p)
			return false;
		s->client = p;
		*room = more;
	}
	s->client[s->nr_clients] = (struct sim_client){
		.server = server, .counter = counter, .next_server = s->task[task].first_server, .next_asker = NONE
	};
	s->task[task].first_server = s->nr_clients++;
	return true;
}

bool s_answers_begin(struct sim *s)
{
	size_t room = 0;

	for (uint32_t i = 0; i < s->w->nr_tasks; i++)
		s->task[i].first_server = s->task[i].first_asker = s->task[i].last_asker = NONE;
	for (uint32_t i = 0; i < s->w->nr_tasks; i++) {
		const struct wi_work_task *a = &s->w->task[i];

		for (size_t k = a->first_op; k < a->first_op + a->nr_ops; k++)
			if (s->w->ops[k].kind == WI_OP_WAKE && s->w->ops[k].wake.flags & WI_WAKE_ANSWER &&
			    !add(s, &room, i, s->w->ops[k].target))
				return false;
	}
	return true;
}

/* c waits for an answer: last in line. */
static void line_up(struct sim *s, struct sim_client *c)
{
	struct sim_task *t = &s->task[c->server];
	uint32_t nr = (uint32_t)(c - s->client);

	c->next_asker = NONE;
	if (t->first_asker == NONE)
		t->first_asker = nr;
	else
		s->client[t->last_asker].next_asker = nr;
	t->last_asker = nr;
}

static void leave_line(struct sim *s, struct sim_client *c)
{
	struct sim_task *t = &s->task[c->server];
	uint32_t *link = &t->first_asker, before = NONE, nr = (uint32_t)(c - s->client);

	while (*link != nr) {
		before = *link;
		link = &s->client[*link].next_asker;
	}
	*link = c->next_asker;
	if (t->last_asker == nr)
		t->last_asker = before;
}

void s_ask(struct sim *s, struct sim_task *t, uint32_t counter)
{
	uint32_t server = s->w->counter[counter].task;
	struct sim_client *c = client_of(s, server, s_number(s, t));

	if (!c)
		return;
	s->task[server].asked_at = counter;
	if (s->task[server].answers_ahead) { /* it is there already */
		s->task[server].answers_ahead--;
		s->counter[c->counter].stored++;
		s->counter[c->counter].last_ns = s->now_ns;
		s->counter[c->counter].last_waker = server + 1;
	} else if (!c->nr_asked++) {
		line_up(s, c);
	}
}

/* The counter to add to in place of the tape's; NONE: nobody has asked yet. */
uint32_t s_answer(struct sim *s, struct sim_task *t, uint32_t counter)
{
	struct sim_client *c = client_of(s, s_number(s, t), s->w->counter[counter].task);

	if (!c || c->counter != counter)
		return counter;
	if (!c->nr_asked)
		c = t->first_asker != NONE ? &s->client[t->first_asker] : NULL;
	if (!c) {
		t->answers_ahead++;
		return NONE;
	}
	leave_line(s, c);
	if (--c->nr_asked)
		line_up(s, c);
	return c->counter;
}
