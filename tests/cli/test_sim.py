#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""adverb sim: the scenarios of the repository run with the same result twice; errors name file and line.

Usage: test_sim.py ADVERB SCENARIOS
"""

import csv
import json
import math
import os
import pathlib
import re
import shutil
import signal
import subprocess
import sys
import tempfile

from limits import PATIENCE, let_compute

ADVERB = sys.argv[1]
SCENARIOS = pathlib.Path(sys.argv[2])


def sim(*args, status=0, text=None):
    """Runs adverb sim. Returns standard output, or standard error if it has to fail."""
    r = subprocess.run([ADVERB, "sim", *map(str, args)], capture_output=True, text=True,
                       timeout=PATIENCE, input=text)
    assert r.returncode == status, (args, r.returncode, r.stderr)
    return r.stderr if status else r.stdout


def check_same_bytes(folder):
    """Two runs give the same JSON and CSV; another seed gives another output."""
    outputs = []
    for seed, run in [(5, "a"), (5, "b"), (6, "c")]:
        out = sim(SCENARIOS / "incast.ini", "--seed", seed, "--json", "--csv", folder / run)
        files = [(folder / run / name).read_bytes()
                 for name in ("transfers.csv", "events.csv", "queues.csv")]
        assert all(len(f) > 100 for f in files)
        outputs.append([out.replace('"seed": 6', '"seed": 5'), *files])
    assert outputs[0] == outputs[1]
    assert outputs[0] != outputs[2]


def check_tables(folder):
    """The tables of --csv agree with each other and with the JSON."""
    out = folder / "tables"
    result = json.loads(sim(SCENARIOS / "incast.ini", "--json", "--csv", out))
    rows = {name: [line.split(",") for line in (out / f"{name}.csv").read_text().splitlines()]
            for name in ("transfers", "connections", "slowdown", "pauses", "cables")}
    assert all(len(row) == len(table[0]) for table in rows.values() for row in table)
    head, *transfers = rows["transfers"]
    ends = {(row[head.index("from")], row[head.index("to")]) for row in transfers}
    assert ends == {(str(h), "16") for h in range(16)}
    assert ends == {(row[1], row[2]) for row in rows["connections"][1:]}
    slow = sorted((int(row[5]) - int(row[4])) / int(row[9]) for row in transfers)
    bucket, = result["slowdown"]
    assert bucket["count"] == 16 and bucket["bytes_to"] == 1000000
    assert abs(bucket["median"] - slow[7]) < 1e-6 and abs(bucket["mean"] - sum(slow) / 16) < 1e-6
    # Percentiles are nearest ranks: of 16 values, the 95th and the 99th are the largest.
    assert abs(bucket["p95"] - slow[15]) < 1e-6 and abs(bucket["p99"] - slow[15]) < 1e-6
    times = sorted(int(row[5]) - int(row[4]) for row in transfers)
    assert [result["flows"][0]["fct_ps"][k] for k in ("median", "p99")] == [times[7], times[15]]
    assert [float(x) for x in rows["slowdown"][1][4:]] == [round(bucket[k], 6) for k in ("median", "p95", "p99")]
    assert all(row[2] == "s0" and row[1] == f"h{row[0]}" for row in rows["pauses"][1:])
    carried = sum(int(row[4]) for row in rows["cables"][1:] if row[3] == "h16")
    assert carried > 16 * 1000000, carried


def interval(values):
    """Returns the ranks' values between which the median is with a confidence of 95 %."""
    n, below, k = len(values), 0.0, 0
    while below + math.comb(n, k) / 2 ** n <= 0.025:
        below += math.comb(n, k) / 2 ** n
        k += 1
    return (sorted(values)[k - 1], sorted(values)[n - k]) if k else (None, None)


