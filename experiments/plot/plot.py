#!/usr/bin/env python3
"""Draws what recto's commands wrote, as PNG and SVG. `recto plot` runs it.

    plot.py DIR --out DIR
"""

import argparse
import os
import sys
import warnings
from pathlib import Path

sys.dont_write_bytecode = True
# The path as typed, not resolved: these files may be links.
sys.path.insert(0, str(Path(__file__).absolute().parents[1]))

import matplotlib  # noqa: E402

from plot import style  # noqa: E402
from plot.pictures import EXPECTED, BadInput, Picture, pictures_of  # noqa: E402


def draw_all(pictures: list[Picture], out: Path) -> None:
    try:
        out.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise BadInput(f"--out: {out}: cannot make this folder: {error.strerror}; expected a "
                       "folder, or a path where one can be made") from error
    for picture in pictures:
        style.set_up()
        figure = picture.draw()
        if figure is not None:
            print(*style.save(figure, out / picture.name, picture.foot), sep="\n")


def main(arguments: list[str]) -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("folder", type=Path)
    parser.add_argument("--out", type=Path, required=True)
    options = parser.parse_args(arguments)
    matplotlib.use("agg")
    # The warnings concern appearance, and would appear between the names of files.
    warnings.simplefilter("ignore")
    try:
        pictures = list(pictures_of(options.folder))
        if not pictures:
            raise BadInput(f"{options.folder}: nothing to draw; expected {EXPECTED}")
        draw_all(pictures, options.out)
    except BadInput as error:
        print(f"recto: {error}", file=sys.stderr)
        return 2
    except OSError as error:
        print(f"recto: {error.filename or options.out}: {error.strerror}", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    # The reader of the names may stop early.
    try:
        code = main(sys.argv[1:])
        sys.stdout.flush()
    except BrokenPipeError:
        code = 1
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    sys.exit(code)
