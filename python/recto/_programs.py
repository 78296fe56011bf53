"""The programs: where they are, the words of their flags, and how they end."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any, Dict, List, Sequence, Tuple, Union

from ._errors import EngineFailed, UsageError

#: Names the folder of the programs, for packages without them (a checkout: bazel-bin/experiments).
VARIABLE = "RECTO_PROGRAMS"
FilePath = Union[str, "os.PathLike[str]"]
#: Python's word -> the flag, where that is not the word with "-" for "_".
Renamed = Dict[str, str]


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


def flags(words: Dict[str, Any], renamed: Renamed, repeats_lists: bool = False) -> List[str]:
    """The flags for these words; those that are None or False are left out. Lists are joined by
    commas, or repeat their flag, which `recto sweep` wants for values that contain commas."""
    made: List[str] = []
    for word, value in words.items():
        if value is None or value is False:
            continue
        flag = "--" + renamed.get(word, word.replace("_", "-"))
        is_list = not isinstance(value, (str, bytes, os.PathLike)) and hasattr(value, "__iter__")
        texts = [str(each) for each in value] if is_list else [str(value)]
        if not texts or "" in texts:
            raise ValueError(f"{word}: expected one value at least, and no empty one, got "
                             f"{value!r}; None stands for all")
        if not repeats_lists:
            texts = [",".join(texts)]
        made += [flag] if value is True else [f"{flag}={text}" for text in texts]
    return made


def in_python(message: str, renamed: Renamed) -> str:
    """A program's message, with Python's words for its flags."""
    words = {flag: word for word, flag in renamed.items()}
    flag = r"--([a-z][a-z0-9-]*)\b(?! lists the flags)"
    return re.sub(
        flag, lambda match: words.get(match.group(1), match.group(1).replace("-", "_")), message
    )


def run(
    name: str, arguments: Sequence[str], renamed: Renamed, judges: bool = False
) -> Tuple[str, str]:
    """Its output, and its message: "" unless it is one that `judges` and found something wrong.
    UsageError or EngineFailed if it refuses or fails."""
    done = subprocess.run(
        [program(name), *arguments], capture_output=True, encoding="utf-8", errors="replace",
        stdin=subprocess.DEVNULL, check=False,
    )
    message = in_python(message_of(done.stderr), renamed)
    if done.returncode == 1 and judges:
        return done.stdout, message
    raise_for(f"{name} {arguments[0]}", done.returncode, message)
    return done.stdout, ""


def message_of(err: str) -> str:
    """What a program printed, without its name."""
    return re.sub(r"(?m)^recto\w*: ", "", err.strip())


def raise_for(command: str, code: int, message: str) -> None:
    """UsageError or EngineFailed, unless the exit code is 0."""
    if code == 2:
        raise UsageError(message)
    if code != 0:
        raise EngineFailed(f"{command} ended by {_end_text(code)}: {message or 'no message'}")


def _end_text(code: int) -> str:
    """ "exit code 3", or "signal SIGKILL"."""
    if code >= 0:
        return f"exit code {code}"
    try:
        return f"signal {signal.Signals(-code).name}"
    except ValueError:
        return f"signal {-code}"
