// The functions that compilers call: in kernels they notify the observer and then do the operation;
// outside of kernels they only do the operation.

#include <array>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "bazel/testing/catch.h"
#include "verify/simt/executor/observer.h"

extern "C" {
void __tsan_init();
void __tsan_func_entry(void* caller);
void __tsan_func_exit();
void __tsan_read1(void* address);
void __tsan_read16(void* address);
void __tsan_write4(void* address);
void __tsan_unaligned_read8(void* address);
void __tsan_unaligned_write2(void* address);
void __tsan_volatile_read4(void* address);
void __tsan_unaligned_volatile_write8(void* address);
void __tsan_read_write4(void* address);
void __tsan_vptr_read(void* address);
void __tsan_vptr_update(void* address, void* value);
void __tsan_read_range(void* address, std::size_t bytes);
void __tsan_write_range(void* address, std::size_t bytes);
void* __tsan_memcpy(void* to, const void* from, std::size_t bytes);
void* __tsan_memmove(void* to, const void* from, std::size_t bytes);
void* __tsan_memset(void* to, int value, std::size_t bytes);
std::uint32_t __tsan_atomic32_load(const volatile std::uint32_t* address, int order);
void __tsan_atomic32_store(volatile std::uint32_t* address, std::uint32_t value, int order);
std::uint32_t __tsan_atomic32_exchange(volatile std::uint32_t* address, std::uint32_t value, int);
std::uint32_t __tsan_atomic32_fetch_add(volatile std::uint32_t* address, std::uint32_t value, int);
std::uint32_t __tsan_atomic32_fetch_nand(volatile std::uint32_t* address, std::uint32_t value, int);
std::uint64_t __tsan_atomic64_fetch_sub(volatile std::uint64_t* address, std::uint64_t value, int);
std::uint8_t __tsan_atomic8_fetch_xor(volatile std::uint8_t* address, std::uint8_t value, int);
std::uint16_t __tsan_atomic16_fetch_or(volatile std::uint16_t* address, std::uint16_t value, int);
int __tsan_atomic32_compare_exchange_strong(volatile std::uint32_t* address,
                                            std::uint32_t* expected, std::uint32_t desired, int,
                                            int);
int __tsan_atomic32_compare_exchange_weak(volatile std::uint32_t* address, std::uint32_t* expected,
                                          std::uint32_t desired, int, int);
std::uint32_t __tsan_atomic32_compare_exchange_val(volatile std::uint32_t* address,
                                                   std::uint32_t expected, std::uint32_t desired,
                                                   int, int);
void __tsan_atomic_thread_fence(int order);
void __tsan_atomic_signal_fence(int order);
}

namespace recto::simt {
namespace {

struct Told {
  const void* address = nullptr;
  std::size_t bytes = 0;
  AccessKind kind = AccessKind::kRead;
  AccessAlignment alignment = AccessAlignment::kNatural;

  friend bool operator==(const Told&, const Told&) = default;
};

class Recorder final : public Observer {
 public:
  void access(std::uintptr_t address, AccessShape shape, std::uintptr_t instruction) override {
    CHECK(kernel_observer == nullptr);
    CHECK(instruction != 0);
    told.push_back(
        {reinterpret_cast<const void*>(address), shape.bytes, shape.kind, shape.alignment});
  }

