#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""Compares `wakeif report --json` with the slow reference of tests/reference, number by number, on every trace at hand, and checks the
invariants of METRICS on both. Inputs: samples/, and WAKEIF_SHARED/corpus and WAKEIF_SHARED/public where present.

  test_reference.py [--only PART-OF-NAME] [--ab] [-v]
The reference's answers are kept in $O/reference by a hash of their inputs and of the reference's sources.
"""
import argparse
import glob
import hashlib
import json
import os
import subprocess
import sys

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
sys.path.insert(0, os.path.join(ROOT, "tests", "reference"))
import events
import invariants
import report as reference

BUILD = os.path.join(ROOT, os.environ.get("O", "build"))
SHARED = os.path.join(ROOT, os.environ.get("WAKEIF_SHARED", "../shared"))
WAKEIF = os.path.join(BUILD, "wakeif")
TRACE_ENDINGS = (".dat", ".dat.gz", ".dat.xz", ".dat.zst", ".dat.bz2", ".txt", ".txt.gz", ".html")
NO_TRACE = ("README.txt", "uname.txt", "lscpu-p.txt", "dump.txt", "ftrace-cpu0-stats.txt", "perf-header.txt", "perf-latency.txt", "perf-timehist.txt",
            "check.txt", "command.txt", "truth.dat.zst")
# Not told by the reference: how the file was read, and words for humans.
COOKIES = os.path.join(ROOT, "tests", "reference", "cookies.map")
NOT_COMPARED = {"input", "tool", "quality.note", "topology.source", "topology.note", "topology.flags"}
SHOWN = 25
EPS = 1e-6

# What trace-cmd cannot read, with counts made by hand. gpuvis: MANIFEST of the public traces, option 8 skipped. trunc-60 ends within the kernel
# symbols, before any event data (offset 905,984 of the whole file): refused. trunc-lost ends within them: what is whole is analysed.
BY_HAND = {
    "gpuvis-4.11-option8-tgids.dat.gz": {"status": (0,), "sched_switch": (43806, 43806)},
    # the program reads the head of a line that is cut in its body: the recording goes on to it; raw 256 has two meanings, no kernel is told
    "trace_idle_unsorted.txt": {"status": (4,), "sched_switch": (6, 6), "only": True},
    "trunc-60.dat": {"status": (3,)},
    "trunc-v6-60.dat.gz": {"status": (3,)},
    "trunc-lost.dat": {"status": (4,), "sched_switch": (1, 18737)},
}


def inputs(with_ab):
    """(name, trace, topology, tasks)"""
    for base in (os.path.join(ROOT, "samples"), os.path.join(SHARED, "corpus")):
        for d in sorted(glob.glob(os.path.join(base, "*"))) + [base]:
            if not os.path.isdir(d) or os.path.basename(d) in ("ab", "shapes") or (d == base and base.endswith("corpus")):
                continue
            yield from folder(d)
    yield from folder(os.path.join(SHARED, "corpus", "shapes"))
    if with_ab:
        for pair in sorted(glob.glob(os.path.join(SHARED, "corpus", "ab", "*"))):
            for f in sorted(glob.glob(os.path.join(pair, "*", "trace.dat"))):
                yield (os.path.relpath(f, SHARED), f, os.path.join(pair, "topology.tar.gz"), None)
    yield from folder(os.path.join(SHARED, "public", "tracedat"))
    yield from folder(os.path.join(SHARED, "public", "text"))


def folder(d):
    def first(*names):
        return next((p for p in (os.path.join(d, n) for n in names) if os.path.exists(p)), None)
    for f in sorted(glob.glob(os.path.join(d, "*"))):
        base = os.path.basename(f)
        if not base.endswith(TRACE_ENDINGS) or base in NO_TRACE or base.startswith(("tasks.", "topology.", "lscpu")):
            continue
        stem = base[:-len(max((e for e in TRACE_ENDINGS if base.endswith(e)), key=len))]
        yield (os.path.relpath(f, ROOT if d.startswith(os.path.join(ROOT, "samples")) else SHARED), f,
               first(stem + ".topology.tar.gz", "topology.tar.gz", "lscpu-p.txt"), first(stem + ".tasks", "tasks.during", "tasks.before", "tasks"))


def digest(paths):
    h = hashlib.sha256()
    for p in paths:
        h.update(b"\0" if p is None else p.encode() if not os.path.exists(p) else open(p, "rb").read())
        h.update(b"\1")
    return h.hexdigest()[:32]


def reference_answer(trace, topology, tasks):
    """JSON, or the text of an InputError"""
    sources = sorted(glob.glob(os.path.join(ROOT, "tests", "reference", "[a-z]*.py")))
    sources = [s for s in sources if not os.path.basename(s).startswith("test_")]
    cache = os.path.join(BUILD, "reference", digest(sources + [COOKIES, trace, topology, tasks]) + ".json")
    if os.path.exists(cache):
        with open(cache, encoding="utf-8") as f:
            return json.load(f)
    try:
        out = json.loads(json.dumps(reference.analyse(trace, topology, tasks, cookie_map=COOKIES)))
    except events.InputError as e:
        out = str(e)
    os.makedirs(os.path.dirname(cache), exist_ok=True)
    with open(cache + ".new", "w", encoding="utf-8") as f:
        json.dump(out, f)
    os.replace(cache + ".new", cache)
    return out


def program_answer(trace, topology, tasks):
    """(exit status, JSON or None, error text)"""
    args = [WAKEIF, "report", "--json", "--cookies", COOKIES] + (["--topology", topology] if topology else []) + (["--tasks", tasks] if tasks else []) + [trace]
    p = subprocess.run(args, stdout=subprocess.PIPE, stderr=subprocess.PIPE, check=False)
    text = p.stdout.decode("utf-8", "replace")
    try:
        return p.returncode, json.loads(text) if text.strip() else None, p.stderr.decode("utf-8", "replace").strip()
    except ValueError as e:
        return p.returncode, None, "no JSON: %s" % e


def differences(want, got, path=""):
    """(path, reference, program) of every leaf that differs"""
    if path in NOT_COMPARED:
        return
    if isinstance(want, dict) and isinstance(got, dict):
        for k in list(want) + [k for k in got if k not in want]:
            p = path + "." + k if path else k
            if k not in want:
                if p not in NOT_COMPARED:
                    yield p, "(absent)", got[k]
            elif k not in got:
                yield p, want[k], "(absent)"
            else:
                yield from differences(want[k], got[k], p)
    elif isinstance(want, list) and isinstance(got, list):
        if len(want) != len(got):
            yield path + ".length", len(want), len(got)
        for i, (a, b) in enumerate(zip(want, got)):
            yield from differences(a, b, "%s[%d]" % (path, i))
    elif isinstance(want, bool) or isinstance(got, bool):
        if want is not got:
            yield path, want, got
    elif isinstance(want, float) or isinstance(got, float):
        if not isinstance(want, (int, float)) or not isinstance(got, (int, float)) or abs(want - got) > EPS * max(1.0, abs(want)):
            yield path, want, got
    elif want != got:
        yield path, want, got


def compare(trace, topology, tasks):
    """-> (list of complaints, None) or (None, why skipped)"""
    want = reference_answer(trace, topology, tasks)
    status, got, err = program_answer(trace, topology, tasks)
    by_hand = BY_HAND.get(os.path.basename(trace))
    if by_hand and (isinstance(want, str) or by_hand.get("only")):
        return check_by_hand(by_hand, status, got, err), None
    if isinstance(want, str):
        if status == 3 and got is None:
            return [], None  # both refuse it
        if want == "no sched events":
            return ["the reference refuses it (%s), the program's exit status is %d" % (want, status)], None
        return None, "the reference cannot read it: " + want
    if status not in (0, 4) or got is None:
        return ["exit status %d: %s" % (status, err)], None
    out = ["%s: reference %s, program %s" % (p, short(a), short(b)) for p, a, b in differences(want, got)]
    out += ["invariant of the reference: " + t for t in invariants.check(want).broken]
    out += ["invariant of the program: " + t for t in broken(got)]
    return out, None


def check_by_hand(want, status, got, err):
    if status == 3 and status in want["status"] and got is None:
        return []
    if status not in want["status"] or got is None:
        return ["exit status %d, expected %s: %s" % (status, want["status"], err)]
    n = got["events"]["sched_switch"]
    low, high = want["sched_switch"]
    out = [] if low <= n <= high else ["sched_switch: %d, by hand %d..%d" % (n, low, high)]
    return out + ["invariant of the program: " + t for t in broken(got)]


def broken(j):
    try:
        return invariants.check(j).broken
    except (KeyError, TypeError) as e:
        return ["a key is missing: %r" % e]


def short(x):
    s = json.dumps(x, ensure_ascii=False)
    return s if len(s) <= 90 else s[:87] + "..."


def main():
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("--only", help="inputs whose name holds this text")
    p.add_argument("--ab", action="store_true", help="also the A/B recordings")
    p.add_argument("-v", action="store_true", help="every difference")
    a = p.parse_args()
    if not os.path.exists(WAKEIF):
        print("test_reference: %s is not built" % WAKEIF)
        print("0 passed, 1 failed")
        return 1
    if not os.path.isdir(os.path.join(SHARED, "corpus")):
        print("SKIP corpus and public traces: not present (WAKEIF_SHARED)")
    passed = failed = 0
    for name, trace, topology, tasks in inputs(a.ab):
        if a.only and a.only not in name:
            continue
        try:
            complaints, skipped = compare(trace, topology, tasks)
        except Exception as e:  # a broken reference is a failure of this input, not the end of the run
            complaints, skipped = ["%s: %s" % (type(e).__name__, e)], None
        if skipped:
            print("SKIP %s: %s" % (name, skipped))
        elif complaints:
            failed += 1
            print("FAIL %s: %d differences" % (name, len(complaints)))
            for c in complaints if a.v else complaints[:SHOWN]:
                print("     " + c)
        else:
            passed += 1
            print("ok   %s" % name)
        sys.stdout.flush()
    print("%d passed, %d failed" % (passed, failed))
    return 1 if failed or not passed else 0


if __name__ == "__main__":
    sys.exit(main())
