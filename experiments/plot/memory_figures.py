"""Pictures of simulated runs: where slots go, over time and on average, and what follows."""

from dataclasses import dataclass
from typing import Callable

import pandas
from matplotlib.figure import SubFigure

import style
from result_files import Run

_PANEL_COLUMNS = 3
_WINDOWS_MAX = 240  # windows of time in a panel; more would be thinner than a line


def pool_states(runs: list[Run]) -> SubFigure:
    """A bar for each run: mean share of the pool in each state."""
    figure, axes = style.new_figure("Where every KV slot was: mean share of the pool",
                                    height=1 + 0.28 * len(runs))
    axis = axes[0, 0]
    begin = [0.0] * len(runs)
    for state, area in style.STATES.items():
        shares = [100 * run.shares[state] for run in runs]
        axis.barh(range(len(runs)), shares, left=begin, height=0.72, label=state,
                  color=area.colour, hatch=area.hatch, edgecolor="#333333", linewidth=0.5)
        for row, (left, share) in enumerate(zip(begin, shares)):
            if share >= 5:
                axis.text(left + share / 2, row, f"{share:.1f}", ha="center", va="center",
                          fontsize=7, bbox={"boxstyle": "round,pad=0.15", "fc": "white", "lw": 0})
        begin = [left + share for left, share in zip(begin, shares)]
    axis.set(yticks=range(len(runs)), yticklabels=[run.label for run in runs], xlim=(0, 100),
             xlabel="% of the pool")
    axis.invert_yaxis()
    axis.grid(visible=False, axis="y")
    figure.legend(handles=style.state_patches(), loc="outside lower center",
                  ncols=len(style.STATES))
    return figure


