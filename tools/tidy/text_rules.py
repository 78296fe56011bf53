"""Text: what bans.ini and words.txt ban, names of files, white space."""

from __future__ import annotations

import configparser
import re
from pathlib import Path
from typing import Callable, Iterator, Mapping

from rules import RULES, Finding, Rule, found, rule
from tree import CODE, TEXT, Tree

WORDS = "tools/tidy/words.txt"
_LARGEST_SEARCHED_BYTES = 1 << 20
_SNAKE_CASE = re.compile(r"\.?_{0,2}[a-z][a-z0-9_]*(\.[a-z0-9_]+)*")
_DOCUMENT_NAME = re.compile(r"[A-Z]+\.md|([0-9]{4}[-_])?[a-z0-9_]+\.md")
_BAZEL_NAMES = {"BUILD", "BUILD.bazel", "WORKSPACE", "MODULE.bazel"}
_OUR_CPP = (".h", ".cc", ".cu", ".cuh")


def _ban(fields: Mapping[str, str]) -> Callable[[Tree], Iterator[Finding]]:
    pattern = re.compile(fields["pattern"], re.VERBOSE | re.MULTILINE)
    words, kinds = fields["words"].split(", "), fields.get("kinds", "").split()
    within = tuple(fields.get("within", "").split()) or ""
    without = tuple(fields.get("without", "").split())

    def find(tree: Tree) -> Iterator[Finding]:
        for file in tree.values():
            is_kind = not kinds or file.kind in kinds or (file.is_header and "header" in kinds)
            is_spared = file.is_test and fields.get("tests") == "spared"
            is_here = file.path.startswith(within) and not file.path.startswith(without)
            if is_kind and is_here and not is_spared and len(file.data) < _LARGEST_SEARCHED_BYTES:
                if any(word in file.lower_text for word in words):
                    text = file.text if fields.get("search") == "text" else file.code
                    for match in pattern.finditer(text):
                        yield found(file, match.start(), f"`{match.group().strip()}`")

    return find


_bans = configparser.ConfigParser(interpolation=None)
_bans.read(Path(__file__).with_name("bans.ini"), "utf-8")
for _name in _bans.sections():
    RULES[_name] = Rule(_ban(_bans[_name]), _bans[_name]["instead"], "exceptions" in _bans[_name])


@rule(f"{WORDS} lists the words", spares_files=True)
def retired_word(tree: Tree) -> Iterator[Finding]:
    """The patterns are matched to lower case; parts of camelCase and snake_case are words, too."""
    for number, fields in tree.rows(WORDS, 3):
        if not all(fields):
            yield Finding(WORDS, number, "expected: word | instead | why")
            continue
        pattern = re.compile(fields[0])
        for file in tree.of(*TEXT, "notebook"):
            for match in pattern.finditer(file.lower_text) if file.path != WORDS else ():
                begin, end = match.span()
                text, word = file.text, file.text[begin:end]
                is_begin = not text[begin - 1 : begin].isalpha() or word[0].isupper()
                if is_begin and not text[end : end + 1].islower():
                    yield found(file, begin, f"`{word}` is {fields[1]} here: {fields[2]}")


@rule("spaces, LF alone, and one LF at the end")
def white_space(tree: Tree) -> Iterator[Finding]:
    for file in tree.of(*TEXT):
        for number, line in enumerate(file.lines, 1):
            if line != line.rstrip() or "\t" in line:
                yield Finding(file.path, number, "a tab, or white space at the end")
        if file.text and not file.text.endswith("\n"):
            yield Finding(file.path, len(file.lines), "no newline at the end")


@rule("lower case, digits and underscores", spares_files=True)
def file_name(tree: Tree) -> Iterator[Finding]:
    for file in tree.of(*CODE, "markdown"):
        is_right = all(_SNAKE_CASE.fullmatch(part) for part in file.path.split("/"))
        if file.kind == "markdown":
            is_right = bool(_DOCUMENT_NAME.fullmatch(file.name))
        if not is_right and file.name not in _BAZEL_NAMES:
            yield Finding(file.path, 1, "not in snake_case")
        if file.kind == "c++" and file.suffix not in _OUR_CPP:
            yield Finding(file.path, 1, f"{file.suffix} is none of {', '.join(_OUR_CPP)}")


@rule("a header begins with it", spares_files=True)
def pragma_once(tree: Tree) -> Iterator[Finding]:
    for file in tree.of("c++"):
        if file.is_header and not re.search(r"(?m)^#pragma once$", file.code):
            yield Finding(file.path, 1, "no #pragma once")
