#include "verify/cases/case_shrinker.h"

#include <algorithm>
#include <cmath>
#include <iterator>
#include <numeric>
#include <utility>

#include "core/dense_kv_view.h"
#include "verify/cases/case_feature.h"

namespace recto::verify {
namespace {

// Collects changes of one case that make it simpler and leave it valid.
class Candidates {
 public:
  explicit Candidates(const CaseSpec& from) : from_(from), complexity_(complexity(from)) {}

  const CaseSpec& from() const { return from_; }

  template <typename Change>
  void add(const Change& change) {
    CaseSpec spec = from_;
    change(spec);
    if (spec.has_plain_kv()) spec.varied_tokens.reset();
    if (complexity(spec) < complexity_ && check_case(spec).is_ok()) {
      found_.push_back(std::move(spec));
    }
  }

  // Reduces `size(spec)`: to `least` first, then half the way there, a quarter ..., by 1.
  template <typename Size>
  void add_smaller(const Size& size, std::int64_t least = 0, std::int64_t unit = 1) {
    CaseSpec spec = from_;
    const std::int64_t now = size(spec);
    for (std::int64_t less = (now - least) / unit; less > 0; less /= 2) {
      add([&](CaseSpec& candidate) { size(candidate) = now - less * unit; });
    }
  }

  // Sets a member of a part of the case to something plainer.
  template <typename Part, typename Value>
  void add_value(Part CaseSpec::*part, Value Part::*member, const Value& value) {
    add([&](CaseSpec& spec) { spec.*part.*member = value; });
  }

  std::vector<CaseSpec> take() { return std::move(found_); }

