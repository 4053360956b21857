# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""Reads the dumps of `valgrind --tool=callgrind`."""

import re

NAME = re.compile(r"\((\d+)\)(?: (.*))?$")
COST = re.compile(r"^[+\-*\d][\d]* (\d+)$")


class Dump:
    """The instructions of one dump: `total`, `by_object` (own code), and for each function
    `inclusive` (with its callees) and `calls`."""

    def __init__(self, trigger):
        self.trigger = trigger
        self.total = 0
        self.by_object = {}
        self.inclusive = {}
        self.calls = {}

    def own(self, name):
        """Returns the instructions in objects whose file name begins with `name`."""
        return sum(n for path, n in self.by_object.items() if path.split("/")[-1].startswith(name))


class Reader:
    """Reads dumps. A file has each name once and later its number; each kind has its own numbers."""

    def __init__(self):
        self.names = {"ob": {}, "fn": {}, "fl": {}}

    def name(self, kind, text):
        number, name = NAME.match(text).groups()
        if name is not None:
            self.names[kind][number] = name
        return self.names[kind][number]

    def read(self, text):
        trigger = re.search(r"^desc: Trigger: Client Request: (.*)$", text, re.M)
        dump = Dump(trigger.group(1) if trigger else "")
        state = {"ob": "", "cob": "", "cfn": "", "calls": None}
        for line in text.splitlines():
            key, _, value = line.partition("=")
            if key in ("ob", "cob"):
                state[key] = self.name("ob", value)
            elif key in ("fn", "cfn"):
                state[key] = self.name("fn", value)
            elif key == "calls":
                state["calls"] = int(value.split()[0])
            else:
                self.cost(dump, state, line)
        return dump

    @staticmethod
    def cost(dump, state, line):
        found = COST.match(line)
        if not found:
            return
        cost = int(found.group(1))
        if state["calls"] is None:
            dump.total += cost
            dump.by_object[state["ob"]] = dump.by_object.get(state["ob"], 0) + cost
            return
        callee = state["cfn"]
        dump.inclusive[callee] = dump.inclusive.get(callee, 0) + cost
        dump.calls[callee] = dump.calls.get(callee, 0) + state["calls"]
        state["calls"] = None


def read_dumps(paths):
    """Yields the dumps of one run in order. Each file numbers its names from the start."""
    return [Reader().read(path.read_text(errors="replace")) for path in paths]
