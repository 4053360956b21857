# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""What can be measured: Adverb through unmodified perftest, and what it is compared with.

A source is a function of a Bench that returns a number in the source's unit. Each runs for about
a second, on the first two CPUs that this process may use: the sender or client on the first one.

A name such as four-loops/ucx-tcp-64k is the source ucx-tcp-64k in the setting four-loops: see SETTINGS.
"""

import contextlib

import json
import os
import re
import shutil
import subprocess

from lab import cases_netns, harness, reports

SOURCES = {}
LOOPS = 4
UCX_PORT = 13337
FABRIC_PORT = 47592
IPERF_PORT = 5201
QPERF_PORT = 19765
STREAM_PORT = 7471
IWARP_OPTIONS = {"iwarp": (), "iwarp-crc": ("--iwarp", "crc=require")}


class Unavailable(Exception):
    """The source cannot be measured on this machine; the text is the reason."""


class Bench:
    """The place where sources run: a lab, and the number of idle queue pairs of Adverb."""

    def __init__(self, lab, pin=True):
        self.lab = lab
        self.idle_qps = 0
        cpus = sorted(os.sched_getaffinity(0))
        self.client = ["taskset", "-c", str(cpus[0])] if pin else []
        self.server = ["taskset", "-c", str(cpus[1 % len(cpus)])] if pin else []
        self.both = []  # a program of this folder, which places its own processes
        self.pinned = True
        self.address = "127.0.0.1"  # of the server

    @contextlib.contextmanager
    def one_core(self):
        """Both processes run on one CPU."""
        before = self.client, self.server
        self.both = ["taskset", "-c", str(min(os.sched_getaffinity(0)))]
        self.client = self.server = self.both
        try:
            yield
        finally:
            self.client, self.server = before
            self.both = []

    @contextlib.contextmanager
    def busy_loops(self, number):
        """Processes that never sleep run beside the measured ones, and the scheduler places all of them on the
        two cores, or on one inside one_core()."""
        before = self.client, self.server
        self.client = self.server = self.both
        self.pinned = False
        loops = [subprocess.Popen([*self.both, "setpriv", "--pdeathsig", "KILL", "sh", "-c", "while :; do :; done"])
                 for _ in range(number)]
        try:
            yield
        finally:
            for loop in loops:
                loop.kill()
                loop.wait()
            self.client, self.server = before
            self.pinned = True

    @contextlib.contextmanager
    def two_hosts(self, mtu):
        """The server runs in another network namespace, joined to this one by a veth pair."""
        before = self.server, self.address
        there = cases_netns.two_hosts(self.lab, mtu)
        holder = self.lab.processes[-1]
        self.server = [*there, *self.server]
        self.address = cases_netns.ADDRESSES["4"][1]
        try:
            yield
        finally:
            self.server, self.address = before
            self.lab.system("ip link delete veth0")
            holder.kill()

    def measure(self, name):
        """Returns the value of a source, in its setting."""
        setting, _, plain = name.rpartition("/")
        with SETTINGS[setting](self) if setting else contextlib.nullcontext():
            return SOURCES[plain][0](self)

    def floor(self, key, program, *arguments):
        """Returns a figure that a program of this folder prints as key=figure."""
        text = self.lab.run([self.lab.build / "bench" / program, *arguments], adverb=False, prefix=self.both,
                            env={} if self.pinned else {"FLOOR_NO_PIN": "1"})
        return float(re.search(rf"\b{key}=([\d.]+)", text).group(1))

    def pair(self, server, client, port, **how):
        try:
            for program in (server, client):
                harness.need_tool(str(program[0]))
        except harness.Skip as skip:
            raise Unavailable(str(skip)) from None
        return self.lab.pair(server, client, port=port, server_prefix=self.server,
                             client_prefix=self.client, **how)

    def perftest(self, column, link, *command):
        """Returns a column of perftest's report: bytes, iterations, then the measurements."""
        if link in IWARP_OPTIONS:
            options = ["--transport", "iwarp", *IWARP_OPTIONS[link]]
        elif self.has_shm():
            options = [] if link == "shm" else ["--no-shm"]
        elif link == "shm":
            raise Unavailable("this build has no shared-memory link")
        else:
            options = []
        env = {}
        if self.idle_qps:
            env = {"LD_PRELOAD": str(self.lab.build / "bench" / "libidle_qps.so"),
                   "ADVERB_BENCH_IDLE_QPS": str(self.idle_qps)}
        run = [str(self.lab.adverb), "run", *options, "--"]
        tool = harness.need_tool(command[0])
        server = [*run, tool, *command[1:], "-F"]
        _, text = self.lab.pair([*server], [*server, self.address], adverb=False, env=env,
                                server_prefix=self.server, client_prefix=self.client)
        rows = reports.perftest_rows(text)
        if not rows:
            raise harness.Failure(f"no result in:\n{text}")
        return rows[-1][column]

    def has_shm(self):
        text = subprocess.run([self.lab.adverb, "run", "--help"], stdin=subprocess.DEVNULL,
                              capture_output=True, check=False, timeout=30).stdout
        return b"--no-shm" in text

    def ucx(self, column, transport, *arguments):
        """Returns a column of the last line of ucx_perftest: iterations, 3 latencies, 2 bandwidths, 2 rates."""
        env = {"UCX_TLS": transport}
        if transport in ("tcp", "rc"):
            env["UCX_NET_DEVICES"] = {"tcp": "lo", "rc": "adverb0:1"}[transport]
        command = ["ucx_perftest", "-p", str(UCX_PORT)]
        _, text = self.pair(command, [*command, "127.0.0.1", *arguments], UCX_PORT,
                            adverb=transport == "rc", env=env)
        final = re.search(r"^Final:\s+(.*)$", text, re.M)
        if not final:
            raise harness.Failure(f"no result in:\n{text}")
        return float(final.group(1).split()[column])

    def fabric(self, size, iterations):
        """Returns the bandwidth of fi_pingpong over TCP in MB/s, both directions added as it does."""
        command = ["fi_pingpong", "-p", "tcp", "-e", "msg", "-I", str(iterations), "-S", str(size)]
        _, text = self.pair(command, [*command, "127.0.0.1"], FABRIC_PORT, adverb=False)
        fields = text.split("\n")[1].split() if text.startswith("bytes") else []
        if len(fields) < 6:
            raise harness.Failure(f"no result in:\n{text}")
        return float(fields[5])

    def stream(self, program, *options, adverb=True):
        """Returns the time of a transfer of 64 bytes in us; librdmacm's examples print it last."""
        for tool in (program, "stdbuf"):
            if not shutil.which(tool):
                raise Unavailable(f"{tool} is not installed")
        command = ["stdbuf", "-oL", program, "-S", "64", "-C", "1", *options]
        server = self.lab.start_server(command, "usec/xfer", prefix=self.server, adverb=adverb)
        text = self.lab.run([*command, "-s", "127.0.0.1"], 120, prefix=self.client, adverb=adverb)
        server.expect(0, 30)
        return float(text.split()[-1])

    def qperf(self, test, size):
        """Returns the half round trip of qperf in us."""
        command = ["qperf", "-lp", str(QPERF_PORT)]
        harness.need_tool(command[0])
        server = self.lab.start(command, prefix=self.server, adverb=False)
        self.lab.wait_listening(server, QPERF_PORT)
        text = self.lab.run([*command, "-t", "1", "-m", str(size), "-uu", self.address, test], prefix=self.client,
                            adverb=False)
        server.kill()
        return float(re.search(r"latency\s*=\s*([\d.]+)", text).group(1)) * 1e-3

    def iperf3(self):
        server = ["iperf3", "-s", "-1", "-B", self.address]
        client = ["iperf3", "-c", self.address, "-t", "1", "-J"]
        _, text = self.pair(server, client, IPERF_PORT, adverb=False)
        return json.loads(text)["end"]["sum_received"]["bits_per_second"] / 1e9


