#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""Whole outputs of wakeif on samples/, byte for byte as in tests/golden/. "test_golden.py --update" writes them anew."""
import difflib
import os
import sys
import unittest

from cli import ROOT, WAKEIF
import subprocess

GOLDEN = os.path.join(ROOT, "tests", "golden")
AB = ["samples/wake-affine.db", "--a", "setting=default", "--b", "setting=no-wa"]
OUTPUTS = {
    "report-smt8-schbench.txt": ["report", "samples/smt8-schbench.dat"],
    "report-numa16-mix.txt": ["report", "-v", "samples/numa16-mix.dat"],
    "report-nosmt4-hackbench.txt": ["report", "samples/nosmt4-hackbench.dat"],
    "report-smt8-quota.txt": ["report", "samples/smt8-quota.txt.gz"],
    "report-smt8-forks.csv": ["report", "--csv", "samples/smt8-forks.dat.gz"],
    "report-smt8-policies-6.12.json": ["report", "--json", "samples/smt8-policies-6.12.dat"],
    "latency-smt8-schbench.txt": ["latency", "--by", "class", "--hist", "samples/smt8-schbench.dat"],
    "wakeups-smt8-schbench.txt": ["wakeups", "--worst", "30", "-t", "samples/smt8-schbench.dat"],
    "wakeups-numa16-mix.csv": ["wakeups", "--csv", "--class", "select,fork", "--time", "0%-20%", "samples/numa16-mix.dat"],
    "smt-smt8-forks.txt": ["smt", "--by", "tgid", "samples/smt8-forks.dat.gz"],
    "affine-numa16-mix.txt": ["affine", "--by", "waker-wakee", "samples/numa16-mix.dat"],
    "replay-numa16-mix.txt": ["replay", "-v", "-m", "prev", "-m", "idle-core-first", "-m", "pack", "-m", "least-loaded", "samples/numa16-mix.dat"],
    "replay-smt8-forks.json": ["replay", "--json", "-m", "waker", "-m", "oldest-idle", "samples/smt8-forks.dat.gz"],
    "topology-numa16-mix.txt": ["topology", "-v", "samples/numa16-mix.dat"],
    "events-smt8-quota.txt": ["events", "--time", ",240.95", "samples/smt8-quota.txt.gz"],
    "diff-wake-affine.json": ["diff", "--json", *AB, "--metric", "latency.wakeup.p99_ns,migrations.per_wakeup", "--histogram", "latency.queue_wait",
                              "--fail-if", "migrations.per_wakeup > +5%"],
    "diff-wake-affine.csv": ["diff", "--csv", *AB, "--histogram", "latency.wakeup"],
    "diff-wake-affine.md": ["diff", "--markdown", *AB, "--by", "topology", "--histogram", "latency.wakeup"],
    "trend-wake-affine.json": ["trend", "--json", "samples/wake-affine.db", "--metric", "latency.wakeup.p99_ns", "--by", "setting"],
    "runs-wake-affine.json": ["runs", "--json", "samples/wake-affine.db"],
}


def output(args):
    p = subprocess.run([WAKEIF, *args], cwd=ROOT, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, stdin=subprocess.DEVNULL, timeout=120)
    return p.stdout.decode("utf-8", "surrogateescape")


class Golden(unittest.TestCase):
    def test_no_file_too_many(self):
        self.assertEqual(sorted(os.listdir(GOLDEN)), sorted([*OUTPUTS, "model-counts.tsv"]))  # the table of test_model_counts.py


def add(name, args):
    def test(self):
        with open(os.path.join(GOLDEN, name), encoding="utf-8", errors="surrogateescape") as f:
            expected = f.read()
        real = output(args)
        if real != expected:
            diff = list(difflib.unified_diff(expected.splitlines(), real.splitlines(), "golden/" + name, "wakeif " + " ".join(args), lineterm="", n=1))
            self.fail("\n".join(diff[:60]))
        self.assertGreater(len(real.splitlines()), 5)

    setattr(Golden, "test_" + name.replace(".", "_").replace("-", "_"), test)


for a_name, some_args in OUTPUTS.items():
    add(a_name, some_args)

if __name__ == "__main__":
    if "--update" in sys.argv:
        os.makedirs(GOLDEN, exist_ok=True)
        for a_name, some_args in OUTPUTS.items():
            with open(os.path.join(GOLDEN, a_name), "w", encoding="utf-8", errors="surrogateescape") as a_file:
                a_file.write(output(some_args))
    else:
        unittest.main()
