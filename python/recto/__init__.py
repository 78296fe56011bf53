"""recto verifies paged attention: pass a function, get a verdict.

>>> import recto
>>> report = recto.verify(decode=my_decode, types=["fp16"], head_dims=[64, 128], cases=120)
>>> report.raise_for_failures()
"""

from . import adapters, ptx
from ._attention_cases import AttentionCases, attention_cases
from ._call import AttentionCall, Call, KvWriteCall
from ._cases import Case, cases
from ._errors import EngineFailed, Unsupported, UsageError, Wrong
from ._filters import Numerics
from ._layouts import NewTokens
from ._oracle import assert_attention, oracle
from ._report import CaseFailed, Failure, OptionCount, Replayed, Report
from ._simulated import Fragmentation, Plan, Simulation, Trace
from ._simulator import fragmentation, plan, simulate, trace
from ._sweep import Point, Sweep, sweep
from ._verify import replay, verify

__all__ = [
    "AttentionCall", "AttentionCases", "Call", "Case", "CaseFailed", "EngineFailed", "Failure",
    "Fragmentation", "KvWriteCall", "NewTokens", "Numerics", "OptionCount", "Plan", "Point",
    "Replayed", "Report", "Simulation", "Sweep", "Trace", "Unsupported", "UsageError", "Wrong",
    "adapters", "assert_attention", "attention_cases", "cases", "fragmentation", "oracle",
    "plan", "ptx", "replay", "simulate", "sweep", "trace", "verify",
]
__version__ = "0.1.0"
