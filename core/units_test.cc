#include "core/units.h"

#include <sstream>

#include "bazel/testing/catch.h"

namespace recto {
namespace {

// Checks at compile time which expressions must not compile.
template <typename A, typename B>
concept CanAdd = requires(A a, B b) {
  a + b;
};
template <typename A, typename B>
concept CanSubtract = requires(A a, B b) {
  a - b;
};
template <typename A, typename B>
concept CanMultiply = requires(A a, B b) {
  a* b;
};
template <typename A, typename B>
concept CanCompare = requires(A a, B b) {
  a < b;
};
template <typename A, typename B>
concept CanEqual = requires(A a, B b) {
  a == b;
};

static_assert(CanAdd<TokenCount, TokenCount>);
static_assert(CanMultiply<TokenCount, int> && CanMultiply<int, TokenCount>);
static_assert(CanAdd<SimTime, SimDuration> && CanSubtract<SimTime, SimDuration>);
static_assert(std::is_same_v<decltype(SimTime() - SimTime()), SimDuration>);
static_assert(std::is_same_v<decltype(SlotId() - SlotId()), TokenCount>);
static_assert(std::is_same_v<decltype(BlockId() - BlockId()), BlockCount>);

// Counts of different things do not mix, nor do counts and plain numbers.
static_assert(!CanAdd<TokenCount, BlockCount> && !CanAdd<ByteCount, TokenCount>);
static_assert(!CanAdd<TokenCount, int> && !CanSubtract<int, TokenCount>);
static_assert(!CanCompare<TokenCount, BlockCount> && !CanCompare<TokenCount, int>);
static_assert(!CanEqual<TokenCount, ByteCount> && !CanEqual<BlockCount, int>);
static_assert(!CanMultiply<TokenCount, TokenCount>);
// Counts do not mix with positions, nor do positions of different kinds.
static_assert(!CanAdd<SimTime, SimTime> && !CanAdd<BlockId, BlockId>);
static_assert(!CanAdd<SimTime, TokenCount> && !CanAdd<SlotId, BlockCount>);
static_assert(!CanSubtract<SimTime, SlotId> && !CanCompare<BlockId, SlotId>);
static_assert(!CanMultiply<SimTime, int>);
static_assert(!CanAdd<BlockId, TokenCount> && CanAdd<SlotId, TokenCount>);
// Nothing converts to a unit, or from one, implicitly.
static_assert(!std::is_convertible_v<std::int64_t, TokenCount>);
static_assert(!std::is_convertible_v<TokenCount, std::int64_t>);
static_assert(!std::is_convertible_v<std::int32_t, BlockId>);
static_assert(!std::is_constructible_v<TokenCount, BlockCount>);
static_assert(sizeof(BlockId) == 4 && sizeof(TokenCount) == 8);

TEST_CASE("counts add, subtract, scale and compare") {
  TokenCount tokens(10);
  tokens += TokenCount(5);
  tokens -= TokenCount(1);
  CHECK(tokens == TokenCount(14));
  CHECK(tokens * 3 == TokenCount(42));
  CHECK(3 * tokens == TokenCount(42));
  CHECK(TokenCount(3) - TokenCount(5) == TokenCount(-2));
  CHECK(TokenCount(3) < TokenCount(4));
}

TEST_CASE("places move by distances") {
  CHECK(BlockId(7) + BlockCount(3) == BlockId(10));
  CHECK(SimTime(10) - SimDuration(4) == SimTime(6));
  CHECK(SimTime(10) - SimTime(4) == SimDuration(6));
  SlotId slot(31);
  slot += TokenCount(1);
  CHECK(slot == SlotId(32));
}

TEST_CASE("seconds are nanoseconds over a thousand million") {
  CHECK(seconds(SimDuration(1'500'000'000)) == 1.5);
  CHECK(seconds(SimTime(250'000'000)) == 0.25);
}

TEST_CASE("blocks cover tokens") {
  CHECK(blocks_for(TokenCount(0), TokenCount(16)) == BlockCount(0));
  CHECK(blocks_for(TokenCount(1), TokenCount(16)) == BlockCount(1));
  CHECK(blocks_for(TokenCount(16), TokenCount(16)) == BlockCount(1));
  CHECK(blocks_for(TokenCount(17), TokenCount(16)) == BlockCount(2));
  CHECK(ceil_div(7, 7) == 1);
}

// A hash state that keeps the last hashed value.
struct Hashed {
  std::int64_t value = 0;

  static Hashed combine(Hashed /*before*/, std::int64_t value) { return {value}; }
};

TEST_CASE("units print as numbers and hash by value") {
  std::ostringstream out;
  out << TokenCount(12) << " " << BlockId(3);
  CHECK(out.str() == "12 3");
  CHECK(AbslHashValue(Hashed(), BlockId(3)).value == 3);
  CHECK(AbslHashValue(Hashed(), SimTime(4)).value == 4);
}

}  // namespace
}  // namespace recto
