# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""Congestion control with real programs: a fault plan sets the CE marks of a switch."""

import pathlib
import re
import shlex
import time

import cases_netns
import roce_pcap
from cases_capture import Capture
from harness import Failure, case

PORT = "/sys/class/infiniband/adverb0/ports/1"
BANDWIDTH = "-F -D 30 -f 1"
# mlx5's default of 300 us. A descheduled receiver sends no CNPs, and with steps of 55 us the sender would
# be at full rate again.
STEPS = ["--cc", "dcqcn rpg_time_reset=300"]
DEFAULT_MINIMUM = 100  # Mb/s, rpg_min_rate
TCP_PORT = 18515


def adverb(lab, *arguments, prefix=(), status=0):
    return lab.run([lab.adverb, *arguments], adverb=False, prefix=prefix, status=status, seconds=20)


def counters(lab, prefix=()):
    """Returns {counter: value} of all programs on a host."""
    text = lab.run(["sh", "-c", f"grep . {PORT}/counters/* {PORT}/hw_counters/*"], prefix=prefix)
    return {pathlib.Path(line.split(":")[0]).name: int(line.split(":")[1])
            for line in text.splitlines()}


def megabits(lab, prefix=(), seconds=0.5, counter="port_xmit_data"):
    """Returns the rate at which a host sends, in Mb/s."""
    def look():
        return time.monotonic(), counters(lab, prefix)[counter]
    began, before = look()
    time.sleep(seconds)
    ended, after = look()
    return (after - before) * 32 / (ended - began) / 1e6


def start_pair(lab, program, server_prefix=(), client_prefix=(), host="127.0.0.1", gids=(0, 0),
               options=("--no-shm", *STEPS), client_options=()):
    command = [*shlex.split(program), *shlex.split(BANDWIDTH)]
    server = lab.start([lab.adverb, "run", *options, "--", *command, "-x", str(gids[1])],
                       prefix=server_prefix, adverb=False)
    lab.wait_listening(server, TCP_PORT)
    client = lab.start([lab.adverb, "run", *options, *client_options, "--", *command, "-x",
                        str(gids[0]), host], prefix=client_prefix, adverb=False)
    return server, client


def expect_slow_while_marked(lab, sender, receiver, rule, both=False):
    """The sender is slow while the receiver receives marks, and only then.

    sender, receiver: command prefixes of the hosts. both: they are the same host.
    """
    lab.wait_until(lambda: megabits(lab, sender) > 800, 20, "traffic")
    free = megabits(lab, sender)
    if counters(lab, receiver)["np_ecn_marked_roce_packets"]:
        raise Failure("packets are marked already")
    adverb(lab, "fault", "set", "--all", rule, prefix=receiver)
    lab.wait_until(lambda: megabits(lab, sender) < free / 4, 20, "a lower rate")
    time.sleep(0.5)
    slow = megabits(lab, sender, seconds=1)
    if slow > 600 and slow > free / 4:
        raise Failure(f"{slow:.0f} Mb/s although each packet is marked; {free:.0f} before")
    adverb(lab, "fault", "clear", "--all", prefix=receiver)
    lab.wait_until(lambda: megabits(lab, sender) > free / 2, 20, "the rate of before")
    here, there = counters(lab, sender), counters(lab, receiver)
    time.sleep(0.5)
    if counters(lab, receiver)["np_cnp_sent"] != there["np_cnp_sent"]:
        raise Failure("CNPs are sent although no packet is marked")
    print(f"measured: {free:.0f} Mb/s, marked {slow:.0f} Mb/s; {there['np_ecn_marked_roce_packets']} marks, "
          f"{there['np_cnp_sent']} CNPs, {here['rp_cnp_handled']} obeyed")
    if not 100 < there["np_cnp_sent"] <= there["np_ecn_marked_roce_packets"]:
        raise Failure(str(there))
    if here["rp_cnp_handled"] != there["np_cnp_sent"] or here["rp_cnp_ignored"]:
        raise Failure(f"{here}\n{there}")
    if not both and (here["np_cnp_sent"] or there["rp_cnp_handled"]):
        raise Failure(f"{here}\n{there}")
    said = adverb(lab, "status", prefix=sender)
    if f" {here['rp_cnp_handled']} obeyed, 0 ignored" not in said:
        raise Failure(said)


