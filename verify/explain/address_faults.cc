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

constexpr std::int64_t kHeadLimits[] = {8, 16, 32, 64};
// Limit on block tables with one block replaced; larger cases would have too many.
constexpr std::int64_t kOtherBlocksMax = 600;

// The KV head used instead, for query heads beyond a tile's limit.
struct OtherHead {
  const char* name;
  std::int64_t (*find)(std::int64_t own, std::int64_t num_kv_heads);
};

constexpr OtherHead kOtherHeads[] = {
    {"the KV head after their own",
     [](std::int64_t own, std::int64_t heads) { return (own + 1) % heads; }},
    {"the first KV head", [](std::int64_t, std::int64_t) { return std::int64_t{0}; }},
    {"the last KV head", [](std::int64_t, std::int64_t heads) { return heads - 1; }}};

void read_kv_head(AttentionRow& row, std::int64_t kv_head) {
  if (kv_head == row.k_head) return row.leave();
  row.k_head = kv_head;
  row.v_head = kv_head;
}

// What heads beyond `limit` of a group hold if no result is written to them.
std::vector<FaultVariant> nothing_beyond(std::int64_t limit) {
  constexpr double kInfinity = std::numeric_limits<double>::infinity();
  constexpr double kNaN = std::numeric_limits<double>::quiet_NaN();
  std::vector<FaultVariant> variants;
  for (const auto& [out, lse_ln] :
       {std::pair{0.0, -kInfinity}, std::pair{0.0, 0.0}, std::pair{kNaN, kNaN}}) {
    variants.push_back({"", [=, out = out, lse_ln = lse_ln](AttentionRow& row) {
                          if (row.at.head % row.of.group() < limit) return row.leave();
                          row.result = row.right();
                          row.result->out.setConstant(out);
                          row.result->lse_ln = lse_ln;
                        }});
  }
  return variants;
}

std::int64_t blocks_of(const FailedCase& of, const reference::SequenceRows& sequence) {
  return ceil_div(sequence.context_length, of.inputs.kv.k.block_size);
}

// Ids of the blocks that each sequence reads.
using Table = std::vector<std::vector<std::int32_t>>;

Table own_table(const FailedCase& of) {
  Table table;
  for (const reference::SequenceRows& sequence : of.sequences)
    table.emplace_back(sequence.block_table_row,
                       sequence.block_table_row + blocks_of(of, sequence));
  return table;
}

RowChange read_by(const Table& table) {
  return [table](AttentionRow& row) {
    const auto& ids = table[static_cast<std::size_t>(row.at.sequence)];
    if (std::ranges::equal(ids, std::span(row.context.block_table_row, ids.size())))
      return row.leave();
    row.context.block_table_row = ids.data();
  };
}

// The table as read with row stride `stride`. Nothing if that leaves the table or meets an invalid
// id, as the behaviour of a kernel is unknown there.
std::optional<Table> with_stride(const FailedCase& of, std::int64_t stride) {
  const BlockTableView& own = of.inputs.block_table;
  const std::int64_t entries = (std::ssize(of.sequences) - 1) * own.row_stride + own.max_blocks;
  Table table = own_table(of);
  std::int64_t place = 0;  // of a sequence's row
  for (std::vector<std::int32_t>& ids : table) {
    for (std::int64_t at = place; std::int32_t & id : ids) {
      if (at >= entries) return std::nullopt;
      id = own.data[at++];
      if (id < 0 || id >= of.inputs.kv.k.num_blocks) return std::nullopt;
    }
    place += stride;
  }
  return table;
}

// Candidate strides, each with its possible origins in the call; also all strides up to twice the
// true one, unless these are `too_many`.
std::map<std::int64_t, std::vector<std::string>> likely_strides(const FailedCase& of,
                                                                bool too_many) {
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
  for (std::int64_t stride = 1; !too_many && stride <= 2 * own; ++stride)
    strides.try_emplace(stride);
  strides.erase(own);
  return strides;
}

}  // namespace

FaultFamily head_counts(const FailedCase& of) {
  const std::int64_t kv_heads = of.inputs.kv.k.num_kv_heads;
  if (kv_heads == 1 || of.group() == 1) return {};
  return {.models = {{"KV head h % num_kv_heads for query head h",
                      [=](AttentionRow& row) { read_kv_head(row, row.at.head % kv_heads); }}}};
}

