# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""`adverb capture`: captures of running programs, read by tshark and by an independent ICRC check."""

import collections
import glob
import json
import os
import pathlib
import shutil
import signal

import roce_pcap
from cases_capture import NO_SHM, cm_messages
from cases_cm import wait_listens
from cases_device import NOBODY, as_nobody
from cases_operator import adverb, perftest_pair, res
from cases_sysfs import counters, same
from harness import Failure, case, need_tool

IN, OUT = 1, 2  # directions, as in a pcapng file
SENDS = {0x00: "SEND FIRST", 0x01: "SEND MIDDLE", 0x02: "SEND LAST", 0x04: "SEND ONLY"}
WRITES = {0x06: "WRITE FIRST", 0x07: "WRITE MIDDLE", 0x08: "WRITE LAST", 0x0a: "WRITE ONLY"}

Row = collections.namedtuple("Row", "interface direction opcode qpn psn ecn malformed lost")


class Trace:
    """An `adverb capture`, from construction to stop()."""

    def __init__(self, lab, *words, name="trace.pcapng", **how):
        self.lab = lab
        self.path = str(lab.dir / name)
        # A buffer that holds all packets of a run: on a busy machine the capture may not run meanwhile.
        self.process = lab.start([lab.adverb, "capture", "-B", "32", "-w", self.path, *words], adverb=False, **how)
        lab.wait_until(lambda: ": capturing" in self.process.output() or not self.process.running(), 20,
                       "adverb capture runs")

    def captures(self, process):
        """Waits until the packets of a process are captured."""
        self.lab.wait_until(lambda: f"process {process.pid} " in self.process.output(), 20,
                            "the process is captured")

    def stop(self, number=signal.SIGINT):
        self.process.popen.send_signal(number)
        text = self.process.expect(0, 60)
        if " 0 packets dropped" not in text:
            raise Failure(f"the capture has lost packets:\n{text}")
        return self.path


def rows(lab, path, *words):
    """Returns what tshark sees in each packet."""
    fields = ("frame.interface_name", "frame.packet_flags_direction", "infiniband.bth.opcode",
              "infiniband.bth.destqp", "infiniband.bth.psn", "ip.dsfield.ecn", "_ws.malformed", "frame.drop_count")
    command = [need_tool("tshark"), "-n", "-r", path, "--disable-heuristic", "rpcrdma_infiniband", "-o",
               "udp.check_checksum:TRUE", "-T", "fields", *words]
    for field in fields:
        command += ["-e", field]
    text = lab.run(command, adverb=False, seconds=300)
    found = []
    for line in text.splitlines():
        row = line.split("\t")
        if len(row) == len(fields):
            found.append(Row(row[0], int(row[1], 0), *(int(v.split(",")[0], 0) if v else None for v in row[2:6]),
                             row[6], int(row[7]) if row[7] else 0))
    return found


def check_icrc(path):
    """Each packet has a right ICRC and lengths that agree. Returns the packets."""
    packets = list(roce_pcap.roce_packets(path))
    for p in packets:
        if isinstance(p, roce_pcap.CaptureError):
            raise Failure(str(p))
        if p.icrc_found != p.icrc_right:
            raise Failure(f"frame {p.frame}: opcode {p.opcode:#04x}: ICRC {p.icrc_found.hex()}, should be "
                          f"{p.icrc_right.hex()}")
    return packets


def check_whole(lab, path, where):
    """All ICRCs are right, tshark dissects all, and each packet is sent once and received once: the first one
    of a program is captured, too. By UDP, a program may exit before it reads the last ACKs."""
    found = rows(lab, path)
    packets = check_icrc(path)
    same("packets", len(packets), len(found))
    for r in found:
        if r.malformed or r.opcode is None:
            raise Failure(f"malformed: {r}")
        if r.interface.rsplit("-", 1)[1] != where and not r.interface.startswith("adverbd"):
            raise Failure(f"not through {where}: {r}")
    sent = collections.Counter((r.opcode, r.qpn, r.psn) for r in found if r.direction == OUT)
    received = collections.Counter((r.opcode, r.qpn, r.psn) for r in found if r.direction == IN)
    if where == "udp":
        unread = sent - received
        if any(opcode != 0x11 for opcode, _, _ in unread):
            raise Failure(f"sent but not received: {unread}")
        received += unread
    if sent != received:
        raise Failure(f"sent but not received: {sent - received}\nreceived but not sent: {received - sent}")
    summary = adverb(lab, "frame", "dissect", path).splitlines()[-1]
    same("dissected", summary, f"{len(found)} frames, {len(found)} of RoCE: 0 with a wrong ICRC; 0 damaged")
    return found, packets