def check_sweep(folder):
    """A sweep has the results of single runs, whatever the number of jobs; medians and intervals are right."""
    what = "run.seed=1..9; host.congestion-control=dcqcn,none; priority 3.ecn-min=50kB, 100kB"
    args = [SCENARIOS / "incast.ini", "--set", "flow.bytes=200kB", "--json"]
    one = sim(*args, "--sweep", what, "--csv", folder / "one", "--report", folder / "one.html")
    two = sim(*args, "--sweep", what, "--jobs", "3", "--csv", folder / "two", "--report", folder / "two.html")
    assert one == two
    for name in ("one/runs.csv", "one/cases.csv", "one.html"):
        assert (folder / name).read_bytes() == (folder / name.replace("one", "two")).read_bytes()
    result = json.loads(one)
    assert result["runs"] == 36 and len(result["cases"]) == 4
    for case, control, least in zip(result["cases"], ("dcqcn", "dcqcn", "none", "none"),
                                    ("50kB", "100kB", "50kB", "100kB")):
        sets = [f"host.congestion-control={control}", f"priority 3.ecn-min={least}"]
        assert case["set"] == sets and case["runs"] == 9
        if least == "50kB":
            single = [json.loads(sim(*args, "--seed", s, "--set", sets[0], "--set", sets[1])) for s in range(1, 10)]
            for name, values in (("time_ps", [r["time_ps"] for r in single]),
                                 ("flow 0 fct_p99_ps", [r["flows"][0]["fct_ps"]["p99"] for r in single])):
                metric = case["metrics"][name]
                assert metric["median"] == sorted(values)[4], (name, metric, values)
                assert (metric["low"], metric["high"]) == interval(values), (name, metric, values)
    page = (folder / "one.html").read_text()
    assert page.count("<h2>") == len(result["cases"][0]["metrics"]) and "http" not in page
    rows = [line.split(",") for line in (folder / "one/runs.csv").read_text().splitlines()]
    assert len(rows) == 37 and all(len(row) == len(rows[0]) for row in rows)
    assert rows[0][:3] == ["run.seed", "host.congestion-control", "priority 3.ecn-min"]
    incast = SCENARIOS / "incast.ini"
    assert "expected 256B" in sim(incast, "--sweep", "host.mtu=1024B,1000B", "--jobs", "2", status=2)
    assert "expected section.key=value" in sim(incast, "--sweep", "host.mtu", status=2)
    assert "given twice" in sim(incast, "--sweep", "run.seed=1;run.seed=2", status=2)
    assert "'run.seed=2': the value is given twice" in sim(incast, "--sweep", "run.seed=1..3,2", status=2)
    assert "more than 100000" in sim(incast, "--sweep", "run.seed=1..5000;flow.count=1..21", status=2)
    assert "--jobs is for --sweep" in sim(incast, "--jobs", "2", status=2)
    assert "--jobs: 0 is not from 1 to 1024" in sim(incast, "--sweep", "run.seed=1", "--jobs", "0", status=2)
    assert "--sweep needs a file" in sim("-", "--sweep", "run.seed=1", status=2, text="")


def check_threads(folder):
    """Threads change no byte of any output. The runs are short: on a busy machine threads wait for each other."""
    for name in ("fat-tree.ini", "irn.ini", "pause-storm.ini", "allreduce.ini"):
        found = []
        for threads in "1", "3":
            out = folder / f"threads-{threads}"
            text = sim(SCENARIOS / name, "--set", "run.duration=60us", "--threads", threads, "--json",
                       "--csv", out, "--report", folder / "threads.html")
            found.append([text, (folder / "threads.html").read_bytes(),
                          *(path.read_bytes() for path in sorted(out.iterdir()))])
        assert found[0] == found[1], name
    incast = SCENARIOS / "incast.ini", "--set", "run.duration=1us"
    r = subprocess.run([ADVERB, "sim", *incast, "--threads", "2"], capture_output=True, text=True, timeout=PATIENCE,
                       check=True)
    assert "--threads 2: the network can be divided into 1 part\n" in r.stderr, r.stderr
    assert "--threads: 65 is not from 1 to 64" in sim(*incast, "--threads", "65", status=2)


