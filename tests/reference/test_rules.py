#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""The reference against cases computed by hand. Each trace is a few records; CPUs 0-3 are two cores of one LLC (0,1 and 2,3), CPUs 4-7 a second
LLC on a second node, unless said otherwise. Stamps are ns."""
import os
import sys
import tempfile
import unittest

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import continuous
import cookies
import events
import hist
import invariants
import markers
import report
import state
import topology

IRQ, SOFT = events.HARDIRQ, events.SOFTIRQ


def machine(cores=((0, 1), (2, 3), (4, 5), (6, 7)), nodes=((0, 1, 2, 3), (4, 5, 6, 7))):
    def groups(sets):
        return {c: frozenset(s) for s in sets for c in s}
    cpus = sorted(c for n in nodes for c in n)
    return topology.build(cpus, cpus, (), groups(cores), {}, groups(nodes), groups(nodes), groups(nodes), "test")


class Builder:
    def __init__(self, kernel="6.1.0", nr_cpus=8):
        self.tr = events.Trace()
        self.tr.kernel, self.tr.nr_cpus = kernel, nr_cpus
        self.facts = {}
        self.current = {}

    def add(self, ts, cpu, type_, f, flags=0, pid=None):
        self.tr.add(events.Event(ts, cpu, type_, self.current.get(cpu, 0) if pid is None else pid, "", flags, f))

    def switch(self, ts, cpu, prev, nxt, state="S", prio=120, nprio=120):
        def comm(p):
            return "t%d" % p if p else "swapper/%d" % cpu
        self.add(ts, cpu, "sched_switch", {"prev_comm": comm(prev), "prev_pid": prev, "prev_prio": prio, "state": state.rstrip("+"),
                                           "preempted": state.endswith("+"), "next_comm": comm(nxt), "next_pid": nxt, "next_prio": nprio}, pid=prev)
        self.current[cpu] = nxt

    def wake(self, ts, cpu, pid, target, type_="sched_waking", prio=120, flags=0, comm=None, success=1):
        self.add(ts, cpu, type_, {"comm": comm or "t%d" % pid, "pid": pid, "prio": prio, "success": success, "target": target}, flags)

    def wakeup(self, ts, cpu, pid, target, **kw):
        self.wake(ts, cpu, pid, target, "sched_wakeup", **kw)

    def migrate(self, ts, cpu, pid, orig, dest):
        self.add(ts, cpu, "sched_migrate_task", {"comm": "t%d" % pid, "pid": pid, "prio": 120, "orig": orig, "dest": dest})

    def other(self, ts, cpu, pid=None):
        self.add(ts, cpu, "timer_tick", {}, pid=pid)

    def lost(self, cpu, n):
        self.tr.marks.append((cpu, n))
        self.tr.add(events.Event(None, cpu, "lost", None, None, None, {"nr": n}))

    def fact(self, pid, allowed, policy=0):
        self.facts[pid] = topology.Fact(pid, policy, frozenset(allowed), None)

    def report(self, topo=None, **kw):
        out = report.analyse_events(self.tr, events.prepare(self.tr), topo or machine(), self.facts, **kw)
        broken = invariants.check(out).broken
        assert not broken, broken
        return out


def by_class(out):
    return {k: v for k, v in out["wakeups"]["by_class"].items() if v}


def task(out, pid):
    return next(t for t in out["tasks"] if t["pid"] == pid)


def sleeper(b, pid=20, cpu=1, t=100):
    """pid runs on cpu from the start and blocks at t; pid 10 runs on CPU 0 from the start."""
    b.other(0, 0, pid=10)
    b.current[0] = 10
    b.switch(t, cpu, pid, 0)


class Wakeups(unittest.TestCase):
    def test_moved_to_an_idle_cpu(self):
        b = Builder()
        sleeper(b)
        b.wake(100000, 0, 20, 1)
        b.migrate(100300, 0, 20, 1, 2)
        b.wakeup(100500, 2, 20, 2)
        b.switch(100900, 2, 0, 20)
        b.other(200000, 0)
        out = b.report()
        self.assertEqual(by_class(out), {"select": 1})
        self.assertEqual(out["quality"]["waking_gap_ns"], 300)
        for name, ns in (("wakeup", 900), ("queue_wait", 400), ("transit", 500)):
            self.assertEqual((out["latency"][name]["count"], out["latency"][name]["sum_ns"]), (1, ns))
        m = out["missed_idle"]
        self.assertEqual(m["queued_on_busy"]["count"], 0)
        # prev_cpu 1 was idle, chosen 2 is another core of the LLC of waker and prev
        self.assertEqual(m["prev_idle_elsewhere"]["count"], 1)
        self.assertEqual(m["prev_idle_elsewhere"]["by_distance"]["llc"], 1)
        self.assertEqual(m["prev_idle_elsewhere"]["affine_possible"], 0)  # on one LLC wake_affine changes nothing for an idle prev
        self.assertEqual(out["migrations"]["placement"], 1)
        self.assertEqual(out["latency"]["by_placement"]["idle_core"]["count"], 1)
        t = task(out, 20)
        # running [0,100), blocked and waking [100,100500), waits [100500,100900), runs to the end
        self.assertEqual((t["run_ns"], t["sleep_ns"], t["wait_ns"], t["unknown_ns"]), (100 + 99100, 100400, 400, 0))

    def queued(self, sibling_runs_at=None):
        """20 is queued on CPU 0 behind 10 at 101000 and runs at 150000; 0's sibling 1 idles."""
        b = Builder()
        sleeper(b, cpu=2)
        b.wake(100000, 2, 20, 0, flags=IRQ)
        b.wakeup(101000, 2, 20, 0, flags=IRQ)
        if sibling_runs_at:
            b.switch(sibling_runs_at, 1, 0, 30)
        b.switch(150000, 0, 10, 20)
        b.other(200000, 0)
        return b.report()

    def test_missed_idle_sibling(self):
        out = self.queued()
        m = out["missed_idle"]
        self.assertEqual(m["sibling"]["count"], 1)
        self.assertEqual((m["sibling"]["wait_ns"], m["sibling"]["avoidable_ns"]), (49000, 49000))
        self.assertEqual(m["queued_while_idle_core"]["llc"]["count"], 1)  # core 2-3
        w = m["worst"][0]
        self.assertEqual((w["scope"], w["missed_cpu"], w["ran_pid"], w["missed_idle_ns"]), ("sibling", 1, 10, 200000))

    def test_avoidable_ends_when_the_missed_cpu_is_taken(self):
        m = self.queued(sibling_runs_at=120000)["missed_idle"]
        self.assertEqual((m["sibling"]["wait_ns"], m["sibling"]["avoidable_ns"]), (49000, 19000))
        # the missed idle core is 2-3, idle throughout: of its CPUs 3 idled longest (2 blocked pid 20 at 100)
        self.assertEqual(m["queued_while_idle_core"]["llc"]["avoidable_ns"], 49000)

    def test_idle_while_waiting_of_that(self):
        i = self.queued(sibling_runs_at=120000)["idle_while_waiting"]
        # 20 waits [101000,150000); in its core CPU 1 idles to 120000, in the LLC 2 and 3 idle throughout
        self.assertEqual(i["core"]["wall_ns"], 19000)
        self.assertEqual((i["llc"]["wall_ns"], i["llc"]["cpu_ns"], i["llc"]["task_ns"]), (49000, 49000, 49000))
        self.assertEqual((i["core"]["behind_ns"], i["llc"]["behind_ns"]), (19000, 49000))  # 10 runs on CPU 0 all the time
        self.assertEqual(i["core"]["longest"], {"start_ns": 101000, "ns": 19000, "task": {"pid": 20, "comm": "t20"}, "waiting_cpu": 0, "idle_cpu": 1})

    def test_waiting_for_its_own_idle_cpu(self):
        """Enqueued on an idle CPU: until that switches, others idle; what comes meanwhile waits behind nobody that runs."""
        b = Builder()
        for cpu in (0, 1):
            b.switch(100, cpu, 90 + cpu, 0)
        b.switch(100, 3, 0, 30)
        b.wake(100000, 3, 20, 0)
        b.wakeup(101000, 3, 20, 0)
        b.switch(104000, 0, 0, 20)
        b.wake(105000, 3, 21, 0)
        b.wakeup(106000, 3, 21, 0)
        b.switch(116000, 0, 20, 21)
        b.other(200000, 3)
        i = b.report()["idle_while_waiting"]
        self.assertEqual((i["core"]["wall_ns"], i["core"]["behind_ns"]), (3000 + 10000, 10000))
        self.assertEqual((i["machine"]["wall_ns"], i["machine"]["behind_ns"]), (3000 + 10000, 10000))

    def test_half_busy_core(self):
        b = Builder()
        sleeper(b)  # 10 runs on 0; 20 goes to 1, its sibling, while core 2-3 idles
        b.wake(100000, 3, 20, 1, flags=IRQ)
        b.wakeup(100100, 1, 20, 1, flags=IRQ)
        b.switch(100200, 1, 0, 20)
        b.other(200000, 0)
        m = b.report()["missed_idle"]
        self.assertEqual([m["half_busy_core"][s]["count"] for s in ("llc", "node", "machine")], [1, 1, 1])
        self.assertEqual(m["half_busy_core"]["llc"]["wait_ns"], 100)
        self.assertEqual(m["queued_on_busy"]["count"], 0)

    def test_only_another_node_is_idle(self):
        b = Builder()
        for c in range(4):
            b.other(c, c, pid=10 + c)
            b.current[c] = 10 + c
        b.switch(50, 4, 20, 0)
        b.wake(100000, 0, 20, 4)
        b.migrate(100100, 0, 20, 4, 0)
        b.wakeup(100200, 0, 20, 0)
        b.switch(110000, 0, 10, 20, "R")
        b.other(200000, 0)
        out = b.report()
        m = out["missed_idle"]
        self.assertEqual([m[s]["count"] for s in ("sibling", "llc", "node", "machine")], [0, 0, 0, 1])
        self.assertEqual([m["queued_while_idle_core"][s]["count"] for s in ("llc", "node", "machine")], [0, 0, 1])
        self.assertEqual(m["worst"][0]["missed_cpu"], 5)  # 5, 6, 7 idle since 0; 4 since 50
        a = out["wake_affine"]
        self.assertEqual((a["considered"], a["outcome"]["prev"]["remote"], a["outcome"]["waker"]["cpu"], a["cross_llc"], a["bounce"]), (1, 1, 1, 1, 0))

    def test_stacked_needs_another_runnable(self):
        b = Builder()
        b.other(0, 0, pid=10)
        b.current[0] = 10
        b.switch(50, 1, 20, 0)
        b.wake(100000, 0, 20, 1)
        b.migrate(100100, 0, 20, 1, 0)
        b.wakeup(100200, 0, 20, 0)
        b.switch(110000, 0, 10, 20, "R")
        self.assertEqual(b.report()["missed_idle"]["stacked_on_waker"]["count"], 0)
        b.switch(120000, 2, 30, 0)
        b.wake(130000, 0, 30, 2)  # by 20, while 10 waits on 0
        b.migrate(130100, 0, 30, 2, 0)
        b.wakeup(130200, 0, 30, 0)
        b.switch(140000, 0, 20, 30)
        b.switch(150000, 0, 30, 10)
        self.assertEqual(b.report()["missed_idle"]["stacked_on_waker"]["count"], 1)

    def test_pending_makes_busy(self):
        b = Builder()
        sleeper(b)
        b.switch(200, 3, 30, 0)
        for pid, prev in ((20, 1), (30, 3)):
            t = 100000 + pid * 100
            b.wake(t, 0, pid, prev)
            b.migrate(t + 50, 0, pid, prev, 2)
        b.wakeup(110000, 2, 20, 2, flags=IRQ)
        b.wakeup(110100, 2, 30, 2, flags=IRQ)
        b.switch(111000, 2, 0, 20)
        b.switch(112000, 2, 20, 30)
        m = b.report()["missed_idle"]
        # the first finds 2 idle, the second finds 20 on its way there; 3 (the sibling) is idle
        self.assertEqual((m["decided"], m["queued_on_busy"]["count"], m["sibling"]["count"]), (2, 1, 1))


