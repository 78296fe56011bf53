"""Checks a peer's answer against a dense computation in fp64. Needs PyTorch."""

import torch

from .problem import TYPES, Problem

# An answer's error, the root mean square over the dims of a row and head, in units of the answer's
# own size times the type's epsilon, 2^-7 or 2^-10. Rounding the output makes up to 0.3 of it,
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
    """The worst error as a fraction of its limit, and what is wrong, or nothing."""
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
