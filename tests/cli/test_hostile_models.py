#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""Plug-ins that lie, crash or give nonsense, specs of models that mean nothing, as many models as there can be, traces that lack what models need: a message
that says what is wrong, or a count; never a crash without a name, a wrong total, or a run that claims to be complete."""
import json
import os
import random
import shlex
import subprocess
import unittest

from cli import NUMA, ROOT, SCHBENCH, SMT2, Cli, Ftrace, stacked

CC = shlex.split(os.environ.get("CC", "cc"))
HEAD = """
#include <stdlib.h>
#include <string.h>
#include <signal.h>
#include <unistd.h>
#include "wakeif_model.h"
static const struct wakeif_host *host;
static long asked;
static void *init(const struct wakeif_host *h, const int64_t *values) { (void)values; host = h; (void)host; (void)asked; %(init)s return (void *)1; }
static void fini(void *m) { (void)m; %(fini)s }
static bool select_cpu(void *m, const struct wakeif_wakeup *w, const struct wakeif_view *v, struct wakeif_choice *c)
{ (void)m; (void)w; (void)v; (void)c; asked++; %(select)s }
static void observe(void *m, const struct wakeif_happening *h) { (void)m; (void)h; %(observe)s }
%(more)s
const struct wakeif_model_ops wakeif_model = { .abi = WAKEIF_ABI, .size = sizeof(struct wakeif_model_ops), .name = %(name)s, .summary = %(summary)s,
	.source = "a test", .confidence = "none", .init = init, .fini = fini, .select_cpu = select_cpu, .observe = observe, %(ops)s };
