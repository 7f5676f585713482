#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""The archive as others see it: doc/schema.md is what the program's declarations say, its queries run in the sqlite3 shell, the catalog knows every figure of
the documents, and the figures are those of the documents."""
import gzip
import json
import os
import re
import sqlite3
import subprocess
import unittest

from cli import O, ROOT, SAMPLES, SCHBENCH, WAKEIF, Cli, sample_traces

GEN = os.path.join(O, "tests", "gen_archive")
SCHEMA = os.path.join(ROOT, "doc", "schema.md")


def schema_text():
    with open(SCHEMA, encoding="utf-8") as f:
        return f.read()


def examples():
    return re.findall(r"^### (\w+)\n.*?```sql\n(.*?)```", schema_text(), re.M | re.S)


def escaped(name, label=False):
    return re.sub(r"([\[\]\\])" if label else r"([.\[\]\\])", r"\\\1", name)


WHERE_OR_WHEN = {"pid", "tgid", "wake_ns", "start_ns", "waiting_cpu", "idle_cpu", "cpu_a", "cpu_b", "waker_pid", "waker_cpu", "prev_cpu", "chosen_cpu",
                 "run_cpu", "missed_cpu", "ran_pid"}


def all_numbers(v):
    return all(all_numbers(x) if isinstance(x, list) else isinstance(x, (int, float)) and not isinstance(x, bool) for x in v)


def figures(document):
    """{path: number} of a document with default detail, worked out here a second time."""
    out = {}

    def walk(v, path, key):
        if isinstance(v, bool) or v is None or isinstance(v, str):
            return
        if isinstance(v, (int, float)):
            if key not in WHERE_OR_WHEN:
                out[path] = v
        elif isinstance(v, dict):
            for k, x in v.items():
                if not (k == "histogram" and isinstance(x, list)):
                    walk(x, path + "." + escaped(k) if path else escaped(k), k)
        elif path in ("models", "simulate.policies"):
            for x in v:
                walk(x, "%s[%s]" % (path, escaped(x["name"], True)), "")
        elif v and all_numbers(v):
            for i, x in enumerate(v):
                walk(x, "%s[%d]" % (path, i), "")

    for k, v in document.items():
        if k not in ("schema", "tool", "input", "window", "topology"):
            walk(v, escaped(k), k)
    return out


class Schema(Cli):
    def gen(self, *args):
        p = subprocess.run([GEN, *args], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, timeout=120)
        self.assertEqual(p.returncode, 0, p.stderr)
        return p.stdout

    def documents(self, trace, simulate=False):
        """Names of files with what report, replay and simulate tell of a trace."""
        found = []
        name = re.sub(r"\W", "_", os.path.basename(trace))
        commands = [["report", "--json", "--replay"], ["replay", "--json", "-m", "linux-6.1", "-m", "idle-core-first"]]
        if simulate:
            commands.append(["simulate", "--json", "-m", "idle-core-first", "--no-sensitivity"])
        for command in commands:
            p = subprocess.run([WAKEIF, *command, trace], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, timeout=120)
            self.assertIn(p.returncode, (0, 4), "%s %s" % (command, trace))
            found.append(self.write("%s.%s.json" % (name, command[0]), p.stdout))
        return found

    def archive(self):
        db = self.path("a.db")
        for trace in sample_traces()[:4]:
            self.gen(db, "--tag", "workload=" + os.path.basename(trace).split(".")[0], "+".join(self.documents(trace)))
        return db

    def test_document_is_what_is_declared(self):
        self.assertEqual(self.gen("--schema"), schema_text(), "doc/schema.md: run make schema")

    def test_every_table_and_view_is_documented(self):
        db = self.path("e.db")
        self.gen(db)
        with sqlite3.connect(db) as c:
            names = [r[0] for r in c.execute("SELECT name FROM sqlite_schema WHERE type IN ('table', 'view') AND name NOT LIKE 'sqlite_%'")]
            self.assertGreater(len(names), 18)
            for name in names:
                section = re.search(r"^### %s\n(.*?)(?=^##|\Z)" % name, schema_text(), re.M | re.S)
                self.assertTrue(section, name)
                for column in c.execute("SELECT name FROM pragma_table_info(?)", [name]):
                    self.assertRegex(section[1], r"(\| |`)%s( \||`)" % column[0], "%s.%s" % (name, column[0]))

    def test_queries_of_the_document(self):
        db = self.archive()
        shown = examples()
        self.assertEqual(len(shown), len(re.findall("```sql", schema_text())))
        self.assertGreaterEqual(len(shown), 8)
        for view, query in shown:
            p = subprocess.run(["sqlite3", "-readonly", db, query], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, timeout=60)
            self.assertEqual(p.returncode, 0, "%s: %s" % (view, p.stdout))
            self.assertTrue(p.stdout.strip(), "%s: the query of the document answers nothing" % view)

    def test_buckets_in_sql_are_those_of_the_document(self):
        db = self.path("b.db")
        files = self.documents(SCHBENCH)
        self.gen(db, "+".join(files))
        with open(files[0], encoding="utf-8") as f:
            document = json.load(f)
        for part in ("wakeup", "queue_wait", "transit"):
            query = "SELECT lower_ns, width_ns, count FROM histogram_bucket WHERE path = 'latency.%s' ORDER BY lower_ns" % part
            p = subprocess.run(["sqlite3", "-readonly", db, query], stdout=subprocess.PIPE, text=True, timeout=60, check=True)
            self.assertEqual([[int(x) for x in line.split("|")] for line in p.stdout.split()], document["latency"][part]["histogram"])

    def test_figures_are_those_of_the_documents(self):
        for trace in sample_traces():
            files = self.documents(trace, simulate=trace.endswith("smt8-forks.dat.gz"))
            db = self.path(os.path.basename(trace) + ".db")
            self.gen(db, "+".join(files))
            expected = {}
            for name in files:
                with open(name, encoding="utf-8") as f:
                    expected.update(figures(json.load(f)))
            with sqlite3.connect(db) as c:
                stored = dict(c.execute("SELECT path, value FROM metric_value"))
            self.assertEqual(sorted(stored), sorted(expected), trace)
            for path, value in expected.items():
                self.assertEqual((type(stored[path]), stored[path]), (type(value), value), path)

    def test_wide_tables_are_those_of_the_documents(self):
        for trace in sample_traces():
            files = self.documents(trace)
            db = self.path(os.path.basename(trace) + ".w.db")
            self.gen(db, "--tag", "k=v", "+".join(files))
            with open(files[0], encoding="utf-8") as f:
                report = json.load(f)
            with open(files[1], encoding="utf-8") as f:
                replay = json.load(f)
            c = sqlite3.connect(db)
            c.row_factory = sqlite3.Row
            run = c.execute("SELECT * FROM run").fetchone()
            source = report["input"][0]
            for column in ("format", "wrapper", "kernel", "arch", "clock", "time_res_ns", "nr_cpus"):
                self.assertEqual(run[column], source.get(column), column)
            self.assertEqual(run["damage_count"], len(source["damage"]))
            quality = c.execute("SELECT * FROM quality").fetchone()
            for column in ("start_ns", "end_ns", "recording_start_ns", "recording_end_ns", "coverage"):
                self.assertEqual(quality[column], report["window"].get(column), column)
            for column in ("lost_events", "chain_breaks", "unordered", "unparsed", "skew_ns", "quiet_cpus", "has_waking", "unused_cpus", "note"):
                self.assertEqual(quality[column], report["quality"].get(column), column)
            self.assertEqual(quality["repairs"], sum(report["quality"]["repairs"].values()))
            machine = c.execute("SELECT * FROM topology").fetchone()
            for column in ("smt", "nr_cpus", "nr_online", "nr_cores", "nr_llcs", "nr_nodes", "nr_packages"):
                self.assertEqual(machine[column], report["topology"][column], column)
            self.assertEqual(json.loads(machine["layout"]), report["topology"]["cpus"])
            self.assertTrue(machine["name"].startswith("%dcpu/%dcore/%dllc" % tuple(report["topology"][k] for k in ("nr_online", "nr_cores", "nr_llcs"))))
            for kind, rows in (("missed_idle", report["missed_idle"]["worst"]), ("latency", report["latency"]["longest"])):
                stored = c.execute("SELECT * FROM worst WHERE kind = ? ORDER BY rank", [kind]).fetchall()
                self.assertEqual(len(stored), len(rows))
                for i, (a, b) in enumerate(zip(stored, rows)):
                    self.assertEqual(a["rank"], i + 1)
                    for column in set(a.keys()) - {"run", "kind", "rank"}:
                        self.assertEqual(a[column], b.get(column), "%s %s" % (kind, column))
            models = {m["name"]: m for m in replay["models"]}
            stored = c.execute("SELECT * FROM model_summary").fetchall()
            self.assertEqual({m["model"] for m in stored}, set(models) | {m["name"] for m in report.get("models", [])})
            for row in stored:
                m = models.get(row["model"])
                for column, value in (("decided", m and m["decided"]), ("agree_cpu", m and m.get("agree", {}).get("cpu")), ("tagged", m and m.get("tagged")),
                                      ("wait_sum_ns", m and m["est_wait"]["wait"]["sum_ns"]), ("happened", m and m["happened"])):
                    if m:
                        self.assertEqual(row[column], value, "%s %s" % (row["model"], column))
            flat = figures(report)
            headline = c.execute("SELECT * FROM headline").fetchone()
            for column in set(headline.keys()) - {"run"}:
                self.assertEqual(headline[column], {k.replace(".", "_"): v for k, v in flat.items()}.get(column), column)
            for path, n, mean, low, high in c.execute("SELECT path, n, mean, min, max FROM metric_by_tag WHERE key = 'k' AND tag = 'v'"):
                if path in flat:
                    self.assertEqual((n, low, high), (1, flat[path], flat[path]), path)
                    self.assertAlmostEqual(mean, flat[path], delta=abs(flat[path]) * 1e-12)
            c.close()

    def test_catalog_knows_every_figure(self):
        seen = set()
        for detail in ([], ["--full"]):
            for trace in sample_traces():
                db = self.path("c%d.db" % len(seen))
                files = self.documents(trace, simulate=trace.endswith("smt8-forks.dat.gz") and not detail)
                for line in self.gen(db, *detail, "+".join(files), "--paths").splitlines():
                    path, unit, direction, headline = line.split("\t")
                    self.assertNotEqual(unit, "unknown", path)
                    seen.add(path)
                    if re.search(r"share$", path):
                        self.assertEqual(unit, "share", path)
                    if path.endswith("_ns"):
                        self.assertEqual(unit, "ns", path)
        self.assertGreater(len(seen), 2000)
        # The headline metrics are figures that reports have.
        headline = re.findall(r"^\| ([\w.]+) \| [\w ]+ \| (?:lower|higher) \|", schema_text(), re.M)
        self.assertGreaterEqual(len(headline), 10)
        self.assertFalse(set(headline) - seen)

    def test_tags_in_the_trace_stay_when_those_of_its_path_change(self):
        with gzip.open(os.path.join(SAMPLES, "smt8-quota.txt.gz"), "rt", encoding="utf-8") as f:
            lines = f.read().split("\n")
        lines.insert(1, lines[1][:lines[1].index("cpu_idle:")] + "print: tracing_mark_write: wakeif-tag workload=quota")
        os.mkdir(self.path("traces"))
        self.write("traces/a.txt", "\n".join(lines))
        db = self.path("m.db")
        for options, expected in (([], "workload=quota"), (["--tag", "n=(.)[.]txt$"], "n=a workload=quota"), (["--tag", "m=(.)[.]txt$"], "m=a workload=quota")):
            p = subprocess.run([WAKEIF, "batch", self.path("traces"), "-o", db, *options], stdout=subprocess.PIPE, stderr=subprocess.PIPE, timeout=60)
            self.assertEqual(p.returncode, 0, p.stderr)
            with sqlite3.connect(db) as c:
                self.assertEqual(c.execute("SELECT tags FROM run_list").fetchall(), [(expected,)])
            c.close()

    def test_size_of_a_trace(self):
        """A trace takes no more than 40 KB with default detail; what all share (names, views) apart."""
        names = self.documents(SCHBENCH)
        with open(names[0], encoding="utf-8") as f:
            text = f.read()
        sizes = []
        for nr in (2, 22):
            db = self.path("s%d.db" % nr)
            copies = []
            for i in range(nr):
                copies.append(self.write("copy%d.json" % i, text.replace('"wakeif/1"', '"wakeif/1"' + " " * i, 1)) + "+" + names[1])
            self.gen(db, *copies)
            with sqlite3.connect(db) as c:
                self.assertEqual(c.execute("SELECT count(*) FROM run").fetchone()[0], nr)
            sizes.append(os.path.getsize(db))
        self.assertLess((sizes[1] - sizes[0]) / 20, 40 * 1024)


if __name__ == "__main__":
    unittest.main()
