#!/usr/bin/env python3
"""The Triton kernels compile, as a launch would have them compiled, for GPUs that need not be
present: Triton brings its own compilers. Prints the resources that they take. Skipped where PyTorch
or Triton is not installed; RECTO_PYTHON names an interpreter that has them.
"""

import os
import sys
import tempfile
import unittest
from dataclasses import replace

sys.dont_write_bytecode = True

try:
    import torch  # noqa: F401
    from triton.backends.compiler import GPUTarget
    from triton.runtime import driver
except ImportError as missing:
    print(f"SKIPPED: Triton for GPUs that are not here: {missing}")
    sys.exit(0)

from gpu_peers.case import Case  # noqa: E402
from gpu_peers.problem import make_problem  # noqa: E402
from gpu_peers.triton_decode import Inputs, PagedDecode, attend_split, merge_splits  # noqa: E402
from gpu_peers.triton_peer import SPLITS, TILES  # noqa: E402


class AbsentCard:
    """What a launch asks the driver before it compiles."""

    def __init__(self, capability):
        self.target = GPUTarget("cuda", capability, 32)

    def get_current_target(self):
        return self.target

    def get_current_device(self):
        return self.target.arch

    def get_current_stream(self, device):
        return 0


class TritonTest(unittest.TestCase):
    def setUp(self):
        cache = tempfile.TemporaryDirectory()
        self.addCleanup(cache.cleanup)
        os.environ["TRITON_CACHE_DIR"] = cache.name

    def test_it_compiles_for_gpus_that_are_not_here(self):
        problem = make_problem(Case(batch=2, context=64), "cpu")
        inputs = Inputs(problem.q, problem.k_pool, problem.v_pool, problem.block_table,
                        problem.context_length)
        for capability in (80, 90):
            driver.set_active(AbsentCard(capability))
            for tile in (TILES[0], TILES[-1]):
                tile = replace(tile, splits=SPLITS[-1])
                decode = PagedDecode(inputs, problem.scale, tile)
                kernel = decode.attend(
                    lambda *a, **k: attend_split.warmup(*a, grid=decode.grid, **k))
                decode.merge(lambda *a: merge_splits.warmup(*a, grid=decode.grid))
                self.assertIn("mma", kernel.asm["ptx"], (capability, tile))  # on tensor cores
                print(f"sm_{capability}, {tile}: {kernel.metadata.shared} bytes of shared memory")
                self.assertGreater(kernel.metadata.shared, 0)


if __name__ == "__main__":
    unittest.main(warnings="ignore")  # of packages, about their own insides
