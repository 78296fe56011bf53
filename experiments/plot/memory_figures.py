"""Figures of simulated runs: states of slots, over time and on average, and their effects."""

from __future__ import annotations

from typing import Callable

import numpy
from matplotlib.figure import SubFigure

from . import style
from .result_files import Run

_PANEL_COLUMNS = 3
_PERCENTILE_STEP = 0.2  # rows between percentiles, whose intervals would hide each other
_WINDOWS_MAX = 240  # windows of time in a panel; more would be thinner than a line


def pool_states(runs: list[Run]) -> SubFigure:
    """A bar for each run: mean share of the pool in each state."""
    figure, axes = style.new_figure("Where every KV slot was: mean share of the pool",
                                    height=1 + 0.28 * len(runs))
    axis = axes[0, 0]
    begin = [0.0] * len(runs)
    for state, area in style.STATES.items():
        shares = [100 * run.metrics[state] for run in runs]
        axis.barh(range(len(runs)), shares, left=begin, height=0.72, label=state,
                  color=area.colour, hatch=area.hatch, edgecolor="#333333", linewidth=0.5)
        for row, (left, share) in enumerate(zip(begin, shares)):
            if share >= 5:
                axis.text(left + share / 2, row, _share_told(runs[row], state), ha="center",
                          va="center", fontsize=7,
                          bbox={"boxstyle": "round,pad=0.15", "fc": "white", "lw": 0})
        begin = [left + share for left, share in zip(begin, shares)]
    axis.set(yticks=range(len(runs)), yticklabels=[run.title for run in runs], xlim=(0, 100),
             xlabel="% of the pool")
    axis.invert_yaxis()
    axis.grid(visible=False, axis="y")
    figure.legend(handles=style.state_patches(), loc="outside lower center",
                  ncols=len(style.STATES))
    return figure


def _share_told(run: Run, state: str) -> str:
    """The share, with its interval over several seeds if there is room."""
    share, half_width = run.metrics[state], run.half_width(state)
    is_alone = half_width is None or share < 0.12
    return f"{100 * share:.1f}" + ("" if is_alone else f" ± {100 * half_width:.1f}")


