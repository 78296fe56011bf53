#!/usr/bin/env python3
"""Every command of every document of this repository is run, or checked as far as it can be.

RECTO_FULL=1 runs what takes long, too. README.md tells the classes.
"""

import argparse
import os
import subprocess
import sys
import tempfile
from pathlib import Path

HERE = Path(__file__).resolve().parent
ROOT = HERE.parents[1]
sys.path[:0] = [str(HERE), str(ROOT / "tools/tidy")]

from bazel_commands import BazelCommands  # noqa: E402
from bazel_targets import package_of  # noqa: E402
from command_blocks import commands_of, markdown_of  # noqa: E402
from document_check import DocumentCheck, Lists, Tally, is_program  # noqa: E402
from listed_commands import BadList, EntryList  # noqa: E402
from machine import Machine, kit_beside  # noqa: E402
from tree import Tree  # noqa: E402
from workplace import Workplace  # noqa: E402

SLOW_S = 20  # anything slower belongs in slow.txt


def read_lists() -> Lists:
    names = ("presupposed", "slow", "not_run")
    lists = Lists(*(EntryList.read(HERE / f"{name}.txt") for name in names))
    lists.runs_slow = os.environ.get("RECTO_FULL") == "1"
    return lists


def bazel_of(tree, program: Path) -> BazelCommands:
    macros = "\n".join(file.text for file in tree.values() if file.path.endswith(".bzl"))
    bazelrc = (ROOT / ".bazelrc").read_text()
    builds = [file for file in tree.values() if file.name == "BUILD"]
    packages = [package_of(file.folder, file.text) for file in builds]

    def help_of_recto(command: str) -> str:
        done = subprocess.run([program, command, "--help"], capture_output=True, text=True)
        return done.stdout

    return BazelCommands(packages, bazelrc, macros, help_of_recto)


def show(tally: Tally, documents: int, unused: list[str]) -> int:
    for remark in tally.remarks:
        print(f"SKIPPED: {remark}")
    for seconds, what in sorted(tally.seconds, reverse=True)[:5]:
        hint = f" (more than {SLOW_S} s: slow.txt?)" if seconds > SLOW_S else ""
        print(f"{seconds:6.1f} s  {what}{hint}")
    errors = tally.errors + unused
    for error in errors:
        print(error)
    counts = f"{tally.counts['run']} run, {tally.counts['checked']} checked"
    if tally.put_off:
        counts += f" ({tally.put_off} of these put off)"
    counts += f", {tally.counts['skipped']} skipped"
    print(f"{documents} documents: {counts}; {len(errors)} wrong")
    return 1 if errors else 0


def machine_of(arguments) -> Machine:
    """RECTO_PYTHON is what ./bazelw calls the interpreter that it has found."""
    python = os.environ.get("RECTO_PYTHON", "")
    if arguments.python_file:
        python = arguments.python_file.read_text().strip()
    kit = arguments.kit or kit_beside(arguments.recto.resolve())
    return Machine(kit and kit.resolve(), Path(python) if python else None)


def main(arguments) -> int:
    program, chosen = arguments.recto.resolve(), arguments.documents
    if not os.access(program, os.X_OK):
        print(f"{program}: expected the program recto")
        return 2
    tree = Tree.of_folder(ROOT)
    files = list(tree)
    try:
        lists = read_lists()
    except BadList as error:
        print(error)
        return 2
    tally, machine = Tally(), machine_of(arguments)
    check = DocumentCheck(program, bazel_of(tree, program), lists, tally, machine)
    documents = [file for file in tree.of("markdown", "notebook")
                 if not chosen or file.path in chosen]
    with tempfile.TemporaryDirectory(dir=os.environ.get("TEST_TMPDIR")) as folder:
        workplace = Workplace(Path(folder), files, ROOT, program, machine)
        for file in documents:
            commands = list(commands_of(file.path, markdown_of(file.path, file.text), is_program))
            check.check(file.path, commands, workplace)
    every = (lists.presupposed, lists.slow, lists.not_run)
    unused = [] if chosen else [line for entries in every for line in entries.unused()]
    return show(tally, len(documents), unused)


def command_line() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--kit", type=Path, metavar="DIR",
                        help="what //verify/cuda_source:cuda_kit makes (default: beside RECTO)")
    parser.add_argument("--python-file", type=Path, metavar="FILE",
                        help="names a Python with packages (default: RECTO_PYTHON does)")
    parser.add_argument("recto", type=Path, metavar="RECTO", help="the program")
    parser.add_argument("documents", nargs="*", metavar="DOCUMENT", help="default: every one")
    return parser


if __name__ == "__main__":
    sys.exit(main(command_line().parse_intermixed_args()))
