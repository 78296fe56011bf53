#!/usr/bin/env python3
"""The README's picture: where the slots of a KV pool are, per allocator.

    pool_picture.py FRAGMENTATION_CSV SVG

The table is what `recto fragmentation --out` writes. States differ by pattern as well as by colour;
the picture follows the reader's light or dark scheme.
"""

import csv
import sys
from pathlib import Path
from xml.sax.saxutils import escape

# State, its name in the table, colour in light and in dark, colours of the text on it.
STATES = (
    ("used", "#0b6aa8", "#4aa8e0", "#ffffff", "#0d1117"),
    ("reserved", "#f0a63a", "#d98f24", "#1f2328", "#0d1117"),
    ("internal", "#c9502e", "#e0714f", "#ffffff", "#0d1117"),
    ("cached", "#8fcfb5", "#3f8f72", "#1f2328", "#ffffff"),
    ("free", "#eef1f4", "#2a313a", "#57606a", "#aeb7c0"),
)
# Background, text, lesser text, edges; light and dark.
PAPER = (
    ("#ffffff", "#1f2328", "#57606a", "#d0d7de"),
    ("#0d1117", "#e6edf3", "#9aa4af", "#30363d"),
)
EXPLAINED = {
    "used": "holds a token",
    "reserved": "will hold one",
    "internal": "never will, but is taken",
    "cached": "kept for reuse",
    "free": "to be had",
}
# Allocator, block size, what the picture calls it.
ROWS = (
    ("contiguous-max", "1", "contiguous", "the longest context for each"),
    ("contiguous-pow2", "1", "contiguous", "powers of two"),
    ("contiguous-oracle", "1", "contiguous", "lengths known beforehand"),
    ("paged", "16", "paged", "blocks of 16"),
    ("paged", "128", "paged", "blocks of 128"),
    ("prefix-cached", "16", "paged, prefix cache", "blocks of 16"),
)
TITLE = "Where the slots of a KV cache are"
FOOT = (
    "recto fragmentation; simulated, step times by a roofline with cited constants; "
    "first token: median wait"
)
LEFT, BAR, TOP, STEP, HEIGHT = 216, 470, 128, 46, 28
WIDTH = LEFT + BAR + 194
LEAST_LABELLED = 5  # percent

# Lines over the colour: what is told apart without colour vision.
PATTERNS = {
    "reserved": '<path d="M-2,2 l4,-4 M0,8 l8,-8 M6,10 l4,-4" class="line"/>',
    "internal": '<path d="M0,0 l8,8 M8,0 l-8,8" class="line"/>',
    "cached": '<circle cx="4" cy="4" r="1.1" class="dot"/>',
}


def style() -> str:
    def rules(index: int) -> str:
        back, words, faint, edge = PAPER[index]
        made = f".card{{fill:{back};stroke:{edge}}}.text{{fill:{words}}}.faint{{fill:{faint}}}"
        made += f".edge{{stroke:{back}}}"
        for state, *colours in STATES:
            made += f".{state}{{fill:{colours[index]}}}.on-{state}{{fill:{colours[2 + index]}}}"
        return made

    fixed = (
        "text{font-family:-apple-system,'Segoe UI',Roboto,'Noto Sans',sans-serif;font-size:13px}"
        ".title{font-size:19px;font-weight:600}.strong{font-weight:600}.small{font-size:11.5px}"
        ".line{stroke:#000;stroke-opacity:.22;stroke-width:1.4;fill:none}"
        ".dot{fill:#000;fill-opacity:.3}"
        ".number{text-anchor:end;font-variant-numeric:tabular-nums}.middle{text-anchor:middle}"
    )
    return f"<style>{fixed}{rules(0)}@media(prefers-color-scheme:dark){{{rules(1)}}}</style>"


def text(x: float, y: float, classes: str, words: str) -> str:
    return f'<text x="{x:.1f}" y="{y:.1f}" class="{classes}">{escape(words)}</text>'


