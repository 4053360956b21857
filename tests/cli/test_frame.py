#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""`adverb frame`: captures of the Linux kernel both ways, fields, and what is said of wrong ones.

usage: test_frame.py ADVERB CAPTURES
"""

import json
import os
import pathlib
import random
import re
import struct
import subprocess
import sys
import tempfile
import unittest
import zlib

from limits import PATIENCE

ADVERB = sys.argv[1]
CAPTURES = pathlib.Path(sys.argv[2]) if len(sys.argv) > 2 else (
    pathlib.Path(__file__).resolve().parent.parent / "data" / "captures")
# src/nic/wire's own test has the same numbers, counted by another program.
ROCE_FRAMES = 4296
# A program with a sanitizer takes long to start, so every fifth length is enough there.
STRIDE = 5 if "ASAN_OPTIONS" in os.environ else 1


def frame(*args, data=None):
    """Runs `adverb frame`. Returns exit status, standard output (bytes) and standard error."""
    done = subprocess.run([ADVERB, "frame", *args], capture_output=True, timeout=PATIENCE, input=data,
                          check=False)
    return done.returncode, done.stdout, done.stderr.decode()


def build(*fields):
    status, out, err = frame("build", *fields)
    assert status == 0, err
    return bytes.fromhex(out.decode())


def dissect(data, status=0):
    """Returns the only frame of dissect --json."""
    got, out, err = frame("dissect", "--json", "--hex", data.hex())
    assert got == status, (got, err)
    return json.loads(out)["frames"][0]


def packets(pcap):
    """Returns (seconds, bytes) of each record of a classic capture, little endian."""
    at = 24
    while at < len(pcap):
        _, _, captured, _ = struct.unpack_from("<IIII", pcap, at)
        yield pcap[at + 16:at + 16 + captured]
        at += 16 + captured


BASIC = ("src=192.0.2.1", "dst=192.0.2.2", "op=RC_SEND_ONLY", "dest-qp=0x12", "psn=7")


def roce_captures():
    """Returns the captures of RoCE; the others are of iWARP."""
    return [path for path in CAPTURES.glob("*.pcap") if "siw" not in path.name]


class Captures(unittest.TestCase):
    def test_rebuilt_to_the_same_bytes(self):
        total = 0
        files = sorted(roce_captures())
        self.assertGreaterEqual(len(files), 19)
        for path in files:
            status, lines, err = frame("dissect", "--fields", str(path))
            self.assertEqual((status, err), (0, ""), path)
            status, out, err = frame("build", "--input", "-", data=lines)
            self.assertEqual((status, err), (0, ""), path)
            built = [bytes.fromhex(line) for line in out.decode().splitlines()]
            wanted = [p for p in packets(path.read_bytes()) if p in set(built)]
            self.assertEqual(built, wanted, path)
            total += len(built)
        self.assertEqual(total, ROCE_FRAMES)

    def test_all_have_fields(self):
        """None falls back to raw bytes, none is damaged."""
        for path in sorted(roce_captures()):
            status, out, _ = frame("dissect", "--json", str(path))
            result = json.loads(out)
            self.assertEqual(status, 0, path)
            self.assertEqual(len(result["frames"]), result["sums"]["roce"])
            self.assertEqual(result["sums"]["damaged"], 0)
            for f in result["frames"]:
                self.assertIn("op", f)
                self.assertTrue(f["icrc_good"])

    def test_capture_out(self):
        """The written capture equals the capture that was read, except for its times."""
        path = CAPTURES / "rc-ipv6.pcap"
        with tempfile.TemporaryDirectory() as folder:
            out = pathlib.Path(folder) / "out.pcap"
            lines = frame("dissect", "-f", str(path))[1]
            self.assertEqual(frame("build", "-i", "-", "-w", str(out), data=lines)[0], 0)
            self.assertEqual(list(packets(out.read_bytes())), list(packets(path.read_bytes())))
            self.assertEqual(frame("dissect", "-f", str(out))[1], lines)

    def test_ways_to_say_a_frame(self):
        data = build(*BASIC)
        by_hex = frame("dissect", "-x", data.hex(":"))
        self.assertEqual(by_hex[0], 0)
        self.assertEqual(frame("dissect", "-", data=b"# one\n\n" + data.hex().encode()), by_hex)


def cooked(frame_bytes, link):
    """A frame as a capture of all interfaces has it, of link type LINUX_SLL (113) or SLL2 (276); 101: of an
    interface without Ethernet."""
    source, protocol, rest = frame_bytes[6:12], frame_bytes[12:14], frame_bytes[14:]
    if link == 101:
        return rest
    if link == 113:
        return struct.pack(">HHH", 4, 1, 6) + source + bytes(2) + protocol + rest
    return protocol + struct.pack(">HIHBB", 0, 7, 1, 4, 6) + source + bytes(2) + rest


class Cooked(unittest.TestCase):
    def test_as_of_ethernet(self):
        """The same fields, but for the destination's address, which is not there."""
        for path in sorted(roce_captures()):
            data = path.read_bytes()
            wanted = re.sub(rb"dmac=\S+", b"dmac=00:00:00:00:00:00",
                            frame("dissect", "-f", str(path))[1])
            for link in (113, 276, 101):
                classic, blocks = data[:20] + struct.pack("<I", link), section("<", link)
                for p in packets(data):
                    p = cooked(p, link)
                    classic += struct.pack("<IIII", 0, 0, len(p), len(p)) + p
                    blocks += packet("<", p)
                if link == 101:
                    wanted = re.sub(rb"smac=\S+", b"smac=00:00:00:00:00:00", wanted)
                for capture in (classic, blocks):
                    got = frame("dissect", "-f", "-", data=capture)
                    self.assertEqual(got, (0, wanted, ""), (path, link))

    def test_simple_blocks_of_ip(self):
        """The heads of these blocks are shorter than an Ethernet header."""
        data = build(*BASIC)[14:]
        capture = section("<", 101) + 3 * block("<", 3, struct.pack("<I", len(data)) + data)
        capture += block("<", 3, struct.pack("<I", 0))
        status, out, _ = frame("dissect", "-f", "-", data=capture)
        self.assertEqual((status, len(out.splitlines())), (0, 3))

    def test_cut_off(self):
        data = build(*BASIC)
        for link in (113, 276):
            for length in range(0, len(cooked(data, link)) - 1, STRIDE):
                capture = section("<", link) + packet("<", cooked(data, link)[:length], 0, 100)
                status, out, err = frame("dissect", "-f", "-", data=capture)
                self.assertEqual((status, out), (1, b""), (link, length, err))

    def test_no_address(self):
        """Of an interface whose addresses have another length."""
        p = cooked(build(*BASIC), 113)
        capture = section("<", 113) + packet("<", p[:5] + b"\x08" + p[6:])
        self.assertIn(b"smac=00:00:00:00:00:00 ", frame("dissect", "-f", "-", data=capture)[1])

    def test_other_links_are_refused(self):
        status, _, err = frame("dissect", "-", data=section("<", 12) + packet("<", b"x"))
        self.assertEqual(status, 2)
        self.assertIn("link type 12, not of Ethernet (1), RAW (101), LINUX_SLL (113)", err)


