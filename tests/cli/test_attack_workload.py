#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""Saved workloads made to do harm, and what simulate and workload --save are pointed at: soon an end, one line, nothing else destroyed."""
import os
import re
import shutil
import stat
import subprocess
import unittest

import evil_workload as evil
from cli import SAMPLES, Ftrace, stacked
from evil_workload import BLOCK, MS, RENICE, RUN, SECOND, SLEEP, TAKE, YIELD, op, sleep, task, wake
from test_attack import Attack

HACKBENCH = os.path.join(SAMPLES, "nosmt4-hackbench.dat")
YEARS = 1 << 51


class Contents(Attack):
    """Files whose check sum is right."""

    def run_it(self, *args, status=0, says=None, command=("simulate", "--seeds", "1", "--no-sensitivity"), **kw):
        return self.attack(evil.saved(evil.contents(*args, **kw)), *command, status=status, says=says, name="evil.wl")

    def test_the_writer_writes_whole_files(self):
        tasks = [task([op(RUN, value=5 * MS), op(YIELD)]), task([op(BLOCK, 0)]), task([wake(0)], cpu=1)]
        self.run_it(tasks, counters=[(1, 0)])
        self.run_it([])
        out = self.run_it(tasks, counters=[(1, 0)], command=("workload", "-v"))[1]
        self.assertIn(b"Workload: 3 tasks, 7 operations, 0 sleeps, 1 counters", out)

    def test_operations_that_share_a_sleep(self):
        self.run_it([task([op(SLEEP, 0)] * 3000)], sleeps=[sleep(MS, MS)])

    def test_years(self):
        """Idle ones cost nothing; busy ones are refused."""
        for hz in (0, 10000):
            self.run_it([task([op(SLEEP, 0)])], sleeps=[sleep(1 << 52, 1 << 52)], window=1 << 52, hz=hz)
            self.run_it([task([op(RUN, value=YEARS)])], window=1 << 52, hz=hz, status=3, says="too long to be simulated: 2251799 s of work on 2 CPUs")
        # one after the other: no single tape tells
        self.run_it([task([op(RUN, value=8 * SECOND)], allowed=0)] * 2, cores=1024, hz=10000, masks=[evil.cpu_set((0,), 1024)], status=3, says="too long to be simulated",
                    command=("simulate", "--seeds", "1", "--jobs", "1", "--no-sensitivity", "--balance", "off"))

    def test_waits_for_ever(self):
        """Tasks that wait for each other: the run ends, and says what was not done."""
        two = [task([op(BLOCK, 0), op(TAKE, 0), wake(1)]), task([op(TAKE, 1), wake(0)], cpu=1)]
        out = self.run_it(two, counters=[(0, 1), (1, 0)])[1]
        self.assertIn(b"did not come to the end of their tapes", out)

    def test_cores_of_many_threads(self):
        cookies = self.write("cookies", "one comm evil\n")
        tasks = [task([op(RUN, value=MS)], cpu=i) for i in range(4)]
        for threads in (64, 65):
            self.run_it(tasks, cores=1, threads=threads, status=3 if threads > 64 else 0, says="more than 64 threads" if threads > 64 else None,
                        command=("simulate", "--seeds", "1", "--jobs", "1", "--no-sensitivity", "--cookies", cookies, "--core-sched", "mainline"))

    def test_sets_of_cpus_that_are_gone(self):
        out = self.run_it([task([op(RUN, value=MS)], cpu=3, allowed=0)], cores=4, masks=[evil.cpu_set((3,), 4)],
                          command=("simulate", "--seeds", "1", "--no-sensitivity", "--machine", "core:2 pu:1"))[1]
        self.assertIn(b"1 sets of CPUs that tasks are bound to have no CPU on the other machine", out)

    def test_names(self):
        """No byte of a name reaches the terminal as it is, nor makes JSON that is none."""
        for command in (("workload", "-v"), ("workload", "--json"), ("simulate", "--seeds", "1", "--json"), ("simulate", "--seeds", "1", "--csv")):
            name = b"\x1b[31m\n\xff\xc0\x80"
            out = self.run_it([task([op(RUN, value=MS)], comm=name, cgroup=name)], source=b"\x1b[31m\n", command=command)[1]
            self.assertFalse(re.search(rb"[\0-\t\v-\x1f\x7f-\xff]", out), out)

    def test_wrong_numbers(self):
        one = [task([op(RUN, value=MS)])]
        for says, kw in (("impossible window", dict(window=1 << 53)), ("impossible window", dict(hz=10001)), ("impossible window", dict(speed=100)),
                         ("impossible number of CPUs", dict(machine=evil.u32(0))), ("impossible number of CPUs", dict(machine=evil.u32(1 << 31))),
                         ("a text or set is impossible", dict(machine=evil.topology(2, source=None))), ("an impossible sleep", dict(sleeps=[sleep(MS, MS, cpu=7)])), ("a counter of no task", dict(counters=[(9, 0)])),
                         ("an empty affinity", dict(masks=[evil.cpu_set((), 2)])),
                         ("affinity to CPUs that the machine has not", dict(masks=[evil.cpu_set((2,), 2)])), ("its tally", dict(end=b""))):
            with self.subTest(says=says):
                self.assertIn("evil.wl@0x", self.run_it(one, status=3, says=says, **kw)[2])
        for says, tasks in (("a wake names no counter", [task([wake(0)])]), ("a sleep is missing", [task([op(SLEEP, 0)])]), ("operation of unknown kind", [task([op(29)])]),
                            ("a fork names no unborn task", [task([evil.fork(0)])]), ("an impossible task", [task([op(RUN)], cpu=2)]),
                            ("a task's priority", [task([op(RUN)], prio=140)]), ("an impossible priority", [task([op(RENICE, value=140 << 8)])]), ("an impossible run", [task([op(RUN, value=1 << 60)])])):
            with self.subTest(says=says):
                self.assertIn("evil.wl@0x", self.run_it(tasks, status=3, says=says)[2])

    def test_bombs(self):
        for size in (1 << 30, 1 << 40):
            self.attack(evil.saved(b"\0" * (1 << 20), size=size), "simulate", status=3, says="evil.wl@0x", name="evil.wl")
        self.attack(evil.saved(b"\0" * (100 << 20)), "simulate", status=3, says="impossible window", name="evil.wl")

    def test_large_machines(self):
        """4096 CPUs: power savings look at groups, not at all CPUs of all groups for each CPU."""
        for more in ((), ("--power-savings", "mc=2,smt=2")):
            self.run_it([task([op(RUN, value=100 * MS)], cpu=i) for i in range(4)], cores=2048, threads=2,
                        command=("simulate", "--seeds", "1", "--jobs", "1", "--no-sensitivity", *more))


