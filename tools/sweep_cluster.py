#!/usr/bin/env python3
"""Runs a sweep on the machines of a Dask cluster, with the files of `recto sweep` as result.

    tools/sweep_cluster.py --scheduler tcp://head:8786 --out results --grid grid.json

docs/cluster.md says how; tools/sweep_cluster/ holds the parts.
"""

import argparse
import importlib.util
import os
import shutil
import sys
import traceback
from pathlib import Path

from sweep_cluster.collector import version_of

BAD_INPUT = 2
INTERRUPTED = 130
BUILT = Path(__file__).resolve().parents[1] / "bazel-bin" / "experiments" / "recto"
PACKAGES = ("dask", "distributed")
# Flags of `recto sweep` that mean nothing here, and why.
ONE_MACHINE = {
    "--threads": "a worker has as many as it was started with (dask worker --nthreads), the "
                 "cluster in this process one for each core",
    "--runs": "the whole grid is run; recto sweep --runs prints single runs",
    "--collect": "the tool does this itself",
}
EPILOG = """
All other flags are those of `recto sweep`, which see: the grid, --out, --seeds, --fresh, --report;
not --threads (a worker has as many as it was started with), --runs and --collect. sweep.csv and
manifest.json have the bytes of `recto sweep`; the journal has its lines in the order in which runs
ended. Called again as before, a sweep goes on where it stopped.
Exit codes: 0 done, 1 the run failed, 2 bad usage or bad input.

  tools/sweep_cluster.py --out results --grid grid.json
  tools/sweep_cluster.py --scheduler tcp://head:8786 --out results --block-size 8,16,32
"""


def parse(arguments):
    parser = argparse.ArgumentParser(
        prog="sweep_cluster.py", allow_abbrev=False, epilog=EPILOG,
        description="runs a sweep on the machines of a Dask cluster",
        formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--scheduler", metavar="ADDRESS",
                        help="of a Dask scheduler, such as tcp://head:8786 [one in this process]")
    parser.add_argument("--recto", metavar="FILE",
                        help="the program, here and on each worker [bazel-bin's, or of the PATH]")
    parser.add_argument("--upload", action="store_true",
                        help="send the program and its inputs: workers do not see these files")
    parser.add_argument("--patience-s", type=float, default=300, metavar="S",
                        help="how long to try again when the scheduler is lost [300]; at first 30")
    return parser.parse_known_args(arguments)


def find_recto(named):
    """An absolute path, or None."""
    if named:
        return os.path.abspath(named) if os.access(named, os.X_OK) else None
    return str(BUILT) if os.access(BUILT, os.X_OK) else shutil.which("recto")


def main(arguments):
    options, sweep_arguments = parse(arguments)
    missing = [name for name in PACKAGES if importlib.util.find_spec(name) is None]
    if missing:
        return refuse(f"{sys.executable} has no package {' and no '.join(missing)}; expected "
                      "./bazelw python tools/sweep_cluster.py ..., which has them, or a Python "
                      "after pip install dask distributed")
    recto = find_recto(options.recto)
    if recto is None:
        return refuse(f"--recto: found {options.recto or 'no recto'}; expected the program, as "
                      "./bazelw build -c opt //experiments:recto makes it")
    version, wrong = version_of(recto)
    if wrong:
        return refuse(f"--recto: {recto}: {wrong}; expected recto and its version")
    if not options.patience_s >= 0:
        return refuse(f"--patience-s: found {options.patience_s}; expected seconds, at least 0")
    for name in (argument.split("=")[0] for argument in sweep_arguments):
        if name in ONE_MACHINE:
            return refuse(f"found {name}; expected no such flag: {ONE_MACHINE[name]}")
    from sweep_cluster.session import Session  # needs the packages

    try:
        return Session(options, recto, version, sweep_arguments).run()
    except KeyboardInterrupt:
        refuse("interrupted; call again as before to go on")
        return INTERRUPTED


def refuse(message):
    print(f"sweep_cluster: {message}", file=sys.stderr)
    return BAD_INPUT


if __name__ == "__main__":
    code = 1
    try:
        code = main(sys.argv[1:])
    except SystemExit as done:  # --help, or bad flags of this script
        code = done.code
    except BaseException:
        traceback.print_exc()
    sys.stdout.flush()
    sys.stderr.flush()
    os._exit(code)  # Dask's own shutdown may wait for a scheduler that is gone
