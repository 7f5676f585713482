#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""wakeif explain: which wakeup is taken, what is said of it, and that its steps are those of the answer that replay counts."""
import json
import sys
import unittest

import cli


def explain(test, *args):
    return json.loads(test.ok("explain", "--json", *args))["explain"]


class Explain(cli.Cli):
    def stacked(self):
        return self.write("stacked.txt", cli.stacked().text())

    def test_hand_made(self):
        """CPU 0 runs the waker, 1 to 3 idle: prev and waker are CPU 0, which is busy; the search finds the sibling or an idle core."""
        out = self.ok("explain", self.stacked(), "--topology", cli.SMT2, "--pid", "101", "-m", "prev")
        for line in ("Wakeup 1 of 1: waker:100 woke wakee:101 at 1.001000 on [000], context task",
                     "  class select: the kernel chose a CPU",
                     "  previous CPU [000], the waker's; had slept 900 us",
                     "  allowed CPUs: all (assumed: affinity was not recorded)",
                     "     2. search for an idle CPU begins at [000]",
                     "     3. target: [000] is busy",
                     "  prev: [000], as the kernel",
                     "    rule stay: the previous CPU, unconditionally",
                     "  The kernel chose [000]: busy, while its SMT sibling was idle",
                     "  queued at 1.001005",
                     "  ran at 1.005000 on [000]: latency 4.00 ms, of it 4.00 ms in the queue"):
            self.assertIn("\n" + line + "\n", out)

    def test_hand_made_json(self):
        w, = explain(self, self.stacked(), "--topology", cli.SMT2, "--at", "1.001", "-m", "prev")
        self.assertEqual((w["pid"], w["waker_pid"], w["prev_cpu"], w["waker_cpu"], w["chosen_cpu"], w["class"], w["missed"], w["wait_ns"]),
                         (101, 100, 0, 0, 0, "select", "sibling", 3995000))
        self.assertEqual([(c["cpu"], c["idle"], c["nr_running"], c["allowed"]) for c in w["cpus"]],
                         [(0, False, 1, True), (1, True, 0, True), (2, True, 0, True), (3, True, 0, True)])
        self.assertEqual([(m["name"], m["cpu"], m["rule"], m["as_kernel"]) for m in w["models"]][1], ("prev", 0, "stay", True))
        kernel = w["models"][0]
        self.assertEqual(kernel["steps"][-1]["step"], "answer")
        self.assertEqual(kernel["steps"][2], {"step": "idle_test", "site": "T", "cpu": 0, "value": 0})

    def test_which(self):
        """--at: nearest at or after, a stamp as printed included; --pid: the first ones; both; --nr."""
        every = explain(self, cli.SCHBENCH, "--at", "0", "--nr", "40")
        self.assertEqual(len(every), 40)
        stamps = [w["waking_ns"] for w in every]
        self.assertEqual(stamps, sorted(stamps))
        for w in every[5:8]:
            printed = "%.6f" % (w["waking_ns"] / 1e9)
            self.assertEqual(explain(self, cli.SCHBENCH, "--at", printed)[0]["waking_ns"], w["waking_ns"])
            nine = "%d.%09d" % divmod(w["waking_ns"] + 1, 10 ** 9)
            self.assertGreater(explain(self, cli.SCHBENCH, "--at", nine)[0]["waking_ns"], w["waking_ns"])
        pid = every[10]["pid"]
        mine = explain(self, cli.SCHBENCH, "--pid", str(pid), "--nr", "3")
        self.assertEqual([w["pid"] for w in mine], [pid] * 3)
        self.assertEqual(mine[0]["waking_ns"], next(w["waking_ns"] for w in every if w["pid"] == pid))
        later = explain(self, cli.SCHBENCH, "--pid", str(pid), "--at", "%d.%09d" % divmod(mine[1]["waking_ns"], 10 ** 9))
        self.assertEqual(later[0]["waking_ns"], mine[1]["waking_ns"])

    def test_steps_are_the_answer(self):
        for sample in ("smt8-policies-6.12.dat", "numa16-mix.dat", "nosmt4-hackbench.dat"):
            seen = 0
            for w in explain(self, cli.os.path.join(cli.SAMPLES, sample), "--at", "0", "--nr", "400"):
                for m in w["models"]:
                    self.assertEqual(m["as_kernel"], m["cpu"] == w["chosen_cpu"])
                    if not m.get("steps"):
                        continue
                    seen += 1
                    last = m["steps"][-1]
                    self.assertEqual((last["step"], last["rule"]), ("answer", m["rule"]))
                    if not m["invalid"]:
                        self.assertEqual(last["cpu"], m["cpu"])
                    if w["class"] == "select":
                        self.assertEqual(sum(s["step"] == "idle_test" for s in m["steps"]), m["examined"])
                        state = {c["cpu"]: c for c in w["cpus"]}
                        for s in m["steps"]:
                            if s["step"] == "idle_test":
                                self.assertEqual(s["value"] == 1, state[s["cpu"]].get("idle", False))
                    if m["as_kernel"]:
                        self.assertEqual(m["kernels_choice_if"], [])
            self.assertGreater(seen, 300, sample)

    def test_cookies(self):
        """A step with a cookie comes behind an idle test of the scan, and none of the CPUs refused is the scan's answer."""
        args = ("--at", "0", "--nr", "1000", "-m", "linux-6.1,core-sched=on", "--cookies", "comm", cli.SCHBENCH)
        known = set()
        for w in explain(self, *args):
            for m in w["models"]:
                steps = m.get("steps", [])
                refused = [s["cpu"] for s in steps if s["step"] == "cookie"]
                known |= {s["value"] for s in steps if s["step"] == "cookie"}
                self.assertTrue(not refused or "core-sched" in m["name"])
                if m["rule"] == "scan":
                    self.assertNotIn(m["cpu"], refused)
                    for before, s in zip(steps, steps[1:]):
                        if s["step"] == "cookie":
                            self.assertEqual((before["step"], before["cpu"]), ("idle_test", s["cpu"]))
        self.assertIn(0, known)
        self.assertIn("another cookie than the wakee", self.ok("explain", *args))

    def test_same_answers_as_replay(self):
        args = (cli.os.path.join(cli.SAMPLES, "smt8-policies-6.12.dat"), "-m", "prev", "-m", "linux-6.12", "--time", "0%-50%")
        replay = json.loads(self.ok("replay", "--json", *args))["models"]
        wakeups = [w for w in explain(self, *args, "--at", "0", "--nr", "1000") if w["class"] == "select"]
        by_name = {}
        for w in wakeups:
            for m in w["models"]:
                by_name.setdefault(m["name"], []).append(m["as_kernel"])
        self.assertIn("prev", by_name)
        for name, as_kernel in by_name.items():
            row = next(r for r in replay if r["name"] == name)
            self.assertEqual((len(as_kernel), sum(as_kernel)), (row["decided"], row["agree"]["cpu"]))

    def test_oracle(self):
        """An oracle that finds an idle CPU answers at once; else it has no answer at the decision."""
        w, = explain(self, self.stacked(), "--topology", cli.SMT2, "--pid", "101", "-m", "oracle-lat")
        self.assertEqual([(m["name"], m["rule"]) for m in w["models"]][1:], [("oracle-lat", "hindsight")])
        args = (cli.os.path.join(cli.SAMPLES, "smt8-policies-6.12.dat"), "--at", "197.98", "-m", "oracle-lat")
        self.assertIn("\n  oracle-lat: answers with what came later, in replay and compare only\n", self.ok("explain", *args))
        self.assertEqual(len(explain(self, *args)[0]["models"]), 1)

    def test_refusals(self):
        for status, args, part in ((2, ["--pid", "x"], "--pid"), (2, [], "--at STAMP or --pid N"), (2, ["--at", "soon"], "--at: not a stamp"),
                                   (2, ["--at", ""], "--at"), (2, ["--at", "1,2"], "--at"), (2, ["--pid", "1", "--nr", "0"], "--nr"),
                                   (2, ["--pid", "1", "--nr", "1001"], "--nr"), (2, ["--pid", "1", "-m", "linux-9"], "linux-9")):
            self.assertIn(part, self.fails(status, "explain", cli.SCHBENCH, *args))
        self.assertIn("no CSV", self.refused(2, "explain", cli.SCHBENCH, "--pid", "1", "--csv"))
        self.assertRegex(self.refused(3, "explain", cli.SCHBENCH, "--pid", "1"), "no wakeup of task 1 in the window, which has [0-9]+$")
        self.assertRegex(self.refused(3, "explain", cli.SCHBENCH, "--at", "999999"), "no wakeup at or after 999999: the last one is at 202[.][0-9]{6}$")


if __name__ == "__main__":
    result = unittest.TextTestRunner(verbosity=1).run(unittest.defaultTestLoader.loadTestsFromModule(sys.modules[__name__]))
    failed = len(result.failures) + len(result.errors)
    print(f"{max(result.testsRun - failed, 0)} passed, {failed} failed")
    sys.exit(1 if failed else 0)
