/* SPDX-License-Identifier: GPL-2.0-or-later */
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cmocka.h>

#include "analyzer/base/cpumask.h"
#include "analyzer/topology/filetree.h"
#include "analyzer/topology/tasks.h"

#define HEADER "tid\tpid\tcomm\tprio\tnice\tpolicy\trtprio\tcpu\tallowed\tcgroup\tautogroup\n"

static struct wi_tasks *add(struct wi_tasks *tasks, const char *text)
{
	struct wi_err err = { WI_OK, "" };

	if (!wi_tasks_add_text(&tasks, "t.tsv", text, strlen(text), &err))
		fail_msg("%s", err.msg);
	return tasks;
}

static const char *allowed(const struct wi_task_entry *p)
{
	static char list[256];

	wi_mask_format(list, sizeof(list), p->allowed, p->allowed_words);
	return list;
}

static void all_columns(void **state)
{
	(void)state;
	struct wi_tasks *t =
		add(NULL, HEADER "42\t40\tDOM Worker\t25\t5\t3\t0\t7\t0-3,8\t0::/user.slice\t/autogroup-12\n"
				 "7\t7\tmigration/0\t-100\t0\t1\t99\t0\t0\t0::/\t\n");
	const struct wi_task_entry *p = wi_tasks_find(t, 42);

	assert_int_equal(t->nr, 2);
	assert_int_equal(t->task[0].tid, 7);
	assert_non_null(p);
	assert_int_equal(p->tgid, 40);
	assert_string_equal(p->comm, "DOM Worker");
	assert_int_equal(p->nice, 5);
	assert_int_equal(p->policy, WAKEIF_POLICY_BATCH);
	assert_int_equal(p->rtprio, 0);
	assert_int_equal(p->cpu, 7);
	assert_string_equal(allowed(p), "0-3,8");
	assert_string_equal(p->cgroup, "0::/user.slice");
	assert_string_equal(p->autogroup, "/autogroup-12");
	p = wi_tasks_find(t, 7);
	assert_int_equal(p->policy, WAKEIF_POLICY_FIFO);
	assert_int_equal(p->rtprio, 99);
	assert_string_equal(allowed(p), "0");
	assert_string_equal(p->autogroup, "");
	assert_null(wi_tasks_find(t, 8));
	wi_tasks_free(t);
}

/* Any order, other columns ignored, missing ones and "-" unknown, names of policies, comments, CRLF. */
static void any_columns(void **state)
{
	(void)state;
	struct wi_tasks *t = add(NULL, "# made by "
				       "hand\r\nALLOWED\tstime\ttid\tpolicy\r\n2,4\t09:00\t5\tFF\r\n\r\n-\t09:"
				       "01\t6\tSCHED_IDLE\r\n\t\t9\t-\r\n1\tx\t10\tTS\n");
	const struct wi_task_entry *p = wi_tasks_find(t, 5);

	assert_int_equal(t->nr, 4);
	assert_string_equal(allowed(p), "2,4");
	assert_int_equal(p->policy, WAKEIF_POLICY_FIFO);
	assert_int_equal(p->tgid, -1);
	assert_int_equal(p->nice, WI_NICE_UNKNOWN);
	assert_int_equal(p->rtprio, -1);
	assert_int_equal(p->cpu, -1);
	assert_string_equal(p->comm, "");
	assert_string_equal(p->cgroup, "");
	p = wi_tasks_find(t, 6);
	assert_null(p->allowed);
	assert_int_equal(p->policy, WAKEIF_POLICY_IDLE);
	p = wi_tasks_find(t, 9);
	assert_null(p->allowed);
	assert_int_equal(p->policy, WAKEIF_POLICY_UNKNOWN);
	assert_int_equal(wi_tasks_find(t, 10)->policy, WAKEIF_POLICY_NORMAL);
	wi_tasks_free(t);
}