class Classes(unittest.TestCase):
    def test_self(self):
        b = Builder()
        sleeper(b)
        b.wake(100000, 0, 10, 0)
        b.wakeup(100100, 0, 10, 0)
        out = b.report()
        self.assertEqual(by_class(out), {"self": 1})
        self.assertEqual(out["wakeups"]["not_measured"]["running"], 1)

    def test_still_running_is_onrq(self):
        b = Builder()
        sleeper(b)
        b.wake(100000, 2, 10, 0, flags=IRQ)
        b.wakeup(100100, 2, 10, 0, flags=IRQ)
        out = b.report()
        self.assertEqual(by_class(out), {"onrq": 1})
        self.assertEqual(out["latency"]["wakeup"]["count"], 0)

    def test_waking_while_running_then_blocked(self):
        b = Builder()
        sleeper(b)
        b.switch(50, 2, 0, 40)
        b.wake(100000, 2, 10, 0)
        b.switch(100200, 0, 10, 0)
        b.wakeup(100700, 0, 10, 0, flags=IRQ)
        b.switch(101000, 0, 0, 10)
        out = b.report()
        self.assertEqual(by_class(out), {"oncpu": 1})
        self.assertEqual(out["latency"]["wakeup"]["sum_ns"], 300)  # from the enqueue
        self.assertEqual(out["latency"]["transit"]["count"], 0)

    def test_blocked_just_now_is_oncpu_only_when_queued_there(self):
        for recorded_on, cls in ((1, "oncpu"), (0, "select")):
            b = Builder()
            sleeper(b, t=100000)
            b.wake(104999, 0, 20, 1)
            b.wakeup(105500, recorded_on, 20, 1, flags=IRQ)
            b.switch(106000, 1, 0, 20)
            self.assertEqual(by_class(b.report()), {cls: 1})
        b = Builder()
        sleeper(b, t=100000)
        b.wake(105000, 0, 20, 1)  # 5 us are not less than 5 us
        b.wakeup(105500, 1, 20, 1, flags=IRQ)
        b.switch(106000, 1, 0, 20)
        self.assertEqual(by_class(b.report()), {"select": 1})

    def test_affinity_and_priority(self):
        for allowed, prio, cls in (({1}, 120, "pinned"), ({2, 3}, 120, "fallback"), ({0, 1, 2}, -1, "dl"), ({0, 1, 2}, 50, "rt"), ({0, 1}, 100, "select")):
            b = Builder()
            sleeper(b)
            b.fact(20, allowed)
            b.wake(100000, 0, 20, 1, prio=prio)
            b.wakeup(100100, 1, 20, 1, flags=IRQ, prio=prio)
            b.switch(100200, 1, 0, 20)
            self.assertEqual(by_class(b.report()), {cls: 1})

    def test_name_of_a_per_cpu_thread(self):
        self.assertEqual([topology.pinned_by_name(n) for n in ("kworker/3:1H", "kworker/u8:1", "ksoftirqd/12", "rcuop/3", "migration/0", "x")],
                         [3, None, 12, None, 0, None])

    def test_maybe_delayed_from_6_12_on(self):
        for kernel, n in (("6.12.0", 1), ("6.11.9", None)):
            b = Builder(kernel)
            b.other(0, 0, pid=10)
            b.current[0] = 10
            b.switch(100, 1, 20, 30)  # a fair task runs on 1 from then on
            b.wake(100000, 0, 20, 1)
            b.wakeup(100100, 0, 20, 1)
            b.switch(100200, 1, 30, 20)
            out = b.report()
            self.assertEqual(by_class(out), {"select": 1})
            self.assertEqual(out["wakeups"].get("maybe_delayed"), n)

    def test_fork(self):
        b = Builder()
        sleeper(b)
        b.add(1000, 0, "sched_process_fork", {"parent_comm": "t10", "parent_pid": 10, "child_comm": "t50", "child_pid": 50})
        b.wake(1100, 0, 50, 2, "sched_wakeup_new")
        b.switch(1500, 2, 0, 50)
        out = b.report()
        self.assertEqual(by_class(out), {"fork": 1})
        self.assertEqual(out["latency"]["wakeup"]["sum_ns"], 400)
        self.assertEqual(out["migrations"]["total"], 0)
        self.assertEqual(task(out, 50)["unknown_ns"], 0)

    def test_never_seen(self):
        for idle_before, cls in ((True, "select"), (False, "unknown")):
            b = Builder()
            b.other(0, 0, pid=10)
            b.current[0] = 10
            if not idle_before:
                b.other(1, 1, pid=30)
                b.current[1] = 30
            b.wake(100000, 0, 20, 1)
            b.wakeup(100100, 1, 20, 1, flags=IRQ)
            b.switch(100200, 1, b.current.get(1, 0), 20)
            out = b.report()
            self.assertEqual(by_class(out), {cls: 1})
            self.assertEqual(task(out, 20)["unknown_ns"], 100000 if idle_before else 100100)


