# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""Real programs on an emulated fabric beside `adverb sim` with the same flows; victims; priorities."""

import json
import os
import pathlib
import signal
import statistics
import time

from cases_cm import demand, perftest_pair
from cases_fabric import DUMBBELL, SLEEPING, Fabric, address, write_to
from cases_mpi import AS_ROOT
from harness import Failure, Skip, case, need_tool, process_name

SWITCH = """
[switch]
buffer = 8MB
[priority 3]
lossless = yes
xoff = 500kB
ecn-min = 100kB
ecn-max = 400kB
ecn-probability = 10%
[run]
duration = 1ms
"""
SENDERS = """
[network]
topology = incast
senders = {}
speed = 100Gb/s
cable = 10m
""" + SWITCH
TWO_RACKS = """
[network]
topology = dumbbell
hosts = 4
speed = 100Gb/s
trunk-speed = 100Gb/s
cable = 10m
""" + SWITCH
# An incast to host 4 of which one flow passes the trunk, and a victim, which passes the trunk to host 5.
VICTIM = [(0, 4), (5, 4), (6, 4), (7, 4), (1, 5)]
FACTOR = "1/1000"
WARM_UP = 20  # ms of virtual time, in which DCQCN finds its rates
SPAN = 20     # ms of virtual time that are measured
SPANS = 5     # of the simulator
LINK = 100    # Gb/s
# The simulator has the steps of the rate in proportion to the link.
CONTROLS = {"none": "none", "dcqcn": "dcqcn rpg_ai_rate=100 rpg_hai_rate=500"}
PAYLOAD = 4096 / 4162  # of a full frame


class Measured:
    """Rates of flows in Gb/s, and pause frames and marks in a ms."""

    def __init__(self, rates, pauses, marks):
        self.rates, self.pauses, self.marks = rates, pauses, marks

    def __str__(self):
        rates = ", ".join(f"{rate:.1f}" for rate in self.rates)
        return f"{rates} Gb/s; in a ms {self.pauses:.0f} pause frames, {self.marks:.1f} marks"


def simulate(lab, scenario, pairs, control):
    """Measures endless flows in the simulator, in SPANS spans of the same length: DCQCN's shares change with time."""
    path = lab.dir / "simulated.ini"
    path.write_text(f"{scenario}[host]\ncongestion-control = {control}\nwindow = 256\n" + "".join(
        f"[flow]\nfrom = {source}\nto = {target}\nendless = yes\n" for source, target in pairs))
    states = [json.loads(lab.system(f"{lab.adverb} sim --json --set run.duration={WARM_UP + SPAN * i}ms {path}"))
              for i in range(SPANS + 1)]
    return [Measured([(b["bytes"] - a["bytes"]) * 8e-6 / SPAN for a, b in zip(before["flows"], after["flows"])],
                     *((after[key] - before[key]) / SPAN for key in ("pause_frames", "ecn_marked")))
            for before, after in zip(states, states[1:])]


def sums(state):
    switches = state["switches"]
    return [sum(s[key] for s in switches) for key in ("tx_pause", "marked")]


def after_ms(fabric, since, ms):
    """Returns the state when `ms` of virtual time have passed since another state."""
    while True:
        state = fabric.state()
        if state["time"]["virtual_ps"] - since["time"]["virtual_ps"] >= ms * 1e9:
            return state
        time.sleep(0.1)


def emulate(lab, scenario, pairs, control, program="ib_write_bw", options=("-D", "300")):
    """Measures the same flows of perftest on an emulated fabric."""
    fabric = Fabric(lab, scenario, FACTOR)
    clients = write_to(lab, fabric, pairs, {"ADVERB_CC": CONTROLS[control]}, ["-s", "65536", *options], program)
    lab.wait_until(lambda: all(fabric.state()["hosts"][source]["tx_bytes"] > 1e6 for source, _ in pairs), 60,
                   "traffic of all flows")
    before = after_ms(fabric, fabric.state(), WARM_UP)
    after = after_ms(fabric, before, SPAN)
    ms = (after["time"]["virtual_ps"] - before["time"]["virtual_ps"]) * 1e-9
    if not all(client.running() for client in clients):
        raise Failure("\n".join(client.describe() for client in clients))
    for process in lab.processes:
        process.kill()
    # Devices follow the clock. If the fabric gives up much of its time, they are too fast for it.
    lost, clock = (after["time"][key] - before["time"][key] for key in ("slipped_ns", "clock_ns"))
    if lost > clock / 10:
        raise Skip(f"the machine is too busy: the emulator gave up {100 * lost / clock:.0f} % of its time")
    if any(s["dropped"] for s in after["switches"]):
        raise Failure(f"the switches dropped frames: {after['switches']}")
    fabric.down()
    return Measured([PAYLOAD * 8e-6 * (after["hosts"][source]["tx_bytes"] - before["hosts"][source]["tx_bytes"]) / ms
                     for source, _ in pairs],
                    *((b - a) / ms for a, b in zip(sums(before), sums(after))))


