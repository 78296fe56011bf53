"""One document: each of its commands is run, checked without running it, or skipped with a
reason."""

import shutil
import subprocess
import time
from collections import Counter
from dataclasses import dataclass
from pathlib import Path

from bazel_commands import BazelCommands
from command_blocks import OTHER_LANGUAGES, Command, Place
from shell_words import calls_of, program_of, simple_commands
from workplace import Machine, Workplace, end_of

BAZEL = "./bazelw"
# Programs that a block may call. If you add one, document its check in documents/README.md.
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


class BadList(Exception):
    """A line of a list that cannot be read, with its file and number."""


@dataclass
class Entry:
    """A line of presupposed.txt, slow.txt or not_run.txt: `document | subject | text`."""

    where: str
    document: str
    subject: str  # a file, or a command, or its beginning and *
    text: str  # why, or how it is made
    is_used: bool = False

    def use(self, document: str, command: str) -> bool:
        """Whether the entry applies to this command; if so, marks it as used."""
        begins = self.subject.endswith("*") and command.startswith(self.subject[:-1])
        fits = document == self.document and (begins or command == self.subject)
        self.is_used |= fits
        return fits


def read_list(path: Path) -> list[Entry]:
    entries = []
    for number, line in enumerate(path.read_text().splitlines(), 1):
        if line.strip() and not line.startswith("#"):
            parts = [part.strip() for part in line.split(" | ")]
            if len(parts) != 3 or not all(parts):
                raise BadList(f"{path.name}:{number}: expected DOCUMENT | WHAT | TEXT")
            entries.append(Entry(f"{path.name}:{number}", *parts))
    return entries


@dataclass
class Lists:
    presupposed: list[Entry]
    slow: list[Entry]
    not_run: list[Entry]
    runs_slow: bool = False

    def unused(self) -> list[str]:
        left = [each for each in self.presupposed + self.slow + self.not_run if not each.is_used]
        return [f"{each.where}: {each.document}: {each.subject}: is no longer in the document"
                for each in left]


class DocumentCheck:
    def __init__(self, bazel: BazelCommands, lists: Lists, machine: Machine):
        self._bazel = bazel
        self._lists = lists
        self._machine = machine
        self.counts: Counter = Counter()  # of commands that are run, checked, put off or skipped
        self.errors: list[str] = []
        self.remarks: list[str] = []  # what is skipped or put off, and why
        self.seconds: list[tuple[float, str]] = []

    def check(self, document: str, commands: list[Command], workplace: Workplace) -> None:
        """`workplace` is like a checkout, and is restored."""
        self._place = workplace
        text = "\n".join(command.text for command in commands)
        self._wanted = [each for each in self._lists.presupposed
                        if each.document == document and each.subject in text]
        for entry in self._wanted:
            entry.is_used = True
        ran_before = self.counts["run"]
        for command in commands:
            self._check(command)
        if self.counts["run"] > ran_before:
            for file in workplace.restore():
                message = f"{document}: its commands write {file} with other content"
                self.errors.append(message)

    def _check(self, command: Command) -> None:
        try:
            calls = calls_of(command.text)
        except ValueError as error:
            return self._fail(command, f"not valid shell: {error}")
        if entry := _find(self._lists.not_run, command):
            return self._skip(command, entry.text)
        unknown = [words[0] for words in calls if not is_program(words[0])]
        if unknown:
            return self._fail(command, f"{unknown[0]}: has no class in tools/documents/README.md; "
                              f"{_NO_COMMANDS}")
        program, is_text = calls[0][0], command.place is Place.TEXT
        is_script = calls[0][1:2] == ["python"] and calls[0][2:3] and calls[0][2].endswith(".py")
        if program == BAZEL and (is_text or not is_script):
            self._conclude(command, self._bazel_error(calls[0]))
        elif program.startswith("bazel-bin/"):
            label = "//%s:%s" % tuple(program.removeprefix("bazel-bin/").rsplit("/", 1))
            self._conclude(command, self._bazel.target_error("run", label))
        elif is_text:
            self._conclude(command, self._recto_error(calls))
        else:
            self._run_or_check(command, calls)

    def _run_or_check(self, command: Command, calls: list[list[str]]) -> None:
        slow = _find(self._lists.slow, command)
        timers = [words[0] for words in simple_commands(command.text) if words[0] not in _BUILTINS]
        for program in (*timers, *(words[0] for words in calls)):
            is_of_machine = "/" not in program or program.startswith("/")
            is_ours = program in _BUILTINS | {"recto"} or "=" in program
            if is_of_machine and not is_ours and shutil.which(program) is None:
                return self._skip(command, f"there is no {program} here")
        why_not = self._machine.lacks(command.text)
        if slow and not self._lists.runs_slow:
            why_not = slow.text
        if why_not:
            self.remarks.append(f"{command.where}: {command.text}: not run: {why_not}")
            self.counts["put off"] += 1
            is_bazel = calls[0][0] == BAZEL
            error = self._bazel_error(calls[0]) if is_bazel else self._recto_error(calls)
            return self._conclude(command, error)
        if error := self._presuppose():
            return self._fail(command, error)
        began = time.monotonic()
        done = self._place.run(command.text)
        self.seconds.append((time.monotonic() - began, f"{command.where}: {command.text}"))
        self.counts["run"] += 1
        if done.returncode != command.exit_code:
            expected = f"exit code {done.returncode}, expected {command.exit_code}"
            self._fail(command, expected + end_of(done))
        elif command.place is Place.PRINTED:
            if difference := _difference(command, done.stdout.rstrip("\n").split("\n")):
                self._fail(command, difference)

    def _bazel_error(self, words: list[str]) -> str | None:
        error = self._bazel.error(words)
        if error is None and words[1] == "run" and "--" in words:
            if {"//experiments:recto", "//experiments:recto_kernels"} & set(words):
                return self._recto_error([["recto", *words[words.index("--") + 1 :]]])
        return error

    def _recto_error(self, calls: list[list[str]]) -> str | None:
        """Lets recto parse each of its calls; an unknown flag stops it before it runs."""
        errors = (self._parse_error(words) for words in calls if words[0] == "recto")
        return next(filter(None, errors), None)

    def _parse_error(self, words: list[str]) -> str | None:
        # Twice: a flag without its value would take the first one, and the command would run.
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
            return shown.stderr.strip() or f"{missing[0]}: is not in the help"
        return None

    def _parse(self, arguments: list[str]) -> subprocess.CompletedProcess:
        """Runs command lines that end before they have an effect."""
        return subprocess.run([self._machine.recto, *arguments], capture_output=True, text=True)

    def _presuppose(self) -> str | None:
        """Makes the files that the document presupposes, before the first command runs."""
        while self._wanted:
            entry = self._wanted.pop(0)
            if error := self._place.make(entry.subject, entry.text):
                return f"{entry.where}: {error}"
        return None

    def _conclude(self, command: Command, error: str | None) -> None:
        self.counts["checked"] += 1
        if error:
            self._fail(command, error)

    def _skip(self, command: Command, why: str) -> None:
        self.remarks.append(f"{command.where}: {command.text}: {why}")
        self.counts["skipped"] += 1

    def _fail(self, command: Command, message: str) -> None:
        self.errors.append(f"{command.where}: {command.text}\n    {message}")


def _find(entries: list[Entry], command: Command) -> Entry | None:
    return next((each for each in entries if each.use(command.document, command.text)), None)


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
