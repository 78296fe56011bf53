#pragma once

// The npy format: a magic number, a version, a header that is a dict in Python's notation, and the
// items. Nothing in a file is trusted.

#include <string>
#include <string_view>

#include "core/status.h"
#include "verify/cases/npz/npy_array.h"

namespace recto::verify {

inline constexpr std::size_t kNpyDimensionsMax = 32;  // the limit of NumPy before version 2

// Writes version 1.0; items begin at a multiple of 64 bytes. Equal arrays give equal bytes.
std::string npy_bytes(const NpyArray& array);

// Reads versions 1.0 and 2.0, and converts Fortran order to C order. Returns invalid input, naming
// the field and what was expected, for anything that is not an npy, big-endian or pickled items,
// types that NpyType lacks, and a number of bytes other than the shape's.
Result<NpyArray> parse_npy(std::string_view bytes);

}  // namespace recto::verify
