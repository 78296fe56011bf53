"""The programs that have mutants, what tests them, and what is tried first on which mutants."""

import json
import re
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent.parent / "planted_faults"))
import plant  # noqa: E402

import copies  # noqa: E402

IMITATIONS = ["imitation: fixed tolerance", "imitation: factor two"]


class Program:
    """A Catch2 program, groups of its cases by files or names, and where to begin for which
    mutants."""

    groups = {}
    preferred = []  # (of a file's name, groups)
    # Takes minutes, so a sample runs it only for mutants that nothing else kills and that are not
    # equivalent.
    long = []
    imitations = []
    verifies = []  # specs of what `recto verify` has, every access checked
    laws = []  # each tried alone, if columns are asked for
    variable = "RECTO_MUTANT"

    def __init__(self, path, listed):
        self.path = str(Path(path).absolute())
        self.mutants, self.gone = [], []
        for file in listed:
            self.read(Path(file))

    def read(self, file):
        listed = json.loads(file.read_text(encoding="utf-8"))
        self.mutants += listed["mutants"]
        self.gone += listed["gone"]

    def specs(self, left_out):
        return [spec for name in self.groups for spec in self.groups[name] if name not in left_out]

    def group_of(self, spec):
        return next(name for name in self.groups if spec in self.groups[name])

    def stages_of(self, mutant, left_out):
        """The specs of all groups but these, in the order in which they are likely to kill."""
        specs = self.specs_in_order(mutant, left_out)
        own = f"[#{Path(mutant['place'].split(':')[0]).stem}_test]"
        return sorted(specs, key=lambda spec: spec != own)

    def specs_in_order(self, mutant, left_out):
        file = mutant["place"].split(":")[0]
        found = (groups for pattern, groups in self.preferred if re.search(pattern, file))
        first = next(found, [])
        names = first + [name for name in self.groups if name not in first]
        return [spec for name in names for spec in self.groups[name] if name not in left_out]


class Kernels(Program):
    groups = {
        "first cases": ["finder: oracle\\, a few cases"],
        "refusals, plans and calls": [
            "[#attention_refusals_test],[#kernel_refusals_test],[#group_scores_refusals_test]",
            "[#host_api_refusals_test],[#host_api_plans_test],[#caller_shapes_test]",
            "[#kernel_instantiations_test]",
            "[#cache_ops_test],[#device_scales_test],[#gather_op_test],[#host_api_thresholds_test]",
            "[#bad_input_walk_test],[#bad_input_cache_walk_test],[#bad_input_shapes_walk_test]",
            "[#flash_attn_call_test]",
        ],
        "contents of tables": ["[#contents_check_test],[#contents_checks_test]"],
        # First with every access checked: out-of-bounds writes may end the others.
        "moves of K and V": [
            "[#cache_checks_test]",
            "[#kernel_cache_thresholds_test]",
            "[#fp8_codes_test]",
            "[#kernel_cache_ops_property_test],[#kv_append_property_test]",
        ],
        "scores": ["finder: scores\\, every access checked", "[#group_scores_test]"],
        "thresholds": ["[#high_block_ids_test],[#kernel_thresholds_test]"],
        "NaN and infinities": ["[#non_finite_inputs_test]"],
        "laws": ["finder: laws*"],
        "more cases": [
            "finder: oracle\\, groups of whole tiles",
            "finder: oracle\\, more cases",
            "finder: oracle\\, preempted",
        ],
        # Last, because no result is wrong.
        "bank conflicts": ["finder: no warp waits for a bank"],
    }
    preferred = [
        (r"contents_check", ["contents of tables", "refusals, plans and calls"]),
        (r"non_finite", ["NaN and infinities"]),
        (r"group_scores|row_tile", ["scores"]),
        (r"kv_write|kv_append|block_copy|gather|rotary|row_move", ["moves of K and V"]),
        (r"block_cursor", ["first cases", "thresholds", "moves of K and V"]),
        (r"kv_scale|element\.cuh|row_access", ["first cases", "moves of K and V"]),
        (r"\.cuh", ["first cases", "more cases", "NaN and infinities", "laws"]),
        (r"\.cu", ["refusals, plans and calls"]),
    ]
    long = ["laws", "more cases", "NaN and infinities"]
    imitations = IMITATIONS
    verifies = ["finder: oracle*", "finder: laws*"]


def tests(names):
    """By files, each of which runs by itself: a crash in one may be explained by another."""
    return [f"[#{name}_test]" for name in names.split()]


KNOWN_BUGS = tests("block_manager_bugs metadata_bugs prefix_cache_bugs scheduler_bugs")
FINDERS = [
    "finder: a random engine\\, and the invariants",
    "finder: random commands\\, and the model",
    "finder: short sequences of commands",
]


class Cache(Program):
    groups = {
        "its own tests": tests(
            "admission batch_tables block_hash block_manager block_manager_memory block_pool"
            " branching cache_geometry cache_options cache_size growth holdings node_table"
            " prefix_cache prefix_cache_pins prefix_index prefix_index_uses prompt prompt_reader"
            " sequence_table slot_mapping swap_space"
        ),
        "tests of known bugs": KNOWN_BUGS,
        "random and all short histories": FINDERS + tests("block_manager_property"),
    }
    long = ["random and all short histories"]


class Planted(Program):
    """The faults of planted_faults, which have names instead of numbers."""

    groups = {"tests of known bugs": KNOWN_BUGS, "random and all short histories": FINDERS}
    long = ["random and all short histories"]
    variable = "RECTO_PLANTED"

    def read(self, file):
        for fault in plant.read_faults([file]):
            path = fault.changes[0][0]
            self.mutants.append(
                {
                    "name": f"planted:{fault.name}",
                    "number": fault.name,
                    "area": copies.area_of(path),
                    "operator": "picked",
                    "place": path,
                    "text": fault.text.strip(),
                }
            )


class PlantedKernels(Planted):
    """Mutants of known bugs that tests of kernels find; nothing else looks for them."""

    groups = {"tests of known bugs": tests("kernel_bugs host_api_graph")}
    long = []


class Simulator(Program):
    groups = {
        "its own tests": tests(
            "admission preemption speculation running_list host_pool kv_holdings event_queue"
            " simulator"
        ),
        "properties": tests(
            "simulator_property plain_simulator_property token_memory_property"
        ),
    }


class Reference(Program):
    groups = {
        "its own tests": tests(
            "dense_attention paged_attention kv_cache_reader kv_cache_ops rounding rotary"
            " fp32_arithmetic fp32_state fp32_sum accumulation coherence rescalings truncated_sum"
            " numerics score_error output_error"
        ),
        "goldens": tests("golden golden_operations"),
        "properties": tests(
            "kv_cache_ops_property rotary_property rounding_agreement online_softmax"
        ),
        "tests of bounds": tests(
            "error_bound error_bound_charges error_bound_decode_step error_bound_fp8"
            " one_sided_error"
        ),
        "laws beside canaries": ["the right computation beside the canaries*"],
    }


KINDS = {
    "kernels": Kernels,
    "cache": Cache,
    "planted": Planted,
    "planted-kernels": PlantedKernels,
    "simulator": Simulator,
    "reference": Reference,
}


def programs_of(descriptions):
    """Of "kind=program=list,list" each, where the lists name the mutants."""
    found = []
    for description in descriptions:
        kind, path, listed = description.split("=")
        found.append(KINDS[kind](path, listed.split(",")))
    return found
