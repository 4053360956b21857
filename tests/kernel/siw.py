# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""The kernel module siw (iWARP), which Debian's kernel lacks: compiled from Debian's source of that kernel.

The constants of siw that cases change become parameters of the module; nothing else changes.
"""

import os
import pathlib
import re
import shutil

from packages import Archive, PackageError, _run, _unpack

SOURCE = "drivers/infiniband/sw/siw"
SWITCHES = ("mpa_crc_required", "mpa_crc_strict", "peer_to_peer", "zcopy_tx")
REVISION = "mpa_version"


def _extract(folder):
    """Extracts siw from the package of the kernel's source; returns its folder."""
    archive = next((folder / "usr/src").glob("linux-source-*.tar.xz"))
    inside = f"{archive.name.removesuffix('.tar.xz')}/{SOURCE}"
    _run(["tar", "-C", str(folder), "-xJf", str(archive), inside])
    archive.unlink()
    return folder / inside


def _replace(path, pattern, text, count):
    """Replaces a pattern, which the file must contain `count` times."""
    new, found = re.subn(pattern, text, path.read_text(), flags=re.MULTILINE)
    if found != count:
        raise PackageError(f"{path}: '{pattern}' is there {found} times")
    path.write_text(new)


def _add_parameters(source):
    for name in SWITCHES:
        _replace(source / "siw_main.c", rf"^const bool {name}\b(.*);",
                 rf"bool {name}\1;\nmodule_param({name}, bool, 0644);", 1)
        _replace(source / "siw.h", rf"^extern const bool {name};", f"extern bool {name};", 1)
    _replace(source / "siw_main.c", rf"^(u_char {REVISION}\b.*;)$",
             rf"\1\nmodule_param({REVISION}, byte, 0644);", 1)


def path(scratch, version):
    return pathlib.Path(scratch) / f"siw-{version}" / "siw.ko"


def module(scratch, version, release=None):
    """Returns the file siw.ko for the kernel `version`, such as 6.1.0-56-amd64. Needs a compiler and make, and
    downloads 150 MB the first time."""
    done = path(scratch, version)
    folder = done.parent
    if done.exists():
        return done
    missing = [program for program in ("gcc", "make", "xz") if not shutil.which(program)]
    if missing:
        raise PackageError(f"to compile siw: not installed: {' '.join(missing)}")
    number = ".".join(version.split(".")[:2])
    headers = f"linux-headers-{version}"
    common = f"linux-headers-{version.removesuffix('-amd64')}-common"
    shutil.rmtree(folder, ignore_errors=True)
    _unpack([f"linux-source-{number}", headers, common, f"linux-kbuild-{number}"], folder / "packages",
            Archive(release, scratch))
    source = _extract(folder / "packages")
    _add_parameters(source)
    tree = folder / "packages/usr/src"
    # The package's Makefile names the place where the package would be installed.
    (tree / headers / "Makefile").write_text(f"include {tree / common}/Makefile\n")
    _run(["make", "-s", "-C", str(tree / headers), f"M={source}", "CC=gcc", "CONFIG_RDMA_SIW=m", "modules"])
    shutil.copy(source / "siw.ko", folder / "new.ko")
    shutil.rmtree(folder / "packages")
    os.rename(folder / "new.ko", done)
    return done
