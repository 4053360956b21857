# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""Real programs under fault plans: they finish with right data, they get the injected errors, and plans
change while they run.

The programs of a case run at the same time, because they mostly wait for timeouts. They sleep on events,
so that none takes the processor from another.
"""

import os
import re
import shlex
import signal
import time

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

# It always compares the data, and prints only 'success'.
XRC_PINGPONG = [("ibv_xsrq_pingpong -e -n 200", "drop=1%"), ("ibv_xsrq_pingpong -e -n 100", MIX)]


def start_pairs(lab, commands):
    """Starts a pair for each (command, plan), with a port for {port}; returns a list of (server, client)."""
    argvs = [[lab.adverb, "run", "--fault", plan, "--", *shlex.split(command), "-p",
              str(FIRST_PORT + i)] for i, (command, plan) in enumerate(commands)]
    servers = [lab.start(argv, adverb=False) for argv in argvs]
    for i, server in enumerate(servers):
        lab.wait_listening(server, FIRST_PORT + i)
    return list(zip(servers, [lab.start([*argv, "127.0.0.1"], adverb=False) for argv in argvs]))


def describe(pair):
    return "".join(process.describe() for process in pair)


def expect_pair(pair, check):
    """Both ends must succeed."""
    try:
        for process in pair:
            process.expect(0, 100)
        check(pair[1].output())
    except Failure as failure:
        raise Failure(f"{failure}\nboth ends:\n{describe(pair)}") from None


def expect_one_at_least(pair, check):
    """Both ends must succeed, with one exception. An end that has received everything exits. If the ACK
    of the last message is then lost, nobody repeats it, as with any NIC, and the other end fails."""
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


# ---- requests, the port, programs that run ----

def start_pair(lab, command, plan, port=FIRST_PORT):
    """Starts a server without a fault plan, and its client with one."""
    argv = [*shlex.split(command), "-p", str(port)]
    server = lab.start(argv)
    lab.wait_listening(server, port)
    client = lab.start([lab.adverb, "run", "--fault", plan, "--", *argv, "127.0.0.1"],
                       adverb=False)
    return server, client


def adverb_fault(lab, *arguments, status=0):
    return lab.run([lab.adverb, "fault", *arguments], adverb=False, status=status, seconds=20)


def expect_failure(lab, command, plan, said):
    """The client must report the injected error."""
    server, client = start_pair(lab, command, plan)
    if client.wait(60) == 0 or said not in client.output():
        raise Failure(f"'{said}' was to be said:\n{client.describe()}")
    server.kill()


@case("faults", "injected-errors")
def injected_errors(lab):
    pingpong = "ibv_rc_pingpong -g 0 -n 1000"
    expect_failure(lab, pingpong, "complete=REM_ACCESS_ERR queue=send nth=10",
                   "Failed status remote access error (10)")
    expect_failure(lab, pingpong, "complete=loc_prot_err queue=recv nth=10",
                   "Failed status local protection error (4)")
    expect_failure(lab, pingpong, "post=ENOMEM op=send nth=20", "Couldn't post send")
    expect_failure(lab, pingpong, "post=ENOMEM queue=recv nth=501", "Couldn't post receive")


@case("faults", "receiver-not-ready")
def receiver_not_ready(lab):
    """RNR faults. Here too, the last ACK may be lost with the process that sends it."""
    pair = start_pair(lab, "ibv_rc_pingpong -e -g 0 -n 300", "rnr=5%; rnr nth=100-120")
    expect_one_at_least(pair, lambda text: reports.pingpong(text, 4096, 300))


@case("faults", "port")
def port(lab):
    """ibv_asyncwatch, which is otherwise idle, gets the events of a port that goes down and comes up."""
    watch = lab.start([lab.adverb, "run", "--fault", "port-down=300ms from=100ms; "
                       "device-fatal from=500ms", "--", "stdbuf", "-oL", "ibv_asyncwatch", "-d",
                       "adverb0"], adverb=False)
    for event in ("PORT_ERR", "PORT_ACTIVE", "DEVICE_FATAL"):
        lab.wait_until(lambda e=event: e in watch.output(), 20, event)
    watch.kill()
    said = lab.run([lab.adverb, "run", "--fault", "port-down=60s", "--", "ibv_devinfo"], adverb=False)
    if "PORT_DOWN" not in said or "PORT_ACTIVE" in said:
        raise Failure(said)


def fate(text, action):
    """Returns how often each plan injected a fault, from `adverb fault show`."""
    return [int(n) for n in re.findall(rf"\b{action} (\d+)", text)]


@case("faults", "while-it-runs")
def while_it_runs(lab):
    """ib_write_bw gets a plan, then another, then none; then it finishes normally."""
    command = ["ib_write_bw", "-F", "-D", "3", "-f", "1"]
    server = lab.start(command)
    lab.wait_listening(server, FIRST_PORT)
    client = lab.start([*command, "127.0.0.1"])
    lab.wait_until(lambda: adverb_fault(lab, "show").count("ib_write_bw") == 2, 20, "two programs")
    adverb_fault(lab, "set", "--all", "seed=5; drop=3%")
    lab.wait_until(lambda: len(fate(adverb_fault(lab, "show"), "drop")) == 2, 20, "losses")
    said = adverb_fault(lab, "set", "--pid", client.pid, "seed=6; mark")
    if "seed=6; mark" not in said or "seed=5" in said:
        raise Failure(said)
    said = adverb_fault(lab, "show")
    if "seed=5; drop=3%" not in said or "seed=6; mark" not in said:
        raise Failure(said)
    adverb_fault(lab, "clear", "--all")
    said = adverb_fault(lab, "show")
    if said.count("no faults") != 2 or "seed" in said:
        raise Failure(said)
    client.expect(0, 60)
    server.expect(0, 30)


@case("faults", "command-line")
def command_line(lab):
    """Errors name their place in the plan; a stopped process does not block the command."""
    said = adverb_fault(lab, "set", "--all", "drop=1%; dorp", status=2)
    if "unknown word 'dorp'" not in said or "\n           ^" not in said:
        raise Failure(said)
    for arguments in (["set", "drop"], ["clear"], ["show", "drop"], ["set", "--all"], [],
                      ["show", "--pid", "x"], ["show", "--pid", "1", "--all"], ["sew", "--all"]):
        adverb_fault(lab, *arguments, status=2)
    adverb_fault(lab, "show", status=1)  # no daemon runs
    waiting = lab.start(["ibv_asyncwatch", "-d", "adverb0"])
    lab.wait_until(lambda: "ibv_asyncwatch" in adverb_fault_or_nothing(lab), 20, "a program")
    adverb_fault(lab, "show", "--slot", 200, status=1)
    adverb_fault(lab, "show", "--pid", 1, status=1)
    os.kill(waiting.pid, signal.SIGSTOP)
    if "no answer" not in adverb_fault(lab, "show", "--pid", waiting.pid, status=1):
        raise Failure("a stopped program answers")
    adverb_fault(lab, "set", "--pid", waiting.pid, "drop", status=1)
    os.kill(waiting.pid, signal.SIGCONT)
    if "no faults" not in adverb_fault(lab, "show", "--pid", waiting.pid):
        raise Failure("it follows a plan that it is said not to have got")


def adverb_fault_or_nothing(lab):
    process = lab.start([lab.adverb, "fault", "show"], adverb=False)
    process.wait(20)
    return process.output()


def rping(lab, *fault):
    server = lab.start(["rping", "-s", "-a", "127.0.0.1", "-C", "3"])
    lab.wait_until(lambda: "rping" in adverb_fault_or_nothing(lab), 20, "the server's device")
    client = lab.start([lab.adverb, "run", *fault, "--", "rping", "-c", "-a", "127.0.0.1", "-C",
                        "3", "-v"], adverb=False)
    client.expect(0, 60)
    if "ping data: rdma-ping-2" not in client.output():
        raise Failure(client.describe())
    server.expect(0, 60)


@case("faults", "seed")
def seed(lab):
    """A program with a plan without a seed, and adverbd for its CM messages, use the same seed."""
    server = lab.start(["rping", "-s", "-a", "127.0.0.1"], env={"ADVERB_FAULT": "drop=0% op=cm"})
    lab.wait_until(lambda: adverb_fault_or_nothing(lab).count("seed=") == 2, 20, "both plans")
    said = adverb_fault(lab, "show", "--pid", server.pid)
    if len(set(re.findall(r"seed=\d+", said))) != 1 or said.count("drop=0% op=cm") != 2:
        raise Failure(said)
    server.kill()


@case("faults", "connection-manager")
def connection_manager(lab):
    """The first REQ and the first REP are lost; then random ones, of one program and of all."""
    began = time.monotonic()
    rping(lab, "--fault", "drop op=cm tx nth=1; drop op=cm rx nth=1")
    if time.monotonic() - began < 0.5:
        raise Failure("connected as if nothing had been lost")
    rping(lab, "--fault", "seed=11; drop=5% op=cm; duplicate=20% op=cm; delay=10ms op=cm")
    holder = lab.start(["ibv_asyncwatch", "-d", "adverb0"])
    lab.wait_until(lambda: "asyncwatch" in adverb_fault_or_nothing(lab), 20, "a daemon that stays")
    adverb_fault(lab, "set", "--cm", "seed=2; drop=5%; delay=1ms jitter=20ms")
    rping(lab)
    said = adverb_fault(lab, "show", "--cm")
    if "seed=2; drop=5%" not in said or sum(fate(said, "delay")) < 8:
        raise Failure(said)
    holder.kill()
