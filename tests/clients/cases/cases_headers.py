# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""What programs choose of the headers, as tshark shows it: P_Keys and traffic classes."""

import collections

import cases_netns
import cases_rocev1
import reports
from cases_capture import Capture as CaptureV2
from cases_cm import cm_pair, demand, perftest_pair, wait_listens
from harness import ROCE, Failure, case, need_tool

Capture = cases_rocev1.Capture if ROCE == "v1" else CaptureV2

HERE, THERE = 0, 1
WRITES = range(0x06, 0x0c)  # opcodes of RDMA WRITE


class Packet(collections.namedtuple("Packet", "sender opcode qp pkey dscp")):
    """A packet, as tshark dissects it."""


def packets(lab, path, family):
    """Returns the packets of a capture that are of this IP version; of RoCE v1: whose GIDs are."""
    ip = {"4": ("ip.src", "ip.dsfield.dscp"), "6": ("ipv6.src", "ipv6.tclass.dscp")}[family]
    if ROCE == "v1":
        ip = ("infiniband.grh.sgid", "infiniband.grh.tclass")
    # Any payload may look like RPC over RDMA.
    command = [need_tool("tshark"), "-n", "-r", path, "--disable-heuristic", "rpcrdma_infiniband",
               "-T", "fields"]
    for field in (ip[0], "infiniband.bth.opcode", "infiniband.bth.destqp", "infiniband.bth.p_key", ip[1]):
        command += ["-e", field]
    found = []
    for line in lab.run(command, adverb=False, seconds=60).splitlines():
        columns = line.split("\t")
        if len(columns) == 5 and columns[0]:
            if not all(columns):
                raise Failure(f"not dissected: {line}")
            found.append(Packet(columns[0], *(int(column, 0) for column in columns[1:])))
    if ROCE == "v1":
        of_v1 = [packet._replace(sender=packet.sender.removeprefix("::ffff:"), dscp=packet.dscp >> 2) for packet in found]
        found = [packet for packet in of_v1 if ("." in packet.sender) == (family == "4")]
    return found


# ---- P_Keys ----

PKEYS = ("0xffff,0x8001,0x0002", "0x0001,0x0002,0x8003")


def violations(lab, prefix=()):
    return int(lab.run(["cat", "/sys/class/infiniband/adverb0/ports/1/hw_counters/qp_pkey_violations"],
                       prefix=prefix))


@case("headers", "p-keys")
def p_keys(lab):
    """Two hosts with their own tables. A full member reaches a limited one; two limited ones do not, nor
    do members of different partitions."""
    netns = cases_netns.two_hosts(lab, 1500)
    here = ["env", f"ADVERB_PKEYS={PKEYS[HERE]}"]
    there = [*netns, "env", f"ADVERB_PKEYS={PKEYS[THERE]}"]
    keep = lab.start(["sleep", "300"], prefix=here), lab.start(["sleep", "300"], prefix=there)
    text = lab.run(["sh", "-c", "cat /sys/class/infiniband/adverb0/ports/1/pkeys/*"], prefix=there)
    if text.split() != PKEYS[THERE].split(","):
        raise Failure(f"the table there: {text}")
    capture = Capture(lab, "veth0")
    base = ["ib_write_bw", "-F", "-n", "20"]
    host = cases_netns.ADDRESSES["4"][THERE]
    _, client = lab.pair([*base, "--pkey_index=0"], [*base, "--pkey_index=1", host],
                         server_prefix=there, client_prefix=here)
    reports.perftest(client, [65536], 20)
    # The first P_Key there, of a limited member, matches 0x8001 here.
    address = cases_netns.ADDRESSES["4"][HERE]
    _, client = cm_pair(lab, ["rping", "-s", "-a", address, "-C", "3"],
                        ["rping", "-c", "-a", address, "-v", "-C", "3"],
                        server_prefix=here, client_prefix=there)
    demand(client, r"^ping data: rdma-ping-\d+: [A-z]", 3)
    path = capture.stop()
    seen = {(packet.sender, packet.pkey) for packet in packets(lab, path, "4")}
    if seen != {(address, 0x8001), (host, 0x0001)}:
        raise Failure(f"not the P_Keys of the queue pairs: {seen}")
    refuse_pkeys(lab, here, there)
    for process in keep:
        process.kill()


