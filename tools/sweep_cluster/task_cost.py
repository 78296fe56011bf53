#!/usr/bin/env python3
"""What a sweep costs on a cluster, per run and per task, and what a million points would take.

    ./bazelw python tools/sweep_cluster/task_cost.py RECTO SWEEP_ARGUMENTS...

All other flags are those of `recto sweep`; with them, 100 runs or more. Measures CPU time and
sizes, which a busy machine changes less than wall time.
"""

import json
import math
import pickle
import re
import resource
import subprocess
import sys
import tempfile
import time
from dataclasses import asdict, dataclass, fields
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from sweep_cluster.collector import version_of  # noqa: E402
from sweep_cluster.run_queue import text_of  # noqa: E402

POINTS = 1_000_000
TASK_RUNS = 100  # of about 16 ms each: a task should last about 2 s
IN_FLIGHT = 1024  # tasks at a time, two for each of 512 threads
WORKERS, THREADS = 16, 32  # that have these threads
TASKS = 300
PART_RUNS = (1, 10, TASK_RUNS)
GRID_SIZES = (1_000, 10_000)  # sizes of the sweeps whose memory and files are compared
# A small separate process, because the measured size of a child begins with that of its parent.
PEAK = ("import resource, subprocess, sys; subprocess.run(sys.argv[1:], check=True); "
        "print(resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss, file=sys.stderr)")


@dataclass(frozen=True)
class Costs:
    """The measured costs, printed under these names."""

    cpu_ms_a_run: float  # on the worker, in tasks of TASK_RUNS
    cpu_ms_a_run_alone: float  # in a task of one run: includes recto's start and its --version
    bytes_out_a_run: float  # through the scheduler, in such tasks
    bytes_back_a_run: float
    cpu_ms_a_task: float  # of Dask: in client, scheduler and worker together
    collector_cpu_ms_a_run: float
    collector_bytes_a_run: float
    journal_bytes_a_run: float
    table_bytes_a_run: float
    scheduler_bytes: float  # peak of the process, with IN_FLIGHT tasks
    worker_bytes: float  # peak of Dask's process
    recto_bytes: float  # peak of one recto; each thread of a worker runs one
    upload_bytes: float  # to each worker

    def lines(self):
        return [f"{name} {value:{'.0f' if value >= 1e5 else '.6g'}}"
                for name, value in asdict(self).items()]

    @staticmethod
    def of(text):
        """Parses the lines of a text, which may hold other lines, too."""
        found = dict(re.findall(r"^(\w+) ([\d.]+)$", text, re.MULTILINE))
        return Costs(*(float(found[field.name]) for field in fields(Costs)))


def plan(costs):
    """The lines that docs/cluster.md shows, extrapolated to a million points."""
    seconds = costs.cpu_ms_a_run / 1e3 * POINTS
    tasks = POINTS // TASK_RUNS
    starts = (costs.cpu_ms_a_run_alone - costs.cpu_ms_a_run) / 1e3 * POINTS
    worker_bytes = costs.worker_bytes + THREADS * costs.recto_bytes

    def megabytes(per_run):
        return f"{per_run * POINTS / 1e6:.0f} MB"

    return [
        f"workers    {seconds / 3600:.1f} core hours: {seconds / 3600 / 2:.1f} h on 2 cores, "
        f"{seconds / 512:.0f} s on 512",
        f"tasks      {tasks:,} of {TASK_RUNS} runs: "
        f"{tasks * costs.cpu_ms_a_task / 1e3:.0f} s of Dask; of one run each, "
        f"{POINTS * costs.cpu_ms_a_task / 1e3:,.0f} s, and {starts:,.0f} s of recto's starts",
        f"traffic    {megabytes(costs.bytes_out_a_run)} out, "
        f"{megabytes(costs.bytes_back_a_run)} back",
        f"collector  {costs.collector_cpu_ms_a_run * POINTS / 1e3:.0f} s of CPU, "
        f"{costs.collector_bytes_a_run * POINTS / 1e9:.1f} GB of memory",
        f"memory     {costs.scheduler_bytes / 1e6:.0f} MB of the scheduler, "
        f"{costs.worker_bytes / 1e6:.0f} MB of a worker and {costs.recto_bytes / 1e6:.0f} MB for "
        f"each of its threads: {worker_bytes / 1e6:,.0f} MB with {THREADS}",
        f"upload     {costs.upload_bytes / 1e6:.1f} MB to each worker, "
        f"{costs.upload_bytes * WORKERS / 1e6:.0f} MB to {WORKERS} with {THREADS} threads",
        f"disk       {megabytes(costs.journal_bytes_a_run)} of journal, "
        f"{megabytes(costs.table_bytes_a_run)} of sweep.csv",
    ]


def children_seconds():
    usage = resource.getrusage(resource.RUSAGE_CHILDREN)
    return usage.ru_utime + usage.ru_stime


