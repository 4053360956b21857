# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""Programs that connect through the connection manager, one side Adverb and the other the kernel."""

import re
import shlex

import guest
import reports
from harness import Failure, case
from peer_lab import SERVERS

FAMILIES = ("4", "6")
# perftest's message if it connects before its server listens again.
TOO_EARLY = re.compile(r"RDMA_CM_EVENT_(REJECTED; error: 8|UNREACHABLE; error: 1)\b")
ATTEMPTS = 5

# name, server, client; {s} is the server's address, {c} the client's, {f} ip or ipv6
PROGRAMS = [
    ("rping", "rping -s -a {s} -C 10 -V", "rping -c -a {s} -C 10 -V"),
    ("rping-64-kib", "rping -s -a {s} -C 10 -S 65535 -V", "rping -c -a {s} -C 10 -S 65535 -V"),
    ("rping-own-qp", "rping -s -a {s} -C 10 -V -q", "rping -c -a {s} -C 10 -V -q"),
    ("rping-bound", "rping -s -a {s} -C 3 -V", "rping -c -a {s} -I {c} -C 3 -V"),
    ("ucmatose", "ucmatose -b {s} -f {f} -c 5 -C 10 -S 3000",
     "ucmatose -s {s} -f {f} -c 5 -C 10 -S 3000"),
    ("ucmatose-migrate", "ucmatose -b {s} -f {f} -C 10 -m", "ucmatose -s {s} -f {f} -C 10 -m"),
    ("udaddy", "udaddy -b {s} -f {f} -c 3 -C 10 -S 900", "udaddy -s {s} -f {f} -c 3 -C 10 -S 900"),
    ("rdma_server", "rdma_server -s {s}", "rdma_client -s {s}"),
    ("rstream", "rstream -b {s} -f {f} -S 5000 -C 20 -I 5 -T v",
     "rstream -s {s} -f {f} -S 5000 -C 20 -I 5 -T v"),
    ("rstream-blocking", "rstream -b {s} -f {f} -S 70000 -C 5 -I 3 -T b -T v",
     "rstream -s {s} -f {f} -S 70000 -C 5 -I 3 -T b -T v"),
    ("riostream", "riostream -b {s} -f {f} -S 5000 -C 20 -I 5 -T v",
     "riostream -s {s} -f {f} -S 5000 -C 20 -I 5 -T v"),
]

# Messages that these send each way; they succeed even if messages are lost.
MESSAGES = {"ucmatose": 50, "ucmatose-migrate": 10, "udaddy": 30}

# name, program and options (-R -F -n added), bytes of a message, iterations
PERFTEST = [
    ("send-bw", "ib_send_bw -s 5000", 5000, 20),
    ("send-lat-ud", "ib_send_lat -c UD -s 512", 512, 20),
    ("write-bw-4-qps", "ib_write_bw -q 4 -s 5000", 5000, 20),
    ("write-lat", "ib_write_lat -s 8", 8, 20),
    ("read-bw", "ib_read_bw -s 5000", 5000, 20),
    ("atomic-lat", "ib_atomic_lat", 8, 20),
]


def addresses(lab, serves, family):
    server, client = lab.sides(serves)
    return {"s": server.address[family], "c": client.address[family],
            "f": "ip" if family == "4" else "ipv6"}


def register_program(family, serves, name, server_words, client_words):
    @case(f"cm-ipv{family}", f"{name}/{serves}-serves")
    def run(lab):
        fill = addresses(lab, serves, family)
        lab.messages_each_way = MESSAGES.get(name, 0)
        lab.cm_pair(serves, shlex.split(server_words.format(**fill)),
                    shlex.split(client_words.format(**fill)), seconds=60)


def perftest_pair(lab, serves, server_argv, client_argv):
    """Returns the client's output. The client connects a second time, and crashes if the server does not
    listen again yet. Adverb as the server holds the second request until then. If the kernel is the server,
    Adverb's requests leave late, so that the server has time. If the server needs more, both are started
    again and it gets more."""
    for attempt in range(ATTEMPTS):
        if serves == "kernel":
            lab.faults = f"delay={2 + 2 * attempt}s tx op=cm"
        try:
            return lab.cm_pair(serves, server_argv, client_argv)[1]
        except Failure as failure:
            if attempt == ATTEMPTS - 1 or not TOO_EARLY.search(str(failure)):
                raise
    raise AssertionError