def check_results(folder):
    """Parts of a sweep fill a folder; the command without --part does the missing runs and merges all."""
    args = [SCENARIOS / "incast.ini", "--set", "flow.bytes=100kB", "--sweep",
            "run.seed=1..3; host.congestion-control=dcqcn,none; priority 3.ecn-min=50kB,100kB"]
    alone, kept = sim(*args, "--json"), ["--results", folder / "kept"]
    for part in "1/5", "4/5", "2/5":
        assert sim(*args, *kept, "--part", part) == ""
    assert sorted(p.name for p in (folder / "kept").iterdir()) == \
        [f"run-{i:05}.json" for i in range(12) if i % 5 in (0, 1, 3)]
    (folder / "kept" / "run-00003.json").unlink()
    before = {p: p.stat().st_mtime_ns for p in (folder / "kept").iterdir()}
    assert sim(*args, *kept, "--json", "--jobs", 2) == alone
    assert len(list((folder / "kept").iterdir())) == 12 and all(p.stat().st_mtime_ns == t for p, t in before.items())
    first = folder / "kept" / "run-00000.json"
    text = first.read_text()
    for wrong in ("", text[:-9], "[1]", '{"run": 3}', text.replace('"input": "', '"input": "0')):
        first.write_text(wrong)
        assert "run-00000.json is not a result of this run" in sim(*args, *kept, status=2), wrong[:40]
    first.write_text(text)
    for other in (["--set", "flow.count=2"], ["--topology", "/dev/null"], ["--seed", "9"]):
        assert "is not a result of this run" in sim(*args, *other, *kept, status=2), other
    assert "is for --sweep" in sim(args[0], *kept, status=2)
    assert "--part for --results" in sim(*args, "--part", "1/2", status=2)
    for part in "0/2", "3/2", "1", "1/", "-1/2", "1/2x", "1/0":
        assert "expected K/N" in sim(*args, *kept, "--part", part, status=2), part
    assert "/proc/nowhere" in sim(*args, "--results", "/proc/nowhere", status=1)


def check_trace(folder):
    """The three formats give the same run, and transfers.csv of a run gives that run again."""
    net = folder / "net.ini"
    net.write_text("[network]\ntopology=incast\nsenders=3\n[run]\nduration=1ms\n")
    (folder / "t.csv").write_text("start_ps, from,to ,bytes,dscp\n# two\n0,0,3,5000,24\n1500000,2,1,70000,24\n")
    (folder / "flow.txt").write_text("2\n0 3 3 100 5000 0\n2 1 3 100 70000 0.0000015\n")
    (folder / "t.cm").write_text("Nodes 4\nConnections 2\nTriggers 0\n0->3 id 1 start 0 size 5000\n"
                                 "2->1 id 2 start 1500000 size 70000\n")
    runs = [sim(net, "--json", "--trace", folder / name) for name in ("t.csv", "flow.txt", "t.cm")]
    assert runs[0] == runs[1] == runs[2], runs
    flow, = json.loads(runs[0])["flows"]
    assert flow["done"] == 2 and flow["bytes"] == 75000
    sim(net, "--trace", folder / "t.csv", "--csv", folder / "replay")
    assert sim(net, "--json", "--trace", folder / "replay" / "transfers.csv") == runs[0]
    (folder / "endless.cm").write_text("Nodes 4\nConnections 1\n0->3 id 1 start 0 size 0\n")
    flow, = json.loads(sim(net, "--json", "--trace", folder / "endless.cm"))["flows"]
    assert flow["done"] == 0 and flow["bytes"] > 0.9 * 1e-3 * 100e9 / 8, flow
    (folder / "own.ini").write_text(net.read_text() + "[flow]\nfrom=1\nto=3\nbytes=1kB\n")
    assert len(json.loads(sim(folder / "own.ini", "--json", "--trace", folder / "t.cm"))["flows"]) == 2
    for text, expected in (("", "no transfer"), ("from,to\n", "the columns from, to, bytes"),
                           ("from,to,bytes,start_ps\n1,2,3\n", "t.bad:2: the line has no start_ps"),
                           ("from,to,bytes,start_ps\n1,2,-3,0\n", "t.bad:2: bytes = '-3': expected a whole number"),
                           ("from,to,bytes,start_ps,dscp\n1,2,3,0,64\n", "dscp = '64': expected a whole number up to 63"),
                           ("from,to,bytes,start_ps,to\n1,2,3,0,3\n", "'to': expected each column once"),
                           ("from,to,bytes,start_ps\n1,2,3,2000000000\n", "starts at 2 ms, after the end of the run: [run] duration = 1 ms"),
                           ("from,to,bytes,start_ps\n1,9,3,0\n", "t.bad:2: from = 1, to = 9, bytes = 3: a host"),
                           ("from,to,bytes,start_ps\n1,1,3,0\n", "does not send to itself"),
                           ("from,to,bytes,start_ps\n1,2,0,0\n", "nothing is sent"),
                           ("1\n1 2 8 4 5 0\n", "expected source, destination"),
                           ("1\n1 2 3 4 5 1e\n", "expected source, destination"),
                           ("5\n1 2 3 4 5 0\n", "t.bad:1: the count is 5, and 1 transfers follow"),
                           ("1\n1 2 3 4 5 2\n", "starts at 2 s, after the end of the run"),
                           ("Nodes 4\nConnections 2\n1->2 start 0 size 9\n", "t.bad:2: the count is 2, and 1 transfers follow"),
                           ("Nodes 2\n1->2 start 0 size 9\n", "t.bad:2: '1->2 start 0 size 9': expected hosts below"),
                           ("Nodes 0\n", "expected a number of nodes"), ("Nodes 4\nConnections x\n", "expected a number"),
                           ("Nodes 4\n-1->2 start 0 size 9\n", "expected a connection"),
                           ("Nodes 4\n1->2 start 0 size 9 prio 3\n", "'prio': expected id, start or size"),
                           ("Nodes 4\n1->2 start 0 size 9 7\n", "expected a connection"),
                           ("Nodes 4\n1->2 start 10us size 9\n", "expected start in picoseconds"),
                           ("Nodes 4\n1->2 size 9\n", "expected a connection"),
                           ("Nodes 4\nTriggers 1\n", "without triggers and failures"),
                           ("Nodes 4\n1->2 id 1 size x\n", "expected a connection"),
                           ("Nodes 4\n1->2 id 1 trigger 3 size 5\n", "without triggers"),
                           ("Nodes 4\n" + "1" * 600 + "\n", "at most 511"), ("\0\1", "t.bad:1: '??': expected a line of text")):
        (folder / "t.bad").write_text(text)
        assert expected in sim(net, "--trace", folder / "t.bad", status=2), (text, expected)
    assert "cannot be read" in sim(net, "--trace", folder / "none", status=2)


