// Built twice: with this machine's switch, and with Boost.Context's.

#include "verify/simt/fibers/fiber.h"

#include <array>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "bazel/testing/catch.h"

namespace recto::simt {
namespace {

constexpr std::size_t kStackBytes = 256 << 10;

// A fiber with its stack, and the fiber to which it switches when it is done.
struct OwnFiber {
  std::unique_ptr<std::byte[]> memory = std::make_unique<std::byte[]>(kStackBytes);
  Fiber fiber = {};
  Fiber* home = nullptr;
  std::string* log = nullptr;
  char name = 'a';
  OwnFiber* peer = nullptr;

  void prepare(FiberEntry entry) { fiber.prepare({memory.get(), kStackBytes}, entry, this); }
};

void take_turns(void* argument) {
  auto& self = *static_cast<OwnFiber*>(argument);
  for (int turn = 0; turn < 3; ++turn) {
    *self.log += self.name;
    Fiber::switch_between(self.fiber, self.peer->fiber);
  }
  Fiber::switch_between(self.fiber, *self.home);
}

TEST_CASE("fibers take turns, each on its own stack") {
  Fiber home;
  std::string log;
  OwnFiber a{.home = &home, .log = &log, .name = 'a'};
  OwnFiber b{.home = &home, .log = &log, .name = 'b', .peer = &a};
  a.peer = &b;
  a.prepare(&take_turns);
  b.prepare(&take_turns);
  Fiber::switch_between(home, a.fiber);
  CHECK(log == "ababab");
}

// As many values alive across a switch as there are registers that may be lost, and a double.
void keep_values(void* argument) {
  auto& self = *static_cast<OwnFiber*>(argument);
  std::array<std::uint64_t, 12> values;
  for (std::size_t i = 0; i < values.size(); ++i) values[i] = i * 1000003 + self.name;
  volatile double number = 0.1 * self.name;
  for (int turn = 0; turn < 100; ++turn) {
    Fiber::switch_between(self.fiber, self.peer->fiber);
    for (std::size_t i = 0; i < values.size(); ++i) values[i] += i;
    number = number + 1;
  }
  for (std::size_t i = 0; i < values.size(); ++i) {
    if (values[i] != i * 1000003 + self.name + 100 * i) *self.log += "lost an integer ";
  }
  if (number != 0.1 * self.name + 100) *self.log += "lost a double ";
  *self.log += self.name;
  Fiber::switch_between(self.fiber, *self.home);
}

TEST_CASE("a switch of fibers preserves the values that a call must preserve") {
  Fiber home;
  std::string log;
  OwnFiber a{.home = &home, .log = &log, .name = 'a'};
  OwnFiber b{.home = &home, .log = &log, .name = 'b', .peer = &a};
  a.peer = &b;
  a.prepare(&keep_values);
  b.prepare(&keep_values);
  Fiber::switch_between(home, a.fiber);
  CHECK(log == "a");
  Fiber::switch_between(home, b.fiber);
  CHECK(log == "ab");
}

void note_alignment(void* argument) {
  auto& self = *static_cast<OwnFiber*>(argument);
  alignas(16) volatile char aligned[16] = {};
  if (reinterpret_cast<std::uintptr_t>(aligned) % 16 == 0) *self.log += "aligned";
  Fiber::switch_between(self.fiber, *self.home);
}

TEST_CASE("a fiber begins with the stack aligned as calls demand, and may be prepared again") {
  Fiber home;
  std::string log;
  OwnFiber a{.home = &home, .log = &log};
  for (int round = 0; round < 2; ++round) {
    a.prepare(&note_alignment);
    Fiber::switch_between(home, a.fiber);
  }
  CHECK(log == "alignedaligned");
}

}  // namespace
}  // namespace recto::simt
