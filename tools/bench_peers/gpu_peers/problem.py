"""One batch on a device, the same for every peer, and the check of an answer against fp64. Needs
PyTorch.

K and V are in pools of blocks, head-major, and a table lists each sequence's blocks, which are
scattered. Numbers, tables and lengths are those of recto's benchmark: uniform in (-1, 1), by
SplitMix64.
"""

import math
from dataclasses import dataclass, replace
from functools import cached_property

import torch

from .case import GOLDEN_GAMMA, Case, shuffled_ids

TYPES = {"bf16": torch.bfloat16, "fp16": torch.float16}
GARBAGE = 1000.0  # in slots beyond a context: finite, as not every peer tolerates NaN there
_AT_ONCE = 1 << 26  # numbers generated at a time


@dataclass
class Problem:
    case: Case
    q: torch.Tensor  # [num_seqs * rows, q_heads, head_dim]
    k_pool: torch.Tensor  # [num_blocks, kv_heads, block, head_dim]
    v_pool: torch.Tensor  # the same
    block_table: torch.Tensor  # [num_seqs, max_blocks] int32; 0 beyond a sequence's blocks
    context_length: torch.Tensor  # [num_seqs] int32

    @property
    def device(self) -> torch.device:
        return self.q.device

    @property
    def scale(self) -> float:
        return 1 / math.sqrt(self.case.head_dim)

    @property
    def is_ragged(self) -> bool:
        return self.case.is_skewed

    @property
    def q_by_sequence(self) -> torch.Tensor:
        """[num_seqs, rows, q_heads, head_dim]"""
        return self.q.view(self.case.batch, self.case.rows, *self.q.shape[1:])

    @cached_property
    def lengths(self) -> list[int]:
        return self.context_length.tolist()

    def of_sequence(self, pool: torch.Tensor, s: int) -> torch.Tensor:
        """The K or V of a sequence in order, [kv_heads, context, head_dim]."""
        length, block = self.lengths[s], self.case.block
        ids = self.block_table[s, :-(-length // block)].long()
        return pool[ids].transpose(0, 1).flatten(1, 2)[:, :length]

    def token_major(self, pool: torch.Tensor) -> torch.Tensor:
        """A copy, [num_blocks, block, kv_heads, head_dim]."""
        return pool.transpose(1, 2).contiguous()

    def contiguous(self, pool: torch.Tensor) -> torch.Tensor:
        """A copy, [num_seqs, kv_heads, longest context, head_dim], 0 beyond a context."""
        case = self.case
        out = pool.new_zeros(case.batch, case.kv_heads, max(self.lengths), case.head_dim)
        for s, length in enumerate(self.lengths):
            out[s, :, :length] = self.of_sequence(pool, s)
        return out

    def mask(self, keys: int) -> torch.Tensor:
        """The visible keys of each row, [num_seqs, 1, rows, keys]."""
        key = torch.arange(keys, device=self.device)
        row = torch.arange(self.case.rows, device=self.device)[:, None]
        last = self.context_length[:, None, None].long() - self.case.rows + row
        return (key <= last)[:, None]


def make_problem(case: Case, device: str, seed: int = 1) -> Problem:
    """`seed` changes all numbers and the order of the blocks."""
    counts = case.block_counts()
    pool = (sum(counts), case.kv_heads, case.block, case.head_dim)
    q = (case.batch * case.rows, case.q_heads, case.head_dim)
    table = torch.zeros(case.batch, max(counts), dtype=torch.int32)
    ids = torch.tensor(shuffled_ids(pool[0], seed), dtype=torch.int32).split(counts)
    for s, own in enumerate(ids):
        table[s, :len(own)] = own
    k, v, rows = (uniform(shape, case.type, 3 * seed + i, device)
                  for i, shape in enumerate((pool, pool, q)))
    lengths = torch.tensor(case.context_lengths(), dtype=torch.int32)
    return Problem(case, rows, k, v, table.to(device), lengths.to(device))


def uniform(shape: tuple[int, ...], kind: str, seed: int, device: str) -> torch.Tensor:
    """Numbers in (-1, 1), as cuda/bench/device.cu fills memory with."""
    out = torch.empty(math.prod(shape), dtype=TYPES[kind], device=device)
    for begin in range(0, out.numel(), _AT_ONCE):
        end = min(begin + _AT_ONCE, out.numel())
        x = torch.arange(begin, end, device=device) * _signed(GOLDEN_GAMMA) + seed
        x = (x ^ _shifted(x, 30)) * _signed(0xBF58476D1CE4E5B9)
        x = (x ^ _shifted(x, 27)) * _signed(0x94D049BB133111EB)
        bits = _shifted(x ^ _shifted(x, 31), 40)
        out[begin:end] = bits.float() * 2.0**-23 - 1
    return out.view(shape)


def _shifted(x: torch.Tensor, by: int) -> torch.Tensor:
    return x >> by & (1 << 64 - by) - 1


def _signed(value: int) -> int:
    return value - (1 << 64 if value >> 63 else 0)


def make_edge_problem(case: Case, device: str) -> Problem:
    """A problem in which a missing, extra or repeated key changes every output: each context is one
    token shorter than the case says, slots beyond it hold garbage, and V is large at 32 keys of
    each sequence: its first, its last and those on both sides of each sixteenth.
    """
    if case.context == 1:
        return make_problem(case, device)
    case = replace(case, context=case.context - 1, rows=min(case.rows, case.context - 1))
    problem = make_problem(case, device)
    size = case.block
    for s, length in enumerate(problem.lengths):
        table = problem.block_table[s].long()
        if length % size:
            for pool in (problem.k_pool, problem.v_pool):
                pool[table[length // size], :, length % size:] = GARBAGE
        raised = 2.0 ** max(0, math.floor(math.log2(length / 32)))
        keys = {length * i // 16 for i in range(16)} | {length * i // 16 - 1 for i in range(1, 17)}
        at = torch.tensor(sorted(key for key in keys if key >= 0), device=device)
        problem.v_pool[table[at // size], :, at % size] *= raised
    return problem


# An answer's error, the root mean square over the dims of a row and head, in units of the answer's
# own size times the type's epsilon, 2^-7 or 2^-10. Rounding the output contributes up to 0.3,
# rounding the weights before the second product as much again.
ERROR_LIMIT = 1.0


def expected_output(problem: Problem) -> torch.Tensor:
    """In fp64, [num_seqs * rows, q_heads, head_dim]."""
    return torch.cat([_of_sequence(problem, s) for s in range(problem.case.batch)])


def _of_sequence(problem: Problem, s: int) -> torch.Tensor:
    """[rows, q_heads, head_dim]. One KV head at a time, for memory."""
    case = problem.case
    k, v = problem.of_sequence(problem.k_pool, s), problem.of_sequence(problem.v_pool, s)
    q = problem.q_by_sequence[s].view(case.rows, case.kv_heads, case.group, case.head_dim)
    key = torch.arange(k.shape[1], device=q.device)
    last = k.shape[1] - case.rows + torch.arange(case.rows, device=q.device)
    hidden = (key > last[:, None])[:, None]
    out = []
    for head in range(case.kv_heads):
        scores = q[:, head].double() @ k[head].double().T * problem.scale
        weights = scores.masked_fill_(hidden, -torch.inf).softmax(-1)
        out.append(weights @ v[head].double())
    return torch.stack(out, 1).flatten(1, 2)


def error_to_limit(found: torch.Tensor, expected: torch.Tensor, kind: str) -> torch.Tensor:
    """[num_seqs * rows, q_heads]; above 1, or NaN, is wrong."""
    numbers = torch.finfo(TYPES[kind])
    error = (found.double() - expected).square().mean(-1).sqrt()
    size = expected.square().mean(-1).sqrt()
    # Near 0 the spacing of fp16 is fixed.
    return error / (ERROR_LIMIT * numbers.eps * size.clamp_min(numbers.smallest_normal))


def check(problem: Problem, expected: torch.Tensor, out: torch.Tensor) -> tuple[float, str]:
    """The worst error as a fraction of its limit, and what is wrong (empty if nothing)."""
    if out.shape != problem.q.shape or out.dtype != problem.q.dtype:
        return float("nan"), (f"expected {list(problem.q.shape)} of {problem.q.dtype}, "
                              f"found {list(out.shape)} of {out.dtype}")
    ratio = error_to_limit(out, expected, problem.case.type)
    bad = (~(ratio <= 1)).nonzero()
    if not len(bad):
        return ratio.max().item(), ""
    row, head = bad[0].tolist()
    dim = int((out - expected)[row, head].abs().nan_to_num(torch.inf).argmax())
    sequence, row_of_it = divmod(row, problem.case.rows)
    return ratio[row, head].item(), (
        f"out[sequence {sequence}, row {row_of_it}, head {head}, dim {dim}]: "
        f"expected {expected[row, head, dim]:.6g}, found {out[row, head, dim]:.6g}; "
        f"the row's error is {ratio[row, head]:.3g} x its limit")
