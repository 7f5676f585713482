#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""Writes doc/accuracy.md: the self-replay of every recording, and predicted against real differences of recorded pairs,
and the twin experiment.

    tests/accuracy.py WAKEIF CORPUS [--seeds N]  > doc/accuracy.md
"""
import json
import math
import os
import statistics
import subprocess
import sys

METRICS = [("util", "util", 0.01), ("p50_ns", "p50", 10000), ("p99_ns", "p99", 10000), ("migrations", "migr/waking", 0.02), ("stay", "stay", 0.01),
           ("corun", "co-run", 0.015)]
WAKEIF, CORPUS = sys.argv[1:3]
NO_WAKE = "linux-6.1,wa-idle=off,wa-weight=off"
SEEDS = sys.argv[sys.argv.index("--seeds") + 1] if "--seeds" in sys.argv else "5"


def simulate(topology, trace, *args):
    p = subprocess.run([WAKEIF, "simulate", "-q", "--json", "--seeds", SEEDS, "--smt-speed", "1", "--no-sensitivity", "--topology", topology, *args, trace],
                       stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    if p.returncode:
        raise SystemExit("%s: %s" % (trace, p.stderr.decode().strip()))
    return json.loads(p.stdout)["simulate"]


def figure(key, v):
    if v is None or math.isnan(v):
        return "–"
    if key.endswith("_ns"):
        return "%.0f us" % (v / 1e3)
    return "%.3f" % v if key == "migrations" else "%.1f %%" % (100 * v)


def mean(side, key):
    return side[key]["mean"] if key in side else float("nan")


def self_replay():
    print("## Self-replay\n")
    print("Recorded > simulated, mean of %s seeds, recorded latencies; KS of wakeup latency with recorded and with resampled latencies.\n" % SEEDS)
    print("| recording | " + " | ".join(t for _, t, _ in METRICS) + " | KS | KS resampled |")
    print("|---|" + "---|" * (len(METRICS) + 2))
    for name in sorted(os.listdir(CORPUS)):
        trace = os.path.join(CORPUS, name, "trace.dat")
        if not os.path.exists(trace):
            continue
        s = simulate(os.path.join(CORPUS, name, "topology.tar.gz"), trace)["self_replay"]
        cells = ["%s > %s" % (figure(k, s["recorded"].get(k)), figure(k, mean(s["simulated"], k))) for k, _, _ in METRICS]
        print("| %s | %s | %.3f | %.3f |" % (name, " | ".join(cells), s.get("ks", math.nan), s.get("ks_resampled", math.nan)))


def pairs():
    print("\n## Pairs: one workload recorded under two settings\n")
    print("Five recordings a side. Real: mean of B minus mean of A, with the standard deviation of the repetitions. Predicted: difference of two simulations from one\n"
          "tape, mean over the recordings of that side; share: predicted divided by real.\n")
    pair("61-nowake", "wake_affine off (NO_WA_IDLE NO_WA_WEIGHT)", ["-m", NO_WAKE])
    pair("61-smt", "SMT off", ["--smt", "off"])


def pair(name, title, change):
    folder = os.path.join(CORPUS, "ab", name)
    topology = os.path.join(folder, "topology.tar.gz")
    real, predicted = {"A": [], "B": []}, {"A": [], "B": []}
    for side in "AB":
        for i in range(1, 6):
            trace = os.path.join(folder, "%s%d" % (side, i), "trace.dat")
            d = run_pair(name, side, topology, trace, change)
            real[side].append(d[0])
            predicted[side].append(d[1])
    print("\n### %s\n" % title)
    print("| number | real A | real B | difference | A to B predicted | share | B to A predicted | share |")
    print("|---|---|---|---|---|---|---|---|")
    for key, label, _ in METRICS + [("wakings_per_s", "wakings/s", 0)]:
        a, b = ([r.get(key, math.nan) for r in real[s]] for s in "AB")
        d = statistics.mean(b) - statistics.mean(a)
        ab = statistics.mean(p[key] for p in predicted["A"])
        ba = -statistics.mean(p[key] for p in predicted["B"])
        fmt = (lambda v: "%.0f" % v) if key == "wakings_per_s" else (lambda v: figure(key, v))
        share = lambda p: "%.2f" % (p / d) if d else "–"
        print("| %s | %s ± %s | %s ± %s | %s | %s | %s | %s | %s |" % (label, fmt(statistics.mean(a)), fmt(statistics.stdev(a)), fmt(statistics.mean(b)),
                                                                   fmt(statistics.stdev(b)), fmt(d), fmt(ab), share(ab), fmt(ba), share(ba)))


def run_pair(name, side, topology, trace, change):
    """(recorded numbers, predicted difference to the other side)"""
    if name == "61-nowake" and side == "B":
        d = simulate(topology, trace, "--baseline", NO_WAKE, "-m", "linux-6.1", "--sync", "always")  # with the features off nothing tells the flag
        own, other = d["policies"][0], d["policies"][2]
    elif name == "61-smt" and side == "B":
        d = simulate(topology, trace, "--smt", "off", "--quiet-cpus", "unknown")  # half of the CPUs were off
        own, other = d["policies"][2], d["policies"][0]
    else:
        d = simulate(topology, trace, *change)
        own, other = d["policies"][0], d["policies"][2]
    keys = [k for k, _, _ in METRICS] + ["wakings_per_s"]
    return d["self_replay"]["recorded"], {k: mean(other, k) - mean(own, k) for k in keys}


WORLDS = ["ping-pong", "stream", "hackbench", "requests", "make", "hogs", "mutexes", "crowd", "busy", "mix"]
SAMPLES = ["smt8-schbench.dat", "smt8-forks.dat.gz", "numa16-mix.dat", "nosmt4-hackbench.dat"]


def twin():
    """Tables of tests/sim/twin.c: made-up worlds and the samples, then the recordings of the machine's own kernel."""
    program = os.path.join(os.path.dirname(WAKEIF), "tests", "twin")
    samples = os.path.join(os.path.dirname(os.path.dirname(os.path.abspath(__file__))), "samples")
    traces = [os.path.join(CORPUS, n, "trace.dat") for n in sorted(os.listdir(CORPUS)) if n.startswith("61-")]
    print("\n## Twin experiment\n")
    print("The machine runs tapes and records itself; that recording is extracted again and predicts a change: no affine wakeups, SMT off, the previous\n"
          "CPU always, no wakeup preemption. Truth: the first tapes under the same change. Neither kernel nor host is in the way, so what is missed is what\n"
          "extraction loses. Cells: changes of more than 5 % and of three standard deviations over 8 seeds.")
    for title, inputs in (("Made-up worlds and samples", ["world:" + w for w in WORLDS] + [os.path.join(samples, n) for n in SAMPLES]),
                          ("Recordings of 6.1", [t for t in traces if os.path.exists(t)])):
        out = subprocess.run([program, "-s", "8", *inputs], stdout=subprocess.PIPE, check=True).stdout.decode()
        print("\n### %s\n" % title)
        print("\n".join(line for line in out.splitlines() if line.startswith("|")))


def main():
    print("# Accuracy of the closed loop\n")
    print("Made by `make accuracy`, from recordings of emulated guests: their CPUs share a host, siblings share no execution resources (`--smt-speed 1`).\n"
          "Not every recording was left out of development; [simulate.md](simulate.md) says what the numbers mean.\n")
    self_replay()
    pairs()
    twin()


main()
