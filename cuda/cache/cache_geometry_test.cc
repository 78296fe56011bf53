#include "cuda/cache/cache_geometry.h"

#include <limits>

#include "bazel/testing/catch.h"

namespace recto::cache {
namespace {

CacheGeometry geometry_of(std::int64_t block_size, std::vector<std::int64_t> windows) {
  CacheOptions options;
  options.block_size = TokenCount(block_size);
  options.max_blocks_per_sequence = BlockCount(100);
  options.groups.clear();
  for (const std::int64_t window : windows) {
    options.groups.push_back({.num_layers = 1, .window = {}});
    if (window > 0) options.groups.back().window = TokenCount(window);
  }
  return CacheGeometry(options);
}

TEST_CASE("block counts by shift and by division are the same") {
  for (const std::int64_t size : {1, 2, 3, 4, 5, 16, 48, 512}) {
    const CacheGeometry geometry = geometry_of(size, {0});
    for (std::int64_t tokens = 0; tokens < 5 * size; ++tokens) {
      CHECK(geometry.full_blocks(tokens) == tokens / size);
      CHECK(geometry.blocks_for(tokens) == (tokens + size - 1) / size);
      CHECK(geometry.is_aligned(tokens) == (tokens % size == 0));
    }
  }
}

// Follows the definition: a row at position i sees the tokens j with i - w < j <= i.
TEST_CASE("the tokens that the next row sees are those in its window") {
  for (const std::int64_t window : {0, 1, 2, 3, 4, 5, 7, 12}) {
    const CacheGeometry geometry = geometry_of(4, {window});
    for (std::int64_t length = 0; length < 30; ++length) {
      std::int64_t seen = 0;
      std::int64_t first_block = length / 4;  // the block of the row itself
      for (std::int64_t token = length - 1; token >= 0; --token) {
        if (window > 0 && token <= length - window) continue;
        ++seen;
        first_block = token / 4;
      }
      CHECK(geometry.visible(0, length).size() == seen);
      CHECK(geometry.first_needed(0, length) == first_block);
      std::int64_t sum = 0;
      for (std::int64_t block = 0; block < 8; ++block) {
        sum += geometry.visible_in(0, length, block).size();
      }
      CHECK(sum == seen);
    }
  }
}

TEST_CASE("the level of a length counts the windows that it fills") {
  const CacheGeometry geometry = geometry_of(4, {5, 0, 3, 5});
  CHECK(geometry.num_levels() == 3);
  CHECK(geometry.level(1) == 0);
  CHECK(geometry.level(2) == 1);
  CHECK(geometry.level(3) == 1);
  CHECK(geometry.level(4) == 2);
  for (std::int32_t group = 0; group < 4; ++group) {
    for (std::int64_t length = 0; length < 10; ++length) {
      const std::int64_t more =
          geometry.visible(group, length + 1).size() - geometry.visible(group, length).size();
      CHECK((geometry.level(length) <= geometry.last_growing_level(group)) == (more == 1));
    }
  }
  CHECK(geometry_of(4, {1}).level(0) == 1);
}

TEST_CASE("a window longer than any table counts as no window") {
  const CacheGeometry geometry = geometry_of(4, {std::numeric_limits<std::int64_t>::max(), 400});
  CHECK_FALSE(geometry.has_window(0));
  CHECK(geometry.has_window(1));
  CHECK(geometry.window_groups().size() == 1);
  CHECK(geometry.visible(0, 400).size() == 400);
}

}  // namespace
}  // namespace recto::cache
