# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""The network namespace, with only the loopback interface, in which the commands of this folder measure.

A command calls in_namespace(), which starts the command again inside a new namespace. There
open_lab() returns its harness.Lab.
"""

import contextlib
import os
import pathlib
import subprocess
import sys
import tempfile

HERE = pathlib.Path(__file__).resolve().parent
CLIENTS = HERE.parent / "tests" / "clients"
sys.path[:0] = [str(CLIENTS), str(CLIENTS / "cases")]

import cases_netns  # noqa: E402,F401
import harness  # noqa: E402
import reports  # noqa: E402,F401

DIRECTORY = "ADVERB_BENCH_DIRECTORY"


def is_inside():
    return DIRECTORY in os.environ


def in_namespace(script, seconds):
    """Runs the script with its arguments in new namespaces; returns its exit status."""
    with tempfile.TemporaryDirectory(prefix="adverb-bench-") as directory:
        os.chmod(directory, 0o755)
        command = [*harness.namespace_command(), "/usr/bin/python3", os.path.abspath(script),
                   *sys.argv[1:]]
        try:
            return subprocess.run(command, stdin=subprocess.DEVNULL, check=False, timeout=seconds,
                                  env=dict(os.environ, **{DIRECTORY: directory})).returncode
        except subprocess.TimeoutExpired:
            print(f"failed: not finished within {seconds} s", file=sys.stderr)
            return 1


@contextlib.contextmanager
def open_lab(build):
    lab = harness.Lab(os.path.abspath(build), os.environ[DIRECTORY])
    try:
        lab.system("ip link set lo up")
        yield lab
    finally:
        lab.finish()
