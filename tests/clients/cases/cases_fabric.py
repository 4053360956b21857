# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""Programs on the hosts of an emulated fabric: adverb fabric up, adverb run --host."""

import json
import os
import re
import signal
import time

import reports
from adverbd import without_descriptors
from cases_cm import LINES, cm_pair, demand, perftest_pair, wait_listens
from cases_mpi import AS_ROOT
from harness import Failure, Skip, case, need_tool, process_name

DUMBBELL = """
[network]
topology = dumbbell
hosts = 2
speed = 100Gb/s
trunk-speed = 100Gb/s
cable = 10m
[priority 3]
lossless = yes
[run]
duration = 1ms
"""


class Fabric:
    """A running emulator."""

    def __init__(self, lab, scenario, factor="1/100", options=()):
        self.lab = lab
        path = lab.dir / "fabric.ini"
        path.write_text(scenario)
        text = lab.run([lab.adverb, "fabric", "up", "--speed-factor", factor, *options, path],
                       adverb=False)
        if "The fabric is up" not in text:
            raise Failure(text)

    def on(self, host):
        """Returns the command prefix for a program on a host."""
        return [str(self.lab.adverb), "run", "--host", f"h{host}", "--"]

    def state(self):
        return json.loads(self.lab.run([self.lab.adverb, "fabric", "status", "--json"], adverb=False))

    def down(self):
        """Ends the emulator and checks that it has exited. Returns the report's page."""
        pid = self.state()["pid"]
        page = self.lab.dir / "page.html"
        self.lab.run([self.lab.adverb, "fabric", "down", "--report", page], adverb=False)
        if "</html>" not in page.read_text():
            raise Failure("the report is not complete")
        self.lab.wait_until(lambda: not process_name(pid), 10, "the emulator's exit")
        return page.read_text()


def program_flows(page):
    """Returns the flows of programs in a report's page: frames sent, bytes, frames arrived, marks, and times."""
    return {name: [int(value) for value in re.findall(r'data-value="(\d+)"', row)]
            for name, row in re.findall(r'<tr data-program="([^"]*)">(.*)</tr>', page)}


def address(host):
    return f"10.31.0.{host + 1}"


@case("fabric-long", "perftest")
def perftest(lab):
    """Every kind of operation between two hosts, whose packets all go through the switches."""
    fabric = Fabric(lab, DUMBBELL)
    for program, size in (("ib_write_bw", 65536), ("ib_read_bw", 65536)):
        base = [program, "-F", "-n", "100"]
        _, client = lab.pair(base, [*base, address(0)], server_prefix=fabric.on(0),
                             client_prefix=fabric.on(2))
        reports.perftest(client, [size], 100)
    state = fabric.state()
    for host, least in ((0, 6.5e6), (2, 6.5e6)):
        if state["hosts"][host]["rx_bytes"] < least or state["hosts"][host]["tx_refused"]:
            raise Failure(f"h{host}: {state['hosts'][host]}")
    if state["hosts"][1]["rx_frames"] or any(s["dropped"] for s in state["switches"]):
        raise Failure(f"{state}")
    flows = program_flows(fabric.down())
    # ib_write_bw writes to host 0, and ib_read_bw reads from there.
    for ends in ("h2 h0", "h0 h2"):
        sent, bytes_, arrived = (sum(flow[i] for name, flow in flows.items() if name.startswith(ends)) for i in range(3))
        host = state["hosts"][int(ends[1])]
        if bytes_ < 6.5e6 or sent != arrived or sent != host["program_tx_frames"]:
            raise Failure(f"{ends}: {sent} frames, {bytes_} bytes, {arrived} arrived; {host}")


@case("fabric", "connection-manager")
def connection_manager(lab):
    fabric = Fabric(lab, DUMBBELL)
    base = ["rping", "-C", "5", "-v", "-a", address(3)]
    _, client = cm_pair(lab, [*base, "-s"], [*base, "-c"], server_prefix=fabric.on(3),
                        client_prefix=fabric.on(0))
    demand(client, r"^ping data: rdma-ping-\d+: [A-z]", 5)
    text = perftest_pair(lab, ["ib_send_bw", "-F", "-R", "-n", "50"], address(1),
                         server_prefix=fabric.on(1), client_prefix=fabric.on(2))
    reports.perftest(text, [65536], 50)
    fabric.down()


