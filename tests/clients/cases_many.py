# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""Many processes on one machine, and the sudden death of some."""

import random

from harness import Failure, case, daemons

FIRST_PORT = 18600
PEER_LOST = 3


def start_pairs(lab, count, seconds, extra=()):
    """Starts pairs of `exchange`; a list of (server, caller)."""
    program = lab.client("exchange")
    servers = [lab.start([program, "-p", str(FIRST_PORT + i), *extra]) for i in range(count)]
    for i, server in enumerate(servers):
        lab.wait_listening(server, FIRST_PORT + i, seconds=60)
    return [(server, lab.start([program, "-p", str(FIRST_PORT + i), "-t", str(seconds), *extra,
                                "127.0.0.1"]))
            for i, server in enumerate(servers)]


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
    """Half of them poll, half sleep on events; four queue pairs each, every byte compared."""
    pairs = start_pairs(lab, 16, 5)
    program = lab.client("exchange")
    for i in range(16, 32):
        port = str(FIRST_PORT + i)
        server = lab.start([program, "-e", "-p", port])
        lab.wait_listening(server, FIRST_PORT + i, seconds=60)
        pairs.append((server, lab.start([program, "-e", "-p", port, "-t", "5", "127.0.0.1"])))
    expect_all_well(pairs, 120)
    daemon_gone(lab)


@case("many", "killed-at-random", seconds=300)
def killed(lab):
    """SIGKILL of one side of eight pairs: its peers notice, the others stay whole."""
    dice = random.Random(20260)
    pairs = start_pairs(lab, 24, 8, extra=("-e",))
    victims = dice.sample(range(24), 8)
    for i in victims:
        lab.system(f"sleep {dice.uniform(0.02, 0.3):.2f}")
        dice.choice(pairs[i]).popen.kill()
    for i in victims:
        statuses = sorted(p.wait(120) for p in pairs[i])
        if statuses != [-9, PEER_LOST]:
            raise Failure(f"pair {i} ended with {statuses}:\n"
                          + "".join(p.describe() for p in pairs[i]))
    expect_all_well([pair for i, pair in enumerate(pairs) if i not in victims], 120)
    expect_all_well(start_pairs(lab, 8, 1, extra=("-e",)), 60)
    daemon_gone(lab)


@case("many", "slots-are-reused", seconds=300)
def slots_reused(lab):
    """More programs one after the other than there are slots, a part of them killed."""
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


@case("many", "daemon-killed", seconds=120)
def daemon_killed(lab):
    """Traffic goes on without the daemon; programs started later get a new one."""
    pairs = start_pairs(lab, 4, 6, extra=("-e",))
    lab.system("sleep 1")
    for pid in daemons():
        lab.system(f"kill -KILL {pid}")
    lab.system("sleep 1")
    lab.run(["ibv_devinfo"])
    expect_all_well(pairs, 60)
