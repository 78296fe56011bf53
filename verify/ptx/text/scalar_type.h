#pragma once

// The fundamental types of PTX, and the packed ones that are instruction types only.

#include <array>
#include <cstdint>
#include <optional>
#include <string_view>

namespace recto::ptx {

enum class ScalarType : std::uint8_t {
  kPred,
  kB8,
  kB16,
  kB32,
  kB64,
  kB128,
  kU8,
  kU16,
  kU32,
  kU64,
  kS8,
  kS16,
  kS32,
  kS64,
  kF16,
  kF16x2,
  kBf16,
  kBf16x2,
  kTf32,
  kF32,
  kF64,
  kE4m3,
  kE5m2,
  kE4m3x2,
  kE5m2x2,
  kCount,
};

struct ScalarTypeFacts {
  std::string_view name;
  unsigned bits;
};

inline constexpr std::array<ScalarTypeFacts, static_cast<std::size_t>(ScalarType::kCount)>
    kScalarTypes = {{{"pred", 1},   {"b8", 8},    {"b16", 16},    {"b32", 32},    {"b64", 64},
                     {"b128", 128}, {"u8", 8},    {"u16", 16},    {"u32", 32},    {"u64", 64},
                     {"s8", 8},     {"s16", 16},  {"s32", 32},    {"s64", 64},    {"f16", 16},
                     {"f16x2", 32}, {"bf16", 16}, {"bf16x2", 32}, {"tf32", 32},   {"f32", 32},
                     {"f64", 64},   {"e4m3", 8},  {"e5m2", 8},    {"e4m3x2", 16}, {"e5m2x2", 16}}};

constexpr std::string_view name_of(ScalarType type) {
  return kScalarTypes[static_cast<std::size_t>(type)].name;
}
constexpr unsigned bits_of(ScalarType type) {
  return kScalarTypes[static_cast<std::size_t>(type)].bits;
}
constexpr unsigned bytes_of(ScalarType type) { return (bits_of(type) + 7) / 8; }

constexpr bool is_signed(ScalarType type) {
  return type >= ScalarType::kS8 && type <= ScalarType::kS64;
}
constexpr bool is_unsigned(ScalarType type) {
  return type >= ScalarType::kU8 && type <= ScalarType::kU64;
}
constexpr bool is_integer(ScalarType type) { return is_signed(type) || is_unsigned(type); }
constexpr bool is_float(ScalarType type) { return type >= ScalarType::kF16; }

// "f32" -> kF32; nothing for other words.
constexpr std::optional<ScalarType> scalar_type(std::string_view name) {
  for (std::size_t i = 0; i < kScalarTypes.size(); ++i) {
    if (kScalarTypes[i].name == name) return static_cast<ScalarType>(i);
  }
  return std::nullopt;
}

}  // namespace recto::ptx
