#!/usr/bin/env python3
"""Tests of the formats, against struct and the values that their standards print."""

import math
import struct
import sys
import unittest
from random import Random

sys.dont_write_bytecode = True

from number_codes import BYTES, decode, encode, garbage, to_bytes  # noqa: E402

# From the tables of the formats: code, value.
KNOWN = {
    "fp32": ((0x3F800000, 1.0), (0x00000001, 2.0**-149), (0x7F7FFFFF, (2 - 2.0**-23) * 2.0**127)),
    "fp16": ((0x3C00, 1.0), (0x0001, 2.0**-24), (0x0400, 2.0**-14), (0x7BFF, 65504.0)),
    "bf16": ((0x3F80, 1.0), (0xC040, -3.0), (0x0001, 2.0**-133), (0x7F7F, 255 * 2.0**120)),
    # OCP 8-bit Floating Point Specification (OFP8), revision 1.0, tables 1 and 2.
    "e4m3": ((0x38, 1.0), (0x01, 2.0**-9), (0x07, 0.875 * 2.0**-6), (0x08, 2.0**-6), (0x7E, 448.0),
             (0x78, 256.0), (0xFE, -448.0), (0x00, 0.0)),
    "e5m2": ((0x3C, 1.0), (0x01, 2.0**-16), (0x03, 0.75 * 2.0**-14), (0x04, 2.0**-14),
             (0x7B, 57344.0), (0x7C, math.inf), (0xFC, -math.inf)),
}
NOT_A_NUMBER = {
    "fp32": (0x7FC00000, 0xFF800001),
    "fp16": (0x7E00, 0xFC01),
    "bf16": (0x7FC0, 0xFF81),
    "e4m3": (0x7F, 0xFF),
    "e5m2": (0x7D, 0x7E, 0x7F, 0xFF),
}


class DecodeTest(unittest.TestCase):
    def test_known_codes(self):
        for element_type, codes in KNOWN.items():
            for code, value in codes:
                self.assertEqual(decode(code, element_type), value, (element_type, hex(code)))

    def test_nan(self):
        for element_type, codes in NOT_A_NUMBER.items():
            for code in codes:
                self.assertTrue(math.isnan(decode(code, element_type)), (element_type, hex(code)))

    def test_all_codes_of_e5m2_by_its_fields(self):
        for code in range(0x7C):
            exponent, mantissa = divmod(code, 4)
            normal = (4 + mantissa) * 2.0 ** (exponent - 17)
            value = normal if exponent else mantissa * 2.0**-16
            self.assertEqual(decode(code, "e5m2"), value)
            self.assertEqual(decode(code + 0x80, "e5m2"), -value)

    def test_signs_of_zero(self):
        for element_type, size in BYTES.items():
            negative = decode(1 << (8 * size - 1), element_type)
            self.assertEqual(math.copysign(1.0, negative), -1.0)
            self.assertEqual(negative, 0.0)


class EncodeTest(unittest.TestCase):
    def test_every_finite_code_of_two_bytes_or_less_comes_back(self):
        for element_type, size in BYTES.items():
            for code in range(0 if size > 2 else 1 << 8 * size):
                value = decode(code, element_type)
                if math.isfinite(value):
                    self.assertEqual(encode(value, element_type), code)

    def test_rounds_as_struct_does(self):
        random = Random("rounds as struct does")
        for _ in range(2000):
            value = (random.random() - 0.5) * 2.0 ** int(random.random() * 40 - 25)
            for element_type, letter in (("fp16", "e"), ("fp32", "f")):
                size = BYTES[element_type]
                if abs(value) < 65504:
                    code = int.from_bytes(struct.pack("<" + letter, value), "little")
                    self.assertEqual(encode(value, element_type), code, (value, size))

    def test_the_even_code_of_two_equally_near(self):
        for element_type in BYTES:
            one = encode(1.0, element_type)
            for code in (one, one + 1):
                middle = (decode(code, element_type) + decode(code + 1, element_type)) / 2
                even = code if code % 2 == 0 else code + 1
                self.assertEqual(encode(middle, element_type), even)
                self.assertEqual(encode(math.nextafter(middle, 0.0), element_type), code)
                self.assertEqual(encode(math.nextafter(middle, 9.0), element_type), code + 1)

    def test_refuses_what_is_out_of_range(self):
        for element_type in BYTES:
            largest = max(value for _, value in KNOWN[element_type] if math.isfinite(value))
            self.assertEqual(decode(encode(largest, element_type), element_type), largest)
            for beyond in (math.nextafter(largest, math.inf), -math.inf, math.nan):
                with self.assertRaises(ValueError):
                    encode(beyond, element_type)


class GarbageTest(unittest.TestCase):
    def test_is_mostly_not_finite(self):
        for element_type in BYTES:
            codes = [code for code, _ in zip(garbage(element_type), range(12))]
            self.assertTrue(any(math.isnan(decode(code, element_type)) for code in codes))
            self.assertTrue(all(code < 1 << 8 * BYTES[element_type] for code in codes))

    def test_bytes_are_little_endian(self):
        self.assertEqual(to_bytes([0x3F800000, 2], "fp32"), bytes.fromhex("0000803f02000000"))
        self.assertEqual(to_bytes([0x3C00], "fp16"), b"\x00\x3c")


if __name__ == "__main__":
    unittest.main()
