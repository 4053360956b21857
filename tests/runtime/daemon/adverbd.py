# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""What the daemon's tests share: a network namespace of their own, daemons, and a bare client.

A test script ends with main(build-independent cases). Run it as `script --build DIR [case...]`. It
runs itself again in a new network namespace, so that port 4791 and the abstract names are its own.
Exit status 77 (skipped) if namespaces are not permitted.
"""

import argparse
import contextlib
import ctypes
import os
import pathlib
import re
import resource
import select
import signal
import socket
import struct
import subprocess
import sys
import tempfile
import time
import traceback



def version_in(header, name):
    """Returns the number that a header of the sources defines, so that no copy of it goes stale."""
    text = (pathlib.Path(__file__).resolve().parents[3] / "src" / header).read_text()
    return int(re.search(rf"^#define {name}\s+(\d+)$", text, re.M)[1])


MAGIC, VERSION, LENGTH = 0x41445643, version_in("runtime/control/protocol.h", "ADV_CONTROL_VERSION"), 256
HELLO, OPEN_SLOT, RESUME, JOIN, LEAVE, STATUS, LIST, NOTICE, REFUSED = 1, 2, 3, 4, 5, 6, 7, 128, 129
COUNT, COUNTERS, SENDER, PAIR, PAIRS, FAULT, BLOCK, ESTATE = 9, 10, 11, 12, 13, 14, 15, 16
NEIGHBOUR = 17
FAULT_OPEN, FAULT_SLOT, FAULT_PROCESS, FAULT_DAEMON = 0, 1, 2, 3
PORT = 4791
FIRST_SLOT, SLOTS, SLOT_BITS = 2, 4096, 11  # nic/wire/slot.h
BLOCKS, BLOCK_BITS, BLOCK_QPNS_FROM = 127, 16, 1 << 23
INSIDE = "ADVERB_TEST_NAMESPACE"  # its value: the user outside the namespace
SKIPPED = 77
NOBODY = 65534
CLONE_NEWNET = 0x40000000  # linux/sched.h
LIBC = ctypes.CDLL(None, use_errno=True)
PATIENCE = 120.0  # seconds; a test that takes longer hangs


class Skip(Exception):
    """Raised if the machine does not permit an operation that the case needs."""


def wait_for(what, seconds=PATIENCE, pause=0.01):
    """Calls what() until it returns a true value, and returns this value. Fails after `seconds`."""
    end = time.monotonic() + seconds
    while True:
        result = what()
        if result:
            return result
        if time.monotonic() > end:
            raise AssertionError(f"not within {seconds} s: {what}")
        time.sleep(pause)


def state(pid):
    """Returns the state of a process (R, S, Z, ...); X: there is none."""
    try:
        with open(f"/proc/{pid}/stat") as f:
            return f.read().rsplit(")", 1)[1].split()[0]
    except OSError:
        return "X"


def alive(pid):
    return state(pid) not in "ZX"


class Lost(Exception):
    """Raised if the daemon has closed the connection."""


class Client:
    """A client of the control protocol. It sends only the requests of the test."""

    def __init__(self, name=None, hello=True):
        self.sock = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        self.sock.settimeout(PATIENCE)
        self.sock.connect("\0" + (name or f"adverbd-{os.geteuid()}"))
        self.serial = 0
        self.notices = []
        self.table = None
        if hello:
            body, fds = self.ask(HELLO)
            self.instance = body[:16]
            self.table = fds[0]

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()

    def close(self):
        self.sock.close()
        if self.table is not None:
            os.close(self.table)
            self.table = None

    def send(self, kind, body=b"", magic=MAGIC, version=VERSION):
        self.serial += 1
        head = struct.pack("=IHHIiQ", magic, version, kind, self.serial, 0, 0)
        self.sock.send((head + body).ljust(LENGTH, b"\0"))

    def receive(self):
        """Returns (type, serial, result, body, descriptors)."""
        try:
            data, fds, _, _ = socket.recv_fds(self.sock, LENGTH + 1, 4)
        except ConnectionResetError:
            # Closed with an unread request; earlier answers can still be read.
            data, fds, _, _ = socket.recv_fds(self.sock, LENGTH + 1, 4)
        if not data:
            raise Lost
        assert len(data) == LENGTH, len(data)
        magic, _, kind, serial, result, _ = struct.unpack("=IHHIiQ", data[:24])
        assert magic == MAGIC
        return kind, serial, result, data[24:], fds

    def ask(self, kind, body=b"", expect=0):
        self.send(kind, body)
        while True:
            got, serial, result, answer, fds = self.receive()
            if got == NOTICE:
                self.notices.append(struct.unpack("=I", answer[:4])[0])
                continue
            assert got == kind and serial == self.serial, (got, kind, text_of(answer))
            assert result == expect, (result, text_of(answer))
            return answer, fds

    def open_slot(self):
        answer, fds = self.ask(OPEN_SLOT)
        number, _ = struct.unpack("=II", answer[:8])
        return Slot(number, answer[8:24], socket.socket(fileno=fds[0]))

    def open_block(self, slot):
        """Returns the first of 65,536 further QP numbers for this slot."""
        answer, _ = self.ask(BLOCK, struct.pack("=I", slot.number))
        return BLOCK_QPNS_FROM + (struct.unpack("=I", answer[:4])[0] << BLOCK_BITS)

    def status(self):
        names = ("worker keeper uid system clients used total restarts").split()
        answer, _ = self.ask(STATUS)
        status = dict(zip(names, struct.unpack("=8I", answer[:32])))
        status["uptime"], status["qp1_dropped"] = struct.unpack("=QQ", answer[32:48])
        names = "sockets blocks blocks_total".split()
        status.update(zip(names, struct.unpack("=3I", answer[96:108])))
        return status

    def cm_status(self):
        """Returns the connection manager's counters."""
        names = "clients ids connections ending rx tx retries dropped".split()
        answer, _ = self.ask(STATUS)
        return dict(zip(names, struct.unpack("=4I4Q", answer[48:96])))

    def fault(self, kind, number, request=b""):
        """Sends these bytes as a request about a fault plan; returns the daemon's result."""
        _, fds = self.ask(FAULT, struct.pack("=II", FAULT_OPEN, 0))
        with socket.socket(fileno=fds[0]) as mine:
            if request:
                mine.send(request)
            self.send(FAULT, struct.pack("=II", kind, number))
            while True:
                got, _, result, _, _ = self.receive()
                if got != NOTICE:
                    return result

    def slots(self):
        """Returns the numbers of the slots in use."""
        found, start = [], 0
        while True:
            self.send(LIST, struct.pack("=I", start))
            kind, _, result, answer, _ = self.receive()
            while kind == NOTICE:
                self.notices.append(struct.unpack("=I", answer[:4])[0])
                kind, _, result, answer, _ = self.receive()
            if result:
                return found
            found.append(struct.unpack("=I", answer[:4])[0])
            start = found[-1] + 1