SETTINGS = {"one-core": Bench.one_core, "four-loops": lambda bench: bench.busy_loops(LOOPS),
            "veth-1500": lambda bench: bench.two_hosts(1500), "veth-9000": lambda bench: bench.two_hosts(9000)}


def describe(name):
    """Returns (unit, command) of a source."""
    setting, _, plain = name.rpartition("/")
    _, unit, what = SOURCES[plain]
    return unit, f"{what}; {setting}" if setting else what


def source(name, unit, what):
    def register(function):
        SOURCES[name] = (function, unit, what)
        return function
    return register


def floor(name, unit, scale, key, *command):
    source(name, unit, "bench/" + " ".join(command))(
        lambda b: b.floor(key, *command) * scale)


def perftest(name, unit, link, column, scale, *command):
    where = {"shm": ", shared memory", "iwarp": ", iWARP", "iwarp-crc": ", iWARP with CRCs"}.get(link, "")
    source(name, unit, " ".join(command) + where)(
        lambda b: b.perftest(column, link, *command) * scale)


# Columns of perftest: typical latency, average bandwidth, message rate.
LATENCY, BANDWIDTH, RATE = 4, 3, 4
WRITE_64K = ("ib_write_bw", "-s", "65536", "-n", "10000", "--report_gbits")
WRITE_1M = ("ib_write_bw", "-s", "1048576", "-n", "1000", "--report_gbits")
SEND_64K = ("ib_send_bw", "-s", "65536", "-n", "10000", "--report_gbits")
SEND_1M = ("ib_send_bw", "-s", "1048576", "-n", "1000", "--report_gbits")
READ_1M = ("ib_read_bw", "-s", "1048576", "-n", "1000", "--report_gbits")
SEND_LATENCY = ("ib_send_lat", "-s", "8", "-n", "10000")
WRITE_LATENCY = ("ib_write_lat", "-s", "8", "-n", "5000")