@case("fabric-long", "victim", seconds=300)
def victim(lab):
    """PFC without congestion control slows a flow that does not pass the congested port. DCQCN restores it."""
    suffers = emulate(lab, TWO_RACKS, VICTIM, "none", *SLEEPING)
    if suffers.rates[-1] > 0.45 * LINK or suffers.pauses < 100:
        raise Failure(f"no victim: {suffers}")
    recovers = emulate(lab, TWO_RACKS, VICTIM, "dcqcn", *SLEEPING)
    if recovers.rates[-1] < 1.5 * suffers.rates[-1] or recovers.pauses > suffers.pauses / 20:
        raise Failure(f"without congestion control: {suffers}\nwith DCQCN: {recovers}")


def is_like(spans, emulated):
    """Whether the rates are within a tenth of the link's of those of a simulated span, pauses within a factor of 1.5 and
    marks within a factor of 4 of the mean."""
    rates_of_spans = zip(*(span.rates for span in spans))
    good = all(min(rates) - LINK / 10 <= rate <= max(rates) + LINK / 10
               for rate, rates in zip(emulated.rates, rates_of_spans))
    for key, factor in (("pauses", 1.5), ("marks", 4)):
        mean = statistics.mean(getattr(span, key) for span in spans)
        measured = getattr(emulated, key)
        good = good and max(mean, measured) <= max(10, factor * min(mean, measured))
    return good


@case("fabric-fidelity-long", "shares", seconds=900)
def shares(lab):
    """Incast, two senders to one, and a victim have the rates, pauses and marks of the simulator."""
    wrong = []
    # Ten programs that poll would leave the emulator too little of two cores.
    for name, scenario, pairs, programs in (("two to one", SENDERS.format(2), [(0, 2), (1, 2)], ()),
                                            ("incast", SENDERS.format(4), [(i, 4) for i in range(4)], ()),
                                            ("victim", TWO_RACKS, VICTIM, SLEEPING)):
        for control in ("none", "dcqcn"):
            spans = simulate(lab, scenario, pairs, control)
            emulated = emulate(lab, scenario, pairs, control, *programs)
            text = [f"{name}, {control}: simulated {span}" for span in spans]
            text.append(f"{name}, {control}: emulated  {emulated}")
            print("\n".join("measured: " + line for line in text))
            if not is_like(spans, emulated):
                wrong += text
    if wrong:
        raise Failure("\n".join(wrong))


# ---- traffic classes ----

@case("fabric-long", "traffic-class")
def traffic_class(lab):
    """The traffic class that a program asks for is in the IP header, and chooses the priority in the switches."""
    fabric = Fabric(lab, DUMBBELL)
    number = 19100
    # --tclass of address vectors, the type of service of connections (RDMA_OPTION_ID_TOS), and an SL, which
    # needs a VLAN to be on the wire.
    for options, tclass in ((["--tclass", "104"], 104), (["-R", "--tos", "72"], 72), (["-S", "5"], 0)):
        number += 1
        capture = lab.dir / f"{number}.pcapng"
        tap = lab.start([lab.adverb, "capture", "-q", "-w", capture], prefix=fabric.on(2), adverb=False)
        base = ["ib_write_bw", "-F", "-n", "20", *options]
        before = fabric.state()
        if "-R" in options:
            perftest_pair(lab, base, address(2), server_prefix=fabric.on(2), client_prefix=fabric.on(0))
        else:
            lab.pair(base, [*base, address(2)], server_prefix=fabric.on(2), client_prefix=fabric.on(0))
        tap.popen.send_signal(signal.SIGINT)
        tap.expect(0, 30)
        fields = ["-e", "ip.dsfield.dscp", "-e", "infiniband.bth.opcode"]
        text = lab.run([need_tool("tshark"), "-r", capture, "-T", "fields", *fields, "-Y", "infiniband.bth.opcode == 6"],
                       adverb=False)
        seen = {line.split()[0] for line in text.splitlines() if line[0].isdigit()}
        if seen != {str(tclass >> 2)}:
            raise Failure(f"{options}: DSCPs {seen}")
        queue = (tclass >> 2) // 8
        sent = [after - then for after, then in zip(fabric.state()["switches"][1]["ports"][0]["sent"],
                                                    before["switches"][1]["ports"][0]["sent"])]
        if sent[queue] < 20 * 65536 or sum(sent) - sent[queue] > 20 * 6553:
            raise Failure(f"{options}: bytes of the priorities {sent}")
    fabric.down()


