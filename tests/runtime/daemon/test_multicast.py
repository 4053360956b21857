#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""Datagrams that another host sends to a multicast group reach all slots that joined the group, once,
and no other slot: with few and with many sockets of port 4791, over IPv4 and IPv6.
"""

import contextlib
import os
import socket
import struct

import adverbd
from adverbd import Client, Daemon, Host, PORT, bth, wait_for

HERE, THERE = 0, 1
NAMES = ("mc0", "mc1")
ADDRESSES = {socket.AF_INET: ("10.78.0.1", "10.78.0.2"), socket.AF_INET6: ("fd78::1", "fd78::2")}
GROUPS = {socket.AF_INET: "239.7.7.7", socket.AF_INET6: "ff12::77"}
MULTICAST_QPN = 0xffffff
UDP_NO_CHECK6_TX = 101  # linux/udp.h
AT_ONCE = 5  # a socket of the test has a small buffer
# With at most so many sockets of a port, the kernel may deliver multicast like unicast: see group.c.
FEW_SOCKETS = 10


class Sender:
    """Sockets of the other host."""

    def __init__(self, host):
        self.out = {}
        with host:
            link = socket.if_nametoindex(NAMES[THERE])
            for family, address in ADDRESSES.items():
                s = self.out[family] = socket.socket(family, socket.SOCK_DGRAM)
                s.bind((address[THERE], 0))
                if family == socket.AF_INET:
                    s.setsockopt(socket.IPPROTO_IP, socket.IP_MULTICAST_IF, socket.inet_aton(address[THERE]))
                else:
                    s.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_MULTICAST_IF, link)

    def close(self):
        for s in self.out.values():
            s.close()

    def check(self, members, others, group=GROUPS):
        """Sends datagrams to `group`. They must reach all slots of `members`, and no slot of `others`."""
        for family, out in self.out.items():
            sent = [bth(MULTICAST_QPN, struct.pack(">I", i)) for i in range(AT_ONCE)]
            for datagram in sent:
                out.sendto(datagram, (group[family], PORT))
            for slot in [*members, *others]:
                # The datagram to the slot arrives after the others: all take the same way.
                last = bth(slot.qpn, b"last")
                out.sendto(last, (ADDRESSES[family][HERE], PORT))
                got = []
                wait_for(lambda: got.extend(slot.received()) or last in got)
                wanted = sent if slot in members else []
                assert got == [*wanted, last], (family, slot.number, got)


@contextlib.contextmanager
def lab(build, **options):
    """Yields (daemon, sender on another host). `options` are those of Daemon()."""
    # On one CPU the kernel keeps the order of datagrams.
    before = os.sched_getaffinity(0)
    os.sched_setaffinity(0, {min(before)})
    host = Host()
    with contextlib.ExitStack() as stack:
        stack.callback(os.sched_setaffinity, 0, before)
        stack.callback(host.close)
        adverbd.sh(f"ip link add {NAMES[HERE]} type veth peer name {NAMES[THERE]} netns {host.process.pid}")
        stack.callback(adverbd.sh, f"ip link del {NAMES[HERE]}")
        for side, where in ((HERE, contextlib.nullcontext()), (THERE, host)):
            with where:
                adverbd.sh(f"ip link set {NAMES[side]} up")
                for address in ADDRESSES.values():
                    nodad = "nodad" if ":" in address[side] else ""
                    adverbd.sh(f"ip addr add {address[side]}/24 dev {NAMES[side]} {nodad}")
        daemon = stack.enter_context(Daemon(build, **options))
        sender = Sender(host)
        stack.callback(sender.close)
        yield daemon, sender


def membership(client, slot, request):
    """Joins or leaves the groups of both families."""
    for group in GROUPS.values():
        raw = socket.inet_pton(socket.AF_INET6, group if ":" in group else f"::ffff:{group}")
        client.ask(request, struct.pack("=II", slot.number, socket.if_nametoindex(NAMES[HERE])) + raw)


def join(client, slot):
    membership(client, slot, adverbd.JOIN)
    return slot


def one_member(build):
    """One slot of few has joined: the kernel could take it for the only receiver."""
    with lab(build) as (_, sender), Client() as c:
        others = [c.open_slot()]
        member = join(c, c.open_slot())
        sender.check([member], others)
        others += [c.open_slot() for _ in range(FEW_SOCKETS)]
        sender.check([member], others)


def no_udp_checksum(build):
    """IPv6 datagrams whose UDP checksum is 0, as rdma_rxe sends them."""
    with lab(build) as (_, sender), Client() as c:
        member, other = join(c, c.open_slot()), c.open_slot()
        sender.out[socket.AF_INET6].setsockopt(socket.IPPROTO_UDP, UDP_NO_CHECK6_TX, 1)
        sender.check([member], [other])


def several_members(build):
    """Slots of one process, and of two."""
    with lab(build) as (_, sender), Client() as c, Client() as d:
        first, other = join(c, c.open_slot()), c.open_slot()
        second = join(c, c.open_slot())
        sender.check([first, second], [other])
        third = join(d, d.open_slot())
        sender.check([first, second, third], [other])
        membership(c, first, adverbd.LEAVE)
        sender.check([second, third], [first, other])
        membership(c, second, adverbd.LEAVE)
        sender.check([third], [first, second, other])
        membership(d, third, adverbd.LEAVE)
        sender.check([], [first, second, third, other])


def after_an_exit(build):
    """A released slot's socket stays in the group of sockets, and is a member no more. Nor is it one
    when the slot has a new owner."""
    with lab(build, descriptors=160) as (_, sender), Client() as c:  # few slots
        with Client() as d:
            released = join(d, d.open_slot())
            member = join(c, c.open_slot())
            sender.check([released, member], [])
        wait_for(lambda: c.slots() == [member.number])
        sender.check([member], [])
        assert not released.received()
        status = c.status()
        others = [c.open_slot() for _ in range(status["total"] - status["used"])]
        again = next(s for s in others if s.number == released.number)
        sender.check([member], others)
        join(c, again)
        sender.check([member, again], [s for s in others if s is not again])


def others_of_the_machine(build):
    """A group that another program of the machine has joined reaches no slot."""
    with lab(build) as (_, sender), Client() as c, \
            socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as four, \
            socket.socket(socket.AF_INET6, socket.SOCK_DGRAM) as six:
        foreign = {socket.AF_INET: "239.8.8.8", socket.AF_INET6: "ff12::88"}
        link = socket.if_nametoindex(NAMES[HERE])
        four.setsockopt(socket.IPPROTO_IP, socket.IP_ADD_MEMBERSHIP,
                        socket.inet_aton(foreign[socket.AF_INET]) + bytes(4) + struct.pack("=I", link))
        six.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_JOIN_GROUP,
                       socket.inet_pton(socket.AF_INET6, foreign[socket.AF_INET6]) + struct.pack("=I", link))
        member = join(c, c.open_slot())
        sender.check([], [member], foreign)
        sender.check([member], [])


def worker_killed(build):
    """Memberships outlive the daemon's worker."""
    with lab(build) as (daemon, sender), Client() as c:
        member, other = join(c, c.open_slot()), c.open_slot()
        worker = c.status()["worker"]
        daemon.kill(worker)
        wait_for(lambda: not adverbd.alive(worker))
        sender.check([member], [other])
        with Client() as d:
            d.ask(adverbd.RESUME, struct.pack("=II", member.number, 0) + member.token)
            sender.check([member], [])


if __name__ == "__main__":
    adverbd.main([one_member, no_udp_checksum, several_members, after_an_exit, others_of_the_machine,
                  worker_killed])
