#!/usr/bin/env python3
"""Tests of sweeps over Dask, whose workers, schedulers and drivers are killed during the sweep."""

import collections
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

import cluster_test_support as support
from cluster_test_support import TOOL, Processes, WatchedRecto

RECTO = Path(sys.argv.pop(1)).resolve()
# 12 points under 2 seeds; those of one model fail, because it does not fit.
GRID = ("--requests 40 --block-size 8,16,32 --allocator paged,contiguous-pow2 "
        "--model OPT-13B,OPT-66B --seeds 2").split()
RUNS = 24
RESULTS = Path("sim/time/testdata").resolve()
TRACE = "arrival_s,prompt_tokens,output_tokens\n" + "".join(
    f"{i / 2},{100 + i % 7},{20 + i % 5}\n" for i in range(60))


class ClusterTest(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = Path(folder.name).resolve()
        self.processes = Processes(self.folder)
        self.addCleanup(self.processes.close)
        self.out = self.folder / "many"

    def recto(self, **watched):
        recto = WatchedRecto(RECTO, self.folder, **watched)
        self.addCleanup(recto.let_go)
        return recto

    def start(self, recto, *arguments, grid=GRID, **more):
        command = [sys.executable, TOOL, "--recto", recto, "--out", self.out, *grid, *arguments]
        process = subprocess.Popen([str(part) for part in command], cwd=self.folder, text=True,
                                   stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                                   process_group=0, env=os.environ | more)
        self.addCleanup(process.stdout.close)
        self.addCleanup(process.stderr.close)
        self.addCleanup(support.end, process)
        return process

    def finish(self, process, code):
        out, err = process.communicate(timeout=support.DEADLINE_S)
        self.assertEqual(process.returncode, code, out + err)
        return err

    def check_same_as_alone(self, grid=GRID, **more):
        subprocess.run([RECTO, "sweep", "--out", "alone", *grid], cwd=self.folder, check=False,
                       stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
                       env=os.environ | more)
        for name in ("sweep.csv", "manifest.json"):
            self.assertEqual((self.out / name).read_bytes(),
                             (self.folder / "alone" / name).read_bytes(), name)
        # The journal has the same lines, in the order in which runs ended.
        lines = [(folder / "sweep.journal.jsonl").read_text().splitlines()
                 for folder in (self.out, self.folder / "alone")]
        self.assertEqual(lines[0][0], lines[1][0])
        self.assertEqual(set(lines[0]), set(lines[1]))

    def test_a_worker_that_is_killed_costs_its_part_and_nothing_else(self):
        recto = self.recto(hold_at=5)
        _, address = self.processes.scheduler()
        workers = [self.processes.worker(address) for _ in range(3)]
        tool = self.start(recto.path, "--scheduler", address)
        parent, held = recto.wait_until_held(tool)
        [victim] = [worker for worker in workers if worker.pid == parent]
        kept = support.journalled_runs(self.out)
        victim.send_signal(signal.SIGKILL)
        err = self.finish(tool, 1)
        self.assertIn("6 of 12 points failed", err)
        times = collections.Counter(recto.runs())
        self.assertEqual(len(times), RUNS)
        twice = {run for run, count in times.items() if count == 2}
        self.assertEqual(sum(times.values()), RUNS + len(twice))
        self.assertLessEqual(set(held), twice)
        self.assertLessEqual(twice, set(recto.runs(parent)) - set(kept))
        self.check_same_as_alone()

    def test_a_scheduler_that_is_started_again_loses_nothing_that_was_finished(self):
        recto = self.recto(hold_at=4)
        scheduler, address = self.processes.scheduler()
        worker = self.processes.worker(address)
        tool = self.start(recto.path, "--scheduler", address)
        _, held = recto.wait_until_held(tool)
        done = len(recto.runs()) - len(held)
        support.wait_for(lambda: len(support.journalled_runs(self.out)) == done)
        support.end(scheduler)
        support.end(worker)
        recto.let_go()
        again, same_address = self.processes.scheduler(port=address.split(":")[-1])
        self.assertEqual(same_address, address)
        self.processes.worker(address)
        err = self.finish(tool, 1)
        self.assertIn("the scheduler is lost; trying again", err)
        self.assertIsNone(again.poll())
        self.assertEqual(sorted(recto.runs()), sorted([*range(RUNS), *held]))
        self.check_same_as_alone()

    def test_a_tool_that_is_killed_goes_on_where_its_journal_ends(self):
        recto = self.recto(hold_at=5)
        tool = self.start(recto.path)
        recto.wait_until_held(tool)
        support.end(tool)
        recto.let_go()
        support.wait_until_free(self.out)
        support.wait_until_gone(tool)
        started = len(recto.runs())
        journal = self.out / "sweep.journal.jsonl"
        kept = journal.read_text().count('"values"')
        self.assertGreater(kept, 0)
        self.assertFalse((self.out / "sweep.csv").exists())
        with open(journal, "a") as file:
            file.write('{"run":23,"config":"')
        err = self.finish(self.start(recto.path), 1)
        self.assertIn("the journal's last line was cut off; its run is repeated", err)
        self.assertIn(f"{kept} of {RUNS} runs were done before", err)
        self.assertEqual(len(recto.runs()) - started, RUNS - kept)
        self.check_same_as_alone()

    def test_a_run_that_ends_its_process_three_times_is_given_up_alone(self):
        recto = self.recto(end=5)
        err = self.finish(self.start(recto.path), 1)
        self.assertIn("run 5 is given up: recto was ended by SIGKILL on", err)
        self.assertIn("for the 3rd time; it is recto sweep", err)
        self.assertIn("--seeds 2 --runs 5", err)
        rows = (self.out / "sweep.csv").read_text().splitlines()[1:]
        failed = [row.split(",")[0] for row in rows if ",failed," in row]
        self.assertEqual(failed, ["1", "2", "3", "5", "7", "9", "11"])
        self.assertIn("failed,\"recto was ended by SIGKILL", rows[2])

    def test_a_run_that_ends_its_workers_is_given_up_alone(self):
        recto = self.recto(end=0, ended="$PPID")
        _, address = self.processes.scheduler(DASK_DISTRIBUTED__SCHEDULER__ALLOWED_FAILURES="0")
        for _ in range(2):
            self.processes.worker(address)
        err = self.finish(self.start(recto.path, "--scheduler", address), 1)
        self.assertIn("run 0 is given up: workers that died while they ran it: 1", err)
        self.assertIn("7 of 12 points failed", err)

    def test_files_that_workers_do_not_see_are_uploaded(self):
        (self.folder / "traces").mkdir()
        (self.folder / "traces" / "small.csv").write_text(TRACE)
        grid = ("--trace", "traces/small.csv", "--block-size", "8,16")
        recto = self.recto()
        _, address = self.processes.scheduler()
        self.processes.worker(address)
        tool = self.start(recto.path, "--upload", "--scheduler", address, grid=grid)
        err = self.finish(tool, 0)
        self.assertRegex(err, r"--upload: [\d,]+ bytes to each worker, as recto-[0-9a-f]{32}\n")
        places = set((self.folder / "places").read_text().split())
        self.assertTrue(all(place.endswith("/folder") for place in places), places)
        self.check_same_as_alone(grid)

        absolute = ("--trace", str(self.folder / "traces" / "small.csv"), "--block-size", "8,16")
        err = self.finish(self.start(recto.path, "--upload", "--fresh", grid=absolute), 2)
        self.assertIn("expected paths below the folder that this is called from", err)

    def test_workers_read_the_measured_times_that_the_callers_variable_names(self):
        shutil.copytree(RESULTS, self.folder / "measured")
        grid = ("--requests 20 --model Llama-3.1-8B --gpu H100 --block-size 1,16 "
                "--time-model measured:synthetic-not-measured").split()
        named = {"RECTO_GPU_RESULTS": "measured"}
        _, address = self.processes.scheduler()
        self.processes.worker(address)
        tool = self.start(RECTO, "--upload", "--scheduler", address, grid=grid, **named)
        self.finish(tool, 0)
        self.check_same_as_alone(grid, **named)

    def test_a_machine_that_cannot_run_recto_is_told_once(self):
        _, address = self.processes.scheduler()
        self.processes.worker(address)
        shared = self.recto()
        shared.path.write_text(
            "#!/bin/sh\ncase \"$*\" in *--runs*) echo no library >&2; exit 127;; esac\n"
            f"exec '{RECTO}' \"$@\"\n")
        err = self.finish(self.start(shared.path, "--scheduler", address), 2)
        self.assertEqual(err.count("no library"), 1)
        self.assertIn("24 of 24 runs are not done yet; call again to go on", err)


if __name__ == "__main__":
    unittest.main(verbosity=2)
