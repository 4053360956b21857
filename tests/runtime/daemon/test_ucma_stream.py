#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""Connections of iWARP ids: start-up frames between adverbd and a peer that is a bare TCP socket, byte by byte."""

import contextlib
import errno
import os
import select
import socket
import struct
import time

import ucma
from adverbd import Client, Daemon, PATIENCE, main, wait_for, without_descriptors
from mpa import (CRC, ENHANCED, MARKERS, PEER_TO_PEER, REJECT, REPLY_KEY, REQUEST_KEY, RTR_EMPTY, RTR_READ, RTR_WRITE,
                 expect_end, frame, receive)
from ucma import Cm

HERE = "127.0.0.1"
ACCEPT_CRC, REQUIRE_CRC, REFUSE_CRC = range(3)
PRIVATE_MAX = 224  # bytes that a program gets
FIRST_WRITE, FIRST_OF_PEER, FIRST_HOPED = 1, 3, 4


class Agreement:
    def __init__(self, body):
        self.ird, self.ord, self.first, self.crc, self.rx_markers, self.tx_markers = struct.unpack("=II4B", body[:12])


def readable(sock):
    return bool(select.select([sock], [], [], 0)[0])


def patient(sock):
    sock.settimeout(PATIENCE)
    return sock


@contextlib.contextmanager
def serving(build, **create):
    """Yields (Cm, its listener, a function that connects a bare socket)."""
    with Daemon(build, "--linger", "60"), Cm() as cm:
        number, port = cm.listener(iwarp=True, **create)
        with contextlib.ExitStack() as sockets:
            def peer():
                return sockets.enter_context(patient(socket.create_connection((HERE, port))))
            yield cm, number, peer


@contextlib.contextmanager
def connecting(build, backlog=5):
    """Yields (Cm, the listening bare socket, its port)."""
    with (Daemon(build, "--linger", "60"), Cm() as cm,
          patient(socket.create_server((HERE, 0), backlog=backlog)) as listener):
        yield cm, listener, listener.getsockname()[1]


def answer(cm, kind, number, **param):
    """ACCEPT or ESTABLISH; returns (agreement, socket of the connection)."""
    body = ucma.conn(**param) if kind == ucma.ACCEPT else b""
    _, _, _, reply, fds = cm.ask(kind, body, number=number)
    assert len(fds) == 1, fds
    return Agreement(reply), patient(socket.socket(fileno=fds[0]))


def accepts(build):
    """A request in single bytes, with private data; the process gets the socket, and both ends the same agreement."""
    with serving(build) as (cm, listener, connect):
        peer = connect()
        reads = PEER_TO_PEER | RTR_EMPTY | 5 << 16 | RTR_WRITE | 7
        for byte in frame(REQUEST_KEY, reads=reads, private=b"of the client"):
            peer.send(bytes([byte]))
        event = cm.event(ucma.CONNECT_REQUEST)
        assert (event.listen, event.conn.private) == (listener, b"of the client")
        assert (event.conn.responder_resources, event.conn.initiator_depth) == (7, 5)
        assert event.route.remote == peer.getsockname() and event.route.local == peer.getpeername()
        agreed, stream = answer(cm, ucma.ACCEPT, event.id, private=b"of the server", depth=6)
        assert cm.event(ucma.ESTABLISHED).id == event.id
        reply = receive(peer, REPLY_KEY)
        assert (reply.flags, reply.revision, reply.private) == (ENHANCED, 2, b"of the server")
        assert reply.reads == PEER_TO_PEER | 6 << 16 | RTR_WRITE | 5, hex(reply.reads)
        assert (agreed.ird, agreed.ord, agreed.first, agreed.crc) == (6, 5, FIRST_OF_PEER, 0)
        peer.send(b"an FPDU")
        assert stream.recv(100) == b"an FPDU"
        stream.send(b"another one")
        assert peer.recv(100) == b"another one"
        stream.close()
        peer.close()
        assert cm.event(ucma.DISCONNECTED).id == event.id
        cm.destroy(event.id)


def frames_of_flags(build):
    """CRCs and markers for each wish of the id, and each wish of the peer."""
    for wish in (ACCEPT_CRC, REQUIRE_CRC, REFUSE_CRC):
        for markers in (0, 1):
            with serving(build, crc=wish, markers=markers) as (cm, _, connect):
                for flags in (0, CRC, MARKERS, CRC | MARKERS):
                    one_request(cm, connect(), wish, markers, flags)


