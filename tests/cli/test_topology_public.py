#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""wakeif topology on public machine dumps (what lscpu and lstopo say of them), on other kinds of source, and on what it captures itself."""
import io
import json
import os
import pwd
import re
import subprocess
import sys
import tarfile
import tempfile
import unittest

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
WAKEIF = os.path.join(ROOT, os.environ.get("O", "build"), "wakeif")
SHARED = os.environ.get("WAKEIF_SHARED", os.path.join(ROOT, "..", "shared"))
PUBLIC = os.path.join(SHARED, "public", "topology")


def run(*args, **kw):
    return subprocess.run([WAKEIF, "topology", *args], capture_output=True, text=True, timeout=60, **kw)


def topology(source):
    p = run("--json", source)
    assert p.returncode == 0, (source, p.stderr)
    return json.loads(p.stdout)


def cpus(text):
    """'0-3,8,0-62:2' of lscpu and of wakeif as a set. lscpu's own stride is a step."""
    out = set()
    for part in filter(None, text.split(",")):
        m = re.fullmatch(r"(\d+)(?:-(\d+))?(?::(\d+))?", part)
        out.update(range(int(m[1]), int(m[2] or m[1]) + 1, int(m[3] or 1)))
    return out


def online(t):
    return {c["cpu"] for c in t["cpus"] if c["online"]}


def groups(t, key):
    out = {}
    for c in t["cpus"]:
        if c["online"]:
            out.setdefault(c[key], set()).add(c["cpu"])
    return sorted(sorted(g) for g in out.values())


@unittest.skipUnless(os.path.isdir(PUBLIC), "no public topology dumps (WAKEIF_SHARED)")
class Lscpu(unittest.TestCase):
    def each(self):
        for name in sorted(os.listdir(PUBLIC)):
            if name.startswith("lscpu-") and name.endswith(".tar.gz"):
                with open(os.path.join(PUBLIC, name[:-7] + ".expected")) as f:
                    text = f.read()
                fields = dict(re.findall(r"^([^:\n#]+?):\s+(.*)$", text, re.M))
                with self.subTest(name):
                    yield name, fields, topology(os.path.join(PUBLIC, name))

    def test_cpus(self):
        seen = 0
        for _, fields, t in self.each():
            self.assertEqual(online(t), cpus(fields["On-line CPU(s) list"]))
            self.assertEqual(t["nr_online"], len(online(t)))
            self.assertEqual(len(t["cpus"]), int(fields["CPU(s)"]))
            seen += 1
        self.assertEqual(seen, 7)

    def test_threads(self):
        for _, fields, t in self.each():
            self.assertEqual(t["smt"], int(fields["Thread(s) per core"]))

    def test_nodes(self):
        for _, fields, t in self.each():
            expected = sorted(sorted(cpus(v)) for k, v in fields.items() if re.fullmatch(r"NUMA node\d+ CPU\(s\)", k))
            if expected:
                self.assertEqual(groups(t, "node"), expected)

    def test_l3(self):
        seen = 0
        for _, fields, t in self.each():
            m = re.search(r"\((\d+) instances?\)", fields.get("L3 cache", ""))
            if m:
                self.assertEqual(len(groups(t, "llc")), int(m[1]))
                seen += 1
        self.assertEqual(seen, 4)

    def test_sockets(self):
        for name, fields, t in self.each():
            if "Socket(s)" in fields and "sparc" not in name:  # there lscpu makes a socket of each CPU
                self.assertEqual(len(groups(t, "package")), int(fields["Socket(s)"]))


