#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""The clusters of one machine do what the tests of archives need of them: arrays, dependencies, requeues; several hosts, one file system."""
import os
import subprocess
import unittest

from one_machine import Slurm, SshHosts, Unavailable, program


def started(kind):
    try:
        return kind()
    except Unavailable as e:
        raise unittest.SkipTest(str(e))


class SlurmMachinery(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.slurm = started(Slurm)
        cls.addClassCleanup(cls.slurm.stop)

    def submit(self, name, text, *args):
        return self.slurm.call("sbatch", "--parsable", "-o", self.slurm.path(name + "-%A_%a.out"), *args, self.slurm.write(name + ".sh", "#!/bin/sh\n" + text),
                               cwd=self.slurm.dir).strip()

    def test_array_then_dependent_job(self):
        array = self.submit("part", 'echo "$SLURM_ARRAY_TASK_ID of $SLURM_ARRAY_TASK_COUNT on $SLURMD_NODENAME" > got-$SLURM_ARRAY_TASK_ID\nsleep 1\n', "--array=1-4")
        last = self.submit("last", "cat got-* > all\n", "--dependency=afterok:" + array)
        self.assertEqual(self.slurm.await_jobs(last), [("COMPLETED", "0:0")])
        self.assertEqual(self.slurm.jobs(array), [("COMPLETED", "0:0")] * 4)
        with open(self.slurm.path("all"), encoding="utf-8") as f:
            words = [line.split() for line in f]
        self.assertEqual([(w[0], w[2]) for w in words], [(str(k), "4") for k in range(1, 5)])
        self.assertEqual({w[4] for w in words}, {"n1", "n2"})

    def test_dependent_job_is_not_run_after_failure(self):
        array = self.submit("bad", 'exit $((SLURM_ARRAY_TASK_ID == 2))\n', "--array=1-3")
        last = self.submit("never", "touch reached\n", "--dependency=afterok:" + array, "--kill-on-invalid-dep=yes")
        self.assertEqual(sorted(self.slurm.await_jobs(array)), [("COMPLETED", "0:0")] * 2 + [("FAILED", "1:0")])
        self.assertEqual([state for state, _ in self.slurm.await_jobs(last)], ["CANCELLED"])
        self.assertFalse(os.path.exists(self.slurm.path("reached")))


class SshMachinery(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.hosts = started(SshHosts)
        cls.addClassCleanup(cls.hosts.stop)

    def test_parallel_on_hosts(self):
        try:
            parallel = program("parallel")
        except Unavailable as e:
            self.skipTest(str(e))
        p = subprocess.run([parallel, "--will-cite", "--ssh", self.hosts.ssh, "-S", ",".join("1/" + h for h in self.hosts.hosts), "--workdir", self.hosts.dir,
                            "sleep 1; echo {} $SSH_CONNECTION $PWD", ":::", *"1234"], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE, timeout=60,
                           env={**os.environ, "PARALLEL_HOME": self.hosts.dir})
        self.assertEqual(p.returncode, 0, p.stderr)
        words = [line.split() for line in p.stdout.decode().splitlines()]
        self.assertEqual(sorted(w[0] for w in words), list("1234"))
        self.assertEqual({w[3] for w in words}, set(self.hosts.hosts))
        self.assertEqual({w[5] for w in words}, {self.hosts.dir})


if __name__ == "__main__":
    unittest.main()
