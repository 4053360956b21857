#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""All processes of the daemon die at once: by signals, or with the container of the program that
started it. The surviving programs start another daemon and continue without an error.
"""

import contextlib
import errno
import os
import select
import signal
import socket
import struct
import subprocess
import sys
import threading
import time

import adverbd
from adverbd import Client, Daemon, PATIENCE, wait_for
from test_starting import adverb, client_or_none, gone, started
from test_steering import check_steering

TCP = 18515
FEW = 1200  # descriptors of the program that starts the daemon
FATAL = "adverbd has ended"  # logged with IBV_EVENT_DEVICE_FATAL


def end(process):
    if process.poll() is None:
        process.kill()
    return "" if process.stdout.closed else process.communicate()[0]


def said_to_fatal(process):
    """Waits until a program reports the end of the daemon, and ends it. Returns what it has printed."""
    said = ""
    late = threading.Timer(PATIENCE, process.kill)
    late.start()
    for line in process.stdout:
        said += line
        if FATAL in line:
            break
    late.cancel()
    return said + end(process)


@contextlib.contextmanager
def exchange(build, port, *options):
    """Two programs that write into each other's memory and compare every byte, until
    `finish(pair)`."""
    program = build / "tests" / "clients" / "programs" / "exchange"
    run = [str(build / "adverb"), "run", "--log", "warn", *options, "--", str(program), "-p", str(port), "-e", "-q",
           "2", "-w", "1", "-t", "0"]
    pair = []
    before = served()
    try:
        for more in ([], ["127.0.0.1"]):
            pair.append(subprocess.Popen([*run, *more], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
                                         stdin=subprocess.DEVNULL))
            wait_for(lambda: served() == before + len(pair), 60)
        for process in pair:
            assert process.stdout.readline() == "connected\n"
        yield pair
    finally:
        for process in pair:
            end(process)


def served():
    """Returns the number of slots whose clients are connected to the daemon."""
    found = start = 0
    with contextlib.suppress(ConnectionError, adverbd.Lost), Client() as c:
        while True:
            c.send(adverbd.LIST, struct.pack("=I", start))
            kind, _, result, body, _ = c.receive()
            if kind == adverbd.NOTICE:
                continue
            if result:
                break
            slot, _, _, connected = struct.unpack("=4I", body[:16])
            found += connected
            start = slot + 1
    return found


def finish(pair):
    """Ends both programs. Checks that they exit with 0 and have reported no fatal event."""
    pair[1].send_signal(signal.SIGTERM)
    for process in pair:
        said = process.communicate(timeout=PATIENCE)[0]
        assert process.returncode == 0 and FATAL not in said, (process.returncode, said)


def daemons():
    with wait_for(client_or_none) as c:
        status = c.status()
    return {status["worker"], status["keeper"]}


def goes_on(build, slots, before, restarts=1):
    """Checks that another daemon serves this number of earlier slots, and new programs."""
    def another():
        c = client_or_none()
        if c is None:
            return None
        with c:
            return c.status()

    status = wait_for(another)
    assert not {status["worker"], status["keeper"]} & before
    assert status["restarts"] == restarts, status
    wait_for(lambda: served() == slots)
    assert "PORT_ACTIVE" in adverb(build, "devinfo")
    with exchange(build, TCP + 9) as other:
        time.sleep(0.5)
        finish(other)


def kill_at_once(pids):
    for pid in pids:  # both are stopped, so neither sees the other's end
        os.kill(pid, signal.SIGSTOP)
    for pid in pids:
        os.kill(pid, signal.SIGKILL)
    wait_for(lambda: not any(map(adverbd.alive, pids)))


def killed(build):
    """Worker and keeper are killed at the same time, three times. Programs that use shared memory,
    and programs that use sockets, continue."""
    with exchange(build, TCP) as pair, exchange(build, TCP + 1, "--no-shm") as other:
        for i in range(3):
            before = daemons()
            kill_at_once(before)
            goes_on(build, 4, before, i + 1)
        finish(pair)
        finish(other)
    gone()


def told_to_end(build):
    """Programs survive SIGTERM to both daemon processes and to each one. A process group or a
    container gets SIGTERM first."""
    with exchange(build, TCP) as pair:
        for i, choose in enumerate((lambda all: all, min, max)):
            before = daemons()
            victims = choose(before)
            victims = victims if isinstance(victims, set) else {victims}
            for pid in victims:
                with contextlib.suppress(ProcessLookupError):  # it exits when it sees the end of the other
                    os.kill(pid, signal.SIGTERM)
            wait_for(lambda: not any(map(adverbd.alive, before)))
            goes_on(build, 2, before, i + 1)
        finish(pair)
    gone()


def meant(build):
    """If the user ends a daemon in the foreground, no program starts another daemon."""
    with Daemon(build) as daemon, exchange(build, TCP) as pair:
        daemon.stop()
        end_of_hope = time.monotonic() + 6  # programs look for another for 2.5 s
        while time.monotonic() < end_of_hope:
            assert client_or_none() is None
            time.sleep(0.1)
        told = [said_to_fatal(process) for process in pair]
        assert all(FATAL in said for said in told), told
    gone()


def container_ends(build):
    """Programs survive the end of a PID namespace that contains the daemon and the program that
    started it."""
    adverbd.need_plain_build(build, "an interpreter without the sanitizer cannot load the libraries")
    bare = ["unshare", "--pid", "--fork", "--kill-child"]
    for container in ([*bare, "--mount-proc"], bare):  # a chroot has no /proc of its own
        if subprocess.run([*container, "true"], stderr=subprocess.DEVNULL).returncode == 0:
            break
    else:
        raise adverbd.Skip("PID namespaces are not permitted here")
    inner = subprocess.Popen([*container, str(build / "adverb"), "run", "--", sys.executable, "-c", DEVICE, str(build)],
                             stdout=subprocess.PIPE, stdin=subprocess.PIPE, text=True)
    try:
        assert inner.stdout.readline() == "open\n"
        before = {pid for pid in map(int, filter(str.isdigit, os.listdir("/proc")))
                  if name_of(pid).startswith("adverbd") and shares_network(pid)}
        assert len(before) == 2, before
        with exchange(build, TCP, "--no-shm") as pair:
            end(inner)
            wait_for(lambda: not any(map(adverbd.alive, before)))
            goes_on(build, 2, before)
            # The slot of the dead program is free after a while.
            wait_for(lambda: status_slots() == 2, 30)
            finish(pair)
    finally:
        end(inner)
    gone()


# A program that has the device open.
DEVICE = """
import ctypes, os, sys
lib = ctypes.CDLL("libibverbs.so.1")
lib.ibv_get_device_list.restype = ctypes.POINTER(ctypes.c_void_p)
lib.ibv_open_device.argtypes = [ctypes.c_void_p]
lib.ibv_open_device.restype = ctypes.c_void_p
print("open" if lib.ibv_open_device(lib.ibv_get_device_list(None)[0]) else "none", flush=True)
sys.stdin.read()
"""


def name_of(pid):
    try:
        with open(f"/proc/{pid}/comm") as f:
            return f.read().strip()
    except OSError:
        return ""


def shares_network(pid):
    with contextlib.suppress(OSError):
        return os.readlink(f"/proc/{pid}/ns/net") == os.readlink("/proc/self/ns/net")
    return False


def status_slots():
    with Client() as c:
        return c.status()["used"]


def newcomers(build):
    """Programs that start while no daemon runs wait for the daemon that surviving programs start.
    """
    with exchange(build, TCP) as pair:
        for _ in range(5):
            before = daemons()
            kill_at_once(before)
            several = [subprocess.Popen([str(build / "adverb"), "devinfo"], stdout=subprocess.PIPE,
                                        stderr=subprocess.STDOUT, text=True) for _ in range(6)]
            for process in several:
                said = process.communicate(timeout=PATIENCE)[0]
                assert process.returncode == 0 and "PORT_ACTIVE" in said, said
            wait_for(lambda: served() == 2, 60)
        finish(pair)
    gone()


def stopped_survivor(build):
    """A stopped program does not prevent other programs from starting another daemon."""
    with exchange(build, TCP) as pair, exchange(build, TCP + 1) as other:
        for process in other:
            process.send_signal(signal.SIGSTOP)
        before = daemons()
        kill_at_once(before)
        goes_on(build, 2, before)
        finish(pair)
        for process in other:
            process.send_signal(signal.SIGCONT)
    gone()


def unable(build):
    """If no other daemon can be started, the surviving programs get IBV_EVENT_DEVICE_FATAL, and new
    programs get a message about the obstacle. The obstacle ends when the survivors have exited."""
    program = build / "tests" / "runtime" / "daemon" / f"adverbd-once-{os.getpid()}"
    program.write_text(f'#!/bin/sh\nexec {build}/adverbd "$@"\n')
    program.chmod(0o755)
    os.environ["ADVERB_DAEMON"] = str(program)
    try:
        with exchange(build, TCP) as pair:
            del os.environ["ADVERB_DAEMON"]
            before = daemons()
            program.unlink()
            kill_at_once(before)
            done = subprocess.run([str(build / "adverb"), "devinfo"], capture_output=True, text=True, timeout=PATIENCE)
            said = done.stderr
            assert "UDP port 4791 is in use by" in said or "of an adverbd that has died" in said or \
                all(process.poll() is not None for process in pair), \
                (done.returncode, said, [process.poll() for process in pair], [end(process) for process in pair])
            told = [said_to_fatal(process) for process in pair]
            assert all(FATAL in said for said in told), told
            assert "PORT_ACTIVE" in adverb(build, "devinfo")
    finally:
        os.environ.pop("ADVERB_DAEMON", None)
        program.unlink(missing_ok=True)
    gone()


def foreign_estate(build):
    """adverbd survives any descriptor that a process passes to it as the estate."""
    def start(fill):
        a, b = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        fill(b)
        ready, say = os.pipe()
        p = subprocess.Popen([str(build / "adverbd"), f"--ready-fd={say}", f"--estate-fd={a.fileno()}"],
                             pass_fds=[say, a.fileno()], stdin=subprocess.DEVNULL)
        os.close(say)
        with os.fdopen(ready, "rb") as f:
            said = f.read()
        p.wait(PATIENCE)
        for s in (a, b):
            s.close()
        assert said.startswith(b"F"), said
        gone()

    def head(set_=1, part=0, parts=2, sockets=256, count=250, size=0):
        return struct.pack("=8I", 0x41445645, adverbd.VERSION, size, set_, part, parts, sockets, count)

    start(lambda s: None)
    start(lambda s: s.send(b"x"))
    start(lambda s: [s.send(head()) for _ in range(50)])
    start(lambda s: [socket.send_fds(s, [head(size=n)], [s.fileno()] * 200) for n in range(0, 200000, 20000)])
    with open("/dev/null", "rb") as f:
        done = subprocess.run([str(build / "adverbd"), f"--estate-fd={f.fileno()}"], pass_fds=[f.fileno()],
                              capture_output=True, text=True, timeout=PATIENCE)
        assert done.returncode == 1 and "another version" in done.stderr, done
    gone()


def estate_of(client):
    """Returns the socket that a client keeps; None: the group is too large to be carried."""
    client.send(adverbd.ESTATE)
    kind, _, result, _, fds = client.receive()
    assert kind == adverbd.ESTATE and result in (0, errno.ENOTSUP), (kind, result)
    assert bool(fds) == (not result)
    return socket.socket(fileno=fds[0]) if fds else None


def heir(build, estate):
    """Starts a daemon from the socket that a client keeps, and waits until it listens."""
    ready, say = os.pipe()
    subprocess.run([str(build / "adverbd"), "--ready-fd", str(say), "--estate-fd", str(estate.fileno())],
                   pass_fds=[say, estate.fileno()], stdin=subprocess.DEVNULL, check=True, timeout=PATIENCE)
    os.close(say)
    with os.fdopen(ready, "rb") as f:
        said = f.read()
    assert said == b"R", said


def resume(client, slots):
    for s in slots:
        client.ask(adverbd.RESUME, struct.pack("=II", s.number, 0) + s.token)


def every_place(build):
    """Each packet reaches its socket, also after any process has died. The group has hundreds of
    sockets, blocks of QP numbers, and sockets made by the continuing daemon."""
    clients = [started(build)]
    slots = [clients[0].open_slot() for _ in range(300)]
    estate = estate_of(clients[0])
    blocks = [(clients[0].open_block(slots[i]), slots[i]) for i in (7, 250, 7)]
    check_steering(slots, b"first", blocks)
    for i in range(3):
        kill_at_once(daemons())
        check_steering(slots, b"nobody there", blocks)
        heir(build, estate)
        check_steering(slots, b"not resumed", blocks)
        c = Client()
        resume(c, slots)
        clients.append(c)
        slots += [c.open_slot() for _ in range(5)]
        blocks.append((c.open_block(slots[-1]), slots[-1]))
        check_steering(slots, b"grown", blocks)
        assert c.status()["used"] == len(slots) and c.status()["restarts"] == 2 * i + 1
        os.kill(c.status()["worker"], signal.SIGKILL)
        c = Client()
        resume(c, slots)
        clients.append(c)
        slots.append(c.open_slot())
        check_steering(slots, b"worker replaced, and grown", blocks)
    for c in clients:
        c.close()
    for s in slots:
        s.sock.close()
    gone()
    estate.close()


def too_many(build):
    """At most half as many descriptors are in flight as a user may have open, so that other
    programs of the user can send descriptors."""
    with started(build, prefix=["prlimit", f"--nofile={FEW}:"]) as c:
        estate = estate_of(c)
        for _ in range(FEW // 2 - 3):
            c.open_slot().sock.close()
        assert estate_of(c) is not None
        for _ in range(3):
            c.open_slot().sock.close()
        assert estate_of(c) is None
        assert not select.select([estate], [], [], 0)[0]  # the carrier is empty
    estate.close()
    gone()


def few_in_flight(build):
    """Other programs of the user can send descriptors, because the group is in flight only once for
    any number of processes that hold the carrier."""
    with exchange(build, TCP) as pair, exchange(build, TCP + 1) as other:
        in_flight = 0
        worker = min(daemons())
        for fd in os.listdir(f"/proc/{worker}/fdinfo"):
            with contextlib.suppress(OSError):
                for line in open(f"/proc/{worker}/fdinfo/{fd}"):
                    if line.startswith("scm_fds:"):
                        in_flight += int(line.split()[1])
        assert 0 < in_flight < 1024, in_flight
        finish(pair)
        finish(other)
    gone()


if __name__ == "__main__":
    adverbd.main([killed, told_to_end, meant, container_ends, newcomers, stopped_survivor, unable, foreign_estate, every_place,
                  too_many, few_in_flight])
