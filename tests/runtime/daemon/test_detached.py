#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""A daemon that a program starts does not inherit that program's limits, processors, control group
or /dev.
"""

import contextlib
import errno
import os
import pathlib
import signal
import struct
import subprocess
import tempfile

import adverbd
from adverbd import Client, PATIENCE, wait_for
from test_starting import gone

FEW = 64  # descriptors


def gids(build, before="", after="", prefix=()):
    """Runs `adverb gids` in a shell that runs `before` first. Returns its output and exit status.
    """
    done = subprocess.run([*prefix, "sh", "-c", f"{before}\n{build}/adverb gids {after}"],
                          capture_output=True, text=True, timeout=PATIENCE, stdin=subprocess.DEVNULL)
    return done.stdout + done.stderr, done.returncode


@contextlib.contextmanager
def daemon_of(build, before, prefix=(), name=None):
    """Yields a client of a daemon that a program with these limits started, and the daemon's
    status."""
    def attempt():
        said, status = gids(build, before, prefix=prefix)
        assert status == 0 and "127.0.0.1" in said, said
        with contextlib.suppress(ConnectionError, adverbd.Lost):
            return Client(name)
        return None

    try:
        with wait_for(attempt) as c:
            yield c, c.status()
    finally:
        gone()


def limit(pid, name):
    """Returns (soft, hard), as in /proc."""
    for line in open(f"/proc/{pid}/limits"):
        if line.startswith(name):
            return tuple(line[len(name):].split()[:2])
    raise AssertionError(name)


def slots(*some):
    """Returns the name as the body of a request."""
    return struct.pack(f"={len(some)}I", *(s.number for s in some))


def both(status):
    return status["worker"], status["keeper"]


def small_files(build):
    """A limit of 0 bytes for files does not prevent the daemon's tables in memory."""
    with daemon_of(build, "ulimit -S -f 0") as (c, status):
        assert all(limit(pid, "Max file size")[0] == limit(pid, "Max file size")[1]
                   for pid in both(status))
        c.ask(adverbd.COUNT, slots(c.open_slot()))


def may_lift():
    """Returns whether this process has CAP_SYS_RESOURCE, which hard limits need."""
    for line in open("/proc/self/status"):
        if line.startswith("CapEff"):
            return int(line.split()[1], 16) >> 24 & 1 and os.environ[adverbd.INSIDE] == "0"
    return False


def small_files_for_good(build):
    """With the capability the hard limit is raised too; without it the message names the obstacle.
    """
    if may_lift():
        with daemon_of(build, "ulimit -f 0") as (c, status):
            assert limit(status["worker"], "Max file size") == ("unlimited", "unlimited")
            c.ask(adverbd.COUNT, slots(c.open_slot()))
        return
    adverbd.need_plain_build(build, "a sanitizer writes files of its own before adverbd begins")
    said, status = gids(build, "ulimit -f 0")
    assert status == 1 and "ulimit -f" in said, said


def medium_files(build):
    """If a limit allows the tables but not memory between two processes, the processes work without
    it."""
    if may_lift():
        raise adverbd.Skip("would be lifted")
    with daemon_of(build, "ulimit -f 1024") as (c, status), Client() as d:
        a, b = c.open_slot(), d.open_slot()
        c.ask(adverbd.PAIR, slots(a, b), expect=errno.EAGAIN)
        d.ask(adverbd.PAIR, slots(b, a), expect=errno.EFBIG)
        a.sock.close()
        b.sock.close()
        after = c.status()
        assert after["restarts"] == 0 and after["worker"] == status["worker"], after


def little_time(build):
    """The program's limit of processor time does not apply to the daemon, if it can be raised.
    Otherwise the worker is replaced when it reaches the limit."""
    with daemon_of(build, "ulimit -t 2") as (c, status):
        lifted = may_lift()
        for pid in both(status):
            assert not lifted or limit(pid, "Max cpu time") == ("unlimited", "unlimited")
        slot = c.open_slot()
        most = 2.5 if lifted else 20  # the kernel is not exact
        with contextlib.suppress(adverbd.Lost, ConnectionError):
            while used(status["worker"]) < most:
                for _ in range(100):
                    c.slots()
        slot.sock.close()
        if lifted:
            assert used(status["worker"]) >= most and c.status()["restarts"] == 0
            return
        with Client() as d:
            d.ask(adverbd.RESUME, slots(slot).ljust(8, b"\0") + slot.token)
            assert d.status()["restarts"] == 1


def used(pid):
    """Returns the seconds of processor time; None if the process has exited."""
    try:
        fields = open(f"/proc/{pid}/stat").read().rsplit(")", 1)[1].split()
    except OSError:
        return 0
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def few_descriptors(build):
    """The soft limit does not restrict the daemon. The hard limit does not either, if it can be
    raised."""
    with daemon_of(build, f"ulimit -S -n {FEW}") as (_, status):
        for pid in both(status):
            soft, hard = limit(pid, "Max open files")
            assert soft == hard and int(hard) > FEW, (soft, hard)
    with daemon_of(build, f"ulimit -n {FEW}") as (c, status):
        c.open_slot().sock.close()
        assert not may_lift() or int(limit(status["worker"], "Max open files")[0]) > 1024


