#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""Ten thousand traces: all are accounted for, in bounded time, with a parent whose memory does not grow, in a database of bounded size.

By hand, with fewer: WAKEIF_MANY=500 tests/pyrun.py tests/cluster/test_many.py. The bound on time is
one of two CPUs that are this test's alone; on a busy machine the CPU time is held against it.
"""
import json
import os
import re
import resource
import shutil
import subprocess
import sys
import time
import unittest

sys.path.insert(0, os.path.join(os.path.dirname(os.path.dirname(os.path.abspath(__file__))), "cli"))
import archive

MANY = int(os.environ.get("WAKEIF_MANY", "10000"))
FEW = MANY // 10
EVENTS = 1500  # 100 KB each
LIMIT_S = 180 * MANY / 10000
KB_A_TRACE = 40
MEMORY_SLACK_KB = 2048  # of allocator and page cache of the database; ten thousand paths alone are more
OTHERS = 10  # of each kind of file that is no trace


class Watched:
    """Runs argv; peak memory of the process itself, children apart."""

    def __init__(self, argv, cwd):
        start, before = time.monotonic(), sum(resource.getrusage(resource.RUSAGE_CHILDREN)[:2])
        p = subprocess.Popen(argv, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE, cwd=cwd)
        self.peak_kb = 0
        while p.poll() is None:
            self.peak_kb = max(self.peak_kb, self.high_water_kb(p.pid))
            time.sleep(0.02)
        self.wall_s, self.status = time.monotonic() - start, p.returncode
        self.cpu_s = sum(resource.getrusage(resource.RUSAGE_CHILDREN)[:2]) - before
        self.out, self.err = (s.decode("utf-8", "replace") for s in p.communicate())

    @staticmethod
    def high_water_kb(pid):
        try:
            with open("/proc/%d/status" % pid, encoding="ascii", errors="replace") as f:
                found = re.search(r"^VmHWM:\s+(\d+) kB$", f.read(), re.M)
        except OSError:
            return 0
        return int(found.group(1)) if found else 0


class Many(archive.ArchiveCase):
    def setUp(self):
        super().setUp()
        self.made = os.path.join(archive.O, "tests", "many.%d" % os.getpid())
        self.addCleanup(shutil.rmtree, self.made, True)
        archive.generate(os.path.join(self.made, "few"), FEW, EVENTS)
        archive.generate(os.path.join(self.made, "many"), MANY, EVENTS, 1000000)

    def watched(self, db, folder):
        got = Watched(self.batch_argv(self.path(db), os.path.join(self.made, folder)), self.dir)
        self.assertEqual(got.status, 0, got.err[-2000:])
        return got

    def counted(self, db, sql):
        con = archive.connect(self.path(db))
        try:
            return con.execute(sql).fetchall()
        finally:
            con.close()

    def spoil(self):
        """Among them files that are no traces, and traces that are not whole."""
        folder = os.path.join(self.made, "many")
        with open(os.path.join(folder, "000", "00000.dat"), "rb") as f:
            whole = f.read()
        for i in range(OTHERS):
            at = os.path.join(folder, "%03d" % (i % max(1, MANY // 100)))
            for name, data in (("notes.txt", b"kernel 6.1, night %d\n" % i), ("empty", b""), ("cut.dat", whole[:len(whole) - 5000 - i]), ("copy.dat", whole)):
                with open(os.path.join(at, "%d-%s" % (i, name)), "wb") as f:
                    f.write(data)

    def test_many(self):
        alone = os.getloadavg()[0] < 1.5
        self.spoil()
        few, many = self.watched("few.db", "few"), self.watched("many.db", "many")
        self.assert_whole(self.path("many.db"))
        by_status = dict(self.counted("many.db", "select status, count(*) from run group by status"))
        self.assertEqual(sum(by_status.values()), MANY + OTHERS, by_status)
        self.assertEqual(by_status.get("ok"), MANY, by_status)
        self.assertEqual(self.counted("many.db", "select count(*) from trace_path"), [(MANY + 2 * OTHERS,)])
        self.assertEqual(len(json.loads(self.ok("runs", "--json", self.path("many.db")))["runs"]), MANY + OTHERS)
        size_kb = os.path.getsize(self.path("many.db")) / 1000 / (MANY + OTHERS)
        again = self.watched("many.db", "many")
        print("%d traces: %.1f s, %.1f s CPU, again %.1f s; parent's peak %d KB, of %d traces %d KB; %.1f KB of database a trace" %
              (MANY, many.wall_s, many.cpu_s, again.wall_s, many.peak_kb, FEW, few.peak_kb, size_kb), flush=True)
        self.assertLessEqual(size_kb, KB_A_TRACE)
        self.assertLessEqual(many.peak_kb, few.peak_kb + MEMORY_SLACK_KB)
        if not os.environ.get("WAKEIF_INSTRUMENTED"):
            self.assertLessEqual(many.cpu_s / 2, LIMIT_S)
            if alone and len(os.sched_getaffinity(0)) >= 2:
                self.assertLessEqual(many.wall_s, LIMIT_S)
        self.assertLess(again.cpu_s, many.cpu_s / 4, "what is in is not analysed again")


if __name__ == "__main__":
    unittest.main()
