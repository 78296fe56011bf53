#!/usr/bin/env python3
"""What a sweep costs on a cluster, per run and per task, and what a million points would take.

    ./bazelw python tools/sweep_cluster/task_cost.py RECTO SWEEP_ARGUMENTS...

All other flags are those of `recto sweep`; with them, 100 runs or more. Measured are CPU time and
sizes, which a busy machine changes less than it does the clock.
"""

import json
import math
import pickle
import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from sweep_cluster import part  # noqa: E402
from sweep_cluster.command_line import version_of  # noqa: E402
from sweep_cluster.million_points import TASK_RUNS, Costs, plan  # noqa: E402
from sweep_cluster.process_memory import (  # noqa: E402
    peak_of_command,
    peak_of_recto,
    peaks_of_cluster,
)
from sweep_cluster.run_queue import text_of  # noqa: E402

TASKS = 300
PART_RUNS = (1, 10, TASK_RUNS)
GRID_SIZES = (1_000, 10_000)  # sizes of the sweeps whose memory and files are compared


def children():
    usage = resource.getrusage(resource.RUSAGE_CHILDREN)
    return usage.ru_utime + usage.ru_stime


def job_of(recto, arguments):
    """The job for a worker, the number of runs, and the files they read; nothing is run."""
    with tempfile.TemporaryDirectory() as out:
        done = subprocess.run([recto, "sweep", *arguments, "--out", out, "--collect"],
                              stdin=subprocess.DEVNULL, capture_output=True, check=False)
    if not done.stdout:
        sys.exit(done.stderr.decode())
    said = json.loads(done.stdout)
    version, wrong = version_of(recto)
    if wrong:
        sys.exit(f"{recto}: {wrong}")
    job = {"grid": json.dumps(said["grid"]), "recto": recto, "version": version, "folder": ".",
           "upload": None, "settings": {}}
    return job, said["runs"], [file["path"] for file in said["inputs"]]


def part_cost(job, runs, task_runs):
    """CPU ms on the worker, bytes out and bytes back, each per run, of the first `runs` runs in
    tasks of so many."""
    import cloudpickle

    cloudpickle.register_pickle_by_value(part)  # as for a worker, which has none of our modules
    cpu = sent = back = 0
    for first in range(0, runs, task_runs):
        text = text_of([(first, first + task_runs - 1)])
        before = children()
        result = part.run_part(job, text)
        if result["refused"] or result["died"]:
            sys.exit(f"recto: {result['refused'] or result['died']}")
        cpu += children() - before
        sent += len(cloudpickle.dumps((part.run_part, job, text)))
        back += len(pickle.dumps(result))
    return 1e3 * cpu / runs, sent / runs, back / runs


def task_cost(job):
    """CPU seconds of client, scheduler and worker together for a task that does nothing."""
    from distributed import Client, LocalCluster, wait

    with LocalCluster(n_workers=1, threads_per_worker=1, processes=False, protocol="tcp://",
                      dashboard_address=None) as cluster, Client(cluster) as client:
        job = dict(job, recto="/bin/true", folder="/")
        wait(client.submit(len, [], pure=False))
        before = time.process_time()
        wait([client.submit(nothing, job, str(i), pure=False) for i in range(TASKS)])
        return (time.process_time() - before) / TASKS


def nothing(job, runs):
    return {"lines": b"", "runs": runs, "grid_bytes": len(job["grid"])}


def upload_size(job, inputs):
    from sweep_cluster.upload import Upload

    return Upload(job["recto"], inputs).bytes_to_send()


def collection(recto, points):
    """The cost of a collector that gets all runs of a grid: CPU seconds, and bytes of memory and of
    its files.

    Runs are as short as possible: what is kept of a run does not depend on its length.
    """
    side = math.isqrt(points)
    arguments = ["--requests", "5", "--seed", ",".join(map(str, range(1, side + 1))),
                 "--pool-slots", ",".join(map(str, range(20_001, 20_001 + side)))]
    job, runs, _ = job_of(recto, arguments)
    lines = part.run_part(job, text_of([(0, runs - 1)]))["lines"]
    with tempfile.TemporaryDirectory() as out:
        before = children()
        peak = peak_of_command([recto, "sweep", *arguments, "--out", out, "--collect"],
                               input=lines)
        cpu = children() - before
        sizes = [Path(out, name).stat().st_size for name in ("sweep.journal.jsonl", "sweep.csv")]
    return runs, [cpu, peak, *sizes]


def cost_of_collecting(recto, sizes):
    """Per additional run, from the difference of two grids: fixed costs cancel out."""
    (few, less), (many, more) = (collection(recto, size) for size in sizes)
    return [(b - a) / (many - few) for a, b in zip(less, more)]


def measure(recto, arguments, part_runs=PART_RUNS, grid_sizes=GRID_SIZES):
    """Prints a table for tasks of several sizes; returns the costs for the largest tasks."""
    job, runs, inputs = job_of(recto, arguments)
    if runs < part_runs[-1]:
        sys.exit(f"expected {part_runs[-1]} runs or more, found {runs}")
    print("runs a task   CPU ms a run   bytes out a run   bytes back a run")
    cpu_alone = None
    for count in part_runs:  # all of the same runs, however many there are in a task
        cpu, sent, back = part_cost(job, part_runs[-1], count)
        cpu_alone = cpu if count == 1 else cpu_alone
        print(f"{count:11}   {cpu:12.2f}   {sent:15,.0f}   {back:16,.0f}", flush=True)
    collecting = cost_of_collecting(recto, grid_sizes)
    return Costs(cpu, cpu_alone, sent, back, 1e3 * task_cost(job), 1e3 * collecting[0],
                 *collecting[1:], *peaks_of_cluster(job, int(back * count)), peak_of_recto(job),
                 upload_size(job, inputs))


def main(recto, *arguments):
    costs = measure(str(Path(recto).resolve()), arguments)
    print("", *costs.lines(), "", "a million such points:", *plan(costs), sep="\n")


if __name__ == "__main__":
    if len(sys.argv) < 2 or "--help" in sys.argv:
        print(__doc__)
    else:
        main(*sys.argv[1:])
