# SPDX-License-Identifier: GPL-2.0-or-later
"""Events of a trace as plain records in memory, in the order of METRICS rule 1.

trace.dat files are read through `trace-cmd report`, twice: once in its latency shape, which shows common_flags in hex, and once in its
plain shape, which shows the stamp apart from the flags and the whole task name. Texts are read directly.
"""
import heapq
import os
import re
import subprocess
import tempfile

# METRICS rule 1: rank of records with equal stamps on different CPUs.
RANK = {name: i for i, name in enumerate((
    "lost", "sched_waking", "sched_migrate_task", "sched_wakeup", "sched_wakeup_new", "sched_switch", "sched_process_fork",
    "sched_process_exec", "sched_process_exit", "cpu_idle"))}
OTHER_RANK = len(RANK)
SCHED_TYPES = ("sched_waking", "sched_migrate_task", "sched_wakeup", "sched_wakeup_new", "sched_switch", "sched_process_fork",
               "sched_process_exec", "sched_process_exit")
# Names of `events` in the report: the types that the program knows.
COUNTED = SCHED_TYPES + ("cpu_idle", "sched_stat_runtime", "local_timer_entry", "call_function_single_entry", "reschedule_entry",
                         "hrtimer_start", "hrtimer_expire_entry", "sys_enter", "sys_exit")
# Records of the ftrace system (rule 2): written by tracers and by markers, in the middle of anything.
FTRACE_SYSTEM = {"function", "funcgraph_entry", "funcgraph_exit", "funcgraph_retaddr_entry", "kernel_stack", "user_stack", "bprint", "print",
                 "bputs", "raw_data", "context_switch", "wakeup", "mmiotrace_rw", "mmiotrace_map", "branch", "hwlat", "osnoise", "timerlat",
                 "func_repeats", "tracing_mark_write", "fn_entry", "graph_ent", "graph_ret"}

HARDIRQ, SOFTIRQ, NMI = 0x08, 0x10, 0x40


class InputError(Exception):
    pass


class Event:
    """One record. flags is None where the format has no flags; f holds the event's own fields."""
    __slots__ = ("ts", "cpu", "type", "pid", "comm", "flags", "f", "index")

    def __init__(self, ts, cpu, type_, pid, comm, flags, f):
        self.ts, self.cpu, self.type, self.pid, self.comm, self.flags, self.f = ts, cpu, type_, pid, comm, flags, f
        self.index = -1  # place in the merged order

    def __repr__(self):
        return "%d [%03d] %s %s:%s %s" % (self.ts, self.cpu, self.type, self.comm, self.pid, self.f)


class Trace:
    def __init__(self):
        self.streams = {}  # cpu -> list of Event, file order
        self.kernel = ""
        self.nr_cpus = 0
        self.overrun = {}  # cpu -> records overwritten, as the CPU statistics say
        self.overwritten_text = False  # a text header says that entries are missing
        self.column = {}  # pid -> name in the task column, the last resort
        self.marks = []  # (cpu, nr): missed-events marks
        self.unparsed = 0
        self.unordered = 0
        self.unknown_letters = 0
        self.globally_ordered = []  # text: every event in the file's order
        self.is_text = False
        self.texts = []  # of marker events, in order
        self.time_res_ns = 1
        self.clock = ""

    def add(self, ev):
        self.streams.setdefault(ev.cpu, []).append(ev)
        if ev.pid and ev.comm and ev.comm != "<...>":
            self.column[ev.pid] = ev.comm
        self.globally_ordered.append(ev)


# ---- states

class StateTable:
    """Meaning of a raw prev_state. letters: {bit value: letter}."""

    def __init__(self, letters, mark, index):
        self.letters, self.mark, self.index = letters, mark, index

    def decode(self, raw):
        """-> (letter, preempted)"""
        preempted = bool(self.mark and raw & self.mark)
        v = raw & (self.mark - 1) if self.mark else raw
        if v == 0:
            return "R", preempted
        if self.index:
            return ("RSDTtXZPI"[v] if v < 9 else "?"), preempted
        low = v & -v
        return self.letters.get(low, "?"), preempted


def letters_of(text):
    return {1 << i: c for i, c in enumerate(text)}


