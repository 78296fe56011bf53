#!/usr/bin/env python3
"""What mutants are made of; a replacement that does not match in just one place fails; mutants may
stand within each other.
"""

import sys
import tempfile
import unittest
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))
import copies  # noqa: E402
import operators  # noqa: E402
import sites  # noqa: E402

SOURCE = """#include <kernel_dialect.h>

constexpr int kSize = 4 + 4;  // a + b

// if (a < b) in a remark
template <int kCount>
struct Counter {
  int total = 1 + 2;
  __device__ int add(const int* values, int count) {
    static_assert(kCount < 5);
    for (int i = 0; i < count; ++i) {
      total += values[i];
    }
    __syncthreads();
    if constexpr (kCount < 3) total = 0;
    return total * 2;
  }
};
"""


def texts(source, kind):
    return [source[s.begin : s.end] for s in sites.sites_of(source) if s.kind == kind]


def changes(source, operator):
    return [m.mutated for m in operators.mutants_of("x.cuh", source) if m.operator == operator]


class Sites(unittest.TestCase):
    def test_conditions_values_and_statements_of_functions(self):
        self.assertEqual(texts(SOURCE, "condition"), ["i < count"])
        self.assertEqual(texts(SOURCE, "value"), ["0", "++i", "total * 2"])
        self.assertEqual(
            texts(SOURCE, "statement"), ["total += values[i];", "__syncthreads();", "total = 0;"]
        )

    def test_bodies_of_lambdas_and_values_in_braces(self):
        source = "int f(int a) {\n  return with(a, [&](auto x) { return g({.b = x + 1, 2}); });\n}"
        self.assertEqual(texts(source, "value"), [])
        source = "Pair f(int a) {\n  return {.first = a + 1, .second = {a, 2}};\n}"
        self.assertEqual(texts(source, "value"), ["a + 1", "a", "2"])

    def test_what_is_decided_at_compile_time_is_no_site(self):
        self.assertEqual(texts("constexpr int f(int a) { return a + 1; }", "value"), [])
        self.assertEqual(texts("enum class A { kB = 1 + 1 };", "value"), [])


class Operators(unittest.TestCase):
    def test_each_operator(self):
        self.assertEqual(changes(SOURCE, "relational"), ["i <= count"])
        self.assertEqual(
            changes(SOURCE, "arithmetic"), ["total -= values[i];", "total + 2"]
        )
        self.assertEqual(changes(SOURCE, "index"), ["total += values[i + 1];"])
        self.assertEqual(changes(SOURCE, "barrier"), [""])
        self.assertEqual(changes(SOURCE, "statement"), ["", ""])
        self.assertEqual(changes(SOURCE, "constant"), ["1", "total = 1;", "total * 3", "total * 1"])

    def test_signs_templates_and_text_are_left_alone(self):
        source = 'int f(int a) {\n  g<3>(a);\n  return h(-a, "x" + text, wait<kStages - 1>());\n}'
        self.assertEqual(changes(source, "relational"), [])
        self.assertEqual(changes(source, "arithmetic"), [])

    def test_a_wrong_name_is_one_that_the_function_has(self):
        source = "int f(int begin, int end) {\n  return end;\n}"
        self.assertEqual(changes(source, "index"), ["begin"])
        self.assertEqual(changes("int f(int end) {\n  return end;\n}", "index"), [])

    def test_names_stay_when_something_else_changes(self):
        before = {m.name for m in operators.mutants_of("x.cuh", SOURCE)}
        after = {m.name for m in operators.mutants_of("x.cuh", "int before;\n" + SOURCE)}
        self.assertEqual(before, after)
        self.assertEqual(len(before), len(operators.mutants_of("x.cuh", SOURCE)))


def picked(old, new, name="some-mutant"):
    lines = [f"mutant {name}", ": what it is", "source own", "seen by goldens"]
    lines += ["in cuda/kernels/x.cuh", *("-" + line for line in old.split("\n"))]
    return copies.picked_of("\n".join([*lines, *("+" + line for line in new.split("\n")), ""]))


