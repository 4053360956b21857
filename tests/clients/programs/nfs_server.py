#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""A small NFS server over TCP for tests: one file in memory, by the procedures of version 3 with data.

  nfs_server.py PORT

Procedures: NULL, GETATTR, READLINK, READ, WRITE. The file handle "file" is the file; "link" and a number name a
symbolic link whose text has this length. The procedure LOSE is not of NFS: the server closes the connection when it
receives such a call for the first time, and replies to the second one. Neither is LATER: its reply goes before that
to the next call of the connection. For BACK, the server calls the client back, and replies when that has replied.
"""

import socketserver
import struct
import sys
import threading

SIZE = 4 << 20
NULL, GETATTR, READLINK, READ, WRITE, LOSE, LATER, BACK = 0, 1, 5, 6, 7, 1000, 1001, 1002
CALLED_BACK = b"called back."
ACCEPTED_UNAVAILABLE, ACCEPTED_GARBAGE = 3, 4
STALE = 70

contents = bytearray(SIZE)
lost = set()
guard = threading.Lock()


def opaque(data):
    return struct.pack(">I", len(data)) + data + bytes(-len(data) % 4)


class Arguments:
    """The rest of a call, read as XDR."""

    def __init__(self, data):
        self.data, self.at = data, 0

    def word(self, form="I"):
        value, = struct.unpack_from(">" + form, self.data, self.at)
        self.at += struct.calcsize(form)
        return value

    def opaque(self):
        length = self.word()
        start = self.at
        if start + length > len(self.data):
            raise struct.error("the call is too short")
        self.at += (length + 3) & ~3
        return self.data[start:start + length]


def read_link(arguments):
    handle = arguments.opaque()
    if not handle.startswith(b"link"):
        return struct.pack(">II", STALE, 0)
    return struct.pack(">II", 0, 0) + opaque(b"p" * int(handle[4:]))


def read(arguments):
    handle, offset, count = arguments.opaque(), arguments.word("Q"), arguments.word()
    if handle != b"file":
        return struct.pack(">II", STALE, 0)
    data = contents[offset:offset + count]
    return struct.pack(">IIII", 0, 0, len(data), offset + count >= SIZE) + opaque(data)


def write(arguments):
    handle, offset, count, _ = arguments.opaque(), arguments.word("Q"), arguments.word(), arguments.word()
    data = arguments.opaque()
    if handle != b"file" or len(data) != count or offset + count > SIZE:
        return struct.pack(">III", STALE, 0, 0)
    contents[offset:offset + count] = data
    return struct.pack(">IIIII8x", 0, 0, 0, count, 2)


def get_attributes(arguments):
    return struct.pack(">I", 0 if arguments.opaque() == b"file" else STALE) + bytes(84)


def nothing(arguments):
    return b""


HANDLERS = {NULL: nothing, LOSE: nothing, LATER: nothing, BACK: nothing, GETATTR: get_attributes, READLINK: read_link, READ: read,
            WRITE: write}


def answer(call):
    """Returns the reply to a call; None: the connection is to be closed."""
    arguments = Arguments(call)
    xid, _, _, _, _, procedure = (arguments.word() for _ in range(6))
    for _ in range(2):  # credentials and verifier
        arguments.word()
        arguments.opaque()
    status, results = 0, b""
    with guard:
        if procedure == LOSE and xid not in lost:
            lost.add(xid)
            return None
        try:
            results = HANDLERS[procedure](arguments)
        except KeyError:
            status = ACCEPTED_UNAVAILABLE
        except (struct.error, ValueError):
            status = ACCEPTED_GARBAGE
    return struct.pack(">IIIIII", xid, 1, 0, 0, 0, status) + results


def record(message):
    return struct.pack(">I", 1 << 31 | len(message)) + message


class Connection(socketserver.StreamRequestHandler):
    def handle(self):
        kept, back = b"", {}
        while True:
            call, last = b"", False
            while not last:
                head = self.rfile.read(4)
                if len(head) < 4:
                    return
                length, = struct.unpack(">I", head)
                last = bool(length & 1 << 31)
                call += self.rfile.read(length & ~(1 << 31))
            xid, is_reply = struct.unpack_from(">2I", call)
            if is_reply:
                if call[24:] != CALLED_BACK:
                    return
                call = back.pop(xid)
            elif struct.unpack_from(">6I", call)[5] == BACK:
                back[xid] = call
                self.wfile.write(record(struct.pack(">10I", xid, 0, 2, 1 << 30, 1, 1, 0, 0, 0, 0) + CALLED_BACK))
                continue
            reply = answer(call)
            if reply is None:
                return
            reply = kept + record(reply)
            later = struct.unpack_from(">6I", call)[5] == LATER
            kept = reply if later else b""
            if not later:
                self.wfile.write(reply)


class Server(socketserver.ThreadingTCPServer):
    allow_reuse_address = daemon_threads = True
    request_queue_size = 64


if __name__ == "__main__":
    with Server(("127.0.0.1", int(sys.argv[1])), Connection) as server:
        server.serve_forever()
