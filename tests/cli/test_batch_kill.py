#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""A batch, and a merge, that are killed at random moments: what is in the database stays in it and is whole, and the same command again ends
with what an undisturbed run has. 220 kills with WAKEIF_FULL, else 24."""
import os
import re
import shutil
import signal
import subprocess
import time
import unittest

import archive
from cli import WAKEIF

FULL = os.environ.get("WAKEIF_FULL") and not os.environ.get("WAKEIF_INSTRUMENTED")
WRITER_KILLS = 140 if FULL else 12
WORKER_KILLS = 50 if FULL else 6
MERGE_KILLS = 30 if FULL else 6
INTERRUPTS = 20 if FULL else 3
TRACES = 24
ORPHANS_S = 10


def children(pid):
    """Live ones; who has ended and is not yet waited for is none."""
    found = []
    for name in os.listdir("/proc"):
        if not name.isdigit():
            continue
        try:
            with open("/proc/%s/stat" % name, encoding="utf-8", errors="replace") as f:
                fields = f.read().rpartition(")")[2].split()
        except OSError:
            continue
        if int(fields[1]) == pid and fields[0] != "Z":
            found.append(int(name))
    return found


def alive(pid, start):
    return start is not None and started(pid) == start


def started(pid):
    """Start time, which tells a process from a later one of the same number; None: there is none that lives."""
    try:
        with open("/proc/%d/stat" % pid, encoding="utf-8", errors="replace") as f:
            fields = f.read().rpartition(")")[2].split()
    except OSError:
        return None
    return None if fields[0] == "Z" else fields[19]


class Killed(archive.ArchiveCase):
    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.made = os.path.join(archive.O, "tests", "kill.%d" % os.getpid())
        cls.addClassCleanup(shutil.rmtree, cls.made, True)
        archive.generate(os.path.join(cls.made, "traces"), TRACES)

    def setUp(self):
        super().setUp()
        self.traces = os.path.join(self.made, "traces")
        self.whole = self.path("whole.db")
        start = time.monotonic()
        self.batch(self.whole, self.traces)
        self.takes_s = time.monotonic() - start
        self.rows = set(archive.dump(self.whole))

    def start(self, argv):
        env = {**os.environ, "ASAN_OPTIONS": "detect_leaks=0"}  # the search for leaks is a child as well, and not a worker
        p = subprocess.Popen(argv, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE, cwd=self.dir, env=env, start_new_session=True)
        self.addCleanup(p.kill)
        return p

    def killed_after(self, argv, delay_s):
        """kill -9 of the parent alone; its children must follow. True: it was killed, not at its end before."""
        p = self.start(argv)
        time.sleep(delay_s)
        family = [(c, started(c)) for c in children(p.pid)]
        p.kill()
        p.communicate(timeout=ORPHANS_S)
        end = time.monotonic() + ORPHANS_S
        while any(alive(*c) for c in family):
            self.assertLess(time.monotonic(), end, "a worker outlives its parent")
            time.sleep(0.005)
        return p.returncode == -signal.SIGKILL

    def check_part(self, db, before):
        """The rows of a database that a kill has left: whole ones of the undisturbed run, and all that were there before."""
        if not os.path.exists(db) or not os.path.getsize(db):
            self.assertFalse(before)
            return set()
        self.assertEqual(archive.integrity(db), ["ok"])
        rows = set(archive.dump(db))
        self.assertFalse(sorted(rows - self.rows)[:3])
        self.assertFalse(sorted(before - rows)[:3])
        return rows

    def test_writer(self):
        midway, kills = 0, 0
        while kills < WRITER_KILLS:
            db, rows = self.path("%d.db" % kills), set()
            for _ in range(self.random.randint(1, 4)):  # one after another on the same database
                if not self.killed_after(self.batch_argv(db, self.traces), self.random.uniform(0, 1.1 * self.takes_s)):
                    break
                kills += 1
                if self.random.random() < 0.7:  # else the next one finds it as the kill left it
                    rows = self.check_part(db, rows)
                    midway += 0 < sum(r.startswith("run ") for r in rows) < TRACES
            self.batch(db, self.traces)
            self.assert_whole(db)
            self.assert_same(db, self.whole)
            os.unlink(db)
        self.assertGreater(midway, WRITER_KILLS // 10, "kills that found a part of the traces in the database")

    def test_workers(self):
        """A worker's death costs its trace, which then has a row that tells so; the next run makes up for it."""
        hit = 0
        for i in range(WORKER_KILLS):
            db = self.path("%d.db" % i)
            p = self.start(self.batch_argv(db, self.traces))
            time.sleep(self.random.uniform(0.1, 0.9) * self.takes_s)
            victims = children(p.pid)
            if victims:
                try:
                    os.kill(self.random.choice(victims), signal.SIGKILL)
                except ProcessLookupError:
                    victims = []
            out, err = (text.decode("utf-8", "replace") for text in p.communicate(timeout=120))
            self.assert_whole(db)
            runs = {r for r in archive.dump(db) if r.startswith("run ")}
            other = runs - self.rows
            nameless = int(re.search(r"(\d+) unreadable", out).group(1))  # the hash of its trace was not known yet
            self.assertEqual(p.returncode, 0, err)
            self.assertEqual(len(runs) + nameless, TRACES, err)
            self.assertLessEqual(len(other) + nameless, 1 if victims else 0)
            hit += nameless
            for row in other:
                self.assertIn("('status', 'failed')", row) # it was not the trace's doing
                self.assertIn("('signal', 9)", row)
                hit += 1
            self.batch(db, self.traces)
            self.assert_same(db, self.whole)
            os.unlink(db)
        self.assertGreater(hit, WORKER_KILLS // 3, "kills that cost a trace")

    def test_interrupted(self):
        """SIGINT and SIGTERM: what arrived is written, the database is one file, the status is that of the signal."""
        stopped = 0
        for i in range(INTERRUPTS):
            db, number = self.path("%d.db" % i), (signal.SIGINT, signal.SIGTERM)[i % 2]
            p = self.start(self.batch_argv(db, self.traces))
            time.sleep(self.random.uniform(0.05, 0.9) * self.takes_s)
            p.send_signal(number)
            err = p.communicate(timeout=60)[1].decode("utf-8", "replace")
            if p.returncode:
                self.assertIn(p.returncode, (128 + number, -number), err)
                stopped += 1
            if os.path.exists(db):
                self.assert_whole(db)
            self.check_part(db, set())
            self.batch(db, self.traces)
            self.assert_same(db, self.whole)
            os.unlink(db)
        self.assertGreater(stopped, INTERRUPTS // 3)

    def test_merge(self):
        """A merge that is killed has happened or has not."""
        halves = [self.batch(self.path("half-%d.db" % k), "--shard", "%d/2" % k, self.traces) for k in (1, 2)]
        start = time.monotonic()
        self.merge(self.path("once.db"), *halves)
        takes_s = time.monotonic() - start
        before, kills = set(archive.dump(halves[0])), 0
        while kills < MERGE_KILLS:
            into = self.path("%d.db" % kills)
            shutil.copyfile(halves[0], into)
            kills += self.killed_after([WAKEIF, "merge", "-q", halves[1], "-o", into], self.random.uniform(0, takes_s))
            if self.random.random() < 0.7:
                self.assertEqual(archive.integrity(into), ["ok"])
                self.assertIn(set(archive.dump(into)), (before, self.rows))
            self.merge(into, halves[1])
            self.assert_whole(into)
            self.assert_same(into, self.whole)
            os.unlink(into)


if __name__ == "__main__":
    unittest.main()
