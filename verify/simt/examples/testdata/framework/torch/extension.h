#pragma once

// As much of PyTorch's tensors as the example asks for: memory of somebody else, with its sizes.

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <iostream>
#include <vector>

namespace at {

enum class ScalarType { Half, Float, Int };

class Tensor {
 public:
  Tensor(void* data, ScalarType type, std::vector<int64_t> sizes)
      : data_(data), type_(type), sizes_(static_cast<std::vector<int64_t>&&>(sizes)) {}

  int64_t size(std::size_t dim) const { return sizes_.at(dim); }
  ScalarType scalar_type() const { return type_; }
  template <typename T>
  T* data_ptr() const {
    return static_cast<T*>(data_);
  }

 private:
  void* data_;
  ScalarType type_;
  std::vector<int64_t> sizes_;
};

}  // namespace at

namespace torch {
using at::Tensor;
}

#define TORCH_CHECK(condition, ...)                                                   \
  do {                                                                                \
    if (!(condition)) {                                                               \
      [](const auto&... parts) { (std::cerr << ... << parts) << "\n"; }(__VA_ARGS__); \
      std::abort();                                                                   \
    }                                                                                 \
  } while (false)
