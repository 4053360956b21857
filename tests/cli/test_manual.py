#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""The manual pages have the options of the help texts, which argp makes from its tables.

usage: test_manual.py ADVERB ADVERBD
"""

import pathlib
import re
import subprocess
import sys
import unittest

from limits import PATIENCE

PAGES = pathlib.Path(__file__).resolve().parent.parent.parent / "docs/man"
ADVERB, ADVERBD = sys.argv[1:3]
OF_EVERY_COMMAND = {"--help", "--usage", "--version"}
# Their sections name the important options, and refer to the help texts for the others.
IN_PART = {"plan"}


def help_of(*command):
    done = subprocess.run([*command, "--help"], capture_output=True, text=True, check=True, timeout=PATIENCE)
    return done.stdout


def commands_in(text):
    """Returns the names in the list of a help text; none if it has no list."""
    listed = re.search(r"^(?:Commands|Planners):\n((?:  .+\n)+)", text, re.M)
    return re.findall(r"^  (\S+)", listed.group(1), re.M) if listed else []


def options_in_help(text):
    """Returns {option: letter, "" if it has none} of a help text."""
    found = re.findall(r"^  (?:-(\S), |    )(--[a-z][a-z-]*)", text, re.M)
    return {option: letter for letter, option in found if option not in OF_EVERY_COMMAND}


def options_of(command):
    """Returns the options of a command and of its own commands."""
    text = help_of(ADVERB, command)
    found = options_in_help(text)
    for own in commands_in(text):
        found |= options_in_help(help_of(ADVERB, command, own))
    return found


class Page:
    def __init__(self, name):
        self.text = (PAGES / name).read_text().replace("\\-", "-")

    def section(self, heading):
        """Returns the text below a heading, up to the next."""
        return re.search(rf"(?m)^\.S[SH] {heading}\n(?P<text>(?:(?!\.S[SH] ).*\n)*)", self.text)["text"]

    def synopsis(self, command):
        """Returns the part of the synopsis of one command."""
        parts = self.section("SYNOPSIS").split(".br\n")
        return "".join(p for p in parts if re.match(rf"\.B adverb {command}\b", p))


def letters_in(text):
    """Returns {option: letter} of the tags that name both, such as -l, --log."""
    return {option: letter for letter, option in re.findall(r'-(\S) ", " (--[a-z][a-z-]*)', text)}


def options_in(text):
    # Not those of other programs such as --path.sysfs.
    return set(re.findall(r"--[a-z][a-z-]*\b(?!\.\w)", text)) - OF_EVERY_COMMAND


class Manual(unittest.TestCase):
    def check_letters(self, text, options, where):
        for option, letter in letters_in(text).items():
            if option not in OF_EVERY_COMMAND:
                self.assertEqual(letter, options[option], f"{where}: {option}")

    def test_sections_of_commands(self):
        page, seen = Page("adverb.1"), 0
        for command in commands_in(help_of(ADVERB)):
            options = options_of(command)
            # Lines that name another command, with its options, are checked below.
            text = re.sub(rf"(?m)^\.\w+ \"?adverb (?!{command}\b).*$", "", page.section(f"adverb {command}"))
            named = options_in(text + page.synopsis(command))
            self.assertLessEqual(named, options.keys(), f"adverb {command}: no such option")
            if command not in IN_PART:
                self.assertLessEqual(options.keys(), named, f"adverb {command}: not in the page")
            self.check_letters(text, options, f"adverb {command}")
            seen += len(named)
        self.assertGreater(seen, 80)
        self.assertGreater(len(letters_in(page.text)), 30)

    def test_commands_with_options(self):
        """Wherever the page names a command with options in one line, the command has them."""
        seen = 0
        for line in re.findall(r"(?m)^\.\w+ \"?adverb (?![-<]).*--.*$", Page("adverb.1").text):
            command = re.search(r"adverb (\w+)", line)[1]
            own = re.split(r" -- |\|", line)[0] # the options of a program belong to the program
            self.assertLessEqual(options_in(own), options_of(command).keys(), line)
            seen += 1
        self.assertGreater(seen, 3)

    def test_the_daemon(self):
        page, options = Page("adverbd.8"), options_in_help(help_of(ADVERBD))
        self.assertGreaterEqual(len(options), 3)
        self.assertEqual(options_in(page.section("OPTIONS")), options.keys())
        self.assertLessEqual(options_in(page.section("SYNOPSIS")), options.keys())
        self.check_letters(page.section("OPTIONS"), options, "adverbd")


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1], verbosity=2)
