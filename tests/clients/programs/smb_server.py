#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""A small SMB2 server over TCP for tests: one file in memory, and no sessions.

  smb_server.py PORT

Commands: NEGOTIATE, READ, WRITE, ECHO (the response has the bytes of the request), and two that are not of SMB: 100
closes the connection, and after 101 the server does not read from it any more. Messages that are not plain are sent back.
READ of a file position with bit 62 is first answered with STATUS_PENDING. A request that still has an RDMA channel is
answered with STATUS_UNSUCCESSFUL.
"""

import socketserver
import struct
import sys
import threading
import time

SIZE = 4 << 20
NEGOTIATE, READ, WRITE, ECHO, LOSE, STALL = 0, 8, 9, 13, 100, 101
RESPONSE, ASYNC = 1, 2
SUCCESS, PENDING, UNSUCCESSFUL, INVALID, END_OF_FILE = 0, 0x103, 0xc0000001, 0xc000000d, 0xc0000011
LATER = 1 << 62
HEADER, IO = 64, 48

contents = bytearray(SIZE)
guard = threading.Lock()


class Lose(Exception):
    """The client wants to lose the connection."""


def header(request, status, flags=0):
    return request[:8] + struct.pack("<I", status) + request[12:16] + struct.pack(
        "<II", struct.unpack_from("<I", request, 16)[0] | RESPONSE | flags, 0) + request[24:64]


def read(body, offset, length):
    if offset >= SIZE:
        return END_OF_FILE, bytes(9)
    with guard:
        data = bytes(contents[offset:offset + length])
    return SUCCESS, struct.pack("<HBBIII", 17, 80, 0, len(data), 0, 0) + data


def write(request, body, offset, length):
    start = struct.unpack_from("<H", body, 2)[0]
    if start != HEADER + IO or start + length > len(request) or offset + length > SIZE:
        return INVALID, bytes(9)
    with guard:
        contents[offset:offset + length] = request[start:start + length]
    return SUCCESS, struct.pack("<HHIIHH", 17, 0, length, 0, 0, 0)


def io(command, request, body):
    if len(body) < IO or struct.unpack_from("<H", body)[0] != 49:
        return INVALID, bytes(9)
    length, offset = struct.unpack_from("<IQ", body, 4)
    channel, _, info_offset, info_length = struct.unpack_from("<IIHH", body, 36 if command == READ else 32)
    if channel or info_offset or info_length:
        return UNSUCCESSFUL, bytes(9)
    if command == READ:
        return read(body, offset & ~LATER, length)
    return write(request, body, offset, length)


def respond(request, send):
    """Returns the response of one request."""
    command = struct.unpack_from("<H", request, 12)[0]
    body = request[HEADER:]
    if command == LOSE:
        raise Lose
    if command == STALL:
        time.sleep(600)
        raise Lose
    if command == NEGOTIATE:
        return header(request, SUCCESS) + struct.pack("<HHH", 65, 0, 0x0311) + bytes(58)
    if command == ECHO:
        return header(request, SUCCESS) + body
    if command not in (READ, WRITE):
        return header(request, INVALID) + bytes(9)
    if command == READ and len(body) >= IO and struct.unpack_from("<Q", body, 8)[0] & LATER:
        send(header(request, PENDING, ASYNC) + struct.pack("<HBBI", 9, 0, 0, 0) + b"!")
    status, rest = io(command, request, body)
    return header(request, status) + rest


def answer(message, send):
    """Answers a message, which may be compound."""
    if message[:4] != b"\xfeSMB":
        send(message)
        return
    parts, at = [], 0
    while True:
        after = struct.unpack_from("<I", message, at + 20)[0]
        parts.append(respond(message[at:at + after] if after else message[at:], send))
        if not after:
            break
        at += after
    whole = b""
    for number, part in enumerate(parts):
        if number + 1 < len(parts):
            part += bytes(-len(part) % 8)
            part = part[:20] + struct.pack("<I", len(part)) + part[24:]
        whole += part
    send(whole)


class Connection(socketserver.StreamRequestHandler):
    """A connection, until its end or LOSE."""

    def send(self, message):
        self.wfile.write(struct.pack(">I", len(message)) + message)

    def handle(self):
        while True:
            head = self.rfile.read(4)
            if len(head) < 4:
                return
            length = struct.unpack(">I", head)[0]
            message = self.rfile.read(length)
            try:
                answer(message, self.send)
            except (Lose, struct.error):
                return


class Server(socketserver.ThreadingTCPServer):
    """One thread a connection."""

    allow_reuse_address = True
    daemon_threads = True


if __name__ == "__main__":
    Server(("127.0.0.1", int(sys.argv[1])), Connection).serve_forever()
