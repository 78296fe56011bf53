"""Predicts how long a planned launch of decode takes. Thread blocks take the multiprocessors' free
slots in turn. Each reads at the rate that the replay predicts for the number of thread blocks on
its multiprocessor, all together at most at the card's bandwidth.

Three constants are fitted to an H100 (docs/kernel_speed.md says on which cases); everything else is
predicted. What is not modelled: L2, the order in which DRAM is read, and clocks that change.
"""

from collections import Counter
from dataclasses import dataclass

LAUNCH_US = 5.0  # from event to event, of a launch that does nothing
# The time of a thread block besides its reads at full rate: the latencies of length, table and
# first tile, one after the other, and its end.
START_US = 4.2
MERGE_US = 2.0  # of a merge after decode, besides its reads
BANDWIDTH_SHARE = 0.90  # of the nominal bandwidth; an H100 copies at 0.90


@dataclass(frozen=True)
class Prediction:
    us: float
    bandwidth_share: float  # of the nominal bandwidth, by the bytes of K and V
    waves: float  # thread blocks over slots
    tail_us: float  # in which not all slots are taken, while none is left to start


class _Flow:
    """Multiprocessors in equal states are counted together. A state holds, for each thread block,
    the time until it has started and the bytes left, as a sorted tuple."""

    def __init__(self, launch, rates, card):
        self.rates = rates  # bytes per us of one thread block, by how many there are
        self.slots = len(rates)
        self.states = Counter({(): card.multiprocessors})
        self.waiting = [[count, keys * launch.key_bytes] for count, keys in launch.runs if keys]
        self.cap = BANDWIDTH_SHARE * launch.gb_per_s * 1e3  # bytes per us
        self.now = self.last_start = 0.0

    def fill(self):
        """Gives waiting thread blocks to the multiprocessors with the fewest."""
        while self.waiting:
            state = min(self.states, key=len)
            if len(state) == self.slots:
                return
            run = self.waiting[0]
            taken = min(run[0], self.states[state])
            new = tuple(sorted((*state, (START_US, float(run[1])))))
            self.states[new] += taken
            self.states[state] -= taken
            self.states += Counter()  # drops what is 0
            run[0] -= taken
            if not run[0]:
                self.waiting.pop(0)
            self.last_start = self.now

    def advance(self):
        """Goes on to the next time at which a thread block starts to read, or ends."""
        demand = sum(count * sum(self.rates[len(state) - 1] for wait, _ in state if wait <= 0)
                     for state, count in self.states.items())
        share = min(1.0, self.cap / demand) if demand else 1.0
        step = min(wait if wait > 0 else left / (share * self.rates[len(state) - 1])
                   for state in self.states for wait, left in state)
        states = Counter()
        for state, count in self.states.items():
            moved = step * share * self.rates[len(state) - 1] if state else 0.0
            after = []
            for wait, left in state:
                wait, left = (wait - step, left) if wait > 0 else (0.0, left - moved)
                if left > 1.0:
                    after.append((round(max(wait, 0.0), 4), round(left)))
            states[tuple(sorted(after))] += count
        self.states = states
        self.now += step

    def run(self):
        self.fill()
        while any(self.states):
            self.advance()
            self.fill()
        return self.now


def predict_launch(launch, bytes_per_clock, card):
    """`bytes_per_clock`: of a multiprocessor with 1, 2, ... thread blocks, by the replay."""
    per_us = card.clock_ghz * 1e3
    rates = [rate * per_us / (blocks + 1) for blocks, rate in enumerate(bytes_per_clock)]
    flow = _Flow(launch, rates, card)
    read_us = flow.run()
    us = LAUNCH_US + read_us
    if launch.splits > 1:
        us += MERGE_US + launch.state_bytes / flow.cap
    ideal = launch.kv_bytes / (launch.gb_per_s * 1e3)
    slots = len(rates) * card.multiprocessors
    return Prediction(us, ideal / us, launch.thread_blocks / slots, read_us - flow.last_start)
