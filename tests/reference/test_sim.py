#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""The closed loop's machine against one that does the same by brute force, event by event."""
import math
import os
import subprocess
import sys
import unittest

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import sim

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
DUMP = os.path.join(ROOT, os.environ.get("O", "build"), "tests", "sim_dump")
ROUNDS = 600 if os.environ.get("WAKEIF_FULL") else 120


def dump(seed):
    return subprocess.run([DUMP, str(seed)], stdout=subprocess.PIPE, check=True, timeout=60).stdout.decode()


class Machine(unittest.TestCase):
    def one(self, seed):
        text = dump(seed)
        machine = sim.Machine(text)
        want, got = ([e for e in events if e[0] < machine.tie_ns] for events in (machine.run(), sim.recorded(text)))
        for i, (a, b) in enumerate(zip(want, got)):
            self.assertEqual(a, b, "seed %d, event %d: reference %s, machine %s, after %s" % (seed, i, a, b, got[max(0, i - 6):i]))
        self.assertEqual(len(want), len(got))
        return len(got), machine.tie_ns < math.inf

    def test_event_by_event(self):
        runs = [self.one(seed) for seed in range(ROUNDS)]
        self.assertGreater(sum(events for events, _ in runs), 100 * ROUNDS)
        self.assertLess(sum(tie for _, tie in runs), ROUNDS // 10)

    def test_an_error_would_show(self):
        """A rule's number that is a little off changes some run."""
        for field, percent in (("wake_gran", 80), ("latency", 98), ("min_gran", 60)):
            differ = 0
            for seed in range(40):
                text = dump(seed)
                m = sim.Machine(text)
                setattr(m, field, getattr(m, field) * percent // 100)
                differ += m.run() != sim.recorded(text)
            self.assertGreater(differ, 0, field)


if __name__ == "__main__":
    unittest.main()