 private:
  const CaseSpec& from_;
  std::int64_t complexity_;
  std::vector<CaseSpec> found_;
};

// Changes many things at once, to remove in a few steps what is unrelated to the failure.
void add_bold(Candidates& candidates) {
  candidates.add([](CaseSpec& spec) { spec.placement = plain_placement(); });
  candidates.add([](CaseSpec& spec) {
    const float scale = spec.options.scale;
    spec.options = OptionsSpec();
    spec.options.scale = scale;
  });
  candidates.add([](CaseSpec& spec) { spec.q = spec.k = spec.v = FloatFamily::kOnes; });
  candidates.add([](CaseSpec& spec) {
    for (SequenceSpec& sequence : spec.sequences) sequence.num_rows = 1;
  });
  candidates.add([](CaseSpec& spec) {
    for (SequenceSpec& sequence : spec.sequences) sequence.context_length /= 2;
  });
}

// The second half in reverse order; then the batch without its last half, quarter, ..., sequence.
void add_smaller_batches(Candidates& candidates) {
  const std::size_t count = candidates.from().sequences.size();
  candidates.add([&](CaseSpec& spec) {
    std::ranges::reverse(spec.sequences);
    spec.sequences.resize(count / 2);
  });
  for (std::size_t less = count / 2; less > 0; less /= 2)
    candidates.add([&](CaseSpec& spec) { spec.sequences.resize(count - less); });
}

void add_fewer_sequences(Candidates& candidates) {
  const std::size_t count = candidates.from().sequences.size();
  for (std::size_t i = 0; i < count; ++i) {
    candidates.add([&](CaseSpec& spec) { spec.sequences = {spec.sequences[i]}; });
  }
  for (std::size_t i = 0; i < count; ++i) {
    candidates.add([&](CaseSpec& spec) {
      spec.sequences.erase(spec.sequences.begin() + static_cast<std::ptrdiff_t>(i));
    });
  }
}

void add_shorter_sequences(Candidates& candidates) {
  for (std::size_t i = 0; i < candidates.from().sequences.size(); ++i) {
    candidates.add_smaller(
        [i](CaseSpec & spec) -> auto& { return spec.sequences[i].num_rows; }, 1);
    candidates.add_smaller([i](CaseSpec & spec) -> auto& {
      return spec.sequences[i].context_length;
    });
  }
  candidates.add_smaller([](CaseSpec & spec) -> auto& { return spec.shared_prefix; });
}

// Head dims of K and V together, for programs in which they are equal and give the scale.
void add_equal_head_dims(Candidates& candidates) {
  const ProblemShape& shape = candidates.from().shape;
  if (shape.head_dim_k != shape.head_dim_v) return;
  const auto usual = [](std::int64_t dim) { return scale_among(ScaleValues::kUsual, 1.0F, dim); };
  const bool is_usual = candidates.from().options.scale == usual(shape.head_dim_k);
  for (const std::int64_t dim : {8, 16, 32, 40, 48, 64, 80, 96, 128, 192}) {
    if (dim >= shape.head_dim_k) break;
    candidates.add([&](CaseSpec& spec) {
      spec.shape.head_dim_k = spec.shape.head_dim_v = dim;
      if (is_usual) spec.options.scale = usual(dim);
    });
  }
}

void add_smaller_heads(Candidates& candidates) {
  const ProblemShape& shape = candidates.from().shape;
  const auto add_heads = [&](std::int64_t num_kv_heads, std::int64_t group) {
    candidates.add([&](CaseSpec& spec) {
      spec.shape.num_kv_heads = num_kv_heads;
      spec.shape.num_q_heads = num_kv_heads * group;
    });
  };
  add_heads(1, 1);
  add_heads(1, shape.num_q_heads);  // all in one group
  for (std::int64_t less = shape.num_kv_heads - 1; less > 0; less /= 2) {
    add_heads(shape.num_kv_heads - less, shape.group());
  }
  for (std::int64_t less = shape.group() - 1; less > 0; less /= 2) {
    add_heads(shape.num_kv_heads, shape.group() - less);
  }
  const bool packed = candidates.from().placement.layout == KvLayout::kPacked;
  const std::int64_t pack = packed ? packed_width_k(shape.kv_type) : 1;
  candidates.add_smaller(
      [](CaseSpec & spec) -> auto& { return spec.shape.head_dim_k; }, pack, pack);
  candidates.add_smaller(
      [](CaseSpec & spec) -> auto& { return spec.shape.head_dim_v; }, 1);
  add_equal_head_dims(candidates);
}

void add_plainer_options(Candidates& candidates) {
  constexpr auto kOptions = &CaseSpec::options;
  candidates.add_value(kOptions, &OptionsSpec::window, std::optional<std::int64_t>());
  candidates.add_value(kOptions, &OptionsSpec::softcap, 0.0F);
  candidates.add_value(kOptions, &OptionsSpec::causal, true);
  for (const AlibiFamily family : kAlibiFamilies) {
    candidates.add_value(kOptions, &OptionsSpec::alibi, family);
  }
  for (const SinkFamily family : kSinkFamilies) {
    candidates.add_value(kOptions, &OptionsSpec::sinks, family);
  }
  for (const ScaleKind kind : {ScaleKind::kNone, ScaleKind::kPerTensor}) {
    candidates.add_value(kOptions, &OptionsSpec::k_scales, kind);
    candidates.add_value(kOptions, &OptionsSpec::v_scales, kind);
  }
  candidates.add_value(kOptions, &OptionsSpec::scale, 1.0F);
  candidates.add_value(kOptions, &OptionsSpec::scale, std::abs(candidates.from().options.scale));
  if (candidates.from().options.window) {
    candidates.add_smaller(
        [](CaseSpec & spec) -> auto& { return *spec.options.window; }, 1);
  }
}

void add_plainer_values(Candidates& candidates) {
  for (const TypePair& types : kTypePairs) {
    candidates.add([&](CaseSpec& spec) {
      spec.shape.q_type = types.q;
      spec.shape.kv_type = types.kv;
      if (!is_fp8(types.kv)) spec.options.k_scales = spec.options.v_scales = ScaleKind::kNone;
    });
  }
  for (const FloatFamily family : kFloatFamilies) {
    candidates.add([&](CaseSpec& spec) { spec.q = std::min(spec.q, family); });
    candidates.add([&](CaseSpec& spec) { spec.k = std::min(spec.k, family); });
    candidates.add([&](CaseSpec& spec) { spec.v = std::min(spec.v, family); });
  }
}

// Varies fewer tokens: none, either half, all but the first or the last.
void add_fewer_varied_tokens(Candidates& candidates) {
  const auto [begin, end] = candidates.from().tokens_varied();
  const std::int64_t middle = begin + (end - begin) / 2;
  for (const TokenRange& fewer :
       {TokenRange{0, 0}, TokenRange{begin, middle}, TokenRange{middle, end},
        TokenRange{begin + 1, end}, TokenRange{begin, end - 1}}) {
    if (fewer.end < fewer.begin) continue;
    candidates.add([&](CaseSpec& spec) { spec.varied_tokens = fewer; });
  }
}

void add_plainer_placement(Candidates& candidates) {
  constexpr auto kPlacement = &CaseSpec::placement;
  for (const KvLayout layout : {KvLayout::kTokenMajor, KvLayout::kHeadMajor}) {
    candidates.add_value(kPlacement, &Placement::layout, layout);
  }
  for (std::int64_t size = 1; size < candidates.from().placement.block_size; size *= 2) {
    candidates.add_value(kPlacement, &Placement::block_size, size);
  }
  if (candidates.from().placement.block_size > 16) {
    candidates.add_smaller(
        [](CaseSpec & spec) -> auto& { return spec.placement.block_size; }, 16, 16);
  }
  for (const BlockOrder order : kBlockOrders) {
    candidates.add_value(kPlacement, &Placement::order, order);
  }
  candidates.add_value(kPlacement, &Placement::garbage_beyond_table, false);
  candidates.add_value(kPlacement, &Placement::shares_prefixes, false);
  for (const Poison poison : kPoisons) {
    candidates.add_value(kPlacement, &Placement::poison, poison);
  }
  for (const PoisonedTensors poisoned : kPoisonedTensors) {
    candidates.add_value(kPlacement, &Placement::poisoned, poisoned);
  }
  candidates.add_value(kPlacement, &Placement::gaps, Gaps{});
  // Keeps the alignment: kernels that load vectors would refuse other gaps.
  for (const GapField& field : kGapFields) {
    const std::int64_t unit = std::gcd(candidates.from().placement.gaps.*field.gap, 16);
    candidates.add_smaller(
        [&](CaseSpec & spec) -> auto& { return spec.placement.gaps.*field.gap; }, 0, unit);
  }
  candidates.add_smaller([](CaseSpec & spec) -> auto& { return spec.placement.spare_blocks; });
  candidates.add_smaller([](CaseSpec & spec) -> auto& { return spec.placement.table_padding; });
  candidates.add_smaller(
      [](CaseSpec & spec) -> auto& { return spec.placement.block_padding; }, 0, 16);
  candidates.add_smaller(
      [](CaseSpec & spec) -> auto& { return spec.placement.row_padding; }, 0, 16);
}

void add_other_numbers(Candidates& candidates) {
  candidates.add_value(&CaseSpec::placement, &Placement::seed, std::uint64_t{0});
  candidates.add([](CaseSpec& spec) { spec.seed = 0; });
  candidates.add([](CaseSpec& spec) {
    for (std::size_t i = 0; i < spec.sequences.size(); ++i) spec.sequences[i].id = i;
  });
}

}  // namespace

std::vector<CaseSpec> simpler_cases(const CaseSpec& spec) {
  // With many sequences, changes to single ones come last: they would use up all trials.
  const bool has_few_sequences = spec.sequences.size() <= 8;
  Candidates candidates(spec);
  (has_few_sequences ? add_fewer_sequences : add_smaller_batches)(candidates);
  add_bold(candidates);
  if (has_few_sequences) add_shorter_sequences(candidates);
  add_smaller_heads(candidates);
  add_plainer_options(candidates);
  add_plainer_values(candidates);
  add_fewer_varied_tokens(candidates);
  add_plainer_placement(candidates);
  add_other_numbers(candidates);
  if (has_few_sequences) return candidates.take();
  add_fewer_sequences(candidates);
  add_shorter_sequences(candidates);
  return candidates.take();
}

}  // namespace recto::verify
