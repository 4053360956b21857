# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""Cases of other groups whose programs connect RC queue pairs by librdmacm: the same, on iWARP devices."""

import cases_cm
import cases_connections  # noqa: F401
import cases_mpi
import cases_netns
import cases_nfs  # noqa: F401
import cases_nvme
import cases_operator  # noqa: F401
import cases_rsocket
import cases_smb  # noqa: F401
import reports
from cases_iwarp import IWARP, iwarp_pair, perftest_pair
from harness import CASES, Failure, case

# Not among them: what needs UD (udaddy, mckey, udpong), XRC, atomics, immediate data, the packets of RoCE, or no TCP;
# rsocket/preload-iperf3-fork: librspreload listens with TCP and RDMA at the same port;
# nfs/timeout, nfs/hostile, smb/timeout: replies complete when the kernel has taken them, so a client that takes none is
# noticed later; programs that do without iWARP: UCX, and pyverbs' tests of librdmacm.
SAME = [
    "cm/rping-persistent", "cm/ucmatose", "cm-netns/cmtime", "cm-others/fio",
    "connections/at-once", "connections/between-hosts", "connections/clients-killed", "connections/daemon-killed",
    "connections/server-killed", "connections/worker-killed",
    "nfs/chunks", "nfs/idle", "nfs/reverse",
    "nvme/add-remove", "nvme/config", "nvme/ipv4", "nvme/reconnect",
    "operator/res-connections",
    "rsocket/rcopy", "rsocket/refused",
    "rsocket/riostream-async", "rsocket/riostream-blocking", "rsocket/riostream-latency",
    "rsocket/riostream-nonblocking", "rsocket/rstream-async", "rsocket/rstream-async-blocking", "rsocket/rstream-bind",
    "rsocket/rstream-blocking", "rsocket/rstream-fork", "rsocket/rstream-ipv6", "rsocket/rstream-keepalive",
    "rsocket/rstream-latency", "rsocket/rstream-no-inline", "rsocket/rstream-nonblocking", "rsocket/rstream-resolve",
    "rsocket/rstream-small-buffers", "rsocket/rstream-sockets",
    "smb/messages",
]
LONG = [
    "cm-netns/mtu-1500-to-9000", "cm-netns/mtu-9000-to-1500", "connections/cycles", "nfs-long/memory-held",
    "nvme-long/copy", "nvme-long/ipv6", "nvme-long/killed-host", "nvme-long/killed-target", "nvme-long/refused",
    "smb/idle", "smb/reverse", "smb/tiny",
]


def register(group, name):
    function, seconds = CASES[name]

    @case(group, name.replace("/", "-"), seconds)
    def run(lab):
        lab.everywhere = IWARP
        function(lab)


for one in SAME:
    register("iwarp-programs", one)
for one in LONG:
    register("iwarp-programs-long", one)


@case("iwarp-programs", "qperf")
def qperf(lab):
    """rc_rdma_write_bw needs immediate data; SENDs of rc_bw and rc_bi_bw may find no receive, and iWARP has no RNR."""
    lab.everywhere = IWARP
    cases_cm.run_qperf(lab, "rc_rdma_read_bw", "rc_rdma_read_lat", "rc_lat")


@case("iwarp-programs", "mpi-libfabric")
def mpi(lab):
    """libfabric has no immediate data here, so Open MPI puts the rank into the tag. Its synchronous SENDs then wait for
    ever, also on RoCE (`--mca mtl_ofi_tag_mode ofi_tag_1`). A barrier of 2, 4, 8 ... ranks has none."""
    lab.everywhere = IWARP
    cases_mpi.over_libfabric(lab, ranks=4)


@case("iwarp-programs", "preload-iperf3")
def preload(lab):
    """librspreload, in both directions and with three streams; the data passes through RDMA WRITEs."""
    lab.everywhere = IWARP
    for options in ([], ["-R"], ["-P", "3"]):
        cases_rsocket.iperf3(lab, options)
    counter = "/sys/class/infiniband/adverb0/ports/1/hw_counters/rx_write_requests"
    if int(lab.run(["cat", counter]).split()[-1]) < 100:
        raise Failure("few RDMA WRITEs")


@case("iwarp-programs", "nvme-invalidate")
def invalidate(lab):
    """Each command has a key of its own, which the target's response invalidates."""
    lab.everywhere = IWARP
    target = cases_nvme.serve(lab, "-n", "ram:16MiB")
    for options in (["-b", "8KiB", "-i", "2"], ["-b", "64KiB"]):
        lab.run(cases_nvme.host(lab, "verify", "--invalidate", "-Q", "32", "--size", "1MiB", *options))
    cases_nvme.end(target)


def register_perftest(name, command):
    @case("iwarp-programs", f"perftest-{name}")
    def run(lab):
        text = perftest_pair(lab, [*command, "-R", "-F", "-n", "200"])
        rows = reports.perftest_rows(text.replace("-nan", "0"))
        if len(rows) != 1:
            raise Failure(f"not one row of results:\n{text}")


# On iWARP, ib_send_bw -e waits for an event that nothing causes; ib_write_bw refuses -e everywhere.
EVENTS = {"events": ["ib_read_bw", "-e"], "events-latency": ["ib_send_lat", "-e"]}

for one_name, one_command in {**cases_cm.PERFTEST, **EVENTS}.items():
    if not one_name.startswith(("atomic", "ud")):
        register_perftest(one_name, one_command)


def register_two_hosts(family):
    @case("iwarp-programs", f"two-hosts-ipv{family}", seconds=180)
    def run(lab):
        """Each host has an adverbd of its own."""
        there = cases_netns.two_hosts(lab, 1500)
        server, own = cases_netns.ADDRESSES[family][1], cases_netns.ADDRESSES[family][0]
        kind = "ip" if family == "4" else "ipv6"
        for port, one, other in (
                (7174, f"rping -s -a {server} -V -C 10", f"rping -c -a {server} -V -C 10"),
                (7174, f"rping -s -a {server} -V -C 3 -S 65000", f"rping -c -a {server} -I {own} -V -C 3 -S 65000"),
                (7471, f"ucmatose -b {server} -f {kind} -S 3000 -C 20 -c 5",
                 f"ucmatose -s {server} -b {own} -f {kind} -S 3000 -C 20 -c 5"),
                (7471, f"rdma_server -s {server}", f"rdma_client -s {server}"),
                (7471, f"rstream -b {server} -f {kind} -S 70000 -C 5 -I 3 -T v",
                 f"rstream -s {server} -f {kind} -S 70000 -C 5 -I 3 -T v")):
            iwarp_pair(lab, one.split(), other.split(), port, there=there)


for one_family in ("4", "6"):
    register_two_hosts(one_family)
