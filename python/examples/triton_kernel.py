"""A paged decode kernel in Triton: one program for each sequence and query head, over the blocks of
the sequence, with an online softmax. `DIMS` and `SLOTS` are `HEAD_DIM` and `BLOCK_SIZE`, rounded up
to powers of two."""

import triton
import triton.language as tl


@triton.jit
def decode(q, k_cache, v_cache, block_table, context_length, out, lse_ln, scale, window,
           max_blocks, q_row, q_head, k_block, k_slot, k_head, v_block, v_slot, v_head, group,
           HEAD_DIM: tl.constexpr, DIMS: tl.constexpr, BLOCK_SIZE: tl.constexpr,
           SLOTS: tl.constexpr):
    row, head = tl.program_id(0), tl.program_id(1)
    dims, slots = tl.arange(0, DIMS), tl.arange(0, SLOTS)
    is_dim = dims < HEAD_DIM
    length = tl.load(context_length + row)
    query = tl.load(q + row * q_row + head * q_head + dims, mask=is_dim, other=0).to(tl.float32)
    largest, total = float("-inf"), 0.0
    result = tl.zeros([DIMS], dtype=tl.float32)
    for index in range(tl.cdiv(length, BLOCK_SIZE)):
        block = tl.load(block_table + row * max_blocks + index).to(tl.int64)
        keys = index * BLOCK_SIZE + slots
        is_seen = (slots < BLOCK_SIZE) & (keys < length) & (keys > length - 1 - window)
        # What is not seen may be NaN, and NaN times 0 is NaN: it is not loaded.
        loads = is_seen[:, None] & is_dim[None, :]
        place = k_cache + block * k_block + (head // group) * k_head
        k = tl.load(place + slots[:, None] * k_slot + dims[None, :], mask=loads, other=0)
        place = v_cache + block * v_block + (head // group) * v_head
        v = tl.load(place + slots[:, None] * v_slot + dims[None, :], mask=loads, other=0)
        scores = scale * tl.sum(k.to(tl.float32) * query[None, :], axis=1)
        scores = tl.where(is_seen, scores, float("-inf"))
        top = tl.maximum(largest, tl.max(scores, axis=0))
        safe = tl.where(top == float("-inf"), 0.0, top)
        weights = tl.exp(scores - safe)
        factor = tl.exp(largest - safe)
        total = total * factor + tl.sum(weights, axis=0)
        result = result * factor + tl.sum(weights[:, None] * v.to(tl.float32), axis=0)
        largest = top
    is_empty = total == 0.0
    result = tl.where(is_empty, 0.0, result / tl.where(is_empty, 1.0, total))
    place = (row * tl.num_programs(1) + head) * HEAD_DIM
    tl.store(out + place + dims, result.to(out.dtype.element_ty), mask=is_dim)
    shown = tl.where(is_empty, float("-inf"), largest + tl.log(tl.where(is_empty, 1.0, total)))
    tl.store(lse_ln + row * tl.num_programs(1) + head, shown)
