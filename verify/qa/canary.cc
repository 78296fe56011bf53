#include "verify/qa/canary.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "core/units.h"
#include "verify/qa/canary_reader.h"

namespace recto::verify {
namespace {

using reference::HeadOptions;
using reference::Matrix;
using reference::Vector;

constexpr std::int64_t kTileSize = 16;
constexpr std::int64_t kPartSize = 32;  // keys that are normalised on their own, when merging
constexpr double kMinusInfinity = -std::numeric_limits<double>::infinity();

struct State {
  double maximum = kMinusInfinity;
  double sum = 0;
  Vector weighted;
};

// One query row of one head.
class FaultyRow {
 public:
  FaultyRow(const HeadOptions& options, Fault fault) : options_(options), fault_(fault) {}

  Matrix k;  // [n, head_dim_k], and the tail of the last block where that is the fault
  Matrix v;  // [n, head_dim_v]
  Eigen::RowVectorXd q;
  std::int64_t row = 0;
  std::int64_t num_rows = 1;
  std::int64_t context_length = 0;

  reference::RowOutput attend() const {
    std::vector<State> parts;
    const std::int64_t part_size = fault_ == Fault::kMergeWithoutWeights ? kPartSize : k.rows();
    for (std::int64_t first = 0; first < k.rows(); first += part_size) {
      parts.push_back(attend_to(first, std::min(first + part_size, k.rows())));
    }
    return finish(parts);
  }

 private:
  std::int64_t position() const { return context_length - num_rows + row; }

  bool is_visible(std::int64_t key) const {
    const std::int64_t place = fault_ == Fault::kTopLeftCausal ? row : position();
    const bool is_in_tail = key >= context_length;
    const std::int64_t window_shift = fault_ == Fault::kWindowOffByOne ? 1 : 0;
    if (options_.causal && key > place && !is_in_tail) return false;
    if (options_.window && key <= position() - *options_.window + window_shift) return false;
    return fault_ != Fault::kLastKeyDropped || key != context_length - 1;
  }

  double score(std::int64_t key) const {
    double score = options_.scale * q.dot(k.row(key));
    if (fault_ == Fault::kScaleAppliedTwice) score *= options_.scale;
    const bool masks_first = fault_ == Fault::kSoftcapAfterMask;
    if (masks_first && !is_visible(key)) score = kMinusInfinity;
    if (options_.softcap > 0) score = options_.softcap * std::tanh(score / options_.softcap);
    const double sign = fault_ == Fault::kBiasSign ? -1 : 1;
    score += sign * options_.alibi_slope * static_cast<double>(key - position());
    return masks_first || is_visible(key) ? score : kMinusInfinity;
  }

  State attend_to(std::int64_t first, std::int64_t end) const {
    State state;
    state.weighted = Vector::Zero(v.cols());
    for (std::int64_t tile = first; tile < end; tile += kTileSize) {
      Vector scores(std::min(kTileSize, end - tile));
      for (std::int64_t key = 0; key < scores.size(); ++key) scores[key] = score(tile + key);
      const double maximum = std::max(state.maximum, scores.maxCoeff());
      if (maximum == kMinusInfinity) continue;
      if (fault_ != Fault::kMissingRescale) {
        state.sum *= std::exp(state.maximum - maximum);
        state.weighted *= std::exp(state.maximum - maximum);
      }
      state.maximum = maximum;
      for (std::int64_t key = 0; key < scores.size(); ++key) {
        const double weight = std::exp(scores[key] - maximum);
        state.sum += weight;
        // A slot that is not attended to may hold NaN.
        if (weight > 0) state.weighted += weight * v.row(tile + key).transpose();
      }
    }
    return state;
  }

  reference::RowOutput finish(const std::vector<State>& parts) const {
    const double sink = options_.sink.value_or(kMinusInfinity);
    double maximum = sink;
    for (const State& part : parts) maximum = std::max(maximum, part.maximum);
    reference::RowOutput output{Vector::Zero(v.cols()), sink};
    double keys = 0;
    double mean_count = 0;
    Vector mean = Vector::Zero(v.cols());
    for (const State& part : parts) {
      if (part.sum == 0) continue;
      keys += part.sum * std::exp(part.maximum - maximum);
      output.out += part.weighted * std::exp(part.maximum - maximum);
      mean += part.weighted / part.sum;
      mean_count += 1;
    }
    if (keys == 0) return output;
    const double denominator = keys + std::exp(sink - maximum);
    output.out /= denominator;
    if (fault_ == Fault::kMergeWithoutWeights) {
      output.out = mean / mean_count * (keys / denominator);
    }
    output.lse_ln = maximum + std::log(fault_ == Fault::kSinkLeftOutOfLogSum ? keys : denominator);
    if (fault_ == Fault::kBase2LogSum) output.lse_ln /= std::log(2.0);
    return output;
  }

