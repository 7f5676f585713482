#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""Archives that somebody else wrote, or a disk broke: each command ends with one clear line, and never by a signal."""
import os
import random
import sqlite3
import subprocess
import unittest

from cli import O, SCHBENCH, WAKEIF, Cli

GEN = os.path.join(O, "tests", "gen_archive")
PATH = "latency.wakeup.p99_ns"
CHANGES = [
    "UPDATE run SET status = 'fine'",
    "UPDATE run SET reason = CAST(x'ff' AS TEXT), status = 'failed'",
    "UPDATE run SET version = 'a' || char(27) || '[31m' || char(10) || 'b'",
    "UPDATE run SET kernel = CAST(zeroblob(20) AS TEXT)",
    "UPDATE run SET topology = 77",
    "UPDATE run SET analysis = 77",
    "UPDATE trace SET sha256 = x'00'",
    "UPDATE value SET value = 9e999",
    "UPDATE value SET value = 'x'",
    "UPDATE value SET value = 9223372036854775807",
    "UPDATE value SET value = 1e308",
    "UPDATE metric SET path = CAST(x'ff' || CAST(id AS BLOB) AS TEXT)",
    "UPDATE metric SET path = path || char(10) || char(27) || '[2J'",
    "UPDATE histogram SET buckets = randomblob(1000)",
    "UPDATE histogram SET count = -1, sum_ns = -1",
    "UPDATE quality SET end_ns = -9223372036854775808",
    "UPDATE trace_path SET path = char(27) || '[31m'",
    "UPDATE tag SET value = replace(hex(zeroblob(5000)), '0', 'x')",
    "UPDATE topology SET name = char(27) || 'c'",
    "DELETE FROM trace",
    "DELETE FROM metric",
    "DELETE FROM topology",
    "DROP TABLE value",
    "CREATE TRIGGER t AFTER INSERT ON run BEGIN DELETE FROM run; END",
    "PRAGMA user_version = 99",
]


class Hostile(Cli):
    def setUp(self):
        super().setUp()
        p = subprocess.run([WAKEIF, "report", "--json", SCHBENCH], stdout=subprocess.PIPE, check=True, timeout=60)
        names = [self.write("%d.json" % i, p.stdout.replace(b'"wakeif/1"', b'"wakeif/1"' + b" " * i, 1)) for i in range(4)]
        self.good = self.path("good.db")
        subprocess.run([GEN, self.good, "--tag", "k=1", *names[:2], "--tag", "none", "--tag", "k=2", *names[2:]], check=True, timeout=60)

    def commands(self, db):
        yield ["runs", db]
        yield ["runs", "--json", db]
        yield ["runs", "--csv", db]
        yield ["trend", db, "--metric", PATH, "--by", "k"]
        yield ["diff", db, "--a", "k=1", "--b", "k=2"]
        yield ["diff", db, "--a", "k=1", "--b", "k=2", "--histogram", "latency.wakeup"]
        yield ["merge", db, "-o", self.path("out.db")]

    def try_all(self, db, what):
        statuses = set()
        for command in self.commands(db):
            status, out, err = self.run_raw(*command)
            self.assertIn(status, (0, 1, 2, 3, 4, 5), "%s: %s: %s" % (what, command, err[-2000:]))
            if status:
                self.assertTrue(err, "%s: %s: status %d without a word" % (what, command, status))
            self.assertNotIn(b"\x1b", err, "%s: %s" % (what, command))
            if "--json" not in command:
                self.assertNotIn(b"\x1b", out, "%s: %s writes to the terminal's state" % (what, command))
            if status in (1, 3):
                self.assertEqual(len(err.splitlines()), 1, "%s: %s: %s" % (what, command, err))
            statuses.add(status)
            for name in os.listdir(self.dir):
                if name.startswith("out.db"):
                    self.assertEqual((name, status), ("out.db", 0), "%s leaves %s" % (what, name))
                    os.unlink(self.path(name))
        return statuses

    def test_good(self):
        self.assertEqual(self.try_all(self.good, "good"), {0})

    def test_rows_that_no_wakeif_wrote(self):
        for change in CHANGES:
            db = self.path("bad.db")
            with open(self.good, "rb") as src, open(db, "wb") as dst:
                dst.write(src.read())
            with sqlite3.connect(db) as c:
                c.executescript("PRAGMA ignore_check_constraints = ON; PRAGMA foreign_keys = OFF;")
                try:
                    c.executescript(change)
                except sqlite3.IntegrityError:
                    c.executescript(change.replace("UPDATE", "UPDATE OR IGNORE", 1))
            c.close()
            self.try_all(db, change)

    def test_damaged_bytes(self):
        with open(self.good, "rb") as f:
            good = f.read()
        rng = random.Random(5)
        refused = 0
        for i in range(12):
            bad = bytearray(good)
            if i % 4 == 3:
                del bad[rng.randrange(len(bad)):]
            for _ in range(rng.choice((1, 10, 200))):
                bad[rng.randrange(len(bad))] = rng.randrange(256)
            refused += 3 in self.try_all(self.write("bytes.db", bytes(bad)), "bytes %d" % i)
        self.assertGreater(refused, 0)


if __name__ == "__main__":
    unittest.main()
