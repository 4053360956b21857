# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""The goals: each row compares a source of Adverb with another source."""

import dataclasses

AT_MOST, AT_LEAST = "at most", "at least"


@dataclasses.dataclass(frozen=True)
class Row:
    name: str
    adverb: str  # a source
    sense: str
    goal: float  # a ratio; where there is no base, a figure
    base: str = ""  # a source

    def met(self, value):
        return value <= self.goal if self.sense == AT_MOST else value >= self.goal


def bulk_rows():
    """Yields the bulk goals: the same four tests against the floor and against each other transport."""
    for test in ("write-64k", "write-1m", "send-64k", "send-1m"):
        size = test.split("-")[1]
        yield Row(test, test, AT_LEAST, 0.9, "udp-bulk")
        yield Row(f"{test}-iperf3", test, AT_LEAST, 1.0, "iperf3")
        yield Row(f"{test}-ucx", test, AT_LEAST, 1.0, f"ucx-tcp-{size}")
        yield Row(f"{test}-fabric", test, AT_LEAST, 1.0, f"fabric-tcp-{size}")
    yield Row("read-1m", "read-1m", AT_LEAST, 0.9, "write-1m")


def veth_rows(mtu):
    """Yields the goals between two network namespaces that a veth pair with this Ethernet MTU joins."""
    at = f"veth-{mtu}"
    yield Row(f"{at}-send-latency", f"{at}/send-latency", AT_MOST, 1.0, f"{at}/qperf-tcp")
    yield Row(f"{at}-write-64k", f"{at}/write-64k", AT_LEAST, 1.0, f"{at}/iperf3")
    yield Row(f"{at}-write-1m", f"{at}/write-1m", AT_LEAST, 1.0, f"{at}/iperf3")


# The rows of a group are measured together, so that the machine's state is the same.
GROUPS = {
    "latency": [
        Row("send-latency", "send-latency", AT_MOST, 1.4, "udp-pingpong"),
        Row("write-latency", "write-latency", AT_MOST, 3.0, "udp-pingpong"),
    ],
    "events": [
        Row("send-latency-events", "send-latency-events", AT_MOST, 1.2, "udp-blocking"),
    ],
    "bulk": list(bulk_rows()),
    "bulk-1024": [Row(f"{test}-1024", f"{test}-1024", AT_LEAST, 0.9, "udp-bulk-1024")
                  for test in ("write-64k", "write-1m", "send-64k", "send-1m")],
    "rate": [
        Row("write-rate", "write-rate", AT_LEAST, 8.0, "udp-rate"),
        Row("write-rate-2", "write-rate-2", AT_LEAST, 8.0, "udp-rate"),
        Row("write-rate-8", "write-rate-8", AT_LEAST, 8.0, "udp-rate"),
    ],
    "veth-1500": list(veth_rows(1500)),
    "veth-9000": list(veth_rows(9000)),
    "shm": [
        Row("shm-send-latency-ucx", "shm-send-latency", AT_MOST, 1.1, "ucx-posix-latency"),
        Row("shm-send-latency", "shm-send-latency", AT_MOST, 6.0, "cache-line"),
        Row("shm-send-latency-events", "shm-send-latency-events", AT_MOST, 1.2, "udp-blocking"),
        Row("shm-write-64k", "shm-write-64k", AT_LEAST, 0.9, "shm-ring"),
        Row("shm-write-64k-ucx", "shm-write-64k", AT_LEAST, 1.0, "ucx-posix-64k"),
        Row("shm-write-1m-ucx", "shm-write-1m", AT_LEAST, 1.0, "ucx-cma-1m"),
    ],
    "iwarp": [
        Row("iwarp-write-1m", "iwarp-write-1m", AT_LEAST, 0.9, "iperf3"),
        Row("iwarp-crc-write-1m", "iwarp-crc-write-1m", AT_LEAST, 0.75, "iperf3"),
        Row("iwarp-send-latency", "iwarp-send-latency", AT_MOST, 1.3, "tcp-pingpong"),
    ],
    "stream": [
        Row("riostream", "riostream", AT_MOST, 3.0, "rstream"),
    ],
    "one-core": [
        Row("one-core-send-latency", "one-core/shm-send-latency-short", AT_MOST, 2.0, "one-core/tcp-blocking"),
        Row("one-core-write-64k", "one-core/shm-write-64k-short", AT_LEAST, 0.8, "one-core/tcp-bulk"),
    ],
    "four-loops": [
        Row("busy-ucx-64k", "four-loops/ucx-rc-65536-short", AT_LEAST, 1.0, "four-loops/ucx-tcp-65536-short"),
        Row("busy-ucx-1k", "four-loops/ucx-rc-1024-short", AT_LEAST, 1.0, "four-loops/ucx-tcp-1024-short"),
        Row("busy-ucx-latency", "four-loops/ucx-rc-latency-short", AT_MOST, 1.0,
            "four-loops/ucx-tcp-latency-short"),
        Row("busy-send-latency", "four-loops/shm-send-latency-short", AT_MOST, 1.0, "four-loops/tcp-blocking"),
        Row("busy-send-latency-events", "four-loops/shm-send-latency-events-short", AT_MOST, 1.0,
            "four-loops/tcp-blocking"),
        Row("busy-stream", "four-loops/rstream-blocking", AT_MOST, 1.0, "four-loops/rstream-tcp"),
    ],
    "instructions": [
        Row("poll-empty", "poll-empty", AT_MOST, 280),
    ],
}
# Sources without a goal: they show what the machine does.
FOR_REFERENCE = {
    "latency": ["udp-pingpong-ack", "tcp-pingpong", "ucx-tcp-latency"],
    "bulk": ["tcp-bulk", "memcpy", "crc"],
}

ALL = {row.name: row for rows in GROUPS.values() for row in rows}
