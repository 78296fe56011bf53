"""Where the programs are: in the package, or where RECTO_PROGRAMS says."""

from __future__ import annotations

import os
import sys
from pathlib import Path

#: Names the folder of the programs, for packages without them (a checkout: bazel-bin/experiments).
VARIABLE = "RECTO_PROGRAMS"


def program(name: str) -> str:
    """The path of the program `name`: "recto", "recto_kernels".

    FileNotFoundError says where it was looked for.
    """
    folders = [Path(__file__).resolve().parent / "_bin"]
    given = os.environ.get(VARIABLE)
    if given:
        folders.insert(0, Path(given))
    for folder in folders:
        path = folder / name
        if path.is_file() and os.access(path, os.X_OK):
            return str(path)
    looked = " and ".join(str(folder) for folder in folders)
    raise FileNotFoundError(
        f"{name}: expected an executable file in {looked}; install the wheel of recto-attention, "
        f"or set {VARIABLE} to the folder of the built programs (bazel-bin/experiments)"
    )


def main() -> None:
    """The command `recto` of the wheel."""
    path = program("recto")
    os.execv(path, [path, *sys.argv[1:]])
