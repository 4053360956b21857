# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""The pairs of real programs that a soak starts and kills."""

import dataclasses
import shlex
import signal
import time

from harness import ERROR_LINE, Failure

WELL_SEC = 120  # for an undisturbed pair
SURVIVOR_SEC = 60  # for a program that notices its peer's death
LAST_ACK_LOST = "transport retry counter exceeded"
# Until rdma-core 59 it destroys its channel while another thread fetches events from it.
RPING_CLOSES_TOO_EARLY = "rdma_get_cm_event: Bad file descriptor"
CRASHES = {-signal.SIGSEGV, -signal.SIGABRT, -signal.SIGBUS, -signal.SIGILL, -signal.SIGFPE}
GRACE_SEC = 2  # for a program that does not, before it is killed too


@dataclasses.dataclass(frozen=True)
class Kind:
    """A kind of pair; {port} is replaced by a port."""
    name: str
    server: str
    client: str  # without the server's address
    ready: str = "tcp"  # how the server shows that it waits: "tcp", "cm", or a text that it prints
    address: str = "127.0.0.1"  # the client's last argument; empty: `client` has the address
    met: str = ""  # what it prints once connected, if it then notices its peer's death
    needs_cm: bool = False  # may fail when the worker of adverbd is killed
    server_ends: bool = True
    may_lose_last_ack: bool = False  # exits even if the peer still needs an answer
    own_mistake: str = ""  # output of a failure that is allowed


def same(name, command, **how):
    return Kind(name, command, command, **how)


def perftest(command):
    """A Kind of perftest with a timeout of 0.27 s instead of 0.07 s: on a busy machine a polling program
    may get no processor for longer than the 2 s that all retries otherwise take."""
    return same(command.split()[0], f"{command} -F -u 16 -p {{port}}")


def pingpong(command):
    return same(command.split()[0], f"{command} -c -g 0 -p {{port}}", may_lose_last_ack=True)


def rstream(command):
    return Kind(command.split()[0], f"{command} -p {{port}}", f"{command} -p {{port}} -s 127.0.0.1",
                ready="usec/xfer", address="", needs_cm=True)


KINDS = [
    perftest("ib_write_bw -n 500"),
    perftest("ib_write_bw -s 64 -n 5000 -q 16"),
    perftest("ib_write_bw -b -n 300"),
    perftest("ib_read_bw -n 300 -q 4"),
    perftest("ib_send_bw -n 500 -q 2"),
    perftest("ib_send_bw --use-srq -q 4 -n 200 -e"),
    perftest("ib_atomic_bw -n 2000"),
    perftest("ib_send_lat -n 500"),
    perftest("ib_write_bw -c XRC -n 200"),
    pingpong("ibv_rc_pingpong -e -n 1000"),
    pingpong("ibv_rc_pingpong -e -s 100000 -n 100"),
    pingpong("ibv_srq_pingpong -e -q 8 -n 800"),
    same("exchange", "{clients}/exchange -q 8 -t 1 -p {port} -e", met="connected"),
    same("exchange", "{clients}/exchange -q 2 -s 100000 -t 1 -p {port}", met="connected"),
    Kind("rping", "rping -s -a 127.0.0.1 -p {port} -v -C 50",
         "rping -c -a 127.0.0.1 -p {port} -v -V -C 50", ready="cm", address="", met="ping data",
         needs_cm=True, own_mistake=RPING_CLOSES_TOO_EARLY),
    Kind("ucmatose", "ucmatose -b 127.0.0.1 -p {port} -c 20 -C 20 -S 2000",
         "ucmatose -p {port} -c 20 -C 20 -S 2000 -s 127.0.0.1", ready="cm", address="",
         needs_cm=True),
    Kind("connections", "{clients}/connections -s -L -p {port} 127.0.0.1",
         "{clients}/connections -L -p {port} -n 200 -c 16", ready="listening", needs_cm=True,
         server_ends=False),
    rstream("rstream -S 10000 -C 100 -I 5 -T v -T b"),
    rstream("rstream -S 1000 -C 100 -I 5 -T v"),
    rstream("riostream -S 30000 -C 20 -I 2 -T v -T b"),
]


