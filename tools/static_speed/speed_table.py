"""Tables of figures as text: goldens, written and read, and compared with what is there now."""

from figures import COLUMNS
from text_table import read_rows

TOLERANCE = 0.03
_WIDTHS = [max(len(column), 8) for column in COLUMNS]


def heading(compiler, arch):
    return f"# speed, nvcc {compiler}, {arch}"


def _cell(number):
    if number is None:
        return "-"
    return str(number) if isinstance(number, int) else f"{number:.5g}"


def write_table(first_line, rows):
    """`rows`: {label: {column: number}}."""
    lines = [first_line, "  ".join(f"{c:>{w}}" for c, w in zip(COLUMNS, _WIDTHS)) + "  kernel"]
    for label, figures in rows.items():
        cells = [f"{_cell(figures.get(column)):>{width}}"
                 for column, width in zip(COLUMNS, _WIDTHS)]
        lines.append("  ".join([*cells, label]))
    return "\n".join(lines) + "\n"


def read_table(path):
    """(first line, rows)"""
    def parse(_, *cells):
        *numbers, label = cells
        return label, {column: float(number)
                       for column, number in zip(COLUMNS, numbers, strict=True) if number != "-"}

    title, rows = read_rows(path, "# speed.*", len(COLUMNS) + 1, parse)
    return title[0], dict(rows)


def changes(before, now):
    """Yields a line for each figure that differs by more than TOLERANCE, and for each kernel that
    only one table has."""
    for label in sorted(before.keys() | now.keys()):
        if label not in now or label not in before:
            yield f"{label}: {'is gone' if label in before else 'is not in the golden file'}"
            continue
        for column in COLUMNS:
            old, new = before[label].get(column), now[label].get(column)
            if old is None or new is None:
                if old != new:
                    yield f"{label}: {column}: {_cell(old)} before, {_cell(new)} now"
            elif abs(new - old) > TOLERANCE * old:
                yield f"{label}: {column}: {old:g} before, {new:g} now"
