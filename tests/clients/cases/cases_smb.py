# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""SMB Direct through `adverb gateway smb` to a small server over TCP: a client of ours with each kind of message, and
hostile ones. ADVERB_GATEWAY names another program, such as one that is built with a sanitizer."""

import contextlib
import os
import pathlib
import socket
import struct

from cases_nfs import expect_idle, read_counts, status, survive_daemon
from harness import Failure, Skip, case

PORT, SERVER_PORT, REVERSE_PORT = 445, 4450, 4451
PROGRAMS = pathlib.Path(__file__).resolve().parents[1] / "programs"


def program(lab):
    path = os.environ.get("ADVERB_GATEWAY") or lab.build / "adverb-gateway"
    if not os.access(path, os.X_OK):
        raise Skip(f"{path} is not built")
    return path


def start_server(lab):
    server = lab.start(["python3", PROGRAMS / "smb_server.py", SERVER_PORT], adverb=False)
    lab.wait_listening(server, SERVER_PORT)
    return server


def start_gateway(lab, *options, faults=""):
    """Starts the gateway, and returns it when it listens."""
    return lab.start_server([program(lab), "smb", "--listen", f"127.0.0.1:{PORT}", "--to", f"127.0.0.1:{SERVER_PORT}",
                             *options], "SMB over RDMA at", env={"ADVERB_FAULT": faults} if faults else None)


def client(lab, *options):
    return [lab.client("smb_client"), *options, "127.0.0.1", str(PORT)]


def end(gateway):
    """SIGTERM ends a gateway in order."""
    gateway.popen.terminate()
    gateway.expect(0, 30)


@case("smb", "messages")
def messages(lab):
    """Each kind of message, wrong ones, and reads and writes at random."""
    start_server(lab)
    gateway = start_gateway(lab)
    print(lab.run(client(lab, "-n", "100")).strip())
    end(gateway)


def start_reverse(lab, *options):
    """Starts a gateway from TCP to the gateway that start_gateway() started."""
    return lab.start_server([program(lab), "smb", "--reverse", "--listen", f"127.0.0.1:{REVERSE_PORT}", "--to",
                             f"127.0.0.1:{PORT}", *options], "SMB over TCP at")


def tcp_client(operations, seed=1):
    return ["python3", PROGRAMS / "smb_tcp_client.py", REVERSE_PORT, operations, seed]


def counters(lab):
    lines = [line.split() for line in lab.run([lab.adverb, "stat"], adverb=False).splitlines()]
    return {words[0]: int(words[1]) for words in lines if len(words) == 2 and words[1].isdigit()}


GARBAGE = (b"", b"\0", b"\0\0\0\x28" + bytes(40), b"\0\0\0\x28\0", b"\x85\0\0\0", b"\0\xff\xff\xff", b"\xff" * 100,
           b"\0\0\0\0", b"\0\0\0\x70\xfeSMB" + b"\xff" * 108)


@case("smb", "reverse")
def reverse(lab):
    """A client over TCP through both directions: messages of many lengths, and reads and writes at random. Then records
    that are no messages, and the end of the connection between the gateways, which ends the client's."""
    start_server(lab)
    gateway = start_gateway(lab)
    other = start_reverse(lab)
    print(lab.run(tcp_client(60), adverb=False).strip())
    counts = counters(lab)
    for name in ("rx_read_requests", "rx_write_requests"):
        if counts[name] < 10:
            raise Failure(f"{name} {counts[name]}: the data of large requests did not move by RDMA")
    (_, near), (_, far) = (read_counts(lab, str(port)) for port in (REVERSE_PORT, PORT))
    if near["calls"] < 60 or any(near[k] != far[k] for k in ("calls", "errors", "timed_calls", "reply_bytes")) or \
            not 60 <= near["timed_calls"] < near["calls"] or near["call_bytes"] < near["calls"] * 64 or \
            far["ns"] > near["ns"]:
        raise Failure(f"{near} {far}")
    for data in GARBAGE:
        with socket.create_connection(("127.0.0.1", REVERSE_PORT), timeout=30) as connection:
            connection.sendall(data)
    with socket.create_connection(("127.0.0.1", REVERSE_PORT), timeout=30) as connection:
        lab.wait_until(lambda: other.output().count("connected\n") > len(GARBAGE), 30, "the gateway has connected")
        gateway.popen.terminate()
        if connection.recv(1):
            raise Failure("the connection of the client did not end")
    gateway.expect(0, 30)
    end(other)


