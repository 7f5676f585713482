#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""Runs one file of unittest cases and ends with "N passed, N failed, N skipped", counting cases."""
import importlib.util
import os
import sys
import unittest


def main():
    path = os.path.abspath(sys.argv[1])
    sys.path.insert(0, os.path.dirname(path))
    name = os.path.splitext(os.path.basename(path))[0]
    spec = importlib.util.spec_from_file_location(name, path)
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module
    spec.loader.exec_module(module)
    suite = unittest.defaultTestLoader.loadTestsFromModule(module)
    result = unittest.TextTestRunner(stream=sys.stdout, verbosity=0).run(suite)
    for test, why in result.skipped:
        print("skipped: %s: %s" % (test.id() if hasattr(test, "id") else test, why))
    bad = {id(getattr(t, "test_case", t)) for t, _ in result.failures + result.errors} | {id(t) for t in result.unexpectedSuccesses}
    failed = len(bad)
    skipped = len({id(t) for t, _ in result.skipped} - bad)
    passed = max(result.testsRun - failed - skipped, 0)
    print("%d passed, %d failed, %d skipped" % (passed, failed, skipped))
    return 1 if failed or not result.wasSuccessful() else 0


if __name__ == "__main__":
    sys.exit(main())
