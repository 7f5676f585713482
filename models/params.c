/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "models/params.h"

#include <ctype.h>
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "models/plugin.h"
#include "models/registry.h"

/* ---- one value ---- */

static bool equals(const char *text, size_t len, const char *word)
{
	return strlen(word) == len && !strncasecmp(text, word, len);
}

static bool parse_bool(const char *text, size_t len, int64_t *value)
{
	static const char *const yes[] = { "1", "on", "yes", "true" }, *const no[] = { "0", "off", "no", "false" };

	for (size_t i = 0; i < sizeof(yes) / sizeof(*yes); i++) {
		if (equals(text, len, yes[i]) || equals(text, len, no[i])) {
			*value = equals(text, len, yes[i]);
			return true;
		}
	}
	return false;
}

static bool parse_choice(const char *choices, const char *text, size_t len, int64_t *value)
{
	int64_t i = 0;

	for (const char *c = choices; *c; i++) {
		size_t n = strcspn(c, "|");

		if (n == len && !strncmp(c, text, len)) {
			*value = i;
			return true;
		}
		c += n + (c[n] == '|');
	}
	return false;
}

/* Digits and, for a duration, a unit. *used: characters that were understood. */
static bool parse_number(const char *text, size_t len, bool duration, int64_t *value, size_t *used)
{
	static const struct {
		const char *name;
		int64_t ns;
	} unit[] = { { "", 1 }, { "ns", 1 }, { "us", 1000 }, { "ms", 1000000 }, { "s", 1000000000 } };
	char copy[40], *end;

	*used = 0;
	if (!len || len >= sizeof(copy) || !(isdigit((unsigned char)*text) || *text == '-'))
		return false;
	memcpy(copy, text, len);
	copy[len] = '\0';
	errno = 0;
	long long v = strtoll(copy, &end, 10);
	*used = (size_t)(end - copy);
	if (errno)
		*used = 0;
	if (errno || end == copy || (*used < len && !duration))
		return false;
	for (size_t i = 0; i < sizeof(unit) / sizeof(*unit); i++)
		if (!strcmp(end, unit[i].name))
			return !__builtin_mul_overflow((int64_t)v, unit[i].ns, value);
	return false;
}

static bool wrong_value(const struct wakeif_param *p, const char *text, size_t len, struct wi_err *err)
{
	int n = len > 60 ? 60 : (int)len;

	if (p->type == WAKEIF_PARAM_CHOICE)
		return wi_err_set(err, WI_EUSAGE, "parameter %s is one of %s, not '%.*s'", p->name, p->choices, n, text);
	if (p->type == WAKEIF_PARAM_BOOL)
		return wi_err_set(err, WI_EUSAGE, "parameter %s is on or off, not '%.*s'", p->name, n, text);
	char min[32], max[32];
	wi_param_format(p, p->min, min, sizeof(min));
	wi_param_format(p, p->max, max, sizeof(max));
	return wi_err_set(err, WI_EUSAGE, "parameter %s is %s from %s to %s, not '%.*s'", p->name,
			  p->type == WAKEIF_PARAM_NS ? "a duration" : "a number", min, max, n, text);
}

/* *at: index in text of the first wrong character. */
static bool parse_value(const struct wakeif_param *p, const char *text, size_t len, int64_t *value, size_t *at, struct wi_err *err)
{
	bool ok;

	*at = 0;
	if (p->type == WAKEIF_PARAM_BOOL) {
		ok = parse_bool(text, len, value);
	} else if (p->type == WAKEIF_PARAM_CHOICE) {
		ok = parse_choice(p->choices, text, len, value);
	} else {
		ok = parse_number(text, len, p->type == WAKEIF_PARAM_NS, value, at);
		if (ok && (*value < p->min || *value > p->max)) {
			*at = 0;
			ok = false;
		}
	}
	return ok || wrong_value(p, text, len, err);
}

void wi_param_format(const struct wakeif_param *p, int64_t value, char *out, size_t size)
{
	if (p->type == WAKEIF_PARAM_BOOL) {
		snprintf(out, size, "%s", value ? "on" : "off");
	} else if (p->type == WAKEIF_PARAM_CHOICE) {
		const char *c = p->choices;

		for (; value > 0 && strchr(c, '|'); value--)
			c = strchr(c, '|') + 1;
		snprintf(out, size, "%.*s", (int)strcspn(c, "|"), c);
	} else if (p->type == WAKEIF_PARAM_NS && value && value % 1000 == 0) {
		bool ms = value % 1000000 == 0, s = value % 1000000000 == 0;

		snprintf(out, size, "%" PRId64 "%s", value / (s ? 1000000000 : ms ? 1000000 : 1000), s ? "s" : ms ? "ms" : "us");
	} else {
		snprintf(out, size, "%" PRId64 "%s", value, p->type == WAKEIF_PARAM_NS && value ? "ns" : "");
	}
}

