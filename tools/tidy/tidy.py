#!/usr/bin/env python3
"""Style as a test: prints `file:line: rule: message (what to do instead)` for each violation."""

from __future__ import annotations

import argparse
import sys
import time
from pathlib import Path

import document_rules, include_rules, size_rules, text_rules  # noqa: E401, F401: for their rules
from rules import RULES, violations_of
from tree import Tree


def main(arguments: list[str]) -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    # The real path: in Bazel's tests, this file is a link to the workspace.
    default_root = Path(__file__).resolve().parents[2]
    parser.add_argument("--root", type=Path, default=default_root, help="default: this repository")
    parser.add_argument("--rules", action="store_true", help="list the rules and exit")
    options = parser.parse_args(arguments)
    if options.rules:
        print("\n".join(RULES))
        return 0
    tree = Tree.of_folder(options.root)
    # A check of no files always passes; this is how a wrong folder shows.
    if "WORKSPACE" not in tree:
        print(f"tidy: {options.root} is not the root of a workspace", file=sys.stderr)
        return 2
    violations = violations_of(tree)
    for rule, found in violations:
        print(f"{found.path}:{found.line}: {rule}: {found.message} ({RULES[rule].remedy})")
    seconds = time.process_time()
    print(f"tidy: {len(tree)} files, {len(violations)} violations, {seconds:.2f} s")
    return 1 if violations else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
