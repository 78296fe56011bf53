#!/usr/bin/env python3
"""The README's picture: two memory maps of `recto report`, on one clock.

    map_picture.py REPORT_JSON SVG

Shows the minute of each map's close look, each pixel in the state of most of its slots. States
differ by pattern and lightness as well as by colour; the picture follows the reader's light or dark
scheme. `recto plot` draws all maps, with the commit at the foot, which
would be another in each version of this picture.
"""

import base64
import json
import sys
from itertools import groupby
from pathlib import Path
from xml.sax.saxutils import escape

sys.path.insert(0, str(Path(__file__).absolute().parents[1]))

from plot.report_fields import BadInput  # noqa: E402

ROWS = {
    "contiguous-max": "contiguous: room for the longest context each",
    "paged 16": "paged: blocks of 16 tokens, anywhere",
}
SECONDS = 60
STATES = ("used", "reserved", "internal", "cached", "free")  # the order of RowState
# Colours in light and in dark, as on the page (experiments/report/web/palette.js).
COLOURS = {
    "used": ("#1b4f8a", "#8cc4ff"),
    "reserved": ("#6fb1dd", "#3c79ad"),
    "internal": ("#d9661f", "#f08a4b"),
    "cached": ("#f0d264", "#8d7a1f"),
    "free": ("#f1f2f4", "#22262e"),
}
EXPLAINED = {
    "used": "holds a token",
    "reserved": "held, will hold one",
    "internal": "held, never will",
    "free": "to be had",
}
# Background, text, lesser text, edges; light and dark.
PAPER = (
    ("#ffffff", "#1f2328", "#57606a", "#d0d7de"),
    ("#0d1117", "#e6edf3", "#9aa4af", "#30363d"),
)
# Lines over the colour, so that states can be distinguished without colour vision.
PATTERNS = {
    "reserved": '<path d="M-2,2 l4,-4 M0,8 l8,-8 M6,10 l4,-4" class="line"/>',
    "internal": '<path d="M-2,6 l4,4 M0,0 l8,8 M6,-2 l4,4" class="line"/>',
}
MARGIN, GAP, TOP = 24, 32, 146
MAP_WIDTH, MAP_HEIGHT = 400, 320
WIDTH = 2 * MARGIN + 2 * MAP_WIDTH + GAP
HEIGHT = TOP + MAP_HEIGHT + 66
TITLE = "A KV cache over one minute: every slot, and what it is for"
UP = "The whole pool upwards, time to the right."
FOOT = "Simulated, step times by a roofline with cited constants"


def style() -> str:
    def rules(index: int) -> str:
        back, words, faint, edge = PAPER[index]
        made = f".card{{fill:{back};stroke:{edge}}}.text{{fill:{words}}}.faint{{fill:{faint}}}"
        for state, colours in COLOURS.items():
            made += f".{state}{{fill:{colours[index]};stroke:{colours[index]}}}"
        return made

    fixed = (
        "text{font-family:-apple-system,'Segoe UI',Roboto,'Noto Sans',sans-serif;font-size:13px}"
        ".title{font-size:19px;font-weight:600}.strong{font-weight:600}.small{font-size:11.5px}"
        ".map path{fill:none;shape-rendering:crispEdges}"
        ".line{stroke:#fff;stroke-opacity:.5;stroke-width:1.4;fill:none}"
        ".end{text-anchor:end}"
    )
    return f"<style>{fixed}{rules(0)}@media(prefers-color-scheme:dark){{{rules(1)}}}</style>"


def text(x: float, y: float, classes: str, words: str) -> str:
    return f'<text x="{x:.1f}" y="{y:.1f}" class="{classes}">{escape(words)}</text>'


def patterns() -> str:
    size = 'width="8" height="8" patternUnits="userSpaceOnUse"'
    made = "".join(f'<pattern id="over-{state}" {size}>{inside}</pattern>'
                   for state, inside in PATTERNS.items())
    return f"<defs>{made}</defs>"


def map_paths(states: bytes, rows: int) -> str:
    """A path for each state; a stroke for each stretch of a row."""
    wide, tall = MAP_WIDTH * rows / len(states), MAP_HEIGHT / rows
    strokes = {state: "" for state in COLOURS if state != "free"}
    for row in range(rows):
        y, x = MAP_HEIGHT - (row + 0.5) * tall, 0
        for state, stretch in groupby(STATES[one] for one in states[row::rows]):
            width = len(list(stretch)) * wide
            if state != "free":
                strokes[state] += f"M{x:g} {y:g}h{width:g}"
            x += width
    made = ""
    for state, path in strokes.items():
        if path:
            made += f'<path class="{state}" d="{path}"/>'
            if state in PATTERNS:
                made += f'<path stroke="url(#over-{state})" d="{path}"/>'
    return f'<g stroke-width="{tall:g}">{made}</g>'


