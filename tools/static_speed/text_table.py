"""Reads text tables: a title, a line of headings, rows whose cells are two or more spaces apart.

Bad input ends the program with a message that names the file, the line, and what was expected.
"""

import re
from pathlib import Path


def read_rows(path, title, columns, parse):
    """(match of the pattern `title`, [parse(match, *cells) of each row]). `parse` may raise
    ValueError or KeyError; only the last cell may hold spaces."""
    try:
        lines = Path(path).read_text("utf-8").splitlines()
    except OSError as error:
        raise SystemExit(f"{path}: expected a table: {error.strerror}") from error
    match = re.match(title, lines[0] if lines else "")
    if not match:
        raise SystemExit(f"{path}:1: expected a title {title!r}, got {lines[:1]}")
    rows = []
    for number, line in enumerate(lines[2:], 3):
        cells = re.split(r"\s{2,}", line.strip(), maxsplit=columns - 1)
        try:
            if len(cells) != columns:
                raise ValueError(f"found {len(cells)}")
            rows.append(parse(match, *cells))
        except (ValueError, KeyError) as error:
            raise SystemExit(f"{path}:{number}: expected {columns} columns as named in line 2, got "
                             f"{line!r}: {error}") from error
    return match, rows
