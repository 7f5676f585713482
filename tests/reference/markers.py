# SPDX-License-Identifier: GPL-2.0-or-later
"""The machine's description in its own trace, as doc/markers.md defines it."""
import re

from topology import parse_list

CHUNK = re.compile(r"wakeif/1 ([0-9A-Za-z]{1,16}) (\d+)/(\d+) (.*)\|\s*$")
RECORD = re.compile(r"((?:[^@=;\\]|\\.)*)@((?:[^=;\\]|\\.)*)=((?:[^;\\]|\\.)*);")
ESCAPE = re.compile(r"\\(x[0-9a-f]{2}|.)")


def unescape(text):
    """-> text, with escapes taken away; a final \\c (no newline at the end of the file) tells nothing here"""
    def one(m):
        e = m[1]
        return chr(int(e[1:], 16)) if len(e) == 3 else {"n": "\n", "t": "\t", "c": ""}.get(e, e)
    return ESCAPE.sub(one, text)


def files(texts):
    """texts: those of the marker events, in order -> {path: content} of the set that became complete last, or None"""
    sets, last = {}, None
    for text in texts:
        m = CHUNK.search(text)
        if not m:
            continue
        name, n, total = m[1], int(m[2]), int(m[3])
        chunks = sets.setdefault((name, total), {})
        was = len(chunks)
        chunks[n] = m[4]
        if len(chunks) == total and was < total:
            last = (name, total)
    if last is None:
        return None
    payload = "".join(sets[last][i] for i in range(1, last[1] + 1))
    out, path = {}, ""
    for numbers, p, content in RECORD.findall(payload):
        path = p or path
        if "%" in path:
            for n in parse_list(numbers):
                out[unescape(path.replace("%", str(n)))] = unescape(content)
        else:
            out[unescape(path)] = unescape(content)
    return out
