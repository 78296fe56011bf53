#include "verify/simt/executor/device_memory.h"

#include <array>
#include <string>

#include "bazel/testing/catch.h"

namespace recto::simt {
namespace {

using Catch::Matchers::ContainsSubstring;

struct Memory {
  alignas(64) std::array<std::byte, 1024> bytes = {};
  DeviceMemory known = {};

  Status add(const char* name, std::size_t begin, std::size_t size) {
    return known.add({name, bytes.data() + begin, size});
  }
  std::uintptr_t address(std::ptrdiff_t offset) const {
    return reinterpret_cast<std::uintptr_t>(bytes.data()) + static_cast<std::uintptr_t>(offset);
  }
};

TEST_CASE("buffers may touch but not overlap, and are neither null nor empty") {
  Memory memory;
  REQUIRE(memory.add("middle", 256, 256).is_ok());
  CHECK(memory.add("before", 0, 256).is_ok());
  CHECK(memory.add("behind", 512, 16).is_ok());
  CHECK_THAT(memory.add("inside", 300, 4).message(),
             ContainsSubstring("buffer 'inside'") && ContainsSubstring("overlaps 'middle'"));
  CHECK_THAT(memory.add("around", 520, 500).message(), ContainsSubstring("overlaps 'behind'"));
  CHECK_THAT(memory.known.add({"null", nullptr, 16}).message(),
             ContainsSubstring("buffer 'null': expected memory"));
  CHECK_THAT(memory.add("empty", 600, 0).message(), ContainsSubstring("got 0 bytes"));
}

TEST_CASE("a buffer is found from its first byte to its last, until it is removed") {
  Memory memory;
  REQUIRE(memory.add("one", 64, 64).is_ok());
  CHECK(memory.known.find(memory.address(63)) == nullptr);
  REQUIRE(memory.known.find(memory.address(64)) != nullptr);
  CHECK(memory.known.find(memory.address(127))->name == "one");
  CHECK(memory.known.find(memory.address(128)) == nullptr);
  CHECK(!memory.known.remove(memory.bytes.data()));
  CHECK(memory.known.remove(memory.bytes.data() + 64));
  CHECK(memory.known.find(memory.address(64)) == nullptr);
}

TEST_CASE("a buffer that is added again is another one") {
  Memory memory;
  REQUIRE(memory.add("one", 64, 64).is_ok());
  const std::uint64_t first = memory.known.find(memory.address(64))->serial;
  CHECK(memory.known.remove(memory.bytes.data() + 64));
  REQUIRE(memory.add("one", 64, 64).is_ok());
  CHECK(memory.known.find(memory.address(64))->serial != first);
}

TEST_CASE("addresses are described by the buffer that they lie in or next to") {
  Memory memory;
  REQUIRE(memory.add("one", 64, 64).is_ok());
  REQUIRE(memory.add("two", 256, 8).is_ok());
  CHECK(memory.known.describe(memory.address(100)) == "one+36");
  CHECK(memory.known.describe(memory.address(128)) ==
        "memory 0 bytes past the end of one (64 bytes)");
  CHECK(memory.known.describe(memory.address(60)) == "memory 4 bytes before one (64 bytes)");
  // Between two buffers the nearer one counts.
  CHECK(memory.known.describe(memory.address(252)) == "memory 4 bytes before two (8 bytes)");
  CHECK(memory.known.describe(memory.address(191)) ==
        "memory 63 bytes past the end of one (64 bytes)");
  CHECK(memory.known.describe(memory.address(193)) == "memory 63 bytes before two (8 bytes)");
  CHECK_THAT(memory.known.describe(16), ContainsSubstring("memory at 0x10"));
}

TEST_CASE("logical bounds fit their buffer") {
  Memory memory;
  REQUIRE(memory.add("pool", 0, 100).is_ok());
  const void* pool = memory.bytes.data();
  const LogicalBounds right = {
      .piece_bytes = 40, .may_touch = {{true, false, true}}, .owner_of_block = {0, 0}};
  REQUIRE(memory.known.set_logical_bounds(pool, right).is_ok());
  CHECK(right.allows(1, 2));
  CHECK(!right.allows(1, 1));
  CHECK(!right.allows(2, 0));
  LogicalBounds everybody = right;
  everybody.owner_of_block.clear();
  CHECK(everybody.allows(2, 0));
  CHECK(!everybody.allows(2, 1));
  everybody.may_touch.push_back({true, true, true});
  CHECK(!everybody.allows(0, 1));

  LogicalBounds wrong = right;
  wrong.piece_bytes = 0;
  CHECK_THAT(memory.known.set_logical_bounds(pool, wrong).message(),
             ContainsSubstring("logical_bounds.piece_bytes: expected more than 0"));
  wrong = right;
  wrong.piece_bytes = 20;
  CHECK_THAT(memory.known.set_logical_bounds(pool, wrong).message(),
             ContainsSubstring("logical_bounds.may_touch[0]: expected 5 pieces, got 3"));
  wrong = right;
  wrong.owner_of_block[1] = 1;
  CHECK_THAT(memory.known.set_logical_bounds(pool, wrong).message(),
             ContainsSubstring("logical_bounds.owner_of_block[1]: expected an owner below 1"));
  CHECK(!memory.known.set_logical_bounds(memory.bytes.data() + 4, right).is_ok());
  CHECK(memory.known.set_logical_bounds(pool, std::nullopt).is_ok());
}

}  // namespace
}  // namespace recto::simt
