#pragma once

// The npz format: a zip archive of npy files.

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "core/status.h"
#include "verify/npz/npy_array.h"

namespace recto::verify {

struct NpzMember {
  std::string name;  // without .npy
  NpyArray array;
};

// In this order, not compressed, and without a time. Equal members give equal bytes. Failed where
// the library of the zip format gives up.
Result<std::string> npz_bytes(const std::vector<NpzMember>& members);

using NpzArrays = std::map<std::string, NpyArray>;

// Compressed or not. Invalid input: what is no such archive, a member that is damaged, no npy, or
// there twice, by name; and more than `bytes_max` bytes of members, compressed ones unpacked.
Result<NpzArrays> parse_npz(std::string_view bytes, std::int64_t bytes_max);

}  // namespace recto::verify
