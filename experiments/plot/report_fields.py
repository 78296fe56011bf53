"""What figures read of a report of `recto simulate --json`, and what each field must be. Nothing
else of a report reaches a figure."""

import json
import re
from dataclasses import dataclass

_MOST = 9e18  # about what 64 bits hold
_ROUNDING = 1e-9  # of a share that is a quotient of sums


class BadInput(Exception):
    """An error that names the file, and what was found and expected."""


@dataclass(frozen=True)
class _Number:
    low: float = 0
    high: float = _MOST
    is_whole: bool = False

    def has(self, value) -> bool:
        # A bool is an int to Python. NaN is in no range.
        types = int if self.is_whole else (int, float)
        return (isinstance(value, types) and not isinstance(value, bool)
                and self.low <= value <= self.high)

    def __str__(self) -> str:
        return f"{'an integer' if self.is_whole else 'a number'} from {self.low:g} to {self.high:g}"


@dataclass(frozen=True)
class _Kind:
    type: type
    name: str
    pattern: str | None = None  # of the whole text

    def has(self, value) -> bool:
        return isinstance(value, self.type) and (
            self.pattern is None or re.fullmatch(self.pattern, value) is not None)

    def __str__(self) -> str:
        return self.name


TEXT, OBJECT, ARRAY = _Kind(str, "a text"), _Kind(dict, "an object"), _Kind(list, "an array")
_NAME = _Kind(str, "a name of letters, digits and dashes", "[A-Za-z0-9-]+")
COUNT, POSITIVE = _Number(is_whole=True), _Number(1, is_whole=True)
MEAN, _SHARE = _Number(), _Number(0, 1 + _ROUNDING)

_FIELDS = {
    "recto.version": TEXT,
    "recto.commit": TEXT,
    "time_model": TEXT,
    "time_model_provenance": TEXT,
    "settings.allocator": _NAME,
    "report.block_size": POSITIVE,
    "report.pool_slots": POSITIVE,
    "report.gauges": OBJECT,  # series are their means, window by window
    "report.counters.requests_rejected": COUNT,
    "report.counters.requests_finished": COUNT,
} | {
    f"figures.mean_shares.{state}": _SHARE
    for state in ("used", "reserved", "internal", "cached", "free", "overhead")
} | {
    f"report.{kind}.{name}": COUNT if name == "count" else MEAN
    for kind in ("queueing", "ttft", "tpot", "normalized")
    for name in ("count", "mean_ns", "p50_ns", "p90_ns", "p99_ns")
}

# The first says how many windows there are.
_COLUMNS = {"begin_ns": COUNT, "length_ns": POSITIVE} | dict.fromkeys((
    "used_slots", "reserved_slots", "over_reservation_slots", "rounding_slots", "tail_slots",
    "out_of_window_slots", "cached_slots", "free_slots", "overhead_slots", "blocked_free_slots",
    "unplaceable_free_slots", "running_requests", "waiting_requests"), MEAN)


def checked_fields(path, document: dict) -> dict:
    """The fields, by their paths."""
    return {field: checked(path, document, field, kind) for field, kind in _FIELDS.items()}


def checked_series(path, document: dict) -> dict[str, list[float]]:
    """The columns of report.series, which are equally long."""
    series = {}
    for name, kind in _COLUMNS.items():
        field = f"report.series.{name}"
        column = series[name] = checked_list(path, document, field, kind)
        if len(column) != len(series["begin_ns"]):
            raise BadInput(f"{path}, {field}: found {len(column)} values; expected "
                           f"{len(series['begin_ns'])}, as many as begin_ns has")
    return series


def checked_list(path, document: dict, field: str, kind: _Number | _Kind) -> list:
    """An array of this kind."""
    values = checked(path, document, field, ARRAY)
    for index, value in enumerate(values):
        if not kind.has(value):
            raise BadInput(f"{path}, {field}[{index}]: found {told(value)}; expected {kind}")
    return values


def checked(path, document: dict, field: str, kind: _Number | _Kind):
    """The value at this path of names; dots are between them."""
    found, *names = document, *field.split(".")
    for depth, name in enumerate(names, 1):
        expected = kind if depth == len(names) else OBJECT
        here = f"{path}, {'.'.join(names[:depth])}"
        if name not in found:
            raise BadInput(f"{here}: found none; expected {expected}")
        found = found[name]
        if not expected.has(found):
            raise BadInput(f"{here}: found {told(found)}; expected {expected}")
    return found


def told(value) -> str:
    for kind in (OBJECT, ARRAY):
        if kind.has(value):
            return str(kind)
    text = json.dumps(value)
    return text if len(text) <= 40 else f"{text[:40]}..."
