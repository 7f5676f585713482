#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""Generates large traces, runs wakeif and its peers on them and prints CPU time, events a second, ratios and peak memory.

Figures are CPU time (user + system) of the best of three runs, one of the slow peers; the ratio to libtracecmd is that of
the medians of runs that take turns, so that a machine that slows down for a while slows both; of archives, ratios of the
same kind (archives.py). The traces are removed afterwards. With the argument "report" or "archives" that part is all that
is measured.
"""
import os
import shutil
import statistics
import subprocess
import sys
import tempfile

import archives
from measure import O, WAKEIF, Run

EVENTS = int(os.environ.get("BENCH_EVENTS", "8000000"))
FLAT = {8: "pack:1 l3:1 core:4 pu:2", 64: "pack:2 l3:2 core:8 pu:2"}


def best(argv, times=3):
    return min((Run(argv) for _ in range(times)), key=lambda r: r.cpu_s)


def report(path, cpus):
    return [WAKEIF, "report", "-q", "--topology", FLAT[cpus], path]


POLICIES = ("prev", "waker", "prev-idle", "idle-core-first", "llc-only", "pack", "least-loaded")

KERNELS = ("linux-6.6", "linux-6.12", "linux-6.18", "linux-5.15", "linux-6.1,wf-sync=vagin", "linux-6.1,sis-util=off", "linux-6.6,nr-idle-scan=4")


def replay(path, cpus, command, *more):
    return [WAKEIF, command, "-q", "--topology", FLAT[cpus], *more, path]


def replays(path, cpus):
    """The recording kernel's model alone, with one more, and with seven more."""
    one = best(replay(path, cpus, "replay", "--sync", "never"))
    line("wakeif replay, linux-6.1, fixed sync", EVENTS, one)
    line("wakeif replay, linux-6.1, learned sync", EVENTS, best(replay(path, cpus, "replay")))
    for what, models in (("oldest-idle", ("oldest-idle",)), ("linux-6.6", ("linux-6.6",)), ("seven policies", POLICIES), ("seven kernels", KERNELS)):
        more = best(replay(path, cpus, "compare", "--sync", "never", *(a for m in models for a in ("-m", m))))
        line("wakeif compare, linux-6.1 and " + what, EVENTS, more)
        print("  %.2f x the time of linux-6.1 alone" % (more.cpu_s / one.cpu_s))


def generate(folder, name, events, cpus, *more):
    path = os.path.join(folder, name)
    subprocess.run([os.path.join(O, "tests", "gen_bench"), "-o", path, "-e", str(events), "-c", str(cpus), *more], check=True, stdout=subprocess.DEVNULL)
    return path


def line(what, events, r, base=None):
    rate = events / r.cpu_s
    ratio = "" if base is None else "  wakeif is %.1f x" % (rate_of(base, events) / rate)
    print("  %-44s %7.2f s CPU  %7.2f M events/s  peak %6.1f MB%s" % (what, r.cpu_s, rate / 1e6, r.peak_mb, ratio))
    sys.stdout.flush()


def rate_of(r, events):
    return events / r.cpu_s


TURNS = 7


def in_turns(path, events):
    """wakeif report and the bare loop of libtracecmd, turn by turn. Returns the best run of wakeif."""
    argv = report(path, 8), [os.path.join(O, "tests", "peer_libtracecmd"), path]
    ours, peer = zip(*((Run(argv[0]), Run(argv[1])) for _ in range(TURNS)))
    line("wakeif report", events, min(ours, key=lambda r: r.cpu_s))
    line("libtracecmd, loop with field decode", events, min(peer, key=lambda r: r.cpu_s))
    for what, get in (("CPU", lambda r: r.cpu_s), ("user", lambda r: r.user_s)):
        a, b = (statistics.median(map(get, runs)) for runs in (ours, peer))
        print("  median of %d runs in turns, %-4s time: %.3f s and %.3f s: wakeif is %.2f x" % (TURNS, what, a, b, b / a))
    return min(ours, key=lambda r: r.cpu_s)


def peers(path, events, ours):
    if shutil.which("trace-cmd"):
        line("trace-cmd report", events, best(["trace-cmd", "report", path], 1), ours)
    else:
        print("  trace-cmd report: not installed")
    print("  perf sched latency: reads perf.data only")


def simulations(path, cpus):
    """CPU time of one run of the machine: what eight runs take more than two, a sixth of it. The tapes are taken once."""
    argv = [WAKEIF, "simulate", "-q", "--jobs", "1", "--smt-speed", "1", "--topology", FLAT[cpus], "-o", "/dev/null", path]
    two, eight = (best(argv + ["--seeds", str(n)], 1) for n in (1, 4))
    run_s = (eight.cpu_s - two.cpu_s) / 6
    print("  %-44s %7.2f s CPU  %7.2f M recorded events/s" % ("wakeif simulate, one run of the machine", run_s, EVENTS / run_s / 1e6))
    line("wakeif simulate, tapes and two runs", EVENTS, two)


def main():
    base = os.environ.get("BENCH_DIR", O)
    with tempfile.TemporaryDirectory(prefix="bench-", dir=base) as folder:
        if sys.argv[1:] == ["archives"]:
            archives.bench(folder)
            return 0
        print("%d events, 8 CPUs, trace.dat v6, uncompressed" % EVENTS)
        path = generate(folder, "plain.dat", EVENTS, 8, "-V", "6")
        plain = in_turns(path, EVENTS)
        if sys.argv[1:] == ["report"]:
            return 0
        peers(path, EVENTS, plain)
        replays(path, 8)
        simulations(path, 8)
        os.unlink(path)

        print("%d events, 8 CPUs, trace.dat v7, zstd" % EVENTS)
        path = generate(folder, "zstd.dat", EVENTS, 8, "-V", "7", "-z", "zstd")
        zstd = best(report(path, 8))
        line("wakeif report", EVENTS, zstd)
        print("  %.0f %% of the uncompressed rate" % (100 * plain.cpu_s / zstd.cpu_s))
        os.unlink(path)

        print("%d events, 64 CPUs" % EVENTS)
        path = generate(folder, "wide.dat", EVENTS, 64, "-V", "6")
        line("wakeif report", EVENTS, best(report(path, 64)))
        replays(path, 64)
        os.unlink(path)

        print("memory by size")
        for part in (4, 1, 0.5):
            n = int(EVENTS / part)
            path = generate(folder, "size.dat", n, 8, "-V", "6")
            size = os.path.getsize(path) / 1e6
            line("wakeif report, %.0f MB" % size, n, best(report(path, 8), 1))
            os.unlink(path)

        print("1000 events, start to exit")
        path = generate(folder, "small.dat", 1000, 8, "-V", "7", "-z", "zstd")
        runs = 20
        for what, argv in (("wakeif report", report(path, 8)), ("libtracecmd, open alone", [os.path.join(O, "tests", "peer_libtracecmd"), "-o", path])):
            print("  %-44s %7.2f ms CPU" % (what, 1000 * sum(Run(argv).cpu_s for _ in range(runs)) / runs))

        archives.bench(folder)
    return 0


if __name__ == "__main__":
    sys.exit(main())
