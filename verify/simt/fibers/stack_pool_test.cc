#include "verify/simt/fibers/stack_pool.h"

#include <cstring>
#include <fstream>
#include <sstream>
#include <string>

#include "bazel/testing/catch.h"

namespace recto::simt {
namespace {

// The access rights of the mapping that holds an address, as in "rw-p".
std::string rights_at(const std::byte* address) {
  const auto number = reinterpret_cast<std::uintptr_t>(address);
  std::ifstream maps("/proc/self/maps");
  for (std::string line; std::getline(maps, line);) {
    std::istringstream words(line);
    std::uintptr_t begin = 0;
    std::uintptr_t end = 0;
    char dash = 0;
    std::string rights;
    words >> std::hex >> begin >> dash >> end >> rights;
    if (begin <= number && number < end) return rights;
  }
  return "none";
}

TEST_CASE("stacks are separate, usable to the last byte, and end at an inaccessible page") {
  StackPool pool(default_stack_bytes());
  REQUIRE(pool.reserve(3));
  for (std::size_t i = 0; i < 3; ++i) {
    const StackMemory& stack = pool.stack(i);
    CHECK(stack.bytes == default_stack_bytes());
    std::memset(stack.bottom, static_cast<int>(i), stack.bytes);
    CHECK(rights_at(stack.bottom) == "rw-p");
    CHECK(rights_at(stack.bottom - 1) == "---p");
  }
  for (std::size_t i = 0; i < 3; ++i) {
    CHECK(pool.stack(i).bottom[0] == std::byte(i));
    CHECK(pool.stack(i).bottom[pool.stack(i).bytes - 1] == std::byte(i));
  }
}

TEST_CASE("stacks stay where they are when more are asked for") {
  StackPool pool(default_stack_bytes());
  REQUIRE(pool.reserve(1));
  const std::byte* first = pool.stack(0).bottom;
  REQUIRE(pool.reserve(100));
  CHECK(pool.stack(0).bottom == first);
  REQUIRE(pool.reserve(5));
  CHECK(pool.stack(99).bottom != nullptr);
}

}  // namespace
}  // namespace recto::simt
