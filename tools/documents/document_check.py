"""One document: each of its commands is run, checked without running it, or skipped with a
reason."""

import shutil
import subprocess
import time
from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path

from bazel_commands import BazelCommands
from command_blocks import OTHER_LANGUAGES, Command, Place
from listed_commands import EntryList
from machine import Machine
from shell_words import (
    program_of,
    simple_commands,
    split_at_and,
    tokens_of,
    without_prefixes,
)
from workplace import Done, Workplace

BAZEL = "./bazelw"
# What a block may call. Whoever adds one documents in documents/README.md how it is checked.
SHELL_PROGRAMS = {"alias", "c++", "cat", "cc", "cp", "export", "man", "python3", "seq", "source"}
_NO_SUCH_FLAG = "--no-such-flag-of-any-command"
_NO_COMMANDS = f"a block without commands names one of {', '.join(sorted(OTHER_LANGUAGES))}"
_BUILTINS = {"alias", "export", "source", "time"}


def is_program(statement: str) -> bool:
    program = program_of(statement)
    return (
        program in SHELL_PROGRAMS | {"recto", BAZEL}
        or program.startswith(("bazel-bin/", "tools/"))
    )


@dataclass
class Lists:
    presupposed: EntryList
    slow: EntryList
    not_run: EntryList
    runs_slow: bool = False


@dataclass
class Tally:
    counts: Counter = field(default_factory=Counter)
    errors: list[str] = field(default_factory=list)
    remarks: list[str] = field(default_factory=list)  # what is skipped or put off, and why
    put_off: int = 0  # commands that are checked here, and run by RECTO_FULL=1 or on other machines
    seconds: list[tuple[float, str]] = field(default_factory=list)


