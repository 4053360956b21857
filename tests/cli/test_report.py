#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""adverb sim --report: the page's data equal the output of --json and --csv, and the page is valid HTML.

Usage: test_report.py ADVERB SCENARIOS
"""

import collections
import csv
import html.parser
import json
import pathlib
import re
import shutil
import signal
import subprocess
import sys
import tempfile

from limits import PATIENCE, let_compute

ADVERB = pathlib.Path(sys.argv[1]).resolve()
SCENARIOS = pathlib.Path(sys.argv[2]).resolve()
VOID = {"meta", "link", "br"}
SIZE_MOST = 2_000_000
COLUMNS_MOST = 512


def sim(*args, status=0, text=None, cwd=None):
    r = subprocess.run([ADVERB, "sim", *map(str, args)], capture_output=True, text=True,
                       timeout=PATIENCE, input=text, cwd=cwd)
    assert r.returncode == status, (args, r.returncode, r.stderr)
    return r.stderr if status else r.stdout


class Page(html.parser.HTMLParser):
    """Reads a page: its elements and its data. Fails if tags do not match."""

    def __init__(self, text):
        super().__init__()
        self.open = []
        self.elements = []  # [tag, attributes, text]
        self.text = text
        self.feed(text)
        self.close()
        assert not self.open, self.open
        self.data = json.loads(self.find("script", id="data")[0][2])

    def handle_starttag(self, tag, attrs):
        self.elements.append([tag, dict(attrs), ""])
        assert len(dict(attrs)) == len(attrs), attrs
        if tag not in VOID:
            self.open.append((tag, self.elements[-1]))

    def handle_endtag(self, tag):
        assert self.open and self.open.pop()[0] == tag, (tag, self.getpos())

    def handle_data(self, data):
        for _, element in self.open:
            element[2] += data

    def find(self, tag, **attrs):
        """Returns the elements with these attributes (data_x means data-x; None: any value)."""
        wanted = {k.replace("_", "-"): v for k, v in attrs.items()}
        return [e for e in self.elements if e[0] == tag and
                all(k in e[1] and v in (None, e[1][k]) for k, v in wanted.items())]

    def value(self, key):
        return int(self.find("dd", data_key=key)[0][1]["data-value"])

    def total(self, counter):
        return sum(self.data["counters"][counter])


def check_shape(data):
    """Checks that every series has a value for each column, and that the columns cover the run."""
    columns = len(data["all_flows"])
    assert columns <= COLUMNS_MOST
    assert (columns - 1) * data["interval_ps"] < data["end_ps"] <= columns * data["interval_ps"] or \
        (columns, data["end_ps"]) == (0, 0)
    for q in data["queues"]:
        assert len(q["most"]) == len(q["least"]) == len(q["input"]) == columns
        assert all(low <= high for low, high in zip(q["least"], q["most"]))
        assert max(q["most"]) == q["peak"] > 0 and len(q.get("limit", q["most"])) == columns
    for p in data["pauses"]:
        assert len(p["time_ps"]) == columns and sum(p["time_ps"]) == p["total_ps"] > 0
        assert all(t <= data["interval_ps"] for t in p["time_ps"])
    for f in data["flows"]:
        assert len(f["bytes"]) == columns and sum(f["bytes"]) == f["total"]
    for t in data["times"]:
        assert t["ps"] == sorted(t["ps"]) and 0 < len(t["ps"]) <= 201
        assert t["ps"][0] <= t["median"] <= t["p99"] <= t["ps"][-1]
    assert all(0 <= used <= 1_000_000 for link in data["links"] for used in link[4:])
    assert all(len(c) == columns for c in data["counters"].values())


def report(folder, scenario, *args, name="r.html"):
    """Runs a scenario. Returns the page and the JSON of the same run."""
    path = folder / name
    out = sim(scenario, "--report", path, "--json", *args)
    data = path.read_bytes()
    assert len(data) < SIZE_MOST, (scenario, len(data))
    page, result = Page(data.decode()), json.loads(out)
    assert page.data["result"] == result
    check_shape(page.data)
    check_figures(page, result)
    return page, result


def check_figures(page, result):
    """The numbers in the tables, which need no script, equal those of --json."""
    for key in ("time_ps", "pause_frames", "ecn_marked", "np_cnp_sent", "local_ack_timeout_err",
                "buffer_most"):
        assert page.value(key) == result[key], key
    assert page.value("lost") == sum(result["lost"].values()) == page.total("lost")
    for reason, count in result["lost"].items():
        assert page.find("span", data_lost=reason)[0][2] == str(count)
    assert page.find("span", data_key="seed")[0][2] == str(result["seed"])
    assert page.find("span", data_key="end")[0][2] == result["end"]
    assert page.value("received") == sum(page.data["all_flows"])
    for key in ("ecn_marked", "np_cnp_sent", "rp_cnp_handled"):
        assert page.total(key) == result[key], key
    for i, flow in enumerate(result["flows"][:60]):
        row = page.find("tr", data_flow=str(i))
        at = page.elements.index(row[0])
        times = [int(e[1]["data-ps"]) for e in page.elements[at:at + 12] if "data-ps" in e[1]]
        assert times == [flow["fct_ps"][k] for k in ("min", "median", "p99", "max")]


def check_incast(folder):
    """The bottleneck of an incast is the receiver's cable. Its queue agrees with the samples of --csv."""
    page, result = report(folder, SCENARIOS / "incast.ini", "--csv", folder / "csv")
    data = page.data
    with open(folder / "csv" / "queues.csv", encoding="ascii") as f:
        sampled = max(int(r["bytes"]) for r in csv.DictReader(f))
    queue = data["queues"][0]
    assert sampled <= queue["peak"] <= result["buffer_most"] and queue["peak"] < sampled * 1.1
    assert (queue["switch"], queue["priority"], queue["port"]) == (0, 3, 16)
    assert (queue["ecn_min"], queue["ecn_max"], queue["lossless"]) == (100_000, 400_000, True)
    b = data["bottleneck"]
    assert {k: b[k] for k in ("switch", "port", "priority", "peer", "peak")} == {
        "switch": 0, "port": 16, "priority": 3, "peer": 16, "peak": queue["peak"]}
    cable = next(link for link in data["links"] if 16 in (link[0], link[2]))
    assert b["busy"] == max(cable[4:]) == max(max(link[4:]) for link in data["links"])
    # 16 MB of payload in frames of 4096, with 78 bytes of headers, preamble and gap in each.
    used = 16e6 * (1 + 78 / 4096) * 80 / result["time_ps"]
    assert abs(b["busy"] / 1e6 / used - 1) < 0.02, (b["busy"], used)
    assert "Bottleneck: s0 → h16." in page.find("p", id="bottleneck")[0][2]
    assert len(data["flows"]) == 16 and data["flow_is_connection"]
    assert page.value("received") == result["flows"][0]["bytes"]
    times = data["times"]
    assert len(times) == 1 and times[0]["count"] == 16 == len(times[0]["ps"])
    assert times[0]["ps"][0] == result["flows"][0]["fct_ps"]["min"]
    assert times[0]["ps"][-1] == result["flows"][0]["fct_ps"]["max"]
    assert ["priority 3", "ecn-max", "400 kB"] in data["parameters"]


