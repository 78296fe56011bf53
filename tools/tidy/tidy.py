#!/usr/bin/env python3
"""Style as a test: prints `file:line: rule: message (what to do instead)` for each violation."""

from __future__ import annotations

import argparse
import sys
import time
from fnmatch import fnmatch
from functools import partial
from pathlib import Path
from typing import Callable, Iterable, NamedTuple

import pattern_rules
import repository_rules as repository
from tree import Tree

ALLOWED = "tools/tidy/allowed.txt"
_SHORTEST_REASON = 12  # characters: a word is no reason


class Rule(NamedTuple):
    name: str
    find: Callable[[Tree], Iterable[repository.Finding]]
    instead: str  # what to do about it
    spares_files: bool = False  # those that allowed.txt names


class Violation(NamedTuple):
    path: str
    line: int
    rule: str
    message: str
    instead: str


def _rules() -> list[Rule]:
    rules = [
        Rule("arrow-include", repository.arrow_include,
             "what both need belongs to core, where they meet belongs to verify"),
        Rule("heavy-header", repository.heavy_header,
             f"keep it in the files of {repository.HEAVY}, remove files that no longer include it"),
        Rule("dead-header", repository.dead_header,
             "use it, delete it, or list it in allowed.txt as public", spares_files=True),
        Rule("dead-file", repository.dead_file,
             "add it to a target, delete it, or list it in allowed.txt as run by hand",
             spares_files=True),
        Rule("function-lines", repository.function_lines, "give its steps names"),
        Rule("parameters", repository.python_parameters, "take an object with named fields"),
        Rule("folder-readme", repository.folder_readme,
             "a page: what it is for, its parts in reading order, what it may not know about"),
        Rule("broken-link", repository.broken_link, "mend or remove it"),
        Rule("doc-linked", repository.doc_linked, "link it from where a reader would look"),
        Rule("named-file", repository.named_file, "name the one that is there", spares_files=True),
        Rule("retired-word", pattern_rules.retired_words, f"{pattern_rules.WORDS} lists the words",
             spares_files=True),
    ]
    for section, fields in pattern_rules.SECTIONS:
        rules.append(Rule(section.split()[0], partial(pattern_rules.find, fields=fields),
                          fields["instead"], "exceptions" in fields))
    names = {rule.name for rule in rules} | {"allowed", "style-map"}
    rules.append(Rule("style-map", partial(repository.style_map, names=names),
                      "a row for each rule, which names a check that is on"))
    return rules


RULES = _rules()
NAMES = sorted({rule.name for rule in RULES} | {"allowed"})


def violations_of(tree: Tree) -> list[Violation]:
    """Ordered by place."""
    left = [Violation(*found[:2], rule.name, found[2], rule.instead)
            for rule in RULES for found in rule.find(tree)]
    sparing = {rule.name for rule in RULES if rule.spares_files}
    for line, (name, pattern, reason) in pattern_rules.rows(tree, ALLOWED, 3):
        others = [each for each in left
                  if each.rule != name or not fnmatch(each.path, pattern)]
        if len(others) < len(left) and name in sparing and len(reason) >= _SHORTEST_REASON:
            left = others
        else:
            message = f"{pattern} does not break {name}, or it matches no file, or has no reason"
            left.append(Violation(ALLOWED, line, "allowed", message, "mend or remove the entry"))
    return sorted(set(left))


def main(arguments: list[str]) -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    # The real path: in Bazel's tests, this file is a link to the workspace.
    default_root = Path(__file__).resolve().parents[2]
    parser.add_argument("--root", type=Path, default=default_root, help="default: this repository")
    parser.add_argument("--rules", action="store_true", help="list the rules and exit")
    options = parser.parse_args(arguments)
    if options.rules:
        print("\n".join(NAMES))
        return 0
    tree = Tree.of_folder(options.root)
    # A check of no files always passes; this is how a wrong folder shows.
    if "WORKSPACE" not in tree:
        print(f"tidy: {options.root} is not the root of a workspace", file=sys.stderr)
        return 2
    violations = violations_of(tree)
    for found in violations:
        print(f"{found.path}:{found.line}: {found.rule}: {found.message} ({found.instead})")
    seconds = time.process_time()
    print(f"tidy: {len(tree)} files, {len(violations)} violations, {seconds:.2f} s")
    return 1 if violations else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
