# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""With --roce v1, pairs of programs that other cases run on one host run on two, so that their packets leave as
frames: within a machine, RoCE v1 uses no frames. Cases to which RoCE v1 does not apply are skipped."""

import ctypes
import re
import socket
import struct

import cases_netns
from harness import SERVER, Failure, Skip

# Of if_packet.h, if_ether.h and socket.h.
SOL_PACKET, PACKET_STATISTICS, ETH_P_ALL, SO_ATTACH_FILTER = 263, 6, 3, 26
# The classic BPF program that accepts Ethertype 0x8915: operation, jumps, operand.
ONLY_V1 = [(0x28, 0, 0, 12), (0x15, 0, 1, 0x8915), (0x06, 0, 0, 0xffff), (0x06, 0, 0, 0)]
FAMILIES = {"127.0.0.1": "4", "::1": "6"}
ADDRESS = re.compile(r"^(127\.0\.0\.1|::1)(?=$|:/)")

# Groups whose pairs run on two hosts.
GROUPS = {"cm", "cm-perftest", "nvme", "perftest", "pingpong", "rsocket"}
# Cases of these groups that stay on one host.
ON_ONE_HOST = {
    "nvme/add-remove": "commands control the target of their own machine",
    "nvme/config": "the file names addresses",
    "nvme/invalidate": "the capture is one of the target",
    "perftest/one-copy": "payload is read within a machine",
    "perftest/no-one-copy": "payload is read within a machine",
    "perftest/send-bw-ud": "nothing slows the sender down, and the receive ring has 560 places",
    "pingpong/ipv6": "the program names the index of ::1",
    "rsocket/two-hosts": "the case has hosts of its own",
    "rsocket/refused": "no server runs",
    "rsocket/rstream-fork": "the programs use TCP",
    "rsocket/rstream-sockets": "the programs use TCP",
    "rsocket/udpong-sockets": "the programs use UDP",
}

# Why a group or a case does not apply to RoCE v1.
NOT_BY_V1 = {
    "attack": "the attackers send packets by UDP",
    "capture": "the case reads headers of RoCE v2; rocev1/traffic-* are the same by RoCE v1",
    "congestion/two-hosts": "RoCE v1 has no ECN, so nothing is marked",
    "devinfo/gids": "the case expects the type RoCE v2; see rocev1/gids",
    "fabric": "the hosts of an emulated fabric are hosts of their own",
    "fabric-long": "the hosts of an emulated fabric are hosts of their own",
    "fabric-fidelity-long": "the hosts of an emulated fabric are hosts of their own",
    "iwarp": "iWARP devices have no version of RoCE",
    "iwarp-programs": "iWARP devices have no version of RoCE",
    "netns/forged-icmp-ipv4": "ICMP answers packets of IP",
    "netns/forged-icmp-ipv6": "ICMP answers packets of IP",
    "netlink/other-users": "another user has no CAP_NET_RAW",
    "operator/explain-firewall": "the filter drops packets of UDP",
    "operator/explain-path-mtu": "the filter drops packets of IP",
    "operator/res-users": "another user has no CAP_NET_RAW",
    "metrics/names-of-processes": "another user has no CAP_NET_RAW",
    "pyverbs/rdmacm": "multicast frames do not reach members on the sending machine",
    "rocev1/gids": "the case chooses the versions itself",
    "tap/users": "another user has no CAP_NET_RAW",
    "unprivileged": "RoCE v1 needs CAP_NET_RAW; see rocev1/unprivileged",
}


def refuse(name):
    """Skips a case that does not apply."""
    why = NOT_BY_V1.get(name) or NOT_BY_V1.get(name.split("/")[0])
    if why:
        raise Skip(f"not by RoCE v1: {why}")


def applies_to(name):
    return name.split("/")[0] in GROUPS and name not in ON_ONE_HOST


def frame_counter():
    """Returns a socket for which the kernel counts frames of RoCE v1, of both directions, whether or not it has room."""
    counter = socket.socket(socket.AF_PACKET, socket.SOCK_RAW, 0)
    code = ctypes.create_string_buffer(b"".join(struct.pack("HBBI", *step) for step in ONLY_V1))
    counter.setsockopt(socket.SOL_SOCKET, SO_ATTACH_FILTER, struct.pack("HP", len(ONLY_V1), ctypes.addressof(code)))
    counter.bind(("veth0", ETH_P_ALL))
    return counter


class Apart:
    """Places the ends of pairs. The second host exists from the first pair on."""

    def __init__(self, lab):
        self.lab = lab
        self.there = None
        self.counter = None

    def second_host(self):
        if not self.there:
            self.there = cases_netns.two_hosts(self.lab, 9000)
            self.counter = frame_counter()
        return self.there

    def address(self, name, own=False):
        """Returns the server's address instead of one of loopback; own: the client's address."""
        return ADDRESS.sub(lambda m: cases_netns.ADDRESSES[FAMILIES[m[1]]][0 if own else 1], name)

    def place(self, argv, side):
        """Returns the arguments and the command prefix of one end."""
        there = self.second_host()
        own = [side != SERVER and before in ("-b", "-I") for before in ["", *argv]]
        return [self.address(a, o) for a, o in zip(argv, own)], there if side == SERVER else []

    def check(self):
        """Fails if no frame of RoCE v1 was sent."""
        if not self.counter:
            return
        count = int.from_bytes(self.counter.getsockopt(SOL_PACKET, PACKET_STATISTICS, 8)[:4], "little")
        print(f"measured: {count} frames of RoCE v1")
        if not count:
            raise Failure("no frame of RoCE v1")
