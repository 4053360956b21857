# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""Reads captures (pcap and pcapng) and extracts their RoCE packets.

It implements the specification (IBTA volume 1, annexes A16 and A17) without any code of Adverb, so that it
is an independent check. Standard library only.
"""

import struct
import zlib

ROCE_PORT = 4791
ROCE_V1_ETHERTYPE = b"\x89\x15"
LINK_NULL, LINK_ETHERNET, LINK_RAW, LINK_SLL, LINK_SLL2 = 0, 1, 101, 113, 276


class Packet:
    """One RoCE v2 packet: its place in the capture, its fields, its ICRCs."""

    __slots__ = ("frame", "version", "src", "dst", "sport", "ip_id", "opcode", "pad", "dest_qpn",
                 "psn", "payload_len", "icrc_found", "icrc_right", "ip_len", "tos", "transport")


class CaptureError(Exception):
    """The file is no capture, or one that cannot be checked."""


def _read_pcap(data, order):
    link = struct.unpack_from(order + "I", data, 20)[0] & 0xffff
    at = 24
    while at + 16 <= len(data):
        captured, original = struct.unpack_from(order + "II", data, at + 8)
        yield link, data[at + 16:at + 16 + captured], original
        at += 16 + captured


def _read_pcapng(data):
    order, links, at = "<", [], 0
    while at + 12 <= len(data):
        kind = struct.unpack_from("<I", data, at)[0]
        if kind == 0x0a0d0d0a:
            magic = data[at + 8:at + 12]
            order = "<" if magic == b"\x4d\x3c\x2b\x1a" else ">"
            links = []
        kind, length = struct.unpack_from(order + "II", data, at)
        if length < 12 or at + length > len(data):
            raise CaptureError(f"pcapng: bad block length {length} at byte {at}")
        if kind == 1:
            links.append(struct.unpack_from(order + "H", data, at + 8)[0])
        elif kind == 6:
            interface, _, _, captured, original = struct.unpack_from(order + "IIIII", data, at + 8)
            yield links[interface], data[at + 28:at + 28 + captured], original
        at += length


def frames(path):
    """Yields (frame number, from 1; link type; bytes; original length)."""
    with open(path, "rb") as capture:
        data = capture.read()
    magic = data[:4]
    if magic in (b"\xd4\xc3\xb2\xa1", b"\x4d\x3c\xb2\xa1"):
        found = _read_pcap(data, "<")
    elif magic in (b"\xa1\xb2\xc3\xd4", b"\xa1\xb2\x3c\x4d"):
        found = _read_pcap(data, ">")
    elif magic == b"\x0a\x0d\x0d\x0a":
        found = _read_pcapng(data)
    else:
        raise CaptureError(f"{path}: neither pcap nor pcapng")
    for number, (link, frame, original) in enumerate(found, 1):
        yield number, link, frame, original


def network_layer(link, frame):
    """Returns the bytes from the IP header on, or None if the frame has no IP packet."""
    if link == LINK_ETHERNET:
        at, kind = 14, frame[12:14]
        while kind == b"\x81\x00" and len(frame) >= at + 4:
            kind = frame[at + 2:at + 4]
            at += 4
    elif link == LINK_SLL:
        at, kind = 16, frame[14:16]
    elif link == LINK_SLL2:
        at, kind = 20, frame[0:2]
    elif link == LINK_NULL:
        return frame[4:]
    elif link == LINK_RAW:
        return frame
    else:
        raise CaptureError(f"link type {link} is not known here")
    return frame[at:] if kind in (b"\x08\x00", b"\x86\xdd") else None


def _masked_ipv4(ip):
    """Returns the IPv4 header with ToS, TTL and checksum as ones; its length, total length and ID."""
    if ip[0] != 0x45:
        raise CaptureError("IPv4 options in a RoCE packet")
    header = bytearray(ip[:20])
    header[1] = header[8] = header[10] = header[11] = 0xff
    total, ident, fragment = struct.unpack_from("!HHH", ip, 2)
    if fragment & 0x3fff:
        raise CaptureError("a fragment of a RoCE packet")
    return bytes(header), 20, total, ident


def _masked_ipv6(ip):
    """Returns the IPv6 header with traffic class, flow label and hop limit as ones."""
    header = bytearray(ip[:40])
    header[0] |= 0x0f
    header[1] = header[2] = header[3] = header[7] = 0xff
    return bytes(header), 40, 40 + struct.unpack_from("!H", ip, 4)[0], None


def _is_udp_to_roce(ip):
    version = ip[0] >> 4 if ip else 0
    if version == 4 and len(ip) >= 28:
        protocol, at = ip[9], (ip[0] & 15) * 4
    elif version == 6 and len(ip) >= 48:
        protocol, at = ip[6], 40
    else:
        return False
    return protocol == 17 and ip[at + 2:at + 4] == ROCE_PORT.to_bytes(2, "big")


EXTENDED = {  # operation -> bytes of extended headers (RC, UC); UD adds its DETH
    0x03: 4, 0x05: 4, 0x06: 16, 0x09: 4, 0x0a: 16, 0x0b: 20, 0x0c: 16, 0x0d: 4, 0x0f: 4, 0x10: 4,
    0x11: 4, 0x12: 12, 0x13: 28, 0x14: 28, 0x16: 4, 0x17: 4, 0x1c: 20, 0x1d: 16,
}


def _extended_length(opcode):
    if opcode == 0x81:
        return 16
    return EXTENDED.get(opcode & 0x1f, 0) + (8 if opcode >> 5 == 3 else 0)


def icrc(masked_ip, udp, transport):
    """Computes the ICRC: over eight bytes of ones, the masked headers, and the rest up to the ICRC."""
    crc = zlib.crc32(b"\xff" * 8 + masked_ip + udp[:6] + b"\xff\xff")
    crc = zlib.crc32(transport[:4] + b"\xff" + transport[5:], crc)
    return crc.to_bytes(4, "little")


def parse(ip, number):
    """Returns the Packet in the IP packet `ip`; raises CaptureError if its layers are inconsistent."""
    p = Packet()
    p.frame, p.version = number, ip[0] >> 4
    masked, at, total, p.ip_id = (_masked_ipv4 if p.version == 4 else _masked_ipv6)(ip)
    p.ip_len = total
    p.tos = ip[1] if p.version == 4 else (ip[0] & 15) << 4 | ip[1] >> 4
    p.src, p.dst = (ip[12:16], ip[16:20]) if p.version == 4 else (ip[8:24], ip[24:40])
    if total > len(ip):
        raise CaptureError(f"truncated: {total} bytes by the IP header, {len(ip)} there")
    udp = ip[at:at + 8]
    p.sport, _, udp_len, _ = struct.unpack("!HHHH", udp)
    if udp_len != total - at:
        raise CaptureError(f"UDP length {udp_len}, but {total - at} by the IP header")
    body = ip[at + 8:total]
    if len(body) < 16:
        raise CaptureError(f"{len(body)} bytes are too few for a BTH and an ICRC")
    p.icrc_found, p.transport = body[-4:], body[:-4]
    p.icrc_right = icrc(masked, udp, p.transport)
    _parse_transport(p)
    return p


def _parse_transport(p):
    transport = p.transport
    p.opcode, p.pad = transport[0], (transport[1] >> 4) & 3
    p.dest_qpn = int.from_bytes(transport[5:8], "big")
    p.psn = int.from_bytes(transport[9:12], "big")
    p.payload_len = len(transport) - 12 - _extended_length(p.opcode) - p.pad
    if p.payload_len < 0:
        raise CaptureError(f"opcode {p.opcode:#x} needs more than {len(transport)} bytes")


def parse_v1(grh, number):
    """Returns the Packet of a RoCE v1 frame, whose bytes from the GRH on are `grh` (annex A16)."""
    p = Packet()
    p.frame, p.version = number, 1
    if grh[0] >> 4 != 6 or grh[6] != 0x1b:
        raise CaptureError("no GRH before a BTH")
    masked, at, p.ip_len, p.ip_id = _masked_ipv6(grh)
    p.tos = (grh[0] & 15) << 4 | grh[1] >> 4
    p.src, p.dst, p.sport = grh[8:24], grh[24:40], 0
    body = grh[at:p.ip_len]
    if p.ip_len > len(grh) or len(body) < 16:
        raise CaptureError(f"{p.ip_len} bytes by the GRH, {len(grh)} there")
    p.icrc_found, p.transport = body[-4:], body[:-4]
    crc = zlib.crc32(b"\xff" * 8 + masked + p.transport[:4] + b"\xff" + p.transport[5:])
    p.icrc_right = crc.to_bytes(4, "little")
    _parse_transport(p)
    return p


def roce_v1_packets(path):
    """Yields a Packet, or a CaptureError (not raised), for each frame of Ethertype 0x8915."""
    for number, link, frame, original in frames(path):
        if link != LINK_ETHERNET or frame[12:14] != ROCE_V1_ETHERTYPE:
            continue
        try:
            yield parse_v1(frame[14:], number)
        except CaptureError as error:
            yield CaptureError(f"frame {number} ({original} bytes): {error}")


def roce_packets(path):
    """Yields a Packet, or a CaptureError (not raised), for each frame to UDP port 4791."""
    for number, link, frame, original in frames(path):
        ip = network_layer(link, frame)
        if ip is None or not _is_udp_to_roce(ip):
            continue
        try:
            yield parse(ip, number)
        except CaptureError as error:
            yield CaptureError(f"frame {number} ({original} bytes): {error}")
