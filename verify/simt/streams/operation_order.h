#pragma once

// The order that a host program guarantees between its operations, whatever the runtime does: by
// streams, events and graphs, and by the operations that the host had waited for before it enqueued
// another one.

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace recto::simt {

// Operations are numbered from 1 in the order in which they were enqueued.
using OperationId = std::uint64_t;

// Vector clocks over chains: each operation is the next one of a chain, whose operations are
// totally ordered. There are about as many chains as operations that may run concurrently (such as
// streams), and at most as many as operations.
class OperationOrder {
 public:
  // Adds the next operation, ordered after all of `after`, which are older, and after all that the
  // host has waited for. O(chains * after).
  OperationId add(std::span<const OperationId> after);
  // The host knows that the operation and all operations ordered before it have run. O(chains).
  void wait_for(OperationId operation);
  void wait_for_all() { host_ = lengths_; }

  // O(1).
  bool precedes(OperationId earlier, OperationId later) const;
  // Whether the host has waited for all operations. O(chains).
  bool has_waited_for_all() const;
  std::size_t chains() const { return lengths_.size(); }

 private:
  // For each chain, how many of its operations come before; missing entries are 0.
  using Clock = std::vector<std::uint32_t>;
  struct Operation {
    std::size_t chain = 0;
    Clock clock = {};  // itself included
  };

  static std::uint32_t at(const Clock& clock, std::size_t chain) {
    return chain < clock.size() ? clock[chain] : 0;
  }
  static void join(Clock& clock, const Clock& other);
  // A chain whose last operation is in the clock, or a new chain.
  std::size_t find_chain(std::span<const OperationId> after, const Clock& clock) const;

  std::vector<Operation> operations_;
  std::vector<std::uint32_t> lengths_;  // of the chains
  Clock host_;
};

}  // namespace recto::simt
