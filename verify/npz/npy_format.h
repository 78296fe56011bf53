#pragma once

// The npy format: a magic number, a version, a header that is a dict as Python writes it, and the
// items. Nothing of a file is trusted.

#include <string>
#include <string_view>

#include "core/status.h"
#include "verify/npz/npy_array.h"

namespace recto::verify {

inline constexpr std::size_t kNpyDimensionsMax = 32;  // of NumPy before version 2

// Version 1.0; items begin at a multiple of 64 bytes. Equal arrays give equal bytes.
std::string npy_bytes(const NpyArray& array);

// Versions 1.0 and 2.0; what is in Fortran order is brought into C order. Invalid input, naming the
// field and what was expected: for what is no npy, big-endian or pickled items, types that are not
// among NpyType's, and any number of bytes but those of the shape.
Result<NpyArray> parse_npy(std::string_view bytes);

}  // namespace recto::verify
