#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""Two hosts: daemons in network namespaces of their own, joined by a veth pair."""

import contextlib
import errno
import os
import pathlib
import signal
import socket
import struct
import subprocess
import sys

import adverbd
import ucma
from adverbd import Daemon, Host, PATIENCE, wait_for
from ucma import Cm, connect

LINKS = (("10.5.0.1", "10.5.0.2", 24), ("fd05::1", "fd05::2", 64))


def prepare(name, side, mtu):
    adverbd.sh(f"ip link set lo up; echo 0 > /proc/sys/net/ipv6/conf/{name}/accept_dad;"
               f"ip link set {name} mtu {mtu} up")
    for link in LINKS:
        nodad = "nodad" if ":" in link[side] else ""
        adverbd.sh(f"ip addr add {link[side]}/{link[2]} dev {name} {nodad}")


@contextlib.contextmanager
def host_without_daemon(build):
    """Yields (host, Cm here); this process is here."""
    host = Host()
    with contextlib.ExitStack() as stack:
        stack.callback(host.close)
        adverbd.sh(f"ip link add nt0 type veth peer name nt1 netns {host.process.pid}")
        stack.callback(lambda: adverbd.sh("ip link del nt0"))
        prepare("nt0", 0, 1500)
        with host:
            prepare("nt1", 1, 1500)
        stack.enter_context(Daemon(build))
        client = stack.enter_context(Cm())
        for link in LINKS:
            client.wait_for_address(link[0])
        yield host, client


@contextlib.contextmanager
def two_hosts(build, mtu=1500, options=((), ())):
    """Yields (host, daemon here, Cm here, daemon there, Cm there); this process is here. `options` are those
    of the daemon here and of the one there."""
    host = Host()
    with contextlib.ExitStack() as stack:
        stack.callback(host.close)
        adverbd.sh(f"ip link add nt0 type veth peer name nt1 netns {host.process.pid}")
        stack.callback(lambda: adverbd.sh("ip link del nt0"))
        prepare("nt0", 0, mtu)
        with host:
            prepare("nt1", 1, mtu)
            there = Daemon(build, *options[1])
            there.__enter__()
        stack.callback(there_end, host, there)
        here = stack.enter_context(Daemon(build, *options[0]))
        with host:
            server = Cm()
        client = Cm()
        stack.callback(server.close)
        stack.callback(client.close)
        for cm, side in (client, 0), (server, 1):
            for link in LINKS:
                cm.wait_for_address(link[side])
        yield host, here, client, there, server


def there_end(host, daemon):
    with host:
        daemon.__exit__(*sys.exc_info())


def link_local(name):
    text = subprocess.run(["ip", "-6", "-o", "addr", "show", "dev", name, "scope", "link"],
                          check=True, text=True, stdout=subprocess.PIPE).stdout
    return text.split()[3].split("/")[0], int(text.split(":")[0])


def connects(build):
    """Connections over IPv4, IPv6 and link-local addresses, in both directions."""
    for mtu, code in (1500, 3), (9000, 5):
        with two_hosts(build, mtu) as (host, _, client, _, server):
            with host:
                local, _ = link_local("nt1")
            scope = link_local("nt0")[1]
            _, port = server.listener("::")
            for remote in LINKS[0][1], LINKS[1][1], local:
                active, passive = connect(client, server, remote, port, scope=scope)
                for cm, number in (client, active), (server, passive):
                    assert cm.route(number).mtu == code, cm.route(number).mtu
                assert client.route(active).dgid == ucma.gid_of(remote)
                server.command(ucma.DISCONNECT, passive)
                client.event(ucma.DISCONNECTED)
                server.event(ucma.DISCONNECTED)
            _, port = client.listener("0.0.0.0")
            connect(server, client, LINKS[0][0], port)


def expect_partitions(here, client, server):
    """The tables: 0x0001 and 0x8003 here, 0x8002 and 0x8001 there."""
    _, port = server.listener("0.0.0.0")
    active, passive = connect(client, server, LINKS[0][1], port)
    assert client.route(active).pkey == 0x0001, client.route(active).pkey
    assert server.route(passive).pkey == 0x8001, server.route(passive).pkey
    _, port = client.listener("0.0.0.0")
    number = server.ready(LINKS[0][0], port)
    assert server.route(number).pkey == 0x8002
    refusal = "its P_Key 0x8002 matches none of this port"
    before = here.said().count(refusal)
    server.command(ucma.CONNECT, number)
    wait_for(lambda: here.said().count(refusal) > before)
    client.no_event()


