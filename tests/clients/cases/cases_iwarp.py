# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""Programs on the device as an iWARP adapter: librdmacm over TCP, RC only."""

import filecmp
import os
import re
import time

from cases_cm import LINES, demand
from cases_sysfs import keep_daemon
from harness import Failure, case, need_tool

IWARP = {"ADVERB_TRANSPORT": "iwarp"}
PERFTESTS_OWN = ("exit status -11", "Can't produce a report")
PERFTEST_TRIES = 4


def iwarp_pair(lab, server, client, port, seconds=60, env=None, there=()):
    """Runs both ends, which must succeed; returns their outputs. The listener is a TCP socket. there: the prefix of
    the server's host."""
    env = dict(IWARP, **(env or {}))
    one = lab.start(server, prefix=[*there, *LINES], env=env)
    lab.wait_until(lambda: not one.running() or is_listening(lab, port, there), 30, f"a listener at {port}")
    two = lab.start(client, prefix=LINES, env=env)
    try:
        client_out = two.expect(0, seconds)
        return one.expect(0, 30), client_out
    except Failure as failure:
        one.kill()
        two.kill()
        raise Failure(f"{failure}\nserver was:\n{one.describe()}\nclient was:\n"
                      f"{two.describe()}") from None


def perftest_pair(lab, words, env=None):
    """Runs a pair of perftest; returns the client's output. The client gets more tries, as it connects a second time
    and crashes if the server does not listen again yet, and as it makes no report if other programs disturb the
    measurement of its clock."""
    for left in reversed(range(PERFTEST_TRIES)):
        try:
            return iwarp_pair(lab, words, [*words, "127.0.0.1"], 18515, env=env)[1]
        except Failure as failure:
            if not left or not any(word in str(failure) for word in PERFTESTS_OWN):
                raise
    return None


def is_listening(lab, port, there=()):
    """Whether a TCP socket listens at the port: adverbd has the listeners."""
    tables = lab.run([*there, "cat", "/proc/self/net/tcp", "/proc/self/net/tcp6"], adverb=False)
    return any(f":{port:04X} " in line and " 0A " in line for line in tables.splitlines())


@case("iwarp", "devinfo")
def devinfo(lab):
    """What ibv_devinfo, sysfs and the option show."""
    out = lab.run([lab.adverb, "run", "--transport", "iwarp", "ibv_devinfo", "-v"], adverb=False)
    demand(out, r"^\s*transport:\s+iWARP \(1\)$", 1)
    demand(out, r"^\s*atomic_cap:\s+ATOMIC_NONE", 1)
    demand(out, r"gid_tbl_len:\s+1$", 1)
    node = "/sys/class/infiniband/adverb0/node_type"
    demand(lab.run(["cat", node], env=IWARP), r"^4: RNIC$", 1)
    demand(lab.run(["cat", node]), r"^1: CA$", 1)
    refused = lab.run([lab.adverb, "run", "--transport", "ib", "true"], adverb=False, status=2)
    demand(refused, r"'ib' is none of: roce, iwarp", 1)


@case("iwarp", "refused")
def refused(lab):
    """Programs that need UD, UC or a connection without librdmacm are refused with a reason."""
    env = dict(IWARP, ADVERB_LOG="warn")
    for program in ("ibv_ud_pingpong", "ibv_uc_pingpong"):
        out = lab.run([program], status=1, env=env)
        demand(out, r"ibv_create_(qp|ah)\(.*EOPNOTSUPP", 1)


@case("iwarp", "rping")
def rping(lab):
    """With -q, the program has its own queue pairs, and calls rdma_establish()."""
    for words in (["127.0.0.1"], ["::1"], ["127.0.0.1", "-q"]):
        server, client = iwarp_pair(lab, ["rping", "-s", "-v", "-C", "20", "-a", *words],
                                    ["rping", "-c", "-v", "-V", "-C", "20", "-a", *words], 7174)
        demand(server, r"^server ping data: rdma-ping-\d+: [A-z]", 20)
        demand(client, r"^ping data: rdma-ping-\d+: [A-z]", 20)


@case("iwarp", "ucmatose")
def ucmatose(lab):
    for arguments in ([], ["-c", "10", "-C", "5", "-S", "100000", "-a", "1000"]):
        server, client = iwarp_pair(lab, ["ucmatose", *arguments[:2]],
                                    ["ucmatose", "-s", "127.0.0.1", *arguments[:2]], 7471)
        demand(server + client, r"^return status 0$", 2)


