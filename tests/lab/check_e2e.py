#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""check_e2e.py SHARE: what record_e2e.sh's guest left behind. The guest has 4 cores x 2 threads, siblings 0-1, 2-3, ..."""
import json
import os
import re
import subprocess
import sys

WAKEIF = os.path.join(os.environ["O"], "wakeif")
SHARE = sys.argv[1]
OUT = os.path.join(SHARE, "out")
passed = failed = 0


def check(what, ok, found=""):
    global passed, failed
    passed, failed = passed + bool(ok), failed + (not ok)
    if not ok:
        print(f"FAILED: {what}: {found}")


def run(*args):
    r = subprocess.run(args, capture_output=True, text=True, errors="replace")
    return r.stdout


def dat(name):
    return os.path.join(OUT, name + ".dat")


def log(name):
    with open(os.path.join(OUT, name + ".log"), errors="replace") as f:
        return f.read()


def events(name):
    """(cpu, stamp, event, {field: value}) in the order of trace-cmd report -R."""
    for line in run("trace-cmd", "report", "-R", "-t", dat(name)).splitlines():
        m = re.match(r"\s*(.*)-(\d+)\s+\[(\d+)\]\s+(\d+\.\d+): (\w+):\s*(.*)", line)
        if m:
            yield int(m[3]), m[4], m[5], dict(re.findall(r"(\w+)=(\S+)", m[6]))


def topology(source):
    """What `wakeif topology` shows, without where it has it from."""
    return [x for x in run(WAKEIF, "topology", source).splitlines() if not x.startswith("source")]


results = {}
with open(os.path.join(SHARE, "results")) as f:
    for line in f:
        name, _, rest = line.strip().partition(" ")
        results.setdefault(name, []).append(rest)
STATUS = {"stock": 7, "deep": 0, "probe": 0, "both": 0, "lost": 0, "duration": 0, "pid": 0, "nomarkers": 0, "user": 0, "nocommand": 1, "extra": 0,
          "killed": 143, "int-group": 0, "int-alone": 0, "script": 0, "hand": 0}
for name, status in STATUS.items():
    got = results.get(name, ["nothing"])[-1]
    check(f"{name}: exit status, nothing left behind", got == f"rc={status} probes=0 tracing=0", got)
for name in ("int-group", "int-alone"):
    check(f"{name}: probes were there", results.get(name, [""])[0] not in ("", "during probes=0"), results.get(name))
check("capture", results.get("capture") == ["rc=0"], results.get("capture"))
check("user", run("cat", os.path.join(OUT, "user.out")) == "65534\n")

guest = topology(os.path.join(OUT, "guest.topology.tar.gz"))
check("the guest is what it was asked to be", guest and guest[0].startswith("8 CPUs, 4 cores x 2 threads, 1 LLC"), guest[:1])
for name in ("stock", "deep", "probe", "both", "duration", "pid", "extra", "int-group", "int-alone", "hand"):
    check(f"{name}: markers hold the guest's topology", topology(dat(name)) == guest, topology(dat(name)))
check("script: markers hold the guest's topology", topology(dat("script")) == guest, topology(dat("script")))
for name in ("stock", "deep", "probe", "both", "int-alone", "script"):
    r = json.loads(run(WAKEIF, "report", "--json", dat(name)) or "{}")
    check(f"{name}: report", r.get("topology", {}).get("source") == "markers in the trace" and r["events"]["sched_switch"] > 100,
          (r.get("topology", {}).get("source"), r.get("events")))
    check(f"{name}: nothing lost", "no events lost" in log(name) or name == "script", log(name))
check("nomarkers: no markers", "wakeif/1" not in run("trace-cmd", "report", dat("nomarkers")))
check("lost: said", re.search(r"events were lost on \d of 8 CPUs.*record again with -b 16", log("lost")), log("lost"))
check("nocommand: said", "no such command" in log("nocommand"), log("nocommand"))

seen = {}
for _, _, event, _ in events("deep"):
    seen[event] = seen.get(event, 0) + 1
for event in ("local_timer_entry", "hrtimer_start", "hrtimer_expire_entry", "sched_stat_runtime", "sys_enter", "sys_exit"):
    check(f"deep: {event}", seen.get(event, 0) > 0, seen)
check("extra: softirq_entry", any(e[2] == "softirq_entry" for e in events("extra")))

# What the probes say must be what the scheduler did: the CPU returned for a wakeup is the target of the sched_wakeup that follows.
asked, chosen, agree, differ = {}, {}, 0, []
for cpu, stamp, event, field in events("probe"):
    if event == "select_task_rq_fair" and int(field["wake_flags"], 16) & 8 and "pid" in field:
        asked[cpu] = int(field["pid"])
    elif event == "select_task_rq_fair_ret" and cpu in asked:
        chosen[asked.pop(cpu)] = int(field["cpu"])
    elif event == "sched_wakeup" and int(field["pid"]) in chosen:
        target, want = int(field["target_cpu"]), chosen.pop(int(field["pid"]))
        agree += target == want
        if target != want:
            differ.append((stamp, field, want))
check("probe: decisions were seen", agree > 50, agree)
check("probe: the kernel's answer is where the task went", not differ, differ[:3])
print(f"probe: {agree} decisions, each followed by a sched_wakeup on the CPU that was returned")
print(f"{passed} passed, {failed} failed")
sys.exit(1 if failed else 0)