def check_bottlenecks(folder):
    """The bottleneck is the cable to the overloaded host, not a longer queue that PFC has paused."""
    for scenario, switch, host in (("unfairness", 1, 5), ("victim", 1, 3), ("clos-victim", 3, 8)):
        page, _ = report(folder, SCENARIOS / f"{scenario}.ini", "--set", "run.duration=20ms")
        b = page.data["bottleneck"]
        assert (b["switch"], b["peer"]) == (switch, host), (scenario, b)
        if scenario == "clos-victim":
            assert any(q["peak"] > b["peak"] for q in page.data["queues"])


def rows(path):
    with open(path, encoding="ascii") as f:
        return list(csv.DictReader(f))


def check_why(folder):
    """The page says what the tables say: who paused whom first, who was paused longest, which transfer suffered most."""
    for args in (), ("--set", "host.congestion-control=none"), ("--set", "flow.operation=read"):
        page, _ = report(folder, SCENARIOS / "incast.ini", "--csv", folder / "why", *args)
        why = page.find("p", id="bottleneck")[0][2]
        first = next((r for r in rows(folder / "why" / "events.csv") if r["event"] == "xoff"), None)
        if first:
            found = re.search(r"First s0 paused h(\d+), at ([\d.]+) us\.", why)
            assert found.group(1) == first["port"] and abs(float(found.group(2)) - int(first["time_ps"]) / 1e6) < 0.001
            longest = max(rows(folder / "why" / "pauses.csv"), key=lambda r: int(r["paused_ps"]))
            assert f"{longest['paused']} was paused longest" in why, (why, longest)
        else:
            assert "No sender was paused." in why
        most = max(rows(folder / "why" / "transfers.csv"),
                   key=lambda r: (int(r["end_ps"]) - int(r["start_ps"])) / int(r["ideal_ps"]))
        ends = (most["to"], most["from"]) if "flow.operation=read" in args else (most["from"], most["to"])
        times = (int(most["end_ps"]) - int(most["start_ps"])) / int(most["ideal_ps"])
        assert f"one from h{ends[0]} to h{ends[1]} suffered most" in why and f", {times:.1f} times" in why, (why, most)
    page, _ = report(folder, SCENARIOS / "pause-storm.ini", "--set", "run.duration=3ms", "--set", "storm.from=0us")
    assert "First h0 paused s0, before " in page.find("p", id="bottleneck")[0][2]
    page, _ = report(folder, SCENARIOS / "victim.ini", "--set", "run.duration=5ms")
    least = min(page.data["flows"], key=lambda f: f["total"])
    assert least["name"].split(": ")[1] in \
        re.search(r"The connection from (h\d+ to h\d+) received the least", page.find("p", id="bottleneck")[0][2]).group(1)