def kernel_version(release):
    """(major, minor, patch) or None"""
    m = re.match(r"(\d+)\.(\d+)(?:\.(\d+))?", release or "")
    return (int(m[1]), int(m[2]), int(m[3] or 0)) if m else None


def state_table(print_fmt, release):
    """From the event's print fmt where there is one, else by kernel (L.8), else the newest table."""
    v = kernel_version(release)
    # 4.14 wrote task_state_to_index() unshifted until 4.14.87 (and up to 4.19.8).
    index = v is not None and ((4, 14, 0) <= v < (4, 14, 87) or (4, 15, 0) <= v < (4, 19, 9))
    if print_fmt:
        letters = {int(n, 0): c for n, c in re.findall(r"\{\s*(0x[0-9a-fA-F]+|\d+)\s*,\s*\"(.)\"\s*\}", print_fmt)}
        m = re.search(r"REC->prev_state & ([0-9xa-fA-F|+\-<>() ]+?)\s*\?\s*\"\+\"", print_fmt)
        mark = eval(m[1], {"__builtins__": {}}) if m else 0  # the class of characters above holds no name
        if letters:
            return StateTable(letters, mark, index)
    if v and v < (3, 9, 0):
        return StateTable(letters_of("SDTtZXxKW"), 0x200, False)
    if v and v < (4, 14, 0):
        return StateTable(letters_of("SDTtZXxKWPN"), 0x1000 if v >= (4, 9, 0) else 0x400, False)
    return StateTable(letters_of("SDTtXZPI"), 0x100, index)


def guess_table(raws):
    """For a text with raw numbers and no kernel: a lone 0x80 is I, of 4.14 and later; a lone higher bit is the mark of an older kernel."""
    marks = raws & {0x200, 0x400, 0x800, 0x1000}
    if 0x80 in raws or not marks:
        return state_table("", "")
    return StateTable(letters_of("SDTtZXxKWPN"), max(marks), False)


KNOWN_LETTERS = set("RSDTtXZPIxKWNn")


def parse_letters(text):
    """State as letters, "R+", "D|K". -> (letter, preempted)"""
    preempted = text.endswith("+")
    first = text.rstrip("+").split("|")[0]
    if len(first) == 1 and first in KNOWN_LETTERS:
        return first, preempted
    return "?", preempted


# ---- bodies of the sched events, as key=value

SWITCH = re.compile(r"prev_comm=(.*) prev_pid=(-?\d+) prev_prio=(-?\d+) prev_state=(\S*)(?: ==>)? next_comm=(.*) next_pid=(-?\d+) next_prio=(-?\d+)\s*$")
SWITCH_PLUGIN = re.compile(r"(.*):(\d+) \[(-?\d+)\] (\S+) ==> (.*):(\d+) \[(-?\d+)\]\s*$")
WAKE = re.compile(r"comm=(.*) pid=(-?\d+) prio=(-?\d+)(?: success=(\d+))? target_cpu=(\d+)(?: \w+=\S+)*\s*$")
WAKE_PLUGIN = re.compile(r"(.*):(\d+) \[(-?\d+)\](?: success=(\d+))? CPU:(\d+)\s*$")
MIGRATE = re.compile(r"comm=(.*) pid=(-?\d+) prio=(-?\d+) orig_cpu=(\d+) dest_cpu=(\d+)\s*$")
FORK = re.compile(r"(?:parent_)?comm=(.*) (?:parent_)?pid=(-?\d+) child_comm=(.*) child_pid=(-?\d+)\s*$")
EXEC = re.compile(r"(?:filename=(.*) )?pid=(-?\d+) old_pid=(-?\d+)\s*$")
EXIT = re.compile(r"comm=(.*) pid=(-?\d+) prio=(-?\d+)(?: group_dead=\S+)?\s*$")
IDLE = re.compile(r"state=(\d+) cpu_id=(\d+)\s*$")


def exec_name(filename):
    """Rule 11: what the kernel makes of it, at most 15 bytes of what follows the last '/'."""
    if not filename:
        return None
    return filename.rpartition("/")[2].encode("utf-8", "surrogateescape")[:15].decode("utf-8", "replace") or None


