"""A second reader of the single blocks in report.json, with which tests compare the page's own
(web/map_data.js). map_json.cc packs them.
"""

import base64
from bisect import bisect_right
from functools import cache
from math import floor
from operator import itemgetter

STATES = ("used", "reserved", "internal", "cached")


@cache
def unpacked(text: str) -> list[int]:
    """Decodes differences of neighbours, zigzag, seven bits per byte, lowest first."""
    numbers, last, zigzag, shift = [], 0, 0, 0
    for byte in base64.b64decode(text):
        zigzag |= (byte & 127) << shift
        shift += 7
        if byte < 128:
            last += zigzag >> 1 if zigzag % 2 == 0 else -((zigzag + 1) >> 1)
            numbers.append(last)
            zigzag, shift = 0, 0
    return numbers


def rows_of(columns: dict[str, str]) -> list[dict[str, int]]:
    names = list(columns)
    lists = (unpacked(columns[name]) for name in names)
    return [dict(zip(names, values)) for values in zip(*lists, strict=True)]


class BlockMap:
    """The part of a map with single blocks; times in microseconds, places in slots."""

    def __init__(self, packed: dict):
        self.pool_slots = packed["pool_slots"]
        detail = packed["detail"]
        self.begin_us, self.end_us = detail["begin_us"], detail["end_us"]
        self._unit = packed["block_size"] if packed["blocks"] else 1  # slots per place
        self._window = packed["window"]  # 0: every token stays visible
        self._stays = rows_of(detail["stays"])
        self._segments = rows_of(detail["segments"])
        self._contexts = known_contexts(self._stays, self._segments, self._unit)

    def between(self, begin_us: float, end_us: float) -> list[dict[str, int]]:
        """Segments that overlap the range, ordered by begin."""
        return [one for one in self._segments
                if one["begin_us"] < end_us and one["begin_us"] + one["length_us"] > begin_us]

    def stay_of(self, segment: dict[str, int]) -> dict[str, int]:
        """The stay of a segment that has a holder."""
        return self._stays[segment["stay"]]

    def context_at(self, segment: dict[str, int], us: float) -> int:
        """Whole tokens in the cache of a segment's holder: exact where known. Between these times,
        tokens of a chunk count from its end, and decoded tokens are spread evenly."""
        points = self._contexts[segment["stay"]]
        after = min(max(bisect_right(points, us, key=itemgetter(0)), 1), len(points) - 1)
        (begin, tokens), (end, more) = points[after - 1], points[after]
        if end <= begin:
            return more
        if us < self.stay_of(segment)["decode_us"]:
            return tokens
        share = min(max((us - begin) / (end - begin), 0), 1)
        return tokens + floor((more - tokens) * share)

    def parts_at(self, segment: dict[str, int], us: float) -> list[tuple[str, float, float]]:
        """(state, first slot, end) of held slots; nothing outside the segment's time."""
        if not 0 <= us - segment["begin_us"] < segment["length_us"]:
            return []
        low, slots = segment["place"] * self._unit, segment["size"] * self._unit
        if segment["stay"] < 0:
            return [("cached", low, low + slots)]
        stay = self.stay_of(segment)
        before = segment["index"] * self._unit  # tokens in earlier blocks

        def within(position: float) -> float:
            return min(max(position - before, 0), slots)

        context = self.context_at(segment, us)
        out = within(context - self._window + 1) if self._window else 0
        used = within(context)
        kept = max(within(stay["final"]), used)
        parts = [("internal", low, low + out)] if self._window else []
        edges = (low + out, low + used, low + kept, low + slots)
        return parts + list(zip(STATES, edges, edges[1:]))


def known_contexts(stays: list[dict[str, int]], segments: list[dict[str, int]],
                   unit: int) -> list[list[tuple[int, int]]]:
    """For each stay (us, tokens in the cache), both growing: where it began, got blocks, started to
    decode and ended. Block k of a table is taken when k blocks are full. Blocks of one instant
    belong to a chunk, and only the first gives the context; an existing block that is shared,
    copied or left to this holder gives none."""
    got = [[] for _ in stays]
    for one in segments:  # by begin, then place
        if one["stay"] >= 0:
            got[one["stay"]].append((one["begin_us"], one["index"] * unit))
    return [points_of(stay, sorted(blocks)) for stay, blocks in zip(stays, got)]


def points_of(stay: dict[str, int], got: list[tuple[int, int]]) -> list[tuple[int, int]]:
    points = [(stay["begin_us"], stay["context_begin"])]
    for phase in ("decode", "end"):
        until, most = stay[f"{phase}_us"], stay[f"context_{phase}"]
        for us, tokens in got:
            if points[-1][0] < us < until and points[-1][1] < tokens <= most:
                points.append((us, tokens))
        points.append((until, most))
    return points
