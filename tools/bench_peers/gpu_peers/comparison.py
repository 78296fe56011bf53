"""Recto's results beside the peers', case by case. Needs only the standard library."""

from dataclasses import dataclass

from .case import BadCase, Case, parse_case
from .results import Row, print_table

# In recto's benchmark: the same cases with other kernels or in other layouts.
_OTHER_WAYS = ("decode_tma", "decode_reference", "decode_token_major", "decode_packed",
               "decode_bulk", "decode_plain")  # the last two: TMA and reference decode in old files


@dataclass(frozen=True)
class Compared:
    case: Case
    recto: tuple[Row, ...]  # for each kernel and layout; the one that recto's rule chooses is first
    peers: tuple[Row, ...]  # the fastest first


class CannotCompare(Exception):
    pass


def case_of(row: Row) -> Case | None:
    """None for rows that peers do not run: other operations and types, contiguous K and V."""
    family, slash, rest = row.name.partition("/")
    try:
        return parse_case(("decode" if family in _OTHER_WAYS else family) + slash + rest)
    except BadCase:
        return None


def compare(recto: list[Row], peers: list[Row]) -> list[Compared]:
    """The cases that both have, in recto's order."""
    of_peers = _by_case(peers)
    return [Compared(case, tuple(sorted(rows, key=_is_other_way)),
                     tuple(sorted(of_peers[case], key=lambda row: row.us)))
            for case, rows in _by_case(recto).items() if case in of_peers]


def _by_case(rows: list[Row]) -> dict[Case, list[Row]]:
    found: dict[Case, list[Row]] = {}
    for row in rows:
        if (case := case_of(row)) is not None:
            found.setdefault(case, []).append(row)
    return found


def _is_other_way(row: Row) -> bool:
    return row.name.partition("/")[0] in _OTHER_WAYS


def require_one_card(recto: dict[str, object], peers: dict[str, object]) -> None:
    names = [str(context.get("gpu", "unknown")) for context in (recto, peers)]
    if names[0] != names[1]:
        raise CannotCompare(f"recto was measured on {names[0]}, peers on {names[1]}: "
                            "expected one card")


def warnings(recto: dict[str, object], peers: dict[str, object]) -> list[str]:
    found = [f"{whose}: SYNTHETIC figures, not measured" for whose, context in
             (("recto", recto), ("peers", peers)) if context.get("synthetic")]
    commits = [context.get("recto_commit") for context in (recto, peers)]
    if None not in commits and commits[0] != commits[1]:
        found.append(f"recto is of commit {commits[0]}, the peers' program of {commits[1]}")
    return found


def print_comparison(compared: list[Compared]) -> None:
    """A table for each case; the last column is a peer's time divided by recto's."""
    for each in compared:
        print(f"\n{each.case.name}")
        rows = [_cells("recto " + row.name.partition("/")[0], row, each.recto[0])
                for row in each.recto]
        rows += [_cells(row.peer, row, each.recto[0]) for row in each.peers]
        print_table(("", "us", "spread", "of copy", "x recto", ""), rows)


def _cells(who: str, row: Row, first: Row) -> tuple[str, ...]:
    return (who, f"{row.us:.2f}", percent(row.spread), percent(row.fraction_of_copy_rate),
            f"{row.us / first.us:.3f}", row.label)


def percent(part: float | None) -> str:
    return "-" if part is None else f"{100 * part:.1f} %"


def print_summary(compared: list[Compared], recto: list[Row]) -> None:
    ahead = [each for each in compared if each.recto[0].us < each.peers[0].us]
    print(f"\n{len(compared)} cases, recto ahead of every peer in {len(ahead)}")
    if compared:
        worst = max(compared, key=lambda each: each.recto[0].us / each.peers[0].us)
        print(f"recto takes at most {worst.recto[0].us / worst.peers[0].us:.3f} x the best peer's "
              f"time ({worst.peers[0].peer}): {worst.case.name}")
    if alone := len(recto) - sum(len(each.recto) for each in compared):
        print(f"SKIPPED: {alone} of recto's results, which no peer has a figure for")
