#include "verify/ptx/arithmetic/bit_operations.h"

#include <algorithm>
#include <cstdint>
#include <type_traits>

#include "bazel/testing/catch.h"
#include "core/random_stream.h"

namespace recto::ptx {
namespace {

// The definitions of the ISA, bit by bit.

template <typename T>
bool bit(T a, unsigned i) {
  return (static_cast<std::make_unsigned_t<T>>(a) >> i & 1) != 0;
}

template <typename T>
T extracted(T a, std::uint32_t b, std::uint32_t c) {
  const unsigned msb = 8 * sizeof(T) - 1;
  const unsigned pos = b & 0xff;
  const unsigned len = c & 0xff;
  const bool sign = std::is_signed_v<T> && len != 0 && bit(a, std::min(pos + len - 1, msb));
  std::make_unsigned_t<T> d = 0;
  for (unsigned i = 0; i <= msb; ++i) {
    const bool one = i < len && pos + i <= msb ? bit(a, pos + i) : sign;
    d |= static_cast<std::make_unsigned_t<T>>(one) << i;
  }
  return static_cast<T>(d);
}

template <typename T>
T inserted(T a, T b, std::uint32_t c, std::uint32_t d) {
  const unsigned msb = 8 * sizeof(T) - 1;
  const unsigned pos = c & 0xff;
  const unsigned len = d & 0xff;
  T f = b;
  for (unsigned i = 0; i < len && pos + i <= msb; ++i) {
    f &= ~(T{1} << (pos + i));
    f |= static_cast<T>(bit(a, i)) << (pos + i);
  }
  return f;
}

template <typename T>
std::uint32_t highest(T a) {
  if (a < 0) a = static_cast<T>(~a);
  for (int i = 8 * sizeof(T) - 1; i >= 0; --i) {
    if (bit(a, static_cast<unsigned>(i))) return static_cast<std::uint32_t>(i);
  }
  return 0xffffffff;
}

std::uint32_t masked(std::uint32_t a, std::uint32_t b, Overshoot mode) {
  const std::uint32_t a1 = a & 31;
  const std::uint32_t b1 = b & 31;
  const auto all_from = [](std::uint32_t n) { return n < 32 ? ~0U << n : 0; };
  std::uint32_t mask0 = all_from(a1);
  std::uint32_t mask1 = all_from(a1 + b1);
  const bool is_clamped = mode == Overshoot::kClamp;
  if (is_clamped && a >= 32) mask0 = 0;
  if (a1 + b1 >= 32 || (is_clamped && (a >= 32 || b >= 32))) {
    mask1 = 0;
  } else if (b1 == 0) {
    mask1 = ~0U;
  }
  return mask0 & ~mask1;
}

template <typename T>
T extended(T a, std::uint32_t b, Overshoot mode) {
  const std::uint32_t b1 = b & 31;
  const bool too_large = b >= 32 && mode == Overshoot::kClamp;
  const std::uint32_t mask = too_large ? 0 : ~0U << b1;
  const bool sign = b1 != 0 && !too_large && std::is_signed_v<T> && bit(a, (b1 - 1) & 31);
  return static_cast<T>((static_cast<std::uint32_t>(a) & ~mask) | (sign ? mask : 0));
}

std::uint32_t nth_set(std::uint32_t mask, int base, int offset) {
  if (offset == 0)
    return bit(mask, static_cast<unsigned>(base)) ? static_cast<std::uint32_t>(base) : ~0U;
  int count = (offset < 0 ? -offset : offset) - 1;
  for (int pos = base; pos >= 0 && pos<32; pos += offset> 0 ? 1 : -1) {
    if (!bit(mask, static_cast<unsigned>(pos))) continue;
    if (count-- == 0) return static_cast<std::uint32_t>(pos);
  }
  return ~0U;
}

template <typename Check>
void for_each_type(Check check) {
  RandomStream random(1);
  const auto draw = [&]<typename T>(T) {
    for (int i = 0; i < 20000; ++i) {
      const auto next = [&] {
        return static_cast<T>(random.next_u64() >> random.next_below(64) << random.next_below(64));
      };
      // Positions and lengths within the width, beyond it, and beyond their 8 bits.
      const auto amount = [&] {
        return static_cast<std::uint32_t>(random.next_below(i % 8 == 0 ? 1000 : 70));
      };
      const T a = next();
      check(a, next(), amount(), amount());
    }
  };
  draw(std::int32_t{});
  draw(std::uint32_t{});
  draw(std::int64_t{});
  draw(std::uint64_t{});
}

}  // namespace

TEST_CASE("bit fields equal those of the ISA's loops") {
  int wrong = 0;
  for_each_type([&]<typename T>(T a, T b, std::uint32_t position, std::uint32_t length) {
    wrong += bfe(a, position, length) != extracted(a, position, length);
    if constexpr (std::is_unsigned_v<T>) {
      wrong += bfi(a, b, position, length) != inserted(a, b, position, length);
    }
    wrong += bfind(a) != highest(a);
    const std::uint32_t found = highest(a);
    wrong += bfind_shift_amount(a) != (found == ~0U ? found : 8 * sizeof(T) - 1 - found);
  });
  CHECK(wrong == 0);
  CHECK(bfind<std::int32_t>(-1) == ~0U);
  CHECK(bfind<std::uint32_t>(0) == ~0U);
  CHECK(bfe<std::int32_t>(0x80, 4, 4) == -8);
  CHECK(bfe<std::uint32_t>(0x80, 4, 4) == 8);
}

TEST_CASE("counts and reversals of bits equal those of loops over bits") {
  int wrong = 0;
  for_each_type([&]<typename T>(T a, T, std::uint32_t, std::uint32_t) {
    const unsigned width = 8 * sizeof(T);
    std::uint32_t ones = 0;
    std::uint32_t zeros = width;
    std::make_unsigned_t<T> reversed = 0;
    for (unsigned i = 0; i < width; ++i) {
      ones += bit(a, i);
      if (bit(a, i)) zeros = width - 1 - i;
      reversed |= static_cast<std::make_unsigned_t<T>>(bit(a, width - 1 - i)) << i;
    }
    wrong += popc(a) != ones;
    wrong += clz(a) != zeros;
    if constexpr (std::is_unsigned_v<T>) wrong += brev(a) != reversed;
    wrong += cnot(a) != (a == 0 ? 1 : 0);
  });
  CHECK(wrong == 0);
  CHECK(clz<std::uint64_t>(0) == 64);
}

TEST_CASE("masks, extensions and n-th bits are those of the ISA") {
  RandomStream random(2);
  int wrong = 0;
  for (std::uint32_t a = 0; a < 70; ++a) {
    for (std::uint32_t b = 0; b < 70; ++b) {
      for (const Overshoot mode : {Overshoot::kClamp, Overshoot::kWrap}) {
        // In .clamp mode the width is limited to 32.
        wrong += bmsk(a, b, mode) != masked(a, b, mode);
      }
    }
  }
  for (int i = 0; i < 20000; ++i) {
    const auto a = static_cast<std::uint32_t>(random.next_u64());
    const auto b = static_cast<std::uint32_t>(random.next_below(70));
    for (const Overshoot mode : {Overshoot::kClamp, Overshoot::kWrap}) {
      wrong += szext(a, b, mode) != extended(a, b, mode);
      wrong += szext(static_cast<std::int32_t>(a), b, mode) !=
               extended(static_cast<std::int32_t>(a), b, mode);
    }
    const int base = static_cast<int>(random.next_below(32));
    const int offset = static_cast<int>(random.next_below(21)) - 10;
    wrong += fns(a, static_cast<std::uint32_t>(base), offset) != nth_set(a, base, offset);
  }
  CHECK(wrong == 0);
}

TEST_CASE("shifts beyond the width shift everything out") {
  int wrong = 0;
  for_each_type([&]<typename T>(T a, T, std::uint32_t amount, std::uint32_t) {
    const unsigned width = 8 * sizeof(T);
    const std::uint32_t n = std::min(amount, width);
    const auto bits = static_cast<unsigned __int128>(static_cast<std::make_unsigned_t<T>>(a));
    wrong += shl(a, amount) != static_cast<T>(bits << n);
    wrong += shr(a, amount) != static_cast<T>(static_cast<__int128>(a) >> n);
  });
  CHECK(wrong == 0);
  CHECK(shl<std::uint16_t>(0xffff, 15) == 0x8000);
  CHECK(shl<std::uint16_t>(0xffff, 16) == 0);
  CHECK(shr<std::int16_t>(-5, 1000) == -1);
}

TEST_CASE("funnel shifts take the amount modulo 32, or at most 32") {
  const std::uint32_t a = 0x89abcdef;
  const std::uint32_t b = 0x01234567;
  for (std::uint32_t amount = 0; amount < 70; ++amount) {
    for (const Overshoot mode : {Overshoot::kClamp, Overshoot::kWrap}) {
      const std::uint32_t n = mode == Overshoot::kClamp ? std::min(amount, 32U) : amount & 31;
      const auto left = [](std::uint32_t x, std::uint32_t by) { return by < 32 ? x << by : 0; };
      const auto right = [](std::uint32_t x, std::uint32_t by) { return by < 32 ? x >> by : 0; };
      CHECK(shf_left(a, b, amount, mode) == (left(b, n) | right(a, 32 - n)));
      CHECK(shf_right(a, b, amount, mode) == (left(b, 32 - n) | right(a, n)));
    }
  }
}

TEST_CASE("lop3 is the table that the constants 0xf0, 0xcc and 0xaa give") {
  RandomStream random(3);
  const auto next = [&] { return static_cast<std::uint32_t>(random.next_u64()); };
  for (int i = 0; i < 100; ++i) {
    const std::uint32_t a = next();
    const std::uint32_t b = next();
    const std::uint32_t c = next();
    CHECK(lop3(a, b, c, 0xf0 & 0xcc & 0xaa) == (a & b & c));
    CHECK(lop3(a, b, c, 0xf0 | 0xcc | 0xaa) == (a | b | c));
    CHECK(lop3(a, b, c, 0xf0 & 0xcc & (~0xaa & 0xff)) == (a & b & ~c));
    CHECK(lop3(a, b, c, (0xf0 & 0xcc) ^ 0xaa) == ((a & b) ^ c));
    CHECK(lop3(a, b, c, (0xf0 & 0xcc) | (~0xf0 & 0xaa)) == ((a & b) | (~a & c)));
    CHECK(lop3(a, b, c, 0) == 0);
    CHECK(lop3(a, b, c, 0xff) == ~0U);
  }
}

TEST_CASE("prmt picks bytes, or copies of their signs") {
  const std::uint32_t a = 0x83828180;
  const std::uint32_t b = 0x07060504;
  CHECK(prmt(a, b, 0x3210) == a);
  CHECK(prmt(a, b, 0x7654) == b);
  CHECK(prmt(a, b, 0x5410) == 0x05048180);
  CHECK(prmt(a, b, 0xc8b3) == 0x00ffff83);
  CHECK(prmt(a, b, 0xffff3210) == a);
}

// The ISA's table, by mode and selector: the source of bytes 3, 2, 1 and 0.
TEST_CASE("the modes of prmt select by two bits") {
  using enum Permutation;
  struct Row {
    Permutation mode;
    std::uint32_t selectors[4];
  };
  const Row rows[] = {
      {kF4e, {0x3210, 0x4321, 0x5432, 0x6543}}, {kB4e, {0x5670, 0x6701, 0x7012, 0x0123}},
      {kRc8, {0x0000, 0x1111, 0x2222, 0x3333}}, {kEcl, {0x3210, 0x3211, 0x3222, 0x3333}},
      {kEcr, {0x0000, 0x1110, 0x2210, 0x3210}}, {kRc16, {0x1010, 0x3232, 0x1010, 0x3232}}};
  for (const Row& row : rows) {
    for (std::uint32_t c = 0; c < 4; ++c) {
      CHECK(prmt_selectors(c | 0xabcd0, row.mode) == row.selectors[c]);
    }
  }
  CHECK(prmt_selectors(0xabcd, kIndex) == 0xabcd);
}

}  // namespace recto::ptx
