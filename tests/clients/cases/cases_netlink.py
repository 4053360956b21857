# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""The device as programs find it by netlink: iproute2's `rdma`."""

import json
import os
import pathlib
import re
import shutil
import signal

from cases_device import NOBODY, as_nobody
from cases_sysfs import IBDEV, PORT, counters, keep_daemon, read, same
from harness import Failure, case, need_tool


def rdma(lab, *words):
    """Returns the parsed output of `rdma -j`."""
    return json.loads(lab.run([need_tool("rdma"), "-j", *words]))


@case("netlink", "device")
def device(lab):
    """`rdma dev` agrees with sysfs and verbs."""
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
    said = lab.run([need_tool("rdma"), "system"]).split()  # newer versions print more
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
    """Requests that change a device are refused; unknown names are errors."""
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


def resources(lab, kind):
    """Returns {process id: its objects} from `rdma resource`."""
    found = {}
    for one in rdma(lab, "resource", "show", kind):
        found.setdefault(one.pop("pid", None), []).append(one)
    return found


def rping_pair(lab):
    """Starts a server and a client that run until they are killed."""
    server = lab.start(["rping", "-s", "-C", "100000000"])
    lab.wait_until(lambda: rdma(lab, "resource", "show", "cm_id"), 20, "the server listens")
    client = lab.start(["rping", "-c", "-a", "127.0.0.1", "-C", "100000000"])
    lab.wait_until(lambda: len(resources(lab, "qp")) == 2, 20, "both have a queue pair")
    lab.wait_until(lambda: all(q["state"] == "RTS" for qs in resources(lab, "qp").values()
                               for q in qs), 20, "they are connected")
    return server, client


@case("netlink", "resources")
def programs(lab):
    """The objects of programs, with the numbers by which they refer to each other."""
    need_tool("rping")
    server, client = rping_pair(lab)
    qps = resources(lab, "qp")
    same("processes", sorted(qps), sorted([server.pid, client.pid]))
    [here], [there] = qps[server.pid], qps[client.pid]
    same("peers", (here["lqpn"], there["lqpn"]), (there["rqpn"], here["rqpn"]))
    same("kinds", {(q["type"], q["state"], q["port"], q["comm"]) for q in (here, there)},
         {("RC", "RTS", 1, "rping")})
    before = here["sq-psn"]
    lab.wait_until(lambda: resources(lab, "qp")[server.pid][0]["sq-psn"] != before, 20,
                   "PSNs go on while they are looked at")
    for pid, qp in ((server.pid, here), (client.pid, there)):
        pds = {pd["pdn"]: pd for pd in resources(lab, "pd")[pid]}
        regions = [mr for mr in resources(lab, "mr")[pid] if mr["pdn"] == qp["pdn"]]
        [cq] = resources(lab, "cq")[pid]
        [context] = resources(lab, "ctx")[pid]
        same("PD in use", pds[qp["pdn"]]["users"] > len(regions) > 0, True)
        same("lengths", {mr["mrlen"] for mr in regions} >= {16, 64}, True)
        same("CQ", (cq["users"], cq["cqe"] >= 16), (2, True))
        same("context", {cq["ctxn"], *(pd["ctxn"] for pd in pds.values())}, {context["ctxn"]})
    same("no SRQ", resources(lab, "srq"), {})
    ids = [one for ones in resources(lab, "cm_id").values() for one in ones]
    same("connections", sorted((i["lqpn"], i["qp-type"], i["ps"]) for i in ids
                               if i["state"] == "CONNECT"),
         sorted((q["lqpn"], "RC", "TCP") for q in (here, there)))
    same("listener", [(i["src-addr"], "dst-addr" in i) for i in ids if i["state"] == "LISTEN"],
         [("0.0.0.0:7174", False)])
    [sums] = rdma(lab, "resource")
    same("sums", (sums["qp"], sums["cq"], sums["ctx"], sums["cm_id"], sums["srq"]), (2, 2, 2, 3, 0))
    same("one", rdma(lab, "resource", "show", "qp", "link", "adverb0/1", "lqpn", str(here["lqpn"]))[0]
         ["pid"], server.pid)
    client.kill()
    server.kill()
    lab.wait_until(lambda: rdma(lab, "resource")[0]["qp"] == 0, 20, "nothing is left")