def block(order, kind, body):
    """Returns a block of a pcapng."""
    body += bytes(-len(body) % 4)
    length = struct.pack(order + "I", 12 + len(body))
    return struct.pack(order + "I", kind) + length + body + length


def section(order, link=1, longest=0):
    """Section header and an interface."""
    return (block(order, 0x0a0d0d0a, struct.pack(order + "IHHq", 0x1a2b3c4d, 1, 0, -1)) +
            block(order, 1, struct.pack(order + "HHI", link, 0, longest)))


def packet(order, data, interface=0, length=None):
    return block(order, 6, struct.pack(order + "IIIII", interface, 0, 0, len(data),
                                       len(data) if length is None else length) + data)


class Pcapng(unittest.TestCase):
    def test_both_orders_and_all_blocks(self):
        data, other = build(*BASIC), build(*BASIC, "payload=01")
        lines = b"".join(frame("dissect", "-f", "-x", d.hex())[1] for d in (data, other, other))
        capture = b""
        for order in "<>":
            capture += section(order) + block(order, 5, bytes(8)) + packet(order, data)
            capture += block(order, 3, struct.pack(order + "I", len(other)) + other)
            capture += section(order, longest=4096) + packet(order, other)
        self.assertEqual(frame("dissect", "-f", "-", data=capture), (0, 2 * lines, ""))

    def test_as_editcap_writes_it(self):
        """The same capture in both formats."""
        path = CAPTURES / "rc-verbs.pcap"
        with tempfile.TemporaryDirectory() as folder:
            out = pathlib.Path(folder) / "out.pcapng"
            try:
                subprocess.run(["editcap", "-F", "pcapng", path, out], check=True, timeout=PATIENCE)
            except FileNotFoundError:
                self.skipTest("no editcap")
            self.assertEqual(frame("dissect", "-f", str(out))[:2],
                             frame("dissect", "-f", str(path))[:2])

    def test_damaged(self):
        data = build(*BASIC)
        good = section("<") + packet("<", data)
        status, out, _ = frame("dissect", "-f", "-", data=good + packet("<", data[:-1], 0, 70))
        self.assertEqual((status, out.count(b"\n")), (1, 1))
        for bad, part in ((good[:-1], "damaged, at byte 48"),
                          (good + b"\0" * 4, "damaged"),
                          (good[:8] + b"abcd" + good[12:], "damaged, at byte 0"),
                          (packet("<", data), "no capture file"),
                          (section("<", link=105) + packet("<", data), "link type 105"),
                          (section("<") + packet("<", data, interface=1), "damaged"),
                          (section("<") + block("<", 6, bytes(16)), "damaged"),
                          (section("<") + block("<", 6, b"\0" * 12 + b"\xff" * 8), "damaged"),
                          (section("<") + block("<", 1, bytes(4)), "damaged"),
                          (section("<") + block("<", 1, bytes(8)) * 64, "damaged")):
            status, _, err = frame("dissect", "-f", "-", data=bad)
            if part == "no capture file":
                self.assertIn("expected two hexadecimal digits", err)
            else:
                self.assertIn(part, err)
            self.assertEqual(status, 2)


