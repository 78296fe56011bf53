"""STYLE.md and its checks must agree: no rule without a check, no check without a rule."""

import fnmatch
import re
from typing import Callable, Iterable, Iterator

from project import Project
from rule import Finding, Rule
from source_tree import Kind

STYLE = "STYLE.md"
STYLE_LINES = 120

_ROW = re.compile(r"^\|(?P<cells>.*)\|\s*$")
_ENFORCER = re.compile(r"`(tidy|clang-tidy|clang-format|compiler|bazel):([^`]*)`|\b(review)\b")
_RULE_NAMES = "the rules are listed by `tidy.py --rules`"


def style_rule(known_ids: Callable[[], Iterable[str]]) -> Rule:
    """The rule must know all rules, including itself; hence the late call."""
    return Rule("style-map", lambda project: _find(project, set(known_ids())))


def _find(project: Project, known: set[str]) -> Iterator[Finding]:
    style = project.tree.get(STYLE)
    if style is None:
        yield Finding(STYLE, 1, "there is none", "write down each rule with what enforces it")
        return
    if style.line_count > STYLE_LINES:
        message = f"{style.line_count} lines, the limit is {STYLE_LINES}"
        yield Finding(STYLE, 1, message, "a rule is a line")
    named = set()
    for line, row in _rows(style.lines):
        enforcers = _ENFORCER.findall(row.rsplit("|", 1)[-1])
        if not enforcers:
            yield Finding(STYLE, line, "nothing enforces this rule", "name a check, or `review`")
        for enforcer, name, _ in enforcers:
            if enforcer == "tidy":
                named.add(name)
            message = _what_is_wrong(project, known, enforcer, name)
            if message:
                yield Finding(STYLE, line, message, _RULE_NAMES if enforcer == "tidy" else "add it")
    for rule_id in sorted(known - named):
        yield Finding(STYLE, 1, f"no rule here is enforced by tidy:{rule_id}", "say what it holds")


def _rows(lines: list[str]) -> Iterator[tuple[int, str]]:
    """The body rows of all tables: those after the row of dashes."""
    is_body = False
    for number, line in enumerate(lines, 1):
        row = _ROW.match(line)
        if row and is_body:
            yield number, row["cells"]
        else:
            is_body = bool(row and set(row["cells"]) <= set("-:| "))


def _what_is_wrong(project: Project, known: set[str], enforcer: str, name: str) -> str | None:
    if enforcer == "tidy" and name not in known:
        return f"tidy has no rule {name}"
    if enforcer == "clang-tidy" and not _is_enabled(_text(project, ".clang-tidy"), name):
        return f".clang-tidy does not turn {name} on"
    if enforcer == "clang-format" and f"\n{name}:" not in "\n" + _text(project, ".clang-format"):
        return f".clang-format does not set {name}"
    if enforcer in ("compiler", "bazel") and not any(
        name in file.text
        for file in project.tree
        if file.name == ".bazelrc" or (file.top == "bazel" and file.kind is Kind.BUILD)
    ):
        return f"no build file has {name}"
    return None


def _text(project: Project, path: str) -> str:
    file = project.tree.get(path)
    return file.text if file else ""


def _is_enabled(config: str, check: str) -> bool:
    """As clang-tidy reads its list: the last matching pattern decides."""
    checks = re.search(r"(?ms)^Checks:(.*?)(?=^\w|\Z)", config)
    enabled = False
    for pattern in re.findall(r"[^\s,'\">|]+", checks[1] if checks else ""):
        if fnmatch.fnmatchcase(check, pattern.removeprefix("-")):
            enabled = not pattern.startswith("-")
    return enabled
