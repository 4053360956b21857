# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""`adverb capture` of iWARP devices: the TCP segments that it makes, read by tshark and by tests/clients/iwarp_pcap.py."""

import re
import subprocess

import iwarp_pcap
from cases_cm import LINES
from cases_iwarp import IWARP, is_listening, perftest_pair
from cases_iwarp_options import WRONG
from cases_operator import adverb, res
from cases_sysfs import counters, same
from cases_tap import Trace
from harness import Failure, case, need_tool

PORT = 18515
CHECKS = ("-o", "tcp.check_checksum:TRUE", "-o", "ip.check_checksum:TRUE", "-o", "tcp.try_heuristic_first:TRUE",
          "--disable-heuristic", "rpcrdma_iwarp", "--disable-heuristic", "smb_direct_iwarp")
# What tshark says of a connection that lacks or repeats bytes.
BROKEN = "tcp.analysis.retransmission || tcp.analysis.lost_segment || tcp.analysis.ack_lost_segment || " \
         "tcp.analysis.out_of_order || tcp.checksum.status == 0 || ip.checksum.status == 0 || _ws.malformed"


def dissect(path, *words):
    return subprocess.run([need_tool("tshark"), "-n", "-r", path, *CHECKS, *words], check=True, capture_output=True,
                          text=True, timeout=300).stdout


def check_file(path, fpdus, crc):
    """Wireshark finds nothing wrong and all FPDUs; so does code that is not Wireshark's."""
    broken = dissect(path, "-Y", BROKEN)
    if broken:
        raise Failure(f"{len(broken.splitlines())} segments are wrong:\n{broken[:2000]}")
    text = dissect(path, "-V", "-Y", "iwarp_mpa")
    wrong = [line.strip() for line in text.splitlines() if WRONG.search(line)]
    if wrong:
        raise Failure(f"{wrong[:5]}")
    same("FPDUs of tshark and of the port", len(re.findall(r"^    FPDU$", text, re.M)), fpdus)
    read = [stream.fpdus(crc, False)[0] for pair in iwarp_pcap.streams(need_tool("tshark"), path, PORT)
            for stream in pair]
    same("FPDUs of the streams and of the port", sum(read), fpdus)


RUNS = [
    (["ib_send_lat", "-n", "200", "-s", "64"], "accept"),
    (["ib_send_lat", "-n", "50", "-s", "300"], "require"),
    (["ib_write_bw", "-n", "20", "-t", "16", "-s", "200003"], "accept"),
    (["ib_write_bw", "-n", "8", "-t", "8", "-s", "100000"], "require"),
    (["ib_read_bw", "-n", "20", "-t", "8", "-s", "200003"], "accept"),
    (["ib_send_bw", "-n", "20", "-t", "8", "-r", "64", "-s", "70001"], "require"),
]


@case("iwarp", "capture", seconds=300)
def capture(lab):
    """Captures of perftest from its first byte on: right in every byte, and complete."""
    for number, (words, crc) in enumerate(RUNS):
        before = counters(lab)["port_xmit_packets"]
        trace = Trace(lab, name=f"{number}.pcapng")
        words = [words[0], "-R", "-F", *words[1:]]
        perftest_pair(lab, words, env={"ADVERB_IWARP": f"crc={crc}"})
        path = trace.stop()
        check_file(path, counters(lab)["port_xmit_packets"] - before, crc == "require")


TEXT = r"^\d\d:\d\d:\d\d\.\d{9} rping\[%s\] %s tcp 127\.0\.0\.1\.\d+ > 127\.0\.0\.1\.\d+ qpn=0x[0-9a-f]{6} "


@case("iwarp", "capture-running", seconds=120)
def capture_running(lab):
    """A capture that begins in the middle of a connection begins with FPDUs; text, queue pairs, files of a ring."""
    words = ["-a", "127.0.0.1", "-S", "60000"]
    server = lab.start(["rping", "-s", *words], prefix=LINES, env=IWARP)
    lab.wait_until(lambda: is_listening(lab, 7174), 30, "a listener")
    client = lab.start(["rping", "-c", *words], prefix=LINES, env=IWARP)
    before = counters(lab)["port_xmit_data"]
    lab.wait_until(lambda: counters(lab)["port_xmit_data"] > before + (1 << 20), 30, "bytes sent")
    path, pid = str(lab.dir / "middle.pcapng"), str(client.pid)
    number = hex(res(lab, "qp", "--pid", pid)[0]["lqpn"])
    for choice in ([], ["-Q", "out"], ["--pid", pid], ["--qp", number], ["tcp src port 7174"]):
        adverb(lab, "capture", "-q", "-c", "300", "-w", path, *choice)
        check_middle(path, whole=choice != ["tcp src port 7174"])
    adverb(lab, "capture", "-q", "-c", "300", "-w", str(lab.dir / "ring.pcapng"), "-b", "filesize:500")
    files = sorted(lab.dir.glob("ring_*.pcapng"))
    for file in files:
        check_middle(str(file))
    if len(files) < 5:
        raise Failure(f"only {files}")
    text = adverb(lab, "capture", "-q", "-c", "20", "--pid", pid)
    for way, fpdu in (("out", r"READ_RESPONSE stag=0x[0-9a-f]+ to=0x0 length=\d+; bytes=\d+$"),
                      ("out", r"SEND queue=0 msn=\d+ mo=0 length=16; bytes=40$"),
                      ("in", r"READ_REQUEST queue=1 msn=\d+ mo=0 length=28; bytes=52$")):
        if not re.search(TEXT % (pid, way) + fpdu, text, re.M):
            raise Failure(f"no line {fpdu}:\n{text}")
    client.kill()
    server.kill()


def check_middle(path, whole=True):
    """tshark reads the FPDUs from the first byte on. whole: the filter leaves nothing out."""
    if whole and (broken := dissect(path, "-Y", BROKEN)):
        raise Failure(f"{len(broken.splitlines())} segments are wrong:\n{broken[:2000]}")
    text = dissect(path, "-V", "-Y", "iwarp_mpa")
    wrong = [line.strip() for line in text.splitlines() if WRONG.search(line) and (whole or "ACKed seg" not in line)]
    opcodes = set(re.findall(r"OpCode: (.*) \(0x", text))
    if wrong or not opcodes or not opcodes <= {"Send", "Read Request", "Read Response", "Write"}:
        raise Failure(f"{opcodes} {wrong[:5]}\n{text[:2000]}")
