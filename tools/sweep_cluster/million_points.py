"""What a million points take, extrapolated from the cost of a few."""

import re
from dataclasses import dataclass, fields

POINTS = 1_000_000
TASK_RUNS = 100  # of about 16 ms each: a task should last about 2 s
IN_FLIGHT = 1024  # tasks at a time, two for each of 512 threads
WORKERS, THREADS = 16, 32  # that have these threads


@dataclass(frozen=True)
class Costs:
    """The costs that task_cost.py measures; it prints them under these names."""

    cpu_ms_a_run: float  # on the worker, in tasks of TASK_RUNS
    cpu_ms_a_run_alone: float  # in a task of its own: recto's start and its --version are in it
    bytes_out_a_run: float  # through the scheduler, in such tasks
    bytes_back_a_run: float
    cpu_ms_a_task: float  # of Dask: in client, scheduler and worker together
    collector_cpu_ms_a_run: float
    collector_bytes_a_run: float
    journal_bytes_a_run: float
    table_bytes_a_run: float
    scheduler_bytes: float  # peak of the process, with IN_FLIGHT tasks
    worker_bytes: float  # peak of Dask's process
    recto_bytes: float  # peak of one recto, of which each thread of a worker runs one
    upload_bytes: float  # to each worker

    def lines(self):
        values = {field.name: getattr(self, field.name) for field in fields(self)}
        return [f"{name} {value:{'.0f' if value >= 1e5 else '.6g'}}"
                for name, value in values.items()]

    @staticmethod
    def of(text):
        """Parses the lines of a text, which may hold other lines, too."""
        found = dict(re.findall(r"^(\w+) ([\d.]+)$", text, re.MULTILINE))
        return Costs(*(float(found[field.name]) for field in fields(Costs)))


def plan(costs):
    """The lines that docs/cluster.md shows."""
    seconds = costs.cpu_ms_a_run / 1e3 * POINTS
    tasks = POINTS // TASK_RUNS
    starts = (costs.cpu_ms_a_run_alone - costs.cpu_ms_a_run) / 1e3 * POINTS
    megabytes = POINTS / 1e6
    worker_bytes = costs.worker_bytes + THREADS * costs.recto_bytes
    return [
        f"workers    {seconds / 3600:.1f} core hours: {seconds / 3600 / 2:.1f} h on 2 cores, "
        f"{seconds / 512:.0f} s on 512",
        f"tasks      {tasks:,} of {TASK_RUNS} runs: "
        f"{tasks * costs.cpu_ms_a_task / 1e3:.0f} s of Dask; of one run each, "
        f"{POINTS * costs.cpu_ms_a_task / 1e3:,.0f} s, and {starts:,.0f} s of recto's starts",
        f"traffic    {costs.bytes_out_a_run * megabytes:.0f} MB out, "
        f"{costs.bytes_back_a_run * megabytes:.0f} MB back",
        f"collector  {costs.collector_cpu_ms_a_run * POINTS / 1e3:.0f} s of CPU, "
        f"{costs.collector_bytes_a_run * POINTS / 1e9:.1f} GB of memory",
        f"memory     {costs.scheduler_bytes / 1e6:.0f} MB of the scheduler, "
        f"{costs.worker_bytes / 1e6:.0f} MB of a worker and {costs.recto_bytes / 1e6:.0f} MB for "
        f"each of its threads: {worker_bytes / 1e6:,.0f} MB with {THREADS}",
        f"upload     {costs.upload_bytes / 1e6:.1f} MB to each worker, "
        f"{costs.upload_bytes * WORKERS / 1e6:.0f} MB to {WORKERS} with {THREADS} threads",
        f"disk       {costs.journal_bytes_a_run * megabytes:.0f} MB of journal, "
        f"{costs.table_bytes_a_run * megabytes:.0f} MB of sweep.csv",
    ]
