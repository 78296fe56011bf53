#!/usr/bin/env python3
"""Runs each notebook on results that this test makes, and checks how notebooks are stored.

    notebooks_test.py RECTO FAULTY_LIBRARY KERNELS_DOCUMENT SYNTHETIC_MEASUREMENT
"""

import csv
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

import nbformat
from nbconvert.preprocessors import ExecutePreprocessor

RECTO, LIBRARY, DOCUMENT, SYNTHETIC = (os.path.abspath(path) for path in sys.argv[1:5])
del sys.argv[1:5]
FOLDER = Path("notebooks").absolute()
CELL_LIMIT_S = 600

# The number of figures that each notebook draws without measurements.
PICTURES = {
    "01_where_the_memory_goes": 3,
    "02_choosing_a_block_size": 2,
    "03_sharing_and_copy_on_write": 3,
    "04_kernel_throughput": 2,
    "05_reading_a_counterexample": 1,
}


def read(name):
    return nbformat.read(FOLDER / f"{name}.ipynb", as_version=4)


def printed(notebook):
    return "".join(output.text for cell in notebook.cells if cell.cell_type == "code"
                   for output in cell.outputs if output.output_type == "stream")


class Notebooks(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        made = tempfile.TemporaryDirectory()
        cls.addClassCleanup(made.cleanup)
        os.environ.pop("MPLBACKEND", None)  # the kernel's own puts figures into the notebook
        cls.results = Path(made.name) / "results"
        subprocess.run([FOLDER / "make_results.sh", RECTO, LIBRARY, cls.results], check=True)
        os.environ.update(RECTO_RESULTS=str(cls.results), RECTO_KERNELS_DOCUMENT=DOCUMENT,
                          RECTO_PROGRAMS=os.path.dirname(RECTO),
                          RECTO_GPU_RESULTS=str(Path(made.name) / "gpu"))

    def run_notebook(self, name, more_pictures=0):
        notebook = read(name)
        runner = ExecutePreprocessor(timeout=CELL_LIMIT_S, startup_timeout=CELL_LIMIT_S)
        runner.preprocess(notebook, {"metadata": {"path": str(FOLDER)}})
        code = [cell for cell in notebook.cells if cell.cell_type == "code"]
        pictures = [output for cell in code for output in cell.outputs
                    if "image/png" in output.get("data", {})]
        self.assertEqual(len(pictures), PICTURES[name] + more_pictures)
        errors = [output.text for cell in code for output in cell.outputs
                  if output.get("name") == "stderr"]
        self.assertEqual(errors, [])
        return printed(notebook)

    def test_where_the_memory_goes(self):
        self.assertRegex(self.run_notebook("01_where_the_memory_goes"), r"commit \w+; seed 1")

    def test_choosing_a_block_size(self):
        said = self.run_notebook("02_choosing_a_block_size")
        self.assertIn("recommended: prefix-cached 16\n", said)
        self.assertIn("\nprefix-cached: Block 16 ", said)
        # The statements of the notebook's text on prefix hits and throughput.
        with open(self.results / "block_sizes/fragmentation.csv", newline="") as table:
            cached = [row for row in csv.DictReader(table) if row["allocator"] == "prefix-cached"]
        self.assertEqual([row["block_size"] for row in cached], ["1", "4", "16", "64", "256"])
        hits = [float(row["figures.first_hit_share"]) for row in cached]
        self.assertEqual(hits, sorted(hits, reverse=True))
        self.assertGreater(hits[0], 1.2 * hits[-1])
        rates = [float(row["figures.output_tokens_per_s"]) for row in cached]
        self.assertGreater(rates[2], 1.05 * rates[-1])

    def test_sharing_and_copy_on_write(self):
        self.run_notebook("03_sharing_and_copy_on_write")

    def test_kernel_throughput_without_measurements(self):
        said = self.run_notebook("04_kernel_throughput")
        self.assertIn("nothing here was timed on a GPU", said)
        self.assertIn("No kernel was timed: there is no plot", said)
        self.assertIn("what paging saved", said)

    def test_kernel_throughput_with_figures_that_nobody_measured(self):
        folder = Path(os.environ["RECTO_GPU_RESULTS"]) / "made-up"
        folder.mkdir(parents=True)
        self.addCleanup(shutil.rmtree, folder)
        shutil.copy(SYNTHETIC, folder / "attention.json")
        (folder / "merge.json").write_text(json.dumps({"benchmarks": [
            {"name": "merge/made-up", "median_us": 1.0, "spread": 0.0},
            {"name": "merge/skipped", "error_occurred": True}]}))
        (folder / "cache.json").write_text(json.dumps({"benchmarks": [
            {"name": "kv_write/skipped", "error_occurred": True}]}))
        said = self.run_notebook("04_kernel_throughput", more_pictures=1)
        self.assertIn("made-up: attention.json, ", said)
        self.assertIn("Drawn: made-up/attention.json, SYNTHETIC: no card", said)
        self.assertNotIn("No figures to show", said)

    def test_reading_a_counterexample(self):
        said = self.run_notebook("05_reading_a_counterexample")
        self.assertIn("options that are left: {'window': 1}", said)
        fits = r"faults     \d+ tried that would change this case; (\d+) fit"
        self.assertEqual(re.findall(fits, said), ["2", "1"])
        named = said.split("; 1 fits\n")[1]
        self.assertTrue(named.startswith("  the window is one key too wide\n"))

    def test_what_is_missing_is_named(self):
        with tempfile.TemporaryDirectory() as empty:
            done = subprocess.run([sys.executable, "-c",
                                   "import looks; looks.find('generate.txt')"],
                                  cwd=FOLDER, env=os.environ | {"RECTO_RESULTS": empty},
                                  capture_output=True, text=True)
        self.assertIn("generate.txt is not there: make_results.sh writes it", done.stderr)

    def test_they_are_stored_without_outputs(self):
        for path in FOLDER.glob("*.ipynb"):
            notebook = nbformat.read(path, as_version=4)
            nbformat.validate(notebook)
            for cell in notebook.cells:
                if cell.cell_type == "code":
                    self.assertEqual((cell.outputs, cell.execution_count), ([], None), path.name)

    def test_all_are_run_and_listed(self):
        names = sorted(path.stem for path in FOLDER.glob("*.ipynb"))
        self.assertEqual(names, sorted(PICTURES))
        listed = re.findall(r"\((\w+)\.ipynb\)", (FOLDER / "README.md").read_text())
        self.assertEqual(listed, names)


if __name__ == "__main__":
    unittest.main()
