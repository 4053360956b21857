# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""What a soak measures when all is quiet, and the verdict whether it is flat."""

import dataclasses
import os
import pathlib
import re

# Growth that is no leak: malloc's arenas, and what adverbd keeps by slot, which the pairs use one after
# the other.
RSS_SLACK_KIB = 1024
FDS_SLACK = {"worker": 16}  # sockets that the connection manager sends from, made when first used
FEWEST_SAMPLES = 9  # of a process: of fewer nothing can be said
PROCESSES = ("worker", "keeper", "answerer", "caller")
BYSTANDERS_HOLD = (2, 0, 0, 0)  # as held()


@dataclasses.dataclass
class Usage:
    """Of one process: resident KiB, descriptors, and memfds among these."""
    pid: int
    rss: int
    fds: int
    memfds: int


def usage(pid):
    status = pathlib.Path(f"/proc/{pid}/status").read_text()
    names = []
    for entry in pathlib.Path(f"/proc/{pid}/fd").iterdir():
        try:
            names.append(os.readlink(entry))
        except OSError:  # closed meanwhile
            continue
    return Usage(pid, int(re.search(r"^VmRSS:\s+(\d+)", status, re.M).group(1)), len(names),
                 sum(name.startswith("/memfd:") for name in names))


def held(status):
    """(slots in use, ids, connected, ending) of what `adverb status` says."""
    slots = re.search(r"^slots in use: (\d+)", status, re.M)
    cm = re.search(r"(\d+) ids, (\d+) connected, (\d+) ending", status)
    return tuple(map(int, (slots.group(1) if slots else -1, *(cm.groups() if cm else (0, 0, 0)))))


@dataclasses.dataclass
class Sample:
    seconds: float
    processes: dict  # of PROCESSES: Usage
    held: tuple  # as held()
    sockets: int  # UDP and Unix ones of the network namespace
    files: int  # in the runtime directory


def count_sockets():
    tables = [pathlib.Path(f"/proc/net/{name}") for name in ("udp", "udp6", "unix")]
    return sum(len(table.read_text().splitlines()) - 1 for table in tables)


HEADER = (" minute  well killed daemon | worker KiB  fds memfds | keeper KiB  fds | bystanders KiB"
          "   fds | slots ids sockets files")


def row(sample, counts):
    worker, keeper, one, two = (sample.processes[name] for name in PROCESSES)
    return (f"{sample.seconds / 60:7.2f} {counts['well']:5} {counts['killed']:6} "
            f"{counts['daemon']:6} | {worker.rss:10} {worker.fds:4} {worker.memfds:6} | "
            f"{keeper.rss:10} {keeper.fds:4} | {one.rss:6} {two.rss:6} {one.fds:3} {two.fds:3} | "
            f"{sample.held[0]:5} {sample.held[1]:3} {sample.sockets:7} {sample.files:5}")


def thirds(values):
    """The first and the last third, at least one of each."""
    n = max(1, len(values) // 3)
    return values[:n], values[-n:]


def grown(name, values, slack):
    """A line where the lowest of the last third is above the highest of the first; else none."""
    first, last = thirds(values)
    if min(last) > max(first) + slack:
        return [f"{name} has grown: {max(first)} at most at first, {min(last)} at least at last"]
    return []


def verdict(samples):
    """Lines that say what has grown; none where all is flat. Each process from its second sample
    on, so that what it does once has been done."""
    lines = []
    for name in PROCESSES:
        by_pid = {}
        for sample in samples:
            one = sample.processes[name]
            by_pid.setdefault(one.pid, []).append(one)
        for pid, uses in by_pid.items():
            if len(uses) <= FEWEST_SAMPLES:
                continue
            who = f"{name} (process {pid})"
            lines += grown(f"{who}: memory in KiB", [u.rss for u in uses[1:]], RSS_SLACK_KIB)
            lines += grown(f"{who}: descriptors", [u.fds for u in uses[1:]],
                           FDS_SLACK.get(name, 0))
            lines += grown(f"{who}: memfds", [u.memfds for u in uses[1:]], 0)
    if len(samples) > FEWEST_SAMPLES:
        lines += grown("sockets", [s.sockets for s in samples[1:]], FDS_SLACK["worker"])
        lines += grown("files", [s.files for s in samples[1:]], 0)
    return lines
