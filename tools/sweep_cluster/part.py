"""What a worker does: runs a part of a sweep and hands back what recto printed.

Workers get this module with the task, so they need Dask and nothing else of this repository.
"""

import os
import signal
import socket
import subprocess
import time
from pathlib import Path


def run_part(job, runs):
    """`job`: {"grid": text, "recto": path, "version": what it says of itself, "folder": to run in,
    "upload": its name or None, "settings": variables of the caller's environment}.

    Returns a dict: `lines`, the complete lines that recto printed; `seconds`; `died`, how the
    process ended if it was killed; `refused`, why nothing can run on this machine; `where` it ran.
    """
    started = time.monotonic()
    result = {"lines": b"", "seconds": 0.0, "died": None, "refused": None}
    result["where"] = socket.gethostname()
    try:
        recto, folder = places(job)
        result["refused"] = other_program(recto, job, folder)
        if result["refused"]:
            return result
        done = subprocess.run(
            [recto, "sweep", "--grid", "/dev/stdin", "--runs", runs],
            input=job["grid"].encode(), capture_output=True, cwd=folder, env=environment(job))
    except OSError as error:
        result["refused"] = f"{error.filename}: {error.strerror}"
        return result
    result["lines"] = done.stdout[: done.stdout.rfind(b"\n") + 1]
    result["seconds"] = time.monotonic() - started
    if done.returncode < 0:
        result["died"] = signal.Signals(-done.returncode).name
    elif done.returncode > 0:
        errors = done.stderr.decode(errors="replace").strip().splitlines()
        result["refused"] = errors[-1] if errors else f"exit code {done.returncode}"
    return result


def other_program(recto, job, folder):
    """What is wrong if this is not the recto that the sweep was begun with, or None."""
    done = subprocess.run([recto, "--version"], stdin=subprocess.DEVNULL, capture_output=True,
                          cwd=folder, env=environment(job))
    said = done.stdout.decode(errors="replace").strip()
    if done.returncode == 0 and said == job["version"]:
        return None
    first = (said or done.stderr.decode(errors="replace").strip() or "nothing").splitlines()
    return (f"{recto} --version says {first[0][:200]}, exit code {done.returncode}; "
            f"expected {job['version']}")


def places(job):
    if job["upload"] is None:
        return job["recto"], job["folder"]
    from distributed import get_worker

    root = Path(get_worker().local_directory) / job["upload"]
    return str(root / "recto"), str(root / "folder")


def environment(job):
    """Our environment, without what `bazel run` adds about the folder that it was called from, and
    with the caller's settings in place of ours."""
    ours = {name: value for name, value in os.environ.items()
            if name not in ("BUILD_WORKING_DIRECTORY", *job["settings"])}
    return ours | {name: value for name, value in job["settings"].items() if value is not None}
