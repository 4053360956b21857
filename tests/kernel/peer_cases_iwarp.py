# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""iWARP: one side Adverb, the other one the Linux kernel with siw."""

import re
import shlex

import reports
from harness import Failure, case
from peer_cases_cm import copy_file
from peer_lab import SERVERS

TCP = 6
PERFTEST_PORT = 18515
# perftest's texts for a rejected second connection, and a first one.
TOO_EARLY = re.compile(r"RDMA_CM_EVENT_REJECTED; error: -1(04|11)\b|Unexpected CM event bl blka 8\b")
ATTEMPTS = 4
# siw completes a SEND with an error if the peer, which has received it, ends the connection at that moment.
# perftest's client then fails after its results, when both ends have said that they finish.
LAST_SEND = " Bad wc status 2"
MEBIBYTE = 1 << 20

# name, port, server, client; {s} is the server's address, {c} the client's, {f} ip or ipv6
PROGRAMS = [
    ("rping", 7174, "rping -s -a {s} -C 10 -V", "rping -c -a {s} -C 10 -V"),
    ("rping-64-kib", 7174, "rping -s -a {s} -C 10 -S 65535 -V", "rping -c -a {s} -C 10 -S 65535 -V"),
    ("rping-own-qp", 7174, "rping -s -a {s} -C 10 -V -q", "rping -c -a {s} -C 10 -V -q"),
    ("rping-bound", 7174, "rping -s -a {s} -C 3 -V", "rping -c -a {s} -I {c} -C 3 -V"),
    ("ucmatose", 7471, "ucmatose -b {s} -f {f} -c 5 -C 10 -S 3000", "ucmatose -s {s} -f {f} -c 5 -C 10 -S 3000"),
    ("rdma_server", 7471, "rdma_server -s {s}", "rdma_client -s {s}"),
    ("rstream", 7471, "rstream -b {s} -f {f} -S 5000 -C 20 -I 5 -T v",
     "rstream -s {s} -f {f} -S 5000 -C 20 -I 5 -T v"),
    ("rstream-blocking", 7471, "rstream -b {s} -f {f} -S 70000 -C 5 -I 3 -T b -T v",
     "rstream -s {s} -f {f} -S 70000 -C 5 -I 3 -T b -T v"),
    ("riostream", 7471, "riostream -b {s} -f {f} -S 5000 -C 20 -I 5 -T v",
     "riostream -s {s} -f {f} -S 5000 -C 20 -I 5 -T v"),
]

LOSSY = [
    ("rping", 7174, "rping -s -a {s} -C 50 -S 65535 -V", "rping -c -a {s} -C 50 -S 65535 -V"),
    ("ucmatose", 7471, "ucmatose -b {s} -c 3 -C 30 -S 50000", "ucmatose -s {s} -c 3 -C 30 -S 50000"),
]

# name, program and options (-R -F -n added), bytes of a message, iterations
PERFTEST = [
    ("send-bw-1", "ib_send_bw -s 1", 1, 50),
    ("send-bw", "ib_send_bw -s 5000", 5000, 50),
    ("send-bw-both-ways", "ib_send_bw -b -s 65536", 65536, 20),
    ("send-bw-8-mib", "ib_send_bw -s 8388608", 8 * MEBIBYTE, 5),
    ("send-lat", "ib_send_lat -s 64", 64, 50),
    ("write-bw-1", "ib_write_bw -s 1", 1, 50),
    ("write-bw-4-qps", "ib_write_bw -q 4 -s 5000", 5000, 20),
    ("write-bw-8-mib", "ib_write_bw -s 8388608", 8 * MEBIBYTE, 5),
    ("write-lat", "ib_write_lat -s 8", 8, 50),
    ("read-bw-1", "ib_read_bw -s 1", 1, 50),
    ("read-bw-4-qps", "ib_read_bw -q 4 -s 5000", 5000, 20),
    ("read-bw-8-mib", "ib_read_bw -s 8388608", 8 * MEBIBYTE, 5),
    ("read-lat", "ib_read_lat -s 8", 8, 50),
]

# What siw and Adverb are set to, for cases of the start-up frames that refuse a connection.
DISAGREE = [
    ("markers", "markers=yes", {}, SERVERS),
    ("crc-refused", "crc=refuse", {"mpa_crc_required": 1}, ("adverb",)),
    ("crc-strictly-refused", "crc=require", {"mpa_crc_strict": 1}, SERVERS),
]

# What siw and Adverb are set to, for cases of the start-up frames.
VARIANTS = [
    ("crc", {"mpa_crc_required": 1}, ""),
    ("crc-by-adverb", {}, "crc=require"),
    ("crc-by-both", {"mpa_crc_required": 1}, "crc=require"),
    ("strictly-no-crc", {"mpa_crc_strict": 1}, "crc=refuse"),
    ("peer-to-peer", {"peer_to_peer": 1}, ""),
    ("crc-peer-to-peer", {"mpa_crc_required": 1, "peer_to_peer": 1}, ""),
    ("copied", {"zcopy_tx": 0}, ""),
]


def run_program(lab, serves, row, family="4", seconds=100):
    _, port, server_words, client_words = row
    server, client = lab.sides(serves)
    fill = {"s": server.address[family], "c": client.address[family], "f": "ip" if family == "4" else "ipv6"}
    return lab.tcp_pair(serves, shlex.split(server_words.format(**fill)), shlex.split(client_words.format(**fill)),
                        port, seconds=seconds)


