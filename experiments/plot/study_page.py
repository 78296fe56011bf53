"""What a study's page has and its files do not: memory maps, whole distributions of latencies,
kernel times. The page is the one in the folder, or is made for the pictures."""

import subprocess
import tempfile
from dataclasses import dataclass, replace
from pathlib import Path

from page_fields import read_page_of_study
from report_fields import BadInput, first_difference
from result_files import Run, read_json


@dataclass(frozen=True)
class StudyPage:
    maps: dict[str, dict]  # by the run's label: a map as the page packs it
    per_mille: list[int]  # at which distributions are given
    latencies: dict[str, dict[str, list[float]]]  # by label and kind: seconds; none if uncounted
    close_look_us: int  # from where maps are drawn block by block
    kernel_s: dict[str, float]  # by label; of those that were measured


def read_page(path: Path, folder: Path, runs: list[Run]) -> StudyPage:
    """Refuses the page of another study than that of the folder."""
    data, manifest = read_page_of_study(path)
    difference = first_difference(manifest, read_json(folder / "manifest.json"))
    if difference:
        field, found, expected = difference
        raise BadInput(f"{path}, manifest.{field}: found {found}; expected {expected}, as "
                       f"{folder / 'manifest.json'} has: the page is of other results")
    labels = [row["label"] for row in data["rows"]]
    difference = first_difference(labels, [run.label for run in runs])
    if difference:
        field, found, expected = difference
        raise BadInput(f"{path}, rows{field}.label: found {found}; expected {expected}, as "
                       "fragmentation.csv has")
    for index, one in enumerate(data["maps"]):
        slots = runs[one["row"]].pool_slots
        if one["map"]["pool_slots"] != slots:
            raise BadInput(f"{path}, maps[{index}].map.pool_slots: found "
                           f"{one['map']['pool_slots']}; expected {slots}, as fragmentation.csv "
                           "has")
    kernels = {row["label"]: row["metrics"].get("kernel_s") for row in data["rows"]}
    return StudyPage({labels[one["row"]]: one["map"] for one in data["maps"]},
                     data["quantiles_per_mille"], dict(zip(labels, data["latency"])),
                     data["close_look_us"],
                     {label: value for label, value in kernels.items() if value is not None})


def page_of(folder: Path, runs: list[Run], recto: str | None) -> tuple[StudyPage | None, str]:
    """The folder's page, or one that `recto` makes; or None, and why there is none."""
    if (folder / "report.html").exists():
        return read_page(folder / "report.html", folder, runs), ""
    if recto is None:
        return None, f"{folder} has no report.html"
    with tempfile.TemporaryDirectory() as made:
        page = Path(made) / "report.html"
        done = subprocess.run([recto, "report", folder, "--html", page], capture_output=True,
                              text=True, check=False)
        if done.returncode == 0:
            return read_page(page, folder, runs), ""
        said = done.stderr.strip().splitlines() or [f"exit code {done.returncode}"]
        return None, f"recto report {folder}: {said[-1].removeprefix('recto: ')}"


def with_kernel_times(runs: list[Run], page: StudyPage | None) -> list[Run]:
    """Runs with `kernel_s` among their figures, where it was measured."""
    if page is None:
        return runs
    return [replace(run, figures=run.figures | {"kernel_s": page.kernel_s[run.label]})
            if run.label in page.kernel_s else run for run in runs]
