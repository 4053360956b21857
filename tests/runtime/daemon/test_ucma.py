#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""The connection manager on one host: each command, in the right and in wrong states."""

import errno
import os
import shutil
import socket
import struct
import subprocess
import sys
import time

import adverbd
import ucma
from adverbd import Client, Daemon, PATIENCE, wait_for
from ucma import Cm, connect

LISTENER = """
import sys, time
sys.path.insert(0, sys.argv[1])
sys.dont_write_bytecode = True
import ucma
cm = ucma.Cm()
number, port = cm.listener("127.0.0.1", int(sys.argv[2]))
print(port, flush=True)
e = cm.event(ucma.CONNECT_REQUEST)
cm.command(ucma.ACCEPT, e.id)
cm.event(ucma.ESTABLISHED)
print("established", flush=True)
time.sleep(100)
"""


def connects(build):
    """RC: a connection from start to end, over IPv4 and IPv6; either end may disconnect."""
    with Daemon(build), Cm() as server, Cm() as client, Client() as watcher:
        for text in "127.0.0.1", "::1":
            listener, port = server.listener(text)
            for ender in client, server:
                active, passive = connect(client, server, text, port)
                assert watcher.cm_status()["connections"] == 2
                check_connection(client, server, active, passive, text, port)
                ender.command(ucma.DISCONNECT, active if ender is client else passive)
                for cm, number in (client, active), (server, passive):
                    assert cm.event(ucma.DISCONNECTED).id == number
                    cm.command(ucma.DISCONNECT, number)
                    cm.destroy(number)
            server.destroy(listener)
        status = watcher.cm_status()
        assert status["connections"] == status["ids"] == 0 and status["clients"] == 2
        assert status["dropped"] == status["retries"] == 0 and status["rx"] == status["tx"] == 20


def check_connection(client, server, active, passive, text, port):
    a, b = client.route(active), server.route(passive)
    assert a.local == b.remote and a.remote == b.local == (text, port)
    for r in a, b:
        assert r.has_path and r.port_num == 1 and r.pkey == 0xffff and r.hop_limit == 64
        assert r.sgid == r.dgid == ucma.gid_of(text) and r.mtu == 5
    assert a.sgid_index == b.sgid_index == (0 if text == "127.0.0.1" else 1)
    assert (a.ifindex, b.ifindex, a.v1, b.v1) == (socket.if_nametoindex("lo"), a.ifindex, 0, 0)
    assert a.flow_label == b.flow_label != 0
    for cm, number in (client, active), (server, passive):
        for state in ucma.INIT, ucma.RTR, ucma.RTS:
            mask, _ = cm.qp_attr(number, state)
            assert mask & 1
        cm.qp_attr(number, 6, expect=errno.EINVAL)


def events_tell(build):
    """Request and response have the right contents."""
    with Daemon(build), Cm() as server, Cm() as client:
        listener, port = server.listener()
        active = client.ready("127.0.0.1", port)
        client.command(ucma.CONNECT, active, qp_num=0x12345, private=b"question", depth=3)
        e = server.event(ucma.CONNECT_REQUEST)
        assert e.listen == listener and e.id not in (0, listener)
        assert e.conn.qp_num == 0x12345 and e.conn.private.startswith(b"question")
        assert (e.conn.responder_resources, e.conn.initiator_depth) == (3, 3)
        assert e.port_space == ucma.PS_TCP and e.qp_type == ucma.RC
        assert e.route.remote == client.route(active).local
        server.command(ucma.ACCEPT, e.id, qp_num=0x54321, private=b"answer", depth=2)
        e = client.event(ucma.CONNECT_RESPONSE)
        assert e.conn.qp_num == 0x54321 and e.conn.private.startswith(b"answer")
        assert e.conn.responder_resources == 2
        server.no_event()
        client.command(ucma.ESTABLISH, active)
        server.event(ucma.ESTABLISHED)


