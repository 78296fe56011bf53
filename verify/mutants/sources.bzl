"""The sources of plain C++ whose copies have mutants, and the headers that they share.

Kernels and launch code have lists of their own, in //cuda and //cuda/kernels.
"""

def _files(folder, suffix, names):
    return ["%s/%s%s" % (folder, name, suffix) for name in names.split(" ")]

CACHE = _files(
    "cuda/cache",
    ".cc",
    "admission batch_tables block_hash block_manager block_pool branching cache_core " +
    "cache_geometry cache_options cache_size growth holdings node_table prefix_cache " +
    "prefix_index prompt_reader sequence_table slot_mapping swap_space",
) + _files(
    "cuda/cache",
    ".h",
    "batch_tables block_hash block_manager block_pool cache_core cache_events cache_geometry " +
    "cache_options cache_reports cache_size fixed_array handle holdings message node_table " +
    "prefix_cache prefix_index prompt prompt_reader sequence_table slot_mapping slot_table " +
    "swap_space",
)

SIMULATOR = _files(
    "sim/scheduling",
    ".cc",
    "batch continuous_scheduler continuous_scheduler_completion " +
    "continuous_scheduler_preemption continuous_scheduler_speculation decode_clock " +
    "gauge_values kv_holdings static_scheduler",
) + _files(
    "sim/scheduling",
    ".h",
    "batch continuous_scheduler decode_clock gauge_values group host_pool kv_holdings " +
    "running_list scheduler static_scheduler visible_pairs",
) + _files("sim", ".h", "event_queue simulator") + _files("sim", ".cc", "simulator")

REFERENCE = _files(
    "reference",
    ".cc",
    "accumulation coherence dense_attention error_bound fp32_arithmetic fp32_state " +
    "fp32_sum kv_cache_ops kv_cache_reader low_precision_attention numerics " +
    "one_sided_error online_softmax output_error paged_attention rescalings rotary " +
    "rounding score_error truncated_sum weight_error",
)

# Of the folders above, and of no others; sources_test holds that nothing is missing in both.
NOT_MUTATED = {
    "reference/*.h": "declarations and plain structs",
    "reference/golden_case.cc": "reads the goldens, for tests alone",
    "sim/request.h": "what a request is: no code",
    "sim/request_list.h": "hands requests over, as other sources do, which are not mutated",
}
