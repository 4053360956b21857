#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""Claims of papers on lossless Ethernet, reproduced by the scenarios of the repository, with tolerances.
docs/reproduced.md sets each beside its source.

Usage: test_claims.py ADVERB SCENARIOS
"""

import csv
import json
import pathlib
import statistics
import subprocess
import sys
import tempfile
import unittest

from limits import PATIENCE

ADVERB = sys.argv[1]
SCENARIOS = pathlib.Path(sys.argv[2])
GBPS = 1e9
PAYLOAD = 40 * 1024 / 1106  # Gb/s of payload on a cable of 40 Gb/s, with 1,024 bytes a packet
CURE = {"host__congestion_control": "dcqcn"}


def sim(name, csv_folder=None, **settings):
    """Returns the result of a scenario. Keywords section__key=value replace values."""
    sets = [f"--set={k.replace('__', '.').replace('_', '-').replace('priority-', 'priority ')}={v}"
            for k, v in settings.items()]
    if csv_folder:
        sets += ["--csv", csv_folder]
    out = subprocess.run([ADVERB, "sim", SCENARIOS / f"{name}.ini", "--json", *sets], check=True,
                         capture_output=True, text=True, timeout=PATIENCE).stdout
    result = json.loads(out)
    result["rates"] = [f["rate_bps"] / GBPS for f in result["flows"]]
    return result


def by_connection(name, **settings):
    """Returns the result, and Gb/s of each connection of the only [flow]."""
    with tempfile.TemporaryDirectory() as folder:
        result = sim(name, folder, **settings)
        with open(pathlib.Path(folder) / "transfers.csv", encoding="ascii") as f:
            result["rates"] = [int(t["done"]) * 8e3 / result["time_ps"] for t in csv.DictReader(f)]
    return result


def stages(name, ends, **settings):
    """Returns the rate of each flow in Gb/s between successive times (ms), and pause frames."""
    before, start, found = None, 0, []
    for end in ends:
        result = sim(name, run__duration=f"{end}ms", **settings)
        counts = [f["bytes"] for f in result["flows"]], result["pause_frames"]
        if before is None:
            before = [0] * len(counts[0]), 0
        found.append(([(b - a) * 8e-6 / (end - start) for a, b in zip(before[0], counts[0])],
                      counts[1] - before[1]))
        before, start = counts, end
    return found


def transfers(name, **settings):
    """Returns the result, and the lines of its transfers.csv."""
    with tempfile.TemporaryDirectory() as folder:
        result = sim(name, folder, **settings)
        with open(pathlib.Path(folder) / "transfers.csv", encoding="ascii") as f:
            return result, list(csv.DictReader(f))


def latencies(rows, flow=None, after_ms=0):
    """Returns the durations, in us and in order, of the transfers that have ended."""
    return sorted((int(t["end_ps"]) - int(t["start_ps"])) / 1e6 for t in rows
                  if t["end_ps"] and flow in (None, int(t["flow"])) and int(t["start_ps"]) >= after_ms * 1e9)


def slowdown(rows):
    """Returns the mean of the transfers' durations, divided by those in an empty network."""
    return statistics.mean((int(t["end_ps"]) - int(t["start_ps"])) / int(t["ideal_ps"])
                           for t in rows if t["end_ps"])


def percentile(values, p):
    return values[int(len(values) * p / 100)]


def fairness(rates):
    """Returns Jain's index: 1 if all rates are equal."""
    return sum(rates) ** 2 / len(rates) / sum(r * r for r in rates)


