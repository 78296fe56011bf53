"""What the simulator found, as objects: tables, figures, HTML."""

from __future__ import annotations

import importlib
import importlib.util
import json
import sys
import tempfile
from pathlib import Path
from typing import Any, Dict, List, Optional, Sequence

from ._tables import Row, flat, html_table, needed, read_csv

_STATES = ("used", "reserved", "internal", "cached", "free", "overhead")


class Result:
    """What a command found."""

    def __init__(self, data: Dict[str, Any]) -> None:
        self._data = data
        self._tables: Dict[str, List[Row]] = {}

    @property
    def data(self) -> Dict[str, Any]:
        """As the command's JSON has it."""
        self._load()
        return self._data

    @property
    def tables(self) -> Dict[str, List[Row]]:
        """Rows by the table's name, the main table first."""
        self._load()
        return self._tables

    def _load(self) -> None:
        """What is not there from the beginning on."""

    @property
    def rows(self) -> List[Row]:
        """Those of the main table."""
        return next(iter(self.tables.values()))

    def to_pandas(self, table: Optional[str] = None) -> Any:
        """A DataFrame of one of `tables`, the main one by default. Needs pandas."""
        if table is not None and table not in self.tables:
            raise KeyError(f"no table {table!r}; there are {', '.join(map(repr, self.tables))}")
        pandas = needed("pandas", "to_pandas()")
        if table is not None:
            return pandas.DataFrame(self.tables[table])
        return pandas.DataFrame(self.rows, self._names())

    def _names(self) -> Optional[Sequence[str]]:
        """Names of the main table's columns; None: those of its rows."""
        return None

    def plot(self, figure: Optional[str] = None) -> Any:
        """A matplotlib Figure. Needs matplotlib and pandas."""
        raise NotImplementedError

    def _repr_html_(self) -> str:
        columns = list(self.rows[0]) if self.rows else []
        cells = ([row[name] for name in columns] for row in self.rows)
        return html_table(str(self), columns, cells)

    def __repr__(self) -> str:
        return f"<recto.{type(self).__name__}: {str(self).splitlines()[0]}>"


class Drawn(Result):
    """Results that `recto plot` draws."""

    def _pictures(self) -> Any:
        """{name: picture} of experiments/plot/pictures.py."""
        raise NotImplementedError

    @property
    def figures(self) -> List[str]:
        """The names of the figures that `plot` makes, the first one by default. Needs matplotlib
        and pandas."""
        return list(self._pictures())

    def plot(self, figure: Optional[str] = None) -> Any:
        """One of `figures`, as a matplotlib Figure, with versions and settings at its foot."""
        known = self._pictures()
        name = next(iter(known)) if figure is None else figure
        if name not in known:
            raise KeyError(f"no figure {name!r}; there are {', '.join(map(repr, known))}")
        matplotlib, style = needed("matplotlib", "plot()"), drawing("style")
        with matplotlib.rc_context():
            style.set_up()
            drawn = known[name].draw()
            if drawn is None:
                raise ValueError(f"{name}: these results have nothing to draw there")
            return style.with_foot(drawn, known[name].foot)


def drawing(module: str) -> Any:
    """A module of the package that draws for `recto plot`: in the wheel, or in a checkout."""
    needed("pandas", "plot()")
    # Loads the backend, with which a notebook learns to show figures.
    needed("matplotlib.pyplot", "plot()").draw_if_interactive()
    name = "recto._plot"
    if name not in sys.modules:
        here = Path(__file__).absolute().parent
        places = [here / "_plot", here.parents[1] / "experiments" / "plot"]
        folder = next((each for each in places if (each / "__init__.py").is_file()), None)
        if folder is None:
            looked = " or ".join(map(str, places))
            raise FileNotFoundError(f"expected the code that draws in {looked}")
        spec = importlib.util.spec_from_file_location(
            name, folder / "__init__.py", submodule_search_locations=[str(folder)]
        )
        assert spec is not None and spec.loader is not None
        sys.modules[name] = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(sys.modules[name])
    return importlib.import_module(f"{name}.{module}")


