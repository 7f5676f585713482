# SPDX-License-Identifier: GPL-2.0-or-later
"""Writes saved workloads (doc/workload.md) in which every number may be a lie. Used by test_attack_workload.py."""
import struct
import zlib

NONE = 0xffffffff
UNKNOWN = 0xffff  # a latency
RUN, WAKE, BLOCK, SLEEP, UNSEEN, TAKE, YIELD, FORK, EXEC, RENICE, STALL, RESUME, EXIT, END = range(14)
RUNNING, RUNNABLE, BLOCKED, UNBORN = range(4)
VERSION, KINDS, FACTS = 2, 8, 27
MS, SECOND = 1000000, 1000000000


def u16(v):
    return struct.pack("<H", v & 0xffff)


def u32(v):
    return struct.pack("<I", v & 0xffffffff)


def u64(v):
    return struct.pack("<Q", v & 0xffffffffffffffff)


def text(s):
    if s is None:
        return u32(NONE)
    s = s if isinstance(s, bytes) else s.encode()
    return u32(len(s)) + s


def cpu_set(cpus, nr_cpus):
    bits = sum(1 << c for c in cpus)
    return bits.to_bytes((nr_cpus + 63) // 64 * 8, "little")


def topology(cores, threads=1, online=None, domains=True, source="evil"):
    """One package with one cache; the threads of a core have neighbouring numbers. domains: None none, else one of all CPUs."""
    nr = cores * threads
    every = lambda f: b"".join(u32(f(c)) for c in range(nr))
    all_ = cpu_set(range(nr), nr)
    out = u32(nr) + u32(0) + text(source) + text("")
    out += all_ + (all_ if online is None else cpu_set(online, nr)) + cpu_set((), nr)
    out += every(lambda c: c // threads) * 2 + every(lambda c: 0) * 3       # core, cluster; cache, node, machine
    out += every(lambda c: 0)                                               # package
    out += every(lambda c: c // threads) + every(lambda c: 0) * 2           # ids of core, package, node
    out += every(lambda c: 1024) + every(lambda c: nr) + every(lambda c: int(bool(domains)))
    if domains:
        out += (text("MC") + all_ + u32(0x2ff) + u32(117)) * nr
    return out + u32(0)


def noise(gap=UNKNOWN, transit=UNKNOWN, start=UNKNOWN, kind=0, flags=0):
    return u16(gap) + u16(transit) + u16(start) + u16(kind | flags << 8)


def op(kind, target=0, work=1000, value=0):
    """value: a number, or the bytes of a latency"""
    return u32(work) + u32(kind | target << 5) + (value if isinstance(value, bytes) else u64(value))


def wake(counter, work=1000, latency=None):
    return op(WAKE, counter, work, latency or noise())


def fork(task, work=1000):
    return op(FORK, task, work, noise())


def task(ops, pid=100, tgid=0, comm="evil", cgroup=None, prio=120, policy=0, start=RUNNABLE, bits=0, cpu=0, parent=NONE, allowed=NONE, start_ns=0, ran=0):
    """Returns (the task, its tape). A tape without an end gets one."""
    if not ops or ops[-1][4] & 31 not in (EXIT, END):
        ops = ops + [op(END, work=0)]
    head = u32(pid) + u32(tgid) + text(comm) + text(cgroup) + u16(prio) + u16(policy) + u32(start | bits)
    return head + u32(cpu) + u32(parent) + u32(allowed) + u64(start_ns) + u64(len(ops)) + u64(ran), ops


def sleep(length, wake_ns, cpu=0, context=2, own=True, timer=True):
    return u64(length) + u64(wake_ns) + u32(cpu) + u32(context | own << 8 | timer << 9) + noise()


def array(things):
    things = list(things)
    return u64(len(things)) + b"".join(things)


def hist(buckets=(), low=0, high=0):
    return u64(0) + u64(low) + u64(high) + u64(len(buckets)) + b"".join(map(u64, buckets))


def tally(nr_cpus, groups, packages=1, numbers=(0,) * 16):
    return b"".join(map(u64, numbers)) + u64(0) * 5 + hist() * 2 + u64(0) * (nr_cpus + sum(groups) + packages)


def contents(tasks, cores=2, threads=1, machine=None, kernel=(6, 1), hz=0, window=SECOND, speed=1024, host=0, edge=0, lost=(0, 0), source="evil", facts=(0,) * FACTS,
             masks=(), counters=(), sleeps=(), draws=None, end=None):
    """counters: pairs of numbers. draws: the 3 * KINDS lists of latencies. end: in place of the tally."""
    tasks, tapes = zip(*tasks) if tasks else ((), ())
    pair = lambda p: u32(p[0]) + u32(p[1])
    out = u32(kernel[0] << 16 | kernel[1] << 8) + u32(hz) + u64(window) + u32(speed) + u32(host) + u32(edge) + u64(lost[0]) + u64(lost[1]) + text(source)
    out += b"".join(map(u64, facts)) + (topology(cores, threads) if machine is None else machine)
    out += array(masks) + array(map(pair, counters)) + array(sleeps)
    out += b"".join(array(d) for d in draws or [()] * (3 * KINDS))
    out += array(tasks) + array(o for tape in tapes for o in tape)
    return out + (tally(cores * threads, (cores, cores, 1, 1, 1)) if end is None else end)


def frame(data):
    """A zstd frame of blocks that are not compressed; those of one byte repeated are."""
    out = struct.pack("<IBBQ", 0xfd2fb528, 0xc0, 0x58, len(data))  # a window of 2 MiB, the size in 8 bytes
    blocks = [data[i:i + 131072] for i in range(0, len(data), 131072)] or [b""]
    for i, block in enumerate(blocks):
        last, same = i + 1 == len(blocks), len(block) > 1 and block.count(block[:1]) == len(block)
        out += (last | same << 1 | len(block) << 3).to_bytes(3, "little") + (block[:1] if same else block)
    return out


def saved(data, version=VERSION, crc=None, size=None, packed=None, magic=b"wakeifwl"):
    body = frame(data)
    return (magic + u32(version) + u32(zlib.crc32(data) if crc is None else crc) + u64(len(data) if size is None else size)
            + u64(len(body) if packed is None else packed) + body)
