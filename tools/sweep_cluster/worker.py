"""The worker's code: runs a part of a sweep and returns recto's output.

Workers get this module with the task, so they need Dask and nothing else of this repository.
"""

import hashlib
import os
import signal
import socket
import subprocess
import tempfile
import time
import zlib
from pathlib import Path

from distributed import WorkerPlugin, get_worker


def run_part(job, runs):
    """`job`: {"grid": text, "recto": path, "version": its --version, "folder": to run in,
    "upload": its name or None, "settings": variables of the caller's environment}.

    Returns a dict: `lines`, the complete lines that recto printed; `seconds`; `died`, how the
    process ended if it was killed; `refused`, why nothing can run on this machine; `where` it ran.
    """
    started = time.monotonic()
    result = {"lines": b"", "seconds": 0.0, "died": None, "refused": None}
    result["where"] = socket.gethostname()
    recto, folder = job["recto"], job["folder"]
    if job["upload"]:
        root = Path(get_worker().local_directory, job["upload"])
        recto, folder = str(root / "recto"), str(root / "folder")
    called = {"capture_output": True, "cwd": folder, "env": environment(job)}
    try:
        result["refused"] = other_program(recto, job, called)
        if result["refused"]:
            return result
        done = subprocess.run([recto, "sweep", "--grid", "/dev/stdin", "--runs", runs],
                              input=job["grid"].encode(), **called)
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


def other_program(recto, job, called):
    """An error if this is not the recto that began the sweep, else None."""
    done = subprocess.run([recto, "--version"], stdin=subprocess.DEVNULL, **called)
    said = done.stdout.decode(errors="replace").strip()
    if done.returncode == 0 and said == job["version"]:
        return None
    first = (said or done.stderr.decode(errors="replace").strip() or "nothing").splitlines()
    return (f"{recto} --version says {first[0][:200]}, exit code {done.returncode}; "
            f"expected {job['version']}")


def environment(job):
    """Our environment, without what `bazel run` adds about the folder that it was called from, and
    with the caller's settings in place of ours."""
    ours = {name: value for name, value in os.environ.items()
            if name not in ("BUILD_WORKING_DIRECTORY", *job["settings"])}
    return ours | {name: value for name, value in job["settings"].items() if value is not None}


class Upload(WorkerPlugin):
    """Writes recto and its inputs into each worker's own folder, also for workers that join later.

    They are in `self.name`, which has a hash of all contents: `recto`, and `folder/` with the
    inputs under the paths that the grid gives.
    """

    def __init__(self, recto, inputs):
        paths = {"recto": recto} | {f"folder/{path}": path for path in inputs}
        self.files = {to: zlib.compress(Path(path).read_bytes()) for to, path in paths.items()}
        self.name = f"recto-{hashlib.sha256(repr(self.files).encode()).hexdigest()[:32]}"

    def setup(self, worker):
        home = Path(worker.local_directory) / self.name
        if home.exists():
            return
        partial = Path(tempfile.mkdtemp(dir=worker.local_directory))
        (partial / "folder").mkdir()
        for path, data in self.files.items():
            file = partial / path
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_bytes(zlib.decompress(data))
        (partial / "recto").chmod(0o755)
        os.rename(partial, home)  # completely or not at all

    def bytes_to_send(self):
        return sum(len(data) for data in self.files.values())
