#!/usr/bin/env python3
"""Measures which planted faults are found in equal CPU time: by recto, by numpy.testing at 1e-3 on
random inputs, and by the input generators and tolerances of gpucheck and gpuemu.

    fault_rates_benchmark.py [--seconds 20] [--seeds 5] [--judges LIST] [--faults LIST]

Prints a table: in how many of the seeds each judge found the fault, and the median CPU seconds. Its
CPU time is at most seconds x seeds x judges x faults. gpuemu's daemon, a separate program, is not
used: only what its package has.
"""

import argparse
import contextlib
import functools
import io
import itertools
import resource
import statistics
import sys
import tempfile
from pathlib import Path
from types import SimpleNamespace

import numpy as np

sys.path.insert(0, str(Path(__file__).absolute().parent))

from planted_faults_testing import FAULTS, attention  # noqa: E402

import recto  # noqa: E402

SIZES = dict(context_max=200, sequences_max=6, rows_max=24, q_heads_max=16)
TOLERANCE = 1e-3


def cpu_s():
    """Of this process and the engines that it waited for."""
    used = [resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
    return sum(each.ru_utime + each.ru_stime for each in used)


# --- judges: generators of "found" or "not found", a step each ---------------------------------


def by_recto(function, seed, **words):
    """Cases of recto, in runs of a few."""
    for step in itertools.count():
        with tempfile.TemporaryDirectory() as folder, np.errstate(all="ignore"):
            report = recto.verify(decode=function, prefill=function, cases=10, explain=False,
                                  seed=1000 * seed + step, fail_fast=True, folder=folder,
                                  **SIZES, **words)
        yield report.failed > 0


def by_numpy(function, seed):
    """The usual test: random numbers, sizes that models have, numpy.testing at 1e-3."""
    random = np.random.default_rng(seed)
    while True:
        call = usual_call(random, lambda shape: random.standard_normal(shape))
        yield differs(function, call, functools.partial(
            np.testing.assert_allclose, rtol=TOLERANCE, atol=TOLERANCE))


def by_gpucheck(function, seed):
    """gpucheck's shapes and tolerances."""
    from gpucheck.assertions.close import assert_close
    from gpucheck.fuzzing.shapes import fuzz_shapes

    random = np.random.default_rng(seed)
    for step in itertools.count():
        for sequences, context in fuzz_shapes(2, max_size=200, n=20, seed=1000 * seed + step):
            if sequences == 0:
                continue
            call = usual_call(random, random.standard_normal, min(sequences, 6), context)
            yield differs(function, call, functools.partial(assert_close, k_dim=call.head_dim_k))


def by_gpuemu(function, seed):
    """gpuemu's random tensors and tolerances."""
    from gpuemu import ToleranceConfig, generate_random_tensor

    random = np.random.default_rng(seed)
    for step in itertools.count():
        names = (f"{name}" for name in itertools.count())
        call = usual_call(random, lambda shape: generate_random_tensor(
            1000 * seed + step, shape, "float32", next(names)))
        limits = ToleranceConfig.for_dtype(call.q.dtype.name)
        yield differs(function, call, functools.partial(
            np.testing.assert_allclose, rtol=limits.rtol, atol=limits.atol))


JUDGES = {
    "recto": by_recto, "assert_allclose 1e-3": by_numpy, "gpucheck": by_gpucheck,
    "gpuemu": by_gpuemu,
}


def differs(function, call, assert_close):
    """Whether the judge tells the function's results from those of the right one."""
    with np.errstate(all="ignore"):
        seen, expected = function(call), attention(call)
    try:
        with contextlib.redirect_stdout(io.StringIO()):  # gpucheck prints what differs
            for one, other in zip(seen, expected):
                assert_close(one.astype(call.q.dtype), other.astype(call.q.dtype))
    except AssertionError:
        return True
    return False


def usual_call(random, draw, sequences=None, context=None):
    """A call as tests have it: blocks anywhere in the pool, each option in half of the calls."""
    sequences = sequences or int(random.integers(1, 7))
    lengths = random.integers(1, 201, sequences) if context is None else np.full(sequences, context)
    size, kv_heads, group = (int(random.choice(each)) for each in ((8, 16, 32), (1, 2), (1, 4)))
    dim, dtype = int(random.choice((32, 64))), random.choice((np.float32, np.float16))
    chunks = np.minimum(lengths, random.integers(1, 25, sequences))
    rows = np.where(random.random() < 0.5, 1, chunks)
    per_sequence = max(1, -(-int(max(lengths, default=0)) // size))
    blocks = sequences * per_sequence + 4
    starts = np.concatenate([[0], np.cumsum(rows)]).astype(np.int32)
    heads = kv_heads * group
    has = random.random(4) < 0.5
    arrays = {name: draw((blocks, size, kv_heads, dim)).astype(dtype)
              for name in ("k_cache", "v_cache")}
    arrays["q"] = draw((int(starts[-1]), heads, dim)).astype(dtype)
    return SimpleNamespace(
        **arrays, layout="token-major", block_size=size, num_blocks=blocks, num_kv_heads=kv_heads,
        num_q_heads=heads, num_query_rows=int(starts[-1]), head_dim_k=dim, head_dim_v=dim,
        scale=dim**-0.5, causal=True, context_length=lengths.astype(np.int32), query_start=starts,
        block_table=random.permutation(blocks)[: sequences * per_sequence].reshape(sequences, -1),
        window=int(random.integers(1, 100)) if has[0] else None, softcap=30.0 if has[1] else 0.0,
        alibi_slopes=2.0 ** -np.arange(1, heads + 1) if has[2] else None,
        sinks=random.standard_normal(heads) if has[3] else None, k_scale=None, v_scale=None,
        float32=lambda name: arrays[name].astype(np.float32),
    )


def tried(judge, function, seed, budget_s):
    """CPU seconds until it found the fault; None: not within the budget."""
    begin = cpu_s()
    for found in judge(function, seed):
        used = cpu_s() - begin
        if found and used <= budget_s:
            return used
        if used > budget_s:
            return None


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--seconds", type=float, default=20)
    parser.add_argument("--seeds", type=int, default=5)
    parser.add_argument("--judges", default=",".join(JUDGES))
    parser.add_argument("--faults", default=",".join(FAULTS))
    options = parser.parse_args()
    names = options.judges.split(",")
    print("| fault | " + " | ".join(names) + " |\n" + "|---" * (len(names) + 1) + "|")
    rates = {name: [] for name in names}
    for fault in ("", *options.faults.split(",")):
        cells = []
        for name in names:
            function = functools.partial(attention, fault=fault)
            times = [tried(JUDGES[name], function, seed, options.seconds)
                     for seed in range(1, options.seeds + 1)]
            found = [each for each in times if each is not None]
            if fault:
                rates[name].append(len(found) / len(times))
            median = f", {statistics.median(found):.1f} s" if found else ""
            cells.append(f"{len(found)} of {len(times)}{median}")
        print(f"| {fault or 'none: a right function'} | " + " | ".join(cells) + " |", flush=True)
    means = (f"{100 * statistics.mean(rates[name]):.0f} %" for name in names)
    print("| all faults | " + " | ".join(means) + " |")


if __name__ == "__main__":
    main()
