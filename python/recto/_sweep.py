"""recto sweep: a grid of settings on all cores, whose points can be read while it runs."""

from __future__ import annotations

import itertools
import json
import math
import subprocess
import tempfile
import time
import weakref
from pathlib import Path
from typing import IO, Any, Dict, Iterator, List, NamedTuple, Optional

from ._programs import FilePath, in_python, message_of, program, raise_for
from ._simulated import Drawn, drawing, source_of
from ._simulator import Folder, arguments_of
from ._tables import html_table, read_csv

_POLL_S = 0.02
_JOURNAL = "sweep.journal.jsonl"
_HTML_COLUMNS = ("output_tokens_per_s", "used_share", "internal_share", "running_requests_mean",
                 "ttft_p50_s", "ttft_p99_s", "tpot_mean_s")


class Point(NamedTuple):
    """A finished run of a sweep: one point of the grid, under one seed."""

    point: int  #: its number in the grid; the last axis varies fastest
    seed_index: int  #: 0 for the first seed
    axes: Dict[str, str]  #: the values of the axes, as given
    figures: Dict[str, float]  #: by the names of columns; empty if it failed
    error: Optional[str]


class Sweep(Drawn):
    """A sweep that runs. Iterating gives each run as soon as it is finished; everything else waits
    for the end. Table: "points", a row for each point, in the order of the grid."""

    def __init__(self, flags: Dict[str, Any], out: Optional[FilePath]) -> None:
        super().__init__({})
        self._place = Folder(out)
        self.folder = self._place.path
        #: Which points failed, and why, once it has ended.
        self.message = ""
        command = [program("recto"), "sweep", f"--out={self.folder}",
                   *arguments_of(flags, repeats_lists=True)]
        # One that an earlier sweep has left is of this one only when the program has taken it: it
        # empties or shortens it, be it by nothing, which changes its time.
        self._left_at_ns = _changed_at_ns(self.folder / _JOURNAL)
        self._err = tempfile.TemporaryFile()
        self._process = subprocess.Popen(
            command, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=self._err,
        )
        # The journal has what is finished: the same call with the same `out` continues.
        self._end = weakref.finalize(self, _end, self._process, self._err)
        self._grid: Dict[str, Any] = next(self._lines())
        self._axes: Dict[str, List[str]] = self._grid["grid"]["axes"]
        self._seeds: int = self._grid["grid"].get("seeds", 1)

    def _lines(self) -> Iterator[Dict[str, Any]]:
        """Those of the journal, as they are written; the first has versions, inputs, grid and
        columns. Ends with the process."""
        at, is_over = 0, False
        while not is_over:
            is_over = self._process.poll() is not None
            changed_at_ns = _changed_at_ns(self.folder / _JOURNAL)
            is_ours = changed_at_ns != self._left_at_ns or self._process.returncode == 0
            if changed_at_ns is not None and is_ours:
                with open(self.folder / _JOURNAL, "rb") as file:
                    file.seek(at)
                    for line in file:
                        if not line.endswith(b"\n"):
                            break  # in the middle of being written
                        at += len(line)
                        yield json.loads(line)
            if not is_over:
                time.sleep(_POLL_S)
        self._finish()

    def __iter__(self) -> Iterator[Point]:
        return map(self._point, itertools.islice(self._lines(), 1, None))

    def __enter__(self) -> "Sweep":
        return self

    def __exit__(self, *_: Any) -> None:
        self.stop()

    def __len__(self) -> int:
        """Runs of the whole grid: points times seeds."""
        return self._seeds * math.prod(map(len, self._axes.values()))

    def stop(self) -> None:
        """Ends it; what is finished stays in the journal."""
        self._end()

    def _point(self, line: Dict[str, Any]) -> Point:
        index, seed = divmod(line["run"], self._seeds)
        axes, rest = {}, index
        for name, values in reversed(self._axes.items()):
            rest, at = divmod(rest, len(values))
            axes[name] = values[at]
        figures = dict(zip(self._grid["columns"], line.get("values", ())))
        error = line.get("error")
        return Point(index, seed, {name: axes[name] for name in self._axes}, figures,
                     None if error is None else in_python(error, {}))

    def _finish(self) -> None:
        """Waits for the end. Failed points are rows, and no error."""
        code = self._process.wait()
        if not self._err.closed:
            with self._err as file:
                file.seek(0)
                self.message = in_python(message_of(file.read().decode("utf-8", "replace")), {})
        if code == 1 and (self.folder / "sweep.csv").is_file():
            code = 0
        raise_for("sweep", code, self.message)

    def _load(self) -> None:
        """`data` is the manifest: versions, inputs, grid, and which points failed. The table has
        means and intervals of several seeds."""
        self._finish()
        if not self._data:
            with open(self.folder / "manifest.json", encoding="utf-8") as file:
                self._data = json.load(file)
            self._tables["points"] = read_csv(self.folder / "sweep.csv")

    @property
    def source(self) -> str:
        """Versions, seed and the origin of step times, in a line."""
        axes = {name: ", ".join(values) for name, values in self._axes.items()}
        models = {row["time_model"]: {"name": row["time_model"],
                                      "provenance": row["time_model_provenance"]}
                  for row in self.rows if row["outcome"] == "ok"}
        return source_of(self.data, {**self._grid["grid"]["base"], **axes}, list(models.values()))

    def _pictures(self) -> Any:
        self._finish()
        return {each.name: each for each in drawing("pictures").sweep_pictures(self.folder)}

    def _repr_html_(self) -> str:
        columns = [*self._axes, "outcome", *_HTML_COLUMNS]
        return html_table(str(self), columns,
                          ([row[name] for name in columns] for row in self.rows))

    def __str__(self) -> str:
        sizes = " x ".join(f"{len(values)} of {name}" for name, values in self._axes.items())
        told = f", {self._seeds} seeds each" if self._seeds > 1 else ""
        return f"a sweep over {sizes or 'one point'}{told}"


def _changed_at_ns(path: Path) -> Optional[int]:
    """None: there is no such file."""
    return path.stat().st_mtime_ns if path.is_file() else None


def _end(process: "subprocess.Popen[bytes]", err: "IO[bytes]") -> None:
    if process.poll() is None:
        process.kill()
    process.wait()
    err.close()


def sweep(*, out: Optional[FilePath] = None, **flags: Any) -> Sweep:
    """Runs every combination of settings on all cores.

    >>> for point in recto.sweep(block_size=[8, 16, 32], allocator=["paged", "contiguous-max"]):
    ...     print(point.axes, point.figures["output_tokens_per_s"])

    Args:
        out: a folder for results: an interrupted sweep continues there when called again.
        flags: those of `recto sweep --help`; a list makes an axis. grid=FILE takes base, axes and
            seeds from a file.

    Raises:
        UsageError: a flag or a value that the program refuses.
    """
    return Sweep(flags, out)