@unittest.skipUnless(os.path.isdir(PUBLIC), "no public topology dumps (WAKEIF_SHARED)")
class Lstopo(unittest.TestCase):
    def test_counts(self):
        seen = 0
        for name in sorted(os.listdir(PUBLIC)):
            if not name.endswith(".tar.bz2"):
                continue
            with open(os.path.join(PUBLIC, name[:-8] + ".console")) as f:
                text = f.read()
            depth = {k: int(n) for n, k in re.findall(r"depth -?\d+:\s+(\d+) (\w+) \(type", text)}
            with self.subTest(name):
                t = topology(os.path.join(PUBLIC, name))
                self.assertEqual(t["nr_online"], depth["PU"])
                self.assertEqual(len(groups(t, "package")), depth["Package"])
                self.assertEqual(len(groups(t, "llc")), depth.get("L3Cache", depth["L2Cache"]))
                self.assertEqual(online(t), {int(n) for n in re.findall(r"PU L#\d+ \(P#(\d+)", text)})
                if "64amd64" not in name:  # that hwloc took the halves of a Bulldozer module as cores
                    self.assertEqual(len(groups(t, "core")), depth["Core"])
            seen += 1
        self.assertEqual(seen, 7)

    def test_folder_is_archive(self):
        with tempfile.TemporaryDirectory() as d:
            archive = os.path.join(PUBLIC, "hwloc-nvidiagpunumanodes.tar.bz2")
            with tarfile.open(archive) as tar:
                members = [m for m in tar.getmembers() if m.isreg() or m.isdir()]
                for m in members:
                    m.mode |= 0o700
                tar.extractall(d, members=members)
            a, b = topology(archive), topology(d)
            a["source"] = b["source"] = ""
            self.assertEqual(a, b)