@case("iwarp", "rdma-client")
def rdma_client(lab):
    """rdma_client: endpoints and synchronous calls. With an SRQ: rdma_xclient on RC."""
    server, client = iwarp_pair(lab, ["rdma_server"], ["rdma_client", "-s", "127.0.0.1"], 7471)
    demand(server + client, r": end 0$", 2)
    server, client = iwarp_pair(lab, ["rdma_xserver"], ["rdma_xclient", "-s", "127.0.0.1"], 7471)
    demand(server + client, r": end 0$", 2)


@case("iwarp", "perftest")
def perftest(lab):
    """Each operation, from one byte to lengths of many segments."""
    for program in ("ib_send_bw", "ib_write_bw", "ib_read_bw"):
        need_tool(program)
        for arguments in (["-s", "1"], ["-s", "65536", "-q", "3"], ["-s", "1000003", "-b"]):
            perftest_pair(lab, [program, "-R", "-n", "50", *arguments])


@case("iwarp", "no-listener")
def no_listener(lab):
    """A port where nobody listens: REJECTED with the error of TCP, at once."""
    out = lab.run(["rping", "-c", "-a", "127.0.0.1", "-p", "7999", "-C", "1"], status=255, env=IWARP)
    if not re.search(r"REJECTED", out):
        raise Failure(f"no REJECTED:\n{out}")


@case("iwarp", "killed")
def killed(lab):
    """The peer of a process that is killed gets DISCONNECTED."""
    server = lab.start(["rping", "-s", "-a", "127.0.0.1", "-v"], prefix=LINES, env=IWARP)
    lab.wait_until(lambda: is_listening(lab, 7174), 30, "a listener")
    client = lab.start(["rping", "-c", "-a", "127.0.0.1", "-v"], prefix=LINES, env=IWARP)
    lab.wait_until(lambda: "rdma-ping-2:" in server.output(), 30, "some pings")
    client.kill()
    lab.wait_until(lambda: "DISCONNECT EVENT" in server.output(), 30, "the event")


@case("iwarp", "rsockets")
def rsockets(lab):
    """Streams, with a small ring of memory, and without inline data; writes into mapped memory; a file."""
    for words in ("rstream -S 300001 -C 4 -I 2 -B 4000 -T v -T b", "rstream -S 48 -C 500 -I 2 -i 0 -T v",
                  "riostream -S 100000 -C 10 -I 2 -T v -T a"):
        need_tool(words.split()[0])
        server, client = iwarp_pair(lab, words.split(), [*words.split(), "-s", "127.0.0.1"], 7471)
        demand(server + client, r"^custom +\S+ +.*$", 2)
    source, target = lab.dir / "source", lab.dir / "target"
    source.write_bytes(os.urandom(3_000_001))
    server = lab.start(["rcopy"], env=IWARP)
    lab.wait_until(lambda: not server.running() or is_listening(lab, 7427), 30, "a listener")
    lab.run(["rcopy", source, f"127.0.0.1:{target}"], env=IWARP)
    if not filecmp.cmp(source, target, shallow=False):
        raise Failure("the copy differs")
    server.kill()


@case("iwarp", "tools")
def tools(lab):
    """What adverb's tools show of a running program, and what they refuse."""
    server = lab.start(["rping", "-s", "-a", "127.0.0.1", "-S", "60000"], prefix=LINES, env=IWARP)
    lab.wait_until(lambda: is_listening(lab, 7174), 30, "a listener")
    client = lab.start(["rping", "-c", "-a", "127.0.0.1", "-S", "60000"], prefix=LINES, env=IWARP)
    counter = "/sys/class/infiniband/adverb0/ports/1/counters/port_xmit_data"
    lab.wait_until(lambda: int(lab.run(["cat", counter], env=IWARP).split()[-1]) > 1 << 20, 30, "bytes sent")
    for status, words, pattern in (
            (1, ["fault", "set", "--pid", client.pid, "drop=1% op=write"], "an iWARP device has no mark, rnr, tear,"),
            (0, ["fault", "set", "--pid", client.pid, "event=GID_CHANGE"], "event=GID_CHANGE")):
        said = lab.run([lab.adverb, *words], adverb=False, status=status)
        if pattern not in said:
            raise Failure(said)
    client.kill()
    hw = "/sys/class/infiniband/adverb0/ports/1/hw_counters/rx_write_requests"
    if int(lab.run(["cat", hw], env=IWARP).split()[-1]) == 0:
        raise Failure("no WRITEs counted")
    server.kill()
    out = lab.run([lab.adverb, "run", "--fault", "mark=1%", "--transport", "iwarp", "ibv_devinfo"], adverb=False,
                  status=1)
    demand(out, r"ADVERB_FAULT: an iWARP device has no mark, rnr, tear,", 1)


