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

    def environment(self, extra=None):
        return super().environment({"ADVERB_TRANSPORT": "iwarp", **(extra or {})})

    def set_siw(self, **values):
        """Sets parameters of siw, until the end of the case."""
        self.guest.run("; ".join(f"echo {value} >/sys/module/siw/parameters/{name}"
                                 for name, value in values.items()))


class Watch(peer_lab.Watch):
    """Capture and kernel log of one case. siw has no counters."""

    FILTER = "tcp and not port 80"
    DEVICE = "siw"

    def __init__(self, lab, tools):
        super().__init__(lab, tools)
        lab.set_siw(**DEFAULTS)

    def counters(self):
        return {}

    def packets(self):
        """Fails if tshark finds a start-up frame or an FPDU of either side wrong; returns the FPDUs' lines."""
        text = self.lab.run([self.tools["tshark"], "-n", "-r", self.path, "-o", "tcp.try_heuristic_first:TRUE",
                             "-O", "iwarp_mpa,iwarp_ddp_rdmap", "-Y", "iwarp_mpa"], adverb=False, seconds=300)
        wrong = [line.strip() for line in text.splitlines() if WRONG.search(line)]
        if wrong:
            raise Failure("tshark says:\n" + "\n".join(wrong[:10]))
        fpdus = re.findall(r"^iWARP Marker Protocol.*FPDU", text, re.MULTILINE)
        if self.lab.expect_packets and "ID Req frame" not in text:
            raise Failure("no start-up frame of iWARP went between the two sides")
        return fpdus
