# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""Reads what ibv_devinfo, ibv_*_pingpong and perftest print."""

import ipaddress
import re

from harness import Failure


def pingpong(text, size, iterations):
    """Fails unless a pingpong program reports the wanted bytes and iterations."""
    moved = re.search(r"^(\d+) bytes in [\d.]+ seconds", text, re.M)
    rounds = re.search(r"^(\d+) iters in [\d.]+ seconds", text, re.M)
    if not moved or not rounds:
        raise Failure(f"no summary in the output:\n{text}")
    if int(rounds.group(1)) != iterations or int(moved.group(1)) != 2 * size * iterations:
        raise Failure(f"expected {2 * size * iterations} bytes in {iterations} iterations:\n{text}")


def perftest_rows(text):
    """Returns the rows of perftest's result table: lists of numbers, bytes and iterations first.

    A deviation may be '-nan': perftest computes the root of a value that rounding made negative.
    """
    rows = []
    in_table = False
    for line in text.splitlines():
        if line.lstrip().startswith("#bytes"):
            in_table = True
            continue
        fields = line.split()
        if in_table and len(fields) >= 4 and all(re.fullmatch(r"[\d.]+|-?nan", f) for f in fields):
            rows.append([float(f) for f in fields])
    return rows


def perftest(text, sizes, iterations, result=-1):
    """Fails unless there is one row for each size, with all iterations and results above 0. Perftest
    prints results of 0 if it could not measure the clock of the processor, on a busy machine. `result` is
    the column that is never rounded to 0: a message rate or latency, except for the largest messages."""
    rows = perftest_rows(text)
    has_clock = "Correlation coefficient" not in text
    if [int(r[0]) for r in rows] != list(sizes):
        raise Failure(f"expected rows for {list(sizes)} bytes, found "
                      f"{[int(r[0]) for r in rows]}:\n{text}")
    for row in rows:
        if int(row[1]) == 0 or int(row[1]) % iterations != 0:
            raise Failure(f"expected {iterations} iterations a QP, found {int(row[1])}:\n{text}")
        if has_clock and row[result] <= 0:
            raise Failure(f"a result of 0 for {int(row[0])} bytes:\n{text}")
    return rows


def gid_table(devinfo):
    """Returns {index: address text} of the GIDs in the output of ibv_devinfo -v. ibv_devinfo prints a GID of
    RoCE v1 in another form than one of RoCE v2."""
    def address(gid):
        ip = ipaddress.IPv6Address(gid)
        return f"::ffff:{ip.ipv4_mapped}" if ip.ipv4_mapped else str(ip)
    found = re.findall(r"GID\[\s*(\d+)\]:\s*([0-9a-fA-F:.]+)", devinfo)
    return {int(index): address(gid) for index, gid in found}


def port_attribute(devinfo, name):
    """Returns the value of 'name:' in the output of ibv_devinfo, up to the end of its line."""
    found = re.search(rf"^\s*{name}:\s+(.+?)\s*$", devinfo, re.M)
    if not found:
        raise Failure(f"no '{name}' in:\n{devinfo}")
    return found.group(1)