class Pair:
    """One run of a Kind, in its own thread."""

    def __init__(self, soak, kind, port, plan, dice):
        self.soak = soak
        self.kind = kind
        self.port = port
        self.plan = plan
        self.seed = dice.randrange(1, 2 ** 31)
        self.victim = dice.choices(("", "server", "client"), (6, 2, 2))[0]
        self.patience = dice.uniform(0, 1.2)

    def command(self, text, seed):
        words = shlex.split(text.format(port=self.port, clients=self.soak.clients))
        plan = ["--fault", f"seed={seed}; {self.plan}"] if self.plan else []
        return [self.soak.lab.adverb, "run", *plan, "--", "stdbuf", "-oL", *words]

    def start(self, text, seed):
        return self.soak.start(self.command(text, seed))

    def await_server(self, server):
        lab, ready = self.soak.lab, self.kind.ready
        if ready == "tcp":
            lab.wait_listening(server, self.port)
        elif ready == "cm":
            lab.wait_until(lambda: not server.running() or self.soak.has_slot(server.pid), 30,
                           f"slot of {self.kind.server}")
            time.sleep(0.3)
        else:
            lab.wait_until(lambda: not server.running() or ready in server.output(), 30,
                           f"'{ready}' of {self.kind.server}")

    def run(self):
        """Returns "well", "killed" (one end was killed) or "daemon" (worker or keeper was killed, and the
        pair depends on it). Raises Failure."""
        before = self.soak.daemon_kills
        server = self.start(self.kind.server, self.seed)
        client = None
        try:
            self.await_server(server)
            client = self.start(f"{self.kind.client} {self.kind.address}", self.seed + 1)
            if self.victim:
                return self.kill_one(server, client)
            return self.expect_well(server, client)
        except Failure as failure:
            if self.kind.needs_cm and self.soak.daemon_kills != before:
                return "daemon"
            raise Failure(f"{self.kind.name} with seed {self.seed}: {failure}\n" + "".join(
                one.describe() for one in (server, client) if one)) from None
        finally:
            for one in (server, client):
                if one:
                    one.kill()
                    self.soak.forget(one)

    def expect_well(self, server, client):
        if self.kind.own_mistake and any(
                one.wait(WELL_SEC) and self.kind.own_mistake in one.output()
                for one in (client, server)):
            return "well"
        if self.plan and self.kind.may_lose_last_ack and self.last_ack_lost(server, client):
            return "well"
        client.expect(0, WELL_SEC)
        if not self.kind.server_ends:
            if not server.running():
                raise Failure("the server has ended")
            server.popen.terminate()
        server.expect(0, WELL_SEC)
        return "well"

    @staticmethod
    def last_ack_lost(server, client):
        """Whether one end had received everything and exited, and its last ACK was lost: the other end
        retransmits to nobody, as with any NIC."""
        statuses = [one.wait(WELL_SEC) for one in (server, client)]
        return sorted(map(bool, statuses)) == [False, True] and any(
            LAST_ACK_LOST in one.output() for one in (server, client) if one.popen.returncode)

    def kill_one(self, server, client):
        dying, survivor = (server, client) if self.victim == "server" else (client, server)
        time.sleep(self.patience)
        dying.kill()
        if self.kind.met and self.kind.met in survivor.output():
            status = survivor.wait(SURVIVOR_SEC)
        else:
            time.sleep(GRACE_SEC)
            status = survivor.popen.poll()
        if status in CRASHES:
            raise Failure(f"crashed when its peer was killed: status {status}")
        for line in survivor.output().splitlines():
            if ERROR_LINE.search(line) and "invalid data" in line:
                raise Failure(f"wrong data: '{line}'")
        return "killed"