class Gaps(unittest.TestCase):
    def test_mark(self):
        b = Builder()
        sleeper(b)
        b.other(1000, 0)
        b.lost(0, 7)
        b.switch(5000, 0, 11, 12)
        b.other(10000, 1)
        out = b.report()
        self.assertEqual((out["quality"]["lost_marks"], out["quality"]["lost_events"], out["quality"]["chain_breaks"]), (1, 7, 0))
        self.assertEqual(out["idle"]["cpu"][0], {"cpu": 0, "idle_ns": 0, "busy_ns": 6000, "unknown_ns": 4000})
        self.assertEqual(out["window"]["coverage"], 0.95)
        self.assertEqual((task(out, 10)["run_ns"], task(out, 10)["unknown_ns"]), (1000, 9000))

    def test_chain_break_by_another_record(self):
        b = Builder()
        sleeper(b)
        b.switch(1000, 0, 10, 11)
        b.other(2000, 0, pid=12)  # 11 must have left between 1000 and 2000
        b.switch(3000, 0, 12, 0)
        b.other(10000, 1)
        out = b.report()
        self.assertEqual(out["quality"]["chain_breaks"], 1)
        self.assertEqual(out["idle"]["cpu"][0], {"cpu": 0, "idle_ns": 7000, "busy_ns": 1000, "unknown_ns": 2000})

    def test_ftrace_records_prove_nothing(self):
        b = Builder()
        sleeper(b)
        b.add(500, 0, "kernel_stack", {}, pid=99)
        self.assertEqual(b.report()["quality"]["chain_breaks"], 0)

    def test_overwritten_start(self):
        b = Builder()
        sleeper(b)
        b.tr.overrun = {2: 1000}
        b.other(5000, 2, pid=40)
        b.switch(6000, 2, 40, 0)
        b.other(10000, 0)
        out = b.report()
        self.assertEqual((out["window"]["start_ns"], out["window"]["recording_start_ns"]), (5000, 0))
        self.assertEqual(out["idle"]["cpu"][2], {"cpu": 2, "idle_ns": 4000, "busy_ns": 0, "unknown_ns": 1000})

    def test_chosen_unknown_is_a_row(self):
        b = Builder()
        sleeper(b)
        b.lost(2, 3)
        b.switch(90000, 2, 0, 0)
        b.switch(95000, 2, 0, 30)
        b.lost(2, 1)
        b.wake(100000, 0, 20, 1)
        b.migrate(100100, 0, 20, 1, 2)
        b.wakeup(100200, 0, 20, 2)
        b.switch(110000, 2, 40, 20)
        m = b.report()["missed_idle"]
        self.assertEqual((m["decided"], m["unknown"]["count"], m["queued_on_busy"]["count"]), (1, 1, 0))


