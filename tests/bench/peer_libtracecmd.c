/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What the libraries cost alone: tracecmd_iterate_events over a trace.dat, with the fields that a scheduler analysis
 * needs read through libtraceevent, and nothing done with them. The measure of our own reader (tests/bench/peer_own.c).
 *
 *   peer_libtracecmd [-o] FILE      -o: open alone
 */
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <trace-cmd.h>

struct fields {
	int id;
	struct tep_format_field *f[7];
	int nr;
};

struct loop {
	struct tep_handle *tep;
	struct fields ev[8];
	int nr;
	unsigned long long events, sum;
};

static void want(struct loop *l, const char *system, const char *name, const char *const *fields)
{
	struct tep_event *e = tep_find_event_by_name(l->tep, system, name);
	struct fields *w = &l->ev[l->nr];

	if (!e)
		return;
	w->id = e->id;
	for (w->nr = 0; fields[w->nr]; w->nr++)
		w->f[w->nr] = tep_find_field(e, fields[w->nr]);
	l->nr++;
}

static int one(struct tracecmd_input *in, struct tep_record *rec, int cpu, void *data)
{
	struct loop *l = data;
	int id = tep_data_type(l->tep, rec);

	(void)in;
	l->events++;
	l->sum += rec->ts + (unsigned int)cpu + (unsigned int)tep_data_pid(l->tep, rec) +
		  (unsigned int)tep_data_flags(l->tep, rec);
	for (int i = 0; i < l->nr; i++) {
		if (l->ev[i].id != id)
			continue;
		for (int k = 0; k < l->ev[i].nr; k++) {
			struct tep_format_field *f = l->ev[i].f[k];
			unsigned long long v = 0;

			if (!f)
				continue;
			if (f->flags & TEP_FIELD_IS_ARRAY)
				v = *((unsigned char *)rec->data + f->offset);
			else
				tep_read_number_field(f, rec->data, &v);
			l->sum += v;
		}
		break;
	}
	return 0;
}

static double cpu_seconds(void)
{
	struct timespec t;

	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
	return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

int main(int argc, char **argv)
{
	static const char *const sw[] = { "prev_comm", "prev_pid", "prev_prio", "prev_state",
					  "next_comm", "next_pid", "next_prio", NULL };
	static const char *const wk[] = { "comm", "pid", "prio", "target_cpu", NULL };
	static const char *const mig[] = { "comm", "pid", "prio", "orig_cpu", "dest_cpu", NULL };
	static const char *const idle[] = { "state", "cpu_id", NULL };
	struct loop l = { 0 };
	struct tracecmd_input *in;
	const bool open_alone = argc == 3 && !strcmp(argv[1], "-o");
	double open_s, all_s;

	if (argc != 2 && !open_alone) {
		fprintf(stderr, "usage: %s [-o] FILE\n", argv[0]);
		return 2;
	}
	in = tracecmd_open(argv[argc - 1], TRACECMD_FL_LOAD_NO_PLUGINS);
	if (!in) {
		fprintf(stderr, "%s: cannot be opened\n", argv[argc - 1]);
		return 3;
	}
	if (open_alone) {
		tracecmd_close(in);
		return 0;
	}
	l.tep = tracecmd_get_tep(in);
	want(&l, "sched", "sched_switch", sw);
	want(&l, "sched", "sched_waking", wk);
	want(&l, "sched", "sched_wakeup", wk);
	want(&l, "sched", "sched_wakeup_new", wk);
	want(&l, "sched", "sched_migrate_task", mig);
	want(&l, "power", "cpu_idle", idle);
	open_s = cpu_seconds();
	tracecmd_iterate_events(in, NULL, 0, one, &l);
	all_s = cpu_seconds();
	printf("libtracecmd iterate + fields: %llu events, %.3f s CPU, %.2f M events/s (open %.0f ms; sum %llx)\n",
	       l.events, all_s - open_s, (double)l.events / (all_s - open_s) * 1e-6, open_s * 1e3, l.sum);
	tracecmd_close(in);
	return 0;
}
