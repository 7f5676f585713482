#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""wakeif diff and trend, held against numbers that are computed here anew, with fractions where that can be."""
import json
import math
import os
import random
import re
import unittest
from fractions import Fraction

from cli import SAMPLES, SCHBENCH, parse_csv
from sql_archive import ArchiveCli, order_statistics, quantile

A, B = ["--a", "kernel=6.1.*"], ["--b", "kernel=6.12.*"]
P99 = "latency.wakeup.p99_ns"      # lower is better
SUCCESS = "search.success"         # higher is better
COUNT = "wakeups.total"            # neither


def exact(values):
    """What a table tells of some values, from fractions."""
    v = [Fraction(x) for x in values]
    n, mean = len(v), sum(v) / len(v)
    var = sum((x - mean) ** 2 for x in v) / (n - 1) if n > 1 else None
    return {"n": n, "mean": mean, "hmean": n / sum(1 / x for x in v) if min(v) > 0 else None, "var": var, "min": min(v), "max": max(v)}


class Diff(ArchiveCli):
    def close_to(self, got, expected, what=""):
        self.assertTrue(math.isclose(got, float(expected), rel_tol=1e-12, abs_tol=1e-300), "%s: %r, not %r" % (what, got, float(expected)))

    def two_groups(self, name="a.db", order=None, n=6):
        """The groups' values of three metrics; written in any order they are the same archive."""
        rng = random.Random(7)
        runs = []
        for kernel, factor in (("6.1.5", 1.0), ("6.12.1", 0.8)):
            for i in range(n):
                runs.append((kernel, i, {P99: rng.randrange(90000, 110000) * factor, SUCCESS: rng.random(), COUNT: rng.randrange(1000)}))
        shuffled = list(runs)
        random.Random(order).shuffle(shuffled)
        db = self.archive(name)
        for kernel, i, values in shuffled if order is not None else runs:
            db.run(values, kernel=kernel, name="%s/%d.dat" % (kernel, i), tags={"nr": str(i % 2)})
        db.close()
        return db.path, runs

    def diff(self, db, *more):
        return json.loads(self.ok("diff", db, "--json", *more))["diff"]

    def metrics(self, db, *more):
        """{metric: {group: what is told}} of the only table"""
        (stratum,) = self.diff(db, *more)["strata"]
        return {m["metric"]: {g["name"]: g for g in m["groups"]} for m in stratum["metrics"]}

    def test_numbers(self):
        db, runs = self.two_groups()
        found = self.metrics(db, *A, *B, "--all")
        self.assertEqual(set(found), {P99, SUCCESS, COUNT})
        for metric in found:
            values = {g: [v[metric] for k, _, v in runs if k.startswith(g[:-1])] for g in ("6.1.*", "6.12.*")}
            for group, numbers in values.items():
                e, got = exact(numbers), found[metric][group]
                self.assertEqual((got["n"], got["unknown"]), (6, 0))
                for key in ("mean", "hmean", "min", "max"):
                    self.close_to(got[key], e[key], (metric, group, key))
                self.close_to(got["stddev"] ** 2, e["var"])
                self.close_to(got["cv"], math.sqrt(e["var"]) / e["mean"])
            a, b = exact(values["6.1.*"]), exact(values["6.12.*"])
            against = found[metric]["6.12.*"]["against_baseline"]
            self.assertNotIn("against_baseline", found[metric]["6.1.*"])
            self.close_to(against["diff"], b["mean"] - a["mean"])
            self.close_to(against["ratio"], b["mean"] / a["mean"] - 1)
            self.close_to(against["welch"]["t"], float(b["mean"] - a["mean"]) / math.sqrt(a["var"] / 6 + b["var"] / 6))
            self.close_to(against["welch"]["df"], (a["var"] / 6 + b["var"] / 6) ** 2 / ((a["var"] / 6) ** 2 / 5 + (b["var"] / 6) ** 2 / 5))
            self.assertEqual(against["mann_whitney"]["u"],
                             sum((x < y) + Fraction(x == y, 2) for x in values["6.1.*"] for y in values["6.12.*"]))
            self.assertTrue(against["mann_whitney"]["exact"])
            self.assertLess(against["diff_low"], against["diff"])
            self.assertLess(against["diff"], against["diff_high"])
            self.assertEqual(against["significant"], not against["ratio_low"] <= 0 <= against["ratio_high"])

    def test_directions(self):
        db, _ = self.two_groups()
        changes = {m["metric"]: (m["better"], m["unit"], m["groups"][1]["against_baseline"]["change"]) for m in self.diff(db, *A, *B, "--all")["strata"][0]["metrics"]}
        self.assertEqual(changes[P99], ("lower", "ns", "better"))
        self.assertEqual(changes[SUCCESS][:2], ("higher", "share"))
        self.assertEqual(changes[COUNT][:2], ("none", "count"))
        backwards = self.metrics(db, *A, *B, "--all", "--baseline", "6.12.*")
        self.assertEqual(backwards[P99]["6.1.*"]["against_baseline"]["change"], "worse")

    def test_holm(self):
        """The correction is over the metrics shown times the groups that are no baseline."""
        db, _ = self.two_groups()
        found = self.metrics(db, *A, *B, "--all")
        p = sorted((m["6.12.*"]["against_baseline"]["welch"]["p"], m["6.12.*"]["against_baseline"]["welch"]["p_holm"]) for m in found.values())
        most = 0
        for i, (raw, holm) in enumerate(p):
            most = max(most, min(1, raw * (len(p) - i)))
            self.close_to(holm, most)
        alone = self.metrics(db, *A, *B, "--metric", P99)[P99]["6.12.*"]["against_baseline"]
        self.assertEqual(alone["welch"]["p"], alone["welch"]["p_holm"])
        self.assertEqual(alone["diff_low"], found[P99]["6.12.*"]["against_baseline"]["diff_low"])

    def test_same_bytes(self):
        """Rows written in any order, same output; other seeds move intervals a little, nothing else."""
        first, _ = self.two_groups("1.db")
        self.two_groups("2.db", order=3)
        for form in (["--json"], ["--csv"], ["--markdown"], ["--stats"]):
            one, two = (self.ok("diff", name, *A, *B, "--all", *form).replace(name, "DB") for name in ("1.db", "2.db"))
            self.assertEqual(one, two)
        seeds = [self.metrics(first, *A, *B, "--metric", P99, "--seed", s)[P99]["6.12.*"]["against_baseline"] for s in ("1", "1", "2")]
        self.assertEqual(seeds[0], seeds[1])
        self.assertNotEqual(seeds[0]["diff_low"], seeds[2]["diff_low"])
        self.assertEqual({k: v for k, v in seeds[0].items() if "low" not in k and "high" not in k},
                         {k: v for k, v in seeds[2].items() if "low" not in k and "high" not in k})
        width = seeds[0]["diff_high"] - seeds[0]["diff_low"]
        self.assertLess(abs(seeds[0]["diff_low"] - seeds[2]["diff_low"]), width / 10)

    def test_text(self):
        """By hand: 19.9 20 20.1 20.4, and 10 less; then what is unknown of one run."""
        db = self.archive()
        for kernel, less in (("6.1.1", 0), ("6.12.1", 10)):
            for v in (19.9, 20, 20.1, 20.4):
                db.run({P99: v - less, SUCCESS: (v - less) / 40}, kernel=kernel)
        db.run({P99: 30}, kernel="6.12.2")
        db.run(kernel="6.12.3", status="crashed", reason="a fault", signal=11)
        db.close()
        text = self.ok("diff", db.path, *A, "--b", "kernel=6.12.1", "--all")
        rows = {tuple(line.split()[:2]): line for line in text.splitlines() if line.startswith(("Amean", "Hmean", "Stddev", "CoeffVar", "Max", "Min"))}
        self.assertEqual(set(rows), {(r, P99) for r in ("Amean", "Stddev", "CoeffVar", "Max")} | {(r, SUCCESS) for r in ("Amean", "Hmean", "Stddev", "CoeffVar", "Min")})
        # (20.1 - 10.1) / 20.1 = 49.75 %: less is better; of the share it is 49.75 % worse.
        self.assertRegex(rows["Amean", P99], r" 20\.10 \(   0\.00%\) +10\.10 \*  49\.75%\*$")
        self.assertRegex(rows["Amean", SUCCESS], r" 0\.5025 \(   0\.00%\) +0\.2525 \* -49\.75%\*$")
        # Deviations from the mean 0.2 0.1 0 0.3: their squares sum up to 0.14, a third of it is 0.04667, its root 0.2160.
        self.assertRegex(rows["Stddev", P99], r" 0\.2160 \(   0\.00%\) +0\.2160 \( +-?0\.00%\)$")
        self.assertRegex(rows["CoeffVar", P99], r" 1\.075 \(   0\.00%\) +2\.139 \( -99\.01%\)$")
        self.assertRegex(rows["Max", P99], r" 20\.40 \(   0\.00%\) +10\.40 \(  49\.02%\)$")
        self.assertRegex(rows["Min", SUCCESS], r" 0\.4975 \(   0\.00%\) +0\.2475 \( -50\.25%\)$")
        text = self.ok("diff", db.path, *A, *B, "--all")
        self.assertIn("  6.12.*  kernel=6.12.*: 6 runs, 1 without results (1 crashed)\n", text)
        self.assertRegex(text, r"\nUnknown +search\.success +0 of 4 +1 of 5\n")
        self.assertNotRegex(text, r"\nUnknown +latency")

    def test_widths(self):
        """Two groups are ready for a mail; more make several tables of the same width."""
        db = self.archive()
        for kernel in ("6.1", "6.6", "6.12", "7.0"):
            for i in range(3):
                db.run({"missed_idle.half_busy_core.llc.avoidable_ns": 10 ** 9 + i, P99: 10 ** 6 * i + 1, "missed_idle.queued_while_idle_core.machine.share": 0.5},
                       kernel=kernel)
        db.close()
        groups = [w for k in ("6.1", "6.6", "6.12", "7.0") for w in ("--group", "%s=kernel=%s" % (k, k))]
        for args in (groups, groups[:4], groups + ["--stats"], groups[:4] + ["--stats"]):
            text = self.ok("diff", db.path, "--all", *args)
            body = text.split("\n\n", 1)[1].splitlines()
            self.assertGreaterEqual(max(map(len, body)), 72)
            self.assertLessEqual(max(map(len, body)), 100, max(body, key=len))
            self.assertEqual([line for line in text.splitlines() if line != line.rstrip()], [])
        for k in ("6.6", "6.12", "7.0"):
            self.assertEqual(len(re.findall(r"^ .* %s$|^ .* %s +7\.0$" % (re.escape(k), re.escape(k)), self.ok("diff", db.path, *groups), re.M)), 1)

    def test_single(self):
        """One run each: values and difference, and that there is no interval."""
        db = self.archive()
        db.run({P99: 100}, kernel="6.1.0")
        db.run({P99: 90}, kernel="6.12.0")
        db.close()
        text = self.ok("diff", db.path, *A, *B)
        self.assertRegex(text, r"\nValue latency\.wakeup\.p99_ns +100\.00 \(   0\.00%\) +90\.00 \(  10\.00%\)\n")
        self.assertIn("\nno interval for 1 of 1 differences: too few values\n", text)
        self.assertNotIn("Stddev", text)
        got = self.metrics(db.path, *A, *B)[P99]["6.12.*"]
        self.assertNotIn("stddev", got)
        self.assertNotIn("diff_low", got["against_baseline"])
        self.assertFalse(got["against_baseline"]["significant"])
        self.assertEqual(got["against_baseline"]["change"], "unknown")

    def test_forms_agree(self):
        db, _ = self.two_groups()
        found = self.metrics(db, *A, *B, "--all")
        rows = parse_csv(self, self.ok("diff", db, *A, *B, "--all", "--csv"))
        self.assertEqual(len(rows), 6)
        for row in rows:
            got = found[row["metric"]][row["group"]]
            for key in ("mean", "hmean", "stddev", "cv", "min", "max"):
                self.assertEqual(float(row[key]), got[key])
            if row["baseline"] == "1":
                self.assertEqual(row["diff"], "")
                continue
            against = got["against_baseline"]
            for key in ("diff", "diff_low", "diff_high", "ratio", "ratio_low", "ratio_high"):
                self.assertEqual(float(row[key]), against[key])
            self.assertEqual(float(row["welch_p"]), against["welch"]["p"])
            self.assertEqual(float(row["mwu_holm"]), against["mann_whitney"]["p_holm"])
            self.assertEqual(row["change"], against["change"])
        table = [line for line in self.ok("diff", db, *A, *B, "--all", "--markdown").splitlines() if line.startswith("|")]
        self.assertEqual({len(re.findall(r"(?<!\\)\|", line)) for line in table}, {18})
        self.assertEqual(len(table), 2 + 6)

    def test_by(self):
        """One table a stratum, in the order of people, the unknown last; what lacks a group is named and not compared."""
        db = self.archive()
        for kernel, shift in (("6.1.0", 0), ("6.12.0", 10)):
            for size in ("2", "10"):
                for i in range(3):
                    db.run({P99: 100 * int(size) + shift + i}, kernel=kernel, tags={"size": size, "os": "x, y"})
            db.run({P99: 5}, kernel=kernel)
        db.run({P99: 1}, kernel="6.1.0", tags={"size": "33", "os": "x, y"})
        db.close()
        strata = self.diff(db.path, *A, *B, "--by", "size,os")["strata"]
        self.assertEqual([s["values"] for s in strata], [{"size": "2", "os": "x, y"}, {"size": "10", "os": "x, y"}, {"size": "33", "os": "x, y"}, {}])
        self.assertEqual([s["runs"] for s in strata], [[3, 3], [3, 3], [1, 0], [1, 1]])
        self.assertEqual([s["compared"] for s in strata], [True, True, False, True])
        for s, mean in zip(strata[:2], (201, 1001)):
            self.assertEqual(s["metrics"][0]["groups"][0]["mean"], mean)
            self.assertEqual(s["metrics"][0]["groups"][1]["mean"], mean + 10)
        text = self.ok("diff", db.path, *A, *B, "--by", "size")
        self.assertEqual(re.findall(r"^size[= ].*", text, re.M), ["size=2: 3, 3 runs", "size=10: 3, 3 runs", "size unknown: 1, 1 runs"])
        self.assertIn("\nnot compared: size=33 has no runs of 6.12.*\n", text)
        for form in ("--csv", "--markdown"):
            self.ok("diff", db.path, *A, *B, "--by", "size", form)

    def test_many_groups(self):
        db = self.archive()
        for k in range(5):
            for i in range(4):
                db.run({P99: 100 * (k + 1) + i}, tags={"g": str(k)})
        db.close()
        groups = [w for k in range(5) for w in ("--group", "n%d=g=%d" % (k, k))]
        found = self.metrics(db.path, *groups, "--baseline", "n2")[P99]
        for k in range(5):
            if k == 2:
                self.assertNotIn("against_baseline", found["n2"])
            else:
                self.close_to(found["n%d" % k]["against_baseline"]["ratio"], Fraction(2 * (100 * (k + 1)) + 3, 603) - 1)
        refused = self.refused(2, "diff", db.path, *groups, "--baseline", "n7")
        self.assertIn("n7", refused)

    def test_names_of_metrics(self):
        """Brackets of paths are brackets, commas within them belong to the path; names stand in the order of the patterns, once."""
        model = "models[pack,depth=2].agree.cpu_share"
        db = self.archive()
        for kernel in ("6.1.0", "6.12.0"):
            db.run({model: 0.5, "models[p].agree.cpu_share": 0.25, P99: 5, "latency.wakeup.p50_ns": 3, COUNT: 7}, kernel=kernel)
        db.close()
        for patterns, names in (
            ([model + "," + P99], [model, P99]),
            ([P99, model], [P99, model]),
            (["models[p*].agree.cpu_share"], ["models[p].agree.cpu_share", model]),
            (["models[p].*"], ["models[p].agree.cpu_share"]),
            ([COUNT, "latency.wakeup.p?0_ns|" + COUNT + "," + P99], [COUNT, "latency.wakeup.p50_ns", P99]),
        ):
            with self.subTest(patterns=patterns):
                (stratum,) = self.diff(db.path, *A, *B, *[w for p in patterns for w in ("--metric", p)])["strata"]
                self.assertEqual([m["metric"] for m in stratum["metrics"]], names)
        (stratum,) = self.diff(db.path, *A, *B)["strata"]
        self.assertEqual([m["metric"] for m in stratum["metrics"]], ["latency.wakeup.p50_ns", P99])
        self.assertEqual(stratum["metrics"][0]["unit"], "ns")

    def test_names_of_groups(self):
        """Titles that would be cut to the same text are letters; the head tells whose."""
        db = self.archive()
        for w in "xy":
            for k in ("6.1.0-57-amd64-with-a-long-name", "6.12"):
                for i in range(3):
                    db.run({P99: 100 + i}, kernel=k, tags={"w": w})
        db.close()
        long = "kernel=6.1.0-57-amd64-with-a-long-name,w=%s"
        text = self.ok("diff", db.path, "--a", long % "x", "--b", long % "y", "--baseline", "b")
        self.assertIn("\n  a  %s: 3 runs\n  b  %s: 3 runs, baseline\n\n" % (long % "x", long % "y"), text)
        self.assertRegex(text, r"\n {20,}b {10,}a\n")
        text = self.ok("diff", db.path, "--a", "kernel=6.12,w=x", "--b", long % "y")
        self.assertRegex(text, r"\n +kernel=6\.12,w=x +kernel=6\.1\.0-57-amd64-w\+\n")
        text = self.ok("diff", db.path, "--a", "kernel=6.12", "--b", "w=x,kernel!=6.12", "--select", "w=x")
        self.assertIn("  6.12              kernel=6.12: 3 runs, baseline\n", text)

    def test_refused(self):
        db, _ = self.two_groups()
        for args, words in (
            ([*A, "--b", "kernel=6.1.5"], "overlap"),
            ([*A, "--b", "kernel=5.*"], "no run matches 'kernel=5.*'"),
            ([*A], "two groups"),
            ([*A, *B, "--metric", "latency.wakeup.p99"], "did you mean '%s'" % P99),
            ([*A, *B, "--metric", "nothing.*"], "no metric of these runs matches 'nothing.*'"),
            ([*A, *B, "--histogram", "latency.wakeup"], "no histogram of these runs is named 'latency.wakeup'"),
            ([*A, *B, "--group", "x"], "--group"),
            ([*A, *B, "--fail-if", P99], "no comparison"),
            ([*A, *B, "--fail-if", P99 + " > 5%"], "needs its sign"),
            ([*A, *B, "--fail-if", P99 + " > +5% maybe"], "behind the number"),
            ([*A, *B, "--fail-if", "> 5"], "no metric before"),
            ([*A, *B, "--fail-if", P99 + " > x"], "no number"),
            ([*A, *B, "--fail-if", P99 + " > 0x10"], "no number"),
            ([*A, *B, "--fail-if", P99 + " > -0X10"], "no number"),
            ([*A, *B, "--fail-if", P99 + " > +nan%"], "no number"),
            (["--a", "kernel", *B], "kernel"),
            ([*A, *B, "-m", "prev"], "batch -m"),
            ([*A, *B, "--time", "10%-20%"], "batch takes them"),
        ):
            with self.subTest(args=args):
                self.assertIn(words, self.refused(2, "diff", db, *args))
        self.refused(3, "diff", self.write("b.db", b"SQLite format 3\0" + b"\0" * 5000), *A, *B)
        self.assertIn("nothing to compare", self.refused(2, "diff", SCHBENCH))
        self.assertIn("wakeif merge", self.refused(2, "diff", db, db))

    def test_twice(self):
        """A trace analysed in two ways is no two measurements."""
        db = self.archive()
        for kernel in ("6.1.0", "6.12.0"):
            for i in range(2):
                for model in ("prev", "pack,x"):
                    name = "%s-%d.dat" % (kernel, i)
                    db.run({P99: 5 + len(model)}, kernel=kernel, name=name, analysis='{"models": ["%s"]}' % model)
        db.close()
        err = self.refused(2, "diff", db.path, *A, *B)
        self.assertIn("--analysis", err)
        self.assertIn("pack", err)
        self.assertEqual(self.metrics(db.path, *A, *B, "--analysis", "*prev*")[P99]["6.1.*"]["mean"], 9)
        self.assertEqual(self.metrics(db.path, *A, *B, "--analysis", '*"pack,x"*')[P99]["6.12.*"]["mean"], 11)

    def test_hostile_names(self):
        """Who wrote the archive cannot control the terminal, break a row or a Markdown table."""
        evil = "x\033[2J\u202e|`<b>\n,\"*"
        db = self.archive()
        for kernel in ("6.1.0", "6.12.0"):
            for i in range(3):
                db.run({P99: 5 + i, "latency." + evil + "_ns": i + 1}, kernel=kernel + evil, tags={"w": evil}, name=evil + kernel + str(i),
                       hists={"latency." + evil: [i, 2000]})
        db.close()
        a, b = ["--a", "kernel=6.1.*"], ["--b", "kernel=6.12.*"]
        gate = ["--fail-if", "latency.x*_ns > +500%"]
        for args in (["diff", db.path, *a, *b, "--all", "--by", "w", "--histogram", "*", "--stats", *gate],
                     ["diff", db.path, *a, *b, "--all", "--by", "w", "--histogram", "*", "--markdown", *gate],
                     ["diff", db.path, "--a", "kernel=6.1.*,w=" + evil.replace("|", "\\|").replace(",", "\\,").replace("*", "\\*"), *b],
                     ["diff", db.path, "--group", "g\033=kernel=6.1.*", *b, "--fail-if", "\033 > 1"],
                     ["trend", db.path, "--metric", "*", "--by", "w"], ["trend", db.path, "--metric", P99, "--by", "kernel"],
                     ["runs", db.path], ["runs", "-v", db.path]):
            _, out, err = self.run_text(*args)
            for c in out + err:
                self.assertTrue(c == "\n" or c.isprintable(), (args, c, out[:1000]))
            self.assertGreater(len(out), 100, err)
        table = self.ok("diff", db.path, *a, *b, "--all", "--markdown")
        self.assertEqual({len(re.findall(r"(?<!\\)\|", line)) for line in table.splitlines() if line.startswith("|")}, {18})
        self.assertNotIn("<b>", table.replace("\\<b\\>", ""))
        for args in (["diff", db.path, *a, *b, "--all", "--csv", "--by", "w"], ["trend", db.path, "--metric", "*", "--by", "w", "--csv"], ["runs", "--csv", db.path]):
            parse_csv(self, self.ok(*args))
        (stratum,) = self.diff(db.path, *a, *b, "--all", "--by", "w")["strata"]
        self.assertEqual(stratum["values"]["w"], evil)

    # ---- gates ----

    def gated(self, status, *gates, db=None, more=()):
        got, out, err = self.run_text("diff", db or self.gate_db, *A, *B, *[w for g in gates for w in ("--fail-if", g)], *more)
        self.assertEqual(got, status, "%s: %s%s" % (gates, out[-400:], err))
        lines = [line for line in out.splitlines() if line.startswith("gate ")]
        return lines, err

    def gates_db(self):
        """p99 100 -> 110 for certain, the share 0.5 -> 0.45 by chance, a count from 0 to 3, a single value without interval."""
        db = self.archive("g.db")
        for i in range(5):
            db.run({P99: 99 + i / 2, SUCCESS: 0.1 + i / 5, "missed_idle.llc.count": 0, "migrations.total": 0, "only.in.a": 1}, kernel="6.1.%d" % i)
            db.run({P99: 109 + i / 2, SUCCESS: 0.05 + i / 5, "missed_idle.llc.count": 3, "migrations.total": 0}, kernel="6.12.%d" % i)
        db.close()
        self.gate_db = db.path

    def test_gate_verdicts(self):
        self.gates_db()
        for gate, status, words in (
            (P99 + " > +5%", 5, "FAILED: +10.00 %, from 100 to 110"),
            (P99 + " > +10%", 0, "passed: +10.00 %"),
            (P99 + " > +9.9%", 5, "FAILED"),
            (P99 + " < -3%", 0, "passed"),
            (P99 + ">1.05x", 5, "FAILED: 1.1x, from 100 to 110"),
            (P99 + " > 1.2x", 0, "passed"),
            (P99 + " > 1x", 5, "FAILED: 1.1x"),
            (P99 + " > 2x", 0, "passed: 1.1x"),
            (P99 + " > 109", 5, "FAILED: 110"),
            (P99 + " > 120", 0, "passed: 110"),
            (P99 + " < 120", 5, "FAILED: 110"),
            (P99 + " > +0%", 5, "FAILED"),
            (P99 + " > +5% significant", 5, "FAILED: +10.00 %, from 100 to 110, significant"),
            (SUCCESS + " < -5%", 5, "FAILED: -10.00 %, from 0.5 to 0.45"),
            (SUCCESS + " < -5% significant", 0, "passed: -10.00 %, from 0.5 to 0.45, which may be chance"),
            ("missed_idle.llc.count > +500%", 5, "FAILED: from 0 to 3"),
            ("missed_idle.llc.count > 1000x", 5, "FAILED: from 0 to 3"),
            ("migrations.total > +0%", 0, "passed: +0.00 %, from 0 to 0"),
            ("only.in.a > +5%", 5, "FAILED (cannot be judged): not measured"),
            ("only.in.a < 5", 5, "FAILED (cannot be judged): not measured"),
            ("latency.wakeup.p98_ns > +5%", 5, "did you mean '%s'" % P99),
            ("nothing.* > +5%", 5, "FAILED (cannot be judged)"),
            ("*p99_ns > +5%", 5, "FAILED: +10.00 %"),
            ("*s* > +11%", 5, "missed_idle.llc.count: from 0 to 3"),
        ):
            with self.subTest(gate=gate):
                lines, err = self.gated(status, gate)
                self.assertEqual(len(lines), 1, lines)
                self.assertTrue(lines[0].startswith("gate '%s' " % gate), lines)
                self.assertIn(words, lines[0])
                self.assertEqual(err, "wakeif: 1 of 1 verdicts of gates failed\n" if status else "")

    def test_gates_together(self):
        self.gates_db()
        lines, err = self.gated(5, P99 + " > +50%", P99 + " > +5%", SUCCESS + " < -50%")
        self.assertEqual([("passed" in line, "FAILED" in line) for line in lines], [(True, False), (False, True), (True, False)])
        self.assertEqual(err, "wakeif: 1 of 3 verdicts of gates failed\n")
        self.gated(0, P99 + " > +50%", SUCCESS + " < -50%")
        status, out, err = self.run_text("diff", self.gate_db, *A, *B, "--json", "--fail-if", P99 + " > +5%", "--fail-if", "x > 1")
        self.assertEqual(status, 5)
        gates = json.loads(out)["diff"]["gates"]
        self.assertEqual([(g["passed"], g["judged"]) for g in gates], [(False, True), (False, False)])
        self.assertEqual(gates[0]["metric"], P99)
        for form in ("--csv", "--markdown"):
            status, out, err = self.run_text("diff", self.gate_db, *A, *B, form, "--fail-if", P99 + " > +5%")
            self.assertEqual(status, 5)
            self.assertIn(P99 + " > +5%", out if form == "--markdown" else err)
        self.assertEqual(self.run_text("diff", "-q", self.gate_db, *A, *B, "--fail-if", P99 + " > +5%")[0::2], (5, ""))

    def test_gate_strata(self):
        db = self.archive()
        for w, factor in (("calm", 1), ("wild", 2)):
            for i in range(3):
                db.run({P99: 100 + i}, kernel="6.1.%d" % i, tags={"w": w})
                db.run({P99: factor * (100 + i)}, kernel="6.12.%d" % i, tags={"w": w})
        db.run({P99: 1}, kernel="6.1.9", tags={"w": "new"})
        db.close()
        lines, _ = self.gated(5, P99 + " > +5%", db=db.path, more=["--by", "w"])
        self.assertEqual([re.sub(r"^gate '[^']*' at ", "", line).split(":")[0] for line in lines],
                         ["w=calm passed", "w=new FAILED (cannot be judged)", "w=wild FAILED"])
        self.assertIn("no runs of 6.12.*", lines[1])
        self.assertEqual(len(self.gated(5, P99 + " > +5%", db=db.path)[0]), 1)

    def test_gate_without_interval(self):
        """"significant" of single runs: it moved, and nobody can tell whether that is chance."""
        db = self.archive()
        db.run({P99: 100}, kernel="6.1.0")
        db.run({P99: 200}, kernel="6.12.0")
        db.close()
        self.assertIn("too little is known", self.gated(5, P99 + " > +5% significant", db=db.path)[0][0])
        self.gated(0, P99 + " > +150% significant", db=db.path)
        self.gated(5, P99 + " > +5%", db=db.path)

    # ---- histograms ----

    def test_quantiles(self):
        rng = random.Random(3)
        db, waits = self.archive(), {"6.1.0": [], "6.12.0": []}
        for kernel, mu in (("6.1.0", 10), ("6.12.0", 9)):
            for i in range(6):
                part = [int(rng.lognormvariate(mu, 1)) for _ in range(400)]
                waits[kernel] += part
                db.run({P99: quantile(part, 0.99)}, kernel=kernel, hists={"latency.wakeup": part}, name="%s/%d" % (kernel, i))
        db.close()
        (stratum,) = self.diff(db.path, *A, *B, "--histogram", "latency.wakeup")["strata"]
        (hist,) = stratum["histograms"]
        for group, kernel in zip(hist["groups"], ("6.1.0", "6.12.0")):
            self.assertEqual((group["runs"], group["count"]), (6, 2400))
            self.assertEqual(sum(n for _, _, n in group["histogram"]), 2400)
            for name, q in (("p50", 0.5), ("p75", 0.75), ("p90", 0.9), ("p95", 0.95), ("p99", 0.99), ("p99.9", 0.999), ("p99.99", 0.9999)):
                got = group["quantiles"][name]
                self.assertEqual(got["ns"], quantile(waits[kernel], q), name)
                if "low_ns" in got:
                    self.assertTrue(got["low_ns"] <= got["ns"] <= got["high_ns"])
            self.assertIn("low_ns", group["quantiles"]["p50"])
            self.assertNotIn("low_ns", group["quantiles"]["p99.99"])
        self.assertTrue(hist["groups"][1]["quantiles"]["p50"]["significant"])
        text = self.ok("diff", db.path, *A, *B, "--histogram", "latency.*")
        self.assertRegex(text, r"\np50 +.*\* +[0-9.]+%\*\n")
        self.assertIn("# both, - more in 6.1.*, + more in 6.12.*\n", text)
        bars = re.findall(r"^ *[0-9.]+ (?:ns|us|ms|s) +(\S+) +(\S+)  (#*)(-*)(\+*)$", text, re.M)
        self.assertGreater(len(bars), 5)
        for a, b, both, more_a, more_b in bars:
            self.assertFalse(more_a and more_b)
            if a not in ("0", "<0.1") and b not in ("0", "<0.1"):
                self.assertTrue(both)
                self.assertGreaterEqual((float(a) - float(b)) * (len(more_a) - len(more_b)), 0)
        for column in (0, 1):
            self.assertAlmostEqual(sum(0.05 if b[column] == "<0.1" else float(b[column]) for b in bars), 100, delta=1.5)
        tables = self.ok("diff", db.path, *A, *B, "--csv", "--histogram", "latency.wakeup").split("\n# table quantiles\n")
        rows = parse_csv(self, tables[1])
        self.assertEqual(len(rows), 14)
        self.assertEqual({float(r["ns"]) for r in rows if r["quantile"] == "p50"}, {quantile(w, 0.5) for w in waits.values()})
        self.assertLessEqual(max(map(len, text.split("\n\n", 1)[1].splitlines())), 100)

    def test_quantiles_of_single_runs(self):
        """One run each: the interval is that of order statistics, from exact binomial sums; of several against one there is none."""
        rng = random.Random(9)
        db = self.archive()
        waits = {"6.1.0": [int(rng.lognormvariate(10, 1)) for _ in range(300)], "6.12.0": [int(rng.lognormvariate(12, 1)) for _ in range(40)]}
        for kernel, part in waits.items():
            db.run({P99: 1}, kernel=kernel, hists={"latency.wakeup": part})
        for i in range(5):
            db.run({P99: 1}, kernel="6.6.%d" % i, hists={"latency.wakeup": waits["6.1.0"][i:]})
        db.close()
        (stratum,) = self.diff(db.path, *A, *B, "--group", "6.6=kernel=6.6.*", "--histogram", "latency.wakeup")["strata"]
        groups = stratum["histograms"][0]["groups"]
        known = 0
        for group, kernel in zip(groups, waits):
            for name, q in (("p50", "0.5"), ("p75", "0.75"), ("p90", "0.9"), ("p95", "0.95"), ("p99", "0.99"), ("p99.9", "0.999")):
                got, expected = group["quantiles"][name], order_statistics(waits[kernel], q)
                self.assertEqual((got.get("low_ns"), got.get("high_ns")), expected or (None, None), (kernel, name))
                known += expected is not None
        self.assertEqual(known, 7)
        self.assertTrue(groups[1]["quantiles"]["p50"]["significant"])
        self.assertIn("low_ns", groups[2]["quantiles"]["p50"])
        self.assertEqual(groups[2]["quantiles"]["p50"]["no_diff_interval"], "one run against several")
        self.assertFalse(groups[2]["quantiles"]["p50"]["significant"])

    # ---- traces ----

    def test_two_traces(self):
        numa = os.path.join(SAMPLES, "numa16-mix.dat")
        found = self.metrics(SCHBENCH, numa, "--all")
        for path in (SCHBENCH, numa):
            report = self.json(path)
            for metric in (P99, "missed_idle.half_busy_core.llc.count", "wakeups.total", "idle_while_waiting.llc.wall_ns", "smt.busy_threads_ns[1]"):
                at = report
                for key in re.findall(r"[^.\[\]]+", metric):
                    at = at[int(key) if key.isdigit() else key]
                self.assertEqual(found[metric][os.path.basename(path)]["mean"], at, metric)
        text = self.ok("diff", SCHBENCH, numa, "--histogram", "latency.wakeup")
        self.assertIn("  smt8-schbench.dat  %s: 1 run, baseline\n" % SCHBENCH, text)
        self.assertRegex(text, r"\np50 +\S+ \S+ \[ *\S+ \S+, +\S+ \S+\]")
        self.assertEqual(self.run_text("diff", "-q", SCHBENCH, numa, "--fail-if", P99 + " > 1")[0], 5)
        self.assertIn("models[prev].agree.cpu_share", self.metrics(SCHBENCH, numa, "--all", "-m", "prev"))
        swapped = self.metrics(numa, SCHBENCH, "--metric", P99)
        self.assertEqual(swapped[P99]["numa16-mix.dat"]["mean"], found[P99]["numa16-mix.dat"]["mean"])

    def test_traces_refused(self):
        numa = os.path.join(SAMPLES, "numa16-mix.dat")
        with open(SCHBENCH, "rb") as f:
            whole = f.read()
        copy = self.write("copy.dat", whole)
        self.assertIn("are the same trace", self.refused(2, "diff", SCHBENCH, copy))
        self.refused(3, "diff", SCHBENCH, self.write("junk.dat", b"junk" * 100))
        self.refused(1, "diff", SCHBENCH, self.path("nowhere.dat"))
        cut = self.write("cut.dat", whole[:len(whole) * 9 // 10])
        status, out, err = self.run_text("diff", numa, cut, "--metric", P99)
        self.assertEqual(status, 4, err)
        self.assertIn("1 run, 1 damaged, 1 with a guessed topology", out)
        self.assertIn("cut.dat", err)
        self.assertIn("--by", self.refused(2, "diff", SCHBENCH, numa, "--by", "kernel"))

    # ---- trend ----

    def test_trend(self):
        db = self.archive()
        days = {"2026-01-09": [10, 12, 14], "2026-01-10": [20, 22, 24], "2026-02-01": [20, 22, 24], None: [5]}
        for day, values in days.items():
            for v in values:
                db.run({P99: v}, tags={"date": day + "T10:00:00"} if day else {})
        db.run({SUCCESS: 1}, tags={"day": "2026-01-20"})
        db.run(tags={"day": "2026-01-20"}, status="timeout", reason="60 s")
        db.close()
        trend = json.loads(self.ok("trend", db.path, "--metric", P99, "--by", "day", "--json"))["trend"]
        (series,) = trend["metrics"]
        points = series["points"]
        self.assertEqual([p.get("value") for p in points], ["2026-01-09", "2026-01-10", "2026-01-20", "2026-02-01", None])
        self.assertEqual([(p["runs"], p["n"], p["unknown"]) for p in points], [(3, 3, 0), (3, 3, 0), (2, 0, 1), (3, 3, 0), (1, 1, 0)])
        self.assertEqual([p.get("mean") for p in points], [12, 22, None, 22, 5])
        self.assertEqual(points[0]["stddev"], 2)
        self.close_to(points[1]["change"]["ratio"], Fraction(10, 12))
        self.assertEqual(points[3]["change"]["diff"], 0)
        self.assertEqual([("change" in p) for p in points], [False, True, False, True, False])
        self.assertTrue(points[1]["change"]["significant"])
        text = self.ok("trend", db.path, "--metric", P99, "--by", "day")
        self.assertRegex(text, r"\n2026-01-10 +3 +3 +22\.000 +2\.000 +20\.000 +24\.000 +-83\.33%\* +\[.*\] +\|#{24}\n")
        self.assertRegex(text, r"\n2026-01-09 +3 +3 +12\.000 +2\.000 .* \|#{13}\n")
        rows = parse_csv(self, self.ok("trend", db.path, "--metric", P99, "--metric", "search.*", "--by", "day", "--csv"))
        self.assertEqual(len(rows), 10)
        self.assertEqual([r["day"] for r in rows[:5]], ["2026-01-09", "2026-01-10", "2026-01-20", "2026-02-01", ""])
        self.assertIn("did you mean", self.refused(2, "trend", db.path, "--metric", "latency.wakeup.p99", "--by", "day"))

    def test_trend_of_long_names(self):
        """Values that differ at their ends are told whole, beside a shorter bar."""
        db = self.archive()
        kernels = ["6.12.117+deb12-%samd64" % flavour for flavour in ("", "cloud-", "rt-")]
        for i, kernel in enumerate(kernels):
            for v in (100000000, 100000002, 100000004):
                db.run({P99: v * (i + 1)}, kernel=kernel)
        db.close()
        text = self.ok("trend", db.path, "--metric", P99, "--by", "kernel")
        self.assertEqual([line.split()[0] for line in text.splitlines()[2:]], kernels)
        bars = [line.count("#") for line in text.splitlines()[2:]]
        self.assertGreater(bars[0], 0)
        self.assertAlmostEqual(bars[0] / bars[2], 1 / 3, delta=0.1)

    def test_natural_order(self):
        db = self.archive()
        for kernel in ("6.12.1", "6.9", "6.10.0-rc2", "6.10.0-rc10", "5.15"):
            db.run({P99: 1}, kernel=kernel)
        db.close()
        (series,) = json.loads(self.ok("trend", db.path, "--metric", P99, "--by", "kernel", "--json"))["trend"]["metrics"]
        self.assertEqual([p["value"] for p in series["points"]], ["5.15", "6.9", "6.10.0-rc2", "6.10.0-rc10", "6.12.1"])


if __name__ == "__main__":
    unittest.main()
