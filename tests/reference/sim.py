#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""The core of the closed loop's machine by brute force: one to a few CPUs, CFS of 6.1 without groups, no balancing, no latencies, placement
"prev" or "idle-core-first". Every step looks at everything; nothing is kept that can be computed. Input: the text of tests/sim/sim_dump.c."""
import math

WEIGHTS = [88761, 71755, 56483, 46273, 36291, 29154, 23254, 18705, 14949, 11916, 9548, 7620, 6100, 4904, 3906, 3121, 2501, 1991, 1586, 1277, 1024,
           820, 655, 526, 423, 335, 272, 215, 172, 137, 110, 87, 70, 56, 45, 36, 29, 23, 18, 15]
UNITS = 1024  # of work in a ns at full speed
M64 = (1 << 64) - 1


def lot(seed, a, b, purpose):
    """What is by lot depends on the seed and on what it is for."""
    h = (seed * 0x9e3779b97f4a7c15 + a * 0xbf58476d1ce4e5b9 + b * 0x94d049bb133111eb + purpose * 0xd6e8feb86659fd93) & M64
    h = ((h ^ h >> 30) * 0xbf58476d1ce4e5b9) & M64
    h = ((h ^ h >> 27) * 0x94d049bb133111eb) & M64
    return h ^ h >> 31


class Task:
    def __init__(self, number, start, cpu, prio, birth_ns):
        self.number, self.start, self.cpu, self.birth_ns = number, start, cpu, birth_ns
        self.weight = WEIGHTS[prio - 100]
        self.ops, self.next_op, self.left, self.too_much = [], 0, 0, 0
        self.state, self.waits_for, self.wakes_at = "unborn", None, None
        self.vruntime, self.ran_ns, self.arrived = 0, 0, 0

    def load(self):
        """Work before the next operation; what the last step did too much is taken off."""
        work = self.ops[self.next_op][1] * UNITS
        done = min(work, self.too_much)
        self.left, self.too_much = work - done, self.too_much - done


class Cpu:
    def __init__(self, number):
        self.number, self.curr, self.waiting = number, None, []
        self.min_vruntime, self.since_ns, self.speed = 0, 0, UNITS
        self.next = self.last = self.skip = None

    def tasks(self):
        return self.waiting + ([self.curr] if self.curr else [])

    def leftmost(self):
        return min(self.waiting, key=lambda t: (t.vruntime, t.arrived), default=None)

    def advance(self):
        at = [t.vruntime for t in self.tasks()]
        if at:
            self.min_vruntime = max(self.min_vruntime, min(at))


class Machine:
    def __init__(self, text):
        self.tasks, self.counters, self.stored, self.sleeps, self.events = [], [], [], [], []
        for line in text.splitlines():
            w = line.split()
            if w[0] == "machine":
                self.cpus, self.threads = [Cpu(c) for c in range(int(w[1]))], int(w[2])
            elif w[0] == "opts":
                self.model, self.seed, self.smt, self.tick_ns, self.polite = w[1], int(w[2]), int(w[3]), int(w[4]), w[5] == "1"
            elif w[0] == "counter":
                self.counters.append(int(w[1]))
                self.stored.append(int(w[2]))
            elif w[0] == "sleep":
                self.sleeps.append(int(w[1]))
            elif w[0] == "task":
                self.tasks.append(Task(len(self.tasks), w[1], int(w[2]), int(w[3]), int(w[4])))
            elif w[0] == "op":
                self.tasks[-1].ops.append((w[1], int(w[2]), int(w[3]), int(w[4])))
        factor = 1 + int(math.log2(min(len(self.cpus), 8)))
        self.latency, self.min_gran, self.wake_gran = 6000000 * factor, 750000 * factor, 1000000 * factor
        self.now, self.order, self.tie_ns = 0, 0, math.inf
        self.pending_switch = []  # CPUs, in the order in which they were told to switch
        self.next_tick = lot(self.seed, 0, 0, 12) % self.tick_ns

    # ---- the queue of a CPU ----

    def account(self, cpu):
        ran_ns, cpu.since_ns = self.now - cpu.since_ns, self.now
        if not cpu.curr or not ran_ns:
            return
        t, work = cpu.curr, ran_ns * cpu.speed
        t.vruntime += ran_ns * 1024 // t.weight
        t.ran_ns += ran_ns
        cpu.advance()
        t.left, t.too_much = (t.left - work, t.too_much) if work < t.left else (0, work - t.left)

    def slice_ns(self, cpu, t, newcomer=False):
        tasks = cpu.tasks() + ([t] if newcomer else [])
        period = len(tasks) * self.min_gran if len(tasks) > 8 else self.latency
        return max(self.min_gran, period * t.weight // sum(x.weight for x in tasks))

    def enqueue(self, t, cpu, how, offset=None):
        """offset: what its vruntime was less than its old queue's minimum counts from."""
        self.account(cpu)
        if offset is not None:
            t.vruntime += cpu.min_vruntime - offset
        if how == "new":  # of nobody
            t.vruntime = max(t.vruntime, cpu.min_vruntime + self.slice_ns(cpu, t, True) * 1024 // t.weight)
        elif how == "woken":
            t.vruntime = max(t.vruntime, cpu.min_vruntime - self.latency // 2)
        self.order += 1
        t.arrived, t.state, t.cpu = self.order, "runnable", cpu.number
        cpu.waiting.append(t)

    def gran(self, t):
        return self.wake_gran * 1024 // t.weight

    def check_preempt(self, t):
        cpu = self.cpus[t.cpu]
        if cpu in self.pending_switch:
            return
        if cpu.curr:
            if self.polite or cpu.curr.vruntime - t.vruntime <= self.gran(t):
                return
            cpu.next = t
            if len(cpu.tasks()) >= 8:
                cpu.last = cpu.curr
        self.pending_switch.append(cpu)

    def pick(self, cpu):
        order = sorted(cpu.waiting, key=lambda t: (t.vruntime, t.arrived))
        first = order[0] if order else None
        left = cpu.curr if cpu.curr and (not first or cpu.curr.vruntime < first.vruntime) else first
        if not left:
            return None

        def near(t):
            return t is not None and t.vruntime - left.vruntime <= self.gran(left)

        best = left
        if cpu.skip is left:
            if left is cpu.curr:
                second = first
            else:
                second = order[1] if len(order) > 1 else None
                if not second or (cpu.curr and cpu.curr.vruntime < second.vruntime):
                    second = cpu.curr or second
            best = second if near(second) else best
        return cpu.next if near(cpu.next) else cpu.last if near(cpu.last) else best

    def forget(self, cpu, t):
        cpu.next, cpu.last, cpu.skip = (None if x is t else x for x in (cpu.next, cpu.last, cpu.skip))

    def schedule(self, cpu):
        self.account(cpu)
        if cpu in self.pending_switch:
            self.pending_switch.remove(cpu)
        prev = cpu.curr
        leaves = prev is not None and prev.state != "running"
        if leaves:
            self.forget(cpu, prev)
            cpu.curr = None
        new = self.pick(cpu)
        if new is cpu.curr and new is not None:
            return
        if prev is None and new is None:
            return
        if cpu.curr:
            prev.state = "runnable"
            self.order += 1
            prev.arrived = self.order
            cpu.waiting.append(prev)
        cpu.curr = new
        if new:
            cpu.waiting.remove(new)
            new.ran_ns, new.state = 0, "running"
            self.forget(cpu, new)
            cpu.advance()
        state = "R" if prev is None or not leaves else "X" if prev.state == "over" else "S"
        self.tell("switch", cpu.number, prev.number + 1 if prev else 0, new.number + 1 if new else 0, state)
        if bool(prev) != bool(new):
            for other in self.core(cpu):
                if other is not cpu and other.curr and other.speed != self.speed(other):
                    self.account(other)
                    other.speed = self.speed(other)
        cpu.speed = self.speed(cpu)

    def core(self, cpu):
        first = cpu.number // self.threads * self.threads
        return self.cpus[first:first + self.threads]

    def speed(self, cpu):
        return self.smt if sum(1 for c in self.core(cpu) if c.curr) > 1 else UNITS

    # ---- placement ----

    def idle(self, cpu):
        return not cpu.tasks()

    def place(self, prev):
        if self.model == "prev":
            return prev
        around = self.cpus[prev.number:] + self.cpus[:prev.number]
        for cpu in around:  # an idle core, from the previous CPU on
            if all(self.idle(c) for c in self.core(cpu)):
                return cpu
        for cpu in around:
            if self.idle(cpu):
                return cpu
        return prev

    # ---- wakeups ----

    def wake(self, t, waker_cpu):
        """Without latencies all of it happens at once, when the waker's operation is done."""
        old = self.cpus[t.cpu]
        self.tell("waking", waker_cpu, t.number + 1, t.cpu)
        t.state = "waking"
        return lambda: self.arrive(t, old)

    def arrive(self, t, old):
        new, offset = self.place(old), None
        if new is not old:
            self.tell("migrate", t.number + 1, old.number, new.number)
            offset = old.min_vruntime
        self.tell("wakeup", t.number + 1, new.number)
        self.enqueue(t, new, "woken", offset)
        self.check_preempt(t)

    def born(self, t, cpu, forked):
        """A child begins a slice behind its parent's queue, and not before its parent."""
        if forked:
            self.account(cpu)
            t.vruntime = max(cpu.curr.vruntime, cpu.min_vruntime + self.slice_ns(cpu, t, True) * 1024 // t.weight)
            offset = cpu.min_vruntime
        new = self.place(cpu)
        self.tell("new", t.number + 1, new.number)
        t.load()
        self.enqueue(t, new, "forked" if forked else "new", offset if forked else None)
        self.check_preempt(t)

    # ---- operations ----

    def block(self, t, kind, target):
        if kind == "block" and self.stored[target]:
            self.stored[target] -= 1
            return
        t.state, t.waits_for = "blocked", (kind, target)
        if kind == "sleep":
            t.wakes_at = self.now + self.sleeps[target]

    def progress(self, cpu):
        self.account(cpu)
        later = []
        while cpu.curr and not cpu.curr.left:
            t = cpu.curr
            kind, _, target, value = t.ops[t.next_op]
            t.next_op += 1
            if kind == "run":
                t.load()
                t.left += value * UNITS
                break
            if kind == "wake":
                wakee = self.tasks[self.counters[target]]
                if wakee.state == "blocked" and wakee.waits_for == ("block", target):
                    later.append(self.wake(wakee, cpu.number))
                else:
                    self.stored[target] += 1
            elif kind in ("block", "sleep"):
                self.block(t, kind, target)
            elif kind == "fork":
                self.born(self.tasks[target], cpu, True)
            elif kind == "yield":
                cpu.skip = t
                self.schedule(cpu)
            else:
                t.state = "over"
            if t.state != "over":
                t.load()
            if t.state in ("blocked", "over"):
                self.schedule(cpu)
                break
            if cpu.curr is not t:
                break
        for arrive in later:
            arrive()

    def tick(self):
        for cpu in self.cpus:
            t = cpu.curr
            if not t:
                continue
            self.account(cpu)
            first = cpu.leftmost()
            if not first:
                continue
            ideal = self.slice_ns(cpu, t)
            if t.ran_ns > ideal or (t.ran_ns >= self.min_gran and t.vruntime - first.vruntime > ideal):
                self.schedule(cpu)

    # ---- time ----

    def tell(self, *what):
        self.events.append((self.now,) + what)

    def begin(self):
        spread = self.latency
        for t in self.tasks:
            t.load()
            t.vruntime = lot(self.seed, t.number, 0, 11) % (spread + 1) - spread // 2
        for start in ("running", "runnable", "blocked"):
            for t in self.tasks:
                if t.start != start:
                    continue
                if start == "blocked":
                    kind, _, target, _ = t.ops[0]
                    t.next_op = 1
                    self.block(t, kind, target)
                    t.load()
                    continue
                self.enqueue(t, self.cpus[t.cpu], "moved")
                if not self.cpus[t.cpu].curr:
                    self.schedule(self.cpus[t.cpu])

    def run(self):
        self.begin()
        while True:
            while self.pending_switch:
                self.schedule(self.pending_switch[0])
            due = [(self.now_done(c), 0, c.number, c) for c in self.cpus if c.curr]
            due += [(t.wakes_at, 1, t.number, t) for t in self.tasks if t.wakes_at is not None]
            due += [(t.birth_ns, 2, t.number, t) for t in self.tasks if t.start == "unborn" and t.birth_ns and t.state == "unborn"]
            if not due:
                return self.events
            when, kind, _, what = min(due, key=lambda d: d[:3])
            if sum(1 for d in due if d[0] == when) > 1 or when == self.next_tick:
                self.tie_ns = min(self.tie_ns, when)  # which comes first is nobody's business
            if self.next_tick < when:
                self.now = self.next_tick
                self.next_tick += self.tick_ns
                self.tick()
                continue
            self.now = when
            if kind == 0:
                self.progress(what)
            elif kind == 1:
                what.wakes_at = None
                self.wake(what, 0)()  # a timer on CPU 0
            else:
                self.born(what, self.cpus[what.cpu], False)

    def now_done(self, cpu):
        """When its task has done the work before its next operation, at this speed."""
        done = (self.now - cpu.since_ns) * cpu.speed
        return self.now + max(0, -(-(cpu.curr.left - done) // cpu.speed))


def recorded(text):
    """The program's own events in the same form."""
    out = []
    for line in text.splitlines():
        w = line.split()
        if w[0] == "ev":
            out.append(tuple([int(w[1]), w[2]] + [int(x) if x.lstrip("-").isdigit() else x for x in w[3:]]))
    return out
