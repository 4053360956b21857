# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""Start-up frames of MPA (RFC 5044, 6581) for a peer that is a bare TCP socket."""

import contextlib
import struct

REQUEST_KEY, REPLY_KEY = b"MPA ID Req Frame", b"MPA ID Rep Frame"
MARKERS, CRC, REJECT, ENHANCED = 0x80, 0x40, 0x20, 0x10
PEER_TO_PEER, RTR_EMPTY, RTR_WRITE, RTR_READ = 0x80000000, 0x40000000, 0x8000, 0x4000


def frame(key, flags=ENHANCED, revision=2, reads=2 << 16 | 3, private=b"", length=None):
    """reads: IRD and ORD with their flags, as one number."""
    data = (struct.pack(">I", reads) if flags & ENHANCED and revision > 1 else b"") + private
    return key + struct.pack(">BBH", flags, revision, len(data) if length is None else length) + data


class Frame:
    def __init__(self, data, key):
        assert data[:16] == key, data
        self.flags, self.revision, length = struct.unpack(">BBH", data[16:20])
        assert len(data) == 20 + length, data
        self.reads, self.private = 0, data[20:]
        if self.flags & ENHANCED:
            self.reads, = struct.unpack(">I", data[20:24])
            self.private = data[24:]


def receive(sock, key):
    data = b""
    while len(data) < 20 or len(data) < 20 + int.from_bytes(data[18:20], "big"):
        more = sock.recv(1 if len(data) < 20 else 20 + int.from_bytes(data[18:20], "big") - len(data))
        assert more, f"ended after {data}"
        data += more
    return Frame(data, key)


def expect_end(sock):
    """The peer ends the connection in order or resets it, and sends nothing before."""
    with contextlib.suppress(ConnectionResetError):
        assert sock.recv(1) == b""
