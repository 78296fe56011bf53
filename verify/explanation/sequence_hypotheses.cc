#include "verify/explanation/sequence_hypotheses.h"

#include <algorithm>
#include <cstdint>
#include <functional>
#include <iterator>
#include <optional>
#include <vector>

#include "reference/kv_cache_reader.h"
#include "verify/explanation/faulty_parts.h"

namespace recto::verify {
namespace {

using reference::BoundedResult;
using reference::SequenceRows;
using Sequences = std::vector<SequenceRows>;

std::int64_t first_row(const Sequences& sequences, std::int64_t at) {
  return sequences[static_cast<std::size_t>(at)].first_row;
}
std::int64_t num_rows(const Sequences& sequences, std::int64_t at) {
  return sequences[static_cast<std::size_t>(at)].num_rows;
}

// A row of the batch, and the sequence that it belongs to.
struct RowOfBatch {
  std::int64_t row = 0;
  std::int64_t sequence = 0;

  bool is_first(const Sequences& all) const { return row == first_row(all, sequence); }
  bool is_last(const Sequences& all) const {
    return row + 1 == first_row(all, sequence) + num_rows(all, sequence);
  }
};

// The sequence that is found for a row; its own, unless the search is wrong there.
struct Search {
  const char* what;
  std::int64_t (*find)(const Sequences& all, const RowOfBatch& row);
};

std::int64_t first_that_starts_there(const Sequences& all, const RowOfBatch& row) {
  std::int64_t found = row.sequence;
  while (found > 0 && first_row(all, found - 1) == row.row) --found;
  return found;
}

std::int64_t one_before(const Sequences& all, const RowOfBatch& row) {
  return row.is_first(all) ? std::max<std::int64_t>(0, row.sequence - 1) : row.sequence;
}

// The last one that starts before the row, or else the first.
std::int64_t last_that_starts_before(const Sequences& all, const RowOfBatch& row) {
  std::int64_t found = row.sequence;
  while (found > 0 && first_row(all, found) >= row.row) --found;
  return found;
}

std::int64_t one_after(const Sequences& all, const RowOfBatch& row) {
  return row.is_last(all) ? std::min(std::ssize(all) - 1, row.sequence + 1) : row.sequence;
}

std::int64_t next_with_rows(const Sequences& all, const RowOfBatch& row) {
  if (!row.is_last(all)) return row.sequence;
  std::int64_t found = row.sequence + 1;
  while (found < std::ssize(all) && num_rows(all, found) == 0) ++found;
  return found < std::ssize(all) ? found : row.sequence;
}

std::int64_t counted_with_rows(const Sequences& all, const RowOfBatch& row) {
  return std::count_if(all.begin(), all.begin() + row.sequence,
                       [](const SequenceRows& sequence) { return sequence.num_rows > 0; });
}

constexpr Search kSearches[] = {
    {"a row where several sequences start is taken for one of the first of them, which has no rows",
     first_that_starts_there},
    {"the first row of a sequence is taken for one of the sequence before it", one_before},
    {"the first row of a sequence is taken for one of the last that starts before it",
     last_that_starts_before},
    {"the last row of a sequence is taken for one of the sequence after it", one_after},
    {"the last row of a sequence is taken for one of the next that has rows", next_with_rows},
    {"sequences without rows are not counted, so that rows are taken for those of one before",
     counted_with_rows}};

// Where the row then stands in the sequence that was found.
enum class Standing { kAsFound, kAtOrBeforeLast, kAsOwn };

std::int64_t position_in(const Sequences& all, const RowOfBatch& row, std::int64_t found,
                         Standing standing) {
  const SequenceRows& sequence = all[static_cast<std::size_t>(found)];
  const SequenceRows& own = all[static_cast<std::size_t>(row.sequence)];
  const SequenceRows& counted = standing == Standing::kAsOwn ? own : sequence;
  const std::int64_t position = reference::position_of(row.row - counted.first_row,
                                                       counted.num_rows, sequence.context_length);
  return standing == Standing::kAtOrBeforeLast ? std::min(position, sequence.context_length - 1)
                                               : position;
}

class MisplacedRows {
 public:
  explicit MisplacedRows(HypothesisTrial& trial)
      : trial_(trial), sequences_(reference::sequences_of(trial.inputs())) {}

  bool fits(const Search& search, Standing standing) {
    BoundedResult faulty = trial_.right();
    bool is_faulty = false;
    for (std::int64_t s = 0; s < std::ssize(sequences_); ++s) {
      for (std::int64_t i = 0; i < num_rows(sequences_, s); ++i) {
        const RowOfBatch row{.row = first_row(sequences_, s) + i, .sequence = s};
        const std::int64_t found = search.find(sequences_, row);
        if (found == s) continue;
        is_faulty = true;
        store(row.row, found, position_in(sequences_, row, found, standing), faulty);
      }
    }
    return is_faulty && trial_.explains(faulty);
  }

 private:
  void store(std::int64_t row, std::int64_t found, std::int64_t position, BoundedResult& faulty) {
    const PagedAttentionInputs& inputs = trial_.inputs();
    const SequenceRows& sequence = sequences_[static_cast<std::size_t>(found)];
    const std::int64_t keys = sequence.context_length;
    const std::int64_t group = inputs.q.num_heads / inputs.kv.k.num_kv_heads;
    for (std::int64_t kv_head = 0; kv_head < inputs.kv.k.num_kv_heads; ++kv_head) {
      const std::int32_t* const blocks = sequence.block_table_row;
      const auto k = reference::gather_head(inputs.kv.k, blocks, keys, kv_head);
      const auto v = reference::gather_head(inputs.kv.v, blocks, keys, kv_head);
      for (std::int64_t head = kv_head * group; head < (kv_head + 1) * group; ++head) {
        const reference::HeadOptions options = reference::head_options(inputs.options, head);
        // Row `position` of as many as there are keys stands at that position.
        const auto seen = reference::visible_keys(options, position, keys, keys);
        store_row({.q = reference::read_rows(inputs.q, head, row, 1).row(0),
                   .k = k.middleRows(seen.begin, seen.size()),
                   .v = v.middleRows(seen.begin, seen.size()),
                   .options = options,
                   .first_distance = seen.begin - position},
                  trial_.numerics(), row, head, faulty);
      }
    }
  }

  HypothesisTrial& trial_;
  Sequences sequences_;
};

}  // namespace

void add_row_searches(HypothesisTrial& trial) {
  // With a row for each sequence nothing is searched for.
  if (trial.inputs().query_start.empty() || trial.inputs().context_length.size() < 2) return;
  const auto ways = static_cast<std::int64_t>(std::size(kSearches)) * 3;
  if (!trial.affords("rows taken for those of other sequences", ways)) return;
  MisplacedRows rows(trial);
  for (const Search& search : kSearches) {
    bool is_named = false;
    for (const Standing standing :
         {Standing::kAsFound, Standing::kAtOrBeforeLast, Standing::kAsOwn})
      is_named = rows.fits(search, standing) || is_named;
    if (is_named) trial.name(search.what);
  }
}

}  // namespace recto::verify
