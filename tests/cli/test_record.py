#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""wakeif record and record-exec against a tracing file system of plain files and a trace-cmd that notes what it is asked. No root is needed."""
import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import unittest

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
WAKEIF = os.path.join(ROOT, os.environ.get("O", "build"), "wakeif")
SAMPLES = os.path.join(ROOT, "samples")

STOCK = ["sched:sched_switch", "sched:sched_waking", "sched:sched_wakeup", "sched:sched_wakeup_new", "sched:sched_migrate_task",
         "sched:sched_process_fork", "sched:sched_process_exec", "sched:sched_process_exit", "power:cpu_idle"]
DEEP = ["irq_vectors:local_timer_entry", "irq_vectors:call_function_single_entry", "irq_vectors:reschedule_entry", "timer:hrtimer_start",
        "timer:hrtimer_expire_entry", "sched:sched_stat_runtime", "raw_syscalls:sys_enter", "raw_syscalls:sys_exit"]

FAKE_TRACE_CMD = """#!/bin/sh
# Notes its arguments, copies $FAKE_TRACE to the -o file, and runs the command as trace-cmd does: its status is lost.
[ -z "$FAKE_FAIL" ] || { echo "trace-cmd: cannot do it" >&2; exit 3; }
for a in "$@"; do printf '%s\\n' "$a"; done > "$FAKE_DIR/args"
cp "$TRACEFS_PATH/dynamic_events" "$FAKE_DIR/kprobes" 2>/dev/null
shift
while [ $# -gt 0 ]; do
	case $1 in
	-o) out=$2; shift 2;;
	-C|-b|-e) shift 2;;
	-q) shift;;
	*) break;;
	esac
done
"$@"
[ -z "$FAKE_TRACE" ] || cp "$FAKE_TRACE" "$out"
exit 0
"""


def sample(name):
    return os.path.join(SAMPLES, name)


def markers(text):
    """What the chunks in text hold: {path: contents}. Written from doc/markers.md."""
    chunks, total = {}, None
    for line in text.splitlines():
        m = re.fullmatch(r"wakeif/1 (\w{1,16}) (\d+)/(\d+) ([ -{}~]*)\|", line)
        assert m, line
        assert len(line) <= 1000
        total = int(m[3])
        chunks[int(m[2])] = m[4]
    assert sorted(chunks) == list(range(1, total + 1))
    payload = "".join(chunks[n] for n in range(1, total + 1))
    files, path = {}, None

    def unescape(s):
        return re.sub(r"\\(x..|.)", lambda e: {"n": "\n", "t": "\t", "\\": "\\", "c": ""}.get(e[1]) if e[1][0] != "x" else chr(int(e[1][1:], 16)), s)

    assert payload.endswith(";")
    for record in payload[:-1].split(";"):
        numbers, rest = record.split("@", 1)
        name, content = rest.split("=", 1)
        path = name or path
        content = unescape(content[:-2] if content.endswith("\\c") else content) + ("" if content.endswith("\\c") else "\n")
        if not numbers:
            files[unescape(path)] = content
        for part in numbers.split(",") if numbers else []:
            first, _, last = part.partition("-")
            for n in range(int(first), int(last or first) + 1):
                files[unescape(path.replace("%", str(n)))] = content
    return files


