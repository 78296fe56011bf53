"""The operations measured on the Python block manager: those of the C++ benchmark, with the same
names and sizes. Each function takes its size and the number of repetitions, and returns nanoseconds
per operation.
"""

import itertools
import random
import statistics
import time
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial

from python_manager import PythonManager

BLOCK_SIZE = 16


class Skipped(Exception):
    """The operation cannot run: names the missing package."""


@dataclass(frozen=True)
class Operation:
    name: str  # as in the C++ benchmark, with its argument
    size: int  # the argument: blocks of the pool, sequences or tokens
    unit: str  # the name of one operation
    measure: Callable[[int], float]  # takes the number of repetitions; more are more exact


class Stopwatch:
    """Takes the time of each `with` block by this thread's clock."""

    def __init__(self):
        self._elapsed = []

    def __enter__(self) -> None:
        self._start = time.thread_time_ns()

    def __exit__(self, *_) -> None:
        self._elapsed.append(time.thread_time_ns() - self._start)

    def median_ns(self, operations: int) -> float:
        """The median time of one operation of a block."""
        return statistics.median(self._elapsed) / operations


def prompt_ids(seed: int, count: int) -> list[int]:
    draw = random.Random(seed)
    return [draw.randrange(1 << 17) for _ in range(count)]


def allocate_and_free(num_blocks: int, times: int) -> float:
    batch = 1000
    manager = PythonManager(num_blocks, BLOCK_SIZE)
    order = [manager.allocate() for _ in range(num_blocks)]
    random.Random(1).shuffle(order)
    watch = Stopwatch()
    begins = itertools.cycle(range(0, num_blocks - batch + 1, batch))
    for begin in itertools.islice(begins, times):
        blocks = order[begin:begin + batch]
        with watch:
            for block in blocks:
                manager.give_back(block)
            for i in range(batch):
                blocks[i] = manager.allocate()
        order[begin:begin + batch] = blocks
    return watch.median_ns(batch)


def append_one_to_each(num_sequences: int, times: int) -> float:
    num_steps = 48
    manager = PythonManager(num_sequences * (num_steps // BLOCK_SIZE + 2), BLOCK_SIZE)
    batch = [manager.admit([first]) for first in range(num_sequences)]
    for i, sequence in enumerate(batch):
        manager.append([sequence], 1 + i % BLOCK_SIZE)
    watch = Stopwatch()
    for _ in range(times):
        with watch:
            for _ in range(num_steps):
                manager.append(batch)
        for i, sequence in enumerate(batch):
            manager.truncate(sequence, 1 + i % BLOCK_SIZE)
    return watch.median_ns(num_steps * num_sequences)


def compute(manager: PythonManager, ids: list[int]) -> int:
    sequence = manager.admit(ids)
    manager.append([sequence], len(ids) - manager.sequences[sequence].length)
    manager.commit(sequence, ids)
    return sequence


def full_cache(num_blocks: int, tokens: int) -> PythonManager:
    manager = PythonManager(num_blocks, BLOCK_SIZE)
    for seed in range(1 + num_blocks * BLOCK_SIZE // tokens):
        manager.release(compute(manager, prompt_ids(seed, tokens)))
    return manager


def admit_cold(num_blocks: int, times: int) -> float:
    tokens = 4096
    manager = full_cache(num_blocks, tokens)
    watch = Stopwatch()
    for seed in range(1 << 20, (1 << 20) + times):
        ids = prompt_ids(seed, tokens)
        with watch:
            sequence = compute(manager, ids)
        manager.release(sequence)
    return watch.median_ns(tokens)


def admit_cached(num_blocks: int, times: int) -> float:
    tokens = 4096
    manager = full_cache(num_blocks, tokens)
    seeds = list(range(1, 1 + num_blocks * BLOCK_SIZE // tokens))
    random.Random(1).shuffle(seeds)
    watch = Stopwatch()
    for seed in itertools.islice(itertools.cycle(seeds), times):
        ids = prompt_ids(seed, tokens)
        with watch:
            sequence = manager.admit(ids)
        if manager.sequences[sequence].length != tokens - BLOCK_SIZE:
            raise RuntimeError("a cached prompt was not found")
        manager.release(sequence)
    return watch.median_ns(tokens)


def evict_under_pressure(num_blocks: int, times: int) -> float:
    num_prompts, tokens = 8, 16 * BLOCK_SIZE
    manager = full_cache(num_blocks, 4096)
    watch = Stopwatch()
    for step in range(times):
        first = (1 << 20) + step * num_prompts
        prompts = [prompt_ids(first + i, tokens) for i in range(num_prompts)]
        with watch:
            for ids in prompts:
                manager.release(compute(manager, ids))
    return watch.median_ns(num_prompts * tokens // BLOCK_SIZE)


def fork_long_sequence(num_sequences: int, times: int) -> float:
    num_blocks = 100_000 // BLOCK_SIZE
    manager = PythonManager(num_sequences * num_blocks, BLOCK_SIZE)
    batch = [manager.admit([0]) for _ in range(num_sequences)]
    for _ in range(num_blocks):
        manager.append(batch, BLOCK_SIZE)
    watch = Stopwatch()
    for _ in range(times):
        with watch:
            fork = manager.fork(batch[0])
        manager.release(fork)
    return watch.median_ns(num_blocks)


def update_tables(tokens: int, times: int) -> float:
    try:
        import numpy
    except ImportError as missing:
        raise Skipped("no numpy, which tables of a batch are kept in") from missing
    num_sequences = 256
    columns = (tokens + 2 * times) // BLOCK_SIZE + 3
    manager = PythonManager(num_sequences * columns, BLOCK_SIZE)
    buffer = numpy.full((num_sequences, columns), -1, dtype=numpy.int32)
    batch = [manager.admit([first]) for first in range(num_sequences)]
    for i, sequence in enumerate(batch):
        manager.append([sequence], tokens + i % BLOCK_SIZE)
    watch = Stopwatch()
    for _ in range(times):
        manager.append(batch)
        with watch:
            for row, sequence in enumerate(batch):
                table = manager.sequences[sequence].table
                buffer[row, :len(table)] = table
    return watch.median_ns(1)


OPERATIONS = tuple(
    Operation(f"{function.__name__}/{argument}:{size}", size, unit, partial(function, size))
    for function, argument, sizes, unit in (
        (allocate_and_free, "blocks", (1_000, 100_000, 10_000_000), "block"),
        (append_one_to_each, "sequences", (256,), "sequence and step"),
        (admit_cold, "blocks", (1_000, 30_000), "token"),
        (admit_cached, "blocks", (1_000, 30_000), "token"),
        (evict_under_pressure, "blocks", (1_000, 30_000), "block"),
        (fork_long_sequence, "sequences", (1,), "block"),
        (update_tables, "tokens", (4_096,), "step"),
    )
    for size in sizes
)
