#!/usr/bin/env python3
"""Tests of the simulator as objects: fragmentation, simulate, sweep, plan, trace.

    simulator_test.py RECTO INIT_PY SAMPLE_TRACE
"""

import os
import sys
import tempfile
import unittest
from pathlib import Path
from unittest import mock

os.environ["RECTO_PROGRAMS"] = str(Path(sys.argv[1]).resolve().parent)
sys.path.insert(0, str(Path(sys.argv[2]).absolute().parents[1]))
SAMPLE_TRACE = sys.argv[3]

import pandas  # noqa: E402

import recto  # noqa: E402

SMALL = dict(requests=30)


class Fragmentation(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.study = recto.fragmentation(
            **SMALL, allocators=["contiguous-max", "paged"], block_sizes=[8, 16]
        )

    def test_states_add_up_and_tables_have_the_files_rows(self):
        frame = self.study.to_pandas()
        self.assertEqual(list(frame.index), ["contiguous-max", "paged 8", "paged 16"])
        file = pandas.read_csv(self.study.folder / "fragmentation.csv")
        self.assertEqual(list(frame.columns), list(file.columns))
        self.assertEqual(list(frame["figures.output_tokens_per_s"]),
                         list(file["figures.output_tokens_per_s"]))
        states = ("used", "reserved", "internal", "cached", "free", "overhead")
        for total in frame[[f"figures.mean_shares.{each}" for each in states]].sum(axis=1):
            self.assertAlmostEqual(total, 1)
        self.assertEqual(set(self.study.to_pandas("series")["allocator"]),
                         {"contiguous-max", "paged"})

    def test_it_tells_its_source_and_its_advice(self):
        self.assertRegex(self.study.source,
                         r"^recto [\d.]+, commit \w+; seed 1, OPT-13B on A100-40")
        self.assertIn(self.study.recommended, ("paged 8", "paged 16"))
        self.assertRegex(self.study.advice()["paged"], r"^Block \d+ ")
        self.assertIn("Where every KV slot was", str(self.study))
        page = self.study._repr_html_()
        self.assertEqual(page.count("<tr>"), 4)
        self.assertIn("<td>contiguous-max</td>", page)

    def test_figures_are_those_of_recto_plot_and_leave_the_style_alone(self):
        import matplotlib

        before = dict(matplotlib.rcParams)
        self.assertIn("memory_map", self.study.figures)
        figure = self.study.plot()
        self.assertEqual(dict(matplotlib.rcParams), before)
        self.assertIn("mean share of the pool", figure.subfigs[0].get_suptitle())
        self.assertIn("requests 30", figure.subfigs[1].texts[0].get_text())
        with self.assertRaisesRegex(KeyError, "no figure 'pie'; there are 'pool_states'"):
            self.study.plot("pie")

    def test_files_are_kept_in_a_folder_of_the_callers(self):
        with tempfile.TemporaryDirectory(prefix="with spaces ") as root:
            out = Path(root) / "kept"
            recto.fragmentation(**SMALL, allocators="paged", block_sizes=16, report=True, out=out)
            self.assertTrue((out / "report.html").is_file())


class Simulate(unittest.TestCase):
    def test_figures_and_series(self):
        run = recto.simulate(**SMALL, allocator="prefix-cached", workload="chat")
        again = recto.simulate(**SMALL, allocator="prefix-cached", workload="chat")
        self.assertEqual(run.data, again.data)
        self.assertGreater(run.figures_by_name["output_tokens_per_s"], 0)
        begins = run.data["report"]["series"]["begin_ns"]
        self.assertEqual(list(run.to_pandas("series")["begin_ns"]), begins)
        self.assertIn("output_tokens_per_s", run._repr_html_())
        run.plot("pool_over_time")

    def test_several_seeds_give_means_with_intervals(self):
        run = recto.simulate(**SMALL, seeds=2)
        row = run.to_pandas().set_index("figure").loc["figures.output_tokens_per_s"]
        self.assertGreater(row["half_width_95"], 0)
        self.assertEqual(run.figures_by_name["output_tokens_per_s"], row["mean"])
        with self.assertRaisesRegex(ValueError, "expected one seed"):
            run.plot()


class Sweep(unittest.TestCase):
    def test_runs_come_one_by_one_and_the_table_in_order(self):
        sweep = recto.sweep(**SMALL, block_size=[8, 16], allocator=["paged", "contiguous-max"])
        self.assertEqual(len(sweep), 4)
        points = sorted(sweep)
        self.assertEqual([tuple(point.axes.values()) for point in points],
                         [("8", "paged"), ("8", "contiguous-max"), ("16", "paged"),
                          ("16", "contiguous-max")])
        frame = sweep.to_pandas()
        self.assertEqual([point.figures["output_tokens_per_s"] for point in points],
                         list(frame["output_tokens_per_s"]))
        self.assertEqual(sweep.plot().subfigs[0].get_suptitle(), "Over block size")
        self.assertEqual(len(list(sweep)), 4)  # again
        self.assertIn("seed 1", sweep.source)

    def test_values_with_commas_are_values(self):
        sweep = recto.sweep(**SMALL, arrivals=["gamma:rate=2,cv=1", "gamma:rate=2,cv=3"])
        self.assertEqual({point.axes["arrivals"] for point in sweep},
                         {"gamma:rate=2,cv=1", "gamma:rate=2,cv=3"})

    def test_a_failed_point_is_a_row(self):
        sweep = recto.sweep(**SMALL, model=["no-such", "OPT-13B"])
        errors = {point.axes["model"]: point.error for point in sweep}
        self.assertIsNone(errors["OPT-13B"])
        self.assertIn("model: unknown model 'no-such'", errors["no-such"])
        self.assertEqual([row["outcome"] for row in sweep.rows], ["failed", "ok"])
        self.assertIn("1 of 2 points failed", sweep.message)

    def test_an_interrupted_sweep_continues(self):
        with tempfile.TemporaryDirectory() as root:
            words = dict(requests=4000, seed=list(range(1, 7)), threads=1, out=Path(root) / "sweep")
            with recto.sweep(**words) as sweep:
                first = next(iter(sweep))
            journal = (Path(root) / "sweep" / "sweep.journal.jsonl").read_text()
            self.assertLess(journal.count("\n"), 7)
            again = recto.sweep(**words)
            self.assertEqual(next(iter(again)), first)
            self.assertEqual(len(list(again)), 6)

    def test_a_journal_of_another_sweep_is_refused_or_written_anew(self):
        with tempfile.TemporaryDirectory() as out:
            self.assertEqual(len(list(recto.sweep(**SMALL, block_size=[8, 16], out=out))), 2)
            words = dict(**SMALL, allocator=["paged", "contiguous-max"], out=out)
            with self.assertRaisesRegex(recto.UsageError, "belongs to another sweep"):
                recto.sweep(**words)
            for is_fresh in (True, False):
                points = list(recto.sweep(**words, fresh=is_fresh))
                self.assertEqual({point.axes["allocator"] for point in points},
                                 {"paged", "contiguous-max"})


class PlanAndTrace(unittest.TestCase):
    def test_a_plan_adds_up(self):
        plan = recto.plan(model="Llama-3.1-8B", gpu="H100", length=[1000, 2000], mean_length=500)
        self.assertAlmostEqual(sum(row["share"] for row in plan.rows), 1)
        self.assertEqual(list(plan.to_pandas("lengths")["tokens"]), [1000, 2000])
        self.assertIn("KV pool", str(plan))
        self.assertEqual(plan.plot().subfigs[0].axes[0].get_xlabel(), "GiB of a card")

    def test_a_trace_is_described(self):
        trace = recto.trace(SAMPLE_TRACE, limit=100)
        self.assertEqual(trace.data["requests"], 100)
        shares = [row["share"] for row in trace.rows]
        self.assertEqual(shares, sorted(shares))
        self.assertEqual(trace.to_pandas("prefix_reuse").shape[0], 0)
        trace.plot()


class Refusals(unittest.TestCase):
    def test_the_program_checks_arguments(self):
        for call, text in (
            (lambda: recto.simulate(blok_size=3), "no such flag; did you mean block_size"),
            (lambda: recto.simulate(block_size="x"), "block_size: found 'x'; expected an integer"),
            (lambda: recto.sweep(block_size=[8, 0]), "block_size: found '0'; expected"),
            (lambda: recto.sweep(nothing=1), "nothing: no such flag; sweep --help lists"),
            (lambda: recto.plan(model="x"), "model: unknown model 'x'; expected one of"),
            (lambda: recto.trace("no-such-file"), "no-such-file: cannot be opened"),
            (lambda: recto.fragmentation(seeds=0), "seeds: found '0'"),
        ):
            with self.subTest(text):
                with self.assertRaisesRegex(recto.UsageError, text):
                    call()

    def test_flags_of_the_output_are_no_arguments(self):
        with self.assertRaisesRegex(TypeError, "json: no argument here: results are objects"):
            recto.simulate(json=True)
        with self.assertRaisesRegex(ValueError, "block_size: expected one value at least"):
            recto.sweep(block_size=[])

    def test_missing_packages_are_named(self):
        plan = recto.plan()
        for missing, call, text in (
            (("pandas",), plan.to_pandas, r"to_pandas\(\) needs pandas.*pip install pandas"),
            (("pandas",), plan.plot, r"plot\(\) needs pandas"),
            (("matplotlib", "matplotlib.pyplot"), plan.plot, r"plot\(\) needs matplotlib"),
        ):
            with mock.patch.dict(sys.modules, dict.fromkeys(missing)):
                with self.assertRaisesRegex(ImportError, text):
                    call()
                self.assertIn("<table>", plan._repr_html_())


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
