#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""wakeif batch: what is found, what becomes of it, and that nothing that goes wrong costs more than its own trace."""
import gzip
import hashlib
import json
import os
import re
import shutil
import signal
import socket
import sqlite3
import subprocess
import time
import unittest

from cli import Cli, Ftrace, NUMA, O, ROOT, SAMPLES, SCHBENCH, WAKEIF, stacked
from test_hostile_models import CC, HEAD, STAY

INSTRUMENTED = bool(os.environ.get("WAKEIF_INSTRUMENTED"))
GEN = os.path.join(O, "tests", "gen_bench")
# lscpu -p of four CPUs, with the core of each
LSCPU = "# CPU,Core,Socket,Node,,L1d,L1i,L2,L3\n" + "".join("%d,%%d,0,0,,%d,%d,%d,0\n" % (c, c, c, c) for c in range(4))


def sha256(path):
    with open(path, "rb") as f:
        return hashlib.sha256(f.read()).hexdigest()


def trace(n):
    """A small text trace, another one for every n."""
    t = Ftrace()
    for cpu in (0, 1, 2, 3):
        t.switch(cpu, 1000000 + cpu, "other", 90 + cpu, "S", "swapper/%d" % cpu, 0)
    for i in range(20):
        at = 1001000 + 1000 * i + n
        t.wake(0, at, "swapper/0", 0, "wakee", 50, 1)
        t.wake(0, at + 3, "swapper/0", 0, "wakee", 50, 1, "sched_wakeup")
        t.switch(1, at + 20, "swapper/1", 0, "R", "wakee", 50)
        t.switch(1, at + 120, "wakee", 50, "S", "swapper/1", 0)
    return t.text()


class Batch(Cli):
    def setUp(self):
        super().setUp()
        self.db = self.path("results.db")
        self.traces = self.path("traces")
        os.mkdir(self.traces)

    def add(self, name, data):
        path = os.path.join(self.traces, name)
        os.makedirs(os.path.dirname(path), exist_ok=True)
        if isinstance(data, str) and os.path.exists(data):
            shutil.copyfile(data, path)
        else:
            with open(path, "wb") as f:
                f.write(data if isinstance(data, bytes) else data.encode())
        return path

    def batch(self, *args, status=0, where=None, **kw):
        """The numbers of the summary."""
        got, out, err = self.run_text("batch", where or self.traces, "-o", self.db, *args, **kw)
        self.assertEqual(got, status, out + err)
        self.err = err
        return self.numbers(out)

    def numbers(self, out):
        lines = out.splitlines()
        found = {}
        for line in lines[:2]:
            total, parts = line.split(": ", 1)
            numbers = {name: int(n) for n, name in (p.split(" ", 1) for p in parts.split(", "))}
            self.assertEqual(int(total.split()[0]), sum(numbers.values()), line)
            found.update(numbers)
            found[total.split()[1]] = int(total.split()[0])
        found["more"] = lines[2:]
        return found

    def some(self, numbers, **wanted):
        """These numbers, and nothing else than 0."""
        wanted = {k.replace("_", " "): v for k, v in wanted.items()}
        rest = {k: v for k, v in numbers.items() if k not in ("more", "traces", "others") and (v or k in wanted)}
        self.assertEqual(rest, wanted, self.err)

    def sql(self, text, *args):
        db = sqlite3.connect(self.db)
        try:
            return db.execute(text, args).fetchall()
        finally:
            db.close()

    def runs(self, db=None):
        return json.loads(self.ok("runs", db or self.db, "--json"))

    def rows(self):
        return {r[0]: r[1:] for r in self.sql("SELECT path, status, reason, signal FROM run_list")}

    def dump(self, db=None):
        """All that a merge would keep, without numbers of rows."""
        self.db, old = db or self.db, self.db
        try:
            return [self.sql("PRAGMA integrity_check"),
                    self.sql("SELECT hex(sha256), size_bytes, status, version, analysis, reason, signal, kernel, topology, path, paths, tags "
                             "FROM run_list ORDER BY 1, 2, 5, 4"),
                    self.sql("SELECT run_list.sha256, run_list.analysis, metric_value.path, metric_value.value FROM metric_value "
                             "JOIN run_list USING (run) ORDER BY 1, 2, 3"),
                    self.sql("SELECT lower(hex(trace.sha256)), metric.path, count, sum_ns, hex(buckets) FROM histogram JOIN run ON run.id = run "
                             "JOIN trace ON trace.id = run.trace JOIN metric ON metric.id = metric ORDER BY 1, 2"),
                    self.sql("SELECT hex(sha256), path FROM trace_path JOIN trace ON trace.id = trace ORDER BY 1, 2"),
                    self.sql("SELECT hex(sha256), path, key, value FROM tag JOIN trace ON trace.id = trace ORDER BY 1, 2, 3, 4")]
        finally:
            self.db = old


