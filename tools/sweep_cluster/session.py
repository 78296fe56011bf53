"""One sweep from beginning to end, over as many connections as it takes."""

import argparse
import json
import os
from dataclasses import dataclass
from pathlib import Path

from .collector import Collector, CollectorEnded
from .connection import ATTEMPT_SECONDS, NoConnection, close, connect, embedded_cluster
from .drive import Drive, Refused, SchedulerLost, say
from .upload import Upload, misplaced_inputs

RUN_FAILED = 1
BAD_INPUT = 2
RESULTS = ("sweep.csv", "manifest.json")
SETTINGS = ("RECTO_GPU_RESULTS",)  # variables by which recto finds its inputs


@dataclass(frozen=True)
class Program:
    recto: str  # its path
    version: str  # what it says of itself


def sweep(options, program, sweep_arguments):
    """Returns the exit code."""
    try:
        collector = Collector(program.recto, sweep_arguments)
        try:
            code = serve(options, program, collector, sweep_arguments)
        except BaseException:
            collector.finish()  # the collector keeps what it has, and says what is missing
            raise
        collected = collector.finish()
        missing = [] if code or collected else missing_results(sweep_arguments)
        if missing:
            say(f"{missing[0]}: was not written by {program.recto}, which ended well")
            return RUN_FAILED
        return code or collected
    except CollectorEnded as ended:
        if ended.exit_code == 0:
            say(f"{program.recto} sweep --collect said nothing; expected the runs that are left")
        return ended.exit_code or BAD_INPUT


def missing_results(sweep_arguments):
    """Files that a sweep leaves and that are not there."""
    parser = argparse.ArgumentParser(allow_abbrev=False, add_help=False)
    parser.add_argument("--out", default=".")
    out = Path(parser.parse_known_args(sweep_arguments)[0].out)
    return [out / name for name in RESULTS if not (out / name).is_file()]


def serve(options, program, collector, sweep_arguments):
    """Hands everything out; returns 0, or the exit code of what ended it."""
    plugin = None
    if options.upload:
        inputs = [file["path"] for file in collector.plan["inputs"]]
        if misplaced := misplaced_inputs(inputs):
            say(f"--upload: found the input {misplaced[0]}; expected paths below the folder that "
                "this is called from")
            return BAD_INPUT
        plugin = Upload(program.recto, inputs)
        say(f"--upload: {plugin.bytes_to_send():,} bytes to each worker, as {plugin.name}")
    job = {"grid": json.dumps(collector.plan["grid"]), "recto": program.recto,
           "version": program.version, "folder": os.getcwd(),
           "upload": plugin.name if plugin else None,
           "settings": {name: os.environ.get(name) for name in SETTINGS}}
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
