#!/usr/bin/env python3
"""Whether the packages are those of requirements.txt, fit each other, and work together.

    packages_test.py REQUIREMENTS_TXT
"""

import importlib
import importlib.metadata
import os
import re
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

requirements = Path(sys.argv.pop(1))
# With another name than their package.
MODULES = {"nvidia-cuda-nvdisasm": "nvidia", "pytest-xdist": "xdist"}


class Packages(unittest.TestCase):
    def test_each_requirement_is_pinned_and_can_be_imported(self):
        for line in requirements.with_suffix(".in").read_text().splitlines():
            if not line or line.startswith("#"):
                continue
            name = re.match(r"[\w-]+", line).group()
            importlib.import_module(MODULES.get(name, name.replace("-", "_")))
            print(f"{name} {importlib.metadata.version(name)}")
            self.assertEqual(self.pinned()[name], importlib.metadata.version(name))

    def test_each_pin_is_what_is_installed(self):
        for name, version in self.pinned().items():
            self.assertEqual(importlib.metadata.version(name), version, name)

    def test_they_fit_each_other(self):
        done = subprocess.run([sys.executable, "-m", "pip", "check"], text=True,
                              capture_output=True)
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)

    def test_a_picture_is_drawn_and_a_cluster_computes(self):
        import matplotlib.pyplot as plt
        from distributed import Client, LocalCluster

        with tempfile.TemporaryDirectory() as folder:
            picture = Path(folder) / "picture.png"
            plt.plot([1, 2])
            plt.savefig(picture)
            self.assertGreater(picture.stat().st_size, 1000)
        with LocalCluster(n_workers=1, processes=False, dashboard_address=None) as cluster:
            with Client(cluster) as client:
                self.assertEqual(client.submit(sum, [1, 2]).result(), 3)

    def test_a_notebook_runs(self):
        import nbclient
        import nbformat

        cell = nbformat.v4.new_code_cell("import sys; print(sys.executable)")
        notebook = nbformat.v4.new_notebook(cells=[cell])
        with tempfile.TemporaryDirectory() as folder:
            nbclient.NotebookClient(notebook, resources={"metadata": {"path": folder}}).execute()
        self.assertEqual(notebook.cells[0].outputs[0].text.strip(), os.environ["RECTO_PYTHON"])

    @staticmethod
    def pinned():
        return dict(re.findall(r"(?m)^([\w.-]+)==(\S+)", requirements.read_text()))


if __name__ == "__main__":
    unittest.main()
