# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""A hundred thousand of what a data center has: what each costs when idle."""

import re

from cases_connections import usage, worker
from harness import Failure, case

QP_BYTES = 2048  # of an idle queue pair, connected


@case("scale", "qps", seconds=300)
def queue_pairs(lab):
    """100,000 RC queue pairs in one process, all connected and all used once: more than one slot
    has numbers for."""
    program = lab.start([lab.client("many_qps"), "-n", "100000", "-k"])
    lab.wait_until(lambda: " of 2 slots" in program.output() or not program.running(), 200,
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
    if "slots in use: 2 of 254" not in status or status.count("many_qps") != 2:
        raise Failure(f"not two slots of one program:\n{status}")
