#include "verify/canaries/canary.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "core/units.h"
#include "reference/kv_cache_reader.h"

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

void attend_head(const PagedAttentionInputs& inputs, const reference::SequenceRows& sequence,
                 std::int64_t head, Fault fault, reference::AttentionResult& result) {
  const std::int64_t num_kv_heads = inputs.kv.k.num_kv_heads;
  const std::int64_t kv_head = fault == Fault::kWrongGroup
                                   ? head % num_kv_heads
                                   : head / (inputs.q.num_heads / num_kv_heads);
  const HeadOptions options = reference::head_options(inputs.options, head);
  const std::int64_t keys = keys_read(inputs, sequence.context_length, fault);
  FaultyRow row(options, fault);
  row.k = reference::gather_head(inputs.kv.k, sequence.block_table_row, keys, kv_head);
  row.v = reference::gather_head(inputs.kv.v, sequence.block_table_row, keys, kv_head);
  row.num_rows = sequence.num_rows;
  row.context_length = sequence.context_length;
  const Matrix q = reference::read_rows(inputs.q, head, sequence.first_row, sequence.num_rows);
  for (row.row = 0; row.row < sequence.num_rows; ++row.row) {
    row.q = q.row(row.row);
    const reference::RowOutput output = row.attend();
    result.store(sequence.first_row + row.row, head,
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
  };
  return kCanaries;
}

reference::AttentionResult attend_with_fault(const PagedAttentionInputs& inputs, Fault fault) {
  reference::AttentionResult result(inputs.q.num_rows, inputs.q.num_heads, inputs.kv.v.head_dim);
  for (const reference::SequenceRows& sequence : reference::sequences_of(inputs)) {
    for (std::int64_t head = 0; head < inputs.q.num_heads; ++head) {
      attend_head(inputs, sequence, head, fault, result);
    }
  }
  return result;
}

Backend canary_backend(const std::string& name, Fault fault) {
  Backend backend;
  backend.name = name;
  backend.why_unsupported = [](const PagedAttentionInputs&) { return std::nullopt; };
  backend.run = [fault](const PagedAttentionInputs& inputs) {
    return attend_with_fault(inputs, fault);
  };
  backend.numerics = [](const PagedAttentionInputs&) {
    return reference::fp64_numerics(kTileSize);
  };
  backend.has_fixed_tiles = true;
  return backend;
}

}  // namespace recto::verify
