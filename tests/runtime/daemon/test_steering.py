#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""Every packet reaches the slot of its destination QPN, also after any process of the daemon dies.
"""

import os
import resource
import signal
import socket
import struct
import subprocess
import sys
import time

import adverbd
from adverbd import Client, Daemon, PORT, bth, wait_for

FAMILIES = ((socket.AF_INET, "127.0.0.1"), (socket.AF_INET6, "::1"))
UDP_NO_CHECK6_TX = 101  # linux/udp.h
IPV6_FREEBIND = 78  # linux/in6.h


def check_steering(slots, marks, more=()):
    """Sends packets to every slot over IPv4 and IPv6; each slot must get exactly its own packets.
    `more` lists blocks as (first QPN, slot)."""
    ranges = [(s.qpn, 1 << adverbd.SLOT_BITS, s) for s in slots]
    ranges += [(first, 1 << adverbd.BLOCK_BITS, s) for first, s in more]
    for family, address in FAMILIES:
        with socket.socket(family, socket.SOCK_DGRAM) as out:
            wanted = {s.number: [] for s in slots}
            for first, count, slot in ranges:
                # A socket of the test has almost no buffer: so few at a time.
                for qpn in (first, first + 1, first + count - 1):
                    out.sendto(bth(qpn, marks), (address, PORT))
                    wanted[slot.number].append(bth(qpn, marks))
        for slot in slots:
            got = slot.received()
            assert got == wanted[slot.number], (address, slot.number, [g[5:8] for g in got])


def sockets_of_port():
    """Returns the number of sockets of UDP port 4791, as `ss -lun` shows them."""
    count = 0
    for name in ("udp", "udp6"):
        with open(f"/proc/net/{name}") as f:
            count += sum(line.split()[1].endswith(f":{PORT:04X}") for line in f if ":" in line)
    return count


def raise_limit():
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
    return hard


def thousands(build):
    """As many slots as possible get their packets, over IPv4 and IPv6."""
    most = min(adverbd.SLOTS - adverbd.FIRST_SLOT, (raise_limit() - 128) // 4 - 2)
    with Daemon(build), Client() as c:
        assert c.status()["total"] == most
        slots = [c.open_slot() for _ in range(most)]
        assert [s.number for s in slots] == [adverbd.FIRST_SLOT + i for i in range(most)]
        assert f"{most} slots" in adverbd.text_of(c.ask(adverbd.OPEN_SLOT, expect=11)[0])  # EAGAIN
        check_steering(slots, b"first")
        for s in slots:
            s.sock.close()


def for_nobody(build):
    """Packets for slots without an owner reach no client. Packets for adverbd reach adverbd."""
    with Daemon(build), Client() as c:
        slots = [c.open_slot() for _ in range(5)]
        block = c.open_block(slots[2])
        before = c.status()["qp1_dropped"]
        beyond = (slots[4].number + 1) << adverbd.SLOT_BITS
        for family, address in FAMILIES:
            with socket.socket(family, socket.SOCK_DGRAM) as out:
                # QPNs of a slot that is not made, of a block without an owner, of the last block.
                for qpn in (1 << adverbd.SLOT_BITS, beyond, 0x7fffff, block + (1 << 16), 0xfeffff,
                            0xff0000, 0xffffff):
                    out.sendto(bth(qpn), (address, PORT))
                for datagram in (bth(0), bth(1), b"", b"short"):
                    out.sendto(datagram, (address, PORT))
        wait_for(lambda: c.status()["qp1_dropped"] == before + 8)
        time.sleep(0.05)
        assert c.status()["qp1_dropped"] == before + 8
        assert not any(s.received() for s in slots)


def few_sockets(build):
    """One program needs three sockets of port 4791. Further programs, one after the other, need no
    more."""
    with Daemon(build), Client() as c:
        assert sockets_of_port() == 2
        with Client() as d:
            d.open_slot()
            assert sockets_of_port() == 3 and c.status()["sockets"] == 3
        wait_for(lambda: c.slots() == [])
        assert sockets_of_port() == 3  # the socket of a released slot is kept
    assert sockets_of_port() == 0


def blocks(build):
    """QP numbers of blocks reach the slot's socket while the slot is in use."""
    with Daemon(build) as daemon, Client() as c:
        slots = [c.open_slot() for _ in range(4)]
        with Client() as d:
            other = d.open_slot()
            d.ask(adverbd.BLOCK, struct.pack("=I", slots[0].number), expect=1)  # EPERM
            d.ask(adverbd.BLOCK, struct.pack("=I", 0xffffffff), expect=1)
            theirs = [d.open_block(other) for _ in range(2)]
            mine = [(c.open_block(s), s) for s in (slots[1], slots[3], slots[1])]
            assert c.status()["blocks"] == 5
            check_steering([*slots, other], b"five", [*mine, *((b, other) for b in theirs)])
            daemon.kill(c.status()["worker"])
            check_steering([*slots, other], b"no worker", [*mine, *((b, other) for b in theirs)])
        with Client() as d:
            for s in slots:
                d.ask(adverbd.RESUME, struct.pack("=II", s.number, 0) + s.token)
            wait_for(lambda: d.status()["used"] == 4)  # the time to resume the other slot is over
            assert d.status()["blocks"] == 3
            with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as out:
                out.sendto(bth(theirs[0]), ("127.0.0.1", PORT))
            check_steering(slots, b"three", mine)
            assert not other.received()
            # All blocks can be used; released blocks are chosen last.
            rest = [d.open_block(slots[0]) for _ in range(adverbd.BLOCKS - 3)]
            assert sorted(rest[-2:]) == sorted(theirs) and len({*rest}) == adverbd.BLOCKS - 3
            d.ask(adverbd.BLOCK, struct.pack("=I", slots[0].number), expect=11)  # EAGAIN
            check_steering(slots[1:], b"all", mine)
            for first in rest[::9]:
                check_steering(slots, b"one", [(first, slots[0])])


