"""Support for tests: a scheduler and workers as processes, and a recto that can be observed and
paused.

Waits have long deadlines, which only serve to end a test that hangs.
"""

import contextlib
import fcntl
import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

TOOL = Path(__file__).resolve().parent.parent / "sweep_cluster.py"
DEADLINE_S = 240

# Logs the requested parts. Once the log has HOLD_AT lines, the next call is held, and names its
# caller in a file. From the run END on it kills itself or its parent.
WATCHED_RECTO = """#!/bin/sh
runs=$(echo "$*" | sed -n 's/.*--runs //p')
if [ -n "$runs" ]; then
  echo "$PPID $runs" >> '{folder}/log'
  pwd >> '{folder}/places'
  if [ $(wc -l < '{folder}/log') -ge {hold_at} ] && mkdir '{folder}/held' 2> /dev/null; then
    echo "$PPID $runs" > '{folder}/held/new' && mv '{folder}/held/new' '{folder}/held/by'
    while [ ! -e '{folder}/go' ]; do sleep 0.05; done
  fi
  first=${{runs%%-*}}
  if [ {end} -ge 0 ] && [ $first -le {end} ] && [ ${{runs##*-}} -ge {end} ]; then
    [ $first -eq {end} ] || '{recto}' sweep --grid /dev/stdin --runs $first-$(({end} - 1))
    kill -9 {ended}
    exit 9
  fi
fi
exec '{recto}' "$@"
"""
NEVER = 1_000_000


class WatchedRecto:
    def __init__(self, recto, folder, hold_at=NEVER, end=-1, ended="$$"):
        self.folder = Path(folder)
        self.path = self.folder / "recto"
        self.path.write_text(WATCHED_RECTO.format(
            folder=folder, recto=recto, hold_at=hold_at, end=end, ended=ended))
        self.path.chmod(0o755)

    def runs(self, parent=None):
        """Numbers of the runs of all calls, or of those made by one process."""
        log = self.folder / "log"
        calls = [line.split() for line in log.read_text().splitlines()] if log.exists() else []
        return [run for caller, text in calls if parent in (None, int(caller))
                for run in numbers(text)]

    def wait_until_held(self, tool):
        """The process that made the held call, and the call's runs."""
        def is_held():
            if tool.poll() is not None:
                raise AssertionError(f"the tool ended: {tool.communicate()}")
            return (self.folder / "held" / "by").exists()
        wait_for(is_held)
        parent, runs = (self.folder / "held" / "by").read_text().split()
        return int(parent), numbers(runs)

    def let_go(self):
        (self.folder / "go").touch()


def numbers(text):
    """The numbers of 0-9,12 in full."""
    bounds = [span.split("-") for span in text.split(",")]
    return [run for span in bounds for run in range(int(span[0]), int(span[-1]) + 1)]


def wait_for(is_true):
    end = time.monotonic() + DEADLINE_S
    while not is_true():
        if time.monotonic() > end:
            raise TimeoutError("it did not happen")
        time.sleep(0.05)


def journalled_runs(out):
    """Numbers of the runs that are on disk."""
    journal = Path(out) / "sweep.journal.jsonl"
    lines = journal.read_bytes().split(b"\n")[1:-1] if journal.exists() else []
    return [json.loads(line)["run"] for line in lines]


def wait_until_free(out):
    """Waits until no process has the journal of `out` open."""
    def can_lock():
        with open(Path(out) / "sweep.journal.jsonl", "rb") as journal:
            with contextlib.suppress(BlockingIOError):
                fcntl.flock(journal, fcntl.LOCK_EX | fcntl.LOCK_NB)
                return True
        return False
    wait_for(can_lock)


def wait_until_gone(leader):
    """Waits until no process is left of the group that `leader` began: workers that it started,
    which end after it, may still be about to call recto."""
    def is_gone():
        try:
            os.killpg(leader.pid, 0)
        except ProcessLookupError:
            return True
        return False
    wait_for(is_gone)


class Processes(contextlib.ExitStack):
    """Schedulers and workers, which end with the test."""

    def __init__(self, folder):
        super().__init__()
        self._folder = folder

    def start(self, *command, **more):
        process = subprocess.Popen([str(part) for part in command], cwd=self._folder,
                                   stderr=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
                                   env=os.environ | more)
        self.callback(end, process)
        return process

    def scheduler(self, port=0, **settings):
        """Its process and address."""
        file = self._folder / f"scheduler-{time.monotonic_ns()}.json"
        process = self.start(
            sys.executable, "-m", "distributed.cli.dask_scheduler", "--host", "127.0.0.1",
            "--port", port, "--no-dashboard", "--scheduler-file", file, **settings)
        wait_for(lambda: file.exists() and '"address"' in file.read_text())
        return process, file.read_text().split('"address": "')[1].split('"')[0]

    def worker(self, address):
        return self.start(
            sys.executable, "-m", "distributed.cli.dask_worker", address, "--nthreads", 1,
            "--no-nanny", "--no-dashboard", "--local-directory", self._folder)


def end(process):
    process.send_signal(signal.SIGKILL)
    process.wait()
