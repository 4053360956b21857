# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""The environment of a case with the kernel's siw as a peer: iWARP on both sides."""

import re

import peer_lab
from harness import Failure

# Lines of tshark's view of the start-up frames and FPDUs that no case may cause.
WRONG = re.compile(r"Bad CRC32|Malformed|bad_length|Bad length|NOT set to zero", re.IGNORECASE)
DEFAULTS = {"mpa_crc_required": 0, "mpa_crc_strict": 0, "peer_to_peer": 0, "zcopy_tx": 1, "mpa_version": 2}


def is_iwarp(case):
    return case.startswith("iwarp")


class IwarpLab(peer_lab.PeerLab):
    """A PeerLab whose programs have iWARP devices."""

    options = ""  # of Adverb's side
    crc = None  # whether all FPDUs have a CRC, or none; None: not checked

    def environment(self, extra=None):
        return super().environment({"ADVERB_TRANSPORT": "iwarp", "ADVERB_IWARP": self.options, **(extra or {})})

    def set_siw(self, **values):
        """Sets parameters of siw, until the end of the case."""
        self.guest.run("; ".join(f"echo {value} >/sys/module/siw/parameters/{name}"
                                 for name, value in values.items()))


    def delay_connections(self, port, seconds):
        """Delays the requests for TCP connections to a port, both ways, until undisturb()."""
        self.disturbed = True
        syn = f"protocol ip u32 match ip protocol 6 0xff match ip dport {port} 0xffff match u8 0x02 0x12 at 33"
        netem = f"netem delay {seconds}s"
        self.guest.run(
            "ip link show ifb0 >/dev/null 2>&1 || /sbin/ip link add ifb0 type ifb; ip link set ifb0 up; "
            f"/sbin/tc qdisc add dev eth0 root handle 1: prio priomap {'0 ' * 16}&& "
            f"/sbin/tc qdisc add dev eth0 parent 1:3 {netem} && "
            f"/sbin/tc filter add dev eth0 parent 1: {syn} flowid 1:3 && "
            "/sbin/tc qdisc add dev eth0 ingress && "
            f"/sbin/tc filter add dev eth0 parent ffff: {syn} action mirred egress redirect dev ifb0 && "
            f"/sbin/tc qdisc add dev ifb0 root {netem}")


class Watch(peer_lab.Watch):
    """Capture and kernel log of one case. siw has no counters."""

    FILTER = "tcp and not port 80"
    DEVICE = "siw"
    LENGTH = "100000"  # before the interface cuts them into segments

    def __init__(self, lab, tools):
        super().__init__(lab, tools)
        lab.set_siw(**DEFAULTS)

    def counters(self):
        return {}

    def packets(self):
        """Fails if tshark finds a start-up frame or an FPDU of either side wrong; returns the FPDUs' lines."""
        text = self.lab.run([self.tools["tshark"], "-n", "-r", self.path, "-o", "tcp.try_heuristic_first:TRUE",
                             "--disable-heuristic", "rpcrdma_iwarp", "--disable-heuristic", "smb_direct_iwarp",
                             "-O", "iwarp_mpa,iwarp_ddp_rdmap", "-Y", "iwarp_mpa"], adverb=False, seconds=300)
        wrong = [line.strip() for line in text.splitlines() if WRONG.search(line)]
        if wrong:
            raise Failure("tshark says:\n" + "\n".join(wrong[:10]))
        fpdus = re.findall(r"^    FPDU$", text, re.MULTILINE)
        if self.lab.expect_data and ("ID Req frame" not in text or not fpdus):
            raise Failure("no start-up frame or no FPDU of iWARP went between the two sides")
        good = len(re.findall(r"Good CRC32", text))
        if self.lab.crc is not None and good != (len(fpdus) if self.lab.crc else 0):
            raise Failure(f"{good} of {len(fpdus)} FPDUs have a CRC")
        return fpdus
