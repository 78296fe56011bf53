"""Replays a hot path on a model of one multiprocessor, for its throughput: bytes or FLOP per clock,
when memory has a fixed latency and is never the limit.

What is modelled: the compiler's stall counts and scoreboards; four schedulers that issue one
instruction a cycle from the warp that has been ready longest; the rates of the pipes; passes over
shared memory without bank conflicts; barriers of the thread block; groups of asynchronous copies;
wgmma that runs on while its warp does. What is not: caches, traffic between multiprocessors,
conflicts between registers' banks, the instruction cache, and named barriers, by which warpgroups
take turns.

Latencies and rates of pipes are those that microbenchmarks of Volta to Hopper cards find (Jia et
al., "Dissecting the NVIDIA Volta GPU architecture via microbenchmarking", 2018; Luo et al.,
"Benchmarking and dissecting the NVIDIA Hopper GPU architecture via microbenchmarking", 2024).
"""

import heapq
import re
from dataclasses import dataclass, field

from hot_loop import copied_bytes_of, flops_of

SCHEDULERS = 4
MEMORY_CYCLES = 800  # from a copy to its data, of a card under load: 0.45 us
COPY_BYTES = 64  # into a multiprocessor, a clock
_TRIPS = 16  # of each warp
_SHARED_BYTES = 128  # to or from shared memory, a clock
_JUMP_CYCLES = 8  # of a taken branch, beyond its stall
_BARRIER_CYCLES = 20
_READ_CYCLES = 14  # until operands are read
# By a quarter of a multiprocessor, a clock: the best rate measured on an H100, cuBLAS's 810 TFLOP/s
# (blas_TFLOP_per_s in experiments/results), at the clock of cards.py.
_HGMMA_FLOP = 874


@dataclass(frozen=True)
class _Kind:
    pipe: str
    busy: float  # cycles of the pipe
    result: int  # cycles until the result is there, if a scoreboard tells
    opcodes: str = ""


_UNIFORM = _Kind("uniform", 1, 12)  # R2UR, and others that begin with U
_ALU = _Kind("alu", 2, 6)  # all others
# Take no pipe here: products take the tensor cores, in product().
_CONTROL = _Kind("", 0, 20, "BRA BSSY BSYNC WARPSYNC NOP EXIT CALL RET YIELD DEPBAR LDGDEPBAR BAR "
                 "SYNCS WARPGROUP MEMBAR FENCE ERRBAR UBLKCP UTMALDG ELECT BREAK BMOV NANOSLEEP "
                 "CCTL HMMA HGMMA")
