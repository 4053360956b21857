# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""Many connections, in sequence and at once; lost messages; the death of either end."""

import pathlib
import random
import re

import cases_netns
from harness import Failure, case, daemons, need_tool, process_name

READY_SEC = 60
# The connection manager's packets: UDP to 4791 whose BTH names QP 1.
LOSE_CM = """
table inet loss {
  chain input {
    type filter hook input priority 0;
    udp dport 4791 @th,104,24 1 numgen random mod 100 < 5 counter drop
  }
}
"""


def start_server(lab, *options, address="127.0.0.1", **how):
    return lab.start_server([lab.client("connections"), "-s", *options, address], "listening", READY_SEC,
                            **how)


def start_client(lab, *options, address="127.0.0.1", **how):
    return lab.start([lab.client("connections"), *options, address], **how)


def stop(server):
    """Stops a server; returns its report."""
    server.popen.terminate()
    return server.expect(0, 30)


def worker():
    pids = [pid for pid in daemons() if process_name(pid) == "adverbd"]
    if len(pids) != 1:
        raise Failure(f"{len(pids)} workers of adverbd")
    return pids[0]


def usage(pid):
    """Returns (resident KiB, descriptors) of a process."""
    status = pathlib.Path(f"/proc/{pid}/status").read_text()
    resident = int(re.search(r"^VmRSS:\s+(\d+)", status, re.M).group(1))
    return resident, len(list(pathlib.Path(f"/proc/{pid}/fd").iterdir()))


def own_report(text):
    """Returns (KiB early, KiB late, descriptors early, late) from a program's report about itself."""
    match = re.search(r"memory (\d+) KiB early, (\d+) KiB at the end; descriptors (\d+), (\d+)", text)
    if not match:
        raise Failure(f"no report of memory:\n{text}")
    return tuple(map(int, match.groups()))


def expect_no_growth(what, early, late, kib=2048, descriptors=4):
    print(f"measured: {what}: {early[0]} then {late[0]} KiB, {early[1]} then {late[1]} descriptors")
    if late[0] - early[0] > kib or late[1] - early[1] > descriptors:
        raise Failure(f"{what} has grown")


def exchanged(text):
    match = re.search(r"^(\d+) exchanged, (\d+) connections a second", text, re.M)
    if not match:
        raise Failure(f"no count of exchanges:\n{text}")
    return int(match.group(1)), int(match.group(2))


def await_nothing_ends(lab):
    """Waits until no connection of the daemon is in TIMEWAIT, which takes seconds."""
    lab.wait_until(lambda: ", 0 connected, 0 ending" in lab.run([lab.adverb, "status"], adverb=False),
                   60, "the end of TIMEWAIT")


def round_of(lab, server, count, at_once):
    """Runs connections in sequence; returns the usage of server and daemon afterwards, and the client's
    output."""
    text = start_client(lab, "-n", str(count), "-c", str(at_once)).expect(0, 600)
    await_nothing_ends(lab)
    return usage(server.pid), usage(worker()), text


def cycles(lab, count, at_once):
    """Connects, exchanges and disconnects; neither the ends nor the daemon grow."""
    server = start_server(lab)
    early_server, early, _ = round_of(lab, server, count, at_once)
    late_server, late, client = round_of(lab, server, count, at_once)
    done, rate = exchanged(client)
    if done != count:
        raise Failure(f"{done} of {count} connections were of use:\n{client}")
    print(f"measured: {done} connections, {rate} a second")
    mine = own_report(client)
    # the processes touch their shared ring of 4 MiB gradually
    expect_no_growth("client", mine[::2], mine[1::2], kib=6144)
    expect_no_growth("server", early_server, late_server, kib=6144)
    # its heap holds the largest number of connections in TIMEWAIT
    expect_no_growth("adverbd", early, late, kib=6144)
    stop(server)


@case("connections", "cycles", seconds=600)
def ten_thousand_cycles(lab):
    cycles(lab, 10000, 16)


@case("connections", "at-once", seconds=300)
def at_once(lab):
    """A thousand connections at the same time, all of which then work."""
    server = start_server(lab)
    client = start_client(lab, "-n", "1000", "-c", "1000", "-H").expect(0, 240)
    if "1000 connections established at once" not in client or exchanged(client)[0] != 1000:
        raise Failure(client)
    print(f"measured: 1000 at once, {exchanged(client)[1]} a second")
    stop(server)


