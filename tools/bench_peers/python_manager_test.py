#!/usr/bin/env python3
"""Tests of the Python block manager: the baseline of a comparison must be right, too."""

import random
import sys
import unittest
from collections import Counter

sys.dont_write_bytecode = True

from python_manager import PythonManager  # noqa: E402


class PythonManagerTest(unittest.TestCase):
    def compute(self, manager, ids):
        sequence = manager.admit(ids)
        manager.append([sequence], len(ids) - manager.sequences[sequence].length)
        manager.commit(sequence, ids)
        return sequence

    def test_a_prompt_is_found_up_to_the_block_before_its_last_token(self):
        manager = PythonManager(8, 4)
        manager.release(self.compute(manager, list(range(8))))
        again = manager.admit(list(range(8)))
        self.assertEqual(manager.sequences[again].length, 4)
        longer = manager.admit(list(range(9)))
        self.assertEqual(manager.sequences[longer].length, 8)

    def test_the_least_recently_used_goes_first_and_ends_before_starts(self):
        manager = PythonManager(4, 1)
        first = self.compute(manager, [1, 2])
        second = self.compute(manager, [3, 4])
        table = list(manager.sequences[first].table)
        manager.release(first)
        manager.release(second)
        self.assertEqual(manager.allocate(), table[1])
        self.assertEqual(manager.allocate(), table[0])

    def test_who_writes_into_a_shared_block_gets_a_copy(self):
        manager = PythonManager(4, 4)
        parent = manager.admit([1, 2])
        manager.append([parent], 2)
        child = manager.fork(parent)
        shared = manager.sequences[parent].table[0]
        copies = manager.append([parent, child])
        self.assertEqual([source for source, _ in copies], [shared])
        self.assertEqual(manager.sequences[child].table, [shared])

    def test_without_room_nothing_is_admitted(self):
        manager = PythonManager(2, 4)
        self.assertIsNone(manager.admit(list(range(9))))
        self.assertIsNotNone(manager.admit(list(range(8))))
        self.assertEqual(manager.available, 0)

    def test_references_are_table_entries_after_any_history(self):
        draw = random.Random(1)
        manager = PythonManager(30, 2)
        prompts = {}
        seen = Counter()
        for _ in range(5000):
            self.step(draw, manager, prompts, seen)
            entries = [0] * 30
            for sequence in manager.sequences.values():
                for block in sequence.table:
                    entries[block] += 1
            self.assertEqual(entries, manager.holders)
            idle = sorted([*manager.free, *manager.evictable])
            self.assertEqual(idle, [block for block in range(30) if entries[block] == 0])
            self.assertEqual({block: known for known, block in manager.cached.items()},
                             {b: h for b, h in enumerate(manager.hash_of) if h is not None})
        for what in ("hit", "refused", "copied", "shared"):
            self.assertGreater(seen[what], 20, what)

    def step(self, draw, manager, prompts, seen):
        number = draw.choice([*manager.sequences, -1])
        if number == -1:
            ids = [draw.randrange(4) // 3 for _ in range(12)]
            admitted = manager.admit(ids[:draw.randint(1, 12)])
            if admitted is None:
                seen["refused"] += 1
            else:
                prompts[admitted] = ids
                seen["hit"] += manager.sequences[admitted].length > 0
            return
        length = manager.sequences[number].length
        what = draw.choice(["append", "commit", "fork", "truncate", "release"])
        if what == "append" and length < 12 and manager.available > 0:
            seen["copied"] += len(manager.append([number]))
        elif what == "commit":
            manager.commit(number, prompts[number])
        elif what == "fork":
            prompts[manager.fork(number)] = prompts[number]
            seen["shared"] += 1
        elif what == "truncate":
            manager.truncate(number, draw.randint(0, length))
        elif what == "release":
            manager.release(number)


if __name__ == "__main__":
    unittest.main()
