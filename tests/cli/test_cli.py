#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""Commands, options, exit statuses, where input and topology come from."""
import gzip
import json
import os
import shutil
import stat
import subprocess
import unittest

from cli import NUMA, SAMPLES, SCHBENCH, SHARED, SMT2, WAKEIF, Cli, Ftrace, stacked

COMMANDS = ["report", "latency", "wakeups", "smt", "affine", "topology", "events", "record"]


class Commands(Cli):
    def test_nothing(self):
        err = self.fails(2)
        for c in COMMANDS:
            self.assertIn("  " + c, err)

    def test_help(self):
        texts = {self.ok(a) for a in ("help", "-h", "--help")}
        self.assertEqual(len(texts), 1)
        self.assertNotIn("record-exec", texts.pop())

    def test_help_of_each(self):
        for c in COMMANDS:
            with self.subTest(command=c):
                text = self.ok("help", c)
                self.assertEqual(text, self.ok(c, "-h"))
                self.assertEqual(text, self.ok(c, "--help"))
                self.assertIn("wakeif %s" % c, text)

    def test_version(self):
        self.assertRegex(self.ok("--version"), r"^wakeif \d+\.\d+\.\d+\n$")

    def test_nearest_name(self):
        self.assertIn("did you mean 'report'", self.refused(2, "repotr", SCHBENCH))
        self.assertIn("did you mean 'wakeups'", self.refused(2, "wakeup"))
        self.assertIn("wakeif help", self.refused(2, "xyzzyplugh"))
        self.assertIn("wakeif report ", self.refused(2, SCHBENCH))
        self.assertIn("unknown option", self.refused(2, "--json", SCHBENCH))

    def test_usage_errors(self):
        for args, word in ((["report", "--nonsense"], "nonsense"),
                           (["report", "a.dat", "b.dat"], "one trace at a time"),
                           (["report", "-i", "a.dat", "b.dat"], "one trace at a time"),
                           (["report", "--json", "--csv"], "exclude"),
                           (["report", "--time", "5"], "--time"),
                           (["report", "--time", "5,4"], "--time"),
                           (["report", "--time", "a,b"], "--time"),
                           (["report", "--time", "20%-10%"], "--time"),
                           (["report", "--time", "10%-200%"], "--time"),
                           (["report", "-C", "x"], "x"),
                           (["report", "-C", ""], "--cpu"),
                           (["report", "-p", "1,,2"], "--pid"),
                           (["report", "-p", "-1"], "--pid"),
                           (["report", "-p", "99999999"], "--pid"),
                           (["report", "--comm", "("], "--comm"),
                           (["report", "--max-spool", "many"], "--max-spool"),
                           (["report", "--max-spool", "0"], "--max-spool"),
                           (["report", "--max-spool", "99999999999999999999"], "--max-spool"),
                           (["report", "--reader", "best"], "--reader"),
                           (["report", "--quiet-cpus", "busy"], "--quiet-cpus"),
                           (["report", "--worst", "0"], "--worst"),
                           (["report", "--table", "none", "--csv"], "--table"),
                           (["report", "--table", "latency", SCHBENCH], "--csv"),
                           (["latency", "--by", "moon"], "--by"),
                           (["smt", "--by", "no-such-file", SCHBENCH], "--by"),
                           (["affine", "--by", "moon"], "--by"),
                           (["wakeups", "--missed", "moon"], "--missed"),
                           (["wakeups", "--missed", "core,"], "--missed"),
                           (["wakeups", "--class", "select,moon"], "--class"),
                           (["topology", "--capture"], "-o"),
                           (["events", "--csv", SCHBENCH], "--csv")):
            with self.subTest(args=args):
                err = self.fails(2, *args)
                self.assertIn(word, err)


