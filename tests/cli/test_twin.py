#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""Twin experiment (tests/sim/twin.c): what a recording of the machine tells of a change, against the tapes it was made from.

Cells are changes of more than 5 % and three standard deviations over the seeds. On made-up worlds and the samples all bars hold. On the
recordings of the corpus (full) less is reached, most of what is missed in two of them (stacked pairs, schbench; doc/accuracy.md): there it
may not get worse."""
import os
import subprocess
import unittest

from cli import O, SAMPLES, SHARED

TWIN = os.path.join(O, "tests", "twin")
WORLDS = ["world:" + w for w in ("ping-pong", "stream", "hackbench", "requests", "make", "hogs", "mutexes", "crowd", "busy", "mix")]
TRACES = [os.path.join(SAMPLES, n) for n in ("smt8-schbench.dat", "smt8-forks.dat.gz", "numa16-mix.dat", "nosmt4-hackbench.dat")]
# Those that the machine was made with; the others are for judging it at the end.
CORPUS = ["61-smt8-schbench-full", "61-smt8-forks-full", "61-numa16-mix-full", "61-smt8-hb-pipe-none", "61-smt8-perfpipe-full",
          "61-numa16-pp-N-full", "61-nosmt4-schbench-full", "61-smt8-hb-thread", "61-smt8-cyclictest"]
FULL = bool(os.environ.get("WAKEIF_FULL"))


def twin(*args):
    p = subprocess.run([TWIN, *args], stdout=subprocess.PIPE, stderr=subprocess.PIPE, timeout=900)
    return p.returncode, p.stdout.decode(), p.stderr.decode()


def summary(out):
    """{row: (cells, direction, within 25 %, within 50 %)}"""
    rows = {}
    for line in out.splitlines():
        cells = [c.strip() for c in line.strip("|").split("|")]
        if line.startswith("| ") and len(cells) == 5 and cells[1].isdigit():
            rows[cells[0]] = tuple(int(c.split()[0]) for c in cells[1:])
    return rows


class Twin(unittest.TestCase):
    def run_twin(self, *args):
        status, out, err = twin(*args)
        self.assertEqual((status, err), (0, ""), out[-2000:])
        return out

    def test_bars(self):
        out = self.run_twin("-s", "8", *WORLDS, *TRACES)
        cells, direction, within_25, within_50 = summary(out)["all"]
        self.assertGreaterEqual(cells, 60, out)
        self.assertGreaterEqual(direction, 0.98 * cells, out)
        self.assertGreaterEqual(within_25, 0.80 * cells, out)
        self.assertGreaterEqual(within_50, 0.92 * cells, out)

    def test_work_survives(self):
        """The second extraction finds the work of the first tapes, and no start that it cannot explain."""
        for line in self.run_twin("-s", "2", "-v", *WORLDS, *TRACES).splitlines():
            part = line.split("\t")
            if part[0] == "tapes":
                self.assertEqual(part[4], "0 implied", line)
                self.assertAlmostEqual(float(part[6].split()[0]), 1, delta=0.003, msg=line)

    def test_repeats(self):
        args = ["-s", "2", "-v", "world:mix", TRACES[0]]
        self.assertEqual(self.run_twin(*args), self.run_twin(*args))

    @unittest.skipUnless(FULL, "the recordings of the corpus: only in the full run")
    def test_corpus(self):
        traces = [os.path.join(SHARED, "corpus", n, "trace.dat") for n in CORPUS]
        traces = [t for t in traces if os.path.exists(t)]
        if not traces:
            self.skipTest("no recordings")
        out = self.run_twin("-s", "8", *traces)
        print(out)
        cells, direction, within_25, within_50 = summary(out)["all"]
        self.assertGreaterEqual(direction, 0.95 * cells)
        self.assertGreaterEqual(within_25, 0.65 * cells)
        self.assertGreaterEqual(within_50, 0.80 * cells)

    def test_usage(self):
        for args in (["-s", "1", "world:mix"], ["-p", "0.2"], ["world:none"], ["missing.dat"]):
            self.assertNotEqual(twin(*args)[0], 0)


if __name__ == "__main__":
    unittest.main()