def datagrams(build):
    """UD: the requester gets the peer's QP number and Q_Key. No connection is made."""
    with Daemon(build), Cm() as server, Cm() as client:
        listener, port = server.listener(ps=ucma.PS_UDP)
        active = client.ready("127.0.0.1", port, ps=ucma.PS_UDP)
        client.command(ucma.CONNECT, active, private=b"who", qp_type=ucma.UD)
        e = server.event(ucma.CONNECT_REQUEST)
        assert e.conn.private.startswith(b"who") and e.qp_type == ucma.UD
        server.command(ucma.ACCEPT, e.id, qp_num=0x777, qp_type=ucma.UD, private=b"me")
        e = client.event(ucma.ESTABLISHED)
        assert e.conn.qp_num == 0x777 and e.conn.qkey == 0x01234567
        assert e.conn.private.startswith(b"me")
        again = client.ready("127.0.0.1", port, ps=ucma.PS_UDP)
        client.command(ucma.CONNECT, again, qp_type=ucma.UD)
        e = server.event(ucma.CONNECT_REQUEST)
        server.command(ucma.REJECT, e.id)
        assert client.event(ucma.UNREACHABLE).status != 0
        nobody = client.ready("127.0.0.1", 9, ps=ucma.PS_UDP)
        client.command(ucma.CONNECT, nobody, qp_type=ucma.UD)
        assert client.event(ucma.UNREACHABLE).id == nobody
        # The port spaces are separate.
        server.listener(port=port)
        server.destroy(listener)


def refusals(build):
    """REJECTED arrives in three cases: the consumer rejects, no listener exists, or a listener or
    request is destroyed."""
    with Daemon(build), Cm() as server, Cm() as client:
        listener, port = server.listener()

        def knock():
            number = client.ready("127.0.0.1", port)
            client.command(ucma.CONNECT, number)
            return number

        knock()
        e = server.event(ucma.CONNECT_REQUEST)
        server.command(ucma.REJECT, e.id, private=b"no", reason=28)
        e = client.event(ucma.REJECTED)
        assert e.status == 28 and e.conn.private.startswith(b"no")
        knock()
        server.destroy(server.event(ucma.CONNECT_REQUEST).id)
        assert client.event(ucma.REJECTED).status == 28
        # The event that the peer has given up is delivered only after an answer.
        client.destroy(knock())
        e = server.event(ucma.CONNECT_REQUEST)
        server.no_event()
        server.qp_attr(e.id, ucma.RTR, expect=errno.ECONNABORTED)
        server.command(ucma.ACCEPT, e.id, expect=errno.ECONNABORTED)
        server.destroy(e.id)
        # The request is not fetched yet.
        numbers = {knock() for _ in range(5)}
        server.destroy(listener)
        assert {client.event(ucma.REJECTED).id for _ in range(5)} == numbers
        server.drain()
        knock()
        assert client.event(ucma.REJECTED).status == 8
        with Client() as watcher:
            assert watcher.cm_status()["connections"] == 0


def listens_again(build):
    """Requests for the port of a closed listener wait, because the listener may be opened again."""
    with Daemon(build), Cm() as server, Cm() as client:
        listener, port = server.listener()
        for _ in range(10):  # more than one on a machine that is too busy
            server.destroy(listener)
            number = client.ready("127.0.0.1", port)
            client.command(ucma.CONNECT, number)
            time.sleep(0.5)
            listener, _ = server.listener(port=port)
            if server.take_token(seconds=3):
                break
            assert client.event(ucma.REJECTED).status == 8
        e = server.fetch()
        assert e.type == ucma.CONNECT_REQUEST
        server.command(ucma.ACCEPT, e.id)
        assert client.event(ucma.CONNECT_RESPONSE).id == number


