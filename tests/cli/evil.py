# SPDX-License-Identifier: GPL-2.0-or-later
"""Writes trace.dat files, versions 6 and 7, in which every size, count and offset may be a lie. Used by test_attack.py."""
import struct
import zlib

PAGE = 4096
MAGIC = b"\x17\x08\x44tracing"
COMMON = (("unsigned short common_type", 0, 2, 0), ("unsigned char common_flags", 2, 1, 0),
          ("unsigned char common_preempt_count", 3, 1, 0), ("int common_pid", 4, 4, 1))
SWITCH = (("char prev_comm[16]", 8, 16, 0), ("pid_t prev_pid", 24, 4, 1), ("int prev_prio", 28, 4, 1), ("long prev_state", 32, 8, 1),
          ("char next_comm[16]", 40, 16, 0), ("pid_t next_pid", 56, 4, 1), ("int next_prio", 60, 4, 1))
WAKE = (("char comm[16]", 8, 16, 0), ("pid_t pid", 24, 4, 1), ("int prio", 28, 4, 1), ("int target_cpu", 32, 4, 1))
MIGRATE = WAKE[:3] + (("int orig_cpu", 32, 4, 1), ("int dest_cpu", 36, 4, 1))
HEADER_PAGE = ("\tfield: u64 timestamp;\toffset:0;\tsize:8;\tsigned:0;\n\tfield: local_t commit;\toffset:8;\tsize:8;\tsigned:1;\n"
               "\tfield: int overwrite;\toffset:8;\tsize:1;\tsigned:1;\n\tfield: char data;\toffset:16;\tsize:%d;\tsigned:0;\n")
HEADER_EVENT = ("# compressed entry header\n\ttype_len    :    5 bits\n\ttime_delta  :   27 bits\n\tarray       :   32 bits\n\n"
                "\tpadding     : type == 29\n\ttime_extend : type == 30\n\ttime_stamp : type == 31\n\tdata max type_len  == 28\n")

OPTIONS, BUFFER, HEADER_INFO, FTRACE_EVENTS, EVENT_FORMATS, CMDLINES = 0, 3, 16, 17, 18, 21


def u16(v):
    return struct.pack("<H", v & 0xffff)


def u32(v):
    return struct.pack("<I", v & 0xffffffff)


def u64(v):
    return struct.pack("<Q", v & 0xffffffffffffffff)


def a_format(name, number, fields, print_fmt='"x"', common=COMMON):
    lines = ["\tfield:%s;\toffset:%s;\tsize:%s;\tsigned:%s;\n" % f for f in fields]
    return "name: %s\nID: %d\nformat:\n%s\n%s\nprint fmt: %s\n" % (
        name, number, "".join("\tfield:%s;\toffset:%s;\tsize:%s;\tsigned:%s;\n" % f for f in common), "".join(lines), print_fmt)


def formats(switch=SWITCH, wake=WAKE, print_fmt='"x"'):
    return {"sched": [a_format("sched_switch", 10, switch, print_fmt), a_format("sched_waking", 11, wake),
                      a_format("sched_wakeup", 12, wake), a_format("sched_migrate_task", 13, MIGRATE)]}


PRINT = a_format("print", 5, (("unsigned long ip", 8, 8, 0), ("char buf[]", 16, 0, 0)))


# ---- records and pages ----

