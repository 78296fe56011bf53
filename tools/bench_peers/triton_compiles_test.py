#!/usr/bin/env python3
"""Compiles the Triton kernels, as a launch would, for GPUs that need not be present, and prints the
resources that they take. Triton brings its own compilers.
"""

import sys
from dataclasses import replace

sys.dont_write_bytecode = True

import torch  # noqa: E402
from triton.backends.compiler import GPUTarget  # noqa: E402
from triton.runtime import driver  # noqa: E402

from gpu_peers.case import Case  # noqa: E402
from gpu_peers.problem import make_problem  # noqa: E402
from gpu_peers.triton_decode import Inputs, PagedDecode, attend_split, merge_splits  # noqa: E402
from gpu_peers.triton_peer import SPLITS, TILES  # noqa: E402


class AbsentCard:
    """What a launch asks the driver before it compiles."""

    def __init__(self, capability: int):
        self.target = GPUTarget("cuda", capability, 32)

    def get_current_target(self):
        return self.target

    def get_current_device(self):
        return self.target.arch

    def get_current_stream(self, device):
        return 0


def main() -> int:
    problem = make_problem(Case(batch=2, context=64), "cpu")
    inputs = Inputs(problem.q, problem.k_pool, problem.v_pool, problem.block_table,
                    problem.context_length)
    for capability in (80, 90):
        driver.set_active(AbsentCard(capability))
        for tile in (TILES[0], TILES[-1]):
            tile = replace(tile, splits=SPLITS[-1])
            decode = PagedDecode(inputs, problem.scale, tile)
            kernel = decode.attend(lambda *a, **k: attend_split.warmup(*a, grid=decode.grid, **k))
            decode.merge(lambda *a: merge_splits.warmup(*a, grid=decode.grid))
            if "mma" not in kernel.asm["ptx"]:
                sys.exit(f"sm_{capability}, {tile}: expected tensor cores")
            print(f"sm_{capability}, {tile}: {kernel.metadata.shared} bytes of shared memory")
    return 0


if __name__ == "__main__":
    sys.exit(main())
