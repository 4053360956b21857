#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""Runs under an older kernel, or the seccomp profile of an older container runtime, which refuse
newer system calls.
"""

import ctypes
import errno
import os
import select
import struct
import subprocess

import adverbd
from adverbd import Client, PATIENCE, wait_for

FIRST = 424  # pidfd_send_signal: from here on all platforms share the numbers
CLONE3 = 435
PR_SET_NO_NEW_PRIVS, PR_SET_SECCOMP, SECCOMP_MODE_FILTER = 38, 22, 2
ALLOW, ERRNO = 0x7fff0000, 0x00050000
LOAD, EQUAL, AT_LEAST, RETURN = 0x20, 0x15, 0x35, 0x06


def refuse(error):
    """Applies to this process and all its children. clone3() is refused in the way that the C
    library expects."""
    program = b"".join(struct.pack("=HBBI", *i) for i in (
        (LOAD, 0, 0, 0), (EQUAL, 3, 0, CLONE3), (AT_LEAST, 1, 0, FIRST), (RETURN, 0, 0, ALLOW),
        (RETURN, 0, 0, ERRNO | error), (RETURN, 0, 0, ERRNO | errno.ENOSYS)))
    code = ctypes.create_string_buffer(program)

    class Program(ctypes.Structure):
        _fields_ = [("len", ctypes.c_ushort), ("filter", ctypes.c_void_p)]

    libc = ctypes.CDLL(None, use_errno=True)
    filters = Program(len(program) // 8, ctypes.addressof(code))
    for args in ((PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0), (PR_SET_SECCOMP, SECCOMP_MODE_FILTER, ctypes.byref(filters))):
        if libc.prctl(*args):
            raise OSError(ctypes.get_errno(), "prctl")


def keeps_no_descriptor(build, error):
    """A daemon holds no descriptor of the program that started it: a reader of the program's pipe
    sees the end of file."""
    ours, its = os.pipe()
    subprocess.run([str(build / "adverb"), "gids"], check=True, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
                   pass_fds=[its], preexec_fn=lambda: refuse(error), timeout=PATIENCE)
    os.close(its)
    with wait_for(Client) as c:
        slot = c.open_slot()
        ready, _, _ = select.select([ours], [], [], 10)
        assert ready and os.read(ours, 1) == b"", "somebody still holds the other end"
        assert slot.number == 1
        status = c.status()
    os.close(ours)
    wait_for(lambda: not adverbd.alive(status["worker"]) and not adverbd.alive(status["keeper"]))


def with_eperm(build):
    keeps_no_descriptor(build, errno.EPERM)


def with_enosys(build):
    keeps_no_descriptor(build, errno.ENOSYS)


if __name__ == "__main__":
    adverbd.main([with_eperm, with_enosys])
