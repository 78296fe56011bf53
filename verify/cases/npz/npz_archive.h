#pragma once

// The npz format: a zip archive of npy files.

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "core/status.h"
#include "verify/cases/npz/npy_array.h"

namespace recto::verify {

struct NpzMember {
  std::string name;  // without .npy
  NpyArray array;
};

// Writes the members in this order, uncompressed and without timestamps. Equal members give equal
// bytes. Failed if the zip library fails.
Result<std::string> npz_bytes(const std::vector<NpzMember>& members);

using NpzArrays = std::map<std::string, NpyArray>;

// Reads compressed and uncompressed members. Returns invalid input for anything that is not such an
// archive; naming the member, for one that is damaged, not an npy, or repeated; and for more than
// `bytes_max` bytes of members after decompression.
Result<NpzArrays> parse_npz(std::string_view bytes, std::int64_t bytes_max);

}  // namespace recto::verify