def wrong_states(build):
    """A command in the wrong state fails and changes nothing."""
    with Daemon(build), Cm() as cm:
        idle, bound, resolved, routed = (cm.new_id() for _ in range(4))
        for number in bound, resolved, routed:
            cm.bind(number, "127.0.0.1")
        listener, port = cm.listener()
        for number in resolved, routed:
            cm.resolve(number, "127.0.0.1", port)
            cm.event(ucma.ADDR_RESOLVED)
        cm.resolve_route(routed)
        cm.event(ucma.ROUTE_RESOLVED)
        everything = (idle, bound, resolved, routed, listener)
        for _ in range(2):
            for number in bound, resolved, routed, listener:
                cm.bind(number, "127.0.0.1", expect=errno.EINVAL)
            for number in resolved, routed, listener:
                cm.listen(number, expect=errno.EINVAL)
                cm.resolve(number, "127.0.0.1", port, expect=errno.EINVAL)
            for number in idle, bound, routed, listener:
                cm.resolve_route(number, expect=errno.EINVAL)
            for number in idle, bound, resolved, listener:
                cm.command(ucma.CONNECT, number, expect=errno.EINVAL)
            for number in everything:
                for kind in ucma.ACCEPT, ucma.REJECT, ucma.ESTABLISH, ucma.DISCONNECT:
                    cm.command(kind, number, expect=errno.EINVAL)
                cm.qp_attr(number, ucma.RTR, expect=errno.EINVAL)
            cm.qp_attr(idle, ucma.INIT, expect=errno.EINVAL)
            cm.no_event(0.05)
        cm.command(ucma.CONNECT, routed)
        cm.command(ucma.CONNECT, routed, expect=errno.EINVAL)
        e = cm.event(ucma.CONNECT_REQUEST)
        cm.command(ucma.CONNECT, e.id, expect=errno.EINVAL)
        cm.command(ucma.ESTABLISH, e.id, expect=errno.EINVAL)
        cm.command(ucma.ACCEPT, e.id)
        cm.command(ucma.ACCEPT, e.id, expect=errno.EINVAL)


def wrong_arguments(build):
    with Daemon(build), Cm() as cm:
        number = cm.new_id()
        for ps, kind in (0, 0), (5, 2), (0xffffffff, 2), (ucma.PS_IB, 0), (ucma.PS_IB, 77):
            cm.new_id(ps, kind, expect=errno.EINVAL)
        cm.new_id(ucma.PS_IB, ucma.UD)
        cm.new_id(channel=12345, expect=errno.ENOENT)
        cm.bind(number, None, expect=errno.EAFNOSUPPORT)
        cm.bind(number, "10.9.8.7", expect=errno.EADDRNOTAVAIL)
        cm.bind(number, "fd00::9", expect=errno.EADDRNOTAVAIL)
        cm.bind(number, "::ffff:127.0.0.1", expect=errno.EADDRNOTAVAIL)
        cm.bind(number, "fe80::1", expect=errno.EINVAL)
        cm.bind(number, "127.0.0.2", expect=errno.ENODEV)
        cm.resolve(number, None, expect=errno.EINVAL)
        cm.resolve(number, "::1", source="127.0.0.1", expect=errno.EINVAL)
        cm.resolve(number, "127.0.0.1", source="10.9.8.7", expect=errno.EADDRNOTAVAIL)
        cm.resolve(number, "10.9.8.7", 1, expect=errno.ENETUNREACH)
        cm.resolve(number, "::1", expect=errno.EINVAL)  # it is bound to 0.0.0.0 now
        routed = cm.ready("127.0.0.1", 1)
        cm.ask(ucma.CONNECT, ucma.conn(length=225), number=routed, expect=errno.EINVAL)
        cm.ask(ucma.CONNECT, ucma.conn(length=57), number=routed, expect=errno.EINVAL)
        cm.command(ucma.CONNECT, routed)
        assert cm.event(ucma.REJECTED).status == 8


def handles(build):
    """No command reaches objects of other clients, or destroyed ones."""
    with Daemon(build), Cm() as mine, Cm() as other:
        listener, _ = mine.listener()
        channel = mine.new_channel()
        numbers = [0, listener + 1, listener + (1 << 16), 0xffffffff]
        for cm, asked in (mine, numbers), (other, [*numbers, listener]):
            for number in asked:
                for kind in range(ucma.DESTROY_ID, ucma.COMMANDS):
                    where = {"channel": cm.channel}
                    if kind == ucma.GET_EVENT:
                        where = {"channel": number ^ 0x5a5a5a5a}
                    assert cm.result(kind, number=number, **where) == errno.ENOENT, (kind, number)
                assert cm.result(ucma.DESTROY_CHANNEL, channel=number ^ 0x5a5a5a5a) == errno.ENOENT
        assert mine.route(listener).local[0] == "127.0.0.1"
        assert mine.result(ucma.DESTROY_CHANNEL, channel=mine.channel) == errno.EBUSY
        assert mine.result(ucma.DESTROY_CHANNEL, channel=channel) == 0
        assert mine.result(ucma.DESTROY_CHANNEL, channel=channel) == errno.ENOENT
        seen = set()
        for _ in range(300):
            number = mine.new_id()
            mine.destroy(number)
            mine.destroy(number, expect=errno.ENOENT)
            assert number not in seen
            seen.add(number)


