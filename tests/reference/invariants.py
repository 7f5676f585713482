#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""Invariants of METRICS on the JSON of any `wakeif report`: invariants.py FILE... (or - for standard input). Exit status 1 if one is broken."""
import json
import sys

SCOPES = ("core", "cluster", "llc", "node", "machine")
ROWS = ("no_idle", "sibling", "cluster", "llc", "node", "machine", "unknown")
EPS = 1.5e-6


class Checker:
    def __init__(self):
        self.broken = []
        self.checked = 0

    def that(self, ok, text, *values):
        self.checked += 1
        if not ok:
            self.broken.append(text + (": " + ", ".join(str(v) for v in values) if values else ""))

    def equal(self, a, b, text):
        self.that(a == b, text, a, b)

    def rising(self, values, text):
        values = [v for v in values if v is not None]
        self.that(all(a <= b for a, b in zip(values, values[1:])), text, *values)


def check(j):
    """-> Checker"""
    c = Checker()
    no_negative(c, j, "")
    window = j["window"]
    c.that(window["recording_start_ns"] <= window["start_ns"] <= window["end_ns"] <= window["recording_end_ns"], "the window lies in the recording",
           window)
    ns = window["end_ns"] - window["start_ns"]
    topology(c, j)
    wakeups(c, j)
    latency(c, j)
    longest(c, j)
    missed(c, j["missed_idle"], j["wakeups"]["by_class"]["select"])
    waiting(c, j, ns)
    idle(c, j, ns)
    if "smt" in j:
        smt(c, j, ns)
    affine(c, j)
    migrations(c, j)
    tasks(c, j, ns)
    return c


def no_negative(c, x, path):
    if isinstance(x, dict):
        for k, v in x.items():
            no_negative(c, v, path + "." + k)
    elif isinstance(x, list):
        for i, v in enumerate(x):
            no_negative(c, v, "%s[%d]" % (path, i))
    elif isinstance(x, (int, float)) and not isinstance(x, bool):
        c.that(0 <= x < 2 ** 63, path + " is a sane number", x)


def topology(c, j):
    t = j.get("topology")
    if not t:
        return
    c.equal(sum(x["online"] for x in t["cpus"]), t["nr_online"], "online CPUs")
    # Nested scopes: CPUs of one group share every wider group.
    for near, far in (("core", "cluster"), ("cluster", "llc"), ("llc", "node")):
        of = {}
        for x in t["cpus"]:
            of.setdefault(x[near], set()).add(x[far])
        c.that(all(len(v) == 1 for v in of.values()), "%s within %s" % (near, far))


def wakeups(c, j):
    w = j["wakeups"]
    by = {k: v for k, v in w["by_class"].items() if k != "exec"}
    c.equal(sum(by.values()), w["total"], "by_class sums to total")
    c.equal(w["total"], w["censored"] + sum(w["not_measured"].values()) + j["latency"]["wakeup"]["count"], "total = censored + not measured + measured")
    c.that(w["stalled"] <= w["by_class"]["select"], "stalled among select")
    ev = j["events"]
    if ev.get("sched_waking"):
        c.that(w["total"] <= ev["sched_waking"] + ev.get("sched_wakeup_new", 0), "total <= sched_waking + sched_wakeup_new")


def longest(c, j):
    rows = j["latency"]["longest"]
    order = [(-r["latency_ns"], r["wake_ns"], r["pid"]) for r in rows]
    c.that(order == sorted(order), "longest by latency falling, time, pid")
    c.equal(len(rows), min(20, j["latency"]["wakeup"]["count"] + sum(1 for r in rows if r.get("censored"))), "rows of longest")
    ended = [r["latency_ns"] for r in rows if not r.get("censored")]
    c.that(len(rows) == 20 or max(ended, default=None) == j["latency"]["wakeup"].get("max_ns"), "the longest ended wait is the largest latency")
    for r in rows:
        if "behind" not in r:
            continue
        ran = sum(b["ns"] for b in r["behind"])
        c.that(ran <= r["queue_wait_ns"] <= r["latency_ns"], "ran <= wait <= latency", r["wake_ns"], r["pid"])
        if r["behind_complete"] and len(r["behind"]) < 3:
            c.equal(ran, r["queue_wait_ns"], "all that ran = wait")
        c.that(r.get("sibling_idle_ns", 0) <= r["queue_wait_ns"], "sibling idle <= wait", r["wake_ns"], r["pid"])


