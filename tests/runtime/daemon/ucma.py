# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""A bare client of the connection manager: the messages of runtime/control/ucma_protocol.h and nothing more.
"""

import contextlib
import errno
import ipaddress
import itertools
import os
import select
import socket
import struct
import time

import adverbd

VERSION = adverbd.version_in("runtime/control/ucma_protocol.h", "ADV_UCMA_PROTOCOL_VERSION")
MAGIC, LENGTH = 0x4144564d, 512
OPEN_CM = 8
(CREATE_CHANNEL, DESTROY_CHANNEL, CREATE_ID, DESTROY_ID, BIND, RESOLVE_ADDR, RESOLVE_ROUTE,
 QUERY_ROUTE, LISTEN, CONNECT, ACCEPT, REJECT, ESTABLISH, DISCONNECT, QP_ATTR, SET_OPTION, JOIN,
 LEAVE, MIGRATE, GET_EVENT, WRITE_EVENT) = range(1, 22)
COMMANDS = 22

(ADDR_RESOLVED, ADDR_ERROR, ROUTE_RESOLVED, ROUTE_ERROR, CONNECT_REQUEST, CONNECT_RESPONSE,
 CONNECT_ERROR, UNREACHABLE, REJECTED, ESTABLISHED, DISCONNECTED, DEVICE_REMOVAL, MULTICAST_JOIN,
 MULTICAST_ERROR, ADDR_CHANGE, TIMEWAIT_EXIT) = range(16)

PS_IPOIB, PS_TCP, PS_UDP, PS_IB = 0x0002, 0x0106, 0x0111, 0x013f
RC, UD = 2, 4
INIT, RTR, RTS = 1, 2, 3

HEAD = struct.Struct("=IHHIiIIQ")
CONN = struct.Struct("=5I9B255s")
ROUTE = struct.Struct("=28s28s16s16sIIH11B3x")


class Lost(Exception):
    """The daemon closed the connection."""


def sockaddr(text, port=0, scope=0):
    """Returns it as union adv_ucma_sockaddr; None: without a family."""
    if text is None:
        return bytes(28)
    ip = ipaddress.ip_address(text)
    if ip.version == 4:
        packed = struct.pack("=H", socket.AF_INET) + struct.pack(">H", port) + ip.packed
    else:
        packed = (struct.pack("=H", socket.AF_INET6) + struct.pack(">HI", port, 0) + ip.packed +
                  struct.pack("=I", scope))
    return packed.ljust(28, b"\0")


def address_of(raw):
    """Returns (address, port) of a sockaddr, or None."""
    family, = struct.unpack("=H", raw[:2])
    port, = struct.unpack(">H", raw[2:4])
    if family == socket.AF_INET:
        return str(ipaddress.ip_address(raw[4:8])), port
    if family == socket.AF_INET6:
        return str(ipaddress.ip_address(raw[8:24])), port
    return None


def gid_of(text):
    ip = ipaddress.ip_address(text)
    return bytes(10) + b"\xff\xff" + ip.packed if ip.version == 4 else ip.packed


class Route:
    def __init__(self, body):
        fields = ROUTE.unpack(body[:ROUTE.size])
        self.local, self.remote = address_of(fields[0]), address_of(fields[1])
        self.sgid, self.dgid, self.ifindex, self.flow_label, self.pkey = fields[2:7]
        (self.has_path, self.port_num, self.sgid_index, self.v1, self.tclass, self.hop_limit, self.sl,
         self.mtu, self.rate, self.packet_life_time, _) = fields[7:]


class Conn:
    def __init__(self, body):
        (self.qp_num, self.qkey, self.srq_num, _, _, self.qp_type, self.reason,
         self.responder_resources, self.initiator_depth, self.flow_control, self.retry_count,
         self.rnr_retry_count, self.srq, length, data) = CONN.unpack(body[:CONN.size])
        self.private = data[:length]


class Event:
    def __init__(self, number, value, body):
        self.id, self.value = number, value
        (self.type, self.status, self.listen, self.multicast, self.port_space,
         self.qp_type) = struct.unpack("=IiIIII", body[:24])
        self.route = Route(body[24:])
        self.conn = Conn(body[24 + ROUTE.size:])


NUMBERS = (n & 0xffffff for n in itertools.count(os.getpid() << 8 | 1))


def conn(qp_num=None, private=b"", qp_type=RC, reason=0, qkey=0, length=None, depth=1):
    """Returns it as struct adv_ucma_conn; without qp_num, one that no other connection has."""
    qp_num = next(NUMBERS) if qp_num is None else qp_num
    return CONN.pack(qp_num, qkey, 0, 0, 0, qp_type, reason, depth, depth, 0, 7, 7, 0,
                     len(private) if length is None else length, private)


class Cm:
    """One socket of the protocol, with one channel already made (number `channel`)."""

    def __init__(self, name=None, channel=True):
        with adverbd.Client(name) as control:
            _, fds = control.ask(OPEN_CM)
        self.sock = socket.socket(fileno=fds[0])
        self.sock.settimeout(adverbd.PATIENCE)
        self.serial = 0
        self.tokens = {}
        self.channel = self.new_channel() if channel else None

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()

    def close(self):
        self.sock.close()
        for s in self.tokens.values():
            s.close()
        self.tokens = {}

    def send(self, kind, body=b"", number=0, channel=0, value=0, magic=MAGIC, version=VERSION):
        self.serial += 1
        self.sock.send((HEAD.pack(magic, version, kind, self.serial, 0, channel, number, value) +
                        body).ljust(LENGTH, b"\0"))

    def receive(self):
        """Returns (type, serial, result, channel, id, value, body, descriptors)."""
        try:
            data, fds, _, _ = socket.recv_fds(self.sock, LENGTH + 1, 4)
        except ConnectionResetError:
            raise Lost from None
        if not data:
            raise Lost
        assert len(data) == LENGTH, len(data)
        magic, version, kind, serial, result, channel, number, value = HEAD.unpack(data[:HEAD.size])
        assert (magic, version) == (MAGIC, VERSION)
        return kind, serial, result, channel, number, value, data[HEAD.size:], fds

    def ask(self, kind, body=b"", expect=0, **where):
        """Returns (channel, id, value, body, descriptors) of the answer; `expect`: its result."""
        self.send(kind, body, **where)
        got, serial, result, *answer = self.receive()
        assert got == kind and serial == self.serial, (got, kind, serial)
        if expect is not None:
            assert result == expect, (kind, errno.errorcode.get(result, result))
        return (*answer, result) if expect is None else answer

    def result(self, kind, body=b"", **where):
        return self.ask(kind, body, expect=None, **where)[-1]

    def new_channel(self):
        number, _, _, _, fds = self.ask(CREATE_CHANNEL)
        self.tokens[number] = socket.socket(fileno=fds[0])
        return number

    def new_id(self, ps=PS_TCP, qp_type=RC, channel=None, expect=0, iwarp=False, crc=0, markers=0):
        return self.ask(CREATE_ID, struct.pack("=IIIII", ps, qp_type, iwarp, crc, markers), expect=expect,
                        channel=channel or self.channel)[1]

    def destroy(self, number, expect=0):
        self.ask(DESTROY_ID, number=number, expect=expect)

    def bind(self, number, text, port=0, scope=0, expect=0):
        return Route(self.ask(BIND, sockaddr(text, port, scope), number=number, expect=expect)[3])

    def wait_for_address(self, text):
        """Waits until the daemon has it among its GIDs."""
        def has():
            number = self.new_id()
            result = self.result(BIND, sockaddr(text), number=number)
            self.destroy(number)
            return result == 0

        adverbd.wait_for(has)

    def route(self, number, expect=0):
        return Route(self.ask(QUERY_ROUTE, number=number, expect=expect)[3])

    def listen(self, number, backlog=0, expect=0):
        return Route(self.ask(LISTEN, number=number, value=backlog, expect=expect)[3])

    def listener(self, text="127.0.0.1", port=0, ps=PS_TCP, backlog=0, scope=0, **create):
        """Returns (id, port)."""
        number = self.new_id(ps, **create)
        self.bind(number, text, port, scope)
        return number, self.listen(number, backlog).local[1]

    def resolve(self, number, remote, port=0, source=None, timeout=2000, scope=0, source_port=0,
                expect=0):
        body = (sockaddr(source, source_port, scope) + sockaddr(remote, port, scope) +
                struct.pack("=I", timeout))
        self.ask(RESOLVE_ADDR, body, number=number, expect=expect)

    def resolve_route(self, number, timeout=2000, expect=0):
        self.ask(RESOLVE_ROUTE, bytes(56) + struct.pack("=I", timeout), number=number,
                 expect=expect)

    def option(self, number, name, data, level=0, expect=0):
        self.ask(SET_OPTION, struct.pack("=III", level, name, len(data)) + data[:64],
                 number=number, expect=expect)

    def qp_attr(self, number, state, expect=0):
        """Returns (mask, attributes)."""
        body = self.ask(QP_ATTR, number=number, value=state, expect=expect)[3]
        return struct.unpack("=i", body[144:148])[0], body[:144]

    def command(self, kind, number, expect=0, **param):
        body = conn(**param) if kind in (CONNECT, ACCEPT, REJECT) else b""
        self.ask(kind, body, number=number, expect=expect)

    def take_token(self, channel=None, seconds=adverbd.PATIENCE):
        """Returns False if none arrived."""
        s = self.tokens[channel or self.channel]
        return bool(select.select([s], [], [], seconds)[0]) and s.recv(1) == b"\0"

    def fetch(self, channel=None):
        """Returns the next event, or None, without waiting for a byte."""
        *answer, result = self.ask(GET_EVENT, expect=None, channel=channel or self.channel)
        if result == errno.EAGAIN:
            return None
        assert result == 0, result
        return Event(answer[1], answer[2], answer[3])

    def event(self, kind=None, channel=None, seconds=adverbd.PATIENCE):
        """Waits for the next event, of type `kind`."""
        end = time.monotonic() + seconds
        while True:
            assert self.take_token(channel, max(0.0, end - time.monotonic())), "no event came"
            e = self.fetch(channel)
            if e:
                break
        assert kind in (None, e.type), (e.type, e.status, kind)
        return e

    def no_event(self, seconds=0.2):
        assert not self.take_token(seconds=seconds)
        assert self.fetch() is None

    def ready(self, remote, port, ps=PS_TCP, source=None, scope=0, channel=None, **create):
        """Returns an id whose route is resolved."""
        number = self.new_id(ps, channel=channel, **create)
        self.resolve(number, remote, port, source, scope=scope)
        assert self.event(ADDR_RESOLVED, channel).id == number
        self.resolve_route(number)
        assert self.event(ROUTE_RESOLVED, channel).id == number
        return number

    def drain(self):
        """Fetches all remaining events."""
        found = []
        with contextlib.suppress(BlockingIOError):
            while True:
                e = self.fetch()
                if not e:
                    return found
                found.append(e)
        return found


def connect(client, server, remote, port, seconds=adverbd.PATIENCE, **options):
    """Makes a connection between two Cm, where the server listens. Returns (client's id, server's
    id)."""
    active = client.ready(remote, port, **options)
    client.command(CONNECT, active)
    request = server.event(CONNECT_REQUEST, seconds=seconds)
    server.command(ACCEPT, request.id)
    assert client.event(CONNECT_RESPONSE, seconds=seconds).id == active
    client.command(ESTABLISH, active)
    assert server.event(ESTABLISHED, seconds=seconds).id == request.id
    return active, request.id