floor("cache-line", "us", 1e-3, "ns", "xcore")
floor("udp-pingpong", "us", 1e-3, "half_rtt_ns", "udp_pingpong", "-s", "64")
floor("udp-pingpong-ack", "us", 1e-3, "half_rtt_ns", "udp_pingpong", "-a", "-s", "64")
floor("udp-blocking", "us", 1e-3, "half_rtt_ns", "udp_pingpong", "-b", "-s", "64", "-n", "5000")
floor("tcp-pingpong", "us", 1e-3, "half_rtt_ns", "tcp_pingpong", "-s", "8")
floor("udp-bulk", "Gb/s", 1, "gbps", "udp_bulk", "-p", "4096")
floor("udp-bulk-1024", "Gb/s", 1, "gbps", "udp_bulk", "-p", "1024")
floor("udp-rate", "kmsg/s", 1, "kpps", "udp_rate", "-s", "64")
floor("tcp-blocking", "us", 1e-3, "half_rtt_ns", "tcp_pingpong", "-b", "-s", "8", "-n", "5000")
floor("tcp-bulk", "Gb/s", 1, "gbps", "tcp_bulk", "-s", "65536")
floor("memcpy", "Gb/s", 1, "memcpy_gbps", "memory", "-s", "65536")
floor("crc", "Gb/s", 1, "crc_gbps", "memory", "-s", "65536")
floor("shm-ring", "Gb/s", 1, "gbps", "shm_ring", "-s", "65536")

source("iperf3", "Gb/s", "iperf3, one stream")(lambda b: b.iperf3())
source("qperf-tcp", "us", "qperf -m 8 tcp_lat")(lambda b: b.qperf("tcp_lat", 8))
source("ucx-tcp-latency", "us", "ucx_perftest -t tag_lat -s 8, tcp")(
    lambda b: b.ucx(1, "tcp", "-t", "tag_lat", "-s", "8", "-n", "20000"))
source("ucx-tcp-64k", "Gb/s", "ucx_perftest -t tag_bw -s 65536, tcp")(
    lambda b: b.ucx(5, "tcp", "-t", "tag_bw", "-s", "65536", "-n", "10000") * 8.388608e-3)
source("ucx-tcp-1m", "Gb/s", "ucx_perftest -t tag_bw -s 1048576, tcp")(
    lambda b: b.ucx(5, "tcp", "-t", "tag_bw", "-s", "1048576", "-n", "1000") * 8.388608e-3)
for size, count in (("1024", "20000"), ("65536", "2000")):
    for transport in ("tcp", "rc"):
        source(f"ucx-{transport}-{size}-short", "MB/s", f"ucx_perftest -t tag_bw -s {size}, {transport}")(
            lambda b, t=transport, s=size, n=count: b.ucx(5, t, "-t", "tag_bw", "-s", s, "-n", n, "-w", "100"))
for transport in ("tcp", "rc"):
    source(f"ucx-{transport}-latency-short", "us", f"ucx_perftest -t tag_lat -s 8, {transport}")(
        lambda b, t=transport: b.ucx(1, t, "-t", "tag_lat", "-s", "8", "-n", "2000", "-w", "100"))
source("ucx-cma-1m", "Gb/s", "ucx_perftest -t tag_bw -s 1048576, posix and cma")(
    lambda b: b.ucx(5, "posix,cma", "-t", "tag_bw", "-s", "1048576", "-n", "1000") * 8.388608e-3)
source("ucx-posix-latency", "us", "ucx_perftest -t tag_lat -s 8, posix")(
    lambda b: b.ucx(1, "posix", "-t", "tag_lat", "-s", "8", "-n", "200000"))
