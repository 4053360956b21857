#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""adverb sim --report: a page that is well-formed, says what --json and --csv say, and escapes.

Usage: test_report.py ADVERB SCENARIOS
Where there is a Chromium, it loads the page as well; where there is none, that counts as skipped.
"""

import collections
import contextlib
import csv
import html.parser
import json
import os
import pathlib
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import xml.etree.ElementTree as ET

from limits import PATIENCE, let_compute

ADVERB = pathlib.Path(sys.argv[1]).resolve()
SCENARIOS = pathlib.Path(sys.argv[2]).resolve()
SVG = "{http://www.w3.org/2000/svg}"
VOID = {"meta", "link", "br"}
SIZE_MOST = 2_000_000
CHROMIUM_SECONDS = 45  # a picture


def sim(*args, status=0, text=None, cwd=None):
    r = subprocess.run([ADVERB, "sim", *map(str, args)], capture_output=True, text=True,
                       timeout=PATIENCE, input=text, cwd=cwd)
    assert r.returncode == status, (args, r.returncode, r.stderr)
    return r.stderr if status else r.stdout


class Page(html.parser.HTMLParser):
    """Fails where tags do not match; collects what tests ask for."""

    def __init__(self, text):
        super().__init__()
        self.open = []
        self.elements = []  # [tag, attributes, text]
        self.text = text
        self.feed(text)
        self.close()
        assert not self.open, self.open
        self.svgs = [ET.fromstring(s) for s in re.findall(r"<svg.*?</svg>", text, re.S)]

    def handle_starttag(self, tag, attrs):
        self.elements.append([tag, dict(attrs), ""])
        assert len(dict(attrs)) == len(attrs), attrs
        if tag not in VOID:
            self.open.append((tag, self.elements[-1]))

    def handle_startendtag(self, tag, attrs):
        self.elements.append([tag, dict(attrs), ""])

    def handle_endtag(self, tag):
        assert self.open and self.open.pop()[0] == tag, (tag, self.getpos())

    def handle_data(self, data):
        for _, element in self.open:
            element[2] += data

    def find(self, tag, **attrs):
        """Elements with these attributes (data_x stands for data-x; None: any value)."""
        wanted = {k.replace("_", "-"): v for k, v in attrs.items()}
        return [e for e in self.elements if e[0] == tag and
                all(k in e[1] and v in (None, e[1][k]) for k, v in wanted.items())]

    def value(self, key):
        return int(self.find("dd", data_key=key)[0][1]["data-value"])

    def plots(self, kind):
        return [s for s in self.svgs if s.get("data-plot") == kind]


def report(folder, scenario, *args, name="r.html"):
    """Runs it; the page and the JSON of the same run."""
    path = folder / name
    out = sim(scenario, "--report", path, "--json", *args)
    data = path.read_bytes()
    assert len(data) < SIZE_MOST, (scenario, len(data))
    return Page(data.decode()), json.loads(out)


def corners(plot, cls):
    """Of the lines of a class: all (x, y), in the units of the axes."""
    x0, x1, left, right = map(float, plot.get("data-x").split())
    y0, y1, bottom, top = map(float, plot.get("data-y").split())
    result = []
    for path in plot.iter(SVG + "path"):
        if path.get("class") != "line " + cls:
            continue
        x = y = None
        for letter, numbers in re.findall(r"([MHV])([-0-9. e]+)", path.get("d")):
            n = [float(v) for v in numbers.split()]
            x = n[0] if letter in "MH" else x
            y = n[-1] if letter in "MV" else y
            result.append((x0 + (x - left) / (right - left) * (x1 - x0),
                           y0 + (bottom - y) / (bottom - top) * (y1 - y0)))
    assert result, cls
    return result


def under(plot, cls):
    """The area under a line."""
    points = corners(plot, cls)
    return sum((b[0] - a[0]) * a[1] for a, b in zip(points, points[1:]))


def near(a, b, plot, axis="data-y"):
    """Equal up to a tenth of a point of the picture."""
    low, high, first, last = map(float, plot.get(axis).split())
    return abs(a - b) <= 0.11 * abs((high - low) / (last - first))


def check_figures(page, result):
    """Numbers in the summary are those of --json."""
    for key in ("time_ps", "pause_frames", "ecn_marked", "np_cnp_sent", "local_ack_timeout_err",
                "buffer_most"):
        if key in result:
            assert page.value(key) == result[key], key
    assert page.value("lost") == sum(result["lost"].values())
    for reason, count in result["lost"].items():
        assert page.find("span", data_lost=reason)[0][2] == str(count)
    assert page.find("span", data_key="seed")[0][2] == str(result["seed"])
    assert page.find("span", data_key="end")[0][2] == result["end"]
    for i, flow in enumerate(result["flows"][:60]):
        row = page.find("tr", data_flow=str(i))
        at = page.elements.index(row[0])
        times = [int(e[1]["data-ps"]) for e in page.elements[at:at + 12] if "data-ps" in e[1]]
        assert times == [flow["fct_ps"][k] for k in ("min", "median", "p99", "max")]


def check_incast(folder):
    """Every plot has its marks; the highest is as high as the numbers say."""
    page, result = report(folder, SCENARIOS / "incast.ini", "--csv", folder / "csv")
    check_figures(page, result)
    assert {s.get("data-plot") for s in page.svgs} == {
        "network", "queue", "pauses", "rates", "rate", "times", "marks", "cnps"}
    with open(folder / "csv" / "queues.csv", encoding="ascii") as f:
        sampled = max(int(r["bytes"]) for r in csv.DictReader(f))
    figure = page.find("figure", data_switch="0", data_priority="3")[0]
    peak = int(figure[1]["data-peak"])
    assert sampled <= peak <= result["buffer_most"] and peak < sampled * 1.1
    queue = page.plots("queue")[0]
    assert near(max(y for _, y in corners(queue, "s0")), peak, queue)
    text = ET.tostring(queue, encoding="unicode")
    assert "K_min" in text and "K_max" in text
    assert len([p for p in page.plots("rates")[0].iter(SVG + "path")
                if p.get("class").startswith("line")]) == 16
    assert page.value("received") == result["flows"][0]["bytes"]
    times = page.plots("times")[0]
    assert near(min(x for x, y in corners(times, "s0") if y > 0.999),
                result["flows"][0]["fct_ps"]["max"], times, "data-x")
    assert near(min(x for x, _ in corners(times, "s0")), result["flows"][0]["fct_ps"]["min"],
                times, "data-x")
    for kind, key in (("frames marked", "ecn_marked"), ("CNPs sent", "np_cnp_sent"),
                      ("CNPs handled", "rp_cnp_handled")):
        items = [e for e in page.find("li", data_total=None) if kind in e[2]]
        assert int(items[0][1]["data-total"]) == result[key] > 0, kind
    each = int(page.find("figure", data_bin=None)[0][1]["data-bin"])
    for kind, cls, key in (("marks", "s0", "ecn_marked"), ("cnps", "s0", "np_cnp_sent"),
                           ("cnps", "s1", "rp_cnp_handled")):
        drawn = under(page.plots(kind)[0], cls) / each
        assert abs(drawn / result[key] - 1) < 0.05, (kind, drawn, result[key])


def check_shades(page):
    """What is drawn of each row is as long and as dark as the pauses took."""
    plot = page.plots("pauses")[0]
    low, high, first, last = map(float, plot.get("data-x").split())
    for row in plot.iter(SVG + "g"):
        least = most = 0
        for path in row.iter(SVG + "path"):
            runs = re.findall(r"M([\d.]+) [\d.]+H([\d.]+)", path.get("d"))
            width = sum(float(b) - float(a) for a, b in runs) * (high - low) / (last - first)
            blur = 0.1 * len(runs) * (high - low) / (last - first)
            quarter = int(path.get("class")[1])
            least += (width - blur) * 0.25 * (quarter - 1)
            most += (width + blur) * 0.25 * quarter
        assert least <= int(row.get("data-ps")) <= most > 0, (least, row.attrib, most)


def check_pauses(folder):
    """Who was paused, for how long: what the switches' xoff and xon say."""
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
    rows = page.find("g", data_ps=None)
    assert len(rows) == min(24, len(count)) and rows
    for row in rows:
        host = int(row[1]["data-node"][1:])  # host n is at port n of the one switch
        key = (host, int(row[1]["data-priority"]))
        # Pauses that follow each other closely may be one at the host; frames wait for others.
        assert 0 < int(row[1]["data-count"]) <= count[key]
        slack = 1_000_000 * count[key]
        assert abs(int(row[1]["data-ps"]) - total[key]) <= slack, (key, row, total[key])
    check_shades(page)
    assert result["np_cnp_sent"] == 0 and not page.plots("cnps")
    check_figures(page, result)


