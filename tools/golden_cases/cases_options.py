"""Each option alone at its limits, and several together."""

from case import Case, Shape, constant, first_dim, per_token, scaled_uniform
from exact_attention import Options
from number_codes import fp32

_SMALL = Shape(head_dim_k=4, head_dim_v=4)
_HEADS = Shape(num_q_heads=4, num_kv_heads=2, head_dim_k=4, head_dim_v=4)
# The usual slopes of four heads, powers of 1/4, and one that is no power of two.
_SLOPES = (0.25, 0.0625, fp32(0.3), 0.00390625)

PLAIN = (
    Case("decode_without_options", "One row, five keys, no option: small enough to follow by hand.",
         ((1, 5),), _SMALL),
    Case("one_key", "The only key gets all the weight, whatever its score.", ((1, 1),), _SMALL),
    Case("equal_logits", "Equal keys weigh the same: out is the mean of V, lse_ln grows by ln 6.",
         ((1, 6),), _SMALL, k=constant(0.75)),
    Case("prefill", "As many rows as keys: row r sees the first r + 1.", ((6, 6),), _SMALL),
    Case("chunked_prefill", "Three rows at the end of eight keys, aligned bottom right.",
         ((3, 8),), _SMALL),
    Case("more_rows_than_keys", "The first rows stand before the first key: out 0, lse_ln -inf.",
         ((5, 3),), _SMALL),
    Case("no_key", "An empty context.", ((2, 0),), _SMALL),
    Case("no_key_with_sink", "An empty context of heads with sinks: out 0, lse_ln is the sink.",
         ((2, 0),), _HEADS, Options(sinks=(0.5, -3.0, 0.0, 1e4))),
    Case("more_rows_than_keys_with_sink", "Rows without keys have the sink, others both.",
         ((4, 2),), _HEADS, Options(sinks=(0.5, -3.0, 0.0, 7.25))),
)

MASKS = (
    Case("causal_off", "Every row sees every key.", ((3, 5),), _SMALL, Options(causal=False)),
    Case("causal_off_more_rows_than_keys", "Rows before the first key see all keys too.",
         ((5, 2),), _SMALL, Options(causal=False)),
    Case("window_one", "A window of one: each row sees itself alone.", ((3, 7),), _SMALL,
         Options(window=1)),
    Case("window_inside", "A window of three, its edge inside and between blocks.", ((6, 11),),
         _SMALL, Options(window=3)),
    Case("window_of_context", "A window as long as the context takes nothing away.", ((2, 9),),
         _SMALL, Options(window=9)),
    Case("window_one_less_than_context", "One key less than the context: the last row misses one.",
         ((2, 9),), _SMALL, Options(window=8)),
    Case("window_beyond_context", "A window longer than the context.", ((2, 6),), _SMALL,
         Options(window=1 << 40)),
    Case("window_causal_off", "Without the causal mask a window ends on the left only.",
         ((4, 9),), _SMALL, Options(causal=False, window=2)),
    Case("window_more_rows_than_keys", "A window about rows of which some see nothing.",
         ((6, 4),), _SMALL, Options(window=2)),
)

SCORES = (
    Case("softcap_small", "A cap far below the scores, so that they differ by little.", ((2, 9),),
         _SMALL, Options(scale=4.0, softcap=0.5)),
    Case("softcap_usual", "A cap of 30 on scores of about 30.", ((2, 9),), _SMALL,
         Options(scale=10.0, softcap=30.0)),
    Case("softcap_large", "A cap so large that it hardly shows.", ((2, 9),), _SMALL,
         Options(softcap=1e4)),
    Case("softcap_saturated", "Scores of +-1e4 under a cap of 20: tanh is 1 to all digits.",
         ((1, 4),), _SMALL, Options(scale=1.0, softcap=20.0),
         q=first_dim(constant(100.0)), k=first_dim(per_token(100.0, -100.0, 99.0, 0.125))),
    Case("softcap_of_tiny_scores", "tanh of numbers about 1e-30 is the number itself.", ((1, 5),),
         _SMALL, Options(scale=fp32(1e-30), softcap=2.0)),
    Case("alibi", "A slope per head, distances 0 and less.", ((2, 9),), _HEADS,
         Options(alibi_slopes=_SLOPES)),
    Case("alibi_causal_off", "Keys after the row are at positive distances.", ((4, 6),), _HEADS,
         Options(causal=False, alibi_slopes=_SLOPES)),
    Case("alibi_after_softcap", "The bias is added to the capped score, not capped with it.",
         ((2, 9),), _HEADS, Options(scale=3.0, softcap=1.5, alibi_slopes=(4.0, 2.0, 1.0, 0.5))),
    Case("scale_negative", "A negative scale turns the order of the keys around.", ((2, 7),),
         _SMALL, Options(scale=-0.5)),
    Case("scale_zero", "No scale, no difference between keys.", ((2, 7),), _SMALL,
         Options(scale=0.0)),
)

SINKS = (
    Case("sinks", "Sinks about as large as the scores, one per query head.", ((2, 7),), _HEADS,
         Options(sinks=(0.0, 1.5, -0.75, fp32(2.1)))),
    Case("sinks_very_negative", "exp(sink) is far below the last digit of the sum.", ((2, 7),),
         _HEADS, Options(sinks=(-1e4, -100.0, -40.0, fp32(-1e38)))),
    Case("sinks_dominating", "exp(sink) takes nearly all: out shrinks to 1e-26, 1e-304, 1e-4343.",
         ((2, 7),), _HEADS, Options(sinks=(60.0, 700.0, 1e4, 20.0))),
    Case("sink_is_not_scaled_nor_capped", "With scale 1/8 and cap 1, a sink of 3 stays 3.",
         ((1, 7),), _HEADS, Options(scale=0.125, softcap=1.0, sinks=(3.0, 3.0, -3.0, 0.25))),
)

TOGETHER = (
    Case("all_options", "Cap, bias, window, causal mask and sinks in one chunk of a prompt.",
         ((5, 13),), _HEADS,
         Options(scale=2.0, softcap=4.0, window=6, alibi_slopes=_SLOPES,
                 sinks=(1.0, -2.0, 0.5, 3.0))),
    Case("all_options_causal_off", "The same without the causal mask.", ((5, 13),), _HEADS,
         Options(scale=2.0, softcap=4.0, causal=False, window=6, alibi_slopes=_SLOPES,
                 sinks=(1.0, -2.0, 0.5, 3.0))),
    Case("all_options_more_rows_than_keys", "The same where the first rows see nothing.",
         ((7, 4),), _HEADS,
         Options(scale=2.0, softcap=4.0, window=2, alibi_slopes=_SLOPES,
                 sinks=(1.0, -2.0, 0.5, 3.0)),
         q=scaled_uniform(3.0)),
)

OPTION_CASES = (*PLAIN, *MASKS, *SCORES, *SINKS, *TOGETHER)
