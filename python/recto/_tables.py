"""Results as tables: rows for pandas, for HTML, and from CSV."""

from __future__ import annotations

import csv
import html
import importlib
from pathlib import Path
from typing import Any, Dict, Iterable, List, Mapping, Sequence

Row = Dict[str, Any]
_HTML_ROWS_MAX = 200


def needed(package: str, what: str) -> Any:
    """The imported package. ImportError says what needs it, and how to install it."""
    try:
        return importlib.import_module(package)
    except ImportError as error:
        name = package.partition(".")[0]
        told = f"{what} needs {name}, which is not installed: pip install {name}"
        raise ImportError(told) from error


def read_csv(path: Path) -> List[Row]:
    """The rows of a file; numbers as int or float, empty cells as None."""
    with open(path, encoding="utf-8", newline="") as file:
        return [
            {name: _value(text) for name, text in row.items()} for row in csv.DictReader(file)
        ]


def _value(text: str) -> Any:
    if text == "":
        return None
    for kind in (int, float):
        try:
            return kind(text)
        except ValueError:
            pass
    return text


def flat(tree: Mapping[str, Any], prefix: str = "") -> Row:
    """{"a": {"b": 1}} as {"a.b": 1}, without lists."""
    row: Row = {}
    for name, value in tree.items():
        if isinstance(value, dict):
            row.update(flat(value, f"{prefix}{name}."))
        elif not isinstance(value, list):
            row[prefix + name] = value
    return row


def html_table(caption: str, columns: Sequence[str], rows: Iterable[Sequence[Any]]) -> str:
    """A table for a notebook."""
    lines = [f"<table><caption>{html.escape(caption)}</caption><thead><tr>"]
    lines += [f"<th>{html.escape(name)}</th>" for name in columns]
    lines.append("</tr></thead><tbody>")
    shown = list(rows)
    for row in shown[:_HTML_ROWS_MAX]:
        cells = "".join(f"<td>{html.escape(_text(value))}</td>" for value in row)
        lines.append(f"<tr>{cells}</tr>")
    lines.append("</tbody></table>")
    if len(shown) > _HTML_ROWS_MAX:
        lines.append(f"<p>and {len(shown) - _HTML_ROWS_MAX} more rows</p>")
    return "".join(lines)


def _text(value: Any) -> str:
    if value is None:
        return ""
    return f"{value:,.4g}" if isinstance(value, float) else str(value)
