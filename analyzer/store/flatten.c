/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * JSON documents into a bundle. A number's path is the way to it: keys with dots between, members of an array in
 * brackets by what names them. '.', '[', ']' and '\' in a key or a name are written with a backslash before, so that a
 * path tells one place.
 */
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "analyzer/store/bundle_priv.h"
#include "analyzer/store/catalog.h"
#include "analyzer/store/flatten.h"
#include "analyzer/store/hist_blob.h"

struct walk {
	struct wi_bundle *b;
	struct wi_err *err;
	enum wi_detail detail;
	bool machine_guessed;
	char path[WI_METRIC_PATH_MAX + 1];
	size_t nr;
};

/* What is no figure but says which, where or when. */
static bool is_where_or_when(const char *key)
{
	static const char *const name[] = { "pid",	"tgid",	      "wake_ns", "start_ns",   "waiting_cpu",
					    "idle_cpu", "cpu_a",      "cpu_b",	 "waker_pid",  "waker_cpu",
					    "prev_cpu", "chosen_cpu", "run_cpu", "missed_cpu", "ran_pid" };

	for (size_t i = 0; i < sizeof(name) / sizeof(*name); i++)
		if (!strcmp(name[i], key))
			return true;
	return false;
}

/* Members of an object in a list that say which one it is; in paths they stand in brackets in this order. */
static const char *const identity[] = { "cpu",	      "core",	 "llc", "package", "node",	 "state",
					"kind",	      "cookie",	 "a",	"b",	   "waker_comm", "waker_context",
					"wakee_comm", "context", "pid", "comm" };
#define NR_IDENTITY (sizeof(identity) / sizeof(*identity))

static bool is_identity(const char *key)
{
	for (size_t i = 0; i < NR_IDENTITY; i++)
		if (!strcmp(identity[i], key))
			return true;
	return false;
}

/* ---- the path ---- */

static bool append(struct walk *w, const char *s, size_t len)
{
	if (len > WI_METRIC_PATH_MAX - w->nr)
		return wi_err_set(w->err, WI_EREFUSED, "the path of a figure is longer than %u bytes: %.64s...",
				  WI_METRIC_PATH_MAX, w->path);
	memcpy(w->path + w->nr, s, len);
	w->nr += len;
	w->path[w->nr] = '\0';
	return true;
}

static bool append_name(struct walk *w, const char *s)
{
	for (; *s; s++)
		if ((strchr(".[]\\", *s) && !append(w, "\\", 1)) || !append(w, s, 1))
			return false;
	return true;
}

/* Labels of models and policies hold dots (linux-6.1); brackets end them, dots do not. */
static bool append_label(struct walk *w, const char *s)
{
	for (; *s; s++)
		if ((strchr("[]\\", *s) && !append(w, "\\", 1)) || !append(w, s, 1))
			return false;
	return true;
}

static bool append_key(struct walk *w, const char *key)
{
	return (!w->nr || append(w, ".", 1)) && append_name(w, key);
}

static void back_to(struct walk *w, size_t nr)
{
	w->nr = nr;
	w->path[nr] = '\0';
}

/* ---- numbers ---- */

static bool put_number(struct walk *w, const json_t *v)
{
	struct wi_metric_value m = { .is_real = json_is_real(v) };

	if (w->machine_guessed && wi_catalog_needs_groups(w->path))
		return true;
	m.path = wi_bundle_copy(w->b, w->path, w->nr);
	if (!m.path)
		return wi_err_nomem(w->err);
	if (m.is_real)
		m.real = json_real_value(v) + 0.0; /* -0.0 becomes 0.0: one value, one form */
	else
		m.integer = json_integer_value(v);
	return wi_bundle_put_metric(w->b, &m, w->err);
}

