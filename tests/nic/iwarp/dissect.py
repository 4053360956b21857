#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""Wireshark's dissectors read captures of write_capture: each FPDU, no wrong CRC, marker, length or field.

usage: dissect.py WRITE_CAPTURE
"""

import os
import re
import shutil
import subprocess
import sys
import tempfile

WRONG = re.compile(r"Bad CRC32|Malformed|bad_length|Bad length|NOT set to zero|Expert Info.*(Error|Warn)", re.I)
OPERATIONS = {"Write (0x0)", "Read Request (0x1)", "Read Response (0x2)", "Send (0x3)", "Terminate (0x7)"}


def dissect(tshark, path):
    command = [tshark, "-n", "-r", path, "-o", "tcp.try_heuristic_first:TRUE", "--disable-heuristic",
               "rpcrdma_iwarp", "--disable-heuristic", "smb_direct_iwarp", "-V", "-Y", "iwarp_mpa || _ws.malformed"]
    return subprocess.run(command, check=True, capture_output=True, text=True, timeout=100).stdout


def check(tshark, program, folder, *options):
    path = os.path.join(folder, "iwarp.pcap")
    output = subprocess.run([program, path, *options], check=True, capture_output=True, text=True, timeout=100).stdout
    count, marker_count = map(int, output.split())
    text = dissect(tshark, path)
    fpdus = len(re.findall(r"^    FPDU$", text, re.M))
    good = len(re.findall(r"Good CRC32", text))
    markers = len(re.findall(r"FPDU back pointer", text))
    operations = set(re.findall(r"OpCode: (.*)$", text, re.M))
    wrong = [line.strip() for line in text.splitlines() if WRONG.search(line)]
    print(f"{' '.join(options) or 'plain'}: {fpdus} FPDUs of {count}, {good} CRCs, "
          f"{markers} markers of {marker_count}, {sorted(operations)}")
    if wrong or fpdus != count or operations != OPERATIONS:
        sys.exit("wrong: " + "; ".join(wrong[:10]))
    if good != (count if "crc" in options else 0) or markers != marker_count:
        sys.exit("CRCs or markers are not dissected")


def main():
    tshark = shutil.which("tshark")
    if not tshark:
        print("skipped: no tshark")
        sys.exit(77)
    with tempfile.TemporaryDirectory() as folder:
        for options in ((), ("crc",), ("markers",), ("crc", "markers")):
            check(tshark, sys.argv[1], folder, *options)


main()
