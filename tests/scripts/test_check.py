#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""scripts/check answers questions before it installs anything, and a step installs what it needs. No package is
installed here: the programs that would do it are replaced by ones that only write down what they are told."""

import os
import pathlib
import subprocess
import sys
import tempfile
import unittest

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
FAKES = {
    "dpkg-query": "exit 1",  # nothing is installed
    "apt-get": 'echo "$*" >>"$ASKED"; exit 1',
    "debconf-set-selections": 'echo "$*" >>"$ASKED"; exit 1',
    "sudo": 'shift; exec "$@"',
}

sys.path[:0] = [str(ROOT / "scripts")]
sys.dont_write_bytecode = True

import checks  # noqa: E402


def table():
    """Returns the lines of scripts/steps: name, options, needs, what."""
    lines = (ROOT / "scripts" / "steps").read_text().splitlines()
    return [line.split(None, 3) for line in lines if not line.startswith("#")]


def steps_of(option):
    return [name for name, options, _, _ in table() if option in options.split(",")]


class Check(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.TemporaryDirectory()
        self.addCleanup(self.folder.cleanup)
        place = pathlib.Path(self.folder.name)
        self.asked = place / "asked"
        for name, text in FAKES.items():
            (place / name).write_text(f"#!/bin/sh\n{text}\n")
            (place / name).chmod(0o755)

    def run_script(self, *command):
        environment = {"PATH": f"{self.folder.name}:/usr/bin:/bin:/usr/sbin:/sbin", "ASKED": str(self.asked), "LC_ALL": "C"}
        return subprocess.run([str(ROOT / "scripts" / command[0]), *command[1:]], env=environment, capture_output=True,
                              text=True, stdin=subprocess.DEVNULL, check=False, timeout=60, cwd="/")

    def packages(self, *names):
        return set(self.run_script("install-deps", "--list", *names).stdout.split())

    def test_help(self):
        for word in ("-h", "--help"):
            r = self.run_script("check", word)
            self.assertEqual((r.returncode, r.stderr), (0, ""))
            self.assertIn("Usage: scripts/check", r.stdout)
            for name, _, _, what in table():
                self.assertRegex(r.stdout, f"(?m)^  {name} +{what.split()[0]}")
        self.assertFalse(self.asked.exists())

    def test_list(self):
        for words, option in (([], "-"), (["--full"], "--full"), (["--quick"], "--quick"), (["--kernel"], "--kernel")):
            r = self.run_script("check", "--list", *words)
            self.assertEqual((r.returncode, r.stderr), (0, ""))
            self.assertEqual(r.stdout.split(), steps_of(option))
            self.assertTrue(steps_of(option))
        self.assertFalse(self.asked.exists())

    def test_wrong(self):
        for words in (["nonsense"], ["spdx", "nonsense"], ["--nonsense"]):
            r = self.run_script("check", *words)
            self.assertEqual((r.returncode, r.stdout), (2, ""))
            self.assertIn(f"no such step: {words[-1]}", r.stderr)
        self.assertEqual(self.run_script("install-deps", "nonsense").returncode, 2)
        self.assertFalse(self.asked.exists())

    def test_installs(self):
        """A step asks for its own packages, and ends if they cannot be installed."""
        r = self.run_script("check", "spdx", "man")
        self.assertEqual(r.returncode, 1)
        self.assertIn("failed: install-deps\n0 passed, 1 failed\n", r.stdout)
        self.assertIn("update", self.asked.read_text())
        self.assertEqual(self.packages("spdx", "man"), {"python3", "git", "groff-base"})

    def test_needs(self):
        """Every step has its needs, and a check without steps has those of all that it runs."""
        every = self.packages()
        for name, *_ in table():
            mine = self.packages(name)
            self.assertIn("python3", mine, name)
            if name in steps_of("--full") + steps_of("-") + steps_of("--quick"):
                self.assertLessEqual(mine, every, name)
        self.assertEqual(every, self.packages("check"))
        self.assertLessEqual(self.packages("demo"), every)
        self.assertFalse(self.packages("spdx") & self.packages("demo"))
        self.assertFalse({"chromium", "clang"} & (self.packages("coverage") | self.packages("instructions")))

    def test_changed(self):
        """Changed files choose the suites of their folders; no suite that takes long."""
        known = {"engine", "wire", "cm", "device", "verbs", "link", "scripts", "clients", "long", "daemon", "rdmacm",
                 "cli"}
        for files, suites in (([], []), (["docs/x.md", "README.md"], []), (["tests/clients/run"], []),
                              (["src/runtime/link/ring.c"], ["link"]), (["scripts/check"], ["scripts"]),
                              (["src/nic/queue/qp.c", "tests/runtime/link/test_ring.c"], ["cm", "engine", "link", "wire"]),
                              (["tests/runtime/control/test_control.c"], ["device", "verbs"]),
                              (["tests/common/netns.h"], ["device", "link", "rdmacm", "verbs"]),
                              (["src/runtime/ucma/id.c", "src/cli/plan/text.c"], ["cli", "daemon", "rdmacm"])):
            self.assertEqual(checks.suites_to_run(files, known), suites)

    def test_table(self):
        """scripts/steps and scripts/checks.py have the same steps in the same order."""
        self.assertEqual([name for name, *_ in table()], list(checks.STEPS))


if __name__ == "__main__":
    os.environ.pop("CI", None)
    unittest.main(verbosity=2)
