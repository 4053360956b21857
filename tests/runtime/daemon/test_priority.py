#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""The daemon gets a processor when it needs one, also on a busy machine. It does not prevent other
processes from running.
"""

import contextlib
import os
import signal
import subprocess
import sys
import time

import adverbd
from adverbd import Client, Daemon, PATIENCE, alive, wait_for

PAIRS = 4
LOOKS = 12

# Two processes wake each other as fast as they can. argv: a descriptor to read from, one to write
# to, and a nice value.
PARTNER = """
import os, sys
read, write, nice = map(int, sys.argv[1:])
try:
    os.setpriority(os.PRIO_PROCESS, 0, nice)
except PermissionError:
    pass
while os.read(read, 1):
    os.write(write, b'x')
"""


def need_real_time():
    """Requires permission for SCHED_RR, which root has if no container forbids it."""
    take = "import os; os.sched_setscheduler(0, os.SCHED_RR, os.sched_param(1))"
    if subprocess.run([sys.executable, "-c", take], stderr=subprocess.DEVNULL).returncode:
        raise adverbd.Skip("SCHED_RR is not permitted here")


def policy(pid):
    return os.sched_getscheduler(pid) & ~os.SCHED_RESET_ON_FORK


def first_comes(pid):
    return policy(pid) == os.SCHED_RR


@contextlib.contextmanager
def programs_that_wake_each_other():
    """Starts pairs of processes in this session, as many as keep the machine busy."""
    partners = []
    try:
        for _ in range(PAIRS):
            one, other = os.pipe(), os.pipe()
            for read, write, nice in ((one[0], other[1], 5), (other[0], one[1], -10)):
                partners.append(subprocess.Popen(
                    [sys.executable, "-c", PARTNER, str(read), str(write), str(nice)],
                    pass_fds=(read, write), stderr=subprocess.DEVNULL))
            os.write(one[1], b"x")
            for fd in (*one, *other):
                os.close(fd)
        yield
    finally:
        for partner in partners:
            partner.kill()
        for partner in partners:
            partner.wait(PATIENCE)


@contextlib.contextmanager
def daemon_of_its_own_session(build):
    """Starts a daemon in the background. Returns the process ID of its worker."""
    subprocess.run([str(build / "adverbd"), "--linger", "5"], timeout=PATIENCE, check=True)
    with Client() as c:
        status = c.status()
    try:
        yield status["worker"]
    finally:
        os.kill(status["keeper"], signal.SIGTERM)
        wait_for(lambda: not alive(status["keeper"]))


def answers_whatever_else_runs(build):
    """The worker is killed repeatedly while programs of another session wake each other. The next
    worker gets the priority too, and answers. Kernels with a fault in group scheduling starve all
    other sessions."""
    need_real_time()
    with daemon_of_its_own_session(build) as worker, programs_that_wake_each_other():
        for _ in range(LOOKS):
            time.sleep(0.5)
            os.kill(worker, signal.SIGKILL)
            with Client() as c:
                worker = c.status()["worker"]
            assert first_comes(worker)


def seen_to_rest(worker):
    """Sends SIGXCPU to the worker. True if the worker then has the default policy. On a busy
    machine the worker's second may be over before the check."""
    os.kill(worker, signal.SIGXCPU)
    time.sleep(0.01)
    return policy(worker) == os.SCHED_OTHER


def rests_when_busy(build):
    """If a worker occupies a processor, the kernel's signal makes it an ordinary process for one
    second only."""
    need_real_time()
    with Daemon(build), Client() as c:
        worker = c.status()["worker"]
        for _ in range(2):
            assert first_comes(worker)
            start = time.monotonic()
            wait_for(lambda: seen_to_rest(worker))
            assert c.status()["worker"] == worker
            wait_for(lambda: first_comes(worker))
            assert time.monotonic() - start > 0.9
        assert c.status()["restarts"] == 0


def each_part_comes_first(build):
    """The worker, the keeper and their replacements have the priority."""
    need_real_time()
    with Daemon(build) as d:
        for _ in range(2):
            for part in ("worker", "keeper"):
                with Client() as c:
                    status = c.status()
                assert first_comes(status["worker"]) and first_comes(status["keeper"])
                d.kill(status[part])
                wait_for(lambda pid=status[part]: not alive(pid))
                wait_for(lambda old=status[part], part=part: replaced(part, old))


def replaced(part, old):
    try:
        with Client() as c:
            return c.status()[part] != old
    except (ConnectionError, adverbd.Lost):
        return False


if __name__ == "__main__":
    adverbd.main([answers_whatever_else_runs, rests_when_busy, each_part_comes_first])
