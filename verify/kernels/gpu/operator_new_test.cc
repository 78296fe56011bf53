// operator new on memory that stands in for a GPU's: freed pieces are reused, and the provider of
// the memory may allocate and free meanwhile.

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

// Large memory that is not accessed takes no pages.
using Bytes = std::unique_ptr<std::byte[]>;
Bytes untouched(std::size_t bytes) { return Bytes(new std::byte[bytes]); }

}  // namespace

// The driver may do this too, since it has its own containers.
void* managed_memory(std::size_t bytes) {
  ++slabs;
  given_back_meanwhile.reset();
  const std::vector<int> of_its_own(10, 1);
  return std::aligned_alloc(256, bytes);
}

namespace {

TEST_CASE("freed memory is handed out again from the same slab") {
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

TEST_CASE("memory may be freed while a new slab is handed out") {
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
