# SPDX-License-Identifier: GPL-2.0-or-later
"""A Slurm cluster and ssh hosts on this machine alone: daemons on loopback with their own keys, ports and state in a temporary folder.

Nothing of the system's own configuration is read or written, and nothing is left running: the daemons are children of the test and die with
it. Both run as root and as an unprivileged user, who can then start jobs only as himself. What cannot be started raises Unavailable with the
reason; a test skips with it.
"""
import ctypes
import getpass
import os
import pwd
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time

START_S = 30
NODES = 2


class Unavailable(Exception):
    pass


def program(name):
    """Daemons lie in sbin, which is not on every user's path."""
    found = shutil.which(name, path=os.environ.get("PATH", "") + ":/usr/sbin:/sbin")
    if not found:
        raise Unavailable("%s is not installed" % name)
    return found


def free_ports(count):
    """Ports that were free a moment ago, all different."""
    held = []
    try:
        for _ in range(count):
            s = socket.socket()
            s.bind(("127.0.0.1", 0))
            held.append(s)
        return [s.getsockname()[1] for s in held]
    finally:
        for s in held:
            s.close()


def die_with_parent():
    """In a child before exec: daemons do not outlive a test that is killed."""
    os.setsid()
    ctypes.CDLL(None).prctl(1, signal.SIGKILL)  # PR_SET_PDEATHSIG


class Daemons:
    """A temporary folder and the children that work in it."""

    def __init__(self, prefix):
        self.dir = tempfile.mkdtemp(prefix=prefix)
        os.chmod(self.dir, 0o755)
        self.children = []

    def path(self, *names):
        return os.path.join(self.dir, *names)

    def write(self, name, text, mode=0o644):
        with open(self.path(name), "w", encoding="utf-8") as f:
            f.write(text)
        os.chmod(self.path(name), mode)
        return self.path(name)

    def spawn(self, name, argv, env=None):
        log = open(self.path(name + ".out"), "ab")
        with log:
            child = subprocess.Popen(argv, stdin=subprocess.DEVNULL, stdout=log, stderr=log, cwd=self.dir, preexec_fn=die_with_parent,
                                     env={**os.environ, **(env or {})})
        self.children.append((name, child))
        return child

    def await_true(self, what, ready):
        """Waits until ready() holds while all daemons live; otherwise says what they wrote."""
        end = time.monotonic() + START_S
        while time.monotonic() < end:
            if ready():
                return
            for name, child in self.children:
                if child.poll() is not None:
                    raise Unavailable("%s ended with status %d: %s" % (name, child.returncode, self.last_words(name)))
            time.sleep(0.1)
        raise Unavailable("%s did not come up within %d s: %s" % (what, START_S, "; ".join(self.last_words(n) for n, _ in self.children)))

    def last_words(self, name):
        text = ""
        for log in (name + ".out", name + ".log"):
            if os.path.exists(self.path(log)):
                with open(self.path(log), encoding="utf-8", errors="replace") as f:
                    text += f.read()
        return " / ".join(text.splitlines()[-3:])

    def stop(self):
        for _, child in reversed(self.children):
            child.terminate()
        for _, child in reversed(self.children):
            try:
                child.wait(10)
            except subprocess.TimeoutExpired:
                child.kill()
                child.wait()
        self.children = []
        shutil.rmtree(self.dir, ignore_errors=True)