class Traces(Attack):
    """Records that contradict each other, or say too little: tapes that are sound all the same, from the trace and saved."""

    def run_it(self, trace):
        self.attack(trace.text().encode(), "simulate", "--seeds", "1", status=0, name="t.txt")
        out = self.attack(None, "workload", "--save", self.path("saved.wl"), self.path("t.txt"), status=0)[1]
        self.attack(None, "simulate", "--seeds", "1", self.path("saved.wl"), status=0)
        return out

    def test_a_task_of_unknown_place(self):
        self.run_it(Ftrace().wake(3, 1, "<idle>", 0, "x", 37, 3, "sched_wakeup"))
        self.run_it(Ftrace().wake(1, 1, "<idle>", 0, "x", 37, 2).wake(1, 9, "<idle>", 0, "x", 37, 2, "sched_wakeup"))

    def test_priorities(self):
        for prio in (140, 200):
            t = stacked()
            t.add(0, 1006000, "<idle>", 0, "sched_waking: comm=wakee pid=101 prio=%d target_cpu=000" % prio)
            t.add(0, 1006010, "<idle>", 0, "sched_switch: prev_comm=swapper/0 prev_pid=0 prev_prio=120 prev_state=R ==> next_comm=wakee next_pid=101 next_prio=%d" % prio)
            self.run_it(t)

    def test_born_around_the_start(self):
        """Forked before the window, first woken in it."""
        t = Ftrace().add(0, 15, "<idle>", 0, "sched_process_fork: comm=swapper/0 pid=0 child_comm=child child_pid=33")
        self.run_it(t.wake(1, 2218, "mother", 15, "child", 33, 2, "sched_wakeup_new"))

    def test_born_while_alive(self):
        t = Ftrace().switch(0, 10, "swapper/0", 0, "R", "mother", 5)
        for us in (20, 40, 60):
            t.add(0, us, "mother", 5, "sched_process_fork: comm=mother pid=5 child_comm=mother child_pid=6")
            t.wake(0, us + 1, "mother", 5, "mother", 6, 1, "sched_wakeup_new")
            t.switch(1, us + 5, "swapper/1", 0, "R", "mother", 6)
            t.switch(1, us + 9, "mother", 6, "S", "swapper/1", 0)
        self.run_it(t)
        t = stacked()
        t.wake(0, 1001010, "waker", 100, "wakee", 101, 0, "sched_wakeup_new").wake(0, 1001020, "waker", 100, "waker", 100, 0, "sched_wakeup_new")
        self.run_it(t)


class Targets(Attack):
    """What --save is pointed at."""

    def save(self, path, trace=HACKBENCH, **kw):
        return self.attack(None, "workload", "--save", path, "-o", "/dev/null", trace, **kw)

    def test_the_trace_itself(self):
        own, link = self.path("own.dat"), self.path("link.dat")
        shutil.copy(HACKBENCH, own)
        os.symlink("own.dat", link)
        for path in (own, link):
            self.save(path, own, status=2, says="is the trace itself")
        with open(own, "rb") as a, open(HACKBENCH, "rb") as b:
            self.assertEqual(a.read(), b.read())

    def test_what_is_no_file(self):
        whole, fifo, link = self.path("whole"), self.path("fifo"), self.path("link")
        self.save(whole, status=0)
        with open(whole, "rb") as f:
            expected = f.read()
        os.mkfifo(fifo)
        reader = subprocess.Popen(["cat", fifo], stdout=subprocess.PIPE)
        self.addCleanup(reader.kill)
        self.save(fifo, status=0)
        self.assertEqual(reader.communicate(timeout=30)[0], expected)
        self.assertTrue(stat.S_ISFIFO(os.stat(fifo).st_mode))
        os.symlink("target", link)
        self.save(self.path("target"), status=0)
        self.save(link, status=0)
        self.assertTrue(os.path.islink(link))
        self.save(self.dir, status=1, says="Is a directory")
        self.assertEqual(sorted(os.listdir(self.dir)), ["fifo", "link", "target", "whole"])

    def test_devices(self):
        full = self.path("full")
        try:
            os.mknod(full, 0o666 | stat.S_IFCHR, os.makedev(1, 7))
            open(full, "wb").close()
        except PermissionError:
            self.skipTest("no devices may be made here")
        self.save(full, status=1, says="No space left")
        self.assertTrue(stat.S_ISCHR(os.stat(full).st_mode))


if __name__ == "__main__":
    unittest.main()
