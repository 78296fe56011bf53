#pragma once

// An array as NumPy stores one in a file: type, shape and bytes.

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

#include "core/contract.h"

namespace recto::verify {

// NumPy has no types for bf16 and fp8: their codes are kUint16 and kUint8.
enum class NpyType : std::uint8_t {
  kBool,
  kUint8,
  kInt16,
  kUint16,
  kInt32,
  kInt64,
  kFloat16,
  kFloat32,
  kFloat64,
  kBytes1,  // of a type that only another library defines, such as ml_dtypes
  kBytes2,
  kText,  // 32 bits per character
};

struct NpyArray {
  NpyType type = NpyType::kFloat32;
  std::int64_t item_bytes = 4;
  std::vector<std::int64_t> shape = {};  // empty: one item
  std::vector<std::byte> data = {};      // [shape], C order, low byte first

  friend bool operator==(const NpyArray&, const NpyArray&) = default;

  std::int64_t count() const { return std::ssize(data) / item_bytes; }

  // Item `index` of `count` as a T, which must have the item's size.
  template <typename T>
  T at(std::int64_t index) const {
    static_assert(std::is_trivially_copyable_v<T>);
    RECTO_CHECK_EQ(static_cast<std::int64_t>(sizeof(T)), item_bytes);
    T item;
    std::memcpy(&item, data.data() + index * item_bytes, sizeof(T));
    return item;
  }
};

// "float16", "int32 [2, 3]"
std::string npy_type_name(const NpyArray& array);
std::string npy_array_text(const NpyArray& array);

// `items` must have as many items as the shape.
template <typename T>
NpyArray make_npy_array(NpyType type, std::vector<std::int64_t> shape,
                        const std::vector<T>& items) {
  NpyArray array{.type = type, .item_bytes = sizeof(T), .shape = std::move(shape)};
  array.data.resize(items.size() * sizeof(T));
  if (!items.empty()) std::memcpy(array.data.data(), items.data(), array.data.size());
  return array;
}

// Arrays of one number, and of one text, which must be ASCII.
template <typename T>
NpyArray make_npy_scalar(NpyType type, T value) {
  return make_npy_array<T>(type, {}, {value});
}
NpyArray make_npy_text(std::string_view text);

}  // namespace recto::verify
