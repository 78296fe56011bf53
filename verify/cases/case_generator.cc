#include "verify/cases/case_generator.h"

#include <algorithm>
#include <cmath>
#include <iterator>
#include <limits>

#include "core/contract.h"
#include "core/dense_kv_view.h"
#include "core/units.h"
#include "verify/cases/case_requirements.h"
#include "verify/cases/context_lengths.h"
#include "verify/cases/drawn_gaps.h"
#include "verify/cases/far_scores.h"

namespace recto::verify {
namespace {

std::int64_t draw_between(std::int64_t min, std::int64_t max, RandomStream& stream) {
  RECTO_CHECK_LE(min, max);
  return min +
         static_cast<std::int64_t>(stream.next_below(static_cast<std::uint64_t>(max - min) + 1));
}

bool draw_one_in(std::uint64_t count, RandomStream& stream) {
  return stream.next_below(count) == 0;
}

template <typename List>
auto draw_of(const List& list, RandomStream& stream) {
  return list[stream.next_below(std::size(list))];
}

std::uint64_t draw_seed(RandomStream& stream) {
  return stream.next_below(1'000'000'000);  // short enough to be copied by hand
}

void draw_heads(const CaseDomain& domain, RandomStream& stream, ProblemShape& shape) {
  const std::int64_t group_min = std::ranges::min(domain.groups);
  const std::int64_t q_heads_max = std::max(
      domain.num_q_heads_max.value_or(std::numeric_limits<std::int64_t>::max()), group_min);
  const std::int64_t most = std::min(domain.num_kv_heads_max, q_heads_max / group_min);
  shape.num_kv_heads = draw_between(std::min(domain.num_kv_heads_min, most), most, stream);
  std::vector<std::int64_t> groups = domain.groups;
  std::erase_if(groups,
                [&](std::int64_t group) { return group > q_heads_max / shape.num_kv_heads; });
  shape.num_q_heads = shape.num_kv_heads * draw_of(groups, stream);
}

ProblemShape draw_shape(const CaseDomain& domain, KvLayout layout, RandomStream stream) {
  const TypePair types = draw_of(domain.types, stream);
  ProblemShape shape{.q_type = types.q, .kv_type = types.kv};
  draw_heads(domain, stream, shape);
  const std::int64_t pack = layout == KvLayout::kPacked ? packed_width_k(types.kv) : 1;
  shape.head_dim_k = ceil_div(draw_of(domain.head_dims, stream), pack) * pack;
  shape.head_dim_v = draw_of(domain.head_dims, stream);
  if (domain.value_head_dim == ValueHeadDim::kSameAsKeys) shape.head_dim_v = shape.head_dim_k;
  return shape;
}

SequenceSpec draw_sequence(RowsKind kind, const CaseDomain& domain, LengthDomain lengths,
                           RandomStream& stream) {
  SequenceSpec sequence;
  switch (kind) {
    case RowsKind::kDecode:
      sequence.context_length = draw_length(lengths, stream);
      return sequence;
    case RowsKind::kChunk: {
      sequence.context_length = draw_length(lengths, stream);
      const std::int64_t fewer = std::min(domain.num_rows_max, sequence.context_length - 1);
      sequence.num_rows = draw_between(1, std::max<std::int64_t>(1, fewer), stream);
      return sequence;
    }
    case RowsKind::kPrefill:
      lengths.max = std::min(lengths.max, domain.num_rows_max);
      sequence.context_length = draw_length(lengths, stream);
      sequence.num_rows = std::max<std::int64_t>(1, sequence.context_length);
      return sequence;
    case RowsKind::kBeyondContext:
      lengths.max = std::min(lengths.max, domain.num_rows_max - 1);
      sequence.context_length = draw_length(lengths, stream);
      sequence.num_rows = draw_between(sequence.context_length + 1, domain.num_rows_max, stream);
      return sequence;
    case RowsKind::kMixed: {
      const bool has_no_rows = draw_one_in(8, stream);
      const RowsKind own = kRowsKinds[stream.next_below(std::size(kRowsKinds) - 1)];
      sequence = draw_sequence(own, domain, lengths, stream);
      if (has_no_rows) sequence.num_rows = 0;
      return sequence;
    }
  }
  RECTO_UNREACHABLE("all kinds are listed");
}

// Draws until a sequence has the first one's minimum sizes, or attempts run out.
SequenceSpec draw_first_sequence(RowsKind kind, const CaseDomain& domain,
                                 const LengthDomain& lengths, RandomStream& stream) {
  constexpr int kAttempts = 256;
  SequenceSpec sequence = draw_sequence(kind, domain, lengths, stream);
  for (int attempt = 1; attempt < kAttempts; ++attempt) {
    if (sequence.context_length >= domain.first_context_min &&
        sequence.num_rows >= domain.first_rows_min) {
      return sequence;
    }
    sequence = draw_sequence(kind, domain, lengths, stream);
  }
  return sequence;
}

std::vector<SequenceSpec> draw_sequences(const CaseDomain& domain, std::int64_t block_size,
                                         RandomStream stream) {
  LengthDomain lengths{.sizes = domain.tile_sizes, .max = domain.context_max};
  lengths.sizes.push_back(block_size);
  const RowsKind kind = draw_of(domain.rows, stream);
  const std::int64_t count = draw_between(domain.num_seqs_min, domain.num_seqs_max, stream);
  std::vector<SequenceSpec> sequences = {draw_first_sequence(kind, domain, lengths, stream)};
  for (std::int64_t i = 1; i < count; ++i) {
    LengthDomain own = lengths;
    if (domain.lengths == Lengths::kSkewed) own.max >>= draw_between(0, 6, stream);
    sequences.push_back(draw_sequence(kind, domain, own, stream));
    sequences.back().id = static_cast<std::uint64_t>(i);
  }
  return sequences;
}

float draw_scale(const CaseDomain& domain, std::int64_t head_dim, RandomStream& stream) {
  const double dim = static_cast<double>(head_dim);
  const double usual = 1.0 / std::sqrt(dim);
  const double scales[] = {usual, usual, usual, 0.5 * usual, 2.0 * usual, 1.0 / dim, 0.125, 1.0};
  const double sign = draw_one_in(8, stream) && domain.has_negative_scale ? -1.0 : 1.0;
  return static_cast<float>(sign * draw_of(scales, stream));
}

OptionsSpec draw_options(const CaseDomain& domain, const CaseSpec& spec, RandomStream stream) {
  OptionsSpec options;
  options.scale = draw_scale(domain, spec.shape.head_dim_k, stream);
  options.causal = !draw_one_in(4, stream) || !domain.has_non_causal;
  if (draw_one_in(4, stream) && domain.has_softcap) {
    constexpr float kCaps[] = {0.5F, 5.0F, 30.0F, 50.0F};  // the last two: Gemma 2
    options.softcap = draw_of(kCaps, stream);
  }
  if (draw_one_in(3, stream) && domain.has_window) options.window = draw_window(spec, stream);
  if (draw_one_in(4, stream) && domain.has_alibi) {
    constexpr AlibiFamily kSlopes[] = {AlibiFamily::kUsual, AlibiFamily::kUsual,
                                       AlibiFamily::kNegative, AlibiFamily::kMixed};
    options.alibi = draw_of(kSlopes, stream);
  }
  if (draw_one_in(3, stream) && domain.has_sinks) {
    constexpr SinkFamily kUsual[] = {SinkFamily::kZero, SinkFamily::kNormal,
                                     SinkFamily::kNegligible, SinkFamily::kDominating,
                                     SinkFamily::kComparable};
    options.sinks = draw_of(kUsual, stream);
  }
  constexpr ScaleKind kKinds[] = {ScaleKind::kNone, ScaleKind::kPerTensor, ScaleKind::kPerKvHead};
  if (domain.has_scales && is_fp8(spec.shape.kv_type)) {
    options.k_scales = draw_of(kKinds, stream);
    options.v_scales = draw_of(kKinds, stream);
  }
  return options;
}

// Draws a family that is not excluded.
FloatFamily draw_family(const CaseDomain& domain, const std::vector<FloatFamily>& excluded,
                        RandomStream& stream) {
  FloatFamily family = draw_of(domain.families, stream);
  while (std::ranges::count(excluded, family) > 0) family = draw_of(domain.families, stream);
  return family;
}

double draw_farthest(const CaseDomain& domain, RandomStream& stream) {
  constexpr double kFarthest[] = {-kScoreLimit, -kScoreLimit, -kScoreLimit, -3000.0, kScoreLimit};
  const double farthest = draw_of(kFarthest, stream);
  return domain.has_negative_scale ? farthest : std::abs(farthest);
}

Placement draw_placement(const CaseDomain& domain, KvLayout layout, RandomStream stream) {
  Placement placement{.layout = layout, .block_size = draw_of(domain.block_sizes, stream)};
  placement.order = draw_of(kBlockOrders, stream);
  placement.spare_blocks = draw_between(0, 3, stream);
  if (placement.order == BlockOrder::kHighIds) {
    // Small blocks get many spare ones; a pool with as many large ones would be slow to fill.
    placement.spare_blocks += 4 + 256 / placement.block_size;
  }
  if (domain.has_padding) {
    placement.block_padding = 16 * std::max<std::int64_t>(0, draw_between(-2, 2, stream));
    placement.row_padding = 16 * std::max<std::int64_t>(0, draw_between(-2, 2, stream));
    placement.table_padding = std::max<std::int64_t>(0, draw_between(-2, 5, stream));
  }
  placement.garbage_beyond_table = !draw_one_in(4, stream);
  placement.shares_prefixes = draw_one_in(3, stream);
  placement.poison = draw_of(domain.poisons, stream);
  if (draw_one_in(3, stream)) placement.poisoned = draw_of(kPoisonedTensors, stream);
  placement.seed = draw_seed(stream);
  return placement;
}

// Draws any case of the domain. Each part has its own random stream.
CaseSpec draw_any(const CaseDomain& domain, const RandomStream& stream) {
  RandomStream own = stream.split("case");
  CaseSpec spec;
  const KvLayout layout = draw_of(domain.layouts, own);
  spec.seed = draw_seed(own);
  spec.q = draw_family(domain, {FloatFamily::kHugeValues, FloatFamily::kDominatingKey}, own);
  spec.k = draw_family(domain, {FloatFamily::kHugeValues}, own);
  spec.v = draw_family(domain, {FloatFamily::kDominatingKey}, own);
  spec.shape = draw_shape(domain, layout, stream.split("shape"));
  spec.placement = draw_placement(domain, layout, stream.split("placement"));
  spec.sequences = draw_sequences(domain, spec.placement.block_size, stream.split("sequences"));
  if (spec.placement.shares_prefixes && spec.k != FloatFamily::kDominatingKey) {
    const LengthDomain lengths{.sizes = {spec.placement.block_size}, .max = spec.longest_context()};
    spec.shared_prefix = draw_length(lengths, own);
  }
  spec.options = draw_options(domain, spec, stream.split("options"));
  if (draw_one_in(16, own)) reach_score(kScoreLimit, spec);
  RandomStream far = stream.split("far scores");
  if (domain.has_far_scores && draw_one_in(8, far))
    move_scores_far(draw_farthest(domain, far), spec);
  if (score_bound(spec) > kScoreLimit) {
    spec.options.scale = static_cast<float>(1.0 / static_cast<double>(spec.shape.head_dim_k));
  }
  if (score_bound(spec) > kScoreLimit) spec.options.alibi = AlibiFamily::kNone;
  RandomStream gaps = stream.split("gaps");
  if (domain.has_padding && draw_one_in(3, gaps)) {
    const std::int64_t unit = domain.gap_units[spec.seed % domain.gap_units.size()];
    const Gaps drawn = draw_gaps(spec.shape, spec.placement, unit, gaps);
    for (const Gap gap : domain.gaps) spec.placement.gaps.*gap = drawn.*gap;
  }
  meet_requirements(domain, stream.split("demands"), spec);
  RECTO_CHECK_EQ(check_case(spec), Status::ok());
  return spec;
}

}  // namespace

std::int64_t count_equal_dimensions(const CaseSpec& spec) {
  const std::int64_t block_size = spec.placement.block_size;
  std::vector<std::int64_t> sizes = {static_cast<std::int64_t>(spec.sequences.size()),
                                     spec.longest_context(),
                                     spec.shape.num_q_heads,
                                     spec.shape.num_kv_heads,
                                     spec.shape.head_dim_k,
                                     spec.shape.head_dim_v,
                                     block_size,
                                     ceil_div(spec.longest_context(), block_size)};
  const bool is_decode = std::ranges::all_of(
      spec.sequences, [](const SequenceSpec& sequence) { return sequence.num_rows == 1; });
  if (!is_decode) sizes.push_back(spec.num_rows());
  std::int64_t pairs = 0;
  for (auto one = sizes.begin(); one != sizes.end(); ++one) {
    pairs += std::count(one + 1, sizes.end(), *one);
  }
  return pairs;
}

CaseSpec draw_case(RandomStream& stream, const CaseDomain& domain) {
  constexpr std::uint64_t kAttempts = 64;
  const RandomStream root(stream.next_u64());
  RandomStream mode = root.split("mode");
  CaseSpec best = draw_any(domain, root.split(0));
  if (domain.dimensions == Dimensions::kAny || draw_one_in(4, mode)) return best;
  const std::int64_t unavoidable = domain.value_head_dim == ValueHeadDim::kSameAsKeys ? 1 : 0;
  std::int64_t fewest = count_equal_dimensions(best);
  for (std::uint64_t attempt = 1; attempt < kAttempts && fewest > unavoidable; ++attempt) {
    CaseSpec spec = draw_any(domain, root.split(attempt));
    const std::int64_t equal = count_equal_dimensions(spec);
    if (equal >= fewest) continue;
    fewest = equal;
    best = std::move(spec);
  }
  return best;
}

}  // namespace recto::verify