class Slurm(Daemons):
    """munged, slurmctld and one slurmd a node. Clients find it through the variables in self.env."""

    def __init__(self, nodes=NODES):
        programs = {n: program(n) for n in ("munged", "slurmctld", "slurmd", "sbatch", "scontrol", "sinfo", "squeue", "scancel")}
        super().__init__("wakeif-slurm-")
        self.programs, self.nodes = programs, nodes
        self.env = {"SLURM_CONF": self.path("slurm.conf")}
        try:
            self.start()
        except BaseException:
            self.stop()
            raise

    def start(self):
        sock = self.munge()
        self.write("slurm.conf", self.configuration(sock))
        for folder in ("state", *("spool-n%d" % i for i in range(1, self.nodes + 1))):
            os.mkdir(self.path(folder))
        self.spawn("slurmctld", [self.programs["slurmctld"], "-D", "-i", "-f", self.env["SLURM_CONF"]], self.env)
        for i in range(1, self.nodes + 1):
            self.start_node("n%d" % i)
        self.await_true("the nodes", self.all_idle)

    def start_node(self, node):
        self.spawn("slurmd-" + node, [self.programs["slurmd"], "-D", "-N", node, "-f", self.env["SLURM_CONF"]], self.env)

    def restart_node(self, node):
        """After its daemon was killed."""
        self.children = [c for c in self.children if c[0] != "slurmd-" + node]
        self.start_node(node)
        self.await_true(node, self.all_idle)

    def munge(self):
        key, sock = self.path("munge.key"), self.path("munge.socket")
        with open(os.open(key, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o400), "wb") as f:
            f.write(os.urandom(128))
        self.spawn("munged", [self.programs["munged"], "--foreground", "--key-file", key, "--socket", sock, "--pid-file", self.path("munged.pid"),
                              "--log-file", self.path("munged.log"), "--seed-file", self.path("munged.seed")])
        self.await_true("munged", lambda: os.path.exists(sock))
        return sock

    def configuration(self, sock):
        ports = free_ports(self.nodes + 1)
        lines = ["ClusterName=wakeif-test", "SlurmctldHost=%s(127.0.0.1)" % socket.gethostname().split(".")[0],
                 "SlurmctldPort=%d" % ports[0], "SlurmUser=" + getpass.getuser(), "SlurmdUser=" + getpass.getuser(),
                 "AuthType=auth/munge", "AuthInfo=socket=" + sock, "CredType=cred/munge",
                 "StateSaveLocation=" + self.path("state"), "SlurmdSpoolDir=" + self.path("spool-%n"),
                 "SlurmctldPidFile=" + self.path("slurmctld.pid"), "SlurmdPidFile=" + self.path("slurmd-%n.pid"),
                 "SlurmctldLogFile=" + self.path("slurmctld.log"), "SlurmdLogFile=" + self.path("slurmd-%n.log"),
                 "ProctrackType=proctrack/linuxproc", "TaskPlugin=task/none", "SwitchType=switch/none", "MpiDefault=none",
                 "JobAcctGatherType=jobacct_gather/none", "AccountingStorageType=accounting_storage/none", "JobCompType=jobcomp/none",
                 "SelectType=select/cons_tres", "SchedulerType=sched/builtin", "SchedulerParameters=sched_interval=1,batch_sched_delay=0",
                 "MailProg=/bin/true", "ReturnToService=2", "KillWait=10", "MinJobAge=300", "SlurmdTimeout=10", "SlurmdParameters=config_overrides"]
        lines += ["NodeName=n%d NodeHostname=localhost NodeAddr=127.0.0.1 Port=%d CPUs=1 State=UNKNOWN" % (i + 1, p) for i, p in enumerate(ports[1:])]
        return "\n".join(lines + ["PartitionName=all Nodes=ALL Default=YES MaxTime=INFINITE State=UP", ""])

    def call(self, name, *args, check=True, env=None, cwd=None):
        p = subprocess.run([self.programs[name], *args], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                           env={**os.environ, **self.env, **(env or {})}, cwd=cwd, timeout=60)
        if check and p.returncode:
            raise RuntimeError("%s: status %d: %s" % (name, p.returncode, p.stderr.decode("utf-8", "replace")))
        return p.stdout.decode("utf-8", "replace")

    def all_idle(self):
        return self.call("sinfo", "-h", "-N", "-o", "%T", check=False).split() == ["idle"] * self.nodes

    def jobs(self, job):
        """Of a job, or of an array's jobs: (state, exit code and signal) of each. The controller remembers them for MinJobAge."""
        found = []
        for line in self.call("scontrol", "-o", "show", "job", str(job)).splitlines():
            facts = dict(word.split("=", 1) for word in line.split() if "=" in word)
            found.append((facts["JobState"], facts["ExitCode"]))
        return found

    def await_jobs(self, job, timeout_s=120):
        """The states of a job or array when none of it waits or runs any more."""
        end = time.monotonic() + timeout_s
        while time.monotonic() < end:
            now = self.jobs(job)
            if now and not any(state in ("PENDING", "RUNNING", "COMPLETING", "CONFIGURING", "SUSPENDED") for state, _ in now):
                return now
            time.sleep(0.2)
        raise RuntimeError("job %s: %s after %d s" % (job, self.jobs(job), timeout_s))