class Fields(unittest.TestCase):
    def test_basic(self):
        f = dissect(build(*BASIC, "payload=68656c6c6f", "dscp=26", "ecn=2", "ackreq=1"))
        for name, value in {"roce": 2, "src": "192.0.2.1", "dst": "192.0.2.2", "opcode": 4,
                            "op": "RC_SEND_ONLY", "dest-qp": 0x12, "psn": 7, "pad": 3,
                            "payload": "68656c6c6f", "dscp": 26, "ecn": 2, "ackreq": 1,
                            "pkey": 65535, "sport": 49152, "ttl": 64, "df": 1, "bytes": 66,
                            "icrc_good": True}.items():
            self.assertEqual(f[name], value, name)

    def test_every_opcode_and_kind(self):
        """Fields that are built to bytes and dissected again are the same."""
        status, _, err = frame("build", "src=1.1.1.1", "dst=1.1.1.2", "op=99")
        self.assertEqual(status, 2)
        self.assertIn("expected an opcode", err)
        for addresses in (("src=192.0.2.1", "dst=192.0.2.2"), ("src=2001:db8::1", "dst=::2"),
                          ("roce=1", "src=fe80::1", "dst=::ffff:10.0.0.1")):
            known = 0
            for opcode in range(256):
                status, out, _ = frame("build", *addresses, f"op={opcode}", "vlan=100", "pcp=3",
                                       "payload=0102")
                if status:
                    continue
                known += 1
                data = bytes.fromhex(out.decode())
                f = dissect(data)
                self.assertEqual((f["opcode"], f["vlan"], f["pcp"]), (opcode, 100, 3))
                words = frame("dissect", "-f", "-x", data.hex())[1].decode().split()
                self.assertEqual(build(*words), data)
            self.assertGreater(known, 50)

    def test_extended_headers(self):
        f = dissect(build(*BASIC[:2], "op=rc_write_only_with_imm", "va=0x123456789abcdef0",
                          "rkey=0xdead", "imm=0x01020304", "payload=00:01:02:03"))
        self.assertEqual((f["va"], f["rkey"], f["length"], f["imm"]),
                         (0x123456789abcdef0, 0xdead, 4, 0x01020304))
        f = dissect(build(*BASIC[:2], "op=RC_COMPARE_SWAP", "atomic-va=8", "atomic-rkey=9",
                          "swap-add=10", "compare=11"))
        self.assertEqual((f["atomic-va"], f["atomic-rkey"], f["swap-add"], f["compare"]),
                         (8, 9, 10, 11))
        status, out, _ = frame("dissect", "-x", build(*BASIC[:2], "op=RC_ACKNOWLEDGE",
                                                      "syndrome=0x62").hex())
        self.assertEqual(status, 0)
        self.assertIn(b"NAK: remote access error", out)

    def test_icrc_by_zlib(self):
        """Annexes A16 and A17: ones for what is missing or changes on the way, of all three kinds."""
        def ones(data, *places):
            data = bytearray(data)
            for at in places:
                data[at] = 0xff
            return bytes(data)

        for addresses, transport in ((BASIC[:2], 42), (("src=::1", "dst=::2", "flow=5"), 62),
                                     (("roce=1", "src=fe80::1", "dst=fe80::2", "flow=7"), 54)):
            data = build(*addresses, *BASIC[2:], "dscp=26", "ecn=1", "ttl=9", "payload=01020304")
            head, rest = data[14:transport], ones(data[transport:-4], 4)
            if transport == 42:  # ToS, TTL, header checksum, UDP checksum
                head = ones(head, 1, 8, 10, 11, 26, 27)
            else:  # traffic class, flow label, hop limit, UDP checksum
                head = ones(head, 1, 2, 3, 7, *((46, 47) if transport == 62 else ()))
                head = bytes([head[0] | 0xf]) + head[1:]
            crc = zlib.crc32(b"\xff" * 8 + head + rest)
            self.assertEqual(data[-4:], crc.to_bytes(4, "little"))

    def test_wrong_icrc(self):
        data = build(*BASIC, "icrc=0x01020304")
        self.assertEqual(data[-4:], bytes([4, 3, 2, 1]))
        f = dissect(data, status=1)
        self.assertFalse(f["icrc_good"])
        words = frame("dissect", "-f", "-x", data.hex())[1].decode()
        self.assertIn("icrc=0x01020304", words)
        good = build(*BASIC)
        for i in range(42, len(good), STRIDE):  # any byte of BTH and ICRC but the one that is masked
            bad = bytearray(good)
            bad[i] ^= 1
            if i != 46:
                self.assertEqual(frame("dissect", "-x", bytes(bad).hex())[0], 1, i)

    def test_what_has_no_fields(self):
        """Unknown opcodes, reserved bits: bytes, and the same bytes again."""
        transport = "5f00ffff0000000100000002" + "aabbccdd"
        data = build("src=::1", "dst=::2", f"transport={transport}")
        f = dissect(data)
        self.assertEqual(f["transport"], transport)
        self.assertNotIn("op", f)
        words = frame("dissect", "-f", "-x", data.hex())[1].decode().split()
        self.assertEqual(build(*words), data)
        padded = build(*BASIC, "trailer=0000000000")
        self.assertEqual(dissect(padded)["trailer"], "0000000000")

    def test_wrong_words(self):
        for words, part in (
                (BASIC[1:], "src is needed"),
                (BASIC[:2], "op is needed"),
                (("src=1.2.3.4", "dst=::1", "op=RC_SEND_ONLY"), "one is an IPv4 address"),
                (("roce=1", *BASIC), "RoCE v1 has GIDs"),
                (("roce=3", *BASIC), "roce: '3': expected 1 or 2"),
                ((*BASIC, "psn=8"), "psn: given twice"),
                ((*BASIC, "src=1.2.3.4"), "src: given twice"),
                ((*BASIC, "vlan=4096"), "vlan: '4096': expected a number from 0 to 4095"),
                ((*BASIC, "dscp=-1"), "dscp: '-1'"),
                ((*BASIC, "ttl="), "ttl: ''"),
                ((*BASIC, "flow=1"), "flow: this frame has no IPv6 header"),
                ((*BASIC, "va=1"), "va: this frame has no RETH"),
                ((*BASIC, "payload=1"), "two hexadecimal digits"),
                ((*BASIC, "payload=xy"), "two hexadecimal digits"),
                ((*BASIC, "payload=" + "00" * 65500), "more than an IP packet holds"),
                ((*BASIC, "dmac=1:2:3:4:5:6"), "an address such as"),
                ((*BASIC, "src"), "expected NAME=VALUE"),
                ((*BASIC, "colour=red"), "'colour': no such field"),
                ((*BASIC, "transport=00"), "replaces op"),
                (("src=::1", "dst=::2", "transport=00"), "12 bytes at least"),
                (("src=1.2.3", "dst=::2"), "an IPv4 or IPv6 address"),
                (("src=::1", "dst=::2", "op=SEND"), "expected an opcode"),
                ((), "either fields or --input")):
            status, out, err = frame("build", *words)
            self.assertEqual((status, out), (2, b""), words)
            self.assertIn(part, err)

    def test_lines_have_numbers(self):
        status, _, err = frame("build", "-i", "-", data=b"# first\n\nsrc=1.1.1.1\n")
        self.assertEqual((status, err), (2, "adverb frame build: -:3: dst is needed: an IPv4 or "
                                            "IPv6 address\n"))


