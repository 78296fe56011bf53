"""Reads results of commands for figures. `recto plot` has already checked that the tables of
folders of results are those that their manifests name. Reports are checked here."""

import json
import math
from dataclasses import dataclass
from pathlib import Path

import pandas

from report_fields import BadInput, checked_fields, checked_series

INTERNAL = ("over_reservation", "rounding", "tail", "out_of_window")
LIMITS = ("ttft_limit_ms", "tpot_limit_ms")
REJECTED = "report.counters.requests_rejected"
NS_PER_S = 1e9


class NoReport(Exception):
    """The file is no report of `recto simulate --json`; says why."""


@dataclass(frozen=True)
class Source:
    """The origin of results, for the foot of a figure."""

    version: str
    commit: str
    command: str
    settings: dict
    remarks: tuple[str, ...] = ()
    seeds: int = 1  # number of seeds of each mean

    def foot(self, is_of_first_seed: bool = False) -> str:
        """`is_of_first_seed` if the figure shows no means over several seeds."""
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
    """One simulated configuration. `row` has its figures and the 95 % interval of each mean, by the
    columns of fragmentation.csv; `series` a row per window of time: begin_s, length_s and the mean
    of each gauge."""

    allocator: str
    block_size: int
    row: dict[str, float]
    series: pandas.DataFrame

    @property
    def is_paged(self) -> bool:
        return not self.allocator.startswith("contiguous")

    @property
    def label(self) -> str:
        return f"{self.allocator} {self.block_size}" if self.is_paged else self.allocator

    @property
    def title(self) -> str:
        """The label, and the number of rejected requests, which no figure counts."""
        if not self.rejected:
            return self.label
        mean = " (mean)" if self.is_mean else ""
        return f"{self.label}, rejects {count(self.rejected)} of {count(self.requests)}{mean}"

    @property
    def pool_slots(self) -> float:
        return self.row["report.pool_slots"]

    @property
    def is_mean(self) -> bool:
        """Whether the row is a mean over several seeds."""
        return f"{REJECTED}_ci95" in self.row

    @property
    def rejected(self) -> float:
        """Requests that can never fit."""
        return self.row[REJECTED]

    @property
    def requests(self) -> float:
        return self.rejected + self.row["report.counters.requests_finished"]

    def value(self, *columns: str) -> float | None:
        """The sum of these columns; None if one has no number. A latency without requests has
        none."""
        counts = {f"{column.rsplit('.', 1)[0]}.count" for column in columns if "_ns" in column}
        if any(self.row[column] == 0 for column in counts):
            return None
        values = [self.row.get(column, math.nan) for column in columns]
        return None if any(map(math.isnan, values)) else sum(values)

    def half_width(self, *columns: str) -> float | None:
        """The half width for the sum of these columns: at most the sum of theirs."""
        return self.value(*(f"{column}_ci95" for column in columns))

    def share(self, state: str) -> float:
        return self.row[f"figures.mean_shares.{state}"]


def count(value: float) -> str:
    """A mean of counts as text; a small mean must not look like 0."""
    return f"{value:,.1f}".removesuffix(".0") if value >= 1 else f"{value:.2g}"


def rejections_told(rejecting: int, of: int, kind: str) -> tuple[str, ...]:
    """A remark if some rows or points reject requests."""
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
    """Whether latency limits were set; without limits no request exceeds them."""
    return any(one.get(limit) is not None for one in configurations for limit in LIMITS)


def without_goodput(table: pandas.DataFrame) -> pandas.DataFrame:
    return table.drop(columns=[name for name in table if "goodput_per_s" in name])


def with_internal(series: pandas.DataFrame) -> pandas.DataFrame:
    return series.assign(internal_slots=sum(series[f"{part}_slots"] for part in INTERNAL))


def read_fragmentation(folder: Path, data: dict | None = None) -> tuple[Source, list[Run]]:
    """`data` is that of the study's page; only it has measured times of kernels."""
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
        requests = row[REJECTED] + row["report.counters.requests_finished"]
        row["rejected_share"] = row[REJECTED] / requests if requests else math.nan
        kernel_s = data and data["rows"][index]["metrics"]["kernel_s"]
        if kernel_s is not None:
            row["figures.kernel_s"] = kernel_s
        runs.append(Run(*key, row, with_internal(by_run[key].reset_index(drop=True))))
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
    run = Run(*key, fields, with_internal(series))
    return read_source(document, document["settings"], (model,)), run