NO_RAW = ["setpriv", "--bounding-set=-net_raw", "--inh-caps=-net_raw"]
V1_FRAMES = 400


def rocev1_capture(lab, fabric, server, client, sl):
    """Captures frames of RoCE v1 at the switch while the clients write with the service level; returns its path."""
    path = lab.dir / f"v1-{sl}.pcapng"
    tap = lab.start([lab.adverb, "fabric", "capture", "s0:0", "-w", path, "-c", str(V1_FRAMES)], adverb=False)
    base = ["ib_write_bw", "-F", "-n", "30", "-S", str(sl)]
    lab.pair(base, [*base, address(2)], server_prefix=server, client_prefix=client)
    tap.expect(0, 60)
    return path


@case("fabric", "rocev1", seconds=240)
def rocev1(lab):
    """RoCE v1 on a fabric needs no packet socket. Its frames have a VLAN tag, whose priority is the service level and
    chooses the queues. tshark reads them clean."""
    fabric = Fabric(lab, DUMBBELL)
    v1 = ["env", "ADVERB_ROCE=v1"]
    server, client = ([*fabric.on(host), *NO_RAW, *v1] for host in (2, 0))
    types = lab.run(["sh", "-c", "cat /sys/class/infiniband/adverb0/ports/1/gid_attrs/types/*"],
                    prefix=[*fabric.on(0), *NO_RAW, "env", "ADVERB_ROCE=both"]).split("\n")
    if (types.count("RoCE v2"), types.count("IB/RoCE v1")) != (4, 4):
        raise Failure(f"types of the GIDs: {types}")
    for sl in 3, 6:
        before = fabric.state()["switches"][1]["ports"][0]["sent"]
        path = rocev1_capture(lab, fabric, server, client, sl)
        after = fabric.state()["switches"][1]["ports"][0]["sent"]
        sent = [new - old for new, old in zip(after, before)]
        if sent[sl] < 30 * 65536 or sum(sent) != sent[sl]:
            raise Failure(f"service level {sl}: bytes of the priorities {sent}")
        fields = ["frame.number", "vlan.priority", "vlan.id", "infiniband.grh.sgid", "infiniband.bth.opcode", "_ws.malformed",
                  "_ws.expert.severity"]
        text = lab.run([need_tool("tshark"), "-n", "-r", path, "-T", "fields", *[w for f in fields for w in ("-e", f)]],
                       adverb=False, seconds=60)
        rows = [line.split("\t") for line in text.splitlines() if line[:1].isdigit()]
        bad = [row for row in rows if row[1:3] != [str(sl), "0"] or not row[3].startswith("::ffff:10.31.0.") or not row[4]
               or "".join(row[5:])]
        if len(rows) != V1_FRAMES or bad:
            raise Failure(f"{len(rows)} frames, {len(bad)} are not as wanted: {bad[:3]}")
        dissected = lab.run([lab.adverb, "frame", "dissect", path], adverb=False)
        demand(dissected, rf"{V1_FRAMES} of RoCE: 0 with a wrong ICRC", 1)
    for program, size in (("ib_read_bw", 65536), ("ib_atomic_bw", 8), ("ib_send_bw -c UD", 1024), ("ib_send_bw -c UC", 5000)):
        base = [*program.split(), "-F", "-n", "50", *([] if "atomic" in program else ["-s", str(size)])]
        _, text = lab.pair(base, [*base, address(2)], server_prefix=server, client_prefix=client)
        reports.perftest(text, [size], 50)
    ping = ["rping", "-C", "5", "-v", "-a", address(2)]
    _, text = cm_pair(lab, [*ping, "-s"], [*ping, "-c"], server_prefix=server, client_prefix=client)
    demand(text, r"^ping data: rdma-ping-\d+: [A-z]", 5)
    # A listener with both versions serves each; a peer without the version is refused.
    for roce, passes in (("both", True), ("v2", False)):
        one = lab.start([*ping, "-s"], prefix=[*fabric.on(2), *NO_RAW, "env", f"ADVERB_ROCE={roce}", *LINES])
        wait_listens(lab, one, prefix=fabric.on(2))
        text = lab.run([*ping, "-c"], prefix=[*client, *LINES], status=0 if passes else 255)
        demand(text, r"^ping data: rdma-ping-\d+: [A-z]" if passes else "REJECTED", 5 if passes else 1)
        one.kill()
    if any(host["tx_refused"] for host in fabric.state()["hosts"]):
        raise Failure(f"frames were refused: {fabric.state()['hosts']}")
    fabric.down()


