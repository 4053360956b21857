# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""Several devices in one machine: `adverb run --devices`."""

import json
import re

from cases_cm import cm_pair, perftest_pair
from cases_sysfs import keep_daemon, same
from harness import Failure, case, need_tool

RAILS = 4
LIST = ",".join(f"rail{i}=10.0.{i}.1" for i in range(RAILS))
PORT = "/sys/class/infiniband/{}/ports/1"
FIELDS = ("port_xmit_packets", "port_rcv_packets", "port_xmit_data", "port_rcv_data")


def make_rails(lab):
    """Gives each rail an address; from now on the lab's programs see the rails."""
    for i in range(RAILS):
        lab.system(f"ip addr add 10.0.{i}.1/24 dev lo")
    lab.everywhere["ADVERB_DEVICES"] = LIST
    keep_daemon(lab)


def counted(lab):
    """Returns (packets sent, packets received, data sent, data received) of each rail."""
    files = [f"{PORT.format(f'rail{i}')}/counters/{name}" for i in range(RAILS) for name in FIELDS]
    values = [int(line) for line in lab.run(["cat", *files]).split()]
    return [tuple(values[i:i + len(FIELDS)]) for i in range(0, len(values), len(FIELDS))]


def used(lab, program):
    """Runs program(), and returns the names of the rails that carried packets meanwhile."""
    before = counted(lab)
    program()
    return {f"rail{i}" for i, (old, new) in enumerate(zip(before, counted(lab))) if new != old}


@case("rails", "list")
def devices(lab):
    """Verbs, sysfs and netlink show the same devices, in the same order."""
    make_rails(lab)
    shown = re.findall(r"^\s*(rail\d)\s+([0-9a-f]{16})$", lab.run(["ibv_devices"]), re.M)
    same("names", [name for name, _ in shown], [f"rail{i}" for i in range(RAILS)])
    same("different GUIDs", len({guid for _, guid in shown}), RAILS)
    same("sysfs", lab.run(["ls", "/sys/class/infiniband"]).split(), [name for name, _ in shown])
    for index, (name, guid) in enumerate(shown):
        folder = f"/sys/class/infiniband/{name}"
        same("GUID", lab.run(["cat", f"{folder}/node_guid"]).strip().replace(":", ""), guid)
        same("GIDs", lab.run(["ls", f"{folder}/ports/1/gids"]).split(), ["0"])
        same("GID", lab.run(["cat", f"{folder}/ports/1/gids/0"]).strip()[-9:],
             f"0a00:{index:02x}01")
        same("node", lab.run(["cat", f"/sys/class/infiniband_verbs/uverbs{index}/ibdev"]).strip(),
             name)
        same("node's device", lab.run(["stat", "-c", "%Hr:%Lr", f"/dev/infiniband/uverbs{index}"]).strip(),
             f"231:{192 + index}")
    listed = json.loads(lab.run([need_tool("rdma"), "-j", "dev"]))
    same("netlink", [(d["ifindex"], d["ifname"], d["node_guid"].replace(":", "")) for d in listed],
         [(i + 1, name, guid) for i, (name, guid) in enumerate(shown)])


@case("rails", "perftest")
def perftest(lab):
    """A program uses the device that it names, and only its counters move."""
    make_rails(lab)
    write = ["ib_write_bw", "-F", "-n", "100", "-s", "65536"]
    same("two rails", used(lab, lambda: lab.pair([*write, "-d", "rail3"], [*write, "-d", "rail1", "10.0.0.1"])),
         {"rail1", "rail3"})
    same("one rail", used(lab, lambda: lab.pair([*write, "-d", "rail2"], [*write, "-d", "rail2", "10.0.0.1"])),
         {"rail2"})


@case("rails", "connection-manager")
def connection_manager(lab):
    """librdmacm takes the device that has the address."""
    make_rails(lab)
    write = ["ib_write_bw", "-F", "-R", "-n", "100", "-s", "65536"]
    same("by destination", used(lab, lambda: perftest_pair(lab, write, "10.0.2.1")), {"rail2"})
    server = ["rping", "-C", "5", "-v", "-s", "-a", "10.0.1.1"]
    client = ["rping", "-C", "5", "-v", "-c", "-a", "10.0.1.1", "-I", "10.0.3.1"]
    same("by source", used(lab, lambda: cm_pair(lab, server, client)), {"rail1", "rail3"})


@case("rails", "ucx", seconds=240)
def ucx(lab):
    """UCX divides a large message between two rails."""
    make_rails(lab)
    perf = [need_tool("ucx_perftest"), "-p", "13337"]
    env = {"UCX_NET_DEVICES": "rail0:1,rail1:1", "UCX_TLS": "rc,self", "UCX_MAX_RNDV_RAILS": "2"}
    before = counted(lab)
    lab.pair(perf, [*perf, "127.0.0.1", "-t", "tag_bw", "-s", "1000000", "-n", "200"], port=13337, env=env)
    sent = [new[2] - old[2] for old, new in zip(before, counted(lab))]
    if min(sent[:2]) < 0.4 * sum(sent) or any(sent[2:]):
        raise Failure(f"data of the rails: {sent}")


@case("rails", "one-goes")
def one_goes(lab):
    """An interface that loses its address takes one device's port down, and no other."""
    make_rails(lab)
    state = [PORT.format(f"rail{i}") + "/state" for i in range(RAILS)]

    def states():
        return [line.split()[1] for line in lab.run(["cat", *state]).splitlines()]

    watch = lab.start(["ibv_asyncwatch", "-d", "rail0"])
    other = lab.start(["ibv_asyncwatch", "-d", "rail2"])
    lab.wait_until(lambda: "async event FD" in watch.output() and "async event FD" in other.output(),
                   20, "both programs watch")
    lab.system("ip addr del 10.0.2.1/24 dev lo")
    lab.wait_until(lambda: states() == ["ACTIVE", "ACTIVE", "DOWN", "ACTIVE"], 20, "rail2 is down")
    lab.wait_until(lambda: "IBV_EVENT_PORT_ERR" in other.output(), 20, "PORT_ERR on rail2")
    lab.system("ip addr add 10.0.2.1/24 dev lo")
    lab.wait_until(lambda: states() == ["ACTIVE"] * RAILS, 20, "rail2 is up")
    lab.wait_until(lambda: "IBV_EVENT_PORT_ACTIVE" in other.output(), 20, "PORT_ACTIVE on rail2")
    if "event_type" in watch.output():
        raise Failure(f"rail0 has events:\n{watch.output()}")


@case("rails", "refused")
def refused(lab):
    """What is not a list of devices is refused with a reason."""
    for text, reason in (("a=lo,a=lo", "two devices have the name a"),
                         ("40", "between 1 and 32"),
                         ("a/b=lo", "cannot be the name of a device"),
                         ("a=10.0.0", "is no address")):
        said = lab.run([lab.build / "adverb", "run", "--devices", text, "--", "ibv_devices"],
                       status=125, adverb=False)
        if reason not in said:
            raise Failure(f"--devices {text} says: {said}")
    said = lab.run(["ibv_devices"], status=1, env={"ADVERB_DEVICES": "a=lo,a=lo"})
    if "ADVERB_DEVICES: two devices" not in said:
        raise Failure(f"ADVERB_DEVICES says: {said}")