  std::vector<Told> told;
};

// The notifications during `call`, which runs as if it were a kernel.
template <typename Call>
std::vector<Told> told_by(Call call) {
  Recorder recorder;
  kernel_observer = &recorder;
  call();
  CHECK(kernel_observer == &recorder);
  kernel_observer = nullptr;
  return recorder.told;
}

constexpr auto kAny = AccessAlignment::kAny;

TEST_CASE("loads and stores are reported with address, size and alignment") {
  int x = 0;
  using Hook = void (*)(void*);
  const std::vector<std::pair<Hook, Told>> hooks = {
      {&__tsan_read1, {&x, 1, AccessKind::kRead}},
      {&__tsan_read16, {&x, 16, AccessKind::kRead}},
      {&__tsan_write4, {&x, 4, AccessKind::kWrite}},
      {&__tsan_unaligned_read8, {&x, 8, AccessKind::kRead, kAny}},
      {&__tsan_unaligned_write2, {&x, 2, AccessKind::kWrite, kAny}},
      {&__tsan_volatile_read4, {&x, 4, AccessKind::kRead}},
      {&__tsan_unaligned_volatile_write8, {&x, 8, AccessKind::kWrite, kAny}},
      {&__tsan_read_write4, {&x, 4, AccessKind::kWrite}},
      {&__tsan_vptr_read, {&x, 8, AccessKind::kRead}},
  };
  for (const auto& [hook, told] : hooks) {
    const Hook call = hook;
    CHECK(told_by([call, &x] { call(&x); }) == std::vector<Told>{told});
  }
  const std::vector<Told> ranges = told_by([&x] {
    __tsan_vptr_update(&x, nullptr);
    __tsan_read_range(&x, 12);
    __tsan_write_range(&x, 20);
  });
  CHECK(ranges == std::vector<Told>{{&x, 8, AccessKind::kWrite},
                                    {&x, 12, AccessKind::kRead, kAny},
                                    {&x, 20, AccessKind::kWrite, kAny}});
  CHECK(told_by([&x] {
          __tsan_func_entry(&x);
          __tsan_func_exit();
          __tsan_init();
          __tsan_atomic_thread_fence(0);
          __tsan_atomic_signal_fence(0);
        }).empty());
}

TEST_CASE("copies are reported at both ends, and made") {
  std::array<char, 8> from = {'a', 'b', 'c', 'd', 'e', 'f', 'g', 'h'};
  std::array<char, 8> to = {};
  const void* result = nullptr;
  const std::vector<Told> copy =
      told_by([&] { result = __tsan_memcpy(to.data(), from.data(), 8); });
  CHECK(copy == std::vector<Told>{{from.data(), 8, AccessKind::kRead, kAny},
                                  {to.data(), 8, AccessKind::kWrite, kAny}});
  CHECK(result == to.data());
  CHECK(to == from);
  CHECK(told_by([&] { __tsan_memmove(to.data() + 1, to.data(), 3); }).size() == 2);
  CHECK(std::string(to.data(), 5) == "aabce");
  CHECK(told_by([&] { __tsan_memset(to.data(), 'x', 2); }) ==
        std::vector<Told>{{to.data(), 2, AccessKind::kWrite, kAny}});
  CHECK(std::string(to.data(), 3) == "xxb");
  CHECK(told_by([&] { __tsan_memset(to.data(), 'y', 0); }).empty());
}

TEST_CASE("atomic operations are reported and done") {
  std::uint32_t x = 5;
  std::array<std::uint32_t, 9> got = {};
  CHECK(told_by([&] { got[0] = __tsan_atomic32_load(&x, 0); }) ==
        std::vector<Told>{{&x, 4, AccessKind::kAtomicRead}});
  const std::vector<Told> changes = told_by([&] {
    __tsan_atomic32_store(&x, 6, 0);
    got[1] = __tsan_atomic32_exchange(&x, 7, 0);
    got[2] = __tsan_atomic32_fetch_add(&x, 3, 0);
    got[3] = __tsan_atomic32_fetch_nand(&x, 2, 0);
  });
  CHECK(changes == std::vector<Told>(4, Told{&x, 4, AccessKind::kAtomic}));
  CHECK(x == ~std::uint32_t{2});
  std::uint32_t expected = 1;
  const std::vector<Told> exchanges = told_by([&] {
    got[4] = static_cast<unsigned>(__tsan_atomic32_compare_exchange_strong(&x, &expected, 9, 0, 0));
    got[5] = expected;
    got[6] = static_cast<unsigned>(__tsan_atomic32_compare_exchange_weak(&x, &expected, 9, 0, 0));
    got[7] = __tsan_atomic32_compare_exchange_val(&x, 8, 1, 0, 0);
    got[8] = __tsan_atomic32_compare_exchange_val(&x, 9, 1, 0, 0);
  });
  CHECK(exchanges == std::vector<Told>(4, Told{&x, 4, AccessKind::kAtomic}));
  CHECK(x == 1);
  CHECK(got == std::array<std::uint32_t, 9>{5, 6, 7, 10, 0, ~std::uint32_t{2}, 1, 9, 9});
}

TEST_CASE("atomic operations are of all widths") {
  std::uint64_t wide = std::uint64_t{1} << 40;
  std::uint16_t half = 1;
  std::uint8_t byte = 0xf0;
  const std::vector<Told> told = told_by([&] {
    __tsan_atomic64_fetch_sub(&wide, 1, 0);
    __tsan_atomic16_fetch_or(&half, 0x100, 0);
    __tsan_atomic8_fetch_xor(&byte, 0xff, 0);
  });
  CHECK(told == std::vector<Told>{{&wide, 8, AccessKind::kAtomic},
                                  {&half, 2, AccessKind::kAtomic},
                                  {&byte, 1, AccessKind::kAtomic}});
  CHECK(wide == (std::uint64_t{1} << 40) - 1);
  CHECK(half == 0x101);
  CHECK(byte == 0x0f);
}

TEST_CASE("accesses outside of kernels are not reported") {
  REQUIRE(kernel_observer == nullptr);
  __tsan_write4(nullptr);
  __tsan_read_range(nullptr, 100);
  std::uint32_t x = 5;
  CHECK(__tsan_atomic32_fetch_add(&x, 1, 0) == 5);
  std::array<char, 4> bytes = {};
  __tsan_memset(bytes.data(), 1, 4);
  CHECK(bytes[3] == 1);
}

}  // namespace
}  // namespace recto::simt