class Found(Batch):
    """Everything that lies in a folder is accounted for."""

    def test_a_mixed_folder(self):
        self.add("a/one.txt", trace(1))
        self.add("a/copy.dat", trace(1))
        self.add("a/two", trace(2))
        self.add("b/real.dat", SCHBENCH)
        self.add("b/real.tasks", SCHBENCH.replace(".dat", ".tasks"))
        self.add("b/real.topology.tar.gz", SCHBENCH.replace(".dat", ".topology.tar.gz"))
        self.add("b/real.json", '{"workload": "schbench"}')
        self.add("garbage.dat", b"\x00\x01\x02garbage" * 1000)
        self.add("text.txt", "nothing of a trace\n" * 100)
        self.add("perf.data", b"PERFILE2" + b"\0" * 200)
        self.add("empty.dat", "")
        with open(SCHBENCH, "rb") as f:
            self.add("cut.dat", f.read()[:1100000])
        huge = self.add("huge.dat", b"\0" * 100)
        os.truncate(huge, 1 << 40)
        os.mkfifo(os.path.join(self.traces, "fifo.dat"))
        s = socket.socket(socket.AF_UNIX)
        s.bind(os.path.join(self.traces, "socket"))
        s.close()
        os.symlink("..", os.path.join(self.traces, "a", "up"))
        os.symlink("loop", os.path.join(self.traces, "loop"))
        os.symlink("nowhere", os.path.join(self.traces, "dangling"))
        os.symlink(os.path.join("..", "a", "two"), os.path.join(self.traces, "b", "linked"))
        n = self.batch()
        # garbage, text, huge; tasks, json, topology of b/real
        self.some(n, ok=3, copies=2, damaged=1, refused=1, not_traces=6, empty=1, special=2, unreadable=2)
        rows = self.rows()
        self.assertEqual(rows[os.path.join(self.traces, "perf.data")][0], "refused")
        self.assertIn("perf script", rows[os.path.join(self.traces, "perf.data")][1])
        self.assertEqual(rows[os.path.join(self.traces, "cut.dat")][0], "damaged")
        self.assertRegex(rows[os.path.join(self.traces, "cut.dat")][1], r"@0x[0-9a-f]+: ")
        paths = {p for p, in self.sql("SELECT path FROM trace_path")}
        self.assertIn(os.path.join(self.traces, "b", "linked"), paths)
        self.assertEqual(len(paths), 7)
        self.some(self.batch(), already_in=5, copies=2, not_traces=6, empty=1, special=2, unreadable=2)

    def test_unreadable_files_and_folders_are_told_and_counted(self):
        self.add("one", trace(1))
        self.add("closed/two", trace(2))
        os.chmod(self.add("three", trace(3)), 0)
        os.chmod(os.path.join(self.traces, "closed"), 0)
        os.mkdir(self.path("open"))
        os.chmod(self.path("open"), 0o777)
        self.db = self.path("open/results.db")
        try:
            n = self.batch(user="nobody")
        finally:
            os.chmod(os.path.join(self.traces, "closed"), 0o700)
        self.some(n, ok=1, unreadable=2)
        self.assertIn("three: unreadable: Permission denied", self.err)
        self.assertIn("closed: unreadable: Permission denied", self.err)

    def test_hashes_are_those_of_sha256sum(self):
        one, real = self.add("one", trace(1)), self.add("real", SCHBENCH)
        self.batch()
        self.assertEqual({h for h, in self.sql("SELECT sha256 FROM run_list")}, {sha256(one), sha256(real)})

    def test_a_folder_of_raw_buffers_is_one_trace(self):
        subprocess.run([os.path.join(O, "tests", "gen_shapes"), self.traces, "--tiny"], check=True, stdout=subprocess.DEVNULL)
        n = self.batch("-v")
        self.assertEqual(n["others"], 0, self.err)
        self.assertIn(os.path.join(self.traces, "raw-le"), self.rows())
        self.assertEqual(n["ok"] + n["copies"], len(os.listdir(self.traces)), self.err)
        again = self.batch()
        self.assertEqual((again["already in"], again["copies"]), (n["ok"], n["copies"]))

    def test_what_a_database_holds_is_what_the_commands_print(self):
        self.add("real.dat", SCHBENCH)
        for end in (".tasks", ".topology.tar.gz"):
            self.add("real" + end, SCHBENCH.replace(".dat", end))
        self.batch("-m", "linux-auto", "-m", "idle-core-first")
        path = os.path.join(self.traces, "real.dat")
        report = json.loads(self.ok("report", "--json", path))
        replay = json.loads(self.ok("replay", "--json", "-m", "linux-auto", "-m", "idle-core-first", path))
        values = dict(self.sql("SELECT path, value FROM metric_value"))
        for name in ("latency.wakeup.p99_ns", "missed_idle.llc.count", "migrations.per_wakeup", "smt.busy_threads_ns[1]", "wake_affine.considered"):
            at = report
            for part in re.findall(r"\w+", name):
                at = at[int(part)] if part.isdigit() else at[part]
            self.assertEqual(values[name], at, name)
        for m in replay["models"][1:]:
            self.assertEqual(values["models[%s].agree.cpu_share" % m["name"]], m["agree"]["cpu_share"])

    def test_simulations_are_policies_of_the_database(self):
        self.add("real.dat", SCHBENCH)
        self.add("real.topology.tar.gz", SCHBENCH.replace(".dat", ".topology.tar.gz"))
        self.add("lost.dat", os.path.join(SAMPLES, "smt8-lost.dat"))
        args = ("-m", "idle-core-first", "--time", "0%-20%")
        self.some(self.batch("--simulate", "--seeds", "2", *args), ok=2, not_traces=1)
        real = os.path.join(self.traces, "real.dat")
        shown = json.loads(self.ok("simulate", "--json", "--seeds", "2", *args, real))["simulate"]["self_replay"]
        values = dict(self.sql("SELECT metric_value.path, value FROM metric_value JOIN run_list USING (run) WHERE run_list.path = ?", real))
        for name in ("util_err", "stay_err", "ks"):
            self.assertEqual(values["simulate.self_replay." + name], shown[name])
        self.assertTrue(any(k.startswith("simulate.policies[idle-core-first") for k in values))
        self.assertEqual(self.batch("--simulate", "--seeds", "2", *args)["already in"], 2)
        self.assertEqual(self.batch("--simulate", "--seeds", "1", *args)["ok"], 2)


