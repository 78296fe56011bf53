#!/usr/bin/env python3
"""Compares the output of probes on a GPU with their output on the executor.

    compare_probes.py EXECUTOR_PROGRAM GPU_PROGRAM

Copies, matrix loads, mbarriers and products of small whole numbers must agree bit for bit, fast
functions must keep their documented errors. CUDA leaves the sums of a matrix product open: they
must be within a bound of the sums rounded to nearest. The comparison reports which of the
executor's arithmetics the hardware follows, how often, and which sums follow none.
"""

import math
import struct
import subprocess
import sys
from collections import defaultdict

LARGEST = struct.unpack("f", struct.pack("I", 0x7F7FFFFF))[0]
SMALLEST_NORMAL = 2.0**-126
SUMS = 128  # of a trial, probes.cu


def number(word):
    return struct.unpack("f", struct.pack("I", int(word, 16)))[0]


def parse(text):
    """{(probe, kind): {mode: [word]}}, over all trials; other lines."""
    results, others = defaultdict(lambda: defaultdict(list)), []
    for line in text.splitlines():
        parts = line.split("|")
        if len(parts) != 5:
            others.append(line)
            continue
        name, mode, kind, _, words = parts
        results[name, kind][mode] += words.split()
    return results, others


def exp2_error(x, seen):
    """The error in units in the last place of 2^x. Subnormal results count as zero."""
    x = 0.0 if abs(x) < SMALLEST_NORMAL else x
    exact = 2.0**x if x < 128 else math.inf
    if exact > LARGEST:
        return 0.0 if seen == math.inf else math.inf
    if exact < SMALLEST_NORMAL:
        return 0.0 if seen <= SMALLEST_NORMAL else math.inf
    return abs(seen - exact) / 2.0 ** (math.floor(math.log2(exact)) - 23)


def tanh_error(x, seen):
    """The error relative to tanh x, in units of 2^-11."""
    exact = math.tanh(x)
    return abs(seen - exact) / (abs(exact) * 2.0**-11) if exact != 0 else abs(seen)


FUNCTIONS = {"exp2": (exp2_error, 2.0, "ulp"), "tanh": (tanh_error, 1.0, "x 2^-11")}


def compare_function(kind, name, executor, gpu):
    error, bound, unit = FUNCTIONS[kind]
    worst = max(error(number(x), number(y)) for x, y in zip(executor["input"], gpu))
    is_right = worst <= bound and len(gpu) == len(executor["input"])
    return is_right, f"{name}: off by at most {worst:.3f} {unit}, documented: {bound}"


def compare_exact(name, executor, gpu):
    expected = executor["executor"]
    wrong = [i for i, pair in enumerate(zip(expected, gpu)) if pair[0] != pair[1]]
    if len(expected) != len(gpu):
        return False, f"{name}: expected {len(expected)} words, got {len(gpu)}"
    if wrong:
        i = wrong[0]
        return False, (
            f"{name}: {len(wrong)} of {len(gpu)} words differ; word {i}: "
            f"executor {expected[i]}, GPU {gpu[i]}"
        )
    return True, f"{name}: {len(gpu)} words agree bit for bit"


TOLD_MAX = 5  # at most, of sums that follow none


def told(word):
    return f"{number(word):.9g} ({word})"


def compare_product(name, executor, gpu):
    """Reports which arithmetic the sums follow; fails only if a sum is beyond its bound."""
    bounds, nearest = executor.pop("bound", []), executor["nearest"]
    if any(len(words) != len(gpu) for words in [bounds, *executor.values()]):
        return False, f"{name}: expected {len(nearest)} sums, got {len(gpu)}"
    # Each trial has SUMS sums. NaN is never within the bound.
    place = [f"trial {i // SUMS}, sum {i % SUMS}" for i in range(len(gpu))]
    for i, (seen, expected, bound) in enumerate(zip(gpu, nearest, bounds)):
        if not abs(number(seen) - number(expected)) <= number(bound):
            return False, (
                f"{name}: {place[i]}: to nearest {told(expected)}, GPU {told(seen)}, "
                f"which may differ by {number(bound):.3g}"
            )
    neither = [i for i, seen in enumerate(gpu) if all(w[i] != seen for w in executor.values())]
    lines = [f"{name}: of {len(gpu)} sums, {len(neither)} match none of the executor's"]
    for i in neither[:TOLD_MAX]:
        lines.append(f"  {place[i]}: GPU {told(gpu[i])}, to nearest {told(nearest[i])}")
    agreeing = {mode: sum(map(str.__eq__, words, gpu)) for mode, words in executor.items()}
    for mode, count in sorted(agreeing.items(), key=lambda item: -item[1]):
        lines.append(f"  {count:6} are as {mode}")
    return True, "\n".join(lines)


def compare(executor_text, gpu_text):
    """(number of failures, lines of the report)."""
    executor, _ = parse(executor_text)
    gpu, others = parse(gpu_text)
    skipped = {line.split(": ")[1] for line in others if line.startswith("SKIPPED: ")}
    if not executor:
        return 1, ["FAILED: the executor printed no probe"]
    failures, lines = 0, others
    for (name, kind), modes in executor.items():
        if name in skipped:
            continue
        seen = gpu[name, kind]["gpu"]
        if not seen:
            is_right, what = False, f"{name}: nothing came from the GPU"
        elif kind == "exact":
            is_right, what = compare_exact(name, modes, seen)
        elif kind == "product":
            is_right, what = compare_product(name, modes, seen)
        else:
            is_right, what = compare_function(kind, name, modes, seen)
        failures += not is_right
        lines.append(what if is_right else f"FAILED: {what}")
    return failures, lines


def output_of(program):
    result = subprocess.run([program], capture_output=True, text=True, check=False)
    if result.returncode != 0:
        failed = [line for line in result.stdout.splitlines() if line.startswith("FAILED")]
        sys.exit("\n".join([f"{program} ended with {result.returncode}", *failed, result.stderr]))
    return result.stdout


def main(executor_program, gpu_program):
    executor = output_of(executor_program)
    gpu = output_of(gpu_program)
    if gpu.startswith("SKIPPED: hardware_test"):
        print(gpu, end="")
        return 0
    failures, lines = compare(executor, gpu)
    print("\n".join(lines))
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
