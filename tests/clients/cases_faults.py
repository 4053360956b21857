# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""Real programs under fault plans: they finish, and what they compare is right.

The programs of a case run at the same time, as most of that is waiting for timeouts. They sleep
on events, so that none keeps another from its processor.
"""

import shlex

import reports
from harness import Failure, case

FIRST_PORT = 18515
LAST_ACK_LOST = "transport retry counter exceeded"
MIX = "drop=1%; duplicate=1%; reorder=1% by=3; corrupt=0.5%; delay=100us jitter=200us tx"

# case: rows of program and options, bytes, iterations, plan
PERFTEST = {
    "write": [("ib_write_bw -s 64 -q 16", 64, 200, "drop=1%"),
              ("ib_write_bw -q 16", 65536, 20, "drop=1%"),
              ("ib_write_bw -b -q 16", 65536, 10, "drop=1%"),
              ("ib_write_bw -b -q 4", 65536, 20, MIX),
              ("ib_write_bw -c XRC -q 4", 65536, 20, "drop=1%")],
    "read": [("ib_read_bw -e -s 64 -q 16", 64, 200, "drop=1%"),
             ("ib_read_bw -e -q 16", 65536, 20, "drop=1%"),
             ("ib_read_bw -b -q 16", 65536, 10, "drop=1%"),
             ("ib_read_bw -b -q 4", 65536, 20, MIX)],
    "send": [("ib_send_bw -e -s 64 -q 16", 64, 200, "drop=1%"),
             ("ib_send_bw -e -q 16", 65536, 20, "drop=1%"),
             ("ib_send_bw -b -q 16", 65536, 10, "drop=1%"),
             ("ib_send_bw -b -q 4", 65536, 20, MIX),
             ("ib_send_bw -e --use-srq -q 4", 65536, 20, "drop=1%")],
    "atomic": [("ib_atomic_bw -e -q 16", 8, 100, "drop=1%"),
               ("ib_atomic_bw -b -q 16 -A CMP_AND_SWAP", 8, 50, "drop=1%"),
               ("ib_atomic_bw -b -q 4", 8, 100, MIX)],
}

PINGPONG = {
    "loss": [("ibv_rc_pingpong -e -n 300", 4096, 300, "drop=1%"),
             ("ibv_rc_pingpong -n 50", 4096, 50, "drop=1%"),
             ("ibv_rc_pingpong -e -n 30", 4096, 30, "drop=10%"),
             ("ibv_rc_pingpong -e -s 100000 -n 20", 100000, 20, "drop=2%")],
    "damage": [("ibv_rc_pingpong -e -n 500", 4096, 500, "duplicate=20% copies=2 after=1ms"),
               ("ibv_rc_pingpong -e -s 50000 -n 40", 50000, 40, "reorder=5% by=3"),
               ("ibv_rc_pingpong -e -n 300", 4096, 300, "corrupt=1% bits=3"),
               ("ibv_rc_pingpong -e -s 20000 -n 20", 20000, 20, "delay=200us jitter=300us"),
               ("ibv_rc_pingpong -e -s 20000 -n 40", 20000, 40, MIX)],
    "srq": [("ibv_srq_pingpong -e -q 16 -n 1600", 4096, 1600, "drop=1%"),
            ("ibv_srq_pingpong -e -q 4 -n 200", 4096, 200, "drop=10%"),
            ("ibv_srq_pingpong -e -q 4 -n 400", 4096, 400, MIX)],
}

# It compares without being asked to, and says no more than 'success'.
XRC_PINGPONG = [("ibv_xsrq_pingpong -e -n 200", "drop=1%"), ("ibv_xsrq_pingpong -e -n 100", MIX)]


def start_pairs(lab, commands):
    """Starts a pair for each (command, plan), {port} being replaced: lists of (server, client)."""
    argvs = [[lab.adverb, "run", "--fault", plan, "--", *shlex.split(command), "-p",
              str(FIRST_PORT + i)] for i, (command, plan) in enumerate(commands)]
    servers = [lab.start(argv, adverb=False) for argv in argvs]
    for i, server in enumerate(servers):
        lab.wait_listening(server, FIRST_PORT + i)
    return list(zip(servers, [lab.start([*argv, "127.0.0.1"], adverb=False) for argv in argvs]))


def describe(pair):
    return "".join(process.describe() for process in pair)


def expect_pair(pair, check):
    """Both ends must end well."""
    try:
        for process in pair:
            process.expect(0, 100)
        check(pair[1].output())
    except Failure as failure:
        raise Failure(f"{failure}\nboth ends:\n{describe(pair)}") from None


def expect_one_at_least(pair, check):
    """Both ends must end well. But where one has all that it wanted, the other's last message has
    come, and its acknowledgement may be lost: nobody is there to repeat it, as with any NIC."""
    statuses = [process.wait(100) for process in pair]
    for status, process in zip(statuses, pair):
        if status == 0:
            check(process.output())
        elif LAST_ACK_LOST not in process.output() or all(statuses):
            raise Failure(describe(pair))


def register_perftest(name, rows):
    @case("faults", f"perftest-{name}", seconds=240)
    def run(lab):
        pairs = start_pairs(lab, [(f"{row[0]} -F -n {row[2]}", row[3]) for row in rows])
        for pair, (_, size, iterations, _) in zip(pairs, rows):
            expect_pair(pair, lambda text, s=size, n=iterations: reports.perftest(text, [s], n))


def register_pingpong(name, rows):
    @case("faults", f"pingpong-{name}", seconds=240)
    def run(lab):
        pairs = start_pairs(lab, [(f"{row[0]} -c -g 0", row[3]) for row in rows])
        for pair, (_, size, iterations, _) in zip(pairs, rows):
            expect_one_at_least(pair, lambda text, s=size, n=iterations: reports.pingpong(text, s, n))


@case("faults", "pingpong-xrc", seconds=240)
def xrc_pingpong(lab):
    def check(text):
        if text.splitlines()[-1] != "success":
            raise Failure(text)
    for pair in start_pairs(lab, [(f"{command} -g 0", plan) for command, plan in XRC_PINGPONG]):
        expect_one_at_least(pair, check)


for group in PERFTEST.items():
    register_perftest(*group)
for group in PINGPONG.items():
    register_pingpong(*group)