# Tenants of one fabric: partition 1 has hosts 0 and 2, partition 2 has hosts 1 and 3. Host 2 is a limited
# member, and host 1 is a limited member of partition 1 as well.
TENANTS = ("0x8001", "0x8002,0x0001", "0x0001", "0x8002")


@case("fabric", "tenants")
def tenants(lab):
    """P_Keys keep the tenants of a fabric apart: a program reaches the hosts of its partition only."""
    fabric = Fabric(lab, DUMBBELL)
    on = [[*fabric.on(host), "env", f"ADVERB_PKEYS={pkeys}"] for host, pkeys in enumerate(TENANTS)]
    for server, client in ((0, 2), (3, 1)):
        _, text = cm_pair(lab, ["rping", "-s", "-a", address(server), "-C", "2"],
                          ["rping", "-c", "-v", "-a", address(server), "-C", "2"],
                          server_prefix=on[server], client_prefix=on[client])
        demand(text, r"^ping data: rdma-ping-\d+: [A-z]", 2)
    base = ["ib_write_bw", "-F", "-n", "20"]
    # Another partition; two limited members; a full and a limited member of one partition.
    for server, client, index, reaches in ((1, 0, 0, False), (2, 1, 1, False), (0, 1, 1, True)):
        one = lab.start(base, prefix=on[server])
        lab.wait_listening(one, 18515)
        # Retries end soon where nothing arrives.
        patience = [] if reaches else ["-u", "8"]
        two = lab.start([*base, *patience, f"--pkey_index={index}", address(server)], prefix=on[client])
        two.wait(60)
        if ("Failed status 12" in two.output()) == reaches or (reaches and two.popen.returncode):
            raise Failure(f"h{client} to h{server}:\n{two.describe()}\n{one.describe()}")
        one.kill()
    fabric.down()


@case("fabric", "dcbx")
def dcbx(lab):
    """The switches advertise their settings to the hosts by LLDP; another scenario's are found to differ."""
    fabric = Fabric(lab, DUMBBELL)
    captures = []
    for host in 0, 3:
        captures.append(lab.dir / f"lldp{host}.pcap")
        lab.start([need_tool("tcpdump"), "-i", "eth0", "-c", "1", "-Z", "root", "-U", "-w", captures[-1],
                   "ether proto 0x88cc"], prefix=fabric.on(host), adverb=False)
    for process, capture in zip(lab.processes[-2:], captures):
        process.expect(0, 60)
        text = lab.run([need_tool("tshark"), "-V", "-r", capture], adverb=False)
        if "Malformed" in text or "PFC for Priority 3: Enabled" not in text:
            raise Failure(text)
        plan = [lab.adverb, "plan", "dcb", "--compare", capture]
        text = lab.run([*plan, lab.dir / "fabric.ini"], adverb=False)
        if "As in the scenario." not in text:
            raise Failure(text)
        other = lab.dir / "other.ini"
        other.write_text(DUMBBELL.replace("[priority 3]", "[priority 4]"))
        text = lab.run([*plan, other], adverb=False, status=1)
        if "Priority 4 has no PFC" not in text:
            raise Failure(text)
    fabric.down()


# PFC of the switch: priority 3. By host: whether lldpd is willing, the priorities of its PFC, the planner's words.
ENDS = ((True, 0x28, "is willing: it takes the PFC of the other end, priorities 3."),
        (False, 0x28, "Neither end is willing and their PFC differs: priorities 5 have it at one end only."),
        (True, 0x08, "Nothing differs for good."),
        (False, 0x08, "Nothing differs for good."))


