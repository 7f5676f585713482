# SPDX-License-Identifier: GPL-2.0-or-later
"""Idle while waiting (rule 26), computed anew for every stretch of time by plain matching."""
from topology import SCOPES

MS = 1000000


def matching(left, edges):
    """Size of a maximum matching; edges(l) gives the right sides that l may have."""
    owner = {}

    def augment(l, seen):
        for r in edges(l):
            if r in seen:
                continue
            seen.add(r)
            if r not in owner or augment(owner[r], seen):
                owner[r] = l
                return True
        return False
    return sum(augment(l, set()) for l in left)


class Scope:
    def __init__(self):
        self.wall = self.behind = self.cpu = self.task = 0
        self.begin = None  # of the present episode
        self.last = None  # its end so far
        self.names = None
        self.episodes = []  # (start, ns, names)


class IdleWhileWaiting:
    def __init__(self):
        self.scopes = {s: Scope() for s in SCOPES}

    def stretch(self, m, a, b):
        waiting = {}
        for c, cpu in m.cpus.items():
            tasks = [t for t in cpu.waiters if not t.throttled]
            if tasks and cpu.kind != "unknown":
                waiting[c] = tasks
        idle = [c for c in m.topo.online if m.cpus[c].idle is not None and c not in m.topo.isolated] if waiting else []
        for scope in SCOPES:
            self.add(m, scope, a, b, waiting, idle)

    def add(self, m, scope, a, b, waiting, idle):
        s = self.scopes[scope]
        pairs = cpu_pairs = 0
        behind = False
        best = None
        if waiting and idle:
            for group in m.topo.groups[scope]:
                gi = [c for c in idle if c in group]
                gw = [t for c in sorted(waiting) if c in group for t in waiting[c]]
                if not gi or not gw:
                    continue
                edges = {t: [c for c in gi if m.may_run(t, c)] for t in gw}
                n = matching(gw, edges.__getitem__)
                if not n:
                    continue
                pairs += n
                behind = behind or any(edges[t] and m.cpus[t.cpu].kind == "busy" for t in gw)
                by_cpu = {}
                for t in gw:
                    by_cpu.setdefault(t.cpu, set()).update(edges[t])
                cpu_pairs += matching(sorted(by_cpu), lambda c, e=by_cpu: sorted(e[c]))
                begin = a if s.begin is None else s.begin
                t = min((t for t in gw if edges[t]), key=lambda t: (max(t.since, begin), t.pid))
                c = min(edges[t], key=lambda c: (max(m.cpus[c].idle.start, begin), c))
                key = (max(t.since, begin), t.pid)
                if best is None or key < best[0]:
                    best = (key, {"pid": t.pid, "comm": t.label()}, t.cpu, c)
        if not pairs:
            self.end(s)
            return
        s.wall += b - a
        if behind:
            s.behind += b - a
        s.cpu += cpu_pairs * (b - a)
        s.task += pairs * (b - a)
        if s.begin is None:
            s.begin = a
        s.last, s.names = b, best

    @staticmethod
    def end(s):
        if s.begin is not None:
            s.episodes.append((s.begin, s.last - s.begin, s.names))
            s.begin = None

    def report(self):
        out = {}
        for scope, s in self.scopes.items():
            self.end(s)
            r = {"wall_ns": s.wall, "behind_ns": s.behind, "cpu_ns": s.cpu, "task_ns": s.task,
                 "episodes": {"over_%dms" % n: sum(ns > n * MS for _, ns, _ in s.episodes) for n in (1, 10, 100)}}
            if s.episodes:
                start, ns, (_, t, wcpu, icpu) = max(s.episodes, key=lambda e: (e[1], -e[0]))
                r["longest"] = {"start_ns": start, "ns": ns, "task": t, "waiting_cpu": wcpu, "idle_cpu": icpu}
            out[scope] = r
        return out
