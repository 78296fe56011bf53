#pragma once

// What a request to the PTX server says, and the file with its arrays.

#include <errno.h>
#include <fmt/format.h>
#include <sys/mman.h>
#include <sys/stat.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string>
#include <vector>

#include "core/json.h"
#include "core/status.h"
#include "verify/ptx/machine/finding.h"

namespace recto::experiments {

// The file that both processes map.
class SharedFile {
 public:
  explicit SharedFile(int file) : file_(file) {}
  ~SharedFile() { unmap(); }
  SharedFile(const SharedFile&) = delete;
  SharedFile& operator=(const SharedFile&) = delete;

  // Maps at least so many bytes. Invalid input: the file is shorter.
  Status map(std::uint64_t bytes) {
    if (bytes <= bytes_) return Status::ok();
    unmap();
    struct stat facts = {};
    if (fstat(file_, &facts) != 0 || static_cast<std::uint64_t>(facts.st_size) < bytes) {
      return Status::invalid_input(fmt::format("memory: expected a file of {} bytes", bytes));
    }
    void* const memory = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, file_, 0);
    if (memory == MAP_FAILED) {
      return Status::failed(fmt::format("memory: {}", std::strerror(errno)));
    }
    memory_ = static_cast<std::byte*>(memory);
    bytes_ = bytes;
    return Status::ok();
  }
  std::byte* data() const { return memory_; }
  std::uint64_t bytes() const { return bytes_; }

 private:
  void unmap() {
    if (memory_ != nullptr) munmap(memory_, bytes_);
    memory_ = nullptr;
    bytes_ = 0;
  }

  int file_;
  std::byte* memory_ = nullptr;
  std::uint64_t bytes_ = 0;
};

// Members of a request; a missing one, or one of another type, is remembered as the first error.
class Request {
 public:
  explicit Request(const Json& json) : json_(json) {}

  std::uint64_t number(const char* key) {
    const Json* const found = json_.find(key);
    if (found == nullptr || !found->is_number_unsigned()) return fail(key, "a number"), 0;
    return found->get<std::uint64_t>();
  }
  std::string text(const char* key) {
    const Json* const found = json_.find(key);
    if (found == nullptr || !found->is_string()) return fail(key, "a text"), std::string();
    return found->get<std::string>();
  }
  bool truth(const char* key) {
    const Json* const found = json_.find(key);
    if (found == nullptr || !found->is_boolean()) return fail(key, "true or false"), false;
    return found->get<bool>();
  }
  std::vector<Json> list(const char* key) {
    const Json* const found = json_.find(key);
    if (found == nullptr || !found->is_array()) return fail(key, "a list"), std::vector<Json>();
    return {found->begin(), found->end()};
  }
  ptx::Dim3 dim(const char* key) {
    const std::vector<Json> items = list(key);
    const bool is_right =
        items.size() == 3 && std::ranges::all_of(items, [](const Json& item) {
          return item.is_number_unsigned() && item.get<std::uint64_t>() <= UINT32_MAX;
        });
    if (!is_right) return fail(key, "three numbers"), ptx::Dim3();
    return {items[0].get<std::uint32_t>(), items[1].get<std::uint32_t>(),
            items[2].get<std::uint32_t>()};
  }
  void fail(const std::string& key, const std::string& expected) {
    if (status_.is_ok()) status_ = Status::invalid_input(key + ": expected " + expected);
  }
  const Status& status() const { return status_; }

 private:
  const Json& json_;
  Status status_;
};

}  // namespace recto::experiments
