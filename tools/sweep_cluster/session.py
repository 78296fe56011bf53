"""One sweep from beginning to end, over as many connections to a cluster as it needs."""

import argparse
import json
import logging
import os
import queue
import socket
import threading
import time
from pathlib import Path

import dask
from distributed import Client, LocalCluster
from distributed.comm.addressing import get_address_host_port

from .collector import Collector, CollectorEnded
from .drive import DEATHS_MAX, Drive, Refused, SchedulerLost, say
from .worker import Upload

RUN_FAILED = 1
BAD_INPUT = 2
RESULTS = ("sweep.csv", "manifest.json")
SETTINGS = ("RECTO_GPU_RESULTS",)  # variables by which recto finds its inputs
ATTEMPT_SECONDS = 30
_UNCOLLECTED = []
# Connections come and go; this script reports what matters.
logging.getLogger("distributed").setLevel(logging.CRITICAL)


class NoConnection(Exception):
    pass


class Session:
    def __init__(self, options, recto, version, sweep_arguments):
        self._options = options
        self._sweep_arguments = sweep_arguments
        self._job = {"recto": recto, "version": version, "folder": os.getcwd(), "upload": None,
                     "settings": {name: os.environ.get(name) for name in SETTINGS}}
        self._upload = None

    def run(self):
        """Returns the exit code."""
        recto = self._job["recto"]
        try:
            collector = Collector(recto, self._sweep_arguments)
            try:
                code = self._serve(collector)
            except BaseException:
                collector.finish()  # the collector keeps its results, and reports what is missing
                raise
            code = code or collector.finish()
        except CollectorEnded as ended:
            if ended.exit_code == 0:
                say(f"{recto} sweep --collect printed nothing; expected the runs that are left")
            return ended.exit_code or BAD_INPUT
        missing = [] if code else missing_results(self._sweep_arguments)
        if missing:
            say(f"{missing[0]}: was not written by {recto}, which succeeded")
        return code or (RUN_FAILED if missing else 0)

    def _serve(self, collector):
        """Submits all runs; returns 0, or the exit code of the error that ended it."""
        self._job["grid"] = json.dumps(collector.plan["grid"])
        if self._options.upload:
            inputs = [file["path"] for file in collector.plan["inputs"]]
            for path in map(Path, inputs):
                if path.is_absolute() or ".." in path.parts:
                    say(f"--upload: found the input {path}; expected paths below the folder that "
                        "this is called from")
                    return BAD_INPUT
            self._upload = Upload(self._job["recto"], inputs)
            self._job["upload"] = self._upload.name
            say(f"--upload: {self._upload.bytes_to_send():,} bytes to each worker, as "
                f"{self._upload.name}")
        drive = Drive(collector, self._job, self._sweep_arguments)
        try:
            return 0 if drive.is_done() else self._drive_all(drive)
        except Refused as refusal:
            say(f"cannot run there: {refusal}")
            return BAD_INPUT

    def _drive_all(self, drive):
        address, patience_s = self._options.scheduler, self._options.patience_s
        if address is None:
            with embedded_cluster() as cluster:
                try:
                    self._drive_on(connect(cluster, patience_s), drive)  # a busy machine is slow
                except NoConnection as error:
                    say(f"the cluster in this process: {error}")
                    return RUN_FAILED
            return 0
        is_first = True
        while not drive.is_done():
            try:
                at_first_s = min(patience_s, ATTEMPT_SECONDS)
                self._drive_on(connect(address, at_first_s if is_first else patience_s), drive)
            except NoConnection as error:
                say(f"{'--scheduler: ' if is_first else ''}{error}")
                return BAD_INPUT if is_first else RUN_FAILED
            except SchedulerLost:
                say(f"{address}: the scheduler is lost; trying again for {patience_s:g} s, no "
                    "finished run is repeated")
            is_first = False
        return 0

    def _drive_on(self, client, drive):
        try:
            if self._upload:
                client.register_plugin(self._upload)
            drive.run(client)
        finally:
            try:
                client.close(timeout=2)
            except Exception:  # a lost connection need not be closed cleanly
                pass


def missing_results(sweep_arguments):
    """Missing files among those that a sweep writes."""
    parser = argparse.ArgumentParser(allow_abbrev=False, add_help=False)
    parser.add_argument("--out", default=".")
    out = Path(parser.parse_known_args(sweep_arguments)[0].out)
    return [out / name for name in RESULTS if not (out / name).is_file()]


def embedded_cluster():
    """One worker in this process: its threads only wait for recto, a process per run."""
    dask.config.set({"distributed.scheduler.allowed-failures": DEATHS_MAX - 1})
    return LocalCluster(n_workers=1, threads_per_worker=len(os.sched_getaffinity(0)),
                        processes=False, dashboard_address=None)


def client_within(seconds, address):
    """TimeoutError if it takes longer: without this it waits for ever if nothing answers."""
    outcome = queue.SimpleQueue()

    def make():
        try:
            outcome.put((Client(address, timeout=seconds, set_as_default=False), None))
        except BaseException as error:
            outcome.put((None, error))

    threading.Thread(target=make, daemon=True).start()
    try:
        client, error = outcome.get(timeout=seconds + 5)
    except queue.Empty:
        raise TimeoutError(f"no answer within {seconds} s") from None
    if error is not None:
        raise error
    return client


def connect(address, patience_s):
    """A client of the scheduler at `address` or of a cluster, retried until the timeout."""
    end = time.monotonic() + patience_s
    while True:
        try:
            if isinstance(address, str):
                host_and_port = get_address_host_port(address, strict=True)
                socket.create_connection(host_and_port, ATTEMPT_SECONDS).close()
            return client_within(ATTEMPT_SECONDS, address)
        except (OSError, ValueError) as error:  # timeouts are OSErrors
            # A client that never connected waits for ever when it is garbage-collected.
            _UNCOLLECTED.append(error)
            if time.monotonic() >= end or isinstance(error, ValueError):
                raise NoConnection(f"{address}: cannot be reached: {error}") from None
            time.sleep(0.5)
        except Exception as error:  # an answer in another protocol is misread as lengths and codes
            _UNCOLLECTED.append(error)
            raise NoConnection(f"{address}: the program there is not a Dask scheduler") from None