class DocumentCheck:
    def __init__(self, program: Path, bazel: BazelCommands, lists: Lists, tally: Tally,
                 machine: Machine = Machine()):
        self._program = program
        self._machine = machine
        self._bazel = bazel
        self._lists = lists
        self._tally = tally

    def check(self, document: str, commands: list[Command], workplace: Workplace) -> None:
        """`workplace` is like a checkout, and is left that way."""
        self._place = workplace
        text = "\n".join(command.text for command in commands)
        self._wanted = [e for e in self._lists.presupposed.of(document) if e.subject in text]
        for entry in self._wanted:
            entry.is_used = True
        ran_before = self._tally.counts["run"]
        for command in commands:
            for part in split_at_and(command.text):
                self._check_part(command, part)
        if self._tally.counts["run"] > ran_before:
            for file in workplace.restore():
                message = f"{document}: its commands write {file} anew, and not as it stands there"
                self._tally.errors.append(message)

    def _check_part(self, command: Command, part: str) -> None:
        try:
            tokens_of(part)
        except ValueError as error:
            return self._fail(command, part, f"no shell can read it: {error}")
        skipped = self._lists.not_run.find(command.document, part)
        if skipped:
            self._tally.remarks.append(f"{command.where}: {part}: {skipped.text}")
            return self._count("skipped")
        unknown = [
            words[0]
            for words in map(without_prefixes, simple_commands(part))
            if words and not is_program(words[0])
        ]
        if unknown:
            message = f"{unknown[0]}: of no class in tools/documents/README.md; {_NO_COMMANDS}"
            return self._fail(command, part, message)
        if program_of(part) == BAZEL and not self._is_script(command, part):
            self._check_bazel(command, part)
        elif program_of(part).startswith("bazel-bin/"):
            self._conclude(command, part, self._bazel.program_error(program_of(part)))
        elif command.place is Place.TEXT:
            self._conclude(command, part, self._recto_error(part))
        else:
            self._run_or_check(command, part)

    def _is_script(self, command: Command, part: str) -> bool:
        """A Python program of ours, by name, that runs without Bazel."""
        words = without_prefixes(simple_commands(part)[0])
        is_file = words[1:2] == ["python"] and words[2:3] and words[2].endswith(".py")
        return bool(is_file) and command.place is not Place.TEXT

    def _check_bazel(self, command: Command, part: str) -> None:
        arguments = self._bazel.runs_recto(part)
        error = self._bazel.error(part)
        if error is None and arguments:
            error = self._recto_error("recto " + " ".join(arguments))
        self._conclude(command, part, error)

    def _run_or_check(self, command: Command, part: str) -> None:
        slow = self._lists.slow.find(command.document, part)
        missing = [
            word
            for words in simple_commands(part)
            for word in {_first_program(words), *without_prefixes(words)[:1]}
            if word not in _BUILTINS | {"recto"}
            and ("/" not in word or word.startswith("/"))
            and shutil.which(word) is None
        ]
        if missing:
            self._tally.remarks.append(f"{command.where}: {part}: there is no {missing[0]} here")
            return self._count("skipped")
        why_not = slow.text if slow and not self._lists.runs_slow else self._machine.lacks(part)
        if why_not:
            self._tally.remarks.append(f"{command.where}: {part}: not run: {why_not}")
            self._tally.put_off += 1
            if program_of(part) == BAZEL:
                return self._check_bazel(command, part)
            return self._conclude(command, part, self._recto_error(part))
        error = self._presuppose()
        if error:
            return self._fail(command, part, error)
        began = time.monotonic()
        done = self._place.run(part)
        self._tally.seconds.append((time.monotonic() - began, f"{command.where}: {part}"))
        self._count("run")
        self._judge(command, part, done)

    def _judge(self, command: Command, part: str, done: Done) -> None:
        if done.exit_code != command.exit_code:
            message = f"exit code {done.exit_code}, expected {command.exit_code}{done.shown()}"
            self._fail(command, part, message)
        elif command.place is Place.PRINTED:
            difference = _difference(command, done.out.rstrip("\n").split("\n"))
            if difference:
                self._fail(command, part, difference)

    def _recto_error(self, part: str) -> str | None:
        """Has recto itself parse each call of it, stopped by one flag too many."""
        for words in map(without_prefixes, simple_commands(part)):
            if words[0] != "recto":
                continue
            error = self._parse_error(words)
            if error:
                return error
        return None

    def _parse_error(self, words: list[str]) -> str | None:
        # Twice: a flag without its value would take the first for it, and the command would run.
        done = self._parse([*words[1:], _NO_SUCH_FLAG, _NO_SUCH_FLAG])
        if done.stderr.startswith(f"recto: {_NO_SUCH_FLAG}: no such flag"):
            return None
        # A command or its flags are named but not called, or help is requested.
        named = [word for word in words[2:] if word not in ("--help", "--version")]
        if not all(word.startswith("--") for word in named):
            return done.stderr.strip()
        shown = self._parse(words[1:] if words[1:2] == ["--version"] else [*words[1:2], "--help"])
        missing = [flag for flag in named if f"  {flag} " not in shown.stdout]
        if shown.returncode != 0 or missing:
            return shown.stderr.strip() or f"{missing[0]}: stands not in the help"
        return None

    def _parse(self, arguments: list[str]) -> subprocess.CompletedProcess:
        """For command lines that end before they do anything."""
        return subprocess.run([self._program, *arguments], capture_output=True, text=True)

    def _presuppose(self) -> str | None:
        """Makes what the document presupposes, before the first command runs."""
        while self._wanted:
            entry = self._wanted.pop(0)
            error = self._place.make(entry.subject, entry.text)
            if error:
                return f"{entry.where}: {error}"
        return None

    def _conclude(self, command: Command, part: str, error: str | None) -> None:
        self._count("checked")
        if error:
            self._fail(command, part, error)

    def _count(self, what: str) -> None:
        self._tally.counts[what] += 1

    def _fail(self, command: Command, part: str, message: str) -> None:
        self._tally.errors.append(f"{command.where}: {part}\n    {message}")


def _first_program(words: list[str]) -> str:
    """As written, so that for a timed command it is the timer."""
    return next(word for word in words if "=" not in word)


def _difference(command: Command, printed: list[str]) -> str | None:
    """The first line of the document that is not printed where it should be."""
    printed = [line.rstrip() for line in printed]
    said = [line.rstrip() for line in command.printed]
    if command.is_part:
        left = iter(printed)
        missing = next((line for line in said if line not in left), None)
        return None if missing is None else f"does not print, in this order: {missing!r}"
    for number, (line, shown) in enumerate(zip(said, printed)):
        if line != shown:
            return f"line {number + 1} of the block is {line!r}; printed is {shown!r}"
    if len(said) != len(printed):
        return f"the block has {len(said)} lines; printed are {len(printed)}"
    return None