class Again(Batch):
    def setUp(self):
        super().setUp()
        for n in range(6):
            self.add("w%d/6.%d/run%d.txt" % (n % 2, n, n), trace(n))

    def test_only_what_changed_is_done_again(self):
        self.some(self.batch(), ok=6)
        before = self.dump()
        self.some(self.batch(), already_in=6)
        self.assertEqual(self.dump(), before)
        self.add("w0/6.0/run0.topology", LSCPU % (0, 0, 1, 1))
        self.some(self.batch(), ok=1, already_in=5, not_traces=1)
        self.assertEqual(self.sql("SELECT count(*) FROM run"), [(6,)])
        self.add("w0/6.0/run0.topology", LSCPU % (0, 1, 2, 3))
        self.some(self.batch(), ok=1, already_in=5, not_traces=1)
        self.some(self.batch("-m", "linux-6.1"), ok=6, not_traces=1)
        self.some(self.batch("-m", "linux-6.1", "-m", "linux-6.1"), already_in=6, not_traces=1)
        self.some(self.batch("--detail", "full", "-m", "linux-6.1"), ok=6, not_traces=1)
        self.some(self.batch("--topology", "pack:1 l3:1 core:2 pu:2"), ok=6, not_traces=1)
        os.remove(os.path.join(self.traces, "w0/6.0/run0.topology"))
        self.some(self.batch("--topology", "pack:1 l3:1 core:2 pu:2"), already_in=6)
        self.some(self.batch(), ok=6)
        self.assertEqual(self.dump(), before)

    def test_the_order_of_models_does_not_matter(self):
        self.batch("-m", "linux-6.1", "-m", "linux-5.10")
        self.some(self.batch("-m", "linux-5.10", "-m", "linux-6.1"), already_in=6)

    def test_renames_and_copies_are_free(self):
        self.batch()
        os.rename(os.path.join(self.traces, "w0"), os.path.join(self.traces, "moved"))
        self.add("copy", trace(1))
        self.some(self.batch(), already_in=6, copies=1)
        self.assertEqual(self.sql("SELECT count(*) FROM run"), [(6,)])
        self.assertEqual(self.sql("SELECT count(*) FROM trace_path"), [(10,)])

    def test_a_changed_trace_of_equal_size_is_seen(self):
        self.batch()
        path = self.add("w0/6.0/run0.txt", trace(0).replace("wakee", "other"))
        os.utime(path, ns=(0, 0))
        self.assertEqual(self.batch()["ok"], 1)

    def test_tags(self):
        self.add("w0/6.0/run0.json", '{"tags": {"host": "a b", "nr": 3, "share": 0.5, "list": [1]}, "other": "x"}')
        self.add("w1/6.1/run1.json", '{"host": "flat", "nested": {"no": 1}}')
        self.add("w0/6.2/run2.json", '{"schema": "wakeif/1", "tool": {"version": "1"}}')
        self.add("w1/6.3/run3.json", '{"host": ')
        self.add("w0/6.4/run4.json", '{"a key": "x"}')
        self.add("untagged", trace(9))
        self.add("no-trace.gz", gzip.compress(b"no trace at all"))
        n = self.batch("--tag", r"workload,kernel,-,run=^([^/]*)/([^/]*)/(run)([0-9]+)", "--tag", "end=(txt)$")
        self.some(n, ok=7, not_traces=6)
        self.assertIn("1 traces match no --tag expression", n["more"])
        self.assertIn("2 traces have tags that could not be used", n["more"])
        self.assertIn("run3.json", self.err)
        self.assertIn("'a key' is no name of a tag", self.err)
        def tags(n):
            return self.sql("SELECT key, value FROM run_tag JOIN run_list USING (run) WHERE path LIKE ? ORDER BY key, value", "%%run%d.txt" % n)
        path = lambda n: [("end", "txt"), ("kernel", "6.%d" % n), ("run", str(n)), ("workload", "w%d" % (n % 2))]
        self.assertEqual(tags(0), sorted(path(0) + [("host", "a b"), ("nr", "3"), ("share", "0.5")]))
        self.assertEqual(tags(1), sorted(path(1) + [("host", "flat")]))
        for n in (2, 3, 4):
            self.assertEqual(tags(n), path(n))
        self.add("w0/6.0/run0.json", '{"host": "new"}')
        self.some(self.batch("--tag", "nr=run([0-9]+)"), already_in=7, not_traces=6)
        self.assertEqual(tags(0), [("host", "new"), ("nr", "0")])
        self.assertEqual(tags(5), [("nr", "5")])

    def test_tags_in_the_trace(self):
        lines = trace(77).splitlines()
        lines.insert(4, "            echo-9     [000] d... 0.900000: tracing_mark_write: wakeif-tag workload=from the trace")
        lines.insert(5, "            echo-9     [000] d... 0.900001: tracing_mark_write: wakeif-tag no tag")
        self.add("marked.txt", "\n".join(lines) + "\n")
        query = "SELECT key, value FROM run_tag JOIN run_list USING (run) WHERE path LIKE '%marked.txt' ORDER BY key, value"
        self.batch("--tag", "name=(marked)")
        self.assertEqual(self.sql(query), [("name", "marked"), ("workload", "from the trace")])
        self.some(self.batch(), already_in=7)
        self.assertEqual(self.sql(query), [("workload", "from the trace")])

    def test_lists(self):
        names = [os.path.join(self.traces, "w0"), os.path.join(self.traces, "w1/6.1/run1.txt"), "", os.path.join(self.traces, "gone")]
        odd = self.add("new\nline", trace(50))
        lines = self.write("list", "\n".join(names))
        got, out, err = self.run_text("batch", "--files-from", lines, "-o", self.db)
        self.err = err
        self.assertEqual(got, 0, err)
        self.some(self.numbers(out), ok=4, unreadable=1)
        got, out, err = self.run_text("batch", "--files-from", "-", "-0", "-o", self.db, stdin=b"\0".join(n.encode() for n in names + [odd]) + b"\0")
        self.err = err
        self.some(self.numbers(out), ok=1, already_in=4, unreadable=1)
        self.assertTrue(any("new\\x0aline" in p for p, in self.sql("SELECT path FROM trace_path")))
        self.assertIn("too long", self.fails(3, "batch", "--files-from", self.write("bad", b"x" * 5000), "-o", self.db))
        self.assertIn("holds a NUL", self.fails(3, "batch", "--files-from", self.write("bad", b"x\0y\n"), "-o", self.db))

    def test_shards_are_a_partition_whatever_the_names(self):
        self.batch()
        whole = self.dump()
        for k in (2, 7):
            parts, traces = [], 0
            for i in range(1, k + 1):
                part = self.path("part-%d-%d.db" % (k, i))
                got, out, err = self.run_text("batch", self.traces, "-o", part, "--shard", "%d/%d" % (i, k))
                self.assertEqual(got, 0, err)
                n = self.numbers(out)
                self.assertEqual(n["traces"] + n["of other shards"], 6)
                traces += n["traces"]
                parts.append(part)
            self.assertEqual(traces, 6)
            merged = self.path("merged-%d.db" % k)
            self.ok("merge", *reversed(parts), "-o", merged)
            self.assertEqual(self.dump(merged), whole)
        moved = self.path("moved")
        for i in range(1, 4):
            self.ok("batch", self.traces, "-o", self.path("%d.db" % i), "--shard", "%d/3" % i)
        os.rename(self.traces, moved)
        for i in range(1, 4):
            self.db = self.path("%d.db" % i)
            n = self.batch("--shard", "%d/3" % i, where=moved)
            self.assertEqual(n["ok"], 0, "a shard depends on names")

    def test_copies_with_other_side_files(self):
        self.add("x/copy.txt", trace(0))
        self.add("x/copy.topology", LSCPU % (0, 0, 1, 1))
        n = self.batch()
        self.some(n, ok=6, copies=1, not_traces=1)
        self.assertIn("1 of the copies have other files beside them and were not analysed again", n["more"])
        before = self.dump()
        self.some(self.batch(), already_in=6, copies=1, not_traces=1)
        self.assertEqual(self.dump(), before)

    def test_its_own_database_in_the_folder_is_nothing_found(self):
        self.db = os.path.join(self.traces, "here.db")
        self.some(self.batch(), ok=6)
        self.some(self.batch(), already_in=6)

    def test_two_at_once(self):
        for n in range(100, 130):
            self.add("many/%d" % n, trace(n))
        argv = [WAKEIF, "batch", self.traces, "-o", self.db, "--jobs", "2"]
        both = [subprocess.Popen(argv, stdout=subprocess.PIPE, stderr=subprocess.PIPE) for _ in range(2)]
        for p in both:
            out, err = p.communicate(timeout=100)
            self.assertEqual(p.returncode, 0, err)
        together = self.dump()
        self.db = self.path("alone.db")
        self.batch()
        self.assertEqual(self.dump(), together)

    def test_usage(self):
        for args, text in ((("-o", self.db), "nothing to look at"), ((self.traces,), "no database"), ((self.traces, "-o", self.db, "-0"), "--files-from"),
                           ((self.traces, "-o", self.db, "--shard", "0/3"), "--shard"), ((self.traces, "-o", self.db, "--shard", "4/3"), "--shard"),
                           ((self.traces, "-o", self.db, "--jobs", "0"), "--jobs"), ((self.traces, "-o", self.db, "--tag", "a,b=(x)"), "2 names, but"),
                           ((self.traces, "-o", self.db, "--tag", "a"), "--tag"), ((self.traces, "-o", self.db, "--tag", "a b=(x)"), "'a b'"),
                           ((self.traces, "-o", self.db, "--tag", "a=(x"), "--tag"), ((self.traces, "-o", self.db, "--seeds", "3"), "--simulate"),
                           ((self.traces, "-o", self.db, "-m", "linux-0.1"), "linux-0.1"), ((self.traces, "-o", self.db, "-i", "x"), "-i"),
                           ((self.traces, "-o", self.db, "--topology", "live"), "live"), ((self.traces, "-o", self.db, "--detail", "x"), "--detail")):
            got, out, err = self.run_text("batch", *args)
            self.assertEqual(got, 2, args)
            self.assertIn(text, err)
            self.assertFalse(os.path.exists(self.db), args)
        self.assertIn("No such file", self.refused(1, "batch", self.path("typo"), "-o", self.db))
        self.assertIn("cannot be", self.refused(1, "batch", self.traces, "-o", "/nowhere/x.db").replace("unable to", "cannot be"))
        self.refused(3, "batch", self.traces, "-o", self.write("x.db", "no database at all\n" * 100))


