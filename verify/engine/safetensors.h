#pragma once

// Weight files in the safetensors format: eight bytes with the length of a header, the header in
// JSON, and the tensors' bytes, whose ranges the header gives. The reader trusts nothing in a file:
// every range must be inside the file, ranges must not overlap or leave bytes unused, and each must
// have the size of its type and shape.

#include <cstddef>
#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/status.h"
#include "verify/engine/model.h"

namespace recto::verify {

struct SafetensorsEntry {
  std::string type = {};                 // "F32", "BF16", ...
  std::vector<std::int64_t> shape = {};  // numbers per dimension; empty: a scalar
  std::int64_t begin = 0;                // bytes, after the header
  std::int64_t end = 0;
};

class SafetensorsFile {
 public:
  // Both return invalid input for a bad file: "FILE: what is wrong, and what was expected".
  static Result<SafetensorsFile> read(const std::string& path);
  static Result<SafetensorsFile> parse(const std::string& name, std::string bytes);

  // By name.
  const std::map<std::string, SafetensorsEntry>& entries() const { return entries_; }

  // The values of a tensor, which must have a floating-point type and this shape.
  Result<std::vector<double>> values(const std::string& tensor,
                                     std::span<const std::int64_t> shape) const;

 private:
  Status read_header(std::string_view header);

  std::string_view data() const { return std::string_view(bytes_).substr(data_begin_); }

  std::string name_;
  std::string bytes_;
  std::size_t data_begin_ = 0;
  std::map<std::string, SafetensorsEntry> entries_;
};

// Reads a model's weights by the names that Llama weights have in Hugging Face files. A file gives
// only the sizes of matrices. The shape gives the number of heads, and the sizes must agree with
// it. Without "lm_head.weight", the head is the embedding. Values must be finite.
Result<ModelWeights> weights_of(const SafetensorsFile& file, const ModelShape& shape);

}  // namespace recto::verify
