#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""Tests the command `adverb check`: its options, exit status, processes, and other sanitizers.

usage: command.py ADVERB
"""

import contextlib
import os
import pathlib
import re
import socket
import subprocess
import sys
import tempfile
import unittest

HERE = pathlib.Path(__file__).resolve().parent
ADVERB = os.path.abspath(sys.argv.pop(1))
RULE = "unmapped-while-registered"


def check(*arguments):
    done = subprocess.run([ADVERB, "check", *map(str, arguments)], stdin=subprocess.DEVNULL,
                          stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, timeout=100,
                          env=dict(os.environ, ASAN_OPTIONS="detect_leaks=0"), check=False)
    return done.returncode, done.stdout


class Command(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.folder = tempfile.TemporaryDirectory()
        cls.program = cls.compile("program")

    @classmethod
    def tearDownClass(cls):
        cls.folder.cleanup()

    @classmethod
    def compile(cls, name, *flags, source="memory/freed_registered.c"):
        path = pathlib.Path(cls.folder.name) / name
        subprocess.run(["cc", "-g", *flags, "-o", path, source, "lab.c", "-libverbs", "-lpthread"],
                       cwd=HERE.parent / "rules", check=True)
        return path

    def test_each_rule_has_a_section(self):
        listed = re.findall(r"^([a-z-]+) +(?:error|warning|leak|advice) ", check("--list-rules")[1], re.M)
        page = (HERE.parents[2] / "docs/check.md").read_text()
        self.assertGreater(len(listed), 40)
        self.assertEqual([r for r in listed if f"\n### {r}\n" not in page], [])

    def test_exit_status(self):
        self.assertEqual(check(self.program)[0], 0)
        self.assertEqual(check("--exit-code", 7, self.program)[0], 7)
        self.assertEqual(check("--exit-code", 7, "sh", "-c", "exit 3")[0], 3)
        self.assertEqual(check("sh", "-c", "kill -9 $$")[0], 128 + 9)
        self.assertEqual(check("/nowhere/at/all")[0], 127)

    def test_leaks_alone_are_no_failure(self):
        """Most small programs leave objects to the end of the process."""
        program = self.compile("leak", source="lifetime/leak_mr.c")
        status, output = check("--exit-code", 7, program)
        self.assertIn("adverb check: leak:", output)
        self.assertIn("findings: 1", output)
        self.assertEqual(status, 0, output)
        self.assertEqual(check("--exit-code", 7, "--leaks", program)[0], 7)
        self.assertEqual(check("--exit-code", 7, "sh", "-c", f"{program}; {self.program}")[0], 7)

    def test_all_processes(self):
        _, output = check("sh", "-c", f"{self.program} & {self.program} & wait")
        self.assertEqual(output.count(f"adverb check: {RULE}:"), 2, output)

    def test_a_finding_is_one_write(self):
        """So the output of the program does not appear within it. A packet of the socket is a write."""
        ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        with ours, theirs:
            subprocess.run([ADVERB, "check", self.program], stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
                           stderr=theirs, timeout=100, check=True)
            ours.setblocking(False)
            with contextlib.suppress(BlockingIOError):
                while not (packet := ours.recv(1 << 16)).startswith(f"adverb check: {RULE}:".encode()):
                    pass
            self.assertTrue(packet.endswith(f"/check.md#{RULE}\n\n".encode()), packet)

    def test_suppressions(self):
        file = pathlib.Path(self.folder.name) / "suppressions"
        file.write_text("unmapped-* main\n")
        status, output = check("--exit-code", 7, "--suppressions", file, self.program)
        self.assertIn("findings: 0, suppressed: 1", output)
        self.assertEqual(status, 0)
        file.write_text("no-such-rule main\n")
        self.assertEqual(check("--suppressions", file, self.program)[0], 125)

    def test_without_debug_information(self):
        _, output = check(self.compile("stripped", "-s"))
        self.assertRegex(output, rf"adverb check: {RULE}:[^#]*#0 \S+/stripped\+0x")

    def test_refused_calls_say_why(self):
        program = self.compile("refused", source="connection/port_number.c")
        self.assertIn("warn: ibv_modify_qp(", check(program)[1])
        self.assertNotIn("warn: ", check("env", "ADVERB_LOG=error", program)[1])
        self.assertNotIn("warn: ", check("--", ADVERB, "run", "--log", "error", program)[1])

    def test_torn_payloads(self):
        torn = ("--", ADVERB, "run", "--fault", "tear=50ms queue=recv")
        wrong = self.compile("polled", source="write_polled.c")
        mended = self.compile("notified", "-DMENDED=1", source="write_polled.c")
        self.assertEqual(check(wrong)[0], 0)
        self.assertEqual(check(*torn, wrong)[0], 3)
        status, output = check(*torn, mended)
        self.assertEqual(status, 0, output)
        self.assertIn("findings: 0", output)

    def test_memory_is_bounded_by_outstanding_work(self):
        _, output = check(self.compile("steady", source="steady.c"))
        self.assertIn("findings: 0", output)
        self.assertLess(int(re.search(r"^growth: (-?\d+)$", output, re.M)[1]), 4096)

    def test_address_sanitizer(self):
        status, output = check(self.compile("asan", "-fsanitize=address"))
        self.assertEqual(status, 0, output)
        self.assertIn(f"adverb check: {RULE}:", output)


if __name__ == "__main__":
    unittest.main()
