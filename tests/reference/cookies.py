# SPDX-License-Identifier: GPL-2.0-or-later
"""Co-run by the cookies of core scheduling (rule 36), stretch by stretch."""
import re

from topology import format_list

UNKNOWN, UNTAGGED = "unknown", "untagged"  # cookies are (kind, name)
CLASSES = ("idle", "single", "compatible", "incompatible", "corun_unknown", "unknown")
SHARES = ("compatible", "incompatible", "alone", "unknown")
KINDS = ("tagged", UNTAGGED, UNKNOWN)
KERNEL = re.compile(r"(kworker|ksoftirqd|ktimers|migration|cpuhp|rcub|rcuc|rcuog|rcuop|rcuos|watchdog|irq|irq_work|idle_inject)/|rcu_|kswapd|kcompactd|"
                    r"(kthreadd|khugepaged|ksmd|kauditd|khungtaskd|oom_reaper|kdevtmpfs)$")


class Map:
    """text: tgid, comm, cgroup, or a file of lines COOKIE KIND VALUE"""
    def __init__(self, text):
        self.mode = text if text in ("tgid", "comm", "cgroup") else "file"
        self.rules = {k: [] for k in ("pid", "tgid", "comm", "regex", "cgroup")}
        if self.mode == "file":
            with open(text, encoding="utf-8") as f:
                for line in f:
                    words = line.strip("\r\n").split(None, 2)
                    if words and not words[0].startswith("#"):
                        self.rules[words[1]].append((words[2], words[0]))

    def cookie(self, task):
        tgid, cgroup = (task.fact.tgid or None, task.fact.cgroup) if task.fact else (None, None)
        own = {"pid": str(task.pid), "tgid": tgid and str(tgid), "comm": task.comm, "regex": task.comm, "cgroup": cgroup}
        kernel = task.pid == 2 or KERNEL.match(task.comm or "")
        if self.mode != "file":
            if kernel or self.mode == "cgroup" and cgroup == "0::/":
                return UNTAGGED, ""
            return (UNKNOWN, "") if own[self.mode] is None else ("tagged", own[self.mode])
        for kind, rules in self.rules.items():
            if kind == "tgid" and kernel:
                return UNTAGGED, ""
            if rules and own[kind] is None:
                return UNKNOWN, ""
            for value, name in rules:
                if re.search(value, own[kind]) if kind == "regex" else value == own[kind]:
                    return (UNTAGGED, "") if name == "0" else ("tagged", name)
        return UNTAGGED, ""


def differ(a, b):
    return a != b and UNKNOWN not in (a[0], b[0])


class Cookies:
    def __init__(self, topo, cookie_map):
        self.topo, self.map = topo, cookie_map
        self.cores = [(i, sorted(c for c in g if c in topo.online)) for i, g in enumerate(topo.groups["core"])]
        self.cores = [(i, cpus) for i, cpus in self.cores if cpus]
        self.time = [dict.fromkeys(CLASSES + ("forced_idle_min",), 0) for _ in self.cores]
        self.groups = {}
        self.ranks = {}  # CPU -> (task, rank at its switch-in)

    def of(self, task):
        return self.map.cookie(task) if task else (UNKNOWN, "")

    def rank(self, x):
        """As told when the task came; None where that is not known."""
        if x.number not in self.ranks or self.ranks[x.number][0] is not x.current:
            prio = x.current.prio if x.current else None
            self.ranks[x.number] = (x.current, None if prio is None else 0 if prio < 0 else 1 + prio if prio < 100 else 1000)
        return self.ranks[x.number][1]

    def lost(self, busy):
        """CPUs idle, whichever of those that may go first does."""
        ranks = [self.rank(x) for x in busy]
        best = min((r for r in ranks if r is not None), default=None)
        counts = []
        for x, r in zip(busy, ranks):
            if r is None or r == best:
                mine = self.of(x.current)
                counts.append(sum(differ(self.of(y.current), mine) and all(differ(self.of(w), mine) for w in y.waiters) for y in busy))
        return min(counts)

    def stretch(self, m, a, b):
        for (_, core), time in zip(self.cores, self.time):
            cpus = [m.cpus[c] for c in core]
            busy = [x for x in cpus if x.kind == "busy"]
            blind = any(x.kind == "unknown" for x in cpus)
            cookies = [self.of(x.current) for x in busy]
            clash = any(differ(p, q) for p in cookies for q in cookies)
            for x in busy:
                self.rank(x)
            for c in core:
                if m.cpus[c].kind != "busy":
                    self.ranks.pop(c, None)
            if blind:
                time["unknown"] += b - a
            elif len(busy) < 2:
                time["single" if busy else "idle"] += b - a
            elif clash:
                time["incompatible"] += b - a
                time["forced_idle_min"] += self.lost(busy) * (b - a)
            else:
                time["corun_unknown" if any(k[0] == UNKNOWN for k in cookies) else "compatible"] += b - a
            for i, mine in enumerate(cookies):
                others = cookies[:i] + cookies[i + 1:]
                if any(differ(mine, k) for k in others):
                    share = "incompatible"
                elif blind or others and UNKNOWN in [k[0] for k in cookies[i:i + 1] + others]:
                    share = "unknown"
                else:
                    share = "compatible" if others else "alone"
                self.groups.setdefault(mine, dict.fromkeys(SHARES, 0))[share] += b - a

    @staticmethod
    def times(t):
        out = {k + "_ns": t[k] for k in CLASSES + ("forced_idle_min",)}
        if t["compatible"] + t["incompatible"]:
            out["compatibility"] = round(t["compatible"] / (t["compatible"] + t["incompatible"]), 6)
        return out

    def report(self):
        total = {k: sum(t[k] for t in self.time) for k in self.time[0]}
        rows = sorted(((k, v) for k, v in self.groups.items() if sum(v.values())),
                      key=lambda g: (-sum(g[1].values()), KINDS.index(g[0][0]), g[0][1].encode()))
        groups = [{"kind": kind, **({"cookie": name} if kind == "tagged" else {}), "run_ns": sum(v.values()), **{k + "_ns": n for k, n in v.items()}}
                  for (kind, name), v in rows]
        cores = [{"core": i, "cpus": format_list(self.topo.groups["core"][i]), **self.times(t)} for (i, _), t in zip(self.cores, self.time)]
        return {**self.times(total), "cores": cores, "groups": groups[:50], "groups_total": len(groups)}
