# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""The environment of a case with the kernel as a peer: two sides, a capture, the kernel's counters."""

import collections
import dataclasses
import pathlib
import shutil
import signal

import guest as guest_module
import reports
import roce_pcap
from harness import Failure, Lab

HOST, PEER, INTERFACE = guest_module.HOST, guest_module.PEER, guest_module.INTERFACE
SERVERS = ("kernel", "adverb")

# Counters of rdma_rxe that only lost or rejected packets increase.
ERROR_COUNTERS = ("link_downed", "out_of_seq_request", "rcvd_seq_err", "retry_exceeded_err",
                  "retry_rnr_exceeded_err", "send_err")
# Counters that a slow machine increases: a side that was not scheduled in time gets retransmissions.
# rdma_rxe also retries when a timer expires that an earlier request started.
RETRY_COUNTERS = ("completer_retry_err", "duplicate_request", "rcvd_rnr_err", "send_rnr_err")
# Lines of the kernel's log that fail a case, except those about the port coming up and about perftest,
# which crashes if it connects too early (see perftest_pair()).
BAD_IN_LOG = ("rxe", "infiniband", "rdma", "RIP:", "BUG", "WARNING", "Call Trace")
HARMLESS_IN_LOG = ("set active", "loaded", "added eth0", "traps: ib_")


@dataclasses.dataclass
class Side:
    """One of the two peers: its addresses, and how to start programs there."""

    name: str
    address: dict
    start: object
    gid: dict = dataclasses.field(default_factory=dict)