def partitions(build):
    """Connections use the first P_Key of a side and the entry of the other one that matches. A message of
    another partition is dropped and logged. A new worker has the same table."""
    options = ["--pkeys", "0x0001,0x8003"], ["--pkeys", "0x8002,0x8001"]
    with two_hosts(build, options=options) as (_, here, client, _, server):
        expect_partitions(here, client, server)
        with adverbd.Client() as control:
            here.kill(control.status()["worker"])
        with Cm() as another:
            another.wait_for_address(LINKS[0][0])
            expect_partitions(here, another, server)


def option_of_pkeys(build):
    """A P_Key table that cannot be is refused, also that of the environment."""
    for text in "0x8000", "1,1", "0xfffff", "", "1;2", ",".join(map(str, range(1, 130))):
        for options, env in ((["--pkeys", text], {}), ([], {"ADVERB_PKEYS": text})):
            if not options and not text:
                continue  # an empty variable is none
            done = subprocess.run([build / "adverbd", "--foreground", *options], check=False, text=True,
                                  env={**os.environ, **env}, stderr=subprocess.PIPE,
                                  stdin=subprocess.DEVNULL, timeout=PATIENCE)
            assert done.returncode and "P_Key" in done.stderr, done


def mtu_of(cm, number):
    """Returns path_mtu of struct ibv_qp_attr for the QP of a connection."""
    return struct.unpack_from("=I", cm.ask(ucma.QP_ATTR, number=number, value=ucma.RTR)[3], 8)[0]


def mtu_differs(build):
    """Both ends use the smaller MTU, for either direction of the connection."""
    with two_hosts(build, 9000) as (host, _, client, _, server):
        with host:
            adverbd.sh("ip link set nt1 mtu 1500")
        _, port = server.listener("0.0.0.0")
        _, other = client.listener("0.0.0.0")

        def small():
            active, passive = connect(client, server, LINKS[0][1], port)
            return server.route(passive).mtu == 3 and active, passive

        wait_for(lambda: small()[0])  # until that daemon has noticed the change
        active, passive = small()
        for cm, number in (client, active), (server, passive):
            assert cm.route(number).mtu == mtu_of(cm, number) == 3
        active, passive = connect(server, client, LINKS[0][0], other)
        for cm, number in (server, active), (client, passive):
            assert cm.route(number).mtu == mtu_of(cm, number) == 3
        # A packet to the host's own address crosses no wire.
        active, passive = connect(server, server, LINKS[0][1], port)
        assert server.route(active).mtu == server.route(passive).mtu == 5


def leaves_elsewhere(build):
    """The MTU of the outgoing interface counts too, not only the MTU of the source address's
    interface."""
    with two_hosts(build) as (_, _, client, _, _):
        adverbd.sh("ip link add nt2 mtu 9000 type veth peer name nt3 mtu 9000;"
                   "ip link set nt2 up; ip link set nt3 up; ip address add 10.6.0.1/24 dev nt2;"
                   "ip neighbour add 10.6.0.9 lladdr 02:00:00:00:00:09 dev nt2 nud permanent")
        client.wait_for_address("10.6.0.1")
        for remote, mtu in (LINKS[0][1], 3), ("10.6.0.9", 5), (LINKS[0][0], 5):
            number = client.new_id()
            client.resolve(number, remote, 7471, "10.6.0.1")
            assert client.event(ucma.ADDR_RESOLVED).id == number
            client.resolve_route(number)
            assert client.event(ucma.ROUTE_RESOLVED).id == number
            assert client.route(number).mtu == mtu, (remote, client.route(number).mtu)
        adverbd.sh("ip link del nt2")


def host_vanishes(build):
    """Without an answer, a connecting id gets UNREACHABLE and a disconnecting id DISCONNECTED."""
    with two_hosts(build) as (host, _, client, there, server):
        _, port = server.listener("0.0.0.0")
        active, _ = connect(client, server, LINKS[0][1], port)
        asking = client.ready(LINKS[0][1], port)
        resolved = client.new_id()
        client.resolve(resolved, LINKS[0][1], port)
        client.event(ucma.ADDR_RESOLVED)
        with host:
            adverbd.sh("ip link set nt1 down")
        client.command(ucma.CONNECT, asking)
        client.command(ucma.DISCONNECT, active)
        # The link is down, so the address of this end of the veth pair is down too.
        events = {(e.id, e.type) for e in (client.event(seconds=PATIENCE) for _ in range(5))}
        assert (asking, ucma.UNREACHABLE) in events and (active, ucma.DISCONNECTED) in events
        assert (resolved, ucma.ADDR_CHANGE) in events, events


