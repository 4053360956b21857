#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""Forged ICMP about the open port 4791 does not change this machine's path MTUs."""

import re
import socket
import subprocess

import adverbd
from adverbd import Client, Daemon, PORT
from forge_icmp import TOO_LONG, forge

ORDINARY = 5791
HERE = {4: "10.78.0.1", 6: "fd78::1"}


def believed(peer):
    """Returns the path MTU to this peer that the kernel has learnt."""
    route = subprocess.run(["ip", "-o", "route", "get", peer], capture_output=True, text=True, check=True).stdout
    found = re.search(r"\bmtu (\d+)", route)
    return int(found[1]) if found else None


def too_long(build):
    adverbd.sh("ip link add ic0 type veth peer name ic1; ip link set ic0 up; ip link set ic1 up;"
               "ip addr add 10.78.0.1/24 dev ic0; ip addr add fd78::1/64 dev ic0 nodad")
    with Daemon(build), Client() as c, socket.socket(socket.AF_INET6, socket.SOCK_DGRAM) as ordinary:
        c.open_slot()
        ordinary.bind(("::", ORDINARY))
        for version, net in ((4, "10.78.0."), (6, "fd78::")):
            forge(HERE[version], net + "7", PORT, TOO_LONG[version])
            assert believed(net + "7") is None
            # If another process has port 4791 open, the forged ICMP changes the path MTU.
            forge(HERE[version], net + "8", ORDINARY, TOO_LONG[version])
            assert believed(net + "8") == TOO_LONG[version][2]
    adverbd.sh("ip link del ic0")


if __name__ == "__main__":
    adverbd.main([too_long])
