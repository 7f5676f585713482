# SPDX-License-Identifier: GPL-2.0-or-later
"""Our trace.dat reader beside its peers: libtracecmd (every event equal) and trace-cmd report (counts equal); hand-checked counts for
what these cannot read. Files of tests/gen, samples/, and where present the recordings and public traces of WAKEIF_SHARED."""
import collections
import glob
import gzip
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
import unittest

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from cli import O, SAMPLES, SHARED, WAKEIF, Cli

# What wakeif delivers one for one; the others it delivers in part (OTHER) or makes up (lost_events).
COUNTED = ("sched_switch sched_waking sched_wakeup sched_wakeup_new sched_migrate_task sched_process_fork sched_process_exec sched_process_exit "
           "cpu_idle sched_stat_runtime local_timer_entry call_function_single_entry reschedule_entry hrtimer_start hrtimer_expire_entry "
           "sys_enter sys_exit print").split()
LINE = re.compile(r"^ *(?:(\w+): {2,})?\s*.*?-\d+ +\[\d+\] *(?:[^ \d][^ ]* +)?\d+(?:\.\d+)?: +([^ :]+): ", re.S)
EVENT = re.compile(rb', "event": "(\w+)"')
# "gpuvis" stops libtracecmd, cut files too; it maps pages, and none smaller than the machine's.
NOT_FOR_PEERS = re.compile("gpuvis|trunc-|none-.*-1024")


