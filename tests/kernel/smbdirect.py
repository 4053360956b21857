# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""The kernel's SMB client and server with SMB Direct, which Debian's kernel has without: compiled from Debian's source
of that kernel with the options on."""

import pathlib

import modules

BUILDS = {
    "client/cifs.ko": ["CONFIG_CIFS=m", "CONFIG_CIFS_SMB_DIRECT=y", "KCFLAGS=-DCONFIG_CIFS_SMB_DIRECT=1"],
    "server/ksmbd.ko": ["CONFIG_SMB_SERVER=m", "CONFIG_SMB_SERVER_SMBDIRECT=y",
                        "KCFLAGS=-DCONFIG_SMB_SERVER_SMBDIRECT=1"],
}


def paths(scratch, version):
    """Returns {name of a module: its file}; the files need not exist."""
    folder = pathlib.Path(scratch) / f"smbdirect-{version}"
    return {name: folder / name for name in ("cifs.ko", "ksmbd.ko")}


def _mend(source):
    """ksmbd of Linux 6.1.192 ends with a NULL pointer when a directory is opened."""
    file = source / "server/oplock.c"
    wrong = "if (!atomic_dec_and_test(&opinfo->refcount))"
    file.write_text(file.read_text().replace(wrong, wrong.replace("(!atomic", "(!opinfo || !atomic")))


def build(scratch, version, release=None):
    """Compiles both modules for the kernel `version`; see modules.compiled()."""
    folder = next(iter(paths(scratch, version).values())).parent
    return modules.compiled(folder, scratch, version, release, "fs/smb", _mend, BUILDS,
                            ["fs/internal.h", "fs/nls"])