def latency(c, j):
    lat = j["latency"]
    for name in ("wakeup", "queue_wait", "transit"):
        histogram(c, lat[name], name)
    for name, h in [*lat.get("by_class", {}).items(), *lat["by_placement"].items()]:
        quantiles(c, h, name)
    # A class without a measured wakeup may be absent.
    c.equal(sum(h["count"] for h in lat["by_class"].values()), lat["wakeup"]["count"], "latency by class sums to all")
    c.equal(sum(h["sum_ns"] for h in lat["by_class"].values()), lat["wakeup"]["sum_ns"], "latency sums by class add up")
    c.that(sum(h["count"] for h in lat["by_placement"].values()) <= lat["by_class"].get("select", {"count": 0})["count"], "by_placement among select")
    if lat["by_task_total"] == len(lat["by_task"]):
        c.equal(sum(t["count"] for t in lat["by_task"]), lat["wakeup"]["count"], "latency by task sums to all")
    sums = [t["sum_ns"] for t in lat["by_task"]]
    c.that(sums == sorted(sums, reverse=True), "by_task by sum falling")


def histogram(c, h, name):
    c.equal(sum(b[2] for b in h["histogram"]), h["count"], "sum of the histogram of %s = count" % name)
    lows = [b[0] for b in h["histogram"]]
    c.that(lows == sorted(set(lows)), "histogram of %s rises" % name)
    c.that(all(b[1] <= max(1, b[0] // 64) for b in h["histogram"]), "histogram of %s is as fine as stated" % name)
    low = sum(b[0] * b[2] for b in h["histogram"])
    high = sum((b[0] + b[1] - 1) * b[2] for b in h["histogram"])
    c.that(low <= h["sum_ns"] <= high, "sum of %s lies within its histogram" % name, low, h["sum_ns"], high)
    quantiles(c, h, name)


def quantiles(c, h, name):
    if h["count"]:
        c.rising([h["min_ns"], h["p50_ns"], h["p90_ns"], h["p99_ns"], h["p999_ns"], h["max_ns"]], "quantiles of %s" % name)
        c.that(h["min_ns"] * h["count"] <= h["sum_ns"] <= h["max_ns"] * h["count"], "sum of %s" % name)
    else:
        c.that("min_ns" not in h and h["sum_ns"] == 0, "%s is empty" % name)


def row(c, r, decided, name):
    c.that(r["count"] <= decided, name + " among decided")
    if decided:
        c.that(abs(r["share"] - r["count"] / decided) < EPS, name + " share", r["share"])
    if "wait_ns" in r:
        c.rising([r.get("wait_p50_ns"), r.get("wait_p99_ns"), r.get("wait_max_ns"), r["wait_ns"]], name + " wait")
    if "avoidable_ns" in r:
        c.rising([r["avoidable_ns"], r["wait_ns"]], name + ": avoidable <= wait")
        c.rising([r.get("avoidable_p50_ns"), r.get("avoidable_p99_ns"), r.get("avoidable_max_ns"), r["avoidable_ns"]], name + " avoidable")


def missed(c, m, select):
    n = m["decided"]
    c.equal(n, select, "decided = class select")
    for k in ROWS:
        row(c, m[k], n, k)
    rows = sum(m[k]["count"] for k in ROWS)
    queued = m["queued_on_busy"]["count"]
    # `unknown` holds the queued ones whose rings are not known and those whose own CPU is not known; an idle CPU has no row.
    c.that(queued <= rows <= n, "rows of missed idle", queued, rows, n)
    c.equal(queued + m["chosen_unknown"], rows, "queued on busy + chosen unknown = rows")
    c.equal(m["chosen_idle"] + rows, n, "chosen idle + rows = decided")
    c.that(m["queued_on_busy"]["on_waker_cpu_alone"] + m["stacked_on_waker"]["count"] <= m["queued_on_busy"]["on_waker_cpu"] <= queued, "on the waker's CPU")
    c.that(rows - m["unknown"]["count"] <= queued, "known rows are queued on a busy CPU")
    for name in ("queued_while_idle_core", "half_busy_core"):
        c.rising([m[name][s]["count"] for s in ("llc", "node", "machine")], name + " is cumulative")
        c.rising([m[name][s]["wait_ns"] for s in ("llc", "node", "machine")], name + " wait is cumulative")
        for s in ("llc", "node", "machine"):
            row(c, m[name][s], n, name + "." + s)
    c.that(m["queued_while_idle_core"]["machine"]["count"] <= queued, "queued while an idle core <= queued")
    c.that(m["stacked_on_waker"]["count"] <= m["queued_while_idle_core"]["machine"]["count"], "stacked <= queued while an idle core existed")
    c.that(queued + m["half_busy_core"]["machine"]["count"] <= n, "queued + half busy <= decided")
    e = m["prev_idle_elsewhere"]
    c.equal(sum(e["by_distance"].values()), e["count"], "prev idle elsewhere by distance")
    c.that(e["affine_possible"] <= e["count"], "affine possible <= all")
    for w in m["worst"]:
        if "wait_ns" in w and "avoidable_ns" in w:
            c.that(w["avoidable_ns"] <= w["wait_ns"], "worst: avoidable <= wait", w["wake_ns"], w["pid"])
    worst = [-w.get("avoidable_ns", 0) for w in m["worst"]]
    c.that(worst == sorted(worst), "worst by avoidable falling")


def waiting(c, j, ns):
    iw = j["idle_while_waiting"]
    for s in SCOPES:
        x = iw[s]
        c.rising([x["behind_ns"], x["wall_ns"], x["cpu_ns"], x["task_ns"]], "idle while waiting %s: behind <= wall <= cpu <= task" % s)
        c.that(x["wall_ns"] <= ns, "wall time within the window")
        e = x["episodes"]
        c.rising([e["over_100ms"], e["over_10ms"], e["over_1ms"]], "episodes " + s)
        c.equal("longest" in x, x["wall_ns"] > 0, "longest episode " + s)
        if "longest" in x:
            c.that(x["longest"]["ns"] <= x["wall_ns"], "longest <= wall " + s)
    for k in ("wall_ns", "behind_ns", "cpu_ns", "task_ns"):
        c.rising([iw[s][k] for s in SCOPES], "idle while waiting %s nests" % k)


def idle(c, j, ns):
    for table in ("cpu", "core", "llc", "package"):
        for r in j["idle"][table]:
            c.equal(r["idle_ns"] + r["busy_ns"] + r["unknown_ns"], ns, "idle + busy + unknown = window, %s %s" % (table, r[table]))
    cpus = j["idle"]["cpu"]
    if ns and cpus and "coverage" in j["window"]:
        unknown = sum(r["unknown_ns"] for r in cpus)
        c.that(abs(j["window"]["coverage"] - (1 - unknown / (ns * len(cpus)))) < EPS, "coverage", j["window"]["coverage"])
    t = j["idle"]["touched_idle_package"]
    c.that(t["count"] <= j["missed_idle"]["decided"], "touched idle package among decided")
    per = {}
    for s in j["idle"].get("cstates", []):
        per[s["cpu"]] = per.get(s["cpu"], 0) + s["ns"]
    c.that(all(v <= ns for v in per.values()), "C-states within the window")


def cookies(c, j, s):
    k = s["cookies"]
    for x, y in zip(k["cores"] + [k], s["cores"] + [s]):
        c.equal([x["idle_ns"], x["single_ns"], x["compatible_ns"] + x["incompatible_ns"] + x["corun_unknown_ns"], x["unknown_ns"]],
                y["busy_threads_ns"][:2] + [sum(y["busy_threads_ns"][2:]), y["unknown_ns"]], "cookies split busy threads")
        c.rising([0, x["forced_idle_min_ns"], x["incompatible_ns"] * (len(y["busy_threads_ns"]) - 2)], "forced idle within incompatible co-run")
    c.equal(len(k["cores"]), len(s["cores"]), "cores of cookies")
    for g in k["groups"]:
        c.equal(g["compatible_ns"] + g["incompatible_ns"] + g["alone_ns"] + g["unknown_ns"], g["run_ns"], "run time of a cookie")
    if k["groups_total"] == len(k["groups"]):
        c.equal(sum(g["run_ns"] for g in k["groups"]), sum(r["busy_ns"] for r in j["idle"]["cpu"]), "run time of all cookies = busy time")


def smt(c, j, ns):
    s = j["smt"]
    c.equal(sum(s["busy_threads_ns"]) + s["unknown_ns"], ns * len(s["cores"]), "busy threads + unknown = cores x window")
    width = len(s["busy_threads_ns"])
    for i in range(width):
        c.equal(sum(x["busy_threads_ns"][i] for x in s["cores"] if i < len(x["busy_threads_ns"])), s["busy_threads_ns"][i], "busy threads %d by core" % i)
    a = s["avoidable_corun_ns"]
    c.rising([a["llc"], a["node"], a["machine"], sum(s["busy_threads_ns"][2:])], "avoidable co-run nests")
    for t in s["tasks"]:
        c.equal(t["corun_ns"] + t["alone_ns"] + t["unknown_ns"], t["run_ns"], "co-run of %s" % t["pid"])
        c.rising([t["lost_ns"]["s090"], t["lost_ns"]["s062"], t["lost_ns"]["s050"], t["corun_ns"]], "SMT-lost time of %s" % t["pid"])
    if "cookies" in s:
        cookies(c, j, s)
    if s["pairs_total"] == len(s["pairs"]) and not s["unknown_ns"]:
        c.equal(sum(p["ns"] for p in s["pairs"]), sum(n * (n - 1) // 2 * v for n, v in enumerate(s["busy_threads_ns"])), "pairs add up")
    if s["tasks_total"] == len(s["tasks"]):
        busy = sum(r["busy_ns"] for r in j["idle"]["cpu"])
        c.equal(sum(t["run_ns"] for t in s["tasks"]), busy, "run time of all tasks = busy time of all CPUs")


def affine(c, j):
    a = j["wake_affine"]
    for side in ("prev", "waker"):
        c.equal(sum(a["outcome"][side].values()), a["considered"], "outcome relative to " + side)
    c.equal(sum(map(sum, a["matrix"])), a["considered"], "matrix sums to considered")
    c.equal([sum(r) for r in a["matrix"]], list(a["outcome"]["prev"].values()), "rows of the matrix")
    c.equal([sum(r[i] for r in a["matrix"]) for i in range(6)], list(a["outcome"]["waker"].values()), "columns of the matrix")
    for k in ("considered", "cross_llc", "bounce"):
        c.equal(sum(x[k] for x in a["by_context"].values()), a[k], k + " by context")
    c.equal(sum(x["latency"]["count"] for x in a["by_context"].values()), a["latency"]["count"], "latency by context")
    c.rising([a["bounce"], a["cross_llc"], a["considered"], j["missed_idle"]["decided"]], "bounce <= cross LLC <= considered <= decided")


def migrations(c, j):
    m = j["migrations"]
    c.equal(sum(m["by_distance"].values()) + m.get("distance_unknown", 0), m["total"], "migrations by distance")
    c.equal(m["total"] - m["inferred"], j["events"].get("sched_migrate_task", 0), "recorded migrations")
    c.that(m["placement"] <= m["total"], "placement among the migrations")
    if j["tasks_total"] == len(j["tasks"]):
        c.equal(sum(t["migrations"] for t in j["tasks"]), m["total"], "migrations by task")


def tasks(c, j, ns):
    rows = j["tasks"]
    run = [t["run_ns"] for t in rows]
    c.that(run == sorted(run, reverse=True), "tasks by run time falling")
    for t in rows:
        c.that(t["run_ns"] + t["wait_ns"] + t["sleep_ns"] + t["unknown_ns"] <= ns, "times of %s within the window" % t["pid"])
        c.that(t["pid"] != 0, "the idle task is no task")
    if j["tasks_total"] == len(rows):
        c.equal(sum(t["wakeups"] for t in rows), j["wakeups"]["total"], "wakeups by task")


def main():
    bad = 0
    for name in sys.argv[1:]:
        with (sys.stdin if name == "-" else open(name, encoding="utf-8")) as f:
            c = check(json.load(f))
        for text in c.broken:
            print("%s: broken: %s" % (name, text))
        bad += bool(c.broken)
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main())