def register_perftest(serves, name, command, size, iterations):
    @case("perftest-cm", f"{name}/{serves}-serves")
    def run(lab):
        """IPv4 only: with -R, this version of perftest knows no IPv6 addresses."""
        words = [*shlex.split(command), "-R", "-F", "-n", str(iterations)]
        server, client = lab.sides(serves)
        lab.find_gids()
        text = perftest_pair(lab, serves, [*words, "-x", server.gid["4"]],
                             [*words, "-x", client.gid["4"], server.address["4"]])
        reports.perftest(text.replace("-nan", "0"), [size], iterations)


def register_cmtime(family, serves):
    @case(f"cm-ipv{family}", f"cmtime/{serves}-serves")
    def run(lab):
        """The server does not exit by itself."""
        at_server, at_client = lab.sides(serves)
        address = at_server.address[family]
        server = at_server.start(["cmtime", "-b", address])
        lab.wait_ids(at_server, server)
        text = at_client.start(["cmtime", "-s", address, "-c", "100"]).expect(0, 100)
        if "disconnect" not in text:
            raise Failure(text)


def register_mckey(serves):
    @case("cm-ipv4", f"mckey/{serves}-receives")
    def run(lab):
        """IPv4 only: for IPv6 groups, the kernel's rdma_join_multicast returns ENOTSUPP with RoCE v2."""
        receiver, sender = lab.sides(serves)
        words = ["mckey", "-m", "239.7.7.7", "-C", "10", "-S", "900"]
        at_receiver = [*words, "-b", receiver.address["4"]]
        at_sender = [*words, "-s", "-b", sender.address["4"]]
        if serves == "kernel":
            lab.cm_pair(serves, at_receiver, at_sender, state=".")
            return
        # Datagrams that are sent before the receiver has joined are lost, on any device. So are those that
        # the sender's queue pair has not sent when it is destroyed: mckey does not wait for them, and
        # rdma_rxe of Linux 6.12 sends them in a thread of its own.
        server = receiver.start(["stdbuf", "-oL", *at_receiver])
        lab.wait_until(lambda: "joined dgid" in server.output() or not server.running(), 60, "the receiver joins")
        lab.both_end(server, sender.start([*guest.AFTER_THE_KERNEL, *at_sender]))


def copy_file(lab, serves, wait):
    """Copies a file of about 3 MB by rcopy, whose server does not exit by itself. wait(side, process) returns
    when it listens."""
    make = "head -c 3000017 /dev/urandom"
    at_server, at_client = lab.sides(serves)
    here, there = lab.dir / "file", "/tmp/file"
    source, sink = (here, there) if serves == "kernel" else (there, here)
    if serves == "kernel":
        lab.system(f"{make} >{source}")
    else:
        lab.guest.run(f"{make} >{source}")
    server = at_server.start(["rcopy"])
    wait(at_server, server)
    at_client.start(["rcopy", str(source), f"{at_server.address['4']}:{sink}"]).expect(0, 100)
    sums = {lab.system(f"md5sum <{here}").split()[0], lab.guest.run(f"md5sum <{there}").split()[0]}
    lab.guest.run(f"rm {there}")
    if len(sums) != 1:
        raise Failure(f"the copy is not the file: {sums}")


def register_rcopy(serves):
    @case("cm-ipv4", f"rcopy/{serves}-serves")
    def run(lab):
        copy_file(lab, serves, lab.wait_ids)


for one_family in FAMILIES:
    for one_server in SERVERS:
        for row in PROGRAMS:
            register_program(one_family, one_server, *row)
        register_cmtime(one_family, one_server)
for one_server in SERVERS:
    for row in PERFTEST:
        register_perftest(one_server, *row)
    register_mckey(one_server)
    register_rcopy(one_server)
