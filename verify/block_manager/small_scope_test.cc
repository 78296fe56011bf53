// Tries every sequence of commands up to a length, on caches of two to four blocks. RECTO_FULL=1
// goes deeper.

#include "verify/block_manager/testing/small_scope.h"

#include <algorithm>
#include <cstdlib>
#include <iostream>

#include "bazel/testing/catch.h"
#include "core/contract.h"

namespace recto::verify {
namespace {

using cache::testing::CacheCommand;
using cache::testing::CommandKind;
using enum CommandKind;

struct Size {
  std::int64_t blocks = 2;
  std::int64_t block_size = 1;
  std::int32_t sequences = 2;
  std::int64_t table = 2;  // blocks of a sequence
  std::int64_t host = 0;
};

struct Depth {
  int plain = 0;
  int full = 0;  // with RECTO_FULL
};

cache::CacheOptions options_of(const Size& size) {
  cache::CacheOptions options;
  options.num_blocks = BlockCount(size.blocks);
  options.block_size = TokenCount(size.block_size);
  options.host_blocks = BlockCount(size.host);
  options.max_sequences = size.sequences;
  options.max_blocks_per_sequence = BlockCount(size.table);
  options.prefix.max_pins = 1;
  return options;
}

// All texts of up to `length_max` tokens over an alphabet of two.
std::vector<CacheCommand> all_prompts(std::int32_t length_max) {
  std::vector<CacheCommand> prompts;
  for (std::int32_t length = 1; length <= length_max; ++length) {
    for (std::int32_t token = 0; token < 1 << length; ++token) {
      prompts.push_back({.count = length, .token = token});
    }
  }
  return prompts;
}

const std::vector<CommandKind>& sharing() {
  static const std::vector<CommandKind> kKinds = {kAppend, kAppendBatch, kReserve,  kCommit,
                                                  kFork,   kBeamStep,    kTruncate, kRelease};
  return kKinds;
}

const std::vector<CommandKind>& everything() {
  static const std::vector<CommandKind> kKinds = {
      kAppend,  kAppendBatch, kReserve, kCommit, kFork,     kBeamStep, kTruncate, kRelease,
      kPreempt, kResume,      kSwapOut, kSwapIn, kComplete, kPin,      kUnpin,    kReset};
  return kKinds;
}

void explore_and_print(SmallScope scope, const Depth& depth) {
  scope.depth = std::getenv("RECTO_FULL") != nullptr ? depth.full : depth.plain;
  try {
    const ScopeReport report = explore(scope);
    std::cout << scope.name << ": " << report << std::endl;
    CHECK(report.states > 1);
    CHECK((report.is_closed || report.depth == scope.depth));
  } catch (const ContractFailure& failure) {
    FAIL(scope.name << ": " << failure.what());
  }
}

SmallScope scope_of(const std::string& name, const Size& size,
                    const std::vector<CommandKind>& kinds) {
  const auto longest = static_cast<std::int32_t>(size.table * size.block_size);
  return {.name = name,
          .options = options_of(size),
          .prompts = all_prompts(std::min(longest, size.block_size == 1 ? 2 : 3)),
          .kinds = kinds};
}

TEST_CASE("every short sequence of commands on two blocks is answered as by the model") {
  SECTION("of one slot") {
    const Size size = {.blocks = 2, .table = 2, .host = 2};
    explore_and_print(scope_of("two blocks of one slot", size, everything()),
                      {.plain = 5, .full = 9});
  }
  SECTION("of two slots") {
    const Size size = {.blocks = 2, .block_size = 2, .table = 2, .host = 2};
    explore_and_print(scope_of("two blocks of two slots", size, everything()),
                      {.plain = 4, .full = 7});
  }
}

TEST_CASE("every short sequence of commands on three blocks is answered as by the model") {
  SECTION("of one slot, for three sequences that share") {
    const Size size = {.blocks = 3, .sequences = 3, .table = 3};
    explore_and_print(scope_of("three blocks of one slot, three sequences", size, sharing()),
                      {.plain = 4, .full = 7});
  }
  SECTION("of two slots") {
    const Size size = {.blocks = 3, .block_size = 2, .table = 2, .host = 3};
    explore_and_print(scope_of("three blocks of two slots", size, everything()),
                      {.plain = 4, .full = 6});
  }
  SECTION("of two slots, for sequences that share and wait in host memory") {
    const Size size = {.blocks = 3, .block_size = 2, .table = 2, .host = 3};
    const std::vector<CommandKind> waiting = {kAppend, kFork, kSwapOut, kSwapIn, kComplete};
    SmallScope scope = scope_of("three blocks of two slots, forks that wait", size, waiting);
    scope.prompts = {{.count = 1}};
    explore_and_print(scope, {.plain = 7, .full = 10});
  }
  SECTION("of two slots, with a window") {
    const Size size = {.blocks = 3, .block_size = 2, .table = 3, .host = 3};
    SmallScope scope = scope_of("three blocks of two slots, a window of two", size, everything());
    scope.options.groups = {{.num_layers = 1, .window = TokenCount(2)}};
    explore_and_print(scope, {.plain = 4, .full = 6});
  }
}

TEST_CASE("every short sequence of commands on four blocks is answered as by the model") {
  SECTION("of one slot, for three sequences that share") {
    const Size size = {.blocks = 4, .sequences = 3, .table = 3};
    explore_and_print(scope_of("four blocks of one slot, three sequences", size, sharing()),
                      {.plain = 4, .full = 6});
  }
  SECTION("of two slots, for three sequences that share") {
    const Size size = {.blocks = 4, .block_size = 2, .sequences = 3, .table = 2};
    explore_and_print(scope_of("four blocks of two slots, three sequences", size, sharing()),
                      {.plain = 4, .full = 6});
  }
  SECTION("of one slot, in two groups") {
    const Size size = {.blocks = 4, .table = 2, .host = 4};
    SmallScope scope = scope_of("four blocks of one slot, two groups", size, everything());
    scope.options.groups = {{.num_layers = 1}, {.num_layers = 1, .window = TokenCount(1)}};
    explore_and_print(scope, {.plain = 4, .full = 6});
  }
}

}  // namespace
}  // namespace recto::verify
