/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Opening of files: formats by content, wrappers, pipes, limits, and what is refused. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include <fcntl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "parsers/spool.h"
#include "text_fixture.h"

#define LINE " a-1 [000] d... 1.000001: sched_waking: comm=x pid=5 prio=120 target_cpu=001\n"

static char dir[] = P_tmpdir "/wakeif-test-XXXXXX";

static const char *in_dir(const char *name)
{
	static char path[256];

	snprintf(path, sizeof(path), "%s/%s", dir, name);
	return path;
}

static const char *write_file(const char *name, const void *data, size_t len)
{
	const char *path = in_dir(name);
	FILE *f = fopen(path, "w");

	assert_non_null(f);
	assert_int_equal(fwrite(data, 1, len, f), len);
	fclose(f);
	return path;
}

__attribute__((format(printf, 1, 2))) static void run_shell(const char *fmt, ...)
{
	char cmd[1024];
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(cmd, sizeof(cmd), fmt, ap);
	va_end(ap);
	assert_int_equal(system(cmd), 0);
}

/* A text of nr wakings. */
static void write_trace(const char *name, unsigned int nr)
{
	FILE *f = fopen(in_dir(name), "w");

	assert_non_null(f);
	for (unsigned int i = 0; i < nr; i++)
		fprintf(f, " a-1 [000] d... %u.%06u: sched_waking: comm=x pid=%u prio=120 target_cpu=001\n", i / 1000,
			i % 1000, i % 5000);
	fclose(f);
}

struct opened {
	struct wi_err err;
	char wrapper[8], format[64], damage[200];
	uint64_t file_bytes, nr_wakings;
	uint32_t nr_damage;
};

static void open_and_count(const char *path, const struct wi_open_opts *opts, struct opened *o)
{
	struct wi_names *names = wi_names_new();
	struct wi_source *src;
	struct wi_event ev[256];
	int n;

	memset(o, 0, sizeof(*o));
	src = wi_source_open(path, opts, names, &o->err);
	if (src) {
		const struct wi_source_info *info;

		while ((n = wi_source_next_batch(src, ev, 256, &o->err)) > 0)
			for (int i = 0; i < n; i++)
				o->nr_wakings += ev[i].type == WI_EV_SCHED_WAKING;
		info = wi_source_info(src);
		assert_string_equal(info->path, path);
		snprintf(o->wrapper, sizeof(o->wrapper), "%s", info->wrapper);
		snprintf(o->format, sizeof(o->format), "%s", info->format);
		o->file_bytes = info->file_bytes;
		o->nr_damage = info->nr_damage;
		if (info->nr_damage)
			snprintf(o->damage, sizeof(o->damage), "%s", info->damage[0].what);
		wi_source_close(src);
	} else {
		assert_int_not_equal(o->err.code, WI_OK);
		assert_null(strchr(o->err.msg, '\n'));
	}
	wi_names_free(names);
}

static void expect_error(const char *path, const struct wi_open_opts *opts, enum wi_err_code code, const char *why)
{
	struct opened o;

	open_and_count(path, opts, &o);
	if (o.err.code != code || !strstr(o.err.msg, why))
		fail_msg("%s: code %d \"%s\", expected %d \"%s\"", path, o.err.code, o.err.msg, code, why);
}

static void test_plain(void **state)
{
	struct opened o;

	(void)state;
	write_trace("t.txt", 1000);
	open_and_count(in_dir("t.txt"), NULL, &o);
	assert_int_equal(o.err.code, WI_OK);
	assert_int_equal(o.nr_wakings, 1000);
	assert_string_equal(o.wrapper, "");
	assert_string_equal(o.format, "ftrace text");
	/* the name says nothing */
	run_shell("cp %s/t.txt %s/trace.dat.gz", dir, dir);
	open_and_count(in_dir("trace.dat.gz"), NULL, &o);
	assert_int_equal(o.nr_wakings, 1000);
}

