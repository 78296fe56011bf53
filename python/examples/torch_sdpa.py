#!/usr/bin/env python3
"""PyTorch's scaled_dot_product_attention after a gather. recto's adapter `padded` makes the dense
batch. On a GPU, tensors go there and back.

    python torch_sdpa.py
"""

import torch
from torch.nn.functional import scaled_dot_product_attention

import recto

CASES = dict(without=["sinks", "softcap"], types=["fp32", "fp16"], cases=40, seed=1,
             context_max=300, sequences_max=8, rows_max=32, q_heads_max=16)
DEVICE = "cuda" if torch.cuda.is_available() else "cpu"


def attention(q, k, v, mask, bias, scale, softcap, **_):
    """[num_seqs, num_q_heads, most rows, head_dim_v], in fp32."""
    group = q.shape[1] // k.shape[1]
    added = torch.zeros(mask.shape, device=DEVICE) if bias is None else bias
    added = added.masked_fill(~mask, float("-inf"))
    out = scaled_dot_product_attention(q, k.repeat_interleave(group, 1),
                                       v.repeat_interleave(group, 1), attn_mask=added, scale=scale)
    # A row without a visible key has no softmax; attention over nothing is 0.
    return torch.where(mask.any(-1, keepdim=True), out, torch.zeros_like(out))


if __name__ == "__main__":
    function = recto.adapters.padded(attention, device=DEVICE)
    report = recto.verify(decode=function, prefill=function, laws=["oracle", "chunking"], **CASES)
    print(report)
    report.raise_for_failures()