NEGOTIATE, READ, WRITE, ECHO = 0, 8, 9, 13


def as_record(command, body):
    """Returns a request, whose message id is 0."""
    message = b"\xfeSMB\x40" + bytes(7) + bytes([command]) + bytes(51) + body
    return len(message).to_bytes(4, "big") + message


def receive(connection, length):
    """Returns a response of so many bytes."""
    response = connection.recv(4 + length, socket.MSG_WAITALL)[4:]
    if len(response) != length:
        raise Failure("no response")
    return response


def request(connection, command, body, response):
    """Sends a request, and awaits a response of so many bytes."""
    connection.sendall(as_record(command, body))
    receive(connection, response)


def echo(connection):
    request(connection, ECHO, b"", 64)


@case("smb", "reverse-least")
def reverse_least(lab):
    """A WRITE that may be a fragment of RPC gets no RDMA channel, a longer one does."""
    start_server(lab)
    gateway = start_gateway(lab)
    other = start_reverse(lab)
    with socket.create_connection(("127.0.0.1", REVERSE_PORT), timeout=30) as connection:
        request(connection, NEGOTIATE, bytes(36), 128)
        for length, reads in ((4280, 0), (8191, 0), (8192, 1)):
            before = counters(lab)["rx_read_requests"]
            request(connection, WRITE, struct.pack("<HHIQ", 49, 112, length, 0) + bytes(32 + length), 80)
            seen = counters(lab)["rx_read_requests"] - before
            if seen != reads:
                raise Failure(f"a WRITE of {length} bytes: {seen} RDMA READs, not {reads}")
    end(other)
    end(gateway)


@case("smb", "reverse-duplicates")
def reverse_duplicates(lab):
    """Two requests at the same time have one message id. The response to one does not bring the memory of the other."""
    length = 20000
    start_server(lab)
    gateway = start_gateway(lab)
    other = start_reverse(lab)
    with socket.create_connection(("127.0.0.1", REVERSE_PORT), timeout=30) as connection:
        request(connection, NEGOTIATE, bytes(36), 128)
        for place in (1, 2):
            request(connection, WRITE, struct.pack("<HHIQ", 49, 112, length, place * length) + bytes(32) +
                    bytes([place]) * length, 80)
        reads = [as_record(READ, struct.pack("<HHIQ", 49, 0, length, place * length) + bytes(33)) for place in (1, 2)]
        connection.sendall(b"".join(reads))
        found = [receive(connection, 80 + length)[80:] for _ in reads]
        if sorted(found) != [bytes([place]) * length for place in (1, 2)]:
            raise Failure("wrong data")
    end(other)
    end(gateway)


@case("smb", "reverse-timeout")
def reverse_timeout(lab):
    """Clients over TCP announce messages that take all memory, and stay silent: the gateway disconnects them. Another
    client waits, and stays connected."""
    start_server(lab)
    gateway = start_gateway(lab, "--buffers", "16MiB")
    other = start_reverse(lab, "--timeout", "6s", "--buffers", "16MiB")
    with contextlib.ExitStack() as stack:
        good, *silent = (stack.enter_context(socket.create_connection(("127.0.0.1", REVERSE_PORT), timeout=60))
                         for _ in range(3))
        echo(good)
        for connection in silent:
            connection.sendall(b"\0\x7f\xf0\0")
        echo(good)
        for connection in silent:
            if connection.recv(1):
                raise Failure("a silent client gets a response")
        echo(good)
    if other.output().count("it does not complete a message") != len(silent):
        raise Failure(f"the silent clients were not disconnected:\n{other.describe()}")
    end(other)
    end(gateway)


@case("smb-long", "lossy", seconds=600)
def lossy(lab):
    """Clients one after the other with reads and writes at random, and one packet in a thousand is lost."""
    start_server(lab)
    gateway = start_gateway(lab, faults="drop=0.1%")
    for seed in range(1, 6):
        print(lab.run(client(lab, "-n", "1000", "-s", str(seed)), seconds=300).strip())
    end(gateway)


def attacker(lab, act):
    return [lab.client("smb_attacker"), act, "127.0.0.1", str(PORT)]


