#include "verify/explanation/row_hypotheses.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <functional>
#include <iterator>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "reference/kv_cache_reader.h"
#include "reference/online_softmax.h"

namespace recto::verify {
namespace {

using reference::BoundedResult;
using reference::Matrix;
using reference::SoftmaxState;
using reference::Vector;

constexpr std::int64_t kBlocksCutMax = 64;  // multiples of the block size after which keys are cut
constexpr std::int64_t kSplitsMax = 16;

// A row of one head with the keys that it should see.
struct Row {
  std::int64_t row = 0;  // of the batch
  std::int64_t head = 0;
  std::int64_t context_length = 0;
  std::int64_t first_key = 0;  // of those that are seen
  Vector scores;               // of each
  // [seen, 2 head_dim_v]: V, and beside it its magnitudes, of which a fault makes those of its
  // sums.
  Matrix values;
  std::optional<double> sink;
};

void for_each_row(const PagedAttentionInputs& inputs,
                  const std::function<void(const Row&)>& visit) {
  reference::for_each_kv_head(inputs, [&](const reference::KvHeadContext& context) {
    const std::int64_t keys = context.k.rows();
    Matrix values(keys, 2 * context.v.cols());
    values << context.v, context.v.cwiseAbs();
    for (std::int64_t head = context.q_head_begin; head < context.q_head_end; ++head) {
      const reference::HeadOptions options = reference::head_options(inputs.options, head);
      const Matrix q = reference::read_rows(inputs.q, head, context.first_row, context.num_rows);
      for (std::int64_t row = 0; row < context.num_rows; ++row) {
        const auto seen = reference::visible_keys(options, row, context.num_rows, keys);
        const std::int64_t distance =
            seen.begin - reference::position_of(row, context.num_rows, keys);
        visit({.row = context.first_row + row,
               .head = head,
               .context_length = keys,
               .first_key = seen.begin,
               .scores = reference::score_keys(
                   q.row(row), context.k.middleRows(seen.begin, seen.size()), options, distance),
               .values = values.middleRows(seen.begin, seen.size()),
               .sink = options.sink});
      }
    }
  });
}

reference::RowOutput right_row(const Row& row) {
  const SoftmaxState state = row.scores.size() == 0 ? SoftmaxState::identity(row.values.cols())
                                                    : reference::tile_state(row.scores, row.values);
  return reference::finish(state, row.sink);
}

// Rounding errors grow with what is summed, which may be more than in a right result.
class FaultyResult {
 public:
  explicit FaultyResult(const HypothesisTrial& trial)
      : result_(trial.right()), roundings_(8.0 * trial.numerics().unit_roundoff) {}

  void store(const Row& row, const reference::RowOutput& right,
             const reference::RowOutput& faulty) {
    const std::int64_t dims = faulty.out.size() / 2;
    for (std::int64_t dim = 0; dim < dims; ++dim)
      result_.exact.out_at(row.row, row.head, dim) = faulty.out[dim];
    result_.exact.lse_ln_at(row.row, row.head) = faulty.lse_ln;
    for (reference::AttentionResult* bound : {&result_.hard, &result_.sharp}) {
      double& of_sum = bound->lse_ln_at(row.row, row.head);
      of_sum += roundings_;
      for (std::int64_t dim = 0; dim < dims; ++dim) {
        const double magnitude = faulty.out[dims + dim];
        const double of_right = right.out[dims + dim];
        const double growth = of_right > 0.0 ? magnitude / of_right : 1.0;
        double& of_out = bound->out_at(row.row, row.head, dim);
        // Errors of weights that all share cancel from a mean, which a fault may not be.
        of_out = of_out * std::max(1.0, growth) + of_sum * magnitude;
      }
    }
  }

  const BoundedResult& result() const { return result_; }

