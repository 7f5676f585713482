#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""Every recording in samples/ is opened, has its side files, and is what its row in samples/README.md says."""
import gzip
import json
import lzma
import os
import re
import shutil
import subprocess
import sys
import tempfile
import unittest

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
WAKEIF = os.path.join(ROOT, os.environ.get("O", "build"), "wakeif")
SAMPLES = os.path.join(ROOT, "samples")
MAX_BYTES, MAX_TOTAL_BYTES = 1500000, 8500000  # the archive among them: 0.3 MB
EVENTS = ("sched_switch", "sched_waking")
WITH_TRUTH = ("numa16-mix", "smt8-policies-6.12")


def rows():
    with open(os.path.join(SAMPLES, "README.md"), encoding="utf-8") as f:
        lines = [[c.strip() for c in line.strip().strip("|").split("|")] for line in f if line.startswith("|")]
    head = lines[0]
    return {r[0]: dict(zip(head, r)) for r in lines[2:]}


def base(name):
    return re.sub(r"\.(dat|txt)(\.\w+)?$", "", name)


def traces():
    return sorted(n for n in os.listdir(SAMPLES) if re.search(r"\.(dat|txt)(\.\w+)?$", n) and ".topology." not in n)


def count(name):
    """Events as trace-cmd (or, of a text, its lines) has them: {name: number}."""
    path = os.path.join(SAMPLES, name)
    opener = {".gz": gzip.open, ".xz": lzma.open}.get(os.path.splitext(name)[1])
    with tempfile.TemporaryDirectory() as tmp:
        if opener:
            plain = os.path.join(tmp, "plain")
            with opener(path) as src, open(plain, "wb") as dst:
                shutil.copyfileobj(src, dst)
            path = plain
        if ".txt" in name:
            with open(path, encoding="utf-8", errors="replace") as f:
                text = f.read()
        else:
            text = subprocess.run(["trace-cmd", "report", "-R", path], capture_output=True, text=True, errors="replace", check=True).stdout
    return {e: len(re.findall(r"^.{0,80}\d: %s:" % e, text, re.M)) for e in EVENTS}


class Samples(unittest.TestCase):
    maxDiff = None

    def test_readme_lists_them_all(self):
        self.assertEqual(sorted(rows()), traces())
        self.assertGreaterEqual(len(traces()), 6)

    def test_sizes(self):
        sizes = {n: os.path.getsize(os.path.join(SAMPLES, n)) for n in os.listdir(SAMPLES) if os.path.isfile(os.path.join(SAMPLES, n))}
        self.assertEqual([n for n in sizes if sizes[n] > MAX_BYTES], [])
        self.assertLessEqual(sum(sizes.values()), MAX_TOTAL_BYTES)

    def test_side_files(self):
        known = {"README.md", "plugin", "cluster", "wake-affine.db"} | set(traces())
        for name, row in rows().items():
            inside = row["side files"] == "in the trace"
            for suffix in ("topology.tar.gz", "tasks"):
                side = base(name) + "." + suffix
                self.assertEqual(os.path.exists(os.path.join(SAMPLES, side)), not inside and suffix in row["side files"].split(), side)
                known.add(side)
            for suffix in ("decisions", "nodecision"):
                truth = f"{base(name)}.{suffix}.tsv.zst"
                self.assertEqual(os.path.exists(os.path.join(SAMPLES, truth)), base(name) in WITH_TRUTH, truth)
                known.add(truth)
            if not inside:
                self.assertEqual(row["side files"], "topology.tar.gz tasks")
                with open(os.path.join(SAMPLES, base(name) + ".tasks"), encoding="utf-8") as f:
                    self.assertEqual(f.readline(), "tid\tpid\tcomm\tprio\tnice\tpolicy\trtprio\tcpu\tallowed\tcgroup\tautogroup\n")
        self.assertEqual(set(os.listdir(SAMPLES)) - known, set())

    def test_reports(self):
        for name, row in rows().items():
            with self.subTest(name):
                r = subprocess.run([WAKEIF, "report", "--json", os.path.join(SAMPLES, name)], capture_output=True, text=True)
                self.assertEqual((r.returncode, r.stderr), (0, ""))
                j = json.loads(r.stdout)
                self.assertEqual(j["input"][0]["format"], row["format"])
                self.assertEqual(j["input"][0].get("kernel", ""), row["kernel"])
                t = j["topology"]
                self.assertEqual(f"{t['nr_cpus']} CPUs, {t['nr_cores']} cores, {t['nr_nodes']} node{'s' if t['nr_nodes'] > 1 else ''}", row["machine"])
                self.assertEqual(t["source"].rsplit("/", 1)[-1],
                                 "markers in the trace" if row["side files"] == "in the trace" else base(name) + ".topology.tar.gz")
                counts = {e: j["events"][e] for e in EVENTS}
                self.assertEqual(counts, {e: int(row[e]) for e in EVENTS})
                self.assertEqual(counts, count(name))
                self.assertEqual(j["quality"]["lost_events"] > 0, "lost" in name)

    def test_markers_inside(self):
        """The topology inside is the machine's: 4 cores, siblings 0-1, 2-3, ..., one LLC, domains SMT and MC; and tasks are known."""
        for name, row in rows().items():
            if row["side files"] != "in the trace":
                continue
            r = subprocess.run([WAKEIF, "topology", os.path.join(SAMPLES, name)], capture_output=True, text=True)
            self.assertEqual((r.returncode, r.stderr), (0, ""), name)
            for part in ("8 CPUs, 4 cores x 2 threads, 1 LLC, 1 node", "(0 1) (2 3) (4 5) (6 7)", "CPUs 0-7: SMT 2, MC 8"):
                self.assertIn(part, r.stdout, name)


if __name__ == "__main__":
    result = unittest.TextTestRunner(verbosity=1).run(unittest.defaultTestLoader.loadTestsFromModule(sys.modules[__name__]))
    failed = len(result.failures) + len(result.errors)
    print(f"{max(result.testsRun - failed, 0)} passed, {failed} failed")
    sys.exit(1 if failed else 0)
