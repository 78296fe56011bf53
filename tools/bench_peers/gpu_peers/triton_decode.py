"""Paged decode in Triton, written for this purpose: splits of each sequence's keys, all query heads
of a KV head as the rows of one product, and a merge. Needs PyTorch and Triton; with
TRITON_INTERPRET=1 set before it is imported it runs on a CPU.
"""

import os
from dataclasses import dataclass
from typing import Any, NamedTuple

import torch
import triton
import triton.language as tl

# Triton's interpreter (3.9) multiplies the codes of bf16 in tl.dot, not their values: there
# products are computed in fp32, from the same rounded values.
WIDENS = os.environ.get("TRITON_INTERPRET") == "1"


@dataclass(frozen=True)
class Tuning:
    splits: int = 1
    block_keys: int = 64
    num_warps: int = 4
    num_stages: int = 2


class Inputs(NamedTuple):
    q: torch.Tensor  # [num_seqs, q_heads, head_dim]
    k_pool: torch.Tensor  # [num_blocks, kv_heads, block, head_dim], any strides, dims contiguous
    v_pool: torch.Tensor  # with the strides of k_pool
    table: torch.Tensor  # [num_seqs, max_blocks] int32; unread beyond a sequence's blocks
    lengths: torch.Tensor  # [num_seqs] int32, may be 0: then the output is 0


class Strides(NamedTuple):
    """Strides, in elements."""

    block: int
    head: int
    slot: int
    row: int  # of the block table


class Parts(NamedTuple):
    out: torch.Tensor  # [num_seqs, q_heads, splits, head_dim]
    lse_log2: torch.Tensor  # [num_seqs, q_heads, splits], written if there are splits


class Sizes(NamedTuple):
    """Each combination is a kernel of its own. Padded sizes are powers of two."""

    group: Any
    group_padded: Any
    dim: Any
    dim_padded: Any
    block: Any
    keys: Any  # per tile
    splits: Any
    splits_padded: Any
    widens: Any


@triton.jit
def attend_split(inputs, strides, parts, scale_log2, sizes):
    seq, kv_head, split = tl.program_id(0), tl.program_id(1), tl.program_id(2)
    length = tl.load(inputs.lengths + seq)
    keys_per_split = tl.cdiv(tl.cdiv(length, sizes.splits), sizes.keys) * sizes.keys
    begin = split * keys_per_split
    end = tl.minimum(begin + keys_per_split, length)

    head, dim = tl.arange(0, sizes.group_padded), tl.arange(0, sizes.dim_padded)
    is_head, is_dim = head < sizes.group, dim < sizes.dim
    row = ((seq * tl.num_programs(1) + kv_head) * sizes.group + head).to(tl.int64)
    q = tl.load(inputs.q + row[:, None] * sizes.dim + dim[None, :],
                mask=is_head[:, None] & is_dim[None, :], other=0.0)
    if sizes.widens:
        q = q.to(tl.float32)

    top = tl.full([sizes.group_padded], float("-inf"), tl.float32)
    total = tl.zeros([sizes.group_padded], tl.float32)
    acc = tl.zeros([sizes.group_padded, sizes.dim_padded], tl.float32)
    for first in range(begin, end, sizes.keys):
        key = first + tl.arange(0, sizes.keys)
        is_key = key < end
        block = tl.load(inputs.table + seq.to(tl.int64) * strides.row + key // sizes.block,
                        mask=is_key, other=0)
        slot = (block.to(tl.int64) * strides.block + kv_head * strides.head
                + key % sizes.block * strides.slot)
        at = slot[:, None] + dim[None, :]
        is_there = is_key[:, None] & is_dim[None, :]
        k = tl.load(inputs.k_pool + at, mask=is_there, other=0.0)
        if sizes.widens:
            k = k.to(tl.float32)
        scores = tl.dot(q, tl.trans(k), input_precision="ieee") * scale_log2
        scores = tl.where(is_key[None, :], scores, float("-inf"))
        new_top = tl.maximum(top, tl.max(scores, 1))
        weights = tl.exp2(scores - new_top[:, None])
        shrunk = tl.exp2(top - new_top)
        total = total * shrunk + tl.sum(weights, 1)
        v = tl.load(inputs.v_pool + at, mask=is_there, other=0.0)
        weights = weights.to(v.dtype)
        if sizes.widens:
            weights, v = weights.to(tl.float32), v.to(tl.float32)
        acc = acc * shrunk[:, None] + tl.dot(weights, v, input_precision="ieee")
        top = new_top

    # A split without keys has weight 0 in the merge.
    is_seen = total > 0
    acc = acc / tl.where(is_seen, total, 1.0)[:, None]
    to = row * sizes.splits + split
    tl.store(parts.out + to[:, None] * sizes.dim + dim[None, :],
             acc.to(parts.out.dtype.element_ty), mask=is_head[:, None] & is_dim[None, :])
    if sizes.splits > 1:
        lse_log2 = tl.where(is_seen, top + tl.log2(tl.where(is_seen, total, 1.0)), float("-inf"))
        tl.store(parts.lse_log2 + to, lse_log2, mask=is_head)


