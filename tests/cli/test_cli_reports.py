#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""What the reports hold: text, JSON and CSV agree with each other and with doc/json.md; filters; hostile names."""
import json
import os
import re
import unicodedata
import unittest

from cli import NUMA, ROOT, SCHBENCH, SHARED, SMT2, Cli, Ftrace, parse_csv, sample_traces, stacked

SECTIONS = ["schema", "tool", "input", "window", "quality", "events", "topology", "wakeups", "latency", "missed_idle", "idle_while_waiting", "smt",
            "wake_affine", "idle", "migrations", "tasks", "tasks_total"]
NAMES_FROM_TRACE = ("episodes",)


def columns(line):
    """Terminal columns of a line."""
    return sum(0 if unicodedata.combining(c) else 2 if unicodedata.east_asian_width(c) in "WF" else 1 for c in line)


def keys_of(value, found):
    if isinstance(value, dict):
        for k, v in value.items():
            found.add(k)
            keys_of(v, found)
    elif isinstance(value, list):
        for v in value:
            keys_of(v, found)
    return found


class Text(Cli):
    def test_width_and_no_trailing_blanks(self):
        for trace in sample_traces():
            with self.subTest(trace=trace):
                tables = False
                for line in self.ok("report", trace).splitlines():
                    tables |= line.startswith("WAKEUPS")
                    if trace not in line:
                        self.assertLessEqual(columns(line), 120 if tables else 100, line)
                    self.assertEqual(line, line.rstrip(), "trailing blanks")

    def test_verdict_on_first_screen(self):
        """Facts, coverage and verdict come before any table and fit a screen."""
        lines = self.ok("report", SCHBENCH).splitlines()
        table = next(i for i, line in enumerate(lines) if line.startswith("WAKEUPS "))
        head = "\n".join(lines[:table])
        self.assertLess(table, 40)
        for word in ("coverage", "repairs", "llc_size", "not told", "VERDICT", "queued on a busy CPU while another was idle", "avoidable wait, worst"):
            self.assertIn(word, " ".join(head.split()))

    def test_verdict_of_a_known_case(self):
        text = " ".join(self.ok("report", "--topology", SMT2, self.write("t.txt", stacked().text())).split())
        self.assertIn("100 % of the decided wakeups (1 of 1) queued on a busy CPU while another was idle: 4.00 ms avoidable wait, "
                      "worst 4.00 ms wakee:101 behind waker:100, CPU 1 idle throughout (affinity assumed).", text)

    def test_unused_cpus(self):
        """Models L.6 (c): CPUs that never run anything are named, whether they have records or none; busy ones are not."""
        t = stacked()
        t.add(3, 1002000, "<idle>", 0, "cpu_idle: state=1 cpu_id=3")
        trace = self.write("t.txt", t.text())
        for topology, window, unused in (("pack:1 l3:1 core:4 pu:2", [], "4-7"), ("core:5 pu:1", [], "4"), (SMT2, [], ""),
                                         (SMT2, ["--time", "1.002,1.004"], "1-3")):
            j = self.json("--topology", topology, *window, trace)
            self.assertEqual(j["quality"]["unused_cpus"], unused)
            facts = {r["key"]: r["value"] for r in self.rows("report", "--csv", "--table", "facts", "--topology", topology, *window, trace)}
            self.assertEqual(facts["unused_cpus"], unused)
            text = self.ok("report", "--topology", topology, *window, trace)
            line = re.findall(r"^unused +(.*)", text, re.M)
            self.assertEqual(line, ["CPU%s %s never seen to run a task" % ("s" if "-" in unused else "", unused)] if unused else [])
        t = Ftrace()
        t.wake(0, 1000000, "waker", 100, "wakee", 101, 1)
        t.wake(0, 1000100, "waker", 100, "wakee", 101, 1, "sched_wakeup")
        self.assertNotIn("unused_cpus", self.json("--topology", SMT2, self.write("u.txt", t.text()))["quality"])

    def test_idle_while_waiting_behind(self):
        trace = self.write("t.txt", stacked().text())
        i = self.json("--topology", SMT2, trace)["idle_while_waiting"]["machine"]
        self.assertEqual((i["wall_ns"], i["behind_ns"]), (3995000, 3995000))
        text = " ".join(self.ok("report", "--topology", SMT2, trace).split())
        self.assertIn("waited: 4.00 ms of it behind another task", text)
        row = self.rows("report", "--csv", "--table", "idle_while_waiting", "--topology", SMT2, trace)[-1]
        self.assertEqual((row["scope"], row["wall_ns"], row["behind_ns"]), ("machine", "3995000", "3995000"))

    def test_preemption_that_is_told_in_part(self):
        """A plugin's R may hide a '+', its S does not; a raw R+ tells: what is not told is counted apart."""
        def plugin(us, prev, prev_pid, state, nxt, next_pid):
            t.add(0, us, prev if prev_pid else "<idle>", prev_pid, "sched_switch:         %s:%d [120] %s ==> %s:%d [120]" % (prev, prev_pid, state, nxt, next_pid))
        t = Ftrace()
        plugin(1000000, "swapper/0", 0, "R", "a", 101)
        plugin(1001000, "a", 101, "R", "b", 102)
        plugin(1002000, "b", 102, "R", "c", 103)
        plugin(1003000, "c", 103, "S", "a", 101)
        all_plugin = self.write("p.txt", t.text())
        t.switch(0, 1004000, "a", 101, "R+", "b", 102)
        t.switch(0, 1005000, "b", 102, "S", "a", 101)
        t.switch(0, 1006000, "a", 101, "R", "swapper/0", 0)
        mixed = self.write("m.txt", t.text())
        told = lambda path: {x["comm"]: (x.get("preempted"), x.get("preempt_unknown")) for x in self.json("--topology", SMT2, path)["tasks"]}
        self.assertEqual(told(all_plugin), {"a": (None, 1), "b": (None, 1), "c": (0, None)})
        self.assertEqual(told(mixed), {"a": (1, 1), "b": (None, 1), "c": (0, None)})
        rows = {r["comm"]: (r["preempted"], r["preempt_unknown"]) for r in self.rows("report", "--csv", "--table", "tasks", "--topology", SMT2, mixed)}
        self.assertEqual(rows, {"a": ("1", "1"), "b": ("", "1"), "c": ("0", "")})
        text = self.ok("report", "--topology", SMT2, mixed)
        self.assertIn("whether 2 tasks switched out runnable were preempted", " ".join(text.split()))
        self.assertRegex(text, r"\n +a:101 .* >=1 ")

    def test_worst_rows(self):
        for args, nr in (([], 10), (["--worst", "3"], 3), (["--worst", "15"], 15), (["-v"], 20), (["-v", "--worst", "30"], 30)):
            text = self.ok("report", *args, SCHBENCH)
            self.assertEqual(len(self.section(text, "WORST WAITS")), nr + 1, args)
            self.assertEqual(len(self.section(text, "LONGEST WAITS")), min(nr, 20) + 1, args)

    def section(self, text, title):
        """The lines of a section of the report, without its title."""
        m = re.search(r"^" + title + r".*\n((?:.+\n)*)", text, re.M)
        self.assertTrue(m, title)
        return m.group(1).splitlines()

    def test_missed_rows_add_up(self):
        for trace in sample_traces():
            text = self.ok("report", trace)
            m = re.search(r"^MISSED IDLE of (\d+) decided", text, re.M)
            if not m:
                continue
            with self.subTest(trace=trace):
                rows = [re.match(r"  (\S.*?|  \S.*?)  +(\d+)  ", line) for line in self.section(text, "MISSED IDLE")]
                count = {r.group(1): int(r.group(2)) for r in rows if r}
                self.assertEqual(count["placed on an idle CPU"] + count["queued on a busy CPU"] + count["chosen CPU unknown"], int(m.group(1)))
                self.assertEqual(sum(n for name, n in count.items() if name.startswith("  ")), count["queued on a busy CPU"])

    def test_no_half_sentence(self):
        """Parentheses pair up in every line of text that is a sentence; singular nouns stand behind 1."""
        for trace in sample_traces():
            for line in re.sub(r"\n +", " ", self.ok("report", trace)).splitlines():
                if "|" not in line:
                    self.assertEqual(line.count("("), line.count(")"), line)
                self.assertNotRegex(line, r"(?<![\d.])1 (breaks|gaps|wakeups|CPUs|records|pairs)\b")

    def test_longest(self):
        for trace in sample_traces():
            with self.subTest(trace=trace):
                text, longest = self.ok("report", trace), self.json(trace)["latency"]["longest"]
                lines = self.section(text, "LONGEST WAITS")[1:]
                self.assertGreater(len(longest), 0)
                for w, line in zip(longest, lines):
                    self.assertIn("%s:%d " % (w["comm"], w["pid"]), line)
                    self.assertIn(w["class"], line)
                    if w.get("behind") and "queue_wait_ns" in w:
                        who = "%s:%d" % (w["behind"][0]["comm"], w["behind"][0]["pid"]) if w["behind"][0]["pid"] else "idle task"
                        self.assertIn(who, line)
                verdict = " ".join(text[text.index("VERDICT"):].split())
                self.assertIn("Longest wait: %s:%d " % (longest[0]["comm"], longest[0]["pid"]), verdict)

    def test_maybe_delayed(self):
        """Known for the kernel that delays dequeues, absent for one that does not."""
        new = os.path.join(ROOT, "samples", "smt8-policies-6.12.dat")
        n = self.json(new)["wakeups"]["maybe_delayed"]
        self.assertEqual(n, int(next(r["count"] for r in self.rows("report", "--csv", "--table", "wakeups", new) if r["key"] == "maybe_delayed")))
        self.assertEqual("may have been delayed dequeues" in self.ok("report", new), n > 0)
        self.assertNotIn("maybe_delayed", self.json(SCHBENCH)["wakeups"])
        self.assertEqual("", next(r["count"] for r in self.rows("report", "--csv", "--table", "wakeups", SCHBENCH) if r["key"] == "maybe_delayed"))

    def test_excerpt(self):
        """A text that shows one CPU of many: the others are presumed idle, and that is said."""
        path = os.path.join(SHARED, "public", "text", "lore-202311-vhost-s390-smt2-cpu14.ftrace.txt")
        if not os.path.exists(path):
            self.skipTest("no " + path)
        text = " ".join(self.ok("report", path).split())
        self.assertIn("1 of 22 CPUs seen, 21 presumed idle (--quiet-cpus)", text)
        self.assertRegex(text, r"kworker/14:0:6525 39\.7 ms \(pinned\) on CPU 14, behind vhost-2920:2941 for (>?99\.\d|100) %")
        self.assertIn("21 taken as unknown", " ".join(self.ok("report", "--quiet-cpus", "unknown", path).split()))

    def test_lines_of_the_literature(self):
        """The twelve lines of a report that scheduler authors ask for, as far as they are measured here."""
        text = self.ok("report", NUMA)
        for word in ("stacked on the waker", "queued; idle core in LLC", "half-busy; idle core in", "idle, nearest: sibling", "idle, nearest: LLC", "to the waker", "to the previous",
                     "previous CPU idle, placed elsewhere", "woken by a task", "a wakeup,", "a second", "IDLE WHILE WAITING", "SMT CO-SCHEDULING", "coverage", "not told"):
            self.assertIn(word, text)


