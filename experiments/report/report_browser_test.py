#!/usr/bin/env python3
"""Tests of recto report's pages in a headless Chromium: charts agree with the data, controls work.

    report_browser_test.py RECTO
"""

import csv
import json
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

import frame_rate_benchmark as frame_rate
from page_testing import BrowserSession, data_of, run_tests, selftest

PROGRAM = Path(sys.argv[1]).resolve()
STUDY = (
    "fragmentation --requests 1200 --allocators contiguous-max,paged --block-sizes 16 "
    "--report --out"
).split()
SWEEP = "sweep --requests 60 --allocator paged --block-size 8,16,32 --report --out".split()
PRODUCTION = (
    "fragmentation --requests 60 --allocators paged --block-sizes 16 --manager production "
    "--report --out"
).split()
MILLION = (
    "fragmentation --requests 20000 --allocators contiguous-max,paged --block-sizes 16 "
    "--report --out"
).split()
CPU_MS_MAX = 66  # a frame of both maps: 15 frames a second on a slow machine
WINDOW = (1360, 1700)
# As in web/palette.js: the colour of a state, and that of its texture's lines, in light pages.
STATE_COLOURS = {
    "used": [(0x1B, 0x4F, 0x8A)],
    "internal": [(0xD9, 0x66, 0x1F), (233, 166, 125)],
    "free": [(0xF1, 0xF2, 0xF4)],
}


