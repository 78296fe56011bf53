#!/usr/bin/env python3
"""What a sweep costs on a cluster, per run and per task: the figures of docs/cluster.md.

    ./bazelw python tools/sweep_cluster/task_cost.py RECTO SWEEP_ARGUMENTS...

CPU time and sizes, which a busy machine does not change as it does the clock.
"""

import json
import pickle
import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

import cloudpickle  # noqa: E402
from distributed import Client, LocalCluster, wait  # noqa: E402
from sweep_cluster import connection, part  # noqa: E402, F401
from sweep_cluster.run_queue import text_of  # noqa: E402

TASKS = 300
PART_RUNS = (1, 10, 100)


def children():
    usage = resource.getrusage(resource.RUSAGE_CHILDREN)
    return usage.ru_utime + usage.ru_stime


def plan_of(recto, arguments, out):
    """What the collector would say, without anything done; all is left."""
    done = subprocess.run([recto, "sweep", *arguments, "--out", out, "--collect"],
                          stdin=subprocess.DEVNULL, capture_output=True, check=False)
    if not done.stdout:
        sys.exit(done.stderr.decode())
    return json.loads(done.stdout)


def part_costs(job, run_count):
    print("runs a task   CPU ms a run   bytes out a run   bytes back a run")
    for runs in PART_RUNS:
        if runs > run_count:
            break
        text = text_of([(0, runs - 1)])
        before = children()
        result = part.run_part(job, text)
        if result["refused"] or result["died"]:
            sys.exit(f"recto: {result['refused'] or result['died']}")
        cpu = children() - before
        sent = len(cloudpickle.dumps((part.run_part, job, text)))
        back = len(pickle.dumps(result))
        print(f"{runs:11}   {1e3 * cpu / runs:12.2f}   {sent / runs:15,.0f}   "
              f"{back / runs:16,.0f}", flush=True)


def task_cost(job):
    """CPU seconds of client, scheduler and worker together for a task that does nothing."""
    with LocalCluster(n_workers=1, threads_per_worker=1, processes=False, protocol="tcp://",
                      dashboard_address=None) as cluster, Client(cluster) as client:
        job = dict(job, recto="/bin/true", folder="/")
        wait(client.submit(len, [], pure=False))
        before = time.process_time()
        wait([client.submit(nothing, job, str(i), pure=False) for i in range(TASKS)])
        return (time.process_time() - before) / TASKS


def nothing(job, runs):
    return {"lines": b"", "runs": runs, "grid_bytes": len(job["grid"])}


def collect_cost(recto, arguments, job, run_count):
    """CPU seconds and bytes of memory of a collector that gets all of `run_count` runs."""
    lines = part.run_part(job, text_of([(0, run_count - 1)]))["lines"]
    with tempfile.TemporaryDirectory() as out:
        before = children()
        done = subprocess.run(
            ["/usr/bin/env", "python3", "-c", PEAK, recto, "sweep", *arguments, "--out", out,
             "--collect"], input=lines, stdout=subprocess.PIPE, stderr=subprocess.PIPE, check=False)
        peak = int(done.stderr.split()[-1]) * 1024
        return children() - before, peak


PEAK = ("import resource, subprocess, sys; subprocess.run(sys.argv[1:]); "
        "print(resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss, file=sys.stderr)")


def main(recto, *arguments):
    recto = str(Path(recto).resolve())
    with tempfile.TemporaryDirectory() as out:
        plan = plan_of(recto, arguments, out)
    job = {"grid": json.dumps(plan["grid"]), "recto": recto, "folder": ".", "upload": None}
    part_costs(job, plan["runs"])
    print(f"a task: {1e3 * task_cost(job):.2f} ms of CPU in client, scheduler and worker")
    cpu, peak = collect_cost(recto, arguments, job, plan["runs"])
    print(f"collecting {plan['runs']} runs: {1e3 * cpu / plan['runs']:.2f} ms of CPU a run, "
          f"{peak:,} bytes at most")


if __name__ == "__main__":
    main(*sys.argv[1:])
