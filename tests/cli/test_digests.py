#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""adverb sim: the same scenario and seed give the same result, whatever compiler and options.

Usage: test_digests.py [--record] ADVERB SCENARIOS

sim_digests.txt, beside this file, has the SHA-256 of the result of each scenario of the tree, with
a shorter duration. JSON is hashed by its values, not by its white space. A change to the course of a
scenario changes these digests. Where that is meant, --record writes the file again, with any build,
and its diff shows which scenarios differ. A change that is only faster leaves all digests as they are.
"""

import hashlib
import json
import pathlib
import subprocess
import sys
import tempfile

from limits import PATIENCE

RECORD = pathlib.Path(__file__).resolve().parent / "sim_digests.txt"
CSV = "cables.csv", "connections.csv", "events.csv", "pauses.csv", "queues.csv", "slowdown.csv", "transfers.csv"
# Virtual time of a run. It takes at most a second or two with AddressSanitizer.
DURATIONS = {"allreduce.ini": "5ms", "clos-mix.ini": "5ms", "fat-tree.ini": "1ms", "irn.ini": "1ms", "long-short.ini": "5ms",
             "pause-storm.ini": "3ms",
             "slow-receiver.ini": "5ms", "storage.ini": "5ms"}
DURATION = "20ms"


def sim(adverb, scenarios, *args):
    """Runs adverb sim in the folder of the scenarios, since their path is part of the output."""
    r = subprocess.run([adverb, "sim", *args], capture_output=True, cwd=scenarios, timeout=PATIENCE,
                       check=False)
    assert r.returncode == 0, (args, r.returncode, r.stderr)
    return r.stdout


def values(text):
    """Returns JSON without white space."""
    return json.dumps(json.loads(text), separators=(",", ":")).encode()


def report_data(page):
    """Returns the data that the page's script draws."""
    return page.read_text(encoding="utf-8").partition('id="data">')[2].partition("</script>")[0]


def outputs(adverb, scenarios, folder):
    """Returns {name of an output: bytes}: JSON and report data with two seeds; of one scenario also text and CSV."""
    found = {}
    for path in sorted(scenarios.glob("*.ini")):
        short = [path.name, "--set", f"run.duration={DURATIONS.get(path.name, DURATION)}"]
        for seed in ("1", "2"):
            args = [*short, "--seed", seed, "--json"]
            found[" ".join(args)] = values(sim(adverb, scenarios, *args, "--report", folder / "page"))
            found[" ".join([*args[:-1], "--report"])] = values(report_data(folder / "page"))
    found["incast.ini"] = sim(adverb, scenarios, "incast.ini", "--csv", folder)
    for name in CSV:
        found[f"incast.ini --csv: {name}"] = (folder / name).read_bytes()
    return found


def digests(adverb, scenarios):
    with tempfile.TemporaryDirectory() as name:
        return {what: hashlib.sha256(data).hexdigest()
                for what, data in outputs(adverb, scenarios, pathlib.Path(name)).items()}


def recorded():
    lines = RECORD.read_text(encoding="ascii").splitlines()
    return {what: digest for digest, _, what in (line.partition("  ") for line in lines)}


def main():
    arguments = sys.argv[1:]
    record = arguments[0] == "--record"
    adverb, scenarios = (pathlib.Path(a).resolve() for a in arguments[record:])
    now = digests(adverb, scenarios)
    if record:
        RECORD.write_text("".join(f"{d}  {what}\n" for what, d in now.items()), encoding="ascii")
        return 0
    before = recorded()
    differ = [what for what in before | now if before.get(what) != now.get(what)]
    for what in differ:
        print(f"not the bytes that were recorded: {what}")
    if differ:
        print(f"Another compiler or option must not change them. Where the change is meant:\n"
              f"    {sys.argv[0]} --record {' '.join(arguments)}")
    return 1 if differ else 0


if __name__ == "__main__":
    sys.exit(main())
