#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""Checks the invariant CRC of every RoCE v2 packet of captures.

Usage: check_icrc.py [--scapy N] capture...
    --scapy N   also compare the first N IPv4 packets with what scapy's RoCE layer computes

Exit status: 0 if every file has at least one packet and every packet is right.
"""

import sys

import roce_pcap


def check_file(path):
    """Returns (packets, list of messages)."""
    messages = []
    count = 0
    for packet in roce_pcap.roce_packets(path):
        count += 1
        if isinstance(packet, roce_pcap.CaptureError):
            messages.append(f"{path}: {packet}")
        elif packet.icrc_found != packet.icrc_right:
            messages.append(f"{path}: frame {packet.frame}: opcode {packet.opcode:#04x}: ICRC "
                            f"{packet.icrc_found.hex()}, should be {packet.icrc_right.hex()}")
    if count == 0:
        messages.append(f"{path}: no RoCE v2 packet in it")
    return count, messages


def check_with_scapy(path, limit):
    """Returns (packets compared, list of messages)."""
    from scapy.config import conf  # pylint: disable=import-outside-toplevel
    conf.ipv6_enabled = False
    from scapy.contrib.roce import BTH
    from scapy.layers.inet import IP
    messages = []
    count = 0
    for number, link, frame, _ in roce_pcap.frames(path):
        ip = roce_pcap.network_layer(link, frame)
        if ip is None or ip[0] >> 4 != 4 or count >= limit:
            continue
        packet = IP(ip)
        if BTH not in packet:
            continue
        count += 1
        found = bytes(packet)[:packet.len][-4:]
        right = packet[BTH].compute_icrc(b"")
        if found != right:
            messages.append(f"{path}: frame {number}: scapy computes {right.hex()}, "
                            f"found {found.hex()}")
    return count, messages


def main(argv):
    scapy_limit = 0
    if argv[:1] == ["--scapy"]:
        scapy_limit = int(argv[1])
        argv = argv[2:]
    if not argv:
        print(__doc__, file=sys.stderr)
        return 2
    failed = False
    for path in argv:
        count, messages = check_file(path)
        text = f"{path}: {count} RoCE v2 packets, {len(messages)} wrong"
        if scapy_limit:
            compared, more = check_with_scapy(path, scapy_limit)
            messages += more
            text += f"; scapy: {compared} compared, {len(more)} differ"
        for message in messages[:20]:
            print(message)
        print(text)
        failed |= bool(messages)
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
