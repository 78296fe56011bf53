"""FlexAttention with paging: a mask over logical blocks, converted to the blocks of the pool by
PyTorch's own PagedAttention. Needs PyTorch.
"""

import functools

import torch

from .case import Case
from .peers import Peer, Prepared, Skipped
from .problem import Problem

QUERY_BLOCK = 128  # rows of a block of the mask; kernels want a multiple of their own


def paged_mask(problem: Problem):
    """A BlockMask over the pool, with the problem's block table."""
    try:
        from torch.nn.attention.experimental._paged_attention import PagedAttention
        from torch.nn.attention.flex_attention import create_block_mask
    except ImportError as missing:
        raise Skipped(f"this PyTorch has no paged FlexAttention: {missing}") from missing
    case = problem.case
    pages = PagedAttention(len(problem.k_pool), case.block, case.batch, str(problem.device))
    for s, length in enumerate(problem.lengths):
        ids = problem.block_table[s, :-(-length // case.block)].long()
        pages.page_table[s, :len(ids)] = ids
        pages.physical_to_logical[s, ids] = torch.arange(len(ids), device=problem.device)
    # Unused entries of the table must stay within the pool: the conversion gathers them, too.
    pages.page_table.clamp_(min=0)
    keys = problem.block_table.shape[1] * case.block
    last = problem.context_length.long() - case.rows

    def is_seen(b, _head, row, key):
        # Padding rows of a block of the mask see what the last row sees: otherwise no block would
        # be full, and every block would call this function.
        return key <= last[b] + row.clamp(max=case.rows - 1)

    filled_rows = -(-case.rows // QUERY_BLOCK) * QUERY_BLOCK
    logical = create_block_mask(is_seen, case.batch, None, filled_rows, keys,
                                device=str(problem.device), BLOCK_SIZE=(QUERY_BLOCK, case.block))
    logical.seq_lengths = (case.rows, keys)
    return pages.convert_logical_block_mask(logical)


def prepare(problem: Problem, _) -> Prepared:
    mask = paged_mask(problem)
    from torch.nn.attention.flex_attention import flex_attention

    # Compiled, it is a kernel; uncompiled, on a CPU, a dense computation by the mask's function.
    attend = flex_attention if problem.device.type == "cpu" else _compiled(problem.case)
    k, v = (pool.transpose(0, 1).flatten(1, 2)[None].contiguous()
            for pool in (problem.k_pool, problem.v_pool))
    q = problem.q_by_sequence.transpose(1, 2)

    def call():
        return attend(q, k, v, block_mask=mask, scale=problem.scale,
                      enable_gqa=problem.case.group > 1)

    return Prepared(call, lambda out: out.transpose(1, 2).reshape(problem.q.shape))


@functools.lru_cache(maxsize=1)
def _compiled(_case: Case):
    from torch.nn.attention.flex_attention import flex_attention

    torch.compiler.reset()  # it stops compiling after some cases
    return torch.compile(flex_attention, dynamic=False)


PEERS = (Peer("flex", "FlexAttention with a paged block mask", prepare),)