class Browser(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.scratch = tempfile.TemporaryDirectory()
        cls.study = Path(cls.scratch.name, "study")
        cls.sweep = Path(cls.scratch.name, "sweep")
        for command, folder in ((STUDY, cls.study), (SWEEP, cls.sweep)):
            subprocess.run([PROGRAM, *command, folder], check=True, capture_output=True)
        cls.profile = cls.scratch.name + "/profile"
        cls.seen = selftest(cls.study / "report.html", cls.profile, WINDOW)
        cls.data = data_of(cls.study)

    @classmethod
    def tearDownClass(cls):
        cls.scratch.cleanup()

    def metrics(self, label):
        return next(row["metrics"] for row in self.data["rows"] if row["label"] == label)

    def test_pages_load_without_errors(self):
        self.assertEqual(self.seen["errors"], [])
        sweep = selftest(self.sweep / "report.html", self.profile, WINDOW)
        self.assertEqual(sweep["errors"], [])
        self.assertEqual(len(sweep["charts"]), 10)

    def test_every_chart_has_ink(self):
        self.assertEqual(len(self.seen["charts"]), 10)
        self.assertGreater(min(self.seen["charts"]), 1000)

    def test_the_map_has_the_states_in_the_shares_of_the_data(self):
        contiguous = next(one for one in self.seen["maps"] if one["label"] == "contiguous-max")
        metrics = self.metrics("contiguous-max")
        # The picture is over the whole run, drain included; means end with the last arrival.
        for state in ("used", "internal"):
            self.assertAlmostEqual(contiguous["pixels"][state], metrics[state], delta=0.08)

    def test_wheel_drag_step_and_double_click_move_the_map(self):
        seen = self.seen
        self.assertLess(seen["zoomedRange"], seen["wholeRange"] * 0.7)
        self.assertAlmostEqual(seen["steppedBy"], seen["zoomedRange"] / 10, delta=1e-3)
        self.assertLess(seen["draggedBy"], 0)
        self.assertLess(seen["zoomedSlots"], self.data["pool_slots"])
        self.assertAlmostEqual(seen["rangeAfterDoubleClick"], seen["wholeRange"], delta=1e-6)
        self.assertTrue(seen["plays"])

    def test_a_hover_tells_sequence_tokens_and_references(self):
        self.assertEqual(len(self.seen["hints"]), 2)
        for hint in self.seen["hints"]:
            for word in ("request ", "slots hold tokens", "references: ", "held from"):
                self.assertIn(word, hint)

    def test_sequences_have_colours_of_their_own(self):
        self.assertGreater(min(self.seen["colours"]), 8)

    def test_maps_move_smoothly(self):
        rates = frame_rate.frame_rates(self.study / "report.html")
        print("\n" + "\n".join(frame_rate.told(rates)))
        for move, (cpu_ms, _) in rates.items():
            self.assertLess(cpu_ms, CPU_MS_MAX, move)

    def test_a_study_of_a_million_steps_is_small_and_moves_as_smoothly(self):
        folder = Path(self.scratch.name, "million")
        subprocess.run([PROGRAM, *MILLION, folder], check=True, capture_output=True)
        with open(folder / "fragmentation.csv", encoding="utf-8") as file:
            steps = sum(int(row["report.counters.steps"]) for row in csv.DictReader(file))
        self.assertGreater(steps, 1_000_000)
        page = folder / "report.html"
        self.assertLess(page.stat().st_size, 4 << 20)
        self.assertEqual(selftest(page, self.profile, WINDOW)["errors"], [])
        rates = frame_rate.frame_rates(page)
        print(f"\n{steps} steps:\n" + "\n".join(frame_rate.told(rates)))
        for move, (cpu_ms, _) in rates.items():
            self.assertLess(cpu_ms, CPU_MS_MAX, move)

    def test_a_page_says_whose_blocks_its_maps_show(self):
        production = Path(self.scratch.name, "production")
        subprocess.run([PROGRAM, *PRODUCTION, production], check=True, capture_output=True)
        notes, findings = [], []
        for folder in (self.study, production):
            with BrowserSession(folder / "report.html", self.profile + "-notes") as session:
                session.wait_for("document.querySelectorAll('.map-host canvas').length === 2")
                notes.append(session.run("document.getElementById('map-manager')?.innerText"))
                findings.append(session.run("document.querySelector('.finding').innerText"))
        self.assertIsNone(notes[0])
        self.assertIn("blocks of the production block manager", notes[1])
        # The findings of two rows that are compared, and of a single one.
        speed = r"[\d.]+ output tokens per second\."
        self.assertRegex(findings[0], r"^paged 16 keeps [\d.]+ % of the pool in use, "
                                      r"contiguous-max [\d.]+ %; [\d.]+ against " + speed)
        self.assertRegex(findings[1], r"^paged 16 keeps [\d.]+ % of the pool in use and gives "
                                      + speed)

    def test_axes_have_round_labels_within_a_decade_and_over_many(self):
        with BrowserSession(self.study / "report.html", self.profile + "-axis") as session:
            session.wait_for("document.querySelectorAll('.uplot').length === 10")
            marks = session.run("[[0.006, 0.07], [0.0008, 5000]].map("
                                "(ends) => timeMarks(...ends).map(timeMark))")
            clocks = session.run("[[59.94, 0.5], [1831.915, 0.05], [3599.99, 0.5], [3600, 60]].map("
                                 "(one) => clock(...one))")
            numbers = session.run("['20.00 ms', '100.0 %', '0.50', '1,000', '4.25 KiB', '10']"
                                  ".map(rounded)")
        self.assertEqual(marks, [["10 ms", "20 ms", "50 ms"],
                                 ["1 ms", "10 ms", "100 ms", "1 s", "10 s", "1 min", "10 min",
                                  "1 h"]])
        self.assertEqual(clocks, ["59.9 s", "30:31.915", "1:00:00.0", "1:00:00"])
        self.assertEqual(numbers, ["20 ms", "100 %", "0.5", "1,000", "4.25 KiB", "10"])

    def test_legends_show_every_line_and_area_as_it_is_drawn(self):
        with BrowserSession(self.study / "report.html", self.profile + "-keys", WINDOW) as session:
            session.wait_for("document.querySelectorAll('.uplot').length === 10")
            marks = session.run("[...document.querySelectorAll('.u-legend tr')].filter((row) => "
                                "row.offsetParent && row.querySelector('.u-marker')).map((row) => "
                                "getComputedStyle(row.querySelector('.u-marker')).backgroundImage)")
            beyond = session.run("[...document.querySelectorAll('.scroll')].filter("
                                 "(one) => one.scrollWidth > one.clientWidth).length")
        # Two pictures of six states, eight of two lines: with an area, alone and dashed.
        drawn = [mark for mark in marks if mark.startswith("url(")]
        self.assertEqual((len(drawn), len(set(drawn))), (28, 9))
        self.assertEqual(beyond, 0, "tables that are cut off")

    def test_a_narrow_page_has_no_errors_and_nothing_beside_it(self):
        with BrowserSession(self.study / "report.html", self.profile + "-narrow") as session:
            session.wait_for("document.querySelectorAll('.uplot').length === 10")
            session.call("Emulation.setDeviceMetricsOverride", width=420, height=900,
                         deviceScaleFactor=1, mobile=True)
            session.wait_for("document.querySelector('.plot canvas').clientWidth < 420")
            session.run("new Promise((resolve) => setTimeout(resolve, 300))")
            self.assertEqual(session.run("JSON.stringify(pageErrors)"), "[]")
            self.assertLessEqual(session.run("document.documentElement.scrollWidth"), 420)

    def test_numbers_below_pictures_are_means_over_time(self):
        with BrowserSession(self.study / "report.html", self.profile + "-means") as session:
            session.wait_for("document.querySelectorAll('.uplot').length === 10")
            tried = session.run("[meanOverTime([0, 8, 10], [5, 10]), meanOverTime([0, 8, 10], "
                                "[5, null]), meanOverTime([0], [])]")
            told = session.run("document.querySelector('#plot-batch .u-legend').innerText")
            least = session.run("['blocked', 'unplaceable', 'batch', 'queue'].map((name) => "
                                "document.getElementById('plot-' + name).chart.scales.y.min)")
        self.assertEqual((tried, least), ([6, 5, None], [0, 0, 0, 0]))
        for row in self.data["headline"]["compared"]:
            one = self.data["series"][row]
            ends = [*one["begin_s"][1:], one["end_s"]]
            spent = [end - begin for begin, end in zip(one["begin_s"], ends)]
            mean = sum(map(float.__mul__, spent, map(float, one["running"]))) / sum(spent)
            self.assertIn(f"{mean:.{2 if mean < 99.95 else 1}f}", told)

    def test_labels_of_an_axis_have_room(self):
        with BrowserSession(self.study / "report.html", self.profile + "-room") as session:
            session.wait_for("document.querySelectorAll('.uplot').length === 10")
            sizes = session.run("[['1 s'], ['1.67 min', '1666.67 min'], null].map("
                                "valueAxis({}).size.bind(null, 0))")
        self.assertEqual((sizes[0], sizes[2]), (64, 64))
        self.assertGreater(sizes[1], 75)

    def test_a_timeline_is_handed_to_the_viewer_and_to_nobody_else(self):
        seen, viewer = self.seen["perfetto"], "https://ui.perfetto.dev"
        self.assertEqual(seen["first"], ["PING", viewer])
        self.assertGreater(seen["asked"], 1)
        self.assertEqual(seen["sentElsewhere"], 0)
        self.assertEqual((seen["to"], seen["title"], seen["bytes"]), (viewer, "run.json", 3))
        self.assertFalse(seen["goesOn"])

    def test_the_viewer_is_a_link_beside_the_commands_that_write_timelines(self):
        seen, viewer = self.seen["perfetto"], "https://ui.perfetto.dev"
        self.assertEqual(seen["links"], [[viewer, viewer + "/"]])
        self.assertEqual(seen["commands"],
                         [self.data["rows"][row]["timeline"] for row in seen["rows"]])

    def test_where_the_viewer_cannot_be_had_the_reader_is_told(self):
        opened, no_window, no_network = self.seen["perfetto"]["told"]
        self.assertIn("open in the other window", opened)
        self.assertIn("did not allow a new window", no_window)
        self.assertIn("did not answer within 30 s", no_network)

    def test_nothing_is_cut_off_on_paper(self):
        for folder in (self.study, self.sweep):
            with BrowserSession(folder / "report.html", self.profile + "-paper") as session:
                session.wait_for("document.querySelectorAll('td').length > 0")
                session.call("Emulation.setEmulatedMedia", media="print")
                # A4 across, less margins, at 96 dots an inch.
                session.call("Emulation.setDeviceMetricsOverride", width=1039, height=710,
                             deviceScaleFactor=1, mobile=False)
                # Canvases follow in a frame or two.
                session.wait_for("[...document.querySelectorAll('table, canvas, h2, p')].every("
                                 "(one) => one.getBoundingClientRect().right <= 1039)")

    def test_on_paper_legends_have_colours_and_pictures_stay_in_their_columns(self):
        with BrowserSession(self.study / "report.html", self.profile + "-ink", WINDOW) as session:
            session.wait_for("document.querySelectorAll('.uplot').length === 10")
            # Paper is laid out at once: nothing is drawn anew as wide as it is.
            session.run("requestAnimationFrame = () => 0; "
                        "document.querySelectorAll('.plot').forEach((host) => "
                        "{ host.chart.setSize = () => 0; })")
            session.call("Emulation.setEmulatedMedia", media="print")
            session.call("Emulation.setDeviceMetricsOverride", width=1039, height=710,
                         deviceScaleFactor=1, mobile=False)
            beyond = session.run(
                "[...document.querySelectorAll('figure canvas')].filter((one) => one.getBounding"
                "ClientRect().right > one.closest('figure').getBoundingClientRect().right + 0.5)"
                ".length")
            unprinted = session.run(
                "[...document.querySelectorAll('.swatch, .advice')].filter((one) => "
                "getComputedStyle(one).printColorAdjust !== 'exact').length")
        self.assertEqual((beyond, unprinted), (0, 0))

    def test_dark_and_light_differ(self):
        self.assertNotEqual(*self.seen["themes"])

    def test_a_screenshot_shows_the_pool_in_its_colours(self):
        labels = [one["label"] for one in self.seen["maps"]]
        box = self.seen["boxes"][labels.index("contiguous-max")]
        self.assertLess(box["y"] + box["height"], WINDOW[1])
        pixels = self.seen["maps"][labels.index("contiguous-max")]["pixels"]
        with BrowserSession(self.study / "report.html", self.profile + "-shot", WINDOW) as session:
            session.wait_for("document.querySelectorAll('.uplot').length === 10")
            png = session.call("Page.captureScreenshot")["data"]
            for state in ("used", "internal", "free"):
                told = json.dumps([png, box, STATE_COLOURS[state]])
                seen = session.run(f"shareOfScreenshot(...{told})")
                self.assertAlmostEqual(seen, pixels[state], delta=0.08, msg=state)


if __name__ == "__main__":
    run_tests()