class Repairs(unittest.TestCase):
    def test_ghost_and_throttling(self):
        b = Builder()
        sleeper(b)
        b.switch(1000, 0, 10, 0, "R+")  # runnable, and yet the CPU idles
        b.switch(5000, 0, 0, 10)  # and runs again without a wakeup
        b.other(6000, 0)
        out = b.report()
        self.assertEqual((out["quality"]["repairs"]["ghosts"], out["quality"]["throttle_suspected"]), (1, 1))
        t = task(out, 10)
        self.assertEqual((t["run_ns"], t["wait_ns"], t["unknown_ns"], t["preempted"]), (2000, 0, 4000, 1))

    def test_implied_and_elsewhere(self):
        b = Builder()
        sleeper(b)
        b.wakeup(150, 2, 40, 3)
        b.switch(200, 2, 0, 20)  # 20 had blocked on 1
        b.switch(300, 3, 0, 10)  # 10 runs on 0
        r = b.report()["quality"]["repairs"]
        self.assertEqual((r["implied_runnable"], r["elsewhere"]), (1, 1))

    def test_duplicate_waking(self):
        b = Builder()
        sleeper(b)
        b.wake(100000, 0, 20, 1)
        b.wakeup(100100, 1, 20, 1, flags=IRQ)
        b.wake(100200, 0, 20, 1)
        b.wakeup(100250, 0, 20, 1)
        b.switch(101000, 1, 0, 20)
        out = b.report()
        self.assertEqual(out["quality"]["repairs"]["duplicate_waking"], 1)
        self.assertEqual((out["wakeups"]["total"], out["latency"]["wakeup"]["count"], out["latency"]["wakeup"]["sum_ns"]), (2, 1, 1000))
        self.assertEqual(by_class(out), {"select": 1, "onrq": 1})

    def test_no_success(self):
        b = Builder()
        sleeper(b)
        b.wakeup(100000, 0, 20, 1, success=0)
        b.wake(100100, 0, 20, 1)
        out = b.report()
        self.assertEqual((out["quality"]["repairs"]["unsuccessful"], out["wakeups"]["total"]), (1, 1))

    def test_pid_reuse_and_rename(self):
        b = Builder()
        sleeper(b)
        b.add(150, 0, "sched_process_exit", {"comm": "t10", "pid": 10, "prio": 120})
        b.switch(200, 0, 10, 0, "X")
        b.wake(300, 1, 10, 0, "sched_wakeup_new", comm="new")
        b.switch(400, 0, 0, 10)
        out = b.report()
        self.assertEqual([t["comm"] for t in out["tasks"] if t["pid"] == 10].count("t10"), 2)  # renamed by its sched_switch, not a third
        self.assertEqual(out["quality"]["repairs"]["reused_pids"], 0)

    def test_censored(self):
        b = Builder()
        sleeper(b)
        b.wake(100000, 0, 20, 1)
        b.wakeup(100100, 1, 20, 1, flags=IRQ)
        b.other(150000, 0)
        w = b.report()["wakeups"]
        self.assertEqual((w["total"], w["censored"], w["censored_oldest_ns"]), (1, 1, 50000))

    def test_bounce(self):
        b = Builder()
        sleeper(b)
        b.wake(100000, 4, 20, 1, flags=IRQ)
        b.migrate(100100, 4, 20, 1, 4)
        b.wakeup(100200, 4, 20, 4, flags=IRQ)
        b.switch(100300, 4, 0, 20)
        b.switch(200000, 4, 20, 0, "R+")
        b.migrate(200100, 1, 20, 4, 1)
        b.switch(10100300, 1, 0, 20)  # 10 ms after t_run, to the ns
        out = b.report()
        self.assertEqual((out["wake_affine"]["cross_llc"], out["wake_affine"]["bounce"]), (1, 1))


