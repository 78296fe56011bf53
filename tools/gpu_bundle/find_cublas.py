#!/usr/bin/env python3
"""Prints the folder of a cuBLAS that cuda/bench can open: from the packages that come with PyTorch,
or else from the CUDA Toolkit. Prints nothing if there is none.

    find_cublas.py [FOLDER...]      looks there instead
"""

import sys
from pathlib import Path

NAMES = ("libcublas.so.13", "libcublas.so.12")  # the names that cuda/bench/blas_library.cc opens
TOOLKIT = "/usr/local/cuda/lib64"


def find(folders):
    for name in NAMES:
        for folder in folders:
            for pattern in (name, f"nvidia/*/lib/{name}"):
                for found in sorted(Path(folder).glob(pattern)):
                    return found.parent
    return None


if __name__ == "__main__":
    folder = find(sys.argv[1:] or [*filter(None, sys.path), TOOLKIT])
    if folder is not None:
        print(folder)
