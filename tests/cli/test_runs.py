#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""wakeif runs: what is in an archive, what went wrong first."""
import json
import unittest

from cli import parse_csv
from sql_archive import ArchiveCli


class Runs(ArchiveCli):
    def mixed(self, name="a.db", order=1):
        db = self.archive(name)
        runs = [
            dict(name="ok/2.dat", kernel="6.1.0", tags={"workload": "hackbench", "day": ["2026-01-02", "2026-01-01"]}),
            dict(name="ok/1.dat", kernel="6.12.0"),
            dict(name="bad/crash.dat", status="crashed", reason="segmentation fault", signal=11, stderr="first\n\033[2Jsecond\n"),
            dict(name="bad/junk\x1b", status="refused", reason="not a trace: 6a756e6b"),
            dict(name="bad/cut.dat", status="damaged", reason="@0x400: record cut", kernel="6.1.0"),
            dict(name="bad/slow.dat", status="timeout", reason="stopped after 60 s"),
        ]
        for run in runs[::order]:
            db.run({"wakeups.total": 1} if run.get("status", "ok") in ("ok", "damaged") else {}, **run)
        db.close()
        return db.path

    def test_text(self):
        text = self.ok("runs", self.mixed())
        head, trouble, table = text.split("\n\n")
        self.assertEqual(head, "%s: 6 runs: 2 ok, 1 damaged, 1 refused, 1 timeout, 1 crashed" % self.path("a.db"))
        self.assertEqual([line.split(": ", 1)[0].split()[1] for line in trouble.splitlines()[1:]], ["crashed", "timeout", "refused", "damaged"])
        self.assertIn("crashed: bad/crash.dat: segmentation fault (signal 11)", trouble)
        self.assertIn("refused: bad/junk\\x1b: not a trace", trouble)
        self.assertEqual([line.split()[0] for line in table.splitlines()], ["status", "crashed", "timeout", "refused", "damaged", "ok", "ok"])
        self.assertEqual([line.split()[-1] for line in table.splitlines()[-2:]], ["ok/1.dat", "ok/2.dat"])
        self.assertIn("day=2026-01-01 day=2026-01-02 workload=hackbench", table)
        self.assertNotIn("\033", text)
        self.assertLessEqual(max(map(len, text.splitlines())), 120)
        verbose = self.ok("runs", "-v", self.mixed("v.db"))
        self.assertNotIn("\033", verbose)
        self.assertIn("    | first\n    | \\x1b[2Jsecond\n", verbose)

    def test_long_paths(self):
        """Of a path that is too long the beginning is cut: the end tells traces apart."""
        db = self.archive("long.db")
        for load in ("first", "\u00e9t\u00e9"):
            db.run({"wakeups.total": 1}, name="/srv/recordings/%s/of-the-load-%s/trace.dat" % ("of-machine" * 7, load), kernel="6.12.117+deb12-amd64",
                   tags={"a": "tag of some length", "b": "another one"})
        db.close()
        lines = self.ok("runs", db.path).splitlines()[-2:]
        for line, load in zip(lines, ("first", "\u00e9t\u00e9")):
            self.assertRegex(line, r"  \+\S*load-%s/trace\.dat$" % load)
            self.assertEqual(len(line), 120)

    def test_json(self):
        """Sorted by content, and a function of what is in: rows written in another order are the same document."""
        first, second = (self.ok("runs", "--json", self.mixed(name, order)) for name, order in (("1.db", 1), ("2.db", -1)))
        self.assertEqual(first, second)
        runs = json.loads(first)["runs"]
        self.assertEqual([r["sha256"] for r in runs], sorted(r["sha256"] for r in runs))
        by_path = {r["paths"][0]: r for r in runs}
        self.assertEqual(by_path["ok/2.dat"]["tags"], {"day": ["2026-01-01", "2026-01-02"], "workload": ["hackbench"]})
        self.assertEqual(by_path["bad/crash.dat"]["signal"], 11)
        self.assertNotIn("signal", by_path["ok/1.dat"])
        self.assertNotIn("kernel", by_path["bad/slow.dat"])
        for run in runs:
            self.assertLessEqual(set(run), {"sha256", "size_bytes", "status", "reason", "signal", "exit_status", "stderr_tail", "version", "analysis", "format",
                                            "wrapper", "kernel", "arch", "topology", "window_ns", "paths", "tags"})

    def test_csv(self):
        rows = parse_csv(self, self.ok("runs", "--csv", self.mixed()))
        runs = json.loads(self.ok("runs", "--json", self.path("a.db")))["runs"]
        self.assertEqual([r["sha256"] for r in rows], [r["sha256"] for r in runs])
        self.assertEqual([r["status"] for r in rows], [r["status"] for r in runs])
        self.assertEqual({r["tags"] for r in rows}, {"", "day=2026-01-01|day=2026-01-02|workload=hackbench"})

    def test_select(self):
        db = self.mixed()
        for select, paths in (
            ("status=ok", {"ok/1.dat", "ok/2.dat"}),
            ("status!=ok,status!=damaged", {"bad/crash.dat", "bad/junk\\x1b", "bad/slow.dat"}),
            ("kernel=6.1.*", {"ok/2.dat", "bad/cut.dat"}),
            ("workload=hack*|none", {"ok/2.dat"}),
            ("path=*/1.dat|*/cut.dat", {"ok/1.dat", "bad/cut.dat"}),
        ):
            with self.subTest(select=select):
                runs = json.loads(self.ok("runs", "--json", "--select", select, db))["runs"]
                # A path that was written with a control character by hand is shown as it is.
                self.assertEqual({r["paths"][0].replace("\x1b", "\\x1b") for r in runs}, paths)
        self.assertIn("no run matches", self.refused(2, "runs", "--select", "kernel=7.*", db))

    def test_real(self):
        """What batch made of a damaged sample."""
        (run,) = json.loads(self.ok("runs", "--json", self.template))["runs"]
        self.assertEqual(run["format"], "trace.dat v7 zstd")
        self.assertRegex(run["kernel"], r"^[0-9]+\.")
        self.assertRegex(run["topology"], r"^8cpu/")
        self.assertGreater(run["window_ns"], 0)
        self.assertEqual(len(self.ok("runs", self.template).split("\n\n")[-1].splitlines()), 2)

    def test_refused(self):
        self.refused(1, "runs", self.path("nowhere.db"))
        self.refused(3, "runs", self.write("junk.db", b"junk" * 1000))
        self.refused(3, "runs", self.write("empty.db", b""))
        db = self.mixed()
        for args in (["runs"], ["runs", db, db], ["runs", "--select", "x", db]):
            self.fails(2, *args)
        with open(db, "rb") as f:
            whole = f.read()
        for cut in (100, 5000, len(whole) - 4096):
            status, out, err = self.run_text("runs", self.write("cut.db", whole[:cut]))
            self.assertEqual((status, len(err.splitlines())), (3, 1), err)


if __name__ == "__main__":
    unittest.main()