class GoesWrong(Batch):
    """A plug-in does to the trace of the machine with 16 CPUs what is asked for."""
    RUN = ("-m", None, "--jobs", "2")

    def setUp(self):
        super().setUp()
        self.add("a.txt", trace(1))
        self.bad = self.add("b.dat", NUMA)
        self.add("b.topology.tar.gz", NUMA.replace(".dat", ".topology.tar.gz"))
        self.add("c.txt", trace(2))

    def plugin(self, code, **parts):
        text = HEAD % {"init": "", "fini": "", "observe": "", "more": "", "ops": "", "name": '"bad"', "summary": '"a bad one"',
                       "select": "if (v->topology->nr_cpus == 16) { %s }" % code + STAY, **parts}
        source, out = self.write("bad.c", text), self.path("bad.so")
        subprocess.run([*CC, "-w", "-shared", "-fPIC", "-I", os.path.join(ROOT, "models"), "-o", out, source], check=True, timeout=60)
        return out

    def one_bad(self, status, reason, code, *args, signal_number=0):
        start = time.monotonic()
        n = self.batch("-m", self.plugin(code), *args)
        self.some(n, ok=2, not_traces=1, **{status: 1})
        row = self.rows()[self.bad]
        self.assertEqual((row[0], row[2] or 0), (status, signal_number), row)
        self.assertRegex(row[1], reason)
        self.assertEqual(self.batch("-m", self.path("bad.so"), "--strict", *args, status=4)["ok"], 0)
        return time.monotonic() - start

    @unittest.skipIf(INSTRUMENTED, "the sanitizer takes the signal")
    def test_crash(self):
        self.one_bad("crashed", r"signal 11 \(Segmentation fault\)", "*(volatile int *)8 = 1;", signal_number=11)
        self.assertRegex(self.sql("SELECT stderr_tail FROM run WHERE status = 'crashed'")[0][0], r"plug-in bad crashed in select_cpu")
        n = self.batch("-m", self.path("bad.so"))
        self.some(n, already_in=3, not_traces=1)
        self.assertIn("1 of those already in failed before: --retry tries them again", n["more"])
        self.some(self.batch("-m", self.path("bad.so"), "--retry"), already_in=2, crashed=1, not_traces=1)
        self.plugin("")  # mended: other bytes are another model
        self.some(self.batch("-m", self.path("bad.so")), ok=3, not_traces=1)

    @unittest.skipIf(INSTRUMENTED, "the sanitizer takes the signal")
    def test_abort(self):
        self.one_bad("crashed", r"signal 6", "abort();", signal_number=6)

    def test_hang(self):
        self.assertLess(self.one_bad("timeout", r"not done after 2 s", "for (;;) pause();", "--timeout", "2"), 60)

    def test_busy_loop(self):
        self.one_bad("timeout", r"not done after 2 s", "for (;;) asked++;", "--timeout", "2")

    @unittest.skipIf(INSTRUMENTED, "the sanitizer reserves terabytes")
    def test_memory(self):
        code = "for (int i = 0; i < 1000; i++) { char *p = malloc(16 << 20); if (!p) abort(); memset(p, 1, 16 << 20); }"
        self.one_bad("crashed", r"signal 6", code, "--memory", "600", signal_number=6)
        n = self.batch("--memory", "20")
        self.assertEqual(n["memory"], n["traces"], self.err)
        self.assertEqual(self.rows()[self.bad][:2], ("memory", "out of memory"))
        self.some(self.batch("--retry"), ok=3, not_traces=1)

    def test_killed_by_hand(self):
        so = self.plugin("kill(getpid(), SIGKILL);")
        self.some(self.batch("-m", so), ok=2, failed=1, not_traces=1)
        self.assertRegex(self.rows()[self.bad][1], "was killed.*signal 9")
        self.some(self.batch("-m", so), already_in=2, failed=1, not_traces=1)  # says nothing of the trace: tried again

    def test_exit(self):
        self.some(self.batch("-m", self.plugin("_exit(0);")), ok=2, failed=1, not_traces=1)
        self.assertIn("ended without a result: exit status 0", self.rows()[self.bad][1])

    def test_noise_is_bounded_and_kept(self):
        code = 'static char line[1000]; memset(line, \'x\', 999); for (int i = 0; i < 5000; i++) write(2, line, 999); write(2, "\\nlast words", 11); _exit(7);'
        self.some(self.batch("-m", self.plugin(code)), ok=2, failed=1, not_traces=1)
        tail, = self.sql("SELECT stderr_tail FROM run WHERE status = 'failed'")[0]
        self.assertTrue(tail.endswith("last words"))
        self.assertLessEqual(len(tail), 4096)

    def test_output_does_not_mix_with_results(self):
        self.some(self.batch("-m", self.plugin('write(1, "noise\\n", 6);')), ok=3, not_traces=1)

    def test_children_of_a_worker_go_with_it(self):
        so = self.plugin('static int once; if (!once++ && !fork()) { sleep(%d); _exit(0); } if (once == 2) _exit(1);' % 7777)
        self.batch("-m", so)
        left = subprocess.run(["pgrep", "-f", "batch " + self.traces], stdout=subprocess.PIPE).stdout
        self.assertEqual(left, b"")


