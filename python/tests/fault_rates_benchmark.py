#!/usr/bin/env python3
"""Measures which planted faults are found in equal CPU time: by recto, through Python and through
the C interface, by numpy.testing at 1e-3 on random inputs, and by the input generators and
tolerances of gpucheck and gpuemu.

    fault_rates_benchmark.py [--seconds 4] [--seeds 3] [--runs 8] [--judges LIST] [--faults LIST]

The first table: in how many of the seeds each judge found the fault, and the median CPU seconds; in
the last rows all faults together, with 95 % intervals (Wilson), and the faults that a function for
fp32 and fp16 alone can have. The second: in how many of `--runs` runs of 10 equal cases recto finds
a fault through Python, through the C interface, and through both. recto shrinks no case. gpuemu's
daemon, a separate program, is not used: only what its package has. RECTO_PROGRAMS names the folder
of the programs.
"""

import argparse
import contextlib
import functools
import io
import itertools
import json
import math
import resource
import statistics
import sys
import tempfile
from pathlib import Path
from types import SimpleNamespace

import numpy as np

sys.path.insert(0, str(Path(__file__).absolute().parent))
sys.path.append(str(Path(__file__).absolute().parents[1]))

import planted_faults_in_c_testing as in_c  # noqa: E402
from planted_faults_testing import FAULTS, attention  # noqa: E402

import recto  # noqa: E402
from recto import _programs  # noqa: E402
from recto._filters import RENAMED  # noqa: E402

SIZES = dict(context_max=200, sequences_max=6, rows_max=24, q_heads_max=16)
TOLERANCE = 1e-3


