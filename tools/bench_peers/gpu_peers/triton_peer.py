"""The Triton kernel as a peer: tuned for each case. Needs PyTorch and Triton."""

from dataclasses import replace

import torch
import triton

from .peers import Peer, Prepared
from .problem import Problem
from .triton_decode import Inputs, PagedDecode, Tuning

# Because K and V are located through the table, two more stages make one more buffer of each.
TILES = tuple(Tuning(1, keys, warps, stages)
              for keys in (32, 64, 128) for warps in (4, 8) for stages in (3, 5, 7))
SPLITS = (1, 2, 4, 8, 16, 32, 64)
FEWEST_KEYS = 128  # per split


def split_counts(context: int) -> list[int]:
    return [splits for splits in SPLITS if splits == 1 or splits * FEWEST_KEYS <= context]


def fastest(candidates: list[Tuning], seconds_of) -> Tuning:
    """Skips candidates that do not fit the card; if none fits, raises the error of the last one."""
    best, refusal = None, None
    for tuning in candidates:
        try:
            seconds = seconds_of(tuning)
        except triton.runtime.errors.OutOfResources as error:
            refusal = error
            continue
        if best is None or seconds < best[0]:
            best = (seconds, tuning)
    if best is None:
        raise refusal
    return best[1]


def tune(problem: Problem, inputs: Inputs, timer) -> Tuning:
    """Tunes the tile first, with splits that give each multiprocessor two thread blocks, then the
    splits; as few as possible if that is as fast.
    """
    programs = inputs.q.shape[0] * inputs.k_pool.shape[1]
    wanted = 2 * torch.cuda.get_device_properties(inputs.q.device).multi_processor_count / programs
    counts = split_counts(max(problem.lengths))
    start = next((splits for splits in counts if splits >= wanted), counts[-1])

    def seconds_of(tuning: Tuning) -> float:
        return timer(PagedDecode(inputs, problem.scale, tuning))

    tile = fastest([replace(tile, splits=start) for tile in TILES], seconds_of)
    return fastest([replace(tile, splits=splits) for splits in counts], seconds_of)


def prepare(problem: Problem, timer) -> Prepared:
    inputs = Inputs(problem.q, problem.k_pool, problem.v_pool, problem.block_table,
                    problem.context_length)
    # Without a GPU there is nothing to tune, and both kernels must run.
    tuning = tune(problem, inputs, timer) if timer else Tuning(3, 16)
    return Prepared(PagedDecode(inputs, problem.scale, tuning))


PEERS = (Peer("triton", "paged decode in Triton, split and merged, tuned", prepare,
              package="triton", operations=("decode",)),)