class Windows(unittest.TestCase):
    def test_time(self):
        b = Builder()
        sleeper(b)
        for t in (1000, 2000, 3000):
            b.wake(t, 0, 20, 1)
            b.wakeup(t + 100, 1, 20, 1, flags=IRQ)
            b.switch(t + 200, 1, 0, 20)
            b.switch(t + 500, 1, 20, 0)
        out = b.report(start=2000, stop=2600)
        self.assertEqual((out["wakeups"]["total"], out["events"]["sched_switch"]), (1, 2))
        self.assertEqual(out["idle"]["cpu"][1], {"cpu": 1, "idle_ns": 300, "busy_ns": 300, "unknown_ns": 0})

    def test_without_waking(self):
        b = Builder()
        sleeper(b)
        b.wakeup(100000, 0, 20, 1)
        b.switch(100400, 1, 0, 20)
        b.wakeup(100500, 2, 99, 2, flags=IRQ)  # waker unknown, previous CPU unknown
        out = b.report()
        self.assertFalse(out["quality"]["has_waking"])
        self.assertEqual(by_class(out), {"select": 1, "unknown": 1})
        self.assertEqual((out["wake_affine"]["considered"], out["latency"]["by_placement"]["prev_idle"]["count"]), (1, 1))
        self.assertEqual(out["latency"]["wakeup"]["sum_ns"], 400)
        self.assertEqual(out["latency"]["transit"]["count"], 0)