class Input(Cli):
    def test_default_is_trace_dat(self):
        shutil.copy(SCHBENCH, self.path("trace.dat"))
        out = self.ok("events")
        self.assertEqual(out, self.ok("events", "-i", SCHBENCH))
        self.assertEqual(out, self.ok("events", SCHBENCH))

    def test_default_absent(self):
        self.assertIn("trace.dat", self.refused(1, "report"))

    def test_standard_input(self):
        with open(SCHBENCH, "rb") as f:
            data = f.read()
        piped = json.loads(self.ok("report", "--json", "--topology", "pack:1 l3:1 core:4 pu:2", "-", stdin=data))
        plain = self.json("--topology", "pack:1 l3:1 core:4 pu:2", SCHBENCH)
        for key in ("window", "events", "idle", "smt", "migrations"):
            self.assertEqual(piped[key], plain[key])

    def test_missing_file(self):
        self.assertIn("no-such.dat", self.refused(1, "report", "no-such.dat"))

    def test_empty_and_foreign_files(self):
        for name, data in (("empty.dat", b""), ("zero.dat", b"\0" * 4096), ("noise.dat", bytes(range(256)) * 64), ("text.txt", b"hello\n" * 100)):
            with self.subTest(name=name):
                for command in ("report", "events", "wakeups", "latency", "smt", "affine"):
                    self.assertIn(name, self.refused(3, command, self.write(name, data)))

    def test_no_scheduler_events(self):
        t = Ftrace()
        for i in range(50):
            t.add(i % 4, 1000 + i, "task", 10, "cpu_idle: state=1 cpu_id=%d" % (i % 4))
        self.assertIn("no scheduler events", self.refused(3, "report", self.write("t.txt", t.text())))

    def test_perf_data(self):
        self.assertIn("perf script", self.refused(3, "report", self.write("perf.data", b"PERFILE2" + b"\x68" + b"\0" * 300)))

    def test_cut_file(self):
        with open(SCHBENCH, "rb") as f:
            data = f.read()
        path = self.write("cut.dat", data[:len(data) * 9 // 10])
        status, out, err = self.run_text("report", "--json", "--topology", "pack:1 l3:1 core:4 pu:2", path)
        self.assertEqual(status, 4, err)
        self.assertRegex(err, r"^wakeif: .*cut\.dat@0x[0-9a-f]+: .*\n$")
        whole, cut = self.json(SCHBENCH), json.loads(out)
        self.assertTrue(cut["input"][0]["damaged"])
        self.assertTrue(cut["input"][0]["damage"])
        self.assertLess(cut["events"]["sched_switch"], whole["events"]["sched_switch"])
        status, out, err = self.run_text("report", "--topology", "pack:1 l3:1 core:4 pu:2", path)
        self.assertEqual(status, 4)
        self.assertIn("INPUT DAMAGED", out)

    def test_spool_limit(self):
        name = [n for n in os.listdir(SAMPLES) if n.endswith(".dat.gz")][0]
        self.assertIn("--max-spool", self.refused(1, "report", "--max-spool", "4K", os.path.join(SAMPLES, name)))

    def test_unreadable(self):
        path = self.write("secret.dat", b"x")
        os.chmod(path, 0)
        self.assertIn("secret.dat", self.refused(1, "report", path, user="nobody"))

    def test_perf_time_window(self):
        whole = self.json(SCHBENCH)["window"]
        start = whole["start_ns"] + 500000000
        stop = whole["start_ns"] + 1000000000
        text = "%d.%09d,%d.%09d" % (start // 10**9, start % 10**9, stop // 10**9, stop % 10**9)
        w = self.json("--time", text, SCHBENCH)["window"]
        self.assertEqual((w["start_ns"], w["end_ns"]), (start, stop))
        w = self.json("--time", text.split(",")[0] + ",", SCHBENCH)["window"]
        self.assertEqual((w["start_ns"], w["end_ns"]), (start, whole["end_ns"]))
        w = self.json("--time", "," + text.split(",")[1], SCHBENCH)["window"]
        self.assertEqual((w["start_ns"], w["end_ns"]), (whole["start_ns"], stop))

    def test_percent_window(self):
        whole = self.json(SCHBENCH)["window"]
        length = whole["end_ns"] - whole["start_ns"]
        for text, a, b in (("10%-30%", 0.1, 0.3), ("25%/2", 0.25, 0.5), ("50%", 0, 0.5)):
            w = self.json("--time", text, SCHBENCH)["window"]
            self.assertAlmostEqual(w["start_ns"], whole["start_ns"] + a * length, delta=2)
            self.assertAlmostEqual(w["end_ns"], whole["start_ns"] + b * length, delta=2)

    def test_windows_add_up(self):
        """Two windows that meet hold all the switches."""
        whole = self.json(SCHBENCH)
        middle = whole["window"]["start_ns"] + 700000001
        stamp = "%d.%09d" % divmod(middle, 10**9)
        after = "%d.%09d" % divmod(middle + 1, 10**9)
        a, b = self.json("--time", "," + stamp, SCHBENCH), self.json("--time", after + ",", SCHBENCH)
        for event in ("sched_switch", "sched_waking", "sched_wakeup"):
            self.assertEqual(a["events"][event] + b["events"][event], whole["events"][event])
        self.assertEqual(a["wakeups"]["total"] + b["wakeups"]["total"], whole["wakeups"]["total"])

    def test_window_outside(self):
        status, out, err = self.run_text("report", "--time", "1,2", SCHBENCH)
        self.assertEqual(status, 0)
        self.assertIn("no scheduler event in the window", err)


class Topology(Cli):
    def trace(self, name="t.txt"):
        return self.write(name, stacked().text())

    def test_fallback_is_loud(self):
        status, out, err = self.run_text("report", self.trace())
        self.assertEqual(status, 0)
        self.assertIn("NOTHING IS KNOWN OF THE MACHINE", " ".join(out.split()))
        self.assertIn("--topology", err)
        self.assertIn("fallback", self.json(self.trace())["topology"]["flags"])

    def test_side_files(self):
        trace = self.trace()
        self.write("t.topology.txt", "# lscpu -p\n# CPU,Core,Socket,Node,,L1d,L1i,L2,L3\n" + "".join("%d,%d,0,0,,%d,%d,%d,0\n" % (
            c, c // 2, c // 2, c // 2, c // 2) for c in range(4)))
        j = self.json(trace)
        self.assertEqual((j["topology"]["smt"], j["topology"]["nr_cores"]), (2, 2))
        self.assertIn("t.topology.txt", j["topology"]["source"])
        self.assertEqual(self.json("--topology", "core:4 pu:1", trace)["topology"]["smt"], 1)

    def test_files_of_the_folder(self):
        trace = self.trace()
        self.write("lscpu", "# CPU,Core,Socket,Node,,L1d,L1i,L2,L3\n" + "".join("%d,%d,0,0,,%d,%d,%d,0\n" % (c, *[c // 2] * 4) for c in range(4)))
        self.write("told", "tid\tpid\tcomm\tprio\tnice\tpolicy\trtprio\tcpu\tallowed\tcgroup\tautogroup\n101\t101\twakee\t120\t0\t0\t0\t0\t0\t/\t-\n")
        self.assertIn("fallback", self.json(trace, "--beside", "topology=none")["topology"]["flags"])
        j = self.json(trace, "--beside", "topology=lscpu", "--beside", "tasks=told")
        self.assertEqual(j["topology"]["smt"], 2)
        self.assertEqual(j["wakeups"]["by_class"]["pinned"], 1)
        self.write("t.topology", "# CPU,Core,Socket,Node,,L1d,L1i,L2,L3\n" + "".join("%d,%d,0,0,,%d,%d,%d,0\n" % ((c,) * 5) for c in range(4)))
        self.assertEqual(self.json(trace, "--beside", "topology=lscpu")["topology"]["smt"], 1, "the trace's own name goes first")
        for bad in ("lscpu", "topology=", "cpus=lscpu", "topology=/etc/passwd"):
            status, _, err = self.run_text("report", trace, "--beside", bad)
            self.assertEqual(status, 2)
            self.assertIn("--beside", err)

    def test_side_file_of_wrapped_trace(self):
        with gzip.open(self.path("t.txt.gz"), "wt") as f:
            f.write(stacked().text())
        with open(self.path("t.topology"), "w") as f:
            f.write("# CPU,Core,Socket,Node,,L1d,L1i,L2,L3\n0,0,0,0,,0,0,0,0\n1,0,0,0,,0,0,0,0\n2,1,0,0,,1,1,1,0\n3,1,0,0,,1,1,1,0\n")
        self.write("t.tasks", "tid\tpid\tcomm\tprio\tnice\tpolicy\trtprio\tcpu\tallowed\tcgroup\tautogroup\n101\t101\twakee\t120\t0\t0\t0\t0\t0\t/\t-\n")
        j = self.json(self.path("t.txt.gz"))
        self.assertEqual(j["topology"]["smt"], 2)
        self.assertEqual(j["wakeups"]["by_class"]["pinned"], 1)
        self.assertEqual(j["wakeups"]["by_class"]["select"], 0)

    def test_tasks_option(self):
        head = "tid\tpid\tcomm\tprio\tnice\tpolicy\trtprio\tcpu\tallowed\tcgroup\tautogroup\n"
        one = self.write("one", head + "101\t101\twakee\t120\t0\t0\t0\t0\t0\t/\t-\n")
        two = self.write("two", head + "101\t101\twakee\t120\t0\t0\t0\t0\t0-3\t/\t-\n")
        trace = self.trace()
        pinned = lambda *a: self.json("--topology", SMT2, *a, trace)["wakeups"]["by_class"]["pinned"]
        self.assertEqual((pinned("--tasks", one), pinned("--tasks", two)), (1, 0))
        self.assertEqual((pinned("--tasks", one, "--tasks", two), pinned("--tasks", two, "--tasks", one)), (0, 1))
        self.assertIn("absent", self.fails(1, "report", "--tasks", "absent", trace))

    def test_too_small(self):
        err = self.refused(3, "report", "--topology", "core:2 pu:1", self.trace())
        self.assertIn("2-3", err)
        self.assertIn("core:2 pu:1", err)
        self.assertIn("t.txt", err)
        self.assertIn("CPU", self.refused(3, "report", "--topology", "core:2 pu:1", SCHBENCH))

    def test_bad_source(self):
        self.assertIn("nonsense", self.refused(1, "report", "--topology", "nonsense", self.trace()))
        self.assertIn("bad.xml", self.refused(3, "report", "--topology", self.write("bad.xml", "<topology"), self.trace()))

    def test_synthetic_that_is_wrong(self):
        """What is no file and has colons is a synthetic string: the message is about that, not about opening a trace."""
        for text in ("pack:0 core:2", "foo:2", "pack:2 l3:1 core:4 pu:x"):
            err = self.refused(3, "topology", text)
            self.assertIn("synthetic", err)
            self.assertNotIn("cannot open", err)
        self.assertIn("cannot open", self.refused(1, "topology", "no-such.dat"))

    def test_picture(self):
        text = self.ok("topology", NUMA)
        for word in ("16 CPUs, 8 cores x 2 threads, 2 LLCs, 2 nodes, 2 packages, llc_size 8", "package 1", "node 1  CPUs 8-15", "(14 15)", "NUMA 16"):
            self.assertIn(word, text)
        j = json.loads(self.ok("topology", "--json", NUMA))
        self.assertEqual(j, self.json(NUMA)["topology"])
        rows = self.rows("topology", "--csv", NUMA)
        self.assertEqual([int(r["core"]) for r in rows], [c["core"] for c in j["cpus"]])

    def test_sources(self):
        self.assertIn("4 CPUs, 2 cores x 2 threads", self.ok("topology", SMT2))
        self.assertRegex(self.ok("topology"), r"^\d+ CPUs?")
        err = self.refused(3, "topology", self.write("x", "hello\n"))
        self.assertIn("x", err)
        self.refused(1, "topology", "--topology", SMT2, "no-such-trace.dat")

    def test_isolated_and_offline_are_marked(self):
        tree = {"sys/devices/system/cpu/possible": "0-3\n", "sys/devices/system/cpu/present": "0-3\n", "sys/devices/system/cpu/online": "0-2\n",
                "sys/devices/system/cpu/isolated": "2\n"}
        for c in range(3):
            base = "sys/devices/system/cpu/cpu%d/topology/" % c
            tree.update({base + "thread_siblings_list": ("0-1", "0-1", "2")[c] + "\n", base + "core_id": "%d\n" % (c // 2), base + "physical_package_id": "0\n",
                         base + "core_siblings_list": "0-2\n"})
        for name, text in tree.items():
            os.makedirs(os.path.dirname(self.path("m/" + name)), exist_ok=True)
            self.write("m/" + name, text)
        text = self.ok("topology", self.path("m"))
        self.assertIn("3 CPUs online of 4", text)
        self.assertIn("isolated 2", text)
        self.assertIn("2!", text)
        self.assertIn("3-", text)

    def test_capture(self):
        self.ok("topology", "--capture", "-o", self.path("c.tar.gz"))
        a, b = json.loads(self.ok("topology", "--json", self.path("c.tar.gz"))), json.loads(self.ok("topology", "--json"))
        self.assertEqual(a["cpus"], b["cpus"])
        self.assertIn("absent", self.refused(1, "topology", "--capture", "-o", self.path("absent/c.tar.gz")))


class Markers(Cli):
    """Topology and tasks that travel inside the trace (doc/markers.md)."""
    SMT4 = ("@sys/devices/system/cpu/possible=0-3;@sys/devices/system/cpu/present=0-3;@sys/devices/system/cpu/online=0-3;"
            "0-1@sys/devices/system/cpu/cpu%/topology/thread_siblings_list=0-1;2-3@=2-3;0-3@sys/devices/system/cpu/cpu%/topology/physical_package_id=0;"
            "0-1@sys/devices/system/cpu/cpu%/topology/core_id=0;2-3@=1;"
            "@tasks=tid\\tpid\\tcomm\\tprio\\tnice\\tpolicy\\trtprio\\tcpu\\tallowed\\tcgroup\\tautogroup\\n"
            "101\\t101\\twakee\\t120\\t0\\t0\\t0\\t0\\t0\\t/\\t-;")

    def chunks(self, pieces=3, us=900000):
        t, size = Ftrace(), -(-len(self.SMT4) // pieces)
        for n in range(pieces):
            t.add(0, us + n, "wakeif", 77, "tracing_mark_write: wakeif/1 abc %d/%d %s|" % (n + 1, pieces, self.SMT4[n * size:(n + 1) * size]))
        return t.lines[4:]

    def trace(self, marker_lines, late=False):
        lines = stacked().lines
        lines = lines + marker_lines if late else lines[:4] + marker_lines + lines[4:]
        return self.write("m.txt", "\n".join(lines) + "\n")

    def test_topology_and_tasks(self):
        j = self.json(self.trace(self.chunks()))
        self.assertIn("markers", j["topology"]["source"])
        self.assertEqual((j["topology"]["smt"], j["topology"]["nr_cores"]), (2, 2))
        self.assertEqual(j["wakeups"]["by_class"]["pinned"], 1)

    def test_option_and_side_file_go_first(self):
        trace = self.trace(self.chunks())
        self.assertIn("synthetic", self.json("--topology", "core:4 pu:1", trace)["topology"]["source"])
        self.write("m.topology.txt", "# CPU,Core,Socket,Node,,L1d,L1i,L2,L3\n" + "".join("%d,%d,0,0,,%d,%d,%d,0\n" % ((c,) * 5) for c in range(4)))
        j = self.json(trace)
        self.assertIn("m.topology.txt", j["topology"]["source"])
        self.assertEqual(j["wakeups"]["by_class"]["pinned"], 1)  # the tasks of the markers still count

    def test_incomplete(self):
        trace = self.trace(self.chunks()[:2])
        self.assertIn("fallback", self.json(trace)["topology"]["flags"])
        self.assertIn("incomplete (2 of 3 chunks)", " ".join(self.ok("report", trace).split()))

    def test_late(self):
        """Markers behind more events than are searched are not used, but told."""
        t = Ftrace()
        for i in range(210000):
            t.add(i % 4, 2000000 + i, "<idle>", 0, "cpu_idle: state=1 cpu_id=%d" % (i % 4))
        lines = stacked().lines + t.lines[4:] + self.chunks(us=3000000)
        path = self.write("l.txt", "\n".join(lines) + "\n")
        self.assertIn("fallback", self.json(path)["topology"]["flags"])
        self.assertIn("markers come late", " ".join(self.ok("report", path).split()))


class Output(Cli):
    def test_file(self):
        self.assertEqual(self.ok("report", "-o", self.path("r.txt"), SCHBENCH), "")
        with open(self.path("r.txt")) as f:
            self.assertEqual(f.read(), self.ok("report", SCHBENCH))

    def test_cannot_be_written(self):
        for command in ("report", "events", "wakeups", "topology"):
            with self.subTest(command=command):
                self.assertIn("absent/x", self.refused(1, command, "-o", self.path("absent/x"), SCHBENCH))

    @unittest.skipUnless(os.path.exists("/dev/full") and stat.S_ISCHR(os.stat("/dev/full").st_mode), "skipped: /dev/full is no device")
    def test_full_disk(self):
        for command in ("report", "events", "wakeups"):
            with self.subTest(command=command):
                self.assertIn("No space left", self.refused(1, command, "-o", "/dev/full", SCHBENCH))

    def test_broken_pipe(self):
        for args in (["events"], ["report", "--json"], ["wakeups", "--csv"]):
            with self.subTest(args=args):
                p = subprocess.Popen([WAKEIF, *args, SCHBENCH], stdout=subprocess.PIPE, stderr=subprocess.PIPE)
                p.stdout.read(10)
                p.stdout.close()
                err = p.stderr.read()
                p.stderr.close()
                self.assertNotEqual(p.wait(60), 0)
                self.assertEqual(err, b"")

    def test_quiet(self):
        trace = self.write("t.txt", stacked().text())
        status, out, err = self.run_text("report", "-q", trace)
        self.assertEqual((status, err), (0, ""))

    def test_no_progress_off_terminal(self):
        status, out, err = self.run_text("report", SCHBENCH)
        self.assertEqual((status, err), (0, ""))

    def test_same_bytes(self):
        for args in (["report"], ["report", "--json"], ["report", "--csv"], ["wakeups"], ["affine", "--by", "waker-wakee"]):
            self.assertEqual(self.run_raw(*args, SCHBENCH), self.run_raw(*args, SCHBENCH))


@unittest.skipUnless(os.path.isdir(os.path.join(SHARED, "corpus", "shapes")), "no corpus (WAKEIF_SHARED)")
class Shapes(Cli):
    def shape(self, name):
        return os.path.join(SHARED, "corpus", "shapes", name)

    def test_buffers(self):
        j = self.json(self.shape("two-buffers.dat"), "--topology", "core:8 pu:1")
        names = {b["name"]: b["chosen"] for b in j["input"][0]["buffers"]}
        self.assertEqual(len(names), 2)
        self.assertEqual(sum(names.values()), 1)
        for name in names:
            status, out, err = self.run_text("report", "--json", "--topology", "core:8 pu:1", "--buffer", name, self.shape("two-buffers.dat"))
            if status == 0:
                self.assertTrue({b["name"]: b["chosen"] for b in json.loads(out)["input"][0]["buffers"]}[name])
            else:
                self.assertIn(status, (3,), err)
        self.assertIn("nosuch", self.fails(3, "report", "--buffer", "nosuch", self.shape("two-buffers.dat")))

    def test_perf_data(self):
        for name in ("perf.data", "perf-z.data"):
            self.assertIn("perf script", self.refused(3, "report", self.shape(name)))

    def test_cut(self):
        for name in ("trunc-60.dat", "trunc-v6-60.dat.gz", "trunc-lost.dat"):
            status, out, err = self.run_text("report", "--topology", "core:8 pu:1", self.shape(name))
            self.assertIn(status, (3, 4), name)  # 3: cut before any event
            self.assertIn("@0x", err)
            self.assertEqual(status == 4, "INPUT DAMAGED" in out)

    def test_lost_events_are_not_damage(self):
        j = self.json(self.shape("lost.dat"), "--topology", "core:8 pu:1")
        self.assertGreater(j["quality"]["lost_marks"], 0)
        self.assertLess(j["window"]["coverage"], 1)


if __name__ == "__main__":
    unittest.main()
