#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""wakeif workload and simulate: what the tapes explain, that work is conserved, that runs repeat, what is refused."""
import csv
import io
import json
import os
import signal
import subprocess
import time
import unittest

from cli import NUMA, SAMPLES, SCHBENCH, SHARED, WAKEIF, Cli

HACKBENCH = os.path.join(SAMPLES, "nosmt4-hackbench.dat")
FORKS = os.path.join(SAMPLES, "smt8-forks.dat.gz")
NEW = os.path.join(SAMPLES, "smt8-policies-6.12.dat")
LOST = os.path.join(SAMPLES, "smt8-lost.dat")
WHOLE = [HACKBENCH, NUMA, SCHBENCH, FORKS, NEW]
CORPUS = os.path.join(SHARED, "corpus")
ALONE = ["--smt-speed", "1"]  # the guests' siblings share nothing


class Workload(Cli):
    def facts(self, *args):
        return json.loads(self.ok("workload", "--json", "-q", *args))["workload"]

    def check(self, *args):
        w = self.facts(*ALONE, *args)
        self.assertEqual(w["busy_ns"], w["tape_ns"])
        self.assertEqual(w["internal"] + w["external"], w["wakes"])
        self.assertLessEqual(w["implied"] * 100, w["switches_in"])
        self.assertLessEqual(w["bytes"], 32 * w["events"])
        return w

    def test_samples(self):
        for path in WHOLE:
            with self.subTest(path=os.path.basename(path)):
                w, report = self.check(path), self.json("-q", path)
                self.assertGreater(w["internal"], 0)
                self.assertEqual(w["exits"] > 0, True)
                self.assertEqual(w["events"], sum(report["events"].values()))

    def test_corpus(self):
        if not os.path.isdir(CORPUS):
            self.skipTest("no recordings")
        for name in sorted(os.listdir(CORPUS)):
            path = os.path.join(CORPUS, name, "trace.dat")
            if os.path.exists(path):
                with self.subTest(name=name):
                    self.check("--topology", os.path.join(CORPUS, name, "topology.tar.gz"), path)

    def test_parts(self):
        """A window in the middle: tasks that died before it are not on the tapes, those on their way to a CPU are."""
        for path in WHOLE:
            for part in ("10%-20%", "50%-60%", "70%-90%"):
                with self.subTest(path=os.path.basename(path), part=part):
                    w = self.facts(*ALONE, "--time", part, path)
                    self.assertEqual(w["busy_ns"], w["tape_ns"])
                    self.assertGreater(w["wakes"], 0)
                    self.assertLessEqual(w["implied"] * 50, w["switches_in"])

    def test_smt_speed(self):
        full, half = self.facts(*ALONE, SCHBENCH), self.facts("--smt-speed", "0.5", SCHBENCH)
        self.assertEqual({k: v for k, v in full.items()}, {k: v for k, v in half.items()})  # facts are of the recording
        verbose = lambda *a: self.ok("workload", "-v", "-q", *a, SCHBENCH)
        self.assertNotEqual(verbose(*ALONE), verbose("--smt-speed", "0.5"))  # work is not
        self.assertEqual(verbose("--smt-speed", "0.5,*=1"), verbose(*ALONE))

    def test_edges(self):
        group, strict, any_ = (self.facts("--edge", e, HACKBENCH) for e in ("group", "strict", "any"))
        self.assertLess(any_["counters"], group["counters"])
        self.assertLess(group["counters"], strict["counters"])
        self.assertEqual(group["orders"], 0)  # senders do not wait for receivers
        self.assertGreater(self.facts(NEW)["orders"], 0)
        self.assertEqual(self.facts("--no-orders", NEW)["orders"], 0)
        self.assertEqual(self.facts("--softirq", "external", NUMA)["softirq"], 0)

    def test_usage(self):
        for args in (["--edge", "both"], ["--smt-speed", "0.4"], ["--smt-speed", "x"], ["--smt-speed", "1.1"], ["--host-cpus", "0"], ["--softirq", "own"],
                     ["--csv"], ["--sync", "maybe"]):
            self.fails(2, "workload", *args, SCHBENCH)


