# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""Time limits of the tests of this folder. They are so long that only a hang exceeds them, also on a busy machine."""

import os
import time

PATIENCE = 600  # seconds; a program that takes longer hangs


def let_compute(pid, seconds):
    """Waits until a process has used this much processor time."""
    end = time.monotonic() + PATIENCE
    computed = 0
    while computed < seconds:
        assert time.monotonic() < end, f"process {pid} has computed for {computed} s only"
        time.sleep(0.05)
        with open(f"/proc/{pid}/stat") as f:
            fields = f.read().rsplit(")", 1)[1].split()
        computed = (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")