def own_counts(path, *more):
    p = subprocess.run([WAKEIF, "events", "--json", "-q", "--reader=own", *more, path], stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    return p.returncode, collections.Counter(k.decode() for k in EVENT.findall(p.stdout)), p.stderr.decode()


def report_counts(path):
    """Counts over all buffers, and the names of the instances: trace-cmd report puts them in front of their lines."""
    text = subprocess.run(["trace-cmd", "report", "-R", "-t", "-i", path], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL).stdout
    counts, instances = collections.Counter(), set()
    for line in text.decode("utf-8", "replace").split("\n"):
        m = LINE.match(line)
        if m and m.group(1):
            instances.add(m.group(1))
        if m and m.group(2) in COUNTED:
            counts[m.group(2)] += 1
    return counts, instances


class Peers(Cli):
    def unpacked(self, path):
        if not path.endswith(".gz"):
            return path
        out = self.path(os.path.basename(path)[:-3])
        with gzip.open(path) as f, open(out, "wb") as o:
            shutil.copyfileobj(f, o)
        return out

    def same_as_libtracecmd(self, path, *more):
        own = self.run_raw("events", "-t", "-q", "--reader=own", *more, path)
        lib = self.run_raw("events", "-t", "-q", "--reader=libtracecmd", *more, path)
        self.assertEqual(own[0], lib[0], "%s: %r %r" % (path, own[2], lib[2]))
        if own[1] != lib[1]:
            for i, (a, b) in enumerate(zip(own[1].splitlines(), lib[1].splitlines())):
                if a != b:
                    self.fail("%s: event %d: %r, through libtracecmd %r" % (path, i, a, b))
            self.fail("%s: %d and %d bytes" % (path, len(own[1]), len(lib[1])))
        return own[1].count(b"\n")

    def same_counts(self, path):
        theirs, instances = report_counts(path)
        ours = collections.Counter()
        for more in ([["--buffer="]] + [["--buffer=" + n] for n in sorted(instances)]) if instances else [[]]:
            status, counts, err = own_counts(path, *more)
            self.assertIn(status, (0, 4), "%s: %s" % (path, err))
            ours += collections.Counter({k: v for k, v in counts.items() if k in COUNTED})
        self.assertEqual(dict(ours), dict(theirs), path)
        return sum(ours.values())

    def both(self, paths):
        events = counted = 0
        for path in paths:
            if NOT_FOR_PEERS.search(os.path.basename(path)):
                continue
            with self.subTest(path=path):
                f = self.unpacked(path)
                events += self.same_as_libtracecmd(f)
                counted += self.same_counts(f)
                if f != path:
                    os.unlink(f)
        return events, counted

    def shared(self, *patterns):
        found = sorted(p for pattern in patterns for p in glob.glob(os.path.join(SHARED, pattern)))
        if not found:
            self.skipTest("no %s below WAKEIF_SHARED" % " ".join(patterns))
        return found

    def test_generated(self):
        subprocess.run([os.path.join(O, "tests", "gen_shapes"), self.path("shapes")], check=True)
        files = [p for p in sorted(glob.glob(self.path("shapes/*.dat"))) if "zlib" not in p]
        events, counted = self.both(files)
        self.assertGreater(len(files), 25)
        self.assertGreater(counted, 20000)
        self.same_as_libtracecmd(self.path("shapes/v7-buffers.dat"), "--buffer=first")
        self.same_as_libtracecmd(self.path("shapes/v6-buffers.dat"), "--buffer=second")

    def test_zlib_is_ours_alone(self):
        subprocess.run([os.path.join(O, "tests", "gen_shapes"), self.path("shapes")], check=True)
        for zlib in sorted(glob.glob(self.path("shapes/*zlib*.dat"))):
            a = own_counts(zlib)
            b = own_counts(zlib.replace("zlib", "zstd"))
            self.assertEqual(a, b, zlib)
            self.assertGreater(sum(a[1].values()), 500)

    def test_samples(self):
        files = sorted(glob.glob(os.path.join(SAMPLES, "*.dat")) + glob.glob(os.path.join(SAMPLES, "*.dat.gz")))
        self.assertTrue(files)
        self.both(files)

    def test_recordings(self):
        events, counted = self.both(self.shared("corpus/*/trace.dat"))
        self.assertGreater(counted, 500000)

    @unittest.skipUnless(os.environ.get("WAKEIF_FULL"), "WAKEIF_FULL is not set")
    def test_ab_recordings(self):
        self.both(self.shared("corpus/ab/*/*/trace.dat"))

    def test_shapes(self):
        self.both(self.shared("corpus/shapes/*.dat", "corpus/shapes/*.dat.gz"))

    def test_public(self):
        self.both(self.shared("public/tracedat/*.dat.gz"))

    # Numbers of the collection's MANIFEST.
    PUBLIC = {
        "azure-5.0-small-sched": {"sched_switch": 10, "sched_wakeup": 6, "sched_waking": 6, "sched_migrate_task": 2},
        "azure-5.0-small-full": {"sched_switch": 14, "sched_wakeup": 9, "sched_waking": 8, "sched_migrate_task": 3},
        "i686-4.13-4cpu-fifo": {"sched_switch": 766, "sched_wakeup": 388, "sched_waking": 0},
        "i686-listen-no-options": {"sched_switch": 8, "sched_wakeup": 5},
        "armv7-4.14.62-index-states": {"sched_switch": 4427},
        "arm64-juno-two-empty-cpus": {"sched_switch": 755},
        "gpuvis-4.11-option8-tgids": {"sched_switch": 43806},
        "armv7-no-sched-events": {"sched_switch": 0},
    }

    def test_public_counts(self):
        self.shared("public/tracedat/*.dat.gz")
        for name, want in self.PUBLIC.items():
            with self.subTest(name=name):
                _, counts, _ = own_counts(os.path.join(SHARED, "public", "tracedat", name + ".dat.gz"))
                self.assertEqual({k: counts[k] for k in want}, want)

    def states(self, name):
        path = self.shared("public/tracedat/%s.dat.gz" % name)[0]
        p = subprocess.run([WAKEIF, "events", "--json", "-q", path], stdout=subprocess.PIPE, check=True)
        seen = collections.Counter()
        for line in p.stdout.splitlines():
            e = json.loads(line)
            if e["event"] == "sched_switch":
                seen[e["prev_state"] + ("+" if e.get("preempted") and not e["prev_state"].endswith("+") else "")] += 1
        return dict(seen)

    def test_states(self):
        self.assertEqual(self.states("gpuvis-4.11-option8-tgids"), {"R": 20924, "S": 22799, "x": 45, "R+": 33, "D": 5})
        self.assertEqual(self.states("arm64-juno-two-empty-cpus"), {"R": 366, "S": 382, "R+": 6, "x": 1})
        self.assertEqual(self.states("azure-5.0-small-sched").get("?", 0), 0)

    def test_cut_recordings(self):
        files = self.shared("corpus/shapes/trunc-*.dat", "corpus/shapes/trunc-*.dat.gz")
        self.assertEqual(len(files), 3)
        for path in files:
            status, counts, err = own_counts(path)
            if "trunc-lost" in path:  # cut inside the compressed data of CPU 5
                self.assertEqual(counts["sched_switch"], 13811)
                self.assertEqual(counts["lost_events"], 5)
            else:  # cut inside the kernel symbols, in front of all data
                self.assertEqual((status, sum(counts.values())), (3, 0), err)
                self.assertRegex(err, r"^wakeif: .*trunc-[^ ]*@0x[0-9a-f]+: [^\n]+\n$")


if __name__ == "__main__":
    unittest.main()
