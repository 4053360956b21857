# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""RoCE v1 between two hosts: network namespaces joined by a veth pair. Each process opens a packet socket."""

import pathlib
import re
import shlex

import cases_netns
import reports
import roce_pcap
from cases_cm import HERE, LINES, THERE, cm_pair, demand, perftest_pair, wait_listens
from cases_device import NOBODY, as_nobody
from cases_tap import Trace
from harness import Failure, Skip, case, need_tool

OWN, PEER = (cases_netns.ADDRESSES["4"][side] for side in (HERE, THERE))
V1 = "IB/RoCE v1"

# Small runs that together send most kinds of packets.
TRAFFIC = [
    "ibv_rc_pingpong -g {gid} -n 20 -s 4097",
    "ibv_uc_pingpong -g {gid} -n 20 -s 4097",
    "ibv_ud_pingpong -g {gid} -n 20 -s 1000",
    "ibv_srq_pingpong -g {gid} -n 40 -q 4 -s 512",
    "ib_write_bw -F -x {gid} -n 100",
    "ib_write_bw -F -x {gid} -n 20 -s 9001 -c UC",
    "ib_write_lat -F -x {gid} -n 20 -s 2",
    "ib_read_bw -F -x {gid} -n 40",
    "ib_read_lat -F -x {gid} -n 20 -s 5",
    "ib_send_bw -F -x {gid} -n 100 -s 5000 -q 4",
    "ib_send_lat -F -x {gid} -n 20 -c UD",
    "ib_atomic_lat -F -x {gid} -n 20",
    "ib_write_bw -F -x {gid} -n 20 -c XRC",
]
OPCODES = {0x00, 0x01, 0x02, 0x04, 0x06, 0x07, 0x08, 0x0a, 0x0c, 0x0d, 0x0e, 0x0f, 0x10, 0x11, 0x12, 0x14, 0x22, 0x26,
           0x28, 0x64}


class Capture:
    """A tcpdump of all frames of RoCE, of either version, from construction to stop(). longest: of the frames; the
    buffer has room for more shorter ones."""

    def __init__(self, lab, interface, longest=10000):
        self.lab = lab
        self.path = str(lab.dir / "v1.pcap")
        self.process = lab.start([need_tool("tcpdump"), "-i", interface, "-s", str(longest), "-B", "131072",
                                  "--immediate-mode", "-Z", "root", "-U", "-w", self.path,
                                  "ether proto 0x8915 or udp port 4791"], adverb=False)
        lab.wait_until(lambda: "listening on" in self.process.output(), 20, "tcpdump listens")

    def stop(self):
        self.lab.stop_tcpdump(self.process)
        if "\n0 packets dropped by kernel" not in self.process.output():
            raise Failure(f"the capture has lost packets:\n{self.process.output()}")
        return self.path


def two_hosts(lab, mtu=1500, roce="v1"):
    lab.everywhere["ADVERB_ROCE"] = roce
    return cases_netns.two_hosts(lab, mtu)


def check_frames(lab, path, opcodes):
    """All frames are RoCE v1 with a right ICRC, the opcodes occur, and tshark dissects each frame."""
    packets = list(roce_pcap.roce_v1_packets(path))
    for packet in packets:
        if isinstance(packet, roce_pcap.CaptureError):
            raise Failure(str(packet))
        if packet.icrc_found != packet.icrc_right:
            raise Failure(f"frame {packet.frame}: opcode {packet.opcode:#04x}: a wrong ICRC")
    others = [p for p in roce_pcap.roce_packets(path)]
    if others:
        raise Failure(f"{len(others)} packets of RoCE v2")
    missing = opcodes - {p.opcode for p in packets}
    if missing:
        raise Failure(f"opcodes never seen: {sorted(map(hex, missing))}")
    text = lab.run([need_tool("tshark"), "-n", "-r", path, "--disable-heuristic", "rpcrdma_infiniband", "-T", "fields",
                    "-e", "frame.number", "-e", "infiniband.bth.opcode", "-e", "infiniband.grh.ipver", "-e",
                    "_ws.malformed", "-e", "frame.protocols"], adverb=False, seconds=300)
    rows = [line.split("\t") for line in text.splitlines() if line[:1].isdigit()]
    if len(rows) != len(packets):
        raise Failure(f"{len(packets)} packets, but tshark shows {len(rows)}")
    for (number, opcode, grh, malformed, protocols), packet in zip(rows, packets):
        if not opcode or int(opcode.split(",")[0], 0) != packet.opcode or grh != "6":
            raise Failure(f"frame {number}: tshark sees opcode '{opcode}', GRH version '{grh}', not {packet.opcode}")
        if malformed and protocols.endswith(":infiniband"):
            raise Failure(f"frame {number}, opcode {packet.opcode:#04x}: malformed by tshark")
    print(f"measured: {len(packets)} frames, every ICRC right, {len({p.opcode for p in packets})} opcodes")
    return packets


