// Fault models: a row reads the wrong KV head or the wrong blocks.

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <limits>
#include <map>
#include <string>
#include <vector>

#include "core/units.h"
#include "verify/explain/fault_model.h"

namespace recto::verify {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();
constexpr double kNaN = std::numeric_limits<double>::quiet_NaN();
constexpr std::int64_t kHeadLimits[] = {8, 16, 32, 64};
constexpr std::int64_t kStridesMax = 4096;
// Limit on block tables with one block replaced; larger cases would have too many.
constexpr std::int64_t kOtherBlocksMax = 600;

std::int64_t blocks_of(const FailedCase& of, const reference::SequenceRows& sequence) {
  return ceil_div(sequence.context_length, of.inputs.kv.k.block_size);
}

// Whether a row stride leads to valid ids inside the table; elsewhere, the behaviour of a kernel is
// unknown.
bool is_readable(const FailedCase& of, std::int64_t stride) {
  const BlockTableView& table = of.inputs.block_table;
  const std::int64_t entries = (std::ssize(of.sequences) - 1) * table.row_stride + table.max_blocks;
  for (std::int64_t s = 0; s < std::ssize(of.sequences); ++s) {
    for (std::int64_t i = 0; i < blocks_of(of, of.sequences[static_cast<std::size_t>(s)]); ++i) {
      const std::int64_t entry = s * stride + i;
      if (entry >= entries) return false;
      if (table.data[entry] < 0 || table.data[entry] >= of.inputs.kv.k.num_blocks) return false;
    }
  }
  return true;
}

void read_at_stride(AttentionRow& row, std::int64_t stride) {
  std::vector<std::int32_t> ids = row.blocks;
  for (std::int64_t i = 0; i < std::ssize(ids); ++i)
    ids[static_cast<std::size_t>(i)] = row.of.inputs.block_table.data[row.at.sequence * stride + i];
  row.read_blocks(ids);
}

// Candidate strides: those with possible origins in the call, which are given, and all up to twice
// the true one.
std::map<std::int64_t, std::vector<std::string>> likely_strides(const FailedCase& of) {
  const std::int64_t own = of.inputs.block_table.row_stride;
  std::int64_t longest = 0;
  for (const auto& sequence : of.sequences) longest = std::max(longest, blocks_of(of, sequence));
  std::map<std::int64_t, std::vector<std::string>> strides;
  strides[0].emplace_back("every sequence reads the first one's row");
  strides[of.inputs.block_table.max_blocks].emplace_back("max_blocks");
  strides[longest].emplace_back("the blocks of the longest context");
  strides[std::ssize(of.sequences)].emplace_back("the number of sequences");
  strides[of.inputs.kv.k.block_size].emplace_back("the block size");
  strides[of.inputs.kv.k.num_blocks].emplace_back("the number of blocks");
  const std::int64_t end = std::min(2 * own, kStridesMax);
  for (std::int64_t stride = 1; stride <= end; ++stride) strides.try_emplace(stride);
  strides.erase(own);
  return strides;
}

}  // namespace

FaultFamily padded_groups(const FailedCase& of) {
  const std::int64_t group = of.group();
  const auto padded = static_cast<std::int64_t>(std::bit_ceil(static_cast<std::uint64_t>(group)));
  if (padded == group || of.num_kv_heads() == 1) return {};
  const std::string head = fmt::format("KV head h / {}: groups of {} are padded", padded, group);
  return {.models = {{"query head h attends to " + head,
                      [=](AttentionRow& row) { row.read_kv_head(row.at.head / padded); }},
                     {"query head h attends to V of " + head,
                      [=](AttentionRow& row) { row.v_head = row.at.head / padded; }},
                     {"query head h attends to K of " + head,
                      [=](AttentionRow& row) { row.k_head = row.at.head / padded; }}},
          .what = "groups padded to a power of two"};
}

FaultFamily head_limits(const FailedCase& of) {
  const std::int64_t kv_heads = of.num_kv_heads();
  const std::int64_t group = of.group();
  FaultFamily family{.what = "groups of more heads than a tile has"};
  for (const std::int64_t limit : kHeadLimits) {
    if (limit >= group) break;
    const auto add = [&](const std::string& what, const RowChange& change) {
      const auto change_beyond = [=](AttentionRow& row) {
        return row.at.head % group < limit ? row.keep_right_result() : change(row);
      };
      family.models.push_back(
          {fmt::format("the heads beyond the first {} of each group {}", limit, what),
           change_beyond});
    };
    add("get nothing", [](AttentionRow& row) { row.set_result(0.0, -kInfinity); });
    add("get nothing", [](AttentionRow& row) { row.set_result(0.0, 0.0); });
    add("get nothing", [](AttentionRow& row) { row.set_result(kNaN, kNaN); });
    if (kv_heads == 1) continue;
    add("attend to the KV head after their own",
        [=](AttentionRow& row) { row.read_kv_head((row.k_head + 1) % kv_heads); });
    add("attend to the first KV head", [](AttentionRow& row) { row.read_kv_head(0); });
    add("attend to the last KV head", [=](AttentionRow& row) { row.read_kv_head(kv_heads - 1); });
    family.models.push_back(
        {fmt::format("query head h attends to KV head h / {}", limit), [=](AttentionRow& row) {
           row.read_kv_head(std::min(row.at.head / limit, kv_heads - 1));
         }});
  }
  return family;
}

FaultFamily table_strides(const FailedCase& of) {
  if (of.sequences.size() < 2) return {};
  const std::int64_t own = of.inputs.block_table.row_stride;
  const std::string name =
      fmt::format("rows of the block table are read at a stride of {{}} in place of {}", own);
  FaultFamily family{.what = "strides of the block table"};
  for (const auto& [stride, sources] : likely_strides(of)) {
    if (!is_readable(of, stride)) continue;
    const std::string from = sources.empty() ? "" : fmt::format(" ({})", either_of(sources));
    family.models.push_back({name,
                             [stride = stride](AttentionRow& row) { read_at_stride(row, stride); },
                             std::to_string(stride) + from});
  }
  return family;
}

FaultFamily other_blocks(const FailedCase& of) {
  const auto num_blocks = static_cast<std::int32_t>(of.inputs.kv.k.num_blocks);
  std::int64_t others = 0;
  for (const auto& sequence : of.sequences) others += blocks_of(of, sequence) * num_blocks;
  if (others > kOtherBlocksMax) {
    return {.left_out = {fmt::format("one block read from another place: {} ways, more than {}",
                                     others, kOtherBlocksMax)}};
  }
  FaultFamily family{.what = "single blocks read from another place"};
  for (std::int64_t s = 0; s < std::ssize(of.sequences); ++s) {
    const reference::SequenceRows& sequence = of.sequences[static_cast<std::size_t>(s)];
    for (std::int64_t i = 0; i < blocks_of(of, sequence); ++i) {
      for (std::int32_t id = 0; id < num_blocks; ++id) {
        if (id == sequence.block_table_row[i]) continue;
        const auto change = [=](AttentionRow& row) {
          if (row.at.sequence != s) return row.keep_right_result();
          row.blocks[static_cast<std::size_t>(i)] = id;
        };
        family.models.push_back(
            {fmt::format("block {} of sequence {} is read from block {} in place of {}", i, s, id,
                         sequence.block_table_row[i]),
             change});
      }
    }
  }
  return family;
}

}  // namespace recto::verify
