#pragma once

// Memory that two processes share, in buffers with pages around them that nobody may touch. We see
// all of it; the other process, forked from ours, sees the buffers only, at other addresses, and
// may write to those alone that a call says it writes.

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "core/status.h"

namespace recto::verify {

enum class BufferAccess : std::uint8_t { kRead, kWrite };

// Which end of a buffer touches the pages that nobody may touch. At the other end there is the rest
// of a page; it holds bytes of all ones (NaN, -1), which are compared where the buffer is written.
enum class GuardedEnd : std::uint8_t { kFront, kBack };

struct BufferRequest {
  std::string name;
  std::int64_t bytes = 0;
  std::int64_t alignment = 1;  // of its address: a power of two up to a page
  BufferAccess access = BufferAccess::kRead;
  GuardedEnd end = GuardedEnd::kBack;
  // Zeros, which take no memory before they are written, in place of bytes of all ones.
  bool is_sparse = false;
  // Of a sparse one: so many bytes before it, whole pages, may be touched as well.
  std::int64_t bytes_before = 0;
};

// Pages that a call may touch, [begin, end), as offsets in the arena.
struct OpenPages {
  std::int64_t begin = 0;
  std::int64_t end = 0;
  BufferAccess access = BufferAccess::kRead;
};

struct GuardedBuffer {
  std::string name;
  std::byte* ours = nullptr;
  std::byte* theirs = nullptr;  // not to be followed here
  std::int64_t bytes = 0;
  OpenPages pages = {};
  bool is_sparse = false;
};

// An access that the machine refused.
struct MemoryFault {
  std::uintptr_t address = 0;
  enum class Kind : std::uint8_t { kUnknown, kRead, kWrite } kind = Kind::kUnknown;
};

class GuardedArena {
 public:
  // For buffers that fill `bytes` with their guards, of which only what they fill takes memory.
  // Failed where the system does not give it.
  static Result<std::unique_ptr<GuardedArena>> create(std::int64_t bytes);
  GuardedArena(const GuardedArena&) = delete;
  GuardedArena& operator=(const GuardedArena&) = delete;
  ~GuardedArena();

  // Forgets all buffers. Those of the next call begin with bytes of all ones, or of none.
  void clear();
  // Exhausted where it does not fit; failed where the system does not take memory back.
  Result<GuardedBuffer> add(const BufferRequest& request);
  const std::vector<GuardedBuffer>& buffers() const { return buffers_; }
  // Where the other process sees it; not to be followed in ours.
  std::byte* theirs() const { return theirs_; }
  // What was ever written of these pages, which is all but where a buffer is sparse.
  std::vector<OpenPages> filled(const OpenPages& pages) const;
  // The same of a buffer's pages, as ours.
  std::vector<std::span<const std::byte>> filled_bytes(const GuardedBuffer& buffer) const;

  // What was written beside the buffers that may be written, or nothing. Not of sparse ones.
  std::string overrun_text() const;
  // "a read 4 bytes beyond the end of block_table (24 bytes)".
  std::string fault_text(const MemoryFault& fault) const;

  // In the other process only: gives up our view; lets pages be seen; hides all of them again.
  void enter();
  void open_pages(std::span<const OpenPages> pages);
  void close_pages();

  static constexpr std::int64_t kGuardBytes = std::int64_t{16} << 20;

 private:
  GuardedArena(int file, std::byte* ours, std::byte* theirs, std::int64_t bytes)
      : file_(file), ours_(ours), theirs_(theirs), bytes_(bytes) {}

  // What of it one buffer's text says of an address `place` bytes from its start.
  static std::string place_text(const GuardedBuffer& buffer, std::int64_t place);

  int file_;
  std::byte* ours_;
  std::byte* theirs_;
  std::int64_t bytes_;
  std::vector<GuardedBuffer> buffers_;
};

}  // namespace recto::verify