@contextlib.contextmanager
def as_nobody(body):
    """Starts a process of user nobody, which runs body(ready). When the body has called ready(),
    yields a function that waits for the body's next call of ready()."""
    ready, say = os.pipe()
    pid = os.fork()
    if not pid:
        try:
            os.setgroups([])
            os.setgid(NOBODY)
            os.setuid(NOBODY)
            kept = body(lambda: os.write(say, b"x"))
            signal.pause()
            del kept
        except Exception:
            traceback.print_exc()
        finally:
            os._exit(1)
    os.close(say)
    try:
        assert os.read(ready, 1) == b"x"
        yield lambda: os.read(ready, 1) == b"x"
    finally:
        os.close(ready)
        os.kill(pid, signal.SIGKILL)
        os.waitpid(pid, 0)


def send_descriptors(sock, message, descriptors):
    """Sends descriptors. Returns False if the kernel refuses to pass them (SO_PASSRIGHTS, Linux
    6.16)."""
    try:
        socket.send_fds(sock, [message], descriptors)
    except PermissionError:
        return False
    return True


def text_of(body):
    return body.split(b"\0")[0].decode(errors="replace")


class Slot:
    def __init__(self, number, token, sock):
        self.number, self.token, self.sock = number, token, sock
        self.qpn = number << SLOT_BITS  # the slot's first QP number
        sock.setblocking(False)

    def received(self):
        """Returns the payloads of all queued datagrams."""
        found = []
        with contextlib.suppress(BlockingIOError):
            while True:
                found.append(self.sock.recv(65536))
        return found


