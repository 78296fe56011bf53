// operator new over memory that stands for a GPU's: pieces are used again, and whoever gives the
// memory may take some, and give some back, meanwhile.

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <memory>
#include <vector>

#include "bazel/testing/catch.h"
#include "verify/kernels/gpu/managed_memory.h"

namespace recto::verify::gpu {
namespace {

constexpr std::size_t kMoreThanSlab = std::size_t{300} << 20;

int slabs = 0;
std::unique_ptr<int> given_back_meanwhile;

// Large memory that nobody touches is none.
using Bytes = std::unique_ptr<std::byte[]>;
Bytes untouched(std::size_t bytes) { return Bytes(new std::byte[bytes]); }

}  // namespace

// As the driver may, which has containers of its own.
void* managed_memory(std::size_t bytes) {
  ++slabs;
  given_back_meanwhile.reset();
  const std::vector<int> of_its_own(10, 1);
  return std::aligned_alloc(256, bytes);
}

namespace {

TEST_CASE("what was given back is handed out again, by size, and a slab serves many") {
  manage_heap();
  const auto first = std::make_unique<std::uint64_t>(7);
  const int slabs_before = slabs;
  auto piece = std::make_unique<std::uint64_t>(1);
  const auto* const place = piece.get();
  piece.reset();
  piece = std::make_unique<std::uint64_t>(2);
  CHECK((piece.get() == place));
  CHECK(slabs == slabs_before);
  CHECK(*first == 7);
}

TEST_CASE("who hands over a slab may give back meanwhile what it was handed before") {
  manage_heap();
  given_back_meanwhile = std::make_unique<int>(5);
  const int slabs_before = slabs;
  const Bytes large = untouched(kMoreThanSlab);
  CHECK(slabs == slabs_before + 1);
  CHECK((given_back_meanwhile == nullptr));
  CHECK((large != nullptr));
}

}  // namespace
}  // namespace recto::verify::gpu
