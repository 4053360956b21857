# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""Many processes on one machine, and the sudden death of some."""

import os
import random

from harness import Failure, case, daemons, may_go_first, process_name

FIRST_PORT = 18600
PEER_LOST = 3


def start_pairs(lab, count, seconds, extra=(), first=0):
    """Starts pairs of `exchange`, numbered from `first`; returns a list of (server, caller)."""
    program = lab.client("exchange")
    ports = [FIRST_PORT + first + i for i in range(count)]
    servers = [lab.start([program, "-p", str(port), *extra]) for port in ports]
    for server, port in zip(servers, ports):
        lab.wait_listening(server, port, seconds=60)
    return [(server, lab.start([program, "-p", str(port), "-t", str(seconds), *extra,
                                "127.0.0.1"]))
            for server, port in zip(servers, ports)]


def expect_all_well(pairs, seconds):
    for server, caller in pairs:
        caller.expect(0, seconds)
        server.expect(0, seconds)
        if "ok: 0 messages" in caller.output():
            raise Failure(f"nothing was exchanged:\n{caller.describe()}")


def daemon_gone(lab):
    lab.wait_until(lambda: not daemons(), 30, "the daemon leaves after its last client")


@case("many", "64-processes", seconds=300)
def sixty_four(lab):
    """64 processes: half of them poll, half sleep; each has four queue pairs and compares every byte."""
    pairs = start_pairs(lab, 16, 5) + start_pairs(lab, 16, 5, extra=("-e",), first=16)
    expect_all_well(pairs, 120)
    daemon_gone(lab)


def await_connected(lab, pairs):
    for pair in pairs:
        lab.wait_until(lambda p=pair: all("connected" in one.output() for one in p), 60,
                       "all pairs are connected")


def tell_to_end(pairs):
    for _, caller in pairs:
        caller.popen.terminate()


@case("many", "killed-at-random", seconds=300)
def killed(lab):
    """SIGKILL of one end of eight pairs: their peers notice, the other pairs are not affected."""
    dice = random.Random(20260)
    pairs = start_pairs(lab, 24, 0, extra=("-e",))
    await_connected(lab, pairs)
    victims = dice.sample(range(24), 8)
    for i in victims:
        lab.system(f"sleep {dice.uniform(0.02, 0.3):.2f}")
        dice.choice(pairs[i]).popen.kill()
    for i in victims:
        statuses = sorted(p.wait(120) for p in pairs[i])
        if statuses != [-9, PEER_LOST]:
            raise Failure(f"pair {i} ended with {statuses}:\n"
                          + "".join(p.describe() for p in pairs[i]))
    survivors = [pair for i, pair in enumerate(pairs) if i not in victims]
    tell_to_end(survivors)
    expect_all_well(survivors, 120)
    expect_all_well(start_pairs(lab, 8, 1, extra=("-e",)), 60)
    daemon_gone(lab)


@case("many", "slots-are-reused", seconds=300)
def slots_reused(lab):
    """Hundreds of programs in sequence, some of them killed: slots are reused."""
    dice = random.Random(20261)
    keeper = lab.start(["ibv_asyncwatch"])
    for wave in range(40):
        batch = [lab.start(["ibv_devinfo"]) for _ in range(8)]
        if wave % 4 == 0:
            for process in dice.sample(batch, 3):
                process.popen.kill()
                process.wait(30)
                batch.remove(process)
        for process in batch:
            process.expect(0, 60)
    if not keeper.running():
        raise Failure(f"the program that stayed has ended:\n{keeper.describe()}")
    expect_all_well(start_pairs(lab, 2, 1), 60)
    keeper.kill()
    daemon_gone(lab)


@case("many", "crowd", seconds=300)
def crowd(lab):
    """A job of hundreds of processes, more than can share memory; and a smaller one with UDP only.
    ADVERB_CROWD is the number of processes."""
    count = int(os.environ.get("ADVERB_CROWD", "600"))
    print("measured: " + lab.run([lab.client("crowd"), "-n", count], seconds=290).strip())
    lab.run([lab.client("crowd"), "-n", count // 10, "-d", "6"], env={"ADVERB_NO_SHM": "1"})
    daemon_gone(lab)


@case("many", "few-sockets", seconds=60)
def few_sockets(lab):
    """With one program there are three sockets: its own, the daemon's, and the one for no owner."""
    keeper = lab.start(["ibv_asyncwatch"])
    lab.wait_until(lambda: "slots in use: 1 " in lab.system(f"{lab.adverb} status || true"), 30,
                   "the program has its slot")
    for _ in range(3):  # a program that only queries needs none
        lab.run(["ibv_devices"])
    shown = [line for line in lab.system("ss -Hlun").splitlines() if ":4791 " in line]
    if len(shown) != 3:
        raise Failure("not three sockets:\n" + "\n".join(shown))
    keeper.kill()
    daemon_gone(lab)


def part_of_daemon(name):
    return [pid for pid in daemons() if process_name(pid) == name]


def register_killed_part(part, name):
    @case("many", f"{part}-killed", seconds=120)
    def run(lab):
        """Traffic continues, later programs find their device, and nothing is left over. If the daemon has
        no real-time priority, the traffic pauses at times: otherwise some kernels starve the daemon
        (src/runtime/keeper/priority.h)."""
        pauses = () if may_go_first() else ("-w", "1")
        pairs = start_pairs(lab, 4, 0, extra=("-e", *pauses))
        await_connected(lab, pairs)
        victims = part_of_daemon(name)
        if len(victims) != 1:
            raise Failure(f"{len(victims)} processes named {name}")
        lab.system(f"kill -KILL {victims[0]}; sleep 0.5")
        lab.run(["ibv_devinfo"], env={"ADVERB_LOG": "error"})
        lab.wait_until(lambda: len(daemons()) == 2, 20, f"another {name}")
        expect_all_well(start_pairs(lab, 2, 1, first=4), 60)
        tell_to_end(pairs)
        expect_all_well(pairs, 60)
        daemon_gone(lab)


register_killed_part("worker", "adverbd")
register_killed_part("keeper", "adverbd-keeper")


@case("many", "whole-daemon-killed", seconds=180)
def whole_daemon_killed(lab):
    """Worker and keeper die at once: the clients start another daemon, and traffic continues."""
    pairs = start_pairs(lab, 4, 3, extra=("-e",))
    await_connected(lab, pairs)
    before = set(daemons())
    lab.system("kill -KILL " + " ".join(map(str, before)))
    lab.wait_until(lambda: len(daemons()) == 2 and not before & set(daemons()), 60, "another daemon")
    expect_all_well(pairs, 100)
    lab.run(["ibv_devinfo"], env={"ADVERB_LOG": "error"})
    expect_all_well(start_pairs(lab, 2, 1), 60)
    daemon_gone(lab)
