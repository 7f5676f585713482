#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""Files made to do harm: whatever they hold, wakeif ends soon, in little memory, with a status of the contract and one line that names what is wrong."""
import csv
import gzip
import json
import os
import random
import re
import resource
import struct
import subprocess
import tarfile
import tempfile
import unittest
from io import BytesIO

import evil
from evil import join
from cli import WAKEIF, Cli, stacked

SECOND = evil.SECOND
CPU_SECONDS = 10
DATA_BYTES = 200 << 20  # of memory that is written to; not under AddressSanitizer, which has some of its own
TWO = "pack:1 l3:1 core:1 pu:2"


def sanitized():
    with open(WAKEIF, "rb") as f:
        return b"__asan_init" in f.read()


SANITIZED = sanitized()


def limits():
    resource.setrlimit(resource.RLIMIT_CPU, (CPU_SECONDS * (6 if SANITIZED else 1),) * 2)
    if not SANITIZED:
        resource.setrlimit(resource.RLIMIT_DATA, (DATA_BYTES, DATA_BYTES))


class Attack(Cli):
    def attack(self, data, *args, status=None, says=None, name="evil.dat"):
        """Runs wakeif on the data. Returns (status, stdout, stderr)."""
        path = self.write(name, data) if data is not None else None
        argv = [WAKEIF, *(args or ("report", "--json")), "-q", *([path] if path else [])]
        with tempfile.TemporaryFile() as out, tempfile.TemporaryFile() as err:
            got = subprocess.run(argv, stdin=subprocess.DEVNULL, stdout=out, stderr=err, cwd=self.dir, preexec_fn=limits, timeout=120,
                                 env=dict(os.environ, LSAN_OPTIONS=os.environ.get("LSAN_OPTIONS", "") + ":print_suppressions=0")).returncode
            out.seek(0)
            err.seek(0)
            stdout, stderr = out.read(), err.read().decode("utf-8", "surrogateescape")
        what = "status %d: %s" % (got, stderr[:2000])
        self.assertIn(got, (0, 1, 2, 3, 4) if status is None else (status,), what)
        self.assertEqual(len(stderr.splitlines()), 1 if got else 0, what)
        self.assertTrue(not got or stderr.startswith("wakeif: "), what)
        if got == 3:
            self.assertEqual(stdout, b"", what)
        if says:
            self.assertIn(says, stderr)
        return got, stdout, stderr

    def report(self, data, status=0, says=None, topology=TWO):
        out = self.attack(data, "report", "--json", *(("--topology", topology) if topology else ()), status=status, says=says)[1]
        j = json.loads(out)
        self.assertEqual(j["input"][0]["damaged"], status == 4)
        return j


