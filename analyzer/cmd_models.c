/* SPDX-License-Identifier: GPL-2.0-or-later */
/* wakeif models: the placement models that are built in, or one of them (or a plug-in) in full. */
#include <inttypes.h>
#include <string.h>

#include "analyzer/base/json.h"
#include "analyzer/cmd.h"
#include "analyzer/report/table.h"
#include "models/params.h"
#include "models/registry.h"

struct models_opts {
	const char *name; /* NULL: all */
	enum wi_format format;
};

enum { KEY_JSON = 0x200 };

static const struct argp_option options[] = {
	{ "json", KEY_JSON, NULL, 0, "JSON (doc/json.md)", 0 },
	{ 0 },
};

static error_t parse_key(int key, char *arg, struct argp_state *state)
{
	struct models_opts *o = state->input;

	switch (key) {
	case KEY_JSON:
		o->format = WI_FORMAT_JSON;
		return 0;
	case ARGP_KEY_ARG:
		if (o->name)
			argp_error(state, "one model at a time: '%s'", arg);
		o->name = arg;
		return 0;
	default:
		return ARGP_ERR_UNKNOWN;
	}
}

static const struct {
	uint32_t bit;
	const char *name, *text;
} needs[] = {
	{ WAKEIF_NEED_WAKING, "waking", "sched_waking events" },
	{ WAKEIF_NEED_TOPOLOGY, "topology", "the machine's topology" },
	{ WAKEIF_NEED_SYNC, "sync", "WF_SYNC (see --sync)" },
	{ WAKEIF_NEED_LOAD, "load", "estimated load and utilisation" },
	{ WAKEIF_NEED_FLIPS, "flips", "estimated wakee_flips" },
	{ WAKEIF_NEED_FLIPS_RESET, "flips_reset", "estimated wakee_flips" },
	{ WAKEIF_NEED_SCAN_BUDGET, "scan_budget", "estimated nr_idle_scan" },
	{ WAKEIF_NEED_RUNNABLE_LOAD, "runnable_load", "estimated runnable load" },
	{ WAKEIF_NEED_OLD_CPU_LOAD, "old_cpu_load", "estimated cpu_load[]" },
	{ WAKEIF_NEED_AVG_IDLE, "avg_idle", "estimated avg_idle" },
	{ WAKEIF_NEED_AVG_OVERLAP, "avg_overlap", "estimated avg_overlap" },
	{ WAKEIF_NEED_RUN_LENGTH, "run_length", "estimated run lengths" },
	{ WAKEIF_NEED_COOKIES, "cookies", "core scheduling cookies" },
	{ WAKEIF_NEED_FUTURE, "future", "what the trace went on to show" },
};

#define NR_NEEDS (sizeof(needs) / sizeof(*needs))

static const char *range_of(const struct wakeif_param *p, char *out, size_t size)
{
	switch ((enum wakeif_param_type)p->type) {
	case WAKEIF_PARAM_BOOL:
		return "on|off";
	case WAKEIF_PARAM_CHOICE:
		return p->choices;
	case WAKEIF_PARAM_NS:
		snprintf(out, size, "a duration, %" PRId64 " .. %" PRId64 " ns", p->min, p->max);
		return out;
	case WAKEIF_PARAM_INT:
		snprintf(out, size, "%" PRId64 " .. %" PRId64, p->min, p->max);
		return out;
	}
	return "";
}

static bool print_params(FILE *out, const struct wakeif_model_ops *ops, struct wi_err *err)
{
	static const struct wi_column columns[] = {
		{ "parameter", true, false }, { "default", true, false }, { "values", true, false }, { "", true, false }
	};
	struct wi_table *t;
	char text[96];

	if (!ops->nr_params) {
		fputs("no parameters\n", out);
		return true;
	}
	t = wi_table_new(columns, 4);
	for (uint32_t i = 0; i < ops->nr_params; i++) {
		const struct wakeif_param *p = &ops->params[i];

		wi_table_text(t, p->name);
		wi_table_text(t, p->dflt);
		wi_table_text(t, range_of(p, text, sizeof(text)));
		wi_table_text(t, p->help);
	}
	return wi_table_print(t, out, 0) || wi_err_nomem(err);
}

static bool print_one(FILE *out, const struct wakeif_model_ops *ops, struct wi_err *err)
{
	const char *comma = "";

	fprintf(out, "%s: %s\nsource: %s\nconfidence: %s\nneeds:", ops->name, ops->summary, ops->source, ops->confidence);
	for (size_t i = 0; i < NR_NEEDS; i++)
		if (ops->needs & needs[i].bit) {
			fprintf(out, "%s %s", comma, needs[i].text);
			comma = ",";
		}
	fprintf(out, "%s\n\n", *comma ? "" : " nothing but sched events");
	return print_params(out, ops, err);
}

