#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""Many connections, one after another and at once: the daemon's memory does not grow."""

import os
import time

import adverbd
import ucma
from adverbd import Client, Daemon, PATIENCE, wait_for
from ucma import Cm, connect

CYCLES, AT_ONCE = 10000, 1000
GROWTH_KIB = 2048  # memory that an allocator may keep


def resident(pid):
    with open(f"/proc/{pid}/status") as f:
        return int(next(line for line in f if line.startswith("VmRSS")).split()[1])


def descriptors(pid):
    return len(os.listdir(f"/proc/{pid}/fd"))


def cycle(client, server, port):
    active, passive = connect(client, server, "127.0.0.1", port)
    client.command(ucma.DISCONNECT, active)
    for cm, number in (client, active), (server, passive):
        assert cm.event(ucma.DISCONNECTED).id == number
        cm.destroy(number)


def settled(watcher):
    """Waits until TIMEWAIT is over for all ids."""
    wait_for(lambda: watcher.cm_status()["ending"] == 0, seconds=PATIENCE, pause=0.2)


def one_after_another(build):
    with Daemon(build), Cm() as server, Cm() as client, Client() as watcher:
        pid = watcher.status()["worker"]
        _, port = server.listener()
        for _ in range(CYCLES):  # as many, so that as many are in TIMEWAIT at the peak
            cycle(client, server, port)
        settled(watcher)
        before, open_before = resident(pid), descriptors(pid)
        start = time.monotonic()
        for _ in range(CYCLES):
            cycle(client, server, port)
        seconds = time.monotonic() - start
        settled(watcher)
        after = resident(pid)
        print(f"{CYCLES / seconds:.0f} connections a second, {before} KiB before, {after} after")
        # The peaks of TIMEWAIT differ; freed memory that is kept has their size.
        assert after - before < GROWTH_KIB * 4 and descriptors(pid) == open_before
        assert watcher.cm_status()["ids"] == 1


def at_once(build):
    with Daemon(build), Client() as watcher:
        pid = watcher.status()["worker"]
        sizes = []
        for _ in range(4):
            with Cm() as server, Cm() as client:
                _, port = server.listener()
                pairs = [connect(client, server, "127.0.0.1", port) for _ in range(AT_ONCE)]
                assert watcher.cm_status()["connections"] == 2 * AT_ONCE
                opened = descriptors(pid)
                for active, _ in pairs[::2]:
                    client.command(ucma.DISCONNECT, active)
                for cm in client, server:
                    for _ in pairs[::2]:
                        cm.event(ucma.DISCONNECTED)
            # The other connections end with their programs.
            wait_for(lambda: watcher.cm_status()["ids"] == 0)
            settled(watcher)
            assert descriptors(pid) <= opened
            sizes.append(resident(pid))
        print("KiB after each round:", sizes)
        assert sizes[-1] - sizes[1] < GROWTH_KIB


if __name__ == "__main__":
    # AddressSanitizer keeps freed memory: this limits it to 1 MB.
    options = os.environ.get("ASAN_OPTIONS", "")
    os.environ["ASAN_OPTIONS"] = ":".join(filter(None, (options, "quarantine_size_mb=1")))
    adverbd.main([one_after_another, at_once])
