"""Peers that are PyTorch's scaled_dot_product_attention. Needs PyTorch."""

import torch
from torch.nn.attention import SDPBackend, sdpa_kernel
from torch.nn.attention.bias import causal_lower_right
from torch.nn.functional import scaled_dot_product_attention

from .peers import Peer, Prepared
from .problem import Problem


def attend(problem: Problem, k: torch.Tensor, v: torch.Tensor, mask) -> torch.Tensor:
    """k, v: [num_seqs, kv_heads, keys, head_dim]; returns [num_seqs, q_heads, rows, head_dim]."""
    return scaled_dot_product_attention(
        problem.q_by_sequence.transpose(1, 2), k, v, attn_mask=mask, scale=problem.scale,
        enable_gqa=problem.case.group > 1)


def rows_of(problem: Problem):
    return lambda out: out.transpose(1, 2).reshape(problem.q.shape)


def mask_of(problem: Problem, keys: int):
    """None if each row sees all keys, otherwise a mask in a form that permits fast kernels if
    possible."""
    if problem.is_ragged:
        return problem.mask(keys)
    return causal_lower_right(problem.case.rows, keys) if problem.case.rows > 1 else None


def prepare_contiguous(problem: Problem, _) -> Prepared:
    k, v = problem.contiguous(problem.k_pool), problem.contiguous(problem.v_pool)
    mask = mask_of(problem, k.shape[2])
    return Prepared(lambda: attend(problem, k, v, mask), rows_of(problem))


def prepare_cudnn(problem: Problem, timer) -> Prepared:
    prepared = prepare_contiguous(problem, timer)

    def call():
        with sdpa_kernel(SDPBackend.CUDNN_ATTENTION):
            return prepared.call()

    return Prepared(call, prepared.rows_of)


def prepare_gather(problem: Problem, _) -> Prepared:
    """Each call gathers whole blocks into a padded batch and computes attention on that."""
    longest = max(problem.lengths)
    pools = [problem.token_major(pool) for pool in (problem.k_pool, problem.v_pool)]
    table = problem.block_table.long()
    mask = mask_of(problem, longest)

    def call():
        k, v = (pool[table].flatten(1, 2)[:, :longest].transpose(1, 2) for pool in pools)
        return attend(problem, k, v, mask)

    return Prepared(call, rows_of(problem))


PEERS = (
    Peer("sdpa", "PyTorch SDPA on contiguous K and V", prepare_contiguous),
    Peer("sdpa-cudnn", "the same by cuDNN", prepare_cudnn, needs_gpu=True),
    Peer("gather", "blocks gathered into a padded batch, then SDPA", prepare_gather),
)
