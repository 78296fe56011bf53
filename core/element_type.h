#pragma once

// The number formats that queries, caches and outputs are stored in.

#include <array>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <ostream>

namespace recto {

enum class ElementType : std::uint8_t {
  kFp32,
  kFp16,  // IEEE binary16
  kBf16,  // the upper half of a binary32
  kE4m3,  // OCP 8-bit, E4M3: no infinity, largest 448
  kE5m2,  // OCP 8-bit, E5M2: with infinities, largest 57344
};

inline constexpr std::array<ElementType, 5> kElementTypes = {ElementType::kFp32, ElementType::kFp16,
                                                             ElementType::kBf16, ElementType::kE4m3,
                                                             ElementType::kE5m2};

constexpr std::int64_t element_bytes(ElementType type) {
  switch (type) {
    case ElementType::kFp32:
      return 4;
    case ElementType::kFp16:
    case ElementType::kBf16:
      return 2;
    case ElementType::kE4m3:
    case ElementType::kE5m2:
      return 1;
  }
  return 0;
}

constexpr bool is_fp8(ElementType type) { return element_bytes(type) == 1; }

// Also accepts values outside the enum, so that refusals can print them.
constexpr const char* element_type_name(ElementType type) {
  constexpr const char* kNames[] = {"fp32", "fp16", "bf16", "e4m3", "e5m2"};
  const auto index = static_cast<std::size_t>(type);
  return index < std::size(kNames) ? kNames[index] : "no type";
}

inline std::ostream& operator<<(std::ostream& out, ElementType type) {
  return out << element_type_name(type);
}

}  // namespace recto
