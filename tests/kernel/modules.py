# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""Kernel modules that Debian's kernel lacks, compiled from Debian's source of that kernel."""

import os
import pathlib
import re
import shutil

from packages import Archive, PackageError, _run, _unpack


ASN1_COMPILER = "scripts/asn1_compiler.c"
# Runs a command in a root directory, where a folder has the same name as outside.
IN_ROOT = """root=$1 folder=$2
shift 2
mkdir -p "$root$folder"
mount --bind "$folder" "$root$folder"
exec chroot "$root" "$@"
"""


def replace(path, pattern, text, count):
    """Replaces a pattern, which the file must contain `count` times."""
    new, found = re.subn(pattern, text, path.read_text(), flags=re.MULTILINE)
    if found != count:
        raise PackageError(f"{path}: '{pattern}' is there {found} times")
    path.write_text(new)


def _extract(folder, sources):
    """Extracts files and folders from the package of the kernel's source; returns the folder that they are in."""
    archive = next((folder / "usr/src").glob("linux-source-*.tar.xz"))
    top = archive.name.removesuffix(".tar.xz")
    _run(["tar", "-C", str(folder), "-xJf", str(archive), *(f"{top}/{source}" for source in sources)])
    archive.unlink()
    return folder / top


def _tools(scratch, release):
    """Returns the words before commands that compile for a kernel of the release. A kernel of another release than this
    machine's may need a newer compiler: a small system of that release is installed in `scratch`."""
    needed = ("debootstrap",) if release else ("gcc", "make", "xz")
    missing = [program for program in needed if not shutil.which(program)]
    if missing:
        raise PackageError(f"to compile kernel modules: not installed: {' '.join(missing)}")
    if not release:
        return []
    root = pathlib.Path(scratch).absolute() / f"system-{release}"
    done = root.with_name(root.name + ".done")
    if not done.exists():
        shutil.rmtree(root, ignore_errors=True)
        _run(["debootstrap", "--variant=minbase", "--include=gcc,make,libelf-dev", release, str(root), repository()])
        done.touch()
    return ["unshare", "-m", "sh", "-ec", IN_ROOT, "sh", str(root), str(root.parent)]


def _make_asn1_compiler(tools, source, headers, common):
    """Compiles a program that the kernel's build uses and Debian's packages lack."""
    _run([*tools, "gcc", "-I", str(common / "include"), "-o", str(headers / "scripts/asn1_compiler"),
          str(source / ASN1_COMPILER)])


def compiled(folder, scratch, version, release, source, change, builds, others=()):
    """Compiles modules for the kernel `version`, such as 6.1.0-56-amd64, unless `folder` has them. Needs a compiler
    and make, and downloads 150 MB the first time.

    source: a folder of the kernel; others: files and folders that it includes. change: a function that changes the
    extracted folder. builds: {file of a module in that folder: options of make}. Returns {name of a module: its file}.
    """
    done = {file.split("/")[-1]: folder / file.split("/")[-1] for file in builds}
    if all(file.exists() for file in done.values()):
        return done
    tools = _tools(scratch, release)
    folder = folder.absolute()
    number = ".".join(version.split(".")[:2])
    headers = f"linux-headers-{version}"
    common = f"linux-headers-{version.removesuffix('-amd64')}-common"
    shutil.rmtree(folder, ignore_errors=True)
    _unpack([f"linux-source-{number}", headers, common, f"linux-kbuild-{number}"], folder / "packages",
            Archive(release, scratch))
    extracted = _extract(folder / "packages", [ASN1_COMPILER, source, *others])
    change(extracted / source)
    tree = folder / "packages/usr/src"
    _make_asn1_compiler(tools, extracted, tree / headers, tree / common)
    # The package's Makefile names the place where the package would be installed.
    (tree / headers / "Makefile").write_text(f"include {tree / common}/Makefile\n")
    for file, options in builds.items():
        at = (extracted / source / file).parent
        # without BTF, which needs another program
        _run([*tools, "make", "-s", "-C", str(tree / headers), f"M={at}", "CC=gcc", "CONFIG_DEBUG_INFO_BTF_MODULES=",
              *options, "modules"])
        shutil.copy(extracted / source / file, folder / "new.ko")
        _run([*tools, "strip", "--strip-debug", str(folder / "new.ko")])
        os.rename(folder / "new.ko", done[file.split("/")[-1]])
    shutil.rmtree(folder / "packages")
    return done
