#!/usr/bin/env python3
"""Checks which modes exist on machines that lack a compiler.

    variants_test.py VARIANTS_BZL

The file is run as Python, with replacements for what it loads.
"""

import sys
import unittest
from pathlib import Path

TEXT = Path(sys.argv[1]).read_text("utf-8")


class Attributes:
    def __getattr__(self, _name):
        return lambda *_args, **_kwargs: None


def builds(gxx, clangxx, has_msan):
    """{mode: the compiler, or the reason why there is none}."""
    names = {
        "load": lambda *_args: None,
        "provider": lambda **_kwargs: None,
        "aspect": lambda **_kwargs: None,
        "rule": lambda **_kwargs: None,
        "attr": Attributes(),
        "GXX": gxx,
        "CLANGXX": clangxx,
        "HAS_MSAN": has_msan,
    }
    exec(compile(TEXT, sys.argv[1], "exec"), names)  # noqa: S102
    return {
        mode: build if isinstance(build, str) else build[0]
        for mode, build in names["_BUILDS"].items()
    }


class MissingCompilers(unittest.TestCase):
    def test_each_mode_has_its_compiler(self):
        self.assertEqual(
            builds("g++", "clang++", True),
            {"asan": "g++", "boost": "g++", "clang": "clang++", "taint": "clang++"},
        )

    def test_what_lacks_is_what_the_mode_needs(self):
        none = "no clang++ here"
        self.assertEqual(
            builds("g++", "", False),
            {"asan": "g++", "boost": "g++", "clang": none, "taint": none},
        )
        none = "no g++ here"
        self.assertEqual(
            builds("", "clang++", True),
            {"asan": none, "boost": none, "clang": "clang++", "taint": "clang++"},
        )
        self.assertEqual(
            builds("g++", "clang++", False)["taint"], "clang++ has no MemorySanitizer here"
        )


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
