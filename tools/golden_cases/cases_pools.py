"""Pools as they lie in memory: layouts, element sizes, block sizes, padding, slices, scales."""

from case import Case, Pool, Rows, Shape
from exact_attention import Options
from number_codes import fp32

_FP32 = Shape(4, 2, 8, 8, "fp32", "fp32")
_FP16 = Shape(4, 2, 16, 16, "fp16", "fp16")
_BF16 = Shape(4, 2, 16, 16, "bf16", "bf16")
_E4M3 = Shape(4, 2, 32, 32, "fp16", "e4m3")
_E5M2 = Shape(4, 2, 32, 32, "bf16", "e5m2")
_LENGTHS = ((1, 11), (2, 6))
_SCALE = Options(scale=0.25)


def _layouts(size: str, shape: Shape, block_size: int) -> tuple[Case, ...]:
    why = f"{size} elements in {{}} blocks of {block_size}."
    return tuple(
        Case(f"pool_{layout.replace('-', '_')}_{shape.kv_type}", why.format(layout), _LENGTHS,
             shape, _SCALE, Pool(layout, block_size))
        for layout in ("token-major", "head-major", "packed")
    )


LAYOUTS = (
    *_layouts("4-byte", _FP32, 4),
    *_layouts("2-byte", _FP16, 8),
    *_layouts("2-byte", _BF16, 2),
    *_layouts("1-byte", _E4M3, 4),
    *_layouts("1-byte", _E5M2, 8),
)

BLOCK_SIZES = (
    Case("block_size_1", "Every token has a block of its own.", ((1, 7), (3, 5)), _FP16, _SCALE,
         Pool("packed", block_size=1)),
    Case("block_size_2", "The context ends exactly with a block.", ((1, 8),), _FP16, _SCALE,
         Pool("head-major", block_size=2)),
    Case("block_size_16", "One token into the second block, one before the end of a block.",
         ((1, 17), (1, 15)), _FP32, _SCALE, Pool(block_size=16)),
    Case("block_size_48", "A multiple of 16 that is no power of two.", ((1, 50),),
         Shape(2, 1, 8, 8, "bf16", "bf16"), _SCALE, Pool("head-major", block_size=48)),
    Case("block_size_256", "One block that is mostly empty.", ((1, 3),),
         Shape(1, 1, 16, 16, "fp16", "e5m2"), _SCALE, Pool("packed", block_size=256)),
)

STRIDES = (
    Case("padded_token_major", "More elements than needed after each head, slot and block.",
         _LENGTHS, _FP16, _SCALE, Pool(padding={"head": 16, "slot": 32, "block": 48})),
    Case("padded_head_major", "The same, head-major.", _LENGTHS, _FP32, _SCALE,
         Pool("head-major", padding={"head": 16, "slot": 16, "block": 16})),
    Case("padded_packed", "Padding after heads and blocks of a packed pool.", _LENGTHS, _FP16,
         _SCALE, Pool("packed", padding={"head": 16, "block": 32})),
    Case("slice_of_layers", "Layer 1 of [num_blocks, 2, layers, block_size, heads, dim].", _LENGTHS,
         _FP16, _SCALE, Pool(shared_nesting="block tensor layer slot head dim")),
    Case("slice_of_layers_head_major", "Layer 1 of [2, layers, num_blocks, heads, slots, dim].",
         _LENGTHS, _E4M3, _SCALE,
         Pool("head-major", shared_nesting="tensor layer block head slot dim", num_layers=2)),
    Case("interleaved_by_block", "K and V of a block side by side: [num_blocks, 2, ...].",
         _LENGTHS, _FP32, _SCALE, Pool(shared_nesting="block tensor slot head dim")),
    Case("interleaved_by_head", "K and V of each head side by side, [..., heads, 2, dim].",
         _LENGTHS, _BF16, _SCALE, Pool(shared_nesting="block slot head tensor dim")),
    Case("query_rows_padded", "Rows and heads of queries with gaps of NaN between them.", _LENGTHS,
         _FP32, _SCALE, rows=Rows(padding={"head": 16, "row": 32})),
    Case("query_heads_first", "Queries as [heads, rows, dim]: the row stride is the smaller one.",
         _LENGTHS, _FP16, _SCALE, rows=Rows("head row dim")),
)

TABLES = (
    Case("table_with_garbage_beyond", "Ids out of range and of others past each sequence's.",
         ((1, 3), (2, 14), (1, 0), (1, 8)), _FP32, _SCALE,
         Pool(garbage_columns=(-1, 2**31 - 1, -(2**31), 0, 10**6), table_padding=3)),
    Case("blocks_in_descending_order", "The first tokens lie in the last block.", ((2, 11),), _FP32,
         _SCALE, Pool(block_ids=((4, 3, 1),), spare_blocks=2)),
    Case("shared_prefix", "Three sequences begin with the same two physical blocks.",
         ((1, 11), (2, 9), (1, 8)), _FP16, _SCALE,
         Pool(block_ids=((5, 2, 0), (5, 2, 3), (5, 2)), spare_blocks=2), shared_tokens=8),
)

SCALES = (
    Case("scale_per_tensor_e4m3", "One factor for K and another for V.", _LENGTHS, _E4M3, _SCALE,
         Pool(k_scales=(0.5,), v_scales=(fp32(0.0371),))),
    Case("scale_per_tensor_e5m2", "The same, e5m2 in a packed pool.", _LENGTHS, _E5M2, _SCALE,
         Pool("packed", k_scales=(fp32(1.7),), v_scales=(fp32(1e-3),))),
    Case("scale_per_head_e4m3", "A factor per KV head, some of which make small codes large.",
         _LENGTHS, _E4M3, _SCALE,
         Pool("packed", k_scales=(fp32(0.3), 2.0), v_scales=(fp32(1e4), fp32(1e-6)))),
    Case("scale_per_head_e5m2", "The same, e5m2 head-major.", _LENGTHS, _E5M2, _SCALE,
         Pool("head-major", k_scales=(fp32(0.9), fp32(0.1)), v_scales=(3.0, fp32(0.7)))),
    Case("scale_per_head_of_v_only", "K has no scale, V one per head.", _LENGTHS, _E4M3, _SCALE,
         Pool(v_scales=(0.25, fp32(1.1)))),
    Case("scale_per_tensor_and_per_head", "K has one scale, V one per head, softcap and sinks on.",
         _LENGTHS, _E4M3, Options(scale=1.0, softcap=5.0, sinks=(0.5, 1.0, -1.0, 0.0)),
         Pool(k_scales=(fp32(0.6),), v_scales=(0.25, fp32(1.1)))),
)

POOL_CASES = (*LAYOUTS, *BLOCK_SIZES, *STRIDES, *TABLES, *SCALES)
