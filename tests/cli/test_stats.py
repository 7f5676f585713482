#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""analyzer/stats/ on random data (tests/stats/stats_numbers.c) against tests/reference/stats.py."""
import math
import os
import random
import subprocess
import sys
import unittest
from fractions import Fraction

from cli import O, ROOT

sys.path.insert(0, os.path.join(os.path.dirname(os.path.dirname(os.path.abspath(__file__))), "reference"))
import stats  # noqa: E402

PROGRAM = os.path.join(O, "tests", "stats_numbers")
ROUNDS = 400 if os.environ.get("WAKEIF_FULL") else 60
QUANTILES = [Fraction(1, 2), Fraction(3, 4), Fraction(9, 10), Fraction(19, 20), Fraction(99, 100), Fraction(999, 1000), Fraction(9999, 10000)]


def text(*groups):
    return " / ".join(" ".join(repr(v) for v in g) for g in groups)


def ask(lines):
    """An answer a line, as lists of numbers; None: unknown."""
    p = subprocess.run([PROGRAM], input="".join(line + "\n" for line in lines), stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, timeout=300)
    assert (p.returncode, p.stderr) == (0, ""), p.stderr
    out = [[None if "nan" in w else float(w) for w in line.split()] for line in p.stdout.splitlines()]
    assert len(out) == len(lines)
    return out


def values(rng, n, kind=None):
    kind = kind or rng.choice(["normal", "skewed", "few", "shares", "huge", "signed", "equal"])
    return [{"normal": rng.gauss(100, 5), "skewed": rng.lognormvariate(10, 1), "few": float(rng.randrange(4)), "shares": rng.random(),
             "huge": rng.gauss(1e17, 1e10), "signed": rng.gauss(0, 1), "equal": 0.1}[kind] for _ in range(n)]


