# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""Programs that connect their queue pairs themselves, one side Adverb and the other the kernel."""

import shlex
import socket

import reports
import roce_pcap
from harness import Failure, case
from peer_lab import PEER, SERVERS

# The networks: IP family, Ethernet MTU.
NETWORKS = {"ipv4": ("4", 1500), "ipv6": ("6", 1500), "ipv4-jumbo": ("4", 9000), "ipv6-jumbo": ("6", 9000)}

# name, program and options, bytes of a message, iterations
PINGPONG = [
    ("rc", "ibv_rc_pingpong -c", 4096, 200),
    ("rc-1-byte", "ibv_rc_pingpong -c -s 1 -n 100", 1, 100),
    ("rc-odd-size", "ibv_rc_pingpong -c -s 4097 -n 100", 4097, 100),
    ("rc-64-kib-events", "ibv_rc_pingpong -c -e -s 65536 -n 50", 65536, 50),
    ("uc", "ibv_uc_pingpong -c", 4096, 200),
    ("uc-odd-size", "ibv_uc_pingpong -c -s 3001 -n 100", 3001, 100),
    ("ud", "ibv_ud_pingpong -c -s 1000", 1000, 200),
    ("srq", "ibv_srq_pingpong -c -q 4", 4096, 200),
]

# name, program and options (-F -n added), bytes of a message, iterations
PERFTEST = [
    ("send-bw", "ib_send_bw -s 16384", 16384, 100),
    ("send-bw-4-qps-both-ways", "ib_send_bw -q 4 -b -s 5000", 5000, 50),
    ("send-lat", "ib_send_lat -s 2", 2, 100),
    ("send-lat-uc", "ib_send_lat -c UC -s 3000", 3000, 100),
    ("send-lat-ud", "ib_send_lat -c UD -s 512", 512, 100),
    ("write-bw", "ib_write_bw -s 65536", 65536, 50),
    ("write-bw-4-qps", "ib_write_bw -q 4 -s 65536", 65536, 20),
    ("write-bw-4-qps-both-ways", "ib_write_bw -q 4 -b -s 65536", 65536, 20),
    ("write-bw-odd-size", "ib_write_bw -s 5001", 5001, 100),
    ("write-lat", "ib_write_lat -s 8", 8, 100),
    ("write-lat-uc", "ib_write_lat -c UC -s 3000", 3000, 100),
    ("read-bw", "ib_read_bw -s 65536", 65536, 50),
    ("read-bw-both-ways", "ib_read_bw -b -q 2 -s 9001", 9001, 50),
    ("read-lat", "ib_read_lat -s 5", 5, 100),
    ("atomic-bw", "ib_atomic_bw", 8, 100),
    ("atomic-lat-cas", "ib_atomic_lat -A CMP_AND_SWAP", 8, 100),
]

# The same columns, with a kernel limited to 20 Mb/s each way: it answers after several timeouts.
SLOW = [
    ("write-bw-4-qps", "ib_write_bw -q 4 -s 65536", 65536, 20),
    ("send-bw-4-qps", "ib_send_bw -q 4 -s 65536", 65536, 20),
    ("read-bw-4-qps", "ib_read_bw -q 4 -s 65536", 65536, 20),
    ("atomic-bw-4-qps", "ib_atomic_bw -q 4", 8, 100),
]


def prepare(lab, network):
    family, mtu = NETWORKS[network]
    lab.set_mtu(mtu)
    lab.find_gids()
    return family


def register_pingpong(network, serves, name, command, size, iterations):
    @case(network, f"{name}/{serves}-serves")
    def run(lab):
        family = prepare(lab, network)
        words = shlex.split(command)
        if "-n" not in words:
            words += ["-n", str(iterations)]
        server, client = lab.sides(serves)
        # their TCP connection uses IPv4; the GIDs are the RDMA addresses
        for text in lab.tcp_pair(serves, [*words, "-g", server.gid[family]],
                                 [*words, "-g", client.gid[family], server.address["4"]]):
            reports.pingpong(text, size, iterations)


WRITE_ONLY = 0x0a


def kernel_sent_an_empty_write(lab):
    """Whether the capture shows a bug of rdma_rxe: when it retransmits a message that was acknowledged
    meanwhile, it sends an empty WRITE instead, and all later PSNs are wrong (docs/kernel-peer.md)."""
    lab.system("sleep 0.3")
    ours = {socket.inet_pton(socket.AF_INET6 if family == "6" else socket.AF_INET, address)
            for family, address in PEER.items()}
    return any(not isinstance(packet, roce_pcap.CaptureError) and packet.opcode == WRITE_ONLY
               and packet.payload_len == 0 and packet.src in ours
               for packet in roce_pcap.roce_packets(lab.dir / "roce.pcap"))


def perftest_pair(lab, serves, server_argv, client_argv):
    """Returns the client's output; repeats the pair if the kernel made it fail by an empty WRITE."""
    for _ in range(4):
        try:
            return lab.tcp_pair(serves, server_argv, client_argv)[1]
        except Failure:
            if not kernel_sent_an_empty_write(lab):
                raise
    raise Failure("the kernel sent an empty WRITE each time")


def register_perftest(network, serves, name, command, size, iterations):
    @case(network, f"{name}/{serves}-serves")
    def run(lab):
        family = prepare(lab, network)
        # the kernel's buffer may be too small for the windows of several queue pairs
        if "-q 4 " in command and size == 65536:
            lab.allowed |= {"out_of_seq_request", "rcvd_seq_err"}
        words = [*shlex.split(command), "-F", "-n", str(iterations)]
        server, client = lab.sides(serves)
        text = perftest_pair(lab, serves, [*words, "-x", server.gid[family]],
                             [*words, "-x", client.gid[family], server.address["4"]])
        # perftest prints -nan as the deviation if it measured no time
        reports.perftest(text.replace("-nan", "0"), [size], iterations)


def register_slow(name, command, size, iterations):
    @case("slow", name)
    def run(lab):
        family = prepare(lab, "ipv4")
        lab.disturb("rate 20mbit")
        lab.most["duplicate_request"] = 1000
        server, client = lab.sides("kernel")
        words = [*shlex.split(command), "-F", "-n", str(iterations)]
        _, text = lab.tcp_pair("kernel", [*words, "-x", server.gid[family]],
                               [*words, "-x", client.gid[family], server.address["4"]])
        reports.perftest(text.replace("-nan", "0"), [size], iterations)


for one_row in SLOW:
    register_slow(*one_row)
for one_network in NETWORKS:
    for one_server in SERVERS:
        for row in PINGPONG:
            register_pingpong(one_network, one_server, *row)
        for row in PERFTEST:
            register_perftest(one_network, one_server, *row)
