#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""A hostile client may send any messages or read nothing: other clients are still served."""

import errno
import os
import random
import resource
import socket
import struct
import subprocess
import sys
import time

import adverbd
import for_nobody
from adverbd import Client, Daemon, Lost, PATIENCE, wait_for


def descriptors(pid):
    return len(os.listdir(f"/proc/{pid}/fd"))


def dropped(client):
    """Reads to the end. Returns the text of REFUSED, or ''."""
    said = ""
    try:
        while True:
            kind, _, _, body, _ = client.receive()
            if kind == adverbd.REFUSED:
                said = adverbd.text_of(body)
    except Lost:
        return said


def garbage(build):
    dice = random.Random(4791)
    with Daemon(build), Client() as watcher:
        pid = watcher.status()["worker"]
        before = descriptors(pid)
        for i in range(300):
            c = Client(hello=i % 3 == 0)
            length = dice.choice((1, 7, 24, 255, 256, 256, 256, 257, 4096, 60000))
            data = bytearray(dice.randbytes(length))
            if length == 256 and i % 2:
                struct.pack_into("=IH", data, 0, adverbd.MAGIC, adverbd.VERSION)
                if i % 4 == 1:
                    struct.pack_into("=H", data, 6, dice.randrange(16))
            c.sock.send(data)
            c.close()
        assert watcher.status()["worker"] == pid
        wait_for(lambda: watcher.status()["clients"] == 1)
        wait_for(lambda: watcher.slots() == [])
        wait_for(lambda: descriptors(pid) == before)


def wrong_messages(build):
    with Daemon(build), Client() as watcher:
        for send in (lambda c: c.send(adverbd.STATUS, magic=1),
                     lambda c: c.send(adverbd.STATUS, version=adverbd.VERSION + 1),
                     lambda c: c.sock.send(b"x" * 255),
                     lambda c: c.sock.send(b"x" * 257)):
            with Client() as c:
                send(c)
                assert "version" in dropped(c)
        for kind in (0, 63, 77, adverbd.NOTICE, adverbd.REFUSED, 65535):
            with Client() as c:
                c.send(kind)
                assert "this request is not valid" in dropped(c)
        with Client(hello=False) as c:
            c.send(adverbd.OPEN_SLOT)
            assert "this request is not valid" in dropped(c)
        with Client() as c:
            for slot in (0, 1, 2, 255, 4095, 4096, 1 << 31, 0xffffffff):
                c.ask(adverbd.RESUME, struct.pack("=II", slot, 0) + bytes(16), expect=1)
                c.ask(adverbd.JOIN, struct.pack("=II", slot, 1) + bytes(16), expect=1)
                c.ask(adverbd.LEAVE, struct.pack("=II", slot, 1) + bytes(16), expect=1)
            c.ask(adverbd.LIST, struct.pack("=I", 0xffffffff), expect=2)
        assert watcher.status()["used"] == 0


def descriptors_sent(build):
    """The kernel refuses descriptors in messages, or the daemon closes them."""
    with Daemon(build), Client() as watcher, Client() as c:
        pid = watcher.status()["worker"]
        before = descriptors(pid)
        message = struct.pack("=IHHIiQ", adverbd.MAGIC, adverbd.VERSION, adverbd.STATUS, 1, 0,
                              0).ljust(256, b"\0")
        for n in (1, 5, 8, 9, 100, 250):
            if adverbd.send_descriptors(c.sock, message, [0] * n):
                assert c.receive()[0] == adverbd.STATUS
            assert descriptors(pid) == before, n
        with Client(hello=False) as d:
            if adverbd.send_descriptors(d.sock, b"short", [0] * 9):
                dropped(d)
        wait_for(lambda: descriptors(pid) == before)
        assert watcher.status()["worker"] == pid


def sum_of(client, first, slot=0):
    """Returns the counters of a slot, from a position on; slot 0: the sums."""
    answer, _ = client.ask(adverbd.COUNTERS, struct.pack("=3I", first, 0, slot))
    return struct.unpack("=19Q", answer[80:80 + 19 * 8])


