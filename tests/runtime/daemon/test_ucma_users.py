#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""The connection manager with several users: the limits of each user, and connections between
users.
"""

import contextlib
import os
import subprocess
import sys

import adverbd
import for_nobody
import ucma
from adverbd import Daemon, PATIENCE
from ucma import Cm


@contextlib.contextmanager
def for_a_stranger(build):
    """Yields (build folder, a function that starts Python code) for user nobody."""
    adverbd.need_root()
    with (for_nobody.build_folder(build) as place,
          for_nobody.module_folder(adverbd, ucma) as modules):
        environment = {**os.environ, "PYTHONPATH": str(modules), "PYTHONDONTWRITEBYTECODE": "1"}
        yield place, lambda code: subprocess.Popen(
            [*adverbd.as_user(adverbd.NOBODY), sys.executable, "-c", code], env=environment)


def privileged_ports(build):
    """Only root can bind ports below 1024, as in the kernel's rdma_cm."""
    code = ("import errno, ucma\n"
            "cm = ucma.Cm('adverbd-65534')\n"
            "cm.bind(cm.new_id(), '127.0.0.1', 860, expect=errno.EACCES)\n"
            "cm.bind(cm.new_id(), '127.0.0.1', 1024)\n")
    with Daemon(build), Cm() as cm:
        cm.listener(port=860)
    with for_a_stranger(build) as (place, start), Daemon(place, "--linger", "60", user=adverbd.NOBODY):
        assert start(code).wait(PATIENCE) == 0


def two_users(build):
    """With the system's daemon all users share the ports, and can connect to each other."""
    code = ("import errno, ucma\n"
            "cm = ucma.Cm('adverbd')\n"
            "cm.bind(cm.new_id(), '127.0.0.1', 7471, expect=errno.EADDRINUSE)\n"
            "number = cm.ready('127.0.0.1', 7471)\n"
            "cm.command(ucma.CONNECT, number)\n"
            "cm.command(ucma.ESTABLISH, cm.event(ucma.CONNECT_RESPONSE).id)\n"
            "cm.event(ucma.DISCONNECTED)\n")
    with (for_a_stranger(build) as (_, start), Daemon(build, "--system", name="adverbd"),
          Cm("adverbd") as server):
        server.listener(port=7471)
        other = start(code)
        try:
            number = server.event(ucma.CONNECT_REQUEST).id
            server.command(ucma.ACCEPT, number)
            server.event(ucma.ESTABLISHED)
            server.command(ucma.DISCONNECT, number)
            assert other.wait(PATIENCE) == 0
        finally:
            other.kill()
            other.wait()


@contextlib.contextmanager
def with_few_descriptors(build, count):
    """A build folder for Daemon(), whose adverbd may open no more descriptors."""
    with for_nobody.folder() as place:
        script = place / "adverbd"
        script.write_text(f'#!/bin/sh\nulimit -n {count}\nexec "{build}/adverbd" "$@"\n')
        script.chmod(0o755)
        yield place


def channels_of_one_user(build):
    """With the system's daemon a user cannot use all channels: some are left for other users."""
    code = ("import errno, os, ucma\n"
            "cms, result = [], 0\n"
            "while not result:\n"
            "    cms.append(ucma.Cm('adverbd', channel=False))\n"
            "    for _ in range(20):\n"
            "        *answer, result = cms[-1].ask(ucma.CREATE_CHANNEL, expect=None)\n"
            "        for fd in answer[4]: os.close(fd)\n"
            "assert result == errno.EMFILE and len(cms) > 2\n"
            "os.kill(os.getpid(), 19)\n")
    with (for_a_stranger(build) as (_, start), with_few_descriptors(build, 1024) as place,
          Daemon(place, "--system", name="adverbd")):
        greedy = start(code)
        try:
            assert os.WIFSTOPPED(os.waitpid(greedy.pid, os.WUNTRACED)[1])
            Cm("adverbd").close()
        finally:
            greedy.kill()
            greedy.wait()


def streams_of_one_user(build):
    """As with channels, a user cannot use all sockets of iWARP ids."""
    code = ("import errno, os, ucma\n"
            "cm, result = ucma.Cm('adverbd'), 0\n"
            "while not result:\n"
            "    result = cm.result(ucma.BIND, ucma.sockaddr('127.0.0.1'), number=cm.new_id(iwarp=True))\n"
            "assert result == errno.EMFILE, result\n"
            "os.kill(os.getpid(), 19)\n")
    with (for_a_stranger(build) as (_, start), with_few_descriptors(build, 1024) as place,
          Daemon(place, "--system", name="adverbd")):
        greedy = start(code)
        try:
            assert os.WIFSTOPPED(os.waitpid(greedy.pid, os.WUNTRACED)[1])
            with Cm("adverbd") as cm:
                cm.listener(iwarp=True)
        finally:
            greedy.kill()
            greedy.wait()


if __name__ == "__main__":
    adverbd.main([privileged_ports, two_users, channels_of_one_user, streams_of_one_user])
