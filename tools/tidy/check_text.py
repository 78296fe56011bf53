"""Rules for any text: white space, and that the project only speaks about itself."""

import re
from typing import Iterator

from cpp_text import line_at
from project import Project
from rule import Finding, Rule
from source_tree import CODE_KINDS, Kind

_WRITTEN_BY_US = (*CODE_KINDS, Kind.CONFIG, Kind.MARKDOWN)
_LARGEST_SEARCHED_BYTES = 1 << 20

# Written in pieces, so that this file does not break its own rule.
_PLACES = ("/wo" "rk/", "/ro" "ot/", "/ho" "me/", "/Us" "ers/", "C:\\Us" "ers")
_REGISTRIES = ("pypi" ".org", "deb" ".debian.org", "registry" ".npmjs", "bcr" ".bazel.build")
_NARRATION = ("this " "session", "sub" "agent", "as an " "ai")

# Each with the pattern that rules out longer words; the plain text is searched first, which is much
# faster.
_ENVIRONMENT = {
    **{place: re.compile(r"(?<![\w.])" + re.escape(place)) for place in _PLACES},
    **{word: re.compile(rf"\b{re.escape(word)}s?\b", re.I) for word in _REGISTRIES + _NARRATION},
}


def find_environment_words(project: Project) -> Iterator[Finding]:
    for file in project.tree:
        if len(file.data) > _LARGEST_SEARCHED_BYTES or b"\0" in file.data:
            continue
        lower_case = file.text.lower()
        for word, pattern in _ENVIRONMENT.items():
            matches = pattern.finditer(file.text) if word.lower() in lower_case else ()
            for match in matches:
                yield Finding(
                    file.path,
                    line_at(file.text, match.start()),
                    f"`{match.group()}` speaks of the place where this was written",
                    "the project speaks of itself alone: use relative paths and its own words",
                )


def find_bad_white_space(project: Project) -> Iterator[Finding]:
    for file in project.tree.of_kind(*_WRITTEN_BY_US):
        for number, line in enumerate(file.lines, 1):
            if "\t" in line:
                yield Finding(file.path, number, "a tab", "spaces")
            if line.endswith("\r"):
                yield Finding(file.path, number, "CRLF", "LF alone ends a line")
            elif line != line.rstrip():
                yield Finding(file.path, number, "trailing white space", "remove it")
        if file.data and not file.data.endswith(b"\n"):
            message = "no newline at the end"
            yield Finding(file.path, file.line_count, message, "end the last line")


RULES = (
    Rule("environment", find_environment_words),
    Rule("white-space", find_bad_white_space),
)
