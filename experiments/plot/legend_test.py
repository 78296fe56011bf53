#!/usr/bin/env python3
"""Tests that all names in figures are readable, even long and many ones."""

import itertools
import sys
import unittest

import pandas

sys.dont_write_bytecode = True
sys.path.insert(0, "experiments")
from plot import grid_figures, map_figures, style  # noqa: E402
from plot.legend import ShortNames, fitted_legend  # noqa: E402
from plot.result_files import Run  # noqa: E402

LONG = ["lognormal:mean=161,cv=1.2", "mixture:max=1000,0.5xconstant:100+0.5xuniform:10,200"]


def run(allocator):
    block_size = None if allocator.startswith("contiguous") else 8
    counts = {"requests_rejected": 800, "requests_finished": 0}
    return Run(allocator, block_size, 1000, counts, {})


def distributions(runs, seconds):
    """Data of a page that has these at the median and the maximum, in every row and kind."""
    kinds = dict.fromkeys(("queueing", "ttft", "tpot", "end_to_end"), seconds)
    return {"quantiles_per_mille": [500, 1000], "latency": [kinds] * len(runs)}


def points(**axes):
    """A sweep's table over these axes."""
    table = pandas.DataFrame(itertools.product(*axes.values()), columns=list(axes))
    return table.assign(**dict.fromkeys(grid_figures._SWEEP_FIGURES, 0.5))


class Names(unittest.TestCase):
    def assert_readable(self, figure):
        """Texts are in the figure, and tick labels apart from each other."""
        whole = figure.figure
        whole.draw_without_rendering()
        legends = [text for legend in figure.legends
                   for text in (*legend.get_texts(), legend.get_title())]
        ticks = [[label for place, label in zip(axis.get_xticks(), axis.get_xticklabels())
                  if axis.get_xlim()[0] <= place <= axis.get_xlim()[1]] for axis in whole.axes]
        for text in [*legends, *itertools.chain(*ticks)]:
            box = text.get_window_extent()
            for corner in ((box.x0, box.y0), (box.x1, box.y1)):
                self.assertTrue(whole.bbox.contains(*corner), text.get_text())
        for labels in ticks:
            for one, other in itertools.pairwise(labels):
                if not one.get_rotation():
                    self.assertLess(one.get_window_extent().x1, other.get_window_extent().x0)
        for axis in whole.axes:
            self.assertGreater(axis.get_window_extent().width, whole.bbox.width / 5)
            self.assertGreater(axis.get_window_extent().height, 100)
        return [text.get_text() for text in legends]

    def test_names_of_runs_that_reject_are_in_the_legend(self):
        style.set_up()
        runs = [run(name) for name in ("contiguous-max", "contiguous-pow2", "contiguous-oracle",
                                       *(f"contiguous-{part}" for part in range(8)))]
        figure = map_figures.latency_distributions(distributions(runs, [1, 2]), runs)
        told = self.assert_readable(figure)
        self.assertIn("contiguous-max, rejects 800 of 800", told)
        self.assertEqual(len(told), 12)

    def test_ticks_around_a_single_latency_are_round(self):
        style.set_up()
        runs = [run("paged")]
        figure = map_figures.latency_distributions(distributions(runs, [0.0123457] * 2), runs)
        self.assert_readable(figure)
        for axis in figure.axes:
            self.assertEqual((axis.get_xlim()[0], axis.xaxis.get_offset_text().get_text()), (0, ""))
            labels = [label.get_text() for label in axis.get_xticklabels()]
            self.assertLessEqual(max(map(len, labels)), len("0.0125"))

    def test_long_values_of_axes_have_letters_that_are_explained(self):
        style.set_up()
        table = points(prompts=LONG, outputs=LONG[::-1], model=["Llama-3.1-8B", "OPT-13B"],
                       arrivals=[f"poisson:{rate}" for rate in (1, 2, 3, 4)],
                       workload=["chat", "$\\x$"])
        axes = ["prompts", "outputs", "model", "arrivals", "workload"]
        for along in ("prompts", "arrivals", "workload"):
            told = self.assert_readable(grid_figures.sweep(table, axes, along))
            title = told[-1]
            self.assertIn("prompts A: lognormal:mean=161,cv=1.2", title)
            self.assertIn("outputs B: lognormal:mean=161,cv=1.2", title)
            self.assertEqual("(the first 24 of 32)" in title, along != "arrivals")
        self.assertIn("prompts A, outputs A, OPT-13B, poisson:1", told)
        alone = grid_figures.sweep(points(prompts=LONG), ["prompts"], "prompts")
        self.assertEqual(self.assert_readable(alone)[-1].splitlines()[0], f"prompts A: {LONG[0]}")

    def test_ticks_that_have_no_room_are_slanted(self):
        style.set_up()
        table = points(allocator=["contiguous-max", "contiguous-pow2", "paged", "prefix-cached"])
        figure = grid_figures.sweep(table, ["allocator"], "allocator")
        self.assert_readable(figure)
        labels = figure.figure.axes[0].get_xticklabels()
        self.assertEqual({label.get_rotation() for label in labels}, {25})
        figure = grid_figures.sweep(table[2:], ["allocator"], "allocator")
        self.assert_readable(figure)
        labels = figure.figure.axes[0].get_xticklabels()
        self.assertEqual({label.get_rotation() for label in labels}, {0})

    def test_a_name_that_has_room_stays(self):
        table = points(prompts=["x" * 16, "x" * 17])
        names = ShortNames(table, ["prompts"])
        self.assertEqual([names.label("prompts", value) for value in table["prompts"]],
                         ["x" * 16, "prompts A"])
        self.assertEqual(names.told, ["prompts A: " + "x" * 17])

    def test_a_legend_has_as_many_columns_as_fit(self):
        self.assertEqual(fitted_legend(["paged 16"] * 8).columns, 4)
        self.assertEqual(fitted_legend(["x" * 40] * 8).columns, 2)
        wide = fitted_legend(["two words " * 20])
        self.assertEqual((wide.columns, "\n" in wide.labels[0]), (1, True))


if __name__ == "__main__":
    unittest.main()