def decode_state(text, table, trace):
    if re.fullmatch(r"0x[0-9a-fA-F]+|\d+", text):
        letter, preempted = table.decode(int(text, 0))
    else:
        letter, preempted = parse_letters(text)
    if letter == "?":
        trace.unknown_letters += 1
    return letter, preempted


def parse_body(type_, body, table, trace):
    """Fields of a known event as a dict; None when the body does not have the event's shape."""
    if type_ == "sched_switch":
        m = SWITCH.match(body)
        plugin = False
        if not m:
            m = SWITCH_PLUGIN.match(body)
            plugin = True
        if not m:
            return None
        g = m.groups()
        letter, preempted = decode_state(g[3], table, trace)
        tells = letter != "?" and (not plugin or letter != "R" or preempted)  # a plugin's R is with the preempt mark or without
        return {"prev_comm": g[0], "prev_pid": int(g[1]), "prev_prio": int(g[2]), "state": letter, "preempted": preempted, "tells": tells,
                "next_comm": g[4], "next_pid": int(g[5]), "next_prio": int(g[6])}
    if type_ in ("sched_waking", "sched_wakeup", "sched_wakeup_new"):
        m = WAKE.match(body) or WAKE_PLUGIN.match(body)
        return m and {"comm": m[1], "pid": int(m[2]), "prio": int(m[3]), "success": int(m[4] or 1) if m[4] is not None else 1, "target": int(m[5])}
    if type_ == "sched_migrate_task":
        m = MIGRATE.match(body)
        return m and {"comm": m[1], "pid": int(m[2]), "prio": int(m[3]), "orig": int(m[4]), "dest": int(m[5])}
    if type_ == "sched_process_fork":
        m = FORK.match(body)
        return m and {"parent_comm": m[1], "parent_pid": int(m[2]), "child_comm": m[3], "child_pid": int(m[4])}
    if type_ == "sched_process_exec":
        m = EXEC.search(body)
        return m and {"pid": int(m[2]), "old_pid": int(m[3]), "comm": exec_name(m[1])}
    if type_ == "sched_process_exit":
        m = EXIT.match(body)
        return m and {"comm": m[1], "pid": int(m[2]), "prio": int(m[3])}
    if type_ == "cpu_idle":
        m = IDLE.match(body)
        return m and {"state": int(m[1]), "cpu": int(m[2])}
    return {}


def stamp_ns(text):
    """"12.345678" or "12.345678901" -> ns; without a dot: the clock's own unit"""
    sec, dot, frac = text.partition(".")
    return int(sec) * 1000000000 + int((frac + "000000000")[:9]) if dot else int(sec)


# ---- trace.dat through trace-cmd

def run(args):
    p = subprocess.run(args, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, check=False)
    return p.returncode, p.stdout.decode("utf-8", "replace")


PLAIN = re.compile(r"^(?:(\S*):\s)?\s*(.*)-(\d+)\s+\[(\d+)\]\s*(\d+\.\d+|\d+): (\S+?):(?:\s(.*))?$")
LAT_FLAGS = re.compile(r"-\d+\s+\d+-0x([0-9a-f]+)")
DROPPED = re.compile(r"^\s*CPU:(\d+) \[(?:(\d+) )?EVENTS DROPPED\]")