def legend() -> str:
    made, x = "", float(MARGIN)
    for state, means in EXPLAINED.items():
        place = f'x="{x:.1f}" y="76" width="14" height="14"'
        made += f'<rect {place} class="{state}"/>'
        if state in PATTERNS:
            made += f'<rect {place} fill="url(#over-{state})"/>'
        made += text(x + 20, 87.5, "small text strong", state)
        made += text(x + 26 + 6.4 * len(state), 87.5, "small faint", means)
        x += 46 + 6.4 * len(state) + 5.6 * len(means)
    return made


def wait_text(seconds: float) -> str:
    return f"{seconds / 60:,.0f} min" if seconds >= 60 else f"{seconds * 1000:,.0f} ms"


def panel(x: float, name: str, metrics: dict, paths: str, begin_s: float) -> str:
    made = text(x, 120, "text strong", name)
    made += text(x, 137, "small faint", f"whole run: {metrics['used'] * 100:.0f} % used, "
                 f"{metrics['output_tokens_per_s']:.0f} tokens/s, first token after "
                 f"{wait_text(metrics['ttft_p50_s'])}")
    size = f'width="{MAP_WIDTH}" height="{MAP_HEIGHT}"'
    made += f'<g class="map" transform="translate({x},{TOP})">'
    made += f'<rect {size} class="free"/>{paths}</g>'
    made += text(x, TOP + MAP_HEIGHT + 16, "small faint", f"{begin_s:,.0f} s")
    made += text(x + MAP_WIDTH, TOP + MAP_HEIGHT + 16, "small faint end",
                 f"{begin_s + SECONDS:,.0f} s")
    return made


def picture(data: dict) -> str:
    found = {data["rows"][one["row"]]["label"]: one for one in data.get("maps", [])}
    missing = [label for label in ROWS if label not in found]
    if missing:
        raise BadInput(f"maps: found none of {missing[0]}; expected {' and '.join(ROWS)}")
    maps = {label: found[label]["map"] for label in ROWS}
    begin_s = maps["paged 16"]["close_look"]["begin_us"] / 1e6
    if min(one["end_us"] for one in maps.values()) < (begin_s + SECONDS) * 1e6:
        raise BadInput(f"maps: found no {SECONDS} s from {begin_s:g} s on; expected runs at least "
                       "as long")
    card = f'x="0.5" y="0.5" width="{WIDTH - 1}" height="{HEIGHT - 1}" rx="8" class="card"'
    made = f"{patterns()}<rect {card}/>" + text(MARGIN, 38, "title text", TITLE)
    made += text(MARGIN, 59, "faint", data["setting"]) + legend()
    for number, (label, one) in enumerate(maps.items()):
        x = MARGIN + number * (MAP_WIDTH + GAP)
        metrics = data["rows"][found[label]["row"]]["metrics"]
        paths = map_paths(base64.b64decode(one["close_look"]["states"]), one["rows"])
        made += panel(x, ROWS[label], metrics, paths, begin_s)
    made += text(MARGIN, HEIGHT - 18, "small faint", f"{UP} {FOOT}")
    size = f'viewBox="0 0 {WIDTH} {HEIGHT}" role="img"'
    head = f'<svg xmlns="http://www.w3.org/2000/svg" {size}><title>{TITLE}</title>'
    return f"{head}{style()}{made}</svg>\n"


def main(data_file: str, target: str) -> int:
    try:
        drawn = picture(json.loads(Path(data_file).read_text("utf-8"))["data"])
    except BadInput as error:
        print(f"map_picture.py: {data_file}, {error}", file=sys.stderr)
        return 2
    except (OSError, ValueError, KeyError) as error:
        print(f"map_picture.py: {data_file}: expected the data of a study, as recto report writes "
              f"them ({error!r})", file=sys.stderr)
        return 2
    # One line per element, so that a diff of the picture is readable.
    Path(target).write_text(drawn.replace("><", ">\n<"))
    return 0


if __name__ == "__main__":
    if len(sys.argv) != 3:
        sys.exit(__doc__)
    sys.exit(main(*sys.argv[1:]))
