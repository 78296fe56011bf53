#include "verify/explanation/group_hypotheses.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cstdint>
#include <functional>
#include <iterator>
#include <limits>
#include <string>
#include <vector>

#include "reference/kv_cache_reader.h"
#include "verify/explanation/faulty_parts.h"

namespace recto::verify {
namespace {

using reference::BoundedResult;

constexpr std::array<std::int64_t, 4> kHeadLimits = {8, 16, 32, 64};
// Rows of the matrix instructions' tiles and of those that kernels build of them, and keys.
constexpr std::array<std::int64_t, 4> kTileRows = {16, 32, 64, 128};
constexpr std::array<std::int64_t, 6> kTileKeys = {1, 8, 16, 32, 64, 128};

std::int64_t group_of(const PagedAttentionInputs& inputs) {
  return inputs.q.num_heads / inputs.kv.k.num_kv_heads;
}

// The KV head that a head beyond the limit attends to.
struct OtherHead {
  const char* what;
  std::int64_t (*find)(std::int64_t own, std::int64_t num_kv_heads);
};

constexpr OtherHead kOtherHeads[] = {
    {"the KV head after their own",
     [](std::int64_t own, std::int64_t heads) { return (own + 1) % heads; }},
    {"the first KV head", [](std::int64_t, std::int64_t) { return std::int64_t{0}; }},
    {"the last KV head", [](std::int64_t, std::int64_t heads) { return heads - 1; }}};

// What is read of another KV head.
struct Reads {
  bool k = true;
  bool v = true;
};

bool explains_kv_heads(HypothesisTrial& trial,
                       const std::function<std::int64_t(const HeadParts&)>& kv_head_of,
                       Reads reads = {}) {
  const PagedAttentionInputs& inputs = trial.inputs();
  return trial.explains(bounded_heads(trial, trial.numerics(), [&](HeadParts& parts) {
    const std::int64_t kv_head = kv_head_of(parts);
    if (kv_head == parts.kv_head) return false;
    const reference::SequenceRows& sequence = parts.sequence;
    const std::int64_t keys = sequence.context_length;
    const std::int32_t* const blocks = sequence.block_table_row;
    if (reads.k) parts.k = reference::gather_head(inputs.kv.k, blocks, keys, kv_head);
    if (reads.v) parts.v = reference::gather_head(inputs.kv.v, blocks, keys, kv_head);
    return true;
  }));
}

// What an output holds that nobody has written a result to.
struct Nothing {
  double out;
  double lse_ln;
};

constexpr Nothing kNothings[] = {
    {0.0, -std::numeric_limits<double>::infinity()},
    {0.0, 0.0},
    {std::numeric_limits<double>::quiet_NaN(), std::numeric_limits<double>::quiet_NaN()}};

BoundedResult without_heads(const HypothesisTrial& trial, std::int64_t limit,
                            const Nothing& nothing) {
  BoundedResult faulty = trial.right();
  const std::int64_t group = group_of(trial.inputs());
  for (std::int64_t row = 0; row < faulty.exact.num_rows; ++row) {
    for (std::int64_t head = 0; head < faulty.exact.num_heads; ++head) {
      if (head % group < limit) continue;
      for (std::int64_t dim = 0; dim < faulty.exact.head_dim; ++dim)
        faulty.exact.out_at(row, head, dim) = nothing.out;
      faulty.exact.lse_ln_at(row, head) = nothing.lse_ln;
    }
  }
  return faulty;
}

void add_other_kv_heads(HypothesisTrial& trial, std::int64_t limit, const std::string& heads) {
  const std::int64_t kv_heads = trial.inputs().kv.k.num_kv_heads;
  const std::int64_t group = group_of(trial.inputs());
  for (const OtherHead& other : kOtherHeads) {
    if (explains_kv_heads(trial, [&](const HeadParts& parts) {
          return parts.head % group < limit ? parts.kv_head : other.find(parts.kv_head, kv_heads);
        }))
      trial.name(fmt::format("{} attend to {}", heads, other.what));
  }
  if (explains_kv_heads(trial, [&](const HeadParts& parts) {
        return std::min(parts.head / limit, kv_heads - 1);
      }))
    trial.name(fmt::format("query head h attends to KV head h / {}", limit));
}

// A tile has `rows` pairs of a token and a head of the group, those of a token beside each other.
struct Tile {
  std::int64_t rows;
  std::int64_t keys;  // read at a time, masked or not