def record(delta, data):
    data += b"\0" * (-len(data) % 4)
    if 4 <= len(data) <= 112:
        return u32(len(data) // 4 | delta << 5) + data
    return u32(delta << 5) + u32(len(data) + 4) + data


def time_extend(delta):
    return u32(30 | (delta & 0x7ffffff) << 5) + u32(delta >> 27)


def time_stamp(ns):
    return u32(31 | (ns & 0x7ffffff) << 5) + u32(ns >> 27)


def a_comm(s):
    return (s if isinstance(s, bytes) else s.encode())[:16].ljust(16, b"\0")


def head(event, pid):
    return struct.pack("<HBBi", event, 0, 0, pid)


def switch(prev, prev_pid, state, nxt, next_pid, prio=120):
    return head(10, prev_pid) + a_comm(prev) + struct.pack("<iiq", prev_pid, prio, state) + a_comm(nxt) + struct.pack("<ii", next_pid, 120)


def waking(current, comm, pid, cpu, event=11, prio=120):
    return head(event, current) + a_comm(comm) + struct.pack("<iii", pid, prio, cpu)


def marker(current, text):
    return head(5, current) + u64(0) + text + b"\0"


def a_page(ts, records, size=PAGE, commit=None):
    data = b"".join(records)
    return (u64(ts) + u64(len(data) if commit is None else commit) + data).ljust(size, b"\0")[:size]


def busy_page(cpu, ts, cycles=8, a="alpha", b="beta", pid=100):
    """a runs, wakes b, which runs next on the same CPU, which idles then; again and again."""
    idle, records = "swapper/%d" % cpu, []
    for _ in range(cycles):
        records += [record(1000, switch(idle, 0, 0, a, pid)), record(1000, waking(pid, b, pid + 1, cpu)),
                    record(500, waking(pid, b, pid + 1, cpu, 12)), record(5000, switch(a, pid, 1, b, pid + 1)),
                    record(5000, switch(b, pid + 1, 1, idle, 0))]
    return a_page(ts, records)


SECOND = 1000000000


def two_cpus(pages=4):
    return [[busy_page(cpu, (i + 1) * SECOND, pid=100 + 10 * cpu) for i in range(pages)] for cpu in (0, 1)]


# ---- containers ----

def join(parts):
    return b"".join(parts)


def text(f):
    return f if isinstance(f, bytes) else f.encode("latin-1")


def sized(parts):
    return join(u64(len(text(f))) + text(f) for f in parts)


def header_texts(page_size):
    page, event = (HEADER_PAGE % (page_size - 16)).encode(), HEADER_EVENT.encode()
    return b"header_page\0" + u64(len(page)) + page + b"header_event\0" + u64(len(event)) + event


def format_sections(events):
    return u32(len(events)) + join(s.encode() + b"\0" + u32(len(f)) + sized(f) for s, f in events.items())


def v6(cpus, page_size=PAGE, events=None, ftrace=(PRINT,), cmdlines=b"", options=(), regions=None):
    """regions: (offset behind the first page of data, bytes) for each CPU, in place of the true ones"""
    out = MAGIC + b"6\0" + b"\0\x08" + u32(page_size) + header_texts(page_size) + u32(len(ftrace)) + sized(ftrace)
    out += format_sections(events or formats()) + u32(0) + u32(0) + u64(len(cmdlines)) + cmdlines
    data = [join(pages) for pages in cpus]
    if regions is None:
        regions, at = [], 0
        for d in data:
            regions.append((at, len(d)))
            at += len(d)
    out += u32(len(regions))
    if options:
        out += b"options  \0" + join(option(*o) for o in options) + u16(0)
    out += b"flyrecord\0"
    start = len(out) + 16 * len(regions)
    start += -start % page_size
    out += join(u64(start + at) + u64(n) for at, n in regions)
    return out.ljust(start, b"\0") + join(data)


def option(number, data):
    return u16(number) + u32(len(data)) + data


def compressed(data, claim=None):
    z = zlib.compress(data, 9)
    return u32(len(z)) + u32(len(data) if claim is None else claim) + z


def section(number, payload, zlib_too, size=None):
    if zlib_too:
        payload = compressed(payload)
    return u16(number) + u16(1 if zlib_too else 0) + u32(0) + u64(len(payload) if size is None else size) + payload


class V7:
    """A version 7 file, piece by piece: sections, data, options."""

    def __init__(self, zlib_too=False, page_size=PAGE):
        self.zlib, self.page = zlib_too, page_size
        self.out = MAGIC + b"7\0" + b"\0\x08" + u32(page_size) + (b"zlib" if zlib_too else b"none") + b"\0" + b"1.0\0"
        self.options_at = len(self.out)
        self.out += u64(0)
        self.options = b""

    def add(self, number, payload):
        self.options += option(number, u64(len(self.out)))
        self.out += section(number, payload, self.zlib)
        return self

    def metadata(self, events=None, cmdlines=b""):
        self.add(HEADER_INFO, header_texts(self.page))
        self.add(FTRACE_EVENTS, u32(1) + sized((PRINT,)))
        self.add(EVENT_FORMATS, format_sections(events or formats()))
        return self.add(CMDLINES, u64(len(cmdlines)) + cmdlines)

    def data(self, cpus, chunks=None, regions=None, name=b"", clock=b"local"):
        """chunks: pages -> what stands in the file; regions: changes the list of (CPU, offset, bytes)"""
        at = len(self.out)
        start, body, true = at + 16 + (-(at + 16) % self.page), b"", []
        for cpu, pages in enumerate(cpus):
            d = join(pages)
            if self.zlib:
                d = chunks(pages) if chunks else u32(1) + compressed(d)
            true.append((cpu, start + len(body), len(d) - (4 if self.zlib else 0)))
            body += d + b"\0" * (-len(d) % self.page)
        self.out += u16(BUFFER) + u16(1 if self.zlib else 0) + u32(0) + u64(start - at - 16 + len(body))
        self.out = self.out.ljust(start, b"\0") + body
        rows = regions(true) if regions else true
        self.options += option(BUFFER, u64(at) + name + b"\0" + clock + b"\0" + u32(self.page) + u32(len(rows)) +
                               join(u32(c) + u64(o) + u64(n) for c, o, n in rows))
        return self

    def option(self, number, payload):
        self.options += option(number, payload)
        return self

    def end(self, before=(), slot=1 << 16, done=lambda at: option(0, u64(0))):
        """before: options sections in front of the true one, each in slot bytes"""
        first = len(self.out)
        for payload in before:
            body = payload + option(0, u64(len(self.out) + slot))
            self.out += section(OPTIONS, body, self.zlib).ljust(slot, b"\0")
        self.out += section(OPTIONS, self.options + done(len(self.out)), self.zlib)
        return self.out[:self.options_at] + u64(first) + self.out[self.options_at + 8:]


def v7(cpus, zlib_too=False, **kw):
    return V7(zlib_too).metadata().data(cpus, **kw).end()