def end(*pair):
    """Stops perftest."""
    for process in pair:
        if not process.running():
            raise Failure(process.describe())
        process.kill()


@case("congestion", "two-hosts", seconds=120)
def two_hosts(lab):
    """ib_write_bw between two hosts: CNPs arrive from the other host's address."""
    there = cases_netns.two_hosts(lab, 9000)
    here_gid, there_gid = cases_netns.host_facts(lab, 9000, "4", there)
    pair = start_pair(lab, "ib_write_bw", server_prefix=there, gids=(here_gid, there_gid),
                      host=cases_netns.ADDRESSES["4"][1])
    expect_slow_while_marked(lab, (), there, "mark rx op=write")
    end(*pair)


def register_local(name, program, rule, options):
    @case("congestion", name, seconds=120)
    def run(lab):
        pair = start_pair(lab, program, options=options)
        expect_slow_while_marked(lab, (), (), rule, both=True)
        end(*pair)


register_local("write", "ib_write_bw", "mark rx op=write", ["--no-shm", *STEPS])
register_local("send", "ib_send_bw", "mark rx op=send", ["--no-shm", *STEPS])
register_local("read-responses", "ib_read_bw", "mark rx op=read-response",
               ["--no-shm", *STEPS])
register_local("unreliable", "ib_write_bw -c UC", "mark rx op=write", ["--no-shm", *STEPS])
register_local("shared-memory", "ib_write_bw", "mark rx op=write", STEPS)


@case("congestion", "on-the-wire", seconds=120)
def on_the_wire(lab):
    """A captured CNP has a right ICRC, DSCP 48, Not-ECT, BECN set, PSN 0 and 16 zero bytes."""
    capture = Capture(lab, "lo")
    argv = ["ib_write_bw", "-F", "-n", "200", "-s", "65536"]
    server = lab.start([lab.adverb, "run", "--no-shm", "--fault", "mark rx op=write", "--", *argv],
                       adverb=False)
    lab.wait_listening(server, TCP_PORT)
    client = lab.start([lab.adverb, "run", "--no-shm", "--", *argv, "127.0.0.1"], adverb=False)
    client.expect(0, 60)
    server.expect(0, 60)
    # Bursts that the kernel has not segmented yet are no packets.
    packets = [p for p in roce_pcap.roce_packets(capture.stop())
               if isinstance(p, roce_pcap.Packet) and p.opcode == 0x81]
    if len(packets) < 2:
        raise Failure(f"{len(packets)} CNPs")
    for packet in packets:
        check_cnp(packet)
    print(f"measured: {len(packets)} CNPs")


def check_cnp(packet):
    if packet.icrc_found != packet.icrc_right:
        raise Failure(f"frame {packet.frame}: ICRC {packet.icrc_found.hex()}")
    if packet.tos != 48 << 2:
        raise Failure(f"frame {packet.frame}: type of service {packet.tos:#x}")
    cnp = packet.transport
    if cnp[:5] != b"\x81\0\xff\xff\x40" or any(cnp[8:]) or len(cnp) != 28:
        raise Failure(f"frame {packet.frame}: {cnp.hex()}")


@case("congestion", "none", seconds=120)
def none(lab):
    """Without congestion control, a program sends Not-ECT packets and answers no marks."""
    pair = start_pair(lab, "ib_write_bw", client_options=["--cc", "none"])
    lab.wait_until(lambda: megabits(lab) > 800, 20, "traffic")
    adverb(lab, "fault", "set", "--all", "mark rx op=write")
    before = counters(lab)["port_rcv_packets"]
    lab.wait_until(lambda: counters(lab)["port_rcv_packets"] > before + 10000, 20, "traffic")
    if counters(lab)["np_ecn_marked_roce_packets"]:
        raise Failure("marks on packets that are not ECN-capable")
    end(*pair)
    pair = start_pair(lab, "ib_read_bw", client_options=["--cc", "none"])
    lab.wait_until(lambda: megabits(lab) > 800, 20, "READ responses")
    adverb(lab, "fault", "set", "--all", "mark rx op=read-response")
    lab.wait_until(lambda: counters(lab)["np_ecn_marked_roce_packets"] > 1000, 20, "marks")
    found = counters(lab)
    if found["np_cnp_sent"] or found["rp_cnp_handled"] or found["rp_cnp_ignored"]:
        raise Failure(str(found))
    end(*pair)