class Case(unittest.TestCase):
    def setUp(self):
        self.dir = tempfile.mkdtemp()
        self.addCleanup(shutil.rmtree, self.dir)
        self.tracefs = os.path.join(self.dir, "tracing")
        for event in STOCK + DEEP + ["irq:softirq_entry"]:
            os.makedirs(os.path.join(self.tracefs, "events", *event.split(":")))
        self.write("tracing/trace_marker", "")
        self.write("tracing/trace_clock", "[local] global counter uptime perf mono mono_raw boot x86-tsc\n")
        self.write("tracing/tracing_on", "1\n")
        self.bin = os.path.join(self.dir, "bin")
        os.mkdir(self.bin)
        self.write("bin/trace-cmd", FAKE_TRACE_CMD)
        os.chmod(os.path.join(self.bin, "trace-cmd"), 0o755)
        self.machine()
        self.env = dict(os.environ, PATH=self.bin + ":/usr/bin:/bin", TRACEFS_PATH=self.tracefs, FAKE_DIR=self.dir,
                        FAKE_TRACE=sample("smt8-schbench.dat"), LC_ALL="C")

    def write(self, path, text, mode="w"):
        path = os.path.join(self.dir, path)
        os.makedirs(os.path.dirname(path), exist_ok=True)
        with open(path, mode) as f:
            f.write(text)

    def read(self, path):
        with open(os.path.join(self.dir, path), encoding="latin-1") as f:
            return f.read()

    def machine(self):
        """A machine of four CPUs with siblings 0,2 and 1,3, and one task with an odd name."""
        cpu = "root/sys/devices/system/cpu/"
        self.write(cpu + "online", "0-3\n")
        for c in range(4):
            self.write(f"{cpu}cpu{c}/topology/core_id", f"{c % 2}\n")
            self.write(f"{cpu}cpu{c}/topology/physical_package_id", "0\n")
            self.write(f"{cpu}cpu{c}/topology/thread_siblings_list", f"{c % 2},{c % 2 + 2}\n")
            self.write(f"{cpu}cpu{c}/cache/index0/shared_cpu_list", f"{c % 2},{c % 2 + 2}\n")
            self.write(f"root/sys/kernel/debug/sched/domains/cpu{c}/domain0/name", "SMT\n")
        self.write("root/sys/devices/system/node/node0/cpulist", "0-3\n")
        self.write("root/sys/kernel/debug/sched/features", "WA_IDLE WA_WEIGHT NO_SIS_PROP \n")
        self.write("root/sys/kernel/debug/sched/debug", "long\n")
        self.write("root/proc/version", "Linux version 6.1.0 ; | \\ @\n")
        self.write("root/proc/cmdline", "no newline")
        self.write("root/proc/cpuinfo", "processor\t: 0\nvendor_id\t: GenuineIntel\nflags\t\t: a b c\n\nprocessor\t: 1\nvendor_id\t: GenuineIntel\n")
        self.write("root/proc/schedstat", "version 15\ntimestamp 5\ncpu0 1 2 3\ndomain0 05 1 2 3\ncpu1 1 2\ndomain0 SMT 0a 1 2\n")
        task = "root/proc/12/task/12/"
        tail = " ".join(["S", "1"] + ["0"] * 13 + ["15", "-5", "1", "0", "99"] + ["0"] * 16 + ["3", "7", "1"] + ["0"] * 11)
        self.write(task + "stat", "12 (a (b) c\t;|\\) " + tail + "\n")
        self.write(task + "status", "Name:\tx\nCpus_allowed:\tf\nCpus_allowed_list:\t0-1,3\nMems_allowed:\t1\n")
        self.write(task + "cgroup", "0::/some\n")
        self.write("root/proc/12/cgroup", "0::/some\n")
        self.write("root/proc/12/autogroup", "/autogroup-3 nice 0\n")

    def record(self, *args, **env):
        out = os.path.join(self.dir, "out.dat")
        return subprocess.run([WAKEIF, "record", "-o", out, *args], env=dict(self.env, **env), capture_output=True, text=True, timeout=60, cwd=self.dir)

    def args(self):
        return self.read("args").splitlines()


