"""The fields of a report of `recto simulate --json` that figures read, with types and ranges.
Figures read no other fields."""

import json
import re
from typing import Callable, NamedTuple

_MOST = 9e18  # about what 64 bits hold
_ROUNDING = 1e-9  # of a share that is a quotient of sums


class BadInput(Exception):
    """An error that names the file, and what was found and expected."""


class _Kind(NamedTuple):
    name: str
    has: Callable[[object], bool]


def _number(low: float = 0, high: float = _MOST, types: tuple = (int, float)) -> _Kind:
    # A bool is an int to Python. NaN is in no range.
    return _Kind(f"{'a number' if float in types else 'an integer'} from {low:g} to {high:g}",
                 lambda value: isinstance(value, types) and not isinstance(value, bool)
                 and low <= value <= high)


_TEXT = _Kind("a text", lambda value: isinstance(value, str))
_OBJECT = _Kind("an object", lambda value: isinstance(value, dict))
_ARRAY = _Kind("an array", lambda value: isinstance(value, list))
_NAME = _Kind("a name of letters, digits and dashes", lambda value: isinstance(value, str)
              and re.fullmatch("[A-Za-z0-9-]+", value) is not None)
_COUNT, _POSITIVE = _number(types=(int,)), _number(1, types=(int,))
_MEAN, _SHARE = _number(), _number(0, 1 + _ROUNDING)

STATES = ("used", "reserved", "internal", "cached", "free", "overhead")
LATENCIES = ("queueing", "ttft", "tpot", "normalized")

_FIELDS = {
    "recto.version": _TEXT,
    "recto.commit": _TEXT,
    "time_model": _TEXT,
    "time_model_provenance": _TEXT,
    "settings.allocator": _NAME,
    "report.block_size": _POSITIVE,
    "report.pool_slots": _POSITIVE,
    "report.gauges": _OBJECT,  # series are their means, window by window
    "report.counters.requests_rejected": _COUNT,
    "report.counters.requests_finished": _COUNT,
} | {
    f"figures.mean_shares.{state}": _SHARE for state in STATES
} | {
    f"report.{kind}.{name}": _COUNT if name == "count" else _MEAN
    for kind in LATENCIES
    for name in ("count", "mean_ns", "p50_ns", "p90_ns", "p99_ns")
}

# The first column determines the number of windows.
_COLUMNS = {"begin_ns": _COUNT, "length_ns": _POSITIVE} | dict.fromkeys((
    "used_slots", "reserved_slots", "over_reservation_slots", "rounding_slots", "tail_slots",
    "out_of_window_slots", "cached_slots", "free_slots", "overhead_slots", "blocked_free_slots",
    "unplaceable_free_slots", "running_requests", "waiting_requests"), _MEAN)


def checked_fields(path, document: dict) -> dict:
    """The fields, by their paths."""
    return {field: checked(path, document, field, kind) for field, kind in _FIELDS.items()}


def checked_series(path, document: dict) -> dict[str, list[float]]:
    """The columns of report.series, which are equally long."""
    series = {}
    for name, kind in _COLUMNS.items():
        field = f"report.series.{name}"
        column = series[name] = checked(path, document, field, _ARRAY)
        for index, value in enumerate(column):
            if not kind.has(value):
                raise BadInput(f"{path}, {field}[{index}]: found {told(value)}; expected "
                               f"{kind.name}")
        if len(column) != len(series["begin_ns"]):
            raise BadInput(f"{path}, {field}: found {len(column)} values; expected "
                           f"{len(series['begin_ns'])}, as many as begin_ns has")
    return series


def checked(path, document: dict, field: str, kind: _Kind):
    """The value at this path of names, separated by dots."""
    found, *names = document, *field.split(".")
    for depth, name in enumerate(names, 1):
        expected = kind if depth == len(names) else _OBJECT
        here = f"{path}, {'.'.join(names[:depth])}"
        if name not in found:
            raise BadInput(f"{here}: found none; expected {expected.name}")
        found = found[name]
        if not expected.has(found):
            raise BadInput(f"{here}: found {told(found)}; expected {expected.name}")
    return found


def told(value) -> str:
    for kind in (_OBJECT, _ARRAY):
        if kind.has(value):
            return kind.name
    text = json.dumps(value)
    return text if len(text) <= 40 else f"{text[:40]}..."
