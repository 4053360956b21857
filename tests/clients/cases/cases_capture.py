# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""Captured packets, checked by tshark, scapy and an independent ICRC check."""

import pathlib
import shlex

import cases_cm
import cases_netns
import roce_pcap
from harness import HERE, Failure, case, need_tool

# Small runs that together send every kind of packet.
TRAFFIC = [
    "ibv_rc_pingpong -g {gid} -n 5 -s 1",
    "ibv_rc_pingpong -g {gid} -n 5 -s 3",
    "ibv_rc_pingpong -g {gid} -n 20 -s 4097",
    "ibv_uc_pingpong -g {gid} -n 20 -s 4097",
    "ibv_ud_pingpong -g {gid} -n 20 -s 1000",
    "ibv_srq_pingpong -g {gid} -n 40 -q 4 -s 512",
    "ib_write_bw -F -x {gid} -n 40",
    "ib_write_bw -F -x {gid} -n 20 -s 9001 -c UC",
    "ib_write_lat -F -x {gid} -n 20 -s 2",
    "ib_read_bw -F -x {gid} -n 20",
    "ib_read_lat -F -x {gid} -n 20 -s 5",
    "ib_send_bw -F -x {gid} -n 40 -s 5000",
    "ib_send_lat -F -x {gid} -n 20 -c UD",
    "ib_atomic_lat -F -x {gid} -n 20",
    "ib_atomic_lat -F -x {gid} -n 20 -A CMP_AND_SWAP",
    "ibv_xsrq_pingpong -g {gid} -n 20 -s 3001",
    "ibv_xsrq_pingpong -g {gid} -n 20 -s 3",
    "ib_write_bw -F -x {gid} -n 20 -c XRC",
    "ib_write_lat -F -x {gid} -n 20 -s 2 -c XRC",
    "ib_read_bw -F -x {gid} -n 20 -c XRC",
    "ib_read_lat -F -x {gid} -n 20 -s 5 -c XRC",
    "ib_atomic_lat -F -x {gid} -n 20 -c XRC",
    "ib_atomic_lat -F -x {gid} -n 20 -A CMP_AND_SWAP -c XRC",
]
# Opcodes that the traffic must contain: RC, UC, UD and XRC.
RC_OPCODES = {0x00, 0x01, 0x02, 0x04, 0x06, 0x07, 0x08, 0x0a, 0x0c, 0x0d, 0x0e, 0x0f, 0x10, 0x11,
              0x12, 0x13, 0x14}
OPCODES = (RC_OPCODES | {0x20, 0x21, 0x22, 0x26, 0x28, 0x64}
           | {0xa0 | opcode for opcode in RC_OPCODES})

# Otherwise packets between processes of one machine use shared memory.
NO_SHM = {"ADVERB_NO_SHM": "1"}


class Capture:
    """A tcpdump of an interface, from construction to stop()."""

    def __init__(self, lab, interface):
        self.lab = lab
        self.path = str(lab.dir / "roce.pcap")
        # in immediate mode each packet takes a slot of the snapshot's length: room for 13,000
        self.process = lab.start([need_tool("tcpdump"), "-i", interface, "-s", "10000", "-B", "131072",
                                  "--immediate-mode", "-Z", "root", "-U", "-w", self.path, "udp port 4791"],
                                 adverb=False)
        lab.wait_until(lambda: "listening on" in self.process.output(), 20, "tcpdump listens")

    def stop(self):
        self.lab.stop_tcpdump(self.process)
        text = self.process.output()
        if "\n0 packets dropped by kernel" not in text:
            raise Failure(f"the capture has lost packets:\n{text}")
        return self.path


def traffic(lab, server_gid, client_gid, host, prefix):
    """Runs the programs. host: for their TCP connection, always IPv4; the GIDs are the RDMA addresses."""
    for line in TRAFFIC:
        lab.pair(shlex.split(line.format(gid=server_gid)),
                 [*shlex.split(line.format(gid=client_gid)), host], server_prefix=prefix, env=NO_SHM)


def check_packets(path, largest_ip):
    """Checks each packet's ICRC, that each datagram is one packet, and which kinds of packets occur."""
    packets = list(roce_pcap.roce_packets(path))
    opcodes = set()
    for packet in packets:
        if isinstance(packet, roce_pcap.CaptureError):
            raise Failure(str(packet))
        opcodes.add(packet.opcode)
        if packet.ip_len > largest_ip:
            raise Failure(f"frame {packet.frame}: an IP packet of {packet.ip_len} bytes")
        if packet.icrc_found != packet.icrc_right:
            raise Failure(f"frame {packet.frame}: opcode {packet.opcode:#04x}, ICRC "
                          f"{packet.icrc_found.hex()}, should be {packet.icrc_right.hex()}")
    missing = OPCODES - opcodes
    if missing:
        raise Failure(f"opcodes never seen: {sorted(map(hex, missing))}")
    print(f"{len(packets)} packets, every ICRC right, {len(opcodes)} opcodes")
    return packets


def check_tshark(lab, path, packets):
    """tshark dissects every packet as RoCE v2, and reports none as malformed.

    Its guesses about payloads do not count. By chance, one in some hundred two-byte payloads looks like
    an Ethernet type, and any payload may look like RPC over RDMA.
    """
    tshark = need_tool("tshark")
    command = [tshark, "-n", "-r", path, "--disable-heuristic", "rpcrdma_infiniband",
               "-T", "fields", "-e", "frame.number", "-e", "infiniband.bth.opcode",
               "-e", "_ws.malformed", "-e", "frame.protocols"]
    text = lab.run(command, adverb=False, seconds=300)
    rows = [line.split("\t") for line in text.splitlines() if line[:1].isdigit()]
    by_frame = {p.frame: p for p in packets}
    if len(rows) != len(packets):
        raise Failure(f"{len(packets)} packets, but tshark shows {len(rows)}")
    for number, opcode, malformed, protocols in rows:
        packet = by_frame[int(number)]
        if not opcode or int(opcode.split(",")[0], 0) != packet.opcode:
            raise Failure(f"frame {number}: tshark sees opcode '{opcode}', not {packet.opcode}")
        if malformed and protocols.endswith(":infiniband"):
            raise Failure(f"frame {number}, opcode {packet.opcode:#04x}, "
                          f"{packet.payload_len} bytes of payload: malformed by tshark")


