"""The programs that have mutants, and the tests that may kill them. Valid Python, too: campaign.py
reads it.

A program has groups of tests, in the order in which they are tried. A group has what one process
each runs: test files, or a specification of test cases as Catch2 has it, where another target
brings the cases. A trial ends with the first process that kills the mutant.

`preferred` names groups to begin with for mutants of files whose paths match. `long` groups take
minutes: a sample tries them only on mutants that are expected to be killed. `imitations` imitate
usual tests, and count apart. `verifies` is what `recto verify` has, with every access checked.
"""

def _each(package, names):
    """Test files, each in a process of its own: a crash in one may be explained by another."""
    return [_together(package, name) for name in names.split(" ")]

def _together(package, names):
    """Test files in one process."""
    return ["//%s:%s_test.cc" % (package, name) for name in names.split(" ")]

KERNELS = {
    "groups": {
        "first cases": [["finder: oracle\\, a few cases"]],
        "refusals, plans and calls": [
            _together(
                "verify/kernels",
                "attention_refusals kernel_refusals group_scores_refusals",
            ),
            _together("verify/kernels/host_api", "host_api_refusals host_api_plans caller_shapes"),
            _together("verify/kernels/host_api", "kernel_instantiations"),
            _together(
                "verify/kernels/host_api",
                "cache_ops device_scales gather_op host_api_thresholds",
            ),
            _together(
                "verify/kernels/host_api",
                "bad_input_walk bad_input_cache_walk bad_input_shapes_walk",
            ),
            _together("verify/kernels/host_api", "flash_attn_call"),
            _together("verify/kernels/host_api", "host_api_long_contexts"),
        ],
        "contents of tables": [_together("verify/kernels", "contents_check contents_checks")],
        # First with every access checked: out-of-bounds writes may end the others.
        "moves of K and V": [
            _together("verify/kernels", "cache_checks"),
            _together("verify/kernels", "kernel_cache_thresholds"),
            _together("verify/kernels", "fp8_codes"),
            _together("verify/kernels", "kernel_cache_ops_property kv_append_property"),
        ],
        "scores": [
            ["finder: scores\\, every access checked"],
            _together("verify/kernels", "group_scores"),
        ],
        "thresholds": [_together("verify/kernels", "high_block_ids kernel_thresholds")],
        "wide prefill": [_together("verify/kernels", "wide_prefill")],
        "NaN and infinities": [_together("verify/kernels", "non_finite_inputs")],
        "laws": [["finder: laws*"]],
        "more cases": [
            ["finder: oracle\\, groups of whole tiles"],
            ["finder: oracle\\, more cases"],
            ["finder: oracle\\, preempted"],
        ],
        # No result is wrong.
        "bank conflicts": [["finder: no warp waits for a bank"]],
        "tests of known bugs": [
            ["[#kernel_bugs_test]"],
            _together("verify/kernels/host_api", "host_api_graph"),
        ],
    },
    "preferred": [
        ("contents_check", ["contents of tables", "refusals, plans and calls"]),
        ("non_finite", ["NaN and infinities"]),
        ("group_scores|row_tile", ["scores"]),
        ("kv_write|kv_append|block_copy|gather|rotary|row_move", ["moves of K and V"]),
        ("block_cursor", ["first cases", "thresholds", "moves of K and V"]),
        ("kv_scale|element\\.cuh|row_access", ["first cases", "moves of K and V"]),
        ("dispatch\\.cuh|_entries", ["refusals, plans and calls", "first cases", "thresholds"]),
        ("prefill_wide", ["first cases", "thresholds", "wide prefill", "NaN and infinities"]),
        ("\\.cuh", ["first cases", "more cases", "NaN and infinities", "laws"]),
        ("\\.cu", ["refusals, plans and calls"]),
    ],
    "long": ["laws", "more cases", "NaN and infinities", "wide prefill"],
    "imitations": ["imitation: fixed tolerance", "imitation: factor two"],
    "verifies": ["finder: oracle*", "finder: laws*"],
}

CACHE = {
    "groups": {
        "its own tests": _each(
            "cuda/cache",
            "admission batch_tables block_hash block_manager",
        ) + [["[#block_manager_memory_test]"]] + _each(
            "cuda/cache",
            "block_pool branching cache_geometry cache_options cache_size growth holdings " +
            "node_table prefix_cache prefix_cache_pins prefix_index prefix_index_uses prompt " +
            "prompt_reader sequence_table slot_mapping swap_space",
        ),
        "tests of known bugs": [
            ["[#block_manager_bugs_test]"],
            ["[#metadata_bugs_test]"],
            ["[#prefix_cache_bugs_test]"],
            ["[#scheduler_bugs_test]"],
        ],
        "random and all short histories": [
            ["finder: a random engine\\, and the invariants"],
            ["finder: random commands\\, and the model"],
            ["finder: short sequences of commands"],
            _together("cuda/cache", "block_manager_property"),
        ],
    },
    "long": ["random and all short histories"],
}

SIMULATOR = {
    "groups": {
        "its own tests": _each("sim/scheduling", "admission preemption speculation running_list") +
                         [["[#host_pool_test]"]] + _each("sim/scheduling", "kv_holdings") +
                         _each("sim", "event_queue simulator"),
        "properties": _each("sim", "simulator_property") +
                      _each("sim/testing", "plain_simulator_property token_memory_property"),
    },
}

REFERENCE = {
    "groups": {
        "its own tests": _each(
            "reference",
            "dense_attention paged_attention kv_cache_reader kv_cache_ops rounding rotary " +
            "fp32_arithmetic fp32_state fp32_sum accumulation coherence rescalings truncated_sum " +
            "numerics score_error output_error",
        ),
        "goldens": _each("reference", "golden golden_operations"),
        "properties": _each(
            "reference",
            "kv_cache_ops_property rotary_property rounding_agreement online_softmax",
        ),
        "tests of bounds": _each(
            "reference",
            "error_bound error_bound_charges error_bound_decode_step error_bound_fp8 " +
            "one_sided_error",
        ),
        "laws beside canaries": [["the right computation beside the canaries*"]],
    },
}

PROGRAMS = {"cache": CACHE, "kernels": KERNELS, "reference": REFERENCE, "simulator": SIMULATOR}

def test_files(program):
    """The labels of its test files."""
    processes = [process for group in program["groups"].values() for process in group]
    return [name for process in processes for name in process if name.startswith("//")]
