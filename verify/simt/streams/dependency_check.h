#pragma once

// Finds operations of a host program that touch the same memory, at least one of them writing,
// while nothing orders them: on a GPU they may run at the same time, or in the wrong order. It
// tracks the order that the host program guarantees and not the one in which the runtime ran them,
// so that a single run in any order suffices.

#include <set>
#include <span>
#include <string>
#include <vector>

#include "verify/simt/executor/finding.h"
#include "verify/simt/executor/observer.h"
#include "verify/simt/streams/access_history.h"
#include "verify/simt/streams/operation_order.h"

namespace recto::simt {

class DeviceMemory;

class DependencyCheck {
 public:
  // The maximum number of distinct findings. Findings are distinct by the operations' names, their
  // accesses, and the buffer.
  static constexpr std::size_t kFindingsMax = 16;

  // Describes an operation in messages.
  struct Asked {
    std::string name = {};
    Site site = {};  // of the call, if known
  };

  DependencyCheck() = default;
  DependencyCheck(const DependencyCheck&) = delete;
  DependencyCheck& operator=(const DependencyCheck&) = delete;

  // The host program enqueues the next operation; as in OperationOrder.
  void add(std::span<const OperationId> after, Asked what);
  void wait_for(OperationId operation);
  void wait_for_all();

  // The operation has run and touched these bytes, as far as is known, after all operations that
  // are ordered before it. Returns new findings. Costs as much as AccessHistory::note. `memory` has
  // the names of addresses; null: none.
  std::vector<Finding> note(OperationId operation, std::span<const TouchedRange> touched,
                            const DeviceMemory* memory);

 private:
  bool is_news(OperationId operation, const UnorderedAccess& access, const DeviceMemory* memory);
  Finding finding_of(OperationId operation, const UnorderedAccess& access,
                     const DeviceMemory* memory) const;

  OperationOrder order_;
  AccessHistory history_{order_};
  std::vector<Asked> asked_;  // by operation
  std::set<std::string> told_;
};

}  // namespace recto::simt
