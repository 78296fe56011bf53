"""The runs that are still to be submitted, and the size of tasks."""

import collections

TASK_SECONDS = 2.0  # compared with up to a millisecond of the scheduler: docs/cluster.md
TASK_RUNS_MAX = 1000
TASKS_PER_SLOT = 2  # one running, one waiting at the worker


def text_of(runs):
    """In the form that `recto sweep --runs` takes: 0-9,12."""
    spans = []
    for run in runs:
        if spans and run == spans[-1][1] + 1:
            spans[-1][1] = run
        else:
            spans.append([run, run])
    return ",".join(str(a) if a == b else f"{a}-{b}" for a, b in spans)


class RunQueue:
    def __init__(self, spans):
        """A span is (first, last), inclusive."""
        self._runs = collections.deque(run for a, b in spans for run in range(a, b + 1))
        self._alone = collections.deque()
        self._seconds = 0.0
        self._timed_runs = 0

    def __len__(self):
        return len(self._runs) + len(self._alone)

    def take(self, slots):
        """The runs of the next task; none if nothing is left."""
        if self._alone:
            return [self._alone.popleft()]
        count = min(self.task_runs(slots), len(self._runs))
        return [self._runs.popleft() for _ in range(count)]

    def task_runs(self, slots):
        """Single runs until their cost is known; smaller tasks near the end, so that all finish
        together."""
        if not self._timed_runs:
            return 1
        mean = max(self._seconds / self._timed_runs, 1e-6)
        fair = max(1, len(self) // (TASKS_PER_SLOT * max(slots, 1)))
        return min(max(1, int(TASK_SECONDS / mean)), TASK_RUNS_MAX, fair)

    def learn(self, runs, seconds):
        self._timed_runs += runs
        self._seconds += seconds

    def put_back(self, runs):
        self._runs.extendleft(reversed(runs))

    def put_back_alone(self, runs):
        """Makes each of these runs a separate task, because one of them kills its process."""
        self._alone.extend(runs)