def bth(qpn, payload=b""):
    """Returns a RoCE v2 datagram: a BTH with this destination QPN, and an ICRC of zeros."""
    return struct.pack(">BBHII", 0x64, 0, 0xffff, qpn, 0) + payload + bytes(4)


class Host:
    """Another network namespace: new sockets and processes belong to it inside `with host:`."""

    def __init__(self):
        self.process = subprocess.Popen(["unshare", "-n", sys.executable, "-c",
                                         "print(flush=True); open(0).read()"], stdin=subprocess.PIPE,
                                        stdout=subprocess.PIPE)
        self.process.stdout.readline()
        self.here = os.open("/proc/self/ns/net", os.O_RDONLY)
        self.there = os.open(f"/proc/{self.process.pid}/ns/net", os.O_RDONLY)

    def enter(self, fd):
        if LIBC.setns(fd, CLONE_NEWNET):
            raise OSError(ctypes.get_errno(), "setns")

    def __enter__(self):
        self.enter(self.there)

    def __exit__(self, *_):
        self.enter(self.here)

    def close(self):
        self.process.stdin.close()
        self.process.wait()
        os.close(self.here)
        os.close(self.there)


# Messages of sanitizers and of the keeper about a daemon that crashed.
SANITIZER = re.compile(r"Sanitizer:|: runtime error: |Assertion .* failed")
WORKER_DIED = "the worker died"


@contextlib.contextmanager
def without_descriptors(pid, name):
    """Within it, the process has no free descriptor. Connections to its socket `name` take those that it has."""
    limits = resource.prlimit(pid, resource.RLIMIT_NOFILE)
    most = max(int(fd) for fd in os.listdir(f"/proc/{pid}/fd")) + 1
    resource.prlimit(pid, resource.RLIMIT_NOFILE, (most, limits[1]))
    try:
        with contextlib.ExitStack() as stack:
            def is_refused():
                s = stack.enter_context(socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET))
                s.connect("\0" + name)
                return select.select([s], [], [], 0.1)[0]
            wait_for(is_refused)
            yield
    finally:
        resource.prlimit(pid, resource.RLIMIT_NOFILE, limits)


