# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""Runs real programs under `adverb run`, in pairs, in network namespaces of their own.

A case is a function with a Lab as its argument. The runner calls it in a new network and PID namespace,
so UDP port 4791 is free and no process outlives the case. Every wait has a limit.
"""

import functools
import os
import pathlib
import re
import shlex
import signal
import subprocess
import sys
import time

HERE = pathlib.Path(__file__).resolve().parent

# Lines that report an error, also of programs that then exit with status 0.
ERROR_LINE = re.compile(
    r"invalid data|completion with error|completion error|fail(ed|ure)|unable to|couldn.t|"
    r"segmentation|\babort|bad address|lost connection|mismatch", re.I)


# A factor on the time limits of cases and their steps, which are for an idle machine. Whatever takes
# longer hangs.
SLOWER = 10


# Set if programs run under `adverb check`, whose findings are written to the case's folder.
CHECKED = os.environ.get("ADVERB_LAB_CHECKED") == "1"
# The versions of RoCE that the programs use, as of `adverb run --roce`.
ROCE = os.environ.get("ADVERB_LAB_ROCE")

# The ends of a pair of programs.
SERVER, CLIENT = "server", "client"


class Failure(Exception):
    """A case failed."""


class Skip(Exception):
    """A case cannot run on this machine; the text is the reason."""


class Process:
    """A program that a Lab started, with its output in a file."""

    def __init__(self, argv, log, env, cwd):
        self.argv = argv
        self.log = log
        with open(log, "wb") as out:
            self.popen = subprocess.Popen(argv, stdin=subprocess.DEVNULL, stdout=out,
                                          stderr=subprocess.STDOUT, env=env, cwd=cwd)

    @property
    def pid(self):
        return self.popen.pid

    def output(self):
        return pathlib.Path(self.log).read_text(errors="replace")

    def running(self):
        return self.popen.poll() is None

    def describe(self):
        status = self.popen.returncode
        return (f"$ {shlex.join(self.argv)}\n{self.output()}"
                f"[{'still running' if status is None else f'exit status {status}'}]\n")

    def wait(self, seconds):
        try:
            return self.popen.wait(timeout=seconds * SLOWER)
        except subprocess.TimeoutExpired:
            self.kill()
            raise Failure(f"not finished within {seconds * SLOWER} s:\n{self.describe()}") from None

    def kill(self):
        if self.running():
            self.popen.send_signal(signal.SIGKILL)
            self.popen.wait(timeout=30 * SLOWER)

    def ended_in_rpings_race(self):
        """Whether rping failed only in its race: its event thread uses the channel that main() has just
        destroyed, and reports an error after all work is done. On any device, until rdma-core 59."""
        return ("rping" in self.argv and self.popen.returncode == 255
                and self.output().strip().endswith("rdma_get_cm_event: Bad file descriptor"))

    def expect(self, status, seconds):
        """Waits; fails unless the program exits with this status and reports no error."""
        if self.wait(seconds) != status and not (status == 0 and self.ended_in_rpings_race()):
            raise Failure(f"exit status {self.popen.returncode}, not {status}:\n{self.describe()}")
        if status == 0 and not CHECKED:
            for line in self.output().splitlines():
                if ERROR_LINE.search(line):
                    raise Failure(f"a line of error, '{line.strip()}':\n{self.describe()}")
        return self.output()


class Lab:
    """The environment of a case: a directory, the built programs, namespaces."""

    def __init__(self, build, directory):
        self.build = pathlib.Path(build)
        self.dir = pathlib.Path(directory)
        self.adverb = self.build / "adverb"
        self.is_root = os.environ.get("ADVERB_LAB_ROOT") == "1"
        self.count = 0
        self.processes = []
        self.everywhere = {}  # environment variables of all programs
        self.apart = None  # an Apart, if the pairs of this case run on two hosts

    def client(self, name):
        """Returns the path of a program of the folder programs."""
        return str(self.build / "tests" / "clients" / "programs" / name)

    def environment(self, extra=None):
        keep = {k: v for k, v in os.environ.items()
                if k in ("PATH", "ADVERB_LOG", "ADVERB_LOG_FILE", "ADVERB_NO_LATENCY", "TERM")}
        keep.setdefault("ADVERB_LOG", "error")
        keep.update(LC_ALL="C", HOME=str(self.dir), XDG_RUNTIME_DIR=str(self.dir))
        keep["PATH"] = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"
        if ROCE:
            keep["ADVERB_ROCE"] = ROCE
        keep.update(self.everywhere)
        keep.update(extra or {})
        return keep

    def start(self, argv, prefix=(), env=None, adverb=True, side=CLIENT):
        """Starts a program, by default under `adverb run`. side: of a pair."""
        argv = [str(a) for a in argv]
        if self.apart and adverb and not prefix:
            argv, prefix = self.apart.place(argv, side)
        self.count += 1
        if adverb and CHECKED:
            argv = [str(self.adverb), "check", "--advice", "--json",
                    str(self.dir / f"{self.count:03d}-findings.json"), "--", *argv]
        elif adverb:
            argv = [str(self.adverb), "run", "--", *argv]
        log = self.dir / f"{self.count:03d}-{pathlib.Path(argv[0]).name}.log"
        process = Process([*prefix, *argv], str(log), self.environment(env), str(self.dir))
        self.processes.append(process)
        return process

    def start_server(self, argv, ready, seconds=30, **how):
        """Starts a program, and returns when its output contains `ready` or it has ended."""
        server = self.start(argv, side=SERVER, **how)
        self.wait_until(lambda: ready in server.output() or not server.running(), seconds,
                        "the server listens")
        return server

    def run(self, argv, seconds=60, status=0, **how):
        """Runs a program to its end; returns its output."""
        return self.start(argv, **how).expect(status, seconds)

    def system(self, command, seconds=60):
        """Runs a shell command that prepares the environment; returns its output."""
        done = subprocess.run(["sh", "-ec", command], stdin=subprocess.DEVNULL, timeout=seconds * SLOWER,
                              stdout=subprocess.PIPE, stderr=subprocess.STDOUT, check=False,
                              env=self.environment())
        text = done.stdout.decode(errors="replace")
        if done.returncode:
            raise Failure(f"$ {command}\n{text}[exit status {done.returncode}]")
        return text

    def pair(self, server, client, seconds=120, port=18515, **how):
        """Runs a server and, when it listens, its client; both must succeed. Returns their outputs.

        server_prefix, client_prefix: commands that run each one (in another namespace, as another user).
        """
        at_server = how.pop("server_prefix", ())
        at_client = how.pop("client_prefix", ())
        one = self.start(server, prefix=at_server, side=SERVER, **how)
        self.wait_listening(one, port)
        two = self.start(client, prefix=at_client, **how)
        try:
            client_out = two.expect(0, seconds)
            server_out = one.expect(0, 30)
        except Failure as failure:
            one.kill()
            two.kill()
            raise Failure(f"{failure}\nserver was:\n{one.describe()}\nclient was:\n"
                          f"{two.describe()}") from None
        return server_out, client_out

    def server_prefix(self):
        """Returns the command prefix of the servers of pairs."""
        return self.apart.second_host() if self.apart else []

    def server_address(self, loopback):
        """Returns the address that clients use for a server at this loopback address."""
        return self.apart.address(loopback) if self.apart else loopback

    def wait_listening(self, process, port, seconds=30):
        wanted = f":{port:04X} "
        deadline = time.monotonic() + seconds * SLOWER
        while time.monotonic() < deadline:
            for table in ("tcp", "tcp6"):
                try:
                    text = pathlib.Path(f"/proc/{process.pid}/net/{table}").read_text()
                except OSError:
                    continue
                for line in text.splitlines():
                    if wanted in line and " 0A " in line:
                        return
            if not process.running():
                raise Failure(f"ended instead of listening:\n{process.describe()}")
            time.sleep(0.01)
        process.kill()
        raise Failure(f"not listening on port {port} after {seconds * SLOWER} s:\n{process.describe()}")

    def wait_until(self, condition, seconds, what):
        deadline = time.monotonic() + seconds * SLOWER
        while not condition():
            if time.monotonic() > deadline:
                raise Failure(f"{what}: not within {seconds * SLOWER} s")
            time.sleep(0.05)

    def stop_tcpdump(self, process):
        """Stops tcpdump, which --immediate-mode wakes at each packet: when it sleeps it has written all of them."""
        self.wait_until(lambda: name_and_state(process.pid)[1] in "SZ", 20, "tcpdump has written all packets")
        process.popen.send_signal(signal.SIGINT)
        process.wait(30)

    def namespace(self):
        """Makes a second network namespace, held by a sleeping process; returns the command prefix for it."""
        holder = self.start(["unshare", "-n", "sleep", "3600"], adverb=False)
        mine = os.readlink("/proc/self/ns/net")

        def is_apart():
            return os.readlink(f"/proc/{holder.pid}/ns/net") != mine
        self.wait_until(is_apart, 10, "second network namespace")
        return holder.pid, ["nsenter", "-t", str(holder.pid), "-n"]

    def finish(self):
        for process in self.processes:
            process.kill()


@functools.cache
def namespace_command():
    """Returns the unshare command that gives a case its own network, for root or another user.

    If root cannot mount /proc (for example in a chroot), there is no PID namespace, because cases look
    up processes in /proc. The processes of a case then end with it, unless the case is killed.
    """
    command = ["unshare", "--net", "--pid", "--fork", "--kill-child", "--mount-proc"]
    if os.geteuid() != 0:
        return [*command, "--user", "--map-root-user"]
    if subprocess.run([*command, "true"], stdin=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
                      check=False, timeout=30 * SLOWER).returncode == 0:
        return command
    return ["unshare", "--net", "--fork", "--kill-child"]


def own_mounts(place):
    """Returns the command that runs another one with its own mounts below a path.

    In a chroot, / is no mount point whose propagation can be changed, but the path may be one.
    """
    command = ["unshare", "--mount"]
    if subprocess.run([*command, "true"], stdin=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
                      check=False, timeout=30 * SLOWER).returncode == 0:
        return command
    private = f"mount --make-rprivate {place} || exit 77; " + 'exec "$@"'
    return [*command, "--propagation", "unchanged", "sh", "-c", private, "sh"]


def namespaces_work():
    """Returns (whether a case can have its own namespaces, the error text)."""
    probe = subprocess.run([*namespace_command(), "ip", "link", "set", "lo", "up"],
                           stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                           stderr=subprocess.STDOUT, check=False, timeout=30 * SLOWER)
    return probe.returncode == 0, probe.stdout.decode(errors="replace").strip()


def name_and_state(pid):
    """Returns the name of a process and its state (R, S, Z, ...), or ("", "") if there is none."""
    try:
        stat = pathlib.Path(f"/proc/{pid}/stat").read_text()
    except OSError:
        return "", ""
    return stat[stat.index("(") + 1:stat.rindex(")")], stat[stat.rindex(")") + 2]


def process_name(pid):
    """Returns the name of a live process, or "" if there is none or a zombie."""
    name, state = name_and_state(pid)
    return "" if state == "Z" else name


def network_of(pid):
    """Returns the network namespace of a process, or None if it has exited."""
    try:
        return os.readlink(f"/proc/{pid}/ns/net")
    except OSError:
        return None


def daemons():
    """Returns the ids of the live adverbd processes of this network namespace."""
    pids = [int(entry.name) for entry in pathlib.Path("/proc").iterdir() if entry.name.isdigit()]
    return [pid for pid in pids if process_name(pid).startswith("adverbd")
            and network_of(pid) == network_of("self")]


def may_go_first():
    """Whether a process can have a real-time policy; a child process tries it."""
    take = "import os; os.sched_setscheduler(0, os.SCHED_RR, os.sched_param(1))"
    return subprocess.run([sys.executable, "-c", take], stdin=subprocess.DEVNULL,
                          stderr=subprocess.DEVNULL, check=False, timeout=30 * SLOWER).returncode == 0


def need_tool(name):
    """Skips the case if a program is not installed."""
    for folder in ("/usr/sbin", "/usr/bin", "/sbin", "/bin"):
        if os.access(f"{folder}/{name}", os.X_OK):
            return f"{folder}/{name}"
    raise Skip(f"{name} is not installed")


CASES = {}


def case(group, name, seconds=120):
    """Registers a function as the case `group/name` with a limit in seconds."""
    def register(function):
        key = f"{group}/{name}"
        assert key not in CASES, key
        CASES[key] = (function, seconds)
        return function
    return register