class PeerLab(Lab):
    """A Lab with a second side, the kernel."""

    def __init__(self, build, directory, guest):
        super().__init__(build, directory)
        self.guest = guest
        self.mtu = 1500
        self.allowed = set()
        self.most = {}  # counter of trouble: its allowed increase
        self.disturbed = False
        self.faults = ""  # a fault plan of the programs on Adverb's side
        self.expect_packets = True
        self.expect_data = True  # on the connections, besides their beginning and end
        self.harmless_in_log = ()  # words of lines of the kernel's log that the case causes
        self.messages_each_way = 0  # wanted number of SENDs, for programs that ignore their statuses
        self.adverb_side = Side("adverb", HOST, self.start)
        self.kernel_side = Side("kernel", PEER, self.start_in_guest)

    def environment(self, extra=None):
        faults = {"ADVERB_FAULT": self.faults} if self.faults else {}
        return super().environment({**faults, **(extra or {})})

    def sides(self, serves):
        """Returns (server, client), with `serves` "kernel" or "adverb" as the server."""
        both = (self.kernel_side, self.adverb_side)
        return both if serves == "kernel" else both[::-1]

    def start_in_guest(self, argv):
        self.count += 1
        argv = [str(a) for a in argv]
        log = self.dir / f"{self.count:03d}-kernel-{pathlib.Path(argv[0]).name}.log"
        process = guest_module.GuestProcess(self.guest, argv, str(log))
        self.processes.append(process)
        return process

    def set_mtu(self, mtu, kernel=None):
        """Sets the Ethernet MTU of both sides (the kernel's to `kernel`, if given), and waits until the
        kernel's port follows."""
        self.mtu = mtu
        self.system(f"ip link set {INTERFACE} mtu {mtu}")
        self.guest.run(f"ip link set eth0 mtu {kernel or mtu}")

    def find_gids(self):
        """Finds the GID indices of both sides' addresses."""
        for side, text in ((self.adverb_side, self.run(["ibv_devinfo", "-v"])),
                           (self.kernel_side, self.guest.run("ibv_devinfo -v"))):
            table = reports.gid_table(text)
            for family, address in side.address.items():
                wanted = address if family == "6" else f"::ffff:{address}"
                index = next((i for i, gid in table.items() if gid == wanted), None)
                if index is None:
                    raise Failure(f"{side.name}: no GID for {address}:\n{text}")
                side.gid[family] = str(index)

    def wait_port(self, side, process, port):
        """Waits until a program listens on a TCP port."""
        if side is self.adverb_side:
            self.wait_listening(process, port)
        else:
            self.guest.wait_until(f"netstat -lnut | grep -q ':{port} '", 60,
                                  f"a program of the kernel listens on port {port}")

    def both_end(self, server, client, seconds=120):
        """Fails unless both programs succeed; returns (server's output, client's output)."""
        try:
            client_out = client.expect(0, seconds)
            server_out = server.expect(0, 60)
        except Failure as failure:
            server.kill()
            client.kill()
            raise Failure(f"{failure}\nserver was:\n{server.describe()}\nclient was:\n"
                          f"{client.describe()}") from None
        return server_out, client_out

    def disturb(self, netem, protocol=17):
        """Loses, duplicates or reorders packets of an IPv4 protocol (17: UDP) both ways by `tc netem`,
        until the end of the case, and allows the increase of rdma_rxe's counters that this causes. The
        queues are so long that they lose no other packet."""
        self.allowed |= {"out_of_seq_request", "rcvd_seq_err"}
        self.disturbed = True
        # by its path: the shell there has a tc of its own
        self.guest.run(
            "ip link show ifb0 >/dev/null 2>&1 || /sbin/ip link add ifb0 type ifb; ip link set ifb0 up; "
            "/sbin/tc qdisc add dev eth0 ingress && "
            f"/sbin/tc filter add dev eth0 parent ffff: protocol ip u32 match ip protocol {protocol} 0xff "
            "action mirred egress redirect dev ifb0 && "
            f"/sbin/tc qdisc add dev ifb0 root netem limit 20000 {netem} && "
            f"/sbin/tc qdisc add dev eth0 root netem limit 20000 {netem}")

    def lose_some(self):
        """The programs of Adverb's side lose one packet in a thousand, in each direction."""
        self.faults = "drop=0.1%"
        self.allowed |= {"out_of_seq_request", "rcvd_seq_err"}
        # rdma_rxe of Linux 6.1 registers memory a second time if it repeats a request before that
        self.harmless_in_log += ("rxe_reg_fast_mr",)

    def undisturb(self):
        """Ends what disturb() has begun."""
        if self.disturbed:
            self.guest.run("/sbin/tc qdisc del dev eth0 ingress; /sbin/tc qdisc del dev eth0 root; "
                           "/sbin/tc qdisc del dev ifb0 root", status=None)
        self.disturbed = False

    def finish(self):
        super().finish()
        self.undisturb()

    def tcp_pair(self, serves, server_argv, client_argv, port=18515, seconds=120):
        """Runs a server that listens on a TCP port, and its client; returns their outputs."""
        at_server, at_client = self.sides(serves)
        server = at_server.start(server_argv)
        self.wait_port(at_server, server, port)
        return self.both_end(server, at_client.start(client_argv), seconds)


    def wait_ids(self, side, process, seconds=60, state="LISTEN"):
        """Waits until a program listens at the connection manager (or has an id in `state`).

        Adverb's side reports only the number of ids, so it waits a moment more.
        """
        if side is self.kernel_side:
            self.guest.wait_until(f"rdma resource show cm_id | grep -q '{state}'", seconds,
                                  "an id at the connection manager of the kernel")
        else:
            def has_id():
                if not process.running():
                    raise Failure(f"ended instead of listening:\n{process.describe()}")
                return ", 0 ids," not in self.adverb_status()
            self.wait_until(has_id, seconds, "an id at adverbd's connection manager")
            self.system("sleep 2")

    def adverb_status(self):
        """Returns the connection manager's line of `adverb status`; without a daemon, one with no ids."""
        text = self.system(f"'{self.adverb}' status || true")
        return text if "connection manager:" in text else "connection manager: 0 programs, 0 ids,"

    def cm_pair(self, serves, server_argv, client_argv, seconds=120, state="LISTEN"):
        """Runs a server that listens at the connection manager, and its client; returns their outputs."""
        at_server, at_client = self.sides(serves)
        if at_server is self.kernel_side:  # a killed server needs time to exit
            self.guest.wait_until("! rdma resource show cm_id | grep -q LISTEN", 60, "nobody listens")
        server = at_server.start(server_argv)
        self.wait_ids(at_server, server, state=state)
        return self.both_end(server, at_client.start(client_argv), seconds)


# Opcodes of a SEND's last packet: RC and UD, last and only, with and without immediate data (table 38)
SEND_ENDS = {0x02, 0x03, 0x04, 0x05, 0x64, 0x65}


