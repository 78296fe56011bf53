#include "verify/library/kernel_peer.h"

#include <errno.h>
#include <fmt/format.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cstring>
#include <iterator>
#include <new>

#include "core/contract.h"

namespace recto::verify {
namespace {

// Address space, which takes memory only where it is written. Large enough for two pools whose
// blocks lie beyond 2^32 elements of four bytes, and for half as much before each.
constexpr std::int64_t kArenaBytes = std::int64_t{64} << 30;

}  // namespace

KernelPeer::~KernelPeer() {
  if (mailbox_ != nullptr) munmap(mailbox_, sizeof(KernelMailbox));
  if (mailbox_file_ >= 0) close(mailbox_file_);
}

Status KernelPeer::set_up() {
  Result<std::unique_ptr<GuardedArena>> arena = GuardedArena::create(kArenaBytes);
  RECTO_RETURN_IF_ERROR(arena.status());
  arena_ = std::move(arena).value();
  mailbox_file_ = memfd_create("recto-kernel-mailbox", MFD_CLOEXEC);
  void* at = MAP_FAILED;
  if (mailbox_file_ >= 0 && ftruncate(mailbox_file_, sizeof(KernelMailbox)) == 0) {
    at = mmap(nullptr, sizeof(KernelMailbox), PROT_READ | PROT_WRITE, MAP_SHARED, mailbox_file_, 0);
  }
  if (at == MAP_FAILED)
    return Status::failed(fmt::format("shared memory: {}", std::strerror(errno)));
  mailbox_ = new (at) KernelMailbox;
  return Status::ok();
}

void KernelPeer::clear_mailbox() { new (mailbox_) KernelMailbox; }

KernelAnswer KernelPeer::call(KernelFunction function, std::span<const std::byte> call,
                              std::int64_t time_limit_ms) {
  RECTO_CHECK(is_running());
  RECTO_CHECK_LE(call.size(), sizeof(mailbox_->call));
  RECTO_CHECK_LE(arena_->buffers().size(), std::size(mailbox_->pages));
  mailbox_->function = function;
  std::memcpy(mailbox_->call, call.data(), call.size());
  mailbox_->num_pages = static_cast<std::int32_t>(arena_->buffers().size());
  for (std::size_t i = 0; i < arena_->buffers().size(); ++i) {
    mailbox_->pages[i] = arena_->buffers()[i].pages;
  }
  return make_call(time_limit_ms);
}

}  // namespace recto::verify