def source_of(document: Dict[str, Any], settings: Dict[str, Any], models: Sequence[Row]) -> str:
    """Versions, seed and the origin of step times, in a line."""
    recto = document["recto"]
    times = ", ".join(f"{model['name']}, {model['provenance']}" for model in models)
    return (f"recto {recto['version']}, commit {recto['commit'][:12]}; seed {settings['seed']}, "
            f"{settings['model']} on {settings['gpu']}; step times: {times}")


class Fragmentation(Drawn):
    """What `recto.fragmentation` found. Tables: "runs", a row for each allocator and block size
    with every figure; "series", a row for each of these and window of time."""

    def __init__(self, text: str, folder: Path, keeps: Any) -> None:
        self.folder, self._keeps, self._text = folder, keeps, text
        with open(folder / "report.json", encoding="utf-8") as file:
            super().__init__(json.load(file)["data"])
        with open(folder / "manifest.json", encoding="utf-8") as file:
            self.manifest: Dict[str, Any] = json.load(file)
        self._tables = {name: read_csv(folder / f"{file}.csv")
                        for name, file in (("runs", "fragmentation"), ("series", "series"))}
        self.source = source_of(self.manifest, self.manifest["configurations"][0],
                                self.data["time_models"])

    def _names(self) -> Sequence[str]:
        return [str(row["label"]) for row in self.data["rows"]]

    @property
    def recommended(self) -> Optional[str]:
        """The run that the page of `recto report` recommends; None without a paged one."""
        index = (self.data.get("headline") or {}).get("recommended")
        return None if index is None else self._names()[index]

    def advice(self) -> Dict[str, str]:
        """Which block size, why, and what its neighbours would gain and cost, by allocator."""
        panels = [panel for panel in self.data["panels"] if panel.get("advice")]
        return {panel["family"]: "\n".join([panel["advice"]["reason"],
                                            *panel["advice"]["trade_offs"]]) for panel in panels}

    def _pictures(self) -> Any:
        pictures = drawing("pictures")
        made = {each.name: each for each in pictures.fragmentation_pictures(self.folder)}
        # The bars first: they fit into any notebook.
        return {"pool_states": made.pop("pool_states"), **made}

    def _repr_html_(self) -> str:
        others = {"output tokens/s": "output_tokens_per_s", "TTFT p50, s": "ttft_p50_s",
                  "TTFT p99, s": "ttft_p99_s", "preemptions": "preemptions"}
        rows = ([row["label"], *(f"{100 * row['metrics'][state]:.1f}" for state in _STATES),
                 *(row["metrics"][name] for name in others.values())] for row in self.data["rows"])
        columns = ["% of the pool", *_STATES, *others]
        return html_table(f"{self.data['setting']}. {self.source}", columns, rows)

    def __str__(self) -> str:
        return self._text