class Smt(unittest.TestCase):
    def test_core_sharing(self):
        b = Builder()
        sleeper(b, t=4000)  # 10 on 0, 20 on 1 until 4000
        b.other(10000, 0)
        s = b.report()["smt"]
        self.assertEqual(s["cores"][0]["busy_threads_ns"], [0, 6000, 4000])
        self.assertEqual(s["avoidable_corun_ns"], {"llc": 4000, "node": 4000, "machine": 4000})
        self.assertEqual(s["pairs"], [{"a": "<...>", "b": "<...>", "ns": 4000}])  # no record has named them yet
        t = next(t for t in s["tasks"] if t["pid"] == 10)
        self.assertEqual((t["corun_ns"], t["alone_ns"], t["lost_ns"]["s062"]), (4000, 6000, 1520))


class Cookies(unittest.TestCase):
    """Rules 36 and 37"""
    def report(self, b, lines):
        with tempfile.NamedTemporaryFile("w", suffix=".map") as f:
            f.write(lines)
            f.flush()
            return b.report(cookie_map=f.name)["smt"]["cookies"]

    def two(self, prio=120):
        b = Builder()
        b.other(0, 2, pid=15)
        b.current[2] = 15
        b.switch(1000, 0, 0, 300, nprio=prio)
        b.switch(1000, 1, 0, 301)
        return b

    def test_two_threads(self):
        b = self.two()
        b.switch(2000, 1, 301, 0)
        b.switch(3000, 1, 0, 302)
        b.switch(4000, 1, 302, 301)
        b.wakeup(4500, 2, 303, 1)
        b.other(5000, 0)
        k = self.report(b, "a comm t300\na regex ^t30[23]$\nb pid 301\n")
        t = k["cores"][0]
        self.assertEqual([t[n + "_ns"] for n in cookies.CLASSES], [1000, 1000, 1000, 2000, 0, 0])
        self.assertEqual((t["forced_idle_min_ns"], t["compatibility"]), (1500, 0.333333))  # t303 waits where it would do, from 4500 on
        self.assertNotIn("compatibility", k["cores"][1])
        self.assertEqual(k["groups"][::2], [{"kind": "tagged", "cookie": "a", "run_ns": 5000, "compatible_ns": 2000, "incompatible_ns": 2000,
                                            "alone_ns": 1000, "unknown_ns": 0},
                                           {"kind": "tagged", "cookie": "b", "run_ns": 2000, "compatible_ns": 0, "incompatible_ns": 2000,
                                            "alone_ns": 0, "unknown_ns": 0}])
        self.assertEqual((k["groups"][1]["kind"], k["groups"][1]["run_ns"]), ("unknown", 5000))  # pid 15 has no name

    def test_who_goes_first(self):
        for prio, want in ((120, 1000), (50, 4000)):  # what waits beside a real-time task does not help: that goes first
            b = self.two(prio)
            b.wakeup(2000, 2, 304, 0)
            b.other(5000, 0)
            k = self.report(b, "a comm t300\nb comm t301\nb comm t304\n0 pid 15\n")
            self.assertEqual((k["incompatible_ns"], k["forced_idle_min_ns"]), (4000, want))

    def test_map(self):
        with tempfile.NamedTemporaryFile("w") as f:
            f.write("c regex ^q\nb comm qemu\na pid 7\n0 tgid 3\n")
            f.flush()
            m = cookies.Map(f.name)
        t = state.Task(8, 1, None)
        self.assertEqual(m.cookie(t)[0], "unknown")  # a tgid that nobody knows
        t.fact = topology.Fact(4, None, None, None)
        self.assertEqual(m.cookie(t)[0], "unknown")  # a name that nobody knows
        for comm, want in (("qemu", "b"), ("qemu2", "c"), ("x", ""), ("kworker/0:0", "")):
            t.comm = comm
            self.assertEqual(m.cookie(t)[1], want)
        t.pid = 7
        self.assertEqual(m.cookie(t), ("tagged", "a"))


