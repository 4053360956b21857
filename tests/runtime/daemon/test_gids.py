#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""The GID table follows the host's addresses."""

import json
import mmap
import os
import struct
import subprocess

import adverbd
from adverbd import Client, Daemon, PATIENCE, wait_for

GIDS, PORT_STATE = 1, 2


def table(build):
    done = subprocess.run([str(build / "adverb"), "gids", "--json"], capture_output=True, text=True,
                          timeout=PATIENCE, check=True)
    return json.loads(done.stdout)


def addresses(build):
    return [g["address"] for g in table(build)["gids"]]


def follows_changes(build):
    with Daemon(build), Client() as c:
        assert addresses(build) == ["127.0.0.1", "::1"]
        adverbd.sh("ip link add ga0 mtu 1400 type veth peer name ga1 mtu 1400;"
                   "ip link set ga1 addrgenmode none; ip link set ga0 addrgenmode none;"
                   "ip addr add 10.4.0.1/24 dev ga0; ip link set ga1 up")
        assert addresses(build) == ["127.0.0.1", "::1"], "an interface that is down"
        adverbd.sh("ip link set ga0 up")
        wait_for(lambda: addresses(build) == ["10.4.0.1", "127.0.0.1", "::1"])
        first = table(build)["gids"][0]
        assert (first["mtu"], first["interface"]) == (1024, "ga0")
        adverbd.sh("ip addr add fd44::1/64 dev ga0 nodad; ip addr add 10.4.1.1/24 dev ga0")
        # Existing entries keep their index, those of loopback too.
        wait_for(lambda: addresses(build)[:3] == ["10.4.0.1", "127.0.0.1", "::1"] and
                 set(addresses(build)[3:]) == {"fd44::1", "10.4.1.1"})
        adverbd.sh("ip link set ga0 mtu 9000; ip link set ga1 mtu 9000")
        wait_for(lambda: table(build)["gids"][0]["mtu"] == 4096)
        adverbd.sh("ip addr del 10.4.0.1/24 dev ga0; ip addr add 10.4.9.9/24 dev ga0")
        wait_for(lambda: "10.4.9.9" in addresses(build) and "10.4.0.1" not in addresses(build))
        assert not table(build)["gids"][0]["loopback"], "entry 0 reaches other machines"
        adverbd.sh("ip link del ga0")
        wait_for(lambda: addresses(build) == ["127.0.0.1", "::1"])
        c.ask(adverbd.STATUS)
        assert len(c.notices) >= 5 and all(n == GIDS for n in c.notices), c.notices


def port_goes_down(build):
    with Daemon(build), Client() as c:
        adverbd.sh("ip link set lo down")
        kind, _, _, body, _ = c.receive()
        assert kind == adverbd.NOTICE and struct.unpack("=I", body[:4])[0] == GIDS | PORT_STATE
        assert addresses(build) == []
        done = subprocess.run([str(build / "adverb"), "devinfo"], capture_output=True, text=True)
        assert "PORT_DOWN" in done.stdout and "ip link set lo up" in done.stdout
        adverbd.sh("ip link set lo up")
        kind, _, _, body, _ = c.receive()
        assert kind == adverbd.NOTICE and struct.unpack("=I", body[:4])[0] == GIDS | PORT_STATE
        wait_for(lambda: addresses(build) == ["127.0.0.1", "::1"])


def tentative_is_no_address(build):
    adverbd.sh("ip link add gt0 type veth peer name gt1; ip link set gt1 up;"
               "sysctl -qw net.ipv6.conf.gt0.accept_dad=1 net.ipv6.conf.gt0.dad_transmits=3;"
               "ip addr add fd55::1/64 dev gt0; ip link set gt0 up")
    with Daemon(build):
        assert "fd55::1" not in addresses(build)
        wait_for(lambda: "fd55::1" in addresses(build), 15, 0.1)
        adverbd.sh("ip link del gt0")
        wait_for(lambda: "fd55::1" not in addresses(build))


def survives_the_worker(build):
    """A new worker continues with the same table, and adds the changes since the old worker's
    death."""
    with Daemon(build) as daemon, Client() as c:
        view = mmap.mmap(c.table, os.fstat(c.table).st_size, prot=mmap.PROT_READ)
        sequence, count = struct.unpack("=II", view[:8])
        assert sequence % 2 == 0 and count == 2
        daemon.kill(c.status()["worker"])
        adverbd.sh("ip addr add 10.66.0.1/32 dev lo")
        with Client() as d:
            wait_for(lambda: struct.unpack("=II", view[:8])[1] == 3)
            assert struct.unpack("=I", view[:4])[0] % 2 == 0
            assert d.instance == c.instance
    adverbd.sh("ip addr del 10.66.0.1/32 dev lo")


def read_only(build):
    """No client can write the table in any way."""
    with Daemon(build), Client() as c:
        size = os.fstat(c.table).st_size
        for attempt in (lambda: mmap.mmap(c.table, size),
                        lambda: os.pwrite(c.table, b"x", 0),
                        lambda: os.ftruncate(c.table, 0),
                        lambda: mmap.mmap(os.open(f"/proc/self/fd/{c.table}", os.O_RDWR), size)):
            try:
                attempt()
            except (PermissionError, OSError):
                continue
            raise AssertionError("the GID table can be changed by a client")


if __name__ == "__main__":
    adverbd.main([follows_changes, port_goes_down, tentative_is_no_address, survives_the_worker,
                  read_only])