def types_of(lab, **how):
    """Returns the types in sysfs, by index."""
    text = lab.run(["sh", "-c", "cd /sys/class/infiniband/adverb0/ports/1/gid_attrs/types && "
                                "for i in $(ls | sort -n); do cat $i; done"], **how)
    return [line for line in text.splitlines() if "RoCE" in line]


@case("rocev1", "gids")
def gids(lab):
    """The GIDs of RoCE v1 in sysfs, libibverbs and adverb gids; the order; and none without the option."""
    cases_netns.two_hosts(lab, 1500)
    plain = types_of(lab)
    count = len(plain)
    if set(plain) != {"RoCE v2"}:
        raise Failure(f"without the option: {plain}")
    if types_of(lab, env={"ADVERB_ROCE": "v1"}) != [V1] * count:
        raise Failure("v1: not all entries are of RoCE v1")
    if types_of(lab, env={"ADVERB_ROCE": "both"}) != plain + [V1] * count:
        raise Failure("both: not the entries of RoCE v2, then those of RoCE v1")
    text = lab.run(["ibv_devinfo", "-v"], env={"ADVERB_ROCE": "both"})
    demand(text, r"GID\[.*RoCE v1$", count)  # ibv_devinfo's word
    demand(text, r"GID\[.*RoCE v2$", count)
    addresses = [gid for _, gid in sorted(reports.gid_table(text).items())]
    if addresses[:count] != addresses[count:]:
        raise Failure(f"the entries of both versions differ:\n{text}")
    demand(lab.run([lab.adverb, "gids"], adverb=False, env={"ADVERB_ROCE": "v1"}), V1, count)
    refused = lab.run([lab.adverb, "run", "--roce", "v3", "true"], adverb=False, status=2)
    demand(refused, r"'v3' is none of: v1, v2, both", 1)


@case("rocev1", "unprivileged")
def unprivileged(lab):
    """A user who may not open packet sockets has no GIDs of RoCE v1, and reads why."""
    env = as_nobody(lab)
    cases_netns.two_hosts(lab, 1500)
    if V1 in types_of(lab, prefix=NOBODY, env=dict(env, ADVERB_ROCE="both")):
        raise Failure("GIDs of RoCE v1")
    text = lab.run(["ibv_devinfo"], prefix=NOBODY, env=dict(env, ADVERB_ROCE="v1"), status=1)
    demand(text, r"cannot open the device: RoCE v1 needs a packet socket, and this process lacks CAP_NET_RAW", 1)


@case("rocev1", "unprivileged-daemon")
def unprivileged_daemon(lab):
    """If adverbd may not open packet sockets, programs with both versions still connect by RoCE v2."""
    if not lab.is_root:
        raise Skip("no process has the capability")
    lab.start([lab.build / "adverbd", "--foreground", "--linger", "300"], adverb=False,
              prefix=[need_tool("setpriv"), "--bounding-set=-net_raw", "--inh-caps=-net_raw"])
    lab.wait_until(lambda: b"adverbd" in pathlib.Path("/proc/net/unix").read_bytes(), 20, "adverbd listens")
    ping = ["rping", "-a", "127.0.0.1", "-C", "5", "-v"]
    lab.everywhere["ADVERB_ROCE"] = "both"
    _, client = cm_pair(lab, [*ping, "-s"], [*ping, "-c", "-V"])
    demand(client, r"^ping data: rdma-ping-\d+: [A-z]", 5)
    demand(lab.run([*ping, "-s"], env={"ADVERB_ROCE": "v1"}, status=255), r"rdma_create_id: Operation not permitted", 1)