def read_tracedat(path):
    tr = Trace()
    rc, flat = run(["trace-cmd", "report", "-R", "-t", path])
    rc2, lat = run(["trace-cmd", "report", "-R", "-l", "-t", path])
    if rc or rc2 or not flat.strip():
        raise InputError("trace-cmd cannot read it")
    tr.kernel = uname_release(run(["trace-cmd", "report", "--uname", path])[1])
    fmt = print_fmt(run(["trace-cmd", "report", "--events", path])[1])
    table = state_table(fmt, tr.kernel)
    a, b = flat.split("\n"), lat.split("\n")
    if len(a) != len(b):
        raise InputError("trace-cmd's two shapes differ in length")
    pending = {}  # buffer name -> list of items, to choose a buffer afterwards
    for line, lline in zip(a, b):
        if line.startswith("cpus="):
            tr.nr_cpus = int(line[5:])
            continue
        m = DROPPED.match(line)
        if m:
            pending.setdefault("", []).append(("mark", int(m[1]), int(m[2] or 0)))
            continue
        m = PLAIN.match(line)
        if not m:
            continue  # the tail of a text with newlines in it
        buf, comm, pid, cpu, ts, type_, body = m.groups()
        fm = LAT_FLAGS.search(lline, max(0, lline.find("-%s " % pid)))
        if not fm:
            raise InputError("no flags: %r" % lline)
        flags = flags_value(fm[1], ts)
        if type_ == "print":
            tr.texts.append(body or "")
        pending.setdefault(buf or "", []).append(("ev", int(cpu), stamp_ns(ts), type_, int(pid), comm.strip(), flags, (body or "").lstrip(" ")))
    chosen = choose_buffer(pending)
    for item in pending.get(chosen, []):
        if item[0] == "mark":
            tr.marks.append((item[1], item[2]))
            tr.add(Event(None, item[1], "lost", None, None, None, {"nr": item[2]}))
            continue
        _, cpu, ts, type_, pid, comm, flags, body = item
        f = parse_body(type_, body, table, tr)
        if f is None:
            tr.unparsed += 1
            continue
        tr.add(Event(ts, cpu, type_, pid, comm, flags, f))
    for cpu, text in re.findall(r"^CPU: (\d+)\n((?:.+\n)+)", run(["trace-cmd", "report", "--stat", path])[1], re.M):
        m = re.search(r"^overrun: (\d+)", text, re.M)
        if m and int(m[1]):
            tr.overrun[int(cpu)] = int(m[1])
    tr.nr_cpus = max([tr.nr_cpus] + [c + 1 for c in tr.streams])
    return tr


def flags_value(digits, ts):
    """A stamp of 12 or more digits stands against the flags: take it off."""
    if "." not in ts and digits.endswith(ts):
        digits = digits[:-len(ts)]
    return int(digits, 16)


def choose_buffer(pending):
    """The instance with sched events; of several, the one with most of them."""
    def weight(name):
        return (sum(i[0] == "ev" and i[3] in SCHED_TYPES for i in pending[name]), name == "")
    return max(pending, key=weight) if pending else ""


def uname_release(text):
    m = re.search(r"Linux \S+ (\S+) \S+", text)
    return m[1] if m else ""


def print_fmt(text):
    m = re.search(r"^name: sched_switch$.*?^print fmt: (.*?)$", text, re.M | re.S)
    return m[1] if m else ""


# ---- texts

FTRACE_LINE = re.compile(r"^\s*(.+?)-(\d+)\s+(?:\(\s*(?:\d+|-+)\s*\)\s+)?\[(\d+)\]\s+(?:([^\s\d.][^\s:]*|\.[^\s:]*|)\s+)?(\d+\.\d+|\d+): (\w+):(?:\s(.*))?$")
LATENCY_LINE = re.compile(r"^\s*(.+?)-(\d+)\s+(\d+)([a-zA-Z.#][^\s:]{2,7})\s+(\d+\.\d+): (\w+):(?:\s(.*))?$")
LATENCY_HEX = re.compile(r"^\s*(.+?)-(\d+)\s+(\d+)-0x([0-9a-f]+)\s+(\d+\.\d+): (\w+):(?:\s(.*))?$")
PERF_LINE = re.compile(r"^\s*(.+?)\s+(?:(-?\d+)/)?(-?\d+)\s+\[(\d+)\]\s+(\d+\.\d+):\s+(?:\d+\s+)?(?:(\w+):)?(\w+):(?:\s(.*))?$")
TEXT_LOST = re.compile(r"^\s*CPU:\s*(\d+) \[(?:LOST (\d+) EVENTS|(?:(\d+) )?EVENTS DROPPED)\]")


def flags_of_letters(col):
    """Third letter of the latency column: h hardirq, s softirq, H hardirq in softirq, z and Z NMI."""
    if not col or len(col) < 3:
        return None
    return {"h": HARDIRQ, "s": SOFTIRQ, "H": HARDIRQ | SOFTIRQ, "z": NMI, "Z": NMI | HARDIRQ}.get(col[2], 0)


