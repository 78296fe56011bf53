"""What a million points take, extrapolated from the cost of a few."""

import re
from dataclasses import dataclass, fields

POINTS = 1_000_000
TASK_RUNS = 100  # of about 16 ms each: a task should last about 2 s


@dataclass(frozen=True)
class Costs:
    """The costs that task_cost.py measures; it prints them under these names."""

    cpu_ms_a_run: float  # on the worker, in tasks of TASK_RUNS
    bytes_out_a_run: float  # through the scheduler, in such tasks
    bytes_back_a_run: float
    cpu_ms_a_task: float  # in client, scheduler and worker together
    collector_cpu_ms_a_run: float
    collector_bytes_a_run: float
    journal_bytes_a_run: float
    table_bytes_a_run: float

    def lines(self):
        return [f"{field.name} {getattr(self, field.name):.6g}" for field in fields(self)]

    @staticmethod
    def of(text):
        """Parses the lines of a text, which may hold other lines, too."""
        found = dict(re.findall(r"^(\w+) ([\d.]+)$", text, re.MULTILINE))
        return Costs(*(float(found[field.name]) for field in fields(Costs)))


def plan(costs):
    """The lines that docs/cluster.md shows."""
    seconds = costs.cpu_ms_a_run / 1e3 * POINTS
    tasks = POINTS // TASK_RUNS
    megabytes = POINTS / 1e6
    return [
        f"workers    {seconds / 3600:.1f} core hours: {seconds / 3600 / 2:.1f} h on 2 cores, "
        f"{seconds / 512:.0f} s on 512",
        f"tasks      {tasks:,} of {TASK_RUNS} runs: "
        f"{tasks * costs.cpu_ms_a_task / 1e3:.0f} s of CPU; "
        f"of one run each, {POINTS * costs.cpu_ms_a_task / 1e3:,.0f} s",
        f"traffic    {costs.bytes_out_a_run * megabytes:.0f} MB out, "
        f"{costs.bytes_back_a_run * megabytes:.0f} MB back",
        f"collector  {costs.collector_cpu_ms_a_run * POINTS / 1e3:.0f} s of CPU, "
        f"{costs.collector_bytes_a_run * POINTS / 1e9:.1f} GB of memory",
        f"disk       {costs.journal_bytes_a_run * megabytes:.0f} MB of journal, "
        f"{costs.table_bytes_a_run * megabytes:.0f} MB of sweep.csv",
    ]
