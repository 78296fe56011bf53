#include "verify/ptx/arithmetic/mma.h"

#include <bit>
#include <cstring>

#include "core/contract.h"
#include "verify/ptx/arithmetic/conversion.h"

namespace recto::ptx {
namespace {

static_assert(std::endian::native == std::endian::little, "elements are read from registers");

constexpr int kRows = 16;
constexpr int kColumns = 8;
constexpr int kDepthMax = 32;

bool is_integer(FactorType type) { return type == FactorType::kS8 || type == FactorType::kU8; }
bool is_fp8(FactorType type) { return type == FactorType::kE4m3 || type == FactorType::kE5m2; }

template <FloatFormat kFormat, typename Code>
[[gnu::always_inline]] inline void widen(const void* elements, int count, float* numbers) {
  const auto* bytes = static_cast<const std::byte*>(elements);
  for (int i = 0; i < count; ++i) {
    Code code;
    std::memcpy(&code, bytes + i * static_cast<int>(sizeof(Code)), sizeof(Code));
    numbers[i] = widened<kFormat>(code);
  }
}

[[gnu::always_inline]] inline void widen_any(FactorType type, const void* elements, int count,
                                             float* numbers) {
  switch (type) {
    case FactorType::kF16:
      return widen<kF16, std::uint16_t>(elements, count, numbers);
    case FactorType::kBf16:
      return widen<kBf16, std::uint16_t>(elements, count, numbers);
    case FactorType::kE4m3:
      return widen<kE4m3, std::uint8_t>(elements, count, numbers);
    case FactorType::kE5m2:
      return widen<kE5m2, std::uint8_t>(elements, count, numbers);
    case FactorType::kTf32: {
      std::memcpy(numbers, elements, static_cast<std::size_t>(count) * sizeof(float));
      for (int i = 0; i < count; ++i) numbers[i] = float_of(bits_of(numbers[i]) & ~0x1fffU);
      return;
    }
    case FactorType::kS8:
    case FactorType::kU8:
      break;
  }
  RECTO_CHECK(!is_integer(type));
}

#if defined(__x86_64__)
__attribute__((target("avx2"))) void widen_with_avx2(FactorType type, const void* elements,
                                                     int count, float* numbers) {
  widen_any(type, elements, count, numbers);
}
#endif

template <typename Element>
struct Factors {
  Element a[kRows * kDepthMax];     // [kRows, depth]
  Element b[kDepthMax * kColumns];  // [depth, kColumns]
};

// A register of a warp holds 8 rows of A, or 8 columns of B, of 16 bytes each.
template <int kWidth, typename Element, typename Widen>
void collect(const MmaShape& shape, const MmaRegisters& registers, Factors<Element>& factors,
             Widen widen_register) {
  Element elements[8][kWidth];
  for (int i = 0; i < shape.a_registers(); ++i) {
    widen_register(shape.a, registers.a[i], 8 * kWidth, elements[0]);
    Element* to = factors.a + i % 2 * 8 * shape.depth + i / 2 * kWidth;
    for (int row = 0; row < 8; ++row) {
      std::memcpy(to + row * shape.depth, elements[row], sizeof(elements[row]));
    }
  }
  for (int i = 0; i < shape.b_registers(); ++i) {
    widen_register(shape.b, registers.b[i], 8 * kWidth, elements[0]);
    Element* to = factors.b + i * kWidth * kColumns;
    for (int k = 0; k < kWidth; ++k) {
      for (int column = 0; column < kColumns; ++column) {
        to[k * kColumns + column] = elements[column][k];
      }
    }
  }
}

void multiply_integers(const MmaShape& shape, const MmaRegisters& registers) {
  Factors<std::int32_t> factors;
  collect<16>(shape, registers, factors,
              [](FactorType type, const RegisterRow& row, int count, std::int32_t* elements) {
                const auto* bytes = reinterpret_cast<const std::uint8_t*>(row);
                for (int i = 0; i < count; ++i) {
                  elements[i] =
                      type == FactorType::kS8 ? static_cast<std::int8_t>(bytes[i]) : bytes[i];
                }
              });
  for (int lane = 0; lane < kWarpSize; ++lane) {
    for (int i = 0; i < 4; ++i) {
      const MatrixPlace place = sum_place(lane, i);
      std::int64_t sum = static_cast<std::int32_t>(registers.c[i][lane]);
      for (int k = 0; k < shape.depth; ++k) {
        sum += factors.a[place.row * shape.depth + k] * factors.b[k * kColumns + place.column];
      }
      registers.d[i][lane] = static_cast<std::uint32_t>(shape.satfinite ? clamped_s32(sum) : sum);
    }
  }
}

// Registers 0 and 1 hold the upper eight rows of the sums, whose elements alternate between them;
// two f16 share a register.
void read_sums(const MmaShape& shape, const RegisterRow* c, float* sums) {
  for (int half = 0; half < 2; ++half, sums += 2 * kWarpSize) {
    if (shape.sum == SumType::kF16) {
      widen_factors(FactorType::kF16, c[half], 2 * kWarpSize, sums);
      continue;
    }
    for (int lane = 0; lane < kWarpSize; ++lane) {
      sums[2 * lane] = float_of(c[2 * half][lane]);
      sums[2 * lane + 1] = float_of(c[2 * half + 1][lane]);
    }
  }
}

void write_sums(const MmaShape& shape, const float* sums, RegisterRow* d) {
  for (int half = 0; half < 2; ++half, sums += 2 * kWarpSize) {
    for (int lane = 0; lane < kWarpSize; ++lane) {
      const float even = sums[2 * lane];
      const float uneven = sums[2 * lane + 1];
      if (shape.sum == SumType::kF16) {
        d[half][lane] = packed<kF16>(uneven, even, {});
      } else {
        d[2 * half][lane] = bits_of(even);
        d[2 * half + 1][lane] = bits_of(uneven);
      }
    }
  }
}

}  // namespace

bool is_supported(const MmaShape& shape) {
  const bool is_whole = shape.sum == SumType::kS32;
  if (is_integer(shape.a) || is_integer(shape.b)) {
    return is_integer(shape.a) && is_integer(shape.b) && is_whole &&
           (shape.depth == 16 || shape.depth == 32);
  }
  if (is_fp8(shape.a) || is_fp8(shape.b)) {
    return is_fp8(shape.a) && is_fp8(shape.b) && !is_whole &&
           (shape.depth == 16 || shape.depth == 32);
  }
  if (shape.a != shape.b || is_whole) return false;
  if (shape.a == FactorType::kF16) return shape.depth == 8 || shape.depth == 16;
  if (shape.sum != SumType::kF32) return false;
  return shape.depth == 8 || shape.depth == (shape.a == FactorType::kTf32 ? 4 : 16);
}

void widen_factors(FactorType type, const void* elements, int count, float* numbers) {
#if defined(__x86_64__)
  static const bool kHasAvx2 = __builtin_cpu_supports("avx2");
  if (kHasAvx2) return widen_with_avx2(type, elements, count, numbers);
#endif
  widen_any(type, elements, count, numbers);
}

void mma(const MmaShape& shape, const MmaRegisters& registers, const SumModel& model) {
  RECTO_CHECK(is_supported(shape));
  if (shape.sum == SumType::kS32) return multiply_integers(shape, registers);
  Factors<float> factors;
  switch (element_bits(shape.a)) {
    case 8:
      collect<16>(shape, registers, factors, widen_factors);
      break;
    case 16:
      collect<8>(shape, registers, factors, widen_factors);
      break;
    default:
      collect<4>(shape, registers, factors, widen_factors);
  }
  float sums[kRows * kColumns];
  read_sums(shape, registers.c, sums);
  multiply_accumulate({.rows = kRows,
                       .columns = kColumns,
                       .depth = shape.depth,
                       .a = factors.a,
                       .b = factors.b,
                       .sums = sums},
                      model);
  write_sums(shape, sums, registers.d);
}

}  // namespace recto::ptx