class Saved(Cli):
    """A workload outlives its trace."""

    def save(self, trace, *args):
        path = os.path.join(self.dir, "saved.wl")
        self.ok("workload", "-q", "--save", path, *args, trace)
        return path

    def test_same_results(self):
        for trace in (SCHBENCH, HACKBENCH, FORKS, NEW):
            with self.subTest(trace=os.path.basename(trace)):
                saved = self.save(trace, *ALONE)
                self.assertLess(os.path.getsize(saved), os.path.getsize(trace))
                facts = lambda *a: json.loads(self.ok("workload", "--json", "-q", *a))["workload"]
                self.assertEqual(facts(saved), facts(*ALONE, trace))
                run = ["simulate", "-q", "--json", "--seeds", "2", "--no-sensitivity", "-m", "prev"]
                self.assertEqual(json.loads(self.ok(*run, saved))["simulate"], json.loads(self.ok(*run, *ALONE, trace))["simulate"])
                text = self.ok(*run[:2], "--seeds", "1", saved)
                self.assertIn("saved workload", text.split("\n")[0])

    def test_parts(self):
        """A window that begins late, with tasks born and dead before it, reads back too."""
        for trace in (SCHBENCH, HACKBENCH, FORKS):
            for part in ("5%-100%", "50%-60%"):
                with self.subTest(trace=os.path.basename(trace), part=part):
                    saved = self.save(trace, *ALONE, "--time", part)
                    facts = lambda *a: json.loads(self.ok("workload", "--json", "-q", *a))["workload"]
                    self.assertEqual(facts(saved), facts(*ALONE, "--time", part, trace))

    def test_refused(self):
        saved = self.save(HACKBENCH)
        for args in (["--edge", "any"], ["--smt-speed", "0.62"], ["--no-orders"], ["--time", "10%-20%"], ["--sync", "never"]):
            self.fails(2, "workload", *args, saved)
        self.fails(2, "workload", "--save", saved, saved)
        self.fails(2, "workload", "--save", saved, "--smt-speed", "hack*=0.7", HACKBENCH)
        self.fails(2, "simulate", "--edge", "any", saved)
        with open(saved, "rb") as f:
            whole = f.read()
        for damaged in (whole[:-1], whole[:20], whole[:8], whole[:5000] + b"x" + whole[5001:], whole + b"x", whole[:8] + b"\1" + whole[9:]):
            with open(saved, "wb") as f:
                f.write(damaged)
            self.assertIn("saved.wl@0x", self.fails(3, "workload", saved))
            self.fails(3, "simulate", saved)
        self.fails(1, "workload", "--save", os.path.join(self.dir, "none", "x"), HACKBENCH)

    def test_losses_are_kept(self):
        saved = self.save(LOST)
        self.assertIn("lost", self.fails(3, "simulate", saved))


