// Checks whether a case is valid: the gates of core/ accept it, and it is inside the domain of the
// design.

#include "verify/cases/case_spec.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <string>
#include <string_view>
#include <utility>

#include "core/dense_kv_view.h"

namespace recto::verify {
namespace {

// Limits lengths, counts and paddings: positions are exact in fp32, and sums do not overflow.
constexpr std::int64_t kSizeMax = std::int64_t{1} << 24;

Status refuse(std::string_view field, std::string_view expected, const std::string& found) {
  return Status::invalid_input(std::string(field) + ": expected " + std::string(expected) +
                               ", found " + found);
}

struct SizeField {
  std::string name;
  std::int64_t value;
  std::int64_t min;
  std::int64_t multiple_of = 1;
};

Status check_size(const SizeField& size) {
  if (size.value < size.min || size.value > kSizeMax) {
    return refuse(size.name, std::to_string(size.min) + " ... " + std::to_string(kSizeMax),
                  std::to_string(size.value));
  }
  if (size.value % size.multiple_of != 0) {
    return refuse(size.name, "a multiple of " + std::to_string(size.multiple_of),
                  std::to_string(size.value));
  }
  return Status::ok();
}

Status check_shape(const ProblemShape& shape, KvLayout layout) {
  RECTO_RETURN_IF_ERROR(check_size({"shape.num_kv_heads", shape.num_kv_heads, 1}));
  RECTO_RETURN_IF_ERROR(
      check_size({"shape.num_q_heads", shape.num_q_heads, 1, shape.num_kv_heads}));
  const std::int64_t pack = layout == KvLayout::kPacked ? packed_width_k(shape.kv_type) : 1;
  RECTO_RETURN_IF_ERROR(check_size({"shape.head_dim_k", shape.head_dim_k, 1, pack}));
  RECTO_RETURN_IF_ERROR(check_size({"shape.head_dim_v", shape.head_dim_v, 1}));
  const TypePair types{shape.q_type, shape.kv_type};
  if (std::ranges::count(kTypePairs, types) == 0) {
    return refuse("shape.kv_type", std::string("a partner of ") + element_type_name(shape.q_type),
                  element_type_name(shape.kv_type));
  }
  return Status::ok();
}

Status check_options(const OptionsSpec& options, ElementType kv_type) {
  if (options.scale == 0.0F || !std::isfinite(options.scale)) {
    return refuse("options.scale", "a number other than 0", std::to_string(options.scale));
  }
  if (!(options.softcap >= 0.0F) || !std::isfinite(options.softcap)) {
    return refuse("options.softcap", "0 or a positive number", std::to_string(options.softcap));
  }
  RECTO_RETURN_IF_ERROR(check_size({"options.window", options.window.value_or(1), 1}));
  for (const auto& [name, kind] : {std::pair{"options.k_scales", options.k_scales},
                                   std::pair{"options.v_scales", options.v_scales}}) {
    if (kind == ScaleKind::kNone || is_fp8(kv_type)) continue;
    return refuse(name, "none (only fp8 is scaled)", element_type_name(kv_type));
  }
  return Status::ok();
}

// Some families suit one tensor only: those with a dominating key K, huge values V.
Status check_families(const CaseSpec& spec) {
  const auto check = [](const char* name, FloatFamily family, FloatFamily of_another) {
    if (family != of_another) return Status::ok();
    return refuse(name, "a family for any tensor", float_family_name(family));
  };
  for (const FloatFamily of_keys : {FloatFamily::kDominatingKey, FloatFamily::kPeakedEnds}) {
    RECTO_RETURN_IF_ERROR(check("values.q", spec.q, of_keys));
    RECTO_RETURN_IF_ERROR(check("values.v", spec.v, of_keys));
  }
  RECTO_RETURN_IF_ERROR(check("values.q", spec.q, FloatFamily::kHugeValues));
  return check("values.k", spec.k, FloatFamily::kHugeValues);
}

Status check_sequences(const CaseSpec& spec) {
  if (spec.sequences.empty()) return refuse("sequences", "at least one", "none");
  for (const SequenceSpec& sequence : spec.sequences) {
    const std::string place =
        "sequences[" + std::to_string(&sequence - spec.sequences.data()) + "]";
    RECTO_RETURN_IF_ERROR(check_size({place + ".num_rows", sequence.num_rows, 0}));
    RECTO_RETURN_IF_ERROR(check_size({place + ".context_length", sequence.context_length, 0}));
  }
  RECTO_RETURN_IF_ERROR(check_size({"sequences, rows of all of them", spec.num_rows(), 0}));
  RECTO_RETURN_IF_ERROR(check_size({"values.shared_prefix", spec.shared_prefix, 0}));
  if (spec.varied_tokens) {
    const TokenRange& tokens = *spec.varied_tokens;
    RECTO_RETURN_IF_ERROR(check_size({"values.varied_tokens.begin", tokens.begin, 0}));
    RECTO_RETURN_IF_ERROR(check_size({"values.varied_tokens.end", tokens.end, tokens.begin}));
    if (spec.has_plain_kv())
      return refuse("values.varied_tokens", "none (k and v are ones)", "a range");
  }
  RECTO_RETURN_IF_ERROR(check_families(spec));
  const bool has_own_keys =
      spec.k == FloatFamily::kDominatingKey || spec.k == FloatFamily::kPeakedEnds;
  if (has_own_keys && spec.shared_prefix > 0) {
    return refuse("values.shared_prefix", "0 (each sequence has its own dominating keys)",
                  std::to_string(spec.shared_prefix));
  }
  return Status::ok();
}

Status check_placement(const Placement& placement) {
  const std::int64_t block_size = placement.block_size;
  RECTO_RETURN_IF_ERROR(check_size({"placement.block_size", block_size, 1}));
  if (!is_block_size(block_size)) {
    return refuse("placement.block_size", "a power of two or a multiple of 16",
                  std::to_string(block_size));
  }
  RECTO_RETURN_IF_ERROR(check_size({"placement.spare_blocks", placement.spare_blocks, 0}));
  RECTO_RETURN_IF_ERROR(check_size({"placement.block_padding", placement.block_padding, 0, 16}));
  RECTO_RETURN_IF_ERROR(check_size({"placement.row_padding", placement.row_padding, 0, 16}));
  for (const GapField& field : kGapFields) {
    RECTO_RETURN_IF_ERROR(
        check_size({std::string("placement.gaps.") + field.name, placement.gaps.*field.gap, 0}));
  }
  return check_size({"placement.table_padding", placement.table_padding, 0});
}

}  // namespace

bool is_block_size(std::int64_t size) {
  return std::has_single_bit(static_cast<std::uint64_t>(size)) || size % 16 == 0;
}

double score_bound(const CaseSpec& spec) {
  const FloatSource q{spec.q, spec.shape.q_type, kQueryKeyLimit};
  const FloatSource k{spec.k, spec.shape.kv_type, kQueryKeyLimit};
  const double k_scale = spec.options.k_scales == ScaleKind::kNone ? 1.0 : kScaleMax;
  const double sum = largest_magnitude(q) * largest_magnitude(k) +
                     static_cast<double>(spec.shape.head_dim_k - 1) * largest_behind_first(q) *
                         largest_behind_first(k);
  const double product = std::abs(spec.options.scale) * sum;
  double distance_max = 0.0;
  for (const SequenceSpec& sequence : spec.sequences) {
    const std::int64_t distance = std::max(sequence.num_rows, sequence.context_length);
    distance_max = std::max(distance_max, static_cast<double>(distance));
  }
  // No slope exceeds 1.
  return product * k_scale + (spec.options.alibi == AlibiFamily::kNone ? 0.0 : distance_max);
}

Status check_case(const CaseSpec& spec) {
  RECTO_RETURN_IF_ERROR(check_shape(spec.shape, spec.placement.layout));
  RECTO_RETURN_IF_ERROR(check_options(spec.options, spec.shape.kv_type));
  RECTO_RETURN_IF_ERROR(check_sequences(spec));
  RECTO_RETURN_IF_ERROR(check_placement(spec.placement));
  if (score_bound(spec) <= kScoreLimit) return Status::ok();
  return refuse("options.scale, values.q, values.k", "scores within " + std::to_string(kScoreLimit),
                "up to " + std::to_string(score_bound(spec)));
}

}  // namespace recto::verify