@case("fabric-long", "dcbx-willing", seconds=180)
def dcbx_willing(lab):
    """lldpd answers the switches' DCBX on each host: willing or not, with the same PFC or another. tshark reads both ends
    clean, and the planner says what they make of each other."""
    lldpd, tcpdump, tshark = (need_tool(name) for name in ("lldpd", "tcpdump", "tshark"))
    if not lab.is_root:
        raise Skip("lldpd needs root")
    fabric = Fabric(lab, DUMBBELL)
    for host, (willing, enabled, _) in enumerate(ENDS):
        on = fabric.on(host)
        lab.start([tcpdump, "-i", "eth0", "-Z", "root", "-U", "-w", lab.dir / f"lldp{host}.pcap", "ether proto 0x88cc"],
                  prefix=on, adverb=False)
        settings = lab.dir / f"lldpd{host}.conf"
        settings.write_text("configure lldp custom-tlv oui 00,80,c2 subtype 11 oui-info "
                            f"{willing << 7 | 8:02x},{enabled:02x}\nconfigure lldp tx-interval 1\n")
        lab.start([lldpd, "-d", "-I", "eth0", "-C", "eth0", "-u", lab.dir / f"lldpd{host}", "-O", settings], prefix=on,
                  adverb=False)
    for host, (willing, _, words) in enumerate(ENDS):
        path = lab.dir / f"lldp{host}.pcap"
        plan = [str(lab.adverb), "plan", "dcb", "--compare", str(path), str(lab.dir / "fabric.ini")]

        def ends():
            process = lab.start(plan, adverb=False)  # noqa: B023
            process.wait(20)
            return process.output().partition("Both ends of the cable:\n")[2]
        # The switches repeat their frames every 30 s.
        lab.wait_until(ends, 40, "frames of both ends")
        if words not in ends():
            raise Failure(f"h{host}: not '{words}':\n{lab.processes[-1].describe()}")
        text = lab.run([tshark, "-V", "-r", path], adverb=False)
        if "Malformed" in text or ("Willing: Yes" in text) != willing or "Willing: No" not in text:
            raise Failure(text)
    for process in lab.processes:
        process.kill()
    fabric.down()


@case("fabric", "hosts-apart")
def hosts_apart(lab):
    """Each host has its own name, addresses and ports; there is one fabric; errors are clear."""
    text = lab.run([lab.adverb, "run", "--host", "h0", "--", "true"], adverb=False, status=125)
    if "no fabric runs here" not in text:
        raise Failure(text)
    fabric = Fabric(lab, DUMBBELL)
    again = lab.run([lab.adverb, "fabric", "up", lab.dir / "fabric.ini"], adverb=False, status=1)
    if "runs already" not in again:
        raise Failure(again)
    for host in range(4):
        name = lab.run(["hostname"], prefix=fabric.on(host)).strip()
        gids = reports.gid_table(lab.run(["ibv_devinfo", "-v"], prefix=fabric.on(host)))
        if name != f"h{host}" or gids[0] != f"::ffff:{address(host)}":
            raise Failure(f"h{host}: {name}, {gids}")
        inner = lab.run([lab.adverb, "fabric", "rsh", "h2", "hostname"], prefix=fabric.on(host),
                        adverb=False).strip()
        if inner != "h2":
            raise Failure(inner)
    text = lab.run([lab.adverb, "run", "--host", "h4", "--", "true"], adverb=False, status=125)
    if "h0 to h3" not in text:
        raise Failure(text)
    fabric.down()


# From 3 senders at full speed the queue grows by 25 kB in a us. DCQCN has 40 us until the pauses.
INCAST = """
[network]
topology = incast
senders = 3
speed = 100Gb/s
cable = 10m
[switch]
buffer = 16MB
[priority 3]
lossless = yes
xoff = 1MB
ecn-min = 100kB
ecn-max = 400kB
ecn-probability = 10%
[run]
duration = 1ms
"""
TCLASS = str(26 << 2)  # priority 3
# Waits for events, so that ten programs do not need ten cores.
SLEEPING = ("ib_send_bw", ["-e", "-n", "1000000"])


