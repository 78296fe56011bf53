#!/usr/bin/env python3
"""Measures what recto.verify() costs for each call, beyond the function itself.

    call_cost_benchmark.py [--cases 60]

CPU time for each call of a function that reads its arguments and returns call.out: in this process,
and in the engine, which draws the cases, places them in memory and judges two laws. Small cases, so
that the cost of a call shows. RECTO_PROGRAMS names the folder of the programs.
"""

import argparse
import resource
import sys
import tempfile
from pathlib import Path

sys.path.append(str(Path(__file__).absolute().parents[1]))

import recto  # noqa: E402


def cpu_s():
    """CPU seconds of this process, and of the engines that it waited for."""
    used = [resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
    return [each.ru_utime + each.ru_stime for each in used]


def main():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--cases", type=int, default=60)
    calls = 0

    def touches(call):
        nonlocal calls
        calls += 1
        call.q, call.k_cache, call.v_cache, call.block_table, call.context_length
        return call.out

    cases = parser.parse_args().cases
    before = cpu_s()
    with tempfile.TemporaryDirectory() as folder:
        recto.verify(decode=touches, cases=cases, kinds=["small"], laws=["repetition", "history"],
                     explain=False, seed=1, folder=folder)
    here_us, engine_us = (1e6 * (now - then) / calls for now, then in zip(cpu_s(), before))
    print(f"{calls} calls; CPU time for each: {here_us:.0f} us here, {engine_us:.0f} us in the "
          "engine, with its cases and laws")


if __name__ == "__main__":
    sys.exit(main())