"""
STAY = "c->cpu = w->prev_cpu; c->rule = WAKEIF_RULE_STAY; return true;"


class HostileModels(Cli):
    def plugin(self, name="bad", **parts):
        text = HEAD % {"init": "", "fini": "", "select": STAY, "observe": "", "more": "", "ops": "", "name": '"%s"' % name, "summary": '"a bad one"', **parts}
        source, out = self.write(name + ".c", text), self.path(name + ".so")
        subprocess.run([*CC, "-w", "-shared", "-fPIC", "-I", os.path.join(ROOT, "models"), "-o", out, source], check=True, timeout=60)
        return out

    def wrong(self, *args):
        """Refused, with a line that says why and a caret below the model; nothing for a terminal."""
        err = self.fails(3, "replay", "-q", *args, NUMA)
        self.assertTrue(err.startswith("wakeif: "), err)
        self.assertTrue(all(c == "\n" or c.isprintable() for c in err), repr(err))
        return err

    def model(self, so, *args, trace=NUMA):
        return json.loads(self.ok("replay", "--json", "-q", "-m", so, *args, trace))["models"][1]

    def test_illegal_answers_are_counted_and_replaced(self):
        for name, select in {
            "beyond": "c->cpu = 4000000000u; return true;", "none": "c->cpu = WAKEIF_CPU_NONE; return true;", "untouched": "return true;",
            "next": "c->cpu = v->topology->nr_cpus; return true;", "refuses": "return false;",
            "writes-and-refuses": "c->cpu = w->prev_cpu; c->rule = WAKEIF_RULE_PREV_IDLE; return false;"}.items():
            with self.subTest(name=name):
                m = self.model(self.plugin(name, select=select))
                self.assertEqual(m["invalid"], m["decided"])
                self.assertEqual(m["unanswered"], m["decided"] if "refuses" in name or name in ("none", "untouched") else 0)
                self.assertEqual(sum(r["count"] for r in m["rules"].values()), m["decided"])
                self.assertEqual(sum(m["moves"].values()), m["decided"])
                self.assertEqual(sum(m["disagree"].values()), m["decided"] - m["agree"]["cpu"])

    def test_offline_and_forbidden(self):
        m = self.model(self.plugin(select="for (c->cpu = 0; c->cpu < v->topology->nr_cpus && w->allowed[0] >> c->cpu & 1; c->cpu++) ; return true;"))
        self.assertEqual(m["invalid"], m["decided"])

    def test_absurd_choices_stay_within_their_tables(self):
        m = self.model(self.plugin(select="memset((char *)c + 4, 0xff, sizeof(*c) - 4); c->cpu = w->prev_cpu; return true;"))
        self.assertEqual(m["rules"], {"none": {"count": m["decided"], "agree": m["agree"]["cpu"], "agree_share": m["rules"]["none"]["agree_share"]}})
        self.assertEqual(m["moves"]["cpu"], m["decided"])
        self.ok("replay", "-v", "-m", self.path("bad.so"), NUMA)
        self.ok("compare", "--hist", "-m", self.path("bad.so"), NUMA)
        self.ok("replay", "--csv", "-m", self.path("bad.so"), NUMA)

    def test_absurd_questions_to_the_host(self):
        """CPUs and task slots that do not exist."""
        calls = "".join("sum += host->%s(host->ctx, %s);" % (f, n) for n in ("~0u", "1u << 30", "100000", "64")
                        for f in ("cpu_load", "cpu_util", "cpu_runnable", "task_load", "task_util", "wakee_flips", "wakee_flips_reset", "runnable_load",
                                  "queue_weight", "avg_idle_ns", "avg_overlap_ns", "run_avg_ns", "sleep_avg_ns", "cookie"))
        calls += "sum += host->old_cpu_load(host->ctx, 0, 99) + host->old_cpu_load(host->ctx, ~0u, ~0u); uint32_t a, b; sum += host->scan_budget(host->ctx, ~0u, &a, &b);"
        for name, ops in (("all", ".needs = 0x1ff"), ("nothing", ".needs = 0")):
            so = self.plugin(name, select="uint64_t sum = 0; %s c->rule = sum == 1; %s" % (calls, STAY), ops=ops)
            self.assertEqual(self.model(so)["invalid"], 0)

    def test_crashes_name_the_plugin_and_the_call(self):
        kill = {"memory": "*(volatile int *)8 = 1;", "abort": "abort();", "arithmetic": "raise(SIGFPE);",
                "stack": "extern int deep(int); asked += deep(1);"}
        more = "int deep(int n) { volatile char room[4096]; room[0] = (char)n; return deep(n + 1) + room[0]; }"
        for call in ("init", "select", "observe", "fini"):
            for how, code in kill.items():
                with self.subTest(call=call, how=how):
                    after = STAY if call == "select" else ""
                    so = self.plugin(more=more, **{call: code + after})
                    err = self.fails(1, "replay", "-q", "-m", so, NUMA, env={"ASAN_OPTIONS": "handle_segv=0:handle_abort=0:handle_sigfpe=0:handle_sigill=0"})
                    self.assertIn("plug-in bad crashed in %s" % {"select": "select_cpu"}.get(call, call), err)

    def test_a_crash_while_it_is_loaded(self):
        so = self.plugin(more="__attribute__((constructor)) static void early(void) { abort(); }")
        self.assertIn("bad.so crashed", self.fails(1, "replay", "-q", "-m", so, NUMA))
        so = self.plugin(name="bad", summary="(const char *)16")
        status, out, err = self.run_text("replay", "-q", "-m", so, NUMA)
        self.assertIn(status, (0, 1))
        so = self.plugin(name="bad", **{"ops": ".nr_params = 5, .params = (const struct wakeif_param *)64"})
        self.assertIn("bad.so crashed", self.fails(1, "replay", "-q", "-m", so, NUMA))

    def test_ending_the_program_is_not_success(self):
        for call in ("init", "select", "observe", "fini"):
            with self.subTest(call=call):
                so = self.plugin(**{call: "exit(0);" + (STAY if call == "select" else "")})
                self.assertIn("plug-in bad", self.fails(1, "replay", "-q", "-m", so, NUMA))

    def test_init_that_refuses(self):
        self.assertIn("model bad: it refuses without a reason", self.wrong("-m", self.plugin(init="return 0;")))
        so = self.plugin(init='host->say(host->ctx, "not on\\nthis \\033[2Jmachine"); return 0;')
        self.assertNotIn("\033", self.wrong("-m", so))
        so = self.plugin(init='static char t[100000]; memset(t, 120, sizeof(t) - 1); host->say(host->ctx, t); host->say(host->ctx, 0); return 0;')
        self.assertLess(len(self.wrong("-m", so)), 2000)

    def test_descriptions_that_are_not_right(self):
        param = "static const struct wakeif_param p[] = { %s };"
        table = ".nr_params = sizeof(p) / sizeof(*p), .params = p"
        for parts, text in (
            ({"ops": ".nr_params = 4000000000u"}, "parameters"),
            ({"ops": table, "more": param % '{ .name = "n", .type = 9, .dflt = "1", .help = "" }'}, "parameter 0"),
            ({"ops": table, "more": param % '{ .name = "n", .type = WAKEIF_PARAM_INT, .dflt = "1", .min = 5, .max = 2, .help = "" }'}, "default of n"),
            ({"ops": table, "more": param % '{ .name = "n", .type = WAKEIF_PARAM_CHOICE, .dflt = "x", .choices = "", .help = "" }'}, "default of n"),
            ({"ops": table, "more": param % ('{ .name = "n", .type = WAKEIF_PARAM_BOOL, .dflt = "on", .help = "" }, ' * 2)}, "n"),
            ({"name": '"a,b"'}, "name"), ({"name": '""'}, "name"), ({"name": "0"}, "name"), ({"summary": "0"}, "what it is"),
            ({"name": '"a\\033[2J"'}, "name"), ({"name": '"a\\xff"'}, "name"), ({"name": '"a\\"b"'}, "name"), ({"name": '"linux-6.1"'}, "linux-6.1"),
            ({"ops": ".size = 8"}, "8 bytes"), ({"ops": ".abi = 77"}, "77"), ({"ops": ".select_cpu = 0"}, "select_cpu"), ({"ops": ".fini = 0"}, "fini"),
            ({"ops": ".needs = 1u << 20"}, "hindsight"),
        ):
            with self.subTest(parts=parts):
                name = parts.pop("name", '"bad"')
                source = HEAD % {"init": "", "fini": "", "select": STAY, "observe": "", "more": "", "ops": "", "name": name, "summary": '"a bad one"', **parts}
                so = self.path("d.so")
                subprocess.run([*CC, "-w", "-shared", "-fPIC", "-I", os.path.join(ROOT, "models"), "-o", so, self.write("d.c", source)], check=True, timeout=60)
                self.assertIn(text, self.wrong("-m", so))

    def test_two_plugins_of_one_name_are_two(self):
        a = self.plugin("same")
        b = self.path("other.so")
        os.rename(a, b)
        a = self.plugin("same", select="c->cpu = w->waker_cpu; return true;")
        status, out, err = self.run_text("replay", "--json", "-q", "-m", a, "-m", b, NUMA)
        self.assertEqual(status, 0, err)
        moved = [m["moves"]["cpu"] for m in json.loads(out)["models"][1:]]
        self.assertEqual(len(moved), 2)
        self.assertNotEqual(*moved)

    def test_not_a_plugin(self):
        for name, data in (("text.so", b"hello"), ("empty.so", b""), ("dir.so", None)):
            path = self.path(name)
            if data is None:
                os.mkdir(path)
            else:
                self.write(name, data)
            self.wrong("-m", path)
        self.wrong("-m", "./nothing.so")


class Specs(Cli):
    """What is given to -m."""

    def test_nonsense(self):
        for spec in ("", ",", "=", "linux-6.1,", "linux-6.1,,", "linux-6.1,=", "linux-6.1,wf-sync", "linux-6.1,wf-sync=", "linux-6.1,wf-sync=vagin,wf-sync=vagin",
                     "linux-6.1,wf-sync=vagin=1", "linux-6.1 ", " linux-6.1", "LINUX-6.1", "linux-6.1,nr-idle-scan=99999999999999999999",
                     "linux-6.1,nr-idle-scan=-2", "linux-6.1,nr-idle-scan=0x10", "linux-6.1,nr-idle-scan=1e3", "linux-6.1,nr-idle-scan= 1", "linux-6.1,nr-idle-scan=1 ",
                     "linux-6.1,short-run=9223372036854775807s", "linux-6.1,short-run=-1ns", "linux-6.1,short-run=1 us", "linux-6.1,short-run=us",
                     "linux-5.10,sis=util", "linux-5.10,nr-idle-scan=3", "prev,x=1", "prev,", "x" * 70000, "linux-6.1," + "a" * 70000, "linux-6.1,\033[2J=1",
                     "\033[2J", "\xff\xfe", "linux-6.1,history=\n", "linux-auto,nothing=1", "linux-auto,history=maybe", "happened", "what happened"):
            with self.subTest(spec=spec[:60]):
                status, out, err = self.run_text("replay", "-q", "-m", spec, NUMA)
                self.assertEqual((status, out), (2, ""), err[:300])
                self.assertTrue(err.startswith("wakeif: "), err[:300])
                self.assertTrue(all(c in "\n\t" or c.isprintable() for c in err), repr(err[:300]))
                self.assertLess(len(err), 1000)

    def test_damaged_at_random(self):
        lot = random.Random(3)
        good = ["linux-6.1,wf-sync=vagin,nr-idle-scan=3", "linux-2.6.29,mc=2,smt=2,variant=v3", "linux-6.1,short-run=375us,sched-idle=off", "nest,remove=3"]
        taken = 0
        for _ in range(150):
            spec = list(lot.choice(good))
            for _ in range(lot.randrange(1, 4)):
                at = lot.randrange(len(spec))
                spec[at:at + lot.randrange(2)] = lot.choice(["", ",", "=", "9", "-", "x", "\t", "ms", "on", "\u00e9"])
            if not spec or "/" in spec:
                continue
            status, out, err = self.run_text("models", "".join(spec)) if lot.randrange(2) else self.run_text("replay", "-q", "-m", "".join(spec), "--time", "0%-1%", NUMA)
            self.assertIn(status, (0, 2), err)
            self.assertTrue(status == 0 or err.startswith("wakeif: "), err)
            taken += status == 0
        self.assertLess(taken, 100)

    def test_every_model_that_is_listed_can_be_told_of(self):
        listed = [line.split()[0] for line in self.ok("models").splitlines()[1:]]
        self.assertIn("linux-auto", listed)
        for name in listed:
            self.assertTrue(self.ok("models", name).startswith(name + ": "))
            self.assertEqual([m["name"] for m in json.loads(self.ok("models", "--json", name))["known_models"]], [name])

    def test_as_many_as_there_can_be(self):
        models = ["linux-6.1,nr-idle-scan=%d" % n for n in range(63)]
        d = json.loads(self.ok("compare", "--json", "-q", *[a for m in models for a in ("-m", m)][:-2], NUMA))
        self.assertEqual(len([m for m in d["models"] if not m["happened"]]), 63)  # the recording kernel's own is one of them
        d = json.loads(self.ok("replay", "--json", "-q", *[a for m in models for a in ("-m", m)], NUMA))
        self.assertEqual(len(d["models"]), 64)
        self.ok("compare", "--hist", "-q", *[a for m in models[:62] for a in ("-m", m)], NUMA)
        self.assertIn("63", self.fails(2, "replay", "-q", *[a for m in models + ["prev"] for a in ("-m", m)], NUMA))


class Lacking(Cli):
    """Traces that lack what models need: it is said, and what cannot be told is absent."""

    def both(self, *args):
        for command in ("replay", "compare"):
            for form in ("--json", "--csv", "-v"):
                self.ok(command, form, "-q", *args)
        return json.loads(self.ok("replay", "--json", "-q", *args))

    def test_switches_only(self):
        t = stacked()
        t.lines = [line for line in t.lines if "sched_wak" not in line]
        d = self.both("--topology", SMT2, self.write("t.txt", t.text()))
        self.assertEqual(d["replay"]["decided"], 0)
        for m in d["models"]:
            self.assertEqual(m["decided"], 0)
            self.assertNotIn("cpu_share", m.get("agree", {}))
        self.assertIn("0 decided wakeups", self.ok("replay", "--topology", SMT2, self.path("t.txt")))

    def test_no_sched_waking(self):
        t = stacked()
        t.lines = [line for line in t.lines if "sched_waking" not in line]
        path = self.write("t.txt", t.text())
        self.assertIn("sched_waking", self.ok("replay", "--topology", SMT2, "-m", "linux-6.1", path))
        self.both("--topology", SMT2, "-m", "linux-6.1", path)

    def test_no_topology(self):
        path = self.write("t.txt", stacked().text())
        self.assertIn("topology", self.ok("replay", "-m", "idle-core-first", "-m", "linux-6.1", path))
        self.both("-m", "linux-6.1", path)

    def test_windows(self):
        for window in ("0%-0%", "50%-50%", "999999,", ",0.000001", "229.3,229.300000001"):
            with self.subTest(window=window):
                status, out, err = self.run_text("replay", "--json", "-q", "--time", window, NUMA)
                self.assertIn(status, (0, 2, 3), err)
                if status:
                    self.assertTrue(err.startswith("wakeif"), err)
                    continue
                for m in json.loads(out)["models"]:
                    self.assertLess(m["decided"], 5)
                    if not m["decided"]:
                        self.assertNotIn("cpu_share", m.get("agree", {}))

    def test_windows_add_up(self):
        whole, halves = [], []
        for found, windows in ((whole, [[]]), (halves, [["--time", "0%-50%"], ["--time", "50%-100%"]])):
            for w in windows:
                found.append(json.loads(self.ok("replay", "--json", "-q", *w, "-m", "prev", SCHBENCH))["replay"]["decided"])
        self.assertLessEqual(abs(sum(whole) - sum(halves)), 2)

    def test_nothing(self):
        for text in ("", Ftrace().text()):
            status, out, err = self.run_text("replay", "-q", self.write("t.txt", text))
            self.assertIn(status, (0, 3), out + err)


if __name__ == "__main__":
    unittest.main()
