"""Lists of mutants, one per line: a name, and why it is listed."""

from pathlib import Path


def read_arguments(path):
    """Names, and the reason for each."""
    arguments = {}
    for line in Path(path).read_text(encoding="utf-8").splitlines():
        if line and not line.startswith("#"):
            name, _, argument = line.partition(": ")
            arguments[name.strip()] = argument.strip()
    return arguments


def read_lists(equivalent, still_open):
    """Names, and "same code", "equivalent" or "open"."""
    listed = dict.fromkeys(read_arguments(still_open), "open")
    for name, argument in read_arguments(equivalent).items():
        listed[name] = "same code" if argument.startswith("same machine code: ") else "equivalent"
    return listed
