#include <array>
#include <atomic>
#include <cstddef>
#include <cstdlib>
#include <new>
#include <string>

#include "bazel/testing/catch.h"
#include "verify/simt/dialect/testdata/trap_kernels.cuh"

namespace recto::simt {
namespace {

using Catch::Matchers::ContainsSubstring;

std::string text_of(Trap trap) {
  std::array<int, 32> out = {};
  Executor executor({});
  return launch(executor, {.kernel = "give_up", .grid = {1}, .block = {32}}, give_up, trap,
                out.data())
      .text();
}

// Allocations that have not been freed.
std::atomic<long> allocations = 0;

}  // namespace
}  // namespace recto::simt

void* operator new(std::size_t bytes) {
  void* memory = std::malloc(bytes);
  if (memory == nullptr) throw std::bad_alloc();
  ++recto::simt::allocations;
  return memory;
}
void operator delete(void* memory) noexcept {
  if (memory != nullptr) --recto::simt::allocations;
  std::free(memory);
}
void operator delete(void* memory, std::size_t) noexcept { operator delete(memory); }

namespace recto::simt {

TEST_CASE("a kernel without a trap has no finding") { CHECK(text_of(Trap::kNone).empty()); }

TEST_CASE("__trap is a finding at its line") {
  CHECK_THAT(text_of(Trap::kTrap), ContainsSubstring("assertion in kernel 'give_up'") &&
                                       ContainsSubstring("trap_kernels.cu:4") &&
                                       ContainsSubstring("thread 3") &&
                                       ContainsSubstring("calls __trap"));
}

TEST_CASE("a failed assertion is a finding with its condition") {
  CHECK_THAT(text_of(Trap::kFailedAssertion),
             ContainsSubstring("trap_kernels.cu:5") && ContainsSubstring("thread 3") &&
                 ContainsSubstring("fails assert(threadIdx.x != 3 || trap != Trap::kFailed"));
}

TEST_CASE("a kernel ended by a trap or assertion leaks no memory") {
  for (const Trap trap : {Trap::kTrap, Trap::kFailedAssertion}) {
    CHECK(!text_of(trap).empty());
    const long before = allocations;
    const bool is_found = !text_of(trap).empty();
    const long after = allocations;
    CHECK(is_found);
    CHECK(after == before);
  }
}

}  // namespace recto::simt
