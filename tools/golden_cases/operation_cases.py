"""Cases of the operations on K and V before attention: rounding to fp8, writing tokens into a
cache, rotary embedding. Each document is one file, with several cases in it."""

from dataclasses import dataclass, field
from fractions import Fraction
from itertools import repeat
from math import copysign, inf, isinf, isnan
from random import Random
from typing import Any, Iterator

from exact_attention import printed
from exact_rotary import rotate
from number_codes import decode, encode, fp32, garbage, hex_lines, lanes
from pool_layout import NESTINGS, Storage, Token, lay_out_pool, pack_strides_of, strides_of

Slots = dict[tuple[int, int], Token]  # by block and slot

_LARGEST = {"e4m3": 448.0, "e5m2": 57344.0}
_NAN = {"e4m3": 0x7F, "e5m2": 0x7E}


def quantise(x: float, scale: float, element_type: str) -> int:
    """y = float(x) / scale in fp32, then in fp8: both rounded to nearest even, saturated; NaN
    stays."""
    if isnan(x):
        return _NAN[element_type]
    largest = _LARGEST[element_type]
    quotient = x if isinf(x) else _fp32_quotient(x, scale)
    return encode(min(max(quotient, -largest), largest), element_type)


def _fp32_quotient(x: float, scale: float) -> float:
    """Infinite beyond fp32's range, which makes no difference to fp8."""
    exact = abs(Fraction(x) / Fraction(scale))
    is_in_range = exact <= Fraction(decode(0x7F7FFFFF, "fp32"))
    return copysign(decode(encode(exact, "fp32"), "fp32") if is_in_range else inf, x)


def fp8_rounding() -> dict[str, Any]:
    """[x, scale, code] of each: fp32 codes, and what a cache of the type stores."""
    scales = [1.0, 0.5, 1.3, 3.0, 2.0**-20, 1e30]
    codes_of_scale = [encode(scale, "fp32") for scale in scales]

    def cases(element_type: str) -> list[list[int]]:
        rows = []
        random = Random(f"fp8 rounding {element_type}")
        for scale in codes_of_scale:
            factor = Fraction(decode(scale, "fp32"))
            # Around the middle between two neighbouring codes, and one beyond the largest.
            for below in random.sample(range(encode(_LARGEST[element_type], element_type)), 12):
                numbers = [Fraction(decode(code, element_type)) for code in (below, below + 1)]
                middle = encode(float(sum(numbers) / 2 * factor), "fp32")
                rows += [[code, scale] for code in (middle - 1, middle, middle + 1) if code >= 0]
            largest = encode(float(Fraction(_LARGEST[element_type]) * factor), "fp32")
            rows += [[largest + step, scale] for step in (-1, 0, 1, 1 << 18, 1 << 22)]
            rows += [[code, scale] for code in (0, 1, 0x007FFFFF, 0x7F7FFFFF, 0x7F800000)]
        signed = rows + [[code | 1 << 31, scale] for code, scale in rows]
        return [[x, scale, quantise(decode(x, "fp32"), decode(scale, "fp32"), element_type)]
                for x, scale in [*signed, [0x7FC00000, codes_of_scale[0]]]]

    return {"cases": {element_type: cases(element_type) for element_type in _LARGEST}}


@dataclass(frozen=True)
class Write:
    layout: str
    source_type: str
    cache_type: str
    k_scales: tuple[float, ...] = ()
    v_scales: tuple[float, ...] = ()
    slots: tuple[int, ...] = (5, -1, 2, 11, 2)
    num_kv_heads: int = 2
    head_dim_k: int = 16
    head_dim_v: int = 5
    block_size: int = 4
    num_blocks: int = 3
    padding: dict[str, int] = field(default_factory=dict)


_WRITES = (
    Write("token-major", "fp32", "fp32"),
    Write("head-major", "fp16", "fp16", padding={"head": 3}),
    Write("packed", "bf16", "bf16"),
    Write("token-major", "fp32", "fp16", padding={"block": 7}),
    Write("packed", "fp32", "bf16"),
    Write("head-major", "fp32", "e4m3", k_scales=(0.37,), v_scales=(1.5, 0.01)),
    Write("packed", "fp16", "e4m3", k_scales=(0.25, 1.7), v_scales=(2.3,)),
    Write("token-major", "bf16", "e5m2", k_scales=(1e-3,)),
)


def kv_write() -> dict[str, Any]:
    return {"cases": [_write_document(write) for write in _WRITES]}


