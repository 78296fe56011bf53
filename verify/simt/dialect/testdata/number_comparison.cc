// Compares the executor's number functions with NVIDIA's, for every argument of 8 and 16 bits, a
// sample of pairs of them, and a sample of 32-bit ones. Prints the differences.

#include <cstdio>
#include <vector>

#include "verify/simt/dialect/testdata/number_functions.h"

namespace {

constexpr int kPrintedMax = 5;

// Numbers near rounding boundaries of the formats, and numbers of all magnitudes.
std::vector<std::uint32_t> sample_of_32_bits() {
  std::vector<std::uint32_t> sample;
  for (std::uint64_t bits = 0; bits <= UINT32_MAX; bits += 8191) {
    sample.push_back(static_cast<std::uint32_t>(bits));
  }
  // A step of 2^12 is half a unit of the finest format, so the steps include every tie.
  for (std::uint64_t bits = 0; bits <= UINT32_MAX; bits += 1 << 12) {
    for (const int offset : {-1, 0, 1}) {
      sample.push_back(static_cast<std::uint32_t>(bits + static_cast<std::uint64_t>(offset)));
    }
  }
  return sample;
}

// Per function, about 2^20 pairs: every `a` with a few `b`, the special ones among them.
std::vector<std::uint32_t> partners_of(std::uint32_t a) {
  std::vector<std::uint32_t> partners = {
      0,      0x8000, 1,      0x8001, 0x3c00, 0x7c00, 0xfc00,     0x7e01,          0x3f80,
      0x7f80, 0xff80, 0x7fc1, 0x0400, 0x7bff, a,      a ^ 0x8000, (a + 1) & 0xffff};
  std::uint32_t state = a * 2654435761U + 12345;
  for (int i = 0; i < 5; ++i) {
    state = state * 1664525U + 1013904223U;
    partners.push_back(state >> 16);
  }
  return partners;
}

struct Tally {
  std::uint64_t compared = 0;
  std::uint64_t different = 0;
};

void compare(const NumberFunction& ours, const NumberFunction& theirs, std::uint32_t a,
             std::uint32_t b, Tally& tally) {
  const std::uint32_t our_result = ours.call(a, b);
  const std::uint32_t their_result = theirs.call(a, b);
  ++tally.compared;
  if (our_result == their_result) return;
  if (++tally.different <= kPrintedMax) {
    std::printf("%s of %#x, %#x: NVIDIA's gives %#x, the executor's %#x\n", ours.name, a, b,
                their_result, our_result);
  }
}

}  // namespace

int main() {
  const auto ours = executor_number_functions();
  const auto theirs = nvidia_number_functions();
  const std::vector<std::uint32_t> words = sample_of_32_bits();
  std::uint64_t compared = 0;
  std::uint64_t different = 0;
  for (std::size_t i = 0; i < ours.size(); ++i) {
    Tally tally;
    if (ours[i].argument_bits == 32) {
      for (const std::uint32_t a : words) compare(ours[i], theirs[i], a, 0, tally);
    } else {
      for (std::uint32_t a = 0; a < 1U << ours[i].argument_bits; ++a) {
        if (ours[i].arguments == 1) compare(ours[i], theirs[i], a, 0, tally);
        if (ours[i].arguments == 1) continue;
        for (const std::uint32_t b : partners_of(a)) compare(ours[i], theirs[i], a, b, tally);
      }
    }
    if (tally.different > 0) {
      std::printf("%s: %llu of %llu differ\n", ours[i].name,
                  static_cast<unsigned long long>(tally.different),
                  static_cast<unsigned long long>(tally.compared));
    }
    compared += tally.compared;
    different += tally.different;
  }
  std::printf("%zu functions, %llu results compared, %llu differ\n", ours.size(),
              static_cast<unsigned long long>(compared),
              static_cast<unsigned long long>(different));
  return different == 0 ? 0 : 1;
}
