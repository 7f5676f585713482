# SPDX-License-Identifier: GPL-2.0-or-later
"""Archives with rows written by hand, so that what commands say of them can be computed with pencil and paper."""
import hashlib
import math
import os
import shutil
import sqlite3
from fractions import Fraction

from cli import SAMPLES, Cli


class ArchiveCli(Cli):
    """Tests with archives; TEMPLATE is one that wakeif made."""

    @classmethod
    def setUpClass(cls):
        cls.made = Cli()
        cls.made.setUp()
        cls.template = cls.made.path("template.db")
        cls.made.ok("batch", "-q", os.path.join(SAMPLES, "smt8-lost.dat"), "-o", cls.template)

    @classmethod
    def tearDownClass(cls):
        cls.made.doCleanups()

    def archive(self, name="a.db"):
        return SqlArchive(self.path(name), self.template)


class SqlArchive:
    """A database of wakeif's schema, emptied; each run added is a trace of its own."""

    def __init__(self, path, template):
        shutil.copyfile(template, path)
        self.path = path
        self.con = sqlite3.connect(path)
        self.con.execute("PRAGMA foreign_keys=ON")
        for table in ("trace", "analysis", "topology", "metric", "file_cache"):
            self.con.execute("DELETE FROM %s" % table)
        self.con.commit()
        self.nr = 0

    def close(self):
        self.con.commit()
        self.con.close()

    def id_of(self, table, column, value, more=""):
        row = self.con.execute("SELECT id FROM %s WHERE %s = ?" % (table, column), (value,)).fetchone()
        if row:
            return row[0]
        extra = {"metric": ", unit, direction, headline", "analysis": ""}[table]
        values = {"metric": ", 'count', 'none', 0", "analysis": ""}[table]
        return self.con.execute("INSERT INTO %s (%s%s) VALUES (?%s)" % (table, column, extra, values), (value,)).lastrowid

    def run(self, values=None, tags=None, kernel=None, status="ok", reason=None, name=None, analysis="{}", sha=None, signal=0, hists=None,
            version="0.1.0", stderr=None):
        """Adds a run; values {path: number}, tags {key: value or list}, hists {path: [ns, ...]}. Returns its hash."""
        self.nr += 1
        name = name or "run-%03d.dat" % self.nr
        sha = sha or hashlib.sha256(name.encode()).digest()
        self.con.execute("INSERT OR IGNORE INTO trace (sha256, size_bytes) VALUES (?, 1000)", (sha,))
        trace = self.con.execute("SELECT id FROM trace WHERE sha256 = ?", (sha,)).fetchone()[0]
        self.con.execute("INSERT OR IGNORE INTO trace_path VALUES (?, ?)", (trace, name))
        for key, value in (tags or {}).items():
            for v in value if isinstance(value, list) else [value]:
                self.con.execute("INSERT INTO tag VALUES (?, ?, ?, ?)", (trace, name, key, v))
        run = self.con.execute("INSERT INTO run (trace, analysis, version, status, reason, signal, exit_status, digest, kernel, stderr_tail) "
                               "VALUES (?, ?, ?, ?, ?, ?, 0, ?, ?, ?)",
                               (trace, self.id_of("analysis", "text", analysis), version, status, reason, signal, b"\0" * 32, kernel, stderr)).lastrowid
        for path, value in (values or {}).items():
            self.con.execute("INSERT INTO value VALUES (?, ?, ?)", (run, self.id_of("metric", "path", path), value))
        for path, waits in (hists or {}).items():
            self.con.execute("INSERT INTO histogram VALUES (?, ?, ?, ?, ?, ?, ?)",
                             (run, self.id_of("metric", "path", path), len(waits), sum(waits), min(waits, default=None), max(waits, default=None),
                              buckets(waits)))
        return sha.hex()


def index(ns):
    """analyzer/base/hist.h, "In full" """
    if ns < 128:
        return ns
    e = ns.bit_length() - 1
    return 64 * (e - 5) + (ns >> (e - 6)) - 64


def leb128(n):
    out = bytearray()
    while n > 127:
        out.append(n & 127 | 128)
        n >>= 7
    out.append(n)
    return bytes(out)


def buckets(waits):
    count = {}
    for ns in waits:
        count[index(ns)] = count.get(index(ns), 0) + 1
    out, before = b"", -1
    for i in sorted(count):
        out += leb128(i - before) + leb128(count[i])
        before = i
    return out


def quantile(waits, q):
    """Of all waits together, as analyzer/base/hist.h tells it from their buckets."""
    count = {}
    for ns in waits:
        count[index(ns)] = count.get(index(ns), 0) + 1
    rank, seen = max(1, -(-int(round(q * 10000)) * len(waits) // 10000)), 0
    for i in sorted(count):
        seen += count[i]
        if seen >= rank:
            lower, width = bucket(i)
            return min(max(lower + width // 2, min(waits)), max(waits))
    raise AssertionError


def bucket(i):
    """lower edge, width"""
    return (i, 1) if i < 128 else ((64 + (i - 128) % 64) << ((i - 128) // 64 + 1), 1 << ((i - 128) // 64 + 1))


def rank_below(q, n):
    """The greatest rank l of n independent values with a chance of at most 2.5 % that the q-quantile is below the l-th; 0: there is none."""
    q, below, l = Fraction(q), Fraction(0), 0
    while l < n:
        below += math.comb(n, l) * q ** l * (1 - q) ** (n - l)
        if below > Fraction(1, 40):
            break
        l += 1
    return l


def order_statistics(waits, q):
    """95 % interval of a quantile of one run's waits: outer edges of the buckets of two of them; None: too few."""
    q, n, waits = Fraction(q), len(waits), sorted(waits)
    low, high = rank_below(q, n), n + 1 - rank_below(1 - q, n)
    if low < 1 or high > n:
        return None
    edge, (top, width) = bucket(index(waits[low - 1]))[0], bucket(index(waits[high - 1]))
    return max(edge, waits[0]), min(top + width - 1, waits[-1])
