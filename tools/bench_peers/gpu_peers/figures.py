"""What is said of repeated measurements; tables for people. Needs the standard library alone."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from statistics import median

__all__ = ["Statistics", "median", "print_table", "statistics_of"]


@dataclass(frozen=True)
class Statistics:
    """As cuda/bench/sample_statistics.h has them."""

    median: float
    low: float  # a tenth of all are less
    high: float  # a tenth are more

    @property
    def spread(self) -> float:
        """Of the middle four fifths, of the median."""
        return (self.high - self.low) / self.median


def statistics_of(samples: Sequence[float]) -> Statistics:
    """Quantiles are linear between neighbours. Not of no samples."""
    ordered = sorted(samples)

    def quantile(part: float) -> float:
        at = part * (len(ordered) - 1)
        low = math.floor(at)
        high = min(low + 1, len(ordered) - 1)
        return ordered[low] + (at - low) * (ordered[high] - ordered[low])

    return Statistics(quantile(0.5), quantile(0.1), quantile(0.9))


def print_table(headings: Sequence[str], rows: Sequence[Sequence[str]]) -> None:
    """The first column and the last one, which may be long, to the left; others to the right."""
    widths = [max(len(row[column]) for row in (headings, *rows))
              for column in range(len(headings))]
    for row in (headings, *rows):
        cells = [row[0].ljust(widths[0])]
        cells += [cell.rjust(width) for cell, width in zip(row[1:-1], widths[1:-1])]
        print("  ".join([*cells, row[-1]]).rstrip())
