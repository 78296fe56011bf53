"""This project's kernels as subjects: what their C++ names say, and the shared memory that their
launches request (cuda/golden/dynamic_shared.txt)."""

import re
import subprocess
from pathlib import Path

from figures import Subject

_ELEMENTS = {"float": "fp32", "__half": "fp16", "__nv_bfloat16": "bf16", "unsigned char": "fp8"}
_BYTES = {"fp32": 4, "fp16": 2, "bf16": 2, "fp8": 1}
_NAME = re.compile(r"(?:recto::kernels::)?(\w+)<(.*), (\d+)> *>")
_NAMES = {"gqa_decode": "GQA decode in whole tiles", "paged_prefill_wide": "wide prefill",
          "paged_prefill_hopper": "Hopper prefill"}
# Hopper prefill is not in the table: it takes a multiprocessor for itself, and one warpgroup of
# three copies.
_HOPPER_SHARED, _HOPPER_COPYING_WARPS = 160 << 10, 4


class BadTable(Exception):
    """The line of a table, and what was expected."""


def read_dynamic_shared(path):
    """{(kernel, q, cache, head dim): bytes}"""
    table = {}
    for number, line in enumerate(Path(path).read_text("utf-8").splitlines()[2:], 3):
        parts = line.split()
        if len(parts) != 5 or not parts[0].isdigit():
            raise BadTable(f"{path}:{number}: expected five columns, got {line!r}")
        cache = "fp8" if parts[2] in ("e4m3", "e5m2") else parts[2]
        table[parts[4], parts[1], cache, int(parts[3])] = int(parts[0])
    return table


def demangled(names):
    """Their names in C++."""
    found = subprocess.run(["c++filt", *names], check=True, capture_output=True, text=True)
    return [re.sub(r"^void ", "", name) for name in found.stdout.splitlines()]


def is_own(mangled):
    """Whether a kernel is looked at: those of usual calls, whose hot loop does a tile a trip, for
    head dims 64, 128 and 256. Those of fp16 have the code of bf16."""
    if "6__half" in mangled or not re.search("Li(64|128|256)E", mangled):
        return False
    usual = ("gqa_decode", "paged_prefill_wide", "paged_prefill_hopper")
    return "TransferE0" not in mangled and any(f"{len(each)}{each}I" in mangled for each in usual)


def subject_of(name, shared_table):
    """The subject with this name in C++."""
    match = _NAME.match(name)
    types = [_ELEMENTS[each] for each in re.findall("|".join(_ELEMENTS), name)]
    if not match or not types:
        raise BadTable(f"{name}: expected a kernel's name with its types and head dim")
    function, q, cache, head_dim = match[1], types[0], types[-1], int(match[3])
    is_tma = "Transfer)1" in name
    is_hopper = function == "paged_prefill_hopper"
    in_table = "tma_decode" if is_tma else function
    shared = _HOPPER_SHARED if is_hopper else shared_table.get((in_table, q, cache, head_dim))
    if shared is None:
        raise BadTable(f"{name}: no shared memory in the table")
    named = "TMA decode" if is_tma else _NAMES[function]
    return Subject(f"{named}, {q}/{cache}, {head_dim}", function == "gqa_decode", _BYTES[cache],
                   shared, _HOPPER_COPYING_WARPS if is_hopper else 0)