def write_to(lab, fabric, pairs, env, options, program="ib_write_bw", apart=0):
    """Starts a program of perftest from a host to another for each pair, at least `apart` ps of virtual time after the
    previous one; returns the clients."""
    def now():
        return fabric.state()["time"]["virtual_ps"]
    clients = []
    for number, (source, target) in enumerate(pairs):
        base = [program, "-F", "--tclass", TCLASS, "-p", str(19000 + number), *options]
        server = lab.start(base, prefix=fabric.on(target), env=env)
        lab.wait_listening(server, 19000 + number)
        clients.append(lab.start([*base, address(target)], prefix=fabric.on(source), env=env))
        started = now()
        lab.wait_until(lambda since=started: now() >= since + apart, 60, "virtual time")
    return clients


def incast_of(lab, control, factor, event, then):
    """Programs of three hosts send to the fourth one, until an event of the switch was counted 10 times and, after that,
    the receiver has got `then` bytes. Returns the state."""
    fabric = Fabric(lab, INCAST, factor)
    program, options = SLEEPING
    # One after another: DCQCN finds the rates within a few of its periods of 50 us.
    clients = write_to(lab, fabric, [(0, 3), (1, 3), (2, 3)], {"ADVERB_CC": control}, options, program, 400e6)
    lab.wait_until(lambda: fabric.state()["switches"][0][event] > 10, 60, f"{event} with {control}")
    received = fabric.state()["hosts"][3]["rx_bytes"]
    lab.wait_until(lambda: fabric.state()["hosts"][3]["rx_bytes"] > received + then, 60, f"traffic with {control}")
    state = fabric.state()
    if not all(client.running() for client in clients):
        raise Failure("\n".join(client.describe() for client in clients))
    if state["switches"][0]["dropped"] or state["hosts"][3]["rx_overrun"]:
        raise Failure(f"{control}: {state}")
    for process in lab.processes:
        process.kill()
    fabric.down()
    return state


@case("fabric", "incast", seconds=240)
def incast(lab):
    """PFC pauses programs without congestion control. With DCQCN they react to the marks of the emulated switch, so that
    it never pauses them, from their first packet on. Nothing is lost."""
    state = incast_of(lab, "none", "1/1000", "tx_pause", 0)
    if state["switches"][0]["marked"] or not any(host["rx_pause"] for host in state["hosts"][:3]):
        raise Failure(f"without congestion control: {state}")
    # A sender's whole window, 1.06 MB, would be in the queue after 85 us: at this factor, after 340 ms of the clock.
    state = incast_of(lab, "dcqcn", "1/4000", "marked", 10e6)  # 0.8 ms of its link
    if not state["switches"][0]["tx_pause"] and not any(host["rx_pause"] for host in state["hosts"]):
        return
    # The programs may get the marks too late if they have no processor.
    times = state["time"]
    lost = times["slipped_ns"]
    clock = lost + times["virtual_ps"] * 1e-3 * times["denominator"] / times["numerator"]
    if lost > clock / 4:
        raise Skip(f"the machine is too busy: the emulator gave up {100 * lost / clock:.0f} % of its time")
    raise Failure(f"pauses with DCQCN: {state}")


RING = """
[network]
topology = ring
switches = 4
hosts = 1
routes = one-way
trunk-cable = 20m
[switch]
watchdog-poll = 1ms
watchdog-detect = 5ms
watchdog-restore = 5ms
[priority 3]
lossless = yes
xoff = 60kB
[run]
duration = 1ms
"""


