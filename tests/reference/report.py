#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""The slow reference: report.py FILE [--topology X] [--tasks Y] -> the JSON of `wakeif report`, without input and tool."""
import argparse
import json
import os
import sys

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))

import affine
import continuous
import cookies
import events
import idle
import longest
import markers
import missed
import smt
import state
import topology
import wakeups
from hist import Hist

CLASSES = ("select", "self", "onrq", "oncpu", "delayed", "pinned", "fallback", "fork", "exec", "rt", "dl", "unknown")
PLACEMENTS = ("prev_idle", "prev_busy", "idle_core", "idle_sibling_busy", "busy")


def analyse(path, topology_path=None, tasks_path=None, start=None, stop=None, worst=20, cookie_map=None):
    trace, evs = events.load(path)
    told = markers.files(trace.texts) or {}
    topo = topology.from_markers(told) if told and not topology_path else topology.load(topology_path, trace.nr_cpus)
    facts = topology.parse_tasks(told.get("tasks", "")) if told and not tasks_path else topology.load_tasks(tasks_path)
    return analyse_events(trace, evs, topo, facts, start, stop, worst, cookie_map)


def analyse_events(trace, evs, topo, facts, start=None, stop=None, worst=20, cookie_map=None):
    end = max(e.ts for e in evs if e.type != "lost")
    if stop is not None:
        evs = [e for e in evs if e.ts <= stop]
    missing = sorted(c for c in trace.streams if c not in topo.present)
    if missing:
        raise events.InputError("topology lacks CPU %d" % missing[0])
    waking, wk, gap, samples = wakeups.resolve(evs)
    m = state.Machine(trace, evs, end, topo, facts, wk, waking, start=start, stop=stop)
    parts = {"wait": continuous.IdleWhileWaiting(), "smt": smt.Smt(topo), "idle": idle.Idle(topo), "migrations": affine.Migrations(topo)}
    if cookie_map and topo.smt > 1:
        parts["cookies"] = cookies.Cookies(topo, cookies.Map(cookie_map))
    parts["idle"].attach(m)
    m.listeners = [missed.Decisions()] + list(parts.values())
    m.replay()
    for w in m.finished:
        w.class_ = missed.classify(m, w)
    decided = [w for w in m.finished if w.class_ == "select"]
    window = m.stop - m.start
    total_ns = len(topo.online) * window
    out = {"schema": "wakeif/1",
           "window": {"start_ns": m.start, "end_ns": m.stop, "recording_start_ns": m.recording_start, "recording_end_ns": m.recording_end},
           "quality": quality(m, gap, samples, decided), "events": event_counts(m), "topology": describe(topo), "wakeups": wakeup_counts(m),
           "latency": latencies(m, decided), "missed_idle": missed.report(m, decided, worst), "idle_while_waiting": parts["wait"].report(),
           "wake_affine": affine.report(topo, decided), "idle": parts["idle"].report(decided),
           "migrations": parts["migrations"].report(len(m.finished), window), **task_table(m)}
    if any(e.type == "sched_switch" for e in m.events):
        out["quality"]["unused_cpus"] = topology.format_list([r["cpu"] for r in out["idle"]["cpu"] if not r["busy_ns"]])
    if total_ns:
        out["window"]["coverage"] = round(1 - parts["idle"].unknown_ns() / total_ns, 6)
    s = parts["smt"].report()
    if s:
        out["smt"] = s
        if "cookies" in parts:
            s["cookies"] = parts["cookies"].report()
    return out


def quality(m, gap, samples, decided):
    q = {"lost_marks": len(m.trace.marks), "lost_events": sum(n for _, n in m.trace.marks), "chain_breaks": m.trace.chain_breaks,
         "repairs": m.repairs, "unordered": m.trace.unordered, "unparsed": m.trace.unparsed,
         "unknown_state_letters": m.trace.unknown_letters, "skew_ns": max([v[0] for v in m.skew.values()], default=0),
         "quiet_cpus": m.quiet_cpus, "waking_gap_ns": gap, "waking_gap_samples": samples, "has_waking": m.has_waking,
         "allowed": {s: sum(w.facts.allowed_source == s for w in decided) for s in ("recorded", "inferred", "assumed")},
         "tasks": len(m.all_tasks), "unnamed_tasks": sum(t.comm is None for t in m.all_tasks),
         "throttle_suspected": sum(t.throttled for t in m.all_tasks), "policies": policies(m)}
    if m.skew:
        (a, b), (ns, n) = max(m.skew.items(), key=lambda x: (x[1][0], -x[0][0], -x[0][1]))
        q["skew"] = {"cpu_a": a, "cpu_b": b, "ns": ns, "count": n}
    return q


def policies(m):
    """Tasks that ran in the window."""
    ran = [t for t in m.all_tasks if t.state_ns["RUNNING"]]
    known = sum(m.policy(t) is not None for t in ran)
    return {"known": known, "unknown": len(ran) - known}


def event_counts(m):
    return {k: m.counts.get(k, 0) for k in events.COUNTED if m.counts.get(k) or k == "sched_switch"}


