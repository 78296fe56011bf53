"""The command line of tools/sweep_cluster.py."""

import argparse
import importlib.util
import os
import shutil
import subprocess
import sys
from pathlib import Path

BAD_INPUT = 2
INTERRUPTED = 130
BUILT = Path(__file__).resolve().parents[2] / "bazel-bin" / "experiments" / "recto"
PACKAGES = ("dask", "distributed")
VERSION_SECONDS = 60  # a program that does not answer by then is no recto
# Flags of `recto sweep` that mean nothing here, and why.
ONE_MACHINE = {
    "--threads": "a worker has as many as it was started with (dask worker --nthreads), the "
                 "cluster in this process one for each core",
    "--runs": "the whole grid is run; recto sweep --runs prints single runs",
    "--collect": "this is what the tool does itself",
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


def version_of(recto):
    """What it says of itself, and None; or None, and what is wrong with it."""
    try:
        done = subprocess.run([recto, "--version"], stdin=subprocess.DEVNULL, capture_output=True,
                              text=True, errors="replace", timeout=VERSION_SECONDS)
    except subprocess.TimeoutExpired:
        return None, f"--version did not end within {VERSION_SECONDS} s"
    except OSError as error:
        return None, error.strerror
    said = done.stdout.strip()
    if done.returncode == 0 and said.startswith("recto "):
        return said, None
    first = (said or done.stderr.strip() or "nothing").splitlines()[0]
    return None, f"--version says {first[:200]}, exit code {done.returncode}"


def unfit_flag(sweep_arguments):
    """The first flag that only a sweep on one machine takes, or None."""
    names = (argument.split("=")[0] for argument in sweep_arguments)
    return next((name for name in names if name in ONE_MACHINE), None)


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
    if unfit := unfit_flag(sweep_arguments):
        return refuse(f"found {unfit}; expected no such flag: {ONE_MACHINE[unfit]}")
    from .session import Program, sweep  # needs the packages

    try:
        return sweep(options, Program(recto, version), sweep_arguments)
    except KeyboardInterrupt:
        refuse("interrupted; call again as before to go on")
        return INTERRUPTED


def refuse(message):
    print(f"sweep_cluster: {message}", file=sys.stderr)
    return BAD_INPUT
