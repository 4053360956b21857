# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""Programs of librdmacm, and programs that connect by it, on one host and between two."""

import re

import cases_netns
import harness
import reports
from harness import CHECKED, SERVER, Failure, case, need_tool

LINES = ["stdbuf", "-oL"]  # line-buffered: output reaches the log at once
HERE, THERE = 0, 1
# perftest's message if it connects before its server listens again.
TOO_EARLY = re.compile(r"RDMA_CM_EVENT_(REJECTED; error: (8|-111)|UNREACHABLE; error: 1)\b")


def wait_listens(lab, server, prefix=()):
    """Waits until a server listens, by the connection manager of a namespace, or has ended."""
    def listens():
        ids = lab.start([lab.adverb, "res", "cm_id"], adverb=False, prefix=prefix)
        ids.wait(30)
        rows = [line.split() for line in ids.output().splitlines()]
        # Ids of a server that has just ended may still be there. Under `adverb check` the server is a child.
        return not server.running() or any(row[2:3] == ["LISTEN"] and (CHECKED or str(server.pid) in row) for row in rows)
    lab.wait_until(listens, 30, "the server listens")


def cm_pair(lab, server, client, seconds=60, server_ends=True, server_prefix=(), client_prefix=()):
    """Runs both ends, which must succeed; returns their outputs. server_ends: False: the server does not
    exit and is stopped; None: either."""
    one = lab.start([*LINES, *server], prefix=server_prefix, side=SERVER)
    wait_listens(lab, one, prefix=server_prefix or lab.server_prefix())
    two = lab.start([*LINES, *client], prefix=client_prefix)
    try:
        client_out = two.expect(0, seconds)
        if server_ends:
            return one.expect(0, 30), client_out
        if server_ends is False and not one.running():
            raise Failure("the server has ended")
    except Failure as failure:
        one.kill()
        two.kill()
        raise Failure(f"{failure}\nserver was:\n{one.describe()}\nclient was:\n"
                      f"{two.describe()}") from None
    one.kill()
    return one.output(), client_out


def demand(text, pattern, count):
    found = len(re.findall(pattern, text, re.M))
    if found != count:
        raise Failure(f"{found} times '{pattern}', not {count}:\n{text}")


# ---- within one host ----

@case("cm", "rping")
def rping(lab):
    for address in ("127.0.0.1", "::1"):
        server, client = cm_pair(lab, ["rping", "-s", "-a", address, "-v", "-C", "20"],
                                 ["rping", "-c", "-a", address, "-v", "-V", "-C", "20"])
        demand(server, r"^server ping data: rdma-ping-\d+: [A-z]", 20)
        demand(client, r"^ping data: rdma-ping-\d+: [A-z]", 20)


@case("cm", "rping-persistent")
def rping_persistent(lab):
    """One server, eight clients. (The server drops a request that arrives while it handles the last one.)"""
    server = lab.start([*LINES, "rping", "-s", "-P", "-a", "0.0.0.0", "-v"], side=SERVER)
    wait_listens(lab, server, prefix=lab.server_prefix())
    clients = []
    for i in range(8):
        clients.append(lab.start(["rping", "-c", "-a", "127.0.0.1", "-V", "-C", "50"]))
        lab.wait_until(lambda: server.output().count("rdma-ping-0:") > i, 30,  # noqa: B023
                       f"the first ping of client {i}")
    for client in clients:
        client.expect(0, 60)
    lab.wait_until(lambda: len(re.findall("^server ping data", server.output(), re.M)) == 400, 10,
                   "400 pings at the server")
    if not server.running():
        raise Failure(f"the server has ended:\n{server.describe()}")


