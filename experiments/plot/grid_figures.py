"""Figures of tables whose rows are points of a grid: sweeps, and the sharpness of error bounds."""

from __future__ import annotations

from pathlib import Path

import pandas
from matplotlib.figure import SubFigure

from . import style
from .legend import Legend, ShortNames, fitted_legend, label_ticks
from .report_fields import BadInput
from .result_files import Source, read_json, read_source, rejections_told

_SWEEP_FIGURES = {
    "rejected_share": "rejected, share of requests",
    "output_tokens_per_s": "output tokens/s",
    "goodput_per_s": "requests/s within latency limits",
    "used_share": "used, share of the pool",
    "internal_share": "internal, share of the pool",
    "ttft_p50_s": "time to first token, median, s",
    "ttft_p99_s": "time to first token, p99, s",
    "tpot_mean_s": "time per output token, mean, s",
    "preemptions": "preemptions",
}
_LINES_MAX = 24
_LIMITS = ("ttft_limit_ms", "tpot_limit_ms")  # without them no request exceeds one


def read_sweep(folder: Path) -> tuple[Source, pandas.DataFrame, list[str]]:
    """The points that succeeded, and the names of the axes."""
    manifest = read_json(folder / "manifest.json")
    base, axes = manifest["grid"].get("base", {}), list(manifest["grid"]["axes"])
    settings = {name: value for name, value in base.items() if name not in axes}
    table = pandas.read_csv(folder / "sweep.csv")
    well = _with_rejected_shares(table[table["outcome"] == "ok"])
    if well.empty:
        raise BadInput(f"{folder / 'sweep.csv'}: no point succeeded; there is nothing to draw")
    left_out = len(table) - len(well)
    remarks = (f"{left_out} of {len(table)} points failed and are left out",) * bool(left_out)
    rejecting = int((well["rejected_share"] > 0).sum())
    remarks += rejections_told(rejecting, len(well), "points")
    models = well["time_model"] + ", " + well["time_model_provenance"]
    remarks += tuple(f"Step times: {model}" for model in models.unique())
    if not any(base.get(limit) is not None or limit in axes for limit in _LIMITS):
        well = well.drop(columns=[name for name in well if "goodput_per_s" in name])
    seeds = manifest["grid"].get("seeds", 1)
    return read_source(manifest, settings, remarks, seeds), well, axes


def _with_rejected_shares(table: pandas.DataFrame) -> pandas.DataFrame:
    requests = table["requests_rejected"] + table["requests_finished"]
    shares = {"rejected_share" + part: table["requests_rejected" + part] / requests
              for part in ("", "_ci95") if "requests_rejected" + part in table}
    return table.assign(**shares)


def sweep(table: pandas.DataFrame, axes: list[str], along: str) -> SubFigure:
    """A panel for each figure, over the values of one axis; a line for each of the others."""
    title = f"Over {along.replace('_', ' ')}" + style.hollow_told(
        (table["rejected_share"] > 0).any())
    others = [axis for axis in axes if axis != along]
    lines = list(table.groupby(others, sort=False)) if others else [((), table)]
    names = ShortNames(table, axes)
    legend = _legend_of(lines, others, names)
    figure, panels = style.new_figure(title, 3, 3, height=2.2, legend=legend)
    shown = {column: name for column, name in _SWEEP_FIGURES.items() if column in table}
    for panel in panels.flat[len(shown):]:
        panel.set_axis_off()
    for panel, (column, name) in zip(panels.flat, shown.items()):
        _draw_lines(panel, column, lines[:_LINES_MAX], table[along])
        panel.set_title(name)
        heights = table[column] + table.get(f"{column}_ci95", 0)
        style.set_heights(panel, heights.dropna())  # none where no request has the latency
        _mark_values(panel, table[along], names)
    for panel in panels.flat[len(shown) - 3:len(shown)]:
        panel.set_xlabel(along.replace("_", " "))
    if legend.labels or legend.title:
        handles, _ = panels[0, 0].get_legend_handles_labels()
        legend.draw(figure, handles[:len(legend.labels)])
    return figure