def one_request(cm, peer, wish, markers, flags):
    peer.send(frame(REQUEST_KEY, ENHANCED | flags))
    if wish == REFUSE_CRC and flags & CRC:
        reply = receive(peer, REPLY_KEY)
        assert reply.flags == REJECT | ENHANCED, hex(reply.flags)
        expect_end(peer)
        cm.no_event()
        return
    number = cm.event(ucma.CONNECT_REQUEST).id
    agreed, stream = answer(cm, ucma.ACCEPT, number)
    cm.event(ucma.ESTABLISHED)
    crc = wish == REQUIRE_CRC or bool(flags & CRC)
    assert (agreed.crc, agreed.rx_markers, agreed.tx_markers) == (crc, markers, bool(flags & MARKERS))
    reply = receive(peer, REPLY_KEY)
    assert reply.flags == ENHANCED | (CRC if crc else 0) | (MARKERS if markers else 0), hex(reply.flags)
    stream.close()
    cm.destroy(number)


def other_revisions(build):
    """Revision 1, and revision 2 without enhanced set-up, are answered in kind. Others are not answered."""
    with serving(build) as (cm, _, connect):
        for revision in (1, 2):
            peer = connect()
            peer.send(frame(REQUEST_KEY, 0, revision, private=b"old"))
            event = cm.event(ucma.CONNECT_REQUEST)
            assert event.conn.private == b"old"
            agreed, stream = answer(cm, ucma.ACCEPT, event.id, depth=4)
            cm.event(ucma.ESTABLISHED)
            reply = receive(peer, REPLY_KEY)
            assert (reply.flags, reply.revision) == (0, revision)
            assert (agreed.ird, agreed.ord, agreed.first) == (4, 4, FIRST_HOPED)
            stream.close()
            cm.destroy(event.id)
        for revision in (0, 3, 255):
            peer = connect()
            peer.send(frame(REQUEST_KEY, 0, revision))
            expect_end(peer)
        cm.no_event()


def hostile_requests(build):
    """What is no request ends the connection, and the program sees nothing."""
    with serving(build) as (cm, _, connect):
        for data in (b"GET / HTTP/1.1\r\n\r\n", frame(REPLY_KEY), frame(REQUEST_KEY, length=513),
                     frame(REQUEST_KEY, length=65535), frame(REQUEST_KEY, length=3), b"MPA ID Req Frama"):
            peer = connect()
            peer.send(data)
            expect_end(peer)
        connect().close()
        half = connect()
        half.send(frame(REQUEST_KEY)[:19])
        half.close()
        silent, started = connect(), time.monotonic()
        silent.send(REQUEST_KEY)
        expect_end(silent)  # after some time
        assert time.monotonic() - started >= 9.5
        cm.no_event()
        well = connect()
        well.send(frame(REQUEST_KEY, private=b"x" * 508))
        assert cm.event(ucma.CONNECT_REQUEST).conn.private == b"x" * PRIVATE_MAX


def refuses(build):
    """A reject by the program, with private data; an id that is destroyed; a listener that is destroyed."""
    with serving(build) as (cm, listener, connect):
        peer = connect()
        peer.send(frame(REQUEST_KEY))
        number = cm.event(ucma.CONNECT_REQUEST).id
        cm.command(ucma.REJECT, number, private=b"not with me")
        reply = receive(peer, REPLY_KEY)
        assert (reply.flags, reply.private) == (REJECT | ENHANCED, b"not with me")
        expect_end(peer)
        cm.command(ucma.ACCEPT, number, expect=errno.EINVAL)
        cm.destroy(number)
        peer = connect()
        peer.send(frame(REQUEST_KEY))
        cm.destroy(cm.event(ucma.CONNECT_REQUEST).id)
        assert receive(peer, REPLY_KEY).flags == REJECT | ENHANCED
        unfetched, awaited = connect(), connect()
        unfetched.send(frame(REQUEST_KEY))
        assert cm.take_token()
        cm.destroy(listener)
        assert receive(unfetched, REPLY_KEY).flags == REJECT | ENHANCED
        expect_end(awaited)


def peer_gives_up(build):
    """A peer that ends before the answer: the accept fails, and a reject does not."""
    with serving(build) as (cm, _, connect):
        for kind, result in ((ucma.ACCEPT, errno.ECONNABORTED), (ucma.REJECT, 0)):
            peer = connect()
            peer.send(frame(REQUEST_KEY))
            number = cm.event(ucma.CONNECT_REQUEST).id
            peer.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
            peer.close()
            if kind == ucma.ACCEPT:
                wait_for(lambda: cm.result(ucma.QP_ATTR, number=number, value=ucma.RTR) == errno.ECONNABORTED)
            cm.command(kind, number, expect=result)
            cm.destroy(number)
        cm.no_event()


