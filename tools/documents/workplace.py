"""A folder like a checkout, in which a document's commands run one after the other."""

import os
import shutil
import subprocess
from dataclasses import dataclass
from pathlib import Path

from machine import KIT, Machine

TIME_LIMIT_S = 1800


@dataclass(frozen=True)
class Done:
    exit_code: int
    out: str
    err: str

    def shown(self) -> str:
        """The end of the output, for a message."""
        lines = (self.out + self.err).strip().splitlines()[-12:]
        return "".join(f"\n      {line[:200]}" for line in lines)


class Workplace:
    def __init__(self, folder: Path, files: list[str], root: Path, program: Path,
                 machine: Machine = Machine()):
        """Copies `files` of the checkout at `root`; `program` is recto."""
        self._folder = folder
        self._files = files
        self._root = root
        for file in files:
            target = folder / file
            target.parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(root / file, target)
        built = folder / "bazel-bin/experiments"
        built.mkdir(parents=True)
        (built / "recto").symlink_to(program)
        if machine.kit:
            (folder / KIT).parent.mkdir(parents=True, exist_ok=True)
            (folder / KIT).symlink_to(machine.kit)
        home = folder / ".home"
        home.mkdir()
        # Nothing from the caller's environment except where programs and traces are.
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
        """Makes it a checkout again. Returns those of its own files that were changed."""
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

    def has(self, path: str) -> bool:
        return (self._folder / path).exists()

    def run(self, statement: str) -> Done:
        try:
            done = subprocess.run(
                ["bash", "-c", statement],
                cwd=self._folder,
                env=self._environment,
                stdin=subprocess.DEVNULL,
                capture_output=True,
                text=True,
                timeout=TIME_LIMIT_S,
            )
        except subprocess.TimeoutExpired:
            return Done(124, "", f"took more than {TIME_LIMIT_S} s")
        return Done(done.returncode, done.stdout, done.stderr)

    def make(self, file: str, how: str) -> str | None:
        """Does `copy PATH` or `run STATEMENT`; returns why it failed, or nothing."""
        verb, _, rest = how.partition(" ")
        target = self._folder / file
        target.parent.mkdir(parents=True, exist_ok=True)
        if verb == "copy":
            if not self.has(rest):
                return f"there is no {rest} to be copied"
            shutil.copy2(self._folder / rest, target)
            return None
        if verb != "run":
            return f"found '{how}'; expected copy PATH or run STATEMENT"
        done = self.run(rest)
        # A run may fail on purpose and still leave the file that is wanted.
        return None if target.exists() else f"{rest} made no {file}{done.shown()}"
