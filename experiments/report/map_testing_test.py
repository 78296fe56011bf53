#!/usr/bin/env python3
"""Tests of the reader of single blocks, on a small map: states of slots at a time."""

import base64
import unittest

from map_testing import BlockMap, unpacked


def packed(*numbers):
    data, before = bytearray(), 0
    for number in numbers:
        rest = (number - before) * 2 if number >= before else (before - number) * 2 - 1
        before = number
        while rest >= 128:
            data.append(rest & 127 | 128)
            rest >>= 7
        data.append(rest)
    return base64.b64encode(data).decode()


# 8 blocks of 4 slots. A sequence holds the first two for 100 us: it has 5 tokens at first, 7 at
# last, and would end with 8. The third block is cached.
MAP = {
    "pool_slots": 32, "block_size": 4, "blocks": 8, "window": 0,
    "detail": {
        "begin_us": 0, "end_us": 200,
        "stays": {name: packed(value) for name, value in {
            "final": 8, "begin_us": 0, "decode_us": 0, "end_us": 100,
            "context_begin": 5, "context_decode": 5, "context_end": 7}.items()},
        "segments": {"place": packed(0, 1, 2), "size": packed(1, 1, 1), "begin_us": packed(0, 0, 0),
                     "length_us": packed(100, 100, 200), "stay": packed(0, 0, -1),
                     "index": packed(0, 1, 0)},
    },
}


class PageMap(unittest.TestCase):
    def setUp(self):
        self.blocks = BlockMap(MAP)
        self.segments = self.blocks.between(0, 200)

    def test_numbers_come_back(self):
        numbers = [0, -1, 63, -64, 10**12, 5]
        self.assertEqual(unpacked(packed(*numbers)), numbers)

    def test_a_block_is_used_as_far_as_its_sequence_has_come(self):
        first, second, cached = self.segments
        self.assertEqual(self.blocks.parts_at(first, 50)[0], ("used", 0, 4))
        used, reserved, internal = self.blocks.parts_at(second, 50)
        self.assertEqual((used, reserved), (("used", 4, 6), ("reserved", 6, 8)))
        self.assertEqual(internal[1], internal[2])
        self.assertEqual(self.blocks.parts_at(cached, 150), [("cached", 8, 12)])

    def test_what_has_fallen_out_of_the_window_will_hold_no_token_again(self):
        blocks = BlockMap(MAP | {"window": 4})
        first, second, cached = blocks.between(0, 200)
        # At position 6, a next token sees 3, 4 and 5.
        self.assertEqual(blocks.parts_at(first, 50)[:2], [("internal", 0, 3), ("used", 3, 4)])
        self.assertEqual(blocks.parts_at(second, 50)[:2], [("internal", 4, 4), ("used", 4, 6)])
        self.assertEqual(blocks.parts_at(cached, 150), [("cached", 8, 12)])

    def test_what_is_over_or_not_begun_has_no_parts(self):
        self.assertEqual(self.blocks.parts_at(self.segments[0], 100), [])
        self.assertEqual(self.blocks.parts_at(self.segments[0], -1), [])
        self.assertEqual(len(self.blocks.between(100, 200)), 1)


if __name__ == "__main__":
    unittest.main()
