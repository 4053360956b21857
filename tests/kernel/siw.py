# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""The kernel module siw (iWARP), which Debian's kernel lacks: compiled from Debian's source of that kernel.

The constants of siw that cases change become parameters of the module; nothing else changes.
"""

import pathlib

import modules

SWITCHES = ("mpa_crc_required", "mpa_crc_strict", "peer_to_peer", "zcopy_tx")
REVISION = "mpa_version"


def _add_parameters(source):
    for name in SWITCHES:
        modules.replace(source / "siw_main.c", rf"^const bool {name}\b(.*);",
                        rf"bool {name}\1;\nmodule_param({name}, bool, 0644);", 1)
        modules.replace(source / "siw.h", rf"^extern const bool {name};", f"extern bool {name};", 1)
    modules.replace(source / "siw_main.c", rf"^(u_char {REVISION}\b.*;)$",
                    rf"\1\nmodule_param({REVISION}, byte, 0644);", 1)


def path(scratch, version):
    return pathlib.Path(scratch) / f"siw-{version}" / "siw.ko"


def module(scratch, version, release=None):
    """Returns the file siw.ko for the kernel `version`; see modules.compiled()."""
    done = modules.compiled(path(scratch, version).parent, scratch, version, release,
                            "drivers/infiniband/sw/siw", _add_parameters, {"siw.ko": ["CONFIG_RDMA_SIW=m"]})
    return done["siw.ko"]