def check_deadlock(folder):
    """The cycle is drawn, queue by queue."""
    page, result = report(folder, SCENARIOS / "ring-deadlock.ini")
    drawn = [(int(p.get("data-switch")), int(p.get("data-port")))
             for p in page.plots("network")[0].iter(SVG + "path") if p.get("class") == "cycle"]
    assert drawn == [(w["switch"], w["port"]) for w in result["deadlock"]] and len(drawn) == 4
    assert "Deadlock: each of these 4" in page.text
    page, _ = report(folder, SCENARIOS / "ring-deadlock.ini", "--set", "network.routes=up-down")
    assert 'class="cycle"' not in page.text and "Deadlock" not in page.text


def check_same(folder):
    """The same seed, the same bytes; the report changes nothing of the run."""
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
    """A file's name is text, whatever is in it."""
    for name in (b'<script>alert(1)<', b'a"\'&amp;--><svg onload=x>.ini',
                 b"\xff\xc0\xaf\x01\n\xed\xa0\x80\xc2\x85",
                 "ümlaut → 名".encode()):
        path = bytes(folder) + b"/" + name.replace(b"/", b"_")
        shutil.copy(SCENARIOS / "ring-deadlock.ini", path)
        r = subprocess.run([bytes(ADVERB), b"sim", path, b"--report", bytes(folder) + b"/h.html"],
                           capture_output=True, check=False, timeout=PATIENCE)
        assert r.returncode == 0, r.stderr
        page = Page((folder / "h.html").read_bytes().decode())
        assert not page.find("script") and len(page.svgs) > 3
        assert not any(k.startswith("on") for e in page.elements for k in e[1])
        title = page.find("h1")[0][2]
        assert not re.search("[\x00-\x1f\x7f-\x9f]", title)
        if b"script" in name:
            assert "<script>alert(1)<" in title
        if "名".encode() in name:
            assert "ümlaut → 名" in title
    assert "://" not in page.text.replace("http://www.w3.org/2000/svg", "")


