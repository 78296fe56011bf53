"""Extreme numbers: logits of +-1e4, subnormals, the largest values, sums that cancel."""

from case import Case, Pool, Shape, constant, first_dim, per_token, uniform
from exact_attention import Options
from number_codes import fp32

_SMALL = Shape(head_dim_k=4, head_dim_v=4)
_HALF = Shape(q_type="fp16", kv_type="fp16")
_BRAIN = Shape(q_type="bf16", kv_type="bf16")
_ONE = Options(scale=1.0)
_TEN_THOUSAND = first_dim(constant(100.0))

LOGITS = (
    Case("logits_of_ten_thousand", "Logits of +1e4 and -1e4: weights 1/2 and e^-20000.",
         ((1, 5),), _SMALL, _ONE, q=_TEN_THOUSAND,
         k=first_dim(per_token(100.0, -100.0, 100.0, -100.0, 0.0))),
    Case("logits_all_ten_thousand", "All logits near 1e4: exp overflows without a maximum.",
         ((2, 6),), _SMALL, _ONE, q=_TEN_THOUSAND,
         k=first_dim(per_token(100.0, fp32(99.99), fp32(99.98), fp32(99.999)))),
    Case("logits_all_minus_ten_thousand", "All near -1e4: the sum underflows without a maximum.",
         ((2, 6),), _SMALL, _ONE, q=_TEN_THOUSAND,
         k=first_dim(per_token(-100.0, fp32(-99.99), fp32(-99.98), fp32(-99.999)))),
    Case("logits_one_ulp_apart", "Logits near 1e4 that differ in the last bits of an fp32.",
         ((1, 4),), _SMALL, _ONE, q=_TEN_THOUSAND,
         k=first_dim(per_token(100.0, 100.0 + 2.0**-17, 100.0 - 2.0**-17, 100.0 + 2.0**-16))),
    Case("logits_rising", "Each block raises the maximum by thousands; then each lowers it.",
         ((1, 24),), _SMALL, _ONE, q=_TEN_THOUSAND,
         k=first_dim(lambda at: 100.0 - abs(12 - at.token) * 16.0)),
    Case("logits_of_ten_thousand_with_sink", "A sink of 1e4 beside logits of 1e4.",
         ((1, 4),), _SMALL, Options(scale=1.0, sinks=(1e4,)), q=_TEN_THOUSAND,
         k=first_dim(per_token(100.0, fp32(99.98), -100.0))),
    Case("products_that_cancel", "q.k is 1 after terms of +-1e8 have gone.", ((1, 4),), _SMALL,
         _ONE, q=lambda at: (1e4, 1e4, 1.0, 0.5)[at.dim],
         k=lambda at: (1e4, -1e4, 1.0, at.token * 0.25)[at.dim]),
)

VALUES = (
    Case("values_of_1e38", "V of 1e38, whose sum of three still fits fp32.", ((1, 3),), _SMALL,
         v=lambda at: fp32(1e38) * (1 - 0.25 * at.dim)),
    Case("values_of_1e38_that_cancel", "+1e38 and -1e38 at nearly equal weights.", ((1, 2),),
         _SMALL, k=first_dim(per_token(1.0, 1.0 + 2.0**-20)), v=per_token(1e38, -1e38)),
    Case("values_tiny_beside_1e38", "1e-38 and 1e38 in one sum, and equal keys.", ((1, 3),), _SMALL,
         k=constant(0.5), v=per_token(1e38, 1e-38, 1.0)),
    Case("values_that_cancel_exactly", "Equal weights of +x and -x leave 0.", ((1, 4),), _SMALL,
         k=constant(0.5), v=lambda at: (-1) ** at.token * (1.0 + 0.125 * at.dim)),
    Case("values_largest_fp16", "V of +-65504.", ((2, 5),), _HALF, v=per_token(65504.0, -65504.0)),
    Case("values_largest_bf16", "V of the largest bf16, under weights that sum to less than 1.",
         ((1, 2),), _BRAIN, Options(sinks=(2.0,)), v=constant(255 * 2.0**120)),
    Case("values_largest_fp8", "Codes of 448 (e4m3), the largest there are.", ((1, 5),),
         Shape(head_dim_k=16, head_dim_v=16, q_type="fp16", kv_type="e4m3"),
         v=per_token(448.0, -448.0, 416.0)),
)

SUBNORMALS = (
    Case("subnormal_fp32", "q, k and v of 1e-40: every product is far below fp32's range.",
         ((1, 5),), _SMALL, _ONE, q=lambda at: 1e-40 * uniform(at),
         k=lambda at: 1e-40 * uniform(at), v=lambda at: 1e-40 * uniform(at)),
    Case("subnormal_fp32_scores", "Subnormal k against a large q: scores of about 1.", ((1, 5),),
         _SMALL, _ONE, q=constant(fp32(1e38)), k=lambda at: 5e-39 * uniform(at),
         v=lambda at: 1e-44 * uniform(at)),
    Case("subnormal_fp16", "Subnormal fp16 in q, k and v; scores of about 1 by the scale.",
         ((2, 5),), _HALF, Options(scale=2.0**29), q=lambda at: 3e-5 * uniform(at),
         k=lambda at: 3e-5 * uniform(at), v=lambda at: 1e-6 * uniform(at)),
    Case("subnormal_bf16", "Subnormal bf16 in k and v.", ((2, 5),), _BRAIN, Options(scale=1.0),
         q=constant(2.0**120), k=lambda at: 5e-39 * uniform(at), v=lambda at: 5e-39 * uniform(at)),
    Case("subnormal_e4m3", "Codes 1 to 7 of e4m3: 2^-9 to 7 * 2^-9.", ((2, 6),),
         Shape(head_dim_k=16, head_dim_v=16, q_type="fp16", kv_type="e4m3"), Options(scale=8.0),
         k=lambda at: 2.0**-9 * (at.token + at.dim % 2),
         v=lambda at: -(2.0**-9) * (1 + at.dim % 7)),
    Case("subnormal_e5m2", "Codes 1 to 3 of e5m2: 2^-16 to 3 * 2^-16.", ((2, 6),),
         Shape(head_dim_k=16, head_dim_v=16, q_type="bf16", kv_type="e5m2"), Options(scale=2048.0),
         k=lambda at: 2.0**-16 * ((at.token + at.dim) % 4),
         v=lambda at: 2.0**-16 * (1 + at.dim % 3)),
    Case("zeros_of_both_signs", "+0 and -0 among queries, keys and values.", ((2, 5),), _SMALL,
         q=per_token(0.0, -0.0), k=per_token(-0.0, 1.0, 0.0), v=per_token(-0.0, 0.0, -0.0)),
)

LENGTH = (
    Case("long_context_equal_logits", "300 equal weights: out is the mean of 300 values.",
         ((1, 300),), _SMALL, k=constant(0.25), pool=Pool(block_size=32)),
    Case("long_context_one_key_dominates", "One of 300 keys has all but e^-60 of the weight.",
         ((1, 300),), _SMALL, _ONE, Pool(block_size=64), q=first_dim(constant(8.0)),
         k=first_dim(lambda at: 8.0 if at.token == 177 else 0.5)),
)

MAGNITUDE_CASES = (*LOGITS, *VALUES, *SUBNORMALS, *LENGTH)
