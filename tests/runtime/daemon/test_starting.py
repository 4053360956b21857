#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""The first program starts the daemon, once. The daemon exits by itself. If it cannot start, it
reports the reason.
"""

import os
import signal
import socket
import subprocess
import sys
import time

import adverbd
import for_nobody
from adverbd import Client, Daemon, PATIENCE, PORT, alive, wait_for


def adverb(build, *args, user=None, env=None, check=0, prefix=()):
    command = [*prefix, *(adverbd.as_user(user) if user else []), str(build / "adverb"), *args]
    done = subprocess.run(command, capture_output=True, text=True, timeout=PATIENCE,
                          stdin=subprocess.DEVNULL, env={**os.environ, **(env or {})})
    assert done.returncode == check, (args, done.returncode, done.stdout, done.stderr)
    return done.stdout + done.stderr


def nobody_listens():
    with open("/proc/net/unix") as f:
        return "@adverbd" not in f.read()


def gone(name=None):
    wait_for(nobody_listens)
    # The name is released last: the port is free too.
    with socket.socket(socket.AF_INET6, socket.SOCK_DGRAM) as s:
        s.bind(("::", PORT))


def client_or_none():
    try:
        return Client()
    except (ConnectionError, adverbd.Lost):
        return None


def started(build, prefix=()):
    """Starts a program, which starts a daemon, and returns a client of this daemon. Repeats that if
    the daemon has exited before the connection."""
    def attempt():
        assert "127.0.0.1" in adverb(build, "gids", prefix=prefix)
        return client_or_none()

    return wait_for(attempt)


def starts_and_leaves(build):
    assert "is not running" in adverb(build, "status", check=1)
    start = time.monotonic()
    with started(build) as c:
        assert "adverbd runs for user" in adverb(build, "status")
        status = c.status()
        time.sleep(1.5)
        assert alive(status["worker"]) and alive(status["keeper"])
        left = time.monotonic()
    wait_for(nobody_listens)
    assert time.monotonic() - left > 0.8, time.monotonic() - left
    assert time.monotonic() - start > 1
    wait_for(lambda: not alive(status["worker"]) and not alive(status["keeper"]))
    gone()


def many_starters(build):
    """64 programs that start at once start one daemon, and all use it."""
    for _ in range(3):
        starters = [subprocess.Popen([str(build / "adverb"), "status" if i % 8 == 7 else "devinfo"],
                                     stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
                    for i in range(64)]
        c = wait_for(client_or_none)  # keeps the daemon from exiting
        for i, p in enumerate(starters):
            out, err = p.communicate(timeout=PATIENCE)
            assert i % 8 == 7 or (p.returncode == 0 and "PORT_ACTIVE" in out), (out, err)
        assert c.status()["restarts"] == 0
        listeners = [line for line in open("/proc/net/unix")
                     if "@adverbd" in line and line.split()[3] == "00010000"]
        assert len(listeners) == 1, listeners
        c.close()
        gone()


def while_it_leaves(build):
    """All programs that start shortly before, during or after the daemon's exit succeed."""
    for runs in range(0, 90, 3):
        three = [subprocess.Popen([str(build / "adverb"), "devinfo"], stdout=subprocess.PIPE,
                                  stderr=subprocess.PIPE, text=True,
                                  env={**os.environ, "ADVERB_DAEMON": str(wrapper(build))})
                 for _ in range(3)]
        for p in three:
            out, err = p.communicate(timeout=PATIENCE)
            assert p.returncode == 0, (out, err)
        time.sleep(runs % 7 / 1000)
    gone()


def wrapper(build):
    """An adverbd that exits at once."""
    path = build / "tests" / "runtime" / "daemon" / "adverbd-linger-0"
    if not path.exists():
        new = path.with_name(f"{path.name}-{os.getpid()}")
        new.write_text(f'#!/bin/sh\nexec {build}/adverbd --linger 0.002 "$@"\n')
        new.chmod(0o755)
        new.rename(path)
    return path


def port_taken(build):
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as s:
        s.bind(("127.0.0.1", PORT))
        said = adverb(build, "gids", check=1)
        assert f"UDP port 4791 is in use by python3 (process {os.getpid()} of user" in said, said
        done = subprocess.run([str(build / "adverbd")], capture_output=True, text=True, timeout=PATIENCE)
        assert done.returncode == 1 and "UDP port 4791 is in use by" in done.stderr, done.stderr
    with socket.socket(socket.AF_INET6, socket.SOCK_DGRAM) as s:
        s.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEPORT, 1)  # adverbd must not join this group
        s.bind(("::1", PORT))
        assert "process " in adverb(build, "gids", check=1)
    adverb(build, "gids")
    gone()


