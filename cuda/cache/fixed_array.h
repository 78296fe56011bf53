#pragma once

// An array of fixed size. Its memory is not touched before use, so that a large array costs only
// the part in use. Lack of memory is reported as a status.

#include <cstddef>
#include <cstdint>
#include <limits>
#include <memory>
#include <new>
#include <span>
#include <string>
#include <type_traits>
#include <utility>

#include "core/status.h"

namespace recto::cache {

template <typename T>
class FixedArray {
  static_assert(std::is_trivially_copyable_v<T> && std::is_trivially_destructible_v<T>,
                "elements come to life by being written");
  static_assert(alignof(T) <= 64);

 public:
  // Allocates memory for `size` uninitialized elements, once. Exhausted if there is no memory;
  // `what` names the elements in the message.
  Status allocate(std::int64_t size, const std::string& what) {
    constexpr auto kMost = std::numeric_limits<std::int64_t>::max() / std::int64_t{sizeof(T)};
    void* memory = nullptr;
    if (size >= 0 && size <= kMost) {
      memory = ::operator new(static_cast<std::size_t>(size) * sizeof(T), kAlignment, std::nothrow);
    }
    if (memory == nullptr) {
      return Status::exhausted("no memory for " + std::to_string(size) + " " + what);
    }
    memory_.reset(static_cast<T*>(memory));
    size_ = size;
    return Status::ok();
  }
  Status allocate(std::int64_t size, const std::string& what, const T& value) {
    RECTO_RETURN_IF_ERROR(allocate(size, what));
    fill(value);
    return Status::ok();
  }

  // Indexes a span, so that the standard library checks bounds if built with _GLIBCXX_ASSERTIONS.
  T& operator[](std::int64_t index) { return all()[static_cast<std::size_t>(index)]; }
  const T& operator[](std::int64_t index) const { return all()[static_cast<std::size_t>(index)]; }
  std::int64_t ssize() const { return size_; }
  std::int64_t bytes() const { return size_ * std::int64_t{sizeof(T)}; }

  std::span<T> first(std::int64_t count) {
    return {memory_.get(), static_cast<std::size_t>(count)};
  }
  std::span<const T> first(std::int64_t count) const {
    return {memory_.get(), static_cast<std::size_t>(count)};
  }
  std::span<T> all() { return first(size_); }
  std::span<const T> all() const { return first(size_); }

  void fill(const T& value) {
    for (T& element : all()) element = value;
  }

 private:
  static constexpr std::align_val_t kAlignment{64};  // a cache line

  struct Free {
    void operator()(T* memory) const { ::operator delete(memory, kAlignment); }
  };

  std::unique_ptr<T, Free> memory_;
  std::int64_t size_ = 0;
};

// Moves a created object to `to`, or returns why it could not be created.
template <typename T>
Status keep(T& place, Result<T> made) {
  if (made.is_ok()) place = std::move(made).value();
  return made.status();
}

}  // namespace recto::cache
