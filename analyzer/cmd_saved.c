/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "analyzer/cmd_saved.h"

#include "analyzer/base/fmt.h"
#include "analyzer/report/topology.h"

static bool window_given(const struct wi_time_range *t)
{
	return t->percent || t->start_ns || (t->stop_ns && t->stop_ns != UINT64_MAX);
}

/* What the file already holds, or was made with, cannot be asked of it in another way. */
static const char *refused(const struct wi_workload_cmd *c)
{
	const struct wi_opts *o = &c->r.o;

	return c->wanted.chosen			    ? "how its tapes were taken"
	       : c->wanted.sync || c->r.wanted.sync ? "how WF_SYNC was found"
	       : o->topology			    ? "its machine (simulate --machine is for what-ifs)"
	       : o->nr_tasks			    ? "what is known of its tasks"
	       : window_given(&o->time)		    ? "its window"
						    : NULL;
}

bool wi_cmd_saved_open(const struct wi_workload_cmd *c, struct wi_saved *s, struct wi_err *err)
{
	const char *what = refused(c);

	if (what)
		return wi_err_set(err, WI_EUSAGE, "%s is a saved workload: %s is fixed; options for it need the trace",
				  c->r.o.path, what);
	return wi_saved_read(s, c->r.o.path, err);
}

void wi_cmd_saved_headline(FILE *out, const struct wi_opts *o, const struct wi_workload *w)
{
	char name[WI_FMT_NAME_LEN], from[WI_FMT_NAME_LEN], a[WI_FMT_LEN];

	fprintf(out, "%s: saved workload, %s of a trace (%s)\n", wi_fmt_name(name, sizeof(name), o->path),
		wi_fmt_ns(a, sizeof(a), w->window_ns), wi_fmt_name(from, sizeof(from), w->source));
}

void wi_cmd_saved_json(FILE *out, const struct wi_opts *o, const struct wi_workload *w,
		       void (*members)(struct wi_json *j, const void *ctx), const void *ctx)
{
	struct wi_json j;

	wi_json_init(&j, out);
	wi_json_object(&j, NULL);
	wi_json_string(&j, "schema", "wakeif/1");
	wi_json_object_flat(&j, "tool");
	wi_json_string(&j, "name", "wakeif");
	wi_json_string(&j, "version", WAKEIF_VERSION);
	wi_json_end_object(&j);
	wi_json_array(&j, "input");
	wi_json_object(&j, NULL);
	wi_json_string(&j, "file", o->path);
	wi_json_string(&j, "format", "saved workload");
	wi_json_end_object(&j);
	wi_json_end_array(&j);
	wi_report_topology_json(&j, "topology", w->topology);
	members(&j, ctx);
	wi_json_end_object(&j);
}