def ports(build):
    """The rules for ids that bind the same port."""
    with Daemon(build), Cm() as cm, Cm() as other:
        _, port = cm.listener()
        taken = other.new_id()
        other.bind(taken, "127.0.0.1", port, expect=errno.EADDRINUSE)
        other.bind(taken, "0.0.0.0", port, expect=errno.EADDRINUSE)
        other.bind(taken, "::1", port)
        free = other.new_id()
        assert 32768 <= other.bind(free, "0.0.0.0").local[1] <= 60999
        assert other.route(free).port_num == 0 and other.route(free).sgid == bytes(16)
        unbound = other.new_id()
        assert other.listen(unbound).local[0] == "0.0.0.0"
        sharing = [cm.new_id() for _ in range(2)]
        for number in sharing:
            cm.option(number, 1, struct.pack("=i", 1))
            cm.bind(number, "127.0.0.1", 7000)
        cm.listen(sharing[0], expect=errno.EADDRINUSE)
        cm.destroy(sharing[1])
        cm.listen(sharing[0])
        only6 = cm.new_id()
        cm.option(only6, 2, struct.pack("=i", 1))
        cm.bind(only6, "::", 7000)
        cm.listen(only6)
        # Options set after binding count too.
        late = cm.new_id()
        port = cm.bind(late, "::").local[1]
        cm.bind(cm.new_id(), "127.0.0.1", port, expect=errno.EADDRINUSE)
        cm.option(late, 2, struct.pack("=i", 1))
        cm.listen(late)
        cm.bind(cm.new_id(), "127.0.0.1", port)
        cm.command(ucma.CONNECT, cm.ready("127.0.0.1", port))
        assert cm.event(ucma.REJECTED).status == 8


def options(build):
    with Daemon(build), Cm() as cm:
        number = cm.new_id()
        cm.option(number, 0, b"\x68")
        cm.option(number, 3, b"\x0f")
        cm.option(number, 3, b"\x20", expect=errno.EINVAL)
        cm.option(number, 0, b"\0\0\0\0", expect=errno.EINVAL)
        cm.option(number, 1, b"\1", expect=errno.EINVAL)
        cm.option(number, 2, b"\1", expect=errno.EINVAL)
        cm.option(number, 4, b"\1", expect=errno.ENOSYS)
        cm.option(number, 1, bytes(64), level=1, expect=errno.ENOSYS)
        cm.option(number, 1, bytes(4), level=7, expect=errno.ENOSYS)
        cm.option(cm.new_id(ucma.PS_UDP), 3, b"\x0f", expect=errno.EINVAL)
        _, port = cm.listener()
        cm.resolve(number, "127.0.0.1", port)
        cm.event(ucma.ADDR_RESOLVED)
        cm.option(number, 1, struct.pack("=i", 0), expect=errno.EINVAL)
        cm.option(number, 2, struct.pack("=i", 1), expect=errno.EINVAL)
        cm.resolve_route(number)
        assert cm.event(ucma.ROUTE_RESOLVED).route.has_path
        cm.command(ucma.CONNECT, number)
        e = cm.event(ucma.CONNECT_REQUEST)
        assert e.route.tclass == 0x68