def nobody_there(build):
    """If the other host has no process with port 4791, its kernel reports this by ICMP and the id
    gets UNREACHABLE."""
    with host_without_daemon(build) as (_, client):
        for ps in ucma.PS_TCP, ucma.PS_UDP:
            for _, remote, _ in LINKS:
                number = client.ready(remote, 7471, ps)
                client.command(ucma.CONNECT, number)
                status = client.event(ucma.UNREACHABLE, seconds=PATIENCE).status
                assert status == -errno.ECONNREFUSED, status


MAD_AT, TID_AT, COMM_ID_AT = 20, 28, 44  # in a UDP payload, after BTH and DETH


class Refuser:
    """Port 4791 of a host, which receives REQs and sends ICMP about them."""

    def __init__(self):
        self.sock = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        self.sock.bind(("0.0.0.0", adverbd.PORT))
        self.sock.settimeout(PATIENCE)
        self.raw = socket.socket(socket.AF_INET, socket.SOCK_RAW, socket.IPPROTO_ICMP)

    def receive(self):
        self.payload, self.source = self.sock.recvfrom(600)
        return self.payload

    def claim(self, payload, kind=3, code=3, to=LINKS[0][1], port=adverbd.PORT, rest=0):
        udp = struct.pack(">HHHH", self.source[1], port, 8 + len(self.payload), 0)
        ip = struct.pack(">BBHHHBBH4s4s", 0x45, 0, 28 + len(self.payload), 0, 0x4000, 63, 17, 0,
                         socket.inet_aton(self.source[0]), socket.inet_aton(to))
        icmp = struct.pack(">BBHI", kind, code, 0, rest) + ip + udp + payload
        words = struct.unpack(f">{len(icmp) // 2}H", icmp[:len(icmp) // 2 * 2])
        total = sum(words) + (icmp[-1] << 8 if len(icmp) % 2 else 0)
        total = (total & 0xffff) + (total >> 16)
        total = (total & 0xffff) + (total >> 16)
        self.raw.sendto(icmp[:2] + struct.pack(">H", ~total & 0xffff) + icmp[4:], self.source)

    def lies(self):
        right = self.payload
        for at in 0, 5, 13, MAD_AT, MAD_AT + 17, TID_AT, TID_AT + 7, COMM_ID_AT, 100, 275:
            self.claim(right[:at] + bytes([right[at] ^ 1]) + right[at + 1:])
        self.claim(b"")
        self.claim(right[:COMM_ID_AT + 3])
        self.claim(bytes(len(right)))
        self.claim(right, to="10.5.0.9")
        self.claim(right, port=4790)
        for kind, code, rest in (3, 0, 0), (3, 1, 0), (3, 2, 0), (3, 4, 576), (3, 13, 0), (11, 0, 0):
            self.claim(right, kind, code, rest=rest)


def number_of(payload):
    """Returns the PSN. QP1 counts its sent packets in it."""
    return int.from_bytes(payload[9:12], "big")


def forged_icmp(build):
    """ICMP about a closed port has an effect only if it quotes the exact packet. No other ICMP
    makes a send fail."""
    with host_without_daemon(build) as (host, client):
        with host:
            refuser = Refuser()
        number = client.ready(LINKS[0][1], 7471)
        client.command(ucma.CONNECT, number)
        before = number_of(refuser.receive())
        for _ in range(4):  # more transmissions than to a closed port
            refuser.lies()
            after = number_of(refuser.receive())
            assert after == before + 1 & 0xffffff, (before, after)
            before = after
        client.no_event()
        refuser.claim(refuser.payload[:COMM_ID_AT + 4])
        e = client.event(ucma.UNREACHABLE)
        assert (e.id, e.status) == (number, -errno.ECONNREFUSED), e.status
        refuser.sock.close()
        refuser.raw.close()


def signal_ends(build):
    """A daemon that ends by a signal disconnects the peers of its programs."""
    with two_hosts(build) as (host, _, client, there, server):
        _, port = server.listener("0.0.0.0")
        numbers = {connect(client, server, LINKS[0][1], port)[0] for _ in range(50)}
        there.process.send_signal(signal.SIGTERM)
        there.process.wait(PATIENCE)
        assert {client.event(ucma.DISCONNECTED).id for _ in numbers} == numbers


def last_words(build):
    """If a daemon's last program dies, the daemon disconnects the program's peers before it exits.
    """
    with two_hosts(build) as (host, _, client, there, server):
        _, port = server.listener("0.0.0.0")
        numbers = {connect(client, server, LINKS[0][1], port)[0] for _ in range(20)}
        server.close()
        assert {client.event(ucma.DISCONNECTED).id for _ in numbers} == numbers
        there.process.wait(PATIENCE)


def captured(name, number):
    """Returns (headers of IP and UDP, BTH to ICRC) of a frame that the Linux kernel sent."""
    path = pathlib.Path(__file__).resolve().parents[2] / "data" / "captures" / name
    data, at = path.read_bytes(), 24
    for _ in range(number):
        length, = struct.unpack_from("<I", data, at + 8)
        frame, at = data[at + 16:at + 16 + length], at + 16 + length
    return frame[14:42], frame[42:]


def kernel_asks(build):
    """A REQ of the Linux kernel, bit by bit, is a request here; the REP looks like the kernel's."""
    ip, req = captured("rping.pcap", 1)
    _, kernel_rep = captured("rping.pcap", 2)
    port, = struct.unpack(">H", req[20 + 24 + 14:20 + 24 + 16])
    with two_hosts(build) as (host, _, server, _, _):
        adverbd.sh("ip addr add 10.77.0.2/24 dev nt0")
        server.wait_for_address("10.77.0.2")
        _, port = server.listener("10.77.0.2", port)
        text = subprocess.run(["ip", "-o", "link", "show", "nt0"], check=True, text=True,
                              stdout=subprocess.PIPE).stdout
        here = bytes.fromhex(text.split("link/ether ")[1].split()[0].replace(":", ""))
        with host:
            adverbd.sh("ip addr add 10.77.0.3/24 dev nt1; ip link set nt1 arp on")
            wire = socket.socket(socket.AF_PACKET, socket.SOCK_RAW, socket.htons(0x0800))
            wire.bind(("nt1", 0))
        wire.settimeout(PATIENCE)
        wire.send(here + wire.getsockname()[4] + b"\x08\0" + ip + req)
        e = server.event(ucma.CONNECT_REQUEST)
        assert e.route.remote[0] == "10.77.0.3" and e.route.local == ("10.77.0.2", port)
        server.command(ucma.ACCEPT, e.id)
        while True:
            frame = wire.recv(2000)
            if frame[23] == 17 and frame[36:38] == struct.pack(">H", adverbd.PORT):
                break
        ours = frame[42:]
        assert len(ours) == len(kernel_rep)
        # Opcode and flags, P_Key, QP; Q_Key and source QP; the MAD's class and attribute.
        for part in slice(0, 8), slice(12, 20), slice(20, 24), slice(36, 38):
            assert ours[part] == kernel_rep[part], (part, ours[:48].hex(), kernel_rep[:48].hex())
        assert ours[28:36] == req[28:36]  # the transaction id
        assert frame[15] == 0 and frame[22] == 64 and frame[18:20] == b"\0\0"


def neighbour_found(build):
    """If the neighbour's address is not known yet, rdma_resolve_addr() waits for it."""
    with two_hosts(build) as (_, _, client, _, server):
        _, port = server.listener("::")
        for remote in LINKS[0][1], LINKS[1][1]:
            adverbd.sh("ip neigh flush dev nt0; ip -6 neigh flush dev nt0")
            connect(client, server, remote, port)
        number = client.new_id()
        client.resolve(number, "10.5.0.9", 1, timeout=100)
        assert client.event(ucma.ADDR_ERROR).status == -errno.ETIMEDOUT


if __name__ == "__main__":
    adverbd.main([connects, partitions, option_of_pkeys, mtu_differs, leaves_elsewhere, host_vanishes, nobody_there,
                  forged_icmp, signal_ends, last_words, kernel_asks, neighbour_found])