  const HeadOptions& options_;
  Fault fault_;
};

// Keys that a faulty run looks at: those of the context, or whole blocks.
std::int64_t keys_read(const PagedAttentionInputs& inputs, std::int64_t context_length,
                       Fault fault) {
  if (fault != Fault::kTailRead) return context_length;
  return ceil_div(context_length, inputs.kv.k.block_size) * inputs.kv.k.block_size;
}

HeadOptions options_of_head(const AttentionOptions& options, std::int64_t head) {
  HeadOptions of_head;
  of_head.scale = options.scale;
  of_head.softcap = options.softcap;
  of_head.causal = options.causal;
  of_head.window = options.window;
  const auto index = static_cast<std::size_t>(head);
  if (!options.alibi_slopes.empty()) of_head.alibi_slope = options.alibi_slopes[index];
  if (!options.sinks.empty()) of_head.sink = options.sinks[index];
  return of_head;
}

void attend_head(const PagedAttentionInputs& inputs, std::size_t sequence, std::int64_t head,
                 Fault fault, reference::AttentionResult& result) {
  const std::int64_t num_kv_heads = inputs.kv.k.num_kv_heads;
  const std::int64_t kv_head = fault == Fault::kWrongGroup
                                   ? head % num_kv_heads
                                   : head / (inputs.q.num_heads / num_kv_heads);
  const HeadOptions options = options_of_head(inputs.options, head);
  const CanaryReader reader(inputs, fault);
  const std::int64_t first_row = inputs.query_start[sequence];
  FaultyRow row(options, fault);
  row.num_rows = inputs.query_start[sequence + 1] - first_row;
  row.context_length = inputs.context_length[sequence];
  const std::int64_t keys = keys_read(inputs, row.context_length, fault);
  row.k = reader.keys(static_cast<std::int64_t>(sequence), keys, kv_head);
  row.v = reader.values(static_cast<std::int64_t>(sequence), keys, kv_head);
  for (row.row = 0; row.row < row.num_rows; ++row.row) {
    row.q = reader.query(first_row + row.row, head);
    const reference::RowOutput output = row.attend();
    result.store(first_row + row.row, head,
                 {output.out.transpose(), Vector::Constant(1, output.lse_ln)});
  }
}

}  // namespace

const std::vector<Canary>& canaries() {
  static const std::vector<Canary> kCanaries = {
      {Fault::kWindowOffByOne, "window off by one", {"wide_window"}},
      {Fault::kTopLeftCausal, "top-left causal mask", {"chunking"}},
      {Fault::kSoftcapAfterMask, "soft cap after the mask", {"chunking"}},
      {Fault::kMissingRescale, "missing rescale", {"key_permutation"}},
      {Fault::kWrongGroup, "wrong group mapping", {"repeated_kv_heads"}},
      {Fault::kSinkLeftOutOfLogSum, "sink left out of lse", {"ones_give_one"}},
      {Fault::kLastKeyDropped, "last key dropped", {"key_duplication"}},
      {Fault::kTailRead, "tail of the last block read", {"unaddressed_slots"}},
      {Fault::kBase2LogSum, "lse in base 2", {"key_duplication"}},
      {Fault::kScaleAppliedTwice, "scale applied twice", {"logit_shift"}},
      {Fault::kBiasSign, "sign of the bias", {"alibi_as_scores"}},
      {Fault::kMergeWithoutWeights, "merge without weights", {"key_permutation"}},
      {Fault::kConsecutiveBlocks, "blocks taken for consecutive", {"physical_placement"}},
      {Fault::kTableWithoutStride,
       "block table without stride",
       {"physical_placement", "batch_independence"}},
      {Fault::kSlotByMask, "slot by a mask", {"block_size"}},
      {Fault::kKeyStridesForValues, "V by the strides of K", {"physical_placement"}},
      {Fault::kWrongPackWidth, "pack width of fp16", {"cache_layout"}},
      {Fault::kScaleLeftOut, "fp8 scale left out", {"logit_shift", "convex_hull"}},
      {Fault::kScaleOfFirstHead, "fp8 scale of the first head", {"logit_shift", "convex_hull"}},
  };
  return kCanaries;
}

reference::AttentionResult attend_with_fault(const PagedAttentionInputs& inputs, Fault fault) {
  reference::AttentionResult result(inputs.q.num_rows, inputs.q.num_heads, inputs.kv.v.head_dim);
  for (std::size_t sequence = 0; sequence < inputs.context_length.size(); ++sequence) {
    for (std::int64_t head = 0; head < inputs.q.num_heads; ++head) {
      attend_head(inputs, sequence, head, fault, result);
    }
  }
  return result;
}

Backend canary_backend(const std::string& name, Fault fault) {
  Backend backend;
  backend.name = name;
  backend.capabilities = {.has_fixed_tiles = true, .has_independent_sequences = true};
  backend.attend = always_done(
      [fault](const PagedAttentionInputs& inputs) { return attend_with_fault(inputs, fault); });
  backend.numerics_of = [](const PagedAttentionInputs&, const CallOptions&) {
    return reference::fp64_numerics(kTileSize);
  };
  backend.refusal = [](const PagedAttentionInputs&, const CallOptions&) { return std::nullopt; };
  return backend;
}

}  // namespace recto::verify
