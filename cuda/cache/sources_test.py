#!/usr/bin/env python3
"""Checks that README.md lists exactly the sources that builds without Bazel need.

A header's functions are defined in the .cc file of the same name. So a build needs the manager's
own sources and those of every header that they, or an engine, include.
"""

import re
import unittest
from pathlib import Path

README = Path("cuda/cache/README.md")
INCLUDE = re.compile(r'^#include ([<"])([^>"]+)[>"]', re.MULTILINE)


def expanded(text):
    """Files named in the text, with {a,b} expanded as by a shell."""
    files = set()
    for folder, names in re.findall(r"\b((?:core|cuda/cache)/)(\{[\w,]+\}|\w+)\.cc\b", text):
        files.update(f"{folder}{name}.cc" for name in names.strip("{}").split(","))
    return files


def needed_by(headers):
    """The .cc files that the headers need, and the library headers that these include."""
    sources, libraries, seen = set(), set(), set()
    waiting = list(headers)
    while waiting:
        file = waiting.pop()
        if file in seen:
            continue
        seen.add(file)
        if file.endswith(".h") and Path(file).with_suffix(".cc").exists():
            sources.add(str(Path(file).with_suffix(".cc")))
            waiting.append(str(Path(file).with_suffix(".cc")))
        for bracket, name in INCLUDE.findall(Path(file).read_text()):
            if bracket == '"':
                waiting.append(name)
            elif "." in name:
                libraries.add(name)
    return sources, libraries


class SourcesTest(unittest.TestCase):
    def setUp(self):
        lines = README.read_text().splitlines()
        self.command = "\n".join(line for line in lines if line.startswith("    "))
        self.text = "\n".join(line for line in lines if not line.startswith("    "))

    def test_the_command_names_what_an_engine_needs(self):
        needed, libraries = needed_by(["cuda/cache/batch_tables.h", "cuda/cache/slot_mapping.h"])
        own = {str(path) for path in Path("cuda/cache").glob("*.cc")} - {"cuda/cache/cache_size.cc"}
        self.assertEqual(expanded(self.command), needed | own)
        self.assertEqual(libraries, {"xxhash.h"})

    def test_the_text_names_what_sizing_needs_beside(self):
        needed, libraries = needed_by(["cuda/cache/cache_size.h"])
        # Two source files implement core/model_table.h.
        self.assertIn("core/model_table.cc", needed)
        needed.add("core/model_arithmetic.cc")
        self.assertEqual(expanded(self.text), needed - expanded(self.command))
        self.assertEqual(libraries, set())


if __name__ == "__main__":
    unittest.main()
