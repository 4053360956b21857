# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""What an operator asks: `adverb res` on running programs."""

import json
import os
import shutil
import signal

from cases_device import NOBODY, as_nobody
from cases_netlink import rdma, rping_pair
from cases_sysfs import same
from harness import Failure, case, need_tool


def adverb(lab, *words, status=0, **how):
    """Returns the output of an adverb command."""
    return lab.run([str(lab.adverb), *words], adverb=False, status=status, **how)


def res(lab, *words):
    """Returns the parsed output of `adverb res --json`."""
    return json.loads(adverb(lab, "res", *words, "--json"))


def perftest_pair(lab, *words, server_words=()):
    """Starts perftest's ib_write_bw on both sides for a minute; returns when both are connected."""
    program = ["ib_write_bw", "-F", "-D", "60", *words]
    server = lab.start([*program, *server_words])
    lab.wait_listening(server, 18515)
    client = lab.start([*program, "127.0.0.1"])
    lab.wait_until(lambda: [q["pid"] for q in res(lab, "qp") if q["state"] == "RTS"], 30,
                   "the client is connected")
    return server, client


@case("operator", "res")
def resources(lab):
    """Queue pairs and regions of running programs agree with each other and with `rdma`."""
    server, client = perftest_pair(lab, "-s", "65536", "-m", "2048")
    both = {q["pid"]: q for q in res(lab, "qp", "--details")}
    same("processes", set(both), {server.pid, client.pid})
    here, there = both[server.pid], both[client.pid]
    same("peers", (here["lqpn"], there["lqpn"]), (there["rqpn"], here["rqpn"]))
    same("addresses", {here["dgid"], there["dgid"]}, {"0000:0000:0000:0000:0000:ffff:7f00:0001"})
    same("attributes", {(q["type"], q["path-mtu"], q["comm"], q["port"]) for q in both.values()},
         {("RC", 2048, "ib_write_bw", 1)})
    same("retries", (there["retry-left"], there["retry-cnt"], there["timeout"]), (7, 7, 14))
    before = there["sq-psn"]
    lab.wait_until(lambda: res(lab, "qp", "--pid", str(client.pid))[0]["sq-psn"] != before, 20,
                   "the program continues")
    by_rdma = {q["lqpn"]: q for q in rdma(lab, "resource", "show", "qp")}
    for q in both.values():
        other = by_rdma[q["lqpn"]]
        same("as rdma", [q[k] for k in ("rqpn", "type", "state", "pid", "comm")],
             [other[k] for k in ("rqpn", "type", "state", "pid", "comm")])
    same("regions", [m["mrlen"] for m in res(lab, "mr", "--pid", str(client.pid))], [2 * 65536])
    same("keys", ["rkey" in m for m in res(lab, "mr")], [False, False])
    same("other kinds", [len(res(lab, k)) for k in ("pd", "cq", "srq", "ctx", "cm_id")], [2, 2, 0, 2, 0])
    same("sums", [res(lab)[k] for k in ("qp", "mr", "pd")], [2, 2, 2])
    same("sums of one", adverb(lab, "res", "--pid", str(client.pid)).split()[1:5], ["qp", "1", "cq", "1"])
    text = adverb(lab, "res", "qp", "--details")
    for q in both.values():
        if f"0x{q['lqpn']:06x}" not in text or str(q["pid"]) not in text:
            raise Failure(f"the table lacks a queue pair:\n{text}")
    adverb(lab, "res", "pq", status=2)
    adverb(lab, "res", "qp", "--pid", "x", status=2)


@case("operator", "res-connections")
def connections(lab):
    """Ids have addresses, states and their queue pairs."""
    need_tool("rping")
    server, client = rping_pair(lab)
    ids = res(lab, "cm_id")
    same("processes", {i["pid"] for i in ids}, {server.pid, client.pid})
    same("listener", [(i["src-addr"], i["ps"]) for i in ids if i["state"] == "LISTEN"],
         [("0.0.0.0:7174", "TCP")])
    [outgoing] = res(lab, "cm_id", "--pid", str(client.pid))
    [qp] = res(lab, "qp", "--pid", str(client.pid))
    same("client", (outgoing["state"], outgoing["dst-addr"], outgoing["lqpn"]),
         ("CONNECT", "127.0.0.1:7174", qp["lqpn"]))


@case("operator", "res-stopped")
def stopped(lab):
    """The command names a stopped program, lists the others and fails."""
    server, client = perftest_pair(lab, "-s", "4096")
    os.kill(server.pid, signal.SIGSTOP)
    text = adverb(lab, "res", "qp", status=1)
    if f"process {server.pid} (ib_write_bw) does not answer: it is stopped" not in text:
        raise Failure(f"the stopped program is not named:\n{text}")
    same("the other one", str(client.pid) in text, True)
    os.kill(server.pid, signal.SIGCONT)
    same("both", len(res(lab, "qp")), 2)


@case("operator", "res-users")
def users(lab):
    """A user sees the objects of his own programs only; root sees all."""
    env = as_nobody(lab)
    daemon = lab.start([lab.adverb.parent / "adverbd", "--system", "--foreground"], adverb=False)
    lab.wait_until(lambda: "adverbd runs for all" in lab.system(f"{lab.adverb} status || true"), 20,
                   "the system's adverbd")
    root = lab.start([lab.client("holder"), "5"])
    shutil.copy(lab.client("holder"), env["HOME"])
    other = lab.start([f"{env['HOME']}/holder", "3"], prefix=NOBODY, env=env)
    lab.wait_until(lambda: "ready" in root.output() and "ready" in other.output(), 30, "both are ready")
    mine = json.loads(adverb(lab, "res", "qp", "--json", prefix=NOBODY, env=env))
    same("the user's", [q["pid"] for q in mine], 3 * [other.pid])
    same("root's", sorted(q["pid"] for q in res(lab, "qp")), sorted(5 * [root.pid] + 3 * [other.pid]))
    daemon.kill()