@case("netlink", "many-resources")
def many(lab):
    """More objects than fit into a message, a datagram or a socket; each is listed once."""
    program = lab.start([lab.client("holder"), "5000"])
    lab.wait_until(lambda: "ready" in program.output(), 60, "5000 queue pairs")
    for kind, number, count in (("qp", "lqpn", 5000), ("mr", "mrn", 3000), ("cq", "cqn", 2000),
                                ("pd", "pdn", 1000), ("srq", "srqn", 100)):
        numbers = [one[number] for one in rdma(lab, "resource", "show", kind)]
        same(kind, (len(numbers), len(set(numbers))), (count, count))
    [sums] = rdma(lab, "resource")
    same("sums", [sums[k] for k in ("qp", "mr", "cq", "pd", "srq", "ctx")],
         [5000, 3000, 2000, 1000, 100, 1])


@case("netlink", "contexts")
def contexts(lab):
    """A program's contexts are distinct, also those that share a device."""
    program = lab.start([lab.client("holder"), "10", "40"])
    lab.wait_until(lambda: "ready" in program.output(), 60, "41 contexts")
    numbers = [one["ctxn"] for one in resources(lab, "ctx")[program.pid]]
    same("contexts", (len(numbers), len(set(numbers))), (41, 41))
    same("sum", rdma(lab, "resource")[0]["ctx"], 41)
    same("each has a PD", {pd["ctxn"] for pd in resources(lab, "pd")[program.pid]}, set(numbers))
    same("CQs are of one", len({cq["ctxn"] for cq in resources(lab, "cq")[program.pid]}), 1)


@case("netlink", "stopped")
def stopped(lab):
    """A stopped program does not hide the objects of others."""
    need_tool("rping")
    server, client = rping_pair(lab)
    os.kill(server.pid, signal.SIGSTOP)
    same("processes", list(resources(lab, "qp")), [client.pid])
    same("ids are adverbd's", rdma(lab, "resource")[0]["cm_id"], 3)
    os.kill(server.pid, signal.SIGCONT)
    lab.wait_until(lambda: len(resources(lab, "qp")) == 2, 20, "it answers again")


@case("netlink", "other-users")
def other_users(lab):
    """A user other than root sees no memory keys and, of a system daemon, no other user's objects."""
    env = as_nobody(lab)
    lab.start([lab.build / "adverbd", "--foreground", "--system", "--linger", "300"], adverb=False)
    lab.wait_until(lambda: b"adverbd" in pathlib.Path("/proc/net/unix").read_bytes(), 20,
                   "adverbd listens")
    holder = lab.dir / "holder"  # other users may not be able to read the build directory
    shutil.copy(lab.client("holder"), holder)
    mine = lab.start([holder, "10"])
    theirs = lab.start([holder, "10"], prefix=NOBODY, env=env)
    for program in (mine, theirs):
        lab.wait_until(lambda p=program: "ready" in p.output(), 60, "queue pairs")
    same("root sees", sorted(resources(lab, "qp")), sorted([mine.pid, theirs.pid]))
    same("keys", all("rkey" in mr for mr in resources(lab, "mr")[theirs.pid]), True)
    text = lab.run([need_tool("rdma"), "-j", "resource", "show", "mr"], prefix=NOBODY, env=env)
    seen = json.loads(text)
    same("another sees", {mr["pid"] for mr in seen}, {theirs.pid})
    same("no keys", any("rkey" in mr or "lkey" in mr for mr in seen), False)


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
    """A socket behaves like the kernel's: ports, poll, copies, malformed messages."""
    same("output", lab.run(["/usr/bin/python3", "-c", PYTHON]), "good\n")