# ---- patterns of hosts ----

@case("fabric", "placed")
def placed(lab):
    """A pattern takes the next free host, also for programs that are started at the same time."""
    fabric = Fabric(lab, DUMBBELL)

    def start(pattern):
        return lab.start([lab.adverb, "run", "--host", pattern, "--", "sh", "-c", "hostname; exec sleep 100"],
                         adverb=False)

    def host_of(process):
        lab.wait_until(lambda: process.output().strip(), 20, "a host name")
        return process.output().strip()
    first = [start(pattern) for pattern in ("h*", "h[0-3]", "h*", "h?")]
    hosts = [host_of(process) for process in first]
    if sorted(hosts) != ["h0", "h1", "h2", "h3"]:
        raise Failure(f"{hosts}")
    # All are taken. One more gets the first, and then a host that is named is taken as well.
    again = [host_of(start(pattern)) for pattern in ("h*", "h1", "h*")]
    if again != ["h0", "h1", "h2"]:
        raise Failure(f"{again}")
    # A process that has exited leaves its host. Hosts 2 and 3 are at switch 1.
    first[hosts.index("h3")].kill()
    lab.wait_until(lambda: not fabric.state()["hosts"][3]["placed"], 10, "host 3 to be free")
    again = [host_of(start("s1:*")) for _ in range(2)]
    if again != ["h3", "h3"]:
        raise Failure(f"{again}")
    text = lab.run([lab.adverb, "run", "--host", "leaf*", "--", "true"], adverb=False, status=125)
    if "no host matches: the fabric has hosts h0 to h3" not in text:
        raise Failure(text)
    # A process that enters a second host leaves the first one.
    before = [host["placed"] for host in fabric.state()["hosts"]]
    moved = lab.start([*fabric.on(2), lab.adverb, "run", "--host", "h3", "--", "sh", "-c", "hostname; exec sleep 100"],
                      adverb=False)
    host_of(moved)
    after = [host["placed"] for host in fabric.state()["hosts"]]
    if [b - a for a, b in zip(before, after)] != [0, 0, 0, 1]:
        raise Failure(f"{before}, {after}")
    for process in lab.processes:
        process.kill()
    lab.wait_until(lambda: not any(host["placed"] for host in fabric.state()["hosts"]), 10, "all hosts to be free")
    fabric.down()


@case("fabric-long", "mpi-placed", seconds=120)
def mpi_placed(lab):
    """mpirun starts the ranks itself, each on the next free host. mpirun counts as one program on its own host."""
    fabric = Fabric(lab, DUMBBELL)
    environment = {**AS_ROOT, "UCX_TLS": "rc_v,self", "UCX_NET_DEVICES": "adverb0:1",
                   "PMIX_MCA_ptl_base_remote_connections": "1", "PMIX_MCA_ptl_base_if_include": "eth0"}
    mpi = lab.start([need_tool("mpirun"), "-np", "4", "--oversubscribe", "--mca", "pml", "ucx",
                     lab.adverb, "run", "--host", "h*", "--",
                     "sh", "-c", "hostname; exec /usr/bin/python3 -m mpi4py.bench ringtest -n 10000 -l 20"],
                    prefix=fabric.on(0), env=environment)
    mpi.wait(100)
    demand(mpi.output(), r"time for 20 loops = .* \(4 processes, 10000 bytes\)", 1)
    for host in range(4):
        demand(mpi.output(), rf"^h{host}$", 1)
    if any(host["program_tx_frames"] < 20 for host in fabric.state()["hosts"]):
        raise Failure(f"{fabric.state()['hosts']}")
    fabric.down()


# ---- an emulator that cannot keep up ----

STALL = 3  # s; seven timeouts of the program, and the program's retries end