class Json(Cli):
    def test_order_and_schema(self):
        for trace in sample_traces():
            with self.subTest(trace=trace):
                j = self.json(trace)
                self.assertEqual(j["schema"], "wakeif/1")
                self.assertEqual([k for k in j if k != "filter"], [s for s in SECTIONS if s in j])
                self.assertEqual({k for k in j}, set(SECTIONS) - ({"smt"} if j["topology"]["smt"] == 1 else set()))

    def test_every_key_is_documented(self):
        with open(os.path.join(ROOT, "doc", "json.md"), encoding="utf-8") as f:
            words = set(re.findall(r"[A-Za-z_][A-Za-z0-9_]*", f.read()))
        repairs = set(self.json(SCHBENCH)["quality"]["repairs"])
        for trace in sample_traces():
            missing = keys_of(self.json("--comm", ".", trace), set()) - words - repairs
            self.assertEqual({k for k in missing if not k.startswith(("sched_", "cpu_idle"))}, set())

    def test_repairs_are_those_of_the_header(self):
        with open(os.path.join(ROOT, "analyzer", "timeline", "timeline.h"), encoding="utf-8") as f:
            text = re.search(r"#define WI_REPAIRS\(X\)(.*?)struct wi_repairs", f.read(), re.S).group(1)
        self.assertEqual(list(self.json(SCHBENCH)["quality"]["repairs"]), re.findall(r'X\(\w+, "(\w+)"', text))

    def test_sections_of_commands(self):
        whole = self.json(SCHBENCH)
        for command, parts in (("latency", ["wakeups", "latency"]), ("smt", ["smt"]), ("affine", ["wake_affine"])):
            part = json.loads(self.ok(command, "--json", SCHBENCH))
            self.assertEqual(list(part), SECTIONS[:7] + parts)
            for p in parts:
                self.assertEqual({k: v for k, v in part[p].items() if k in whole[p]}, whole[p])

    def test_sums(self):
        for trace in sample_traces():
            with self.subTest(trace=trace):
                j = self.json(trace)
                w, lat, m = j["wakeups"], j["latency"], j["missed_idle"]
                self.assertEqual(sum(w["by_class"].values()), w["total"])
                self.assertEqual(w["censored"] + sum(w["not_measured"].values()) + lat["wakeup"]["count"], w["total"])
                self.assertEqual(sum(h[2] for h in lat["wakeup"]["histogram"]), lat["wakeup"]["count"])
                self.assertEqual(sum(c["count"] for c in lat["by_class"].values()), lat["wakeup"]["count"])
                self.assertEqual(sum(c["sum_ns"] for c in lat["by_class"].values()), lat["wakeup"]["sum_ns"])
                self.assertEqual(m["decided"], w["by_class"]["select"])
                self.assertLessEqual(m["queued_on_busy"]["count"], m["decided"])
                self.assertEqual(sum(map(sum, j["wake_affine"]["matrix"])), j["wake_affine"]["considered"])

    def test_idle_and_busy_fill_the_window(self):
        for trace in sample_traces():
            j = self.json(trace)
            length = j["window"]["end_ns"] - j["window"]["start_ns"]
            for group in ("cpu", "core", "llc", "package"):
                for row in j["idle"][group]:
                    self.assertEqual(row["idle_ns"] + row["busy_ns"] + row["unknown_ns"], length, (trace, group, row))