def ask_without_answer(peer):
    """A request on a connection beyond the backlog: adverbd may have closed the connection before."""
    with contextlib.suppress(ConnectionError):
        peer.send(frame(REQUEST_KEY))
    expect_end(peer)


def backlog(build):
    """Connections beyond the backlog are closed; those within it become requests."""
    with Daemon(build, "--linger", "60"), Cm() as cm:
        _, port = cm.listener(iwarp=True, backlog=2)
        with contextlib.ExitStack() as stack:
            peers = []
            for _ in range(2):
                peers.append(stack.enter_context(patient(socket.create_connection((HERE, port)))))
                peers[-1].send(frame(REQUEST_KEY))
                assert cm.take_token()
            ask_without_answer(stack.enter_context(patient(socket.create_connection((HERE, port)))))
            for _ in peers:
                assert cm.fetch().type == ucma.CONNECT_REQUEST
            cm.no_event()


def other_address(port, address="127.0.0.2"):
    return patient(socket.create_connection((HERE, port), source_address=(address, 0)))


def backlog_of_silent(build):
    """Connections whose request does not come give way: those of the address that has most, or the oldest."""
    with Daemon(build, "--linger", "60"), Cm() as cm, contextlib.ExitStack() as stack:
        _, port = cm.listener(iwarp=True, backlog=8)
        silent = []
        for address in (HERE, "127.0.0.2"):
            silent += [stack.enter_context(other_address(port)) for _ in range(40)]
            peer = stack.enter_context(other_address(port, address))
            peer.send(frame(REQUEST_KEY))
            event = cm.event(ucma.CONNECT_REQUEST)
            assert event.route.remote == peer.getsockname(), (event.route.remote, peer.getsockname())
        wait_for(lambda: sum(not readable(s) for s in silent) <= 8)


def fair_backlog(build):
    """One address with many silent connections does not displace another one that has few."""
    with Daemon(build, "--linger", "60"), Cm() as cm, contextlib.ExitStack() as stack:
        _, port = cm.listener(iwarp=True, backlog=8)
        slow = stack.enter_context(other_address(port, HERE))
        silent = [stack.enter_context(other_address(port)) for _ in range(7)]
        other = stack.enter_context(other_address(port, "127.0.0.3"))
        wait_for(lambda: any(map(readable, silent)))
        other.send(frame(REQUEST_KEY))
        assert cm.event(ucma.CONNECT_REQUEST).route.remote == other.getsockname()
        slow.send(frame(REQUEST_KEY))
        assert cm.event(ucma.CONNECT_REQUEST).route.remote == slow.getsockname()


def be_refused(peer):
    peer.send(frame(REQUEST_KEY, ENHANCED | CRC))
    assert receive(peer, REPLY_KEY).flags & REJECT
    return peer


def backlog_of_refused(build):
    """A connection that the device has refused counts until it ends."""
    with serving(build, backlog=2, crc=REFUSE_CRC) as (cm, _, connect):
        refused = [be_refused(connect()) for _ in range(2)]
        ask_without_answer(connect())
        cm.no_event()
        refused[0].close()

        def becomes_request():
            with contextlib.suppress(ConnectionError):
                connect().send(frame(REQUEST_KEY))
            return cm.take_token(seconds=0.1)
        wait_for(becomes_request)


def listener_of_refused(build):
    """The end of a refused connection is waited for, too, if its listener is destroyed meanwhile."""
    with serving(build, crc=REFUSE_CRC) as (cm, listener, connect):
        refused = be_refused(connect())
        cm.destroy(listener)
        for _ in range(2):
            refused.send(b"late")  # fails after a reset
        expect_end(refused)


def no_descriptor(build):
    """A connection for which adverbd has no descriptor is closed at once; later ones are accepted."""
    with serving(build) as (cm, _, connect):
        with Client() as client:
            worker = client.status()["worker"]
        with without_descriptors(worker, f"adverbd-{os.geteuid()}"):
            ask_without_answer(connect())
            ask_without_answer(connect())
            cm.no_event()
        connect().send(frame(REQUEST_KEY))
        cm.event(ucma.CONNECT_REQUEST)


REFUSED_SECONDS = 0.9  # a little less than adverbd waits for a refused peer to end the connection