def check_topology(folder):
    """HPCC's topology and flows give the run of the same network as [link] sections. Node 0 is a switch there. As in
    its own examples, the files have more than their heads announce, which it does not read.
    """
    (folder / "topology.txt").write_text("5 2 4\n0 3\n1 0 100Gbps 0.001ms 0\n2 0 100Gbps 1us 0\n"
                                         "0 3 40Gbps 0.0005ms 0.000000\n3 4 25Gbps 1us 0\n"
                                         "4 0 25Gbps 1us 0\n\nFirst line: total node #, switch node #, link #\n")
    (folder / "nodes.txt").write_text("2\n1 4 3 100 50000 0\n2 4 3 100 70000 0.0000015\n1 2 3 100 9 0\n\n"
                                     "First line: # of flows\n" + "x" * 600 + "\n")
    (folder / "hosts.csv").write_text("from,to,bytes,start_ps,dscp\n0,2,50000,0,24\n1,2,70000,1500000,24\n")
    (folder / "empty.ini").write_text("[run]\nduration=1ms\n")
    links = ("h0,s0,100,200", "h1,s0,100,200", "s0,s1,40,100", "s1,h2,25,200")
    (folder / "links.ini").write_text("[network]\ntopology=links\nhosts=3\nswitches=2\n[run]\nduration=1ms\n" + "".join(
        "[link]\nfrom={}\nto={}\nspeed={}Gb/s\ncable={}m\n".format(*link.split(",")) for link in links))
    imported = sim(folder / "empty.ini", "--json", "--topology", folder / "topology.txt", "--trace", folder / "nodes.txt")
    own = sim(folder / "links.ini", "--json", "--trace", folder / "hosts.csv")
    assert imported.replace("empty.ini", "links.ini") == own
    assert json.loads(own)["flows"][0]["done"] == 2
    assert "comes from" in sim(folder / "links.ini", "--topology", folder / "topology.txt", status=2)
    (folder / "switch.txt").write_text("1\n0 4 3 100 50000 0\n")
    assert "hosts of the topology" in sim(folder / "empty.ini", "--topology", folder / "topology.txt", "--trace",
                                          folder / "switch.txt", status=2)
    for text, expected in (("", "expected 2 to 65536 nodes"), ("5 5 4\n", "t.bad:1: '5': expected a number of switches"),
                           ("5 2 4\n0 9\n", "t.bad:2: '9': expected the number of a switch"),
                           ("5 2 4\n3 3\n", "expected each switch once"),
                           ("2 1 1\n0\n1 1 1Gbps 1us 0\n", "t.bad:3: '1': expected another node"),
                           ("2 1 2\n0\n0 1 1Gbps 1us 0\n1 0 1Gbps 1us 0\n", "t.bad:4: '1': expected a switch, or a host"),
                           ("2 1 1\n0\n0 1 5 0 0\n", "expected a speed"), ("2 1 1\n0\n0 1 1Gbps 1 0\n", "a delay such"),
                           ("2 1 1\n0\n0 1 1Gbps 1us 2\n", "a rate of loss"), ("2 1 2\n0\n0 1 1Gbps 1us 0\n", "the number of a node")):
        (folder / "t.bad").write_text(text)
        assert expected in sim(folder / "empty.ini", "--topology", folder / "t.bad", status=2), (text, expected)


