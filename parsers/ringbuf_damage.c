/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "parsers/ringbuf_damage.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

void wi_damage_init(struct wi_damage_log *log, struct wi_source_info *info)
{
	memset(log, 0, sizeof(*log));
	log->info = info;
	info->damage = log->notes;
	info->nr_damage = 0;
}

static int find(const struct wi_damage_log *log, enum wi_damage_kind kind, uint32_t cpu)
{
	for (uint32_t i = 0; i < log->nr; i++)
		if (log->key[i].kind == kind && log->key[i].cpu == cpu)
			return (int)i;
	return -1;
}

static void show_count(struct wi_damage_log *log, uint32_t i, uint64_t last)
{
	char *what = log->notes[i].what;
	size_t at = log->key[i].what_len, size = sizeof(log->notes[i].what);

	if (last == WI_NO_OFFSET)
		snprintf(what + at, size - at, " (and %" PRIu64 " more)", log->key[i].count - 1);
	else
		snprintf(what + at, size - at, " (and %" PRIu64 " more, last @0x%" PRIx64 ")", log->key[i].count - 1,
			 last);
}

void wi_damage_note(struct wi_damage_log *log, enum wi_damage_kind kind, uint32_t cpu, uint64_t offset, const char *fmt,
		    ...)
{
	int at = kind == WI_DMG_HEAD || kind == WI_DMG_CUT ? -1 : find(log, kind, cpu);

	if (at < 0 && log->nr >= WI_DAMAGE_MAX - 1) {
		kind = WI_DMG_MORE;
		cpu = UINT32_MAX;
		at = find(log, kind, cpu);
	}
	if (at >= 0) {
		log->key[at].count++;
		show_count(log, (uint32_t)at, offset);
		return;
	}

	uint32_t i = log->nr++;
	struct wi_damage *d = &log->notes[i];
	const size_t room = sizeof(d->what) - 48; /* for the count */
	va_list ap;

	d->offset = offset;
	va_start(ap, fmt);
	vsnprintf(d->what, room, fmt, ap);
	va_end(ap);
	if (kind == WI_DMG_MORE)
		snprintf(d->what, room, "more damage elsewhere");
	log->key[i].kind = kind;
	log->key[i].cpu = cpu;
	log->key[i].count = 1;
	log->key[i].what_len = (uint8_t)strlen(d->what);
	log->info->nr_damage = log->nr;
}

void wi_damage_rewind(struct wi_damage_log *log, uint32_t mark)
{
	if (log->nr > mark)
		log->nr = mark;
	log->info->nr_damage = log->nr;
}
