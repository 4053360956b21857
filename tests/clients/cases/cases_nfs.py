# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""NFS over RDMA through `adverb gateway nfs` to a small server over TCP: clients of ours with each kind of chunk, and
hostile ones. ADVERB_GATEWAY names another program, such as one that is built with a sanitizer."""

import contextlib
import json
import os
import pathlib
import re
import signal
import socket
import struct
import time

from harness import Failure, Skip, case, daemons, name_and_state, process_name

PORT, SERVER_PORT, REVERSE_PORT = 20049, 12049, 12050
PROGRAMS = pathlib.Path(__file__).resolve().parents[1] / "programs"


def program(lab):
    path = os.environ.get("ADVERB_GATEWAY") or lab.build / "adverb-gateway"
    if not os.access(path, os.X_OK):
        raise Skip(f"{path} is not built")
    return path


def start_server(lab):
    server = lab.start(["python3", PROGRAMS / "nfs_server.py", SERVER_PORT], adverb=False)
    lab.wait_listening(server, SERVER_PORT)
    return server


def start_gateway(lab, *options, faults=""):
    """Starts the gateway, and returns it when it listens."""
    return lab.start_server([program(lab), "nfs", "--listen", f"127.0.0.1:{PORT}", "--to", f"127.0.0.1:{SERVER_PORT}",
                             *options], "NFS over RDMA at", env={"ADVERB_FAULT": faults} if faults else None)


def client(lab, *options):
    return [lab.client("nfs_client"), *options, "127.0.0.1", str(PORT)]


def end(gateway):
    """SIGTERM ends a gateway in order."""
    gateway.popen.terminate()
    gateway.expect(0, 30)


@case("nfs", "chunks")
def chunks(lab):
    """Calls with each kind of chunk, wrong ones, and calls at random."""
    start_server(lab)
    gateway = start_gateway(lab)
    print(lab.run(client(lab, "-n", "100")).strip())
    end(gateway)


def start_reverse(lab, *options):
    """Starts a gateway from TCP to the gateway that start_gateway() started."""
    return lab.start_server([program(lab), "nfs", "--reverse", "--listen", f"127.0.0.1:{REVERSE_PORT}", "--to",
                             f"127.0.0.1:{PORT}", *options], "NFS over TCP at")


GARBAGE = (b"", b"\x80", b"\x80\0\0\x28" + bytes(40), b"\x80\0\0\x28\0", b"\x7f\xff\xff\xff", b"\xff" * 100,
           b"\0\0\0\x08" + b"\xff" * 8, b"\x80\0\0\x08\0\0\0\1\0\0\0\1", bytes(4000))


def send_garbage():
    """Connects to the gateway of --reverse with records that are no calls, or not complete."""
    for data in GARBAGE:
        with socket.create_connection(("127.0.0.1", REVERSE_PORT), timeout=30) as connection:
            connection.sendall(data)


def start_tcp_client(lab, calls, seed=1):
    return lab.start(["python3", PROGRAMS / "nfs_tcp_client.py", REVERSE_PORT, calls, seed], adverb=False)


@case("nfs", "reverse")
def reverse(lab):
    """A client over TCP through both directions: each kind of call, calls at random, and the connection between the
    gateways is lost in the middle."""
    start_server(lab)
    gateway = start_gateway(lab)
    other = start_reverse(lab)
    send_garbage()
    busy = start_tcp_client(lab, 640)
    lab.wait_until(lambda: "random" in busy.output() or not busy.running(), 60, "the calls begin")
    gateway.kill()
    gateway = start_gateway(lab)
    busy.expect(0, 60)
    if "connected to 127.0.0.1 port 20049 again" not in other.output():
        raise Failure(f"the connection was not made again:\n{other.describe()}")
    end(other)
    end(gateway)


def read_counts(lab, control):
    """The counts of a gateway's server and of its only client."""
    stat = json.loads(lab.run([program(lab), "stat", "--control", control, "-o", "json"]))
    if len(stat["servers"]) != 1 or len(stat["clients"]) != 1 or stat["clients"][0]["client"] != "127.0.0.1":
        raise Failure(f"{stat}")
    return stat["servers"][0], stat["clients"][0]


