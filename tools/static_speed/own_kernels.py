"""This project's kernels as subjects: what their C++ names say, and the shared memory that their
launches request (cuda/golden/dynamic_shared.txt)."""

import re

from figures import Subject
from machine_code import output_of
from text_table import read_rows

_ELEMENTS = {"float": "fp32", "__half": "fp16", "__nv_bfloat16": "bf16", "unsigned char": "fp8"}
_BYTES = {"fp32": 4, "fp16": 2, "bf16": 2, "fp8": 1}
_NAME = re.compile(r"(?:recto::kernels::)?(\w+)<(.*), (\d+)> *>")
_NAMES = {"gqa_decode": "GQA decode in whole tiles", "paged_prefill_wide": "wide prefill",
          "paged_prefill_hopper": "Hopper prefill"}
# Hopper prefill is not in the table: it takes a multiprocessor for itself, and one warpgroup of
# three copies.
_HOPPER_SHARED, _HOPPER_COPYING_WARPS = 160 << 10, 4


def read_dynamic_shared(path):
    """{(kernel, q, cache, head dim): bytes}"""
    def parse(_, *cells):
        size, q, cache, head_dim, kernel = cells
        cache = "fp8" if cache in ("e4m3", "e5m2") else cache
        return (kernel, q, cache, int(head_dim)), int(size)

    return dict(read_rows(path, "# dynamic shared memory", 5, parse)[1])


def demangled(names):
    """Their names in C++."""
    return [name.removeprefix("void ") for name in output_of("c++filt", *names).splitlines()]


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
        raise SystemExit(f"{name}: expected a kernel's name with its types and head dim")
    function, q, cache, head_dim = match[1], types[0], types[-1], int(match[3])
    is_tma = "Transfer)1" in name
    is_hopper = function == "paged_prefill_hopper"
    in_table = "tma_decode" if is_tma else function
    shared = _HOPPER_SHARED if is_hopper else shared_table.get((in_table, q, cache, head_dim))
    if shared is None:
        raise SystemExit(f"{name}: no shared memory in the table; expected a row for "
                         f"{in_table}, {q}, {cache}, {head_dim}")
    named = "TMA decode" if is_tma else _NAMES[function]
    return Subject(f"{named}, {q}/{cache}, {head_dim}", function == "gqa_decode", _BYTES[cache],
                   shared, _HOPPER_COPYING_WARPS if is_hopper else 0)
