#include "verify/library/cudart/fat_binary.h"

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string>
#include <vector>

#include "bazel/testing/catch.h"

namespace recto::cudart {
namespace {

using Catch::Matchers::ContainsSubstring;

// A fat binary as nvcc writes it: 16 bytes, then entries with 64 bytes in front.
class FatBinary {
 public:
  void add(std::uint16_t kind, const std::string& payload, std::uint64_t flags = 0,
           std::uint32_t header_bytes = 64) {
    std::byte header[64] = {};
    const auto put = [&header](std::size_t at, auto value) {
      std::memcpy(header + at, &value, sizeof(value));
    };
    put(0, kind);
    put(2, std::uint16_t{0x101});
    put(4, header_bytes);
    put(8, std::uint64_t{payload.size()});
    put(40, flags);
    entries_.insert(entries_.end(), header, header + sizeof(header));
    const auto* const bytes = reinterpret_cast<const std::byte*>(payload.data());
    entries_.insert(entries_.end(), bytes, bytes + payload.size());
  }
  Result<std::vector<std::string>> read(std::uint32_t magic = 0xba55ed50) {
    struct {
      std::uint32_t magic;
      std::uint16_t version = 1;
      std::uint16_t header_bytes = 16;
      std::uint64_t bytes;
    } header = {.magic = magic, .bytes = entries_.size()};
    std::vector<std::byte> all(sizeof(header));
    std::memcpy(all.data(), &header, sizeof(header));
    all.insert(all.end(), entries_.begin(), entries_.end());
    struct {
      std::uint32_t magic = 0x466243b1;
      std::uint32_t version = 1;
      const std::byte* data;
      void* unused = nullptr;
    } wrapper = {.data = all.data()};
    return ptx_of(&wrapper);
  }

 private:
  std::vector<std::byte> entries_;
};

TEST_CASE("PTX is read from a fat binary, and machine code is skipped") {
  FatBinary binary;
  binary.add(2, "machine code");
  binary.add(1, std::string("first\n\0\0\0", 9));
  binary.add(1, "second");
  CHECK(binary.read().value() == std::vector<std::string>{"first\n", "second"});
}

TEST_CASE("an entry that ends beyond its fat binary is refused") {
  FatBinary binary;
  binary.add(1, "text", 0, 1000);
  CHECK_THAT(binary.read().status().message(), ContainsSubstring("ends beyond it"));
}

TEST_CASE("data that are not a fat binary, or compressed, are refused") {
  FatBinary binary;
  binary.add(1, "text", 0x2000);
  CHECK_THAT(binary.read().status().message(), ContainsSubstring("--no-compress"));
  CHECK_THAT(binary.read(1).status().message(), ContainsSubstring("expected a fat binary"));
  const std::uint64_t nothing[4] = {};
  CHECK_THAT(ptx_of(nothing).status().message(), ContainsSubstring("wrapper"));
}

}  // namespace
}  // namespace recto::cudart
