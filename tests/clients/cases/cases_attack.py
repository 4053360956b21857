# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""A process on the same machine that forges packets and messages: docs/threat-model.md.

ADVERB_ATTACK_PACKETS: how many packets each attacker sends.
"""

import os
import pathlib
import re

from cases_cm import wait_listens
from cases_device import NOBODY, as_nobody
from cases_netns import ADDRESSES, gid_index, two_hosts
from harness import Failure, case, daemons

PACKETS = int(os.environ.get("ADVERB_ATTACK_PACKETS", "30000"))
SECONDS = 100 + PACKETS // 500  # longer on a busy machine
PORT = 18600
LONGEST_POLL = 5000000  # us; a longer pause is a hang
# 1 s, so that victims do not give up while attackers use all cores.
PATIENT = ("-k", "18", "-l", str(2 * SECONDS))


def victims(lab, *options, port=PORT):
    """Starts a pair that compares every received byte until it is stopped; returns what others can know."""
    program = lab.client("exchange")
    server = lab.start([program, "-p", str(port), "-a", *PATIENT, *options])
    lab.wait_listening(server, port)
    caller = lab.start([program, "-p", str(port), "-a", "-t", "0", *PATIENT, *options,
                        "127.0.0.1"])
    lab.wait_until(lambda: all("connected" in p.output() for p in (server, caller)), 60,
                   "the victims are connected")
    known = [words for p in (server, caller)
             for words in re.findall(r"queue pair (\w+:\w+:\w+:\w+)", p.output())]
    return server, caller, known


def without_psns(known):
    return [":".join(words.split(":")[:2]) for words in known]


def end_well(server, caller):
    """Both are still connected and received only what the other one sent."""
    if not server.running() or not caller.running():
        raise Failure(f"the connection broke:\n{server.describe()}{caller.describe()}")
    caller.popen.terminate()
    for process in (caller, server):
        text = process.expect(0, 60)
        rounds = int(re.search(r"ok: (\d+) messages", text)[1])
    return rounds


def attack(lab, known, number, *options, program=None, **how):
    return lab.start([program or lab.client("attacker"), "-n", str(PACKETS), "-d",
                      f"adverbd-{os.geteuid()}", "-s", str(number), *options, *known],
                     adverb=False, **how)


def nobody_slowed_down(lab):
    """The victims counted forged marks and CNPs, and ignored them."""
    status = lab.run([lab.adverb, "status"], adverb=False)
    if not re.search(r"^congestion: [1-9]\d* packets marked by the network, 0 CNPs sent, 0 obeyed, "
                     r"0 ignored$", status, re.M):
        raise Failure(status)


def heard(line):
    return [int(n) for n in re.search(
        r"^(\d+) packets and (\d+) messages to the daemon sent; (\d+) of (\d+) ports taken$", line,
        re.M).groups()]


@case("attack", "forged-packets", seconds=SECONDS + 100)
def forged_packets(lab):
    """Two attackers of the same user, against a busy pair, a slow pair whose first PSNs they know, and
    a connection of the connection manager."""
    server, caller, known = victims(lab, "-q", "4", "-s", "60000")
    *slow, told = victims(lab, "-q", "2", "-w", "200", "-e", port=PORT + 1)
    known = without_psns(known) + told
    pong = lab.start(["rping", "-s", "-a", "127.0.0.1", "-V", "-S", "1000"])
    wait_listens(lab, pong)
    ping = lab.start(["rping", "-c", "-a", "127.0.0.1", "-V", "-S", "1000"])
    before = daemons()
    both = [attack(lab, known, i) for i in (1, 2)]
    for one in both:
        packets, messages, taken, tried = heard(one.expect(0, SECONDS))
        if taken or tried < 3:
            raise Failure(f"{taken} of {tried} ports taken:\n{one.describe()}")
        print(f"measured: {packets} forged packets, {messages} messages, {tried} ports tried")
    nobody_slowed_down(lab)
    print(f"measured: {end_well(server, caller)} messages compared meanwhile")
    end_well(*slow)
    if not ping.running() or not pong.running():
        raise Failure(f"the connection broke:\n{pong.describe()}{ping.describe()}")
    if daemons() != before:
        raise Failure(f"adverbd was replaced: {before}, {daemons()}")
    ping.kill()
    pong.kill()
    # other pairs still work
    server, caller, _ = victims(lab)
    end_well(server, caller)


@case("attack", "another-user", seconds=SECONDS + 100)
def another_user(lab):
    """An attacker of a user that the daemon does not serve."""
    env = as_nobody(lab)
    program = lab.dir / "attacker"
    lab.system(f"cp {lab.client('attacker')} {program} && chmod 755 {program}")
    server, caller, known = victims(lab, "-q", "4", "-s", "60000", "-e")
    one = attack(lab, without_psns(known), 3, program=program, prefix=NOBODY, env=env)
    packets, messages, taken, tried = heard(one.expect(0, SECONDS))
    if taken or tried < 2:
        raise Failure(f"{taken} of {tried} ports taken:\n{one.describe()}")
    print(f"measured: {packets} forged packets, {messages} messages, {tried} ports tried")
    print(f"measured: {end_well(server, caller)} messages compared meanwhile")


@case("attack", "flood", seconds=120)
def flood(lab):
    """So many packets that the victims' sockets overflow. Afterwards the victims continue."""
    server, caller, known = victims(lab, "-q", "4", "-s", "60000", "-e")
    attack(lab, known, 4, "-f", "-n", "20000").expect(0, 100)
    lab.system("sleep 0.5")
    print(f"measured: {end_well(server, caller)} messages compared")