@case("cm", "ucmatose")
def ucmatose(lab):
    for options in (["-c", "30"], ["-c", "10", "-m"], ["-t", "16", "-C", "40", "-S", "4000"],
                    ["-P", "ib"], ["-a", "16"]):
        server, client = cm_pair(lab, ["ucmatose", *options],
                                 ["ucmatose", *options, "-s", "127.0.0.1"])
        for text in (server, client):
            demand(text, r"^data transfers complete$", 1)
            demand(text, r"^return status 0$", 1)
    cm_pair(lab, ["ucmatose", "-b", "::1"], ["ucmatose", "-s", "::1", "-b", "::1"])


@case("cm", "udaddy")
def udaddy(lab):
    for options, address in (([], "127.0.0.1"), (["-c", "10", "-C", "40", "-S", "900"], "127.0.0.1"),
                             ([], "::1")):
        server, client = cm_pair(lab, ["udaddy", "-b", address, *options],
                                 ["udaddy", "-s", address, *options])
        for text in (server, client):
            demand(text, r"^data transfers complete$", 1)
            demand(text, r"^return status 0$", 1)


@case("cm", "endpoints")
def endpoints(lab):
    """rdma_client and rdma_server: rdma_create_ep(), rdma_get_request(), <rdma/rdma_verbs.h>."""
    server, client = cm_pair(lab, ["rdma_server"], ["rdma_client", "-s", "127.0.0.1"])
    demand(server, r"^rdma_server: end 0$", 1)
    demand(client, r"^rdma_client: end 0$", 1)


@case("cm", "endpoints-xrc")
def endpoints_xrc(lab):
    """rdma_xclient and rdma_xserver: inline data, an SRQ's number in private data, XRC QPs."""
    for kind in ("r", "x"):
        server, client = cm_pair(lab, ["rdma_xserver", "-c", kind],
                                 ["rdma_xclient", "-c", kind, "-s", "127.0.0.1"])
        demand(server, r"^rdma_xserver: end 0$", 1)
        demand(client, r"^rdma_xclient: end 0$", 1)


# ---- perftest ----

def perftest_pair(lab, command, host, server_prefix=(), client_prefix=()):
    """Runs a pair of perftest. Its server listens again after the first connection. A client that
    connects before crashes; then both are started again."""
    for _ in range(8):
        server = lab.start([*LINES, *command], prefix=server_prefix, side=SERVER)
        wait_listens(lab, server, prefix=server_prefix or lab.server_prefix())
        client = lab.start([*LINES, *command, host], prefix=client_prefix)
        lab.wait_until(lambda: not client.running() or TOO_EARLY.search(client.output()), 60,
                       f"the end of\n{client.describe()}\n{server.describe()}")
        if not TOO_EARLY.search(client.output()):
            break
        client.kill()
        server.kill()
    try:
        text = client.expect(0, 1)
        server.expect(0, 30)
    except Failure as failure:
        server.kill()
        raise Failure(f"{failure}\nserver was:\n{server.describe()}") from None
    return text


PERFTEST = {
    "send-bw": ["ib_send_bw"], "send-lat": ["ib_send_lat"], "write-bw": ["ib_write_bw"],
    "write-lat": ["ib_write_lat"], "read-bw": ["ib_read_bw"], "read-lat": ["ib_read_lat"],
    "atomic-bw": ["ib_atomic_bw"], "atomic-lat": ["ib_atomic_lat"],
    "ud-bw": ["ib_send_bw", "-c", "UD"], "ud-lat": ["ib_send_lat", "-c", "UD"],
    "16-qps": ["ib_write_bw", "-q", "16"], "events": ["ib_send_bw", "-e"],
    "both-ways": ["ib_send_bw", "-b"], "srq": ["ib_send_bw", "-q", "4", "-r", "64"],
    "tos": ["ib_write_bw", "-T", "96"],
}


def register_perftest(name, command):
    @case("cm-perftest", name)
    def run(lab):
        text = perftest_pair(lab, [*command, "-R", "-F", "-n", "200"], "127.0.0.1")
        # A row may end in '-nan': perftest computes the root of a value that rounding made negative.
        rows = re.findall(r"^\s*\d+\s+(\d+)\s+[\d.]+\s+[\d.]+", text, re.M)
        if len(rows) != 1 or int(rows[0]) == 0:
            raise Failure(f"not one row of results:\n{text}")