def describe(t):
    def online(groups):
        return sum(1 for g in groups if set(g) & set(t.online))

    return {"smt": t.smt, "nr_cpus": t.nr_cpus, "nr_online": len(t.online), "nr_cores": online(t.groups["core"]), "nr_llcs": online(t.groups["llc"]),
            "nr_nodes": online(t.groups["node"]), "nr_packages": len({t.package_index[c] for c in t.online}),
            "llcs": [{"cpus": topology.format_list(g), "llc_size": t.llc_size[min(g)]} for g in t.groups["llc"]],
            "nodes": [{"cpus": topology.format_list(g)} for g in t.groups["node"]],
            "cpus": [{"cpu": c, "core": t.index["core"][c], "cluster": t.index["cluster"][c], "llc": t.index["llc"][c],
                      "node": t.index["node"][c], "package": t.package_index[c], "online": c in t.online, "isolated": c in t.isolated,
                      "llc_size": t.llc_size[c]} for c in sorted(t.present)]}


def wakeup_counts(m):
    by = dict.fromkeys(CLASSES, 0)
    for w in m.finished:
        by[w.class_] += 1
    censored = [w for w in m.finished if w.outcome == "censored"]
    out = {"total": len(m.finished), "censored": len(censored), "by_class": by, "exec": m.exec_count,
           "stalled": sum(w.stalled(m.recording_end) for w in m.finished if w.class_ == "select"),
           "not_measured": {k: sum(w.outcome == k for w in m.finished) for k in ("running", "died", "replaced", "unknown")}}
    if m.kernel and m.kernel >= (6, 12, 0):
        out["maybe_delayed"] = sum(missed.maybe_delayed(w) for w in m.finished if w.class_ == "select")
    if censored:
        out["censored_oldest_ns"] = max(m.stop - w.t_wake for w in censored)
    return out


def latencies(m, decided):
    total, queue, transit = Hist(), Hist(), Hist()
    by_class, by_place, by_task = {c: Hist() for c in CLASSES}, {p: Hist() for p in PLACEMENTS}, {}
    for w in m.finished:
        ns = affine.latency(w)
        if ns is None:
            continue
        total.add(ns)
        by_class[w.class_].add(ns)
        entry = by_task.setdefault(w.task, [Hist(), 0])
        entry[0].add(ns)
        if w.t_enq is not None:
            queue.add(w.t_run - w.t_enq)
            entry[1] += w.t_run - w.t_enq
            if not w.was_running and w.kind == "waking":
                transit.add(w.t_enq - w.t_wake)
        if w.class_ == "select" and not w.facts.chosen_unknown and w.prev_cpu is not None and placement(w):
            by_place[placement(w)].add(ns)
    tasks = sorted(by_task.items(), key=lambda x: (-sum(x[1][0].values), x[0].pid, x[0].order))
    return {"wakeup": total.latency(True), "queue_wait": queue.latency(True), "transit": transit.latency(True),
            "by_class": {c: h.latency() for c, h in by_class.items()}, "by_placement": {p: h.latency() for p, h in by_place.items()},
            "longest": longest.report(m), "by_task": [{"pid": t.pid, "comm": t.label(), **h.latency(), "queue_wait_ns": q, "wakeups": t.wakeups} for t, (h, q) in tasks[:50]],
            "by_task_total": len(tasks)}


def placement(w):
    f = w.facts
    if w.chosen == w.prev_cpu:
        return "prev_idle" if f.chosen_idle else "prev_busy"
    if not f.chosen_idle:
        return "busy"
    return "idle_sibling_busy" if f.sibling_busy else "idle_core" if not f.sibling_unknown else None


def task_table(m):
    rows = []
    told = any(e.type == "sched_switch" and e.f.get("tells", True) for e in m.events)
    for t in m.all_tasks:
        if t.born is not None and t.born > m.stop or t.died is not None and t.died < m.start:
            continue
        ns = t.state_ns
        r = {"pid": t.pid, "comm": t.label(), "run_ns": ns["RUNNING"], "wait_ns": ns["RUNNABLE"], "sleep_ns": ns["BLOCKED"] + ns["WAKING"],
             "unknown_ns": ns["UNKNOWN"], "wakeups": t.wakeups, "switches_in": t.switches_in, "migrations": t.migrations}
        if t.fact and t.fact.tgid:
            r["tgid"] = t.fact.tgid
        if told and (t.preempted or not t.preempt_unknown):
            r["preempted"] = t.preempted
        if t.preempt_unknown:
            r["preempt_unknown"] = t.preempt_unknown
        rows.append((t, r))
    rows.sort(key=lambda x: (-x[1]["run_ns"], x[0].pid, x[0].order))
    return {"tasks": [r for _, r in rows[:100]], "tasks_total": len(rows)}


def main():
    p = argparse.ArgumentParser(description=__doc__)
    p.add_argument("file")
    p.add_argument("--topology")
    p.add_argument("--tasks")
    p.add_argument("--cookies")
    p.add_argument("--start-ns", type=int)
    p.add_argument("--stop-ns", type=int)
    p.add_argument("--worst", type=int, default=20)
    a = p.parse_args()
    try:
        out = analyse(a.file, a.topology, a.tasks, a.start_ns, a.stop_ns, a.worst, a.cookies)
    except events.InputError as e:
        print("reference: %s: %s" % (a.file, e), file=sys.stderr)
        return 3
    json.dump(out, sys.stdout, indent=1, ensure_ascii=False)
    print()
    return 0


if __name__ == "__main__":
    sys.exit(main())
