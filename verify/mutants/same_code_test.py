#!/usr/bin/env python3
"""What is the same machine code is told from what is not: two mutants of one source, of which one
changes nothing.

    same_code_test.py
"""

import sys
import tempfile
import unittest
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))
import same_code  # noqa: E402

SOURCE = """#include "verify/mutants/steps.h"

unsigned twice(unsigned number) {
  return RECTO_MUTANT(1) ? number * 2 : RECTO_MUTANT(2) ? number * 3 : number + number;
}
"""


class SameCode(unittest.TestCase):
    def test_the_same_and_another(self):
        with tempfile.TemporaryDirectory() as folder:
            same_code.write_headers(folder)
            for suffix in (".cc", ".cu"):
                source = Path(folder) / f"twice{suffix}"
                source.write_text(SOURCE, encoding="utf-8")
                self.assertTrue(same_code.is_same([source], 1, folder))
                self.assertFalse(same_code.is_same([source], 2, folder))
                self.assertFalse(same_code.is_same([source, source], 2, folder))
            self.assertFalse(same_code.is_same([], 1, folder))


if __name__ == "__main__":
    unittest.main()