def addresses(build):
    """Each destination is reachable only from the right addresses, and the right listeners receive
    the requests."""
    adverbd.sh("ip link add nt0 type veth peer name nt1; ip addr add 10.5.0.1/24 dev nt0;"
               "ip addr add fd05::1/64 dev nt0 nodad; ip link set nt0 up; ip link set nt1 up")
    with Daemon(build), Cm() as server, Cm() as client:
        client.wait_for_address("10.5.0.1")
        everywhere, port = server.listener("::")
        _, local_port = server.listener("127.0.0.1")
        for remote, source in (("10.5.0.1", "10.5.0.1"), ("fd05::1", "fd05::1"),
                               ("127.0.0.1", "127.0.0.1"), ("::1", "::1"),
                               ("0.0.0.0", "127.0.0.1"), ("::", "::1")):
            active, passive = connect(client, server, remote, port)
            route = client.route(active)
            assert route.local[0] == route.remote[0] == source, (remote, route.local)
            assert route.sgid == ucma.gid_of(source)
            assert server.route(passive).local[0] == source
            client.destroy(active)
            server.event(ucma.DISCONNECTED)
            server.destroy(passive)
        active, _ = connect(client, server, "127.0.0.1", port, source="10.5.0.1")
        assert client.route(active).local[0] == "10.5.0.1"
        client.command(ucma.CONNECT, client.ready("10.5.0.1", local_port))
        assert client.event(ucma.REJECTED).status == 8
        ipv4, port4 = server.listener("0.0.0.0")
        client.command(ucma.CONNECT, client.ready("::1", port4))
        assert client.event(ucma.REJECTED).status == 8
        server.destroy(everywhere)
        server.destroy(ipv4)
    adverbd.sh("ip link del nt0")


def neighbours(build):
    """A neighbour that does not answer causes ADDR_ERROR after the given time."""
    adverbd.sh("ip link add nt0 type veth peer name nt1; ip addr add 10.5.0.1/24 dev nt0;"
               "ip addr add fd05::1/64 dev nt0 nodad; ip link set nt0 up; ip link set nt1 up")
    with Daemon(build), Cm() as cm:
        cm.wait_for_address("fd05::1")
        for remote in "10.5.0.77", "fd05::77":
            number = cm.new_id()
            for timeout in 0, 150:
                cm.resolve(number, remote, 1, timeout=timeout)
                if timeout:
                    cm.resolve(number, remote, 1, expect=errno.EINVAL)
                e = cm.event(ucma.ADDR_ERROR)
                assert e.id == number and e.status == -errno.ETIMEDOUT
            cm.resolve(number, remote, 1, timeout=20000)
            assert cm.event(ucma.ADDR_ERROR).status == -errno.EHOSTUNREACH
        waiting = cm.new_id()
        cm.resolve(waiting, "10.5.0.78", 1, timeout=20000)
        cm.destroy(waiting)
        # A permanent neighbour entry, added by a command.
        adverbd.sh("ip neigh replace 10.5.0.79 lladdr 02:00:00:00:00:01 dev nt0")
        number = cm.ready("10.5.0.79", 1)
        assert cm.route(number).local[0] == "10.5.0.1" and cm.route(number).mtu == 3
        adverbd.sh("ip route add 10.6.0.0/16 via 10.5.0.79")
        number = cm.ready("10.6.0.1", 1)
        adverbd.sh("ip route add unreachable 10.7.0.0/16; ip route add prohibit 10.8.0.0/16")
        number = cm.new_id()
        cm.resolve(number, "10.7.0.1", 1, expect=errno.EHOSTUNREACH)
        cm.resolve(number, "10.8.0.1", 1, expect=errno.EACCES)
        # The route is removed between the two steps.
        cm.resolve(number, "10.6.0.2", 1)
        cm.event(ucma.ADDR_RESOLVED)
        adverbd.sh("ip route del 10.6.0.0/16")
        cm.resolve_route(number)
        assert cm.event(ucma.ROUTE_ERROR).status == -errno.ENETUNREACH
        adverbd.sh("ip route add 10.6.0.0/16 via 10.5.0.79")
        cm.resolve_route(number)
        cm.event(ucma.ROUTE_RESOLVED)
    adverbd.sh("ip link del nt0")


