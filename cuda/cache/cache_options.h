#pragma once

// How large a cache is and how its layers share tables. Fixed for the life of a manager.
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
  std::optional<TokenCount> window = {};  // tokens seen, the row's own among them; at least 1
};

enum class PrefixCaching : std::uint8_t { kOn, kOff };

struct PrefixCacheOptions {
  PrefixCaching caching = PrefixCaching::kOn;
  BlockHasher hasher = {};
  // Blocks' worth of tokens that can be known at a time, whatever the number of groups. What finds
  // no room takes that of what was used least recently; where all is in use it is not cached, and
  // counted. With the default that can't be where nothing has keys or items: see max_nodes(). A
  // block that has some takes the place of others beside its own: one for each block_size / 2
  // words, of which keys are two and an item is three.
  std::optional<std::int32_t> max_nodes = {};
  // A block on which more multimodal items lie is not cached, nor is what follows it.
  std::int32_t max_items_per_block = 2;  // at most kMaxItemsPerBlock
  std::int32_t max_pins = 64;            // prefixes pinned at a time
};

struct CacheOptions {
  BlockCount num_blocks{};           // of the pool, null blocks included
  TokenCount block_size{16};         // slots of a block
  BlockCount null_blocks{0};         // the first ones, set apart: padding of engines points there
  BlockCount host_blocks{0};         // of the pool that sequences are swapped to
  BlockCount watermark{0};           // available blocks that admit, resume and swap_in leave over
  std::int32_t max_sequences = 256;  // alive at a time: running, preempted or swapped
  BlockCount max_blocks_per_sequence{};  // of a table, in each group
  std::vector<LayerGroup> groups = {LayerGroup{}};
  PrefixCacheOptions prefix = {};
  CacheEvents* events = nullptr;  // outlives the manager; or none
};

// The nodes that a prefix cache of these options has room for. By default one for each block: what
// is in use stands, in a group without a window, for a block of its own, that somebody holds or
// that is pinned. Where all groups have a window, blocks are given back and what stood in them
// remains the identity of what follows; then, beside, what all sequences and pins can know. Where
// most blocks have items, twice as many cache as much as without.
std::int32_t max_nodes(const CacheOptions& options);

// Invalid input, "cache options: FIELD = VALUE; expected WHAT", for the first field that is wrong.
// O(groups).
Status check_options(const CacheOptions& options);

}  // namespace recto::cache
