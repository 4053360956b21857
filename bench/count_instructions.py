# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""Counts the instructions of the fast path with callgrind, and compares them with the recorded counts.

Usage: bench/count-instructions [--build DIR] [--check | --record] [--idle-qps N] [--checked]
       [--json FILE]

Counts do not depend on the load of the machine, but on the compiler and its options. Those in
bench/instructions.txt are of Debian 12's gcc with --buildtype=release. A system call counts as one
instruction; the kernel's work does not count. `own` is the library's code; `all` includes the C library
and ISA-L, which select their code by processor.

--check fails if an own count has grown by more than a tenth, or if a goal is missed. --record records
the counts of a change that is worth its instructions. --idle-qps counts again with N connected idle
queue pairs, and fails if a call takes more instructions because of them. --checked counts again under
`adverb check`, whose instructions are not recorded.
"""

import argparse
import json
import os
import pathlib
import sys

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE))
sys.dont_write_bytecode = True

import callgrind  # noqa: E402
from lab import harness, in_namespace, is_inside, open_lab  # noqa: E402

RECORDED = HERE / "instructions.txt"
GROWTH = 1.10
# Instructions for each idle queue pair; to visit each would take more. A call varies by 36 (write-64k: 144)
# from run to run, because either the program or the background thread receives.
IDLE_COST = 0.2
IDLE_RUNS = 6
SAMPLES = 12
GOALS = {"poll-empty": 280}  # of all instructions; the polls between two looks take some 25
LIBRARY, PROGRAM = "libibverbs.so", "instructions"

# name: title, functions that must have run
COUNTS = {
    "poll-empty": ("ibv_poll_cq that looks, nothing there", ("adv_udp_receive",)),
    "poll-full": ("ibv_poll_cq, a completion waits", ()),
    "post-recv": ("ibv_post_recv", ()),
    "post-send": ("ibv_post_send of a SEND of 8 bytes, and its packet out",
                  ("adv_qp_post_send", "adv_udp_send")),
    "poll-request": ("ibv_poll_cq that takes this packet: completion, ACK out",
                     ("adv_engine_rx", "adv_udp_send")),
    "poll-ack": ("ibv_poll_cq that takes the ACK: completion", ("adv_engine_rx",)),
    "post-write": ("ibv_post_send of a WRITE of 8 bytes, and its packet out",
                   ("adv_qp_post_send", "adv_udp_send")),
    "poll-write": ("ibv_poll_cq that takes this packet: ACK out, no completion",
                   ("adv_engine_rx", "adv_udp_send")),
    "write-64k": ("a WRITE of 64 KiB: 16 packets out and in, ACKs, completion",
                  ("adv_udp_send", "adv_engine_rx")),
}
# Parts of these counts: name: title, the count that it is part of, functions with their callees.
PARTS = {
    "post": ("the request into the send queue", "post-send", ("adv_qp_post_send",)),
    "packet-out": ("engine and link, a packet out", "post-send", ("adv_engine_tx", "adv_udp_send")),
    "packet-in": ("link and engine, a packet in", "poll-request", ("adv_udp_receive",)),
}


def run_callgrind(lab, idle_qps, checked):
    program = lab.build / "bench" / "instructions"
    if not program.exists():
        raise harness.Failure(f"{program} is not built: valgrind's headers were missing?")
    out = lab.dir / f"callgrind-{'checked' if checked else idle_qps}"
    env = {"LD_PRELOAD": str(lab.build / "bench" / "libidle_qps.so"),
           "ADVERB_BENCH_IDLE_QPS": str(idle_qps)} if idle_qps else {}
    lab.run([harness.need_tool("valgrind"), "-q", f"--log-file={lab.dir}/valgrind.log",
             "--tool=callgrind", "--collect-atstart=no", f"--callgrind-out-file={out}", program],
            env=env, prefix=[str(lab.adverb), "check", "--"] if checked else ())
    dumps = sorted(lab.dir.glob(f"{out.name}.*"), key=lambda p: int(p.name.split(".")[1]))
    return callgrind.read_dumps(dumps)


def count(lab, idle_qps=0, checked=False):
    """Returns {name: {own, all}} and {part: all}."""
    samples = {name: [] for name in COUNTS}
    for dump in run_callgrind(lab, idle_qps, checked):
        if dump.trigger in samples and all(dump.inclusive.get(f) for f in COUNTS[dump.trigger][1]):
            samples[dump.trigger].append(dump)
    counts, parts = {}, {}
    for name, dumps in samples.items():
        if len(dumps) < SAMPLES // 2:
            raise harness.Failure(f"{name}: only {len(dumps)} of {SAMPLES} samples were whole")
        # Other samples also pay for a turn of the background thread, which depends on the machine's load.
        best = sorted(dumps, key=lambda d: d.total)[len(dumps) // 4]
        counts[name] = {"own": best.own(LIBRARY), "all": best.total - best.own(PROGRAM)}
        for part, (_, whole, functions) in PARTS.items():
            if whole == name:
                parts[part] = sum(best.inclusive[f] for f in functions)
    return counts, parts


def read_recorded():
    rows = (line.split() for line in RECORDED.read_text().splitlines()
            if line and not line.startswith("#"))
    return {name: {"own": int(own), "all": int(total)} for name, own, total in rows}


def record(counts):
    lines = ["# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause",
             "# Written by bench/count-instructions --record: own, and all, instructions."]
    lines += [f"{name} {c['own']} {c['all']}" for name, c in counts.items()]
    RECORDED.write_text("\n".join(lines) + "\n")


def print_counts(counts, parts, recorded):
    print(f"{'count':13} {'own':>6} {'recorded':>9} {'all':>6}  what")
    for name, c in counts.items():
        before = recorded.get(name, {}).get("own", "-")
        print(f"{name:13} {c['own']:6} {before:>9} {c['all']:6}  {COUNTS[name][0]}")
    for part, value in parts.items():
        print(f"{part:13} {'':6} {'':>9} {value:6}  {PARTS[part][0]} (part of {PARTS[part][1]})")


def faults(counts, recorded):
    """Yields a line for each count that is too large."""
    for name, c in counts.items():
        if name not in recorded:
            yield f"{name} is not recorded"
        elif c["own"] > GROWTH * recorded[name]["own"]:
            yield (f"{name} has grown from {recorded[name]['own']} to {c['own']} instructions, by "
                   f"more than {GROWTH - 1:.0%}; if that is worth it: "
                   "bench/count-instructions --record")
        elif c["own"] < recorded[name]["own"] / GROWTH:
            print(f"note: {name} has shrunk; record it")
    for name, goal in GOALS.items():
        if counts[name]["all"] > goal:
            yield f"{name}: {counts[name]['all']} instructions, the goal is at most {goal}"


def faults_idle(counts, idle, idle_qps):
    """Yields a line for each count that idle queue pairs increase."""
    for name, c in counts.items():
        if idle[name]["own"] - c["own"] > IDLE_COST * idle_qps:
            yield (f"{name}: {idle[name]['own']} instructions with {idle_qps} idle queue pairs, "
                   f"{c['own']} without")


def count_idle(lab, counts, idle_qps):
    """Counts with idle queue pairs. A run may have 9 instructions more a call than another one, so a
    fault has to be in each of IDLE_RUNS runs."""
    for _ in range(IDLE_RUNS):
        idle = count(lab, idle_qps)[0]
        if not list(faults_idle(counts, idle, idle_qps)):
            break
    return idle


def inside(args):
    try:
        with open_lab(args.build) as lab:
            counts, parts = count(lab)
            idle = count_idle(lab, counts, args.idle_qps) if args.idle_qps else counts
            checked = count(lab, checked=True)[0] if args.checked else {}
    except (harness.Failure, harness.Skip) as failure:
        print(f"failed: {failure}", file=sys.stderr)
        return 1
    recorded = read_recorded() if RECORDED.exists() else {}
    print_counts(counts, parts, recorded)
    if args.json:
        pathlib.Path(args.json).write_text(
            json.dumps({"counts": counts, "parts": parts, "goals": GOALS}, indent=2) + "\n")
    if args.record:
        record(counts)
    if args.idle_qps:
        print(f"with {args.idle_qps} idle queue pairs: " +
              ", ".join(f"{name} {c['own']}" for name, c in idle.items()))
    for name, c in checked.items():
        print(f"under adverb check: {name:13} {c['all']:6} of all, {c['all'] - counts[name]['all']:+}")
    status = 0
    found = [*faults(counts, recorded)] if args.check else []
    for fault in [*found, *faults_idle(counts, idle, args.idle_qps)]:
        print(f"failed: {fault}")
        status = 1
    return status


def main():
    parser = argparse.ArgumentParser(description="Count the instructions of the fast path.")
    parser.add_argument("--build", default=str(HERE.parent / "build"))
    parser.add_argument("--check", action="store_true", help="fail if a count has grown")
    parser.add_argument("--record", action="store_true", help=f"write {RECORDED.name}")
    parser.add_argument("--idle-qps", type=int, default=0, metavar="N",
                        help="count again with N idle queue pairs; fail if they cost instructions")
    parser.add_argument("--checked", action="store_true",
                        help="count again under adverb check")
    parser.add_argument("--json", metavar="FILE", help="write the counts to this file")
    args = parser.parse_args()
    return inside(args) if is_inside() else in_namespace(__file__, seconds=120)


if __name__ == "__main__":
    sys.exit(main())
