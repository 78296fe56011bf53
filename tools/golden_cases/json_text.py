"""Readable JSON: objects and nested lists take one line per entry, plain lists fill lines."""

import json
from typing import Any

_COLUMNS = 100


def json_text(value: Any) -> str:
    return _text(value, "") + "\n"


def _text(value: Any, indent: str) -> str:
    inner = indent + "  "
    if isinstance(value, dict):
        entries = [f"{json.dumps(key)}: {_text(entry, inner)}" for key, entry in value.items()]
        return _lines("{}", entries, indent)
    if isinstance(value, list) and any(isinstance(entry, (list, dict)) for entry in value):
        return _lines("[]", [_text(entry, inner) for entry in value], indent)
    if isinstance(value, list):
        return _filled(value, indent)
    return json.dumps(value)


def _lines(brackets: str, entries: list[str], indent: str) -> str:
    inner = indent + "  "
    return f"{brackets[0]}\n{inner}" + f",\n{inner}".join(entries) + f"\n{indent}{brackets[1]}"


def _filled(values: list, indent: str) -> str:
    words = [json.dumps(value) for value in values]
    if len(indent) + sum(len(word) + 2 for word in words) < _COLUMNS - 20:
        return "[" + ", ".join(words) + "]"
    lines = [""]
    for word in words:
        if lines[-1] and len(indent) + len(lines[-1]) + len(word) + 4 > _COLUMNS:
            lines.append("")
        lines[-1] += (", " if lines[-1] else "") + word
    return _lines("[]", lines, indent)
