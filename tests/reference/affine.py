# SPDX-License-Identifier: GPL-2.0-or-later
"""wake_affine outcomes (rule 32) and migrations (rule 31)."""
from hist import Hist

RELATIONS = ("cpu", "core", "cluster", "llc", "node", "remote")
CONTEXTS = ("task", "softirq", "hardirq", "idle", "unknown")
BOUNCE_NS = 10000000


class Outcome:
    def __init__(self):
        self.considered = self.cross = self.bounce = 0
        self.prev, self.waker = dict.fromkeys(RELATIONS, 0), dict.fromkeys(RELATIONS, 0)
        self.matrix = [[0] * 6 for _ in RELATIONS]
        self.latency = Hist()

    def add(self, topo, w):
        self.considered += 1
        p, k = topo.relation(w.prev_cpu, w.chosen), topo.relation(w.waker_cpu, w.chosen)
        self.prev[p] += 1
        self.waker[k] += 1
        self.matrix[RELATIONS.index(p)][RELATIONS.index(k)] += 1
        if not topo.share_llc(w.prev_cpu, w.chosen):
            self.cross += 1
            self.bounce += any(t - w.t_run <= BOUNCE_NS and topo.share_llc(w.prev_cpu, c) for t, c in w.later_runs)
        if latency(w) is not None:
            self.latency.add(latency(w))


def latency(w):
    """Rule 18"""
    if w.outcome != "run":
        return None
    return w.t_run - (w.t_enq if w.was_running else w.t_wake)


def report(topo, decided):
    total, by = Outcome(), {c: Outcome() for c in CONTEXTS}
    for w in decided:
        if w.prev_cpu is not None and not w.waker_unknown and w.waker_cpu != w.prev_cpu:
            total.add(topo, w)
            by[w.context].add(topo, w)
    return {"considered": total.considered, "outcome": {"prev": total.prev, "waker": total.waker}, "matrix": total.matrix,
            "by_context": {c: {"considered": o.considered, "prev": o.prev, "waker": o.waker, "cross_llc": o.cross, "bounce": o.bounce,
                               "latency": o.latency.latency()} for c, o in by.items()},
            "cross_llc": total.cross, "bounce": total.bounce, "latency": total.latency.latency()}


class Migrations:
    def __init__(self, topo):
        self.topo = topo
        self.total = self.inferred = self.placement = 0
        self.by_distance = dict.fromkeys(RELATIONS[1:], 0)

    def migrated(self, orig, dest, inferred, placement):
        self.total += 1
        self.inferred += inferred
        self.placement += placement
        self.by_distance[self.topo.distance(orig, dest)] += 1

    def report(self, wakeups, window_ns):
        out = {"total": self.total, "inferred": self.inferred, "placement": self.placement, "by_distance": self.by_distance}
        if wakeups:
            out["per_wakeup"] = round(self.total / wakeups, 6)
        if window_ns:
            out["per_second"] = round(self.total * 1e9 / window_ns, 6)
        return out
