"""Reads results of commands for figures. `recto plot` has already checked that the tables of
folders of results are those that their manifests name. Reports are checked here."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path

from .report_fields import LATENCIES, STATES, BadInput, checked_fields, checked_series

INTERNAL = ("over_reservation", "rounding", "tail", "out_of_window")
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
    """One simulated configuration, as in report.json: `metrics` has its figures, and the half width
    of each mean's 95 % interval as NAME_ci95; `series` the begins of windows of time, the end of
    the last one, and the mean of each gauge."""

    allocator: str
    block_size: int | None  # None: regions
    pool_slots: int
    metrics: dict[str, float | None]
    series: dict

    @property
    def label(self) -> str:
        return f"{self.allocator} {self.block_size}" if self.block_size else self.allocator

    @property
    def title(self) -> str:
        """The label, and the number of rejected requests, which no figure counts."""
        if not self.rejected:
            return self.label
        mean = " (mean)" if self.is_mean else ""
        return f"{self.label}, rejects {count(self.rejected)} of {count(self.requests)}{mean}"

    @property
    def is_mean(self) -> bool:
        """Whether the metrics are means over several seeds."""
        return "requests_rejected_ci95" in self.metrics

    @property
    def rejected(self) -> float:
        """Requests that can never fit."""
        return self.metrics["requests_rejected"]

    @property
    def requests(self) -> float:
        return self.rejected + self.metrics["requests_finished"]

    def value(self, *names: str) -> float | None:
        """The sum of these metrics; None if one is unknown."""
        values = [self.metrics.get(name) for name in names]
        return None if None in values else sum(values)

    def half_width(self, *names: str) -> float | None:
        """The half width for the sum of these metrics: at most the sum of theirs."""
        return self.value(*(f"{name}_ci95" for name in names))


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


def read_fragmentation(folder: Path) -> tuple[Source, list[Run], dict]:
    """Also the data of the study's page."""
    manifest = read_json(folder / "manifest.json")
    data = read_json(folder / "report.json")["data"]
    runs = []
    for row, series in zip(data["rows"], data["series"]):
        metrics = {name: value for name, value in row["metrics"].items()
                   if data["has_limits"] or not name.startswith("goodput_per_s")}
        run = Run(row["allocator"], row["block_size"], data["pool_slots"], metrics, series)
        metrics["rejected_share"] = run.rejected / run.requests if run.requests else None
        runs.append(run)
    remarks = rejections_told(sum(run.rejected > 0 for run in runs), len(runs), "rows") + tuple(
        f"Step times: {model['name']}, {model['provenance']}" for model in data["time_models"])
    settings = common_settings(manifest["configurations"])
    return read_source(manifest, settings, remarks, data["seeds"]), runs, data


def read_simulation(path: Path) -> tuple[Source, Run]:
    document = read_json(path)
    missing = [part for part in ("figures", "report", "settings") if part not in document]
    if missing:
        raise NoReport(f"has no {' and no '.join(missing)}; expected what recto simulate --json "
                       "writes of one seed")
    fields, series = checked_fields(path, document), checked_series(path, document)
    if not series["begin_ns"]:
        raise BadInput(f"{path}, report.series: found nothing, as no request was served; expected "
                       "a run to draw")
    metrics = {state: fields[f"figures.mean_shares.{state}"] for state in STATES}
    metrics |= {name: fields[f"report.counters.{name}"]
                for name in ("requests_rejected", "requests_finished")}
    for kind in LATENCIES:
        for point in ("p50", "p90", "p99"):
            ns = fields[f"report.{kind}.{point}_ns"] if fields[f"report.{kind}.count"] else None
            metrics[f"{kind}_{point}_s"] = None if ns is None else ns / NS_PER_S
    series["internal_slots"] = [sum(parts) for parts in zip(*(series[f"{part}_slots"]
                                                              for part in INTERNAL))]
    shown = {name.removesuffix("_slots").removesuffix("_requests"): values
             for name, values in series.items()}
    shown["begin_s"] = [ns / NS_PER_S for ns in series["begin_ns"]]
    shown["end_s"] = (series["begin_ns"][-1] + series["length_ns"][-1]) / NS_PER_S
    model = f"Step times: {fields['time_model']}, {fields['time_model_provenance']}"
    allocator = fields["settings.allocator"]
    block_size = None if allocator.startswith("contiguous") else fields["report.block_size"]
    run = Run(allocator, block_size, fields["report.pool_slots"], metrics, shown)
    return read_source(document, document["settings"], (model,)), run
