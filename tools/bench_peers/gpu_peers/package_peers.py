"""Peers from packages that need a GPU: FlashInfer, flash-attn, vLLM. Each takes the pool as it is,
or a token-major copy made before anything is timed.
"""

import torch

from .peers import Peer, Prepared
from .problem import Problem

WORKSPACE_BYTES = 256 << 20  # twice what FlashInfer's documentation uses


def page_lists(problem: Problem) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
    """FlashInfer's form of a block table, int32: where each sequence's blocks begin, the blocks,
    and the tokens in the last one.
    """
    block, lengths = problem.case.block, problem.lengths
    counts = [-(-length // block) for length in lengths]
    starts = torch.tensor([0, *counts], dtype=torch.int32).cumsum(0, dtype=torch.int32)
    ids = torch.cat([problem.block_table[s, :count] for s, count in enumerate(counts)])
    last = torch.tensor([(length - 1) % block + 1 for length in lengths], dtype=torch.int32)
    return starts.to(problem.device), ids, last.to(problem.device)


def query_starts(problem: Problem) -> torch.Tensor:
    case = problem.case
    return torch.arange(case.batch + 1, dtype=torch.int32, device=problem.device) * case.rows


def _workspace(problem: Problem) -> torch.Tensor:
    return torch.zeros(WORKSPACE_BYTES, dtype=torch.uint8, device=problem.device)


def prepare_flashinfer_decode(problem: Problem, use_tensor_cores: bool) -> Prepared:
    from flashinfer import BatchDecodeWithPagedKVCacheWrapper

    case = problem.case
    wrapper = BatchDecodeWithPagedKVCacheWrapper(_workspace(problem), "HND",
                                                 use_tensor_cores=use_tensor_cores)
    wrapper.plan(*page_lists(problem), case.q_heads, case.kv_heads, case.head_dim, case.block,
                 q_data_type=problem.q.dtype, kv_data_type=problem.q.dtype,
                 sm_scale=problem.scale)
    return Prepared(lambda: wrapper.run(problem.q, (problem.k_pool, problem.v_pool)))


def prepare_flashinfer(problem: Problem, _) -> Prepared:
    from flashinfer import BatchPrefillWithPagedKVCacheWrapper

    case = problem.case
    if case.operation == "decode":
        return prepare_flashinfer_decode(problem, use_tensor_cores=True)
    wrapper = BatchPrefillWithPagedKVCacheWrapper(_workspace(problem), "HND")
    wrapper.plan(query_starts(problem), *page_lists(problem), case.q_heads, case.kv_heads,
                 case.head_dim, case.block, causal=True, sm_scale=problem.scale,
                 q_data_type=problem.q.dtype, kv_data_type=problem.q.dtype)
    return Prepared(lambda: wrapper.run(problem.q, (problem.k_pool, problem.v_pool)))


def prepare_flashinfer_cuda_cores(problem: Problem, _) -> Prepared:
    return prepare_flashinfer_decode(problem, use_tensor_cores=False)


def prepare_flash_attn(problem: Problem, _) -> Prepared:
    from flash_attn import flash_attn_with_kvcache

    k, v = problem.token_major(problem.k_pool), problem.token_major(problem.v_pool)

    def call():
        return flash_attn_with_kvcache(
            problem.q_by_sequence, k, v, cache_seqlens=problem.context_length,
            block_table=problem.block_table, softmax_scale=problem.scale, causal=True)

    return Prepared(call, lambda out: out.reshape(problem.q.shape))


def prepare_vllm(problem: Problem, _) -> Prepared:
    from vllm.vllm_flash_attn import flash_attn_varlen_func

    k, v = problem.token_major(problem.k_pool), problem.token_major(problem.v_pool)
    starts, longest = query_starts(problem), max(problem.lengths)

    def call():
        return flash_attn_varlen_func(
            problem.q, k, v, max_seqlen_q=problem.case.rows, cu_seqlens_q=starts,
            max_seqlen_k=longest, seqused_k=problem.context_length,
            block_table=problem.block_table, softmax_scale=problem.scale, causal=True)

    return Prepared(call)


PEERS = (
    Peer("flashinfer", "FlashInfer's paged decode and prefill, on tensor cores",
         prepare_flashinfer, package="flashinfer", needs_gpu=True),
    Peer("flashinfer-cuda-cores", "FlashInfer's paged decode without tensor cores",
         prepare_flashinfer_cuda_cores, package="flashinfer", needs_gpu=True,
         operations=("decode",)),
    Peer("flash-attn", "flash_attn_with_kvcache with a block table", prepare_flash_attn,
         package="flash_attn", needs_gpu=True),
    Peer("vllm", "vLLM's flash_attn_varlen_func with a block table", prepare_vllm,
         package="vllm", needs_gpu=True),
)
