# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""The device as programs find it by netlink: iproute2's `rdma`."""

import json
import re

from cases_sysfs import IBDEV, PORT, counters, keep_daemon, read, same
from harness import Failure, case, need_tool


def rdma(lab, *words):
    """What `rdma -j` prints."""
    return json.loads(lab.run([need_tool("rdma"), "-j", *words]))


@case("netlink", "device")
def device(lab):
    """`rdma dev` says what sysfs and verbs do."""
    [shown] = rdma(lab, "-d", "dev", "show")
    text = lab.run(["ibv_devinfo", "-v"])
    same("name", (shown["ifname"], shown["node_type"]), ("adverb0", "ca"))
    same("firmware", shown["fw"], read(lab, f"{IBDEV}/fw_ver")[0])
    same("GUID", shown["node_guid"], read(lab, f"{IBDEV}/node_guid")[0])
    same("image", shown["sys_image_guid"], shown["node_guid"])
    flags = int(re.search(r"device_cap_flags:\s+0x([0-9a-f]+)", text).group(1), 16)
    same("flags", len(shown["caps"]), flags.bit_count())
    if "XRC" not in shown["caps"] or "UNKNOWN" in shown["caps"]:
        raise Failure(f"capabilities: {shown['caps']}")


@case("netlink", "link")
def link(lab):
    """`rdma link` follows the port."""
    wanted = {"ifindex": 1, "ifname": "adverb0", "port": 1, "state": "ACTIVE",
              "physical_state": "LINK_UP", "netdev": "lo", "netdev_index": 1}
    same("link", rdma(lab, "link", "show"), [wanted])
    same("text", lab.run([need_tool("rdma"), "link", "show", "adverb0/1"]).split(),
         "link adverb0/1 state ACTIVE physical_state LINK_UP netdev lo".split())
    lab.system("ip link set lo down")
    lab.wait_until(lambda: rdma(lab, "link", "show")[0]["state"] == "DOWN", 20, "the port is down")
    same("sysfs", read(lab, f"{PORT}/state"), ["1: DOWN"])


@case("netlink", "system")
def system(lab):
    said = lab.run([need_tool("rdma"), "system"]).split()  # newer ones say more
    said = dict(zip(said[::2], said[1::2]))
    same("netns", said.get("netns"), "exclusive")
    same("copy-on-fork", said.get("copy-on-fork"), "on")


@case("netlink", "statistic")
def statistic(lab):
    """Counters have the names and values of sysfs."""
    keep_daemon(lab)
    program = ["ib_write_bw", "-F", "-n", "200", "-s", "65536"]
    lab.pair(program, [*program, "127.0.0.1"])
    [shown] = rdma(lab, "statistic", "show")
    same("port", (shown.pop("ifname"), shown.pop("port")), ("adverb0", 1))
    files = counters(lab)
    same("names", sorted(shown),
         sorted(lab.run(["ls", f"{PORT}/hw_counters"]).split()))
    same("values", shown, {name: files[name] for name in shown})
    same("rx_write_requests", shown["rx_write_requests"], 200)
    same("of queue pairs", lab.run([need_tool("rdma"), "statistic", "qp", "show"]), "")
    same("switched", lab.run([need_tool("rdma"), "statistic", "mode"]), "")


@case("netlink", "refusals")
def refusals(lab):
    """What would change a device is refused, and names that do not exist are errors."""
    tool = need_tool("rdma")
    for words in (["dev", "set", "adverb0", "name", "other"],
                  ["system", "set", "netns", "shared"],
                  ["link", "add", "rxe0", "type", "rxe", "netdev", "lo"],
                  ["statistic", "qp", "set", "link", "adverb0/1", "auto", "type", "on"]):
        process = lab.start([tool, *words])
        if process.wait(20) == 0 or "not supported" not in process.output():
            raise Failure(process.describe())
    if lab.start([tool, "link", "show", "adverb0/2"]).wait(20) == 0:
        raise Failure("a second port")


PYTHON = """
import select, socket, struct
s = socket.socket(socket.AF_NETLINK, socket.SOCK_RAW | socket.SOCK_NONBLOCK, 20)
s.bind((0, 0))
port = s.getsockname()[0]
assert s.family == socket.AF_NETLINK and s.getsockopt(socket.SOL_SOCKET, socket.SO_PROTOCOL) == 20
assert not select.select([s], [], [], 0)[0]
request = struct.pack("=IHHII", 16, 5 << 10 | 1, 0x301, 7, 0)  # NLDEV GET, REQUEST | DUMP
other = socket.socket(fileno=socket.dup(s.fileno()))
other.sendto(request, (0, 0))
assert select.select([s], [], [], 5)[0]
data, sender = s.recvfrom(65536)
assert sender == (0, 0), sender
length, kind, flags, serial, to = struct.unpack_from("=IHHII", data)
assert (kind, flags, serial, to) == (5 << 10 | 1, 2, 7, port), (kind, flags, serial, to, port)
assert b"adverb0\\0" in data[:length]
end = struct.unpack_from("=IHHIIi", data, length)
assert end == (20, 3, 2, 7, port, 0), end
second = socket.socket(socket.AF_NETLINK, socket.SOCK_RAW, 20)
second.bind((0, 0))
assert second.getsockname()[0] != port
for bad in (b"", b"x", request[:15], struct.pack("=IHHII", 15, 1, 1, 0, 0),
            struct.pack("=IHHII", 4096, 5 << 10 | 1, 1, 0, 0)):
    s.send(bad)
s.send(struct.pack("=IHHII", 16, 4 << 10 | 1, 1, 9, 0))  # local services: not here
assert struct.unpack_from("=IHHIIi", s.recv(4096))[1:] == (2, 0x100, 9, port, -95)
try:
    s.recv(1)
    raise SystemExit("more came")
except BlockingIOError:
    pass
route = socket.socket(socket.AF_NETLINK, socket.SOCK_RAW, 0)  # others are the kernel's
route.bind((0, 0))
route.send(struct.pack("=IHHIIBxHiII", 32, 18, 0x301, 1, 0, 0, 0, 0, 0, 0))
assert struct.unpack_from("=IH", route.recv(65536))[1] == 16
print("good")
"""


@case("netlink", "socket")
def socket_calls(lab):
    """A socket behaves as the kernel's: ports, poll, copies, what is malformed."""
    same("output", lab.run(["/usr/bin/python3", "-c", PYTHON]), "good\n")
