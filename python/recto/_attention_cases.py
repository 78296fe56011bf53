"""Tests for pytest: a parameter for each law and group of cases."""

from __future__ import annotations

import dataclasses
import functools
import json
import re
import shlex
from pathlib import Path
from typing import Any, Callable, Dict, List, Optional, Sequence

from ._errors import UsageError
from ._programs import run
from ._report import CaseFailed, Report
from ._tables import needed
from ._verify import REPLAY_WORDS, replay, verify

MARK = "recto_attention_cases"
#: The parameter of a test with `attention_cases`.
PARAMETER = "cases"
_CASES, _CASES_PER_TEST, _SEED = 40, 20, 2026
# Laws of operations that a function in Python cannot have.
_OF_OTHER_OPERATIONS = ("kv_append", "block_copy", "block_swap", "gather")


def attention_cases(
    *, cases: Optional[int] = None, seed: Optional[int] = None,
    laws: Optional[Sequence[str]] = None, cases_per_test: int = _CASES_PER_TEST, **words: Any,
) -> Callable[[Any], Any]:
    """Decorates a test: pytest runs it once for each law and each group of cases.

    >>> @recto.attention_cases(types=["fp16"], head_dims=[64, 128], cases=40)
    ... def test_my_decode(cases):
    ...     cases.verify(decode=my_decode)

    The test gets `cases`, an `AttentionCases`. Tests are named by law and seed, as in
    `test_my_decode[oracle-seed-2026]`, and `pytest --recto-seed=N --recto-cases=N` choose others.

    Args:
        cases: to draw for each law (40); seed: of the first group (2026), the next ones count up.
        laws: names of laws, "oracle" among them (all).
        cases_per_test: cases of a group: one test.
        words: filters and other arguments of `recto.verify`.
    """
    pytest = needed("pytest", "attention_cases")
    if cases_per_test < 1 or (cases is not None and cases < 1):
        raise UsageError("cases, cases_per_test: expected 1 at least")
    names = [laws] if isinstance(laws, str) else laws

    def groups(cases_given: Optional[int], seed_given: Optional[int]) -> "List[Group]":
        """The tests, with what the command line gives in place of the decorator's."""
        total = cases_given or cases or _CASES
        first = next(each for each in (seed_given, seed, _SEED) if each is not None)
        sizes = [min(cases_per_test, total - begin) for begin in range(0, total, cases_per_test)]
        options = f"--recto-seed={first} --recto-cases={total}"
        seeds = range(first, first + len(sizes))
        return [Group(law, seed, seeds, size, options, words)
                for law in names or known_laws() for seed, size in zip(seeds, sizes)]

    mark: Callable[[Any], Any] = getattr(pytest.mark, MARK).with_args(groups)
    return mark


@dataclasses.dataclass(frozen=True)
class Group:
    """The cases of one test."""

    law: str
    seed: int
    seeds: range  # of all groups of the law
    cases: int
    options: str  # with which pytest makes it again
    words: Dict[str, Any]

    def __str__(self) -> str:
        return f"{self.law}-seed-{self.seed}"


@functools.lru_cache(maxsize=None)
def known_laws() -> Sequence[str]:
    """The names of the laws of functions, and "oracle", the comparison with the expected result."""
    lines = run("recto_kernels", ["verify", "--list"], {})[0].splitlines()
    begin = next(i for i, line in enumerate(lines) if re.match(r"law +says", line)) + 2
    names = [line.split()[0] for line in lines[begin:] if line.strip()]
    return ("oracle", *(name for name in names if name not in ("oracle", *_OF_OTHER_OPERATIONS)))


class AttentionCases:
    """The cases of one test: one law over one group of cases."""

    def __init__(self, group: Group, folder: Path, test: str) -> None:
        self.law, self.seed = group.law, group.seed
        self._group, self._folder, self._test = group, folder, test

    def verify(self, **words: Any) -> Report:
        """Judges functions by this law: first on cases on which the test failed before, then on
        new ones. A test whose law applies to none of the cases is skipped.

        Args are those of `recto.verify`: decode, prefill, kv_write, isolate, ..., and override
        those of the decorator. `fail_fast` is True by default.

        Raises:
            CaseFailed: with the shrunk case, and how to run it again.
        """
        __tracebackhide__ = True
        given = {"fail_fast": True, **self._group.words, **words}
        self._replay_earlier(given)
        try:
            report = verify(laws=[self.law], seed=self.seed, cases=self._group.cases,
                            folder=self._folder / str(self._group), **given)
        except UsageError as error:
            # A law of kv_write has nothing to say about decode.
            if f"laws: found '{self.law}'" in str(error) and self.law in known_laws():
                self._skip("it is about other functions")
            raise
        if report.failures:
            self._raise(str(report.failures[0]), report)
        if report.checks == 0:
            reasons = sorted(report.skips, key=lambda reason: -report.skips[reason])
            self._skip(f"no case of {report.cases}: {'; '.join(reasons[:2]) or report.message}")
        report.raise_for_failures()
        return report

    def _skip(self, reason: str) -> None:
        needed("pytest", "attention_cases").skip(f"{self.law}: {reason}")

    def _replay_earlier(self, given: Dict[str, Any]) -> None:
        """Cases that pass now are deleted; those that the function now refuses, or that filters now
        leave out, are kept and passed over."""
        __tracebackhide__ = True
        names = [f"{self.law}-seed-{seed}" for seed in self._group.seeds]
        functions = {name: given[name] for name in ("decode", "prefill", "kv_write")
                     if given.get(name) is not None}
        words = {name: given[name] for name in (*REPLAY_WORDS, "isolate", "far_pools")
                 if name in given}
        for path in sorted(self._folder.glob(f"{self.law}-seed-*/*.json")):
            # The first group has those of other runs, and none has those of another worker's test.
            owner = path.parent.name if path.parent.name in names else names[0]
            if owner != str(self._group) or _function_of(path) not in functions:
                continue
            again = replay(path, **functions, **words)
            if again.passed:
                path.unlink(missing_ok=True)
            elif not again.skipped:
                self._raise(f"it failed before, and fails again: {path}\n{again.text}", None)

    def _raise(self, text: str, report: Optional[Report]) -> None:
        __tracebackhide__ = True
        raise CaseFailed(
            f"{self.law}, seed {self.seed}\n\n{text}\n"
            f"again      pytest {self._group.options} {shlex.quote(self._test)}\n"
            f"The case is kept in {self._folder}, and runs first the next time.", report
        )

    def __repr__(self) -> str:
        return f"<recto.AttentionCases: {self._group}, {self._group.cases} cases>"


def _function_of(path: Path) -> str:
    """The function that failed on this case."""
    with open(path, encoding="utf-8") as file:
        backend: str = json.load(file)["backend"]
    return backend.rpartition(" ")[2]