@case("smb", "hostile")
def hostile(lab):
    """Clients with wrong messages, keys and credits, floods, garbage and more connections than permitted: the gateway
    disconnects them, its memory stays bounded, and it serves the next client."""
    start_server(lab)
    gateway = start_gateway(lab, "--connections", "4", "--buffers", "16MiB", "--timeout", "10s")
    lab.run(client(lab, "-n", "0"))
    before = status(gateway, "VmHWM")
    for act in ("transfers", "negotiations", "credits", "keys", "duplicates", "garbage", "flood", "swarm"):
        lab.run(attacker(lab, act))
    lab.run(client(lab, "-n", "20"))
    growth = status(gateway, "VmHWM") - before
    print(f"measured: memory grew by {growth} KiB")
    if growth > 64 << 10:
        raise Failure(f"the memory of the gateway grew by {growth} KiB")
    end(gateway)


@case("smb", "tiny")
def tiny(lab):
    """A client floods the gateway with messages of a byte while the server does not read. What goes with a message counts
    as well: of 16 MiB for messages, the client can use little more."""
    start_server(lab)
    gateway = start_gateway(lab, "--buffers", "16MiB")
    lab.run(client(lab, "-n", "0"))
    before = status(gateway, "VmHWM")
    print("measured:", lab.run(attacker(lab, "tiny")).strip())
    growth = status(gateway, "VmHWM") - before
    print(f"measured: memory grew by {growth} KiB")
    if growth > 24 << 10:
        raise Failure(f"the memory of the gateway grew by {growth} KiB")
    lab.run(client(lab, "-n", "20"))
    end(gateway)


@case("smb", "timeout")
def timeout(lab):
    """The gateway disconnects clients that take no responses, do not complete a message, do not negotiate, or do not
    respond."""
    start_server(lab)
    gateway = start_gateway(lab, "--timeout", "1s", "--buffers", "16MiB")
    clients = [lab.start(attacker(lab, act)) for act in ("deaf", "endless", "mute", "silent")]
    for one in clients:
        one.expect(0, 60)
    for reason in ("it takes no messages", "it does not complete a message", "it did not negotiate in time",
                   "it does not respond"):
        if reason not in gateway.output():
            raise Failure(f"no message that {reason}:\n{gateway.describe()}")
    end(gateway)


@case("smb", "slow-memory")
def slow_memory(lab):
    """A client lets its memory be read, but slowly. The gateway disconnects it, and so gets back the memory for that
    data."""
    start_server(lab)
    gateway = start_gateway(lab, "--timeout", "2s", "--buffers", "16MiB")
    lab.run(attacker(lab, "slow"), env={"ADVERB_FAULT": "delay=300ms tx op=read-response"})
    if "its memory cannot be read in time" not in gateway.output():
        raise Failure(f"the client was not disconnected for that:\n{gateway.describe()}")
    lab.run(client(lab, "-n", "10"))
    end(gateway)


@case("smb-long", "slow-responses")
def slow_responses(lab):
    """A client takes each response in time, but all of them slowly: the gateway disconnects it."""
    start_server(lab)
    gateway = start_gateway(lab, "--timeout", "3s")
    lab.run(attacker(lab, "drip"), seconds=90)
    if "it takes messages slowly" not in gateway.output():
        raise Failure(f"the client was not disconnected for that:\n{gateway.describe()}")
    end(gateway)


@case("smb-long", "memory-held")
def memory_held(lab):
    """Clients that complete no message hold all memory for messages. Another one waits until the gateway disconnects
    them."""
    start_server(lab)
    gateway = start_gateway(lab, "--timeout", "3s", "--buffers", "16MiB")
    others = [lab.start(attacker(lab, "endless")) for _ in range(9)]
    for other in others:
        lab.wait_until(lambda one=other: "waiting" in one.output(), 30, "the client has sent its fragment")
    lab.run(client(lab, "-n", "10"))
    for other in others:
        other.expect(0, 60)
    end(gateway)


@case("smb", "idle")
def idle(lab):
    """The gateway uses no processor time while its client is idle."""
    start_server(lab)
    gateway = start_gateway(lab)
    quiet = lab.start(attacker(lab, "endless"))
    lab.wait_until(lambda: "waiting" in quiet.output(), 30, "the client waits")
    expect_idle(gateway)
    quiet.kill()
    end(gateway)


@case("smb", "daemon-killed", seconds=180)
def daemon_killed(lab):
    """The daemon dies: the gateways listen again, and serve clients in both directions."""
    start_server(lab)
    gateway = start_gateway(lab)
    other = start_reverse(lab)

    def use():
        lab.run(client(lab, "-n", "20"))
        lab.run(tcp_client(10), adverb=False)
    survive_daemon(lab, REVERSE_PORT, (gateway, other), use)
    end(other)
    end(gateway)