# Our name of a field, and tshark's. It has no other names for the address and key of an AtomicETH.
OF_TSHARK = {"opcode": "bth.opcode", "se": "bth.se", "migreq": "bth.m", "pad": "bth.padcnt",
             "pkey": "bth.p_key", "dest-qp": "bth.destqp", "ackreq": "bth.a", "psn": "bth.psn",
             "qkey": "deth.q_key", "src-qp": "deth.srcqp", "va": "reth.va", "rkey": "reth.r_key",
             "length": "reth.dmalen", "atomic-va": "reth.va", "atomic-rkey": "reth.r_key",
             "swap-add": "atomiceth.swapdt", "compare": "atomiceth.cmpdt",
             "syndrome": "aeth.syndrome", "msn": "aeth.msn",
             "original": "atomicacketh.origremdt", "imm": "immdt", "inv-rkey": "ieth"}


class Wireshark(unittest.TestCase):
    """An independent dissector reads the written frames. They include RoCE v1, of which there is no capture."""

    BITS = {"dest-qp": 24, "psn": 24, "src-qp": 24, "msn": 24, "pkey": 16, "se": 1, "ackreq": 1,
            "migreq": 1, "syndrome": 8, "va": 64, "atomic-va": 64, "swap-add": 64, "compare": 64,
            "original": 64}

    def frames(self):
        """Lines for build, of every opcode of RC, UC and UD that tshark knows, with random fields."""
        rng = random.Random(7)
        unknown = {0x1c, 0x1d}  # FLUSH, ATOMIC WRITE: younger than tshark 4.0
        for addresses in ("src=192.0.2.1 dst=192.0.2.2", "src=2001:db8::1 dst=2001:db8::2",
                          "roce=1 src=fe80::1 dst=fe80::2"):
            for opcode in range(0x80):
                size = rng.randrange(1, 40)
                words = f"{addresses} op={opcode} payload={rng.randbytes(size).hex()}"
                if opcode & 0x1f in unknown or frame("build", *words.split())[0]:
                    continue
                known = dissect(build(*words.split()))
                for name in OF_TSHARK:
                    if name in known and name not in ("opcode", "pad"):
                        words += f" {name}={rng.getrandbits(self.BITS.get(name, 32))}"
                yield words

    def test_reads_the_same(self):
        lines = "\n".join(self.frames()).encode()
        names = sorted(set(OF_TSHARK.values()))
        with tempfile.TemporaryDirectory() as folder:
            path = pathlib.Path(folder) / "frames.pcap"
            self.assertEqual(frame("build", "-i", "-", "-w", str(path), data=lines)[0], 0)
            ours = json.loads(frame("dissect", "-j", str(path))[1])["frames"]
            command = ["tshark", "-r", str(path), "-T", "fields", "-E", "separator=/t"]
            for name in names:
                command += ["-e", "infiniband." + name]
            try:
                done = subprocess.run(command, capture_output=True, text=True, check=True,
                                      timeout=PATIENCE)
            except FileNotFoundError:
                self.skipTest("no tshark")
        theirs = done.stdout.splitlines()
        self.assertEqual(len(theirs), len(ours))
        self.assertGreater(len(ours), 90)
        for line, f in zip(theirs, ours):
            values = dict(zip(names, line.split("\t")))
            for ours_name, name in OF_TSHARK.items():
                if ours_name in f and name in values:
                    base = 16 if name in ("immdt", "ieth") else 0
                    value = values[name].split(",")[0]  # some it says twice
                    value = {"True": "1", "False": "0"}.get(value, value)  # as from 4.2 on
                    self.assertEqual(int(value, base), f[ours_name], (name, f))


