#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""A hostile client of the connection manager may send any messages or read nothing: other clients
are still served.
"""

import errno
import os
import random
import signal
import socket
import struct
import subprocess
import sys
import time

import adverbd
import ucma
from adverbd import Client, Daemon, PATIENCE, wait_for
from test_ucma_random import MAD_AT, OURS, REQ, Wire, with_icrc
from ucma import Cm, connect

SENDING = 16  # sockets that QP1 opens to send from one address
BOTH = (ConnectionError, BrokenPipeError, socket.timeout)


def descriptors(pid):
    return len(os.listdir(f"/proc/{pid}/fd"))


def is_dropped(cm):
    cm.sock.settimeout(PATIENCE)
    try:
        while True:
            cm.receive()
    except ucma.Lost:
        return True


def works(server, client):
    listener, port = server.listener()
    active, passive = connect(client, server, "127.0.0.1", port)
    client.destroy(active)
    assert server.event(ucma.DISCONNECTED).id == passive
    server.destroy(passive)
    server.destroy(listener)


def garbage(build):
    """Random messages: whole ones of every type with random contents, and partial ones."""
    dice = random.Random(4791)
    with Daemon(build) as daemon, Cm() as server, Cm() as client, Client() as watcher:
        pid = watcher.status()["worker"]
        before = descriptors(pid)
        for i in range(300):
            with Cm() as cm:
                numbers = [cm.new_id(dice.choice((ucma.PS_TCP, ucma.PS_UDP))) for _ in range(3)]
                for _ in range(20):
                    feed(dice, cm, numbers, i)
        wait_for(lambda: watcher.cm_status()["clients"] == 2)
        wait_for(lambda: watcher.cm_status()["ids"] == 0)
        wait_for(lambda: descriptors(pid) <= before + SENDING)
        works(server, client)
        assert watcher.status()["worker"] == pid, daemon.said()


def feed(dice, cm, numbers, i):
    """Sends one message of some kind; the connection may be closed afterwards."""
    if i % 3 == 0:
        data = dice.randbytes(dice.choice((0, 1, 31, 32, 511, 512, 512, 513, 4096)))
    else:
        kind = dice.randrange(1, ucma.COMMANDS)
        body = bytes(dice.choice((0, 1, 2, 10, 255, dice.randrange(256))) for _ in range(480))
        if dice.random() < 0.5:
            body = ucma.sockaddr("127.0.0.1") + ucma.sockaddr("127.0.0.1", 1) + body[56:]
        data = ucma.HEAD.pack(ucma.MAGIC, ucma.VERSION, kind, 1, 0, cm.channel,
                              dice.choice(numbers), dice.choice((0, 1, 2, 3, 1 << 40))) + body
    try:
        cm.sock.send(data)
        cm.sock.settimeout(0.0)
        socket.recv_fds(cm.sock, 600, 4)
    except OSError:
        pass
    finally:
        cm.sock.settimeout(PATIENCE)


def wrong_messages(build):
    with Daemon(build), Client() as watcher:
        for send in (lambda c: c.send(ucma.CREATE_ID, magic=1),
                     lambda c: c.send(ucma.CREATE_ID, version=ucma.VERSION + 1),
                     lambda c: c.sock.send(b"x" * 511), lambda c: c.sock.send(b"x" * 513),
                     lambda c: c.sock.send(b"x"), lambda c: c.send(0), lambda c: c.send(255),
                     lambda c: c.send(ucma.COMMANDS), lambda c: c.send(65535)):
            with Cm() as cm:
                cm.listener(port=7471)
                send(cm)
                assert is_dropped(cm)
            wait_for(lambda: watcher.cm_status()["clients"] == 0)


def descriptors_sent(build):
    with Daemon(build), Client() as watcher, Cm() as cm:
        pid = watcher.status()["worker"]
        before = descriptors(pid)
        message = ucma.HEAD.pack(ucma.MAGIC, ucma.VERSION, ucma.GET_EVENT, 1, 0, cm.channel, 0, 0).ljust(512)
        for n in (1, 8, 9, 200):
            if adverbd.send_descriptors(cm.sock, message, [0] * n):
                assert cm.receive()[2] == errno.EAGAIN
            assert descriptors(pid) == before, n


def never_reads(build):
    """A client that reads neither answers nor events is dropped. Other clients are served."""
    with Daemon(build), Client() as watcher, Cm() as server, Cm() as client:
        with Cm() as deaf:
            deaf.sock.settimeout(0.2)
            try:
                while True:
                    deaf.send(ucma.CREATE_ID, struct.pack("=II", ucma.PS_TCP, 2),
                              channel=deaf.channel)
            except BOTH:
                pass
            works(server, client)
            wait_for(lambda: watcher.cm_status()["clients"] == 2)
        with Cm() as deaf:
            number = deaf.new_id()
            try:
                for i in range(200000):
                    deaf.ask(ucma.WRITE_EVENT, struct.pack("=Ii", 16, 0), number=number)
                raise AssertionError("events without end")
            except (ucma.Lost, *BOTH):
                assert i >= 16384
            works(server, client)
        wait_for(lambda: watcher.cm_status()["ids"] == 0)


def flood(build):
    """Other clients are served while clients send requests of all kinds as fast as they can."""
    code = ("import itertools, sys, ucma\n"
            "cm = ucma.Cm()\n"
            "print('on', flush=True)\n"
            "for i in itertools.count():\n"
            "    number = cm.new_id()\n"
            "    cm.bind(number, '127.0.0.1')\n"
            "    cm.resolve(number, '127.0.0.1', 1)\n"
            "    if i % 2: cm.destroy(number)\n"
            "    if i % 100 == 0: cm.drain()\n")
    here = os.path.dirname(os.path.abspath(__file__))
    environment = {**os.environ, "PYTHONPATH": here, "PYTHONDONTWRITEBYTECODE": "1"}
    with Daemon(build), Cm() as server, Cm() as client, Client() as watcher:
        floods = [subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE, text=True,
                                   stderr=subprocess.DEVNULL, env=environment) for _ in range(3)]
        try:
            for f in floods:
                assert f.stdout.readline() == "on\n"
            end = time.monotonic() + 2
            while time.monotonic() < end:
                works(server, client)
        finally:
            for f in floods:
                f.kill()
                f.wait()
        wait_for(lambda: watcher.cm_status()["ids"] == 0)


def too_many_ids(build):
    """A client has at most 131,072 ids. When it exits, all its ids are destroyed, and other clients
    do not wait for that."""
    with Daemon(build), Cm() as server, Cm() as client, Client() as watcher:
        with Cm() as greedy:
            for _ in range(131072):
                greedy.new_id()
            greedy.new_id(expect=errno.ENOMEM)
            works(server, client)
            greedy.close()
            works(server, client)
        wait_for(lambda: watcher.cm_status()["ids"] == 0)


def too_many_groups(build):
    """A client has at most 8,192 memberships."""
    join = ucma.sockaddr("239.1.1.1") + bytes(4)
    with Daemon(build), Cm() as server, Cm() as client:
        with Cm() as greedy:
            number = greedy.new_id(ucma.PS_UDP)
            greedy.bind(number, "127.0.0.1")
            for _ in range(8192):
                greedy.ask(ucma.JOIN, join, number=number)
            greedy.ask(ucma.JOIN, join, number=number, expect=errno.ENOBUFS)
            works(server, client)
        works(server, client)


def too_many_channels(build):
    """Channels need descriptors of the daemon. The limit of channels is reached before the daemon's
    limit of descriptors."""
    with Daemon(build), Client() as watcher, Cm() as server, Cm() as client:
        pid = watcher.status()["worker"]
        before = descriptors(pid)
        with Cm() as greedy:
            made = 0
            while True:
                *answer, result = greedy.ask(ucma.CREATE_CHANNEL, expect=None)
                if result:
                    break
                os.close(answer[4][0])
                made += 1
            assert result == errno.EMFILE and 64 <= made <= 8192
            works(server, client)
            Cm().close()
        wait_for(lambda: descriptors(pid) <= before + SENDING)


def too_many_clients(build):
    with Daemon(build), Client() as watcher:
        sockets = []
        with Client() as control:
            while True:
                control.send(ucma.OPEN_CM)
                _, _, result, _, fds = control.receive()
                if result:
                    break
                sockets.append(fds[0])
        assert result == errno.EUSERS and len(sockets) == 64, (result, len(sockets))
        for fd in sockets:
            os.close(fd)
        wait_for(lambda: watcher.cm_status()["clients"] == 0)
        Cm().close()


def new_ids(cm, count):
    """Makes ids, with 50 requests in flight."""
    for _ in range(count // 50):
        for _ in range(50):
            cm.send(ucma.CREATE_ID, struct.pack("=II", ucma.PS_TCP, ucma.RC), channel=cm.channel)
        for _ in range(50):
            assert cm.receive()[2] == 0


PLAN = struct.Struct("=IHHiII4xQ256sI")  # struct adv_fault_exchange_message, before its text
SHOW, SET = 1, 2


def plan(client, command, number=0, text=b""):
    """Returns (errno, whether there is a plan) for a process; 0: the client's own."""
    _, fds = client.ask(adverbd.FAULT, struct.pack("=II", adverbd.FAULT_OPEN, 0))
    with socket.socket(fileno=fds[0]) as mine:
        version = adverbd.version_in("runtime/exchange/fault_exchange.h", "ADV_FAULT_EXCHANGE_VERSION")
        mine.send(PLAN.pack(0x41445646, version, command, 0, 0, 0, 0, bytes(256), len(text)) + text)
        client.ask(adverbd.FAULT, struct.pack("=II", adverbd.FAULT_PROCESS, number))
        answer = PLAN.unpack(mine.recv(65536)[:PLAN.size])
    return answer[3], answer[4] != 0


