# SPDX-License-Identifier: GPL-2.0-or-later
"""The longest waits and who ran meanwhile on the CPU where the task waited (rule 35)."""
ROWS = 20
BEHIND = 3
STINTS = 512
QUEUES = 8


def note(m, w, t):
    """At the end of the wakeup: its path through the queues, and what is known of the CPUs on it."""
    w.end = m.now
    w.end_comm = t.label()
    w.path = [(a, c, m.now if b is None else b) for a, c, b in t.path[-QUEUES:]]
    w.kept = {}
    for _, c, _ in w.path:
        for x in {c} | set(siblings(m, c)):
            stints = m.cpus[x].stints
            w.kept[x] = (len(stints), stints[-1].label() if stints else "")


def siblings(m, c):
    return [x for x in sorted(m.topo.span["core"].get(c, ())) if x != c and x in m.topo.online]


def stints(m, w, c):
    """[(from, to, pid, name)] of the stretches of c that are kept when w ends"""
    n, name = w.kept[c]
    all_ = m.cpus[c].stints
    out = []
    for i in range(max(0, n - STINTS), n):
        last = i == n - 1
        out.append((all_[i].start, w.end if last else all_[i + 1].start, all_[i].pid, late(m, all_[i].task, name if last else all_[i].label())))
    return out


def late(m, task, name):
    """Of a task that no record had named by then: the first name that one gives it, else that of the task column."""
    if task is None or name != "<...>":
        return name
    return task.first_comm or m.trace.column.get(task.pid, name)


def behind(m, w):
    """-> (rows, complete, idle time of siblings or None)"""
    ns, names, known, waited, idle = {}, {}, 0, 0, 0
    has_siblings, siblings_known = False, True
    for a, c, b in w.path:
        a, b = max(a, w.t_enq), min(b, w.end)
        if b <= a:
            continue
        waited += b - a
        for x, y, pid, name in stints(m, w, c):
            d = min(y, b) - max(x, a)
            if pid >= 0 and d > 0:
                ns[pid] = ns.get(pid, 0) + d
                names[pid] = name
                known += d
        others = [stints(m, w, x) for x in siblings(m, c)]
        has_siblings |= bool(others)
        cuts = sorted({a, b} | {x for s in others for x, _, _, _ in s if a < x < b})
        for x, y in zip(cuts, cuts[1:]):
            pids = [next((pid for f, t, pid, _ in s if f <= x and y <= t), -1) for s in others]
            if 0 in pids:
                idle += y - x
            elif -1 in pids:
                siblings_known = False
    rows = sorted(ns.items(), key=lambda r: (-r[1], r[0]))[:BEHIND]
    whole = w.end - w.t_enq
    return ([{"pid": p, "comm": names[p] if p else "idle", "ns": n} for p, n in rows], known == whole,
            idle if has_siblings and siblings_known and waited == whole else None)


def start(w):
    return w.t_enq if w.was_running else w.t_wake


def report(m):
    ends = [w for w in m.finished if w.outcome in ("run", "censored") and start(w) is not None]
    ends.sort(key=lambda w: (start(w) - w.end, w.t_wake, w.pid))
    return [row(m, w) for w in ends[:ROWS]]


def row(m, w):
    out = {"wake_ns": w.t_wake, "pid": w.pid, "comm": w.end_comm, "class": w.class_}
    if not w.waker_unknown:
        out.update(waker_pid=w.waker_pid, waker_comm=w.waker_comm, waker_cpu=w.waker_cpu)
    out.update(prev_cpu=w.prev_cpu, chosen_cpu=w.chosen, run_cpu=w.run_cpu if w.outcome == "run" else None, latency_ns=w.end - start(w))
    if w.t_enq is not None:
        out["queue_wait_ns"] = w.end - w.t_enq
        if w.path:
            out["behind"], out["behind_complete"], out["sibling_idle_ns"] = behind(m, w)
    if w.outcome == "censored":
        out["censored"] = True
    return {k: v for k, v in out.items() if v is not None}