def payload(found, packets, opcodes, direction):
    """Returns the bytes of payload of all packets with these opcodes in a direction, without repetitions: a
    message that finds no receive request is sent again."""
    return sum({(p.dest_qpn, p.psn): p.payload_len for p, r in zip(packets, found)
                if p.opcode in opcodes and r.direction == direction}.values())


def near(what, one, two):
    """Within one percent."""
    if abs(one - two) * 100 > two:
        raise Failure(f"{what}: {one}, not about {two}")


# Each program, the bytes of its messages, and their opcodes. perftest counts these bytes.
RUNS = [
    (["ib_write_bw", "-F", "-n", "20", "-t", "16", "-s", "65536"], 20 * 65536, WRITES),
    (["ib_write_bw", "-F", "-n", "5", "-t", "4", "-s", "300000"], 5 * 300000, WRITES),
    (["ib_send_bw", "-F", "-n", "40", "-t", "16", "-s", "9001"], 40 * 9001, SENDS),
    (["ib_send_bw", "-F", "-n", "100", "-s", "64"], 100 * 64, SENDS),
]


def check_runs(lab, where, env):
    """Captures perftest; bytes agree with perftest's own, packets with the counters of the port."""
    for number, (words, size, opcodes) in enumerate(RUNS):
        before = counters(lab)
        trace = Trace(lab, name=f"{number}.pcapng")
        lab.pair([*words, "-x", "0"], [*words, "-x", "0", "127.0.0.1"], env=env)
        path = trace.stop()
        found, packets = check_whole(lab, path, where)
        near("bytes sent", payload(found, packets, opcodes, OUT), size)
        near("bytes received", payload(found, packets, opcodes, IN), size)
        after = counters(lab)
        ours = sum(r.direction == OUT for r in found if not r.interface.startswith("adverbd"))
        same("packets of adverb stat", after["port_xmit_packets"] - before["port_xmit_packets"], ours)


@case("tap", "shared-memory", seconds=200)
def shared_memory(lab):
    """Packets in shared memory appear as RoCE v2 packets, also those whose payload is away."""
    check_runs(lab, "memory", {})


@case("tap", "one-copy-off", seconds=120)
def two_copies(lab):
    """Long packets whose payload is in the ring."""
    words, size, opcodes = RUNS[0]
    trace = Trace(lab)
    lab.pair(words, [*words, "127.0.0.1"], env={"ADVERB_NO_ONE_COPY": "1"})
    path = trace.stop()
    near("bytes", payload(*check_whole(lab, path, "memory"), opcodes, OUT), size)


@case("tap", "udp", seconds=200)
def udp(lab):
    """Packets by UDP are those that tcpdump sees, except for the Identification."""
    check_runs(lab, "udp", NO_SHM)
    trace = Trace(lab)
    tcpdump = str(lab.dir / "lo.pcap")
    lab.system("ip link set lo gso_max_segs 1")
    other = lab.start([need_tool("tcpdump"), "-i", "lo", "-B", "65536", "--immediate-mode", "-Z", "root", "-U",
                       "-w", tcpdump, "udp port 4791"], adverb=False)
    lab.wait_until(lambda: "listening on" in other.output(), 20, "tcpdump listens")
    lab.pair(["ib_send_bw", "-F", "-n", "100", "-s", "5000", "-m", "1024"],
             ["ib_send_bw", "-F", "-n", "100", "-s", "5000", "-m", "1024", "127.0.0.1"], env=NO_SHM)
    path = trace.stop()
    lab.stop_tcpdump(other)

    def wire(file):
        return collections.Counter((p.src, p.dst, p.sport, p.tos, p.transport) for p in check_icrc(file))
    ours, theirs = wire(path), wire(tcpdump)
    same("the same packets, each twice", ours, collections.Counter({p: 2 * n for p, n in theirs.items()}))
    for link in ("LINUX_SLL", "LINUX_SLL2"):
        lab.system(f"{need_tool('tcpdump')} -y {link} -i any -c 1 -Z root -w {lab.dir}/{link}.pcap udp port 4791 "
                   "& p=$!; sleep 1; "
                   f"ADVERB_NO_SHM=1 {lab.adverb} run ibv_rc_pingpong -g 0 -n 3 >/dev/null & sleep 1; "
                   f"ADVERB_NO_SHM=1 {lab.adverb} run ibv_rc_pingpong -g 0 -n 3 127.0.0.1 >/dev/null; wait $p")
        adverb(lab, "frame", "dissect", str(lab.dir / f"{link}.pcap"))


