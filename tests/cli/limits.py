# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""How long the tests of this folder wait: for whatever is not a hang, on a busy machine too."""

import os
import time

PATIENCE = 600  # seconds: what takes longer hangs


def let_compute(pid, seconds):
    """Returns when a process has computed for so long, however long that takes."""
    end = time.monotonic() + PATIENCE
    computed = 0
    while computed < seconds:
        assert time.monotonic() < end, f"process {pid} has computed for {computed} s only"
        time.sleep(0.05)
        with open(f"/proc/{pid}/stat") as f:
            fields = f.read().rsplit(")", 1)[1].split()
        computed = (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")