class Simulation(Drawn):
    """What `recto.simulate` found. Tables: "figures", with one row, and "series", a row for each
    window of time; of several seeds "means", a row for each figure, with its 95 % interval."""

    def __init__(self, data: Dict[str, Any]) -> None:
        super().__init__(data)
        if "means" in data:
            self.tables["means"] = [{"figure": name, **flat(mean)}
                                    for name, mean in data["means"].items()]
            return
        self.tables["figures"] = [flat({"figures": data["figures"], "report": data["report"]})]
        series = {name: values for name, values in data["report"]["series"].items()
                  if isinstance(values, list)}
        self.tables["series"] = [dict(zip(series, values)) for values in zip(*series.values())]

    @property
    def figures_by_name(self) -> Dict[str, Any]:
        """{"output_tokens_per_s": 307.6, ...}; of several seeds their means."""
        if "means" not in self.tables:
            found: Dict[str, Any] = self.data["figures"]
            return found
        return {row["figure"].partition(".")[2]: row["mean"] for row in self.rows
                if row["figure"].startswith("figures.")}

    @property
    def source(self) -> str:
        """Versions, seed and the origin of step times, in a line."""
        first = self.data["runs"][0] if "means" in self.tables else self.data
        model = {"name": first["time_model"], "provenance": first["time_model_provenance"]}
        return source_of(self.data, self.data["settings"], [model])

    def _pictures(self) -> Any:
        if "means" in self.tables:
            raise ValueError("seeds: expected one seed for a figure, got several; use to_pandas()")
        pictures = drawing("pictures")
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / "run.json"
            path.write_text(json.dumps(self.data), encoding="utf-8")
            made = list(pictures.simulation_pictures(path))
        return {each.name.partition("_")[2]: each for each in made}

    def _repr_html_(self) -> str:
        if "means" in self.tables:
            return super()._repr_html_()
        return html_table(f"{self}. {self.source}", ("figure", "value"),
                          flat(self.data["figures"]).items())

    def __str__(self) -> str:
        settings = self.data["settings"]
        seeds = self.data.get("seeds", [settings["seed"]])
        return (f"{settings['trace'] or settings['workload'] or 'sharegpt-like'}, "
                f"{settings['model']} on {settings['tp']} x {settings['gpu']}, "
                f"{settings['allocator']} of {settings['block_size']}, "
                f"seed {', '.join(map(str, seeds))}")


class _Charted(Result):
    """Results of one small chart."""

    def plot(self, figure: Optional[str] = None) -> Any:
        """A matplotlib Figure."""
        if figure is not None:
            raise KeyError(f"no figure {figure!r}; there is one, without a name")
        style = drawing("style")
        with needed("matplotlib", "plot()").rc_context():
            style.set_up()
            drawn, axes = style.new_figure(str(self).splitlines()[0])
            self._draw(axes[0, 0], style)
            return drawn.figure

    def _draw(self, axis: Any, style: Any) -> None:
        raise NotImplementedError


class Plan(_Charted):
    """What `recto.plan` found. Tables: "memory", the parts of a card; "lengths" and "mean_lengths",
    a row for each length that was asked for."""

    def __init__(self, text: str, data: Dict[str, Any]) -> None:
        super().__init__(data)
        self._text = text
        card = data["memory_per_card"]
        self.tables["memory"] = [
            {"part": name[: -len("_bytes")], "bytes": size, "share": size / card["card_bytes"]}
            for name, size in card.items() if name != "card_bytes"
        ]
        for name in ("lengths", "mean_lengths"):
            self.tables[name] = [flat(row) for row in data.get(name) or []]

    def _draw(self, axis: Any, style: Any) -> None:
        parts = [row["part"].replace("_", " ") for row in self.rows]
        axis.barh(parts, [row["bytes"] / 2**30 for row in self.rows], color=style.SKY, hatch="///",
                  edgecolor="#333333")
        axis.invert_yaxis()
        axis.set_xlabel("GiB of a card")

    def __str__(self) -> str:
        return self._text


class Trace(_Charted):
    """What `recto.trace` found. Tables: "tail_waste", a row for each block size; "prefix_reuse", a
    row for each size of a prefix cache, if the trace tells what its tokens are."""

    def __init__(self, data: Dict[str, Any]) -> None:
        super().__init__(data)
        self.tables["tail_waste"] = data["tail_waste"]
        reuse = data["prefix_reuse"] or {"lru": []}
        self.tables["prefix_reuse"] = [flat(row) for row in reuse["lru"]]

    def _draw(self, axis: Any, style: Any) -> None:
        sizes = [row["block_size"] for row in self.rows]
        axis.plot(sizes, [100 * row["share"] for row in self.rows], **style.line(0))
        axis.set_xscale("log", base=2)
        axis.set(xlabel="block size, tokens", ylabel="padding in last blocks, %", ylim=(0, None))

    def __str__(self) -> str:
        data = self.data
        return (f"{data['file']}: {data['format']}, {data['requests']} requests in "
                f"{data['arrivals']['duration_s']:.1f} s, prompts of "
                f"{data['prompt_tokens']['mean']:.1f} tokens, outputs of "
                f"{data['output_tokens']['mean']:.1f} (means)")
