"""One sweep from beginning to end, over as many connections as it takes."""

import json
import os

from .collector import Collector, CollectorEnded
from .connection import ATTEMPT_SECONDS, NoConnection, close, connect, embedded_cluster
from .drive import Drive, Refused, SchedulerLost, say
from .upload import Upload, misplaced_inputs

RUN_FAILED = 1
BAD_INPUT = 2


def sweep(options, recto, sweep_arguments):
    """Returns the exit code."""
    try:
        collector = Collector(recto, sweep_arguments)
        try:
            code = serve(options, recto, collector, sweep_arguments)
        except BaseException:
            collector.finish()  # the collector keeps what it has, and says what is missing
            raise
        collected = collector.finish()
        return code or collected
    except CollectorEnded as ended:
        return ended.exit_code


def serve(options, recto, collector, sweep_arguments):
    """Hands everything out; returns 0, or the exit code of what ended it."""
    plugin = None
    if options.upload:
        inputs = [file["path"] for file in collector.plan["inputs"]]
        if misplaced := misplaced_inputs(inputs):
            say(f"--upload: found the input {misplaced[0]}; expected paths below the folder that "
                "this is called from")
            return BAD_INPUT
        plugin = Upload(recto, inputs)
        say(f"--upload: {plugin.bytes_to_send():,} bytes to each worker, as {plugin.name}")
    job = {"grid": json.dumps(collector.plan["grid"]), "recto": recto, "folder": os.getcwd(),
           "upload": plugin.name if plugin else None}
    drive = Drive(collector, job, sweep_arguments)
    if drive.is_done():
        return 0
    try:
        return drive_all(options, drive, plugin)
    except Refused as refusal:
        say(f"cannot run there: {refusal}")
        return BAD_INPUT


def drive_all(options, drive, plugin):
    if options.scheduler is None:
        with embedded_cluster() as cluster:
            try:
                client = connect(cluster, options.patience_s)  # enough on a very busy machine
            except NoConnection as error:
                say(f"the cluster in this process: {error}")
                return RUN_FAILED
            return drive_on(client, drive, plugin)
    is_first = True
    while not drive.is_done():
        try:
            at_first_s = min(options.patience_s, ATTEMPT_SECONDS)
            client = connect(options.scheduler, at_first_s if is_first else options.patience_s)
        except NoConnection as error:
            say(f"{'--scheduler: ' if is_first else ''}{error}")
            return BAD_INPUT if is_first else RUN_FAILED
        try:
            return drive_on(client, drive, plugin)
        except SchedulerLost:
            say(f"{options.scheduler}: the scheduler is lost; trying again for "
                f"{options.patience_s:g} s, nothing that was finished is done again")
        is_first = False
    return 0


def drive_on(client, drive, plugin):
    try:
        if plugin:
            client.register_plugin(plugin)
        drive.run(client)
    finally:
        close(client)
    return 0
