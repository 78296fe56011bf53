#include "cuda/cache/cache_options.h"

#include <limits>
#include <string>
#include <vector>

#include "bazel/testing/catch.h"

namespace recto::cache {
namespace {

CacheOptions good() {
  CacheOptions options;
  options.num_blocks = BlockCount(8);
  options.max_blocks_per_sequence = BlockCount(4);
  return options;
}

struct Case {
  void (*within)(CacheOptions&);
  void (*beyond)(CacheOptions&);
  std::string message;
};

TEST_CASE("a field beyond its limits is refused by name") {
  using O = CacheOptions;
  const std::vector<Case> cases = {
      {[](O& o) { o.num_blocks = BlockCount(1); }, [](O& o) { o.num_blocks = BlockCount(0); },
       "num_blocks = 0; expected 1 to 2147483647"},
      {[](O& o) { o.num_blocks = BlockCount(2147483647); },
       [](O& o) { o.num_blocks = BlockCount(2147483648); },
       "num_blocks = 2147483648; expected 1 to 2147483647"},
      {[](O& o) { o.block_size = TokenCount(1 << 20); },
       [](O& o) { o.block_size = TokenCount((1 << 20) + 1); },
       "block_size = 1048577; expected 1 to 1048576"},
      {[](O& o) { o.block_size = TokenCount(1); }, [](O& o) { o.block_size = TokenCount(0); },
       "block_size = 0; expected 1 to 1048576"},
      {[](O& o) { o.null_blocks = BlockCount(7); }, [](O& o) { o.null_blocks = BlockCount(8); },
       "null_blocks = 8; expected 0 to 7"},
      {[](O& o) { o.host_blocks = BlockCount(0); }, [](O& o) { o.host_blocks = BlockCount(-1); },
       "host_blocks = -1; expected 0 to 2147483647"},
      {[](O& o) { o.watermark = BlockCount(0); }, [](O& o) { o.watermark = BlockCount(-1); },
       "watermark = -1; expected 0 to 2147483647"},
      {[](O& o) { o.max_sequences = 1; }, [](O& o) { o.max_sequences = 0; },
       "max_sequences = 0; expected 1 to 1048576"},
      {[](O& o) { o.max_blocks_per_sequence = BlockCount(1); },
       [](O& o) { o.max_blocks_per_sequence = BlockCount(0); },
       "max_blocks_per_sequence = 0; expected 1 to 2147483647"},
      {[](O& o) { o.groups.resize(512); }, [](O& o) { o.groups.resize(513); },
       "number of groups = 513; expected 1 to 512"},
      {[](O& o) { o.groups.resize(1); }, [](O& o) { o.groups.clear(); },
       "number of groups = 0; expected 1 to 512"},
      {[](O& o) { o.groups[0].num_layers = 1; }, [](O& o) { o.groups[0].num_layers = 0; },
       "groups[0].num_layers = 0; expected 1 to 2147483647"},
      {[](O& o) { o.groups[0].window = TokenCount(1); },
       [](O& o) { o.groups[0].window = TokenCount(0); },
       "groups[0].window = 0; expected 1 to 9223372036854775807"},
      {[](O& o) { o.prefix.caching = PrefixCaching::kOff; },
       [](O& o) { o.prefix.caching = static_cast<PrefixCaching>(2); },
       "prefix.caching = 2; expected 0 to 1"},
      {[](O& o) { o.prefix.hasher.width = HashWidth::k128; },
       [](O& o) { o.prefix.hasher.width = static_cast<HashWidth>(2); },
       "prefix.hasher.width = 2; expected 0 to 1"},
      {[](O& o) { o.prefix.max_nodes = 0; }, [](O& o) { o.prefix.max_nodes = -1; },
       "prefix.max_nodes = -1; expected 0 to 2147483647"},
      {[](O& o) { o.prefix.max_items_per_block = 32; },
       [](O& o) { o.prefix.max_items_per_block = 33; },
       "prefix.max_items_per_block = 33; expected 0 to 32"},
      {[](O& o) { o.prefix.max_pins = 0; }, [](O& o) { o.prefix.max_pins = -1; },
       "prefix.max_pins = -1; expected 0 to 1048576"},
  };
  for (const Case& rule : cases) {
    INFO(rule.message);
    CacheOptions within = good();
    rule.within(within);
    CHECK(check_options(within) == Status::ok());
    CacheOptions beyond = good();
    rule.beyond(beyond);
    CHECK(check_options(beyond) == Status::invalid_input("cache options: " + rule.message));
  }
}

TEST_CASE("the limit of max_nodes shrinks with the number of groups") {
  CacheOptions options = good();
  options.groups.resize(2);
  options.prefix.max_nodes = 1073741823;
  CHECK(check_options(options) == Status::ok());
  options.prefix.max_nodes = 1073741824;
  CHECK(check_options(options) ==
        Status::invalid_input("cache options: prefix.max_nodes = 1073741824; expected 0 to "
                              "1073741823"));
}

TEST_CASE("the index has a node for each block, unless max_nodes or caching says otherwise") {
  CacheOptions options = good();
  CHECK(max_nodes(options) == 8);
  options.prefix.max_nodes = 3;
  CHECK(max_nodes(options) == 3);
  options.prefix.caching = PrefixCaching::kOff;
  CHECK(max_nodes(options) == 0);
  options = good();
  options.num_blocks = BlockCount(std::numeric_limits<std::int32_t>::max());
  options.groups.resize(80);
  CHECK(max_nodes(options) == 26843545);
}

TEST_CASE("if all groups have windows, the index has nodes for sequences and pins as well") {
  CacheOptions options = good();
  options.max_sequences = 3;
  options.max_blocks_per_sequence = BlockCount(5);
  options.prefix.max_pins = 2;
  options.groups = {LayerGroup{.num_layers = 1, .window = TokenCount(4)}, LayerGroup{}};
  CHECK(max_nodes(options) == 8);
  options.groups[1].window = TokenCount(9);
  CHECK(max_nodes(options) == 8 + (3 + 2) * 5);
  options.max_blocks_per_sequence = BlockCount(std::numeric_limits<std::int32_t>::max());
  CHECK(max_nodes(options) == std::numeric_limits<std::int32_t>::max() / 2);
}

}  // namespace
}  // namespace recto::cache
