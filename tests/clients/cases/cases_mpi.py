# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""MPI programs: Open MPI over UCX's verbs transports, and over libfabric's.

Open MPI unloads UCX and libfabric at exit, with devices still open.
"""

import re

from cases_sysfs import other_interface
from harness import Failure, case, need_tool

RANKS, LOOPS = 3, 50
AS_ROOT = {"OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1"}


def ring(lab, layers, env, size, ranks=RANKS):
    """Sends messages round a ring of ranks, each of which adds its number; the last checks the sum."""
    mpirun = [need_tool("mpirun"), "-np", str(ranks), "--oversubscribe"]
    program = ["/usr/bin/python3", "-m", "mpi4py.bench", "ringtest", "-n", str(size),
               "-l", str(LOOPS)]
    text = lab.run([*mpirun, *layers, *program], env={**AS_ROOT, **env})
    if not re.search(rf"time for {LOOPS} loops = .* \({ranks} processes, {size} bytes\)", text):
        raise Failure(text)
    if re.search(r"signal|abort|error", text, re.I):
        raise Failure(text)


def over_ucx(lab, transport, size):
    ring(lab, ["--mca", "pml", "ucx"],
         {"UCX_TLS": f"{transport},self", "UCX_NET_DEVICES": "adverb0:1"}, size)


@case("mpi", "ucx-rc")
def ucx_rc(lab):
    over_ucx(lab, "rc_v", 100000)


@case("mpi", "ucx-ud")
def ucx_ud(lab):
    over_ucx(lab, "ud_v", 20000)


def over_libfabric(lab, **how):
    other_interface(lab)  # libfabric ignores loopback
    ring(lab, ["--mca", "pml", "cm", "--mca", "mtl", "ofi", "--mca", "mtl_ofi_provider_include",
               "verbs;ofi_rxm"], {}, 100000, **how)


@case("mpi", "libfabric")
def libfabric(lab):
    over_libfabric(lab)
