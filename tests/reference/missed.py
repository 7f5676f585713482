# SPDX-License-Identifier: GPL-2.0-or-later
"""What the machine looked like at each decision, the class of each wakeup (rule 17) and missed idle (rules 21 to 25)."""
import longest
from hist import Hist, share
from topology import SCOPES


ONCPU_NS = 5000
CORE_SCOPES = ("llc", "node", "machine")
RINGS = SCOPES
RING_NAMES = {"core": "sibling"}


class Facts:
    """State at t_dec, without the wakee."""


def idle_now(cpu):
    return cpu.idleish is not None


def nr_running(cpu, without):
    return sum(1 for t in cpu.queued() if t is not without)


class Decisions:
    """Listener: takes the facts of every wakeup at its decision instant."""

    def decision(self, m, w):
        topo, cpus = m.topo, m.cpus
        f = w.facts = Facts()
        t = w.task
        f.waker_unknown = cpus[w.waker_cpu].kind == "unknown" and not w.waker_unknown
        f.allowed_source = t.allowed_source
        f.allowed = t.allowed
        f.candidates = candidates(m, t)
        f.share_prev_waker = w.prev_cpu is not None and topo.share_llc(w.waker_cpu, w.prev_cpu)
        f.prev_idle = False
        if w.prev_cpu in cpus:
            prev = cpus[w.prev_cpu]
            f.prev_others = nr_running(prev, t)
            f.prev_fair_since_block = prev.fair_seq is not None and w.blocked_seq is not None and prev.fair_seq <= w.blocked_seq
            f.prev_idle = idle_now(prev)
        f.waker_running = nr_running(cpus[w.waker_cpu], t)
        if w.chosen is None or w.chosen not in cpus:
            return
        c = cpus[w.chosen]
        f.chosen_unknown = c.kind == "unknown"
        f.chosen_idle = idle_now(c)
        f.chosen_sidle = c.sidle
        f.ran = ("swapper", 0) if c.kind == "idle" else (c.current.label(), c.current.pid) if c.current else None
        f.ran_task = c.current if c.kind == "busy" else None
        f.ran_waking = c.kind == "idle" and c.idle is None and c.coming is not None
        if f.ran_waking:
            f.ran = c.coming
        core = [cpus[x] for x in topo.span["core"].get(c.number, (c.number,)) if x in topo.online and x != c.number]
        f.sibling_busy = any(x.kind != "unknown" and x.idle is None for x in core)
        f.sibling_unknown = any(x.kind == "unknown" for x in core)
        f.row, ring = self.nearest_ring(m, c, f.candidates)
        f.idle_cores = self.idle_cores(m, c, f.candidates)
        f.missed = longest_idle(ring)
        f.missed_sidle = bool(f.missed) and m.cpus[f.missed[0]].sidle
        f.missed_core = None
        for scope in CORE_SCOPES:
            if f.idle_cores[scope]:
                f.missed_core = longest_idle(f.idle_cores[scope])
                break
        package = [cpus[x] for x in topo.package.get(c.number, ()) if x in topo.online]
        f.package_idle = bool(package) and all(x.idle is not None for x in package)

    @staticmethod
    def nearest_ring(m, c, cand):
        """Rule 21 -> (row, idle candidates of that ring)"""
        inner = {c.number}
        for scope in RINGS:
            span = m.topo.span[scope].get(c.number, frozenset())
            ring = [m.cpus[x] for x in sorted(span - inner) if x in cand]
            idle = [x for x in ring if idle_now(x)]
            if idle:
                return RING_NAMES.get(scope, scope), idle
            if any(x.kind == "unknown" for x in ring):
                return "unknown", []
            inner |= span
        return "no_idle", []

    @staticmethod
    def idle_cores(m, c, cand):
        """Rule 23 -> {scope: candidates in idle cores other than c's}"""
        own = m.topo.span["core"].get(c.number)
        out = {}
        for scope in CORE_SCOPES:
            span = m.topo.span[scope].get(c.number, frozenset())
            found = []
            for core in m.topo.groups["core"]:
                online = [m.cpus[x] for x in core if x in m.topo.online]
                if core == own or not online or not core <= span:
                    continue
                if all(x.idle is not None for x in online):
                    found += [x for x in online if x.number in cand]
            out[scope] = found
        return out


