#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""Tests the page of adverb sim --report in headless Chromium, on a wide screen and on a phone's screen.

Usage: test_report_browser.py ADVERB SCENARIOS
Exit status 77, skipped: there is no Chromium.
"""

import pathlib
import shutil
import subprocess
import sys
import tempfile

from browser import Browser
from limits import PATIENCE

ADVERB = pathlib.Path(sys.argv[1]).resolve()
SCENARIOS = pathlib.Path(sys.argv[2]).resolve()
WIDTHS = 1400, 400
# Plots that show a value if the pointer is at the middle of the run. Cables of the network have a test of their own.
PLOTS = {"incast": ["queue", "rates", "rate", "times", "marks", "cnps"],
         "ring-deadlock": ["queue", "rates", "rate"], "loss": ["rates", "rate", "times", "drops"]}
DARK = "ring-deadlock"


def make_page(folder, scenario, *sets):
    page = folder / f"{scenario}.html"
    subprocess.run([ADVERB, "sim", SCENARIOS / f"{scenario}.ini", "--report", page,
                    *(word for s in sets or ("run.duration=20ms",) for word in ("--set", s))],
                   stdout=subprocess.DEVNULL, check=True, timeout=PATIENCE)
    return page


def box(browser, selector):
    """Scrolls an element into view. Returns its x, y, width and height."""
    return browser.evaluate(f"""(() => {{
        const e = document.querySelector({selector!r});
        e.scrollIntoView({{block: "center", behavior: "instant"}});
        const r = e.getBoundingClientRect();
        return [r.x, r.y, r.width, r.height];
    }})()""")


def tip(browser, kind):
    """Returns the text that a plot shows at the pointer, or None."""
    return browser.evaluate(f"""(() => {{
        const t = document.querySelector("[data-plot={kind}] .tip");
        return t && !t.hidden ? t.innerText : null;
    }})()""")


def check_fits(browser, where):
    """No element is wider than the page, except those with a scroll bar of their own."""
    wide = browser.evaluate("""[...document.querySelectorAll("body *")].filter((e) =>
        !e.closest(".table, .scroll, svg, .tip") && e.getBoundingClientRect().right > innerWidth + 0.5)
        .map((e) => e.outerHTML.slice(0, 80))""")
    assert not wide, (where, wide)
    size = browser.evaluate("[document.documentElement.scrollWidth, document.documentElement.clientWidth]")
    assert size[0] <= size[1], (where, size)


def check_hover(browser, kind, where):
    x, y, width, height = box(browser, f"[data-plot={kind}] .plot")
    assert tip(browser, kind) is None, (where, kind)
    browser.mouse("mouseMoved", x + width * 0.6, y + height / 2)
    text = tip(browser, kind)
    assert text and text.count("\n") >= 1 and any(c.isdigit() for c in text), (where, kind, text)
    check_fits(browser, (where, kind, text))
    browser.mouse("mouseMoved", 1, 1)
    assert tip(browser, kind) is None, (where, kind)


def check_cable(browser, where):
    """If the pointer is at a cable, the page shows the use of both directions."""
    at = browser.evaluate("""(() => {
        const path = document.querySelector("[data-plot=network] .hit");
        path.scrollIntoView({block: "center", behavior: "instant"});
        const p = path.getPointAtLength(path.getTotalLength() * 0.6).matrixTransform(path.getScreenCTM());
        return [p.x, p.y];
    })()""")
    browser.mouse("mouseMoved", *at)
    assert (tip(browser, "network") or "").count("%") == 2, (where, tip(browser, "network"))


def range_of(browser, kind):
    return browser.evaluate(f"plots.find((p) => p.options.kind === '{kind}').graph.xAxisRange()")


def check_zoom(browser, where):
    """Dragging enlarges a part of the run in every plot over time. The button shows the whole run again."""
    whole = range_of(browser, "queue"), range_of(browser, "rate")
    x, y, width, height = box(browser, "[data-plot=queue] .plot")
    browser.drag(x + width * 0.4, y + height / 2, x + width * 0.7, y + height / 2)
    for kind in ("queue", "rate"):
        least, most = range_of(browser, kind)
        assert whole[0][0] < least < most < whole[0][1], (where, kind, least, most)
    x, y, width, height = box(browser, "[data-plot=queue] .reset")
    browser.click(x + width / 2, y + height / 2)
    assert (range_of(browser, "queue"), range_of(browser, "rate")) == whole, where


def check_legend(browser, where):
    """A click on the legend hides a series in the plot and in the text at the pointer."""
    visible = "plots.find((p) => p.options.kind === 'queue').graph.visibility()"
    x, y, width, height = box(browser, "[data-plot=queue] .legend button")
    assert browser.evaluate(visible)[0] is True, where
    browser.click(x + width / 2, y + height / 2)
    assert browser.evaluate(visible)[0] is False, where
    x, y, plot_width, plot_height = box(browser, "[data-plot=queue] .plot")
    browser.mouse("mouseMoved", x + plot_width * 0.6, y + plot_height / 2)
    assert "output queue" not in tip(browser, "queue"), where
    x, y, width, height = box(browser, "[data-plot=queue] .legend button")
    browser.click(x + width / 2, y + height / 2)
    assert browser.evaluate(visible)[0] is True, where


def check_lines_of_flows(browser, where):
    """Each of the 16 flows of an incast has a legend entry, and a line with a colour and pattern of its own."""
    found = browser.evaluate("""({
        entries: [...document.querySelectorAll("[data-plot=rates] .legend button")].map((b) => b.innerText),
        lines: plots.find((p) => p.options.kind === "rates").options.series.map((s) => s.shade + (s.dash.name || "")),
        patterns: plots.find((p) => p.options.kind === "rates").options.series.map((s, i) =>
            String(plots.find((p) => p.options.kind === "rates").graph.getOption("strokePattern", "y" + i))),
    })""")
    assert len(found["entries"]) == 16 and all("to h16" in e for e in found["entries"]), (where, found)
    assert len(set(found["lines"])) == 16 and "other" not in found["lines"], (where, found)
    assert len(set(found["patterns"])) == 2, (where, found)


def is_drawn(browser, kind):
    """Returns True if a plot has pixels of more than one colour."""
    return browser.evaluate(f"""[...document.querySelectorAll("[data-plot={kind}] canvas")].some((c) => {{
        const d = c.getContext("2d").getImageData(0, 0, c.width, c.height).data;
        return new Set(new Uint32Array(d.buffer)).size > 1;
    }})""")


def check_bottleneck(browser, where):
    """The bottleneck of an incast is named at the top and marked in the network. Its queue is the
    first plot, with the names of its thresholds."""
    found = browser.evaluate("""({
        finding: document.querySelector("#bottleneck").innerText,
        top: document.querySelector("#bottleneck").getBoundingClientRect().top + scrollY,
        marked: document.querySelectorAll("path.bottleneck").length,
        name: document.querySelector(".bottleneck-name").textContent,
        first: document.querySelector("[data-plot=queue] h3").innerText,
        levels: plots[0].options.levels.map((l) => l.name),
    })""")
    assert "s0 → h16" in found["finding"] and found["top"] < 300, (where, found)
    assert found["marked"] == 1 and "s0 → h16" in found["name"], (where, found)
    assert found["first"].startswith("Switch 0, priority 3") and "bottleneck" in found["first"], (where, found)
    assert found["levels"] == ["K_min 100 kB", "K_max 400 kB", "xoff, by alpha"], (where, found)


def check_page(browser, page, scenario, width):
    where = (scenario, width)
    browser.load(page, width, dark=scenario == DARK)
    check_fits(browser, where)
    check_plots_apart(browser, where)
    for kind in PLOTS[scenario]:
        assert is_drawn(browser, kind), (where, kind)
        check_hover(browser, kind, where)
    check_cable(browser, where)
    if scenario == "incast":
        check_bottleneck(browser, where)
        check_zoom(browser, where)
        check_legend(browser, where)
        check_lines_of_flows(browser, where)
        assert is_drawn(browser, "pauses"), where
    assert not browser.complaints(), (where, browser.complaints())


def check_late_burst(browser, folder):
    """Plots of a run whose burst is late begin where it begins. A click shows the whole run."""
    page = make_page(folder, "incast", "run.duration=40ms", "flow.start=20ms")
    for width in WIDTHS:
        browser.load(page, width)
        least, most = range_of(browser, "queue")
        assert 19e9 < least < 20e9 and 20e9 < most, (width, least, most)
        assert range_of(browser, "rate") == [least, most], width
        assert "begin at 19.8" in browser.evaluate("document.querySelector('#begin').innerText"), width
        x, y, button_width, height = box(browser, "#begin button")
        browser.click(x + button_width / 2, y + height / 2)
        assert range_of(browser, "queue")[0] == range_of(browser, "rate")[0] == 0, width
        assert browser.evaluate("document.querySelector('#begin').hidden"), width
        check_plots_apart(browser, width)


def check_plots_apart(browser, where):
    """No plot is wider than its figure."""
    wide = browser.evaluate("""plots.filter((p) => p.graph.width_ > p.box.getBoundingClientRect().width + 0.5)
        .map((p) => p.options.kind)""")
    assert not wide, (where, wide)


def check_phone(browser, folder):
    """A phone shows the whole network; a button enlarges it, so that it scrolls."""
    browser.load(make_page(folder, "fat-tree", "run.duration=300us"), WIDTHS[1])
    inside = """(() => {
        const right = document.documentElement.clientWidth;
        return [...document.querySelectorAll("svg.net .node, svg.net .bottleneck-name")].every((e) => {
            const r = e.getBoundingClientRect();
            return r.left >= 0 && r.right <= right && r.width > 0;
        });
    })()"""
    assert browser.evaluate(inside) is True
    x, y, width, height = box(browser, "[data-plot=network] .enlarge")
    browser.click(x + width / 2, y + height / 2)
    assert browser.evaluate(inside) is False
    check_fits(browser, "enlarged")
    x, y, width, height = box(browser, "[data-plot=network] .enlarge")
    browser.click(x + width / 2, y + height / 2)
    assert browser.evaluate(inside) is True
    browser.load(make_page(folder, "fat-tree", "run.duration=300us"), WIDTHS[0])
    assert browser.evaluate(inside) is True
    assert browser.evaluate("getComputedStyle(document.querySelector('.enlarge')).display") == "none"


def check_without_scripts(browser, page):
    """The finding, the figures and the table are visible without scripts."""
    browser.load(page, 1400, scripts=False)
    root = browser.call("DOM.getDocument", depth=-1)["root"]["nodeId"]
    assert browser.call("DOM.querySelectorAll", nodeId=root, selector="canvas, #plots *")["nodeIds"] == []
    for selector, least in (("#bottleneck", 1), (".cards dd", 9), ("tr[data-flow] td", 9), ("noscript p", 1)):
        nodes = browser.call("DOM.querySelectorAll", nodeId=root, selector=selector)["nodeIds"]
        assert len(nodes) >= least, (selector, len(nodes))
        for node in nodes:
            model = browser.call("DOM.getBoxModel", nodeId=node)["model"]
            assert model["width"] > 0 and model["height"] > 0, selector


def main():
    chromium = shutil.which("chromium")
    if not chromium:
        print("skipped: no chromium")
        return 77
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as name:
        folder = pathlib.Path(name)
        pages = {scenario: make_page(folder, scenario) for scenario in PLOTS}
        with Browser(chromium, folder) as browser:
            for scenario, page in pages.items():
                for width in WIDTHS:
                    check_page(browser, page, scenario, width)
                    print(scenario, width, "good")
            check_late_burst(browser, folder)
            check_phone(browser, folder)
            print("late burst and phone good")
            pages["incast"] = make_page(folder, "incast")
            check_without_scripts(browser, pages["incast"])
            print("without scripts good")
    return 0


if __name__ == "__main__":
    sys.exit(main())
