# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""An attacker on the TCP connections of a real server: a bare socket, which sends what no iWARP adapter sends."""

import contextlib
import os
import select
import socket
import struct

import mpa
from cases_cm import LINES, demand
from cases_iwarp import IWARP, is_listening
from harness import SLOWER, Failure, case, daemons, process_name

PORT = 7174
END_EVENT = "RDMA_CM_EVENT_DISCONNECTED"
STAYING, FLOOD = 24, 1 << 20
HONEST, HALF_OPEN = 40, 160
WRITE, READ_REQUEST, READ_RESPONSE, SEND, TERMINATE = 0, 1, 2, 3, 7
UNTAGGED_LEN = 18
RDMAP, DDP = 0, 1  # layers of a Terminate; then its type and its code (RFC 5040 section 4.8)
PROTECTION, OPERATION = 1, 2
TAGGED, UNTAGGED = 1, 2
READY = mpa.PEER_TO_PEER | mpa.RTR_WRITE


def tagged(opcode, stag, offset, payload=b"", versions=(1, 1)):
    return struct.pack(">BBIQ", 0xc0 | versions[0], versions[1] << 6 | opcode, stag, offset) + payload


def untagged(opcode, payload=b"", queue=0, msn=1, offset=0):
    return struct.pack(">BBIIII", 0x41, 0x40 | opcode, 0, queue, msn, offset) + payload


def read_request(length, stag, queue=1):
    return untagged(READ_REQUEST, struct.pack(">IQIIQ", 0, 0, length, stag, 0), queue)


def fpdu(segment):
    body = struct.pack(">H", len(segment)) + segment
    return body + bytes(-len(body) % 4 + 4)  # the CRC is not used, and 0


# What the attacker sends, and the Terminate that answers it.
ATTACKS = {
    "WRITE to an STag that does not exist": (tagged(WRITE, 0x12345678, 0, bytes(100)), (DDP, TAGGED, 0)),
    "WRITE at the end of the addresses": (tagged(WRITE, 0, 2**64 - 1, bytes(100)), (DDP, TAGGED, 0)),
    "WRITE of another version": (tagged(WRITE, 0, 0, bytes(100), (2, 1)), (DDP, TAGGED, 4)),
    "READ of an STag that does not exist": (read_request(1 << 31, 0x12345678), (RDMAP, PROTECTION, 0)),
    "READ request on the queue of SENDs": (read_request(10, 0, queue=0), (DDP, UNTAGGED, 1)),
    "response to no READ": (tagged(READ_RESPONSE, 1, 0, bytes(100)), (DDP, TAGGED, 0)),
    "SEND that is longer than its receive request": (untagged(SEND, bytes(60000)), (DDP, UNTAGGED, 5)),
    "SEND on a queue that does not exist": (untagged(SEND, bytes(16), queue=2**32 - 1), (DDP, UNTAGGED, 1)),
    "SEND of a later number": (untagged(SEND, bytes(16), msn=2), (DDP, UNTAGGED, 3)),
    "SEND of number 0": (untagged(SEND, bytes(16), msn=0), (DDP, UNTAGGED, 3)),
    "SEND that begins in the middle": (untagged(SEND, bytes(16), offset=2**32 - 8), (DDP, UNTAGGED, 4)),
    "opcode that does not exist": (untagged(15, bytes(16)), (RDMAP, OPERATION, 6)),
}
# Bytes that are no segment; the peer ends the connection.
GARBAGE = {
    "segment without a header": fpdu(b"\xc1\x40"),
    "segment of length 0": fpdu(b"") * 3 + fpdu(b"\x41"),
    "text": b"GET / HTTP/1.1\r\n\r\n" * 100,
    "half a segment": struct.pack(">H", 65535) + untagged(SEND),
}


def connect():
    """Returns a connected socket that has had the server's reply, and has sent the ready-to-receive message."""
    sock = socket.create_connection(("127.0.0.1", PORT))
    sock.settimeout(30 * SLOWER)
    sock.send(mpa.frame(mpa.REQUEST_KEY, reads=READY | 4 << 16 | 4))
    reply = mpa.receive(sock, mpa.REPLY_KEY)
    if reply.flags & (mpa.CRC | mpa.MARKERS | mpa.REJECT):
        raise Failure(f"flags of the reply: {reply.flags:#x}")
    sock.send(fpdu(tagged(WRITE, 0, 0)))
    return sock


