"""Legends no wider than their figure, and letters for names that are too long for a label."""

import textwrap
from dataclasses import dataclass
from string import ascii_uppercase

import pandas
from matplotlib.figure import SubFigure
from matplotlib.font_manager import FontProperties
from matplotlib.textpath import TextPath

FIGURE_WIDTH_INCHES = 9.0

_POINTS = 9  # of text
_POINTS_PER_INCH = 72
_ROOM = _POINTS_PER_INCH * (FIGURE_WIDTH_INCHES - 0.4)
_BESIDE_LABEL = 5 * _POINTS  # its line, and what is between columns
_LINE_INCHES = 1.5 * _POINTS / _POINTS_PER_INCH
_CHARACTER = 0.62 * _POINTS  # approximate width of a wide character
_COLUMNS_MAX = 4
_NAME_MAX = 16  # characters that a label has room for


@dataclass(frozen=True)
class Legend:
    """Below a figure."""

    labels: list[str]
    title: str
    columns: int

    @property
    def height_inches(self) -> float:
        rows = -(-len(self.labels) // self.columns)
        lines = sum(1 + label.count("\n") for label in [*self.labels[:rows], self.title] if label)
        return _LINE_INCHES * (lines + 1)

    def draw(self, figure: SubFigure, handles: list) -> None:
        made = figure.legend(handles, self.labels, title=self.title or None, ncols=self.columns,
                             loc="outside lower center")
        for text in (*made.get_texts(), made.get_title()):
            text.set_parse_math(False)  # names may have a $


def fitted_legend(labels: list[str], title: str = "") -> Legend:
    """A legend with as many columns as fit; labels longer than a line are broken."""
    labels = [_broken(label, _ROOM - _BESIDE_LABEL) for label in labels]
    title = "\n".join(_broken(line, _ROOM) for line in title.splitlines())
    widest = max((_width(line) for label in labels for line in label.splitlines()), default=0)
    columns = int(_ROOM // (widest + _BESIDE_LABEL))
    return Legend(labels, title, min(max(columns, 1), _COLUMNS_MAX))


def _width(text: str) -> float:
    return TextPath((0, 0), text.replace("$", "S"), size=_POINTS,
                    prop=FontProperties(family="DejaVu Sans")).get_extents().width


def _broken(line: str, room: float) -> str:
    if not line.strip() or _width(line) <= room:
        return line
    return textwrap.fill(line, int(room // _CHARACTER), break_on_hyphens=False)


class ShortNames:
    """The names of some columns' values in labels: a letter if the name is too long; `told`
    explains the letters."""

    def __init__(self, table: pandas.DataFrame, columns: list[str]):
        self._letters, self.told = {}, []
        for column in columns:
            long = [value for value in table[column].unique() if len(str(value)) > _NAME_MAX]
            for number, value in enumerate(long):
                letter = _letter(number)
                self._letters[column, value] = letter
                self.told.append(f"{column.replace('_', ' ')} {letter}: {value}")

    def tick(self, column: str, value) -> str:
        """The value's name if the column is named elsewhere."""
        return self._letters.get((column, value), str(value))

    def label(self, column: str, value) -> str:
        letter = self._letters.get((column, value))
        return f"{column.replace('_', ' ')} {letter}" if letter else str(value)


def _letter(number: int) -> str:
    """A to Z, AA, AB and so on."""
    rest, last = divmod(number, len(ascii_uppercase))
    return (_letter(rest - 1) if rest else "") + ascii_uppercase[last]


def label_ticks(axis, places: list, labels: list[str], share_of_width: float) -> None:
    """Ticks of an x axis with this share of the figure's width: slanted if labels would overlap."""
    axis.set_xticks(places, labels)
    room = share_of_width * _ROOM / max(len(labels), 1)
    if max(map(_width, labels), default=0) > 0.8 * room:
        for text in axis.get_xticklabels():
            text.set(rotation=25, ha="right", rotation_mode="anchor")
    for text in axis.get_xticklabels():
        text.set_parse_math(False)
