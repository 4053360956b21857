# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""The samples of a soak, and the verdict whether they are flat."""

import dataclasses
import os
import pathlib
import re

# Growth that is no leak: malloc's arenas, and adverbd's records of slots, which pairs use in turn.
RSS_SLACK_KIB = 1024
FDS_SLACK = {"worker": 16}  # the connection manager's sending sockets, created at first use
FEWEST_SAMPLES = 9  # samples of a process: fewer allow no verdict
PROCESSES = ("worker", "keeper", "answerer", "caller")
BYSTANDERS_HOLD = (2, 0, 0, 0)  # as held()


@dataclasses.dataclass
class Usage:
    """Resident KiB, descriptors, and memfds among these, of one process."""
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
        except OSError:  # closed in between
            continue
    return Usage(pid, int(re.search(r"^VmRSS:\s+(\d+)", status, re.M).group(1)), len(names),
                 sum(name.startswith("/memfd:") for name in names))


def held(status):
    """Returns (slots in use, ids, connected, ending) from the output of `adverb status`."""
    slots = re.search(r"^slots in use: (\d+)", status, re.M)
    cm = re.search(r"(\d+) ids, (\d+) connected, (\d+) ending", status)
    return tuple(map(int, (slots.group(1) if slots else -1, *(cm.groups() if cm else (0, 0, 0)))))


@dataclasses.dataclass
class Sample:
    seconds: float
    processes: dict  # of PROCESSES: Usage
    held: tuple  # as held()
    sockets: int  # UDP and Unix sockets of the network namespace
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
    """Returns the first and the last third, each with at least one sample."""
    n = max(1, len(values) // 3)
    return values[:n], values[-n:]


def grown(name, values, slack):
    """Returns a line if the minimum of the last third exceeds the maximum of the first, else none."""
    first, last = thirds(values)
    if min(last) > max(first) + slack:
        return [f"{name} has grown: {max(first)} at most at first, {min(last)} at least at last"]
    return []


def verdict(samples):
    """Returns a line for each figure that has grown. The first sample of a process does not count, because it
    then allocates what it needs only once."""
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