class Daemon:
    """adverbd in the foreground, with its log in a file. `with` ends it by a signal if it still
    runs, and fails if one of its processes has crashed."""

    def __init__(self, build, *options, user=None, name=None, descriptors=None):
        self.build, self.options, self.user = build, options, user
        self.descriptors = descriptors
        self.name = name or f"adverbd-{user if user else os.geteuid()}"
        self.log = tempfile.TemporaryFile(mode="w+")
        self.killed = False

    def kill(self, pid):
        """Kills the daemon's worker or keeper. This does not count as a crash."""
        self.killed = True
        os.kill(pid, signal.SIGKILL)

    def __enter__(self):
        command = [str(self.build / "adverbd"), "--foreground", *self.options]
        if self.user:
            command = as_user(self.user) + command
        if self.descriptors:
            command = ["prlimit", f"--nofile={self.descriptors}", *command]
        self.process = subprocess.Popen(command, stderr=self.log, stdin=subprocess.DEVNULL,
                                        env={**os.environ, "ADVERB_LOG": "debug"})
        try:
            wait_for(lambda: self.listens() or self.process.poll() is not None)
            if self.process.poll() is not None:
                raise AssertionError("adverbd did not start: " + self.said())
        except BaseException:
            self.stop()
            raise
        return self

    def listens(self):
        with open("/proc/net/unix") as f:
            # The flags include __SO_ACCEPTCON: it listens, and does not only hold the name.
            return any(line.split()[3] == "00010000" and line.rstrip().endswith("@" + self.name)
                       for line in f if "@" in line)

    def stop(self):
        if self.process.poll() is None:
            self.process.send_signal(signal.SIGTERM)
            self.process.wait(PATIENCE)
        wait_for(lambda: not self.listens())

    def check_end(self):
        """Checks that the keeper, a child of this process, exited with 0 and that no process
        crashed."""
        said, status = self.said(), self.process.returncode
        crash = SANITIZER.search(said) or (not self.killed and (status or WORKER_DIED in said))
        assert not crash, f"adverbd has crashed: exit status {status}; {crash}"

    def __exit__(self, kind, *_):
        good = False
        try:
            self.stop()
            self.check_end()
            good = not kind
        finally:
            if not good:
                print("--- log of adverbd:\n" + self.said(), file=sys.stderr)

    def said(self):
        self.log.seek(0)
        return self.log.read()


def as_user(uid):
    return ["setpriv", f"--reuid={uid}", f"--regid={uid}", "--clear-groups", "--no-new-privs"]


def need_root():
    """Requires root that can become another user: not root of a user namespace with one user."""
    if os.environ[INSIDE] != "0":
        raise Skip("already without privilege")
    if subprocess.run([*as_user(NOBODY), "true"], stderr=subprocess.DEVNULL).returncode:
        raise Skip("needs a root that can become another user")


def need_plain_build(build, why):
    """Skips a case that a build with a sanitizer cannot run."""
    program = (build / "adverb").read_bytes()
    if b"__asan_init" in program or b"__tsan_init" in program:
        raise Skip(why)


def sh(command):
    subprocess.run(["sh", "-ec", command], check=True, stdin=subprocess.DEVNULL)


def into_namespace(argv):
    """Runs the script again in its own network namespace; returns only inside."""
    if INSIDE in os.environ:
        sh("ip link set lo up")
        return
    for command in (["unshare", "-n"], ["unshare", "-Urn"]):
        if subprocess.run([*command, "ip", "link", "set", "lo", "up"], stderr=subprocess.DEVNULL,
                          stdin=subprocess.DEVNULL).returncode == 0:
            os.environ[INSIDE] = str(os.geteuid())
            os.execvp(command[0], [*command, sys.executable, *argv])
    print("skipped: network namespaces are not permitted here")
    sys.exit(SKIPPED)


def main(cases):
    """Runs cases, functions of the build folder, in one namespace, one after the other."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--build", type=pathlib.Path, required=True)
    parser.add_argument("case", nargs="*")
    args = parser.parse_args()
    into_namespace(sys.argv)
    os.environ.pop("ADVERB_DAEMON", None)
    build = args.build.resolve()
    failed = skipped = ran = 0
    for case in cases:
        if args.case and case.__name__ not in args.case:
            continue
        ran += 1
        start = time.monotonic()
        verdict = "ok"
        try:
            case(build)
        except Skip as why:
            verdict = f"skipped: {why}"
            skipped += 1
        except Exception:
            traceback.print_exc()
            verdict = "FAILED"
            failed += 1
        print(f"{case.__name__}: {verdict} ({time.monotonic() - start:.2f} s)", flush=True)
    if failed or not ran:
        sys.exit(1)
    sys.exit(SKIPPED if skipped == ran else 0)