def plans_end(build):
    """A process's plan lasts as long as the process has a connection of either kind."""
    with Daemon(build), Client() as watcher, Cm() as cm:
        assert plan(watcher, SHOW) == (0, False)
        assert plan(watcher, SET, text=b"drop=1%") == (0, True)
        watcher.close()
        with Client() as again:
            assert plan(again, SHOW) == (0, True)
            cm.close()
            wait_for(lambda: again.cm_status()["clients"] == 0)
            assert plan(again, SHOW) == (0, True)
            worker = again.status()["worker"]
            before = descriptors(worker)
        wait_for(lambda: descriptors(worker) < before)
        with Client() as again:
            assert plan(again, SHOW) == (0, False)


def too_many_plans(build):
    """At most 128 processes of one user have a plan; other users can have theirs."""
    adverbd.need_root()

    def ask(ready):
        results, children = [], []
        hear, say = os.pipe()
        for _ in range(130):
            child = os.fork()
            if not child:
                client = Client("adverbd")
                os.write(say, struct.pack("=i", plan(client, SET, text=b"drop=1%")[0]))
                time.sleep(60)
                os._exit(0)
            children.append(child)
        results = [struct.unpack("=i", os.read(hear, 4))[0] for _ in children]
        assert sorted(results) == 128 * [0] + 2 * [errno.ENOSPC], results
        ready()
        for child in children:
            os.kill(child, signal.SIGKILL)
        for child in children:
            os.waitpid(child, 0)
        client = Client("adverbd")
        wait_for(lambda: plan(client, SET, text=b"drop=1%") == (0, True))
        ready()
        return client

    with Daemon(build, "--system", name="adverbd"), Client("adverbd") as mine, \
            adverbd.as_nobody(ask) as nobody:
        assert plan(mine, SET, text=b"drop=1%") == (0, True)
        assert nobody()


