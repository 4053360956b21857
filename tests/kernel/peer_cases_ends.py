# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""How connections with the kernel begin and end, also on a network that loses and duplicates packets."""

import dataclasses
import shlex

import reports
from harness import Failure, case
from peer_lab import SERVERS

DISCONNECTED = "RDMA_CM_EVENT_DISCONNECTED status 0"


@dataclasses.dataclass
class Seen:
    """What each end of tests/kernel/ends.c requests, as the other end must see it; and refusals, by a program
    and where none listens."""

    request: str
    reply: str
    rejected: str
    nobody: str
    nobody_status: int = 0  # of the client where none listens
    options: tuple = ()  # of the programs


ROCE = Seen("RDMA_CM_EVENT_CONNECT_REQUEST status 0 resources 3 depth 5 data 'from the client'",
            "RDMA_CM_EVENT_ESTABLISHED status 0 resources 4 depth 2 data 'from the server'",
            "RDMA_CM_EVENT_REJECTED status 28 resources 0 depth 0 data 'not with me'",
            "RDMA_CM_EVENT_REJECTED status 8")  # unknown service ID
REQUEST, REPLY = ROCE.request, ROCE.reply


def ends(lab, side, *options, family="4", server=None):
    """Starts `ends` on a side; `server` is the side that a client connects to."""
    lab.expect_data = False
    program = lab.build / "tests/kernel/ends" if side is lab.adverb_side else "ends"
    address = (server or side).address[family]
    process = side.start([program, *(() if server else ("-s",)), *options, address])
    if server is None:
        lab.wait_until(lambda: "listening" in process.output() or not process.running(), 60, "ends listens")
    return process


def demand(process, *lines):
    """Fails unless lines of the output begin with these texts, in this order."""
    text = process.output()
    at = 0
    for line in lines:
        at = text.find("\n" + line if at else line, at)
        if at < 0:
            raise Failure(f"not there, or not in its place: {line}\n{process.describe()}")


def await_line(lab, process, line):
    lab.wait_until(lambda: line in process.output() or not process.running(), 60, line)
    demand(process, line)


def register_both_agree(group, seen, serves, family):
    @case(group, f"client-disconnects-ipv{family}/{serves}-serves")
    def run(lab):
        """Private data, responder resources and initiator depth of REQ and REP; DREQ, DREP."""
        at_server, at_client = lab.sides(serves)
        server = ends(lab, at_server, family=family)
        client = ends(lab, at_client, *seen.options, family=family, server=at_server)
        lab.both_end(server, client)
        demand(server, "listening", seen.request, "RDMA_CM_EVENT_ESTABLISHED", DISCONNECTED)
        demand(client, "RDMA_CM_EVENT_ADDR_RESOLVED", "RDMA_CM_EVENT_ROUTE_RESOLVED", seen.reply, DISCONNECTED)


def register_ends(group, seen, serves):
    @case(group, f"server-disconnects/{serves}-serves")
    def disconnects(lab):
        at_server, at_client = lab.sides(serves)
        server = ends(lab, at_server, "-d", *seen.options)
        client = ends(lab, at_client, "-h", server=at_server)
        lab.both_end(server, client)
        demand(client, seen.reply, DISCONNECTED)

    @case(group, f"server-rejects/{serves}-serves")
    def rejects(lab):
        at_server, at_client = lab.sides(serves)
        server = ends(lab, at_server, "-r")
        client = ends(lab, at_client, server=at_server)
        lab.both_end(server, client)
        demand(server, seen.request)
        demand(client, seen.rejected)

    @case(group, f"nobody-listens/{serves}-serves")
    def nobody(lab):
        """adverbd runs for another port."""
        at_server, at_client = lab.sides(serves)
        ends(lab, at_server)
        client = ends(lab, at_client, "-p", "7901", server=at_server)
        client.expect(seen.nobody_status, 60)
        demand(client, seen.nobody)

    @case(group, f"client-killed/{serves}-serves")
    def client_killed(lab):
        at_server, at_client = lab.sides(serves)
        server = ends(lab, at_server)
        client = ends(lab, at_client, "-h", server=at_server)
        await_line(lab, client, seen.reply)
        await_line(lab, server, "RDMA_CM_EVENT_ESTABLISHED")
        client.kill()
        server.expect(0, 30)
        demand(server, seen.request, DISCONNECTED)

    @case(group, f"server-killed/{serves}-serves")
    def server_killed(lab):
        at_server, at_client = lab.sides(serves)
        server = ends(lab, at_server)
        client = ends(lab, at_client, "-h", server=at_server)
        await_line(lab, client, seen.reply)
        await_line(lab, server, "RDMA_CM_EVENT_ESTABLISHED")
        server.kill()
        client.expect(0, 30)
        demand(client, seen.reply, DISCONNECTED)