def judge(lab, path, family, largest_ip):
    packets = check_packets(path, largest_ip)
    if any(str(p.version) != family for p in packets):
        raise Failure(f"packets of another family than IPv{family}")
    check_tshark(lab, path, packets)
    if family == "4":  # scapy supports only IPv4
        text = lab.run(["/usr/bin/python3", HERE / "check_icrc.py", "--scapy", "300", path],
                       adverb=False, seconds=120)
        if " 0 differ" not in text:
            raise Failure(text)


def register(family, mtu):
    @case("capture", f"veth-ipv{family}-mtu-{mtu}", seconds=300)
    def run(lab):
        there = cases_netns.two_hosts(lab, mtu)
        # Frames as on a wire: the kernel segments bursts before the interface.
        lab.system("ip link set veth0 gso_max_segs 1")
        lab.system(f"{' '.join(there)} ip link set veth1 gso_max_segs 1")
        here_index, there_index = cases_netns.host_facts(lab, mtu, family, there)
        capture = Capture(lab, "veth0")
        traffic(lab, there_index, here_index, cases_netns.ADDRESSES["4"][1], there)
        judge(lab, capture.stop(), family, mtu)


register("4", 1500)
register("4", 9000)
register("6", 1500)


@case("capture", "loopback", seconds=300)
def loopback(lab):
    lab.system("ip link set lo gso_max_segs 1")
    capture = Capture(lab, "lo")
    traffic(lab, "0", "0", "127.0.0.1", ())
    judge(lab, capture.stop(), "4", 4096 + 100)


@case("capture", "changed-bit-is-found", seconds=60)
def self_check(lab):
    """The ICRC check itself rejects a capture with one changed bit."""
    capture = Capture(lab, "lo")
    lab.pair(["ibv_rc_pingpong", "-g", "0", "-n", "3", "-s", "64"],
             ["ibv_rc_pingpong", "-g", "0", "-n", "3", "-s", "64", "127.0.0.1"], env=NO_SHM)
    path = pathlib.Path(capture.stop())
    check = ["/usr/bin/python3", HERE / "check_icrc.py", str(path)]
    lab.run(check, adverb=False)
    data = bytearray(path.read_bytes())
    data[-8] ^= 1
    path.write_bytes(data)
    lab.run(check, adverb=False, status=1)


# tshark's names of CM messages, by attribute id.
CM_NAMES = {0x10: "ConnectRequest", 0x12: "ConnectReject", 0x13: "ConnectReply", 0x14: "ReadyToUse",
            0x15: "DisconnectRequest", 0x16: "DisconnectReply"}
CM_IP_LEN = 20 + 8 + 12 + 8 + 256 + 4  # IPv4, UDP, BTH, DETH, MAD, ICRC


def cm_messages(lab, path):
    """Returns the attribute ids of the CM messages of a capture, in order; each must be dissected whole."""
    command = [need_tool("tshark"), "-n", "-r", path, "-Y", "infiniband.bth.destqp == 1",
               "-T", "fields", "-e", "frame.number", "-e", "infiniband.mad.attributeid",
               "-e", "ip.len", "-e", "_ws.malformed", "-e", "_ws.col.Info"]
    attributes = []
    for line in lab.run(command, adverb=False, seconds=60).splitlines():
        if not line[:1].isdigit():
            continue
        number, attribute, length, malformed, info = line.split("\t")
        if not attribute or malformed or int(length) != CM_IP_LEN:
            raise Failure(f"frame {number} is not dissected whole: {line}")
        attribute = int(attribute, 0)
        if CM_NAMES.get(attribute, "CM:") not in info:
            raise Failure(f"frame {number}: attribute {attribute:#06x} but '{info}'")
        attributes.append(attribute)
    return attributes


@case("capture", "connection-manager", seconds=120)
def connection_manager(lab):
    """A connection's handshake and end, a rejected request, and SIDR for UD."""
    capture = Capture(lab, "lo")
    server = lab.start(["rping", "-s", "-a", "127.0.0.1", "-C", "3"])
    cases_cm.wait_listens(lab, server)
    lab.run(["rping", "-c", "-a", "127.0.0.1", "-C", "3"])
    server.expect(0, 30)
    lab.start(["rping", "-c", "-a", "127.0.0.1", "-p", "7999"]).wait(30)
    server = lab.start(["udaddy"])
    cases_cm.wait_listens(lab, server)
    lab.run(["udaddy", "-s", "127.0.0.1"])
    server.expect(0, 30)
    path = capture.stop()
    seen = cm_messages(lab, path)
    print(f"{len(seen)} messages: {[hex(a) for a in seen]}")
    if seen[:3] != [0x10, 0x13, 0x14] or 0x12 not in seen or not {0x15, 0x16} <= set(seen) \
            or not {0x17, 0x18} <= set(seen):
        raise Failure(f"not the messages that were expected: {[hex(a) for a in seen]}")
    for packet in roce_pcap.roce_packets(path):
        if isinstance(packet, roce_pcap.CaptureError) or packet.icrc_found != packet.icrc_right:
            raise Failure(f"a bad packet: {packet}")
