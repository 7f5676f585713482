# SPDX-License-Identifier: GPL-2.0-or-later
"""The machine's state, record by record (METRICS rules 3 to 12, 15, 18), and a replay that tells listeners of every stretch of time in which
nothing changed, and of every decision."""
import longest
from topology import pinned_by_name, POLICY_IDLE
from events import kernel_version, proves, SCHED_TYPES

REPAIRS = ("ghosts", "implied_runnable", "elsewhere", "duplicate_waking", "wakeup_without_waking", "waking_without_wakeup", "target_mismatch",
           "migrate_mismatch", "unresolved", "unsuccessful", "late_waking", "reused_pids")
STATES = ("RUNNING", "RUNNABLE", "WAKING", "BLOCKED", "DEAD", "UNKNOWN")
# Records that can change the state; before any other nothing needs to be added up.
CHANGING = SCHED_TYPES + ("lost",)
UNNAMED = ("<...>", "")


class Task:
    """One incarnation of a pid."""

    def __init__(self, pid, order, born):
        self.pid = pid
        self.order = order
        self.comm = None
        self.state = "UNKNOWN"
        self.since = None
        self.cpu = None  # last CPU known
        self.prio = None
        self.born = born  # None: before the recording
        self.died = None
        self.exiting = False
        self.seen = False  # evidence of a state came
        self.lost = False  # unknown because of a gap
        self.ghost_cpu = None  # unknown because its CPU went idle
        self.throttled = False
        self.blocked_ts = None
        self.blocked_cpu = None
        self.blocked_seq = None
        self.fork_pending = False  # born by sched_process_fork, sched_wakeup_new still to come
        self.open = None  # the wakeup whose wait is open
        self.waking = None  # the latest sched_waking without its sched_wakeup
        self.pending = None  # wakeup on its way to a CPU
        self.fact = None
        self.state_ns = dict.fromkeys(STATES, 0)
        self.wakeups = self.switches_in = self.preempted = self.preempt_unknown = self.migrations = 0
        self.seen_run_cpu = None  # last CPU where it was running or runnable
        self.all_runs = []  # wakeups that wait for later switch-ins
        self.places = set()  # CPUs where it ran or was queued
        self.inherited = self.inherited_policy = None
        self.lost_seq = None
        self.first_comm = None
        self.path = []  # queues of its present or last wait: [from, cpu, to]; to None while it waits there

    def seen_off(self, cpu):
        return bool(self.places - {cpu})

    def label(self):
        return self.comm if self.comm is not None else "<...>"

    def can_migrate(self):
        """Rule 31: the first CPU of a new task is no migration."""
        return self.cpu is not None and not (self.born is not None and self.seen_run_cpu is None)


class Cpu:
    def __init__(self, number):
        self.number = number
        self.kind = "idle"  # idle, busy, unknown
        self.current = None  # Task, None: idle task or unknown
        self.waiters = []  # tasks RUNNABLE here, in order of arrival
        self.pending = 0
        self.idle = None  # open Stretch of idle(c)
        self.idleish = None  # open Stretch of idle(c) or SCHED_IDLE only
        self.sidle = False
        self.was_idle = False
        self.switched = False  # its first sched_switch has come
        self.fair_seq = None  # step at which the present stretch with a fair task queued began
        self.idle_seq = None  # step up to which it was last seen idle
        self.stints = []  # stretches of one current task
        self.coming = None  # (name, pid) of the wakee of the last decision for it since its last switch

    def queued(self):
        return ([self.current] if self.kind == "busy" and self.current else []) + self.waiters


class Stint:
    """A stretch in which one task ran: pid 0 the idle task, -1 the CPU is unknown, -2 the task is."""
    def __init__(self, start, pid, task):
        self.start, self.pid, self.task, self.comm = start, pid, task, None

    def label(self):
        """Its task's name at the end of the stretch, or now."""
        return self.comm if self.comm is not None else self.task.label() if self.task else ""


