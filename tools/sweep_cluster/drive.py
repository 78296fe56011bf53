"""Submits the runs of a sweep to a Dask cluster and collects the results."""

import collections
import json
import shlex
import sys
import time

import cloudpickle
from distributed import KilledWorker, as_completed

from . import worker
from .run_queue import TASKS_PER_SLOT, RunQueue, text_of

DEATHS_MAX = 3  # processes that a run may kill
SLOTS_EVERY_S = 2.0
cloudpickle.register_pickle_by_value(worker)  # not required on schedulers and workers


class Refused(Exception):
    """A machine cannot run recto, or not on these files: the user must fix it."""


class SchedulerLost(Exception):
    pass


class ByValue:
    """Wraps a function so that it is pickled by value. (Dask pickles functions inside a task by
    name.)"""

    def __init__(self, function):
        self._pickled = cloudpickle.dumps(function)

    def __reduce__(self):
        return cloudpickle.loads, (self._pickled,)

    def __call__(self, *arguments):
        return cloudpickle.loads(self._pickled)(*arguments)


RUN_PART = ByValue(worker.run_part)


def say(text):
    print(f"sweep_cluster: {text}", file=sys.stderr, flush=True)


class Drive:
    """Outlives connections: runs in flight on a lost connection are submitted again."""

    def __init__(self, collector, job, sweep_arguments):
        self._collector = collector
        self._job = job
        self._sweep_arguments = sweep_arguments
        self._queue = RunQueue(collector.plan["left"])
        self._in_flight = {}  # future -> its runs
        self._deaths = collections.Counter()  # by run

    def is_done(self):
        return not len(self._queue) and not self._in_flight

    def run(self, client):
        """Runs until all is done. Raises SchedulerLost if another call can continue."""
        completed = as_completed(loop=client.loop)
        slots = Slots(client)
        try:
            self._fill(client, completed, slots)
            for future in completed:
                self._take(future)
                self._fill(client, completed, slots)
        finally:
            for runs in self._in_flight.values():
                self._queue.put_back(runs)
            self._in_flight.clear()
        if not self.is_done():
            raise SchedulerLost

    def _fill(self, client, completed, slots):
        count = slots.count()
        while len(self._queue) and len(self._in_flight) < TASKS_PER_SLOT * count:
            runs = self._queue.take(count)
            future = client.submit(RUN_PART, self._job, text_of(runs), pure=False)
            self._in_flight[future] = runs
            completed.add(future)

    def _take(self, future):
        runs = self._in_flight.pop(future)
        if future.status == "finished":
            self._take_result(future.result(), runs)
        elif future.status == "error":
            self._take_error(future.exception(), runs)
        else:
            self._queue.put_back(runs)
            raise SchedulerLost

    def _take_result(self, result, runs):
        if result["refused"]:
            raise Refused(f"{result['where']}: {result['refused']}")
        self._collector.hand_in(result["lines"])
        done = max(result["lines"].count(b"\n") - 1, 0)  # the first line describes the part
        self._queue.learn(done, result["seconds"])
        if runs[done:] and not result["died"]:
            raise Refused(f"{result['where']}: recto printed {done} of {len(runs)} runs "
                          "and succeeded; expected all of them")
        if runs[done:]:
            self._queue.put_back(runs[done + 1 :])
            self._count_death(runs[done], f"{result['died']} on {result['where']}")

    def _count_death(self, run, how):
        self._deaths[run] += 1
        if self._deaths[run] < DEATHS_MAX:
            self._queue.put_back_alone([run])
        else:
            self._lose(run, f"recto was ended by {how}, for the {DEATHS_MAX}rd time")

    def _take_error(self, error, runs):
        if not isinstance(error, KilledWorker):
            raise Refused(f"a worker failed: {error!r}")
        if len(runs) > 1:
            self._queue.put_back_alone(runs)
        else:
            self._lose(runs[0], "workers that died while they ran it: "
                       f"{error.allowed_failures + 1}")

    def _lose(self, run, reason):
        command = shlex.join(["recto", "sweep", *self._sweep_arguments, "--runs", str(run)])
        say(f"run {run} is given up: {reason}; it is {command}")
        self._collector.hand_in(json.dumps({"run": run, "error": reason}).encode() + b"\n")


class Slots:
    """The number of tasks that the cluster runs at a time; refreshed regularly, because workers
    join and leave."""

    def __init__(self, client):
        self._client = client
        self._count = 0
        self._asked = float("-inf")
        self._has_waited = False

    def count(self):
        """At least 1, so that there is a task for the first worker."""
        if time.monotonic() - self._asked > SLOTS_EVERY_S:
            try:
                self._count = sum(self._client.nthreads().values())
            except OSError:
                raise SchedulerLost from None
            self._asked = time.monotonic()
        if not self._count and not self._has_waited:
            say("no worker is there yet; waiting for the first")
            self._has_waited = True
        return max(self._count, 1)