@case("tap", "connection-manager", seconds=120)
def connection_manager(lab):
    """The packets of adverbd: a connection's handshake and its end; and those of rping."""
    everything = Trace(lab, name="all.pcapng")
    only = Trace(lab, "--cm", name="cm.pcapng")
    server = lab.start(["rping", "-s", "-a", "127.0.0.1", "-C", "3"])
    wait_listens(lab, server)
    lab.run(["rping", "-c", "-a", "127.0.0.1", "-C", "3"])
    server.expect(0, 30)
    lab.system("sleep 0.3")
    path = only.stop()
    seen = cm_messages(lab, path)
    same("the handshake, sent and received", seen[:6], [0x10, 0x10, 0x13, 0x13, 0x14, 0x14])
    same("the end", {0x15, 0x16} <= set(seen), True)
    check_icrc(path)
    found = rows(lab, everything.stop())
    same("interfaces", {r.interface for r in rows(lab, path)}, {"adverbd-udp"})
    same("rping is captured, too", sum(r.interface.endswith("-memory") for r in found) > 20, True)


@case("tap", "faults", seconds=200)
def faults(lab):
    """The two views show exactly the drops, duplicates and marks of a plan."""
    plan = "drop tx op=write nth=50-59; duplicate tx op=write nth=100-104; mark tx op=write nth=200-206"
    words = ["ib_write_bw", "-F", "-n", "1000", "-s", "4096"]
    wire = Trace(lab, "-Q", "out", name="wire.pcapng")
    engine = Trace(lab, "-Q", "out", "--before-faults", name="engine.pcapng")
    server = lab.start(words)
    lab.wait_listening(server, 18515)
    client = lab.start([lab.adverb, "run", "--fault", plan, "--", *words, "127.0.0.1"], adverb=False)
    client.wait(60)
    server.expect(0, 60)
    same("exit status", client.popen.returncode, 0)

    def writes(trace):
        found = [r for r in rows(lab, trace.stop()) if r.opcode in WRITES]
        return (collections.Counter((r.qpn, r.psn) for r in found), sum(r.ecn == 3 for r in found))
    on_wire, marked = writes(wire)
    sent, marked_before = writes(engine)
    same("dropped", sum((sent - on_wire).values()), 10)
    same("duplicated", sum((on_wire - sent).values()), 5)
    same("marked", (marked, marked_before), (7, 0))


@case("tap", "faults-at-receiver", seconds=120)
def faults_at_receiver(lab):
    """What a plan of the receiver drops is on the wire, and does not reach the transport."""
    words = ["ib_write_bw", "-F", "-n", "500", "-s", "1024"]
    wire = Trace(lab, "-Q", "in", name="wire.pcapng")
    engine = Trace(lab, "-Q", "in", "--before-faults", name="engine.pcapng")
    server = lab.start([lab.adverb, "run", "--fault", "drop rx op=write nth=20-22", "--", *words], adverb=False)
    lab.wait_listening(server, 18515)
    lab.run([*words, "127.0.0.1"])
    server.wait(60)
    counts = [sum(r.opcode in WRITES for r in rows(lab, t.stop())) for t in (wire, engine)]
    same("dropped", counts[0] - counts[1], 3)