def candidates(m, t):
    """Rule 22: online CPUs with a scheduling domain in the wakee's mask; isolated ones only when a recorded mask names them."""
    out = set()
    for c in m.topo.online:
        if not m.may_run(t, c):
            continue
        if c in m.topo.isolated and t.allowed_source != "recorded":
            continue
        out.add(c)
    return out


def longest_idle(cpus):
    """Rule 25 -> (number, its stretch of idleness) or None"""
    if not cpus:
        return None
    best = min(cpus, key=lambda x: (x.sidle, x.idleish.start, x.number))
    return best.number, best.idleish


def classify(m, w):
    """Rule 17"""
    f = w.facts
    if w.kind == "new":
        return "fork"
    if f is None or f.waker_unknown or w.p_state == "UNKNOWN" or w.chosen is None or w.prev_cpu is None:
        return "unknown"
    if w.p_current_on_waker and (w.context == "task" or w.ev.flags is None):
        return "self"
    left = w.blocked_before_enq
    if not w.moved and (w.p_state == "RUNNABLE" or (w.p_state == "RUNNING" and not left)):
        return "onrq"
    if on_cpu(w, f):
        return "oncpu"
    if f.allowed is not None and len(f.allowed) == 1:
        return "pinned"
    if f.allowed_source == "recorded" and w.prev_cpu is not None and w.prev_cpu not in f.allowed:
        return "fallback"
    if w.prio == -1:
        return "dl"
    if 0 <= w.prio < 100:
        return "rt"
    return "select"


def maybe_delayed(w):
    """Rule 17, of the SELECT wakeups of kernels from 6.12 on"""
    f = w.facts
    return not w.moved and w.p_state == "BLOCKED" and w.enq_cpu == w.waker_cpu and getattr(f, "prev_fair_since_block", False)


def on_cpu(w, f):
    recent = w.blocked_ts is not None and w.t_wake - w.blocked_ts < ONCPU_NS
    leaving = w.p_state == "RUNNING" and w.blocked_before_enq
    if not (recent or leaving) or w.moved or w.waker_cpu == w.prev_cpu or w.prev_cpu is None or w.enq_cpu != w.prev_cpu:
        return False
    return not f.share_prev_waker or f.prev_others == 0


class Row:
    """The object R of doc/json.md"""

    def __init__(self, avoidable=True):
        self.count, self.waits, self.avoidable, self.with_avoidable = 0, Hist(), Hist(), avoidable

    def add(self, w, avoidable=None):
        self.count += 1
        wait = queue_wait(w)
        if wait is not None:
            self.waits.add(wait)
            if avoidable is not None:
                self.avoidable.add(avoidable)

    def json(self, decided):
        out = {"count": self.count}
        if decided:
            out["share"] = share(self.count, decided)
        for name, h in (("wait", self.waits),) + ((("avoidable", self.avoidable),) if self.with_avoidable else ()):
            out[name + "_ns"] = sum(h.values)
            if h.values:
                out[name + "_p50_ns"], out[name + "_p99_ns"], out[name + "_max_ns"] = h.quantile(500), h.quantile(990), max(h.values)
        return out


def queue_wait(w):
    return w.t_run - w.t_enq if w.outcome == "run" and w.t_enq is not None else None


def avoidable(m, w, missed):
    """Rule 25; None where the enqueue was not seen."""
    if missed is None or w.t_enq is None or w.outcome not in ("run", "censored"):
        return None
    end = missed[1].end if missed[1].end is not None else m.stop
    end = min(end, w.t_run if w.outcome == "run" else m.stop)
    return max(0, end - w.t_enq)


