#!/usr/bin/env python3
"""Runs a sweep on the machines of a Dask cluster, with the files of `recto sweep` as result.

    tools/sweep_cluster.py --scheduler tcp://head:8786 --out results --grid grid.json

docs/cluster.md says how; tools/sweep_cluster/ holds the parts.
"""

import os
import sys
import traceback

from sweep_cluster.command_line import main

if __name__ == "__main__":
    code = 1
    try:
        code = main(sys.argv[1:])
    except SystemExit as done:  # --help, or bad flags of this script
        code = done.code
    except BaseException:
        traceback.print_exc()
    sys.stdout.flush()
    sys.stderr.flush()
    os._exit(code)  # Dask's own shutdown may wait for a scheduler that is gone