@case("tap", "middle", seconds=200)
def middle(lab):
    """Captures begin and end while programs run. A killed or stopped capture does no harm."""
    server, client = perftest_pair(lab, "-s", "4096")
    first = lab.start([lab.adverb, "capture", "-w", str(lab.dir / "n.pcapng"), "-c", "500"], adverb=False)
    first.expect(0, 60)
    same("packets", len(rows(lab, str(lab.dir / "n.pcapng"))), 500)
    killed = Trace(lab, "--pid", str(client.pid), name="killed.pcapng")
    killed.process.kill()
    stopped = lab.start([lab.adverb, "capture", "-w", str(lab.dir / "stopped.pcapng"), "-B", "1", "-s", "128", "-c",
                         "30000"], adverb=False)
    lab.wait_until(lambda: stopped.output().count(": capturing") >= 3, 20, "all are captured")
    os.kill(stopped.pid, signal.SIGSTOP)  # it ends after 30,000 packets; its rings hold 10,000
    before = res(lab, "qp", "--pid", str(client.pid))[0]["sq-psn"]
    lab.wait_until(lambda: res(lab, "qp", "--pid", str(client.pid))[0]["sq-psn"] != before, 20,
                   "the program continues")
    lab.system("sleep 1")
    os.kill(stopped.pid, signal.SIGCONT)
    text = stopped.expect(0, 60)
    dropped = int(text.split(" packets dropped")[0].split()[-1])
    same("packets were dropped", dropped > 0, True)
    lost = sum(r.lost for r in rows(lab, str(lab.dir / "stopped.pcapng")))
    same("and counted in the file", 0 < lost <= dropped, True)
    same("maps of captures", pathlib.Path(f"/proc/{client.pid}/maps").read_text().count("adverb-capture"), 0)
    same("still run", (server.running(), client.running()), (True, True))


@case("tap", "several", seconds=120)
def several(lab):
    """Four captures at once see the same; a fifth is refused and says so."""
    server, client = perftest_pair(lab, "-s", "65536", "-Q", "1", "-t", "1")
    pid = str(client.pid)
    files = [str(lab.dir / f"{i}.pcapng") for i in range(4)]
    ends = [lab.start([lab.adverb, "capture", "--pid", pid, "-s", "64", "-w", f, "opcode ACKNOWLEDGE"], adverb=False)
            for f in files]
    lab.wait_until(lambda: all(": capturing" in e.output() for e in ends), 20, "four captures")
    fifth = lab.start([lab.adverb, "capture", "--pid", pid], adverb=False)
    lab.wait_until(lambda: "it has 4 captures already" in fifth.output(), 20, "the fifth is refused")
    fifth.kill()
    for process in (client, server):
        process.kill()
    for end in ends:
        end.expect(0, 60)  # with --pid, the capture ends with the process
    seen = [[(r.direction, r.psn) for r in rows(lab, f)] for f in files]
    last = seen[3]
    same("packets", len(last) > 100, True)
    for one in seen:
        same("the same packets at the end", one[-100:], last[-100:])


@case("tap", "queue-pair", seconds=120)
def queue_pair(lab):
    """--qp selects what a queue pair sends and receives; filters select by fields."""
    server, client = perftest_pair(lab, "-s", "64", "-q", "3", "-t", "4")
    qp, other = res(lab, "qp", "--pid", str(client.pid))[:2]
    path = str(lab.dir / "qp.pcapng")
    adverb(lab, "capture", "--qp", hex(qp["lqpn"]), "-c", "200", "-w", path)
    found = rows(lab, path)
    same("received", {r.qpn for r in found if r.direction == IN}, {qp["lqpn"]})
    same("sent", {r.qpn for r in found if r.direction == OUT}, {qp["rqpn"]})
    filters = [("opcode ACKNOWLEDGE", lambda r: r.opcode == 0x11),
               (f"qp {other['rqpn']} and opcode RC_RDMA_WRITE_ONLY".replace("RC_RDMA_", "RC_"),
                lambda r: r.qpn == other["rqpn"] and r.opcode == 0x0a),
               (f"udp[8] = 10 and udp[12:4] & 0xffffff = {qp['rqpn']}",
                lambda r: r.qpn == qp["rqpn"] and r.opcode == 0x0a),
               ("host 127.0.0.1 and not opcode 0x11", lambda r: r.opcode != 0x11)]
    for words, holds in filters:
        adverb(lab, "capture", "-c", "30", "-w", path, "-s", "128", *words.split())
        found = rows(lab, path)
        same(words, (len(found), [r for r in found if not holds(r)]), (30, []))
    text = adverb(lab, "capture", "-q", "-c", "5", "--pid", str(client.pid), "-Q", "out", "opcode", "WRITE_ONLY")
    lines = text.splitlines()
    same("lines of text", (len(lines), [" out memory 127.0.0.1 > 127.0.0.1 RC_WRITE_ONLY " in n for n in lines]),
         (5, 5 * [True]))
    same("their length", {line.rsplit(" ", 1)[1] for line in lines}, {"length=64"})
    for words in (["opcode", "NOTHING"], ["host", "and"], ["psn", "x"]):
        adverb(lab, "capture", *words, status=2)
    adverb(lab, "capture", "--pid", "1", status=1)
    adverb(lab, "capture", "--qp", "0x7ff0", status=1)
    same("still run", (server.running(), client.running()), (True, True))


