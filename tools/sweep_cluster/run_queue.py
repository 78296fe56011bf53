"""The runs that are still to be handed out, and how many of them make a task.

A span is (first, last), both of them included.
"""

import collections

TASK_SECONDS = 2.0  # compared with up to a millisecond of the scheduler: docs/cluster.md
TASK_RUNS_MAX = 1000
TASKS_PER_SLOT = 2  # one running, one waiting at the worker


def count_runs(spans):
    return sum(last - first + 1 for first, last in spans)


def split_off(spans, count):
    """The first `count` runs of spans, and the others."""
    head, rest = [], collections.deque(spans)
    while rest and count > 0:
        first, last = rest.popleft()
        end = min(last, first + count - 1)
        head.append((first, end))
        count -= end - first + 1
        if end < last:
            rest.appendleft((end + 1, last))
    return head, list(rest)


def text_of(spans):
    """In the form that `recto sweep --runs` takes: 0-9,12."""
    return ",".join(str(first) if first == last else f"{first}-{last}" for first, last in spans)


class RunQueue:
    def __init__(self, spans):
        self._spans = collections.deque(tuple(span) for span in spans)
        self._alone = collections.deque()
        self._left = count_runs(self._spans)
        self._seconds = 0.0
        self._timed_runs = 0

    def __len__(self):
        return self._left

    def take(self, slots):
        """Spans for the next task; none if nothing is left."""
        if self._alone:
            run = self._alone.popleft()
            self._left -= 1
            return [(run, run)]
        wanted = self.task_runs(slots)
        head = []
        while self._spans and wanted > 0:
            part, rest = split_off([self._spans.popleft()], wanted)
            self._spans.extendleft(reversed(rest))
            head += part
            wanted -= count_runs(part)
        self._left -= count_runs(head)
        return head

    def task_runs(self, slots):
        """Single runs until their cost is known; smaller tasks near the end, so that all finish
        together."""
        if not self._timed_runs:
            return 1
        mean = max(self._seconds / self._timed_runs, 1e-6)
        fair = max(1, self._left // (TASKS_PER_SLOT * max(slots, 1)))
        return min(max(1, int(TASK_SECONDS / mean)), TASK_RUNS_MAX, fair)

    def learn(self, runs, seconds):
        self._timed_runs += runs
        self._seconds += seconds

    def put_back(self, spans):
        self._spans.extendleft(reversed(spans))
        self._left += count_runs(spans)

    def put_back_alone(self, spans):
        """Makes each of these a task of its own, because one of them kills its process."""
        for first, last in spans:
            self._alone.extend(range(first, last + 1))
        self._left += count_runs(spans)