def refuse_by_program(cm, peer):
    peer.send(frame(REQUEST_KEY))
    number = cm.event(ucma.CONNECT_REQUEST).id
    cm.command(ucma.REJECT, number)
    return number


def refuse_each_way(cm, listener, connect):
    """Peers that are refused by the program, the device, an id that is destroyed, and a listener that is destroyed."""
    program, device, of_id, of_listener = [connect() for _ in range(4)]
    refuse_by_program(cm, program)
    be_refused(device)
    of_id.send(frame(REQUEST_KEY))
    cm.destroy(cm.event(ucma.CONNECT_REQUEST).id)
    of_listener.send(frame(REQUEST_KEY))
    assert cm.take_token()
    cm.destroy(listener)
    for peer in (program, of_id, of_listener):
        assert receive(peer, REPLY_KEY).flags & REJECT
    return program, device, of_id, of_listener


def end_behind_refusal(build):
    """Nothing follows a refusal for some time: a peer that gets the reply and the end in one segment may handle the
    end first. A peer that never ends the connection is closed later."""
    with serving(build, crc=REFUSE_CRC) as (cm, listener, connect):
        started = time.monotonic()
        peers = refuse_each_way(cm, listener, connect)
        seen = {}

        def all_ended():
            for peer in peers:
                if peer not in seen and readable(peer):
                    expect_end(peer)
                    seen[peer] = time.monotonic() - started
            return len(seen) == len(peers)
        wait_for(all_ended)
        assert all(seconds >= REFUSED_SECONDS for seconds in seen.values()), seen.values()
        for peer in peers:
            wait_for(lambda: is_reset(peer), pause=0.1)
            assert time.monotonic() - started >= REFUSED_SECONDS + 3.9
        cm.no_event()


def is_reset(peer):
    try:
        peer.send(b"late")
    except ConnectionError:
        return True
    return False


def refused_peer_ends(build):
    """The program that has refused a peer gets no event when the peer ends the connection, and may disconnect."""
    with serving(build) as (cm, _, connect):
        peer = connect()
        number = refuse_by_program(cm, peer)
        assert receive(peer, REPLY_KEY).flags & REJECT
        cm.command(ucma.REJECT, number, expect=errno.EINVAL)
        cm.command(ucma.DISCONNECT, number)
        peer.shutdown(socket.SHUT_WR)
        expect_end(peer)
        cm.no_event()
        cm.command(ucma.DISCONNECT, number)


def request(cm, port, **create):
    number = cm.ready(HERE, port, iwarp=True, **create)
    cm.command(ucma.CONNECT, number, private=b"of the client", depth=9)
    return number


def connects(build):
    """The request, and each agreement that a reply makes."""
    for wish, markers in ((ACCEPT_CRC, 0), (REQUIRE_CRC, 1), (REFUSE_CRC, 0)):
        with connecting(build) as (cm, listener, port):
            number = request(cm, port, crc=wish, markers=markers)
            peer, _ = listener.accept()
            with patient(peer):
                seen = receive(peer, REQUEST_KEY)
                assert seen.flags == ENHANCED | (CRC if wish == REQUIRE_CRC else 0) | (MARKERS if markers else 0)
                assert (seen.revision, seen.private) == (2, b"of the client")
                assert seen.reads == PEER_TO_PEER | RTR_EMPTY | 9 << 16 | RTR_WRITE | 9, hex(seen.reads)
                cm.command(ucma.ESTABLISH, number, expect=errno.EINVAL)
                for byte in frame(REPLY_KEY, ENHANCED | MARKERS, private=b"of the server",
                                  reads=PEER_TO_PEER | RTR_WRITE | 3 << 16 | 2) + b"FPDU":
                    peer.send(bytes([byte]))
                event = cm.event(ucma.CONNECT_RESPONSE)
                assert (event.id, event.conn.private) == (number, b"of the server")
                agreed, stream = answer(cm, ucma.ESTABLISH, number)
                cm.command(ucma.ESTABLISH, number, expect=errno.EISCONN)
                assert (agreed.ird, agreed.ord, agreed.first) == (9, 3, FIRST_WRITE)
                assert (agreed.crc, agreed.rx_markers, agreed.tx_markers) == (wish == REQUIRE_CRC, markers, 1)
                assert b"".join(stream.recv(1) for _ in range(4)) == b"FPDU"
                stream.close()
                cm.command(ucma.DISCONNECT, number)
                expect_end(peer)
            assert cm.event(ucma.DISCONNECTED).id == number
            cm.destroy(number)