class Stretch:
    """[start, end): end None while it lasts"""
    __slots__ = ("start", "end")

    def __init__(self, start):
        self.start, self.end = start, None


class Machine:
    def __init__(self, trace, events, end, topo, facts, wakeups, has_waking, quiet="idle", start=None, stop=None):
        self.trace, self.events, self.topo, self.facts, self.wakeups, self.has_waking = trace, events, topo, facts, wakeups, has_waking
        v = kernel_version(trace.kernel)
        self.kernel = v
        self.sched_idle_counts = v is not None and v >= (5, 4, 0)
        self.tasks = {}  # pid -> living (or latest) incarnation
        self.all_tasks = []
        self.cpus = {c: Cpu(c) for c in range(max(topo.nr_cpus, trace.nr_cpus))}
        self.repairs = dict.fromkeys(REPAIRS, 0)
        self.listeners = []
        self.seq = 0
        self.counts = {}
        self.exec_count = 0
        self.skew = {}
        self.recording_start = min(e.ts for e in events if e.type != "lost")
        self.recording_end = end
        self.overwritten = self.find_overwritten()
        first = {e.cpu: e.ts for e in reversed(events) if e.type != "lost" and proves(e)}
        begin = max([first[c] for c in self.overwritten if c in first] + [self.recording_start])
        self.start = max(begin, start) if start is not None else begin
        self.stop = min(self.recording_end, stop) if stop is not None else self.recording_end
        self.now = self.flushed = self.recording_start
        self.quiet = quiet
        self.can_tell_sleep = any(e.type in ("sched_waking", "sched_wakeup") for e in events)
        self.quiet_cpus = 0
        self.finished = []  # every counted wakeup, in the order of its record
        self.begin()

    # ---- start

    def find_overwritten(self):
        """CPUs whose start is missing: more records were overwritten than the marks in the data account for."""
        out = set(getattr(self.trace, "start_lost", ()))
        for c, n in self.trace.overrun.items():
            marks = [m for cpu, m in self.trace.marks if cpu == c]
            if not marks or (all(marks) and sum(marks) < n):
                out.add(c)
        if self.trace.overwritten_text:
            out.update(self.trace.streams)
        return out

    def begin(self):
        first, switched = {}, set()
        for e in self.events:
            if e.type == "lost" or not proves(e):
                continue
            if e.pid is not None or e.type == "sched_switch":
                first.setdefault(e.cpu, e)
            if e.type == "sched_switch":
                switched.add(e.cpu)
        self.quiet_cpus = sum(c not in switched for c in self.topo.online)
        last = len(self.events)
        for c, cpu in sorted(self.cpus.items(), key=lambda x: first[x[0]].index if x[0] in first else last):
            ev = first.get(c)
            if c in self.overwritten:
                cpu.kind = "unknown"
            elif ev is None:
                quiet = self.quiet == "idle" and not any(e.type in ("print", "tracing_mark_write") for e in self.trace.streams.get(c, ()))
                cpu.kind = "idle" if quiet else "unknown"
            else:
                pid = ev.f["prev_pid"] if ev.type == "sched_switch" else ev.pid
                if ev.type == "sched_process_exec" and ev.f["old_pid"] != ev.f["pid"]:
                    pid = ev.f["old_pid"]
                if pid:
                    cpu.kind = "busy"
                    t = self.task(pid, None)
                    if t.state == "UNKNOWN":
                        self.set_state(t, "RUNNING", c)
                        cpu.current = t
                    else:  # it ran on the CPU whose first record is earlier: who ran here is not known
                        cpu.kind = "unknown"
        for cpu in self.cpus.values():
            self.touch(cpu)
            self.note_stint(cpu)

    def note_stint(self, cpu):
        pid = {"idle": 0, "unknown": -1}.get(cpu.kind, cpu.current.pid if cpu.current else -2)
        last = cpu.stints[-1] if cpu.stints else None
        if last is None or last.pid != pid:
            if last:
                last.comm = last.label()
            cpu.stints.append(Stint(self.now, pid, cpu.current if cpu.kind == "busy" else None))

    # ---- tasks

    def task(self, pid, comm):
        """The task that a record of now names. A different name after death is a new task (rule 11)."""
        t = self.tasks.get(pid)
        if comm in UNNAMED:
            comm = None
        born = None
        if t and t.state == "DEAD":
            t, born = None, self.now
        if t is None:
            t = self.new_task(pid, born)
        if comm is not None:
            t.comm = comm
            t.first_comm = t.first_comm or comm
            self.affinity(t)
        return t

    def affinity(self, t):
        """Rule 33"""
        n = pinned_by_name(t.comm)
        if t.fact and t.fact.allowed:
            t.allowed_source, t.allowed = "recorded", t.fact.allowed
        elif n is not None and n in self.topo.present and not t.seen_off(n):
            t.allowed_source, t.allowed = "inferred", frozenset({n})
        elif t.inherited:
            t.allowed_source, t.allowed = "inferred", t.inherited
        else:
            t.allowed_source, t.allowed = "assumed", None

    def inherit(self, t, parent):
        """Rule 33: a child has its parent's mask and policy."""
        if parent:
            t.inherited = parent.allowed
            t.inherited_policy = self.policy(parent)
        self.affinity(t)

    def new_task(self, pid, born):
        t = Task(pid, len(self.all_tasks), born)
        t.since = self.now if born is not None else self.recording_start
        t.fact = self.facts.get(pid)
        self.affinity(t)
        self.tasks[pid] = t
        self.all_tasks.append(t)
        return t

    def policy(self, t):
        if t.fact and t.fact.policy is not None:
            return t.fact.policy
        return t.inherited_policy

    def may_run(self, t, cpu):
        return t.allowed is None or cpu in t.allowed

    def clip(self, a, b):
        return max(0, min(b, self.stop) - max(a, self.start))

    def set_state(self, t, state, cpu=None):
        t.state_ns[t.state] += self.clip(t.since, self.now) if t.state != "DEAD" else 0
        if t.state == "RUNNABLE" and t.cpu is not None:
            self.cpus[t.cpu].waiters.remove(t)
            self.touch(self.cpus[t.cpu])
            t.path[-1][2] = self.now
        t.state, t.since, t.seen = state, self.now, True
        if state != "UNKNOWN":
            t.lost = False
            t.ghost_cpu = None
        if cpu is not None:
            t.cpu = cpu
        if state == "RUNNABLE":
            self.cpus[t.cpu].waiters.append(t)
            self.touch(self.cpus[t.cpu])
            t.path = [[self.now, t.cpu, None]]
        if state in ("RUNNING", "RUNNABLE"):
            self.place(t, t.cpu)
        if state == "DEAD":
            t.died = self.now
            self.drop_pending(t)

    def place(self, t, cpu):
        t.seen_run_cpu = cpu
        t.places.add(cpu)
        if t.allowed_source == "inferred":
            self.affinity(t)

    def close(self, t, outcome):
        """Ends the open wakeup of t."""
        if t.open:
            t.open.outcome = outcome
            if outcome in ("run", "censored"):
                longest.note(self, t.open, t)
            t.open = None

    # ---- CPUs

    def touch(self, cpu):
        """Idle stretches and the stretch with a fair task queued, after a change on cpu."""
        idle = cpu.kind == "idle" and not cpu.waiters and not cpu.pending
        queued = cpu.queued()
        cpu.sidle = (self.sched_idle_counts and cpu.kind == "busy" and not cpu.pending and bool(queued)
                     and all(self.policy(t) == POLICY_IDLE for t in queued))
        cpu.idle = self.stretch(cpu.idle, idle)
        cpu.idleish = self.stretch(cpu.idleish, idle or cpu.sidle)
        if cpu.kind == "idle" or cpu.was_idle:
            cpu.idle_seq = self.seq
        cpu.was_idle = cpu.kind == "idle"
        fair = cpu.kind != "unknown" and any(t.prio is not None and 100 <= t.prio < 140 for t in queued)
        cpu.fair_seq = None if not fair else cpu.fair_seq if cpu.fair_seq is not None else self.seq

    def stretch(self, s, is_):
        if s and not is_:
            s.end = self.now
            return None
        return s or (Stretch(self.now) if is_ else None)

    def lose(self, c):
        """Rule 4: the CPU becomes unknown."""
        cpu = self.cpus[c]
        for t in list(cpu.queued()):
            if t is cpu.current and (t.state != "RUNNING" or t.cpu != c):
                continue
            self.set_state(t, "UNKNOWN")
            t.lost, t.lost_seq = True, self.seq
            self.close(t, "unknown")
        cpu.kind, cpu.current, cpu.coming = "unknown", None, None
        self.touch(cpu)
        self.note_stint(cpu)

    # ---- wakeups on their way (rule 15)

    def set_pending(self, w):
        if w.chosen is None or w.kind != "waking" or w.task is None or w.task.waking is not w or w.p_state == "RUNNABLE":
            return
        w.task.pending = w
        self.cpus[w.chosen].pending += 1
        self.touch(self.cpus[w.chosen])

    def drop_pending(self, t):
        w = t.pending
        if w:
            t.pending = None
            self.cpus[w.chosen].pending -= 1
            self.touch(self.cpus[w.chosen])

    # ---- records

    def apply(self, ev):
        self.seq += 1
        if ev.type in CHANGING:
            self.flush()
        if ev.type != "lost" and self.start <= ev.ts <= self.stop:
            self.counts[ev.type] = self.counts.get(ev.type, 0) + 1
        handler = getattr(self, "on_" + ev.type, None)
        if handler:
            handler(ev)

    def in_window(self, t=None):
        return self.start <= (self.now if t is None else t) <= self.stop

    def repair(self, name, n=1):
        if self.in_window():
            self.repairs[name] += n

    def on_lost(self, ev):
        self.lose(ev.cpu)

    def on_sched_switch(self, ev):
        f, cpu = ev.f, self.cpus[ev.cpu]
        prev = self.task(f["prev_pid"], f["prev_comm"]) if f["prev_pid"] else None
        if prev:
            prev.prio = f["prev_prio"]
            self.leave(prev, ev)
        nxt = self.task(f["next_pid"], f["next_comm"]) if f["next_pid"] else None
        cpu.kind, cpu.current, cpu.switched = "busy" if nxt else "idle", nxt, True
        if nxt:
            nxt.prio = f["next_prio"]
            self.arrive(nxt, ev)
        else:
            for t in list(cpu.waiters):
                self.set_state(t, "UNKNOWN")
                t.ghost_cpu = ev.cpu
                self.repair("ghosts")
        cpu.coming = None
        self.touch(cpu)
        self.note_stint(cpu)

    def leave(self, t, ev):
        f = ev.f
        if t.state == "RUNNING" and t.cpu != ev.cpu:
            self.note_skew(t, ev)
            return
        if t.state in ("RUNNABLE", "WAKING") and t.open:  # it ran unseen
            self.close(t, "replaced")
        if f["preempted"] and self.in_window():
            t.preempted += 1
        if (f["state"] == "R" or f["preempted"]) and not f.get("tells", True) and self.in_window():
            t.preempt_unknown += 1
        if t.can_migrate() and t.cpu != ev.cpu:
            self.migrated(t, t.cpu, ev.cpu, inferred=True)
        if t.waking:
            if f["state"] == "R" or f["preempted"]:
                t.waking.preempted_before_enq = True
            else:
                t.waking.blocked_before_enq = True
        if f["state"] == "R" or f["preempted"]:
            self.set_state(t, "RUNNABLE", ev.cpu)
        elif f["state"] in "XZx" or (f["state"] == "?" and t.exiting):
            self.set_state(t, "DEAD", ev.cpu)
            self.close(t, "died")
        else:
            self.set_state(t, "BLOCKED" if self.can_tell_sleep else "UNKNOWN", ev.cpu)
            t.blocked_ts, t.blocked_cpu, t.blocked_seq = self.now, ev.cpu, self.seq

    def note_skew(self, t, ev):
        """t left ev.cpu after it was switched in elsewhere."""
        key = (ev.cpu, t.cpu)
        worst, n = self.skew.get(key, (0, 0))
        self.skew[key] = (max(worst, self.now - t.since), n + 1)

    def arrive(self, t, ev):
        c = ev.cpu
        if t.state in ("RUNNABLE", "RUNNING") and t.cpu != c:
            self.repair("elsewhere")
            self.doubt_other_cpu(t, c)
        elif t.state == "BLOCKED" and not t.waking:
            self.repair("implied_runnable")
        if t.ghost_cpu == c and not t.waking:
            t.throttled = True
        if t.can_migrate() and t.cpu != c:
            self.migrated(t, t.cpu, c, inferred=True)
        if t.waking:
            if not t.waking.t_enq:
                self.repair("waking_without_wakeup")
            t.waking = None
        self.drop_pending(t)
        w = t.open
        if w:
            w.t_run, w.run_cpu = self.now, c
            if w.was_running and w.t_enq is None:
                self.close(t, "unknown")
            else:
                self.close(t, "run")
            t.all_runs.append(w)
        for x in list(t.all_runs):
            if self.now - x.t_run > 10000000:
                t.all_runs.remove(x)
            else:
                x.later_runs.append((self.now, c))
        if self.in_window():
            t.switches_in += 1
        self.set_state(t, "RUNNING", c)

    def doubt_other_cpu(self, t, c):
        """Rules 3 and 9: t is shown running on another CPU: what is known of that one is wrong until its next sched_switch."""
        for d in self.cpus.values():
            if d.number != c and d.current is t:
                d.current = None
                self.lose(d.number)

    def on_sched_waking(self, ev):
        t = self.task(ev.f["pid"], ev.f["comm"])
        w = self.wakeups[ev.index]
        if t.ghost_cpu is not None:
            self.set_state(t, "BLOCKED")
        if t.state == "UNKNOWN" and (self.cpu_seen_idle(w.prev_cpu, t.lost_seq) or w.moved):
            self.set_state(t, "BLOCKED")
        t.seen = True
        if t.cpu is None:
            t.cpu = w.prev_cpu
        t.prio = ev.f["prio"]
        self.open_wakeup(t, w, ev)
        if t.state == "BLOCKED":
            self.set_state(t, "WAKING")

    def cpu_seen_idle(self, c, after):
        """Was c idle at any moment, or at any after that step?"""
        cpu = self.cpus.get(c)
        return cpu is not None and (cpu.kind == "idle" or (cpu.idle_seq is not None and (after is None or cpu.idle_seq > after)))

    def open_wakeup(self, t, w, ev):
        w.task = t
        w.p_state = t.state
        w.blocked_ts, w.blocked_cpu, w.blocked_seq = (t.blocked_ts, t.blocked_cpu, t.blocked_seq) if t.state == "BLOCKED" else (None, None, None)
        w.comm = t.label()
        waker = self.cpus[ev.cpu]
        w.p_current_on_waker = waker.kind == "busy" and waker.current is t and t.state == "RUNNING"
        w.waker_pid = ev.pid
        by = waker.current if waker.current and waker.current.pid == ev.pid else self.tasks.get(ev.pid)
        w.waker_comm = "swapper" if not ev.pid else by.label() if by else "<...>"
        if w.waker_comm == "<...>":  # no record has named it yet
            w.waker_comm = self.trace.column.get(ev.pid, w.waker_comm)
        if self.in_window():
            t.wakeups += 1
            self.finished.append(w)
        if t.waking and not t.waking.t_enq:
            self.repair("waking_without_wakeup")
        self.drop_pending(t)
        if t.open:
            self.repair("duplicate_waking")
        if t.open and t.state in ("RUNNABLE", "WAKING"):
            w.duplicate, w.outcome = True, "replaced"
        else:
            self.close(t, "replaced")
            t.open = w
        t.waking = w
        if w.unresolved:
            self.repair("unresolved")

    def on_sched_wakeup(self, ev):
        f = ev.f
        if not f["success"]:
            self.repair("unsuccessful")
            return
        t = self.task(f["pid"], f["comm"])
        w = t.waking
        if not self.has_waking:
            w = self.wakeups[ev.index]  # decided before this record was applied
            t.prio = f["prio"]
            self.open_wakeup(t, w, ev)
        elif w is None:
            self.repair("wakeup_without_waking")
        t.prio = f["prio"]
        target = f["target"]
        if w and w.moved and w.chosen != target:
            self.repair("target_mismatch")
            target = w.chosen
        t.waking = None
        self.drop_pending(t)
        if t.open and t.open is not w and t.open.t_enq is None:  # of a duplicate: the wait is the first one's
            t.open.t_enq = self.now
        if t.state in ("RUNNING", "RUNNABLE"):
            if t.state == "RUNNING" and w and t.open is w:
                self.close(t, "running")
            return
        if t.can_migrate() and t.cpu != target:
            self.migrated(t, t.cpu, target, inferred=True, placement=w is not None)
        self.set_state(t, "RUNNABLE", target)

    def on_sched_wakeup_new(self, ev):
        f = ev.f
        if not f["success"]:
            self.repair("unsuccessful")
            return
        t = self.tasks.get(f["pid"])
        if not (t and t.fork_pending):
            t = self.reborn(f["pid"])
            self.inherit(t, self.cpus[ev.cpu].current)
        t = self.task(f["pid"], f["comm"])
        t.fork_pending = False
        t.prio = f["prio"]
        w = self.wakeups[ev.index]
        self.open_wakeup(t, w, ev)
        self.note_coming(w)
        t.waking = None
        self.set_state(t, "RUNNABLE", f["target"])

    def reborn(self, pid):
        """Rule 11: a pid starts a new task."""
        old = self.tasks.get(pid)
        if old and old.state != "DEAD":
            if old.seen:
                self.repair("reused_pids")
            for cpu in self.cpus.values():
                if cpu.current is old:
                    cpu.current = None
            self.close(old, "died")
            self.set_state(old, "DEAD")
        return self.new_task(pid, self.now)

    def on_sched_process_fork(self, ev):
        t = self.reborn(ev.f["child_pid"])
        self.inherit(t, self.task(ev.f["parent_pid"], ev.f["parent_comm"]) if ev.f["parent_pid"] else None)
        self.task(ev.f["child_pid"], ev.f["child_comm"])
        self.set_state(t, "BLOCKED")
        t.fork_pending = True

    def on_sched_process_exec(self, ev):
        self.exec_count += self.in_window()
        new, old = ev.f["pid"], ev.f["old_pid"]
        if new != old and old in self.tasks:
            leader = self.tasks.get(new)
            t = self.tasks.pop(old)
            if leader and leader is not t and leader.state != "DEAD":
                self.close(leader, "died")
                self.set_state(leader, "DEAD")
            t.pid = new
            self.tasks[new] = t
        self.task(new, ev.f["comm"])

    def on_sched_process_exit(self, ev):
        t = self.task(ev.f["pid"], ev.f["comm"])
        t.exiting = True
        t.prio = ev.f["prio"]

    def on_sched_migrate_task(self, ev):
        f = ev.f
        t = self.task(f["pid"], f["comm"])
        t.prio = f["prio"]
        w = t.waking
        placement = bool(w and w.moved and w.resolved_ts == ev.ts and ev.cpu == w.waker_cpu)
        if t.cpu is not None and t.cpu != f["orig"]:
            self.repair("migrate_mismatch")
        self.migrated(t, f["orig"], f["dest"], inferred=False, placement=placement)
        if t.state == "RUNNABLE":
            self.cpus[t.cpu].waiters.remove(t)
            self.touch(self.cpus[t.cpu])
            t.cpu = f["dest"]
            t.path[-1][2] = self.now
            t.path.append([self.now, t.cpu, None])
            self.place(t, t.cpu)
            self.cpus[t.cpu].waiters.append(t)
            self.touch(self.cpus[t.cpu])
        elif t.state != "RUNNING":
            t.cpu = f["dest"]

    def migrated(self, t, orig, dest, inferred, placement=False):
        if not self.in_window():
            return
        t.migrations += 1
        for x in self.listeners:
            if hasattr(x, "migrated"):
                x.migrated(orig, dest, inferred, placement)

    def on_cpu_idle(self, ev):
        for x in self.listeners:
            if hasattr(x, "cpu_idle"):
                x.cpu_idle(self.now, ev.f["cpu"], ev.f["state"])

    # ---- replay

    def replay(self):
        due = []  # wakeups applied but not decided, by (t_dec, order)
        for ev in self.events:
            if ev.ts > self.stop:
                break
            while due and due[0].t_dec <= ev.ts:
                self.decide(due.pop(0))
            self.advance(ev.ts)
            w = self.wakeups.get(ev.index)
            if w and w.kind == "only_wakeup":
                self.flush()
                self.decide_at_record(w, ev)
            self.apply(ev)
            if ev.type == "sched_waking":
                due.append(self.wakeups[ev.index])
                due.sort(key=lambda w: (w.t_dec, w.ev.index))
        for w in [w for w in due if w.t_dec <= self.stop]:
            self.decide(w)
        self.advance(self.stop)
        self.flush()
        for t in self.all_tasks:
            if t.comm is None:
                t.comm = self.trace.column.get(t.pid)
            if t.state != "DEAD":
                t.state_ns[t.state] += self.clip(t.since, self.stop)
                t.since = self.now
            if t.open:
                self.close(t, "censored")

    def advance(self, ts):
        self.now = max(self.now, ts)

    def flush(self):
        """Tells the listeners of the stretch of time up to now, in which the state did not change."""
        a, b = max(self.flushed, self.start), min(self.now, self.stop)
        if b > a:
            for x in self.listeners:
                if hasattr(x, "stretch"):
                    x.stretch(self, a, b)
        self.flushed = self.now

    def decide(self, w):
        self.advance(w.t_dec)
        self.flush()
        for x in self.listeners:
            if hasattr(x, "decision"):
                x.decision(self, w)
        t = w.task
        if w.p_state == "RUNNING" and not w.moved and w.t_enq is None and t.open is w:  # rule 18: it ran on, and no sched_wakeup will say so
            self.close(t, "running")
            t.waking = None
        self.set_pending(w)
        self.note_coming(w)

    def note_coming(self, w):
        if w.chosen in self.cpus and w.task is not None:
            self.cpus[w.chosen].coming = (w.task.label(), w.task.pid)

    def decide_at_record(self, w, ev):
        """A sched_wakeup in a trace without sched_waking is decided where it is enqueued."""
        t = self.task(w.pid, ev.f["comm"])
        w.task = t
        w.prev_cpu = t.seen_run_cpu
        w.waker_unknown = w.context in ("hardirq", "unknown") and ev.cpu == ev.f["target"]
        if w.waker_unknown:
            w.context = "unknown"
        known_blocked = (not t.seen or t.lost) and self.cpu_seen_idle(w.prev_cpu, t.lost_seq)
        if t.ghost_cpu is not None or (t.state == "UNKNOWN" and known_blocked):
            self.set_state(t, "BLOCKED")
        w.p_state = t.state
        for x in self.listeners:
            if hasattr(x, "decision"):
                x.decision(self, w)
        self.note_coming(w)