class Containers(Attack):
    def test_the_writer_writes_whole_files(self):
        for data in (evil.v6(evil.two_cpus()), evil.v7(evil.two_cpus()), evil.v7(evil.two_cpus(), True)):
            j = self.report(data)
            self.assertEqual(j["wakeups"]["total"], 64)

    def test_long_pieces_of_compressed_sections(self):
        """More than 64 KiB in one piece: an option, and the names of tasks."""
        for number in (5, 4, 999):
            data = evil.V7(True).metadata().data(evil.two_cpus()).option(number, b"x" * 100000).end()
            self.report(data)
        waker_only = [evil.two_cpus()[0], [evil.a_page(SECOND, [evil.record(1000, evil.waking(777, "beta", 101, 0))])]]
        names = b"".join(b"%d name%d\n" % (i, i) for i in range(1, 20000))
        for zlib_too in (False, True):
            data = evil.V7(zlib_too).metadata(cmdlines=names).data(waker_only).end()
            _, out, _ = self.attack(data, "events", status=0)
            self.assertIn(b"name777:777", out)

    def test_options_that_inflate(self):
        """Each section of options inflates to 20 MB; twelve of them once took seconds, and thousands fit into a small file."""
        for piece in (evil.option(99, b""), evil.option(5, b"a b c " * 600000)):
            bomb = piece * ((20 << 20) // len(piece))
            data = evil.V7(True).metadata().data(evil.two_cpus()).end(before=[bomb] * 12, slot=120000)
            self.report(data, status=4, says="options cannot be read")

    def test_option_chains(self):
        for done, says in ((lambda at: evil.option(0, evil.u64(at)), "backward"), (lambda at: evil.option(0, evil.u64(16)), "backward"),
                           (lambda at: evil.option(0, evil.u64(1 << 62)), "options cannot be read: no options section: the file ends at"),
                           (lambda at: evil.option(0, evil.u64(at + 6)), "options cannot be read: "), (lambda at: b"", "end mark")):
            for zlib_too in (False, True):
                self.report(evil.V7(zlib_too).metadata().data(evil.two_cpus()).end(done=done), status=4, says=says)

    def test_many_instances_of_many_cpus(self):
        """250 instances that share one table of 65,536 CPUs: 500 MB of tables if all were kept."""
        def build(at):
            return evil.v6(evil.two_cpus(), options=[(3, evil.u64(at) + b"i%d\0" % i) for i in range(250)], regions=[(0, 0)] * 65536)

        data = build(build(0).index(b"flyrecord\0"))
        self.attack(data, status=3)

    def test_a_sub_buffer_each(self):
        """200 CPUs, each with a sub-buffer of 1 MiB."""
        size, nr = 1 << 20, 200
        head = evil.v6([], page_size=size, regions=[(i * size, size) for i in range(nr)])
        path = self.write("pages.dat", head)
        with open(path, "r+b") as f:
            for i in range(nr):
                f.seek(len(head) + i * size)
                f.write(evil.a_page(SECOND, [evil.record(1000, evil.switch("swapper/%d" % i, 0, 0, "a", 7))], 256))
            f.truncate(len(head) + nr * size)
        self.attack(None, "report", path, status=3, says="too large to read")

    def test_time_shifts(self):
        most = (1 << 63) - 1
        for low, high in ((-most - 1, most), (most, -most - 1), (most, most), (-5, 5)):
            samples = struct.pack("<QQqqQQQQ", 0, 1 << 63, low, high, 1, 1, 0, 0)
            shift = evil.u64(1) + evil.u32(1) + evil.u32(1) + evil.u32(2) + samples
            self.attack(evil.v6(evil.two_cpus(), options=[(12, shift)]), status=0)


class Library(Attack):
    """libtracecmd believes what a file says, and is killed by it; never our own process."""

    def test_damaged_files(self):
        whole = evil.v6(evil.two_cpus(), cmdlines=b"100 alpha\n101 beta\n", options=[(5, b"Linux h 6.1.0 x86_64\0")])
        for data in (whole, evil.v7(evil.two_cpus())):
            self.assertIn(b"through libtracecmd", self.attack(data, "report", "--reader=libtracecmd", "--topology", TWO, status=0)[1])
        # the last data are missing: one of the ways to kill it
        self.attack(whole[:-evil.PAGE // 2], "report", "--reader=libtracecmd", status=3, says="libtracecmd fails on this file: it ")
        rng = random.Random(5)
        for data in (whole, evil.v7(evil.two_cpus()), evil.v7(evil.two_cpus(), True)):
            for _ in range(40):
                bad = bytearray(data)
                for _ in range(rng.choice((1, 3, 20))):
                    at = rng.randrange(len(bad) - 8)
                    bad[at:at + rng.choice((1, 8))] = rng.choice((b"\xff" * 8, b"\0", b"\x80", rng.randbytes(3)))
                if rng.random() < 0.2:
                    del bad[rng.randrange(len(bad)):]
                self.attack(bytes(bad), "report", "--reader=libtracecmd")


class Data(Attack):
    def test_cpus_that_share_data(self):
        one = len(b"".join(evil.two_cpus()[0]))
        for regions in ([(0, one), (0, one)], [(0, one + evil.PAGE), (one, one)], [(0, 2 * one), (one, one)], [(one, one), (0, one + 1)]):
            self.report(evil.v6(evil.two_cpus(), regions=regions), status=4, says="begin inside them")
        for zlib_too in (False, True):
            data = evil.v7(evil.two_cpus(), zlib_too, regions=lambda r: [(cpu, r[0][1], r[0][2]) for cpu, _, _ in r])
            self.report(data, status=4, says="begin inside them")

    def test_pages_of_zeros(self):
        """What a file system leaves of a file that it could not write out before a crash."""
        for at in (0, 2, 3):
            cpus = evil.two_cpus()
            cpus[0][at] = bytes(evil.PAGE)
            for data in (evil.v6(cpus), evil.v7(cpus, True)):
                j = self.report(data, status=4, says="sub-buffer skipped: empty")
                self.assertEqual(j["wakeups"]["total"], 56)

    def test_time_stamps_of_pages(self):
        """One bit of a page's time stamp is wrong: the page is left out, not the rest of the trace moved to its time."""
        whole = self.report(evil.v6(evil.two_cpus(12)))["window"]["end_ns"]
        for at in (1, 5, 9):
            for bit in (62, 40, 33):
                cpus = evil.two_cpus(12)
                cpus[0][at] = evil.u64(struct.unpack_from("<Q", cpus[0][at])[0] ^ 1 << bit) + cpus[0][at][8:]
                for data in (evil.v6(cpus), evil.v7(cpus, True)):
                    j = self.report(data, status=4, says="out of order")
                    self.assertEqual(j["wakeups"]["total"], 2 * 12 * 8 - 8)
                    self.assertEqual(j["window"]["end_ns"], whole)
        cpus = evil.two_cpus(12)
        cpus[0][5] = evil.u64(7) + cpus[0][5][8:]
        self.assertEqual(self.report(evil.v6(cpus), status=4, says="out of order")["wakeups"]["total"], 2 * 12 * 8 - 8)

    def test_time_within_pages(self):
        """Records that move their CPU's time beyond the next page, or back."""
        start, end = (evil.record(10, evil.switch("swapper/0", 0, 0, "alpha", 100)), evil.record(10, evil.switch("alpha", 100, 1, "swapper/0", 0)))
        whole = self.report(evil.v6(evil.two_cpus(12)))["window"]["end_ns"]
        for wrong in (evil.time_extend(1 << 58), evil.time_stamp(1000), evil.time_extend((1 << 59) - 1) * 40, evil.time_stamp(1 << 58)):
            cpus = evil.two_cpus(12)
            cpus[0][5] = evil.a_page(6 * SECOND, [start, wrong, end])
            j = self.report(evil.v6(cpus), status=4, says="time stamp out of order")
            self.assertEqual(j["window"]["end_ns"], whole)

    @staticmethod
    def stat(cpu, now):
        return 2, b"CPU: %d\nentries: 9\noverrun: 0\ncommit overrun: 0\nbytes: 5000\noldest event ts:     1.000000\nnow ts: %s\ndropped events: 0\nread events: 0\n" % (cpu, now)

    def test_time_behind_the_end(self):
        """The last sub-buffer of a CPU, or records in it, later than the clock was when the recording had ended."""
        stats = [self.stat(0, b"    5.000000"), self.stat(1, b"    5.250000")]
        idle = evil.record(10, evil.switch("alpha", 100, 1, "swapper/0", 0))
        start = evil.record(10, evil.switch("swapper/0", 0, 0, "alpha", 100))
        whole = self.report(evil.v6(evil.two_cpus(), options=stats))["window"]["end_ns"]
        for last, says in ((evil.busy_page(0, 4 * SECOND ^ 1 << 35), "behind the recording's end"), (evil.busy_page(0, 1 << 62), "behind the recording's end"),
                           (evil.busy_page(0, 7 * SECOND), "behind the recording's end"),
                           (evil.a_page(4 * SECOND, [start, evil.time_extend(1 << 34), idle]), "time stamp out of order")):
            cpus = evil.two_cpus()
            cpus[0][-1] = last
            j = self.report(evil.v6(cpus, options=stats), status=4, says=says)
            self.assertEqual(j["window"]["end_ns"], whole)
        cpus[0][-1] = evil.busy_page(0, 6 * SECOND)  # within the margin
        self.report(evil.v6(cpus, options=stats))
        for now in (b"", b"x", b"99999999999999999999.5", b"5", b"-1.5"):
            self.attack(evil.v6(cpus, options=[self.stat(0, now)]), status=4 if now == b"5" else 0)
        # an instance has a clock of its own
        self.report(evil.v6(evil.two_cpus(), options=[(2, b"\nBuffer: other\n\n"), self.stat(0, b"0.1")]))

    def test_silence(self):
        """Where nothing can tell a damaged time stamp from a long silence, the silence is told."""
        self.assertNotIn("note", self.report(evil.v6(evil.two_cpus(12)))["quality"])
        for at, ts, ns in ((-1, 12 * SECOND | 1 << 38, "275 s"), (0, (1 << 38) - SECOND, "274 s")):
            base = 1 << 38 if at == 0 else 0
            cpus = [[evil.busy_page(cpu, base + (i + 1) * SECOND, pid=100 + 10 * cpu) for i in range(12)] for cpu in (0, 1)]
            cpus[0][at] = evil.busy_page(0, ts if at else SECOND)
            j = self.report(evil.v6(cpus))
            self.assertRegex(j["quality"]["note"], "nothing was recorded on any CPU for 27[0-9] s.*a time stamp is damaged")

    def test_events_with_one_id(self):
        for name, number in (("sched_waking", 10), ("sched_other", 10), ("sched_other", 12)):
            events = evil.formats()
            events["sched"] = [f.replace("ID: 11", "ID: %d" % number) if name in f else f for f in events["sched"]]
            events["other"] = [evil.a_format("sched_other", number if name == "sched_other" else 99, ()), evil.a_format("twin", 99, ()), evil.a_format("twin", 99, ())]
            for order in (events, dict(reversed(events.items()))):
                for data in (evil.v6(evil.two_cpus(), events=order), evil.V7(True).metadata(events=order).data(evil.two_cpus()).end()):
                    self.attack(data, status=3, says="another event has its ID too: %d" % number)

    def test_times_at_the_ends_of_the_clock(self):
        for first in (0, (1 << 63) - 2 * SECOND, (1 << 64) - 6 * SECOND):
            cpus = [[busy for busy in pages] for pages in evil.two_cpus()]
            for pages in cpus:
                for i, page in enumerate(pages):
                    pages[i] = evil.u64(first + i * SECOND + 1) + page[8:]
            for args in (("report", "--json"), ("report",), ("events",), ("wakeups",), ("smt",), ("affine",)):
                self.attack(evil.v6(cpus), *args, "--topology", TWO, status=0)

    def test_chunks_that_inflate(self):
        """A megabyte that unpacks to one gigabyte, then to many: read so far as a trace could be compressed."""
        zeros = evil.compressed(bytes(8 << 20))

        def bomb(pages):
            body = [evil.compressed(join(pages))] + [zeros] * 128
            return evil.u32(len(body)) + join(body)

        j = self.report(evil.v7(evil.two_cpus(), True, chunks=bomb), status=4, says="sub-buffer skipped: empty")
        self.assertEqual(j["wakeups"]["total"], 64)
        self.assertIn("a trace is not compressed so much", j["input"][0]["damage"][1]["what"])

    def test_nothing_left(self):
        """All data damaged: that is said, not that there were no events."""
        cpus = evil.two_cpus()
        data = evil.v7(cpus, True, chunks=lambda pages: evil.u32(1) + evil.compressed(b"".join(pages), claim=100))
        self.attack(data, status=3, says="no scheduler events could be read: CPU 0: chunk skipped")


class Text(Attack):
    def test_long_lines(self):
        """A line of more than 64 KiB: names what it does not read of a sched line, steps over the rest."""
        lines = stacked().text().splitlines()
        junk = "\n".join(lines[:4] + ["x" * 5000000] + lines[4:]) + "\n"
        self.attack(junk.encode(), status=0, name="junk.txt")
        lines[6] += " " + "y" * 5000000
        self.attack(("\n".join(lines) + "\n").encode(), status=4, says="rest of a long line", name="long.txt")

    def test_cpu_numbers(self):
        """Without a topology the machine is made of the numbers in the trace: one that is damaged must not make thousands of idle CPUs."""
        lines = stacked().text().splitlines()  # 4 CPUs
        wakeup = max(i for i, line in enumerate(lines) if "sched_waking" in line)

        def with_cpu(cpu, shown=0, header=0, target=False):
            text = list(lines)
            text[wakeup] = re.sub("target_cpu=[0-9]+", "target_cpu=%d" % cpu, text[wakeup]) if target else re.sub(r"\[[0-9]+\]", "[%03d]" % cpu, text[wakeup])
            stamp = float(re.search(r"([0-9]+\.[0-9]+): sched", text[-1]).group(1))
            text += [" x-9 [%03d] d... %.6f: sched_waking: comm=x pid=9 prio=120 target_cpu=%d" % (i, stamp + 1, i) for i in range(4, shown)]
            return ("# tracer: nop\n#P:%d\n" % header if header else "") + "\n".join(text) + "\n"

        for cpu, kw in ((511, {}), (1279, dict(shown=20)), (4095, dict(shown=64)), (8191, dict(shown=128)), (1279, dict(header=1280)), (4095, dict(header=64))):
            for target in (False, True):
                self.attack(with_cpu(cpu, target=target, **kw).encode(), status=0, name="t.txt")
        for cpu, kw in ((512, {}), (7000, {}), (20000, {}), (32767, {}), (65535, {}), (4095, dict(header=8))):
            for target in (False, True):
                self.attack(with_cpu(cpu, target=target, **kw).encode(), status=3, says="a record names CPU %d among" % cpu, name="t.txt")
        self.attack(with_cpu(8192, shown=500).encode(), status=3, says="impossible number of CPUs: 8193", name="t.txt")
        self.attack(with_cpu(1279).encode(), "report", "--topology", "pu:1280", status=0, name="t.txt")
        cpus = evil.two_cpus()
        cpus[0][1] = evil.a_page(2 * SECOND, [evil.record(10, evil.waking(100, "x", 5, 20000))])
        self.attack(evil.v6(cpus), status=3, says="CPU 20000 among 2")

    def test_messages_are_harmless(self):
        hostile = "a\x1b[31m\u009b31m\u202e\u2066\ufeff-1 [000] d... 0.1: sched_switch: prev_comm="
        text = stacked().text() + hostile + "\n"
        for data in (text.encode(), text.encode() + b"\x9b31m sched_waking: \xff\n"):
            for args in (("report",), ("events",), ("wakeups",), ("topology",), ("latency",), ("smt",)):
                _, out, err = self.attack(data, *args, status=4, name="a\u202eb\u009bc.txt")
                for text_out in (err, out.decode()):
                    self.assertNotRegex(text_out, self.HOSTILE)

    HOSTILE = "[\x00-\x08\x0b-\x1f\x7f-\x9f\u200b-\u200f\u202a-\u202e\u2066-\u2069\ufeff\U000e0041]"

    def test_names_are_harmless(self):
        """In every kind of output; JSON and CSV hold the name so that it can be had back."""
        name = "\x1b[2J\n\u202e\u009b\U000e0041\\"  # 16 bytes
        whole = name.encode()[:15] + b"\0"
        cpus = [[evil.busy_page(cpu, (i + 1) * SECOND, a=name, b=",\"\xff".encode("latin-1"), pid=100 + 10 * cpu) for i in range(4)] for cpu in (0, 1)]
        for args in (("report",), ("wakeups",), ("latency", "--by", "task"), ("smt",), ("affine",), ("events",)):
            for kind in ((), ("--json",), ("--csv",)):
                if args[0] == "events" and kind == ("--csv",):
                    continue
                out = self.attack(evil.v6(cpus), *args, *kind, "--topology", TWO, status=0)[1].decode()
                self.assertNotRegex(out, self.HOSTILE)
        out = self.attack(evil.v6(cpus), "wakeups", "--worst", "100", "--csv", "--topology", TWO, status=0)[1].decode()
        rows = list(csv.DictReader(out.splitlines()))
        self.assertEqual(len(rows), 64)
        self.assertEqual({r["comm"] for r in rows}, {',"\\xff'})
        back = {r["waker_comm"].encode().decode("unicode_escape") for r in rows}
        self.assertEqual(back, {whole.rstrip(b"\0").decode()})
        out = self.attack(evil.v6(cpus), "wakeups", "--json", "--topology", TWO, status=0)[1].decode()
        self.assertEqual({json.loads(line)["waker_comm"] for line in out.splitlines()}, {whole.rstrip(b"\0").decode()})


class Side(Attack):
    """Markers in the trace, lists of tasks."""

    def with_markers(self, texts):
        cpus, records, size = evil.two_cpus(), [], 0
        pages = []
        for text in texts:
            r = evil.record(10, evil.marker(100, text + b"\n"))
            if size + len(r) > evil.PAGE - 100:
                pages.append(records)
                records, size = [], 0
            records.append(r)
            size += len(r)
        pages.append(records)
        cpus[0] = [evil.a_page(SECOND // 2 + 1000 * i, p) for i, p in enumerate(pages)] + cpus[0]
        return evil.v6(cpus)

    @staticmethod
    def chunk(name, nr, total, payload):
        return b"wakeif/1 %s %d/%d %s|" % (name, nr, total, payload)

    def test_marker_bombs(self):
        """A line of text that stands for 65,536 files, in a thousand sets; sets of many chunks that never come."""
        records = [b"0-65535@b%d%%=;" % k for k in range(17)]
        for texts, status in (([self.chunk(b"s%d" % i, 1, 1, b"".join(records[:15])) for i in range(1000)], 3),
                              ([self.chunk(b"s%d" % i, 1, 1, b"".join(records)) for i in range(1000)], 0),
                              ([self.chunk(b"s%d" % i, 1, 65536, b"x") for i in range(50000)], 0)):
            self.attack(self.with_markers(texts), "report", status=status)

    def test_marker_headers(self):
        for text in (self.chunk(b"a", 1, 4294967295, b"x"), self.chunk(b"a", 5, 2, b"x"), self.chunk(b"a", 0, 0, b"x"), b"wakeif/1 a -1/-1 x|",
                     b"wakeif/99999999999999999999 a 1/1 x|", self.chunk(b"a" * 900, 1, 1, b"x"), self.chunk(b"a", 1, 1, b"@a=\\x;@b=\\"),
                     self.chunk(b"a", 1, 1, b"@../../etc/passwd=1;"), self.chunk(b"a", 1, 1, b"0-4294967295@a%=1;"), self.chunk(b"a", 1, 1, b"@@@@;;;;")):
            self.attack(self.with_markers([text]), "report", status=0)

    def tasks(self, text, **kw):
        path = self.write("evil.tasks", text)
        self.attack(None, "report", "--tasks", path, self.write("t.txt", stacked().text()), **kw)

    def test_task_bombs(self):
        self.tasks(b"tid\n" + b"123456\n" * 2000000, status=3, says="more than 1,048,576 tasks")
        self.tasks(b"tid\tallowed\n" + b"".join(b"%d\t0,%d,65534\n" % (i, i) for i in range(1, 60000)), status=3, says="too many different lists")
        self.tasks(b"tid\tallowed\n" + b"".join(b"%d\t0,%d\n" % (i, i % 1000) for i in range(1, 200000)), status=0)
        rows = [b"%d\tname%d\t0-%d\t/system.slice/%d\n" % (i, i % 5000, i % 100, i % 300) for i in range(1, 1 << 20)]
        for order in (rows, rows[::-1]):
            self.tasks(b"tid\tcomm\tallowed\tcgroup\n" + b"".join(order), status=0)
        for cell in (b"0-4294967295", b"9-3", b"-1", b"\x1b[31m", b"0," * 100000 + b"x"):
            self.tasks(b"tid\tallowed\n5\t" + cell + b"\n", status=3, says="line 2: not a CPU list")


class Topology(Attack):
    def tar(self, files):
        out = BytesIO()
        with tarfile.open(fileobj=out, mode="w:gz") as t:
            for name, content in files.items():
                info = tarfile.TarInfo("sys/devices/system/cpu/" + name)
                info.size = len(content)
                t.addfile(info, BytesIO(content))
        return out.getvalue()

    def test_many_cpus_each_on_its_own(self):
        """20,000 CPUs that a list says are there: each an LLC of its own, which were drawn in cubic time."""
        files = {"online": b"0-19999\n", "present": b"0-1\n"}
        for cpu in (0, 1):
            files["cpu%d/topology/core_id" % cpu] = b"0\n"
            files["cpu%d/topology/physical_package_id" % cpu] = b"0\n"
            files["cpu%d/topology/thread_siblings_list" % cpu] = b"0-1\n"
        for args in (("topology",), ("topology", "--json")):
            self.attack(self.tar(files), *args, status=0, name="many.tar.gz")

    def test_synthetic_bounds(self):
        for spec in ("pu:8193", "pu:65535", "pack:100 core:100 pu:2"):
            self.attack(None, "topology", spec, status=3, says="impossible number of CPUs")
        for spec in ("pu:4(indexes=4294967295,1,2,3)", "pu:2(indexes=2*4294967295)", "pack:2(indexes=1,99999999999999999999) pu:1"):
            self.attack(None, "topology", spec, status=3, says="impossible CPU number")
        for spec in ("pu:4096", "core:1024 pu:2", "numa:1024 pu:2", "numa:64 l3:2 core:8 pu:2"):
            self.attack(None, "topology", "--csv", spec, status=0)
        self.attack(None, "topology", "numa:1025 pu:1", status=3, says="impossible number of nodes")
        self.attack(None, "topology", "pack:2(indexes=1,0) core:2 pu:2(indexes=0,4,1,5,2,6,3,7)", status=0)

    def test_what_is_no_file(self):
        os.mkfifo(self.path("fifo"))
        trace = self.write("t.txt", stacked().text())
        self.attack(None, "report", "--topology", "/dev/zero", trace, status=3, says="neither a file nor a folder")
        for command in ("report", "topology"):
            self.attack(None, command, "/dev/zero", status=3, says="not a trace")
        self.attack(None, "report", "--tasks", "/dev/zero", trace, status=3, says="neither a file nor a folder")
        self.attack(None, "report", "--tasks", self.dir, trace, status=3, says="a folder, not a file")
        # what lies beside a trace is not the user's choice
        os.mkfifo(self.path("t.tasks"))
        os.mkfifo(self.path("t.topology.tar.gz"))
        self.attack(None, "report", trace, status=0)

    def test_pipes(self):
        """Side files may be pipes, as the shell's <(command) is; one that nobody writes to is not waited for in silence."""
        trace = self.write("t.txt", stacked().text())
        tasks = b"tid\tcomm\tallowed\n" + b"".join(b"%d\tname\t0-2\n" % i for i in range(1, 20000))
        tar = self.tar({"online": b"0-3\n", **{"cpu%d/topology/core_id" % i: b"%d\n" % i for i in range(4)}})
        self.write("tasks", tasks)
        for source in (self.write("a.tar.gz", tar), self.write("b.txt", b"# CPU,Core,Socket\n0,0,0\n1,1,0\n2,2,0\n3,3,0\n")):
            command = "exec %s report --json --topology <(cat %s) --tasks <(cat %s) %s" % (WAKEIF, source, self.path("tasks"), trace)
            p = subprocess.run(["bash", "-c", command], stdout=subprocess.PIPE, stderr=subprocess.PIPE)
            self.assertEqual((p.returncode, p.stderr), (0, b""))
            j = json.loads(p.stdout)
            self.assertIn("/dev/fd/", j["topology"]["source"])
            self.assertGreater(j["quality"]["allowed"]["recorded"], 0)
        for what, says in (("true", "empty"), ("head -c 70000000 /dev/zero", "brings too much")):
            for option in ("--topology", "--tasks"):
                p = subprocess.run(["bash", "-c", "exec %s report -q %s <(%s 2>&-) %s" % (WAKEIF, option, what, trace)], stdout=subprocess.PIPE, stderr=subprocess.PIPE)
                self.assertEqual((p.returncode, p.stdout), (3, b""), p.stderr)
                self.assertIn(says, p.stderr.decode())
        os.mkfifo(self.path("fifo"))
        self.attack(None, "report", "--tasks", self.path("fifo"), trace, status=1, says="nobody writes to this pipe: waited 5 seconds")
        p = subprocess.run(["bash", "-c", "(sleep 1; cat tasks >fifo) & exec %s report -q --tasks fifo %s" % (WAKEIF, trace)], cwd=self.dir, stderr=subprocess.PIPE, stdout=subprocess.PIPE)
        self.assertEqual((p.returncode, p.stderr), (0, b""))

    def test_topology_of_a_damaged_trace(self):
        self.attack(evil.v6(evil.two_cpus())[:-evil.PAGE], "topology", status=4, says="file ends before its data")


def unprivileged():
    limits()
    if os.geteuid() == 0:
        os.setgroups([])
        os.setgid(65534)
        os.setuid(65534)


class Permissions(Attack):
    """As a user who may not do everything: one line that names the file and the reason, status 1."""

    def refused(self, args, says, **env):
        p = subprocess.run([self.program, *args], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, timeout=60,
                           preexec_fn=unprivileged, cwd=self.dir, env=dict(os.environ, **env))
        self.assertEqual((p.returncode, p.stdout, p.stderr.count("\n")), (1, "", 1), p.stderr)
        self.assertIn(says, p.stderr)

    def setUp(self):
        super().setUp()
        self.program = self.program_for_all()
        self.write("t.txt", stacked().text())
        os.mkdir(self.path("closed"), 0o555)

    def locked(self, name, data):
        os.chmod(self.write(name, data), 0)
        return name

    def test_input(self):
        self.refused(("report", self.locked("a.dat", evil.v6(evil.two_cpus()))), "a.dat: cannot open: Permission denied")
        self.refused(("report", "--tasks", self.locked("a.tasks", b"tid\n1\n"), "t.txt"), "a.tasks: cannot open: Permission denied")
        self.refused(("report", "--topology", self.locked("a.topo", b"0,0\n"), "t.txt"), "a.topo: cannot open: Permission denied")
        self.locked("t.tasks", b"tid\n1\n")
        self.refused(("report", "t.txt"), "t.tasks: cannot open: Permission denied")
        os.mkdir(self.path("raw"))
        self.locked("raw/cpu0", b"x")
        self.refused(("report", "raw"), "raw: cannot open cpu0: Permission denied")
        os.mkdir(self.path("raw2"), 0)
        self.refused(("report", "raw2"), "raw2: cannot open: Permission denied")

    def test_output(self):
        for args in (("report",), ("report", "--csv"), ("report", "--json"), ("events",), ("wakeups",), ("latency",), ("smt",), ("affine",)):
            self.refused((*args, "-q", "-o", "closed/x", "t.txt"), "closed/x: cannot be")
        self.refused(("topology", "--capture", "-o", "closed/x.tar.gz"), "closed/x.tar.gz: cannot write: Permission denied")

    def test_temporary_files(self):
        gz = self.write("t.txt.gz", gzip.compress(stacked().text().encode()))
        for folder in ("/nonexistent", self.path("closed"), "/dev/null"):
            self.refused(("report", gz), "%s: no temporary file could be made there ($TMPDIR)" % folder, TMPDIR=folder)

    def test_record_exec(self):
        """Whatever lies where tracing should be: the command runs, and the lack of markers is told in a line."""
        for name, make in (("fifo", os.mkfifo), ("folder", os.mkdir), ("full", lambda p: os.symlink("/dev/full", p)), ("none", lambda p: None)):
            os.mkdir(self.path(name))
            make(self.path(name + "/trace_marker"))
            p = subprocess.run([WAKEIF, "record-exec", "--tracefs", self.path(name), "--", "echo", "ran"], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, timeout=30)
            self.assertEqual((p.returncode, p.stdout, p.stderr.count("\n")), (0, "ran\n", 1), name)
            self.assertIn("the trace will lack topology and tasks", p.stderr)


class Surroundings(Attack):
    def test_patterns(self):
        """regcomp() would take hundreds of megabytes for a few characters."""
        trace = self.write("t.txt", stacked().text())
        for pattern, says in (("a{1,255}{1,255}", "too long"), ("((a|b){1,60}){1,60}", "too long"), ("(((((a{9}){9}){9}){9}){9}){9}", "too long"),
                              ("x" * 5000, "too long"), ("(" * 100 + ")" * 100, "nested too deeply"), ("(.*)(.*)(.*)\\3\\2\\1", "back-references"),
                              ("a{99999999999999999999}", "too long"), ("(", "Unmatched"), ("[[:x", "Unmatched [")):
            p = subprocess.run([WAKEIF, "latency", "--comm", pattern, trace], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, preexec_fn=limits)
            self.assertEqual((p.returncode, p.stdout), (2, ""), pattern)
            self.assertIn(says, p.stderr)
        for pattern in ("a|b|c", "kworker/[0-9]+:[0-9]{1,3}", "[]{1,99}{1,99}x]", "([a-z]{1,15}){1,15}", "(a?){0,999}", r"\(\{1,255\}\{1,255\}\)", "a?" * 2000, "((((a*)*)*)*)*"):
            self.attack(None, "latency", "--comm", pattern, trace, status=0)

    def test_file_size_limit(self):
        """ulimit -f: the kernel's signal would end the program without a word."""
        lines = [" a-1 [000] d... 2.%06d: sched_waking: comm=x pid=5 prio=120 target_cpu=001\n" % i for i in range(3000)]
        trace = self.write("big.txt", stacked().text() + "".join(lines))
        for command in ("cat %s | %s report -q -" % (trace, WAKEIF), "%s events -q -o %s %s" % (WAKEIF, self.path("out"), trace)):
            p = subprocess.run(["bash", "-c", "ulimit -f 64; " + command], stdout=subprocess.PIPE, stderr=subprocess.PIPE)
            self.assertEqual(p.returncode, 1, p.stderr)
            self.assertIn(b"File too large", p.stderr)

    def test_file_size_limit_of_commands(self):
        """What record runs ends at the limit as it would without us, unless it was told to live on."""
        write = "ulimit -c 0; ulimit -f 1; exec dd if=/dev/zero of=%s bs=4096 count=2" % self.path("f")
        for how, survives in (("", False), ("trap '' XFSZ; ", True)):
            p = subprocess.run(["bash", "-c", "%sexec %s record-exec --no-markers -- sh -c '%s'" % (how, WAKEIF, write)],
                               stdout=subprocess.PIPE, stderr=subprocess.PIPE)
            self.assertEqual(b"File too large" in p.stderr, survives, p)
            self.assertEqual(p.returncode, 1 if survives else -25, p)


if __name__ == "__main__":
    unittest.main()