class Csv(Cli):
    def test_folder_and_stream_and_table_are_the_same(self):
        self.ok("report", "--csv", "-o", self.path("out"), SCHBENCH)
        stream = self.ok("report", "--csv", SCHBENCH)
        parts = dict(re.findall(r"^# table (\w+)\n(.*?)(?=\n# table |\Z)", stream, re.S | re.M))
        names = self.ok("report", "--table", "list").split()
        self.assertEqual(list(parts), names)
        self.assertEqual(sorted(os.listdir(self.path("out"))), sorted(n + ".csv" for n in names))
        for name in names:
            with open(self.path("out/%s.csv" % name)) as f:
                text = f.read()
            self.assertEqual(text, parts[name])
            self.assertEqual(text, self.ok("report", "--csv", "--table", name, SCHBENCH))
            parse_csv(self, text)

    def test_tables_are_documented(self):
        with open(os.path.join(ROOT, "doc", "json.md"), encoding="utf-8") as f:
            rows = re.findall(r"^\| ([a-z_, ]+) \|", f.read().split("\n| table | rows |\n")[1], re.M)
        self.assertEqual([n for r in rows for n in r.split(", ")], self.ok("report", "--table", "list").split())

    def test_agrees_with_json(self):
        j = self.json(NUMA)
        table = lambda name: self.rows("report", "--csv", "--table", name, NUMA)
        for r in table("idle_while_waiting"):
            self.assertEqual(int(r["wall_ns"]), j["idle_while_waiting"][r["scope"]]["wall_ns"])
        for r in table("missed_idle"):
            x = j["missed_idle"][r["row"]]
            x = x[r["scope"]] if r["scope"] else x
            for key in ("count", "wait_ns", "avoidable_ns", "wait_p99_ns"):
                self.assertEqual(r[key], str(x.get(key, "")))
        for r, x in zip(table("tasks"), j["tasks"]):
            self.assertEqual({k: str(v) for k, v in x.items()}, {k: v for k, v in r.items() if v})
        for r, x in zip(table("worst"), j["missed_idle"]["worst"]):
            self.assertEqual((int(r["wake_ns"]), r["comm"], int(r["avoidable_ns"])), (x["wake_ns"], x["comm"], x["avoidable_ns"]))
        self.assertEqual({r["event"]: int(r["count"]) for r in table("events")}, j["events"])
        for r, x in zip(table("smt_pairs"), j["smt"]["pairs"]):
            self.assertEqual((r["a"], r["b"], int(r["ns"])), (x["a"], x["b"], x["ns"]))
        for r in table("wake_affine_matrix"):
            d = ["cpu", "core", "cluster", "llc", "node", "remote"]
            self.assertEqual(int(r["count"]), j["wake_affine"]["matrix"][d.index(r["prev"])][d.index(r["waker"])])


