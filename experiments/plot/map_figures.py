"""Figures of a study's report.json: memory maps, and distributions of latencies."""

import base64

import numpy
from matplotlib.colors import to_rgb
from matplotlib.figure import SubFigure
from matplotlib.lines import Line2D

from . import style
from .legend import fitted_legend
from .result_files import Run

_COLUMNS = 360  # pixels of a map
_PAINTED = tuple(style.STATES)  # the order of RowState, and overhead
_MARKS = {"preempted": "x", "copied": "D", "evicted": "^"}
_KINDS = {"queueing": "queueing, s", "ttft": "time to first token, s",
          "tpot": "time per output token, s", "end_to_end": "end to end, s"}
_TITLE_PAD = 16  # points, for the marks above a map
_MARK_BINS = 60  # marks in one bin are drawn as one


def memory_map(data: dict, runs: list[Run]) -> SubFigure:
    """For each map the whole run, and one minute; each pixel shows the state of most of its
    slots."""
    figure, axes = style.new_figure("The pool, slot by slot: the whole run, and a minute of it",
                                    len(data["maps"]), 2, height=2.0)
    for (whole, close), one in zip(axes, data["maps"]):
        run, packed = runs[one["row"]], one["map"]
        end_s = packed["end_us"] / 1e6
        _show(whole, overview_states(packed), packed, (0, end_s))
        _mark(whole, packed)
        look, states = packed["close_look"], close_states(packed)
        begin_s = look["begin_us"] / 1e6
        range_s = (begin_s, begin_s + states.shape[1] * look["step_us"] / 1e6)
        if states.size:  # else the run has ended before
            _show(close, states, packed, range_s)
            whole.axvspan(*range_s, color=style.BLACK, lw=0.8, fill=False)
        whole.set_ylabel("slot")
        whole.set_title(run.title, pad=_TITLE_PAD)
        close.set_title(f"{run.label}, from {begin_s:,.0f} s", pad=_TITLE_PAD)
    for axis in axes[-1]:
        axis.set_xlabel("simulated time, s")
    signs = [Line2D([], [], linestyle="", marker=sign, markersize=4, color=style.BLACK, label=name)
             for name, sign in _MARKS.items()]
    patches = style.state_patches(_PAINTED)
    figure.legend(handles=[*patches, *signs], loc="outside lower center",
                  ncols=-(-(len(patches) + len(signs)) // 2))
    return figure


def overview_states(packed: dict) -> numpy.ndarray:
    """[lines, columns] of indices into _PAINTED, the lowest slots first: the state of most slots of
    a row at the column's time."""
    overview, rows = packed["overview"], packed["rows"]
    cells = numpy.frombuffer(base64.b64decode(overview["cells"]), numpy.uint8)
    cells = cells.reshape(-1, rows, 3)
    shares = [cells[:, :, 0] & 15, cells[:, :, 0] >> 4, cells[:, :, 1] & 15, cells[:, :, 1] >> 4]
    shares = numpy.stack([one.astype(int) for one in shares])
    shares = numpy.concatenate([shares, 15 - shares.sum(axis=0, keepdims=True)])
    times = numpy.asarray(overview["at_us"])
    middles = (numpy.arange(_COLUMNS) + 0.5) * packed["end_us"] / _COLUMNS
    columns = numpy.clip(numpy.searchsorted(times, middles, side="right") - 1, 0, None)
    return shares.argmax(axis=0)[columns].T


def close_states(packed: dict) -> numpy.ndarray:
    """The same for the minute."""
    states = numpy.frombuffer(base64.b64decode(packed["close_look"]["states"]), numpy.uint8)
    return states.reshape(-1, packed["rows"]).T


def _show(axis, states: numpy.ndarray, packed: dict, range_s: tuple[float, float]) -> None:
    states = with_overhead(states, packed)
    axis.imshow(painted(states), origin="lower", aspect="auto", interpolation="nearest",
                extent=(*range_s, 0, packed["pool_slots"]))
    axis.grid(visible=False)


def with_overhead(states: numpy.ndarray, packed: dict) -> numpy.ndarray:
    """[lines, columns], with the lines whose slots mostly can never hold a token: null blocks, and
    the remainder after the last whole block."""
    if not packed["blocks"]:
        return states
    edges = numpy.linspace(0, packed["pool_slots"], len(states) + 1)
    lows, highs = edges[:-1], edges[1:]
    begin = packed["null_blocks"] * packed["block_size"]
    end = packed["blocks"] * packed["block_size"]
    usable = numpy.clip(numpy.minimum(highs, end) - numpy.maximum(lows, begin), 0, None)
    is_overhead = usable < (highs - lows) / 2
    return numpy.where(is_overhead[:, None], _PAINTED.index("overhead"), states)


def painted(states: numpy.ndarray) -> numpy.ndarray:
    """[lines, columns, rgb]: the colours of states with patterns like their hatches, because no
    hatch fits into a pixel."""
    colours = numpy.asarray([to_rgb(style.STATES[state].colour) for state in _PAINTED])
    picture = colours[states]
    y, x = numpy.indices(states.shape)
    upwards, downwards = (x - y) % 8 < 2, (x + y) % 8 < 2
    for state, pattern, to in (("reserved", upwards, 1.0), ("internal", upwards | downwards, 1.0),
                               ("cached", (x % 6 < 2) & (y % 6 < 2), 0.0)):
        dotted = pattern & (states == _PAINTED.index(state))
        picture[dotted] = (picture[dotted] + to) / 2
    return picture


def _mark(axis, packed: dict) -> None:
    """Events of the whole run, above the map, each kind at its own height."""
    times = numpy.asarray(packed["overview"]["at_us"]) / packed["end_us"]
    for place, (name, sign) in enumerate(_MARKS.items()):
        happened = times[numpy.asarray(packed["overview"][name]) > 0]
        bins = numpy.unique(numpy.clip(happened * _MARK_BINS, 0, _MARK_BINS - 1).astype(int))
        axis.plot((bins + 0.5) / _MARK_BINS, [1.04 + 0.04 * place] * len(bins), sign,
                  markersize=2.5, color=style.BLACK, clip_on=False, linestyle="",
                  transform=axis.transAxes, in_layout=False)


def latency_distributions(data: dict, runs: list[Run]) -> SubFigure:
    """For each kind of latency, the share of requests that took at most that long; one line per
    run."""
    legend = fitted_legend([run.title for run in runs])
    figure, axes = style.new_figure("Latencies: share of requests that took at most so long", 2, 2,
                                    height=2.6, legend=legend)
    shares = [per_mille / 10 for per_mille in data["quantiles_per_mille"]]
    for axis, (kind, title) in zip(axes.flat, _KINDS.items()):
        drawn = [latency[kind] for latency in data["latency"]]
        for index, (run, seconds) in enumerate(zip(runs, drawn)):
            look = style.line(index) | {"markevery": (2 * index % 10, 10), "markersize": 3}
            axis.plot(seconds, shares[:len(seconds)], label=run.title, **look)
        positive = [value for seconds in drawn for value in seconds if value > 0]
        if positive and max(positive) >= 10 * min(positive):
            axis.set_xscale("symlog", linthresh=max(min(positive), max(positive) / 1e5))
            style.label_log_axis(axis)
        else:  # around a single value ticks would show its last digits
            axis.set_xlim(0, 1.08 * max(positive, default=1))
        axis.set(title=title, ylim=(0, 100))
    for axis in axes[:, 0]:
        axis.set_ylabel("% of requests")
    legend.draw(figure, axes[0, 0].get_lines())
    return figure