@case("headers", "p-keys-too-late")
def p_keys_too_late(lab):
    """Beside a running adverbd, ADVERB_PKEYS has no effect: all commands say so, also if the program opens no device."""
    keep = lab.start([lab.client("holder"), "1"], env={"ADVERB_PKEYS": "0x8001"})
    lab.wait_until(lambda: "adverbd runs" in lab.system(f"{lab.adverb} status || true"), 20, "adverbd runs")
    for pkeys, late in (("0x8002", True), ("0x8001", False), ("8888888", True)):
        for words in ("run -- true", "gids", "devinfo", "run -- ibv_devinfo"):
            process = lab.start([lab.adverb, *words.split()], adverb=False, env={"ADVERB_PKEYS": pkeys})
            process.wait(30)
            if (process.popen.returncode, f"ADVERB_PKEYS={pkeys} has no effect" in process.output()) != (0, late):
                raise Failure(process.describe())
    keep.kill()


def refuse_pkeys(lab, here, there):
    """Queue pairs of limited members and of different partitions, and a connection of a partition that
    the other host is not in: nothing arrives, and the host that drops the packets counts them."""
    base = ["ib_write_bw", "-F", "-n", "20", "-u", "8"]
    host = cases_netns.ADDRESSES["4"][THERE]
    for index_here, index_there in ((2, 1), (0, 2)):
        before = violations(lab, there)
        server = lab.start([*base, f"--pkey_index={index_there}"], prefix=there)
        lab.wait_listening(server, 18515)
        client = lab.start([*base, f"--pkey_index={index_here}", host], prefix=here)
        client.wait(60)
        if "Failed status 12" not in client.output() or violations(lab, there) <= before:
            raise Failure(f"packets have passed:\n{client.describe()}\n{server.describe()}")
        server.kill()
    # A listener: adverbd receives management datagrams by RoCE v1 from the first id of a program with it on.
    server = lab.start(["rping", "-s", "-a", host, "-C", "1"], prefix=there)
    wait_listens(lab, server, prefix=there)
    before = violations(lab, there)
    client = lab.start(["rping", "-c", "-a", host, "-C", "1"], prefix=here)
    lab.wait_until(lambda: violations(lab, there) > before, 20, "a refused message of the connection manager")
    client.kill()
    server.kill()


# ---- traffic classes ----

def expect_dscp(found, family, dscp, kinds):
    """Each WRITE has the DSCP, and for each kind both hosts have sent such packets."""
    wrong = [packet for packet in found if packet.opcode in WRITES and packet.dscp != dscp]
    if wrong:
        raise Failure(f"{len(wrong)} of {len(found)} packets have another DSCP: {wrong[:5]}")
    for name, is_kind in kinds.items():
        senders = {packet.sender for packet in found if packet.dscp == dscp and is_kind(packet)}
        if senders != set(cases_netns.ADDRESSES[family][:2]):
            raise Failure(f"{name} with DSCP {dscp}: packets of {senders}; all: "
                          f"{collections.Counter(found)}")


DATA = {"requests and ACKs": lambda packet: packet.qp > 1}
CM = {"connection manager": lambda packet: packet.qp == 1}


@case("headers", "traffic-class")
def traffic_class(lab):
    """The traffic class of address vectors (perftest --tclass) and that of connections
    (RDMA_OPTION_ID_TOS, perftest -T) is in the IP headers of both hosts."""
    there = cases_netns.two_hosts(lab, 1500)
    capture = Capture(lab, "veth0")
    for family in "4", "6":
        here_index, there_index = cases_netns.host_facts(lab, 1500, family, there)
        base = ["ib_write_bw", "-F", "-n", "20", "--tclass", "104"]
        lab.pair([*base, "-x", there_index],
                 [*base, "-x", here_index, cases_netns.ADDRESSES["4"][THERE]], server_prefix=there)
    path = capture.stop()
    for family in "4", "6":
        found = packets(lab, path, family)
        expect_dscp(found, family, 26, DATA)
        if {packet.dscp for packet in found} != {26}:
            raise Failure(f"packets with another DSCP: {collections.Counter(found)}")
    # perftest first exchanges parameters by a connection without the option.
    capture = Capture(lab, "veth0")
    perftest_pair(lab, ["ib_write_bw", "-R", "-F", "-n", "20", "-T", "96"],
                  cases_netns.ADDRESSES["4"][THERE], server_prefix=there)
    expect_dscp(packets(lab, capture.stop(), "4"), "4", 24, DATA | CM)
