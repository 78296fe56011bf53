#!/usr/bin/env python3
"""Tests of the programs in docs/cluster.md, on stand-ins for Slurm and Kubernetes.

    documented_clusters_test.py RECTO CLUSTER_MD
"""

import ast
import contextlib
import importlib.util
import inspect
import json
import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

import cluster_test_support as support
from cluster_test_support import TOOL, WatchedRecto

sys.path.insert(0, str(TOOL.parent / "documents"))
from command_blocks import blocks_of  # noqa: E402

RECTO = Path(sys.argv.pop(1)).resolve()
DOCUMENT = Path(sys.argv.pop(1)).read_text()
GRID = {"base": {"requests": 40}, "axes": {"block_size": [8, 16, 32]}, "seeds": 2}
RUNS = 6
ROOM = 2  # jobs or pods that run; more of them wait, as on a full cluster

# Slurm as far as dask-jobqueue uses it. A job is a separate session, whose leader is the shell.
SBATCH = """#!/bin/bash
cd '{folder}'
number=1
until mkdir jobs/$number 2> /dev/null; do number=$((number + 1)); done
cp "$1" jobs/$number/script
if [ $number -le {room} ]; then
  setsid bash jobs/$number/script > jobs/$number/log 2>&1 < /dev/null &
  echo $! > jobs/$number/pid
fi
echo "Submitted batch job $number"
"""
SCANCEL = """#!/bin/bash
cd '{folder}'
for number; do
  touch jobs/$number/cancelled
  [ ! -e jobs/$number/pid ] || kill -- -$(<jobs/$number/pid)
done
"""

# dask_kubernetes.operator as far as the program uses it: pods are processes in their own folders,
# without the caller's files.
KUBERNETES = """
import os, subprocess, sys
from distributed import Scheduler
from distributed.deploy.spec import ProcessInterface, SpecCluster

class Pod(ProcessInterface):
    def __init__(self, scheduler, name):
        super().__init__()
        self.scheduler, self.name = scheduler, name

    async def start(self):
        if self.name < {room}:
            folder = os.path.join("{folder}", f"pod-{{self.name}}")
            os.mkdir(folder)
            self.process = subprocess.Popen(
                [sys.executable, "-m", "distributed.cli.dask_worker", self.scheduler, "--no-nanny",
                 "--nthreads", "2", "--no-dashboard", "--death-timeout", "120",
                 "--local-directory", folder],
                cwd=folder, stderr=subprocess.DEVNULL)
        await super().start()

    async def close(self):
        if hasattr(self, "process"):
            self.process.kill()
            self.process.wait()
        await super().close()

class KubeCluster(SpecCluster):
    def __init__(self, *, name, image, n_workers, resources):
        pod = {{"cls": Pod, "options": {{}}}}
        super().__init__(dict.fromkeys(range(n_workers), pod), worker=pod, scheduler={{
            "cls": Scheduler, "options": {{"host": "127.0.0.1", "dashboard_address": ":0"}}}})
"""


def program_with(name):
    """The one Python program of the document that calls this."""
    [text] = [block.text for block in blocks_of(DOCUMENT)
              if block.language == "python" and f"{name}(" in block.text]
    return text


def settings_of(name):
    """The arguments of the call, all of them named and literal."""
    [call] = [node for node in ast.walk(ast.parse(program_with(name)))
              if isinstance(node, ast.Call) and getattr(node.func, "id", "") == name]
    assert not call.args
    return {word.arg: ast.literal_eval(word.value) for word in call.keywords}


class Documented(unittest.TestCase):
    def setUp(self):
        """A folder like a checkout."""
        folder = tempfile.TemporaryDirectory(ignore_cleanup_errors=True)
        self.addCleanup(folder.cleanup)
        self.folder = Path(folder.name).resolve()
        shutil.copytree(TOOL.parent / "sweep_cluster", self.folder / "tools" / "sweep_cluster")
        shutil.copy(TOOL, self.folder / "tools")
        self.recto = WatchedRecto(RECTO, self.folder)
        built = self.folder / "bazel-bin" / "experiments"
        built.mkdir(parents=True)
        (built / "recto").symlink_to(self.recto.path)
        (self.folder / "grid.json").write_text(json.dumps(GRID))

    def run_program(self, name, **environment):
        process = subprocess.Popen(
            [sys.executable, "-c", program_with(name)], cwd=self.folder, text=True,
            stdout=subprocess.PIPE, stderr=subprocess.STDOUT, start_new_session=True,
            env=os.environ | environment)
        try:
            printed, _ = process.communicate(timeout=support.DEADLINE_S)
        except subprocess.TimeoutExpired:
            os.killpg(process.pid, signal.SIGKILL)
            printed, _ = process.communicate()
            self.fail(f"not done within {support.DEADLINE_S} s\n{printed}")
        self.assertEqual(process.returncode, 0, printed)

    def places(self):
        """The folders in which recto ran."""
        return set((self.folder / "places").read_text().splitlines())

    def check_same_as_alone(self):
        subprocess.run([RECTO, "sweep", "--out", "alone", "--grid", "grid.json"], cwd=self.folder,
                       check=True, capture_output=True, timeout=support.DEADLINE_S)
        for name in ("sweep.csv", "manifest.json"):
            self.assertEqual((self.folder / "results" / name).read_bytes(),
                             (self.folder / "alone" / name).read_bytes(), name)