 private:
  BoundedResult result_;
  double roundings_;
};

std::int64_t longest_context(const PagedAttentionInputs& inputs) {
  std::int64_t longest = 0;
  for (const std::int32_t length : inputs.context_length)
    longest = std::max<std::int64_t>(longest, length);
  return longest;
}

// Powers of two and multiples of the block size, below `end`.
std::set<std::int64_t> usual_sizes(std::int64_t block_size, std::int64_t multiples,
                                   std::int64_t end) {
  std::set<std::int64_t> sizes;
  for (std::int64_t size = 1; size < end; size *= 2) sizes.insert(size);
  for (std::int64_t i = 1; i <= multiples && i * block_size < end; ++i)
    sizes.insert(i * block_size);
  return sizes;
}

reference::RowOutput cut_off(const Row& row, std::int64_t end) {
  const std::int64_t seen = std::clamp<std::int64_t>(end - row.first_key, 0, row.scores.size());
  Row cut = row;
  cut.scores.conservativeResize(seen);
  cut.values.conservativeResize(seen, row.values.cols());
  return right_row(cut);
}

// How keys are divided into parts that are summed by themselves, one after the other or each alone.
struct Parts {
  std::string text;
  std::function<std::int64_t(std::int64_t context_length)> size;  // keys
};

std::vector<Parts> usual_parts(const PagedAttentionInputs& inputs) {
  const std::int64_t block_size = inputs.kv.k.block_size;
  std::vector<Parts> parts;
  for (const std::int64_t size : usual_sizes(block_size, 8, longest_context(inputs)))
    parts.push_back({fmt::format("parts of {}", size), [size](std::int64_t) { return size; }});
  for (std::int64_t splits = 2; splits <= kSplitsMax; ++splits) {
    parts.push_back({fmt::format("{} splits", splits), [=](std::int64_t context_length) {
                       const std::int64_t blocks = (context_length + block_size - 1) / block_size;
                       return std::max<std::int64_t>(1, (blocks + splits - 1) / splits) *
                              block_size;
                     }});
  }
  return parts;
}

// Of the keys that are seen in each part, beside the part's own maximum.
std::vector<SoftmaxState> states_of(const Row& row, std::int64_t part_size) {
  std::vector<SoftmaxState> states;
  const std::int64_t end = row.first_key + row.scores.size();
  for (std::int64_t key = row.first_key; key < end;) {
    const std::int64_t next = std::min(end, (key / part_size + 1) * part_size);
    states.push_back(reference::tile_state(row.scores.segment(key - row.first_key, next - key),
                                           row.values.middleRows(key - row.first_key, next - key)));
    key = next;
  }
  return states;
}

enum class Maximum { kRunning, kOwn };  // beside which a part's weights are left
enum class Unscaled { kBoth, kOutput, kSum, kMeanOfParts };

struct SumFault {
  Maximum maximum;
  Unscaled unscaled;
  const char* what;
};

constexpr SumFault kSumFaults[] = {
    {Maximum::kRunning, Unscaled::kBoth,
     "sum and output of the keys before are not rescaled as the running maximum grows"},
    {Maximum::kRunning, Unscaled::kOutput,
     "the output of the keys before is not rescaled as the running maximum grows"},
    {Maximum::kRunning, Unscaled::kSum,
     "the sum of the keys before is not rescaled as the running maximum grows"},
    {Maximum::kOwn, Unscaled::kBoth,
     "sums and outputs of parts are merged without rescaling to their common maximum"},
    {Maximum::kOwn, Unscaled::kOutput,
     "outputs of parts are merged without rescaling to their common maximum"},
    {Maximum::kOwn, Unscaled::kSum,
     "sums of parts are merged without rescaling to their common maximum"},
    {Maximum::kOwn, Unscaled::kMeanOfParts,
     "normalised outputs of parts are averaged, unweighted"}};

reference::RowOutput sum_wrongly(const Row& row, const std::vector<SoftmaxState>& states,
                                 const SumFault& fault) {
  SoftmaxState right = SoftmaxState::identity(row.values.cols());
  SoftmaxState wrong = right;
  Vector mean = right.weighted;
  for (const SoftmaxState& state : states) {
    right = reference::merge(right, state);
    // Left as it is from here on.
    const double beside = fault.maximum == Maximum::kOwn ? state.maximum : right.maximum;
    wrong.sum += state.sum * std::exp(state.maximum - beside);
    wrong.weighted += state.weighted * std::exp(state.maximum - beside);
    mean += state.weighted / state.sum / static_cast<double>(states.size());
  }
  SoftmaxState mixed = right;
  if (fault.unscaled == Unscaled::kBoth || fault.unscaled == Unscaled::kSum) mixed.sum = wrong.sum;
  if (fault.unscaled == Unscaled::kBoth || fault.unscaled == Unscaled::kOutput)
    mixed.weighted = wrong.weighted;
  if (fault.unscaled == Unscaled::kMeanOfParts) mixed.weighted = mean * right.sum;
  return reference::finish(mixed, row.sink);
}

}  // namespace

void add_cut_offs(HypothesisTrial& trial) {
  const PagedAttentionInputs& inputs = trial.inputs();
  const auto ends = usual_sizes(inputs.kv.k.block_size, kBlocksCutMax, longest_context(inputs));
  if (!trial.affords("keys cut off after the first of them", std::ssize(ends))) return;
  std::vector<std::string> fitting;
  for (const std::int64_t end : ends) {
    FaultyResult faulty(trial);
    for_each_row(inputs,
                 [&](const Row& row) { faulty.store(row, right_row(row), cut_off(row, end)); });
    if (trial.explains(faulty.result())) fitting.push_back(std::to_string(end));
  }
  if (!fitting.empty())
    trial.name(fmt::format("only the first {} keys of a context are seen", either_of(fitting)));
}

void add_unscaled_sums(HypothesisTrial& trial) {
  const std::vector<Parts> parts = usual_parts(trial.inputs());
  if (!trial.affords("sums that are not rescaled", std::ssize(parts))) return;
  constexpr std::size_t kFaults = std::size(kSumFaults);
  std::array<std::vector<std::string>, kFaults> fitting;
  for (const Parts& how : parts) {
    std::vector<FaultyResult> faulty(kFaults, FaultyResult(trial));
    for_each_row(trial.inputs(), [&](const Row& row) {
      const auto states = states_of(row, how.size(row.context_length));
      const reference::RowOutput right = right_row(row);
      for (std::size_t i = 0; i < kFaults; ++i)
        faulty[i].store(row, right, sum_wrongly(row, states, kSumFaults[i]));
    });
    for (std::size_t i = 0; i < kFaults; ++i)
      if (trial.explains(faulty[i].result())) fitting[i].push_back(how.text);
  }
  for (std::size_t i = 0; i < kFaults; ++i) {
    if (!fitting[i].empty())
      trial.name(fmt::format("{}, by {}", kSumFaults[i].what, either_of(fitting[i])));
  }
}

}  // namespace recto::verify
