#!/usr/bin/env python3
"""What counts as a command, and which errors in words, targets and flags are reported."""

import json
import tempfile
import unittest
from collections import namedtuple
from pathlib import Path

from bazel_commands import BazelCommands
from command_blocks import Command, Place, commands_of, markdown_of
from document_check import is_program
from script_flags import script_flags_error
from shell_words import program_of, simple_commands, split_at_and, without_prefixes

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

Target = namedtuple("Target", "name rule")
Package = namedtuple("Package", "folder targets")


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

    def test_parts_and_programs(self):
        self.assertEqual(split_at_and("a 'b && c' && d"), ["a 'b && c'", "d"])
        self.assertEqual(program_of("X=1 Y=2 recto plan"), "recto")
        self.assertEqual(program_of("it's"), "")


class Bazel(unittest.TestCase):
    def setUp(self):
        packages = [
            Package("core", [Target("units_test", "recto_test"), Target("core", "recto_library")]),
            Package("verify", [Target("speed", "recto_benchmark")]),
        ]
        rc = "build:asan --copt=-g\ntest:full --test_timeout=7200\n"
        self.bazel = BazelCommands(packages, rc, 'name = name + "_smoke_test"')

    def test_what_could_be_run(self):
        for line in (
            "./bazelw test //...",
            "./bazelw test -c opt --config=asan //core/... //verify:speed_smoke_test",
            "./bazelw build --config=full //core",
            "./bazelw run //verify:speed -- --benchmark_filter=a",
            "./bazelw run //core:units_test -- --list-test-cases",
            "A=b ./bazelw ...",
            "./bazelw test TARGET",
            "./bazelw browser",
            "./bazelw python",
            "./bazelw python FILE",
            "./bazelw python tools/documents/documents.py RECTO",
        ):
            self.assertIsNone(self.bazel.error(line), line)
        self.assertIsNone(self.bazel.program_error("bazel-bin/verify/speed"))

    def test_what_could_not(self):
        for line, expected in (
            ("./bazelw", "expected ./bazelw and one of"),
            ("./bazelw clean", "expected ./bazelw and one of"),
            ("./bazelw browser chromium", "expected ./bazelw and one of"),
            ("./bazelw build", "names no target"),
            ("./bazelw python nowhere.py", "nowhere.py: there is no such script"),
            ("./bazelw test //core:unit_test", "//core:unit_test: no such target"),
            ("./bazelw test //cores/...", "no package below cores/"),
            ("./bazelw test //verify:speed", "is a recto_benchmark and no test"),
            ("./bazelw run //core:unit_test", "//core:unit_test: no such target"),
            ("./bazelw run //core/...", "runs more than one target"),
            ("./bazelw test //verify:speed_other_test", "no such target"),
            ("./bazelw test --config=msan //core/...", "no such configuration"),
            ("./bazelw test --frobnicate //core/...", "--frobnicate: not a flag"),
            ("./bazelw test core", "expected a target that begins with //"),
        ):
            self.assertIn(expected, self.bazel.error(line) or "", line)

    def test_flags_of_scripts(self):
        helps = {"sweep": "  --seed N\n"}
        with tempfile.TemporaryDirectory() as folder:
            script = Path(folder, "script.py")
            parsing = "import argparse\nargparse.ArgumentParser(epilog='%s').parse_args()\n"
            def error(epilog, *arguments):
                script.write_text(parsing % epilog)
                return script_flags_error(script, arguments, helps.get)
            passing = "All other flags are those of `recto sweep`, which see."
            self.assertIsNone(error("see --fast", "FILE", "--fast", "--help=1"))
            self.assertEqual(error("", "--slow=1"), "--slow: stands not in the help of script.py")
            self.assertIsNone(error(passing, "--seed", "1"))
            self.assertIn("--sed: stands not", error(passing, "--sed", "1"))
            script.write_text("import no_such_module")
            self.assertIn("--help: exit code 1: ModuleNotFoundError",
                          script_flags_error(script, ["--fast"], helps.get))
        wrong = self.bazel.error("./bazelw python tools/documents/documents.py --frobnicate")
        self.assertIn("documents.py", wrong or "")

    def test_arguments_of_recto(self):
        line = "./bazelw run -c opt //experiments:recto -- plan --list"
        self.assertEqual(self.bazel.runs_recto(line), ["plan", "--list"])
        self.assertIsNone(self.bazel.runs_recto("./bazelw run //verify:speed -- plan"))


if __name__ == "__main__":
    unittest.main()