class Filters(Cli):
    def test_parts_add_up(self):
        """CPUs, and names, in two halves hold all wakeups."""
        whole = self.json(SCHBENCH)
        for halves in ((["-C", "0-3"], ["-C", "4-7"]), (["--comm", "^sb-"], ["--comm", "^([^s]|s[^b]|sb[^-])"])):
            a, b = self.json(*halves[0], SCHBENCH), self.json(*halves[1], SCHBENCH)
            self.assertIn("filter", a)
            for path in (("wakeups", "total"), ("missed_idle", "decided"), ("latency", "wakeup", "count"), ("latency", "wakeup", "sum_ns")):
                x, y, z = (self.dig(j, path) for j in (a, b, whole))
                self.assertGreater(x, 0)
                if halves[0][0] == "--comm" or path[0] != "wakeups":
                    self.assertEqual(x + y, z, path)
            self.assertEqual(a["idle"]["cpu"], whole["idle"]["cpu"])
            self.assertEqual(a["events"], whole["events"])

    @staticmethod
    def dig(j, path):
        for p in path:
            j = j[p]
        return j

    def test_pid(self):
        task = self.json(SCHBENCH)["latency"]["by_task"][0]
        j = self.json("-p", str(task["pid"]), SCHBENCH)
        self.assertEqual(j["latency"]["by_task_total"], 1)
        self.assertEqual(j["latency"]["wakeup"]["sum_ns"], task["sum_ns"])
        self.assertIn("filter", self.ok("report", "-p", str(task["pid"]), SCHBENCH))

    def test_nothing_left(self):
        status, out, err = self.run_text("report", "--comm", "^nobody$", SCHBENCH)
        self.assertEqual(status, 0)
        self.assertIn("no wakeup passes the filter", err)
        self.assertIn("No wakeup passes the filter.", out)


