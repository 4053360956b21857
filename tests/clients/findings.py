# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""What `adverb check --advice` finds in well-known programs, and is true: docs/check.md has the code."""

import json
import os
import pathlib
import re

PERFTEST = r"ib_(send|write|read|atomic)_(bw|lat)"
UCX = r"ucx_perftest|python3"  # mpi4py's programs, over Open MPI and UCX

# (program, rule, where): the program, as CASE:NAME or only NAME, its rules, and a pattern of the finding's
# text, whose lines after the first have the functions of its stacks.
KNOWN = [
    (rf"cm-.*:{PERFTEST}", "leak", r"^id 0x"),
    (rf"cm-.*:{PERFTEST}", "receive-buffer-changed", ""),
    ("ib_send_bw", "leak", r"^cq \d"),
    ("ib_send_bw", "receive-queue-empty", ""),
    ("ib_atomic_lat", "leak", r"^(qp|mr|srq|xrcd) "),
    ("cmtime", "destroy-order", r"\(cq \d"),
    ("cmtime|ucmatose", "rnr-retry-finite", ""),
    ("ucmatose", "never-polled", ""),
    ("ibv_rc_pingpong", "receive-buffer-changed", "wr_id 1 "),  # -c -r 1
    ("qperf", "destroy-order", r"\(pd \d"),
    ("qperf", "leak", r"^(pd \d|id 0x)"),
    ("qperf", "receive-queue-empty", ""),
    ("qperf", "grh-missing", ""),
    ("fio", "destroy-order|unmapped-while-registered|rnr-retry-finite", ""),
    (UCX, "psn-constant", "uct_rc_"),
    (UCX, "unmapped-while-registered", "uct_iface_mp_chunk_release"),
    (UCX, "lost-wakeup", "uct_ib_iface_arm_cq"),
    (r"fi_\w+|python3", "inline-limit", ""),
    ("udpong", "ud-over-ethernet-mtu", ""),
    ("pyverbs/(atomic|mr|qpex):python3", "stale-[lr]key", ""),
    ("pyverbs/cq:python3", "never-polled", ""),
    ("pyverbs/.*:python3", "receive-buffer-changed|dereg-while-posted", ""),
    ("pyverbs/mr:python3", "unmapped-while-registered", ""),
    ("pyverbs/qpe?x?:python3", "post-in-wrong-state", ""),
    ("pyverbs/rdmacm:python3", "receive-queue-empty|rnr-retry-finite|rnr-timer-zero", ""),
]

# Most small test programs receive all messages in one buffer, and ignore the contents.
LEFT_OUT = {"receive-buffer-reused"}


def text_of(finding):
    lines = [finding["what"]]
    for stack in finding["stacks"]:
        frames = [f.get("function", os.path.basename(f.get("module", "?"))) for f in stack["frames"]]
        lines.append(f"  {stack['title']}: {' < '.join(frames)}")
    return "\n".join(lines)


def is_known(case, finding, text):
    for program, rules, where in KNOWN:
        name = f"{case}:{finding['program']}" if ":" in program else finding["program"]
        if re.fullmatch(program, name) and re.fullmatch(rules, finding["rule"]) and re.search(where, text, re.M):
            return True
    return False


def unknown(case, directory):
    """Prints the findings of the programs of a case; returns the text of those that are not known, or ""."""
    unknowns = []
    for path in sorted(pathlib.Path(directory).glob("*-findings.json")):
        for finding in json.loads(path.read_text() or '{"findings": []}')["findings"]:
            if finding["rule"] in LEFT_OUT:
                continue
            text = text_of(finding)
            print(f"found: {finding['program']}: {finding['rule']}")
            if not is_known(case, finding, text):
                unknowns.append(f"not known: {finding['program']}: {finding['rule']}: {text}")
    return "\n".join(unknowns)
