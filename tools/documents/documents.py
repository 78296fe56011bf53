#!/usr/bin/env python3
"""Every command of every document of this repository is run, or checked as far as it can be.

RECTO_FULL=1 runs what takes long, too. README.md describes the classes.
"""

import argparse
import os
import sys
import tempfile
from pathlib import Path

HERE = Path(__file__).resolve().parent
ROOT = HERE.parents[1]
sys.path[:0] = [str(HERE), str(ROOT / "tools/tidy")]

from bazel_commands import BazelCommands  # noqa: E402
from command_blocks import commands_of, markdown_of  # noqa: E402
from document_check import BadList, DocumentCheck, Lists, is_program, read_list  # noqa: E402
from tree import Tree  # noqa: E402
from workplace import KIT, Machine, Workplace  # noqa: E402

SLOW_S = 20  # anything slower belongs in slow.txt


def read_lists() -> Lists:
    names = ("presupposed", "slow", "not_run")
    lists = Lists(*(read_list(HERE / f"{name}.txt") for name in names))
    lists.runs_slow = os.environ.get("RECTO_FULL") == "1"
    return lists


def bazel_of(tree: Tree) -> BazelCommands:
    macros = "\n".join(file.text for file in tree.values() if file.path.endswith(".bzl"))
    packages = {file.folder: file.text for file in tree.values() if file.name == "BUILD"}
    return BazelCommands(packages, (ROOT / ".bazelrc").read_text(), macros)


def machine_of(arguments: argparse.Namespace) -> Machine:
    """RECTO_PYTHON is what ./bazelw calls the interpreter that it has found."""
    program, python = arguments.recto.resolve(), os.environ.get("RECTO_PYTHON", "")
    if arguments.python_file:
        python = arguments.python_file.read_text().strip()
    beside = Path(f"{program}.runfiles/recto", KIT)  # where `bazel build` puts it
    kit = arguments.kit or (beside if beside.is_dir() else None)
    return Machine(program, kit and kit.resolve(), Path(python) if python else None)


def show(check: DocumentCheck, documents: int, unused: list[str]) -> int:
    for remark in check.remarks:
        print(f"SKIPPED: {remark}")
    for seconds, what in sorted(check.seconds, reverse=True)[:5]:
        hint = f" (more than {SLOW_S} s: slow.txt?)" if seconds > SLOW_S else ""
        print(f"{seconds:6.1f} s  {what}{hint}")
    errors = check.errors + unused
    for error in errors:
        print(error)
    counts = f"{check.counts['run']} run, {check.counts['checked']} checked"
    if put_off := check.counts["put off"]:
        counts += f" ({put_off} of these put off)"
    counts += f", {check.counts['skipped']} skipped"
    print(f"{documents} documents: {counts}; {len(errors)} wrong")
    return 1 if errors else 0


def main(arguments: argparse.Namespace) -> int:
    machine, chosen = machine_of(arguments), arguments.documents
    if not os.access(machine.recto, os.X_OK):
        print(f"{machine.recto}: expected the program recto")
        return 2
    tree = Tree.of_folder(ROOT)
    try:
        lists = read_lists()
    except BadList as error:
        print(error)
        return 2
    check = DocumentCheck(bazel_of(tree), lists, machine)
    documents = [file for file in tree.of("markdown", "notebook")
                 if not chosen or file.path in chosen]
    with tempfile.TemporaryDirectory(dir=os.environ.get("TEST_TMPDIR")) as folder:
        workplace = Workplace(Path(folder), list(tree), ROOT, machine)
        for file in documents:
            commands = list(commands_of(file.path, markdown_of(file.path, file.text), is_program))
            check.check(file.path, commands, workplace)
    return show(check, len(documents), [] if chosen else lists.unused())


def command_line() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--kit", type=Path, metavar="DIR",
                        help="what //verify/library/cuda_source:cuda_kit makes "
                             "(default: beside RECTO)")
    parser.add_argument("--python-file", type=Path, metavar="FILE",
                        help="names a Python with packages (default: RECTO_PYTHON does)")
    parser.add_argument("recto", type=Path, metavar="RECTO", help="the program")
    parser.add_argument("documents", nargs="*", metavar="DOCUMENT", help="default: every one")
    return parser


if __name__ == "__main__":
    sys.exit(main(command_line().parse_intermixed_args()))