  // The keys that a row's tile reads if its tokens are counted from its first one in full.
  std::int64_t end(const HeadParts& parts, std::int64_t row, std::int64_t group) const {
    const std::int64_t pair = row * group + parts.head % group;
    const std::int64_t last_token = pair / rows * rows / group + (rows - 1) / group;
    const std::int64_t position =
        reference::position_of(last_token, parts.sequence.num_rows, parts.sequence.context_length);
    return (std::max<std::int64_t>(0, position + 1) + keys - 1) / keys * keys;
  }
};

// Nothing is tried where no row's keys are cut off.
bool ends_early(HypothesisTrial& trial, const Tile& tile) {
  const std::int64_t group = group_of(trial.inputs());
  const reference::KernelNumerics numerics = trial.numerics();
  BoundedResult faulty = trial.right();
  bool is_faulty = false;
  for_each_head(trial.inputs(), [&](const HeadParts& parts) {
    const reference::SequenceRows& sequence = parts.sequence;
    for (std::int64_t row = 0; row < sequence.num_rows; ++row) {
      auto seen =
          reference::visible_keys(parts.options, row, sequence.num_rows, sequence.context_length);
      const std::int64_t end = std::max(seen.begin, tile.end(parts, row, group));
      if (end >= seen.end) continue;
      is_faulty = true;
      seen.end = end;
      const std::int64_t position =
          reference::position_of(row, sequence.num_rows, sequence.context_length);
      store_row({.q = parts.q.row(row),
                 .k = parts.k.middleRows(seen.begin, seen.size()),
                 .v = parts.v.middleRows(seen.begin, seen.size()),
                 .options = parts.options,
                 .first_distance = seen.begin - position},
                numerics, sequence.first_row + row, parts.head, faulty);
    }
  });
  return is_faulty && trial.explains(faulty);
}

}  // namespace

void add_head_limits(HypothesisTrial& trial) {
  if (group_of(trial.inputs()) <= kHeadLimits.front()) return;
  const auto ways = std::ssize(kHeadLimits) * (std::ssize(kOtherHeads) + 1);
  if (!trial.affords("groups of more heads than a tile has", ways)) return;
  for (const std::int64_t limit : kHeadLimits) {
    if (limit >= group_of(trial.inputs())) break;
    const std::string heads = fmt::format("of each group the heads beyond the first {}", limit);
    if (std::ranges::any_of(kNothings, [&](const Nothing& nothing) {
          return trial.explains(without_heads(trial, limit, nothing));
        }))
      trial.name(heads + " get nothing");
    if (trial.inputs().kv.k.num_kv_heads > 1) add_other_kv_heads(trial, limit, heads);
  }
}

void add_padded_groups(HypothesisTrial& trial) {
  const std::int64_t group = group_of(trial.inputs());
  const auto padded = static_cast<std::int64_t>(std::bit_ceil(static_cast<std::uint64_t>(group)));
  if (padded == group || trial.inputs().kv.k.num_kv_heads == 1) return;
  struct Way {
    const char* what;
    Reads reads;
  };
  constexpr Way kWays[] = {{"", {}}, {"V of ", {.k = false}}, {"K of ", {.v = false}}};
  if (!trial.affords("groups padded to a power of two", std::ssize(kWays))) return;
  for (const auto& [what, reads] : kWays) {
    if (!explains_kv_heads(
            trial, [&](const HeadParts& parts) { return parts.head / padded; }, reads))
      continue;
    trial.name(fmt::format("query head h attends to {}KV head h / {}: groups of {} are padded",
                           what, padded, group));
  }
}

void add_tile_ends(HypothesisTrial& trial) {
  const PagedAttentionInputs& inputs = trial.inputs();
  if (!inputs.options.causal || inputs.query_start.empty()) return;
  const auto ways = std::ssize(kTileRows) * std::ssize(kTileKeys);
  if (!trial.affords("tiles whose keys end early", ways)) return;
  for (const std::int64_t rows : kTileRows) {
    if (rows % group_of(inputs) == 0) continue;
    std::vector<std::string> fitting;
    for (const std::int64_t keys : kTileKeys)
      if (ends_early(trial, {rows, keys})) fitting.push_back(std::to_string(keys));
    if (fitting.empty()) continue;
    trial.name(
        fmt::format("tiles of {} rows (tokens times heads of a group) read keys, {} at a time, as "
                    "if their first token had all its heads there",
                    rows, either_of(fitting)));
  }
}

}  // namespace recto::verify
