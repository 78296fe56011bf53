"""The cluster: one inside this process, or an existing scheduler."""

import logging
import os
import queue
import socket
import threading
import time

import cloudpickle
import dask
from distributed import Client, LocalCluster
from distributed.comm.addressing import get_address_host_port

from . import part, upload

DEATHS_MAX = 3  # processes that a run may kill
ATTEMPT_SECONDS = 30
UNCOLLECTED = []

for module in (part, upload):  # not required on schedulers and workers
    cloudpickle.register_pickle_by_value(module)
# Connections come and go; this script reports what matters.
logging.getLogger("distributed").setLevel(logging.CRITICAL)


class NoConnection(Exception):
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


def core_count():
    return len(os.sched_getaffinity(0))


def embedded_cluster():
    """One worker in this process: its threads only wait for recto, a process per run."""
    dask.config.set({"distributed.scheduler.allowed-failures": DEATHS_MAX - 1})
    return LocalCluster(n_workers=1, threads_per_worker=core_count(), processes=False,
                        dashboard_address=None)


def client_within(seconds, address):
    """TimeoutError if it takes longer: by itself it waits for ever if nobody answers."""
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
            UNCOLLECTED.append(error)
            if time.monotonic() >= end or isinstance(error, ValueError):
                raise NoConnection(f"{address}: cannot be reached: {error}") from None
            time.sleep(0.5)
        except Exception as error:  # an answer in another protocol is misread as lengths and codes
            UNCOLLECTED.append(error)
            raise NoConnection(f"{address}: what answers there is no Dask scheduler") from None


def close(client):
    try:
        client.close(timeout=2)
    except Exception:  # a lost connection need not be closed cleanly
        pass
