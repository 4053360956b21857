# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""MPA's framing of captured streams, read with code that is not Adverb's.

Wireshark assumes markers in both directions if either end asked for them, and one FPDU in each TCP segment if there are
markers. So it reads only streams without markers.
"""

import subprocess

FRAME = 20
SPACING = 512
MARKER = 4


class WrongStream(Exception):
    pass


def _table():
    table = []
    for byte in range(256):
        for _ in range(8):
            byte = byte >> 1 ^ (0x82f63b78 if byte & 1 else 0)
        table.append(byte)
    return table


TABLE = _table()


def crc32c(data):
    """RFC 3720, B.4; as MPA's trailer has it."""
    crc = 0xffffffff
    for byte in data:
        crc = TABLE[(crc ^ byte) & 0xff] ^ crc >> 8
    return (crc ^ 0xffffffff).to_bytes(4, "little")


class Stream:
    """One direction of a TCP connection: its start-up frame, and the bytes behind it."""

    def __init__(self, data):
        self.start = data[:FRAME]
        flags, _, length = self.start[16], self.start[17], int.from_bytes(self.start[18:20], "big")
        self.asks_markers, self.asks_crc, self.rejects = bool(flags & 0x80), bool(flags & 0x40), bool(flags & 0x20)
        self.body = data[FRAME + length:]

    def fpdus(self, crc, markers):
        """Returns the number of FPDUs and of markers. Raises WrongStream at the first wrong byte."""
        at = count = seen = 0
        while at < len(self.body):
            start = at + MARKER if markers and at % SPACING == 0 else at
            summed = bytearray()

            def take(length):
                nonlocal at, seen
                taken = bytearray()
                while len(taken) < length:
                    if markers and at % SPACING == 0:
                        marker = self.body[at:at + MARKER]
                        if marker != (at - start if at > start else 0).to_bytes(MARKER, "big"):
                            raise WrongStream(f"marker {bytes(marker).hex()} at {at}, in the FPDU at {start}")
                        summed.extend(marker)
                        at += MARKER
                        seen += 1
                    end = min(at + length - len(taken), len(self.body),
                              at + SPACING - at % SPACING if markers else len(self.body))
                    if end == at:
                        raise WrongStream(f"the stream ends in the FPDU at {start}")
                    taken += self.body[at:end]
                    summed.extend(self.body[at:end])
                    at = end
                return taken

            length = int.from_bytes(take(2), "big")
            take(length)
            if any(take(-(2 + length) % 4)):
                raise WrongStream(f"padding that is not zero in the FPDU at {start}")
            trailer = take(4)
            wanted = crc32c(summed[:-4]) if crc else bytes(4)
            if trailer != wanted:
                raise WrongStream(f"CRC {trailer.hex()}, should be {wanted.hex()}, in the FPDU at {start}")
            count += 1
        return count, seen


def streams(tshark, path, port):
    """Returns the connections to a port in their order: each a Stream from the client and one from the server."""
    text = subprocess.run([tshark, "-n", "-r", path, "-Y", "tcp.len > 0", "-T", "fields", "-e", "tcp.stream", "-e",
                           "tcp.srcport", "-e", "tcp.seq", "-e", "tcp.payload", "-o", "tcp.try_heuristic_first:FALSE"],
                          check=True, capture_output=True, text=True, timeout=100).stdout
    found = {}
    for line in text.splitlines():
        number, source, seq, payload = line.split("\t")
        one = found.setdefault(int(number), ({}, {}))[int(source) == port]
        one[int(seq)] = bytes.fromhex(payload.replace(":", ""))  # a retransmission replaces the original
    return [tuple(Stream(b"".join(one[seq] for seq in sorted(one))) for one in found[number])
            for number in sorted(found)]