static void test_wrappers(void **state)
{
	static const struct {
		const char *tool, *ext;
	} tools[] = { { "gzip", "gz" }, { "xz", "xz" }, { "zstd -q", "zst" }, { "bzip2", "bz2" } };
	struct opened o;
	char name[32];

	(void)state;
	write_trace("w.txt", 5000);
	for (size_t i = 0; i < sizeof(tools) / sizeof(*tools); i++) {
		snprintf(name, sizeof(name), "w.%s", tools[i].ext);
		run_shell("%s -c < %s/w.txt > %s/%s", tools[i].tool, dir, dir, name);
		open_and_count(in_dir(name), NULL, &o);
		assert_int_equal(o.err.code, WI_OK);
		assert_int_equal(o.nr_wakings, 5000);
		assert_string_equal(o.wrapper, tools[i].ext);
		assert_int_equal(o.nr_damage, 0);
		/* cut: what was got is analysed, and the damage is named */
		run_shell("s=$(stat -c %%s %s/%s); head -c $((s * 7 / 10)) %s/%s > %s/cut", dir, name, dir, name, dir);
		open_and_count(in_dir("cut"), NULL, &o);
		if (o.err.code == WI_OK) {
			assert_true(o.nr_wakings > 0 && o.nr_wakings < 5000);
			assert_true(o.nr_damage > 0);
			assert_non_null(strstr(o.damage, "damaged or ends early"));
		} else {
			/* bzip2 has blocks of 900 kB: nothing can be had of a cut one */
			assert_int_equal(o.err.code, WI_EREFUSED);
		}
		/* nothing but the magic */
		run_shell("head -c 12 %s/%s > %s/cut", dir, name, dir);
		expect_error(in_dir("cut"), NULL, WI_EREFUSED, "not a trace");
	}
	/* refused, and perhaps only because it is cut: both are said */
	run_shell("{ echo '<!DOCTYPE html>'; yes x; } | head -c 300000 | gzip -1 -c | head -c 800 > %s/html.gz", dir);
	expect_error(in_dir("html.gz"), NULL, WI_EREFUSED, "damaged or ends early");
	expect_error(in_dir("html.gz"), NULL, WI_EREFUSED, "not a trace: no event in");
	/* what is no trace is not unpacked to its end */
	run_shell("head -c 3000000 /dev/zero | gzip -1 -c | head -c 6000 > %s/zero.gz", dir);
	expect_error(in_dir("zero.gz"), &(struct wi_open_opts){ .max_spool_bytes = 100000 }, WI_EREFUSED,
		     "no trace-cmd magic");
	/* several members in one file, as logrotate and pigz make them */
	run_shell("cat %s/w.gz %s/w.gz > %s/two.gz", dir, dir, dir);
	open_and_count(in_dir("two.gz"), NULL, &o);
	assert_int_equal(o.nr_wakings, 10000);
	/* an empty file inside */
	run_shell("gzip -c < /dev/null > %s/empty.gz", dir);
	expect_error(in_dir("empty.gz"), NULL, WI_EREFUSED, "empty");
}

static void test_spool_limit(void **state)
{
	struct wi_open_opts opts = { .max_spool_bytes = 10000 };
	struct opened o;

	(void)state;
	write_trace("l.txt", 5000);
	run_shell("gzip -c < %s/l.txt > %s/l.gz", dir, dir);
	expect_error(in_dir("l.gz"), &opts, WI_EIO, "--max-spool: 10000 bytes");
	/* what needs no spool has no limit */
	open_and_count(in_dir("l.txt"), &opts, &o);
	assert_int_equal(o.nr_wakings, 5000);
	opts.max_spool_bytes = o.file_bytes;
	open_and_count(in_dir("l.gz"), &opts, &o);
	assert_int_equal(o.nr_wakings, 5000);
	setenv("TMPDIR", "/nonexistent", 1);
	expect_error(in_dir("l.gz"), NULL, WI_EIO, "$TMPDIR");
	unsetenv("TMPDIR");
}

/* A FIFO, and standard input as a pipe, as a file, and as a file that was read in part. */
static void test_pipes(void **state)
{
	struct opened o;
	char line[256];
	int saved = dup(0), fd;
	FILE *p;

	(void)state;
	write_trace("p.txt", 3000);
	run_shell("gzip -c < %s/p.txt > %s/p.gz", dir, dir);
	run_shell("mkfifo %s/fifo; cat %s/p.txt > %s/fifo &", dir, dir, dir);
	open_and_count(in_dir("fifo"), NULL, &o);
	assert_int_equal(o.nr_wakings, 3000);
	assert_string_equal(o.wrapper, "pipe");

	for (int gz = 0; gz < 2; gz++) {
		snprintf(line, sizeof(line), "cat %s/p.%s", dir, gz ? "gz" : "txt");
		p = popen(line, "r");
		assert_non_null(p);
		dup2(fileno(p), 0);
		open_and_count("-", NULL, &o);
		assert_int_equal(o.nr_wakings, 3000);
		assert_string_equal(o.wrapper, gz ? "gz" : "pipe");
		pclose(p);
	}
	fd = open(in_dir("p.txt"), O_RDONLY);
	dup2(fd, 0);
	open_and_count("-", NULL, &o);
	assert_int_equal(o.nr_wakings, 3000);
	assert_string_equal(o.wrapper, "");
	lseek(0, (off_t)o.file_bytes / 2, SEEK_SET);
	open_and_count("-", NULL, &o);
	assert_true(o.nr_wakings > 1000 && o.nr_wakings < 2000);
	close(fd);
	dup2(saved, 0);
	close(saved);
}

