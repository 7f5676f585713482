#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""Runs the console examples of the documents and compares their output.

In a ```console block, a line "$ COMMAND" is run by sh in the root of the repository, with wakeif in the path; the lines below it are its output. A line
"[...]" stands for any number of lines. "test_docs.py --update [LINES]" writes the real output into the documents: as many lines as stood before the
first "[...]", or LINES where there were none.
"""
import glob
import os
import re
import subprocess
import sys
import unittest

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
O = os.path.join(ROOT, os.environ.get("O", "build"))
DOCS = ["README.md", "CONTRIBUTING.md"] + sorted(os.path.relpath(p, ROOT) for p in glob.glob(os.path.join(ROOT, "doc", "*.md")) +
                                                 glob.glob(os.path.join(ROOT, "samples", "*.md")))
ELIDED = "[...]"


def run(command):
    env = {**os.environ, "PATH": O + os.pathsep + os.environ["PATH"], "LC_ALL": "C.UTF-8"}
    p = subprocess.run(["sh", "-c", command], cwd=ROOT, env=env, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, stdin=subprocess.DEVNULL, timeout=120)
    return p.stdout.decode("utf-8", "replace").splitlines()


def examples(lines):
    """(number of the command's line, command, first line of the output, line behind it) of a document's lines, from 0"""
    inside, command = False, None
    for i, line in enumerate(lines):
        if not inside:
            inside = line.strip() == "```console"
            continue
        ends = line.strip() == "```"
        if command and (ends or line.startswith("$ ")):
            yield command + (i,)
            command = None
        if line.startswith("$ "):
            command = (i, line[2:], i + 1)
        inside = not ends


def matches(expected, real):
    """Do the lines match, "[...]" standing for any lines?"""
    pattern = "".join("(?:.*\n)*?" if e == ELIDED else re.escape(e) + "\n" for e in expected)
    return re.fullmatch(pattern, "".join(r + "\n" for r in real)) is not None


class Examples(unittest.TestCase):
    def test_found(self):
        with open(os.path.join(ROOT, "README.md"), encoding="utf-8") as f:
            text = f.read()
        self.assertIn("make deps demo", text)
        self.assertIn("make deps check", text)
        shown = [e for e in examples(text.splitlines())]
        self.assertGreaterEqual(len(shown), 2, "README.md shows no real report")
        self.assertTrue(any(e[3] - e[2] > 15 for e in shown), "the report excerpt of README.md is too short to tell anything")

    def test_links(self):
        for doc in DOCS:
            with open(os.path.join(ROOT, doc), encoding="utf-8") as f:
                for target in re.findall(r"\]\(([^)#:]+)(?:#[^)]*)?\)", f.read()):
                    with self.subTest(doc=doc, target=target):
                        self.assertTrue(os.path.exists(os.path.join(ROOT, os.path.dirname(doc), target)))


def add(doc, number, command, expected):
    def test(self):
        real = run(command)
        if not matches(expected, real):
            self.fail("%s:%d: $ %s\nexpected:\n%s\nfound:\n%s" % (doc, number + 1, command, "\n".join(expected), "\n".join(real[:80])))

    setattr(Examples, "test_%s_%d" % (re.sub(r"\W", "_", doc), number + 1), test)


def update(lines_wanted):
    for doc in DOCS:
        path = os.path.join(ROOT, doc)
        with open(path, encoding="utf-8") as f:
            text = f.read()
        lines = text.splitlines()
        for number, command, first, last in reversed(list(examples(lines))):
            real = run(command)
            old = lines[first:last]
            if ELIDED in old:
                keep = old.index(ELIDED) or lines_wanted
                real = real[:keep] + ([ELIDED] if len(real) > keep else [])
            lines[first:last] = real
        if "\n".join(lines) + "\n" != text:
            with open(path, "w", encoding="utf-8") as f:
                f.write("\n".join(lines) + "\n")


for a_doc in DOCS:
    with open(os.path.join(ROOT, a_doc), encoding="utf-8") as a_file:
        a_lines = a_file.read().splitlines()
    for a_number, a_command, a_first, a_last in examples(a_lines):
        add(a_doc, a_number, a_command, a_lines[a_first:a_last])

if __name__ == "__main__":
    if "--update" in sys.argv:
        update(int(sys.argv[sys.argv.index("--update") + 1]) if sys.argv[-1] != "--update" else 1000)
    else:
        unittest.main()
