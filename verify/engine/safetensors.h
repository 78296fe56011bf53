#pragma once

// Weight files in the safetensors format: eight bytes with the length of a header, the header in
// JSON, and the tensors' bytes, whose ranges the header gives. Nothing in a file is trusted: every
// range must be inside the file, no two may overlap, no byte may be unused, and each must have the
// size of its type and shape.

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
  std::int64_t begin = 0;           // bytes, after the header
  std::int64_t end = 0;
};

class SafetensorsFile {
 public:
  // Return invalid input: "FILE: what is wrong, and what was expected".
  static Result<SafetensorsFile> read(const std::string& path);
  static Result<SafetensorsFile> parse(const std::string& name, std::string bytes);

  const std::map<std::string, SafetensorsEntry>& entries() const { return entries_; }
  bool has(const std::string& tensor) const { return entries_.contains(tensor); }

  // The values of a tensor, which must have a floating-point type and this shape.
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