def fill(cms, kind, body, bound):
    """Sends requests, one socket after the other. Returns the number of successful requests, and
    the error of the first failed one."""
    made = 0
    for cm in cms:
        for i in range(bound + 1):
            number = cm.new_id(ucma.PS_UDP) if kind == ucma.RESOLVE_ADDR or not i else number
            if kind == ucma.JOIN and not i:
                cm.bind(number, "127.0.0.1")
            result = cm.result(kind, body, number=number)
            if result:
                break
            made += 1
        if i < bound:
            break
    return made, result


def share_of_user(build):
    """A process with several sockets has no more groups, or queries, than a user may have."""
    adverbd.need_root()
    adverbd.sh("ip link add nt0 type veth peer name nt1; ip addr add 10.9.0.1/24 dev nt0;"
               "ip link set nt0 up; ip link set nt1 up")
    join = ucma.sockaddr("239.1.1.1") + bytes(4)
    nowhere = (ucma.sockaddr("10.9.0.1") + ucma.sockaddr("10.9.0.77", 1) +
               struct.pack("=I", 100000))

    def ask(ready):
        cms = [Cm("adverbd") for _ in range(6)]
        cms[0].wait_for_address("10.9.0.1")
        joined, error = fill(cms, ucma.JOIN, join, 8192)
        assert (joined, error) == (16384, errno.ENOBUFS), (joined, error)
        resolving, error = fill(cms, ucma.RESOLVE_ADDR, nowhere, 4096)
        assert (resolving, error) == (8192, errno.ENOMEM), (resolving, error)
        ready()
        return cms

    try:
        adverbd.sh("echo 1000 > /proc/sys/net/ipv4/neigh/nt0/mcast_solicit")
        with Daemon(build, "--system", name="adverbd"), Cm("adverbd") as mine, \
                adverbd.as_nobody(ask):
            assert fill([mine], ucma.JOIN, join, 10) == (11, 0)
            mine.drain()
            mine.ready("127.0.0.1", 1)
    finally:
        adverbd.sh("ip link del nt0")


