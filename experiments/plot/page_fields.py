"""What pictures read of the page of a study, and what each field must be: `report_fields.py` for
pages."""

import base64
from pathlib import Path

from page_map import STATES, NoPage, page_parts, unpacked
from report_fields import (
    COUNT,
    MEAN,
    OBJECT,
    POSITIVE,
    TEXT,
    BadInput,
    checked,
    checked_list,
    told,
)

KINDS = {"queueing": "queueing, s", "ttft": "time to first token, s",
         "tpot": "time per output token, s", "end_to_end": "end to end, s"}
MARKS = ("preempted", "copied", "evicted")

_STAY = ("final", "begin_us", "decode_us", "end_us", "context_begin", "context_decode",
         "context_end")
_SEGMENT = ("place", "size", "begin_us", "length_us", "stay", "index")
_FULL = 15  # what the shares of a cell of the overview are parts of
_MOST_IN_CELL = _FULL + len(STATES) // 2  # each share is rounded


def read_page_of_study(path: Path) -> tuple[dict, dict]:
    """Its data and its manifest."""
    try:
        data, manifest = page_parts(str(path))
    except (NoPage, ValueError, OSError) as error:
        raise BadInput(f"{path}: expected the page of a study, as recto report {path.parent} "
                       f"writes it ({error})") from error
    for part in (data, manifest):
        _expect(isinstance(part, dict), f"{path}: found {told(part)}", str(OBJECT))
    kind = checked(path, data, "kind", TEXT)
    _expect(kind == "fragmentation", f"{path}, kind: found {told(kind)}",
            '"fragmentation", the page of a study')
    _check_rows(path, data)
    checked(path, data, "close_look_us", COUNT)
    for index, one in enumerate(checked_list(path, data, "maps", OBJECT)):
        here = f"{path}, maps[{index}]"
        row = checked(here, one, "row", COUNT)
        _expect(row < len(data["rows"]), f"{here}, row: found {row}",
                f"one of {len(data['rows'])} rows, from 0 on")
        checked(here, one, "map", OBJECT)
        _check_map(f"{here}.map", one["map"])
    return data, manifest


def _expect(is_so: bool, found: str, expected: str) -> None:
    if not is_so:
        raise BadInput(f"{found}; expected {expected}")


def _check_rows(path: Path, data: dict) -> None:
    rows = checked_list(path, data, "rows", OBJECT)
    for index, row in enumerate(rows):
        here = f"{path}, rows[{index}]"
        checked(here, row, "label", TEXT)
        metrics = checked(here, row, "metrics", OBJECT)
        for name in ("kernel_s", "used", "output_tokens_per_s", "ttft_p50_s"):
            if metrics.get(name) is not None:
                checked(here, row, f"metrics.{name}", MEAN)
    points = checked_list(path, data, "quantiles_per_mille", MEAN)
    latency = checked_list(path, data, "latency", OBJECT)
    _expect(len(latency) == len(rows), f"{path}, latency: found {len(latency)} values",
            f"{len(rows)}, as many as rows has")
    for index, row in enumerate(latency):
        for kind in KINDS:
            here = f"{path}, latency[{index}]"
            values = checked_list(here, row, kind, MEAN)
            _expect(len(values) in (0, len(points)), f"{here}, {kind}: found {len(values)} values",
                    f"none, or {len(points)}, as many as quantiles_per_mille has")


def _check_map(here: str, packed: dict) -> None:
    for field in ("pool_slots", "block_size", "rows", "end_us", "overview.count"):
        checked(here, packed, field, POSITIVE)
    for field in ("blocks", "null_blocks", "window", "detail.begin_us", "detail.end_us"):
        checked(here, packed, field, COUNT)
    end_us, detail = packed["end_us"], packed["detail"]
    _check_range(f"{here}, detail.end_us", [detail["end_us"]], detail["begin_us"], end_us)
    _check_range(f"{here}, blocks", [packed["blocks"]], 0,
                 packed["pool_slots"] // packed["block_size"])
    _check_range(f"{here}, null_blocks", [packed["null_blocks"]], 0, packed["blocks"])
    _check_overview(here, packed)
    stays = _columns(here, packed, "detail.stays", _STAY)
    segments = _columns(here, packed, "detail.segments", _SEGMENT)
    for name, values in stays.items():
        _check_range(f"{here}, detail.stays.{name}", values, 0)
    for name, values in segments.items():
        _check_range(f"{here}, detail.segments.{name}", values, -1 if name == "stay" else 0,
                     len(stays["final"]) - 1 if name == "stay" else None)
    ends = [place + size for place, size in zip(segments["place"], segments["size"])]
    _check_range(f"{here}, detail.segments.place and size", ends, 0,
                 packed["blocks"] or packed["pool_slots"])


def _check_overview(here: str, packed: dict) -> None:
    count, rows = packed["overview"]["count"], packed["rows"]
    columns = _columns(here, packed, "overview", ("at_us", *MARKS))
    for name, values in columns.items():
        field = f"{here}, overview.{name}"
        _expect(len(values) == count, f"{field}: found {len(values)} values",
                f"{count}, as overview.count says")
        _check_range(field, values, 0, packed["end_us"] if name == "at_us" else None)
    field = f"{here}, overview.cells"
    cells = _decoded(field, checked(here, packed, "overview.cells", TEXT), _bytes)
    _expect(len(cells) == 3 * rows * count, f"{field}: found {len(cells)} bytes",
            f"{3 * rows * count}, three for each of {rows} rows at {count} times")
    for one, other in zip(cells[0::3], cells[1::3]):
        shares = (one & 15) + (one >> 4) + (other & 15) + (other >> 4)
        _expect(shares <= _MOST_IN_CELL, f"{field}: found a cell with {shares} of {_FULL} parts",
                f"at most {_MOST_IN_CELL}")


def _columns(here: str, packed: dict, field: str, names: tuple[str, ...]) -> dict[str, list[int]]:
    """Unpacked; all equally long."""
    columns = {}
    for name in names:
        text = checked(here, packed, f"{field}.{name}", TEXT)
        values = columns[name] = _decoded(f"{here}, {field}.{name}", text, unpacked)
        _expect(len(values) == len(columns[names[0]]),
                f"{here}, {field}.{name}: found {len(values)} values",
                f"{len(columns[names[0]])}, as many as {names[0]} has")
    return columns


def _bytes(text: str) -> bytes:
    return base64.b64decode(text, validate=True)


def _decoded(field: str, text: str, decode):
    try:
        return decode(text)
    except ValueError as error:
        raise BadInput(f"{field}: found {told(text)}, which is not packed as recto report packs it "
                       f"({error}); expected numbers in base64") from error


def _check_range(field: str, values: list[int], low: int, high: int | None = None) -> None:
    if not values:
        return
    _expect(min(values) >= low, f"{field}: found {min(values)}", f"at least {low}")
    if high is not None:
        _expect(max(values) <= high, f"{field}: found {max(values)}", f"at most {high}")