class Copies(unittest.TestCase):
    def copy(self):
        return copies.Copy("cuda/kernels/x.cuh", SOURCE)

    def test_a_replacement_stands_in_one_place(self):
        copy = self.copy()
        copy.add_picked(picked("total * 2", "total * (MUTANT ? 3 : 2)"))
        self.assertIn("RECTO_MUTANT", copy.written([]))
        for old in ("total * 4", "total"):
            with self.assertRaisesRegex(copies.Malformed, "times"):
                self.copy().add_picked(picked(old, "MUTANT"))
        with self.assertRaisesRegex(copies.Malformed, "always active"):
            picked("total * 2", "total * 3")

    def test_what_a_replacement_leaves_alone_may_have_other_mutants(self):
        copy = self.copy()
        copy.add_picked(picked("total * 2", "total * (MUTANT ? 3 : 2)"))
        after = "total += values[i];\n    }"
        copy.add_picked(picked(after, "total += values[i];\n    if (MUTANT) --total;\n    }", "b"))
        copy.add_drawn({m.name for m in operators.mutants_of(copy.path, copy.source)})
        text = copy.written([])
        active = r"RECTO_MUTANT\(\d+\)"
        self.assertRegex(text, rf"\? \(total \+ 2\) : .* : \(total \* \({active} \? 3 : 2\)\)")
        self.assertRegex(text, rf"total \+= values\[i\]; }} }} .*\n    if \({active}\) --total")

    def test_a_mutant_within_text_that_goes_is_refused(self):
        copy = self.copy()
        copy.add_picked(picked("total * 2", "(MUTANT ? 2 : total) * 3"))
        copy.add_picked(picked("l * 2", "l * (MUTANT ? 7 : 2)", "b"))
        with self.assertRaisesRegex(copies.Malformed, "overlap"):
            copy.written([])

    def test_drawn_mutants_sleep_beside_the_original(self):
        copy = self.copy()
        mutants = operators.mutants_of(copy.path, copy.source)
        names = {m.name for m in mutants if m.operator == "relational"}
        copy.add_drawn(names)
        self.assertRegex(copy.written([]), r"MUTANT\(\d+\) \? \(i <= count\) : \(i < count\)")
        self.assertEqual({mutant["name"] for mutant in copy.listed}, names)

    def test_copies_include_each_other_and_nothing_else(self):
        copy = copies.Copy("cuda/kernels/x.cu", '#include "cuda/a.cuh"\n#include "cuda/b.h"\n')
        text = copy.written(["cuda/a.cuh"])
        self.assertIn('"verify/qa/copies/cuda/a.cuh"', text)
        self.assertIn('#include "cuda/b.h"', text)

    def test_a_seed_draws_the_same_ones(self):
        once = copies.draw([self.copy()], set(), "1", None)
        self.assertEqual(once, copies.draw([self.copy()], set(), "1", None))
        self.assertEqual(len(once), 6)
        left_out = {line.split()[0] for line in once}
        others = copies.draw([self.copy()], left_out, "1", None)
        self.assertFalse(left_out & {line.split()[0] for line in others})

    def test_another_seed_draws_others_and_no_more_than_asked_for_of_each_source(self):
        once = copies.draw([self.copy()], set(), "1", 3)
        self.assertEqual(len(once), 3)
        self.assertEqual(once, copies.draw([self.copy()], set(), "1", 3))
        seeds = {tuple(copies.draw([self.copy()], set(), str(seed), 3)) for seed in range(9)}
        self.assertGreater(len(seeds), 1)

    def test_what_is_kept_stands_in_for_its_operator_while_it_exists(self):
        once = copies.draw([self.copy()], set(), "1", None)
        others = operators.mutants_of("x.cuh", SOURCE)
        kept = {m.name for m in others if m.operator == "constant"} | {"x.cuh:logical:gone00"}
        anew = copies.draw([self.copy()], set(), "1", None, kept)
        constants = [line for line in anew if ":constant:" in line]
        self.assertEqual({line.split()[0] for line in constants}, kept - {"x.cuh:logical:gone00"})
        self.assertGreater(len(constants), 1)
        rest = {line for line in once if ":constant:" not in line}
        self.assertEqual(set(anew) - set(constants), rest)

    def test_files_of_picked_mutants_are_read(self):
        with tempfile.TemporaryDirectory() as folder:
            file = Path(folder) / "picked.txt"
            change = "in x.cuh\n-b\n+MUTANT\n"
            file.write_text("mutant a\n: what\nsource own\nseen by laws or goldens\n" + change)
            (mutant,) = copies.read_picked([file])
            self.assertEqual(mutant.changes, [("x.cuh", ["b"], ["MUTANT"])])
            self.assertEqual(mutant.seen_by, ["laws", "goldens"])
            file.write_text("mutant a\n: what\n" + change)
            with self.assertRaisesRegex(copies.Malformed, "source"):
                copies.read_picked([file])
            file.write_text("mutant a\n: what\nsource a-bug\nfound by its own tests\n" + change)
            (mutant,) = copies.read_picked([file])
            self.assertEqual((mutant.found_by, mutant.seen_by), ("its own tests", []))


if __name__ == "__main__":
    unittest.main()