def register_traffic(family, mtu):
    @case("rocev1", f"traffic-ipv{family}-mtu-{mtu}", seconds=300)
    def traffic(lab):
        """Ping-pongs and perftest; each frame on the wire is right."""
        there = two_hosts(lab, mtu)
        indices = cases_netns.host_facts(lab, mtu, family, there)
        capture = Capture(lab, "veth0")
        for line in TRAFFIC:
            lab.pair(shlex.split(line.format(gid=indices[1])), [*shlex.split(line.format(gid=indices[0])), PEER],
                     server_prefix=there)
        check_frames(lab, capture.stop(), OPCODES)


register_traffic("4", 1500)
register_traffic("6", 9000)


@case("rocev1", "cm", seconds=240)
def connections(lab):
    """librdmacm: REQ, REP, RTU, DREQ and SIDR by RoCE v1; programs, multicast, rsockets."""
    there = two_hosts(lab)
    capture = Capture(lab, "veth0", longest=2000)
    server, client = cm_pair(lab, ["rping", "-s", "-a", PEER, "-v", "-C", "10"],
                             ["rping", "-c", "-a", PEER, "-v", "-V", "-C", "10"], server_prefix=there)
    demand(server, r"^server ping data: rdma-ping-\d+: [A-z]", 10)
    demand(client, r"^ping data: rdma-ping-\d+: [A-z]", 10)
    for program in ("ucmatose", "udaddy"):
        size = ["-S", "1000", "-C", "20", "-c", "10"]
        for text in cm_pair(lab, [program, "-b", PEER, *size], [program, "-s", PEER, "-b", OWN, *size],
                            server_prefix=there):
            demand(text, r"^return status 0$", 1)
    cm_pair(lab, ["rdma_server", "-s", PEER], ["rdma_client", "-s", PEER], server_prefix=there)
    _, client = cm_pair(lab, ["cmtime", "-b", PEER, "-c", "50"], ["cmtime", "-c", "50", "-b", OWN, "-s", PEER],
                        server_ends=None, server_prefix=there)
    for command in (["ib_write_bw"], ["ib_read_bw", "-q", "4"], ["ib_send_bw", "-c", "UD"]):
        text = perftest_pair(lab, [*command, "-R", "-F", "-n", "200"], PEER, server_prefix=there)
        if len(reports.perftest_rows(text)) != 1:
            raise Failure(f"not one row of results:\n{text}")
    packets = check_frames(lab, capture.stop(), {0x64, 0x04, 0x11})
    if not any(p.dest_qpn == 1 for p in packets):
        raise Failure("no management datagrams")


@case("rocev1", "multicast")
def multicast(lab):
    there = two_hosts(lab)
    capture = Capture(lab, "veth0")
    for group, own, peer in (("239.9.9.9", OWN, PEER), ("ff15::99", *(cases_netns.ADDRESSES["6"][:2]))):
        base = ["-m", group, "-C", "20", "-S", "500"]
        receiver = lab.start(["mckey", *base, "-b", peer], prefix=[*there, *LINES])
        lab.wait_until(lambda: "joined dgid" in receiver.output(), 30, "mckey has joined")
        demand(lab.run(["mckey", "-s", *base, "-b", own]), r"^test complete$", 1)
        demand(receiver.expect(0, 30), r"^data transfers complete$", 1)
    packets = check_frames(lab, capture.stop(), set())
    if sum(p.dest_qpn == 0xffffff for p in packets) != 40:
        raise Failure("not 20 messages to each group")


@case("rocev1", "rsockets", seconds=240)
def rsockets(lab):
    there = two_hosts(lab)
    for words in ("-S 1000 -C 200 -I 2 -T v", "-S 100000 -C 50 -I 2 -T v -T b", "-S 300001 -C 4 -I 2 -B 4000 -T v -T b"):
        command = ["rstream", *words.split()]
        cm_pair(lab, [*command, "-b", PEER], [*command, "-s", PEER], server_prefix=there)