def check_incast(folder):
    """No loss; PFC alone pauses, and DCQCN pauses less."""
    with_ecn = json.loads(sim(SCENARIOS / "incast.ini", "--json", "--csv", folder / "i"))
    alone = json.loads(sim(SCENARIOS / "incast.ini", "--json",
                           "--set", "host.congestion-control=none"))
    for result in (with_ecn, alone):
        assert result["end"] == "all transfers ended"
        assert result["flows"][0]["done"] == 16 and result["flows"][0]["bytes"] == 16000000
        assert sum(result["lost"].values()) == 0 and result["deadlock"] == []
    assert alone["pause_frames"] > with_ecn["pause_frames"]
    assert alone["np_cnp_sent"] == 0 and with_ecn["np_cnp_sent"] > 0
    with open(folder / "i" / "transfers.csv", encoding="ascii") as f:
        rows = list(csv.DictReader(f))
    ends = [int(r["end_ps"]) - int(r["start_ps"]) for r in rows]
    assert len(rows) == 16 and all(r["status"] == "0" for r in rows)
    assert max(ends) == with_ecn["flows"][0]["fct_ps"]["max"]


def check_storage():
    """A mix of reads, writes and messages keeps its rate, and small transfers do not wait for long."""
    result = json.loads(sim(SCENARIOS / "storage.ini", "--json"))
    reads, writes, backup, messages = result["flows"]
    assert sum(result["lost"].values()) == 0 and result["local_ack_timeout_err"] == 0
    for flow, offered in ((reads, 48 * 4096 * 8 / 50e-6), (writes, 48 * 65536 * 8 / 500e-6),
                          (backup, 48 * 1e6 * 8 / 10e-3), (messages, 48 * 256 * 8 / 100e-6)):
        assert flow["failed"] == 0 and flow["transfers"] - flow["done"] < 10, flow
        assert 0.7 < flow["rate_bps"] / offered < 1.3, (flow, offered)
    # The shortest: 70 m of cables there and back; of the request 98 bytes on the wire, of the answer
    # 4182, each sent twice at 100 Gb/s and twice at 400.
    assert reads["fct_ps"]["min"] == 2 * 70 * 5000 + (98 + 4182) * (2 * 80 + 2 * 20), reads
    assert reads["fct_ps"]["p99"] < 10e6 and reads["fct_ps"]["max"] < 100e6, reads


def check_all_to_all():
    """Each host receives its 1.5 MB from 15 others at nearly the rate of its cable."""
    result = json.loads(sim(SCENARIOS / "all-to-all.ini", "--json"))
    flow = result["flows"][0]
    assert flow["done"] == 240 and flow["bytes"] == 240 * 100000
    assert sum(result["lost"].values()) == 0 and result["deadlock"] == []
    assert 15 * 100000 * 80 < flow["time_ps"] < 2 * 15 * 100000 * 80, flow


def check_deadlock():
    """The deadlock is listed switch by switch; with up-down routes there is none."""
    text = sim(SCENARIOS / "ring-deadlock.ini")
    assert "deadlock" in text and text.count("(to switch") == 4
    locked = json.loads(sim(SCENARIOS / "ring-deadlock.ini", "--json"))
    assert {w["switch"] for w in locked["deadlock"]} == {0, 1, 2, 3}
    free = json.loads(sim(SCENARIOS / "ring-deadlock.ini", "--json",
                          "--set", "network.routes=up-down"))
    assert free["deadlock"] == [] and free["end"] == "all transfers ended"


