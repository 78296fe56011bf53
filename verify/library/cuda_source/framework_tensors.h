#pragma once

// The part of PyTorch's C++ interface that paged-attention extensions use on the host: tensors over
// a call's memory, checks, and dispatch over types. It computes nothing.

#include <cuda_bf16.h>
#include <cuda_fp16.h>

#include <cstddef>
#include <cstdint>
#include <iostream>
#include <numeric>
#include <optional>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "verify/library/cuda_source/call_memory.h"

namespace c10 {

using Half = __half;
using BFloat16 = __nv_bfloat16;

enum class ScalarType : std::int8_t {
  Byte,
  Char,
  Short,
  Int,
  Long,
  Half,
  Float,
  Double,
  Bool,
  BFloat16,
  Float8_e5m2,
  Float8_e4m3fn,
};

constexpr std::size_t elementSize(ScalarType type) {
  constexpr std::size_t kBytes[] = {1, 1, 2, 4, 8, 2, 4, 8, 1, 2, 1, 1};
  return kBytes[static_cast<int>(type)];
}

inline std::ostream& operator<<(std::ostream& out, ScalarType type) {
  constexpr const char* kNames[] = {"Byte", "Char",     "Short",       "Int",
                                    "Long", "Half",     "Float",       "Double",
                                    "Bool", "BFloat16", "Float8_e5m2", "Float8_e4m3fn"};
  return out << kNames[static_cast<int>(type)];
}

struct Device {
  int ordinal = 0;
  int index() const { return ordinal; }
  bool is_cuda() const { return true; }
};

struct TensorOptions {
  ScalarType type = ScalarType::Float;

  TensorOptions dtype(ScalarType other) const { return {other}; }
  TensorOptions device(Device) const { return *this; }
};

using IntArrayRef = const std::vector<std::int64_t>&;

}  // namespace c10

namespace at {

using c10::BFloat16;
using c10::Device;
using c10::Half;
using c10::IntArrayRef;
using c10::ScalarType;
using c10::TensorOptions;

using Dtype = ScalarType;

inline constexpr ScalarType kByte = ScalarType::Byte;
inline constexpr ScalarType kInt = ScalarType::Int;
inline constexpr ScalarType kLong = ScalarType::Long;
inline constexpr ScalarType kHalf = ScalarType::Half;
inline constexpr ScalarType kFloat = ScalarType::Float;
inline constexpr ScalarType kBFloat16 = ScalarType::BFloat16;

class Tensor {
 public:
  Tensor() = default;
  // Contiguous strides.
  Tensor(void* data, ScalarType type, std::vector<std::int64_t> sizes)
      : Tensor(data, type, sizes, contiguous_strides(sizes)) {}
  // Strides are counted in elements.
  Tensor(void* data, ScalarType type, std::vector<std::int64_t> sizes,
         std::vector<std::int64_t> strides)
      : data_(data), type_(type), sizes_(std::move(sizes)), strides_(std::move(strides)) {}

  bool defined() const { return data_ != nullptr; }
  std::int64_t dim() const { return static_cast<std::int64_t>(sizes_.size()); }
  std::int64_t size(std::int64_t dim) const { return sizes_.at(place_of(dim)); }
  std::int64_t stride(std::int64_t dim) const { return strides_.at(place_of(dim)); }
  IntArrayRef sizes() const { return sizes_; }
  IntArrayRef strides() const { return strides_; }
  std::int64_t numel() const {
    return std::accumulate(sizes_.begin(), sizes_.end(), std::int64_t{1}, std::multiplies<>());
  }
  bool is_contiguous() const { return strides_ == contiguous_strides(sizes_); }
  ScalarType scalar_type() const { return type_; }
  ScalarType dtype() const { return type_; }
  std::size_t element_size() const { return c10::elementSize(type_); }
  std::size_t itemsize() const { return element_size(); }
  Device device() const { return {}; }
  bool is_cuda() const { return true; }
  int get_device() const { return 0; }
  TensorOptions options() const { return {type_}; }