/* ---- what a model claims about itself ---- */

static bool name_is_legal(const char *name)
{
	size_t len = name ? strnlen(name, 65) : 0;

	for (size_t i = 0; i < len; i++)
		if (!isalnum((unsigned char)name[i]) && !strchr("._+-", name[i]))
			return false;
	return len && len <= 64;
}

bool wi_model_ops_check(const struct wakeif_model_ops *ops, const char *file, struct wi_err *err)
{
	size_t at;
	int64_t v;

	if (ops->abi != WAKEIF_ABI)
		return wi_err_at(err, WI_EREFUSED, file, WI_NO_OFFSET, "plug-in interface %u, this program has %d: build it again with its wakeif_model.h",
				 ops->abi, WAKEIF_ABI);
	if (ops->size != sizeof(*ops))
		return wi_err_at(err, WI_EREFUSED, file, WI_NO_OFFSET, "struct wakeif_model_ops has %u bytes, %zu expected", ops->size, sizeof(*ops));
	if (!name_is_legal(ops->name))
		return wi_err_at(err, WI_EREFUSED, file, WI_NO_OFFSET, "the model has no usable name");
	if (!ops->select_cpu)
		return wi_err_at(err, WI_EREFUSED, file, WI_NO_OFFSET, "model %s has no select_cpu", ops->name);
	if (!ops->init != !ops->fini)
		return wi_err_at(err, WI_EREFUSED, file, WI_NO_OFFSET, "model %s has only one of init and fini", ops->name);
	if (!ops->summary || !ops->source || !ops->confidence)
		return wi_err_at(err, WI_EREFUSED, file, WI_NO_OFFSET, "model %s does not say what it is: summary, source and confidence are needed", ops->name);
	if (ops->nr_params > 256 || (ops->nr_params && !ops->params))
		return wi_err_at(err, WI_EREFUSED, file, WI_NO_OFFSET, "model %s: its table of parameters is missing or absurd (%u)", ops->name, ops->nr_params);
	for (uint32_t i = 0; i < ops->nr_params; i++) {
		const struct wakeif_param *p = &ops->params[i];

		if (!name_is_legal(p->name) || !p->dflt || !p->help || p->type > WAKEIF_PARAM_CHOICE || (p->type == WAKEIF_PARAM_CHOICE && !p->choices))
			return wi_err_at(err, WI_EREFUSED, file, WI_NO_OFFSET, "model %s: parameter %u is not complete", ops->name, i);
		for (uint32_t j = 0; j < i; j++)
			if (!strcmp(ops->params[j].name, p->name))
				return wi_err_at(err, WI_EREFUSED, file, WI_NO_OFFSET, "model %s: two parameters are named %s", ops->name, p->name);
		struct wi_err sub = { 0 };
		if (!parse_value(p, p->dflt, strlen(p->dflt), &v, &at, &sub))
			return wi_err_at(err, WI_EREFUSED, file, WI_NO_OFFSET, "model %s: the default of %s is not legal: %s", ops->name, p->name, sub.msg);
	}
	return true;
}

/* ---- a whole text ---- */

static bool unknown_model(const char *name, struct wi_err *err)
{
	const char *like[3];
	size_t n = wi_models_like(name, like, 3);

	if (!n)
		return wi_err_set(err, WI_EUSAGE, "no model is named '%.64s'; see wakeif models", name);
	return wi_err_set(err, WI_EUSAGE, "no model is named '%.64s'; did you mean %s%s%s%s%s?", name, like[0], n > 2 ? ", " : n > 1 ? " or " : "",
			  n > 1 ? like[1] : "", n > 2 ? " or " : "", n > 2 ? like[2] : "");
}

