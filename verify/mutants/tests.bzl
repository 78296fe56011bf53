"""Tests that are put to mutants as they are, and the headers that they include."""

# Of verify/kernels and verify/host_api.
KERNEL_TESTS = (
    "attention_refusals kernel_refusals group_scores_refusals contents_check contents_checks " +
    "kernel_cache_ops_property kv_append_property fp8_codes kernel_cache_thresholds " +
    "cache_checks group_scores high_block_ids kernel_thresholds non_finite_inputs"
).split(" ")

HOST_API_TESTS = (
    "host_api_refusals host_api_plans host_api_thresholds kernel_instantiations caller_shapes " +
    "cache_ops device_scales gather_op bad_input_walk bad_input_cache_walk " +
    "bad_input_shapes_walk flash_attn_call"
).split(" ")

HOST_API_TEST_HEADERS = (
    "api_calls.h api_faults.h api_leaves.h bad_input_walk.h caller_batch.h chosen_plan.h " +
    "host_api_call.h"
).split(" ")

# Counts bytes that are allocated, and what headers say of them.
CACHE_USERS = ["cuda/cache/block_manager_memory_test.cc"]

CACHE_TESTS = ["//cuda/cache:%s_test.cc" % name for name in (
    "admission batch_tables block_hash block_manager block_manager_property block_pool " +
    "branching cache_geometry cache_options cache_size growth holdings node_table prefix_cache " +
    "prefix_cache_pins prefix_index prefix_index_uses prompt prompt_reader sequence_table " +
    "slot_mapping swap_space"
).split(" ")]

# Of a class that is all in its header.
SIMULATOR_USERS = ["sim/scheduling/host_pool_test.cc"]

SIMULATOR_TESTS = ["//sim%s_test.cc" % name for name in (
    ":event_queue :simulator :simulator_property /scheduling:admission " +
    "/scheduling:kv_holdings /scheduling:preemption /scheduling:running_list " +
    "/scheduling:speculation /testing:plain_simulator_property /testing:token_memory_property"
).split(" ")]

REFERENCE_TESTS = ["//reference:%s_test.cc" % name for name in (
    "accumulation coherence dense_attention error_bound error_bound_charges " +
    "error_bound_decode_step error_bound_fp8 fp32_arithmetic fp32_state fp32_sum golden " +
    "golden_operations kv_cache_ops kv_cache_ops_property kv_cache_reader numerics " +
    "one_sided_error online_softmax output_error paged_attention rescalings rotary " +
    "rotary_property rounding rounding_agreement score_error truncated_sum"
).split(" ")] + ["//verify/canaries:canaries_test.cc"]
