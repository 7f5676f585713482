# SPDX-License-Identifier: GPL-2.0-or-later
"""A machine's topology from a tarball of sysfs or a text of lscpu -p, as the kernel sees it; side file of tasks."""
import re
import tarfile

SCOPES = ("core", "cluster", "llc", "node", "machine")


def parse_list(text):
    """Kernel CPU list "0-3,8,10-14:2" -> set"""
    out = set()
    for part in text.strip().split(","):
        m = re.fullmatch(r"(\d+)(?:-(\d+)(?::(\d+))?)?", part.strip())
        if m:
            out.update(range(int(m[1]), int(m[2] or m[1]) + 1, int(m[3] or 1)))
    return out


def format_list(cpus):
    out, run = [], []
    for c in sorted(cpus) + [None]:
        if run and c == run[-1] + 1 if c is not None and run else False:
            run.append(c)
            continue
        if run:
            out.append(str(run[0]) if len(run) == 1 else "%d-%d" % (run[0], run[-1]))
        run = [c]
    return ",".join(out)


class Topology:
    """span[scope][cpu]: frozenset of the CPUs of that group. group[scope]: list of groups by lowest CPU."""

    def __init__(self, cpus, online, isolated, core, cluster, llc, node, package, source):
        self.source = source
        self.present = frozenset(cpus)
        self.online = frozenset(online)
        self.isolated = frozenset(isolated)
        everything = frozenset(cpus)
        self.span = {"core": core, "cluster": cluster, "llc": llc, "node": node, "machine": {c: everything for c in cpus}}
        self.package = package  # cpu -> frozenset
        self.groups = {s: sorted(set(self.span[s].values()), key=min) for s in SCOPES}
        self.packages = sorted(set(package.values()), key=min)
        self.index = {s: {c: i for i, g in enumerate(self.groups[s]) for c in g} for s in SCOPES}
        self.package_index = {c: i for i, g in enumerate(self.packages) for c in g}
        self.nr_cpus = max(cpus) + 1
        self.smt = max(len(g & self.online) for g in self.groups["core"])
        # sd_llc_size: the CPUs of the outermost domain that shares a cache; a domain of one CPU does not exist.
        self.llc_size = {c: max(1, len(llc[c] & self.online)) for c in cpus}

    def relation(self, a, b):
        """Nearest of cpu, core, cluster, llc, node, remote that holds both."""
        if a == b:
            return "cpu"
        for s in SCOPES[:-1]:
            if b in self.span[s].get(a, ()):
                return s
        return "remote"

    def distance(self, a, b):
        r = self.relation(a, b)
        return "core" if r == "cpu" else r

    def share_llc(self, a, b):
        return a == b or b in self.span["llc"].get(a, ())


def build(cpus, online, isolated, core, l2, llc, node, package, source):
    """Nests the scopes: every group is the union of the groups below it, an LLC is cut at node borders."""
    node = {c: node.get(c) or package.get(c) or frozenset(cpus) for c in cpus}
    core = {c: frozenset(core.get(c) or {c}) for c in cpus}
    llc = {c: frozenset(llc.get(c) or package[c]) & node[c] | core[c] for c in cpus}
    cluster = {c: (frozenset(l2.get(c) or core[c]) | core[c]) & llc[c] for c in cpus}
    return Topology(cpus, online, isolated, core, cluster, llc, node, package, source)


def flat(nr):
    cpus = range(nr)
    every = frozenset(cpus)
    own = {c: frozenset({c}) for c in cpus}
    return build(cpus, cpus, (), own, own, {c: every for c in cpus}, {c: every for c in cpus}, {c: every for c in cpus}, "fallback")


def from_tar(path):
    files = {}
    with tarfile.open(path) as tar:
        for m in tar.getmembers():
            i = m.name.find("sys/devices/system/")
            if m.isfile() and i >= 0 and ("/cpu/" in m.name or "/node/" in m.name):
                files[m.name[i + len("sys/devices/system/"):]] = tar.extractfile(m).read().decode("ascii", "replace").strip()
    return from_sysfs(files, "sysfs")


def from_markers(files):
    """files: paths from the root"""
    cut = len("sys/devices/system/")
    return from_sysfs({p[cut:]: c.strip() for p, c in files.items() if p.startswith("sys/devices/system/")}, "markers")