def pages(build):
    """A client gets only the counter page of its own slot, and cannot change the size of the page.
    """
    with Daemon(build), Client() as watcher, Client() as c:
        pid = watcher.status()["worker"]
        mine, other = c.open_slot().number, watcher.open_slot().number
        before = descriptors(pid)
        for n in (0, 1, other, 255, 4095, 4096, 0xffffffff):
            c.ask(adverbd.COUNT, struct.pack("=I", n), expect=1)
        for _ in range(100):
            os.close(c.ask(adverbd.COUNT, struct.pack("=I", mine))[1][0])
        page = c.ask(adverbd.COUNT, struct.pack("=I", mine))[1][0]
        assert descriptors(pid) == before + 1
        assert set(sum_of(c, 0)) == {0}
        os.pwrite(page, struct.pack("=3Q", 7, 2**64 - 1, 9) + b"xyz", 0)
        assert sum_of(watcher, 0)[:4] == (7, 2**64 - 1, 9, 0x7a7978)
        for length in (0, 8, 1 << 40):
            try:
                os.ftruncate(page, length)
                raise AssertionError(length)
            except PermissionError:
                pass
        other_page = watcher.ask(adverbd.COUNT, struct.pack("=I", other))[1][0]
        os.pwrite(other_page, struct.pack("=Q", 7), 0)
        assert sum_of(watcher, 0)[0] == 14 and sum_of(watcher, 1)[0] == 2**64 - 1
        assert sum_of(watcher, 0, mine)[:2] == (7, 2**64 - 1) and sum_of(c, 0, other)[:2] == (7, 0)
        for slot in (1, mine + other, 4095, 4096, 0xffffffff):
            c.ask(adverbd.COUNTERS, struct.pack("=3I", 0, 0, slot), expect=2)
        for first in (192, 193, 1 << 31, 0xffffffff):
            c.ask(adverbd.COUNTERS, struct.pack("=I", first), expect=22)
        c.close()
        wait_for(lambda: watcher.slots() == [other])
        os.pwrite(page, bytes(24), 0)
        assert sum_of(watcher, 0)[0] == 14
        assert watcher.status()["worker"] == pid


def senders(build):
    """A client can set the sending port only of its own slots. After the slot's release the daemon
    keeps the port for a time, because the last packets may be read late."""
    with Daemon(build) as daemon, Client() as watcher, Client() as c:
        def entry(which, qpn):
            at = os.fstat(watcher.table).st_size - (2 - which) * 16384
            return struct.unpack("=H", os.pread(watcher.table, 2, at + 2 * (qpn >> 11)))[0]

        def port_of(slot):
            return entry(0, slot << 11)

        def home_of(qpn):
            return entry(1, qpn)

        slot, other = c.open_slot(), watcher.open_slot().number
        mine = slot.number
        block = c.open_block(slot)
        assert port_of(0) != 0
        assert [home_of(q) for q in (mine << 11, other << 11, block)] == [mine, other, mine]
        for n in (0, 1, other, 255, 4095, 4096, 0xffffffff):
            c.ask(adverbd.SENDER, struct.pack("=II", n, 5), expect=1)
        c.ask(adverbd.SENDER, struct.pack("=II", mine, 65536), expect=1)
        c.ask(adverbd.SENDER, struct.pack("=II", mine, 50000))
        late = c.open_block(slot)
        assert (port_of(mine), port_of(other)) == (50000, 0)
        assert {entry(0, q) for q in (block, block + 0xffff, late, late + 0xffff)} == {50000}
        daemon.kill(watcher.status()["worker"])
        with Client() as d:
            assert port_of(mine) == 50000
            wait_for(lambda: d.slots() == [])
            assert port_of(mine) == 50000 and home_of(block) == mine
            wait_for(lambda: port_of(mine) == 0 and home_of(block) == 0)
            assert home_of(late + 0xffff) == 0 and entry(0, late) == 0
            assert port_of(0) != 0