static void last_wins_and_merge(void **state)
{
	(void)state;
	struct wi_tasks *t = add(NULL, "tid\tcomm\n3\ta\n1\tb\n3\tc\n");

	assert_int_equal(t->nr, 2);
	assert_string_equal(wi_tasks_find(t, 3)->comm, "c");
	t = add(t, "tid\tnice\tcomm\n1\t-20\td\n2\t19\te\n");
	assert_int_equal(t->nr, 3);
	assert_string_equal(wi_tasks_find(t, 1)->comm, "d");
	assert_int_equal(wi_tasks_find(t, 1)->nice, -20);
	assert_string_equal(wi_tasks_find(t, 3)->comm, "c");
	wi_tasks_free(t);
}

static void names_with_tabs(void **state)
{
	(void)state;
	struct wi_tasks *t = add(NULL, "tid\tcomm\n1\ta\\tb\\nc\\\\d\\x\n");

	assert_string_equal(wi_tasks_find(t, 1)->comm, "a\tb\nc\\d\\x");
	wi_tasks_free(t);
}

static void damaged(void **state)
{
	(void)state;
	static const struct {
		const char *text, *what;
	} cases[] = {
		{ "", "line 0: not a list of tasks, it is empty" },
		{ "# nothing\n", "it is empty" },
		{ "pid\tcomm\n1\ta\n", "line 1: not a list of tasks, no column named tid" },
		{ "tid\ttid\n1\t1\n", "line 1: two columns named tid" },
		{ "tid\tcomm\n1\ta\n2\n", "line 3: not as many columns as the first line names: \"2\"" },
		{ "tid\tcomm\n1\ta\tb\n", "line 2: not as many columns" },
		{ "tid\n0\n", "line 2: not a thread id: \"0\"" },
		{ "tid\n-5\n", "line 2: not a thread id" },
		{ "tid\n99999999999\n", "line 2: not a thread id" },
		{ "tid\n1x\n", "line 2: not a thread id" },
		{ "tid\tcomm\n\ta\n", "line 2: no thread id" },
		{ "tid\tnice\n1\t20\n", "line 2: not a nice value: \"20\"" },
		{ "tid\tpolicy\n1\tROUND\n", "line 2: not a scheduling policy: \"ROUND\"" },
		{ "tid\tpolicy\n1\t8\n", "line 2: not a scheduling policy" },
		{ "tid\trtprio\n1\t100\n", "line 2: not a real-time priority" },
		{ "tid\tcpu\n1\t65536\n", "line 2: not a CPU number" },
		{ "tid\tallowed\n1\t0-\n", "line 2: not a CPU list: \"0-\"" },
		{ "tid\tallowed\n1\t0-70000\n", "line 2: not a CPU list" },
		{ "tid\tallowed\n1\t \n", "line 2: no CPU in a list of allowed CPUs" },
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		struct wi_tasks *t = NULL;
		struct wi_err err = { WI_OK, "" };

		assert_false(wi_tasks_add_text(&t, "t.tsv", cases[i].text, strlen(cases[i].text), &err));
		assert_int_equal(err.code, WI_EREFUSED);
		if (!strstr(err.msg, cases[i].what) || strncmp(err.msg, "t.tsv: ", 7) != 0)
			fail_msg("\"%s\" instead of \"%s\"", err.msg, cases[i].what);
		assert_null(t);
	}
	/* what was there before a damaged file stays */
	struct wi_tasks *t = add(NULL, "tid\tcomm\n1\ta\n");
	struct wi_err err = { WI_OK, "" };
	assert_false(wi_tasks_add_text(&t, "t.tsv", "tid\tcomm\n1\tb\n2\tc\n3\n", 22, &err));
	assert_int_equal(t->nr, 1);
	assert_string_equal(wi_tasks_find(t, 1)->comm, "a");
	t = add(t, "tid\tcomm\n4\td\n");
	assert_int_equal(t->nr, 2);
	wi_tasks_free(t);
}