def register_program(family, serves, row):
    @case(f"iwarp-ipv{family}", f"{row[0]}/{serves}-serves")
    def run(lab):
        run_program(lab, serves, row, family)


def perftest_once(lab, serves, words):
    at_server, at_client = lab.sides(serves)
    server = at_server.start(words)
    lab.wait_port(at_server, server, PERFTEST_PORT)
    client = at_client.start([*words, at_server.address["4"]])
    if serves == "adverb":
        client.wait(200)
        if LAST_SEND in client.output():
            server.expect(0, 60)
            return client.output().replace(LAST_SEND, "")
    return lab.both_end(server, client, 200)[1]


def perftest_pair(lab, serves, command, size, iterations):
    """The client connects a second time, and crashes if the server does not listen again yet. So connections
    are made late. If the server needs more time, both are started again and it gets more."""
    words = [*shlex.split(command), "-R", "-F", "-n", str(iterations)]
    for attempt in range(ATTEMPTS):
        lab.undisturb()
        lab.delay_connections(PERFTEST_PORT, 1 + 2 * attempt)
        try:
            text = perftest_once(lab, serves, words)
            break
        except Failure as failure:
            if attempt == ATTEMPTS - 1 or not TOO_EARLY.search(str(failure)):
                raise
    reports.perftest(text.replace("-nan", "0"), [size], iterations, -2 if size > MEBIBYTE else -1)


def register_perftest(serves, name, command, size, iterations):
    @case("iwarp-perftest", f"{name}/{serves}-serves")
    def run(lab):
        perftest_pair(lab, serves, command, size, iterations)


def register_variant(serves, name, values, options):
    @case("iwarp-start", f"{name}/{serves}-serves")
    def run(lab):
        """Start-up frames with other flags: CRCs on both streams, a ready-to-receive message."""
        lab.set_siw(**values)
        lab.options = options
        # as a server, siw uses CRCs only if the client requires them
        lab.crc = (serves == "adverb" and "mpa_crc_required" in values) or "crc=require" in options
        for row in PROGRAMS[1:2]:
            run_program(lab, serves, row)
        for command in ("ib_send_bw -s 70000", "ib_write_bw -s 70000", "ib_read_bw -s 70000"):
            perftest_pair(lab, serves, command, 70000, 20)


def register_disagreement(serves, name, options, values):
    @case("iwarp-start", f"{name}/{serves}-serves")
    def run(lab):
        """One end asks for what the other one refuses: the client is rejected, and the server still listens."""
        lab.set_siw(**values)
        lab.options = options
        lab.expect_data = False
        at_server, at_client = lab.sides(serves)
        address = at_server.address["4"]
        server = at_server.start(["rping", "-s", "-P", "-a", address])
        lab.wait_port(at_server, server, 7174)
        for _ in range(2):
            client = at_client.start(["rping", "-c", "-a", address, "-C", "1"])
            client.wait(60)
            if "RDMA_CM_EVENT_REJECTED" not in client.output():
                raise Failure(f"not rejected:\n{client.describe()}\nserver:\n{server.describe()}")
        if not server.running():
            raise Failure(f"the server has ended:\n{server.describe()}")
        server.kill()


@case("iwarp-start", "revision-1/adverb-serves")
def revision_1(lab):
    """siw sends a request of MPA's first revision: no READs are agreed on."""
    lab.set_siw(mpa_version=1)
    for row in PROGRAMS[:2]:
        run_program(lab, "adverb", row)
    perftest_pair(lab, "adverb", "ib_write_bw -s 70000", 70000, 20)


def register_cmtime(serves):
    @case("iwarp-ipv4", f"cmtime/{serves}-serves")
    def run(lab):
        """The server does not exit by itself."""
        lab.expect_data = False
        at_server, at_client = lab.sides(serves)
        address = at_server.address["4"]
        server = at_server.start(["cmtime", "-b", address])
        lab.wait_port(at_server, server, 7471)
        text = at_client.start(["cmtime", "-s", address, "-c", "10"]).expect(0, 100)
        if "disconnect" not in text:
            raise Failure(text)


def register_rcopy(serves):
    @case("iwarp-ipv4", f"rcopy/{serves}-serves")
    def run(lab):
        copy_file(lab, serves, lambda side, process: lab.wait_port(side, process, 7427))


def register_lost(serves):
    @case("iwarp-disturbed", f"lost/{serves}-serves")
    def run(lab):
        """TCP repeats what a network loses: 2 % each way."""
        lab.disturb("loss 2%", TCP)
        for row in LOSSY:
            run_program(lab, serves, row, seconds=200)


for one_server in SERVERS:
    for one_row in PROGRAMS:
        for one_family in ("4", "6"):
            # rdma_establish() of a client fails on siw, as the kernel reports no CONNECT_RESPONSE
            if (one_row[0], one_server) != ("rping-own-qp", "adverb"):
                register_program(one_family, one_server, one_row)
    for one_test in PERFTEST:
        register_perftest(one_server, *one_test)
    for one_variant in VARIANTS:
        register_variant(one_server, *one_variant)
    for one_name, one_set, one_siw, one_servers in DISAGREE:
        if one_server in one_servers:
            register_disagreement(one_server, one_name, one_set, one_siw)
    register_cmtime(one_server)
    register_rcopy(one_server)
    register_lost(one_server)