def check_errors():
    """A message has the place, the error and the expected form. No simulation runs."""
    bad = "[network]\ntopology = incast\nsenders = 4\n[flow]\nfrom = 0\nto = 7\n"
    assert "-:4: [flow] host 7 does not exist" in sim("-", text=bad, status=2)
    assert "-:2: " in sim("-", text="[run]\nduration = 5\n", status=2)
    assert "No such file" in sim("/nonexistent.ini", status=2)
    assert "has no key" in sim(SCENARIOS / "incast.ini", "--set", "run.x=1", status=2)
    assert "seed" in sim(SCENARIOS / "incast.ini", "--seed", "-1", status=2)
    assert "unexpected argument 'b'" in sim("a", "b", status=2)
    sim(SCENARIOS / "incast.ini", "--csv", "/proc/nowhere", status=1)


ENDLESS = ("[network]\ntopology=pair\n[flow]\nfrom=0\nto=1\nendless=yes\nstart=1000s\n"
           "[run]\nduration=1000000s\ndeadlock-check=0s\n")


def check_interrupted():
    """An interrupted run still prints its results."""
    for number in (signal.SIGINT, signal.SIGTERM):
        with subprocess.Popen([ADVERB, "sim", "-", "--json"], stdin=subprocess.PIPE,
                              stdout=subprocess.PIPE, text=True) as p:
            p.stdin.write(ENDLESS)
            p.stdin.close()
            let_compute(p.pid, 1)
            p.send_signal(number)
            out = p.stdout.read()
            assert p.wait(PATIENCE) == 0
        result = json.loads(out)
        assert result["end"] == "interrupted" and result["tx_packets"] > 1000, out


def check_progress():
    """The progress bar appears on a terminal only."""
    master, slave = os.openpty()
    with subprocess.Popen([ADVERB, "sim", "-"], stdin=subprocess.PIPE, stdout=subprocess.DEVNULL,
                          stderr=slave, text=True) as p:
        os.close(slave)
        p.stdin.write(ENDLESS.replace("start=1000s", "start=500000s"))
        p.stdin.close()
        shown = b""
        while b"%" not in shown:
            shown += os.read(master, 4096)
        p.send_signal(signal.SIGTERM)
        assert p.wait(100) == 0
    os.close(master)
    assert re.match(rb"\r\[#{25} {25}\]  50 %", shown), shown


def check_unwritable(folder):
    """An output that cannot be written is an error with exit status 1."""
    scenario = SCENARIOS / "incast.ini"
    with open("/dev/full", "w", encoding="ascii") as full:
        for args in ([], ["--json"]):
            r = subprocess.run([ADVERB, "sim", scenario, *args], stdout=full, timeout=PATIENCE,
                               stderr=subprocess.PIPE, text=True, check=False)
            assert r.returncode == 1 and "No space left" in r.stderr, (args, r)
    r = subprocess.run(["sh", "-c", f'exec "{ADVERB}" sim "{scenario}" >&-'], timeout=PATIENCE,
                       stderr=subprocess.PIPE, text=True, check=False)
    assert r.returncode == 1 and "cannot be written" in r.stderr, r
    assert "No space left" in sim(scenario, "--report", "/dev/full", status=1)
    for name in ("events.csv", "transfers.csv"):
        full = folder / f"full-{name}"
        full.mkdir()
        (full / name).symlink_to("/dev/full")
        assert "No space left" in sim(scenario, "--csv", full, status=1)


def check_hostile():
    """Files that are not scenarios and arguments that are not keys are errors."""
    assert "more than 16777216 bytes" in sim("/dev/zero", status=2)
    assert "Is a directory" in sim("/tmp", status=2)
    assert "-:3: [network] senders" in sim("-", text="[network]\ntopology=incast\nsenders=1\0\n", status=2)
    assert "-:2: [network] topology = inc??st" in sim("-", text="[network]\ntopology=inc\u00e9st\n", status=2)
    assert "-:1: " in sim("-", text="x" * 1000000, status=2)
    for bad in ("x", "=", ".", "run.=", ".seed=1", "flow.bytes", "\x1b[31m.x=1", "run.seed=" + "9" * 999):
        message = sim(SCENARIOS / "incast.ini", "--set", bad, status=2)
        assert "\x1b" not in message and len(message) < 500, message
    crlf = "[network]\r\ntopology = pair\r\n[flow]\r\nfrom=0\r\nto=1\r\n"
    assert json.loads(sim("-", "--json", text=crlf))["flows"][0]["done"] == 1


