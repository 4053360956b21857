#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""An NFS client over TCP for tests: writes and reads the file of nfs_server.py at random, with several calls at the
same time, and compares all data with its own copy.

  nfs_tcp_client.py PORT CALLS SEED

Exit status: 0 on success; 1 if something was wrong.
"""

import random
import socket
import struct
import sys

from nfs_server import BACK, GETATTR, LOSE, NULL, READ, READLINK, SIZE, WRITE, Arguments, opaque, record

AT_ONCE = 8
PART = SIZE // AT_ONCE  # calls at the same time do not overlap
SUCCESS, UNAVAILABLE = 0, 3
PATIENCE = 60


class Wrong(Exception):
    """A reply is not what it should be."""


class Client:
    def __init__(self, port, seed):
        self.dice = random.Random(seed)
        self.socket = socket.create_connection(("127.0.0.1", port), timeout=PATIENCE)
        self.stream = self.socket.makefile("rb")
        self.xid = 0
        self.waiting = {}
        self.copy = bytearray(SIZE)

    def send(self, procedure, arguments, check, fragments=1):
        """Sends a call. `check` gets the status and the results of its reply."""
        self.xid += 1
        call = struct.pack(">10I", self.xid, 0, 2, 100003, 3, procedure, 0, 0, 0, 0) + arguments
        self.waiting[self.xid] = check
        cuts = [len(call) * i // fragments for i in range(fragments + 1)]
        for start, end in zip(cuts, cuts[1:]):
            last = 1 << 31 if end == len(call) else 0
            self.socket.sendall(struct.pack(">I", last | end - start) + call[start:end])

    def receive(self):
        """Receives the replies to all calls."""
        while self.waiting:
            head = self.stream.read(4)
            if len(head) < 4:
                raise Wrong("the connection has ended")
            reply = self.stream.read(struct.unpack(">I", head)[0] & ~(1 << 31))
            xid, kind, accepted, _, _, status = struct.unpack_from(">6I", reply)
            if kind == 0:  # the server calls back
                self.socket.sendall(record(struct.pack(">6I", xid, 1, 0, 0, 0, 0) + reply[40:]))
                continue
            if (kind, accepted) != (1, 0) or xid not in self.waiting:
                raise Wrong(f"a reply with xid {xid}")
            self.waiting.pop(xid)(status, Arguments(reply[24:]))

    def write(self, offset, data, **how):
        def check(status, results):
            answer = status, results.word(), results.word("Q"), results.word()
            if answer != (SUCCESS, 0, 0, len(data)):
                raise Wrong(f"WRITE of {len(data)} bytes: {answer}")
        self.copy[offset:offset + len(data)] = data
        self.send(WRITE, opaque(b"file") + struct.pack(">QII", offset, len(data), 2) + opaque(data), check, **how)

    def read(self, offset, count):
        wanted = self.copy[offset:offset + count]

        def check(status, results):
            answer = status, results.word(), results.word(), results.word(), results.word()
            data = results.opaque()
            if answer != (SUCCESS, 0, 0, len(wanted), offset + count >= SIZE) or data != wanted:
                raise Wrong(f"READ of {count} bytes at {offset}: {answer}, {len(data)} bytes")
        self.send(READ, opaque(b"file") + struct.pack(">QI", offset, count), check)

    def expect(self, procedure, arguments, wanted, status=SUCCESS, **how):
        """A call whose results are known."""
        def check(found, results):
            if (found, results.data) != (status, wanted):
                raise Wrong(f"procedure {procedure}: status {found}, {len(results.data)} bytes")
        self.send(procedure, arguments, check, **how)

    def each_kind(self):
        self.expect(NULL, b"", b"")
        self.expect(NULL, bytes(5000), b"")  # longer than a SEND, without data that may move alone
        self.expect(GETATTR, opaque(b"file"), struct.pack(">I", 0) + bytes(84))
        self.expect(READLINK, opaque(b"link100"), struct.pack(">II", 0, 0) + opaque(b"p" * 100))
        self.expect(READLINK, opaque(b"link4001"), struct.pack(">II", 0, 0) + opaque(b"p" * 4001))
        self.expect(77, bytes(40), b"", status=UNAVAILABLE)
        self.expect(READ, opaque(b"none") + struct.pack(">QI", 0, 8192), struct.pack(">II", 70, 0))
        self.expect(LOSE, b"", b"")
        self.receive()
        for _ in range(5):
            self.expect(BACK, b"", b"")
        self.receive()
        for length in (0, 1, 3, 777, 4096, 65537, 1 << 20):
            self.write(0, self.dice.randbytes(length), fragments=1 + length % 3)
            self.receive()
            self.read(0, length)
            self.receive()
        self.read(SIZE - 10, 4096)  # beyond the end
        self.write(SIZE - 10, self.dice.randbytes(10))

    def at_random(self):
        """One call in each part of the file."""
        for part in range(AT_ONCE):
            length = self.dice.randrange(self.dice.choice((800, 20000, PART)))
            offset = part * PART + self.dice.randrange(PART - length)
            if self.dice.random() < 0.5:
                self.write(offset, self.dice.randbytes(length))
            else:
                self.read(offset, length)
        self.receive()


def main():
    port, calls, seed = map(int, sys.argv[1:])
    client = Client(port, seed)
    for part in range(AT_ONCE):
        client.write(part * PART, client.dice.randbytes(PART))
    client.receive()
    client.each_kind()
    client.receive()
    print("random", flush=True)
    for _ in range(0, calls, AT_ONCE):
        client.at_random()
    print(f"ok: {client.xid} calls")


if __name__ == "__main__":
    try:
        main()
    except (Wrong, OSError) as error:
        sys.exit(f"nfs_tcp_client: {error}")