def cpu_s():
    """CPU seconds of this process and of the engines that it waited for."""
    used = [resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
    return sum(each.ru_utime + each.ru_stime for each in used)


# --- judges: generators of "found" or "not found", a step each ---------------------------------


def found_in_python(fault, seed, **words):
    """Whether ten cases show it."""
    function = functools.partial(attention, fault=fault)
    with tempfile.TemporaryDirectory() as folder, np.errstate(all="ignore"):
        report = recto.verify(decode=function, prefill=function, cases=10, failures=0, seed=seed,
                              fail_fast=True, folder=folder, **SIZES, **words)
    return report.failed > 0


@functools.lru_cache(maxsize=None)
def library(fault):
    return in_c.library(fault, Path(tempfile.mkdtemp(prefix="recto-faults-")))


def found_in_c(fault, seed, **words):
    """The same cases, through the C interface."""
    with tempfile.TemporaryDirectory() as folder:
        flags = _programs.flags({**SIZES, **words}, RENAMED)
        out, _ = _programs.run(
            "recto_kernels", ["verify", "--kernel", str(library(fault)), "--cases=10",
                              f"--seed={seed}", "--fail-fast", "--failures=0", "--json",
                              "--out", folder, *flags],
            RENAMED, judges=True)
    return json.loads(out)["failed"] > 0


def by_recto(fault, seed):
    for step in itertools.count():
        yield found_in_python(fault, 1000 * seed + step)


def by_recto_in_c(fault, seed):
    for step in itertools.count():
        yield found_in_c(fault, 1000 * seed + step)


def by_numpy(fault, seed):
    """The usual test: random numbers, sizes that models have, numpy.testing at 1e-3."""
    random = np.random.default_rng(seed)
    while True:
        call = usual_call(random, lambda shape: random.standard_normal(shape))
        yield differs(fault, call, functools.partial(
            np.testing.assert_allclose, rtol=TOLERANCE, atol=TOLERANCE))


def by_gpucheck(fault, seed):
    """gpucheck's shapes and tolerances."""
    from gpucheck.assertions.close import assert_close
    from gpucheck.fuzzing.shapes import fuzz_shapes

    random = np.random.default_rng(seed)
    for step in itertools.count():
        for sequences, context in fuzz_shapes(2, max_size=200, n=20, seed=1000 * seed + step):
            if sequences == 0:
                continue
            call = usual_call(random, random.standard_normal, min(sequences, 6), context)
            yield differs(fault, call, functools.partial(assert_close, k_dim=call.head_dim_k))


def by_gpuemu(fault, seed):
    """gpuemu's random tensors and tolerances."""
    from gpuemu import ToleranceConfig, generate_random_tensor

    random = np.random.default_rng(seed)
    for step in itertools.count():
        names = (f"{name}" for name in itertools.count())
        call = usual_call(random, lambda shape: generate_random_tensor(
            1000 * seed + step, shape, "float32", next(names)))
        limits = ToleranceConfig.for_dtype(call.q.dtype.name)
        yield differs(fault, call, functools.partial(
            np.testing.assert_allclose, rtol=limits.rtol, atol=limits.atol))


JUDGES = {
    "recto": by_recto, "recto in C": by_recto_in_c,
    "assert_allclose 1e-3": by_numpy, "gpucheck": by_gpucheck,
    "gpuemu": by_gpuemu,
}


def differs(fault, call, assert_close):
    """Whether the judge tells results with the fault from right ones."""
    with np.errstate(all="ignore"):
        seen, expected = attention(call, fault), attention(call)
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
    kv_type = "fp32" if dtype == np.float32 else "fp16"
    return SimpleNamespace(
        **arrays, kv_type=kv_type, layout="token-major", block_size=size, num_blocks=blocks,
        num_kv_heads=kv_heads, num_q_heads=heads, num_query_rows=int(starts[-1]), head_dim_k=dim,
        head_dim_v=dim, scale=dim**-0.5, causal=True, context_length=lengths.astype(np.int32),
        query_start=starts,
        block_table=random.permutation(blocks)[: sequences * per_sequence].reshape(sequences, -1),
        window=int(random.integers(1, 100)) if has[0] else None, softcap=30.0 if has[1] else 0.0,
        alibi_slopes=2.0 ** -np.arange(1, heads + 1) if has[2] else None,
        sinks=random.standard_normal(heads) if has[3] else None, k_scale=None, v_scale=None,
        float32=lambda name: arrays[name].astype(np.float32),
    )


def tried(judge, fault, seed, budget_s):
    """CPU seconds until it found the fault; None: not within the budget."""
    begin = cpu_s()
    for found in judge(fault, seed):
        used = cpu_s() - begin
        if found and used <= budget_s:
            return used
        if used > budget_s:
            return None


def interval_text(found, made):
    """"12 of 48, 15 to 39 %": Wilson's interval of 95 %."""
    if made == 0:
        return "-"
    z = 1.96
    middle = (found + z * z / 2) / (made + z * z)
    half = z / (made + z * z) * math.sqrt(found * (made - found) / made + z * z / 4)
    low, high = (100 * max(0.0, middle - half), 100 * min(1.0, middle + half))
    return f"{found} of {made}, {low:.0f} to {high:.0f} %"


def print_row(cells):
    print("| " + " | ".join(map(str, cells)) + " |", flush=True)


def print_rates(options, faults, names):
    print_row(["fault", *names])
    print("|---" * (len(names) + 1) + "|")
    rows = {}
    for fault in ("", *faults):
        cells = []
        for name in names:
            if JUDGES[name] is by_recto_in_c and fault not in in_c.REPLACED:
                cells.append(None)
                continue
            if JUDGES[name] is by_recto_in_c:
                library(fault)  # the compiler's time is no judge's
            times = [tried(JUDGES[name], fault, seed, options.seconds)
                     for seed in range(1, options.seeds + 1)]
            cells.append([each for each in times if each is not None])
        if fault:
            rows[fault] = cells
        print_row([fault or "none: a right function", *(
            "-" if found is None else f"{len(found)} of {options.seeds}"
            + (f", {statistics.median(found):.1f} s" if found else "") for found in cells)])
    for title, chosen in (("all", rows), ("without fp8", [f for f in rows if "fp8" not in f])):
        columns = [[rows[fault][i] for fault in chosen if rows[fault][i] is not None]
                   for i in range(len(names))]
        print_row([title, *(interval_text(sum(map(len, column)), options.seeds * len(column))
                            for column in columns)])


def print_equal_cases(options, faults):
    """Prints rates of equal cases, in the types that the kernel in C has."""
    print_row(["fault, in 10 equal cases", "Python", "C", "both"])
    print("|---" * 4 + "|")
    sums = [0, 0, 0]
    for fault in (each for each in faults if each in in_c.REPLACED):
        python, c = ([find(fault, seed, types=["fp32", "bf16"]) for seed in range(options.runs)]
                     for find in (found_in_python, found_in_c))
        counts = [sum(python), sum(c), sum(map(all, zip(python, c)))]
        sums = [a + b for a, b in zip(sums, counts)]
        print_row([fault, *counts])
    total = options.runs * sum(each in in_c.REPLACED for each in faults)
    print_row(["all", *(interval_text(each, total) for each in sums)])


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--seconds", type=float, default=4)
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--runs", type=int, default=8)
    parser.add_argument("--judges", default=",".join(JUDGES))
    parser.add_argument("--faults", default=",".join(FAULTS))
    options = parser.parse_args()
    faults, judges = options.faults.split(","), options.judges.split(",")
    if unknown := {*faults} - {*FAULTS} | {*judges} - {*JUDGES}:
        parser.error(f"unknown: {', '.join(sorted(unknown))}")
    for name in judges:  # what it imports is not its time, and may be missing
        next(JUDGES[name]("", 0))
    print_rates(options, faults, judges)
    if options.runs:
        print()
        print_equal_cases(options, faults)
    print(f"\n{cpu_s():.0f} s of CPU time in all")


if __name__ == "__main__":
    main()
