#include "verify/library/guarded_arena.h"

#include <errno.h>
#include <fmt/format.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>

#include "core/contract.h"
#include "core/units.h"

namespace recto::verify {
namespace {

constexpr std::byte kOutside{0xff};

std::int64_t page_bytes() {
  static const std::int64_t kBytes = sysconf(_SC_PAGESIZE);
  return kBytes;
}

Status system_failure(const char* what) {
  return Status::failed(fmt::format("{}: {}", what, std::strerror(errno)));
}

// Maps a view of the file at an address that the system chooses.
std::byte* map_view(int file, std::int64_t bytes, int protection) {
  void* const at = mmap(nullptr, static_cast<std::size_t>(bytes), protection,
                        MAP_SHARED | MAP_NORESERVE, file, 0);
  return at == MAP_FAILED ? nullptr : static_cast<std::byte*>(at);
}

void protect(std::byte* first, std::int64_t bytes, int protection) {
  RECTO_CHECK_EQ(mprotect(first, static_cast<std::size_t>(bytes), protection), 0);
}

const char* kind_name(MemoryFault::Kind kind) {
  constexpr const char* kNames[] = {"an access", "a read", "a write"};
  return kNames[static_cast<int>(kind)];
}

}  // namespace

Result<std::unique_ptr<GuardedArena>> GuardedArena::create(std::int64_t bytes) {
  bytes = ceil_div(bytes, page_bytes()) * page_bytes();
  const int file = memfd_create("recto-kernel-buffers", MFD_CLOEXEC);
  if (file < 0) return system_failure("shared memory");
  std::byte* ours = nullptr;
  std::byte* theirs = nullptr;
  if (ftruncate(file, bytes) == 0) {
    ours = map_view(file, bytes, PROT_READ | PROT_WRITE);
    theirs = ours == nullptr ? nullptr : map_view(file, bytes, PROT_NONE);
  }
  const Status failure = system_failure("shared memory");
  if (theirs != nullptr) {
    return std::unique_ptr<GuardedArena>(new GuardedArena(file, ours, theirs, bytes));
  }
  close(file);
  if (ours != nullptr) munmap(ours, static_cast<std::size_t>(bytes));
  return failure;
}

GuardedArena::~GuardedArena() {
  close(file_);
  munmap(ours_, static_cast<std::size_t>(bytes_));
  munmap(theirs_, static_cast<std::size_t>(bytes_));
}

void GuardedArena::clear() {
  if (are_guards_watched_ && !buffers_.empty()) {
    const std::int64_t end = buffers_.back().pages.end + kGuardBytes;
    madvise(ours_, static_cast<std::size_t>(std::min(end, bytes_)), MADV_REMOVE);
  }
  buffers_.clear();
}

Result<GuardedBuffer> GuardedArena::add(const BufferRequest& request) {
  RECTO_CHECK_GE(request.bytes, 0);
  RECTO_CHECK_EQ(request.bytes_before % page_bytes(), 0);
  const std::int64_t before = buffers_.empty() ? 0 : buffers_.back().pages.end;
  if (request.bytes > bytes_ - before - request.bytes_before - 2 * kGuardBytes - page_bytes()) {
    return Status::exhausted(fmt::format("{} has {} bytes, more than the call's memory has left",
                                         request.name, request.bytes));
  }
  const std::int64_t bytes = ceil_div(request.bytes, request.alignment) * request.alignment;
  const std::int64_t pages =
      std::max<std::int64_t>(1, ceil_div(request.bytes_before + bytes, page_bytes()));
  const std::int64_t begin = before + kGuardBytes;
  const std::int64_t end = begin + pages * page_bytes();
  const std::int64_t offset =
      request.end == GuardedEnd::kFront ? begin + request.bytes_before : end - bytes;
  if (!request.is_sparse) {
    std::fill(ours_ + begin, ours_ + end, kOutside);
  } else if (madvise(ours_ + begin, static_cast<std::size_t>(end - begin), MADV_REMOVE) != 0) {
    return system_failure("shared memory, to be released");
  }
  buffers_.push_back({.name = request.name,
                      .ours = ours_ + offset,
                      .theirs = theirs_ + offset,
                      .bytes = request.bytes,
                      .pages = {.begin = begin, .end = end, .access = request.access},
                      .is_sparse = request.is_sparse});
  return buffers_.back();
}

std::vector<OpenPages> GuardedArena::filled(const OpenPages& pages) const {
  std::vector<OpenPages> filled;
  for (off_t at = pages.begin; at < pages.end;) {
    const off_t begin = lseek(file_, at, SEEK_DATA);
    if (begin < 0 || begin >= pages.end) break;
    at = std::min<off_t>(lseek(file_, begin, SEEK_HOLE), pages.end);
    filled.push_back({.begin = begin, .end = at, .access = pages.access});
  }
  return filled;
}

std::vector<std::span<const std::byte>> GuardedArena::filled_bytes(
    const GuardedBuffer& buffer) const {
  std::vector<std::span<const std::byte>> bytes;
  for (const OpenPages& pages : filled(buffer.pages))
    bytes.emplace_back(ours_ + pages.begin, ours_ + pages.end);
  return bytes;
}

std::string GuardedArena::place_text(const GuardedBuffer& buffer, std::int64_t place) {
  if (place < 0) {
    return fmt::format("{} bytes before {}, which has {}", -place, buffer.name, buffer.bytes);
  }
  return fmt::format(
      "at byte {} of {}, which {}", place, buffer.name,
      place < buffer.bytes ? "may only be read" : fmt::format("has {}", buffer.bytes));
}

std::string GuardedArena::overrun_text() const {
  for (const GuardedBuffer& buffer : buffers_) {
    if (buffer.pages.access == BufferAccess::kRead || buffer.is_sparse) continue;
    const std::byte* const begin = ours_ + buffer.pages.begin;
    const std::byte* const end = ours_ + buffer.pages.end;
    // Finds the nearest byte that was changed.
    for (const std::byte* at = buffer.ours; at-- > begin;)
      if (*at != kOutside) return "a write " + place_text(buffer, at - buffer.ours);
    for (const std::byte* at = buffer.ours + buffer.bytes; at < end; ++at)
      if (*at != kOutside) return "a write " + place_text(buffer, at - buffer.ours);
  }
  return {};
}

std::optional<MemoryFault> GuardedArena::stray_access() const {
  const auto first_filled = [this](std::int64_t begin, std::int64_t end, std::int64_t& at) {
    const std::vector<OpenPages> parts = filled({.begin = begin, .end = end});
    if (!parts.empty()) at = parts.front().begin;
    return !parts.empty();
  };
  std::int64_t begin = 0;
  std::int64_t at = 0;
  for (const GuardedBuffer& buffer : buffers_) {
    if (first_filled(begin, buffer.pages.begin, at))
      return MemoryFault{.address = reinterpret_cast<std::uintptr_t>(theirs_ + at)};
    begin = buffer.pages.end;
  }
  if (!first_filled(begin, std::min(begin + kGuardBytes, bytes_), at)) return std::nullopt;
  return MemoryFault{.address = reinterpret_cast<std::uintptr_t>(theirs_ + at)};
}

std::string GuardedArena::fault_text(const MemoryFault& fault) const {
  const std::string kind = kind_name(fault.kind);
  if (fault.address < static_cast<std::uintptr_t>(page_bytes())) {
    return kind + " through a null pointer";
  }
  const auto base = reinterpret_cast<std::uintptr_t>(theirs_);
  const auto offset = static_cast<std::int64_t>(fault.address - base);
  for (const GuardedBuffer& buffer : buffers_) {
    // The space between two buffers is split in half between them.
    if (offset < buffer.pages.begin - kGuardBytes / 2) break;
    if (offset >= buffer.pages.end + kGuardBytes / 2) continue;
    return kind + " " + place_text(buffer, offset - (buffer.ours - ours_));
  }
  return kind + " far from any buffer";
}

void GuardedArena::enter() {
  munmap(ours_, static_cast<std::size_t>(bytes_));
  ours_ = nullptr;
}

void GuardedArena::open_pages(std::span<const OpenPages> pages) {
  for (const OpenPages& open : pages) {
    protect(theirs_ + open.begin, open.end - open.begin,
            open.access == BufferAccess::kRead ? PROT_READ : PROT_READ | PROT_WRITE);
  }
}

void GuardedArena::close_pages() { protect(theirs_, bytes_, PROT_NONE); }

}  // namespace recto::verify