def check_pauses(folder):
    """The paused senders and their times agree with the switches' xoff and xon events."""
    page, result = report(folder, SCENARIOS / "incast.ini", "--set",
                          "host.congestion-control=none", "--csv", folder / "p")
    began, total, count = {}, collections.Counter(), collections.Counter()
    with open(folder / "p" / "events.csv", encoding="ascii") as f:
        for r in csv.DictReader(f):
            key = (int(r["port"]), int(r["priority"]))
            if r["event"] == "xoff":
                began[key] = int(r["time_ps"])
                count[key] += 1
            elif r["event"] == "xon":
                total[key] += int(r["time_ps"]) - began.pop(key)
    rows = page.data["pauses"]
    assert len(rows) == min(24, len(count)) and rows
    assert [p["total_ps"] for p in rows] == sorted((p["total_ps"] for p in rows), reverse=True)
    for row in rows:
        key = (int(row["node"][1:]), row["priority"])  # host n is at port n of the one switch
        assert row["node"][0] == "h" and row["peer"] == "s0"
        # Two pauses in quick succession may be one pause at the host, since PAUSE frames can be delayed.
        assert 0 < row["count"] <= count[key]
        slack = 1_000_000 * count[key]
        assert abs(row["total_ps"] - total[key]) <= slack, (key, row["total_ps"], total[key])
    assert result["np_cnp_sent"] == 0


def check_deadlock(folder):
    """If a run deadlocks, the page has the cycle as text and as data, and names no bottleneck."""
    page, result = report(folder, SCENARIOS / "ring-deadlock.ini")
    assert len(result["deadlock"]) == 4 and page.data["bottleneck"] is None
    finding = page.find("p", **{"class": "finding"})[0][2]
    assert finding.startswith("Deadlock. Each of these 4 ")
    for wait in result["deadlock"]:
        assert f"switch {wait['switch']} port {wait['port']} priority {wait['priority']}" in finding
    page, result = report(folder, SCENARIOS / "ring-deadlock.ini", "--set", "network.routes=up-down")
    assert not result["deadlock"] and "Deadlock." not in page.find("p", **{"class": "finding"})[0][2]


def check_same(folder):
    """The same seed gives the same page. The report does not change the results of the run."""
    plain = sim(SCENARIOS / "incast.ini", "--json", "--csv", folder / "plain")
    for name in ("a", "b"):
        out = sim(SCENARIOS / "incast.ini", "--report", folder / name, "--json", "--csv",
                  folder / "both")
        assert out == plain
        for file in ("events.csv", "queues.csv", "transfers.csv"):
            assert (folder / "both" / file).read_bytes() == (folder / "plain" / file).read_bytes()
    assert (folder / "a").read_bytes() == (folder / "b").read_bytes()
    sim(SCENARIOS / "incast.ini", "--report", folder / "c", "--seed", 2)
    assert (folder / "a").read_bytes() != (folder / "c").read_bytes()


def check_hostile(folder):
    """The file's name appears as text, also if it contains markup or bytes that are not UTF-8."""
    for name in (b"<script>alert(1)<", b'a"\'&amp;--><svg onload=x>.ini',
                 b"</script><!--<script>", b"{{data}}{{title}}",
                 b"\xff\xc0\xaf\x01\n\xed\xa0\x80\xc2\x85",
                 "ümlaut → 名".encode()):
        path = bytes(folder) + b"/" + name.replace(b"/", b"_")
        shutil.copy(SCENARIOS / "ring-deadlock.ini", path)
        r = subprocess.run([bytes(ADVERB), b"sim", path, b"--report", bytes(folder) + b"/h.html"],
                           capture_output=True, check=False, timeout=PATIENCE)
        assert r.returncode == 0, r.stderr
        page = Page((folder / "h.html").read_bytes().decode())
        assert len(page.find("script")) == 3 and not page.find("svg")
        assert "<" not in page.find("script", id="data")[0][2]
        assert not any(k.startswith("on") for e in page.elements for k in e[1])
        title = page.find("h1")[0][2]
        assert not re.search("[\x00-\x1f\x7f-\x9f]", title)
        if b"\xff" not in name:
            assert title.endswith(path.decode().rsplit("/", maxsplit=1)[1]), title


