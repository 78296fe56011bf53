#!/usr/bin/env python3
"""Tests of the million points in docs/cluster.md: its sums are right, its sizes are recto's.

    million_points_test.py RECTO CLUSTER_MD
"""

import os
import re
import sys
import unittest
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from sweep_cluster import task_cost  # noqa: E402
from sweep_cluster.task_cost import Costs, plan  # noqa: E402

RECTO = str(Path(sys.argv.pop(1)).resolve())
DOCUMENT = Path(sys.argv.pop(1)).read_text()
BLOCK = re.search(r"^```text\nruns a task.*?^```$", DOCUMENT, re.DOTALL | re.MULTILINE)[0]
POINTS = ",".join(map(str, range(1, 101)))


class Plan(unittest.TestCase):
    def test_sums_follow_from_the_costs_of_one_point(self):
        costs = Costs(cpu_ms_a_run=36, cpu_ms_a_run_alone=50, bytes_out_a_run=54.4,
                      bytes_back_a_run=820.6, cpu_ms_a_task=2, collector_cpu_ms_a_run=0.06,
                      collector_bytes_a_run=4_600, journal_bytes_a_run=732, table_bytes_a_run=650,
                      scheduler_bytes=80_000_000, worker_bytes=60_000_000,
                      recto_bytes=20_000_000, upload_bytes=4_500_000)
        self.assertEqual(Costs.of("\n".join(["a b", *costs.lines()])), costs)
        self.assertEqual(plan(costs), [
            "workers    10.0 core hours: 5.0 h on 2 cores, 70 s on 512",
            "tasks      10,000 of 100 runs: 20 s of Dask; of one run each, 2,000 s, and 14,000 s "
            "of recto's starts",
            "traffic    54 MB out, 821 MB back",
            "collector  60 s of CPU, 4.6 GB of memory",
            "memory     80 MB of the scheduler, 60 MB of a worker and 20 MB for each of its "
            "threads: 700 MB with 32",
            "upload     4.5 MB to each worker, 72 MB to 16 with 32 threads",
            "disk       732 MB of journal, 650 MB of sweep.csv",
        ])

    def test_the_document_has_the_plan_of_its_costs(self):
        said = BLOCK.splitlines()
        first = said.index("a million such points:") + 1
        self.assertEqual(said[first:-1], plan(Costs.of(BLOCK)))

    def test_the_costs_of_a_run_are_those_of_the_table_alone_and_among_others(self):
        costs = Costs.of(BLOCK)
        rows = re.findall(r"^ +(\d+) +([\d.]+) +[\d,]+ +[\d,]+$", BLOCK, re.MULTILINE)
        in_tasks = {int(count): float(cpu_ms) for count, cpu_ms in rows}
        self.assertEqual(sorted(in_tasks), [1, 10, 100])
        self.assertAlmostEqual(costs.cpu_ms_a_run_alone, in_tasks[1], delta=0.006)
        self.assertAlmostEqual(costs.cpu_ms_a_run, in_tasks[100], delta=0.006)
        self.assertGreater(costs.cpu_ms_a_run_alone, costs.cpu_ms_a_run)

    def test_what_the_document_says_in_words_is_in_its_plan(self):
        costs = Costs.of(BLOCK)
        words = " ".join(DOCUMENT[DOCUMENT.index("- **Tasks.**"):].split())
        for said in (
            f"at {costs.cpu_ms_a_run:.0f} ms a run",
            f"for points of {costs.cpu_ms_a_run:.0f} ms",
            f"At 512 cores the workers alone would take {costs.cpu_ms_a_run * 1e3 / 512:.0f} s",
            f"the collector takes {costs.collector_cpu_ms_a_run * 1e3:.0f} s",
        ):
            self.assertIn(said, words)
        pattern = r"takes (\d+) ms, so a million of them take (\d+) core hours"
        run_ms, hours = re.search(pattern, words).groups()
        self.assertEqual(round(int(run_ms) / 3.6), int(hours))


class Measured(unittest.TestCase):
    def setUp(self):
        if "RECTO_FULL" not in os.environ:
            print("SKIPPED: the costs of a sweep's points: --config=full measures them")
            self.skipTest("takes long")

    def test_sizes_are_those_of_the_document_and_times_are_of_its_kind(self):
        said = Costs.of(BLOCK)
        now = task_cost.measure(RECTO, ["--block-size", POINTS])
        for name, tolerance in (
            ("bytes_out_a_run", 0.1),  # includes the path of the program
            ("bytes_back_a_run", 0.02),
            ("journal_bytes_a_run", 0.02),
            ("table_bytes_a_run", 0.02),
            ("collector_bytes_a_run", 0.05),  # by pages
        ):
            with self.subTest(name):
                expected = getattr(said, name)
                self.assertAlmostEqual(getattr(now, name), expected, delta=tolerance * expected)
        # Each task pays for recto's start and its --version, even with few runs.
        self.assertGreater(now.cpu_ms_a_run_alone, now.cpu_ms_a_run)
        # Machines differ, and so do debug builds.
        for names, factor in (
            (("cpu_ms_a_run", "cpu_ms_a_run_alone", "cpu_ms_a_task", "collector_cpu_ms_a_run"), 30),
            (("scheduler_bytes", "worker_bytes", "recto_bytes", "upload_bytes"), 4),
        ):
            for name in names:
                with self.subTest(name):
                    self.assertLess(getattr(now, name), factor * getattr(said, name))
                    self.assertGreater(factor * getattr(now, name), getattr(said, name))


if __name__ == "__main__":
    unittest.main()