def no_udp_checksum(build):
    """Packets over IPv6 without a UDP checksum, as from Linux's rdma_rxe, arrive."""
    with Daemon(build), Client() as c:
        slot = c.open_slot()
        with socket.socket(socket.AF_INET6, socket.SOCK_DGRAM) as out:
            out.setsockopt(socket.IPPROTO_UDP, UDP_NO_CHECK6_TX, 1)
            out.sendto(bth(slot.qpn), ("::1", PORT))
        assert len(slot.received()) == 1


def foreign_sources(build):
    """Packets over loopback from a source address that is not the machine's reach no slot: with
    IPv6 any process can send them."""
    adverbd.sh("ip link add fs0 type veth peer name fs1; ip link set fs0 up; ip link set fs1 up; ip addr add fd05::1/64 dev fs0 nodad")

    def arrives(slot, source, to="fd05::1"):
        with socket.socket(socket.AF_INET6, socket.SOCK_DGRAM) as out:
            out.setsockopt(socket.IPPROTO_IPV6, IPV6_FREEBIND, 1)
            out.bind((source, 0))
            out.sendto(bth(slot.qpn), (to, PORT))
        return len(slot.received()) == 1

    with Daemon(build) as daemon, Client() as c:
        slot = c.open_slot()
        wait_for(lambda: arrives(slot, "fd05::1"))
        assert arrives(slot, "::1", "::1")
        assert not arrives(slot, "fd05::2") and not arrives(slot, "2001:db8::1", "::1")
        adverbd.sh("ip addr add fd05::2/64 dev fs0 nodad")
        wait_for(lambda: arrives(slot, "fd05::2"))
        assert not arrives(slot, "fd05::3")
        c.open_slot()
        with Client() as other:
            other.open_slot()  # released, which attaches the program again
        wait_for(lambda: len(c.slots()) == 2)
        assert arrives(slot, "fd05::1") and not arrives(slot, "fd05::3")
        daemon.kill(c.status()["worker"])
        assert arrives(slot, "fd05::1") and not arrives(slot, "fd05::3")
        with Client() as d:
            d.ask(adverbd.RESUME, struct.pack("=II", slot.number, 0) + slot.token)
            adverbd.sh("ip addr del fd05::2/64 dev fs0")
            wait_for(lambda: not arrives(slot, "fd05::2"))
            assert arrives(slot, "fd05::1")
            # As many as possible, each of them.
            many = [f"fd05::1:{i:x}" for i in range(1, 241)]
            batch = "\n".join(f"addr add {a}/64 dev fs0 nodad" for a in many)
            subprocess.run(["ip", "-batch", "-"], input=batch, text=True, check=True)
            wait_for(lambda: arrives(slot, many[-1]))
            assert all(arrives(slot, a) for a in many)
            assert not arrives(slot, "fd05::3") and not arrives(slot, "fd05::1:1000")
    adverbd.sh("ip link del fs0")


