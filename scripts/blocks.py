# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""The blocks of commands in Markdown pages, and which of them run in a test.

A text that begins with `# NAME.ini` or `# NAME.txt` is a file for the commands of the page.

A block is indented by four spaces, or is between ``` lines. One that begins with ```text or the name of another
language is no block of commands. Above each other block a comment says what happens to it:

<!-- run -->                    tests/docs/run runs it
<!-- run: long, numbers vary -->  words: how it runs (WORDS)
<!-- not run: REASON -->

tests/learn/run runs the console blocks of docs/learn, which need no comment.
"""

import re

TEXTS = {"text", "ini", "yaml", "python", "c", "mermaid"}
WORDS = {
    "long": "only with --all, because it takes minutes",
    "stays": "its programs that do not end are ended after some seconds",
    "numbers vary": "see tests/learn/pages.py",
    "values vary": "see tests/learn/pages.py",
    "peer": "this machine also has the address 192.0.2.7",
    "eth0": "there is an Ethernet interface of this name",
    "lldp": "the other end of eth0 sends LLDP frames",
    "fabric": "in the emulated fabric of docs/emulation.md",
    "nvme": "a target serves a disk: ADDRESS and NQN are its",
    "server": "SERVER and ADDRESS are this machine",
    "build": "in a copy of the source, which it builds",
}
FENCE = re.compile(r"^( *)```(\w*)$")
RUN = re.compile(r"^<!-- run(?:: (?P<words>.+))? -->$")
NOT_RUN = re.compile(r"^<!-- not run: (?P<reason>.+) -->$")
NAMED = re.compile(r"^# (\S+\.(?:ini|txt))$")


class Block:
    """A block of a page: its language ('indented' without ```), its lines, and what the comment above it says."""

    def __init__(self, language, lines, number, comment):
        self.language = language
        self.lines = lines
        self.number = number  # of its first line, from 1
        run, not_run = RUN.match(comment), NOT_RUN.match(comment)
        self.words = [word.strip() for word in (run["words"] or "").split(",") if word] if run else None
        self.reason = not_run["reason"] if not_run else None

    def runs(self):
        return self.words is not None


def comment_above(lines, number):
    """Returns the comment above a line, beyond empty lines, or an empty string."""
    while number and not lines[number - 1].strip():
        number -= 1
    above = lines[number - 1].strip() if number else ""
    return above if above.startswith("<!--") else ""


def end_of_indented(lines, begin):
    end = begin
    while end < len(lines) and (lines[end].startswith("    ") or not lines[end].strip()):
        end += 1
    while not lines[end - 1].strip():
        end -= 1
    return end


def blocks(text):
    """Yields the blocks of a page in their order."""
    lines = text.split("\n")
    i = 0
    while i < len(lines):
        fence = FENCE.match(lines[i])
        if fence:
            end = next((k for k in range(i + 1, len(lines)) if lines[k] == f"{fence[1]}```"), len(lines))
            yield Block(fence[2], lines[i + 1:end], i + 2, comment_above(lines, i))
            i = end + 1
        elif lines[i].startswith("    ") and (i == 0 or not lines[i - 1].strip()):
            end = end_of_indented(lines, i)
            yield Block("indented", [line[4:] for line in lines[i:end]], i + 1, comment_above(lines, i))
            i = end
        else:
            i += 1


def files(text):
    """Returns the files that a page shows: (name, contents)."""
    return [(named[1], "\n".join([*block.lines, ""])) for block in blocks(text)
            if block.language in TEXTS and (named := NAMED.match(block.lines[0]))]


def is_comment(line):
    """True for a comment that says what happens to a block."""
    return re.match(r"<!-- *(not )?run\b", line) is not None


def complaints(text, is_lesson):
    """Yields what is wrong with the blocks of a page."""
    found = 0
    for block in blocks(text):
        where = f"line {block.number}"
        found += block.runs() or block.reason is not None
        if block.language in TEXTS:
            if block.runs():
                yield f"{where}: a block of {block.language} does not run"
        elif block.language == "":
            yield f"{where}: a block is ```text or ```console"
        elif is_lesson and block.language == "console":
            continue
        elif not block.runs() and block.reason is None:
            yield f"{where}: '{block.lines[0]}' needs <!-- run --> or <!-- not run: REASON --> above it (scripts/blocks.py)"
        for word in block.words or []:
            if word not in WORDS:
                yield f"{where}: no way to run a block is called '{word}'"
    if found != sum(map(is_comment, text.split("\n"))):
        yield "a comment <!-- run --> or <!-- not run: REASON --> is not above a block"