def from_sysfs(files, source):
    nums = sorted({int(m[1]) for m in (re.match(r"cpu/cpu(\d+)/", n) for n in files) if m})
    present = parse_list(files.get("cpu/present", "")) or set(nums)
    online = parse_list(files["cpu/online"]) if files.get("cpu/online") else {c for c in nums if files.get("cpu/cpu%d/online" % c, "1") != "0"}
    cpus = sorted(present | set(nums) | online)
    core, l2, llc, package_id = {}, {}, {}, {}
    for c in cpus:
        top = "cpu/cpu%d/topology/" % c
        s = files.get(top + "core_cpus_list") or files.get(top + "thread_siblings_list")
        if s:
            core[c] = frozenset(parse_list(s))
        if files.get(top + "physical_package_id"):
            package_id[c] = int(files[top + "physical_package_id"])
        best = 0
        for i in range(16):
            base = "cpu/cpu%d/cache/index%d/" % (c, i)
            if base + "level" not in files or files.get(base + "type") == "Instruction":
                continue
            level, shared = int(files[base + "level"]), frozenset(parse_list(files.get(base + "shared_cpu_list", "")))
            if level == 2 and shared:
                l2[c] = shared
            if level > best and shared:
                best, llc[c] = level, shared
    package = {c: frozenset(d for d in cpus if package_id.get(d) == package_id.get(c)) for c in cpus}
    node = {}
    for name, text in files.items():
        m = re.fullmatch(r"node/node(\d+)/cpulist", name)
        if m:
            g = frozenset(parse_list(text))
            node.update({c: g for c in g})
    isolated = parse_list(files.get("cpu/isolated", ""))
    return build(cpus, online, isolated, core, l2, llc, node, package, source)


def from_lscpu(path):
    rows, cols = [], []
    with open(path, encoding="ascii", errors="replace") as f:
        for line in f:
            if line.startswith("# CPU"):
                cols = line[2:].strip().split(",")
            elif line.strip() and line[0] != "#":
                rows.append(line.strip().split(","))
    if not rows:
        raise ValueError("no CPU in it")
    # "L1d:L1i:L2:L3" or the same with commas; an empty column stands between the node and the caches.
    recs = [dict(zip(cols, r)) for r in rows]
    cpus = [int(r["CPU"]) for r in recs]

    def groups(key, qualify=()):
        by = {}
        for r in recs:
            if r.get(key, "") != "":
                by.setdefault((r[key],) + tuple(r.get(q, "") for q in qualify), set()).add(int(r["CPU"]))
        return {c: frozenset(g) for g in by.values() for c in g}
    core, package = groups("Core", ("Socket",)), groups("Socket")
    caches = [k for k in ("L2", "L3") if any(r.get(k, "") != "" for r in recs)]
    online = [int(r["CPU"]) for r in recs if r.get("Online", "Y") != "N"]
    every = frozenset(cpus)
    return build(cpus, online, (), core, groups("L2") if "L2" in caches else {}, groups(caches[-1]) if caches else {}, groups("Node"),
                 {c: package.get(c, every) for c in cpus}, "lscpu")


def load(path, nr_cpus):
    if path is None:
        return flat(nr_cpus)
    return from_tar(path) if tarfile.is_tarfile(path) else from_lscpu(path)


# ---- tasks

POLICY_IDLE = 5
PINNED_NAME = re.compile(r"(?:kworker/(\d+):|ksoftirqd/(\d+)$|migration/(\d+)$|cpuhp/(\d+)$|rcuc/(\d+)$|watchdog/(\d+)$|idle_inject/(\d+)$|irq_work/(\d+)$)")


def pinned_by_name(comm):
    """CPU of a per-CPU kernel thread (L.6), or None"""
    m = PINNED_NAME.match(comm or "")
    return int(next(g for g in m.groups() if g is not None)) if m else None


class Fact:
    def __init__(self, tgid, policy, allowed, cgroup):
        self.tgid, self.policy, self.allowed, self.cgroup = tgid, policy, allowed, cgroup


def load_tasks(path):
    """TSV with the header tid pid comm prio nice policy rtprio cpu allowed cgroup autogroup -> {tid: Fact}"""
    if path is None:
        return {}
    with open(path, encoding="utf-8", errors="replace") as f:
        return parse_tasks(f.read())


POLICIES = {"OTHER": 0, "FIFO": 1, "RR": 2, "BATCH": 3, "IDLE": 5, "DEADLINE": 6}


def parse_tasks(text):
    facts = {}
    lines = [x for x in text.split("\n") if x and x[0] != "#"]
    cols = lines[0].split("\t") if lines else []
    for line in lines[1:]:
        r = dict(zip(cols, line.split("\t")))
        if not r.get("tid", "").isdigit():
            continue
        policy = r.get("policy", "")
        facts[int(r["tid"])] = Fact(int(r["pid"]) if r.get("pid", "").isdigit() else 0,
                                    int(policy) if policy.isdigit() else POLICIES.get(policy.replace("SCHED_", "").upper()),
                                    frozenset(parse_list(r.get("allowed", ""))) or None, r.get("cgroup") or None)
    return facts
