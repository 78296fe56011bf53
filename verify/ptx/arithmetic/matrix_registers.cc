#include "verify/ptx/arithmetic/matrix_registers.h"

#include <bit>
#include <cstring>

#include "core/contract.h"
#include "verify/ptx/arithmetic/conversion.h"

namespace recto::ptx {
namespace {

static_assert(std::endian::native == std::endian::little, "elements are read from registers");

// A register of a warp holds 8 rows of A, or 8 columns of B, of 16 bytes each.
constexpr int kLines = 8;

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

template <int kWidth, typename Number>
void read_rows(FactorType type, int depth, const RegisterRow* registers, Number* a) {
  Number elements[kLines][kWidth];
  for (int i = 0; i < 2 * depth / kWidth; ++i) {
    widen_factors(type, registers[i], kLines * kWidth, elements[0]);
    Number* to = a + i % 2 * kLines * depth + i / 2 * kWidth;
    for (int row = 0; row < kLines; ++row) {
      std::memcpy(to + row * depth, elements[row], sizeof(elements[row]));
    }
  }
}

template <int kWidth, typename Number>
void read_columns(FactorType type, int depth, const RegisterRow* registers, Number* b) {
  Number elements[kLines][kWidth];
  for (int i = 0; i < depth / kWidth; ++i) {
    widen_factors(type, registers[i], kLines * kWidth, elements[0]);
    Number* to = b + i * kWidth * kLines;
    for (int k = 0; k < kWidth; ++k) {
      for (int column = 0; column < kLines; ++column) to[k * kLines + column] = elements[column][k];
    }
  }
}

}  // namespace

// The fastest version that the machine supports is used; the results are the same.
void widen_factors(FactorType type, const void* elements, int count, float* numbers) {
#if defined(__x86_64__)
  static const bool kHasAvx2 = __builtin_cpu_supports("avx2");
  if (kHasAvx2) return widen_with_avx2(type, elements, count, numbers);
#endif
  widen_any(type, elements, count, numbers);
}

void widen_factors(FactorType type, const void* elements, int count, std::int32_t* numbers) {
  RECTO_CHECK(is_integer(type));
  const auto* bytes = static_cast<const std::uint8_t*>(elements);
  for (int i = 0; i < count; ++i) {
    numbers[i] = type == FactorType::kS8 ? static_cast<std::int8_t>(bytes[i]) : bytes[i];
  }
}

template <typename Number>
void read_a(FactorType type, int depth, const RegisterRow* registers, Number* a) {
  switch (element_bits(type)) {
    case 8:
      return read_rows<16>(type, depth, registers, a);
    case 16:
      return read_rows<8>(type, depth, registers, a);
    default:
      return read_rows<4>(type, depth, registers, a);
  }
}

template <typename Number>
void read_b(FactorType type, int depth, const RegisterRow* registers, Number* b) {
  switch (element_bits(type)) {
    case 8:
      return read_columns<16>(type, depth, registers, b);
    case 16:
      return read_columns<8>(type, depth, registers, b);
    default:
      return read_columns<4>(type, depth, registers, b);
  }
}

template void read_a(FactorType, int, const RegisterRow*, float*);
template void read_a(FactorType, int, const RegisterRow*, std::int32_t*);
template void read_b(FactorType, int, const RegisterRow*, float*);
template void read_b(FactorType, int, const RegisterRow*, std::int32_t*);

// Each block of 8 columns has two registers for the upper eight rows and two for the lower, between
// which the elements of a row alternate; two f16 share a register. In the order of lanes, these are
// 8 x 8 elements by rows.
void read_sums(SumType type, int columns, const RegisterRow* registers, float* sums) {
  for (int block = 0; block < columns / 4; ++block) {
    float tile[kLines][8];
    float* const elements = tile[0];
    if (type == SumType::kF16) {
      widen_factors(FactorType::kF16, registers[block], 2 * kFragmentLanes, elements);
    } else {
      const std::uint32_t* const even = registers[2 * block];
      const std::uint32_t* const uneven = registers[2 * block + 1];
      for (int lane = 0; lane < kFragmentLanes; ++lane) {
        elements[2 * lane] = float_of(even[lane]);
        elements[2 * lane + 1] = float_of(uneven[lane]);
      }
    }
    float* to = sums + block % 2 * kLines * columns + block / 2 * 8;
    for (int row = 0; row < kLines; ++row)
      std::memcpy(to + row * columns, tile[row], sizeof tile[row]);
  }
}

void write_sums(SumType type, int columns, const float* sums, RegisterRow* registers) {
  for (int block = 0; block < columns / 4; ++block) {
    const float* from = sums + block % 2 * kLines * columns + block / 2 * 8;
    float tile[kLines][8];
    const float* const elements = tile[0];
    for (int row = 0; row < kLines; ++row)
      std::memcpy(tile[row], from + row * columns, sizeof tile[row]);
    if (type == SumType::kF16) {
      for (int lane = 0; lane < kFragmentLanes; ++lane) {
        registers[block][lane] = packed<kF16>(elements[2 * lane + 1], elements[2 * lane], {});
      }
    } else {
      std::uint32_t* const even = registers[2 * block];
      std::uint32_t* const uneven = registers[2 * block + 1];
      for (int lane = 0; lane < kFragmentLanes; ++lane) {
        even[lane] = bits_of(elements[2 * lane]);
        uneven[lane] = bits_of(elements[2 * lane + 1]);
      }
    }
  }
}

}  // namespace recto::ptx