def by_hand(build):
    done = subprocess.run([str(build / "adverbd"), "--linger", "3"], timeout=PATIENCE)
    assert done.returncode == 0
    with Client() as c:
        done = subprocess.run([str(build / "adverbd")], capture_output=True, text=True, timeout=PATIENCE)
        assert done.returncode == 1 and "already running" in done.stderr
        worker = c.status()["worker"]
        # The daemon keeps no descriptor or folder of the starting program.
        assert os.readlink(f"/proc/{worker}/cwd") == "/"
        assert os.readlink(f"/proc/{worker}/fd/0") == "/dev/null"
        os.kill(worker, signal.SIGTERM)
    gone()
    for bad in (["--linger", "x"], ["--linger", "-1"], ["stray"], ["--nonsense"],
                ["--ready-fd", "99"]):
        assert subprocess.run([str(build / "adverbd"), *bad], capture_output=True,
                              timeout=PATIENCE).returncode == 64, bad


def environment(build):
    """The daemon does not inherit the variables that make the program load these libraries."""
    def attempt():
        adverb(build, "gids", env={"LD_LIBRARY_PATH": "/else", "LD_PRELOAD": "libm.so.6",
                                   "ASAN_OPTIONS": "verify_asan_link_order=0",
                                   "KEPT": "yes"})
        return client_or_none()

    with wait_for(attempt) as c:
        variables = open(f"/proc/{c.status()['worker']}/environ", "rb").read().split(b"\0")
        assert b"KEPT=yes" in variables
        assert not any(v.startswith(b"LD_") for v in variables)
    gone()


def bad_daemon(build):
    said = adverb(build, "gids", env={"ADVERB_DAEMON": "/nonexistent/adverbd"}, check=1)
    assert "cannot start /nonexistent/adverbd: No such file" in said, said
    said = adverb(build, "gids", env={"ADVERB_DAEMON": "/bin/true"}, check=1)
    assert "ended while it started" in said, said


def unprivileged(build):
    adverbd.need_root()
    with for_nobody.build_folder(build) as place:
        out = adverb(place, "devinfo", user=adverbd.NOBODY)
        assert "PORT_ACTIVE" in out, out
        gone()


def two_users(build):
    """A second user gets a message about the first one's daemon, and about the system service."""
    adverbd.need_root()
    with for_nobody.build_folder(build) as place:
        second_user(place)
        reports_without_names(place)


def second_user(build):
    with Daemon(build), Client():
        said = adverb(build, "gids", user=adverbd.NOBODY, check=1)
        assert "is in use by the adverbd of user root" in said and "--system" in said, said
        said = adverb(build, "status", user=adverbd.NOBODY, check=1)
        assert "adverbd of user root" in said and "is not running" not in said, said
    other_than_root(build)
    with Daemon(build, "--system", name="adverbd"):
        assert "127.0.0.1" in adverb(build, "gids", user=adverbd.NOBODY)
        assert "for all users" in adverb(build, "status", user=adverbd.NOBODY)
    done = subprocess.run([*adverbd.as_user(adverbd.NOBODY), str(build / "adverbd"), "--system"],
                          capture_output=True, text=True, timeout=PATIENCE)
    assert done.returncode == 2 and "needs root" in done.stderr


def full_pipe():
    """Returns both ends of a full pipe, in which a writer waits."""
    out, into = os.pipe()
    os.set_blocking(into, False)
    try:
        while True:
            os.write(into, bytes(4096))
    except BlockingIOError:
        os.set_blocking(into, True)
    return out, into


def reports_without_names(build):
    """A daemon that cannot start has no names any more when it says so."""
    out, into = full_pipe()
    with Daemon(build), Client(), os.fdopen(out, "rb", 0) as pipe, \
            subprocess.Popen([*adverbd.as_user(adverbd.NOBODY), str(build / "adverbd"), "--foreground",
                              f"--ready-fd={into}"], pass_fds=[into], stderr=subprocess.PIPE,
                             env={**os.environ, "ADVERB_LOG": "error"}) as late:
        os.close(into)
        try:
            said = late.stderr.readline()
            assert b"in use by the adverbd of user root" in said, said
            wait_for(lambda: adverbd.state(late.pid) == "S")  # in the report, behind what fills the pipe
            with open("/proc/net/unix") as f:
                assert f"@adverbd-{adverbd.NOBODY}" not in f.read()
        except BaseException:
            late.kill()
            raise
        while pipe.read(65536):
            pass
        assert late.wait(PATIENCE) == 1


