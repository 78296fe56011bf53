#include "verify/explanation/table_hypotheses.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

namespace recto::verify {
namespace {

// Tables that read one block from another place: of larger cases, too many.
constexpr std::int64_t kOtherBlocksMax = 600;

// A copy of the table, to be changed.
struct Table {
  explicit Table(const PagedAttentionInputs& from) : inputs(from) {
    const BlockTableView& table = from.block_table;
    const std::int64_t rows = std::ssize(from.context_length);
    for (std::int64_t s = 0; s < rows; ++s) {
      const std::int32_t* row = table.data + s * table.row_stride;
      ids.insert(ids.end(), row, row + table.max_blocks);
    }
    inputs.block_table.data = ids.data();
    inputs.block_table.row_stride = table.max_blocks;
  }

  std::int32_t& at(std::int64_t sequence, std::int64_t block) {
    return ids[static_cast<std::size_t>(sequence * inputs.block_table.max_blocks + block)];
  }
  std::int64_t blocks_of(std::int64_t sequence) const {
    const std::int64_t length = inputs.context_length[static_cast<std::size_t>(sequence)];
    return (length + inputs.kv.k.block_size - 1) / inputs.kv.k.block_size;
  }

  std::vector<std::int32_t> ids;
  PagedAttentionInputs inputs;
};

// The table as rows at distances of `stride` would show it: nothing where that leaves the table, or
// finds what is no block, of which nobody knows what a kernel makes.
std::optional<Table> with_stride(const PagedAttentionInputs& inputs, std::int64_t stride) {
  const BlockTableView& own = inputs.block_table;
  const std::int64_t num_seqs = std::ssize(inputs.context_length);
  const std::int64_t entries = (num_seqs - 1) * own.row_stride + own.max_blocks;
  Table table(inputs);
  for (std::int64_t s = 0; s < num_seqs; ++s) {
    for (std::int64_t i = 0; i < table.blocks_of(s); ++i) {
      const std::int64_t place = s * stride + i;
      if (place >= entries) return std::nullopt;
      const std::int32_t id = own.data[place];
      if (id < 0 || id >= inputs.kv.k.num_blocks) return std::nullopt;
      table.at(s, i) = id;
    }
  }
  return table;
}

// Strides, each with where in a call it may have been taken from; up to twice the true one all of
// them, where the case is small.
std::map<std::int64_t, std::vector<std::string>> likely_strides(HypothesisTrial& trial) {
  const PagedAttentionInputs& inputs = trial.inputs();
  const std::int64_t block_size = inputs.kv.k.block_size;
  std::int64_t longest = 0;
  for (const std::int32_t length : inputs.context_length)
    longest = std::max<std::int64_t>(longest, (length + block_size - 1) / block_size);
  std::map<std::int64_t, std::vector<std::string>> strides;
  strides[0].emplace_back("every sequence reads the first one's row");
  strides[inputs.block_table.max_blocks].emplace_back("max_blocks");
  strides[longest].emplace_back("the blocks of the longest context");
  strides[std::ssize(inputs.context_length)].emplace_back("the number of sequences");
  strides[block_size].emplace_back("the block size");
  strides[inputs.kv.k.num_blocks].emplace_back("the number of blocks");
  const std::int64_t own = inputs.block_table.row_stride;
  if (trial.affords("rows of the block table at any distance", 2 * own))
    for (std::int64_t stride = 1; stride <= 2 * own; ++stride) strides.try_emplace(stride);
  strides.erase(own);
  return strides;
}

}  // namespace

void add_table_strides(HypothesisTrial& trial) {
  const PagedAttentionInputs& inputs = trial.inputs();
  const std::int64_t own = inputs.block_table.row_stride;
  if (inputs.context_length.size() < 2) return;
  std::vector<std::string> fitting;
  for (const auto& [stride, sources] : likely_strides(trial)) {
    const std::optional<Table> table = with_stride(inputs, stride);
    if (!table) continue;
    PagedAttentionInputs changed = table->inputs;
    changed.block_table.data = table->ids.data();
    if (!trial.explains(trial.bounded(changed))) continue;
    const std::string from = sources.empty() ? "" : fmt::format(" ({})", either_of(sources));
    fitting.push_back(std::to_string(stride) + from);
  }
  if (fitting.empty()) return;
  trial.name(fmt::format("rows of the block table are looked for at distances of {} in place of {}",
                         either_of(fitting), own));
}

void add_tables(HypothesisTrial& trial) {
  const std::int64_t num_seqs = std::ssize(trial.inputs().context_length);
  const auto num_blocks = static_cast<std::int32_t>(trial.inputs().kv.k.num_blocks);
  Table identity(trial.inputs());
  Table consecutive(trial.inputs());
  std::int64_t others = 0;
  for (std::int64_t s = 0; s < num_seqs; ++s) {
    for (std::int64_t i = 0; i < identity.blocks_of(s); ++i) {
      identity.at(s, i) = static_cast<std::int32_t>(i);
      consecutive.at(s, i) = (consecutive.at(s, 0) + static_cast<std::int32_t>(i)) % num_blocks;
      others += num_blocks;
    }
  }
  trial.add("logical blocks taken for physical ones", identity.inputs);
  trial.add("blocks taken to be consecutive", consecutive.inputs);
  if (others > kOtherBlocksMax) {
    return trial.leave_out(fmt::format("one block read from another place: {} ways, more than {}",
                                       others, kOtherBlocksMax));
  }
  for (std::int64_t s = 0; s < num_seqs; ++s) {
    Table table(trial.inputs());
    for (std::int64_t i = 0; i < table.blocks_of(s); ++i) {
      const std::int32_t own = table.at(s, i);
      for (std::int32_t id = 0; id < num_blocks; ++id) {
        if (id == own) continue;
        table.at(s, i) = id;
        trial.add(fmt::format("block {} of sequence {} is read from block {} in place of {}", i, s,
                              id, own),
                  table.inputs);
      }
      table.at(s, i) = own;
    }
  }
}

}  // namespace recto::verify
