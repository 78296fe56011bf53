"""Size limits, so that every part can be kept in mind, and parameters that show at the call."""

from __future__ import annotations

import re
from typing import Iterator

from rules import Finding, rule
from tree import CODE, Tree

FILE_LINES, FUNCTION_LINES, LINE_COLUMNS = 300, 60, 100
PARAMETERS, TEMPLATE_PARAMETERS = 5, 4

# Tables of targets, read by looking one up.
_TABLES = {"BUILD", "BUILD.bazel", "WORKSPACE", "MODULE.bazel"}
_URL_AT_END = re.compile(r"https?://\S+$")
_BOOL = re.compile(  # by value or const reference: others are outputs
    r"(?:\[\[\w+\]\]\s*|constexpr\s+|__grid_constant__\s+)*"
    r"(?:const\s+bool\b(?!\s*\*)|bool\b(?!\s*(?:const\s*)?[*&(]))"
)


@rule("split it by noun: one part, one file, one name")
def file_lines(tree: Tree) -> Iterator[Finding]:
    for file in tree.of(*CODE):
        count = len(file.lines)
        if count > FILE_LINES and file.name not in _TABLES:
            yield Finding(file.path, 1, f"{count} lines, not {FILE_LINES}", file.path, count)


@rule("break the line")
def line_columns(tree: Tree) -> Iterator[Finding]:
    for file in tree.of(*CODE):
        for number, line in enumerate(file.lines, 1):
            count = len(line.rstrip("\r"))
            if count > LINE_COLUMNS and not _URL_AT_END.search(line):
                message = f"{count} columns, not {LINE_COLUMNS}"
                yield Finding(file.path, number, message, file.path, count)


@rule("give its steps names; keep braces balanced in each branch of #if")
def function_lines(tree: Tree) -> Iterator[Finding]:
    for file in tree.of("c++", "python"):
        for each in file.declarations.all:
            if (count := each.line_count) > FUNCTION_LINES:
                message = f"{each.name} has {count} lines, not {FUNCTION_LINES}"
                yield Finding(file.path, each.line, message, f"{file.path}::{each.name}", count)
        if line := file.declarations.unreadable_line:
            yield Finding(file.path, line, "from here on functions cannot be told apart")


@rule("take a struct with named fields")
def parameters(tree: Tree) -> Iterator[Finding]:
    for file in tree.of("c++", "python"):
        for each in file.declarations.all:
            limit = TEMPLATE_PARAMETERS if each.template_parameters else PARAMETERS
            count = len(each.template_parameters or each.parameters)
            if count > limit:
                message = f"{each.name} takes {count}, not {limit}"
                yield Finding(file.path, each.line, message, f"{file.path}::{each.name}", count)


@rule("a two-value enum says at the call what it means; an options struct if there are more")
def bool_parameter(tree: Tree) -> Iterator[Finding]:
    for file in tree.of("c++"):
        for each in file.declarations.all if file.is_header else ():
            for parameter in each.parameters + each.template_parameters:
                if _BOOL.match(parameter):
                    yield Finding(file.path, each.line, f"{each.name} takes `{parameter}`")
