"""What a run found."""

from __future__ import annotations

import functools
import json
import re
from typing import Any, Dict, NamedTuple, Optional, Tuple


class OptionCount(NamedTuple):
    """Checks of cases that have an option, a type or a size."""

    checks: int
    failed: int


class Failure:
    """A law that a function breaks, with the smallest case found."""

    def __init__(self, found: Dict[str, Any]) -> None:
        self._found = found
        #: "decode", "prefill" or "kv_write".
        self.function: str = found["backend"].rpartition(" ")[2]
        #: The law's name; "oracle" is the comparison with the expected result.
        self.law: str = found["law"]
        #: "wrong numbers", "raised ValueError", "SIGSEGV", "time-out", ...
        self.kind: str = found["kind"].replace("status: ", "", 1)
        #: The case's file, for `recto.replay`; None if it could not be written.
        self.file: Optional[str] = found["file"]
        #: The case, the first and the worst wrong element, and how to replay it.
        self.text = _with_argument_names(found["text"], self.function)
        #: What `recto.replay` says about it, if it was asked.
        self.explanation: str = ""

    @functools.cached_property
    def case(self) -> Dict[str, Any]:
        """The shrunk case, as its file has it: a later run may write another one there."""
        if self.file is None:
            raise FileNotFoundError("the case could not be saved")
        with open(self.file, encoding="utf-8") as file:
            found: Dict[str, Any] = json.load(file)
        return found

    def to_dict(self) -> Dict[str, Any]:
        """As in `Report.to_json`."""
        said = {"text": self.text, "explanation": self.explanation}
        return {**self._found, **{name: text for name, text in said.items() if text}}

    @property
    def size(self) -> int:
        """Tokens and rows of the case, for comparison with others."""
        return sum(each["num_rows"] + each["context_length"]
                   for each in self.case["case"]["sequences"])

    @property
    def _order(self) -> Tuple[Any, ...]:
        """Smallest first: cases that must precede it, size, then the oracle's, which names the
        wrong element, numbers of a token, options. Last is a law with contexts of its own."""
        if self.file is None:
            return (2,)
        found = self.case
        case, shape = found["case"], found["case"]["shape"]
        numbers = (shape["num_q_heads"] + shape["num_kv_heads"]) * (
            shape["head_dim_k"] + shape["head_dim_v"])
        options = sum(value not in (None, "none", 0) for value in case["options"].values())
        has_own_contexts = self.law == "engine_tables"
        return (has_own_contexts, len(found.get("after", ())), self.size, self.law != "oracle",
                numbers, options)

    def __str__(self) -> str:
        return self.text + (f"\n{self.explanation}" if self.explanation else "")

    def __repr__(self) -> str:
        return f"Failure({self.function!r}, {self.law!r}, {self.kind!r})"


def _with_argument_names(text: str, function: str) -> str:
    """With Python's names of arrays, in place of those of the fields of recto_kernel.h."""
    named = r"\1 new_\2" if function == "kv_write" else r"\1 \2_cache"
    text = re.sub(r"\b(of|before) ([kv])(?=, which)", named, text)
    return re.sub(r"\b(of|before) ([kv])(?:_cache)?\.scale\b", r"\1 \2_scale", text)


class CaseFailed(AssertionError):
    """Raised by `Report.raise_for_failures`."""

    def __init__(self, message: str, report: "Optional[Report]" = None) -> None:
        super().__init__(message)
        #: None if an earlier case failed again.
        self.report = report


