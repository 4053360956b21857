#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""A client over TCP of smb_server.py, through a gateway.

  smb_tcp_client.py PORT OPERATIONS SEED

Sends messages of many lengths, then writes and reads at random, several requests at a time, and compares all data with
its own copy of the file. Exit status: 0 on success, 1 if something was wrong.
"""

import random
import socket
import struct
import sys

SIZE, MOST, AT_ONCE = 4 << 20, 1 << 20, 4
NEGOTIATE, READ, WRITE, ECHO = 0, 8, 9, 13


class Client:
    """A connection, and the requests that wait for responses."""

    def __init__(self, port):
        self.socket = socket.create_connection(("127.0.0.1", port), timeout=60)
        self.file = self.socket.makefile("rb")
        self.message_id = 0

    def send(self, message):
        self.socket.sendall(struct.pack(">I", len(message)) + message)

    def receive(self):
        head = self.file.read(4)
        if len(head) < 4:
            sys.exit("the connection has ended")
        return self.file.read(struct.unpack(">I", head)[0])

    def header(self, command):
        self.message_id += 1
        return b"\xfeSMB\x40" + bytes(7) + struct.pack("<H", command) + bytes(10) + struct.pack("<Q", self.message_id) + bytes(32)

    def request(self, command, body):
        """Sends a request; returns its message id."""
        self.send(self.header(command) + body)
        return self.message_id

    def responses(self, count):
        """Returns {message id: (status, the whole response)}."""
        found = {}
        while len(found) < count:
            message = self.receive()
            status, = struct.unpack_from("<I", message, 8)
            if status != 0x103:
                found[struct.unpack_from("<Q", message, 24)[0]] = status, message
        return found


def io(length, offset, data_offset):
    return struct.pack("<HHIQ", 49, data_offset, length, offset) + bytes(32)


def check(condition, what):
    if not condition:
        sys.exit(f"wrong: {what}")


def test_lengths(client, dice):
    for length in (64, 65, 1000, 4072, 4073, 100000, 1 << 20, 8 << 20):
        body = dice.randbytes(length - 64)
        number = client.request(ECHO, body)
        status, message = client.responses(1)[number]
        check(status == 0 and message[64:] == body, f"a message of {length} bytes")
    encrypted = b"\xfdSMB" + dice.randbytes(50000)
    client.send(encrypted)
    check(client.receive() == encrypted, "an encrypted message")


def write(client, dice, copy, offset, length):
    data = dice.randbytes(length)
    copy[offset:offset + length] = data
    number = client.request(WRITE, io(length, offset, 112) + data)
    status, message = client.responses(1)[number]
    check(status == 0 and struct.unpack_from("<I", message, 68)[0] == length, f"a write of {length} bytes: {status:#x}")


def read(client, dice, copy, later=0):
    """Several reads at the same time."""
    wanted = {}
    for _ in range(AT_ONCE):
        length = dice.randrange(1, dice.choice((5000, MOST)))
        offset = dice.randrange(SIZE - length)
        wanted[client.request(READ, io(length, offset | later, 0) + b"\0")] = offset, length
    for number, (status, message) in client.responses(AT_ONCE).items():
        offset, length = wanted[number]
        start, size, remaining = message[66], *struct.unpack_from("<II", message, 68)
        check(status == 0 and start == 80 and size == length and remaining == 0, f"a read of {length} bytes: {status:#x}")
        check(message[80:] == copy[offset:offset + length], f"data of {length} bytes at {offset}")


def main():
    client, operations, dice = Client(int(sys.argv[1])), int(sys.argv[2]), random.Random(int(sys.argv[3]))
    copy = bytearray(SIZE)
    client.request(NEGOTIATE, bytes(36))
    check(client.responses(1)[1][0] == 0, "negotiation")
    test_lengths(client, dice)
    write(client, dice, copy, 0, SIZE)  # longer than an RDMA transfer of the gateway
    number = client.request(READ, io(SIZE, 0, 0) + b"\0")
    check(client.responses(1)[number][1][80:] == copy, "a read of the whole file")
    for start in range(0, SIZE, MOST):
        write(client, dice, copy, start, MOST)
    read(client, dice, copy, later=1 << 62)
    number = client.request(READ, io(50000, SIZE, 0) + b"\0")
    check(client.responses(1)[number][0] == 0xc0000011, "a read behind the end of the file")
    number = client.request(READ, io(50000, SIZE - 10, 0) + b"\0")
    check(client.responses(1)[number][1][80:] == copy[-10:], "a read to the end of the file")
    for _ in range(operations):
        if dice.random() < 0.4:
            length = dice.randrange(1, dice.choice((5000, MOST)))
            write(client, dice, copy, dice.randrange(SIZE - length), length)
        else:
            read(client, dice, copy)
    print(f"{operations} operations at random")


main()
