# SPDX-License-Identifier: GPL-2.0-or-later
"""Speed of wakeif batch as ratios. What is compared runs by turns, so that what else the machine does hits both; the median of the turns counts."""
import os
import shutil
import statistics
import subprocess

from measure import O, WAKEIF, Run

TURNS = 5
CPUS, TOPOLOGY = 8, "pack:1 l3:1 core:4 pu:2"
TRACE_MB = 10
BYTES_AN_EVENT = 55  # of trace.dat without compression, roughly
LARGE, SMALL = 8, 1000  # traces


def make(folder, name, count, trace_bytes):
    path = os.path.join(folder, name)
    os.mkdir(path)
    subprocess.run([os.path.join(O, "tests", "gen_bench"), "-o", path, "-n", str(count), "-e", str(trace_bytes // BYTES_AN_EVENT), "-c", str(CPUS)], check=True, stdout=subprocess.DEVNULL)
    return path, [os.path.join(at, name) for at, _, names in sorted(os.walk(path)) for name in sorted(names)]


def batch(folder, traces, jobs):
    """Of a new database."""
    db = os.path.join(folder, "bench.db")
    try:
        return Run([WAKEIF, "batch", "-q", "--topology", TOPOLOGY, "--jobs", str(jobs), "-o", db, traces])
    finally:
        if os.path.exists(db):
            os.unlink(db)


class Sum:
    """One report after another."""

    def __init__(self, files):
        runs = [Run([WAKEIF, "report", "-q", "--json", "--topology", TOPOLOGY, f]) for f in files]
        self.cpu_s, self.wall_s = sum(r.cpu_s for r in runs), sum(r.wall_s for r in runs)


def turns(what, a, b):
    """Runs a and b by turns: (wall time of a over that of b, CPU time likewise, all runs of a, all of b)"""
    pairs = [(a(), b()) for _ in range(TURNS)]
    walls, cpus = ([getattr(x, k) / getattr(y, k) for x, y in pairs] for k in ("wall_s", "cpu_s"))
    print("  %-44s %5.3f x the wall time (%.3f to %.3f), %5.3f x the CPU time" % (what, statistics.median(walls), min(walls), max(walls), statistics.median(cpus)), flush=True)
    return [x for x, _ in pairs], [y for _, y in pairs]


def bench(folder):
    traces, files = make(folder, "large", LARGE, TRACE_MB * 1000000)
    size_mb = sum(os.path.getsize(f) for f in files) / 1e6
    print("archive of %d traces, %.1f MB each" % (LARGE, size_mb / LARGE))
    turns("wakeif batch --jobs 1, of report --json", lambda: batch(folder, traces, 1), lambda: Sum(files))
    turns("wakeif batch --jobs 1, of --jobs 2", lambda: batch(folder, traces, 1), lambda: batch(folder, traces, 2))
    shutil.rmtree(traces)

    traces, files = make(folder, "small", SMALL, 100000)
    print("archive of %d traces, %.0f KB each" % (SMALL, sum(os.path.getsize(f) for f in files) / 1e3 / SMALL))
    _, two = turns("wakeif batch --jobs 1, of --jobs 2", lambda: batch(folder, traces, 1), lambda: batch(folder, traces, 2))
    print("  %-44s %7.0f traces/s" % ("wakeif batch --jobs 2", SMALL / statistics.median(r.wall_s for r in two)))
    shutil.rmtree(traces)
