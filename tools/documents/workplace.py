"""A folder like a checkout, in which a document's commands run one after the other."""

import os
import shutil
import subprocess
from dataclasses import dataclass
from pathlib import Path

from shell_words import calls_of

TIME_LIMIT_S = 1800
KIT = "verify/library/cuda_source/cuda_kit"  # where recto looks for it, below its current folder


@dataclass(frozen=True)
class Machine:
    """Programs and packages, some of which a machine may lack."""

    recto: Path  # the program
    kit: Path | None = None  # the folder that //verify/library/cuda_source:cuda_kit makes
    python: Path | None = None  # an interpreter with the packages of bazel/python

    def lacks(self, statement: str) -> str | None:
        """A dependency of the statement that is missing here; empty if it can run."""
        for words in calls_of(statement):
            if words[0] == "recto" and self.kit is None and {"--cuda", "--adapter"} & {*words}:
                return "there is no kit for CUDA sources here"
            needs_packages = words[:2] in (["recto", "plot"], ["./bazelw", "python"])
            if needs_packages and self.python is None:
                return "there is no Python with packages here"
        return None


def end_of(done: subprocess.CompletedProcess) -> str:
    """The last lines of its output, for a message."""
    lines = (done.stdout + done.stderr).strip().splitlines()[-12:]
    return "".join(f"\n      {line[:200]}" for line in lines)


class Workplace:
    def __init__(self, folder: Path, files: list[str], root: Path, machine: Machine):
        """Copies `files` of the checkout at `root`."""
        self._folder = folder
        self._files = files
        self._root = root
        for file in files:
            target = folder / file
            target.parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(root / file, target)
        built = folder / "bazel-bin/experiments"
        built.mkdir(parents=True)
        (built / "recto").symlink_to(machine.recto)
        if machine.kit:
            (folder / KIT).parent.mkdir(parents=True, exist_ok=True)
            (folder / KIT).symlink_to(machine.kit)
        home = folder / ".home"
        home.mkdir()
        # Nothing from the caller's environment except the paths of programs and traces.
        self._environment = {
            "PATH": f"{built}:{os.environ['PATH']}",
            "HOME": str(home),
            "LANG": "C.UTF-8",
            "NO_COLOR": "1",
            "MANPAGER": "cat",
            "MPLBACKEND": "agg",
        }
        if machine.python:
            self._environment["RECTO_PYTHON"] = str(machine.python)

    def restore(self) -> list[str]:
        """Restores the checkout. Returns the checkout's files that were changed."""
        known = {self._folder / file for file in self._files}
        for folder, _, names in os.walk(self._folder):
            for path in (Path(folder, name) for name in names):
                if path not in known and not path.is_symlink():
                    path.unlink()
        changed = [file for file in self._files if self._is_changed(file)]
        for file in changed:
            shutil.copy2(self._root / file, self._folder / file)
        return changed

    def _is_changed(self, file: str) -> bool:
        mine, its = self._folder / file, self._root / file
        if not mine.exists():
            return True
        if mine.stat().st_mtime_ns == its.stat().st_mtime_ns:
            return False
        return mine.read_bytes() != its.read_bytes()

    def run(self, statement: str) -> subprocess.CompletedProcess:
        command = ["bash", "-c", statement]
        try:
            return subprocess.run(command, cwd=self._folder, env=self._environment,
                                  stdin=subprocess.DEVNULL, capture_output=True, text=True,
                                  timeout=TIME_LIMIT_S)
        except subprocess.TimeoutExpired:
            message = f"took more than {TIME_LIMIT_S} s"
            return subprocess.CompletedProcess(command, 124, "", message)

    def make(self, file: str, how: str) -> str | None:
        """Does `copy PATH` or `run STATEMENT`; returns why it failed, or nothing."""
        verb, _, rest = how.partition(" ")
        target = self._folder / file
        target.parent.mkdir(parents=True, exist_ok=True)
        if verb == "copy":
            if not (self._folder / rest).exists():
                return f"there is no {rest} to be copied"
            shutil.copy2(self._folder / rest, target)
            return None
        if verb != "run":
            return f"found '{how}'; expected copy PATH or run STATEMENT"
        done = self.run(rest)
        # A run may fail on purpose and still write the required file.
        return None if target.exists() else f"{rest} made no {file}{end_of(done)}"
