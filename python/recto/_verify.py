"""verify and replay: runs of the engine."""

from __future__ import annotations

import functools
import json
import os
import re
from typing import Any, Dict, List, Optional, Sequence

from . import _filters, _programs
from ._engine import Answerer, Engine, Function
from ._programs import FilePath
from ._report import Failure, Replayed, Report

_NEAR_RATIO = 300.0  # beyond it, no rounding explains an error
_CASES_AFTER_FAILURE = 20
_TIME_LIMIT_S = 10.0  # of a call, with isolate=True
REPLAY_WORDS = (*_filters.FILTERS, "batch_invariant", "numerics", "time_limit")


def verify(
    *, decode: Optional[Function] = None, prefill: Optional[Function] = None,
    kv_write: Optional[Function] = None, cases: Optional[int] = None,
    seconds: Optional[float] = None, seed: Optional[int] = None,
    laws: Optional[Sequence[str]] = None, bound: Optional[str] = None,
    failures: Optional[int] = None, fail_fast: Optional[bool] = None,
    folder: Optional[FilePath] = None,
    batch_invariant: bool = False, numerics: Optional[_filters.Numerics] = None,
    isolate: bool = False, time_limit: Optional[float] = None, far_pools: bool = False,
    explain: bool = True, **filters: Any,
) -> Report:
    """Draws cases, calls the functions, and judges what they return by the oracle and every law.

    A function takes a call (`AttentionCall`, `KvWriteCall`) and returns `out`, [num_query_rows,
    num_q_heads, head_dim_v] of q's type or in fp32 or fp64, or `(out, lse_ln)`; kv_write changes
    the caches and returns None. It raises `Unsupported` for calls that it does not serve. A failing
    case is shrunk by calling again, and saved.

    Args:
        decode, prefill, kv_write: the functions under test; one at least.
        cases: to draw (120); seconds: instead, draws until then; seed: of the draws (2026).
        laws: names of laws, "oracle" among them (all); bound: "probabilistic" or "worst-case".
        failures: shrunk, shown and kept per kind, law and function (1; 0: only counted).
        fail_fast: whether no case is drawn after one that failed, or all are (None: twenty more,
            which show on what else it fails).
        folder: of failing cases ("failing-cases").
        batch_invariant: a row's bits must not depend on other rows; numerics: as `Numerics` says.
        isolate: calls in a fork, whose crashes and hangs are failures, and which has no CUDA if
            this process has used it; time_limit: of a call, in CPU s (10).
        far_pools: also calls with sparse pools of 16 GiB, which no function may convert as a whole.
        explain: replays the smallest failure, to tell which known faults would give it, or which
            declared numerics allow for it.
        filters: which cases are drawn, and which calls made: types ("fp32", "bf16/e4m3"), layouts,
            head_dims, head_dim_multiple, equal_head_dims, groups, block_sizes, without, require,
            poison, tails, sinks_type, scale, scales, kinds, context_max, sequences_max, rows_max,
            q_heads_max. They are the flags of `recto verify --help`. Types may have the names that
            NumPy and torch give them ("float16"), layouts those of engines (NHD, HND, v0).

    Raises:
        UsageError: a value that is unknown, or filters that leave no case.
    """
    functions = _filters.functions_of(decode=decode, prefill=prefill, kv_write=kv_write)
    run = dict(cases=cases, seconds=seconds, seed=seed, laws=laws, bound=bound, failures=failures,
               folder=folder, batch_invariant=batch_invariant, numerics=numerics,
               time_limit=time_limit, fail_fast=fail_fast,
               after_failure=_CASES_AFTER_FAILURE if fail_fast is None else None)
    known = (*run, *_filters.FILTERS, *_filters.LIMITS)
    arguments = ["verify", "--json", *_filters.flags({**run, **filters}, known)]
    answerer = _answerer(functions, isolate, time_limit, far_pools)
    out, message = _run(arguments, answerer)
    report = Report(json.loads(out), message)
    of_case = {word: value for word, value in {**run, **filters}.items() if word in REPLAY_WORDS}
    for failure in report.failures:
        _say_replay(failure, {**of_case, "isolate": isolate, "far_pools": far_pools})
    smallest = report.minimize()
    if explain and smallest is not None and smallest.file is not None:
        smallest.explanation = _replayed(smallest.file, of_case, answerer).text
        smallest.explanation += _declarations_that_explain(smallest, of_case, answerer)
    return report