class Watch:
    """Capture, counters and kernel log of one case, from construction to judge()."""

    FILTER = "udp port 4791"
    DEVICE = "rxe"
    LENGTH = "10000"  # bytes of a packet that are captured

    def __init__(self, lab, tools):
        lab.guest.use_device(self.DEVICE)
        self.lab = lab
        self.tools = tools
        self.path = str(lab.dir / "roce.pcap")
        self.before = self.counters()
        self.log_before = lab.guest.kernel_log()
        self.process = lab.start([tools["tcpdump"], "-i", INTERFACE, "-s", self.LENGTH, "-B", "65536", "-Z", "root",
                                  "--immediate-mode", "-U", "-w", self.path, self.FILTER], adverb=False)
        lab.wait_until(lambda: "listening on" in self.process.output(), 30, "tcpdump listens")

    def counters(self):
        """Returns {name: value} of the counters of the kernel's device."""
        return self.lab.guest.counters()

    def judge(self):
        """Raises Failure if a packet is wrong or the kernel logged an error; returns a line of figures."""
        self.lab.system("sleep 0.3")
        self.process.popen.send_signal(signal.SIGINT)
        self.process.wait(30)
        packets = self.packets()
        moved = self.counters_moved()
        self.new_in_kernel_log()
        notes = [f"{len(packets)} packets"]
        notes += [f"{name} {count}" for name, count in sorted(moved.items())]
        return ", ".join(notes)

    def packets(self):
        """Returns all packets; each must have a right ICRC and not be malformed for tshark."""
        packets = list(roce_pcap.roce_packets(self.path))
        for packet in packets:
            if isinstance(packet, roce_pcap.CaptureError):
                raise Failure(str(packet))
            if packet.icrc_found != packet.icrc_right:
                raise Failure(f"frame {packet.frame}: opcode {packet.opcode:#04x}, wrong ICRC")
            if packet.ip_len > self.lab.mtu:
                raise Failure(f"frame {packet.frame}: an IP packet of {packet.ip_len} bytes")
        if self.lab.expect_packets and not packets:
            raise Failure("no packet went between the two sides")
        self.count_messages(packets)
        # layers after infiniband are tshark's guesses about payloads
        text = self.lab.run([self.tools["tshark"], "-n", "-r", self.path, "--disable-heuristic",
                             "rpcrdma_infiniband", "-Y", '_ws.malformed && !(frame.protocols matches "infiniband:")'],
                            adverb=False, seconds=300)
        frames = [line for line in text.splitlines() if line.split()[:1] and line.split()[0].isdigit()]
        if frames:
            raise Failure("malformed by tshark:\n" + "\n".join(frames[:10]))
        return packets

    def count_messages(self, packets):
        """Fails unless each way has the wanted number of SENDs, retransmitted packets counted once."""
        ends = {(p.src, p.dest_qpn, p.psn) for p in packets if p.opcode in SEND_ENDS}
        each = collections.Counter(src for src, _, _ in ends)
        wanted = self.lab.messages_each_way
        if wanted and (len(each) != 2 or min(each.values()) < wanted):
            raise Failure(f"messages by sender, of {wanted} each: {dict(each)}")

    def counters_moved(self):
        """Returns {name: increase} of rdma_rxe's counters of trouble; fails if one must not increase."""
        after = self.counters()
        moved = {name: after[name] - self.before[name] for name in ERROR_COUNTERS + RETRY_COUNTERS
                 if after.get(name) != self.before.get(name)}
        wrong = set(moved) - set(RETRY_COUNTERS) - self.lab.allowed
        wrong |= {name for name, most in self.lab.most.items() if moved.get(name, 0) > most}
        if wrong:
            raise Failure("counters of rdma_rxe: " + ", ".join(f"{n} {moved[n]}" for n in sorted(wrong)))
        return moved

    def new_in_kernel_log(self):
        old = collections.Counter(self.log_before.splitlines())
        new = [line for line in self.lab.guest.kernel_log().splitlines() if not old[line]]
        bad = [line for line in new if any(word in line for word in BAD_IN_LOG)
               and not any(word in line for word in (*HARMLESS_IN_LOG, *self.lab.harmless_in_log))]
        if bad:
            raise Failure("the kernel says:\n" + "\n".join(bad[:20]))


def find_tools(names):
    """Returns {name: path} of programs; fails if one is missing."""
    found = {name: shutil.which(name, path="/usr/sbin:/usr/bin:/sbin:/bin") for name in names}
    missing = [name for name, path in found.items() if not path]
    if missing:
        raise Failure(f"not installed: {' '.join(missing)} (see scripts/install-deps)")
    return found
