# SPDX-License-Identifier: GPL-2.0-or-later
"""Shared by the tests of archives: small generated traces, batches, and what a database says, free of the order in which it was told."""
import hashlib
import os
import random
import sqlite3
import subprocess

from cli import O, WAKEIF, Cli

GENERATOR = os.path.join(O, "tests", "gen_bench")
TOPOLOGY = "pack:1 l3:1 core:2 pu:2"
# Of one machine and its files; merge does not carry them.
LOCAL_TABLES = {"file_cache"}
# Only what others refer to; rows that nobody refers to any more may stay in them.
SHARED_TABLES = {"analysis", "metric", "topology"}
SEED = 20261201


def generate(folder, count, events=1500, seed=1, *more):
    """count traces below folder, NNN/NNNNN.dat, about 65 bytes an event."""
    os.makedirs(folder, exist_ok=True)
    subprocess.run([GENERATOR, "-o", folder, "-n", str(count), "-e", str(events), "-c", "4", "-s", str(seed), *more], check=True, stdout=subprocess.DEVNULL)


def files_below(folder):
    return sorted(os.path.join(at, name) for at, _, names in os.walk(folder) for name in names)


def connect(db):
    """For reading, without leaving anything beside it."""
    return sqlite3.connect("file:%s?mode=ro" % db.replace("?", "%3f").replace("#", "%23"), uri=True)


def integrity(db):
    """["ok"] when the file is whole and every reference leads somewhere. It may have been killed: SQLite first restores it."""
    con = sqlite3.connect(db, timeout=30)
    try:
        con.execute("pragma foreign_keys=on")
        found = [row[0] for row in con.execute("pragma integrity_check")]
        return found + ["%s: row %s refers to nothing in %s" % row[:3] for row in con.execute("pragma foreign_key_check")]
    finally:
        con.close()


class Dump:
    """All that a database holds, by the names of things instead of their numbers: a row that refers to another one shows what that says."""

    def __init__(self, con):
        self.con = con
        self.tables = [r[0] for r in con.execute("select name from sqlite_schema where type = 'table' and name not like 'sqlite_%'")]
        self.columns, self.key, self.refers, self.seen = {}, {}, {}, {}
        for table in self.tables:
            info = list(con.execute("pragma table_info(%s)" % table))
            self.columns[table] = [r[1] for r in info]
            keys = [r[1] for r in info if r[5]]
            # A single integer key is a number that the order of writing gave.
            self.key[table] = keys[0] if len(keys) == 1 and [r[2].upper() for r in info if r[1] == keys[0]] == ["INTEGER"] else None
            self.refers[table] = self.references(table)

    def references(self, table):
        """{column: (table, column)}. Of a reference by several columns each leads on to what that column of the other table refers to."""
        out, by_id = {}, {}
        for row in self.con.execute("pragma foreign_key_list(%s)" % table):
            by_id.setdefault(row[0], []).append((row[3], row[2], row[4] or self.primary(row[2])))
        for columns in by_id.values():
            for column, other, there in columns:
                if len(columns) == 1:
                    out[column] = (other, there)
                elif there in self.references(other):
                    out[column] = self.references(other)[there]
        return out

    def primary(self, table):
        return [r[1] for r in self.con.execute("pragma table_info(%s)" % table) if r[5]][0]

    def said(self, table, column, value):
        if (table, column, value) not in self.seen:
            row = self.con.execute("select * from %s where %s = ?" % (table, column), (value,)).fetchone()
            text = repr(self.row(table, row)) if row else "nothing"
            # Of a long one, by which thousands of rows would be longer, its beginning and its hash.
            self.seen[table, column, value] = text if len(text) < 200 else "%s... %s" % (text[:100], hashlib.sha256(text.encode()).hexdigest()[:20])
        return self.seen[table, column, value]

    def row(self, table, values):
        out = []
        for column, value in zip(self.columns[table], values):
            if column in self.refers[table] and value is not None:
                out.append((column, self.said(*self.refers[table][column], value)))
            elif column != self.key[table]:
                out.append((column, value))
        return out

    def all(self):
        out = []
        for table in sorted(set(self.tables) - LOCAL_TABLES - SHARED_TABLES):
            out += sorted("%s %r" % (table, self.row(table, r)) for r in self.con.execute("select * from " + table))
        return out


def dump(db):
    con = connect(db)
    try:
        return Dump(con).all()
    finally:
        con.close()


class ArchiveCase(Cli):
    def setUp(self):
        super().setUp()
        self.random = random.Random("%s %d" % (self.id(), SEED))

    def batch_argv(self, db, *args, jobs=2):
        return [WAKEIF, "batch", "-q", "--topology", TOPOLOGY, "--jobs", str(jobs), "-o", db, *args]

    def batch(self, db, *args, **kw):
        """A batch that must end well."""
        p = subprocess.run(self.batch_argv(db, *args, **kw), stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE, cwd=self.dir, timeout=600)
        self.assertEqual(p.returncode, 0, p.stderr.decode("utf-8", "replace"))
        return db

    def merge(self, db, *parts):
        self.ok("merge", "-q", *parts, "-o", db)
        return db

    def list_of(self, name, paths):
        return self.write(name, "".join(p + "\n" for p in paths))

    def assert_whole(self, db):
        self.assertEqual(integrity(db), ["ok"])
        for companion in ("-wal", "-shm", "-journal"):
            self.assertFalse(os.path.exists(db + companion) and os.path.getsize(db + companion), db + companion)

    def assert_same(self, db, expected, *diffs):
        """The same rows, and the same answers of the commands, byte for byte."""
        got, want = dump(db), dump(expected)
        if got != want:
            only = sorted(set(got) - set(want))[:3], sorted(set(want) - set(got))[:3]
            self.fail("%d rows, expected %d; only here %s; only there %s" % (len(got), len(want), *([r[:400] for r in side] for side in only)))
        for command in (("runs", "--json"), ("runs", "--csv"), *diffs):
            answers = [self.ok(command[0], of, *command[1:]).replace(of, "DB") for of in (db, expected)]
            self.assertEqual(*answers, command)