  void* data_ptr() const { return data_; }
  template <typename T>
  T* data_ptr() const {
    return static_cast<T*>(data_);
  }
  template <typename T>
  T* mutable_data_ptr() const {
    return static_cast<T*>(data_);
  }
  template <typename T>
  const T* const_data_ptr() const {
    return static_cast<const T*>(data_);
  }

 private:
  static std::vector<std::int64_t> contiguous_strides(const std::vector<std::int64_t>& sizes) {
    std::vector<std::int64_t> strides(sizes.size(), 1);
    for (std::size_t i = sizes.size(); i-- > 1;) strides[i - 1] = strides[i] * sizes[i];
    return strides;
  }
  std::size_t place_of(std::int64_t dim) const {
    return static_cast<std::size_t>(dim < 0 ? dim + this->dim() : dim);
  }

  void* data_ = nullptr;
  ScalarType type_ = ScalarType::Float;
  std::vector<std::int64_t> sizes_;
  std::vector<std::int64_t> strides_;
};

// Memory of the running call, which holds NaN and must be written before it is read.
inline Tensor empty(std::vector<std::int64_t> sizes, TensorOptions options) {
  const std::int64_t count =
      std::accumulate(sizes.begin(), sizes.end(), std::int64_t{1}, std::multiplies<>());
  const auto bytes = static_cast<std::size_t>(count) * c10::elementSize(options.type);
  return {recto::allocate_in_call("torch::empty", bytes), options.type, std::move(sizes)};
}
inline Tensor empty_like(const Tensor& other) { return empty(other.sizes(), other.options()); }

}  // namespace at

namespace torch = at;

namespace c10 {

template <typename... Parts>
[[noreturn]] void fail_check(const char* condition, const Parts&... parts) {
  std::string text = std::string("TORCH_CHECK(") + condition + ")";
  const auto add = [&text](const auto& part) {
    if constexpr (requires { std::string(part); })
      text += std::string(part);
    else if constexpr (requires { std::to_string(part); })
      text += std::to_string(part);
  };
  if (sizeof...(parts) > 0) text += ": ";
  (add(parts), ...);
  throw std::runtime_error(text);
}

}  // namespace c10

#define TORCH_CHECK(condition, ...) \
  (static_cast<bool>(condition) ? void() : ::c10::fail_check(#condition, ##__VA_ARGS__))
#define TORCH_INTERNAL_ASSERT(condition, ...) TORCH_CHECK(condition, ##__VA_ARGS__)
#define AT_ERROR(...) ::c10::fail_check("false", ##__VA_ARGS__)

// Dispatch: the body sees the type as `scalar_t`.
#define AT_DISPATCH_CASE(enum_type, ...)                            \
  case enum_type: {                                                 \
    using scalar_t = typename ::at::recto_type_of<enum_type>::Type; \
    return __VA_ARGS__();                                           \
  }
#define AT_DISPATCH_SWITCH(type, name, ...)                       \
  [&] {                                                           \
    switch (type) {                                               \
      __VA_ARGS__                                                 \
      default:                                                    \
        ::c10::fail_check(name, "a type that is not dispatched"); \
    }                                                             \
  }()
#define AT_DISPATCH_FLOATING_TYPES_AND2(first, second, type, name, ...)            \
  AT_DISPATCH_SWITCH(type, name,                                                   \
                     AT_DISPATCH_CASE(::at::kFloat, __VA_ARGS__) AT_DISPATCH_CASE( \
                         first, __VA_ARGS__) AT_DISPATCH_CASE(second, __VA_ARGS__))

namespace at {

template <ScalarType kType>
struct recto_type_of;
template <>
struct recto_type_of<kFloat> {
  using Type = float;
};
template <>
struct recto_type_of<kHalf> {
  using Type = Half;
};
template <>
struct recto_type_of<kBFloat16> {
  using Type = BFloat16;
};

}  // namespace at
