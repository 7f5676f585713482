# SPDX-License-Identifier: GPL-2.0-or-later
"""Idle tables (rule 30), coverage (rule 7) and cpu_idle states."""
from hist import share
from topology import format_list

EXIT = 4294967295


class Idle:
    def __init__(self, topo):
        self.topo = topo
        self.tables = {"cpu": [frozenset({c}) for c in sorted(topo.online)], "core": topo.groups["core"], "llc": topo.groups["llc"],
                       "package": topo.packages}
        self.ns = {name: [[0, 0, 0] for _ in groups] for name, groups in self.tables.items()}
        self.cstate = {}  # cpu -> (state, since)
        self.cstates = {}  # (cpu, state) -> [ns, entries]

    def stretch(self, m, a, b):
        for name, groups in self.tables.items():
            for i, g in enumerate(groups):
                kinds = {m.cpus[c].kind for c in g if c in self.topo.online}
                if kinds:
                    self.ns[name][i][1 if "busy" in kinds else 2 if "unknown" in kinds else 0] += b - a

    def attach(self, m):
        self.m = m

    def cpu_idle(self, now, cpu, state):
        self.leave(now, cpu)
        if state != EXIT:
            self.cstate[cpu] = (state, now)
            if self.m.start <= now <= self.m.stop:
                self.cstates.setdefault((cpu, state), [0, 0])[1] += 1

    def leave(self, now, cpu):
        state, since = self.cstate.pop(cpu, (None, None))
        if state is not None:
            self.cstates.setdefault((cpu, state), [0, 0])[0] += self.m.clip(since, now)

    def unknown_ns(self):
        return sum(v[2] for v in self.ns["cpu"])

    def report(self, decided):
        for cpu in list(self.cstate):
            self.leave(self.m.stop, cpu)
        out = {}
        for name, groups in self.tables.items():
            rows = []
            for i, g in enumerate(groups):
                if not any(c in self.topo.online for c in g):
                    continue
                v = self.ns[name][i]
                row = {name: min(g) if name == "cpu" else i}
                if name != "cpu":
                    row["cpus"] = format_list(g)
                row.update(idle_ns=v[0], busy_ns=v[1], unknown_ns=v[2])
                rows.append(row)
            out[name] = rows
        n = sum(w.facts.package_idle for w in decided)
        out["touched_idle_package"] = {"count": n, "share": share(n, len(decided))} if decided else {"count": n}
        if self.cstates:
            out["cstates"] = [{"cpu": c, "state": s, "ns": v[0], "entries": v[1]} for (c, s), v in sorted(self.cstates.items())]
        return out
