#!/usr/bin/env python3
"""Measures attention kernels of others on the GPU at hand, in cases of recto's benchmark.

  gpu_peers.py --json peers.json                all cases, minutes
  gpu_peers.py --cases-of recto.json --json peers.json
  gpu_peers.py --device cpu                     checks correctness at small shapes, without a GPU
  gpu_peers.py compare recto.json peers.json    recto beside the peers

A peer's answer is first compared with fp64; a wrong one is reported and not timed. Times are
medians between CUDA events with a cold L2 and alternating inputs, beside the card's own copy and
matrix product. Missing packages are skipped with a message.

Exit codes: 0 done, 1 a peer is wrong or none answered, 2 bad usage, 3 no GPU or no PyTorch.
"""

import sys

sys.dont_write_bytecode = True

from gpu_peers.command_line import main  # noqa: E402

if __name__ == "__main__":
    sys.exit(main(__doc__, sys.argv[1:]))