def worker_killed(build):
    with Daemon(build) as daemon, Client() as c:
        slots = [c.open_slot() for _ in range(20)]
        old = c.status()
        daemon.kill(old["worker"])
        check_steering(slots, b"no worker yet, or a new one")
        with Client() as d:
            assert d.instance == c.instance
            for s in slots:
                d.ask(adverbd.RESUME, struct.pack("=II", s.number, 0) + s.token)
            wrong = struct.pack("=II", slots[0].number, 0) + bytes(16)
            d.ask(adverbd.RESUME, wrong, expect=1)  # EPERM
            now = d.status()
            assert now["worker"] != old["worker"] and now["keeper"] == old["keeper"]
            assert now["restarts"] == 1 and now["used"] == 20
            check_steering(slots, b"resumed")
            fresh = d.open_slot()
            assert fresh.number == adverbd.FIRST_SLOT + 20
            check_steering([*slots, fresh], b"and a new one")
            assert daemon.process.poll() is None


def grace_ends(build):
    """Slots that no client resumes are reserved for some time, and then available again."""
    with Daemon(build) as daemon, Client() as c:
        slots = [c.open_slot() for _ in range(3)]
        daemon.kill(c.status()["worker"])
        with Client() as d:
            assert d.open_slot().number == 5
            assert d.status()["used"] == 4
            s = slots[1]
            d.ask(adverbd.RESUME, struct.pack("=II", s.number, 0) + s.token)
            wait_for(lambda: d.slots() == [3, 5], 6)


def keeper_killed(build):
    with Daemon(build) as daemon, Client() as c:
        slots = [c.open_slot() for _ in range(20)]
        old = c.status()
        assert old["keeper"] == daemon.process.pid
        daemon.kill(old["keeper"])
        check_steering(slots, b"no keeper")
        wait_for(lambda: c.status()["keeper"] != old["keeper"])
        new = c.status()
        assert new["worker"] == old["worker"]
        # The new keeper works like the old one.
        daemon.kill(new["worker"])
        with Client() as d:
            for s in slots:
                d.ask(adverbd.RESUME, struct.pack("=II", s.number, 0) + s.token)
            check_steering(slots, b"both replaced")
            last = d.status()
            assert last["keeper"] == new["keeper"] and last["worker"] != old["worker"]
        c.close()
        # Worker and keeper exit after the last client.
        wait_for(lambda: not adverbd.alive(last["worker"]) and not adverbd.alive(last["keeper"]))


def worker_dies_often(build):
    with Daemon(build) as daemon, Client() as c:
        slots = [c.open_slot()]
        for _ in range(10):
            with Client() as d:
                daemon.kill(d.status()["worker"])
        check_steering(slots, b"ten later")
        with Client() as d:
            assert d.status()["restarts"] == 10


