"""Names of files, and parameters whose names do not show at the call."""

import re
from typing import Iterator

from project import Project
from rule import Finding, Rule
from source_tree import CODE_KINDS, Kind

_SNAKE_CASE = re.compile(r"_{0,2}[a-z][a-z0-9_]*(\.[a-z0-9_]+)*")
_GIVEN_NAMES = {"BUILD", "BUILD.bazel", "WORKSPACE", "MODULE.bazel"}  # by Bazel
_DOCUMENT_NAME = re.compile(r"[A-Z]+\.md|([0-9]{4}[-_])?[a-z0-9_]+\.md")
_OUR_CPP = (".h", ".cc", ".cu", ".cuh")
_ENUM = "a two-value enum says at the call what it means; an options struct if there are more"


def find_bad_file_names(project: Project) -> Iterator[Finding]:
    for file in project.tree:
        if file.kind is Kind.MARKDOWN:
            is_right = bool(_DOCUMENT_NAME.fullmatch(file.name))
        elif file.kind in CODE_KINDS and file.name not in _GIVEN_NAMES:
            parts = [part.removeprefix(".") for part in file.path.split("/")]
            is_right = all(_SNAKE_CASE.fullmatch(part) for part in parts)
        else:
            continue
        if not is_right:
            yield Finding(file.path, 1, "not in snake_case", "lower case, digits and underscores")
        if file.kind is Kind.CPP and file.suffix not in _OUR_CPP:
            yield Finding(file.path, 1, f"{file.suffix} is not our suffix", ", ".join(_OUR_CPP))


def find_missing_pragma_once(project: Project) -> Iterator[Finding]:
    for file in project.cpp_files:
        if file.is_header and not re.search(r"(?m)^#pragma once$", project.masked(file).code):
            yield Finding(file.path, 1, "no include guard", "begin with #pragma once")


def find_bool_parameters(project: Project) -> Iterator[Finding]:
    for file in project.cpp_files:
        if not file.is_header:
            continue
        found = project.declarations(file)
        for function in found.functions:
            for parameter in filter(_is_bool, function.parameters):
                message = f"{function.name} takes `{' '.join(parameter)}`"
                yield Finding(file.path, function.first_line, message, _ENUM)
        for head in found.templates:
            for parameter in filter(_is_bool, head.parameters):
                message = f"template parameter `{' '.join(parameter)}`"
                yield Finding(file.path, head.first_line, message, _ENUM)


def _is_bool(parameter: list[str]) -> bool:
    """`bool`, by value or const reference; `bool*` and `bool&` are outputs."""
    qualifiers = {"const", "volatile", "constexpr", "[", "]", "maybe_unused", "__grid_constant__"}
    words = [word for word in parameter if word not in qualifiers]
    is_output = words[1:2] == ["*"] or (words[1:2] == ["&"] and "const" not in parameter)
    return words[:1] == ["bool"] and not is_output and words[1:2] != ["("]


RULES = (
    Rule("file-name", find_bad_file_names, takes_exceptions=True),
    Rule("pragma-once", find_missing_pragma_once),
    Rule("bool-parameter", find_bool_parameters),
)