@case("iwarp", "faults")
def faults(lab):
    """Injected failures of requests."""
    env = {"ADVERB_FAULT": "complete=REM_ACCESS_ERR nth=20"}
    server = lab.start(["rping", "-s", "-a", "127.0.0.1", "-C", "50"], prefix=LINES, env=IWARP)
    lab.wait_until(lambda: is_listening(lab, 7174), 30, "a listener")
    client = lab.start(["rping", "-c", "-a", "127.0.0.1", "-C", "50"], prefix=LINES, env={**IWARP, **env})
    client.wait(30)
    demand(client.output(), r"cq completion failed status 10", 1)
    server.kill()


def pings(lab, count, plan, crc="accept"):
    """Runs rping, with a fault plan at the client. Returns the client's process and the seconds that it took."""
    env = dict(IWARP, ADVERB_IWARP=f"crc={crc}")
    words = ["-a", "127.0.0.1", "-C", str(count), "-V"]
    server = lab.start(["rping", "-s", *words], prefix=LINES, env=env)
    lab.wait_until(lambda: is_listening(lab, 7174), 30, "a listener")
    start = time.monotonic()
    client = lab.start(["rping", "-c", *words], prefix=LINES, env=dict(env, ADVERB_FAULT=plan))
    client.wait(60)
    seconds = time.monotonic() - start
    server.wait(30)
    return client, seconds


@case("iwarp", "faults-of-packets", seconds=200)
def faults_of_packets(lab):
    """A lost packet is a pause, and no byte is lost; a damaged one ends the connection. Plans of a running program."""
    keep_daemon(lab)

    def counter(name):
        return int(lab.run(["cat", f"/sys/class/infiniband/adverb0/ports/1/counters/{name}"], env=IWARP).split()[-1])
    for plan, least in (("seed=1; drop tx nth=10; drop rx nth=20; duplicate=5%; reorder=5%", 0.4),
                        ("delay=5ms", 0.4), ("down=300ms nth=9 tx", 0.3), ("port-down=500ms from=1ms", 0.3)):
        client, seconds = pings(lab, 20, plan)
        client.expect(0, 1)
        if seconds < least:
            raise Failure(f"{plan}: {seconds} s")
    for number, way in enumerate(("tx", "rx")):
        client, _ = pings(lab, 20, f"corrupt {way} nth=9", crc="require")
        if counter("port_rcv_errors") != number + 1:
            raise Failure(f"damaged {way}, and nobody has noticed: {client.describe()}")
    server = lab.start(["rping", "-s", "-a", "127.0.0.1"], prefix=LINES, env=IWARP)
    lab.wait_until(lambda: is_listening(lab, 7174), 30, "a listener")
    client = lab.start(["rping", "-c", "-a", "127.0.0.1"], prefix=LINES, env=IWARP)

    def sent():
        return counter("port_xmit_data")
    lab.wait_until(lambda: sent() > 1 << 16, 30, "bytes sent")
    fault = [lab.adverb, "fault"]
    lab.run([*fault, "set", "--pid", client.pid, "drop"], adverb=False)
    time.sleep(0.5)
    stopped = sent()
    time.sleep(0.5)
    if sent() != stopped or not client.running():
        raise Failure("it goes on, though all packets are lost")
    demand(lab.run([*fault, "show", "--pid", client.pid], adverb=False), r"packets: drop \d+$", 1)
    lab.run([*fault, "clear", "--pid", client.pid], adverb=False)
    lab.wait_until(lambda: sent() > stopped + (1 << 16), 30, "bytes sent again")
    client.kill()
    server.kill()
