#pragma once

// The process that started this program and answers its calls, at the other end of a socket: the
// Python package, whose functions cannot be loaded from a file.
//
// This program sends one line of JSON with two files, the arena and the mailbox, where `fields`
// are offsets in the mailbox:
//
//   {"protocol": 1, "arena_bytes": N, "base": N, "mailbox_bytes": N, "fields": {"call": N, ...}}
//
// Then it sends one byte for each request, and waits for one byte: 's' (start: forget all earlier
// calls, fill in `table` and set load_step to kLoaded), 'c' (make the call in the mailbox, and set
// `returned` and `end`). Pointers in a call are addresses of an arena that begins at `base`.

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "core/status.h"
#include "verify/library/kernel_peer.h"

namespace recto::verify {

class KernelCaller final : public KernelPeer {
 public:
  // Closes the socket in the end. Failed if the system provides no memory; invalid input if the
  // file descriptor is no socket.
  static Result<std::unique_ptr<KernelCaller>> create(int socket);
  ~KernelCaller() override;

  Result<KernelAnswer> start(const LoadLimits& limits) override;
  bool is_running() const override { return is_running_; }
  void stop() override { is_running_ = false; }

 private:
  explicit KernelCaller(int socket) : socket_(socket) {}

  Status hand_over();
  // Ends this program if the caller has ended: no process is left to read the results.
  void ask(char request);
  KernelAnswer make_call(std::int64_t time_limit_ms) override;
  std::optional<MemoryFault> changed_input(const std::vector<std::vector<std::byte>>& before) const;

  int socket_;
  bool is_running_ = false;
};

}  // namespace recto::verify