def refused_replies(build):
    """Replies that end in REJECTED: each ends the connection, too."""
    replies = [
        frame(REPLY_KEY, REJECT | ENHANCED, private=b"no"), frame(REPLY_KEY, 0, 1), frame(REPLY_KEY, 0),
        frame(REPLY_KEY, revision=3), frame(REPLY_KEY, reads=1 << 16 | 10), frame(REPLY_KEY, ENHANCED | CRC),
        frame(REPLY_KEY, reads=PEER_TO_PEER | RTR_READ), frame(REQUEST_KEY), frame(REPLY_KEY, length=600),
        frame(REPLY_KEY, length=2), b"HTTP/1.1 400 Bad", b""]
    with connecting(build) as (cm, listener, port):
        for reply in replies:
            number = request(cm, port, crc=REFUSE_CRC)
            peer, _ = listener.accept()
            with patient(peer):
                receive(peer, REQUEST_KEY)
                peer.send(reply)
                if not reply:
                    peer.shutdown(socket.SHUT_WR)
                event = cm.event(ucma.REJECTED)
                assert (event.id, event.status) == (number, -errno.ECONNRESET), (reply, event.status)
                assert event.conn.private == (b"no" if b"no" in reply else b""), reply
                expect_end(peer)
            cm.command(ucma.ESTABLISH, number, expect=errno.ECONNRESET)
            cm.destroy(number)


def nobody_listens(build):
    with connecting(build) as (cm, listener, port):
        listener.close()
        event = cm.event(ucma.REJECTED) if request(cm, port) else None
        assert event.status == -errno.ECONNREFUSED


def last_bytes(build):
    """A process that ends: what its socket has taken still reaches the peer, and then the end does."""
    with serving(build) as (cm, _, connect):
        peer = connect()
        peer.send(frame(REQUEST_KEY))
        number = cm.event(ucma.CONNECT_REQUEST).id
        _, stream = answer(cm, ucma.ACCEPT, number)
        cm.event(ucma.ESTABLISHED)
        receive(peer, REPLY_KEY)
        stream.send(b"z" * 100000)
        stream.close()
        cm.close()
        time.sleep(0.2)
        data = b""
        while more := peer.recv(65536):
            data += more
        assert data == b"z" * 100000, len(data)


def wrong_ids(build):
    """Wishes that do not exist; a port that is in use; a second listener."""
    with Daemon(build, "--linger", "60"), Cm() as cm:
        cm.new_id(iwarp=True, crc=3, expect=errno.EINVAL)
        cm.new_id(iwarp=True, markers=2, expect=errno.EINVAL)
        cm.new_id(iwarp=True, crc=1 << 31, expect=errno.EINVAL)
        unbound = cm.new_id(iwarp=True)
        for kind in (ucma.ACCEPT, ucma.DISCONNECT, ucma.ESTABLISH, ucma.REJECT):
            assert cm.result(kind, ucma.conn(), number=unbound) == errno.EINVAL
        with socket.create_server((HERE, 0)) as taken:
            number = cm.new_id(iwarp=True)
            results = {cm.result(ucma.BIND, ucma.sockaddr(HERE, taken.getsockname()[1]), number=number),
                       cm.result(ucma.LISTEN, number=number, value=5)}
            assert errno.EADDRINUSE in results, results


def end_is_waited_for(build):
    """After a disconnect, the event comes when the peer ends the connection, or after 4 s. The kernel keeps the rest
    for half a minute."""
    with serving(build) as (cm, _, connect):
        peer = connect()
        peer.send(frame(REQUEST_KEY))
        number = cm.event(ucma.CONNECT_REQUEST).id
        _, stream = answer(cm, ucma.ACCEPT, number)
        cm.event(ucma.ESTABLISHED)
        receive(peer, REPLY_KEY)
        started = time.monotonic()
        cm.command(ucma.DISCONNECT, number)
        expect_end(peer)
        peer.send(b"late")
        cm.event(ucma.DISCONNECTED)
        assert time.monotonic() - started >= 3.9
        assert stream.getsockopt(socket.IPPROTO_TCP, socket.TCP_USER_TIMEOUT) == 30000
        stream.close()
        assert readable(peer)


if __name__ == "__main__":
    main([accepts, frames_of_flags, other_revisions, hostile_requests, refuses, peer_gives_up, backlog,
          no_descriptor, backlog_of_silent, fair_backlog, backlog_of_refused, listener_of_refused,
          end_behind_refusal, refused_peer_ends, connects, refused_replies,
          nobody_listens, last_bytes, wrong_ids, end_is_waited_for])