class Slurm(Documented):
    def setUp(self):
        super().setUp()
        for name in ("jobs", "programs"):
            (self.folder / name).mkdir()
        for name, text in (("sbatch", SBATCH), ("scancel", SCANCEL)):
            program = self.folder / "programs" / name
            program.write_text(text.format(folder=self.folder, room=ROOM))
            program.chmod(0o755)
        self.addCleanup(self.end_jobs)

    def end_jobs(self):
        for file in self.folder.glob("jobs/*/pid"):
            with contextlib.suppress(ProcessLookupError):
                os.killpg(int(file.read_text()), signal.SIGKILL)

    def test_the_program_sweeps_with_the_jobs_that_run_and_cancels_all(self):
        self.run_program(
            "SLURMCluster", PATH=f"{self.folder / 'programs'}:{os.environ['PATH']}",
            DASK_JOBQUEUE__SLURM__SCHEDULER_OPTIONS=str(
                {"host": "127.0.0.1", "dashboard_address": ":0"}))
        self.check_same_as_alone()
        self.assertEqual(sorted(self.recto.runs()), list(range(RUNS)))
        self.assertEqual(self.places(), {str(self.folder)})
        jobs = list((self.folder / "jobs").iterdir())
        self.assertEqual(len(jobs), 16)
        for job in jobs:
            self.assertTrue((job / "cancelled").exists(), job.name)
            self.check_script((job / "script").read_text())

    def check_script(self, script):
        """The document requests 32 cores, 64 GB (Slurm's G is 2^30 bytes) and 4 h in `cpu`."""
        asked = [line.removeprefix("#SBATCH ") for line in script.splitlines()
                 if line.startswith("#SBATCH ")]
        for wanted in ("-p cpu", "-n 1", "--cpus-per-task=32", "--mem=60G", "-t 04:00:00"):
            self.assertIn(wanted, asked)
        [worker] = [line for line in script.splitlines() if "dask_worker" in line]
        self.assertIn(f"{sys.executable} -m distributed.cli.dask_worker tcp://127.0.0.1:", worker)
        self.assertIn(" --nthreads 32 --memory-limit 59.60GiB ", worker)
        self.assertNotIn("--nworkers", worker)


class Kubernetes(Documented):
    def test_the_program_sweeps_where_nobody_sees_its_files(self):
        package = self.folder / "packages" / "dask_kubernetes"
        package.mkdir(parents=True)
        (package / "__init__.py").touch()
        (package / "operator.py").write_text(KUBERNETES.format(folder=self.folder, room=ROOM))
        self.run_program("KubeCluster", PYTHONPATH=str(package.parent))
        self.check_same_as_alone()
        for place in self.places():
            self.assertRegex(place, f"^{re.escape(str(self.folder))}/pod-[01]/")

    @unittest.skipUnless(importlib.util.find_spec("dask_kubernetes"), "no dask-kubernetes")
    def test_the_manifest_asks_for_what_the_document_says(self):
        from dask_kubernetes.operator import KubeCluster, make_cluster_spec

        settings = settings_of("KubeCluster")
        inspect.signature(KubeCluster.__init__).bind(None, **settings)
        spec = make_cluster_spec(**settings)["spec"]
        self.assertEqual(spec["worker"]["replicas"], 2)
        scheduler, worker = (spec[part]["spec"]["containers"][0]
                             for part in ("scheduler", "worker"))
        for container in (scheduler, worker):
            self.assertEqual(container["image"], "registry.example/recto-dask:1")
            # Without a limit a worker has a thread for each core of its node.
            self.assertEqual(container["resources"], {
                "requests": {"cpu": "8"}, "limits": {"cpu": "8", "memory": "16Gi"}})
        self.assertEqual(worker["args"][:3], ["dask-worker", "--name", "$(DASK_WORKER_NAME)"])
        self.assertEqual(scheduler["args"][0], "dask-scheduler")
        # KubeCluster.scheduler_address is this port of the service, or one forwarded to it.
        [port] = [port for port in spec["scheduler"]["service"]["ports"]
                  if port["name"] == "tcp-comm"]
        self.assertEqual((port["port"], port["targetPort"]), (8786, "tcp-comm"))
        self.assertIn({"name": "tcp-comm", "containerPort": 8786, "protocol": "TCP"},
                      scheduler["ports"])


if __name__ == "__main__":
    if not importlib.util.find_spec("dask_kubernetes"):
        print("SKIPPED: the manifest of Kubernetes: this Python has no dask-kubernetes")
    unittest.main()