static void files_and_trees(void **state)
{
	(void)state;
	struct wi_tasks *t = NULL;
	struct wi_err err = { WI_OK, "" };
	char path[64];

	assert_false(wi_tasks_add_file(&t, "no-such-file", &err));
	assert_int_equal(err.code, WI_EIO);
	int fd = memfd_create("tasks", 0);
	assert_int_equal(write(fd, "tid\tcomm\n1\ta\n", 13), 13);
	snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	err = (struct wi_err){ WI_OK, "" };
	assert_true(wi_tasks_add_file(&t, path, &err));
	close(fd);
	struct wi_filetree *tree = wi_filetree_new();
	assert_true(wi_tasks_add_tree(&t, tree, "x.tar", &err));
	assert_int_equal(t->nr, 1);
	assert_true(wi_filetree_add(tree, "dump/tasks.during", "tid\tcomm\n1\tduring\n", 18, &err));
	assert_true(wi_filetree_add(tree, "dump/tasks.before", "tid\tcomm\n1\tbefore\n2\tb\n", 22, &err));
	assert_true(wi_filetree_add(tree, "tasksel", "no list\n", 8, &err));
	assert_true(wi_tasks_add_tree(&t, tree, "x.tar", &err));
	assert_int_equal(t->nr, 2);
	assert_string_equal(wi_tasks_find(t, 1)->comm, "during");
	assert_true(wi_filetree_add(tree, "tasks", "tid\nx\n", 6, &err));
	assert_false(wi_tasks_add_tree(&t, tree, "x.tar", &err));
	assert_non_null(strstr(err.msg, "x.tar(tasks): line 2"));
	wi_filetree_free(tree);
	wi_tasks_free(t);
	assert_null(wi_tasks_find(NULL, 1));
	wi_tasks_free(NULL);
}

/* Longer than what is read at once, in no order, tids that come again. */
static void long_file(void **state)
{
	(void)state;
	struct wi_tasks *t = NULL;
	struct wi_err err = { WI_OK, "" };
	char path[64];
	int fd = memfd_create("tasks", 0);
	FILE *f = fdopen(fd, "w");
	snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	fputs("tid\tcomm\tallowed\tcgroup\n", f);
	for (int i = 0; i < 20000; i++)
		fprintf(f, "%d\tname%d\t%d\t/group%d\n", 1 + i * 7919 % 10007, i, i % 50, i % 3);
	fflush(f);
	assert_true(wi_tasks_add_file(&t, path, &err));
	fclose(f);
	assert_int_equal(t->nr, 10007);
	for (int i = 20000 - 10007; i < 20000; i++) {
		const struct wi_task_entry *e = wi_tasks_find(t, 1 + i * 7919 % 10007);
		char name[32], group[32];

		snprintf(name, sizeof(name), "name%d", i);
		snprintf(group, sizeof(group), "/group%d", i % 3);
		assert_string_equal(e->comm, name);
		assert_string_equal(e->cgroup, group);
		assert_int_equal(wi_mask_next(e->allowed, e->allowed_words, 0), i % 50);
	}
	for (uint32_t i = 1; i < t->nr; i++)
		assert_true(t->task[i - 1].tid < t->task[i].tid);
	wi_tasks_free(t);
}

/* More kinds of affinity than are remembered. */
static void many(void **state)
{
	(void)state;
	char *text = malloc(1 << 20);
	size_t at = (size_t)sprintf(text, "tid\tallowed\n");

	for (int i = 20000; i > 0; i--)
		at += (size_t)sprintf(text + at, "%d\t%d-%d\n", i, i % 97, i % 97 + i % 3);
	struct wi_tasks *t = add(NULL, text);
	assert_int_equal(t->nr, 20000);
	for (int i = 1; i <= 20000; i++) {
		const struct wi_task_entry *p = wi_tasks_find(t, i);

		assert_int_equal(p->tid, i);
		assert_true(wi_mask_test(p->allowed, (uint32_t)(i % 97)));
		assert_int_equal(wi_mask_weight(p->allowed, p->allowed_words), i % 3 + 1);
	}
	wi_tasks_free(t);
	free(text);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(all_columns),	   cmocka_unit_test(any_columns), cmocka_unit_test(last_wins_and_merge),
		cmocka_unit_test(names_with_tabs), cmocka_unit_test(damaged),	  cmocka_unit_test(files_and_trees),
		cmocka_unit_test(long_file),	   cmocka_unit_test(many),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