def address_changes(build):
    """ADDR_CHANGE and MULTICAST_ERROR when an id's address is removed; indices follow."""
    adverbd.sh("ip link add nt0 type veth peer name nt1; ip link set nt0 up; ip link set nt1 up;"
               "ip addr add 10.5.0.1/24 dev nt0; ip addr add 10.5.1.1/24 dev nt0")
    with Daemon(build), Cm() as cm:
        cm.wait_for_address("10.5.1.1")
        first, _ = cm.listener("10.5.0.1")
        second, _ = cm.listener("10.5.1.1")
        loopback, _ = cm.listener("127.0.0.1")
        group = cm.new_id(ucma.PS_UDP)
        cm.bind(group, "10.5.0.1")
        cm.ask(ucma.JOIN, ucma.sockaddr("239.1.1.1") + bytes(4), number=group)
        cm.event(ucma.MULTICAST_JOIN)
        index = cm.route(second).sgid_index
        adverbd.sh("ip addr del 10.5.0.1/24 dev nt0")
        events = {(e.type, e.id, e.status) for e in (cm.event() for _ in range(3))}
        assert events == {(ucma.ADDR_CHANGE, first, 0), (ucma.ADDR_CHANGE, group, 0),
                          (ucma.MULTICAST_ERROR, group, -errno.ENODEV)}, events
        assert cm.route(second).sgid_index == index - 1
        active = cm.new_id()
        cm.resolve(active, "10.5.1.1", 1)
        cm.event(ucma.ADDR_RESOLVED)
        adverbd.sh("ip link set nt0 down")
        assert {cm.event(ucma.ADDR_CHANGE).id for _ in range(2)} == {second, active}
        cm.resolve_route(active)
        assert cm.event(ucma.ROUTE_ERROR).status in (-errno.ENODEV, -errno.ENETUNREACH)
        assert cm.route(loopback).sgid == ucma.gid_of("127.0.0.1")
        cm.no_event(0.05)
    adverbd.sh("ip link del nt0")


def multicast(build):
    adverbd.sh("ip link add nt0 type veth peer name nt1; ip addr add 10.5.0.1/24 dev nt0;"
               "echo 1 > /proc/sys/net/ipv6/conf/nt1/disable_ipv6;"
               "ip addr add fd05::1/64 dev nt0 nodad; ip link set nt0 up; ip link set nt1 up;"
               "ip route add default via 10.5.0.2")
    with Daemon(build), Cm() as cm:
        cm.wait_for_address("fd05::1")

        def join(number, text, flags=0, expect=0):
            return cm.ask(ucma.JOIN, ucma.sockaddr(text) + struct.pack("=I", flags), number=number,
                          expect=expect)[2]

        for group, source in (("239.1.2.3", "10.5.0.1"), ("ff15::1:2", "fd05::1")):
            number = cm.new_id(ucma.PS_UDP)
            cm.resolve(number, group, 5)
            assert cm.event(ucma.ADDR_RESOLVED).route.local[0] == source
            for flags in 0, 1:
                membership = join(number, group, flags)
                e = cm.event(ucma.MULTICAST_JOIN)
                assert e.id == number and e.multicast == membership and e.status == 0
                assert e.route.dgid == ucma.gid_of(group) and e.conn.qp_num == 0xffffff
                assert e.conn.qkey == 0x01234567 and e.route.sgid == ucma.gid_of(source)
                assert cm.result(ucma.LEAVE, number=number, value=membership) == 0
                assert cm.result(ucma.LEAVE, number=number, value=membership) == errno.ENOENT
            other = cm.new_id(ucma.PS_UDP)
            membership = join(number, group)
            assert cm.result(ucma.LEAVE, number=other, value=membership) == errno.ENOENT
            assert cm.result(ucma.LEAVE, number=number, value=membership + (1 << 32)) == errno.ENOENT
            assert cm.result(ucma.LEAVE, number=number, value=membership) == 0
            assert cm.take_token() and cm.fetch() is None
            join(number, group)
            cm.destroy(number)
        number = cm.new_id(ucma.PS_UDP)
        join(number, "239.1.1.1", expect=errno.EINVAL)
        cm.bind(number, "0.0.0.0")
        join(number, "239.1.1.1", expect=errno.EINVAL)
        number = cm.new_id(ucma.PS_UDP)
        cm.bind(number, "10.5.0.1")
        for text, flags in (("10.1.1.1", 0), ("0.0.0.0", 0), (None, 0), ("239.1.1.1", 2),
                            ("::ffff:239.1.1.1", 0)):
            join(number, text, flags, expect=errno.EINVAL)
        connected = cm.new_id()
        cm.bind(connected, "10.5.0.1")
        join(connected, "239.1.1.1", expect=errno.EINVAL)
        adverbd.sh("ip link set nt0 multicast off")
        join(number, "239.1.1.1")
        e = cm.event(ucma.MULTICAST_ERROR)
        assert e.id == number and e.status == -errno.EOPNOTSUPP
    adverbd.sh("ip link del nt0")