class Record(Case):
    def test_arguments(self):
        r = self.record("-b", "2048", "-C", "boot", "--", "true", "-x", "a b", "")
        self.assertEqual((r.returncode, r.stdout), (0, ""), r.stderr)
        a = self.args()
        i = a.index("record-exec")
        self.assertEqual(a[:8], ["record", "-q", "-o", os.path.join(self.dir, "out.dat"), "-C", "boot", "-b", "2048"])
        self.assertEqual(a[8:i - 1], [x for e in STOCK for x in ("-e", e)])
        self.assertEqual(os.path.realpath(a[i - 1]), os.path.realpath(WAKEIF))
        self.assertEqual(a[-5:], ["--", "true", "-x", "a b", ""])

    def test_defaults(self):
        r = self.record("true")
        self.assertEqual(r.returncode, 0, r.stderr)
        a = self.args()
        self.assertEqual(a[a.index("-C") + 1], "mono")
        kb = int(a[a.index("-b") + 1])
        self.assertTrue(1024 <= kb <= 16384, kb)
        self.assertIn("no events lost", r.stderr)
        self.assertIn("wakeif report", r.stderr)

    def test_deep_and_extra(self):
        r = self.record("--deep", "-e", "irq:softirq_entry", "true")
        self.assertEqual(r.returncode, 0, r.stderr)
        a = self.args()
        self.assertEqual([a[i + 1] for i, x in enumerate(a) if x == "-e"], STOCK + DEEP + ["irq:softirq_entry"])

    def test_missing_events(self):
        os.rmdir(os.path.join(self.tracefs, "events/irq_vectors/reschedule_entry"))
        os.rmdir(os.path.join(self.tracefs, "events/power/cpu_idle"))
        r = self.record("--deep", "true")
        self.assertEqual(r.returncode, 0, r.stderr)
        self.assertIn("power:cpu_idle irq_vectors:reschedule_entry", r.stderr)
        self.assertNotIn("irq_vectors:reschedule_entry", self.args())
        os.rmdir(os.path.join(self.tracefs, "events/sched/sched_waking"))
        r = self.record("true")
        self.assertEqual(r.returncode, 0, r.stderr)
        self.assertIn("no sched_waking", r.stderr)
        self.assertNotIn("sched:sched_waking", self.args())
        os.rmdir(os.path.join(self.tracefs, "events/sched/sched_switch"))
        r = self.record("true")
        self.assertEqual((r.returncode, r.stderr.count("\n")), (1, 1), r.stderr)
        self.assertIn("sched_switch", r.stderr)

    def test_status_of_the_command(self):
        for command, want in (("exit 0", 0), ("exit 7", 7), ("kill -TERM $$", 143), ("kill -KILL $$", 137)):
            self.assertEqual(self.record("--", "sh", "-c", command).returncode, want, command)

    def test_refused_before_anything_is_touched(self):
        def refused(part, *args, status=1, **env):
            r = self.record(*args, **env)
            self.assertEqual((r.returncode, r.stdout, r.stderr.count("\n")), (status, "", 1), r.stderr)
            self.assertIn(part, r.stderr)
            self.assertTrue(r.stderr.startswith("wakeif: "), r.stderr)
            self.assertFalse(os.path.exists(os.path.join(self.dir, "args")))

        empty = os.path.join(self.dir, "empty")
        os.mkdir(empty)
        refused("trace-cmd is not installed", "true", PATH=empty)
        refused("no such command: nonesuch", "nonesuch")
        refused("no such command: ./nonesuch", "--", "./nonesuch", "-x")
        refused('no trace clock "sundial"', "-C", "sundial", "true")
        refused("no tracing file system there", "true", TRACEFS_PATH=empty)
        refused("no tracing file system there", "--tracefs", empty, "true")
        refused("-e irq:nonesuch", "-e", "irq:nonesuch", "true")
        refused("no process 4194304", "-p", "4194304")
        refused("allows no probes", "--probe", "true")
        self.write("tracing/kprobe_events", "")
        refused("needs Linux 5.0", "--probe", "true")

    @unittest.skipIf(os.geteuid() == 0 and not shutil.which("setpriv"), "needs an unprivileged user")
    def test_permission(self):
        os.chmod(os.path.join(self.tracefs, "trace_marker"), 0o444)
        os.chmod(self.dir, 0o755)
        drop = ["setpriv", "--reuid", "65534", "--regid", "65534", "--clear-groups"] if os.geteuid() == 0 else []
        program = os.path.join(self.dir, "wakeif")
        shutil.copy(WAKEIF, program)
        r = subprocess.run(drop + [program, "record", "-o", "/dev/null", "true"], env=self.env, capture_output=True, text=True, cwd="/")
        self.assertEqual((r.returncode, r.stderr.count("\n")), (1, 1), r.stderr)
        self.assertIn("needs root (sudo wakeif record", r.stderr)

    def test_usage(self):
        for args in (["-b", "0"], ["-b", "x"], ["-p", "1", "true"], ["--nonesuch"], ["--user", "nobody"], ["--duration", "-1"]):
            self.assertEqual(self.record(*args).returncode, 2, args)
        r = subprocess.run([WAKEIF, "record", "-h"], capture_output=True, text=True)
        self.assertEqual((r.returncode, r.stderr), (0, ""))
        for option in ("--deep", "--probe", "--no-markers", "--duration", "-b, "):
            self.assertIn(option, r.stdout)

    def test_trace_cmd_fails(self):
        r = self.record("true", FAKE_FAIL="1")
        self.assertEqual(r.returncode, 1)
        self.assertIn("trace-cmd record failed: status 3", r.stderr)
        r = self.record("true", FAKE_TRACE="")
        self.assertEqual(r.returncode, 1)
        self.assertIn("left no recording", r.stderr)

    def test_lost_events(self):
        r = self.record("-q", "-b", "4", "true", FAKE_TRACE=sample("smt8-lost.dat"))
        self.assertEqual(r.returncode, 0, r.stderr)
        self.assertRegex(r.stderr, r"events were lost on \d+ of 8 CPUs .*record again with -b 16\n")
        self.assertEqual(self.record("-q", "true").stderr, "")

    def test_markers(self):
        r = self.record("true")
        self.assertEqual(r.returncode, 0, r.stderr)
        files = markers(self.read("tracing/trace_marker"))
        self.assertTrue(files["tasks"].startswith("tid\tpid\tcomm\tprio\tnice\tpolicy\trtprio\tcpu\tallowed\tcgroup\tautogroup\n1\t1\t"))
        with open("/proc/version", encoding="latin-1") as f:
            self.assertEqual(files["proc/version"], f.read())
        self.write("tracing/trace_marker", "")
        self.assertEqual(self.record("--no-markers", "true").returncode, 0)
        self.assertEqual(self.read("tracing/trace_marker"), "")

    def test_duration_and_pid(self):
        for args in (["--duration", "1"], ["--duration", "1", "--", "sleep", "60"]):
            start = time.monotonic()
            r = self.record(*args)
            self.assertEqual(r.returncode, 143 if "sleep" in args else 0, r.stderr)
            self.assertTrue(0.9 < time.monotonic() - start < 20)
        child = subprocess.Popen(["sleep", "1"])
        reaper = subprocess.Popen(["true"])
        reaper.wait()
        start = time.monotonic()
        p = subprocess.Popen([WAKEIF, "record", "-o", os.path.join(self.dir, "out.dat"), "-p", str(child.pid)], env=self.env, stderr=subprocess.PIPE)
        child.wait()
        p.communicate(timeout=20)
        self.assertEqual(p.returncode, 0)

    def interrupt(self, sig, *args):
        p = subprocess.Popen([WAKEIF, "record", "-o", os.path.join(self.dir, "out.dat"), *args], env=self.env, stderr=subprocess.PIPE, text=True,
                             start_new_session=True)
        for _ in range(200):
            if self.read("tracing/trace_marker"):
                break
            time.sleep(0.05)
        time.sleep(0.2)
        os.kill(p.pid, sig)
        err = p.communicate(timeout=20)[1]
        return p.returncode, err

    def test_interrupted(self):
        for sig in (signal.SIGINT, signal.SIGTERM):
            rc, err = self.interrupt(sig)
            self.assertEqual(rc, 0, err)
            self.assertIn("recorded", err)
            self.write("tracing/trace_marker", "")
            rc, err = self.interrupt(sig, "--", "sleep", "60")
            self.assertEqual(rc, 128 + sig, err)
            self.write("tracing/trace_marker", "")

    def kprobes(self):
        self.write("tracing/kprobe_events", "")
        self.write("tracing/dynamic_events", "")
        for name in ("select_task_rq_fair", "select_task_rq_fair_ret", "select_idle_sibling", "select_idle_sibling_ret"):
            self.write(f"tracing/events/wakeif/{name}/enable", "0")

    def test_probe(self):
        self.kprobes()
        r = self.record("--probe", "true")
        self.assertEqual(r.returncode, 0, r.stderr)
        a = self.args()
        events = [a[i + 1] for i, x in enumerate(a) if x == "-e"]
        self.assertEqual(events, STOCK + ["wakeif:select_task_rq_fair", "wakeif:select_task_rq_fair_ret", "wakeif:select_idle_sibling",
                                          "wakeif:select_idle_sibling_ret"])
        # A plain file keeps the last of what libtracefs wrote to its start; tests/lab/record_e2e.sh has the rest on a real kernel.
        self.assertTrue(self.read("kprobes").startswith("r:wakeif/select_idle_sibling_ret select_idle_sibling cpu=$retval:s32\n"), self.read("kprobes"))
        self.removed()

    def removed(self):
        # libtracefs writes removals to the start of the file, which a kernel would carry out and a plain file keeps.
        self.assertTrue(self.read("tracing/dynamic_events").startswith("-:wakeif/select_"), self.read("tracing/dynamic_events"))

    def test_probe_removed_on_failure(self):
        self.kprobes()
        self.assertEqual(self.record("--probe", "true", FAKE_FAIL="1").returncode, 1)
        self.removed()

    def test_probe_removed_when_interrupted(self):
        self.kprobes()
        rc, err = self.interrupt(signal.SIGINT, "--probe")
        self.assertEqual(rc, 0, err)
        self.removed()


