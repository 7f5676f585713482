/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Models as users name them, and plug-ins that are not what they should be. */
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "models/params.h"
#include "models/plugin.h"
#include "tests/unit/model_fixture.h"
#include "tests/unit/tl_fixture.h"

static const struct wakeif_param every_type[] = {
	{ "flag", WAKEIF_PARAM_BOOL, "off", 0, 0, NULL, "a flag" },
	{ "nr", WAKEIF_PARAM_INT, "4", -2, 100, NULL, "a number" },
	{ "after", WAKEIF_PARAM_NS, "1ms", 0, 5000000000, NULL, "a duration" },
	{ "kind", WAKEIF_PARAM_CHOICE, "big", 0, 0, "small|big|huge", "a choice" },
};

static bool never(void *model, const struct wakeif_wakeup *w, const struct wakeif_view *v, struct wakeif_choice *choice)
{
	(void)model;
	(void)w;
	(void)v;
	(void)choice;
	return false;
}

static void formats(void **state)
{
	static const struct {
		int param;
		int64_t value;
		const char *text;
	} cases[] = { { 0, 1, "on" },	{ 0, 0, "off" },	  { 1, -2, "-2" },	  { 2, 0, "0" },	    { 2, 1, "1ns" },
		      { 2, 1500, "1500ns" }, { 2, 2000, "2us" }, { 2, 3000000, "3ms" }, { 2, 4000000000, "4s" }, { 3, 2, "huge" } };
	char text[32];

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		wi_param_format(&every_type[cases[i].param], cases[i].value, text, sizeof(text));
		assert_string_equal(text, cases[i].text);
	}
}

static void check_ops(const struct wakeif_model_ops *ops, const char *wrong)
{
	struct wi_err err = { 0 };
	bool ok = wi_model_ops_check(ops, "x.so", &err);

	if (!wrong != ok || (wrong && !strstr(err.msg, wrong)))
		fail_msg("expected \"%s\", got \"%s\"", wrong ? wrong : "no error", err.msg);
}

static void ops_that_are_wrong(void **state)
{
	const struct wakeif_model_ops good = { .abi = WAKEIF_ABI,
					       .size = sizeof(good),
					       .name = "m",
					       .summary = "s",
					       .source = "s",
					       .confidence = "c",
					       .nr_params = 4,
					       .params = every_type,
					       .select_cpu = never };
	struct wakeif_model_ops m;
	struct wakeif_param p = every_type[1];

	(void)state;
	check_ops(&good, NULL);
	check_ops((m = good, m.abi = 7, &m), "plug-in interface 7, this program has 1");
	check_ops((m = good, m.size = 8, &m), "has 8 bytes");
	check_ops((m = good, m.name = NULL, &m), "no usable name");
	check_ops((m = good, m.name = "a,b", &m), "no usable name");
	check_ops((m = good, m.select_cpu = NULL, &m), "no select_cpu");
	check_ops((m = good, m.fini = free, &m), "only one of init and fini");
	check_ops((m = good, m.source = NULL, &m), "does not say what it is");
	check_ops((m = good, m.params = NULL, &m), "missing or absurd");
	check_ops((m = good, m.nr_params = 1000, &m), "missing or absurd");
	m = good;
	m.nr_params = 1;
	m.params = &p;
	p.dflt = "101";
	check_ops(&m, "default of nr is not legal");
	p.dflt = NULL;
	check_ops(&m, "parameter 0 is not complete");
}

/* The built-in "least-loaded" has by=nr|load. */
static void wrong_texts(void **state)
{
	static const struct {
		const char *text, *message;
		size_t at;
	} cases[] = {
		{ "least-loadde", "no model is named 'least-loadde'; did you mean least-loaded?", 0 },
		{ "", "no model is named ''", 0 },
		{ "least-loaded,bi=nr", "has no parameter 'bi'; did you mean by?", 13 },
		{ "least-loaded,colour=red", "has no parameter 'colour'; see wakeif models least-loaded", 13 },
		{ "least-loaded,", "has no parameter ''", 13 },
		{ "least-loaded,by=lod", "parameter by is one of nr|load, not 'lod'", 16 },
		{ "least-loaded,by", "parameter by needs a value", 15 },
		{ "least-loaded,by=nr,by=nr", "parameter by is given twice", 19 },
		{ "prev,x=1", "model prev has no parameters", 5 },
		{ "./no-such-file.so", "plug-in cannot be loaded", 0 },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		struct wi_model_spec spec;
		struct wi_err err = { 0 };
		size_t at = 99;

		assert_false(wi_model_spec_parse(cases[i].text, &spec, &at, &err));
		if (!strstr(err.msg, cases[i].message) || at != cases[i].at)
			fail_msg("%s: \"%s\" at %zu", cases[i].text, err.msg, at);
	}
}

static void labels(void **state)
{
	struct wi_model_spec spec;
	struct wi_err err = { 0 };
	size_t at;

	(void)state;
	assert_true(wi_model_spec_parse("least-loaded,by=load", &spec, &at, &err));
	assert_string_equal(spec.label, "least-loaded,by=load");
	assert_string_equal(spec.params, "by=load");
	assert_int_equal(spec.values[0], 1);
	wi_model_spec_fini(&spec);
	assert_true(wi_model_spec_parse("least-loaded,by=nr", &spec, &at, &err));
	assert_string_equal(spec.label, "least-loaded");
	assert_string_equal(spec.params, "by=nr");
	wi_model_spec_fini(&spec);
	assert_true(wi_model_spec_parse("prev", &spec, &at, &err));
	assert_string_equal(spec.params, "");
	wi_model_spec_fini(&spec);
}

