#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""Text traces through `wakeif events --json`: counts of the public texts, and every form of trace-cmd report and perf script against the
trace.dat or perf.data it was made from. "item N": see cases/reports.md. Inputs: WAKEIF_SHARED; skipped visibly where absent.
"""
import collections
import glob
import gzip
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
WAKEIF = os.path.join(ROOT, os.environ.get("O", "build"), "wakeif")
SHARED = os.path.join(ROOT, os.environ.get("WAKEIF_SHARED", "../shared"))
TEXT = os.path.join(SHARED, "public", "text")
SHAPES = os.path.join(SHARED, "corpus", "shapes")
SCHED = ("sched_switch", "sched_waking", "sched_wakeup", "sched_wakeup_new", "sched_migrate_task", "sched_process_fork", "sched_process_exec",
         "sched_process_exit", "cpu_idle")

passed = failed = 0


def check(ok, what):
    global passed, failed
    if ok:
        passed += 1
    else:
        failed += 1
        print("FAILED:", what)


def skip(what):
    print("skipped:", what)


def run(path, *more):
    return subprocess.run([WAKEIF, "events", "--json", "-q", *more, path], stdout=subprocess.PIPE, stderr=subprocess.PIPE, check=False)


def events_of(path, status=0):
    """Events of a file; the exit status must be the one expected."""
    r = run(path)
    check(r.returncode == status, "%s: exit status %d, expected %d: %s" % (path, r.returncode, status, r.stderr.decode(errors="replace")[:300]))
    return [json.loads(line) for line in r.stdout.decode(errors="surrogateescape").splitlines() if line]


def counts(events):
    return dict(collections.Counter(e["event"] for e in events))


# Counts by grep on the files (MANIFEST of the public traces has the large ones); "by line" below recounts them.
PUBLIC = {
    "many-threads.8cpu.4.4.3.ns.ftrace.txt.gz": {"sched_switch": 28325, "sched_waking": 6743, "sched_wakeup": 6743},
    "tracecmd-report-R.6cpu.txt": {"sched_switch": 1856, "sched_wakeup": 1068},
    "trace-critical-path.txt": {"sched_waking": 12, "sched_wakeup": 12, "sched_switch": 28},
    "tracecmd-report-kvm-comm-space-slash.txt": {"sched_switch": 1, "sched_waking": 1, "sched_wakeup": 1},
    "lore-202311-vhost-s390-smt2-cpu14.ftrace.txt": {"sched_switch": 5, "sched_waking": 9, "sched_wakeup": 3, "sched_migrate_task": 2},
    "trace_no_trailing_line.txt": {"sched_switch": 1, "cpu_idle": 9},
}
# Files with a sched line that cannot be read: status 4, the line is named. perf's fourth shape has no stamp; the other is cut.
UNREADABLE = {"perf-script-variants.txt": 1, "trace_idle_unsorted.txt": 1}
NO_SCHED = ("trace_equals.txt", "trace_failed_to_parse.txt")


def lines_of(path):
    opener = gzip.open if path.endswith(".gz") else open
    with opener(path, "rb") as f:
        return f.read().decode(errors="replace").split("\n")


def test_public():
    if not os.path.isdir(TEXT):
        return skip(TEXT)
    for path in sorted(glob.glob(os.path.join(TEXT, "*"))):
        name = os.path.basename(path)
        bad = UNREADABLE.get(name, 0)
        events = events_of(path, 4 if bad else 0)
        got = counts(events)
        for event, n in PUBLIC.get(name, {}).items():
            check(got.get(event) == n, "%s: %s %s, expected %d" % (name, event, got.get(event), n))
        for event in SCHED[:5]:
            by_line = sum(1 for l in lines_of(path) if re.search(r"[:\s]%s:\s" % event, l))
            if event == "sched_switch":
                by_line -= bad
            check(got.get(event, 0) == by_line, "%s: %s %d, %d by line" % (name, event, got.get(event, 0), by_line))
        check(any(e["event"] in SCHED for e in events) or name in NO_SCHED, "%s: no sched event" % name)
        stamps = [e["ts_ns"] for e in events]
        check(stamps == sorted(stamps), "%s: not in time order" % name)
    return None


def test_details():
    if not os.path.isdir(TEXT):
        return
    # exits (dead states) of the many threads; preempted ones known
    sw = [e for e in events_of(os.path.join(TEXT, "many-threads.8cpu.4.4.3.ns.ftrace.txt.gz")) if e["event"] == "sched_switch"]
    check(sum(e["prev_state"] in ("x", "X", "Z") for e in sw) == 8003, "many-threads: exits")
    check(any(e["prev_state"] == "R+" for e in sw), "many-threads: preempted")
    # 4096 is the preempt mark, 64 is dead
    path = os.path.join(TEXT, "tracecmd-report-R.6cpu.txt")
    sw = [e for e in events_of(path) if e["event"] == "sched_switch"]
    raw = collections.Counter(re.search(r"prev_state=(\d+)", l).group(1) for l in lines_of(path) if "sched_switch:" in l)
    got = collections.Counter(e["prev_state"] for e in sw)
    check(got["R+"] == raw["4096"] and got["x"] == raw["64"] and got["S"] == raw["1"], "report -R: states %s of %s" % (got, raw))
    # item 15: the body's name is whole where the column was cut
    sw = events_of(os.path.join(TEXT, "rsmain-space-in-task-column.ftrace.txt"))
    check(sw[0]["prev_comm"] == "rs:main Q:Reg" and sw[0]["prev_pid"] == 430, "rs:main Q:Reg")
    # item 61, and Android's names
    e = events_of(os.path.join(TEXT, "trace_systrace.html"))
    check([x["comm"] for x in e if x["event"] == "sched_wakeup"][:2] == ["Binder_5", "Binder_5"], "systrace names")
    check([x["text"] for x in e if x["event"] == "print"] == ["E", "trace_event_clock_sync: realtime_ts=1448979311493"], "systrace markers")
    # item 26: the waker's context
    wk = [x for x in events_of(os.path.join(TEXT, "lore-20251019-fuse-fio-cpu11-to-26.ftrace.txt")) if x["event"] == "sched_waking"]
    check([x["flags"][2] for x in wk] == ["s", "h"], "context of wakers %s" % [x["flags"] for x in wk])


def key(e, ns, rounded):
    """What an event says, without what a form of text cannot express. trace-cmd rounds to a microsecond, the kernel and perf cut."""
    state = e.get("prev_state")
    rest = tuple((k, e[k]) for k in ("prev_comm", "prev_pid", "prev_prio", "next_comm", "next_pid", "next_prio", "comm", "pid", "prio", "target_cpu",
                                     "success", "orig_cpu", "dest_cpu", "child_comm", "child_pid", "old_pid", "state", "cpu_id") if k in e)
    return ((e["ts_ns"] + rounded) // ns, e["cpu"], e["event"], e.get("common_pid"), rest), state


def sched_of(events):
    return [e for e in events if e["event"] in SCHED]


def same_state(text, binary, plugin):
    if not plugin or text == binary:
        return text == binary
    letter = text.rstrip("?")
    if letter == "R" and text.endswith("?"):
        return binary in ("R", "R+")
    if letter == "":
        return binary not in ("R", "R+", "S", "D", "T", "t")
    return letter == "X" and binary in ("X", "Z")


def compare(text, binary, what, ns=1000, rounded=500, plugin=False):
    rounded = rounded if ns > 1 else 0
    a, b = [key(e, ns, rounded) for e in sched_of(text)], [key(e, ns, rounded) for e in sched_of(binary)]
    # equal stamps of different CPUs may come in another order
    a.sort(key=lambda x: x[0][:2])
    b.sort(key=lambda x: x[0][:2])
    check(len(a) == len(b) and len(a) > 0, "%s: %d events, the recording has %d" % (what, len(a), len(b)))
    for x, y in zip(a, b):
        if x[0] != y[0] or not same_state(x[1] or "", y[1] or "", plugin):
            check(False, "%s: %s, the recording has %s" % (what, x, y))
            return
    check(True, what)


def test_shapes():
    base = os.path.join(SHAPES, "conv-v6.dat.gz")
    if not os.path.exists(base):
        return skip(base)
    binary = events_of(base)
    for name in ("report.txt", "report-N.txt", "report-R.txt"):
        compare(events_of(os.path.join(SHAPES, name)), binary, name)
    compare(events_of(os.path.join(SHAPES, "report-t.txt")), binary, "report-t.txt", ns=1)
    return None


FORMS = (("-N", "-t"), ("-R", "-t"), ("-t",), ("-l", "-t"), ("-l", "-N"), ("-R", "-l"), ())


def test_reports():
    """What the installed trace-cmd prints, in all its forms, holds what we read from the recording itself."""
    if not shutil.which("trace-cmd"):
        return skip("trace-cmd")
    for name in ("odd-names.dat", "all-sched.dat", "hotplug.dat", "stacks.dat", "fgraph.dat", "conv-v6-to-v7.dat", "lost.dat", "overwrite.dat",
                 "clock-tsc2nsec.dat", "extract.dat", "two-buffers.dat"):
        dat = os.path.join(SHAPES, name)
        if not os.path.exists(dat):
            skip(dat)
            continue
        binary = events_of(dat)
        with tempfile.NamedTemporaryFile(suffix=".txt") as out:
            for form in FORMS if name == "odd-names.dat" else FORMS[:3]:
                out.seek(0)
                out.truncate()
                subprocess.run(["trace-cmd", "report", *form, "-i", dat], stdout=out, stderr=subprocess.DEVNULL, check=False)
                text = events_of(out.name)
                what = "%s report %s" % (name, " ".join(form))
                plugin = "-N" not in form and "-R" not in form
                compare(text, binary, what, ns=1 if "-t" in form else 1000, plugin=plugin)
                if "-l" in form:
                    flags = [(e["flags"][0], e["flags"][2]) for e in sched_of(text)]
                    check(flags == [(e["flags"][0], e["flags"][2]) for e in sched_of(binary)], what + ": flags")
                lost = [e.get("cpu") for e in text if e["event"] == "lost_events"]
                if name == "lost.dat":
                    marks = [e["cpu"] for e in binary if e["event"] == "lost_events" and e["kind"] == "mark"]
                    check(sorted(lost) == sorted(marks), "%s: lost on %s, the recording says %s" % (what, lost, marks))
    return None


def perf_command(message):
    m = re.search(r"(perf script .*) > perf\.txt", message)
    return m.group(1) if m else None


def test_perf_refusal():
    """perf.data: status 3 and a command that really makes it readable, with all that we need in its output."""
    for name in ("perf.data", "perf-z.data"):
        path = os.path.join(SHAPES, name)
        if not os.path.exists(path):
            skip(path)
            continue
        r = run(path)
        command = perf_command(r.stderr.decode())
        check(r.returncode == 3 and command, "%s: %d %s" % (name, r.returncode, r.stderr.decode()))
        if not shutil.which("perf") or not command:
            skip("perf")
            continue
        with tempfile.TemporaryDirectory() as d:
            copy = os.path.join(d, "it's a copy.data")
            shutil.copy(path, copy)
            command = perf_command(run(copy).stderr.decode())
            out = os.path.join(d, "perf.txt")
            subprocess.run("%s > '%s'" % (command, out), shell=True, stderr=subprocess.DEVNULL, check=True)
            events = events_of(out)
            check(counts(events).get("sched_switch", 0) > 100, "%s: %s" % (name, counts(events)))
            check(all(e["ts_ns"] % 1000 for e in events[:3]), "%s: stamps in ns" % name)
            if name == "perf.data":
                mine = events_of(os.path.join(SHAPES, "perf-script.txt"))
                compare(mine, events, "perf-script.txt against the proposed command", rounded=0)


def test_refused():
    """No trace, and told so: never an empty report."""
    for name, why in (("dump.txt", "trace-cmd dump"), ("perf-timehist.txt", "perf sched timehist"), ("uname.txt", "not a trace"),
                      ("perf-header.txt", "not a trace"), ("ftrace-cpu0-stats.txt", "not a trace"), ("perf-latency.txt", "not a trace")):
        path = os.path.join(SHAPES, name)
        if not os.path.exists(path):
            skip(path)
            continue
        r = run(path)
        err = r.stderr.decode()
        check(r.returncode == 3 and why in err and err.count("\n") == 1 and not r.stdout, "%s: %d %s" % (name, r.returncode, err))


def test_ftrace_shapes():
    """The kernel's own text: every line of a known event is an event, and its flags are those of the line."""
    for name in ("ftrace-trace.txt", "ftrace-tgid.txt", "snapshot.txt"):
        path = os.path.join(SHAPES, name)
        if not os.path.exists(path):
            skip(path)
            continue
        events = sched_of(events_of(path))
        lines = [m for m in (re.match(r"\s*(.+)-(\d+)\s+(?:\(.*?\)\s+)?\[(\d+)\] (\S+)\s+(\d+)\.(\d+): (\w+): ", l) for l in lines_of(path))
                 if m and m.group(7) in SCHED]
        want = [(int(m.group(5)) * 10**9 + int(m.group(6)) * 1000, int(m.group(3)), int(m.group(2)), m.group(7), m.group(4)[2]) for m in lines]
        got = [(e["ts_ns"], e["cpu"], e["common_pid"], e["event"], e["flags"][2]) for e in events]
        check(got == want and len(want) > 500, "%s: lines and events differ" % name)


def main():
    if not os.path.exists(WAKEIF):
        print("FAILED: %s is not built" % WAKEIF)
        return 1
    for test in (test_public, test_details, test_shapes, test_reports, test_perf_refusal, test_refused, test_ftrace_shapes):
        test()
    print("%d passed, %d failed" % (passed, failed))
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