def patterns() -> str:
    size = 'width="8" height="8" patternUnits="userSpaceOnUse"'
    made = ""
    for state, inside in PATTERNS.items():
        made += f'<pattern id="over-{state}" {size}>{inside}</pattern>'
    return f"<defs>{made}</defs>"


def box(x: float, y: float, width: float, height: float, state: str) -> str:
    place = f'x="{x:.1f}" y="{y:.1f}" width="{width:.1f}" height="{height}"'
    made = f'<rect {place} class="{state} edge"/>'
    if state in PATTERNS:
        made += f'<rect {place} fill="url(#over-{state})"/>'
    return made


def bar(y: float, row: dict[str, str]) -> str:
    made, x = "", float(LEFT)
    for state, *_ in STATES:
        share = 100 * float(row[f"figures.mean_shares.{state}"])
        width = BAR * share / 100
        if width >= 0.05:
            made += box(x, y, width, HEIGHT, state)
        if share >= LEAST_LABELLED:
            classes = f"middle small strong on-{state}"
            made += text(x + width / 2, y + 18.5, classes, f"{share:.0f} %")
        x += width
    return made


def legend() -> str:
    made, x = "", float(LEFT)
    for state, *_ in STATES:
        made += box(x, 82, 14, 14, state) + text(x + 20, 93.5, "small text strong", state)
        made += text(x, 111, "small faint", EXPLAINED[state])
        x += 12 + max(6.1 * len(EXPLAINED[state]), 30 + 7 * len(state))
    return made


def described(row: dict[str, str]) -> str:
    slots, requests = int(row["report.pool_slots"]), int(row["report.counters.requests_arrived"])
    setup = row["report.time_model"].split(": ")[1].split(",")[0]  # "OPT-13B on 1 x A100-40"
    return f"mean share of a pool of {slots:,} slots that serves {requests:,} requests; {setup}"


def picture(rows: list[dict[str, str]]) -> str:
    by_name = {(row["allocator"], row["block_size"]): row for row in rows}
    height = TOP + STEP * len(ROWS) + 34
    card = f'x="0.5" y="0.5" width="{WIDTH - 1}" height="{height - 1}" rx="8" class="card"'
    made = f"{patterns()}<rect {card}/>"
    made += text(24, 38, "title text", TITLE)
    made += text(24, 59, "faint", described(rows[0]))
    made += legend()
    made += text(WIDTH - 104, 93.5, "number small text strong", "tokens/s")
    made += text(WIDTH - 24, 93.5, "number small text strong", "first token")
    for number, (allocator, block_size, name, rule) in enumerate(ROWS):
        row = by_name[allocator, block_size]
        y = TOP + STEP * number
        made += text(24, y + 12.5, "text strong", name) + text(24, y + 28, "small faint", rule)
        made += bar(y, row)
        rate = float(row["figures.output_tokens_per_s"])
        wait = float(row["report.ttft.p50_ns"]) / 1e9
        shown = f"{wait:,.0f} s" if wait >= 1 else f"{wait:.3f} s"
        made += text(WIDTH - 104, y + 19, "number text", f"{rate:.0f}")
        made += text(WIDTH - 24, y + 19, "number text", shown)
    made += text(24, height - 14, "small faint", FOOT)
    size = f'viewBox="0 0 {WIDTH} {height}" role="img"'
    head = f'<svg xmlns="http://www.w3.org/2000/svg" {size}><title>{TITLE}, per allocator</title>'
    return f"{head}{style()}{made}</svg>\n"


def main(table: str, target: str) -> None:
    with open(table, newline="") as file:
        rows = list(csv.DictReader(file))
    # A line per element, so that a change of the picture can be read.
    Path(target).write_text(picture(rows).replace("><", ">\n<"))


if __name__ == "__main__":
    if len(sys.argv) != 3:
        sys.exit(__doc__)
    main(*sys.argv[1:])
