#!/usr/bin/env python3
"""Tests of rejections, overhead and latency limits in figures over block sizes and in maps.

    block_sizes_test.py RECTO
"""

import os
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

import numpy

sys.dont_write_bytecode = True
sys.path.insert(0, "experiments")
from plot import grid_figures, map_figures, memory_figures, result_files  # noqa: E402

RECTO = os.path.abspath(sys.argv.pop(1))


def recto(*arguments):
    subprocess.run([RECTO, *map(str, arguments)], capture_output=True, check=True)


class BlockSizes(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = Path(folder.name)
        self.results = self.folder / "results"

    def test_points_that_reject_requests_are_hollow(self):
        load = ("--requests", "40", "--pool-slots", "1990", "--prompts",
                "mixture:0.7xconstant:50+0.3xconstant:1500", "--outputs", "constant:60")
        recto("fragmentation", *load, "--allocators", "paged", "--block-sizes", "16,1000", "--out",
              self.results)
        runs = result_files.read_fragmentation(self.results)[1]
        self.assertEqual([run.rejected > 0 for run in runs], [False, True])
        self.assertEqual(runs[0].title, "paged 16")
        self.assertRegex(runs[1].title, r"^paged 1000, rejects \d+ of 40$")
        grid = self.folder / "grid"
        recto("sweep", *load, "--block-size", "16,1000", "--out", grid)
        _, table, axes = grid_figures.read_sweep(grid)
        self.assertEqual(list(table["rejected_share"]), [0, runs[1].rejected / 40])
        for figure in (memory_figures.block_sizes(runs),
                       grid_figures.sweep(table, axes, "block_size")):
            self.assertIn("hollow marks: requests are rejected", figure.get_suptitle())
            for axis in [axis for axis in figure.axes if axis.axison]:
                hollow = [line for line in axis.get_lines()
                          if line.get_markerfacecolor() == "white"]
                if not axis.texts:  # which say that there is nothing
                    self.assertEqual([list(line.get_xdata()) for line in hollow], [[1000]])

    def test_maps_tell_rejections_and_overhead(self):
        recto("fragmentation", "--requests", "40", "--pool-slots", "1950", "--prompts",
              "mixture:0.7xconstant:50+0.3xconstant:1930", "--outputs", "constant:5",
              "--allocators", "paged", "--block-sizes", "200", "--report", "--out",
              self.results)
        _, runs, data = result_files.read_fragmentation(self.results)
        packed = data["maps"][-1]["map"]
        self.assertEqual((runs[-1].label, packed["blocks"]), ("paged 200", 9))
        figure = map_figures.memory_map(data, runs)
        self.assertIn(runs[-1].title, [axis.get_title() for axis in figure.axes])
        self.assertRegex(runs[-1].title, "rejects")
        states = numpy.zeros((39, 2))  # of 50 slots
        free, overhead = 0, map_figures._PAINTED.index("overhead")
        told = map_figures.with_overhead(states, packed)
        self.assertEqual(told[:, 0].tolist(), [free] * 36 + [overhead] * 3)
        told = map_figures.with_overhead(states, packed | {"null_blocks": 1})
        self.assertEqual(told[:, 1].tolist(), [overhead] * 4 + [free] * 32 + [overhead] * 3)
        self.assertEqual(map_figures.with_overhead(states, packed | {"blocks": 0}).max(), 0)

    def test_goodput_is_drawn_where_latencies_have_limits(self):
        for flags, is_there in (((), False), (("--ttft-limit-ms", "200"), True)):
            grid = self.folder / f"grid_{is_there}"
            recto("fragmentation", "--requests", "20", "--allocators", "paged", "--block-sizes",
                  "8,16", *flags, "--out", self.folder / "study")
            recto("sweep", "--requests", "20", "--block-size", "8,16", *flags, "--out",
                  grid)
            runs = result_files.read_fragmentation(self.folder / "study")[1]
            _, table, axes = grid_figures.read_sweep(grid)
            for figure in (memory_figures.block_sizes(runs),
                           grid_figures.sweep(table, axes, "block_size")):
                drawn = [axis for axis in figure.axes if axis.axison]
                titles = [axis.get_title() for axis in drawn]
                self.assertEqual("requests/s within latency limits" in titles, is_there)
                self.assertEqual([bool(axis.get_xlabel()) for axis in drawn],
                                 [False] * (len(drawn) - 3) + [True] * 3)


if __name__ == "__main__":
    unittest.main()