for one_name, one_command in PERFTEST.items():
    register_perftest(one_name, one_command)


# ---- two hosts ----

def register_netns(family):
    address = cases_netns.ADDRESSES[family][THERE]
    own = cases_netns.ADDRESSES[family][HERE]

    @case("cm-netns", f"programs-ipv{family}", seconds=180)
    def programs(lab):
        there = cases_netns.two_hosts(lab, 1500)
        server, client = cm_pair(lab, ["rping", "-s", "-a", address, "-v", "-C", "10"],
                                 ["rping", "-c", "-a", address, "-v", "-V", "-C", "10"],
                                 server_prefix=there)
        demand(server, r"^server ping data: rdma-ping-\d+: [A-z]", 10)
        demand(client, r"^ping data: rdma-ping-\d+: [A-z]", 10)
        for program in ("ucmatose", "udaddy"):
            size = ["-S", "1000", "-C", "20", "-c", "10"]
            both = cm_pair(lab, [program, "-b", address, *size],
                           [program, "-s", address, "-b", own, *size], server_prefix=there)
            for text in both:
                demand(text, r"^return status 0$", 1)
        cm_pair(lab, ["rdma_server", "-s", address], ["rdma_client", "-s", address],
                server_prefix=there)

    @case("cm-netns", f"multicast-ipv{family}")
    def multicast(lab):
        there = cases_netns.two_hosts(lab, 1500)
        group = {"4": "239.9.9.9", "6": "ff15::99"}[family]
        base = ["-m", group, "-C", "20", "-S", "500"]
        for option in ([], ["-o"]):
            receiver = lab.start(["mckey", *base, "-b", address], prefix=[*there, *LINES])
            lab.wait_until(lambda: "joined dgid" in receiver.output(), 30, "mckey has joined")
            sender = lab.run(["mckey", "-s", *option, *base, "-b", own])
            demand(sender, r"^test complete$", 1)
            text = receiver.expect(0, 30)
            demand(text, r"^data transfers complete$", 1)


@case("cm", "ipv6-multicast-on-loopback")
def ipv6_multicast_on_loopback(lab):
    """Works with the route that README.md gives; the datagrams are dropped without the word "local" in it."""
    [route] = re.findall(r"`(ip -6 route add [^`]*ff00::/8[^`]*)`", (harness.HERE.parent.parent / "README.md").read_text())
    lab.system(route)
    base = ["-m", "ff12::77", "-b", "::1", "-C", "20"]
    receiver = lab.start(["mckey", *base], prefix=LINES)
    lab.wait_until(lambda: "joined dgid" in receiver.output(), 30, "mckey has joined")
    demand(lab.run(["mckey", "-s", *base]), r"^test complete$", 1)
    demand(receiver.expect(0, 30), r"^data transfers complete$", 1)


@case("cm-netns", "cmtime")
def cmtime(lab):
    """Newer versions also connect without queue pairs, with equal QP numbers at both ends. On one host
    these are stale connections (IBTA 12.9.8.3.1), so the ends are on two hosts."""
    there = cases_netns.two_hosts(lab, 1500)
    own, address = cases_netns.ADDRESSES["4"][HERE], cases_netns.ADDRESSES["4"][THERE]
    for connections in ("100", "1000"):
        _, client = cm_pair(lab, ["cmtime", "-b", address, "-c", connections],
                            ["cmtime", "-c", connections, "-b", own, "-s", address],
                            server_ends=None, server_prefix=there)
        rows = dict(re.findall(r"^(?:cm )?(connect|disconnect|destroy)(?: id)?(?:\s*:)?\s+([\d.]+)",
                               client, re.M))
        if set(rows) != {"connect", "disconnect", "destroy"} or not all(map(float, rows.values())):
            raise Failure(f"no times of all steps:\n{client}")