/* Compiles source (C) into a plug-in; the caller frees the path and removes the file. */
static char *build(const char *source, const char *file)
{
	const char *tmp = getenv("TMPDIR") ? getenv("TMPDIR") : "/tmp";
	char dir[256], *path = NULL, *command = NULL;
	static int nr;

	snprintf(dir, sizeof(dir), "%s", tmp);
	assert_true(asprintf(&path, "%s/wakeif-plugin-%d-%d.so", dir, getpid(), nr++) > 0);
	if (file)
		assert_true(asprintf(&command, "cc -shared -fPIC -I models -o '%s' '%s'", path, file) > 0);
	else
		assert_true(asprintf(&command, "echo '%s' | cc -shared -fPIC -I models -o '%s' -x c -", source, path) > 0);
	assert_int_equal(system(command), 0);
	free(command);
	return path;
}

static void expect_refused(const char *source, const char *message)
{
	char *path = build(source, NULL);
	struct wi_model_spec spec;
	struct wi_err err = { 0 };
	size_t at;

	assert_false(wi_model_spec_parse(path, &spec, &at, &err));
	assert_int_equal(err.code, WI_EREFUSED);
	if (!strstr(err.msg, message) || !strstr(err.msg, path))
		fail_msg("%s", err.msg);
	unlink(path);
	free(path);
}

static void plugins_that_are_wrong(void **state)
{
	(void)state;
	expect_refused("int other;", "exports no wakeif_model");
	expect_refused("#include \"wakeif_model.h\"\nconst struct wakeif_model_ops wakeif_model = { .abi = 9 };", "plug-in interface 9");
	expect_refused("#include \"wakeif_model.h\"\nconst struct wakeif_model_ops wakeif_model = { .abi = WAKEIF_ABI, .size = "
		       "sizeof(struct wakeif_model_ops), .name = \"x\" };",
		       "no select_cpu");
}

/* The example: two wakeups that find CPU 1 busy stay, the third goes to the idle CPU 2. */
static void the_example(void **state)
{
	char *path = build(NULL, "samples/plugin/sticky.c"), spec[400];
	struct wakeif_topology *topo = tl_fixture_topology(1, 1, 4, 2);
	struct wakeif_happening reborn = { .size = sizeof(reborn), .type = WAKEIF_TASK_BEGAN, .task = 8 };

	(void)state;
	snprintf(spec, sizeof(spec), "%s,times=2", path);
	struct model_fixture *f = model_fixture_new(topo, spec);
	model_expect(f, "prev=1 waker=0 idle=2", "1 stay");
	model_expect(f, "prev=1 waker=0 idle=2", "2 scan");
	model_expect(f, "prev=1 waker=0 idle=2", "1 stay");
	model_expect(f, "prev=1 waker=0 idle=1-2", "1 stay");
	model_expect(f, "prev=1 waker=0 idle=2", "1 stay");
	model_fixture_observe(f, &reborn);
	model_expect(f, "prev=1 waker=0 idle=2", "1 stay");
	model_expect(f, "prev=1 waker=0 idle=2 allowed=0-1", "1 stay");
	model_fixture_free(f);
	tl_fixture_topology_free(topo);
	unlink(path);
	free(path);
}

/* cmocka handles signals anew for every test; so does whoever opens a plug-in. */
static void watch_again(void)
{
	struct wi_err err = { 0 };
	char *path = build(NULL, "samples/plugin/sticky.c");
	void *handle;

	if (!wi_plugin_open(path, &handle, &err))
		_exit(99);
	unlink(path);
	free(path);
}

/* A crash between enter and leave names the plug-in; the exit status is 1. */
static void crash_is_named(void **state)
{
	int out[2], status;
	char text[200] = "";

	(void)state;
	assert_int_equal(pipe(out), 0);
	pid_t pid = fork();
	if (!pid) {
		dup2(out[1], STDERR_FILENO);
		watch_again();
		wi_plugin_enter("bad", "select_cpu");
		raise(SIGSEGV);
		_exit(0);
	}
	close(out[1]);
	for (size_t at = 0; at < sizeof(text) - 1;) { /* it is written piece by piece */
		ssize_t n = read(out[0], text + at, sizeof(text) - 1 - at);

		assert_true(n >= 0);
		if (!n)
			break;
		at += (size_t)n;
	}
	waitpid(pid, &status, 0);
	close(out[0]);
	assert_true(WIFEXITED(status));
	assert_int_equal(WEXITSTATUS(status), WI_EIO);
	assert_string_equal(text, "wakeif: plug-in bad crashed in select_cpu: bad memory access\n");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(formats),	 cmocka_unit_test(ops_that_are_wrong),	   cmocka_unit_test(wrong_texts),
		cmocka_unit_test(labels),	 cmocka_unit_test(plugins_that_are_wrong), cmocka_unit_test(the_example),
		cmocka_unit_test(crash_is_named),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
