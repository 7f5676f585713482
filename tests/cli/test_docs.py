#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""Runs the console examples of the documents and compares their output.

In a ```console block, a line "$ COMMAND" is run by sh in the root of the repository, with wakeif in the path; the lines below it are its output. A line
"[...]" stands for any number of lines. "test_docs.py --update [LINES]" writes the real output into the documents where it does not match: what stands between
two "[...]" is found again in the output by what it says, its numbers apart, and gets as many lines as it had (LINES where nothing but "[...]" stood).
"""
import difflib
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

    def test_update_keeps_what_is_left_out(self):
        real = ["head 7", "a 1", "b 2", "c 3", "", "x 10", "y 20", "tail"]
        for old, new in (
            (["head 5", ELIDED, "c 9", "", "x 1", ELIDED], ["head 7", ELIDED, "c 3", "", "x 10", ELIDED]),
            ([ELIDED, "b 1", ELIDED, "y 1", ELIDED, "tail"], [ELIDED, "b 2", ELIDED, "y 20", ELIDED, "tail"]),
            (["head 1", ELIDED], ["head 7", ELIDED]),
            ([ELIDED], [ELIDED]),
            (["old"], real),
            (["head 7", ELIDED, "tail"], ["head 7", ELIDED, "tail"]),
            (["head 1", ELIDED, "tale"], ["head 7", ELIDED, "tail"]),
            (["1"] * 20 + [ELIDED, "2"] * 3, None),
        ):
            with self.subTest(old=old):
                got = renewed(old, real, 3)
                self.assertTrue(new is None or got == new, got)
                if new is not None:
                    self.assertTrue(matches(got, real))


def add(doc, number, command, expected):
    def test(self):
        real = run(command)
        if not matches(expected, real):
            self.fail("%s:%d: $ %s\nexpected:\n%s\nfound:\n%s" % (doc, number + 1, command, "\n".join(expected), "\n".join(real[:80])))

    setattr(Examples, "test_%s_%d" % (re.sub(r"\W", "_", doc), number + 1), test)


def likeness(a, b):
    """How much two lines say the same, numbers and the width of columns apart."""
    a, b = (" ".join(re.sub(r"[-+]?[0-9][0-9.,]*", "0", line).split()) for line in (a, b))
    return 2 if a == b else difflib.SequenceMatcher(None, a, b).ratio()


def pieces_of(lines):
    """The runs of lines between, before and behind "[...]"; empty ones at the ends where it stands there."""
    found = [[]]
    for line in lines:
        if line == ELIDED:
            found.append([])
        else:
            found[-1].append(line)
    return found


def renewed(old, real, lines_wanted):
    """The real output with what the old one left out left out."""
    if matches(old, real):
        return old
    pieces = pieces_of(old)
    if len(pieces) == 1:
        return real
    if not any(pieces):
        return real[:lines_wanted] + ([ELIDED] if len(real) > lines_wanted else [])
    out, at = [], 0
    for i, piece in enumerate(pieces):
        behind = sum(len(p) for p in pieces[i + 1:])
        last = max(at, len(real) - behind - len(piece))
        if i == 0:
            place = 0
        elif i == len(pieces) - 1:
            place = max(at, len(real) - len(piece))
        else:
            place = max(range(at, last + 1), key=lambda p, piece=piece: (sum(likeness(x, y) for x, y in zip(piece, real[p:])), -p))
        out += ([ELIDED] if i else []) + real[place:place + len(piece)]
        at = min(len(real), place + len(piece))
    return out


def update(lines_wanted):
    for doc in DOCS:
        path = os.path.join(ROOT, doc)
        with open(path, encoding="utf-8") as f:
            text = f.read()
        lines = text.splitlines()
        for number, command, first, last in reversed(list(examples(lines))):
            lines[first:last] = renewed(lines[first:last], run(command), lines_wanted)
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
