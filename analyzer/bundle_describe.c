/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What can change the results of a trace besides its bytes, as one text: equal texts mean equal results. */
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "analyzer/batch/hash.h"
#include "analyzer/session_bundle.h"
#include "models/params.h"

static bool put(json_t *o, const char *key, json_t *value, struct wi_err *err)
{
	return !json_object_set_new(o, key, value) || wi_err_nomem(err); /* takes value, NULL is an error */
}

/* Bytes of the user's that may be no UTF-8 are described by their hash. */
static json_t *text(const char *s)
{
	uint8_t sum[WI_SHA256_BYTES];
	char hex[WI_SHA256_HEX];
	json_t *t = json_string(s);

	if (t)
		return t;
	wi_sha256(s, strlen(s), sum);
	return json_string(wi_sha256_hex(sum, hex));
}

/* A file or folder that an option names: its contents count, not its name. Anything else is the text itself. */
static bool put_source(json_t *o, const char *key, const char *spec, struct wi_err *err)
{
	uint8_t sum[WI_SHA256_BYTES];
	char hex[WI_SHA256_HEX];
	uint64_t bytes;

	if (access(spec, F_OK))
		return put(o, key, text(spec), err);
	return wi_hash_path(spec, sum, &bytes, err) &&
	       put(o, key, json_pack("{s:s}", "sha256", wi_sha256_hex(sum, hex)), err);
}

static bool put_time(json_t *o, const struct wi_time_range *t, struct wi_err *err)
{
	if (t->percent)
		return put(o, "time", json_pack("[f,f]", t->from, t->to), err);
	if (!t->start_ns && t->stop_ns == UINT64_MAX)
		return true;
	return put(o, "time",
		   json_pack("[I,I]", (json_int_t)t->start_ns,
			     (json_int_t)(t->stop_ns == UINT64_MAX ? INT64_MAX : (int64_t)t->stop_ns)),
		   err);
}

static bool put_input(json_t *o, const struct wi_opts *in, struct wi_err *err)
{
	static const char *const readers[] = { "auto", "own", "libtracecmd" };
	json_t *tasks = json_array();

	if (in->nr_tasks && !put(o, "tasks", json_incref(tasks), err))
		goto failed;
	for (size_t i = 0; i < in->nr_tasks; i++) { /* the order counts: later ones win */
		json_t *one = json_object();
		bool ok = one && put_source(one, "file", in->tasks[i], err) && !json_array_append(tasks, one);

		json_decref(one);
		if (!ok)
			goto failed;
	}
	json_decref(tasks);
	if ((in->topology && !put_source(o, "topology", in->topology, err)) || !put_time(o, &in->time, err))
		return false;
	if (in->open.buffer && !put(o, "buffer", text(in->open.buffer), err))
		return false;
	if (in->quiet_unknown && !put(o, "quiet_cpus", json_string("unknown"), err))
		return false;
	return in->open.reader == WI_READER_AUTO || put(o, "reader", json_string(readers[in->open.reader]), err);
failed:
	json_decref(tasks);
	return wi_err_nomem(err);
}

/* "linux-auto" stays what it is; others as their labels, so that two ways to write one model are one. */
static json_t *model(const char *spec_text, struct wi_err *err)
{
	uint8_t sum[WI_SHA256_BYTES];
	struct wi_model_spec spec;
	char hex[WI_SHA256_HEX], *file;
	uint64_t bytes;
	json_t *m = NULL;
	size_t at;

	if (!strncmp(spec_text, "linux-auto", 10) && (!spec_text[10] || spec_text[10] == ','))
		return text(spec_text);
	if (!wi_model_spec_parse(spec_text, &spec, &at, err))
		return NULL;
	if (!spec.plugin) {
		m = text(spec.label);
	} else {
		file = strndup(spec_text, strcspn(spec_text, ","));
		if (file && wi_hash_path(file, sum, &bytes, err))
			m = json_pack("{s:o, s:s}", "name", text(spec.label), "sha256", wi_sha256_hex(sum, hex));
		free(file);
	}
	wi_model_spec_fini(&spec);
	return m;
}

static int by_text(const void *a, const void *b)
{
	return strcmp(*(char *const *)a, *(char *const *)b);
}