class Statistics(unittest.TestCase):
    def setUp(self):
        self.rng = random.Random(self.id())

    def near(self, got, want, relative, what, absolute=0.0):
        if want is None:
            self.assertIsNone(got, what)
            return
        self.assertIsNotNone(got, what)
        self.assertLessEqual(abs(got - float(want)), relative * abs(float(want)) + absolute, (got, float(want), what))

    def test_describe(self):
        data = [values(self.rng, self.rng.randrange(200)) for _ in range(ROUNDS * 5)]
        for v, got in zip(data, ask(["describe " + text(v) for v in data])):
            want = stats.describe(v)
            spread = float(want[3] or 0)
            self.near(got[0], want[0], 0, v)
            # A mean near 0 is as exact as the values that it is of.
            self.near(got[1], want[1], 1e-15, v, 1e-15 * max([abs(x) for x in v], default=0))
            self.near(got[2], want[2], 1e-13, v)
            self.near(got[3], want[3], 1e-13, v, 1e-16 * max([abs(x) for x in v], default=0) if spread else 0)
            self.near(got[4], want[4], 1e-9, v)
            self.near(got[5], want[5], 0, v)
            self.near(got[6], want[6], 0, v)

    def test_welch(self):
        data = [(values(self.rng, self.rng.randrange(60)), values(self.rng, self.rng.randrange(60))) for _ in range(ROUNDS * 2)]
        data += [([100 + self.rng.gauss(0, 1) for _ in range(n)], [100 + self.rng.gauss(0.5, 1) for _ in range(n)]) for n in (2, 3, 10, 300, 3000)]
        known = 0
        for (a, b), got in zip(data, ask(["welch " + text(a, b) for a, b in data])):
            want = stats.welch(a, b)
            if want is None:
                self.assertEqual(got, [None] * 3)
                continue
            known += 1
            # A mean is as exact as a number of its size can be.
            (_, va), (_, vb) = stats.mean_variance(a), stats.mean_variance(b)
            rounding = 2 ** -51 * max(map(abs, a + b)) / math.sqrt(va / len(a) + vb / len(b))
            self.near(got[0], want[0], 1e-11, (a, b), rounding)
            self.near(got[1], want[1], 1e-9, (a, b))
            # p of the t that was found: its own error does not count twice.
            self.near(got[2], stats.student_tails(got[0], got[1]), 1e-9, (a, b), 1e-300)
        self.assertGreater(known, ROUNDS)

    def test_beta(self):
        """Whole a, b: sums of binomial terms, as fractions."""
        cases = [(self.rng.randrange(1, 120), self.rng.randrange(1, 120), Fraction(self.rng.randrange(1, 1000), 1000)) for _ in range(ROUNDS)]
        for (a, b, x), got in zip(cases, ask(["beta %d %d %r" % (a, b, float(x)) for a, b, x in cases])):
            x = Fraction(float(x))
            n = a + b - 1
            want = sum(math.comb(n, k) * x ** k * (1 - x) ** (n - k) for k in range(a, n + 1))
            self.near(got[0], want, 1e-11, (a, b, x))

    def test_mwu(self):
        data = []
        for _ in range(ROUNDS):
            kind = self.rng.choice(["normal", "few", "equal", "shares"])
            data.append((values(self.rng, self.rng.randrange(13), kind), values(self.rng, self.rng.randrange(13), kind)))
        for na, nb, kind in ((20, 20, "few"), (31, 31, "few"), (16, 18, "normal"), (2, 60, "shares"), (5, 40, "normal"), (1, 100, "normal")):
            data.append((values(self.rng, na, kind), values(self.rng, nb, kind)))
        for (a, b), got in zip(data, ask(["mwu " + text(a, b) for a, b in data])):
            want = stats.mwu(a, b)
            if want is None:
                self.assertEqual(got[:2], [None, None])
                continue
            self.assertEqual(got[0], float(want[0]))
            self.near(got[1], want[1], 1e-12, (a, b))
            self.assertEqual(got[2], 1)

    def test_mwu_normal(self):
        data = [(values(self.rng, 40, k), [v + shift for v in values(self.rng, 35 + shift, k)]) for k in ("few", "normal", "equal", "skewed") for shift in range(4)]
        for (a, b), got in zip(data, ask(["mwu " + text(a, b) for a, b in data])):
            self.near(got[1], stats.mwu_normal(a, b), 1e-11, (a, b))
            self.assertEqual(got[2], 0)
        # Where both can be had, they are near: 24 against 24 without ties.
        a, b = values(self.rng, 24, "normal"), values(self.rng, 24, "normal")
        for shift in (0, 1, 2, 3):
            moved = [v + shift for v in b]
            self.assertAlmostEqual(float(stats.mwu(a, moved)[1]), stats.mwu_normal(a, moved), delta=0.005)

    def test_holm(self):
        data = [[self.rng.choice([self.rng.random() ** 4, 0.01, None]) for _ in range(self.rng.randrange(1, 40))] for _ in range(ROUNDS)]
        for p, got in zip(data, ask(["holm " + " ".join("nan" if x is None else repr(x) for x in p) for p in data])):
            for g, w in zip(got, stats.holm(p)):
                self.near(g, w, 1e-15, p)

    def test_order_statistics(self):
        """Of the values 1 to n, below 128, the ends of the interval are the ranks."""
        sizes = [1, 2, 5, 6, 7, 20, 50, 73, 100, 127]
        for n, got in zip(sizes, ask(["quantiles 1 " + text(list(range(1, n + 1))) for n in sizes])):
            for i, q in enumerate(QUANTILES):
                want = stats.order_statistics(n, q)
                self.assertEqual(got[2 * i:2 * i + 2], list(want) if want else [None, None], (n, q))

    def test_bootstrap(self):
        """The same method with other random numbers: the ends differ by what 4,000 and 10,000 resamples leave to chance."""
        resamples = 4000
        for na, nb, kind in ((8, 8, "normal"), (30, 12, "normal"), (20, 30, "skewed"), (60, 60, "skewed"), (25, 25, "shares")):
            a, b = values(self.rng, na, kind), [v * 1.1 for v in values(self.rng, nb, kind)]
            got = ask(["boot 1 " + text(a, b)])[0]
            for k, (low, high) in enumerate(stats.bootstrap(a, b, resamples, 1)):
                width = high - low
                self.assertAlmostEqual(got[2 + 2 * k], low, delta=0.07 * width, msg=(na, nb, kind))
                self.assertAlmostEqual(got[3 + 2 * k], high, delta=0.07 * width, msg=(na, nb, kind))

    def test_bootstrap_repeats(self):
        a, b = values(self.rng, 20, "skewed"), values(self.rng, 25, "skewed")
        mixed = list(reversed(a))
        one, same, turned, other = ask(["boot 1 " + text(a, b), "boot 1 " + text(a, b), "boot 1 " + text(mixed, b), "boot 2 " + text(a, b)])
        self.assertEqual(one, same)
        self.assertEqual(one, turned)
        self.assertEqual(one[:2], other[:2])
        self.assertNotEqual(one[2:], other[2:])

    def coverage(self, *args):
        """Rows of the two tables: [label cells, other cells]"""
        p = subprocess.run([os.path.join(O, "tests", "coverage"), *args], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, timeout=3000)
        self.assertEqual((p.returncode, p.stderr), (0, ""))
        rows = [[c.strip() for c in line.strip("|\n").split("|")] for line in p.stdout.splitlines() if line.startswith("| ")]
        return [(r[:3], r[3:]) for r in rows]

    def test_coverage_documented(self):
        """The tables of doc/statistics.md are those that the program prints; its figures take minutes."""
        with open(os.path.join(ROOT, "doc", "statistics.md"), encoding="utf-8") as f:
            lines = f.read().splitlines()
        labels = [label for label, _ in self.coverage("4", "1000")]
        self.assertGreater(len(labels), 90)
        documented = [[c.strip() for c in line.strip("|").split("|")][:3] for line in lines if line.startswith("| ")]
        for label in labels:
            self.assertIn(label, documented)

    @unittest.skipUnless(os.environ.get("WAKEIF_FULL"), "minutes")
    def test_coverage(self):
        """93 to 97 % from 30 values on; half a percent is chance in 1500 trials."""
        judged = 0
        for label, cells in self.coverage("1500", "1000"):
            if label[1] in ("30, 30", "100, 100"):
                judged += 1
                for share in map(float, cells[:2]):
                    self.assertTrue(92.5 <= share <= 97.5, (label, cells))
        self.assertEqual(judged, 16)

    def test_questions(self):
        p = subprocess.run([PROGRAM], input="what 1\n", stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        self.assertEqual((p.returncode, p.stdout, p.stderr), (1, "", "stats_numbers: no such question: what\n"))


if __name__ == "__main__":
    unittest.main()
