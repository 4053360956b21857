#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""`adverb plan`: results, both ways to write them, and what is said of wrong arguments.

usage: test_plan.py ADVERB
"""

import json
import os
import pathlib
import re
import shutil
import struct
import subprocess
import sys
import tempfile
import unittest

from limits import PATIENCE

ADVERB = sys.argv[1]
DOCS = pathlib.Path(__file__).resolve().parent.parent.parent / "docs" / "planners.md"


def plan(*args, stdin=None):
    """Runs `adverb plan`. Returns exit status, standard output and standard error."""
    done = subprocess.run([ADVERB, "plan", *args], capture_output=True, text=True, timeout=PATIENCE,
                          input=stdin)
    return done.returncode, done.stdout, done.stderr


def plan_json(*args, status=0, stdin=None):
    got, out, err = plan(*args, "--json", stdin=stdin)
    assert got == status, (got, err)
    return json.loads(out)


PCAP_HEAD = struct.pack("<IHHiIII", 0xa1b2c3d4, 2, 4, 0, 0, 65535, 1)


def tlv(kind, value):
    """Returns a TLV of LLDP (IEEE 802.1AB 8.4)."""
    return struct.pack(">H", kind << 9 | len(value)) + value


def lldp_frame(mac, willing, pfc):
    """Returns the LLDP frame of a port with ETS and PFC (IEEE 802.1Q D.2), as other equipment may send it."""
    address = mac.to_bytes(6, "big")
    oui = bytes.fromhex("0080c2")
    ets = bytes([willing << 7, 0x01, 0x23, 0x45, 0x67]) + bytes([0, 0, 0, 50, 50, 0, 0, 0]) + bytes([2] * 8)
    return (bytes.fromhex("0180c200000e") + address + bytes.fromhex("88cc") + tlv(1, b"\x04" + address)
            + tlv(2, b"\x03" + address) + tlv(3, struct.pack(">H", 120)) + tlv(127, oui + b"\x09" + ets)
            + tlv(127, oui + b"\x0b" + bytes([willing << 7 | 8, pfc])) + tlv(0, b""))


class Case(unittest.TestCase):
    def refused(self, part, *args):
        status, out, err = plan(*args)
        self.assertEqual((status, out), (2, ""), err)
        self.assertIn(part, err)

    def formulas_hold(self, result, *keys):
        """If a formula has only numbers and + - x /, its result equals the value."""
        for key in keys:
            text = re.sub(r"(?<=\d)( B frame| B MTU| m| Mb/s)\b", "", result[key]["formula"])
            text = re.sub(r" preamble and gap| quanta|, rounded up to cells| B\b", "", text)
            self.assertRegex(text, r"^[\d\s.()+x/-]+$", key)
            value = eval(text.replace("x", "*"))  # pylint: disable=eval-used
            self.assertLess(abs(value - result[key]["value"]), 1.0, (key, text))


class Planners(Case):
    def test_help_lists_them(self):
        status, out, _ = plan("--help")
        self.assertEqual(status, 0)
        for planner in ("headroom", "buffer", "ecn", "deadlock", "ets"):
            self.assertRegex(out, rf"(?m)^  {planner} ")
            self.assertEqual(plan(planner, "--help")[0], 0)

    def test_every_value_says_where_it_is_from(self):
        """A formula or a source, and most have both; the plan for a network counts only."""
        link = ("-s", "100Gb/s", "-c", "100m")
        for args in (("headroom", *link), ("headroom", *link, "--whole-frames", "--copper"),
                     ("buffer", "-b", "16MB", "-n", "32x100Gb/s@100m", "-p", "2"),
                     ("buffer", "-b", "16MB", "-n", "4x25Gb/s@1m", "-n", "8x100Gb/s@9m", "-p", "1"),
                     ("ecn", "-b", "32MB", "-n", "32", "-s", "100Gb/s", "--headroom", "74kB"),
                     ("ets", "-s", "100Gb/s", "-w", "3=50%", "-w", "0=50%", "--strict", "6")):
            for key, value in plan_json(*args).items():
                if isinstance(value, dict):
                    self.assertTrue(value.get("formula") or value.get("source"), (args, key))

    def test_writing_fails(self):
        """Exit status 1, and said, whichever planner and way to write."""
        for args in (("headroom", "-s", "100Gb/s", "-c", "1m"), ("ets", "-s", "1Gb/s", "--strict", "1"),
                     ("deadlock", "-"), ("ecn", "-b", "9MB", "-n", "9", "-s", "40Gb/s", "--headroom", "1kB"),
                     ("buffer", "-b", "16MB", "-n", "4x100Gb/s@1m", "-p", "1")):
            for json_too in ([], ["--json"]):
                with open("/dev/full", "w", encoding="ascii") as full:
                    done = subprocess.run([ADVERB, "plan", *args, *json_too], stdout=full,
                                          stderr=subprocess.PIPE, text=True, timeout=PATIENCE, check=False,
                                          input="host a b\nswitch s\nlink a s\nlink b s\n"
                                                "routing=shortest\n")
                self.assertEqual(done.returncode, 1, args)
                self.assertIn("No space left", done.stderr)

    def test_unknown(self):
        self.refused("'nothing' is not a planner", "nothing")
        self.refused("Usage", *())


class Headroom(Case):
    def test_formulas_are_the_values(self):
        r = plan_json("headroom", "-s", "100Gb/s", "-c", "100m", "-p", "2")
        self.assertEqual(r["planner"], "headroom")
        self.assertEqual(r["headroom"]["value"], 73852)
        self.assertEqual(r["headroom_port"]["value"], 2 * 73852)
        self.assertEqual(r["mlx5_headroom"]["value"], 76767)
        self.formulas_hold(r, "frame_ahead_bits", "pfc_frame_bits", "response_bits",
                           "frame_begun_bits", "reaction_bytes", "headroom", "headroom_port",
                           "xoff", "size", "mlx5_headroom")
        self.assertIn("annex O", r["headroom"]["source"])

    def test_text_has_the_same(self):
        status, out, _ = plan("headroom", "-s", "100Gb/s", "-c", "100m")
        self.assertEqual(status, 0)
        self.assertRegex(out, r"headroom of a priority +73\.852 kB +\(73852 B\)")

    def test_delay_and_length_are_one(self):
        by_length = plan_json("headroom", "-s", "25Gb/s", "-c", "300m")
        by_delay = plan_json("headroom", "-s", "25Gb/s", "-d", "1.5us")
        self.assertEqual(by_length["headroom"]["value"], by_delay["headroom"]["value"])
        self.assertNotIn("mlx5_headroom", by_delay)
        copper = plan_json("headroom", "-s", "25Gb/s", "-c", "300m", "--copper")
        self.assertEqual(copper["cable_bits"]["value"], 41670)

    def test_size(self):
        r = plan_json("headroom", "-s", "100Gb/s", "-c", "100m", "--size", "200kB")
        self.assertEqual(r["xoff"]["value"], 200000 - 73852)
        self.assertEqual(r["notes"], [])
        r = plan_json("headroom", "-s", "100Gb/s", "-c", "100m", "--size", "100kB")
        self.assertIn("runs dry", r["notes"][0])
        r = plan_json("headroom", "-s", "100Gb/s", "-c", "100m", "--size", "80kB", status=1)
        self.assertIn("Does not fit", r["notes"][0])

    def test_whole_frames(self):
        r = plan_json("headroom", "-s", "100Gb/s", "-c", "100m", "--whole-frames")
        self.assertEqual(r["headroom"]["value"], 73852 + 9238)
        self.formulas_hold(r, "headroom")

    def test_other_speeds_need_delays(self):
        self.refused("give --response", "headroom", "-s", "20Gb/s", "-c", "3m")
        for speed, bits in ("800Gb/s", 926720), ("3.2Tb/s", 3706880):
            r = plan_json("headroom", "-s", speed, "-c", "3m")
            self.assertEqual(r["response_bits"]["value"], bits)
            self.assertIn("assumed", r["response_bits"]["source"])
        r = plan_json("headroom", "-s", "800Gb/s", "-c", "3m", "--response", "1us",
                      "--interface", "500ns")
        self.assertEqual(r["response_bits"]["value"], 800000)

    def test_wrong_arguments(self):
        self.refused("--speed is needed", "headroom", "-c", "3m")
        self.refused("either --cable or --delay", "headroom", "-s", "100Gb/s")
        self.refused("either --cable or --delay", "headroom", "-s", "100Gb/s", "-c", "3m", "-d",
                     "1us")
        self.refused("--cable: '100' has no unit", "headroom", "-s", "100Gb/s", "-c", "100")
        self.refused("--mtu: '9KB': write kB", "headroom", "-s", "100Gb/s", "-c", "3m", "--mtu",
                     "9KB")
        self.refused("--priorities: 9 is not from 1 to 8", "headroom", "-s", "100Gb/s", "-c",
                     "3m", "-p", "9")
        self.refused("64 to 65600", "headroom", "-s", "100Gb/s", "-c", "3m", "--mtu", "1MB")
        self.refused("unexpected argument", "headroom", "-s", "100Gb/s", "-c", "3m", "x")
        self.refused("--cell: 4294967296B is more", "headroom", "-s", "100Gb/s", "-c", "3m",
                     "--cell", "4294967296B")
        self.refused("--small-packets: 200% is more than 1", "headroom", "-s", "100Gb/s", "-c",
                     "3m", "--small-packets", "200%")
        self.refused("10^12 bit times", "headroom", "-s", "100Gb/s", "-c", "3m", "--response",
                     "999999s")


PAPER = ("ecn", "-b", "12MB", "-n", "32", "-s", "40Gb/s", "--headroom", "22.4kB", "-p", "8",
         "--beta", "8", "--mtu", "1500B")


class Ecn(Case):
    def test_paper(self):
        """DCQCN, SIGCOMM 2015, section 4: 24.47 KB and 21.75 KB."""
        r = plan_json(*PAPER)
        self.assertEqual(r["t_pfc_static"]["value"], 24475)
        self.assertEqual(r["t_ecn"]["value"], 21755)
        self.assertEqual((r["k_min"]["value"], r["k_max"]["value"]), (5000, 200000))
        self.formulas_hold(r, "t_pfc_static", "t_ecn")

    def test_k_min_given(self):
        self.assertIn("ECN marks before", plan_json(*PAPER, "--k-min", "21754B")["notes"][0])
        r = plan_json(*PAPER, "--k-min", "21755B", status=1)
        self.assertIn("PFC may act before", r["notes"][0])
        self.assertEqual(r["k_min"]["value"], 21755)

    def test_k_min_chosen_is_below_the_bound(self):
        for beta in ("8", "1", "1/2", "1/8"):
            r = plan_json("ecn", "-b", "32MB", "-n", "32", "-s", "400Gb/s", "--headroom", "100kB",
                          "--beta", beta)
            self.assertLess(r["k_min"]["value"], r["t_ecn"]["value"])

    def test_nothing_does(self):
        r = plan_json(*PAPER[:-4], "--beta", "1/64", status=1)
        self.assertIn("No K_min is possible", r["notes"][0])

    def test_wrong_arguments(self):
        self.refused("are needed", "ecn", "-b", "12MB")
        self.refused("more than the buffer", "ecn", "-b", "1MB", "-n", "32", "-s", "40Gb/s",
                     "--headroom", "40kB")
        self.refused("--k-min: 9000 B is above --k-max, 8000 B", *PAPER,
                     "--k-min", "9kB", "--k-max", "8kB")
        self.refused("--k-max: 1 GB is more than the buffer, ", *PAPER, "--k-max", "1GB")
        self.refused("--p-max: 200% is more than 1", *PAPER, "--p-max", "200%")
        self.refused("--beta: '1/3'", *PAPER, "--beta", "1/3")


class Buffer(Case):
    def test_fits(self):
        r = plan_json("buffer", "-b", "16MB", "-n", "32x100Gb/s@100m", "-p", "2")
        self.assertEqual(r["headroom"]["value"], 32 * 2 * 73852)
        self.formulas_hold(r, "headroom_1", "reserved", "shared")
        for t in r["thresholds"]:
            self.assertLessEqual(abs(t["threshold"] - t["free"] / 8), t["queues"])
        self.assertEqual(r["thresholds"][-1]["queues"], 96)

    def test_headroom_is_that_of_the_other_planner(self):
        one = plan_json("headroom", "-s", "25Gb/s", "-c", "5m")["headroom"]["value"]
        r = plan_json("buffer", "-b", "16MB", "-n", "48x25Gb/s@5m", "-n", "8x100Gb/s@100m")
        self.assertEqual(r["headroom_1"]["value"], 48 * one)
        self.assertEqual(r["headroom"]["value"], 48 * one + 8 * 73852)

    def test_does_not_fit(self):
        r = plan_json("buffer", "-b", "4MB", "-n", "32x100Gb/s@100m", "-p", "2", status=1)
        self.assertIn("726529 B are missing", r["notes"][0])
        self.assertIn("1 lossless", r["notes"][0])

    def test_wrong_arguments(self):
        self.refused("--buffer and --ports are needed", "buffer", "-b", "4MB")
        for ports in ("32", "32x100Gb/s", "x@", "32@1mx1Gb/s", "ax1Gb/s@1m", "32x1G@1m",
                      "32x10Gb/s@1", "0x10Gb/s@1m", "5000x10Gb/s@1m", "32x10Gb/s@2000km"):
            self.refused("--ports", "buffer", "-b", "4MB", "-n", ports)
        self.refused("more than 16 times", "buffer", "-b", "4MB", *["-n", "1x10Gb/s@1m"] * 17)
        self.refused("give --headroom", "buffer", "-b", "4MB", "-n", "32x20Gb/s@1m")
        self.refused("64 to 65600", "buffer", "-b", "4MB", "-n", "32x10Gb/s@1m", "--mtu", "1B")


class Ets(Case):
    def test_water_filling(self):
        r = plan_json("ets", "-s", "100Gb/s", "-w", "0=50%", "-w", "3=30%", "-w", "4=20%", "-d",
                      "0=20Gb/s", "-d", "4=25Gb/s", "--strict", "7", "-d", "7=0b/s")
        gets = {c["class"]: c["gets"] for c in r["classes"]}
        self.assertEqual(gets, {7: 0, 4: 25 * 10**9, 3: 55 * 10**9, 0: 20 * 10**9})
        self.assertEqual(r["unused"]["value"], 0)

    def test_commands(self):
        """As dcb-ets(8), dcb-pfc(8) and dcb-app(8) have it."""
        r = plan_json("ets", "-s", "100Gb/s", "-w", "3=60%", "-w", "1=40%", "--strict", "6",
                      "--strict", "0", "--lossless", "3", "--dscp", "26=3", "--dscp", "48=6",
                      "--device", "eth0", "-d", "6=1Gb/s", "-d", "0=1Gb/s")
        self.assertEqual(r["commands"], [
            "dcb ets set dev eth0 willing off prio-tc all:1 0:0 1:1 3:3 6:6 tc-tsa all:strict "
            "1:ets 3:ets tc-bw all:0 1:40 3:60",
            "dcb pfc set dev eth0 prio-pfc all:off 3:on",
            "dcb app replace dev eth0 dscp-prio 26:3 48:6"])
        r = plan_json("ets", "-s", "100Gb/s", "-w", "3=60%", "-w", "0=40%", "--device", "eth0")
        self.assertEqual(len(r["commands"]), 2)
        r = plan_json("ets", "-s", "100Gb/s", "-w", "3=0.5%", "-w", "0=99.5%", "--device", "e")
        self.assertNotIn("commands", r)
        self.assertIn("whole percent", r["notes"][-1])
        ets = ("ets", "-s", "100Gb/s", "-w", "0=100%")
        self.refused("--dscp: '64=0'", *ets, "--dscp", "64=0")
        self.refused("--dscp: '0'", *ets, "--dscp", "0")
        self.refused("--dscp: 5 already has a class", *ets, "--dscp", "5=0", "--dscp", "5=0")
        self.refused("--dscp: class 1 has neither", *ets, "--dscp", "5=1")
        self.refused("--lossless: class 3 has neither", *ets, "--lossless", "3")
        self.refused("--device: 'a b'", *ets, "--device", "a b")

    def test_starving(self):
        r = plan_json("ets", "-s", "10Gb/s", "-w", "0=100%", "--strict", "5")
        self.assertIn("Class 0 starves", r["notes"][0])

    def test_wrong_arguments(self):
        self.refused("the shares are 50%: they must be 100% together", "ets", "-s", "10Gb/s",
                     "-w", "0=50%")
        self.refused("a class is needed", "ets", "-s", "10Gb/s")
        self.refused("--speed is needed", "ets", "-w", "0=100%")
        self.refused("--share: '8=50%'", "ets", "-s", "10Gb/s", "-w", "8=50%")
        self.refused("--share: '3=50' is more than 100%: write 3=50%", "ets", "-s", "10Gb/s", "-w", "3=50",
                     "-w", "0=50")
        self.refused("the shares are 150%", "ets", "-s", "10Gb/s", "-w", "3=50%", "-w", "0=100%")
        self.refused("--share: '0'", "ets", "-s", "10Gb/s", "-w", "0")
        self.refused("--strict: '6=1'", "ets", "-s", "10Gb/s", "--strict", "6=1")
        self.refused("class 0 already has a share", "ets", "-s", "10Gb/s", "-w", "0=50%", "--strict", "0")
        self.refused("neither --share nor", "ets", "-s", "10Gb/s", "-w", "0=100%", "-d", "1=1Gb/s")


RING = """host h1 h2 h3 h4
switch s1 s2 s3 s4
link h1 s1
link h2 s2
link h3 s3
link h4 s4
link s1 s2
link s2 s3
link s3 s4
link s4 s1
"""
CLOCKWISE = RING + """route h1 s1 s2 s3 h3
route h2 s2 s3 s4 h4
route h3 s3 s4 s1 h1
route h4 s4 s1 s2 h2
"""


SCENARIO = """
[network]
topology = leaf-spine
leaves = 2
spines = 2
hosts = 4
speed = 100Gb/s
cable = 10m
trunk-cable = 100m
[switch]
watchdog-poll = 100ms
[priority 3]
ecn-min = 100kB
ecn-max = 400kB
ecn-probability = 20%
[priority 4]
weight = 0
[map]
dscp = 10
priority = 3
[flow]
from = 0
to = 3
bytes = 1kB
"""


class Dcb(Case):
    def test_settings_of_a_scenario(self):
        p = plan_json("dcb", "-", stdin=SCENARIO)
        by_number = {row["priority"]: row for row in p["priorities"]}
        self.assertEqual(len(by_number), 8)
        self.assertEqual(by_number[3]["dscp"], "10,24-31")
        self.assertEqual(by_number[1]["dscp"], "8-9,11-15")
        self.assertEqual([n for n, row in by_number.items() if row["pfc"]], [3])
        self.assertEqual([n for n, row in by_number.items() if row["ecn"]], [3])
        self.assertEqual([n for n, row in by_number.items() if row["strict"]], [4, 6])
        self.assertEqual(sum(row["percent"] for row in by_number.values()), 100)
        ports = {row["to"]: row for row in p["ports"]}
        self.assertEqual((ports["hosts"]["count"], ports["hosts"]["cable"]), (8, 10000))
        self.assertEqual((ports["switch"]["count"], ports["switch"]["cable"]), (8, 100000))
        # the longer cable needs the bytes of 90 m more, there and back: 5 ns/m at 12.5 B/ns
        self.assertEqual(ports["switch"]["headroom"] - ports["hosts"]["headroom"], 2 * 90 * 5 * 12.5)

    def test_commands_are_those_of_dcb(self):
        """dcb(8) understands the commands: it gets as far as the interface, which has no DCB."""
        commands = plan_json("dcb", "-d", "lo", "-", stdin=SCENARIO)["linux"]
        self.assertIn("dcb pfc set dev lo prio-pfc 0:off 1:off 2:off 3:on 4:off 5:off 6:off 7:off", commands)
        self.assertIn("dcb app add dev lo dscp-prio 10:3 24:3 25:3 26:3 27:3 28:3 29:3 30:3 31:3", commands)
        self.assertIn(" tc-bw 0:10 1:10 2:10 3:50 4:0 5:10 6:0 7:10", commands[2])
        dcb = shutil.which("dcb", path=f"{os.environ['PATH']}:/usr/sbin:/sbin")
        for command in commands:
            if dcb and command.startswith("dcb "):
                done = subprocess.run([dcb, *command.split()[1:]], capture_output=True, text=True,
                                      timeout=PATIENCE, check=False)
                self.assertRegex(done.stderr, "not supported|not permitted|Permission denied", command)

    def test_nvidia(self):
        commands = plan_json("dcb", "-", stdin=SCENARIO)["nvidia"]
        self.assertEqual(commands[:3],
                         ["mlnx_qos -i eth0 --trust=dscp --pfc=0,0,0,1,0,0,0,0",
                          "mlnx_qos -i eth0 --prio_tc=0,1,2,3,4,5,6,7 "
                          "--tsa=ets,ets,ets,ets,strict,ets,strict,ets --tcbw=10,10,10,50,0,10,0,10",
                          "mlnx_qos -i eth0 --dscp2prio=set,10,3"])
        self.assertIn("echo 1 > /sys/class/net/eth0/ecn/roce_rp/enable/3", commands)
        self.assertEqual(len(commands), 5)

    def test_sonic(self):
        status, out, _ = plan("dcb", "--sonic", "-", stdin=SCENARIO)
        db = json.loads(out)
        self.assertEqual(status, 0)
        self.assertEqual(db["DSCP_TO_TC_MAP"]["ADVERB"]["10"], "3")
        self.assertEqual(db["PORT_QOS_MAP"]["Ethernet0"]["pfc_enable"], "3")
        self.assertEqual(db["SCHEDULER"]["scheduler.3"], {"type": "DWRR", "weight": "50"})
        self.assertEqual(db["SCHEDULER"]["scheduler.6"], {"type": "STRICT"})
        self.assertEqual(db["WRED_PROFILE"], {"ADVERB_3": {
            "ecn": "ecn_green", "wred_green_enable": "true", "green_min_threshold": "100000",
            "green_max_threshold": "400000", "green_drop_probability": "20"}})
        profile = db["BUFFER_PROFILE"]["pg_lossless_3_100000_100m"]
        self.assertEqual((profile["dynamic_th"], profile["xon_offset"]), ("-3", "8400"))
        self.assertEqual(db["PFC_WD"]["Ethernet0"]["detection_time"], "200")
        self.assertEqual(plan_json("dcb", "-", stdin=SCENARIO)["sonic"], db)

    def test_shares_are_100_percent(self):
        scenario = SCENARIO.replace("weight = 0", "weight = 7")
        self.assertEqual(sum(row["percent"] for row in plan_json("dcb", "-", stdin=scenario)["priorities"]), 100)

    def test_lldp_frame(self):
        """tshark reads the frame that a port sends, and the planner finds it as in the scenario."""
        with tempfile.TemporaryDirectory() as folder:
            capture, other = f"{folder}/lldp.pcap", f"{folder}/other.pcap"
            self.assertEqual(plan("dcb", "-w", capture, "-", stdin=SCENARIO), (0, "", ""))
            self.assertEqual(plan("dcb", "-c", capture, "-", stdin=SCENARIO),
                             (0, "Port 02:00:00:00:00:01:\n  As in the scenario.\n", ""))
            text = SCENARIO + "[priority 5]\nlossless = yes\n"
            self.assertEqual(plan("dcb", "-w", other, "-", stdin=text)[0], 0)
            got = plan_json("dcb", "-c", other, "-", stdin=SCENARIO, status=1)
            self.assertEqual([port["port"] for port in got["ports"]], ["02:00:00:00:00:01"])
            self.assertEqual(len(got["ports"][0]["differences"]), 1)
            self.assertIn("Priority 5 has PFC", got["ports"][0]["differences"][0])
            if not shutil.which("tshark"):
                self.skipTest("no tshark")
            done = subprocess.run(["tshark", "-V", "-r", capture], capture_output=True, text=True, check=True,
                                  timeout=PATIENCE)
            self.assertNotIn("Malformed", done.stdout)
            for line in ("Bandwidth for PGID 3: 50", "TSA for Traffic Class 6: Strict Priority (0)",
                         "Application Protocol Id: 0x12b7", "PFC for Priority 3: Enabled"):
                self.assertIn(line, done.stdout)

    def test_both_ends_of_a_cable(self):
        """Willing and unwilling ends that agree or differ, as a host's capture shows them. tshark reads them clean."""
        same, other = 1 << 3, 1 << 3 | 1 << 5
        for willing, enabled, words, remedies in (
                ((False, False), (same, same), "Nothing differs for good", 0),
                ((False, False), (same, other), "Neither end is willing and their PFC differs: priorities 5 have", 1),
                ((True, False), (other, same), "Port 02:00:00:00:00:01 is willing: it takes the PFC of the other end, "
                 "priorities 3", 0),
                ((False, True), (same, other), "Port 02:00:00:00:00:02 is willing: it takes the PFC of the other end, "
                 "priorities 3", 0),
                ((True, True), (same, other), "Both ends are willing and their PFC differs (priorities 5)", 1),
                ((True, True), (same, same), "Nothing differs for good", 0)):
            with tempfile.TemporaryDirectory() as folder:
                path = pathlib.Path(folder) / "cable.pcap"
                frames = [lldp_frame(2 ** 41 + 1 + end, willing[end], enabled[end]) for end in (0, 1)]
                path.write_bytes(PCAP_HEAD + b"".join(struct.pack("<IIII", 0, 0, len(f), len(f)) + f for f in frames))
                out = plan("dcb", "-c", str(path), "-", stdin=SCENARIO)[1]
                self.assertIn(words, out.partition("Both ends of the cable:\n")[2])
                got = plan_json("dcb", "-c", str(path), "-", stdin=SCENARIO, status=1)
                self.assertEqual(len(got["ports"]), 2)
                self.assertEqual([text for text in got["cable"] if "differs" in text] != [], remedies == 1, got)
                if shutil.which("tshark"):
                    done = subprocess.run(["tshark", "-V", "-r", str(path)], capture_output=True, text=True, check=True,
                                          timeout=PATIENCE)
                    self.assertNotIn("Malformed", done.stdout)
                    self.assertEqual(done.stdout.count("PFC for Priority 3: Enabled"), 2)

    def test_captures_without_lldp(self):
        with tempfile.TemporaryDirectory() as folder:
            path = pathlib.Path(folder) / "x.pcap"
            path.write_bytes(b"nonsense")
            self.assertEqual(plan("dcb", "-c", str(path), "-", stdin=SCENARIO)[0], 2)
            path.write_bytes(bytes.fromhex("d4c3b2a1020004000000000000000000ffff000001000000"))
            status, _, err = plan("dcb", "-c", str(path), "-", stdin=SCENARIO)
            self.assertEqual(status, 1)
            self.assertIn("no LLDP frame", err)
            self.assertEqual(plan("dcb", "-w", f"{folder}/no/such", "-", stdin=SCENARIO)[0], 2)

    def test_text(self):
        status, out, _ = plan("dcb", "-", stdin=SCENARIO)
        self.assertEqual(status, 0)
        self.assertIn("3  10,24-31          lossless      50 %  100 kB to 400 kB, 20 %\n", out)
        self.assertIn("  [ ] ip link set dev eth0 mtu 4188\n", out)

    def test_notes(self):
        lines = plan_json("dcb", "-", stdin=SCENARIO + "[priority 5]\nlossless = yes\nweight = 0\n")["notes"]
        self.assertTrue(any("is strict" in line for line in lines), lines)
        self.assertTrue(any("Priority 5 is lossless and not marked" in line for line in lines), lines)
        self.assertTrue(any("rounded" in line for line in lines), lines)

    def test_wrong_arguments(self):
        self.refused("a scenario is needed", "dcb")
        self.refused("unexpected argument", "dcb", "a", "b")
        self.refused("is not the name of an interface", "dcb", "-d", "eth0;reboot", "a")
        self.refused("No such file", "dcb", "/nonexistent.ini")
        self.refused("exclude each other", "dcb", "-s", "-c", "x", "a")
        status, _, err = plan("dcb", "-", stdin="[network]\ntopology = pair\n[flow]\nfrom=0\nto=1\nbytes=1B\n")
        self.assertEqual(status, 2)
        self.assertIn("no switch", err)
        weights = "".join(f"[priority {i}]\nweight = {w}\n" for i, w in ((0, 1), (1, 100), (2, 100), (5, 100)))
        status, _, err = plan("dcb", "-", stdin=SCENARIO + weights)
        self.assertEqual(status, 2)
        self.assertIn("less than 1 %", err)


