#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""Damaged inputs, at random but the same each time: wakeif must end by itself within bounded time and memory, with a status of the contract, and say in
one line what is wrong where it refuses or salvages. WAKEIF_FULL=1 (make check-full) runs many more."""
import json
import os
import random
import resource
import signal
import subprocess
import unittest

from cli import WAKEIF, Cli, sample_traces

FULL = bool(os.environ.get("WAKEIF_FULL"))
SECONDS = 60
MEMORY = 1 << 30  # of address space; not under AddressSanitizer, which maps terabytes


def sanitized():
    with open(WAKEIF, "rb") as f:
        return b"__asan_init" in f.read()


def limits():
    resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))


LIMITS = None if sanitized() else limits
RUNS = 25 if not FULL else 100 if sanitized() else 400  # a kind of damage and a sample


def flip_bits(rng, data):
    for _ in range(rng.choice((1, 3, 30))):
        data[rng.randrange(len(data))] ^= 1 << rng.randrange(8)


def flip_early(rng, data):
    """Headers and options hold the sizes."""
    for _ in range(rng.choice((1, 3, 10))):
        data[rng.randrange(min(len(data), 4096))] = rng.randrange(256)


def flip_late(rng, data):
    for _ in range(rng.choice((1, 3, 30))):
        data[rng.randrange(len(data) // 2, len(data))] = rng.choice((0, 0xff, rng.randrange(256)))


def cut(rng, data):
    del data[rng.randrange(len(data)):]


def zero_hole(rng, data):
    at, n = rng.randrange(len(data)), rng.choice((1, 64, 4096, 100000))
    data[at:at + n] = bytes(len(data[at:at + n]))


def drop_piece(rng, data):
    at, n = rng.randrange(len(data)), rng.choice((1, 7, 4096, 50000))
    del data[at:at + n]


def double_piece(rng, data):
    at, n = rng.randrange(len(data)), rng.choice((1, 7, 4096, 50000))
    data[at:at] = data[at:at + n]


class Damage(Cli):
    def check(self, path, what):
        p = subprocess.run([WAKEIF, "report", "--json", "-q", "--topology", "pack:2 l3:1 core:4 pu:2", path], stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                           stdin=subprocess.DEVNULL, timeout=SECONDS, preexec_fn=LIMITS)
        err = p.stderr.decode("utf-8", "replace")
        self.assertGreaterEqual(p.returncode, 0, "%s: killed by signal %s: %s" % (what, signal.Signals(-p.returncode).name if p.returncode < 0 else "", err[-3000:]))
        self.assertIn(p.returncode, (0, 3, 4), "%s: %s" % (what, err[-3000:]))
        if p.returncode in (0, 4):
            j = json.loads(p.stdout)
            self.assertEqual(j["input"][0]["damaged"], p.returncode == 4, what)
            self.assertEqual(sum(j["wakeups"]["by_class"].values()), j["wakeups"]["total"], what)
        if p.returncode:
            self.assertEqual(len(err.splitlines()), 1, "%s: %s" % (what, err))
            self.assertTrue(err.startswith("wakeif: " + ("" if p.returncode == 3 else path)), "%s: %s" % (what, err))
        return p.returncode


def add(trace, damage):
    def test(self):
        rng = random.Random("%s %s" % (os.path.basename(trace), damage.__name__))
        with open(trace, "rb") as f:
            whole = f.read()
        path = self.path(os.path.basename(trace))
        for i in range(RUNS):
            data = bytearray(whole)
            damage(rng, data)
            with open(path, "wb") as f:
                f.write(data)
            try:
                self.check(path, "run %d" % i)
            except (AssertionError, subprocess.TimeoutExpired):
                kept = os.path.join(os.environ.get("WAKEIF_KEEP", self.dir), "%s-%s-%d" % (os.path.basename(trace), damage.__name__, i))
                os.rename(path, kept)
                raise

    setattr(Damage, "test_%s_%s" % (os.path.basename(trace).replace(".", "_").replace("-", "_"), damage.__name__), test)


for a_trace in sample_traces():
    if FULL or "smt8-schbench" in a_trace or "lost" in a_trace or a_trace.endswith((".txt.gz", ".dat.gz")):
        for a_damage in (flip_bits, flip_early, flip_late, cut, zero_hole, drop_piece, double_piece):
            add(a_trace, a_damage)


if __name__ == "__main__":
    unittest.main()