class RecordExec(Case):
    def run_exec(self, *args, **kw):
        return subprocess.run([WAKEIF, "record-exec", "--tracefs", self.tracefs, "--root", os.path.join(self.dir, "root"), *args], env=self.env,
                              capture_output=True, text=True, timeout=60, **kw)

    def expected(self):
        files = {}
        top = os.path.join(self.dir, "root")
        for path, _, names in os.walk(top):
            for name in names:
                rel = os.path.relpath(os.path.join(path, name), top)
                if not re.match(r"proc/\d", rel) and not rel.endswith("sched/debug"):
                    files[rel] = self.read(os.path.join("root", rel))
        files["proc/cpuinfo"] = "processor\t: 0\nvendor_id\t: GenuineIntel\n"
        files["proc/schedstat"] = "version 15\ntimestamp 5\ncpu0\ndomain0 05\ncpu1\ndomain0 SMT 0a\n"
        files["tasks"] = ("tid\tpid\tcomm\tprio\tnice\tpolicy\trtprio\tcpu\tallowed\tcgroup\tautogroup\n"
                          "12\t12\ta (b) c\\t;|\\\\\t15\t-5\t1\t7\t3\t0-1,3\t0::/some\t/autogroup-3\n")
        return files

    def test_tree(self):
        r = self.run_exec()
        self.assertEqual((r.returncode, r.stderr), (0, ""))
        self.assertEqual(markers(self.read("tracing/trace_marker")), self.expected())

    def test_script_of_the_manual(self):
        with open(os.path.join(ROOT, "doc/markers.md"), encoding="utf-8") as f:
            self.write("markers.sh", re.search(r"^```sh\n(.*?)^```", f.read(), re.S | re.M)[1])
        shells = [["sh"]] + [[b, "sh"] for b in ("busybox",) if shutil.which(b)]
        awks = [a for a in (["mawk"], ["gawk"], ["busybox", "awk"], ["original-awk"]) if shutil.which(a[0])]
        for shell in shells:
            for awk in awks:
                self.write("bin/awk", "#!/bin/sh\nexec %s \"$@\"\n" % " ".join(awk))
                os.chmod(os.path.join(self.bin, "awk"), 0o755)
                self.write("tracing/trace_marker", "")
                env = dict(self.env, ROOT=os.path.join(self.dir, "root"), MARKER=os.path.join(self.tracefs, "trace_marker"))
                r = subprocess.run(shell + [os.path.join(self.dir, "markers.sh")], env=env, capture_output=True, text=True)
                self.assertEqual((r.returncode, r.stderr), (0, ""), (shell, awk))
                want = self.expected()
                want["proc/cmdline"] += "\n"  # awk cannot tell
                self.assertEqual(markers(self.read("tracing/trace_marker")), want, (shell, awk))

    def test_command_takes_our_place(self):
        r = self.run_exec("--", "sh", "-c", "echo out; exit 9")
        self.assertEqual((r.returncode, r.stdout), (9, "out\n"))
        self.assertEqual(self.run_exec("--", "nonesuch").returncode, 127)
        self.assertEqual(self.run_exec("--", self.dir).returncode, 126)

    def test_status_fd(self):
        r, w = os.pipe()
        p = self.run_exec("--status-fd", str(w), "--", "sh", "-c", "exit 9", pass_fds=[w])
        os.close(w)
        said = os.read(r, 1000).decode()
        os.close(r)
        self.assertEqual(p.returncode, 9)
        self.assertRegex(said, r"\Apid \d+\nstatus 9\n\Z")

    def test_instance(self):
        self.write("tracing/instances/mine/trace_marker", "")
        self.assertEqual(self.run_exec("--instance", "mine").returncode, 0)
        self.assertEqual(self.read("tracing/trace_marker"), "")
        self.assertEqual(markers(self.read("tracing/instances/mine/trace_marker")), self.expected())
        r = self.run_exec("--instance", "../mine", "true")
        self.assertIn("not the name of a trace instance", r.stderr)

    def test_without_markers_the_command_still_runs(self):
        os.remove(os.path.join(self.tracefs, "trace_marker"))
        r = self.run_exec("--", "echo", "ran")
        self.assertEqual((r.returncode, r.stdout), (0, "ran\n"))
        self.assertIn("the trace will lack topology and tasks", r.stderr)
        self.assertEqual(self.run_exec().returncode, 1)

    def test_capture_and_markers_carry_the_same_tree(self):
        """The live machine: what `wakeif topology --capture` packs is what the markers carry, less what doc/markers.md says."""
        tar = os.path.join(self.dir, "capture.tar.gz")
        r = subprocess.run([WAKEIF, "topology", "--capture", "-o", tar], capture_output=True, text=True)
        self.assertEqual(r.returncode, 0, r.stderr)
        r = subprocess.run([WAKEIF, "record-exec", "--tracefs", self.tracefs], env=self.env, capture_output=True, text=True)
        self.assertEqual(r.returncode, 0, r.stderr)
        carried = markers(self.read("tracing/trace_marker"))
        subprocess.run(["tar", "xzf", tar, "-C", self.dir, "--one-top-level=cap"], check=True)
        packed = {}
        for path, _, names in os.walk(os.path.join(self.dir, "cap")):
            for name in names:
                rel = os.path.relpath(os.path.join(path, name), os.path.join(self.dir, "cap"))
                packed[re.sub(r"^.*?((sys|proc)/|tasks)", r"\1", rel)] = self.read(os.path.join("cap", rel))
        self.assertEqual(sorted(packed), sorted(carried))
        moving = re.compile(r"tasks|proc/(uptime|schedstat|cpuinfo)|sys/kernel/debug/sched/.*")
        for path in packed:
            if not moving.fullmatch(path):
                self.assertEqual(packed[path], carried[path], path)


if __name__ == "__main__":
    result = unittest.TextTestRunner(verbosity=1).run(unittest.defaultTestLoader.loadTestsFromModule(sys.modules[__name__]))
    failed = len(result.failures) + len(result.errors)
    print(f"{result.testsRun - failed - len(result.skipped)} passed, {failed} failed" + (f", {len(result.skipped)} skipped" if result.skipped else ""))
    sys.exit(1 if failed else 0)
