#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""wakeif merge: parts become one, in any order, whole or not at all."""
import hashlib
import itertools
import json
import os
import random
import shutil
import sqlite3
import subprocess
import time
import unittest

from cli import SAMPLES, WAKEIF
from sql_archive import ArchiveCli

P99 = "latency.wakeup.p99_ns"
FULL = bool(os.environ.get("WAKEIF_FULL"))


class Merge(ArchiveCli):
    def part(self, name, runs):
        db = self.archive(name)
        for run in runs:
            db.run(**run)
        db.close()
        return db.path

    def all_of(self, db):
        """What commands say of an archive, the file's name apart."""
        diff = self.run_text("diff", db, "--a", "side=a", "--b", "side=b", "--all", "--json")
        return self.ok("runs", "--json", db), diff[1].replace(json.dumps(db), "DB"), diff[2].replace(db, "DB")

    def runs(self, nr=12):
        rng = random.Random(5)
        return [dict(values={P99: rng.randrange(1000), "x.y": rng.random()}, tags={"side": "ab"[i % 2]}, name="%d.dat" % i, kernel="6.1.%d" % i,
                     hists={"latency.wakeup": [rng.randrange(10 ** 6) for _ in range(50)]}) for i in range(nr)]

    def test_any_sharding(self):
        runs = self.runs()
        whole = self.all_of(self.part("whole.db", runs))
        for shards, seed in ((2, 1), (3, 2), (7, 3)):
            rng = random.Random(seed)
            of = [rng.randrange(shards) for _ in runs]
            parts = [self.part("%d-%d.db" % (shards, k), [r for r, s in zip(runs, of) if s == k]) for k in range(shards)]
            rng.shuffle(parts)
            out = self.path("out-%d.db" % shards)
            self.ok("merge", *parts, "-o", out)
            self.assertEqual(self.all_of(out), whole)
            # one after the other, some of them twice
            step = self.path("step-%d.db" % shards)
            for part in parts + parts[:2]:
                self.ok("merge", "-q", part, "-o", step)
            self.assertEqual(self.all_of(step), whole)
            self.ok("merge", step, out, "-o", out)
            self.assertEqual(self.all_of(out), whole)

    def test_which_stays(self):
        """Of one trace and analysis: the higher version, then the better status; tags and paths are united; other analyses stay beside it."""
        sha = hashlib.sha256(b"one").digest()
        versions = {
            "old": dict(values={P99: 1}, version="0.1.0", sha=sha, name="old.dat", tags={"by": "old"}),
            "new": dict(values={P99: 2}, version="0.10.0", sha=sha, name="new.dat", tags={"by": "new"}),
            "bad": dict(version="0.10.0", status="timeout", reason="60 s", sha=sha, name="old.dat"),
            "else": dict(values={P99: 3}, version="0.1.0", sha=sha, name="old.dat", analysis='{"models":["prev"]}'),
        }
        seen = set()
        for nr, order in enumerate(itertools.permutations(versions)):
            parts = [self.part("%d-%s.db" % (nr, k), [versions[k]]) for k in order]
            out = self.path("%d.db" % nr)
            self.ok("merge", *parts, "-o", out)
            seen.add(self.ok("runs", "--json", out))
            if nr % 6 == 0:
                con = sqlite3.connect(out)
                self.assertEqual(con.execute("PRAGMA integrity_check").fetchall(), [("ok",)])
                con.close()
        self.assertEqual(len(seen), 1)
        runs = json.loads(seen.pop())["runs"]
        self.assertEqual(sorted((r["version"], r["status"], r["analysis"]) for r in runs), [("0.1.0", "ok", '{"models":["prev"]}'), ("0.10.0", "ok", "{}")])
        for run in runs:
            self.assertEqual(run["paths"], ["new.dat", "old.dat"])
            self.assertEqual(run["tags"], {"by": ["new", "old"]})

    def test_fails_whole(self):
        """What cannot be read late in the list leaves the output as it was, or none where there was none."""
        runs = self.runs(4)
        good, more = self.part("good.db", runs[:2]), self.part("more.db", runs[2:])
        with open(more, "rb") as f:
            whole = f.read()
        junk = self.write("junk.db", b"junk" * 1000)
        cut = self.write("cut.db", whole[:len(whole) // 2])
        for bad, status in ((junk, 3), (cut, 3), (self.path("nowhere.db"), 1)):
            new = self.path("new.db")
            self.refused(status, "merge", more, bad, "-o", new)
            before = sorted(os.listdir(self.dir))
            self.assertNotIn("new.db", before)
            said = self.all_of(good)
            self.refused(status, "merge", more, bad, "-o", good)
            self.assertEqual(self.all_of(good), said)
            self.assertEqual(sorted(os.listdir(self.dir)), before, "something was left behind")
        self.refused(3, "merge", good, "-o", junk)
        with open(junk, "rb") as f:
            self.assertEqual(f.read(), b"junk" * 1000)
        self.refused(1, "merge", good, "-o", self.path("no/such/folder.db"))

    def test_killed(self):
        """kill -9 at any moment: the output holds what it held or all of the merge, never a part; the same command then ends it."""
        old = self.runs(4)
        many = [dict(values={"m.%d" % m: i + m for m in range(40)}, name="many-%d.dat" % i, hists={"latency.wakeup": [i] * 50}) for i in range(300)]
        part = self.part("many.db", many)
        before = self.part("before.db", old)
        whole = self.path("whole.db")
        started = time.monotonic()
        self.ok("merge", before, part, "-o", whole)
        takes = time.monotonic() - started
        counts, rng = set(), random.Random(11)
        for nr in range(100 if FULL else 15):
            out = self.path("out-%d.db" % nr)
            shutil.copyfile(before, out)
            fresh = nr % 3 == 0
            if fresh:
                os.unlink(out)
            p = subprocess.Popen([WAKEIF, "merge", "-q", before, part, "-o", out])
            time.sleep(rng.uniform(0, takes * 1.1))
            p.kill()
            p.wait()
            if os.path.exists(out):
                con = sqlite3.connect(out)
                self.assertEqual(con.execute("PRAGMA integrity_check").fetchall(), [("ok",)])
                counts.add(con.execute("SELECT count(*) FROM run").fetchone()[0])
                con.close()
            else:
                self.assertTrue(fresh)
            self.ok("merge", "-q", before, part, "-o", out)
            if nr % 5 == 0:
                self.assertEqual(self.ok("runs", "--json", out), self.ok("runs", "--json", whole))
        self.assertLessEqual(counts, {4, 304})

    def test_says_what_it_did(self):
        runs = self.runs(5)
        a, b = self.part("a.db", runs[:3]), self.part("b.db", runs[2:])
        out = self.path("out.db")
        self.assertEqual(self.ok("merge", a, b, "-o", out), "%s: 6 runs read: 5 new, 0 better than what was there, 1 already in\n" % out)
        self.assertEqual(self.ok("merge", a, "-o", out), "%s: 3 runs read: 0 new, 0 better than what was there, 3 already in\n" % out)
        self.assertEqual(self.ok("merge", "-q", a, "-o", out), "")
        self.assertEqual(self.ok("merge", out, "-o", out), "%s: 0 runs read: 0 new, 0 better than what was there, 0 already in\n" % out)
        self.fails(2, "merge", a)
        self.fails(2, "merge", "-o", out)

    def test_inputs_stay(self):
        """Parts are only read: also where nothing can be written, and several merges at once."""
        a = self.part("a.db", self.runs(3))
        os.chmod(a, 0o444)
        with open(a, "rb") as f:
            before = f.read()
        self.ok("merge", a, self.template, "-o", self.path("out.db"))
        with open(a, "rb") as f:
            self.assertEqual(f.read(), before)

    def test_real(self):
        """Batches of samples, apart and together."""
        names = ["smt8-schbench.dat", "nosmt4-hackbench.dat", "smt8-lost.dat"]
        parts = []
        for name in names:
            parts.append(self.path(name + ".db"))
            self.ok("batch", "-q", os.path.join(SAMPLES, name), "-o", parts[-1])
        self.ok("batch", "-q", *[os.path.join(SAMPLES, n) for n in names], "-o", self.path("whole.db"))
        for order in ([0, 1, 2], [2, 0, 1]):
            out = self.path("out-%d.db" % order[0])
            self.ok("merge", *[parts[i] for i in order], "-o", out)
            self.assertEqual(self.ok("runs", "--json", out), self.ok("runs", "--json", self.path("whole.db")))
            told = [self.ok("diff", db, "--a", "path=*schbench*", "--b", "path=*hackbench*", "--all", "--histogram", "*", "--json").replace(db, "DB")
                    for db in (out, self.path("whole.db"))]
            self.assertEqual(told[0], told[1])


if __name__ == "__main__":
    unittest.main()