static bool add_bucket(struct walk *w, struct wi_bytes_out *blob, const json_t *triple, uint32_t *last)
{
	const json_t *lower = json_array_get(triple, 0), *width = json_array_get(triple, 1),
		     *count = json_array_get(triple, 2);

	if (!json_is_integer(lower) || !json_is_integer(width) || !json_is_integer(count) ||
	    json_integer_value(lower) < 0 || json_integer_value(count) <= 0)
		return wi_err_set(w->err, WI_EREFUSED, "%s.histogram holds what is no bucket", w->path);
	uint32_t index = wi_hist_index((uint64_t)json_integer_value(lower));

	if (wi_hist_lower_ns(index) != (uint64_t)json_integer_value(lower) ||
	    wi_hist_width_ns(index) != (uint64_t)json_integer_value(width) || (*last != UINT32_MAX && index <= *last))
		return wi_err_set(w->err, WI_EREFUSED, "%s.histogram has a bucket that this version does not have",
				  w->path);
	wi_hist_blob_put_one(blob, index, last, (uint64_t)json_integer_value(count));
	return true;
}

static bool exact_figures(const json_t *latency, struct wi_hist *exact)
{
	static const char *const key[] = { "count", "sum_ns", "min_ns", "max_ns" };
	uint64_t *const into[] = { &exact->count, &exact->sum_ns, &exact->min_ns, &exact->max_ns };

	for (int i = 0; i < 4; i++) {
		const json_t *v = json_object_get(latency, key[i]);

		if (i >= 2 && !exact->count)
			break;
		if (!json_is_integer(v) || json_integer_value(v) < 0)
			return false;
		*into[i] = (uint64_t)json_integer_value(v);
	}
	return true;
}

/* A latency object with its buckets; the path is the object's. */
static bool put_hist(struct walk *w, const json_t *latency, const json_t *buckets)
{
	struct wi_bytes_out blob = { 0 };
	struct wi_hist exact = { 0 }, h;
	const char *why = "its count, sum, minimum or maximum is missing", *path;
	uint32_t last = UINT32_MAX;
	bool ok = exact_figures(latency, &exact);
	const json_t *triple;
	size_t i;

	if (w->machine_guessed && wi_catalog_needs_groups(w->path))
		return true;
	json_array_foreach(buckets, i, triple)
	{
		if (!add_bucket(w, &blob, triple, &last))
			goto out;
	}
	ok = ok && wi_hist_blob_get(&h, blob.at, blob.nr, &exact, &why);
	if (!ok) {
		wi_err_set(w->err, WI_EREFUSED, "%s.histogram cannot be: %s", w->path, why);
		goto out;
	}
	path = wi_bundle_copy(w->b, w->path, w->nr);
	ok = path ? wi_bundle_put_hist(w->b, path, &h, w->err) : wi_err_nomem(w->err);
	if (!path)
		wi_hist_fini(&h);
	free(blob.at);
	return ok;
out:
	free(blob.at);
	return false;
}

/* ---- the walk ---- */

static bool walk_value(struct walk *w, const char *key, const json_t *v);

/* in_list: an object that its identity names, whose numbers are then no figures. */
static bool walk_members(struct walk *w, const json_t *object, bool in_list)
{
	const char *key;
	json_t *v;
	size_t at = w->nr;

	json_object_foreach((json_t *)object, key, v)
	{
		if (in_list && is_identity(key))
			continue;
		bool ok = !strcmp(key, "histogram") && json_is_array(v) ? put_hist(w, object, v)
									: append_key(w, key) && walk_value(w, key, v);

		back_to(w, at);
		if (!ok)
			return false;
	}
	return true;
}

/* Numbers alone, at whatever depth: a matrix. */
static bool all_numbers(const json_t *array)
{
	const json_t *v;
	size_t i;

	json_array_foreach(array, i, v)
	{
		if (!json_is_number(v) && !(json_is_array(v) && all_numbers(v)))
			return false;
	}
	return true;
}

static bool walk_numbers(struct walk *w, const json_t *array)
{
	const json_t *v;
	size_t i, at = w->nr;

	json_array_foreach(array, i, v)
	{
		char index[24];
		int n = snprintf(index, sizeof(index), "[%zu]", i);

		if (!append(w, index, (size_t)n) || !(json_is_array(v) ? walk_numbers(w, v) : put_number(w, v)))
			return false;
		back_to(w, at);
	}
	return true;
}

/* "#2" and on for members of an array that are named alike, such as tasks that had the same pid one after the other. */
static bool append_repetition(struct walk *w, json_t *seen)
{
	json_int_t n = json_integer_value(json_object_get(seen, w->path)) + 1;
	char text[32];

	if (json_object_set_new(seen, w->path, json_integer(n)))
		return wi_err_nomem(w->err);
	return n == 1 || append(w, text, (size_t)snprintf(text, sizeof(text), "#%lld", (long long)n));
}

