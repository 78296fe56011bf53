"""The figures of a kernel: what its machine code says, and what the replay predicts from it."""

from collections import Counter
from dataclasses import dataclass

from hot_loop import find_hot_path
from replay import trips_per_clock

_ROWS = 16  # query rows in a decode kernel's matrix product
_SYSTEM_SHARED = 1024  # bytes of each thread block, on sm_90 and later within its static ones
BLOCKS_MAX = 4  # thread blocks on a multiprocessor that are replayed; no plan expects more

# Kinds of instructions; what is in none is integer arithmetic and moves.
KINDS = {
    "products": ("HMMA", "HGMMA"),
    "ldmatrix": ("LDSM",),
    "copies": ("LDGSTS", "UBLKCP", "UTMALDG"),
    "special": ("MUFU",),
    "fp32": ("FADD", "FMUL", "FFMA", "FMNMX", "FMNMX3", "FSETP", "FSEL", "F2FP", "FADD2", "FMUL2",
             "FFMA2", "HFMA2", "HADD2", "HMUL2", "F2F"),
    "control": ("BRA", "BSSY", "BSYNC", "WARPSYNC", "BAR", "DEPBAR", "LDGDEPBAR", "SYNCS",
                "WARPGROUP", "CALL", "RET", "EXIT", "NOP", "MEMBAR", "FENCE"),
}
COLUMNS = ("instructions", "work", "per instr.", *KINDS, "integer", "stalls", "branches",
           "registers", "shared", "blocks", "in flight",
           *(f"at {blocks}" for blocks in range(1, BLOCKS_MAX + 1)))


@dataclass(frozen=True)
class Subject:
    """A kernel to look at, and what its code does not say."""

    label: str
    is_decode: bool  # its work is counted in bytes of K and V, otherwise in FLOP
    cache_bytes: int  # of an element
    dynamic_shared: int  # bytes
    copying_warps: int = 0  # that only copy, and do not run the hot loop
    threads: int = 0  # of a thread block, if the code does not say
    work: int = 0  # of a warp's tile, where products or copies have other uses, too
    is_own: bool = True  # a trip of its hot loop must be a tile of sixteen rows


def rates_of(figures):
    """Throughput per clock of a multiprocessor with 1, 2, ... thread blocks."""
    return [number for column, number in sorted(figures.items()) if column.startswith("at ")]


def count_kinds(instructions):
    kind_of = {base: kind for kind, bases in KINDS.items() for base in bases}
    return Counter(kind_of.get(each.base, "integer") for each in instructions)


def _bytes_of_products(path, cache_bytes):
    """Bytes of K and V that the products consume: 2 FLOP for each element and row."""
    return path.flops * cache_bytes // (2 * _ROWS)


def _is_one_tile(path, subject):
    """Whether a trip is a tile of sixteen rows: no loop within it has work, and the products take
    what is copied, where copies say how much that is."""
    if path is None or not path.is_whole or path.products == "FFMA":
        return False
    expected = _bytes_of_products(path, subject.cache_bytes)
    return not subject.is_decode or path.copied_bytes in (0, expected)


def _tiles_in_flight(path):
    """Groups of copies that may be in flight while a warp waits for one."""
    waits = [each for each in path.instructions if each.base == "DEPBAR" and "," in each.operands]
    return max([1, *(int(each.operands.rpartition(",")[2], 16) for each in waits)])


def measure(kernel, subject, card):
    """{column: number}; "at 3" is the throughput per clock of a multiprocessor with three thread
    blocks. None for one of our kernels in which a trip of the hot loop is no tile."""
    path = find_hot_path(kernel)
    if path is None or subject.is_own and not _is_one_tile(path, subject):
        return None
    code = path.instructions
    shared = max(kernel.code.static_shared, _SYSTEM_SHARED) + subject.dynamic_shared
    threads = subject.threads or kernel.code.threads
    blocks = card.blocks_per_sm(kernel.code.registers, threads, shared)
    warps = threads // 32 - subject.copying_warps
    by_products = _bytes_of_products(path, subject.cache_bytes)
    work = path.flops if not subject.is_decode else path.copied_bytes or by_products
    work = subject.work or work
    kinds = count_kinds(code)
    figures = {
        "instructions": len(code),
        "work": work,
        "per instr.": work / len(code),
        **{kind: kinds[kind] for kind in (*KINDS, "integer")},
        "stalls": sum(max(1, each.stall) for each in code),
        "branches": sum(each.is_jump for each in code),
        "registers": kernel.code.registers,
        "shared": shared,
        "blocks": blocks,
        "in flight": blocks * warps * work * _tiles_in_flight(path) if subject.is_decode else 0,
    }
    for count in range(1, min(blocks, BLOCKS_MAX) + 1):
        figures[f"at {count}"] = work * trips_per_clock(path, count, warps, card.hmma_cycles)
    return figures