class Report:
    """What `recto.verify` found."""

    def __init__(self, found: Dict[str, Any], message: str) -> None:
        self._found = found
        #: Why the run failed, in a line; empty if it did not.
        self.message = message
        #: Those that are shown and kept, the smallest case first.
        self.failures = sorted(map(Failure, found["failures"]), key=lambda each: each._order)
        self.cases: int = found["cases"]
        self.seed: int = found["seed"]

    @property
    def passed(self) -> bool:
        """Whether nothing failed, and each function was called on some case."""
        return not self.message

    @property
    def checks(self) -> int:
        """Laws checked, over all cases."""
        return sum(count["cases"] for count in self._found["counts"])

    @property
    def failed(self) -> int:
        """Checks that failed, among those."""
        return int(self._found["failed"])

    @property
    def skips(self) -> Dict[str, int]:
        """Reason -> checks that were skipped for it, and cases that were passed over because the
        function refused them as they were drawn."""
        reasons: Dict[str, int] = dict(self._found["passed_over"])
        for count in self._found["counts"]:
            for reason, times in count["skipped"].items():
                reasons[reason] = reasons.get(reason, 0) + times
        return reasons

    def by_option(self) -> Dict[str, OptionCount]:
        """Checks by option, types, layout and sizes of their cases: what they failed on shows where
        a fault lies."""
        counts = self._found["by_feature"]
        return {name: OptionCount(each["checks"], each["failed"]) for name, each in counts.items()}

    def minimize(self) -> Optional[Failure]:
        """The failure with the smallest case: all are shrunk already. None without one."""
        return self.failures[0] if self.failures else None

    def raise_for_failures(self) -> None:
        """CaseFailed, an AssertionError, unless the run passed."""
        __tracebackhide__ = True
        if self.passed:
            return
        text = "\n\n".join([self.message, *map(str, self.failures[:3])])
        raise CaseFailed(text, self)

    def to_json(self) -> str:
        """Everything, as `recto verify --json` prints it, with the failures in this report's order
        and, where it was asked for, the explanation."""
        return json.dumps({**self._found, "failures": [each.to_dict() for each in self.failures]},
                          indent=1)

    def __str__(self) -> str:
        rows = [("function", "law", "cases", "failed", "error / bound")]
        for count in self._found["counts"]:
            if count["cases"] == 0:
                continue
            worst = count["worst_error_to_bound"]
            rows.append((
                count["backend"].rpartition(" ")[2], count["law"], str(count["cases"]),
                str(count["failed"]), worst if isinstance(worst, str) else f"{worst:.3g}",
            ))
        lines = [f"{self.cases} cases, seed {self.seed}: {self.message or 'nothing failed'}", ""]
        widths = [max(map(len, column)) for column in zip(*rows)]
        for row in rows:
            cells = [
                cell.ljust(width) if i < 2 else cell.rjust(width)
                for i, (cell, width) in enumerate(zip(row, widths))
            ]
            lines.append("  ".join(cells).rstrip())
        skips = sorted(self.skips.items(), key=lambda each: -each[1])
        if skips:
            lines += ["", "skipped"] + [f"  {times} x {reason}" for reason, times in skips[:6]]
        if self._found["replaced"]:
            lines += ["", "overwritten, with another case of an earlier run in it"]
            lines += [f"  {file}" for file in self._found["replaced"]]
        return "\n".join(lines + [""] + [f"{failure}\n" for failure in self.failures])

    def __repr__(self) -> str:
        return f"<recto.Report: {self.cases} cases, {self.checks} checks, {self.failed} failed>"


class Replayed:
    """What `recto.replay` found."""

    def __init__(self, text: str, message: str) -> None:
        #: Which element is wrong, at which step, and which known faults would give exactly that.
        self.text = text
        #: Empty if the case holds now.
        self.message = message

    @property
    def passed(self) -> bool:
        return not self.message

    @property
    def skipped(self) -> bool:
        """Whether the function refuses the case, or filters leave it out: it does not pass."""
        return self.message.endswith("skipped by every backend")

    def raise_for_failures(self) -> None:
        """AssertionError unless the case holds."""
        __tracebackhide__ = True
        if not self.passed:
            raise AssertionError(f"{self.message}\n{self.text}")

    def __str__(self) -> str:
        return self.text + self.message
