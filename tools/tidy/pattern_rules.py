"""Rules that are a pattern: the sections of rules.ini, and the words of words.txt."""

from __future__ import annotations

import configparser
import re
from fnmatch import fnmatch
from pathlib import Path
from typing import Iterator, Mapping

from tree import CODE, File, Tree

WORDS = "tools/tidy/words.txt"
MEASURED = "experiments/results/"  # has the words of its time
_LARGEST_SEARCHED_BYTES = 1 << 20
_LONGEST_SHOWN = 60  # characters of the matched text

table = configparser.ConfigParser(interpolation=None)
table.read(Path(__file__).with_name("rules.ini"), "utf-8")
SECTIONS: list[tuple[str, Mapping[str, str]]] = [(name, table[name]) for name in table.sections()]


def _is_searched(file: File, fields: Mapping[str, str]) -> bool:
    kinds = fields.get("kinds")
    return (
        (not kinds or file.kind in kinds.split())
        and any(fnmatch(file.path, each) for each in fields.get("within", "*").split())
        and not any(fnmatch(file.path, each) for each in fields.get("without", "").split())
        and not (file.is_test and fields.get("tests") == "spared")
        and len(file.data) < _LARGEST_SEARCHED_BYTES
        and any(word in file.lower_text for word in fields.get("words", "").split(", "))
    )


def find(tree: Tree, fields: Mapping[str, str]) -> Iterator[tuple[str, int, str]]:
    """Path, line and text of each place that breaks a rule."""
    pattern = re.compile(fields["pattern"], re.VERBOSE | re.MULTILINE)
    for file in tree.values():
        if _is_searched(file, fields):
            matches = pattern.finditer(getattr(file, fields["search"]))
            if fields.get("must") == "match":
                if not any(matches):
                    yield file.path, 1, "it is not there"
                continue
            for match in matches:
                shown = match.group().strip().split("\n")[0][:_LONGEST_SHOWN]
                line = 1 if fields["search"] == "path" else file.line_at(match.start())
                yield file.path, line, f"`{shown}`"


def retired_words(tree: Tree) -> Iterator[tuple[str, int, str]]:
    """The patterns are matched to lower case; parts of camelCase and snake_case are words, too."""
    for number, fields in rows(tree, WORDS, 3):
        if not all(fields):
            yield WORDS, number, "expected: word | instead | why"
            continue
        pattern = re.compile(fields[0])
        for file in tree.of(*CODE, "config", "markdown", "notebook"):
            if file.path == WORDS or file.path.startswith(MEASURED):
                continue
            for match in pattern.finditer(file.lower_text):
                begin, end = match.span()
                text, word = file.text, file.text[begin:end]
                before, after = text[begin - 1 : begin], text[end : end + 1]
                begins = word[0].isupper() and (before.islower() or word[1:2].islower())
                ends = after.isupper() and word[-1].islower()
                if (begins or not before.isalpha()) and (ends or not after.isalpha()):
                    message = f"`{word}` is {fields[1]} here: {fields[2]}"
                    yield file.path, file.line_at(begin), message


def rows(tree: Tree, path: str, count: int) -> Iterator[tuple[int, list[str]]]:
    """Line and fields of each row of a table `a | b | c`; missing fields are empty."""
    for number, line in enumerate(tree[path].text.split("\n") if path in tree else (), 1):
        if line and not line.startswith("#"):
            fields = [field.strip() for field in line.split(" | ", count - 1)]
            yield number, fields + [""] * (count - len(fields))
