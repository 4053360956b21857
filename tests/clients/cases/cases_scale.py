# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""Memory of 100,000 idle queue pairs and connections."""

import os
import re

from cases_connections import start_client, start_server, usage, worker
from harness import Failure, case

QP_BYTES = 2048  # of an idle connected queue pair
CONNECTION_BYTES, END_BYTES = 8192, 2048
DESCRIPTORS = 640  # of adverbd, with any number of connections
HELD_SEC = 600


@case("scale", "qps", seconds=300)
def queue_pairs(lab):
    """100,000 RC queue pairs in one process, all connected and used once. A slot has fewer numbers."""
    program = lab.start([lab.client("many_qps"), "-n", "100000", "-k"])
    lab.wait_until(lambda: " of 2 blocks" in program.output() or not program.running(), 200,
                   "100,000 queue pairs have exchanged")
    status = lab.run([lab.adverb, "status"], adverb=False)
    daemon, _ = usage(worker())
    program.popen.terminate()
    text = program.expect(0, 60)
    idle = int(re.search(r"^in RTS: (\d+) bytes a queue pair", text, re.M).group(1))
    used = int(re.search(r"^after a message each way: (\d+)", text, re.M).group(1))
    print(f"measured: 100,000 queue pairs: {idle} bytes each when idle, {used} with queues of 16 "
          f"used; adverbd {daemon} KiB")
    if idle > QP_BYTES:
        raise Failure(f"an idle queue pair takes {idle} bytes")
    if not re.search(r"^slots in use: 1 of .*, blocks: 2 of 127$", status, re.M) or \
            not re.search(r" \+ 131072 .* many_qps$", status, re.M):
        raise Failure(f"not one slot of one program, and two blocks:\n{status}")


def hold(lab, count):
    """Starts a client with `count` idle connections to the server."""
    client = start_client(lab, "-m", "8", "-n", str(count), "-c", str(count + 1), "-w", "256", "-H")
    lab.wait_until(lambda: f"{count} connections held" in client.output() or not client.running(),
                   HELD_SEC, f"{count} connections")
    if not client.running():
        raise Failure(client.describe())
    return client


@case("scale", "connections", seconds=900)
def connections(lab):
    """Memory of an idle connection of the connection manager: in the program, with its queue pair and a
    posted receive, and in adverbd. ADVERB_SCALE is the number of connections."""
    count = int(os.environ.get("ADVERB_SCALE", "2000"))
    server = start_server(lab, "-m", "8")
    first = hold(lab, 10)
    before, _ = usage(first.pid)
    daemon_before, _ = usage(worker())
    client = hold(lab, count)
    after, _ = usage(client.pid)
    daemon, descriptors = usage(worker())
    per_end = (daemon - daemon_before) * 1024 // (2 * count)
    mine = (after - before) * 1024 // count
    print(f"measured: {count} idle connections: {mine} bytes each in the client, {per_end} in "
          f"adverbd for each end; adverbd has {descriptors} descriptors")
    for one in (first, client):
        one.popen.kill()
    server.popen.kill()
    if mine > CONNECTION_BYTES or per_end > END_BYTES or descriptors > DESCRIPTORS:
        raise Failure("more than that")
