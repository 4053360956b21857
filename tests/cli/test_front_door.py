#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""Version, help texts and installed documentation agree.

usage: test_front_door.py ADVERB ADVERBD VERSION DOC_DIR BUILD
"""

import json
import pathlib
import re
import subprocess
import sys
import unittest

from limits import PATIENCE

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
ADVERB, ADVERBD, VERSION, DOC_DIR, BUILD = sys.argv[1:6]


def output_of(*command):
    done = subprocess.run(command, capture_output=True, text=True, check=True, timeout=PATIENCE)
    return done.stdout


def subcommands(*command):
    """Returns the names in the list of `COMMAND --help`; none if it has no list."""
    text = output_of(*command, "--help")
    listed = re.search(r"^(?:Commands|Planners):\n((?:  .+\n)+)", text, re.M)
    return re.findall(r"^  (\S+)", listed.group(1), re.M) if listed else []


def help_texts():
    """Returns {command: help text} of adverb and all its commands."""
    commands = [()] + [(c,) for c in subcommands(ADVERB)]
    commands += [(*c, sub) for c in commands[1:] for sub in subcommands(ADVERB, *c)]
    return {c: output_of(ADVERB, *c, "--help") for c in commands}


def installed_paths():
    """Returns {source: destination} of `meson install`."""
    text = (pathlib.Path(BUILD) / "meson-info" / "intro-installed.json").read_text()
    return {pathlib.Path(k).resolve(): pathlib.Path(v) for k, v in json.loads(text).items()}


class Version(unittest.TestCase):
    def test_both_programs_print_that_of_the_build(self):
        self.assertEqual(output_of(ADVERB, "--version"), f"adverb {VERSION}\n")
        self.assertEqual(output_of(ADVERBD, "--version"), f"adverbd {VERSION}\n")

    def test_no_source_states_it(self):
        for path in (ROOT / "src").rglob("*.[ch]"):
            self.assertNotIn(f'"{VERSION}', path.read_text(), path)

    def test_the_changelog_has_it(self):
        headings = re.findall(r"^## (\S+)", (ROOT / "CHANGELOG.md").read_text(), re.M)
        self.assertEqual(headings[:2], ["Unreleased", VERSION])


class Documentation(unittest.TestCase):
    def test_every_page_is_installed(self):
        installed = installed_paths()
        pages = sorted((ROOT / "docs").glob("*.md"))
        self.assertGreater(len(pages), 10)
        for page in pages:
            self.assertEqual(installed.get(page), pathlib.Path(DOC_DIR) / page.name)
        for page in (ROOT / "docs/man").glob("*.[1-8]"):
            self.assertIn(page, installed)

    def test_every_page_is_in_the_index(self):
        index = (ROOT / "docs/README.md").read_text()
        for page in (ROOT / "docs").glob("**/*.[m1-8]*"):
            if page.name != "README.md" and page.suffix in (".md", ".1", ".8"):
                self.assertIn(f"({page.relative_to(ROOT / 'docs')})", index)

    def test_help_names_installed_pages(self):
        destinations = list(installed_paths().values())
        named = 0
        for command, text in help_texts().items():
            self.assertNotRegex(text, r"(?<!/)docs/", command)
            for page in re.findall(re.escape(DOC_DIR) + r"/[\w./-]*\w", text):
                self.assertIn(pathlib.Path(page), destinations, command)
                named += 1
        self.assertGreaterEqual(named, 8)

    def test_the_manual_has_every_command(self):
        manual = (ROOT / "docs/man/adverb.1").read_text()
        for command in subcommands(ADVERB):
            self.assertRegex(manual, rf"(?m)^\.SS adverb {command}$")


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1], verbosity=2)
