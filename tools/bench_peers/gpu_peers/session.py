"""Runs peers on cases: each is checked, and timed only if it is right. Needs PyTorch."""

from collections.abc import Iterator
from dataclasses import dataclass, field

import torch

from .card import ColdTimer
from .case import Case
from .peers import Call, Peer, Prepared, Skipped, one_line
from .problem import Problem, check, expected_output, make_edge_problem, make_problem
from .results import Statistics, statistics_of

TURNING_BYTES = 2 << 30  # for the batches that alternate, as in cuda/bench: one to four
LONG_ENOUGH_SECONDS = 1.0  # in all for a case, if there are enough samples
FEWEST_SAMPLES = 5


class Broken(Exception):
    """The GPU no longer responds, so every later call would fail for this reason."""


@dataclass
class Outcome:
    peer: str
    state: str  # measured, right (if not timed), wrong, refused, skipped
    why: str = ""
    error_to_limit: float = 0.0  # the worst
    seconds: list[float] = field(default_factory=list)

    @property
    def statistics(self) -> Statistics:
        return statistics_of(self.seconds)


@dataclass
class Batch:
    problem: Problem
    expected: torch.Tensor


class Wrong(Exception):
    """The outcome of a peer on a case."""


@dataclass
class Session:
    device: str  # cuda or cpu
    samples: int
    timer: ColdTimer | None = None  # if times are taken

    def outcomes(self, case: Case, peers: list[Peer]) -> Iterator[Outcome]:
        """The outcome of each peer. All see the same batches: those that alternate, and one in
        which every key matters.
        """
        try:
            batches = self._batches(case)
        except (MemoryError, RuntimeError) as error:  # too little memory, on either device
            yield from (Outcome(peer.name, "skipped", one_line(error)) for peer in peers)
            return
        for peer in peers:
            yield self._outcome(peer, batches)
            if self.device == "cuda":
                torch.cuda.empty_cache()

    def _batches(self, case: Case) -> list[Batch]:
        """The batch in which every key matters comes first."""
        turns = max(1, min(4, TURNING_BYTES // case.kv_bytes())) if self.timer else 1
        problems = [make_edge_problem(case, self.device)]
        problems += [make_problem(case, self.device, seed) for seed in range(1, turns + 1)]
        return [Batch(problem, expected_output(problem)) for problem in problems]

    def _outcome(self, peer: Peer, batches: list[Batch]) -> Outcome:
        outcome = Outcome(peer.name, "right")
        try:
            peer.require(batches[0].problem.case.operation, self.device)
            self._prepare(peer, batches[0], outcome)
            calls = [self._prepare(peer, batch, outcome).call for batch in batches[1:]]
            if self.timer:
                outcome.seconds = self._sampled(calls)
                outcome.state = "measured"
        except Skipped as why:
            outcome.state, outcome.why = "skipped", str(why)
        except Wrong as why:
            outcome.state, outcome.why = "wrong", str(why)
        except Exception as error:  # peers raise various exceptions for unsupported cases
            outcome.state, outcome.why = "refused", one_line(error)
            self._require_sound_gpu(peer)
        return outcome

    def _prepare(self, peer: Peer, batch: Batch, outcome: Outcome) -> Prepared:
        """Prepares a batch for a peer and checks that its answer is right."""
        with torch.inference_mode():
            prepared = peer.prepare(batch.problem, self.timer and self.timer.median_of)
            out = prepared.rows_of(prepared.call())
            error, wrong = check(batch.problem, batch.expected, out)
        if wrong:
            raise Wrong(wrong)
        outcome.error_to_limit = max(outcome.error_to_limit, error)
        return prepared

    def _sampled(self, calls: list[Call]) -> list[float]:
        """The first call is not counted: it loads code and raises clocks."""
        seconds: list[float] = []
        with torch.inference_mode():
            for turn in range(self.samples + 1):
                taken = self.timer.seconds_of(calls[turn % len(calls)])
                if turn > 0:
                    seconds.append(taken)
                if sum(seconds) > LONG_ENOUGH_SECONDS and len(seconds) >= FEWEST_SAMPLES:
                    break
        return seconds

    def _require_sound_gpu(self, peer: Peer) -> None:
        if self.device != "cuda":
            return
        try:
            torch.cuda.synchronize()
        except Exception as error:
            raise Broken(f"{peer.name} broke the GPU's context: {one_line(error)}") from error
