# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""Copies the programs so that user nobody can run them: nobody may not enter every folder of a
tree.
"""

import contextlib
import os
import pathlib
import shutil
import subprocess
import tempfile

NOBODY = 65534
ROOT = pathlib.Path(__file__).resolve().parents[3]
HEADERS = "runtime/control/protocol.h", "runtime/control/ucma_protocol.h"  # of which adverbd.py and ucma.py read versions
PREFIX = ["setpriv", f"--reuid={NOBODY}", f"--regid={NOBODY}", "--clear-groups", "--no-new-privs"]


def usable(build):
    """Returns whether nobody can execute the built programs. test(1) checks it: setpriv itself can
    still do more."""
    return subprocess.run([*PREFIX, "test", "-x", str(build / "adverb")], check=False,
                          stdin=subprocess.DEVNULL, stderr=subprocess.DEVNULL).returncode == 0


def copy_file(source, target):
    """Makes a copy that all users may read and execute, whatever the umask; a link stays a link."""
    shutil.copyfile(source, target, follow_symlinks=False)
    if not target.is_symlink():
        target.chmod(0o755)


def copy_build(build, target):
    """Copies the programs and the libraries into the folder `target`, which is created."""
    for folder in (target, target / "lib"):
        folder.mkdir()
        folder.chmod(0o755)
    for name in ("adverb", "adverbd"):
        copy_file(build / name, target / name)
    for entry in (build / "lib").glob("*.so*"):
        if not entry.is_dir():
            copy_file(entry, target / "lib" / entry.name)


@contextlib.contextmanager
def folder():
    """Makes a new folder that all users may read; it is removed at the end."""
    with tempfile.TemporaryDirectory(prefix="adverb-nobody-", dir="/tmp") as name:
        os.chmod(name, 0o755)
        yield pathlib.Path(name)


@contextlib.contextmanager
def build_folder(build):
    """Returns the build folder for a case that runs its programs as nobody: a copy if necessary."""
    if usable(build):
        yield build
        return
    with folder() as place:
        copy_build(build, place / "build")
        yield place / "build"


@contextlib.contextmanager
def module_folder(*modules):
    """Yields a folder with copies of Python modules of this folder, and of the headers they read."""
    with folder() as place:
        there = place / "tests" / "runtime" / "daemon"
        for name in HEADERS:
            (place / "src" / name).parent.mkdir(parents=True, exist_ok=True)
            copy_file(ROOT / "src" / name, place / "src" / name)
        there.mkdir(parents=True)
        for path in place.rglob("*"):
            path.chmod(0o755)
        for module in modules:
            copy_file(pathlib.Path(module.__file__), there / pathlib.Path(module.__file__).name)
        yield there
