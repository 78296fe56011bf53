"""The host API's files, for all that compile them."""

SOURCES = [
    "attention_plan.cu",
    "cache_ops.cu",
    "caller_shapes.cu",
    "decode_step.cu",
    "instantiations.cu",
    "kernel_params.cu",
    "launch.cu",
    "paged_attention.cu",
    "workspace.cu",
]

HEADERS = [
    "attention_plan.h",
    "cache_ops.h",
    "caller_shapes.h",
    "decode_step.h",
    "instantiations.h",
    "kernel_params.h",
    "launch.h",
    "paged_attention.h",
    "workspace.h",
]