@case("cm-netns", "perftest", seconds=240)
def netns_perftest(lab):
    there = cases_netns.two_hosts(lab, 9000)
    host = cases_netns.ADDRESSES["4"][THERE]
    for command in (["ib_write_bw"], ["ib_read_bw", "-q", "4"], ["ib_send_lat"],
                    ["ib_send_bw", "-c", "UD"]):
        text = perftest_pair(lab, [*command, "-R", "-F", "-n", "200"], host, server_prefix=there)
        if len(reports.perftest_rows(text)) != 1:
            raise Failure(f"not one row of results:\n{text}")


def register_unequal(mtu, mtu_there):
    address = cases_netns.ADDRESSES["4"][THERE]

    @case("cm-netns", f"mtu-{mtu}-to-{mtu_there}", seconds=240)
    def run(lab):
        """Ends with different MTUs use the smaller one, in either direction."""
        there = cases_netns.two_hosts(lab, mtu, mtu_there)
        for size in 100, 5000, 60000:
            base = ["rping", "-a", address, "-S", str(size), "-C", "5", "-v"]
            _, client = cm_pair(lab, [*base, "-s"], [*base, "-c", "-V"], server_prefix=there)
            demand(client, r"^ping data: rdma-ping-\d+: [A-z]", 5)
        for program in "ib_read_bw", "ib_write_bw", "ib_send_bw":
            text = perftest_pair(lab, [program, "-R", "-F", "-n", "200"], address,
                                 server_prefix=there)
            reports.perftest(text, [65536], 200)


register_unequal(9000, 1500)
register_unequal(1500, 9000)

for one_family in cases_netns.ADDRESSES:
    register_netns(one_family)


# ---- others ----

def run_qperf(lab, *tests):
    need_tool("qperf")
    server = lab.start(["qperf"])
    lab.wait_listening(server, 19765)
    text = lab.run(["qperf", "-t", "1", "--use_cm", "1", "127.0.0.1", *tests], seconds=90)
    for unit, ending in (("bw", "_bw"), ("latency", "_lat")):
        found = re.findall(rf"^\s+{unit}\s+=\s+([\d.]+)", text, re.M)
        if len(found) != sum(test.endswith(ending) for test in tests) or not all(map(float, found)):
            raise Failure(f"no results of '{unit}':\n{text}")
    server.kill()


@case("cm-others", "qperf")
def qperf(lab):
    run_qperf(lab, "rc_rdma_write_bw", "rc_rdma_read_lat", "rc_bi_bw", "rc_lat")


def fio_once(lab, verb):
    """Runs both ends of fio's engine `rdma`. False: the client was too early; then fio hangs."""
    common = ["--ioengine=rdma", "--port=9050", "--bs=32k", "--size=1m"]
    server = lab.start_server(["fio", *common, "--name=server", "--rw=read", "--iodepth=64"], "waiting for connection",
                              prefix=LINES)
    client = lab.start(["fio", *common, "--name=client", "--rw=write", "--iodepth=4", "--hostname=127.0.0.1",
                        f"--verb={verb}"], prefix=LINES)

    def early():
        return any("completion status" in end.output() for end in (server, client))
    lab.wait_until(lambda: early() or not client.running(), 60, f"the end of {client.describe()}{server.describe()}")
    if early():
        client.kill()
        server.kill()
        return False
    for end in (client, server):
        demand(end.expect(0, 30), r" err= 0:", 1)
    return True


@case("cm-others", "fio", seconds=180)
def fio(lab):
    """The server posts a receive request for each SEND. The client gives it half a second for that, and connects
    without RNR retries: on a busy machine it gets more tries."""
    need_tool("fio")
    for verb in ("write", "read", "send"):
        if not any(fio_once(lab, verb) for _ in range(4)):
            raise Failure(f"verb={verb}: completion errors each time")
