"""The decode step whose newest token's K and V are not in the cache yet."""

from case import Case, Pool, Rows, Shape
from exact_attention import Options
from number_codes import fp32

_FP32 = Shape(2, 1, 8, 8)
_GROUPED = Shape(6, 2, 16, 16, "bf16", "bf16")

DECODE_CASES = (
    Case("decode_step", "Six cached keys and a new one.", ((1, 6),), _FP32, is_decode_step=True),
    Case("decode_step_empty_cache", "The new token is the only one, and has all the weight.",
         ((1, 0),), _FP32, is_decode_step=True),
    Case("decode_step_full_block", "The cache ends with a block: the new token would begin one.",
         ((1, 8),), _FP32, is_decode_step=True),
    Case("decode_step_batch", "Unlike sequences, groups of three, per-layer pools, head-major.",
         ((1, 5), (1, 0), (1, 13)), _GROUPED,
         pool=Pool("head-major", shared_nesting="tensor layer block head slot dim"),
         is_decode_step=True),
    Case("decode_step_head_dims_apart", "K of 8 dims, V of 16; rows padded.", ((1, 5), (1, 3)),
         Shape(2, 2, 8, 16), rows=Rows(padding={"row": 16}), is_decode_step=True),
    Case("decode_step_window_one", "The new token sees itself alone.", ((1, 6),), _FP32,
         Options(window=1), is_decode_step=True),
    Case("decode_step_options", "Window, bias, cap and sinks count the new token.",
         ((1, 9), (1, 2)), _FP32,
         Options(scale=2.0, softcap=3.0, window=5, alibi_slopes=(0.5, 0.125), sinks=(0.5, -1.0)),
         is_decode_step=True),
    Case("decode_step_fp8_cache", "Cached codes are scaled, the new token's are as they are.",
         ((1, 7), (1, 4)), Shape(4, 2, 16, 16, "fp16", "e4m3"), Options(scale=0.25),
         Pool("packed", k_scales=(0.5, fp32(1.3)), v_scales=(fp32(0.2),)), is_decode_step=True),
)
