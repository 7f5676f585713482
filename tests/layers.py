#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""Checks every #include "..." of the sources against doc/layers.txt."""
import os
import re
import sys

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
SOURCES = ("analyzer", "parsers", "models", "tests")


def read_rules(path):
    """room -> allowed prefixes (folders or files); "*" allows everything."""
    rules = {}
    with open(path, encoding="utf-8") as f:
        for line in f:
            words = line.split("#")[0].split()
            if words:
                rules[words[0]] = [w for w in words[1:] if w != "-"]
    return rules


def room_of(path, rooms):
    """The longest room that holds the path."""
    fitting = [r for r in rooms if path.startswith(r + "/")]
    return max(fitting, key=len) if fitting else None


def allowed(include, room, rules, rooms):
    target = room_of(include, rooms)
    if target is None:
        return False
    if target == room or "*" in rules[room]:
        return True
    return any(include == a or target == a for a in rules[room])


def files():
    for top in SOURCES:
        for folder, _, names in os.walk(os.path.join(ROOT, top)):
            for n in sorted(names):
                if n.endswith((".c", ".h")):
                    yield os.path.relpath(os.path.join(folder, n), ROOT)


def main():
    rules = read_rules(os.path.join(ROOT, "doc", "layers.txt"))
    rooms = list(rules)
    bad = checked = 0
    for path in files():
        room = room_of(path, rooms)
        if room is None:
            print("%s: in no room of doc/layers.txt" % path)
            bad += 1
            continue
        with open(os.path.join(ROOT, path), encoding="utf-8") as f:
            for number, line in enumerate(f, 1):
                m = re.match(r'\s*#\s*include\s+"([^"]+)"', line)
                if not m:
                    continue
                checked += 1
                include = m.group(1)
                beside = os.path.join(os.path.dirname(path), include)
                if not os.path.exists(os.path.join(ROOT, include)) and os.path.exists(os.path.join(ROOT, beside)):
                    include = beside
                if not os.path.exists(os.path.join(ROOT, include)):
                    print("%s:%d: there is no %s" % (path, number, include))
                    bad += 1
                elif not allowed(include, room, rules, rooms):
                    print("%s:%d: %s may not include %s" % (path, number, room, include))
                    bad += 1
    print("%d includes checked, %d not allowed" % (checked, bad))
    return 1 if bad or not checked else 0


if __name__ == "__main__":
    sys.exit(main())