@case("congestion", "parameters", seconds=120)
def parameters(lab):
    """The minimum rate is a lower bound; with one CNP per ms, no more are sent. Processes that wait for the processor
    miss their turns, so a busy machine may need several looks for a rate that the default minimum does not give."""
    pair = start_pair(lab, "ib_write_bw", options=[
        "--no-shm", "--cc", "dcqcn rpg_min_rate=1500, min_time_between_cnps=1000 rpg_time_reset=50000"])
    lab.wait_until(lambda: megabits(lab) > 800, 20, "traffic")
    adverb(lab, "fault", "set", "--all", "mark rx op=write")
    lab.wait_until(lambda: counters(lab)["rp_cnp_handled"] > 100, 20, "CNPs")
    began, before = time.monotonic(), counters(lab)["np_cnp_sent"]
    rates = []

    def above_the_default():
        rates.append(megabits(lab, seconds=2))
        return rates[-1] > 3 * DEFAULT_MINIMUM
    lab.wait_until(above_the_default, 20, "a rate above the default minimum")
    after, ended = counters(lab)["np_cnp_sent"], time.monotonic()
    print(f"measured: {', '.join(f'{rate:.0f}' for rate in rates)} Mb/s, "
          f"{(after - before) / (ended - began):.0f} CNPs a second")
    if max(rates) > 1700:
        raise Failure(f"{max(rates):.0f} Mb/s, not 1500")
    if not 0 < (after - before) / (ended - began) <= 1001:
        raise Failure(f"{after - before} CNPs in {ended - began:.2f} s")
    end(*pair)


@case("congestion", "command-line")
def command_line(lab):
    for text, said in (("cubic", "'cubic': expected none, dcqcn, dctcp, timely or swift"),
                       ("dcqcn rpg_gd=9", "rpg_gd: expected rpg_gd=N, N a number from 10 to 15"),
                       ("dcqcn fast=1", "dcqcn has no parameter 'fast'; the parameters are clamp_tgt_rate"),
                       ("none rpg_gd=11", "none has no parameters")):
        if said not in adverb(lab, "run", "--cc", text, "true", status=125):
            raise Failure(said)
        out = lab.run(["ibv_devinfo"], env={"ADVERB_CC": text}, status=1)
        if f"ADVERB_CC: {said}" not in out:
            raise Failure(out)
    shown = adverb(lab, "run", "--cc", " dcqcn;cnp_dscp=48,rpg_gd=12 ", "sh", "-c", "echo $ADVERB_CC")
    if shown.strip() != "dcqcn rpg_gd=12":
        raise Failure(shown)
    if re.search("^congestion", adverb(lab, "run", "ibv_devinfo"), re.M):
        raise Failure("no marks, no line")


@case("congestion", "events", seconds=120)
def events(lab):
    """Programs that sleep until a completion: the background threads keep the rate."""
    argv = ["ib_send_bw", "-e", "-F", "-n", "300", "-s", "65536"]
    server = lab.start([lab.adverb, "run", "--no-shm", "--fault", "mark rx op=send", "--", *argv],
                       adverb=False)
    lab.wait_listening(server, TCP_PORT)
    client = lab.start([lab.adverb, "run", "--no-shm", "--", *argv, "127.0.0.1"], adverb=False)
    began = time.monotonic()
    client.expect(0, 60)
    server.expect(0, 60)
    print(f"measured: 20 MB marked in {time.monotonic() - began:.1f} s")