def _panels(title: str, runs: list[Run], draw: Callable, y_label: str) -> SubFigure:
    """One small picture for each run, all on the same axes."""
    columns = min(_PANEL_COLUMNS, len(runs))
    rows = -(-len(runs) // columns)
    figure, axes = style.new_figure(title, rows, columns, height=1.9 if rows > 1 else 3.2)
    flat = list(axes.flat)
    for axis, run in zip(flat, runs):
        draw(axis, run)
        axis.set_title(run.title)
        axis.set_xlim(0, max(other.series["end_s"] for other in runs))
    for axis in flat[len(runs):]:
        axis.set_axis_off()
    for axis in axes[:, 0]:
        axis.set_ylabel(y_label)
    for axis in flat[max(0, len(runs) - columns):len(runs)]:
        axis.set_xlabel("simulated time, s")
    return figure


def _steps(run: Run, name: str) -> tuple[list[float], list[float]]:
    """Times and means, as a stepped line that ends with the last window. Neighbouring windows are
    joined, so that there are not too many."""
    edges = [*run.series["begin_s"], run.series["end_s"]]
    lengths = numpy.diff(edges)
    joined = -(-len(lengths) // _WINDOWS_MAX)
    groups = numpy.arange(len(lengths)) // joined
    sums = numpy.bincount(groups, lengths * run.series[name])
    values = (sums / numpy.bincount(groups, lengths)).tolist()
    return [*edges[:-1:joined], edges[-1]], [*values, values[-1]]


def pool_over_time(runs: list[Run]) -> SubFigure:
    def draw(axis, run: Run) -> None:
        columns = [[100 * value / run.pool_slots for value in _steps(run, state)[1]]
                   for state in style.STATES]
        axis.stackplot(_steps(run, "used")[0], *columns, step="post", lw=0,
                       edgecolor="#333333",
                       colors=[area.colour for area in style.STATES.values()],
                       hatch=[area.hatch for area in style.STATES.values()])
        axis.set_ylim(0, 100)

    figure = _panels("The pool over time", runs, draw, "% of the pool")
    figure.legend(handles=style.state_patches(), loc="outside lower center",
                  ncols=len(style.STATES))
    return figure


def _lines(title: str, runs: list[Run], columns: dict[str, str], scale: Callable,
           y_label: str) -> SubFigure:
    """In each panel a line for each of `columns`, {label: column}."""
    def draw(axis, run: Run) -> None:
        for index, column in enumerate(columns.values()):
            times, values = _steps(run, column)
            look = style.line(index) | {"marker": None}
            axis.plot(times, [scale(run) * value for value in values], drawstyle="steps-post",
                      **look)
        axis.set_ylim(bottom=0)

    figure = _panels(title, runs, draw, y_label)
    handles = figure.axes[0].get_lines()
    figure.legend(handles, list(columns), loc="outside lower center", ncols=len(columns))
    return figure


def batch_and_queue(runs: list[Run]) -> SubFigure:
    return _lines("Requests in the batch and in the queue", runs,
                  {"running": "running", "waiting": "waiting"},
                  lambda run: 1, "requests")


def blocked_slots(runs: list[Run]) -> SubFigure:
    return _lines("Free slots that cannot serve the head of the queue", runs,
                  {"blocked: the head does not fit": "blocked_free",
                   "unplaceable: enough in total, in no single hole": "unplaceable_free"},
                  lambda run: 100 / run.pool_slots, "% of the pool")


def latencies(runs: list[Run]) -> SubFigure:
    kinds = {"queueing": "queueing, s", "ttft": "time to first token, s",
             "tpot": "time per output token, s", "normalized": "end to end / output token, s"}
    figure, axes = style.new_figure("Latencies: median, 90th and 99th percentile", 2, 2,
                                    height=1.0 + 0.2 * len(runs))
    for axis, (kind, title) in zip(axes.flat, kinds.items()):
        _draw_percentiles(axis, runs, kind)
        axis.set(yticks=range(len(runs)), yticklabels=[run.title for run in runs], title=title,
                 ylim=(-0.5, len(runs) - 0.5))
        values = [value for run in runs for point in ("p50", "p90", "p99")
                  if (value := run.value(f"{kind}_{point}_s")) is not None]
        if values and 0 < 10 * min(values) <= max(values):
            axis.set_xscale("log")
            style.label_log_axis(axis)
        axis.invert_yaxis()
    for axis in axes[:, 1]:
        axis.tick_params(labelleft=False)
    figure.legend(*axes[0, 0].get_legend_handles_labels(), loc="outside lower center", ncols=3)
    return figure


def _draw_percentiles(axis, runs: list[Run], latency: str) -> None:
    for index, (point, marker) in enumerate({"p50": "o", "p90": "s", "p99": "^"}.items()):
        column = f"{latency}_{point}_s"
        known = {row: run for row, run in enumerate(runs) if run.value(column) is not None}
        are_means = any(run.is_mean for run in runs)
        places = [row + _PERCENTILE_STEP * (index - 1) * are_means for row in known]
        widths = [run.half_width(column) for run in known.values() if are_means]
        axis.errorbar([run.value(column) for run in known.values()], places, fmt=marker,
                      xerr=widths if are_means else None, label=point,
                      color=style.line(index)["color"], markersize=5, capsize=2)
    for row, run in enumerate(runs):
        if run.value(f"{latency}_p50_s") is None:
            axis.text(0.02, row, "no request", va="center", fontsize=7,
                      transform=axis.get_yaxis_transform())


# Columns whose sum is shown, the factor of their unit, and the text of a panel without values.
_NONE_HAS_IT, _NOT_HERE = "no request has a value", "not in these results"
_BLOCK_SIZE_PANELS = {
    "rejected, % of requests": (("rejected_share",), 100, _NONE_HAS_IT),
    "reserved and internal, % of the pool":
        (("reserved", "internal"), 100, _NONE_HAS_IT),
    "overhead, % of the pool": (("overhead",), 100, _NONE_HAS_IT),
    "prefix hits, % of prompt tokens": (("prefix_hit",), 100, _NOT_HERE),
    "block table, kB (mean)": (("table_bytes",), 1e-3, _NOT_HERE),
    "copied on write, MB": (("copied_bytes",), 1e-6, _NOT_HERE),
    "output tokens/s": (("output_tokens_per_s",), 1, _NOT_HERE),
    "requests/s within latency limits": (("goodput_per_s",), 1, _NOT_HERE),
    "time to first token, median, s": (("ttft_p50_s",), 1, _NONE_HAS_IT),
    "time to first token, p99, s": (("ttft_p99_s",), 1, _NONE_HAS_IT),
    "time per output token, mean, ms": (("tpot_mean_s",), 1e3, _NONE_HAS_IT),
    "attention of a full pool, measured, ms": (("kernel_s",), 1e3, "not measured on this card"),
}


def _draw_sizes(axis, runs: list[Run], columns: tuple[str, ...], scale: float) -> list[float]:
    """A line for each allocator. The tops of the lines and intervals."""
    tops = []
    for index, allocator in enumerate(dict.fromkeys(run.allocator for run in runs)):
        own = sorted((run for run in runs if run.allocator == allocator and
                      run.value(*columns) is not None), key=lambda run: run.block_size)
        sizes = [run.block_size for run in own]
        values = [scale * run.value(*columns) for run in own]
        widths = [scale * (run.half_width(*columns) or 0) for run in own]
        axis.errorbar(sizes, values, yerr=widths if any(widths) else None, capsize=2,
                      label=allocator, **style.line(index))
        hollow = [(size, value) for run, size, value in zip(own, sizes, values) if run.rejected]
        style.mark_hollow(axis, [size for size, _ in hollow], [value for _, value in hollow], index)
        tops += map(sum, zip(values, widths))
    return tops


def block_sizes(runs: list[Run]) -> SubFigure | None:
    """The costs and benefits of each block size; None if fewer than two were run."""
    paged = [run for run in runs if run.block_size]
    sizes = sorted({run.block_size for run in paged})
    if len(sizes) < 2:
        return None
    hollow = style.hollow_told(any(run.rejected for run in paged))
    figure, axes = style.new_figure("What a block size costs and gives" + hollow, 4, 3, height=1.9)
    # Without goodput where no run has latency limits.
    panels = {title: panel for title, panel in _BLOCK_SIZE_PANELS.items()
              if panel[0] != ("goodput_per_s",) or panel[0][0] in paged[0].metrics}
    for axis in axes.flat[len(panels):]:
        axis.set_axis_off()
    for axis, (title, (columns, scale, if_none)) in zip(axes.flat, panels.items()):
        tops = _draw_sizes(axis, paged, columns, scale)
        axis.set_xscale("log", base=2)
        axis.set_xticks(sizes, [str(size) for size in sizes])
        axis.minorticks_off()
        axis.set_xlim(sizes[0] / 1.2, 1.2 * sizes[-1])
        style.set_heights(axis, tops)
        if not tops:
            axis.text(0.5, 0.5, if_none, ha="center", va="center", transform=axis.transAxes,
                      fontsize=8)
        axis.set_title(title)
    for axis in axes.flat[len(panels) - 3:len(panels)]:
        axis.set_xlabel("block size, tokens")
    figure.legend(*axes[0, 0].get_legend_handles_labels(), loc="outside lower center", ncols=4)
    return figure


FIGURES = {draw.__name__: draw for draw in (pool_states, pool_over_time, batch_and_queue,
                                            blocked_slots, latencies, block_sizes)}

# Figures that show one run, not means.
OVER_TIME = ("pool_over_time", "batch_and_queue", "blocked_slots")