def _legend_of(lines: list[tuple], others: list[str], names: ShortNames) -> Legend:
    """The legend of the lines, if there are several, and of letters that stand for values."""
    if len(lines) == 1:
        return fitted_legend([], "\n".join(names.told))
    told = "Lines: " + ", ".join(other.replace("_", " ") for other in others)
    hidden = len(lines) - _LINES_MAX
    told += f" (the first {_LINES_MAX} of {len(lines)})" if hidden > 0 else ""
    labels = [", ".join(names.label(*pair) for pair in zip(others, values))
              for values, _ in lines[:_LINES_MAX]]
    return fitted_legend(labels, "\n".join([*names.told, told]))


def _draw_lines(panel, column: str, lines: list[tuple], values: pandas.Series) -> None:
    """Over the column of `values`, which are those of all lines."""
    places = _places(values)
    for index, (_, rows) in enumerate(lines):
        xs = rows[values.name] if places is None else rows[values.name].map(places)
        panel.errorbar(xs, rows[column], yerr=rows.get(f"{column}_ci95"), label=f"line {index}",
                       capsize=2, **style.line(index))
        rejecting = rows["rejected_share"] > 0
        style.mark_hollow(panel, xs[rejecting], rows[column][rejecting], index)


def _places(values: pandas.Series) -> dict | None:
    """The places of names on an axis; None for numbers, which are places themselves."""
    if pandas.api.types.is_numeric_dtype(values):
        return None
    return {value: index for index, value in enumerate(values.unique())}


def _mark_values(panel, values: pandas.Series, names: ShortNames) -> None:
    places = _places(values)
    if places is not None:
        labels = [names.tick(values.name, value) for value in places]
        label_ticks(panel, list(places.values()), labels, share_of_width=0.29)
        return
    distinct = sorted(values.unique())
    if distinct[0] > 0 and distinct[-1] >= 8 * distinct[0]:
        panel.set_xscale("log", base=2)
        panel.minorticks_off()
    if len(distinct) <= 10:
        label_ticks(panel, distinct, [f"{value:g}" for value in distinct], share_of_width=0.29)


def read_numerics(folder: Path) -> tuple[Source, pandas.DataFrame, pandas.DataFrame]:
    manifest = read_json(folder / "manifest.json")
    sharpness, thresholds = (pandas.read_csv(folder / f"{name}.csv")
                             for name in ("sharpness", "thresholds"))
    seeds = ", ".join(str(seed) for seed in sharpness["seed"].unique())
    settings = {"seed": seeds, "as in": manifest.get("repeat")}
    return read_source(manifest, settings, ()), sharpness, thresholds


def sharpness(table: pandas.DataFrame) -> SubFigure:
    figure, axes = style.new_figure("How much of the error bound is used: |error| / bound", 1, 2)
    bounds = {"out_probabilistic": "probabilistic bound of out",
              "out_worst_case": "worst-case bound of out"}
    for axis, (bound, title) in zip(axes.flat, bounds.items()):
        for index, (name, rows) in enumerate(table.groupby("type", sort=False)):
            axis.plot(rows["num_keys"], rows[f"{bound}.worst"], label=f"{name}, worst",
                      **style.line(index))
            faint = style.line(index) | {"linewidth": 0.7, "markersize": 2.5}
            axis.plot(rows["num_keys"], rows[f"{bound}.median"], label=f"{name}, median", **faint)
        axis.axhline(1, color=style.BLACK, linewidth=1)
        axis.set(xscale="log", yscale="log", xlabel="keys", title=title)
    figure.legend(*axes[0, 0].get_legend_handles_labels(), loc="outside lower center", ncols=4)
    return figure


def thresholds(table: pandas.DataFrame) -> SubFigure:
    """For each type and fault, the smallest size that each judge refuses; judges that refuse
    everything, or nothing, have no point."""
    types, faults = table["type"].unique(), table["fault"].unique()
    figure, axes = style.new_figure("The smallest fault that a judge detects", len(types),
                                    len(faults), height=2.2)
    for axis_row, name in zip(axes, types):
        for axis, fault in zip(axis_row, faults):
            here = table[(table["type"] == name) & (table["fault"] == fault)]
            for index, (judge, rows) in enumerate(here.groupby("judge", sort=False)):
                seen = rows[rows["sight"] == "seen"]
                axis.plot(seen["num_keys"], seen["size"], label=judge, **style.line(index))
            axis.set(xscale="log", yscale="log", title=f"{name}: {fault}")
        axis_row[0].set_ylabel("size of the fault")
    for axis in axes[-1]:
        axis.set_xlabel("keys")
    figure.legend(*axes[0, 0].get_legend_handles_labels(), loc="outside lower center", ncols=6)
    return figure
