#!/usr/bin/env python3
"""Tests of single blocks in memory maps, at any time: their tokens fit into the held blocks, their
states agree with series.csv, and the page tells the same.

    map_contexts_test.py RECTO
"""

import csv
import json
import math
import os
import re
import shutil
import subprocess
import sys
import tempfile
import unittest
from collections import deque
from pathlib import Path

from map_testing import STATES, BlockMap
from page_testing import data_of

HERE = Path(__file__).resolve().parent
PROGRAM = Path(sys.argv[1]).resolve()
# Allocators, and the rest of the command.
STUDIES = {
    "plain": "--requests 1500 --allocators contiguous-max,paged --block-sizes 16",
    "cached": "--requests 300 --allocators prefix-cached --block-sizes 16",
    "windowed": "--requests 600 --window 128 --pool-slots 2560 --max-length 512 "
                "--allocators paged --block-sizes 16",
}
SIGHTS = (0, 0.3, 0.7, 0.999)  # of a segment's length
FULL = "RECTO_FULL" in os.environ
WINDOWS = 8 if FULL else 2  # of series.csv, evenly over what is given block by block
INSTANTS = 1500 if FULL else 300  # of each
# A share of the pool: at most 0.01 % was observed for paged runs, whose blocks show how full they
# are. A contiguous region shows nothing between its first token and its last one.
TOLERANCE = 0.0002
TOLERANCE_OF_REGIONS = 0.005
# Lists, for each map, segment and sight, tokens, [out, used, kept], and the words of a hover.
SIGHTS_JS = """
const count = String, clock = String;
for (const packed of MAPS) {
  const map = readMap(packed);
  const { place, begin_us: begin, length_us: length, stay } = map.detail.segments;
  for (let i = 0; i < begin.length; ++i) {
    for (const share of SIGHTS) {
      const us = begin[i] + Math.floor(share * length[i]) + 0.5;
      const fill = fillAt(map, i, us);
      console.log(JSON.stringify([stay[i] < 0 ? null : contextAt(map, i, us),
          [fill.out, fill.used, fill.kept], whatIsAt(map, us / 1e6, place[i] * map.unit)]));
    }
  }
}
"""


def sights(segments):
    for one in segments:
        for share in SIGHTS:
            yield one, one["begin_us"] + int(share * one["length_us"]) + 0.5


def times(row):
    begin = float(row["begin_s"]) * 1e6
    return begin, begin + float(row["length_s"]) * 1e6


def block_means(blocks, begin, end):
    """Slots in each state, mean over instants of the range."""
    later, held = deque(blocks.between(begin, end)), []
    sums = dict.fromkeys(STATES, 0.0)
    for number in range(INSTANTS):
        us = begin + (number + 0.5) / INSTANTS * (end - begin)
        while later and later[0]["begin_us"] <= us:
            held.append(later.popleft())
        held = [one for one in held if one["begin_us"] + one["length_us"] > us]
        for one in held:
            for state, low, high in blocks.parts_at(one, us):
                sums[state] += high - low
    return {state: slots / INSTANTS for state, slots in sums.items()}


class MapContexts(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.scratch = tempfile.TemporaryDirectory()
        cls.maps, cls.series = {}, {}
        for name, flags in STUDIES.items():
            folder = Path(cls.scratch.name, name)
            subprocess.run([PROGRAM, "fragmentation", *flags.split(), "--report", "--out", folder],
                           check=True, capture_output=True)
            data = data_of(folder)
            for one in data["maps"]:
                label = data["rows"][one["row"]]["label"].split()[0]
                cls.maps[name, label] = one["map"]
            with open(folder / "series.csv", encoding="utf-8") as file:
                cls.series[name] = list(csv.DictReader(file))

    @classmethod
    def tearDownClass(cls):
        cls.scratch.cleanup()

    def test_no_sight_tells_more_tokens_than_slots_held_or_fewer_than_full_blocks(self):
        for key in (("plain", "paged"), ("windowed", "paged")):
            packed = self.maps[key]
            blocks, unit = BlockMap(packed), packed["block_size"]
            segments = blocks.between(blocks.begin_us, blocks.end_us)
            got = {}
            for one in segments:
                got.setdefault(one["stay"], []).append((one["begin_us"], one["index"]))
            for one, us in sights(segments):
                last = max(index for begin, index in got[one["stay"]] if begin <= us)
                context = blocks.context_at(one, us)
                self.assertLessEqual(context, (last + 1) * unit, (key, one, us))
                if us >= blocks.stay_of(one)["decode_us"]:
                    self.assertGreaterEqual(context, last * unit, (key, one, us))

    def test_single_blocks_add_up_to_the_series(self):
        for (study, label), packed in self.maps.items():
            blocks = BlockMap(packed)
            rows = [row for row in self.series[study] if row["allocator"] == label]
            rows = [row for row in rows if times(row)[0] >= blocks.begin_us
                    and times(row)[1] <= blocks.end_us]
            self.assertGreater(len(rows), 2, (study, label))
            share = TOLERANCE if packed["blocks"] else TOLERANCE_OF_REGIONS
            for row in rows[::math.ceil(len(rows) / WINDOWS)]:
                means = block_means(blocks, *times(row))
                for state in ("used", "reserved", "cached"):  # the rest is in several columns
                    self.assertAlmostEqual(means[state], float(row[state + "_slots"]),
                                           msg=(study, label, row["begin_s"], state),
                                           delta=share * packed["pool_slots"])

    def test_the_page_and_another_reader_tell_the_same(self):
        if shutil.which("node") is None:
            self.skipTest("no node here, which runs the page's scripts")
        for key, packed in self.maps.items():
            blocks = BlockMap(packed)
            found = iter(self.told_by_the_page(packed))
            for one, us in sights(blocks.between(0, float("inf"))):
                context, edges, words = next(found)
                if one["stay"] < 0:
                    self.assertIsNone(context)
                    continue
                self.assertEqual(context, blocks.context_at(one, us), (key, one, us))
                parts = blocks.parts_at(one, us)
                if not parts:
                    continue
                low = parts[0][1]
                ends = {state: end - low for state, _, end in parts[:-1]}
                self.assertEqual(edges[1:], [ends["used"], ends["reserved"]], (key, one, us))
                told = [re.match(r"context about (\S+) of", line) for line in words]
                shown = [context] if us > blocks.begin_us else []  # a hover there tells of rows
                self.assertEqual([int(match[1]) for match in told if match], shown)
            self.assertIsNone(next(found, None))

    def told_by_the_page(self, packed):
        scripts = [(HERE / "web" / name).read_text("utf-8")
                   for name in ("packed.js", "map_data.js")]
        given = f"const MAPS = [{json.dumps(packed)}];\nconst SIGHTS = {json.dumps(SIGHTS)};\n"
        done = subprocess.run(["node", "-"], input="\n".join([*scripts, given, SIGHTS_JS]),
                              check=True, capture_output=True, text=True)
        return [json.loads(line) for line in done.stdout.splitlines()]


if __name__ == "__main__":
    program = unittest.main(argv=sys.argv[:1], verbosity=2, exit=False)
    for _, reason in program.result.skipped:
        print(f"SKIPPED: the page's scripts: {reason}")
    sys.exit(not program.result.wasSuccessful())