class Killed(Batch):
    """Signals, and what is left after them."""

    def setUp(self):
        super().setUp()
        for n in range(40):
            self.add("%02d.txt" % n, trace(n))
        source = HEAD % {"init": "", "fini": "", "observe": "", "more": "", "ops": "", "name": '"slow"', "summary": '"a slow one"',
                         "select": "if (asked == 1) usleep(100000); " + STAY}
        self.slow = self.path("slow.so")
        subprocess.run([*CC, "-w", "-shared", "-fPIC", "-I", os.path.join(ROOT, "models"), "-o", self.slow, self.write("slow.c", source)],
                       check=True, timeout=60)
        self.argv = [WAKEIF, "batch", self.traces, "-o", self.db, "-m", self.slow, "--jobs", "2"]

    def start(self):
        p = subprocess.Popen(self.argv, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        end = time.monotonic() + 60
        while time.monotonic() < end:
            try:
                if os.path.exists(self.db) and self.sql("SELECT count(*) FROM run")[0][0] >= 4:
                    return p
            except sqlite3.OperationalError:
                pass
            time.sleep(0.02)
        p.kill()
        self.fail("nothing came: %s" % (p.communicate(),))

    def workers(self, p):
        with open("/proc/%d/task/%d/children" % (p.pid, p.pid)) as f:
            return [int(c) for c in f.read().split()]

    def state(self, pid):
        """A letter; "" when there is no such process."""
        try:
            with open("/proc/%d/stat" % pid) as f:
                return f.read().rsplit(")", 1)[1].split()[0]
        except FileNotFoundError:
            return ""

    def gone(self, pids):
        end = time.monotonic() + 10
        while time.monotonic() < end:
            left = [p for p in pids if self.state(p) not in "Z"]
            if not left:
                return
            time.sleep(0.02)
        self.fail("workers that outlive it: %s" % left)

    def finish(self, put):
        """The same command goes on; the end is that of an undisturbed run."""
        n = self.batch("-m", self.slow, "--jobs", "2")
        self.assertGreaterEqual(n["already in"], put)
        self.assertEqual(n["already in"] + n["ok"], 40)
        got = self.dump()
        self.assertEqual(got[0], [("ok",)])
        self.db = self.path("undisturbed.db")
        self.batch("-m", self.slow, "--jobs", "4")
        self.assertEqual(got, self.dump())

    def test_ctrl_c(self):
        p = self.start()
        workers = self.workers(p)
        p.send_signal(signal.SIGINT)
        out, err = p.communicate(timeout=20)
        self.assertEqual(p.returncode, -signal.SIGINT)
        self.assertIn(b"the same command goes on from here", err)
        self.gone(workers)
        n = self.numbers(out.decode())
        self.assertEqual(self.sql("SELECT count(*) FROM run"), [(n["ok"],)])
        self.assertGreaterEqual(n["not done"], 1)
        self.finish(n["ok"])

    def test_kill_9(self):
        p = self.start()
        workers = self.workers(p)
        put = self.sql("SELECT count(*) FROM run")[0][0]
        p.kill()
        p.communicate(timeout=20)
        self.gone(workers)
        self.finish(put)

    def test_a_killed_worker_costs_its_trace(self):
        p = self.start()
        for w in self.workers(p):
            os.kill(w, signal.SIGKILL)
        out, err = p.communicate(timeout=60)
        self.err = err
        n = self.numbers(out.decode())
        self.assertEqual(p.returncode, 0, err)
        self.assertEqual(n["ok"] + n["failed"] + n["unreadable"], 40)
        self.assertGreaterEqual(n["failed"] + n["unreadable"], 1)
        self.finish(n["ok"])


if __name__ == "__main__":
    unittest.main()
