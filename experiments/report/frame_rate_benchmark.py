#!/usr/bin/env python3
"""How smoothly the memory maps of a page move: both are redrawn for each frame.

    frame_rate_benchmark.py REPORT_HTML

Pans and zooms the maps in a headless Chromium without a GPU. Prints the page's CPU time per frame,
which other programs on the machine hardly change, and the frames per second that were reached.
"""

import statistics
import sys
import tempfile
from pathlib import Path

from page_testing import BrowserSession, browser

FRAMES = 40
# Code that runs before the first frame, and in each frame; `i` counts. Calls the page's functions.
MOVES = {
    "pan, whole run": ("setTimeRange(0, timeRange.last * 0.9)",
                       "stepBy(i % 40 < 20 ? 0.005 : -0.005)"),
    "zoom, whole run": ("showWholeRun()", "zoomBy(i % 20 < 10 ? 0.9 : 1 / 0.9)"),
    "pan, block by block": ("document.getElementById('map-detail').click(); zoomBy(0.5)",
                            "stepBy(i % 40 < 20 ? 0.005 : -0.005)"),
    "zoom, block by block": ("document.getElementById('map-detail').click()",
                             "zoomBy(i % 20 < 10 ? 0.9 : 1 / 0.9)"),
}
MEASURE = """(async () => {{
  const frame = () => new Promise(requestAnimationFrame);
  {begin};
  await frame(); await frame();
  const times = [performance.now()];
  for (let i = 0; i < {frames}; ++i) {{ {move}; await frame(); times.push(performance.now()); }}
  return times.slice(1).map((time, i) => time - times[i]);
}})()"""


def cpu_seconds(session):
    """The CPU time of the page's thread so far."""
    metrics = session.call("Performance.getMetrics")["metrics"]
    return next(one["value"] for one in metrics if one["name"] == "TaskDuration")


def frame_rates(page):
    """{move: (CPU milliseconds per frame, median frames per second)}."""
    found = {}
    with tempfile.TemporaryDirectory() as profile:
        with BrowserSession(Path(page).resolve(), profile) as session:
            session.wait_for("document.querySelectorAll('.map-host canvas').length === 2")
            session.call("Performance.enable", timeDomain="threadTicks")
            for name, (begin, move) in MOVES.items():
                before = cpu_seconds(session)
                times = session.run(MEASURE.format(begin=begin, move=move, frames=FRAMES))
                cpu_ms = (cpu_seconds(session) - before) * 1000 / FRAMES
                found[name] = (cpu_ms, 1000 / statistics.median(times))
    return found


def told(rates):
    return [f"{name:22} {cpu_ms:5.1f} ms of CPU a frame, {rate:4.0f} frames/s"
            for name, (cpu_ms, rate) in rates.items()]


if __name__ == "__main__":
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    if browser() is None:
        sys.exit("no Chromium here: Debian's package is chromium")
    print("\n".join(told(frame_rates(sys.argv[1]))))
