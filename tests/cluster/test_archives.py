#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""samples/cluster under Slurm and under GNU parallel: the database of one machine, whatever fails on the way."""
import os
import re
import shutil
import signal
import subprocess
import sys
import time
import unittest

sys.path.insert(0, os.path.join(os.path.dirname(os.path.dirname(os.path.abspath(__file__))), "cli"))
import archive
from cli import ROOT, SAMPLES, WAKEIF, sample_traces
from one_machine import Slurm, SshHosts, Unavailable, program

SCRIPTS = os.path.join(ROOT, "samples", "cluster")
TRACES = 120
SHARDS = 5
DIFF = ("diff", "--json", "--a", "group=a", "--b", "group=b")
TREND = ("trend", "--json", "--metric", "latency.wakeup.p99_ns", "--by", "group")
OPTIONS = ("-q", "--topology", archive.TOPOLOGY, "--tag", "group=/([ab])/")
DOC = os.path.join(ROOT, "doc", "cluster.md")
DEAD_HOST = "127.0.0.99"  # no sshd listens there


def processes_with(variables):
    """Processes of this user whose environment has all of these, and their parents: {pid: parent}."""
    found = {}
    for name in filter(str.isdigit, os.listdir("/proc")):
        try:
            with open("/proc/%s/environ" % name, "rb") as f:
                have = set(f.read().decode("utf-8", "replace").split("\0"))
            with open("/proc/%s/stat" % name, encoding="utf-8", errors="replace") as f:
                parent = int(f.read().rpartition(")")[2].split()[1])
        except OSError:
            continue
        if set("%s=%s" % v for v in variables.items()) <= have:
            found[int(name)] = parent
    return found


def kill(pids):
    for pid in pids:
        try:
            os.kill(pid, signal.SIGKILL)
        except ProcessLookupError:
            pass


def example(heading):
    """The commands of the first block below a heading of the document."""
    with open(DOC, encoding="utf-8") as f:
        section = f.read().partition("\n## %s\n" % heading)[2]
    return re.search(r"^```sh\n(.*?)^```$", section, re.M | re.S).group(1)