def too_few_descriptors(build):
    """A daemon that cannot start reports the reason, at each stage. It is not started repeatedly.
    """
    if may_lift():
        raise adverbd.Skip("would be lifted")
    with tempfile.TemporaryDirectory(prefix="adverb-starts-") as folder:
        program, starts = (pathlib.Path(folder) / name for name in ("adverbd", "starts"))
        refused = 0
        for few in range(6, 40, 2):
            program.write_text(f'#!/bin/sh\necho x >> {starts}\nexec prlimit --nofile={few} {build}/adverbd "$@"\n')
            program.chmod(0o755)
            starts.write_text("")
            said, status = gids(build, f"export ADVERB_DAEMON={program}")
            assert starts.read_text() == "x\n", (few, starts.read_text())
            assert status == 0 or "Too many open files" in said or "file descriptors" in said, (few, said)
            refused += status
            gone()
        assert 2 < refused < 16, refused


def little_memory(build):
    adverbd.need_plain_build(build, "a sanitizer needs terabytes of addresses")
    with daemon_of(build, "ulimit -S -v 300000; ulimit -S -u 5000; ulimit -S -d 200000") as (_, status):
        for pid in both(status):
            for name in ("Max address space", "Max processes", "Max data size"):
                soft, hard = limit(pid, name)
                assert soft == hard, (name, soft, hard)


def one_processor(build):
    """If a program is bound to one processor and keeps it busy, the daemon can use other
    processors."""
    def allowed(pid):
        return [line.split()[1] for line in open(f"/proc/{pid}/status")
                if line.startswith("Cpus_allowed_list")]

    cpus = os.sched_getaffinity(0)
    if len(cpus) < 2:
        raise adverbd.Skip("there is one processor only")
    with daemon_of(build, "", ["taskset", "-c", str(min(cpus))]) as (_, status):
        for pid in both(status):
            assert allowed(pid) == allowed("self"), allowed(pid)


def own_session(build):
    with daemon_of(build, "trap '' TERM USR1 35; umask 0") as (_, status):
        worker, keeper = both(status)
        assert os.getsid(worker) == os.getsid(keeper) == os.getpgid(worker) != os.getsid(0)
        lines = dict(line.rstrip("\n").split(":\t", 1) for line in open(f"/proc/{worker}/status"))
        assert int(lines["SigIgn"], 16) & (1 << 14 | 1 << 9 | 1 << 34) == 0, lines["SigIgn"]
        assert lines["Umask"] == "0077"
        for pid in both(status):
            assert os.readlink(f"/proc/{pid}/cwd") == "/"


# ---- /dev ----

DEVS = {
    "empty": "",
    "nodev": "mknod /dev/null c 1 3",
    "file": "echo nothing > /dev/null",
    "folder": "mkdir /dev/null",
    "fifo": "mkfifo /dev/null",
}


def odd_dev(build):
    """If /dev is empty, or its files cannot be opened as devices, the daemon runs and holds no
    descriptor of the starting program."""
    if subprocess.run(["unshare", "-m", "mount", "-t", "tmpfs", "none", "/mnt"],
                      stderr=subprocess.DEVNULL).returncode:
        raise adverbd.Skip("mount namespaces are not permitted here")
    for kind, make in DEVS.items():
        before = f"mount -t tmpfs -o {'nodev' if kind == 'nodev' else 'mode=755'} none /dev\n{make}"
        with daemon_of(build, before, ["unshare", "-m"]) as (c, status):
            assert status["restarts"] == 0, (kind, status)
            for pid in both(status):
                for fd in range(3):
                    assert os.readlink(f"/proc/{pid}/fd/{fd}").startswith("/memfd:adverb-null"), \
                        (kind, fd, os.readlink(f"/proc/{pid}/fd/{fd}"))
            c.open_slot()
            os.kill(status["worker"], signal.SIGKILL)
            c.close()
            with wait_for(lambda: not adverbd.alive(status["worker"]) and Client()) as d:
                assert d.status()["restarts"] == 1, kind


# ---- control groups ----

def unified():
    """Returns the mount point of the version 2 hierarchy, and this process's group."""
    for line in open("/proc/self/mountinfo"):
        fields = line.split()
        if fields[fields.index("-") + 1] == "cgroup2" and fields[3] == "/":
            for group in open("/proc/self/cgroup"):
                if group.startswith("0::"):
                    return pathlib.Path(fields[4] + group.strip()[3:])
    raise adverbd.Skip("no cgroup2 here")


def control_group(build):
    """If the program's control group is killed with all its processes, the daemon survives."""
    place = unified() / f"adverb-test-{os.getpid()}"
    inner = place / "program"
    try:
        inner.mkdir(parents=True)
    except OSError as why:
        raise adverbd.Skip(f"cannot make a control group: {why}") from None
    try:
        with daemon_of(build, f"echo $$ > {inner}/cgroup.procs") as (c, status):
            wait_for(lambda: not inner.joinpath("cgroup.procs").read_text().split())
            for pid in both(status):
                assert "program" not in open(f"/proc/{pid}/cgroup").read()
            (inner / "cgroup.kill").write_text("1")
            assert c.status()["worker"] == status["worker"]
    finally:
        for folder in (inner, *place.glob("adverbd-*"), place):
            if folder.exists():
                wait_for(lambda f=folder: not (f / "cgroup.procs").read_text().split())
                folder.rmdir()


if __name__ == "__main__":
    adverbd.main([small_files, small_files_for_good, medium_files, little_time, few_descriptors, too_few_descriptors, little_memory, one_processor,
                  own_session, odd_dev, control_group])
