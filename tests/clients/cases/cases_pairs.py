# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""Tables of pairs of real programs over loopback: rdma-core's pingpongs and perftest."""

import shlex

import reports
from harness import Failure, case

# name, program and options, bytes of a message, iterations
PINGPONG = [
    ("rc", "ibv_rc_pingpong -c", 4096, 1000),
    ("rc-events", "ibv_rc_pingpong -c -e", 4096, 1000),
    ("rc-1-byte", "ibv_rc_pingpong -c -s 1 -n 2000", 1, 2000),
    ("rc-odd-size", "ibv_rc_pingpong -c -s 4097 -n 500", 4097, 500),
    ("rc-1-mib", "ibv_rc_pingpong -c -s 1048576 -n 100", 1048576, 100),
    ("rc-mtu-256", "ibv_rc_pingpong -c -m 256 -s 10000 -n 200", 10000, 200),
    ("rc-mtu-4096", "ibv_rc_pingpong -c -m 4096 -s 65536 -n 200", 65536, 200),
    ("rc-new-send", "ibv_rc_pingpong -c -N", 4096, 1000),
    ("rc-timestamps", "ibv_rc_pingpong -c -t", 4096, 1000),
    ("rc-1-receive", "ibv_rc_pingpong -c -r 1", 4096, 1000),
    ("rc-on-demand", "ibv_rc_pingpong -c -o -P -s 65536 -n 200", 65536, 200),
    ("rc-on-demand-all", "ibv_rc_pingpong -c -O -s 10000", 10000, 1000),
    ("rc-device-memory", "ibv_rc_pingpong -c -j -s 10000", 10000, 1000),
    ("uc", "ibv_uc_pingpong -c", 4096, 1000),
    ("uc-events", "ibv_uc_pingpong -c -e", 4096, 1000),
    ("uc-64-kib", "ibv_uc_pingpong -c -s 65536 -n 200", 65536, 200),
    ("ud", "ibv_ud_pingpong -c -s 2048", 2048, 1000),
    ("ud-events", "ibv_ud_pingpong -c -e -s 2048", 2048, 1000),
    ("ud-1-byte", "ibv_ud_pingpong -c -s 1", 1, 1000),
    ("srq", "ibv_srq_pingpong -c -q 16 -n 1600", 4096, 1600),
    ("srq-events", "ibv_srq_pingpong -c -e -q 4 -n 2000", 4096, 2000),
]

ALL_SIZES = [2 ** n for n in range(1, 24)]

# name, program and options (-F -n added), sizes in the report, iterations
PERFTEST = [
    ("write-bw", "ib_write_bw", [65536], 2000),
    ("write-bw-all", "ib_write_bw -a", ALL_SIZES, 100),
    ("write-bw-16-qps", "ib_write_bw -q 16", [65536], 200),
    ("write-bw-both-ways", "ib_write_bw -b", [65536], 1000),
    ("write-bw-both-ways-16-qps-all", "ib_write_bw -b -q 16 -a", ALL_SIZES, 10),
    ("write-bw-uc", "ib_write_bw -c UC", [65536], 500),
    ("write-bw-mtu-1024", "ib_write_bw -m 1024", [65536], 1000),
    ("write-bw-inline", "ib_write_bw -s 64 -I 64", [64], 5000),
    ("write-bw-post-list", "ib_write_bw -s 1024 -l 16", [1024], 4096),
    ("write-bw-cq-mod", "ib_write_bw -s 1024 -Q 64", [1024], 4096),
    ("write-lat", "ib_write_lat", [2], 2000),
    ("write-lat-all", "ib_write_lat -a", ALL_SIZES, 50),
    ("write-lat-uc", "ib_write_lat -c UC -s 64", [64], 1000),
    ("read-bw", "ib_read_bw", [65536], 1000),
    ("read-bw-all", "ib_read_bw -a", ALL_SIZES, 50),
    ("read-bw-16-qps-both-ways", "ib_read_bw -b -q 16", [65536], 100),
    ("read-bw-events", "ib_read_bw -e", [65536], 1000),
    ("read-lat", "ib_read_lat", [2], 2000),
    ("read-lat-all", "ib_read_lat -a", ALL_SIZES, 50),
    ("read-lat-events", "ib_read_lat -e", [2], 1000),
    ("send-bw", "ib_send_bw", [65536], 2000),
    ("send-bw-all", "ib_send_bw -a", ALL_SIZES, 100),
    ("send-bw-16-qps-both-ways", "ib_send_bw -b -q 16", [65536], 200),
    ("send-bw-events", "ib_send_bw -e", [65536], 1000),
    ("send-bw-srq", "ib_send_bw --use-srq -q 4", [65536], 500),
    ("send-bw-uc", "ib_send_bw -c UC -s 4096", [4096], 1000),
    ("send-bw-ud", "ib_send_bw -c UD -s 1024", [1024], 1000),
    ("send-lat", "ib_send_lat", [2], 2000),
    ("send-lat-all", "ib_send_lat -a", ALL_SIZES, 50),
    ("send-lat-events", "ib_send_lat -e", [2], 1000),
    ("send-lat-uc", "ib_send_lat -c UC -s 64", [64], 1000),
    ("send-lat-ud", "ib_send_lat -c UD -s 64", [64], 1000),
    ("atomic-bw", "ib_atomic_bw", [8], 2000),
    ("atomic-bw-cas", "ib_atomic_bw -A CMP_AND_SWAP -q 4 -b", [8], 500),
    ("atomic-bw-events", "ib_atomic_bw -e", [8], 1000),
    ("atomic-lat", "ib_atomic_lat", [8], 2000),
    ("atomic-lat-cas-events", "ib_atomic_lat -A CMP_AND_SWAP -e", [8], 1000),
    ("write-bw-xrc", "ib_write_bw -c XRC", [65536], 500),
    ("write-bw-xrc-4-qps-both-ways", "ib_write_bw -c XRC -b -q 4", [65536], 100),
    ("write-lat-xrc", "ib_write_lat -c XRC", [2], 500),
    ("read-bw-xrc", "ib_read_bw -c XRC", [65536], 500),
    ("read-lat-xrc", "ib_read_lat -c XRC", [2], 500),
    ("send-bw-xrc", "ib_send_bw -c XRC", [65536], 500),
    ("send-bw-xrc-all", "ib_send_bw -c XRC -a", ALL_SIZES, 20),
    ("send-bw-xrc-srq", "ib_send_bw -c XRC --use-srq -q 4", [65536], 100),
    ("send-bw-xrc-events", "ib_send_bw -c XRC -e", [65536], 500),
    ("send-lat-xrc", "ib_send_lat -c XRC", [2], 500),
    ("send-lat-xrc-srq", "ib_send_lat -c XRC --use-srq", [2], 500),
    ("atomic-bw-xrc", "ib_atomic_bw -c XRC", [8], 500),
    ("atomic-lat-xrc", "ib_atomic_lat -c XRC", [8], 500),
]