def read_text(path):
    with open(path, "rb") as f:
        data = f.read()
    tr = Trace()
    tr.is_text = True
    lines = data.decode("utf-8", "replace").split("\n")
    table = guess_table({int(v, 0) for line in lines for v in RAW_STATE.findall(line)})
    tr.time_res_ns = 1000
    for line in lines:
        line = line.rstrip("\r")
        m = re.search(r"entries-in-buffer/entries-written: (\d+)/(\d+)\s+#P:(\d+)", line)
        if m:
            tr.overwritten_text |= int(m[1]) < int(m[2])
            tr.nr_cpus = max(tr.nr_cpus, int(m[3]))
            continue
        if line.startswith("cpus="):
            tr.nr_cpus = max(tr.nr_cpus, int(line[5:]))
            continue
        m = TEXT_LOST.match(line)
        if m:
            n = int(m[2] or m[3] or 0)
            tr.marks.append((int(m[1]), n))
            tr.add(Event(None, int(m[1]), "lost", None, None, None, {"nr": n}))
            continue
        if "wakeif/1 " in line:
            tr.texts.append(line)
        ev = text_line(line, table, tr)
        if ev is False:
            tr.unparsed += 1
        elif ev:
            tr.add(ev)
    tr.nr_cpus = max([tr.nr_cpus] + [c + 1 for c in tr.streams])
    return tr


RAW_STATE = re.compile(r" prev_state=(0x[0-9a-f]+|\d+) ")
SCHED_LINE = re.compile(r"\b(?:%s): " % "|".join(SCHED_TYPES))


def text_line(line, table, tr):
    """Event; None: not an event; False: a sched event that has not the event's shape."""
    m = FTRACE_LINE.match(line)
    if m:
        comm, pid, cpu, col, ts, type_, body = m.groups()
        flags = flags_of_letters(col)
    else:
        m = LATENCY_LINE.match(line)
        if m:
            comm, pid, cpu, col, ts, type_, body = m.groups()
            flags = flags_of_letters(col)
        elif LATENCY_HEX.match(line):
            comm, pid, cpu, col, ts, type_, body = LATENCY_HEX.match(line).groups()
            flags = int(col, 16)
        else:
            m = PERF_LINE.match(line)
            if not m:
                return False if SCHED_LINE.search(line) and not line.startswith("#") else None
            comm, _, pid, cpu, ts, _, type_, body = m.groups()
            flags = None
    if len(ts.partition(".")[2]) > 6:
        tr.time_res_ns = 1
    f = parse_body(type_, (body or "").lstrip(" "), table, tr)
    if f is None:
        return False
    return Event(stamp_ns(ts), int(cpu), type_, int(pid) if int(pid) >= 0 else None, comm.strip(), flags, f)


# ---- gaps and order

def proves(ev):
    """Rule 2: does the record prove that its CPU moved on?"""
    return ev.type not in FTRACE_SYSTEM


def sort_streams(tr):
    """Rule 1 within a CPU, for texts that are not in order. A lost mark goes with the record after it."""
    for cpu, stream in tr.streams.items():
        key, at = {}, None
        for ev in reversed(stream):
            at = ev.ts if ev.ts is not None else at
            key[id(ev)] = at if at is not None else float("inf")
        tr.streams[cpu] = sorted(stream, key=lambda e: key[id(e)])


