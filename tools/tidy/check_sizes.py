"""Size limits, so that every part can be kept in mind: split by noun before the limit."""

import ast
import re
from typing import Iterator

from project import Project
from rule import Finding, Rule, Size
from source_tree import CODE_KINDS, Kind, SourceFile

FILE_LINES = 300
FUNCTION_LINES = 60
LINE_COLUMNS = 100
PARAMETERS = 5
TEMPLATE_PARAMETERS = 4

# Starlark rules and macros declare their attributes as parameters.
_PARAMETER_KINDS = {Kind.CPP, Kind.PYTHON}
_URL_AT_END = re.compile(r"https?://\S+$")
_SPLIT = "split it by noun: one part, one file, one name"
# Tables of targets, read by looking one up.
_TABLES = {"BUILD", "BUILD.bazel", "WORKSPACE", "MODULE.bazel"}


def find_long_files(project: Project) -> Iterator[Finding]:
    for file in project.tree.of_kind(*CODE_KINDS):
        if file.line_count > FILE_LINES and file.name not in _TABLES:
            message = f"{file.line_count} lines, the limit is {FILE_LINES}"
            yield Finding(file.path, 1, message, _SPLIT, Size(file.path, file.line_count))


def find_long_functions(project: Project) -> Iterator[Finding]:
    for file in project.tree.of_kind(Kind.CPP, Kind.PYTHON):
        for name, line, count in _function_sizes(project, file):
            if count > FUNCTION_LINES:
                message = f"{name} has {count} lines, the limit is {FUNCTION_LINES}"
                size = Size(f"{file.path}::{name}", count)
                yield Finding(file.path, line, message, "give its steps names", size)
    for file in project.tree.of_kind(Kind.PYTHON):
        if file.python_error:
            message = f"Python cannot read this: {file.python_error.msg}"
            yield Finding(file.path, file.python_error.lineno or 1, message, "mend it")
    for file in project.cpp_files:
        line = project.declarations(file).unbalanced_line
        if line is not None:
            message = "this brace has no partner, so functions cannot be told apart"
            yield Finding(file.path, line, message, "keep braces balanced in each branch of #if")


def _function_sizes(project: Project, file: SourceFile) -> Iterator[tuple[str, int, int]]:
    if file.kind is Kind.PYTHON:
        for node in _python_functions(file):
            yield node.name, node.lineno, node.end_lineno - node.lineno + 1
        return
    for function in project.declarations(file).functions:
        yield function.name, function.first_line, function.line_count
    # A function body could also be hidden in a macro.
    for macro in project.masked(file).macros():
        yield macro.name, macro.first_line, macro.line_count


def find_long_lines(project: Project) -> Iterator[Finding]:
    for file in project.tree.of_kind(*CODE_KINDS):
        for number, line in enumerate(file.lines, 1):
            columns = len(line.rstrip("\r"))
            if columns > LINE_COLUMNS and not _URL_AT_END.search(line):
                message = f"{columns} columns, the limit is {LINE_COLUMNS}"
                size = Size(file.path, columns)
                yield Finding(file.path, number, message, "break the line", size)


def find_parameter_walls(project: Project) -> Iterator[Finding]:
    for file in project.tree.of_kind(*_PARAMETER_KINDS):
        for name, line, count in _parameter_counts(project, file):
            if count > PARAMETERS:
                message = f"{name} takes {count} parameters, the limit is {PARAMETERS}"
                size = Size(f"{file.path}::{name}", count)
                yield Finding(file.path, line, message, "take a struct with named fields", size)


def _parameter_counts(project: Project, file: SourceFile) -> Iterator[tuple[str, int, int]]:
    if file.kind is Kind.CPP:
        for function in project.declarations(file).functions:
            yield function.name, function.first_line, len(function.parameters)
        return
    for node in _python_functions(file):
        arguments = node.args
        names = [a.arg for a in (*arguments.posonlyargs, *arguments.args, *arguments.kwonlyargs)]
        yield node.name, node.lineno, len([n for n in names if n not in ("self", "cls")])


def find_template_walls(project: Project) -> Iterator[Finding]:
    for file in project.cpp_files:
        for head in project.declarations(file).templates:
            count = len(head.parameters)
            if count > TEMPLATE_PARAMETERS:
                message = f"{count} template parameters, the limit is {TEMPLATE_PARAMETERS}"
                size = Size(file.path, count)
                yield Finding(file.path, head.first_line, message, "take a policy struct", size)


def _python_functions(file: SourceFile) -> Iterator[ast.FunctionDef | ast.AsyncFunctionDef]:
    functions = (ast.FunctionDef, ast.AsyncFunctionDef)
    yield from (node for node in ast.walk(file.python_syntax) if isinstance(node, functions))


RULES = (
    Rule("file-lines", find_long_files),
    Rule("function-lines", find_long_functions),
    Rule("line-columns", find_long_lines),
    Rule("parameters", find_parameter_walls),
    Rule("template-parameters", find_template_walls),
)