@case("fabric", "deadlock")
def deadlock(lab):
    """Writes around a ring deadlock; the watchdog breaks the deadlock, and the programs continue."""
    fabric = Fabric(lab, RING)
    clients = write_to(lab, fabric, [(i, (i + 2) % 4) for i in range(4)], {"ADVERB_CC": "none"},
                       ["-D", "60", "-q", "2", "-u", "10"])
    lab.wait_until(lambda: sum(s["storms"] for s in fabric.state()["switches"]), 50, "a storm")
    if not all(client.running() for client in clients):
        raise Failure("\n".join(client.describe() for client in clients))
    received = fabric.state()["hosts"][0]["rx_bytes"]
    lab.wait_until(lambda: fabric.state()["hosts"][0]["rx_bytes"] > received + 1000000, 60,
                   "traffic after the deadlock")
    text = lab.run([lab.adverb, "fabric", "top", "-n", "1", "-d", "0.1"], adverb=False)
    if "load" not in text:
        raise Failure(text)
    for process in lab.processes:
        process.kill()
    fabric.down()


@case("fabric-long", "cable")
def cable(lab):
    """A program survives a cable that is down for a while, and one that loses frames."""
    fabric = Fabric(lab, DUMBBELL)

    def change(name, what, status=0):
        return lab.run([lab.adverb, "fabric", "cable", name, what], adverb=False, status=status)
    client, = write_to(lab, fabric, [(0, 2)], {}, ["-D", "3"])
    lab.wait_until(lambda: fabric.state()["hosts"][2]["rx_frames"] > 200, 30, "traffic")
    change("s0:2", "down")
    stopped = fabric.state()["hosts"][2]["rx_frames"]
    time.sleep(0.3)  # a cable that is up carries about 9,000 frames meanwhile
    if fabric.state()["hosts"][2]["rx_frames"] > stopped + 100:
        raise Failure("frames pass a cable that is down")
    lab.run([lab.adverb, "fault", "set", "--link", "s0:2", "drop=1%"], adverb=False)
    client.expect(0, 60)
    lab.run([lab.adverb, "fault", "set", "--link", "s0:2", "corrupt=3%; delay=100us"], adverb=False)
    base = ["ib_send_lat", "-F", "-n", "200", "-u", "8"]
    _, client = lab.pair(base, [*base, address(2)], server_prefix=fabric.on(2), client_prefix=fabric.on(0))
    # 100 us of virtual time are 10 ms of the clock.
    typical = float(re.search(r"^ *2 +200 +(?:[\d.]+ +){2}([\d.]+)", client, re.M).group(1))
    disturbed, = fabric.state()["cables"]
    if typical < 1e4 or disturbed["fcs_errors"] < 1 or disturbed["delay_ps"] != 1e8:
        raise Failure(f"{typical} us, {disturbed}")
    text = lab.run([lab.adverb, "fabric", "status"], adverb=False)
    if "damages 3 %, delays by 100us" not in text.replace("100 us", "100us"):
        raise Failure(text)
    lab.run([lab.adverb, "fault", "clear", "--link", "s0:2"], adverb=False)
    change("h0", "up")
    for name, what, text in (("s0:3", "up", "no such cable"), ("h4", "up", "no such cable"),
                             ("x", "up", "no such cable"), ("h1", "loss=200%", "expected")):
        if text not in change(name, what, status=1):
            raise Failure(f"{name} {what}")
    fabric.down()


@case("fabric", "descriptors")
def descriptors(lab):
    """An emulator without a free descriptor refuses tools and programs at once, and serves them again later."""
    fabric = Fabric(lab, DUMBBELL)
    pid = fabric.state()["pid"]
    with without_descriptors(pid, f"adverb-fabric-{os.geteuid()}"):
        lab.run([lab.adverb, "fabric", "status"], adverb=False, status=1)
        lab.run([*fabric.on(0), "true"], adverb=False, status=125)
    lab.run([*fabric.on(0), "true"], adverb=False)
    fabric.down()


@case("fabric-long", "emulator-killed")
def emulator_killed(lab):
    """If the emulator is killed, requests fail and a new one starts."""
    fabric = Fabric(lab, DUMBBELL)
    base = ["ib_write_bw", "-F", "-D", "30", "-u", "8"]
    server = lab.start(base, prefix=fabric.on(0))
    lab.wait_listening(server, 18515)
    client = lab.start([*base, address(0)], prefix=fabric.on(3))
    lab.wait_until(lambda: fabric.state()["hosts"][0]["rx_frames"] > 100, 30, "traffic")
    pid = fabric.state()["pid"]
    os.kill(pid, signal.SIGKILL)
    lab.wait_until(lambda: not process_name(pid), 10, "the emulator's exit")
    lab.wait_until(lambda: not client.running(), 60, "the client's failure")
    if "transport retry counter" not in client.output() and "Completion with error" not in client.output():
        raise Failure(client.describe())
    server.kill()
    fabric = Fabric(lab, DUMBBELL)
    fabric.down()


