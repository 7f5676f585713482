#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""The test harness itself: what it counts, and that it cannot pass by running nothing."""
import os
import shutil
import signal
import subprocess
import tempfile
import time
import unittest

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))

GOOD = "import unittest\nclass T(unittest.TestCase):\n    def test_a(self): pass\n    def test_b(self): pass\n    def test_c(self): self.skipTest('no machine')\n"
BAD = "import unittest\nclass T(unittest.TestCase):\n    def test_a(self): self.assertEqual(1, 2)\n    def test_b(self): raise OSError\n    def test_c(self): pass\n"
PROGRAM = "print('SKIP nothing there')\nprint('3 passed, %d failed')\nraise SystemExit(%d)\n"
TAP = "#!/bin/sh\nprintf '1..3\\nok 1 - a\\n%s\\n'; exit %d\n"


class Harness(unittest.TestCase):
    def setUp(self):
        self.root = tempfile.mkdtemp(prefix="wakeif-harness-")
        self.addCleanup(shutil.rmtree, self.root, True)
        for folder in ("tests/cli", "tests/reference", "doc", "analyzer/base", "parsers", "obj/tests"):
            os.makedirs(os.path.join(self.root, folder))
        for name in ("tests/run.sh", "tests/run.py", "tests/pyrun.py", "tests/layers.py"):
            shutil.copy(os.path.join(ROOT, name), os.path.join(self.root, name))
        self.write("doc/layers.txt", "analyzer/base -\nparsers analyzer/base/err.h\n")
        self.write("analyzer/base/err.h", "")
        self.write("analyzer/base/hist.h", '#include "analyzer/base/err.h"\n')

    def write(self, name, text, mode=0o644):
        path = os.path.join(self.root, name)
        with open(path, "w") as f:
            f.write(text)
        os.chmod(path, mode)

    def run_all(self, **how):
        """(status, last line) of the harness on the fake tree; its object folder counts as instrumented, so nothing is built"""
        p = subprocess.run(["sh", "tests/run.sh", "check"], cwd=self.root, env={**os.environ, "O": "obj", "WAKEIF_INSTRUMENTED": "1"}, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                           **how)
        self.text = p.stdout.decode()
        return p.returncode, self.text.splitlines()[-1]

    def test_counts(self):
        self.write("tests/cli/test_good.py", GOOD)
        self.write("tests/cli/test_program.py", PROGRAM % (0, 0))
        self.write("obj/tests/test_unit", TAP % ("not ok 2 # SKIP b\\nok 3 - c", 0), 0o755)
        self.assertEqual(self.run_all(), (0, "8 passed, 0 failed, 3 skipped"))
        self.assertIn("no machine", self.text)

    def test_failures(self):
        self.write("tests/cli/test_bad.py", BAD)
        self.write("tests/cli/test_program.py", PROGRAM % (2, 1))
        self.write("obj/tests/test_unit", TAP % ("not ok 2 - b\\nok 3 - c", 1), 0o755)
        self.assertEqual(self.run_all(), (1, "7 passed, 5 failed, 1 skipped"))
        self.assertIn("AssertionError: 1 != 2", self.text)

    def test_crash_of_a_unit_program(self):
        self.write("obj/tests/test_unit", "#!/bin/sh\necho 1..3; echo 'ok 1 - a'; kill -SEGV $$\n", 0o755)
        status, last = self.run_all()
        self.assertEqual((status, last), (1, "2 passed, 2 failed"))

    def test_program_without_a_count(self):
        self.write("tests/cli/test_program.py", "print('all is well')\n")
        self.assertEqual(self.run_all(), (1, "1 passed, 1 failed"))

    def test_silent_failure(self):
        """A program that prints a good count and yet exits with an error."""
        self.write("tests/cli/test_program.py", PROGRAM % (0, 1))
        self.assertEqual(self.run_all()[0], 1)

    def test_signals_are_not_ignored(self):
        """As in the background of a script."""
        self.write("tests/cli/test_program.py", "import signal\nprint('1 passed, %d failed' % (signal.getsignal(signal.SIGINT) == signal.SIG_IGN))\n")
        self.assertEqual(self.run_all(preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_IGN)), (0, "2 passed, 0 failed"))

    def test_interrupt(self):
        """Nothing that was started stays behind."""
        self.write("obj/tests/test_unit", "#!/bin/sh\nsleep 61 & echo $! $$ > pids.new; mv pids.new pids; wait\n", 0o755)
        p = subprocess.Popen(["sh", "tests/run.sh", "check"], cwd=self.root, env={**os.environ, "O": "obj", "WAKEIF_INSTRUMENTED": "1"}, stdout=subprocess.DEVNULL)
        path = os.path.join(self.root, "pids")
        while not os.path.exists(path):
            self.assertIsNone(p.poll())
            time.sleep(0.05)
        p.send_signal(signal.SIGINT)
        self.assertEqual(p.wait(), 128 + signal.SIGINT)
        with open(path) as f:
            for pid in f.read().split():
                deadline = time.monotonic() + 60
                while self.alive(pid):
                    self.assertLess(time.monotonic(), deadline)
                    time.sleep(0.05)

    @staticmethod
    def alive(pid):
        try:
            with open("/proc/%s/stat" % pid) as f:
                return f.read().rpartition(")")[2].split()[0] not in ("Z", "X")
        except (FileNotFoundError, ProcessLookupError):
            return False

    def test_empty_fuzz_corpus(self):
        self.write("obj/tests/fuzz_x", "#!/bin/sh\nexit 0\n", 0o755)
        self.assertEqual(self.run_all(), (1, "1 passed, 1 failed"))
        os.makedirs(os.path.join(self.root, "tests/fuzz/corpus/x"))
        self.write("tests/fuzz/corpus/x/a", "a")
        self.assertEqual(self.run_all(), (0, "2 passed, 0 failed"))

    def test_layers(self):
        self.write("parsers/a.c", '#include "analyzer/base/err.h"\n')
        self.assertEqual(self.run_all()[0], 0)
        for text in ('#include "analyzer/base/hist.h"\n', ' # include "tests/x.h"\n', '#include "nowhere.h"\n'):
            self.write("parsers/b.c", text)
            self.assertEqual(self.run_all()[0], 1, text)
            self.assertIn("parsers/b.c:1:", self.text)
        os.unlink(os.path.join(self.root, "parsers/b.c"))
        self.write("analyzer/stray.c", '#include "analyzer/base/err.h"\n')
        self.assertEqual(self.run_all()[0], 1)


if __name__ == "__main__":
    unittest.main()
