#!/usr/bin/env python3
"""Memory maps in a headless Chromium: states, ends of runs, rows without a map, colours.

    map_browser_test.py RECTO
"""

import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

import palette_test
from map_testing import BlockMap
from page_testing import BrowserSession, data_of, run_tests, selftest

PROGRAM = Path(sys.argv[1]).resolve()
WINDOW = (1360, 1700)
PLAIN = (
    "fragmentation --requests 600 --allocators contiguous-max,paged --block-sizes 16 "
    "--report --out"
).split()
# Small, so that each block is a row of the whole pool's pictures.
WINDOWED = (
    "fragmentation --requests 600 --window 128 --pool-slots 2560 --max-length 512 "
    "--allocators contiguous-max,paged --block-sizes 16 --report --out"
).split()
# Too many blocks for a page, and not too many regions.
MANY = (
    "fragmentation --requests 3000 --allocators contiguous-max,paged --block-sizes 16 "
    "--report --out"
).split()
COPIES = (
    "fragmentation --requests 60 --decoding parallel:3 --allocators contiguous-oracle,paged "
    "--block-sizes 16 --report --out"
).split()
# Three rows, two maps.
THREE_ROWS = (
    "fragmentation --requests 600 --allocators contiguous-max,paged --block-sizes 8,16 "
    "--report --out"
).split()