def channels(build):
    """Ids move with their events; an event made by the library is returned unchanged."""
    with Daemon(build), Cm() as cm, Cm() as client:
        listener, port = cm.listener()
        second = cm.new_channel()
        numbers = [client.ready("127.0.0.1", port) for _ in range(3)]
        for number in numbers:
            client.command(ucma.CONNECT, number)
        wait_for(lambda: cm.take_token(seconds=0))
        cm.ask(ucma.MIGRATE, number=listener, channel=second)
        assert cm.fetch() is None
        events = [cm.event(ucma.CONNECT_REQUEST, channel=second) for _ in range(3)]
        assert all(e.listen == listener for e in events)
        assert cm.result(ucma.DESTROY_CHANNEL, channel=second) == errno.EBUSY
        cm.command(ucma.ACCEPT, events[0].id)
        cm.ask(ucma.MIGRATE, number=events[0].id, channel=cm.channel)
        client.command(ucma.ESTABLISH, client.event(ucma.CONNECT_RESPONSE).id)
        assert cm.event(ucma.ESTABLISHED).id == events[0].id
        cm.ask(ucma.MIGRATE, number=listener, channel=99, expect=errno.ENOENT)

        body = struct.pack("=Ii", 16, -5)
        cm.ask(ucma.WRITE_EVENT, body, number=listener, value=0x123456789abcdef0)
        e = cm.event(channel=second)
        assert (e.type, e.status, e.id, e.value) == (16, -5, listener, 0x123456789abcdef0)
        body = struct.pack("=Ii", ucma.ESTABLISHED, 0)
        assert cm.result(ucma.WRITE_EVENT, body, number=listener) == errno.EINVAL


def full_channel(build):
    """More events than the channel's socket has room for: every byte arrives in the end."""
    with Daemon(build), Cm() as cm:
        number = cm.new_id()
        count = 3000
        for i in range(count):
            cm.ask(ucma.WRITE_EVENT, struct.pack("=Ii", 16, i), number=number)
        for i in range(count):
            assert cm.event().status == i
        cm.no_event(0.05)
        # No further bytes arrive for dropped events, except those in the socket.
        for _ in range(count):
            cm.ask(ucma.WRITE_EVENT, struct.pack("=Ii", 16, 0), number=number)
        cm.destroy(number)
        stale = 0
        while cm.take_token(seconds=0):
            assert cm.fetch() is None
            stale += 1
        assert stale < 1000


def backlog(build):
    """The number of waiting requests is limited by the listener's backlog. Further requests arrive
    later."""
    with Daemon(build), Cm() as server, Cm() as client:
        _, port = server.listener(backlog=2)
        for _ in range(4):
            client.command(ucma.CONNECT, client.ready("127.0.0.1", port))
        with Client() as watcher:
            wait_for(lambda: watcher.cm_status()["dropped"] >= 2)
        established = 0
        while established < 4:
            e = server.event()
            if e.type == ucma.CONNECT_REQUEST:
                server.command(ucma.ACCEPT, e.id)
                client.command(ucma.ESTABLISH, client.event(ucma.CONNECT_RESPONSE).id)
            else:
                assert e.type == ucma.ESTABLISHED, e.type
                established += 1


def start_listener(port):
    here = os.path.dirname(os.path.abspath(__file__))
    process = subprocess.Popen([sys.executable, "-c", LISTENER, here, str(port)],
                               stdout=subprocess.PIPE, text=True)
    return process, int(process.stdout.readline())


