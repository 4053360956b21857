# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""What an operator asks of running programs: `adverb res`, `adverb explain --pid`, `adverb stat`."""

import json
import os
import re
import shlex
import shutil
import signal
import time

from cases_device import NOBODY, as_nobody
from cases_netlink import rdma, rping_pair
from cases_netns import gid_index, two_hosts
from cases_sysfs import counters, same
from harness import HERE, Failure, case, daemons, need_tool


def adverb(lab, *words, status=0, **how):
    """Returns the output of an adverb command, which may describe the errors of others."""
    process = lab.start([lab.adverb, *words], adverb=False, **how)
    if process.wait(60) != status:
        raise Failure(f"exit status {process.popen.returncode}, not {status}:\n{process.describe()}")
    return process.output()


def res(lab, *words):
    """Returns the parsed output of `adverb res --json`."""
    return json.loads(adverb(lab, "res", *words, "--json"))


def perftest_pair(lab, *words, server_words=()):
    """Starts perftest's ib_write_bw on both sides for a minute; returns when both are connected."""
    program = ["ib_write_bw", "-F", "-D", "60", *words]
    server = lab.start([*program, *server_words])
    lab.wait_listening(server, 18515)
    client = lab.start([*program, "127.0.0.1"])
    lab.wait_until(lambda: client.pid in [q["pid"] for q in res(lab, "qp") if q["state"] == "RTS"], 30,
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


@case("operator", "daemon-of-another-user")
def daemon_of_another_user(lab):
    """All commands name the adverbd of another user, and what to do. Once it is idle, a program waits for its end."""
    env = as_nobody(lab)
    holder = lab.start([lab.client("holder"), "1"])
    lab.wait_until(lambda: "ready" in holder.output(), 30, "the program of root runs")
    daemon = f"{lab.adverb.parent.resolve()}/adverbd"
    for words in ("status", "res", "res qp", "explain --pid 1", "fault show", "devinfo", "stat", "run -- true"):
        process = lab.start([lab.adverb, *words.split()], adverb=False, prefix=NOBODY, env=env)
        process.wait(60)
        if not re.search(rf"in use by the adverbd of user root.* systemctl enable --now adverbd\.socket, or {daemon} "
                         r"--system\)", process.output()):
            raise Failure(process.describe())
    same("top", "UDP port 4791 is in use" in adverb(lab, "top", "--once", prefix=NOBODY, env=env), True)
    holder.kill()
    devinfo = lab.run(["ibv_devinfo"], prefix=NOBODY, env=env)
    same("waits", ("adverb0" in devinfo, "in use" in devinfo), (True, False))


@case("operator", "explain-owner")
def explain_owner(lab):
    """A process that does not exist, and one of another user, are named as such."""
    env = as_nobody(lab)
    daemon = lab.start([lab.adverb.parent / "adverbd", "--system", "--foreground"], adverb=False)
    lab.wait_until(lambda: "adverbd runs for all" in lab.system(f"{lab.adverb} status || true"), 20,
                   "the system's adverbd")
    root = lab.start([lab.client("holder"), "1"])
    lab.wait_until(lambda: "ready" in root.output(), 30, "the program of root runs")
    ended = lab.start(["true"], adverb=False)
    ended.wait(30)
    for pid, words in ((root.pid, f"process {root.pid} belongs to user 0"),
                       (ended.pid, f"there is no process {ended.pid};")):
        text = adverb(lab, "explain", "--pid", str(pid), status=1, prefix=NOBODY, env=env)
        same(f"the reason for {pid}", words in text, True)
    daemon.kill()


# ---- adverb explain --pid ----

HELD = 0.3  # seconds for which a stopped program keeps the first reading waiting

def findings(lab, process, *words):
    """Returns the branches that `adverb explain --pid` names, in order, and its output."""
    text = adverb(lab, "explain", "--pid", str(process.pid), *words)
    return re.findall(r"^    \d+\. ([a-z -]+): ", text, re.M), text


def expect_first(lab, process, branch, *texts, seconds=30):
    """Waits until the command sees trouble. Fails unless the branch is first, and the texts are shown."""
    shown = []

    def has_trouble():
        shown[:] = findings(lab, process)
        return shown[0] and shown[0][0] != "no trouble"
    lab.wait_until(has_trouble, seconds, "trouble is seen")
    same("first branch", shown[0][0], branch)
    for text in texts:
        if not re.search(text, shown[1]):
            raise Failure(f"the output lacks '{text}':\n{shown[1]}")
    return shown[1]


def trouble(lab, mode, there=None, faults=None):
    """Starts the program `trouble` at both ends, the server in a second namespace if given."""
    program = lab.client("trouble")
    host, gid = ("10.77.0.2", "0") if there else ("127.0.0.1", "0")
    if there:
        gid = gid_index(lab.run(["ibv_devinfo", "-v"]), "10.77.0.1")
        far = gid_index(lab.run(["ibv_devinfo", "-v"], prefix=there), "10.77.0.2")
    server = lab.start([program, far if there else gid, "7000"], prefix=there or ())
    run = [lab.adverb, "run", *(["--fault", faults] if faults else []), "--"]
    client = lab.start([*run, program, gid, "7000", host, mode], adverb=False)
    lab.wait_until(lambda: "ready" in client.output() or not client.running(), 30, "connected")
    return server, client


@case("operator", "explain-works")
def explain_works(lab):
    """Of two programs that work, the command reports the state and no trouble."""
    server, client = trouble(lab, "write")
    [there] = res(lab, "qp", "--pid", str(server.pid))
    branches, text = findings(lab, client)
    same("branches", branches, ["no trouble"])
    for wanted in (r"RC, state RTS, of process \d+ \(trouble\)", rf"queue pair 0x{there['lqpn']:06x}",
                   "path MTU 4096", r"retries   7 of 7 left, timeout 18 \(1074 ms\)",
                   rf"process {server.pid} \(trouble\) of this machine\n", r"sent +\d{2,} packets/s"):
        if not re.search(wanted, text):
            raise Failure(f"the output lacks '{wanted}':\n{text}")
    [here] = res(lab, "qp", "--pid", str(client.pid))
    same("one", findings(lab, client, "--qp", hex(here["lqpn"]))[0], ["no trouble"])
    report = json.loads(adverb(lab, "explain", "--json", "--pid", str(client.pid)))
    [qp] = report["queue-pairs"]
    same("state", (qp["lqpn"], qp["state"], qp["retry-left"]), (here["lqpn"], "RTS", 7))
    same("peer", (qp["peer"]["state"], qp["peer"]["pid"]), ("runs", server.pid))
    same("findings", [f["branch"] for f in qp["findings"]], ["no trouble"])
    if report["port"]["tx-packets"] == 0:
        raise Failure(f"no packets: {report['port']}")
    adverb(lab, "explain", "--pid", str(client.pid), "--qp", hex(there["lqpn"]), status=1)
    adverb(lab, "explain", "--pid", "1", status=1)
    adverb(lab, "explain", "--qp", "17", status=2)


@case("operator", "explain-stopped-here")
def explain_stopped_here(lab):
    """A stopped peer on the same machine; perftest. The stopped program itself is named, too."""
    server, client = perftest_pair(lab, "-u", "18")
    os.kill(server.pid, signal.SIGSTOP)
    expect_first(lab, client, "peer application", rf"process {server.pid} \(ib_write_bw\).*, stopped")
    same("the program itself", findings(lab, server)[0], ["local application"])
    report = json.loads(adverb(lab, "explain", "--json", "--pid", str(server.pid)))
    same("the program itself, JSON", [f["branch"] for f in report["findings"]], ["local application"])


@case("operator", "explain-stopped-there")
def explain_stopped_there(lab):
    """A stopped peer on another host, whose connection manager still answers."""
    server, client = trouble(lab, "write", two_hosts(lab, 9000))
    os.kill(server.pid, signal.SIGSTOP)
    expect_first(lab, client, "peer application", "port 4791.: answered", "as the path MTU: answered")


@case("operator", "explain-gone")
def explain_gone(lab):
    """A peer that has exited."""
    server, client = trouble(lab, "write")
    server.kill()
    expect_first(lab, client, "peer application", "has no queue pair with the peer's number")


@case("operator", "explain-firewall")
def explain_firewall(lab):
    """A firewall at the peer drops, or rejects, packets to UDP port 4791."""
    nft = need_tool("nft")
    there = two_hosts(lab, 9000)
    server, client = trouble(lab, "write", there)
    enter = " ".join(there)
    lab.system(f"{enter} {nft} 'add table inet t; add chain inet t in {{ type filter hook input priority 0; }}; "
               "add rule inet t in udp dport 4791 drop'")
    expect_first(lab, client, "fabric", "port 4791.: no answer", "short: answered",
                 "UDP port 4791 does not get through")
    same("server runs", server.running(), True)


@case("operator", "explain-path-mtu")
def explain_path_mtu(lab):
    """Packets of the path MTU are dropped on the way, shorter ones pass."""
    nft = need_tool("nft")
    there = two_hosts(lab, 9000)
    server, client = trouble(lab, "write", there)
    enter = " ".join(there)
    lab.system(f"{enter} {nft} 'add table inet t; add chain inet t in {{ type filter hook input priority 0; }}; "
               "add rule inet t in meta length > 1500 drop'")
    expect_first(lab, client, "set-up", "port 4791.: answered", "short: answered; as long as the path MTU: no answer",
                 "path MTU 4096")
    same("server runs", server.running(), True)


@case("operator", "explain-rnr")
def explain_rnr(lab):
    """A receiver without receive requests; from its side, too."""
    server, client = trouble(lab, "send")
    expect_first(lab, client, "peer application", "no receive request posted", r"rnr_nak_retry_err \d")
    expect_first(lab, server, "local application", r"out_of_buffer \d")


@case("operator", "explain-rnr-pipeline")
def explain_rnr_pipeline(lab):
    """The same with many SENDs at once: those behind the RNR NAK are not lost."""
    server, client = trouble(lab, "sends")
    expect_first(lab, client, "peer application", "no receive request posted")
    expect_first(lab, server, "local application", r"out_of_buffer \d")
    for end in (client, server):
        branches, text = findings(lab, end)
        if "fabric" in branches or "out_of_sequence" in text:
            raise Failure(f"nothing is lost:\n{text}")


@case("operator", "explain-partition")
def explain_partition(lab):
    """Queue pairs of two partitions: both ends name the P_Key, the receiver with certainty."""
    lab.everywhere["ADVERB_PKEYS"] = "0x8001,0x8002"
    program = ["ib_write_bw", "-F", "-n", "20", "-u", "18"]
    server = lab.start([*program, "--pkey_index=0"])
    lab.wait_listening(server, 18515)
    client = lab.start([*program, "--pkey_index=1", "127.0.0.1"])
    lab.wait_until(lambda: [q["state"] for q in res(lab, "qp", "--pid", str(client.pid))] == ["RTS"], 30, "a queue pair")
    expect_first(lab, client, "set-up", "drops the packets: their P_Key")
    expect_first(lab, server, "set-up", "P_Key does not match", "qp_pkey_violations")


@case("operator", "explain-rkey")
def explain_rkey(lab):
    """A wrong R_Key; from the side of the memory, too. Both ends name the key and the memory."""
    lab.everywhere["ADVERB_LOG"] = "warn"
    for mode, bytes_, cause in (("rkey", 8192, "33 RKEY"), ("read-rkey", 8192, "33 RKEY"), ("add-rkey", 8, "33 RKEY"),
                                ("write-bounds", 8192, "35 REMOTE_BOUNDS")):
        server, client = trouble(lab, mode)
        lab.wait_until(lambda: "failed remote access error" in client.output(), 20, "the request fails")
        memory = rf"rkey 0x[0-9a-f]{{8}}, address 0x[0-9a-f]+, {bytes_} bytes"
        asked = expect_first(lab, client, "set-up", "IBV_WC_REM_ACCESS_ERR", "cause 11 NAK_ACCESS", "compare rkey", memory)
        refused = expect_first(lab, server, "set-up", "IBV_EVENT_QP_ACCESS_ERR", f"cause {cause}",
                               "of this process was refused", memory)
        same("memory", re.search(memory, asked)[0], re.search(memory, refused)[0])
        if not re.search(rf"\(cause {cause.split()[0]}\): {memory}", server.output()):
            raise Failure(f"the server's log lacks the key:\n{server.output()}")
        report = json.loads(adverb(lab, "explain", "--json", "--pid", str(server.pid)))
        same("as JSON", f"0x{report['queue-pairs'][0]['error-memory']['rkey']:08x}", re.search(memory, asked)[0][5:15])
        server.kill()
        client.kill()


@case("operator", "explain-loss")
def explain_loss(lab):
    """A lossy link by --fault, under perftest."""
    program = ["ib_write_bw", "-F", "-D", "60"]
    server = lab.start(program)
    lab.wait_listening(server, 18515)
    client = lab.start([lab.adverb, "run", "--fault", "drop=2%", "--", *program, "127.0.0.1"], adverb=False)
    lab.wait_until(lambda: "RTS" in [q["state"] for q in res(lab, "qp")], 30, "connected")
    texts = [expect_first(lab, client, "fabric", "packets are lost", "a fault plan of this program is in force",
                          r"(packet_seq_err|local_ack_timeout_err) \d+ \(\+\d+\)"),
             expect_first(lab, server, "fabric", "a fault plan of the peer's program is in force",
                          r"(out_of_sequence|duplicate_request) \d+")]
    for text in texts:
        if "switches" in text:
            raise Failure(f"no switch is between programs of one machine:\n{text}")


@case("operator", "explain-marks")
def explain_marks(lab):
    """A congested network, whose marks a fault plan sets: from the side of the sender and of the receiver."""
    server, client = trouble(lab, "write")
    adverb(lab, "fault", "set", "--pid", str(server.pid), "mark rx op=write")
    lab.wait_until(lambda: port_counters(lab)["rp_cnp_handled"] > 2, 20, "CNPs arrive")
    for end, counter in ((client, "rp_cnp_handled"), (server, "np_cnp_sent")):
        expect_first(lab, end, "fabric", "a queue is congested", rf"{counter} \d")


@case("operator", "explain-no-timeout")
def explain_no_timeout(lab):
    """A queue pair that sends nothing again, and a peer that does not receive: no counter grows."""
    server, client = trouble(lab, "no-timeout")
    os.kill(server.pid, signal.SIGSTOP)
    expect_first(lab, client, "peer application", r"timeout 0 \(none\)", ", stopped", "timeout 0: a lost packet")


@case("operator", "explain-unsignaled")
def explain_unsignaled(lab):
    """A send queue full of unsignaled requests, all of which have ended."""
    _, client = trouble(lab, "unsignaled")
    expect_first(lab, client, "local application", "full of unsignaled requests", "16 slots are held")


def busy_iwarp_pair(lab):
    """Starts ib_write_bw for a minute; returns when requests are outstanding. The client connects a second time, and
    crashes if the server does not listen again yet: it gets more tries."""
    program = ["ib_write_bw", "-F", "-R", "-D", "60"]
    for _ in range(10):
        server = lab.start(program)
        lab.wait_listening(server, 18515)
        client = lab.start([*program, "127.0.0.1"])
        lab.wait_until(lambda: not client.running() or
                       [q for q in res(lab, "qp", "--details")
                        if q["pid"] == client.pid and q["send-outstanding"] > 1], 30, "requests are outstanding")
        if client.running():
            return server, client
        server.kill()
    raise Failure("no connection in ten tries")


@case("operator", "explain-iwarp")
def explain_iwarp(lab):
    """iWARP queue pairs: the path is that of TCP; a peer that does not receive; no connection at all."""
    lab.everywhere["ADVERB_TRANSPORT"] = "iwarp"
    need_tool("ib_write_bw")
    server, client = busy_iwarp_pair(lab)
    for wanted in (r"path      127\.0\.0\.1 port \d+ to 127\.0\.0\.1 port 18515, TCP",
                   rf"peer      process {server.pid} \(ib_write_bw\) of this machine\n"):
        lab.wait_until(lambda: re.search(wanted, findings(lab, client)[1]), 20, wanted)
    os.kill(server.pid, signal.SIGSTOP)
    expect_first(lab, client, "peer application", rf"process {server.pid} .*, stopped", "bytes that the peer's TCP has not")
    server.kill()
    client.kill()
    _, alone = trouble(lab, "write")
    expect_first(lab, alone, "set-up", "no connection: its requests wait", "1 requests outstanding")


@case("operator", "explain-rates")
def explain_rates(lab):
    """The time of the rates is that between the readings of the port, not that of the reading of a program."""
    program = lab.start([lab.client("holder"), "5"])
    lab.wait_until(lambda: "ready" in program.output(), 30, "ready")
    os.kill(program.pid, signal.SIGSTOP)
    began = time.monotonic()
    explain = lab.start([lab.adverb, "explain", "--json", "--pid", str(program.pid)], adverb=False)
    time.sleep(HELD)
    os.kill(program.pid, signal.SIGCONT)
    same("exit status", explain.wait(60), 0)
    took = time.monotonic() - began
    ns = json.loads(explain.output())["port"]["ns"]
    if ns / 1e9 > took - HELD:
        raise Failure(f"{ns} ns between the readings, of {took:.3f} s with {HELD} s before the first")


@case("operator", "explain-connect-error")
def explain_connect_error(lab):
    """A peer that disconnects before this end has read that it has accepted: the log and the command say so."""
    for transport, status in (("roce", -22), ("iwarp", -103)):
        lab.everywhere.update(ADVERB_TRANSPORT=transport, ADVERB_LOG="warn")
        text = lab.run([lab.client("leaver")])
        for wanted in (rf"^RDMA_CM_EVENT_CONNECT_ERROR {status}$",
                       r"warn: RDMA_CM_EVENT_CONNECT_ERROR\(0x[0-9a-f]+\): .*: the peer has disconnected"):
            if not re.search(wanted, text, re.M):
                raise Failure(f"{transport}: the output lacks '{wanted}':\n{text}")
        advice = adverb(lab, "explain", f"RDMA_CM_EVENT_CONNECT_ERROR/{status}")
        if "the peer has disconnected" not in advice:
            raise Failure(f"the peer is not named:\n{advice}")


@case("operator", "explain-bounds")
def explain_bounds(lab):
    """A buffer beyond its region: the program's own mistake. The peer has not seen anything."""
    server, client = trouble(lab, "bounds")
    lab.wait_until(lambda: "failed local protection error" in client.output(), 20, "the request fails")
    expect_first(lab, client, "local application", "IBV_WC_LOC_PROT_ERR", "cause 3 LOCAL_BOUNDS")
    same("the peer", findings(lab, server)[0][0] in ("no trouble", "peer application"), True)


@case("operator", "explain-unpolled")
def explain_unpolled(lab):
    """A program that does not poll its completion queue."""
    _, client = trouble(lab, "unpolled")
    expect_first(lab, client, "local application", "1 completions are not polled yet")


# ---- adverb stat ----

def stat(lab, *words):
    """Returns the parsed reports of `adverb stat --json`, one for each line."""
    return [json.loads(line) for line in adverb(lab, "stat", *words, "--json").splitlines()]


def port_counters(lab):
    [[port]] = stat(lab)
    return port["counters"]


@case("operator", "stat")
def statistics(lab):
    """The port's counters agree with perftest and sysfs; rates agree with totals."""
    program = ["ib_write_bw", "-F", "-n", "500", "-s", "65536"]
    lab.pair(program, [*program, "127.0.0.1"])
    total = port_counters(lab)
    same("WRITEs", total["rx_write_requests"], 500)
    payload = 500 * 65536
    if not payload <= 4 * total["port_xmit_data"] <= 1.01 * payload:
        raise Failure(f"{4 * total['port_xmit_data']} bytes were sent for {payload} of payload")
    same("received", (total["port_rcv_data"], total["port_rcv_errors"]), (total["port_xmit_data"], 0))
    files = counters(lab)
    same("as sysfs", {name: files[name] for name in total}, total)
    server, client = perftest_pair(lab, "-s", "65536")
    first, second = (r[0] for r in stat(lab, "-i", "0.5", "-c", "2"))
    grown = second["counters"]["port_xmit_data"] - first["counters"]["port_xmit_data"]
    rate = second["rates"]["port_xmit_data"]
    # A busy machine may prolong the interval.
    if not 0 < rate * 0.5 < 1.1 * grown:
        raise Failure(f"{grown} in half a second or more, but a rate of {rate}/s")
    text = adverb(lab, "stat", "-i", "0.1", "-c", "1")
    if not re.search(r"^  port_xmit_packets +\d+ +[\d.]+/s$", text, re.M):
        raise Failure(f"no rates:\n{text}")
    [[one]] = stat(lab, "--pid", str(client.pid), "-i", "0.3", "-c", "1")
    [qp] = res(lab, "qp", "--pid", str(client.pid))
    same("queue pair", (one["lqpn"], one["pid"], one["comm"]), (qp["lqpn"], client.pid, "ib_write_bw"))
    same("requests complete", one["rates"]["send_completed"] > 0 and one["counters"]["send_completed"] > 0, True)
    same("by number", stat(lab, "--qp", hex(qp["lqpn"]))[0][0]["pid"], client.pid)
    same("both ends", {q["pid"] for q in stat(lab, "--pid", str(server.pid))[0]}, {server.pid})
    for words, status in ((("--qp", "7"), 1), (("--pid", "1"), 1), (("-c", "3"), 2), (("-i", "x"), 2)):
        adverb(lab, "stat", *words, status=status)


@case("operator", "stat-queue-pairs")
def statistics_of_queue_pairs(lab):
    """Each queue pair has its own share of the port's counters."""
    server, client = trouble(lab, "send")
    lab.wait_until(lambda: stat(lab, "--pid", str(client.pid))[0][0]["counters"]["rnr_nak_retry_err"] > 2, 20,
                   "RNR NAKs arrive")
    other_server, other = perftest_pair(lab)
    same("another queue pair", stat(lab, "--pid", str(other.pid))[0][0]["counters"]["rnr_nak_retry_err"], 0)
    os.kill(client.pid, signal.SIGSTOP)
    lab.wait_until(lambda: port_counters(lab)["out_of_buffer"] ==
                   stat(lab, "--pid", str(server.pid))[0][0]["counters"]["out_of_buffer"], 20,
                   "the port's counter is that of the only receiver")
    by_rdma = {q["pid"]: q for q in rdma(lab, "statistic", "qp", "show")}
    same("as rdma", set(by_rdma), {server.pid, other_server.pid, other.pid})
    [[mine]] = stat(lab, "--pid", str(server.pid))
    same("queue pair", by_rdma[server.pid]["lqpn"], [mine["lqpn"]])
    same("its counters", {k: v for k, v in by_rdma[server.pid].items() if k in mine["counters"]},
         {k: v for k, v in mine["counters"].items() if not k.endswith("_completed")})
    same("still run", [p.running() for p in (server, other_server, other)], 3 * [True])


@case("operator", "stat-outlives")
def statistics_outlive(lab):
    """The counters outlive programs and adverbd; a damaged or foreign file is not taken over."""
    program = ["ib_write_bw", "-F", "-n", "100", "-s", "4096"]

    def run_and_leave():
        lab.pair(program, [*program, "127.0.0.1"])
        lab.wait_until(lambda: not daemons(), 20, "adverbd ends")

    run_and_leave()
    [kept] = [name for name in os.listdir(lab.dir) if name.startswith("adverb-counters-")]
    file = lab.dir / kept
    same("mode", file.stat().st_mode & 0o777, 0o600)
    run_and_leave()
    same("two runs", port_counters(lab)["rx_write_requests"], 200)
    lab.wait_until(lambda: not daemons(), 20, "adverbd ends")
    same("as sysfs", counters(lab)["rx_write_requests"], 200)
    lab.wait_until(lambda: not daemons(), 20, "adverbd ends")
    whole = file.read_bytes()
    cookie = slice(48, 56)  # of the first record: the namespace's, which no other one gets again
    foreign = bytearray(whole)
    foreign[cookie] = bytes(b ^ 1 for b in whole[cookie])
    for broken in (b"", whole[:1000], b"x" + whole[1:], os.urandom(len(whole)), foreign):
        file.write_bytes(broken)
        same("damaged", port_counters(lab)["rx_write_requests"], 0)
        lab.wait_until(lambda: not daemons(), 20, "adverbd ends")
    file.write_bytes(whole)
    _, there = lab.namespace()
    lab.system(f"{' '.join(there)} ip link set lo up")
    [[port]] = [json.loads(line) for line in adverb(lab, "stat", "--json", prefix=there).splitlines()]
    same("another namespace", port["counters"]["rx_write_requests"], 0)
    same("this one", port_counters(lab)["rx_write_requests"], 200)
    lab.wait_until(lambda: not daemons(), 20, "adverbd ends")
    file.unlink()
    target = lab.dir / "target"
    target.write_bytes(whole)
    target.chmod(0o600)
    file.symlink_to(target)
    same("a link is not followed", port_counters(lab)["rx_write_requests"], 0)
    lab.wait_until(lambda: not daemons(), 20, "adverbd ends")
    same("nor written to", target.read_bytes() == whole, True)


@case("operator", "stat-latency")
def statistics_of_latency(lab):
    """The histogram agrees with perftest's own figures; an interval has its requests only."""
    program = ["ib_send_lat", "-F", "-n", "500", "-s", "8"]
    adverb(lab, "stat", "--latency")
    _, out = lab.pair(program, [*program, "127.0.0.1"])
    typical = float(re.search(r"^ +8 +500 +[\d.]+ +[\d.]+ +([\d.]+)", out, re.M)[1])
    [both] = stat(lab, "--latency")
    same("requests", both["requests"] >= 1000, True)
    same("sum of the buckets", sum(b["requests"] for b in both["buckets"]), both["requests"])
    same("order", both["p50_ns"] <= both["p90_ns"] <= both["p99_ns"] <= both["p99_9_ns"], True)
    # perftest reports half of a round trip, in us. A SEND completes when its ACK is back, which may come
    # with the answer.
    if not 0.1 * typical < both["p50_ns"] / 1000 < 10 * typical:
        raise Failure(f"p50 of {both['p50_ns']} ns, but perftest reports {typical} us")
    server, client = perftest_pair(lab, "-s", "4096")
    [one] = stat(lab, "--latency", "--pid", str(client.pid), "-i", "0.3", "-c", "1")
    same("program", (one["comm"], one["requests"] > 0), ("ib_write_bw", True))
    [passive] = stat(lab, "--latency", "--pid", str(server.pid))
    same("the passive side", (passive["requests"], passive["buckets"], passive["p50_ns"]), (0, [], 0))
    text = adverb(lab, "stat", "--latency", "--pid", str(client.pid))
    if not re.search(r"process \d+ \(ib_write_bw\): \d+ requests, mean [\d.]+[mnu]s, p50 [^\n]* p99.9 [^\n]*s\n +\d.* to .*#", text, re.S):
        raise Failure(f"no histogram:\n{text}")
    [qp] = res(lab, "qp", "--pid", str(client.pid))
    [own] = stat(lab, "--latency", "--qp", hex(qp["lqpn"]))
    same("queue pair", (own["lqpn"], own["pid"], own["requests"] >= one["requests"]), (qp["lqpn"], client.pid, True))
    [[own]] = stat(lab, "--qp", hex(qp["lqpn"]), "-i", "0.3", "-c", "1")
    if not 0 < own["latency"]["p50_ns"] <= own["latency"]["p99_ns"] or own["latency"]["requests"] == 0:
        raise Failure(f"no latency of the queue pair: {own}")
    text = adverb(lab, "stat", "--qp", hex(qp["lqpn"]))
    if not re.search(r"latency p50 +[\d.]+[mun]?s\n +latency p99 ", text):
        raise Failure(f"no latency of the queue pair:\n{text}")
    for words, status in ((("--pid", "1"), 1), (("--qp", "7"), 1)):
        adverb(lab, "stat", "--latency", *words, status=status)
    for process in (server, client):
        process.kill()
    program = [lab.adverb, "run", "--no-latency", "--", *program]
    [before] = stat(lab, "--latency")
    lab.pair(program, [*program, "127.0.0.1"], adverb=False)
    same("switched off", stat(lab, "--latency")[0]["requests"], before["requests"])


@case("operator", "documentation")
def documentation(lab):
    """Each command of the table in docs/operating.md works on running programs."""
    server, client = perftest_pair(lab)
    [qp] = res(lab, "qp", "--pid", str(client.pid))
    text = (HERE.parent.parent / "docs" / "operating.md").read_text()
    table = text.split("## Questions and commands")[1].split("\n## ")[0]
    commands = re.findall(r"\| `adverb ([^`]+)` \|$", table, re.M)
    same("rows", len(commands), len(re.findall(r"^\| [A-Z]", table, re.M)))
    values = {"PID": str(client.pid), "QPN": hex(qp["lqpn"]), "ADDRESS": "127.0.0.1", "PROGRAM": "ibv_devinfo",
              "scenarios": str(HERE.parent.parent / "scenarios")}
    for command in commands:
        words = shlex.split(re.sub("|".join(values), lambda m: values[m[0]], command))
        if not adverb(lab, *words) and words != ["res", "cm_id"]:
            raise Failure(f"adverb {command} prints nothing")
    same("still run", (server.running(), client.running()), (True, True))
