#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""wakeif validate with accounts of the kernel's decisions that are damaged, mixed up or made up: a message that names file and line, or a count; no crash."""
import json
import os
import random
import re
import subprocess
import unittest

from cli import SHARED, WAKEIF, Cli

QUIET = {"LSAN_OPTIONS": os.environ.get("LSAN_OPTIONS", "") + ":print_suppressions=0"}
FOLDER = os.path.join(SHARED, "corpus", "61-smt8-schbench-full")
ROUNDS = 1000 if os.environ.get("WAKEIF_FULL") else 120
NUMBERS = ["-1", "0", "8", "63", "64", "255", "1023", "65535", "65536", "4294967295", "4294967296", "9223372036854775807", "9223372036854775808",
           "18446744073709551615", "18446744073709551616", "1" + "0" * 400, "0x", "0xffffffffffffffffffff", "-", "", " ", "1e9", "nan", "\u00e9", "a\x00b", ":", ";", ",",
           "T:7:1", "T:99999:1", "T:7:1," * 5000, "0:6:1:2", "0:4000000000:1:2", "f" * 4000, ";" * 3000]


def zstd(data):
    return subprocess.run(["zstd", "-q", "-c"], input=data, stdout=subprocess.PIPE, check=True, timeout=60).stdout


@unittest.skipUnless(os.path.isdir(FOLDER), "WAKEIF_SHARED has no " + FOLDER)
class HostileTruth(Cli):
    @classmethod
    def setUpClass(cls):
        def read(name):
            return subprocess.run(["zstd", "-dcq", os.path.join(FOLDER, name)], stdout=subprocess.PIPE, check=True, timeout=60).stdout.decode()

        cls.lines = read("decisions.tsv.zst").splitlines()[:1300]
        cls.none = read("nodecision.tsv.zst").splitlines()[:200]

    def validate(self, truth, *args):
        """status, stdout, stderr; with the window that the truth is of"""
        argv = ["validate", "-q", "--json", "--truth", truth, "--topology", os.path.join(FOLDER, "topology.tar.gz"), "--time", "0%-30%", *args,
                os.path.join(FOLDER, "trace.dat")]
        return self.run_text(*argv, env=QUIET)

    def survives(self, truth, *args):
        """It ends with a result, or with one line that names the file."""
        status, out, err = self.validate(truth, *args)
        if status == 0:
            return json.loads(out)["validate"]
        self.assertIn(status, (1, 3), (status, err[:500]))
        self.assertEqual(out, "")
        self.assertEqual(len(err.splitlines()), 1, err[:500])
        self.assertTrue(err.startswith("wakeif: "), err[:500])
        self.assertLess(len(err), 2000)
        return None

    def tsv(self, lines, name="decisions.tsv"):
        return self.write(name, ("\n".join(lines) + "\n").encode("utf-8", "surrogateescape"))

    def test_the_whole_one(self):
        found = self.survives(self.tsv(self.lines))
        self.assertGreater(found["decided"], 300)
        self.assertEqual(self.survives(self.write("d.tsv.zst", zstd("\n".join(self.lines).encode() + b"\n"))), found)

    def test_fields_that_are_damaged(self):
        lot, read = random.Random(5), 0
        for n in range(ROUNDS):
            lines = list(self.lines)
            for _ in range(lot.randrange(1, 4)):
                at = lot.randrange(len(lines))
                fields = lines[at].split("\t")
                what = lot.randrange(5)
                if what == 0:
                    fields[lot.randrange(len(fields))] = lot.choice(NUMBERS)
                elif what == 1:
                    del fields[lot.randrange(len(fields))]
                elif what == 2:
                    fields.insert(lot.randrange(len(fields)), lot.choice(NUMBERS))
                elif what == 3:
                    fields = fields[lot.randrange(len(fields)):]
                else:
                    i = lot.randrange(len(fields))
                    text = list(fields[i])
                    for _ in range(lot.randrange(1, 6)):
                        text.insert(lot.randrange(len(text) + 1), lot.choice(":;,-0x9T\r"))
                    fields[i] = "".join(text)
                lines[at] = "\t".join(fields)
            with self.subTest(n=n):
                read += self.survives(self.tsv(lines)) is not None
        self.assertGreater(read, 0)

    def test_bytes_that_are_damaged(self):
        lot = random.Random(6)
        whole = ("\n".join(self.lines) + "\n").encode()
        packed = zstd(whole)
        for n in range(ROUNDS):
            data = bytearray(packed if n % 2 else whole)
            for _ in range(lot.randrange(1, 8)):
                data[lot.randrange(len(data))] = lot.randrange(256)
            if lot.randrange(4) == 0:
                del data[lot.randrange(len(data)):]
            with self.subTest(n=n):
                self.survives(self.write("d.tsv.zst" if n % 2 else "d.tsv", bytes(data)))

    def test_the_same_of_nodecision(self):
        lot = random.Random(7)
        truth = self.tsv(self.lines)
        for n in range(ROUNDS // 4):
            lines = list(self.none)
            at = lot.randrange(len(lines))
            fields = lines[at].split("\t")
            fields[lot.randrange(len(fields))] = lot.choice(NUMBERS)
            lines[at] = "\t".join(fields)
            with self.subTest(n=n):
                self.survives(truth, "--nodecision", self.tsv(lines, "n.tsv"))

    def test_order_and_repetition(self):
        whole = self.survives(self.tsv(self.lines))
        shuffled = self.lines[1:]
        random.Random(8).shuffle(shuffled)
        for lines in (self.lines[:1] + shuffled, self.lines + self.lines[1:], self.lines[:1] + self.lines[:0:-1]):
            found = self.survives(self.tsv(lines))
            if found is not None:  # what it takes must not count twice
                self.assertLessEqual(found["decided"], whole["decided"])

    def test_columns(self):
        head, rows = self.lines[0].split("\t"), [line.split("\t") for line in self.lines[1:]]
        order = list(range(len(head)))
        random.Random(9).shuffle(order)
        mixed = ["\t".join(head[i] for i in order)] + ["\t".join(r[i] for i in order) for r in rows]
        self.assertEqual(self.survives(self.tsv(mixed)), self.survives(self.tsv(self.lines)))
        for name in head:
            with self.subTest(without=name):
                i = head.index(name)
                self.survives(self.tsv(["\t".join(r[:i] + r[i + 1:]) for r in [head] + rows]))
        for first in ("", "\t", "ts_ns", "ts_ns\tts_ns", self.lines[0] + "\tts_ns", self.lines[0] + "\tmore", "\t".join(["x"] * 5000)):
            with self.subTest(first=first[:40]):
                self.survives(self.tsv([first] + self.lines[1:]))

    def test_a_recording_of_probes_that_is_damaged(self):
        """In its format texts, where probes and fields have their names, and anywhere."""
        folder = os.path.join(SHARED, "corpus", "61-numa16-mix-full")
        packed = self.write("v7.dat", subprocess.run(["zstd", "-dcq", os.path.join(folder, "truth.dat.zst")], stdout=subprocess.PIPE, check=True, timeout=60).stdout)
        if subprocess.run(["trace-cmd", "convert", "-i", packed, "-o", self.path("v6.dat"), "--file-version", "6"], stdout=subprocess.DEVNULL,
                          stderr=subprocess.DEVNULL, timeout=60).returncode:
            self.skipTest("trace-cmd cannot convert")
        with open(self.path("v6.dat"), "rb") as f:
            whole = f.read()
        probes = [m.start() for m in re.finditer(rb"field:", whole)][-400:]  # probes come last of the formats
        self.assertGreater(len(probes), 100)
        lot = random.Random(10)
        for n in range(ROUNDS // 8):
            data = bytearray(whole)
            for _ in range(lot.randrange(1, 6)):
                kind, field = lot.randrange(4), lot.choice(probes)
                if kind == 0:
                    data[lot.randrange(len(data))] = lot.randrange(256)
                elif kind == 1:
                    data[field + lot.randrange(60)] = lot.choice(b"09;:xu \t_[-")
                elif kind == 2:  # another size or offset of a field, of as many digits
                    m = re.compile(rb"(?:size|offset):(\d+)").search(bytes(data[field:field + 200]))
                    if m:
                        data[field + m.start(1):field + m.end(1)] = bytes(lot.choice(b"0123456789") for _ in m.group(1))
                else:
                    del data[lot.randrange(len(data) // 2, len(data)):]
                    break
            with self.subTest(n=n):
                path = self.write("t.dat", bytes(data))
                status, out, err = self.run_text("validate", "-q", "--json", "--truth", path, "--time", "0%-30%", os.path.join(folder, "trace.dat"), env=QUIET)
                self.assertIn(status, (0, 1, 3, 4), (status, err[:500]))
                self.assertTrue(not err or err.startswith("wakeif: "), err[:500])
                if status == 0:
                    json.loads(out)

    def test_not_a_truth(self):
        for name, data in (("empty", b""), ("newlines", b"\n" * 5000), ("nul", bytes(100000)), ("head", self.lines[0].encode() + b"\n"),
                           ("head.zst", zstd(self.lines[0].encode())), ("empty.zst", zstd(b"")), ("magic.zst", b"\x28\xb5\x2f\xfd")):
            with self.subTest(name=name):
                found = self.survives(self.write(name, data))
                if found is not None:
                    self.assertEqual(found["decided"], 0)
        self.survives(self.path("missing"))
        self.survives(self.dir)
        self.survives(os.path.join(FOLDER, "trace.dat"))

    def test_a_line_without_end(self):
        """Compressed well: 1 GB of one line. Memory stays bounded."""
        bomb = zstd(self.lines[0].encode() + b"\n" + b"1" * (1 << 30))
        self.assertLess(len(bomb), 1 << 20)
        path = self.write("d.tsv.zst", bomb)
        argv = ["sh", "-c", "ulimit -v 1000000; exec \"$0\" \"$@\""] if not os.environ.get("WAKEIF_INSTRUMENTED") else []
        p = subprocess.run([*argv, WAKEIF, "validate", "-q", "--truth", path, os.path.join(FOLDER, "trace.dat")], stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                           timeout=100)
        self.assertEqual(p.returncode, 3, p.stderr[:500])
        self.assertIn(b":2: ", p.stderr)


if __name__ == "__main__":
    unittest.main()