class OnCluster(archive.ArchiveCase):
    kind = None

    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        if cls.kind is None:
            raise unittest.SkipTest("shared by the others")
        try:
            cls.cluster = cls.kind()
        except Unavailable as e:
            raise unittest.SkipTest(str(e))
        cls.addClassCleanup(cls.cluster.stop)
        cls.made = os.path.join(archive.O, "tests", "cluster.%d" % os.getpid())
        cls.addClassCleanup(shutil.rmtree, cls.made, True)
        for i, group in enumerate("ab"):
            archive.generate(os.path.join(cls.made, group), TRACES // 2, 1500, 1 + 1000 * i)
        with open(os.path.join(cls.made, "b", "cut.dat"), "wb") as f, open(os.path.join(SAMPLES, "smt8-lost.dat"), "rb") as whole:
            f.write(whole.read()[:100000])

    def setUp(self):
        super().setUp()
        paths = archive.files_below(self.made) + sample_traces()
        self.random.shuffle(paths)
        self.list = self.list_of("list", paths)
        self.whole = self.batch(self.path("whole.db"), *OPTIONS[3:], "--files-from", self.list)
        self.out = self.path("out.db")
        # A user's shard writes on the machine's own disk.
        os.mkdir(self.path("own"))
        self.env = {**os.environ, "WAKEIF": WAKEIF, "TMPDIR": self.path("own")}

    def run_example(self, heading, **env):
        """As a user gives it: traces and samples below the folder, wakeif in the path, and whatever the database is called there."""
        shutil.copytree(self.made, self.path("traces"))
        os.symlink(os.path.join(ROOT, "samples"), self.path("samples"))
        commands = example(heading)
        self.assertIn(" results.db", commands)
        env = {**self.env, "WAKEIF": "wakeif", "PATH": archive.O + os.pathsep + os.environ["PATH"], **env}
        p = subprocess.run(["sh", "-e", "-c", commands], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE, cwd=self.dir, env=env,
                           timeout=300)
        self.assertEqual(p.returncode, 0, p.stderr.decode("utf-8", "replace"))
        return p.stdout.decode("utf-8", "replace")

    def assert_example(self):
        """The outcome is that of one machine for the same list and options."""
        env = {**os.environ, "PATH": archive.O + os.pathsep + os.environ["PATH"]}
        subprocess.run(["wakeif", "batch", "-q", "--files-from", "list.txt", "-m", "linux-6.1", "-o", "one.db"], check=True, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, cwd=self.dir, env=env)
        self.assert_whole(self.path("results.db"))
        self.assert_same(self.path("results.db"), self.path("one.db"))

    def part(self, k):
        return "%s.parts/part-%d-of-%d.db" % (self.out, k, SHARDS)

    def await_true(self, what, ready, timeout_s=60):
        end = time.monotonic() + timeout_s
        while not ready():
            self.assertLess(time.monotonic(), end, what)
            time.sleep(0.02)

    def assert_finished(self):
        self.assert_whole(self.out)
        self.assert_same(self.out, self.whole, DIFF, TREND)
        self.assertEqual(os.listdir(self.path("own")), [])
        left = [n for n in os.listdir(self.out + ".parts") + os.listdir(self.dir) if n.startswith(".")]
        self.assertEqual(left, [])


class UnderSlurm(OnCluster):
    kind = Slurm

    def submit(self):
        """Ids of the array and of the merging job."""
        p = subprocess.run([os.path.join(SCRIPTS, "slurm-array.sh"), self.list, self.out, str(SHARDS), *OPTIONS], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                           stderr=subprocess.PIPE, env={**self.env, **self.cluster.env}, cwd=self.dir, timeout=60)
        self.assertEqual(p.returncode, 0, p.stderr)
        return p.stdout.decode().split()

    def test_example(self):
        self.out = self.path("results.db")
        array, merge = self.run_example("Slurm", **self.cluster.env).split()
        self.assertEqual(self.cluster.await_jobs(merge), [("COMPLETED", "0:0")], self.logs())
        self.assertEqual(self.cluster.jobs(array), [("COMPLETED", "0:0")] * 16)
        self.assert_example()

    def logs(self):
        text = ""
        for name in sorted(os.listdir(self.out + ".parts")):
            if name.endswith(".log"):
                with open(os.path.join(self.out + ".parts", name), encoding="utf-8", errors="replace") as f:
                    text += "%s: %s\n" % (name, f.read()[-1000:])
        return text

    def assert_ends_well(self, array, merge):
        self.assertEqual(self.cluster.await_jobs(merge), [("COMPLETED", "0:0")], self.logs())
        self.assertEqual(self.cluster.jobs(array), [("COMPLETED", "0:0")] * SHARDS, self.logs())
        self.assert_finished()

    def await_shard(self, nodes=("n1", "n2")):
        """Waits for a wakeif that runs on one of these nodes: (the processes of that node's jobs and their parents, node)."""
        end = time.monotonic() + 60
        while True:
            self.assertLess(time.monotonic(), end, "no shard runs")
            for node in nodes:
                found = processes_with({"SLURM_CONF": self.cluster.env["SLURM_CONF"], "SLURMD_NODENAME": node, "SLURM_JOB_NAME": "wakeif-shard"})
                for pid in found:
                    try:
                        if os.readlink("/proc/%d/exe" % pid) == os.path.realpath(WAKEIF):
                            return found, node
                    except OSError:
                        pass
            time.sleep(0.01)

    def test_same_as_one_machine(self):
        array, merge = self.submit()
        self.assert_ends_well(array, merge)
        # Once more: nothing to do, the same outcome.
        self.assert_ends_well(*self.submit())

    def test_killed_shard(self):
        """kill -9 of all of a shard's processes: the merge is not run; the same command again does what is missing."""
        array, merge = self.submit()
        found, _ = self.await_shard()
        kill(found)
        states = self.cluster.await_jobs(array)
        self.assertIn("FAILED", [state for state, _ in states])
        self.assertEqual([state for state, _ in self.cluster.await_jobs(merge)], ["CANCELLED"])
        self.assertFalse(os.path.exists(self.out))
        shutil.rmtree(self.path("own"))  # a killed job tidies nothing
        os.mkdir(self.path("own"))
        self.assert_ends_well(*self.submit())

    def test_told_to_stop(self):
        """scancel --signal as at a time limit: the shard puts away what it has and fails; again: the rest."""
        array, merge = self.submit()
        self.await_shard()
        time.sleep(0.2)
        for job in self.running(array):
            self.cluster.call("scancel", "--signal=TERM", "--batch", job, check=False)  # one may just have ended
        self.assertIn("FAILED", [state for state, _ in self.cluster.await_jobs(array)])
        self.cluster.await_jobs(merge)
        kept = [k for k in range(1, SHARDS + 1) if os.path.exists(self.part(k))]
        for k in kept:
            self.assert_whole(self.part(k))
        self.assertTrue(kept)
        self.assert_ends_well(*self.submit())

    def test_requeued(self):
        """A job that the scheduler puts back into the queue while it runs."""
        array, merge = self.submit()
        self.await_shard()
        running = self.running(array)
        self.assertTrue(running)
        self.cluster.call("scontrol", "requeue", running[0])
        # A requeued job waits for a while; an operator may hurry it.
        self.await_true("the job waits again", lambda: self.hurry(array), 120)
        self.assertEqual(self.cluster.await_jobs(merge, 300), [("COMPLETED", "0:0")], self.logs())
        self.assert_finished()

    def running(self, array):
        return self.cluster.call("squeue", "-h", "-r", "-t", "RUNNING", "-j", array, "-o", "%i", check=False).split()

    def hurry(self, array):
        waiting = self.cluster.call("squeue", "-h", "-r", "-t", "PENDING", "-j", array, "-o", "%i", check=False).split()
        for job in waiting:
            self.cluster.call("scontrol", "update", "JobId=" + job, "StartTime=now", check=False)
        return not waiting

    def test_lost_node(self):
        """A node's daemon and all of its jobs vanish: the controller notices and starts the shard on the other one."""
        array, merge = self.submit()
        found, node = self.await_shard()
        daemon = dict(self.cluster.children)["slurmd-" + node]
        # The daemon and the job's keeper first, so that nobody reports how the job ended.
        kill([daemon.pid, *(set(found.values()) - set(found)), *found])
        daemon.wait()
        try:
            self.await_true("the node is down", lambda: "down" in self.cluster.call("sinfo", "-h", "-n", node, "-o", "%T"), 90)
            self.await_true("the job waits no more", lambda: self.hurry(array), 180)
            self.assertEqual(self.cluster.await_jobs(merge, 300), [("COMPLETED", "0:0")], self.logs())
            shutil.rmtree(self.path("own"))
            os.mkdir(self.path("own"))
            self.assert_finished()
        finally:
            self.cluster.restart_node(node)


class UnderParallel(OnCluster):
    kind = SshHosts

    def setUp(self):
        super().setUp()
        try:
            program("parallel")
        except Unavailable as e:
            self.skipTest(str(e))

    def start(self, hosts):
        return subprocess.Popen([os.path.join(SCRIPTS, "parallel-ssh.sh"), self.list, self.out, str(SHARDS), ",".join(hosts), *OPTIONS], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                                stderr=subprocess.STDOUT, env={**self.env, "PARALLEL_SSH": self.cluster.ssh, "PARALLEL_HOME": self.path("parallel")}, cwd=self.dir, start_new_session=True)

    def assert_ends_well(self, p):
        out = p.communicate(timeout=300)[0].decode("utf-8", "replace")
        self.assertEqual(p.returncode, 0, out)
        self.assert_finished()
        with open(self.out + ".parts/joblog", encoding="utf-8") as f:
            return [line.split("\t") for line in f.read().splitlines()[1:]]

    def test_same_as_one_machine(self):
        log = self.assert_ends_well(self.start(self.cluster.hosts))
        self.assertEqual({row[1] for row in log}, set(self.cluster.hosts))
        self.assert_ends_well(self.start(self.cluster.hosts))

    def test_example(self):
        # A login over ssh has a path of its own.
        self.run_example("GNU parallel and ssh", WAKEIF=WAKEIF, PARALLEL_SSH=self.cluster.ssh, PARALLEL_HOME=self.path("parallel"))
        self.assert_example()

    def test_example_without(self):
        self.run_example("Any other scheduler, or none")
        self.assert_example()

    def test_dead_host(self):
        self.assert_ends_well(self.start([self.cluster.hosts[0], DEAD_HOST]))

    def test_killed_shard(self):
        """A shard that is killed is tried again in the same run."""
        p = self.start(self.cluster.hosts)
        self.await_true("a wakeif runs", lambda: self.shards())
        kill(self.shards())
        self.assert_ends_well(p)

    def shards(self):
        """Processes that work on this test's list: the parents of workers and workers."""
        found = []
        for name in filter(str.isdigit, os.listdir("/proc")):
            try:
                with open("/proc/%s/cmdline" % name, "rb") as f:
                    words = f.read().decode("utf-8", "replace").split("\0")
            except OSError:
                continue
            if words[:2] == [WAKEIF, "batch"] and self.list in words:
                found.append(int(name))
        return found

    def test_given_up(self):
        """The whole command is killed; again: the rest."""
        p = self.start(self.cluster.hosts)
        self.await_true("a wakeif runs", lambda: self.shards())
        os.killpg(p.pid, signal.SIGKILL)
        p.communicate()
        self.assertFalse(os.path.exists(self.out))
        self.await_true("no shard works for nobody", lambda: not self.shards(), 60)
        shutil.rmtree(self.path("own"))
        os.mkdir(self.path("own"))
        self.assert_ends_well(self.start(self.cluster.hosts))

    def test_missing_file(self):
        """What the list names and no machine finds is no silence: the shards fail, the rest is done, nothing is merged."""
        with open(self.list, "a", encoding="utf-8") as f:
            f.write(self.path("gone.dat") + "\n")
        p = self.start(self.cluster.hosts)
        out = p.communicate(timeout=300)[0].decode("utf-8", "replace")
        self.assertNotEqual(p.returncode, 0)
        self.assertIn("cannot be read on", out)
        self.assertFalse(os.path.exists(self.out))
        self.write("gone.dat", "")  # now there is something, which is no trace
        self.assert_ends_well(self.start(self.cluster.hosts))

    def test_missing_part(self):
        """A merge of less than all parts is refused."""
        self.assert_ends_well(self.start(self.cluster.hosts))
        os.unlink(self.part(3))
        p = subprocess.run([os.path.join(SCRIPTS, "merge.sh"), str(SHARDS), self.out + ".parts", self.out], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                           stderr=subprocess.PIPE, env=self.env, cwd=self.dir, timeout=60)
        self.assertEqual(p.returncode, 1)
        self.assertIn("part-3-of-5.db is missing", p.stderr.decode())
        self.assert_whole(self.out)


if __name__ == "__main__":
    unittest.main()
