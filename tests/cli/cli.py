# SPDX-License-Identifier: GPL-2.0-or-later
"""Shared by the tests of the command line: running wakeif, samples, small traces written by hand."""
import csv
import io
import json
import os
import shutil
import subprocess
import tempfile
import unittest

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
O = os.path.join(ROOT, os.environ.get("O", "build"))
WAKEIF = os.path.join(O, "wakeif")
SHARED = os.path.join(ROOT, os.environ.get("WAKEIF_SHARED", "../shared"))
SAMPLES = os.path.join(ROOT, "samples")
SCHBENCH = os.path.join(SAMPLES, "smt8-schbench.dat")
NUMA = os.path.join(SAMPLES, "numa16-mix.dat")
SMT2 = "pack:1 l3:1 core:2 pu:2"


def sample_traces():
    found = []
    for name in sorted(os.listdir(SAMPLES)):
        if name.endswith((".dat", ".dat.gz", ".dat.zst", ".dat.xz", ".txt", ".txt.gz", ".html")):
            found.append(os.path.join(SAMPLES, name))
    return found


class Cli(unittest.TestCase):
    maxDiff = 4000

    def setUp(self):
        self.dir = tempfile.mkdtemp(prefix="wakeif-cli-")
        self.addCleanup(shutil.rmtree, self.dir, True)

    def path(self, name):
        return os.path.join(self.dir, name)

    def write(self, name, data):
        mode = "wb" if isinstance(data, bytes) else "w"
        with open(self.path(name), mode) as f:
            f.write(data)
        return self.path(name)

    def program_for_all(self):
        """The program may lie where an unprivileged user cannot reach it: a copy in the test's own folder, which is opened."""
        path = self.path("wakeif")
        if not os.path.exists(path):
            os.chmod(self.dir, 0o755)
            shutil.copyfile(WAKEIF, path)
            os.chmod(path, 0o755)
        return path

    def run_raw(self, *args, stdin=b"", cwd=None, user=None, env=None):
        """(status, stdout, stderr) as bytes"""
        argv = [WAKEIF, *args]
        if user is not None and os.geteuid() == 0:
            argv = ["setpriv", "--reuid=%s" % user, "--regid=nogroup", "--clear-groups", self.program_for_all(), *args]
        p = subprocess.run(argv, input=stdin, stdout=subprocess.PIPE, stderr=subprocess.PIPE, cwd=cwd or self.dir, timeout=120,
                           env={**os.environ, **(env or {})})
        return p.returncode, p.stdout, p.stderr

    def run_text(self, *args, **kw):
        status, out, err = self.run_raw(*args, **kw)
        return status, out.decode("utf-8", "surrogateescape"), err.decode("utf-8", "surrogateescape")

    def ok(self, *args, **kw):
        """stdout of a run that must end well"""
        status, out, err = self.run_text(*args, **kw)
        self.assertEqual(status, 0, "%s: status %d: %s" % (" ".join(args), status, err))
        return out

    def fails(self, status, *args, **kw):
        """stderr of a run that must end with this status, one line naming wakeif"""
        got, out, err = self.run_text(*args, **kw)
        self.assertEqual(got, status, "%s: %s%s" % (" ".join(args), out[:300], err))
        return err

    def refused(self, status, *args, **kw):
        """The same, and nothing but one line on stderr."""
        got, out, err = self.run_text(*args, **kw)
        self.assertEqual(got, status, "%s: %s%s" % (" ".join(args), out[:300], err))
        self.assertEqual(len(err.splitlines()), 1, err)
        self.assertTrue(err.startswith("wakeif: "), err)
        return err

    def json(self, *args, **kw):
        return json.loads(self.ok("report", "--json", *args, **kw))

    def rows(self, *args, **kw):
        """CSV as a list of dictionaries; every row must be as long as the header."""
        return parse_csv(self, self.ok(*args, **kw))


def parse_csv(test, text):
    lines = list(csv.reader(io.StringIO(text, newline=""), strict=True))
    for line in lines:
        test.assertEqual(len(line), len(lines[0]), line)
    return [dict(zip(lines[0], line)) for line in lines[1:]]


class Ftrace:
    """Writes ftrace text: what one CPU after another did."""

    def __init__(self):
        self.lines = ["# tracer: nop", "#", "# entries-in-buffer/entries-written: 1/1   #P:4", "#"]

    def add(self, cpu, us, comm, pid, event, flags="d..."):
        self.lines.append("%16s-%-7d [%03d] %s %d.%06d: %s" % (comm, pid, cpu, flags, us // 1000000, us % 1000000, event))
        return self

    def switch(self, cpu, us, prev, prev_pid, state, nxt, next_pid):
        shown = "<idle>" if prev_pid == 0 else prev
        return self.add(cpu, us, shown, prev_pid, "sched_switch: prev_comm=%s prev_pid=%d prev_prio=120 prev_state=%s ==> "
                        "next_comm=%s next_pid=%d next_prio=120" % (prev, prev_pid, state, nxt, next_pid))

    def wake(self, cpu, us, waker, waker_pid, comm, pid, target, kind="sched_waking"):
        shown = "<idle>" if waker_pid == 0 else waker
        return self.add(cpu, us, shown, waker_pid, "%s: comm=%s pid=%d prio=120 target_cpu=%03d" % (kind, comm, pid, target))

    def text(self):
        return "\n".join(self.lines) + "\n"


def stacked(comm="wakee", waker="waker"):
    """CPU 0 runs the waker, which wakes a task that queues behind it for 4 ms although CPUs 1 to 3 idle all the time."""
    t = Ftrace()
    for cpu in (1, 2, 3):
        t.switch(cpu, 1000000 + cpu, "other", 90 + cpu, "S", "swapper/%d" % cpu, 0)
    t.switch(0, 1000010, "swapper/0", 0, "R", comm, 101)
    t.switch(0, 1000100, comm, 101, "S", waker, 100)
    t.wake(0, 1001000, waker, 100, comm, 101, 0)
    t.wake(0, 1001005, waker, 100, comm, 101, 0, "sched_wakeup")
    t.switch(0, 1005000, waker, 100, "S", comm, 101)
    t.switch(0, 1005500, comm, 101, "S", "swapper/0", 0)
    for cpu in (1, 2, 3):
        t.switch(cpu, 1009000 + cpu, "swapper/%d" % cpu, 0, "R", "other", 90 + cpu)
    return t
