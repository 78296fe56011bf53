// Compares ranges of touched memory with a record of each byte.

#include "verify/simt/checks/touched_memory.h"

#include <map>
#include <set>
#include <vector>

#include "bazel/testing/property.h"

namespace recto::simt {
namespace {

using Bytes = std::map<AccessKind, std::set<std::uintptr_t>>;

// An address that is most often near the end of a page or of a word of bits.
std::uintptr_t draw_address(Draw& draw) {
  constexpr std::uintptr_t kBase = std::uintptr_t{5} << 40;
  const auto page = draw.growing<std::uintptr_t>(0, 3) << 12;
  const auto word = draw.growing<std::uintptr_t>(0, 2) * 64;
  return kBase + page + word + static_cast<std::uintptr_t>(draw.growing(-20, 20));
}

Bytes bytes_of(const std::vector<TouchedRange>& ranges) {
  Bytes bytes;
  for (const TouchedRange& range : ranges) {
    for (std::uintptr_t at = range.begin; at < range.end; ++at) bytes[range.kind].insert(at);
  }
  return bytes;
}

TEST_CASE("recorded ranges are returned sorted, and adjacent ranges are joined") {
  property("of drawn accesses, again and again", [](Draw& draw) {
    TouchedMemory touched;
    for (int round = 0; round < 3; ++round) {
      Bytes expected;
      for (int i = draw.growing<int>(0, 60); i > 0; --i) {
        const std::uintptr_t address = draw_address(draw);
        const auto bytes =
            static_cast<std::size_t>(draw.growing(0, 9) > 0 ? draw.growing(1, 16) : 5000);
        const auto kind = static_cast<AccessKind>(draw.growing(0, 3));
        touched.note(address, bytes, kind);
        for (std::size_t at = 0; at < bytes; ++at) expected[kind].insert(address + at);
      }
      const std::vector<TouchedRange> ranges = touched.take();
      RECTO_REQUIRE(bytes_of(ranges) == expected);
      for (std::size_t i = 1; i < ranges.size(); ++i) {
        const bool is_next_kind = ranges[i - 1].kind < ranges[i].kind;
        RECTO_REQUIRE((is_next_kind || (ranges[i - 1].kind == ranges[i].kind &&
                                        ranges[i - 1].end < ranges[i].begin)));
      }
    }
  });
}

}  // namespace
}  // namespace recto::simt
