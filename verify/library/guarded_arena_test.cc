// The placement of buffers, the reports of accesses beside them, and what another process can
// access.

#include "verify/library/guarded_arena.h"

#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <functional>
#include <memory>

#include "bazel/testing/catch.h"

namespace recto::verify {
namespace {

using Arena = std::unique_ptr<GuardedArena>;

Arena new_arena() { return GuardedArena::create(std::int64_t{1} << 30).value(); }

GuardedBuffer add(GuardedArena& arena, BufferAccess access, GuardedEnd end) {
  return arena.add({.name = "lengths", .bytes = 100, .alignment = 16, .access = access, .end = end})
      .value();
}

MemoryFault fault_at(const GuardedBuffer& buffer, std::int64_t place, MemoryFault::Kind kind) {
  return {.address = reinterpret_cast<std::uintptr_t>(buffer.theirs + place), .kind = kind};
}

// Whether a process survives `access`.
bool survives(const std::function<void()>& access) {
  const int process = fork();
  if (process == 0) {
    access();
    _exit(0);
  }
  int status = 0;
  waitpid(process, &status, 0);
  return WIFEXITED(status) && WEXITSTATUS(status) == 0;
}

TEST_CASE("a sparse buffer is filled with zeros, whatever was written there before") {
  const Arena arena = new_arena();
  const BufferRequest request = {
      .name = "pool", .bytes = std::int64_t{512} << 20, .alignment = 16, .is_sparse = true};
  for (int call = 0; call < 2; ++call) {
    arena->clear();
    const GuardedBuffer pool = arena->add(request).value();
    for (const std::int64_t place : {std::int64_t{0}, pool.bytes / 2, pool.bytes - 1}) {
      CHECK(pool.ours[place] == std::byte{0});
      pool.ours[place] = std::byte{7};
    }
  }
}

TEST_CASE("a buffer is aligned, filled with ones, and at the requested end of its pages") {
  const Arena arena = new_arena();
  const GuardedBuffer front = add(*arena, BufferAccess::kRead, GuardedEnd::kFront);
  const GuardedBuffer back = add(*arena, BufferAccess::kRead, GuardedEnd::kBack);
  for (const GuardedBuffer& buffer : {front, back}) {
    CHECK(reinterpret_cast<std::uintptr_t>(buffer.theirs) % 16 == 0);
    CHECK(std::all_of(buffer.ours, buffer.ours + 100,
                      [](std::byte byte) { return byte == std::byte{0xff}; }));
  }
  CHECK(front.theirs + (back.pages.begin - front.pages.begin) ==
        back.theirs - (back.pages.end - back.pages.begin - 112));
  CHECK(back.pages.begin - front.pages.end == GuardedArena::kGuardBytes);
}

TEST_CASE("a buffer that does not fit is refused, one a little smaller is not") {
  const Arena arena = new_arena();
  const std::int64_t room = (std::int64_t{1} << 30) - 2 * GuardedArena::kGuardBytes;
  const Status refused = arena->add({.name = "k", .bytes = room}).status();
  CHECK(refused.code() == StatusCode::kExhausted);
  CHECK(refused.message().starts_with("k has 1040187392 bytes, more than"));
  // None of its pages is filled.
  CHECK(arena->buffers().empty());
  CHECK(arena->add({.name = "k", .bytes = 1 << 20}).is_ok());
}

TEST_CASE("bytes written beside a buffer are found on either side, those in it are not") {
  for (const GuardedEnd end : {GuardedEnd::kFront, GuardedEnd::kBack}) {
    const Arena arena = new_arena();
    const GuardedBuffer buffer = add(*arena, BufferAccess::kWrite, end);
    std::memset(buffer.ours, 0, 100);
    CHECK(arena->overrun_text().empty());
    buffer.ours[103] = std::byte{0};
    CHECK(arena->overrun_text() == "a write at byte 103 of lengths, which has 100");
    if (end == GuardedEnd::kFront) continue;
    buffer.ours[-3] = std::byte{1};
    CHECK(arena->overrun_text() == "a write 3 bytes before lengths, which has 100");
  }
}

TEST_CASE("faults are described by the nearest buffer") {
  const Arena arena = new_arena();
  const GuardedBuffer first = add(*arena, BufferAccess::kRead, GuardedEnd::kBack);
  const GuardedBuffer second =
      arena->add({.name = "out", .bytes = 8, .access = BufferAccess::kWrite}).value();
  using enum MemoryFault::Kind;
  CHECK(arena->fault_text(fault_at(first, 8, kWrite)) ==
        "a write at byte 8 of lengths, which may only be read");
  CHECK(arena->fault_text(fault_at(first, 112, kRead)) ==
        "a read at byte 112 of lengths, which has 100");
  CHECK(arena->fault_text(fault_at(first, -5000, kUnknown)) ==
        "an access 5000 bytes before lengths, which has 100");
  CHECK(arena->fault_text(fault_at(second, -5000, kRead)) ==
        "a read 5000 bytes before out, which has 8");
  CHECK(arena->fault_text(fault_at(second, GuardedArena::kGuardBytes, kRead)) ==
        "a read far from any buffer");
  CHECK(arena->fault_text({.address = 16, .kind = kWrite}) == "a write through a null pointer");
}

TEST_CASE("another process can read and write only the open buffers") {
  const Arena arena = new_arena();
  const GuardedBuffer input = add(*arena, BufferAccess::kRead, GuardedEnd::kBack);
  const GuardedBuffer output = add(*arena, BufferAccess::kWrite, GuardedEnd::kFront);
  input.ours[99] = std::byte{42};
  const auto with_open = [&](const std::function<void()>& access) {
    return survives([&] {
      arena->enter();
      const OpenPages pages[] = {input.pages, output.pages};
      arena->open_pages(pages);
      access();
    });
  };
  const auto read = [](const std::byte* at) { (void)*static_cast<const volatile std::byte*>(at); };
  const auto write = [](std::byte* at) { *static_cast<volatile std::byte*>(at) = std::byte{7}; };
  CHECK(with_open([&] { output.theirs[0] = input.theirs[99]; }));
  CHECK(output.ours[0] == std::byte{42});
  CHECK(with_open([&] { read(input.theirs + 111); }));
  CHECK_FALSE(with_open([&] { read(input.theirs + 112); }));
  CHECK_FALSE(with_open([&] { write(input.theirs); }));
  CHECK(with_open([&] { write(output.theirs + 99); }));
  CHECK_FALSE(with_open([&] { write(output.theirs - 1); }));
  CHECK_FALSE(with_open([&] { read(input.ours); }));
  CHECK_FALSE(with_open([&] {
    arena->close_pages();
    read(input.theirs);
  }));
}

}  // namespace
}  // namespace recto::verify