def place_gaps(tr):
    """Rule 4: puts a "lost" record straight after the last record before each gap, with its stamp. -> number of chain breaks"""
    breaks = 0
    tr.start_lost = set()  # CPUs with a mark before their first record
    for cpu, stream in tr.streams.items():
        out, current, last, mark, left = [], None, None, None, None
        for ev in stream:
            if ev.type == "lost":
                mark = (mark or 0) + ev.f["nr"]
                continue
            if not proves(ev):
                out.append(ev)
                continue
            here = ev.f["prev_pid"] if ev.type == "sched_switch" else ev.pid
            broken = current is not None and here is not None and here != current
            if mark is None and left is not None and here == left and ev.type not in SCHED_TYPES:
                out.append(ev)  # written within the switch, by the task that is leaving
                last = ev
                continue
            left = ev.f["prev_pid"] if ev.type == "sched_switch" else None
            if ev.type == "sched_process_exec" and current in (ev.f["pid"], ev.f["old_pid"]):
                broken = False
            if mark is not None:
                if last is None:
                    tr.start_lost.add(cpu)
                else:
                    insert_after(out, last, Event(last.ts, cpu, "lost", None, None, None, {"kind": "mark"}))
                mark = None
            elif broken:
                breaks += 1
                insert_after(out, last, Event(last.ts, cpu, "lost", None, None, None, {"kind": "chain"}))
            out.append(ev)
            last = ev
            current = ev.f["next_pid"] if ev.type == "sched_switch" else ev.f["pid"] if ev.type == "sched_process_exec" else here if here is not None else current
        if mark is not None and last is not None:
            insert_after(out, last, Event(last.ts, cpu, "lost", None, None, None, {"kind": "mark"}))
        tr.streams[cpu] = out
    return breaks


def insert_after(out, last, ev):
    i = len(out) - 1
    while out[i] is not last:
        i -= 1
    out.insert(i + 1, ev)


def order(tr):
    """Rule 1: a merge of the CPUs' heads"""
    heads = []
    for cpu, stream in tr.streams.items():
        if stream:
            heads.append((stream[0].ts, RANK.get(stream[0].type, OTHER_RANK), cpu, 0))
    heapq.heapify(heads)
    merged = []
    while heads:
        _, _, cpu, i = heapq.heappop(heads)
        ev = tr.streams[cpu][i]
        ev.index = len(merged)
        merged.append(ev)
        if i + 1 < len(tr.streams[cpu]):
            n = tr.streams[cpu][i + 1]
            heapq.heappush(heads, (n.ts, RANK.get(n.type, OTHER_RANK), cpu, i + 1))
    return merged


def text_order(tr):
    """A text that is globally ordered keeps its own order; gap records follow the record that they stand after. None: not ordered."""
    stamps = [e.ts for e in tr.globally_ordered if e.type != "lost"]
    if any(b < a for a, b in zip(stamps, stamps[1:])):
        return None
    follow = {}
    for stream in tr.streams.values():
        for a, b in zip(stream, stream[1:]):
            if b.type == "lost":
                follow.setdefault(id(a), []).append(b)
    merged = []
    for ev in tr.globally_ordered:
        if ev.type == "lost":
            continue
        merged.append(ev)
        nxt = follow.get(id(ev), [])
        while nxt:
            merged.extend(nxt)
            nxt = follow.get(id(nxt[-1]), [])
    for i, ev in enumerate(merged):
        ev.index = i
    return merged


WRAPPERS = ((b"\x1f\x8b", "gzip"), (b"\xfd7zXZ\0", "xz"), (b"\x28\xb5\x2f\xfd", "zstd"), (b"BZh", "bzip2"))


def load(path):
    """-> (Trace, events in order)"""
    with open(path, "rb") as f:
        head = f.read(16)
    wrapped = next((tool for magic, tool in WRAPPERS if head.startswith(magic)), None)
    with tempfile.TemporaryDirectory() as d:
        if wrapped:
            inner = os.path.join(d, "trace")
            with open(inner, "wb") as out:
                if subprocess.run([wrapped, "-dc", path], stdout=out, check=False).returncode:
                    raise InputError("%s cannot read it" % wrapped)
            path = inner
            with open(path, "rb") as f:
                head = f.read(16)
        tr = read_tracedat(path) if head.startswith(b"\x17\x08\x44tracing") else read_text(path)
    return tr, prepare(tr)


def prepare(tr):
    """Gaps and order. -> events"""
    if not any(e.type in SCHED_TYPES for e in tr.globally_ordered):
        raise InputError("no sched events")
    named = [v for e in tr.globally_ordered for k, v in e.f.items() if k in ("target", "orig", "dest", "cpu")]
    tr.nr_cpus = max([tr.nr_cpus] + [v + 1 for v in named])
    sort_streams(tr)
    tr.chain_breaks = place_gaps(tr)
    return (text_order(tr) if tr.is_text else None) or order(tr)
