// Parses arbitrary bytes as an array and as an archive of arrays: no crash, bounded memory, and a
// successful parse survives writing and reading.

#include <cstddef>
#include <cstdint>
#include <string_view>

#include "core/contract.h"
#include "verify/cases/npz/npy_format.h"
#include "verify/cases/npz/npz_archive.h"

namespace {

using namespace recto::verify;

constexpr std::int64_t kRoom = 1 << 20;

std::int64_t items_of(const NpyArray& array) {
  std::int64_t items = 1;
  for (const std::int64_t size : array.shape) items = size == 0 ? 0 : items * size;
  return items;
}

void check_array(const NpyArray& array) {
  if (array.count() > 0) RECTO_CHECK_EQ(array.count(), items_of(array));
  RECTO_CHECK_LE(array.shape.size(), kNpyDimensionsMax);
  const recto::Result<NpyArray> again = parse_npy(npy_bytes(array));
  RECTO_CHECK(again.is_ok());
  RECTO_CHECK(again.value() == array);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view bytes(reinterpret_cast<const char*>(data), size);
  const recto::Result<NpyArray> array = parse_npy(bytes);
  if (array.is_ok()) check_array(array.value());
  const recto::Result<NpzArrays> arrays = parse_npz(bytes, kRoom);
  if (!arrays.is_ok()) return 0;
  std::int64_t unpacked = 0;
  for (const auto& [name, member] : arrays.value()) {
    check_array(member);
    unpacked += std::ssize(member.data);
  }
  RECTO_CHECK_LE(unpacked, kRoom);
  return 0;
}
