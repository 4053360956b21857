#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""adverb sim --mpi: ranks change no byte of any output; if one of them fails, all end with an error.

Usage: test_sim_ranks.py ADVERB MODULE
Exit status 77, skipped: no mpirun, or Adverb was built without MPI (there is no file MODULE).
"""

import json
import os
import pathlib
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time

from limits import PATIENCE, let_compute

ADVERB = str(pathlib.Path(sys.argv[1]).resolve())
# As root and with more ranks than processors. Open MPI does not free all of its memory.
ENVIRONMENT = {**os.environ, "OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1",
               "ASAN_OPTIONS": "detect_leaks=0:" + os.environ.get("ASAN_OPTIONS", "")}
MPIRUN = ["mpirun", "--oversubscribe", "--bind-to", "none"]

CLOS = """
[network]
topology = leaf-spine
leaves = 4
spines = 2
hosts = 4
cable = 3m
trunk-cable = 100m
"""
TREE = """
[network]
topology = fat-tree
ports = 4
cable = 3m
trunk-cable = 100m
"""
RING = """
[network]
topology = ring
switches = 4
hosts = 1
routes = one-way
trunk-cable = 40m
[priority 3]
xoff = 100kB
[host]
congestion-control = none
"""
PRIORITY = """
[priority 3]
ecn-min = 20kB
ecn-max = 80kB
ecn-probability = 20%
"""
# Runs are short: on a busy machine ranks wait long for each other.
SCENARIOS = {
    # DCQCN; samples, for the series and the CSV
    "tree": TREE + PRIORITY + """
[flow]
from = all
to = permutation
bytes = 100kB
sizes = exponential
count = 10
interval = 10us
arrivals = poisson
[run]
duration = 80us
sample = 20us
""",
    # lost frames and a cable that fails; transfers that fail
    "loss": CLOS.replace("hosts = 4", "hosts = 4\nreroute-delay = 10us") + """
[loss]
link = 17
probability = 0.01
[failure]
link = 19
from = 20us
to = 60us
[flow]
from = all
to = permutation
bytes = 200kB
timeout = 1
[run]
duration = 100us
sample = 30us
""",
    "collective": CLOS + PRIORITY + """
[flow]
pattern = allreduce
from = 0-15
bytes = 256kB
[run]
duration = 200us
""",
    # PFC, a slow host and a storm
    "incast": CLOS + """
[switch]
buffer = 1MB
[host]
congestion-control = none
[flow]
from = 0-7
to = 15
bytes = 200kB
[slow]
host = 15
speed = 50Gb/s
[storm]
host = 12
priority = 3
from = 20us
to = 40us
[run]
duration = 80us
sample = 10us
""",
    "spray": TREE + """
[switch]
load-balancing = spray
[flow]
from = all
to = permutation
bytes = 100kB
[run]
duration = 60us
""",
    # The receivers count what has arrived, also out of order; the page shows that.
    "selective": TREE + """
[priority 3]
lossless = no
[host]
congestion-control = none
retransmission = selective
bdp-window = yes
loss-window = no
[flow]
from = all
to = random
load = 0.7
sizes = websearch
count = 4
[run]
duration = 100us
sample = 10us
""",
    "deadlock": RING + "".join(f"""