# Programs that only report success: name, program and options
XRC_PINGPONG = [
    ("xrc", "ibv_xsrq_pingpong -n 1000"),
    ("xrc-events", "ibv_xsrq_pingpong -e -n 1000"),
    ("xrc-odd-size", "ibv_xsrq_pingpong -s 9999 -m 4096 -n 200"),
]


def register_pingpong(name, command, size, iterations):
    @case("pingpong", name)
    def run(lab):
        server = [*shlex.split(command), "-g", "0"]
        for text in lab.pair(server, [*server, "127.0.0.1"]):
            reports.pingpong(text, size, iterations)


def register_perftest(name, command, sizes, iterations):
    @case("perftest", name, seconds=240)
    def run(lab):
        server = [*shlex.split(command), "-F", "-n", str(iterations)]
        _, client = lab.pair(server, [*server, "127.0.0.1"], seconds=200)
        reports.perftest(client, sizes, iterations)


def register_xrc_pingpong(name, command):
    @case("pingpong", name)
    def run(lab):
        server = [*shlex.split(command), "-g", "0"]
        for text in lab.pair(server, [*server, "127.0.0.1"]):
            if "success" not in text.splitlines():
                raise Failure(text)


@case("pingpong", "ipv6")
def pingpong_ipv6(lab):
    gids = reports.gid_table(lab.run(["ibv_devinfo", "-v"]))
    index = str(next(i for i, gid in gids.items() if gid == "::1"))
    server = ["ibv_rc_pingpong", "-c", "-g", index]
    # it listens on IPv4 only; the GID determines the RDMA address
    for text in lab.pair(server, [*server, "127.0.0.1"]):
        reports.pingpong(text, 4096, 1000)


for row in PINGPONG:
    register_pingpong(*row)
for row in XRC_PINGPONG:
    register_xrc_pingpong(*row)
for row in PERFTEST:
    register_perftest(*row)


def register_one_copy(name, options, expected):
    @case("perftest", name)
    def run(lab):
        """Payload is read from the sender's memory, unless an option forbids it at either end."""
        for one, other in ((options, []), ([], options)) if options else (([], []),):
            tool = ["ib_write_bw", "-F", "-s", "1048576", "-n", "100"]
            server, text = lab.pair([lab.adverb, "run", "--log", "info", *one, "--", *tool],
                                    [lab.adverb, "run", "--log", "info", *other, "--", *tool, "127.0.0.1"],
                                    adverb=False)
            rows = reports.perftest_rows(text)
            if not rows or rows[-1][0] != 1048576:
                raise Failure(f"no result in:\n{text}")
            if ("is read from process" in server + text) != expected:
                raise Failure(f"payload is {'not ' if expected else ''}read from the sender's memory:\n{server}")


register_one_copy("one-copy", [], True)
register_one_copy("no-one-copy", ["--no-one-copy"], False)