source("ucx-posix-64k", "Gb/s", "ucx_perftest -t tag_bw -s 65536, posix")(
    lambda b: b.ucx(5, "posix", "-t", "tag_bw", "-s", "65536", "-n", "20000") * 8.388608e-3)
source("fabric-tcp-64k", "Gb/s", "fi_pingpong -p tcp -e msg -S 65536")(
    lambda b: b.fabric(65536, 5000) * 8e-3)
source("fabric-tcp-1m", "Gb/s", "fi_pingpong -p tcp -e msg -S 1048576")(
    lambda b: b.fabric(1048576, 500) * 8e-3)

perftest("send-latency", "us", "udp", LATENCY, 1, *SEND_LATENCY)
perftest("write-latency", "us", "udp", LATENCY, 1, *WRITE_LATENCY)
perftest("send-latency-events", "us", "udp", LATENCY, 1, *SEND_LATENCY, "-e")
perftest("write-64k", "Gb/s", "udp", BANDWIDTH, 1, *WRITE_64K)
perftest("write-1m", "Gb/s", "udp", BANDWIDTH, 1, *WRITE_1M)
perftest("send-64k", "Gb/s", "udp", BANDWIDTH, 1, *SEND_64K)
perftest("send-1m", "Gb/s", "udp", BANDWIDTH, 1, *SEND_1M)
perftest("read-1m", "Gb/s", "udp", BANDWIDTH, 1, *READ_1M)
perftest("write-64k-1024", "Gb/s", "udp", BANDWIDTH, 1, *WRITE_64K, "-m", "1024")
perftest("write-1m-1024", "Gb/s", "udp", BANDWIDTH, 1, *WRITE_1M, "-m", "1024")
perftest("send-64k-1024", "Gb/s", "udp", BANDWIDTH, 1, *SEND_64K, "-m", "1024")
perftest("send-1m-1024", "Gb/s", "udp", BANDWIDTH, 1, *SEND_1M, "-m", "1024")
perftest("write-rate", "kmsg/s", "udp", RATE, 1e3, "ib_write_bw", "-s", "8", "-n", "100000")
perftest("shm-send-latency", "us", "shm", LATENCY, 1, *SEND_LATENCY)
perftest("shm-send-latency-events", "us", "shm", LATENCY, 1, *SEND_LATENCY, "-e")
perftest("shm-write-64k", "Gb/s", "shm", BANDWIDTH, 1, *WRITE_64K)
perftest("shm-write-1m", "Gb/s", "shm", BANDWIDTH, 1, *WRITE_1M)
perftest("shm-send-latency-short", "us", "shm", LATENCY, 1, "ib_send_lat", "-s", "8", "-n", "1000")
perftest("shm-send-latency-events-short", "us", "shm", LATENCY, 1, "ib_send_lat", "-s", "8", "-n", "1000", "-e")
perftest("shm-write-64k-short", "Gb/s", "shm", BANDWIDTH, 1, "ib_write_bw", "-s", "65536", "-n", "1000",
         "--report_gbits")
perftest("iwarp-write-1m", "Gb/s", "iwarp", BANDWIDTH, 1, *WRITE_1M, "-R")
perftest("iwarp-crc-write-1m", "Gb/s", "iwarp-crc", BANDWIDTH, 1, *WRITE_1M, "-R")
perftest("iwarp-send-latency", "us", "iwarp", LATENCY, 1, *SEND_LATENCY, "-R")
for pairs in ("2", "8"):
    perftest(f"write-rate-{pairs}", "kmsg/s", "udp", RATE, 1e3, "ib_write_bw", "-s", "8", "-n", "100000", "-q", pairs)
source("riostream", "us", "riostream -S 64 -C 1")(lambda b: b.stream("riostream", "-I", "1000"))
source("rstream", "us", "rstream -S 64 -C 1")(lambda b: b.stream("rstream", "-I", "5000"))
source("rstream-blocking", "us", "rstream -S 64 -C 1 -T b")(
    lambda b: b.stream("rstream", "-I", "2000", "-T", "b"))
source("rstream-tcp", "us", "rstream -S 64 -C 1 -T s -T b: TCP")(
    lambda b: b.stream("rstream", "-I", "2000", "-T", "s", "-T", "b", adverb=False))


@source("poll-empty", "instructions", "bench/count-instructions")
def poll_empty(bench):
    import count_instructions  # callgrind is slow to start: only where it is asked for
    return count_instructions.count(bench.lab)[0]["poll-empty"]["all"]
