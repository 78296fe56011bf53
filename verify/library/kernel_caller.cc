#include "verify/library/kernel_caller.h"

#include <errno.h>
#include <fmt/format.h>
#include <sys/socket.h>
#include <sys/uio.h>
#include <unistd.h>

#include <algorithm>
#include <cstddef>
#include <cstring>
#include <iterator>
#include <vector>

#include "core/json.h"
#include "verify/library/recto_kernel.h"

namespace recto::verify {
namespace {

constexpr int kProtocol = 1;

Json fields() {
  return {{"load_step", offsetof(KernelMailbox, load_step)},
          {"table", offsetof(KernelMailbox, table)},
          {"function", offsetof(KernelMailbox, function)},
          {"call", offsetof(KernelMailbox, call)},
          {"num_pages", offsetof(KernelMailbox, num_pages)},
          {"pages", offsetof(KernelMailbox, pages)},
          {"returned", offsetof(KernelMailbox, returned)},
          {"end", offsetof(KernelMailbox, end)},
          {"has_guards", offsetof(KernelMailbox, has_guards)},
          {"printed", offsetof(KernelMailbox, printed)}};
}

// Reading a sparse buffer where it holds nothing fills it with zeros.
bool is_compared(const GuardedBuffer& buffer) {
  return buffer.pages.access == BufferAccess::kRead && !buffer.is_sparse;
}

// The bytes of a compared buffer, with the rest of its pages.
std::vector<std::byte> contents(const GuardedArena& arena, const GuardedBuffer& buffer) {
  std::vector<std::byte> all;
  for (const std::span<const std::byte> part : arena.filled_bytes(buffer))
    all.insert(all.end(), part.begin(), part.end());
  return all;
}

}  // namespace

Result<std::unique_ptr<KernelCaller>> KernelCaller::create(int socket) {
  std::unique_ptr<KernelCaller> caller(new KernelCaller(socket));
  RECTO_RETURN_IF_ERROR(caller->set_up());
  caller->arena_->watch_guards();
  RECTO_RETURN_IF_ERROR(caller->hand_over());
  return caller;
}

KernelCaller::~KernelCaller() { close(socket_); }

Status KernelCaller::hand_over() {
  const Json hello = {{"protocol", kProtocol},
                      {"arena_bytes", arena_->bytes()},
                      {"base", reinterpret_cast<std::uintptr_t>(arena_->theirs())},
                      {"mailbox_bytes", sizeof(KernelMailbox)},
                      {"fields", fields()}};
  std::string line = json_text(hello) + "\n";
  const int files[] = {arena_->file(), mailbox_file_};
  alignas(cmsghdr) char control[CMSG_SPACE(sizeof files)] = {};
  iovec text = {.iov_base = line.data(), .iov_len = line.size()};
  msghdr message = {};
  message.msg_iov = &text;
  message.msg_iovlen = 1;
  message.msg_control = control;
  message.msg_controllen = sizeof control;
  cmsghdr* const header = CMSG_FIRSTHDR(&message);
  header->cmsg_level = SOL_SOCKET;
  header->cmsg_type = SCM_RIGHTS;
  header->cmsg_len = CMSG_LEN(sizeof files);
  std::memcpy(CMSG_DATA(header), files, sizeof files);
  if (sendmsg(socket_, &message, MSG_NOSIGNAL) == static_cast<ssize_t>(line.size()))
    return Status::ok();
  return Status::invalid_input(
      fmt::format("expected a connected socket, found: {}", std::strerror(errno)));
}

void KernelCaller::ask(char request) {
  char reply = 0;
  ssize_t bytes = send(socket_, &request, 1, MSG_NOSIGNAL);
  if (bytes == 1) {
    do {
      bytes = recv(socket_, &reply, 1, 0);
    } while (bytes < 0 && errno == EINTR);
  }
  if (bytes != 1) _exit(1);
}

Result<KernelAnswer> KernelCaller::start(const LoadLimits& /*limits*/) {
  clear_mailbox();
  mailbox_->memories = kRectoHostMemory;
  ask('s');
  if (mailbox_->load_step != LoadStep::kLoaded)
    return Status::invalid_input("expected its table of functions, found none");
  mailbox_->table.name[sizeof(mailbox_->table.name) - 1] = '\0';
  is_running_ = true;
  return KernelAnswer{};
}

KernelAnswer KernelCaller::make_call(std::int64_t time_limit_ms) {
  std::vector<std::vector<std::byte>> before;
  if (!mailbox_->has_guards) {
    for (const GuardedBuffer& buffer : arena_->buffers()) {
      before.push_back(is_compared(buffer) ? contents(*arena_, buffer) : std::vector<std::byte>{});
    }
  }
  mailbox_->stray_write.reset();
  mailbox_->end = KernelEnd::kAnswered;
  mailbox_->printed[0] = '\0';
  ask('c');
  KernelAnswer answer{.end = mailbox_->end,
                      .code = mailbox_->returned,
                      .time_limit_ms = time_limit_ms,
                      .is_told_by_message = true};
  answer.printed.assign(mailbox_->printed, strnlen(mailbox_->printed, kPrintedBytes));
  is_running_ = answer.end == KernelEnd::kAnswered;
  if (mailbox_->has_guards || !is_running_) return answer;
  mailbox_->stray_write = changed_input(before);
  if (!mailbox_->stray_write) mailbox_->stray_write = arena_->stray_access();
  return answer;
}

std::optional<MemoryFault> KernelCaller::changed_input(
    const std::vector<std::vector<std::byte>>& before) const {
  for (std::size_t i = 0; i < before.size(); ++i) {
    const GuardedBuffer& buffer = arena_->buffers()[i];
    if (!is_compared(buffer)) continue;
    const std::vector<std::byte> now = contents(*arena_, buffer);
    if (now == before[i]) continue;
    const auto changed = std::ranges::mismatch(now, before[i]).in1 - now.begin();
    return MemoryFault{.address = reinterpret_cast<std::uintptr_t>(arena_->theirs() +
                                                                   buffer.pages.begin + changed),
                       .kind = MemoryFault::Kind::kWrite};
  }
  return std::nullopt;
}

}  // namespace recto::verify