@case("ends", "larger-mtu-of-the-kernel/adverb-serves")
def larger_mtu(lab):
    """REJ, reason 26, if the kernel requests a larger path MTU than Adverb's end supports."""
    lab.set_mtu(1500, kernel=9000)
    server = ends(lab, lab.adverb_side)
    client = ends(lab, lab.kernel_side, server=lab.adverb_side)
    client.expect(0, 60)
    demand(client, "RDMA_CM_EVENT_ADDR_RESOLVED", "RDMA_CM_EVENT_ROUTE_RESOLVED",
           "RDMA_CM_EVENT_REJECTED status 26")
    if REQUEST in server.output():
        raise Failure(f"the server has heard of it:\n{server.describe()}")
    lab.set_mtu(1500)
    client = ends(lab, lab.kernel_side, server=lab.adverb_side)
    lab.both_end(server, client)


@case("ends", "smaller-mtu-of-the-kernel/adverb-serves")
def smaller_mtu(lab):
    lab.set_mtu(9000, kernel=1500)
    server = ends(lab, lab.adverb_side)
    client = ends(lab, lab.kernel_side, server=lab.adverb_side)
    lab.both_end(server, client)
    demand(client, "RDMA_CM_EVENT_ADDR_RESOLVED", "RDMA_CM_EVENT_ROUTE_RESOLVED", REPLY, DISCONNECTED)
    lab.set_mtu(1500)


# name, netem
DISTURBANCES = [
    ("repeated", "duplicate 100%"),
    ("late", "delay 2ms 1ms"),  # and therefore out of order
    ("lost", "loss 5%"),
]


def pingpong(lab, serves, server, client):
    words = ["ibv_rc_pingpong", "-c", "-n", "100", "-s", "10000"]
    for text in lab.tcp_pair(serves, [*words, "-g", server.gid["4"]],
                             [*words, "-g", client.gid["4"], server.address["4"]], seconds=200):
        reports.pingpong(text, 10000, 100)


def register_disturbed(serves, name, netem):
    @case("disturbed", f"connections-{name}/{serves}-serves")
    def connections(lab):
        lab.disturb(netem)
        # adverbd exits after its last program, and then a repeated DREQ has no answer
        ends(lab, lab.adverb_side, "-p", "7999")
        at_server, at_client = lab.sides(serves)
        words = ["ucmatose", "-c", "20", "-C", "20", "-S", "3000"]
        lab.cm_pair(serves, [*words, "-b", at_server.address["4"]],
                    [*words, "-s", at_server.address["4"]], seconds=200)
        for _ in range(5):
            server = ends(lab, at_server)
            client = ends(lab, at_client, server=at_server)
            lab.both_end(server, client)
            # a DREQ may overtake the RTU; then there is no ESTABLISHED event
            demand(server, REQUEST, DISCONNECTED)
            demand(client, REPLY, DISCONNECTED)

    @case("disturbed", f"rc-{name}/{serves}-serves")
    def data(lab):
        lab.disturb(netem)
        lab.find_gids()
        server, client = lab.sides(serves)
        programs = ["ib_read_bw -s 20000", "ib_atomic_bw", "ib_write_bw -s 20000"]
        if "loss" in netem:
            # ibv_rc_pingpong ends as soon as it has its last message. If the ACK of that message is
            # lost, the peer's retries meet no queue pair, and rdma_rxe retries for ever.
            programs.append("ib_send_lat -s 10000")
        else:
            pingpong(lab, serves, server, client)
        for program in programs:
            words = [*shlex.split(program), "-F", "-n", "50"]
            lab.tcp_pair(serves, [*words, "-x", server.gid["4"]],
                         [*words, "-x", client.gid["4"], server.address["4"]], seconds=200)


for one_server in SERVERS:
    for one_family in ("4", "6"):
        register_both_agree("ends", ROCE, one_server, one_family)
    register_ends("ends", ROCE, one_server)
    for one_name, one_netem in DISTURBANCES:
        register_disturbed(one_server, one_name, one_netem)
