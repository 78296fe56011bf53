"""What is measured on the Python block manager: the operations of the C++ benchmark, with the same
names and sizes. Each returns nanoseconds per operation.
"""

import random
import statistics
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass

from python_manager import PythonManager

BLOCK_SIZE = 16


class Skipped(Exception):
    """Says what is missing."""


@dataclass(frozen=True)
class Operation:
    name: str  # as in the C++ benchmark, with its arguments
    size: int  # the argument: blocks of the pool, sequences or tokens
    unit: str  # what one operation is
    measure: Callable[[int], float]  # takes the number of repetitions; more is more exact


def median_ns(times: int, operations: int, steps: Iterator[Callable[[], None]]) -> float:
    """Times each step by this thread's clock, without what its generator does in between."""
    elapsed = []
    for _ in range(times):
        step = next(steps)
        start = time.thread_time_ns()
        step()
        elapsed.append(time.thread_time_ns() - start)
    return statistics.median(elapsed) / operations


def prompt_ids(seed: int, count: int) -> list[int]:
    draw = random.Random(seed)
    return [draw.randrange(1 << 17) for _ in range(count)]


def allocate_and_free(num_blocks: int, times: int) -> float:
    batch = 1000
    manager = PythonManager(num_blocks, BLOCK_SIZE)
    order = [manager.allocate() for _ in range(num_blocks)]
    random.Random(1).shuffle(order)

    def steps():
        while True:
            for begin in range(0, num_blocks - batch + 1, batch):
                blocks = order[begin:begin + batch]

                def step():
                    for block in blocks:
                        manager.give_back(block)
                    for i in range(batch):
                        blocks[i] = manager.allocate()

                yield step
                order[begin:begin + batch] = blocks

    return median_ns(times, batch, steps())


def append_one_to_each(num_sequences: int, times: int) -> float:
    num_steps = 48
    manager = PythonManager(num_sequences * (num_steps // BLOCK_SIZE + 2), BLOCK_SIZE)
    batch = [manager.admit([first]) for first in range(num_sequences)]
    for i, sequence in enumerate(batch):
        manager.append([sequence], 1 + i % BLOCK_SIZE)

    def step():
        for _ in range(num_steps):
            manager.append(batch)

    def steps():
        while True:
            yield step
            for i, sequence in enumerate(batch):
                manager.truncate(sequence, 1 + i % BLOCK_SIZE)

    return median_ns(times, num_steps * num_sequences, steps())


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

    def steps():
        seed = 1 << 20
        while True:
            ids = prompt_ids(seed, tokens)
            done = []
            yield lambda: done.append(compute(manager, ids))
            manager.release(done[0])
            seed += 1

    return median_ns(times, tokens, steps())


def admit_cached(num_blocks: int, times: int) -> float:
    tokens = 4096
    manager = full_cache(num_blocks, tokens)
    order = list(range(1, 1 + num_blocks * BLOCK_SIZE // tokens))
    random.Random(1).shuffle(order)

    def steps():
        while True:
            for seed in order:
                ids = prompt_ids(seed, tokens)
                done = []
                yield lambda: done.append(manager.admit(ids))
                if manager.sequences[done[0]].length != tokens - BLOCK_SIZE:
                    raise RuntimeError("a cached prompt was not found")
                manager.release(done[0])

    return median_ns(times, tokens, steps())


def evict_under_pressure(num_blocks: int, times: int) -> float:
    num_prompts, tokens = 8, 16 * BLOCK_SIZE
    manager = full_cache(num_blocks, 4096)

    def steps():
        seed = 1 << 20
        while True:
            prompts = [prompt_ids(seed + i, tokens) for i in range(num_prompts)]
            seed += num_prompts

            def step():
                for ids in prompts:
                    manager.release(compute(manager, ids))

            yield step

    return median_ns(times, num_prompts * tokens // BLOCK_SIZE, steps())


def fork_long_sequence(num_sequences: int, times: int) -> float:
    num_blocks = 100_000 // BLOCK_SIZE
    manager = PythonManager(num_sequences * num_blocks, BLOCK_SIZE)
    batch = [manager.admit([0]) for _ in range(num_sequences)]
    for _ in range(num_blocks):
        manager.append(batch, BLOCK_SIZE)

    def steps():
        while True:
            done = []
            yield lambda: done.append(manager.fork(batch[0]))
            manager.release(done[0])

    return median_ns(times, num_blocks, steps())


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

    def write():
        for row, sequence in enumerate(batch):
            table = manager.sequences[sequence].table
            buffer[row, :len(table)] = table

    def steps():
        while True:
            manager.append(batch)
            yield write

    return median_ns(times, 1, steps())


def _operations() -> Iterator[Operation]:
    kinds = (
        (allocate_and_free, "blocks", (1_000, 100_000, 10_000_000), "block"),
        (append_one_to_each, "sequences", (256,), "sequence and step"),
        (admit_cold, "blocks", (1_000, 30_000), "token"),
        (admit_cached, "blocks", (1_000, 30_000), "token"),
        (evict_under_pressure, "blocks", (1_000, 30_000), "block"),
        (fork_long_sequence, "sequences", (1,), "block"),
        (update_tables, "tokens", (4_096,), "step"),
    )
    for function, argument, sizes, unit in kinds:
        for size in sizes:
            yield Operation(f"{function.__name__}/{argument}:{size}", size, unit,
                            lambda times, f=function, s=size: f(s, times))


OPERATIONS = tuple(_operations())
