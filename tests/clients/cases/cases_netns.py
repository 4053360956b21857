# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""Two hosts: network namespaces joined by a veth pair, IPv4 and IPv6, Ethernet MTU 1500 and 9000."""

import pathlib
import sys

import reports
from harness import Failure, case

ADDRESSES = {"4": ("10.77.0.1", "10.77.0.2", 24), "6": ("fd77::1", "fd77::2", 64)}
ACTIVE_MTU = {1500: "1024 (3)", 9000: "4096 (5)"}


def two_hosts(lab, mtu, mtu_there=None):
    """Connects this namespace (veth0) to a second one (veth1); returns the command prefix for that."""
    pid, there = lab.namespace()
    lab.system(f"ip link add veth0 type veth peer name veth1 netns {pid}")
    for enter, name, side, mtu in (("", "veth0", 0, mtu),
                                   (f"nsenter -t {pid} -n ", "veth1", 1, mtu_there or mtu)):
        lab.system(f"{enter}ip link set lo up")
        lab.system(f"{enter}sh -c 'echo 0 > /proc/sys/net/ipv6/conf/{name}/accept_dad'")
        lab.system(f"{enter}ip link set {name} mtu {mtu} up")
        for addresses in ADDRESSES.values():
            address, length = addresses[side], addresses[2]
            lab.system(f"{enter}ip address add {address}/{length} dev {name}")
    lab.wait_until(lambda: "LOWER_UP" in lab.system("ip link show veth0"), 10,
                   "the link between the hosts")
    # Also without duplicate address detection, an IPv6 address is tentative for a moment.
    lab.wait_until(lambda: not any(lab.system(f"{enter}ip -6 address show tentative")
                                   for enter in ("", f"nsenter -t {pid} -n ")), 10,
                   "the IPv6 addresses of the hosts")
    return there


def gid_index(devinfo, address):
    wanted = address if ":" in address else f"::ffff:{address}"
    for index, gid in reports.gid_table(devinfo).items():
        if gid == wanted:
            return str(index)
    raise Failure(f"no GID for {address}:\n{devinfo}")


def host_facts(lab, mtu, family, there):
    """Checks the device of each host; returns the GID indices of the two addresses."""
    indices = []
    for prefix, side in (((), 0), (there, 1)):
        text = lab.run(["ibv_devinfo", "-v"], prefix=prefix)
        if reports.port_attribute(text, "active_mtu") != ACTIVE_MTU[mtu]:
            raise Failure(f"active_mtu is not {ACTIVE_MTU[mtu]} at an Ethernet MTU of {mtu}:\n{text}")
        first = reports.gid_table(text).get(0, "")
        if first in ("::1", "::ffff:127.0.0.1"):
            raise Failure(f"a loopback address is first of the GIDs:\n{text}")
        indices.append(gid_index(text, ADDRESSES[family][side]))
    return indices


def register(family, mtu):
    name = f"ipv{family}-mtu-{mtu}"

    @case("netns", name, seconds=240)
    def run(lab):
        there = two_hosts(lab, mtu)
        here_index, there_index = host_facts(lab, mtu, family, there)
        # these programs use a TCP connection over IPv4; the GIDs determine the RDMA addresses
        host = ADDRESSES["4"][1]
        for program, size in (("ibv_rc_pingpong", 20000), ("ibv_ud_pingpong", 1000)):
            base = [program, "-c", "-s", str(size), "-n", "500"]
            for text in lab.pair([*base, "-g", there_index],
                                 [*base, "-g", here_index, host], server_prefix=there):
                reports.pingpong(text, size, 500)
        for program in ("ib_write_bw", "ib_read_bw", "ib_send_bw"):
            base = [program, "-F", "-n", "300"]
            _, client = lab.pair([*base, "-x", there_index], [*base, "-x", here_index, host],
                                 server_prefix=there)
            reports.perftest(client, [65536], 300)


for one_family in ADDRESSES:
    for one_mtu in ACTIVE_MTU:
        register(one_family, one_mtu)


@case("netns", "mtu-within-the-machine")
def own_address(lab):
    """A path MTU of 4096 works to the machine's own addresses with any interface MTU."""
    two_hosts(lab, 1500)
    for address, _, _ in ADDRESSES.values():
        index = gid_index(lab.run(["ibv_devinfo", "-v"]), address)
        base = ["ibv_rc_pingpong", "-c", "-s", "20000", "-n", "300", "-m", "4096", "-g", index]
        for text in lab.pair(base, [*base, "localhost"]):
            reports.pingpong(text, 20000, 300)


@case("netns", "address-comes-and-goes")
def address_changes(lab):
    """The GID table follows the interfaces while a process has the device open."""
    two_hosts(lab, 1500)
    watcher = lab.start(["ibv_asyncwatch"])
    lab.wait_until(lambda: "adverb0" in watcher.output(), 20, "ibv_asyncwatch has started")
    lab.system("ip address add 10.88.0.1/24 dev veth0")

    def gids():
        return reports.gid_table(lab.run(["ibv_devinfo", "-v"])).values()
    lab.wait_until(lambda: "::ffff:10.88.0.1" in gids(), 20, "a new address among the GIDs")
    lab.wait_until(lambda: "GID" in watcher.output(), 20, "a GID change event")
    lab.system("ip address del 10.88.0.1/24 dev veth0")
    lab.wait_until(lambda: "::ffff:10.88.0.1" not in gids(), 20, "a removed address gone")


def register_forged_icmp(family):
    @case("netns", f"forged-icmp-ipv{family}")
    def run(lab):
        """Forged ICMP (packet too big, unreachable) changes nothing."""
        there = two_hosts(lab, 9000)
        indices = host_facts(lab, 9000, family, there)
        here, peer, _ = ADDRESSES[family]
        host = ADDRESSES["4"][1]
        forger = str(pathlib.Path(__file__).resolve().parents[2] / "runtime" / "daemon" / "forge_icmp.py")
        base = ["ib_write_bw", "-F", "-s", "8192", "-D", "8"]
        server = lab.start([*base, "-x", indices[1]], prefix=there)
        lab.wait_listening(server, 18515)
        client = lab.start([*base, "-x", indices[0], host])
        text = lab.run([sys.executable, forger, here, peer, "4"], prefix=there, adverb=False)
        if int(text.split()[0]) < 16384:
            raise Failure(f"too few: {text}")
        if family == "4" and "mtu 576" not in lab.system(f"ip route get {peer}"):
            raise Failure("the forgeries are not such as the kernel believes")
        for process in (client, server):
            process.expect(0, 60)
        base = ["ibv_rc_pingpong", "-c", "-s", "20000", "-n", "300", "-m", "4096"]
        for text in lab.pair([*base, "-g", indices[1]], [*base, "-g", indices[0], host],
                             server_prefix=there):
            reports.pingpong(text, 20000, 300)


for one_family in ADDRESSES:
    register_forged_icmp(one_family)


@case("netns", "peer-dies")
def peer_dies(lab):
    """If a peer is killed, requests of the other side fail instead of hanging."""
    there = two_hosts(lab, 1500)
    program = lab.client("exchange")
    one = lab.start([program], prefix=there)
    lab.wait_listening(one, 18600)
    two = lab.start([program, "-t", "60", ADDRESSES["4"][1]])
    lab.system("sleep 2")
    one.kill()
    two.expect(3, 60)
