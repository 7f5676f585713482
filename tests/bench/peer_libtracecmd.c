/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The bare loop of libtracecmd for comparison: every event in time order, and of sched events the fields that an analysis needs. With
 * -o the file is only opened.
 */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include <trace-cmd.h>

struct sums {
	struct tep_event *sw, *waking, *wakeup, *migrate;
	uint64_t events, sum;
};

static void add_field(struct sums *s, struct tep_event *event, struct tep_record *record, const char *name)
{
	unsigned long long value;
	struct tep_format_field *field = tep_find_field(event, name);

	if (field && !tep_read_number_field(field, record->data, &value))
		s->sum += value;
}

static int on_event(struct tracecmd_input *handle, struct tep_record *record, int cpu, void *data)
{
	struct tep_handle *tep = tracecmd_get_tep(handle);
	struct tep_event *event = tep_find_event_by_record(tep, record);
	struct sums *s = data;

	(void)cpu;
	s->events++;
	if (event && event == s->sw) {
		add_field(s, event, record, "prev_pid");
		add_field(s, event, record, "prev_state");
		add_field(s, event, record, "next_pid");
	} else if (event && (event == s->waking || event == s->wakeup)) {
		add_field(s, event, record, "pid");
		add_field(s, event, record, "target_cpu");
	} else if (event && event == s->migrate) {
		add_field(s, event, record, "pid");
		add_field(s, event, record, "orig_cpu");
		add_field(s, event, record, "dest_cpu");
	}
	return 0;
}

int main(int argc, char **argv)
{
	int only_open = argc > 2 && !strcmp(argv[1], "-o");
	struct tracecmd_input *handle;
	struct tep_handle *tep;
	struct sums s = { 0 };

	if (argc != 2 + only_open) {
		fprintf(stderr, "usage: peer_libtracecmd [-o] FILE\n");
		return 2;
	}
	handle = tracecmd_open(argv[1 + only_open], 0);
	if (!handle) {
		fprintf(stderr, "peer_libtracecmd: %s: cannot be opened\n", argv[1 + only_open]);
		return 1;
	}
	tep = tracecmd_get_tep(handle);
	s.sw = tep_find_event_by_name(tep, "sched", "sched_switch");
	s.waking = tep_find_event_by_name(tep, "sched", "sched_waking");
	s.wakeup = tep_find_event_by_name(tep, "sched", "sched_wakeup");
	s.migrate = tep_find_event_by_name(tep, "sched", "sched_migrate_task");
	if (!only_open)
		tracecmd_iterate_events(handle, NULL, 0, on_event, &s);
	printf("%" PRIu64 " events, sum %" PRIu64 "\n", s.events, s.sum);
	tracecmd_close(handle);
	return 0;
}