class Claims(unittest.TestCase):
    def assert_lossless(self, result):
        self.assertEqual(sum(result["lost"].values()), 0)

    def test_unfairness(self):
        """DCQCN, SIGCOMM 2015, 2.2: PFC shares by port, DCQCN by flow."""
        pfc = sim("unfairness")
        cure = sim("unfairness", **CURE)
        for far in pfc["rates"][:3]:
            self.assertAlmostEqual(pfc["rates"][3] / far, 3, delta=0.1)
        self.assertGreater(fairness(cure["rates"]), 0.98)
        self.assertGreater(sum(cure["rates"]), 0.9 * 40)
        self.assertGreater(pfc["pause_frames"], 100 * (cure["pause_frames"] + 1))
        self.assert_lossless(pfc)
        self.assert_lossless(cure)

    def test_unfairness_in_the_clos(self):
        """DCQCN's topology: H4 gets up to half of the cable, depending on ECMP, and never less than
        another host. With DCQCN each host gets a quarter."""
        near, far = [], []
        for seed in range(1, 11):
            pfc = sim("clos-unfairness", run__seed=seed)
            near.append(pfc["rates"][3])
            far += pfc["rates"][:3]
            self.assertAlmostEqual(sum(pfc["rates"]), PAYLOAD, delta=0.03 * PAYLOAD)
            self.assertGreater(pfc["pause_frames"], 10000)
            self.assert_lossless(pfc)
            cure = sim("clos-unfairness", run__seed=seed, **CURE)
            for rate in cure["rates"]:
                self.assertAlmostEqual(rate, PAYLOAD / 4, delta=0.25 * PAYLOAD / 4)
            self.assertEqual(cure["pause_frames"], 0)
            self.assert_lossless(cure)
        self.assertAlmostEqual(max(near), PAYLOAD / 2, delta=0.03 * PAYLOAD)
        self.assertAlmostEqual(min(near), PAYLOAD / 3, delta=0.03 * PAYLOAD)
        self.assertGreater(min(near), 0.99 * max(far))
        self.assertAlmostEqual(statistics.median(far), PAYLOAD / 6, delta=0.03 * PAYLOAD)

    def test_victim(self):
        """DCQCN, 2.2: PFC slows a flow whose path is free. DCQCN does not."""
        pfc = sim("victim")
        cure = sim("victim", **CURE)
        self.assertLess(pfc["rates"][0], 0.3 * 40)
        self.assertGreater(cure["rates"][0], 0.95 * 40)
        self.assertGreater(pfc["pause_frames"], 100 * (cure["pause_frames"] + 1))
        self.assert_lossless(pfc)
        self.assert_lossless(cure)

    def test_victim_in_the_clos(self):
        """The victim flow in DCQCN's topology: each further sender slows it more, although their paths
        have no common cable. With DCQCN the victim keeps its rate."""
        ends = (20, 40, 60)
        seeds = range(1, 6)
        pfc = [stages("clos-victim", ends, run__seed=s) for s in seeds]
        cure = [stages("clos-victim", ends, run__seed=s, **CURE) for s in seeds]
        hurt = [statistics.median(run[i][0][0] for run in pfc) for i in range(3)]
        cured = [statistics.median(run[i][0][0] for run in cure) for i in range(3)]
        self.assertLess(hurt[0], 0.7 * 20)
        self.assertLess(hurt[1], 0.8 * hurt[0])
        self.assertLess(hurt[2], hurt[1])
        self.assertAlmostEqual(hurt[2], PAYLOAD / 6, delta=0.2 * PAYLOAD / 6)
        self.assertGreater(cured[0], hurt[0])
        self.assertGreater(cured[1], 20)
        self.assertGreater(cured[2], 20)
        self.assertTrue(all(pauses > 10000 for run in pfc for _, pauses in run))
        self.assertTrue(all(pauses == 0 for run in cure for _, pauses in run))

    def test_pauses_of_mixed_traffic(self):
        """DCQCN, section 6: many transfers run beside an incast. With DCQCN there are less than 1 % of the
        PAUSE frames, and the transfers are faster."""
        for seed in (1, 2):
            pfc = sim("clos-mix", run__seed=seed)
            cure = sim("clos-mix", run__seed=seed, **CURE)
            self.assertGreater(pfc["pause_frames"], 50000)
            self.assertLess(cure["pause_frames"], pfc["pause_frames"] / 100)
            self.assertGreater(cure["rates"][0], 1.3 * pfc["rates"][0])
            self.assert_lossless(pfc)
            self.assert_lossless(cure)

    def test_two_to_one(self):
        """DCQCN, 5 and 6: a second flow reaches half of the cable within milliseconds."""
        found = stages("two-to-one", (20, 22, 30, 100, 200))
        self.assertGreater(found[0][0][0], 0.99 * PAYLOAD)
        for rates, pauses in found[1:]:
            self.assertEqual(pauses, 0)
            self.assertGreater(sum(rates), 0.97 * PAYLOAD)
            for rate in rates:
                self.assertAlmostEqual(rate, PAYLOAD / 2, delta=0.15 * PAYLOAD / 2)

    def test_convergence(self):
        """DCQCN, section 6: N to 1 reaches fair shares, with a full cable and without pauses."""
        eight = sim("convergence")
        self.assertGreater(fairness(eight["rates"]), 0.98)
        self.assertGreater(sum(eight["rates"]), 0.9 * 40)
        self.assertEqual(eight["pause_frames"], 0)
        self.assert_lossless(eight)

    def test_many_to_one(self):
        """4, 16 and 20 to 1 reach fair shares as well. PFC alone is also fair here, but pauses all the time."""
        for n in (4, 16, 20):
            many = by_connection("many-to-one", network__senders=n, flow__from=f"0-{n - 1}",
                                 flow__to=n, run__duration="100ms")
            self.assertGreater(fairness(many["rates"]), 0.99)
            self.assertGreater(sum(many["rates"]), 0.93 * PAYLOAD)
            self.assertEqual(many["pause_frames"], 0)
            self.assert_lossless(many)
        pfc = sim("many-to-one", run__duration="20ms", host__congestion_control="none")
        self.assertGreater(pfc["pause_frames"], 1000)
        self.assert_lossless(pfc)

    def test_reads(self):
        """If a host reads from many hosts, DCQCN slows the READ responses."""
        cure = sim("read-incast")
        pfc = sim("read-incast", host__congestion_control="none")
        self.assertGreater(cure["rates"][0], 0.9 * 40)
        self.assertEqual(cure["pause_frames"], 0)
        self.assertGreater(pfc["pause_frames"], 1000)
        self.assert_lossless(cure)
        self.assert_lossless(pfc)

    def test_pause_storm(self):
        """At Scale, 4.3: the PAUSE frames of one NIC stop all hosts. The watchdog lets the others continue."""
        until, end = 10, 20
        found = stages("pause-storm", (2, until, end))
        self.assertGreater(sum(found[0][0]), 80)
        self.assertEqual(sum(found[2][0]), 0)
        guarded = stages("pause-storm", (until, end), switch__watchdog_poll="200us",
                         switch__watchdog_detect="400us", switch__watchdog_restore="1ms")
        self.assertEqual(guarded[1][0][0], 0)
        self.assertGreater(sum(guarded[1][0]), 0.5 * 10 * PAYLOAD)

    def test_slow_receiver(self):
        """At Scale, 4.4: pauses of a slow host reach the spine if the leaf's limit is small and fixed."""
        fixed = sim("slow-receiver")
        shared = sim("slow-receiver", priority_3__xoff="0B")
        self.assertLess(fixed["rates"][1], 0.75 * 2 * PAYLOAD)
        self.assertGreater(fixed["pause_frames"], 5000)
        self.assertGreater(shared["rates"][1], 0.98 * 2 * PAYLOAD)
        self.assertEqual(shared["pause_frames"], 0)
        for result in fixed, shared:
            self.assertEqual(result["flows"][0]["done"], 40)
            self.assert_lossless(result)

    def test_dcqcn_without_pfc(self):
        """DCQCN, figure 17: flows begin at line rate, so DCQCN alone loses frames, and timers decide."""
        def slowest(**settings):
            """Returns the completion time of the slowest tenth, ms, and the lost frames."""
            with tempfile.TemporaryDirectory() as folder:
                result = sim("incast", folder, **settings)
                with open(pathlib.Path(folder) / "transfers.csv", encoding="ascii") as f:
                    times = sorted((int(t["end_ps"]) - int(t["start_ps"])) * 1e-9 for t in csv.DictReader(f))
            self.assertEqual(result["flows"][0]["done"], 16)
            return times[len(times) * 9 // 10], sum(result["lost"].values())

        time, lost = slowest()
        self.assertLess(time, 5)
        self.assertEqual(lost, 0)
        time, lost = slowest(priority_3__lossless="no")
        self.assertGreater(time, 60)
        self.assertGreater(lost, 500)
        time, lost = slowest(priority_3__lossless="no", flow__timeout=3)
        self.assertLess(time, 5)
        self.assertGreater(lost, 500)

    def test_irn(self):
        """IRN, SIGCOMM 2018: without PFC it is 6 to 83 % better than RoCE with PFC (abstract); PFC does not
        improve it (4.2.2); RoCE needs PFC (4.2.3)."""
        roce = {"host__retransmission": "go-back-n", "host__bdp_window": "no"}
        pfc = {"priority_3__lossless": "yes"}
        irn, irn_rows = transfers("irn")
        self.assertGreater(irn["lost"]["queue too long"], 0)
        self.assertEqual(irn["flows"][0]["done"], irn["flows"][0]["transfers"])
        with_pfc, with_pfc_rows = transfers("irn", **pfc)
        self.assert_lossless(with_pfc)
        self.assertAlmostEqual(slowdown(irn_rows) / slowdown(with_pfc_rows), 1, delta=0.05)
        rows = transfers("irn", **pfc, **roce)[1]
        gain = 1 - slowdown(irn_rows) / slowdown(rows)
        self.assertTrue(0.06 < gain < 0.83, gain)
        self.assertLess(statistics.mean(latencies(irn_rows)), statistics.mean(latencies(rows)))
        self.assertGreater(slowdown(transfers("irn", **roce)[1]), 5 * slowdown(rows))

    def test_hpcc_short_messages(self):
        """HPCC, SIGCOMM 2019 (abstract): completion times up to 95 % shorter than with DCQCN; little
        congestion."""
        result, rows = transfers("long-short", host__congestion_control="hpcc")
        hpcc = percentile(latencies(rows, flow=1), 99)
        dcqcn = percentile(latencies(transfers("long-short")[1], flow=1), 99)
        self.assertAlmostEqual(1 - hpcc / dcqcn, 0.95, delta=0.04)
        self.assertEqual(result["pause_frames"], 0)
        self.assertGreater(sum(result["rates"]), 0.95 * 0.95 * 100 * 1024 / (1106 + 42))

    def test_swift_short_messages(self):
        """Swift, SIGCOMM 2020 (abstract): less than 50 us for short RPCs at the tail, with a load of nearly
        100 % of 100 Gb/s."""
        result, rows = transfers("long-short", host__congestion_control="swift")
        self.assertLess(percentile(latencies(rows, flow=1, after_ms=5), 99), 50)
        self.assertGreater(sum(result["rates"]), 0.98 * 100 * 1024 / 1106)
        self.assertEqual(result["pause_frames"], 0)

    def test_deadlock_and_rescue(self):
        """A cycle of buffers deadlocks. SONiC's watchdog breaks the deadlock and drops frames."""
        locked = sim("ring-deadlock", run__stop_at_deadlock="no")
        self.assertEqual(len(locked["deadlock"]), 4)
        self.assertEqual(sum(f["done"] for f in locked["flows"]), 0)
        free = sim("ring-deadlock", network__routes="up-down")
        self.assertEqual(free["deadlock"], [])
        self.assertEqual(sum(f["done"] for f in free["flows"]), 4)
        rescued = sim("ring-deadlock", run__stop_at_deadlock="no", switch__watchdog_poll="1ms",
                      switch__watchdog_detect="2ms", switch__watchdog_restore="2ms")
        self.assertGreater(rescued["storms"], 0)
        self.assertGreater(rescued["lost"]["watchdog"], 0)
        self.assertEqual(sum(f["done"] for f in rescued["flows"]), 4)

    def test_livelock(self):
        """RDMA over Commodity Ethernet at Scale, SIGCOMM 2016, 4.1: at a loss of 1/256 go-back-0 never
        completes a message of 4 MB, with a full cable. Go-back-N does."""
        duration = "200ms"
        # A READ that sees no progress for eight times 33 us fails: its requests queue behind each other.
        for operation, timeout in (("write", 3), ("send", 3), ("read", 6)):
            zero = sim("livelock", flow__operation=operation, run__duration=duration)
            self.assertEqual(zero["flows"][0]["done"], 0)
            self.assertEqual(zero["flows"][0]["failed"], 0)
            line = zero["time_ps"] * 1e-12 * 40e9 / 8 / 1106
            self.assertGreater(zero["tx_packets"], 0.9 * line)
            back_to_n = sim("livelock", flow__operation=operation, run__duration=duration,
                            host__retransmission="go-back-n", flow__timeout=timeout)
            self.assertGreater(back_to_n["rates"][0], 0.8 * PAYLOAD)

    def test_go_back_0(self):
        """The goodput is that of a geometric series: n packets in a row must arrive."""
        n = 4e6 / 1024
        for p, tolerance in ((1 / 10000, 0.1), (1 / 4000, 0.1)):
            expected = PAYLOAD * n * p / ((1 - p) ** -n - 1)
            zero = sim("livelock", loss__probability=p)
            self.assertAlmostEqual(zero["rates"][0], expected, delta=tolerance * expected)

    def test_go_back_n(self):
        """The goodput of go-back-N falls with the loss rate."""
        rates = [sim("loss", loss__probability=p)["rates"][0]
                 for p in ("0", "0.0001", "0.001", "1/256", "0.01", "0.05")]
        self.assertGreater(rates[0], 97)
        self.assertEqual(sorted(rates, reverse=True), rates)
        self.assertGreater(rates[3], 50)
        self.assertLess(rates[4], 0.5 * rates[0])
        self.assertLess(rates[5], 0.1 * rates[0])

    def test_go_back_n_and_its_timer(self):
        """The reason for the fall: up to a loss of 1 % a short timer keeps most of the rate, a long timer
        almost nothing."""
        duration = "200ms"
        for timer, p, expected in ((3, "0.001", 36.6), (3, "0.01", 26.9), (3, "0.05", 8.5),
                                   (8, "0.001", 36.5), (8, "0.01", 4.8), (8, "0.05", 0.3)):
            got = sim("livelock", host__retransmission="go-back-n", flow__timeout=timer,
                      flow__message="64kB", loss__probability=p, run__duration=duration)
            self.assertAlmostEqual(got["rates"][0], expected, delta=0.1 * expected + 1)


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1], verbosity=2)
