#!/usr/bin/env python3
"""Equal machine code is distinguished from other code, and equivalent.txt says so for each mutant.

    same_code_test.py [EQUIVALENT.txt OPEN.txt SAME_CODE.txt...]
"""

import sys
import tempfile
import unittest
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))
import listed_mutants  # noqa: E402
import same_code  # noqa: E402

SOURCE = """#include "verify/mutants/steps.h"

unsigned twice(unsigned number) {
  return RECTO_MUTANT(1) ? number * 2 : RECTO_MUTANT(2) ? number * 3 : number + number;
}
"""


class SameCode(unittest.TestCase):
    def test_the_same_and_another(self):
        with tempfile.TemporaryDirectory() as folder:
            compiler = same_code.Compiler("g++", [], folder)
            for suffix in (".cc", ".cu"):
                source = Path(folder) / f"twice{suffix}"
                source.write_text(SOURCE, encoding="utf-8")
                self.assertTrue(compiler.is_same([source], 1))
                self.assertFalse(compiler.is_same([source], 2))
                self.assertFalse(compiler.is_same([source, source], 2))
            self.assertFalse(compiler.is_same([], 1))

    def test_a_header_is_compiled_with_all_that_include_it(self):
        with tempfile.TemporaryDirectory() as folder:
            copies = Path(folder)
            include = f'#include "{same_code.COPIES}%s"\n'
            texts = {"a.h": "", "b.h": include % "a.h", "c.cc": include % "b.h", "d.cc": ""}
            for name, text in texts.items():
                (copies / name).write_text(text, encoding="utf-8")
            self.assertEqual(same_code.sources_with("a.h", copies), [copies / "c.cc"])
            self.assertEqual(same_code.sources_with("d.cc", copies), [copies / "d.cc"])

    def test_equivalent_txt_says_what_the_compiler_says(self):
        if not FILES:
            print("SKIPPED: the lists of mutants: --config=full compares them")
            return
        equivalent, still_open, *compared = FILES
        lines = [line for file in compared for line in Path(file).read_text().splitlines()]
        found = {"same": [], "other": []}
        for line in lines:
            word, name = line.split()
            found[word].append(name)
        listed = listed_mutants.read_lists(equivalent, still_open)
        marked = [name for name in listed if listed[name] == "same code"]
        self.assertEqual(sorted(found["same"]), sorted(marked))
        self.assertEqual(sorted(found["other"]), sorted(listed.keys() - set(marked)))


if __name__ == "__main__":
    FILES = sys.argv[1:]
    unittest.main(argv=sys.argv[:1])