class Wakeups(Cli):
    def test_each_is_there(self):
        for trace in (SCHBENCH, NUMA):
            j, rows = self.json(trace), self.rows("wakeups", "--csv", trace)
            self.assertEqual(len(rows), j["wakeups"]["total"])
            for c, n in j["wakeups"]["by_class"].items():
                self.assertEqual(sum(r["class"] == c for r in rows), n)
            measured = [r for r in rows if r["outcome"] == "run" and r["latency_ns"]]
            self.assertEqual(sum(int(r["latency_ns"]) for r in measured), j["latency"]["wakeup"]["sum_ns"])
            self.assertEqual(len(measured), j["latency"]["wakeup"]["count"])
            self.assertEqual(sum(r["outcome"] == "censored" for r in rows), j["wakeups"]["censored"])
            for outcome, n in j["wakeups"]["not_measured"].items():
                self.assertEqual(sum(r["outcome"] == outcome for r in rows), n, outcome)
            self.assertFalse([r for r in rows if bool(r["chosen_by"]) != bool(r["chosen_cpu"])])
            for row, x in j["missed_idle"].items():
                if row in ("no_idle", "sibling", "cluster", "llc", "node", "machine", "unknown"):
                    self.assertEqual(sum(r["missed"] == row for r in rows), x["count"], row)
            for key, x in (("queued_while_idle_core", j["missed_idle"]["queued_while_idle_core"]["machine"]), ("half_busy_core", j["missed_idle"]["half_busy_core"]["machine"]),
                           ("stacked_on_waker", j["missed_idle"]["stacked_on_waker"]), ("prev_idle_elsewhere", j["missed_idle"]["prev_idle_elsewhere"])):
                self.assertEqual(sum(int(r[key]) for r in rows), x["count"], key)

    def test_forms_agree(self):
        rows = self.rows("wakeups", "--csv", SCHBENCH)
        objects = [json.loads(line) for line in self.ok("wakeups", "--json", SCHBENCH).splitlines()]
        text = self.ok("wakeups", SCHBENCH).splitlines()
        self.assertEqual((len(objects), len(text)), (len(rows), len(rows) + 1))
        self.assertIn("wakeup latency", text[0])
        for r, o in zip(rows, objects):
            self.assertEqual({k: v for k, v in r.items() if v}, {k: str(int(v)) if isinstance(v, bool) else str(v) for k, v in o.items()})

    def test_missed(self):
        m = self.json(SCHBENCH)["missed_idle"]
        count = lambda what: len(self.rows("wakeups", "--csv", "--missed", what, SCHBENCH))
        self.assertEqual(count("core"), m["sibling"]["count"])
        self.assertEqual(count("llc"), m["llc"]["count"])
        self.assertEqual(count("core,llc"), m["sibling"]["count"] + m["llc"]["count"])
        self.assertEqual(count("any"), sum(m[r]["count"] for r in ("sibling", "cluster", "llc", "node", "machine")))
        self.assertEqual(count("idle-core"), m["queued_while_idle_core"]["machine"]["count"])
        self.assertEqual(count("half-busy"), m["half_busy_core"]["machine"]["count"])
        for what, words in (("prev", r", left idle \[\d+\]"), ("half-busy", r" beside a busy sibling; core of \[\d+\] idle(?!.*avoidable)")):
            lines = self.ok("wakeups", "--missed", what, SCHBENCH).splitlines()[1:]
            self.assertEqual(len(lines), count(what))
            for line in lines:
                self.assertRegex(line, words)
            self.assertEqual(len(self.ok("wakeups", "--missed", what, "--worst", "3", SCHBENCH).splitlines()), 4)

    def test_worst(self):
        rows = self.rows("wakeups", "--csv", SCHBENCH)
        worst = self.rows("wakeups", "--csv", "--worst", "7", SCHBENCH)
        self.assertEqual([r["latency_ns"] for r in worst], sorted((r["latency_ns"] for r in rows if r["latency_ns"]), key=int, reverse=True)[:7])
        missed = self.rows("wakeups", "--csv", "--missed", "any", "--worst", "5", SCHBENCH)
        self.assertEqual([(int(r["wake_ns"]), int(r["avoidable_ns"])) for r in missed],
                         [(w["wake_ns"], w["avoidable_ns"]) for w in self.json("--worst", "5", SCHBENCH)["missed_idle"]["worst"]])

    def test_chosen_by(self):
        """reports.md A.1: what told the chosen CPU. By sched_migrate_task, sched_wakeup, the switch-in, and nothing."""
        t = Ftrace()
        for cpu in (1, 2, 3):
            t.switch(cpu, 1000000 + cpu, "other", 90 + cpu, "S", "swapper/%d" % cpu, 0)
        t.switch(0, 1000010, "swapper/0", 0, "R", "waker", 100)
        us = 1001000
        for pid, records in ((101, "mws"), (102, "ws"), (103, "s"), (104, "")):
            t.wake(0, us, "waker", 100, "t%d" % pid, pid, 1 if "m" in records else 2)
            if "m" in records:
                t.add(0, us + 2, "waker", 100, "sched_migrate_task: comm=t%d pid=%d prio=120 orig_cpu=1 dest_cpu=2" % (pid, pid))
            if "w" in records:
                t.wake(0, us + 5, "waker", 100, "t%d" % pid, pid, 2, "sched_wakeup")
            if "s" in records:
                t.switch(2, us + 10, "swapper/2", 0, "R", "t%d" % pid, pid)
                t.switch(2, us + 20, "t%d" % pid, pid, "S", "swapper/2", 0)
            us += 1000
        t.add(3, us, "<idle>", 0, "cpu_idle: state=1 cpu_id=3")
        trace = self.write("t.txt", t.text())
        rows = self.rows("wakeups", "--csv", "--topology", SMT2, trace)
        self.assertEqual({(r["pid"], r["chosen_by"], r["chosen_cpu"]) for r in rows},
                         {("101", "migrate", "2"), ("102", "wakeup", "2"), ("103", "switch", "2"), ("104", "", "")})
        text = self.ok("wakeups", "--topology", SMT2, trace)
        self.assertRegex(text, r"\[001\]->\[002\] migrate ")
        self.assertRegex(text, r"t104:104 .*->\[\?\?\?\] - ")

    def test_moved_while_running(self):
        """Rule 18: RUNNING at its sched_waking, moved, no sched_wakeup: it ran, but since when it waited is not known."""
        t = Ftrace()
        for cpu in (1, 2, 3):
            t.switch(cpu, 1000000 + cpu, "other", 90 + cpu, "S", "swapper/%d" % cpu, 0)
        t.switch(0, 1000010, "swapper/0", 0, "R", "mover", 101)
        t.switch(1, 1000100, "swapper/1", 0, "R", "waker", 100)
        t.wake(1, 1001000, "waker", 100, "mover", 101, 0)
        t.add(1, 1001002, "waker", 100, "sched_migrate_task: comm=mover pid=101 prio=120 orig_cpu=0 dest_cpu=2")
        t.switch(0, 1001004, "mover", 101, "S", "swapper/0", 0)
        t.switch(2, 1001020, "swapper/2", 0, "R", "mover", 101)
        t.switch(2, 1001900, "mover", 101, "S", "swapper/2", 0)
        trace = self.write("t.txt", t.text())
        row, = self.rows("wakeups", "--csv", "--topology", SMT2, trace)
        self.assertEqual((row["outcome"], row["latency_ns"], row["run_cpu"], row["chosen_by"]), ("unknown", "", "2", "migrate"))
        self.assertEqual(self.json("--topology", SMT2, trace)["wakeups"]["not_measured"], {"running": 0, "died": 0, "replaced": 0, "unknown": 1})
        self.assertRegex(self.ok("wakeups", "--topology", SMT2, trace), r"\[000\]->\[002\] migrate +- \w+ unknown")

    def test_class(self):
        w = self.json(SCHBENCH)["wakeups"]["by_class"]
        self.assertEqual(len(self.rows("wakeups", "--csv", "--class", "pinned,fork", SCHBENCH)), w["pinned"] + w["fork"])

    def test_none_of_a_kind(self):
        status, out, err = self.run_text("wakeups", "--class", "dl", SCHBENCH)
        self.assertEqual((status, out), (0, ""))
        self.assertIn("none of", err)


