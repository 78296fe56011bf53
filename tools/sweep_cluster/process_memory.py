"""What the processes of a sweep on a cluster hold in memory at most: a scheduler, a worker, and the
recto that a worker's thread runs."""

import subprocess
import sys
import tempfile
from pathlib import Path

from .million_points import IN_FLIGHT, TASK_RUNS
from .run_queue import text_of
from .trial_cluster import Processes

TASKS = 300
# A small process of its own: what is measured of a child begins with the size of its parent.
PEAK = ("import resource, subprocess, sys; subprocess.run(sys.argv[1:], check=True); "
        "print(resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss, file=sys.stderr)")


def peak_of_command(command, **more):
    """Bytes that a command held at most."""
    done = subprocess.run([sys.executable, "-S", "-c", PEAK, *command], stdout=subprocess.PIPE,
                          stderr=subprocess.PIPE, check=False, **more)
    if done.returncode:
        sys.exit(done.stderr.decode())
    return int(done.stderr.split()[-1]) * 1024


def peak_of_recto(job):
    """Of a task of the largest size."""
    runs = text_of([(0, TASK_RUNS - 1)])
    return peak_of_command([job["recto"], "sweep", "--grid", "/dev/stdin", "--runs", runs],
                           input=job["grid"].encode())


def peak_of_process(process):
    status = Path(f"/proc/{process.pid}/status").read_text()
    return int(status.split("VmHWM:")[1].split()[0]) * 1024


def answer(job, runs, size):
    """What a task gives back, of so many bytes, without a run."""
    return {"lines": b"x" * size, "runs": runs, "grid_bytes": len(job["grid"])}


def peaks_of_cluster(job, answer_bytes):
    """Bytes of a scheduler and of a worker with one thread: the worker's while it gives back
    answers of this size one by one, the scheduler's with IN_FLIGHT tasks after these."""
    import cloudpickle
    from distributed import Client, wait

    from .connection import ByValue

    cloudpickle.register_pickle_by_value(sys.modules[__name__])  # workers have none of our modules
    task = ByValue(answer)
    with tempfile.TemporaryDirectory() as folder, Processes(Path(folder)) as processes:
        scheduler, address = processes.scheduler()
        worker = processes.worker(address)
        with Client(address) as client:
            for number in range(TASKS):
                client.submit(task, job, str(number), answer_bytes, pure=False).result()
            of_worker = peak_of_process(worker)
            waiting = [client.submit(task, job, str(number), 0, pure=False)
                       for number in range(IN_FLIGHT)]
            wait(waiting)
            return peak_of_process(scheduler), of_worker