class Maps(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.scratch = tempfile.TemporaryDirectory()
        cls.profile = cls.scratch.name + "/profile"
        cls.pages = {}

    @classmethod
    def tearDownClass(cls):
        cls.scratch.cleanup()

    def page(self, command):
        """The page of a study, which is made once."""
        key = " ".join(command)
        if key not in self.pages:
            folder = Path(self.scratch.name, f"study-{len(self.pages)}")
            subprocess.run([PROGRAM, *command, folder], check=True, capture_output=True)
            self.pages[key] = folder / "report.html"
        return self.pages[key]

    def opened(self, page):
        session = BrowserSession(page, self.profile + "-session", WINDOW)
        session.wait_for("document.querySelectorAll('.map-host canvas').length === 2")
        return session

    def test_single_blocks_have_the_states_that_the_whole_pool_has(self):
        plain, windowed = (selftest(self.page(command), self.profile, WINDOW)
                           for command in (PLAIN, WINDOWED))
        for seen in (plain, windowed):
            self.assertEqual(seen["errors"], [])
            for shares in seen["shares"]:
                self.assertGreater(shares["columns"], 20)
                for state, share in shares["overview"].items():
                    self.assertAlmostEqual(shares["detail"][state], share, delta=0.003, msg=state)
        # Where a row of the pictures is a block, both tell the same of each.
        compared = [kinds for seen in (plain, windowed) for kinds in seen["kinds"] if kinds]
        self.assertEqual([kinds["differ"] for kinds in compared], [0])
        self.assertGreater(compared[0]["blocks"], 160 * 20)
        # What fell out of the window is a large part, and is drawn as such.
        for shares, pixels in zip(windowed["shares"], windowed["detailPixels"]):
            self.assertGreater(shares["overview"]["internal"], 0.15)
            for state in ("used", "internal"):
                self.assertAlmostEqual(pixels[state], shares["overview"][state], delta=0.05)
        for hint in windowed["hints"]:
            self.assertRegex(hint, r"about \d+ of \d+ slots hold tokens in the window")

    def test_a_hover_tells_the_numbers_of_the_data(self):
        page = self.page(PLAIN)
        seen = selftest(page, self.profile, WINDOW)
        data = data_of(page.parent)
        labels = [row["label"] for row in data["rows"]]
        maps = {labels[one["row"]]: one["map"] for one in data["maps"]}
        self.assertEqual(len(seen["hovers"]), 2)
        for one, hover, hint in zip(seen["maps"], seen["hovers"], seen["hints"]):
            blocks = BlockMap(maps[one["label"]])
            held = next(segment for segment in blocks.between(hover["us"], hover["us"] + 1)
                        if segment["place"] == hover["place"])
            parts = {state: high - low for state, low, high in blocks.parts_at(held, hover["us"])}
            stay = blocks.stay_of(held)
            context = blocks.context_at(held, hover["us"])
            lines = hint.split("\n")
            self.assertEqual(lines[3:6], [
                f"about {parts['used']:,} of {sum(parts.values()):,} slots hold tokens",
                f"context about {context:,} of {stay['final']:,}",
                "references: " + ("up to " if held["references"] > 1 else "") +
                str(held["references"])])
            self.assertTrue(lines[2].startswith(f"request {stay['request']}, "), lines)

    def test_a_map_says_where_single_blocks_are_known_and_where_not(self):
        page = self.page(MANY)
        chosen = self.page([*MANY[:-1], "--map-from-s", "300", "--out"])
        told = "[...document.querySelectorAll('.resolution')].map((one) => one.innerText)"
        all_known = [f"Drawn here: every single {kind}, and each change at its time."
                     for kind in ("region", "block")]
        with self.opened(self.page(PLAIN)) as session:
            self.assertEqual(session.run(told), all_known)
        with self.opened(chosen) as session:
            self.assertIn("(the bracket), as this page was made with --map-from-s.",
                          session.run(told)[0])
        with self.opened(page) as session:
            whole = session.run(told)
            session.run("document.getElementById('map-detail').click(); "
                        "new Promise((resolve) => setTimeout(resolve, 100))")
            single = session.run(told)
            spans = session.run("[...document.querySelectorAll('.map-host')].map("
                                "(host) => detailSpan(host.view.map()))")
        self.assertEqual(whole[0], all_known[0])
        self.assertIn(f"single blocks were recorded {spans[1]} only (the bracket), as all of them "
                      "would make this page too large.", whole[1])
        self.assertRegex(whole[1], r"every [\d.]+ m?s, in which a row stands for \d+ slots")
        self.assertEqual(single, all_known)

    def test_marks_are_at_the_times_of_single_events_where_these_are_known(self):
        read = """[...document.querySelectorAll('.map-host')].map(({view}) => {
            const map = view.map();
            return MARKS.map((_, kind) => ({
              instants: map.instants[kind],
              counted: map.overview.marks[kind].reduce((sum, many) => sum + many, 0),
              single: singleMarks(map.detail, kind) })); })"""
        with self.opened(self.page(COPIES)) as session:
            whole = session.run(read)
        with self.opened(self.page(MANY)) as session:
            part = session.run(read)
        for kinds in (*whole, *part):
            for kind in kinds:
                self.assertEqual(sum(many for _, many in kind["instants"]), kind["counted"])
        for kinds in whole:
            self.assertGreater(kinds[1]["counted"], 60)
            for kind in kinds:
                self.assertEqual(kind["instants"], [[us, 1] for us in kind["single"]])

    def test_a_hover_tells_what_is_below_the_pointer_when_the_map_moves(self):
        with self.opened(self.page(PLAIN)) as session:
            seen = session.run("""(async () => {
              const { view } = document.querySelector(".map-host");
              setTimeRange(60, 90);
              view.hover(400, 200);
              const seen = [];
              for (const move of [() => setTimeRange(100, 130),
                                  () => changeMap({ low: 0, high: mapState.pool / 2 })]) {
                move();
                await pause(100);
                const moved = { hint: view.hint.innerText, cursor: mapState.cursor };
                view.hover(400, 200);
                seen.push([moved, { hint: view.hint.innerText, cursor: mapState.cursor }]);
              }
              return seen;
            })()""")
        for moved, pointed in seen:
            self.assertEqual(moved, pointed)
        self.assertNotEqual(seen[0][0]["hint"], seen[1][0]["hint"])

    def test_no_label_of_the_time_axis_is_cut(self):
        with self.opened(self.page(PLAIN)) as session:
            beyond = session.run("""(() => {
              const beyond = [];
              const { fillText } = CanvasRenderingContext2D.prototype;
              CanvasRenderingContext2D.prototype.fillText = function (text, x, y) {
                if (this.textBaseline === "top") {
                  beyond.push(x + this.measureText(text).width / 2 - this.canvas.clientWidth);
                }
              };
              setTimeRange(78, 78.2001);
              document.querySelector(".map-host").view.draw();
              CanvasRenderingContext2D.prototype.fillText = fillText;
              return beyond;
            })()""")
        self.assertGreater(len(beyond), 2)
        self.assertLessEqual(max(beyond), 0)
        self.assertGreater(max(beyond), -9)

    def test_the_foot_of_a_sweep_has_no_value_of_an_axis(self):
        with self.opened(self.page(PLAIN)) as session:
            settings = session.run("""commonSettings({ grid: {
                base: { seed: 1, block_size: 16, gpu: "H100" },
                axes: { seed: ["2", "3"], block_size: ["8", "32"] } } })""")
        self.assertEqual(settings, [["seed", "varies"], ["block_size", "varies"],
                                    ["gpu", '"H100"']])

    def test_a_row_without_a_map_names_the_command_that_makes_both(self):
        page = self.page(THREE_ROWS)
        data = data_of(page.parent)
        mapped = {one["row"] for one in data["maps"]}
        without = next(row for row in range(3) if row not in mapped)
        with self.opened(page) as session:
            seen = session.run(f"seenWithoutMap({without})")
        self.assertTrue(seen["canvasHidden"])
        labels = [row["label"] for row in data["rows"]]
        self.assertIn(f"--maps 'contiguous-max,{labels[without]}'", seen["told"])
        self.assertLessEqual(seen["right"], seen["columnRight"])
        # A drag there leaves the other map as it was, in its slots.
        self.assertEqual((seen["low"], seen["high"]), (0, data["pool_slots"]))
        self.assertEqual(seen["pixels"], seen["pixelsBefore"])

    def test_a_map_ends_with_its_run_and_a_drag_with_its_pointer(self):
        page = self.page(PLAIN)
        with self.opened(page) as session:
            seen = session.run("seenAtTheEnd()")
        data = data_of(page.parent)
        ends = [one["map"]["end_us"] for one in data["maps"]]
        self.assertLess(min(ends), max(ends) * 0.8)
        self.assertEqual(seen["opaque"], [end == max(ends) for end in ends])
        self.assertIn("the run has ended", seen["hints"][ends.index(min(ends))])
        self.assertEqual(seen["rangeAfterCancel"], seen["rangeBefore"])

    def test_sequences_that_follow_differ_for_every_sight(self):
        with self.opened(self.page(PLAIN)) as session:
            for theme in ("light", "dark"):
                session.run(f"chooseTheme('{theme}')")
                found = session.run("Array.from({length: OWNER_COLOURS}, (_, i) => ownerColour(i))")
                colours = ["#{:02x}{:02x}{:02x}".format(*rgb) for rgb in found]
                for sight in palette_test.SIGHTS:
                    least = min(palette_test.difference(one, other, sight)
                                for one, other in zip(colours, colours[1:] + colours[:1]))
                    self.assertGreater(least, palette_test.LEAST, (theme, sight))


if __name__ == "__main__":
    run_tests()