def _write_document(write: Write) -> dict[str, Any]:
    fields = {"layout": write.layout, "source_type": write.source_type,
              "cache_type": write.cache_type, "slot_mapping": list(write.slots),
              "num_blocks": write.num_blocks, "block_size": write.block_size,
              "num_kv_heads": write.num_kv_heads}
    for side, name in enumerate("kv"):
        dims = (write.head_dim_k, write.head_dim_v)[side]
        scales = (write.k_scales, write.v_scales)[side]
        tokens = _draw_tokens(write, name, dims)
        before = _pool(write, side, {}, garbage(write.cache_type))
        written = _pool(write, side, _stored(write, tokens, scales), repeat(None))
        after = [old if new is None else new for old, new in zip(before.codes, written.codes)]
        is_packed = write.layout == "packed"
        fields[name] = {"head_dim": dims, "scales": [fp32(scale) for scale in scales],
                        **strides_of(before),
                        **(pack_strides_of(before, side, lanes(write.cache_type))
                           if is_packed else {}),
                        "source": hex_lines([code for token in tokens for head in token
                                             for code in head], write.source_type),
                        "before": hex_lines(before.codes, write.cache_type),
                        "after": hex_lines(after, write.cache_type)}
    return fields


def _draw_tokens(write: Write, name: str, dims: int) -> list[Token]:
    random = Random(f"kv write {write.layout} {write.source_type} {write.cache_type} {name}")
    return [[[encode(random.random() * 8 - 4, write.source_type) for _ in range(dims)]
             for _ in range(write.num_kv_heads)] for _ in write.slots]


def _stored(write: Write, tokens: list[Token], scales: tuple[float, ...]) -> Slots:
    """What each slot holds after the write; the later of two tokens for one slot wins."""
    of_head = [fp32(scale) for scale in
               (scales * write.num_kv_heads)[: write.num_kv_heads] or (1.0,) * write.num_kv_heads]

    def code(source: int, head: int) -> int:
        value = decode(source, write.source_type)
        if write.cache_type in _LARGEST:
            return quantise(value, of_head[head], write.cache_type)
        return source if write.source_type == write.cache_type else encode(value, write.cache_type)

    held = {}
    for token, slot in zip(tokens, write.slots, strict=True):
        if slot >= 0:
            held[divmod(slot, write.block_size)] = [[code(source, head) for source in row]
                                                    for head, row in enumerate(token)]
    return held


def _pool(write: Write, side: int, held: Slots, trash: Iterator[int | None]) -> Storage:
    sizes = {"block": write.num_blocks, "slot": write.block_size, "head": write.num_kv_heads,
             "dim": (write.head_dim_k, write.head_dim_v)[side], "lane": lanes(write.cache_type)}
    return lay_out_pool(NESTINGS[write.layout][side], sizes, write.padding,
                        lambda at: held.get((at["block"], at["slot"])), trash)


def rotary() -> dict[str, Any]:
    """Rows of fp32 numbers at consecutive positions, and their rotated values, to thirty digits."""
    shapes = [("halves", 8, 8, 10000, 0), ("interleaved", 8, 8, 10000, 0),
              ("halves", 10, 6, 500000, 131070), ("interleaved", 10, 6, 10000, 4095),
              ("halves", 6, 6, 100, 999_999), ("interleaved", 4, 2, 10000, 17)]
    cases = []
    for pairing, head_dim, rotary_dim, base, first in shapes:
        random = Random(f"rotary {pairing} {head_dim} {first}")
        rows = [[decode(encode(random.random() * 4 - 2, "fp32"), "fp32") for _ in range(head_dim)]
                for _ in range(3)]
        turned = [rotate([Fraction(value) for value in row], first + index, pairing, rotary_dim,
                         base) for index, row in enumerate(rows)]
        cases.append({"pairing": pairing, "rotary_dim": rotary_dim, "base": base,
                      "first_position": first, "rows": rows,
                      "expected": [[printed(value) for value in row] for row in turned]})
    return {"cases": cases}


OPERATIONS = {
    "fp8_rounding": ("what an fp8 cache stores for a number and a scale: middles between codes, "
                     "the largest numbers, subnormals, infinity, NaN", fp8_rounding),
    "kv_write": ("tokens written into caches of each layout and type: pools before and after, a "
                 "slot of -1, two tokens for one slot", kv_write),
    "rotary": ("rows turned in both pairings, up to positions of a million", rotary),
}
