#include "cuda/cache/cache_options.h"

#include <algorithm>
#include <limits>
#include <string>

#include "cuda/cache/message.h"

namespace recto::cache {
namespace {

constexpr std::int64_t kMostBlocks = std::numeric_limits<std::int32_t>::max();
constexpr std::int64_t kMostBlockSize = 1 << 20;
constexpr std::int64_t kMostSequences = 1 << 20;
constexpr std::int64_t kMostPins = 1 << 20;

struct Field {
  std::string name;
  std::int64_t value = 0;
  std::int64_t least = 0;
  std::int64_t most = 0;
};

Status check_field(const Field& field) {
  if (field.value >= field.least && field.value <= field.most) return Status::ok();
  return Status::invalid_input(message("cache options: ", field.name, " = ", field.value,
                                       "; expected ", field.least, " to ", field.most));
}

Status check_groups(const std::vector<LayerGroup>& groups) {
  constexpr std::int64_t kMost = std::numeric_limits<std::int64_t>::max();
  RECTO_RETURN_IF_ERROR(check_field({"number of groups", std::ssize(groups), 1, kMaxLayerGroups}));
  for (std::size_t i = 0; i < groups.size(); ++i) {
    const std::string name = message("groups[", i, "]");
    RECTO_RETURN_IF_ERROR(check_field(
        {name + ".num_layers", groups[i].num_layers, 1, std::numeric_limits<std::int32_t>::max()}));
    if (!groups[i].window) continue;
    RECTO_RETURN_IF_ERROR(check_field({name + ".window", groups[i].window->value(), 1, kMost}));
  }
  return Status::ok();
}

}  // namespace

std::int32_t max_nodes(const CacheOptions& options) {
  if (options.prefix.caching == PrefixCaching::kOff) return 0;
  if (options.prefix.max_nodes) return *options.prefix.max_nodes;
  std::int64_t nodes = options.num_blocks.value();
  const auto has_window = [](const LayerGroup& group) { return group.window.has_value(); };
  if (std::ranges::all_of(options.groups, has_window)) {
    nodes += (std::int64_t{options.max_sequences} + options.prefix.max_pins) *
             options.max_blocks_per_sequence.value();
  }
  return static_cast<std::int32_t>(std::min(nodes, kMostBlocks / std::ssize(options.groups)));
}

Status check_options(const CacheOptions& options) {
  RECTO_RETURN_IF_ERROR(check_groups(options.groups));
  const std::int64_t blocks = options.num_blocks.value();
  const PrefixCacheOptions& prefix = options.prefix;
  const Field fields[] = {
      {"num_blocks", blocks, 1, kMostBlocks},
      {"block_size", options.block_size.value(), 1, kMostBlockSize},
      {"null_blocks", options.null_blocks.value(), 0, blocks - 1},
      {"host_blocks", options.host_blocks.value(), 0, kMostBlocks},
      {"watermark", options.watermark.value(), 0, kMostBlocks},
      {"max_sequences", options.max_sequences, 1, kMostSequences},
      {"max_blocks_per_sequence", options.max_blocks_per_sequence.value(), 1, kMostBlocks},
      {"prefix.caching", static_cast<std::int64_t>(prefix.caching), 0, 1},
      {"prefix.hasher.width", static_cast<std::int64_t>(prefix.hasher.width), 0, 1},
      {"prefix.max_nodes", prefix.max_nodes.value_or(0), 0,
       kMostBlocks / std::ssize(options.groups)},
      {"prefix.max_items_per_block", prefix.max_items_per_block, 0, kMaxItemsPerBlock},
      {"prefix.max_pins", prefix.max_pins, 0, kMostPins},
  };
  for (const Field& field : fields) RECTO_RETURN_IF_ERROR(check_field(field));
  return Status::ok();
}

}  // namespace recto::cache
