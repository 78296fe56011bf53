#include "verify/simt/streams/operation_order.h"

#include <algorithm>
#include <utility>

namespace recto::simt {

void OperationOrder::join(Clock& clock, const Clock& other) {
  clock.resize(std::max(clock.size(), other.size()));
  for (std::size_t chain = 0; chain < other.size(); ++chain) {
    clock[chain] = std::max(clock[chain], other[chain]);
  }
}

std::size_t OperationOrder::find_chain(std::span<const OperationId> after,
                                       const Clock& clock) const {
  const auto goes_on = [&](std::size_t chain) { return lengths_[chain] <= at(clock, chain); };
  // Looks at its own stream's chain first, so that streams keep separate chains.
  for (const OperationId earlier : after) {
    const std::size_t chain = operations_[earlier - 1].chain;
    if (goes_on(chain)) return chain;
  }
  std::size_t chain = 0;
  while (chain < lengths_.size() && !goes_on(chain)) ++chain;
  return chain;
}

OperationId OperationOrder::add(std::span<const OperationId> after) {
  Clock clock = host_;
  for (const OperationId earlier : after) join(clock, operations_[earlier - 1].clock);
  const std::size_t chain = find_chain(after, clock);
  if (chain == lengths_.size()) lengths_.push_back(0);
  clock.resize(std::max(clock.size(), chain + 1));
  clock[chain] = ++lengths_[chain];
  operations_.push_back({chain, std::move(clock)});
  return operations_.size();
}

void OperationOrder::wait_for(OperationId operation) {
  join(host_, operations_[operation - 1].clock);
}

bool OperationOrder::precedes(OperationId earlier, OperationId later) const {
  const Operation& past = operations_[earlier - 1];
  return earlier != later && at(operations_[later - 1].clock, past.chain) >= past.clock[past.chain];
}

bool OperationOrder::has_waited_for_all() const {
  for (std::size_t chain = 0; chain < lengths_.size(); ++chain) {
    if (at(host_, chain) < lengths_[chain]) return false;
  }
  return true;
}

}  // namespace recto::simt