@case("fabric", "stalled", seconds=120)
def stalled(lab):
    """While the emulator is stopped, the devices' time is too: no packet is sent again."""
    fabric = Fabric(lab, DUMBBELL)
    pid = fabric.state()["pid"]
    counter = "/sys/class/infiniband/adverb0/ports/1/hw_counters/local_ack_timeout_err"
    # 4.2 ms of virtual time: 0.42 s of the clock, as short as a wake-up on a busy machine permits
    client, = write_to(lab, fabric, [(0, 2)], {}, ["-D", "300", "-u", "10"])
    lab.wait_until(lambda: fabric.state()["hosts"][2]["rx_frames"] > 200, 30, "traffic")
    time.sleep(0.5)
    os.kill(pid, signal.SIGSTOP)
    time.sleep(STALL)
    os.kill(pid, signal.SIGCONT)
    received = fabric.state()["hosts"][2]["rx_frames"]
    lab.wait_until(lambda: fabric.state()["hosts"][2]["rx_frames"] > received + 2000, 30, "traffic after the stop")
    timeouts = int(lab.run(["cat", counter], prefix=fabric.on(0)))
    slipped = fabric.state()["time"]["slipped_ns"]
    if timeouts or not client.running() or slipped < 0.9e9 * STALL:
        raise Failure(f"{timeouts} timeouts, {slipped} ns were given up; {client.describe()}")
    for process in lab.processes:
        process.kill()
    fabric.down()


# ---- captures ----

FRAMES = {"s0:2": 3000, "s0:3": 8000, "h0": 100}  # host 0 soon has the least rate of DCQCN


@case("fabric-long", "capture", seconds=120)
def capture(lab):
    """A capture at a port has the frames of both directions, CNPs and PFC frames, which tshark reads clean."""
    fabric = Fabric(lab, SENDERS.format(3) + "[host]\ncongestion-control = none\nwindow = 256\n"
                    "[flow]\nfrom = 2\nto = 3\nendless = yes\n", "1/200")
    clients = write_to(lab, fabric, [(i, 3) for i in range(2)], {"ADVERB_CC": "dcqcn"}, ["-D", "300"])
    lab.wait_until(lambda: fabric.state()["switches"][0]["marked"] > 3, 60, "marks")
    files = {}
    for port in FRAMES:
        files[port] = lab.dir / f"{port.replace(':', '-')}.pcapng"
        lab.start([lab.adverb, "fabric", "capture", port, "-w", files[port], "-s", "128", "-c", str(FRAMES[port])], adverb=False)
    for process in lab.processes[-3:]:
        process.expect(0, 60)
    if not all(client.running() for client in clients):
        raise Failure("\n".join(client.describe() for client in clients))
    for process in lab.processes:
        process.kill()

    def count(port, wanted):
        text = lab.run([need_tool("tshark"), "-o", "ip.check_checksum:TRUE", "-o", "udp.check_checksum:TRUE",
                        "-r", files[port], "-T", "fields", "-e", "frame.number", "-Y", wanted], adverb=False)
        return sum(line.isdigit() for line in text.splitlines())
    for port, capture_file in files.items():
        bad = count(port, "_ws.malformed || _ws.expert.severity == error || ip.checksum.status == 0")
        if bad or count(port, "infiniband || macc") != FRAMES[port]:
            raise Failure(f"{port}: {bad} frames are bad, of {capture_file}")
    # Port 3 leads to the receiver, whose ACKs and CNPs arrive there. Port 2 leads to the flow of the scenario.
    cnps, marks = count("s0:3", "infiniband.bth.opcode == 0x81"), count("s0:3", "ip.dsfield.ecn == 3")
    pauses, early = count("s0:2", "macc.opcode == 0x0101"), count("h0", "ip.dsfield.ecn == 3 && ip.src == 10.31.0.1")
    if not cnps or not marks or not pauses or early:
        raise Failure(f"{cnps} CNPs, {marks} marks, {pauses} pause frames, {early} marks before the switch")
    fabric.down()


# ---- RoCE v1 ----

@case("fabric-long", "rocev1-congestion", seconds=180)
def rocev1_congestion(lab):
    """RoCE v1 has no ECN: where programs with RoCE v2 are marked and slow down, those with RoCE v1 are paused."""
    for roce in "v2", "v1":
        fabric = Fabric(lab, SENDERS.format(3), "1/200")
        env = {"ADVERB_CC": "dcqcn", "ADVERB_ROCE": roce}
        clients = write_to(lab, fabric, [(i, 3) for i in range(3)], env, ["-D", "300", "-S", "3"])

        def seen():
            switch = fabric.state()["switches"][0]  # noqa: B023
            return switch["marked"], switch["dropped"], sum(host["rx_pause"] for host in fabric.state()["hosts"])  # noqa: B023
        lab.wait_until(lambda: (seen()[0] > 20) if roce == "v2" else (seen()[2] > 20), 60,  # noqa: B023
                       f"marks or pauses with RoCE {roce}")
        marked, dropped, pauses = seen()
        if dropped or (roce == "v1" and marked):
            raise Failure(f"RoCE {roce}: {marked} marks, {dropped} drops, {pauses} pauses")
        for client in clients:
            if not client.running():
                raise Failure(client.describe())
        for process in lab.processes:
            process.kill()
        fabric.down()