@case("nfs", "stat")
def statistics(lab):
    """Calls, bytes, times and errors of two gateways in a row, which see the same: as JSON, also beside clients that
    request nothing, as rates, in top and as metrics."""
    start_server(lab)
    gateway = start_gateway(lab)
    if "adverb_gateway_client_calls_total{" in lab.run([lab.adverb, "exporter", "--once"]):
        raise Failure("a client that never connected")
    lab.run([program(lab), "stat"])
    other = start_reverse(lab, "--control", "back")
    start_tcp_client(lab, 100).expect(0, 60)
    silent = [socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET) for _ in range(12)]
    for s in silent:
        s.connect("\0adverb-gateway/back")
    rows = [*read_counts(lab, str(PORT)), *read_counts(lab, "back")]
    numbers = [[row[k] for k in ("calls", "errors", "call_bytes", "reply_bytes", "timed_calls")] for row in rows]
    if any(n != numbers[0] for n in numbers) or rows[0]["calls"] < 100 or rows[2]["server"] != f"127.0.0.1 port {PORT}":
        raise Failure(f"{rows}")
    if rows[0]["reply_bytes"] < 100 * 24 or not 0 < rows[0]["ns"] < rows[2]["ns"]:
        raise Failure(f"{rows}")
    busy = start_tcp_client(lab, 1000000)
    lab.wait_until(lambda: "random" in busy.output() or not busy.running(), 60, "the calls begin")

    def is_shown(*command):
        text = lab.run(command, env={"COLUMNS": "140"})
        shown = [line.split()[-5:-1] for line in text.splitlines() if "127.0.0.1" in line.split()]
        return len(shown) >= 2 and "0" not in sum(shown, [])

    lab.wait_until(lambda: is_shown(program(lab), "stat", "--control", "back"), 30, "rates")
    lab.wait_until(lambda: is_shown(lab.adverb, "top", "--nvme", "--once"), 30, "rates in top")
    text = lab.run([lab.adverb, "exporter", "--once"])
    for start in ('server_calls_total{gateway="back",server="127.0.0.1 port 20049"} ',
                  'client_bytes_total{gateway="20049",client="127.0.0.1",message="reply"} ',
                  'client_latency_seconds_total{gateway="back",client="127.0.0.1"} ',
                  'client_connections{gateway="back",client="127.0.0.1"} '):
        found = [line for line in text.splitlines() if line.startswith("adverb_gateway_" + start)]
        if len(found) != 1 or float(found[0].rsplit(" ", 1)[1]) <= 0:
            raise Failure(f"{start}: {found}")
    busy.kill()
    for options, wanted in (((), "2 gateways run"), (("--control", "x"), "no gateway with the control name")):
        if wanted not in lab.run([program(lab), "stat", *options], status=1):
            raise Failure(wanted)
    end(other)
    end(gateway)


@case("nfs", "reverse-timeout")
def reverse_timeout(lab):
    """Clients over TCP announce calls that take all memory, and stay silent: the gateway disconnects them. Another client
    waits, and stays connected."""
    start_server(lab)
    gateway = start_gateway(lab)
    other = start_reverse(lab, "--timeout", "6s", "--buffers", "8MiB")
    null = struct.pack(">11I", 1 << 31 | 40, 1, 0, 2, 100003, 3, 0, 0, 0, 0, 0)
    with contextlib.ExitStack() as stack:
        good, *silent = (stack.enter_context(socket.create_connection(("127.0.0.1", REVERSE_PORT), timeout=60))
                         for _ in range(5))

        def call():
            good.sendall(null)
            if len(good.recv(28, socket.MSG_WAITALL)) != 28:
                raise Failure("no reply")
        call()
        for connection in silent:
            connection.sendall(struct.pack(">I", 1 << 31 | (2 << 20) - 8192))
        call()
        for connection in silent:
            if connection.recv(1):
                raise Failure("a silent client gets a reply")
        call()
    if other.output().count("the client does not complete a message") != len(silent):
        raise Failure(f"the silent clients were not disconnected:\n{other.describe()}")
    end(other)
    end(gateway)


