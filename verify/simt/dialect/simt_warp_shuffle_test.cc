// Shuffles, value by value, against the PTX ISA's pseudo-code of shfl.sync: all widths, masks of
// some lanes, types of 2, 4 and 8 bytes.

#include <algorithm>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "bazel/testing/catch.h"
#include "core/random_stream.h"
#include "verify/simt/dialect/lane_values.h"

namespace recto::simt {
namespace {

// The source lane by the PTX ISA's pseudo-code of shfl.sync, with the c that the programming
// guide's functions pass: a segment mask of 32 - width, and a clamp.
int source_lane(Shuffle how, int lane, int argument, int width) {
  const int bval = argument & 31;
  const int segment_mask = 32 - width;
  const int clamp = how == Shuffle::kUp ? 0 : 31;
  const int max_lane = (lane & segment_mask) | (clamp & ~segment_mask);
  const int min_lane = lane & segment_mask;
  int j = 0;
  bool is_inside = false;
  switch (how) {
    case Shuffle::kUp:
      j = lane - bval;
      is_inside = j >= max_lane;
      break;
    case Shuffle::kDown:
      j = lane + bval;
      is_inside = j <= max_lane;
      break;
    case Shuffle::kXor:
      j = lane ^ bval;
      is_inside = j <= max_lane;
      break;
    case Shuffle::kIndex:
      j = min_lane | (bval & ~segment_mask);
      is_inside = j <= max_lane;
      break;
  }
  return is_inside ? j : lane;
}

// Each byte of a value identifies its thread.
std::uint64_t own_bits(int thread) {
  return 0x0102040810204080ULL * static_cast<std::uint64_t>(thread % 2 + 1) ^
         0x0101010101010101ULL * static_cast<std::uint64_t>(thread);
}

struct ShuffleCase {
  ShuffleShape shape;
  std::vector<int> arguments;  // [kThreads]
};

// The expected values; nothing if the source lane of some lane does not take part.
template <typename T>
std::optional<std::vector<T>> expected_of(const ShuffleCase& what, const std::vector<T>& values,
                                          const std::vector<T>& untouched) {
  std::vector<T> expected = untouched;
  for (int i = 0; i < kThreads; ++i) {
    const auto at = static_cast<std::size_t>(i);
    if (!is_in(what.shape.mask, i % 32)) continue;
    const int source = source_lane(what.shape.how, i % 32, what.arguments[at], what.shape.width);
    if (!is_in(what.shape.mask, source)) return std::nullopt;
    expected[at] = values[static_cast<std::size_t>(i / 32 * 32 + source)];
  }
  return expected;
}

struct Tally {
  int right = 0;
  int refused = 0;
  int wrong = 0;
};

template <typename T>
void check_shuffle(const ShuffleCase& what, Tally& tally) {
  std::vector<T> values;
  for (int i = 0; i < kThreads; ++i) values.push_back(value_of<T>(own_bits(i)));
  const std::vector<T> untouched(kThreads, value_of<T>(0xeeeeeeeeeeeeeeeeULL));
  std::vector<T> out = untouched;
  const std::string text =
      run_block(shuffle_values<T>, what.shape, what.arguments.data(), values.data(), out.data())
          .text();
  const std::optional<std::vector<T>> expected = expected_of(what, values, untouched);
  if (!expected) {
    ++(text.find("shuffle source") != std::string::npos ? tally.refused : tally.wrong);
  } else {
    const bool is_right =
        text.empty() && std::equal(out.begin(), out.end(), expected->begin(), is_same<T>);
    ++(is_right ? tally.right : tally.wrong);
  }
}

// All widths and masks, with the same argument for all lanes and with one for each.
template <typename T>
Tally checked_shuffles(Shuffle how) {
  Tally tally;
  RandomStream random(7);
  for (const unsigned mask : kMasks) {
    for (int width = 1; width <= 32; width *= 2) {
      for (const int argument : {0, 1, 2, 3, 7, 15, 16, 31}) {
        check_shuffle<T>({{how, mask, width}, std::vector<int>(kThreads, argument)}, tally);
      }
      std::vector<int> drawn;
      for (int i = 0; i < kThreads; ++i) drawn.push_back(static_cast<int>(random.next_below(32)));
      check_shuffle<T>({{how, mask, width}, drawn}, tally);
      // The guide takes a source lane modulo the width.
      if (how != Shuffle::kIndex) continue;
      for (int& lane : drawn) lane = 3 * lane - 48;
      check_shuffle<T>({{how, mask, width}, drawn}, tally);
    }
  }
  return tally;
}

template <typename T>
void require_shuffles() {
  for (const Shuffle how : {Shuffle::kIndex, Shuffle::kUp, Shuffle::kDown, Shuffle::kXor}) {
    const Tally tally = checked_shuffles<T>(how);
    INFO("shuffle " << static_cast<int>(how) << " of " << sizeof(T) << " bytes: " << tally.right
                    << " right, " << tally.refused << " refused");
    CHECK(tally.wrong == 0);
    CHECK(tally.right >= 100);
    CHECK(tally.refused >= 50);
  }
}

}  // namespace

TEST_CASE("a shuffle reads the lane that the PTX ISA defines, or is refused") {
  require_shuffles<int>();
  require_shuffles<float>();
  require_shuffles<double>();
  require_shuffles<long long>();
  require_shuffles<unsigned long>();
  require_shuffles<__half>();
  require_shuffles<__half2>();
}

TEST_CASE("a shuffle's width is a power of two up to 32") {
  for (const int width : {-1, 0, 3, 24, 31, 33, 64}) {
    const std::vector<int> values(kThreads, 1);
    std::vector<int> out(kThreads);
    INFO(width);
    CHECK(run_block(shuffle_values<int>, ShuffleShape{Shuffle::kDown, kAllLanes, width},
                    values.data(), values.data(), out.data())
              .text()
              .find("with width " + std::to_string(width)) != std::string::npos);
  }
}

}  // namespace recto::simt
