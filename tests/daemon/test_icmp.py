#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""That a daemon has port 4791 open lets nobody tell this machine by forged ICMP how long packets may be."""

import re
import socket
import struct
import subprocess

import adverbd
from adverbd import Client, Daemon, PORT

ORDINARY = 5791
HERE = {4: "10.78.0.1", 6: "fd78::1"}
CLAIMED = {4: 576, 6: 1280}


def checksum(data):
    total = sum(struct.unpack(f"!{len(data) // 2}H", data))
    while total >> 16:
        total = (total & 0xffff) + (total >> 16)
    return ~total & 0xffff


def forge(version, peer, sport):
    """A packet from HERE, port sport, to the peer's port 4791 is said to have been too long."""
    here, there = (socket.inet_pton(socket.AF_INET if version == 4 else socket.AF_INET6, a) for a in (HERE[version], peer))
    udp = struct.pack("!HHHH", sport, PORT, 4120, 0) + bytes(56)
    if version == 4:
        quoted = struct.pack("!BBHHHBBH", 0x45, 0, 4140, 0, 0x4000, 63, 17, 0) + here + there + udp
        body = struct.pack("!HH", 0, CLAIMED[4]) + quoted
        message = struct.pack("!BBH", 3, 4, checksum(b"\x03\x04\0\0" + body)) + body
        kind = (socket.AF_INET, socket.SOCK_RAW, socket.IPPROTO_ICMP)
    else:
        quoted = struct.pack("!IHBB", 6 << 28, 4120, 17, 63) + here + there + udp
        message = struct.pack("!BBHI", 2, 0, 0, CLAIMED[6]) + quoted
        kind = (socket.AF_INET6, socket.SOCK_RAW, socket.IPPROTO_ICMPV6)
    with socket.socket(*kind) as out:
        out.sendto(message, (HERE[version], 0))


def believed(peer):
    """The MTU that the kernel takes for that of the path to this peer, where it has learnt one."""
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
            forge(version, net + "7", PORT)
            assert believed(net + "7") is None
            # The forgery is one that the kernel believes where anybody else has such a port.
            forge(version, net + "8", ORDINARY)
            assert believed(net + "8") == CLAIMED[version]
    adverbd.sh("ip link del ic0")


if __name__ == "__main__":
    adverbd.main([too_long])
