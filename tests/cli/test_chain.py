#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""The switch chain in text: what is written within a switch still carries the old pid and breaks nothing; a missing switch does."""
import json
import unittest

import cli

HEAD = "# tracer: nop\n#\n# entries-in-buffer/entries-written: 9/9   #P:2\n#\n"
SWITCH = "            %s [000] d..2.  %.6f: sched_switch: prev_comm=%s prev_pid=%d prev_prio=120 prev_state=S ==> next_comm=%s next_pid=%d next_prio=120\n"


class Chain(cli.Cli):
    def quality(self, *lines):
        path = self.write("t.txt", HEAD + "".join(lines))
        return json.loads(self.ok("report", "--json", "-q", path))["quality"]

    def test_records_within_a_switch(self):
        q = self.quality(SWITCH % ("a-10", 1.0, "a", 10, "b", 11), "            a-10 [000] d..2.  1.000001: hrtimer_start: hrtimer=ffff88813bc23a00 function=tick_sched_timer expires=2000000 softexpires=2000000 mode=ABS\n",
                         SWITCH % ("b-11", 1.001, "b", 11, "a", 10))
        self.assertEqual(q["chain_breaks"], 0)

    def test_missing_switch(self):
        q = self.quality(SWITCH % ("a-10", 1.0, "a", 10, "b", 11), SWITCH % ("c-12", 1.001, "c", 12, "a", 10))
        self.assertEqual(q["chain_breaks"], 1)

    def test_late_record_of_another_task(self):
        q = self.quality(SWITCH % ("a-10", 1.0, "a", 10, "b", 11), "            b-11 [000] ....  1.000001: sched_waking: comm=d pid=13 prio=120 target_cpu=001\n",
                         "            a-10 [000] d..2.  1.000002: hrtimer_start: hrtimer=ffff88813bc23a00 function=tick_sched_timer expires=2000000 softexpires=2000000 mode=ABS\n", SWITCH % ("b-11", 1.001, "b", 11, "a", 10))
        self.assertGreaterEqual(q["chain_breaks"], 1)


if __name__ == "__main__":
    unittest.main()