@case("nfs-long", "lossy", seconds=600)
def lossy(lab):
    """Clients one after the other with calls at random, and one packet in a thousand is lost."""
    start_server(lab)
    gateway = start_gateway(lab, faults="drop=0.1%")
    for seed in range(1, 6):
        print(lab.run(client(lab, "-n", "1000", "-s", str(seed)), seconds=300).strip())
    end(gateway)


def attacker(lab, act):
    return [lab.client("nfs_attacker"), act, "127.0.0.1", str(PORT)]


def status(process, field):
    """Returns a line of /proc/PID/status as a number."""
    text = pathlib.Path(f"/proc/{process.pid}/status").read_text()
    return int(next(line.split()[1] for line in text.splitlines() if line.startswith(field + ":")))


def processor_ticks(process):
    """Returns the processor time of a process in ticks of 10 ms."""
    words = pathlib.Path(f"/proc/{process.pid}/stat").read_text().rpartition(")")[2].split()
    return int(words[11]) + int(words[12])


@case("nfs", "hostile")
def hostile(lab):
    """Clients with wrong keys, floods, garbage and more connections than permitted: the gateway disconnects them, its
    memory stays bounded, and it serves the next client."""
    start_server(lab)
    gateway = start_gateway(lab, "--connections", "4", "--buffers", "8MiB")
    lab.run(client(lab, "-n", "0"))
    before = status(gateway, "VmHWM")
    for act in ("keys", "flood", "errors", "garbage", "duplicates", "swarm"):
        lab.run(attacker(lab, act))
    lab.run(client(lab, "-n", "20"))
    growth = status(gateway, "VmHWM") - before
    print(f"measured: memory grew by {growth} KiB")
    if growth > 64 << 10:
        raise Failure(f"the memory of the gateway grew by {growth} KiB")
    end(gateway)


@case("nfs", "greedy")
def greedy(lab):
    """A client always has more calls than there is memory for. Another one gets memory in its turn."""
    start_server(lab)
    gateway = start_gateway(lab, "--buffers", "8MiB")
    lab.run(attacker(lab, "greedy"))
    end(gateway)


@case("nfs", "timeout")
def timeout(lab):
    """The gateway disconnects a client that takes no replies, and one that sends nothing."""
    start_server(lab)
    gateway = start_gateway(lab, "--timeout", "100ms", "--buffers", "8MiB")
    clients = [lab.start(attacker(lab, act)) for act in ("deaf", "mute")]
    for one in clients:
        one.expect(0, 60)
    for reason in ("the client takes no data", "the client is idle"):
        if reason not in gateway.output():
            raise Failure(f"no message that {reason}:\n{gateway.describe()}")
    end(gateway)


@case("nfs-long", "slow-replies")
def slow_replies(lab):
    """A client takes each reply in time, but all of them slowly: the gateway disconnects it."""
    start_server(lab)
    gateway = start_gateway(lab, "--timeout", "3s")
    lab.run(attacker(lab, "drip"), seconds=90)
    if "the client takes data too slowly" not in gateway.output():
        raise Failure(f"the client was not disconnected for that:\n{gateway.describe()}")
    end(gateway)


@case("nfs-long", "memory-held")
def memory_held(lab):
    """A client that takes no replies holds all memory. Another one waits until the gateway disconnects the first."""
    start_server(lab)
    gateway = start_gateway(lab, "--timeout", "3s", "--buffers", "8MiB")
    deaf = lab.start(attacker(lab, "deaf"))
    lab.wait_until(lambda: "waiting" in deaf.output(), 30, "the client has sent its calls")
    lab.run(client(lab, "-n", "10"))
    deaf.expect(0, 60)
    end(gateway)


@case("nfs", "idle")
def idle(lab):
    """The gateway uses no processor time while its client is idle, with the server and after the server's end."""
    server = start_server(lab)
    gateway = start_gateway(lab)
    silent = lab.start(attacker(lab, "silent"))
    lab.wait_until(lambda: "waiting" in silent.output(), 30, "the client waits")
    for running in (True, False):
        if not running:
            server.kill()
        expect_idle(gateway)
    end(gateway)
    silent.expect(0, 60)