class Splits(Cli):
    def test_latency(self):
        j = self.json(SCHBENCH)
        for by in ("task", "cpu", "waker", "class", "placement"):
            with self.subTest(by=by):
                rows = self.rows("latency", "--csv", "--by", by, SCHBENCH)
                whole = j["latency"]["wakeup"]
                if by == "placement":
                    self.assertEqual(sum(int(r["count"]) for r in rows), sum(p["count"] for p in j["latency"]["by_placement"].values()))
                else:
                    self.assertEqual(sum(int(r["count"]) for r in rows), whole["count"])
                    self.assertEqual(sum(int(r["sum_ns"]) for r in rows), whole["sum_ns"])
                hist = self.rows("latency", "--csv", "--by", by, "--hist", SCHBENCH)
                self.assertEqual(sum(int(r["count"]) for r in hist), sum(int(r["count"]) for r in rows))
                text = self.ok("latency", "--by", by, "--hist", SCHBENCH)
                self.assertIn("####", text)
        self.assertIn("by_cpu", json.loads(self.ok("latency", "--json", "--by", "cpu", SCHBENCH))["latency"])

    def test_latency_histograms_in_json(self):
        plain = json.loads(self.ok("latency", "--json", "--by", "waker", SCHBENCH))["latency"]
        full = json.loads(self.ok("latency", "--json", "--by", "waker", "--hist", SCHBENCH))["latency"]
        lists = lambda j: j["by_task"] + j["by_waker"] + list(j["by_class"].values()) + list(j["by_placement"].values())
        for a, b in zip(lists(plain), lists(full)):
            self.assertEqual(sum(n for _, _, n in b["histogram"]), b["count"])
            self.assertEqual(a, {k: v for k, v in b.items() if k != "histogram"})
        self.assertEqual(full["wakeup"], plain["wakeup"])

    def test_smt_groups(self):
        by_comm = self.rows("smt", "--csv", SCHBENCH)
        total = sum(int(r["ns"]) for r in by_comm)
        self.assertGreater(total, 0)
        groups = self.write("groups", "# of schbench\nmessages comm sb-msg\nworkers comm sb-work-0\nworkers comm sb-work-1\nworkers comm sb-work-2\n"
                                      "workers comm sb-work-3\n")
        mapped = self.rows("smt", "--csv", "--by", groups, SCHBENCH)
        names = {r["a"] for r in mapped} | {r["b"] for r in mapped}
        self.assertLessEqual({"messages", "workers"}, names)
        self.assertFalse(names & {"sb-msg", "sb-work-0"})
        by_task = self.rows("smt", "--csv", "--by", "task", SCHBENCH)
        self.assertGreater(len(by_task), len(by_comm))
        folded = {}
        for r in by_task:  # without their pids the tasks are the names
            key = tuple(sorted(re.fullmatch(r"(.*):\d+", r[k]).group(1) for k in "ab"))
            folded[key] = folded.get(key, 0) + int(r["ns"])
        self.assertEqual(folded, {(r["a"], r["b"]): int(r["ns"]) for r in by_comm})
        for rows in (by_task, mapped, self.rows("smt", "--csv", "--by", "tgid", SCHBENCH), self.rows("smt", "--csv", "--by", "cgroup", SCHBENCH)):
            self.assertEqual(sum(int(r["ns"]) for r in rows), total)
        for text in ("x\n", "g pid x\n", "g comm \n", "g pid -1\n", "", "g pid 1" + "1" * 2000 + "\n"):
            self.assertIn("--by", self.fails(2, "smt", "--by", self.write("bad", text), SCHBENCH))

    def test_smt_cookies(self):
        cookies = self.write("cookies", "# of schbench\nmessages comm sb-msg\nworkers regex ^sb-work-[01]\n0 comm bash\n")
        k = self.json(SCHBENCH, "--cookies", cookies)["smt"]["cookies"]
        self.assertEqual(json.loads(self.ok("smt", "--json", "--cookies", cookies, SCHBENCH))["smt"]["cookies"], k)
        self.assertEqual({(g["kind"], g.get("cookie")) for g in k["groups"]},
                         {("tagged", "messages"), ("tagged", "workers"), ("untagged", None), ("unknown", None)})
        self.assertGreater(k["incompatible_ns"], k["forced_idle_min_ns"])
        self.assertGreater(k["forced_idle_min_ns"], 0)
        rows = self.rows("smt", "--csv", "--cookies", cookies, SCHBENCH)
        self.assertEqual(rows, self.rows("report", "--csv", "--table", "smt_cookies", "--cookies", cookies, SCHBENCH))
        self.assertEqual([r["core"] for r in rows], ["all"] + [str(c["core"]) for c in k["cores"]])
        for r, x in zip(rows, [k] + k["cores"]):
            self.assertEqual({n: int(r[n]) for n in r if n.endswith("_ns")}, {n: v for n, v in x.items() if n.endswith("_ns")})
        groups = self.rows("report", "--csv", "--table", "smt_cookie_groups", "--cookies", cookies, SCHBENCH)
        self.assertEqual([(r["kind"], r["cookie"], int(r["run_ns"])) for r in groups], [(g["kind"], g.get("cookie", ""), g["run_ns"]) for g in k["groups"]])
        text = self.ok("smt", "--cookies", cookies, SCHBENCH)
        for word in ("CORE-SCHEDULING COOKIES", "forced idle >=", "messages", "(untagged)", "(unknown)"):
            self.assertIn(word, text)
        self.assertNotIn("cookies", self.json(SCHBENCH)["smt"])
        self.assertNotIn("COOKIES", self.ok("smt", SCHBENCH))
        self.assertEqual(self.rows("report", "--csv", "--table", "smt_cookies", SCHBENCH), [])
        self.assertNotIn("smt", self.json(os.path.join(ROOT, "samples", "nosmt4-hackbench.dat"), "--cookies", "comm"))
        for command in ("smt", "report"):
            for text in ("x\n", "g uid 1\n", "g pid x\n", "", "g regex (\n"):
                self.assertIn("--cookies", self.fails(2, command, "--cookies", self.write("bad", text), SCHBENCH))

    def test_affine(self):
        a = self.json(NUMA)["wake_affine"]
        for by in ("waker", "wakee", "waker-wakee"):
            rows = self.rows("affine", "--csv", "--by", by, NUMA)
            for key, x in (("considered", a["considered"]), ("cross_llc", a["cross_llc"]), ("count", a["latency"]["count"]), ("sum_ns", a["latency"]["sum_ns"]),
                           ("prev_cpu", a["outcome"]["prev"]["cpu"]), ("waker_llc", a["outcome"]["waker"]["llc"])):
                self.assertEqual(sum(int(r[key]) for r in rows), x, (by, key))
            self.assertIn("farther", self.ok("affine", "--by", by, NUMA))
            j = json.loads(self.ok("affine", "--json", "--by", by, NUMA))["wake_affine"]
            listed = j.pop("by_" + by.replace("-", "_"))
            self.assertEqual(j, a)
            self.assertEqual(len(listed), len(rows))
            for r, x in zip(rows, listed):
                self.assertEqual((r["waker_comm"], r["waker_context"], r["wakee_comm"]), tuple(x.get(k, "") for k in ("waker_comm", "waker_context", "wakee_comm")))
                self.assertEqual([int(r[k]) for k in ("considered", "cross_llc", "count", "sum_ns")],
                                 [x["considered"], x["cross_llc"], x["latency"]["count"], x["latency"]["sum_ns"]])
                for to in ("prev", "waker"):
                    self.assertEqual({d: int(r[to + "_" + d]) for d in x[to]}, x[to])
        self.assertEqual(json.loads(self.ok("affine", "--json", NUMA))["wake_affine"], a)