def other_than_root(build):
    """A user's daemon does not serve root. Root gets a message. For root by sudo the message
    recommends to leave out sudo. A client that is none yet does not keep the daemon."""
    with Daemon(build, "--linger", "60", user=adverbd.NOBODY), Client(f"adverbd-{adverbd.NOBODY}", hello=False):
        for sudo, hint in (({}, "root included"), ({"SUDO_UID": str(adverbd.NOBODY)}, "leave out sudo")):
            assert "adverbd of user nobody" in adverb(build, "status", env=sudo, check=1)
            said = adverb(build, "run", "--", "true", env=sudo)
            assert "no device" in said and "adverbd of user nobody" in said and hint in said, said
    assert adverb(build, "run", "--", "true") == ""
    gone()


def name_taken(build):
    """If another user holds the names, programs report it. Holding only the system's name does no
    harm."""
    adverbd.need_root()
    code = ("import os, socket, sys\n"
            "s = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET); s.bind('\\0' + sys.argv[1])\n"
            "s.listen(8); print('ready', flush=True); sys.stdin.read()\n")

    def squat(name):
        p = subprocess.Popen([*adverbd.as_user(adverbd.NOBODY), sys.executable, "-c", code, name],
                             stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        assert p.stdout.readline() == "ready\n"
        return p

    system = squat("adverbd")
    said = adverb(build, "devinfo", env={"ADVERB_LOG": "warn"})
    assert "PORT_ACTIVE" in said and f"process {system.pid} of user 65534" in said, said
    system.communicate("")
    gone()
    own = squat("adverbd-0")
    said = adverb(build, "devinfo", check=1)
    assert f"is taken by process {own.pid} of user 65534" in said and "not trusted" in said, said
    own.communicate("")
    gone()


def commands(build):
    """The command's help, and its errors for unknown arguments."""
    assert "did you mean 'gids'" in adverb(build, "gdis", check=2)
    assert "--help" in adverb(build, "frobnicate", check=2)
    assert "Commands:" in adverb(build, "--help")
    assert adverb(build, "--version").startswith("adverb ")
    for command in ("run", "gids", "devinfo", "status"):
        assert f"Usage: adverb {command}" in adverb(build, command, "--help")
    adverb(build, check=2)
    adverb(build, "run", check=2)
    adverb(build, "gids", "stray", check=2)
    assert "none of" in adverb(build, "run", "--log", "loud", "true", check=2)


def runs_programs(build):
    if not (build / "lib" / "libibverbs.so.1").exists():
        raise adverbd.Skip("the libraries are not built")
    said = adverb(build, "run", "--log", "warn", "--", "env", env={"LD_LIBRARY_PATH": "/else"})
    assert f"LD_LIBRARY_PATH={build}/lib:/else\n" in said
    assert f"ADVERB_DAEMON={build}/adverbd\n" in said and "ADVERB_LOG=warn\n" in said
    assert "no such program" in adverb(build, "run", "nonexistent-program", check=127)
    adverb(build, "run", "/etc/passwd", check=126)
    said = adverb(build, "run", "true", env={"ADVERB_LOG": "loud"}, check=125)
    assert "ADVERB_LOG: 'loud' is none of: none, error, warn, info, debug" in said, said
    for level in ("", "none", "debug"):
        adverb(build, "run", "true", env={"ADVERB_LOG": level})
    adverb(build, "run", "--log", "warn", "true", env={"ADVERB_LOG": "loud"})
    said = adverb(build, "devinfo", env={"ADVERB_LOG": "loud"})
    assert said.count("ADVERB_LOG=loud is none of: none, error, warn, info, debug") == 1, said
    adverb(build, "run", "sh", "-c", "exit 5", check=5)


if __name__ == "__main__":
    adverbd.main([starts_and_leaves, many_starters, while_it_leaves, port_taken, by_hand,
                  environment, bad_daemon, unprivileged, two_users, name_taken, commands, runs_programs])
