"""The graphics cards that the model knows. Their bandwidths are in the table of plans, which takes
them from core/gpu_table.cc.

Clocks are an assumption of what such cards sustain under load; an H100 ran decode at 1.82 GHz in
profiles. Cycles of products follow, for an A100, from the data sheet's dense 16-bit FLOP/s; for an
H100, from the 647 TFLOP/s that `mma.sync` was measured at (mma_TFLOP_per_s in experiments/results),
at the clock assumed here. Those of a B200 are not known and taken to be an H100's.
"""

from dataclasses import dataclass


@dataclass(frozen=True)
class Card:
    name: str
    arch: str
    multiprocessors: int
    clock_ghz: float
    shared_bytes: int  # of a multiprocessor
    hmma_cycles: float  # a quarter of a multiprocessor, for one m16n8k16
    registers: int = 65536
    threads_max: int = 2048

    def need(self, gb_per_s):
        """The bandwidth in bytes per clock and multiprocessor."""
        return gb_per_s / (self.clock_ghz * self.multiprocessors)

    def blocks_per_sm(self, registers, threads, shared):
        """Thread blocks that a multiprocessor holds; a warp gets registers by 256."""
        warps = threads // 32
        of_block = warps * (-(-registers * 32 // 256) * 256)
        return max(1, min(self.registers // max(of_block, 1), self.shared_bytes // shared,
                          self.threads_max // threads, 32))


_HOPPER = {"multiprocessors": 132, "clock_ghz": 1.755, "shared_bytes": 228 << 10,
           "hmma_cycles": 5.87}
CARDS = {
    card.name: card
    for card in (
        Card("A100-80", "sm_80", 108, 1.41, 164 << 10, 8.0),
        Card("H100", "sm_90", **_HOPPER),
        Card("H200", "sm_90", **_HOPPER),
        Card("B200", "sm_100", 148, 1.85, 228 << 10, 5.87),
    )
}
# The card on which kernels of an architecture are replayed.
CARD_OF = {"sm_80": "A100-80", "sm_90": "H200", "sm_90a": "H200", "sm_100": "B200"}


def card_of(arch):
    if arch not in CARD_OF:
        raise SystemExit(f"{arch}: expected one of {', '.join(CARD_OF)}")
    return CARDS[CARD_OF[arch]]