def busy_user(build):
    """Many connections of a user with many ids send requests without a pause: others are served."""
    adverbd.need_root()

    def ask(ready):
        cm = Cm("adverbd")
        new_ids(cm, 60000)
        clients = [Client("adverbd") for _ in range(100)]
        ready()
        while True:
            for c in clients:
                for _ in range(16):
                    c.send(adverbd.STATUS)
            for c in clients:
                for _ in range(16):
                    c.sock.recv(256)

    with Daemon(build, "--system", name="adverbd"), Cm("adverbd") as mine, adverbd.as_nobody(ask):
        for _ in range(20):
            mine.destroy(mine.new_id())
            time.sleep(0.05)


def packets(build):
    """Random packets to QP1 from the network are counted, and do nothing else."""
    dice = random.Random(18)
    with Daemon(build), Client() as watcher, Cm() as server, Cm() as client:
        s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        for _ in range(2000):
            data = adverbd.bth(dice.choice((0, 1, 1, 2, 0xffff)),
                               dice.randbytes(dice.choice((0, 8, 264, 264, 268, 1000))))
            s.sendto(data, ("127.0.0.1", adverbd.PORT))
        s.sendto(b"", ("127.0.0.1", adverbd.PORT))
        wait_for(lambda: watcher.status()["qp1_dropped"] > 1000)
        works(server, client)


def forged_request(build):
    """A REQ for a connected queue pair ends that pair's connection, by IBTA. Only a daemon can send
    one from a machine's own address."""
    dice = random.Random(19)
    with Daemon(build), Client() as watcher, Cm() as server, Cm() as client:
        wire = Wire(dice)
        server.listener(port=7471)
        _, accepted = connect(client, server, "127.0.0.1", 7471)
        wire.listen()
        source, target, port, req = next(heard for heard in wire.heard
                                         if heard[3][MAD_AT + 17] == REQ)
        forged = bytearray(req)
        forged[MAD_AT + 8:MAD_AT + 16] = dice.randbytes(8)  # transaction
        forged[MAD_AT + 24:MAD_AT + 28] = dice.randbytes(4)  # communication id
        forged = bytes(forged)
        for address in OURS:
            with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as s:
                s.setsockopt(socket.IPPROTO_IP, 10, 2)  # IP_MTU_DISCOVER: DO, so the ID is 0
                s.bind((address, 0))
                own = s.getsockname()[1].to_bytes(2, "big")
                name = struct.pack("=I4s4s", 0, source, bytes(4))
                s.sendmsg([with_icrc(source, target, own, 0, forged)],
                          [(socket.IPPROTO_IP, 8, name)], 0,  # IP_PKTINFO
                          (socket.inet_ntoa(target), adverbd.PORT))
        wait_for(lambda: watcher.status()["qp1_dropped"] >= len(OURS))
        server.no_event(0.5)
        client.no_event()
        wire.send(source, target, port, forged)
        assert server.event(ucma.DISCONNECTED).id == accepted
        wire.close()


if __name__ == "__main__":
    adverbd.main([garbage, wrong_messages, descriptors_sent, never_reads, flood, too_many_ids,
                  too_many_groups, too_many_channels, too_many_clients, plans_end,
                  too_many_plans, share_of_user, busy_user, packets, forged_request])
