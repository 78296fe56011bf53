#!/usr/bin/env python3
"""Tests of completions for `recto ...`, in the shells that are installed."""

import os
import re
import shutil
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

PROGRAM = Path(sys.argv.pop(1)).resolve()

# Asks bash for its completions; splits words as readline does.
ASK_BASH = r"""
source "$1"; shift
COMP_WORDS=("$@"); COMP_CWORD=$(($# - 1))
compopt() { :; }  # works while readline completes only
_recto
printf '%s\n' "${COMPREPLY[@]}"
"""

# Types each argument and a tab into a separate zsh on a terminal, and prints the shown line.
ASK_ZSH = r"""
zmodload zsh/zpty
zpty shell zsh -f -i
zpty -w shell 'autoload -Uz compinit; compinit -u -D; source script; compdef _recto recto
show() { print -r -- "<<$BUFFER>>" }; zle -N show; bindkey "^T" show
zstyle ":completion:*" insert-tab false; print READ""Y'
zpty -r shell said '*READY*'
for typed; do
  zpty -w -n shell $'\C-u'"$typed"$'\t\C-t'
  zpty -r shell said '*>>*'
  print -r -- ${${said##*<<}%%>>*}
done
"""
ZSH_COMPLETES = (
    ("recto frag", "recto fragmentation "),
    ("recto fragmentation --vi", "recto fragmentation --view="),
    ("recto fragmentation --view p", "recto fragmentation --view paper "),
    ("recto simulate --model Llama-3.1-8", "recto simulate --model Llama-3.1-8B "),
    ("recto sweep --manager simulator,p", "recto sweep --manager simulator,production,"),
    ("recto verify --law orac", "recto verify --law oracle,"),
    ("recto completion f", "recto completion fish "),
    ("recto nothing --", "recto nothing --"),
)

# Typed words, split as in bash, and completions that must be included, or be all.
AMONG = (
    ("recto|", "fragmentation simulate sweep trace verify completion man --help --version"),
    ("recto|simulate|", "--trace --allocator --model --json --help"),
    ("recto|simulate|--model|Llama-3.1", "Llama-3.1-8B Llama-3.1-70B"),
    ("recto|simulate|--gpu|", "H100 A100-40"),
    ("recto|verify|--law|", "oracle block_size chunking"),
    ("recto|verify|--backend|", "reference executor host-api reference-decode"),
    ("recto|numerics|--types|fp16", "fp16 fp16/e4m3 fp16/e5m2"),
)
EXACTLY = (
    ("recto|frag", "fragmentation"),
    ("recto|fragmentation|--vi", "--view"),
    ("recto|fragmentation|--view|", "states paper"),
    ("recto|fragmentation|--view|=", "states paper"),
    ("recto|fragmentation|--view|=|p", "paper"),
    ("recto|fragmentation|--allocators|paged,pre", "paged,prefix-cached"),
    ("recto|simulate|--batching|s", "static"),
    ("recto|sweep|--manager|simulator,p", "simulator,production"),
    ("recto|plan|--kv-dtype|fp", "fp32 fp16 fp8"),
    ("recto|simulate|--block-size|", ""),
    ("recto|completion|", "bash zsh fish"),
    ("recto|simulate|--trace|tr", "trace.csv"),
    ("recto|fragmentation|--out|re", "results"),
    ("recto|trace|", "trace.csv results"),
    ("recto|trace|--js", "--json"),
    ("recto|nothing|--", ""),
)