class Sources(unittest.TestCase):
    def test_synthetic(self):
        t = topology("pack:2 l3:1 core:4 pu:2")
        self.assertEqual([t["nr_online"], t["smt"], t["nr_llcs"], t["nr_packages"]], [16, 2, 2, 2])

    def test_live(self):
        t = topology("live")
        self.assertEqual(t["nr_online"], os.sysconf("SC_NPROCESSORS_ONLN"))

    def test_lscpu_of_this_machine(self):
        text = subprocess.run(["lscpu", "-p"], capture_output=True, text=True, check=True).stdout
        with tempfile.NamedTemporaryFile("w", suffix=".txt") as f:
            f.write(text)
            f.flush()
            a, b = topology("live"), topology(f.name)
        for key in ("core", "package"):
            self.assertEqual(groups(a, key), groups(b, key))
        if re.search(r"^# CPU.*,L\d", text, re.M):
            self.assertEqual(groups(a, "llc"), groups(b, "llc"))

    def test_xml_of_hwloc(self):
        with tempfile.TemporaryDirectory() as d:
            xml = os.path.join(d, "m.xml")
            subprocess.run(["lstopo-no-graphics", "-i", "numa:2 l3:2 core:4 pu:2", "--of", "xml", xml], check=True, capture_output=True)
            t = topology(xml)
            self.assertTrue(t["source"].startswith("hwloc xml "))
            self.assertEqual([len(groups(t, k)) for k in ("core", "llc", "node")], [16, 4, 2])
            with open(xml) as f:
                text = f.read()
            with open(xml, "w") as f:
                f.write(text[:len(text) // 2])
            p = run("--json", xml)
            self.assertEqual((p.returncode, p.stdout), (3, ""))
            self.assertIn("m.xml", p.stderr)

    def test_refused(self):
        with tempfile.TemporaryDirectory() as d:
            empty, text, folder = (os.path.join(d, n) for n in ("empty", "text", "folder"))
            open(empty, "w").close()
            with open(text, "w") as f:
                f.write("nothing of use\n")
            os.mkdir(folder)
            for source in (empty, text, folder):
                p = run(source)
                self.assertEqual((p.returncode, p.stdout), (3, ""), source)
                self.assertTrue(p.stderr.startswith("wakeif: ") and p.stderr.count("\n") == 1, p.stderr)
            p = run(os.path.join(d, "absent"))
            self.assertEqual((p.returncode, p.stdout), (1, ""))
            p = run("pack:x y:z")
            self.assertIn(p.returncode, (1, 3))
            self.assertEqual(p.stdout, "")

    def test_capture(self):
        with tempfile.TemporaryDirectory() as d:
            archive = os.path.join(d, "m.tar.gz")
            p = run("--capture", "-o", archive)
            self.assertEqual(p.returncode, 0, p.stderr)
            a, b = topology("live"), topology(archive)
            a["source"] = b["source"] = ""
            self.assertEqual(a["cpus"], b["cpus"])
            with tarfile.open(archive) as tar:
                names = tar.getnames()
                tasks = tar.extractfile("tasks").read().decode()
            self.assertEqual(names, sorted(names))
            rows = [line.split("\t") for line in tasks.splitlines()]
            self.assertEqual(rows[0], "tid pid comm prio nice policy rtprio cpu allowed cgroup autogroup".split())
            self.assertTrue(all(len(r) == len(rows[0]) for r in rows))
            self.assertIn("1", {r[0] for r in rows})

    @unittest.skipUnless(os.geteuid() == 0, "runs as nobody, which only root can")
    def test_capture_without_root(self):
        nobody = pwd.getpwnam("nobody")
        with tempfile.TemporaryDirectory() as d:
            os.chown(d, nobody.pw_uid, nobody.pw_gid)
            # the program may lie where nobody cannot reach it
            program = os.path.join(d, "wakeif")
            with open(WAKEIF, "rb") as f, open(program, "wb") as out:
                out.write(f.read())
            os.chmod(program, 0o755)
            archive = os.path.join(d, "m.tar.gz")
            p = subprocess.run([program, "topology", "--capture", "-o", archive], capture_output=True, text=True, cwd=d,
                               user=nobody.pw_uid, group=nobody.pw_gid, extra_groups=[])
            self.assertEqual(p.returncode, 0, p.stderr)
            self.assertEqual(topology(archive)["nr_online"], topology("live")["nr_online"])


class Archives(unittest.TestCase):
    def test_escaping_names_touch_nothing(self):
        with tempfile.TemporaryDirectory() as d:
            archive = os.path.join(d, "sub", "h.tar")
            os.mkdir(os.path.join(d, "sub"))
            with tarfile.open(archive, "w") as tar:
                for name in ("../out", os.path.join(d, "absolute"), "m/../../out", "m/sys/devices/system/cpu/online"):
                    info = tarfile.TarInfo(name)
                    info.size = 4
                    tar.addfile(info, io.BytesIO(b"0-1\n"))
                link = tarfile.TarInfo("m/sys/devices/system/cpu/present")
                link.type, link.linkname = tarfile.SYMTYPE, "/etc/passwd"
                tar.addfile(link)
            t = topology(archive)
            self.assertEqual(online(t), {0, 1})
            self.assertEqual(sorted(os.listdir(d)), ["sub"])

    def test_bomb(self):
        """A gigabyte of zeros in a megabyte is refused in bounded memory."""
        with tempfile.TemporaryDirectory() as d:
            archive = os.path.join(d, "bomb.tar.gz")
            with tarfile.open(archive, "w:gz", compresslevel=1) as tar:
                info = tarfile.TarInfo("m/proc/schedstat")
                info.size = 160 << 20
                with open("/dev/zero", "rb") as zero:
                    tar.addfile(info, zero)
            p = subprocess.run(["/usr/bin/env", "bash", "-c", 'ulimit -v 600000; exec "$0" topology "$1"', WAKEIF, archive], capture_output=True, text=True)
            if "failed to map" in p.stderr or "ReserveShadow" in p.stderr or "AddressSanitizer" in p.stderr:
                self.skipTest("a sanitizer needs more address space")
            self.assertEqual((p.returncode, p.stdout), (3, ""), p.stderr)
            self.assertIn("too big for a topology file", p.stderr)


if __name__ == "__main__":
    result = unittest.TextTestRunner(verbosity=1).run(unittest.defaultTestLoader.loadTestsFromModule(sys.modules[__name__]))
    failed, skipped = len(result.failures) + len(result.errors), len(result.skipped)
    print(f"{result.testsRun - failed - skipped} passed, {failed} failed" + (f", {skipped} skipped" if skipped else ""))
    sys.exit(1 if failed else 0)