#define AUTO "linux-auto"
#define AUTO_HELP "the model of the kernel that made the recording, or the nearest older one"

/* Which one it is, only a trace tells. */
static void print_auto(FILE *out, bool json)
{
	struct wi_json j;

	if (!json) {
		fputs(AUTO ": " AUTO_HELP "; it takes the parameters of that one\n", out);
		return;
	}
	wi_json_init(&j, out);
	wi_json_object(&j, NULL);
	wi_json_string(&j, "schema", "wakeif/1");
	wi_json_array(&j, "known_models");
	wi_json_object(&j, NULL);
	wi_json_string(&j, "name", AUTO);
	wi_json_string(&j, "summary", AUTO_HELP);
	wi_json_end_object(&j);
	wi_json_end_array(&j);
	wi_json_end_object(&j);
	fputc('\n', out);
}

static bool print_list(FILE *out, struct wi_err *err)
{
	static const struct wi_column columns[] = { { "model", true, false }, { "", true, false } };
	struct wi_table *t = wi_table_new(columns, 2);
	size_t nr;
	const struct wakeif_model_ops *const *ops = wi_models(&nr);

	for (size_t i = 0; i < nr; i++) {
		wi_table_text(t, ops[i]->name);
		wi_table_text(t, ops[i]->summary);
	}
	wi_table_text(t, AUTO);
	wi_table_text(t, AUTO_HELP);
	return wi_table_print(t, out, 0) || wi_err_nomem(err);
}

static void json_model(struct wi_json *j, const struct wakeif_model_ops *ops)
{
	char text[96];

	wi_json_object(j, NULL);
	wi_json_string(j, "name", ops->name);
	wi_json_string(j, "summary", ops->summary);
	wi_json_string(j, "source", ops->source);
	wi_json_string(j, "confidence", ops->confidence);
	wi_json_array_flat(j, "needs");
	for (size_t i = 0; i < NR_NEEDS; i++)
		if (ops->needs & needs[i].bit)
			wi_json_string(j, NULL, needs[i].name);
	wi_json_end_array(j);
	wi_json_array(j, "params");
	for (uint32_t i = 0; i < ops->nr_params; i++) {
		wi_json_object_flat(j, NULL);
		wi_json_string(j, "name", ops->params[i].name);
		wi_json_string(j, "default", ops->params[i].dflt);
		wi_json_string(j, "values", range_of(&ops->params[i], text, sizeof(text)));
		wi_json_string(j, "help", ops->params[i].help);
		wi_json_end_object(j);
	}
	wi_json_end_array(j);
	wi_json_end_object(j);
}

static void print_json(FILE *out, const struct wakeif_model_ops *only)
{
	struct wi_json j;
	size_t nr;
	const struct wakeif_model_ops *const *ops = wi_models(&nr);

	wi_json_init(&j, out);
	wi_json_object(&j, NULL);
	wi_json_string(&j, "schema", "wakeif/1");
	wi_json_array(&j, "known_models");
	if (only)
		json_model(&j, only);
	for (size_t i = 0; !only && i < nr; i++)
		json_model(&j, ops[i]);
	wi_json_end_array(&j);
	wi_json_end_object(&j);
	fputc('\n', out);
}

int wi_cmd_models(int argc, char **argv)
{
	const struct argp argp = { options,
				   parse_key,
				   "[MODEL]",
				   "Lists the placement models that wakeif knows, or tells of one of them (or of a plug-in, by "
				   "its path): source, confidence, what it needs, parameters.",
				   NULL,
				   NULL,
				   NULL };
	struct models_opts o = { 0 };
	struct wi_model_spec spec = { 0 };
	struct wi_err err = { 0 };
	size_t wrong_at;
	bool is_auto;
	FILE *out;

	if (argp_parse(&argp, argc, argv, 0, NULL, &o))
		return WI_EUSAGE;
	is_auto = o.name && !strcmp(o.name, AUTO);
	if (o.name && !is_auto && !wi_model_spec_parse(o.name, &spec, &wrong_at, &err))
		return wi_cmd_fail(&err);
	out = wi_out_open(NULL, &err);
	if (out) {
		if (is_auto)
			print_auto(out, o.format == WI_FORMAT_JSON);
		else if (o.format == WI_FORMAT_JSON)
			print_json(out, spec.ops);
		else if (o.name)
			print_one(out, spec.ops, &err);
		else
			print_list(out, &err);
		wi_out_close(out, NULL, &err);
	}
	if (o.name)
		wi_model_spec_fini(&spec);
	return err.code ? wi_cmd_fail(&err) : WI_OK;
}
