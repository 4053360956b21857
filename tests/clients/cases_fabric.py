# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""Programs on the hosts of an emulated fabric: adverb fabric up, adverb run --host."""

import json
import os
import signal

import reports
from cases_cm import cm_pair, demand, perftest_pair
from harness import Failure, case, process_name

DUMBBELL = """
[network]
topology = dumbbell
hosts = 2
speed = 100Gb/s
trunk-speed = 100Gb/s
cable = 10m
[priority 3]
lossless = yes
[run]
duration = 1ms
"""


class Fabric:
    """A running emulator."""

    def __init__(self, lab, scenario, factor="1/100", options=()):
        self.lab = lab
        path = lab.dir / "fabric.ini"
        path.write_text(scenario)
        text = lab.run([lab.adverb, "fabric", "up", "--speed-factor", factor, *options, path],
                       adverb=False)
        if "The fabric is up" not in text:
            raise Failure(text)

    def on(self, host):
        """Returns the command prefix for a program on a host."""
        return [str(self.lab.adverb), "run", "--host", f"h{host}", "--"]

    def state(self):
        return json.loads(self.lab.run([self.lab.adverb, "fabric", "status", "--json"], adverb=False))

    def down(self):
        """Ends the emulator and checks that it has exited."""
        pid = self.state()["pid"]
        page = self.lab.dir / "page.html"
        self.lab.run([self.lab.adverb, "fabric", "down", "--report", page], adverb=False)
        if "</html>" not in page.read_text():
            raise Failure("the report is not complete")
        self.lab.wait_until(lambda: not process_name(pid), 10, "the emulator's exit")


def address(host):
    return f"10.31.0.{host + 1}"


@case("fabric", "perftest")
def perftest(lab):
    """Every kind of operation between two hosts, whose packets all go through the switches."""
    fabric = Fabric(lab, DUMBBELL)
    for program, size in (("ib_send_bw", 65536), ("ib_write_bw", 65536), ("ib_read_bw", 65536)):
        base = [program, "-F", "-n", "100"]
        _, client = lab.pair(base, [*base, address(0)], server_prefix=fabric.on(0),
                             client_prefix=fabric.on(2))
        reports.perftest(client, [size], 100)
    state = fabric.state()
    for host, least in ((0, 13e6), (2, 6.5e6)):
        if state["hosts"][host]["rx_bytes"] < least or state["hosts"][host]["tx_refused"]:
            raise Failure(f"h{host}: {state['hosts'][host]}")
    if state["hosts"][1]["rx_frames"] or any(s["dropped"] for s in state["switches"]):
        raise Failure(f"{state}")
    fabric.down()


@case("fabric", "connection-manager")
def connection_manager(lab):
    fabric = Fabric(lab, DUMBBELL)
    base = ["rping", "-C", "5", "-v", "-a", address(3)]
    _, client = cm_pair(lab, [*base, "-s"], [*base, "-c"], server_prefix=fabric.on(3),
                        client_prefix=fabric.on(0))
    demand(client, r"^ping data: rdma-ping-\d+: [A-z]", 5)
    text = perftest_pair(lab, ["ib_send_bw", "-F", "-R", "-n", "50"], address(1),
                         server_prefix=fabric.on(1), client_prefix=fabric.on(2))
    reports.perftest(text, [65536], 50)
    fabric.down()


@case("fabric", "hosts-apart")
def hosts_apart(lab):
    """Each host has its own name, addresses and ports; there is one fabric; errors are clear."""
    text = lab.run([lab.adverb, "run", "--host", "h0", "--", "true"], adverb=False, status=125)
    if "no fabric runs here" not in text:
        raise Failure(text)
    fabric = Fabric(lab, DUMBBELL)
    again = lab.run([lab.adverb, "fabric", "up", lab.dir / "fabric.ini"], adverb=False, status=1)
    if "runs already" not in again:
        raise Failure(again)
    for host in range(4):
        name = lab.run(["hostname"], prefix=fabric.on(host)).strip()
        gids = reports.gid_table(lab.run(["ibv_devinfo", "-v"], prefix=fabric.on(host)))
        if name != f"h{host}" or gids[0] != f"::ffff:{address(host)}":
            raise Failure(f"h{host}: {name}, {gids}")
        inner = lab.run([lab.adverb, "fabric", "rsh", "h2", "hostname"], prefix=fabric.on(host),
                        adverb=False).strip()
        if inner != "h2":
            raise Failure(inner)
    text = lab.run([lab.adverb, "run", "--host", "h4", "--", "true"], adverb=False, status=125)
    if "h0 to h3" not in text:
        raise Failure(text)
    fabric.down()


@case("fabric", "emulator-killed")
def emulator_killed(lab):
    """If the emulator is killed, requests fail and a new one starts."""
    fabric = Fabric(lab, DUMBBELL)
    base = ["ib_write_bw", "-F", "-D", "30", "-u", "8"]
    server = lab.start(base, prefix=fabric.on(0))
    lab.wait_listening(server, 18515)
    client = lab.start([*base, address(0)], prefix=fabric.on(3))
    lab.wait_until(lambda: fabric.state()["hosts"][0]["rx_frames"] > 100, 30, "traffic")
    pid = fabric.state()["pid"]
    os.kill(pid, signal.SIGKILL)
    lab.wait_until(lambda: not process_name(pid), 10, "the emulator's exit")
    lab.wait_until(lambda: not client.running(), 60, "the client's failure")
    if "transport retry counter" not in client.output() and "Completion with error" not in client.output():
        raise Failure(client.describe())
    server.kill()
    fabric = Fabric(lab, DUMBBELL)
    fabric.down()