@case("rocev1", "both-versions")
def both_versions(lab):
    """A server with both versions serves clients of each; a peer without the version is refused."""
    there = two_hosts(lab, roce="both")
    ping = ["rping", "-a", PEER, "-C", "5", "-v"]
    for roce in ("v1", "v2"):
        server = lab.start([*ping, "-s"], prefix=[*there, *LINES])
        wait_listens(lab, server, prefix=there)
        text = lab.run([*ping, "-c", "-V"], env={"ADVERB_ROCE": roce})
        demand(text, r"^ping data: rdma-ping-\d+: [A-z]", 5)
        server.expect(0, 30)
    for ours, theirs in (("v1", "v2"), ("v2", "v1")):
        server = lab.start([*ping, "-s"], prefix=[*there, *LINES], env={"ADVERB_ROCE": theirs})
        wait_listens(lab, server, prefix=there)
        text = lab.run([*ping, "-c"], env={"ADVERB_ROCE": ours}, status=255)
        demand(text, r"REJECTED", 1)
        server.kill()


@case("rocev1", "many-addresses")
def many_addresses(lab):
    """A table of both versions has room for the GIDs of RoCE v1 of some addresses only. A connection by RoCE v1 to
    another address is refused, because no GID is its own."""
    there = two_hosts(lab, roce="both")
    pid = there[there.index("-t") + 1]
    count = 150
    addresses = [f"10.77.{1 + i // 100}.{1 + i % 100}" for i in range(count)]
    lab.system(f"ip route add 10.77.0.0/16 dev veth0; nsenter -t {pid} -n ip route add 10.77.0.0/16 dev veth1; " + "; ".join(
        f"nsenter -t {pid} -n ip address add {address}/32 dev veth1" for address in addresses))
    lab.wait_until(lambda: len(types_of(lab, prefix=there)) == 256, 30, "256 GIDs")
    types = types_of(lab, prefix=there)
    first = types.index(V1)
    listed = lab.run([lab.adverb, "gids"], adverb=False, prefix=there)
    rows = [line.split() for line in listed.splitlines() if re.match(r"\d+ ", line)]
    by_v1 = {row[2] for row in rows if row[3:5] == ["IB/RoCE", "v1"]}
    if not 256 - first > 20 or types[first:] != [V1] * (256 - first):
        raise Failure(f"not the GIDs of RoCE v2, then some of RoCE v1:\n{listed}")
    ping = ["rping", "-C", "5", "-v", "-a"]
    for address, has in ((addresses[0], True), (addresses[-1], False)):
        if (address in by_v1) != has:
            raise Failure(f"{address}:\n{listed}")
        server = lab.start([*ping, address, "-s"], prefix=[*there, *LINES])
        wait_listens(lab, server, prefix=there)
        text = lab.run([*ping, address, "-c", "-V"], env={"ADVERB_ROCE": "v1"}, status=0 if has else 255)
        demand(text, r"^ping data: rdma-ping-\d+: [A-z]" if has else "REJECTED", 5 if has else 1)
        server.kill()
    # RoCE v2 has all of them.
    cm_pair(lab, [*ping, addresses[-1], "-s"], [*ping, addresses[-1], "-c", "-V"], server_prefix=there)


@case("rocev1", "capture")
def captured(lab):
    """adverb capture shows RoCE v1 frames, those of the connection manager included."""
    there = two_hosts(lab)
    trace = Trace(lab)
    cm_pair(lab, ["rping", "-s", "-a", PEER, "-C", "10"], ["rping", "-c", "-a", PEER, "-C", "10"], server_prefix=there)
    packets = check_frames(lab, trace.stop(), {0x64, 0x04, 0x11})
    if not any(p.dest_qpn == 1 for p in packets):
        raise Failure("no management datagrams")
    demand(lab.run([lab.adverb, "frame", "dissect", trace.path], adverb=False),
           rf"{len(packets)} of RoCE: 0 with a wrong ICRC", 1)