@triton.jit
def merge_splits(parts, out, sizes):
    """out: [num_seqs, q_heads, head_dim]"""
    row = tl.program_id(0).to(tl.int64)
    split, dim = tl.arange(0, sizes.splits_padded), tl.arange(0, sizes.dim_padded)
    is_split, is_dim = split < sizes.splits, dim < sizes.dim
    lse_log2 = tl.load(parts.lse_log2 + row * sizes.splits + split, mask=is_split,
                       other=float("-inf"))
    top = tl.max(lse_log2, 0)
    weights = tl.exp2(lse_log2 - tl.where(top == float("-inf"), 0.0, top))
    total = tl.sum(weights, 0)
    weights = weights / tl.where(total > 0, total, 1.0)
    tile = tl.load(parts.out + (row * sizes.splits + split)[:, None] * sizes.dim + dim[None, :],
                   mask=is_split[:, None] & is_dim[None, :], other=0.0)
    merged = tl.sum(tile * weights[:, None], 0)
    tl.store(out + row * sizes.dim + dim, merged.to(out.dtype.element_ty), mask=is_dim)


class PagedDecode:
    """One batch and one tuning; a call launches one kernel, or two if there are splits."""

    def __init__(self, inputs: Inputs, scale: float, tuning: Tuning):
        if inputs.k_pool.stride() != inputs.v_pool.stride() or inputs.k_pool.stride(3) != 1:
            raise ValueError("expected K and V of the same strides, their dims together")
        num_seqs, q_heads, dim = inputs.q.shape
        _, kv_heads, block, _ = inputs.k_pool.shape
        self.inputs, self.tuning, self.scale_log2 = inputs, tuning, scale * 1.4426950408889634
        self.strides = Strides(*inputs.k_pool.stride()[:3], inputs.table.stride(0))
        self.out = torch.empty_like(inputs.q)
        self.parts = Parts(self.out, self.out)
        if tuning.splits > 1:
            new = inputs.q.new_empty
            self.parts = Parts(new(num_seqs, q_heads, tuning.splits, dim, dtype=torch.float32),
                               new(num_seqs, q_heads, tuning.splits, dtype=torch.float32))
        group = q_heads // kv_heads
        # A product has at least sixteen rows, columns and terms.
        self.sizes = Sizes(*map(tl.constexpr, (
            group, max(16, triton.next_power_of_2(group)),
            dim, max(16, triton.next_power_of_2(dim)),
            block, tuning.block_keys, tuning.splits, triton.next_power_of_2(tuning.splits),
            WIDENS)))
        self.grid = (num_seqs, kv_heads, tuning.splits)

    def attend(self, launch) -> Any:
        return launch(self.inputs, self.strides, self.parts, self.scale_log2, self.sizes,
                      num_warps=self.tuning.num_warps, num_stages=self.tuning.num_stages)

    def merge(self, launch) -> Any:
        return launch(self.parts, self.out, self.sizes)

    def __call__(self) -> torch.Tensor:
        self.attend(attend_split[self.grid])
        if self.tuning.splits > 1:
            self.merge(merge_splits[(self.inputs.q.shape[0] * self.inputs.q.shape[1],)])
        return self.out
