#!/usr/bin/env python3
"""Writes a source with faults in it, each of which sleeps until it is called by its name.

    plant.py SOURCE OUTPUT FAULTS...

FAULTS are files of faults, one after the other:

    fault NAME
    : what it is
    in cuda/cache/growth.cc
    -lines as they are, which stand
    -in the source just once
    +lines in their place, in which PLANTED is true while the fault is awake
    in ...

Faults of one line do not meet: each is looked for in what those before it have left.
"""

import re
import sys

ASLEEP = '([] { static const bool planted = recto::verify::is_planted("%s"); return planted; }())'
HEADER = '#include "verify/planted_faults/planted.h"\n'


class Malformed(Exception):
    pass


class Fault:
    def __init__(self, name):
        self.name = name
        self.text = ""
        self.changes = []  # [path, old lines, new lines]


def read_line(line, faults):
    """Adds a line of a file of faults to the last of them."""
    kind, rest = line[0], line[1:]
    if line.startswith("fault "):
        faults.append(Fault(line[6:].strip()))
    elif not faults:
        raise Malformed(f"'{line}' belongs to no fault")
    elif kind == ":":
        faults[-1].text += rest.rstrip()
    elif line.startswith("in "):
        faults[-1].changes.append((line[3:].strip(), [], []))
    elif kind in "-+" and faults[-1].changes:
        _, old, new = faults[-1].changes[-1]
        (old if kind == "-" else new).append(rest)
    else:
        raise Malformed(f"{faults[-1].name}: what is '{line}'?")


def read_faults(paths):
    faults = []
    for path in paths:
        with open(path, encoding="utf-8") as file:
            for line in file.read().splitlines():
                if line:
                    read_line(line, faults)
    names = [fault.name for fault in faults]
    for name in names:
        if names.count(name) > 1 or not re.fullmatch(r"[a-z0-9.-]+", name):
            raise Malformed(f"'{name}' is no name, or that of several")
    return faults


def planted(source, path, faults):
    """The source with all faults that are in it, asleep."""
    for fault in faults:
        for where, old, new in fault.changes:
            if where != path:
                continue
            old_text, new_text = "\n".join(old) + "\n", "\n".join(new) + "\n"
            times = source.count(old_text)
            if times != 1:
                raise Malformed(f"{fault.name}: {path} has {times} times\n{old_text}")
            if "PLANTED" not in new_text:
                raise Malformed(f"{fault.name}: is awake always")
            source = source.replace(old_text, new_text.replace("PLANTED", ASLEEP % fault.name))
    return HEADER + source


def main(arguments):
    path, output, *fault_files = arguments
    with open(path, encoding="utf-8") as file:
        source = file.read()
    try:
        text = planted(source, path, read_faults(fault_files))
    except Malformed as error:
        print(f"plant.py: {error}", file=sys.stderr)
        return 1
    with open(output, "w", encoding="utf-8") as file:
        file.write(text)
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