def client_killed(build):
    """The slot of a killed client becomes free although the client's child lives. Its socket is
    empty."""
    child_code = (
        "import adverbd,os,time,sys\n"
        "c = adverbd.Client(); s = c.open_slot()\n"
        "child = os.fork()\n"
        "if child == 0: time.sleep(30); os._exit(0)\n"
        "print(s.number, child, flush=True); time.sleep(30)\n")
    with Daemon(build, descriptors=640), Client() as c:
        most = c.status()["total"]
        assert most == (640 - 128) // 4 - 2
        mine = c.open_slot()
        p = subprocess.Popen([sys.executable, "-c", child_code], stdout=subprocess.PIPE,
                             cwd=os.path.dirname(os.path.abspath(__file__)))
        number, grandchild = map(int, p.stdout.readline().split())
        assert number == 3 and c.slots() == [2, 3]
        with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as out:
            for _ in range(100):
                out.sendto(bth(number << adverbd.SLOT_BITS), ("127.0.0.1", PORT))
            p.kill()
            p.wait()
            try:
                wait_for(lambda: c.slots() == [2], 5)
                # While it has no owner, almost nothing is queued.
                for _ in range(100):
                    out.sendto(bth(number << adverbd.SLOT_BITS), ("127.0.0.1", PORT))
                others = [c.open_slot() for _ in range(most - 2)]
                assert number not in [s.number for s in others]
                again = c.open_slot()
                assert again.number == number and not again.received()
                check_steering([mine, again, *others], b"after")
            finally:
                os.kill(grandchild, signal.SIGKILL)


def reuse_order(build):
    """A released slot is used again only after all other free slots."""
    with Daemon(build, descriptors=640), Client() as c:
        most = c.status()["total"]
        with Client() as d:
            first = d.open_slot().number
            second = d.open_slot().number
        wait_for(lambda: c.slots() == [])
        numbers = [c.open_slot().number for _ in range(most)]
        assert numbers[:-2] == [adverbd.FIRST_SLOT + 2 + i for i in range(most - 2)]
        assert sorted(numbers[-2:]) == [first, second]


def multicast(build):
    """Memberships in multicast groups belong to the slot, and end with the slot's client."""
    group4 = bytes(10) + b"\xff\xff" + socket.inet_aton("239.7.7.7")
    group6 = socket.inet_pton(socket.AF_INET6, "ff12::77")
    adverbd.sh("ip link add mc0 type veth peer name mc1; ip link set mc1 up; ip link set mc0 up;"
               "ip addr add 10.77.0.1/24 dev mc0; ip addr add fd77::1/64 dev mc0 nodad")
    link = socket.if_nametoindex("mc0")

    def send():
        with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as out:
            out.setsockopt(socket.IPPROTO_IP, socket.IP_MULTICAST_IF, socket.inet_aton("10.77.0.1"))
            out.sendto(bth(0xffffff), ("239.7.7.7", PORT))
        with socket.socket(socket.AF_INET6, socket.SOCK_DGRAM) as out:
            out.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_MULTICAST_IF, link)
            out.bind(("fd77::1", 0))
            out.sendto(bth(0xffffff), ("ff12::77", PORT, 0, link))

    def body(slot, group, ifindex=link):
        return struct.pack("=II", slot.number, ifindex) + group

    with Daemon(build), Client() as c:
        with Client() as d:
            in_it, not_in_it = d.open_slot(), d.open_slot()
            other = c.open_slot()
            for group in (group4, group6):
                d.ask(adverbd.JOIN, body(in_it, group))
                d.ask(adverbd.JOIN, body(in_it, group))
            d.ask(adverbd.JOIN, body(other, group4), expect=1)  # EPERM: not its own
            d.ask(adverbd.JOIN, body(in_it, group4[:12] + b"\x0a\0\0\1"), expect=22)  # EINVAL
            d.ask(adverbd.JOIN, body(in_it, group4, 9999), expect=19)  # ENODEV
            send()
            assert len(in_it.received()) == 2
            assert not not_in_it.received() and not other.received()
            d.ask(adverbd.LEAVE, body(in_it, group6))
            d.ask(adverbd.LEAVE, body(in_it, group6), expect=99)  # EADDRNOTAVAIL
            send()
            assert len(in_it.received()) == 1
            keep = in_it
        wait_for(lambda: c.slots() == [other.number])
        send()
        time.sleep(0.05)
        assert not keep.received(), "the membership outlived its client"
        assert "239.7.7.7" not in subprocess.run(["ip", "maddr", "show", "dev", "mc0"],
                                                 capture_output=True, text=True).stdout


if __name__ == "__main__":
    adverbd.main([thousands, for_nobody, few_sockets, blocks, no_udp_checksum, foreign_sources, worker_killed, grace_ends, keeper_killed, worker_dies_often,
                  client_killed, reuse_order, multicast])