FaultFamily padded_groups(const FailedCase& of) {
  const std::int64_t group = of.group();
  const auto padded = static_cast<std::int64_t>(std::bit_ceil(static_cast<std::uint64_t>(group)));
  if (padded == group || of.inputs.kv.k.num_kv_heads == 1) return {};
  constexpr const char* kTensors[] = {"", "V of ", "K of "};
  FaultFamily family{.what = "groups padded to a power of two", .changes = std::ssize(kTensors)};
  for (const std::string tensor : kTensors) {
    family.models.emplace_back(
        fmt::format("query head h attends to {}KV head h / {}: groups of {} are padded", tensor,
                    padded, group),
        [=](AttentionRow& row) {
          const std::int64_t own = row.k_head;
          read_kv_head(row, row.at.head / padded);
          if (tensor == "V of ") row.k_head = own;
          if (tensor == "K of ") row.v_head = own;
        });
  }
  return family;
}

FaultFamily head_limits(const FailedCase& of) {
  const std::int64_t kv_heads = of.inputs.kv.k.num_kv_heads;
  const std::int64_t group = of.group();
  if (group <= kHeadLimits[0]) return {};
  FaultFamily family{.what = "groups of more heads than a tile has",
                     .changes = std::ssize(kHeadLimits) * (std::ssize(kOtherHeads) + 1)};
  for (const std::int64_t limit : kHeadLimits) {
    if (limit >= group) break;
    const std::string heads = fmt::format("the heads beyond the first {} of each group", limit);
    family.models.emplace_back(heads + " get nothing", nothing_beyond(limit));
    if (kv_heads == 1) continue;
    for (const OtherHead& other : kOtherHeads) {
      family.models.emplace_back(fmt::format("{} attend to {}", heads, other.name),
                                 [=](AttentionRow& row) {
                                   if (row.at.head % group < limit) return row.leave();
                                   read_kv_head(row, other.find(row.k_head, kv_heads));
                                 });
    }
    family.models.emplace_back(
        fmt::format("query head h attends to KV head h / {}", limit),
        [=](AttentionRow& row) { read_kv_head(row, std::min(row.at.head / limit, kv_heads - 1)); });
  }
  return family;
}

FaultFamily table_strides(const FailedCase& of) {
  if (of.sequences.size() < 2) return {};
  const std::int64_t own = of.inputs.block_table.row_stride;
  FaultFamily family;
  const auto why = why_too_many(of, "rows of the block table at any stride", 2 * own);
  if (why) family.left_out = {*why};
  std::vector<FaultVariant> variants;
  for (const auto& [stride, sources] : likely_strides(of, why.has_value())) {
    const std::optional<Table> table = with_stride(of, stride);
    if (!table) continue;
    const std::string from = sources.empty() ? "" : fmt::format(" ({})", either_of(sources));
    variants.push_back({std::to_string(stride) + from, read_by(*table)});
  }
  family.models.emplace_back(
      fmt::format("rows of the block table are read at a stride of {{}} in place of {}", own),
      variants);
  return family;
}

FaultFamily tables(const FailedCase& of) {
  const auto num_blocks = static_cast<std::int32_t>(of.inputs.kv.k.num_blocks);
  const Table own = own_table(of);
  Table identity = own;
  Table consecutive = own;
  std::int64_t others = 0;
  for (std::size_t s = 0; s < own.size(); ++s) {
    for (std::size_t i = 0; i < own[s].size(); ++i) {
      identity[s][i] = static_cast<std::int32_t>(i);
      consecutive[s][i] = (own[s][0] + static_cast<std::int32_t>(i)) % num_blocks;
      others += num_blocks;
    }
  }
  FaultFamily family{.models = {{"logical blocks taken for physical ones", read_by(identity)},
                                {"blocks taken to be consecutive", read_by(consecutive)}}};
  if (others > kOtherBlocksMax) {
    family.left_out = {fmt::format("one block read from another place: {} ways, more than {}",
                                   others, kOtherBlocksMax)};
    return family;
  }
  for (std::size_t s = 0; s < own.size(); ++s) {
    for (std::size_t i = 0; i < own[s].size(); ++i) {
      for (std::int32_t id = 0; id < num_blocks; ++id) {
        if (id == own[s][i]) continue;
        Table table = own;
        table[s][i] = id;
        family.models.emplace_back(
            fmt::format("block {} of sequence {} is read from block {} in place of {}", i, s, id,
                        own[s][i]),
            read_by(table));
      }
    }
  }
  return family;
}

}  // namespace recto::verify
