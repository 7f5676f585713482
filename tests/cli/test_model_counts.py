#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""What each built-in model, and each variant that matters, answers on fixed sample traces, counted: exactly as in
tests/golden/model-counts.tsv.

"test_model_counts.py --update" writes the table anew. A change of a model shows as a changed line: the rules that give its answers, where they lie, how
many are the kernel's.
"""
import json
import os
import subprocess
import sys
import unittest

from cli import NUMA, ROOT, SAMPLES, SCHBENCH, WAKEIF

TABLE = os.path.join(ROOT, "tests", "golden", "model-counts.tsv")
CLUSTERS = "node:1 pack:1 l3:2 l2:2 core:2 pu:2"
RUNS = {  # trace and options
    "smt8-schbench": [SCHBENCH],
    "numa16-mix": [NUMA],
    "numa16-clusters": ["--topology", CLUSTERS, NUMA],  # the same as if its machine were one node of two LLCs of two clusters
    "smt8-policies": [os.path.join(SAMPLES, "smt8-policies-6.12.dat")],  # SCHED_IDLE tasks, narrow affinity
}
SYNC_VARIANTS = ["wf-sync=vagin", "wf-sync=sis-current", "wf-sync=sis-short", "wf-sync=sis-short,short-run=2ms"]
# Every model is asked with its defaults; a line here adds variants of one.
VARIANTS = {
    "linux-2.6.29": ["mc=1", "mc=2", "smt=2", "mc=2,smt=2", "mc=2,smt=2,variant=v3", "mc=2,nominate=leader", "wake-idle=smt", "wake-idle=far"],
    "linux-3.1": ["balance-wake=1", "balance-wake=2", "powersave=on"],
    "linux-3.2": ["avoid-smt=off", "balance-wake=1", "balance-wake=2", "balance-wake=3"],
    "linux-3.4": ["avoid-smt=off", "balance-wake=1", "balance-wake=2", "balance-wake=3", "avoid-smt=off,balance-wake=3", "powersave=on"],
    "linux-3.9": ["load=runnable", "load=runnable+burst", "wake-wide=3.12", "wake-wide=4.4", "throttle=1ms"],
    "linux-3.13": ["load=weight", "load=runnable+burst", "wake-wide=off", "wake-wide=4.4"],
    "linux-4.8": ["scan-cpu=2us", "sis=prop,sis-avg-cpu=off,scan-cpu=2us"],
    "linux-4.16": ["scan-cpu=2us", "sis-prop-nr=4", "wa-weight=off"],
    "linux-5.4": ["sis-prop-nr=1"],
    "linux-5.10": ["wa-idle=off"],
    "linux-5.15": ["sis=prop", "sis=off"],
    "linux-6.1": SYNC_VARIANTS + ["history=observed", "sis-cache=rfc", "sis-cache=v1", "sis-node=on", "sis-util=off", "nr-idle-scan=0", "nr-idle-scan=2",
                                  "cluster-scan=on", "recent-fix=off", "sched-idle=off", "sched-idle=tip-2026", "wa-idle=off", "wa-weight=off",
                                  "wa-bias=off", "vcpu-preempted=1ms"],
    "linux-6.12": ["wf-sync=vagin", "cluster-scan=off", "sis-node=on"],
    "least-loaded": ["by=load"],
    "nest": ["impatient=1", "reserve=0"],
    "scx-rusty": ["greedy-numa=on"],
    "oracle-smt": ["speed=100"],
}
AGREEMENT = ("cpu", "core", "llc")
MOVES = ("cpu", "core", "cluster", "llc", "node", "remote")
HEADER = ["run", "model", "decided", *["agree_" + k for k in AGREEMENT], "fork_cpu", "exec_cpu", "tagged", "invalid", "turns_with_sync", "examined",
          *["moved_" + k for k in MOVES], "rules"]
MOST = 60  # models a run; the program takes 63


def models():
    """Names of all built-in models, in the order in which they are listed."""
    out = subprocess.run([WAKEIF, "models", "--json"], stdout=subprocess.PIPE, check=True, timeout=60).stdout
    return [m["name"] for m in json.loads(out)["known_models"] if m["name"] != "linux-auto"]


def specs():
    found = []
    for name in models():
        found += [name] + ["%s,%s" % (name, v) for v in VARIANTS.get(name, [])]
    return found


def replay(args, wanted):
    argv = [WAKEIF, "replay", "--json", "-q", "--history", "own", *[a for s in wanted for a in ("-m", s)], *args]
    out = subprocess.run(argv, stdout=subprocess.PIPE, check=True, timeout=120, cwd=ROOT).stdout
    return [m for m in json.loads(out)["models"] if not m["happened"]]


def row(run, spec, m):
    rules = " ".join("%s:%d/%d" % (name, r["count"], r["agree"]) for name, r in sorted(m["rules"].items()))
    values = [run, spec, m["decided"], *[m["agree"][k] for k in AGREEMENT], m["fork"]["cpu"], m["exec"]["cpu"], m["tagged"], m["invalid"],
              m.get("turns_with_sync", "-"), m["examined"], *[m["moves"][k] for k in MOVES], rules]
    return [str(v) for v in values]


def table():
    rows, wanted = [], specs()
    for run, args in RUNS.items():
        for i in range(0, len(wanted), MOST):
            part = wanted[i:i + MOST]
            answers = replay(args, part)
            if len(answers) != len(part):
                raise ValueError("%d models answered of %d that were asked" % (len(answers), len(part)))
            rows += [row(run, s, m) for s, m in zip(part, answers)]
    return rows


class ModelCounts(unittest.TestCase):
    maxDiff = None

    @classmethod
    def setUpClass(cls):
        cls.found = table()
        with open(TABLE, encoding="utf-8") as f:
            cls.expected = [line.rstrip("\n").split("\t") for line in f]

    def test_every_variant_is_of_a_model(self):
        self.assertEqual(sorted(set(VARIANTS) - set(models())), [])

    def test_counts(self):
        self.assertEqual(self.expected[0], HEADER)
        expected = {tuple(r[:2]): r for r in self.expected[1:]}
        found = {tuple(r[:2]): r for r in self.found}
        self.assertEqual(list(found), list(expected), "models or variants that are new, or gone: test_model_counts.py --update")
        wrong = []
        for key, got in found.items():
            for name, was, now in zip(HEADER, expected[key], got):
                if was != now:
                    wrong.append("%s %s: %s: %s expected, %s found" % (*key, name, was, now))
        self.assertFalse(wrong, "\n".join(wrong[:40]))

    def test_answers_are_legal(self):
        for r in self.found:
            self.assertEqual(r[HEADER.index("invalid")], "0", r)

    def test_sums(self):
        """Each answer has one rule and one distance."""
        for r in self.found:
            decided = int(r[HEADER.index("decided")])
            self.assertGreater(decided, 900)
            self.assertEqual(sum(int(r[HEADER.index("moved_" + k)]) for k in MOVES), decided, r)
            self.assertEqual(sum(int(x.split(":")[1].split("/")[0]) for x in r[-1].split()), decided, r)
            self.assertEqual(sum(int(x.split("/")[1]) for x in r[-1].split()), int(r[HEADER.index("agree_cpu")]), r)

    def test_variants_matter(self):
        """A parameter that changes no answer anywhere, and no count of CPUs looked at, would not be tested by this table."""
        by_model = {}
        for r in self.found:
            by_model.setdefault(r[1], []).append(r[2:])
        same = [spec for spec in by_model if "," in spec and by_model[spec] == by_model[spec.split(",", 1)[0]]]
        self.assertEqual(sorted(same), sorted(IDLE_HERE))


# Parameters for which these recordings hold no case; the unit tests of their models do.
IDLE_HERE = ["linux-3.1,balance-wake=1", "linux-3.2,balance-wake=1", "linux-3.4,balance-wake=1", "linux-6.1,recent-fix=off", "linux-6.1,sis-cache=v1",
             "linux-6.1,sis-node=on", "scx-rusty,greedy-numa=on"]

if __name__ == "__main__":
    if "--update" in sys.argv:
        rows = table()
        with open(TABLE, "w", encoding="utf-8") as a_file:
            for a_row in [HEADER, *rows]:
                a_file.write("\t".join(a_row) + "\n")
    else:
        unittest.main()