def _say_replay(failure: Failure, words: Dict[str, Any]) -> None:
    """Completes the line that says how to replay it. Filters matter to laws, which make other calls
    than that of the case, within the filters."""
    text = "".join(
        f", {word}={value!r}" for word, value in words.items() if value not in (None, False)
        and (failure.law != "oracle" or word not in _filters.FILTERS))
    failure.text = failure.text.replace("=...)", f"=...{text})")


def _declarations_that_explain(failure: Failure, words: Dict[str, Any], answerer: Any) -> str:
    """The declared numerics within whose bound the case lies: each kind of rounding by itself, to
    the finest type that is enough."""
    ratios = [float(each) for each in re.findall(r"ratio ([0-9.e+]+)", failure.text)]
    is_near = bool(ratios) and max(ratios) < _NEAR_RATIO
    if not is_near or words.get("numerics") is not None:
        return ""
    enough = []
    for field in ("products", "partials", "p", "accumulate", "sum"):
        for value in ("rounded",) if field == "sum" else ("fp16", "bf16"):
            numerics = _filters.Numerics(**{field: value})
            if _replayed(str(failure.file), {**words, "numerics": numerics}, answerer).passed:
                enough.append(f"numerics={numerics!r}")
                break
    return f"declared   it is within the bound with {' or '.join(enough)}\n" if enough else ""


def replay(
    path: FilePath, *, decode: Optional[Function] = None, prefill: Optional[Function] = None,
    kv_write: Optional[Function] = None, batch_invariant: bool = False,
    numerics: Optional[_filters.Numerics] = None, isolate: bool = False,
    time_limit: Optional[float] = None, far_pools: bool = False, **filters: Any,
) -> Replayed:
    """Runs a saved case again, and explains what is wrong in it.

    Args are those of `verify`. The function that failed must be among those given.
    """
    functions = _filters.functions_of(decode=decode, prefill=prefill, kv_write=kv_write)
    answerer = _answerer(functions, isolate, time_limit, far_pools)
    words = {**filters, "batch_invariant": batch_invariant, "numerics": numerics,
             "time_limit": time_limit}
    return _replayed(os.fspath(path), words, answerer)


def _replayed(path: str, words: Dict[str, Any], answerer: Any) -> Replayed:
    out, message = _run(["replay", path, *_filters.flags(words, REPLAY_WORDS)], answerer)
    return Replayed(out, message)


def _answerer(
    functions: Dict[str, Function], isolate: bool, time_limit: Optional[float], far_pools: bool
) -> Any:
    if time_limit is not None and not isolate:
        raise TypeError("time_limit: expected isolate=True, too: nothing ends a call otherwise")
    words: Dict[str, Any] = dict(functions=functions, takes_far_pools=far_pools)
    if not isolate:
        return functools.partial(Answerer, **words)
    from ._isolated import IsolatedAnswerer

    limit = _TIME_LIMIT_S if time_limit is None else time_limit
    return functools.partial(IsolatedAnswerer, **words, time_limit_s=limit)


def _run(arguments: List[str], answerer: Any) -> "tuple[str, str]":
    """The engine's output, and why it failed: "" if it did not."""
    code, out, err = Engine(arguments).run(answerer)
    message = _programs.in_python(_programs.message_of(err), _filters.RENAMED)
    _programs.raise_for("the engine", 0 if code == 1 and out else code, message)
    return out, message.rpartition("\n")[2] if code == 1 else ""