@case("rocev1", "faults")
def faults(lab):
    """Lost frames are sent again; a fault plan applies to RoCE v1, too."""
    there = two_hosts(lab)
    plan = {"ADVERB_FAULT": "seed=3; drop=2%; corrupt=1%"}
    base = ["ib_write_bw", "-F", "-n", "300", "-s", "20000"]
    _, client = lab.pair(base, [*base, PEER], server_prefix=there, env=plan)
    reports.perftest(client, [20000], 300)
    text = lab.run([lab.adverb, "stat"], adverb=False)
    if not re.search(r"local_ack_timeout_err|packet_seq_err|out_of_sequence", text):
        raise Failure(f"no loss was noticed:\n{text}")


@case("rocev1", "no-room")
def no_room(lab):
    """The interface refuses the frames for a while (ENOBUFS): adverbd loses them, does not wait for room in a socket
    that has some, and later sends again."""
    there = two_hosts(lab)
    ping = ["rping", "-a", PEER, "-C", "5", "-v"]
    server = lab.start([*ping, "-s"], prefix=[*there, *LINES])
    wait_listens(lab, server, prefix=there)
    # ARP passes. A management datagram is too long.
    lab.system(f"{need_tool('tc')} qdisc add dev veth0 root tbf rate 1mbit burst 300 limit 300")
    client = lab.start([*ping, "-c", "-V"], prefix=LINES)
    lab.wait_until(lambda: re.search(r"dropped [1-9]", lab.system("tc -s qdisc show dev veth0")), 20, "a refused frame")
    # A few messages, each some times; an adverbd that tries again and again makes thousands of it in a second.
    lab.system("sleep 1")
    refused = re.search(r"dropped (\d+)", lab.system("tc -s qdisc show dev veth0"))[1]
    if int(refused) > 100:
        raise Failure(f"the interface has refused {refused} frames")
    lab.system("tc qdisc del dev veth0 root")
    demand(client.expect(0, 60), r"^ping data: rdma-ping-\d+: [A-z]", 5)
    server.expect(0, 30)


@case("rocev1", "within-the-machine")
def within(lab):
    """Packets to own addresses take the ways of RoCE v2, and no frame leaves."""
    two_hosts(lab)
    capture = Capture(lab, "veth0")
    for host in ("127.0.0.1", OWN):
        cm_pair(lab, ["rping", "-s", "-a", host, "-C", "10"], ["rping", "-c", "-a", host, "-C", "10"])
        # It answers to the source of received messages (ibv_create_ah_from_wc).
        for text in cm_pair(lab, ["udaddy", "-b", host], ["udaddy", "-s", host, "-b", host]):
            demand(text, r"^return status 0$", 1)
    base = ["ib_write_bw", "-F", "-n", "300"]
    lab.pair(base, [*base, "127.0.0.1"])
    if list(roce_pcap.frames(capture.stop())):
        raise Failure("frames have left")


@case("rocev1", "peer-dies")
def peer_dies(lab):
    """If a peer is killed, requests of the other side fail instead of hanging."""
    there = two_hosts(lab)
    program = lab.client("exchange")
    one = lab.start([program], prefix=there)
    lab.wait_listening(one, 18600)
    two = lab.start([program, "-t", "60", PEER])
    lab.system("sleep 2")
    one.kill()
    two.expect(3, 60)


@case("rocev1", "no-neighbour")
def no_neighbour(lab):
    """An address that does not answer ARP: the program's call fails after a second, with the reason."""
    there = two_hosts(lab)
    lab.system("echo 1 > /proc/sys/net/ipv4/conf/all/arp_ignore; ip address add 10.77.0.99/32 dev lo")
    index = cases_netns.gid_index(lab.run(["ibv_devinfo", "-v"]), "10.77.0.99")
    command = ["ibv_rc_pingpong", "-n", "10", "-g"]
    server = lab.start([*command, "0"], prefix=there, env={"ADVERB_LOG": "warn"})
    lab.wait_listening(server, 18515)
    lab.start([*command, index, PEER]).wait(60)
    server.wait(60)
    if not re.search(r"ibv_modify_qp\(qp 0x[0-9a-f]+, INIT -> RTR\).*10.77.0.99 does not answer.*ETIMEDOUT",
                     server.output()):
        raise Failure(f"no reason:\n{server.output()}")
