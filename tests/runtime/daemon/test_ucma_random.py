#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""Clients that send valid commands in any order, while a peer changes and repeats their packets.

Invariants: the daemon lives and answers everything; an id's events come in the order that nic/cm/cm.h
promises; no event waits without a byte on its channel; in the end nothing is left.
ADVERB_TEST_SEED: the first seed; ADVERB_TEST_ROUNDS: the number of seeds.
"""

import os
import random
import select
import socket
import struct
import zlib

import adverbd
import ucma
from adverbd import Client, Daemon, wait_for
from ucma import Cm, connect

CLIENTS, STEPS = 4, 600
ADDRESSES = ("127.0.0.1", "127.0.0.2", "127.0.0.3", "0.0.0.0", "::1", "::", "10.9.9.9", "224.1.2.3")
OURS = ("127.0.0.1", "127.0.0.2", "127.0.0.3")
ETH_P_IP = 0x0800
MAD_AT, MAD_LEN = 20, 256  # after BTH and DETH
REQ, MRA, REJ, REP, RTU, DREQ, DREP, SIDR_REQ, SIDR_REP, LAP = (
    0x10, 0x11, 0x12, 0x13, 0x14, 0x15, 0x16, 0x17, 0x18, 0x19)

# The events that may follow an event of the same id; None: the first event.
AFTER = {
    None: {ucma.ADDR_RESOLVED, ucma.ADDR_ERROR, ucma.ESTABLISHED, ucma.UNREACHABLE, ucma.REJECTED,
           ucma.DISCONNECTED, ucma.MULTICAST_JOIN, ucma.MULTICAST_ERROR},
    ucma.ADDR_RESOLVED: {ucma.ROUTE_RESOLVED, ucma.ROUTE_ERROR},
    ucma.ADDR_ERROR: {ucma.ADDR_RESOLVED, ucma.ADDR_ERROR},
    ucma.ROUTE_ERROR: {ucma.ROUTE_RESOLVED, ucma.ROUTE_ERROR},
    ucma.ROUTE_RESOLVED: {ucma.CONNECT_RESPONSE, ucma.UNREACHABLE, ucma.REJECTED,
                          ucma.ESTABLISHED},
    ucma.CONNECT_RESPONSE: {ucma.REJECTED, ucma.DISCONNECTED},
    ucma.ESTABLISHED: {ucma.DISCONNECTED},
    ucma.DISCONNECTED: {ucma.TIMEWAIT_EXIT},
    ucma.REJECTED: {ucma.TIMEWAIT_EXIT},
    ucma.UNREACHABLE: set(),
    ucma.TIMEWAIT_EXIT: set(),
}


def with_icrc(source, target, port, packet_id, payload):
    """Returns the payload with its ICRC; addresses and port are bytes."""
    length = 28 + len(payload) + 4
    ip = struct.pack(">BBHHHBBH4s4s", 0x45, 0xff, length, packet_id, 0x4000, 0xff, 17, 0xffff,
                     source, target)
    udp = port + struct.pack(">HHH", adverbd.PORT, length - 20, 0xffff)
    crc = zlib.crc32(b"\xff" * 8 + ip + udp)
    crc = zlib.crc32(payload[:4] + b"\xff" + payload[5:], crc)
    return payload + crc.to_bytes(4, "little")


class Wire:
    """Captures packets on lo and sends them again, changed or not, with a right ICRC."""

    def __init__(self, dice):
        self.dice = dice
        self.heard = []
        self.ear = socket.socket(socket.AF_PACKET, socket.SOCK_RAW, socket.htons(ETH_P_IP))
        self.ear.bind(("lo", 0))
        self.ear.setblocking(False)
        self.ear.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 1 << 22)
        # Only a sender of raw IP packets can use the daemon's own port; others are ignored.
        self.mouth = socket.socket(socket.AF_INET, socket.SOCK_RAW, socket.IPPROTO_RAW)

    def close(self):
        self.ear.close()
        self.mouth.close()

    def listen(self):
        try:
            while True:
                frame, where = self.ear.recvfrom(2048)
                ip = frame[14:]
                if (where[2] == socket.PACKET_OUTGOING or len(ip) < 28 + MAD_AT + MAD_LEN + 4 or
                        ip[9] != 17 or ip[22:24] != adverbd.PORT.to_bytes(2, "big")):
                    continue
                self.heard.append((ip[12:16], ip[16:20], ip[20:22],
                                   ip[28:28 + MAD_AT + MAD_LEN]))
        except BlockingIOError:
            del self.heard[:-200]

    def send(self, source, target, port, payload):
        data = with_icrc(source, target, port, 1, payload)  # with ID 0 the kernel would choose one
        ip = struct.pack(">BBHHHBBH4s4s", 0x45, 0, 28 + len(data), 1, 0x4000, 64, 17, 0, source,
                         target)
        udp = port + struct.pack(">HHH", adverbd.PORT, 8 + len(data), 0)
        self.mouth.sendto(ip + udp + data, (socket.inet_ntoa(target), 0))

    def meddle(self):
        """Sends a captured packet: again, reversed, with a few bytes changed, or as another
        message."""
        self.listen()
        if not self.heard:
            return
        source, target, port, payload = self.dice.choice(self.heard)
        mad = bytearray(payload)
        what = self.dice.randrange(6)
        if what == 1:
            source, target = target, source
        elif what == 2:
            for _ in range(self.dice.randrange(1, 4)):
                mad[MAD_AT + self.dice.randrange(24, MAD_LEN)] = self.dice.randrange(256)
        elif what == 3:
            mad[MAD_AT + self.dice.randrange(24)] ^= 1 << self.dice.randrange(8)
        elif what == 4:  # another message with the same ids
            mad[MAD_AT + 17] = self.dice.choice((REQ, MRA, REJ, REP, RTU, DREQ, DREP, SIDR_REQ,
                                                 SIDR_REP, LAP))
        elif what == 5:  # both ids exchanged, as from the other side
            at = MAD_AT + 24
            mad[at:at + 8] = mad[at + 4:at + 8] + mad[at:at + 4]
            mad[MAD_AT + 17] = self.dice.choice((MRA, REJ, RTU, DREQ, DREP, LAP))
            source, target = target, source
        self.send(source, target, port, bytes(mad))


class Actor:
    """One client, its objects, and the events of each id."""

    def __init__(self, dice, ports):
        self.dice, self.ports = dice, ports
        self.cm = Cm()
        self.channels = [self.cm.channel]
        self.ids = []
        self.gone = [1, 0x10000, 0xffffffff]
        self.last = {}
        self.groups = []

    def close(self):
        self.cm.close()

    def an_id(self):
        return self.dice.choice(self.ids if self.ids and self.dice.random() < 0.95 else self.gone)

    def address(self):
        return self.dice.choice(OURS if self.dice.random() < 0.8 else ADDRESSES)

    def port(self):
        some = self.ports if self.ports and self.dice.random() < 0.9 else (0, 9, 7471)
        return self.dice.choice(some)

    def remember(self, e):
        if e.type == ucma.CONNECT_REQUEST or e.type >= 16:
            if e.type == ucma.CONNECT_REQUEST:
                self.ids.append(e.id)
            return
        if e.type in (ucma.MULTICAST_JOIN, ucma.MULTICAST_ERROR, ucma.ADDR_CHANGE):
            return
        last = self.last.get(e.id)
        assert e.type in AFTER[last], (e.id, last, e.type, e.status)
        assert e.id in self.ids, "an event of an id that was destroyed"
        self.last[e.id] = e.type

    def fetch(self, channel):
        e = self.cm.fetch(channel)
        if e:
            self.remember(e)
        return e

    def events(self):
        """As a program does: a byte, then an event; in the end none is left."""
        for channel in self.channels:
            s = self.cm.tokens[channel]
            while select.select([s], [], [], 0)[0]:
                assert s.recv(1) == b"\0"
                self.fetch(channel)
            if self.fetch(channel):  # the event may have arrived since the last check
                assert select.select([s], [], [], 1)[0], "an event without a byte"

    # ---- what it does ----

    def create(self):
        number = self.cm.ask(ucma.CREATE_ID, struct.pack("=II", self.dice.choice(
            (ucma.PS_TCP, ucma.PS_TCP, ucma.PS_TCP, ucma.PS_UDP, ucma.PS_IB, ucma.PS_IPOIB, 0)),
            self.dice.choice((2, 2, 3, 4, 9, 10, 99))), expect=None,
            channel=self.dice.choice(self.channels))
        if number[-1] == 0:
            self.ids.append(number[1])

    def destroy(self):
        number = self.an_id()
        if self.cm.result(ucma.DESTROY_ID, number=number) == 0:
            self.ids.remove(number)
            self.gone.append(number)

    def bind(self):
        self.cm.result(ucma.BIND, ucma.sockaddr(self.address(), self.port()), number=self.an_id())

    def listen(self):
        *answer, result = self.cm.ask(ucma.LISTEN, expect=None, number=self.an_id(),
                                      value=self.dice.choice((0, 1, 2, 1 << 63, 5000)))
        if result == 0:
            self.ports.append(ucma.Route(answer[3]).local[1])
            del self.ports[:-20]

    def resolve(self):
        source = self.address() if self.dice.random() < 0.3 else None
        body = (ucma.sockaddr(source, 0) + ucma.sockaddr(self.address(), self.port()) +
                struct.pack("=I", self.dice.choice((0, 1, 1000, 0xffffffff))))
        self.cm.result(ucma.RESOLVE_ADDR, body, number=self.an_id())

    def resolve_route(self):
        self.cm.result(ucma.RESOLVE_ROUTE, bytes(56) + struct.pack("=I", 100), number=self.an_id())

    def ready(self):
        """Sends the usual sequence of commands, so that connections are made."""
        number = self.cm.new_id(self.dice.choice((ucma.PS_TCP, ucma.PS_TCP, ucma.PS_UDP)),
                                channel=self.dice.choice(self.channels))
        self.ids.append(number)
        body = ucma.sockaddr(None) + ucma.sockaddr(self.dice.choice(OURS), self.port())
        if self.cm.result(ucma.RESOLVE_ADDR, body + struct.pack("=I", 100), number=number) == 0:
            self.cm.result(ucma.RESOLVE_ROUTE, bytes(56) + struct.pack("=I", 100), number=number)
            self.cm.result(ucma.CONNECT, ucma.conn(), number=number)

    def listener(self):
        number = self.cm.new_id(self.dice.choice((ucma.PS_TCP, ucma.PS_TCP, ucma.PS_UDP)),
                                channel=self.dice.choice(self.channels))
        self.ids.append(number)
        if self.cm.result(ucma.BIND, ucma.sockaddr("0.0.0.0"), number=number) == 0:
            self.ports.append(self.cm.listen(number, self.dice.choice((0, 1, 3))).local[1])

    def say(self):
        kind = self.dice.choice((ucma.CONNECT, ucma.ACCEPT, ucma.ACCEPT, ucma.REJECT,
                                 ucma.ESTABLISH, ucma.ESTABLISH, ucma.DISCONNECT))
        length = self.dice.choice((0, 0, 0, 8, 56, 57, 136, 137, 148, 149, 180, 181, 196, 197, 224,
                                   225, 255))
        body = ucma.conn(qp_num=self.dice.choice((None, None, None, 0, 1, 5, 0xffffff, 0x1000000)),
                         private=self.dice.randbytes(length), depth=self.dice.choice((0, 1, 255)),
                         reason=self.dice.choice((0, 10, 28, 255)),
                         qp_type=self.dice.choice((0, 2, 3, 4, 9)))
        self.cm.result(kind, body, number=self.an_id())

    def answer_all(self):
        for number in self.ids:
            self.cm.result(self.dice.choice((ucma.ACCEPT, ucma.ESTABLISH)), ucma.conn(),
                           number=number)

    def attributes(self):
        self.cm.result(ucma.QP_ATTR, number=self.an_id(),
                       value=self.dice.choice((1, 2, 3, 6, 1 << 33)))
        self.cm.result(ucma.QUERY_ROUTE, number=self.an_id())

    def option(self):
        data = self.dice.choice((b"", b"\x2e", bytes(4), b"\x01\0\0\0", b"\xff", b"x" * 64))
        level, name = self.dice.choice((0, 0, 1, 9)), self.dice.randrange(5)
        head = struct.pack("=III", level, name, len(data))
        self.cm.result(ucma.SET_OPTION, head + data, number=self.an_id())

    def join(self):
        *answer, result = self.cm.ask(ucma.JOIN, ucma.sockaddr(self.dice.choice((
            "224.1.2.3", "ff02::77", "127.0.0.1"))) + struct.pack("=I", self.dice.randrange(3)),
            expect=None, number=self.an_id())
        if result == 0:
            self.groups.append(answer[2])

    def leave(self):
        self.cm.result(ucma.LEAVE, number=self.an_id(),
                       value=self.dice.choice(self.groups or [1, 1 << 40]))

    def migrate(self):
        self.cm.result(ucma.MIGRATE, number=self.an_id(),
                       channel=self.dice.choice(self.channels + [77]))

    def new_channel(self):
        if len(self.channels) < 5:
            self.channels.append(self.cm.new_channel())

    def destroy_channel(self):
        channel = self.dice.choice(self.channels[1:] or [99])
        if self.cm.result(ucma.DESTROY_CHANNEL, channel=channel) == 0:
            self.channels.remove(channel)
            self.cm.tokens.pop(channel).close()

    def write_event(self):
        self.cm.result(ucma.WRITE_EVENT, struct.pack("=Ii", self.dice.choice((16, 9, 17)), -5),
                       number=self.an_id())

    def get_untold(self):
        self.fetch(self.dice.choice(self.channels))

    def step(self):
        do = self.dice.choices(
            (self.ready, self.listener, self.say, self.answer_all, self.events, self.create,
             self.destroy, self.bind, self.listen, self.resolve, self.resolve_route,
             self.attributes, self.option, self.join, self.leave, self.migrate, self.new_channel,
             self.destroy_channel, self.write_event, self.get_untold),
            (10, 3, 15, 4, 12, 4, 8, 3, 3, 4, 4, 3, 3, 2, 1, 4, 1, 1, 1, 3))[0]
        if len(self.ids) > 60 and do in (self.ready, self.create):
            do = self.destroy
        do()


def one_round(seed, watcher):
    dice = random.Random(seed)
    ports, wire = [], Wire(dice)
    actors = [Actor(dice, ports) for _ in range(CLIENTS)]
    try:
        for _ in range(STEPS):
            i = dice.randrange(CLIENTS)
            if dice.random() < 0.004:
                actors[i].close()
                actors[i] = Actor(dice, ports)
            actors[i].step()
            if dice.random() < 0.5:
                wire.meddle()
        for a in actors:
            a.events()
    finally:
        wire.close()
        for a in actors:
            a.close()
    wait_for(lambda: watcher.cm_status()["clients"] == 0)
    assert watcher.cm_status()["ids"] == 0


def any_order(build):
    first = int(os.environ.get("ADVERB_TEST_SEED", "1"))
    with Daemon(build) as daemon, Client() as watcher:
        pid = watcher.status()["worker"]
        for seed in range(first, first + int(os.environ.get("ADVERB_TEST_ROUNDS", "8"))):
            try:
                one_round(seed, watcher)
            except BaseException:
                print(f"seed {seed}", flush=True)
                raise
        with Cm() as server, Cm() as client:
            _, port = server.listener()
            connect(client, server, "127.0.0.1", port)
        assert watcher.status()["worker"] == pid, daemon.said()


if __name__ == "__main__":
    adverbd.main([any_order])
