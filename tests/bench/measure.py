# SPDX-License-Identifier: GPL-2.0-or-later
"""Shared by the benchmarks: where the programs are, and one run of one of them."""
import os
import subprocess
import sys
import time

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
O = os.path.join(ROOT, os.environ.get("O", "build"))
WAKEIF = os.path.join(O, "wakeif")


class Run:
    def __init__(self, argv):
        start = time.monotonic()
        with open(os.devnull, "r+b") as null:
            p = subprocess.Popen(argv, stdin=null, stdout=null, stderr=subprocess.PIPE)
            err = p.stderr.read()
            _, status, usage = os.wait4(p.pid, 0)
            p.returncode = os.waitstatus_to_exitcode(status)
        if p.returncode:
            sys.exit("%s: status %d: %s" % (" ".join(argv), p.returncode, err.decode("utf-8", "replace")))
        self.user_s, self.cpu_s = usage.ru_utime, usage.ru_utime + usage.ru_stime
        self.peak_mb, self.wall_s = usage.ru_maxrss * 1024 / 1e6, time.monotonic() - start
