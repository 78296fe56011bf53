"""The storage formats: the value of a code, and the code nearest to a value.

It shares nothing with the other implementations of the formats in this project. IEEE formats are
read by Python's struct (bf16 as the upper half of a binary32, e5m2 as the upper half of a
binary16), and the nearest code is found by bisection among the decoded ones, not by arithmetic on
bits.
"""

import bisect
import itertools
import math
from fractions import Fraction
from struct import unpack
from typing import Iterator

BYTES = {"fp32": 4, "fp16": 2, "bf16": 2, "e4m3": 1, "e5m2": 1}

# Garbage for places where no sequence has a token: NaN (quiet, signalling, negative), infinities
# and the largest numbers. e4m3 has one NaN per sign and no infinity.
_GARBAGE = {
    "fp32": (0x7FC00000, 0xFF800000, 0x7F800001, 0x7F800000, 0xFFFFFFFF, 0x7F7FFFFF),
    "fp16": (0x7E00, 0xFC00, 0x7C01, 0x7C00, 0xFFFF, 0x7BFF),
    "bf16": (0x7FC0, 0xFF80, 0x7F81, 0x7F80, 0xFFFF, 0x7F7F),
    "e4m3": (0x7F, 0xFF, 0x7E, 0xFE),
    "e5m2": (0x7E, 0xFC, 0x7D, 0x7C, 0xFF, 0x7B),
}
_LARGEST_CODE = {"fp32": 0x7F7FFFFF, "fp16": 0x7BFF, "bf16": 0x7F7F, "e4m3": 0x7E, "e5m2": 0x7B}


def decode(code: int, element_type: str) -> float:
    """The value of a code; a double holds every one of them."""
    if element_type == "e4m3":
        return _decode_e4m3(code)
    if element_type == "fp32":
        return unpack("<f", code.to_bytes(4, "little"))[0]
    if element_type == "bf16":
        return unpack("<f", (code << 16).to_bytes(4, "little"))[0]
    binary16 = code if element_type == "fp16" else code << 8
    return unpack("<e", binary16.to_bytes(2, "little"))[0]


def _decode_e4m3(code: int) -> float:
    """OCP 8-bit floating point, E4M3: bias 7; all ones is NaN, the other top codes are numbers."""
    sign = -1.0 if code >= 128 else 1.0
    exponent, mantissa = divmod(code % 128, 8)
    if (exponent, mantissa) == (15, 7):
        return math.nan
    if exponent == 0:
        return sign * mantissa * 2.0**-9
    return sign * (8 + mantissa) * 2.0 ** (exponent - 10)


def encode(value: float | Fraction, element_type: str) -> int:
    """The code nearest to a finite value within the format's range; the even one of two equally
    near."""
    largest = _LARGEST_CODE[element_type]
    if not abs(value) <= decode(largest, element_type):
        raise ValueError(f"{value} is beyond the range of {element_type}")

    def magnitude(code: int) -> float:
        return decode(code, element_type)

    # Codes of positive numbers ascend with their values.
    below = bisect.bisect_right(range(largest + 1), abs(value), key=magnitude) - 1
    above = min(below + 1, largest)
    exact = Fraction(abs(value))
    to_below = exact - Fraction(magnitude(below))
    to_above = Fraction(magnitude(above)) - exact
    code = above if (to_above, above % 2) < (to_below, below % 2) else below
    is_negative = math.copysign(1.0, value) < 0
    return code + (1 << (8 * BYTES[element_type] - 1) if is_negative else 0)


def nearest(value: float, element_type: str) -> float:
    return decode(encode(value, element_type), element_type)


def fp32(value: float) -> float:
    """Options and scales are fp32 in the interface."""
    return nearest(value, "fp32")


def garbage(element_type: str) -> Iterator[int]:
    """An endless sequence of codes."""
    return itertools.cycle(_GARBAGE[element_type])


def lanes(element_type: str) -> int:
    """Adjacent dims of a packed pool, 16 bytes of them."""
    return 16 // BYTES[element_type]


def to_bytes(codes: list[int], element_type: str) -> bytes:
    """Little-endian, in the order given."""
    return b"".join(code.to_bytes(BYTES[element_type], "little") for code in codes)


def hex_lines(codes: list[int], element_type: str) -> list[str]:
    data = to_bytes(codes, element_type)
    return [data[start : start + 40].hex() for start in range(0, len(data), 40)]