class Events(Cli):
    def test_counts(self):
        for trace in sample_traces():
            j, counts = self.json(trace), {}
            for line in self.ok("events", "--json", trace).splitlines():
                e = json.loads(line)
                counts[e["event"]] = counts.get(e["event"], 0) + (e.get("success", 1) != 0)
            for event, n in j["events"].items():
                self.assertEqual(counts.get(event, 0), n, (trace, event))

    def test_forms(self):
        lines = self.ok("events", SCHBENCH).splitlines()
        self.assertEqual(len(lines), len(self.ok("events", "--json", SCHBENCH).splitlines()))
        self.assertTrue(all(re.match(r"\d+\.\d{6} \[\d{3}\] \S{4} \S.*:\d+ \w+:", line) for line in lines))
        self.assertTrue(all(re.match(r"\d+\.\d{9} ", line) for line in self.ok("events", "-t", SCHBENCH).splitlines()))
        self.assertTrue(all("@0x" in line for line in self.ok("events", "-v", SCHBENCH).splitlines()))

    def test_filters(self):
        all_lines = self.ok("events", SCHBENCH).splitlines()
        self.assertEqual(self.ok("events", "-C", "3", SCHBENCH).splitlines(), [line for line in all_lines if "[003]" in line[:30]])
        pid = str(self.json(SCHBENCH)["tasks"][0]["pid"])
        mine = self.ok("events", "-p", pid, SCHBENCH).splitlines()
        self.assertEqual(mine, [line for line in all_lines if re.search(r"(:%s |pid=%s\b)" % (pid, pid), line)])


