#!/usr/bin/env python3
"""Tests of finding commands, and of reporting errors in words, targets and flags."""

import json
import unittest

from bazel_commands import BazelCommands
from command_blocks import Command, Place, commands_of, markdown_of
from document_check import is_program
from shell_words import calls_of, program_of, simple_commands, without_prefixes

DOCUMENT = """\
# Title

Text with `recto plan --list`, `a + b`, `recto` and `./bazelw test
//core:units_test`.

```sh
recto trace a.csv      # exit code 2
cat > grid.json <<'END'
{"base": {}}  # no comment
END
# a remark
recto sweep --out r \\
    --grid grid.json
```

```text
output of something
```

```
$ recto generate
```

```cpp
recto::Status status;
```

    ./bazelw run //a:b

<!-- printed by: recto plan -->
```
one

two
```
"""


def found(text=DOCUMENT):
    return [
        (command.line, command.place, command.text, command.exit_code)
        for command in commands_of("d.md", text, is_program)
    ]


class Blocks(unittest.TestCase):
    def test_commands_in_their_order(self):
        here = "cat > grid.json <<'END'\n{\"base\": {}}  # no comment\nEND"
        self.assertEqual(
            found(),
            [
                (3, Place.TEXT, "recto plan --list", 0),
                (3, Place.TEXT, "./bazelw test //core:units_test", 0),
                (7, Place.BLOCK, "recto trace a.csv", 2),
                (8, Place.BLOCK, here, 0),
                (12, Place.BLOCK, "recto sweep --out r --grid grid.json", 0),
                (21, Place.BLOCK, "recto generate", 0),
                (28, Place.BLOCK, "./bazelw run //a:b", 0),
                (32, Place.PRINTED, "recto plan", 0),
            ],
        )

    def test_what_a_document_says_is_printed(self):
        last = list(commands_of("d.md", DOCUMENT, is_program))[-1]
        self.assertEqual(last.printed, ("one", "", "two"))
        self.assertFalse(last.is_part)

    def test_only_a_block_that_names_another_language_holds_no_commands(self):
        for language in ("sh", "", "shel"):
            self.assertEqual(found(f"```{language}\nunzip a\n```\n")[0][2], "unzip a")
        self.assertEqual(found("    unzip a\n")[0][2], "unzip a")
        for language in ("text", "json", "cpp", "python"):
            self.assertEqual(found(f"```{language}\nunzip a\n```\n"), [])

    def test_what_takes_the_time_is_looked_through(self):
        for timer in ("time ", "time -p ", "/usr/bin/time -v ", "A=b /usr/bin/time -o f -f %e "):
            line = f"{timer}recto sweep --seed 1"
            self.assertEqual(found(f"It took `{line}`.\n")[0][2:3], (line,))
            self.assertEqual(without_prefixes(simple_commands(line)[0])[0], "recto")


class Notebooks(unittest.TestCase):
    def test_markdown_cells_are_the_text(self):
        cells = [{"cell_type": "markdown", "source": ["A\n", "`recto plan --list`"]},
                 {"cell_type": "code", "source": ["`recto generate --brief`"]},
                 {"cell_type": "markdown", "source": "`recto man -h`"}]
        text = markdown_of("a.ipynb", json.dumps({"cells": cells}))
        self.assertEqual([one[2] for one in found(text)], ["recto plan --list", "recto man -h"])
        self.assertEqual(markdown_of("a.md", "text"), "text")


class Words(unittest.TestCase):
    def test_words_without_what_is_redirected(self):
        self.assertEqual(simple_commands("a b > c 2>d | e"), [["a", "b"], ["e"]])
        self.assertEqual(simple_commands("source <(recto man)"), [["source"], ["recto", "man"]])
        self.assertEqual(simple_commands("a 'b && c'"), [["a", "b && c"]])
        self.assertEqual(simple_commands("a $(b c) --d $(e)"), [["a", "1", "--d", "1"], ["b", "c"],
                                                               ["e"]])

    def test_calls_and_programs(self):
        self.assertEqual(calls_of("A=1 a 'b && c' && time d"), [["a", "b && c"], ["d"]])
        self.assertEqual(program_of("X=1 Y=2 recto plan"), "recto")
        self.assertEqual(program_of("it's"), "")


class Bazel(unittest.TestCase):
    def setUp(self):
        packages = {
            "core": 'recto_test(\n    name = "units_test",\n)\nrecto_library(name = "core")',
            "verify": 'recto_benchmark(name = "speed", srcs = ["a.cc"])',
            "sim": '[a_test(name = "%s_test" % kind) for kind in ("long", "wide")]\n'
                   '[a_test(name = "lib" + kind + "_test") for kind in ("long", "wide")]',
        }
        rc = "build:asan --copt=-g\ntest:full --test_timeout=7200\n"
        self.bazel = BazelCommands(packages, rc, 'name = name + "_smoke_test"')

    def error(self, line):
        return self.bazel.error(calls_of(line)[0])

    def test_what_could_be_run(self):
        for line in (
            "./bazelw test //...",
            "./bazelw test -c opt --config=asan //core/... //verify:speed_smoke_test",
            "./bazelw build --config=full //core",
            "./bazelw run //verify:speed -- --benchmark_filter=a",
            "./bazelw run //core:units_test -- --list-test-cases",
            "./bazelw test //sim:long_test //sim:libwide_test",
            "A=b ./bazelw ...",
            "./bazelw test TARGET",
            "./bazelw browser",
            "./bazelw python",
            "./bazelw python FILE",
            "./bazelw python tools/documents/documents.py RECTO",
        ):
            self.assertIsNone(self.error(line), line)

    def test_what_could_not(self):
        for line, expected in (
            ("./bazelw", "expected ./bazelw and one of"),
            ("./bazelw clean", "expected ./bazelw and one of"),
            ("./bazelw browser chromium", "expected ./bazelw and one of"),
            ("./bazelw build", "names no target"),
            ("./bazelw python nowhere.py", "nowhere.py: there is no such script"),
            ("./bazelw test //core:unit_test", "//core:unit_test: no such target"),
            ("./bazelw test //cores/...", "no package below cores/"),
            ("./bazelw test //sim:short_test", "no such target"),
            ("./bazelw test //verify:speed", "is a recto_benchmark and no test"),
            ("./bazelw run //core:unit_test", "//core:unit_test: no such target"),
            ("./bazelw run //core/...", "runs more than one target"),
            ("./bazelw test //verify:speed_other_test", "no such target"),
            ("./bazelw test --config=msan //core/...", "no such configuration"),
            ("./bazelw test --frobnicate //core/...", "--frobnicate: not a flag"),
            ("./bazelw test core", "expected a target that begins with //"),
        ):
            self.assertIn(expected, self.error(line) or "", line)


if __name__ == "__main__":
    unittest.main()