def peak_of_command(command, **more):
    """The peak memory of a command, in bytes."""
    done = subprocess.run([sys.executable, "-S", "-c", PEAK, *command], stdout=subprocess.PIPE,
                          stderr=subprocess.PIPE, check=False, **more)
    if done.returncode:
        sys.exit(done.stderr.decode())
    return int(done.stderr.split()[-1]) * 1024


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
    """CPU ms on the worker, bytes out and bytes back, each per run, for the first `runs` runs in
    tasks of equal size."""
    import cloudpickle

    from sweep_cluster.drive import worker  # which is pickled by value

    cpu = sent = back = 0
    for first in range(0, runs, task_runs):
        text = text_of(range(first, first + task_runs))
        before = children_seconds()
        result = worker.run_part(job, text)
        if result["refused"] or result["died"]:
            sys.exit(f"recto: {result['refused'] or result['died']}")
        cpu += children_seconds() - before
        sent += len(cloudpickle.dumps((worker.run_part, job, text)))
        back += len(pickle.dumps(result))
    return 1e3 * cpu / runs, sent / runs, back / runs


def answer(job, runs, size):
    """A task's answer of `size` bytes, without a run."""
    return {"lines": b"x" * size, "runs": runs, "grid_bytes": len(job["grid"])}


def cluster_cost(job, answer_bytes):
    """CPU ms of client, scheduler and worker together for an empty task, and the peak memory of a
    scheduler and of a worker with one thread: the worker's while it returns answers of this size
    one by one, the scheduler's with IN_FLIGHT tasks after these."""
    import cloudpickle
    import psutil
    from distributed import Client, wait
    from distributed.deploy.subprocess import SubprocessCluster

    from sweep_cluster.drive import ByValue

    cloudpickle.register_pickle_by_value(sys.modules[__name__])  # workers have none of our modules
    task = ByValue(answer)
    with SubprocessCluster(n_workers=1, threads_per_worker=1, worker_class="distributed.Worker",
                           dashboard_address=None) as cluster, Client(cluster) as client:
        pids = [process.process.pid for process in (cluster.scheduler, cluster.workers[0])]

        def cpu_seconds():
            times = [psutil.Process(pid).cpu_times() for pid in pids]
            return time.process_time() + sum(each.user + each.system for each in times)

        def run(count, size):
            wait([client.submit(task, job, str(number), size, pure=False)
                  for number in range(count)])

        run(1, 0)
        before = cpu_seconds()
        run(TASKS, 0)
        cpu_ms = 1e3 * (cpu_seconds() - before) / TASKS
        for number in range(TASKS):
            client.submit(task, job, str(number), answer_bytes, pure=False).result()
        of_worker = peak_of_process(pids[1])
        run(IN_FLIGHT, 0)
        return cpu_ms, peak_of_process(pids[0]), of_worker


def peak_of_process(pid):
    status = Path(f"/proc/{pid}/status").read_text()
    return int(status.split("VmHWM:")[1].split()[0]) * 1024


def collection(recto, points):
    """The cost of a collector that gets all runs of a grid: CPU ms, and bytes of memory and of its
    files.

    Runs are as short as possible, because the stored size does not depend on a run's length.
    """
    from sweep_cluster.worker import run_part

    side = math.isqrt(points)
    arguments = ["--requests", "5", "--seed", ",".join(map(str, range(1, side + 1))),
                 "--pool-slots", ",".join(map(str, range(20_001, 20_001 + side)))]
    job, runs, _ = job_of(recto, arguments)
    lines = run_part(job, text_of(range(runs)))["lines"]
    with tempfile.TemporaryDirectory() as out:
        before = children_seconds()
        peak = peak_of_command([recto, "sweep", *arguments, "--out", out, "--collect"],
                               input=lines)
        cpu_ms = 1e3 * (children_seconds() - before)
        sizes = [Path(out, name).stat().st_size for name in ("sweep.journal.jsonl", "sweep.csv")]
    return runs, [cpu_ms, peak, *sizes]


def measure(recto, arguments):
    """Prints a table for tasks of several sizes; returns the costs for the largest tasks."""
    from sweep_cluster.worker import Upload

    job, runs, inputs = job_of(recto, arguments)
    if runs < PART_RUNS[-1]:
        sys.exit(f"expected {PART_RUNS[-1]} runs or more, found {runs}")
    print("runs a task   CPU ms a run   bytes out a run   bytes back a run")
    cpu_alone = None
    for count in PART_RUNS:  # all of the same runs, however many there are in a task
        cpu, sent, back = part_cost(job, PART_RUNS[-1], count)
        cpu_alone = cpu if count == 1 else cpu_alone
        print(f"{count:11}   {cpu:12.2f}   {sent:15,.0f}   {back:16,.0f}", flush=True)
    # Per additional run, from the difference of two grids: fixed costs cancel out.
    (few, less), (many, more) = (collection(recto, size) for size in GRID_SIZES)
    collecting = [(b - a) / (many - few) for a, b in zip(less, more)]
    task_ms, *peaks = cluster_cost(job, int(back * count))
    largest_part = [recto, "sweep", "--grid", "/dev/stdin", "--runs", text_of(range(TASK_RUNS))]
    recto_bytes = peak_of_command(largest_part, input=job["grid"].encode())
    return Costs(cpu, cpu_alone, sent, back, task_ms, *collecting, *peaks, recto_bytes,
                 Upload(recto, inputs).bytes_to_send())


def main(recto, *arguments):
    costs = measure(str(Path(recto).resolve()), arguments)
    print("", *costs.lines(), "", "a million such points:", *plan(costs), sep="\n")


if __name__ == "__main__":
    if len(sys.argv) < 2 or "--help" in sys.argv:
        print(__doc__)
    else:
        main(*sys.argv[1:])