/* Those of its identity that a member has; its place in the list if it has none. */
static bool append_identity(struct walk *w, const json_t *member, size_t index)
{
	bool any = false;

	for (size_t i = 0; i < NR_IDENTITY; i++) {
		const json_t *v = json_object_get(member, identity[i]);
		char number[24];

		if (!json_is_string(v) && !json_is_integer(v))
			continue;
		if (any && !append(w, ",", 1))
			return false;
		any = true;
		if (json_is_string(v) ? !append_label(w, json_string_value(v))
				      : !append(w, number,
						(size_t)snprintf(number, sizeof(number), "%lld",
								 (long long)json_integer_value(v))))
			return false;
	}
	char number[24];

	return any || append(w, number, (size_t)snprintf(number, sizeof(number), "%zu", index));
}

static bool walk_list(struct walk *w, const json_t *array, bool labels)
{
	size_t i, at = w->nr;
	json_t *seen = json_object();
	const json_t *v;
	bool ok = seen || wi_err_nomem(w->err);

	json_array_foreach(array, i, v)
	{
		const char *label = json_string_value(json_object_get(v, "name"));

		if (!ok)
			break;
		if (!json_is_object(v))
			continue;
		ok = append(w, "[", 1) && (labels && label ? append_label(w, label) : append_identity(w, v, i)) &&
		     append_repetition(w, seen) && append(w, "]", 1) && walk_members(w, v, !labels);
		back_to(w, at);
	}
	json_decref(seen);
	return ok;
}

/* Lists that tell of single wakeups and the like; their rows have tables of their own, or are no figures. */
static bool is_told_elsewhere(const char *path)
{
	static const char *const list[] = { "latency.longest", "missed_idle.worst", "explain" };

	for (size_t i = 0; i < sizeof(list) / sizeof(*list); i++)
		if (!strcmp(list[i], path))
			return true;
	return false;
}

static bool walk_value(struct walk *w, const char *key, const json_t *v)
{
	if (json_is_number(v))
		return is_where_or_when(key) || put_number(w, v);
	if (json_is_object(v))
		return walk_members(w, v, false);
	if (!json_is_array(v) || is_told_elsewhere(w->path))
		return true;
	if (!strcmp(w->path, "models") || !strcmp(w->path, "simulate.policies"))
		return walk_list(w, v, true);
	if (json_array_size(v) && all_numbers(v))
		return walk_numbers(w, v);
	return w->detail != WI_DETAIL_FULL || walk_list(w, v, false);
}

/* The parts of a document that hold figures; the others are columns of tables (flatten_rows.c). */
static bool is_bookkeeping(const char *key)
{
	static const char *const name[] = { "schema", "tool", "input", "window", "topology" };

	for (size_t i = 0; i < sizeof(name) / sizeof(*name); i++)
		if (!strcmp(name[i], key))
			return true;
	return false;
}

bool wi_bundle_add_document(struct wi_bundle *b, const char *json, size_t len, enum wi_detail detail,
			    struct wi_err *err)
{
	struct walk w = { .b = b, .err = err, .detail = detail };
	json_error_t why;
	json_t *root = json_loadb(json, len, JSON_REJECT_DUPLICATES, &why), *v;
	const char *key, *schema = json_string_value(json_object_get(root, "schema"));
	bool ok;

	if (!root)
		return wi_err_set(err, WI_EREFUSED, "not a JSON document: %s at byte %d", why.text, why.position);
	if (!schema || strcmp(schema, "wakeif/1")) {
		ok = wi_err_set(err, WI_EREFUSED, "not a document of schema wakeif/1");
		goto out;
	}
	w.machine_guessed = wi_flatten_guessed(json_object_get(root, "topology"));
	ok = wi_flatten_rows(b, root, err);
	json_object_foreach(root, key, v)
	{
		if (!ok)
			break;
		if (is_bookkeeping(key))
			continue;
		ok = append_key(&w, key) && walk_value(&w, key, v);
		back_to(&w, 0);
	}
out:
	json_decref(root);
	return ok;
}
