# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""Which tests concern a source file: for scripts/checks.py and tests/mutants/run."""

# For each beginning of a path: the suites that must find a bug there. A name with " cases" is one of tests/clients.
SUITES = {"src/base/": ("base",), "src/nic/fault/": ("fault",), "src/nic/iwarp/": ("iwarp",),
          "src/runtime/link/": ("link",), "src/runtime/device/": ("device", "verbs"),
          "src/runtime/progress/": ("progress", "device", "verbs"),
          "src/runtime/control/": ("device", "verbs"), "src/runtime/exchange/": ("device", "verbs"),
          "src/runtime/identity/": ("device", "verbs"), "src/runtime/preload/": ("preload",),
          "src/runtime/": ("daemon", "rdmacm"), "src/fabric/emulator/": ("emulator",), "src/fabric/": ("fabric",),
          "src/abi/check/": ("check",), "src/abi/rules/": ("check",), "src/abi/verbs/": ("verbs",),
          "src/abi/versions/": ("verbs",), "src/abi/": ("rdmacm",),
          "src/storage/nvme/": ("nvme",), "src/storage/nvme_target/": ("nvme",), "src/storage/nvme_": ("nvme_server",),
          "src/storage/kit/buffers": ("nvme_server",), "src/storage/kit/memory": ("kit", "nvme_server"),
          "src/storage/kit/control": ("nvme_server",), "src/storage/kit/stat": ("gateway",),
          "src/storage/kit/text": ("nvme",), "src/storage/kit/": ("kit",),
          "src/storage/smbdirect/": ("smbdirect",), "src/storage/smb2/": ("smb2",), "src/storage/rpcrdma/": ("rpcrdma",),
          "src/storage/nfs/": ("nfs",), "src/storage/gateway/stats": ("gateway",),
          "src/storage/smb_gateway/stats": ("gateway",), "src/storage/smb_gateway/": ("smb cases",),
          "src/storage/": ("nfs cases",), "src/cli/capture/": ("capture",), "src/cli/": ("cli",),
          "src/common/": ("base", "link", "device", "preload", "verbs", "rdmacm")}  # of tests/common
ENGINE = ("engine", "wire", "cm")  # of all other rooms of src/nic


def suites_of(file):
    """Returns the suites whose tests must find a bug in a file of src."""
    return next((SUITES[folder] for folder in SUITES if file.startswith(folder)), ENGINE)
