#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""adverbd as a service: socket activation, another user than root, the journal's levels; its units."""

import contextlib
import os
import pathlib
import re
import shutil
import socket
import subprocess
import tempfile

import adverbd
from adverbd import Skip, wait_for

USER = 61234  # a user of DynamicUser=


@contextlib.contextmanager
def service(build, listener=None, user=USER, stderr=None, environment=None):
    """Starts adverbd like systemd: with a listening socket of root as descriptor 3."""
    with contextlib.ExitStack() as stack:
        sock = listener
        if not sock:
            sock = stack.enter_context(socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET))
            sock.bind("\0adverbd")
            sock.listen(4608)

        def prepare():
            os.dup2(sock.fileno(), 3)
            os.set_inheritable(3, True)  # also if both are the same
            os.environ["LISTEN_PID"] = str(os.getpid())
            os.setgroups([])
            os.setresgid(user, user, user)
            os.setresuid(user, user, user)
            os.execve(str(build / "adverbd"), ["adverbd", "--foreground", "--system"],
                      dict(os.environ, LISTEN_FDS="1", **(environment or {})))

        process = stack.enter_context(subprocess.Popen(["true"], preexec_fn=prepare, close_fds=False,
                                                       stderr=stderr))
        try:
            yield process
        finally:
            process.terminate()
            process.wait(timeout=30)


def readable(build):
    """The programs must be readable by another user."""
    if os.geteuid() != 0 or subprocess.run(["setpriv", "--reuid", str(USER), "--clear-groups", "test", "-x",
                                            str(build / "adverbd")], check=False).returncode:
        raise Skip("not root, or another user cannot read the build directory")


def status(build, *as_user):
    return subprocess.run([*as_user, str(build / "adverb"), "status"], capture_output=True, text=True,
                          check=False, timeout=60)


def programs_trust_the_passed_socket(build):
    readable(build)
    with service(build):
        for as_user in ((), ("setpriv", "--reuid", "nobody", "--clear-groups")):
            said = wait_for(lambda as_user=as_user: status(build, *as_user))
            assert said.returncode == 0 and said.stdout.startswith("adverbd runs for all users"), said


def programs_do_not_trust_a_users_socket(build):
    readable(build)
    done = subprocess.run(["setpriv", "--reuid", str(USER), "--clear-groups", str(build / "adverbd"), "-f", "-s"],
                          capture_output=True, text=True, check=False, timeout=60)
    assert done.returncode == 2 and "--system needs root" in done.stderr, done


def descriptor_without_listener_is_refused(build):
    readable(build)
    with socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET) as idle, \
            service(build, listener=idle, stderr=subprocess.PIPE) as process:
        said = process.stderr.read()
        assert process.wait(timeout=60) == 2 and b"no listening SEQPACKET socket" in said, said


def lines_have_the_journals_levels(build):
    readable(build)
    for journal in (True, False):
        with tempfile.TemporaryFile() as log:
            st = os.fstat(log.fileno())
            stream = f"{st.st_dev}:{st.st_ino if journal else st.st_ino + 1}"
            with service(build, stderr=log, environment={"JOURNAL_STREAM": stream}):
                wait_for(lambda: status(build).returncode == 0)
            log.seek(0)
            lines = log.read().decode().splitlines()
        assert any("GIDs, port active" in line for line in lines), lines
        assert all(line.startswith("<6>") == journal for line in lines if "GIDs" in line), lines


def units_are_valid(build):
    if not shutil.which("systemd-analyze"):
        raise Skip("no systemd-analyze")
    with tempfile.TemporaryDirectory() as folder:
        units = ("adverbd.service", "adverbd.socket", "adverb-nvme.service", "adverb-gateway@.service")
        for unit in units:
            text = (build / "data" / unit).read_text()
            lines = [re.sub("^ExecStart=[^ ]*/(adverbd?) ", rf"ExecStart={build}/\1 ", line)
                     for line in text.splitlines() if not line.startswith("Documentation=")]
            (pathlib.Path(folder) / unit).write_text("\n".join(lines) + "\n")
        # An instance of the template is a file, as the folder is not among those of systemd.
        os.rename(f"{folder}/adverb-gateway@.service", f"{folder}/adverb-gateway@nfs.service")
        done = subprocess.run(["systemd-analyze", "verify", "--man=no",
                               *(f"{folder}/{unit.replace('@', '@nfs')}" for unit in units)],
                              capture_output=True, text=True, check=False, timeout=120)
    said = [line for line in done.stderr.splitlines() if "adverb" in line]
    assert done.returncode == 0 and not said, done


if __name__ == "__main__":
    adverbd.main([programs_trust_the_passed_socket, programs_do_not_trust_a_users_socket,
                 descriptor_without_listener_is_refused, lines_have_the_journals_levels, units_are_valid])