@case("tap", "files", seconds=120)
def files_and_pipes(lab):
    """A ring of files keeps the newest; a pipe is read live by tshark."""
    server, client = perftest_pair(lab, "-s", "4096")
    ring = str(lab.dir / "ring.pcapng")
    adverb(lab, "capture", "-w", ring, "-b", "filesize:100", "-b", "files:3", "-a", "duration:2")
    names = sorted(glob.glob(str(lab.dir / "ring_*.pcapng")))
    numbers = [int(pathlib.Path(n).name.split("_")[1]) for n in names]
    same("the newest", (len(names), numbers == list(range(numbers[0], numbers[0] + 3)), numbers[0] > 1),
         (3, True, True))
    for name in names:
        same("packets", len(rows(lab, name)) > 0, True)
        check_icrc(name)
    same("sizes", [100000 <= os.path.getsize(n) < 110000 for n in names[:2]], [True, True])
    adverb(lab, "capture", "-w", str(lab.dir / "t"), "-b", "duration:1", "-a", "duration:3", "-s", "64")
    same("by time", len(glob.glob(str(lab.dir / "t_*"))) in (3, 4), True)
    live = lab.system(f"{lab.adverb} capture -q -w - --pid {client.pid} | {need_tool('tshark')} -n -l -r - -c 50 "
                      "-T fields -e infiniband.bth.opcode 2>/dev/null | head -50 | wc -l")
    same("live", int(live), 50)
    for words in (["-b", "files:3"], ["-w", ring, "-b", "files:3"], ["-w", "-", "-b", "filesize:1"],
                  ["-b", "size:3", "-w", ring], ["-a", "1"], ["-s", "3"], ["-B", "1000"], ["-Q", "up"],
                  ["--pid", "1", "--slot", "2"]):
        adverb(lab, "capture", *words, status=2)
    adverb(lab, "capture", "-w", "/nowhere/at/all", status=1)
    full = lab.start([lab.adverb, "capture", "-w", "/dev/full"], adverb=False)
    full.wait(30)
    same("a full disk is an error", (full.popen.returncode, "No space left" in full.output()), (1, True))
    same("still run", (server.running(), client.running()), (True, True))


@case("tap", "users", seconds=120)
def users(lab):
    """A user captures the user's own programs only, and not the system's connection manager."""
    env = as_nobody(lab)
    daemon = lab.start([lab.adverb.parent / "adverbd", "--system", "--foreground"], adverb=False)
    lab.wait_until(lambda: "adverbd runs for all" in lab.system(f"{lab.adverb} status || true"), 20,
                   "the system's adverbd")
    root = lab.start([lab.client("holder"), "5"])
    shutil.copy(lab.client("holder"), env["HOME"])
    other = lab.start([f"{env['HOME']}/holder", "3"], prefix=NOBODY, env=env)
    lab.wait_until(lambda: "ready" in root.output() and "ready" in other.output(), 30, "both are ready")

    def captured(*words, **how):
        process = lab.start([lab.adverb, "capture", "-a", "duration:2", *words], adverb=False, **how)
        process.wait(30)
        text = process.output()
        return (f"process {root.pid} (holder), slot 2: capturing" in text,
                f"process {other.pid} (holder), slot 3: capturing" in text, "adverbd: capturing" in text, text)
    same("the user's", captured(prefix=NOBODY, env=env)[:3], (False, True, False))
    same("root's", captured()[:3], (True, True, True))
    for words in (["--pid", str(root.pid)], ["--cm"]):
        seen = captured(*words, prefix=NOBODY, env=env)
        same(f"refused: {words}", (seen[:3], seen[3].count("it belongs to another user")), ((False, False, False), 1))
        adverb(lab, "capture", "-a", "duration:2", *words, status=1, prefix=NOBODY, env=env)
    daemon.kill()


@case("tap", "restart", seconds=120)
def restart(lab):
    """A capture survives the daemon's worker, and finds programs that start afterwards."""
    trace = Trace(lab)
    os.kill(json.loads(adverb(lab, "status", "--json"))["pid"], signal.SIGKILL)
    lab.wait_until(lambda: trace.process.output().count("adverbd: capturing") == 2, 30, "adverbd is captured again")
    server, client = perftest_pair(lab, "-s", "64")
    trace.captures(client)
    trace.captures(server)
    same("still runs", trace.process.running(), True)
    trace.process.kill()