def many_at_a_small_backlog(build):
    """If a hundred requests arrive at once and the program accepts one at a time, all are served.
    """
    with Daemon(build), Cm() as server, Cm() as client:
        _, port = server.listener(backlog=1)
        for number in [client.ready("127.0.0.1", port) for _ in range(100)]:
            client.command(ucma.CONNECT, number)
        established = 0
        while established < 100:
            if server.take_token(seconds=0.01):
                e = server.fetch()
                if e and e.type == ucma.CONNECT_REQUEST:
                    server.command(ucma.ACCEPT, e.id)
            while client.take_token(seconds=0):
                e = client.fetch()
                assert e.type == ucma.CONNECT_RESPONSE, (e.type, e.status)
                client.command(ucma.ESTABLISH, e.id)
                established += 1


def program_killed(build):
    """If a program dies, its connections end and its ports are free."""
    with Daemon(build), Cm() as client, Client() as watcher:
        process, port = start_listener(0)
        active = client.ready("127.0.0.1", port)
        client.command(ucma.CONNECT, active)
        client.command(ucma.ESTABLISH, client.event(ucma.CONNECT_RESPONSE).id)
        assert process.stdout.readline() == "established\n"
        waiting = client.ready("127.0.0.1", port)
        client.command(ucma.CONNECT, waiting)
        process.kill()
        process.wait()
        events = {(e.type, e.id) for e in (client.event() for _ in range(2))}
        assert events == {(ucma.DISCONNECTED, active), (ucma.REJECTED, waiting)}, events
        wait_for(lambda: watcher.cm_status()["clients"] == 1)
        assert watcher.cm_status()["ids"] == 2
        client.listener(port=port)


def worker_killed(build):
    """If the worker dies, the clients' sockets close, and a new worker serves new sockets."""
    with Daemon(build) as daemon, Cm() as cm, Client() as watcher:
        cm.listener(port=7471)
        daemon.kill(watcher.status()["worker"])
        try:
            cm.receive()
            raise AssertionError("the socket stayed open")
        except ucma.Lost:
            pass
        assert cm.tokens[cm.channel].recv(1) == b""
        with Cm() as server, Cm() as client:
            server.listener(port=7471)
            connect(client, server, "127.0.0.1", 7471)


def lost_packets(build):
    """If one packet in six is lost, connections are still made and ended."""
    nft = shutil.which("nft", path=os.environ["PATH"] + ":/usr/sbin:/sbin")
    if not nft:
        raise adverbd.Skip("no nft")
    rules = ("table inet loss { chain in { type filter hook input priority 0; "
             "udp dport 4791 numgen random mod 6 0 drop; }; }")
    if subprocess.run([nft, rules], stderr=subprocess.DEVNULL).returncode:
        raise adverbd.Skip("nft does not work here")
    try:
        with Daemon(build), Cm() as server, Cm() as client, Client() as watcher:
            _, port = server.listener()
            for _ in range(12):
                # After an MRA, up to 69 s pass before a retransmission.
                active, passive = connect(client, server, "127.0.0.1", port, seconds=PATIENCE)
                client.command(ucma.DISCONNECT, active)
                for cm, number in (client, active), (server, passive):
                    assert cm.event(ucma.DISCONNECTED, seconds=PATIENCE).id == number
                    cm.destroy(number)
            assert watcher.cm_status()["retries"] > 0
    finally:
        adverbd.sh(f"{nft} delete table inet loss")


def status_shown(build):
    with Daemon(build), Cm() as server, Cm() as client:
        _, port = server.listener()
        connect(client, server, "127.0.0.1", port)
        text = subprocess.run([build / "adverb", "status"], check=True, text=True,
                              stdout=subprocess.PIPE).stdout
        assert "connection manager: 2 programs, 3 ids, 2 connected, 0 ending" in text, text
        assert "3 received, 3 sent, 0 of them repeated, 0 not accepted" in text, text


if __name__ == "__main__":
    adverbd.main([connects, events_tell, datagrams, refusals, listens_again, wrong_states,
                  wrong_arguments, handles, ports, options, addresses, neighbours,
                  address_changes, multicast, channels, full_channel, backlog,
                  many_at_a_small_backlog, program_killed, worker_killed, lost_packets,
                  status_shown])
