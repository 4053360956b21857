#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""Version, help texts and installed documentation agree.

usage: test_front_door.py ADVERB ADVERBD VERSION DOC_DIR BUILD
"""

import json
import os
import pathlib
import re
import subprocess
import sys
import tempfile
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


class Companions(unittest.TestCase):
    def test_a_missing_program_is_explained(self):
        with tempfile.TemporaryDirectory() as folder:
            daemon = pathlib.Path(folder, "adverbd")
            daemon.symlink_to(ADVERBD)
            for command, program, remedy in (
                    ("gateway nfs --to 127.0.0.1", "adverb-gateway", "Debian: libtirpc-dev rpcsvc-proto"),
                    ("gateway smb --to 127.0.0.1", "adverb-gateway", "Debian: libtirpc-dev rpcsvc-proto"),
                    ("nvme discover --traddr 127.0.0.1", "adverb-nvme", "install it beside adverbd")):
                done = subprocess.run([ADVERB, *command.split()], capture_output=True, text=True, timeout=PATIENCE,
                                      env={**os.environ, "ADVERB_DAEMON": str(daemon)})
                self.assertEqual(done.returncode, 1, done)
                self.assertRegex(done.stderr, f"adverb {' '.join(command.split()[:2])}: no file {folder}/{program}: .*{remedy}")


class Documentation(unittest.TestCase):
    def test_every_page_is_installed(self):
        installed = installed_paths()
        pages = sorted((ROOT / "docs").glob("*.md"))
        self.assertGreater(len(pages), 10)
        for page in pages:
            self.assertEqual(installed.get(page), pathlib.Path(DOC_DIR) / page.name)
        for page in (ROOT / "docs/man").glob("*.[1-8]"):
            self.assertIn(page, installed)

    def test_every_page_is_in_an_index(self):
        """The index is the README.md of the page's folder, if there is one that the main index names."""
        docs = ROOT / "docs"
        main = (docs / "README.md").read_text()
        for page in docs.glob("**/*.[m1-8]*"):
            if page.suffix not in (".md", ".1", ".8") or page == docs / "README.md":
                continue
            own = page.parent / "README.md"
            if page != own and f"({own.relative_to(docs)})" in main:
                self.assertIn(f"({page.name})", own.read_text())
            else:
                self.assertIn(f"({page.relative_to(docs)})", main)

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


class Help(unittest.TestCase):
    def test_the_list_names_all_gateways(self):
        [summary] = re.findall(r"^  gateway .*", output_of(ADVERB, "--help"), re.M)
        for gateway in set(subcommands(ADVERB, "gateway")) - {"stat"}:
            self.assertIn(gateway.upper(), summary)

    def test_help_and_short_help_are_the_help_text(self):
        for command, text in help_texts().items():
            self.assertEqual(output_of(ADVERB, "help", *command), text)
            self.assertEqual(output_of(ADVERB, *command, "-h"), text)

    def test_a_program_keeps_its_short_option(self):
        self.assertEqual(output_of(ADVERB, "run", "--no-sysfs", "printf", "%s", "-h"), "-h")

    def test_help_of_an_unknown_command(self):
        done = subprocess.run([ADVERB, "help", "statsu"], capture_output=True, text=True, check=False,
                              timeout=PATIENCE)
        self.assertEqual(done.returncode, 2)
        self.assertIn("did you mean 'status'?", done.stderr)


class Completions(unittest.TestCase):
    """The completions have every command and every option that the help texts show."""

    def setUp(self):
        self.script = {shell: output_of(ADVERB, "completion", shell) for shell in ("bash", "zsh", "fish")}

    def bash(self, *words):
        """Returns what bash proposes for the last word."""
        quoted = " ".join(f"'{w}'" for w in words)
        code = (f"source /dev/stdin; COMP_WORDS=({quoted}); COMP_CWORD={len(words) - 1}; _adverb; "
                'printf "%s\n" "${COMPREPLY[@]}"')
        done = subprocess.run(["bash", "-c", code], input=self.script["bash"], capture_output=True, text=True,
                              check=True, timeout=PATIENCE)
        self.assertEqual(done.stderr, "")
        return done.stdout.split()

    def test_commands(self):
        for command in help_texts():
            subs = subcommands(ADVERB, *command)
            if subs:
                self.assertEqual(set(self.bash("adverb", *command, "")),
                                 {*subs, "help", "--help", "--usage", "--version"})
            for sub in subs:
                self.assertRegex(self.script["zsh"], rf"(?m)^\t'adverb {' '.join((*command, sub))}'\)")
                self.assertRegex(self.script["fish"], rf"(?m)^complete -c adverb -n .* -a {sub} -d ")

    def test_options(self):
        seen = 0
        for command, text in help_texts().items():
            options = {o for o in re.findall(r"--[a-z][a-z-]*", "\n".join(
                line[:29] for line in text.splitlines() if re.match(r" {2,6}-", line)))}
            self.assertIn("--help", options)
            offered = {word.rstrip("=") for word in self.bash("adverb", *command, "--")}
            self.assertEqual(offered, options, command)
            zsh = self.script["zsh"].split(f"\t'{' '.join(('adverb', *command))}')", 1)[1].split(";;")[0]
            for option in options - {"--help", "--usage", "--version"}:
                self.assertIn(option, zsh, command)
                where = "; and ".join(f"__fish_seen_subcommand_from {word}" for word in command)
                self.assertIn(f"complete -c adverb -n '{where}' -l {option[2:]} ", self.script["fish"])
                seen += 1
        self.assertGreater(seen, 40)

    def test_literal_words_and_programs(self):
        self.assertEqual(self.bash("adverb", "completion", ""), ["--help", "--usage", "--version", "bash", "zsh", "fish"])
        self.assertIn("show", self.bash("adverb", "fault", "sh"))
        self.assertIn("bash", self.bash("adverb", "run", "bas"))

    def test_they_are_installed(self):
        places = {p.as_posix() for p in installed_paths().values()}
        for end in ("bash-completion/completions/adverb", "zsh/site-functions/_adverb",
                    "fish/vendor_completions.d/adverb.fish"):
            self.assertTrue(any(p.endswith(end) for p in places), end)


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1], verbosity=2)