def rest_of(sock):
    data = b""
    while more := sock.recv(4096):
        data += more
    return data


def expect_terminate(sock, expected):
    data = rest_of(sock)
    if len(data) < 2 + UNTAGGED_LEN + 4 or data[3] & 0xf != TERMINATE:
        raise Failure(f"no Terminate: {data.hex()}")
    control, code = data[2 + UNTAGGED_LEN:][:2]
    if (control >> 4, control & 0xf, code) != expected:
        raise Failure(f"Terminate {(control >> 4, control & 0xf, code)}, not {expected}")


def descriptors_of_worker():
    pid, = (pid for pid in daemons() if process_name(pid) == "adverbd")
    return len(os.listdir(f"/proc/{pid}/fd"))


@case("iwarp", "attack-stays")
def attack_stays(lab):
    """A program that waits for events only gets DISCONNECTED of refused connections, and adverbd closes them, whether
    the peer keeps its end, sends on, or ends the connection behind bytes that nobody wants."""
    server = lab.start([lab.client("acceptor"), str(PORT)], env=IWARP)
    lab.wait_until(lambda: is_listening(lab, PORT), 30, "a listener")
    connect().close()  # with its first queue pair, the program opens the device
    lab.wait_until(lambda: server.output().count(END_EVENT) == 1, 60, "the end of a connection")
    before = descriptors_of_worker()
    with contextlib.ExitStack() as stack:
        for number in range(STAYING):
            peer = stack.enter_context(connect())
            peer.send(fpdu(untagged(15, bytes(16))))
            peer.settimeout(1)
            with contextlib.suppress(OSError):
                if number % 3:
                    peer.sendall(bytes(FLOOD))
            if number % 3 == 2:
                peer.shutdown(socket.SHUT_WR)
        lab.wait_until(lambda: server.output().count(END_EVENT) == 1 + STAYING, 60,
                       "an event for each refused connection")
        lab.wait_until(lambda: descriptors_of_worker() == before, 60, f"{before} descriptors of adverbd")
    server.kill()


@case("iwarp", "attack-half-open")
def attack_half_open(lab):
    """Connections without a request do not keep others away from a listener, also not those of the same address."""
    server = lab.start([lab.client("acceptor"), str(PORT)], env=IWARP)
    lab.wait_until(lambda: is_listening(lab, PORT), 30, "a listener")
    with contextlib.ExitStack() as stack:
        silent = []
        for _ in range(HONEST):
            while len(silent) < HALF_OPEN:
                silent.append(stack.enter_context(socket.create_connection(("127.0.0.1", PORT), 30)))
            connect().close()
            for sock in select.select(silent, [], [], 0)[0]:
                silent.remove(sock)
                sock.close()
    lab.wait_until(lambda: server.output().count("RDMA_CM_EVENT_ESTABLISHED") == HONEST, 30, "all connections")
    server.kill()
    print(f"measured: {HONEST} connections beside {HALF_OPEN} without a request")


@case("iwarp", "attack")
def attack(lab):
    """Each connection ends with its reason, and the server goes on to serve others."""
    server = lab.start(["rping", "-s", "-P", "-a", "127.0.0.1"], prefix=LINES, env=IWARP)
    lab.wait_until(lambda: is_listening(lab, PORT), 30, "a listener")
    for what, (segment, expected) in ATTACKS.items():
        for piece in (len(segment) + 8, 7):
            try:
                with connect() as sock:
                    data = fpdu(segment)
                    for at in range(0, min(len(data), 40 * piece), piece):
                        sock.send(data[at:at + piece])
                    sock.send(data[40 * piece:])
                    expect_terminate(sock, expected)
            except (Failure, OSError) as failure:
                raise Failure(f"{what}, in pieces of {piece}: {failure}\n{server.describe()}") from None
    for garbage in GARBAGE.values():
        with connect() as sock:
            sock.send(garbage)
            sock.shutdown(socket.SHUT_WR)
            rest_of(sock)
    out = lab.run(["rping", "-c", "-a", "127.0.0.1", "-C", "5", "-v", "-V"], env=IWARP)
    demand(out, r"^ping data: rdma-ping-\d+: [A-z]", 5)
    if not server.running():
        raise Failure(f"the server has ended:\n{server.describe()}")
    server.kill()
    print(f"measured: {len(ATTACKS)} attacks, in two kinds of pieces; {len(GARBAGE)} kinds of garbage")
