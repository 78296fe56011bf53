#!/usr/bin/env python3
"""Tests that tasks contain each run once: no run is lost, no run is taken twice."""

import unittest

from run_queue import TASK_RUNS_MAX, TASK_SECONDS, RunQueue, text_of


class RunQueueTest(unittest.TestCase):
    def test_spans_are_split_where_asked_and_written_as_recto_reads_them(self):
        runs = [*range(5), 7, *range(9, 21)]
        for count in range(1, 20):
            queue = RunQueue([(0, 4), (7, 7), (9, 20)])
            queue.learn(count, TASK_SECONDS)
            taken = []
            while len(queue):
                taken.append(queue.take(1))
            self.assertLessEqual(len(taken[0]), count)
            self.assertEqual(sum(taken, []), runs)
        self.assertEqual(text_of(runs), "0-4,7,9-20")
        self.assertEqual(text_of([3, 2, 5]), "3,2,5")

    def test_a_task_is_one_run_until_its_cost_is_known(self):
        queue = RunQueue([(0, 99_999)])
        self.assertEqual(queue.take(4), [0])
        queue.learn(1, TASK_SECONDS / 50)
        self.assertEqual(queue.take(4), [*range(1, 51)])
        queue.learn(49, 0)
        self.assertEqual(len(queue.take(4)), TASK_RUNS_MAX)

    def test_long_runs_come_alone_and_the_last_ones_in_small_tasks(self):
        long = RunQueue([(0, 99)])
        long.learn(1, 100 * TASK_SECONDS)
        self.assertEqual(long.take(1), [0])
        short = RunQueue([(0, 99)])
        short.learn(1, 1e-9)
        sizes = []
        while len(short):
            sizes.append(len(short.take(5)))
        self.assertEqual(sum(sizes), 100)
        self.assertEqual(sizes[0], 10)
        self.assertEqual(sizes[-1], 1)

    def test_what_is_put_back_is_taken_again_and_once(self):
        queue = RunQueue([(0, 9)])
        queue.learn(1, TASK_SECONDS / 3)
        lost = queue.take(1)
        self.assertEqual(lost, [0, 1, 2])
        queue.put_back(lost)
        self.assertEqual(len(queue), 10)
        killer = queue.take(1)
        queue.put_back_alone(killer)
        taken = []
        while len(queue):
            taken.append(queue.take(1))
        self.assertEqual(taken[:3], [[0], [1], [2]])
        self.assertEqual(sorted(sum(taken, [])), list(range(10)))
        self.assertEqual(queue.take(1), [])


if __name__ == "__main__":
    unittest.main()