def greedy_reader(lab, reads, length, repeats, seconds):
    """A peer on another host requests many READs of one process, and repeats the first of them. An
    honest peer on this host exchanges messages with the process meanwhile. Returns the bytes that
    left this host."""
    there = two_hosts(lab, 9000)
    here, away = ADDRESSES["4"][:2]
    index = gid_index(lab.run(["ibv_devinfo", "-v"]), here)
    server = lab.start([lab.client("reads"), "serve", str(PORT), index, away])
    lab.wait_listening(server, PORT)
    caller = lab.start([lab.client("reads"), "call", str(PORT), index, here, str(seconds)])
    lab.wait_until(lambda: "greedy may read" in server.output(), 60, "the server is connected")
    qpn, rkey = re.search(r"greedy may read (\w+) (\w+)", server.output()).groups()
    left = pathlib.Path("/sys/class/net/veth0/statistics/tx_bytes")
    # a sysfs of this network namespace: /sys may belong to another one
    lab.system(f"mkdir {lab.dir}/sys && mount -t sysfs none {lab.dir}/sys")
    left = lab.dir / left.relative_to("/")
    before = int(left.read_text())
    greedy = lab.start([lab.client("greedy"), away, here, qpn, rkey, str(reads), str(length),
                        str(repeats)], prefix=there, adverb=False)
    if repeats:
        greedy.expect(0, seconds + 60)
        sent = int(left.read_text()) - before
        caller.expect(0, seconds + 60)
    else:
        caller.expect(0, seconds + 60)
        sent = int(left.read_text()) - before
    told = server.expect(0, 60).splitlines()[-1]
    print(f"measured: {told}; {sent >> 20} MiB sent")
    longest = int(re.search(r"us each, longest (\d+) us", told)[1])
    if longest > LONGEST_POLL:
        raise Failure(f"ibv_poll_cq() took {longest} us")
    return sent


@case("attack", "long-reads", seconds=200)
def long_reads(lab):
    """16 packets request 16 GiB."""
    # On a busy machine the greedy peer starts later.
    sent = greedy_reader(lab, 16, 1 << 30, 0, 5 + 2 * int(os.getloadavg()[0]))
    if sent < 64 << 20:
        raise Failure(f"nobody was greedy: {sent} bytes")


@case("attack", "repeated-reads", seconds=200)
def repeated_reads(lab):
    """64 MiB are requested once and repeated 40 times: one repetition may be answered, and 1 MiB each."""
    sent = greedy_reader(lab, 1, 64 << 20, 40, 20)
    if not 64 << 20 < sent < 1.1 * (2 * 64 + 40 << 20):
        raise Failure(f"{sent} bytes sent")
