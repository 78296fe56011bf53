#!/usr/bin/env python3
"""docs/mutation.md has the figures of the campaigns that are kept, and no others; the campaigns are
of the mutants that there are; and tables count what campaigns found.
"""

import json
import re
import sys
import unittest
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))
import campaign  # noqa: E402
import copies  # noqa: E402
import outcome  # noqa: E402
import report  # noqa: E402

HERE = report.HERE
BLOCK = re.compile(r"^```.*?^```$|^\|.*?$", re.MULTILINE | re.DOTALL)
# Figures of results: shares, percentages, counts above ten; not versions, dates, hashes, exponents.
FIGURE = re.compile(r"\d+ of (?:the )?\d+|\d+(?:\.\d+)? %|(?<![\w./:-])\d{2,}(?![\w./:-])")


def mutants_of(result):
    return report.read(result)["mutants"]


class Document(unittest.TestCase):
    def setUp(self):
        self.text = report.DOCUMENT.read_text(encoding="utf-8")

    def test_it_has_the_figures(self):
        self.maxDiff = None
        expected = report.filled(self.text)
        self.assertEqual(self.text, expected, "run python3 verify/qa/report.py")
        names = [mark[2] for mark in report.MARKED.finditer(self.text)]
        self.assertEqual(sorted(names), sorted(report.figures()))

    def test_it_has_no_other_figures(self):
        text = BLOCK.sub("", report.MARKED.sub("", self.text))
        self.assertEqual([found[0] for found in FIGURE.finditer(text)], [])


class FullCampaign(unittest.TestCase):
    def setUp(self):
        self.mutants = mutants_of("result.json")
        self.equivalent = copies.read_reasons(HERE / "equivalent.txt")
        lists = [HERE / f"{program}_mutants.json" for program in campaign.PROGRAMS]
        self.lists = [json.loads(path.read_text(encoding="utf-8")) for path in lists]
        self.listed = [mutant for found in self.lists for mutant in found["mutants"]]
        self.gone = {name for found in self.lists for name in found["gone"]}

    def test_it_has_every_mutant(self):
        tried = {mutant["name"] for mutant in self.mutants}
        self.assertEqual(len(tried), len(self.mutants))
        listed = {mutant["name"] for mutant in self.listed}
        self.assertEqual(sorted(tried - self.gone), sorted(listed), "run the campaign anew")

    def test_what_was_not_killed_is_listed_with_its_reason(self):
        for mutant in self.mutants:
            name, is_equivalent = mutant["name"], mutant["name"] in self.equivalent
            self.assertEqual(bool(mutant["listed"]), is_equivalent, name)
            self.assertEqual(mutant["ours"], "passed" if is_equivalent else "killed", name)
        self.assertEqual(self.equivalent.keys() - {m["name"] for m in self.mutants}, set())

    def test_what_ought_to_see_them_are_sorts_of_checks(self):
        groups = {group for program in campaign.PROGRAMS.values() for group in program["groups"]}
        sorts = groups | {outcome.EXECUTOR, outcome.ORACLE, *outcome.INSTRUMENTED.values()}
        for mutant in self.listed:
            if mutant["operator"] == "picked":
                expected = {s for s in mutant["seen_by"] if not s.startswith("law: ")}
                self.assertLessEqual(expected, sorts, mutant["name"])
                self.assertLessEqual({mutant["found_by"]}, groups | {""}, mutant["name"])

    def test_what_has_to_find_a_mutant_killed_it(self):
        found_by = {m["name"]: m["found_by"] for m in self.listed if m.get("found_by")}
        for mutant in self.mutants:
            if mutant["name"] in found_by:
                group = found_by[mutant["name"]]
                of_it = {group, campaign.KNOWN_BUGS, *outcome.INSTRUMENTED.values()}
                self.assertIn(mutant["sort"], of_it, mutant["name"])

    def test_every_area_and_operator_has_some(self):
        areas = {mutant["area"] for mutant in self.listed}
        self.assertEqual(areas, {area for _, area in copies.AREAS})
        operators = {mutant["operator"] for mutant in self.listed}
        drawn = {"arithmetic", "barrier", "constant", "index", "logical", "relational", "statement"}
        self.assertEqual(operators, drawn | {"picked"})

    def test_few_drawn_ones_are_gone(self):
        print(f"{len(self.gone)} drawn mutants are gone with their lines: {sorted(self.gone)}")
        drawn = sum(mutant["operator"] != "picked" for mutant in self.listed)
        self.assertLess(10 * len(self.gone), drawn, "draw them anew, see README.md")