def never_reads(build):
    """A client that sends requests and does not read the answers is dropped. No client waits for
    it."""
    with Daemon(build), Client() as watcher:
        with Client() as deaf:
            deaf.open_slot()
            assert watcher.slots() == [2]
            deaf.sock.settimeout(0.2)
            try:
                for _ in range(100000):
                    deaf.send(adverbd.STATUS)
            except (BrokenPipeError, ConnectionError, socket.timeout):
                pass
            watcher.status()
            wait_for(lambda: watcher.slots() == [])


def deaf_to_notices(build):
    """A stopped client, which reads nothing, keeps its slot while other clients cause notices."""
    adverbd.sh("ip link add nt0 type veth peer name nt1; ip link set nt0 up; ip link set nt1 up")
    with Daemon(build), Client() as watcher, Client() as stopped:
        slot = stopped.open_slot()
        pid = watcher.status()["worker"]
        for i in range(15):
            adverbd.sh(f"ip addr add 10.3.{i}.1/24 dev nt0")
            time.sleep(0.03)
        assert watcher.slots() == [slot.number]
        stopped.ask(adverbd.STATUS)
        assert len(stopped.notices) >= 2
        assert watcher.status()["worker"] == pid
    adverbd.sh("ip link del nt0")


def ask_pair(client, slot, peer):
    """Requests a pair. Returns errno."""
    client.send(adverbd.PAIR, struct.pack("=IIII", slot, peer, 0, 0))
    while True:
        kind, _, result, _, fds = client.receive()
        for fd in fds:
            os.close(fd)
        if kind == adverbd.PAIR:
            return result


def too_many_pairs(build):
    """A user has at most half of the pairs. A slot has no pair with itself."""
    adverbd.need_root()

    def ask(ready):
        clients = [Client("adverbd") for _ in range(4)]
        slots = [[c.open_slot().number for _ in range(31)] for c in clients]
        assert ask_pair(clients[0], slots[0][0], slots[0][1]) == errno.EPERM
        results = [share_memory(clients[i], a, clients[j], b) for i in range(4) for j in range(i)
                   for a in slots[i] for b in slots[j]]
        assert results.count(0) == 1024 and set(results) == {0, errno.ENFILE}
        ready()
        return clients

    with Daemon(build, "--system", name="adverbd"), Client("adverbd") as a, \
            Client("adverbd") as b, adverbd.as_nobody(ask):
        for _ in range(3):
            assert share_memory(a, a.open_slot().number, b, b.open_slot().number) == 0


def share_memory(one, slot, other, peer):
    """Both slots request and fetch the pair. Returns errno."""
    assert ask_pair(one, slot, peer) == errno.EAGAIN
    result = ask_pair(other, peer, slot)
    return result or ask_pair(one, slot, peer)


def few_descriptors(build):
    """If adverbd may open few descriptors, a user gets a share of them, and others are served."""
    adverbd.need_root()

    def connect(ready):
        clients = []
        try:
            while True:
                clients.append(Client("adverbd"))
        except (AssertionError, Lost, OSError):
            pass
        assert 20 < len(clients) < 300, len(clients)
        ready()
        return clients

    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    with Daemon(build, "--system", name="adverbd", descriptors=1040), \
            adverbd.as_nobody(connect), Client("adverbd") as mine:
        mine.open_slot()
        os.close(mine.ask(8)[1][0])  # OPEN_CM
    assert resource.getrlimit(resource.RLIMIT_NOFILE) == (soft, hard)


def client_or_none():
    try:
        return Client()
    except (AssertionError, Lost):
        return None


