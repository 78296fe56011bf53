"""Words and calls that are banned, each with what to write instead."""

import re
from dataclasses import dataclass
from typing import Callable, Iterator

from cpp_text import line_at
from project import Project
from rule import Finding, Rule
from source_tree import CODE_KINDS, Kind, SourceFile


@dataclass(frozen=True)
class Ban:
    rule_id: str
    pattern: re.Pattern
    remedy: str
    applies: Callable[[Project, SourceFile], bool]
    takes_exceptions: bool = False
    reads_strings: bool = False  # in C++; elsewhere strings are always read

    def find(self, project: Project) -> Iterator[Finding]:
        for file in project.tree:
            if self.applies(project, file):
                text = self._searched_text(project, file)
                for match in self.pattern.finditer(text):
                    line = line_at(text, match.start())
                    yield Finding(file.path, line, f"`{match.group().strip()}`", self.remedy)

    def _searched_text(self, project: Project, file: SourceFile) -> str:
        """The text without comments; outside C++, only whole-line comments are removed."""
        if file.kind is Kind.CPP:
            masked = project.masked(file)
            return masked.without_comments if self.reads_strings else masked.code
        return re.sub(r"(?m)^[ \t]*#.*$", "", file.text)


def _is_cpp(project: Project, file: SourceFile) -> bool:
    return file.kind is Kind.CPP


def _is_identifier_text(project: Project, file: SourceFile) -> bool:
    # The rules themselves must name what they ban.
    return file.kind in (Kind.CPP, Kind.PYTHON, Kind.BUILD) and file.top != "tools"


def _is_header(project: Project, file: SourceFile) -> bool:
    return file.is_header


def _takes_time_as_parameter(project: Project, file: SourceFile) -> bool:
    folders = ("core", "sim", "reference")
    return _is_cpp(project, file) and file.top in folders and not project.is_test(file)


def _ships_in_sim(project: Project, file: SourceFile) -> bool:
    return _is_cpp(project, file) and file.top == "sim" and not project.is_test(file)


def _may_not_throw(project: Project, file: SourceFile) -> bool:
    is_contract = file.path in ("core/contract.h", "core/contract.cc")
    return _is_cpp(project, file) and not is_contract and not project.is_test(file)


def _may_not_see_nlohmann(project: Project, file: SourceFile) -> bool:
    return _is_cpp(project, file) and file.path != "core/json.cc"


def _may_not_be_fast(project: Project, file: SourceFile) -> bool:
    is_build_or_code = file.kind in (Kind.BUILD, Kind.CPP) or file.name.endswith("bazelrc")
    return is_build_or_code and not file.path.startswith("cuda/kernels/")


# Functions that IEEE 754 does not specify exactly, so that results differ between libms in the last
# digits.
_INEXACT = (
    r"(?:exp|exp2|expm1|log|log2|log10|log1p|pow|cbrt|hypot|sinh?|cosh?|tanh?|asinh?|acosh?"
    r"|atanh?|atan2|erfc?|tgamma|lgamma)[fl]?"
)

BANS = (
    Ban(
        "banned-random",
        re.compile(
            r"(?<![\w.>:])(?:std\s*::\s*|::)?s?rand\s*\(|\bstd\s*::\s*(?:random_device"
            r"|mt19937\w*|minstd_rand0?|ranlux\w+|default_random_engine|\w+_distribution"
            r"|shuffle|sample)\b"
        ),
        "results must not vary by library: core/random_stream.h, sim/workloads/distributions.h",
        _is_cpp,
    ),
    Ban(
        "banned-clock",
        re.compile(
            r"\b(?:system_clock|steady_clock|high_resolution_clock|gettimeofday|clock_gettime)\b"
            r"|(?<![\w.>])time\s*\(\s*(?:nullptr|NULL|0)\s*\)"
        ),
        "time is a parameter",
        _takes_time_as_parameter,
    ),
    Ban(
        "header-using",
        re.compile(r"\busing\s+namespace\b[^;\n]*"),
        "name what you use: an include must not change its reader's scope",
        _is_header,
    ),
    Ban(
        "bare-assert",
        re.compile(r"(?<![\w.>:])assert\s*\("),
        "RECTO_CHECK_* of core/contract.h is always on and prints both operands",
        _is_cpp,
    ),
    Ban(
        "include-guard",
        re.compile(r"^[ \t]*#[ \t]*ifndef[ \t]+\w+_H(?:PP|H)?_*[ \t]*$", re.MULTILINE),
        "#pragma once",
        _is_header,
    ),
    Ban(
        "lse-base",
        re.compile(r"(?<![A-Za-z0-9])lse(?!_ln|_log2)(?=_|\b)\w*|Lse(?!Ln|Log2|[a-z])\w*"),
        "lse_ln or lse_log2: the base is part of the name",
        _is_identifier_text,
    ),
    Ban(
        "page-table",
        re.compile(r"[pP]age_?[tT]ables?(?![a-z])\w*"),
        "block table is our word",
        _is_identifier_text,
    ),
    Ban(
        "exception",
        re.compile(r"\bthrow\b|\bcatch\s*\("),
        "return a Status for bad input, RECTO_CHECK_* for a defect",
        _may_not_throw,
        takes_exceptions=True,
    ),
    Ban(
        "json-library",
        re.compile(r"\bnlohmann\b|\bNLOHMANN_\w+"),
        "it takes seconds in each file that includes it: core/json.h",
        _may_not_see_nlohmann,
    ),
    Ban(
        "fast-math",
        re.compile(r"-ffast-math|\bfast-math\b|-Ofast|-funsafe-math-\w+|use_fast_math"),
        "only cuda/kernels may trade exactness for speed",
        _may_not_be_fast,
        reads_strings=True,  # #pragma GCC optimize("...")
    ),
    Ban(
        "portable-math",
        re.compile(
            rf"\bstd\s*::\s*{_INEXACT}\b(?!\s*::)"
            # Without std:: it may be ours, or its declaration, after a type.
            rf"|(?<![\w.>:&*~])(?:(?<=return )|(?<!\w )){_INEXACT}\s*\("
        ),
        "its last digits vary by libm: sim/workloads/portable_math.h",
        _ships_in_sim,
        takes_exceptions=True,
    ),
)


_UNFINISHED = re.compile(r"\b(?:TO" r"DO|FIX" r"ME|XX" r"X|HA" r"CK)\b")


def find_unfinished(project: Project) -> Iterator[Finding]:
    """In comments too: that is where they live."""
    for file in project.tree.of_kind(*CODE_KINDS, Kind.CONFIG, Kind.MARKDOWN):
        for match in _UNFINISHED.finditer(file.text):
            line = line_at(file.text, match.start())
            yield Finding(file.path, line, f"`{match.group()}`", "do it now, or open an issue")


RULES = (
    *(Rule(ban.rule_id, ban.find, ban.takes_exceptions) for ban in BANS),
    Rule("unfinished", find_unfinished),
)