#define F(text) text, sizeof(text) - 1

/* Items 30, 49, 50 and the rest: one line that says what was found. */
static void test_refused(void **state)
{
	static const struct {
		const char *data;
		size_t len;
		const char *why;
	} files[] = {
		{ F(""), "the file is empty" },
		{ F("\0\0\0\0\1\2\3\4"), "no trace-cmd magic" },
		{ F("\x7f"
		    "ELF\2\1\1\0\0\0"),
		  "ELF" },
		{ F("PK\3\4aaaa"), "zip" },
		{ F("SQLite format 3\0"), "SQLite" },
		{ F("\x1e{\"type\":\"preamble\",\"version\":2}"), "format not supported: CTF 2" },
		{ F("/* CTF 1.8 */\n"), "CTF 1" },
		{ F("\xc1\x1f\xfc\xc1"), "CTF" },
		{ F("PERFILE2\x68\0\0\0"), "perf script -i " },
		{ F("2ELIFREP\x68\0\0\0"), "perf script -i " },
		{ F("\n Tracing meta data in file base.dat:\n\t[Initial format]\n"), "trace-cmd dump" },
		{ F("hello\n"), "found \"hello\"" },
		{ F("BZhello this is not bzip2"), "not a trace" },
		{ F("<!DOCTYPE html><html>nothing</html>"), "not a trace: no event in 1 lines" },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(files) / sizeof(*files); i++)
		expect_error(write_file("refused", files[i].data, files[i].len), NULL, WI_EREFUSED, files[i].why);
}

/* The command that is proposed for perf.data is right for any file name, and also for a packed one. */
static void test_perf_command(void **state)
{
	struct opened o;
	char expected[400];

	(void)state;
	snprintf(expected, sizeof(expected),
		 "perf script -i '%s/it'\\''s a $file' --ns -F trace:comm,pid,tid,cpu,time,event,trace", dir);
	expect_error(write_file("it's a $file", "PERFILE2xxxx", 12), NULL, WI_EREFUSED, expected);
	run_shell("printf PERFILE2xxxx | gzip -c > %s/perf.gz", dir);
	open_and_count(in_dir("perf.gz"), NULL, &o);
	assert_int_equal(o.err.code, WI_EREFUSED);
	assert_non_null(strstr(o.err.msg, "unpack"));
}

static void test_io_errors(void **state)
{
	const char *path;

	(void)state;
	expect_error("/nonexistent/trace.dat", NULL, WI_EIO, "No such file");
	if (geteuid() == 0)
		assert_int_equal(seteuid(65534), 0);
	path = "/etc/shadow";
	if (access(path, F_OK) == 0 && open(path, O_RDONLY) < 0)
		expect_error(path, NULL, WI_EIO, "Permission denied");
	if (getuid() == 0)
		assert_int_equal(seteuid(0), 0);
}

static void test_reader_option(void **state)
{
	struct wi_open_opts opts = { .reader = WI_READER_LIBTRACECMD };

	(void)state;
	write_file("r.txt", LINE, strlen(LINE));
	expect_error(in_dir("r.txt"), &opts, WI_EUSAGE, "--reader=libtracecmd");
	opts.reader = (enum wi_reader)7;
	expect_error(in_dir("r.txt"), &opts, WI_EUSAGE, "no such reader");
}

static uint64_t last_done, last_total;
static void note_progress(void *ctx, uint64_t done, uint64_t total)
{
	assert_ptr_equal(ctx, &last_done);
	assert_true(!total || done <= total);
	last_done = done;
	last_total = total;
}

static void test_progress(void **state)
{
	struct wi_open_opts opts = { .progress = note_progress, .progress_ctx = &last_done };
	struct opened o;

	(void)state;
	write_trace("g.txt", 60000);
	open_and_count(in_dir("g.txt"), &opts, &o);
	assert_int_equal(last_total, 2 * o.file_bytes);
	assert_true(last_done > o.file_bytes);
}

static int make_dir(void **state)
{
	(void)state;
	return mkdtemp(dir) ? 0 : -1;
}

static int remove_dir(void **state)
{
	(void)state;
	run_shell("rm -r %s", dir);
	return 0;
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_plain),	    cmocka_unit_test(test_wrappers),
		cmocka_unit_test(test_spool_limit), cmocka_unit_test(test_pipes),
		cmocka_unit_test(test_refused),	    cmocka_unit_test(test_perf_command),
		cmocka_unit_test(test_io_errors),   cmocka_unit_test(test_reader_option),
		cmocka_unit_test(test_progress),
	};

	return cmocka_run_group_tests(tests, make_dir, remove_dir);
}