class Damaged(unittest.TestCase):
    def test_captures(self):
        head = struct.pack("<IHHiIII", 0xa1b2c3d4, 2, 4, 0, 0, 65535, 1)
        record = struct.pack("<IIII", 0, 0, 60, 60)
        for data, part in ((head[:20], "no capture file"),
                           (head[:20] + b"\x69\0\0\0", "link type 105"),
                           (head + record, "cut off, or damaged, at byte 24"),
                           (head + record[:7], "at byte 24"),
                           (head + struct.pack("<IIII", 0, 0, 2**31, 60) + bytes(60), "damaged")):
            status, _, err = frame("dissect", "-", data=data)
            self.assertEqual(status, 2)
            self.assertIn(part, err)

    def test_big_endian_and_cut(self):
        data = build(*BASIC)
        head = struct.pack(">IHHiIII", 0xa1b2c3d4, 2, 4, 0, 0, 65535, 1)
        whole = head + struct.pack(">IIII", 0, 0, len(data), len(data)) + data
        self.assertEqual(frame("dissect", "-f", "-", data=whole)[0], 0)
        cut = head + struct.pack(">IIII", 0, 0, len(data) - 1, len(data)) + data[:-1]
        status, out, _ = frame("dissect", "-", data=cut)
        self.assertEqual(status, 1)
        self.assertIn(b"cut off by the capture", out)

    def test_bytes(self):
        data = build(*BASIC)
        for n in range(0, len(data), STRIDE):
            self.assertEqual(frame("dissect", "-x", data[:n].hex() or "00")[0], 1, n)
        self.assertEqual(frame("dissect", "-x", "0g")[0], 2)
        self.assertEqual(frame("dissect", "-", data=b"00\nxx\n")[0], 2)
        self.assertEqual(frame("dissect", "/nonexistent")[0], 2)
        self.assertEqual(frame("dissect")[0], 2)
        status, out, _ = frame("dissect", "-j", "-", data=b"")
        self.assertEqual((status, json.loads(out)["frames"]), (1, []))


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1], verbosity=2)
