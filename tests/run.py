#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""Runs every test and counts single test cases; called by tests/run.sh.

  unit programs     $O/tests/test_*, cmocka (TAP)
  fuzz corpora      $O/tests/fuzz_*, each replays tests/fuzz/corpus/NAME/: one case a target
  Python            tests/reference/test_*.py and tests/cli/test_*.py: unittest files, or programs that end with "N passed, N failed"
  layers            tests/layers.py
  the same C tests under AddressSanitizer and UBSan, built beside ("check" of a plain build)
  "full" only       more rounds in the Python tests (WAKEIF_FULL), the C tests built by clang, the command line under sanitizers,
                    tests/cluster/test_*.py: Slurm and ssh hosts on this machine, and tests/lab/record_e2e.sh: recordings in an emulated guest

The last line is "N passed, N failed", with ", N skipped" where something was. Nothing passed, or anything failed: exit status 1.
"""
import concurrent.futures
import glob
import os
import re
import signal
import subprocess
import sys
import time

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
O = os.environ["O"]
JOBS = 2
# Percentage of the random rounds and of the lists that the sanitized programs do in "check" (tests/unit/share.h); the plain ones do all.
SANITIZED_SHARE = 25
FULL = sys.argv[1:2] == ["full"]
TIMEOUT_S = 3600 if FULL else 1500
LAB_TIMEOUT_S = 3000  # three attempts to boot and use an emulated guest
FAILURE_LINES = 200
# Of a build that is instrumented itself, no second one is made.
INSTRUMENTED = bool(os.environ.get("WAKEIF_INSTRUMENTED"))


class Result:
    def __init__(self, name):
        self.name, self.passed, self.failed, self.skipped = name, 0, 0, 0
        self.output, self.skips, self.seconds = "", [], 0.0


running = set()


def stop(p):
    """A test and what it started."""
    try:
        os.killpg(p.pid, signal.SIGKILL)
    except ProcessLookupError:
        pass


def run(argv, env=None, timeout=TIMEOUT_S):
    # Tests send signals; who is started in the background of a script or by nohup would hand down that they are ignored.
    p = subprocess.Popen(["env", "--default-signal=HUP,INT,QUIT", *argv], cwd=ROOT, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                         stderr=subprocess.STDOUT, env={**os.environ, **(env or {})}, start_new_session=True)
    running.add(p)
    try:
        out, status, late = p.communicate(timeout=timeout)[0], p.returncode, ""
    except subprocess.TimeoutExpired:
        stop(p)
        out, status, late = p.communicate()[0], -1, "\ntimed out after %d s" % timeout
    finally:
        running.discard(p)
    return status, out.decode("utf-8", "replace") + late


def cmocka(path, label):
    r = Result(label + os.path.basename(path))
    env = {"CMOCKA_MESSAGE_OUTPUT": "TAP"}
    if label == "san " and not FULL:
        env["WAKEIF_TEST_SHARE"] = str(SANITIZED_SHARE)
    status, r.output = run([path], env)
    planned = 0
    for line in r.output.splitlines():
        m = re.match(r"1\.\.(\d+)$", line)
        if m:
            planned += int(m.group(1))
        elif re.match(r"(not )?ok \d+ # SKIP", line):
            r.skipped += 1
        elif re.match(r"ok \d+", line):
            r.passed += 1
        elif re.match(r"not ok \d+", line):
            r.failed += 1
        elif line.startswith(("skipped: ", "# skipped: ")):
            r.skips.append(line.lstrip("# "))
    unrun = planned - r.passed - r.failed - r.skipped
    if unrun > 0 or (status and not r.failed) or not planned:
        r.failed += max(unrun, 1)
        r.output += "\n%s: exit status %d, %d of %d cases did not run" % (path, status, max(unrun, 0), planned)
    return r


def fuzz(path, label):
    name = os.path.basename(path)
    folders = [os.path.join(ROOT, "tests", "fuzz", "corpus", n) for n in (name, name[len("fuzz_"):])]
    corpus = folders[0] if os.path.isdir(folders[0]) else folders[1]
    r = Result(label + name)
    files = sum(len(f) for _, _, f in os.walk(corpus))
    if not files:
        r.failed, r.output = 1, "%s: no corpus in %s" % (name, corpus)
        return r
    status, r.output = run([path, corpus])
    if status:
        r.failed = 1
        r.output += "\n%s: exit status %d on its corpus" % (path, status)
    else:
        r.passed = 1
    return r


def python(path, label=""):
    with open(path, encoding="utf-8") as f:
        is_unittest = re.search(r"^(import|from) unittest", f.read(), re.M)
    return counting(label + os.path.relpath(path, ROOT), [sys.executable, os.path.join(ROOT, "tests", "pyrun.py"), path] if is_unittest else [sys.executable, path])


def program(path):
    """A script that counts its tests itself."""
    return counting(path, [os.path.join(ROOT, path)], LAB_TIMEOUT_S)


def counting(name, argv, timeout=TIMEOUT_S):
    """Runs what ends with "N passed, N failed"."""
    r = Result(name)
    status, r.output = run(argv, timeout=timeout)
    m = None
    for m in re.finditer(r"^(\d+) passed, (\d+) failed(?:, (\d+) skipped)?$", r.output, re.M):
        pass
    r.skips = re.findall(r"^(?:SKIP |skipped: ).*", r.output, re.M)
    if not m:
        r.failed = 1
        r.output += "\n%s: exit status %d and no count of tests" % (name, status)
        return r
    r.passed, r.failed = int(m.group(1)), int(m.group(2))
    r.skipped = int(m.group(3)) if m.group(3) else len(r.skips)
    if status and not r.failed:
        r.failed = 1
        r.output += "\n%s: exit status %d" % (name, status)
    return r


def script(name, argv):
    r = Result(name)
    status, r.output = run(argv)
    if status:
        r.failed = 1
    else:
        r.passed = 1
    return r


def c_tests(folder, label):
    jobs = [(cmocka, p, label) for p in sorted(glob.glob(os.path.join(folder, "tests", "test_*"))) if os.access(p, os.X_OK)]
    return jobs + [(fuzz, p, label) for p in sorted(glob.glob(os.path.join(folder, "tests", "fuzz_*"))) if os.access(p, os.X_OK)]


def build(name, *args):
    """A variant beside the main one; a build that fails is a failed test."""
    r = Result("build " + name)
    status, r.output = run(["make", "--no-print-directory", "-j%d" % JOBS, "WERROR=1", *args])
    r.passed, r.failed = (0, 1) if status else (1, 0)
    return r


def show(r):
    mark = "FAIL" if r.failed else "ok  " if r.passed else "skip"
    counts = "%d passed" % r.passed + (", %d failed" % r.failed if r.failed else "") + (", %d skipped" % r.skipped if r.skipped else "")
    print("%s %s: %s (%.1f s)" % (mark, r.name, counts, r.seconds))
    for s in sorted(set(r.skips)):
        print("     " + s)
    if r.failed:
        lines = r.output.splitlines()
        if len(lines) > FAILURE_LINES:
            print("     ... %d lines left out" % (len(lines) - FAILURE_LINES))
        for line in lines[-FAILURE_LINES:]:
            print("     " + line)
    sys.stdout.flush()


def timed(job):
    start = time.monotonic()
    r = job[0](*job[1:])
    r.seconds = time.monotonic() - start
    show(r)
    return r


def run_all(jobs):
    with concurrent.futures.ThreadPoolExecutor(JOBS) as pool:
        return list(pool.map(timed, jobs))


def python_tests(label="", but=()):
    found = glob.glob(os.path.join(ROOT, "tests", "reference", "test_*.py")) + glob.glob(os.path.join(ROOT, "tests", "cli", "test_*.py"))
    # The long ones first, so that the other worker has something to do meanwhile.
    long = ("test_attack.py", "test_damage.py", "test_reference.py")
    by_name = {os.path.basename(p): p for p in sorted(found)}
    names = sorted((n for n in by_name if n not in but), key=lambda n: long.index(n) if n in long else -1, reverse=True)
    return [(python, by_name[n], label) for n in names]


def main():
    if FULL:
        os.environ["WAKEIF_FULL"] = "1"
    results = run_all([(script, "layers", [sys.executable, os.path.join(ROOT, "tests", "layers.py")])] + c_tests(O, ""))
    san = os.path.join(O, "san-address-undefined")
    if not INSTRUMENTED:
        results.append(timed((build, "with sanitizers", "SAN=address,undefined", "OPT=-O1 -g", "O=" + san, "tests-built")))
        if not results[-1].failed:
            results += run_all(c_tests(san, "san "))
    results += run_all(python_tests())
    if FULL:
        clang = os.path.join(O, "clang-14")
        results.append(timed((build, "with clang", "CC=clang-14", "O=" + clang, "tests-built")))
        if not results[-1].failed:
            results += run_all(c_tests(clang, "clang "))
        # One after another: they compare times, and start as many jobs as the others here have CPUs.
        results += [timed((python, p)) for p in sorted(glob.glob(os.path.join(ROOT, "tests", "cluster", "test_*.py")))]
        results.append(timed((program, os.path.join("tests", "lab", "record_e2e.sh"))))
        if not INSTRUMENTED:
            # The reference compares numbers, the harness itself runs no program: sanitizers add nothing to these.
            os.environ["O"] = san
            os.environ["WAKEIF_INSTRUMENTED"] = "sanitizers" # no limit on address space
            results += run_all(python_tests("san ", but=("test_reference.py", "test_rules.py", "test_harness.py")))
    passed, failed, skipped = (sum(getattr(r, k) for r in results) for k in ("passed", "failed", "skipped"))
    bad = [r.name for r in results if r.failed]
    if bad:
        print("failed: " + ", ".join(bad))
    print("%d passed, %d failed%s" % (passed, failed, ", %d skipped" % skipped if skipped else ""))
    return 1 if failed or not passed else 0


def interrupted(number, _frame):
    for p in list(running):
        stop(p)
    print("interrupted by signal %d" % number, flush=True)
    os._exit(128 + number)


if __name__ == "__main__":
    for s in (signal.SIGHUP, signal.SIGINT, signal.SIGTERM):
        if signal.getsignal(s) != signal.SIG_IGN:
            signal.signal(s, interrupted)
    sys.exit(main())
