/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "analyzer/replay/cookies.h"

#include <stdlib.h>

struct known {
	uint32_t id, comm, cookie; /* id, comm: of the task that was looked up; id 0: none */
};

struct wi_replay_cookies {
	struct wi_timeline_observer obs;
	struct wi_cookie_map *map;
	const struct wi_names *names;
	struct known *known; /* by slot */
	uint32_t nr;
	bool failed;
};

static bool room_for(struct wi_replay_cookies *k, uint32_t slot)
{
	uint32_t nr = slot < 32 ? 64 : slot < UINT32_MAX / 2 ? slot * 2 : slot;
	struct known *more;

	if (slot < k->nr)
		return true;
	more = slot < nr ? realloc(k->known, nr * sizeof(*more)) : NULL;
	if (!more) {
		k->failed = true;
		return false;
	}
	for (uint32_t i = k->nr; i < nr; i++)
		more[i] = (struct known){ .cookie = WI_COOKIE_UNKNOWN };
	k->known = more;
	k->nr = nr;
	return true;
}

static void look_up(struct wi_replay_cookies *k, const struct wi_task *t)
{
	if (!t || !room_for(k, t->slot) || (k->known[t->slot].id == t->id && k->known[t->slot].comm == t->comm))
		return;
	const struct wi_cookie_who who = {
		.pid = t->pid,
		.tgid = t->tgid,
		.comm = t->comm == WI_NAME_NONE ? NULL : wi_names_get(k->names, t->comm),
		.cgroup = t->cgroup == WI_NAME_NONE ? NULL : wi_names_get(k->names, t->cgroup),
	};
	k->known[t->slot] = (struct known){ t->id, t->comm, wi_cookie_of(k->map, &who) };
}

static void on_cpu_changed(void *ctx, uint64_t now_ns, uint32_t cpu, enum wi_cpu_kind kind, const struct wi_task *task)
{
	(void)now_ns;
	(void)cpu;
	(void)kind;
	look_up(ctx, task);
}

static void on_decision(void *ctx, uint64_t now_ns, const struct wi_wakeup *w)
{
	(void)now_ns;
	look_up(ctx, w->wakee);
}

struct wi_replay_cookies *wi_replay_cookies_new(struct wi_cookie_map *map, const struct wi_names *names)
{
	struct wi_replay_cookies *k = calloc(1, sizeof(*k));

	if (!k)
		return NULL;
	k->map = map;
	k->names = names;
	k->obs = (struct wi_timeline_observer){ .ctx = k, .cpu_changed = on_cpu_changed, .decision = on_decision };
	return k;
}

void wi_replay_cookies_free(struct wi_replay_cookies *k)
{
	if (!k)
		return;
	free(k->known);
	free(k);
}

const struct wi_timeline_observer *wi_replay_cookies_observer(struct wi_replay_cookies *k)
{
	return &k->obs;
}

uint32_t wi_replay_cookie(void *cookies, uint32_t slot)
{
	const struct wi_replay_cookies *k = cookies;

	return slot < k->nr ? k->known[slot].cookie : WI_COOKIE_UNKNOWN;
}

bool wi_replay_cookies_failed(const struct wi_replay_cookies *k)
{
	return k->failed || wi_cookie_map_failed(k->map);
}
