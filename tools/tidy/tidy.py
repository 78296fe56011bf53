#!/usr/bin/env python3
"""Style as a test: prints `file:line: rule: message (what to do instead)` for each violation."""

import argparse
import sys
import time
from pathlib import Path

from registry import check, rule_ids
from source_tree import SourceTree

EXIT_CLEAN, EXIT_VIOLATIONS, EXIT_USAGE = 0, 1, 2


def main(arguments: list[str]) -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    # The real path: in Bazel's tests, this file is a link to the workspace.
    default_root = Path(__file__).resolve().parents[2]
    parser.add_argument("--root", type=Path, default=default_root, help="default: this repository")
    parser.add_argument("--rules", action="store_true", help="list the rules and exit")
    options = parser.parse_args(arguments)
    if options.rules:
        print("\n".join(rule_ids()))
        return EXIT_CLEAN

    start = time.monotonic()
    tree = SourceTree.of_folder(options.root)
    # A check of no files always passes; this is how a wrong folder shows.
    if "WORKSPACE" not in tree:
        print(f"tidy: {options.root} is not the root of a workspace", file=sys.stderr)
        return EXIT_USAGE
    violations = check(tree)
    for violation in violations:
        print(violation)
    seconds = time.monotonic() - start
    print(f"tidy: {len(tree)} files, {len(violations)} violations, {seconds:.2f} s")
    return EXIT_VIOLATIONS if violations else EXIT_CLEAN


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
