# SPDX-License-Identifier: GPL-2.0-or-later
"""SMT co-scheduling (rules 27 to 29)."""
from topology import format_list

SPEEDS = (("s050", 50), ("s062", 62), ("s090", 90))


class Smt:
    def __init__(self, topo):
        self.topo = topo
        self.cores = [sorted(c for c in g if c in topo.online) for g in topo.groups["core"]]
        self.busy = [[0] * (topo.smt + 1) for _ in self.cores]
        self.unknown = [0] * len(self.cores)
        self.avoidable = dict.fromkeys(("llc", "node", "machine"), 0)
        self.pairs = {}
        self.tasks = {}  # Task -> [corun, alone, unknown]

    def stretch(self, m, a, b):
        dt = b - a
        corun, idle = set(), set()
        for i, core in enumerate(self.cores):
            if not core:
                continue
            cpus = [m.cpus[c] for c in core]
            busy = [x for x in cpus if x.kind == "busy"]
            unknown = [x for x in cpus if x.kind == "unknown"]
            if unknown:
                self.unknown[i] += dt
            else:
                self.busy[i][len(busy)] += dt
                if len(busy) >= 2:
                    corun.add(i)
                elif all(x.idle for x in cpus) and any(c not in self.topo.isolated for c in core):
                    idle.add(i)
            for x in busy:
                if x.current is None:
                    continue
                share = self.tasks.setdefault(x.current, [0, 0, 0])
                share[0 if len(busy) > 1 else 2 if unknown else 1] += dt
            for j, x in enumerate(busy):
                for y in busy[j + 1:]:
                    if x.current and y.current:
                        key = tuple(sorted((x.current.label(), y.current.label()), key=lambda s: s.encode()))
                        self.pairs[key] = self.pairs.get(key, 0) + dt
        if corun and idle:
            for scope in self.avoidable:
                for group in self.topo.groups[scope]:
                    n = sum(self.cores[i][0] in group for i in corun)
                    k = sum(self.cores[i][0] in group for i in idle)
                    self.avoidable[scope] += min(n, k) * dt

    def report(self):
        if self.topo.smt < 2:
            return None
        pairs = sorted(self.pairs.items(), key=lambda p: (-p[1], p[0][0].encode(), p[0][1].encode()))
        tasks = sorted(((t, v) for t, v in self.tasks.items() if sum(v)), key=lambda x: (-x[1][0], x[0].pid, x[0].order))
        cores = [(i, c) for i, c in enumerate(self.cores) if c]
        return {
            "unknown_ns": sum(self.unknown),
            "busy_threads_ns": [sum(self.busy[i][n] for i, _ in cores) for n in range(self.topo.smt + 1)],
            "avoidable_corun_ns": self.avoidable,
            "cores": [{"core": i, "cpus": format_list(self.topo.groups["core"][i]), "busy_threads_ns": self.busy[i],
                       "unknown_ns": self.unknown[i]} for i, _ in cores],
            "pairs": [{"a": a, "b": b, "ns": ns} for (a, b), ns in pairs[:50]], "pairs_total": len(pairs),
            "tasks": [{"pid": t.pid, "comm": t.label(), "run_ns": sum(v), "corun_ns": v[0], "alone_ns": v[1], "unknown_ns": v[2],
                       "lost_ns": {name: v[0] * (100 - s) // 100 for name, s in SPEEDS}} for t, v in tasks[:50]],
            "tasks_total": len(tasks)}
