# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""The console blocks of a page: its commands, their outputs, and which differences do not count.

A block begins with ```console. A line "$ COMMAND" is a command, which a backslash at the end of a line
continues; the lines up to the next command are its output. A line "..." stands for any number of lines, and "..." at the end of a
line for the rest of it.
A comment <!-- numbers vary --> above a block says that none of its numbers is compared, and <!-- values vary -->
that no word with a digit is.
"""

import re

BLOCK = re.compile(r"(?:<!-- (?P<vary>numbers|values) vary -->\n+)?```console\n(?P<text>.*?)^```$", re.M | re.S)
REST = "..."  # any number of lines

# Longer numbers are process ids, PSNs and keys, except for these.
CONSTANT = {"1000", "2000", "4791", "7471", "2026", "4096", "65536"}
NUMBER = re.compile(r"(?<![\w.])\d+(?:\.\d+)?")
PAUSE = re.compile(r"(sleep|wait)\b")
# The same input gives the same output, byte for byte.
EXACT = re.compile(r"adverb (sim|plan|frame) ")


def plain(line, vary):
    """Returns a line without what differs from run to run."""
    line = re.sub(r"0x[0-9a-f]{3,}", "HEX", line)
    line = re.sub(r"(?<![\w.])\d+(\.\d+)?(ns|us|ms|s)\b", "TIME", line)  # the unit varies, too
    if vary == "values":
        line = re.sub(r"(?<!\S)(-|\S*\d\S*)(?!\S)", "N", line)
    if vary == "numbers":
        line = NUMBER.sub("N", line)
    line = re.sub(r"(?<![\w.])\d+(\.\d+)? (ns|us|ms|s)\b", r"N \2", line)
    line = re.sub(r"(?<![\w.])\d{4,}\b", lambda m: m[0] if m[0] in CONSTANT else "N", line)
    return " ".join(line.split())


def same_line(wanted, got):
    """Whether a line is that of the page, where it may end with REST."""
    begin = wanted.removesuffix(f" {REST}")
    return got == wanted or (begin != wanted and got.startswith(begin))


def matches(wanted, got):
    """Whether the lines of an output are those of the page, in which REST stands for any lines."""
    if not wanted:
        return not got
    if wanted[0] == REST:
        return any(matches(wanted[1:], got[i:]) for i in range(len(got) + 1))
    return bool(got) and same_line(wanted[0], got[0]) and matches(wanted[1:], got[1:])


class Step:
    """A command of a page with its output there."""

    def __init__(self, command):
        self.command = command
        self.output = []

    def matches(self, got, vary):
        """Whether a new output is the same, but for what differs from run to run."""
        if EXACT.match(self.command):
            return matches(self.output, got)
        return matches([plain(line, vary) for line in self.output], [plain(line, vary) for line in got])

    def text(self):
        return "".join(f"{line}\n" for line in ["$ " + self.command, *self.output])


class Block:
    """The commands of one console block."""

    def __init__(self, match):
        self.span = match.span("text")
        self.vary = match["vary"]
        self.steps = steps_of(match["text"].splitlines())


def steps_of(lines):
    """Returns the commands of a block, with their outputs."""
    steps = []
    for line in lines:
        if steps and steps[-1].command.endswith("\\"):
            steps[-1].command += "\n" + line
        elif line.startswith("$ "):
            steps.append(Step(line[2:]))
        elif steps:
            steps[-1].output.append(line)
        else:
            raise ValueError(f"a block begins with an output: {line}")
    return steps


def blocks(text):
    return [Block(match) for match in BLOCK.finditer(text)]


def unpaused(block):
    """Returns the commands that follow one in the background at once, so that they fail if the block is pasted."""
    steps = block.steps
    return [after.command for before, after in zip(steps, steps[1:])
            if before.command.endswith(" &") and not PAUSE.match(after.command)]


def replaced(text, changed):
    """Returns a page with the present outputs of its blocks."""
    for block in reversed(changed):
        begin, end = block.span
        text = text[:begin] + "".join(step.text() for step in block.steps) + text[end:]
    return text
