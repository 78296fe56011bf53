"""Uploads recto and its inputs, for workers that cannot see the caller's files."""

import hashlib
import os
import tempfile
import zlib
from pathlib import Path, PurePosixPath

from distributed import WorkerPlugin


class Upload(WorkerPlugin):
    """Writes the files into each worker's own folder, also for workers that join later.

    They are in `self.name`, which has a hash of all contents: `recto`, and `folder/` with the
    inputs under the paths that the grid gives.
    """

    def __init__(self, recto, inputs):
        files = {"recto": Path(recto).read_bytes()}
        for path in inputs:
            files[f"folder/{path}"] = Path(path).read_bytes()
        self.files = {path: zlib.compress(data) for path, data in files.items()}
        self.sha256 = hash_of(files)
        self.name = f"recto-{self.sha256}"

    def setup(self, worker):
        home = Path(worker.local_directory) / self.name
        if home.exists():
            return
        files = {path: zlib.decompress(data) for path, data in self.files.items()}
        if hash_of(files) != self.sha256:
            raise OSError(f"{home}: what arrived is not what was sent")
        partial = Path(tempfile.mkdtemp(dir=worker.local_directory))
        (partial / "folder").mkdir()
        for path, data in files.items():
            file = partial / path
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_bytes(data)
        (partial / "recto").chmod(0o755)
        os.rename(partial, home)  # whole or not at all

    def bytes_to_send(self):
        return sum(len(data) for data in self.files.values())


def hash_of(files):
    digest = hashlib.sha256()
    for path, data in sorted(files.items()):
        digest.update(f"{len(path)} {path} {len(data)} ".encode())
        digest.update(data)
    return digest.hexdigest()[:32]


def misplaced_inputs(inputs):
    """Paths that would not be below the folder in which a worker runs recto."""
    paths = [PurePosixPath(path) for path in inputs]
    return [str(path) for path in paths if path.is_absolute() or ".." in path.parts]
