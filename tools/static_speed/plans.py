"""The table of plans that //verify/kernels:plan_table prints: the thread blocks of decode,
as recto's own code divides contexts among them."""

from dataclasses import dataclass

from cards import CARDS
from text_table import read_rows

_TITLE = (r"# decode in bf16, (\d+) heads of K and V, group (\d+), head dim (\d+), "
          r"block size \d+$")
_ELEMENT_BYTES = {"bf16": 2, "fp16": 2, "fp32": 4, "e4m3": 1, "e5m2": 1}


@dataclass(frozen=True)
class PlannedLaunch:
    card: str
    gb_per_s: float
    kernel: str
    cache: str
    batch: int
    context: int  # of the longest sequence
    planned: int  # longest context that the plan is made for
    lengths: str  # "equal" or "skewed"
    splits: int
    runs: tuple[tuple[int, int], ...]  # (thread blocks, keys of each), in the order of the launch
    key_bytes: int  # of a key and its value, of one head
    query_heads: int
    head_dim: int

    @property
    def name(self):
        planned = f" planned for {self.planned}" if self.planned != self.context else ""
        skewed = " skewed" if self.lengths == "skewed" else ""
        return f"{self.batch} x {self.context}{skewed}{planned}"

    @property
    def thread_blocks(self):
        return sum(count for count, keys in self.runs if keys)

    @property
    def kv_bytes(self):
        return sum(count * keys for count, keys in self.runs) * self.key_bytes

    @property
    def state_bytes(self):
        """Bytes of the splits' states, which decode writes and the merge reads."""
        rows = self.batch * self.query_heads * self.splits
        return rows * (self.head_dim + 2) * 4 if self.splits > 1 else 0


def _runs(text, heads):
    runs = []
    for planes in text.split():
        splits, _, sequences = planes.partition(":")
        plane = [tuple(map(int, run.split("*"))) for run in sequences.split(",")]
        runs += plane * heads * int(splits)
    joined = []
    for count, keys in runs:
        if joined and joined[-1][1] == keys:
            joined[-1] = (joined[-1][0] + count, keys)
        else:
            joined.append((count, keys))
    return tuple(joined)


def read_plans(path):
    return read_rows(path, _TITLE, 12, _launch)[1]


def _launch(title, *cells):
    card, multiprocessors, gb_per_s, kernel, cache = cells[:5]
    if card not in CARDS or CARDS[card].multiprocessors != int(multiprocessors):
        raise ValueError(f"cards.py has no {card} with {multiprocessors} multiprocessors")
    if cells[8] not in ("equal", "skewed"):
        raise ValueError(f"lengths are equal or skewed, not {cells[8]}")
    batch, context, planned, splits = map(int, (*cells[5:8], cells[10]))
    heads, group, head_dim = map(int, title.groups())
    return PlannedLaunch(
        card, float(gb_per_s), kernel, cache, batch, context, planned, cells[8], splits,
        _runs(cells[11], heads), 2 * head_dim * _ELEMENT_BYTES[cache], heads * group, head_dim)