# ---- SIGKILL ----

def strangers():
    """Returns the processes of this PID namespace besides this one and its children that have exited."""
    names = {}
    for entry in pathlib.Path("/proc").iterdir():
        if entry.name.isdigit() and int(entry.name) != os.getpid():
            name = process_name(int(entry.name))
            if name:
                names[int(entry.name)] = name
    return names


def network_of(pid):
    try:
        return os.readlink(f"/proc/{pid}/ns/net")
    except OSError:
        return None


def expect_nothing(lab, what):
    lab.wait_until(lambda: not strangers(), 30, f"the end of all processes after {what}")
    sockets = [line.split()[-1] for line in pathlib.Path("/proc/net/unix").read_text().splitlines()
               if "adverb" in line]
    if sockets:
        raise Failure(f"{what}: {sockets}")


@case("fabric-long", "killed", seconds=300)
def killed(lab):
    """SIGKILL of programs, of a host's adverbd and of the emulator leaves no process, socket or namespace, which
    exists as long as a process is in it."""
    fabric = Fabric(lab, DUMBBELL)
    clients = write_to(lab, fabric, [(0, 2), (1, 3)], {}, ["-D", "300", "-u", "8"])
    lab.wait_until(lambda: all(fabric.state()["hosts"][i]["rx_frames"] > 100 for i in (2, 3)), 30, "traffic")
    clients[0].kill()
    lab.wait_until(lambda: not fabric.state()["hosts"][0]["programs"], 10, "the end of the port")
    received = fabric.state()["hosts"][3]["rx_bytes"]
    lab.wait_until(lambda: fabric.state()["hosts"][3]["rx_bytes"] > received + 1e6, 30, "the other flow")
    # The daemon of host 1: its program goes on, and a new daemon serves the next one.
    daemons = [pid for pid, name in strangers().items()
               if name.startswith("adverbd") and network_of(pid) == network_of(clients[1].pid)]
    if len(daemons) < 2:
        raise Failure(f"{daemons} of {strangers()}")
    for pid in daemons:
        os.kill(pid, signal.SIGKILL)
    text = lab.run(["ibv_devinfo"], prefix=fabric.on(1))
    if "PORT_ACTIVE" not in text:
        raise Failure(text)
    received = fabric.state()["hosts"][3]["rx_bytes"]
    lab.wait_until(lambda: fabric.state()["hosts"][3]["rx_bytes"] > received + 1e6, 30, "the flow without its daemon")
    emulator = fabric.state()["pid"]
    for process in lab.processes:
        process.kill()
    os.kill(emulator, signal.SIGKILL)
    expect_nothing(lab, "SIGKILL of all")
    fabric = Fabric(lab, DUMBBELL)
    lab.run(["ibv_devinfo"], prefix=fabric.on(1))
    fabric.down()
    expect_nothing(lab, "adverb fabric down")


# ---- a ring of three ----

RING = """
[network]
topology = ring
switches = 3
hosts = 1
routes = one-way
trunk-cable = 20m
[switch]
watchdog-poll = 1ms
watchdog-detect = 20ms
watchdog-restore = 5ms
[priority 3]
lossless = yes
xoff = 60kB
[run]
duration = 1ms
"""


@case("fabric-long", "deadlock-of-three")
def deadlock_of_three(lab):
    """A ring of three switches deadlocks, status and top name it, the watchdog breaks it, and programs go on."""
    fabric = Fabric(lab, RING)
    clients = write_to(lab, fabric, [(i, (i + 2) % 3) for i in range(3)], {"ADVERB_CC": "none"},
                       ["-D", "300", "-q", "2", "-u", "10"])
    for tool in (["status"], ["top", "-n", "1", "-d", "0.1"]):
        lab.wait_until(lambda t=tool: "DEADLOCK of" in lab.run([lab.adverb, "fabric", *t], adverb=False), 60,
                       f"a deadlock in {tool[0]}")
    lab.wait_until(lambda: sum(s["storms"] for s in fabric.state()["switches"]), 60, "the watchdog")
    before = [host["rx_bytes"] for host in fabric.state()["hosts"]]
    lab.wait_until(lambda: all(host["rx_bytes"] > then + 1e6
                               for host, then in zip(fabric.state()["hosts"], before)), 60, "progress of all hosts")
    if not all(client.running() for client in clients):
        raise Failure("\n".join(client.describe() for client in clients))
    for process in lab.processes:
        process.kill()
    fabric.down()