class Parts(unittest.TestCase):
    def test_histogram(self):
        for v, i, low, width in ((0, 0, 0, 1), (127, 127, 127, 1), (128, 128, 128, 2), (129, 128, 128, 2), (255, 191, 254, 2), (256, 192, 256, 4),
                                 (1000000, 954, 999424, 8192)):
            self.assertEqual(hist.index(v), i, v)
            self.assertEqual(hist.edges(i), (low, width))
        h = hist.Hist(range(1, 101))
        self.assertEqual((h.quantile(500), h.quantile(990), h.quantile(999)), (50, 99, 100))
        self.assertEqual(hist.Hist([1000, 2000]).quantile(500), 1004)  # bucket 1000..1007, midpoint

    def test_matching(self):
        edges = {"a": [1], "b": [1, 2], "c": [1]}
        self.assertEqual(continuous.matching("abc", edges.__getitem__), 2)

    def test_markers(self):
        texts = ["x: wakeif/1 a1 2/2 0-1\\n;|\n", "wakeif/1 b 1/3 lost|", "wakeif/1 a1 1/2 0,1@sys/cpu%/l=0-1;2-3@=2-3\\x3b;@tasks=tid\\tpid\\n7\\t|"]
        self.assertEqual(markers.files(texts), {"sys/cpu0/l": "0-1", "sys/cpu1/l": "0-1", "sys/cpu2/l": "2-3;", "sys/cpu3/l": "2-3;",
                                                "tasks": "tid\tpid\n7\t0-1\n"})
        self.assertIsNone(markers.files(texts[1:2]))

    def test_lists(self):
        self.assertEqual(topology.parse_list("0-3,8,10-14:2\n"), {0, 1, 2, 3, 8, 10, 12, 14})
        self.assertEqual(topology.format_list({0, 1, 2, 5, 7, 8}), "0-2,5,7-8")

    def test_states(self):
        fmt = ('REC->prev_state & ((((0x0000 | 0x0040) + 1) << 1) - 1), "|", { 0x01, "S" }, { 0x02, "D" } : "R", '
               'REC->prev_state & (((0x0000 | 0x0001 | 0x0002 | 0x0004 | 0x0008 | 0x0010 | 0x0020 | 0x0040) + 1) << 1) ? "+" : ""')
        t = events.state_table(fmt, "5.0.0")
        self.assertEqual([t.decode(v) for v in (0, 1, 2, 0x100)], [("R", False), ("S", False), ("D", False), ("R", True)])
        t = events.state_table("", "4.14.62")
        self.assertEqual([t.decode(v)[0] for v in (0, 1, 5, 6, 8)], ["R", "S", "X", "Z", "I"])
        self.assertEqual([events.guess_table(v).mark for v in ({0, 1, 128, 256}, {0, 1, 4096, 130}, {1, 64, 256})], [0x100, 0x1000, 0x100])
        self.assertEqual(events.parse_letters("D|K"), ("D", False))
        self.assertEqual(events.parse_letters("R+"), ("R", True))

    def test_text(self):
        text = ("          <idle>-0     [001] dNs2. 12.000001: sched_waking: comm=a: b [001] 1.0: x pid=7 prio=120 target_cpu=002\n"
                " rs:main Q:Reg-430   ( 99) [003] d... 12.000002: sched_switch: prev_comm=x ==> next_comm=y prev_pid=430 prev_prio=120 prev_state=R+ ==> "
                "next_comm=swapper/3 next_pid=0 next_prio=120\n"
                "    bash 33349 [034] 14.000000: sched:sched_wakeup_new: bash:34059 [120] success=1 CPU:036\n"
                "CPU:3 [LOST 5 EVENTS]\n"
                "     t-9  [003] 15.000000000: sched_switch: t:9 [120] S ==> u:8 [120]\n")
        with tempfile.NamedTemporaryFile("w", suffix=".txt") as f:
            f.write(text)
            f.flush()
            tr = events.read_text(f.name)
        a, b, c, lost, d = tr.globally_ordered
        self.assertEqual((a.ts, a.cpu, a.pid, a.flags, a.f["comm"], a.f["target"]), (12000001000, 1, 0, SOFT, "a: b [001] 1.0: x", 2))
        self.assertEqual((b.pid, b.f["prev_comm"], b.f["prev_pid"], b.f["preempted"]), (430, "x ==> next_comm=y", 430, True))
        self.assertEqual((c.cpu, c.type, c.flags, c.f["pid"], c.f["target"]), (34, "sched_wakeup_new", None, 34059, 36))
        self.assertEqual((lost.cpu, lost.f["nr"]), (3, 5))
        self.assertEqual((d.f["prev_pid"], d.f["state"], d.f["next_pid"]), (9, "S", 8))
        self.assertTrue(d.f["tells"])  # S was no preemption

    def test_order_of_equal_stamps(self):
        b = Builder()
        b.switch(5, 0, 0, 1)
        b.wakeup(5, 1, 2, 0)
        b.wake(5, 2, 2, 0)
        b.switch(5, 3, 0, 4)
        self.assertEqual([(e.type, e.cpu) for e in events.prepare(b.tr)],
                         [("sched_waking", 2), ("sched_wakeup", 1), ("sched_switch", 0), ("sched_switch", 3)])

    def test_invariants_find_faults(self):
        b = Builder()
        sleeper(b)
        b.wake(100000, 0, 20, 1)
        b.wakeup(100100, 1, 20, 1, flags=IRQ)
        b.switch(100200, 1, 0, 20)
        out = b.report()
        self.assertEqual(invariants.check(out).broken, [])
        for change in (lambda o: o["wakeups"]["by_class"].update(rt=5), lambda o: o["latency"]["wakeup"]["histogram"].append([1 << 20, 1 << 14, 1]),
                       lambda o: o["idle"]["cpu"][0].update(idle_ns=1), lambda o: o["missed_idle"].update(decided=7),
                       lambda o: o["idle_while_waiting"]["core"].update(wall_ns=1 << 50), lambda o: o["smt"].update(unknown_ns=1)):
            bad = b.report()
            change(bad)
            self.assertTrue(invariants.check(bad).broken)


