#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""wakeif models, replay, compare and report --replay: what they say agrees with the report, and what they refuse."""
import csv
import io
import json
import os
import unittest

from cli import NUMA, SAMPLES, SCHBENCH, Cli, sample_traces

SETS = [["-m", "prev", "-m", "idle-core-first"], []]


class Replay(Cli):
    def replay(self, *args):
        return json.loads(self.ok("replay", "--json", "-q", *args))

    def test_what_happened_is_what_the_report_says(self):
        for path in sample_traces():
            with self.subTest(path=os.path.basename(path)):
                report, replay = self.json("-q", path), self.replay("-m", "prev", path)
                self.assertEqual(replay["window"], report["window"])
                for key in ("allowed", "policies", "throttle_suspected", "unused_cpus"):  # of the metrics
                    self.assertNotIn(key, replay["quality"])
                    report["quality"].pop(key)
                self.assertEqual(replay["quality"], report["quality"])
                happened, missed = replay["models"][0], report["missed_idle"]
                self.assertTrue(happened["happened"])
                self.assertEqual(replay["replay"]["decided"] + replay["replay"]["not_replayed"], missed["decided"])
                if replay["replay"]["not_replayed"]:
                    continue
                mine = happened["missed_idle"]
                self.assertEqual(mine["queued_on_busy"], missed["queued_on_busy"]["count"])
                for row, count in mine["nearest_idle"].items():
                    self.assertEqual(count, missed[row]["count"], row)
                for part in ("queued_while_idle_core", "half_busy_core"):
                    for scope, count in mine[part].items():
                        self.assertEqual(count, missed[part][scope]["count"], part + " " + scope)
                self.assertEqual(mine["stacked_on_waker"], missed["stacked_on_waker"]["count"])
                self.assertEqual(mine["prev_idle_elsewhere"], missed["prev_idle_elsewhere"]["count"])

    def test_core_scheduling(self):
        model = "linux-6.1,core-sched=on"
        for command in ("replay", "compare"):
            self.assertIn("needs cookies", self.fails(2, command, "-m", model, SCHBENCH))
            self.assertIn("--cookies", self.fails(2, command, "-m", model, "--cookies", self.write("bad", "x\n"), SCHBENCH))
        cookies = self.write("cookies", "msg comm sb-msg\nwork regex ^sb-work-\n")
        _, plain, on = self.replay("-m", "linux-6.1,history=own", "-m", model + ",history=own", "--cookies", cookies, SCHBENCH)["models"]
        count = lambda m, *rules: sum(m["rules"].get(r, {"count": 0})["count"] for r in rules)
        self.assertLess(count(on, "scan"), count(plain, "scan"))  # CPUs of other cookies are passed over
        self.assertGreater(count(on, "noidle", "budget"), count(plain, "noidle", "budget"))
        self.assertEqual(count(on, "target"), count(plain, "target"))  # no cookie is looked at there
        self.assertEqual(self.replay("-m", "linux-6.1", "--cookies", cookies, SCHBENCH), self.replay("-m", "linux-6.1", SCHBENCH))

    def test_sums(self):
        for models in SETS:
            d = self.replay(*models, SCHBENCH)
            decided = d["replay"]["decided"]
            self.assertGreater(decided, 5000)
            for m in d["models"]:
                with self.subTest(model=m["name"]):
                    e = m["est_wait"]
                    self.assertEqual(m["decided"], decided)
                    self.assertEqual(e["wait"]["count"] + e["censored"] + e["unknown"] + e["dropped"], decided)
                    self.assertEqual(m["missed_idle"]["chosen_idle"] + sum(m["missed_idle"]["nearest_idle"].values()), decided)
                    self.assertEqual(sum(m["moves"].values()), decided)
                    if m["happened"]:
                        continue
                    self.assertEqual(sum(m["disagree"].values()), decided - m["agree"]["cpu"])
                    self.assertEqual(sum(r["count"] for r in m["rules"].values()), decided)
                    self.assertEqual(sum(r["agree"] for r in m["rules"].values()), m["agree"]["cpu"])

    def test_baselines_do_what_they_say(self):
        for path in (SCHBENCH, NUMA):
            d = self.replay("-m", "prev", "-m", "idle-core-first", "-m", "llc-only", path)
            happened, prev, core, llc = d["models"]
            self.assertEqual(prev["moves"]["cpu"], prev["decided"])
            self.assertEqual(prev["agree"]["cpu"], happened["moves"]["cpu"])
            self.assertEqual(core["missed_idle"]["queued_on_busy"], core["missed_idle"]["nearest_idle"]["no_idle"])
            self.assertEqual(llc["moves"]["node"] + llc["moves"]["remote"], 0)

    def test_nobody_beats_the_oracle(self):
        """No policy waits less, in sum, than the one that knows what came after; where all waits are known."""
        names = ["oracle-lat", "prev", "waker", "prev-idle", "least-loaded", "idle-core-first", "linux-6.1", "scx-default", "nest"]
        compared = 0
        for path in sample_traces():
            rows = self.replay(*[a for n in names for a in ("-m", n)], path)["models"]
            waits = {r["name"]: r["est_wait"]["wait"] for r in rows if "wait" in r.get("est_wait", {})}
            oracle = waits["oracle-lat"]
            for name, wait in waits.items():
                if wait.get("count") == oracle.get("count") and oracle.get("count"):
                    self.assertGreaterEqual(wait["sum_ns"], oracle["sum_ns"], (os.path.basename(path), name))
                    compared += name != "oracle-lat"
        self.assertGreater(compared, 20)

    def test_kernel_model_agrees(self):
        d = self.replay(SCHBENCH)
        m = d["models"][1]
        self.assertTrue(m["of_kernel"])
        self.assertEqual(m["name"], "linux-6.1")
        self.assertGreater(m["agree"]["cpu_share"], 0.955)
        self.assertGreater(d["replay"]["sync"]["learned"]["votes"], 50)
        self.assertIn("history=observed", m["params"])

    def test_sync(self):
        share = {}
        for mode in ("never", "always", "learned"):
            d = self.replay("--sync", mode, SCHBENCH)
            share[mode] = d["models"][1]["agree"]["cpu"]
            asked = d["replay"]["sync"]["asked"]
            self.assertEqual(asked[mode], d["replay"]["decided"])
            self.assertEqual(d["replay"]["sync"]["set"], {"never": 0, "always": d["replay"]["decided"]}.get(mode, d["replay"]["sync"]["set"]))
        self.assertGreaterEqual(share["learned"], max(share["never"], share["always"]))

    def test_one_pass_or_many(self):
        """A model's row is the same whoever else is asked."""
        together = self.replay("-m", "pack", "-m", "random-idle", "-m", "least-loaded", SCHBENCH)["models"]
        for i, name in enumerate(("pack", "random-idle", "least-loaded")):
            self.assertEqual(self.replay("-m", name, SCHBENCH)["models"][1], together[i + 1])

    def test_seed(self):
        a, b, c = (self.replay("-m", "random-idle", "--seed", s, SCHBENCH)["models"][1] for s in ("1", "1", "2"))
        self.assertEqual(a, b)
        self.assertNotEqual(a["moves"], c["moves"])

    def test_history(self):
        d = self.replay("-m", "linux-6.1", "-m", "linux-6.1,history=own", "-m", "linux-auto", SCHBENCH)
        self.assertEqual([m["name"] for m in d["models"][1:]], ["linux-6.1", "linux-6.1,history=own"])
        d = self.replay("--history", "own", SCHBENCH)
        self.assertIn("history=own", d["models"][1]["params"])

    def test_csv(self):
        rows = list(csv.DictReader(io.StringIO(self.ok("replay", "--csv", "-m", "prev", SCHBENCH))))
        d = self.replay("-m", "prev", SCHBENCH)
        self.assertEqual([r["model"] for r in rows], ["what happened", "prev"])
        self.assertEqual(rows[0]["agree_cpu"], "")
        self.assertEqual(int(rows[1]["agree_cpu"]), d["models"][1]["agree"]["cpu"])
        self.assertEqual(int(rows[1]["est_wait_sum_ns"]), d["models"][1]["est_wait"]["wait"]["sum_ns"])
        self.assertEqual(sum(int(v) for k, v in rows[1].items() if k.startswith("differ_")), d["models"][1]["decided"] - d["models"][1]["agree"]["cpu"])

    def test_report_replay(self):
        plain, more = self.json(SCHBENCH), self.json("--replay", SCHBENCH)
        for key in ("verdict", "agreement"):
            self.assertNotIn(key, plain["wake_affine"])
            self.assertIn(key, more["wake_affine"])
            more["wake_affine"].pop(key)
        self.assertEqual(more.pop("search")["tries"], more["replay"]["decided"])
        self.assertEqual(more.pop("models"), self.replay(SCHBENCH)["models"])
        more.pop("replay")
        self.assertEqual(more, plain)
        text = self.ok("report", "--replay", SCHBENCH)
        self.assertTrue(text.startswith(self.ok("report", SCHBENCH)))
        self.assertIn("what wake_affine says by linux-6.1", text)
        self.fails(2, "report", "--replay", "--csv", SCHBENCH)
        self.fails(2, "report", "--replay", "-p", "1", SCHBENCH)

    def test_compare(self):
        text = self.ok("compare", "-m", "prev", "-m", "pack", "-m", "waker", "-m", "idle-core-first", SCHBENCH)
        for name in ("linux-6.1 (the recording's kernel)", "] prev", "] idle-core-first", "-kernel's", "est. wait p99"):
            self.assertIn(name, text)
        self.assertTrue(all(len(line) <= 120 for line in text.splitlines() if not line.startswith("WF_SYNC")))
        self.assertIn("estimated wait, placed by pack", self.ok("compare", "-m", "pack", "--hist", SCHBENCH))
        for engine in ("closed", "both"):
            self.assertIn("wakeif simulate", self.fails(2, "compare", "--engine", engine, SCHBENCH).splitlines()[0])
        self.fails(2, "compare", "--engine", "steam", SCHBENCH)

    def test_window(self):
        whole, part = self.replay("-m", "prev", SCHBENCH), self.replay("-m", "prev", "--time", "20%-40%", SCHBENCH)
        self.assertGreater(whole["replay"]["decided"], part["replay"]["decided"])
        self.assertEqual(part["replay"]["decided"], self.json("--time", "20%-40%", SCHBENCH)["missed_idle"]["decided"])

    def test_wrong_models(self):
        for spec, caret, words in (("lest-loaded", 0, "least-loaded"), ("linux-6.1,wf-snyc=vagin", 10, "wf-sync"), ("linux-6.1,wf-sync=vagn", 18, "vagin")):
            status, out, err = self.run_text("replay", "-m", spec, SCHBENCH)
            lines = err.splitlines()
            self.assertEqual((status, out), (2, ""))
            self.assertIn(words, lines[0])
            self.assertEqual(lines[1], "  -m " + spec)
            self.assertEqual(lines[2].index("^"), 5 + caret, err)
        for args in (("--sync", "maybe"), ("--history", ""), ("--seed", "-1"), ("--seed", "x")):
            self.fails(2, "replay", *args, SCHBENCH)
        self.fails(2, "replay", *["-m", "prev"] * 64, SCHBENCH)

    def test_no_decision(self):
        path = self.write("empty.txt", "# tracer: nop\n#\n  <idle>-0 [000] d..2. 1.000000: sched_switch: prev_comm=swapper/0 prev_pid=0 prev_prio=120 "
                                       "prev_state=R ==> next_comm=a next_pid=1 next_prio=120\n")
        self.assertIn("no decided wakeup", self.ok("replay", "-m", "prev", path))
        self.assertIn("no decided wakeup", self.ok("compare", "-m", "prev", path))
        self.assertEqual(self.replay("-m", "prev", path)["models"][1]["agree"]["decided"], 0)

    def test_models(self):
        text = self.ok("models")
        for name in ("linux-6.1", "prev", "linux-auto"):
            self.assertIn("\n" + name + " ", text)
        known = json.loads(self.ok("models", "--json"))["known_models"]
        for m in known:
            self.assertTrue(m["source"] and m["confidence"] and m["summary"])
            one = self.ok("models", m["name"])
            self.assertTrue(one.startswith(m["name"] + ": " + m["summary"]))
            for p in m["params"]:
                self.assertIn(p["name"], one)
                self.ok("replay", "-q", "-m", "%s,%s=%s" % (m["name"], p["name"], p["default"]), "--time", "0%-1%", SCHBENCH)
        self.assertIn("least-loaded", self.fails(2, "models", "lest-loaded"))
        self.fails(2, "models", "prev", "waker")

    def test_every_model_on_every_sample(self):
        names = [m["name"] for m in json.loads(self.ok("models", "--json"))["known_models"]]
        args = [a for n in names for a in ("-m", n)]
        for path in sample_traces():
            with self.subTest(path=os.path.basename(path)):
                status, out, err = self.run_text("replay", "--json", "-q", *args, path)
                self.assertIn(status, (0, 4), err)
                models = json.loads(out)["models"]
                self.assertEqual(len(models), len(names) + 1)
                for m in models[1:]:
                    self.assertEqual(m["unanswered"], 0, m["name"])

    def test_stdin(self):
        with open(SCHBENCH, "rb") as f:
            data = f.read()
        status, out, err = self.run_raw("replay", "--json", "-m", "prev", "--topology", os.path.join(SAMPLES, "smt8-schbench.topology.tar.gz"), "-", stdin=data)
        self.assertEqual(status, 0, err)
        self.assertGreater(json.loads(out)["replay"]["decided"], 5000)


if __name__ == "__main__":
    unittest.main()
