#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""Every option that takes a size reads the same units, and the help text names what it takes.

usage: test_sizes.py ADVERB
"""

import os
import re
import subprocess
import sys
import tempfile
import unittest

from limits import PATIENCE

ADVERB = sys.argv.pop(1)
USAGE = 2  # exit status of a wrong argument
NVME_HOST = "nvme bench --traddr 127.0.0.1 --nqn nqn.2026-01.test:disk"
# A command with a size as its last argument, a size that it takes in bytes, and one in kibibytes.
OPTIONS = [
    ("capture --pid 1 --snaplen", "1024", 1),
    ("capture --pid 1 --buffer-size", "2", 2048),
    ("capture --pid 1 -w /dev/null -b filesize:", "100", 2048),
    ("fabric capture s999:999 -w - --snaplen", "1024", 1),
    ("gateway nfs --to 127.0.0.1 --buffers", "16777216", 16384),
    ("gateway smb --to 127.0.0.1 --buffers", "16777216", 16384),
    ("nvme serve --buffers", "16777216", 16384),
    ("nvme serve --block-size", "4096", 4),
    (f"{NVME_HOST} --block-size", "4096", 4),
    (f"{NVME_HOST} --offset", "4096", 4),
    (f"{NVME_HOST} --size", "4096", 4),
]


class Sizes(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.TemporaryDirectory()
        self.addCleanup(self.folder.cleanup)

    def run_adverb(self, command, size):
        """Runs a command that ends early, also if others use RDMA: there is no such process, port or program."""
        words = (command + ("" if command.endswith(":") else " ") + size).split()
        if words[:2] == ["nvme", "serve"]:
            words += ["-n", "ram:1M"]
        return subprocess.run([ADVERB, *words], capture_output=True, text=True, timeout=PATIENCE,
                              env={**os.environ, "ADVERB_DAEMON": os.path.join(self.folder.name, "adverbd")})

    def test_units(self):
        for command, plain, kib in OPTIONS:
            for size in (plain, f"{kib}K", f"{kib}k", f"{kib}KiB", f"{kib * 1024}B"):
                done = self.run_adverb(command, size)
                self.assertEqual(done.returncode, 1, f"{command} {size}: {done}")
            for size in (f"{kib}KB", f"{kib}Q", f"{kib}m", "", "0.0001", "-1"):
                done = self.run_adverb(command, size)
                self.assertEqual(done.returncode, USAGE, f"{command} {size}: {done}")

    def test_plan_and_sim(self):
        def plan(size):
            done = subprocess.run([ADVERB, "plan", "buffer", "-b", size, "-n", "32x100Gb/s@100m", "--json"],
                                  capture_output=True, text=True, timeout=PATIENCE)
            self.assertNotEqual(done.returncode, USAGE, done)
            return done.stdout
        self.assertEqual(plan("16M"), plan("16MiB"))
        self.assertEqual(plan("0.5G"), plan("512M"))
        self.assertNotEqual(plan("16M"), plan("16MB"))

    def test_limits_have_units(self):
        for words, wanted in (("gateway nfs --to 127.0.0.1 --timeout 0", "'0' is not from 10ms to 86400s"),
                              ("nvme serve --namespace ram:1M --buffers 1K", "'1K' is not from 4MiB to 4294967295B"),
                              ("capture --pid 1 -B 1K", "'1K' is not from ")):
            done = subprocess.run([ADVERB, *words.split()], capture_output=True, text=True, timeout=PATIENCE)
            self.assertEqual(done.returncode, USAGE, done)
            self.assertIn(wanted, done.stderr)
            self.assertNotRegex(done.stderr, r"from \d+\b[^A-Za-z]")

    def test_all_options_with_a_size_are_listed(self):
        listed = {" ".join(w for w in c.split()) for c, _, _ in OPTIONS}
        for command in ("capture", "fabric capture", "gateway nfs", "gateway smb", "nvme serve", "nvme bench"):
            text = subprocess.run([ADVERB, *command.split(), "--help"], capture_output=True, text=True,
                                  timeout=PATIENCE, check=True).stdout
            for option in re.findall(r"(--[a-z-]+)=SIZE", text):
                self.assertTrue(any(c.startswith(command) and c.endswith(option) for c in listed), f"{command} {option}")


if __name__ == "__main__":
    unittest.main()
