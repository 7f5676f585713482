#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""A disk that is full, a folder that cannot be written, two batches on one database: an error that says so or the right rows, never others."""
import os
import shutil
import subprocess
import time
import unittest

import archive
from cli import WAKEIF

FULL = os.environ.get("WAKEIF_FULL") and not os.environ.get("WAKEIF_INSTRUMENTED")
TRACES = 16
SIZES = 24 if FULL else 5
PAIRS = 20 if FULL else 4


def namespaces():
    """How a file system of a test's own is mounted here; None: it cannot be."""
    for argv in (["unshare", "-m"], ["unshare", "-r", "-m"]):
        try:
            if subprocess.run([*argv, "mount", "-t", "tmpfs", "-o", "size=64k", "none", "/mnt"], stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
                              stderr=subprocess.DEVNULL).returncode == 0:
                return argv
        except FileNotFoundError:
            return None
    return None


class Disk(archive.ArchiveCase):
    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.made = os.path.join(archive.O, "tests", "disk.%d" % os.getpid())
        cls.addClassCleanup(shutil.rmtree, cls.made, True)
        archive.generate(os.path.join(cls.made, "traces"), TRACES)
        cls.mounting = namespaces()

    def setUp(self):
        super().setUp()
        self.traces = os.path.join(self.made, "traces")
        self.whole = self.batch(self.path("whole.db"), self.traces)

    def small_disk(self, bytes_, argv, fill=None):
        """Runs argv with its output in "disk", a file system of so many bytes, and saves what is then in it as "saved". (status, stderr)"""
        if not self.mounting:
            self.skipTest("no file system can be mounted here")
        disk, saved = self.path("disk"), self.path("saved")
        shutil.rmtree(saved, True)
        os.makedirs(disk, exist_ok=True)
        script = 'set -e; mount -t tmpfs -o size=%d none "$1"; [ -z "$2" ] || cp "$2" "$1/r.db"; shift 2; status=0; "$@" || status=$?; cp -r "%s" "%s"; exit $status' % (bytes_, disk, saved)
        p = subprocess.run([*self.mounting, "sh", "-c", script, "sh", disk, fill or "", *argv], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE, cwd=self.dir, timeout=300)
        return p.returncode, p.stderr.decode("utf-8", "replace")

    def assert_told(self, status, err):
        self.assertEqual(status, 1, err)
        said = [line for line in err.splitlines() if line.startswith("wakeif: ")]
        self.assertEqual(len(said), 1, err)
        self.assertRegex(said[0], "(?i)full|no space")

    def test_disk_full(self):
        """At any size: either all is in, or it is told; what is in is whole, and on a larger disk the same command does the rest."""
        needed, rows, outcomes = os.path.getsize(self.whole), set(archive.dump(self.whole)), set()
        sizes = [int(needed * (0.02 + 5.0 * i / SIZES)) for i in range(SIZES)]
        for size in sizes + [needed + (8 << 20)]:  # the log of what is committed grows to some MB before it is put into its place
            with self.subTest(bytes=size):
                status, err = self.small_disk(size, self.batch_argv(self.path("disk/r.db"), self.traces))
                outcomes.add(status)
                if status:
                    self.assert_told(status, err)
                db = self.path("saved/r.db")
                if os.path.exists(db) and os.path.getsize(db):
                    self.assertEqual(archive.integrity(db), ["ok"])
                    self.assertFalse(sorted(set(archive.dump(db)) - rows)[:3])
                self.batch(db, self.traces)
                self.assert_same(db, self.whole)
        self.assertEqual(outcomes, {0, 1})

    def test_disk_full_at_merge(self):
        """The database that was there stays as it was, unless the disk was full only when all was written but not yet in its place."""
        halves = [self.batch(self.path("half-%d.db" % k), "--shard", "%d/2" % k, self.traces) for k in (1, 2)]
        before, after, outcomes = archive.dump(halves[0]), archive.dump(self.whole), set()
        needed = os.path.getsize(self.whole)
        for i in range(SIZES):
            size = int(os.path.getsize(halves[0]) * 1.05 + needed * 3.0 * i / SIZES)
            with self.subTest(bytes=size):
                status, err = self.small_disk(size, [WAKEIF, "merge", "-q", halves[1], "-o", self.path("disk/r.db")], fill=halves[0])
                outcomes.add(status)
                db = self.path("saved/r.db")
                self.assertEqual(archive.integrity(db), ["ok"])
                if status:
                    self.assert_told(status, err)
                    self.assertTrue(archive.dump(db) == before or "cannot be closed" in err and archive.dump(db) == after, err)
                else:
                    self.assert_same(db, self.whole)
        self.assertEqual(outcomes, {0, 1})

    def test_read_only(self):
        """Nothing can be written: one line. Everything can be read, also where nothing may be made beside the database."""
        if not self.mounting:
            self.skipTest("no file system can be mounted here")
        folder = self.path("fixed")
        os.mkdir(folder)
        shutil.copyfile(self.whole, os.path.join(folder, "old.db"))
        listing = sorted(os.listdir(folder))
        fixed = [*self.mounting, "sh", "-c", 'mount --bind "$1" "$1" && mount -o remount,ro,bind "$1" && shift && exec "$@"', "sh", folder]

        def run(*argv):
            p = subprocess.run([*fixed, *argv], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE, cwd=self.dir, timeout=60)
            return p.returncode, p.stdout, p.stderr.decode("utf-8", "replace")

        for db in ("new.db", "old.db"):
            for argv in (self.batch_argv(os.path.join(folder, db), self.traces), [WAKEIF, "merge", self.whole, "-o", os.path.join(folder, db)]):
                with self.subTest(argv=argv[1], db=db):
                    status, _, err = run(*argv)
                    self.assertEqual(status, 1, err)
                    said = [line for line in err.splitlines() if line.startswith("wakeif: ")]
                    self.assertEqual(len(said), 1, err)
                    self.assertRegex(said[0], "Read-only file system|its folder, cannot be written")
        status, out, err = run(WAKEIF, "runs", "--json", os.path.join(folder, "old.db"))
        self.assertEqual((status, err), (0, ""))
        self.assertEqual(out, self.ok("runs", "--json", self.whole).encode())
        status, _, err = run(WAKEIF, "merge", "-q", os.path.join(folder, "old.db"), "-o", self.path("copy.db"))
        self.assertEqual(status, 0, err)
        self.assert_same(self.path("copy.db"), self.whole)
        self.assertEqual(sorted(os.listdir(folder)), listing)

    def test_unprivileged(self):
        """A folder of somebody else's: one line."""
        folder = self.path("theirs")
        os.mkdir(folder, 0o555)
        trace = shutil.copyfile(archive.files_below(self.traces)[0], self.path("one.dat"))
        os.chmod(self.dir, 0o755)
        err = self.fails(1, "batch", "-q", "-o", os.path.join(folder, "r.db"), trace, user="nobody")
        self.assertEqual(len([line for line in err.splitlines() if line.startswith("wakeif: ")]), 1, err)
        self.assertEqual(os.listdir(folder), [])

    def together(self, argvs, between_s):
        children = []
        for argv in argvs:
            children.append(subprocess.Popen(argv, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, cwd=self.dir))
            time.sleep(between_s)
        return children, [c.communicate(timeout=120)[1].decode("utf-8", "replace") for c in children]

    def test_two_at_once(self):
        """On one database: of the same traces, of two halves, and with one of the two killed."""
        start = time.monotonic()
        self.batch(self.path("time.db"), self.traces)
        takes_s = time.monotonic() - start
        paths = archive.files_below(self.traces)
        for i in range(PAIRS):
            db = self.path("%d.db" % i)
            lists = [paths, paths] if i % 2 else [paths[:10], paths[6:]]
            argvs = [self.batch_argv(db, *of, jobs=1) for of in lists]
            children, errs = self.together(argvs, self.random.uniform(0, 0.5) * takes_s)
            self.assertEqual([c.returncode for c in children], [0, 0], errs)
            self.assert_whole(db)
            self.assert_same(db, self.whole)
            os.unlink(db)
            first = subprocess.Popen(argvs[0], stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, cwd=self.dir)
            second = subprocess.Popen(argvs[1], stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, cwd=self.dir)
            time.sleep(self.random.uniform(0, 1) * takes_s)
            first.kill()
            first.wait()
            err = second.communicate(timeout=120)[1].decode("utf-8", "replace")
            self.assertEqual(second.returncode, 0, err)
            self.assertEqual(archive.integrity(db), ["ok"])
            self.batch(db, self.traces)
            self.assert_same(db, self.whole)
            os.unlink(db)


if __name__ == "__main__":
    unittest.main()
