// Fault models: a row reads the wrong keys of its sequence, sums their parts wrongly, or belongs to
// the wrong sequence.

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <set>
#include <string>
#include <vector>

#include "core/units.h"
#include "verify/explain/fault_model.h"

namespace recto::verify {
namespace {

using reference::SequenceRows;

constexpr std::int64_t kBlocksCutMax = 64;  // multiples of the block size after which keys are cut
constexpr std::int64_t kSplitsMax = 16;

// Powers of two and multiples of the block size, below the longest context.
std::set<std::int64_t> usual_sizes(const FailedCase& of, std::int64_t multiples) {
  const std::int64_t block_size = of.inputs.kv.k.block_size;
  const std::int64_t end =
      std::ranges::max(of.sequences, {}, &SequenceRows::context_length).context_length;
  std::set<std::int64_t> sizes;
  for (std::int64_t size = 1; size < end; size *= 2) sizes.insert(size);
  for (std::int64_t i = 1; i <= multiples && i * block_size < end; ++i)
    sizes.insert(i * block_size);
  return sizes;
}

// Hides the keys from `end` on.
void end_at(AttentionRow& row, std::int64_t end) {
  const reference::KeyRange visible = row.visible();
  if (end >= visible.end) return row.keep_right_result();
  row.keys = {visible.begin, std::max(visible.begin, end)};
}

// What the weights of a part's keys are relative to, as a kernel goes through the parts.
enum class Beside : std::uint8_t {
  kRunningMaximum,
  kOwnMaximum,
  kOwnSum,  // and each part counts the same
};

// A fault of sums in parts: whether output and sum have such weights.
struct UnscaledSum {
  Beside beside;
  bool is_of_output;
  bool is_of_sum;
  const char* name;
};

constexpr UnscaledSum kUnscaledSums[] = {
    {Beside::kRunningMaximum, true, true,
     "sum and output of the keys before are not rescaled as the running maximum grows, by {}"},
    {Beside::kRunningMaximum, true, false,
     "the output of the keys before is not rescaled as the running maximum grows, by {}"},
    {Beside::kRunningMaximum, false, true,
     "the sum of the keys before is not rescaled as the running maximum grows, by {}"},
    {Beside::kOwnMaximum, true, true,
     "sums and outputs of parts are merged without rescaling to their common maximum, by {}"},
    {Beside::kOwnMaximum, true, false,
     "outputs of parts are merged without rescaling to their common maximum, by {}"},
    {Beside::kOwnMaximum, false, true,
     "sums of parts are merged without rescaling to their common maximum, by {}"},
    {Beside::kOwnSum, true, false, "normalised outputs of parts are averaged, unweighted, by {}"}};

void sum_wrongly(AttentionRow& row, const UnscaledSum& fault, std::int64_t part_size) {
  row.weigh();
  if (row.keeps_right_result) return;
  const reference::KeyRange keys = *row.keys;
  const std::int64_t parts = (keys.end - 1) / part_size - keys.begin / part_size + 1;
  reference::Vector wrong(keys.size());
  double running = -std::numeric_limits<double>::infinity();
  for (std::int64_t begin = keys.begin; begin < keys.end;) {
    const std::int64_t end = std::min(keys.end, (begin / part_size + 1) * part_size);
    const auto scores = row.scores.segment(begin - keys.begin, end - begin);
    auto weights = wrong.segment(begin - keys.begin, end - begin);
    running = std::max(running, scores.maxCoeff());
    const bool is_running = fault.beside == Beside::kRunningMaximum;
    weights = (scores.array() - (is_running ? running : scores.maxCoeff())).exp();
    if (fault.beside == Beside::kOwnSum)
      weights *= row.weights.sum() / weights.sum() / static_cast<double>(parts);
    begin = end;
  }
  if (fault.is_of_output) row.weights_of_out = wrong;
  if (fault.is_of_sum) row.weights_of_sum = wrong;
}

// Rows of tiles: of matrix instructions and of the tiles that kernels build from them; and keys.
constexpr std::int64_t kTileRows[] = {16, 32, 64, 128};
constexpr std::int64_t kTileKeys[] = {1, 8, 16, 32, 64, 128};

// A tile has `rows` pairs of a token and a head of the group, with the pairs of a token adjacent,
// and reads `keys` at a time, masked or not. Its keys end as if the first token had all its heads
// in it.
void end_with_tile(AttentionRow& row, std::int64_t rows, std::int64_t keys) {
  const std::int64_t group = row.of.group();
  const std::int64_t pair = row.at.row * group + row.at.head % group;
  const std::int64_t last_token = pair / rows * rows / group + (rows - 1) / group;
  const std::int64_t position =
      reference::position_of(last_token, row.num_rows, row.context_length);
  end_at(row, ceil_div(std::max<std::int64_t>(0, position + 1), keys) * keys);
}

// A (wrong) search for the sequence of row `row` of the batch, whose own sequence is `own`.
struct Search {
  const char* name;
  std::int64_t (*find)(const std::vector<SequenceRows>& all, std::int64_t own, std::int64_t row);
};

bool is_last(const SequenceRows& sequence, std::int64_t row) {
  return row + 1 == sequence.first_row + sequence.num_rows;
}

constexpr Search kSearches[] = {
    {"a row where several sequences start is attributed to the first of them, which has no rows",
     [](const auto& all, std::int64_t own, std::int64_t row) {
       while (own > 0 && all[own - 1].first_row == row) --own;
       return own;
     }},
    {"the first row of a sequence is attributed to the sequence before it",
     [](const auto& all, std::int64_t own, std::int64_t row) {
       return row == all[own].first_row ? std::max<std::int64_t>(0, own - 1) : own;
     }},
    {"the first row of a sequence is attributed to the last sequence that starts before it",
     [](const auto& all, std::int64_t own, std::int64_t row) {
       while (own > 0 && all[own].first_row >= row) --own;  // or the first sequence
       return own;
     }},
    {"the last row of a sequence is attributed to the sequence after it",
     [](const auto& all, std::int64_t own, std::int64_t row) {
       return is_last(all[own], row) ? std::min(std::ssize(all) - 1, own + 1) : own;
     }},
    {"the last row of a sequence is attributed to the next sequence with rows",
     [](const auto& all, std::int64_t own, std::int64_t row) {
       if (!is_last(all[own], row)) return own;
       std::int64_t found = own + 1;
       while (found < std::ssize(all) && all[found].num_rows == 0) ++found;
       return found < std::ssize(all) ? found : own;
     }},
    {"sequences without rows are not counted, so that rows are attributed to an earlier sequence",
     [](const auto& all, std::int64_t own, std::int64_t) {
       return std::count_if(all.begin(), all.begin() + own,
                            [](const SequenceRows& sequence) { return sequence.num_rows > 0; });
     }}};

// The position that the row then has in the sequence that was found.
enum class Standing : std::uint8_t { kAsFound, kAtOrBeforeLast, kAsOwn };

void take_for_found(AttentionRow& row, const Search& search, Standing standing) {
  const std::int64_t in_batch = row.of.row_of(row.at);
  const std::int64_t found = search.find(row.of.sequences, row.at.sequence, in_batch);
  if (found == row.at.sequence) return row.keep_right_result();
  const SequenceRows& sequence = row.of.sequences[static_cast<std::size_t>(found)];
  row.read_sequence(sequence);
  const std::int64_t keys = sequence.context_length;
  const SequenceRows& counted =
      standing == Standing::kAsOwn ? row.of.sequence_of(row.at) : sequence;
  std::int64_t position =
      reference::position_of(in_batch - counted.first_row, counted.num_rows, keys);
  if (standing == Standing::kAtOrBeforeLast) position = std::min(position, keys - 1);
  // Among as many rows as keys, row `position` has that position.
  row.keys = reference::visible_keys(row.options, position, keys, keys);
  row.origin = position;
}

}  // namespace

FaultFamily cut_offs(const FailedCase& of) {
  FaultFamily family{.what = "contexts cut off after their first keys"};
  for (const std::int64_t end : usual_sizes(of, kBlocksCutMax)) {
    family.models.push_back({"only the first {} keys of a context are seen",
                             [=](AttentionRow& row) { end_at(row, end); }, std::to_string(end)});
  }
  return family;
}

FaultFamily unscaled_sums(const FailedCase& of) {
  FaultFamily family{.what = "sums that are not rescaled"};
  for (const UnscaledSum& fault : kUnscaledSums) {
    for (const std::int64_t size : usual_sizes(of, 8)) {
      family.models.push_back({fault.name,
                               [=](AttentionRow& row) { sum_wrongly(row, fault, size); },
                               fmt::format("parts of {}", size)});
    }
    for (std::int64_t splits = 2; splits <= kSplitsMax; ++splits) {
      const auto change = [=](AttentionRow& row) {
        const std::int64_t blocks = ceil_div(std::ssize(row.blocks), splits);
        sum_wrongly(row, fault, std::max<std::int64_t>(1, blocks) * row.block_size());
      };
      family.models.push_back({fault.name, change, fmt::format("{} splits", splits)});
    }
  }
  return family;
}

FaultFamily row_searches(const FailedCase& of) {
  // With one row per sequence there is no search.
  if (of.inputs.query_start.empty() || of.sequences.size() < 2) return {};
  FaultFamily family{.what = "rows attributed to other sequences"};
  for (const Search& search : kSearches) {
    for (const Standing standing :
         {Standing::kAsFound, Standing::kAtOrBeforeLast, Standing::kAsOwn}) {
      family.models.push_back(
          {search.name, [=](AttentionRow& row) { take_for_found(row, search, standing); }});
    }
  }
  return family;
}

FaultFamily tile_ends(const FailedCase& of) {
  if (!of.inputs.options.causal || of.inputs.query_start.empty()) return {};
  FaultFamily family{.what = "tiles whose keys end early"};
  for (const std::int64_t rows : kTileRows) {
    if (rows % of.group() == 0) continue;
    const std::string name = fmt::format(
        "tiles of {} rows (tokens times heads of a group) read keys, {{}} at a time, as if all "
        "heads of their first token were in the tile",
        rows);
    for (const std::int64_t keys : kTileKeys) {
      family.models.push_back(
          {name, [=](AttentionRow& row) { end_with_tile(row, rows, keys); }, std::to_string(keys)});
    }
  }
  return family;
}

}  // namespace recto::verify