def check_memory():
    """A run that needs more memory than the machine has, or than is allowed, is refused before it starts."""
    text = ("[network]\ntopology=incast\nsenders=200\n[flow]\nfrom=0-199\nto=200\ncount=100000\n")
    limited = f'ulimit -v 2000000; exec "{ADVERB}" '
    if subprocess.run(["sh", "-c", limited + "--version"], capture_output=True,
                      check=False).returncode:
        return  # built with a sanitizer, which needs much more
    r = subprocess.run(["sh", "-c", limited + "sim -"], input=text, capture_output=True, text=True,
                       timeout=PATIENCE, check=False)
    assert r.returncode == 2 and "-:4: needs about 3." in r.stderr, r


def check_names(folder):
    """JSON has the file's name, also if its bytes are not UTF-8."""
    for name in (b"plain", "Prüfung-日本-\U0001f4be".encode(), b"\xff\xc3", b"\xed\xa0\x80",
                 b"\xc0\xaf \xe0\x80\xaf \xf4\x90\x80\x80 \xe2\x82", b'"\\\n\t\x01\x7f\xc2\x85',
                 bytes(range(1, 256)).replace(b"/", b"")[:240]):
        path = os.fsencode(folder) + b"/" + name
        shutil.copyfile(os.fsencode(SCENARIOS / "incast.ini"), path)
        r = subprocess.run([ADVERB, "sim", path, "--json", "--set", "run.duration=1us"],
                           capture_output=True, timeout=PATIENCE, check=True)
        # Strictly: bytes that are not UTF-8 would raise here.
        assert os.fsencode(json.loads(r.stdout.decode("utf-8"))["file"]) == path, (name, r.stdout)


def rows(path):
    with open(path, encoding="ascii") as f:
        return list(csv.DictReader(f))


def check_series(folder):
    """--series has the same samples as --csv, as arrays that pandas reads."""
    sim(SCENARIOS / "incast.ini", "--csv", folder / "s", "--series", folder / "s.json")
    data = json.loads((folder / "s.json").read_text())
    assert data["sample_ps"] == 5_000_000 and data["seed"] == 1
    found = sorted((q["switch"], q["port"], q["priority"], t, b) for q in data["queues"]
                   for t, b in zip(q["time_ps"], q["bytes"], strict=True))
    assert len(found) > 100 and found == sorted(
        tuple(int(r[k]) for k in ("switch", "port", "priority", "time_ps", "bytes"))
        for r in rows(folder / "s" / "queues.csv"))
    found = sorted((c["cable"], c["from"], c["to"], *row) for c in data["cables"]
                   for row in zip(c["time_ps"], c["bytes"], c["waiting_bytes"], strict=True))
    assert len(found) > 1000 and found == sorted(
        (int(r["cable"]), r["from"], r["to"], int(r["time_ps"]), int(r["bytes"]), int(r["waiting_bytes"]))
        for r in rows(folder / "s" / "cables.csv"))
    sim(SCENARIOS / "incast.ini", "--series", folder / "alone.json")
    assert json.loads((folder / "alone.json").read_text()) == data
    assert "needs [run] sample" in sim(SCENARIOS / "irn.ini", "--series", folder / "x", status=2)
    assert "/proc/nowhere" in sim(SCENARIOS / "incast.ini", "--series", "/proc/nowhere/x", status=1)
    assert "No space" in sim(SCENARIOS / "incast.ini", "--series", "/dev/full", status=1)
    assert "single run" in sim(SCENARIOS / "incast.ini", "--series", "x", "--sweep", "run.seed=1", status=2)


def main():
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        check_tables(folder)
        check_series(folder)
        check_sweep(folder)
        check_threads(folder)
        check_results(folder)
        check_trace(folder)
        check_topology(folder)
        check_same_bytes(folder)
        check_incast(folder)
        check_unwritable(folder)
        check_names(folder)
    check_storage()
    check_all_to_all()
    check_deadlock()
    check_errors()
    check_hostile()
    check_memory()
    check_interrupted()
    check_progress()
    with tempfile.TemporaryDirectory() as folder:
        for scenario in sorted(SCENARIOS.glob("*.ini")):
            result = json.loads(sim(scenario, "--json", "--set", "run.duration=300us",
                                    "--csv", folder))
            assert result["tx_packets"] > 0, scenario


if __name__ == "__main__":
    main()