def _panels(title: str, runs: list[Run], draw: Callable, y_label: str) -> SubFigure:
    """One small picture for each run, all on the same axes."""
    columns = min(_PANEL_COLUMNS, len(runs))
    rows = -(-len(runs) // columns)
    figure, axes = style.new_figure(title, rows, columns, height=1.9 if rows > 1 else 3.2)
    flat = list(axes.flat)
    for axis, run in zip(flat, runs):
        draw(axis, run)
        axis.set_title(run.label)
        axis.set_xlim(0, max(_end_s(other) for other in runs))
    for axis in flat[len(runs):]:
        axis.set_axis_off()
    for axis in axes[:, 0]:
        axis.set_ylabel(y_label)
    for axis in flat[max(0, len(runs) - columns):len(runs)]:
        axis.set_xlabel("simulated time, s")
    return figure


def _end_s(run: Run) -> float:
    last = run.series.iloc[-1]
    return last["begin_s"] + last["length_s"]


def _steps(run: Run, column: str) -> tuple[list[float], list[float]]:
    """Times and means, as a stepped line that ends with the last window. Neighbouring windows are
    joined, so that there are not too many."""
    joined = -(-len(run.series) // _WINDOWS_MAX)
    groups = pandas.RangeIndex(len(run.series)) // joined
    lengths = run.series["length_s"].groupby(groups).sum()
    sums = (run.series[column] * run.series["length_s"]).groupby(groups).sum()
    values = (sums / lengths).tolist()
    begins = run.series["begin_s"].groupby(groups).first()
    return [*begins, _end_s(run)], [*values, values[-1]]


def pool_over_time(runs: list[Run]) -> SubFigure:
    def draw(axis, run: Run) -> None:
        columns = [[100 * value / run.pool_slots for value in _steps(run, f"{state}_slots")[1]]
                   for state in style.STATES]
        axis.stackplot(_steps(run, "used_slots")[0], *columns, step="post", lw=0,
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
                  {"running": "running_requests", "waiting": "waiting_requests"},
                  lambda run: 1, "requests")


def blocked_slots(runs: list[Run]) -> SubFigure:
    return _lines("Free slots that cannot serve the head of the queue", runs,
                  {"blocked: the head does not fit": "blocked_free_slots",
                   "of it unplaceable: enough in sum, in no one hole": "unplaceable_free_slots"},
                  lambda run: 100 / run.pool_slots, "% of the pool")


def latencies(runs: list[Run]) -> SubFigure:
    kinds = {"queueing": "queueing, s", "ttft": "time to first token, s",
             "tpot": "time per output token, s", "normalized": "end to end / output token, s"}
    figure, axes = style.new_figure("Latencies: median, 90th and 99th percentile", 2, 2,
                                    height=1.0 + 0.2 * len(runs))
    for axis, (kind, title) in zip(axes.flat, kinds.items()):
        known = [(row, run.latencies[kind]) for row, run in enumerate(runs) if run.latencies[kind]]
        for index, (point, marker) in enumerate({"p50": "o", "p90": "s", "p99": "^"}.items()):
            axis.plot([latency[point] for _, latency in known], [row for row, _ in known], marker,
                      label=point, color=style.line(index)["color"], markersize=5)
        for row in set(range(len(runs))) - {row for row, _ in known}:
            axis.text(0.02, row, "no request", va="center", fontsize=7,
                      transform=axis.get_yaxis_transform())
        axis.set(yticks=range(len(runs)), yticklabels=[run.label for run in runs], title=title,
                 ylim=(-0.5, len(runs) - 0.5))
        axis.set_xscale("log" if _spans_a_decade(runs, kind) else "linear")
        axis.invert_yaxis()
    for axis in axes[:, 1]:
        axis.tick_params(labelleft=False)
    figure.legend(*axes[0, 0].get_legend_handles_labels(), loc="outside lower center", ncols=3)
    return figure


def _spans_a_decade(runs: list[Run], kind: str) -> bool:
    values = [value for run in runs for value in run.latencies[kind].values()]
    return bool(values) and 0 < 10 * min(values) <= max(values)


@dataclass(frozen=True)
class _BlockSizePanel:
    title: str
    value: Callable[[Run], float | None]
    if_none: str = "no request has it"  # what a panel without values says


_BLOCK_SIZE_PANELS = (
    _BlockSizePanel("reserved and internal, % of the pool",
                    lambda run: 100 * (run.shares["reserved"] + run.shares["internal"])),
    _BlockSizePanel("overhead, % of the pool", lambda run: 100 * run.shares["overhead"]),
    _BlockSizePanel("prefix hits, % of prompt tokens",
                    lambda run: 100 * run.figures["prefix_hit_share"]),
    _BlockSizePanel("block table, kB (mean)",
                    lambda run: run.figures["table_bytes_mean"] / 1e3),
    _BlockSizePanel("copied on write, MB", lambda run: run.figures["copied_bytes"] / 1e6),
    _BlockSizePanel("output tokens/s", lambda run: run.figures["output_tokens_per_s"]),
    _BlockSizePanel("time to first token, p99, s", lambda run: run.latencies["ttft"].get("p99")),
    _BlockSizePanel("time per output token, mean, ms",
                    lambda run: 1e3 * run.latencies["tpot"]["mean"]
                    if run.latencies["tpot"] else None),
    _BlockSizePanel("attention of a full pool, measured, ms",
                    lambda run: 1e3 * run.figures["kernel_s"]
                    if "kernel_s" in run.figures else None, "not measured on this card"),
)


def block_sizes(runs: list[Run]) -> SubFigure | None:
    """The costs and benefits of each block size; None if fewer than two were run."""
    paged = [run for run in runs if run.is_paged]
    sizes = sorted({run.block_size for run in paged})
    if len(sizes) < 2:
        return None
    figure, axes = style.new_figure("What a block size costs and gives", 3, 3, height=2.0)
    for axis, panel in zip(axes.flat, _BLOCK_SIZE_PANELS):
        for index, allocator in enumerate(dict.fromkeys(run.allocator for run in paged)):
            own = sorted((run.block_size, panel.value(run)) for run in paged
                         if run.allocator == allocator and panel.value(run) is not None)
            axis.plot(*(zip(*own) if own else ((), ())), label=allocator, **style.line(index))
        axis.set_xscale("log", base=2)
        axis.set_xticks(sizes, [str(size) for size in sizes])
        axis.minorticks_off()
        axis.set_xlim(sizes[0] / 1.2, 1.2 * sizes[-1])
        values = [panel.value(run) for run in paged if panel.value(run) is not None]
        style.set_heights(axis, values)
        if not values:
            axis.text(0.5, 0.5, panel.if_none, ha="center", va="center",
                      transform=axis.transAxes, fontsize=8)
        axis.set_title(panel.title)
    for axis in axes[-1]:
        axis.set_xlabel("block size, tokens")
    figure.legend(*axes[0, 0].get_legend_handles_labels(), loc="outside lower center", ncols=4)
    return figure


FIGURES = {
    "pool_states": pool_states,
    "pool_over_time": pool_over_time,
    "batch_and_queue": batch_and_queue,
    "blocked_slots": blocked_slots,
    "latencies": latencies,
    "block_sizes": block_sizes,
}