FAT_TREE = """
[network]
topology = fat-tree
ports = 4
speed = 100Gb/s
trunk-speed = 100Gb/s
cable = 10m
[priority 3]
lossless = yes
[flow]
from = 12
to = 13
bytes = 1MB
[run]
duration = 1ms
"""
RANKS = 8


def start_fio(lab, fabric, server, client):
    """Starts fio's RDMA engine, which writes 2 MiB from a host to another one. Returns the client."""
    base = [need_tool("fio"), "--name=rdma", "--ioengine=rdma", "--bs=64k", "--size=2m", "--iodepth=4", "--port=9000"]
    lab.start_server([*base, "--rw=read"], "waiting for connection", prefix=fabric.on(server))
    return lab.start([*base, "--rw=write", "--verb=write", f"--hostname={address(server)}"], prefix=fabric.on(client))


@case("fabric-long", "fat-tree", seconds=300)
def fat_tree(lab):
    """On a fat tree of 16 hosts, at the same time: MPI with a rank on each of 8 hosts, perftest, rping,
    an rsockets copy and fio."""
    fabric = Fabric(lab, FAT_TREE, "1/500")
    source, target = lab.dir / "source", lab.dir / "target"
    source.write_bytes(os.urandom(1 << 20))
    hosts = ",".join(address(i) for i in range(RANKS))
    mca = [["plm_rsh_agent", f"{lab.adverb} fabric rsh"], ["plm_rsh_no_tree_spawn", "1"],
           ["routed", "direct"], ["pml", "ucx"]]
    variables = ["LD_LIBRARY_PATH", "LD_PRELOAD", "UCX_TLS", "UCX_NET_DEVICES", "HOME", *AS_ROOT]
    mpirun = [need_tool("mpirun"), "-np", str(RANKS), "--host", hosts,
              *(word for name, value in mca for word in ("--mca", name, value)),
              *(word for name in variables for word in ("-x", name)),
              "/usr/bin/python3", "-m", "mpi4py.bench", "ringtest", "-n", "100000", "-l", "20"]
    mpi = lab.start(mpirun, prefix=fabric.on(0),
                    env={**AS_ROOT, "UCX_TLS": "rc_v,self", "UCX_NET_DEVICES": "adverb0:1"})
    clients = write_to(lab, fabric, [(8, 9)], {}, ["-n", "200"])
    receiver = lab.start_server([need_tool("rcopy")], "waiting", prefix=fabric.on(10))
    copy = lab.start([need_tool("rcopy"), source, f"{address(10)}:{target}"], prefix=fabric.on(11))
    fio = start_fio(lab, fabric, 13, 12)
    ping = ["rping", "-C", "5", "-v", "-a", address(14)]
    _, client = cm_pair(lab, [*ping, "-s"], [*ping, "-c"], server_prefix=fabric.on(14),
                        client_prefix=fabric.on(15))
    demand(client, r"^ping data: rdma-ping-\d+: [A-z]", 5)
    clients[0].expect(0, 120)
    copy.expect(0, 120)
    fio.expect(0, 120)
    demand(fio.output(), r"WRITE: bw=.* io=2048KiB", 1)
    # mpirun may warn that a child has begun its program before mpirun moved it to a process group
    mpi.wait(120)
    demand(mpi.output(), rf"time for 20 loops = .* \({RANKS} processes, 100000 bytes\)", 1)
    receiver.kill()
    if target.read_bytes() != source.read_bytes():
        raise Failure("rcopy changed the file")
    state = fabric.state()
    if any(state["hosts"][i]["rx_bytes"] < 1e6 for i in [*range(RANKS), 9, 10, 13]):
        raise Failure(f"{state['hosts']}")
    fabric.down()