def too_many(build):
    """The daemon accepts at most 4608 connections. A further one is refused until a connection
    closes."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    if hard < 10000:
        raise adverbd.Skip("needs 10000 file descriptors")
    resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
    with Daemon(build):
        clients = [Client() for _ in range(4608)]
        with Client(hello=False) as one_more:
            assert "maximum number of clients" in dropped(one_more)
        clients.pop().close()
        with wait_for(client_or_none) as c:  # it may come before the daemon sees the end of the other one
            wait_for(lambda: c.status()["clients"] == 4608)
        for c in clients:
            c.close()
        with Client() as c:
            wait_for(lambda: c.status()["clients"] == 1)
    resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))


def out_of_descriptors(build):
    """If adverbd has no descriptors left, it serves its clients and closes new connections."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    code = ("import adverbd, pathlib, resource, sys, time\n"
            "resource.setrlimit(resource.RLIMIT_NOFILE, (400, 400))\n"
            "with adverbd.Daemon(pathlib.Path(sys.argv[1]), descriptors=150) as d:\n"
            "    first, more, refused = adverbd.Client(), [], 0\n"
            "    for _ in range(120):\n"
            "        try: more.append(adverbd.Client())\n"
            "        except (adverbd.Lost, OSError): refused += 1\n"
            "    assert 20 < len(more) < 120 and refused > 0, (len(more), refused)\n"
            "    worker = first.status()['worker']\n"
            "    for c in more: c.close()\n"
            "    adverbd.wait_for(lambda: first.status()['clients'] == 1)\n"
            "    assert first.open_slot().number == 2\n"
            "    adverbd.Client().open_slot()\n"
            "    assert first.status()['worker'] == worker\n")
    here = os.path.dirname(os.path.abspath(__file__))
    subprocess.run([sys.executable, "-c", code, str(build)], check=True, cwd=here, timeout=PATIENCE)
    assert resource.getrlimit(resource.RLIMIT_NOFILE) == (soft, hard)


def another_user(build):
    """A user's daemon serves no other user. The system's daemon serves all users, with separate
    slots."""
    adverbd.need_root()
    with for_nobody.build_folder(build) as place, for_nobody.module_folder(adverbd) as modules:
        other_user(place, modules)


def other_user(build, modules):
    code = ("import adverbd, sys\n"
            "c = adverbd.Client(sys.argv[1], hello=False)\n"
            "try: c.send(adverbd.HELLO)\n"
            "except BrokenPipeError: pass\n"
            "kind, _, _, body, _ = c.receive()\n"
            "if kind == adverbd.REFUSED: print(adverbd.text_of(body)); sys.exit()\n"
            "print(c.open_slot().number)\n"
            "for target in eval(sys.argv[2]): print(c.fault(*target))\n")

    def as_nobody(name, targets=()):
        done = subprocess.run([*adverbd.as_user(adverbd.NOBODY), sys.executable, "-c", code, name,
                               repr(targets)],
                              env={**os.environ, "PYTHONPATH": str(modules),
                                   "PYTHONDONTWRITEBYTECODE": "1"},
                              capture_output=True, text=True, timeout=PATIENCE)
        assert done.returncode == 0, done.stderr
        return done.stdout.strip()

    with Daemon(build):
        assert as_nobody("adverbd-0") == "this adverbd serves another user"
    with Daemon(build, user=adverbd.NOBODY), Client(f"adverbd-{adverbd.NOBODY}") as root:
        assert root.open_slot().number == 2
    with Daemon(build, "--system", name="adverbd", descriptors=640), Client("adverbd") as root:
        assert root.status()["system"] == 1
        first = root.open_slot()
        assert first.number == 2
        # A user can inject faults into its own processes, but not into root's.
        asked = [(adverbd.FAULT_SLOT, 2), (adverbd.FAULT_DAEMON, 0),
                 (adverbd.FAULT_PROCESS, os.getpid()), (adverbd.FAULT_PROCESS, 0)]
        assert as_nobody("adverbd", asked).split() == ["3", "1", "1", "1", "0"]
        assert root.fault(adverbd.FAULT_DAEMON, 0) == 0
        wait_for(lambda: root.slots() == [2])
        # Slot 3 belonged to another user, who may still hold the socket.
        numbers = {root.open_slot().number for _ in range(root.status()["total"] - 2)}
        assert 3 not in numbers
        root.ask(adverbd.OPEN_SLOT, expect=11)
        assert as_nobody("adverbd") == "3"


if __name__ == "__main__":
    adverbd.main([garbage, wrong_messages, descriptors_sent, pages, senders, never_reads,
                  deaf_to_notices, too_many, too_many_pairs, few_descriptors, out_of_descriptors,
                  another_user])
