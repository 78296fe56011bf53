#pragma once

// The header of an npy file.

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "core/status.h"
#include "verify/cases/npz/npy_array.h"

namespace recto::verify {

struct NpyHeader {
  NpyType type = NpyType::kFloat32;
  std::int64_t item_bytes = 4;
  bool is_fortran_order = false;
  std::vector<std::int64_t> shape = {};
};

// {'descr': '<f4', 'fortran_order': False, 'shape': (2, 3), }
std::string npy_header_text(const NpyArray& array);

// Parses such a header, with fields in any order and any blanks. Invalid input names the field.
Result<NpyHeader> parse_npy_header(std::string_view text);

}  // namespace recto::verify
