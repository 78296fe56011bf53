"""The targets that BUILD files declare, read as Python, of which Starlark is a part."""

from __future__ import annotations

import ast
from typing import NamedTuple

_BLANK = "\0"  # for what is computed in a name


class Target(NamedTuple):
    name: str
    rule: str


class Package(NamedTuple):
    folder: str
    targets: list[Target]


def package_of(folder: str, text: str) -> Package:
    """Lists of names are understood, as what is computed may be any string of the file."""
    nodes = list(ast.walk(ast.parse(text)))
    constants = [node.value for node in nodes if isinstance(node, ast.Constant)]
    strings = {value for value in constants if isinstance(value, str)}
    written, computed = [], []
    for node in nodes:
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name):
            for name in (_pattern(each.value) for each in node.keywords if each.arg == "name"):
                if _BLANK in name:
                    names = [name.replace(_BLANK, string) for string in strings]
                    computed += [Target(each, node.func.id) for each in names]
                else:
                    written.append(Target(name, node.func.id))
    return Package(folder, computed + written)  # of two with one name the last one counts


def _pattern(expression: ast.expr) -> str:
    if isinstance(expression, ast.Constant):
        return expression.value
    if isinstance(expression, ast.BinOp) and isinstance(expression.op, ast.Add):
        return _pattern(expression.left) + _pattern(expression.right)
    if isinstance(expression, ast.BinOp) and isinstance(expression.op, ast.Mod):
        return _pattern(expression.left).replace("%s", _BLANK)
    return _BLANK
