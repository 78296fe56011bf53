"""Reads what commands wrote, in the form in which it is drawn. `recto plot` has checked folders of
results before: their tables are those that their manifests name. Reports are checked here."""

import json
import math
from dataclasses import dataclass, field
from pathlib import Path

import pandas

from report_fields import BadInput, checked_fields, checked_series

INTERNAL = ("over_reservation", "rounding", "tail", "out_of_window")
LIMITS = ("ttft_limit_ms", "tpot_limit_ms")
NS_PER_S = 1e9


class NoReport(Exception):
    """The file is no report of `recto simulate --json`; says why."""


@dataclass(frozen=True)
class Source:
    """Where results came from, for the foot of a figure."""

    version: str
    commit: str
    command: str
    settings: dict
    remarks: tuple[str, ...] = ()
    seeds: int = 1  # over how many there are means

    def foot(self, is_of_first_seed: bool = False) -> str:
        """`is_of_first_seed` if the picture has none of the means over several seeds."""
        said = [f"{name.replace('_', ' ')} {value}" for name, value in self.settings.items()
                if value not in (None, "", 0, 0.0, "none")]
        said = [one for one in said if not one.startswith("seed ")]
        said[:0] = self._seeds_told(is_of_first_seed)
        return (f"recto {self.version}, commit {self.commit[:12]}. {self.command}: "
                + ", ".join(said) + "." + "".join(f" {remark}." for remark in self.remarks))

    def _seeds_told(self, is_of_first_seed: bool) -> list[str]:
        first = [f"seed {self.settings['seed']}"] if "seed" in self.settings else []
        if self.seeds == 1:
            return first
        if is_of_first_seed:
            return [f"{first[0]} alone, the first of {self.seeds}"]
        from_one = f", from {first[0]} on" if first else ""
        return [f"means over {self.seeds} seeds{from_one} (± their 95 % intervals)"]


@dataclass(frozen=True)
class Run:
    """One simulated configuration. Shares are of the pool; `series` has a row per window of time:
    begin_s, length_s and the mean of each gauge. `half_widths`, of 95 % intervals, are by the paths
    of columns; those of one seed have none."""

    allocator: str
    block_size: int
    pool_slots: int
    shares: dict[str, float]
    figures: dict[str, float]
    latencies: dict[str, dict[str, float]]  # seconds, by kind; empty where no request has it
    series: pandas.DataFrame
    rejected: float = 0  # requests that can never fit; of this many in all
    requests: float = 0
    half_widths: dict[str, float] = field(default_factory=dict)

    @property
    def is_paged(self) -> bool:
        return not self.allocator.startswith("contiguous")

    @property
    def label(self) -> str:
        return f"{self.allocator} {self.block_size}" if self.is_paged else self.allocator

    @property
    def title(self) -> str:
        """The label, and how many requests are in no figure."""
        if not self.rejected:
            return self.label
        mean = " (mean)" if self.half_widths else ""
        return f"{self.label}, rejects {count(self.rejected)} of {count(self.requests)}{mean}"

    def half_width(self, *columns: str) -> float | None:
        """Of the sum of these columns: at most as wide as theirs together."""
        widths = [self.half_widths.get(column) for column in columns]
        return None if None in widths else sum(widths)


def count(value: float) -> str:
    """Of a mean of counts, which must not look like none."""
    return f"{value:,.1f}".removesuffix(".0") if value >= 1 else f"{value:.2g}"


def rejections_told(rejecting: int, of: int, kind: str) -> tuple[str, ...]:
    """A remark where some of the rows or points reject requests."""
    if not rejecting:
        return ()
    return (f"{rejecting} of {of} {kind} reject requests, which can never fit, and no latency or "
            "rate counts them",)


def read_json(path: Path) -> dict:
    try:
        found = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, UnicodeDecodeError) as error:
        raise BadInput(f"{path}: cannot be read: {getattr(error, 'strerror', error)}") from error
    except json.JSONDecodeError as error:
        raise BadInput(f"{path}:{error.lineno}: {error.msg}; expected JSON") from error
    except (ValueError, RecursionError) as error:  # too many digits, or too deep
        raise BadInput(f"{path}: cannot be read: {error}") from error
    if not isinstance(found, dict):
        raise BadInput(f"{path}: found {type(found).__name__}; expected an object")
    return found