class HostileNames(Cli):
    NAMES = ["a\x1b[31mb", 'q"u,o', "a: b [001] 1.0:", "x ==> y", "back\\slash", "tab\there", "\u202egnp.exe", "caf\u00e9", "\u6f22\u5b57"]

    def trace(self, name):
        return self.write("t.txt", stacked(comm=name).text().encode("utf-8", "surrogateescape"))

    def test_text_is_harmless(self):
        for name in self.NAMES + ["bad\udcff\udcfeutf"]:
            for command in (["report"], ["wakeups"], ["events"], ["latency"], ["smt"], ["affine", "--by", "wakee"]):
                with self.subTest(name=name, command=command):
                    status, out, err = self.run_raw(*command, "-q", "--topology", SMT2, self.trace(name))
                    self.assertEqual(status, 0, err)
                    text = out.decode("utf-8")  # valid, whatever the name was
                    self.assertFalse(any(unicodedata.category(c) in ("Cc", "Cf") and c != "\n" for c in text))

    @staticmethod
    def escaped(name):
        """As doc/json.md says of CSV."""
        return "".join("\\\\" if c == "\\" else "\\x%02x" % ord(c) if c < " " else "\\u%04x" % ord(c) if c == "\u202e" else c for c in name)

    def test_json_and_csv_keep_the_name(self):
        for name in self.NAMES:
            with self.subTest(name=name):
                trace = self.trace(name)
                shown = {t["comm"] for t in self.json("--topology", SMT2, trace)["tasks"]}
                self.assertIn(name, shown)
                self.assertIn(self.escaped(name), {r["comm"] for r in self.rows("report", "--csv", "--table", "tasks", "--topology", SMT2, trace)})
                self.assertIn(self.escaped(name), {r["comm"] for r in self.rows("wakeups", "--csv", "--topology", SMT2, trace)})

    def test_invalid_utf8_is_replaced(self):
        trace = self.trace("bad\udcff\udcfe\udce6\udcbcx")
        comms = {t["comm"] for t in self.json("--topology", SMT2, trace)["tasks"]}
        self.assertIn(b"bad\xff\xfe\xe6\xbcx".decode("utf-8", "replace"), comms)
        self.assertIn(r"bad\xff\xfe\xe6\xbcx", self.ok("report", "--topology", SMT2, trace))

    def test_file_name(self):
        trace = self.write("e\x1b[0m.txt", "no trace\n")
        err = self.refused(3, "report", trace)
        self.assertIn(r"\x1b", err)


if __name__ == "__main__":
    unittest.main()