class Longest(unittest.TestCase):
    """Rules 24 (on_waker_cpu, ran), 34 and 35"""
    def waits(self, between=(), last=True):
        """20 waits on CPU 0 behind 10 from 100500 to 101000, woken on CPU 5 by 15; `between`: calls."""
        b = Builder()
        sleeper(b)
        b.other(50, 5, pid=15)
        b.current[5] = 15
        b.wake(100000, 5, 20, 1)
        b.migrate(100300, 5, 20, 1, 0)
        b.wakeup(100500, 0, 20, 0)
        for call in between:
            call(b)
        if last:
            b.switch(101000, 0, b.current[0], 20, state="R")
        b.other(200000, 5)
        return b

    def test_who_ran(self):
        out = self.waits([lambda b: b.switch(100600, 0, 10, 30, state="R"), lambda b: b.switch(100900, 0, 30, 31, state="R")]).report()
        row, = out["latency"]["longest"]
        self.assertEqual((row["latency_ns"], row["queue_wait_ns"], row["class"], row["waker_pid"], row["run_cpu"]), (1000, 500, "select", 15, 0))
        self.assertEqual([(x["pid"], x["ns"]) for x in row["behind"]], [(30, 300), (10, 100), (31, 100)])
        self.assertTrue(row["behind_complete"])
        self.assertEqual(row["sibling_idle_ns"], 500)  # CPU 1 idles since 100

    def test_moved_and_censored(self):
        out = self.waits([lambda b: b.migrate(100800, 3, 20, 0, 3)], last=False).report()
        row, = out["latency"]["longest"]
        self.assertTrue(row["censored"])
        self.assertEqual((row["latency_ns"], row["queue_wait_ns"]), (100000, 99500))
        self.assertEqual([(x["pid"], x["comm"], x["ns"]) for x in row["behind"]], [(0, "idle", 99200), (10, "<...>", 300)])  # no record names 10
        self.assertEqual(row["sibling_idle_ns"], 99500)  # CPU 1, then CPU 2

    def test_unknown_sibling(self):
        out = self.waits([lambda b: b.other(100700, 1, pid=0), lambda b: b.lost(1, 1), lambda b: b.switch(100900, 1, 40, 0)]).report()
        row, = out["latency"]["longest"]
        self.assertNotIn("sibling_idle_ns", row)

    def test_a_wakee_on_its_way(self):
        b = Builder()
        sleeper(b)
        b.other(50, 5, pid=15)
        b.current[5] = 15
        b.switch(200, 4, 21, 0)
        b.wake(100000, 5, 20, 1)
        b.migrate(100300, 5, 20, 1, 2)
        b.wake(100400, 0, 21, 4)
        b.migrate(100450, 0, 21, 4, 2)
        b.wakeup(100500, 2, 20, 2)
        b.wakeup(100550, 2, 21, 2)
        b.switch(100900, 2, 0, 20)
        b.switch(101900, 2, 20, 21)
        b.other(200000, 0)
        worst = b.report()["missed_idle"]["worst"]
        self.assertEqual([(w["pid"], w["ran_pid"], w["ran_comm"], w["ran_waking"]) for w in worst], [(21, 20, "t20", True)])

    def test_pull_to_the_wakers_llc(self):
        b = Builder()
        sleeper(b)
        b.other(50, 5, pid=15)
        b.current[5] = 15
        b.wake(100000, 5, 20, 1)
        b.migrate(100300, 5, 20, 1, 5)
        b.wakeup(100500, 5, 20, 5)
        b.switch(101000, 5, 15, 20, state="R")
        b.other(200000, 5)
        b.fact(20, range(8))
        b.fact(15, range(8), policy=None)
        out = b.report()
        m = out["missed_idle"]
        self.assertEqual(m["prev_idle_elsewhere"]["affine_possible"], 1)
        self.assertEqual((m["queued_on_busy"]["on_waker_cpu"], m["queued_on_busy"]["on_waker_cpu_alone"]), (1, 1))
        self.assertEqual(m["chosen_idle"] + m["queued_on_busy"]["count"] + m["chosen_unknown"], m["decided"])
        self.assertEqual(out["quality"]["policies"], {"known": 1, "unknown": 2})


if __name__ == "__main__":
    result = unittest.main(exit=False, verbosity=1).result
    bad = len(result.failures) + len(result.errors)
    print("%d passed, %d failed" % (result.testsRun - bad, bad))
    sys.exit(1 if bad else 0)
