# SPDX-License-Identifier: GPL-2.0-or-later
"""Wakeups: what came of each sched_waking (rules 13, 14, 16), found by looking ahead in the whole list of events."""
from bisect import bisect_right

from events import HARDIRQ, NMI, SCHED_TYPES, SOFTIRQ, proves

LOOK_AHEAD = 32768
GAP_SAMPLES = 10000
STALL_NS = 100000


class Wakeup:
    """One wakeup. Times are None where not seen."""

    def __init__(self, ev, kind):
        self.ev = ev
        self.kind = kind  # "waking", "new", "only_wakeup"
        self.pid = ev.f["pid"]
        self.prio = ev.f["prio"]
        self.t_wake = ev.ts
        self.waker_cpu = ev.cpu
        self.prev_cpu = ev.f["target"]
        self.context = context_of(ev)
        self.chosen = None
        self.moved = False
        self.resolved_ts = None  # stamp of the resolving record
        self.t_enq = None
        self.enq_ev = None
        self.enq_cpu = None  # the sched_wakeup's record CPU
        self.enq_target = None
        self.t_dec = None
        self.next_record_ts = None  # W's next record
        self.unresolved = False
        self.t_run = None
        self.run_cpu = None
        # filled while the machine is replayed
        self.task = None
        self.p_state = None  # state of p at t_wake: RUNNING, RUNNABLE, BLOCKED, WAKING, UNKNOWN
        self.p_current_on_waker = False
        self.blocked_before_enq = False
        self.preempted_before_enq = False
        self.blocked_ts = self.blocked_cpu = self.blocked_seq = None
        self.waker_unknown = False
        self.comm = self.waker_comm = ""
        self.waker_pid = ev.pid
        self.duplicate = False
        self.outcome = None  # run, running, died, replaced, unknown, censored
        self.facts = None
        self.class_ = None
        self.later_runs = []  # (ts, cpu) of switch-ins from t_run on

    def stalled(self, recording_end):
        """Rule 20"""
        until = self.t_wake + STALL_NS
        return self.kind == "waking" and recording_end > until and (self.next_record_ts is None or self.next_record_ts > until)

    @property
    def was_running(self):
        return self.p_state == "RUNNING"


def context_of(ev):
    """Rule 19"""
    if ev.flags is None:
        return "unknown"
    if ev.flags & (HARDIRQ | NMI):
        return "hardirq"
    if ev.flags & SOFTIRQ:
        return "softirq"
    return "idle" if ev.pid == 0 else "task"


def has_waking(events):
    """Rule 16"""
    n = 0
    for ev in events:
        if ev.type == "sched_waking":
            return True
        n += ev.type == "sched_wakeup"
        if n >= GAP_SAMPLES:
            return False
    return False


def resolve(events):
    """-> (has_waking, {event index: Wakeup}, gap_ns, gap_samples). The keys are the records that make the wakeups."""
    waking = has_waking(events)
    wakeups = {}
    open_ = {}  # pid -> (Wakeup, number of its record); the latest sched_waking of the pid
    gaps = []
    n = 0
    for ev in events:
        if ev.type not in SCHED_TYPES:
            continue
        n += 1
        f = ev.f
        if ev.type == "sched_waking":
            finish(open_.pop(f["pid"], None), n, ev)
            w = Wakeup(ev, "waking")
            wakeups[ev.index] = w
            open_[w.pid] = (w, n)
        elif ev.type == "sched_migrate_task":
            o = open_.get(f["pid"])
            if o and ev.cpu == o[0].waker_cpu and result(o, n, f["dest"], ev):
                o[0].moved = True
                gaps.append(ev.ts - o[0].t_wake)
        elif ev.type == "sched_wakeup":
            if not f["success"]:
                continue
            o = open_.pop(f["pid"], None)
            if o:
                result(o, n, f["target"], ev)
                enqueue(o[0], ev)
            elif not waking:
                w = Wakeup(ev, "only_wakeup")
                w.chosen, w.resolved_ts, w.t_dec = f["target"], ev.ts, ev.ts
                enqueue(w, ev)
                wakeups[ev.index] = w
        elif ev.type == "sched_switch":
            o = open_.get(f["prev_pid"])
            if o and o[0].resolved_ts is None and f["state"] != "R" and not f["preempted"]:
                o[0].blocked_before_enq = True
            o = open_.pop(f["next_pid"], None)
            if o:
                result(o, n, ev.cpu, ev)
        elif ev.type == "sched_wakeup_new":
            finish(open_.pop(f["pid"], None), n, ev)
            if f["success"]:
                w = Wakeup(ev, "new")
                w.prev_cpu = ev.cpu
                w.chosen, w.resolved_ts, w.t_dec = f["target"], ev.ts, ev.ts
                enqueue(w, ev)
                wakeups[ev.index] = w
        elif ev.type == "sched_process_exit":
            finish(open_.pop(f["pid"], None), n, ev)
    gaps = sorted(gaps[:GAP_SAMPLES])
    g = gaps[(len(gaps) - 1) // 2] if gaps else 1000
    next_records(events, wakeups)
    for w in wakeups.values():
        if w.kind == "waking":
            w.t_dec = decision_instant(w, g)
    return waking, wakeups, g, len(gaps)


def result(o, n, cpu, ev):
    """First record that chooses a CPU. -> whether it was this one"""
    w, at = o
    if w.chosen is not None or w.resolved_ts is not None or w.unresolved:
        return False
    if n - at > LOOK_AHEAD:
        w.unresolved = True
        return False
    w.chosen, w.resolved_ts = cpu, ev.ts
    return True


def finish(o, n, ev):
    """A record that ends the wakeup without choosing a CPU."""
    if o is None:
        return
    w, at = o
    if w.resolved_ts is None and not w.unresolved:
        if n - at > LOOK_AHEAD:
            w.unresolved = True
        else:
            w.resolved_ts = ev.ts


def enqueue(w, ev):
    w.t_enq, w.enq_ev, w.enq_cpu, w.enq_target = ev.ts, ev, ev.cpu, ev.f["target"]


def decision_instant(w, g):
    """Rule 14"""
    if w.moved:
        return w.resolved_ts
    return min(t for t in (w.t_wake + g, w.next_record_ts, w.resolved_ts) if t is not None)


def next_records(events, wakeups):
    by_cpu = {}
    for ev in events:
        if ev.type != "lost" and proves(ev):
            by_cpu.setdefault(ev.cpu, []).append(ev)
    for stream in by_cpu.values():
        index = [e.index for e in stream]
        for e in stream:
            w = wakeups.get(e.index)
            if w:
                i = bisect_right(index, e.index)
                w.next_record_ts = stream[i].ts if i < len(stream) else None