def check_bounded(folder):
    """However long the run, however many flows: the page stays small, and peaks stay."""
    page, result = report(folder, SCENARIOS / "unfairness.ini", "--set", "run.duration=300ms")
    check_figures(page, result)
    assert len(page.text) < 400_000
    figure = page.find("figure", data_peak=None)[0]
    queue = page.plots("queue")[0]
    assert near(max(y for _, y in corners(queue, "s0")), int(figure[1]["data-peak"]), queue)
    page, result = report(folder, SCENARIOS / "fat-tree.ini", "--set", "run.duration=300us",
                          "--set", "flow.to=all", "--set", "flow.count=1")
    assert "127 connections" not in page.text and "16256 connections" in page.text
    check_figures(page, result)
    scenario = "[network]\ntopology=fat-tree\nports=16\n[flow]\nfrom=all\nto=permutation\n" \
               "[run]\nduration=20us\n"
    sim("-", "--report", folder / "big.html", text=scenario)
    page = Page((folder / "big.html").read_text())
    assert "too many for a picture" in page.text and len(page.text) < SIZE_MOST


def check_rates(folder):
    """Payload over time, whatever the operation, and whenever the run ends; what is lost is not."""
    text = "[network]\ntopology=incast\nsenders=1\n[flow]\nfrom=0\nto=1\nendless=yes\n" \
           "operation={}\ntimeout=8\n[host]\ncongestion-control=none\n" \
           "[loss]\nlink=0\nprobability={}\n[run]\nduration={}\n"
    for operation in ("write", "send", "read"):
        for duration in (100_001, 123_456, 799_999, 3_000_000):  # ns
            sim("-", "--report", folder / "f.html", text=text.format(operation, 0, f"{duration}ns"))
            page = Page((folder / "f.html").read_text())
            rates = [y for x, y in corners(page.plots("rate")[0], "s0") if x > 15e6]
            assert max(rates) < 101.5e9 and min(rates) > 90e9, (operation, duration, rates)
            received = page.value("received")
            assert 0.95 < received / (duration * 98 / 8) < 1.01, (operation, duration, received)
    out = sim("-", "--json", "--report", folder / "f.html",
              text=text.format("write", "1/256", "9ms"))
    page = Page((folder / "f.html").read_text())
    done = json.loads(out)["flows"][0]["bytes"]  # of whole messages, eight at a time
    assert done <= page.value("received") <= done + 8 * 2**20
    assert page.plots("drops") and page.find("li", data_total=None)[-1][1]["data-total"] == \
        page.find("span", data_lost="cable")[0][2] != "0"