class SshHosts(Daemons):
    """sshd on several loopback addresses: hosts that share a file system. self.ssh is a command that reaches them by
    address, or as node1, node2 ..."""

    def __init__(self, hosts=NODES):
        programs = {n: program(n) for n in ("sshd", "ssh", "ssh-keygen")}
        shell = pwd.getpwuid(os.geteuid()).pw_shell
        if os.path.basename(shell) in ("nologin", "false"):
            raise Unavailable("sshd starts nothing for %s, whose shell is %s" % (getpass.getuser(), shell))
        super().__init__("wakeif-ssh-")
        os.chmod(self.dir, 0o700)
        self.programs = programs
        self.hosts = ["127.0.0.%d" % (i + 1) for i in range(hosts)]
        try:
            self.start()
        except BaseException:
            self.stop()
            raise

    def start(self):
        if os.geteuid() == 0:
            os.makedirs("/run/sshd", mode=0o755, exist_ok=True)  # sshd drops its privileges into it; the path is built in
        for key in ("host", "user"):
            subprocess.run([self.programs["ssh-keygen"], "-q", "-t", "ed25519", "-N", "", "-f", self.path(key)], check=True, stdin=subprocess.DEVNULL)
        shutil.copyfile(self.path("user.pub"), self.path("authorized_keys"))
        os.chmod(self.path("authorized_keys"), 0o600)
        self.port = free_ports(1)[0]
        self.write("sshd_config", "\n".join(
            ["Port %d" % self.port, *("ListenAddress " + h for h in self.hosts), "HostKey " + self.path("host"), "PidFile none", "UsePAM no",
             "AuthorizedKeysFile " + self.path("authorized_keys"), "PasswordAuthentication no", "KbdInteractiveAuthentication no",
             "PermitRootLogin prohibit-password", "StrictModes no", "PermitUserEnvironment no", "MaxStartups 100", ""]), 0o600)
        aliases = [line for i, h in enumerate(self.hosts, 1) for line in ("Host node%d" % i, "HostName " + h)]
        self.write("ssh_config", "\n".join(
            [*aliases, "Host *", "Port %d" % self.port, "User " + getpass.getuser(), "IdentityFile " + self.path("user"), "IdentitiesOnly yes",
             "UserKnownHostsFile " + self.path("known_hosts"), "GlobalKnownHostsFile /dev/null", "StrictHostKeyChecking accept-new",
             "BatchMode yes", "LogLevel ERROR", "ConnectTimeout 10", ""]), 0o600)
        self.spawn("sshd", [self.programs["sshd"], "-D", "-e", "-f", self.path("sshd_config")])
        self.ssh = "%s -F %s" % (self.programs["ssh"], self.path("ssh_config"))
        self.await_true("sshd", self.all_answer)

    def all_answer(self):
        return all(subprocess.run([*self.ssh.split(), host, "true"], stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
                                  stderr=subprocess.DEVNULL).returncode == 0 for host in self.hosts)


if __name__ == "__main__":
    # By hand: tests/cluster/one_machine.py slurm|ssh starts it and waits for the end of the input.
    with_what = {"slurm": Slurm, "ssh": SshHosts}[sys.argv[1]]()
    print(with_what.env if sys.argv[1] == "slurm" else with_what.ssh, flush=True)
    try:
        sys.stdin.read()
    finally:
        with_what.stop()
