"""Groups of query heads, head dims, batches of sequences."""

from case import Case, Pool, Shape
from exact_attention import Options
from number_codes import fp32

GROUPS = (
    Case("group_of_three", "Query heads 0 to 2 read KV head 0, 3 to 5 KV head 1.", ((2, 7),),
         Shape(num_q_heads=6, num_kv_heads=2)),
    Case("group_of_four", "Two KV heads for eight query heads.", ((1, 9),),
         Shape(num_q_heads=8, num_kv_heads=2, q_type="bf16", kv_type="bf16")),
    Case("group_of_eight", "All eight query heads read one KV head.", ((2, 6),),
         Shape(num_q_heads=8, num_kv_heads=1, q_type="fp16", kv_type="fp16")),
    Case("no_group", "A KV head for each of five query heads.", ((2, 6),),
         Shape(num_q_heads=5, num_kv_heads=5)),
)

HEAD_DIMS = (
    Case("head_dims_apart_v_larger", "K of 8 dims, V of 24.", ((2, 6),),
         Shape(2, 1, head_dim_k=8, head_dim_v=24)),
    Case("head_dims_apart_k_larger", "K of 24 dims, V of 8, packed.", ((2, 6),),
         Shape(2, 2, head_dim_k=24, head_dim_v=8, q_type="bf16", kv_type="bf16"),
         pool=Pool("packed")),
    Case("head_dim_64", "A head dim that models have.", ((1, 10),),
         Shape(2, 1, 64, 64, "fp16", "fp16"), Options(scale=0.125)),
    Case("head_dim_80", "80 dims: no power of two.", ((1, 7),),
         Shape(1, 1, 80, 80, "bf16", "bf16"), Options(scale=fp32(0.1118034)), Pool("packed")),
    Case("head_dim_192_128", "K of 192 dims and V of 128, as in latent attention.", ((1, 5),),
         Shape(2, 1, 192, 128, "bf16", "bf16"), Options(scale=fp32(0.07216878))),
    Case("head_dim_256", "The largest.", ((1, 3),), Shape(1, 1, 256, 256, "fp16", "e4m3"),
         Options(scale=0.0625), Pool("head-major", block_size=2)),
)

_HEADS = Shape(num_q_heads=2, num_kv_heads=1, head_dim_k=4, head_dim_v=4)

BATCHES = (
    Case("batch_of_decodes", "Four sequences with a row each, of very different lengths.",
         ((1, 1), (1, 17), (1, 4), (1, 9)), _HEADS),
    Case("batch_of_unlike_sequences", "Decode, prefill and chunks in one call.",
         ((1, 6), (4, 4), (3, 10), (5, 2)), _HEADS),
    Case("batch_with_empty_sequence", "In the middle, one without context but with a row.",
         ((2, 5), (1, 0), (1, 6)), _HEADS, Options(sinks=(0.5, -0.5))),
    Case("batch_with_idle_sequence", "In the middle, one with context but without rows.",
         ((2, 5), (0, 7), (1, 6)), _HEADS),
    Case("batch_with_nothing_in_the_middle", "In the middle, neither rows nor context.",
         ((2, 5), (0, 0), (1, 6)), _HEADS),
    Case("batch_with_options", "Positions, windows and biases belong to each sequence.",
         ((2, 5), (4, 4), (1, 12), (6, 3)), _HEADS,
         Options(window=4, alibi_slopes=(0.5, 0.0625), sinks=(0.25, 1.0))),
)

SHAPE_CASES = (*GROUPS, *HEAD_DIMS, *BATCHES)
