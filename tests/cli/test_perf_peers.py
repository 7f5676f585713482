#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""Where definitions coincide, `perf sched timehist` and `perf sched latency` agree: time from sched_waking to switch-in, and run time.
The recording is WAKEIF_SHARED/corpus/shapes/perf.data as perf script, perf sched timehist and perf sched latency printed it."""
import collections
import os
import re
import unittest

import cli

SHAPES = os.path.join(cli.SHARED, "corpus", "shapes")
ROW = re.compile(r"\s*(\d+\.\d+) \[(\d+)\]\s+(.*?)\s+(\d+\.\d+)\s+(\d+\.\d+)\s+(\d+\.\d+)\s*$")
US = 1000  # perf cuts to whole microseconds, row by row


def read(name):
    with open(os.path.join(SHAPES, name), encoding="utf-8", errors="replace") as f:
        return f.read().splitlines()


def timehist():
    """pid -> (run time of each row, delays greater than 0), ns"""
    run, delay = collections.defaultdict(list), collections.defaultdict(list)
    for line in read("perf-timehist.txt"):
        m = ROW.match(line)
        task = m and re.search(r"\[(\d+)(?:/\d+)?\]$", m[3])
        if not task:
            continue
        run[int(task[1])].append(round(float(m[6]) * 1e6))
        if float(m[5]) > 0:
            delay[int(task[1])].append(round(float(m[5]) * 1e6))
    return run, delay


def whole_runs():
    """pids whose every stretch of running is whole, and whose every switch-out timehist lists: perf leaves out what began before the
    recording or did not end in it"""
    first, last, outs = {}, {}, collections.Counter()
    for line in read("perf-script.txt"):
        m = re.search(r"sched_switch: .*prev_pid=(\d+) .*next_pid=(\d+)", line)
        if not m:
            continue
        outs[int(m[1])] += 1
        for pid, what in ((int(m[1]), "out"), (int(m[2]), "in")):
            first.setdefault(pid, what)
            last[pid] = what
    rows = timehist()[0]
    return {pid for pid in first if first[pid] == "in" and last[pid] == "out" and outs[pid] == len(rows[pid])}


@unittest.skipUnless(os.path.exists(os.path.join(SHAPES, "perf-timehist.txt")), "skipped: no corpus at WAKEIF_SHARED")
class PerfPeers(cli.Cli):
    def setUp(self):
        super().setUp()
        self.report = self.json("report", "--json", "-q", os.path.join(SHAPES, "perf-script.txt"))

    def json(self, *args):
        import json
        status, out, err = self.run_text(*args)
        self.assertEqual(status, 0, err)
        return json.loads(out)

    def test_timehist_delays(self):
        _, delay = timehist()
        ours = {t["pid"]: t for t in self.report["latency"]["by_task"]}
        earlier = self.replaced_ns()
        self.assertGreater(len(delay), 20)
        self.assertLessEqual(len(earlier), 2)
        for pid, rows in delay.items():
            with self.subTest(pid=pid):
                self.assertEqual(ours[pid]["count"], len(rows))
                self.assertLessEqual(abs(ours[pid]["sum_ns"] + earlier.get(pid, 0) - sum(rows)), US * len(rows))
                if pid not in earlier:
                    self.assertLessEqual(abs(ours[pid]["max_ns"] - max(rows)), US)

    def replaced_ns(self):
        """{pid: ns by which perf's delays begin earlier}: perf counts from the first of two wakings; where nothing is known of the task between
        them, the first is over (replaced) and ours counts from the second."""
        status, out, err = self.run_text("wakeups", "--csv", "-q", os.path.join(SHAPES, "perf-script.txt"))
        self.assertEqual(status, 0, err)
        first, extra = {}, {}
        for w in sorted(cli.parse_csv(self, out), key=lambda w: int(w["wake_ns"])):
            pid, at = int(w["pid"]), int(w["wake_ns"])
            if w["outcome"] == "replaced":
                first.setdefault(pid, at)
            elif w["outcome"] == "run" and pid in first:
                extra[pid] = extra.get(pid, 0) + at - first.pop(pid)
        return extra

    def test_timehist_run_times(self):
        run, _ = timehist()
        ours = {t["pid"]: t for t in self.report["tasks"]}
        compared = whole_runs() & set(run) & set(ours)
        self.assertGreater(len(compared), 10)
        for pid in compared:
            with self.subTest(pid=pid):
                self.assertLessEqual(abs(ours[pid]["run_ns"] - sum(run[pid])), 2 * US * len(run[pid]))

    def test_latency_max(self):
        rows = [re.match(r"\s*(\S+?):[(\d]+\)?\s+\|.*max:\s*(\d+\.\d+) ms", line) for line in read("perf-latency.txt")]
        worst = max(float(m[2]) for m in rows if m)
        ours = max(t["max_ns"] for t in self.report["latency"]["by_task"] if t["comm"] == "hackbench")
        self.assertLessEqual(abs(ours - worst * 1e6), US)


if __name__ == "__main__":
    unittest.main()