def check_edges(folder):
    """Runs with nothing in them, and files that cannot be written."""
    pair = "[network]\ntopology=pair\n[flow]\nfrom=0\nto=1\nstart=1s\n[run]\nduration={}\n"
    for duration in ("1ps", "10us", "3s"):
        sim("-", "--report", folder / "e.html", text=pair.format(duration))
        page = Page((folder / "e.html").read_text())
        assert "nan" not in page.text.lower().replace("finance", "") and "inf" not in re.sub(
            r"[a-z]*inf[a-z]+", "", page.text)
    sim(SCENARIOS / "incast.ini", "--report", "/proc/nowhere/r.html", status=1)
    assert "No space" in sim(SCENARIOS / "incast.ini", "--report", "/dev/full", status=1)
    sim(SCENARIOS / "incast.ini", "--set", "run.x=1", "--report", folder / "no.html", status=2)
    assert not (folder / "no.html").exists()


def check_interrupted(folder):
    """What there was until then."""
    text = "[network]\ntopology=pair\n[flow]\nfrom=0\nto=1\nendless=yes\n[run]\nduration=1000s\n"
    with subprocess.Popen([ADVERB, "sim", "-", "--report", folder / "i.html"],
                          stdin=subprocess.PIPE, stdout=subprocess.DEVNULL, text=True) as p:
        p.stdin.write(text)
        p.stdin.close()
        let_compute(p.pid, 1)
        p.send_signal(signal.SIGINT)
        assert p.wait(PATIENCE) == 0
    page = Page((folder / "i.html").read_text())
    assert page.find("span", data_key="end")[0][2] == "interrupted"
    assert page.value("received") > 0 and page.plots("rate")


def chromium_loads(chromium, folder, width, scheme):
    """A picture of the page; what Chromium said goes to a file, as its children may outlive it."""
    log = folder / "chromium.log"
    with open(log, "wb") as out:
        p = subprocess.Popen([chromium, "--headless", "--no-sandbox", "--disable-gpu",
                              "--disable-dev-shm-usage", "--no-first-run",
                              "--enable-logging=stderr", f"--user-data-dir={folder}/profile",
                              f"--blink-settings=preferredColorScheme={scheme}",
                              f"--window-size={width},900", f"--screenshot={folder}/x.png",
                              f"file://{folder}/x.html"], stdin=subprocess.DEVNULL, stdout=out,
                             stderr=subprocess.STDOUT, start_new_session=True)
        try:
            status = p.wait(CHROMIUM_SECONDS)
        except subprocess.TimeoutExpired:
            status = f"none within {CHROMIUM_SECONDS} s"
        with contextlib.suppress(ProcessLookupError):
            os.killpg(p.pid, signal.SIGKILL)
        p.wait()
    said = log.read_text(errors="replace")
    assert status == 0 and "CONSOLE" not in said, (status, said)
    return (folder / "x.png").read_bytes()


def check_browser(folder):
    """Chromium loads it, in light, dark and narrow, and has nothing to say."""
    chromium = shutil.which("chromium")
    if not chromium:
        print("check_browser: skipped: no chromium (0.0 s)")
        return
    report(folder, SCENARIOS / "ring-deadlock.ini", name="x.html")
    # 0: dark; narrower than 500 it does not go
    shots = {chromium_loads(chromium, folder, width, scheme)
             for width, scheme in ((1200, 1), (1200, 0), (500, 1))}
    assert len(shots) == 3 and all(s[:4] == b"\x89PNG" for s in shots)


def main():
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as name:
        folder = pathlib.Path(name)
        for check in (check_incast, check_pauses, check_deadlock, check_same, check_hostile,
                      check_bounded, check_rates, check_edges, check_interrupted, check_browser):
            check(folder)
            print(check.__name__, "good")


if __name__ == "__main__":
    main()
