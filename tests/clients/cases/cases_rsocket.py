# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""rsockets: rdma-core's programs for them, and a TCP program carried by its librspreload."""

import filecmp
import os
import pathlib
import re
import shlex

import cases_netns
from harness import SERVER, Failure, Skip, case, need_tool

PRELOAD = "/usr/lib/x86_64-linux-gnu/rsocket/librspreload.so"
UDPONG_PORT = 7174

# name, program with its options, address the server binds, address the client connects to
STREAMS = [
    ("rstream-nonblocking", "rstream -S 1000 -C 200 -I 2 -T v", None, "127.0.0.1"),
    ("rstream-blocking", "rstream -S 100000 -C 50 -I 2 -T v -T b", None, "127.0.0.1"),
    ("rstream-async", "rstream -S 100000 -C 50 -I 2 -T v -T a", None, "127.0.0.1"),
    ("rstream-async-blocking", "rstream -S 5000 -C 50 -I 2 -T v -T a -T b", None, "127.0.0.1"),
    ("rstream-resolve", "rstream -S 64 -C 100 -I 2 -T v -T r", None, "127.0.0.1"),
    ("rstream-bind", "rstream -S 64 -C 100 -I 2 -T v -p 9000", "127.0.0.1", "127.0.0.1"),
    ("rstream-sockets", "rstream -S 10000 -C 10 -I 2 -T v -T s", None, "127.0.0.1"),
    ("rstream-fork", "rstream -S 10000 -C 10 -I 2 -T v -T f", None, "127.0.0.1"),
    ("rstream-keepalive", "rstream -S 3000001 -C 4 -I 2 -T v -T b -k 1", None, "127.0.0.1"),
    ("rstream-small-buffers", "rstream -S 300001 -C 4 -I 2 -B 4000 -T v -T b", None, "127.0.0.1"),
    ("rstream-no-inline", "rstream -S 48 -C 2000 -I 2 -i 0 -T v -T b", None, "127.0.0.1"),
    ("rstream-latency", "rstream -S 64 -C 1 -I 1000 -T v -T b", None, "127.0.0.1"),
    ("rstream-ipv6", "rstream -S 100000 -C 50 -I 2 -T v", "::1", "::1"),
    ("riostream-nonblocking", "riostream -S 1000 -C 20 -I 2 -T v", None, "127.0.0.1"),
    ("riostream-blocking", "riostream -S 100000 -C 20 -I 2 -T v -T b", None, "127.0.0.1"),
    ("riostream-async", "riostream -S 100000 -C 20 -I 2 -T v -T a", None, "127.0.0.1"),
    ("riostream-latency", "riostream -S 64 -C 1 -I 500", None, "127.0.0.1"),
]

# name, options of both ends, address
DATAGRAMS = [
    ("udpong-nonblocking", "-S 1000 -C 500", "127.0.0.1"),
    ("udpong-async", "-S 1500 -C 500 -T a", "127.0.0.1"),
    ("udpong-blocking", "-S 64 -C 500 -T b", "127.0.0.1"),
    ("udpong-echo", "-S 1000 -C 500 -T b -T e", "127.0.0.1"),
    ("udpong-small-buffers", "-S 100 -C 100 -B 4000 -T b -T e", "127.0.0.1"),
    ("udpong-sockets", "-S 1000 -C 500 -T s -T b", "127.0.0.1"),
    ("udpong-ipv6", "-S 1000 -C 500 -T b -T e", "::1"),
]


def line_of_result(text, what):
    """Returns the program's line of results, which shows that it finished."""
    line = re.search(r"^custom +\S+ +.*$", text, re.M)
    if not line:
        raise Failure(f"{what}: no result:\n{text}")
    return line.group(0)


def stream_pair(lab, command, bound, address, **prefixes):
    """Runs rstream or riostream at both ends."""
    base = ["stdbuf", "-oL", *shlex.split(command)]
    server = lab.start_server([*base, *(["-b", bound] if bound else [])], "usec/xfer",
                              prefix=prefixes.get("server_prefix", ()))
    client = lab.start([*base, "-s", address], prefix=prefixes.get("client_prefix", ()))
    # a forked child of the server ends it with the parent's status
    line_of_result(client.expect(0, 60), "client")
    line_of_result(server.expect(0, 60), "server")


def udp_bound(process, port):
    tables = [pathlib.Path(f"/proc/{process.pid}/net/{name}") for name in ("udp", "udp6")]
    try:
        return any(f":{port:04X} " in table.read_text() for table in tables)
    except OSError:  # the process has ended
        return False


def datagram_pair(lab, options, address, **prefixes):
    base = ["stdbuf", "-oL", "udpong", *shlex.split(options)]
    server = lab.start([*base, "-b", address], prefix=prefixes.get("server_prefix", ()), side=SERVER)
    lab.wait_until(lambda: udp_bound(server, UDPONG_PORT) or not server.running(), 30,
                   "the server is bound")
    client = lab.start([*base, "-s", address], prefix=prefixes.get("client_prefix", ()))
    line_of_result(client.expect(0, 60), "client")
    own = lab.apart.address(address, own=True) if lab.apart else address
    login = f"client login from {prefixes.get('client_address', own)}"
    if login not in server.output():
        raise Failure(f"not '{login}':\n{server.describe()}")
    if not server.running():
        raise Failure(f"the server has ended:\n{server.describe()}")
    server.kill()


