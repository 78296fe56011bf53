#pragma once

// Files of weights in the safetensors format: eight bytes with the length of a header, the header
// in JSON, and the tensors' bytes, which it says the places of. Nothing of a file is trusted: every
// place lies inside, no two overlap and no byte is nobody's, and each has the bytes of its type and
// shape.

#include <cstddef>
#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/status.h"

namespace recto::verify {

struct SafetensorsEntry {
  std::string type;                 // "F32", "BF16", ...
  std::vector<std::int64_t> shape;  // elements; empty: one number
  std::int64_t begin = 0;           // bytes, behind the header
  std::int64_t end = 0;
};

class SafetensorsFile {
 public:
  // Invalid input, "FILE: what is wrong, and what was expected".
  static Result<SafetensorsFile> read(const std::string& path);
  static Result<SafetensorsFile> parse(const std::string& name, std::string bytes);

  const std::map<std::string, SafetensorsEntry>& entries() const { return entries_; }
  bool has(const std::string& tensor) const { return entries_.contains(tensor); }

  // The numbers of a tensor of floating-point type, which must have this shape.
  Result<std::vector<double>> values(const std::string& tensor,
                                     std::span<const std::int64_t> shape) const;

 private:
  Status read_header(std::string_view header);
  Status check_places() const;

  std::string name_;
  std::string bytes_;
  std::size_t data_ = 0;  // where the tensors begin
  std::map<std::string, SafetensorsEntry> entries_;
};

}  // namespace recto::verify