def read_source(document: dict, settings: dict, remarks: tuple[str, ...], seeds: int = 1) -> Source:
    return Source(document["recto"]["version"], document["recto"]["commit"],
                  f"recto {document.get('command', 'simulate')}", settings, remarks, seeds)


def common_settings(configurations: list[dict]) -> dict:
    """The settings that all configurations agree on."""
    first = configurations[0]
    return {name: value for name, value in first.items()
            if all(other.get(name) == value for other in configurations)}


def has_limits(configurations: list[dict]) -> bool:
    """Whether latency limits were set, without which no request is beyond them."""
    return any(one.get(limit) is not None for one in configurations for limit in LIMITS)


def without_goodput(table: pandas.DataFrame) -> pandas.DataFrame:
    return table.drop(columns=[name for name in table if "goodput_per_s" in name])


def read_fragmentation(folder: Path, data: dict | None = None) -> tuple[Source, list[Run]]:
    """`data` are those of the study's page, which alone have measured times of kernels."""
    manifest = read_json(folder / "manifest.json")
    models = tuple(f"Step times: {model['name']}, {model['provenance']}"
                   for model in manifest.get("time_models", []))
    table = pandas.read_csv(folder / "fragmentation.csv")
    if not has_limits(manifest["configurations"]):
        table = without_goodput(table)
    series = pandas.read_csv(folder / "series.csv")
    by_run = dict(list(series.groupby(["allocator", "block_size"], sort=False)))
    runs = []
    for index, row in enumerate(table.to_dict("records")):
        key = (row["allocator"], row["block_size"])
        if key not in by_run:
            raise BadInput(f"{folder / 'series.csv'}: has no rows of {key[0]} {key[1]}")
        kernel_s = data and data["rows"][index]["metrics"]["kernel_s"]
        if kernel_s is not None:
            row["figures.kernel_s"] = kernel_s
        runs.append(run_of(key, row, by_run[key].reset_index(drop=True)))
    rejecting = sum(run.rejected > 0 for run in runs)
    return (read_source(manifest, common_settings(manifest["configurations"]),
                        rejections_told(rejecting, len(runs), "rows") + models,
                        manifest.get("seeds", 1)), runs)


def read_simulation(path: Path) -> tuple[Source, Run]:
    document = read_json(path)
    missing = [part for part in ("figures", "report", "settings") if part not in document]
    if missing:
        raise NoReport(f"has no {' and no '.join(missing)}; expected what recto simulate --json "
                       "writes of one seed")
    fields = checked_fields(path, document)
    series = pandas.DataFrame(checked_series(path, document))
    if series.empty:
        raise BadInput(f"{path}, report.series: found nothing, as no request was served; expected "
                       "a run to draw")
    series["begin_s"] = series.pop("begin_ns") / NS_PER_S
    series["length_s"] = series.pop("length_ns") / NS_PER_S
    model = f"Step times: {fields['time_model']}, {fields['time_model_provenance']}"
    key = (fields["settings.allocator"], fields["report.block_size"])
    return read_source(document, document["settings"], (model,)), run_of(key, fields, series)


def latency_of(row: dict, kind: str) -> dict[str, float]:
    """Seconds: the mean and percentiles. Empty where no request of some seed has it."""
    seconds = {point: row[f"report.{kind}.{point}_ns"] / NS_PER_S
               for point in ("mean", "p50", "p90", "p99")}
    is_there = row[f"report.{kind}.count"] > 0 and not any(map(math.isnan, seconds.values()))
    return seconds if is_there else {}


def run_of(key: tuple[str, int], row: dict, series: pandas.DataFrame) -> Run:
    """`row` has the fields of figures and report, by their paths."""
    shares = {name: row[f"figures.mean_shares.{name}"]
              for name in ("used", "reserved", "internal", "cached", "free", "overhead")}
    latencies = {kind: latency_of(row, kind)
                 for kind in ("queueing", "ttft", "tpot", "normalized")}
    figures = {name.split(".", 1)[1]: value for name, value in row.items()
               if name.startswith("figures.")}
    series = series.assign(internal_slots=sum(series[f"{part}_slots"] for part in INTERNAL))
    half_widths = {name.removesuffix("_ci95"): value for name, value in row.items()
                   if name.endswith("_ci95") and not math.isnan(value)}
    rejected = row["report.counters.requests_rejected"]
    requests = rejected + row["report.counters.requests_finished"]
    return Run(*key, int(row["report.pool_slots"]), shares, figures, latencies, series, rejected,
               requests, half_widths)
