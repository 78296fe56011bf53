#include "verify/library/cudart/fat_binary.h"

#include <cstddef>
#include <cstdint>
#include <cstring>

namespace recto::cudart {
namespace {

// NVIDIA documents none of this; cuobjdump and nvcc agree on it since CUDA 5.
constexpr std::uint32_t kWrapperMagic = 0x466243b1;
constexpr std::uint32_t kFatBinaryMagic = 0xba55ed50;
constexpr std::uint16_t kPtx = 1;
constexpr std::uint64_t kCompressed = 0x2000 | 0x8000;  // by LZ4, or by zstd

struct Wrapper {
  std::uint32_t magic;
  std::uint32_t version;
  const std::byte* data;
  const void* unused;
};

struct FatHeader {
  std::uint32_t magic;
  std::uint16_t version;
  std::uint16_t header_bytes;
  std::uint64_t bytes;  // behind the header
};

struct Entry {
  std::uint16_t kind;
  std::uint16_t version;
  std::uint32_t header_bytes;
  std::uint64_t bytes;  // behind its header
  std::uint32_t compressed_bytes;
  std::uint32_t unused[5];
  std::uint64_t flags;
};

template <typename T>
T read(const std::byte* from) {
  T value;
  std::memcpy(&value, from, sizeof(value));
  return value;
}

}  // namespace

Result<std::vector<std::string>> ptx_of(const void* wrapper) {
  const auto outer = read<Wrapper>(static_cast<const std::byte*>(wrapper));
  if (outer.magic != kWrapperMagic || outer.data == nullptr) {
    return Status::invalid_input("device code: expected a fat binary's wrapper");
  }
  const auto header = read<FatHeader>(outer.data);
  if (header.magic != kFatBinaryMagic) {
    return Status::invalid_input("device code: expected a fat binary");
  }
  std::vector<std::string> texts;
  const std::byte* at = outer.data + header.header_bytes;
  const std::byte* const end = at + header.bytes;
  while (at + sizeof(Entry) <= end) {
    const auto entry = read<Entry>(at);
    const auto left = static_cast<std::uint64_t>(end - at);
    if (entry.header_bytes < sizeof(Entry) || entry.header_bytes > left ||
        entry.bytes > left - entry.header_bytes) {
      return Status::invalid_input("device code: an entry of the fat binary ends beyond it");
    }
    if (entry.kind == kPtx) {
      if ((entry.flags & kCompressed) != 0) {
        return Status::invalid_input(
            "device code: expected PTX that is not compressed (nvcc --no-compress)");
      }
      const auto* const text = reinterpret_cast<const char*>(at + entry.header_bytes);
      texts.emplace_back(text, strnlen(text, entry.bytes));
    }
    at += entry.header_bytes + entry.bytes;
  }
  return texts;
}

}  // namespace recto::cudart
