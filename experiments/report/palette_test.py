#!/usr/bin/env python3
"""Tests that dichromats can distinguish the colours of the six states, and of compared rows.

Colours as protanopes, deuteranopes and tritanopes see them (Machado et al. 2009, severity 1);
differences in CIE L*a*b* (1976), where 2.3 is just noticed. Colours of sequences are calculated:
map_browser_test.py asks a page for them.
"""

import itertools
import re
import unittest
from pathlib import Path

PALETTE = Path(__file__).resolve().parent / "web" / "palette.js"
# Matrices that map linear RGB to what eyes with these cones see.
SIGHTS = {
    "all cones": ((1, 0, 0), (0, 1, 0), (0, 0, 1)),
    "protanopia": ((0.152286, 1.052583, -0.204868), (0.114503, 0.786281, 0.099216),
                   (-0.003882, -0.048116, 1.051998)),
    "deuteranopia": ((0.367322, 0.860646, -0.227968), (0.280085, 0.672501, 0.047413),
                     (-0.011820, 0.042940, 0.968881)),
    "tritanopia": ((1.255528, -0.076749, -0.178779), (-0.078411, 0.930809, 0.147602),
                   (0.004733, 0.691367, 0.303900)),
}
TO_XYZ = ((0.4124, 0.3576, 0.1805), (0.2126, 0.7152, 0.0722), (0.0193, 0.1192, 0.9505))
WHITE = (0.9505, 1.0, 1.089)
LEAST = 12  # five times what is just noticed; the states have textures, too


def times(matrix, vector):
    return [sum(a * b for a, b in zip(row, vector)) for row in matrix]


def linear(hexadecimal):
    channels = [int(hexadecimal[at : at + 2], 16) / 255 for at in (1, 3, 5)]
    return [c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4 for c in channels]


def lab(rgb):
    def root(t):
        return t ** (1 / 3) if t > 216 / 24389 else (24389 / 27 * t + 16) / 116

    xyz = times(TO_XYZ, [min(max(c, 0), 1) for c in rgb])
    x, y, z = (root(value / white) for value, white in zip(xyz, WHITE))
    return 116 * y - 16, 500 * (x - y), 200 * (y - z)


def difference(a, b, sight):
    seen = [lab(times(SIGHTS[sight], linear(colour))) for colour in (a, b)]
    return sum((x - y) ** 2 for x, y in zip(*seen)) ** 0.5


def palette():
    """{theme: {name: colour}} of each list."""
    text = PALETTE.read_text("utf-8")
    lists = {}
    for name in ("STATES", "COMPARED"):
        body = re.search(rf"const {name} = \[(.*?)\n\];", text, re.DOTALL).group(1)
        found = re.findall(r'light: "(#\w{6})",\s+dark: "(#\w{6})"', body)
        names = re.findall(r'name: "(\w+)"', body)
        assert len(found) == len(names), (name, found)
        lists[name] = {theme: dict(zip(names, (pair[i] for pair in found)))
                       for i, theme in enumerate(("light", "dark"))}
    return lists


class Palette(unittest.TestCase):
    def test_colours_differ_for_every_sight(self):
        for name, themes in palette().items():
            for theme, colours in themes.items():
                for (a, one), (b, other) in itertools.combinations(colours.items(), 2):
                    for sight in SIGHTS:
                        with self.subTest(name, theme=theme, a=a, b=b, sight=sight):
                            self.assertGreater(difference(one, other, sight), LEAST)

    def test_red_and_green_alike_are_seen_to_be_alike(self):
        red, green = "#b05a00", "#7a7a00"
        self.assertLess(difference(red, green, "deuteranopia"), LEAST)
        self.assertGreater(difference(red, green, "all cones"), 3 * LEAST)


if __name__ == "__main__":
    unittest.main()