class Deadlock(Case):
    def test_ring(self):
        r = plan_json("deadlock", "-", stdin=CLOCKWISE, status=1)
        self.assertEqual(r["cycle_length"]["value"], 4)
        self.assertEqual({d["buffer"]["switch"] for d in r["cycle"]}, {"s1", "s2", "s3", "s4"})
        for d, following in zip(r["cycle"], r["cycle"][1:] + r["cycle"][:1]):
            self.assertEqual(d["waits_for"], following["buffer"])
            self.assertEqual(len(d["flows"]), 1)
        self.assertEqual(len(r["turns"]), 1)
        self.assertIn("up-down routing", " ".join(r["notes"]))

    def test_text_names_it(self):
        status, out, _ = plan("deadlock", "-", stdin=CLOCKWISE)
        self.assertEqual(status, 1)
        self.assertIn("Deadlock is possible.", out)
        self.assertRegex(out, r"s2:p2 \(from s1\) +waits for +s3:p2 \(from s2\)\n"
                              r" +because of h1 -> h3 \(line 11\)")
        self.assertIn("route no flow through this turn", out)

    def test_way_out_is_one(self):
        """Without the flow of the reported turn, there is no cycle."""
        r = plan_json("deadlock", "-", stdin=CLOCKWISE, status=1)
        line = r["turns"][0]["flows"][0]["line"]
        lines = CLOCKWISE.splitlines()
        del lines[line - 1]
        self.assertEqual(plan_json("deadlock", "-", stdin="\n".join(lines))["cycle"], [])

    def test_updown(self):
        r = plan_json("deadlock", "-", stdin=RING + "routing = updown\n")
        self.assertEqual((r["cycle"], r["turns"]), ([], []))
        status, out, _ = plan("deadlock", "-", stdin=RING + "routing = updown\n")
        self.assertEqual(status, 0)
        self.assertIn("Deadlock is not possible.", out)

    def test_documentation_shows_what_is_printed(self):
        text = DOCS.read_text()
        ring = re.search(r"```text\n(# ring\.txt\n.*?)```", text, re.S).group(1)
        _, out, _ = plan("deadlock", "-", stdin=ring)
        self.assertIn("\n".join(f"    {line}".rstrip() for line in out.splitlines()), text)
        leaves, detours = re.findall(r"```text\n([^`]*)```\n(?=\n\| line|\nThe way out)", text)
        self.assertEqual(plan("deadlock", "-", stdin=leaves)[0], 0)
        r = plan_json("deadlock", "-", stdin=leaves + detours, status=1)
        self.assertEqual(r["cycle_length"]["value"], 4)

    def test_scenarios(self):
        """Of `adverb sim`: where it deadlocks, and where it does not."""
        folder = DOCS.parent.parent / "scenarios"
        r = plan_json("deadlock", str(folder / "ring-deadlock.ini"), status=1)
        self.assertEqual(r["cycle_length"]["value"], 4)
        self.assertEqual({d["buffer"]["switch"] for d in r["cycle"]}, {"s0", "s1", "s2", "s3"})
        self.assertIn("routes = up-down", " ".join(r["notes"]))
        for name in ("incast", "fat-tree", "victim", "unfairness"):
            self.assertEqual(plan_json("deadlock", str(folder / (name + ".ini")))["cycle"], [])
        with tempfile.NamedTemporaryFile("w", suffix=".ini") as f:
            f.write("[network]\ntopology = star\n")
            f.flush()
            self.refused(":2:", "deadlock", f.name)

    def test_wrong_files(self):
        status, out, err = plan("deadlock", "-", stdin=RING + "link s1 s9\n")
        self.assertEqual((status, out), (2, ""))
        self.assertEqual(err, "adverb plan deadlock: -:11: 's9' is not a host or switch of an "
                              "earlier line\n")
        status, _, err = plan("deadlock", "-", stdin=RING)
        self.assertIn("the text has no routes", err)
        self.refused("No such file", "deadlock", "/nonexistent")
        self.refused("Is a directory", "deadlock", "/")
        self.refused("a topology file is needed", "deadlock")
        self.refused("unexpected argument", "deadlock", "a", "b")


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1], verbosity=2)