def check_alone(folder):
    """The page loads no other file: no tag and no style has an address."""
    page, _ = report(folder, SCENARIOS / "ring-deadlock.ini")
    for _, attributes, _ in page.elements:
        assert not attributes.get("src") and attributes.get("href", "data:,") == "data:,"
    assert "@import" not in page.text and "url(#arrow)" in page.text
    assert not re.search(r"url\((?!#arrow)|sourceMappingURL", page.text)
    assert "Permission is hereby granted" in page.text  # the library's licence


def check_bounded(folder):
    """The size of the page is bounded for long runs, many flows and large networks."""
    page, _ = report(folder, SCENARIOS / "unfairness.ini", "--set", "run.duration=300ms")
    assert len(page.text) < 500_000
    assert COLUMNS_MOST / 2 <= len(page.data["all_flows"])
    page, _ = report(folder, SCENARIOS / "fat-tree.ini", "--set", "run.duration=300us",
                     "--set", "flow.to=all", "--set", "flow.count=1")
    assert page.data["connections"] == 16256 and not page.data["flow_is_connection"]
    scenario = "[network]\ntopology=fat-tree\nports=24\n[flow]\nfrom=all\nto=permutation\n" \
               "[run]\nduration=5us\n"
    sim("-", "--report", folder / "big.html", text=scenario)
    page = Page((folder / "big.html").read_text())
    assert len(page.data["links"]) == 10 and page.data["links_left_out"] == 3 * 24**3 // 4 - 10
    assert len(page.text) < SIZE_MOST


def check_rates(folder):
    """The rates of flows are right with every operation and duration. Lost payload does not count."""
    text = "[network]\ntopology=incast\nsenders=1\n[flow]\nfrom=0\nto=1\nendless=yes\n" \
           "operation={}\ntimeout=8\n[host]\ncongestion-control=none\n" \
           "[loss]\nlink=0\nprobability={}\n[run]\nduration={}\n"
    for operation in ("write", "send", "read"):
        for duration in (100_001, 123_456, 799_999, 3_000_000):  # ns
            sim("-", "--report", folder / "f.html", text=text.format(operation, 0, f"{duration}ns"))
            page = Page((folder / "f.html").read_text())
            width = page.data["interval_ps"]
            first, last = int(15e6 // width) + 1, len(page.data["all_flows"]) - 1
            rate = sum(page.data["all_flows"][first:last]) * 8e12 / ((last - first) * width)
            assert 90e9 < rate < 101.5e9, (operation, duration, rate)
            received = page.value("received")
            assert 0.95 < received / (duration * 98 / 8) < 1.01, (operation, duration, received)
    out = sim("-", "--json", "--report", folder / "f.html",
              text=text.format("write", "1/256", "9ms"))
    page = Page((folder / "f.html").read_text())
    done = json.loads(out)["flows"][0]["bytes"]  # completed messages only; 8 more may be outstanding
    assert done <= page.value("received") <= done + 8 * 2**20
    assert page.total("lost") == int(page.find("span", data_lost="cable")[0][2]) > 0


def check_edges(folder):
    """Runs without traffic have a valid page. A file that cannot be written is an error."""
    pair = "[network]\ntopology=pair\n[flow]\nfrom=0\nto=1\nstart=1s\n[run]\nduration={}\n"
    for duration in ("1ps", "10us", "3s"):
        sim("-", "--report", folder / "e.html", text=pair.format(duration))
        check_shape(Page((folder / "e.html").read_text()).data)
    sim(SCENARIOS / "incast.ini", "--report", "/proc/nowhere/r.html", status=1)
    assert "No space" in sim(SCENARIOS / "incast.ini", "--report", "/dev/full", status=1)
    sim(SCENARIOS / "incast.ini", "--set", "run.x=1", "--report", folder / "no.html", status=2)
    assert not (folder / "no.html").exists()


def check_interrupted(folder):
    """An interrupted run still writes a page with the data until the interrupt."""
    text = "[network]\ntopology=pair\n[flow]\nfrom=0\nto=1\nendless=yes\n[run]\nduration=1000s\n"
    with subprocess.Popen([ADVERB, "sim", "-", "--report", folder / "i.html"],
                          stdin=subprocess.PIPE, stdout=subprocess.DEVNULL, text=True) as p:
        p.stdin.write(text)
        p.stdin.close()
        let_compute(p.pid, 1)
        p.send_signal(signal.SIGINT)
        assert p.wait(PATIENCE) == 0
    page = Page((folder / "i.html").read_text())
    check_shape(page.data)
    assert page.find("span", data_key="end")[0][2] == "interrupted"
    assert page.value("received") > 0


def main():
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        for check in (check_incast, check_why, check_bottlenecks, check_pauses, check_deadlock, check_same, check_hostile,
                      check_alone, check_bounded, check_rates, check_edges, check_interrupted):
            check(folder)
            print(check.__name__, "good")


if __name__ == "__main__":
    main()