class Simulate(Cli):
    def simulate(self, *args):
        return json.loads(self.ok("simulate", "--json", "-q", *ALONE, *args))["simulate"]

    def test_work_is_conserved(self):
        for path in WHOLE:
            with self.subTest(path=os.path.basename(path)):
                d = self.simulate("--seeds", "2", "-m", "prev", "-m", "idle-core-first", "--no-sensitivity", path)
                self.assertEqual(len(d["policies"]), 4)
                for p in d["policies"]:
                    for run in p["runs"]:
                        self.assertEqual(run["ran_ns"], run["tape_ns"], p["name"])
                        self.assertEqual(run["tasks_undone"], 0, p["name"])
                        self.assertEqual(run["invalid"], 0, p["name"])

    def test_runs_repeat(self):
        args = ["simulate", "-q", "--seeds", "3", "-m", "prev", *ALONE, HACKBENCH]
        one = self.ok(*args, "--json", "--jobs", "1")
        self.assertEqual(self.ok(*args, "--json", "--jobs", "3"), one)
        self.assertNotEqual(self.ok(*args, "--json", "--seed", "99"), one)

    def test_killed_worker(self):
        """One line that names the signal, no result, and no worker is left."""
        p = subprocess.Popen([WAKEIF, "simulate", "-q", "--seeds", "1000", "--jobs", "2", HACKBENCH], stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                             env={**os.environ, "ASAN_OPTIONS": "detect_leaks=0"})  # the search for leaks is a child as well, and not a worker
        self.addCleanup(p.kill)
        until = time.monotonic() + 30
        while p.poll() is None and time.monotonic() < until:  # one that has done its work cannot be killed: the next, then
            try:
                with open("/proc/%d/task/%d/children" % (p.pid, p.pid)) as f:
                    for pid in f.read().split():
                        os.kill(int(pid), signal.SIGKILL)
            except ProcessLookupError:
                pass
            time.sleep(0.01)
        out, err = p.communicate(timeout=60)
        self.assertEqual((p.returncode, out), (1, b""), err)
        self.assertEqual(len(err.splitlines()), 1, err)
        self.assertIn(b"ended by signal 9", err)

    def test_self_replay(self):
        """The recording's own kernel reproduces it; another policy does not."""
        d = self.simulate("-m", "prev", "--no-sensitivity", SCHBENCH)
        s = d["self_replay"]
        self.assertLess(s["ks"], 0.15)
        self.assertLess(s["ks"], s["ks_resampled"])
        self.assertLess(s["util_err"], 0.08)
        prev = d["policies"][2]
        self.assertEqual(prev["stay"]["mean"], 1)
        self.assertEqual(prev["name"], "prev")
        self.assertGreater(prev["difference"]["stay"]["mean"], s["stay_err"])
        self.assertNotIn("stay", prev["difference"]["within_model_error"])

    def test_what_ifs(self):
        d = self.simulate("--smt", "off", "--seeds", "2", SCHBENCH)
        off = d["policies"][2]
        self.assertIn("SMT off", off["name"])
        self.assertEqual(off["corun"]["mean"], 0)
        self.assertGreater(off["util"]["mean"], d["policies"][0]["util"]["mean"] * 1.5)
        # and wakes from outside timed both ways, without what is inferred, three SMT speeds with a baseline each
        self.assertEqual(len(d["policies"]), 2 + 1 + 3 + 3 * 2)
        slow, fast = (next(p for p in d["policies"] if p["name"] == "linux-6.1, SMT off, SMT speed " + s) for s in ("0.50", "0.90"))
        self.assertLess(slow["util"]["mean"], fast["util"]["mean"])  # less work was done beside a busy sibling
        self.fails(2, "simulate", "--smt", "off", HACKBENCH)  # it has none
        big = self.simulate("--machine", "pack:1 l3:1 core:16 pu:1", "--seeds", "2", "--no-sensitivity", HACKBENCH)["policies"]
        self.assertLess(big[2]["p99_ns"]["mean"], big[0]["p99_ns"]["mean"])
        self.fails(3, "simulate", "--machine", self.write("none", "x"), HACKBENCH)
        quiet = self.simulate("--no-wakeup-preemption", "--seeds", "2", "--no-sensitivity", HACKBENCH)["policies"]
        self.assertGreater(quiet[2]["p50_ns"]["mean"], 5 * quiet[0]["p50_ns"]["mean"])

    def test_power_savings(self):
        """2009: at mc=2 one package idles while the other works; without, both work."""
        rows = self.ok("simulate", "-q", "--seeds", "3", "--no-sensitivity", *ALONE, "--power-savings", "mc=2,smt=2", NUMA).split("Idle share of each package\n")[1].split("\n")
        share = [[float(f.rstrip("%")) for f in r.replace(" %", "%").split()[2:]] for r in rows[1:3]]
        (p0, p1) = share
        self.assertLess(max(p0[1], p1[1]), 5)     # level 0
        self.assertGreater(max(p0[3], p1[3]), 20)  # level 2
        self.assertLess(min(p0[3], p1[3]), 5)
        for bad in ("mc=3", "x", "mc=1,", "mc", "smt=22"):
            self.fails(2, "simulate", "--power-savings", bad, NUMA)

    def test_core_scheduling(self):
        self.assertIn("no --cookies", self.fails(2, "simulate", "--core-sched", "csc", SCHBENCH))
        self.fails(2, "simulate", "--core-sched", "other", SCHBENCH)
        cookies = self.write("cookies", "messages comm sb-msg\nworkers regex ^sb-work-\n")
        base = self.simulate("--seeds", "2", "--no-sensitivity", "--cookies", cookies, SCHBENCH)["policies"][0]["cookies"]
        self.assertGreater(base["incompatible_corun_ns"], 0)
        self.assertEqual(base["forced_idle"], 0)
        self.assertEqual([c["cookie"] for c in base["by_cookie"]], ["", "messages", "workers"])
        for variant in ("csc", "csc_stallfix", "csc_tim", "csc_vruntime", "mainline"):
            with self.subTest(variant=variant):
                d = self.simulate("--seeds", "2", "--no-sensitivity", "--cookies", cookies, "--core-sched", variant, SCHBENCH)
                self.assertEqual(d["policies"][0]["cookies"], base)
                self.assertEqual(d["policies"][2]["name"], "linux-6.1,core-sched=on, core scheduling " + variant)
                on = d["policies"][2]["cookies"]
                self.assertEqual(on["incompatible_corun_ns"], 0)
                self.assertGreater(on["forced_idle"], 0)
                for run in d["policies"][2]["runs"]:
                    self.assertEqual(run["ran_ns"], run["tape_ns"])
                    self.assertEqual(run["tasks_undone"], 0)

    def test_forms(self):
        rows = list(csv.DictReader(io.StringIO(self.ok("simulate", "-q", "--csv", "--seeds", "2", "-m", "prev", "--no-sensitivity", SCHBENCH))))
        self.assertEqual({r["policy"] for r in rows}, {"linux-6.1", "linux-6.1, resampled latencies", "prev"})
        d = json.loads(self.ok("simulate", "-q", "--json", "--seeds", "2", "-m", "prev", "--no-sensitivity", SCHBENCH))["simulate"]
        for r in rows:
            p = next(p for p in d["policies"] if p["name"] == r["policy"])
            self.assertEqual(float(r["mean"]), p[r["metric"]]["mean"])
        text = self.ok("simulate", "-q", "--seeds", "2", "-m", "prev", "--idle", SCHBENCH)
        for part in ("Self-replay: linux-6.1", "What if: prev against linux-6.1", "Sensitivity: prev, wakes", "Wakeup latency", "Idle share of each core"):
            self.assertIn(part, text)

    def test_refusals(self):
        self.assertIn("lost", self.fails(3, "simulate", LOST))
        self.assertIn("knows the future", self.fails(2, "simulate", "-m", "oracle-lat", SCHBENCH))
        for args in (["--seeds", "0"], ["--seeds", "x"], ["--jobs", "0"], ["--smt", "maybe"], ["--balance", "x"], ["--pick", "x"], ["--external", "x"]):
            self.fails(2, "simulate", *args, SCHBENCH)


if __name__ == "__main__":
    unittest.main()