/* In the order of their texts, each once: the order on the command line changes no figure. */
static bool put_models(json_t *o, const struct wi_replay_wanted *r, struct wi_err *err)
{
	char *texts[WI_REPLAY_MODELS] = { NULL };
	json_t *list = json_array();
	bool ok = list != NULL;

	for (size_t i = 0; ok && i < r->nr_specs; i++) {
		json_t *m = model(r->specs[i], err);

		texts[i] = m ? json_dumps(m, JSON_ENCODE_ANY | JSON_COMPACT | JSON_SORT_KEYS) : NULL;
		json_decref(m);
		ok = texts[i] != NULL;
	}
	if (ok)
		qsort(texts, r->nr_specs, sizeof(*texts), by_text);
	for (size_t i = 0; ok && i < r->nr_specs; i++)
		ok = (i && !strcmp(texts[i], texts[i - 1])) ||
		     !json_array_append_new(list, json_loads(texts[i], JSON_DECODE_ANY, NULL));
	for (size_t i = 0; i < r->nr_specs; i++)
		free(texts[i]);
	if (!ok) {
		json_decref(list);
		return wi_err_nomem(err);
	}
	return put(o, "models", list, err);
}

static bool put_replay(json_t *o, const struct wi_bundle_wanted *w, struct wi_err *err)
{
	const struct wi_replay_wanted *r = w->replay;

	if (r->nr_specs && !put_models(o, r, err))
		return false;
	if (r->cookies && !put_source(o, "cookies", r->cookies, err))
		return false;
	if (!r->nr_specs && !w->simulate) /* nobody asks for these */
		return true;
	if (r->sync != WI_SYNC_LEARNED && !put(o, "sync", json_string(wi_sync_mode_name(r->sync)), err))
		return false;
	if (r->history != WI_HISTORY_DEFAULT &&
	    !put(o, "history", json_string(r->history == WI_HISTORY_OWN ? "own" : "observed"), err))
		return false;
	if (r->seed != 1 && !put(o, "seed", json_integer((json_int_t)r->seed), err))
		return false;
	return !w->simulate ||
	       put(o, "simulate", w->seeds ? json_pack("{s:i}", "seeds", (int)w->seeds) : json_object(), err);
}

char *wi_bundle_options(const struct wi_bundle_wanted *w, struct wi_err *err)
{
	json_t *o = json_object();
	char *out = NULL;
	bool ok = o && put_input(o, w->o, err) && put_replay(o, w, err) &&
		  (w->detail == WI_DETAIL_DEFAULT || put(o, "detail", json_string("full"), err));

	if (ok)
		out = json_dumps(o, JSON_COMPACT | JSON_SORT_KEYS | JSON_ENSURE_ASCII);
	json_decref(o);
	if (!out)
		wi_err_nomem(err);
	return out;
}

/* ,"KEY":"HASH" of a file beside a trace; "" where there is none. path is freed. */
static bool side(char out[WI_SHA256_HEX + 32], const char *key, char *path, struct wi_err *err)
{
	uint8_t sum[WI_SHA256_BYTES];
	char hex[WI_SHA256_HEX];
	uint64_t bytes;
	bool ok = true;

	out[0] = '\0';
	if (path) {
		ok = wi_hash_path(path, sum, &bytes, err);
		if (ok)
			snprintf(out, WI_SHA256_HEX + 32, ",\"%s\":\"%s\"", key, wi_sha256_hex(sum, hex));
	}
	free(path);
	return ok;
}

char *wi_session_bundle_describe(const struct wi_bundle_wanted *w, const char *path, struct wi_err *err)
{
	char tasks[WI_SHA256_HEX + 32], topology[WI_SHA256_HEX + 32];
	char *options = w->options ? strdup(w->options) : wi_bundle_options(w, err), *out = NULL;

	if (options && side(tasks, "tasks", wi_side_tasks(w->o, path), err) &&
	    side(topology, "topology", w->o->topology ? NULL : wi_side_topology(w->o, path), err) &&
	    asprintf(&out, "{\"options\":%s%s%s}", options, tasks, topology) < 0)
		out = NULL;
	free(options);
	if (!out)
		wi_err_nomem(err);
	return out;
}

bool wi_bundle_wanted_check(const struct wi_bundle_wanted *w, struct wi_err *err)
{
	struct wi_cookie_map *map;

	if (w->o->topology && !strcmp(w->o->topology, "live"))
		return wi_err_set(err, WI_EUSAGE,
				  "--topology live: what is archived must not depend on the machine that does it; "
				  "wakeif topology --capture FILE makes a source that stays");
	if (!w->replay->cookies)
		return true;
	map = wi_cookie_map_new(w->replay->cookies, err);
	wi_cookie_map_free(map);
	return map != NULL;
}