@case("connections", "between-hosts", seconds=300)
def between_hosts(lab):
    there = cases_netns.two_hosts(lab, 1500)
    for family in ("4", "6"):
        address = cases_netns.ADDRESSES[family][1]
        server = start_server(lab, address=address, prefix=there)
        client = start_client(lab, "-n", "300", "-c", "8", address=address).expect(0, 120)
        if exchanged(client)[0] != 300:
            raise Failure(client)
        stop(server)


@case("connections", "lost-messages", seconds=400)
def lost_messages(lab):
    """Of the connection manager's packets, 5 % are lost: each of 1,000 connections is established or
    fails with an event; none hangs."""
    nft = need_tool("nft")
    rules = lab.dir / "loss.nft"
    rules.write_text(LOSE_CM)
    lab.system(f"{nft} -f {rules}")
    server = start_server(lab, "-L")
    client = start_client(lab, "-L", "-n", "1000", "-c", "100").expect(0, 300)
    done, _ = exchanged(client)
    failed = sum(map(int, re.findall(r"^(\d+) ended with RDMA_CM_EVENT_", client, re.M)))
    lost = int(re.search(r"counter packets (\d+)", lab.system(f"{nft} list ruleset")).group(1))
    print(f"measured: {done} of 1000 came about, {failed} failed with an event; {lost} packets lost")
    if done + failed != 1000 or done < 900 or lost < 100:
        raise Failure(f"{done} were of use, {failed} failed, of 1000:\n{client}")
    stop(server)


def hold(lab, count, *options):
    """Starts a client with `count` idle connections."""
    client = start_client(lab, "-n", str(count), "-c", str(count + 1), "-H", *options)
    lab.wait_until(lambda: f"{count} connections held" in client.output() or not client.running(),
                   60, "connections of a client that holds them")
    return client


def ended_with(text, event):
    match = re.search(rf"^(\d+) ended with RDMA_CM_EVENT_{event}$", text, re.M)
    return int(match.group(1)) if match else 0


@case("connections", "clients-killed", seconds=300)
def clients_killed(lab):
    """When a client dies, its server gets DISCONNECTED at once; the other clients continue."""
    dice = random.Random(20262)
    server = start_server(lab, "-L")
    victims = [hold(lab, 20) for _ in range(4)]
    busy = start_client(lab, "-n", "1000", "-c", "8")
    for victim in victims:
        lab.system(f"sleep {dice.uniform(0.0, 0.3):.2f}")
        victim.popen.kill()
    busy.expect(0, 120)
    lab.system("sleep 2")
    report = stop(server)
    if ended_with(report, "DISCONNECTED") != 80 or exchanged(report)[0] != 1000:
        raise Failure(f"80 connections were cut and 1000 were not:\n{report}")


@case("connections", "server-killed", seconds=300)
def server_killed(lab):
    """When a server dies, its clients get an event and exit."""
    server = start_server(lab)
    client = hold(lab, 50, "-L")
    server.popen.kill()
    text = client.expect(0, 30)
    if ended_with(text, "DISCONNECTED") != 50:
        raise Failure(f"not 50 disconnected:\n{text}")
    server.wait(10)
    cycles_work(lab)


def cycles_work(lab):
    """New connections work."""
    server = start_server(lab)
    if exchanged(start_client(lab, "-n", "20", "-c", "4").expect(0, 60))[0] != 20:
        raise Failure("not all of 20 connections were of use")
    stop(server)


def register_daemon_killed(name, victims):
    @case("connections", name, seconds=300)
    def run(lab):
        """Both ends get DEVICE_REMOVAL, clean up and exit; a new run works."""
        server = start_server(lab, "-L")
        client = hold(lab, 50, "-L")
        lab.system("kill -KILL " + " ".join(map(str, victims())))
        for one in (client, server):
            text = one.expect(0, 60)
            if ended_with(text, "DEVICE_REMOVAL") != 50:
                raise Failure(f"not 50 times DEVICE_REMOVAL:\n{text}")
        cycles_work(lab)


register_daemon_killed("daemon-killed", daemons)
register_daemon_killed("worker-killed", lambda: [worker()])