_KINDS = (
    _CONTROL,
    _Kind("fma", 1, 6, "FADD FMUL FFMA HADD2 HMUL2 HFMA2"),  # two pipes of half the width
    _Kind("imad", 2, 6, "IMAD"),
    _Kind("special", 8, 24, "MUFU I2F F2I F2F POPC"),
    _Kind("uniform", 1, 30, "LDC ULDC LDCU S2R S2UR"),
    _Kind("memory", 2, 24, "SHFL"),
    _Kind("memory", 4, 30, "LDS LDSM STS STSM LDGSTS"),
    _Kind("memory", 4, MEMORY_CYCLES // 3, "LDG LDL LD"),  # tables and lengths: in L2, or L1
    _Kind("memory", 4, 20, "STG STL"),
)
_KIND_OF = {"R2UR": _UNIFORM, **{name: kind for kind in _KINDS for name in kind.opcodes.split()}}


def kind_of(instruction):
    if instruction.never_runs:
        return _CONTROL
    others = _UNIFORM if instruction.base.startswith("U") else _ALU
    return _KIND_OF.get(instruction.base, others)


def _shared_passes(instruction):
    """Passes of 128 bytes over shared memory."""
    if instruction.base in ("LDSM", "STSM"):
        match = re.search(r"\.([24])$", instruction.opcode)
        return int(match[1]) if match else 1
    match = re.search(r"\.(64|128)\b", instruction.opcode)
    return int(match[1]) // 32 if match else 1


@dataclass
class _Warp:
    index: int
    block: int
    at: int = 0  # instruction
    trip: int = 0
    ready: float = 0
    boards: list = field(default_factory=lambda: [0.0] * 6)
    copies: list = field(default_factory=list)  # (trip, end) of copies
    groups: list = field(default_factory=list)  # ends of committed groups of copies
    open_group: float = 0
    products: list = field(default_factory=list)  # ends of committed groups of wgmma
    product_end: float = 0


class _Multiprocessor:
    def __init__(self, path, warps, warps_per_block, hmma_cycles):
        self.hmma_cycles = hmma_cycles
        self.code = path.instructions
        self.addresses = [each.address for each in self.code]
        self.kinds = [kind_of(each) for each in self.code]
        self.issue_free = [0.0] * SCHEDULERS
        self.pipe_free = {}
        self.shared_free = self.memory_free = 0.0
        self.warps_per_block = warps_per_block
        self.arrived = {}
        self.trip_ends = []
        self.queue, self.count = [], 0
        for index in range(warps):
            self.push(_Warp(index, index // warps_per_block, ready=index * 37 % 997))

    def push(self, warp):
        """Queues a warp for the time from which on its next instruction may issue."""
        instruction = self.code[warp.at]
        for board in instruction.waits:
            warp.ready = max(warp.ready, warp.boards[board])
        if instruction.base == "DEPBAR" and "," in instruction.operands:
            pending = int(instruction.operands.rpartition(",")[2], 16)
            if len(warp.groups) > pending:
                warp.ready = max(warp.ready, warp.groups[-1 - pending])
        elif instruction.base == "SYNCS" and "TRYWAIT" in instruction.opcode:
            # A wait at a copy's mbarrier: copies of this trip stay in flight.
            earlier = [end for trip, end in warp.copies if trip < warp.trip]
            warp.ready = max([warp.ready, *earlier])
        elif instruction.opcode.startswith("WARPGROUP.DEPBAR"):
            pending = int(instruction.operands.rpartition(",")[2], 16)
            if len(warp.products) > pending:
                warp.ready = max(warp.ready, warp.products[-1 - pending])
        self.count += 1
        heapq.heappush(self.queue, (warp.ready, self.count, warp))

    def run(self):
        while self.queue:
            now, _, warp = heapq.heappop(self.queue)
            quarter = warp.index % SCHEDULERS
            kind = self.kinds[warp.at]
            pipe = (kind.pipe, quarter)
            pipe_free = self.pipe_free.get(pipe, 0.0) if kind.pipe else 0.0
            earliest = max(now, self.issue_free[quarter], pipe_free)
            if earliest > now:
                warp.ready = earliest
                self.count += 1
                heapq.heappush(self.queue, (earliest, self.count, warp))
                continue
            self.issue_free[quarter] = now + 1
            if kind.pipe:
                self.pipe_free[pipe] = now + kind.busy
            self.issue(warp, quarter, kind, now)
        return self

    def issue(self, warp, quarter, kind, now):
        instruction = self.code[warp.at]
        warp.ready = now + max(1, instruction.stall)
        done = self.effect(instruction, warp, quarter, now) or now + kind.result
        for place, board in enumerate(instruction.sets):
            is_read = place == 1 or len(instruction.sets) == 1 and instruction.base in (
                "LDGSTS", "STS", "STG", "STSM")
            end = min(done, now + _READ_CYCLES) if is_read else done
            warp.boards[board] = max(warp.boards[board], end)
        self.step(warp, instruction, now)

    def effect(self, instruction, warp, quarter, now):
        """What the instruction does besides taking its pipe; when its result is there, or None."""
        base = instruction.base
        if instruction.never_runs:
            return None
        if base in ("LDS", "LDSM", "STS", "STSM"):
            start = max(now + 6, self.shared_free)
            self.shared_free = start + _shared_passes(instruction)
            return self.shared_free + (24 if base.startswith("L") else 10)
        if base in ("LDGSTS", "UBLKCP", "UTMALDG"):
            size = copied_bytes_of(instruction)
            self.memory_free = max(self.memory_free, now) + size / COPY_BYTES
            self.shared_free = max(self.shared_free, now) + size / _SHARED_BYTES
            end = max(now + MEMORY_CYCLES, self.memory_free)
            warp.open_group = max(warp.open_group, end)
            warp.copies = [each for each in warp.copies if each[1] > now] + [(warp.trip, end)]
            return now + 30
        if base == "LDGDEPBAR":
            warp.groups = warp.groups[-7:] + [max(warp.open_group, now)]
            warp.open_group = 0
        elif base in ("HMMA", "HGMMA"):
            return self.product(instruction, warp, quarter, now)
        return None

    def product(self, instruction, warp, quarter, now):
        tensor = ("tensor", quarter)
        if instruction.base == "HMMA":
            busy = self.hmma_cycles * flops_of(instruction) / 4096
        else:
            busy = flops_of(instruction) / _HGMMA_FLOP
        start = max(now, self.pipe_free.get(tensor, 0.0))
        self.pipe_free[tensor] = start + busy
        if instruction.base == "HMMA":
            warp.ready = max(warp.ready, start + 1)
            return start + busy + 18
        warp.product_end = start + busy
        if "gsb0" in instruction.operands:
            warp.products = warp.products[-3:] + [warp.product_end + 30]
        return None

    def step(self, warp, instruction, now):
        """Goes on to the warp's next instruction."""
        warp.at += 1
        if warp.at == len(self.code):
            warp.at, warp.trip = 0, warp.trip + 1
            self.trip_ends.append(now)
        if instruction.is_jump and self.addresses[warp.at] != instruction.address + 16:
            warp.ready += _JUMP_CYCLES
        if warp.trip == _TRIPS:
            return
        if instruction.base == "BAR" and instruction.operands.startswith("0x0"):
            here = self.arrived.setdefault(warp.block, [])
            here.append(warp)
            if len(here) == self.warps_per_block:
                latest = max(each.ready for each in here)
                for each in here:
                    each.ready = latest + _BARRIER_CYCLES
                    self.push(each)
                here.clear()
        else:
            self.push(warp)


def trips_per_clock(path, blocks, warps_per_block, hmma_cycles):
    """Trips of the hot path that all warps of so many thread blocks make in a clock, together.

    Measured between the first and the last sixth of the trips. O(trips x instructions).
    """
    run = _Multiprocessor(path, blocks * warps_per_block, warps_per_block, hmma_cycles).run()
    ends = sorted(run.trip_ends)
    first, last = len(ends) // 6, 5 * len(ends) // 6
    return (last - first) / (ends[last] - ends[first])