def report(m, decided, worst_n=20):
    topo = m.topo
    rows = {k: Row(avoidable=k not in ("no_idle", "unknown")) for k in
            ("no_idle", "sibling", "cluster", "llc", "node", "machine", "unknown")}
    queued_core = {s: Row() for s in CORE_SCOPES}
    half = {s: Row() for s in CORE_SCOPES}
    stacked = Row()
    queued = sidle = stalled = stalled_queued = elsewhere = affine = unknown = on_waker = alone = 0
    by_distance = dict.fromkeys(("core", "cluster", "llc", "node", "remote"), 0)
    worst = []
    for w in decided:
        f = w.facts
        sidle += f.chosen_sidle
        stalled += w.stalled(m.recording_end)
        if f.chosen_unknown:
            rows["unknown"].add(w)
            unknown += 1
        elif not f.chosen_idle:
            queued += 1
            if w.chosen == w.waker_cpu and not w.waker_unknown:
                on_waker += 1
                alone += f.waker_running == 1
            stalled_queued += w.stalled(m.recording_end)
            a = avoidable(m, w, f.missed)
            rows[f.row].add(w, a)
            for s in CORE_SCOPES:
                if f.idle_cores[s]:
                    queued_core[s].add(w, avoidable(m, w, f.missed_core))
            if w.chosen == w.waker_cpu and not w.waker_unknown and f.waker_running >= 2 and f.idle_cores["machine"]:
                stacked.add(w, avoidable(m, w, f.missed_core))
            if f.missed and a is not None:
                worst.append((w, a))
        elif f.sibling_busy:
            for s in CORE_SCOPES:
                if f.idle_cores[s]:
                    half[s].add(w, avoidable(m, w, f.missed_core))
        if w.prev_cpu is not None and w.prev_cpu != w.chosen and f.prev_idle:
            elsewhere += 1
            by_distance[topo.distance(w.prev_cpu, w.chosen)] += 1
            affine += (not w.waker_unknown and w.waker_cpu != w.prev_cpu and topo.share_llc(w.waker_cpu, w.chosen)
                       and not topo.share_llc(w.prev_cpu, w.chosen))
    n = len(decided)
    out = {"decided": n, "chosen_idle": n - queued - unknown, "chosen_unknown": unknown,
           "queued_on_busy": dict(counted(queued, n), on_waker_cpu=on_waker, on_waker_cpu_alone=alone)}
    out.update({k: r.json(n) for k, r in rows.items()})
    out["queued_while_idle_core"] = {s: r.json(n) for s, r in queued_core.items()}
    out["half_busy_core"] = {s: r.json(n) for s, r in half.items()}
    out["stacked_on_waker"] = stacked.json(n)
    out["prev_idle_elsewhere"] = dict(counted(elsewhere, n), by_distance=by_distance, affine_possible=affine)
    out["on_sched_idle_only"] = sidle
    out["stalled"] = {"decided": stalled, "queued_on_busy": stalled_queued}
    worst.sort(key=lambda x: (-(x[1] or 0), -(wait_or_age(m, x[0]) or 0), x[0].t_wake, x[0].pid))
    out["worst"] = [worst_entry(m, w, a) for w, a in worst[:worst_n]]
    return out


def counted(n, of):
    return {"count": n, "share": share(n, of)} if of else {"count": n}


def wait_or_age(m, w):
    if w.t_enq is None:
        return None
    return (w.t_run if w.outcome == "run" else m.stop) - w.t_enq


def worst_entry(m, w, a):
    f = w.facts
    s = f.missed[1]
    out = {"wake_ns": w.t_wake, "pid": w.pid, "comm": w.comm, "waker_pid": w.waker_pid, "waker_comm": w.waker_comm, "waker_cpu": w.waker_cpu,
           "prev_cpu": w.prev_cpu, "chosen_cpu": w.chosen, "scope": f.row, "wait_ns": wait_or_age(m, w), "avoidable_ns": a}
    if f.ran:
        out["ran_pid"], out["ran_comm"] = f.ran[1], longest.late(m, f.ran_task, f.ran[0])
        if f.ran_waking:
            out["ran_waking"] = True
    out.update(missed_cpu=f.missed[0], missed_idle_ns=(s.end if s.end is not None else m.stop) - s.start)
    if f.missed_sidle:
        out["missed_sched_idle"] = True
    if w.waker_unknown:
        for k in ("waker_pid", "waker_comm", "waker_cpu"):
            del out[k]
    if w.outcome == "censored":
        out["censored"] = True
    return {k: v for k, v in out.items() if v is not None}


