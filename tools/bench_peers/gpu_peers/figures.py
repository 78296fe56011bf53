"""Statistics of repeated measurements, and tables for people. Needs only the standard library."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from statistics import median

__all__ = ["Statistics", "median", "print_table", "statistics_of"]


@dataclass(frozen=True)
class Statistics:
    """As defined by cuda/bench/sample_statistics.h."""

    median: float
    low: float  # a tenth of the samples are below
    high: float  # a tenth are above

    @property
    def spread(self) -> float:
        """The spread of the middle four fifths, relative to the median."""
        return (self.high - self.low) / self.median


def statistics_of(samples: Sequence[float]) -> Statistics:
    """Quantiles are interpolated linearly. Needs at least one sample."""
    ordered = sorted(samples)

    def quantile(part: float) -> float:
        at = part * (len(ordered) - 1)
        low = math.floor(at)
        high = min(low + 1, len(ordered) - 1)
        return ordered[low] + (at - low) * (ordered[high] - ordered[low])

    return Statistics(quantile(0.5), quantile(0.1), quantile(0.9))


def print_table(headings: Sequence[str], rows: Sequence[Sequence[str]]) -> None:
    """Aligns the first column and the last one, which may be long, to the left; others to the
    right."""
    widths = [max(len(row[column]) for row in (headings, *rows))
              for column in range(len(headings))]
    for row in (headings, *rows):
        cells = [row[0].ljust(widths[0])]
        cells += [cell.rjust(width) for cell, width in zip(row[1:-1], widths[1:-1])]
        print("  ".join([*cells, row[-1]]).rstrip())
