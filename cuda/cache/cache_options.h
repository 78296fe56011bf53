#pragma once

// The size of a cache, and how its layers share tables. Fixed for the life of a manager.
//
//   CacheOptions options;
//   options.num_blocks = BlockCount(1000);
//   options.max_blocks_per_sequence = BlockCount(64);
//   options.watermark = BlockCount(10);
//   // Every other layer sees 128 tokens.
//   options.groups = {LayerGroup{.num_layers = 16},
//                     LayerGroup{.num_layers = 16, .window = TokenCount(128)}};
//   options.prefix.hasher.width = HashWidth::k128;
//   const Status checked = check_options(options);

#include <cstdint>
#include <optional>
#include <vector>

#include "core/status.h"
#include "core/units.h"
#include "cuda/cache/block_hash.h"

namespace recto::cache {

class CacheEvents;

inline constexpr std::int64_t kMaxLayerGroups = 512;
inline constexpr std::int32_t kMaxItemsPerBlock = 32;

// Layers that see the same tokens, and therefore share one block table per sequence. A row at
// position i of a group with a window w sees the tokens j > i - w.
struct LayerGroup {
  std::int32_t num_layers = 1;
  std::optional<TokenCount> window = {};  // visible tokens, including the row's own; at least 1
};

enum class PrefixCaching : std::uint8_t { kOn, kOff };

struct PrefixCacheOptions {
  PrefixCaching caching = PrefixCaching::kOn;
  BlockHasher hasher = {};
  // The most nodes (blocks' worth of tokens) that can be known at a time, whatever the number of
  // groups. If there is no room for a new one, the least recently used content is evicted; if all
  // content is in use, the new one is not cached, which is counted (CacheStatistics::no_node). With
  // the default this cannot happen unless there are keys or items: see max_nodes(). A block with
  // extra words takes the places of other nodes besides its own: one for every block_size / 2
  // words. Keys are two words, an item is three.
  std::optional<std::int32_t> max_nodes = {};
  // A block with more multimodal items is not cached, nor are the blocks after it.
  std::int32_t max_items_per_block = 2;  // at most kMaxItemsPerBlock
  std::int32_t max_pins = 64;            // prefixes pinned at a time
};

struct CacheOptions {
  BlockCount num_blocks{};           // of the pool, null blocks included
  TokenCount block_size{16};         // slots of a block
  BlockCount null_blocks{0};         // first ones, never allocated: for an engine's padding
  BlockCount host_blocks{0};         // of the pool that sequences are swapped to
  BlockCount watermark{0};           // available blocks that admit, resume and swap_in must leave
  std::int32_t max_sequences = 256;  // alive at a time: running, preempted or swapped
  BlockCount max_blocks_per_sequence{};  // of a table, in each group
  std::vector<LayerGroup> groups = {LayerGroup{}};
  PrefixCacheOptions prefix = {};
  CacheEvents* events = nullptr;  // must outlive the manager; may be null
};

// The number of nodes that a prefix cache with these options has room for. The default is one per
// block: in a group without a window, each node in use has its own block, which is held or pinned.
// If all groups have a window, blocks are returned while their nodes remain, because they identify
// the following blocks; the default then adds as many nodes as all sequences and pins can refer to.
// If most blocks have items, twice as many nodes are needed to cache as much.
std::int32_t max_nodes(const CacheOptions& options);

// Invalid input, "cache options: FIELD = VALUE; expected WHAT", for the first field that is wrong.
// O(groups).
Status check_options(const CacheOptions& options);

}  // namespace recto::cache