class SecondDraw(unittest.TestCase):
    def setUp(self):
        self.mutants = mutants_of("held_out/result.json")

    def test_it_has_what_was_drawn(self):
        lists = [f"held_out/{program}.txt" for program in campaign.PROGRAMS]
        drawn = [name for path in lists for name in copies.read_reasons(HERE / path)]
        self.assertEqual(sorted(drawn), sorted(mutant["name"] for mutant in self.mutants))

    def test_what_was_not_killed_is_listed_with_its_reason(self):
        equivalent = {m["name"] for m in self.mutants if m["listed"]}
        self.assertEqual(equivalent, copies.read_reasons(HERE / "held_out/equivalent.txt").keys())
        survived = {m["name"] for m in report.real(self.mutants) if m["ours"] != "killed"}
        self.assertEqual(survived, copies.read_reasons(HERE / "held_out/survived.txt").keys())


class WithoutTheCompilersChecks(unittest.TestCase):
    def setUp(self):
        self.mutants = mutants_of("uninstrumented/result.json")

    def test_what_instrumentation_saw_first_was_tried_without(self):
        first = [m["name"] for m in mutants_of("result.json") if report.is_first_by_compiler(m)]
        self.assertEqual(sorted(first), sorted(mutant["name"] for mutant in self.mutants))
        for mutant in self.mutants:
            self.assertFalse(report.is_first_by_compiler(mutant), mutant["name"])

    def test_what_survives_is_listed_with_its_reason(self):
        passed = {mutant["name"] for mutant in self.mutants if mutant["ours"] == "passed"}
        self.assertEqual(passed, copies.read_reasons(HERE / "uninstrumented/survived.txt").keys())


def tried(area, sort, listed=None, ours="killed", laws=None):
    kinds = ["killed", "passed"]
    found = {"name": "x.cc:index:1", "area": area, "sort": sort, "listed": listed, "ours": ours}
    found |= {"by": "a test", "text": "a || b", "imitations": kinds if laws is not None else []}
    verify = "killed" if ours == "killed" else "passed"
    return found | ({} if laws is None else {"alone": {"verify": verify, "laws": laws}})


class Tables(unittest.TestCase):
    def setUp(self):
        self.mutants = [
            tried("kernels", "law: chunking", laws=["chunking", "oracle"]),
            tried("kernels", "the oracle", laws=["oracle"]),
            tried("launches", "", ours="threw", laws=[]),
            tried("scheduler", "its own tests"),
            tried("scheduler", "undefined behaviour"),
            tried("scheduler", "", ours="passed", listed="equivalent"),
            tried("scheduler", "", ours="passed"),
        ]
        self.campaign = {"date": "2026-01-31", "built_from": "abc"}
        self.campaign |= {"laws": ["chunking", "history", "oracle"], "mutants": self.mutants[:3]}

    def test_who_killed_first_is_counted_apart(self):
        lines = report.counts("area", self.mutants).splitlines()
        none, whole = "0 of 2 (0.0 %)", "2 of 2 (100.0 %)"
        kernels = f"{whole} | 2 | 0 | 0 | 0 | 0 | {whole} | {none}"
        self.assertEqual(lines[2], f"| kernels | 2 | 0 | {kernels} |")
        launches = "0 of 1 (0.0 %) | 0 | 0 | 0 | 0 | 1 | 1 of 1 (100.0 %) | 0 of 1 (0.0 %)"
        self.assertEqual(lines[3], f"| launches | 1 | 0 | {launches} |")
        scheduler = "2 of 3 (66.7 %) | 0 | 1 | 1 | 1 | 0 | - | -"
        self.assertEqual(lines[4], f"| scheduler | 4 | 1 | {scheduler} |")

    def test_by_area_of_those_that_were_tried_alone(self):
        lines = report.alone(self.campaign).splitlines()
        half, all_of_them = "1 of 2 (50.0 %)", "2 of 2 (100.0 %)"
        kernels = f"| kernels | 2 | {all_of_them} | {all_of_them} | {half} | {all_of_them} |"
        self.assertEqual(lines[0], "Tried on 2026-01-31, built from commit abc:")
        self.assertEqual(lines[4], f"{kernels} 0 of 2 (0.0 %) |")
        two_thirds = "2 of 3 (66.7 %)"
        self.assertTrue(lines[-1].startswith(f"| all | 3 | {two_thirds} | {two_thirds} | 1 of 3"))

    def test_by_law_those_that_kill_none_too(self):
        lines = report.laws(self.campaign).splitlines()
        self.assertEqual(lines[2], "| oracle | 2 | 1 | the reference |")
        self.assertEqual(lines[3], "| chunking | 1 | 0 | the same backend |")
        self.assertEqual(lines[4], "| history | 0 | 0 | the same backend |")

    def test_what_was_tried_anew_became_what_it_became_there(self):
        first = [tried("kernels", "the oracle"), tried("kernels", "the oracle") | {"name": "y"}]
        anew = report.without_compiler(first, [tried("kernels", "", ours="crashed")])
        self.assertEqual([mutant["ours"] for mutant in anew], ["crashed", "killed"])

    def test_bars_do_not_part_cells(self):
        self.assertIn("| a \\|\\| b | survives |", report.not_killed(self.mutants[-1:], {}))


if __name__ == "__main__":
    unittest.main()
