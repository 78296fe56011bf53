"""Statistics of repeated measurements, text tables, and results as JSON in the form of recto's
benchmark (Google Benchmark), with `peer` in each row. Needs only the standard library.

    {"context": {"date", "gpu", "copy_GB_per_s", ...},
     "benchmarks": [{"name", "peer", "real_time", "time_unit": "us", "median_us", ...}],
     "not_measured": [{"name", "peer", "state": "skipped" or "refused" or "wrong", "why"}]}
"""

import json
import subprocess
from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import datetime, timezone
from pathlib import Path
from statistics import median, quantiles

from .case import TYPE_BYTES, Case

_TO_US = {"ns": 1e-3, "us": 1.0, "ms": 1e3, "s": 1e6}


class BadFile(Exception):
    """A file without valid results: its name, and what was expected."""


@dataclass(frozen=True)
class Statistics:
    """As defined by cuda/bench/sample_statistics.h."""

    median: float
    low: float  # a tenth of the samples are below
    high: float  # a tenth are above

    @property
    def spread(self) -> float:
        """The spread of the middle four fifths, relative to the median."""
        return (self.high - self.low) / self.median


def statistics_of(samples: Sequence[float]) -> Statistics:
    """Quantiles are interpolated linearly. Needs at least one sample."""
    if len(samples) == 1:
        return Statistics(*samples * 3)
    tenths = quantiles(samples, n=10, method="inclusive")
    return Statistics(median(samples), tenths[0], tenths[-1])


@dataclass
class Results:
    context: dict[str, object]
    rows: list[dict[str, object]] = field(default_factory=list)
    not_measured: list[dict[str, str]] = field(default_factory=list)

    def add(self, case: Case, peer: str, seconds: Statistics, samples: int) -> dict[str, object]:
        copied = self.context["copy_GB_per_s"]
        multiplied = self.context["matrix_TFLOP_per_s"]
        moved, flops = case.must_move_bytes(), case.flops()
        row = {
            "name": case.name, "run_name": case.name, "run_type": "iteration", "peer": peer,
            "iterations": 1, "real_time": seconds.median * 1e6, "time_unit": "us",
            "median_us": seconds.median * 1e6, "low_us": seconds.low * 1e6,
            "high_us": seconds.high * 1e6, "spread": seconds.spread, "samples": samples,
            "bytes": moved, "flops": flops, "GB_per_s": moved / seconds.median * 1e-9,
            "copy_GB_per_s": copied,
            "fraction_of_copy_rate": moved / seconds.median * 1e-9 / copied,
            "matrix_TFLOP_per_s": multiplied,
            "fraction_of_matrix_rate": flops / seconds.median * 1e-12 / multiplied,
            "batch": case.batch, "context": case.context, "rows": case.rows,
            "kv_heads": case.kv_heads, "group": case.group, "head_dim": case.head_dim,
            "block_size": case.block, "contiguous": 0,
            "kv_element_bytes": TYPE_BYTES[case.type], "kv_bytes": case.kv_bytes(),
        }
        self.rows.append(row)
        return row

    def leave_out(self, case: Case, peer: str, state: str, why: str) -> None:
        self.not_measured.append({"name": case.name, "peer": peer, "state": state, "why": why})

    def write(self, path: str) -> None:
        text = json.dumps({"context": self.context, "benchmarks": self.rows,
                           "not_measured": self.not_measured}, indent=1)
        try:
            Path(path).write_text(text + "\n", "utf-8")
        except OSError as error:
            raise BadFile(f"{path}: {error.strerror}") from error


def provenance() -> dict[str, object]:
    """The date of the results, and the commit of this repository."""
    return {"date": datetime.now(timezone.utc).isoformat(timespec="seconds"),
            "recto_commit": _commit(), "matrix_rate_by": "torch.matmul"}


def _commit() -> str:
    here = Path(__file__).resolve().parent
    bundled = here.parents[1] / "COMMIT"  # from tools/gpu_bundle
    if bundled.exists():
        return bundled.read_text("utf-8").strip()
    describe = ["git", "describe", "--always", "--dirty", "--abbrev=40", "--exclude=*"]
    try:
        done = subprocess.run(describe, cwd=here, capture_output=True, text=True)
    except OSError as error:
        return f"unknown: {error.strerror}"
    return done.stdout.strip() if done.returncode == 0 else "unknown: not a checkout"


@dataclass(frozen=True)
class Row:
    """The fields of a row that a comparison reads."""

    name: str  # without Google Benchmark's suffix
    peer: str  # empty in recto's results
    label: str
    us: float
    spread: float | None
    fraction_of_copy_rate: float | None


def read_rows(path: str) -> tuple[dict[str, object], list[Row]]:
    """The context and the measurements; for repetitions only their median."""
    try:
        whole = json.loads(Path(path).read_text("utf-8"))
        context, benchmarks = whole["context"], whole["benchmarks"]
        rows = [_row(each) for each in benchmarks if _is_wanted(each, benchmarks)]
        if not isinstance(context, dict):
            raise TypeError("context: expected an object")
    except OSError as error:
        raise BadFile(f"{path}: {error.strerror}") from error
    except (ValueError, TypeError, AttributeError, LookupError) as error:
        kind = type(error).__name__
        raise BadFile(f"{path}: expected what --benchmark_out or --json wrote: "
                      f"{kind}: {error}") from error
    return context, rows


def _is_wanted(each: dict, all_rows: list[dict]) -> bool:
    if each.get("error_occurred") or each.get("skipped"):
        return False
    if each.get("run_type") == "aggregate":
        return each["aggregate_name"] == "median"
    return not any(other.get("aggregate_name") == "median"
                   and other.get("run_name") == each.get("run_name") for other in all_rows)


def _row(each: dict) -> Row:
    us = each.get("median_us", each["real_time"] * _TO_US[each["time_unit"]])
    if not us > 0:
        raise ValueError(f"{each['name']}: expected a time above 0, found {us}")
    return Row(_plain_name(each.get("run_name", each["name"])), each.get("peer", ""),
               each.get("label", ""), us, each.get("spread"), each.get("fraction_of_copy_rate"))


def _plain_name(name: str) -> str:
    appended = ("iterations:", "repeats:", "min_time:", "min_warmup_time:")
    return "/".join(part for part in name.split("/")
                    if part not in ("manual_time", "real_time", "process_time")
                    and not part.startswith(appended))


def print_table(headings: Sequence[str], rows: Sequence[Sequence[str]]) -> None:
    """Aligns the first column and the last one, which may be long, to the left; others to the
    right."""
    widths = [max(len(row[column]) for row in (headings, *rows))
              for column in range(len(headings))]
    for row in (headings, *rows):
        cells = [row[0].ljust(widths[0])]
        cells += [cell.rjust(width) for cell, width in zip(row[1:-1], widths[1:-1])]
        print("  ".join([*cells, row[-1]]).rstrip())
