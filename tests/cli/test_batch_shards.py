#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""An archive in 1, 2 and 7 shards, listed and merged in random order, in pairs or at once: the same database, the same answers."""
import json
import os
import shutil
import unittest

import archive
from cli import SAMPLES

TRACES = 24
DIFF = ("diff", "--json", "--a", "group=a", "--b", "group=b")
TREND = ("trend", "--json", "--metric", "latency.wakeup.p99_ns", "--by", "group")


class Shards(archive.ArchiveCase):
    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.made = os.path.join(archive.O, "tests", "shards.%d" % os.getpid())
        cls.addClassCleanup(shutil.rmtree, cls.made, True)
        for i, group in enumerate("ab"):
            archive.generate(os.path.join(cls.made, group), TRACES // 2, 700, 1 + 1000 * i)
        # One trace under two paths, one that is no trace, one that is damaged, one that is refused.
        shutil.copyfile(os.path.join(cls.made, "a", "000", "00000.dat"), os.path.join(cls.made, "a", "copy.dat"))
        with open(os.path.join(cls.made, "b", "notes.txt"), "w", encoding="ascii") as f:
            f.write("two nights in May\n")
        with open(os.path.join(SAMPLES, "smt8-lost.dat"), "rb") as f:
            whole = f.read()
        for name, part in (("cut.dat", whole[:len(whole) // 2]), ("head.dat", whole[:100])):
            with open(os.path.join(cls.made, "a", name), "wb") as f:
                f.write(part)

    def run_batch(self, name, *args):
        return self.batch(self.path(name), "--tag", "group=/([ab])/", *args)

    def shuffled(self, name):
        paths = archive.files_below(self.made)
        self.random.shuffle(paths)
        return self.list_of(name, paths)

    def shards(self, n):
        """n databases of n shards, each from a list in an order of its own."""
        return [self.run_batch("%d-of-%d.db" % (k, n), "--files-from", self.shuffled("list"), "--shard", "%d/%d" % (k, n)) for k in range(1, n + 1)]

    def test_any_sharding_in_any_order(self):
        whole = self.run_batch("whole.db", "--files-from", self.list_of("sorted", archive.files_below(self.made)))
        self.assert_whole(whole)
        self.assertGreaterEqual(len(archive.dump(whole)), TRACES)
        trend = json.loads(self.ok(TREND[0], whole, *TREND[1:]))["trend"]
        self.assertEqual([(p["value"], p["runs"]) for p in trend["metrics"][0]["points"][:2]], [("a", TRACES // 2 + 2), ("b", TRACES // 2)])
        for n in (1, 2, 7):
            parts = self.shards(n)
            self.random.shuffle(parts)
            with self.subTest(shards=n, merged="at once"):
                self.assert_same(self.merge(self.path("once-%d.db" % n), *parts), whole, DIFF, TREND)
            with self.subTest(shards=n, merged="one after another, the last ones twice"):
                into = self.path("chain-%d.db" % n)
                for part in parts + parts[-2:]:
                    self.merge(into, part)
                self.assert_same(into, whole, DIFF, TREND)
            with self.subTest(shards=n, merged="as a tree"):
                tree = list(parts)
                while len(tree) > 1:
                    a, b = tree.pop(self.random.randrange(len(tree))), tree.pop(self.random.randrange(len(tree)))
                    tree.append(self.merge(self.path("tree-%d-%d.db" % (n, len(tree))), a, b))
                self.assert_same(tree[0], whole, DIFF, TREND)

    def test_shards_are_a_partition(self):
        """Every trace is in one shard only, and the shards hold work for more than one machine."""
        def traces(db):
            con = archive.connect(db)
            try:
                return [r[0] for r in con.execute("select sha256 from trace")]
            finally:
                con.close()
        parts = [traces(db) for db in self.shards(5)]
        together = [t for part in parts for t in part]
        self.assertEqual(len(together), len(set(together)))
        self.assertGreaterEqual(sum(bool(p) for p in parts), 4)

    def test_a_shard_again_by_another_number(self):
        """Shards of 2 and of 7 laid over each other hold nothing twice."""
        whole = self.run_batch("whole.db", "--files-from", self.shuffled("list"))
        self.assert_same(self.merge(self.path("over.db"), *self.shards(2), *self.shards(7)), whole, DIFF, TREND)


if __name__ == "__main__":
    unittest.main()