def register_stream(name, command, bound, address):
    @case("rsocket", name)
    def run(lab):
        need_tool(command.split()[0])
        stream_pair(lab, command, bound, address)


def register_datagram(name, options, address):
    @case("rsocket", name)
    def run(lab):
        need_tool("udpong")
        datagram_pair(lab, options, address)


@case("rsocket", "rcopy")
def rcopy(lab):
    need_tool("rcopy")
    source, target = lab.dir / "source", lab.dir / "target"
    source.write_bytes(os.urandom(20_000_001))
    server = lab.start_server(["rcopy"], "waiting")
    for _ in range(2):
        lab.run(["rcopy", source, f"127.0.0.1:{target}"])
        if not filecmp.cmp(source, target, shallow=False):
            raise Failure("the copy differs")
        target.unlink()
    server.kill()


@case("rsocket", "two-hosts")
def two_hosts(lab):
    """Ethernet MTU 1500: an active MTU of 1024, so that longer datagrams travel by UDP."""
    need_tool("udpong")
    there = cases_netns.two_hosts(lab, 1500)
    for here_address, there_address, _ in cases_netns.ADDRESSES.values():
        command = "rstream -S 100000 -C 50 -I 2 -T v -T b"
        stream_pair(lab, f"{command} -p 9001", there_address, there_address, server_prefix=there)
        stream_pair(lab, "riostream -S 20000 -C 50 -I 2 -T v", there_address, there_address,
                    server_prefix=there)
        for size in (500, 1500):
            datagram_pair(lab, f"-S {size} -C 200 -T b -T e", there_address, server_prefix=there,
                          client_address=here_address)
    # both ends are bound, to the same port
    base = ["stdbuf", "-oL", "rstream", "-S", "1000", "-C", "20", "-I", "2", "-T", "v", "-p", "9002"]
    server = lab.start_server([*base, "-b", cases_netns.ADDRESSES["4"][1]], "usec/xfer", prefix=there)
    lab.run([*base, "-b", cases_netns.ADDRESSES["4"][0], "-s", cases_netns.ADDRESSES["4"][1]])
    server.expect(0, 30)


@case("rsocket", "refused")
def refused(lab):
    need_tool("rstream")
    text = lab.run(["rstream", "-S", "64", "-T", "b", "-p", "9003", "-s", "127.0.0.1"], status=255)
    if "rconnect: Connection refused" not in text:
        raise Failure(f"not refused:\n{text}")


def run_iperf3(lab, options, address, env=None):
    """Runs iperf3 with librspreload at both ends; returns the client's result."""
    need_tool("iperf3")
    if not os.access(PRELOAD, os.R_OK):
        raise Skip(f"no {PRELOAD}")
    base = ["env", f"LD_PRELOAD={PRELOAD}", *[f"{k}={v}" for k, v in (env or {}).items()],
            "iperf3", "--forceflush"]
    server = lab.start_server([*base, "-s", "-1"], "listening")
    text = lab.run([*base, "-c", address, "-f", "M", *options])
    server.expect(0, 30)
    return text


def iperf3(lab, options, address="127.0.0.1", env=None):
    text = run_iperf3(lab, ["-n", "50M", *options], address, env)
    # The server does not read data that is in flight when the client reports its end. The client may send a block more.
    if not any(float(amount) >= 45 for amount in re.findall(r"([\d.]+) MBytes .* receiver", text)):
        raise Failure(f"not all has arrived:\n{text}")


def tcp_segments():
    """Returns the number of TCP segments that this network namespace has sent."""
    lines = [line.split() for line in pathlib.Path("/proc/net/snmp").read_text().splitlines()
             if line.startswith("Tcp:")]
    return int(lines[1][lines[0].index("OutSegs")])


@case("rsocket", "preload-iperf3")
def preload(lab):
    before = tcp_segments()
    for options in ([], ["-R"], ["-P", "3"], ["-w", "1M", "-l", "1M"]):
        iperf3(lab, options)
    iperf3(lab, [], address="::1")
    if tcp_segments() != before:
        raise Failure("TCP has carried some of it")


@case("rsocket", "preload-iperf3-udp")
def preload_udp(lab):
    """Datagrams, which may be lost; the server has one socket for IPv4 and IPv6."""
    text = run_iperf3(lab, ["-u", "-b", "10M", "-l", "1400", "-n", "1M"], "127.0.0.1")
    result = re.search(r" (\d+)/(\d+) \(.*receiver", text)
    if not result or int(result.group(2)) < 700 or int(result.group(1)) > 400:
        raise Failure(f"too few have arrived:\n{text}")


@case("rsocket", "preload-iperf3-fork")
def preload_fork(lab):
    """librspreload for programs that fork: it begins with TCP and migrates at the first read or write of
    each end. A server that waits in select() before its first read waits for ever, because the
    client, which writes, has migrated."""
    version = re.search(r"^iperf (\d+)\.(\d+)", lab.run(["iperf3", "--version"], adverb=False), re.M)
    if version and (int(version[1]), int(version[2])) > (3, 12):
        raise Skip("this iperf3 waits before its first read, which librspreload cannot serve")
    iperf3(lab, [], env={"RDMAV_FORK_SAFE": "1"})
    if tcp_segments() > 1000:
        raise Failure("TCP has carried the data")


for row in STREAMS:
    register_stream(*row)
for row in DATAGRAMS:
    register_datagram(*row)