def script_of(shell):
    done = subprocess.run([PROGRAM, "completion", shell], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return done.stdout


def commands_and_flags():
    """Each command of the program with the flags that its help names."""
    program = subprocess.run([PROGRAM, "--help"], capture_output=True, text=True).stdout
    listed = program.split("Subcommands:\n")[1].split("\n\n")[0]
    for command in re.findall(r"^  ([a-z]+) ", listed, re.MULTILINE):
        text = subprocess.run([PROGRAM, command, "--help"], capture_output=True, text=True).stdout
        # Options whose texts have forms of their own are explained again at the end.
        flags = re.findall(r"^  (?:-h,)?(--[a-z][a-z0-9-]*)", text, re.MULTILINE)
        yield command, list(dict.fromkeys(flags))


class Shell(unittest.TestCase):
    shell = None

    def setUp(self):
        if shutil.which(self.shell) is None:
            print(f"SKIPPED: completion of {self.shell}: there is no {self.shell} here")
            self.skipTest(f"no {self.shell}")
        self.folder = tempfile.TemporaryDirectory()
        self.addCleanup(self.folder.cleanup)
        self.script = Path(self.folder.name, "script")
        self.script.write_text(script_of(self.shell))

    def run_shell(self, *arguments, **options):
        options.setdefault("cwd", self.folder.name)
        return subprocess.run(
            [self.shell, *arguments], capture_output=True, text=True, timeout=60, **options
        )


class Bash(Shell):
    shell = "bash"

    def offers(self, typed):
        place = Path(self.folder.name, "place")
        (place / "results").mkdir(parents=True, exist_ok=True)
        (place / "trace.csv").touch()
        done = self.run_shell("-c", ASK_BASH, "bash", self.script, *typed.split("|"), cwd=place)
        self.assertEqual((done.returncode, done.stderr), (0, ""), typed)
        return done.stdout.split()

    def test_offers(self):
        for typed, expected in AMONG:
            with self.subTest(typed):
                self.assertLessEqual(set(expected.split()), set(self.offers(typed)))
        for typed, expected in EXACTLY:
            with self.subTest(typed):
                self.assertCountEqual(self.offers(typed), expected.split())

    def test_every_flag_of_every_help_is_offered(self):
        counted = 0
        for command, flags in commands_and_flags():
            with self.subTest(command):
                self.assertCountEqual(self.offers(f"recto|{command}|-"), flags)
            counted += len(flags)
        self.assertGreater(counted, 200)

    def test_it_is_registered(self):
        done = self.run_shell("-c", 'source "$1"; complete -p recto', "bash", self.script)
        self.assertEqual(done.stdout, "complete -F _recto recto\n")


class Zsh(Shell):
    shell = "zsh"

    def test_syntax(self):
        done = self.run_shell("-n", self.script)
        self.assertEqual((done.returncode, done.stderr), (0, ""))

    def test_every_option_is_one_that_arguments_takes(self):
        # _arguments complains about specifications that it cannot read when it is called.
        code = "autoload -Uz compinit; compinit -u -D; source script; whence -w _recto"
        done = self.run_shell("-f", "-c", code)
        self.assertEqual((done.stdout, done.stderr), ("_recto: function\n", ""))

    def test_it_completes_what_is_typed(self):
        typed, expected = zip(*ZSH_COMPLETES)
        done = self.run_shell("-f", "-c", ASK_ZSH, "zsh", *typed)
        self.assertEqual((done.stdout.splitlines(), done.stderr), (list(expected), ""))


class Fish(Shell):
    shell = "fish"

    def offers(self, typed):
        environment = os.environ | {"HOME": self.folder.name}
        code = f"source script; complete -C '{typed}'"
        done = self.run_shell("--no-config", "-c", code, env=environment)
        self.assertEqual((done.returncode, done.stderr), (0, ""), typed)
        return {line.split("\t")[0] for line in done.stdout.splitlines()}

    def test_offers(self):
        self.assertLessEqual({"simulate", "sweep", "man"}, self.offers("recto "))
        self.assertEqual(self.offers("recto fragmentation --view "), {"states", "paper"})
        self.assertIn("--block-size", self.offers("recto simulate --blo"))
        self.assertEqual(self.offers("recto completion "), {"bash", "zsh", "fish"})


class Scripts(unittest.TestCase):
    def test_each_names_every_command_and_flag(self):
        for shell in ("bash", "zsh", "fish"):
            script = script_of(shell)
            for command, flags in commands_and_flags():
                self.assertRegex(script, rf"\b{command}\b")
                for flag in flags:
                    name = f"-l {flag[2:]}" if shell == "fish" else flag
                    self.assertIn(name, script, shell)

    def test_a_shell_that_is_none_is_refused(self):
        done = subprocess.run([PROGRAM, "completion", "csh"], capture_output=True, text=True)
        self.assertEqual(done.returncode, 2)
        self.assertIn("csh", done.stderr)
        self.assertEqual(subprocess.run([PROGRAM, "completion"], stderr=-3).returncode, 2)


del Shell
if __name__ == "__main__":
    unittest.main()