[flow]
from = {host}
to = {(host + 2) % 4}
bytes = 10MB
timeout = 10
""" for host in range(4)) + """
[run]
duration = 1ms
""",
}
LONG = SCENARIOS["tree"].replace("count = 10", "count = 20000").replace("80us", "100s")
COUNTS = {"threads": (1, 2), "ranks": (2, 1), "three": (3, 1), "both": (2, 2)}


def start(*args, ranks=2, **more):
    return subprocess.Popen([*MPIRUN, "-n", str(ranks), ADVERB, "sim", "--mpi", *map(str, args)], env=ENVIRONMENT,
                            stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, **more)


def end(process, status=0):
    """Waits for mpirun. Returns standard output, or standard error if it has to fail."""
    out, err = process.communicate(timeout=PATIENCE)
    assert process.returncode == status, (process.args, process.returncode, out, err)
    return err if status else out


def outputs(path, folder, ranks, threads, page):
    """Runs a scenario. Returns all bytes that it writes."""
    args = [path, "--threads", threads, "--csv", folder]
    if "sample" in path.read_text():
        args += ["--series", folder.with_suffix(".json")]
    if page:
        args += ["--report", folder.with_suffix(".html")]
    results = []
    for form in ([], ["--json"]) if page else (["--json"],):
        if ranks > 1:
            results.append(end(start(*args, *form, ranks=ranks)))
        else:
            r = subprocess.run([ADVERB, "sim", *map(str, args), *form], capture_output=True, text=True, check=True,
                               timeout=PATIENCE)
            results.append(r.stdout)
    results += [f.read_bytes() for f in sorted(folder.iterdir())]
    results += [folder.with_suffix(s).read_bytes() for s in (".json", ".html") if folder.with_suffix(s).exists()]
    return results


def check_same_bytes(folder):
    for name, text in SCENARIOS.items():
        path = folder / f"{name}.ini"
        path.write_text(text)
        page = name in ("incast", "selective")
        one = outputs(path, folder / name, 1, 1, page)
        assert all(one) and len(one) == 8 + ("sample" in text) + 2 * page, (name, len(one))
        for what, (ranks, threads) in COUNTS.items():
            if what in ("three", "both") and name not in ("tree", "loss"):
                continue
            more = outputs(path, folder / f"{name}-{what}", ranks, threads, page)
            assert more == one, (name, what, *[(a, b) for a, b in zip(one, more) if a != b])


def check_long(folder):
    """A run of many times the number of events after which the ranks look for a signal."""
    long = folder / "long.ini"
    long.write_text(LONG)
    args = [long, "--json", "--set", "run.duration=6ms"]
    one = subprocess.run([ADVERB, "sim", *map(str, args)], capture_output=True, text=True, check=True,
                         timeout=PATIENCE).stdout
    assert json.loads(one)["events"] > 1000000, one
    for ranks, threads in (2, 1), (3, 1), (2, 2):
        more = end(start(*args, "--threads", threads, ranks=ranks))
        assert more == one, (ranks, threads, more, one)


def check_events(folder):
    """The scenarios have what they are for."""
    def events(name):
        return (folder / name / "events.csv").read_text()

    assert ",mark," in events("tree") and ",xoff," in events("incast")
    assert ",down," in events("loss") and ",up," in events("loss")
    result = (folder / "deadlock-ranks.txt").read_text()
    assert "deadlock: each of these queues waits" in result, result


def check_input(folder):
    """Rank 0 reads the files for all, also from standard input. An error is printed once."""
    tree = folder / "tree.ini"
    with open(tree) as f:
        text = end(start("-", "--json", stdin=f))
    assert text == end(start(tree, "--json")).replace(str(tree), "-")
    wrong = folder / "wrong.ini"
    wrong.write_text(SCENARIOS["tree"].replace("fat-tree", "thin-tree"))
    err = end(start(wrong), status=2)
    assert err.count("thin-tree") == 1 and err.count("adverb sim:") == 1, err
    err = end(start(folder / "none.ini"), status=2)
    assert err.count("No such file or directory") == 1, err
    err = end(start(tree, "--threads", "33"), status=2)
    assert err.count("--threads 33, 2 ranks: more than 64 in all") == 1, err
    assert "--mpi is for a single run" in end(start(tree, "--sweep", "run.seed=1..2"), status=2)


def check_other_file(folder):
    """Ranks that were started with different files end at once."""
    words = [*MPIRUN, "-n", "1", ADVERB, "sim", "--mpi", str(folder / "tree.ini"), ":",
             "-n", "1", ADVERB, "sim", "--mpi", str(folder / "loss.ini")]
    r = subprocess.run(words, env=ENVIRONMENT, capture_output=True, text=True, timeout=PATIENCE, check=False)
    assert r.returncode == 1 and "rank 1: other arguments than those of rank 0" in r.stderr, (r.returncode, r.stderr)
    assert not r.stdout, r.stdout


def rank_pid(mpirun, rank):
    """Returns the process of a rank, when it simulates."""
    deadline = time.monotonic() + PATIENCE
    while time.monotonic() < deadline:
        for pid in filter(str.isdigit, os.listdir("/proc")):
            try:
                stat = pathlib.Path(f"/proc/{pid}/stat").read_text()
                environment = pathlib.Path(f"/proc/{pid}/environ").read_bytes().split(b"\0")
            except OSError:
                continue
            parent = int(stat.rsplit(")", 1)[1].split()[1])
            if parent == mpirun.pid and f"OMPI_COMM_WORLD_RANK={rank}".encode() in environment:
                let_compute(int(pid), 2)
                return int(pid)
        time.sleep(0.05)
    raise AssertionError("no rank")


def check_ends(folder):
    """A rank that dies ends all. A signal to rank 0 ends the run, which reports."""
    long = folder / "long.ini"
    p = start(long)
    os.kill(rank_pid(p, 1), signal.SIGKILL)
    out, err = p.communicate(timeout=PATIENCE)
    assert p.returncode not in (0, None) and not out, (p.returncode, out, err)
    assert re.search(r"rank 1 .*signal 9", err, re.S), err
    p = start(long)
    os.kill(rank_pid(p, 0), signal.SIGTERM)
    assert "interrupted" in end(p)


def main():
    if not shutil.which("mpirun") or not pathlib.Path(sys.argv[2]).exists():
        print("skipped: no mpirun, or Adverb was built without MPI: install libopenmpi-dev and openmpi-bin")
        return 77
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        check_same_bytes(folder)
        check_long(folder)
        (folder / "deadlock-ranks.txt").write_text(end(start(folder / "deadlock.ini")))
        check_events(folder)
        check_input(folder)
        check_other_file(folder)
        check_ends(folder)
    return 0


if __name__ == "__main__":
    sys.exit(main())