static bool unknown_param(const struct wakeif_model_ops *ops, const char *text, size_t len, struct wi_err *err)
{
	const char *best = NULL;
	size_t best_d = SIZE_MAX;
	char name[65];

	snprintf(name, sizeof(name), "%.*s", (int)len, text);
	for (uint32_t i = 0; i < ops->nr_params; i++) {
		size_t d = wi_edit_distance(name, ops->params[i].name);

		if (d < best_d) {
			best_d = d;
			best = ops->params[i].name;
		}
	}
	if (!best)
		return wi_err_set(err, WI_EUSAGE, "model %s has no parameters", ops->name);
	if (best_d * 2 > strlen(best))
		return wi_err_set(err, WI_EUSAGE, "model %s has no parameter '%s'; see wakeif models %s", ops->name, name, ops->name);
	return wi_err_set(err, WI_EUSAGE, "model %s has no parameter '%s'; did you mean %s?", ops->name, name, best);
}

static bool parse_params(const char *text, size_t at, struct wi_model_spec *s, size_t *wrong_at, struct wi_err *err)
{
	const struct wakeif_model_ops *ops = s->ops;
	bool given[256] = { false };
	size_t bad;

	while (text[at]) {
		const char *item = text + ++at; /* behind the ',' */
		size_t len = strcspn(item, ","), name_len = strcspn(item, ",="), i = 0;

		*wrong_at = at;
		while (i < ops->nr_params && !(strlen(ops->params[i].name) == name_len && !strncmp(ops->params[i].name, item, name_len)))
			i++;
		if (i == ops->nr_params)
			return unknown_param(ops, item, name_len, err);
		if (given[i])
			return wi_err_set(err, WI_EUSAGE, "parameter %s is given twice", ops->params[i].name);
		given[i] = true;
		if (name_len == len && ops->params[i].type == WAKEIF_PARAM_BOOL) {
			s->values[i] = 1; /* "name" alone switches it on */
		} else if (name_len == len) {
			*wrong_at = at + len;
			return wi_err_set(err, WI_EUSAGE, "parameter %s needs a value", ops->params[i].name);
		} else if (!parse_value(&ops->params[i], item + name_len + 1, len - name_len - 1, &s->values[i], &bad, err)) {
			*wrong_at = at + name_len + 1 + bad;
			return false;
		}
		at += len;
	}
	return true;
}

static char *describe(const struct wi_model_spec *s, bool all)
{
	char *out = NULL;
	size_t size;
	FILE *f = open_memstream(&out, &size);

	if (!f)
		return NULL;
	if (!all)
		fputs(s->ops->name, f);
	for (uint32_t i = 0; i < s->ops->nr_params; i++) {
		const struct wakeif_param *p = &s->ops->params[i];
		struct wi_err none = { 0 };
		int64_t dflt = 0;
		char text[64];
		size_t at;

		parse_value(p, p->dflt, strlen(p->dflt), &dflt, &at, &none);
		if (!all && s->values[i] == dflt)
			continue;
		wi_param_format(p, s->values[i], text, sizeof(text));
		fprintf(f, "%s%s=%s", all && !i ? "" : ",", p->name, text);
	}
	if (fclose(f)) {
		free(out);
		return NULL;
	}
	return out;
}

bool wi_model_spec_parse(const char *text, struct wi_model_spec *out, size_t *wrong_at, struct wi_err *err)
{
	size_t len = strcspn(text, ","), at;
	char *name = strndup(text, len);

	memset(out, 0, sizeof(*out));
	*wrong_at = 0;
	if (!name)
		return wi_err_nomem(err);
	if (memchr(text, '/', len))
		out->ops = wi_plugin_open(name, &out->plugin, err);
	else if (!(out->ops = wi_model_find(name)))
		unknown_model(name, err);
	free(name);
	if (!out->ops)
		return false;
	out->values = calloc(out->ops->nr_params + 1, sizeof(*out->values));
	if (!out->values) {
		wi_err_nomem(err);
		goto fail;
	}
	for (uint32_t i = 0; i < out->ops->nr_params; i++)
		if (!parse_value(&out->ops->params[i], out->ops->params[i].dflt, strlen(out->ops->params[i].dflt), &out->values[i], &at, err))
			goto fail;
	if (!parse_params(text, len, out, wrong_at, err))
		goto fail;
	out->label = describe(out, false);
	out->params = describe(out, true);
	if (out->label && out->params)
		return true;
	wi_err_nomem(err);
fail:
	wi_model_spec_fini(out);
	return false;
}

void wi_model_spec_fini(struct wi_model_spec *s)
{
	free(s->values);
	free(s->label);
	free(s->params);
	if (s->plugin)
		wi_plugin_close(s->plugin);
	memset(s, 0, sizeof(*s));
}
