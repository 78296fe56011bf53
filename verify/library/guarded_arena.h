#pragma once

// Memory shared by two processes, in buffers surrounded by inaccessible guard pages. Our process
// sees all of it. The other process, forked from ours, sees only the buffers, at other addresses,
// and may write only to those that the call declares as written.

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "core/status.h"

namespace recto::verify {

enum class BufferAccess : std::uint8_t { kRead, kWrite };

// Which end of a buffer touches the guard pages. The rest of the page at the other end holds bytes
// of all ones (NaN, -1), which are checked if the buffer may be written.
enum class GuardedEnd : std::uint8_t { kFront, kBack };

struct BufferRequest {
  std::string name;
  std::int64_t bytes = 0;
  std::int64_t alignment = 1;  // of its address: a power of two up to a page
  BufferAccess access = BufferAccess::kRead;
  GuardedEnd end = GuardedEnd::kBack;
  // Initialised to zeros, which take no memory until written, instead of bytes of all ones.
  bool is_sparse = false;
  // Sparse buffers only: this many bytes before the buffer, in whole pages, may be accessed too.
  std::int64_t bytes_before = 0;
};

// Pages that a call may access, [begin, end), as offsets in the arena.
struct OpenPages {
  std::int64_t begin = 0;
  std::int64_t end = 0;
  BufferAccess access = BufferAccess::kRead;
};

struct GuardedBuffer {
  std::string name;
  std::byte* ours = nullptr;
  std::byte* theirs = nullptr;  // must not be dereferenced here
  std::int64_t bytes = 0;
  OpenPages pages = {};
  bool is_sparse = false;
};

// An access that the hardware refused.
struct MemoryFault {
  std::uintptr_t address = 0;
  enum class Kind : std::uint8_t { kUnknown, kRead, kWrite } kind = Kind::kUnknown;
};

class GuardedArena {
 public:
  // Reserves `bytes` for buffers and their guards; only filled parts take memory. Failed if the
  // system cannot provide it.
  static Result<std::unique_ptr<GuardedArena>> create(std::int64_t bytes);
  GuardedArena(const GuardedArena&) = delete;
  GuardedArena& operator=(const GuardedArena&) = delete;
  ~GuardedArena();

  // Removes all buffers. The next call's buffers begin as bytes of all ones, or as zeros if sparse.
  void clear();
  // Adds a buffer. Exhausted if it does not fit; failed if the system cannot release memory.
  Result<GuardedBuffer> add(const BufferRequest& request);
  const std::vector<GuardedBuffer>& buffers() const { return buffers_; }
  // The file that holds the arena, and its size.
  int file() const { return file_; }
  std::int64_t bytes() const { return bytes_; }
  // The arena's address in the other process; must not be dereferenced in ours.
  std::byte* theirs() const { return theirs_; }
  // The parts of these pages that were ever written: everything, unless a buffer is sparse.
  std::vector<OpenPages> filled(const OpenPages& pages) const;
  // The same for a buffer's pages, at our addresses.
  std::vector<std::span<const std::byte>> filled_bytes(const GuardedBuffer& buffer) const;

  // Describes a write just outside a writable buffer; empty if there was none. Ignores sparse
  // buffers.
  std::string overrun_text() const;
  // From now on clear() returns the arena's memory to the system, so that stray_access() can tell
  // what was touched. For a peer that cannot make pages inaccessible.
  void watch_guards() { are_guards_watched_ = true; }
  // An access between the buffers, by pages; nullopt if there was none. Requires watch_guards().
  std::optional<MemoryFault> stray_access() const;

  // "a read 4 bytes beyond the end of block_table (24 bytes)".
  std::string fault_text(const MemoryFault& fault) const;

  // In the other process only: enter() unmaps our view, open_pages() makes pages accessible,
  // close_pages() makes all of them inaccessible again.
  void enter();
  void open_pages(std::span<const OpenPages> pages);
  void close_pages();

  static constexpr std::int64_t kGuardBytes = std::int64_t{16} << 20;

 private:
  GuardedArena(int file, std::byte* ours, std::byte* theirs, std::int64_t bytes)
      : file_(file), ours_(ours), theirs_(theirs), bytes_(bytes) {}

  // Describes an address `place` bytes from the start of a buffer.
  static std::string place_text(const GuardedBuffer& buffer, std::int64_t place);

  int file_;
  std::byte* ours_;
  std::byte* theirs_;
  std::int64_t bytes_;
  std::vector<GuardedBuffer> buffers_;
  bool are_guards_watched_ = false;
};

}  // namespace recto::verify