@case("nfs", "log")
def log(lab):
    """The gateway logs clients that connect, leave and are refused, with time, level and port."""
    start_server(lab)
    gateway = start_gateway(lab, "--connections", "1")
    silent = lab.start(attacker(lab, "silent"))
    lab.wait_until(lambda: "waiting" in silent.output(), 30, "the client waits")
    lab.start(attacker(lab, "silent")).wait(60)
    silent.kill()
    one = r"client 127\.0\.0\.1 port \d+"
    for wanted in (f"info: port {PORT}: {one} connected", f"warn: port {PORT}: {one}: connection refused: Too many users",
                   f"info: port {PORT}: {one} disconnected"):
        line = re.compile(rf"^\d{{4}}-\d\d-\d\d \d\d:\d\d:\d\d\.\d+ adverb-gateway\[\d+/\d+\] {wanted}$", re.M)
        lab.wait_until(lambda line=line: line.search(gateway.output()), 3, wanted)
    end(gateway)


@case("nfs", "end-while-connecting")
def end_while_connecting(lab):
    """A client connects while the gateway is about to end. It does not keep the gateway from its end."""
    start_server(lab)
    gateway = start_gateway(lab)
    gateway.popen.send_signal(signal.SIGSTOP)
    lab.wait_until(lambda: name_and_state(gateway.pid)[1] == "T", 30, "the gateway is stopped")
    gateway.popen.terminate()
    silent = lab.start(attacker(lab, "silent"))
    # Ids: one that listens, one of the client, and that of its request.
    lab.wait_until(lambda: " 3 ids" in lab.run([lab.adverb, "status"], adverb=False), 30, "the client connects")
    gateway.popen.send_signal(signal.SIGCONT)
    gateway.expect(0, 5)
    silent.wait(60)


def kill_daemon(lab, gateways, names):
    """Kills the processes of adverbd that have these names. Returns when each gateway has said that it goes on."""
    def said(gateway):
        return len(re.findall(": (?:listening|RDMA connections can be made) again$", gateway.output(), re.M))
    victims = [pid for pid in daemons() if process_name(pid) in names]
    if len(victims) != len(names):
        raise Failure(f"{len(victims)} processes of {names}")
    before = {gateway: said(gateway) for gateway in gateways}
    for pid in victims:
        os.kill(pid, signal.SIGKILL)
    for gateway, count in before.items():
        lab.wait_until(lambda g=gateway, n=count: said(g) > n or not g.running(), 30, "the gateway goes on")


def expect_idle(gateway):
    before = processor_ticks(gateway)
    time.sleep(0.4)
    used = processor_ticks(gateway) - before
    print(f"measured: {used} ticks")
    if used > 3:
        raise Failure(f"an idle gateway used {used * 10} ms of 400 ms:\n{gateway.describe()}")


def survive_daemon(lab, port, gateways, use):
    """The daemon's worker dies, and then worker and keeper. Each time the gateways have a client, and use() has to
    succeed afterwards."""
    for names in (("adverbd",), ("adverbd", "adverbd-keeper")):
        count = gateways[0].output().count("connected\n")
        with socket.create_connection(("127.0.0.1", port), timeout=60):
            lab.wait_until(lambda n=count: gateways[0].output().count("connected\n") > n, 30, "they are connected")
            kill_daemon(lab, gateways, names)
        use()
        for gateway in gateways:
            expect_idle(gateway)


@case("nfs", "daemon-killed", seconds=180)
def daemon_killed(lab):
    """The daemon dies: the gateways listen again, and serve clients in both directions."""
    start_server(lab)
    gateway = start_gateway(lab)
    other = start_reverse(lab)

    def use():
        lab.run(client(lab, "-n", "20"))
        start_tcp_client(lab, 40).expect(0, 60)
    survive_daemon(lab, REVERSE_PORT, (gateway, other), use)
    end(other)
    end(gateway)
